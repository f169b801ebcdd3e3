"""A region's file that a change differs in, or files that it names, as reports and gates see it."""

from typing import NamedTuple

from schemas.model.management import FOLDER


class RegionChange(NamedTuple):
    """How many sites change by a region's ``file``, of how many that name it; ``same`` are those of
    them that do not change at all. ``named`` are the files that differ in place of it: manifests,
    charts and certificates that it names."""

    file: str
    touched: int
    sites: int
    same: int = 0
    named: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.what} {self.does}"

    @property
    def what(self) -> str:
        """The files, for a person."""
        more = len(self.named) - 1
        others = f" and {more} more file{'' if more == 1 else 's'}" if more > 0 else ""
        named = [f"{each}{others}, which {self.file} names," for each in self.named[:1]]
        return "".join(named) or self.file

    @property
    def unnamed(self) -> bool:
        """True for a management cluster that no site names: nobody here knows what else it runs."""
        return not self.sites and self.file.startswith(f"{FOLDER}/")

    @property
    def does(self) -> str:
        """What they do: also how many sites stay as they are."""
        if self.unnamed:
            return "is named by no site: what the change does to machines is not known"
        sites = f"{self.touched:,} of its {self.sites:,} site{'' if self.sites == 1 else 's'}"
        rest = f" ({self.same:,} render{'s' if self.same == 1 else ''} to the same objects)"
        return f"change{'' if self.named[1:] else 's'} {sites}{rest if self.same else ''}"
