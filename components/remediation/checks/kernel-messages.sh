#!/bin/sh
# Whether the kernel's log has had a message since the host's start that an expression names. The
# kernel's ring buffer forgets, so what was seen is kept.
#
# kernel-messages.sh STATE BOOT_ID EXPRESSION
#   STATE       folder that a reboot empties
#   BOOT_ID     file with the id of this boot
#   EXPRESSION  regular expression (grep -E) of the messages
set -u
export LC_ALL=C

file=$1/kernel-messages expression=$3
read -r boot <"$2" || exit 2
log=$(timeout --foreground -k 1 10 dmesg 2>/dev/null)
code=$?
past=''
if [ -r "$file" ] && [ "$(head -n 1 "$file")" = "$boot" ]; then past=$(sed 1d "$file"); fi
now=$(printf '%s\n' "$log" | sed 's/^\[[^]]*\] *//')
all=$(printf '%s\n' "$past" "$now" | grep -E -e "$expression" 2>/dev/null) || [ $? = 1 ] || {
    echo "grep refuses the expression"
    exit 2
}
all=$(printf '%s\n' "$all" | sort -u | head -n 50)
{ printf '%s\n' "$boot" "$all" >"$file.new" && mv "$file.new" "$file"; } || exit 2
if [ -n "$all" ]; then
    printf '%s\n' "$all" | head -n 1
    exit 1
fi
if [ "$code" != 0 ]; then
    echo "the kernel's log cannot be read"
    exit 2
fi
echo "no such message since the start"
