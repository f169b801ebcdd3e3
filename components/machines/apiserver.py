"""Files, arguments and mounts of the API server: how people log in, audit, encryption, admission.

kubeadm runs it as a static pod, so each file of a host that it reads is mounted.

Sources: Kubernetes 1.34, apiserver pkg/apis/apiserver/v1/types.go (AuthenticationConfiguration,
EncryptionConfiguration), kubeadm app/discovery/token (a joining host reads cluster-info without a
name), app/phases/controlplane/manifests.go (NodeRestriction is the one plugin that it enables).
"""

from pathlib import Path

import yaml

from components.machines.bootstrap import private_file
from components.making.dump import dump
from components.making.manifest import Json, prune
from schemas.facts.secret_references import ENCRYPTION_KEY
from schemas.facts.site import Site
from schemas.model.control_plane import Encryption, Issuer

FOLDER = "/etc/kubernetes/api-server"
AUTHENTICATION, AUDIT = f"{FOLDER}/authentication.yaml", f"{FOLDER}/audit.yaml"
ENCRYPTION, ADMISSION = f"{FOLDER}/encryption.yaml", f"{FOLDER}/admission.yaml"
LOGS = "/var/log/kubernetes/audit"
NAMELESS = (
    "/healthz",
    "/livez",
    "/readyz",
    "/version",
    "/api/v1/namespaces/kube-public/configmaps/cluster-info",
)
"""Paths that may be asked without a name: by kubelets, load balancers and joining hosts."""


def api_server_files(site: Site) -> list[Json]:
    """The files of the API server, by root alone; none where kubeadm's defaults do."""
    cluster, texts = site.file.cluster, {}
    if cluster.authentication:
        texts[AUTHENTICATION] = dump(_authentication(site))
    if cluster.audit:
        own = Path(__file__).with_name("audit.yaml").read_text("utf-8")
        texts[AUDIT] = _text(site, cluster.audit.policy) if cluster.audit.policy else own
    if cluster.admission:
        texts[ADMISSION] = _text(site, cluster.admission)
    if cluster.encryption and cluster.encryption.kms:
        texts[ENCRYPTION] = dump(_encryption(cluster.encryption))
    files = [private_file(path, text) for path, text in texts.items()]
    if cluster.encryption and cluster.encryption.secret:
        named = {"name": cluster.encryption.secret, "key": ENCRYPTION_KEY}
        file = private_file(ENCRYPTION, "")
        del file["content"]
        files.append({**file, "contentFrom": {"secret": named}})
    return files


def _text(site: Site, path: str) -> str:
    return site.texts[path].replace("\r\n", "\n")


def api_server_arguments(site: Site) -> dict[str, str]:
    """The arguments that name the files, and those that go with them."""
    cluster, found = site.file.cluster, {}
    if cluster.authentication:
        found["authentication-config"] = AUTHENTICATION
    if cluster.audit:
        found |= {
            "audit-policy-file": AUDIT,
            "audit-log-path": f"{LOGS}/audit.log",
            "audit-log-maxage": str(cluster.audit.days),
            "audit-log-maxbackup": str(cluster.audit.files),
            "audit-log-maxsize": str(cluster.audit.megabytes),
        }
    if cluster.encryption:
        found["encryption-provider-config"] = ENCRYPTION
    if cluster.admission:
        plugins = yaml.safe_load(_text(site, cluster.admission)).get("plugins") or []
        names = dict.fromkeys(["NodeRestriction", *(each["name"] for each in plugins)])
        found["enable-admission-plugins"] = ",".join(names)
        found["admission-control-config-file"] = ADMISSION
    return found


def api_server_mounts(site: Site) -> list[Json]:
    """The folders of the host that the API server sees."""
    cluster = site.file.cluster
    found = [mount("foresite", FOLDER)] if api_server_files(site) else []
    if cluster.audit:
        found.append({**mount("audit-logs", LOGS, "DirectoryOrCreate"), "readOnly": False})
    if cluster.encryption and cluster.encryption.kms:
        found.append(mount("kms", cluster.encryption.socket.rpartition("/")[0]))
    return found


def mount(name: str, path: str, kind: str = "Directory") -> Json:
    """A folder of the host at its own place in a static pod, to be read."""
    return {"name": name, "hostPath": path, "mountPath": path, "readOnly": True, "pathType": kind}


def _authentication(site: Site) -> Json:
    conditions = [{"path": path} for path in NAMELESS]
    return {
        "apiVersion": "apiserver.config.k8s.io/v1",
        "kind": "AuthenticationConfiguration",
        "anonymous": {"enabled": True, "conditions": conditions},
        "jwt": [_issuer(site, issuer) for issuer in site.file.cluster.authentication],
    }


def _issuer(site: Site, given: Issuer) -> Json:
    """A JWT authenticator. Several audiences need a policy, and one must have none."""
    claims = {"username": given.username_claim, "groups": given.groups_claim}
    rules = {
        field: [{"expression": text, "message": message} for message, text in those.items()] or None
        for field, those in (
            ("claimValidationRules", given.claims_must),
            ("userValidationRules", given.users_must),
        )
    }
    issuer = {
        "url": given.url,
        "audiences": list(given.audiences),
        "audienceMatchPolicy": "MatchAny" if len(given.audiences) > 1 else None,
        "certificateAuthority": _text(site, given.ca_certificate) if given.ca_certificate else None,
    }
    mappings = {key: {"claim": claim, "prefix": given.prefix} for key, claim in claims.items()}
    return prune({"issuer": issuer, "claimMappings": mappings, **rules})


def _encryption(given: Encryption) -> Json:
    """The first provider writes, and all read."""
    kms = {"apiVersion": "v2", "name": given.kms, "endpoint": f"unix://{given.socket}"}
    providers: list[Json] = [{"kms": kms}, {"identity": {}}]
    order = providers if given.writes else providers[::-1]
    return {
        "apiVersion": "apiserver.config.k8s.io/v1",
        "kind": "EncryptionConfiguration",
        "resources": [{"resources": ["secrets"], "providers": order}],
    }
