#!/bin/sh
# A check of the site's own: a command by its exit code (0 good, 1 bad, else unknown), or by the
# number with which its output begins. One that hangs tells nothing.
#
# own-check.sh SECONDS ROOT THRESHOLD COMMAND...
#   THRESHOLD  largest good number; empty where the exit code decides
set -u
export LC_ALL=C
. "${0%/*}/command.sh"

seconds=$1 root=$2 threshold=$3
shift 3
ask "$seconds" "$root" 124 "$@"
line=$(printf '%s\n' "$said" | head -n 1)
if [ -z "$threshold" ]; then
    echo "${line:-"$name ended with $code"}"
    [ "$code" = 1 ] || [ "$code" = 0 ] || exit 2
    exit "$code"
fi
number=${line%%[!0-9.]*}
case $code$number in
0[0-9]*) ;;
*)
    echo "$name told no number (exit code $code)"
    exit 2
    ;;
esac
if awk -v number="$number" -v most="$threshold" 'BEGIN { exit !(number + 0 > most + 0) }'; then
    echo "$line, and $threshold is the most"
    exit 1
fi
echo "$line"
