"""HTTP/2 by hand (RFC 9113), over TLS: frames as a client that keeps to no rule would send them."""

import contextlib
import json
import ssl
import struct
import time
from typing import NamedTuple

from harness import wait
from harness.certificates import AGENT_NAME

# The agent's, unless a test says another one.
PORT = 9000
DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = range(10)
END_STREAM, ACK, END_HEADERS, PADDED = 0x1, 0x1, 0x4, 0x8
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
FRAME_HEADER_BYTES = 9
MAX_FRAME = 16384
INITIAL_WINDOW_SIZE = 4
LARGE_WINDOW = 1 << 30


class Frame(NamedTuple):
    """What stands in one frame."""

    kind: int
    flags: int
    stream: int
    payload: bytes


def frame(kind, flags=0, stream=0, payload=b""):
    """A frame, whole."""
    return struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, stream) + payload


def _text(text):
    data = text.encode("latin-1")
    if len(data) < 127:
        return bytes([len(data)]) + data
    # RFC 7541 section 5.1: what is above the prefix, seven bits at a time.
    size, left = b"\x7f", len(data) - 127
    while left >= 128:
        size += bytes([left % 128 + 128])
        left //= 128
    return size + bytes([left]) + data


def field(name, value):
    """A header field: a literal that is never put in a table (RFC 7541 section 6.2.2)."""
    return b"\0" + _text(name) + _text(value)


def request_head(method, path, *more):
    """The fields of a request."""
    fields = [(":method", method), (":scheme", "https"), (":authority", AGENT_NAME), (":path", path), *more]
    return b"".join(field(name, value) for name, value in fields)


# Of RFC 7541: in appendix A the codes that stand in the static table, in appendix B the digits' Huffman codes.
_STATIC_STATUS = {0x88: 200, 0x89: 204, 0x8A: 206, 0x8B: 304, 0x8C: 400, 0x8D: 404, 0x8E: 500}
_DIGITS = {format(code, f"0{bits}b"): str(digit) for digit, code, bits in
           [(0, 0, 5), (1, 1, 5), (2, 2, 5), *((digit, 0x19 + digit - 3, 6) for digit in range(3, 10))]}


def status_in(head):
    """The status in an answer's head, of which it is the first field. Its name is in the static table."""
    if head[0] in _STATIC_STATUS:
        return _STATIC_STATUS[head[0]]
    value = head[2:2 + (head[1] & 0x7F)]
    if not head[1] & 0x80:
        return int(value)
    text, code = "", ""
    for bit in "".join(format(byte, "08b") for byte in value):
        code += bit
        if code in _DIGITS:
            text, code = text + _DIGITS[code], ""
    return int(text)


