"""Data disks: what a host does at its first boot is done here, by cloud-init's own modules.

cloud-init is Debian's package, taken apart and not installed; disks are loop devices. A kernel of a
sandbox seldom has md, so mdadm is a stand-in that notes its arguments and gives the first disk.

The program wipes disks, so it meets none of the machine that runs the tests: it has a /dev of its
own with the loop devices alone, and what says which disk has the operating system is a stand-in.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from components.machines.bootstrap import kubeadm_config
from components.machines.data_disks import PROGRAM, data_disks_script
from components.making.dump import dump
from schemas.facts.site import Site
from schemas.model.first_boot import DataFileSystem
from schemas.model.hardware import DataDisks
from schemas.model.vocabulary import DataFormat
from tests.golden import every_site, pools, with_file

TOOLS = ("lsblk", "findmnt", "wipefs", "blkid", "mkfs.ext4", "losetup", "mountpoint", "unshare")
PACKAGES = (
    "cloud-init", "python3-configobj", "python3-six", "python3-jsonpatch", "python3-json-pointer"
)  # fmt: skip
MODULES = """
import logging, sys
from pathlib import Path
from types import SimpleNamespace
import yaml
from cloudinit import templater
from cloudinit.config import cc_runcmd, cc_write_files
root, text = sys.argv[1], sys.stdin.read()
names = {"ds": {"meta_data": {"local_hostname": "host-1", "zone": "a", "rack": "r"}}}
config = yaml.safe_load(templater.render_string(text, names))
for each in config["write_files"]:
    each["path"] = root + each["path"]
cloud = SimpleNamespace(get_ipath=lambda _: root, distro=SimpleNamespace(default_owner="root:root"))
cc_write_files.handle("write_files", config, cloud, logging.getLogger(), [])
cc_runcmd.handle("runcmd", config, cloud, logging.getLogger(), [])
"""
BOOT = """
set -e
root=$1 mount=$2; shift 2
mkdir "$root/dev"
mount -t tmpfs none "$root/dev"
for node in /dev/null /dev/zero /dev/urandom "$@"; do cp -a "$node" "$root/dev"; done
mount --move "$root/dev" /dev
mount -t tmpfs none /sys/class/block
for disk in "$@"; do
  mkdir -p "/sys/class/block/${disk#/dev/}/holders" "/sys/class/block/${disk#/dev/}/device"
done
test ! -e "$root/sysfs" || sh -c "$(cat "$root/sysfs")"
mount --bind "$root/fstab" /etc/fstab
mount --bind "$root/usr/local/sbin" /usr/local/sbin
PATH="$root/stubs:$PATH" sh "$root/runcmd" || echo failed
findmnt -no FSTYPE "$mount" || echo unmounted
stat -c '%u %g %a' "$mount/cache" || true
touch "$mount/cache/object" 2>/dev/null || true
"""
FINDMNT = """case "$*" in
  *FSTYPE*" /") echo {kind} ;;
  *" /") echo {system} ;;
  *) exec {real} "$@" ;;
esac"""
LSBLK = """case "$*" in
  *TRAN*) printf '%s nvme\\n' {disks}; echo /dev/sda sata ;;
  *) exec {real} "$@" ;;
esac"""
SWITCH = "FORESITE_LOOP_DEVICES"


def with_disks(mount: str, devices: list[str], count: int | None = None) -> Site:
    """tokyo-1 with other data disks."""
    site = every_site()["tokyo-1"]
    made = DataFileSystem(mount=mount, filesystem=DataFormat.EXT4, folders={"cache": 65532})
    changed = with_file(
        site, first_boot=site.file.first_boot.model_copy(update={"data_disks": made})
    )
    # Loop devices have no link below /dev/disk, which the type asks for.
    disks = DataDisks.model_construct(count=count, devices=devices)
    profile = site.hardware["v100-sxm2-32gb-x8"].model_copy(update={"data_disks": disks})
    return replace(changed, hardware={**site.hardware, "v100-sxm2-32gb-x8": profile})


def test_nothing_is_made_where_no_file_system_is_asked_for() -> None:
    site = every_site()["lab-1"]
    for pool in site.file.pools:
        assert site.profile(pool).data_disks
        assert data_disks_script(site, pool) is None
        assert PROGRAM not in dump(kubeadm_config(site, pool))


def test_disks_are_made_before_the_host_joins_and_once_an_installation() -> None:
    config = kubeadm_config(with_disks("/srv/nvme", [], 4), pools(every_site()["tokyo-1"])["v100"])
    assert config["preKubeadmCommands"][0] == PROGRAM
    assert "bootCommands" not in config  # those run at each boot


@pytest.fixture(scope="module")
def cloud_init(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of cloud-init's modules."""
    folder = tmp_path_factory.mktemp("cloud-init")
    if not (shutil.which("apt-get") and shutil.which("dpkg")):
        pytest.skip("no apt-get, so no package of cloud-init")
    command = ["apt-get", "download", "--quiet", *PACKAGES]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"apt-get has no cloud-init: {done.stderr[-200:]}")
    for package in folder.glob("*.deb"):
        subprocess.run(["dpkg", "-x", package, folder], check=True)
    return folder / "usr/lib/python3/dist-packages"


