#!/bin/sh
# Whether each interface has a link of its rate. RDMA devices show their port's state, and
# InfiniBand's its rate. Ethernet's show the kernel's state and rate: one port may be that of a bond,
# and its rate one that a kernel guesses (drivers/infiniband/core/verbs.c, ib_get_eth_speed). Where
# no interface is there, their driver may not be loaded yet. Sources: Linux 6.12,
# Documentation/ABI/stable/sysfs-class-infiniband (state, phys_state, rate, link_layer) and
# Documentation/ABI/testing/sysfs-class-net (operstate, speed).
#
# network-link-down.sh SYS LINK...
set -u
export LC_ALL=C
. "${0%/*}/ports.sh"

sys=$1 bad=0 gone=0 first=''
shift
for link in "$@"; do
    split_link "$link"
    folder=$sys/class/net/$interface port=$(port_of "$sys" "$interface") found=''
    if [ ! -e "$folder" ]; then
        found='is not there' gone=$((gone + 1))
    fi
    if [ -n "$port" ]; then
        state=$(cat "$port/state" 2>/dev/null) physical=$(cat "$port/phys_state" 2>/dev/null)
        rate=$(cat "$port/rate" 2>/dev/null)
        [ "${state#*: }" = ACTIVE ] || found="is ${state#*: } (${physical#*: })"
        rate=${rate%%[!0-9]*}
    fi
    if [ -z "$found" ] && [ "$(cat "$port/link_layer" 2>/dev/null)" != InfiniBand ]; then
        state=$(cat "$folder/operstate" 2>/dev/null) rate=$(cat "$folder/speed" 2>/dev/null)
        [ "$state" = up ] || found="is ${state:-unknown}"
        case $rate in '' | *[!0-9]*) rate=0 ;; *) rate=$((rate / 1000)) ;; esac
    fi
    if [ -z "$found" ] && [ "${rate:-0}" -lt "$gbps" ]; then
        found="has ${rate:-0} of $gbps Gbit/s"
    fi
    [ -n "$found" ] || continue
    bad=$((bad + 1)) first=${first:-"$label $found"}
done
if [ "$bad" -gt 0 ]; then
    [ "$bad" = 1 ] || first="$first, and $((bad - 1)) more"
    echo "$first"
    [ "$gone" -lt $# ] || exit 2
    exit 1
fi
echo "$# interfaces have a link"
