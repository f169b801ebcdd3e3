"""The comment on a pull request, against fakes of GitHub, GitLab and Forgejo: one, ours, and never
a token said, or sent elsewhere."""

import argparse
import contextlib
import json
import os
from collections.abc import Iterator
from email.message import Message
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from foresite.command import OK, UsageError
from foresite.commands import comment, request
from foresite.commands.comment import MAX_BYTES
from foresite.forge_api import FORGES
from tests.kit.fake_forge import BOT, REPOSITORY, TOKEN, FakeForge, serving

MARK = "<!-- foresite-preview -->"
OTHER = "<!-- foresite-second-opinion -->"
BODY = f"{MARK}\n\n1 host is re-imaged\n"
SHA = "a" * 40
RUN = {"head_sha": SHA, "head_branch": "more-hosts", "pull_requests": [],
       "head_repository": {"full_name": "mallory/sites"}}  # fmt: skip
"""A run for a fork's pull request, which names no pull request."""


BOTS = {"github": BOT, "forgejo": "forgejo-actions", "gitlab": "project_42_bot_6f"}


@pytest.fixture(params=BOTS)
def forge(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeForge]:
    """Each kind of server."""
    yield from running(FakeForge(request.param, BOTS[request.param]), monkeypatch)


@pytest.fixture
def github(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeForge]:
    yield from running(FakeForge(), monkeypatch)


only_gitlab = pytest.mark.parametrize("forge", ["gitlab"], indirect=True)


