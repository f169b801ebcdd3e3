#!/bin/sh
# Whether the file systems of folders can be written: an error of a disk makes the kernel mount
# them read-only, or shut them down; after a reboot it may not be mounted at all, and what is
# written lands on the root's.
#
# read-only-filesystem.sh HOST MOUNTS FOLDER...
#   HOST    where the host's root is
#   MOUNTS  the mounts of the host's first process
set -u
export LC_ALL=C

host=${1%/} mounts=$2
shift 2

mount_of() { # FOLDER: mount point and options of its file system: the longest, of these the last
    awk -v folder="$1/" '
        {
            point = $2 == "/" ? "/" : $2 "/"
            if (index(folder, point) == 1 && length(point) >= best) {
                best = length(point); found = $2 " " $4
            }
        }
        END { print found }
    ' "$mounts"
}

for folder in "$@"; do
    found=$(mount_of "$folder")
    options=${found#* }
    if [ -z "$found" ]; then
        echo "no mount of $folder in $mounts"
        exit 2
    fi
    if [ "$folder" != / ] && [ "${found%% *}" = / ]; then
        echo "$folder is not mounted"
        exit 1
    fi
    # ext4 of Linux 6.15 and later shows its emergencies by names of their own.
    case ,$options, in
    *,ro,* | *,emergency_ro,* | *,shutdown,*)
        echo "${found%% *} is read-only"
        exit 1
        ;;
    esac
done

for folder in "$@"; do
    set -- "$@" "$host$folder"
    shift
done
# XFS that has shut down keeps its options, and answers every look with an error.
told=$(timeout --foreground -k 1 10 stat -- "$@" 2>&1 >/dev/null)
code=$?
failed=$(echo "$told" | grep -m 1 'Input/output error')
if [ -n "$failed" ]; then
    echo "${failed#stat: }" | sed "s|'$host/*|'/|"
    exit 1
fi
if [ "$code" != 0 ]; then
    echo "not all can be looked at"
    exit 2
fi
echo "all can be written"
