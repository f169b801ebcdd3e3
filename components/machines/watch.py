"""The alerts on certificates that end.

The API server does not show the end of its own certificate. It shows that of each client, and
kubeadm makes those of the controller manager and the scheduler in the same minute as all others of
the host. Both ask the API server of their own host alone (kubeadm 1.34, phases/kubeconfig).
"""

from components.making.promql import Exporter, of, recent
from components.making.told import Told
from components.making.watch import Group, Watched
from schemas.facts.site import Site

TOLD = Told(__file__)
WEEK = 'le=~"604800([.]0)?"'
"""A bucket of the histogram (apiserver 0.34.3, authentication/request/x509/x509.go), as Prometheus
2 and 3 write it."""
KUBELET_DAYS = 14
"""Kubelets renew at 70 to 90 % of a year (client-go 0.34.3, util/certificate)."""


def watch(site: Site) -> Watched:
    """Alerts on certificates of the control plane's hosts, of clients and of kubelets."""
    if site.file.monitoring is None:
        return Watched()
    used = of(
        site, Exporter.API_SERVER, "apiserver_client_certificate_expiration_seconds_bucket", WEEK
    )
    kubelet = {
        each: recent(of(site, Exporter.KUBELET, f"kubelet_certificate_manager_{each}_ttl_seconds"))
        for each in ("client", "server")
    }
    alerts = [
        TOLD.alert("CertificateEnds", used=used),
        TOLD.alert(
            "KubeletCertificateEnds", **kubelet, days=KUBELET_DAYS, seconds=KUBELET_DAYS * 86400
        ),
    ]
    return Watched(groups=[Group("certificates", alerts)])
