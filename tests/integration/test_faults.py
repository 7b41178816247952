"""Runtimes and tools that hang, half-close, reset, talk nonsense, talk too early or too much: whoever deals with them
gets an end or an error, everybody else notices nothing, and nothing is left open."""

import contextlib
import errno
import os
import socket
import time

from harness import ipc, needs, proc, sockets, wait
from harness.case import Case, main
from harness.exchange import HEAD_BYTES, MIB, Exchange, ask, read_exactly
from harness.fake import FakeRuntime
from harness.patterns import Pattern, Sending
from harness.scripted import ScriptedRuntime

# AddressSanitizer keeps what was freed, for a while.
MEMORY_KIB = 64 * 1024 if needs.is_sanitized() else 24 * 1024


class Faults(Case):
    @classmethod
    def prepare(cls):
        cls.application = cls.lab.orders()
        cls.runtime = ScriptedRuntime(cls.lab)
        cls.addClassCleanup(cls.runtime.stop)
        cls.agent = cls.share(cls.lab.agent())
        cls.mirror = cls.share(cls.lab.mirror(cls.agent.remote))
        cls.good, cls.bad = (row["socket"] for row in cls.mirror.wait_for(cls.application, cls.runtime))
        cls.assert_good_one_serves()
        cls.at_rest = cls.open_sockets()

    @classmethod
    def open_sockets(cls):
        return proc.open_sockets(cls.agent.process.pid), proc.open_sockets(cls.mirror.process.pid)

    @classmethod
    def assert_good_one_serves(cls):
        pid, _ = ipc.parse_process_info(sockets.exchange(cls.good, ipc.process_info()))
        if pid != cls.application.pid_inside:
            raise AssertionError(f"{pid} has answered, not {cls.application.pid_inside}")

    def setUp(self):
        self.runtime.stopped.clear()

    def tearDown(self):
        self.assert_good_one_serves()
        wait.until(lambda: self.open_sockets() <= self.at_rest,
                   lambda: f"{self.at_rest} sockets of agent and mirror are open, not {self.open_sockets()}")
        super().tearDown()

    def ask(self, message=None):
        """A tool's connection, and the runtime's part of it, unanswered."""
        tool = ask(self.bad, message)
        self.addCleanup(tool.close)
        asked = self.runtime.next()
        self.addCleanup(asked.connection.close)
        return tool, asked

    def begin(self, number):
        """Both ends of a session that has begun."""
        tool, asked = self.ask()
        asked.begin_session(number)
        self.assertEqual(ipc.parse_session(read_exactly(tool, HEAD_BYTES)), number)
        return tool, asked.connection

    def assert_stopped(self, number):
        wait.until(lambda: number in self.runtime.stopped,
                   lambda: f"session {number} is stopped, not {self.runtime.stopped}")

    def assert_closed(self, connection):
        """That the other side closes, whatever it says before."""
        connection.settimeout(15)
        with contextlib.suppress(ConnectionError):
            sockets.read_to_end(connection)


