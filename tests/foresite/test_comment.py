"""The comment on a pull request, against a fake of GitHub: one, ours, and never a token said."""

import argparse
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from foresite.command import OK, UsageError
from foresite.commands import comment, request
from foresite.commands.comment import MAX_BYTES
from tests.kit.fake_github import BOT, REPOSITORY, TOKEN, FakeGitHub, serving

MARK = "<!-- foresite-preview -->"
OTHER = "<!-- foresite-second-opinion -->"
BODY = f"{MARK}\n\n1 host is re-imaged\n"
SHA = "a" * 40


@pytest.fixture
def github(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeGitHub]:
    monkeypatch.setenv("GITHUB_TOKEN", TOKEN)
    with serving(FakeGitHub()) as fake:
        yield fake


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The seconds that were waited, in no time."""
    found: list[float] = []
    monkeypatch.setattr("foresite.github.time.sleep", found.append)
    return found


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "comment.md"
    path.write_text(BODY)
    return path


def options(github: FakeGitHub, file: Path, **more: Any) -> argparse.Namespace:
    usual = {"pull": 7, "event": None, "repository": REPOSITORY, "file": file, "api": github.url}
    return argparse.Namespace(**{**usual, "author": BOT, **more})


def post(github: FakeGitHub, file: Path, **more: Any) -> int:
    return comment.run(options(github, file, **more))


def refused(github: FakeGitHub, file: Path, **more: Any) -> str:
    """The words of a refusal, which hold no token."""
    with pytest.raises(UsageError) as raised:
        post(github, file, **more)
    assert TOKEN not in str(raised.value)
    return str(raised.value)


# --- one comment, and ours ------------------------------------------------------------------------


def test_a_comment_is_made_once_and_then_kept_up_to_date(
    github: FakeGitHub, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    github.say("alice", "looks good")
    assert post(github, file) == OK
    assert github.bodies() == [BODY]
    file.write_text(f"{MARK}\nnothing happens\n")
    assert post(github, file) == OK
    assert github.bodies() == [f"{MARK}\nnothing happens\n"]
    assert github.bodies("alice") == ["looks good"]
    assert github.tokens == {f"Bearer {TOKEN}"}
    said = capsys.readouterr()
    assert "https://github.example/2" in said.out
    assert TOKEN not in said.out + said.err


def test_ours_is_found_on_the_second_page(github: FakeGitHub, file: Path) -> None:
    for number in range(110):
        github.say("alice", f"comment {number}")
    github.say(BOT, f"{MARK}\nold")
    post(github, file)
    assert github.bodies() == [BODY]
    assert github.requests.count("GET /issues/7/comments") == 2


@pytest.mark.parametrize(
    ("login", "body"),
    [
        ("mallory", f"{MARK}\nall is well"),
        ("github-actions", f"{MARK}\nall is well"),
        (BOT, f"mallory wrote:\n{MARK}"),
        (BOT, f"{OTHER}\nPulumi agrees"),
    ],
)
def test_what_is_not_ours_is_left_alone(
    github: FakeGitHub, file: Path, login: str, body: str
) -> None:
    github.say(login, body)
    post(github, file)
    assert [each["body"] for each in github.comments] == [body, BODY]


def test_another_author_is_named_so_that_the_next_run_finds_its_comment(
    github: FakeGitHub, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    post(github, file, author="someone")
    assert f"--author {BOT}" in capsys.readouterr().out


# --- what fails in passing, and what does not -----------------------------------------------------


@pytest.mark.parametrize(
    ("failures", "waited"),
    [
        ([(502, {})], [1.0]),
        ([(429, {"Retry-After": "7"})], [7.0]),
        ([(403, {"Retry-After": "3"})], [3.0]),
        ([(503, {"Retry-After": "86400"})], [60.0]),
        ([(0, {}), (500, {})], [1.0, 2.0]),
    ],
)
def test_what_fails_in_passing_is_tried_again(
    github: FakeGitHub,
    file: Path,
    waits: list[float],
    failures: list[tuple[int, dict[str, str]]],
    waited: list[float],
) -> None:
    github.failures = failures
    assert post(github, file) == OK
    assert github.bodies() == [BODY]
    assert waits == waited


def test_a_comment_that_was_made_though_the_answer_was_lost_is_not_made_twice(
    github: FakeGitHub, file: Path, waits: list[float]
) -> None:
    lost = iter([502])
    github.after = lambda method, _: next(lost, None) if method == "POST" else None
    assert post(github, file) == OK
    assert github.bodies() == [BODY]


def test_it_gives_up_in_the_end(github: FakeGitHub, file: Path, waits: list[float]) -> None:
    github.failures = [(500, {})] * 50
    assert "500" in refused(github, file)
    assert len(github.requests) == len(waits) + 1 == 5


@pytest.mark.parametrize(
    ("status", "hint"),
    [(401, "GITHUB_TOKEN"), (403, "pull-requests: write"), (404, "--repository"), (422, "422")],
)
def test_a_refusal_says_what_to_do_and_is_not_repeated(
    github: FakeGitHub, file: Path, waits: list[float], status: int, hint: str
) -> None:
    github.failures = [(status, {})]
    said = refused(github, file)
    assert hint in said
    assert "the fake fails" in said
    assert len(github.requests) == 1


def test_a_redirect_does_not_take_the_token_along(github: FakeGitHub, file: Path) -> None:
    github.failures = [(302, {"Location": f"{github.url}/elsewhere"})]
    assert "302" in refused(github, file)
    assert github.requests == ["GET /issues/7/comments"]


# --- what is refused before GitHub hears of it ----------------------------------------------------


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (f"{MARK}\n{'x' * MAX_BYTES}".encode(), "60000"),
        (b"all is well", "mark"),
        (f"\n{MARK}".encode(), "mark"),
        (f"<!-- foresite-preview --> {MARK}".encode(), "mark"),
        (b"", "mark"),
        (f"{MARK}\n".encode() + b"\xff", "UTF-8"),
    ],
)
def test_a_file_that_is_no_comment_is_refused(
    github: FakeGitHub, file: Path, content: bytes, why: str
) -> None:
    file.write_bytes(content)
    assert why in refused(github, file)
    assert github.requests == []


def test_the_longest_comment_is_taken(github: FakeGitHub, file: Path) -> None:
    file.write_text(f"{MARK}\n".ljust(MAX_BYTES, "x"))
    assert post(github, file) == OK


def test_a_link_is_not_followed(github: FakeGitHub, file: Path, tmp_path: Path) -> None:
    link, pipe = tmp_path / "link.md", tmp_path / "pipe.md"
    link.symlink_to(file)
    os.mkfifo(pipe)
    for path in (link, tmp_path / "nothing.md", tmp_path):
        with pytest.raises(OSError, match=path.name):
            post(github, path)
    assert "regular" in refused(github, pipe)
    assert github.requests == []


@pytest.mark.parametrize("token", ["", "  ", "two\nlines", "\u00e9"])
def test_a_token_that_is_none_is_refused_and_not_shown(
    github: FakeGitHub, file: Path, monkeypatch: pytest.MonkeyPatch, token: str
) -> None:
    monkeypatch.setenv("GITHUB_TOKEN", token)
    said = refused(github, file)
    assert "GITHUB_TOKEN" in said
    assert not token.strip() or token not in said
    assert github.requests == []


@pytest.mark.parametrize(
    "wrong",
    [
        {"api": "http://api.github.com"},
        {"api": "http://127.0.0.1.example"},
        {"api": "file:///etc"},
        {"api": ""},
        {"repository": "sites"},
        {"repository": "owner/../x"},
        {"repository": "owner/sites?x=y"},
        {"repository": "owner/.."},
    ],
)
def test_an_address_that_is_none_is_refused(
    github: FakeGitHub, file: Path, wrong: dict[str, str]
) -> None:
    assert f"--{next(iter(wrong))}" in refused(github, file, **wrong)
    assert github.requests == []


# --- whose request a workflow ran for -------------------------------------------------------------


@pytest.fixture
def event(github: FakeGitHub, tmp_path: Path) -> Path:
    """The event of a run for a fork's pull request, which names no pull request."""
    github.pulls = [pull(7)]
    github.files = [{"filename": "sites/lab-1.yaml"}]
    ran = {
        "head_sha": SHA,
        "head_branch": "more-hosts",
        "head_repository": {"full_name": "mallory/sites"},
        "pull_requests": [],
    }
    path = tmp_path / "event.json"
    path.write_text(json.dumps({"workflow_run": ran}))
    return path


