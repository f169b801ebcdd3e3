#!/bin/sh
# Whether each accelerator has all its PCIe lanes. The link's speed is not looked at: it drops when
# a card idles. The addresses of up to four cards are told, by which a device can be taken out.
#
# pcie-link-degraded.sh SYS LANES VENDOR CLASSES DEVICES
set -u
. "${0%/*}/cards.sh"

sys=$1 lanes=$2 mute='' seen=0 bad=0 fewest=$2 which=''
for card in $(cards "$sys" "$3" "$4" "$5"); do
    width=$(cat "$sys/bus/pci/devices/$card/current_link_width" 2>/dev/null)
    case $width in
    # A card that is gone reads as all ones, which is no number of lanes.
    '' | *[!0-9]* | 0 | 63 | 255) mute=$card && continue ;;
    esac
    if [ "$width" -lt "$lanes" ]; then
        bad=$((bad + 1)) which=$which,$card
        [ "$width" -ge "$fewest" ] || fewest=$width
    fi
    seen=$((seen + 1))
done
case $bad in
0) ;;
1) echo "${which#,} has $fewest of $lanes lanes" && exit 1 ;;
[2-4]) echo "${which#,} have $fewest of $lanes lanes" && exit 1 ;;
*) echo "$bad of $seen accelerators have $fewest of $lanes lanes" && exit 1 ;;
esac
if [ -n "$mute" ]; then
    echo "$mute does not tell its lanes"
    exit 2
fi
if [ "$seen" = 0 ]; then
    echo "no accelerator on the PCI bus"
    exit 2
fi
echo "$seen accelerators with $lanes lanes"
