"""The real NetBox 4.7.3 with PostgreSQL and Redis, as docs/inventory.md says how to install it."""

import contextlib
import json
import os
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

HOME = Path(os.environ.get("FORESITE_NETBOX", Path.home() / ".cache/foresite/netbox-4.7.3"))
"""The folder with a virtual environment, Redis and the dump of a migrated database."""
POSTGRES = Path("/usr/lib/postgresql/15/bin")
TOKEN = "ab" * 20
_CONFIGURATION = """
ALLOWED_HOSTS = ["*"]
DATABASES = {{"default": {{"ENGINE": "django.db.backends.postgresql", "NAME": "netbox",
    "USER": "netbox", "HOST": "127.0.0.1", "PORT": {postgres}}}}}
REDIS = {{"tasks": {{"HOST": "127.0.0.1", "PORT": {redis}, "DATABASE": 0}},
    "caching": {{"HOST": "127.0.0.1", "PORT": {redis}, "DATABASE": 1}}}}
SECRET_KEY = "x" * 60
API_TOKEN_PEPPERS = {{1: "y" * 60}}
MEDIA_ROOT = REPORTS_ROOT = SCRIPTS_ROOT = "{folder}"
"""
_ACCOUNT = """
from users.models import Token, User
user = User.objects.create_superuser("tests", "", "tests")
Token(user=user, version=1, token="{token}").save()
"""


def absent() -> str:
    """What is not there for it; empty where all is."""
    wanted = (HOME / "venv/bin/netbox", HOME / "migrated.dump", _redis(), POSTGRES / "initdb")
    return ", ".join(str(path) for path in wanted if not path.exists())


def _redis() -> Path:
    return HOME / "redis/usr/bin/redis-server"


@contextlib.contextmanager
def running() -> Iterator[str]:
    """A server with an empty database; its URL."""
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="netbox-")))
        folder.chmod(0o755)
        postgres, redis, web = free_ports(3)
        stack.enter_context(_postgres(folder / "postgres", postgres))
        library = next((HOME / "redis").rglob("libjemalloc.so.2")).parent
        command = [_redis(), "--port", str(redis), "--bind", "127.0.0.1", "--save", ""]
        stack.enter_context(bring_up(command, {"LD_LIBRARY_PATH": str(library)}))
        text = _CONFIGURATION.format(postgres=postgres, redis=redis, folder=folder)
        (folder / "netbox_of_tests.py").write_text(text)
        environment = {"PYTHONPATH": str(folder), "NETBOX_CONFIGURATION": "netbox_of_tests"}
        netbox = HOME / "venv/bin/netbox"
        given = _ACCOUNT.format(token=TOKEN)
        full = os.environ | environment
        subprocess.run(
            [netbox, "shell"], input=given, text=True, env=full, check=True, capture_output=True
        )
        serve = [netbox, "runserver", f"127.0.0.1:{web}", "--noreload", "--insecure"]
        stack.enter_context(bring_up(serve, environment))
        wait(web)
        yield f"http://127.0.0.1:{web}"


@contextlib.contextmanager
def _postgres(folder: Path, port: int) -> Iterator[None]:
    folder.mkdir()
    user = "postgres" if os.getuid() == 0 else None
    if user:
        shutil.chown(folder, user)
    init = [POSTGRES / "initdb", "-A", "trust", "-U", "netbox", "-D", folder]
    subprocess.run(init, user=user, check=True, capture_output=True, cwd=folder)
    more = ["-c", "listen_addresses=127.0.0.1", "-c", "fsync=off", "-k", folder]
    command = [POSTGRES / "postgres", "-D", folder, "-p", str(port), *more]
    with bring_up(command, {}, user):
        where = ["-h", "127.0.0.1", "-p", str(port), "-U", "netbox"]
        _wait(lambda: subprocess.run([POSTGRES / "createdb", *where, "netbox"], check=True,
                                     capture_output=True))  # fmt: skip
        restore = [POSTGRES / "pg_restore", *where, "-d", "netbox", HOME / "migrated.dump"]
        subprocess.run(restore, check=True, capture_output=True)
        yield


@contextlib.contextmanager
def bring_up(
    command: list[Any], environment: dict[str, str], user: str | None = None
) -> Iterator[None]:
    """A process, for the time of a ``with`` block."""
    log = subprocess.DEVNULL
    with subprocess.Popen(
        list(map(str, command)), env=os.environ | environment, stdout=log, stderr=log, user=user
    ) as process:
        try:
            yield
        finally:
            process.terminate()
            process.wait(30)


