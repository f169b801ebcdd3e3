"""A real API server that starts with a site's own settings, with the site's objects in it.

Its flags and files are those of the rendered KubeadmControlPlane; only the folders of hosts and the
address of the issuer are others. People log in by tokens of an issuer on the loopback.
"""

import contextlib
import shlex
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pytest

from components.machines.apiserver import FOLDER, LOGS
from components.making.manifest import Json, Manifest, Target
from components.site import site_objects
from controlplane.access import read_kubeconfig
from controlplane.server import Binaries, ControlPlane, running
from schemas.facts.site import Site
from schemas.model.access import Access
from schemas.model.cluster import Cluster
from tests.golden import one, with_file
from tests.kit.admission_server import As, User
from tests.kit.issuer import Issuer, kms
from tests.kit.repository import all_sites
from tests.kit.waiting import until
from tools.toolchain import locate

UNCOUNTED = ("ResourceQuota", "LimitRange")
"""Without a controller manager a quota refuses every pod, as nobody counts."""
URL, SOCKET = "https://login.example", "/var/run/kms/vault.sock"
ADMISSION = """\
apiVersion: apiserver.config.k8s.io/v1
kind: AdmissionConfiguration
plugins:
- name: PodSecurity
  configuration:
    apiVersion: pod-security.admission.config.k8s.io/v1
    kind: PodSecurityConfiguration
    defaults: {enforce: baseline, enforce-version: latest}
    exemptions: {namespaces: [kube-system]}
- name: EventRateLimit
  configuration:
    apiVersion: eventratelimit.admission.k8s.io/v1alpha1
    kind: Configuration
    limits: [{type: Namespace, qps: 50, burst: 100, cacheSize: 2000}]
"""
CLUSTER: Json = {
    "certificate_names": ["api.tokyo-1.example"],
    "authentication": [
        {
            "url": URL,
            "audiences": ["kubernetes", "cli"],
            "ca_certificate": "certificates/login.pem",
            "claims_must": {"of staff alone": "claims.kind in ['staff', 'guest']"},
            "users_must": {"not eve": "user.username != 'oidc:eve'"},
        }
    ],
    "audit": {},
    "encryption": {"kms": "vault", "socket": SOCKET},
    "admission": "api-server/admission.yaml",
    "arguments": {"api_server": {"event-ttl": "4h", "feature-gates": "KubeletTracing=true"}},
}
STAFF = {"operators": {"groups": ["oidc:ops"]}, "viewers": {"users": ["oidc:auditor"]}}


def with_everything(certificate: str = "") -> Site:
    """tokyo-1 with staff, and every setting of the API server."""
    site = all_sites()["tokyo-1"]
    given = site.file.cluster.model_dump(mode="json", exclude_unset=True)
    cluster = Cluster.model_validate({**given, **CLUSTER})
    site = with_file(site, cluster=cluster, access=Access.model_validate(STAFF))
    own = {"api-server/admission.yaml": ADMISSION, "certificates/login.pem": certificate}
    return replace(site, texts={**site.texts, **own})


class World(NamedTuple):
    """The server, who has all rights on it, and the issuer of tokens."""

    plane: ControlPlane
    client: As
    issuer: Issuer

    @property
    def logs(self) -> Path:
        """The audit log."""
        return self.plane.directory.parent / "audit" / "audit.log"


@pytest.fixture(scope="session")
def people_world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """One server for all tests of people's rights and logins."""
    directory = tmp_path_factory.mktemp("people")
    issuer = Issuer(directory)
    site = with_everything(issuer.certificate.read_text())
    with (
        issuer.serving(),
        kms(directory / "kms.sock"),
        _running(site, directory, issuer) as plane,
        As(read_kubeconfig(plane.kubeconfig())) as client,
    ):
        _fill(client, site)
        yield World(plane, client, issuer)


@contextlib.contextmanager
def _running(site: Site, directory: Path, issuer: Issuer) -> Iterator[ControlPlane]:
    """The server with the rendered files and flags, of which later ones win."""
    moved = {FOLDER: directory / "files", LOGS: directory / "audit", URL: issuer.url,
             SOCKET: directory / "kms.sock"}  # fmt: skip
    spec = one(site, "KubeadmControlPlane")["spec"]["kubeadmConfigSpec"]
    for file in spec["files"]:
        if file["path"].startswith(FOLDER):
            path = Path(_moved(file["path"], moved))
            path.parent.mkdir(exist_ok=True)
            path.write_text(_moved(file["content"], moved))
    given = spec["clusterConfiguration"]["apiServer"]["extraArgs"]
    flags = [_moved(f"--{each['name']}={each['value']}", moved) for each in given]
    tools = locate(["controlplane"])
    program = directory / "kube-apiserver"
    # A trial refuses whoever has no token; here the site's own file says who may ask without.
    program.write_text(
        '#!/bin/sh\nfor a do shift; [ "$a" = --anonymous-auth=false ] || set -- "$@" "$a"; done\n'
        f'exec {shlex.quote(str(tools["kube-apiserver"].path))} "$@" {shlex.join(flags)}\n'
    )
    program.chmod(0o700)
    with running(directory / "plane", Binaries(tools["etcd"].path, program)) as plane:
        yield plane


def _moved(text: str, moved: dict[str, object]) -> str:
    for old, new in moved.items():
        text = text.replace(old, str(new))
    return text


def _fill(client: As, site: Site) -> None:
    """The objects of the site's own cluster, until its policies judge."""
    made = [
        each
        for part in site_objects(site).values()
        for each in part
        if each.target is Target.SITE and each.kind not in UNCOUNTED
    ]
    for name in sorted({each.key[2] for each in made if each.key[2]}):
        client.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})

    def apply(each: Manifest) -> None:
        # Kinds of others take long to install, and judge nothing.
        if client.serves(each.body["apiVersion"], each.kind):
            client.apply(each.body)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(apply, made))
    until(lambda: _judges(client))


def _judges(client: As) -> bool:
    """True once the policies of a pod are in force, which they are a little after they are made.
    Its scheduler is right, so that one policy alone refuses it."""
    containers = [{"name": "a", "image": "a"}]
    spec = {"hostPID": True, "schedulerName": "gang-scheduler", "containers": containers}
    body = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": spec}
    return "hostPID" in client.said(User(), "POST", "/api/v1/namespaces/vision/pods", body)
