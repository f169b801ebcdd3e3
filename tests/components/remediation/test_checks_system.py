"""The checks of hosts' disks and kernels, each on its own, against made-up hosts."""

import pytest

from tests.kit.remediation_devices import Host, Said

Shell = list[str]


# --- disk-full ------------------------------------------------------------------------------------


def disks(shell: Shell, host: Host, *folders: str) -> Said:
    return host.run(shell, "disk-full.sh", host.root, 95, *(folders or ("/", "/srv/nvme")))


@pytest.mark.parametrize(
    ("space", "inodes", "said"),
    [
        ((75, 1), (3, 1), (0, "75% used at most")),
        ((94, 94), (94, 94), (0, "94% used at most")),
        ((75, 97), (3, 1), (1, "/srv/nvme: 97% of its space used")),
        ((95, 1), (3, 1), (1, "/: 95% of its space used")),
        ((100, 99), (100, 1), (1, "/: 100% of its space used")),
        ((9, 1), (3, 100), (1, "/srv/nvme: 100% of its inodes used")),
    ],
)
def test_the_fullest_file_system_is_named(
    shell: Shell, host: Host, space: tuple[int, int], inodes: tuple[int, int], said: tuple[int, str]
) -> None:
    host.filled(space, inodes)
    assert disks(shell, host) == said


def test_a_folder_that_is_not_there_hides_no_full_disk(shell: Shell, host: Host) -> None:
    host.filled((50, 50))
    assert disks(shell, host, "/", "/srv/none") == (2, "/srv/none is not there")
    host.filled((50, 96))
    assert disks(shell, host, "/", "/srv/none").code == 1


def test_the_real_df_is_understood(shell: Shell, host: Host) -> None:
    """Of this machine's own disk, which is not known: so of a limit that every disk reaches."""
    assert host.run(shell, "disk-full.sh", "/", 0, "/").code == 1
    assert host.run(shell, "disk-full.sh", "/", 101, "/").code == 0


def test_a_df_that_tells_nothing_is_unknown(shell: Shell, host: Host) -> None:
    host.command("df", "exit 1")
    assert disks(shell, host, "/").code == 2


# --- read-only-filesystem -------------------------------------------------------------------------


def writable(shell: Shell, host: Host, *folders: str) -> Said:
    return host.run(shell, "read-only-filesystem.sh", host.root, host.mounts, *(folders or ("/",)))


NVME = "/srv/nvme xfs rw"


@pytest.mark.parametrize(
    ("mounts", "said"),
    [
        (["/ ext4 rw,relatime", "/boot ext4 ro", NVME], (0, "all can be written")),
        (["/ ext4 rw,relatime"], (1, "/srv/nvme is not mounted")),
        (["/ ext4 ro,relatime"], (1, "/ is read-only")),
        (["/ ext4 rw,relatime,errors=remount-ro", NVME], (0, "all can be written")),
        (["/ ext4 rw", "/srv/nvme xfs ro,noatime"], (1, "/srv/nvme is read-only")),
        (["/ ext4 rw", "/srv xfs ro", "/srv/nvme xfs rw"], (0, "all can be written")),
        (["/ ext4 rw", "/srv/nv xfs ro", NVME], (0, "all can be written")),
        (["/ ext4 rw", "/srv xfs ro"], (1, "/srv is read-only")),
        (["/ rootfs ro", "/ ext4 rw", NVME], (0, "all can be written")),
        (["/ ext4 rw", "/srv/nvme ext4 rw,emergency_ro"], (1, "/srv/nvme is read-only")),
        (["/ ext4 rw", "/srv/nvme ext4 rw,shutdown"], (1, "/srv/nvme is read-only")),
    ],
)
def test_the_mount_of_each_folder_is_looked_at(
    shell: Shell, host: Host, mounts: list[str], said: tuple[int, str]
) -> None:
    (host.root / "srv/nvme").mkdir(parents=True)
    host.mounts.write_text("".join(f"/dev/x {each} 0 0\n" for each in mounts))
    assert writable(shell, host, "/", "/srv/nvme") == said


