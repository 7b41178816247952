"""A pair of socat, a process and a TLS handshake per connection."""

import subprocess

from .base import Peer, Setting


class Socat(Peer):
    name = "socat pair"
    note = "-b 65536, nodelay"

    def _tls(self, name: str) -> str:
        return (
            f"cert={self.certificate(name + '.crt')},key={self.certificate(name + '.key')},"
            f"cafile={self.certificate('ca.crt')},verify=1,openssl-min-proto-version=TLS1.3,nodelay"
        )

    def agent_command(self) -> list[str]:
        listen = f"OPENSSL-LISTEN:{self.port},bind={self.setting.host},reuseaddr,fork,backlog=128,{self._tls('agent')}"
        return ["socat", "-b", "65536", listen, f"UNIX-CONNECT:{self.setting.runtime_socket}"]

    def mirror_command(self) -> list[str]:
        dial = f"OPENSSL:{self.setting.host}:{self.port},commonname=agent,{self._tls('tool')}"
        return ["socat", "-b", "65536", f"UNIX-LISTEN:{self.tool_socket},fork,backlog=128", dial]

    @classmethod
    def version(cls, setting: Setting) -> str:
        text = subprocess.run(["socat", "-V"], capture_output=True, text=True, check=True).stdout
        return "socat " + text.split("socat version ", 1)[1].split()[0]
