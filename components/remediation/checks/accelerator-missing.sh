#!/bin/sh
# Whether all accelerators of the host work: those on the PCI bus, and those that the host's own
# command counts; the smaller number counts.
#
# accelerator-missing.sh SYS EXPECTED VENDOR CLASSES DEVICES [SECONDS ROOT LINES CODES COMMAND...]
#   CLASSES, DEVICES  PCI ids with commas
#   SECONDS           how long the command may take; one that hangs has found a card that is lost
#   ROOT              folder that is the command's root
#   LINES             regular expression (grep -E) of the lines of its output that count
#   CODES             exit codes, with commas, that say nothing of the cards
set -u
export LC_ALL=C
. "${0%/*}/cards.sh"
. "${0%/*}/command.sh"

sys=$1 expected=$2
found=$(cards "$sys" "$3" "$4" "$5" | grep -c .)
shift 5
if [ "$found" -lt "$expected" ]; then
    echo "$found of $expected accelerators on the PCI bus"
    exit 1
fi
if [ $# = 0 ]; then
    echo "$found of $expected accelerators on the PCI bus"
    exit 0
fi

seconds=$1 root=$2 lines=$3 codes=$4
shift 4
ask "$seconds" "$root" "$codes" "$@"
if [ "$code" = 124 ]; then
    echo "$name hung for $seconds s"
    exit 1
fi
count "$lines"
echo "$working of $expected accelerators work ($name)"
[ "$working" -ge "$expected" ]
