"""``foresite request``: the text of the pull request that a workflow runs for, as a file.

``foresite preview --request`` reads acknowledged counts from it. It comes from the event's file, so
that no text of others gets into a shell. Of a pull request it is the description;
in a merge queue, the message of the commit that would be merged.
"""

import argparse
from typing import Any

from foresite.command import OK, UsageError
from foresite.github import read_event


def run(options: argparse.Namespace) -> int:
    """Write the text; an empty file if the pull request has none."""
    text = text_of(read_event(options.event))
    options.out.write_text(text.replace("\r\n", "\n"), encoding="utf-8", errors="replace")
    return OK


def text_of(event: dict[str, Any]) -> str:
    """The text of a pull request. Raises UsageError if the event is about none."""
    try:
        if "merge_group" in event:
            found = event["merge_group"]["head_commit"]["message"]
        else:
            found = event["pull_request"]["body"]
    except (KeyError, TypeError):
        raise UsageError("the event is about no pull request and no merge queue") from None
    if not isinstance(found, str | None):
        raise UsageError("the event has a text that is none")
    return found or ""
