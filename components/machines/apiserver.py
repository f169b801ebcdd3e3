"""Files, arguments and mounts of the API server: login, audit, encryption, admission (Kubernetes
1.34, apiserver/v1/types.go, AuthenticationConfiguration, EncryptionConfiguration)."""

from pathlib import Path

import yaml

from components.machines.host_settings import host_file
from components.making.dump import dump
from components.making.manifest import Json, filled, prune
from components.making.told import Told
from schemas.facts.secret_references import ENCRYPTION_KEY
from schemas.facts.site import Site
from schemas.model.control_plane import Issuer

FOLDER, LOGS = "/etc/kubernetes/api-server", "/var/log/kubernetes/audit"
ENCRYPTION = f"{FOLDER}/encryption.yaml"
TOLD = Told(__file__)


def api_server_files(site: Site) -> list[Json]:
    """The files of the API server, by root alone; none where kubeadm's defaults do."""
    cluster, texts = site.file.cluster, {}
    if cluster.authentication:
        (head,) = TOLD.rows("authentication_file")
        issuers = [_issuer(site, each) for each in cluster.authentication]
        texts["authentication"] = dump({**head, "jwt": issuers})
    if cluster.audit:
        own = Path(__file__).with_name("audit.yaml").read_text("utf-8")
        texts["audit"] = _text(site, cluster.audit.policy) if cluster.audit.policy else own
    if cluster.admission:
        texts["admission"] = _text(site, cluster.admission)
    keys = cluster.encryption
    if keys and keys.kms:
        (found,) = TOLD.rows("encryption_file", kms=keys.kms, socket=keys.socket)
        if not keys.writes:  # the first provider writes, and all read
            found["resources"][0]["providers"].reverse()
        texts["encryption"] = dump(found)
    files = [host_file(f"{FOLDER}/{name}.yaml", text, "0600") for name, text in texts.items()]
    if keys and keys.secret:
        named = {"secret": {"name": keys.secret, "key": ENCRYPTION_KEY}}
        key = {**host_file(ENCRYPTION, "", "0600"), "content": None, "contentFrom": named}
        files.append(prune(key))
    return files


def api_server(site: Site) -> tuple[dict[str, str], list[Json]]:
    """The arguments that name the files, with those that go with them, and the mounts."""
    cluster, values = site.file.cluster, {"folder": FOLDER, "logs": LOGS}
    rows = TOLD.rows("mounts", **values) if api_server_files(site) else []
    if cluster.authentication:
        rows += TOLD.rows("authentication", **values)
    if cluster.audit:
        values |= cluster.audit.model_dump()
        rows += TOLD.rows("audit", **values) + TOLD.rows("audit_mounts", **values)
    if cluster.encryption:
        rows += TOLD.rows("encryption", **values)
    if cluster.encryption and cluster.encryption.kms:
        rows += TOLD.rows("kms_mounts", sockets=cluster.encryption.socket.rpartition("/")[0])
    if cluster.admission:
        plugins = yaml.safe_load(_text(site, cluster.admission))["plugins"]
        names = ",".join(each["name"] for each in plugins)
        rows += TOLD.rows("admission", plugins=names, **values)
    arguments = {each["name"]: each["value"] for each in rows if "value" in each}
    return arguments, [each for each in rows if "hostPath" in each]


def _text(site: Site, path: str) -> str:
    return site.texts[path].replace("\r\n", "\n")


def _issuer(site: Site, given: Issuer) -> Json:
    """A JWT authenticator. Several audiences need a policy, and one must have none."""
    (found,) = filled(
        __file__,
        **given.model_dump(),
        policy="MatchAny" if len(given.audiences) > 1 else None,
        authority=_text(site, given.ca_certificate) if given.ca_certificate else None,
        claims=_conditions(given.claims_must),
        users=_conditions(given.users_must),
    )
    return prune(found)


def _conditions(given: dict[str, str]) -> list[Json] | None:
    return [{"expression": text, "message": message} for message, text in given.items()] or None
