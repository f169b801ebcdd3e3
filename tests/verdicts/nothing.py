"""Edits that change no object, or none that a machine would notice: the site is not named."""

import re

from tests.kit.preview_repository import Repository
from tests.verdicts.edits import (
    DIGEST,
    DIRECT,
    FLANNEL,
    HARDWARE,
    RELEASE,
    Edit,
    copied,
    listed,
    manifest,
    site,
    swap,
)
from tests.verdicts.row import NO_OBJECT, SAME, Row

_CONTROL = "  - {name: control, role: control-plane, hardware: cpu-1u}\n"
_CPU = "  - {name: cpu, hardware: cpu-1u, os: rocky-9, rollout: {max_unavailable: 2}}\n"
_BOOT = """\
    first_boot:
      ntp: [10.17.0.2]
      dns: [10.17.0.2]
      ssh: {user: ops, keys: [ssh-ed25519 \
AAAAC3NzaC1lZDI1NTE5AAAAIFymhLku4SdfYrPbCwX88H668olnzzQcg7SSyMhAs2aA ops@example]}
"""


_MAINTENANCE = """\
maintenance:
  time_zone: Asia/Tokyo
  windows: [{days: [saturday], start: "22:00", end: "04:00"}]
  freezes: [{first_day: "2026-12-24", last_day: "2027-01-03", reason: nobody is at work}]
"""


def _crlf(repository: Repository) -> None:
    file = "sites/certificates/example-ca.pem"
    text = repository.text(file).replace("\n", "\r\n")
    (repository.root / file).write_bytes(text.encode())


def _rotated(repository: Repository) -> None:
    file = "sites/pod-network/tsukuba.yaml"
    first, *others = repository.text(file).split("---\n")
    repository.write(file, "---\n".join([*others, first]))


def _turned(section: str) -> Edit:
    """The items of a list at the top of tokyo-1's file, the last one first."""

    def edit(repository: Repository) -> None:
        file = "sites/tokyo-1.yaml"
        text = repository.text(file)
        (found,) = re.findall(rf"(?m)^{section}:\n((?:[ #].*\n)+)", text)
        items = re.findall(r"(?m)^  - .*\n(?:    .*\n)*", found)
        assert "".join(items) == found and len(items) > 2
        repository.write(file, text.replace(found, "".join(reversed(items))))

    return edit


def _row(name: str, edit: Edit, source: str, base: tuple[Edit, ...] = ()) -> Row:
    return Row(name, (edit,), {}, source, base)


