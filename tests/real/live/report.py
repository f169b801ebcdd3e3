"""``python -m tests.real.live.report``: run all experiments and write docs/predictions.md.

With ``--from FILE`` it takes a ``result.json`` of an earlier run (tests.real.live.run) instead.
"""

import argparse
import json
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from components.effects.vocabulary import Impact
from tests.kit.repository import ROOT
from tests.real.live.experiment import Step
from tests.real.live.experiments import history, predicted
from tests.real.live.fake_metal3 import INSTALL_SECONDS, WIPE_SECONDS
from tests.real.live.namespace import why_not
from tests.real.live.predictions import Group, Observation, Prediction, disagreements, fates
from tests.real.live.run import from_json, observe
from tests.real.live.world import ADAPTATIONS

PAGE = ROOT / "docs" / "predictions.md"
HOSTS_BEGIN, HOSTS_END = "<!-- hosts -->", "<!-- end of hosts -->"
"""Around the part of the page that host_report.py makes."""
_VERBS = {Impact.REIMAGE: "re-imaged", Impact.REMOVE: "removed", Impact.ADD: "added"}
_AGAIN = "the files as they are, applied again"
_FILE = re.compile(r"^[\w.-]+(/[\w.-]+)+$")

BEGIN = """\
# Predictions, compared with the real controllers

What Foresite says a change does to machines, and what Cluster API v1.13.6 did when the change was
made. Made by `python -m tests.real.live.report`; `tests/real/test_live_rollouts.py` runs the same
and fails where the two differ. The same of queues: [predictions-queues](predictions-queues.md).
"""

METHOD = """\
## How it is tried
- **Real, unmodified**: etcd 3.6, kube-apiserver 1.34 (docs/control-plane.md), and the managers of
  Cluster API v1.13.6 (core, KubeadmControlPlane, kubeadm bootstrap), with their webhooks. The
  feature gate ReconcilerRateLimiting is off: things go faster, in the same order.
- **Played by a fake** (`tests/real/live/fake_metal3.py`, `nodes.py`): the Metal3 provider, the Bare
  Metal Operator, hosts, kubelets and static pods, as far as Cluster API looks at them. A host is
  chosen at random among the free ones that the selector allows; it takes {install} s to install
  and {wipe} s to wipe. What the real ones do is below, and the fake is compared with them.
- **Why not the real Metal3 here too**: CAPM3 looks for a free host or a Node again only after 30 s,
  and the operator's test mode takes 10 s to write and 10 s to wipe; no flag changes that. One
  machine's replacement took 40 to 60 s on it, and 1 to 6 s with the fake. The longest experiment
  replaces 11 machines one after the other, three rounds follow such ones, and with the 93 hosts of
  this site on two cores the managers were so slow that the site was not up after eight minutes.
- **The objects are Foresite's own**, made of the files of a made-up site: three control plane
  machines and fourteen pools of 3 to 12 hosts. Each change is a change of these files, checked, and
  applied with server-side apply; several go on side by side in pools that do not touch.
- **Changed in the objects before they are applied**:
{adaptations}
- Nodes are named after Machines here, and after hosts in truth: with times this short Cluster API's
  deletion of a Node by its name would hit the next one of the same host.
- An object that is no longer made stays where it is, as Argo CD and Flux leave it; Pulumi would
  refuse the whole change. Where a change says so, a person releases and deletes the old
  MachineDeployment right after the new one is applied.
- All of it runs in a network namespace of its own; where none is to be had the test says so and is
  skipped.

A change is *done* when the MachineSets are as asked and nothing has moved for 4 s, and *stuck* when
they are not and nothing has moved for 40 s.
"""

NETWORKS = """\
## Addresses and networks of hosts
`tests/real/test_live_metal3.py` brings up a site with bonds, VLANs, further networks and both
families of addresses. **Real** are CAPM3 v1.13.2 and IPAM v1.13.2 with their webhooks, the managers
of Cluster API, and the Bare Metal Operator v0.13.2 in its test mode. cloud-init's converter
(22.4.2) and `netplan generate` (0.106) read what CAPM3 rendered. **Not real** are Ironic and the
hosts: in the test mode no BMC is asked, and all hosts are one. The test plays the kubelets.
Observed:
- IPAM gives each host the address of its line in the host list, in each network and family of its
  pool.
- Each Metal3Data becomes a Secret with exactly the network data and metadata that the tests' own
  renderer (`tests/kit/host_network.py`) makes; other tests rely on that renderer.
- A host gets its NICs by MAC, bonds with their mode, hash policy and members, VLANs as
  `<parent>.<id>`, the MTU of each device, its routes and name servers.
- IPAM looks for an address one by one, from the first of all ranges on. With a /64 as a range it
  never ends, so the ranges of IPv6 are blocks of 65,536 addresses with hosts in them.
- A provisioned host's Node gets its provider ID from CAPM3, by the label `metal3.io/uuid`.
- A machine without a free host waits, with the message on its Machine that the fake gives here.
"""

NOT_TRIED = """\
## What was not tried
- Ironic, images and cleaning, on the fake and on the real controllers alike.
- A stacked etcd: the control plane's etcd is external here.
- Drains: there are no pods, so a drain takes no time. Nor a host that fails while it installs, nor
  health checks that act.
- Pools of more than 12 hosts; the managers' default of one reconciliation a second.
- Pulumi, Argo CD and Flux: what they refuse or leave out is not seen here.
"""

