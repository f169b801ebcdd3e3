"""Hosts that come, go and move, and what their lines say."""

from components.effects.vocabulary import Action, Impact
from schemas.model.codes import Code
from tests.verdicts.edits import (
    Edit,
    Lines,
    at_tsukuba,
    cells,
    listed,
    site,
    states,
    together,
    without,
    without_pool,
)
from tests.verdicts.row import (
    ANY,
    PROTECTED,
    SCALE_DOWN,
    Expected,
    Invalid,
    Row,
    Verdict,
    added,
    reimaged,
    removed,
)

_LATER = (
    "CAPM3 1.13.2, baremetal/metal3data_manager.go: rendered once, so it waits for the next "
    "re-image"
)
_BMO = (
    "Bare Metal Operator 0.13.2, internal/webhooks/metal3.io/v1alpha1/baremetalhost_validation.go"
)
_ADDRESS = f"{_BMO}, validateChanges: the BMC address changes only while registering or detached"
_GROWS = (
    "Cluster API 1.13.6 makes one machine more; CAPM3 1.13.2, metal3machine_manager.go, "
    "chooseHost: any free host of the pool takes it"
)
_LOST = f"one machine less ({SCALE_DOWN}); {PROTECTED}: the BareMetalHost stays"
_FIRST = "tsukuba-1-a-004"


def _row(name: str, edit: Edit, expected: Expected, source: str, *base: Edit) -> Row:
    return Row(name, (edit,), {"tsukuba-1": expected}, source, base)


def _h100(rows: Lines) -> list[str]:
    return [row["name"] for row in rows if row["pool"] == "h100"]


def _three_less(rows: Lines) -> None:
    names = _h100(rows)[:3]
    rows[:] = [row for row in rows if row["name"] not in names]


def _drop(rows: Lines, names: tuple[str, ...]) -> None:
    rows[:] = [row for row in rows if row["name"] not in names]


def _spares(count: int) -> Edit:
    return site("tsukuba-1", "os: rocky-9, rollout", f"os: rocky-9, spares: {count}, rollout")


def _to_h100(rows: Lines) -> None:
    next(row for row in rows if row["pool"] == "cpu")["pool"] = "h100"


_V100 = "v100-sxm2-32gb"


def _eight_v100(rows: Lines) -> None:
    last = [row for row in rows if row["pool"] == "v100"][-1]
    for number in range(8):
        rows.append(
            last
            | {
                "name": f"tokyo-1-z-{number}",
                "serial": f"EXZ{number}",
                "bmc": f"10.24.9.{number + 1}",
                "mac": f"52:54:00:ff:00:{number:02x}",
                "ip": last["ip"].rpartition(".")[0] + f".{240 + number}",
            }
        )


def _root_disk(rows: Lines) -> None:
    for row in rows:
        row["root_disk"] = "wwn=eui.0025385b21404e1b" if row["name"] == _FIRST else ""


def _a100_to_b(rows: Lines) -> None:
    row = next(row for row in rows if row["pool"] == "a100" and row["zone"] == "a")
    row.update(zone="b", rack="b-20", ip="10.16.7.250")