def pull(number: int, **more: Any) -> dict[str, Any]:
    head = {"sha": SHA, "repo": {"full_name": "mallory/sites"}}
    found = {"number": number, "owner": "mallory", "branch": "more-hosts", "head": head}
    return {**found, "changed_files": 1, **more}


def test_a_forks_request_is_found_by_its_head(github: FakeGitHub, file: Path, event: Path) -> None:
    assert post(github, file, pull=None, event=event) == OK
    assert github.bodies() == [BODY]


@pytest.mark.parametrize(
    "head",
    [
        {"sha": "b" * 40, "repo": {"full_name": "mallory/sites"}},
        {"sha": SHA, "repo": {"full_name": "mallory/other"}},
        {"sha": SHA, "repo": None},
    ],
)
def test_a_request_with_another_head_is_told_nothing(
    github: FakeGitHub, file: Path, event: Path, head: dict[str, Any]
) -> None:
    github.pulls[0]["head"] = head
    assert post(github, file, pull=None, event=event) == OK
    assert github.comments == []


def test_a_head_that_moves_meanwhile_is_told_nothing(
    github: FakeGitHub, file: Path, event: Path
) -> None:
    def push(_method: str, path: str) -> None:
        if path == "/pulls/7/files":
            github.pulls[0]["head"] = {"sha": "b" * 40, "repo": None}

    github.after = push
    assert post(github, file, pull=None, event=event) == OK
    assert github.comments == []


