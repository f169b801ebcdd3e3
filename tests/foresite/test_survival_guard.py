"""The losses that an ``up`` refuses without an acknowledgement: counted against a state, by
hand-made states and looks."""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

from components.making.manifest import Json, Manifest, Target
from foresite.cli import main
from foresite.command import OK, UsageError
from foresite.delivery.guard import change, guard, needed_counts
from foresite.delivery.servers.inventory import Look
from foresite.delivery.stack.applied import Commits
from foresite.delivery.stack.engine import Engine, lock_site
from foresite.delivery.stack.live import Key
from foresite.delivery.stack.register import Progress, shorten
from foresite.delivery.stack.stated import SMALL, Stated
from preview.states.git import GitError
from preview.verdict.growth import LARGE, MORE
from tests.kit.preview_repository import Repository
from tests.kit.repository import FLEET, ROOT

GUARDED = {"argocd.argoproj.io/sync-options": "Prune=false,Delete=false"}


def thing(kind: str, name: str, *, guarded: bool = False, **spec: object) -> Json:
    annotations = {"annotations": GUARDED} if guarded else {}
    metadata = {"namespace": "lab-1", "name": name, **annotations}
    return {"apiVersion": "example.dev/v1", "kind": kind, "metadata": metadata, "spec": spec}


def had(body: Json, *, protect: bool = False, keep: bool = False) -> Stated:
    return Stated(f"urn:{body['metadata']['name']}", body, Target.MANAGEMENT, protect, keep, "1")


def key(body: Json) -> Key:
    return "Machines", f"{body['kind']}/{body['metadata']['name']}"


def refused(
    before: Iterable[Stated],
    after: Iterable[Json],
    looks: Iterable[Look] = (),
    *,
    ends: bool = False,
    **allow: int,
) -> str:
    """The guard's message on a state and the objects that a site makes; empty where it passes."""
    state = {key(each.body): each for each in before}
    wanted = {key(each): Manifest(key(each)[1], each) for each in after}
    try:
        guard("lab-1", change(state, wanted), looks, allow, ends=ends)
    except UsageError as error:
        return str(error)
    return ""


HOSTS = [thing("BareMetalHost", f"host-{n}", guarded=True) for n in range(3)]


def test_what_stays_as_it_is_passes() -> None:
    assert refused(map(had, HOSTS), HOSTS) == ""


@pytest.mark.parametrize(("allow", "passes"), [(0, False), (1, False), (2, True), (3, True)])
def test_hosts_that_go_must_be_named_by_number(allow: int, passes: bool) -> None:
    said = refused(map(had, HOSTS), HOSTS[:1], remove=allow)
    assert (said == "") is passes
    if not passes:
        assert "2 hosts would be lost" in said and "BareMetalHost lab-1/host-1" in said
        assert "--allow remove=2" in said and "nothing was changed" in said


def test_a_host_and_the_machine_on_it_count_once_as_in_the_preview() -> None:
    pool = [thing("MachineDeployment", "gpu", replicas=number) for number in (3, 1)]
    assert refused(map(had, [*HOSTS, pool[0]]), [HOSTS[0], pool[1]], remove=2) == ""
    assert "2 hosts would be lost" in refused([had(pool[0])], [pool[1]], remove=1)


@pytest.mark.parametrize(
    ("out", "spares", "lost"),
    [(1, 0, 0), (2, 0, 0), (3, 0, 3), (9, 0, 9), (9, 9, 0), (9, 7, 0), (9, 6, 3)],
)
@pytest.mark.parametrize(
    "owner", ["MachineDeployment/gpu", "MachineDeployment/gpu/a", "KubeadmControlPlane"]
)
def test_hosts_that_go_out_are_a_loss_where_they_are_many(
    out: int, spares: int, lost: int, owner: str
) -> None:
    """As far as no spare steps in, in a pool, in a zone of one, and in the control plane."""

    def of(state: str, number: int) -> Json:
        body = thing("BareMetalHost", f"h{number}", guarded=True)
        labels = {"foresite.dev/pool": "gpu", "foresite.dev/zone": "a", "foresite.dev/state": state}
        return {**body, "metadata": {**body["metadata"], "labels": labels}}

    kind, _, name = owner.partition("/")
    machines = [thing(kind, name, replicas=count) for count in (20 - spares, 20 - max(out, spares))]
    before = [had(body) for body in [*(of("", n) for n in range(20)), machines[0]]]
    after = [*(of("out" if n < out else "", n) for n in range(20)), machines[1]]
    assert (refused(before, after) == "") == (not lost)
    assert f"--allow remove={lost}, " in refused(before, after) or not lost
    assert refused(before, after, remove=lost) == ""


