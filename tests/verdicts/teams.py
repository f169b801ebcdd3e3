"""Teams: tiers of priority, promises, namespaces, other hours, and space on disk."""

from collections.abc import Mapping

from components.effects.vocabulary import Action, Impact
from schemas.model.codes import Code
from tests.verdicts.cachesites import without_cache
from tests.verdicts.edits import Edit, applied, site, together
from tests.verdicts.row import (
    ANY,
    NO_OBJECT,
    PROTECTED,
    SAME,
    Expected,
    Invalid,
    Row,
    Verdict,
    restarted,
)

_CLASS = (
    "Kubernetes 1.34.3, pkg/apis/scheduling/validation/validation.go, ValidatePriorityClassUpdate: "
    "value and preemptionPolicy cannot change; pulumi-kubernetes 4.25.0, diff.go, forceNew: the "
    "kind is not in it, so the update is sent and refused"
)
_NAMED = (
    "Kubernetes 1.34.3, plugin/pkg/admission/priority/admission.go: read when a pod is made; pods "
    "that run keep their number"
)
_QUOTA = (
    "Kubernetes 1.34.3, pkg/apis/core/validation/validation.go, ValidateResourceQuotaUpdate: hard "
    "and scopeSelector may change; a quota evicts nobody"
)
_THROTTLE = (
    "kube-throttler 1.7.4, pkg/controllers/clusterthrottle_controller.go: whoever is bound stays, "
    "and those that wait are asked again"
)
_KUEUE = (
    "Kueue 0.19.2, pkg/controller/core: admitted workloads stay above a lower limit too, and new "
    "ones wait"
)
_GOES = (
    "Kueue 0.19.2, pkg/controller/core: a ClusterQueue waits for its workloads' end, jobs that "
    "were admitted go on without their LocalQueue"
)
_LOCAL = (
    "Kueue 0.19.2, apis/kueue/v1beta2/localqueue_types.go: clusterQueue is immutable (CEL), and "
    "pulumi-kubernetes does not replace it"
)
_LATER = "Kubernetes 1.34.3, plugin/pkg/admission/limitranger: pods that are made later get it so"
_NEW = "Kubernetes 1.34.3: an empty namespace, with limits for what will be in it"
_VOLCANO = "Volcano 1.15.1, pkg/scheduler/plugins/capacity: running pods stay, new ones wait"
_LANGUAGE = "name: language, namespaces: [language]"
_BIOLOGY = "name: biology, namespaces: [biology]"
_SPARE = "    - {name: spare-time, value: 1000, preempts: false}\n"
_SPARE_LINE = (
    '    - {name: biology, namespaces: [biology], groups: ["oidc:biology"], accelerators: '
    "{v100-sxm2-32gb: 256, a100-sxm4-80gb: 32}, priorities: [spare-time]}\n"
)
_LAST_TEAM = "    - {name: chemistry, namespaces: [chemistry], accelerators: {mncore2: 160}}\n"
_FIRST_DAY = "first_day: 2026-12-01"
_ON_VOLCANO = site("tsukuba-1", "{name: kueue, kind: kueue,", "{name: volcano, kind: volcano,")
_STORAGE = "  ephemeral_storage: {request: 5Gi, limit: 40Gi, max: 100Gi}\n"


def _row(
    name: str,
    edit: Edit,
    source: str,
    *base: Edit,
    actions: Mapping[str, Action] | None = None,
    deletions: Mapping[str, int] | None = None,
    where: str = "tokyo-1",
) -> Row:
    """No row of teams touches a host: limits, tiers and namespaces are for what is made later."""
    expected = Expected({}, actions or {}, deletions or {})
    return Row(f"teams: {name}", (edit,), {where: expected}, source, (applied(where), *base))


def _set(old: str, new: str) -> Edit:
    return site("tokyo-1", old, new)


def _kueue(
    name: str,
    edit: Edit,
    source: str,
    *base: Edit,
    actions: Mapping[str, Action] | None = None,
    deletions: Mapping[str, int] | None = None,
) -> Row:
    return _row(name, edit, source, *base, actions=actions, deletions=deletions, where="tsukuba-1")