class Client:
    """A connection. Nothing is sent but what a test says, except the preface, windows that no test
    fills, and the acknowledgement of the other side's SETTINGS, whose windows hold from then on."""

    def __init__(self, lab, pair=None, port=PORT):
        context = ssl.create_default_context(cafile=(pair or lab.tools_pair).ca)
        context.load_cert_chain((pair or lab.tools_pair).cert, (pair or lab.tools_pair).key)
        context.check_hostname = False
        context.set_alpn_protocols(["h2"])
        self.socket = context.wrap_socket(lab.near.connect(lab.far.address, port))
        self._received = b""
        self._next_stream = 1
        self.send(PREFACE + frame(SETTINGS, 0, 0, struct.pack(">HI", INITIAL_WINDOW_SIZE, LARGE_WINDOW))
                  + frame(WINDOW_UPDATE, 0, 0, struct.pack(">I", LARGE_WINDOW)))
        self.frames_until(lambda f: f.kind == SETTINGS and not f.flags & ACK)
        self.send(frame(SETTINGS, ACK))

    def close(self):
        """Ends it without a word."""
        self.socket.close()

    def send(self, data):
        """Sends bytes as they are; an error where the other side is gone."""
        self.socket.sendall(data)

    def new_stream(self):
        """The next stream's number."""
        number, self._next_stream = self._next_stream, self._next_stream + 2
        return number

    def request(self, method, path, *more, end=True):
        """Sends a request's head; returns its stream's number."""
        stream = self.new_stream()
        self.send(frame(HEADERS, END_HEADERS | (END_STREAM if end else 0), stream, request_head(method, path, *more)))
        return stream

    def next_frame(self, seconds=wait.LONGEST_SECONDS):
        """The next frame that comes; None once the other side has closed."""
        self.socket.settimeout(seconds)
        while True:
            if len(self._received) >= FRAME_HEADER_BYTES:
                size = int.from_bytes(self._received[:3], "big")
                if len(self._received) >= FRAME_HEADER_BYTES + size:
                    kind, flags, stream = struct.unpack_from(">BBI", self._received, 3)
                    payload = self._received[FRAME_HEADER_BYTES:FRAME_HEADER_BYTES + size]
                    self._received = self._received[FRAME_HEADER_BYTES + size:]
                    return Frame(kind, flags, stream & 0x7fffffff, payload)
            try:
                part = self.socket.recv(65536)
            except (ConnectionError, ssl.SSLError):
                return None
            if not part:
                return None
            self._received += part

    def frames_until(self, wanted, seconds=wait.LONGEST_SECONDS):
        """The frames up to the one for which `wanted(frame)`; the last is None where the connection ended first."""
        deadline = time.monotonic() + seconds
        frames = []
        while True:
            frames.append(self.next_frame(max(deadline - time.monotonic(), 0.01)))
            if frames[-1] is None or wanted(frames[-1]):
                return frames

    def answers(self, streams, seconds=wait.LONGEST_SECONDS):
        """The bodies of the answers on these streams, in their order; None for one that was reset, or whose connection
        ended."""
        bodies, open_streams = {stream: b"" for stream in streams}, set(streams)
        deadline = time.monotonic() + seconds
        while open_streams:
            each = self.next_frame(max(deadline - time.monotonic(), 0.01))
            if each is None:
                return [None if stream in open_streams else bodies[stream] for stream in streams]
            if each.stream not in open_streams:
                continue
            if each.kind == DATA:
                bodies[each.stream] += each.payload
            if each.kind == RST_STREAM:
                bodies[each.stream] = None
            if each.kind == RST_STREAM or each.kind in (DATA, HEADERS) and each.flags & END_STREAM:
                open_streams.remove(each.stream)
        return [bodies[stream] for stream in streams]

    def answer(self, stream, seconds=wait.LONGEST_SECONDS):
        """The body of one answer."""
        return self.answers([stream], seconds)[0]

    def is_alive(self, seconds=wait.LONGEST_SECONDS):
        """Whether a PING is answered."""
        opaque = struct.pack(">Q", time.monotonic_ns())
        try:
            self.send(frame(PING, 0, 0, opaque))
        except OSError:
            return False
        last = self.frames_until(lambda f: f.kind == PING and f.flags & ACK and f.payload == opaque, seconds)[-1]
        return last is not None

    def send_until_ended(self, data, times):
        """Sends `data` again and again; returns whether the other side closed the connection before the end."""
        self.socket.settimeout(wait.LONGEST_SECONDS)
        try:
            for _ in range(times):
                self.send(data)
        except OSError:
            return True
        return False

    def ends(self, seconds=wait.LONGEST_SECONDS):
        """Whether the other side closes the connection, whatever it says before."""
        try:
            return self.frames_until(lambda f: False, seconds)[-1] is None
        except TimeoutError:
            return False


def get(lab, path, pair=None, port=PORT):
    """The JSON that an agent answers to a GET. It starts no program, and so suits a look that is repeated until something is
    there; what people do is done by curl (see Api) and by farport itself."""
    try:
        with contextlib.closing(Client(lab, pair, port)) as client:
            stream = client.request("GET", path)
            frames = client.frames_until(lambda f: f.stream == stream and f.flags & END_STREAM)
            with contextlib.suppress(OSError):
                client.socket.unwrap()
    except OSError as error:
        raise AssertionError(f"{path}: {error}") from error
    if frames[-1] is None:
        raise AssertionError(f"{path}: the connection ended")
    status = status_in(next(f.payload for f in frames if f.stream == stream and f.kind == HEADERS))
    body = b"".join(f.payload for f in frames if f.stream == stream and f.kind == DATA)
    if status != 200:
        raise AssertionError(f"{path}: {status} {body!r}")
    return json.loads(body)
