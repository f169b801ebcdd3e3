"""The object cache: its settings, its servers, the Envoys before them, its buckets."""

from collections.abc import Iterator, Mapping

from components.effects.vocabulary import Action
from tests.verdicts.cachesites import (
    ALL,
    IMAGE_MAKES_DISKS,
    KEEP_SOME,
    KEEPERS,
    LAB,
    NO_ADDRESS,
    NO_LAYERS,
    NO_RELOAD,
    envoy,
    server,
    setting,
    tokyo,
)
from tests.verdicts.edits import DIGEST, Edit, applied, image, site
from tests.verdicts.row import (
    KCP_ROLLS,
    MD_ROLLS,
    NO_OBJECT,
    PROTECTED,
    SAME,
    TOKYO,
    Expected,
    Row,
    Verdict,
)

_ROLLS = (
    "Kubernetes 1.34.3, pkg/controller/daemon/update.go: another pod template renews the "
    "DaemonSet's pods, maxUnavailable at a time, and no others"
)
_TOLD = f"{_ROLLS}; the environment of containers is part of it"
_BOOTSTRAP = f"{_ROLLS}; Envoy 1.39, source/server/server.cc: the bootstrap is read once"
_WATCHED = (
    f"{_ROLLS}; Envoy 1.39, config.core.v3.PathConfigSource.watched_directory: endpoints are read "
    "again while it runs; measured (envoy.md, trap 5)"
)
_ANNOTATED = f"{_ROLLS}; annotations of the template are part of it"
_RELOADED = (
    "Kubernetes 1.34.3, pkg/volume/util/atomic_writer.go: the kubelet exchanges the file in "
    "running pods; by reloads_config the server reads it again"
)
_READ_ONCE = f"{_ROLLS}; what does not read its file again is renewed by a hash of it"
_NEW_ADDRESS = (
    "pulumi-kubernetes, provider/pkg/provider/diff.go, forceNew, and provider.go, "
    "deleteBeforeReplace: a Service of another clusterIP is deleted and made anew; no pod restarts"
)
_TAKEN = (
    "Kubernetes 1.34.3, registry/core/service/ipallocator/ipallocator.go, ErrAllocated: two "
    "Services cannot have one address, and Pulumi deletes the old one last"
)
_LAYERS = f"{KCP_ROLLS}; {MD_ROLLS}: hosts.toml of containerd is a file of the first boot"
_LEFT = (
    "Kubernetes 1.34.3, pkg/controller/daemon/daemon_controller.go: a DaemonSet's pods start with "
    "it and go with it; pkg/volume/hostpath deletes nothing"
)
_BUCKETS = {"ConfigMap/cache-buckets": Action.CHANGED}
_RENAMED = {"Service/cache": Action.REPLACED}
_CLIENTS = {"ConfigMap/*/job-templates": Action.CHANGED}
_LATER_JOBS = (
    "components/training/examples.py: researchers copy a job from the ConfigMap, and no pod mounts "
    "it; Kubernetes 1.34.3, pkg/apis/core/validation: volumes of a pod never change"
)
_OTHER_NAMESPACE = {
    "Namespace/cache-service": Action.REFUSED,
    "Namespace/caches": Action.ADDED,
    "DaemonSet/*": Action.REPLACED,
    "ConfigMap/cache-*": Action.REPLACED,
    "ConfigMap/envoy-*": Action.REPLACED,
    "ServiceAccount/*": Action.REPLACED,
    "ClusterRoleBinding/*": Action.CHANGED,
}
_OTHER_NAME = (
    setting("namespace: caches"),
    tokyo("namespaces: [cache-service]", "namespaces: [caches]"),
)
"""Another namespace, whose pods fill the bucket of image layers."""
Pools = Mapping[str, Verdict | tuple[Verdict, ...]]
Actions = Mapping[str, Action]


