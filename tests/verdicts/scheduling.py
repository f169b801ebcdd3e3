"""Schedulers: their programs, gangs, throttlers, and which pools they serve."""

from collections.abc import Mapping

from components.effects.vocabulary import Action, Impact
from schemas.model.codes import Code
from tests.verdicts.edits import DIGEST, Edit, applied, image, site
from tests.verdicts.row import (
    ANY,
    CONTROL,
    KCP_ROLLS,
    PROTECTED,
    SAME,
    Expected,
    Invalid,
    Row,
    Verdict,
    restarted,
)

_PODS = (
    "Kubernetes 1.34.3, pkg/controller/deployment: the scheduler's pods, on the control plane, are "
    "made anew; no running job is touched, and none starts in the gap"
)
_READ_ONCE = (
    f"{_PODS}; cmd/kube-scheduler/app/options: the configuration is read at the start, so its hash "
    "renews them"
)
_GANGS = (
    "pfnet/scheduler-plugins f63b46e, plugins/gang/gangs.go: gangs under another prefix are none, "
    "so pods that run are no longer deleted together"
)
_ELSEWHERE = (
    "Kubernetes 1.34.3, pkg/apis/core/validation: schedulerName of a pod cannot change; pods that "
    "run stay where they are"
)
_QUEUES = (
    "Kueue 0.19.2, pkg/controller/core/clusterqueue_controller.go: a ClusterQueue that goes waits "
    "for its workloads' end, and they go on"
)
_DEFAULT_FILE = (
    f"{KCP_ROLLS}: which resources the default scheduler ignores is a file of the control plane"
)
_APPLIED = applied("tokyo-1")
_THROTTLER = "        throttler: gang-scheduler\n"
_GANG = "gang: {annotation_prefix: gang-scheduling.example.com/gang}"
_PREFIX = "annotation_prefix: gang-scheduling.example.com/gang"
_KIND = "kind: kube-scheduler\n      "
_POOLS = f"{_KIND}pools: [v100, a100, h100]"
_LIMITS = ", off_peak: {v100-sxm2-32gb: 768}"
_HOURS = "  off_peak: {time_zone: Asia/Tokyo, first_day: 2026-12-01, last_day: 2027-03-31}\n"
_SAME_HOURS = (site("tokyo-1", _LIMITS, ""), site("tokyo-1", _HOURS, ""))
"""A quota knows no hours, so nobody has other limits off-peak."""
_SECOND = f"""\
    - name: large
      kind: kube-scheduler
      pools: [h100]
      scheduler:
        image: registry.example/scheduler:v1.0.0@sha256:{DIGEST}
        throttler: large
"""
_TWO = site("tokyo-1", "  priorities:\n    -", f"{_SECOND}  priorities:\n    -")
_ONE_KUEUE = "    - {name: kueue, kind: kueue, pools: [mncore2]}\n"
_TOPOLOGY = site("tsukuba-1", "kind: kueue, pools: [mncore2]}",
                 "kind: kueue, pools: [mncore2], topology: [zone, rack, host]}")  # fmt: skip
_LEVELS = (
    "Kueue 0.19.2, apis/kueue/v1beta2 (levels and flavours with a topology are immutable): others "
    "take their place; running jobs keep theirs, and pending jobs are judged anew"
)
_OWN = f"""\
    - name: own
      kind: kube-scheduler
      pools: [mncore2]
      scheduler: {{image: "registry.example/scheduler:v1.0.0@sha256:{DIGEST}", throttler: own}}
"""
_KUEUE_GOES = {
    "ResourceFlavor/*": Action.DELETED,
    "Cohort*": Action.DELETED,
    "ClusterQueue/*": Action.DELETED,
    "LocalQueue/*": Action.DELETED,
    "WorkloadPriorityClass/*": Action.DELETED,
    "ServiceMonitor/foresite-kueue": Action.DELETED,
    "ValidatingAdmissionPolicy*/tiers.teams": Action.DELETED,
}
_RESTARTED = {"control": restarted()}
_CANARY = (
    "Kubernetes 1.34.3, pkg/controller/garbagecollector: a CronJob's running job goes with it, "
    "here one canary pod on a host of the scheduler's pools"
)
_GPUS = ("v100", "a100", "h100")
_WITH_CANARY = {
    **_RESTARTED,
    **{pool: Verdict(Impact.POD_RESTART, None, ANY, (Impact.UNKNOWN,)) for pool in _GPUS},
}


