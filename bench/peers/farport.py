"""farport serve and farport connect: one session, an HTTP/2 stream per connection."""

import os
from pathlib import Path

from .base import Peer, Setting, first_line


GRANTS = 20


class Farport(Peer):
    name = "farport"

    def _tls(self, name: str) -> list[str]:
        return [
            "--tls-cert", self.certificate(name + ".crt"), "--tls-key", self.certificate(name + ".key"),
            "--tls-ca", self.certificate("ca.crt"), "--log-level", "warn",
        ]  # fmt: skip

    def prepare(self) -> None:
        (self.directory / "none").mkdir()
        (self.directory / "sockets").mkdir(mode=0o700)
        grants = "".join(f'[[grants]]\ncn = "somebody-{i}"\nrole = "operator"\n' for i in range(GRANTS))
        own = '[[grants]]\ncn = "tool"\nrole = "observer"\nruntimes = { name = "ben*" }\n'
        (self.directory / "agent.toml").write_text(grants + own)

    def rules(self) -> list[str]:
        """What the gate has to go by."""
        return ["--config", str(self.directory / "agent.toml"), "--audit", str(self.directory / "audit.jsonl")]

    def limits(self) -> list[str]:
        """Those that are raised: what is measured is the most that it can do."""
        return ["requests_per_second"]

    def runtimes(self) -> list[str]:
        """Where the agent finds them."""
        return ["--search", str(self.directory / "none"), "--runtime", f"bench={self.setting.runtime_socket}"]

    def agent_command(self) -> list[str]:
        limits = [word for name in self.limits() for word in ("--limit", f"{name}=1000000")]
        return [
            str(self.setting.farport), "serve", "--listen", f"{self.setting.host}:{self.port}", *self.rules(),
            *limits, *self.runtimes(), *self._tls("agent"),
        ]  # fmt: skip

    def connect(self, directory: Path, *sockets: str) -> list[str]:
        """A mirror that has the runtimes' sockets in a directory, and others where `--socket` says."""
        return [
            str(self.setting.farport), "connect", f"{self.setting.host}:{self.port}", "--socket-dir", str(directory),
            *sockets, *self._tls("tool"),
        ]  # fmt: skip

    def mirror_command(self) -> list[str]:
        return self.connect(self.directory / "sockets", "--socket", f"bench={self.tool_socket}")

    @classmethod
    def version(cls, setting: Setting) -> str:
        return first_line([str(setting.farport), "--version"])


class FarportLimited(Farport):
    """The same with its default limits, which pace commands."""

    name = "farport, default limits"

    def limits(self) -> list[str]:
        return []


class FarportUnaudited(Farport):
    """The same with one rule that allows everything, and nothing written down: what the gate costs is the rest."""

    name = "farport, no rules, no audit"

    def rules(self) -> list[str]:
        return ["--allow-all=admin", "--audit", "off"]


class FarportStdio(Farport):
    """The same over a command's standard input and output, as ssh:// and podman:// have it, but for their own part."""

    name = "farport, over a command"

    @property
    def local(self) -> Path:
        return self.directory / "agent.sock"

    def agent_command(self) -> list[str]:
        return [
            str(self.setting.farport), "serve", "--local", str(self.local), "--allow-local", f"{os.geteuid()}=observer",
            "--audit", str(self.directory / "audit.jsonl"), "--limit", "requests_per_second=1000000",
            *self.runtimes(), "--log-level", "warn",
        ]  # fmt: skip

    def is_there(self) -> bool:
        return self.local.exists()

    def connect(self, directory: Path, *sockets: str) -> list[str]:
        return [
            str(self.setting.farport), "connect", "--via", f"{self.setting.farport} stdio --join {self.local}",
            "--socket-dir", str(directory), *sockets, "--log-level", "warn",
        ]  # fmt: skip