class Runtimes(Faults):
    def test_one_that_hangs_holds_nobody_up_and_is_left_with_its_tool(self):
        tool, asked = self.ask()
        self.assert_good_one_serves()
        tool.close()
        self.assert_closed(asked.connection)

    def test_one_that_closes_without_an_answer(self):
        tool, asked = self.ask()
        asked.connection.close()
        self.assert_closed(tool)

    def test_one_that_half_closes_without_an_answer(self):
        tool, asked = self.ask()
        asked.connection.shutdown(socket.SHUT_WR)
        self.assertEqual(sockets.read_to_end(tool), b"")
        tool.close()
        self.assert_closed(asked.connection)

    def test_one_that_half_closes_in_the_middle_still_hears_the_tool(self):
        tool, end = self.begin(11)
        end.shutdown(socket.SHUT_WR)
        self.assertEqual(sockets.read_to_end(tool), b"")
        tool.sendall(b"last words")
        tool.close()
        self.assertEqual(read_exactly(end, 10), b"last words")
        self.assert_closed(end)

    def test_one_that_resets_is_not_taken_for_a_proper_end(self):
        tool, end = self.begin(12)
        end.sendall(b"the beginning")
        self.assertEqual(read_exactly(tool, 13), b"the beginning")
        tool.sendall(b"never read")
        wait.until(lambda: self.has_unread(end), "the runtime has something unread")
        end.close()  # with something unread: a reset
        with self.assertRaises(ConnectionResetError):
            sockets.read_to_end(tool)

    def has_unread(self, connection):
        connection.setblocking(False)
        try:
            return connection.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return b""

    def test_one_that_answers_with_nonsense(self):
        nonsense = (b"\0", b"\0" * 20, b"HTTP/1.1 200 OK\r\n\r\n", ipc.MAGIC + b"\xff" * 100,
                    ipc.message(ipc.SERVER, ipc.OK, b""), ipc.message(ipc.SERVER, ipc.OK, b"short"),
                    ipc.message(ipc.SERVER, ipc.OK, b"\1" * 60_000), ipc.message(ipc.EVENT_PIPE, 2, b"\1" * 8))
        for answer in nonsense:
            tool, asked = self.ask()
            asked.connection.sendall(answer)
            asked.connection.close()
            # As it is: what it means is the tool's to judge.
            self.assertEqual(sockets.read_to_end(tool), answer)
            tool.close()

    def test_one_that_answers_a_byte_at_a_time_is_told_to_stop_the_session_that_it_began(self):
        tool, asked = self.ask()
        for byte in ipc.message(ipc.SERVER, ipc.OK, (0x7F00DEADBEEF0001).to_bytes(8, "little")):
            asked.connection.sendall(bytes([byte]))
            time.sleep(0.005)  # the slowness itself
        read_exactly(tool, HEAD_BYTES)
        tool.close()
        self.assert_stopped(0x7F00DEADBEEF0001)
        self.assert_closed(asked.connection)

    def test_one_that_has_refused_a_session_is_not_told_to_stop_one(self):
        tool, asked = self.ask()
        asked.connection.sendall(ipc.message(ipc.SERVER, ipc.ERROR, ipc.BAD_ENCODING.to_bytes(4, "little")))
        self.assertEqual(ipc.parse_error(read_exactly(tool, ipc.HEADER_BYTES + 4)), ipc.BAD_ENCODING)
        tool.close()
        self.assert_closed(asked.connection)
        self.assertEqual(self.runtime.stopped, [])

    def test_one_that_ends_a_session_by_itself_is_not_told_to_stop_it(self):
        tool, end = self.begin(13)
        end.sendall(b"all of it")
        end.close()
        self.assertEqual(sockets.read_to_end(tool), b"all of it")
        tool.close()
        self.assert_good_one_serves()
        self.assertEqual(self.runtime.stopped, [])

    def test_one_that_begins_a_session_when_its_tool_has_gone_is_told_to_stop_it(self):
        tool, asked = self.ask()
        tool.close()
        with contextlib.suppress(OSError):
            asked.begin_session(14)
        self.assert_closed(asked.connection)

    def test_one_that_does_not_answer_that_it_has_stopped(self):
        self.runtime.answers_stops = False
        self.addCleanup(setattr, self.runtime, "answers_stops", True)
        tool, end = self.begin(15)
        tool.close()
        self.assert_stopped(15)
        self.assert_closed(end)

    def test_one_that_its_tool_tells_to_stop_is_told_once(self):
        self.runtime.answers_stops = False
        self.addCleanup(setattr, self.runtime, "answers_stops", True)
        tool, end = self.begin(16)
        stopping = ask(self.bad, ipc.stop_session(16))
        self.assert_stopped(16)
        tool.close()
        stopping.close()
        self.assert_closed(end)
        self.assertEqual(self.runtime.stopped, [16])

    def test_one_that_begins_to_tell_its_meters_when_its_tool_has_gone_is_told_to_stop(self):
        tool, asked = self.ask(ipc.session(ipc.COLLECT_TRACING, provider="System.Diagnostics.Metrics"))
        tool.close()
        self.assertTrue(self.runtime.nobody_asks(0.5))
        asked.begin_session(17)
        self.assert_stopped(17)
        self.assert_closed(asked.connection)

    def test_one_that_floods_a_tool_that_does_not_read(self):
        before = proc.memory_kib(self.agent.process.pid), proc.memory_kib(self.mirror.process.pid)
        flood = Exchange(self.runtime, self.bad, rate=None)
        self.addCleanup(flood.close)
        flood.at_tool.pause()
        flood.at_runtime.pause()
        self.wait_until_stuck(lambda: flood.from_runtime.sent + flood.from_tool.sent)
        self.assert_good_one_serves()
        for pid, memory in zip((self.agent.process.pid, self.mirror.process.pid), before):
            self.assertLess(proc.memory_kib(pid) - memory, MEMORY_KIB)
        flood.at_tool.go_on()
        flood.at_runtime.go_on()
        flood.wait_for_more(8 * MIB)
        flood.finish()

    def wait_until_stuck(self, count):
        """Waits until `count()` grows no more: whoever sends has to wait."""
        seen = [-1, 0]

        def stuck():
            now = count()
            seen[1] = seen[1] + 1 if now == seen[0] else 0
            seen[0] = now
            return seen[1] > 25

        wait.until(stuck, "the windows are full")

    def test_one_that_is_frozen_does_not_keep_a_dead_tools_connection_open(self):
        application = self.lab.orders(directory=self.lab.far.tmp)
        self.addCleanup(application.kill)
        row = self.mirror.wait_for(self.application, self.runtime, application)[2]
        tool = ask(row["socket"], ipc.session(ipc.COLLECT_TRACING + 1))
        ipc.parse_session(read_exactly(tool, HEAD_BYTES))
        application.process.freeze()
        tool.close()
        wait.until(lambda: sockets.connections_to(self.agent.process, application.socket) == 0,
                   "the agent has let go of the frozen runtime")
        application.process.thaw()
        application.kill()
        self.mirror.wait_for(self.application, self.runtime)

    def test_one_that_accepts_no_more_connections(self):
        path = f"{self.lab.far.tmp}/dotnet-diagnostic-4713-1-socket"
        full = ScriptedRuntime(self.lab, pid=4713, name="full")
        row = self.mirror.wait_for(self.application, self.runtime, full)[2]
        full.stop_accepting()
        fillers = self.fill(path)
        # One may have been accepted all the same.
        time.sleep(0.2)
        fillers += self.fill(path)
        tool = ask(row["socket"], ipc.process_info())
        with contextlib.suppress(ConnectionError):
            ipc.parse_error(sockets.read_to_end(tool))
        for filler in fillers + [tool]:
            filler.close()
        full.stop()
        self.mirror.wait_for(self.application, self.runtime)

    def fill(self, path):
        """Connections that nobody accepts, until there is no room for another."""
        fillers = []
        while True:
            filler = socket.socket(socket.AF_UNIX)
            filler.setblocking(False)
            fillers.append(filler)
            if filler.connect_ex(path) == errno.EAGAIN:
                return fillers


