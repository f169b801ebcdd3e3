"""Teams and an object cache on a cluster that others made, beside resources of the program's own.

Set the cluster first: ``pulumi config set context <a context of your kubeconfig>``.
"""

import pulumi
from pulumi_kubernetes.core.v1 import ConfigMap, Namespace

import foresite  # noqa: F401  it makes the packages below importable where it is installed
from components.object_cache.component import ObjectCache, ObjectCacheArgs
from components.shell import cluster_provider
from components.teams.component import Teams, TeamsArgs
from schemas.model.accelerators import AcceleratorSettings
from schemas.model.object_cache import Bucket, Cache, CacheServer
from schemas.model.scheduling import Scheduling, Team
from schemas.model.site_file import Pool
from schemas.model.vocabulary import Role
from schemas.site_parts import Node, SiteParts

cluster = cluster_provider("cluster", context=pulumi.Config().require("context"))
options = pulumi.ResourceOptions(provider=cluster)

# What the components need of the site: no file, no machines.
site = SiteParts(
    site="research-1",
    region="jp-east",
    release="2026.11",
    kubernetes="v1.34.3",
    # Three nodes run the control plane and the jobs alike: no taint keeps pods away.
    pools=[Pool(name="gpu", role=Role.CONTROL_PLANE, hardware="t4-pcie-16gb-x1", taints=[])],
    nodes=[
        Node(name="gpu-1", pool="gpu", zone="a", address="10.20.0.11"),
        Node(name="gpu-2", pool="gpu", zone="a", address="10.20.0.12"),
        Node(name="gpu-3", pool="gpu", zone="a", address="10.20.0.13"),
    ],
)

teams = Teams(
    "research-teams",
    TeamsArgs(
        site=site,
        provider=cluster,
        accelerators=AcceleratorSettings(prefix="accelerators.example.com"),
        scheduling=Scheduling(
            teams=[Team(name="vision", namespaces=["vision"], accelerators={"t4-pcie-16gb": 2})],
        ),
    ),
)

cache = ObjectCache(
    "research-cache",
    ObjectCacheArgs(
        site=site,
        provider=cluster,
        cache=Cache(
            data_path="/srv/nvme/cache",
            capacity="1500Gi",
            server=CacheServer(
                image="registry.example/cache/cache-server:v0.1.0"
                "@sha256:2f7c1b6de0a94c35b1f86e7d4a3920c5d8e1f6b79a0c4d3e2b1a09f8e7d6c5b4",
            ),
            buckets=[Bucket(name="datasets", quota="2Ti", namespaces=["vision"])],
        ),
    ),
)

# Resources of the program's own use the outputs, and so are made after the components.
notebooks = Namespace("notebooks", metadata={"name": "notebooks"}, opts=options)
settings = ConfigMap(
    "settings",
    metadata={"name": "settings", "namespace": notebooks.metadata.name},
    data={
        "DATASETS": cache.bucket_urls["datasets"],
        "VISION_NAMESPACE": teams.team_namespaces["vision"][0],
    },
    opts=options,
)

pulumi.export("cache", cache.url)
pulumi.export("namespaces", teams.namespaces)
