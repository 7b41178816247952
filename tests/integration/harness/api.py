"""The agent's HTTP/2 API, with curl as its client, and raw mode, with Python's TLS."""

import json
import ssl
from typing import NamedTuple

from harness import http2, ipc, needs, sockets, wait
from harness.agent import PORT
from harness.certificates import AGENT_NAME


class Answer(NamedTuple):
    """What came of a request."""

    status: int
    content_type: str
    body: bytes

    @property
    def error(self):
        """Why it was refused."""
        return json.loads(self.body)["error"]

    @property
    def hresult(self):
        """What a tool is told: the agent's own answer, or the runtime's."""
        return ipc.parse_error(self.body) if self.status == 200 else json.loads(self.body)["hresult"]


class Api:
    """The API as the holder of a certificate sees it."""

    def __init__(self, lab, pair=None, port=PORT):
        self.lab = lab
        self.pair = pair or lab.tools_pair
        self.port = port
        self.base = f"https://{AGENT_NAME}:{port}"

    def curl(self, *arguments):
        """curl's command line; the URL must be among the arguments."""
        return [needs.program("curl"), "--silent", "--show-error", "--http2", "--max-time", "20", "--cert",
                self.pair.cert, "--key", self.pair.key, "--cacert", self.pair.ca, *arguments]

    def request(self, path, *arguments, data=b"", seconds=wait.LONGEST_SECONDS):
        """One request; a GET unless the arguments say otherwise."""
        trailer = "\n%{http_code} %{http_version} %{content_type}"
        command = self.curl("--write-out", trailer, "--max-time", seconds, *arguments, self.base + path)
        output, code = self.lab.near.pipe(command, data, seconds + 5)
        if code != 0:
            raise AssertionError(f"curl {path}: exit code {code}, {output!r}")
        body, _, trailer = output.rpartition(b"\n")
        status, version, content_type = trailer.decode().split(" ", 2)
        if version != "2":
            raise AssertionError(f"HTTP/{version}")
        return Answer(int(status), content_type, body)

    def turned_away(self):
        """Why the agent takes no request at all, as its GOAWAY says (RFC 9113 section 6.8)."""
        client = http2.Client(self.lab, self.pair, self.port)
        try:
            last = client.frames_until(lambda f: f.kind == http2.GOAWAY)[-1]
            # The last stream that was taken: none. The error code: REFUSED_STREAM.
            if last is None or last.payload[:8] != b"\0\0\0\0\0\0\0\7" or not client.ends():
                raise AssertionError(f"it is not turned away: {last}")
            return last.payload[8:].decode()
        finally:
            client.close()

    def json(self, path):
        """What a GET answers."""
        return http2.get(self.lab, path, self.pair, self.port)

    def runtimes(self):
        """The runtimes that are listed, by pid."""
        return {runtime["pid"]: runtime for runtime in self.json("/v1/runtimes")}

    def post(self, runtime, message):
        """One diagnostic connection: all that the runtime with this id answers to a message."""
        return self.request(f"/v1/runtimes/{runtime}/ipc", "--data-binary", "@-", data=message)

    def start(self, *arguments):
        """Starts curl with a request whose answer has no end."""
        return self.lab.near.start(*self.curl("--no-buffer", *arguments))

    def connect(self, server_name=AGENT_NAME):
        """A connection in raw mode."""
        context = ssl.create_default_context(cafile=self.pair.ca)
        context.load_cert_chain(self.pair.cert, self.pair.key)
        context.check_hostname = False
        connection = self.lab.near.connect(self.lab.far.address, self.port)
        return context.wrap_socket(connection, server_hostname=server_name)

    def raw(self, message, server_name=AGENT_NAME):
        """One diagnostic connection in raw mode: all that is answered."""
        with self.connect(server_name) as connection:
            connection.sendall(message)
            return sockets.read_to_end(connection)

    def record(self, message, server_name=AGENT_NAME):
        """A session in raw mode, stopped once it has begun: all that is answered."""
        with self.connect(server_name) as connection, self.connect(server_name) as stop:
            connection.sendall(message)
            begun = connection.recv(65536)
            if begun and ipc.is_ok(begun):
                stop.sendall(ipc.stop_session(ipc.parse_session(begun)))
            # Stopping is answered once the rest, which may be a rundown, has been taken.
            return begun + sockets.read_to_end(connection)
