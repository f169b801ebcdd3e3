"""Cases of the alerts on jobs that wait, schedulers, exporters, and reboots."""

from tests.kit.monitoring_promtool import Case, Ramp, Steps, World
from tests.kit.monitoring_worlds import LAB, LABS, NODE, TOKYO, k, pod, s, without

SCHEDULER = "scheduler-gang-scheduler"


def scheduler(metric: str, pod_name: str = "gang-scheduler-7d-x", **labels: object) -> str:
    """A series of a gang scheduler's pod."""
    return s(metric, job=SCHEDULER, instance="10.64.0.5:10259", pod=pod_name, **labels)


LEADS: World = {
    scheduler("leader_election_master_status", name="gang-scheduler"): 1,
    scheduler("leader_election_master_status", "gang-scheduler-7d-y", name="gang-scheduler"): 0,
}
AVAILABLE = k(
    "kube_deployment_status_replicas_available", namespace="scheduling", deployment="gang-scheduler"
)
LED: World = {**TOKYO, AVAILABLE: 2}
SCHEDULES = s("up", job=SCHEDULER, instance="10.64.0.5:10259")
PLACES: World = {
    **LEADS,
    scheduler("scheduler_schedule_attempts_total", result="scheduled", profile="g"): Ramp(5),
    scheduler("scheduler_schedule_attempts_total", result="unschedulable", profile="g"): Ramp(20),
    scheduler("scheduler_pending_pods", queue="active"): 3,
}
RESTARTS = k(
    "kube_pod_container_status_restarts_total",
    namespace="scheduling",
    pod="gang-scheduler-7d9c-abcde",
    uid="u",
    container="kube-scheduler",
)
OWN = {"namespace": "vision", "pod": "train-1", "uid": "uid-train-1"}
OTHER = {"namespace": "vision", "pod": "train-3", "uid": "uid-train-3"}
"""vision is promised 480 V100; train-0 has 472 of them, and train-1 asks for 8 more."""
WAITS: World = {
    **TOKYO,
    **pod("train-0", "vision", NODE, accelerators=472),
    **pod("train-1", "vision", phase="Pending", accelerators=8),
}
UNPLACED = k("kube_pod_status_unschedulable", **OWN)
BEYOND: World = {**WAITS, **pod("train-2", "vision", NODE, accelerators=1), UNPLACED: 1}
TWO: World = {
    **WAITS,
    **pod("train-3", "vision", phase="Pending", accelerators=4),
    UNPLACED: 1,
    k("kube_pod_status_unschedulable", **OTHER): 1,
}
TRIED = {
    k("kube_pod_status_scheduled", condition=each, **OWN): float(each == "false")
    for each in ("true", "false", "unknown")
}
GANG: World = {**WAITS, **TRIED}
QUEUE = {"cluster_queue": "chemistry", "replica_role": "leader"}


def kueue(metric: str, **labels: object) -> str:
    """A series of Kueue, for a team's queue."""
    return s(metric, job="whatever", **QUEUE, **labels)


ADMITS: World = {
    kueue("kueue_pending_workloads", status="active"): 4,
    kueue("kueue_admitted_workloads_total", priority_class="normal"): Ramp(0.1),
}
WATCHED: World = {
    **LABS,
    **{s("up", job="node-problem-detector", node=name, instance=name): 1 for name in LAB},
}
BLIND = s("up", job="node-problem-detector", node=LAB[0], instance=LAB[0])
UP = s("up", job="apiserver", instance="10.18.0.11:6443")
AGENT = s("up", job="envoy", instance="10.64.0.7:9903", node=NODE)


CLOCK = s("node_time_seconds", job="node-exporter", instance=f"{LAB[0]}:9100")
BOOTED = s("node_boot_time_seconds", job="node-exporter", instance=f"{LAB[0]}:9100")
"""The clock stands still in this world, so the node runs for longer the earlier it booted."""


