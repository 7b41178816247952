"""Debian's sshd on the far host, and its ssh on the near one: with keys and configurations of their own, and nothing of
the machine's users."""

import os
import pathlib
import subprocess
from dataclasses import dataclass, field

from harness import needs, proc, wait

PORT = 22
USER = 61234
NAME = "tester"
SERVER = """
Port {port}
HostKey /run/fpt/host
AuthorizedKeysFile /run/fpt/authorized
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin yes
StrictModes no
UsePAM no
PidFile none
Subsystem sftp internal-sftp
{variables}
"""
CLIENT = """
Host *
  User {user}
  IdentityFile {directory}/key
  IdentitiesOnly yes
  UserKnownHostsFile {directory}/known
  GlobalKnownHostsFile none
  StrictHostKeyChecking accept-new
  BatchMode yes
  LogLevel ERROR
"""
# A /run of its own, one user more, and a /tmp of its own, where what is brought along is seen and nobody else's.
START = """
mount -t tmpfs -o mode=0755 run /run && mkdir -m 0755 /run/sshd && cp -r "$1" /run/fpt && chmod -R go-w /run/fpt &&
if [ "$2" ]; then mount --bind "$2" /tmp; fi && mount --bind /run/fpt/passwd /etc/passwd && cd / &&
exec "$3" -D -e -f /run/fpt/sshd_config
"""


@dataclass
class Account:
    """A user whom only the server knows. `variables`: what sessions have in their environment; those that name a TMPDIR
    share the machine's /tmp."""
    name: str = NAME
    user: int = USER
    home: str = "/"
    shell: str = "/bin/sh"
    variables: dict = field(default_factory=dict)


class Ssh:
    """The server. `tmp`: what its sessions have as /tmp."""

    def __init__(self, lab, account=Account()):
        self.lab = lab
        self.tmp = lab.new_directory(lab.far, "ssh-tmp")
        os.chmod(self.tmp, 0o1777)
        server = pathlib.Path(lab.new_directory(lab.far, "sshd"))
        client = pathlib.Path(lab.new_directory(lab.near, "ssh"))
        for file in (server / "host", client / "key"):
            subprocess.run([needs.program("ssh-keygen"), "-q", "-t", "ed25519", "-N", "", "-f", file], check=True)
        (server / "authorized").write_text((client / "key.pub").read_text(encoding="ascii"), encoding="ascii")
        variables = " ".join(f'"{name}={value}"' for name, value in account.variables.items())
        (server / "sshd_config").write_text(
            SERVER.format(port=PORT, variables=f"SetEnv {variables}" if variables else ""), encoding="ascii")
        passwd = pathlib.Path("/etc/passwd").read_text(encoding="utf-8")
        line = f"{account.name}:x:{account.user}:{account.user}::{account.home}:{account.shell}"
        (server / "passwd").write_text(f"{passwd}{line}\n", encoding="utf-8")
        (client / "config").write_text(CLIENT.format(directory=client, user=account.name), encoding="ascii")
        self.programs = client / "bin"
        self.programs.mkdir()
        for name in ("ssh", "scp"):
            command = self.programs / name
            command.write_text(f'#!/bin/sh\nexec {needs.program(name)} -F {client}/config "$@"\n', encoding="ascii")
            command.chmod(0o755)
        self.process = lab.far.start(needs.program("unshare"), "--mount", "--propagation", "private", "sh", "-c", START,
                                     "sh", server, "" if "TMPDIR" in account.variables else self.tmp,
                                     needs.program("sshd"), name="sshd")
        wait.until(lambda: proc.listens(self.process.pid, PORT), self.process.output)

    def environment(self):
        """What farport has on the near host."""
        return {"PATH": f"{self.programs}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
                "FARPORT_STATIC_BINARY": needs.static_farport(), "FARPORT_LINGER": "1s"}

    def left(self):
        """What there is of farport on the far host: command lines of processes, and files."""
        lines = [proc.command_line(pid) for pid in self.lab.far.processes()]
        return [b" ".join(line) for line in lines if b"stdio" in line], os.listdir(self.tmp)

    def stop(self):
        """Ends it."""
        self.process.stop()