def test_a_file_system_that_has_shut_down_is_found(shell: Shell, host: Host) -> None:
    """XFS keeps its options; fs/xfs/xfs_iops.c, xfs_vn_getattr: EIO."""
    said = f"stat: cannot statx '{host.root}/srv/nvme': Input/output error"
    host.command("stat", f'echo "{said}" >&2; exit 1')
    assert writable(shell, host) == (1, "cannot statx '/srv/nvme': Input/output error")


def test_a_folder_that_cannot_be_looked_at_is_not_called_good(shell: Shell, host: Host) -> None:
    host.mounts.write_text("/dev/x / ext4 rw 0 0\n/dev/y /gone xfs rw 0 0\n")
    assert writable(shell, host, "/", "/gone") == (2, "not all can be looked at")


def test_without_mounts_nothing_is_known(shell: Shell, host: Host) -> None:
    host.mounts.write_text("")
    assert writable(shell, host).code == 2


# --- kernel-deadlock ------------------------------------------------------------------------------


def deadlock(shell: Shell, host: Host, uptime: int) -> Said:
    host.uptime(uptime)
    return host.run(shell, "kernel-deadlock.sh", host.proc, host.state, host.boot_id, 600)


def test_a_process_that_is_blocked_for_long_is_named(shell: Shell, host: Host) -> None:
    host.process(4711, "python3 (x) D 2")
    host.process(4712, "bash", "S")
    assert deadlock(shell, host, 1000).code == 0
    assert deadlock(shell, host, 1599).code == 0
    assert deadlock(shell, host, 1600) == (1, "python3 (x) D 2 (4711) blocked for 600 s")


def test_a_process_that_was_scheduled_in_between_is_not_blocked(shell: Shell, host: Host) -> None:
    """One that reads and writes much is in state D whenever one looks."""
    host.process(4711, "rsync")
    for times, uptime in enumerate(range(1000, 3000, 500)):
        host.switched(4711, 100 + times)
        assert deadlock(shell, host, uptime).code == 0


def test_another_process_of_the_same_number_is_another(shell: Shell, host: Host) -> None:
    stat = host.process(4711, "first") / "stat"
    assert deadlock(shell, host, 1000).code == 0
    stat.write_text(stat.read_text().replace(" 471100 ", " 999900 "))
    assert deadlock(shell, host, 1700).code == 0
    assert deadlock(shell, host, 2300).code == 1


def test_a_blocked_process_of_an_earlier_boot_is_forgotten(shell: Shell, host: Host) -> None:
    host.process(4711, "python")
    assert deadlock(shell, host, 1000).code == 0
    host.boot("another")
    assert deadlock(shell, host, 1700).code == 0


@pytest.mark.parametrize(
    "where", ["rpc_wait_bit_killable", "wait_for_vfork_done", "__refrigerator"]
)
def test_a_wait_that_a_kill_ends_is_no_deadlock(shell: Shell, host: Host, where: str) -> None:
    (host.process(4711, "python") / "wchan").write_text(where)
    assert deadlock(shell, host, 1000).code == 0
    assert deadlock(shell, host, 5000).code == 0


def test_threads_of_the_kernel_may_wait(shell: Shell, host: Host) -> None:
    host.process(300, "driver_worker", parent=2)
    assert deadlock(shell, host, 1000).code == 0
    assert deadlock(shell, host, 5000).code == 0


def test_the_one_that_is_blocked_for_longest_is_named(shell: Shell, host: Host) -> None:
    host.process(12, "second")
    assert deadlock(shell, host, 1000).code == 0
    host.process(11, "first")
    assert deadlock(shell, host, 1700).line == "second (12) blocked for 700 s"
    assert deadlock(shell, host, 2400).line == "second (12) blocked for 1400 s"


def test_this_machines_own_processes_are_understood(shell: Shell, host: Host) -> None:
    arguments = ("/proc", host.state, host.boot_id, 7200)
    assert host.run(shell, "kernel-deadlock.sh", *arguments) == (0, "no process blocked for 7200 s")
