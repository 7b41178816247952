"""A pair of haproxy, event-driven, with a TLS handshake (resumed where it can) per connection."""

from .base import Peer, Setting, first_line

COMMON = """\
global
  maxconn 500
defaults
  mode tcp
  timeout connect 10s
  timeout client 1h
  timeout server 1h
"""


class Haproxy(Peer):
    name = "haproxy pair"
    note = "its defaults: one thread per core"

    def prepare(self) -> None:
        ca = self.certificate("ca.crt")
        (self.directory / "agent.cfg").write_text(
            f"{COMMON}listen bench\n"
            f"  bind {self.setting.host}:{self.port} ssl crt {self.pem('agent')} ca-file {ca} verify required"
            f" ssl-min-ver TLSv1.3\n"
            f"  server runtime unix@{self.setting.runtime_socket}\n"
        )
        (self.directory / "mirror.cfg").write_text(
            f"{COMMON}listen bench\n"
            f"  bind unix@{self.tool_socket}\n"
            f"  server agent {self.setting.host}:{self.port} ssl crt {self.pem('tool')} ca-file {ca} verify required"
            f" verifyhost agent sni str(agent) ssl-min-ver TLSv1.3\n"
        )

    def agent_command(self) -> list[str]:
        return ["haproxy", "-db", "-f", str(self.directory / "agent.cfg")]

    def mirror_command(self) -> list[str]:
        return ["haproxy", "-db", "-f", str(self.directory / "mirror.cfg")]

    @classmethod
    def version(cls, setting: Setting) -> str:
        return " ".join(first_line(["haproxy", "-v"]).split()[:3]).replace(" version", "")
