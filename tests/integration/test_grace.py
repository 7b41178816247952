"""What can't go on ends with an error at both ends: never with an end that looks proper."""

import errno
import time

from harness import ipc, sockets, wait
from harness.breaking import Breaking
from harness.case import main
from harness.exchange import HEAD_BYTES, ask, read_exactly

GRACE_SECONDS = 2


def with_errors(connection):
    """Reads to the end; returns the error's number, None for a proper end."""
    try:
        sockets.read_to_end(connection)
        return None
    except OSError as error:
        return error.errno


class EndingsOf(Breaking):
    """What every one of these tests asks for."""

    def assert_tool_is_told(self, exchange):
        """That the tool's end is a reset."""
        error = exchange.at_tool.ended()
        self.assertEqual(getattr(error, "errno", None), errno.ECONNRESET, exchange.describe())

    def assert_runtime_is_rid_of(self, exchange):
        """That the runtime has been told to stop the session, and that its connection is closed."""
        wait.until(lambda: exchange.number in self.runtime.stopped,
                   lambda: f"session {exchange.number} is stopped, not just {self.runtime.stopped}")
        exchange.at_runtime.join(wait.LONGEST_SECONDS)
        self.assertFalse(exchange.at_runtime.is_alive(), "the runtime's connection is still open")
        self.assertIsNone(exchange.at_runtime.wrong)
        self.assertEqual(self.runtime.stopped.count(exchange.number), 1)

    def assert_new_ones_work(self, mirror):
        wait.until(lambda: mirror.states()[-1], lambda: f"the session is up\n{mirror.process.output()}")
        exchange = self.exchange(mirror)
        exchange.wait_for_more()
        exchange.finish()