def test_what_is_kept_in_the_cluster_is_no_loss() -> None:
    template = thing("Metal3MachineTemplate", "a", guarded=True)
    assert refused([had(template, keep=True)], []) == ""


def test_what_holds_data_and_gets_another_name_is_lost() -> None:
    before, after = had(thing("Secret", "a")), thing("Secret", "b")
    state = {("Machines", "x"): before}
    wanted = {("Machines", "x"): Manifest("x", after)}
    assert change(state, wanted).gone == [before]


def test_few_objects_without_data_go_unnamed_and_many_do_not() -> None:
    rules = [had(thing("PrometheusRule", f"rule-{n}")) for n in range(SMALL + 1)]
    assert refused(rules[:SMALL], []) == ""
    assert f"{SMALL + 1} other objects would be lost" in refused(rules, [])
    assert refused(rules, [], remove=SMALL + 1) == ""


def test_what_pulumi_protects_is_said_before_pulumi_says_it() -> None:
    said = refused([had(HOSTS[0], protect=True)], [], remove=1)
    assert "pulumi state unprotect -s lab-1 'urn:host-0'" in said
    assert refused([had(HOSTS[0], protect=True)], [], remove=1, ends=True) == ""


def test_a_cluster_with_none_of_the_objects_is_refused_whatever_is_named() -> None:
    objects = tuple(map(had, HOSTS))
    for look in (Look("mgmt", lost=objects), Look("mgmt", other=objects)):
        said = refused(objects, HOSTS, [look], remove=99)
        assert "has none of the 3 objects" in said and "foresite recover lab-1 --rebuild" in said


def test_what_a_cluster_has_lost_is_made_again_and_named_where_it_holds_data() -> None:
    rule = had(thing("PrometheusRule", "a"))
    hosts = tuple(map(had, HOSTS))
    every = [*HOSTS, rule.body]
    assert refused([*hosts, rule], every, [Look("mgmt", same=hosts, lost=(rule,))]) == ""
    look = Look("mgmt", same=(rule, *hosts[:2]), lost=hosts[2:])
    assert "--allow remove=1" in refused([*hosts, rule], every, [look])
    assert refused([*hosts, rule], every, [look], remove=1) == ""


def test_at_its_end_what_the_cluster_has_lost_counts_once_and_is_not_made_anew() -> None:
    cluster = had(thing("Cluster", "lab-1", guarded=True))
    hosts = tuple(map(had, HOSTS))
    look = Look("mgmt", same=hosts, lost=(cluster,))
    said = refused([cluster, *hosts], HOSTS, [look], ends=True)
    assert "1 Cluster would be lost" in said and "created again" not in said
    assert refused([cluster, *hosts], HOSTS, [look], ends=True, remove=1) == ""


@pytest.mark.parametrize("ends", [False, True])
def test_what_is_needed_is_the_number_that_lets_it_through(ends: bool) -> None:
    before = [*map(had, HOSTS), *(had(thing("Role", f"role-{n}")) for n in range(SMALL + 1))]
    after = [thing("ConfigMap", f"map-{n}", text="x" * LARGE) for n in range(2)]
    state = {key(each.body): each for each in [*before, had(thing("ConfigMap", "map-0"))]}
    wanted = {key(each): Manifest(key(each)[1], each) for each in after}
    looks = [Look("mgmt", same=tuple(before[1:]), lost=(before[0],))]
    found = change(state, wanted)
    number = needed_counts(found, looks, ends=ends)
    assert number.keys() == {"remove", "grow"} and all(number.values())
    guard("lab-1", found, looks, number, ends=ends)
    for name in number:
        with pytest.raises(UsageError):
            guard("lab-1", found, looks, {**number, name: number[name] - 1}, ends=ends)


def test_a_site_that_doubles_must_be_named_and_a_first_time_not() -> None:
    cluster = thing("Cluster", "lab-1", guarded=True)
    many = [cluster, *(thing("Role", f"role-{n}") for n in range(MORE + 4))]
    few = list(map(had, many[:4]))
    assert refused([], many) == ""
    assert refused(few, many[: MORE + 4]) == ""
    assert f"--allow grow={MORE + 1}" in refused(few, many)
    assert refused(few, many, grow=MORE + 1) == ""


def test_a_site_that_comes_back_from_its_end_does_not_grow() -> None:
    many = [thing("Role", f"role-{n}") for n in range(MORE + 4)]
    assert refused(map(had, many[:3]), [*many, thing("Cluster", "lab-1")]) == ""


def test_an_object_that_gets_many_times_as_long_must_be_named() -> None:
    short, long = thing("ConfigMap", "a", text="x" * 100), thing("ConfigMap", "a", text="x" * LARGE)
    assert refused([had(short)], [short]) == ""
    assert (
        "--allow grow=1" in (said := refused([had(short)], [long])) and "ConfigMap lab-1/a" in said
    )
    assert refused([had(short)], [long], grow=1) == ""
    assert refused([had(long)], [long]) == ""


