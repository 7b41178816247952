"""Bytes through the whole chain, from a tool to a runtime and back: singly, in both directions at full speed, and very
many; each one is checked, and memory stays what it was."""

import hashlib
import socket

from harness import ipc, needs, proc, sockets
from harness.case import Case, main
from harness.exchange import HEAD_BYTES, Exchange, MIB, read_exactly
from harness.fake import FakeRuntime
from harness.scripted import ScriptedRuntime

BLOCK_BYTES = 256 * 1024
# More than a process has anyway, with the windows of one stream on a short network. The sanitizers keep what is freed.
MORE_KIB = 24 * 1024
MORE_SANITIZED_KIB = 400 * 1024


def block():
    """What the fake runtime streams, again and again."""
    return bytes((i * 31 + i // 251) & 0xFF for i in range(BLOCK_BYTES))


class Transfer(Case):
    @classmethod
    def prepare(cls):
        cls.scripted = ScriptedRuntime(cls.lab)
        cls.addClassCleanup(cls.scripted.stop)
        cls.total = (256 if needs.is_sanitized() else 1024) * MIB
        cls.fake = cls.share(FakeRuntime(cls.lab, "--stream-bytes", cls.total, pid=4713))
        cls.agent = cls.share(cls.lab.agent())
        cls.mirror = cls.share(cls.lab.mirror(cls.agent.remote))
        cls.path, cls.fakes_path = (row["socket"] for row in cls.mirror.wait_for(cls.scripted, cls.fake))

    def peaks(self):
        """The most memory that agent and mirror have had."""
        return [proc.peak_memory_kib(thing.process.pid) for thing in (self.agent, self.mirror)]

    def assert_bounded(self, before):
        most = MORE_SANITIZED_KIB if needs.is_sanitized() else MORE_KIB
        for earlier, later in zip(before, self.peaks()):
            self.assertLess(later - earlier, most)

    def begin(self):
        """Both ends of a session: the tool's and the runtime's."""
        tool = sockets.connect(self.path, 30)
        self.addCleanup(tool.close)
        tool.sendall(ipc.session(ipc.COLLECT_TRACING + 1))
        asked = self.scripted.next()
        self.addCleanup(asked.connection.close)
        asked.connection.settimeout(30)
        asked.begin_session(1)
        read_exactly(tool, HEAD_BYTES)
        return tool, asked.connection

    def test_a_byte_at_a_time_in_both_directions(self):
        tool, runtime = self.begin()
        data = bytes(range(256)) * 4
        for byte in data:
            tool.send(bytes((byte,)))
            runtime.send(bytes((byte ^ 0xFF,)))
        self.assertEqual(read_exactly(runtime, len(data)), data)
        self.assertEqual(read_exactly(tool, len(data)), bytes(byte ^ 0xFF for byte in data))

    def test_a_byte_for_each_byte(self):
        tool, runtime = self.begin()
        for number in range(300):
            byte = bytes((number & 0xFF,))
            tool.send(byte)
            self.assertEqual(runtime.recv(10), byte)
            runtime.send(byte)
            self.assertEqual(tool.recv(10), byte)
        tool.shutdown(socket.SHUT_WR)
        self.assertEqual(runtime.recv(10), b"")

    def test_a_command_that_comes_a_byte_at_a_time(self):
        with sockets.connect(self.path) as tool:
            for byte in ipc.process_info():
                tool.send(bytes((byte,)))
            self.assertEqual(ipc.parse_process_info(sockets.read_to_end(tool))[0], self.scripted.pid_inside)

    def test_both_directions_at_full_speed_take_no_memory(self):
        before = self.peaks()
        size = (16 if needs.is_sanitized() else 64) * MIB
        exchange = Exchange(self.scripted, self.path, rate=None, down=size, up=size)
        self.addCleanup(exchange.close)
        self.assertEqual(exchange.from_tool.finished(120), size)
        exchange.finish(120)
        self.assert_bounded(before)

    def test_a_gibibyte_arrives_whole_and_takes_no_memory(self):
        before = self.peaks()
        expected = hashlib.sha256()
        piece = block()
        for _ in range(self.total // BLOCK_BYTES):
            expected.update(piece)
        received, size, buffer = hashlib.sha256(), 0, bytearray(MIB)
        view = memoryview(buffer)
        with sockets.connect(self.fakes_path, 60) as tool:
            tool.sendall(ipc.session(ipc.COLLECT_TRACING + 1))
            read_exactly(tool, HEAD_BYTES)
            while got := tool.recv_into(buffer):
                received.update(view[:got])
                size += got
        self.assertEqual(size, self.total)
        self.assertEqual(received.hexdigest(), expected.hexdigest())
        self.assert_bounded(before)


if __name__ == "__main__":
    main()