def wait(port: int) -> None:
    """Until a server answers at a port of this machine."""
    _wait(lambda: socket.create_connection(("127.0.0.1", port), 1).close())


def _wait(work: Callable[[], object], seconds: float = 120) -> None:
    until = time.monotonic() + seconds
    while True:
        try:
            work()
            return
        except (OSError, subprocess.CalledProcessError):
            if time.monotonic() > until:
                raise
            time.sleep(0.3)


def free_ports(number: int) -> list[int]:
    """Free ports, below those that others get by themselves."""
    found = []
    for port in range(21000 + os.getpid() * 37 % 10_000, 32_000):
        with socket.socket() as trial, contextlib.suppress(OSError):
            trial.bind(("127.0.0.1", port))
            found.append(port)
        if len(found) == number:
            return found
    raise OSError("no free ports")


def ask(url: str, method: str, path: str, body: Any = None) -> Any:
    """The server's answer to one request."""
    headers = {"Authorization": f"Token {TOKEN}", "Content-Type": "application/json"}
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(f"{url}/api/{path}", data, headers, method=method)
    with urllib.request.urlopen(request, timeout=300) as answer:
        return json.loads(answer.read() or b"null")


def fill(url: str, rows: list[dict[str, Any]]) -> None:
    """A site with devices: ``name``, ``serial``, ``rack``, ``macs`` of NICs by name, ``mgmt`` (the
    address of the BMC), ``oob``, ``ip``, ``boot`` (the NIC with the tag)."""

    def one(path: str, **body: Any) -> int:
        found: int = ask(url, "POST", path, body)["id"]
        return found

    site = one("dcim/sites/", name="Lab 1", slug="lab-1")
    zone = one("dcim/locations/", name="Lab", slug="lab", site=site)
    racks = {
        name: one("dcim/racks/", name=name, site=site, location=zone)
        for name in sorted({row["rack"] for row in rows})
    }
    maker = one("dcim/manufacturers/", name="Maker", slug="maker")
    kind = one("dcim/device-types/", model="GPU host", slug="gpu-host", manufacturer=maker)
    role = one("dcim/device-roles/", name="Lab", slug="lab", color="00ff00")
    tag = one("extras/tags/", name="Boot", slug="boot", color="00ff00")
    shared = {"site": site, "location": zone, "device_type": kind, "role": role}
    devices = ask(url, "POST", "dcim/devices/", [
        {**shared, "name": row["name"], "serial": row["serial"], "rack": racks[row["rack"]],
         "status": row.get("status", "active")} for row in rows])  # fmt: skip
    nics = [
        {"device": device["id"], "name": name, "type": "10gbase-t", "mgmt_only": name == "bmc",
         "tags": [tag] if row.get("boot") == name else []}
        for row, device in zip(rows, devices, strict=True) for name in [*row["macs"], "bmc"]
    ]  # fmt: skip
    made = ask(url, "POST", "dcim/interfaces/", nics)
    ids = {(each["device"]["id"], each["name"]): each["id"] for each in made}
    pairs = [(row, device["id"]) for row, device in zip(rows, devices, strict=True)]
    macs = [(ids[device, name], mac) for row, device in pairs for name, mac in row["macs"].items()]
    stored = ask(url, "POST", "dcim/mac-addresses/", [
        {"mac_address": mac, "assigned_object_type": "dcim.interface", "assigned_object_id": nic}
        for nic, mac in macs])  # fmt: skip
    ask(url, "PATCH", "dcim/interfaces/", [
        {"id": nic, "primary_mac_address": each["id"]}
        for (nic, _), each in zip(macs, stored, strict=True)])  # fmt: skip
    wanted = [
        (device, key, ids[device, "bmc" if key == "mgmt" else next(iter(row["macs"]))], row[key])
        for row, device in pairs for key in ("mgmt", "ip") if row.get(key)
    ]  # fmt: skip
    addresses = ask(url, "POST", "ipam/ip-addresses/", [
        {"address": address, "assigned_object_type": "dcim.interface", "assigned_object_id": nic}
        for _, _, nic, address in wanted])  # fmt: skip
    without = {device for row, device in pairs if not row.get("oob", True)}
    own: dict[int, dict[str, int]] = {}
    for (device, key, _, _), each in zip(wanted, addresses, strict=True):
        if key == "ip" or device not in without:
            field = "primary_ip4" if key == "ip" else "oob_ip"
            own.setdefault(device, {"id": device})[field] = each["id"]
    ask(url, "PATCH", "dcim/devices/", [*own.values()])
