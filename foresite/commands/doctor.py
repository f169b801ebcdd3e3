"""``foresite doctor``: what is there of all that a site needs, and the next step to its first job.
Asks only. Exit codes: 0 all sound, 1 problems, 2 something could not be asked."""

import argparse

from components.making.manifest import Target
from foresite.command import FAILED, FOUND, OK, UsageError, print_report, repository
from foresite.commands.check import sound
from foresite.delivery.servers.doctor import NOT_ASKED, PROBLEM, STATES, TOLD, ask_cluster
from foresite.delivery.servers.media import ask_bmcs, ask_images
from foresite.delivery.servers.probe import kubectl_of
from foresite.delivery.stack.engines import engine_for


def run(options: argparse.Namespace) -> int:
    """Ask for one site, and say what comes next."""
    root = repository(options)
    (site,) = sound(root, [options.site], options.format)
    if site.file.decommission is not None:
        raise UsageError(TOLD.say("decommissioned", site=site.name))
    kubectl = kubectl_of(engine_for(root, site, trial=True) if options.trial else None)
    found = [  # in the order of the way to the first job
        *ask_cluster(site, kubectl, Target.MANAGEMENT), *ask_images(site), *ask_bmcs(site),
        *ask_cluster(site, kubectl, Target.SITE),
    ]  # fmt: skip
    first = min((f for f in found if f.next), key=lambda f: STATES.index(f.state), default=None)
    after = first.next if first else TOLD.say("done", site=site.name)
    data = {"site": site.name, "findings": [each._asdict() for each in found], "next": after}
    lines = [f"{each.state:10} {each.check:11} {each.text}" for each in found]
    lines += [TOLD.say("never", site=site.name), "", f"next: {after}"]
    print_report(options.format, data, lines)
    states = {each.state for each in found}
    return FOUND if PROBLEM in states else FAILED if NOT_ASKED in states else OK
