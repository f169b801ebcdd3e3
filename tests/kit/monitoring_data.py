"""A world in which every query of a site's dashboards has an answer, made of what they ask for.

Each selector becomes series that it selects: labels that it names have a value that it takes, all
others one default, so that series of one node, pod or namespace meet when they are joined.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import promql_parser

from components.making.manifest import Json
from schemas.facts.site import Site
from tests.kit.monitoring_metrics import METRICS, TARGET_LABELS, Type

MINUTES = 20
VALUES = {
    # Booted anew in the middle.
    "node_time_seconds": f"0+60x{MINUTES // 2} 0+60x{MINUTES}",
    "gpu_ecc_uncorrect_total": f"0+60x{MINUTES}",
    "node_network_up": f"0x{MINUTES}",
    "node_infiniband_state_id": f"4x{MINUTES // 2} 1x{MINUTES}",
    "gpu_health": f"0x{MINUTES}",
}
"""Metrics whose panels show what is broken; all other gauges are 1, counters rise."""
NODELESS = ("node-exporter", "kube-state-metrics", "apiserver", "kubelet", "prometheus")
"""Exporters whose targets have no label ``node``: their address says which it is, if any."""


def series(site: Site, selectors: Iterable[promql_parser.VectorSelector]) -> Mapping[str, str]:
    """The series of a world with their values, one a minute, as promtool reads them."""
    found: dict[str, str] = {}
    for each in selectors:
        name = str(each.name)
        if not name.startswith("foresite:"):
            value = VALUES.get(name, f"0+60x{MINUTES}" if _rises(name) else f"1x{MINUTES}")
            found |= dict.fromkeys(_texts(site, name, each), value)
    return found


def unit_test(
    folder: Path, groups: list[Json], world: Mapping[str, str], answers: Mapping[str, list[Json]]
) -> Path:
    """The test that each of some queries has its answer in a world, as promtool reads it."""
    records = [
        {**group, "rules": [rule for rule in group["rules"] if "record" in rule]}
        for group in groups
    ]
    asked = {
        "interval": "1m",
        "input_series": [{"series": name, "values": each} for name, each in world.items()],
        "promql_expr_test": [
            {"expr": query, "eval_time": f"{MINUTES - 2}m", "exp_samples": samples}
            for query, samples in answers.items()
        ],
    }
    order = [group["name"] for group in groups]
    tests = {"rule_files": ["rules.yaml"], "group_eval_order": order, "tests": [asked]}
    (folder / "rules.yaml").write_text(json.dumps({"groups": records}), encoding="utf-8")
    (folder / "tests.yaml").write_text(json.dumps(tests), encoding="utf-8")
    return folder / "tests.yaml"


def _rises(name: str) -> bool:
    short = re.sub("_(bucket|count|sum)$", "", name)
    known = METRICS.get(name) or METRICS[short]
    return known.type is not Type.GAUGE


def _texts(site: Site, name: str, selector: promql_parser.VectorSelector) -> Iterator[str]:
    matchers = {each.name: each for each in selector.matchers.matchers}
    metric = METRICS.get(name) or METRICS[re.sub("_(bucket|count|sum)$", "", name)]
    labels = dict.fromkeys([*matchers, *metric.labels, *TARGET_LABELS])
    if metric.exporter in NODELESS and "node" not in metric.labels:
        del labels["node"]
    hosts = [site.hosts_of(pool)[0] for pool in site.file.pools if site.hosts_of(pool)]
    for host in hosts:
        defaults = {
            "node": host.name,
            "instance": f"{host.ip}:9100",
            "internal_ip": str(host.ip),
            "pod": f"pod-of-{host.name}",
            "namespace": site.scheduling.teams[0].namespaces[0] if site.scheduling.teams else "x",
            "site": site.name,
            "le": "604800",
        }
        values = {
            label: _value(matchers.get(label), defaults.get(label, "some")) for label in labels
        }
        if name.endswith("_bucket"):
            values = {"le": "+Inf", **values}
            yield _text(name, {**values, "le": values["le"].replace("+Inf", "1")})
        yield _text(name, values)


def _text(name: str, values: Mapping[str, str]) -> str:
    text = ",".join(f'{label}="{value}"' for label, value in values.items() if value)
    return f"{name}{{{text}}}"


def _value(matcher: promql_parser.Matcher | None, default: str) -> str:
    """A value that a matcher takes: the default where it does."""
    if matcher is None:
        return default
    # The first of a regular expression's alternatives, without its marks.
    first = re.sub(r"\[[^]]+\]\+", "79", matcher.value.split("|")[0].replace("[.]", "."))
    for value in (default, first, "other"):
        equal = value == matcher.value
        same = re.fullmatch(matcher.value, value) is not None
        kinds = {"Equal": equal, "NotEqual": not equal, "Re": same, "NotRe": not same}
        if kinds[str(matcher.op).removeprefix("MatchOp.")]:
            return value
    raise LookupError(f"no value for {matcher.name} {matcher.op} {matcher.value}")
