"""`farport run` starts a tool that finds the remote runtime under the names that a person uses."""

import os
import signal

from harness import needs, proc, wait
from harness.case import Case, main
from harness.certificates import AGENT_NAME


class Run(Case):
    @classmethod
    def prepare(cls):
        cls.application = cls.lab.orders(busy=True)
        cls.agent = cls.share(cls.lab.agent())
        cls.agent.wait_for(cls.application)

    def setUp(self):
        self.file = os.path.join(self.lab.new_directory(self.lab.near, "trace"), "orders.nettrace")

    def tearDown(self):
        super().tearDown()
        self.assertEqual(self.lab.near.processes(), [])
        self.assertEqual(os.listdir(self.lab.near.tmp), [], "its private directory is left")

    def collect(self, *target, remote=()):
        """Records for two seconds through `farport run`."""
        self.assert_ok(self.tools.farport_run(
            needs.dotnet_trace(), "collect", *target, "--duration", "00:00:02", "--output", self.file, remote=remote))
        frames = self.tools.frames(self.file)
        self.assertTrue([frame for frame in frames if "Orders.Pricing.PriceOrder" in frame], sorted(frames))

    def run_shell(self, script, **options):
        """Runs a few lines of shell as the tool."""
        return self.tools.farport_run("sh", "-c", script, remote=[self.agent.remote], **options)

    def test_a_diagnostic_port_that_is_an_address(self):
        self.collect("--diagnostic-port", self.agent.remote)

    def test_a_diagnostic_port_that_is_a_name(self):
        self.collect("--diagnostic-port", f"{AGENT_NAME}:9000")

    def test_a_diagnostic_port_with_the_runtimes_name_and_connect(self):
        self.collect(f"--diagnostic-port={AGENT_NAME}:9000/orders,connect")

    def test_the_remote_pid(self):
        self.collect("-p", self.application.pid_inside, remote=[self.agent.remote])

    def test_the_remote_name(self):
        self.collect("-n", "orders", remote=[self.agent.remote])

    def test_replicas_are_told_apart_by_their_hosts(self):
        agents = [self.use(self.lab.agent("--host-name", name, port=port))
                  for name, port in (("web-1", 9001), ("web-2", 9002))]
        remotes = [agent.remote for agent in agents]
        for agent in agents:
            agent.wait_for(self.application)
            self.assertEqual(agent.runtimes()[0]["host"], f"web-{agent.port - 9000}")
        finished = self.tools.farport_run("true", "-n", "orders", remote=remotes)
        self.assertEqual(finished.code, 125, finished.described)
        for choice in ("orders@web-1 (", "orders@web-2 ("):
            self.assertIn(choice, finished.stderr)
        self.collect("-n", "orders@web-2", remote=remotes)
        self.collect("-p", f"{self.application.pid_inside}@web-1", remote=remotes)

    def test_a_tool_that_lists_processes_sees_the_remote_ones(self):
        finished = self.assert_ok(self.tools.farport_run(needs.dotnet_trace(), "ps", remote=[self.agent.remote]))
        self.assertIn("orders.dll --seconds", finished.stdout)

    def test_the_exit_code_is_the_tools_own(self):
        self.assertEqual(self.run_shell("exit 37").code, 37)

    def test_a_tool_that_a_signal_ends_gives_128_and_its_number(self):
        self.assertEqual(self.run_shell("kill -KILL $$").code, 128 + signal.SIGKILL)

    def test_a_tool_that_is_not_there_gives_127(self):
        finished = self.tools.farport_run("no-such-tool", remote=[self.agent.remote])
        self.assertEqual(finished.code, 127, finished.described)
        self.assertIn("no-such-tool", finished.stderr)

    def test_an_agent_that_cannot_be_reached_gives_125(self):
        finished = self.tools.farport_run("true", remote=[f"{self.lab.far.address}:9009"])
        self.assertEqual(finished.code, 125, finished.described)
        self.assertIn(f"{self.lab.far.address}:9009", finished.stderr)

    def test_a_runtime_that_is_not_there_gives_125_and_says_what_there_is(self):
        finished = self.tools.farport_run("true", "-p", "4711", remote=[self.agent.remote])
        self.assertEqual(finished.code, 125, finished.described)
        self.assertIn("4711", finished.stderr)
        self.assertIn("orders", finished.stderr)

    def test_without_any_agent_it_is_wrong_usage(self):
        finished = self.tools.farport_run("true")
        self.assertIn(finished.code, (2, 125), finished.described)
        self.assertIn("agent", finished.stderr)

    def test_input_and_output_are_the_tools_own(self):
        output, code = self.lab.near.pipe(
            [needs.farport(), "run", self.agent.remote, *self.lab.tools_pair.flags(), "--", "tr", "a-z", "A-Z"],
            b"priced\n")
        self.assertEqual((output, code), (b"PRICED\n", 0))

    def test_the_tool_is_told_its_directory_which_holds_the_sockets(self):
        finished = self.assert_ok(self.run_shell('ls "$TMPDIR"'))
        self.assertRegex(finished.stdout, r"dotnet-diagnostic-\d+-\d+-socket")
        self.assertRegex(finished.stdout, r"dotnet-diagnostic-dsrouter-\d+-\d+-socket")

    def start_collecting(self):
        """Starts a recording without an end; returns farport and the tool's pid once it has begun."""
        process = self.lab.near.start(
            needs.farport(), "run", "--", needs.dotnet_trace(), "collect", "--diagnostic-port", self.agent.remote,
            "--output", self.file, environment=self.lab.tools_pair.environment() | {"DOTNET_EnableDiagnostics": "0"})

        def tool():
            found = [pid for pid in proc.children(process.pid)
                     if any(b"collect" == argument for argument in proc.command_line(pid))]
            return found if found and os.path.exists(self.file) and os.path.getsize(self.file) > 0 else None

        return process, wait.until(tool, lambda: f"the recording begins\n{process.output()}")[0]

    def test_ctrl_c_ends_the_recording_and_not_before_the_tool_has_finished(self):
        process, tool = self.start_collecting()
        # A terminal sends it to both.
        os.kill(tool, signal.SIGINT)
        process.send(signal.SIGINT)
        self.assertEqual(process.wait(), 0, process.output())
        self.assertTrue([frame for frame in self.tools.frames(self.file) if frame.startswith("orders!")])

    def test_sigterm_is_passed_on_to_the_tool(self):
        finished = self.lab.near.start(
            needs.farport(), "run", self.agent.remote, *self.lab.tools_pair.flags(), "--",
            "sh", "-c", "trap 'exit 5' TERM; echo ready; while :; do sleep 0.05; done")
        finished.wait_for_output("ready")
        self.assertEqual(finished.stop(signal.SIGTERM), 5, finished.output())


if __name__ == "__main__":
    main()
