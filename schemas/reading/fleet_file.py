"""``fleet.yaml`` of a repository as it is read; without one the defaults hold."""

from schemas.model.codes import Code
from schemas.model.fleet import FleetFile
from schemas.model.problem import Problem, whole_file
from schemas.reading.literal_secrets import in_file, merge_literals
from schemas.reading.site_files import read
from schemas.reading.tree import Folder, Refused
from schemas.reading.typed_document import parse
from schemas.reading.yaml_reader import read_yaml

FILE = "fleet.yaml"


def read_fleet(root: Folder) -> tuple[FleetFile, list[Problem]]:
    """The file, or the defaults, and its problems; what has a problem must not be used."""
    data = read(root, FILE, ".")
    if isinstance(data, Refused):
        missing = data.code is Code.FILE_MISSING
        return FleetFile(), [] if missing else [whole_file(FILE, *data)]
    document, problems = read_yaml(data, FILE)
    file, more = parse(FleetFile, document) if document else (None, [])
    return file or FleetFile(), [*merge_literals([*problems, *in_file(FILE, data), *more])]


def fleet_problems(root: Folder) -> list[Problem]:
    """The problems of the file."""
    return read_fleet(root)[1]
