"""The request of a researcher, and the refusal that says what to write instead."""

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from components.making.told import Told
from schemas.kubernetes.masking import shorten

_TOLD = Told(__file__)
_MESSAGE = 300
"""Characters of a message, which may repeat what was typed."""


class Template(StrEnum):
    """How the pods of a job work together."""

    ALL_REDUCE = "all-reduce"
    ALL_REDUCE_TRAINJOB = "all-reduce-trainjob"
    PARAMETER_SERVER = "parameter-server"
    MPI = "mpi"

    @property
    def does(self) -> str:
        """The objects that it makes, in a line of request.toml."""
        return _TOLD.say(self.value)


class Rack(StrEnum):
    """Whether the workers of a job are kept in one rack."""

    REQUIRED = "required"
    """All in one rack, or none starts."""
    PREFERRED = "preferred"
    """In one rack where they fit there."""
    ANY = "any"
    """Anywhere."""


@dataclass(frozen=True, slots=True)
class JobRequest:
    """A template, filled in; None where the site's or the template's default shall hold.

    ``per_worker`` are accelerators (default: all of a host). ``servers`` are parameter servers.
    ``cpu``, ``memory`` and ``storage`` (on the host's disk) are quantities of one worker.
    ``timeout`` is how long a gang may hold what it has found, in seconds. ``command`` replaces the
    image's entry point; with MPI it is what each process runs. ``cache`` is a bucket of the object
    cache, which workers find by their environment. ``rack`` is one of ``Rack``.
    """

    template: Template
    model: str
    workers: int
    image: str
    team: str | None = None
    namespace: str | None = None
    name: str | None = None
    per_worker: int | None = None
    servers: int | None = None
    cpu: str | None = None
    memory: str | None = None
    storage: str | None = None
    priority: str | None = None
    timeout: int | None = None
    rdma: bool = False
    cache: str | None = None
    rack: str | None = None
    command: tuple[str, ...] = ()

    @property
    def job(self) -> str:
        """The job's name; a template's own where none is given."""
        return self.template.value if self.name is None else self.name

    @property
    def server_count(self) -> int:
        """Parameter servers: one where nothing is said."""
        if self.template is not Template.PARAMETER_SERVER:
            return 0
        return 1 if self.servers is None else self.servers


class Refusal(NamedTuple):
    """The refusal of a job: the option (``--workers``), what is wrong, what to write."""

    option: str
    message: str
    fix: str

    def __str__(self) -> str:
        """The refusal for a person."""
        return f"{self.option}: {shorten(self.message, _MESSAGE)}\n  fix: {self.fix}"


def refusal(name: str, /, **values: object) -> Refusal:
    """The refusal of a name in request.toml."""
    return Refusal(**_TOLD.table(name, **values))
