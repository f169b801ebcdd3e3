"""The object cache and its hosts: who keeps objects, what hosts boot with, the cache as a whole."""

from collections.abc import Mapping

from components.effects.vocabulary import Action, Impact
from schemas.model.codes import Code
from tests.verdicts.cachesites import (
    ALL,
    AT_TSUKUBA,
    FEWER_BYTES,
    KEEP_SOME,
    LAB,
    LAB_CACHE,
    LAYERS,
    NO_ADDRESS,
    NO_LAYERS,
    NO_RELOAD,
    READS_ONCE,
    TOKYO_CACHE,
    TSUKUBA_ALL,
    TSUKUBA_CACHE,
    appended,
    setting,
    tokyo,
    without_cache,
)
from tests.verdicts.edits import (
    DIGEST,
    HARDWARE,
    RELEASE,
    Edit,
    Lines,
    applied,
    at_tsukuba,
    bare,
    cells,
    listed,
    site,
    swap,
    together,
    without,
)
from tests.verdicts.healing import FOUND
from tests.verdicts.row import (
    ANY,
    KCP_ROLLS,
    MD_ROLLS,
    NO_OBJECT,
    PROTECTED,
    SAME,
    SCALE_DOWN,
    TOKYO,
    Expected,
    Invalid,
    Row,
    Verdict,
    added,
    reimaged,
    removed,
    restarted,
)

_LEAVE = (
    "Kubernetes 1.34.3, pkg/controller/daemon/daemon_controller.go: a DaemonSet's pods start with "
    "it and go with it, or with their nodes; pkg/volume/hostpath deletes nothing"
)
_SHARES = (
    "a server is told its share of each quota, so other servers are told more or less; "
    "Kubernetes 1.34.3, pkg/controller/daemon/update.go: a hash of it in the template renews pods"
)
_WATCHED = (
    "Envoy 1.39, config.core.v3.PathConfigSource.watched_directory: endpoints are read again "
    "while it runs; measured (envoy.md, trap 5)"
)
_LAYERS = f"{KCP_ROLLS}; {MD_ROLLS}: hosts.toml of containerd is a file of the first boot"
_LATER = "CAPM3 1.13.2, baremetal/metal3data_manager.go: the node keeps its address until then"
_CHOSEN = (
    "CAPM3 1.13.2, metal3machine_manager.go, chooseHost: labels count only for a host without a "
    "consumer, so nodes keep their pools until the next re-image, and their pods with them"
)
_TAKEN_BEFORE = (
    f"{KCP_ROLLS}; Kubernetes 1.34.3, pkg/apis/core/validation/validation.go, "
    "validateServiceTrafficDistribution: with the gate PreferSameTrafficDistribution (1.34: beta, "
    "on) both names are taken, and the control plane is a minor behind when the newer one comes"
)
_REFUSED_BEFORE = (
    "Kubernetes 1.33.7, the same: without the gate (1.33: alpha, off) PreferSameZone is refused, "
    "so that 1.34 still gets PreferClose"
)
_ENDPOINTS = {"ConfigMap/envoy-endpoints": Action.CHANGED}
_FIRST = "tsukuba-1-a-004"
_COMES = {
    "Namespace/cache-service": Action.ADDED,
    "DaemonSet/cache-server/*": Action.ADDED,
    "DaemonSet/envoy/*": Action.ADDED,
    "Service/cache": Action.ADDED,
}
_GOES = {"Namespace/cache-service": Action.REFUSED, "Service/*": Action.DELETED,
         "*/cache*": Action.DELETED, "*/envoy*": Action.DELETED,
         "*/foresite-cache*": Action.DELETED}  # fmt: skip
Pools = Mapping[str, Verdict | tuple[Verdict, ...]]
Actions = Mapping[str, Action]


def _others(hosts: int) -> Verdict:
    """The other hosts of a pool, on which pods restart."""
    return Verdict(Impact.POD_RESTART, hosts, ANY)


def _tokyo(name: str, edits: tuple[Edit, ...], expected: Expected, source: str, *base: Edit) -> Row:
    first = (applied("tokyo-1"), *base)
    return Row(f"cache: {name}", edits, {"tokyo-1": expected}, source, first)


def _tsukuba(name: str, edit: Edit, expected: Expected, source: str, *base: Edit) -> Row:
    first = (*AT_TSUKUBA, *base)
    return Row(f"cache: {name}", (edit,), {"tsukuba-1": expected}, source, first)


