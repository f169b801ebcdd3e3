"""One good object of each kind that rules look at: a test changes it in one place, and the rule
that this breaks says so.

``found`` runs one rule, found by its name, so that a test fails when the rule is not joined either.
"""

import copy
import json
from pathlib import Path
from typing import Any

import yaml

from policies.judge import findings
from policies.rule import Found, Object
from policies.rules import RULES
from tests.kit.good_objects import GONE, Place, changed

__all__ = ["GONE", "GOOD", "POD", "WEB", "Place", "changed", "found", "good", "paths", "pod"]

Json = dict[str, Any]
DIGEST = "sha256:" + "5f1d" * 16
_READ = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text("utf-8"))
_PARTS: Json = json.loads(json.dumps(_READ))  # what YAML shares is a copy of its own here
LABELS = _PARTS["labels"]
_WIDE = ("Namespace", "NodeOperationTemplate")
"""Kinds without a namespace."""
POD: Place = ("spec", "template", "spec")
"""Where most workloads keep the spec of their pods."""
WEB: Place = (*POD, "containers", 0)
"""Their first container."""


def _metadata(kind: str) -> Json:
    where = {} if kind in _WIDE else {"namespace": "web"}
    return {"name": "web", **where, "labels": dict(LABELS)}


GOOD: dict[str, Json] = {
    each["kind"]: {**each, "metadata": _metadata(each["kind"])} for each in _PARTS["objects"]
}
"""A good object of each kind."""
GOOD["Namespace"]["metadata"]["labels"] |= {
    f"pod-security.kubernetes.io/{mode}": "restricted" for mode in ("enforce", "audit", "warn")
}


def full() -> Object:
    """A Deployment of pods with every field that a rule looks at."""
    each = good("Deployment", POD, _PARTS["full"])
    template = each.body["spec"]["template"]["metadata"]
    template["annotations"] = {
        "container.apparmor.security.beta.kubernetes.io/web": "runtime/default"
    }
    each.body["metadata"]["annotations"] = {"argocd.argoproj.io/sync-options": "Prune=false"}
    return each


def good(kind: str, place: Place = (), value: Any = None) -> Object:
    """The good object of a kind on the site's cluster, with another value at a place if one is
    given."""
    body = changed(GOOD[kind], place, value) if place else copy.deepcopy(GOOD[kind])
    return Object("site", body)


def pod(value: Any, *place: str | int) -> Object:
    """The good Deployment with another value at a place below its pods' spec."""
    return good("Deployment", (*POD, *place), value)


def found(rule: str, *objects: Object) -> list[Found]:
    """The findings of one rule in some objects."""
    (one,) = [each for each in RULES if each.name == rule]
    return [each.found for each in findings(objects, [one])]


def paths(rule: str, *objects: Object) -> list[str]:
    """The places that one rule finds."""
    return [each.path for each in found(rule, *objects)]
