"""The pods that controllers make of a job's objects, expanded by hand.

Sources: Kubernetes 1.34, pkg/controller/job (names, index); JobSet 0.12, pkg/controllers; Kubeflow
Trainer 2.2.0, pkg/runtime/core/trainingruntime.go (patches), pkg/runtime/framework/plugins/jobset
(image, command and sizes of the trainer step), plugins/mpi (the number of workers).
"""

import copy
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from components.making.manifest import Json
from components.training.objects import runtimes
from schemas.facts.site import Site

INDEX = "batch.kubernetes.io/job-completion-index"
STEP = "trainer.kubeflow.org/trainjob-ancestor-step"


class Pod(NamedTuple):
    """A pod: the part of the job that it is of, its host name, and its template."""

    part: str
    hostname: str
    template: Json

    @property
    def annotations(self) -> dict[str, str]:
        """Its annotations."""
        found: dict[str, str] = self.template.get("metadata", {}).get("annotations", {})
        return found

    @property
    def spec(self) -> Json:
        """Its spec."""
        found: Json = self.template["spec"]
        return found

    @property
    def container(self) -> Json:
        """Its one container."""
        (found,) = self.spec["containers"]
        assert isinstance(found, dict)
        return found

    def body(self, namespace: str) -> Json:
        """The pod as an object of its own; its account is what the admission plugin ServiceAccount
        writes (Kubernetes 1.34, plugin/pkg/admission/serviceaccount), which test servers lack."""
        return {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": self.hostname,
                "namespace": namespace,
                "annotations": self.annotations,
            },
            "spec": {"serviceAccountName": "default", **self.spec},
        }


def expanded(site: Site, objects: Iterable[Json]) -> list[Pod]:
    """The pods of a job."""
    every = list(objects)
    found: list[Pod] = []
    for each in every:
        if each["kind"] == "Job":
            found += _pods("worker", each["metadata"]["name"], each["spec"])
        elif each["kind"] == "JobSet":
            found += _jobs(each["metadata"]["name"], each["spec"])
        elif each["kind"] == "TrainJob":
            found += _jobs(each["metadata"]["name"], _filled(site, each, every))
    return found


def _pods(part: str, name: str, spec: Json) -> Iterator[Pod]:
    for number in range(spec["completions"]):
        template = copy.deepcopy(spec["template"])
        template.setdefault("metadata", {}).setdefault("annotations", {})[INDEX] = str(number)
        yield Pod(part, f"{name}-{number}", template)


def _jobs(name: str, spec: Json) -> Iterator[Pod]:
    for job in spec["replicatedJobs"]:
        for number in range(job["replicas"]):
            full = f"{name}-{job['name']}-{number}"
            yield from _pods(job["name"], full, job["template"]["spec"])


def _filled(site: Site, train_job: Json, every: list[Json]) -> Json:
    """The JobSet that Trainer makes of a TrainJob and its runtime."""
    wanted = train_job["spec"]["runtimeRef"]
    bodies = [*every, *(each.body for each in runtimes(site))]
    (runtime,) = [
        each
        for each in bodies
        if each["kind"] == wanted["kind"] and each["metadata"]["name"] == wanted["name"]
    ]
    spec: Json = copy.deepcopy(runtime["spec"]["template"]["spec"])
    jobs = {job["name"]: job for job in spec["replicatedJobs"]}
    trainer = train_job["spec"]["trainer"]
    jobs["node"]["template"]["spec"] |= {
        "parallelism": trainer["numNodes"],
        "completions": trainer["numNodes"],
    }
    (step,) = [
        job
        for job in jobs.values()
        if STEP in job["template"].get("metadata", {}).get("labels", {})
    ]
    (box,) = step["template"]["spec"]["template"]["spec"]["containers"]
    box |= {key: trainer[key] for key in ("image", "command") if key in trainer}
    _merge(box, {"env": trainer.get("env", [])})
    if "resourcesPerNode" in trainer:
        box["resources"] = trainer["resourcesPerNode"]
    for patch in train_job["spec"].get("runtimePatches", ()):
        for each in patch["trainingRuntimeSpec"]["template"]["spec"]["replicatedJobs"]:
            _merge(jobs[each["name"]]["template"], each["template"])
    return spec


_KEYS = {"containers": "name", "env": "name", "volumes": "name", "volumeMounts": "mountPath"}
"""Merge keys of lists in strategic merge patches (k8s.io/api, core/v1/types.go)."""


def _merge(into: Any, patch: Any) -> None:
    for key, value in patch.items():
        if isinstance(value, dict):
            _merge(into.setdefault(key, {}), value)
        elif key in _KEYS and value:
            _merge_list(into.setdefault(key, []), value, _KEYS[key])
        elif value != []:
            into[key] = value


def _merge_list(into: list[Json], patch: list[Json], name: str) -> None:
    there = {each[name]: each for each in into}
    for each in patch:
        if each[name] in there:
            _merge(there[each[name]], each)
        else:
            into.append(copy.deepcopy(each))
