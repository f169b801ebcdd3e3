"""The last applied commit of a site, and whether Git has changed since. ``foresite apply`` writes
the commit into the message of each update, so the stack's own history says it, wherever and however
often a run is started. What a run before was told to do says nothing: it may have failed, or never
have come to the site."""

import re
from collections import Counter
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from foresite.delivery.stack.engine import PASSED, UNDER_WAY, Engine, Record
from preview.gates import parse_allowances
from preview.states.fleet import changed_sites, differing
from preview.states.git import GitError, changed_files, commit_of, git
from preview.states.lock import FILE as LOCK
from preview.states.lock import local_sources, locked_version
from preview.states.snapshot import Snapshot, at, work_tree

PROGRAM = ("Pulumi.yaml", "__main__.py", "components", "policies", "schemas", "uv.lock")
"""Paths of the program that registers the objects, besides the site's own data."""
_CATALOGUE = "schemas/catalogue/"
_HISTORY = 100
"""Updates of a stack that are looked through for the last one that went well."""
_MESSAGE = re.compile(r"foresite ([0-9a-f]{40}|[0-9a-f]{64})")


class Standing(NamedTuple):
    """The commit that was last applied to a site (empty where that is not known), and why the site
    has to be applied (again); empty where it is as Git says."""

    commit: str
    due: str


class Touched(NamedTuple):
    """What two commits differ in: sites by their data, and files of the program of all sites."""

    sites: frozenset[str]
    program: tuple[str, ...] = ()

    def has(self, site: str) -> bool:
        """True if the change concerns a site."""
        return site in self.sites or bool(self.program)

    @property
    def many(self) -> float:
        """The number of sites that the change concerns; infinite if it changes the program."""
        return float("inf") if self.program else len(self.sites)


class Commits:
    """The repository's commits, two of which are compared at most once. Raises GitError."""

    def __init__(self, root: Path) -> None:
        self.head = commit_of(root, "HEAD")
        self._root = root
        self._contained: set[str] = set()
        self._between: dict[tuple[str, str], Touched] = {}

    def uncommitted_files(self) -> list[str]:
        """Files of the work tree that decide what is applied, and are not as in HEAD."""
        sides = at(self._root, self.head), work_tree(self._root)
        program = changed_files(self._root, self.head, None, _program(*sides))
        return sorted({*differing(*sides), *program})

    def standing(self, site: str, record: Record | None, under_way: str = "") -> Standing:
        """The state of a site whose stack's history ends with ``record``. Raises GitError where it
        is not known that HEAD contains all that was applied: it might take the site back."""
        match = _MESSAGE.fullmatch(record.message) if record else None
        commit = match[1] if match else ""
        for each in filter(None, (under_way, commit)):
            self.demand(each)
        if under_way:
            return Standing(commit, f"applying {under_way[:10]} did not come to its end")
        if record is None:
            return Standing("", "nothing was applied yet")
        if record.result != "succeeded":
            return Standing(commit, f"the last {record.kind} {record.result}")
        if record.kind != "update" or not commit:
            return Standing("", f"the last {record.kind} names no commit")
        return Standing(commit, self.since(site, commit))

    def since(self, site: str, commit: str) -> str:
        """The differences for a site between a commit and HEAD; empty where there are none. Raises
        GitError where HEAD does not contain the commit."""
        self.demand(commit)
        moved = self._differing(commit, self.head)
        if site in moved.sites:
            return f"its data changed since {commit[:10]}"
        if moved.program:
            more = f" and {len(moved.program) - 1} more" if len(moved.program) > 1 else ""
            return f"{moved.program[0]}{more} changed since {commit[:10]}"
        return ""

    def requests(self, since: str) -> dict[str, str]:
        """The messages of what was merged after a commit, the newest first, by commit; of HEAD
        alone, where it is not known since when. Of a merge only its own message counts: those of
        the commits that it brings need not have been read by anybody. Raises GitError."""
        which = [f"{since}..{self.head}"] if since else ["--max-count=1", self.head]
        found = self._git("log", "--first-parent", "-z", "--format=%H%n%B", *which, "--")
        return dict(each.split("\n", 1) for each in found.split("\0") if each.strip())

    def merged_change(self, commit: str) -> Touched:
        """The change of the pull request that was merged with a commit. Raises GitError."""
        parents = self._git("rev-list", "--parents", "--max-count=1", commit).split()[1:]
        # Of a first commit all is new, and every site may be made by it.
        return self._differing(parents[0], commit) if parents else Touched(frozenset(), PROGRAM)

    def demand(self, commit: str) -> None:
        """Raise GitError where HEAD does not contain a commit."""
        if commit in self._contained:
            return
        commit_of(self._root, commit)  # says what to do where it is not here
        try:
            git(self._root, "merge-base", "--is-ancestor", commit, self.head)
        except GitError:
            raise GitError(f"HEAD does not contain {commit[:10]}") from None
        self._contained.add(commit)

    def _differing(self, before: str, after: str) -> Touched:
        if (before, after) not in self._between:
            sides = at(self._root, before), at(self._root, after)
            sites = changed_sites(*sides)
            files = changed_files(self._root, before, after, _program(*sides))
            files += [LOCK] if len({*map(locked_version, sides)}) > 1 else []
            program = tuple(path for path in files if not path.startswith(_CATALOGUE))
            self._between[before, after] = Touched(frozenset(sites), program)
        return self._between[before, after]

    def _git(self, *words: str) -> str:
        return git(self._root, *words).decode(errors="replace")