LEGEND = """\
## What was seen
*down*: machines taken down; *up*: machines installed; *at once*: on their way at one time, at most;
*left*: available at the worst moment. Seconds are those of the compressed world: from the change to
the last machine that moved, with all changes of a round going on at once. Rules are listed below.
"""


def main(arguments: list[str] | None = None) -> int:
    """Write the page; 2 where the experiments cannot be run here."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--from", dest="result", type=Path, help="a result.json")
    options = parser.parse_args(arguments)
    if options.result is None and (reason := why_not()):
        print(f"report: {reason}", file=sys.stderr)
        return 2
    result = json.loads(options.result.read_text()) if options.result else observe()
    PAGE.write_text(page(result), encoding="utf-8")
    return 0


def page(result: dict[str, Any]) -> str:
    """The page for what a run gave."""
    steps = [step for steps in history() for step in steps]
    seen = {name: from_json(each) for name, each in result["experiments"].items()}
    held = sum(not disagreements(predicted(s), seen[s.experiment.name]) for s in steps)
    seconds = result["seconds"]
    summary = (
        f"**{held} of {len(steps)} predictions held.** The run took {seconds['all']:.0f} s in all "
        f"({seconds['started']:.0f} s to start, {seconds['site']:.0f} s to bring up the site) and "
        f"{seconds['processor']:.0f} s of processor time, on {os.cpu_count()} cores that were not "
        "idle besides.\n"
    )
    adaptations = "\n".join(f"  - {what}: {why}." for what, why in ADAPTATIONS.items())
    method = METHOD.format(install=INSTALL_SECONDS, wipe=WIPE_SECONDS, adaptations=adaptations)
    sources = list(dict.fromkeys(each for step in steps for each in _sources(step)))
    table = "\n".join(_rows(steps, seen, sources)) + "\n"
    listed = "".join(f"{n}. {_place(each)}\n" for n, each in enumerate(sources, start=1))
    hosts = kept(PAGE.read_text("utf-8"))
    rules = f"## Where the rules are from\n{listed}"
    tried = f"{method}\n{NETWORKS}\n{hosts}\n\n{NOT_TRIED}"
    return f"{BEGIN}\n{summary}\n{LEGEND}\n{table}\n{rules}\n{tried}"


def kept(text: str) -> str:
    """The part of the page that is made there, with its marks."""
    return text[text.index(HOSTS_BEGIN) : text.index(HOSTS_END) + len(HOSTS_END)]


def names(text: str) -> list[str]:
    """The experiments that a page has a row of, in its order."""
    return re.findall(r"^\| \*\*(.+?)\*\*", text, re.MULTILINE)


def _sources(step: Step) -> list[str]:
    return step.experiment.source.split("; ")


def _place(source: str) -> str:
    if not _FILE.match(source):
        return source
    return f"`{source}`" if (ROOT / source).exists() else f"Cluster API v1.13.6 `{source}`"


def _rows(steps: Iterable[Step], seen: dict[str, Observation], sources: list[str]) -> Iterator[str]:
    yield "| change | predicted | observed | s | rule |"
    yield "|---|---|---|---|---|"
    for step in steps:
        each, found = step.experiment, seen[step.experiment.name]
        what = "; ".join(part for part in (str(each.edit), *each.by_hand) if part) or _AGAIN
        said = predicted(step)
        wrong = disagreements(said, found)
        cells = (
            f"**{each.name}**<br>{what}",
            _said(said, each.in_place),
            _seen(found, said) + "".join(f"<br>**differs:** {one}" for one in wrong),
            f"{found.seconds:.0f}",
            ", ".join(str(sources.index(one) + 1) for one in _sources(step)),
        )
        yield f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |"


def _said(said: Prediction, in_place: int) -> str:
    hosts = [
        f"{_VERBS[impact]}: {'' if hosts.at_most is None else f'at most {hosts.at_most} of '}"
        f"{_listed(hosts.names)}"
        for impact, hosts in said.hosts.items()
    ]
    return "<br>".join([said.outcome, *describe(said.groups), *hosts, *_more(in_place, said.says)])


def _seen(found: Observation, said: Prediction) -> str:
    hosts = [f"{_VERBS[i]}: {_listed(names)}" for i, names in fates(found).items() if names]
    says = said.says if any(said.says in each for each in found.said) else ""
    more = _more(found.updated, says)
    return "<br>".join([found.outcome, *describe(found.groups), *hosts, *more])


def describe(groups: Mapping[str, Group]) -> list[str]:
    """The numbers of groups as the page has them."""
    return [f"`{name}` {_numbers(group)}" for name, group in groups.items()]


def _numbers(group: Group) -> str:
    if not group.down and not group.up and not group.at_once:
        return f"untouched, {group.fewest} left"
    return f"{group.down} down, {group.up} up, {group.at_once} at once, {group.fewest} left"


def _listed(names: Iterable[str]) -> str:
    found = sorted(names)
    return ", ".join(f"`{each}`" for each in found) if len(found) < 4 else f"{len(found)} hosts"


def _more(in_place: int, says: str) -> list[str]:
    changed = [f"{in_place} machines changed in place"] if in_place else []
    return changed + ([f"“{says}”"] if says else [])


if __name__ == "__main__":
    sys.exit(main())
