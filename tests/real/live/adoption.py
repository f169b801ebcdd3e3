"""``python -m tests.real.live.adoption OUT ENGINE STEP...``: a cluster that an engine applied is
adopted, under the real Metal3 (metal3_world.py); what its machines did as JSON in OUT.

ENGINE is ``kubectl``, which applies the cluster's objects as clusterctl's users do, or the field
manager under which they are applied: no Flux and no Argo CD runs.
"""

import contextlib
import copy
import io
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from controlplane import Client, ControlPlane
from foresite.cli import main as foresite
from tests.kit import running_cluster as cluster
from tests.kit.repository import ROOT
from tests.real.live import metal3_world, nodes, world
from tests.real.live.namespace import raise_loopback
from tests.real.live.patch import merge
from tools.toolchain import locate

SITE, CONTEXT = cluster.CLUSTER, "mgmt"
WATCH_SECONDS = 30.0
"""For so long nothing may happen to a machine; an installation takes a few seconds here."""
GENERATIONS = ("MachineDeployment", "KubeadmControlPlane", "BareMetalHost", "Metal3Cluster")
Json = dict[str, Any]


def main(arguments: list[str]) -> int:
    """Play the adoption, and write ``result.json``."""
    raise_loopback()
    out, engine = Path(arguments[0]), arguments[1]
    with metal3_world.running(SITE, out) as here:
        play = Play(here, out, engine)
        play.cluster()
        for name in arguments[2:]:
            began = time.monotonic()
            seen = getattr(play, name)()
            play.seen[name] = {**seen, "seconds": round(time.monotonic() - began, 1)}
            print(name, play.seen[name], flush=True)
    (out / "result.json").write_text(json.dumps(play.seen, indent=1), encoding="utf-8")
    return 0


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
        bodies = cluster.manifests(SITE)
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
        before, generations = self.here.machines(), self.generations()
        self.expect("up", SITE, "--trial")
        return {"before": before, **self.watch(before),
                "generations": self.generations() == generations}  # fmt: skip

    def generations(self) -> Json:
        found = [each for kind in GENERATIONS for each in self.here.mirror.all(kind)]
        return {f"{e['kind']} {e['metadata']['name']}": e["metadata"]["generation"] for e in found}

    def watch(self, before: Json) -> Json:
        """The uids after a while, and whether they ever were others."""
        until, always = time.monotonic() + WATCH_SECONDS, True
        while time.monotonic() < until:
            always = always and self.here.machines() == before
            time.sleep(0.2)
        return {"after": self.here.machines(), "always": always}

    def finish(self) -> Json:
        """The fields are handed over; another up changes nothing."""
        before, generations = self.here.machines(), self.generations()
        self.expect("adopt", "finish", SITE, "--stopped", self.engine)
        live = self.here.client.items("cluster.x-k8s.io/v1beta2", "MachineDeployment", SITE)
        owners = {each["manager"] for one in live for each in one["metadata"]["managedFields"]}
        self.expect("up", SITE, "--trial", "--refresh")
        time.sleep(metal3_world.QUIET_SECONDS)
        same = self.here.machines() == before and self.generations() == generations
        return {"owners": sorted(owners), "same": same}

    def leave(self) -> Json:
        """The workers' MachineDeployment leaves the file of kept objects: the first wanted roll."""
        before, file = self.here.machines(), self.root / f"sites/adopted/{SITE}.yaml"
        kept = shutil.copy(file, file.with_suffix(".before"))
        documents = Path(kept).read_text().split("---\n")
        file.write_text("---\n".join(
            each for each in documents if "\nkind: MachineDeployment\n" not in each
        ))  # fmt: skip
        self.expect("up", SITE, "--trial", "--allow", "grow=100")
        self.here.settle()
        return changed(before, self.here.machines())

    def ask_for_a_rollout(self) -> Json:
        """``rollout.after`` is due: it is later than the MachineSet."""
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        return self.roll("MachineDeployment", {"spec": {"rollout": {"after": now}}})

    def add_a_byte(self) -> Json:
        """A space more in a file of the control plane."""
        (body,) = self.here.mirror.all("KubeadmControlPlane")
        config = copy.deepcopy(body["spec"]["kubeadmConfigSpec"])
        config["files"][0]["content"] += " "
        return self.roll("KubeadmControlPlane", {"spec": {"kubeadmConfigSpec": config}})

    def add_a_label(self) -> Json:
        """A label of the machines, which is no rule of those that replace them."""
        labels = {"node.cluster.x-k8s.io/pool": "workers"}
        change = {"spec": {"template": {"metadata": {"labels": labels}}}}
        return self.roll("MachineDeployment", change)

    def roll(self, kind: str, change: Json) -> Json:
        """A change that no prediction is asked of, and the hosts whose machines were replaced."""
        before, (body,) = self.here.machines(), self.here.mirror.all(kind)
        merge(self.here.client, body, change)
        self.here.settle()
        return changed(before, self.here.machines())


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
    sys.exit(main(sys.argv[1:]))
