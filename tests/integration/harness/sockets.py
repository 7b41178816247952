"""Connections that the tests make themselves, and counts of those that farport makes."""

import re
import socket
import subprocess

from harness import needs, wait


def connect(path, seconds=wait.LONGEST_SECONDS):
    """A connection to a Unix socket."""
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(seconds)
    connection.connect(path)
    return connection


def read_to_end(connection):
    """All bytes until the other side has finished."""
    received = b""
    while True:
        part = connection.recv(65536)
        if not part:
            return received
        received += part


def exchange(path, data, seconds=wait.LONGEST_SECONDS):
    """One diagnostic connection: sends a message and returns all that comes back."""
    with connect(path, seconds) as connection:
        connection.sendall(data)
        return read_to_end(connection)


def connections_to(process, path):
    """How many connections to the Unix socket at `path` are open at the connecting end. `process` is any on
    the host."""
    listing = subprocess.run(
        ["nsenter", "--target", str(process.pid), "--net", needs.program("ss"), "--unix", "--no-header", "state",
         "connected"], check=True, capture_output=True, text=True).stdout
    # The accepting side carries the path; its peer's inode is 0 once the connecting side has closed.
    return len(re.findall(rf"\s{re.escape(path)}\s+\d+\s+\*\s+[1-9]\d*", listing))
