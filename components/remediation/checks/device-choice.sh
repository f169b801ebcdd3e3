#!/bin/sh
# Whether NVIDIA's container runtime ignores devices that unprivileged containers choose by a
# variable, which many images set. What its configuration does not say it follows.
#
# device-choice.sh NONE CONFIG...
#   NONE    exit code where there is no configuration: 1 for bad, 2 for unknown
#   CONFIG  files of nvidia-container-runtime; those that are not there are left out
set -u
export LC_ALL=C

none=$1 found=''
shift
ignored='^ *accept-nvidia-visible-devices-envvar-when-unprivileged *= *false *(#.*)?$'
for file; do
    [ -r "$file" ] || continue
    found=1
    if ! sed '/^ *\[/,$d' "$file" | grep -Eq "$ignored"; then
        echo "images choose GPUs: see ${file#/host}"
        exit 1
    fi
done
if [ -z "$found" ]; then
    echo "images may choose GPUs: the runtime has no configuration"
    exit "$none"
fi
echo "images choose no GPUs"
