"""The example programs of docs/examples/cache with the real PFIO, before a stand-in for the cache.

PyTorch, JAX and MPI are not installed here: of the two former what reads is run, by the processes
and threads that they would use, and not ``main``; the MPI program runs whole, with the variables of
mpirun. tests/components/object_cache/test_cache_end_to_end.py runs it through Envoy to real
servers.
"""

import hashlib
import importlib
import multiprocessing
import os
import pickle
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from components.making.object_cache_client import TOKEN_VARIABLE, URL_VARIABLE
from tests.kit.repository import ROOT
from tests.kit.web import Handler, listening

EXAMPLES = ROOT / "docs" / "examples" / "cache"
COUNT = 20


class StandIn:
    """A stand-in for the cache: it keeps what is put, and counts what is asked."""

    def __init__(self) -> None:
        self.kept: dict[str, bytes] = {}
        self.answers: Counter[tuple[str, int]] = Counter()
        self.tokens: set[str | None] = set()
        owner = self

        class Answers(Handler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                found = owner.kept.get(self.path)
                self.say(200 if found is not None else 404, found or b"")

            def do_PUT(self) -> None:
                owner.kept[self.path] = self.rfile.read(int(self.headers["Content-Length"]))
                self.say(201, b"")

            def say(self, status: int, body: bytes) -> None:
                owner.answers[self.command, status] += 1
                owner.tokens.add(self.headers["Authorization"])
                self.answer(status, body, {"Content-Length": str(len(body))})

        self.handler = Answers


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[StandIn]:
    """The stand-in, with the environment of a pod that uses it."""
    found = StandIn()
    token = tmp_path / "token"
    token.write_text("secret")
    monkeypatch.setenv(TOKEN_VARIABLE, str(token))
    with listening(found.handler) as url:
        monkeypatch.setenv(URL_VARIABLE, f"{url}/v1/objects/vision/")
        yield found


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A folder of files, all different."""
    folder = tmp_path / "data"
    for number in range(COUNT):
        path = folder / f"part-{number % 2}" / f"{number:03}.bin"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(bytes([number]) * (number + 1))
    return folder


@pytest.fixture
def load(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Imports an example by its name; they import each other, as they lie in one folder."""
    monkeypatch.syspath_prepend(str(EXAMPLES))
    before = set(sys.modules)
    yield importlib.import_module
    for name in set(sys.modules) - before:
        if getattr(sys.modules[name], "__file__", None) and str(EXAMPLES) in str(
            sys.modules[name].__file__
        ):
            del sys.modules[name]


def contents(data: Path) -> list[bytes]:
    return [path.read_bytes() for path in sorted(data.rglob("*.bin"))]


def read_part(files: Any, numbers: range) -> list[Any]:
    return [files[number] for number in numbers]


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_workers_of_a_loader_read_through_the_cache(
    cache: StandIn, data: Path, load: Any, method: str
) -> None:
    """As DataLoader does: the dataset is used here first, and then in processes of either kind."""
    module: ModuleType = load("pytorch_job")
    samples = module.Samples(str(data), module.names_of(str(data)))
    expected = [list(content[:16]) for content in contents(data)]
    assert samples[0] == expected[0]
    with multiprocessing.get_context(method).Pool(2) as pool:
        shares = pool.starmap(
            read_part, [(samples, range(rank, len(samples), 2)) for rank in range(2)]
        )
    assert shares == [expected[0::2], expected[1::2]]
    # What was read here before was a hit there; all others were put by whoever missed them.
    assert cache.answers == {("GET", 404): COUNT, ("PUT", 201): COUNT, ("GET", 200): 1}
    assert cache.tokens == {"Bearer secret"}


def test_batches_of_arrays_are_those_of_the_files(cache: StandIn, data: Path, load: Any) -> None:
    module = load("jax_job")
    files = module.CachedFiles(str(data), module.names_of(str(data)))
    wanted = [list(content[:16].ljust(16, b"\0")) for content in contents(data)]
    for _ in range(2):
        found = [list(module.batches(files, 4, rank, 3)) for rank in range(3)]
        for rank, batches in enumerate(found):
            assert [row.tolist() for batch in batches for row in batch] == wanted[rank::3]
            assert all(len(batch) == 4 for batch in batches[:-1])
    # The first time all are misses, and the second time none is.
    assert cache.answers == {("GET", 404): COUNT, ("PUT", 201): COUNT, ("GET", 200): COUNT}


def run_mpi(data: Path, **environment: str) -> str:
    """The MPI program as it stands in the documentation, as one process of those of mpirun."""
    done = subprocess.run(
        [sys.executable, EXAMPLES / "mpi_job.py", str(data)],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
        env={**os.environ, **environment},
    )
    assert done.stderr == ""
    return done.stdout


def test_processes_of_mpi_read_each_file_once(cache: StandIn, data: Path) -> None:
    size = {"OMPI_COMM_WORLD_SIZE": "3"}
    said = [run_mpi(data, OMPI_COMM_WORLD_RANK=str(rank), **size) for rank in range(3)]
    lines = sorted(line for each in said for line in each.splitlines())
    assert [line.split()[2] for line in lines] == [
        hashlib.sha256(content).hexdigest() for content in contents(data)
    ]
    assert cache.answers["GET", 404] == cache.answers["PUT", 201] == COUNT
    assert sorted(run_mpi(data).splitlines()) == lines
    assert cache.answers["GET", 200] == COUNT


def test_without_the_variables_the_same_program_reads_the_files_themselves(
    cache: StandIn, data: Path, load: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(URL_VARIABLE)
    module = load("cached_files")
    files = module.CachedFiles(str(data), module.names_of(str(data)))
    assert [files[number] for number in range(len(files))] == contents(data)
    assert cache.answers == {}


def test_a_dataset_is_small_to_send_and_takes_no_connection_along(
    cache: StandIn, data: Path, load: Any
) -> None:
    module = load("cached_files")
    files = module.CachedFiles(str(data), module.names_of(str(data)))
    before = pickle.dumps(files)
    assert files[0]
    assert pickle.dumps(files) == before


# --- what docs/cache-clients.md says of PFIO ------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "raised"),
    [
        ("plain.bin", None),
        ("with=odd;signs,+&@~().bin", None),
        # http.client refuses it, and PFIO reads the file itself.
        ("a space.bin", None),
        # http.client cannot encode it, and PFIO does not catch that.
        ("größe.bin", UnicodeEncodeError),
    ],
)
def test_which_names_the_client_takes(
    cache: StandIn, tmp_path: Path, load: Any, name: str, raised: type[Exception] | None
) -> None:
    (tmp_path / name).write_bytes(b"content")
    files = load("cached_files").CachedFiles(str(tmp_path), [name])
    if raised is not None:
        with pytest.raises(raised):
            files[0]
        return
    assert files[0] == files[0] == b"content"
    cached = {path.rpartition("/")[2] for path in cache.kept}
    assert cached == ({name} if " " not in name else set())


def test_text_comes_back_as_bytes_once_it_is_cached(
    cache: StandIn, tmp_path: Path, load: Any
) -> None:
    (tmp_path / "a.txt").write_text("text")
    files = load("cached_files").open_files(str(tmp_path))
    assert files.open("a.txt", "r").read() == "text"
    assert files.open("a.txt", "r").read() == b"text"


def test_a_token_that_is_not_there_stops_the_program_at_once(
    cache: StandIn, tmp_path: Path, load: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(TOKEN_VARIABLE, str(tmp_path / "none"))
    with pytest.raises(FileNotFoundError):
        load("cached_files").open_files(str(tmp_path))