def test_two_requests_with_one_head_are_not_told_apart_by_guessing(
    github: FakeGitHub, file: Path, event: Path
) -> None:
    github.pulls.append(pull(8))
    assert "2 pull requests" in refused(github, file, pull=None, event=event)
    assert github.comments == []


@pytest.mark.parametrize(
    "files",
    [
        [{"filename": ".github/workflows/preview.yml"}],
        [{"filename": "sites/x.yaml"}] * 150 + [{"filename": ".github/workflows/new.yml"}],
        [{"filename": "old.yml", "previous_filename": ".github/workflows/preview.yml"}],
        [],
    ],
)
def test_a_request_that_may_have_written_its_own_report_shows_none(
    github: FakeGitHub, file: Path, event: Path, files: list[dict[str, Any]]
) -> None:
    """The last case: GitHub does not list the file that differs."""
    github.files = files
    github.pulls[0]["changed_files"] = max(1, len(files))
    post(github, file, pull=None, event=event)
    (body,) = github.bodies()
    assert body.startswith(f"{MARK}\n")
    assert "re-imaged" not in body
    assert "pull/7/merge" in body


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"workflow_run": {"head_sha": null}}'])
def test_an_event_of_something_else_is_refused(
    github: FakeGitHub, file: Path, event: Path, content: str
) -> None:
    event.write_text(content)
    assert "event" in refused(github, file, pull=None, event=event)
    assert github.comments == []


# --- the text of a request ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ({"pull_request": {"body": "a\r\nForesite-Allow: remove=3\r\n"}},
         "a\nForesite-Allow: remove=3\n"),
        ({"pull_request": {"body": None}}, ""),
        ({"pull_request": {"body": "$(id)`id`\ud800"}}, "$(id)`id`?"),
        ({"merge_group": {"head_commit": {"message": "Foresite-Allow: remove=1"}}},
         "Foresite-Allow: remove=1"),
    ],
)  # fmt: skip
def test_the_text_of_a_request_is_what_its_author_wrote(
    tmp_path: Path, content: dict[str, Any], text: str
) -> None:
    event, out = tmp_path / "event.json", tmp_path / "request.txt"
    event.write_text(json.dumps(content))
    assert request.run(argparse.Namespace(event=event, out=out)) == OK
    assert out.read_text() == text


@pytest.mark.parametrize("content", [{}, {"push": 1}, {"merge_group": {}}])
def test_an_event_without_a_request_is_refused(tmp_path: Path, content: dict[str, Any]) -> None:
    event, out = tmp_path / "event.json", tmp_path / "request.txt"
    event.write_text(json.dumps(content))
    with pytest.raises(UsageError, match="no pull request"):
        request.run(argparse.Namespace(event=event, out=out))
    assert not out.exists()
