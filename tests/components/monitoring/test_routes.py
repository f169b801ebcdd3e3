"""Who is told of which alert: the routes as Alertmanager's own tool reads them."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from components.making.manifest import Json
from components.monitoring.routes import INHIBITIONS, sources, targets
from tests.kit.monitoring_sites import NAMES, OPERATED, PLAIN, groups, objects, watched

needs_amtool = pytest.mark.skipif(shutil.which("amtool") is None, reason="no amtool in PATH")


def plain(name: str) -> str:
    (found,) = (each for each in objects(PLAIN[name]) if "alertmanager" in each.name)
    return str(found.body["data"]["alertmanager.yml"])


def operated(name: str) -> Json:
    (found,) = (each for each in objects(OPERATED[name]) if each.kind == "AlertmanagerConfig")
    spec: Json = found.body["spec"]
    return spec


def amtool(*words: str) -> str:
    done = subprocess.run(["amtool", *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def written(folder: Path, name: str) -> str:
    """The file as made; but where amtool is older than 0.26, which knows no url_file, a webhook has
    an address of its own in its place."""
    said = subprocess.run(["amtool", "--version"], capture_output=True, text=True, check=True)
    version = re.search(r"version ([0-9]+)\.([0-9]+)", said.stdout + said.stderr)
    text = plain(name)
    # One that somebody built has no version, and is newer.
    if version and (int(version[1]), int(version[2])) < (0, 26):
        text = re.sub(
            r"url_file: /etc/alertmanager/secrets/hooks/url", "url: http://127.0.0.1", text
        )
    path = folder / "alertmanager.yml"
    path.write_text(text)
    return str(path)


@needs_amtool
@pytest.mark.monitoring
@pytest.mark.parametrize("name", NAMES)
def test_alertmanager_takes_the_configuration(tmp_path: Path, name: str) -> None:
    said = amtool("check-config", written(tmp_path, name))
    assert "3 receivers" in said and f"{len(INHIBITIONS)} inhibit rules" in said


@needs_amtool
@pytest.mark.monitoring
@pytest.mark.parametrize(
    ("labels", "receiver"),
    [
        (["alertname=CacheDown", "severity=critical", "site=tokyo-1"], "pager"),
        (["alertname=NodeQuarantined", "severity=warning", "site=tokyo-1"], "chat"),
        # Of the site's own rules: nobody is forgotten.
        (["alertname=Other"], "chat"),
        (["alertname=Other", "severity=critical"], "pager"),
        (["alertname=Other", "severity=info"], "chat"),
    ],
)
def test_an_alert_goes_to_the_receiver_of_its_severity(
    tmp_path: Path, labels: list[str], receiver: str
) -> None:
    file = f"--config.file={written(tmp_path, 'tokyo-1')}"
    expected = f"--verify.receivers={receiver}"
    amtool("config", "routes", "test", file, expected, *labels)


@needs_amtool
@pytest.mark.monitoring
@pytest.mark.parametrize("name", NAMES)
def test_every_alert_of_a_site_is_told_to_who_the_site_says(tmp_path: Path, name: str) -> None:
    file = f"--config.file={written(tmp_path, name)}"
    severities = {
        rule["labels"]["severity"]
        for group in groups(PLAIN[name])
        for rule in group["rules"]
        if "alert" in rule
    }
    assert severities == {"critical", "warning"}
    for severity in severities:
        receiver = {"critical": "pager", "warning": "chat"}[severity]
        labels = [f"severity={severity}", f"site={name}", "alertname=Any"]
        amtool("config", "routes", "test", file, f"--verify.receivers={receiver}", *labels)


def test_the_operators_routes_are_the_same() -> None:
    """In an AlertmanagerConfig they are for this site's alerts alone; the rest is the site's."""
    whole, spec = yaml.safe_load(plain("tokyo-1")), operated("tokyo-1")
    route, own = whole["route"], spec["route"]
    assert own["matchers"] == [{"name": "site", "matchType": "=", "value": "tokyo-1"}]
    pairs = {"group_by": "groupBy", "group_wait": "groupWait", "group_interval": "groupInterval"}
    for theirs, ours in {**pairs, "repeat_interval": "repeatInterval"}.items():
        assert route[theirs] == own[ours]
    assert route["receiver"] == own["receiver"] == "chat"
    (critical,), (own_critical,) = route["routes"], own["routes"]
    assert critical == {"receiver": "pager", "matchers": ['severity="critical"']}
    matcher = {"name": "severity", "matchType": "=", "value": "critical"}
    assert own_critical == {"receiver": "pager", "matchers": [matcher]}
    assert [each["equal"] for each in whole["inhibit_rules"]] == [
        each["equal"] for each in spec["inhibitRules"]
    ]
    for theirs, ours in zip(whole["inhibit_rules"], spec["inhibitRules"], strict=True):
        for key, word in (("source_matchers", "sourceMatch"), ("target_matchers", "targetMatch")):
            assert theirs[key] == [f'{m["name"]}{m["matchType"]}"{m["value"]}"' for m in ours[word]]


@pytest.mark.parametrize(("hours", "said"), [(1, "1h"), (168, "168h")])
def test_an_alert_that_holds_is_told_again_as_the_site_says(hours: int, said: str) -> None:
    routes = {"critical": "pager", "warning": "chat", "repeat_hours": hours}
    for operator in (True, False):
        made = objects(watched("tokyo-1", routes=routes, prometheus_operator=operator))
        (found,) = (each.body for each in made if each.key[3] == "foresite-alertmanager")
        route = (
            found["spec"]["route"]
            if operator
            else yaml.safe_load(found["data"]["alertmanager.yml"])["route"]
        )
        assert route.get("repeatInterval", route.get("repeat_interval")) == said


# --- secrets, by reference ---


def test_secrets_are_found_where_the_operator_mounts_them() -> None:
    receivers = {each["name"]: each for each in yaml.safe_load(plain("lab-1"))["receivers"]}
    folder = "/etc/alertmanager/secrets"
    (pager,) = receivers["pager"]["pagerduty_configs"]
    (chat,) = receivers["chat"]["slack_configs"]
    (hook,) = receivers["hook"]["webhook_configs"]
    assert pager["routing_key_file"] == f"{folder}/receivers/routing-key"
    assert (chat["api_url_file"], chat["channel"]) == (f"{folder}/receivers/slack", "#gpu")
    assert hook["url_file"] == f"{folder}/hooks/url"


def test_the_operator_is_told_which_key_of_which_secret() -> None:
    receivers = {each["name"]: each for each in operated("lab-1")["receivers"]}
    (pager,) = receivers["pager"]["pagerdutyConfigs"]
    (chat,) = receivers["chat"]["slackConfigs"]
    (hook,) = receivers["hook"]["webhookConfigs"]
    assert pager["routingKey"] == {"name": "receivers", "key": "routing-key"}
    assert chat["apiURL"] == {"name": "receivers", "key": "slack"}
    assert hook["urlSecret"] == {"name": "hooks", "key": "url"}


def test_whoever_is_told_is_also_told_when_it_is_over() -> None:
    for each in yaml.safe_load(plain("lab-1"))["receivers"]:
        (configs,) = (value for key, value in each.items() if key != "name")
        assert all(config["send_resolved"] for config in configs)


# --- what is one message, and what is none ---


def alerts() -> dict[str, Json]:
    """An example of each alert of all sites, by name."""
    return {
        rule["alert"]: rule
        for site in OPERATED.values()
        for group in groups(site)
        for rule in group["rules"]
        if "alert" in rule
    }


@pytest.mark.parametrize("inhibition", INHIBITIONS, ids=lambda each: each.source)
def test_an_inhibition_names_alerts_that_there_are(inhibition: object) -> None:
    known = alerts()
    assert set(inhibition.source.split("|")) <= set(known)  # type: ignore[attr-defined]
    targets = inhibition.target  # type: ignore[attr-defined]
    assert not targets or set(targets.split("|")) <= set(known)


def silenced(name: str, labels: dict[str, str]) -> set[str]:
    """The alerts with these labels that are not told while the one of this name fires with them."""

    def matches(told: list[tuple[str, str, str]], found: dict[str, str]) -> bool:
        for label, how, value in told:
            same = re.fullmatch(value, found.get(label, "")) is not None
            if same == (how == "!~"):
                return False
        return True

    def fired(alert: str) -> dict[str, str]:
        return {"alertname": alert, "site": "tokyo-1", **alerts()[alert]["labels"], **labels}

    source = fired(name)
    found = set()
    for other in alerts():
        target = fired(other)
        for each in INHIBITIONS:
            hit = matches(sources(each), source) and matches(targets(each, "tokyo-1"), target)
            # Alertmanager: what matches both sides is not silenced by itself.
            if hit and not matches(targets(each, "tokyo-1"), source):
                found.add(other)
    return found


def test_while_the_api_server_is_away_only_what_is_critical_is_told() -> None:
    """Also when only its metrics are lost, as then all else is still true."""
    told = set(alerts()) - silenced("WatchLost", {"exporter": "apiserver"})
    assert told == critical()
    assert told >= {"WatchLost", "CacheDown"}
    assert not silenced("WatchLost", {"exporter": "kube-state-metrics"})


def test_a_node_that_repairs_did_not_help_is_told_once() -> None:
    quiet = silenced("NodeQuarantined", {"node": "a", "pool": "v100"})
    assert {"NodeFaultPersists", "NodeRebootLoop", "NodeStaysOut", "NodeRepairSlow"} <= quiet
    assert "NodeQuarantined" not in quiet and "CacheDown" not in quiet


def test_a_storm_is_told_and_not_each_host_of_it() -> None:
    quiet = silenced("FaultStorm", {"pool": "v100"})
    assert quiet == {"NodeFaultPersists", "NodeRepairSlow", "FaultyNodeTakesPods"}


def critical() -> set[str]:
    return {name for name, rule in alerts().items() if rule["labels"]["severity"] == "critical"}


def test_nothing_critical_is_silenced_but_by_the_scheduler_that_is_down() -> None:
    assert len(critical()) > 3
    for each in INHIBITIONS:
        if each.source != "SchedulerDown":
            assert not critical() & set(each.target.split("|")), each.source


def said_of(rule: Json) -> str:
    """All that stands in a rule, and in those whose records it asks for."""
    records = {
        each["record"]: each
        for group in groups(OPERATED["tokyo-1"])
        for each in group["rules"]
        if "record" in each
    }
    names = set(re.findall(r"foresite:\w+:\w+", rule["expr"])) & set(records)
    return f"{rule['expr']} {rule['labels']} " + " ".join(said_of_record(records, n) for n in names)


def said_of_record(records: dict[str, Json], name: str) -> str:
    rule = records[name]
    names = set(re.findall(r"foresite:\w+:\w+", rule["expr"])) & set(records) - {name}
    more = " ".join(said_of_record(records, each) for each in names)
    return f"{rule['expr']} {rule.get('labels', '')} {more}"


def test_what_is_equal_is_never_left_to_chance() -> None:
    """A label that neither has counts as equal, so both must have each of them."""
    for each in INHIBITIONS:
        for label in each.equal:
            for name in (*each.source.split("|"), *each.target.split("|")):
                assert re.search(rf"\b{label}\b", said_of(alerts()[name])), (name, label)


def test_a_rack_that_goes_is_one_message() -> None:
    """Nodes of one pool differ by their name alone, which is not among what messages differ by. Two
    checks of a site differ by their fault, and what to do stands in its message once."""
    assert set(operated("tokyo-1")["route"]["groupBy"]) == {"site", "alertname", "pool", "fault"}