def running(fake: FakeForge, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeForge]:
    """A server, as a job that runs for it has its token and address."""
    with serving(fake):
        for token, url in (("GITHUB_TOKEN", "GITHUB_API_URL"), ("GITLAB_TOKEN", "CI_API_V4_URL")):
            monkeypatch.setenv(token, TOKEN)
            monkeypatch.setenv(url, fake.url)
        yield fake
        assert fake.strange == []


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The seconds that were waited, in no time."""
    found: list[float] = []
    monkeypatch.setattr("foresite.forge_api.time.sleep", found.append)
    return found


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "comment.md"
    path.write_text(BODY)
    return path


def options(github: FakeForge, file: Path, **more: Any) -> argparse.Namespace:
    usual = {"pull": 7, "event": None, "repository": REPOSITORY, "file": file, "api": github.url}
    return argparse.Namespace(**{**usual, "forge": github.kind, "author": None, **more})


def post(github: FakeForge, file: Path, **more: Any) -> int:
    return comment.run(options(github, file, **more))


def refused(github: FakeForge, file: Path, **more: Any) -> str:
    """The words of a refusal, which hold no token."""
    with pytest.raises(UsageError) as raised:
        post(github, file, **more)
    assert TOKEN not in str(raised.value)
    return str(raised.value)


# --- one comment, and ours ------------------------------------------------------------------------


def test_a_comment_is_made_once_and_then_kept_up_to_date(
    forge: FakeForge, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    forge.say("alice", "looks good")
    assert post(forge, file) == OK
    assert forge.bodies() == [BODY]
    file.write_text(f"{MARK}\nnothing happens\n")
    assert post(forge, file) == post(forge, file, api=None) == OK
    assert forge.bodies() == [f"{MARK}\nnothing happens\n"]
    assert forge.bodies("alice") == ["looks good"]
    scheme = {"github": "Bearer ", "forgejo": "token ", "gitlab": ""}[forge.kind]
    assert forge.tokens == {scheme + TOKEN}
    assert len([each for each in forge.requests if each.startswith(("PATCH", "PUT"))]) == 1
    said = capsys.readouterr()
    page = "/owner/sites/-/merge_requests/7#note_2" if forge.kind == "gitlab" else "example/2"
    assert page in said.out and "--author" not in said.out
    assert TOKEN not in said.out + said.err


def test_ours_is_found_on_the_second_page_which_the_same_server_gives(
    github: FakeForge, file: Path
) -> None:
    for number in range(110):
        github.say("alice", f"comment {number}")
    github.say(BOT, f"{MARK}\nold")
    post(github, file)
    assert github.bodies() == [BODY]
    assert github.requests[:2] == ["GET /issues/7/comments"] * 2
    assert github.requests[2:] == ["PATCH /issues/comments/111"]


def test_of_two_that_are_ours_the_first_is_kept_up_to_date(forge: FakeForge, file: Path) -> None:
    for _ in range(2):
        forge.say(forge.bot, f"{MARK}\nold")
    post(forge, file)
    assert forge.bodies() == [BODY, f"{MARK}\nold"]


@pytest.mark.parametrize(
    ("login", "body"),
    [
        ("mallory", f"{MARK}\nall is well"),
        ("github-actions", f"{MARK}\nall is well"),
        ("", f"mallory wrote:\n{MARK}"),
        ("", f"{OTHER}\nPulumi agrees"),
    ],
)
def test_what_is_not_ours_is_left_alone(
    forge: FakeForge, file: Path, login: str, body: str
) -> None:
    forge.say(login or forge.bot, body)
    post(forge, file)
    assert [each["body"] for each in forge.comments] == [body, BODY]


@only_gitlab
def test_a_text_obeys_no_line_of_others_in_the_name_of_the_token(
    forge: FakeForge, file: Path
) -> None:
    file.write_bytes(f"{MARK}\r\n/merge\r\n\r/approve\na /path\n".encode())
    post(forge, file)
    assert forge.bodies() == [f"{MARK}\n\\/merge\n\\/approve\na /path\n"]


def test_a_comment_of_nobody_is_not_ours(github: FakeForge, file: Path) -> None:
    github.comments.append({"id": 1, "user": None, "body": None, "html_url": "https://x.example"})
    post(github, file)
    assert github.bodies() == [BODY]


def test_another_author_is_named_so_that_the_next_run_finds_its_comment(
    github: FakeForge, file: Path, capsys: pytest.CaptureFixture[str]
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
        ([(429, {"Retry-After": "\u00b2"})], [1.0]),
        ([(429, {"Retry-After": "1e9"})], [1.0]),
        ([(429, {"Retry-After": "9" * 5000})], [1.0]),
        ([(429, {"Retry-After": "Wed, 21 Oct 2099 07:28:00 GMT"})], [1.0]),
        ([(200, {}, b"<html>sign in</html>")], [1.0]),
        ([(200, {}, b'[{"id": 1, "bo')], [1.0]),
    ],
)
def test_what_fails_in_passing_is_tried_again(
    github: FakeForge, file: Path, waits: list[float], failures: list[Any], waited: list[float]
) -> None:
    github.failures = failures
    assert post(github, file) == OK
    assert github.bodies() == [BODY]
    assert waits == waited


def test_a_comment_that_was_made_though_the_answer_was_lost_is_not_made_twice(
    github: FakeForge, file: Path, waits: list[float]
) -> None:
    lost = iter([502])
    github.after = lambda method, _: next(lost, None) if method == "POST" else None
    assert post(github, file) == OK
    assert github.bodies() == [BODY]


def test_a_comment_that_is_deleted_meanwhile_is_made_anew(
    forge: FakeForge, file: Path, waits: list[float]
) -> None:
    forge.say(forge.bot, f"{MARK}\nold")

    def delete(_method: str, path: str) -> None:
        if path != "/user":
            forge.comments.clear()
            forge.after = lambda _method, _path: None

    forge.after = delete
    assert post(forge, file) == OK
    assert forge.bodies() == [BODY] and waits == [1.0]


def test_it_gives_up_in_the_end(github: FakeForge, file: Path, waits: list[float]) -> None:
    github.failures = [(500, {})] * 50
    said = "GitHub answers 500 to GET /issues/7/comments: the fake fails; tried 5 times"
    assert refused(github, file) == said
    assert len(github.requests) == len(waits) + 1 == 5


@pytest.mark.parametrize(
    ("status", "hint"),
    [(401, "_TOKEN"), (403, "needs"), (404, "--repository"), (413, "what fronts"), (422, "422")],
)
def test_a_refusal_says_what_to_do_and_is_not_repeated(
    forge: FakeForge, file: Path, waits: list[float], status: int, hint: str
) -> None:
    forge.failures = [(status, {})]
    said = refused(forge, file)
    assert hint in said and "the fake fails" in said and len(forge.requests) == 1


@pytest.mark.parametrize(
    "answer",
    [{}, [1], [{"body": 5}], [{"body": MARK, "user": {"login": BOT}, "id": "7/../8"}],
     [{"body": MARK, "user": [], "author": []}] * 2],
)  # fmt: skip
def test_an_answer_of_something_else_is_refused(
    github: FakeForge, file: Path, waits: list[float], answer: Any
) -> None:
    github.failures = [(200, {}, answer), (201, {}, {}), *[(201, {}, [])] * 9]
    assert "is --api right?" in refused(github, file)
    assert waits == []


VALUES = st.one_of(st.none(), st.integers(), st.booleans(), st.just(MARK), st.just(BOT), st.text())
KEYS = ["id", "body", "user", "login", "author", "username", "html_url", "head", "sha", "repo",
        "full_name", "number", "iid", "filename", "changed_files", "message"]  # fmt: skip
ANSWERS = st.recursive(
    VALUES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner),
    max_leaves=12,
)


@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.sampled_from([*BOTS]), st.booleans(), st.lists(ANSWERS, min_size=8, max_size=8))
def test_whatever_a_server_answers_is_an_end_with_words(
    file: Path, monkeypatch: pytest.MonkeyPatch, kind: str, named: bool, answers: list[Any]
) -> None:
    for name in ("GITHUB_TOKEN", "GITLAB_TOKEN"):
        monkeypatch.setenv(name, TOKEN)
    given = iter([*answers, *[{}] * 200])
    monkeypatch.setattr("foresite.forge_api.exchange", lambda *_: (next(given), Message()))
    event = file.with_name("event.json")
    event.write_text(json.dumps({"workflow_run": RUN}))
    more = {"api": None} if named else {"api": None, "pull": None, "event": event}
    with contextlib.suppress(UsageError):
        post(FakeForge(kind), file, **more)


def test_a_page_to_sign_in_is_no_answer(forge: FakeForge, file: Path, waits: list[float]) -> None:
    forge.failures = [(200, {"Content-Type": "text/html"}, b"<html>sign in</html>")] * 5
    assert "the answer is no JSON; is --api right?; tried 5 times" in refused(forge, file)


def test_a_list_without_end_has_one(github: FakeForge, file: Path) -> None:
    github.failures = [(200, {"Link": '<https://evil.example>; rel="next"'}, [])] * 200
    assert "more than 100 pages" in refused(github, file)
    assert len(github.requests) == 100


def test_an_answer_without_end_has_one(
    github: FakeForge, file: Path, waits: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("foresite.forge_api.MAX_ANSWER", 1000)
    github.failures = [(200, {}, b"[" + b" " * 1000 + b"]")] * 5
    assert "more than 1000 bytes" in refused(github, file)


@pytest.mark.parametrize("home", ["", "https://ghes.example/api/v3"])
def test_a_token_goes_to_its_own_server_alone(
    forge: FakeForge, file: Path, monkeypatch: pytest.MonkeyPatch, home: str
) -> None:
    """The fake is another server than the one that CI names, or than the public one. Of a forge
    that most run themselves no server is guessed."""
    for name in ("GITHUB_API_URL", "CI_API_V4_URL"):
        monkeypatch.setenv(name, home)
    said = refused(forge, file)
    known = home or forge.kind == "github"
    assert ("goes nowhere else" if known else "_URL: write https://") in said and home in said
    assert forge.requests == []
    for bad in (
        "ftp://x",
        "https://a/?secret=canary",
        "https://a/#x",
        "https://a/\nb",
        "https://a/ä",
    ):
        monkeypatch.setenv(FORGES[forge.kind]["server"], bad)
        said = refused(forge, file)
        assert FORGES[forge.kind]["server"] in said and "canary" not in said


@only_gitlab
def test_only_github_has_events_of_other_runs(forge: FakeForge, file: Path) -> None:
    assert "name the request with --pull" in refused(forge, file, pull=None, event=file)
    assert forge.requests == []


@pytest.mark.parametrize("number", [0, -1])
def test_a_number_that_no_request_has_is_refused(forge: FakeForge, file: Path, number: int) -> None:
    assert f"--pull {number}: write the number" in refused(forge, file, pull=number)
    assert forge.requests == []


def test_a_redirect_does_not_take_the_token_along(forge: FakeForge, file: Path) -> None:
    forge.failures = [(302, {"Location": f"{forge.url}/elsewhere"})]
    assert "302" in (said := refused(forge, file)) and "none is followed" in said
    assert len(forge.requests) == 1


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
    github: FakeForge, file: Path, content: bytes, why: str
) -> None:
    file.write_bytes(content)
    assert why in refused(github, file)
    assert github.requests == []


def test_the_longest_comment_is_taken(github: FakeForge, file: Path) -> None:
    file.write_text(f"{MARK}\n".ljust(MAX_BYTES, "x"))
    assert post(github, file) == OK


def test_a_link_is_not_followed(github: FakeForge, file: Path, tmp_path: Path) -> None:
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
    github: FakeForge, file: Path, monkeypatch: pytest.MonkeyPatch, token: str
) -> None:
    monkeypatch.setenv("GITHUB_TOKEN", token)
    said = refused(github, file)
    assert "GITHUB_TOKEN" in said
    assert not token.strip() or token not in said
    assert github.requests == []


WRONG = {
    "api": ["http://api.github.com", "http://127.0.0.1.example", "file:///etc", ""],
    "repository": ["sites", "group/owner/sites", "owner/../x", "owner/sites?x=y", "owner/.."],
}


@pytest.mark.parametrize(("name", "value"), [(name, e) for name in WRONG for e in WRONG[name]])
def test_an_address_that_is_none_is_refused(
    github: FakeForge, file: Path, name: str, value: str
) -> None:
    assert f"--{name}" in refused(github, file, **{name: value})
    assert github.requests == []


# --- whose request a workflow ran for -------------------------------------------------------------


@pytest.fixture
def event(github: FakeForge, tmp_path: Path) -> Path:
    """The event of such a run."""
    github.pulls = [pull(7)]
    github.files = [{"filename": "sites/lab-1.yaml"}]
    path = tmp_path / "event.json"
    path.write_text(json.dumps({"workflow_run": RUN}))
    return path


def pull(number: int, **more: Any) -> dict[str, Any]:
    head = {"sha": SHA, "repo": RUN["head_repository"]}
    found = {"number": number, "owner": "mallory", "branch": "more-hosts", "head": head}
    return {**found, "base": {"ref": "main"}, "body": None, "changed_files": 1, **more}


def test_a_forks_request_is_found_by_its_head(github: FakeForge, file: Path, event: Path) -> None:
    assert post(github, file, pull=None, event=event) == OK
    assert github.bodies() == [BODY]


@pytest.mark.parametrize(
    "head",
    [{"sha": "b" * 40, "repo": RUN["head_repository"]}, {"sha": SHA, "repo": None},
     {"sha": SHA, "repo": {"full_name": "mallory/other"}}],
)  # fmt: skip
def test_a_request_with_another_head_is_told_nothing(
    github: FakeForge, file: Path, event: Path, head: dict[str, Any]
) -> None:
    github.pulls[0]["head"] = head
    assert post(github, file, pull=None, event=event) == OK
    assert github.comments == []


def test_a_head_that_moves_meanwhile_is_told_nothing(
    github: FakeForge, file: Path, event: Path
) -> None:
    def push(_method: str, path: str) -> None:
        if path == "/pulls/7/files":
            github.pulls[0]["head"] = {"sha": "b" * 40, "repo": None}

    github.after = push
    assert post(github, file, pull=None, event=event) == OK
    assert github.comments == []


def test_two_requests_with_one_head_are_not_told_apart_by_guessing(
    github: FakeForge, file: Path, event: Path
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
    github: FakeForge, file: Path, event: Path, files: list[dict[str, Any]]
) -> None:
    """The last case: GitHub does not list the file that differs."""
    github.files = files
    github.pulls[0]["changed_files"] = max(1, len(files))
    post(github, file, pull=None, event=event)
    (body,) = github.bodies()
    assert body.startswith(f"{MARK}\n") and "re-imaged" not in body and "pull/7/merge" in body


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"workflow_run": {"head_sha": null}}'])
def test_an_event_of_something_else_is_refused(
    github: FakeForge, file: Path, event: Path, content: str
) -> None:
    event.write_text(content)
    assert "event" in refused(github, file, pull=None, event=event)
    assert github.comments == []


# --- the text of a request ------------------------------------------------------------------------


def of_event(folder: Path, content: dict[str, Any]) -> argparse.Namespace:
    """The arguments that ask for the text of an event."""
    (folder / "event.json").write_text(json.dumps(content))
    return argparse.Namespace(event=folder / "event.json", open=None, out=folder / "request.txt")


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
    asked = of_event(tmp_path, content)
    assert request.run(asked) == OK
    assert asked.out.read_bytes().decode() == text


def test_the_texts_of_all_that_are_open_into_a_branch(forge: FakeForge, tmp_path: Path) -> None:
    names = ("iid", "description") if forge.kind == "gitlab" else ("number", "body")
    for number, branch, text in ((7, "main", "a\r\nb"), (8, "main", None), (9, "other", "c")):
        item = dict(zip(names, (number, text), strict=True)) | {"target_branch": branch}
        forge.pulls.append(pull(number) | item | {"base": {"ref": branch}})
    args = options(forge, tmp_path, open="main", out=tmp_path / "open")
    assert request.run(args) == OK
    found = {path.name: path.read_text() for path in (tmp_path / "open").iterdir()}
    assert found == {"7.txt": "a\nb", "8.txt": ""}
    with pytest.raises(UsageError, match="needs --repository"):
        request.run(options(forge, tmp_path, open="main", repository=None))
    with pytest.raises(UsageError, match="is no folder; with --open, name a folder"):
        request.run(options(forge, tmp_path, open="main", out=tmp_path / "open" / "7.txt"))


@pytest.mark.parametrize("content", [{}, {"push": 1}, {"merge_group": {}}])
def test_an_event_without_a_request_is_refused(tmp_path: Path, content: dict[str, Any]) -> None:
    asked = of_event(tmp_path, content)
    with pytest.raises(UsageError, match="no pull request"):
        request.run(asked)
    assert not asked.out.exists()
