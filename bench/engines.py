"""What a fleet costs in rendered form: ``foresite render --for flux``, and what Flux reads of it.

``python -m bench.engines`` makes a repository of 1,000 sites of 100 hosts, 50 on a management
cluster, in four rings. It prints a table, and writes it and the figures to bench/out.
"""

import argparse
import sys
import tarfile
import tempfile
from pathlib import Path

import yaml

from bench import fleet
from bench.clock import Run, Times, environment, measure
from bench.offline import OUT
from bench.page import write_results
from tests.kit.repository import without_examples

PER_CLUSTER, RINGS, LIMIT_SECONDS = 50, 4, 3600


def main(arguments: list[str] | None = None) -> int:
    """Measure one fleet."""
    parser = argparse.ArgumentParser(prog="python -m bench.engines", description=__doc__)
    parser.add_argument("--sites", type=int, default=1000)
    parser.add_argument("--hosts", type=int, default=100, help="hosts of a site")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="foresite-bench-") as name:
        folder, out, times = Path(name, "fleet"), Path(name, "out"), Times()
        make(folder, options.sites, options.hosts)
        command: list[str | Path] = [sys.executable, "-m", "foresite", "--root", folder]
        command += ["render", "--for", "flux", "--out", out]
        run = Run("render", "", [command], [Path(name, "said")])
        measure(run, environment(Path(name)), LIMIT_SECONDS, times)
        found = {**vars(options), "seconds": times.best, **figures(out)}
    rows = [f"| {key} | {value:,} |" for key, value in found.items()]
    write_results(OUT / "engines", found, "\n".join(["| | |", "|---|---|", *rows]))
    return 0


def make(folder: Path, sites: int, hosts: int) -> None:
    """A repository whose sites are spread over management clusters and rings."""
    manifests = "manifests: {repository: https://git.example/fleet.git}\n"
    for number, name in enumerate(fleet.make(folder, sites, hosts)):
        file = folder / "sites" / f"{name}.yaml"
        text = without_examples(file.read_text("utf-8"))
        text = text.replace("management: trial", f"management: mgmt-{number // PER_CLUSTER:03}")
        text = text.replace("  ca_certificates: [certificates/example-ca.pem]\n", "")
        file.write_text(f"{text}ring: {number % RINGS}\n", encoding="utf-8")
    (folder / "fleet.yaml").write_text(manifests, encoding="utf-8")


def figures(out: Path) -> dict[str, int]:
    """Sizes of what was rendered, and of what the first management cluster's Flux reads of it."""
    texts = (path.read_bytes() for path in (out / "flux").rglob("*.yaml"))
    objects = [each for text in texts for each in yaml.load_all(text, yaml.CSafeLoader)]
    source = next(each["spec"] for each in objects if each["kind"] == "GitRepository")
    taken = [out / line.removeprefix("!/") for line in source["ignore"].splitlines()[1:]]
    with tarfile.open(out / "artifact.tar.gz", "w:gz") as artifact:
        for folder in taken:
            artifact.add(folder)
    return {
        "bytes": _size([out]),
        "objects for Flux": len(objects),
        "edges": sum(len(each.get("spec", {}).get("dependsOn", ())) for each in objects),
        "bytes of one artifact, packed": (out / "artifact.tar.gz").stat().st_size,
        "bytes of one artifact": _size(taken),
    }


def _size(folders: list[Path]) -> int:
    files = (path for folder in folders for path in folder.rglob("*") if path.is_file())
    return sum(path.stat().st_size for path in files)


if __name__ == "__main__":
    sys.exit(main())
