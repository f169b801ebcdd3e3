#!/bin/sh
# Reboots the host of one node by its BareMetalHost, once, and waits until the node is back. It runs
# as the Job of a NodeOperation, after the node was drained.
#
# Environment:
#   NODE                   name of the node
#   OPERATION              uid of this Job: the same over restarts of its pod
#   JOB, JOB_NAMESPACE     its name, and where it is
#   SITE                   namespace of the site's BareMetalHosts on the management cluster
#   MANAGEMENT_KUBECONFIG  file by which the management cluster is reached
#   ATTEMPTS               reboots of a node within the window, at most
#   WINDOW_SECONDS         the window in which reboots count
#   TIMEOUT_SECONDS        how long the reboot may take until the node is ready again
#   POLL_SECONDS           between two looks; default: 5
#   REBOOT_STATE           a folder of its own to write in; default: /tmp
#   KUBECTL                default: kubectl, which finds the site's own cluster as always
# Whatever comes of it, it exits with 0: a Job that fails lets Node Operation Controller take its
# taint away. Only where its pod is ended in the middle it exits with 1, so that another one goes on.
# What came of it stands on the node, in the annotation remediation.foresite.dev/reboot:
#   OPERATION,BOOT ID BEFORE,SECONDS WHEN IT WAS ASKED FOR,STATE
#   STATE: asked | done (another boot, and ready) | late (not within the time)
#          | refused-attempts | refused-foreign-host (not of this site, or no host of Metal3)
#          | refused-no-host | refused-other-machine (the host serves another machine by now)
#          | refused-no-answer (the management cluster was not reached)
# Each step is noted before the next one, so that a pod that is started again goes on: the reboot
# is counted on the node first, and asked for with a mark on the BareMetalHost in the same patch.
set -u
state=${REBOOT_STATE:-/tmp}
poll=${POLL_SECONDS:-5}
kubectl=${KUBECTL:-kubectl}
DOMAIN=remediation.foresite.dev
REBOOT=reboot.metal3.io
limit=15s
: "$NODE" "$OPERATION" "$JOB" "$JOB_NAMESPACE" "$SITE" "$MANAGEMENT_KUBECONFIG"
: "$ATTEMPTS" "$WINDOW_SECONDS" "$TIMEOUT_SECONDS"

# One value a line, so that empty ones count too; %q keeps on one line what others wrote (a kubelet
# writes its node's status and annotations), and "-}}" leaves out the line's end in this file.
NODE_LINES='{{.metadata.resourceVersion}}
{{with .spec.providerID}}{{printf "%q" .}}{{end}}
{{with .status.nodeInfo}}{{with .bootID}}{{printf "%q" .}}{{end}}{{end}}
{{range .status.conditions}}{{if and (eq .type "Ready") (eq .status "True")}}True{{end}}{{end}}
{{with .metadata.labels}}{{with index . "remediation.foresite.dev/turn"}}{{.}}{{end}}{{end}}
{{with .metadata.annotations}}{{with index . "remediation.foresite.dev/reboot" -}}
{{printf "%q" .}}{{end}}{{end}}
{{with .metadata.annotations}}{{with index . "remediation.foresite.dev/reboots" -}}
{{printf "%q" .}}{{end}}{{end}}
'
HOST_LINES='{{.metadata.resourceVersion}}
{{with .spec.consumerRef}}{{with .name}}{{printf "%q" .}}{{end}}{{end}}
{{with .metadata.annotations}}{{with index . "remediation.foresite.dev/reboot" -}}
{{printf "%q" .}}{{end}}{{end}}
{{range $key, $value := .metadata.annotations -}}
{{if eq $key "reboot.metal3.io"}}pending{{end}}{{end}}
'
JOB_LINES='{{if not .metadata.deletionTimestamp}}{{.metadata.uid}}{{end}}'

