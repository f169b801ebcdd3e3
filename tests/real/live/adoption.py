"""``python -m tests.real.live.adoption OUT ENGINE STEP...``: a cluster that an engine applied is
adopted, under the real Metal3 (metal3_world.py); what its machines did as JSON in OUT.

ENGINE is ``kubectl``, which applies the cluster's objects as clusterctl's users do, or the field
manager under which they are applied: no Flux and no Argo CD runs. What Flux would apply comes from
a Kustomize overlay, built by kubectl.
"""

import contextlib
import io
import json
import os
import re
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlencode
from urllib.request import urlopen

import yaml

from components.effects.vocabulary import Impact
from components.machines.fleet import side_of
from components.site import objects_by_name
from controlplane import Client, ControlPlane
from foresite.cli import main as foresite
from preview.differences.compare import compare
from preview.verdict.judge import judge
from schemas.load import load_site
from tests.kit import running_cluster as cluster
from tests.kit.repository import ROOT
from tests.real.live import managers, metal3_world, nodes, world
from tests.real.live.namespace import record
from tests.real.live.patch import merge
from tools.toolchain import locate

SITE, CONTEXT = cluster.CLUSTER, "mgmt"
WATCH_SECONDS = float(os.environ.get("FORESITE_WATCH_SECONDS", "30"))
"""For so long nothing may happen to a machine. An installation takes seconds here, but the clock is
the wall's."""
LOOKS = 15
"""Times within it that each object is touched, so that its controllers look at all of it: else none
of them does so in a quarter of an hour (seen with --sync-period at its 10 minutes)."""
WATCHED = ("Machine", "MachineSet", "Metal3Machine", "BareMetalHost", "Node")
TOUCHED = (*WATCHED[:-1], "MachineDeployment", "KubeadmControlPlane", "Metal3Cluster")
TRACKING = {"argocd.argoproj.io/tracking-id": "prod:cluster/prod"}
OVERLAY: dict[str, Any] = {
    "namespace": SITE,
    "resources": ["base.yaml"],
    "labels": [{"pairs": {"kustomize.toolkit.fluxcd.io/name": "clusters",
                          "kustomize.toolkit.fluxcd.io/namespace": "flux-system"}}],
    "commonAnnotations": {"example.com/team": "platform"},
    "patches": [{"target": {"kind": "MachineDeployment"}, "patch": json.dumps([
        {"op": "add", "path": "/spec/template/metadata/labels/example.com~1tier", "value": "prod"},
    ])}],
}  # fmt: skip
GENERATIONS = ("MachineDeployment", "KubeadmControlPlane", "BareMetalHost", "Metal3Cluster")
Json = dict[str, Any]


def main(out: Path, engine: str, *steps: str) -> Json:
    """Play the adoption."""
    with metal3_world.running(SITE, out) as here:
        play = Play(here, out, engine)
        play.cluster()
        for name in steps:
            began = time.monotonic()
            seen = getattr(play, name)()
            play.seen[name] = {**seen, "seconds": round(time.monotonic() - began, 1)}
            print(name, play.seen[name], flush=True)
    return play.seen


