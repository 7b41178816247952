"""One who goes on working beside a flood, as a program of its own:

    python3 -B -m harness.neighbour HOST PORT SECONDS CA CERT KEY RUNTIME

Sends one command after the other over one session, and prints how many were answered, and how long they took.
"""

import json
import socket
import ssl
import struct
import sys
import time

from harness import ipc
from harness.http2 import (ACK, DATA, END_HEADERS, END_STREAM, FRAME_HEADER_BYTES, HEADERS, LARGE_WINDOW, PING, PREFACE,
                           SETTINGS, WINDOW_UPDATE, frame, request_head)

PAUSE_SECONDS = 0.002


def main(host, port, seconds, ca, cert, key, runtime):
    """Runs, and prints."""
    context = ssl.create_default_context(cafile=ca)
    context.load_cert_chain(cert, key)
    context.check_hostname = False
    context.set_alpn_protocols(["h2"])
    connection = context.wrap_socket(socket.create_connection((host, int(port)), 30))
    connection.settimeout(30)
    connection.sendall(PREFACE + frame(SETTINGS) + frame(SETTINGS, ACK)
                       + frame(WINDOW_UPDATE, 0, 0, struct.pack(">I", LARGE_WINDOW)))
    head, message = request_head("POST", f"/v1/runtimes/{runtime}/ipc"), ipc.process_info()
    received, took, stream = b"", [], 1
    until = time.monotonic() + float(seconds)
    while time.monotonic() < until:
        began = time.monotonic()
        connection.sendall(frame(HEADERS, END_HEADERS, stream, head) + frame(DATA, END_STREAM, stream, message))
        done = False
        while not done:
            part = connection.recv(65536)
            if not part:
                raise ConnectionError("the agent has ended the session")
            received += part
            while len(received) >= FRAME_HEADER_BYTES:
                size = int.from_bytes(received[:3], "big")
                if len(received) < FRAME_HEADER_BYTES + size:
                    break
                kind, flags, number = struct.unpack_from(">BBI", received, 3)
                if kind == PING and not flags & ACK:
                    connection.sendall(frame(PING, ACK, 0, received[FRAME_HEADER_BYTES:FRAME_HEADER_BYTES + size]))
                done = done or (number == stream and kind in (DATA, HEADERS) and flags & END_STREAM != 0)
                received = received[FRAME_HEADER_BYTES + size:]
        took.append(time.monotonic() - began)
        stream += 2
        time.sleep(PAUSE_SECONDS)
    took.sort()
    print(json.dumps({"count": len(took), "p50_ms": 1000 * took[len(took) // 2],
                      "p99_ms": 1000 * took[len(took) * 99 // 100], "most_ms": 1000 * took[-1]}))


if __name__ == "__main__":
    main(*sys.argv[1:])
