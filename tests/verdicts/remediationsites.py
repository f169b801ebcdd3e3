"""Fault remediation of a whole site: for the first time, no longer, and in another namespace."""

from components.effects.vocabulary import Action, Impact
from tests.verdicts.cachesites import LAB, TSUKUBA_ALL
from tests.verdicts.edits import applied, site
from tests.verdicts.healing import (
    ALL_REPAIRED,
    BEGINS,
    CONTROL_PODS,
    COPIED,
    CREATED,
    DEPLOYED,
    ENDS,
    KINDS,
    REPAIRED,
    setting,
    with_remediation,
    without_remediation,
)
from tests.verdicts.row import ANY, PROTECTED, Expected, Row, Verdict, restarted

_OTHER_NAMESPACE = {
    "Namespace/node-remediation": Action.REFUSED,
    "Namespace/repairs": Action.ADDED,
    "ClusterRoleBinding/*": Action.CHANGED,
    "NodeOperationTemplate/*": Action.CHANGED,
    **{
        f"{kind}/*": Action.REPLACED
        for kind in ("DaemonSet", "Deployment", "PodDisruptionBudget", "ServiceAccount")
    },
    **{f"ConfigMap/{name}*": Action.REPLACED for name in ("node-problem", "turns")},
}
_REPAIRS = {
    "ServiceAccount/reboots/management": Action.DELETED,
    "*Role*/reboots*": Action.DELETED,
    "*Role*/turns": Action.DELETED,
    "*Role*/node-operation-controller": Action.DELETED,
    "ServiceAccount/turns": Action.DELETED,
    "ServiceAccount/reboots": Action.DELETED,
    "ServiceAccount/node-operation-controller": Action.DELETED,
    "ValidatingAdmissionPolicy*": Action.DELETED,
    "Deployment/*": Action.DELETED,
    "PodDisruptionBudget/*": Action.DELETED,
    "ConfigMap/turns*": Action.DELETED,
    **{f"{kind}/*": Action.DELETED for kind in KINDS},
    "PodMonitor/foresite-node-operation-controller": Action.DELETED,
    "PodMonitor/foresite-turns": Action.DELETED,
    "ConfigMap/foresite-custom-resources": Action.DELETED,
}
"""All that goes with the last healer."""
_MARKS = {"ValidatingAdmissionPolicy/node-marks": Action.CHANGED}
"""Whom it lets pass goes with the namespace."""
_DETECTORS = {
    "Namespace/node-remediation": Action.REFUSED,
    "ServiceAccount/node-problem-detector": Action.DELETED,
    "ClusterRoleBinding/node-problem-detector": Action.DELETED,
    "*/node-problem-detector/*": Action.DELETED,
    "ConfigMap/foresite-repairs-dashboard": Action.DELETED,
}
"""All that goes where nobody looks for faults any more; a dashboard would show nothing."""
_NO_HEALERS = site("tsukuba-1", "  healers: [{name: boards, pools: [mncore2], eviction: delete}]\n"
                   "  controller: {image: registry.example/remediation/node-operation-controller:"
                   "v0.2.2@sha256:7c1e5a90b3d24f6881a0c9e7d5b3f1a2648c0e9d7b5a3f1c2e4d6b8a09f7e5d3}"
                   "\n  repair_image: registry.example/remediation/node-repair:v0.1.0@sha256:"
                   "5b0d8f2e6a4c1973e8d5b7f09a3c6e1d4f82b05a7c9e3d1f6a8b2c4e0d7f9135\n",
                   "")  # fmt: skip
_TOKYO, _TSUKUBA, _LAB = (applied(name) for name in ("tokyo-1", "tsukuba-1", "lab-1"))
_EITHER = Verdict(Impact.POD_RESTART, None, ANY, (Impact.UNKNOWN,))

ROWS = (
    Row("remediation: namespace: another one", (setting("namespace: repairs"),),
        {"tokyo-1": Expected({"control": restarted(), **dict.fromkeys(ALL_REPAIRED, _EITHER)},
                             _OTHER_NAMESPACE, {"Namespace": 1})},
        f"{PROTECTED}; {CREATED}; {COPIED}: a repair that is under way loses the account of its "
        "job, and Git does not say whether there is one; Pulumi makes the new before it deletes "
        "the old, so both give turns for a while", (_TOKYO,)),
    Row("remediation: nobody mends any more", (_NO_HEALERS,),
        {"tsukuba-1": Expected(CONTROL_PODS, _REPAIRS)}, f"{ENDS}; {DEPLOYED}", (_TSUKUBA,)),
    Row("remediation: no longer, where nobody mended", (without_remediation("lab-1"),),
        {"lab-1": Expected(LAB, _DETECTORS, {"Namespace": 1})}, f"{PROTECTED}; {CREATED}",
        (_LAB,)),
    Row("remediation: no longer", (without_remediation("tsukuba-1"),),
        {"tsukuba-1": Expected(TSUKUBA_ALL, {**_MARKS, **_DETECTORS, **_REPAIRS,
                                             "PodMonitor/foresite-node-*": Action.DELETED,
                                             "PrometheusRule/foresite-repairs": Action.DELETED},
                               {"Namespace": 1})},
        f"{PROTECTED}; {CREATED}; {ENDS}", (_TSUKUBA,)),
    Row("remediation: for the first time, where nobody mends", (with_remediation("lab-1"),),
        {"lab-1": Expected(LAB, {"DaemonSet/node-problem-detector/*": Action.ADDED})}, CREATED,
        (_LAB, without_remediation("lab-1"))),
    Row("remediation: for the first time", (with_remediation("tokyo-1"),),
        {"tokyo-1": Expected({**CONTROL_PODS, **ALL_REPAIRED},
                             {"DaemonSet/node-problem-detector/*": Action.ADDED})},
        f"{CREATED}; {BEGINS}", (_TOKYO, without_remediation("tokyo-1"))),
    Row("remediation: for the first time, on a site whose cluster does not answer yet",
        (with_remediation("tokyo-1"),), {"tokyo-1": Expected()},
        "components/shell.py: without a context nothing is registered in the site's own cluster",
        (without_remediation("tokyo-1"),)),
    Row("remediation: the context of a cluster: repairs are applied for the first time",
        (_TSUKUBA,), {"tsukuba-1": Expected({**TSUKUBA_ALL, "mncore2": REPAIRED})},
        f"components/shell.py; {CREATED}; {BEGINS}"),
)  # fmt: skip
