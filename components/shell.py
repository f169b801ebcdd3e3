"""The thin shell between pure objects and Pulumi: registers manifests, and nothing else.

Objects are registered untyped, as their bodies stand, so that what Pulumi applies is what
``render`` writes; the real schemas judge them before, offline (schemas/kubernetes/objects).
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import partial
from typing import Any, Generic, TypeVar

import pulumi
import pulumi_kubernetes
import yaml
from pulumi.runtime import config

from components.making.decommission import remaining
from components.making.manifest import FIRST, Manifest, Target
from components.making.patches import patched
from components.making.told import Told
from schemas.facts.site import Site
from schemas.kubernetes.grouping import group_by_key
from schemas.model.primitives import Model
from schemas.site_parts import SiteParts, site_with

REQUESTS_PER_SECOND = 1000
"""The provider's client waits at 50 requests a second by default, which is most of a preview."""
KUBECONFIG = "foresite:kubeconfig"
"""Where a stack's configuration may hold a kubeconfig, encrypted."""
_TOLD = Told(__file__)


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteArgs:
    """Arguments that every component takes. A subclass adds the sections of the site file that its
    objects are made from; a section that is given takes the place of the site's own."""

    site: Site | SiteParts
    """The site from its file (``schemas.load.load_site``), or the parts of one without a file."""
    provider: pulumi_kubernetes.Provider | None = None
    """Provider of the site's own cluster."""
    management: pulumi_kubernetes.Provider | None = None
    """Provider of the management cluster, which runs Cluster API."""
    after: Sequence[pulumi.Resource] = ()
    """Resources that the objects need, such as a namespace of the program's own."""
    incomplete: bool = False
    """True if a section or a provider may be missing; objects that need it are left out then."""

    def clusters(self) -> dict[Target, pulumi_kubernetes.Provider]:
        """The providers that are given, by cluster."""
        both = {Target.SITE: self.provider, Target.MANAGEMENT: self.management}
        return {target: each for target, each in both.items() if each is not None}

    def sections(self) -> dict[str, Model]:
        """The sections that are given, by their names in the site file."""
        own = {each.name for each in fields(self)} - {each.name for each in fields(SiteArgs)}
        given = {name: getattr(self, name) for name in sorted(own)}
        return {name: each for name, each in given.items() if each is not None}


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeSiteArgs(SiteArgs):
    """Arguments of a component that makes the cluster itself, and so needs the whole site."""

    site: Site
    """The site from its file (``schemas.load.load_site``)."""


Args = TypeVar("Args", bound=SiteArgs)


class SiteComponent(pulumi.ComponentResource, Generic[Args]):
    """A part of a site as a Pulumi component. A subclass says which objects and outputs it has.

    Each output is an attribute; a resource that uses one is made after the component's objects.
    Under the name that the stack of a site gives it (``object-cache``) its objects have the same
    URNs as there. Under any other name theirs start with it, so that a program can have several.
    """

    namespaces: pulumi.Output[list[str]]
    """Names of the namespaces that the component makes."""
    names: pulumi.Output[dict[str, list[str]]]
    """Names of its objects by kind: ``<namespace>/<name>``, or the name alone."""
    made_namespaces: tuple[pulumi.Resource, ...]
    """Its Namespaces and definitions of kinds, and what its arguments name as ``after``."""

    def __init__(self, name: str, args: Args, opts: pulumi.ResourceOptions | None = None) -> None:
        """Register the objects as children, each with the provider of its cluster; Namespaces and
        definitions of kinds first, as others need them. Raises pulumi.RunError where the arguments
        have problems, or something is missing."""
        kind = type(self).__name__
        usual = re.sub(r"(?<=[a-z])(?=[A-Z])", "-", kind).lower()
        site = _site(f"{kind} {name}", args)
        manifests = remaining(site, patched(site, usual, self.make(site)).manifests)
        clusters = args.clusters()
        if not args.incomplete:
            _refuse_gaps(f"{kind} {name}", manifests, clusters)
        super().__init__(f"foresite:components:{kind}", name, None, opts)
        here = [each for each in manifests if each.target in clusters]
        prefix, aliases = "" if name == usual else f"{name}/", (opts and opts.aliases) or ()
        moved = any(isinstance(each, pulumi.Alias) and each.name == usual for each in aliases)
        register = partial(self._register, clusters=clusters, prefix=prefix, moved=moved)
        first = [register(each, ()) for each in here if each.kind in FIRST]
        self.made_namespaces = (*args.after, *first)
        for each in here:
            if each.kind not in FIRST:
                register(each, self.made_namespaces)
        self.register_outputs({"objects": len(here), **self._outputs(site, here)})

    @staticmethod
    def make(site: Site) -> list[Manifest]:
        """Return the component's objects."""
        raise NotImplementedError

    @staticmethod
    def values(site: Site) -> dict[str, object]:  # noqa: ARG004  subclasses look at it
        """Return what a subclass's own outputs hold, by name; only asked where it has objects."""
        return {}

    def _outputs(self, site: Site, here: Sequence[Manifest]) -> dict[str, pulumi.Output[Any]]:
        """The outputs, which become attributes."""
        named = group_by_key((e.kind, "/".join(filter(None, e.key[2:]))) for e in here)
        values: dict[str, object] = {"namespaces": named.get("Namespace", []), "names": named}
        values |= self.values(site) if here else {}
        outputs = {name: self.urn.apply(partial(_second, value)) for name, value in values.items()}
        self.__dict__.update(outputs)
        return outputs

    def _register(
        self,
        manifest: Manifest,
        after: Sequence[pulumi.Resource],
        clusters: Mapping[Target, pulumi_kubernetes.Provider],
        prefix: str,
        moved: bool,
    ) -> pulumi.CustomResource:
        """An object under the ``prefix`` of its logical name. ``moved``: it had none in the stack
        of a site, from which the component is taken over by an alias."""
        options = pulumi.ResourceOptions(
            parent=self,
            provider=clusters[manifest.target],
            depends_on=list(after),
            protect=manifest.protect,
            retain_on_delete=manifest.keep or None,
            ignore_changes=list(manifest.ignore) or None,
            replace_on_changes=list(manifest.anew) or None,
            delete_before_replace=True if manifest.anew else None,
            aliases=[pulumi.Alias(name=manifest.name)] if prefix and moved else None,
        )
        name = prefix + manifest.name
        return pulumi.CustomResource(token(manifest), name, dict(manifest.body), options)