class Unlisted(Case):
    """Runtimes that don't even say who they are."""

    def test_none_of_them_keeps_the_others_from_being_found_and_served(self):
        faults = ("hang", "garbage", "half-answer", "close", "early-answer", "flood")
        fakes = [FakeRuntime(self.lab, "--fault", fault, pid=4720 + number) for number, fault in enumerate(faults)]
        agent = self.use(self.lab.agent("--log-level", "info"))
        application = self.lab.orders()
        good = FakeRuntime(self.lab, pid=4750)
        wait.until(lambda: {application.pid_inside, 4750} <= {row["pid"] for row in agent.runtimes()},
                   lambda: f"both are listed\n{agent.process.output()}")
        pid = agent.process.pid
        before = proc.memory_kib(pid), proc.open_files(pid)
        time.sleep(3)  # several rounds of whatever is tried again
        self.assertLess(proc.memory_kib(pid) - before[0], MEMORY_KIB)
        self.assertLess(proc.open_files(pid) - before[1], 20)
        for fake in fakes:
            self.assertLess(agent.log().count(fake.socket), 5, agent.log())
        for runtime in [*fakes, good]:
            runtime.stop()
        agent.wait_for(application)


class Old(Case):
    """.NET Core 3.1, which does not say who it is, and knows the first two commands for sessions alone."""

    def test_it_is_listed_by_its_process_and_can_be_recorded(self):
        agent = self.use(self.lab.agent())
        runtime = self.use(FakeRuntime(self.lab, "--fault", "old", "--stream-bytes", "200000"))
        pid = runtime.process.pid_on_host
        rows = wait.until(lambda: [row for row in agent.runtimes() if row["pid"] == pid], agent.log)
        self.assertEqual(rows[0]["name"], "fake_runtime")
        target = f"{agent.remote}/{pid}"
        self.assertIn("fake_runtime", self.assert_ok(self.lab.near.run(needs.farport(), "ps", target, *self.lab.tools_pair.flags())).stdout)
        file = os.path.join(self.lab.new_directory(self.lab.near, "trace"), "x.nettrace")
        # A profile that newer runtimes are asked for by the fourth command.
        self.assert_ok(self.lab.near.run(needs.farport(), "trace", target, *self.lab.tools_pair.flags(), "--profile", "gc-collect", "-o", file))
        self.assertEqual(os.stat(file).st_size, 200_000)
        mirror = self.use(self.lab.mirror(agent.remote))
        wait.until(lambda: [row for row in mirror.rows() if row["pid"] == pid], mirror.process.output)


