"""Faults of hosts, and what becomes of them."""

from components.making.faults import CONDITIONS, FAULTY_TAINT, QUARANTINED_TAINT
from components.monitoring.alerts.nodes import UPTIME
from components.monitoring.dashboards.panels import Board, Panel, panel
from components.monitoring.dashboards.queries import RATE, RECORDED, by
from components.monitoring.exporters import Exporter, exporters
from schemas.facts.site import Site

STATE, REPAIRS = Exporter.KUBE_STATE_METRICS, Exporter.CUSTOM_RESOURCES


def repairs(site: Site) -> Board | None:
    """The dashboard of faults and repairs; none where nobody looks for faults."""
    if site.file.remediation is None:
        return None
    panels = [*_faults(site)]
    if REPAIRS in exporters(site):
        panels += _operations(site)
    panels += [_reboots(), _seen(site)]
    if Exporter.NODE_OPERATION_CONTROLLER in exporters(site):
        panels.append(_controller(site))
    text = "Nodes with faults, their repairs, and those that repairs did not help."
    return Board("repairs", "Faults and repairs", text, tuple(panels))


def _faults(site: Site) -> list[Panel]:
    types = "|".join(CONDITIONS.values())
    bad = 'foresite:node_fault:info{pool=~"$pool"}'
    unknown = by(site, STATE, f'condition=~"{types}"', 'status="unknown"')
    taints = by(site, STATE, f'key=~"{FAULTY_TAINT}|{QUARANTINED_TAINT}"')
    return [
        panel(
            "Nodes with a fault",
            "By pool; one node may have several.",
            RECORDED,
            (f"sum by (pool, fault) ({bad})", "{{pool}} {{fault}}"),
        ),
        panel(
            "Which nodes",
            "Each node with a fault now.",
            RECORDED,
            (bad, "{{node}} {{fault}}"),
            table=True,
        ),
        panel(
            "Checks without an answer",
            "By condition: nothing is repaired for them.",
            STATE,
            (f"sum by (condition) (kube_node_status_condition{unknown})", "{{condition}}"),
        ),
        panel(
            "Nodes that take no new pods",
            "faulty: until the fault is gone; quarantined: repairs did not help, until a person "
            "takes the taint away.",
            STATE,
            (f"count by (key, value) (kube_node_spec_taint{taints})", "{{key}} {{value}}"),
        ),
    ]


def _operations(site: Site) -> list[Panel]:
    asked = by(site, REPAIRS)
    going = by(site, REPAIRS, 'phase!~"Completed|Failed"')
    bad = by(site, REPAIRS, 'node_status="Bad"')
    return [
        panel(
            "Repairs by phase",
            "Running: rebooted, or waits for it.",
            REPAIRS,
            (f"sum by (phase) (kube_nodeoperation_status_phase{going})", "{{phase}}"),
        ),
        panel(
            "Age of repairs",
            "By node, the drain included.",
            REPAIRS,
            (f"max by (node) (time() - kube_nodeoperation_created{asked})", "{{node}}"),
            unit="s",
        ),
        panel(
            "Nodes whose turn it is",
            "With a fault that is being mended.",
            REPAIRS,
            (f"sum by (template) (kube_noderemediation_status_node_status{bad})", "{{template}}"),
        ),
    ]


def _reboots() -> Panel:
    """By how long the kernel runs: the time of the boot also moves when the clock is set."""
    return panel(
        "Reboots within a day",
        "The nodes that started most often; rollouts and people count too.",
        RECORDED,
        (f"topk(20, resets({UPTIME}[1d])) > 0", "{{node}}"),
    )


def _seen(site: Site) -> Panel:
    asked = by(site, Exporter.NODE_PROBLEM_DETECTOR)
    return panel(
        "What detectors saw",
        "Events and changes of conditions, by reason.",
        Exporter.NODE_PROBLEM_DETECTOR,
        (f"sum by (reason) (increase(problem_counter{asked}[1h])) > 0", "{{reason}}"),
    )


def _controller(site: Site) -> Panel:
    asked = by(site, Exporter.NODE_OPERATION_CONTROLLER)
    return panel(
        "The controller of repairs",
        "Errors a second, and what waits for it.",
        Exporter.NODE_OPERATION_CONTROLLER,
        (
            f"sum by (controller) (rate(controller_runtime_reconcile_errors_total{asked}[{RATE}]))",
            "errors of {{controller}}",
        ),
        (f"max by (name) (workqueue_depth{asked})", "waits for {{name}}"),
    )