def _site(where: str, args: SiteArgs) -> Site:
    """The site with the sections that are given; ``where`` names the component in an error."""
    found = site_with(where, args.site, args.sections())
    if found.site is None:
        problems = "\n\n".join(map(str, found.problems))
        raise pulumi.RunError(_TOLD.say("problems", where=where, problems=problems))
    return found.site


def _refuse_gaps(
    where: str, manifests: Sequence[Manifest], clusters: Mapping[Target, pulumi_kubernetes.Provider]
) -> None:
    """Raise pulumi.RunError where there is nothing to make, or no provider for an object."""
    if not manifests:
        raise pulumi.RunError(_TOLD.say("no_objects", where=where))
    missing = {each.target for each in manifests} - clusters.keys()
    for target, option in ((Target.SITE, "provider"), (Target.MANAGEMENT, "management")):
        if target in missing:
            values = {"where": where, "cluster": target.value, "option": option}
            raise pulumi.RunError(_TOLD.say("no_provider", **values))


def _second(value: Any, _: object) -> Any:
    return value


def token(manifest: Manifest) -> str:
    """The Pulumi type of an object: kubernetes:<group and version>:<kind>."""
    api = manifest.body["apiVersion"]
    return f"kubernetes:{api if '/' in api else f'core/{api}'}:{manifest.kind}"


def cluster_providers(site: Site) -> dict[Target, pulumi_kubernetes.Provider]:
    """A provider for each cluster that the site's file names a kubeconfig context of.

    A context is named in Git, so that nobody applies a site to whatever cluster their shell
    happens to point at. The contexts are those of the caller's kubeconfig, or of one in Pulumi's
    encrypted configuration. Raises pulumi.RunError where that one cannot be used.
    """
    contexts = {Target.MANAGEMENT: site.file.management, Target.SITE: site.file.cluster.context}
    kubeconfig = stack_kubeconfig(tuple(each for each in contexts.values() if each))
    return {
        target: cluster_provider(target.value, context, kubeconfig)
        for target, context in contexts.items()
        if context is not None
    }


def cluster_provider(
    name: str, context: str, kubeconfig: pulumi.Input[str] | None = None
) -> pulumi_kubernetes.Provider:
    """A provider with the settings that components' objects need. ``kubeconfig`` is a text, by
    default the caller's; ``cluster_identifier`` keeps a moved API server from replacing all."""
    return pulumi_kubernetes.Provider(
        name,
        context=context,
        cluster_identifier=context,
        kubeconfig=kubeconfig,
        enable_server_side_apply=True,
        # Else new data deletes a ConfigMap and makes it anew, which a protected one refuses.
        enable_config_map_mutable=True,
        enable_secret_mutable=True,
        kube_client_settings=pulumi_kubernetes.KubeClientSettingsArgs(
            qps=REQUESTS_PER_SECOND, burst=2 * REQUESTS_PER_SECOND
        ),
    )


def stack_kubeconfig(contexts: Sequence[str]) -> pulumi.Output[str] | None:
    """The kubeconfig of the stack's configuration as a secret, if any. Raises pulumi.RunError,
    which never shows it, where it is plain text, no whole kubeconfig, or lacks a context."""
    text = config.get_config(KUBECONFIG)
    if text is None:
        return None
    said = partial(_TOLD.say, key=KUBECONFIG, stack=pulumi.get_stack())
    if not config.is_config_secret(KUBECONFIG):
        raise pulumi.RunError(said("plain_text"))
    known = _context_names(text)
    if known is None:
        raise pulumi.RunError(said("no_kubeconfig"))
    if missing := [each for each in contexts if each not in known]:
        raise pulumi.RunError(said("no_context", missing=" and no ".join(missing)))
    return pulumi.Output.secret(text)


def _context_names(text: str) -> set[str] | None:
    """The names of a kubeconfig's contexts; None where the text is none."""
    try:
        read = yaml.safe_load(text)
        return {str(each["name"]) for each in read["contexts"]}
    except (yaml.YAMLError, KeyError, TypeError, ValueError):
        return None  # what is wrong with it would show it
