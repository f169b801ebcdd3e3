"""Running Pulumi for one site's stack: the command, its lock, and what it leaves when it is killed.

Checkpoints are skipped: writing the whole state at each step is three quarters of a first ``up``
and grows with the square of the site. In their place a note of the run lies beside the state until
it is over; after a kill the next run takes back what was made (server-side apply adopts it), and
names what the site no longer has.
"""

import contextlib
import fcntl
import json
import os
import subprocess
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from foresite.command import UsageError
from foresite.delivery.stack.locks import Lock, locks, parse_locks, question
from foresite.delivery.stack.statefile import shared, without_password
from foresite.interruption import running
from foresite.scratch import open_log, private
from schemas.reading.bounded import parse_json

Say = Callable[[str], object]

UNDER_WAY = "foresite:applying"
"""A stack's tag with the commit that is being applied: a killed run is not in the history."""
PASSED = "foresite:passed"
"""A stack's tag with the commit at which its site was healthy, and its ring passed."""
_DELETE_UNREACHABLE = "PULUMI_K8S_DELETE_UNREACHABLE"
PLAIN = ("--non-interactive", "--color", "never")
_HEEDS = {"up", "refresh", "preview"}
"""Commands that end cleanly on SIGINT (pulumi 3.255, backend/cancellation_scope.go)."""
_NO_STACK = 6
"""Pulumi's exit code where there is no such stack (pulumi 3.255, cmdutil/exit.go)."""


class EngineError(UsageError):
    """Pulumi cannot say; the message is its own."""


class Record(NamedTuple):
    """A line of a stack's history: what was done (``update``, ``destroy``, …), with what result
    (``succeeded``, ``failed``, …), the message that was given, and when it began. ``passed`` is the
    commit of the tag PASSED."""

    kind: str
    result: str
    message: str
    began: str = ""
    passed: str = ""


