"""The policy pack's reading of the engine's messages and of a site's file, without an engine."""

import datetime
from pathlib import Path
from typing import Any

import pytest
from google.protobuf import json_format, struct_pb2  # type: ignore[import-untyped]
from pulumi.runtime.proto import analyzer_pb2

from policies import Found, Object, ObjectRule, Severity, SiteRule
from policies.exceptions import Exemption
from policies.own import OwnRules
from policies.pack.analyzer import Analyzer
from policies.pack.site_policies import SiteFileError, site_policies

TODAY = datetime.date(2027, 6, 30)
SECRET = {"4dabf18193072939515e22adb298388d": "1b47061264138c4ac30d75fd1eb44270"}
UNKNOWN = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"
"""A text that is not known yet (pulumi 3.255, sdk/go/common/resource/plugin/rpc.go)."""


def request(kind: str, properties: dict[str, Any], provider: str = "") -> Any:
    """The engine's message on a resource."""
    urn = f"urn:pulumi:lab-1::foresite::{kind}::one"
    struct = json_format.ParseDict(properties, struct_pb2.Struct())
    found = analyzer_pb2.AnalyzeRequest(type=kind, urn=urn, name="one", properties=struct)
    if provider:
        found.provider.name = provider
    return found


def configuration(**data: Any) -> dict[str, Any]:
    metadata = {"name": "one", "namespace": "lab-1"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, **data}


def analyzer(seen: list[Object], *exceptions: Exemption, **more: Any) -> Analyzer:
    """A pack of one rule that no object keeps, and that notes what it sees."""

    def check(each: Object) -> list[Found]:
        seen.append(each)
        return [Found("data", "it is there", "take it away")]

    rule = ObjectRule("none", Severity.MANDATORY, "Nothing is there", "it hurts", "a test", check)
    return Analyzer([rule], more.get("own", OwnRules()), exceptions, TODAY)


def test_an_object_is_judged_as_it_was_registered() -> None:
    seen: list[Object] = []
    body = configuration(data={"a": "1"}, immutable=True, count=3, share=0.5, none=[], nested=[{}])
    pack = analyzer(seen)
    (found,) = pack.resource(request("kubernetes:core/v1:ConfigMap", body, "site")).diagnostics
    assert seen == [Object("site", body)]
    assert type(seen[0].body["count"]) is int and type(seen[0].body["share"]) is float
    assert (found.policyName, found.enforcementLevel) == ("none", analyzer_pb2.MANDATORY)
    for words in ("ConfigMap lab-1/one data: it is there", "why: it hurts", "fix: take it away"):
        assert words in found.message


def test_a_secret_is_seen_by_the_rules_and_not_told() -> None:
    seen: list[Object] = []
    body = configuration(data={"key": {**SECRET, "value": "canary"}})
    response = analyzer(seen).resource(request("kubernetes:core/v1:ConfigMap", body, "management"))
    assert seen[0].body["data"] == {"key": "canary"}
    assert "canary" not in str(response)


def test_what_is_not_known_yet_is_not_called_good() -> None:
    seen: list[Object] = []
    body = configuration(data={"key": UNKNOWN})
    (found,) = analyzer(seen).resource(request("kubernetes:core/v1:ConfigMap", body)).diagnostics
    assert seen == [] and "not known yet" in found.message
    assert found.enforcementLevel == analyzer_pb2.ADVISORY, "else no preview could ever pass"


@pytest.mark.parametrize(
    ("kind", "properties"),
    [
        ("pulumi:pulumi:Stack", {}),
        ("pulumi:providers:kubernetes", configuration()),
        ("foresite:components:Machines", configuration()),
        ("kubernetes:helm.sh/v3:Release", {"chart": "a"}),
        ("aws:s3/bucket:Bucket", configuration()),
    ],
)
def test_what_is_no_object_of_kubernetes_is_not_judged(
    kind: str, properties: dict[str, Any]
) -> None:
    seen: list[Object] = []
    assert not analyzer(seen).resource(request(kind, properties)).diagnostics
    assert seen == []


@pytest.mark.parametrize(("until", "ended"), [(TODAY, False), (datetime.date(2027, 6, 29), True)])
def test_an_exception_holds_up_to_its_last_day(until: datetime.date, ended: bool) -> None:
    exception = Exemption("none", "ConfigMap lab-1/*", "reason", "owner", until, own=True)
    pack = analyzer([], exception)
    found = pack.resource(request("kubernetes:core/v1:ConfigMap", configuration())).diagnostics
    assert [each.policyName for each in found] == (["none"] if ended else [])
    assert not ended or "ended on 2027-06-29" in found[0].message


