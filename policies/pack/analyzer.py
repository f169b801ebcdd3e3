"""The answers of a policy pack to the engine: which policies there are, and what breaks them.
Resources are judged by all rules at once, from their inputs, before anything is done; rules on all
objects judge the same inputs at the end."""

import datetime
from collections.abc import Iterable, Mapping, Sequence

from pulumi.runtime.proto import analyzer_pb2

from policies.exceptions import Exemption
from policies.judge import judge
from policies.own import OwnRules
from policies.pack.resources import UnknownValueError, kubernetes_object
from policies.rule import Object, ObjectRule, Rule, Severity, SiteRule, Violation
from policies.third_party import DANGERS, Party, Told

NAME, VERSION = "foresite", "0.1.0"
_LEVELS = {Severity.MANDATORY: analyzer_pb2.MANDATORY, Severity.ADVISORY: analyzer_pb2.ADVISORY}


class Analyzer:
    """The policies for one run of the engine."""

    def __init__(
        self,
        rules: Iterable[Rule],
        own: OwnRules,
        exceptions: Sequence[Exemption],
        today: datetime.date,
        known: Mapping[str, Party] = {},
    ) -> None:
        self._rules = (*rules, *own.rules)
        self._object_rules = [each for each in self._rules if isinstance(each, ObjectRule)]
        self._site_rules = [each for each in self._rules if isinstance(each, SiteRule)]
        self._own, self._exceptions, self._today = own, exceptions, today
        self._parties = known
        self._seen: dict[str, Object] = {}

    def information(self) -> analyzer_pb2.AnalyzerInfo:
        """Every rule as a policy. None can be configured: exceptions are in Git."""
        return analyzer_pb2.AnalyzerInfo(
            name=NAME,
            version=VERSION,
            supportsConfig=False,
            policies=[_policy(rule) for rule in self._rules],
        )

    def resource(self, request: analyzer_pb2.AnalyzeRequest) -> analyzer_pb2.AnalyzeResponse:
        """The violations of a resource against the rules that look at one object."""
        try:
            found = kubernetes_object(request.type, request.properties, request.provider.name)
        except UnknownValueError:
            return analyzer_pb2.AnalyzeResponse(diagnostics=[_unknown(request.urn)])
        if found is None:
            return analyzer_pb2.AnalyzeResponse()
        self._seen[request.urn] = found
        return self._judge({request.urn: found}, self._object_rules)

    def stack(self, request: analyzer_pb2.AnalyzeStackRequest) -> analyzer_pb2.AnalyzeResponse:
        """The violations of the whole stack against the rules that look at all objects."""
        seen = self._seen
        mine = {each.urn: seen[each.urn] for each in request.resources if each.urn in seen}
        return self._judge(mine, self._site_rules)

    def _judge(
        self, objects: Mapping[str, Object], rules: Sequence[Rule]
    ) -> analyzer_pb2.AnalyzeResponse:
        """The violations of ``rules`` by objects, by URN, and the failed checks of a site's own."""
        known = len(self._own.faults)
        found = judge(list(objects.values()), self._today, self._exceptions, rules, self._parties)
        urns = {_identity(each): urn for urn, each in objects.items()}
        response = analyzer_pb2.AnalyzeResponse()
        for violation in found.violations:
            ended = [each for each in found.expired if each.covers(violation)]
            urn = urns.get(_identity(violation.object), "")
            rule, said = violation.rule, _describe(violation, ended)
            told = _diagnostic(rule.name, rule.what, said, urn, rule.severity)
            response.diagnostics.append(told)
        response.diagnostics.extend(map(_of_third_party, found.third.dangers))
        by_name = {rule.name: rule for rule in rules}
        for fault in self._own.faults[known:]:
            rule = by_name[fault.rule]
            response.diagnostics.append(_diagnostic(rule.name, rule.what, str(fault)))
        return response


def _identity(each: Object) -> tuple[str, ...]:
    return each.cluster, str(each.body.get("apiVersion")), each.kind, each.namespace, each.name


def _policy(rule: Rule) -> analyzer_pb2.PolicyInfo:
    one = isinstance(rule, ObjectRule)
    return analyzer_pb2.PolicyInfo(
        name=rule.name,
        displayName=rule.what,
        description=f"{rule.what}: {rule.why} ({rule.source})",
        enforcementLevel=_LEVELS[rule.severity],
        policy_type=(analyzer_pb2.POLICY_TYPE_RESOURCE if one else analyzer_pb2.POLICY_TYPE_STACK),
    )


def _diagnostic(
    name: str, what: str, message: str, urn: str = "", level: Severity = Severity.MANDATORY
) -> analyzer_pb2.AnalyzeDiagnostic:
    return analyzer_pb2.AnalyzeDiagnostic(
        policyName=name,
        policyPackName=NAME,
        policyPackVersion=VERSION,
        description=what,
        message=message,
        enforcementLevel=_LEVELS[level],
        urn=urn,
    )


def _describe(violation: Violation, ended: Iterable[Exemption]) -> str:
    """A violation for a person, with the exceptions that would have covered it before."""
    rule, each, found = violation
    at = f" {found.path}" if found.path else ""
    lines = [
        f"{each.title}{at}: {found.message}",
        f"why: {rule.why}",
        f"fix: {found.fix}",
        *(f"the exception for {one.object} ended on {one.until}" for one in ended),
    ]
    return "\n".join(lines)


def _of_third_party(told: Told) -> analyzer_pb2.AnalyzeDiagnostic:
    message = f"{told.message}; what has to be so is allowed in the site file, under allow"
    return _diagnostic(told.danger, str(DANGERS[told.danger]["why"]), message)


def _unknown(urn: str) -> analyzer_pb2.AnalyzeDiagnostic:
    """Said of an object with a value that is not known before something else has been made."""
    what = "An object is judged once all its values are known."
    message = "a value of it is not known yet: it is judged by `pulumi up`, before it is made"
    return _diagnostic("not-judged", what, message, urn, Severity.ADVISORY)
