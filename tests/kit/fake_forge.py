"""A fake of the REST APIs of GitHub, GitLab and Forgejo, as much as a comment needs; none of these.
It takes and gives only what forge_facts.toml says."""

import json
import re
import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.kit.web import Handler, listening

BOT = "github-actions[bot]"
TOKEN = "ghs_canary"
REPOSITORY = "owner/sites"
Item = dict[str, Any]
Answer = tuple[int, Any, dict[str, str]]
FACTS = tomllib.loads(Path(__file__).with_name("forge_facts.toml").read_text("utf-8"))
_TYPES = {"integer": int, "string": str, "boolean": bool}


class FakeForge:
    """Pull request 7 of a repository: its comments, its files, and what to answer instead.

    ``failures`` are answered first, one a request, as a status, headers and maybe a body; ``after``
    is called with each request that was answered truly, before its answer is sent. ``strange`` is
    what was asked or answered that no such forge knows.
    """

    def __init__(self, kind: str = "github", bot: str = BOT) -> None:
        self.url = ""
        self.kind, self.bot = kind, bot
        self.facts = FACTS[kind]
        self.comments: list[Item] = []
        self.pulls: list[Item] = []
        self.files: list[Item] = []
        self.failures: list[tuple[Any, ...]] = []
        self.after: Callable[[str, str], int | None] = lambda _method, _path: None
        self.requests: list[str] = []
        self.tokens: set[str] = set()
        self.strange: list[str] = []

    def say(self, login: str, body: str) -> Item:
        """A comment that is there."""
        number = max((each["id"] for each in self.comments), default=0) + 1
        comment: Item = {"id": number, "body": body}
        if self.kind == "gitlab":
            comment |= {"author": {"username": login}, "system": False}
        else:
            comment |= {"user": {"login": login}, "html_url": f"https://github.example/{number}"}
        self.comments.append(comment)
        return comment

    def bodies(self, login: str = "") -> list[str]:
        """The texts of somebody's comments; of the bot's by default."""
        who = login or self.bot
        return [
            each["body"]
            for each in self.comments
            if who in (each.get("user", each.get("author")) or {}).values()
        ]

    def answer(self, method: str, target: str, body: Item) -> Answer:
        """The answer to one request."""
        parts = urlsplit(target)
        path = parts.path.removeprefix(self.facts["own"])
        self.requests.append(f"{method} {path}")
        if self.failures:
            status, headers, *instead = self.failures.pop(0)
            return status, instead[0] if instead else {"message": "the fake fails"}, headers
        query = {key: values[0] for key, values in parse_qs(parts.query).items()}
        answer = self._true(method, path, query, body)
        self._compare(f"{method} {parts.path}", query, body, answer)
        late = self.after(method, path)
        return (late, {"message": "the fake fails late"}, {}) if late else answer

    def _true(self, method: str, path: str, query: dict[str, str], body: Item) -> Answer:
        issue = "merge_requests" if self.kind == "gitlab" else "issues"
        notes = f"/{issue}/7/{'notes' if self.kind == 'gitlab' else 'comments'}"
        lists = {notes: self.comments, "/pulls/7/files": self.files, "/merge_requests": self.pulls}
        if method == "GET":
            return self._look(path, lists, query)
        if method == "POST" and path == notes:
            return 201, self.say(self.bot, body["body"]), {}
        match = re.fullmatch(rf"(?:{notes}|/issues/comments)/(\d+)", path)
        for comment in self.comments:
            if method in ("PATCH", "PUT") and match and comment["id"] == int(match[1]):
                comment["body"] = body["body"]
                return 200, comment, {}
        return 404, {"message": "Not Found"}, {}

    def _look(self, path: str, lists: dict[str, list[Item]], query: dict[str, str]) -> Answer:
        if path in lists:
            return self._page(lists[path], query)
        if path == "/pulls":
            head = query.get("head")
            fits = [p for p in self.pulls if head in (None, f"{p['owner']}:{p['branch']}")]
            return self._page(fits, query)
        one = {"/pulls/7": self.pulls[:1], "/user": [{"username": self.bot}]}
        return (200, one[path][0], {}) if one.get(path) else (404, {"message": "Not Found"}, {})

    def _page(self, items: list[Item], query: dict[str, str]) -> Answer:
        size, number = int(query.get("per_page", 30)), int(query.get("page", 1))
        start = (number - 1) * size
        more = start + size < len(items)
        link = {"Link": f'<{self.url}/elsewhere>; rel="next"'} if more else {}
        return 200, items[start : start + size], link

    def _compare(self, what: str, query: dict[str, str], body: Item, answer: Answer) -> None:
        """Note what the forge that this stands for does not take or give."""
        for call, facts in self.facts["calls"].items():
            if re.fullmatch(call.replace("{}", "[^/]+"), what):
                known = {*facts.get("query", ()), *facts.get("unread", ()), *facts.get("body", ())}
                self.strange += [f"{what}: {each}" for each in {*query, *body} - known]
                if answer[0] >= 300:
                    return
                if answer[0] != facts.get("status", 200):
                    self.strange.append(f"{what}: {answer[0]}")
                gives = facts["gives"]
                items = answer[1] if isinstance(gives, list) else [answer[1]]
                shape = self.facts["gives"]["".join(gives)]
                self.strange += [
                    f"{what} gives no {p}" for item in items for p in unlike(item, shape)
                ]
                return
        if answer[0] < 300:
            self.strange.append(what)


def unlike(item: Item, shape: dict[str, str]) -> list[str]:
    """The paths of a shape that an answer has otherwise."""
    wrong = []
    for path, kind in shape.items():
        found: Any = item
        for step in path.split("."):
            found = found.get(step) if isinstance(found, dict) else None
        fits = isinstance(found, _TYPES[kind.rstrip("?")])
        if not fits and not (found is None and kind.endswith("?")):
            wrong.append(path)
    return wrong


@contextmanager
def serving(fake: FakeForge) -> Iterator[FakeForge]:
    """The fake on a port of this machine."""

    class Answers(Handler):
        def handle_one(self) -> None:
            size = int(self.headers.get("Content-Length") or 0)
            body = json.loads(self.rfile.read(size) or b"{}")
            fake.tokens.add(
                self.headers.get("Authorization", self.headers.get("PRIVATE-TOKEN", ""))
            )
            status, answer, headers = fake.answer(self.command, self.path, body)
            if status == 0:
                self.close_connection = True
                return  # hangs up without a word
            data = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
            self.answer(status, data, {**headers, "Content-Length": str(len(data))})

        do_GET = do_POST = do_PATCH = do_PUT = handle_one

    with listening(Answers) as fake.url:
        yield fake
