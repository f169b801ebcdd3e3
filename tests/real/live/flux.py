"""``python -m tests.real.live.flux OUT``: the real Flux applies three sites in three rings, beside
the real managers of Cluster API; what it did as JSON in OUT.

Real are the API server, Cluster API's managers, Flux's two controllers, and Git over HTTP. Hosts
are played (fake_metal3.py), and do not get up where an image is said to be bad. The one server is
also the sites' own cluster, where the objects of three would meet: so only the first site's are
applied there, and a ConfigMap in place of those of the others (flux_fleet.py).
"""

import json
import subprocess
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import yaml

from controlplane import Client, install_crds
from tests.real.live import world
from tests.real.live.flux_fleet import NAMESPACE, POOL, SITES, STATES, Hosts, render, repository
from tests.real.live.flux_servers import controllers, git_server
from tests.real.live.namespace import record
from tests.real.live.patch import merge
from tests.real.live.settled import observed, settled
from tests.real.live.watch import Mirror, condition, key_of
from tools.toolchain import locate

GROUPS = ("controlplane", "cluster-api", "engines")
WATCH_SECONDS, LIMIT_SECONDS = 10.0, 480.0
FLUX = ("kustomize.toolkit.fluxcd.io/v1", "Kustomization")
WHOLE = ("BareMetalHost", "Cluster", "MachineDeployment", "KubeadmControlPlane", "Machine",
         "MachineHealthCheck")  # fmt: skip
"""Kinds that a site consists of."""
Json = dict[str, Any]