say() { printf '%s %s: %s\n' "$(date -u +%Y-%m-%dT%H:%M:%SZ)" "$NODE" "$*"; }
rest() { sleep "$poll" & wait $!; }
seconds() { date +%s; }

# Both sides: get WHAT..., patch WHAT...
site() { "$kubectl" --request-timeout="$limit" "$@"; }
management() {
  "$kubectl" --kubeconfig "$MANAGEMENT_KUBECONFIG" -n "$SITE" --request-timeout="$limit" "$@"
}

unquoted() { text=${1#\"}; printf '%s' "${text%\"}"; }

# The node as it is now; fails where the API server does not answer. What is written back into a
# patch has no character that could end a string there.
read_node() {
  site get node "$NODE" --ignore-not-found -o "go-template=$NODE_LINES" >"$state/node" || return 1
  {
    read -r version; read -r provider; read -r boot; read -r ready; read -r turn
    read -r noted; read -r reboots
  } <"$state/node"
  provider=$(unquoted "$provider")
  boot=$(printf '%s' "$boot" | tr -cd '0-9A-Za-z-')
  noted=$(printf '%s' "$noted" | tr -cd '0-9A-Za-z,-')
  reboots=$(unquoted "$reboots")
  [ -n "$host" ] || name_host
  return 0
}

# The node once the API server answers. Gone, or made anew: nothing is left to do.
look_at_node() {
  until read_node; do
    say "the API server does not answer"
    rest
  done
  [ -s "$state/node" ] && [ -n "$turn" ] && return
  say "has no turn any more: nothing to do"
  cancel
  exit 0
}

# The host by the provider's id, metal3://NAMESPACE/HOST/METAL3MACHINE (Cluster API provider Metal3,
# baremetal/metal3machine_manager.go); fails where that is none of this site.
name_host() {
  case $provider in
    *[!0-9A-Za-z:/._-]*) return 1 ;;
    "metal3://$SITE/"[0-9A-Za-z]*/?*) ;;
    *) return 1 ;;
  esac
  machine=${provider#"metal3://$SITE/"}
  host=${machine%%/*}
  machine=${machine#*/}
}

# The host as it is now; fails where the management cluster does not answer.
look_at_host() {
  management get baremetalhosts.metal3.io "$host" --ignore-not-found \
    -o "go-template=$HOST_LINES" >"$state/host" || return 1
  { read -r host_version; read -r consumer; read -r marked; read -r pending; } <"$state/host"
  consumer=$(unquoted "$consumer")
  marked=$(unquoted "$marked")
  return 0
}

# A host that is gone, or has been given to another machine, is nobody's to reboot.
judge_host() {
  [ -s "$state/host" ] || finish refused-no-host
  [ "$consumer" = "$machine" ] || finish refused-other-machine
}

# write NOTE [MORE]: one patch of the node's annotations; fails where it has changed meanwhile.
write() {
  site patch node "$NODE" --type=merge -p "{\"metadata\":{\"resourceVersion\":\"$version\",\
\"annotations\":{\"$DOMAIN/reboot\":\"$1\"${2:-}}}}" >/dev/null
}

# finish STATE: noted until it is there, and the end.
finish() {
  note="$OPERATION,$before,$asked,$1"
  until [ "$noted" = "$note" ] || write "$note"; do
    rest
    look_at_node
  done
  say "reboot $1"
  exit 0
}

# A reboot that nobody has begun is not to come when nobody expects it any more.
cancel() {
  [ -n "$host" ] && look_at_host && [ "$marked" = "$OPERATION" ] && [ -n "$pending" ] || return 0
  management patch baremetalhosts.metal3.io "$host" --type=merge \
    -p "{\"metadata\":{\"resourceVersion\":\"$host_version\",\"annotations\":{\"$REBOOT\":null,\
\"$DOMAIN/reboot\":null}}}" >/dev/null && say "the reboot was taken back"
}

