# Makes the file system of this host's data disks, at the first boot after an installation. Whatever
# was on these disks is deleted. A fault leaves the disks unmounted, and the folder missing.
set -eu

fail() {
  echo "foresite-data-disks: $1" >&2
  exit 1
}

! mountpoint -q "$mount" || exit 0
udevadm settle
case $(findmnt -nvo FSTYPE /) in
  # They name one of their disks at most, and the others would be wiped.
  btrfs | zfs) fail "/ is btrfs or zfs, so it is not known which disks it is on" ;;
esac
root=$(lsblk -nrspo NAME "$(findmnt -nvo SOURCE /)") || fail "the disk of / is not found"
if [ -n "$all" ]; then
  for disk in $(lsblk -dnrpo NAME,TRAN | awk '$2 == "nvme" { print $1 }'); do
    # lsblk calls NVMe over fabrics so too; a disk of several paths has them below its subsystem.
    at=/sys/class/block/${disk##*/}/device
    ! cat "$at/transport" "$at"/nvme*/transport 2>/dev/null | grep -qvx pcie || continue
    devices="$devices $disk"
  done
  [ -n "$devices" ] || fail "no NVMe disk"
fi

disks='' found=0
for device in $devices; do
  disk=$(readlink -f "$device")
  [ -b "$disk" ] || fail "there is no disk $device"
  if echo "$root" | grep -qxF "$disk"; then
    [ -n "$all" ] || fail "$device has the operating system"
    continue
  fi
  [ -z "$(lsblk -nro MOUNTPOINT "$disk" | tr -d '[:space:]')" ] || fail "$disk is in use"
  disks="$disks $disk" found=$((found + 1))
done
[ "$found" -eq "$count" ] || fail "$found data disks, where the profile says $count"

for disk in $disks; do
  for array in $(lsblk -nrpo NAME,TYPE "$disk" | awk '$2 ~ /^raid/ { print $1 }' | sort -u); do
    mdadm --stop "$array"
  done
done
for disk in $disks; do
  for part in $(lsblk -nro KNAME "$disk"); do
    holders=$(ls "/sys/class/block/$part/holders")
    [ -z "$holders" ] || fail "/dev/$part of $disk belongs to $holders, so nothing was wiped"
  done
done
for disk in $disks; do
  for part in $(lsblk -nrpo NAME "$disk" | sort -r); do wipefs --all --force --quiet "$part"; done
done
target=$disk
if [ "$count" -gt 1 ]; then
  target=/dev/md/data
  # shellcheck disable=SC2086
  mdadm --create "$target" --run --homehost any --level 0 --raid-devices "$count" $disks
fi
case $filesystem in
  xfs) mkfs.xfs -f -q "$target" ;;
  ext4) mkfs.ext4 -F -q "$target" ;;
esac
udevadm settle
uuid=$(blkid -p -s UUID -o value "$target")
mkdir -p "$mount"
echo "UUID=$uuid $mount $filesystem noatime,nofail,x-systemd.before=kubelet.service 0 2" >>/etc/fstab
mount "$mount"
for folder in $folders; do
  owner=${folder%%:*}
  install -d -m 0750 -o "$owner" -g "$owner" "$mount/${folder#*:}"
done
