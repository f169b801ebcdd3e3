"""The alerts on certificates that end. The API server shows those of its clients alone: kubeadm
makes those of controller manager and scheduler, which ask the API server of their own host, in the
same minute as all others of the host."""

from components.making.promql import Exporter, of, recent
from components.making.told import Told
from components.making.watch import Group, Watched
from schemas.facts.site import Site

TOLD = Told(__file__)


def watch(site: Site) -> Watched:
    """Alerts on certificates of the control plane's hosts, of clients and of kubelets."""
    if site.file.monitoring is None:
        return Watched()
    series = {
        "used": (Exporter.API_SERVER, "apiserver_client_certificate_expiration_seconds_bucket"),
        "client": (Exporter.KUBELET, "kubelet_certificate_manager_client_ttl_seconds"),
        "server": (Exporter.KUBELET, "kubelet_certificate_manager_server_ttl_seconds"),
    }
    # A bucket of a week, as Prometheus 2 and 3 write it.
    week = {"used": ['le=~"604800([.]0)?"']}
    values = {name: of(site, *each, *week.get(name, ())) for name, each in series.items()}
    values |= {name: recent(values[name]) for name in ("client", "server")}
    alerts = [TOLD.alert(each, **values) for each in ("CertificateEnds", "KubeletCertificateEnds")]
    boards = [TOLD.board(TOLD.panels("certificates", **values))]
    return Watched(groups=[Group("certificates", alerts)], boards=boards)