def snapshots(metric: str) -> str:
    """A series of the CronJob of etcd's snapshots."""
    return k(f"kube_cronjob_{metric}", namespace="etcd-snapshots", cronjob="etcd-snapshot")


DAY = 86_400
SAVED: World = {
    **TOKYO,
    snapshots("created"): -9 * DAY,
    snapshots("status_last_schedule_time"): -3600,
    snapshots("status_last_successful_time"): -3590,
}
OLD: tuple[dict[str, str], str] = ({}, "etcd has had no new snapshot for 18 h")

SERVER = "10.18.0.11:6443"
ENDS = s("apiserver_client_certificate_expiration_seconds_bucket",
         job="apiserver", instance=SERVER, le="604800")  # fmt: skip
KUBELETS = {
    each: s(f"kubelet_certificate_manager_{each}_ttl_seconds", job="kubelet", instance=f"{each}:1")
    for each in ("client", "server")
}

CASES = (
    Case(
        "CertificateEnds",
        "lab-1",
        {ENDS: Ramp(0)},
        {ENDS: Ramp(12)},
        {"instance": SERVER},
        f"A client's certificate that {SERVER} accepts ends within a week",
        late=6,
        back=70,
    ),
    *(
        Case(
            "KubeletCertificateEnds",
            "lab-1",
            dict.fromkeys(KUBELETS.values(), 9_000_000),
            {KUBELETS[each]: 1_000_000},
            {"instance": f"{each}:1"},
            f"The certificate of the kubelet {each}:1 ends within 14 days",
            late=6,
        )
        for each in KUBELETS
    ),
    # The last that succeeded is old; none ever did; the CronJob is gone.
    Case(
        "EtcdSnapshotOld",
        "tokyo-1",
        SAVED,
        {snapshots("status_last_successful_time"): -DAY},
        *OLD,
        late=6,
    ),
    Case(
        "EtcdSnapshotOld",
        "tokyo-1",
        SAVED,
        {snapshots("status_last_successful_time"): None},
        *OLD,
        late=6,
    ),
    Case(
        "EtcdSnapshotOld",
        "tokyo-1",
        SAVED,
        dict.fromkeys(
            map(snapshots, ("created", "status_last_schedule_time", "status_last_successful_time"))
        ),
        *OLD,
        late=6,
    ),
    Case(
        "EtcdSnapshotFails",
        "tokyo-1",
        SAVED,
        {snapshots("status_last_schedule_time"): -600},
        {},
        "The last snapshot of etcd did not succeed",
    ),
    Case(
        "PodsWait",
        "tokyo-1",
        {**BEYOND, k("kube_pod_created", **OWN): -30_000},
        {UNPLACED: 1, **without(pod("train-2", "vision", NODE, accelerators=1), "train-2")},
        {"team": "vision", "namespace": "vision", "model": "v100-sxm2-32gb"},
        "1 pods of namespace vision wait for v100-sxm2-32gb",
        late=6,
    ),
    # Each alone is within the limit, and both are not: one waits rightly, or both are a gang.
    Case(
        "PodsWait",
        "tokyo-1",
        {**TWO, k("kube_pod_created", **OWN): -30_000, k("kube_pod_created", **OTHER): -30_000},
        {**without(pod("train-3", "vision", phase="Pending", accelerators=4), "train-3")},
        {"team": "vision", "namespace": "vision", "model": "v100-sxm2-32gb"},
        "1 pods of namespace vision wait for v100-sxm2-32gb",
        late=6,
    ),
    Case(
        "GangWaits",
        "tokyo-1",
        {**GANG, k("kube_pod_created", **OWN): -30_000},
        dict.fromkeys(TRIED),
        {"namespace": "vision", "scheduler": "gang-scheduler"},
        "1 pods of gangs in namespace vision were never tried",
        late=6,
    ),
    Case(
        "KueueQueueStuck",
        "tsukuba-1",
        ADMITS,
        {kueue("kueue_admitted_workloads_total", priority_class="normal"): Ramp(0)},
        {"cluster_queue": "chemistry"},
        "Kueue admits none of 4 jobs of queue chemistry",
        warm=40,
        late=32,
    ),
    Case(
        "KueueQueueInactive",
        "tsukuba-1",
        {kueue("kueue_cluster_queue_status", status="active"): 1},
        {kueue("kueue_cluster_queue_status", status="active"): 0},
        {"cluster_queue": "chemistry"},
        "Kueue's queue chemistry is not active",
    ),
    Case(
        "VolcanoJobWaits",
        "edge-1",
        {s("volcano_unschedule_task_count", job_id="mpi"): 0},
        {s("volcano_unschedule_task_count", job_id="mpi"): 3},
        {"job_id": "mpi"},
        "Job mpi waits for 3 more places",
    ),
    Case(
        "SchedulerDown",
        "tokyo-1",
        {**LED, **LEADS},
        dict.fromkeys(LEADS, 0),
        {"scheduler": "gang-scheduler"},
        "No scheduler gang-scheduler leads",
        severity="critical",
    ),
    # Good: not scraped, and well.
    Case(
        "SchedulerDown",
        "tokyo-1",
        LED,
        {AVAILABLE: 0},
        {"scheduler": "gang-scheduler"},
        "No scheduler gang-scheduler leads",
        severity="critical",
        late=6,
    ),
    Case(
        "ExporterGone",
        "tokyo-1",
        {SCHEDULES: 1},
        {SCHEDULES: 0},
        {"exporter": SCHEDULER},
        f"Prometheus gets no metrics of {SCHEDULER}",
    ),
    Case(
        "SchedulerPlacesNothing",
        "tokyo-1",
        PLACES,
        {scheduler("scheduler_schedule_attempts_total", result="scheduled", profile="g"): Ramp(0)},
        {"scheduler": "gang-scheduler"},
        "The scheduler gang-scheduler places no pod, and no canary",
        severity="critical",
        warm=30,
        late=17,
    ),
    Case(
        "SchedulerStuck",
        "tokyo-1",
        PLACES,
        {
            scheduler("scheduler_schedule_attempts_total", result=each, profile="g"): Ramp(0)
            for each in ("scheduled", "unschedulable")
        },
        {"scheduler": "gang-scheduler"},
        "The scheduler gang-scheduler tries none of 3 pods",
        warm=30,
        late=12,
    ),
    Case(
        "SchedulerRestarts",
        "tokyo-1",
        {RESTARTS: Ramp(0)},
        {RESTARTS: Ramp(0.25)},
        {"scheduler": "gang-scheduler"},
        "The scheduler gang-scheduler restarted 5 times in an hour",
        warm=70,
        late=14,
        back=70,
    ),
    Case(
        "WatchLost",
        "lab-1",
        {UP: 1},
        {UP: 0},
        {"exporter": "apiserver"},
        "Prometheus gets no metrics of apiserver",
        severity="critical",
    ),
    Case(
        "ExporterGone",
        "tokyo-1",
        {AGENT: 1},
        {AGENT: None},
        {"exporter": "envoy"},
        "Prometheus gets no metrics of envoy",
    ),
    Case(
        "NodeUnwatched",
        "lab-1",
        WATCHED,
        {BLIND: 0},
        {
            "node": LAB[0],
            "pool": "lab",
            "model": "t4-pcie-16gb",
            "exporter": "node-problem-detector",
        },
        f"{LAB[0]} is not watched by node-problem-detector",
    ),
    Case(
        "NodeRebootLoop",
        "lab-1",
        {**LABS, CLOCK: 0, BOOTED: -9000},
        {BOOTED: Steps([(0, -60), (3, -30)])},
        {"node": LAB[0]},
        f"{LAB[0]} was rebooted 2 times",
        late=4,
        ends=False,
    ),
)