class Grace(EndingsOf):
    GRACE = f"{GRACE_SECONDS}s"

    def test_a_session_that_does_not_come_back_ends_at_both_ends(self):
        exchange = self.exchange(self.proxied)
        exchange.wait_for_more()
        self.proxy.kill()
        self.assert_tool_is_told(exchange)
        self.assert_runtime_is_rid_of(exchange)
        self.proxy.start()
        self.assert_new_ones_work(self.proxied)

    def test_a_network_that_dies_silently_ends_it_at_both_ends(self):
        exchange = self.exchange(self.direct)
        exchange.wait_for_more()
        with self.network.dark():
            self.assert_tool_is_told(exchange)
            self.assert_runtime_is_rid_of(exchange)
        self.assert_new_ones_work(self.direct)

    def test_a_network_that_dies_under_a_silent_session_ends_it_at_both_ends(self):
        # A piece at the beginning, and then nothing for a day.
        exchange = self.exchange(self.direct, rate=1)
        with self.network.dark():
            self.assert_runtime_is_rid_of(exchange)
            self.assert_tool_is_told(exchange)
        self.assert_new_ones_work(self.direct)

    def test_the_runtime_is_rid_of_it_when_the_agent_alone_is_cut_off(self):
        exchange = self.exchange(self.proxied)
        exchange.wait_for_more()
        # The mirror's connection stays, and is silent.
        self.proxy.process.freeze()
        try:
            self.assert_runtime_is_rid_of(exchange)
            self.assert_tool_is_told(exchange)
        finally:
            self.proxy.process.thaw()
        self.assert_new_ones_work(self.proxied)

    def test_a_session_that_comes_back_too_late_for_the_agent_gives_an_error(self):
        patient = self.lab.mirror(self.proxy.remote, flags=("--grace", "60s", *self.flags[2:]),
                                  directory=self.lab.new_directory(self.lab.near, "patient"))
        self.use(patient)
        patient.wait_for(self.runtime)
        exchange = self.exchange(patient)
        exchange.wait_for_more()
        self.proxy.kill()
        self.assert_runtime_is_rid_of(exchange)
        self.assertTrue(exchange.at_tool.is_alive(), "the patient mirror waits")
        self.proxy.start()
        self.assert_tool_is_told(exchange)
        self.assert_new_ones_work(patient)

    def test_a_half_closed_connection_ends_with_an_error_too(self):
        exchange = self.exchange(self.proxied, up=1000)
        exchange.at_runtime.whole(1000)
        self.proxy.kill()
        self.assert_tool_is_told(exchange)
        wait.until(lambda: exchange.number in self.runtime.stopped, "the session is stopped")

    def test_an_answer_that_takes_longer_than_the_grace_period_is_no_break(self):
        for broken in (False, True):
            tool = ask(self.socket_of(self.proxied))
            asked = self.runtime.next()
            if broken:
                before = len(self.proxied.states())
                self.proxy.tell("reset")
                self.proxied.wait_until_back(before)
            time.sleep(2 * GRACE_SECONDS)  # the runtime takes its time
            asked.begin_session(77)
            self.assertEqual(ipc.parse_session(read_exactly(tool, HEAD_BYTES)), 77)
            asked.connection.close()
            self.assertEqual(sockets.read_to_end(tool), b"")
            tool.close()

    def test_a_session_that_has_not_been_answered_yet_ends_with_an_error(self):
        tool = ask(self.socket_of(self.proxied))
        asked = self.runtime.next()
        self.proxy.kill()
        asked.connection.settimeout(wait.LONGEST_SECONDS)
        self.assertIn(with_errors(asked.connection), (None, errno.ECONNRESET))
        self.assert_is_no_success(tool)

    def test_a_command_that_waits_for_the_session_is_told_when_the_time_is_over(self):
        path = self.socket_of(self.proxied)
        before = len(self.proxied.states())
        self.proxy.kill()
        self.proxied.wait_for_break(before)
        for tool in (ask(path), ask(path, ipc.process_info())):
            self.assert_is_no_success(tool)

    def assert_is_no_success(self, tool):
        """That a tool which has had no answer gets an error: in the protocol's words, or a reset."""
        tool.settimeout(wait.LONGEST_SECONDS)
        try:
            ipc.parse_error(sockets.read_to_end(tool))
        except OSError as error:
            self.assertEqual(error.errno, errno.ECONNRESET)
        tool.close()

    def test_a_tool_that_goes_while_the_session_is_broken_leaves_nothing_behind(self):
        exchange = self.exchange(self.proxied)
        exchange.wait_for_more()
        before = len(self.proxied.states())
        self.proxy.kill()
        self.proxied.wait_for_break(before)
        exchange.tool.shutdown(2)
        exchange.tool.close()
        self.proxy.start()
        self.assert_runtime_is_rid_of(exchange)

    def test_what_a_tool_has_not_read_when_it_ends_is_not_taken_for_the_whole(self):
        exchange = self.exchange(self.proxied, rate=None)
        exchange.at_tool.pause()
        wait.until(lambda: exchange.at_tool.received, "something has come")
        self.proxy.kill()
        self.assert_runtime_is_rid_of(exchange)
        exchange.at_tool.go_on()
        self.assert_tool_is_told(exchange)


class Restart(EndingsOf):
    """Even within the grace period an agent that is another one can't go on with anything."""

    def restart_agent(self, end):
        mirrors = (self.direct, self.proxied)
        before = [len(mirror.states()) for mirror in mirrors]
        end()
        type(self).agent = self.start_agent()
        # What a mirror sends before it has noticed is for the agent that is gone.
        for mirror, states in zip(mirrors, before):
            mirror.wait_until_back(states)

    def test_an_agent_that_is_killed_and_started_again(self):
        exchange = self.exchange(self.direct)
        exchange.wait_for_more()
        self.restart_agent(self.agent.process.kill)
        self.assert_tool_is_told(exchange)
        self.assert_new_ones_work(self.direct)

    def test_an_agent_that_is_killed_behind_a_proxy_that_stays(self):
        exchange = self.exchange(self.proxied)
        exchange.wait_for_more()
        self.restart_agent(self.agent.process.kill)
        self.assert_tool_is_told(exchange)
        self.assert_new_ones_work(self.proxied)

    def test_a_mirror_that_is_stopped_ends_what_it_carries_at_once(self):
        mirror = self.lab.mirror(self.agent.remote, flags=self.flags,
                                 directory=self.lab.new_directory(self.lab.near, "stopped"))
        mirror.wait_for(self.runtime)
        exchange = self.exchange(mirror)
        exchange.wait_for_more()
        mirror.stop()
        self.assert_tool_is_told(exchange)
        # Not only when the grace period is over, which is longer than this.
        self.assert_runtime_is_rid_of(exchange)


if __name__ == "__main__":
    main()
