#!/bin/sh
# Tests an OS image against the contract of docs/os-image.md: contract.sh [OPTION]... ROOT
# ROOT is the mounted root of an image, or / of a host. Nothing is written, and nothing of ROOT is
# run; links are followed inside of ROOT only. Run it as root, so that it may read everything.
#   -k v1.34.3   the Kubernetes version of the release (required)
#   -a arm64     architecture; default amd64
#   -d xfs       first_boot.data_disks.filesystem: the image makes it
#   -m           several data disks in a host: mdadm joins them
#   -c           first_boot.ca_certificates is set
#   -6           cluster.pods6 is set
#   -g           NVIDIA's driver and container toolkit come with the image
#   -b builder   an account that the build locks once it is done (image-builder's)
#   -r           a host that has run: leave out what holds before the first boot only
# Exit codes: 0 fulfilled, 1 broken, 2 not known (a part was not seen), or called wrongly.
set -u
LC_ALL=C
kubernetes='' arch=amd64 filesystem='' several='' builder='' certificates='' six='' nvidia='' ran=''
usage() { sed -n '2,15s/^# //p' "$0" >&2; exit 2; }
while getopts k:a:d:b:mc6gr option; do
  case $option in
    k) kubernetes=$OPTARG ;; a) arch=$OPTARG ;; d) filesystem=$OPTARG ;; b) builder=$OPTARG ;; m) several=1 ;;
    c) certificates=1 ;; 6) six=1 ;; g) nvidia=1 ;; r) ran=1 ;; *) usage ;;
  esac
done
shift $((OPTIND - 1))
[ $# -eq 1 ] && [ -d "$1" ] && [ -r "$1" ] || usage
root=${1%/}
echo "$kubernetes" | grep -Eqx 'v[0-9]+\.[0-9]+\.[0-9]+' || usage
case $arch in
  amd64) machine=3e efi=BOOTX64.EFI ;;
  arm64) machine=b7 efi=BOOTAA64.EFI ;;
  *) usage ;;
esac
case $filesystem in '' | xfs | ext4) ;; *) usage ;; esac

