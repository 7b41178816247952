"""farport serve and farport connect: one session, an HTTP/2 stream per connection."""

from .base import Peer, Setting, first_line


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

    def agent_command(self) -> list[str]:
        return [
            str(self.setting.farport), "serve", "--listen", f"127.0.0.1:{self.port}", "--allow-cn", "tool",
            "--search", str(self.directory / "none"), "--runtime", f"bench={self.setting.runtime_socket}",
            *self._tls("agent"),
        ]  # fmt: skip

    def mirror_command(self) -> list[str]:
        return [
            str(self.setting.farport), "connect", f"127.0.0.1:{self.port}", "--socket-dir",
            str(self.directory / "sockets"), "--socket", f"bench={self.tool_socket}", *self._tls("tool"),
        ]  # fmt: skip

    @classmethod
    def version(cls, setting: Setting) -> str:
        return first_line([str(setting.farport), "--version"])
