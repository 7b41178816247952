"""Whatever ends, and however: nothing hangs, nothing is left running, and the other side hears of it."""

import contextlib
import time

from harness import ipc, sockets, wait
from harness.case import Case, main

# A provider that writes nothing: the runtime itself would never notice that its reader is gone.
SILENT = "Nobody-Writes-To-This"
NOTICED_SECONDS = 2.0
# How long each side waits for the other to come back.
GRACE = ["--grace", "1500ms"]
GRACE_SECONDS = 1.5


class Endings(Case):
    @classmethod
    def prepare(cls):
        cls.agent = cls.lab.agent(*GRACE)
        cls.application = cls.lab.orders()
        cls.mirror = cls.share(cls.lab.mirror(cls.agent.remote, flags=GRACE))
        cls.row = cls.mirror.wait_for(cls.application)[0]

    @classmethod
    def tearDownClass(cls):
        cls.agent.stop()

    def open_connections(self, application=None):
        """How many connections the agent has to the runtime's socket."""
        return sockets.connections_to(self.agent.process, (application or self.application).socket)

    def wait_for_connections(self, count, seconds=NOTICED_SECONDS):
        wait.until(lambda: self.open_connections() == count,
                   lambda: f"{count} connections to the runtime, not {self.open_connections()}", seconds)

    def hold(self, provider=SILENT, mirror_row=None):
        """A tool with an open session."""
        tool = self.tools.start_driver("hold", (mirror_row or self.row)["local_pid"], provider)
        tool.wait_for_output("open True")
        self.wait_for_connections(1)
        return tool

    def wait_until_gone(self, application, rows_before):
        """Waits until the application has vanished on both sides; returns how long that took."""
        began = time.monotonic()
        self.mirror.wait_for(self.application, seconds=NOTICED_SECONDS)
        self.agent.wait_for(self.application)
        for row in rows_before:
            if row["pid"] == application.pid_inside:
                wait.until(lambda: row["socket"] not in self.lab.near.sockets(), "its sockets are gone", 1)
        return time.monotonic() - began

    def test_a_runtime_that_is_killed_is_gone_on_both_sides_within_two_seconds(self):
        second = self.lab.orders()
        rows = self.mirror.wait_for(self.application, second)
        second.kill()
        self.wait_until_gone(second, rows)

    def test_a_runtime_that_ends_is_gone_on_both_sides_within_two_seconds(self):
        second = self.lab.orders()
        rows = self.mirror.wait_for(self.application, second)
        second.stop()
        self.wait_until_gone(second, rows)

    def test_a_runtime_that_exits_in_the_middle_ends_the_session_properly(self):
        second = self.lab.orders()
        row = self.mirror.wait_for(self.application, second)[1]
        tool = self.tools.start_driver("until-end", row["local_pid"])
        tool.wait_for_output("open True")
        second.stop()
        self.assertEqual(tool.wait(), 0, tool.output())
        self.assertIn("whole True", tool.stdout())
        self.assertIn("lost 0", tool.stdout())
        self.mirror.wait_for(self.application)

    def test_what_a_runtime_said_at_its_end_still_reaches_a_slow_tool(self):
        second = self.lab.orders()
        row = self.mirror.wait_for(self.application, second)[1]
        tool = self.tools.start_driver("until-end", row["local_pid"])
        tool.wait_for_output("open True")
        tool.freeze()
        try:
            second.stop()
            self.mirror.wait_for(self.application)
        finally:
            tool.thaw()
        tool.wait()
        self.assertIn("whole True", tool.stdout(), tool.output())

    def test_a_runtime_that_is_killed_in_the_middle_ends_the_session_at_once(self):
        second = self.lab.orders()
        row = self.mirror.wait_for(self.application, second)[1]
        tool = self.tools.start_driver("hold", row["local_pid"], SILENT)
        tool.wait_for_output("open True")
        second.kill()
        tool.wait(5)
        self.mirror.wait_for(self.application)

    def test_a_tool_that_is_killed_leaves_nothing_open_at_the_runtime(self):
        tool = self.hold()
        tool.kill()
        self.wait_for_connections(0)

    def test_a_tool_that_is_killed_in_a_busy_session_leaves_nothing_open_at_the_runtime(self):
        tool = self.hold("Orders")
        tool.kill()
        self.wait_for_connections(0)

    def test_a_tool_that_has_finished_sending_still_gets_its_answer(self):
        with sockets.connect(self.row["socket"]) as connection:
            connection.sendall(ipc.process_info())
            connection.shutdown(1)
            pid, _ = ipc.parse_process_info(sockets.read_to_end(connection))
        self.assertEqual(pid, self.application.pid_inside)

    def test_a_mirror_that_is_killed_leaves_nothing_open_at_the_runtime(self):
        directory = self.lab.new_directory(self.lab.near, "sockets")
        mirror = self.lab.mirror(self.agent.remote, directory=directory)
        row = mirror.wait_for(self.application)[0]
        tool = self.hold(mirror_row=row)
        mirror.process.kill()
        self.wait_for_connections(0, GRACE_SECONDS + NOTICED_SECONDS)
        tool.wait(5)

    def test_an_agent_that_is_killed_ends_the_session_and_comes_back(self):
        tool = self.hold()
        self.agent.process.kill()
        tool.wait(5)
        type(self).agent = self.lab.agent(*GRACE)
        self.wait_until_it_serves_again()

    def test_an_agent_that_is_stopped_and_started_comes_back(self):
        self.agent.stop()
        type(self).agent = self.lab.agent(*GRACE)
        self.wait_until_it_serves_again()

    def wait_until_it_serves_again(self):
        """Waits until tools reach the runtime again: its placeholder may be another one."""
        def served():
            rows = [row for row in self.mirror.rows() if row["connected"]]
            if len(rows) != 1:
                return False
            type(self).row = rows[0]
            return self.tools.driver("info", rows[0]["local_pid"]).code == 0

        wait.until(served, lambda: f"the runtime is reachable again\n{self.mirror.process.output()}")

    def test_tools_that_say_nothing_or_half_a_header_do_not_block_the_others(self):
        idle = [sockets.connect(self.row["socket"]) for _ in range(5)]
        for connection in idle[:3]:
            connection.sendall(ipc.process_info()[:11])
        self.assert_ok(self.tools.driver("info", self.row["local_pid"], seconds=5))
        self.assert_ok(self.tools.driver("session", self.row["local_pid"], 1))
        self.assertEqual(self.open_connections(), 0)
        # The runtime's own neighbours are not blocked either.
        direct = sockets.exchange(self.application.socket, ipc.process_info(), 5)
        self.assertEqual(ipc.parse_process_info(direct)[0], self.application.pid_inside)
        for connection in idle:
            connection.close()

    def test_a_slow_tool_is_served_once_its_message_is_whole(self):
        with sockets.connect(self.row["socket"]) as connection:
            for byte in ipc.process_info():
                connection.sendall(bytes([byte]))
                time.sleep(0.02)  # the slowness itself
            self.assertEqual(ipc.parse_process_info(sockets.read_to_end(connection))[0], self.application.pid_inside)

    def test_a_malformed_message_closes_the_connection_and_nothing_else(self):
        with sockets.connect(self.row["socket"]) as connection:
            connection.sendall(b"GET / HTTP/1.1\r\nHost: orders\r\n\r\n")
            with contextlib.suppress(ConnectionResetError):
                sockets.read_to_end(connection)
        self.assert_ok(self.tools.driver("info", self.row["local_pid"], seconds=5))

    def test_a_session_that_needs_a_file_descriptor_is_refused_in_the_protocols_words(self):
        answer = sockets.exchange(self.row["socket"], ipc.user_events_session())
        self.assertEqual(ipc.parse_error(answer), ipc.NOT_SUPPORTED)
        self.assert_ok(self.tools.driver("info", self.row["local_pid"], seconds=5))

    def test_a_stopped_reader_does_not_hold_up_the_others(self):
        tool = self.hold("Orders")
        tool.freeze()
        try:
            self.assert_ok(self.tools.driver("session", self.row["local_pid"], 2))
        finally:
            tool.thaw()
            tool.kill()
        self.wait_for_connections(0)


if __name__ == "__main__":
    main()
