"""How the cache server is started: flags, the environment, and what it says where it cannot."""

import socket
import subprocess
import sys
from pathlib import Path

import pytest
from cache_server.quantity import parse_bytes
from cache_server.refusals import StartError
from cache_server.settings import read
from cache_server_kit.process import CacheServer, bucket, environment

BASE = ["--config=/c", "--data=/d", "--capacity=1Gi", "--api-server=https://api"]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        # k8s.io/apimachinery, pkg/api/resource, quantity.go: binary, decimal and exponent forms.
        ("0", 0),
        ("123", 123),
        ("100Gi", 100 * 2**30),
        ("1.5Ki", 1536),
        ("3Ti", 3 * 2**40),
        ("2Pi", 2**51),
        ("5k", 5000),
        ("7M", 7_000_000),
        ("1E", 10**18),
        ("1e3", 1000),
        ("2E3", 2000),
        ("0.1", 1),
    ],
)
def test_a_quantity(text: str, value: int) -> None:
    assert parse_bytes(text) == value


@pytest.mark.parametrize(
    "text", ["", "-1", "Gi", "1 Gi", "1gi", "1KiB", "1K", "100m", "1e", "0x10"]
)
def test_no_quantity(text: str) -> None:
    with pytest.raises(ValueError, match="no quantity"):
        parse_bytes(text)


def test_each_flag_can_come_from_the_environment() -> None:
    variables = {
        "CACHE_CONFIG": "/c",
        "CACHE_DATA": "/d",
        "CACHE_CAPACITY": "2Gi",
        "CACHE_AUDIENCE": "other",
        "CACHE_MAX_OBJECT_BYTES": "1Mi",
        "CACHE_API_SERVER": "https://api:6443/",
        "CACHE_PORT": "1234",
    }
    settings = read([], variables)
    assert (settings.config, settings.data, settings.capacity) == (Path("/c"), Path("/d"), 2 << 30)
    assert (settings.audience, settings.port) == ("other", 1234)
    assert settings.max_object_bytes == 1 << 20
    assert settings.api.url == "https://api:6443"
    assert read(["--port=99"], variables).port == 99, "a flag is stronger"


@pytest.mark.parametrize(
    ("host", "url"), [("10.96.0.1", "https://10.96.0.1:443"), ("fd00::1", "https://[fd00::1]:443")]
)
def test_in_a_cluster_the_api_server_is_known(host: str, url: str) -> None:
    variables = {"KUBERNETES_SERVICE_HOST": host, "KUBERNETES_SERVICE_PORT": "443"}
    api = read(BASE[:3], variables).api
    assert api.url == url
    assert str(api.token) == "/var/run/secrets/kubernetes.io/serviceaccount/token"


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (BASE[1:], "--config"),
        (BASE[:1] + BASE[2:], "--data"),
        (BASE[:3], "--api-server"),
        ([*BASE, "--capacity=much"], "no quantity"),
        ([*BASE, "--capacity=0"], "more than nothing"),
        ([*BASE, "--port=70000"], "no TCP port"),
        ([*BASE, "--review-seconds=-1"], "no number of seconds"),
        ([*BASE, "--review-seconds=nan"], "no number of seconds"),
        ([*BASE, "--max-uploads=0"], "no number from 1"),
        ([*BASE, "--audience="], "no audience"),
        ([*BASE, "--api-server=http://api"], "no https"),
        ([*BASE, "--api-server=https://api/path"], "no https"),
        ([*BASE, "--colour=red"], "--colour"),
    ],
)
def test_a_flag_that_is_wrong(arguments: list[str], part: str) -> None:
    with pytest.raises(StartError) as raised:
        read(arguments, {})
    assert part in str(raised.value)
    assert "\n" not in str(raised.value)


def start_error(made: CacheServer) -> str:
    """The message of a server that cannot start."""
    done = subprocess.run(
        made.command(), capture_output=True, text=True, check=False, env=environment(), timeout=60
    )
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    assert done.stderr.startswith("cache-server: ")
    assert done.stderr.count("\n") == 1
    return done.stderr


@pytest.fixture
def made(tmp_path: Path) -> CacheServer:
    made = CacheServer(tmp_path, "http://127.0.0.1:1", flags={})
    return made.configure(bucket("abc"))


def test_a_data_folder_that_is_not_there_is_not_made(made: CacheServer) -> None:
    """It is a disk that is not mounted, and the one below it would be filled."""
    made.data.rmdir()
    assert "is no folder" in start_error(made)
    assert not made.data.exists()


def test_a_data_folder_that_cannot_be_written(made: CacheServer) -> None:
    (made.data / "drafts").write_text("in the way")
    assert "cannot be used" in start_error(made)


def test_a_capacity_that_the_disk_does_not_have(made: CacheServer) -> None:
    made.flags = {"capacity": "1E"}
    assert "the capacity is" in start_error(made)


@pytest.mark.parametrize("text", [None, "{", '{"Bucket": [{"Name": "abc"}]}'])
def test_a_configuration_that_is_not_good(made: CacheServer, text: str | None) -> None:
    if text is None:
        made.config.unlink()
    else:
        made.config.write_text(text)
    assert "the configuration" in start_error(made)


def test_all_files_that_are_missing_are_said_at_once(made: CacheServer) -> None:
    made = CacheServer(made.folder, "https://127.0.0.1:1")
    made.data.rmdir()
    made.own_token.unlink()
    account = "/var/run/secrets/kubernetes.io/serviceaccount/ca.crt"
    made.config.unlink()
    assert start_error(made) == (
        f"cache-server: the configuration {made.config} cannot be read (--config); "
        f"{made.data} is no folder (--data); {made.own_token} cannot be read (--api-token-file); "
        f"{account}, which the pod's ServiceAccount mounts, cannot be read (--api-ca)\n"
    )


def test_what_is_missing_is_said_with_flags_that_are_missing(tmp_path: Path) -> None:
    with pytest.raises(StartError) as raised:
        read([f"--config={tmp_path / 'no'}", f"--data={tmp_path / 'none'}"], {})
    for part in ("--capacity", "--api-server", "no cannot be read (--config)", "none is no folder"):
        assert part in str(raised.value)


def test_a_port_that_is_taken(made: CacheServer) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", made.port))
        other.listen()
        assert "cannot be listened on" in start_error(made)


def test_a_flag_that_is_missing_is_one_line() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "cache_server"],
        capture_output=True,
        text=True,
        check=False,
        env=environment(),
    )
    assert done.returncode == 2
    assert done.stderr.startswith("cache-server: ")
    assert done.stderr.count("\n") == 1


def test_the_readme_names_each_flag() -> None:
    readme = Path(__file__).resolve().parent.parent / "README.md"
    text = readme.read_text("utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "cache_server", "--help"],
        capture_output=True,
        text=True,
        check=True,
        env=environment(),
    )
    flags = {word.rstrip(",") for word in done.stdout.split() if word.startswith("--")}
    named = {word for word in text.replace("`", " ").split() if word.startswith("--")}
    assert flags - {"--help"} <= named, flags - named
