#!/bin/sh
# Whether the file systems of folders have space and inodes left.
#
# disk-full.sh HOST PERCENT FOLDER...
#   HOST     where the host's root is
#   PERCENT  used share from which a file system counts as full
set -u
export LC_ALL=C

host=${1%/} percent=$2
shift 2
for folder in "$@"; do
    set -- "$@" "$host$folder"
    shift
done

fullest() { # OPTION FOLDER...: the share and the place of the fullest file system
    timeout --foreground -k 1 10 df -P "$@" 2>/dev/null |
        sed -n '2,$s/^.* \([0-9][0-9]*\)% \(.*\)$/\1 \2/p' | sort -rn | head -n 1
}

space=''
for what in space inodes; do
    option=-k
    [ "$what" = space ] || option=-i
    found=$(fullest "$option" "$@")
    share=${found%% *} place=${found#* }
    [ "$what" = inodes ] || space=$share
    if [ -n "$share" ] && [ "$share" -ge "$percent" ]; then
        place=${place#"$host"}
        echo "${place:-/}: $share% of its $what used"
        exit 1
    fi
done
for folder in "$@"; do
    if [ ! -d "$folder" ]; then
        echo "${folder#"$host"} is not there"
        exit 2
    fi
done
if [ -z "$space" ]; then
    echo "df told nothing"
    exit 2
fi
echo "$space% used at most"
