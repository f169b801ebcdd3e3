#!/bin/sh
# Whether the switches between a host's accelerators work: by commands, of which each counts enough
# lines, and by the process that runs the switches. Sources for NVIDIA: Fabric Manager User Guide
# ("Fabric" of nvidia-smi -q, State and Status); Health Validation, nvlink_active (no link may be
# inactive); NVML, nvmlGpuFabricInfo. Where a State is still In Progress nothing is known yet.
#
# fabric-down.sh PROC PROCESS DEVICES [SECONDS ROOT LINES CODES EACH WORDS COMMAND...]...
#   PROCESS  its name; empty where none runs on the host
#   DEVICES  accelerators of the host
#   LINES    regular expression (grep -E) of the lines of a command's output that count
#   CODES    exit codes, with commas, that say nothing
#   EACH     lines for each accelerator
#   WORDS    how many words the command has
set -u
export LC_ALL=C
. "${0%/*}/command.sh"

ask_first() { # WORDS SECONDS ROOT CODES WORD...: asks the command of the first WORDS words
    words=$1 given="$2 $3" silent=$4
    shift 4
    left=$#
    while [ "$left" -gt 0 ]; do
        if [ "$words" -gt 0 ]; then set -- "$@" "$1" && words=$((words - 1)); fi
        shift
        left=$((left - 1))
    done
    # A folder of the host has no spaces in its name.
    ask ${given} "$silent" "$@"
}

proc=$1 process=$2 devices=$3 told='' begun=''
shift 3
while [ $# -gt 0 ]; do
    lines=$3 wanted=$((devices * $5)) take=$6 limit=$1 place=$2 quiet=$4
    shift 6
    ask_first "$take" "$limit" "$place" "$quiet" "$@"
    shift "$take"
    if [ "$code" = 124 ]; then
        echo "$name hung for $limit s"
        exit 1
    fi
    count "$lines"
    told="$working of $wanted parts of the fabric work ($name)"
    if [ "$working" -lt "$wanted" ]; then
        # The process brings the switches up: links are not there before.
        if printf '%s\n' "$said" | grep -Eq '^ *State +: In Progress$'; then begun=1 && break; fi
        echo "$told"
        exit 1
    fi
done
# The kernel keeps 15 characters of a process' name.
if [ -n "$process" ] &&
    ! cat "$proc"/[0-9]*/comm 2>/dev/null | grep -qxF -e "$(printf '%.15s' "$process")"; then
    echo "$process does not run"
    exit 1
fi
echo "${told:-$process runs}"
[ -z "$begun" ] || exit 2
