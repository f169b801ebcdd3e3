"""Clients that write without end, and know what may be there after a crash."""

import hashlib
import http.client
import random
import threading
from dataclasses import dataclass, field

from cache_server_kit.process import OBJECTS, CacheServer

_SIZES = (0, 1, 5_000, 300_000, 1_500_000, 4_000_000)


def content(name: str, number: int, size: int) -> bytes:
    """The bytes that the upload ``number`` of an object sends: no other sends any like them."""
    seed = hashlib.sha256(f"{name} {number} {size}".encode()).digest()
    return (seed * (size // len(seed) + 1))[:size]


@dataclass
class Writer:
    """Writes its own objects one after the other, until its server is gone.

    ``sent`` is the upload of an object that was begun last, ``kept`` the one that was acknowledged
    last; each as number and size.
    """

    bucket: str
    prefix: str
    random: random.Random
    sent: dict[str, tuple[int, int]] = field(default_factory=dict)
    kept: dict[str, tuple[int, int]] = field(default_factory=dict)
    number: int = 0

    def write(self, server: CacheServer, began: threading.Event) -> None:
        """Write until the connection breaks."""
        connection = server.connection()
        headers = {"Authorization": f"Bearer {server.token}"}
        try:
            while True:
                self.number += 1
                name = f"{self.prefix}/{self.random.randrange(8)}"
                size = self.random.choice(_SIZES)
                self.sent[name] = (self.number, size)
                body = content(name, self.number, size)
                connection.request("PUT", f"{OBJECTS}/{self.bucket}/{name}", body, headers)
                answer = connection.getresponse()
                answer.read()
                assert answer.status == 201, answer.status
                self.kept[name] = self.sent[name]
                began.set()
        except (OSError, http.client.HTTPException):
            began.set()
        finally:
            connection.close()

    def check(self, server: CacheServer) -> int:
        """Each object is one that was sent whole, and none that was acknowledged is gone.

        What is there counts as kept from now on; the bytes of all objects.
        """
        total = 0
        for name, sent in self.sent.items():
            answer = server.get(f"{OBJECTS}/{self.bucket}/{name}")
            kept = self.kept.get(name)
            if answer.status == 404:
                assert kept is None, f"{name} was acknowledged, and is gone"
                continue
            assert answer.status == 200, answer
            may = {content(name, *each): each for each in (kept, sent) if each is not None}
            assert answer.body in may, f"{name} has bytes that nobody sent last"
            self.kept[name] = may[answer.body]
            total += -(-max(len(answer.body), 1) // 4096) * 4096
        return total
