"""The policy that sends each pod to the scheduler of its pool.

A scheduler of ours keeps to its pools by itself. The default one does not, nor does Volcano: two
that place pods on one node would each give its devices away.
"""

from components.making.manifest import Manifest
from components.schedulers.admission import Check, literal, policy
from components.schedulers.names import backends, pools_of
from schemas.facts.site import Site
from schemas.kubernetes.node_labels import POOL_LABEL
from schemas.model.scheduling import DEFAULT_SCHEDULER, Backend, scheduler_name
from schemas.model.vocabulary import BackendKind, Role


def scheduler_policies(site: Site) -> list[Manifest]:
    """The policy, where some pools have a scheduler of their own."""
    owning = [each for each in backends(site) if each.kind is not BackendKind.KUEUE]
    if not owning:
        return []
    return policy(site, SCHEDULERS, _variables(site), _checks(site, owning))


SCHEDULERS = "schedulers"


def served_models(site: Site) -> dict[str, str]:
    """The scheduler of each model, by the resource that pods ask for."""
    found = {each: scheduler_name(site.backend_of(each)) for each in site.models()}
    return dict(sorted((site.resource(model), name) for model, name in found.items()))


def _variables(site: Site) -> dict[str, str]:
    served = literal(served_models(site))
    every = "variables.template.spec.?initContainers.orValue([])"
    named = (
        "c.?resources.?limits.orValue({}).exists(k, k == r) || "
        "c.?resources.?requests.orValue({}).exists(k, k == r)"
    )
    return {
        "containers": f"variables.template.spec.containers + {every}",
        "served": served,
        "asked": f"variables.served.filter(r, variables.containers.exists(c, {named}))",
        "wrong": "variables.asked.filter(r, variables.served[r] != variables.scheduler)",
        "pool": f"variables.template.spec.?nodeSelector[{literal(POOL_LABEL)}].orValue('')",
    }


def _checks(site: Site, owning: list[Backend]) -> list[Check]:
    names = [each.name for each in owning]
    either = f"one of schedulerName: {', '.join(names)}" if names[1:] else f"{_SAYS}{names[0]}"
    return [
        Check(
            "variables.wrong.size() == 0",
            "'pods that ask for ' + variables.wrong[0] + ' are placed by another scheduler: write "
            f"{_SAYS}' + variables.served[variables.wrong[0]]",
            computed=True,
        ),
        Check(
            f"variables.scheduler in {literal([DEFAULT_SCHEDULER, *names])}",
            f"no such scheduler serves this site's pools: write {either}, or leave it out",
        ),
        _by_default(_free(site), either),
        *(_on_own_pools(site, each) for each in owning),
        Check(
            "variables.template.spec.?nodeName.orValue('') == ''",
            "leave nodeName out: it goes past every scheduler and every limit",
        ),
    ]


_SAYS = "schedulerName: "


def _free(site: Site) -> list[str]:
    """The pools that the default scheduler serves for teams: not a control plane that keeps pods
    out, as they would land beside etcd, or wait for ever."""
    return [
        pool.name
        for pool in site.file.pools
        if scheduler_name(site.backend(pool)) == DEFAULT_SCHEDULER
        and (pool.role is not Role.CONTROL_PLANE or pool.taints is not None)
    ]


def _by_default(free: list[str], either: str) -> Check:
    """Pods of the default scheduler that ask for no model name one of the free pools."""
    asks = f"variables.scheduler != '{DEFAULT_SCHEDULER}' || variables.asked.size() > 0"
    if not free:
        return Check(asks, f"the default scheduler has no pool left here: write {either}")
    return Check(
        f"{asks} || variables.pool in {literal(free)}",
        "the default scheduler must keep off pools of other schedulers: write nodeSelector "
        f"{POOL_LABEL}: {' or '.join(free)}; or write {either}",
    )


def _on_own_pools(site: Site, backend: Backend) -> Check:
    """A pool that is named is one of the scheduler's; Volcano must be told, as nothing of it keeps
    to pools. A pod that asks for a model goes to that model's pools."""
    bound = backend.kind is BackendKind.VOLCANO
    unsaid = "variables.asked.size() > 0" if bound else "true"
    names = [pool.name for pool in pools_of(site, backend)]
    mine = f"variables.pool in {literal(names)}"
    return Check(
        f"variables.scheduler != {literal(backend.name)} || "
        f"(variables.pool == '' ? {unsaid} : {mine})",
        f"{backend.name} places pods on its own pools alone: write nodeSelector {POOL_LABEL}: "
        f"{' or '.join(names)}" + ("" if bound else ", or none"),
    )
