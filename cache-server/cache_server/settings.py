"""The settings of the server: flags, each of which may be given in the environment too."""

import argparse
import os
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from cache_server.quantity import parse_bytes
from cache_server.refusals import StartError
from cache_server.review import Api

_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
_NEEDED = ("config", "data", "capacity")
_FLAGS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))["flags"]


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything that a server is started with, by the names of the flags, which say what each is;
    ``host`` is None for all addresses."""

    config: Path
    data: Path
    capacity: int
    audience: str
    host: str | None
    port: int
    reload_seconds: float
    max_object_bytes: int
    max_uploads: int
    idle_seconds: float
    review_seconds: float
    refused_seconds: float
    max_connections: int
    keepalive_seconds: float
    head_seconds: float
    stall_seconds: float
    linger_seconds: float
    drain_seconds: float
    api: Api


class _Parser(argparse.ArgumentParser):
    """Errors are one line, whoever finds them."""

    def error(self, message: str) -> NoReturn:
        raise StartError(message)


def read(arguments: Sequence[str], environment: Mapping[str, str] = os.environ) -> Settings:
    """The settings; StartError where something is missing or wrong."""
    given = vars(_parser(environment).parse_args(arguments))
    url = given.pop("api_server") or _in_cluster(environment)
    missing = [f"--{name}" for name in _NEEDED if given[name] is None]
    if not url:
        missing.append("outside of a cluster --api-server, as it checks the tokens")
    if missing:
        # What else is wrong is said at once too.
        wrong = _wrong_files(given["config"], given["data"])
        raise StartError("; ".join([f"needed: {', '.join(missing)}", *wrong]))
    api = Api(url, given.pop("api_ca"), given.pop("api_token_file"))
    return Settings(**given, api=api)


def check(settings: Settings) -> None:
    """Look whether the files are there that the settings name; StartError names all that are not.
    Else what asks the API server would fail with each token, and only then."""
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
    for name, row in _FLAGS.items():
        variable = "CACHE_" + name.upper().replace("-", "_")
        value, text = environment.get(variable, row.get("default")), f"{row['text']}; {variable}"
        parser.add_argument(f"--{name}", type=_FORMS[row["form"]], default=value, help=text)
    return parser


def _in_cluster(environment: Mapping[str, str]) -> str:
    """The address where pods find the API server (kubernetes.io); empty elsewhere."""
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


def _matching(pattern: str, what: str, make: Callable[[str], Any]) -> Callable[[str], Any]:
    """Read what matches a pattern; of any other text it is said that it is none of ``what``."""

    def form(text: str) -> Any:
        if re.fullmatch(pattern, text) is None:
            raise argparse.ArgumentTypeError(f"{text!r} is no {what}")
        return make(text)

    return form


def _port(text: str) -> int:
    if re.fullmatch(r"\d{1,5}", text) is None or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is no TCP port")
    return int(text)


_FORMS: Mapping[str, Callable[[str], Any]] = {
    "path": Path,
    "host": lambda text: text or None,
    "port": _port,
    "bytes": _bytes,
    "seconds": _matching(r"\d{1,6}(\.\d{1,3})?", "number of seconds", float),
    "count": _matching(r"[1-9]\d{0,4}", "number from 1 to 99999", int),
    "audience": _matching("[A-Za-z0-9][A-Za-z0-9._:/-]{0,127}", "audience", str),
    # Tokens go there, so nobody may read along; a server on this machine is one for tests.
    "url": _matching(
        r"|https://[^/?#@\s]+/?|http://127\.0\.0\.1:\d+/?",
        "https:// URL without a path",
        lambda text: text.rstrip("/"),
    ),
}