def test_a_rule_over_all_objects_sees_those_of_the_stack_alone() -> None:
    def check(objects: Any) -> list[tuple[Object, Found]]:
        return [(each, Found("", f"{len(objects)} in all", "none")) for each in objects]

    rule = SiteRule("few", Severity.ADVISORY, "Few", "why", "source", check)
    pack = Analyzer([rule], OwnRules(), (), TODAY)
    kept = request("kubernetes:core/v1:ConfigMap", configuration())
    gone = request("kubernetes:core/v1:ConfigMap", configuration(data={}))
    gone.urn += "-gone"
    for each in (kept, gone):
        assert not pack.resource(each).diagnostics
    resources = [analyzer_pb2.AnalyzerResource(urn=kept.urn, type=kept.type)]
    (found,) = pack.stack(analyzer_pb2.AnalyzeStackRequest(resources=resources)).diagnostics
    assert found.urn == kept.urn and "1 in all" in found.message
    assert found.enforcementLevel == analyzer_pb2.ADVISORY


def test_no_policy_can_be_configured_away() -> None:
    information = analyzer([]).information()
    assert not information.supportsConfig
    (policy,) = information.policies
    assert (policy.name, policy.enforcementLevel) == ("none", analyzer_pb2.MANDATORY)
    assert policy.description == "Nothing is there: it hurts (a test)"


# --- the site's file ------------------------------------------------------------------------------

RULES = """\
from policies import ObjectRule, Severity
RULES = [ObjectRule("mine", Severity.MANDATORY, "what", "why", "source", lambda each: 1 / 0)]
"""
EXCEPTION = "{rule: mine, object: Pod a, reason: it has to be, owner: me, until: 2027-06-30}"


def test_a_stack_without_a_site_has_our_rules_alone(tmp_path: Path) -> None:
    found = site_policies(tmp_path, "other", set())
    assert found.own.rules == () and found.exceptions == ()


def test_a_sites_file_is_read_as_the_model_reads_it(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(RULES)
    text = f"policies:\n  python: [own.py]\n  exceptions: [{EXCEPTION}]\n"
    (tmp_path / "lab-1.yaml").write_text(text)
    found = site_policies(tmp_path, "lab-1", set())
    assert [each.name for each in found.own.rules] == ["mine"]
    assert [each.until for each in found.exceptions] == [TODAY]


def test_what_a_region_says_of_third_parties_holds_unless_the_site_says_it(tmp_path: Path) -> None:
    sites, regions = tmp_path / "sites", tmp_path / "regions"
    sites.mkdir()
    regions.mkdir()
    allow = "allow: [{danger: privileged, what: [a], until: 2027-06-30}]"
    (regions / "east.yaml").write_text(
        f"extra: [{{name: region}}]\ncluster: {{pod_network: {{chart: a, {allow}}}}}\n"
    )
    (sites / "lab-1.yaml").write_text("region: east\ncluster: {endpoint: 10.0.0.1}\n")
    found = site_policies(sites, "lab-1", set()).parties
    assert set(found) == {"extra-region", "pod-network"} and found["pod-network"].allowed
    (sites / "lab-1.yaml").write_text(
        "region: east\nextra: [{name: own}]\ncluster: {pod_network: {manifests: a.yaml}}\n"
    )
    assert set(site_policies(sites, "lab-1", set()).parties) == {"extra-own"}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("policies: {python: [../out.py]}", "leads out of sites/"),
        ("policies: {python: [linked.py]}", "leads out of sites/"),
        ("policies: {python: [absent.py]}", "sites/absent.py cannot be read"),
        ("policies: {python: [bad.py]}", "sites/bad.py:1: it is no Python"),
        ("policies: {python: own.py}", "policies.python is no list"),
        ("policies: {exceptions: {a: b}}", "policies.exceptions is no list"),
        ("policies: {exceptions: [{rule: a}]}", "says no object, reason, owner, until"),
        (f"policies: {{exceptions: [{EXCEPTION.replace('06-30', '06-31')}]}}", "cannot be read"),
        ("policies: [", "sites/lab-1.yaml cannot be read"),
    ],
)
def test_policies_that_cannot_be_had_stop_the_run(tmp_path: Path, text: str, words: str) -> None:
    sites = tmp_path / "sites"
    sites.mkdir()
    (tmp_path / "out.py").write_text("raise SystemExit('was run')\n")
    (sites / "linked.py").symlink_to(tmp_path / "out.py")
    (sites / "bad.py").write_text("RULES = [\n")
    (sites / "lab-1.yaml").write_text(f"{text}\n")
    with pytest.raises(SiteFileError) as caught:
        site_policies(sites, "lab-1", set())
    assert words in str(caught.value) and "was run" not in str(caught.value)


def test_a_check_that_fails_stops_the_run_and_names_its_rule(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(RULES.replace("MANDATORY", "ADVISORY"))
    (tmp_path / "lab-1.yaml").write_text("policies: {python: [own.py]}\n")
    pack = Analyzer([], site_policies(tmp_path, "lab-1", set()).own, (), TODAY)
    (found,) = pack.resource(request("kubernetes:core/v1:ConfigMap", configuration())).diagnostics
    assert (found.policyName, found.enforcementLevel) == ("mine", analyzer_pb2.MANDATORY)
    assert "sites/own.py:2: the check of rule mine failed on ConfigMap lab-1/one" in found.message
