"""The counts that a run of ``foresite apply`` may take away and add: each acknowledged count is
used once.

A request's numbers are a sum over the sites that it touches, so they count for these alone, and
what one of them has used is gone for the others. What an earlier run has used is not known: after
one that failed, a request counts anew for the sites that are still due.
"""

from collections import Counter
from collections.abc import Mapping

from foresite.delivery.stack.applied import Commits, Touched
from preview.gates import parse_allowances


class Allowances:
    """The numbers of ``--allow``, and of what was merged."""

    def __init__(self, flags: Mapping[str, int], commits: Commits) -> None:
        self._flags = Counter(flags)
        self._commits = commits
        self._left: dict[str, Counter[str]] = {}
        """Counts of each commit that are not used yet."""
        self._touched: dict[str, Touched] = {}

    def of(self, site: str, since: str) -> dict[str, int]:
        """The counts acknowledged for a site with the commit ``since``; empty: nobody knows the
        commit.

        Raises GitError.
        """
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
        for commit, text in self._commits.requests(since).items():
            if numbers := parse_allowances((), text):
                if commit not in self._touched:
                    self._touched[commit] = self._commits.merged_change(commit)
                    self._left[commit] = Counter(numbers)
                if self._touched[commit].has(site):
                    found.append(commit)
        return sorted(found, key=lambda commit: self._touched[commit].many)
