"""ssh -L between two Unix sockets: one session, a channel per connection. An sshd of its own, with its own keys."""

import getpass
import os
import shutil
import subprocess
from pathlib import Path

from .base import Peer, Setting, first_line


class Ssh(Peer):
    name = "ssh -L"
    note = "its defaults, without compression"

    def prepare(self) -> None:
        for key in ("host", "user"):
            file = str(self.directory / key)
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "bench", "-f", file], check=True)
        host = (self.directory / "host.pub").read_text()
        (self.directory / "known_hosts").write_text(f"[{self.setting.host}]:{self.port} {host}")
        (self.directory / "sshd_config").write_text(
            f"ListenAddress {self.setting.host}:{self.port}\nHostKey {self.directory / 'host'}\nPidFile none\n"
            f"AuthorizedKeysFile {self.directory / 'user.pub'}\nStrictModes no\nUsePAM no\n"
            f"PasswordAuthentication no\nKbdInteractiveAuthentication no\nPermitRootLogin prohibit-password\n"
        )
        if os.geteuid() == 0:
            Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)  # sshd insists on it.

    def agent_command(self) -> list[str]:
        # sshd wants to be called by its whole path.
        sshd = shutil.which("sshd", path="/usr/sbin:/usr/local/sbin:" + os.environ["PATH"])
        return [str(sshd), "-D", "-e", "-f", str(self.directory / "sshd_config")]

    def mirror_command(self) -> list[str]:
        return [
            "ssh", "-N", "-F", "none", "-p", str(self.port), "-i", str(self.directory / "user"),
            "-o", "IdentitiesOnly=yes", "-o", "IdentityAgent=none", "-o", "BatchMode=yes",
            "-o", f"UserKnownHostsFile={self.directory / 'known_hosts'}", "-o", "StrictHostKeyChecking=yes",
            "-L", f"{self.tool_socket}:{self.setting.runtime_socket}", f"{getpass.getuser()}@{self.setting.host}",
        ]  # fmt: skip

    @classmethod
    def version(cls, setting: Setting) -> str:
        return first_line(["ssh", "-V"]).split(",")[0].replace("_", " ")