ROWS = (
    _row("a comment", site("tsukuba-1", "site: tsukuba-1\n", "site: tsukuba-1  # x\n"), SAME),
    _row(
        "flow style becomes block style, with quotes",
        site(
            "tsukuba-1",
            "bmc: {network: 10.25.0.0/24, credentials: tsukuba-1-bmc}",
            'bmc:\n  credentials: "tsukuba-1-bmc"\n  network: 10.25.0.0/24',
        ),
        SAME,
    ),
    _row(
        "keys in another order",
        site(
            "tsukuba-1",
            'region: jp-east\nrelease: "2026.11"\n',
            'release: "2026.11"\nregion: jp-east\n',
        ),
        SAME,
    ),
    _row("pools in another order", site("tsukuba-1", _CONTROL + _CPU, _CPU + _CONTROL), SAME),
    _row("pools of a site with a scheduler in another order", _turned("pools"), SAME),
    _row("zones of a site in another order", _turned("zones"), SAME),
    _row("hosts in another order", listed("tokyo-1", lambda rows: rows.reverse()), SAME),
    _row(
        "defaults that are written down",
        site(
            "tsukuba-1",
            "os: rocky-9, rollout: {max_unavailable: 2}",
            "os: rocky-9, rollout: {max_unavailable: 2, max_surge: 0}, labels: {}, "
            "kubelet: {max_pods: 110}",
        ),
        SAME,
    ),
    _row(
        "the site's first boot, repeated in a pool",
        site("tsukuba-1", "    hardware: mncore2-x8\n", "    hardware: mncore2-x8\n" + _BOOT),
        SAME,
    ),
    _row(
        "line ends of a certificate",
        _crlf,
        "components/machines/bootstrap.py: hosts get the file with one kind of line end",
    ),
    _row(
        "the same manifests in another file",
        site("tsukuba-1", "pod-network/flannel.yaml", "pod-network/other.yaml"),
        SAME,
        (copied(FLANNEL, "sites/pod-network/other.yaml"),),
    ),
    _row("manifests in another order, registered directly", _rotated, SAME, DIRECT),
    _row(
        "a comment in manifests, registered directly",
        manifest("kind: DaemonSet\n", "kind: DaemonSet  # on every node\n"),
        SAME,
        DIRECT,
    ),
    _row(
        "a quantity that is spelled otherwise, registered directly",
        manifest("cpu: 100m", 'cpu: "0.1"'),
        "apimachinery 0.34.3, resource.Quantity: stored in its canonical form",
        DIRECT,
    ),
    _row("the ring of a site", site("lab-1", "ring: 0", "ring: 3"), NO_OBJECT),
    _row(
        "whether a ring waits, and when a site may be applied",
        site("lab-1", "ring: 0\n", f"ring: 0\nheld: true\n{_MAINTENANCE}"),
        NO_OBJECT,
    ),
    _row(
        "where alerts are asked",
        site(
            "lab-1",
            "prometheus_operator: false\n",
            "prometheus_operator: false\n  prometheus_url: https://prometheus.example\n",
        ),
        NO_OBJECT,
    ),
    _row("the network of BMCs", site("tsukuba-1", "10.25.0.0/24", "10.25.0.0/23"), NO_OBJECT),
    _row(
        "how long a re-image takes, with the remedy reboot",
        swap(HARDWARE, "3840\n    reimage_minutes: 25", "3840"),
        NO_OBJECT,
    ),
    _row(
        "what a profile says for people",
        swap(
            HARDWARE,
            "description: 1U server with two 32-core processors\n    cpu_cores: 64\n"
            "    memory_gib: 512",
            "description: 1U server\n    cpu_cores: 32\n    memory_gib: 256",
        ),
        NO_OBJECT,
    ),
    _row(
        "a profile that nobody names",
        swap(
            HARDWARE,
            "  mncore2-x8:\n",
            "  new-1u:\n    description: A new server\n    cpu_cores: 8\n    memory_gib: 64\n"
            "    root_disk: {device_name: /dev/sda}\n  mncore2-x8:\n",
        ),
        NO_OBJECT,
    ),
    _row(
        "a profile of the site that says what the catalogue says",
        site(
            "tsukuba-1",
            "pools:\n" + _CONTROL,
            "hardware:\n  own-1u:\n    description: Ours\n    cpu_cores: 64\n    memory_gib: 512\n"
            "    root_disk: {device_name: /dev/disk/by-path/pci-0000:01:00.0-nvme-1, "
            "rotational: false}\n"
            "pools:\n" + _CONTROL.replace("cpu-1u", "own-1u"),
        ),
        SAME,
    ),
    _row(
        "the image of a version that no pool runs",
        swap(RELEASE, "6d851ca9538c7a460fba8a092890fa08622e5e01ada2b616755fd4e91c656ffa", DIGEST),
        NO_OBJECT,
    ),
    _row(
        "the versions that the management cluster runs",
        swap(RELEASE, "core: v1.13.6", "core: v1.13.7"),
        NO_OBJECT,
    ),
    _row(
        "a release of another name and the same content",
        site("lab-1", '"2026.11"', '"2027.01"'),
        NO_OBJECT,
        (copied(RELEASE, RELEASE.replace("2026.11", "2027.01"), ("2026.11", "2027.01")),),
    ),
    _row(
        "a text that no site names",
        swap("sites/README.md", "# Sites\n", "# The sites\n"),
        NO_OBJECT,
    ),
    _row(
        "two labels in another order",
        site(
            "tsukuba-1",
            "{example.com/a: x, example.com/b: y}",
            "{example.com/b: y, example.com/a: x}",
        ),
        SAME,
        (
            site(
                "tsukuba-1",
                "os: rocky-9,",
                "os: rocky-9, labels: {example.com/a: x, example.com/b: y},",
            ),
        ),
    ),
    _row(
        "manifests that no site names", copied(FLANNEL, "sites/pod-network/unused.yaml"), NO_OBJECT
    ),
)