def _row(name: str, edits: tuple[Edit, ...], expected: Expected, source: str, *base: Edit) -> Row:
    """A change of tokyo-1."""
    first = (applied("tokyo-1"), *base)
    return Row(f"cache: {name}", edits, {"tokyo-1": expected}, source, first)


def _same(name: str, edits: tuple[Edit, ...], source: str, *base: Edit) -> Row:
    """A change of tokyo-1's file that changes no object."""
    return Row(f"cache: {name}", edits, {}, source, (applied("tokyo-1"), *base))


def _lab(name: str, edit: Edit, actions: Actions, source: str, *base: Edit) -> Row:
    """A change of lab-1 that restarts the Envoys."""
    first = (applied("lab-1"), *base)
    return Row(f"cache: {name}", (edit,), {"lab-1": Expected(LAB, actions)}, source, first)


def _buckets(name: str, edit: Edit) -> Iterator[Row]:
    """Other buckets, for a server that reads them again and for one that does not."""
    yield _row(f"buckets: {name}", (edit,), Expected(actions=_BUCKETS), _RELOADED, KEEP_SOME)
    expected = Expected(KEEPERS, _BUCKETS)
    where = (KEEP_SOME, NO_RELOAD)
    yield _row(f"buckets, read once: {name}", (edit,), expected, _READ_ONCE, *where)


