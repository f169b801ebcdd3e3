"""The load on one address, by wrk, and the processor time that each process spends meanwhile."""

import json
import os
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

_TICK = 1 / os.sysconf("SC_CLK_TCK")
_SCRIPT = """
local requests, at = {}, 0
function init(args)
  for number = 0, tonumber(args[2]) - 1 do
    requests[number] = wrk.format("GET", args[1] .. number)
  end
end
function request()
  at = (at + 1) % (#requests + 1)
  return requests[at]
end
function done(summary, latency)
  local failed = summary.errors
  io.write(string.format(
    '{"requests": %d, "bytes": %d, "us": %d, "p50": %d, "p99": %d, "failed": %d}\\n',
    summary.requests, summary.bytes, summary.duration,
    latency:percentile(50), latency:percentile(99),
    failed.connect + failed.read + failed.write + failed.status + failed.timeout))
end
"""
"""Objects in turn; the figures as JSON, in the last line."""


@dataclass(frozen=True, slots=True)
class Load:
    """Objects of a size, read by so many connections that each ask again once they have one."""

    label: str
    size: int
    objects: int
    connections: int


@dataclass(frozen=True, slots=True)
class Spent:
    """Processor time in seconds, of a program's own code and of the kernel for it."""

    user: float
    system: float

    @property
    def total(self) -> float:
        return self.user + self.system

    def __sub__(self, other: "Spent") -> "Spent":
        return Spent(self.user - other.user, self.system - other.system)


@dataclass(frozen=True, slots=True)
class Figures:
    """One run: rates a second, milliseconds, and processor microseconds a request."""

    requests: float
    megabytes: float
    p50: float
    p99: float
    user: Mapping[str, float]
    system: Mapping[str, float]
    others: float
    """Share of the machine's processor time that went to processes that are none of ours."""

    def cost(self, *names: str) -> float:
        """Processor time a request of these processes; of all but the client without names."""
        chosen = names or tuple(name for name in self.user if name != "client")
        return sum(self.user[name] + self.system[name] for name in chosen)


def run(
    url: str, base: str, load: Load, processes: Mapping[str, list[int]], token: str, seconds: int
) -> Figures:
    """Ask ``url`` for the objects ``base`` + number; RuntimeError where any request failed."""
    before = {name: _processor_time(pids) for name, pids in processes.items()}
    client, busy, begin = _children(), _busy(), time.perf_counter()
    said = _wrk(url, base, load, token, seconds)
    taken = time.perf_counter() - begin
    all_of_us = {name: _processor_time(pids) - before[name] for name, pids in processes.items()}
    all_of_us["client"] = _children() - client
    ours = sum(each.total for each in all_of_us.values())
    wall = said["us"] / 1e6
    # wrk counts whole answers; of large objects, those under way at the end cost time as well.
    count = max(said["requests"], said["bytes"] / load.size if load.size >= 1 << 20 else 0)
    return Figures(
        requests=count / wall,
        megabytes=said["bytes"] / wall / 1e6,
        p50=said["p50"] / 1000,
        p99=said["p99"] / 1000,
        user={name: each.user / count * 1e6 for name, each in all_of_us.items()},
        system={name: each.system / count * 1e6 for name, each in all_of_us.items()},
        others=max(0.0, _busy() - busy - ours) / taken / (os.cpu_count() or 1),
    )


def _wrk(url: str, base: str, load: Load, token: str, seconds: int) -> dict[str, int]:
    command = ["wrk", "-t1", f"-c{load.connections}", f"-d{seconds}s", "--timeout=30s"]
    script = Path(f"/proc/self/fd/{_script()}")
    if token:
        command += ["-H", f"Authorization: Bearer {token}"]
    command += ["-s", str(script), url, "--", base, str(load.objects)]
    handle = int(script.name)
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=60, pass_fds=[handle], check=True
        )
    finally:
        os.close(handle)
    said: dict[str, int] = json.loads(done.stdout.splitlines()[-1])
    if said["failed"] or not said["requests"]:
        raise RuntimeError(f"{url}{base}: {said['failed']} requests failed: {done.stdout}")
    return said


def _script() -> int:
    """A file without a name that holds the script; wrk opens it by its handle."""
    handle = os.memfd_create("wrk.lua", 0)
    os.write(handle, _SCRIPT.encode())
    return handle


def _processor_time(pids: list[int]) -> Spent:
    """Of whole processes, with all their threads."""
    user = system = 0
    for pid in pids:
        fields = Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(")")[2].split()
        user, system = user + int(fields[11]), system + int(fields[12])
    return Spent(user * _TICK, system * _TICK)


def _children() -> Spent:
    """Of the children that have ended, which each wrk has."""
    found = os.times()
    return Spent(found.children_user, found.children_system)


def _busy() -> float:
    """Seconds of all cores that were not idle."""
    first = Path("/proc/stat").read_text("ascii").partition("\n")[0]
    ticks = [int(each) for each in first.split()[1:9]]
    # user, nice, system, idle, iowait, irq, softirq, steal
    return (sum(ticks) - ticks[3] - ticks[4]) * _TICK
