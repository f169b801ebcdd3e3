"""Stores for Pulumi's state that many machines reach, on loopback, both the real servers: an
object store (the Versity S3 Gateway on a folder, tools/versitygw) and PostgreSQL."""

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tools.toolchain import ToolchainError, ensure

KEY, SECRET = "operator", "key-of-the-object-store"
POSTGRES_PASSWORD = "pass-of-the-database"
_PORTS = range(20000, 32000)
_SECONDS = 60.0


@dataclass(frozen=True)
class Store:
    """A store: its URL for Pulumi, the environment to log in, and the folder that is its bucket."""

    url: str
    environment: Mapping[str, str]
    bucket: Path | None = None


@contextmanager
def s3(folder: Path) -> Iterator[Store]:
    """An object store with one bucket, ``states``."""
    try:
        gateway = ensure(["objectstore"])["versitygw"].path
    except ToolchainError as error:
        pytest.skip(f"no versitygw: {error}")
    bucket = folder / "buckets" / "states"
    bucket.mkdir(parents=True)
    env = os.environ | {"ROOT_ACCESS_KEY": KEY, "ROOT_SECRET_KEY": SECRET}
    port = _port()
    command: list[str | Path] = [
        gateway,
        "--port",
        f"127.0.0.1:{port}",
        "--quiet",
        "posix",
        bucket.parent,
    ]
    with _serving(command, port, folder, env):
        query = f"endpoint=http://127.0.0.1:{port}&use_path_style=true&region=us-east-1"
        login = {"AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": SECRET}
        yield Store(f"s3://states?{query}", login, bucket)


@contextmanager
def postgres(_: Path) -> Iterator[Store]:
    """A database cluster with one user, who has a password."""
    initdb, server = shutil.which("initdb"), shutil.which("postgres")
    if not (initdb and server):
        pytest.skip("PostgreSQL is not installed")
    # The server refuses to run as root, and its own user sees no folder of root's.
    user = "postgres" if os.getuid() == 0 else None
    with TemporaryDirectory(prefix="foresite-pg-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        (folder / "password").write_text(POSTGRES_PASSWORD)
        if user:
            for path in (folder, folder / "password"):
                shutil.chown(path, user)
        data, port = folder / "data", _port()
        subprocess.run(
            [initdb, "-D", data, "-U", "foresite", "-A", "scram-sha-256",
             f"--pwfile={folder / 'password'}", "--no-sync"],
            check=True, user=user, stdout=subprocess.DEVNULL, cwd=folder,
        )  # fmt: skip
        command: list[str | Path] = [
            server,
            "-D",
            data,
            "-h",
            "127.0.0.1",
            "-p",
            str(port),
            "-k",
            folder,
            "-F",
        ]
        with _serving(command, port, folder, None, user):
            url = f"postgres://foresite@127.0.0.1:{port}/postgres?sslmode=disable"
            yield Store(url, {"PGPASSWORD": POSTGRES_PASSWORD})


@contextmanager
def _serving(
    command: Sequence[str | Path],
    port: int,
    folder: Path,
    env: Mapping[str, str] | None,
    user: str | None = None,
) -> Iterator[None]:
    """A server that answers on its port, until the block is left."""
    with (folder / "server.log").open("wb") as log:
        server = subprocess.Popen(
            command, stdout=log, stderr=log, env=env, user=user, cwd=folder, start_new_session=True
        )
    try:
        until = time.monotonic() + _SECONDS
        while True:
            with closing(socket.socket()) as client:
                if client.connect_ex(("127.0.0.1", port)) == 0:
                    break
            if server.poll() is not None or time.monotonic() > until:
                raise RuntimeError((folder / "server.log").read_text()[-2000:])
            time.sleep(0.1)
        yield
    finally:
        server.terminate()
        server.wait(_SECONDS)


def _port() -> int:
    """A port of loopback that nobody listens on; below those that the kernel gives away."""
    for port in _PORTS:
        with closing(socket.socket()) as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise RuntimeError("no port is free")
