"""Tools that listen: remote applications recorded from their first instruction."""

import os
import signal

from harness import events, ipc, needs, proc, wait
from harness.api import Api
from harness.case import Case, main


class Startup(Case):
    @classmethod
    def prepare(cls):
        cls.port = f"{cls.lab.new_directory(cls.lab.far, 'diag')}/farport.sock"
        cls.agent = cls.share(cls.lab.agent("--diagnostic-port", cls.port))

    def suspended(self, **options):
        """An application that waits to be resumed before its first instruction."""
        application = self.lab.orders(environment={"DOTNET_DiagnosticPorts": self.port}, diagnostics=False, **options)
        self.addCleanup(application.kill)
        self.agent.wait_for(application)
        self.assertEqual(self.agent.runtimes()[0]["state"], "suspended")
        return application

    def trace_path(self):
        return os.path.join(self.lab.new_directory(self.lab.near, "trace"), "startup.nettrace")

    def assert_recorded_from_its_start(self, application, path):
        """That the trace holds what only the beginning of an application does, and that it runs now."""
        self.assertTrue(events.holds_the_start(path))
        application.process.wait_for_output("pricing")
        wait.until(lambda: self.agent.runtimes()[0]["state"] == "running", "it is listed as running")

    def record_start(self, application, path):
        """Records it until it prices, however long its start takes. Returns what farport has said."""
        recording = self.lab.near.start(needs.farport(), "trace", self.agent.remote, *self.lab.tools_pair.flags(),
                                        *events.JITTING, "-o", path, name="recording")
        self.addCleanup(recording.stop)
        application.process.wait_for_output("pricing")
        recording.send(signal.SIGINT)
        self.assertEqual(recording.wait(), 0, recording.output())
        return recording.stderr()

    def test_farport_trace_has_it_go_on_and_records_its_start(self):
        application = self.suspended()
        path = self.trace_path()
        self.assertIn("was suspended at its start, and goes on now", self.record_start(application, path))
        self.assert_recorded_from_its_start(application, path)

    def test_no_other_command_touches_one_that_is_suspended(self):
        application = self.suspended()
        for command in (("counters", "--duration", "1"), ("stacks",), ("logs",), ("exceptions",), ("gcdump",),
                        ("profile", "--wall", "--duration", "1")):
            done = self.farport(*command)
            self.assertEqual((done.code, done.stdout), (1, ""), done.described)
            self.assertIn("it is suspended at its start; farport trace", done.stderr)
        done = self.farport("profile", "--duration", "1")
        self.assertEqual(done.code, 0, done.described)
        self.assertIn("methods of .NET have no names: cannot record orders: it is suspended at its start", done.stderr)
        self.assertIn("it is suspended", self.farport("top", "--rounds", "1").stdout)
        api = Api(self.lab)
        answer = api.request(f"/v1/runtimes/{self.agent.runtimes()[0]['id']}/stacks")
        self.assertEqual(answer.status, 409, answer.body)
        self.assertEqual(self.agent.runtimes()[0]["state"], "suspended")
        # A session that is begun and stopped while it is suspended would crash it now.
        path = self.trace_path()
        self.record_start(application, path)
        self.assert_recorded_from_its_start(application, path)
        self.assertTrue(application.process.running(), application.process.output())

    def test_farport_trace_leaves_it_suspended_where_that_is_wanted(self):
        application = self.suspended()
        path = self.trace_path()
        trace = self.lab.near.start(needs.farport(), "trace", self.agent.remote, *self.lab.tools_pair.flags(),
                                    "--no-resume", *events.JITTING, "-o", path)
        trace.wait_for_output("is suspended at its start, and is left so")
        runtime, = self.agent.runtimes()
        self.assertEqual(runtime["state"], "suspended")
        answer = Api(self.lab).post(runtime["id"], ipc.message(ipc.PROCESS, ipc.RESUME_RUNTIME)).body
        self.assertEqual(ipc.parse(answer)[:2], (ipc.SERVER, ipc.OK))
        application.process.wait_for_output("pricing")
        self.assertEqual(trace.stop(signal.SIGINT), 0, trace.output())
        self.assert_recorded_from_its_start(application, path)

    def test_one_that_nobody_has_resumed_survives_the_end_of_its_recording(self):
        for duration in ("1ms", "1"):
            for flags in (("--no-resume",), ()):
                with self.subTest(duration=duration, flags=flags):
                    application = self.suspended()
                    done = self.farport("trace", "--duration", duration, *flags, *events.JITTING, "-o", self.trace_path())
                    self.assertEqual(done.code, 0, done.described)
                    application.process.wait_for_output("pricing")
                    application.kill()
                    self.agent.wait_for()

    def farport(self, command, *arguments):
        return self.lab.near.run(needs.farport(), command, self.agent.remote, *self.lab.tools_pair.flags(), *arguments)

    def test_farport_run_has_a_tool_listen(self):
        application = self.suspended()
        path = self.trace_path()
        done = self.tools.farport_run(
            needs.dotnet_trace(), "collect", "--diagnostic-port", f"{self.agent.remote},listen", "--duration",
            "00:00:02", *events.JITTING, "-o", path)
        self.assert_ok(done)
        self.assert_recorded_from_its_start(application, path)

    def test_a_mirror_dials_a_tool_that_listens(self):
        directory = self.lab.new_directory(self.lab.near, "sockets")
        socket = f"{directory}/tool.sock"
        application = self.suspended()
        mirror = self.use(self.lab.mirror(self.agent.remote, directory=directory, flags=("--to", socket)))
        mirror.wait_for(application)
        path = self.trace_path()
        self.assert_ok(self.tools.trace(
            "collect", "--diagnostic-port", socket, "--duration", "00:00:02", *events.JITTING, "-o", path))
        self.assert_recorded_from_its_start(application, path)

    def test_a_tool_that_listens_first_gets_an_application_that_starts_later(self):
        directory = self.lab.new_directory(self.lab.near, "sockets")
        socket = f"{directory}/tool.sock"
        self.use(self.lab.mirror(self.agent.remote, directory=directory, flags=("--to", f"orders={socket}")))
        path = self.trace_path()
        tool = self.tools.start_trace("collect", "--diagnostic-port", socket, "--duration", "00:00:02",
                                      *events.JITTING, "-o", path)
        tool.wait_for_output("Waiting for connection")
        application = self.lab.orders(environment={"DOTNET_DiagnosticPorts": self.port}, diagnostics=False)
        self.addCleanup(application.kill)
        self.assertEqual(tool.wait(), 0, tool.output())
        self.assert_recorded_from_its_start(application, path)

    def test_a_dump_that_a_suspended_runtime_cannot_write_is_explained(self):
        application = self.suspended()
        path = os.path.join(self.lab.new_directory(self.lab.near, "dumps"), "x.dmp")
        done = self.lab.near.run(needs.farport(), "dump", self.agent.remote, "-o", path, "--type", "mini",
                                 *self.lab.tools_pair.flags())
        self.assertEqual(done.code, 1, done.described)
        self.assertIn("a suspended runtime writes only full dumps", done.stderr)
        application.kill()

    def test_by_pid_the_tool_resumes_it_too(self):
        application = self.suspended()
        directory = self.lab.new_directory(self.lab.near, "sockets")
        mirror = self.use(self.lab.mirror(self.agent.remote, directory=directory))
        local_pid = mirror.wait_for(application)[0]["local_pid"]
        path = self.trace_path()
        self.assert_ok(self.tools.trace(
            "collect", "-p", local_pid, "--duration", "00:00:02", *events.JITTING, "-o", path, environment={"TMPDIR": directory}))
        self.assert_recorded_from_its_start(application, path)
        # It was known by its program alone before it ran.
        command_line = self.agent.runtimes()[0]["command_line"]
        placeholder, = mirror.placeholders()
        wait.until(lambda: proc.command_line(placeholder) == command_line.encode().split(b" "),
                   "its placeholder has its whole command line")
        listed = self.tools.trace("ps", environment={"TMPDIR": directory})
        self.assert_ok(listed)
        self.assertIn(command_line.split(" ", 1)[1], listed.stdout)
        self.assertEqual(mirror.wait_for(application)[0]["local_pid"], local_pid)

    def tearDown(self):
        self.doCleanups()
        self.agent.wait_for()
        super().tearDown()


if __name__ == "__main__":
    main()