class ToolsThatMisbehave(Faults):
    def test_tools_that_reset_in_every_state(self):
        session = ipc.session(ipc.COLLECT_TRACING + 1)
        for number in range(60):
            tool = ask(self.bad, session[:(0, 7, 20, len(session))[number % 4]])
            if number % 4 == 3:
                asked = self.runtime.next()
                if number % 8 == 7:
                    asked.begin_session(1000 + number)
                    asked.connection.sendall(b"\0" * 100_000)
                    read_exactly(tool, HEAD_BYTES)
                tool.close()
                self.assert_closed(asked.connection)
            tool.close()
        for number in range(60):
            if number % 8 == 7:
                self.assert_stopped(1000 + number)

    def test_one_that_half_closes_in_the_middle_of_its_command(self):
        tool = ask(self.bad, ipc.session(ipc.COLLECT_TRACING + 1)[:30])
        tool.shutdown(socket.SHUT_WR)
        self.assert_closed(tool)
        tool.close()
        self.assertTrue(self.runtime.nobody_asks(0.5))

    def test_one_that_floods_a_runtime_that_does_not_read(self):
        before = proc.memory_kib(self.agent.process.pid), proc.memory_kib(self.mirror.process.pid)
        tool, end = self.begin(21)
        flood = Sending(tool, Pattern(1), 256 * MIB)
        sent = [-1]

        def stuck():
            last, sent[0] = sent[0], flood.sent
            time.sleep(0.3)  # between two looks
            return last == flood.sent

        wait.until(stuck, "the windows are full")
        self.assertLess(flood.sent, 32 * MIB)
        self.assert_good_one_serves()
        for pid, memory in zip((self.agent.process.pid, self.mirror.process.pid), before):
            self.assertLess(proc.memory_kib(pid) - memory, MEMORY_KIB)
        tool.shutdown(socket.SHUT_RDWR)
        tool.close()
        self.assert_stopped(21)
        end.close()

    def test_one_that_sends_a_second_command_at_once_has_only_the_first_ruled_on_and_answered(self):
        tool = ask(self.good, ipc.process_info() + ipc.process_info())
        tool.settimeout(15)
        answer = b""
        with contextlib.suppress(ConnectionError):
            answer = sockets.read_to_end(tool)
        self.assertEqual(ipc.parse_process_info(answer)[0], self.application.pid_inside)
        self.assertEqual(len(answer), int.from_bytes(answer[14:16], "little"))
        tool.close()

    def test_one_that_answers_instead_of_asking(self):
        tool = ask(self.bad, ipc.message(ipc.SERVER, ipc.OK, b"\0" * 8))
        tool.settimeout(15)
        # An administrator's unknown command: it is the runtime's to judge.
        asked = self.runtime.next()
        asked.connection.close()
        self.assert_closed(tool)
        tool.close()

    def test_many_that_hang_hold_nobody_up(self):
        hanging = [ask(self.good, ipc.process_info()[:size % 20]) for size in range(100)]
        self.assert_good_one_serves()
        for tool in hanging:
            tool.close()


class ListeningTools(Case):
    """Tools that listen and are dialled: what they do to whoever dials is not to cost much."""

    def test_one_that_talks_nonsense_is_dialled_again_and_holds_nobody_up(self):
        application = self.lab.orders()
        agent = self.use(self.lab.agent())
        path = f"{self.lab.new_directory(self.lab.near, 'listening')}/tool.sock"
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(path)
        listener.listen(64)
        listener.settimeout(15)
        self.addCleanup(listener.close)
        mirror = self.use(self.lab.mirror(agent.remote, flags=["--to", f"orders={path}"]))
        row = mirror.wait_for(application)[0]
        for nonsense in (b"", b"\0" * 40, b"GET / HTTP/1.1\r\n\r\n", ipc.process_info()[:10],
                         ipc.message(ipc.SERVER, ipc.OK)):
            connection, _ = listener.accept()
            connection.settimeout(15)
            self.assertEqual(read_exactly(connection, 34)[:8], b"ADVR_V1\0")
            connection.sendall(nonsense)
            connection.close()
        connection, _ = listener.accept()
        self.assertEqual(read_exactly(connection, 34)[:8], b"ADVR_V1\0")
        connection.sendall(ipc.process_info())
        self.assertEqual(ipc.parse_process_info(sockets.read_to_end(connection))[0], application.pid_inside)
        connection.close()
        answer = sockets.exchange(row["socket"], ipc.process_info())
        self.assertEqual(ipc.parse_process_info(answer)[0], application.pid_inside)


if __name__ == "__main__":
    main()
