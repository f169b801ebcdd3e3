"""Rules of the site's own cluster."""

from policies.cluster.rule import (
    DOMAIN,
    MANAGED_BY,
    SITE,
    ClusterRule,
    Facts,
    Matched,
    Validation,
    object_name,
)
from schemas.kubernetes.node_labels import TEAM_LABEL
from schemas.kubernetes.pod_security import ENFORCE, PREFIX

_PRIVILEGED = {ENFORCE: "privileged"}
_NODE_DOMAINS = (DOMAIN, f"remediation.{DOMAIN}", "node.cluster.x-k8s.io")
"""Domains of labels of nodes by which Foresite and Cluster API find them. ``seen.foresite.dev`` is
none of them: node feature discovery writes it."""
TAINTS = (f"remediation.{DOMAIN}/faulty", f"remediation.{DOMAIN}/quarantined")
"""The taints of nodes that are not to be used: with a fault, and with one that repairs left."""


def _images(pod: str) -> str:
    """The images of all containers of a pod (CEL)."""
    lists = ("containers", "initContainers", "ephemeralContainers")
    every = " + ".join(f"dyn({pod}.spec.?{each}.orValue([]))" for each in lists)
    return f"({every}).map(c, string(c.?image.orValue('')))"


def _permission_variable(name: str) -> dict[str, str]:
    """The variable of those who may change the rule's binding, and so may do the forbidden things.
    It is asked last, as it costs a look-up of rights."""
    return {
        "allowed": (
            "authorizer.group('admissionregistration.k8s.io')"
            ".resource('validatingadmissionpolicybindings')"
            f".name('{object_name(name, SITE)}').check('update').allowed()"
        )
    }


def _before_and_after(part: str) -> dict[str, str]:
    """Labels or annotations on both sides of a write."""
    return {
        f"{part}Before": f"oldObject == null ? {{}} : oldObject.metadata.?{part}.orValue({{}})",
        f"{part}After": f"object.metadata.?{part}.orValue({{}})",
    }


def _keep(part: str, ours: str) -> str:
    """True if no key of ``part`` changes, comes or goes of which ``ours`` (CEL, of ``k``) is
    true."""
    before, after = f"variables.{part}Before", f"variables.{part}After"
    return (
        f"{after}.all(k, !({ours}) || (k in {before} && {before}[k] == {after}[k]))"
        f" && {before}.all(k, !({ours}) || k in {after})"
    )


def _namespace_marks() -> ClusterRule:
    name = "namespace-marks"
    ours = f"k.startsWith('{DOMAIN}/')"
    secured = f"k.startsWith('{PREFIX}') || k == 'app.kubernetes.io/managed-by'"
    queue = "k == 'scheduling.volcano.sh/queue-name'"
    known = "variables.managed && ({})"
    return ClusterRule(
        name=name,
        cluster=SITE,
        what="Labels and annotations by which rules know a namespace stay as Foresite wrote them",
        why="without them the pods of the namespace have no limits and no Pod Security",
        source="Kubernetes 1.34, docs Pod Security Admission (namespace labels); NSA/CISA "
        "Kubernetes Hardening Guide 1.2, Pod security enforcement; Kubernetes, pkg/registry/core/"
        "namespace/strategy.go (PrepareForUpdate)",
        # The API server stores labels that are written along with a status or finalizers.
        matches=(
            Matched("", ("namespaces",), ("CREATE", "UPDATE")),
            Matched("", ("namespaces/status", "namespaces/finalize"), ("UPDATE",)),
        ),
        variables=_permission_variable(name)
        | _before_and_after("labels")
        | _before_and_after("annotations")
        | {
            "managed": "variables.labelsBefore[?'app.kubernetes.io/managed-by'].orValue('')"
            " == 'foresite'"
        },
        validations=(
            Validation(
                f"({_keep('labels', f'{ours} || ({known.format(secured)})')}) || variables.allowed",
                f"'labels of {DOMAIN} and of Pod Security are written in the site file'",
            ),
            Validation(
                f"({_keep('annotations', f'{ours} || ({known.format(queue)})')})"
                " || variables.allowed",
                f"'annotations of {DOMAIN} and the queue are written in the site file'",
            ),
        ),
    )


def _namespace_deletion() -> ClusterRule:
    name = "namespace-deletion"
    return ClusterRule(
        name=name,
        cluster=SITE,
        what="Only who may change this rule deletes a namespace that Foresite made",
        why="everything in it goes with it: jobs of a team, or what its nodes need",
        source="Kubernetes 1.34, pkg/controller/namespace (deletes all content)",
        matches=(Matched("", ("namespaces",), ("DELETE",)),),
        variables=_permission_variable(name),
        validations=(
            Validation(
                "variables.allowed",
                "'namespace ' + request.name + ' is made by the site file: remove it there'",
            ),
        ),
        where={"objectSelector": {"matchLabels": dict(MANAGED_BY)}},
    )


_PODS = (
    Matched("", ("pods",), ("CREATE", "UPDATE")),
    Matched("", ("pods/ephemeralcontainers",), ("UPDATE",)),
)
"""Writes by which a container gets its image: that of a running one can be changed."""
_NO_TEAM = {"key": TEAM_LABEL, "operator": "DoesNotExist"}