bad=0 unseen=0
ok() { echo "ok        $1"; }
broken() { echo "broken    $1: $2"; bad=1; }
unknown() { echo "not known $1: $2"; unseen=1; }
# The place of a path of the image on this machine, empty where it is not there.
at() {
  left=${1#/} out='' links=0
  while [ -n "$left" ]; do
    part=${left%%/*}
    case $left in */*) left=${left#*/} ;; *) left='' ;; esac
    case $part in '' | .) continue ;; ..) out=${out%/*}; continue ;; esac
    if [ -L "$root$out/$part" ]; then
      links=$((links + 1))
      [ "$links" -le 40 ] || return 0
      to=$(readlink "$root$out/$part")
      case $to in /*) out='' ;; esac
      left=$to/$left
    else
      out=$out/$part
    fi
  done
  [ ! -e "$root$out" ] || echo "$root$out"
}
program() {
  for folder in /usr/bin /usr/sbin /usr/local/bin /usr/local/sbin /bin /sbin; do
    place=$(at "$folder/$1")
    [ -z "$place" ] || [ ! -f "$place" ] || [ ! -x "$place" ] || { echo "$place"; return; }
  done
}
programs() { # what for, then all of them
  for each in $2; do
    [ -n "$(program "$each")" ] || { broken "$1" "the image has no $each"; return; }
  done
  ok "$1"
}
# The content of regular files of the image, of each a mebibyte, by patterns of their paths.
texts() {
  set -f
  for name in $1; do
    set +f
    for path in "$root"$name; do
      place=$(at "${path#"$root"}")
      [ -z "$place" ] || [ ! -f "$place" ] || { head -c 1048576 "$place"; echo; }
    done
  done
  set +f
}
says() { texts "$2" | grep -Eq "$1"; }
plain() { tr -cd 'A-Za-z0-9/_. -' | head -c 200; }

# Kubernetes
for each in kubelet kubeadm; do
  place=$(program $each)
  if [ -z "$place" ]; then
    broken $each "it is not there"
  elif [ "$(od -An -tx1 -j18 -N1 "$place" 2>/dev/null | tr -d ' ')" != $machine ]; then
    broken $each "it is no program for $arch"
  elif ! head -c 536870912 "$place" | grep -aqF "$kubernetes"; then
    broken $each "it is not of $kubernetes, or says it nowhere"
  else
    ok $each
  fi
done
config='/etc/containerd/config.toml /etc/containerd/conf.d/*.toml'
if [ -z "$(program containerd)" ]; then
  broken containerd "it is not there"
elif ! says "^[^#]*config_path *= *[\"'][^\"']*/etc/containerd/certs\.d" "$config"; then
  broken containerd "no config_path = \"/etc/containerd/certs.d\": mirrors and caches are not used"
elif ! says '^[^#]*SystemdCgroup *= *true' "$config"; then
  broken containerd "no SystemdCgroup = true: kubelet and containerd use two cgroup managers"
else
  ok containerd
fi
programs "programs of kubeadm and of first boots" \
  "systemctl losetup mount cp awk sed grep tar nsenter sysctl install crictl"
forward='/etc/sysctl.conf /etc/sysctl.d/*.conf /usr/lib/sysctl.d/*.conf'
if says '^ *net[./]ipv4[./]ip_forward *= *1' "$forward"; then ok forwarding
else broken forwarding "net.ipv4.ip_forward = 1 is in no file of sysctl.d: kubeadm refuses"; fi
if [ -n "$six" ]; then
  if says '^ *net[./]ipv6[./]conf[./]all[./]forwarding *= *1' "$forward"; then ok "IPv6 forwarding"
  else broken "IPv6 forwarding" "net.ipv6.conf.all.forwarding = 1 is in no file of sysctl.d"; fi
fi
if says '^ *net[./]ipv4[./]conf[./]all[./]rp_filter *= *1' "$forward"; then
  broken "reverse path" "net.ipv4.conf.all.rp_filter = 1: hosts with several networks drop answers"
else ok "reverse path"; fi
modules='/etc/modules-load.d/*.conf /usr/lib/modules-load.d/*.conf'
for each in overlay br_netfilter; do
  if says "^ *$each *\$" "$modules"; then ok "module $each"
  else broken "module $each" "no file of modules-load.d loads it"; fi
done
if says '^[^#]*[[:space:]]swap[[:space:]]' /etc/fstab; then
  broken swap "/etc/fstab has swap: the kubelet does not start"
else ok swap; fi

# First boot
cloud='/etc/cloud/cloud.cfg /etc/cloud/cloud.cfg.d/*.cfg'
version=$(texts '/usr/lib/python3*/*-packages/cloudinit/version.py' |
  sed -n 's/^__VERSION__ *= *"\([0-9]*\)\.\([0-9]*\).*/\1 \2/p' | head -n 1)
# shellcheck disable=SC2086
set -- $version
if [ $# -ne 2 ]; then
  broken cloud-init "it is not there"
elif [ "$1" -lt 22 ] || { [ "$1" -eq 22 ] && [ "$2" -lt 4 ]; }; then
  broken cloud-init "it is $1.$2, and 22.4 is the oldest that reads network data as they are written"
elif [ -n "$(at /etc/cloud/cloud-init.disabled)" ] ||
  says 'policy: *disabled' /etc/cloud/ds-identify.cfg; then
  broken cloud-init "it is disabled"
elif texts "$cloud" | grep '^ *datasource_list *: *\[' | grep -qv ConfigDrive; then
  broken cloud-init "a datasource_list leaves out ConfigDrive, from which Metal3's hosts read"
elif texts "$cloud" | tr -d ' \n' | grep -q 'network:{\{0,1\}config:"\{0,1\}disabled'; then
  broken cloud-init "its network is disabled: hosts would ignore their addresses"
else
  ok cloud-init
fi
if [ -n "$(program netplan)$(program NetworkManager)" ]; then ok network
else broken network "there is neither netplan nor NetworkManager"; fi
if [ -n "$(program chronyd)$(at /usr/lib/systemd/systemd-timesyncd)" ]; then ok time
else broken time "there is neither chrony nor systemd-timesyncd"; fi
if [ -n "$certificates" ]; then
  if [ -n "$(program update-ca-certificates)$(program update-ca-trust)" ]; then ok certificates
  else broken certificates "there is neither update-ca-certificates nor update-ca-trust"; fi
fi
if [ -n "$filesystem" ]; then
  programs "data disks" "lsblk findmnt wipefs blkid udevadm mkfs.$filesystem${several:+ mdadm}"
fi

# Accelerators
imex=systemd/system/nvidia-imex.service
if [ -n "$(at /usr/lib/$imex)$(at /lib/$imex)" ] &&
  [ "$(readlink "$root/etc/$imex")" != /dev/null ]; then
  broken nvidia-imex "its service is not masked: NVIDIA's DRA driver cannot start its own"
fi
if [ -n "$nvidia" ]; then
  toolkit=/etc/nvidia-container-runtime/config.toml
  if ! says '^ *accept-nvidia-visible-devices-envvar-when-unprivileged *= *false' $toolkit ||
    ! says '^ *accept-nvidia-visible-devices-as-volume-mounts *= *true' $toolkit; then
    broken "NVIDIA container toolkit" "$toolkit lets any pod have any GPU (docs/accelerators.md)"
  else programs "NVIDIA container toolkit" "nvidia-smi nvidia-container-runtime"; fi
fi

# Before the first boot
if [ -n "$(at "/boot/efi/EFI/BOOT/$efi")" ]; then ok "EFI boot"
elif [ -n "$(at /boot/efi/EFI)" ]; then broken "EFI boot" "the EFI partition has no EFI/BOOT/$efi"
else unknown "EFI boot" "mount the EFI partition at ROOT/boot/efi (not needed for boot_mode legacy)"; fi
if [ -z "$ran" ]; then
  id=$(texts /etc/machine-id)
  case $id in '' | uninitialized) ok machine-id ;;
    *) broken machine-id "it is not empty: all hosts would be one" ;; esac
  if [ -z "$(at /var/lib/cloud/instance)" ]; then ok "cloud-init state"
  else broken "cloud-init state" "it has run: it would skip its first boot (cloud-init clean)"; fi
  keys=''
  for path in "$root"/etc/ssh/ssh_host_*_key "$root"/root/.ssh/authorized_keys \
    "$root"/home/*/.ssh/authorized_keys; do
    place=$(at "${path#"$root"}")
    [ -z "$place" ] || [ ! -s "$place" ] || keys="$keys ${path#"$root"}"
  done
  if [ -z "$keys" ]; then ok keys
  else broken keys "whoever has the image has these:$(echo "$keys" | plain)"; fi
  shadow=$(at /etc/shadow)
  open=$([ -z "$shadow" ] || grep -E '^[^:]*:(\$|:)' "$shadow" 2>&1 | cut -d: -f1 |
    grep -vxF "${builder:-:}" | tr '\n' ' ' | plain)
  if [ -z "$shadow" ] || [ ! -r "$shadow" ]; then
    unknown passwords "/etc/shadow is not seen: run this as root"
  elif [ -z "$open" ]; then ok passwords
  else broken passwords "whoever has the image can log in as $open"; fi
fi
[ $bad -eq 0 ] || exit 1
[ $unseen -eq 0 ] || exit 2
