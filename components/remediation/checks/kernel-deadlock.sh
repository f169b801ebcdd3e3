#!/bin/sh
# Whether a process has been blocked in the kernel for long: in state D without being scheduled
# once, as the kernel's own detector of hung tasks counts it. Kernel threads, which may wait so for
# good, and waits that a kill ends are left out: those of NFS, of a parent for its child (vfork),
# of frozen groups.
#
# kernel-deadlock.sh PROC STATE BOOT_ID SECONDS
#   STATE    folder that a reboot empties
#   BOOT_ID  file with the id of this boot
set -u
export LC_ALL=C

proc=$1 file=$2/blocked seconds=$4
read -r boot <"$3" || exit 2
read -r now _ <"$proc/uptime" || exit 2
now=${now%%.*}
past=''
if [ -r "$file" ] && [ "$(head -n 1 "$file")" = "$boot" ]; then past=$(sed 1d "$file"); fi

blocked() { # number and start of each process in state D
    cat "$proc"/[0-9]*/stat 2>/dev/null | sed -n 's/^\([0-9]*\) (.*) /\1 /p' |
        awk '$2 == "D" && $1 != 2 && $3 != 2 { print $1, $21 }'
}

switches() { # PID: how often it was scheduled
    awk '/ctxt_switches:/ { sum += $2 } END { print sum + 0 }' "$proc/$1/status" 2>/dev/null
}

since() { # PID START SWITCHES: when it was first seen so
    printf '%s\n' "$past" | awk -v key="$1 $2 $3" -v now="$now" '
        $1 " " $2 " " $3 == key { now = $4 }
        END { print now }
    '
}

lines='' longest=-1 worst=''
for entry in $(blocked | tr ' ' ':'); do
    pid=${entry%:*}
    case $(cat "$proc/$pid/wchan" 2>/dev/null) in
    *killable* | *vfork* | *refrigerator* | *freez*) continue ;;
    esac
    key="$pid ${entry#*:} $(switches "$pid")"
    first=$(since $key)
    lines="$lines$key $first
"
    if [ $((now - first)) -gt "$longest" ]; then longest=$((now - first)) worst=$pid; fi
done
{ printf '%s\n%s' "$boot" "$lines" >"$file.new" && mv "$file.new" "$file"; } || exit 2
if [ "$longest" -ge "$seconds" ]; then
    echo "$(cat "$proc/$worst/comm" 2>/dev/null) ($worst) blocked for $longest s"
    exit 1
fi
echo "no process blocked for $seconds s"
