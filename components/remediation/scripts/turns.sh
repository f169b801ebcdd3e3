#!/bin/sh
# Gives nodes with a fault their turns to be mended; what is decided, and why, is in turns.awk.
#
# Environment:
#   TURNS_NAMESPACE  where a ConfigMap turns-held-<pool> tells that a pool has too many faults
#   TURNS_CONFIG     lines of the site; default: turns.conf beside this script
#   TURNS_STATE      a folder of its own to write in; default: /tmp
#   TURNS_INTERVAL   seconds between two rounds; default: 20
#   TURNS_ONCE       not empty: one round, and exit 1 if a part of it failed
#   KUBECTL          default: kubectl, which finds its cluster as always
# Files in TURNS_STATE: alive (when the last request was begun, or a round ended) and good (end of
# the last round that did all it wanted), each with the seconds since 1970 in it.
# Needs sh, awk, sleep, date, mv, cat and kubectl. Changes of nodes are one patch each, bound to the
# version of the node that was looked at: a round that is killed leaves nothing half done, and
# what it did not do the next one does.
set -u
export LC_ALL=C
here=$(dirname "$0")
config=${TURNS_CONFIG:-$here/turns.conf}
state=${TURNS_STATE:-/tmp}
interval=${TURNS_INTERVAL:-20}
kubectl=${KUBECTL:-kubectl}
tab=$(printf '\t')
# So many lists of single nodes cost less than one of all pods.
single_lists=10
HELD_LABEL=remediation.foresite.dev/held

say() { printf '%s %s\n' "$(date -u +%Y-%m-%dT%H:%M:%SZ)" "$*"; }

noted() {
  date +%s >"$state/$1.new" && mv "$state/$1.new" "$state/$1"
}

# Lists of objects as lines of fields between tabs; the first field says what the line is.
# printf "%q" keeps on one line what the API server takes as it comes: who may write one object is
# not to tell of others. Names, labels and taints it checks.
# "-}}" leaves out the line's end that follows it in this file.
NODES='{{range .items}}{{$name := .metadata.name -}}
node{{"\t"}}{{$name}}{{"\t"}}{{.metadata.resourceVersion}}{{"\t" -}}
{{if .spec.unschedulable}}cordoned{{else}}-{{end}}{{"\t" -}}
{{if .metadata.deletionTimestamp}}deleted{{else}}-{{end}}{{"\n" -}}
{{range $key, $value := .metadata.labels -}}
label{{"\t"}}{{$name}}{{"\t"}}{{$key}}{{"\t"}}{{$value}}{{"\n"}}{{end -}}
{{range $key, $value := .metadata.annotations -}}
annotation{{"\t"}}{{$name}}{{"\t"}}{{$key}}{{"\t"}}{{printf "%q" $value}}{{"\n"}}{{end -}}
{{range .spec.taints -}}
taint{{"\t"}}{{$name}}{{"\t"}}{{.key}}{{"\t"}}{{with .value}}{{.}}{{end}}{{"\t" -}}
{{.effect}}{{"\t" -}}
{{with .timeAdded}}{{.}}{{end}}{{"\n"}}{{end -}}
{{range .status.conditions -}}
condition{{"\t"}}{{$name}}{{"\t"}}{{printf "%q" .type}}{{"\t" -}}
{{printf "%q" .status}}{{"\n"}}{{end -}}
{{end}}'
REMEDIATIONS='{{range .items -}}
remediation{{"\t"}}{{.metadata.name}}{{"\t"}}{{printf "%q" .spec.nodeName}}{{"\n"}}{{end}}'
OPERATIONS='{{range .items -}}
operation{{"\t"}}{{.metadata.name}}{{"\t"}}{{printf "%q" .spec.nodeName}}{{"\t" -}}
{{with .status}}{{with .phase}}{{printf "%q" .}}{{end}}{{end}}{{"\t" -}}
{{range .metadata.ownerReferences -}}
{{if eq .kind "NodeRemediation"}}{{printf "%q" .name}}{{end}}{{end}}{{"\t" -}}
{{with .status}}{{with .reason}}{{printf "%q" .}}{{end}}{{end}}{{"\n"}}{{end}}'
HELD='{{range .items}}held{{"\t"}}{{.metadata.name}}{{"\n"}}{{end}}'
PODS='{{range .items -}}
pod{{"\t"}}{{printf "%q" .spec.nodeName}}{{"\t"}}{{printf "%q" .status.phase}}{{"\t" -}}
{{with .spec.priority}}{{.}}{{else}}0{{end}}{{"\t" -}}
{{range .metadata.ownerReferences}}{{printf "%q" .kind}},{{end}}{{"\t" -}}
{{with .metadata.annotations}}{{with index . "kubernetes.io/config.mirror"}}mirror{{end}}{{end -}}
{{"\n"}}{{end}}'