# --- what CI names --------------------------------------------------------------------------------


def test_messages_of_what_was_merged_since_count_and_those_within_a_merge_do_not(
    tmp_path: Path,
) -> None:
    repository = Repository(tmp_path)
    first = repository.commit("applied\n\nForesite-Allow: remove=9")
    repository.commit("one\n\nForesite-Allow: remove=1")
    repository.git("checkout", "-q", "-b", "branch")
    repository.commit("hidden\n\nForesite-Allow: remove=99")
    repository.git("checkout", "-q", "main")
    merge = "merged\n\nForesite-Allow: remove=2"
    repository.git("merge", "-q", "--no-ff", "--no-gpg-sign", "-m", merge, "branch")
    messages = [text.split()[0] for text in Commits(tmp_path).requests(first).values()]
    assert messages == ["merged", "one"]
    assert [text.split()[0] for text in Commits(tmp_path).requests("").values()] == ["merged"]
    with pytest.raises(GitError):
        Commits(tmp_path).requests("0" * 40)


# --- one at a time, and nobody who listens --------------------------------------------------------


def test_a_site_that_is_held_says_by_whom_and_is_free_once_they_are_gone(tmp_path: Path) -> None:
    engine = Engine(Path("pulumi"), {}, tmp_path, "lab-1", tmp_path)
    holds = (
        "import sys; from pathlib import Path; p = Path(sys.argv[1]);"
        "from foresite.delivery.stack.engine import Engine, lock_site;"
        "c = lock_site(Engine(p, {}, p, 'lab-1', p)); c.__enter__(); print('held', flush=True);"
        "sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", holds, str(tmp_path)], stdin=-1, stdout=-1
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        with (
            pytest.raises(UsageError, match=f"works on lab-1: process {process.pid};"),
            lock_site(engine),
        ):
            pass
        process.kill()
    with lock_site(engine):
        pass


def test_a_preview_says_that_the_site_is_locked_and_takes_no_lock_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A fake Pulumi, and the lock of a process that is gone."""
    pulumi = tmp_path / "pulumi"
    pulumi.write_text(
        f'#!/bin/sh\necho "$*" >> {tmp_path}/called\n'
        'case "$*" in "stack export"*) echo "{}";; esac\n'
    )
    pulumi.chmod(0o755)
    env = {"PULUMI_BACKEND_URL": f"file://{tmp_path}", "PATH": "/nowhere"}
    engine = Engine(pulumi, env, ROOT, "lab-1", tmp_path / "notes")
    monkeypatch.setattr("foresite.commands.up.engine_for", lambda *_, **__: engine)
    monkeypatch.setenv("PATH", "/nowhere")
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    folder = tmp_path / ".pulumi" / "locks" / "organization" / "foresite" / "lab-1"
    folder.mkdir(parents=True)
    (folder / "x.json").write_text(json.dumps({"pid": gone.pid, "hostname": socket.gethostname()}))
    assert main(["--root", str(FLEET), "up", "--preview", "lab-1"]) == OK
    said = capsys.readouterr().err
    assert (
        f"lab-1 is locked, so this report may show an unfinished run: process {gone.pid}@" in said
    )
    called = (tmp_path / "called").read_text().splitlines()
    assert any(each.startswith("preview") for each in called)
    assert not any(each.startswith("cancel") for each in called)


def test_a_run_that_nobody_watches_any_more_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    closed = os.fdopen(writing, "w", buffering=1)
    monkeypatch.setattr("foresite.delivery.stack.register._SECONDS_BETWEEN_LINES", 0.0)
    monkeypatch.setattr(sys, "stderr", closed)
    progress = Progress(2)
    for _ in range(2):
        progress.line(" +  kubernetes:core/v1:ConfigMap ConfigMap/a created (1s)")
    assert progress.done == 2
    assert sys.stderr is not closed, "nothing was written"
    with pytest.raises(BrokenPipeError):
        closed.close()


def test_the_stack_of_a_program_is_left_out_of_what_is_said() -> None:
    lines = [
        "Diagnostics:",
        "  pulumi:pulumi:Stack (foresite-lab-1):",
        "    error: Program failed with an unhandled exception:",
        "    Traceback (most recent call last):",
        '      File "/x/__main__.py", line 3, in <module>',
        "        main()",
        "    SystemExit: there is no site lab-1",
    ]
    said = shorten(lines)
    assert said[-1].strip() == "SystemExit: there is no site lab-1"
    assert not any("Traceback" in line or "main()" in line for line in said)