_SERVER = tuple(
    _row(f"server: {name}", edits, Expected(KEEPERS), source, KEEP_SOME, IMAGE_MAKES_DISKS)
    for name, edits, source in (
        ("image", (tokyo("server:v0.1.0@sha256:2f7c", "server:v0.1.1@sha256:2f7d"),), _ROLLS),
        ("command", (server("command: [/usr/bin/cache-server]"),), _ROLLS),
        ("args", (server('args: ["--port=$(CACHE_PORT)"]'),), _ROLLS),
        ("env", (server("env: {LOG: debug}"),), _ROLLS),
        ("cpu", (server('cpu: "2"'),), _ROLLS),
        ("memory", (server("memory: 8Gi"),), _ROLLS),
        ("user", (server("user: 1000"),), _ROLLS),
        ("metrics_path", (server("metrics_path: /stats"),), _ANNOTATED),
        ("reads its buckets once", (NO_RELOAD,), _ANNOTATED),
        (
            "config_path in another folder",
            (server("config_path: /etc/server/buckets.json"),),
            _ROLLS,
        ),
        ("port", (server("port: 8082"),), f"{_WATCHED}, so a server's port restarts no Envoy"),
        (
            "data_path",
            (tokyo("data_path: /srv/nvme/cache", "data_path: /srv/nvme/objects"),),
            f"{_ROLLS}; the old folder stays full on the host",
        ),
        ("capacity", (tokyo("capacity: 3000Gi", "capacity: 3100Gi"),), _TOLD),
    )
)
_SERVER_TOO = (
    _row("server: reads its buckets again", (server("reloads_config: true"),), Expected(KEEPERS),
         _ANNOTATED, KEEP_SOME, NO_RELOAD),
    _row("server: no metrics", (server("metrics_path: null"),),
         Expected(KEEPERS, {"PodMonitor/foresite-cache-server": Action.DELETED}), _ANNOTATED,
         KEEP_SOME),
    _row("server: health_path, which the Envoys ask too", (server("health_path: /live"),),
         Expected(ALL, {"ConfigMap/envoy-bootstrap": Action.CHANGED}), _BOOTSTRAP, KEEP_SOME),
    _row("server: another name for the file of its buckets, and nothing else",
         (server("config_path: /etc/cache/b.json"),),
         Expected(KEEPERS, _BUCKETS),
         f"{_TOLD}; pkg/volume/util/atomic_writer.go: running servers lose the file under its old "
         "name before that", KEEP_SOME),
    _row("audience", (setting("audience: objects"),), Expected(KEEPERS, _CLIENTS),
         f"{_TOLD}; {_LATER_JOBS}", KEEP_SOME),
)  # fmt: skip
LIMIT = envoy("requests_per_second: 500")
_ENVOY = (
    *(
        _row(f"envoy: {text.partition(':')[0]}", (envoy(text),), Expected(ALL), source, KEEP_SOME)
        for text, source in (
            (f'image: "registry.example/envoy:v1.39.4@sha256:{DIGEST}"', _ROLLS),
            ("port: 8090", f"{_ROLLS}; the Service sends to the port's name"),
            ("workers: 8", f"{_ROLLS}: an argument"),
            ('cpu: "2"', _ROLLS),
            ("memory: 4Gi", f"{_BOOTSTRAP}: it limits itself to its memory"),
        )
    ),
    Row(
        "cache: envoy: the release's image, for every site that has a cache",
        (image("envoy"),),
        {"tokyo-1": Expected(ALL), "lab-1": Expected(LAB)},
        _ROLLS,
        (applied("tokyo-1"), applied("lab-1")),
    ),
    _same("envoy: the release's image, where the site has its own", (image("envoy"),),
          NO_OBJECT, envoy(f'image: "registry.example/envoy:v1.39.4@sha256:{DIGEST}"'),
          site("lab-1", "  buckets:",
               f'  envoy: {{image: "registry.example/envoy:v1.39.4@sha256:{DIGEST}"}}\n'
               "  buckets:")),
    *(
        _row(f"envoy: requests_per_second: {name}", (edit,),
             Expected(ALL, {"ConfigMap/envoy-bootstrap": Action.CHANGED}),
             f"{_BOOTSTRAP}; with a limit its pod has a token", KEEP_SOME, *base)
        for name, edit, *base in (
            ("a limit", LIMIT),
            ("another", tokyo("d: 500}", "d: 900}"), LIMIT),
            ("none any more", tokyo("  envoy: {requests_per_second: 500}\n", ""), LIMIT),
        )
    ),
    _row("table_size", (setting("table_size: 2097143"),),
         Expected(ALL, {"ConfigMap/envoy-bootstrap": Action.CHANGED}), _BOOTSTRAP, KEEP_SOME),
)  # fmt: skip
_DISCOVERY = (
    _lab("discovery: from DNS to hosts", site("lab-1", "  discovery: dns\n", ""),
         {"Service/servers": Action.DELETED, "ConfigMap/envoy-endpoints": Action.ADDED},
         _BOOTSTRAP),
    _lab("discovery: from hosts to DNS", site("lab-1", "  server:\n",
                                              "  discovery: dns\n  server:\n"),
         {"Service/servers": Action.ADDED, "ConfigMap/envoy-endpoints": Action.DELETED},
         _BOOTSTRAP, site("lab-1", "  discovery: dns\n", "")),
    _lab("discovery: a server's port, where DNS has no ports",
         site("lab-1", "    reloads_config:", "    port: 8082\n    reloads_config:"),
         {"Service/servers": Action.CHANGED, "ConfigMap/envoy-bootstrap": Action.CHANGED},
         f"{_BOOTSTRAP}: the port is in it"),
    _lab("service: another name, where DNS finds the servers",
         site("lab-1", "  server:\n", "  service: objects\n  server:\n"),
         {**_RENAMED, "Service/servers": Action.REPLACED},
         f"{_BOOTSTRAP}: the servers' name in DNS is in it"),
)  # fmt: skip
_SERVICE = (
    _row("service: another name", (setting("service: objects"),), Expected(actions=_RENAMED),
         "Kubernetes 1.34.3: a Service comes and goes beside pods, and restarts none",
         NO_LAYERS, NO_ADDRESS),
    _row("service: another name with the same address", (setting("service: objects"),),
         Expected(actions={"Service/cache": Action.REFUSED}),
         _TAKEN),
    _row("namespace: another one", _OTHER_NAME,
         Expected(ALL, {**_OTHER_NAMESPACE, "Service/cache": Action.REPLACED}, {"Namespace": 1}),
         f"{PROTECTED}; {_LEFT}", NO_LAYERS, NO_ADDRESS),
    _row("namespace: another one with the same address", _OTHER_NAME,
         Expected(ALL, {**_OTHER_NAMESPACE, "Service/cache": Action.REFUSED}, {"Namespace": 1}),
         f"{PROTECTED}; {_LEFT}; {_TAKEN}"),
    *(
        _row(f"address: {name}", (edit,), Expected(actions={"Service/cache": Action.REPLACED}),
             _NEW_ADDRESS, *base)
        for name, edit, base in (
            ("another one", tokyo("10.96.0.80", "10.96.0.81"), (NO_LAYERS,)),
            ("of the cluster's choice", NO_ADDRESS, (NO_LAYERS,)),
            ("one of its own", setting("address: 10.96.0.80"), (NO_LAYERS, NO_ADDRESS)),
        )
    ),
    _row("address: another one, which hosts have in their files",
         (tokyo("10.96.0.80", "10.96.0.81"),),
         Expected(TOKYO, {"Service/cache": Action.REPLACED}), f"{_LAYERS}; {_NEW_ADDRESS}"),
)  # fmt: skip
_BUCKET_ROWS = tuple(
    row
    for name, edit in (
        ("quota", tokyo("datasets, quota: 200Ti", "datasets, quota: 100Ti")),
        ("name", tokyo("name: datasets", "name: data")),
        ("public", tokyo("vision, quota: 40Ti,", "vision, quota: 40Ti, public: true,")),
        ("namespaces", tokyo("namespaces: [vision]}", "namespaces: [vision, biology]}")),
        ("one more", tokyo("  buckets:\n", "  buckets:\n    - {name: biology, quota: 1Ti, "
                           "namespaces: [biology]}\n")),
        ("one less", tokyo("    - {name: language, quota: 40Ti, namespaces: [language]}\n", "")),
    )
    for row in _buckets(name, edit)
)  # fmt: skip
_NOTHING = (
    _same("capacity in another unit", (tokyo("capacity: 3000Gi", "capacity: 3072000Mi"),),
          "servers are told of bytes (components/object_cache/server.py)"),
    _row("token_seconds", (setting("token_seconds: 7200"),), Expected(actions=_CLIENTS),
         _LATER_JOBS),
    _same("defaults that are written down",
          (setting("namespace: cache-service\n  service: cache\n  discovery: hosts\n"
                   "  table_size: 1048573\n  pools: [control, cpu, v100, a100, h100]\n"
                   "  audience: cache"),
           server("port: 8081\n    health_path: /healthz\n    user: 65532\n    memory: 4Gi"),
           envoy("image: null, port: 8080, workers: 4, memory: 2Gi")), SAME),
    _same("a comment, and another style of YAML",
          (tokyo("{bucket: image-layers, registries: [docker.io, registry.example]}",
                 "  # of hosts\n    bucket: image-layers\n"
                 "    registries: [docker.io, registry.example]"),), SAME),
    _same("buckets in another order",
          (tokyo("    - {name: vision, quota: 400Ti, namespaces: [vision]}\n", ""),
           tokyo("  image_layers:", "    - {name: vision, quota: 400Ti, namespaces: [vision]}\n"
                 "  image_layers:")), SAME, NO_RELOAD),
    _same("namespaces in another order",
          (tokyo("[vision, language, biology]", "[biology, vision, language]"),), SAME, NO_RELOAD),
    _same("a quota in another unit", (tokyo("quota: 200Ti", "quota: 204800Gi"),), SAME, NO_RELOAD),
    _same("memory in another unit", (envoy("memory: 2048Mi"),),
          "apimachinery 0.34.3, resource.Quantity: stored in its canonical form"),
    _same("variables in another order", (tokyo("{A: a, B: b}", "{B: b, A: a}"),), SAME,
          server("env: {A: a, B: b}")),
)  # fmt: skip
ROWS = (*_SERVER, *_SERVER_TOO, *_ENVOY, *_DISCOVERY, *_SERVICE, *_BUCKET_ROWS, *_NOTHING)