class Play:
    """The steps of an adoption; each returns what was seen."""

    def __init__(self, here: metal3_world.Metal3World, out: Path, engine: str) -> None:
        self.here, self.root, self.engine = here, out / "repository", engine
        self.seen: dict[str, Json] = {}
        plane = ControlPlane(out / "plane")
        tools = locate(metal3_world.GROUPS)
        os.environ["KUBECONFIG"] = str(plane.kubeconfig([CONTEXT]))
        os.environ["FORESITE_TRIAL"] = str(plane.directory)
        os.environ["PATH"] = f"{tools['kubectl'].path.parent}:{os.environ['PATH']}"
        (self.root / "sites").mkdir(parents=True)
        for name in ("Pulumi.yaml", "__main__.py", "components", "foresite", "policies", "preview",
                     "schemas", "uv.lock", ".venv"):  # fmt: skip
            (self.root / name).symlink_to(ROOT / name)

    def cluster(self) -> None:
        """Somebody's cluster, at rest."""
        client = self.here.client
        nodes.create(client, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SITE}})
        world.prepare(client, SITE, self.here.directory)
        bodies = self.manifests()
        hosts = [each for each in bodies if each["kind"] == "BareMetalHost"]
        for each in hosts:
            nodes.create(client, metal3_world.credentials(each))
            self.apply(each)
        free = dict.fromkeys(cluster.hosts(), "available")
        self.here.wait("hosts", lambda: self.here.states() == free)
        for each in bodies:
            if each not in hosts:
                self.apply(each)
        self.here.settle()

    def manifests(self) -> list[Json]:
        """The cluster's objects as the engine gets them from Git."""
        bodies = cluster.manifests(SITE)
        if self.engine.startswith("argocd"):
            for each in bodies:
                each["metadata"].setdefault("annotations", {}).update(TRACKING)
        if self.engine != "kustomize-controller":
            return bodies
        folder = self.root.parent / "overlay"
        folder.mkdir()
        (folder / "base.yaml").write_text("\n---\n".join(map(json.dumps, bodies)))
        (folder / "kustomization.yaml").write_text(json.dumps(OVERLAY))
        built = subprocess.run(["kubectl", "kustomize", folder], check=True, capture_output=True)
        order = {(each["kind"], each["metadata"]["name"]): n for n, each in enumerate(bodies)}
        found: list[Json] = list(yaml.safe_load_all(built.stdout))
        return sorted(found, key=lambda each: order[each["kind"], each["metadata"]["name"]])

    def apply(self, body: Json) -> None:
        """Apply an object as the engine does."""
        if self.engine != "kubectl":
            apply(self.here.client, body, self.engine)
            return
        command = ["kubectl", "--context", CONTEXT, "apply", "--filename", "-"]
        subprocess.run(command, input=json.dumps(body), text=True, check=True, capture_output=True)

    def run(self, *arguments: str) -> tuple[int, str]:
        """A command of Foresite: its exit code, and what it printed."""
        said = io.StringIO()
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            code = foresite(["--root", str(self.root), *arguments])
        return code, said.getvalue()

    def expect(self, *arguments: str) -> str:
        """A command that has to succeed."""
        code, said = self.run(*arguments)
        if code:
            raise AssertionError(f"{arguments}: {code}\n{said[-4000:]}")
        return said

    def plan(self) -> Json:
        """Read and plan, and write what only a person knows."""
        bundle = str(self.root / "bundle.json")
        self.expect("adopt", "read", "--context", CONTEXT, "--namespace", SITE, "--out", bundle)
        read = json.loads(Path(bundle).read_text())
        for each in read["items"]:  # hosts of the operator's test mode have one core
            if each["kind"] == "BareMetalHost":
                each["status"]["hardware"]["cpu"]["count"] = 64
        Path(bundle).write_text(json.dumps(read))
        planned = self.expect("adopt", "plan", bundle, "--region", "jp-east", "--format", "json")
        file = self.root / f"sites/{SITE}.yaml"
        known = {"TODO: time servers": "10.30.0.2", '"TODO: physical cores"': "64",
                 '"TODO: memory in GiB"': "256"}  # fmt: skip
        for mark, value in known.items():
            file.write_text(file.read_text().replace(mark, value))
        text = Path(bundle).read_text()
        secrets = sum(each["kind"] == "Secret" for each in json.loads(text)["items"])
        return {"plan": json.loads(planned), "secrets": secrets, "leaks": "stringData" in text}

    def prove(self) -> Json:
        """Not green while the engine may prune; and green once a person says that it stopped."""
        code, said = self.run("adopt", "prove", SITE, "--format", "json")
        stopped = self.run("adopt", "prove", SITE, "--stopped", self.engine, "--format", "json")
        return {"code": code, **json.loads(said), "stopped": stopped[0], "said": stopped[1][-2000:]}

    def up(self) -> Json:
        """Applied by Pulumi; then nothing happens to a machine for a while."""
        before, uids, generations = self.here.machines(), self.uids(), self.generations()
        counted = reconciled()
        self.expect("up", SITE, "--trial")
        during, begin, always = reconciled(), time.monotonic(), True
        for number in range(1, LOOKS + 1):
            self.touch(number)
            while time.monotonic() < begin + WATCH_SECONDS * number / LOOKS:
                always = always and self.uids() == uids and self.here.machines() == before
                time.sleep(0.2)
        after = reconciled()
        looked = {name: (n - counted[name], after[name] - n) for name, n in during.items() if n}
        return {"before": before, "after": self.here.machines(), "always": always,
                "watched": WATCH_SECONDS, "objects": uids, "reconciled": looked,
                "generations": self.generations() == generations}  # fmt: skip

    def touch(self, number: int) -> None:
        """Have each controller look at its objects, by an annotation that means nothing."""
        for body in (each for kind in TOUCHED for each in self.here.mirror.all(kind)):
            mark = {"annotations": {"example.com/look": str(number)}}
            merge(self.here.client, body, {"metadata": mark})

    def uids(self) -> Json:
        """The uids of all that runs, with the mark of a deletion."""
        found = (
            (kind, each["metadata"]) for kind in WATCHED for each in self.here.mirror.all(kind)
        )
        return {f"{kind} {m['name']}": m["uid"] + m.get("deletionTimestamp", "")
                for kind, m in found}  # fmt: skip

    def generations(self) -> Json:
        found = [each for kind in GENERATIONS for each in self.here.mirror.all(kind)]
        return {f"{e['kind']} {e['metadata']['name']}": e["metadata"]["generation"] for e in found}

    def finish(self) -> Json:
        """The fields are handed over; another up changes nothing."""
        before, generations = self.here.machines(), self.generations()
        stopped = ("--stopped", self.engine, "--stopped", "unknown")  # who touched objects
        self.expect("adopt", "finish", SITE, *stopped)
        live = self.here.client.items("cluster.x-k8s.io/v1beta2", "MachineDeployment", SITE)
        owners = {each["manager"] for one in live for each in one["metadata"]["managedFields"]}
        self.expect("up", SITE, "--trial", "--refresh")
        time.sleep(metal3_world.QUIET_SECONDS)
        same = self.here.machines() == before and self.generations() == generations
        return {"owners": sorted(owners), "same": same}

    def leave(self) -> Json:
        """The workers' MachineDeployment leaves the file of kept objects: the first wanted roll."""
        return self.merge(lambda kept: [e for e in kept if e["kind"] != "MachineDeployment"])

    def ask_for_a_rollout(self) -> Json:
        """``rollout.after`` is due: it is later than the MachineSet."""
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        return self.merge(lambda kept: edit(kept, "MachineDeployment", "rollout", after=now))

    def add_a_byte(self) -> Json:
        """A space more in a file of the control plane."""
        return self.merge(lambda kept: edit(
            kept, "KubeadmControlPlane", "kubeadmConfigSpec", "files", 0,
            content="two  spaces, and no end of line\n\ttab "))  # fmt: skip

    def add_a_label(self) -> Json:
        """A label of the machines, which is no rule of those that replace them."""
        label = {"node.cluster.x-k8s.io/pool": "workers"}
        where = ("MachineDeployment", "template", "metadata", "labels")
        return self.merge(lambda kept: edit(kept, *where, **label))

    def merge(self, change: Callable[[list[Json]], list[Json]]) -> Json:
        """A change of the file of kept objects: what the preview says of it, and, once it is
        applied, the hosts whose machines were replaced."""
        file, sides = self.root / f"sites/adopted/{SITE}.yaml", []
        before, was = self.here.machines(), file.read_text()
        for text in (was, yaml.safe_dump_all(change(list(yaml.safe_load_all(was))))):
            file.write_text(text)
            site = load_site(self.root, SITE).site
            assert site, text
            sides.append(side_of(site, objects_by_name(site)))
        verdict = judge(compare(SITE, *sides), {}, {})
        self.expect("up", SITE, "--trial", "--allow", "grow=100")
        self.here.settle()
        rolled = sorted(e.host for e in verdict.hosts if e.impact is Impact.REIMAGE)
        others = {e.impact.value for e in verdict.hosts} - {"none", Impact.REIMAGE.value}
        seen = changed(before, self.here.machines())
        return {**seen, "preview": rolled, "others": sorted(others)}


