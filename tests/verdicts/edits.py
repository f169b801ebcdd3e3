"""Edits to a repository, as values: each says which file it touches, and how."""

import re
from collections.abc import Callable, Iterable

from tests.kit.preview_repository import Repository

Edit = Callable[[Repository], object]
Lines = list[dict[str, str]]
HARDWARE = "schemas/catalogue/hardware.yaml"
ACCELERATORS = "schemas/catalogue/accelerators.yaml"
RELEASE = "schemas/catalogue/releases/2026.11.yaml"
FLANNEL = "sites/pod-network/flannel.yaml"
DIGEST = "f" * 64
"""The digest of a build that does not exist."""


def swap(file: str, old: str, new: str) -> Edit:
    """Other text in the one place where ``old`` stands."""
    return lambda repository: repository.replace(file, old, new)


def site(name: str, old: str, new: str) -> Edit:
    """Other text in a site file."""
    return swap(f"sites/{name}.yaml", old, new)


def together(*edits: Edit) -> Edit:
    """Several edits as one."""

    def edit(repository: Repository) -> None:
        for each in edits:
            each(repository)

    return edit


def applied(name: str) -> Edit:
    """For a base: the site's own cluster answers, so what belongs into it is applied."""
    return site(name, "  services:", f"  context: {name}\n  services:")


def by_dra(name: str) -> tuple[Edit, Edit]:
    """For a base: DRA drivers hand out the cards of a site, at a version that has it."""
    prefix = "  prefix: accelerators.example.com\n"
    return (
        site(name, "kubernetes: v1.34.3", "kubernetes: v1.35.5"),
        site(name, prefix, f"{prefix}  model_by: dra\n"),
    )


def bare(name: str) -> Edit:
    """A site without accelerators and scheduling, and all that stands after them in its file: the
    cache, the repair of faults and monitoring."""

    def edit(repository: Repository) -> None:
        file = f"sites/{name}.yaml"
        kept, found, _ = repository.text(file).partition("\naccelerators:\n")
        assert found
        repository.write(file, kept)

    return edit


def record(model: str, old: str, new: str) -> Edit:
    """Other text in a model of the catalogue of accelerators."""

    def edit(repository: Repository) -> None:
        text = repository.text(ACCELERATORS)
        (mine,) = re.findall(rf"(?m)^  {re.escape(model)}:\n(?:    .*\n)*", text)
        assert mine.count(old) == 1, f"{mine.count(old)} times in {model}: {old!r}"
        repository.write(ACCELERATORS, text.replace(mine, mine.replace(old, new)))

    return edit


def image(name: str) -> Edit:
    """Another build of an image of the release."""

    def edit(repository: Repository) -> None:
        text = repository.text(RELEASE)
        (digest,) = re.findall(rf"(?m)^  {name}: \S+@sha256:([0-9a-f]{{64}})$", text)
        repository.write(RELEASE, text.replace(digest, DIGEST))

    return edit


def copied(source: str, target: str, *changes: tuple[str, str]) -> Edit:
    """A new file like another, with every ``old`` of ``changes`` replaced."""

    def edit(repository: Repository) -> None:
        text = repository.text(source)
        for old, new in changes:
            assert old in text, f"{old!r} is not in {source}"
            text = text.replace(old, new)
        repository.write(target, text)

    return edit


def gone(*files: str) -> Edit:
    """Files that are deleted."""

    def edit(repository: Repository) -> None:
        for file in files:
            (repository.root / file).unlink()

    return edit


def listed(name: str, change: Callable[[Lines], object]) -> Edit:
    """Another host list of a site."""
    return lambda repository: repository.hosts(name, change)


def cells(name: str, host: str, /, **columns: str) -> Edit:
    """Other cells in one host's line."""

    def change(rows: Lines) -> None:
        (row,) = (row for row in rows if row["name"] == host)
        row.update(columns)

    return listed(name, change)


def states(name: str, hosts: dict[str, str], **columns: str) -> Edit:
    """States of some hosts, by name, and other cells of theirs; all others stay in service."""

    def change(rows: Lines) -> None:
        for row in rows:
            row["state"] = hosts.get(row["name"], row.get("state", ""))
            row.update(columns if row["name"] in hosts else {})

    return listed(name, change)


def every_cell(name: str, column: str, values: dict[str, str]) -> Edit:
    """Other values of a column, wherever the old ones stand."""

    def change(rows: Lines) -> None:
        for row in rows:
            row[column] = values.get(row[column], row[column])

    return listed(name, change)


def without(name: str, *hosts: str) -> Edit:
    """A host list without some hosts."""

    def change(rows: Lines) -> None:
        assert set(hosts) <= {row["name"] for row in rows}
        rows[:] = [row for row in rows if row["name"] not in hosts]

    return listed(name, change)


def without_pool(name: str, pool: str, zone: str = "") -> Edit:
    """A host list without the hosts of a pool (in one zone)."""

    def change(rows: Lines) -> None:
        rows[:] = [r for r in rows if r["pool"] != pool or (zone and r["zone"] != zone)]

    return listed(name, change)


TSUKUBA_ZONES = {"a": "10.17.0", "b": "10.17.1"}


def at_tsukuba(pool: str, zone: str, numbers: Iterable[int] = (250,)) -> Edit:
    """New hosts of tsukuba-1."""

    def change(rows: Lines) -> None:
        for number in numbers:
            rows.append(
                {
                    "name": f"tsukuba-1-{zone}-{number}",
                    "pool": pool,
                    "zone": zone,
                    "rack": f"{zone}-09",
                    "bmc": f"10.25.0.{number}",
                    "mac": f"52:54:00:02:ff:{number:02x}",
                    "ip": f"{TSUKUBA_ZONES[zone]}.{number}",
                    "serial": f"EXNEW{number}",
                }
            )

    return listed("tsukuba-1", change)


OWN_NETWORK = (
    copied(FLANNEL, "sites/pod-network/tsukuba.yaml"),
    site("tsukuba-1", "pod-network/flannel.yaml", "pod-network/tsukuba.yaml"),
)
"""tsukuba-1 with manifests of its own, through a ClusterResourceSet."""
DIRECT = (
    OWN_NETWORK[0],
    site(
        "tsukuba-1",
        "pod_network: {manifests: pod-network/flannel.yaml}",
        "context: tsukuba-1\n  pod_network: {manifests: pod-network/tsukuba.yaml, install: direct}",
    ),
)
"""tsukuba-1 with manifests of its own, registered with its own cluster."""


def manifest(old: str, new: str) -> Edit:
    """Other text in the manifests of tsukuba-1."""
    return swap("sites/pod-network/tsukuba.yaml", old, new)
