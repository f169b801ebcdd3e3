"""The real NetBox 4.7.3 with PostgreSQL and Redis, as docs/inventory.md says how to install it."""

import json
import os
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from controlplane.ports import free_port

HOME = Path(os.environ.get("FORESITE_NETBOX", Path.home() / ".cache/foresite/netbox-4.7.3"))
"""The folder with a virtual environment, Redis and the dump of a migrated database."""
NETBOX, DUMP = HOME / "venv/bin/netbox", HOME / "migrated.dump"
REDIS = HOME / "redis/usr/bin/redis-server"
POSTGRES = Path("/usr/lib/postgresql/15/bin")
TOKEN = "ab" * 20
_CONFIGURATION = """
ALLOWED_HOSTS = ["*"]
DATABASES = {{"default": {{"ENGINE": "django.db.backends.postgresql", "NAME": "netbox",
    "USER": "netbox", "HOST": "127.0.0.1", "PORT": {postgres}}}}}
REDIS = {{name: {{"HOST": "127.0.0.1", "PORT": {redis}, "DATABASE": at}}
    for at, name in enumerate(("tasks", "caching"))}}
SECRET_KEY = "x" * 60
API_TOKEN_PEPPERS = {{1: "y" * 60}}
MEDIA_ROOT = REPORTS_ROOT = SCRIPTS_ROOT = "{folder}"
"""
_ACCOUNT = f"""
from users.models import Token, User
user = User.objects.create_superuser("tests", "", "tests")
Token(user=user, version=1, token="{TOKEN}").save()
"""


def absent() -> str:
    """What is not there for it; empty where all is."""
    wanted = (NETBOX, DUMP, REDIS, POSTGRES / "initdb")
    return ", ".join(str(path) for path in wanted if not path.exists())


@contextmanager
def running() -> Iterator[str]:
    """A server with an empty database; its URL."""
    postgres, redis, web = (free_port() for _ in range(3))
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="netbox-")))
        folder.chmod(0o755)
        stack.enter_context(_postgres(folder / "postgres", postgres))
        library = next((HOME / "redis").rglob("libjemalloc.so.2")).parent
        command = (REDIS, "--port", redis, "--bind", "127.0.0.1", "--save", "")
        stack.enter_context(bring_up(*command, LD_LIBRARY_PATH=str(library)))
        text = _CONFIGURATION.format(postgres=postgres, redis=redis, folder=folder)
        (folder / "netbox_of_tests.py").write_text(text)
        own = {"PYTHONPATH": str(folder), "NETBOX_CONFIGURATION": "netbox_of_tests"}
        _run(NETBOX, "shell", input=_ACCOUNT.encode(), env=os.environ | own)
        serve = (NETBOX, "runserver", f"127.0.0.1:{web}", "--noreload", "--insecure")
        stack.enter_context(bring_up(*serve, **own))
        wait(lambda: socket.create_connection(("127.0.0.1", web), 1).close())
        yield f"http://127.0.0.1:{web}"


@contextmanager
def _postgres(folder: Path, port: int) -> Iterator[None]:
    """A database server with the dump; it does not run as root."""
    folder.mkdir()
    user = "postgres" if os.getuid() == 0 else None
    if user:
        shutil.chown(folder, user)
    _run(POSTGRES / "initdb", "-A", "trust", "-U", "netbox", "-D", folder, user=user, cwd=folder)
    serve = (POSTGRES / "postgres", "-D", folder, "-p", port, "-k", folder, "-c", "fsync=off")
    with bring_up(*serve, "-c", "listen_addresses=127.0.0.1", user=user):
        where = ("-h", "127.0.0.1", "-p", port, "-U", "netbox")
        wait(lambda: _run(POSTGRES / "createdb", *where, "netbox"))
        _run(POSTGRES / "pg_restore", *where, "-d", "netbox", DUMP)
        yield


def _run(*command: object, **options: Any) -> None:
    subprocess.run([*map(str, command)], check=True, capture_output=True, **options)


