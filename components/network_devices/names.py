"""Names that the objects of network devices share with each other, and with their rules."""

from functools import partial

from components.making.manifest import metadata_of

COMPONENT = "network-devices"
NAMESPACE = "network-devices"
"""Where the device plugins run that Foresite brings."""
SRIOV_PLUGIN = "sriov-device-plugin"
"""It also names its image in a release."""
OPERATOR_API = "sriovnetwork.openshift.io/v1"
metadata = partial(metadata_of, COMPONENT)
