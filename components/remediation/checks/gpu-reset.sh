#!/bin/sh
# Resets the GPUs of a host that has been drained, once between two starts of the host, and then
# waits for its end. accelerator-error.sh reads what has become of it.
#
# gpu-reset.sh STATE BOOT_ID LOG SECONDS ROOT COMMAND [ARGUMENT...]
#   STATE    folder that a reboot empties
#   BOOT_ID  file with the id of this boot
#   LOG      the kernel's log, to which a line is added before each try: errors after it count
#   SECONDS  until it must have worked: those that have the GPUs open leave meanwhile
#   ROOT     root of the command
set -u
export LC_ALL=C

state=$1 log=$3 seconds=$4 root=$5
read -r boot <"$2" || exit 1
shift 5

note() { # STATE: begun, failed or done
    printf '%s\n' "$boot $1" >"$state/reset.new" && mv "$state/reset.new" "$state/reset"
}

uptime_seconds() {
    read -r up _ </proc/uptime
    echo "${up%%.*}"
}

reset_until() { # END COMMAND [ARGUMENT...]
    end=$1 left=$(($1 - $(uptime_seconds)))
    shift
    while [ "$left" -gt 0 ]; do
        echo 'foresite: GPUs reset' >>"$log" || return 1
        timeout -k 5 "$left" chroot "$root" "$@" && return
        sleep 2
        left=$((end - $(uptime_seconds)))
    done
    return 1
}

then='' past=''
[ ! -r "$state/reset" ] || read -r then past <"$state/reset"
[ "$then" = "$boot" ] || past=''
case $past in
'')
    { mkdir -p "$state" && note begun; } || exit 1
    if reset_until "$(($(uptime_seconds) + seconds))" "$@"; then note done; else note failed; fi
    ;;
# The pod was ended in the middle. What the GPUs are like now, nobody knows.
begun) note failed ;;
esac
trap 'exit 0' TERM
while :; do
    sleep 3600 &
    wait $!
done
