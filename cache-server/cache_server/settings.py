"""The settings of the server: flags, each of which may be given in the environment too."""

import argparse
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from cache_server.quantity import parse_bytes
from cache_server.refusals import StartError
from cache_server.review import Api

_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
_NEEDED = ("config", "data", "capacity")
_AUDIENCE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/-]{0,127}")


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of requests: bytes, numbers and seconds."""

    object_bytes: int
    uploads: int
    idle_seconds: float
    review_seconds: float
    refused_seconds: float


@dataclass(frozen=True, slots=True)
class Ending:
    """How the server ends, in seconds: it goes on for a while, and then waits for what is left."""

    linger_seconds: float
    drain_seconds: float


@dataclass(frozen=True, slots=True)
class Connections:
    """How many connections there may be, and for how many seconds one may do nothing: between
    requests, before the head of one has come, and before what was sent is taken."""

    most: int
    idle_seconds: float
    head_seconds: float
    stall_seconds: float


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything that a server is started with."""

    config: Path
    data: Path
    capacity: int
    audience: str
    host: str | None
    port: int
    reload_seconds: float
    api: Api
    limits: Limits
    connections: Connections
    ending: Ending


class _Parser(argparse.ArgumentParser):
    """Errors are one line, whoever finds them."""

    def error(self, message: str) -> NoReturn:
        raise StartError(message)


def read(arguments: Sequence[str], environment: Mapping[str, str] = os.environ) -> Settings:
    """The settings; StartError where something is missing or wrong."""
    given = _parser(environment).parse_args(arguments)
    url = given.api_server or _in_cluster(environment)
    missing = [f"--{name}" for name in _NEEDED if getattr(given, name) is None]
    if not url:
        missing.append("outside of a cluster --api-server, as it checks the tokens")
    if missing:
        # What else is wrong is said at once too.
        wrong = _wrong_files(given.config, given.data)
        raise StartError("; ".join([f"needed: {', '.join(missing)}", *wrong]))
    return Settings(
        config=given.config,
        data=given.data,
        capacity=given.capacity,
        audience=given.audience,
        host=given.host,
        port=given.port,
        reload_seconds=given.reload_seconds,
        api=Api(url, given.api_ca, given.api_token_file),
        limits=Limits(
            given.max_object_bytes,
            given.max_uploads,
            given.idle_seconds,
            given.review_seconds,
            given.refused_seconds,
        ),
        connections=Connections(
            given.max_connections,
            given.keepalive_seconds,
            given.head_seconds,
            given.stall_seconds,
        ),
        ending=Ending(given.linger_seconds, given.drain_seconds),
    )


def check(settings: Settings) -> None:
    """Look whether the files are there that the settings name; StartError names all that are not.

    Else what asks the API server would fail with each token, and say so only then.
    """
    wrong = _wrong_files(settings.config, settings.data)
    files = [("--api-token-file", settings.api.token)]
    if settings.api.url.startswith("https:"):
        files.append(("--api-ca", settings.api.authority))
    for flag, file in files:
        if not os.access(file, os.R_OK):
            hint = ", which the pod's ServiceAccount mounts," if file.parent == _ACCOUNT else ""
            wrong.append(f"{file}{hint} cannot be read ({flag})")
    if wrong:
        raise StartError("; ".join(wrong))


def _wrong_files(config: Path | None, data: Path | None) -> list[str]:
    wrong = []
    if config is not None and not os.access(config, os.R_OK):
        wrong.append(f"the configuration {config} cannot be read (--config)")
    if data is not None and not data.is_dir():
        wrong.append(f"{data} is no folder (--data)")
    return wrong


def _parser(environment: Mapping[str, str]) -> _Parser:
    parser = _Parser(prog="cache-server", description="Objects by bucket, on the disks of one node")

    def flag(name: str, form: Callable[[str], Any], default: str | None, text: str) -> None:
        variable = "CACHE_" + name.upper().replace("-", "_")
        value = environment.get(variable, default)
        parser.add_argument(
            f"--{name}",
            type=form,
            default=value,
            help=f"{text}; {variable}",
        )

    flag("config", Path, None, "file with the buckets; it is read again when it changes")
    flag("data", Path, None, "folder for the objects, which must be there")
    flag("capacity", _bytes, None, "space of all buckets, such as 3Ti; leave the disk 5 %%")
    flag("audience", _audience, "cache", "audience that tokens must have")
    flag("host", _text, "", "address to listen on; all if empty")
    flag("port", _port, "8081", "TCP port to listen on; 0 is any")
    flag("reload-seconds", _seconds, "5", "how often the configuration file is looked at")
    flag("max-object-bytes", _bytes, "1Gi", "size of the largest object")
    flag("max-uploads", _count, "64", "PUTs whose bodies are taken at a time")
    flag("idle-seconds", _seconds, "30", "how long the body of a PUT may stand still")
    flag("review-seconds", _seconds, "300", "how long an accepted token is not asked about again")
    flag("refused-seconds", _seconds, "10", "how long a refused token is not asked about again")
    flag("max-connections", _count, "16384", "connections at a time; more are closed at once")
    flag("keepalive-seconds", _seconds, "75", "how long a connection may be without a request")
    flag("head-seconds", _seconds, "10", "how long the head of a request may take to come")
    flag("stall-seconds", _seconds, "60", "how long a client may take nothing of an answer")
    flag("linger-seconds", _seconds, "2", "after SIGTERM: time to go on while /healthz fails")
    flag("drain-seconds", _seconds, "60", "after that: time for requests under way")
    flag("api-server", _url, "", "URL of the API server; default: the cluster that it runs in")
    flag("api-ca", Path, str(_ACCOUNT / "ca.crt"), "certificate authority of the API server")
    flag("api-token-file", Path, str(_ACCOUNT / "token"), "the server's own token")
    return parser


def _in_cluster(environment: Mapping[str, str]) -> str:
    """The address where pods find the API server (kubernetes.io, "Accessing the Kubernetes API from
    a Pod"); empty elsewhere."""
    host = environment.get("KUBERNETES_SERVICE_HOST")
    port = environment.get("KUBERNETES_SERVICE_PORT", "443")
    if not host:
        return ""
    return f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}"


def _bytes(text: str) -> int:
    try:
        value = parse_bytes(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    if value == 0:
        raise argparse.ArgumentTypeError("it must be more than nothing")
    return value


def _seconds(text: str) -> float:
    if re.fullmatch(r"\d{1,6}(\.\d{1,3})?", text) is None:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of seconds")
    return float(text)


def _count(text: str) -> int:
    if re.fullmatch(r"[1-9]\d{0,4}", text) is None:
        raise argparse.ArgumentTypeError(f"{text!r} is no number from 1 to 99999")
    return int(text)


def _port(text: str) -> int:
    if re.fullmatch(r"\d{1,5}", text) is None or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is no TCP port")
    return int(text)


def _audience(text: str) -> str:
    if _AUDIENCE.fullmatch(text) is None:
        raise argparse.ArgumentTypeError(f"{text!r} is no audience")
    return text


def _url(text: str) -> str:
    # Tokens go there, so nobody may read along; a server on this machine is one for tests.
    if text and re.fullmatch(r"https://[^/?#@\s]+/?|http://127\.0\.0\.1:\d+/?", text) is None:
        raise argparse.ArgumentTypeError(f"{text!r} is no https:// URL without a path")
    return text.rstrip("/")


def _text(text: str) -> str | None:
    return text or None
