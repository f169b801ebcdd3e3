"""The damping of checks: counts in a row, over restarts of the detector, and not over a reboot."""

import os
import signal
import subprocess
import threading
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from components.remediation.checks import SCRIPTS
from tests.kit.remediation_devices import Host, Said, alive
from tests.kit.waiting import until

GOOD, BAD, SILENT, REBOOT = 0, 1, 2, 3
Shell = list[str]


@pytest.fixture
def host(tmp_path: Path) -> Host:
    """A host with a check that reads what it is told."""
    return made(tmp_path)


def made(folder: Path) -> Host:
    host = Host(folder / "host")
    host.command("reading", 'echo "reading $1"; exit "$1"')
    return host


def answers(host: Host, shell: Shell, readings: Sequence[int], bad: int, good: int) -> list[int]:
    """The answers to readings, one after another; a reboot keeps the files, to make it harder."""
    found = []
    for index, reading in enumerate(readings):
        if reading == REBOOT:
            host.boot(f"boot-{index}")
            found.append(SILENT)
        else:
            check = host.commands / "reading"
            found.append(host.settled(shell, check, reading, bad=bad, good=good).code)
    return found


def telling(history: Sequence[int]) -> list[int]:
    """The readings of this boot that say something."""
    since = max((i for i, each in enumerate(history) if each == REBOOT), default=-1)
    return [each for each in history[since + 1 :] if each in (GOOD, BAD)]


def ends_with(readings: Sequence[int], value: int, count: int) -> bool:
    return len(readings) >= count and all(each == value for each in readings[-count:])


@settings(max_examples=20)
@given(
    readings=st.lists(st.sampled_from([GOOD, GOOD, BAD, BAD, SILENT, REBOOT]), max_size=14),
    bad=st.integers(1, 3),
    good=st.integers(1, 3),
)
def test_only_enough_readings_in_a_row_change_the_answer(
    readings: list[int], bad: int, good: int
) -> None:
    needed = {GOOD: good, BAD: bad}
    with TemporaryDirectory() as folder:
        found = answers(made(Path(folder)), ["dash"], readings, bad, good)
    before = SILENT
    for index, answer in enumerate(found):
        history = readings[: index + 1]
        if answer not in (before, SILENT):
            assert ends_with(telling(history), answer, needed[answer])
            assert history[-1] == answer
        if answer != before and answer == SILENT:
            assert history[-1] == REBOOT or ends_with(history, SILENT, bad)
        for value, count in needed.items():
            if ends_with(history, value, count):
                assert answer == value
        before = answer


@pytest.mark.parametrize(
    ("readings", "expected"),
    [
        ([GOOD, GOOD, BAD, BAD, GOOD, BAD, BAD, GOOD], [2, 0, 0, 0, 0, 0, 0, 0]),
        ([BAD, BAD, BAD, GOOD, BAD, GOOD, BAD], [2, 2, 1, 1, 1, 1, 1]),
        ([BAD, BAD, BAD, GOOD, GOOD], [2, 2, 1, 1, 0]),
        ([GOOD, BAD, GOOD, BAD], [2, 2, 2, 2]),
        ([BAD, SILENT, BAD, SILENT, BAD], [2, 2, 2, 2, 1]),
        ([GOOD, GOOD, SILENT, SILENT, SILENT, GOOD, GOOD], [2, 0, 0, 0, 2, 2, 0]),
        ([BAD, BAD, BAD, REBOOT, BAD, BAD, GOOD, GOOD], [2, 2, 1, 2, 2, 2, 2, 0]),
        ([GOOD, GOOD, REBOOT, GOOD, GOOD], [2, 0, 2, 2, 0]),
    ],
)
def test_three_bad_or_two_good_readings_change_the_answer(
    shell: Shell, host: Host, readings: list[int], expected: list[int]
) -> None:
    assert answers(host, shell, readings, bad=3, good=2) == expected


def test_a_bad_answer_says_what_was_found_though_the_last_reading_was_good(
    shell: Shell, host: Host
) -> None:
    check = host.commands / "reading"
    assert host.settled(shell, check, BAD, bad=1) == (1, "reading 1")
    assert host.settled(shell, check, GOOD, bad=1) == (1, "reading 1")
    assert host.settled(shell, check, GOOD, bad=1) == (0, "reading 0")


def test_an_answer_that_is_not_settled_says_what_is_read(shell: Shell, host: Host) -> None:
    check = host.commands / "reading"
    assert host.settled(shell, check, BAD) == (2, "not settled: reading 1")


def test_a_line_is_cut_and_plain(shell: Shell, host: Host) -> None:
    check = host.command("long", "printf 'a\\tb\\033[1m%0100d\\nsecond\\n' 0; exit 1")
    assert host.settled(shell, check, bad=1) == (1, f"ab[1m{'0' * 75}")


