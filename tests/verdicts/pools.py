"""Pools and zones that come, go and are renamed, and the networks of zones."""

from components.effects.vocabulary import Action, Impact
from tests.verdicts.edits import (
    Edit,
    Lines,
    at_tsukuba,
    bare,
    every_cell,
    listed,
    site,
    without_pool,
)
from tests.verdicts.row import (
    KCP_ROLLS,
    PROTECTED,
    SCALE_DOWN,
    Expected,
    Row,
    added,
    reimaged,
    removed,
)

_CPU = "  - {name: cpu, hardware: cpu-1u, os: rocky-9, rollout: {max_unavailable: 2}}\n"
_ZONE = "  - {name: b, network: 10.17.1.0/24, gateway: 10.17.1.1}\n"
_NEW_ZONE = "  - {name: c, network: 10.17.2.0/24, gateway: 10.17.2.1}\n"
_IPAM = "IPAM 1.13.2, internal/webhooks/v1alpha1/ippool_webhook.go, ValidateUpdate"
_DOMAINS = (
    "Cluster API 1.13.6, controlplane/kubeadm/internal/filters.go: a failure domain is no reason "
    "for a rollout"
)


_AT_ONCE = (
    f"{PROTECTED}; unprotected, the old MachineDeployment's machines are deleted at once, and the "
    "new one's are all made at once (Cluster API 1.13.6, machinedeployment_rollout_planner.go: "
    "max_unavailable bounds what is replaced, not what is made): each waits for a host"
)


def _five_to_batch(rows: Lines) -> None:
    for row in [row for row in rows if row["pool"] == "cpu"][:5]:
        row["pool"] = "batch"


def _row(name: str, edits: tuple[Edit, ...], expected: Expected, source: str, *base: Edit) -> Row:
    return Row(name, edits, {"tsukuba-1": expected}, source, base)


def _renumbered(rows: Lines) -> None:
    for row in rows:
        row["ip"] = row["ip"].replace("10.17.1.", "10.17.2.")