@contextmanager
def bring_up(*command: object, user: str | None = None, **own: str) -> Iterator[None]:
    """A process with some variables, for the time of a ``with`` block."""
    log = subprocess.DEVNULL
    environment = os.environ | own
    with subprocess.Popen(
        [*map(str, command)], env=environment, stdout=log, stderr=log, user=user
    ) as process:
        try:
            yield
        finally:
            process.terminate()


def wait(work: Callable[[], object], seconds: float = 120) -> None:
    """Until some work succeeds."""
    until = time.monotonic() + seconds
    while True:
        try:
            work()
            return
        except (OSError, subprocess.CalledProcessError):
            if time.monotonic() > until:
                raise
            time.sleep(0.3)


def ask(url: str, method: str, path: str, body: Any = None) -> Any:
    """The server's answer to one request."""
    headers = {"Authorization": f"Token {TOKEN}", "Content-Type": "application/json"}
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(f"{url}/api/{path}", data, headers, method=method)
    with urllib.request.urlopen(request, timeout=300) as answer:
        return json.load(answer)


def fill(url: str, rows: list[dict[str, Any]]) -> None:
    """The site lab-1 with devices: ``name``, ``serial``, ``rack``, ``macs`` of NICs by name,
    ``mgmt`` (the address of the BMC; oob_ip too, unless ``oob`` is false), ``ip``, ``boot`` (the
    NIC with the tag)."""

    def one(path: str, name: str, **body: Any) -> int:
        slug = {} if path == "racks" else {"slug": name.lower()}
        app = "extras" if path == "tags" else "dcim"
        found: int = ask(url, "POST", f"{app}/{path}/", {"name": name, **slug, **body})["id"]
        return found

    site = one("sites", "Lab-1")
    shared = {"site": site, "location": one("locations", "Lab", site=site)}
    racks = {name: one("racks", name, **shared) for name in sorted({row["rack"] for row in rows})}
    shared["role"] = one("device-roles", "Lab", color="00ff00")
    maker = one("manufacturers", "Maker")
    shared["device_type"] = one("device-types", "Host", model="Host", manufacturer=maker)
    tag = one("tags", "Boot", color="00ff00")
    made = ask(url, "POST", "dcim/devices/", [
        {**shared, "name": row["name"], "serial": row["serial"], "rack": racks[row["rack"]],
         "status": row.get("status", "active")} for row in rows])  # fmt: skip
    pairs = [(row, device["id"]) for row, device in zip(rows, made, strict=True)]
    nics = ask(url, "POST", "dcim/interfaces/", [
        {"device": device, "name": name, "type": "10gbase-t", "mgmt_only": name == "bmc",
         "tags": [tag] if row.get("boot") == name else []}
        for row, device in pairs for name in (*row["macs"], "bmc")])  # fmt: skip
    ids = {(each["device"]["id"], each["name"]): each["id"] for each in nics}
    macs = [(ids[device, name], mac) for row, device in pairs for name, mac in row["macs"].items()]
    of = "dcim.interface"
    stored = ask(url, "POST", "dcim/mac-addresses/", [
        {"mac_address": mac, "assigned_object_type": of, "assigned_object_id": nic}
        for nic, mac in macs])  # fmt: skip
    ask(
        url,
        "PATCH",
        "dcim/interfaces/",
        [{"id": each["assigned_object_id"], "primary_mac_address": each["id"]} for each in stored],
    )
    wanted = [(device, row, key) for row, device in pairs for key in ("mgmt", "ip") if row[key]]
    addresses = ask(url, "POST", "ipam/ip-addresses/", [
        {"address": row[key], "assigned_object_type": of,
         "assigned_object_id": ids[device, "bmc" if key == "mgmt" else "eno1"]}
        for device, row, key in wanted])  # fmt: skip
    own: dict[int, dict[str, int]] = {}
    for (device, row, key), each in zip(wanted, addresses, strict=True):
        if key == "ip" or row.get("oob", True):
            field = "primary_ip4" if key == "ip" else "oob_ip"
            own.setdefault(device, {"id": device})[field] = each["id"]
    ask(url, "PATCH", "dcim/devices/", [*own.values()])
