"""NVIDIA's DRA driver for ComputeDomains hands out channels, and never a GPU."""

from components.accelerators.objects import objects
from schemas.load import load_site
from schemas.model.accelerators import CHANNEL_CLASS
from tests.kit.repository import FLEET


def test_the_driver_hands_out_no_gpu() -> None:
    """The device plugin of the same hosts has them: a second way would hand a card out twice."""
    site = load_site(FLEET, "sapporo-1").site
    assert site is not None
    made = [each.body for each in objects(site)]
    classes = {each["metadata"]["name"] for each in made if each["kind"] == "DeviceClass"}
    assert classes == {"compute-domain-daemon.nvidia.com", CHANNEL_CLASS}
    assert not any("extendedResourceName" in each.get("spec", {}) for each in made)
    (plugin,) = (
        each["spec"]["template"]["spec"]["containers"]
        for each in made
        if each["metadata"]["name"].startswith("compute-domain-kubelet-plugin")
        and each["kind"] == "DaemonSet"
    )
    assert [each["command"][0] for each in plugin] == ["compute-domain-kubelet-plugin"]
