"""No tunnel: the tool at the runtime's own socket, which is the limit."""

from .base import Peer, Setting


class Direct(Peer):
    name = "no tunnel"

    def __init__(self, setting: Setting):
        super().__init__(setting)
        self.tool_socket = setting.runtime_socket

    @classmethod
    def version(cls, setting: Setting) -> str:
        return ""

    def start_agent(self) -> None:
        pass

    def start_mirror(self) -> None:
        pass
