"""A pytest plugin for long proofs, which are run in shares, and for what runs side by side.

A test with ``@pytest.mark.proof`` is a long proof, and is run in one of twenty landings.
``--proof=all``, the default, runs every one; ``--proof=none`` runs none; ``--proof=share`` runs
those whose turn it is. The others are skipped, and the summary names them. Proofs of a minute and
more, and tests that use one long run, have their shares in proof_shares.toml. The other tests of a
file get theirs in the order in which they stand, each file from another share on;
``@pytest.mark.proof(share)`` sets the share of a part of many like ones. Where not all are run,
properties draw fewer random examples, others in each run, and a test with very many cases takes a
part of them (``part_of``). Landings are counted by the lines of tests/measure/proof.jsonl (``make
record`` adds one); ten commits that nobody has recorded count as one more.
"""

import re
import subprocess
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from tests.kit.proof_shares import SHARES, find_row, turns

ROOT = Path(__file__).resolve().parents[2]
RECORD = "tests/measure/proof.jsonl"
FEWER = 4
"""A property is tried on one of so many of its examples."""
SETTINGS = "_hypothesis_internal_use_settings"
FORGOTTEN = 10
"""So many commits without a record count as a landing."""
SKIPPED = "a long proof, run by landing"


def landings(root: Path = ROOT) -> int:
    """The number of landings so far; what Git cannot tell, without a history, counts as none."""
    file = root / RECORD
    recorded = len(file.read_text("utf-8").splitlines()) if file.exists() else 0
    last = _git(root, "log", "-1", "--format=%H", "--", RECORD)
    since = _git(root, "rev-list", "--count", f"{last}..HEAD" if last else "HEAD")
    return recorded + int(since or 0) // FORGOTTEN


