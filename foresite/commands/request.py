"""``foresite request``: the text of the pull request that a workflow runs for, as a file.

``foresite preview --request`` reads acknowledged counts from it. It comes from the event's file, so
that no text of others gets into a shell. Of a pull request it is the description;
in a merge queue, the message of the commit that would be merged.

On a forge that starts no trusted job for a pull request (GitLab, Forgejo), ``--open`` writes the
texts of all that are open, for a job on the protected branch that looks at each.
"""

import argparse
from pathlib import Path

from foresite.command import OK, UsageError
from foresite.forge_api import Item, connect, read_event
from foresite.scratch import folder_at


def run(options: argparse.Namespace) -> int:
    """Write the text, or those of all that are open; an empty file if a pull request has none."""
    if options.open is None:
        _write(options.out, text_of(read_event(options.event)))
        return OK
    if options.repository is None:
        raise UsageError("--open needs --repository")
    folder_at(options.out, "with --open, name a folder for a text of each pull request")
    forge = connect(options)
    pulls = forge.forge["pulls"]
    found = forge.patiently(lambda: list(forge.all(pulls["path"], state=pulls["state"])))
    options.out.mkdir(parents=True, exist_ok=True)
    for each in found:
        if forge.text(each, pulls["base"]) == options.open:
            number = forge.number(each, pulls["number"])
            _write(options.out / f"{number}.txt", forge.text(each, pulls["text"]))
    return OK


def _write(path: Path, text: str) -> None:
    path.write_text(text.replace("\r\n", "\n"), encoding="utf-8", errors="replace")


def text_of(event: Item) -> str:
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
