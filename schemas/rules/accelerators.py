"""Rules on accelerators: every card has a record, every resource one name and one meaning."""

from collections.abc import Iterator, Mapping

from schemas.accelerators import AcceleratorModel
from schemas.codes import Code
from schemas.rules.finding import Finding
from schemas.sitefile import SiteFile


def own_models(file: SiteFile, catalogue: Mapping[str, AcceleratorModel]) -> Iterator[Finding]:
    """A site's own accelerator models are named apart from the catalogue's."""
    for name in file.accelerators.models if file.accelerators else ():
        if name in catalogue:
            yield Finding(
                Code.DUPLICATE_NAME,
                ("accelerators", "models", name),
                f"the catalogue already has an accelerator model {name}",
                "give this one another name, so that every site means the same by it",
                key=True,
            )
