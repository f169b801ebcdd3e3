"""A host for the checks of its faults, as they see it: a folder with the files of a Linux host, and
commands that answer as written here. All of it is made up but what the files and lines look like.
"""

import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import NamedTuple

from components.remediation.checks import SCRIPTS

SHELLS = {"dash": ["dash"], "bash": ["bash", "--posix"]}
"""The image's sh is Debian's dash; bash is a second opinion on what is POSIX. busybox' is none: it
runs its own df, stat and timeout, and not those of the PATH."""
BOOT = "5a3c1b52-8f1e-4a0e-9a4c-27f3c3d1a001"
GPU_LINE = "GPU {index}: Tesla V100-SXM2-32GB (UUID: GPU-00000000-0000-0000-0000-{index:012d})"
LOST_LINE = "Unable to determine the device handle for GPU 0000:3B:00.0: Unknown Error"


DF = """\
Filesystem     {unit} Used Available Capacity Mounted on
/dev/nvme0n1p2 98559220 70000000 23500000 {root}% {host}
/dev/md0 3750000000 1000000 3749000000 {data}% {host}/srv/nvme
devtmpfs 0 0 0 - {host}/srv/nvme/none
"""
"""Output of df in its POSIX form."""


class Said(NamedTuple):
    """How a check ended, and its line."""

    code: int
    line: str


