#!/bin/sh
# Whether error counters of interfaces rise. A counter that is full counts no more, and so nothing is
# known of it (widths: Linux 6.12, drivers/infiniband/core/sysfs.c, PORT_PMA_ATTR).
#
# network-link-errors.sh SYS PROC STATE BOOT_ID SECONDS LIMITS LINK...
#   STATE    folder that a reboot empties
#   BOOT_ID  file with the id of this boot
#   SECONDS  the time in which a counter may rise by its limit
#   LIMITS   <counter>=<limit>, with commas
set -u
export LC_ALL=C
. "${0%/*}/ports.sh"

sys=$1 file=$3/link-errors seconds=$5 limits=$6
read -r boot <"$4" || exit 2
read -r now _ <"$2/uptime" || exit 2
now=${now%%.*}
shift 6
counters=$(printf '%s\n' "$limits" | tr ',' '\n' | sed 's/=.*//')

readings() { # LINK...: a line for each counter that is there
    for link in "$@"; do
        split_link "$link"
        folder=$sys/class/net/$interface port=$(port_of "$sys" "$interface")
        for counter in $counters; do
            for place in "${port:-/none}/counters" "${port:-/none}/hw_counters" \
                "$folder/statistics" "$folder"; do
                [ -r "$place/$counter" ] || continue
                value=$(cat "$place/$counter" 2>/dev/null)
                case $value in '' | *[!0-9]*) ;; *) echo "$now $interface:$rail $counter $value" ;; esac
                break
            done
        done
    done
}

past=''
if [ -r "$file" ] && [ "$(head -n 1 "$file")" = "$boot" ]; then past=$(sed 1d "$file"); fi
found=$(printf '%s\n' "$past" "$(readings "$@")" | grep . |
    awk -v now="$now" -v seconds="$seconds" -v limits="$limits" '
        BEGIN {
            count = split(limits, pairs, ",")
            for (i = 1; i <= count; i++) { split(pairs[i], pair, "="); limit[pair[1]] = pair[2] }
            full["symbol_error"] = full["port_rcv_errors"] = 65535
            full["link_error_recovery"] = full["link_downed"] = 255
            full["local_link_integrity_errors"] = full["excessive_buffer_overrun_errors"] = 15
        }
        !($3 in limit) { next }
        {
            key = $2 " " $3
            # The last reading before the time begins counts, and one after which it was reset.
            if (!(key in from) || now - $1 >= seconds || $4 + 0 < last[key]) {
                since[key] = $1; from[key] = $4 + 0
            }
            last[key] = $4 + 0
            line[++lines] = $0; time[lines] = $1; of[lines] = key
            if ($1 == now) { names[++named] = key }
        }
        END {
            for (i = 1; i <= named; i++) {
                key = names[i]; split(key, part, "[: ]")
                label = part[1] (part[2] == "" ? "" : " (rail " part[2] ")") ": " part[3]
                rise = last[key] - from[key]; took = now - since[key]
                if (rise > limit[part[3]] * (took > seconds ? took / seconds : 1)) {
                    bad = bad ? bad : label sprintf(" rose by %.0f in %d s", rise, took)
                }
                if (part[3] in full && last[key] == full[part[3]]) { mute = mute ? mute : label " is full: reset it" }
            }
            print bad ? "1 " bad : mute ? "2 " mute : named ? "0 no errors" : "2 no counter is there"
            for (i = 1; i <= lines; i++) { if (time[i] >= since[of[i]]) print line[i] }
        }')
{ printf '%s\n' "$boot" "$found" | sed 2d >"$file.new" && mv "$file.new" "$file"; } || exit 2
found=$(printf '%s\n' "$found" | head -n 1)
echo "${found#* }"
exit "${found%% *}"
