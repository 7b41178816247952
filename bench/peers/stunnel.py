"""A pair of stunnel, a thread and a TLS handshake (resumed where it can) per connection."""

import subprocess

from .base import Peer, Setting


class Stunnel(Peer):
    name = "stunnel pair"
    note = "its defaults, TCP_NODELAY"

    def _write(self, end: str, name: str, service: str) -> None:
        (self.directory / f"{end}.conf").write_text(
            f"foreground = yes\npid =\ndebug = err\nsslVersion = TLSv1.3\n"
            f"socket = l:TCP_NODELAY=1\nsocket = r:TCP_NODELAY=1\n"
            f"cert = {self.certificate(name + '.crt')}\nkey = {self.certificate(name + '.key')}\n"
            f"CAfile = {self.certificate('ca.crt')}\nverifyChain = yes\n[bench]\n{service}"
        )

    def prepare(self) -> None:
        self._write("agent", "agent", f"accept = {self.setting.host}:{self.port}\nconnect = {self.setting.runtime_socket}\n")
        self._write(
            "mirror",
            "tool",
            f"client = yes\naccept = {self.tool_socket}\nconnect = {self.setting.host}:{self.port}\ncheckHost = agent\n",
        )

    def agent_command(self) -> list[str]:
        return ["stunnel", str(self.directory / "agent.conf")]

    def mirror_command(self) -> list[str]:
        return ["stunnel", str(self.directory / "mirror.conf")]

    @classmethod
    def version(cls, setting: Setting) -> str:
        command = ["stunnel", "-version"]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=True)
        return next(line for line in done.stdout.splitlines() if line.startswith("stunnel ")).split(" on ")[0]
