"""`farport run` says what becomes of the session, and a tool whose connection was cut off has not succeeded."""

import os
import re

from harness import needs, wait
from harness.breaking import QUICK_PINGS
from harness.case import Case, main
from harness.proxy import Proxy

GRACE_SECONDS = 3


class CutOff(Case):
    @classmethod
    def prepare(cls):
        cls.application = cls.lab.orders()
        cls.proxy = Proxy(cls.lab)

    def setUp(self):
        self.agent = self.use(self.lab.agent(*QUICK_PINGS, "--drain", "1s"))
        self.agent.wait_for(self.application)
        self.file = os.path.join(self.lab.new_directory(self.lab.near, "trace"), "orders.nettrace")

    def start(self, remote, seconds):
        run = self.lab.near.start(
            needs.farport(), "run", *QUICK_PINGS, "--grace", f"{GRACE_SECONDS}s", *self.lab.tools_pair.flags(), "--",
            needs.dotnet_trace(), "collect", "--diagnostic-port", remote, "--duration", f"00:00:{seconds:02}",
            "--output", self.file, environment={"DOTNET_EnableDiagnostics": "0"})
        wait.until(lambda: os.path.exists(self.file) and os.path.getsize(self.file) > 0,
                   lambda: f"the recording begins\n{run.output()}")
        return run

    def lines(self, run):
        """What farport itself has said."""
        return [line for line in run.stderr().splitlines() if line.startswith("farport: ")]

    def test_an_agent_that_stops_under_a_trace_is_no_success(self):
        run = self.start(self.agent.remote, 50)
        self.agent.stop()
        self.assertEqual(run.wait(), 125, run.output())
        self.assertIn("Trace completed", run.stdout())
        cut, = [line for line in self.lines(run) if "was cut off" in line]
        self.assertIn("orders", cut)
        self.assertIn("was stopped", cut)

    def test_a_network_that_is_gone_for_good_is_said_when_it_breaks_and_at_the_end(self):
        run = self.start(self.proxy.remote, 50)
        self.proxy.kill()
        wait.until(lambda: any("dialling again" in line for line in self.lines(run)),
                   lambda: f"the break is said\n{run.output()}")
        self.assertNotEqual(run.wait(), 0, run.output())
        cut, = [line for line in self.lines(run) if "was cut off" in line]
        self.assertIn(f"within {GRACE_SECONDS} s", cut)
        self.proxy.start()

    def test_a_break_that_is_over_soon_is_said_and_costs_nothing(self):
        run = self.start(self.proxy.remote, 8)
        self.proxy.tell("reset")
        wait.until(lambda: any("connected with" in line and "again" in line for line in self.lines(run)),
                   lambda: f"it says that the session is back\n{run.output()}")
        self.assertEqual(run.wait(), 0, run.output())
        self.assertFalse([line for line in self.lines(run) if "was cut off" in line], run.output())

    def test_a_trace_that_ends_by_itself_is_no_more_than_the_tool_says(self):
        run = self.start(self.agent.remote, 2)
        self.assertEqual(run.wait(), 0, run.output())
        self.assertEqual(self.lines(run), [])


class Listening(Case):
    @classmethod
    def prepare(cls):
        cls.port = f"{cls.lab.new_directory(cls.lab.far, 'diag')}/farport.sock"
        cls.agent = cls.share(cls.lab.agent("--diagnostic-port", cls.port, "--host-name", "web-1"))
        cls.running = cls.lab.orders()
        cls.agent.wait_for(cls.running)

    def start(self, target):
        self.directory = self.lab.new_directory(self.lab.near, "trace")
        return self.lab.near.start(
            needs.farport(), "run", *self.lab.tools_pair.flags(), "--", needs.program("env"), "-C", self.directory,
            needs.dotnet_trace(), "collect", "--diagnostic-port", target, "--duration", "00:00:02",
            environment={"DOTNET_EnableDiagnostics": "0"})

    def assert_took(self, run, application):
        self.assertEqual(run.wait(), 0, run.output())
        taken = re.findall(r"the tool gets (\S+) \(pid (\d+) on web-1\)", run.stderr())
        self.assertEqual(taken, [("orders", str(application.pid_inside))], run.output())

    def test_it_takes_the_next_runtime_that_starts_and_no_running_one(self):
        run = self.start(f"{self.agent.remote},listen")
        run.wait_for_output(f"farport: waiting for the next runtime to start at {self.agent.remote}")
        run.wait_for_output("Waiting for connection")
        started = self.use(self.lab.orders())
        self.assert_took(run, started)
        name, = os.listdir(self.directory)
        self.assertRegex(name, r"^10\.77\.0\.1_\d{8}_\d{6}\.nettrace$")
        started.stop()

    def test_it_takes_one_that_is_suspended(self):
        suspended = self.lab.orders(environment={"DOTNET_DiagnosticPorts": self.port}, diagnostics=False)
        self.addCleanup(suspended.kill)
        self.agent.wait_for(self.running, suspended)
        run = self.start(f"{self.agent.remote},listen")
        self.assert_took(run, suspended)
        self.assertIn("which is suspended", run.stderr())

    def test_a_running_one_that_is_named_is_taken_at_once(self):
        run = self.start(f"{self.agent.remote}/orders@web-1,listen")
        self.assert_took(run, self.running)
        name, = os.listdir(self.directory)
        self.assertRegex(name, r"^orders_\d{8}_\d{6}\.nettrace$")

    def test_one_that_is_named_and_not_there_is_waited_for(self):
        run = self.start(f"{self.agent.remote}/billing,listen")
        run.wait_for_output(f"waiting for billing to start at {self.agent.remote}")
        self.assertNotIn("the tool gets", run.stderr())
        run.stop()

    def tearDown(self):
        self.doCleanups()
        self.agent.wait_for(self.running)
        super().tearDown()


if __name__ == "__main__":
    main()
