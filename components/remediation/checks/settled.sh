#!/bin/sh
# Runs a check, and says what has been so for a while: one reading alone changes nothing, as a
# condition that flaps ends the repair that it began.
#
# settled.sh STATE BOOT_ID NAME BAD_AFTER GOOD_AFTER SECONDS HUNG CHECK [ARGUMENT...]
#   STATE       folder that a reboot empties
#   BOOT_ID     file with the id of this boot
#   BAD_AFTER   bad readings in a row until the answer is bad; silent ones until it is unknown
#   GOOD_AFTER  good readings in a row until the answer is good
#   SECONDS     how long the check may take; it bounds its commands by less
#   HUNG        the reading where it takes longer: 1 bad, 2 unknown
# Answers as node-problem-detector has it: 0 good, 1 bad, 2 unknown, and a line of 80 characters.
set -u
export LC_ALL=C

answer_with() { # CODE TEXT
    printf '%.80s\n' "$2"
    exit "$1"
}

[ $# -ge 8 ] || answer_with 2 "settled.sh: too few arguments"
state=$1 boot_file=$2 name=$3 bad_after=$4 good_after=$5 seconds=$6 hung=$7
shift 7
folder=$state/$name

uptime_seconds() {
    read -r up _ </proc/uptime
    echo "${up%%.*}"
}

started() { # PID: when it started, in clock ticks since boot; nothing where it has ended
    sed -n '1s/^[0-9]* (.*) \([^ZX] \)/\1/p' "/proc/$1/stat" 2>/dev/null | cut -d ' ' -f 20
}

start() { # in the background with its output in a file, as nothing ends a process in the kernel
    rm -f "$folder/ended" "$folder/said" "$folder/running"
    (
        "$@" >"$folder/said" 2>/dev/null
        echo $? >"$folder/ended.new" && mv "$folder/ended.new" "$folder/ended"
    ) </dev/null >/dev/null 2>&1 &
    began=$(uptime_seconds)
    echo "$! $(started $!) $began" >"$folder/running.new" &&
        mv "$folder/running.new" "$folder/running"
}

run() { # one check at a time: one that an earlier run has begun is waited for, or hangs by now
    pid='' born='' began=''
    [ ! -r "$folder/running" ] || read -r pid born began <"$folder/running"
    if [ -z "$began" ] || [ "$(started "$pid")" != "$born" ]; then start "$@"; fi
    pause=0.05
    while [ ! -e "$folder/ended" ]; do
        waited=$(($(uptime_seconds) - began))
        [ "$waited" -le "$seconds" ] || return 1
        [ "$waited" -lt 1 ] || pause=0.25
        sleep "$pause"
    done
}

in_reset() { # gpu-reset.sh is at work: what opens the GPUs meanwhile disturbs it, and sees them gone
    case $name in accelerator-missing | fabric-down) ;; *) return 1 ;; esac
    { read -r reset_boot reset_state <"$state/reset"; } 2>/dev/null || return 1
    [ "$reset_boot $reset_state" = "$boot begun" ]
}

read_check() { # sets reading and line
    if in_reset; then
        reading=2 line="the GPUs are being reset"
    elif run "$@"; then
        read -r reading <"$folder/ended"
        line=$(head -n 1 "$folder/said" | tr -cd '[:print:]')
        case $reading in 0 | 1) ;; *) reading=2 ;; esac
    else
        reading=$hung line="no answer within $seconds s"
    fi
}

remembered() { # sets answer, last, count, silent and told as the last run left them
    then_boot='' answer='' last='' count='' silent='' told=''
    if [ -r "$folder/state" ]; then
        {
            read -r then_boot answer last count silent
            read -r told
        } <"$folder/state"
    fi
    case ${silent:-none}$answer$last$count in
    *[!0-9]*) ;;
    *) [ "$then_boot" != "$boot" ] || return 0 ;;
    esac
    answer=2 last=2 count=0 silent=0 told=''
}

settle() { # takes reading into account
    if [ "$reading" = 2 ]; then
        silent=$((silent + 1))
        [ "$silent" -lt "$bad_after" ] || answer=2 last=2 count=0
        return
    fi
    silent=0
    [ "$reading" = "$last" ] || count=0
    last=$reading
    needed=$good_after
    [ "$reading" = 0 ] || needed=$bad_after
    [ "$count" -ge "$needed" ] || count=$((count + 1))
    [ "$count" -lt "$needed" ] || answer=$reading
}

mkdir -p "$folder" 2>/dev/null || answer_with 2 "$folder cannot be made"
read -r boot <"$boot_file" || answer_with 2 "$boot_file cannot be read"
remembered
read_check "$@"
settle
[ "$reading" != "$answer" ] || told=$line
{ printf '%s\n' "$boot $answer $last $count $silent" "$told" >"$folder/state.new" &&
    mv "$folder/state.new" "$folder/state"; } || answer_with 2 "$folder cannot be written"
[ "$answer" != 2 ] || answer_with 2 "not settled: $line"
answer_with "$answer" "$told"
