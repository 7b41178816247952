"""What every tunnel has: an end beside the runtime, an end beside the tool, and how they are started."""

import os
import socket
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Setting:
    """What all tunnels are given alike."""

    directory: Path  # For files of the tunnel's own; each has another.
    certificates: Path  # ca.crt, agent.crt and .key, tool.crt and .key.
    runtime_socket: Path
    farport: Path  # The binary.
    host: str = "127.0.0.1"  # Where the runtime's side listens.
    agent_network: str = ""  # The network namespaces of the two sides; empty: here.
    mirror_network: str = ""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_until(condition, what: str, seconds: float = 10, pause: float = 0.02) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise RuntimeError(f"{what}: not there after {seconds:g} s")
        time.sleep(pause)


def listens(process: subprocess.Popen, port: int) -> bool:
    """Whether something listens on the port where the process runs. Read from the kernel's table: a connection to ask
    would be work for the tunnel."""
    with open(f"/proc/{process.pid}/net/tcp", encoding="ascii") as table:
        return any(f":{port:04X} " in line and " 0A " in line for line in table)


def in_network(network: str, command: list[str]) -> list[str]:
    """The command as it runs in a network namespace; an empty name means here."""
    return ["ip", "netns", "exec", network, *command] if network else command


class Peer:
    """A tunnel from `tool_socket` to the runtime's socket. Ends are started one by one, so that the runtime's side
    can be weighed alone."""

    name = ""
    note = ""  # What of its settings a reader should know.

    def __init__(self, setting: Setting):
        self.setting = setting
        self.directory = setting.directory
        self.tool_socket = setting.directory / "tool.sock"
        self.port = free_port()
        self.agent: subprocess.Popen | None = None
        self.mirror: subprocess.Popen | None = None

    def agent_command(self) -> list[str]:
        raise NotImplementedError

    def mirror_command(self) -> list[str]:
        raise NotImplementedError

    @classmethod
    def version(cls, setting: Setting) -> str:
        raise NotImplementedError

    def prepare(self) -> None:
        """Writes what the commands need."""

    def start_agent(self) -> None:
        self.directory.mkdir(parents=True)
        self.prepare()
        self.agent = self._spawn("agent", self.agent_command(), self.setting.agent_network)
        self._wait(self.agent, self.is_there, f"{self.name}'s port")

    def is_there(self) -> bool:
        """Whether the runtime's side takes connections."""
        return listens(self.agent, self.port)

    def start_mirror(self) -> None:
        self.spawn_mirror()
        self._wait(self.mirror, self.tool_socket.exists, f"{self.name}'s socket")

    def spawn_mirror(self) -> None:
        """Starts it, and does not wait."""
        self.mirror = self._spawn("mirror", self.mirror_command(), self.setting.mirror_network)

    def stop(self) -> None:
        for process in (self.mirror, self.agent):
            if process is None or process.poll() is not None:
                continue
            process.terminate()
            try:
                process.wait(5)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def certificate(self, name: str) -> str:
        return str(self.setting.certificates / name)

    def pem(self, name: str) -> str:
        """Certificate and key in one file, as some want them."""
        path = self.directory / f"{name}.pem"
        parts = [self.setting.certificates / (name + end) for end in (".crt", ".key")]
        path.write_bytes(b"".join(part.read_bytes() for part in parts))
        path.chmod(0o600)
        return str(path)

    def _spawn(self, end: str, command: list[str], network: str) -> subprocess.Popen:
        command = in_network(network, command)
        environment = {k: v for k, v in os.environ.items() if not k.startswith("FARPORT_")}
        with open(self.directory / f"{end}.log", "wb") as log:
            return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment)

    def _wait(self, process: subprocess.Popen, condition, what: str) -> None:
        def there() -> bool:
            if process.poll() is not None:
                logs = "\n".join(log.read_text(errors="replace") for log in self.directory.glob("*.log"))
                raise RuntimeError(f"{process.args[0]} has ended with {process.returncode}:\n{logs}")
            return condition()

        wait_until(there, what)


def first_line(command: list[str]) -> str:
    """The first line that `command` prints, wherever it does."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    return next((line.strip() for line in done.stdout.splitlines() if line.strip()), "")
