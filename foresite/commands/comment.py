"""``foresite comment``: one comment on a pull request, created once and then updated. The file is
what another job left, and that job ran for anybody's pull request: it is data, with a bounded size
and a mark in its first line. The mark alone does not make a comment ours, as anybody can write it;
its author has to be ours too."""

import argparse
import re
from pathlib import Path

from foresite.command import OK, UsageError, show
from foresite.forge_api import Item, Repository, connect, read_event
from schemas.kubernetes.tables import read_table
from schemas.reading.bounded import UnfitFileError, read_regular

MAX_BYTES = 60_000
"""GitHub takes 65,536 characters."""
_MARK = re.compile(r"<!-- foresite-[a-z-]{1,40} -->")
_MAKES_REPORTS = ".github/"
"""A pull request's own workflow runs for it, so whoever changes it writes the report."""


def run(options: argparse.Namespace) -> int:
    """Post the file, on the pull request that is named or that a workflow ran for."""
    number: int | None = options.pull
    if number is not None and number < 1:
        raise UsageError(f"--pull {number}: write the number of the pull request, from 1 on")
    body = read_body(options.file)
    forge = connect(options)
    if options.event is not None:
        if options.forge != "github":
            raise UsageError(f"{forge.title} has no such event; name the request with --pull")
        event = read_event(options.event)
        number, changed = forge.patiently(lambda: _pull(forge, event)) or (None, False)
        if changed:
            said = read_table(__file__)["not_shown"].format(folder=_MAKES_REPORTS, number=number)
            body = f"{_mark(body)}\n{said}"
    if number is None:
        show("no open pull request has this head any more: no comment is written")
        return OK
    author = options.author or forge.forge["author"] or forge.patiently(forge.me)
    page, login = forge.patiently(lambda: _put(forge, number, body, author))
    show(page)
    if login != author:
        show(f"the author is {login}: the next run finds the comment with --author {login}")
    return OK


def read_body(path: Path) -> str:
    """A comment's text. Raises UsageError where the file is no such thing, OSError where it cannot
    be read; a link is refused, as it could lead to a file with a secret in it."""
    try:
        text = read_regular(path, MAX_BYTES, links=False).decode("utf-8")
    except UnfitFileError as error:
        raise UsageError(f"{path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise UsageError(f"{path} is not UTF-8 text") from None
    if not _MARK.fullmatch(_mark(text)):
        raise UsageError(f"{path} does not start with a mark such as <!-- foresite-preview -->")
    return text


def _mark(text: str) -> str:
    return text.partition("\n")[0].rstrip("\r")


def _put(forge: Repository, pull: int, body: str, author: str) -> tuple[str, str]:
    """Make the comment, or change ours; each try looks anew, so there is never a second one.
    Returns its page, and who wrote it."""
    table = forge.forge
    listed = table["comments"].format(pull=pull)
    if table["commands"]:
        body = re.sub(r"(?m)^/", r"\/", body.replace("\r", ""))
    for comment in forge.all(listed, **table["order"]):
        theirs = forge.text(comment, "body")
        if forge.text(comment, table["login"]) == author and _mark(theirs) == _mark(body):
            place = table["comment"].format(pull=pull, id=forge.number(comment, "id"))
            same = theirs.rstrip() == body.rstrip()
            made = comment if same else forge.one(table["change"], place, {"body": body})
            break
    else:
        made = forge.one("POST", listed, {"body": body})
    web = forge.api.rpartition("/api/")[0]
    page = table["page"].format(web=web, name=forge.name, pull=pull, id=forge.number(made, "id"))
    return page or forge.text(made, "html_url"), forge.text(made, table["login"])


def _pull(forge: Repository, event: Item) -> tuple[int, bool] | None:
    """The open pull request that a workflow's run was for, and whether it may have changed that
    run; None where it has another head by now. From the event, never from what the run left; it
    names no pull request of a fork, so branch and commit lead to it."""
    try:
        ran = event["workflow_run"]
        sha, branch, fork = ran["head_sha"], ran["head_branch"], ran["head_repository"]["full_name"]
    except (KeyError, TypeError):
        raise UsageError("the event is not a workflow_run event") from None
    if not all(isinstance(each, str) for each in (sha, branch, fork)):
        raise UsageError("the event is not a workflow_run event: its head is no text")
    head = f"{fork.partition('/')[0]}:{branch}"
    fits = [
        forge.number(each, "number")
        for each in forge.all("/pulls", state="open", head=head)
        if (forge.text(each, "head.sha"), forge.text(each, "head.repo.full_name")) == (sha, fork)
    ]
    if len(fits) > 1:
        raise UsageError(f"{len(fits)} pull requests have the head {sha}: close all but one")
    return _current_pull(forge, fits[0], sha) if fits else None


def _current_pull(forge: Repository, number: int, sha: str) -> tuple[int, bool] | None:
    files = list(forge.all(f"/pulls/{number}/files"))
    # Asked after the files, so that they are those of this head.
    pull = forge.one("GET", f"/pulls/{number}")
    if forge.text(pull, "head.sha") != sha:
        return None
    names = [forge.text(each, key) for each in files for key in ("filename", "previous_filename")]
    # GitHub lists 3,000 files at most: what it leaves out may be a workflow.
    unseen = len(files) < forge.number(pull, "changed_files")
    return number, unseen or any(name.startswith(_MAKES_REPORTS) for name in names)
