"""Runtimes in connect mode, which dial a port: real ones, and what pretends to be one."""

import os
import struct
import uuid

from harness import ipc, sockets


def advertise(identity, pid=1):
    """What a runtime says when it has dialled."""
    return struct.pack("<8s16sQH", b"ADVR_V1\0", uuid.UUID(identity).bytes_le, pid, 0)


class Impostor:
    """A peer of the test's own at the port: it can say anything."""

    def __init__(self, path, said=b""):
        self.connection = sockets.connect(path)
        self.connection.sendall(said)

    def answer_process_info(self, identity, pid=1):
        """Answers the ProcessInfo3 that comes next, as the runtime `identity`."""
        question = self.connection.recv(ipc.HEADER_BYTES)
        if ipc.parse(question)[:2] != (ipc.PROCESS, ipc.PROCESS_INFO_3):
            raise AssertionError(f"not the question that was expected: {question!r}")
        texts = ("impostor --all", "Linux", "x64", "impostor", "10.0.0", "linux-x64")
        payload = struct.pack("<IQ16s", 1, pid, uuid.UUID(identity).bytes_le) + b"".join(map(_string, texts))
        self.connection.sendall(ipc.message(ipc.SERVER, ipc.OK, payload))

    def is_closed(self, seconds=0.0):
        """Whether the other side has closed the connection, or does within that time, whatever it says before."""
        self.connection.settimeout(seconds)
        try:
            while self.connection.recv(4096):
                pass
            return True
        except ConnectionError:
            return True
        except (BlockingIOError, TimeoutError):
            return False

    def close(self):
        """Hangs up."""
        self.connection.close()


def _string(text):
    return struct.pack("<I", len(text) + 1) + (text + "\0").encode("utf-16-le")


class ConnectPort:
    """A path for runtimes to dial, in a directory of its own on the far host."""

    def __init__(self, lab):
        self.lab = lab
        self.directory = lab.new_directory(lab.far, "diag")
        os.chmod(self.directory, 0o755)
        self.path = os.path.join(self.directory, "farport.sock")
        self.flags = ["--diagnostic-port", self.path]

    def orders(self, *flags, words="", **options):
        """Starts the sample application, which dials the port. `words`: such as ",nosuspend"."""
        environment = {"DOTNET_DiagnosticPorts": self.path + words} | options.pop("environment", {})
        return self.lab.orders(*flags, diagnostics=False, environment=environment, **options)