def _tokyo(
    name: str,
    edits: Edit | tuple[Edit, ...],
    pools: Mapping[str, Verdict],
    source: str,
    *base: Edit,
    actions: Mapping[str, Action] | None = None,
    deletions: Mapping[str, int] | None = None,
) -> Row:
    expected = Expected(pools, actions or {}, deletions or {})
    return Row(f"scheduler: {name}", edits if isinstance(edits, tuple) else (edits,),
               {"tokyo-1": expected}, source, (_APPLIED, *base))  # fmt: skip


def _tsukuba(
    name: str,
    edit: Edit,
    pools: Mapping[str, Verdict],
    source: str,
    actions: Mapping[str, Action],
    *base: Edit,
) -> Row:
    expected = Expected(pools, actions)
    return Row(f"scheduler: {name}", (edit,), {"tsukuba-1": expected}, source,
               (applied("tsukuba-1"), *base))  # fmt: skip


def _set(old: str, new: str) -> Edit:
    return site("tokyo-1", old, new)


def _few(number: int) -> Edit:
    return _set(_THROTTLER, f"{_THROTTLER}        replicas: {number}\n")


_PROGRAM = (
    _tokyo("its image", _set("throttler:v1.0.0@sha256:4be6", "throttler:v1.0.1@sha256:4be7"),
           _RESTARTED, _PODS),
    _tokyo("its command", _set(_THROTTLER, f"{_THROTTLER}        command: [/scheduler]\n"),
           _RESTARTED, _PODS),
    _tokyo("a replica more", _few(3),
           {"control": Verdict(Impact.NONE, None, ANY, (Impact.POD_RESTART,))},
           "Kubernetes 1.34.3, pkg/controller/deployment: a standby more, and no pod restarts"),
    _tokyo("a replica less", _few(1), _RESTARTED,
           "Kubernetes 1.34.3, pkg/controller/replicaset: one pod ends; if it led, another leads "
           "or comes", actions={"Deployment/gang-scheduler": Action.CHANGED}),
    *(
        _tokyo(f"gangs: {text.partition(':')[0]}", _set(_PREFIX, f"{_PREFIX}, {text}"),
               _RESTARTED, _READ_ONCE)
        for text in ("timeout_seconds: 60", "timeout_limit_seconds: 300", "jitter_seconds: 10")
    ),
    _tokyo("gangs: what their annotations start with",
           _set(_PREFIX, "annotation_prefix: g.example/g"),
           {**_RESTARTED,
            **{pool: Verdict(Impact.NONE, None, ANY, (Impact.UNKNOWN,)) for pool in _GPUS}},
           f"{_READ_ONCE}; {_GANGS}"),
    _tokyo("gangs no more", _set(f"        {_GANG}\n", ""), _WITH_CANARY,
           f"{_READ_ONCE}; {_GANGS}; {_CANARY}",
           actions={
               "CronJob/gang-scheduler": Action.DELETED,
               "PriorityClass/gang-canary": Action.DELETED,
               "ValidatingAdmissionPolicy*/gang*": Action.DELETED,
           }),
    _tokyo("the throttler's name", _set("throttler: gang-scheduler", "throttler: limits"),
           _RESTARTED,
           f"{_READ_ONCE}; kube-throttler 1.7.4, pkg/controllers: throttles of another name are "
           "not counted, and nobody is evicted",
           actions={"ClusterThrottle/*": Action.CHANGED}),
    _tokyo("quotas in the throttler's place", _set(_THROTTLER, ""), _RESTARTED,
           f"{_READ_ONCE}; Kubernetes 1.34.3, plugin resourcequota: a quota evicts nobody",
           *_SAME_HOURS,
           actions={"ClusterThrottle/*": Action.DELETED,
                    "ResourceQuota/*/accelerators": Action.ADDED}),
    _tokyo("the image of the canary", image("busybox"), {},
           "Kubernetes 1.34.3, pkg/controller/cronjob: later jobs are made of it",
           actions={"CronJob/gang-scheduler": Action.CHANGED}),
)  # fmt: skip
_SERVED = (
    _tokyo("another name", _set("- name: gang-scheduler", "- name: jobs"), _WITH_CANARY,
           f"{_PODS}; {_ELSEWHERE}; {_CANARY}",
           actions={
               **{
                   f"{kind}/gang-scheduler*": Action.DELETED
                   for kind in ("ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role",
                                "RoleBinding", "ConfigMap", "Deployment", "PodDisruptionBudget",
                                "Service", "NetworkPolicy", "CronJob")
               },
               "ValidatingAdmissionPolicy*/gang-gang-scheduler*": Action.DELETED,
               "ClusterThrottle/*/gang-scheduler": Action.DELETED,
               "ServiceMonitor/foresite-scheduler-gang-scheduler": Action.DELETED,
           }),
    _tokyo("another namespace", _set("scheduling:\n", "scheduling:\n  namespace: schedulers\n"),
           _WITH_CANARY, f"{_PODS}; {PROTECTED}; {_CANARY}",
           actions={"Namespace/scheduling": Action.REFUSED,
                    "Deployment/gang-scheduler": Action.REPLACED},
           deletions={"Namespace": 1}),
    _tokyo("a pool to the default scheduler", _set(_POOLS, f"{_KIND}pools: [a100, h100]"), CONTROL,
           f"{_DEFAULT_FILE}; {_ELSEWHERE}", *_SAME_HOURS,
           actions={"Deployment/gang-scheduler": Action.CHANGED,
                    "ResourceQuota/*/accelerators": Action.ADDED}),
    _tokyo("a pool from the default scheduler", _set(f"{_KIND}pools: [a100, h100]", _POOLS),
           {"control": Verdict(Impact.REIMAGE, 3, ANY)},
           f"{_DEFAULT_FILE}; {_ELSEWHERE}", *_SAME_HOURS,
           _set(_POOLS, f"{_KIND}pools: [a100, h100]"),
           actions={"ResourceQuota/*/accelerators": Action.DELETED}),
    _tokyo("a pool without accelerators", _set(_POOLS, f"{_KIND}pools: [v100, a100, h100, cpu]"),
           _RESTARTED, f"{_READ_ONCE}; {_ELSEWHERE}"),
    _tokyo("a pool to a second one of its own",
           (_set(_POOLS, f"{_KIND}pools: [v100, a100]"),
            _TWO),
           _RESTARTED, f"{_READ_ONCE}; {_ELSEWHERE}",
           actions={"Deployment/large": Action.ADDED, "ClusterThrottle/*/large": Action.ADDED}),
    Row("scheduler: pools in another order", (_set(_POOLS, f"{_KIND}pools: [h100, v100, a100]"),),
        {}, SAME, (_APPLIED,)),
    Row(
        "scheduler: backends in another order",
        (
            _set(_SECOND, ""),
            _set("  backends:\n", f"  backends:\n{_SECOND}"),
        ),
        {},
        SAME,
        (_APPLIED, _set(_POOLS, f"{_KIND}pools: [v100, a100]"),
         _TWO),
    ),
)  # fmt: skip
_KINDS = (
    _tsukuba("from Kueue to Volcano",
             site("tsukuba-1", "{name: kueue, kind: kueue,", "{name: volcano, kind: volcano,"), {},
             f"{_QUEUES}; {_ELSEWHERE}", {**_KUEUE_GOES, "Queue/*": Action.ADDED}),
    _tsukuba("from Volcano to Kueue",
             site("tsukuba-1", "{name: volcano, kind: volcano,", "{name: kueue, kind: kueue,"), {},
             "Volcano 1.15.1, pkg/webhooks/admission/queues: a queue goes, and its pods go on",
             {
                 "Queue/*": Action.DELETED,
                 "ServiceMonitor/foresite-volcano": Action.DELETED,
                 "ValidatingAdmissionPolicy*/queues.teams": Action.DELETED,
                 "ValidatingAdmissionPolicy*/schedulers*": Action.DELETED,
             },
             site("tsukuba-1", "{name: kueue, kind: kueue,", "{name: volcano, kind: volcano,")),
    _tsukuba("from Kueue to a scheduler of our own", site("tsukuba-1", _ONE_KUEUE, _OWN),
             _RESTARTED, f"{_QUEUES}; {_PODS}",
             {**_KUEUE_GOES, "Deployment/own": Action.ADDED}),
    _tsukuba("another name for Kueue's backend",
             site("tsukuba-1", "{name: kueue, kind", "{name: jobs, kind"), {}, SAME, {}),
    _tsukuba("a topology for Kueue",
             _TOPOLOGY, {}, _LEVELS,
             {"Topology": Action.ADDED, "ResourceFlavor/mncore2": Action.REPLACED,
              "Cohort*": Action.CHANGED, "ClusterQueue/*": Action.CHANGED}),
    _tsukuba("other levels for Kueue",
             site("tsukuba-1", "topology: [zone, rack, host]", "topology: [rack, host]"), {},
             _LEVELS,
             {"Topology": Action.REPLACED, "ResourceFlavor/mncore2": Action.REPLACED,
              "Cohort*": Action.CHANGED, "ClusterQueue/*": Action.CHANGED}, _TOPOLOGY),
    _tsukuba("no backend any more", site("tsukuba-1", f"  backends:\n{_ONE_KUEUE}", ""), {},
             f"{_QUEUES}; quotas in its place evict nobody",
             {**_KUEUE_GOES, "ResourceQuota/*/accelerators": Action.ADDED}),
    Row(
        "scheduler: Volcano for models that only admission knows",
        (
            site("tokyo-1", _POOLS, f"{_KIND}pools: [v100, a100]"),
            site("tokyo-1", "  priorities:\n    - {name: project",
                 "    - {name: volcano, kind: volcano, pools: [h100]}\n  priorities:\n"
                 "    - {name: project"),
        ),
        {"tokyo-1": Invalid(frozenset({Code("accelerator-unserved")}))},
        "Volcano 1.15.1, pkg/scheduler/api: every resource of a pod is looked for on nodes",
    ),
    Row(
        "scheduling no more",
        (
            site("lab-1", "\nscheduling:\n  teams: [{name: trials, namespaces: [trials], "
                 "accelerators: {t4-pcie-16gb: 2}}]\n", ""),
        ),
        {
            "lab-1": Expected(
                actions={
                    "Namespace/trials": Action.REFUSED,
                    "ValidatingAdmissionPolicy*/*.teams": Action.DELETED,
                    "ResourceQuota/trials/*": Action.DELETED,
                    "LimitRange/trials": Action.DELETED,
                    "ConfigMap/trials/*": Action.DELETED,
                    "ClusterTrainingRuntime/*": Action.DELETED,
                },
                deletions={"Namespace": 1},
            )
        },
        f"{PROTECTED}; Kubernetes 1.34.3: limits that go touch no pod",
        (applied("lab-1"),),
    ),
)  # fmt: skip
ROWS = (*_PROGRAM, *_SERVED, *_KINDS)