def _git(root: Path, *arguments: str) -> str:
    """The answer of Git; empty where it fails or is not there."""
    command = ["git", "-C", str(root), *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def is_due(mode: str, landing: int, share: int) -> bool:
    """True if a proof is run; UsageError for a share that has no turn."""
    if not 0 <= share < SHARES:
        raise pytest.UsageError(f"proof({share}): 0 <= share < {SHARES}")
    return mode == "all" or (mode == "share" and landing % SHARES == share)


def deal_shares(items: Iterable[pytest.Item]) -> None:
    """Give each test with the mark ``proof`` a share, unless the mark names one."""
    dealt: Counter[Path] = Counter()
    table = turns()
    for item in items:
        mark = item.get_closest_marker("proof")
        if mark is None or mark.args:
            continue
        if row := find_row(item.nodeid, table):
            item.add_marker(pytest.mark.proof(table[row].share), append=False)
        else:
            first = zlib.crc32(item.path.name.encode())
            item.add_marker(pytest.mark.proof((first + dealt[item.path]) % SHARES), append=False)
            dealt[item.path] += 1


def draw_fewer_examples(tests: Iterable[Any]) -> None:
    """Let properties draw fewer random examples; one that always draws the same keeps them all.

    A test that stands there several times, once for each parameter, is changed once.
    """
    for test in {id(each): each for each in tests}.values():
        if getattr(test, "is_hypothesis_test", False):
            # Hypothesis has no public way to change the settings of a test that has some.
            given: Any = getattr(test, SETTINGS, None) or settings.default
            if not given.derandomize:
                few = settings(given, max_examples=-(-given.max_examples // FEWER))
                setattr(test, SETTINGS, few)


@pytest.fixture(scope="session")
def part_of(pytestconfig: pytest.Config) -> Callable[[Sequence[Any], int], Sequence[Any]]:
    """``part_of(cases, of)`` gives every ``of``-th case, other ones in each landing; with
    --proof=all every case."""
    landing = landings()

    def chosen(cases: Sequence[Any], of: int) -> Sequence[Any]:
        return cases if pytestconfig.getoption("--proof") == "all" else cases[landing % of :: of]

    return chosen


def pytest_addoption(parser: pytest.Parser) -> None:
    """``--proof``."""
    parser.addoption("--proof", choices=("all", "share", "none"), default="all",
                     help="which long proofs are run (docs/proof.md)")  # fmt: skip


def pytest_configure(config: pytest.Config) -> None:
    """The plugin, told once which landing this is."""
    config.pluginmanager.register(Proofs(config.getoption("--proof"), landings()), "proofs")
    if config.pluginmanager.hasplugin("dsession"):
        config.option.loadscopereorder = False  # the order is ours


class Proofs:
    """Skips what is not due, and says at the end which proofs were run."""

    def __init__(self, mode: str, landing: int) -> None:
        self.mode, self.landing = mode, landing

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(
        self, config: pytest.Config, items: list[pytest.Item]
    ) -> None:
        """Notes in the results what is a proof, and what needs a real part."""
        deal_shares(items)
        if self.mode != "all":
            draw_fewer_examples(getattr(item, "obj", None) for item in items)
        for item in items:
            mark = item.get_closest_marker("proof")
            command = "test" if any(map(item.get_closest_marker, PARTS)) else "fast"
            if mark is not None:
                command = "proof"
                (share,) = mark.args
                if not is_due(self.mode, self.landing, share):
                    item.add_marker(pytest.mark.skip(f"{SKIPPED} {share} of every {SHARES}"))
            item.user_properties.append(("command", command))
        if config.getoption("dist", "no") == "loadfile":
            items.sort(key=lambda item: _rank(item.path))

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """One line for each file with proofs."""
        stats = terminalreporter.stats
        found = [each for each in stats.get("skipped", ()) if _left_out(each)]
        done = [*stats.get("passed", ()), *stats.get("failed", ())]
        ran = [each for each in done if _is_proof(each)]
        if not found and not ran:
            return
        terminalreporter.section(f"long proofs: --proof={self.mode}, landing {self.landing}")
        for title, reports in (("run", ran), ("left to other landings and make proof", found)):
            for name, number in sorted(_by_test(reports).items()):
                terminalreporter.line(f"{title}: {name}, {number}")

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_make_scheduler(self, config: pytest.Config, log: Any) -> Any:
        """Tests of a lane run on one worker, where they share what is started for a session."""
        if config.getvalue("dist") != "loadfile":
            return None
        from xdist.scheduler import LoadFileScheduling  # type: ignore[import-untyped]

        scheduler = LoadFileScheduling(config, log)
        scheduler._split_scope = lambda name: lane(config.rootpath / name.partition("::")[0])
        return scheduler


def _is_proof(report: Any) -> bool:
    properties = map(tuple, getattr(report, "user_properties", ()))
    return ("command", "proof") in properties and report.when == "call"


def _left_out(report: Any) -> bool:
    return isinstance(report.longrepr, tuple) and SKIPPED in report.longrepr[2]


def _by_test(reports: list[Any]) -> Counter[str]:
    return Counter(report.nodeid.partition("[")[0] for report in reports)


PARTS = (
    "capi", "pulumi", "remediation", "scheduling", "go", "cache", "browser", "editor",
    "monitoring", "controlplane",
)  # fmt: skip
"""Markers of tests that need a real part of another project, those that take longest first."""
LANES = {
    "survival": "survival: World",
    "reboots": "remediation_host import",
    "repairs": "remediation_server import",
    "twin": r"(?s)twin\.world import World\n.*\(world: World",
    "api": "api: ControlPlane",
}
"""Lanes by the pattern that their files have in their text: all of a lane ask for one server."""
LONG = ("survival", "reboots", "repairs")
"""Lanes that take minutes, and are begun with."""
_read: dict[Path, str] = {}


def _text(path: Path) -> str:
    if path not in _read:
        _read[path] = path.read_text("utf-8")
    return _read[path]


def _marks(path: Path) -> Iterator[int]:
    found = set(re.findall(r"pytest\.mark\.(\w+)", _text(path)))
    return (number for number, name in enumerate(PARTS) if name in found)


def _rank(path: Path) -> tuple[int, str]:
    """The order of the tests of a file: the longest first, so that none is waited for at the
    end."""
    name = lane(path)
    return (-1 if name in LONG else next(_marks(path), len(PARTS))), name


def lane(path: Path) -> str:
    """The lane of a file; one of its own unless it shares a server. Those that run the engine keep
    to themselves: each of them takes minutes."""
    text = _text(path)
    for name, sign in LANES.items():
        if re.search(sign, text) and not (name == "api" and "mark.pulumi" in text):
            return name
    return str(path)
