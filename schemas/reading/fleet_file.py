"""``fleet.yaml`` of a repository as it is read; without one the defaults hold."""

from dataclasses import replace

from schemas.model.codes import Code
from schemas.model.fleet import FleetFile
from schemas.model.problem import Problem, whole_file
from schemas.model.texts import words
from schemas.reading.literal_secrets import in_file, merge_literals
from schemas.reading.site_files import read
from schemas.reading.tree import Folder, Refused
from schemas.reading.typed_document import parse
from schemas.reading.yaml_reader import read_yaml

FILE, OTHER_ENDING = "fleet.yaml", "fleet.yml"
_USELESS = "without the file the defaults hold; one without data says nothing else"


def read_fleet(root: Folder) -> tuple[FleetFile, list[Problem]]:
    """The file, or the defaults, and its problems; what has a problem must not be used."""
    data, other = read(root, FILE, "."), read(root, OTHER_ENDING, ".")
    absent = isinstance(other, Refused) and other.code is Code.FILE_MISSING
    found = [] if absent else [whole_file(OTHER_ENDING, *words("fleet-of-other-ending"))]
    if isinstance(data, Refused):
        missing = data.code is Code.FILE_MISSING
        return FleetFile(), found if missing else [*found, whole_file(FILE, *data)]
    document, problems = read_yaml(data, FILE)
    problems = [replace(e, reason=_USELESS) if e.code is Code.FILE_EMPTY else e for e in problems]
    file, more = parse(FleetFile, document) if document else (None, [])
    found += merge_literals([*problems, *in_file(FILE, data), *more])
    return file or FleetFile(), found


def fleet_problems(root: Folder) -> list[Problem]:
    """The problems of the file."""
    return read_fleet(root)[1]
