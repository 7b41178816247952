"""Text that would forge lines or command a terminal, and an agent that sends it."""

import json
import re
import ssl
import struct
import threading
import unicodedata

from harness.http2 import ACK, DATA, END_HEADERS, END_STREAM, HEADERS, PREFACE, SETTINGS, field, frame

# A line of an audit, commands for a terminal in both of their forms, and what turns text around.
FORGED = '{"audit":"command","identity":"CN=forged","decision":"allowed"}'
TEXT = f'x\n{FORGED}\r\x1b[2J\x1b]0;owned\x07\u009b31m\u2028\u202egpj.exe'
# The same where there is little room.
SHORT = "x\n{\r\x1b[2J\u009b31m\u2028\u202egpj"
_DIRECTIONS = set("\u200e\u200f\u061c\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_LOG_LINE = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} (trace|debug|info |warn|warni|error)")


def harm_in(output):
    """What in a program's output (bytes) would act on a terminal, in words; empty is good."""
    text = output.decode("utf-8")
    bad = sorted({character for character in text
                  if character in _DIRECTIONS or
                  character != "\n" and unicodedata.category(character) in ("Cc", "Zl", "Zp")})
    return " ".join(f"U+{ord(character):04X}" for character in bad)


def odd_lines(output):
    """The lines of an agent's standard error that are neither its log's nor its audit's."""
    odd = []
    for line in output.decode("utf-8").splitlines():
        if not (line.startswith('{"time":"') and json.loads(line)) and not _LOG_LINE.match(line):
            odd.append(line)
    return odd


class HostileAgent:
    """Answers every request with 403 and `text` as the reason. It lives as long as the test: no process."""

    def __init__(self, lab, port, text):
        self.remote = f"{lab.far.address}:{port}"
        self._body = json.dumps({"error": text}).encode()
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
            with self._context.wrap_socket(connection, server_side=True) as secure:
                secure.sendall(frame(SETTINGS))
                with secure.makefile("rb") as stream:
                    stream.read(len(PREFACE))
                    while head := stream.read(9):
                        size = int.from_bytes(head[:3], "big")
                        kind, flags, number = struct.unpack_from(">BBI", head, 3)
                        stream.read(size)
                        if kind == SETTINGS and not flags & ACK:
                            secure.sendall(frame(SETTINGS, ACK))
                        if kind == HEADERS:
                            secure.sendall(frame(HEADERS, END_HEADERS, number, field(":status", "403"))
                                           + frame(DATA, END_STREAM, number, self._body))
        except OSError:
            pass

    def stop(self):
        """Accepts no more."""
        self._listener.close()