# The pod is ended. Where the repair is called off, the request is taken back; else, as when the
# pod is evicted, another pod is to go on: a Job whose pod ends well is complete.
stop() {
  trap '' TERM INT
  limit=5s
  read_node || exit 1
  if [ -s "$state/node" ] && [ -n "$turn" ]; then
    uid=$(site get job "$JOB" -n "$JOB_NAMESPACE" --ignore-not-found \
      -o "go-template=$JOB_LINES") || exit 1
    [ "$uid" = "$OPERATION" ] && exit 1
  fi
  cancel
  exit 0
}

# The reboots within the window, with commas.
recent() {
  printf '%s' "$reboots" | awk -v RS=, -v least="$(($(seconds) - WINDOW_SECONDS))" \
    '/^[0-9]+[ \n]*$/ && $1 > least { printf "%s%s", comma, $1; comma = "," }'
}

counted() { printf '%s' "$1" | awk -F, '{ print NF }'; }

find_host() {
  name_host || finish refused-foreign-host
  until look_at_host; do
    say "the management cluster does not answer"
    [ "$(seconds)" -ge $((asked + TIMEOUT_SECONDS)) ] && finish refused-no-answer
    rest
  done
  judge_host
}

# Counts the reboot on the node, beside those that are counted there when it is written.
count_reboot() {
  asked=$(seconds)
  note="$OPERATION,$before,$asked,asked"
  # A patch that got no answer may be there.
  until [ "$noted" = "$note" ]; do
    times=$(recent)
    [ -n "$times" ] && [ "$(counted "$times")" -ge "$ATTEMPTS" ] && finish refused-attempts
    write "$note" ",\"$DOMAIN/reboots\":\"${times:+$times,}$asked\"" && break
    rest
    look_at_node
  done
  printf '%s' "$host" >"$state/asked-$OPERATION"
  say "reboot counted"
}

# Asks for the reboot; the mark on the host says that this was done, whatever became of it.
ask_for_reboot() {
  while [ "$marked" != "$OPERATION" ]; do
    management patch baremetalhosts.metal3.io "$host" --type=merge \
      -p "{\"metadata\":{\"resourceVersion\":\"$host_version\",\"annotations\":{\
\"$REBOOT\":\"{\\\"mode\\\":\\\"hard\\\"}\",\"$DOMAIN/reboot\":\"$OPERATION\"}}}" >/dev/null &&
      { say "asked BareMetalHost $SITE/$host for a reboot"; return; }
    [ "$(seconds)" -ge $((asked + TIMEOUT_SECONDS)) ] && finish refused-no-answer
    rest
    if look_at_host; then judge_host; else say "the management cluster does not answer"; fi
  done
}

wait_for_boot() {
  until [ "$boot" != "$before" ] && [ "$ready" = True ]; do
    if [ "$(seconds)" -ge $((asked + TIMEOUT_SECONDS)) ]; then
      cancel
      finish late
    fi
    rest
    look_at_node
  done
  finish "done"
}

# What an earlier pod of this Job noted; a time that is none, or is still to come, counts as now.
go_on() {
  say "goes on"
  before=${noted#*,}; before=${before%%,*}
  when=${noted%,*}; when=${when##*,}
  case $when in ''|0*|*[!0-9]*|???????????*) return ;; esac
  [ "$when" -gt "$asked" ] || asked=$when
}

marked='' pending='' machine='' provider='' asked=$(seconds)
# Where the container has been started again, and its node is gone, this tells the host.
host=$(cat "$state/asked-$OPERATION" 2>/dev/null)
trap stop TERM INT
look_at_node
before=$boot
case $noted in
  "$OPERATION",*,*,asked) go_on ;;
  "$OPERATION",*) say "was done before"; exit 0 ;;
esac
if [ "$boot" = "$before" ]; then
  find_host
  case $noted in "$OPERATION",*) ;; *) count_reboot ;; esac
  ask_for_reboot
fi
wait_for_boot
