"""Policies: rules of the site's own, rules that only warn, and exceptions. No machine notices."""

from components.effects.vocabulary import Action, Impact
from tests.kit.preview_repository import Repository
from tests.verdicts.cachesites import appended
from tests.verdicts.edits import Edit, applied, bare, site, together
from tests.verdicts.row import NO_OBJECT, Expected, Row, Verdict

_JUDGED = (
    "Kubernetes 1.34.3, apiserver pkg/admission/plugin/policy/validating/dispatcher.go: a policy "
    "is asked at a write, and never about what is there"
)
_AT_PODS = f"{_JUDGED}; what a rule of the site's own says of pods that nodes live by is not known"
_FOUND_BY_NAME = "components/admission_policies: the policy is called after the rule"
_FILE = "sites/policies/own.py"
_OWN = """
policies:
  cel:
    - name: owned
      severity: mandatory
      what: Jobs say whom they belong to
      why: nobody knows whom to ask about them
      source: the handbook of the site
      kinds: [batch/v1/jobs]
      namespaces: [vision]
      expression: "'owner' in object.metadata.?labels.orValue({})"
"""
_EXCEPTION = """
policies:
  exceptions:
    - rule: image-digest
      object: DaemonSet accelerators/device-plugin-v100
      reason: the maker names its images by tag alone
      owner: the accelerator team
      until: "2028-06-30"
"""
_BOTH = "ValidatingAdmissionPolicy*/own/{}"
_POLICY = "ValidatingAdmissionPolicy/own/owned"
_BINDING = "ValidatingAdmissionPolicyBinding/own/owned"


def _row(name: str, edit: Edit, expected: Expected, source: str, *base: Edit) -> Row:
    """An edit of tokyo-1, whose cluster answers."""
    return Row(f"policies: {name}", (edit,), {"tokyo-1": expected}, source,
               (applied("tokyo-1"), *base))  # fmt: skip


def _cel(name: str, old: str, new: str, *objects: str) -> Row:
    """A change of the rule of the site's own."""
    expected = Expected(actions=dict.fromkeys(objects, Action.CHANGED))
    edit = site("tokyo-1", old, new)
    return _row(f"cel: {name}", edit, expected, _JUDGED, appended("tokyo-1", _OWN))


def _excepted(name: str, old: str, new: str) -> Row:
    """A change of the exception, which no object carries."""
    return Row(f"policies: exceptions: {name}", (site("tokyo-1", old, new),), {}, NO_OBJECT,
               (appended("tokyo-1", _EXCEPTION),))  # fmt: skip


def _written(repository: Repository) -> None:
    repository.write(_FILE, "RULES = ()\n")


def _without(repository: Repository) -> None:
    """The site file without its policies, which stand last."""
    file = "sites/tokyo-1.yaml"
    kept, found, _ = repository.text(file).partition("\npolicies:\n")
    assert found
    repository.write(file, f"{kept}\n")


_HOSTS = {"control": 3, "cpu": 147, "v100": 120, "a100": 80, "h100": 50}
_UNKNOWN = Expected(
    pools={pool: Verdict(Impact.UNKNOWN, hosts) for pool, hosts in _HOSTS.items()},
    actions={_BOTH.format("owned"): Action.ADDED},
)
_COMES = (
    Row("policies: the context of a cluster that has nothing else of a site's own",
        (applied("tsukuba-1"),),
        {"tsukuba-1": Expected(actions={"ValidatingAdmissionPolicy*": Action.ADDED})},
        f"components/shell.py; {_JUDGED}", (bare("tsukuba-1"),)),
    _row("cel: a rule more", appended("tokyo-1", _OWN),
         Expected(actions={_BOTH.format("owned"): Action.ADDED}), _JUDGED),
    _row("cel: a rule less", _without,
         Expected(actions={_BOTH.format("owned"): Action.DELETED}), _JUDGED,
         appended("tokyo-1", _OWN)),
    _row("cel: a rule about pods of every namespace",
         appended("tokyo-1", _OWN.replace("batch/v1/jobs", "v1/pods")
                  .replace("      namespaces: [vision]\n", "")), _UNKNOWN, _AT_PODS),
)  # fmt: skip
_CEL = (
    _cel("severity", "severity: mandatory", "severity: advisory", _BINDING),
    _cel("what", "Jobs say whom", "All jobs say whom", _POLICY, _BINDING),
    _cel("why", "knows whom to ask", "can ask anybody", _POLICY, _BINDING),
    _cel("kinds", "[batch/v1/jobs]", "[batch/v1/cronjobs]", _POLICY),
    _cel("expression", "'owner' in", "'project' in", _POLICY),
    _cel("namespaces", "      namespaces: [vision]\n", "      namespaces: [language]\n", _BINDING),
    Row("policies: cel: source", (site("tokyo-1", "the handbook of", "the manual of"),), {},
        NO_OBJECT, (appended("tokyo-1", _OWN),)),
    _row("cel: name", site("tokyo-1", "name: owned", "name: has-owner"),
         Expected(actions={_BOTH.format("has-owner"): Action.ADDED,
                           _BOTH.format("owned"): Action.DELETED}),
         _FOUND_BY_NAME, appended("tokyo-1", _OWN)),
)  # fmt: skip
_EXCEPTIONS = (
    _excepted("rule", "rule: image-digest", "rule: image-version"),
    _excepted("object", "device-plugin-v100\n", "device-plugin-*\n"),
    _excepted("reason", "by tag alone", "by tag, and no digest"),
    _excepted("owner", "the accelerator team", "the platform team"),
    _excepted("until", "2028-06-30", "2028-09-30"),
)
_OTHERS = (
    _row("advisory: a rule only warns",
         appended("tokyo-1", "\npolicies:\n  advisory: [exposed-services]\n"),
         Expected(actions={"ValidatingAdmissionPolicyBinding/exposed-services": Action.CHANGED}),
         _JUDGED),
    Row("policies: python: a file of rules",
        (together(_written, appended("tokyo-1", "\npolicies: {python: [policies/own.py]}\n")),),
        {}, NO_OBJECT),
)  # fmt: skip
ROWS = (*_COMES, *_CEL, *_EXCEPTIONS, *_OTHERS)
