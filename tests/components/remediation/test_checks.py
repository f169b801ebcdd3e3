"""The checks of accelerators, each on its own, against made-up hosts."""

from pathlib import Path

import pytest

from tests.kit.remediation_devices import LOST_LINE, Host, Said

V100 = ("10de", "0302", "1db5")
XIDS = "62,79,95,119,120,154"
Shell = list[str]


# --- accelerator-missing --------------------------------------------------------------------------


def on_bus(shell: Shell, host: Host, expected: int = 8, *ids: str) -> Said:
    return host.run(shell, "accelerator-missing.sh", host.sys, expected, *(ids or V100))


def by_command(shell: Shell, host: Host, *command: object, seconds: int = 20) -> Said:
    """With nvidia-smi, where no other command is given."""
    given = command or (host.commands / "nvidia-smi", "-L")
    limits = (seconds, "/host/run/nvidia/driver", "^GPU [0-9]+:", "9")
    return host.run(shell, "accelerator-missing.sh", host.sys, 8, *V100, *limits, *given)


def test_cards_are_counted_on_the_bus(shell: Shell, host: Host) -> None:
    cards = host.cards(8)
    assert on_bus(shell, host) == (0, "8 of 8 accelerators on the PCI bus")
    host.pull(cards[3])
    assert on_bus(shell, host) == (1, "7 of 8 accelerators on the PCI bus")


@pytest.mark.parametrize(
    "other",
    ["8086 030200 1db5", "10de 030000 1db5", "10de 030200 2330", "10de 068000 1af1"],
    ids=["vendor", "class", "device", "NVSwitch"],
)
def test_other_devices_are_no_cards_of_the_model(shell: Shell, host: Host, other: str) -> None:
    host.cards(7)
    host.card("0000:ff:00.0", other)
    assert on_bus(shell, host).line == "7 of 8 accelerators on the PCI bus"


def test_any_device_of_several_classes_counts_where_the_model_says_so(
    shell: Shell, host: Host
) -> None:
    host.card("0000:01:00.0", "1e37 120000 0002")
    host.card("0000:02:00.0", "1e37 030200 0003")
    assert on_bus(shell, host, 2, "1e37", "0302,1200", "").code == 0
    assert on_bus(shell, host, 2, "1e37", "0302,1200", "0002,0004").code == 1


def test_virtual_functions_are_no_cards(shell: Shell, host: Host) -> None:
    (card,) = host.cards(1)
    host.card("0000:1a:00.1")
    (host.sys / "bus/pci/devices/0000:1a:00.1/physfn").symlink_to(f"../{card}")
    assert on_bus(shell, host, 2).line == "1 of 2 accelerators on the PCI bus"


def test_a_card_that_the_bus_shows_and_the_driver_has_lost_is_missing(
    shell: Shell, host: Host
) -> None:
    host.cards(8)
    host.smi(8)
    assert by_command(shell, host) == (0, "8 of 8 accelerators work (nvidia-smi)")
    host.smi(7, code=15, last=LOST_LINE)
    assert by_command(shell, host) == (1, "7 of 8 accelerators work (nvidia-smi)")
    assert (host.root / "rooted").read_text() == "/host/run/nvidia/driver\n"


def test_the_smaller_number_counts(shell: Shell, host: Host) -> None:
    host.cards(7)
    host.smi(8)
    assert by_command(shell, host) == (1, "7 of 8 accelerators on the PCI bus")


def test_a_command_that_hangs_has_found_a_lost_card(shell: Shell, host: Host) -> None:
    host.cards(8)
    host.command("nvidia-smi", "trap '' TERM\nwhile :; do sleep 1; done")
    assert by_command(shell, host, seconds=1) == (1, "nvidia-smi hung for 1 s")


@pytest.mark.parametrize(
    "script",
    ["echo 'the driver is not loaded'; exit 9", "exit 126", "exit 127", "kill -KILL $$"],
    ids=["a silent code", "not executable", "not there", "killed by somebody else"],
)
def test_a_command_that_cannot_tell_says_nothing(shell: Shell, host: Host, script: str) -> None:
    """As after a start, until the driver is there: a reboot would begin it all again."""
    host.cards(8)
    host.command("nvidia-smi", script)
    assert by_command(shell, host).code == 2


def test_a_command_that_is_not_there_says_nothing(shell: Shell, host: Host) -> None:
    host.cards(8)
    assert by_command(shell, host, host.root / "nowhere") == (
        2,
        "nowhere told nothing (exit code 127)",
    )


def test_a_sites_own_command_counts_its_boards(shell: Shell, host: Host) -> None:
    boards = ("1e37", "1200", "0002")
    host.cards(2, "1e37 120000 0002")
    command = host.command("mncore-status", 'echo "$1"; echo "board 0 ok"; echo "board 1 lost"')
    limits = (5, "/host", "^board [0-9]+ ok", "")
    told = (*boards, *limits, command, "--boards a b")
    assert host.run(shell, "accelerator-missing.sh", host.sys, 2, *told) == (
        1,
        "1 of 2 accelerators work (mncore-status)",
    )


# --- pcie-link-degraded ---------------------------------------------------------------------------


def links(shell: Shell, host: Host) -> Said:
    return host.run(shell, "pcie-link-degraded.sh", host.sys, 16, *V100)


