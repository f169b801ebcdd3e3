"""Rights on a cluster: a program's account, roles, and who has them."""

from components.making.manifest import Json

GROUP = "rbac.authorization.k8s.io"
API = f"{GROUP}/v1"
READ = ["get", "list", "watch"]


def account(metadata: Json) -> Json:
    """A ServiceAccount whose token only pods get that ask for it."""
    head = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata}
    return {**head, "automountServiceAccountToken": False}


def rule(group: str, resources: list[str], verbs: list[str], *names: str) -> Json:
    """A rule of a role, for some objects alone where ``names`` are given."""
    chosen_names = {"resourceNames": list(names)} if names else {}
    return {"apiGroups": [group], "resources": resources, **chosen_names, "verbs": verbs}


def subject(name: str, namespace: str) -> Json:
    """A ServiceAccount as bindings name it."""
    return {"kind": "ServiceAccount", "name": name, "namespace": namespace}


def bind(kind: str, role: str, metadata: Json, *who: Json) -> Json:
    """The binding of a role, of the kind Role or ClusterRole, to subjects."""
    head = {"apiVersion": API, "kind": f"{kind}Binding", "metadata": metadata}
    reference = {"apiGroup": GROUP, "kind": kind, "name": role}
    return {**head, "roleRef": reference, "subjects": list(who)}


def role_and_binding(kind: str, metadata: Json, rules: list[Json], who: Json) -> list[Json]:
    """A role and its binding, of the same name."""
    role = {"apiVersion": API, "kind": kind, "metadata": metadata, "rules": rules}
    return [role, bind(kind, metadata["name"], metadata, who)]