@pytest.fixture
def disks(tmp_path: Path) -> Iterator[list[str]]:
    """Three empty disks, the last of which plays the one of the operating system."""
    if not (os.environ.get(SWITCH) or os.environ.get("CI")):
        pytest.skip(f"loop devices are made only where {SWITCH}=1 or CI is set")
    missing = [name for name in TOOLS if shutil.which(name) is None]
    if missing:
        pytest.skip(f"no {', '.join(missing)}")
    with ExitStack() as stack:
        made: list[str] = []
        for number in range(3):
            file = tmp_path / f"disk-{number}"
            with file.open("wb") as stream:
                stream.truncate(64 << 20)
            done = subprocess.run(
                ["losetup", "--find", "--show", file], capture_output=True, text=True, check=False
            )
            if done.returncode:
                pytest.skip(f"no loop device may be made: {done.stderr.strip()}")
            made.append(done.stdout.strip())
            stack.callback(subprocess.run, ["losetup", "--detach", made[-1]], check=True)
        yield made


@dataclass
class Machine:
    """A v100 host whose only disks are loop devices."""

    root: Path
    cloud_init: Path
    disks: list[str]
    kind: str = "ext4"
    """The type of its root file system."""
    sysfs: str = ""
    """Commands that change what its kernel says of the disks."""

    def install(self, site: Site) -> list[str]:
        """The first boot of a fresh image: what it says of its mount and folder."""
        shutil.rmtree(self.root, ignore_errors=True)
        (self.root / "stubs").mkdir(parents=True)
        (self.root / "fstab").touch()
        (self.root / "sysfs").write_text(self.sysfs)
        self._stubs()
        config = kubeadm_config(site, pools(site)["v100"])
        made = {"write_files": config["files"], "runcmd": config["preKubeadmCommands"]}
        text = f"## template: jinja\n#cloud-config\n{dump(made)}"
        environment = {"PYTHONPATH": str(self.cloud_init), "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}
        environment["BLKID_FILE"] = str(self.root / "blkid")
        modules = [sys.executable, "-c", MODULES, self.root]
        subprocess.run(modules, input=text, text=True, env=environment, check=True)
        assert site.file.first_boot.data_disks
        mount = site.file.first_boot.data_disks.mount
        boot = ["unshare", "--mount", "sh", "-c", BOOT, "boot", self.root, mount, *self.disks]
        done = subprocess.run(boot, capture_output=True, text=True, check=True, env=environment)
        return [*done.stdout.splitlines(), *done.stderr.splitlines()]

    def _stubs(self) -> None:
        quiet = ("systemctl", "update-ca-certificates", "udevadm")
        raid = f'echo "$@" >>{self.root}/raid; [ "$1" != --create ] || ln -sf "${{10}}" "$2"'
        system, disks = self.disks[-1], " ".join(self.disks)
        stubs = dict.fromkeys(quiet, "true") | {
            "mdadm": f"mkdir -p /dev/md; {raid}",
            "findmnt": FINDMNT.format(kind=self.kind, system=system, real=shutil.which("findmnt")),
            "lsblk": LSBLK.format(disks=disks, real=shutil.which("lsblk")),
        }
        for name, body in stubs.items():
            (self.root / "stubs" / name).write_text(f"#!/bin/sh\n{body}\n")
            (self.root / "stubs" / name).chmod(0o755)


@pytest.fixture
def machine(cloud_init: Path, disks: list[str], tmp_path: Path) -> Machine:
    return Machine(tmp_path / "host", cloud_init, disks)


def test_a_fresh_image_and_a_new_one_end_with_an_empty_folder_of_the_caches_user(
    machine: Machine, tmp_path: Path
) -> None:
    root, mount, disks = machine.root, str(tmp_path / "nvme"), machine.disks[:2]
    for devices in (disks[:1], disks, disks[:1]):
        said = machine.install(with_disks(mount, devices))
        assert said[:2] == ["ext4", "65532 65532 750"], said
        (line,) = (root / "fstab").read_text().splitlines()
        assert line.split()[1:3] == [mount, "ext4"]
        assert "nofail" in line
        raid = (root / "raid").read_text().splitlines() if (root / "raid").exists() else []
        create = "--create /dev/md/data --run --homehost any --level 0 --raid-devices 2"
        assert raid == ([f"{create} {' '.join(disks)}"] if len(devices) > 1 else [])


def test_all_disks_are_those_in_the_host_itself_but_the_operating_systems(
    machine: Machine, tmp_path: Path
) -> None:
    near, far, _ = (f"/sys/class/block/{each[5:]}/device" for each in machine.disks)
    machine.sysfs = (
        f"echo pcie >{near}/transport; mkdir {far}/nvme7; echo tcp >{far}/nvme7/transport"
    )
    assert machine.install(with_disks(str(tmp_path / "nvme"), [], 1))[0] == "ext4"
    assert [_empty(each) for each in machine.disks] == [False, True, True]


def _empty(disk: str) -> bool:
    return subprocess.run(["blkid", "-p", disk], check=False).returncode == 2


FAULTS = {
    "missing": "there is no disk",
    "system": "has the operating system",
    "held": "belongs to dm-0",
    "btrfs": "/ is btrfs or zfs",
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_disk_that_is_not_there_or_not_for_data_leaves_the_cache_waiting(
    fault: str, machine: Machine, tmp_path: Path
) -> None:
    first, second, system = machine.disks
    devices = [first, {"missing": "/dev/no-such-disk", "system": system}.get(fault, second)]
    if fault == "held":
        machine.sysfs = f"mkdir /sys/class/block/{second[5:]}/holders/dm-0"
    if fault == "btrfs":
        machine.kind = fault
    mount = str(tmp_path / "nvme")
    said = machine.install(with_disks(mount, devices))
    assert "unmounted" in said, said
    assert any("foresite-data-disks:" in line and FAULTS[fault] in line for line in said), said
    assert not (Path(mount) / "cache").exists()
    # Nothing was wiped or made either: what was wrong is seen before.
    assert (machine.root / "fstab").read_text() == ""
    assert all(_empty(each) for each in machine.disks)
