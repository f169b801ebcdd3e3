"""Stores for Pulumi's state that many machines reach, on loopback, both the real servers: an
object store (the Versity S3 Gateway on a folder, tools/versitygw) and PostgreSQL."""

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from controlplane.ports import free_port
from tests.kit.parts import or_skip
from tools.toolchain import ensure

KEY, SECRET = "operator", "key-of-the-object-store"
POSTGRES_PASSWORD = "pass-of-the-database"
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
    gateway = or_skip(ensure, ["objectstore"])["versitygw"].path
    bucket = folder / "buckets" / "states"
    bucket.mkdir(parents=True)
    env = os.environ | {"ROOT_ACCESS_KEY": KEY, "ROOT_SECRET_KEY": SECRET}
    port = free_port()
    options = ("--port", f"127.0.0.1:{port}", "--quiet", "posix")
    with _serving([gateway, *options, bucket.parent], port, folder, env):
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
        data, port = folder / "data", free_port()
        subprocess.run(
            [initdb, "-D", data, "-U", "foresite", "-A", "scram-sha-256",
             f"--pwfile={folder / 'password'}", "--no-sync"],
            check=True, user=user, stdout=subprocess.DEVNULL, cwd=folder,
        )  # fmt: skip
        options = ("-h", "127.0.0.1", "-p", str(port), "-F")
        with _serving([server, "-D", data, "-k", folder, *options], port, folder, None, user):
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
            with socket.socket() as client:
                if client.connect_ex(("127.0.0.1", port)) == 0:
                    break
            if server.poll() is not None or time.monotonic() > until:
                raise RuntimeError((folder / "server.log").read_text()[-2000:])
            time.sleep(0.1)
        yield
    finally:
        server.terminate()
        server.wait(_SECONDS)
