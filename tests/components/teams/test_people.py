"""Who gets which role where, and who is refused."""

from itertools import chain, product
from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from components.making.manifest import Json
from components.site import site_objects
from components.teams.people import people as objects
from components.teams.people import rules
from controlplane import ApiError
from controlplane.client import Client
from schemas.model.access import Identity
from tests.kit.admission_server import As, User
from tests.kit.repository import all_sites
from tests.kit.rights_server import World, with_everything

SITE = with_everything()
RESEARCHER = User("oidc:ada", ("oidc:vision",))
OPERATOR = User("oidc:bo", ("oidc:ops",))
VIEWER = User("oidc:auditor")
STRANGER = User("oidc:eve", ("oidc:elsewhere",))


def test_a_team_without_people_has_no_bindings() -> None:
    assert objects(all_sites()["lab-1"]) == []


def test_researchers_have_a_role_in_their_teams_namespaces_alone() -> None:
    found = {each.name: each.body for each in objects(all_sites()["tokyo-1"])}
    for team in ("vision", "language", "biology"):
        binding = found[f"RoleBinding/{team}"]
        assert binding["metadata"]["namespace"] == team
        assert [each["name"] for each in binding["subjects"]] == [f"oidc:{team}"]
    wide = [each for each in found.values() if each["kind"] == "ClusterRoleBinding"]
    assert "foresite-researcher" not in {each["roleRef"]["name"] for each in wide}


def test_staff_is_bound_in_the_whole_cluster() -> None:
    found = {each.name: each.body for each in objects(SITE)}
    assert [each["kind"] for each in found["ClusterRoleBinding/operator"]["subjects"]] == ["Group"]
    assert [each["kind"] for each in found["ClusterRoleBinding/viewer"]["subjects"]] == ["User"]


def test_roles_follow_the_schedulers_of_a_site() -> None:
    groups = {
        name: {group for rule in rules(site, "researcher") for group in rule["apiGroups"]}
        for name, site in all_sites().items()
    }
    assert "kueue.x-k8s.io" in groups["tsukuba-1"] - groups["tokyo-1"]


def test_staff_can_read_every_object_of_every_site_but_secrets() -> None:
    """Kinds that components make, by plural as the server names them: a new one is added here."""
    seen = {
        (group, resource)
        for rule in rules(SITE, "viewer")
        for group, resource in product(rule["apiGroups"], rule["resources"])
    }
    for site in all_sites().values():
        for made in chain(*site_objects(site).values()):
            if made.target.value == "site":
                group = made.group_kind.partition(".")[2]
                plurals = {resource for known, resource in seen if known == group}
                kind = made.kind.lower()
                assert {f"{kind}s", f"{kind}es", f"{kind[:-1]}ies"} & plurals, made.title
    assert ("", "secrets") not in seen


@pytest.mark.parametrize(
    "name", ["", "system:masters", "system:serviceaccount:a:b", " a", "a ", "a\nb", "a\x00", "\x7f"]
)
def test_names_that_nobody_has_or_may_have_are_refused(name: str) -> None:
    with pytest.raises(ValidationError):
        TypeAdapter(Identity).validate_python(name)


# --- on a real API server with RBAC, every object of the site in it ---


@pytest.fixture(scope="module")
def client(people_world: World) -> As:
    return people_world.client


WORK = "create delete deletecollection get list patch update watch"
ALLOWED = [
    (RESEARCHER, "vision", "get list watch create delete deletecollection", "/pods"),
    (RESEARCHER, "vision", "get", "/pods/log"),
    (RESEARCHER, "vision", "get create", "/pods/exec /pods/attach /pods/portforward"),
    (RESEARCHER, "vision", WORK, "/secrets /configmaps /services /persistentvolumeclaims"),
    (RESEARCHER, "vision", WORK, "batch/jobs batch/cronjobs jobset.x-k8s.io/jobsets"),
    (RESEARCHER, "vision", WORK, "kubeflow.org/mpijobs trainer.kubeflow.org/trainjobs"),
    (RESEARCHER, "vision", "get list watch", "/events /resourcequotas /limitranges"),
    (OPERATOR, "", "get list watch patch update", "/nodes"),
    (OPERATOR, "vision", "get list delete", "/pods batch/jobs"),
    (OPERATOR, "vision", "create", "/pods/eviction"),
    (VIEWER, "", "get list watch", "/nodes /pods /pods/log apps/daemonsets"),
    (VIEWER, "", "get list", "rbac.authorization.k8s.io/clusterrolebindings /configmaps"),
]
REFUSED = [
    (RESEARCHER, "vision", "update patch", "/pods"),
    (RESEARCHER, "vision", "create update patch", "/pods/ephemeralcontainers /pods/binding"),
    (RESEARCHER, "vision", "create", "/pods/eviction /serviceaccounts /serviceaccounts/token"),
    (RESEARCHER, "vision", "create update patch delete", "/resourcequotas /limitranges /endpoints"),
    (RESEARCHER, "vision", "create update patch delete", "resource.k8s.io/resourceclaims"),
    (RESEARCHER, "vision", "create update patch delete", "rbac.authorization.k8s.io/rolebindings"),
    (RESEARCHER, "vision", "create", "apps/deployments apps/daemonsets apps/statefulsets"),
    (RESEARCHER, "vision", "create", "networking.k8s.io/ingresses discovery.k8s.io/endpointslices"),
    (RESEARCHER, "vision", "bind escalate", "rbac.authorization.k8s.io/clusterroles"),
    (RESEARCHER, "language", "get list create", "/pods /secrets /configmaps batch/jobs"),
    (RESEARCHER, "kube-system", "get list", "/pods /secrets"),
    (RESEARCHER, "", "get list", "/nodes /namespaces /pods /secrets"),
    (RESEARCHER, "", "impersonate", "/users /groups"),
    (OPERATOR, "", "get list watch", "/secrets"),
    (OPERATOR, "vision", "create patch", "/pods /pods/exec /pods/portforward apps/daemonsets"),
    (OPERATOR, "", "delete create", "/nodes"),
    (OPERATOR, "", "create get", "/nodes/proxy"),
    (OPERATOR, "", "create patch", "rbac.authorization.k8s.io/clusterrolebindings /namespaces"),
    (VIEWER, "", "get list watch", "/secrets"),
    (VIEWER, "", "create delete patch update", "/pods /nodes /configmaps batch/jobs"),
    (VIEWER, "", "get create", "/pods/exec"),
    (STRANGER, "vision", "get list create", "/pods /secrets batch/jobs"),
]


