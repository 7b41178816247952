"""Peers that take all that they can get, each a program of its own so that it is as fast as Python can be:

    python3 -B -m harness.flood KIND HOST PORT SECONDS CA [CERT KEY [RUNTIME]]

Prints nothing, and ends by itself after so many seconds.
"""

import concurrent.futures
import secrets
import socket
import ssl
import struct
import sys
import time

from harness import ipc
from harness.http2 import (ACK, DATA, END_HEADERS, END_STREAM, HEADERS, INITIAL_WINDOW_SIZE, PING, PREFACE, SETTINGS,
                           WINDOW_UPDATE, frame, request_head)

BATCH = 400
LARGE_WINDOW = 1 << 30
# By default (RFC 9113 section 6.5.2).
LARGEST_FRAME = 1 << 14
NEW_CONNECTIONS_PER_SECOND = 2000


def client_hello(context):
    """The first bytes of a good handshake."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    handshake = context.wrap_bio(incoming, outgoing)
    try:
        handshake.do_handshake()
    except ssl.SSLWantReadError:
        pass
    return outgoing.read()


class Flood:
    """One of them. A kind is a method; `step` of it is done again and again."""

    def __init__(self, host, port, seconds, ca, cert=None, key=None, runtime=None):
        self.peer = (host, int(port))
        self.until = time.monotonic() + float(seconds)
        self.runtime = runtime
        self.context = ssl.create_default_context(cafile=ca)
        self.context.check_hostname = False
        self.context.set_alpn_protocols(["h2"])
        if cert:
            self.context.load_cert_chain(cert, key)

    def over(self):
        """Whether the time is over."""
        return time.monotonic() >= self.until

    def connect(self, window=LARGE_WINDOW, acknowledge=True):
        """A session that has been begun."""
        connection = self.context.wrap_socket(socket.create_connection(self.peer, 10))
        hello = PREFACE + frame(SETTINGS, 0, 0, struct.pack(">HI", INITIAL_WINDOW_SIZE, window))
        if window:
            hello += frame(WINDOW_UPDATE, 0, 0, struct.pack(">I", LARGE_WINDOW))
        connection.sendall(hello + (frame(SETTINGS, ACK) if acknowledge else b""))
        connection.settimeout(1)
        return connection

    def send_for_ever(self, connection, batches):
        """Sends batch after batch, and reads nothing, until the other side ends it or the time is over."""
        try:
            for batch in batches:
                if self.over():
                    return
                connection.sendall(batch)
        except OSError:
            # It was ended, or takes no more.
            pass
        finally:
            connection.close()

    def requests(self, head, start=1):
        """Batches of requests without end."""
        stream = start
        while True:
            yield b"".join(frame(HEADERS, END_HEADERS | END_STREAM, stream + 2 * i, head) for i in range(BATCH))
            stream += 2 * BATCH

    def again_and_again(self, once):
        """A new session as soon as one has been ended."""
        while not self.over():
            try:
                once()
            except OSError:
                time.sleep(0.01)

    # Kinds.

    def no_acknowledgement(self):
        """Requests without end, SETTINGS never acknowledged, nothing ever read."""
        head = request_head("GET", "/v1/runtimes")
        self.again_and_again(lambda: self.send_for_ever(self.connect(acknowledge=False), self.requests(head)))

    def requests_read(self):
        """Requests without end, whose answers are read and thrown away."""
        self.read_all("/v1/access")

    def lists_read(self):
        """The same of lists."""
        self.read_all("/v1/runtimes")

    def stacks_read(self):
        """The same of what a runtime's threads do."""
        self.read_all(f"/v1/runtimes/{self.runtime}/stacks")

    def read_all(self, path):
        """Requests of this path without end, whose answers are read and thrown away."""
        head = request_head("GET", path)

        def once():
            connection = self.connect()
            for batch in self.requests(head):
                if self.over():
                    break
                connection.sendall(batch)
                connection.settimeout(0.05)
                try:
                    while connection.recv(65536):
                        pass
                except TimeoutError:
                    pass
            connection.close()
        self.again_and_again(once)

    def pings(self):
        """PINGs without end whose answers are never read."""
        batch = frame(PING, 0, 0, b"12345678") * BATCH
        self.again_and_again(lambda: self.send_for_ever(self.connect(), iter(lambda: batch, None)))

    def handshakes(self):
        """Connections without a certificate that say hello: half of them are left open for a while."""
        hello, held, count, began = client_hello(self.context), [], 0, time.monotonic()
        while not self.over():
            try:
                connection = socket.create_connection(self.peer, 10)
                connection.sendall(hello)
                held.append(connection)
            except OSError:
                pass
            count += 1
            while len(held) > 2000 or (held and count % 2):
                held.pop(0).close()
                if len(held) <= 2000:
                    break
            time.sleep(max(0.0, began + count / NEW_CONNECTIONS_PER_SECOND - time.monotonic()))

    def sessions_with(self, path, streams, sessions=100):
        """So many sessions, each with so many requests whose answers have no room to come."""
        open_sessions = []
        while not self.over():
            try:
                connection = self.connect(window=0)
                batch = next(self.requests(request_head("GET", path)))
                for _ in range(max(1, streams // BATCH)):
                    connection.sendall(batch)
                open_sessions.append(connection)
            except OSError:
                time.sleep(0.05)
            if len(open_sessions) > sessions:
                open_sessions.pop(0).close()

    def lists(self):
        """Lists that nobody reads."""
        self.sessions_with("/v1/runtimes", 1000)

    def accesses(self):
        """What the caller may do, which nobody reads."""
        self.sessions_with("/v1/access", 1000)

    def doctors(self):
        """Examinations that nobody reads the result of."""
        self.sessions_with("/v1/doctor", 1000)

    def watches(self):
        """Watches that nobody reads."""
        self.sessions_with("/v1/runtimes?watch=true", BATCH, 200)

    def stopped_tools(self, *fields, count=40, window=8 << 20):
        """Sessions of a runtime, resumable as a mirror's are, whose events nobody takes."""
        connection = self.connect(window=window)
        try:
            for i in range(count):
                self.command(connection, i, ipc.session(ipc.COLLECT_TRACING_5),
                             ("farport-token", secrets.token_hex(16)), *fields)
        except OSError:
            # It was ended for those that it had begun: the agent was faster.
            return
        self.read_slowly(connection)

    def command(self, connection, number, message, *fields):
        """A diagnostic connection of the runtime, which is told this."""
        stream = 2 * number + 1
        head = request_head("POST", f"/v1/runtimes/{self.runtime}/ipc", *fields)
        pieces = [message[at:at + LARGEST_FRAME] for at in range(0, len(message), LARGEST_FRAME)]
        connection.sendall(frame(HEADERS, END_HEADERS, stream, head)
                           + b"".join(frame(DATA, 0, stream, piece) for piece in pieces))

    def stopped_tools_that_take_zstd(self):
        """The same of tools that have their events compressed."""
        self.stopped_tools(("accept-encoding", "zstd"))

    def many_stopped_tools(self):
        """As many of them as one session may have by default."""
        self.stopped_tools(count=900)

    def unacknowledged_tools(self):
        """As many, each with credit for all that comes: their events are sent, and never acknowledged."""
        self.stopped_tools(count=900, window=LARGE_WINDOW)

    def large_first_messages(self):
        """Commands that say that they are large, of which nothing but the last byte is missing."""
        connection = self.connect()
        begun = ipc.message(2, ipc.COLLECT_TRACING_5, bytes(60_000))[:-1]
        try:
            for i in range(900):
                self.command(connection, i, begun)
            self.read_slowly(connection)
        except OSError:
            # It was ended for that.
            pass

    def route_unread(self):
        """Some sessions with as many requests as a browser would have, whose answers have no room to come."""
        method, path = self.runtime.split()
        batch = b"".join(frame(HEADERS, END_HEADERS | END_STREAM, 1 + 2 * i, request_head(method, path)) for i in range(64))

        def once():
            connection = self.connect(window=0)
            connection.sendall(batch)
            self.read_slowly(connection)
        with concurrent.futures.ThreadPoolExecutor(8) as sessions:
            for _ in range(8):
                sessions.submit(self.again_and_again, once)

    def route_dribbled(self):
        """Such requests in one session, of whose answers one takes a byte a second."""
        method, path = self.runtime.split()

        def once():
            connection = self.connect(window=0)
            streams = range(1, 129, 2)
            connection.sendall(b"".join(frame(HEADERS, END_HEADERS | END_STREAM, i, request_head(method, path)) for i in streams))
            while not self.over():
                connection.sendall(b"".join(frame(WINDOW_UPDATE, 0, i, struct.pack(">I", 1)) for i in streams))
                until = min(time.monotonic() + 1, self.until)
                while time.monotonic() < until:
                    try:
                        if not connection.recv(65536):
                            return
                    except TimeoutError:
                        pass
        self.again_and_again(once)

    def route_often(self):
        """A thousand such requests a second, whose answers are read."""
        method, path = self.runtime.split()

        def once():
            connection = self.connect()
            connection.settimeout(0.05)
            for stream in range(1, 1 << 20, 200):
                began = time.monotonic()
                connection.sendall(b"".join(frame(HEADERS, END_HEADERS | END_STREAM, stream + 2 * i, request_head(method, path))
                                            for i in range(100)))
                while time.monotonic() < min(began + 0.1, self.until):
                    try:
                        if not connection.recv(65536):
                            return
                    except TimeoutError:
                        pass
                if self.over():
                    return
        self.again_and_again(once)

    def read_slowly(self, connection):
        """Takes what comes, but gives no credit for it."""
        while not self.over():
            try:
                if not connection.recv(65536):
                    return
            except TimeoutError:
                pass
            connection.sendall(b"")


if __name__ == "__main__":
    getattr(Flood(*sys.argv[2:]), sys.argv[1])()
