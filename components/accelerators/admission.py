"""The policies by which the API server turns the resource of a model into a device, and refuses
what could not work or would pass the limits by."""

from components.accelerators import demands
from components.accelerators.demands import COUNT, HAS, LIMITS
from components.accelerators.names import metadata
from components.making.admission import MUTATING, in_force
from components.making.manifest import Json, Manifest, filled
from components.making.told import Told
from schemas.facts.feature_gates import completed_models, mutating_api
from schemas.facts.racks import domain_settings
from schemas.facts.site import Site
from schemas.kubernetes.node_labels import ACCELERATOR_LABEL, OWN_DOMAIN, TEAM_LABEL
from schemas.model.accelerators import CHANNEL_CLASS

MODELS = f"accelerator-models.{OWN_DOMAIN}"
BY_MODEL = f"accelerators-by-model.{OWN_DOMAIN}"
TEMPLATES = f"accelerator-templates.{OWN_DOMAIN}"
CLAIMS = f"accelerator-claims.{OWN_DOMAIN}"
TOLD = Told(__file__)
_WORDS = {"has": HAS, "limits": LIMITS, "count": COUNT, "label": ACCELERATOR_LABEL}
_TEAMS = {"matchExpressions": [{"key": TEAM_LABEL, "operator": "Exists"}]}
(_WRITES,) = filled(__file__, teams=_TEAMS)


def policies(site: Site) -> list[Manifest]:
    """The mutating policy where models need one, then those that refuse, each with its binding."""
    claims = _claims(site) if any(demands.claimable(site)) else []
    return [*mutating(site), *_models(site), *_by_model(site), *_templates(site), *claims]


def mutating(site: Site) -> list[Manifest]:
    """The policy that completes pods, and its binding."""
    if not completed_models(site):
        return []
    # One for each API: Pulumi takes the same policy in another API for another object, and would
    # delete the new one with the old one's name.
    name = f"accelerators-{mutating_api(site).partition('/')[2]}.{OWN_DOMAIN}"
    node, runtime = demands.nodes(site), demands.runtimes(site)
    values = demands.variables(site, "object.spec", node=node, runtime=runtime)
    patches = ({"expression": each["patch"]} for each in TOLD.rows("mutations", **_WORDS))
    spec: Json = {
        "failurePolicy": "Fail",
        "reinvocationPolicy": "IfNeeded",
        "matchConstraints": _WRITES["pods"],
        "matchConditions": [demands.asks_for_a_model(site)],
        "variables": values,
        "mutations": [{"patchType": "JSONPatch", "jsonPatch": each} for each in patches],
    }
    return in_force(_short(name), metadata(site, name), spec, {}, (mutating_api(site), MUTATING))


def _models(site: Site) -> list[Manifest]:
    """Pods that ask for a model, in every namespace."""
    rules = _checks("sensible") + (_checks("completed") if completed_models(site) else [])
    named = demands.variables(site, "object.spec", node=demands.nodes(site))
    return _validating(site, MODELS, "pods", named, rules, demands.asks_for_a_model(site))


def _by_model(site: Site) -> list[Manifest]:
    """Pods of teams, which ask by model and in no other way."""
    pods, rules = demands.variables(site, "object.spec"), _direct(site, made=True)
    return _validating(site, BY_MODEL, "pods_of_teams", pods, rules)


def _templates(site: Site) -> list[Manifest]:
    """Templates of teams' pods; a change of anything but the spec is not judged."""
    template = TOLD.table("template")
    changed, pods = template["changed"], demands.variables(site, template["spec"])
    rules = _checks("sensible") + _direct(site, made=False)
    return _validating(site, TEMPLATES, "templates_of_teams", pods, rules, changed)


def _claims(site: Site) -> list[Manifest]:
    """Claims of teams, which limits by model do not count: none for a class of the site's models,
    or of their drivers' domains. Schedulers make claims for pods; they are known by their right to
    bind these in every namespace."""
    spared = f"c != '{CHANNEL_CLASS}' && (" if domain_settings(site) else ""
    binds = "authorizer.group('').resource('pods').subresource('binding').check('create').allowed()"
    rules = _checks("claims", spared=spared, end=")" if spared else "")
    other = {"name": "no-scheduler", "expression": f"!{binds}"}
    return _validating(site, CLAIMS, "claims_of_teams", demands.claim_variables(site), rules, other)


def _checks(name: str, **values: str) -> list[Json]:
    """The checks of one name (admission.toml)."""
    return [{**row, "reason": "Forbidden"} for row in TOLD.rows(name, **_WORDS, **values)]


def _direct(site: Site, *, made: bool) -> list[Json]:
    """No device but through a model; ``made``: what the mutating policy added counts as asked for
    by model, as often as the model itself."""
    same = f"quantity({LIMITS}[r]).compareTo(quantity({LIMITS}[variables.model])) == 0"
    added = f" && !(r == variables.made && {HAS} && {same})" if made else ""
    return _checks("direct", passes=f"{demands.direct(site)}{added}")


def _validating(
    site: Site,
    name: str,
    writes: str,
    variables: list[Json],
    validations: list[Json],
    condition: Json | None = None,
) -> list[Manifest]:
    """A policy that refuses, on writes of a name in admission.yaml, with its binding."""
    spec: Json = {
        "failurePolicy": "Fail",
        "matchConstraints": _WRITES[writes],
        **({"matchConditions": [condition]} if condition else {}),
        "variables": variables,
        "validations": validations,
    }
    return in_force(_short(name), metadata(site, name), spec, {"validationActions": ["Deny"]})


def _short(name: str) -> str:
    """A policy's logical name: its own without the domain."""
    return name.partition(".")[0]
