"""hitch beside the runtime, event-driven, with a TLS handshake per connection. As a client it has neither a certificate nor a
Unix socket for the tool, so that the other end is haproxy's."""

import os

from .base import Setting, first_line
from .haproxy import Haproxy

# It refuses root, but must reach a root's runtime.
NOT_AS_ROOT = ["setpriv", "--reuid=nobody", "--inh-caps=+dac_override", "--ambient-caps=+dac_override"]


class Hitch(Haproxy):
    name = "hitch, haproxy"
    note = "its defaults, one worker; haproxy as the other end"

    def prepare(self) -> None:
        super().prepare()
        (self.directory / "hitch.conf").write_text(
            f'frontend = "[{self.setting.host}]:{self.port}"\nbackend = "{self.setting.runtime_socket}"\n'
            f'pem-file = "{self.pem("agent")}"\ntls-protos = TLSv1.3\n'
            f'client-verify = required\nclient-verify-ca = "{self.certificate("ca.crt")}"\n'
        )

    def agent_command(self) -> list[str]:
        command = ["hitch", f"--config={self.directory / 'hitch.conf'}"]
        return [*NOT_AS_ROOT, *command] if os.geteuid() == 0 else command

    @classmethod
    def version(cls, setting: Setting) -> str:
        return first_line(["hitch", "--version"])