def _program(*sides: Snapshot) -> list[str]:
    """PROGRAM, and the packages of a repository of one's own, which may have components."""
    own = (path for side in sides if locked_version(side) for path in local_sources(side))
    return [*PROGRAM, *sorted({path.rstrip("/") or "." for path in own})]


def message(commit: str) -> str:
    """The message of an update that applies a commit."""
    return f"foresite {commit}"


def last_success(engine: Engine) -> str:
    """The commit of the newest update that went well, if one is known. Raises EngineError."""
    for each in engine.history(_HISTORY):
        match = _MESSAGE.fullmatch(each.message)
        if match and each[:2] == ("update", "succeeded"):
            return match[1]
    return ""


def last_record(engine: Engine) -> tuple[Record | None, str]:
    """The last line of a stack's history and what is under way. Raises EngineError."""
    record, tags = engine.last_record(), engine.tags()
    passed, under_way = (tags.get(name, "") for name in (PASSED, UNDER_WAY))
    return record and record._replace(passed=passed), under_way


def changed_since(engine: Engine) -> float:
    """When the first update after the commit that passed last began, in seconds of the epoch; 0
    where no commit is known to have passed. Raises EngineError."""
    passed, began = engine.tags().get(PASSED, ""), ""
    for each in engine.history(_HISTORY) if passed else ():
        if each[:3] == ("update", "succeeded", message(passed)):
            return seconds_of(began or each.began)
        began = each.began
    return 0.0


def seconds_of(time: str) -> float:
    """A time of a history in seconds of the epoch; 0 where it is none."""
    try:
        return datetime.fromisoformat(time).timestamp()
    except ValueError:
        return 0.0


def overtaken(engine: Engine, commit: str) -> str:
    """What another run did to a stack since this commit was applied, if any. Raises EngineError."""
    record, under_way = last_record(engine)
    if record and record[:3] == ("update", "succeeded", message(commit)) and not under_way:
        return ""
    said = message(under_way) if under_way else " ".join(record[:3]) if record else "no history"
    return f"another run has worked on it meanwhile ({said[:100]}); run the same command again"


class Allowances:
    """The counts that a run may take away and add, of ``--allow`` and of what was merged: each
    acknowledged count is used once. A request's numbers are a sum over the sites that it touches,
    so they count for these alone, and what one has used is gone for the others. What an earlier run
    has used is not known: after one that failed, a request counts anew for sites still due."""

    def __init__(self, flags: Mapping[str, int], commits: Commits) -> None:
        self._flags = Counter(flags)
        self.commits = commits
        self._left: dict[str, Counter[str]] = {}
        """Counts of each commit that are not used yet."""
        self._touched: dict[str, Touched] = {}

    def of(self, site: str, since: str) -> dict[str, int]:
        """The counts acknowledged for a site with the commit ``since``; empty: nobody knows the
        commit. Raises GitError."""
        if since:
            self.commits.demand(since)
        found = sum((self._left[each] for each in self._requests(site, since)), Counter[str]())
        return {name: max(self._flags[name], found[name]) for name in {*self._flags, *found}}

    def use(self, site: str, since: str, needed: Mapping[str, int]) -> None:
        """Take off what a site needed: first of requests that touch few sites."""
        requests = self._requests(site, since)
        for name, number in needed.items():
            rest = number
            for each in requests:
                taken = min(rest, self._left[each][name])
                self._left[each][name] -= taken
                rest -= taken
            if rest:  # the flag let it through, whatever the requests say
                self._flags[name] = max(0, self._flags[name] - number)

    def _requests(self, site: str, since: str) -> list[str]:
        """The commits since then that name a number and touch a site, of few sites first."""
        found = []
        for commit, text in self.commits.requests(since).items():
            if numbers := parse_allowances((), text):
                if commit not in self._touched:
                    self._touched[commit] = self.commits.merged_change(commit)
                    self._left[commit] = Counter(numbers)
                if self._touched[commit].has(site):
                    found.append(commit)
        return sorted(found, key=lambda commit: self._touched[commit].many)