def _same(name: str, edits: tuple[Edit, ...], source: str, *base: Edit) -> Row:
    return Row(f"cache: {name}", edits, {}, source, (applied("tokyo-1"), *base))


def _to_h100(rows: Lines) -> None:
    next(row for row in rows if row["pool"] == "cpu")["pool"] = "h100"


def _exchanged(rows: Lines) -> None:
    """A host of a pool that keeps objects, and one of a pool that keeps none, swap their pools."""
    mine = next(row for row in rows if row["pool"] == "cpu" and row["zone"] == "a")
    other = next(row for row in rows if row["pool"] == "v100" and row["zone"] == "a")
    mine["pool"], other["pool"] = other["pool"], mine["pool"]


_NO_MORE = {
    f"DaemonSet/cache-server/{pool}": Action.DELETED for pool in ("control", "v100", "h100")
}
_POOLS = (
    _tokyo("pools: some of all", (setting("pools: [cpu, a100]"),),
           Expected({pool: restarted() for pool in ("control", "v100", "h100")},
                    {**_NO_MORE, **_ENDPOINTS}), f"{_LEAVE}; {_WATCHED}", FEWER_BYTES),
    _tokyo("pools: some of all, for a server that reads its buckets once",
           (setting("pools: [cpu, a100]"),), Expected(ALL, _NO_MORE), f"{_LEAVE}; {_SHARES}",
           FEWER_BYTES, NO_RELOAD),
    _tokyo("pools: one more", (tokyo("[cpu, a100]", "[cpu, a100, h100]"),),
           Expected({"h100": restarted()},
                    {"DaemonSet/cache-server/h100": Action.ADDED, **_ENDPOINTS}),
           f"{_LEAVE}; {_WATCHED}", KEEP_SOME),
    _same("pools: in another order", (tokyo("[cpu, a100]", "[a100, cpu]"),), SAME, KEEP_SOME,
          NO_RELOAD),
    Row("cache: a pool of the site more",
        (at_tsukuba("batch", "b", (250, 251)),
         site("tsukuba-1", "  - name: mncore2\n",
              "  - {name: batch, hardware: cpu-1u}\n  - name: mncore2\n")),
        {"tsukuba-1": Expected({"batch": added(2)},
                               {"DaemonSet/cache-server/batch": Action.ADDED,
                                "DaemonSet/envoy/batch": Action.ADDED, **_ENDPOINTS})},
        f"{_LEAVE}; {_WATCHED}", AT_TSUKUBA),
)  # fmt: skip
_HOSTS = (
    _tsukuba("a host more", at_tsukuba("cpu", "b"), Expected({"cpu": added(1)}, _ENDPOINTS),
             f"{_LEAVE}; {_WATCHED}"),
    _tsukuba("a host more, for a server that reads its buckets once", at_tsukuba("cpu", "b"),
             Expected({**TSUKUBA_ALL, "cpu": (added(1), _others(21))}, _ENDPOINTS), _SHARES,
             READS_ONCE),
    _tsukuba("a host less", without("tsukuba-1", _FIRST),
             Expected({"cpu": (removed(1), removed(20, 1))},
                      {f"BareMetalHost/{_FIRST}": Action.REFUSED, **_ENDPOINTS}, {"hosts": 1}),
             f"one machine less ({SCALE_DOWN}); {PROTECTED}; {_WATCHED}"),
    _tsukuba("a host's address", cells("tsukuba-1", _FIRST, ip="10.17.0.250"),
             Expected(actions={"IPPool*": Action.CHANGED, **_ENDPOINTS}),
             f"{_LATER}; {_WATCHED}, under an address that nobody has"),
    _tsukuba("a host's name", cells("tsukuba-1", _FIRST, name="tsukuba-1-a-104"),
             Expected({"cpu": (removed(1), Verdict(Impact.UNKNOWN, 1))},
                      {f"BareMetalHost/{_FIRST}": Action.REFUSED, **_ENDPOINTS}, {"hosts": 1}),
             f"{PROTECTED}; {_WATCHED}"),
    _tsukuba("a host's zone, with the address that belongs to it",
             cells("tsukuba-1", _FIRST, zone="b", rack="b-09", ip="10.17.1.250"),
             Expected(actions={f"BareMetalHost/{_FIRST}": Action.CHANGED, **_ENDPOINTS}),
             f"{_LATER}; {_WATCHED}"),
    _tsukuba("a host's rack", cells("tsukuba-1", _FIRST, rack="a-07"), Expected(),
             f"{_LATER}; no endpoint has a rack"),
    _tokyo("a host to a pool that keeps no objects", (listed("tokyo-1", _to_h100),),
           Expected({"cpu": removed(146, 1), "h100": reimaged(1, 1)}, _ENDPOINTS, {"hosts": 1}),
           f"{SCALE_DOWN}; {_WATCHED}, while the host still serves", KEEP_SOME),
    _tokyo("two hosts exchange a pool that keeps objects for one that keeps none",
           (listed("tokyo-1", _exchanged),),
           Expected(actions={"BareMetalHost/*": Action.CHANGED, **_ENDPOINTS}),
           f"{_CHOSEN}; {_WATCHED}", KEEP_SOME),
    _tsukuba("one more spare", site("tsukuba-1", "spares: 1", "spares: 2"),
             Expected({"mncore2": removed(40, 1)}, deletions={"hosts": 1}),
             f"{SCALE_DOWN}; every host is an endpoint, spares too"),
    _tsukuba("a host more, and one more spare",
             together(at_tsukuba("mncore2", "b"), site("tsukuba-1", "spares: 1", "spares: 2")),
             Expected(actions={"BareMetalHost/tsukuba-1-b-250": Action.ADDED},
                      counts={Impact.ADD: None, Impact.POD_RESTART: None}),
             "as many machines as before; every host is an endpoint, and a spare serves nothing"),
    _tsukuba("no spare any more",
             site("tsukuba-1", "spares: 1\n    rollout: {max_unavailable: 2, max_surge: 1}",
                  "rollout: {max_unavailable: 2}"),
             Expected({"mncore2": added(40, 1)}, counts={Impact.ADD: 1}),
             "CAPM3 1.13.2, chooseHost: the free host, and Git does not say which that is"),
    _tsukuba("one more spare, for a server that reads its buckets once",
             site("tsukuba-1", "spares: 1", "spares: 2"),
             Expected({**TSUKUBA_ALL, "mncore2": removed(40, 1)},
                      {"ConfigMap/cache-buckets": Action.CHANGED}, {"hosts": 1}),
             f"{SCALE_DOWN}; {_SHARES}, as spares keep nothing", READS_ONCE),
    Row("cache: hosts in another order", (listed("tsukuba-1", lambda rows: rows.reverse()),), {},
        SAME, (*AT_TSUKUBA, READS_ONCE)),
)  # fmt: skip
_V100 = (
    "model: v100-sxm2-32gb, count: 8}\n"
    "    root_disk: {device_name: /dev/disk/by-path/pci-0000:00:17.0-ata-1, rotational: false}\n"
)
_DISKS = (
    _same("hardware: more NVMe in a profile",
          (swap(HARDWARE, f"{_V100}    data_nvme_gb: 3840", f"{_V100}    data_nvme_gb: 6400"),),
          NO_OBJECT),
    Row("hardware: more disks under the file system of a pool",
        (swap(HARDWARE, "35\n    data_disks: {count: 1}", "35\n    data_disks: {count: 2}"),),
        {"tokyo-1": Expected({"v100": reimaged(120, 118)})},
        "components/machines/data_disks.py: the number is in a file of the first boot; "
        f"{MD_ROLLS}"),
    _same("hardware: more disks, of which no file system is made",
          (swap(HARDWARE, "35\n    data_disks: {count: 2}", "35\n    data_disks: {count: 3}"),),
          NO_OBJECT),
    _same("hardware: other disks, of which no file system is made",
          (swap(HARDWARE, "35\n    data_disks: {count: 2}",
                "35\n    data_disks: {devices: [/dev/disk/by-path/a]}"),),
          NO_OBJECT),
    Row("cache: hardware: less NVMe than the cache may take",
        (swap(HARDWARE, f"{_V100}    data_nvme_gb: 3840", f"{_V100}    data_nvme_gb: 2000"),),
        {"tokyo-1": Invalid(frozenset({Code("cache-capacity"), Code("alert-meaningless")}))},
        "docs/problems.md, cache-capacity; a cache that is full has no room for the disk alert"),
)  # fmt: skip
_LAYER_ROWS = (
    *(
        _tokyo(f"image_layers: {name}", (edit,), Expected(TOKYO), _LAYERS, *base)
        for name, edit, base in (
            ("for the first time", tokyo("\nremediation:\n", f"{LAYERS}\nremediation:\n"),
             (NO_LAYERS,)),
            ("no more", NO_LAYERS, ()),
            ("another bucket", tokyo("{bucket: image-layers,", "{bucket: datasets,"), ()),
            ("a registry more", tokyo("registry.example]}\n", "registry.example, ghcr.io]}\n"),
             ()),
            ("a registry less", tokyo("[docker.io, registry.example]", "[registry.example]"), ()),
        )
    ),
    Row("cache: image_layers: no more, where the cluster does not answer yet", (NO_LAYERS,),
        {"tokyo-1": Expected(TOKYO)}, _LAYERS),
    _same("image_layers: registries in another order",
          (tokyo("[docker.io, registry.example]", "[registry.example, docker.io]"),),
          "containerd, docs/hosts.md: each registry has a folder of its own"),
    Row("cache: image_layers: without the address that hosts need", (NO_ADDRESS,),
        {"tokyo-1": Invalid(frozenset({Code("cache-unreachable")}))},
        "docs/problems.md, cache-unreachable"),
)  # fmt: skip
_WHOLE = (
    Row("cache: a cache for a site", (appended("tsukuba-1", TSUKUBA_CACHE),),
        {"tsukuba-1": Expected(TSUKUBA_ALL, _COMES)}, _LEAVE, (applied("tsukuba-1"),)),
    Row("cache: a cache for a site whose cluster does not answer yet",
        (appended("tsukuba-1", TSUKUBA_CACHE),), {"tsukuba-1": Expected()},
        "components/shell.py: without a context nothing is registered in the site's own cluster"),
    _tokyo("a cache for a site, with layers for its hosts", (appended("tokyo-1", TOKYO_CACHE),),
           Expected(TOKYO, _COMES), f"{_LAYERS}; {_LEAVE}", without_cache("tokyo-1")),
    Row("cache: no cache any more", (without_cache("lab-1"),),
        {"lab-1": Expected(LAB, _GOES, {"Namespace": 1})}, f"{PROTECTED}; {_LEAVE}",
        (applied("lab-1"),)),
    _tokyo("no cache any more, where hosts look for layers", (without_cache("tokyo-1"),),
           Expected(TOKYO, {**_GOES, "PodMonitor/foresite-envoy": Action.DELETED},
                    {"Namespace": 1}), f"{_LAYERS}; {PROTECTED}; {_LEAVE}"),
    Row("cache: the context of a cluster: the cache is applied for the first time",
        (applied("tokyo-1"),), {"tokyo-1": Expected(FOUND, _COMES)},
        f"{_LEAVE}; components/shell.py; the repair of faults begins too"),
)  # fmt: skip
_MINOR = "v1.33.7"
_OLD_RELEASE = (
    swap(RELEASE, "kubernetes: [v1.34.3,", f"kubernetes: [{_MINOR}, v1.34.3,"),
    swap(RELEASE, "  rocky-9:\n",
         f"      {_MINOR}: {{file: ubuntu-1.33.qcow2, sha256: {DIGEST}}}\n  rocky-9:\n"),
)  # fmt: skip
_KUBERNETES = (
    Row("cache: Kubernetes, from PreferClose to PreferSameZone",
        (site("lab-1", "kubernetes: v1.34.3", "kubernetes: v1.35.5"),),
        {"lab-1": Expected({"lab": reimaged(3)}, {"Service/cache": Action.CHANGED})},
        _TAKEN_BEFORE, (applied("lab-1"),)),
    Row("cache: Kubernetes, to the first minor that takes PreferSameZone",
        (site("lab-1", f"kubernetes: {_MINOR}", "kubernetes: v1.34.3"),),
        {"lab-1": Expected({"lab": reimaged(3)})},
        f"{KCP_ROLLS}; {_REFUSED_BEFORE}",
        (applied("lab-1"), bare("lab-1"), appended("lab-1", LAB_CACHE), *_OLD_RELEASE,
         site("lab-1", "kubernetes: v1.34.3", f"kubernetes: {_MINOR}"))),
)  # fmt: skip
ROWS = (*_POOLS, *_HOSTS, *_DISKS, *_LAYER_ROWS, *_WHOLE, *_KUBERNETES)
