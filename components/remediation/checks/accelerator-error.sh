#!/bin/sh
# Whether NVIDIA's driver has told an error since the host's start that a reboot clears. The
# kernel's ring buffer forgets, so what was seen is kept. The form of a line is that of NVIDIA's open
# kernel modules 595.91, src/nvidia/src/kernel/gpu/rc/kernel_rc.c.
#
# accelerator-error.sh STATE BOOT_ID XIDS [RESETS]
#   STATE    folder that a reboot empties
#   BOOT_ID  file with the id of this boot
#   XIDS     numbers of errors, with commas
#   RESETS   those of them that a reset of the GPU recovers. Where there are no others, and
#            gpu-reset.sh has reset nothing since the host's start, the line ends with ": reset"
set -u
export LC_ALL=C

file=$1/xids xids=$3 resets=${4:-} then='' reset='' start='^\(\[[^]]*\] *\)\{0,1\}'
read -r boot <"$2" || exit 2
[ ! -r "$1/reset" ] || read -r then reset <"$1/reset"
[ "$then" = "$boot" ] || reset=''
log=$(timeout --foreground -k 1 10 dmesg 2>/dev/null)
code=$?
error="${start}NVRM: Xid (PCI:\([0-9A-Fa-f:.]*\)[^)]*): "

errors() { # of lines of the log: number, card, and whether a reboot is needed
    # 154 says which action recovers the GPU from now on: 0x0 is none, 0x2 a reboot, 0x3 spares
    # other GPUs' traffic.
    sed -n -e '/): 154,.* to 0x[03] /d' \
        -e "s/${error}154,.* to 0x2 .*/154 \2 reboot/p" -e "s/$error\([0-9]*\),.*/\3 \2/p"
}

lasting() { # those of the errors that a reset does not recover
    while read -r xid card needs; do
        case ,$resets,$needs in *,"$xid",*reboot) ;; *,"$xid",*) continue ;; esac
        echo "$xid $card $needs"
    done
}

era=$boot now='' past=''
if [ -r "$file" ]; then past=$(sed 1d "$file") seen=$(head -n 1 "$file"); fi
if [ "$reset" = "done" ]; then
    # What was seen before the reset is over, if a reset recovers it. A line of the log says where
    # that was.
    era="$boot reset"
    at=$(printf '%s\n' "$log" | grep -n "${start}foresite: GPUs reset\$" | tail -n 1)
    now=$(printf '%s\n' "$log" | head -n "$((${at%%:*} + 0))" | errors | lasting)
    log=$(printf '%s\n' "$log" | tail -n "+$((${at%%:*} + 1))")
fi
case ${seen:-} in
"$era") ;;
"$boot") past=$(printf '%s\n' "$past" | lasting) ;;
*) past='' ;;
esac
now="$now
$(printf '%s\n' "$log" | errors)"
all=$(printf '%s\n' "$past" "$now" | grep . | sort -u)
{ printf '%s\n' "$era" "$all" >"$file.new" && mv "$file.new" "$file"; } || exit 2

count=0 first='' by=reset
while read -r xid card needs; do
    case ,$xids, in *,"${xid:-none}",*) ;; *) continue ;; esac
    count=$((count + 1))
    first=${first:-"XID $xid of $card"}
    case ,$resets,$needs in *,"$xid",*reboot) by='' ;; *,"$xid",*) ;; *) by='' ;; esac
done <<EOF
$all
EOF
if [ "$count" -gt 0 ]; then
    [ "$count" = 1 ] || first="$first, and $((count - 1)) more"
    case $by$reset in reset | resetbegun) first="$first: reset" ;; esac
    echo "$first"
    exit 1
fi
if [ "$code" != 0 ]; then
    echo "the kernel's log cannot be read"
    exit 2
fi
echo "no such error since the start"