_BEYOND = _set("  teams:\n", "  overcommit_percent: {v100-sxm2-32gb: 150}\n  teams:\n")
_TIERS = (
    _row("a tier's value", _set("value: 10000", "value: 11000"), _CLASS,
         actions={"PriorityClass/project": Action.REFUSED}),
    _row("whether a tier preempts", _set("value: 1000, preempts: false", "value: 1000"), _CLASS,
         actions={"PriorityClass/spare-time": Action.REFUSED}),
    _kueue("a tier's value with Kueue",
           site("tsukuba-1", "urgent, value: 9000", "urgent, value: 9500"),
           f"{_CLASS}; Kueue 0.19.2, pkg/controller/core/workloadpriorityclass_controller.go: "
           "workloads get the new number, and their order alone changes",
           actions={"PriorityClass/urgent": Action.REFUSED,
                    "WorkloadPriorityClass/urgent": Action.CHANGED}),
    _row("no default tier", _set("value: 5000, default: true", "value: 5000"),
         f"{_NAMED}; {_QUOTA}", actions={"PriorityClass/normal": Action.CHANGED}),
    _row("a default tier", _set("value: 5000", "value: 5000, default: true"), f"{_NAMED}; {_QUOTA}",
         _set("value: 5000, default: true", "value: 5000"),
         actions={"PriorityClass/normal": Action.CHANGED}),
    _row("another default tier",
         together(_set("value: 5000, default: true", "value: 5000"),
                  _set("value: 10000", "value: 10000, default: true")),
         f"{_NAMED}; validatePriorityClass refuses a second default, and `pulumi up` updates both "
         "at once, so the new one may be refused until it is run again; {_QUOTA}"),
    _row("a tier more", _set(_SPARE, f"{_SPARE}    - {{name: idle, value: 10}}\n"), _NAMED,
         actions={"PriorityClass/idle": Action.ADDED}),
    _row("a tier less",
         together(_set(_SPARE, ""), _set(", priorities: [spare-time]}", "}")),
         f"{_NAMED}; {_QUOTA}", actions={"PriorityClass/spare-time": Action.DELETED}),
    _row("another name for a tier",
         together(_set("name: spare-time", "name: idle-time"),
                  _set("priorities: [spare-time]", "priorities: [idle-time]")),
         f"{_NAMED}; {_QUOTA}", actions={"PriorityClass/spare-time": Action.DELETED,
                                         "PriorityClass/idle-time": Action.ADDED}),
    _row("another tier for a team",
         _set("priorities: [spare-time]", "priorities: [spare-time, project]"), _QUOTA,
         actions={"ResourceQuota/biology/priorities": Action.CHANGED}),
    _kueue("another tier for a team with Kueue",
           site("tsukuba-1", "{mncore2: 160}", "{mncore2: 160}, priorities: [urgent]"), _QUOTA,
           actions={"ResourceQuota/chemistry/priorities": Action.CHANGED,
                    "Namespace/chemistry": Action.CHANGED}),
)  # fmt: skip
_RIGHTS = "Kubernetes 1.34.3, plugin/pkg/auth/authorizer/rbac/rbac.go: asked at each request"
_STAFF = """
access:
  operators: {groups: ["oidc:site-operators"]}
  viewers: {groups: ["oidc:on-call"]}
"""
_PEOPLE = (
    _row("another group", _set("oidc:vision", "oidc:images"), _RIGHTS,
         actions={"RoleBinding/vision": Action.CHANGED}),
    _row("a user", _set('groups: ["oidc:vision"]', 'groups: ["oidc:vision"], users: ["oidc:ada"]'),
         _RIGHTS, actions={"RoleBinding/vision": Action.CHANGED}),
    _row("a team's last group", _set(', groups: ["oidc:biology"]', ""), _RIGHTS,
         actions={"RoleBinding/biology": Action.DELETED}),
    _row("operators and viewers", together(
        _set('["oidc:site-operators"]', '["oidc:ops"], users: ["oidc:bo"]'),
        _set('["oidc:on-call"]', '["oidc:ops"], users: ["oidc:eve"]')),
        _RIGHTS, actions={"ClusterRoleBinding/*": Action.CHANGED}),
    _row("no staff", _set(_STAFF, "\n"), _RIGHTS, actions={"ClusterRole*/*": Action.DELETED}),
)  # fmt: skip
_PROMISES = (
    *(
        _row(f"a promise {what}", _set("v100-sxm2-32gb: 480", f"v100-sxm2-32gb: {number}"),
             _THROTTLE, actions={"ClusterThrottle/vision/gang-scheduler": Action.CHANGED})
        for what, number in (("lowered", 240), ("raised", 600))
    ),
    *(
        _kueue(f"a promise {what} with Kueue",
               site("tsukuba-1", "mncore2: 120", f"mncore2: {number}"), _KUEUE,
               actions={"ClusterQueue/compilers": Action.CHANGED})
        for what, number in (("lowered", 60), ("raised", 130))
    ),
    _row("a promise lowered with a quota", site("lab-1", "{t4-pcie-16gb: 2}", "{t4-pcie-16gb: 1}"),
         _QUOTA, actions={"ResourceQuota/trials/accelerators": Action.CHANGED}, where="lab-1"),
    _kueue("a promise lowered with Volcano", site("tsukuba-1", "mncore2: 120", "mncore2: 60"),
           _VOLCANO, _ON_VOLCANO, actions={"Queue/compilers": Action.CHANGED}),
    Row(
        "teams: a promise beyond what there is",
        (_set("v100-sxm2-32gb: 480", "v100-sxm2-32gb: 900"),),
        {"tokyo-1": Invalid(frozenset({Code("overcommitted")}))},
        "docs/problems.md, overcommitted: 118 hosts of 8 less 4 that a rollout takes",
        (applied("tokyo-1"),),
    ),
    _row("a promise beyond what there is, on purpose",
         together(_set("v100-sxm2-32gb: 480", "v100-sxm2-32gb: 900"), _BEYOND),
         _THROTTLE, actions={"ClusterThrottle/vision/gang-scheduler": Action.CHANGED}),
    Row(
        "teams: how far promises may go",
        (_set("{v100-sxm2-32gb: 150}", "{v100-sxm2-32gb: 160}"),),
        {},
        NO_OBJECT,
        (
            applied("tokyo-1"),
            _set("v100-sxm2-32gb: 480", "v100-sxm2-32gb: 900"),
            _BEYOND,
        ),
    ),
    _row("a limit off-peak", _set("off_peak: {v100-sxm2-32gb: 768}", "off_peak: "
         "{v100-sxm2-32gb: 640}"), _THROTTLE,
         actions={"ClusterThrottle/vision/gang-scheduler": Action.CHANGED}),
    *(
        _row(f"off-peak: {text.partition(':')[0]}", _set(_FIRST_DAY, f"{_FIRST_DAY}, {text}"),
             _THROTTLE, actions={"ClusterThrottle/vision/gang-scheduler": Action.CHANGED})
        for text in ('start: "21:00"', 'end: "07:00"', "weekends: false")
    ),
    *(
        _row(f"off-peak: {old.partition(':')[0]}", _set(old, new), _THROTTLE,
             actions={"ClusterThrottle/vision/gang-scheduler": Action.CHANGED})
        for old, new in (("time_zone: Asia/Tokyo", "time_zone: Asia/Singapore"),
                         (_FIRST_DAY, "first_day: 2026-12-02"),
                         ("last_day: 2027-03-31", "last_day: 2027-03-30"))
    ),
)  # fmt: skip
_TOGETHER = (
    Row(
        "teams: a promise, and the plugin's image, each with what it does",
        (
            site("tsukuba-1", "mncore2: 120", "mncore2: 60"),
            site("tsukuba-1", "plugin:v2.4.0@sha256:9f2e", "plugin:v2.4.1@sha256:9f2f"),
        ),
        {
            "tsukuba-1": Expected(
                {"mncore2": restarted()},
                lines={
                    "ClusterQueue/compilers": "mncore2: 60",
                    "DaemonSet/device-plugin/mncore2": "device-plugin:v2.4.1",
                },
            )
        },
        f"{_KUEUE}; Kubernetes 1.34.3, pkg/controller/daemon/update.go",
        (applied("tsukuba-1"),),
    ),
    Row(
        "teams: a promise, a tier and a scheduler's image, each with what it does",
        (
            _set("v100-sxm2-32gb: 480", "v100-sxm2-32gb: 240"),
            _set(_SPARE, f"{_SPARE}    - {{name: idle, value: 10}}\n"),
            _set("throttler:v1.0.0@sha256:4be6", "throttler:v1.0.1@sha256:4be7"),
        ),
        {
            "tokyo-1": Expected(
                {"control": restarted()},
                lines={
                    "ClusterThrottle/vision/gang-scheduler": "v100-sxm2-32gb: 240",
                    "PriorityClass/idle": "name: idle",
                    "Deployment/gang-scheduler": "throttler:v1.0.1",
                },
            )
        },
        f"{_THROTTLE}; {_NAMED}; Kubernetes 1.34.3, pkg/controller/deployment",
        (applied("tokyo-1"),),
    ),
)
_TEAMS = (
    _row("a team more", _set(_SPARE_LINE, f"{_SPARE_LINE}    - {{name: physics, namespaces: "
         "[physics], accelerators: {v100-sxm2-32gb: 8}}\n"), f"{_NEW}; {_THROTTLE}",
         actions={"Namespace/physics": Action.ADDED,
                  "ClusterThrottle/physics/gang-scheduler": Action.ADDED}),
    _kueue("a team more with Kueue",
           site("tsukuba-1", _LAST_TEAM, f"{_LAST_TEAM}    - {{name: physics, namespaces: "
                "[physics], accelerators: {mncore2: 8}}\n"), f"{_NEW}; {_KUEUE}",
           actions={"Namespace/physics": Action.ADDED, "ClusterQueue/physics": Action.ADDED,
                    "LocalQueue/physics": Action.ADDED}),
    _row("a team less", _set(_SPARE_LINE, ""), f"{PROTECTED}; {_THROTTLE}; {_QUOTA}",
         without_cache("tokyo-1"),
         actions={
             "Namespace/biology": Action.REFUSED,
             "ClusterThrottle/biology/*": Action.DELETED,
             "ResourceQuota/biology/*": Action.DELETED,
             "RoleBinding/biology": Action.DELETED,
             "LimitRange/biology": Action.DELETED,
             "ConfigMap/biology/*": Action.DELETED,
         },
         deletions={"Namespace": 1}),
    Row("teams: a team less, while no cluster is named that it could be in",
        (_set(_SPARE_LINE, ""),),
        {"tokyo-1": Expected({}, {"*/biology*": Action.DELETED})},
        "docs/site-file.md, cluster.context: nothing of it was ever applied, so nothing is lost",
        (without_cache("tokyo-1"),)),
    _kueue("a team less with Kueue", site("tsukuba-1", _LAST_TEAM, ""), f"{PROTECTED}; {_GOES}",
           actions={
               "Namespace/chemistry": Action.REFUSED,
               "ClusterQueue/chemistry": Action.DELETED,
               "LocalQueue/chemistry": Action.DELETED,
               "ResourceQuota/chemistry/*": Action.DELETED,
               "LimitRange/chemistry": Action.DELETED,
               "ConfigMap/chemistry/*": Action.DELETED,
           },
           deletions={"Namespace": 1}),
    _row("another name for a team", _set(_BIOLOGY, "name: bio, namespaces: [biology]"),
         f"{_THROTTLE}; Kubernetes 1.34.3: labels of a namespace touch no pod in it",
         actions={"Namespace/biology": Action.CHANGED,
                  "ClusterThrottle/biology/gang-scheduler": Action.DELETED,
                  "ClusterThrottle/bio/gang-scheduler": Action.ADDED}),
    _kueue("another name for a team with Kueue",
           site("tsukuba-1", "{name: chemistry,", "{name: molecules,"), f"{_LOCAL}; {_GOES}",
           actions={"ClusterQueue/chemistry": Action.DELETED,
                    "ClusterQueue/molecules": Action.ADDED,
                    "LocalQueue/chemistry": Action.REFUSED}),
    _row("a namespace more for a team", _set(_LANGUAGE, _LANGUAGE.replace("]", ", speech]")),
         f"{_NEW}; {_THROTTLE}: limits are for all namespaces of a team together",
         actions={"Namespace/speech": Action.ADDED}),
    _row("another namespace for a team", _set(_LANGUAGE, "name: language, namespaces: [speech]"),
         PROTECTED, without_cache("tokyo-1"),
         actions={
             "Namespace/language": Action.REFUSED,
             "ResourceQuota/language/*": Action.DELETED,
             "RoleBinding/language": Action.DELETED,
             "LimitRange/language": Action.DELETED,
             "ConfigMap/language/*": Action.DELETED,
             "Namespace/speech": Action.ADDED,
         },
         deletions={"Namespace": 1}),
    Row("teams: in another order",
        (_set(_SPARE_LINE, ""), _set("  teams:\n", f"  teams:\n{_SPARE_LINE}")),
        {"tokyo-1": Expected(actions={"ConfigMap/*-dashboard": Action.CHANGED})},
        f"{SAME}, but for the order of menus on dashboards", (applied("tokyo-1"),)),
    Row("teams: a comment", (_set("  teams:\n", "  # Who shares the site\n  teams:\n"),), {}, SAME,
        (applied("tokyo-1"),)),
    Row("teams: models of a promise in another order",
        (_set("{v100-sxm2-32gb: 256, a100-sxm4-80gb: 32}",
              "{a100-sxm4-80gb: 32, v100-sxm2-32gb: 256}"),), {}, SAME, (applied("tokyo-1"),)),
    Row("teams: another image for the recorder of disruptions",
        (_set("python:3.13-slim@", "python:3.14-slim@"),),
        {"tokyo-1": Expected({"control": restarted()},
                             {"Deployment/disruption-recorder": Action.CHANGED})},
        "Kubernetes 1.34.3, pkg/controller/deployment/recreate.go", (applied("tokyo-1"),)),
    _row("space on disk of the site", _set("  off_peak: {time", f"{_STORAGE}  off_peak: {{time"),
         _LATER, actions={"LimitRange/*": Action.CHANGED}),
    *(
        _row(f"objects of {whose}", _set(old, new),
             _QUOTA, actions={f"ResourceQuota/{which}/objects": Action.CHANGED})
        for whose, which, old, new in (
            ("the site", "*", "  off_peak: {time",
             "  quota: {objects: {pods: 900}}\n  off_peak: {time"),
            ("a team", "biology", _BIOLOGY, f"{_BIOLOGY}, quota: {{objects: {{pods: 900}}}}"),
        )
    ),
    *(
        _row(f"a share of cores and memory of {whose}", _set(old, new), f"{_QUOTA}; {_LATER}",
             actions={f"ResourceQuota/{which}/objects": Action.CHANGED,
                      f"LimitRange/{which}": Action.CHANGED})
        for whose, which, old, new in (
            ("the site", "*", "  off_peak: {time",
             "  quota: {share_percent: 40}\n  off_peak: {time"),
            ("a team", "biology", _BIOLOGY, f"{_BIOLOGY}, quota: {{share_percent: 40}}"),
        )
    ),
    Row("teams: kept apart on the network",
        (_set("  off_peak: {time", "  network_policy: true\n  off_peak: {time"),),
        {"tokyo-1": Expected(
            {pool: Verdict(Impact.UNKNOWN, None, ANY)
             for pool in ("control", "cpu", "v100", "a100", "h100")},
            {"NetworkPolicy/*": Action.ADDED})},
        "Kubernetes 1.34.3, api networking/v1, NetworkPolicySpec: connections that pods have may "
        "be cut off", (applied("tokyo-1"),)),
    _row("space on disk of a team",
         _set(_BIOLOGY, f"{_BIOLOGY}, ephemeral_storage: {{request: 1Gi, limit: 2Gi, max: 4Gi}}"),
         _LATER, actions={"LimitRange/biology": Action.CHANGED}),
)  # fmt: skip
ROWS = (*_TIERS, *_PEOPLE, *_PROMISES, *_TOGETHER, *_TEAMS)
