#!/bin/sh
# Whether NVIDIA's driver has told an error since the host's start that a reboot clears. The
# kernel's ring buffer forgets, so what was seen is kept. The form of a line is that of NVIDIA's open
# kernel modules 595.91, src/nvidia/src/kernel/gpu/rc/kernel_rc.c.
#
# accelerator-error.sh STATE BOOT_ID XIDS
#   STATE    folder that a reboot empties
#   BOOT_ID  file with the id of this boot
#   XIDS     numbers of errors, with commas
set -u
export LC_ALL=C

file=$1/xids xids=$3
read -r boot <"$2" || exit 2
log=$(timeout --foreground -k 1 10 dmesg 2>/dev/null)
code=$?
# 154 says which action recovers the GPU from now on: 0x0 is none, 0x3 spares other GPUs' traffic.
now=$(printf '%s\n' "$log" |
    sed -n -e '/): 154,.* to 0x[03] /d' -e 's/^\(\[[^]]*\] *\)\{0,1\}NVRM: Xid (PCI:\([0-9A-Fa-f:.]*\)[^)]*): \([0-9]*\),.*/\3 \2/p')
past=''
if [ -r "$file" ] && [ "$(head -n 1 "$file")" = "$boot" ]; then past=$(sed 1d "$file"); fi
all=$(printf '%s\n' "$past" "$now" | grep . | sort -u)
{ printf '%s\n' "$boot" "$all" >"$file.new" && mv "$file.new" "$file"; } || exit 2

count=0 first=''
while read -r xid card; do
    case ,$xids, in *,"${xid:-none}",*) ;; *) continue ;; esac
    count=$((count + 1))
    first=${first:-"XID $xid of $card"}
done <<EOF
$all
EOF
if [ "$count" -gt 0 ]; then
    [ "$count" = 1 ] || first="$first, and $((count - 1)) more"
    echo "$first"
    exit 1
fi
if [ "$code" != 0 ]; then
    echo "the kernel's log cannot be read"
    exit 2
fi
echo "no such error since the start"