@dataclass(frozen=True, slots=True)
class Engine:
    """Pulumi for one stack: its executable, environment, program folder, and a folder for notes.
    ``pack`` is the folder of its policies; None where its language host can run none."""

    pulumi: Path
    environment: Mapping[str, str]
    program: Path
    stack: str
    notes: Path
    kubectl: Path | None = None
    pack: Path | None = None

    @property
    def policies(self) -> tuple[str, ...]:
        """The arguments of a ``preview`` or an ``up`` for policies."""
        return ("--policy-pack", str(self.pack)) if self.pack else ()

    @property
    def log(self) -> Path:
        """The file with the whole output of the last run."""
        return self.notes / f"{self.stack}.log"

    @property
    def _note(self) -> Path:
        return self.notes / f"{self.stack}.running.json"

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """A short Pulumi command, with what it printed."""
        with self._running(arguments, subprocess.PIPE) as process:
            said, complaints = process.communicate()
        hidden = without_password(complaints)
        return subprocess.CompletedProcess(process.args, process.returncode, said, hidden)

    @contextlib.contextmanager
    def _running(self, arguments: Sequence[str], stderr: int) -> Iterator[subprocess.Popen[str]]:
        """Pulumi, with a folder for temporary files that goes once it has ended, however it does.
        An interruption is KeyboardInterrupt by then, and its state is saved."""
        told = arguments[0] in _HEEDS
        with (
            private(self.environment, self.notes, f"{self.stack}.temporary") as env,
            running([self.pulumi, *arguments], told=told, cwd=self.program, env=env,
                    stderr=stderr) as process,
        ):  # fmt: skip
            yield process

    def cautious(self) -> "Engine":
        """Pulumi that takes no object of a cluster that does not answer for a deleted one."""
        env = {k: v for k, v in self.environment.items() if k != _DELETE_UNREACHABLE}
        return replace(self, environment=env)

    def select(self) -> None:
        """Make the stack if there is none; its name is the site's. Raises EngineError."""
        demand_success(self.run("stack", "select", "--create", self.stack))

    def last_record(self) -> Record | None:
        """The newest line of the stack's history; None before the first. Raises EngineError."""
        return next(iter(self.history(1)), None)

    def history(self, most: int) -> list[Record]:
        """The last lines of the stack's history, the newest first. Raises EngineError."""
        found = self._query("stack", "history", "--json", "--page-size", f"{most}", "--page", "1")
        return [
            Record(each["kind"], each["result"], each.get("message", ""), each.get("startTime", ""))
            for each in found or ()
        ]

    def tags(self) -> dict[str, str]:
        """The stack's tags, such as UNDER_WAY. Raises EngineError where Pulumi cannot say."""
        return self._query("stack", "tag", "ls", "--json") or {}

    def mark(self, commit: str, tag: str = UNDER_WAY) -> None:
        """Note on the stack that ``commit`` is being applied, or passed. Raises EngineError."""
        self._command("stack", "tag", "set", tag, commit)

    def unmark(self) -> None:
        """Take the note off: what the history says is all there is. Raises EngineError."""
        self._command("stack", "tag", "rm", UNDER_WAY)

    def _query(self, *arguments: str) -> Any:
        """The answer of a command in JSON; None where there is no such stack."""
        done = self.run(*arguments, "--stack", self.stack)
        if done.returncode == _NO_STACK:
            return None
        demand_success(done)
        return parse_json(done.stdout)

    def _command(self, *arguments: str) -> None:
        demand_success(self.run(*arguments, "--stack", self.stack))

    def follow(self, arguments: Sequence[str], line: Callable[[str], object]) -> int:
        """Run Pulumi, giving each line of its output to ``line``; its exit code."""
        self.notes.mkdir(parents=True, exist_ok=True)
        with open_log(self.log) as log, self._running(arguments, subprocess.STDOUT) as process:
            for text in map(without_password, process.stdout or ()):
                log(text)
                line(text.rstrip("\n"))
        return process.returncode

    def up(self, line: Callable[[str], object], *more: str) -> int:
        """Apply the program, as ``follow`` does."""
        words = ["up", "--stack", self.stack, "--yes", "--skip-preview", *PLAIN, *more]
        return self.follow(words, line)

    def refresh(self, urns: Iterable[str] = (), *more: str) -> subprocess.CompletedProcess[str]:
        """Read objects of the state, all where none is named, from their unchanged clusters."""
        targets = [part for urn in urns for part in ("--target", urn)]
        words = ("refresh", "--yes", "--skip-preview", "--run-program", *more, *PLAIN)
        return self.cautious().run(*words, "--stack", self.stack, *targets)

    def begin(self, objects: Iterable[tuple[str, ...]]) -> list[tuple[str, ...]]:
        """Note what this run is about to make; what an interrupted run before may have left. The
        list holds objects of that run which this one no longer makes."""
        wanted = sorted(set(objects))
        left = [key for key in self.noted_objects() if key not in set(wanted)]
        self._write([*wanted, *left], over=False)
        return left

    def finish(self, left: Iterable[tuple[str, ...]] = ()) -> None:
        """Forget what this run made: the state knows it. What one before has left stays noted."""
        if kept := list(left):
            self._write(kept, over=True)
        else:
            self._note.unlink(missing_ok=True)

    def noted_objects(self) -> list[tuple[str, ...]]:
        """What an interrupted run was to make: cluster, apiVersion, kind, namespace, name."""
        return self._read_note()[0]

    def renote(self, objects: Iterable[tuple[str, ...]]) -> None:
        """Put other objects into the note of an interrupted run."""
        self._write(objects, over=self._read_note()[1])

    def was_interrupted(self) -> bool:
        """True if the run before did not come to its end."""
        return self._note.exists() and not self._read_note()[1]

    def _write(self, objects: Iterable[tuple[str, ...]], *, over: bool) -> None:
        self.notes.mkdir(parents=True, exist_ok=True)
        fresh = self._note.with_suffix(".new")
        fresh.write_text(json.dumps({"over": over, "objects": list(objects)}), encoding="utf-8")
        fresh.replace(self._note)

    def _read_note(self) -> tuple[list[tuple[str, ...]], bool]:
        """The objects of the note, and whether the run that wrote it came to its end."""
        try:
            said = parse_json(self._note.read_text(encoding="utf-8"))
            return [tuple(key) for key in said["objects"]], bool(said["over"])
        except (OSError, ValueError, KeyError, TypeError):
            return [], False

    def release_dead_lock(self, say: Say) -> bool:
        """Cancel the locks of runs whose process is gone; False where an owner still lives. Only a
        file backend on this machine can be judged; of another it is said who has it. All are judged
        first, as Pulumi takes all away at once."""
        found = self.locks()
        for lock in found:
            if lock.alive is not False:
                way = lock.ways_out(self.stack)
                say(f"another run holds the lock of {self.stack}: {lock}; {way}")
                return False
        if found:
            gone = ", ".join(str(lock.pid) for lock in found)
            say(f"the previous run was killed (process {gone}): its lock is released")
            self.cancel()
        return True

    def locks(self, *, ask: bool = True) -> list[Lock]:
        """The locks of the stack. Of a bucket or database Pulumi is asked, where ``ask`` allows
        that: it takes the lock for a moment."""
        if not shared(self.environment):
            return locks(self.environment, self.program, self.stack)
        return parse_locks(self.run(*question(self.stack)).stderr) if ask else []

    def cancel(self) -> None:
        """Take every lock of the stack away, whoever holds it. Raises EngineError."""
        self._command("cancel", "--yes")

    def export_state(self) -> dict[str, Any] | None:
        """The stack's state, as Pulumi exports it; None where there is no such stack. Raises
        EngineError where it cannot be read."""
        found: dict[str, Any] | None = self._query("stack", "export")
        return found

    def replace_state(self, exported: dict[str, Any]) -> None:
        """Put another state in place of the stack's, whole or not at all. Raises EngineError."""
        self.notes.mkdir(parents=True, exist_ok=True)
        path = self.notes / f"{self.stack}.state.json"
        path.write_text(json.dumps(exported), encoding="utf-8")
        try:
            self._command("stack", "import", "--file", str(path))
        finally:
            path.unlink()


def demand_success(done: subprocess.CompletedProcess[str], before: str = "") -> None:
    """Raise EngineError with what Pulumi complains of, where a command of it failed."""
    if done.returncode:
        said = done.stderr.strip() or done.stdout.strip()
        raise EngineError(f"{before}pulumi: {said.removeprefix('error: ')}")


@contextlib.contextmanager
def lock_site(engine: Engine) -> Iterator[None]:
    """Hold a site for the block; the kernel lets go of it however the process ends. Pulumi locks a
    stack only while it writes: two runs that both looked before would judge the same clusters.
    Raises UsageError, which says who holds it."""
    engine.notes.mkdir(parents=True, exist_ok=True)
    path = engine.notes / f"{engine.stack}.lock"
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            pid = os.read(handle, 20).decode(errors="replace").strip()
            raise UsageError(
                f"another run works on {engine.stack}: process {pid or 'unknown'}; nothing was "
                "changed; wait until it is over, or end it with Ctrl-C"
            ) from None
        os.truncate(handle, 0)
        os.pwrite(handle, f"{os.getpid()}\n".encode(), 0)
        yield
    finally:
        os.close(handle)
