"""Text from elsewhere in every field that people are shown: it forges no line and commands no terminal."""

import os
import pathlib

from harness import hostile, needs, wait
from harness.agent import PORT
from harness.case import Case, main
from harness.fake import FakeRuntime

FAKE_PID = 4711


class HostileText(Case):
    @classmethod
    def prepare(cls):
        cls.runtime = FakeRuntime(cls.lab, "--name", hostile.TEXT, "--command-line", f"dotnet {hostile.TEXT}",
                                  pid=FAKE_PID)
        cls.share(cls.runtime)
        cls.agent = cls.share(cls.lab.agent())
        cls.agent.wait_for(cls.runtime)

    def farport(self, *arguments, pair=None):
        return self.lab.near.run(needs.farport(), *arguments, *(pair or self.lab.tools_pair).flags())

    def assert_harmless(self, process, shown=r"x\n{"):
        """That nothing acts in what the program has printed, and that the text is there to be read."""
        for path in (process.stdout_path, process.stderr_path):
            self.assertEqual(hostile.harm_in(pathlib.Path(path).read_bytes()), "", process.output())
        self.assertIn(shown, process.stdout() + process.stderr())
        self.assertFalse([line for line in (process.stdout() + process.stderr()).splitlines()
                          if line.startswith(hostile.FORGED)], process.output())

    def assert_agent_log_is_clean(self, agent, shown=r"x\n{"):
        self.assert_harmless(agent.process, shown)
        self.assertEqual(hostile.odd_lines(pathlib.Path(agent.process.stderr_path).read_bytes()), [])

    def assert_command_is_harmless(self, *arguments):
        self.farport(*arguments)
        self.assert_harmless(self.lab.started[-1])

    def test_the_name_and_the_command_line_of_a_runtime_in_the_agents_log(self):
        self.assert_agent_log_is_clean(self.agent)

    def test_the_name_and_the_command_line_of_a_runtime_in_tables_and_messages(self):
        self.assert_command_is_harmless("ps", self.agent.remote)
        self.assert_command_is_harmless("dump", f"{self.agent.remote}/nothing")
        self.assert_command_is_harmless("can-i", self.agent.remote, "GenerateCoreDump3")

    def test_the_name_of_a_runtime_in_messages_of_run(self):
        self.lab.near.run(needs.farport(), "run", *self.lab.tools_pair.flags(), self.agent.remote, "--", "tool", "-n",
                          "nothing")
        self.assert_harmless(self.lab.started[-1])

    def test_the_name_of_a_runtime_in_a_mirrors_log(self):
        mirror = self.lab.near.start(needs.farport(), "connect", self.agent.remote, *self.lab.tools_pair.flags())
        mirror.wait_for_output("x\\n{")
        self.assertEqual(mirror.stop(), 0, mirror.output())
        self.assert_harmless(mirror)

    def test_the_server_name_of_a_raw_connection(self):
        pair = self.lab.tools_pair
        before = len(self.agent.log())
        self.lab.near.pipe([needs.program("openssl"), "s_client", "-quiet", "-cert", pair.cert, "-key", pair.key,
                            "-CAfile", pair.ca, "-connect", self.agent.remote, "-servername", hostile.TEXT], b"",
                           environment={"LANG": "C.UTF-8"})
        wait.until(lambda: len(self.agent.log()) > before, "the connection is in the log")
        self.assert_agent_log_is_clean(self.agent)

    def test_the_common_name_of_a_certificate(self):
        pair = self.lab.authority.with_dates("hostile", -1, 1, common_name=hostile.SHORT)
        before = len(self.agent.log())
        self.assertNotEqual(self.farport("ps", self.agent.remote, pair=pair).code, 0)
        wait.until(lambda: len(self.agent.log()) > before, "the session is in the log")
        self.assert_agent_log_is_clean(self.agent)
        self.lab.near.run(needs.farport(), "check", "127.0.0.1:1", *pair.flags())
        self.assert_harmless(self.lab.started[-1], r"x\0A{")  # names are written as RFC 2253 has them

    def test_the_path_of_a_socket(self):
        path = os.path.join(self.lab.new_directory(self.lab.far, hostile.SHORT), "orders.sock")
        runtime = self.lab.far.start(needs.fake_runtime(), path)
        runtime.wait_for_output("ready")
        agent = self.use(self.lab.agent("--log-level", "debug", "--runtime", f"orders={path}", port=PORT + 1,
                                        search=[]))
        agent.process.wait_for_output("found")
        agent.stop()
        self.assert_agent_log_is_clean(agent)
        runtime.stop()

    def test_the_paths_of_a_configuration(self):
        self.lab.near.run(needs.farport(), "serve", "--config", f"/nowhere/{hostile.TEXT}")
        self.assert_harmless(self.lab.started[-1])
        self.lab.near.run(needs.farport(), "check", "--config", f"/nowhere/{hostile.TEXT}")
        self.assert_harmless(self.lab.started[-1])
        self.lab.near.run(needs.farport(), "certs", "init", f"/dev/null/{hostile.TEXT}")
        self.assert_harmless(self.lab.started[-1])
        self.farport("ps", "127.0.0.1:1", f"--{hostile.TEXT}")
        self.assert_harmless(self.lab.started[-1])

    def test_the_name_of_a_host(self):
        self.assert_command_is_harmless("ps", f"{hostile.TEXT}:9000")

    def test_the_reasons_that_an_agent_gives(self):
        agent = hostile.refusing_agent(self.lab, PORT + 2, hostile.TEXT)
        self.addCleanup(agent.stop)
        self.assert_command_is_harmless("ps", agent.remote)
        self.assert_command_is_harmless("can-i", agent.remote)
        self.assert_command_is_harmless("dump", agent.remote)
        self.lab.near.run(needs.farport(), "run", *self.lab.tools_pair.flags(), agent.remote, "--", "tool", "-p", "1")
        self.assert_harmless(self.lab.started[-1])
        mirror = self.lab.near.start(needs.farport(), "connect", agent.remote, *self.lab.tools_pair.flags())
        mirror.wait_for_output("x\\n{")
        mirror.stop()
        self.assert_harmless(mirror)


if __name__ == "__main__":
    main()