@pytest.mark.parametrize("damage", ["", "x", f"{'y' * 36} 0 0 2", "\n\n\n", "5 0 0 2x 0\n"])
def test_a_damaged_memory_is_none(shell: Shell, host: Host, damage: str) -> None:
    check = host.commands / "reading"
    host.settled(shell, check, GOOD, good=1)
    (host.state / "reading/state").write_text(damage)
    assert host.settled(shell, check, GOOD).code == SILENT
    assert host.settled(shell, check, GOOD).code == GOOD


def test_without_a_memory_nothing_is_known(shell: Shell, host: Host) -> None:
    (host.state / "reading").write_text("a file in the folder's place")
    done = host.settled(shell, host.commands / "reading", GOOD, good=1)
    assert done.code == SILENT


# --- a check that hangs ---------------------------------------------------------------------------


def stuck(host: Host, said: Path) -> Path:
    """A check that nothing ends in time, as a process in the kernel; it notes that it began."""
    return host.command("stuck", f'echo $$ >>{said}\nprintf "7 of 8\\n"\nexec sleep 300')


def await_words(file: Path) -> None:
    """A check is not waited for longer than its bound, so it may begin after the answer."""
    until(lambda: file.exists() and file.read_text().endswith("\n"))


@pytest.mark.parametrize("hung", [BAD, SILENT])
def test_a_check_that_hangs_is_left_alone_and_answers_in_time(
    shell: Shell, host: Host, tmp_path: Path, hung: int
) -> None:
    """And no second one is begun beside it, also by a detector that was restarted."""
    began = tmp_path / "began"
    check = stuck(host, began)

    def look() -> Said:
        return host.settled(shell, check, seconds=1, hung=hung, bad=2)

    assert look() == (SILENT, "not settled: no answer within 1 s")
    await_words(began)
    (pid,) = map(int, began.read_text().split())
    try:
        said = "no answer within 1 s"
        assert look() == ((BAD, said) if hung == BAD else (SILENT, f"not settled: {said}"))
        assert began.read_text().split() == [str(pid)]
        assert alive(pid)
    finally:
        os.kill(pid, signal.SIGKILL)
    host.command("stuck", "echo 'all is well'")
    # The process that waits for the one that was killed may be there a moment longer.
    for _ in range(100):
        done = look()
        if done == (GOOD, "all is well"):
            break
    assert done == (GOOD, "all is well")


def test_a_check_of_a_detector_that_was_killed_is_waited_for(shell: Shell, host: Host) -> None:
    """One that only takes its time is no fault."""
    began, go_on = host.root / "began", host.root / "go-on"
    slow = f"echo >>{began}\nwhile [ ! -e {go_on} ]; do sleep 0.1; done\necho well"
    check = host.command("slow", slow)
    path = str(SCRIPTS / "settled.sh")
    told = (path, host.state, host.boot_id, "slow", 1, 1, 60, BAD, check)
    killed = subprocess.Popen([*shell, *map(str, told)], env={"PATH": host.path})
    until(lambda: (host.state / "slow/running").exists() and began.exists())
    killed.kill()
    killed.wait()
    # It goes on when the next run has met it: one that has ended is begun anew, and rightly so.
    going_on = threading.Timer(3, go_on.touch)
    going_on.start()
    assert host.settled(shell, check, bad=1, good=1, hung=BAD) == (GOOD, "well")
    going_on.join()
    assert began.read_text() == "\n"


def test_a_command_in_the_kernel_is_not_started_a_second_time(
    shell: Shell, host: Host, tmp_path: Path
) -> None:
    """The whole of it: nvidia-smi on a lost card. ``timeout`` is a fake that waits and kills
    nothing, as the real one would for a process that no signal ends."""
    began = tmp_path / "began"
    host.cards(8)
    host.command("timeout", f"echo $$ >>{began}\nexec sleep 300")
    limits = (1, "/host", "^GPU", "9", "nvidia-smi", "-L")
    check = SCRIPTS / "accelerator-missing.sh"
    told = (host.sys, 8, "10de", "0302", "1db5", *limits)

    def look() -> Said:
        return host.settled(shell, check, *told, seconds=1, hung=BAD, bad=2)

    try:
        assert look().code == SILENT
        assert look() == (BAD, "no answer within 1 s")
    finally:
        await_words(began)
        pids = list(map(int, began.read_text().split()))
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
    assert len(pids) == 1


def test_no_check_opens_the_gpus_while_they_are_reset(shell: Shell, host: Host) -> None:
    def reading(name: str, note: str) -> Said:
        host.state.mkdir(exist_ok=True)
        (host.state / "reset").write_text(f"{note}\n")
        host.command(name, "exit 1")
        return host.settled(shell, host.commands / name, bad=1, good=1)

    boot = host.boot_id.read_text().strip()
    for name in ("accelerator-missing", "fabric-down"):
        assert reading(name, f"{boot} begun").code == SILENT
        assert reading(name, f"{boot} done").code == BAD
        assert reading(name, "another begun").code == BAD
    assert reading("disk-full", f"{boot} begun").code == BAD
