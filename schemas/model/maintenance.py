"""When merged changes may be applied to a site: windows that come every week, and freezes."""

from typing import Annotated

from pydantic import Field

from schemas.model.policies import Sentence
from schemas.model.primitives import Model, text_form
from schemas.model.scheduling import Clock, Day, ZoneOfTime

WEEK = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")


class Window(Model):
    """Hours in which changes may be applied."""

    days: Annotated[
        list[Annotated[str, text_form(f"({'|'.join(WEEK)})", *WEEK)]],
        Field(min_length=1, max_length=7),
    ] = [*WEEK]
    """Days that it starts on."""
    start: Clock = "00:00"
    """Time at which it starts."""
    end: Clock = "00:00"
    """Time at which it ends; on the next day unless that is later than the start."""


class Freeze(Model):
    """Days on which no change is applied."""

    first_day: Day
    """First day of the freeze."""
    last_day: Day
    """Last day of the freeze, which is frozen too."""
    reason: Sentence
    """Why; ``foresite apply`` shows it."""


class Maintenance(Model):
    """When ``foresite apply`` and ``up`` may change the site; rollouts go on when a window ends."""

    time_zone: ZoneOfTime
    """Time zone of the hours and days, as in the tz database."""
    windows: Annotated[list[Window], Field(max_length=20)] = []
    """Hours in which changes may be applied; default: all hours."""
    freezes: Annotated[list[Freeze], Field(max_length=50)] = []
    """Days on which none is applied, also within a window."""
