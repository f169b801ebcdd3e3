"""The checks of fabrics, network links, kernel messages and a site's own, against made-up hosts."""

from pathlib import Path

import pytest

from schemas.model.remediation import Detector
from tests.kit.remediation_devices import Host, Said

Shell = list[str]
LINKS = ("ib0::400", "ib1:1:400")
SMI = ("nvidia-smi",)
STATE = ("^ +(State +: Completed|Status +: Success)$", "9", 2, 2, *SMI, "-q")
NVLINK = ("^[[:space:]]*Link [0-9]+: [0-9.]+ GB/s", "9", 18, 3, *SMI, "nvlink", "--status")


@pytest.fixture
def host(tmp_path: Path) -> Host:
    """A host on which all is well."""
    found = Host(tmp_path / "host")
    found.fabric()
    found.process(700, "nv-fabricmanage", "S")
    for name in ("ib0", "ib1"):
        found.port(name)
    found.port("ens1", state="")
    return found


# --- fabric-down ----------------------------------------------------------------------------------


def fabric(shell: Shell, host: Host, process: str = "nv-fabricmanager", seconds: int = 9) -> Said:
    commands = ((seconds, host.root, *each) for each in (STATE, NVLINK))
    told = [word for each in commands for word in each]
    return host.run(shell, "fabric-down.sh", host.proc, process, 8, *told)


def test_a_fabric_is_as_good_as_its_worst_part(shell: Shell, host: Host) -> None:
    assert fabric(shell, host) == (0, "144 of 144 parts of the fabric work (nvidia-smi)")
    host.fabric(inactive=1)
    assert fabric(shell, host) == (1, "143 of 144 parts of the fabric work (nvidia-smi)")
    host.fabric(state="Failure")
    assert fabric(shell, host) == (1, "15 of 16 parts of the fabric work (nvidia-smi)")


def test_a_fabric_that_its_process_brings_up_is_unknown(shell: Shell, host: Host) -> None:
    host.fabric(state="In Progress", inactive=144)
    assert fabric(shell, host) == (2, "15 of 16 parts of the fabric work (nvidia-smi)")
    assert fabric(shell, host, "nv-fabric") == (1, "nv-fabric does not run")


def test_the_fabrics_process_has_to_run(shell: Shell, host: Host) -> None:
    assert fabric(shell, host, "nv-fabric").line == "nv-fabric does not run"
    assert fabric(shell, host, "").code == 0
    run = ("fabric-down.sh", host.proc, "nv-fabricmanager", 8)
    assert host.run(shell, *run) == (0, "nv-fabricmanager runs")


def test_a_fabrics_command_that_hangs_is_bad_and_one_without_driver_tells_nothing(
    shell: Shell, host: Host
) -> None:
    host.command("nvidia-smi", "exit 9")
    assert fabric(shell, host).code == 2
    host.command("nvidia-smi", "exec sleep 60")
    assert fabric(shell, host, seconds=1) == (1, "nvidia-smi hung for 1 s")


# --- network-link-down ----------------------------------------------------------------------------


def down(shell: Shell, host: Host, *links: str) -> Said:
    return host.run(shell, "network-link-down.sh", host.sys, *(links or LINKS))


def test_a_link_that_is_down_or_slow_is_named_with_its_rail(shell: Shell, host: Host) -> None:
    assert down(shell, host) == (0, "2 interfaces have a link")
    host.port("ib1", "2: INIT")
    assert down(shell, host) == (1, "ib1 (rail 1) is INIT (LinkUp)")
    host.port("ib0", rate="200 Gb/sec (4X HDR)")
    told = "ib0 has 200 of 400 Gbit/s, and 1 more"
    assert down(shell, host) == (1, told)
    assert down(shell, host, "ib0:0:0").code == 0
    assert down(shell, host, "ib9:9:0", "ens1::0") == (1, "ib9 (rail 9) is not there")


def test_where_no_interface_is_there_its_driver_may_not_be_loaded(shell: Shell, host: Host) -> None:
    assert down(shell, host, "ib8::0", "ib9::0") == (2, "ib8 is not there, and 1 more")


def test_roce_shows_the_kernels_rate_and_the_state_of_each_leg(shell: Shell, host: Host) -> None:
    folder = host.roce("eth0")
    assert down(shell, host, "eth0::400").code == 0
    assert down(shell, host, "eth0::800").line == "eth0 has 400 of 800 Gbit/s"
    (folder / "operstate").write_text("down\n")
    assert down(shell, host, "eth0::400") == (1, "eth0 is down")


def test_interfaces_without_rdma_show_the_kernels_state(shell: Shell, host: Host) -> None:
    assert down(shell, host, "ens1:0:100").code == 0
    assert down(shell, host, "ens1::200").line == "ens1 has 100 of 200 Gbit/s"
    (host.sys / "class/net/ens1/operstate").write_text("lowerlayerdown\n")
    assert down(shell, host, "ens1::100") == (1, "ens1 is lowerlayerdown")


# --- network-link-errors --------------------------------------------------------------------------


def errors(shell: Shell, host: Host, uptime: int, limits: str = "symbol_error=10") -> Said:
    host.uptime(uptime)
    places = (host.sys, host.proc, host.state, host.boot_id)
    return host.run(shell, "network-link-errors.sh", *places, 300, limits, *LINKS)


