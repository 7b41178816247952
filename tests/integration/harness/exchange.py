"""A diagnostic connection whose both ends the test holds, with checked content in both directions."""

import itertools

from harness import ipc, sockets, wait
from harness.patterns import Pattern, Receiving, Sending

MIB = 1024 * 1024
# OK and a session's id.
HEAD_BYTES = ipc.HEADER_BYTES + 8
_numbers = itertools.count(1)


def ask(path, message=None):
    """A tool's connection, on which a session (or another command) has been asked for."""
    tool = sockets.connect(path)
    tool.sendall(ipc.session(ipc.COLLECT_TRACING + 1) if message is None else message)
    return tool


def read_exactly(connection, size):
    """So many bytes, not one more."""
    data = b""
    while len(data) < size:
        part = connection.recv(size - len(data))
        if not part:
            raise AssertionError(f"the connection ended after {len(data)} bytes of {size}")
        data += part
    return data


class Exchange:
    """A session at a ScriptedRuntime, asked for through the socket at `path`. `rate`: bytes a second and direction;
    None is as fast as it goes. `down` and `up`: the lengths of both streams; None is until finish()."""

    def __init__(self, runtime, path, rate=4 * MIB, down=None, up=None):
        self.number = next(_numbers)
        self.tool = ask(path)
        asked = runtime.next()
        self.end = asked.connection
        self.end.settimeout(wait.LONGEST_SECONDS)
        asked.begin_session(self.number)
        if ipc.parse_session(read_exactly(self.tool, HEAD_BYTES)) != self.number:
            raise AssertionError("the answer is another session's")
        downwards, upwards = Pattern(2 * self.number), Pattern(2 * self.number + 1)
        self.at_tool = Receiving(self.tool, downwards)
        self.at_runtime = Receiving(self.end, upwards)
        self.from_runtime = Sending(self.end, downwards, down, rate)
        self.from_tool = Sending(self.tool, upwards, up, rate)

    def wait_for_more(self, size=MIB // 4, seconds=wait.LONGEST_SECONDS, directions=("at_tool", "at_runtime")):
        """Waits until that much more has come, in both directions or one."""
        ends = [getattr(self, name) for name in directions]
        goals = [end.received + size for end in ends]
        wait.until(lambda: all(end.received >= goal for end, goal in zip(ends, goals)) or self._fault(),
                   lambda: f"the stream goes on: {self.describe()}", seconds)
        if self._fault():
            raise AssertionError(self.describe())

    def _fault(self):
        return any((self.at_tool.wrong, self.at_runtime.wrong, self.at_tool.error, self.at_runtime.error,
                    self.from_tool.error, self.from_runtime.error))

    def describe(self):
        """How far it is, and what went wrong."""
        return (f"session {self.number}: to the tool {self.from_runtime.sent} sent, {self.at_tool.received} received, "
                f"to the runtime {self.from_tool.sent} sent, {self.at_runtime.received} received; "
                f"{self.at_tool.wrong}, {self.at_runtime.wrong}; {self.at_tool.error!r}, {self.at_runtime.error!r}, "
                f"{self.from_tool.error!r}, {self.from_runtime.error!r}")

    def finish(self, seconds=wait.LONGEST_SECONDS):
        """Ends both streams, and checks that every byte has come once and that both ends ended properly."""
        self.from_tool.stop()
        self.from_runtime.stop()
        self.at_tool.whole(self.from_runtime.finished(seconds), seconds)
        self.at_runtime.whole(self.from_tool.finished(seconds), seconds)
        self.close()

    def close(self):
        """Closes what the test has open of it."""
        self.from_tool.stop()
        self.from_runtime.stop()
        self.at_tool.go_on()
        self.at_runtime.go_on()
        self.tool.close()
        self.end.close()
