"""The thin shell between pure objects and Pulumi: registers manifests, and nothing else.

Objects are registered untyped, as their bodies stand, so that what Pulumi applies is what
``render`` writes; the real schemas judge them before, offline (schemas/kubernetes/objects).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pulumi
import pulumi_kubernetes
import yaml
from pulumi.runtime import config

from components.making.decommission import remaining
from components.making.manifest import Manifest, Target
from schemas.facts.site import Site

REQUESTS_PER_SECOND = 1000
"""The provider's client waits at 50 requests a second by default, which is most of a preview."""
KUBECONFIG = "foresite:kubeconfig"
"""Where a stack's configuration may hold a kubeconfig, encrypted."""
_SET = (
    "Set it by: pulumi config set --secret foresite:kubeconfig < kubeconfig.yaml, or take it away "
    "by: pulumi config rm foresite:kubeconfig, and the caller's kubeconfig is used"
)


@dataclass(frozen=True, slots=True)
class Placement:
    """A site, and where its objects go: a provider for each cluster that answers, and the
    namespaces that have to be there first."""

    site: Site
    clusters: Mapping[Target, pulumi_kubernetes.Provider]
    namespaces: tuple[pulumi.Resource, ...] = ()


class Component(pulumi.ComponentResource):
    """A part of a site as a Pulumi component; a subclass brings the manifests."""

    def __init__(
        self,
        name: str,
        spec: Placement,
        manifests: Sequence[Manifest],
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        """Register ``manifests`` as children, each with the provider of its cluster.

        Namespaces come first, as nothing else can be made in one that does not exist.
        """
        super().__init__(f"foresite:components:{type(self).__name__}", name, None, opts)
        manifests = remaining(spec.site, manifests)
        here = [each for each in manifests if each.target in spec.clusters]
        namespaces = [self._register(m, spec, ()) for m in here if m.kind == "Namespace"]
        self.namespaces = (*spec.namespaces, *namespaces)
        for manifest in here:
            if manifest.kind != "Namespace":
                self._register(manifest, spec, self.namespaces)
        self.register_outputs({"objects": len(here)})

    def _register(
        self, manifest: Manifest, spec: Placement, after: Sequence[pulumi.Resource]
    ) -> pulumi.CustomResource:
        options = pulumi.ResourceOptions(
            parent=self,
            provider=spec.clusters[manifest.target],
            depends_on=list(after),
            protect=manifest.protect,
            retain_on_delete=manifest.keep or None,
            ignore_changes=list(manifest.ignore) or None,
        )
        return pulumi.CustomResource(token(manifest), manifest.name, dict(manifest.body), options)


def token(manifest: Manifest) -> str:
    """The Pulumi type of an object: kubernetes:<group and version>:<kind>."""
    api = manifest.body["apiVersion"]
    return f"kubernetes:{api if '/' in api else f'core/{api}'}:{manifest.kind}"


def placement(site: Site) -> Placement:
    """The site, with a provider for each cluster that its file names a kubeconfig context of.

    A context is named in Git, so that nobody applies a site to whatever cluster their shell
    happens to point at. ``cluster_identifier`` keeps a moved API server from replacing everything.
    The contexts are those of the caller's kubeconfig, or of one in Pulumi's encrypted
    configuration. Raises pulumi.RunError where that one cannot be used.
    """
    contexts = {Target.MANAGEMENT: site.file.management, Target.SITE: site.file.cluster.context}
    kubeconfig = configured_kubeconfig(tuple(each for each in contexts.values() if each))
    providers = {
        target: pulumi_kubernetes.Provider(
            target.value,
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
        for target, context in contexts.items()
        if context is not None
    }
    return Placement(site, providers)


def configured_kubeconfig(contexts: Sequence[str]) -> pulumi.Output[str] | None:
    """The kubeconfig of the stack's configuration as a secret; None where there is none.

    Raises pulumi.RunError, which never shows it, where it stands there in plain text, is no
    kubeconfig with its content, or lacks one of ``contexts``.
    """
    text = config.get_config(KUBECONFIG)
    if text is None:
        return None
    if not config.is_config_secret(KUBECONFIG):
        raise pulumi.RunError(
            f"{KUBECONFIG} stands in plain text in the configuration of stack "
            f"{pulumi.get_stack()}: whoever reads that file has the cluster. {_SET}; change the "
            "credentials that stood there, as what was written is known"
        )
    known = _context_names(text)
    if known is None:
        raise pulumi.RunError(
            f"{KUBECONFIG} of stack {pulumi.get_stack()} is no kubeconfig: it takes a file's "
            f"content, and no path. {_SET}"
        )
    missing = [each for each in contexts if each not in known]
    if missing:
        raise pulumi.RunError(
            f"{KUBECONFIG} of stack {pulumi.get_stack()} has no context "
            f"{' and no '.join(missing)}, which the site file names (management, cluster.context): "
            f"add it, and set it again. {_SET}"
        )
    return pulumi.Output.secret(text)


def _context_names(text: str) -> set[str] | None:
    """The names of a kubeconfig's contexts; None where the text is none."""
    try:
        read = yaml.safe_load(text)
        return {str(each["name"]) for each in read["contexts"]}
    except (yaml.YAMLError, KeyError, TypeError, ValueError):
        return None  # what is wrong with it would show it