def test_a_counter_may_rise_by_its_limit_in_any_five_minutes(shell: Shell, host: Host) -> None:
    assert errors(shell, host, 1000) == (0, "no errors")
    host.counter("ib1", "symbol_error", 17)
    assert errors(shell, host, 1100).code == 0
    host.counter("ib1", "symbol_error", 18)
    assert errors(shell, host, 1200) == (1, "ib1 (rail 1): symbol_error rose by 11 in 200 s")
    # The reading of 1100 is five minutes old by then, and the first one counts no more.
    assert errors(shell, host, 1400).code == 0
    host.counter("ib1", "symbol_error", 40)
    assert errors(shell, host, 1450).code == 1
    assert errors(shell, host, 1800).code == 0


def test_a_reset_and_a_reboot_begin_anew(shell: Shell, host: Host) -> None:
    host.counter("ib0", "symbol_error", 500)
    errors(shell, host, 1000)
    host.counter("ib0", "symbol_error", 5)
    assert errors(shell, host, 1030).code == 0
    host.counter("ib0", "symbol_error", 400)
    assert errors(shell, host, 1060).code == 1
    host.boot("another")
    assert errors(shell, host, 1090).code == 0


def test_counters_of_rdma_and_of_the_interface_count(shell: Shell, host: Host) -> None:
    limits = "carrier_down_count=0,out_of_sequence=5,not_there=0"
    assert errors(shell, host, 1000, limits).code == 0
    (host.sys / "class/net/ib0/carrier_down_count").write_text("4\n")
    told = "ib0: carrier_down_count rose by 1 in 60 s"
    assert errors(shell, host, 1060, limits) == (1, told)
    assert errors(shell, host, 1060, "not_there=0") == (2, "no counter is there")


def test_counters_of_a_new_host_are_good(shell: Shell, host: Host) -> None:
    for counter in (limits := Detector().link_errors):
        host.counter("ib0", counter, 0)
    told = ",".join(f"{name}={most}" for name, most in limits.items())
    assert errors(shell, host, 1000, told) == (0, "no errors")


def test_of_a_full_counter_nothing_is_known(shell: Shell, host: Host) -> None:
    host.counter("ib0", "symbol_error", 65535)
    full = "ib0: symbol_error is full: reset it"
    assert errors(shell, host, 1000) == (2, full)


# --- a site's own, and kernel messages ------------------------------------------------------------


@pytest.mark.parametrize(
    ("script", "threshold", "said"),
    [
        ("echo fine", "", (0, "fine")),
        ("echo 'two disks'; exit 1", "", (1, "two disks")),
        ("echo 'no module' >&2; exit 1", "", (2, "probe ended with 1")),
        ("exit 3", "", (2, "probe ended with 3")),
        ("exit 127", "", (2, "probe told nothing (exit code 127)")),
        ("echo 40 ms", 40, (0, "40 ms")),
        ("echo 40.5 ms", 40, (1, "40.5 ms, and 40 is the most")),
        ("echo 40ms", 40, (0, "40ms")),
        ("echo 41%", 40, (1, "41%, and 40 is the most")),
        *(
            (f"echo {each}", 40, (2, "probe told no number (exit code 0)"))
            for each in ("1.5e+06", "1,234,567", "0x1F4", "0xFF", "1.2.3.4", "5.")
        ),
        ("head -c 9000000 /dev/zero | tr '\\0' x; echo; exit 1", "", (1, "x" * 4096)),
        ("echo none", 40, (2, "probe told no number (exit code 0)")),
        ("echo 99; exit 1", 40, (2, "probe told no number (exit code 1)")),
        ("exec sleep 60", 40, (2, "probe told nothing (exit code 124)")),
        ('echo "$1"', "", (0, "$(reboot); `reboot` * ' \"")),
    ],
)
def test_a_sites_own_check(
    shell: Shell, host: Host, script: str, threshold: object, said: tuple[int, str]
) -> None:
    command = (host.command("probe", script), "$(reboot); `reboot` * ' \"")
    assert host.run(shell, "own-check.sh", 2, host.root, threshold, *command) == said


RESET = "amdgpu 0000:c1:00.0: amdgpu: GPU reset(3) failed"


def test_a_message_of_the_kernel_stays_until_the_reboot(shell: Shell, host: Host) -> None:
    told = ("kernel-messages.sh", host.state, host.boot_id, "(^amdgpu .* GPU reset.* failed)|(xyz)")
    host.says("amdgpu 0000:c1:00.0: amdgpu: GPU reset(2) succeeded!")
    assert host.run(shell, *told).code == 0
    host.says(RESET)
    assert host.run(shell, *told) == (1, RESET)
    host.log.write_text("")
    host.command("dmesg", "exit 1")
    assert host.run(shell, *told) == (1, RESET)
    refused = host.run(shell, *told[:3], "(x{70000})")
    assert refused == (2, "grep refuses the expression")
    assert host.run(shell, *told) == (1, RESET)
    host.boot("another")
    assert host.run(shell, *told).code == 2


def test_what_is_counted_is_bounded_and_by_an_expression(shell: Shell, host: Host) -> None:
    def counted(script: str, lines: str = "^ok") -> Said:
        limits = (9, host.root, lines, "", host.command("probe", script))
        pci = (host.sys, 0, "10de", "0302", "")
        return host.run(shell, "accelerator-missing.sh", *pci, *limits)

    assert counted("echo ok") == (0, "1 of 0 accelerators work (probe)")
    assert counted("echo ok", "x{70000}") == (2, "grep refuses the expression")
    assert counted("yes | head -c 9000000") == (2, "probe told too much")
    told = (9, host.root, "x{70000}", "", 1, 1, host.command("probe", "echo ok"))
    refused = host.run(shell, "fabric-down.sh", host.proc, "", 8, *told)
    assert refused == (2, "grep refuses the expression")