# list TEMPLATE WHAT...: the objects as lines.
list() {
  template=$1
  shift
  noted alive
  "$kubectl" get --request-timeout=30s -o "go-template=$template" "$@"
}

# Everything that is decided from but the pods, into the file seen.
look() {
  list "$REMEDIATIONS" noderemediations.nodeops.k8s.preferred.jp >"$state/seen" &&
    list "$OPERATIONS" nodeoperations.nodeops.k8s.preferred.jp >>"$state/seen" &&
    list "$HELD" configmaps -n "$TURNS_NAMESPACE" -l "$HELD_LABEL" >>"$state/seen" &&
    list "$NODES" nodes >>"$state/seen"
}

# decide PART: what turns.awk makes of the site's lines and of what was seen.
decide() {
  awk -v part="$1" -v now="$(date +%s)" -f "$state/turns.awk" -f "$state/nodepatch.awk" \
    FS=' ' site=1 "$config" FS='\t' site=0 "$state/seen"
}

# The pods of the nodes of which one is to be chosen, added to what was seen.
look_at_pods() {
  set -- $(cat "$state/asked")
  [ $# -eq 0 ] && return 0
  if [ $# -gt "$single_lists" ]; then
    list "$PODS" pods --all-namespaces >>"$state/seen"
    return
  fi
  for node in "$@"; do
    list "$PODS" pods --all-namespaces --field-selector "spec.nodeName=$node" \
      >>"$state/seen" || return 1
  done
}

# held NAME WHY: the object that tells of a pool with too many faults.
held() {
  printf '{"apiVersion":"v1","kind":"ConfigMap","data":{"reason":"%s"},' "$2"
  printf '"metadata":{"name":"%s","namespace":"%s","labels":{"%s":"true"}}}' \
    "$1" "$TURNS_NAMESPACE" "$HELD_LABEL"
}

# act KIND NAME WHAT WHY: one line of what was decided.
act() {
  noted alive
  case $1 in
    patch) "$kubectl" patch node "$2" --request-timeout=30s --type=merge -p "$3" >/dev/null ;;
    hold)
      held "$2" "$4" | "$kubectl" create --request-timeout=30s -f - >/dev/null
      ;;
    release)
      "$kubectl" delete configmap "$2" -n "$TURNS_NAMESPACE" --request-timeout=30s \
        --ignore-not-found >/dev/null
      ;;
  esac
}

act_on_all() {
  failed=0
  while IFS=$tab read -r kind name what why; do
    if act "$kind" "$name" "$what" "$why" </dev/null; then
      say "$name: $why"
    else
      # As when somebody else changed the node meanwhile: the next round looks again.
      say "$name: not done: $why"
      failed=1
    fi
  done <"$state/decided"
  return $failed
}

round() {
  look || { say "the API server was not read"; return 1; }
  decide pods >"$state/asked" || return 1
  turns=all
  look_at_pods || { say "pods were not read: no new turns"; turns=none; }
  decide "$turns" >"$state/decided" || return 1
  act_on_all && [ "$turns" = all ]
}

# A ConfigMap changes under a program that runs: it is read only now, as sh has this file.
for part in turns nodepatch; do
  cat "$here/$part.awk" >"$state/$part.awk" || exit 1
done
if [ -n "${TURNS_ONCE:-}" ]; then
  round
  exit
fi
trap 'exit 0' TERM INT
say "a round every $interval s"
while :; do
  round && noted good
  noted alive
  sleep "$interval" &
  wait $!
done
