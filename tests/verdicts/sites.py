"""Sites that come, go and are renamed, several at once, and several edits of one site."""

from components.effects.vocabulary import Action, Impact
from preview.result import State
from tests.verdicts.edits import Edit, cells, copied, gone, site, without
from tests.verdicts.row import (
    CPU,
    KCP_ROLLS,
    LAB,
    MD_IN_PLACE,
    MD_ROLLS,
    MNCORE2,
    PROTECTED,
    Expected,
    Row,
    Verdict,
    added,
    removed,
)

_FILES = ("sites/lab-1.yaml", "sites/lab-1.hosts.csv")
_OSAKA = (
    ("lab-1", "osaka-1"),
    ("10.18.", "10.19."),
    ("10.26.", "10.27."),
    ("52:54:00:03", "52:54:00:04"),
    (",EX", ",EY"),
)
_LEFT = Expected({}, {"*": Action.LEFT}, state=State.VANISHED)
_GONE = (
    "foresite/commands/up.py applies sites that have a file: nothing is deleted, no tool manages "
    "the hosts"
)


_YAML = ("lab-1", "10.18.", "10.26.")
"""Of these changes the ones that the site file has a place for."""


def _like_lab(name: str, *changes: tuple[str, str]) -> tuple[Edit, Edit]:
    yaml, hosts = (file.replace("lab-1", name) for file in _FILES)
    return (
        # Only a site of the trial API server may have the values of an example.
        copied(_FILES[0], yaml, ("mgmt-lab", "trial"), *(e for e in changes if e[0] in _YAML)),
        copied(_FILES[1], hosts, *changes),
    )


_KUBELET = site("tsukuba-1", "os: rocky-9,", "os: rocky-9, kubelet: {max_pods: 50},")
_DRAIN = site(
    "tsukuba-1",
    "max_unavailable: 2, max_surge: 1}",
    "max_unavailable: 2, max_surge: 1, drain_timeout_seconds: 600}",
)
_LABEL = site(
    "tsukuba-1", "hardware: mncore2-x8\n", "hardware: mncore2-x8\n    labels: {example.com/a: b}\n"
)
ROWS = (
    Row(
        "a site more",
        _like_lab("osaka-1", *_OSAKA),
        {
            "osaka-1": Expected(
                {"lab": added(3)}, {"BareMetalHost/*": Action.ADDED}, state=State.ADDED
            )
        },
        "everything is new",
    ),
    Row("a site less", (gone(*_FILES),), {"lab-1": _LEFT}, _GONE),
    Row(
        "another name for a site",
        (*_like_lab("lab-2", ("lab-1", "lab-2")), gone(*_FILES)),
        {"lab-1": _LEFT, "lab-2": Expected({"lab": Verdict(Impact.UNKNOWN, 3)}, state=State.ADDED)},
        f"namespace, cluster and stack have the name; {_GONE}; until the hosts of the former "
        "are deleted both sites' objects command the same BMCs",
    ),
    Row(
        "two sites at once, each by its own edit",
        (site("lab-1", "ntp: [10.18.0.2]", "ntp: [10.18.0.3]"), _DRAIN),
        {"lab-1": Expected(LAB), "tsukuba-1": Expected()},
        f"{KCP_ROLLS}; {MD_IN_PLACE}",
    ),
    Row(
        "two edits of one pool's kind in two sites",
        tuple(
            site(
                name,
                "hardware: cpu-1u, ",
                "hardware: cpu-1u, labels: {node.cluster.x-k8s.io/a: b}, ",
            )
            for name in ("tokyo-1", "tsukuba-1")
        ),
        {"tokyo-1": Expected(), "tsukuba-1": Expected()},
        MD_IN_PLACE,
    ),
    Row(
        "two pools, one re-imaged and one in place",
        (_KUBELET, _DRAIN),
        {
            "tsukuba-1": Expected(
                CPU,
                lines={
                    "MachineDeployment/cpu": "max_pods: 50",
                    "MachineDeployment/mncore2": "drain_timeout_seconds: 600",
                },
            )
        },
        f"{MD_ROLLS}; {MD_IN_PLACE}",
    ),
    Row(
        "two pools, both re-imaged, each for a reason of its own",
        (_KUBELET, _LABEL),
        {
            "tsukuba-1": Expected(
                {**CPU, **MNCORE2},
                lines={
                    "MachineDeployment/cpu": "max_pods: 50",
                    "MachineDeployment/mncore2": "example.com/a: b",
                },
            )
        },
        MD_ROLLS,
    ),
    Row(
        "a host moves its rack while a pool is re-imaged",
        (_KUBELET, cells("tsukuba-1", "tsukuba-1-a-013", rack="a-77")),
        {
            "tsukuba-1": Expected(
                CPU,
                lines={
                    "MachineDeployment/cpu": "max_pods: 50",
                    "BareMetalHost/tsukuba-1-a-013": "a-77",
                },
            )
        },
        f"{MD_ROLLS}; labels of hosts are read when a host is chosen (CAPM3 1.13.2, chooseHost)",
    ),
    Row(
        "spares and an image at once: one machine goes, the others are re-imaged",
        (site("tsukuba-1", "spares: 1", "spares: 2"), _LABEL),
        {
            "tsukuba-1": Expected(
                {"mncore2": removed(40, 1)},
                deletions={"hosts": 1},
                counts={Impact.REMOVE: 1, Impact.REIMAGE: 38},
                plans={("mncore2", ""): (38, 3, 3)},
                out={"mncore2": (39, 3)},
            )
        },
        f"{MD_ROLLS}; replicas 39 to 38: any host may be the one that is not installed again, so "
        "the worst is said of each, and the others are not forgotten",
    ),
    Row(
        "a host less and another kubelet: the others of its pool are re-imaged",
        (without("tsukuba-1", "tsukuba-1-a-004"), _KUBELET),
        {
            "tsukuba-1": Expected(
                {"cpu": (removed(1), removed(20, 1))},
                {"BareMetalHost/*": Action.REFUSED},
                {"hosts": 1},
                counts={Impact.REIMAGE: 19},
                plans={("cpu", ""): (20, 2, 3)},
                out={"": (24, 4)},
            )
        },
        f"{MD_ROLLS}; one machine less; {PROTECTED}",
    ),
    Row(
        "edits that make up for each other",
        (
            site(
                "tsukuba-1",
                "{name: cpu, hardware: cpu-1u, os: rocky-9,",
                "{name: cpu, os: rocky-9, hardware: cpu-1u,",
            ),
            site("tsukuba-1", "max_unavailable: 2}}", "max_unavailable: 2, max_surge: 0}}"),
        ),
        {},
        "nothing differs between the two sides",
    ),
)
