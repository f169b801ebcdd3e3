"""A region's file that a change differs in, as reports and gates see it."""

from typing import NamedTuple


class RegionChange(NamedTuple):
    """A region's file that differs: how many sites change by it, of how many that name it."""

    file: str
    touched: int
    sites: int

    def __str__(self) -> str:
        """What it does, for a person: also how many sites stay as they are."""
        same = self.sites - self.touched
        sites = f"{self.touched:,} of its {self.sites:,} site{'' if self.sites == 1 else 's'}"
        rest = f" ({same:,} render{'s' if same == 1 else ''} to the same objects)" if same else ""
        return f"{self.file} changes {sites}{rest}"