def test_a_card_with_fewer_lanes_is_named(shell: Shell, host: Host) -> None:
    cards = host.cards(8)
    assert links(shell, host) == (0, "8 accelerators with 16 lanes")
    host.lanes(cards[2], 8)
    host.card("0000:ff:00.0", "8086 030200 1db5", lanes=1)
    assert links(shell, host) == (1, f"{cards[2]} has 8 of 16 lanes")
    host.lanes(cards[5], 4)
    assert links(shell, host) == (1, f"{cards[2]},{cards[5]} have 4 of 16 lanes")
    for card in cards[:5]:
        host.lanes(card, 8)
    assert links(shell, host) == (1, "6 of 8 accelerators have 4 of 16 lanes")


@pytest.mark.parametrize("value", ["63", "255", "0", "Unknown"])
def test_a_card_that_is_gone_has_no_lanes_to_tell(shell: Shell, host: Host, value: str) -> None:
    """All ones is what a bus reads where nobody answers."""
    cards = host.cards(2)
    host.lanes(cards[0], value)
    assert links(shell, host) == (2, f"{cards[0]} does not tell its lanes")
    host.lanes(cards[1], 4)
    assert links(shell, host).code == 1


def test_without_cards_nothing_is_known_of_links(shell: Shell, host: Host) -> None:
    assert links(shell, host).code == 2


# --- accelerator-error ----------------------------------------------------------------------------

LOST = (
    "NVRM: Xid (PCI:0000:3b:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus."
)


def errors(shell: Shell, host: Host) -> Said:
    return host.run(shell, "accelerator-error.sh", host.state, host.boot_id, XIDS)


def test_an_error_that_only_a_reboot_clears_is_bad_until_the_reboot(
    shell: Shell, host: Host
) -> None:
    assert errors(shell, host).code == 0
    host.says(LOST)
    assert errors(shell, host) == (1, "XID 79 of 0000:3b:00")
    # The ring buffer has wrapped.
    host.log.write_text("")
    assert errors(shell, host) == (1, "XID 79 of 0000:3b:00")
    host.boot("another")
    assert errors(shell, host).code == 0


@pytest.mark.parametrize(
    "line",
    [
        "NVRM: Xid (PCI:0000:3b:00): 31, pid=1, name=python, MMU Fault",
        "NVRM: Xid (PCI:0000:3b:00): 790, pid=1",
        "NVRM: Xid (PCI:0000:3b:00): 9, 79, pid=1",
        "python[12]: segfault, NVRM: Xid (PCI:0000:3b:00): 79, pid=1",
        "nvidia 0000:3b:00.0: Xid 79",
    ],
)
def test_other_lines_are_no_such_error(shell: Shell, host: Host, line: str) -> None:
    host.says(line)
    assert errors(shell, host).code == 0


@pytest.mark.parametrize(
    ("action", "code"),
    [("0x1 (GPU Reset Required)", 1), ("0x2 (OS Reboot)", 1), ("0x4 (Drain and Reset)", 1),
     ("0x0 (None)", 0), ("0x3 (Drain P2P)", 0)],
)  # fmt: skip
def test_154_counts_where_it_asks_for_a_reset_or_a_reboot(
    shell: Shell, host: Host, action: str, code: int
) -> None:
    told = f"154, GPU recovery action changed from 0x0 (None) to {action}"
    host.says(f"NVRM: Xid (PCI:0000:3b:00): {told}")
    assert errors(shell, host).code == code


def test_an_error_of_a_part_of_a_card_counts(shell: Shell, host: Host) -> None:
    """The form of MIG: kernel_rc.c of NVIDIA's open kernel modules 595.91."""
    host.says("NVRM: Xid (PCI:0000:3b:00 GPU-I:05): 95, pid=1, Uncontained")
    host.says(LOST)
    host.says(LOST)
    assert errors(shell, host) == (1, "XID 79 of 0000:3b:00, and 1 more")


def test_without_a_log_nothing_is_known_but_what_was_seen(shell: Shell, host: Host) -> None:
    unreadable = "exit 1"
    host.command("dmesg", unreadable)
    assert errors(shell, host).code == 2
    host.command("dmesg", f"echo '[1.0] {LOST.replace(chr(39), '')}'")
    assert errors(shell, host).code == 1
    host.command("dmesg", unreadable)
    assert errors(shell, host).code == 1


# --- device-choice --------------------------------------------------------------------------------

_IGNORED = "accept-nvidia-visible-devices-envvar-when-unprivileged = false\n"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (_IGNORED, 0),
        (f"  {_IGNORED.strip()} # as NVIDIA advises\n[nvidia-container-cli]\n", 0),
        (_IGNORED.replace("false", "true"), 1),
        (f"# {_IGNORED}", 1),
        # In a table it is another setting.
        (f"[nvidia-container-cli]\n{_IGNORED}", 1),
        ("", 1),
    ],
)
def test_a_runtime_that_obeys_images_is_seen(
    shell: Shell, host: Host, text: str, code: int, tmp_path: Path
) -> None:
    config = tmp_path / "config.toml"
    assert host.run(shell, "device-choice.sh", 2, config).code == 2
    config.write_text(text)
    assert host.run(shell, "device-choice.sh", 2, config).code == code
