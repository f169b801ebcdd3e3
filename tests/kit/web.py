"""A small HTTP server on loopback, for the fakes of what a program asks."""

import json
import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

NONE: Mapping[str, str] = {}


class Handler(BaseHTTPRequestHandler):
    """Answers in one call, and prints nothing."""

    def answer(self, status: int, body: Any = b"", headers: Mapping[str, str] = NONE) -> None:
        """Send bytes, or JSON; no other header than these."""
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body if isinstance(body, bytes) else json.dumps(body).encode())

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def listening(
    handler: type[BaseHTTPRequestHandler], port: int = 0, tls: tuple[Path, Path] | None = None
) -> Iterator[str]:
    """The server's address, until the block is left; a free port if none is named. It speaks TLS
    with a certificate and its key."""
    with ThreadingHTTPServer(("127.0.0.1", port), handler) as server:
        if tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*tls)
            # The handshake is the connection's own thread's, not that of the one that accepts.
            server.socket = context.wrap_socket(
                server.socket, server_side=True, do_handshake_on_connect=False
            )
        thread = Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"{'https' if tls else 'http'}://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()
