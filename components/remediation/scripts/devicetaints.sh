#!/bin/sh
# Takes single faulty cards out of use, and gives them back: a DeviceTaintRule for each card that a
# condition of its node names, for as long as the node has the condition.
#
# Environment:
#   DEVICETAINTS_API         apiVersion of DeviceTaintRule
#   DEVICETAINTS_CONDITIONS  types of the conditions, with commas
#   DEVICETAINTS_FAULTS      the fault of each, in the same order
#   DEVICETAINTS_TAINT       key of the taint; its value is the fault
#   DEVICETAINTS_POOL_LABEL  label of nodes, and of the rules made here, that names their pool
#   DEVICETAINTS_POOLS       the pools, with commas
#   DEVICETAINTS_OWNER       label KEY=VALUE of the rules made here
#   DEVICETAINTS_PERCENT     share of a pool's cards beyond which no more are taken out
#   DEVICETAINTS_STATE       a folder of its own to write in; default: /tmp
#   DEVICETAINTS_INTERVAL    seconds between two rounds; default: 20
#   DEVICETAINTS_ONCE        not empty: one round, and exit 1 if a part of it failed
#   KUBECTL                  default: kubectl, which finds its cluster as always
# Files in DEVICETAINTS_STATE: alive (when the last request was begun, or a round ended) and good
# (end of the last round that did all it wanted), each with the seconds since 1970 in it.
# Needs sh, awk, sleep, date, mv, cat and kubectl. Where something cannot be read nothing is changed.
set -u
export LC_ALL=C
api=$DEVICETAINTS_API label=$DEVICETAINTS_POOL_LABEL owner=$DEVICETAINTS_OWNER
state=${DEVICETAINTS_STATE:-/tmp}
kubectl=${KUBECTL:-kubectl}
kind=devicetaintrules.${api#*/}.${api%/*}

# Lists of objects as lines of fields between tabs; the first field says what the line is.
# printf "%q" keeps on one line what the API server takes as it comes: who may write one object is
# not to tell of others. Names, labels and attributes' names it checks.
NODES='{{range .items}}{{$node := .metadata.name}}{{$pool := index .metadata.labels "'$label'"}}{{range .status.conditions}}node{{"\t"}}{{$node}}{{"\t"}}{{$pool}}{{"\t"}}{{printf "%q" .type}}{{"\t"}}{{printf "%q" .status}}{{"\t"}}{{printf "%q" .message}}{{"\n"}}{{end}}{{end}}'
DEVICES='{{range .items}}{{$spec := .spec}}{{if $spec.nodeName}}{{range $device := $spec.devices}}{{range $name, $value := $device.attributes}}{{if $value.string}}device{{"\t"}}{{$spec.nodeName}}{{"\t"}}{{$spec.driver}}{{"\t"}}{{$spec.pool.name}}{{"\t"}}{{$device.name}}{{"\t"}}{{$name}}{{"\t"}}{{printf "%q" $value.string}}{{"\n"}}{{end}}{{end}}{{end}}{{end}}{{end}}'
RULES='{{range .items}}rule{{"\t"}}{{.metadata.name}}{{"\t"}}{{index .metadata.labels "'$label'"}}{{"\t"}}{{.spec.deviceSelector.pool}}{{"\t"}}{{.spec.deviceSelector.driver}}{{"\t"}}{{.spec.deviceSelector.device}}{{"\t"}}{{.spec.taint.value}}{{"\n"}}{{end}}'

say() { printf '%s %s\n' "$(date -u +%Y-%m-%dT%H:%M:%SZ)" "$*"; }

mark() { date +%s >"$state/$1.new" && mv "$state/$1.new" "$state/$1"; }

# list TEMPLATE WHAT...: the objects as lines.
list() {
  template=$1
  shift
  mark alive
  "$kubectl" get --request-timeout=30s -o "go-template=$template" "$@"
}

look() {
  list "$NODES" nodes -l "$label in ($DEVICETAINTS_POOLS)" >"$state/seen" &&
    list "$DEVICES" resourceslices >>"$state/seen" &&
    list "$RULES" "$kind" -l "$owner" >>"$state/seen"
}

decide() {
  awk -F '\t' -v types="$DEVICETAINTS_CONDITIONS" -v faults="$DEVICETAINTS_FAULTS" \
    -v percent="$DEVICETAINTS_PERCENT" -f "$state/devicetaints.awk" "$state/seen" >"$state/todo"
}

# NoSchedule: the pod that has the card keeps it until it ends.
add() { # NAME POOL DRIVER SLICES_POOL DEVICE FAULT
  "$kubectl" create --request-timeout=30s -f - <<RULE
apiVersion: $api
kind: DeviceTaintRule
metadata: {name: "$1", labels: {"${owner%%=*}": "${owner#*=}", "$label": "$2"}}
spec:
  deviceSelector: {driver: "$3", pool: "$4", device: "$5"}
  taint: {key: "$DEVICETAINTS_TAINT", value: "$6", effect: NoSchedule}
RULE
}

act() {
  failed=0
  while IFS='	' read -r what name pool driver slices device fault; do
    mark alive
    case $what in
    add) add "$name" "$pool" "$driver" "$slices" "$device" "$fault" || failed=1 ;;
    delete)
      "$kubectl" delete --request-timeout=30s --ignore-not-found "$kind" "$name" </dev/null ||
        failed=1
      ;;
    *) say "$name" ;;
    esac
  done <"$state/todo"
  return "$failed"
}

# A ConfigMap changes under a program that runs: it is read only now, as sh has this file.
cat "${0%/*}/devicetaints.awk" >"$state/devicetaints.awk" || exit 1
trap 'exit 0' TERM INT
while :; do
  if look && decide && act; then
    mark good
    code=0
  else
    say "not all was done in this round"
    code=1
  fi
  mark alive
  [ -z "${DEVICETAINTS_ONCE:-}" ] || exit "$code"
  sleep "${DEVICETAINTS_INTERVAL:-20}" &
  wait $!
done
