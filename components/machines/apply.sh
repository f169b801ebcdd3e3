#!/bin/sh
# Applies the settings in folder $1 to this host: writes the files that differ, then has the programs
# read them that must. $2 is put before every path (for tests). What is half done when this ends is
# done by the next run: a part stays marked until its programs have read it.
set -u
here=$1 root=${2:-}
state=$root/var/lib/foresite/host-agent
mkdir -p "$state" || exit 1

fail() {
  echo "$*" >&2
  exit 1
}

marked() { [ -e "$state/changed-$1" ]; }

write() { # part, content, path: write the file where it differs, and mark its part
  cmp -s "$2" "$root$3" && return 0
  : >"$state/changed-$1" || fail "cannot write $state"
  mkdir -p "$(dirname "$root$3")" && cp "$2" "$root$3.new" && chmod 0644 "$root$3.new" &&
    mv -f "$root$3.new" "$root$3" || fail "cannot write $3"
  echo "wrote $3"
}

part_of() { # path: the part whose file it was
  case $1 in
    *ca-certificates* | *ca-trust*) echo certificates ;;
    *containerd.service.d*) echo proxy ;;
    *kubelet.conf.d*) echo kubelet ;;
    *) echo registries ;;
  esac
}

steady() { # program: it runs for as long as "$steady_s" seconds without another start
  last=0 same=0 n=0
  while [ "$n" -lt 60 ]; do
    pid=$(systemctl show --property MainPID --value "$1")
    if [ -n "$pid" ] && [ "$pid" != 0 ] && [ "$pid" = "$last" ]; then same=$((same + 1)); else same=0; fi
    [ "$same" -ge "$steady_s" ] && return 0
    last=$pid n=$((n + 1))
    sleep 1
  done
  return 1
}
steady_s=${STEADY_SECONDS:-20}

# A kubelet that did not run with these settings is not tried with them again; the rest is applied.
refused=
dropin=$(sed -n 's/^kubelet [^ ]* //p' "$here/index")
kept=$state/kubelet-before
if [ -n "$dropin" ]; then
  wanted=$here/$(sed -n 's/^kubelet \([^ ]*\) .*/\1/p' "$here/index")
  cmp -s "$wanted" "$state/refused" && refused=kubelet
  # Of before the first try: what is there while the part is marked may be half done.
  if ! cmp -s "$wanted" "$root$dropin" && ! marked kubelet; then
    rm -f "$kept"
    [ ! -e "$root$dropin" ] || cp "$root$dropin" "$kept" || fail "cannot write $kept"
  fi
fi

if [ -e "$state/files" ]; then
  while read -r path; do
    part=$(part_of "$path")
    # A part that is no longer applied stays as it is, until the host is installed again.
    grep -qxF "$part" "$here/parts" || continue
    if ! grep -qxF "$path" "$here/files" && [ -e "$root$path" ]; then
      : >"$state/changed-$part"
      rm -f "$root$path" || fail "cannot delete $path"
      echo "deleted $path"
    fi
  done <"$state/files"
fi
while read -r part content path; do
  [ "$part" = "$refused" ] || write "$part" "$here/$content" "$path"
done <"$here/index"

if [ -e "$here/time-servers" ]; then
  for path in /etc/chrony/chrony.conf /etc/chrony.conf; do
    [ -e "$root$path" ] || continue
    # Other sources stay out: a host that asks both old and new servers may follow the old.
    { grep -vE '^[[:space:]]*(server|pool|peer)[[:space:]]' "$root$path"
      sed 's/.*/server & iburst/' "$here/time-servers"; } >"$here/chrony.conf"
    write time_servers "$here/chrony.conf" "$path"
  done
  { echo "[Time]"
    echo "NTP=$(tr '\n' ' ' <"$here/time-servers" | sed 's/ $//')"; } >"$here/timesyncd.conf"
  write time_servers "$here/timesyncd.conf" /etc/systemd/timesyncd.conf.d/cloud-init.conf
  if marked time_servers; then
    for unit in chrony chronyd systemd-timesyncd; do
      if systemctl is-active --quiet "$unit"; then
        systemctl restart "$unit" || fail "$unit does not start with these servers"
      fi
    done
    rm -f "$state/changed-time_servers"
  fi
fi

if marked certificates; then
  sh "$here/trust" || fail "the certificates cannot be read"
fi
if marked proxy; then
  systemctl daemon-reload || fail "systemd does not read the proxy's settings"
fi
if marked certificates || marked proxy; then
  # A Go program reads its roots once. Shims hold the containers, so no pod restarts.
  systemctl restart containerd || fail "containerd does not start"
  rm -f "$state/changed-certificates" "$state/changed-proxy"
fi

# containerd reads its hosts.toml at each pull.
rm -f "$state/changed-registries"

if marked kubelet && [ -z "$refused" ]; then
  if systemctl restart kubelet && steady kubelet; then
    rm -f "$state/changed-kubelet" "$state/refused"
  else
    cp "$wanted" "$state/refused"
    refused=kubelet
  fi
fi
if marked kubelet; then
  if [ -e "$kept" ]; then cp "$kept" "$root$dropin"; else rm -f "$root$dropin"; fi
  systemctl restart kubelet
  rm -f "$state/changed-kubelet"
fi
[ -z "$refused" ] || fail "the kubelet does not run with its new settings; it has those of before"

cp "$here/files" "$state/files.new" && mv -f "$state/files.new" "$state/files" || fail "cannot write $state"
