"""Data disks: what a host does at its first boot is done here, by cloud-init's own modules.

cloud-init is Debian's package, taken apart and not installed; disks are loop devices. A kernel of a
sandbox seldom has md, so mdadm is a stand-in that notes its arguments and gives the first disk.
"""

import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
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
mount --bind "$1/fstab" /etc/fstab
mount --bind "$1/usr/local/sbin" /usr/local/sbin
PATH="$1/stubs:$PATH" sh "$1/runcmd" || echo failed
findmnt -no FSTYPE "$2" || echo unmounted
stat -c '%u %g %a' "$2/cache" || true
touch "$2/cache/object" 2>/dev/null || true
"""


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
    """Two empty disks."""
    missing = [name for name in TOOLS if shutil.which(name) is None]
    if missing:
        pytest.skip(f"no {', '.join(missing)}")
    made: list[str] = []
    for number in range(2):
        file = tmp_path / f"disk-{number}"
        with file.open("wb") as stream:
            stream.truncate(64 << 20)
        done = subprocess.run(
            ["losetup", "--find", "--show", file], capture_output=True, text=True, check=False
        )
        if done.returncode:
            pytest.skip(f"no loop device may be made: {done.stderr.strip()}")
        made.append(done.stdout.strip())
    yield made
    for device in made:
        subprocess.run(["losetup", "--detach", device], check=True)
    shutil.rmtree("/dev/md", ignore_errors=True)


def installed(site: Site, root: Path, cloud_init: Path) -> list[str]:
    """The first boot of a v100 host of a fresh image: what it says of its mount and folder."""
    shutil.rmtree(root, ignore_errors=True)
    (root / "stubs").mkdir(parents=True)
    (root / "fstab").touch()
    quiet = ("systemctl", "update-ca-certificates", "udevadm")
    raid = f'echo "$@" >>{root}/raid; [ "$1" != --create ] || ln -sf "${{10}}" "$2"'
    stubs = dict.fromkeys(quiet, "true") | {"mdadm": f"mkdir -p /dev/md; {raid}"}
    for name, body in stubs.items():
        (root / "stubs" / name).write_text(f"#!/bin/sh\n{body}\n")
        (root / "stubs" / name).chmod(0o755)
    config = kubeadm_config(site, pools(site)["v100"])
    made = {"write_files": config["files"], "runcmd": config["preKubeadmCommands"]}
    text = f"## template: jinja\n#cloud-config\n{dump(made)}"
    environment = {"PYTHONPATH": str(cloud_init), "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}
    subprocess.run(
        [sys.executable, "-c", MODULES, root], input=text, text=True, env=environment, check=True
    )
    assert site.file.first_boot.data_disks
    boot: list[str | Path] = [
        "unshare",
        "--mount",
        "sh",
        "-c",
        BOOT,
        "boot",
        root,
        site.file.first_boot.data_disks.mount,
    ]
    done = subprocess.run(boot, capture_output=True, text=True, check=True, env=environment)
    return [*done.stdout.splitlines(), *done.stderr.splitlines()]


def test_a_fresh_image_and_a_new_one_end_with_an_empty_folder_of_the_caches_user(
    cloud_init: Path, disks: list[str], tmp_path: Path
) -> None:
    root, mount = tmp_path / "host", str(tmp_path / "nvme")
    for devices in (disks[:1], disks, disks[:1]):
        said = installed(with_disks(mount, devices), root, cloud_init)
        assert said[:2] == ["ext4", "65532 65532 750"], said
        (line,) = (root / "fstab").read_text().splitlines()
        assert line.split()[1:3] == [mount, "ext4"]
        assert "nofail" in line
        raid = (root / "raid").read_text().splitlines() if (root / "raid").exists() else []
        create = "--create /dev/md/data --run --homehost any --level 0 --raid-devices 2"
        assert raid == ([f"{create} {' '.join(disks)}"] if len(devices) > 1 else [])


@pytest.mark.parametrize("fault", ["missing", "system"])
def test_a_disk_that_is_not_there_or_not_for_data_leaves_the_cache_waiting(
    fault: str, cloud_init: Path, disks: list[str], tmp_path: Path
) -> None:
    find = ["findmnt", "-nvo", "SOURCE", "/"]
    found = subprocess.run(find, capture_output=True, text=True, check=True).stdout.strip()
    devices = [disks[0], "/dev/no-such-disk" if fault == "missing" else found]
    mount = str(tmp_path / "nvme")
    said = installed(with_disks(mount, devices), tmp_path / "host", cloud_init)
    assert "unmounted" in said, said
    assert any("foresite-data-disks:" in line for line in said), said
    assert not (Path(mount) / "cache").exists()
    # Nothing was wiped or made either: what was wrong is seen before.
    assert (tmp_path / "host/fstab").read_text() == ""
    assert subprocess.run(["blkid", "-p", disks[0]], check=False).returncode == 2
