"""Real .NET: an application, and dotnet-trace beside it or behind a tunnel."""

import contextlib
import os
import socket
import subprocess
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from peers.base import in_network, wait_until
from peers.farport import FarportUnaudited

MIB = 1 << 20
# What a trace is made of that engineers take: the application's own events, and the runtime's.
PROVIDERS = "Orders:0xffffffffffffffff:5,Microsoft-Windows-DotNETRuntime:0x4c14fccbd:5"
SOCKET_PREFIX = "dotnet-diagnostic-"
SOCKETS = f"{SOCKET_PREFIX}[0-9]*"


@dataclass(frozen=True)
class Dotnet:
    """Where its programs are."""

    application: Path
    trace: Path

    def is_there(self) -> bool:
        return self.application.exists() and self.trace.exists()

    def start_application(self, tmp: Path, network: str = "") -> subprocess.Popen:
        """An application whose diagnostic socket is in `tmp`."""
        command = [str(self.application), "--seconds", "100000", "--rate", "5000"]
        process = run_in(network, command, tmp)
        wait_until(lambda: list(tmp.glob(SOCKETS)), "the application's socket")
        return process

    def collect(self, pid: int, tmp: Path, target: Path, seconds: int, network: str = "") -> float:
        """Records a trace, and returns how long the tool took."""
        command = [str(self.trace), "collect", "-p", str(pid), "--providers", PROVIDERS, "--duration",
                   f"00:00:{seconds:02}", "-o", str(target)]  # fmt: skip
        began = time.monotonic()
        done = run_in(network, command, tmp)
        if done.wait(120) != 0:
            raise RuntimeError(f"dotnet-trace ended with {done.returncode}")
        return time.monotonic() - began

    def record(self, work: Path, mebibytes: int) -> Path:
        """A recording, repeated until it is that large."""
        tmp, whole = work / "recorded", work / "trace"
        tmp.mkdir()
        application = self.start_application(tmp)
        try:
            self.collect(application.pid, tmp, tmp / "once.nettrace", 10)
        finally:
            application.terminate()
            application.wait()
        once = (tmp / "once.nettrace").read_bytes()
        whole.write_bytes((once * (mebibytes * MIB // len(once) + 1))[: mebibytes * MIB])
        return whole


class Tap:
    """A diagnostic socket that leads to a runtime's, and keeps what the runtime sends."""

    def __init__(self, path: Path, runtime: Path):
        self.sent: list[bytearray] = []  # By each connection.
        self._runtime = runtime
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(path))
        self._listener.listen()
        threading.Thread(target=self._accept, daemon=True).start()

    def recording(self) -> bytes:
        """The longest of what was sent, from where it begins as a recording."""
        longest = bytes(max(self.sent, key=len))
        return longest[longest.index(b"Nettrace") :]

    def _accept(self) -> None:
        while True:
            tool, _ = self._listener.accept()
            runtime = socket.socket(socket.AF_UNIX)
            runtime.connect(str(self._runtime))
            self.sent.append(bytearray())
            for sender, receiver, kept in ((tool, runtime, bytearray()), (runtime, tool, self.sent[-1])):
                threading.Thread(target=carry, args=(sender, receiver, kept), daemon=True).start()


def carry(sender: socket.socket, receiver: socket.socket, kept: bytearray) -> None:
    with contextlib.suppress(OSError):
        while data := sender.recv(1 << 16):
            kept += data
            receiver.sendall(data)
    with contextlib.suppress(OSError):
        receiver.shutdown(socket.SHUT_WR)


def run_in(network: str, command: list[str], tmp: Path) -> subprocess.Popen:
    environment = {**os.environ, "TMPDIR": str(tmp), "DOTNET_NOLOGO": "1"}
    return subprocess.Popen(in_network(network, command), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                            stderr=subprocess.DEVNULL, env=environment)  # fmt: skip


class FarportFound(FarportUnaudited):
    """The agent finds the runtimes itself, and the mirror makes them look local."""

    def __init__(self, setting, search: Path):
        super().__init__(setting)
        self.search = search

    def runtimes(self) -> list[str]:
        return ["--search", str(self.search)]

    def mirror_command(self) -> list[str]:
        return self.connect(self.sockets)

    def command(self, name: str, *arguments: str) -> list[str]:
        """One of farport's own, for the runtime."""
        return [str(self.setting.farport), name, f"{self.setting.host}:{self.port}", *arguments, *self._tls("tool")]

    def start_mirror(self) -> None:
        self.spawn_mirror()
        self._wait(self.mirror, lambda: list(self.sockets.glob(SOCKETS)), "the mirrored runtime")

    @property
    def sockets(self) -> Path:
        """Where tools find the runtimes."""
        return self.directory / "sockets"
