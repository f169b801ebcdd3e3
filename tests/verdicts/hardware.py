"""The metal: hardware profiles, BMCs and their credentials."""

from components.effects.vocabulary import Action
from tests.verdicts.edits import DIGEST, HARDWARE, Edit, site, swap
from tests.verdicts.row import CONTROL, KCP_ROLLS, Expected, Row

_BMO = "Bare Metal Operator 0.13.2"
_HINTS = (
    f"{_BMO}, internal/controller/metal3.io/baremetalhost_controller.go, updateRootDeviceHints: "
    "kept in the status, and read when an image is written: it waits for the next re-image"
)
_BOOT_MODE = (
    f"{_BMO}, internal/controller/metal3.io/host_state_machine.go, updateBootModeStatus: taken "
    "over when a host is provisioned, so it waits for the next re-image"
)
_REGISTER = (
    f"{_BMO}, pkg/provisioner/ironic/register.go: how the BMC is reached is written anew with "
    "other credentials, and the host goes on"
)
_VERIFIED = (
    f"{_BMO}, pkg/provisioner/ironic/register.go: written together with other credentials or "
    "another address alone"
)
_REFUSED = (
    f"{_BMO}, internal/webhooks/metal3.io/v1alpha1/baremetalhost_validation.go, validateChanges: "
    "scheme and path are part of the BMC's address, which does not change"
)
_SLOT = "{device_name: /dev/disk/by-path/pci-0000:01:00.0-nvme-1, rotational: false}"
_CPU_DISK = f"memory_gib: 512\n    root_disk: {_SLOT}"
_MNCORE_DISK = f"mncore2, count: 8}}\n    root_disk: {_SLOT}"
_OWN = """\
hardware:
  own-1u:
    description: Ours
    cpu_cores: 64
    memory_gib: 512
    accelerators: {model: own, count: 1}
    root_disk: {device_name: /dev/sda}
    reimage_minutes: 20
"""
_OWN_MODEL = f"""\
  models:
    own:
      description: Ours
      vendor: ours
      pci: {{vendor: "1e38"}}
      plugin:
        resource: accelerators.example.com/own
        image: registry.example/own:v1.0.0@sha256:{DIGEST}
"""


def _profile(old: str, new: str) -> Edit:
    return swap(HARDWARE, old, new)


def _row(name: str, edit: Edit, source: str, action: Action = Action.CHANGED) -> Row:
    """A change of mncore2-x8, which tsukuba-1 alone has."""
    return Row(name, (edit,), {"tsukuba-1": Expected(actions={"BareMetalHost/*": action})}, source)


def _mncore(text: str) -> Edit:
    return _profile(_MNCORE_DISK, f"{_MNCORE_DISK}\n    {text}")


def _disk(text: str) -> Edit:
    return _profile(_MNCORE_DISK, _MNCORE_DISK.replace(_SLOT, text))


ROWS = (
    _row("the root disk of a profile", _disk("{device_name: /dev/sda, rotational: false}"), _HINTS),
    _row(
        "all hints of a root disk",
        _disk(
            "{hctl: '0:0:0:0', model: MZ1, vendor: ACME, serial_number: S1, wwn: eui.1, "
            "wwn_with_extension: eui.12, wwn_vendor_extension: '2'}"
        ),
        _HINTS,
    ),
    _row(
        "the size and kind of a root disk",
        _disk("{min_size_gigabytes: 400, rotational: true}"),
        _HINTS,
    ),
    _row("the boot mode of a profile", _mncore("boot_mode: UEFISecureBoot"), _BOOT_MODE),
    _row(
        "the BMC protocol of a profile",
        _mncore("bmc: {protocol: redfish}"),
        _REFUSED,
        Action.REFUSED,
    ),
    _row(
        "the path of a system in Redfish",
        _mncore("bmc: {system_path: /redfish/v1/Systems/Self}"),
        _REFUSED,
        Action.REFUSED,
    ),
    _row(
        "whether a BMC's certificate is verified",
        _mncore("bmc: {verify_certificate: false}"),
        _VERIFIED,
    ),
    Row(
        "the root disk of a profile that two sites have",
        (_profile(_CPU_DISK, _CPU_DISK.replace("nvme-1", "nvme-2")),),
        {
            name: Expected(actions={"BareMetalHost/*": Action.CHANGED})
            for name in ("tokyo-1", "tsukuba-1", "sapporo-1")
        },
        _HINTS,
        entries=(("tokyo-1", "tsukuba-1", "sapporo-1"),),
    ),
    Row(
        "another profile for a pool, with another disk",
        (site("tsukuba-1", "cpu, hardware: cpu-1u", "cpu, hardware: v100-sxm2-32gb-x8"),),
        {"tsukuba-1": Expected(CONTROL, {"BareMetalHost/*": Action.CHANGED})},
        f"{_HINTS}; {KCP_ROLLS}: pods that ask for its cards are completed by a policy of a beta "
        "API, which the API server's arguments switch on",
    ),
    Row(
        "a profile of the site's own, with another disk",
        (
            site("tsukuba-1", "{name: cpu, hardware: cpu-1u", "{name: cpu, hardware: own-1u"),
            site("tsukuba-1", "pools:\n  - {", f"{_OWN}pools:\n  - {{"),
            site("tsukuba-1", "  models:\n", _OWN_MODEL),
        ),
        {"tsukuba-1": Expected(actions={"BareMetalHost/*": Action.CHANGED})},
        _HINTS,
    ),
    Row(
        "one Secret for all BMCs, under another name",
        (site("tsukuba-1", "credentials: tsukuba-1-bmc", "credentials: bmc"),),
        {"tsukuba-1": Expected(actions={"BareMetalHost/*": Action.CHANGED})},
        _REGISTER,
    ),
    Row(
        "a Secret for each BMC",
        (site("tsukuba-1", ", credentials: tsukuba-1-bmc", ""),),
        {"tsukuba-1": Expected(actions={"BareMetalHost/*": Action.CHANGED})},
        _REGISTER,
    ),
)