class Host:
    """A host whose root is ``root``; ``commands`` come first in the PATH of its checks."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.sys, self.proc = root / "sys", root / "proc"
        self.state, self.commands = root / "state", root / "commands"
        self.boot_id = self.proc / "sys/kernel/random/boot_id"
        self.mounts, self.log = self.proc / "1/mounts", root / "kernel.log"
        for folder in (self.sys / "bus/pci/devices", self.state, self.commands):
            folder.mkdir(parents=True)
        for file in (self.boot_id, self.mounts):
            file.parent.mkdir(parents=True)
        self.log.touch()
        self.mounts.write_text("/dev/nvme0n1p2 / ext4 rw,relatime 0 0\n")
        self.uptime(1000)
        self.boot(BOOT)
        self.command("dmesg", f"exec cat {self.log}")
        # A real one needs a root with a whole system in it; this one says where it was to go.
        enters = f'echo "$1" >{root}/rooted\ncommand=$1$2\n[ -x "$command" ] || command=$2\nshift 2'
        self.command("chroot", f'{enters}\nexec "$command" "$@"')

    def command(self, name: str, script: str) -> Path:
        """Put a command into the PATH."""
        path = self.commands / name
        # In place of the old one at once: the detector may be about to run it.
        new = path.with_suffix(".new")
        new.write_text(f"#!/bin/sh\n{textwrap.dedent(script)}\n")
        new.chmod(0o755)
        new.replace(path)
        return path

    def boot(self, name: str) -> None:
        """Another boot, as the kernel names it: its files are what they were."""
        self.boot_id.write_text(f"{name}\n")

    def uptime(self, seconds: int) -> None:
        """How long the host has been up."""
        (self.proc / "uptime").write_text(f"{seconds}.42 99.00\n")

    def card(self, address: str, ids: str = "10de 030200 1db5", lanes: int | str = 16) -> None:
        """A card on the PCI bus; ``ids`` are vendor, class and device."""
        folder = self.sys / "bus/pci/devices" / address
        folder.mkdir(exist_ok=True)
        names = ("vendor", "class", "device")
        for name, value in zip(names, ids.split(), strict=True):
            (folder / name).write_text(f"0x{value}\n")
        self.lanes(address, lanes)

    def lanes(self, address: str, lanes: int | str) -> None:
        """The lanes that a card's link has now."""
        path = self.sys / "bus/pci/devices" / address / "current_link_width"
        path.write_text(f"{lanes}\n")

    def cards(self, count: int, ids: str = "10de 030200 1db5") -> list[str]:
        """``count`` cards; their addresses."""
        found = [f"0000:{0x1A + index:02x}:00.0" for index in range(count)]
        for address in found:
            self.card(address, ids)
        return found

    def pull(self, address: str) -> None:
        """A card goes from the bus."""
        shutil.rmtree(self.sys / "bus/pci/devices" / address)

    def smi(self, count: int, code: int = 0, last: str = "", seconds: int = 0) -> Path:
        """nvidia-smi that knows ``count`` cards, and takes ``seconds`` to say so."""
        lines = [GPU_LINE.format(index=index) for index in range(count)]
        said = "\n".join([*lines, *([last] if last else [])])
        return self.command("nvidia-smi", f"sleep {seconds}\ncat <<'END'\n{said}\nEND\nexit {code}")

    def fabric(self, gpus: int = 8, inactive: int = 0, state: str = "Completed") -> Path:
        """nvidia-smi of a host with NVSwitch, H100 by its links; so many are inactive."""
        queried = (
            "Fabric\n        State                : {}\n        Status               : Success"
        )
        links = ["Link 0: 26.562 GB/s"] * (18 * gpus - inactive) + ["Link 0: <inactive>"] * inactive
        texts = {"-q": "\n".join([queried.format("Completed")] * (gpus - 1))}
        texts["-q"] += f"\n{queried.format(state)}"
        texts["-L"] = "\n" + "\n".join(GPU_LINE.format(index=index) for index in range(gpus))
        texts["nvlink"] = "GPU 0: NVIDIA H100 80GB HBM3\n" + "\n".join(f"\t {x}" for x in links)
        for name, text in texts.items():
            (self.root / f"smi{name}").write_text(f"    {text}\n")
        return self.command("nvidia-smi", f'exec cat {self.root}/smi"$1"')

    def port(self, name: str, state: str = "4: ACTIVE", rate: str = "400 Gb/sec (4X NDR)") -> None:
        """An interface of an RDMA device; without a state it has none and is Ethernet's."""
        folder = self.sys / "class/net" / name
        port = folder / "device/infiniband" / f"mlx5_{name}/ports/1"
        files = {folder / "dev_port": "0", folder / "carrier_down_count": "3"}
        if state:
            files |= {port / "state": state, port / "rate": rate, port / "phys_state": "5: LinkUp"}
            files |= {port / "link_layer": "InfiniBand"}
            files |= {
                port / "counters/symbol_error": "7",
                port / "hw_counters/out_of_sequence": "9",
            }
        else:
            files |= {folder / "operstate": "up", folder / "speed": "100000"}
        for path, text in files.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"{text}\n")

    def roce(self, name: str, rate: str = "100 Gb/sec (4X EDR)") -> Path:
        """An Ethernet interface of 400 Gbit/s with an RDMA device; its folder."""
        self.port(name, rate=rate)
        folder = self.sys / "class/net" / name
        (folder / f"device/infiniband/mlx5_{name}/ports/1/link_layer").write_text("Ethernet\n")
        (folder / "operstate").write_text("up\n")
        (folder / "speed").write_text("400000\n")
        return folder

    def counter(self, name: str, counter: str, value: int) -> None:
        """A counter of an RDMA device's port."""
        place = f"class/net/{name}/device/infiniband/mlx5_{name}/ports/1/counters"
        (self.sys / place / counter).write_text(f"{value}\n")

    def says(self, line: str) -> None:
        """A line of the kernel's ring buffer, as dmesg shows it."""
        with self.log.open("a") as file:
            file.write(f"[ 4711.081503] {line}\n")

    def process(self, pid: int, name: str, state: str = "D", *, parent: int = 1) -> Path:
        """A process, started at tick 100 times its number; its folder."""
        folder = self.proc / str(pid)
        folder.mkdir(exist_ok=True)
        rest = " ".join(["0"] * 17)
        (folder / "stat").write_text(f"{pid} ({name}) {state} {parent} {rest} {pid}00 0 0\n")
        (folder / "comm").write_text(f"{name}\n")
        (folder / "wchan").write_text("nv_wait")
        self.switched(pid, 7)
        return folder

    def switched(self, pid: int, times: int) -> None:
        """How often a process has left the processor by itself; by force it was twice."""
        lines = f"voluntary_ctxt_switches:\t{times}\nnonvoluntary_ctxt_switches:\t2\n"
        (self.proc / str(pid) / "status").write_text(f"Name:\tx\nThreads:\t1\n{lines}")

    def filled(self, space: tuple[int, int], inodes: tuple[int, int] = (3, 1)) -> None:
        """The root and /srv/nvme are full to these shares."""
        (self.root / "srv/nvme").mkdir(parents=True, exist_ok=True)
        for option, (root, data) in {"k": space, "i": inodes}.items():
            text = DF.format(unit="1024-blocks", root=root, data=data, host=self.root)
            (self.root / f"df-{option}").write_text(text)
        asked = '[ "$1$2" = -P-k ] || [ "$1$2" = -P-i ] || exit 64'
        self.command("df", f"{asked}\nexec cat {self.root}/df$2")

    @property
    def path(self) -> str:
        """The PATH of the host's checks."""
        return f"{self.commands}{os.pathsep}{os.environ['PATH']}"

    def run(self, shell: list[str], script: str, *arguments: object) -> Said:
        """Run one of the scripts, without what damps it."""
        command = [*shell, str(SCRIPTS / script), *map(str, arguments)]
        done = subprocess.run(
            command,
            check=False,
            env={"PATH": self.path},
            capture_output=True,
            text=True,
            timeout=120,
        )
        # What dash says of a command that was killed.
        assert done.stderr in ("", "Killed\n"), done.stderr
        (line,) = done.stdout.splitlines() or [""]
        return Said(done.returncode, line)

    def settled(self, shell: list[str], check: Path, *arguments: object, **how: int) -> Said:
        """One run of a check with what damps it."""
        name, bad, good = check.stem, how.get("bad", 3), how.get("good", 2)
        of_run = (how.get("seconds", 60), how.get("hung", 2), check, *arguments)
        return self.run(shell, "settled.sh", self.state, self.boot_id, name, bad, good, *of_run)


def found_shells() -> dict[str, list[str]]:
    """The shells that this machine has."""
    return {name: shell for name, shell in SHELLS.items() if shutil.which(shell[0])}


def alive(pid: int) -> bool:
    """True if a process is there and has not ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except FileNotFoundError:
        return False
    return fields[0] not in "ZX"


if sys.platform != "linux":
    raise RuntimeError("the checks are for Linux")
