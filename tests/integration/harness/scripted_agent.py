"""An agent that the test itself plays, by hand: it says whatever the test wants, as fast as it is read."""

import hashlib
import json
import ssl
import struct
import threading
import uuid

from harness.http2 import (ACK, DATA, END_HEADERS, END_STREAM, HEADERS, INITIAL_WINDOW_SIZE, MAX_FRAME, PING, PREFACE,
                           RST_STREAM, SETTINGS, WINDOW_UPDATE, field, frame)

DEFAULT_WINDOW = 65535


class Request:
    """A request that has come; its answer is written here. Everything fails with OSError once it is over."""

    def __init__(self, session, stream):
        self._session, self._stream = session, stream

    def head(self, status=200, *fields, end=False):
        """Sends the answer's head."""
        block = field(":status", str(status)) + b"".join(field(*each) for each in fields)
        self._session.send(frame(HEADERS, END_HEADERS | (END_STREAM if end else 0), self._stream, block))

    def body(self, data, end=False):
        """Sends a part of the body, when the other side gives credit for it."""
        view = memoryview(data)
        while view:
            size = self._session.take_credit(self._stream, min(len(view), MAX_FRAME))
            self._session.send(frame(DATA, 0, self._stream, bytes(view[:size])))
            view = view[size:]
        if end:
            self._session.send(frame(DATA, END_STREAM, self._stream))

    def wait(self):
        """Waits until the session is over."""
        self._session.over.wait()


class _Session:
    def __init__(self, connection, answer):
        self._connection, self._answer = connection, answer
        self._lock = threading.Lock()
        self._credit_changed = threading.Condition()
        self._credit = {0: DEFAULT_WINDOW}
        self._initial = DEFAULT_WINDOW
        self.over = threading.Event()

    def send(self, data):
        """Sends whole frames."""
        if self.over.is_set():
            raise OSError("the session is over")
        with self._lock:
            self._connection.sendall(data)

    def take_credit(self, stream, most):
        """Waits for credit, and uses up to so much of it."""
        with self._credit_changed:
            self._credit.setdefault(stream, self._initial)
            while min(self._credit[stream], self._credit[0]) <= 0:
                if self.over.is_set() or not self._credit_changed.wait(1) and self.over.is_set():
                    raise OSError("the session is over")
            size = min(most, self._credit[stream], self._credit[0])
            self._credit[stream] -= size
            self._credit[0] -= size
            return size

    def serve(self):
        """Reads frames until the connection ends."""
        try:
            with self._connection, self._connection.makefile("rb") as stream:
                self.send(frame(SETTINGS))
                stream.read(len(PREFACE))
                while head := stream.read(9):
                    size = int.from_bytes(head[:3], "big")
                    self._take(*struct.unpack_from(">BBI", head, 3), stream.read(size))
        except (OSError, ValueError):
            pass
        finally:
            self.over.set()

    def _take(self, kind, flags, stream, payload):
        if kind == SETTINGS and not flags & ACK:
            self._take_settings(payload)
            self.send(frame(SETTINGS, ACK))
        elif kind == PING and not flags & ACK:
            self.send(frame(PING, ACK, 0, payload))
        elif kind == WINDOW_UPDATE:
            with self._credit_changed:
                self._credit.setdefault(stream, self._initial)
                self._credit[stream] += struct.unpack(">I", payload)[0]
                self._credit_changed.notify_all()
        elif kind == HEADERS:
            threading.Thread(target=self._run, args=(Request(self, stream),), daemon=True).start()
        elif kind == RST_STREAM:
            with self._credit_changed:
                self._credit[stream] = 0

    def _take_settings(self, payload):
        with self._credit_changed:
            for name, value in struct.iter_unpack(">HI", payload):
                if name == INITIAL_WINDOW_SIZE:
                    for stream in self._credit.keys() - {0}:
                        self._credit[stream] += value - self._initial
                    self._initial = value
            self._credit_changed.notify_all()

    def _run(self, request):
        try:
            self._answer(request)
        except OSError:
            pass  # the mirror has had enough


class ScriptedAgent:
    """Listens at a port of the far host. `answers(number, request)` answers the requests of each session, the first of
    which has the number 0, in a thread of its own. It lives as long as the test: no process."""

    def __init__(self, lab, port, answers):
        self.remote = f"{lab.far.address}:{port}"
        self.sessions = 0
        self._answers = answers
        self._context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=lab.agent_pair.ca)
        self._context.load_cert_chain(lab.agent_pair.cert, lab.agent_pair.key)
        self._context.set_alpn_protocols(["h2"])
        self._listener = lab.far.listen(lab.far.address, port)
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection):
        try:
            secure = self._context.wrap_socket(connection, server_side=True)
        except OSError:
            return
        self.sessions += 1
        numbers = iter(range(1 << 30))
        _Session(secure, lambda request: self._answers(next(numbers), request)).serve()

    def stop(self):
        """Accepts no more."""
        self._listener.close()


def runtime(number, command_line="dotnet many.dll", name="many"):
    """A runtime as the API lists it."""
    return {"id": str(uuid.UUID(int=number)), "pid": number, "name": name, "command_line": command_line, "os": "Linux",
            "architecture": "x64", "version": "10.0.0", "state": "running", "user": 0, "since": "2026-01-01T00:00:00Z"}


def artifact(identifier, content=b"", ending=".nettrace", **more):
    """What the API lists of an artifact with this content."""
    return {"id": identifier, "kind": "trace", "ending": ending, "runtime": runtime(7), "kernel_pid": 7,
            "time": "2026-01-01T00:00:00Z", "taken_by": "", "owner": "", "why": "", "permissions": ["trace"],
            "state": "whole", "in_order": False, "seconds": 0, "bytes": len(content), "size": len(content),
            "sha256": hashlib.sha256(content).hexdigest(), **more}


def event(kind, *of):
    """A line of the watch."""
    return (json.dumps({"event": kind, **({"runtime": of[0]} if of else {})}) + "\n").encode()


def zstd_bomb(blocks, frames=1):
    """Frames of zstd (RFC 8878), each of so many blocks of 128 KiB, four bytes each: nothing but zeros."""
    size = 128 * 1024
    head = bytes([0x28, 0xB5, 0x2F, 0xFD, 0x00, 0x68])  # a window of 8 MiB, no size, no checksum
    block = struct.pack("<I", size << 3 | 1 << 1)[:3] + b"\0"
    last = struct.pack("<I", size << 3 | 1 << 1 | 1)[:3] + b"\0"
    return (head + block * (blocks - 1) + last) * frames
