"""A trace that nobody reads any more is stopped in the runtime, however its reader went: even where the provider is
silent, so that the runtime itself would never notice."""

import os
import subprocess

from harness import ipc, needs, sockets, wait
from harness.api import Api
from harness.breaking import QUICK_PINGS
from harness.case import Case, main
from harness.certificates import AGENT_NAME
from harness.network import Network
from harness.silent import PROVIDER, Silent

GRACE = "2s"
# The promise is a second; the rest is for a loaded machine.
AT_ONCE_SECONDS = 5.0
# The grace period, the time until silence is noticed, and again a loaded machine's.
AFTER_GRACE_SECONDS = 15.0


class LeftRunning(Case):
    @classmethod
    def prepare(cls):
        cls.network = Network(cls.lab)
        cls.flags = ("--grace", GRACE, *QUICK_PINGS)
        cls.runtime = Silent(cls.lab)
        cls.agent = cls.lab.agent(*cls.flags)
        cls.agent.wait_for(cls.runtime)
        cls.mirror = cls.share(cls.lab.mirror(cls.agent.remote, flags=cls.flags))
        cls.mirror.wait_for(cls.runtime)
        cls.runtime.rest()

    @classmethod
    def tearDownClass(cls):
        cls.agent.stop()

    def setUp(self):
        self.addCleanup(self.network.mend)

    def hold(self, mirror=None, directory=None):
        """A tool with a session of the silent provider."""
        pid = (mirror or self.mirror).wait_for(self.runtime)[0]["local_pid"]
        tool = self.tools.start_driver("hold", pid, PROVIDER, environment={"TMPDIR": directory} if directory else None)
        tool.wait_for_output("open True")
        self.runtime.wait_until_enabled()
        return tool

    def test_a_tool_that_is_killed(self):
        tool = self.hold()
        tool.kill()
        self.runtime.wait_until_free(AT_ONCE_SECONDS)

    def test_a_dotnet_trace_that_is_killed(self):
        file = os.path.join(self.lab.new_directory(self.lab.near, "trace"), "silent.nettrace")
        pid = self.mirror.wait_for(self.runtime)[0]["local_pid"]
        tool = self.tools.start_trace("collect", "-p", pid, "--providers", PROVIDER, "-o", file)
        self.runtime.wait_until_enabled()
        tool.kill()
        self.runtime.wait_until_free(AT_ONCE_SECONDS)

    def test_one_of_two_tools_that_is_killed_leaves_the_other_its_session(self):
        first, second = self.hold(), self.hold()
        first.kill()
        with self.assertRaises(AssertionError):
            self.runtime.wait_until_free(2)
        self.assertTrue(self.runtime.has_session())
        self.assertTrue(second.running())
        second.kill()
        self.runtime.wait_until_free(AT_ONCE_SECONDS)

    def test_a_tool_that_is_killed_before_it_has_its_answer(self):
        path = self.mirror.wait_for(self.runtime)[0]["socket"]
        for _ in range(20):
            with sockets.connect(path) as tool:
                tool.sendall(ipc.session(ipc.COLLECT_TRACING + 1, PROVIDER))
        # Some may not have come to the runtime yet, which then looks as free as when all are gone.
        wait.until(lambda: self.mirror.wait_for(self.runtime)[0]["connections"] == 0, "the mirror has none any more")
        wait.until(lambda: b"farport_diagnostic_connections 0\n" in Api(self.lab).request("/v1/metrics").body,
                   "nor has the agent")
        self.runtime.wait_until_free(AT_ONCE_SECONDS)

    def test_a_raw_client_that_is_killed(self):
        pair = self.lab.tools_pair
        client = subprocess.Popen(
            [*self.lab.near.enter, needs.program("socat"), "-",
             f"OPENSSL:{AGENT_NAME}:{self.agent.port},cert={pair.cert},key={pair.key},cafile={pair.ca},"
             f"commonname={AGENT_NAME}"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
        self.addCleanup(client.wait)
        self.addCleanup(client.kill)
        client.stdin.write(ipc.session(ipc.COLLECT_TRACING + 1, PROVIDER))
        client.stdin.flush()
        self.runtime.wait_until_enabled()
        for pid in self.lab.near.processes():
            if b"socat" in open(f"/proc/{pid}/cmdline", "rb").read():
                os.kill(pid, 9)
        self.runtime.wait_until_free(AT_ONCE_SECONDS)

    def test_a_mirror_that_is_stopped(self):
        directory = self.lab.new_directory(self.lab.near, "stopped")
        mirror = self.lab.mirror(self.agent.remote, flags=self.flags, directory=directory)
        tool = self.hold(mirror, directory)
        mirror.stop()
        self.runtime.wait_until_free(AT_ONCE_SECONDS)
        tool.wait()

    def test_a_mirror_that_is_killed(self):
        directory = self.lab.new_directory(self.lab.near, "killed")
        mirror = self.lab.mirror(self.agent.remote, flags=self.flags, directory=directory)
        tool = self.hold(mirror, directory)
        mirror.process.kill()
        self.runtime.wait_until_free(AFTER_GRACE_SECONDS)
        tool.wait()

    def test_a_network_that_has_died(self):
        tool = self.hold()
        with self.network.dark():
            self.runtime.wait_until_free(AFTER_GRACE_SECONDS)
        tool.wait()
        self.assertNotIn("ended True", tool.stdout(), "the tool took it for a proper end")

    def test_a_tool_that_is_killed_while_the_network_is_away(self):
        tool = self.hold()
        with self.network.unplugged():
            tool.kill()
        self.runtime.wait_until_free(AFTER_GRACE_SECONDS)

    def test_an_agent_that_is_told_to_stop(self):
        tool = self.hold()
        seen = len(self.mirror.states())
        # Nobody else reaches the runtime: the agent has done it before it ended.
        self.agent.process.send(15)
        self.assertEqual(self.agent.process.wait(), 0, self.agent.process.output())
        self.runtime.wait_until_free(AT_ONCE_SECONDS)
        tool.wait()
        self.start_agent_again(seen)

    def test_an_agent_that_is_told_twice(self):
        tool = self.hold()
        seen = len(self.mirror.states())
        self.agent.process.send(15)
        self.agent.process.wait_for_output("stopping")
        self.agent.process.send(15)
        self.agent.process.wait(AT_ONCE_SECONDS)
        self.runtime.wait_until_free(AT_ONCE_SECONDS)
        tool.wait()
        self.start_agent_again(seen)

    def start_agent_again(self, seen):
        """Another agent in its place; the mirror is back once more than `seen` states tell of it."""
        type(self).agent = self.lab.agent(*self.flags)
        self.agent.wait_for(self.runtime)
        self.mirror.wait_until_back(seen)


if __name__ == "__main__":
    main()
