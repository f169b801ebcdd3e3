"""``python -m tests.real.live.host_report``: run what is tried on the real Metal3 (hosts.py), and
write its part of docs/predictions.md. ``--from FILE`` takes the ``result.json`` of an earlier run.
"""

import argparse
import json
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.real.live.namespace import why_not
from tests.real.live.predictions import Observation, disagreements
from tests.real.live.report import HOSTS_BEGIN, HOSTS_END, PAGE, describe, kept
from tests.real.live.run import from_json, observe
from tests.real.live.trials import STEPS, TRIALS, Trial, differences

TEXT = """\
## Hosts and their machines on the real Metal3
`tests/real/test_live_hosts.py` makes these changes on CAPM3 v1.13.2, IPAM v1.13.2 and the Bare
Metal Operator v0.13.2, all real and with their webhooks, beside the managers of Cluster API and
Kubernetes' garbage collector. This part is made by `python -m tests.real.live.host_report`.

**{held} of {all} predictions held**, in {seconds:.0f} s ({site:.0f} s of them until the site of
{hosts} hosts was up), on {cores} cores that were not idle besides.

**Not real**: Ironic, BMCs and disks (the operator is in its test mode: it asks no Ironic, and one
record of image and power serves all hosts, so that nothing is said here of power, of times, or of a
host that fails; rollouts go one after the other), the kubelets, and the control plane's external
etcd.

What the preview says of BareMetalHosts (`components/machines/effects/hosts.toml`) was read in code
before. Observed are now: another boot MAC, BMC address and root disk, a host that comes, and one
that is deleted. Only read are still: boot mode, RAID, firmware, credentials and certificates of
BMCs, architecture. **One prediction was wrong**, and has been corrected: a free host with another
root disk is not prepared anew. The operator only notes the disk.

Seen besides:
- A deletion that Foresite's policy `host-deletion` refuses may come from nobody: CAPM3 makes the
  Metal3Machine the owner of its host, and the garbage collector deletes hosts whose owner is gone.
- A Metal3Machine that was deleted in the very moment in which CAPM3 gave it a host left its name in
  the host's `consumerRef` (seen once, on busy cores). The host stays `available`, and no machine
  takes it: "no available host found". Take `spec.consumerRef` and `metadata.ownerReferences` away
  by hand where they name a Metal3Machine that does not exist.
- An image that is taken away by hand is written again at once, under the same Machine: the host is
  wiped and installed, and no Machine and no preview says so.
- Hosts that were deleted while detached keep running, and their Machines count.

A host's states are those that the operator reports. Its Machine is *kept* (the same uid), *new*,
*none* (before and after), *gone*, or *left* behind without its host.
"""


def main(arguments: list[str] | None = None) -> int:
    """Write the part; 2 where it cannot be run here."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--from", dest="result", type=Path, help="a result.json")
    options = parser.parse_args(arguments)
    if options.result is None and (reason := why_not()):
        print(f"host_report: {reason}", file=sys.stderr)
        return 2
    read = options.result and json.loads(options.result.read_text())
    part = section(read or observe("tests.real.live.hosts"))
    text = PAGE.read_text("utf-8")
    PAGE.write_text(text.replace(kept(text), f"{HOSTS_BEGIN}\n{part}{HOSTS_END}"), encoding="utf-8")
    return 0


def written() -> list[str]:
    """The changes that the page has a row of."""
    return re.findall(r"^\| (?!change)(.+?) \|", kept(PAGE.read_text("utf-8")), re.MULTILINE)


def section(result: dict[str, Any]) -> str:
    """The part for what a run gave."""
    trials = [each for some in TRIALS for each in some]
    seen = result["trials"]
    rollouts = {name: from_json(each) for name, each in result["rollouts"].items()}
    held = sum(not differences(*each) for each in zip(trials, seen, strict=True))
    predicted = [(step.experiment.predicted, rollouts[step.experiment.name]) for step in STEPS]
    held += sum(not disagreements(*each) for each in predicted)
    seconds = result["seconds"]
    text = TEXT.format(
        held=held, all=len(trials) + len(STEPS), seconds=seconds["all"], site=seconds["site"],
        hosts=len(STEPS[0].before.hosts), cores=os.cpu_count(),
    )  # fmt: skip
    rows = [*_rollouts(rollouts), *_rows(trials, seen)]
    return "\n".join([text, *rows, ""])


def _rollouts(seen: dict[str, Observation]) -> Iterator[str]:
    yield "| change | predicted | observed | s | rule |"
    yield "|---|---|---|---|---|"
    for step in STEPS:
        each, found = step.experiment, seen[step.experiment.name]
        said = "; ".join(describe(each.predicted.groups))
        observed = "; ".join(describe(found.groups))
        yield (
            f"| {each.name} | {each.predicted.outcome}; {said} | {found.outcome}; {observed} "
            f"| {found.seconds:.0f} | {each.source} |"
        )


def _rows(trials: list[Trial], seen: list[Any]) -> Iterator[str]:
    for trial, found in zip(trials, seen, strict=True):
        said = f"<br>“{trial.says}”" if trial.says else ""
        yield (
            f"| {trial.name} | {trial.trail}; Machine {trial.machine}{said} "
            f"| {found['trail']}; Machine {found['machine']}{said if found['said'] else ''} "
            f"| {found['seconds']:.0f} | {trial.source} |"
        )


if __name__ == "__main__":
    sys.exit(main())
