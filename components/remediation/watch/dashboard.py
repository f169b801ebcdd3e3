"""Faults of hosts, and what becomes of them."""

from components.making.faults import CONDITIONS, DETECTOR, FAULTY_TAINT, QUARANTINED_TAINT
from components.making.promql import RATE, UPTIME, Exporter, by
from components.making.watch import Board, Panel, panel
from components.remediation.names import CONTROLLER
from schemas.facts.site import Site

STATE, REPAIRS = Exporter.KUBE_STATE_METRICS, Exporter.CUSTOM_RESOURCES


def board(site: Site, *, operated: bool) -> Board:
    """The dashboard of faults and repairs; ``operated``: Node Operation Controller runs."""
    panels = [*_faults(site)]
    if operated:
        panels += _operations(site)
    panels += [_reboots(), _detector_events(site)]
    if operated:
        panels.append(_controller(site))
    text = "Nodes with faults, their repairs, and those that repairs did not help."
    return Board("repairs", "Faults and repairs", text, tuple(panels), place=2)


def _faults(site: Site) -> list[Panel]:
    types = "|".join(CONDITIONS.values())
    bad = 'foresite:node_fault:info{pool=~"$pool"}'
    unknown = by(site, STATE, f'condition=~"{types}"', 'status="unknown"')
    taints = by(site, STATE, f'key=~"{FAULTY_TAINT}|{QUARANTINED_TAINT}"')
    return [
        panel(
            "Nodes with a fault",
            "By pool; one node may have several.",
            (f"sum by (pool, fault) ({bad})", "{{pool}} {{fault}}"),
        ),
        panel(
            "Which nodes",
            "Each node with a fault now.",
            (bad, "{{node}} {{fault}}"),
            table=True,
        ),
        panel(
            "Checks without an answer",
            "By condition: nothing is repaired for them.",
            (f"sum by (condition) (kube_node_status_condition{unknown})", "{{condition}}"),
        ),
        panel(
            "Nodes that take no new pods",
            "faulty: until the fault is gone; quarantined: repairs did not help, until a person "
            "takes the taint away.",
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
            (f"sum by (phase) (kube_nodeoperation_status_phase{going})", "{{phase}}"),
        ),
        panel(
            "Age of repairs",
            "By node, the drain included.",
            (f"max by (node) (time() - kube_nodeoperation_created{asked})", "{{node}}"),
            unit="s",
        ),
        panel(
            "Nodes with a repair slot",
            "Nodes with a fault that is being repaired.",
            (f"sum by (template) (kube_noderemediation_status_node_status{bad})", "{{template}}"),
        ),
    ]


def _reboots() -> Panel:
    """By how long the kernel runs: the time of the boot also moves when the clock is set."""
    return panel(
        "Reboots within a day",
        "The nodes that started most often; rollouts and people count too.",
        (f"topk(20, resets({UPTIME}[1d])) > 0", "{{node}}"),
    )


def _detector_events(site: Site) -> Panel:
    asked = by(site, DETECTOR)
    return panel(
        "What detectors saw",
        "Events and changes of conditions, by reason.",
        (f"sum by (reason) (increase(problem_counter{asked}[1h])) > 0", "{{reason}}"),
    )


def _controller(site: Site) -> Panel:
    asked = by(site, CONTROLLER)
    return panel(
        "The controller of repairs",
        "Errors a second, and what waits for it.",
        (
            f"sum by (controller) (rate(controller_runtime_reconcile_errors_total{asked}[{RATE}]))",
            "errors of {{controller}}",
        ),
        (f"max by (name) (workqueue_depth{asked})", "waits for {{name}}"),
    )
