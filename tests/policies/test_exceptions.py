"""Exceptions from rules: whom they are for, until when, and that none is for more than it names."""

import datetime
from collections.abc import Iterator
from typing import Any

import pytest

from policies import Found, Object, ObjectRule, Severity, Violation
from policies.exceptions import Exemption, ExemptionError, exemptions, today
from policies.judge import Judgement, judge
from policies.rules import RULES
from tests.golden import every_site, objects
from tests.kit.policy_objects import changed, good

TODAY = datetime.date(2026, 11, 22)


def _check(each: Object) -> Iterator[Found]:
    if each.kind == "ConfigMap":
        yield Found("data", "it is a ConfigMap", "make it something else")


RULE = ObjectRule("no-config", Severity.MANDATORY, "no ConfigMap", "a reason", "a source", _check)


def judged(*own: Exemption) -> Judgement:
    return judge([good("ConfigMap"), good("Service")], TODAY, own, [RULE])


def exempt(**fields: Any) -> Exemption:
    row = {"rule": "no-config", "object": "ConfigMap web/web", "reason": "it has to be"}
    return exemptions([row | {"owner": "me", "until": TODAY} | fields], own=True)[0]


def test_what_breaks_a_rule_is_a_violation() -> None:
    (one,) = judged().violations
    assert (one.rule.name, one.object.title, one.found.path) == (
        "no-config",
        "ConfigMap web/web",
        "data",
    )


def test_an_exception_lets_it_pass_until_its_last_day() -> None:
    exception = exempt()
    found = judged(exception)
    assert found.violations == () and found.expired == () and found.unused == ()
    ((violation, by),) = found.excepted
    assert violation.object.title == "ConfigMap web/web" and by == exception


def test_an_expired_exception_is_told_and_excepts_nothing() -> None:
    exception = exempt(until="2026-11-21")
    found = judged(exception)
    assert len(found.violations) == 1 and found.expired == (exception,)
    # One that still holds is enough, and nobody has to be told of the other one.
    both = judged(exception, exempt())
    assert both.violations == () and both.expired == ()


@pytest.mark.parametrize("fields", [{"object": "Service web/web"}, {"object": "ConfigMap web/a*"}])
def test_an_exception_that_nothing_needs_is_told(fields: Any) -> None:
    exception = exempt(**fields)
    found = judged(exception)
    assert found.unused == (exception,) and len(found.violations) == 1


def test_an_exception_from_a_rule_that_there_is_not_is_told() -> None:
    exception = exempt(rule="no-such-rule")
    assert judged(exception).unused == (exception,)
    assert judged(exempt()).unused == ()


@pytest.mark.parametrize(
    ("pattern", "covers"),
    [
        ("ConfigMap web/web", True),
        ("ConfigMap */web", True),
        ("ConfigMap web/*", True),
        ("ConfigMap w*b/w*", True),
        ("ConfigMap web/we", False),
        ("ConfigMap *", False),  # * ends where the namespace does
        ("* web/web", True),
        ("Config.ap web/web", False),
        ("configmap web/web", False),
    ],
)
def test_a_star_is_any_text_of_one_part(pattern: str, covers: bool) -> None:
    violation = Violation(RULE, good("ConfigMap"), Found("", "", ""))
    assert exempt(object=pattern).covers(violation) is covers


INNER = """\
apiVersion: apps/v1
kind: DaemonSet
metadata: {{name: {}, namespace: network}}
spec:
  template:
    spec:
      hostNetwork: true
      containers:
        - name: one
          securityContext: {{capabilities: {{drop: [ALL], add: [{}]}}}}
"""


def carrier(*inner: tuple[str, str]) -> Object:
    """A ConfigMap with DaemonSets as text, by name and the capability that each adds."""
    return good("ConfigMap", ("data", "x"), "---\n".join(INNER.format(*each) for each in inner))


def let_pass(each: Object, **fields: Any) -> list[str]:
    """The DaemonSets whose capability an exception lets pass."""
    (rule,) = [rule for rule in RULES if rule.name == "capabilities-added"]
    exception = exempt(rule=rule.name, **fields)
    return [one.found.message for one, _ in judge([each], TODAY, [exception], [rule]).excepted]