class Play:
    """The fleet, its Git repository, and what Flux did at which time.

    ``began`` is when a Kustomization first tried a revision, ``passed`` when it had it healthy;
    ``fit`` says if the Machines of a ring were as declared when its barrier passed. ``stale``
    counts the states of MachineDeployments of this generation, and those of them in which the
    Machines' conditions say that all is done while the new MachineSet has too few.
    """

    def __init__(self, out: Path, client: Client, mirror: Mirror, hosts: Hosts, url: str) -> None:
        self.out, self.client, self.mirror, self.hosts, self.url = out, client, mirror, hosts, url
        self.work, self.seen = out / "work", dict[str, Json]()
        self.began: dict[tuple[str, str], float] = {}
        self.passed: dict[tuple[str, str], float] = {}
        self.fit: dict[tuple[str, str], bool] = {}
        self.stale = [0, 0]
        mirror.listen(self._note)

    def _note(self, kind: str, _: Json | None, now: Json | None) -> None:
        if now and kind == "Kustomization":
            self._note_revision(now, now.get("status", {}))
        if now and kind == "MachineDeployment":
            status, wanted = now.get("status", {}), now["spec"]["replicas"]
            if observed(now):
                done = status.get("upToDateReplicas") == status.get("replicas") == wanted
                quiet = done and condition(now, "RollingOut").get("status") == "False"
                self.stale[0] += 1
                self.stale[1] += (
                    quiet and status["deprecated"]["v1beta1"]["updatedReplicas"] != wanted
                )

    def _note_revision(self, now: Json, status: Json) -> None:
        name = "/".join(key_of(now))
        if tried := status.get("lastAttemptedRevision"):
            self.began.setdefault((name, tried), time.monotonic())
        passed = name, status.get("lastAppliedRevision", "")
        if passed[1] and passed not in self.passed:
            self.passed[passed] = time.monotonic()
            if "fleet.ring-" in name:
                self.fit[passed] = settled(self.mirror, POOL, SITES[int(name[-1])])

    def render(self, number: int, soak: int = 0) -> None:
        """Render a state of the fleet into the work tree."""
        repository(self.out / "repository", STATES[number], soak)
        render(self.out / "repository", self.work, self.url)

    def commit(self) -> str:
        """Commit the work tree; the revision as Flux writes it."""
        self._git("add", "--all")
        self._git("commit", "--quiet", "--message", "rendered")
        return f"main@sha1:{self._git('rev-parse', 'HEAD').strip()}"

    def _git(self, *arguments: str) -> str:
        who = ("-c", "user.name=trial", "-c", "user.email=trial@trial.example")
        command = ["git", "-C", str(self.work), *who, *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    def wait(self, what: str, done: Callable[[], Any]) -> None:
        """Wait until something holds. Raises TimeoutError with what Flux says."""
        end = time.monotonic() + LIMIT_SECONDS
        while not done():
            if self.hosts.fault or time.monotonic() > end:
                said = [
                    (key_of(each), condition(each, "Ready")) for each in self.mirror.all(FLUX[1])
                ]
                raise TimeoutError(f"{what}: {json.dumps(said, indent=1)} {self.hosts.fault}")
            time.sleep(0.1)

    def has_passed(self, revision: str) -> Json:
        """Wait until the last ring has passed; what was seen of each ring."""
        begin, rings, before = time.monotonic(), [], 0.0
        self.wait(revision, lambda: (f"{NAMESPACE}/fleet.ring-2", revision) in self.passed)
        for number, name in enumerate(SITES):
            barrier = f"{NAMESPACE}/fleet.ring-{number}", revision
            site, own = (f"{NAMESPACE}/{name}", revision), (f"{name}/{name}", revision)
            waited = before <= self.began[site] <= self.passed[site] <= self.began[own]
            soaked = self.passed[barrier] - self.passed[site]
            rings.append({"waited": waited, "fit": self.fit[barrier], "soaked": soaked})
            before = self.passed[barrier]
        management = self.passed[f"{NAMESPACE}/fleet.management", revision]
        first = management <= self.began[f"{NAMESPACE}/{SITES[0]}", revision]
        return {"rings": rings, "first": first, "seconds": time.monotonic() - begin}

    def never_tried(self, revision: str, *sites: str) -> bool:
        """True if sites never tried a revision."""
        every = (f"{space}/{name}" for name in sites for space in (NAMESPACE, name))
        return not any((each, revision) in self.began for each in every)

    def uids(self, *sites: str) -> Json:
        """The uids of what sites consist of, with the mark of a deletion."""
        found = ((kind, each["metadata"]) for kind in WHOLE for each in self.mirror.all(kind))
        return {
            f"{kind} {m['namespace']}/{m['name']}": [m["uid"], m.get("deletionTimestamp")]
            for kind, m in found
            if m["namespace"] in (sites or SITES)
        }


def programs_are_ready(play: Play, check: Json) -> None:
    """Write what the operators of Cluster API and Ironic would: none of them runs here."""
    where = check["apiVersion"], check["kind"], check["name"], check["namespace"]
    play.wait(check["kind"], lambda: play.client.get(*where))
    now = play.client.get(*where) or {}
    seen = {"observedGeneration": now["metadata"]["generation"]}
    said = {"type": "Ready", "status": "True", "reason": "Fake", "message": "", **seen}
    status = {"conditions": [{**said, "lastTransitionTime": "2026-01-01T00:00:00Z"}]}
    if check["kind"] != "Ironic":
        status |= seen
    merge(play.client, now, {"status": status}, "status")


def first(play: Play) -> Json:
    """From nothing: a person applies the source, and makes the Secrets that no site makes."""
    play.render(0)
    revision = play.commit()
    source = play.work / "rendered" / "flux" / "trial" / "fleet" / "source.yaml"
    for body in yaml.safe_load_all(source.read_text()):
        play.client.apply(body)
    management = yaml.safe_load(source.with_name("management.yaml").read_text())
    for each in management["spec"]["healthChecks"]:
        programs_are_ready(play, each)
    there = partial(play.client.get, "v1", "Namespace")
    for name in SITES:
        play.wait(f"namespace {name}", partial(there, name))
        world.prepare(play.client, name, play.out)
    return play.has_passed(revision)


def good(play: Play) -> Json:
    """Another content of a pool, and while the first ring rolls a commit with one more: that passes
    all rings, each after a soak."""
    play.render(1)
    between = play.commit()
    play.wait("the first ring", lambda: (f"{NAMESPACE}/{SITES[0]}", between) in play.began)
    play.render(2, soak=1)
    seen = play.has_passed(play.commit())
    return {"others": play.never_tried(between, *SITES[1:]), **seen}


def bad(play: Play) -> Json:
    """The first ring's hosts do not come up; a fix is committed, and goes on by itself."""
    play.hosts.broken = SITES[0]
    play.render(3)
    was, revision = play.uids(*SITES[1:]), play.commit()

    def failed() -> bool:
        found = play.mirror.get(FLUX[1], SITES[0], NAMESPACE) or {}
        tried = found["status"].get("lastAttemptedRevision") == revision
        return tried and condition(found, "Healthy").get("status") == "False"

    play.wait("a failure", failed)
    time.sleep(WATCH_SECONDS)
    seen = {"others": play.never_tried(revision, *SITES[1:]), "same": play.uids(*SITES[1:]) == was}
    seen["passed"] = (f"{NAMESPACE}/{SITES[0]}", revision) in play.passed
    pool = play.mirror.get("MachineDeployment", POOL, SITES[0]) or {}
    seen["rolls"] = condition(pool, "RollingOut").get("status") == "True"
    play.hosts.broken = ""
    play.render(4)
    return {**seen, **play.has_passed(play.commit())}


def removed(play: Play) -> Json:
    """Files that go delete nothing: of hosts and checks, and of a site's whole Kustomization."""
    was, folder = play.uids(), play.work / "rendered"
    for kind in ("baremetalhost", "machinehealthcheck"):
        (folder / SITES[0] / "management" / "machines" / f"{kind}.yaml").unlink()
    (folder / "flux" / "trial" / "fleet" / "sites" / f"{SITES[2]}.yaml").unlink()
    barrier = folder / "flux" / "trial" / "fleet" / "rings" / "2.yaml"
    body = yaml.safe_load(barrier.read_text())
    others = [each for each in body["spec"]["dependsOn"] if each["name"] != SITES[2]]
    barrier.write_text(yaml.safe_dump({**body, "spec": {**body["spec"], "dependsOn": others}}))
    revision = play.commit()
    play.wait("the last ring", lambda: (f"{NAMESPACE}/fleet.ring-2", revision) in play.passed)
    there = play.mirror.get(FLUX[1], SITES[2], NAMESPACE)
    return {"same": play.uids() == was, "there": there is not None}


def drift(play: Play) -> Json:
    """What is changed by hand is put right; what the Metal3 provider writes stays."""
    found = (play.mirror.all(kind) for kind in ("MachineDeployment", "BareMetalHost"))
    pool, host = (next(e for e in f if e["metadata"]["namespace"] == SITES[1]) for f in found)
    certificate = host["spec"]["bmc"]["disableCertificateVerification"]
    merge(play.client, pool, {"metadata": {"labels": {"foresite.dev/site": "wrong"}}})
    edit = {"online": False, "bmc": {"disableCertificateVerification": not certificate}}
    merge(play.client, host, {"spec": edit})

    def now() -> tuple[str, bool, bool]:
        pair = (play.mirror.get(e["kind"], e["metadata"]["name"], SITES[1]) for e in (pool, host))
        there, spec = (each or {} for each in pair)
        bmc = spec["spec"]["bmc"]["disableCertificateVerification"]
        return there["metadata"]["labels"]["foresite.dev/site"], bmc, spec["spec"]["online"]

    play.wait("the edit", lambda: now() == ("wrong", not certificate, False))
    play.wait("drift put right", lambda: now()[:2] == (SITES[1], certificate))
    return {"online": now()[2]}


def deleted(play: Play) -> Json:
    """All of Flux's own objects go, and nothing that they applied."""
    was, every = play.uids(), play.mirror.all(FLUX[1])
    for each in sorted(every, key=lambda e: e["metadata"]["name"] != "fleet.root"):
        play.client.delete(*FLUX, each["metadata"]["name"], each["metadata"]["namespace"])
    play.wait("deletion", lambda: not play.mirror.all(FLUX[1]))
    time.sleep(3)
    return {"same": play.uids() == was, "objects": len(was)}


STEPS = (first, good, bad, removed, drift, deleted)


def main(out: Path) -> Json:
    """Play all steps in one world."""
    tools, clock = locate(GROUPS), time.monotonic()
    subprocess.run(["git", "init", "--quiet", "--initial-branch=main", out / "work"], check=True)
    with world.managed(tools, out) as (plane, client, mirror), plane.client() as its_own:
        folders = [
            tools[name].path.parent for name in ("kustomize-controller", "source-controller")
        ]
        crds = [path for each in folders for path in each.glob("*.toolkit.fluxcd.io_*.yaml")]
        install_crds(client, [yaml.safe_load(path.read_text()) for path in crds])
        for each in ("Cluster", "MachineHealthCheck"):
            mirror.follow(world.CLUSTER, each)
        mirror.follow(*FLUX)
        with (
            Hosts(its_own, mirror) as hosts,
            git_server(out) as url,
            controllers(tools, out, plane.kubeconfig()),
        ):
            play = Play(out, client, mirror, hosts, f"{url}/work/.git")
            for step in STEPS:
                play.seen[step.__name__] = step(play)
                print(f"{time.monotonic() - clock:6.1f} {step.__name__}", flush=True)
    counted = {"changes": play.stale[0], "stale": play.stale[1]}
    return {**play.seen, **counted, "seconds": time.monotonic() - clock}


if __name__ == "__main__":
    record(main)
