"""Arguments of the control plane's programs: what accelerators need, and what a site adds.

The default kube-scheduler looks for every resource that a pod asks for on nodes. Those that
admission alone knows are on none, so it is told to ignore exactly these.
"""

from components.machines.apiserver import api_server
from components.making.dump import dump
from components.making.manifest import Json, filled, prune
from components.making.told import Told
from schemas.facts.feature_gates import api_server_gates, gate_list, runtime_config, scheduler_gates
from schemas.facts.site import Site
from schemas.model.vocabulary import BackendKind

TOLD = Told(__file__)
SCHEDULER_CONFIG = "/etc/kubernetes/scheduler-config.yaml"


def cluster_configuration(site: Site) -> Json:
    """The ClusterConfiguration of kubeadm; empty where its defaults do."""
    given, ignored = site.file.cluster.arguments, ignored_resources(site)
    own, mounts = api_server(site)
    server = {
        "feature-gates": gate_list(api_server_gates(site)),
        "runtime-config": ",".join(runtime_config(site)),
        **own,
    }
    scheduler = {
        "config": SCHEDULER_CONFIG if ignored else "",
        "feature-gates": gate_list(scheduler_gates(site)),
    }
    (found,) = filled(
        __file__,
        server=_arguments(server, given.api_server),
        mounts=mounts or None,
        names=list(site.file.cluster.certificate_names) or None,
        manager=_arguments({}, given.controller_manager),
        scheduler=_arguments(scheduler, given.scheduler),
        configured=TOLD.rows("mounts", path=SCHEDULER_CONFIG) if ignored else None,
        etcd=_arguments({}, given.etcd),
    )
    found = prune(found)
    if not found and site.file.accelerators is not None:
        # It can change but never go (Cluster API 1.13, webhooks/kubeadmcontrolplane.go), and the
        # site may have needed more of it before: this says what Kubernetes' hardening guides ask.
        return {"apiServer": _arguments({"profiling": "false"}, {})}
    return found


def scheduler_file(site: Site) -> str | None:
    """The content of the default kube-scheduler's configuration file; None where it needs none.
    Once a file is given, the kubeconfig in kubeadm's arguments is not read (Kubernetes 1.34,
    cmd/kube-scheduler/app/options/options.go)."""
    ignored = ignored_resources(site)
    if not ignored:
        return None
    (found,) = TOLD.rows("scheduler")
    found["profiles"][0]["pluginConfig"][0]["args"]["ignoredResources"] = list(ignored)
    return dump(found)


def ignored_resources(site: Site) -> tuple[str, ...]:
    """The resources that no node has and that pods of the default scheduler request: those on pools
    without a backend, and on pools whose jobs Kueue admits. Sorted."""
    nominal = set(site.nominal_resources())
    mine = set()
    for pool in site.file.pools:
        backend, model = site.backend(pool), site.model(pool)
        if model and (backend is None or backend.kind is BackendKind.KUEUE):
            mine.add(site.resource(model))
    return tuple(sorted(nominal & mine))


def _arguments(own: dict[str, str], given: dict[str, str]) -> Json:
    """Foresite's arguments, and those of the site. Of lists (feature gates) both parts count, and
    the later one wins."""
    both = {name: ",".join(filter(None, (given.get(name), own.get(name)))) for name in own | given}
    found = [{"name": name, "value": value} for name, value in both.items() if value]
    return {"extraArgs": found} if found else {}
