"""An agent that is told to stop: what runs may end by itself for a while, nothing new begins, and another agent can
take its place meanwhile."""

import errno
import signal

from harness import ipc, needs, sockets, wait
from harness.breaking import QUICK_PINGS
from harness.case import Case, main
from harness.exchange import HEAD_BYTES, Exchange, ask, read_exactly
from harness.scripted import ScriptedRuntime

# Longer than any of the tests, so that only what is meant to ends it.
LONG = "120s"
SHORT = "1s"


class Drain(Case):
    @classmethod
    def prepare(cls):
        cls.runtime = ScriptedRuntime(cls.lab)
        cls.addClassCleanup(cls.runtime.stop)

    def start(self, drain, *flags):
        """An agent and a mirror of it, which has these flags, too."""
        agent = self.use(self.agent(drain))
        mirror = self.use(self.lab.mirror(agent.remote, flags=(*QUICK_PINGS, *flags)))
        return agent, mirror, mirror.wait_for(self.runtime)[0]["socket"]

    def agent(self, drain, *flags):
        return self.lab.agent("--drain", drain, *QUICK_PINGS, *flags)

    def exchange(self, path):
        exchange = Exchange(self.runtime, path)
        self.addCleanup(exchange.close)
        exchange.wait_for_more()
        return exchange

    def begin_to_drain(self, agent):
        agent.process.send(signal.SIGTERM)
        wait.until(lambda: not self.is_listening(agent), lambda: f"it listens no more\n{agent.process.output()}")

    def is_listening(self, agent):
        try:
            self.lab.near.connect(self.lab.far.address, agent.port).close()
            return True
        # Reset: it waited to be accepted when the listener went.
        except (ConnectionRefusedError, ConnectionResetError):
            return False

    def assert_ends(self, agent):
        self.assertEqual(agent.process.wait(), 0, agent.process.output())

    def test_an_agent_with_nothing_to_do_ends_at_once(self):
        agent, _, path = self.start(LONG)
        sockets.exchange(path, ipc.process_info())
        agent.process.send(signal.SIGTERM)
        self.assert_ends(agent)

    def test_what_runs_goes_on_and_ends_by_itself(self):
        agent, _, path = self.start(LONG)
        exchange = self.exchange(path)
        self.begin_to_drain(agent)
        exchange.wait_for_more()
        self.assertTrue(agent.process.running())
        exchange.finish()
        self.assert_ends(agent)
        self.assertEqual(self.runtime.stopped, [])

    def test_what_does_not_end_in_time_is_stopped(self):
        agent, _, path = self.start(SHORT)
        exchange = self.exchange(path)
        agent.process.send(signal.SIGTERM)
        self.assert_ends(agent)
        self.assertEqual(self.runtime.stopped, [exchange.number])
        self.runtime.stopped.clear()
        error = exchange.at_tool.ended()
        self.assertEqual(getattr(error, "errno", None), errno.ECONNRESET)

    def test_a_tool_that_stops_what_the_agent_has_just_stopped_was_cut_off(self):
        agent, mirror, path = self.start(SHORT)
        number = 77
        with ask(path) as tool:
            asked = self.runtime.next()
            asked.begin_session(number)
            read_exactly(tool, HEAD_BYTES)
            agent.process.send(signal.SIGTERM)
            wait.until(lambda: number in self.runtime.stopped, lambda: f"it is stopped\n{agent.process.output()}")
            self.runtime.stopped.clear()
            asked.connection.close()
            self.assertEqual(sockets.read_to_end(tool), b"")
            # As dotnet-trace does now and then, before it closes its connection.
            with sockets.connect(path) as stopping:
                stopping.sendall(ipc.stop_session(number))
                wait.until(lambda: mirror.rows()[0]["connections"] > 1, lambda: f"it has come\n{mirror.process.output()}")
        mirror.process.wait_for_output(f"was cut off: the agent at {agent.remote} was stopped")
        self.assert_ends(agent)

    def test_a_second_signal_stops_at_once(self):
        for second in (signal.SIGTERM, signal.SIGINT):
            # The tool is told once the mirror has waited that long for the agent.
            agent, mirror, path = self.start(LONG, "--grace", "2s")
            exchange = self.exchange(path)
            self.begin_to_drain(agent)
            agent.process.send(second)
            agent.process.wait(10)
            error = exchange.at_tool.ended()
            self.assertEqual(getattr(error, "errno", None), errno.ECONNRESET)
            mirror.stop()
            self.runtime.stopped.clear()

    def test_sighup_while_it_drains_reads_the_certificates_and_nothing_else(self):
        agent, _, path = self.start(LONG)
        exchange = self.exchange(path)
        self.begin_to_drain(agent)
        for _ in range(3):
            agent.process.send(signal.SIGHUP)
            exchange.wait_for_more()
        wait.until(lambda: "have been read again" in agent.log(), agent.log)
        self.assertTrue(agent.process.running())
        self.assertFalse(self.is_listening(agent))
        exchange.finish()
        self.assert_ends(agent)

    def test_another_agent_takes_the_port_over(self):
        old, mirror, path = self.start(LONG)
        exchange = self.exchange(path)
        self.begin_to_drain(old)
        new = self.use(self.agent(LONG))
        self.assertEqual(len(new.runtimes()), 1)
        exchange.wait_for_more()

        def answered():
            path = mirror.wait_for(self.runtime)[0]["socket"]
            try:
                return ipc.parse_process_info(sockets.exchange(path, ipc.process_info()))
            except (ValueError, OSError):
                return None

        wait.until(answered, lambda: f"the mirror reaches the new agent\n{mirror.process.output()}")
        exchange.wait_for_more()
        exchange.finish()
        self.assert_ends(old)

    def test_another_agent_listens_on_the_port_before_the_old_one_is_told_to_stop(self):
        old = self.use(self.agent(LONG, "--reuse-port"))
        new = self.use(self.agent(LONG, "--reuse-port"))
        # Only its own log tells: somebody listens on the port anyway.
        wait.until(lambda: "listening on" in new.log(), lambda: f"the new agent listens\n{new.process.output()}")
        old.stop()
        self.assertEqual(len(new.runtimes()), 1)

    def test_a_port_that_another_process_listens_on_is_named(self):
        held = self.lab.far.start(needs.program("socat"), f"TCP-LISTEN:9050,bind={self.lab.far.address},fork", "STDOUT")
        self.addCleanup(held.kill)
        wait.until(lambda: "9050" in self.listening(), "the port is taken")
        done = self.lab.far.run(needs.farport(), "serve", *self.lab.agent_pair.flags(), "--allow-cn", "tools",
                                "--listen", f"{self.lab.far.address}:9050")
        self.assertEqual(done.code, 1, done.described)
        self.assertIn(f"{self.lab.far.address}:9050", done.stderr)
        self.assertIn("in use", done.stderr)

    def listening(self):
        return self.lab.far.run(needs.program("ss"), "-Hltn").stdout


if __name__ == "__main__":
    main()
