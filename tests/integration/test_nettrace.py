"""The nettrace reader sees what Microsoft's library sees in traces of real runtimes, event by event."""

import os

from harness import exchange, ipc, needs, traces, wait
from harness.case import Case, main
from harness.orders import Orders

EVERYTHING = ("Orders:0xffffffffffffffff:5,Talkative:0xffffffffffffffff:5,SelfDescribing:0xffffffffffffffff:5,"
              "Microsoft-Windows-DotNETRuntime:0xffffffffffffffff:5,Microsoft-DotNETCore-SampleProfiler,"
              "System.Runtime:0xffffffffffffffff:5:EventCounterIntervalSec=1,"
              "System.Threading.Tasks.TplEventSource:0xffffffffffffffff:5")
MIB = 1024 * 1024


class Traces(Case):
    def collect(self, pid, *flags):
        """Records for three seconds, and returns the file."""
        file = os.path.join(self.lab.new_directory(self.lab.near, "trace"), "recorded.nettrace")
        self.assert_ok(self.tools.trace("collect", "--process-id", pid, "--duration", "00:00:03", "--output", file, *flags))
        return file

    def assert_same(self, file):
        """That both readers see the same events in a whole trace; returns ours."""
        ours, theirs = traces.ours(self.lab.near, file), traces.theirs(self.tools, file)
        self.assertEqual(ours.totals["whole"], "yes")
        for mine, other in traces.pairs(ours, theirs):
            self.assertEqual(mine, other)
        self.assertEqual(len(ours.events), len(theirs.events))
        self.assertEqual(ours.totals["dropped"], theirs.totals["dropped"])
        return ours


class Applications(Traces):
    @classmethod
    def prepare(cls):
        cls.application = cls.share(Orders(cls.lab.near))

    def test_several_providers_with_stacks_and_a_rundown(self):
        ours = self.assert_same(self.collect(self.application.process.pid_on_host, "--providers", EVERYTHING))
        self.assertGreater(len(ours.of("Orders")), 300)
        self.assertGreater(len(ours.of("System.Runtime")), 20)
        self.assertGreater(len(ours.of(traces.RUNTIME)), 1000)
        self.assertGreater(len(ours.of(traces.RUNDOWN)), 1000)
        self.assertTrue(all(event[9] for event in ours.of("Microsoft-DotNETCore-SampleProfiler")))

    def test_a_trace_by_default(self):
        ours = self.assert_same(self.collect(self.application.process.pid_on_host))
        self.assertGreater(int(ours.totals["stacks"]), 10)

    def test_a_trace_that_is_cut_off(self):
        file = self.collect(self.application.process.pid_on_host, "--providers", EVERYTHING)
        whole = traces.ours(self.lab.near, file)
        size = os.path.getsize(file)
        os.truncate(file, size // 2)
        half = traces.ours(self.lab.near, file)
        self.assertEqual(half.totals["whole"], f"cannot read the trace at byte {size // 2}: it breaks off")
        self.assertGreater(len(half.events), 100)
        self.assertEqual(half.events, whole.events[:len(half.events)])


class Runtimes(Traces):
    """Fields of every type, exceptions, collections, activities and threads, on each runtime."""

    def check(self, framework):
        application = self.lab.near.start(needs.talkative(framework), "600")
        application.wait_for_output("talking")
        self.addCleanup(application.kill)
        ours = self.assert_same(self.collect(application.pid_on_host, "--providers", EVERYTHING))
        self.assertGreaterEqual({event[2] for event in ours.of("Talkative")},
                                {"Numbers", "Others", "Texts", "WorkStart", "WorkStop"})
        self.assertGreaterEqual({event[2] for event in ours.of("SelfDescribing")}, {"Arrays", "Structures"})
        # An exception is thrown, and a collection begins.
        self.assertGreaterEqual({event[1] for event in ours.of(traces.RUNTIME)}, {"80", "1"})

    def test_the_installed_runtime(self):
        self.check(None)

    def test_net_9(self):
        self.check("net9.0")

    def test_net_8(self):
        self.check("net8.0")


class Format6(Traces):
    """Runtimes write format 4. dotnet-trace collect-linux writes 6, from what the kernel tells it: this has been recorded
    so, of the sample application."""

    def test_a_trace_of_the_kernels_events(self):
        ours = self.assert_same(str(needs.ROOT / "tests/integration/traces/collect_linux.nettrace"))
        self.assertEqual({event[0] for event in ours.events}, {"Universal.Events", "Universal.System"})
        self.assertGreater(int(ours.totals["stacks"]), 40)


class Dropping(Traces):
    """The runtime drops events for which its buffers have no room while nobody reads."""

    def test_events_that_the_runtime_dropped_are_counted(self):
        application = self.lab.near.start(needs.talkative(), "flood")
        application.wait_for_output("waiting")
        self.addCleanup(application.kill)
        socket = wait.until(lambda: [path for path in self.lab.near.sockets() if f"-{application.pid_on_host}-" in path],
                            "the application opens its diagnostic port")[0]
        file = os.path.join(self.lab.new_directory(self.lab.near, "trace"), "dropping.nettrace")
        with exchange.ask(socket, ipc.session(ipc.COLLECT_TRACING + 1, provider="Talkative")) as tool:
            session = ipc.parse_session(exchange.read_exactly(tool, exchange.HEAD_BYTES))
            application.wait_for_output("flooded")
            stopping = exchange.ask(socket, ipc.stop_session(session))
            with open(file, "wb") as out:
                while part := tool.recv(MIB):
                    out.write(part)
            stopping.close()
        ours = self.assert_same(file)
        self.assertGreater(int(ours.totals["dropped"]), 1000)


if __name__ == "__main__":
    main()
