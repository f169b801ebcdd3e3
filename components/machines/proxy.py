"""The proxy through which a host's containerd reaches registries."""

from components.making.told import Told
from schemas.facts.site import Site
from schemas.model.first_boot import Proxy
from schemas.model.site_file import Pool

TOLD = Told(__file__)
FOLDER = "/etc/systemd/system/containerd.service.d"


def proxy_files(site: Site, pool: Pool) -> dict[str, str]:
    """The files of a pool's hosts for the proxy, by their paths: none where there is no proxy."""
    proxy = site.first_boot(pool).proxy
    return {f"{FOLDER}/10-proxy.conf": _unit(site, proxy)} if proxy else {}


def _unit(site: Site, proxy: Proxy) -> str:
    """A systemd drop-in that sends containerd through the proxy, but for the cluster itself.

    The zones' networks are left out: containerd only talks to registries, and a new zone would
    re-image every host. A per cent sign stands for itself only when doubled (systemd.unit(5)).
    """
    cluster = site.file.cluster
    networks = (cluster.pods, cluster.services, cluster.pods6, cluster.services6)
    direct = {"127.0.0.1", "localhost", ".svc", ".cluster.local", cluster.endpoint}
    direct |= {*filter(None, networks), *proxy.exclude}
    if mirror := site.file.sources.registry_mirror:
        direct.add(mirror.split("/")[2].partition(":")[0])
    url = proxy.http.replace("%", "%%")
    return TOLD.say("unit", url=url, direct=",".join(sorted(direct)))