AGENT = "DaemonSet network/agent in ConfigMap */web"


@pytest.mark.parametrize(
    ("fields", "passes"),
    [
        ({"object": AGENT}, ["NET_ADMIN"]),
        ({"object": "* */* in ConfigMap web/web"}, ["NET_ADMIN", "SYS_ADMIN"]),
        ({"object": AGENT, "only": ["NET_ADMIN", "NET_RAW"]}, ["NET_ADMIN"]),
        ({"object": AGENT, "only": ["NET_RAW"]}, []),
        ({"object": "ConfigMap */web"}, []),
        ({"object": "ConfigMap */*"}, []),
        ({"object": "DaemonSet network/agent"}, []),
        ({"object": "DaemonSet network/agent in ConfigMap */other"}, []),
        ({"object": "DaemonSet network/age in ConfigMap */web"}, []),
    ],
)
def test_an_exception_names_what_is_written_in_an_object(fields: Any, passes: list[str]) -> None:
    each = carrier(("agent", "NET_ADMIN"), ("miner", "SYS_ADMIN"))
    assert let_pass(each, **fields) == [f"container one has the capability {n}" for n in passes]


def test_a_name_with_dots_is_not_taken_for_a_place_in_another_object() -> None:
    """``a.spec.template`` starts as a place in ``a`` does."""
    both = carrier(("a", "SYS_ADMIN"), ("a.spec.template", "NET_ADMIN"))
    named = "DaemonSet network/a.spec.template in ConfigMap web/web"
    assert let_pass(both, object=named) == []
    assert len(let_pass(carrier(("a.spec.template", "NET_ADMIN")), object=named)) == 1


def test_a_second_workload_beside_the_pod_network_is_refused() -> None:
    bodies = {each.name: each.body for each in objects(every_site()["lab-1"])}
    network = Object("management", bodies["ConfigMap/pod-network"])
    ((key, text),) = network.body["data"].items()
    assert judge([network], TODAY).violations == ()
    more = changed(network.body, ("data", key), f"{text}\n---\n{INNER.format('a', 'SYS_ADMIN')}")
    found = judge([Object(network.cluster, more)], TODAY).violations
    assert {"capabilities-added", "host-network"} <= {each.rule.name for each in found}
    assert all("DaemonSet network/a" in each.found.path for each in found)
    wider = text.replace("NET_RAW", "SYS_ADMIN")
    assert wider != text, "the pod network that is shipped adds it"
    (one,) = judge([Object("site", changed(network.body, ("data", key), wider))], TODAY).violations
    assert one.found.value == "SYS_ADMIN"


@pytest.mark.parametrize(("given", "later"), [("", 0), ("0", 0), ("{}", 400)])
def test_a_day_that_is_set_is_never_an_earlier_one(given: str, later: int) -> None:
    """Else a build that sets the time of its last change would bring back what has ended."""
    now = datetime.datetime.now(datetime.UTC)
    then = now + datetime.timedelta(days=later)
    found = today({"SOURCE_DATE_EPOCH": given.format(int(then.timestamp()))})
    assert then.date() <= found <= then.date() + datetime.timedelta(days=1)  # it may be midnight


@pytest.mark.parametrize(
    "row",
    [
        "no map",
        {},
        {"rule": "a", "object": "b", "reason": "c", "owner": "d"},
        {"rule": "a", "object": "b", "reason": "", "owner": "d", "until": "2026-11-22"},
        {"rule": "a", "object": "b", "reason": "c", "owner": "d", "until": "2026-02-30"},
        {"rule": "a", "object": "b", "reason": "c", "owner": "d", "until": "soon"},
        {
            "rule": "a",
            "object": "b",
            "reason": "c",
            "owner": "d",
            "until": datetime.datetime(2026, 1, 1, 9, tzinfo=datetime.UTC),
        },
        {
            "rule": "a",
            "object": "b",
            "reason": "c",
            "owner": "d",
            "until": "2026-11-22",
            "only": "NET_ADMIN",
        },
    ],
)
def test_an_exception_that_says_too_little_is_refused(row: Any) -> None:
    with pytest.raises(ExemptionError):
        exemptions([row], own=True)