def _answers(client: Client, row: tuple[User, str, str, str]) -> dict[str, bool]:
    who, namespace, verbs, resources = row
    found = {}
    for verb, resource in product(verbs.split(), resources.split()):
        group, _, rest = resource.partition("/")
        name, _, sub = rest.partition("/")
        asked = {
            "namespace": namespace, "verb": verb, "group": group, "resource": name,
            "subresource": sub,
        }  # fmt: skip
        spec = {"user": who.name, "groups": list(who.groups), "resourceAttributes": asked}
        kind = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview"}
        path = f"/apis/{kind['apiVersion']}/subjectaccessreviews"
        answer = client.request("POST", path, {**kind, "spec": spec})
        found[f"{verb} {resource}"] = answer["status"]["allowed"]
    return found


@pytest.mark.controlplane
def test_people_can_do_their_work(client: As) -> None:
    refused = {(row[0], row[1], *each) for row in ALLOWED for each in _answers(client, row).items()}
    assert not {each for each in refused if not each[-1]}


@pytest.mark.controlplane
def test_people_can_do_no_more(client: As) -> None:
    allowed = {(row[0], row[1], *each) for row in REFUSED for each in _answers(client, row).items()}
    assert not {each for each in allowed if each[-1]}


def _pod(**spec: Any) -> Json:
    container = {
        "name": "main", "image": "registry.example/a:1",
        "resources": {"limits": {"accelerators.example.com/gpu-v100-32gb": "1"}},
    }  # fmt: skip
    return {"restartPolicy": "Never", "containers": [container], **spec}


def _body(api: str, kind: str, spec: Json) -> Json:
    return {"apiVersion": api, "kind": kind, "metadata": {"name": "a"}, "spec": spec}


JOB = _body("batch/v1", "Job", {"template": {"spec": _pod(schedulerName="gang-scheduler")}})
POD = _body("v1", "Pod", _pod(schedulerName="gang-scheduler"))
PORTS: Json = {"ports": [{"port": 80}]}
SERVICE = _body("v1", "Service", PORTS)
WRITES = [
    ("vision", JOB, ""),
    ("vision", POD, ""),
    ("vision", SERVICE, ""),
    ("vision", {**SERVICE, "spec": {**SERVICE["spec"], "type": "NodePort"}}, "use ClusterIP"),
    (
        "vision",
        {**SERVICE, "spec": {**SERVICE["spec"], "externalIPs": ["10.16.0.2"]}},
        "externalIP",
    ),
    ("vision", _body("v1", "Pod", _pod(hostPID=True, schedulerName="gang-scheduler")), "hostPID"),
    ("language", JOB, "forbidden"),
    ("vision", _body("v1", "ResourceQuota", {"hard": {}}), "forbidden"),
]


@pytest.mark.controlplane
@pytest.mark.parametrize(("namespace", "body", "fault"), WRITES)
def test_a_researcher_writes_what_a_team_may_have(
    client: As, namespace: str, body: Json, fault: str
) -> None:
    api = "api" if body["apiVersion"] == "v1" else "apis"
    path = f"/{api}/{body['apiVersion']}/namespaces/{namespace}/{body['kind'].lower()}s"
    client.user, said = RESEARCHER, ""
    try:
        client.request("POST", f"{path}?dryRun=All", body)
    except ApiError as error:
        said = error.message
    finally:
        client.user = User()
    assert fault in said if fault else not said, said
