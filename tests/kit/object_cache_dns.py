"""A stand-in for the cluster's DNS: it knows the addresses of one name (RFC 1035, over UDP)."""

import socket
import struct
import threading
from collections.abc import Sequence

_ANSWERED, _NO_SUCH_NAME, _A, _INTERNET = 0x8580, 0x8583, 1, 1


def serve(address: str, name: str, hosts: Sequence[str]) -> None:
    """Answer at port 53 of ``address`` until the process ends: ``hosts`` for ``name``."""
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.bind((address, 53))
    threading.Thread(target=_answer_all, args=(sock, name, hosts), daemon=True).start()


def _answer_all(sock: socket.socket, name: str, hosts: Sequence[str]) -> None:
    while True:
        data, client = sock.recvfrom(4096)
        sock.sendto(_answer(data, name, hosts), client)


def _answer(data: bytes, name: str, hosts: Sequence[str]) -> bytes:
    labels, end = [], 12
    while length := data[end]:
        labels.append(data[end + 1 : end + 1 + length].decode())
        end += 1 + length
    question = data[12 : end + 5]
    kind = struct.unpack(">H", data[end + 1 : end + 3])[0]
    known = ".".join(labels) + "." == name
    found = hosts if known and kind == _A else ()
    flags = _ANSWERED if known else _NO_SUCH_NAME
    head = data[:2] + struct.pack(">HHHHH", flags, 1, len(found), 0, 0)
    records = (
        # 0xC00C: the name that stands in the question.
        struct.pack(">HHHIH", 0xC00C, _A, _INTERNET, 30, 4) + socket.inet_aton(each)
        for each in found
    )
    return head + question + b"".join(records)
