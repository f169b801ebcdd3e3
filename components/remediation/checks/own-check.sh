#!/bin/sh
# A check of the site's own: a command by its exit code (0 good, 1 with a line bad, else unknown), or
# by the number with which its output begins. One that hangs tells nothing.
#
# own-check.sh SECONDS ROOT THRESHOLD COMMAND...
#   THRESHOLD  largest good number; empty where the exit code decides
set -u
export LC_ALL=C
. "${0%/*}/command.sh"

most_bytes=4096
seconds=$1 root=$2 threshold=$3
shift 3
ask "$seconds" "$root" 124 "$@"
line=$(printf '%s\n' "$said" | head -n 1)
if [ -z "$threshold" ]; then
    echo "${line:-"$name ended with $code"}"
    # A program that breaks off ends with 1 too, and says why to nobody.
    case $code$line in 0* | 1?*) exit "$code" ;; esac
    exit 2
fi
# Behind the number only a unit, as in 40ms: what else there is may be a part of the number.
number=$(printf '%s\n' "$line" | sed -nE -e '/^0[xX]/d' \
    -e 's/^([0-9]+(\.[0-9]+)?)([A-Za-z]*|%)([[:space:]].*)?$/\1/p')
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
