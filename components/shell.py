"""The thin shell between pure objects and Pulumi: registers manifests, and nothing else.

Objects are registered untyped, as their bodies stand, so that what Pulumi applies is what
``render`` writes; the real schemas judge them before, offline (schemas/objects).
"""

from collections.abc import Mapping, Sequence

import pulumi
import pulumi_kubernetes

from components.manifest import Manifest, Target
from schemas.site import Site

REQUESTS_PER_SECOND = 1000
"""The provider's client waits at 50 requests a second by default, which is most of a preview."""

Clusters = Mapping[Target, pulumi_kubernetes.Provider]


class Component(pulumi.ComponentResource):
    """A part of a site. Subclasses say ``make``: the pure function from a site to its objects."""

    def __init__(
        self,
        name: str,
        clusters: Clusters,
        manifests: Sequence[Manifest],
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        """Register ``manifests`` as children, each with the provider of its cluster.

        Namespaces come first, as nothing else can be made in one that does not exist.
        """
        super().__init__(f"foresite:components:{type(self).__name__}", name, None, opts)
        here = [each for each in manifests if each.target in clusters]
        namespaces = [self._register(m, clusters, []) for m in here if m.kind == "Namespace"]
        for manifest in here:
            if manifest.kind != "Namespace":
                self._register(manifest, clusters, namespaces)
        self.register_outputs({"objects": len(here)})

    def _register(
        self, manifest: Manifest, clusters: Clusters, after: Sequence[pulumi.Resource]
    ) -> pulumi.CustomResource:
        options = pulumi.ResourceOptions(
            parent=self,
            provider=clusters[manifest.target],
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


def clusters(site: Site) -> Clusters:
    """A provider for each cluster that the site file names a kubeconfig context of.

    A context is named in Git, so that nobody applies a site to whatever cluster their shell
    happens to point at. ``cluster_identifier`` keeps a moved API server from replacing everything.
    """
    contexts = {Target.MANAGEMENT: site.file.management, Target.SITE: site.file.cluster.context}
    return {
        target: pulumi_kubernetes.Provider(
            target.value,
            context=context,
            cluster_identifier=context,
            enable_server_side_apply=True,
            kube_client_settings=pulumi_kubernetes.KubeClientSettingsArgs(
                qps=REQUESTS_PER_SECOND, burst=2 * REQUESTS_PER_SECOND
            ),
        )
        for target, context in contexts.items()
        if context is not None
    }
