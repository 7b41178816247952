"""The address for health and metrics, with HTTP/1.1 as it is written."""

import socket
from typing import NamedTuple

PORT = 9100
LOOPBACK = "127.0.0.1"


def request(path, method="GET", *fields):
    """A request's bytes."""
    lines = [f"{method} {path} HTTP/1.1", "Host: agent", *fields]
    return "\r\n".join([*lines, "", ""]).encode()


class Answer(NamedTuple):
    """What came of a request."""

    status: int
    fields: dict
    text: str


class Connection:
    """A client's end, from the agent's own host unless another one is given."""

    def __init__(self, host, address=LOOPBACK, port=PORT):
        self.socket = host.connect(address, port)
        self._unread = b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, data):
        """Says something."""
        self.socket.sendall(data)

    def _read_to(self, end):
        while end not in self._unread:
            part = self.socket.recv(65536)
            if not part:
                raise EOFError(f"the agent has closed after {self._unread!r}")
            self._unread += part
        found, _, self._unread = self._unread.partition(end)
        return found.decode()

    def answer(self, body=True):
        """The next answer. `body`: whether one follows."""
        first, *lines = self._read_to(b"\r\n\r\n").split("\r\n")
        version, status, _ = first.split(" ", 2)
        if version != "HTTP/1.1":
            raise AssertionError(first)
        fields = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
        size = int(fields["content-length"]) if body else 0
        while len(self._unread) < size:
            part = self.socket.recv(65536)
            if not part:
                raise EOFError("the agent has closed in the middle of an answer")
            self._unread += part
        text, self._unread = self._unread[:size], self._unread[size:]
        return Answer(int(status), fields, text.decode())

    def ended(self):
        """Whether the agent closes the connection, with nothing more said."""
        try:
            return self._unread == b"" and self.socket.recv(1) == b""
        except ConnectionResetError:
            return True

    def reset(self):
        """Closes it as some probes do: by a reset."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        self.socket.close()


def ask(host, path, method="GET", **where):
    """One request on a connection of its own."""
    with Connection(host, **where) as connection:
        connection.send(request(path, method))
        return connection.answer(body=method != "HEAD")
