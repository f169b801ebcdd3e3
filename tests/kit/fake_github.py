"""A fake of GitHub's REST API, as much of it as a comment needs; not GitHub."""

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, urlsplit

BOT = "github-actions[bot]"
TOKEN = "ghs_canary"
REPOSITORY = "owner/sites"
Item = dict[str, Any]
Answer = tuple[int, Any, dict[str, str]]


class FakeGitHub:
    """Pull request 7 of a repository: its comments, its files, and what to answer instead.

    ``failures`` are answered first, one a request, as a status and headers; ``after`` is called
    with each request that was answered truly, before its answer is sent.
    """

    def __init__(self) -> None:
        self.url = ""
        self.comments: list[Item] = []
        self.pulls: list[Item] = []
        self.files: list[Item] = []
        self.failures: list[tuple[int, dict[str, str]]] = []
        self.after: Callable[[str, str], int | None] = lambda _method, _path: None
        self.requests: list[str] = []
        self.tokens: set[str] = set()

    def say(self, login: str, body: str) -> Item:
        """A comment that is there."""
        number = len(self.comments) + 1
        url = f"https://github.example/{number}"
        comment = {"id": number, "user": {"login": login}, "body": body, "html_url": url}
        self.comments.append(comment)
        return comment

    def bodies(self, login: str = BOT) -> list[str]:
        """The texts of somebody's comments."""
        return [each["body"] for each in self.comments if each["user"]["login"] == login]

    def answer(self, method: str, target: str, body: Item) -> Answer:
        """The answer to one request."""
        parts = urlsplit(target)
        path = parts.path.removeprefix(f"/repos/{REPOSITORY}")
        self.requests.append(f"{method} {path}")
        if self.failures:
            status, headers = self.failures.pop(0)
            return status, {"message": "the fake fails"}, headers
        query = {key: values[0] for key, values in parse_qs(parts.query).items()}
        answer = self._true(method, path, query, body)
        instead = self.after(method, path)
        return (instead, {"message": "the fake fails late"}, {}) if instead else answer

    def _true(self, method: str, path: str, query: dict[str, str], body: Item) -> Answer:
        lists = {"/issues/7/comments": self.comments, "/pulls/7/files": self.files}
        if method == "GET" and path in lists:
            return self._page(lists[path], query)
        if method == "GET" and path == "/pulls":
            head = query["head"]
            fits = [p for p in self.pulls if f"{p['owner']}:{p['branch']}" == head]
            return self._page(fits, query)
        if method == "GET" and path == "/pulls/7":
            return 200, self.pulls[0], {}
        if method == "POST" and path == "/issues/7/comments":
            return 201, self.say(BOT, body["body"]), {}
        match = re.fullmatch(r"/issues/comments/(\d+)", path)
        if method == "PATCH" and match:
            comment = self.comments[int(match[1]) - 1]
            comment["body"] = body["body"]
            return 200, comment, {}
        return 404, {"message": "Not Found"}, {}

    def _page(self, items: list[Item], query: dict[str, str]) -> Answer:
        size, number = int(query.get("per_page", 30)), int(query.get("page", 1))
        start = (number - 1) * size
        more = start + size < len(items)
        link = {"Link": f'<{self.url}/elsewhere>; rel="next"'} if more else {}
        return 200, items[start : start + size], link


@contextmanager
def serving(fake: FakeGitHub) -> Iterator[FakeGitHub]:
    """The fake on a port of this machine."""

    class Handler(BaseHTTPRequestHandler):
        def handle_one(self) -> None:
            size = int(self.headers.get("Content-Length") or 0)
            body = json.loads(self.rfile.read(size) or b"{}")
            fake.tokens.add(self.headers.get("Authorization", ""))
            status, answer, headers = fake.answer(self.command, self.path, body)
            if status == 0:
                self.close_connection = True
                return  # hangs up without a word
            data = json.dumps(answer).encode()
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_POST = do_PATCH = handle_one  # noqa: N815 - what http.server looks for

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    fake.url = f"http://127.0.0.1:{server.server_port}"
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield fake
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
