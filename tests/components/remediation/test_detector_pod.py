"""The pod of a detector: what it sees of its host, what it may do, and when it is restarted."""

from components.making.manifest import CONFIGURATION_ANNOTATION
from components.remediation.checks import HOST, PROGRAMS, STATE
from components.remediation.detector import METRICS_PORT, NAME, SOURCE
from schemas.facts.site import Site
from schemas.kubernetes.node_labels import POOL_LABEL
from schemas.model.remediation import Xids
from tests.kit.remediation_detectors import bodies, osaka, pod


def test_a_pod_sees_its_host_and_changes_nothing_but_its_memory() -> None:
    spec = pod(osaka(), "v100")["spec"]
    (container,) = spec["containers"]
    assert spec["hostPID"] is True
    assert spec["tolerations"] == [{"operator": "Exists"}]
    assert spec["nodeSelector"] == {POOL_LABEL: "v100"}
    volumes = {each["name"]: each for each in spec["volumes"]}
    mounts = {each["mountPath"]: each for each in container["volumeMounts"]}
    assert volumes[mounts[STATE]["name"]]["hostPath"] == {
        "path": "/run/foresite/detector",
        "type": "DirectoryOrCreate",
    }
    assert volumes[mounts[HOST]["name"]]["hostPath"]["path"] == "/"
    assert mounts[HOST]["mountPropagation"] == "HostToContainer"
    assert [path for path, each in mounts.items() if not each.get("readOnly")] == [STATE]


def test_programs_are_copied_before_the_detector_starts() -> None:
    """Files of a ConfigMap change under a pod that runs."""
    spec = pod(osaka(), "cpu")["spec"]
    (copy,) = spec["initContainers"]
    volumes = {each["name"]: each for each in spec["volumes"]}
    mounts = {each["mountPath"]: each["name"] for each in copy["volumeMounts"]}
    source = volumes[mounts[SOURCE]]["configMap"]
    assert source == {"name": f"{NAME}-cpu", "defaultMode": 0o755}
    assert volumes[mounts[PROGRAMS]]["emptyDir"]["medium"] == "Memory"
    (container,) = spec["containers"]
    assert copy["image"] == container["image"]
    assert mounts[PROGRAMS] in {each["name"] for each in container["volumeMounts"]}


def test_metrics_are_where_prometheus_can_reach_them() -> None:
    (container,) = pod(osaka(), "cpu")["spec"]["containers"]
    assert container["ports"] == [{"name": "metrics", "containerPort": METRICS_PORT}]
    assert "--prometheus-address=0.0.0.0" in container["args"]
    assert container["command"] == ["/node-problem-detector"]


def test_a_sites_own_image_runs() -> None:
    own = f"registry.example/detector:v1@sha256:{'ab' * 32}"
    spec = pod(osaka(image=own), "cpu")["spec"]
    assert {each["image"] for each in (*spec["containers"], *spec["initContainers"])} == {own}
    plain = osaka()
    (container,) = pod(plain, "cpu")["spec"]["containers"]
    assert container["image"] == plain.release.images[NAME]


def test_a_changed_setting_restarts_the_detectors_that_read_it() -> None:
    """And no other's: XIDs are of pools with NVIDIA's cards."""

    def checksum(made: Site, name: str) -> str:
        found: str = pod(made, name)["metadata"]["annotations"][CONFIGURATION_ANNOTATION]
        return found

    plain, changed = osaka(), osaka(xids=Xids(reboot=[79]).model_dump())
    assert checksum(plain, "v100") != checksum(changed, "v100")
    assert checksum(plain, "mncore") == checksum(changed, "mncore")


def test_the_account_may_do_what_kubernetes_says_of_detectors() -> None:
    found = bodies(osaka())
    binding, account = found[f"ClusterRoleBinding/{NAME}"], found[f"ServiceAccount/{NAME}"]
    assert binding["roleRef"]["name"] == "system:node-problem-detector"
    metadata = account["metadata"]
    assert [(each["namespace"], each["name"]) for each in binding["subjects"]] == [
        (metadata["namespace"], metadata["name"])
    ]
    assert pod(osaka(), "cpu")["spec"]["serviceAccountName"] == metadata["name"]