def _privileged_pods() -> ClusterRule:
    name = "privileged-pods"
    writers = "['system:serviceaccounts:kube-system', 'system:nodes',"
    new = "oldObject == null || object.spec != oldObject.spec"
    return ClusterRule(
        name=name,
        cluster=SITE,
        what="Pods in Foresite's privileged namespaces come from it and from controllers alone",
        why="a person who creates a pod there may be root on every host",
        source="Kubernetes 1.34, docs Pod Security Standards (privileged) and RBAC good practices "
        "(workload creation)",
        matches=(
            *_PODS,
            Matched("", ("replicationcontrollers",), ("CREATE", "UPDATE")),
            Matched(
                "apps",
                ("daemonsets", "deployments", "replicasets", "statefulsets"),
                ("CREATE", "UPDATE"),
            ),
            Matched("batch", ("cronjobs", "jobs"), ("CREATE", "UPDATE")),
        ),
        variables=_permission_variable(name),
        validations=(
            Validation(
                f"!({new}) || request.userInfo.groups.exists(g, g in {writers}"
                " 'system:serviceaccounts:' + request.namespace])"
                " || request.userInfo.username == 'system:kube-controller-manager'"
                " || variables.allowed",
                "'pods in ' + request.namespace + ' may be root on their host: only Foresite and"
                " controllers make them'",
            ),
        ),
        where={
            "namespaceSelector": {
                "matchLabels": {**MANAGED_BY, **_PRIVILEGED},
                "matchExpressions": [_NO_TEAM],
            }
        },
    )


def _digests(facts: Facts) -> ClusterRule:
    operated = {"key": "kubernetes.io/metadata.name", "operator": "NotIn"}
    more = [{**operated, "values": list(facts.operators)}] if facts.operators else []
    return ClusterRule(
        name="image-digest",
        cluster=SITE,
        what="Images of pods in Foresite's own namespaces are named by digest",
        why="a tag can be another program tomorrow, with all rights on every host",
        source="Kubernetes 1.34, docs Images (image names); NSA/CISA Kubernetes Hardening Guide "
        "1.2, Building secure container images",
        matches=_PODS,
        variables={
            # What a pod runs already is no reason to keep controllers from writing to it.
            "before": f"oldObject == null ? [] : {_images('oldObject')}",
            "undigested": f"{_images('object')}.filter(i, !(i in variables.before)"
            " && !i.matches('@sha256:[0-9a-f]{64}$'))",
        },
        validations=(
            Validation(
                "variables.undigested.size() == 0",
                "'images here need a digest (name:tag@sha256:...): '"
                " + variables.undigested.join(', ')",
            ),
        ),
        where={
            "namespaceSelector": {
                "matchLabels": dict(MANAGED_BY),
                "matchExpressions": [_NO_TEAM, *more],
            }
        },
    )


def _node_marks(facts: Facts) -> ClusterRule:
    name = "node-marks"
    ours = " || ".join(f"k.startsWith('{domain}/')" for domain in _NODE_DOMAINS)
    taints = ", ".join(f"'{each}'" for each in TAINTS)
    remediator = (
        f"request.userInfo.username == '{facts.remediator}' || " if facts.remediator else ""
    )
    return ClusterRule(
        name=name,
        cluster=SITE,
        what="Taints of faulty nodes, and labels by which nodes are found, stay as they are",
        why="a broken node would get pods again, or a node those that are meant for another kind",
        source="Kubernetes 1.34, plugin/pkg/admission/noderestriction (kubelets may write labels "
        "of any domain but Kubernetes' own); pkg/registry/core/node/strategy.go (PrepareForUpdate)",
        # A kubelet registers with labels of its arguments: only later writes are judged. Labels
        # that are written along with what it reports, to nodes/status, are stored too.
        matches=(Matched("", ("nodes", "nodes/status"), ("UPDATE",)),),
        variables=_permission_variable(name) | _before_and_after("labels"),
        validations=(
            Validation(
                f"({_keep('labels', ours)}) || {remediator}variables.allowed",
                "'labels by which nodes are found follow from the site file'",
            ),
            Validation(
                f"oldObject.spec.?taints.orValue([]).all(t, !(t.key in [{taints}])"
                " || object.spec.?taints.orValue([]).exists(n, n.key == t.key"
                f" && n.effect == t.effect)) || {remediator}variables.allowed",
                "'the node has a fault: its taint is removed after the repair, or by an account "
                "that may change this rule'",
            ),
        ),
    )


def _exposed_services() -> ClusterRule:
    name = "exposed-services"
    exposed = "object.spec.?type.orValue('ClusterIP') in ['NodePort', 'LoadBalancer']"
    same = "oldObject != null && oldObject.spec.?type.orValue('') == object.spec.type"
    had = "oldObject != null && ip in oldObject.spec.?externalIPs.orValue([])"
    return ClusterRule(
        name=name,
        cluster=SITE,
        what="Services of teams answer inside the cluster alone",
        why="an external IP takes traffic that is meant for others; a node's port is open to all",
        source="CVE-2020-8554 (externalIPs); NSA/CISA Kubernetes Hardening Guide 1.2, Network "
        "separation",
        matches=(Matched("", ("services",), ("CREATE", "UPDATE")),),
        variables=_permission_variable(name),
        validations=(
            Validation(
                f"object.spec.?externalIPs.orValue([]).all(ip, {had}) || variables.allowed",
                "'externalIPs would take traffic that is meant for others'",
            ),
            Validation(
                f"!({exposed}) || ({same}) || variables.allowed",
                "'a Service of type ' + object.spec.type + ' is open to everyone who reaches the"
                " hosts: use ClusterIP'",
            ),
        ),
        where={
            "namespaceSelector": {"matchExpressions": [{"key": TEAM_LABEL, "operator": "Exists"}]}
        },
    )


def site_rules(facts: Facts) -> tuple[ClusterRule, ...]:
    """The rules of the site's own cluster."""
    return (
        _namespace_marks(),
        _namespace_deletion(),
        _privileged_pods(),
        _digests(facts),
        _node_marks(facts),
        _exposed_services(),
    )
