"""Sites whose faults are found and mended, as bases, edits and verdicts of the rows about it."""

from components.effects.vocabulary import Impact
from tests.kit.preview_repository import Repository
from tests.kit.repository import WRITTEN_OUT
from tests.verdicts.cachesites import ALL, tokyo
from tests.verdicts.edits import DIGEST, Edit, site
from tests.verdicts.row import ANY, Verdict, restarted

GPU = ("v100", "a100", "h100")
"""The pools of tokyo-1's healer gpu; its healer cpu has the pool cpu, and control has none."""
REPAIRED = Verdict(Impact.REBOOT, None, ANY, (Impact.UNKNOWN,))
"""Hosts that are drained and rebooted if they have a fault, which Git does not say."""
GPU_REPAIRED = dict.fromkeys(GPU, REPAIRED)
ALL_REPAIRED = {"cpu": REPAIRED, **GPU_REPAIRED}
GPU_PODS = {pool: restarted() for pool in GPU}
CONTROL_PODS = {"control": restarted()}
"""Where Node Operation Controller and the program of turns run."""
FOUND = {**ALL, **ALL_REPAIRED}
"""Detectors restart on all hosts, and find more faults: with a healer that is a repair."""
IMAGE = f"registry.example/program:v9@sha256:{DIGEST}"
CPU_HEALER = "    - {name: cpu, pools: [cpu], faults: [read-only-filesystem, kernel-deadlock]}\n"
NOC = "node-operation-controller 0ac94deb, controllers"
BEGINS = (
    f"{NOC}/noderemediation_controller.go: a NodeRemediation whose conditions hold gets an "
    "operation, and nodeoperation_controller.go drains for it"
)
ENDS = (
    f"{NOC}/noderemediationtemplate_controller.go and garbage collection: with a template its "
    "remediations and operations go; the controller takes its taint off, and drains nobody"
)
COPIED = (
    f"{NOC}/noderemediation_controller.go: an operation has a copy of its template as it was, so "
    "a changed one is for later repairs"
)
DEPLOYED = (
    "Kubernetes 1.34.3, pkg/controller/deployment: another pod template renews the Deployment's "
    "pods, which are on the control plane"
)
CREATED = (
    "Kubernetes 1.34.3, pkg/controller/daemon/daemon_controller.go: a DaemonSet's pods start with "
    "it and go with it"
)
KINDS = ("NodeDisruptionBudget", "NodeOperationTemplate", "NodeRemediationTemplate")


def repaired(most: int) -> Verdict:
    """At most so many hosts are mended, whichever."""
    return Verdict(Impact.REBOOT, None, most, (Impact.UNKNOWN,))


BEGUN = {"cpu": repaired(147), "v100": repaired(118), "a100": repaired(80), "h100": repaired(50)}
"""All machines of tokyo-1's pools: hosts that were mended make room for the next, so that how many
may be faulty at once (node_repair/decide.py, _held) is no bound."""
GPU_BEGUN = {pool: BEGUN[pool] for pool in GPU}


def setting(text: str) -> Edit:
    """A further setting of tokyo-1's fault remediation."""
    return tokyo("\nremediation:\n", f"\nremediation:\n  {text}\n")


def detector(text: str) -> Edit:
    """A further setting of tokyo-1's detectors."""
    return tokyo("disks: [/, /srv/nvme]}", f"disks: [/, /srv/nvme], {text}}}")


def reboot(text: str) -> Edit:
    """How tokyo-1 reboots."""
    return setting(f"reboot: {{{text}}}")


RESETS = reboot("reset_first: true")


def controller(text: str) -> Edit:
    """A further setting of tokyo-1's controller."""
    return tokyo("  controller: {image:", f"  controller: {{{text}, image:")


def cards(text: str) -> Edit:
    """A further setting of tokyo-1's healer of hosts with cards."""
    return tokyo("h100], max_unavailable: 2}", f"h100], max_unavailable: 2, {text}}}")


def health(text: str) -> Edit:
    """A further setting of how tsukuba-1's boards are counted."""
    return site("tsukuba-1", '"^board [0-9]+ ok"}', f'"^board [0-9]+ ok", {text}}}')


def lanes(number: int) -> Edit:
    """The lanes of tsukuba-1's boards."""
    return site("tsukuba-1", 'classes: ["1200"]}', f'classes: ["1200"], link_width: {number}}}')


def without_remediation(name: str) -> Edit:
    """A site file without fault remediation, which stands before its monitoring."""

    def edit(repository: Repository) -> None:
        file = f"sites/{name}.yaml"
        before, found, rest = repository.text(file).partition("\nremediation:")
        _, also_found, after = rest.partition("\nmonitoring:\n")
        assert found and also_found
        repository.write(file, f"{before}\nmonitoring:\n{after}")

    return edit


def with_remediation(name: str) -> Edit:
    """The fault remediation of the example, after ``without_remediation``."""

    def edit(repository: Repository) -> None:
        example = (WRITTEN_OUT / f"{name}.yaml").read_text("utf-8")
        section = example.partition("\nremediation:")[2].partition("\nmonitoring:\n")[0]
        new = f"\nremediation:{section}\nmonitoring:\n"
        repository.replace(f"sites/{name}.yaml", "\nmonitoring:\n", new)

    return edit