_CELLS = (
    _row("a rack", cells("tsukuba-1", _FIRST, rack="a-07"), Expected(), _LATER),
    _row(
        "a serial number",
        cells("tsukuba-1", _FIRST, serial="EXNEW"),
        Expected(actions={f"BareMetalHost/{_FIRST}": Action.CHANGED}),
        "components/machines/hosts.py: an annotation of ours, that no controller reads",
    ),
    _row(
        "a root disk of one host",
        listed("tsukuba-1", _root_disk),
        Expected(actions={f"BareMetalHost/{_FIRST}": Action.CHANGED}),
        "BMO 0.13.2, internal/controller/metal3.io/baremetalhost_controller.go, "
        f"updateRootDeviceHints: read when a host is prepared; {_LATER}",
    ),
    _row(
        "an address",
        cells("tsukuba-1", _FIRST, ip="10.17.0.250"),
        Expected(actions={"IPPool": Action.CHANGED}),
        "IPAM 1.13.2, internal/webhooks/v1alpha1/ippool_webhook.go and ippool_manager.go: accepted "
        f"and taken when a claim is made anew; {_LATER}",
    ),
    _row(
        "the address of a BMC",
        cells("tsukuba-1", _FIRST, bmc="10.25.0.250"),
        Expected(actions={f"BareMetalHost/{_FIRST}": Action.REFUSED}),
        _ADDRESS,
    ),
    _row(
        "a MAC",
        cells("tsukuba-1", _FIRST, mac="52:54:00:02:ff:fa"),
        Expected(actions={f"BareMetalHost/{_FIRST}": Action.REFUSED}),
        f"{_BMO}, validateChanges: bootMACAddress cannot be changed once it is set",
    ),
    _row(
        "a zone, with the address that belongs to it",
        cells("tsukuba-1", _FIRST, zone="b", rack="b-09", ip="10.17.1.250"),
        Expected(actions={f"BareMetalHost/{_FIRST}": Action.CHANGED}),
        f"{_LATER}; docs/machines.md: the node keeps its own zone until it is installed again",
    ),
    _row(
        "a name: another BareMetalHost for the same metal",
        cells("tsukuba-1", _FIRST, name="tsukuba-1-a-104"),
        Expected(
            {"cpu": (removed(1), Verdict(Impact.UNKNOWN, 1))},
            {f"BareMetalHost/{_FIRST}": Action.REFUSED},
            {"hosts": 1},
        ),
        f"{PROTECTED}; Bare Metal Operator 0.13.2, host_state_machine.go: a deleted host is wiped; "
        "until it is deleted both objects command one BMC",
    ),
)
_EXCHANGED = (
    Row(
        "two hosts exchange their pools",
        (
            cells("tsukuba-1", _FIRST, pool="mncore2"),
            cells("tsukuba-1", "tsukuba-1-a-013", pool="cpu"),
        ),
        {"tsukuba-1": Expected(actions={"BareMetalHost/*": Action.CHANGED})},
        "as many machines as before; CAPM3 1.13.2, metal3machine_manager.go, chooseHost: labels "
        "count only for a host without a consumer, so each waits for its next re-image",
    ),
    Row(
        "two hosts exchange their pools, and one of the pools is re-imaged",
        (
            cells("tsukuba-1", _FIRST, pool="mncore2"),
            cells("tsukuba-1", "tsukuba-1-a-013", pool="cpu"),
            site("tsukuba-1", "os: rocky-9,", "os: rocky-9, kubelet: {max_pods: 50},"),
        ),
        {
            "tsukuba-1": Expected(
                {
                    "cpu": (reimaged(20), Verdict(Impact.NONE, 1, also=(Impact.REIMAGE,))),
                    "mncore2": Verdict(Impact.REMOVE, 1, ANY, also=(Impact.REIMAGE,)),
                },
                stuck=frozenset({"cpu"}),
            )
        },
        "CAPM3 1.13.2, metal3machine_manager.go, chooseHost: the host that cpu frees is no longer "
        "its own, and the one it gets has a machine of mncore2: the last of cpu waits for ever",
    ),
    Row(
        "two hosts exchange their addresses",
        (
            cells("tsukuba-1", _FIRST, ip="10.17.0.23"),
            cells("tsukuba-1", "tsukuba-1-a-013", ip="10.17.0.14"),
        ),
        {"tsukuba-1": Expected(actions={"IPPool": Action.CHANGED})},
        _LATER,
    ),
    _row(
        "a host in place of another",
        cells(
            "tsukuba-1",
            _FIRST,
            name="tsukuba-1-a-250",
            bmc="10.25.0.250",
            mac="52:54:00:02:ff:fa",
            ip="10.17.0.250",
            serial="EXNEW250",
        ),
        Expected(
            {"cpu": removed(1)},
            {f"BareMetalHost/{_FIRST}": Action.REFUSED},
            {"hosts": 1},
            says=("counts until it is deleted",),
        ),
        f"as many machines as before, one of them without a host; {PROTECTED}; CAPM3 1.13.2, "
        "baremetal/metal3remediation_manager.go, getUnhealthyHost: a Machine whose host is gone is "
        "never repaired, so a person deletes it",
    ),
)
_COMING = (
    _row(
        "a host more",
        at_tsukuba("cpu", "b"),
        Expected({"cpu": added(1)}, {"BareMetalHost/tsukuba-1-b-250": Action.ADDED}),
        f"{_GROWS}; the new one is the only free one",
    ),
    _row(
        "a host more in a pool with spares",
        at_tsukuba("mncore2", "b"),
        Expected({"mncore2": (added(1, 1), added(40, 1))}, counts={Impact.ADD: 1}),
        f"{_GROWS}; the old spare is available at once, the new host is inspected first",
    ),
    Row(
        "eight hosts more in a pool with two spares",
        (listed("tokyo-1", _eight_v100),),
        {
            "tokyo-1": Expected(
                {"v100": (added(8, 8), added(120, 2))},
                counts={Impact.ADD: 8},
                out={_V100: (118, 0)},
            )
        },
        f"{_GROWS}: eight of ten hosts",
    ),
    _row(
        "two hosts more for the control plane",
        at_tsukuba("control", "a", (250, 251)),
        Expected({"control": added(2)}),
        "Cluster API 1.13.6, controlplane/kubeadm/internal/controllers/scale.go: scaled up one "
        "after the other, nothing else touched",
    ),
)
_GOING = (
    _row(
        "a host less",
        without("tsukuba-1", _FIRST),
        Expected(
            {"cpu": (removed(1), removed(20, 1))},
            {f"BareMetalHost/{_FIRST}": Action.REFUSED},
            {"hosts": 1},
        ),
        _LOST,
    ),
    Row(
        "three hosts less",
        (listed("tokyo-1", _three_less),),
        {
            "tokyo-1": Expected(
                {"h100": (removed(3), removed(47, 3))},
                {"BareMetalHost/*": Action.REFUSED},
                {"hosts": 3},
            )
        },
        _LOST,
    ),
    _row(
        "two hosts less in the control plane",
        without("tsukuba-1", "tsukuba-1-a-250", "tsukuba-1-a-251"),
        Expected(
            {"control": (removed(2), removed(3, 2))},
            {"BareMetalHost/*": Action.REFUSED},
            {"hosts": 2},
        ),
        "Cluster API 1.13.6, controlplane/kubeadm/internal/controllers/scale.go: by failure domain "
        f"and age, so Git does not say which; {PROTECTED}",
        at_tsukuba("control", "a", (250, 251)),
    ),
    Row(
        "a host less, and a spare less for it",
        (
            without("tsukuba-1", "tsukuba-1-b-032"),
            site(
                "tsukuba-1",
                "spares: 1\n    rollout: {max_unavailable: 2, max_surge: 1}",
                "rollout: {max_unavailable: 2}",
            ),
        ),
        {
            "tsukuba-1": Expected(
                {"mncore2": removed(1)},
                {"BareMetalHost/tsukuba-1-b-032": Action.REFUSED},
                {"hosts": 1},
            )
        },
        f"as many machines as before; {PROTECTED}; Git does not say that it is the spare",
    ),
    Row(
        "all hosts of a zone in a pool that keeps zones apart",
        (without_pool("tokyo-1", "a100", "d"),),
        {
            "tokyo-1": Expected(
                {"a100": removed(20)},
                {
                    "BareMetalHost/*": Action.REFUSED,
                    "MachineDeployment/a100/d": Action.REFUSED,
                    "Metal3MachineTemplate/a100/d": Action.LEFT,
                },
                {"hosts": 20},
                out={"a100-sxm4-80gb": (80, 20)},
            )
        },
        PROTECTED,
    ),
)
_MOVING = (
    Row(
        "a host to another pool",
        (listed("tokyo-1", _to_h100),),
        {
            "tokyo-1": Expected(
                {"cpu": removed(146, 1), "h100": reimaged(1, 1)},
                deletions={"hosts": 1},
                counts={Impact.REMOVE: 1, Impact.REIMAGE: None, Impact.ADD: None},
                out={"": (150, 1)},
                says=("wait for ever",),
            )
        },
        f"cpu has one machine less ({SCALE_DOWN}); CAPM3 1.13.2, metal3machine_manager.go, "
        "chooseHost: labels count only for a host without a consumer, so h100's new machine waits "
        "for this one",
    ),
    _row(
        "a host to a pool that has a free one",
        cells("tsukuba-1", _FIRST, pool="mncore2"),
        Expected(
            {"cpu": removed(20, 1), "mncore2": (removed(1, 1), Verdict(Impact.ADD, 40, 1))},
            deletions={"hosts": 1},
            counts={Impact.REMOVE: 1, Impact.ADD: 1},
            out={"": (24, 1)},
        ),
        f"cpu has one machine less ({SCALE_DOWN}); mncore2's new one takes the spare (CAPM3 "
        "1.13.2, chooseHost: any free host), so this one is not installed again",
    ),
    Row(
        "a host to another zone of a pool that keeps zones apart",
        (listed("tokyo-1", _a100_to_b),),
        {
            "tokyo-1": Expected(
                {"a100": (removed(19, 1), reimaged(1, 1))},
                deletions={"hosts": 1},
                counts={Impact.REMOVE: 1, Impact.REIMAGE: None},
                says=("Machine of pool a100 in zone b wait until", "wait for ever"),
            )
        },
        f"zone a has one machine less ({SCALE_DOWN}); zone b's new one waits for this host",
    ),
)
_OUT = states("tsukuba-1", {_FIRST: "out"})
_SPARE = "tsukuba-1-b-032"
_NINE = tuple(f"tsukuba-1-a-{number:03}" for number in range(4, 13))
_OBJECT = f"BareMetalHost/{_FIRST}"
_CHOSEN = f"{SCALE_DOWN}: the marked Machine first; CAPM3 1.13.2, chooseHost: none with unhealthy"
_STATES = (
    _row(
        "a host goes out, in a pool without spares",
        _OUT,
        Expected({"cpu": removed(1)}, {_OBJECT: Action.CHANGED}, out={"": (24, 1)}),
        _CHOSEN,
    ),
    _row(
        "a host goes out, and the pool's spare steps in",
        states("tsukuba-1", {_SPARE: "out"}),
        Expected(
            {"mncore2": (removed(1), added(39, 1))},
            {f"BareMetalHost/{_SPARE}": Action.CHANGED},
            says=("made again on a free host",),
        ),
        f"{_CHOSEN}; as many Machines as before, so the MachineSet makes another",
    ),
    _row(
        "two hosts go out of a pool with one spare",
        states("tsukuba-1", {_SPARE: "out", "tsukuba-1-b-031": "out"}),
        Expected({"mncore2": (removed(2), added(38, 1))}, out={"mncore2": (39, 2)}),
        _CHOSEN,
    ),
    _row(
        "a host comes back with another board and BMC",
        states("tsukuba-1", {_FIRST: "in-service"}, mac="52:54:00:02:ff:fa", bmc="10.25.0.250"),
        Expected({"cpu": added(1)}, {_OBJECT: Action.REPLACED}),
        f"{_BMO}: of another object with the same name every field is free; {_GROWS}",
        _OUT,
    ),
    _row(
        "a host comes back as the spare that it was before",
        states("tsukuba-1", {_SPARE: "in-service"}),
        Expected(actions={f"BareMetalHost/{_SPARE}": Action.REPLACED}),
        "as many machines as before",
        states("tsukuba-1", {_SPARE: "out"}),
    ),
    _row(
        "a host that is out gets another MAC, and stays out",
        cells("tsukuba-1", _FIRST, mac="52:54:00:02:ff:fa"),
        Expected(actions={_OBJECT: Action.REFUSED}),
        f"{_BMO}, validateChanges",
        _OUT,
    ),
    _row(
        "a host comes back in another pool and rack",
        states("tsukuba-1", {_FIRST: "in-service"}, pool="mncore2", rack="a-07"),
        Expected({"mncore2": (added(1, 1), added(40, 1))}, {_OBJECT: Action.REPLACED}),
        _GROWS,
        _OUT,
    ),
    _row(
        "a host that is out goes back to its maker",
        states("tsukuba-1", {_FIRST: "returned"}),
        Expected(actions={_OBJECT: Action.DELETED}),
        "BMO 0.13.2, host_state_machine.go: without a consumer nothing runs on it",
        _OUT,
    ),
    _row(
        "a host that is out gets another name",
        cells("tsukuba-1", _FIRST, name="tsukuba-1-a-104", state=""),
        Expected({"cpu": added(1)}, {_OBJECT: Action.DELETED}),
        "the former object is not protected, so it is deleted, and the MAC is free",
        _OUT,
    ),
    _row(
        "a host in service leaves for good in one step",
        states("tsukuba-1", {_FIRST: "returned"}),
        Expected({"cpu": (removed(1), removed(20, 1))}, {_OBJECT: Action.REFUSED}, {"hosts": 1}),
        _LOST,
    ),
    _row(
        "another host in place of one that goes out",
        together(at_tsukuba("cpu", "b"), _OUT),
        Expected(
            {"cpu": (removed(1), added(1))},
            {_OBJECT: Action.CHANGED, "BareMetalHost/tsukuba-1-b-250": Action.ADDED},
        ),
        f"{_CHOSEN}; the new one is the only free one",
    ),
    _row(
        "a host becomes the pool's first spare",
        states("tsukuba-1", {_FIRST: "spare"}),
        Expected({"cpu": removed(21, 1)}, {_OBJECT: Action.CHANGED}, {"hosts": 1}),
        f"{SCALE_DOWN}: the marked Machine first; Git does not say that it still has one",
    ),
    _row(
        "two fifths of a pool go out at once: a loss that is acknowledged",
        states("tsukuba-1", dict.fromkeys(_NINE, "out")),
        Expected(
            {"cpu": removed(9)},
            {f"BareMetalHost/{name}": Action.CHANGED for name in _NINE},
            deletions={"machines of hosts that go out": 9},
            out={"": (24, 9)},
        ),
        f"{_CHOSEN}; a tenth of 21 hosts is 2",
    ),
    _row(
        "nine of 21 go out at once, and nine spares step in: no machine is lost",
        states("tsukuba-1", dict.fromkeys(_NINE, "out")),
        Expected({"cpu": (removed(9), added(12, 9))}),
        f"{_CHOSEN}; as many Machines as before",
        _spares(9),
    ),
    _row(
        "nine of 21 go out at once, and six spares step in: three are lost",
        states("tsukuba-1", dict.fromkeys(_NINE, "out")),
        Expected(
            {"cpu": (removed(9), added(12, 6))},
            deletions={"machines of hosts that go out": 3},
            out={"": (18, 9)},
        ),
        f"{_CHOSEN}; a tenth of 21 hosts is 2",
        _spares(6),
    ),
    _row(
        "nine spares go out at once: no machine is lost",
        states("tsukuba-1", dict.fromkeys(_NINE, "out")),
        Expected({"cpu": (removed(9), added(12, 9))}),
        _CHOSEN,
        states("tsukuba-1", dict.fromkeys(_NINE, "spare")),
    ),
    _row(
        "two of 21 go out at once: upkeep",
        states("tsukuba-1", dict.fromkeys(_NINE[:2], "out")),
        Expected({"cpu": removed(2)}, out={"": (24, 2)}),
        _CHOSEN,
    ),
    _row(
        "a pool's hosts were out before, and their lines go: none is lost",
        listed("tsukuba-1", lambda rows: _drop(rows, _NINE)),
        Expected(actions={f"BareMetalHost/{name}": Action.DELETED for name in _NINE}),
        "the machines went when the hosts went out",
        states("tsukuba-1", dict.fromkeys(_NINE, "out")),
    ),
    _row(
        "a host goes out while its pool is re-imaged",
        together(_OUT, site("tsukuba-1", "os: rocky-9,", "os: rocky-9, kubelet: {max_pods: 50},")),
        Expected({"cpu": (removed(1), reimaged(20))}),
        _CHOSEN,
    ),
    Row(
        "a host of the control plane goes out, and no other is there",
        (states("tsukuba-1", {"tsukuba-1-a-001": "out"}),),
        {"tsukuba-1": Invalid(frozenset({Code("control-plane-even")}))},
        "Cluster API 1.13.6, KubeadmControlPlane webhook: an even number with stacked etcd",
    ),
)
ROWS = (*_STATES, *_CELLS, *_EXCHANGED, *_COMING, *_GOING, *_MOVING)