def edit(kept: list[Json], kind: str, *path: str | int, **values: str) -> list[Json]:
    """The kept objects with other values in the spec of the one of a kind."""
    (at,) = (each["spec"] for each in kept if each["kind"] == kind)
    for step in path:
        at = at[step]
    at.update(values)
    return kept


def reconciled() -> dict[str, int]:
    """How often each controller of the managers has looked at an object so far."""
    found: dict[str, int] = {}
    count = re.compile(r'(?m)^controller_runtime_reconcile_total\{controller="(.+?)".*\} (\S+)$')
    for number in range(len(managers.NAMES) + len(managers.METAL3)):
        with urlopen(f"http://127.0.0.1:{managers.FIRST_PORT + 20 + number}/metrics") as answer:
            for name, times in count.findall(answer.read().decode()):
                found[name] = found.get(name, 0) + int(float(times))
    return found


def changed(before: Json, after: Json) -> Json:
    """The uids before and after, and the hosts whose machine is another."""
    hosts = sorted(before.keys() | after.keys())
    replaced = [each for each in hosts if before.get(each) != after.get(each)]
    return {"before": before, "after": after, "replaced": replaced}


def apply(client: Client, body: Json, engine: str) -> None:
    """Server-side apply under another's name."""
    metadata = body["metadata"]
    path = client._path(body["apiVersion"], body["kind"], metadata["namespace"], metadata["name"])
    query = urlencode({"fieldManager": engine, "fieldValidation": "Strict"})
    client.request("PATCH", f"{path}?{query}", body, "application/apply-patch+yaml")


if __name__ == "__main__":
    record(main)
