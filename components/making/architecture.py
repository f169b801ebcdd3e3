"""Images that land on arm64 hosts without being built for them."""

from collections.abc import Iterable, Iterator

from components.making.manifest import Json, Manifest, Spot, Target
from components.making.taints import CONTROL_PLANE_LABEL
from schemas.facts.site import Site
from schemas.kubernetes.manifests import read_manifests
from schemas.kubernetes.selectors import has_labels
from schemas.model.codes import Code
from schemas.model.hardware import Arch
from schemas.model.problem import Problem
from schemas.model.site_file import Pool
from schemas.model.vocabulary import PodNetworkInstall, Role

ARCH_LABEL = "kubernetes.io/arch"
_KUBE_VIP = "kube-vip"


def wrong_images(
    site: Site, objects: Iterable[tuple[str, Manifest]]
) -> Iterator[tuple[Spot, Problem]]:
    """The images of pods that may run on a host of a pool with arm64, and that neither the release
    nor the site says to be built for it."""
    pools = [pool for pool in site.file.pools if site.profile(pool).arch is Arch.ARM64]
    known = {key for pool in site.file.pools for key in _labels(site, pool)}
    nodes = [_labels(site, pool) for pool in pools]
    if not nodes:
        return
    images = {**site.images, _KUBE_VIP: site.release.kube_vip}
    fit = {images[name] for name in site.release.multi_arch if name in images}
    own = tuple(f"{name}{end}" for name in site.file.sources.multi_arch for end in ":@")
    made = [(name, e.name, "", e.body) for name, e in objects if e.target is Target.SITE]
    network = site.file.cluster.pod_network
    if network.file and network.install is PodNetworkInstall.CLUSTER_RESOURCE_SET:
        others = read_manifests(site.texts[network.file])
        made += [("pod-network", "ConfigMap/pod-network", _held(each), each) for each in others]
    for component, name, path, body in made:
        pod = _pod(body)
        chosen = pod.get("nodeSelector", {})
        wanted = {key: value for key, value in chosen.items() if key in known}
        lands = any(has_labels(node, wanted) for node in nodes)
        every = [*pod.get("initContainers", ()), *pod.get("containers", ())]
        for image in sorted({each.get("image", "") for each in every} - fit) if lands else ():
            if not image.startswith(own):
                who = path.removeprefix(":") or name
                yield Spot(component, name, path), _problem(site, who, image)
    if site.control_plane in pools and site.release.kube_vip not in fit:
        name = "KubeadmControlPlane"
        yield Spot("machines", name, ""), _problem(site, name, site.release.kube_vip)


def _labels(site: Site, pool: Pool) -> dict[str, str]:
    found = {**pool.labels, **site.placing_labels(pool), ARCH_LABEL: site.profile(pool).arch.value}
    return found | ({CONTROL_PLANE_LABEL: ""} if pool.role is Role.CONTROL_PLANE else {})


def _held(body: Json) -> str:
    """The place of an object that another one holds, as the policies write it."""
    meta = body["metadata"]
    return f":{body['kind']} {'/'.join(filter(None, (meta.get('namespace'), meta['name'])))}"


def _pod(body: Json) -> Json:
    """The pod's spec of a workload; empty where an object has none."""
    spec = body.get("spec", {})
    for step in ("jobTemplate", "spec", "template", "spec"):
        spec = spec.get(step, spec) if isinstance(spec, dict) else {}
    return spec if isinstance(spec, dict) and "containers" in spec else {}


def _problem(site: Site, name: str, image: str) -> Problem:
    message = f"{name}: nothing says that {image.partition('@')[0]} is built for arm64"
    fix = (
        "look with `docker buildx imagetools inspect`; then name it in multi_arch of the release, "
        "or in sources.multi_arch, or keep its pods off by nodeSelector kubernetes.io/arch: amd64"
    )
    return Problem(f"sites/{site.name}.yaml", 0, 0, Code.IMAGE_ARCHITECTURE, "", "", message, fix)
