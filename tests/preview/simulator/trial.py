"""Random changes of random sites, previewed and played."""

import json
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random

from components.site import site_objects
from preview import report
from preview.states.snapshot import Snapshot, work_tree
from preview.survey import survey
from schemas.load import load
from tests.kit.repository import FLEET, ROOT
from tests.preview.simulator import compare
from tests.preview.simulator.daemons import restarts
from tests.preview.simulator.edits import EDITS
from tests.preview.simulator.play import play
from tests.preview.simulator.sites import NAME, State, draw_site
from tests.preview.simulator.world import Bodies, by_name, refused_deployments

PAIRS = 0.4
"""Share of the changes that are two edits."""


@dataclass(frozen=True)
class Change:
    """A change of a site: the seed that it is drawn from again, and its words."""

    seed: str
    words: str
    base: State
    head: State


def _draw(base: State, site: int, edits: int) -> Change:
    """The change of two seeds; without words where an edit has nothing to change."""
    head, random = base.copy(), Random(edits)
    chosen = random.sample(EDITS, 2 if random.random() < PAIRS else 1)
    words = [function(random, head) for function in chosen]
    return Change(f"{site}:{edits}", "; ".join(words) if all(words) else "", base, head)


def renamed(old: dict[str, str], new: dict[str, str]) -> dict[str, str]:
    """Pools that have another name, by the former: all their hosts went to one new pool."""
    found = {}
    for pool in set(old.values()) - set(new.values()):
        now = {new[name] for name, each in old.items() if each == pool and name in new}
        if len(now) == 1 and not now & set(old.values()):
            found[pool] = now.pop()
    return found


class Bench:
    """Two folders that the preview compares."""

    def __init__(self, root: Path) -> None:
        self._base: tuple[State, Bodies, Snapshot] | None = None
        self.sides = root / "base", root / "head"
        for side in self.sides:
            (side / "sites" / "pod-network").mkdir(parents=True)
            shutil.copytree(FLEET / "sites" / "certificates", side / "sites" / "certificates")
            shutil.copytree(ROOT / "schemas" / "catalogue", side / "schemas" / "catalogue")
            subprocess.run(["git", "init", "-q", side], check=True)
            subprocess.run(["git", "-C", side, "add", "-A"], check=True)

    def objects(self, side: int, state: State) -> Bodies | None:
        """The objects of a state; none where the state has problems."""
        state.write(self.sides[side])
        loaded = load(self.sides[side], [NAME])[NAME]
        if loaded.problems or loaded.site is None:
            return None
        made = site_objects(loaded.site)
        return by_name(each.body for manifests in made.values() for each in manifests)

    def changes(self, seed: int, each_site: int) -> Iterator[Change]:
        """Changes of one random site that ``check`` has nothing against."""
        random = Random(seed)
        base = draw_site(random)
        if self.objects(0, base) is None:
            return
        number = 0
        while number < each_site:
            edit_seed = random.getrandbits(32)
            change = _draw(base, seed, edit_seed)
            if change.words and self.objects(1, change.head) is not None:
                number += 1
                yield change

    def _before(self, state: State) -> tuple[Bodies, Snapshot]:
        """The objects and the files of a site before its changes, made once for all of them."""
        if self._base is None or self._base[0] is not state:
            objects = self.objects(0, state)
            assert objects is not None
            self._base = state, objects, work_tree(self.sides[0])
        return self._base[1:]

    def draw_again(self, seed: str) -> Change:
        """The change of a seed that a message names."""
        site, edits = map(int, seed.split(":"))
        base = draw_site(Random(site))
        return _draw(base, site, edits)

    def report(self, change: Change) -> compare.Report | None:
        """What the preview says of a change; none where it says nothing at all."""
        self.objects(1, change.head)
        found = survey(self._before(change.base)[1], work_tree(self.sides[1]), [NAME])
        sites = json.loads(report.document(found))["sites"]
        return next((each for each in sites if each["name"] == NAME), None)

    def mismatches(self, change: Change, said: compare.Report | None) -> list[str]:
        """What is said of a change and no play shows, and the other way round."""
        before, after = self._before(change.base)[0], self.objects(1, change.head)
        assert after is not None, change.words
        plays = play(before, after)
        zones = change.base.single_zones() | change.head.single_zones()
        old, new = change.base.pools_of_hosts(), change.head.pools_of_hosts()
        old = {name: renamed(old, new).get(pool, pool) for name, pool in old.items()}
        hosts = [(each.hosts, compare.settled(each, old, new, zones)) for each in plays]
        surely, perhaps = restarts(before, after)
        if said is None:
            seen = {
                name for each, _ in hosts for name, outcome in each.items() if outcome != "none"
            }
            seen |= surely
            return [f"UNSAFE: {sorted(seen)} change, and nothing is said"] if seen else []
        pods = [(each.ran & surely, each.ran & surely | perhaps) for each in plays]
        stops = bool(refused_deployments(before, after))
        (control,) = (each["name"] for each in change.head.pools if "role" in each)
        models = change.head.models() | change.base.models()
        return [
            *compare.compare_hosts(said, hosts, pods, zones, stops),
            *compare.compare_counts(said, hosts),
            *compare.compare_plans(said, plays, control),
            *compare.compare_capacity(said, plays, models),
            *compare.compare_waits(said, plays),
        ]