_POOLS = (
    _row(
        "a pool more",
        (
            at_tsukuba("batch", "b", (250, 251)),
            site("tsukuba-1", _CPU, f"{_CPU}  - {{name: batch, hardware: cpu-1u}}\n"),
        ),
        Expected({"batch": added(2)}, {"MachineDeployment/batch": Action.ADDED}),
        "Cluster API 1.13.6: a MachineDeployment of its own; no other pool's objects differ",
    ),
    _row(
        "a pool less, with its hosts",
        (without_pool("tsukuba-1", "cpu"), site("tsukuba-1", _CPU, "")),
        Expected(
            {"cpu": removed(21)},
            {
                "MachineDeployment/cpu": Action.REFUSED,
                "BareMetalHost/*": Action.REFUSED,
                "MachineHealthCheck/cpu": Action.DELETED,
                "*/node-problem-detector/cpu": Action.DELETED,
                "Metal3RemediationTemplate/cpu": Action.DELETED,
                "KubeadmConfigTemplate/cpu": Action.LEFT,
                "Metal3MachineTemplate/cpu": Action.LEFT,
                "Metal3DataTemplate/cpu": Action.LEFT,
            },
            {"hosts": 21},
        ),
        f"{PROTECTED}; decision 0011: templates are kept",
    ),
    _row(
        "another name for a pool",
        (
            every_cell("tsukuba-1", "pool", {"cpu": "general"}),
            site("tsukuba-1", "{name: cpu,", "{name: general,"),
        ),
        Expected(
            {"general": reimaged(21)},
            {
                "MachineDeployment/cpu": Action.REFUSED,
                "MachineHealthCheck/cpu": Action.DELETED,
                "*/node-problem-detector/cpu": Action.DELETED,
                "Metal3RemediationTemplate/cpu": Action.DELETED,
                "MachineDeployment/general": Action.ADDED,
                "BareMetalHost/*": Action.CHANGED,
            },
            {"hosts": 21},
            counts={Impact.REIMAGE: 21, Impact.ADD: None},
            plans={("general", ""): (21, 21, 21)},
            out={"": (24, 21)},
        ),
        _AT_ONCE,
    ),
    _row(
        "another name for a pool with a spare",
        (
            every_cell("tsukuba-1", "pool", {"mncore2": "boards"}),
            site("tsukuba-1", "name: mncore2\n    hardware", "name: boards\n    hardware"),
        ),
        Expected(
            {"boards": reimaged(40, 39)},
            {
                "MachineDeployment/mncore2": Action.REFUSED,
                "MachineHealthCheck/mncore2": Action.DELETED,
                "Metal3RemediationTemplate/mncore2": Action.DELETED,
                "BareMetalHost/*": Action.CHANGED,
            },
            {"hosts": 39},
            counts={Impact.REIMAGE: 39, Impact.ADD: 1},
            plans={("boards", ""): (39, 39, 39)},
            out={"mncore2": (39, 39)},
        ),
        f"{_AT_ONCE}; the spare has no Machine, and is taken at once",
        bare("tsukuba-1"),
    ),
    _row(
        "a pool's hosts to another pool that is new, and some stay",
        (
            listed("tsukuba-1", _five_to_batch),
            site("tsukuba-1", _CPU, f"{_CPU}  - {{name: batch, hardware: cpu-1u}}\n"),
        ),
        Expected(
            {"cpu": removed(16, 5), "batch": reimaged(5, 5)},
            {"MachineDeployment/batch": Action.ADDED},
            {"hosts": 5},
            counts={Impact.REMOVE: 5, Impact.REIMAGE: None, Impact.ADD: None},
            plans={("batch", ""): (5, 5, 5)},
            out={"": (24, 5)},
            says=("wait for ever",),
        ),
        f"{_AT_ONCE}; {SCALE_DOWN}: cpu gives up five Machines, which need not be those",
    ),
)
_CONTROL = _row(
    "another name for the control plane's pool",
    (
        every_cell("tsukuba-1", "pool", {"control": "masters"}),
        site("tsukuba-1", "{name: control,", "{name: masters,"),
    ),
    Expected(
        {"masters": reimaged(3)},
        {
            "MachineHealthCheck/control": Action.DELETED,
            "*/node-problem-detector/control": Action.DELETED,
            "Metal3RemediationTemplate/control": Action.DELETED,
            "KubeadmControlPlane": Action.CHANGED,
            "Metal3*Template/control": Action.LEFT,
        },
    ),
    f"{KCP_ROLLS}; each host that is freed has the new label already",
)
_ZONES = (
    _row(
        "a zone more",
        (site("tsukuba-1", _ZONE, _ZONE + _NEW_ZONE),),
        Expected(),
        f"{_DOMAINS}; {_IPAM}: a further range is accepted",
    ),
    _row(
        "a zone less that had no host",
        (site("tsukuba-1", _NEW_ZONE, ""),),
        Expected(),
        f"{_DOMAINS}; {_IPAM}: a range without addresses in use may go",
        site("tsukuba-1", _ZONE, _ZONE + _NEW_ZONE),
    ),
    Row(
        "zones in another order",
        (
            site(
                "tsukuba-1",
                f"  - {{name: a, network: 10.17.0.0/24, gateway: 10.17.0.1}}\n{_ZONE}",
                f"{_ZONE}  - {{name: a, network: 10.17.0.0/24, gateway: 10.17.0.1}}\n",
            ),
        ),
        {},
        "components/site.py: objects are made in an order of their own",
    ),
    _row(
        "another name for a zone",
        (
            every_cell("tsukuba-1", "zone", {"a": "north"}),
            site("tsukuba-1", "{name: a, network", "{name: north, network"),
        ),
        Expected(actions={"Metal3Cluster": Action.CHANGED, "BareMetalHost/*": Action.CHANGED}),
        f"{_DOMAINS}; CAPM3 1.13.2, metal3machine_manager.go, chooseHost: labels count only for a "
        "host without a consumer",
    ),
    Row(
        "another name for a zone, with a pool that keeps zones apart",
        (
            every_cell("tokyo-1", "zone", {"d": "e"}),
            site("tokyo-1", "{name: d, network", "{name: e, network"),
        ),
        {
            "tokyo-1": Expected(
                {"a100": reimaged(20)},
                {
                    "MachineDeployment/a100/d": Action.REFUSED,
                    "MachineDeployment/a100/e": Action.ADDED,
                    "BareMetalHost/*": Action.CHANGED,
                },
                {"hosts": 20},
                plans={("a100", "e"): (20, 20, 20)},
                out={"a100-sxm4-80gb": (80, 20)},
            )
        },
        _AT_ONCE,
    ),
    _row(
        "a smaller network for a zone, with room for its hosts",
        (site("tsukuba-1", "network: 10.17.0.0/24", "network: 10.17.0.0/25"),),
        Expected(actions={"IPPool": Action.CHANGED}),
        f"{_IPAM}: all addresses in use are still in it",
    ),
    _row(
        "a block of addresses for the hosts of a zone",
        (site("tsukuba-1", "10.17.0.1}", "10.17.0.1, hosts: [10.17.0.11, 10.17.0.250]}"),),
        Expected(actions={"IPPool": Action.CHANGED}),
        f"{_IPAM}: all addresses in use are still in it",
    ),
    _row(
        "another gateway for a zone",
        (site("tsukuba-1", "gateway: 10.17.1.1}", "gateway: 10.17.1.254}"),),
        Expected(actions={"IPPool": Action.CHANGED}),
        "IPAM 1.13.2, ippool_manager.go: addresses that are given out stay as they are",
    ),
    _row(
        "another network for a zone, and its hosts' addresses",
        (
            listed("tsukuba-1", _renumbered),
            site("tsukuba-1", _ZONE, _NEW_ZONE.replace("name: c", "name: b")),
        ),
        Expected(actions={"IPPool": Action.REFUSED}),
        f"{_IPAM}, checkPoolBonds: addresses in use must stay within the ranges",
    ),
)
ROWS = (*_POOLS, _CONTROL, *_ZONES)
