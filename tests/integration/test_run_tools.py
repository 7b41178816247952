"""What stock tools show and name through `farport run` and the mirror is the application's, as it is locally."""

import os
import pathlib
import signal

from harness import needs, proc, wait
from harness.case import Case, main

TRACE_OF_ORDERS = r"^orders_\d{8}_\d{6}\.nettrace$"
DIRECTORIES = ("farport-run-", "farport-programs-")


class Named(Case):
    @classmethod
    def prepare(cls):
        cls.application = cls.lab.orders()
        cls.agent = cls.share(cls.lab.agent())
        cls.agent.wait_for(cls.application)

    def tearDown(self):
        super().tearDown()
        self.assertEqual([name for name in os.listdir(self.lab.near.tmp) if name.startswith(DIRECTORIES)], [])

    def collect(self, *target, tool=needs.dotnet_trace, remote=()):
        """Records for a second into a file that the tool names; returns its name."""
        directory = self.lab.new_directory(self.lab.near, "named")
        done = self.assert_ok(self.tools.farport_run(
            needs.program("env"), "-C", directory, tool(), "collect", *target, "--duration", "00:00:01", remote=remote))
        name, = os.listdir(directory)
        self.assertNotIn("memfd", done.text)
        return name

    def test_the_file_is_called_after_the_application(self):
        for target in (("--diagnostic-port", self.agent.remote), ("--dport", f"{self.agent.remote}/orders,connect")):
            self.assertRegex(self.collect(*target), TRACE_OF_ORDERS)
        for target in (("-p", self.application.pid_inside), ("-n", "orders")):
            self.assertRegex(self.collect(*target, remote=[self.agent.remote]), TRACE_OF_ORDERS)

    def test_ps_shows_a_program_of_the_applications_name(self):
        mirror = self.use(self.lab.mirror(self.agent.remote))
        mirror.wait_for(self.application)
        listed = self.assert_ok(self.tools.trace("ps")).stdout
        self.assertRegex(listed, r"/orders\b")
        self.assertNotIn("memfd", listed)
        mirror.stop()

    def test_where_nothing_may_be_executed_tools_work_all_the_same(self):
        directory = self.lab.new_directory(self.lab.near, "noexec")
        self.assert_ok(self.lab.near.run(needs.program("mount"), "-t", "tmpfs", "-o", "noexec", "none", directory))
        try:
            done = self.assert_ok(self.tools.farport_run(
                needs.dotnet_trace(), "collect", "-n", "orders", "--duration", "00:00:01", "-o",
                f"{self.lab.near.directory}/noexec.nettrace", remote=[self.agent.remote],
                environment={"TMPDIR": directory}))
            self.assertIn("memfd", done.text)
        finally:
            # What has stood for the application may still be on its way out.
            wait.until(lambda: self.lab.near.run(needs.program("umount"), directory).code == 0, "nobody uses it any more")


class StartedByDotnet(Case):
    @classmethod
    def prepare(cls):
        library = f"{os.path.dirname(needs.orders())}/orders.dll"
        process = cls.lab.far.start(needs.program("dotnet"), library, "--discounts", "10", "--seconds", "3600",
                                    environment={"TMPDIR": cls.lab.far.tmp})
        process.wait_for_output("pricing")
        cls.addClassCleanup(process.kill)
        cls.agent = cls.share(cls.lab.agent())
        wait.until(lambda: cls.agent.runtimes(), "the agent lists it")

    def test_each_of_its_names_chooses_it(self):
        for name in ("orders.dll", "orders", "dotnet"):
            done = self.tools.farport_run(needs.dotnet_trace(), "collect", "-n", name, "--duration", "00:00:01", "-o",
                                          f"{self.lab.near.directory}/{name}.nettrace", remote=[self.agent.remote])
            self.assert_ok(done)


class LeftBehind(Case):
    @classmethod
    def prepare(cls):
        cls.application = cls.lab.orders()
        cls.agent = cls.share(cls.lab.agent())
        cls.agent.wait_for(cls.application)

    def directories(self):
        return sorted(name for name in os.listdir(self.lab.near.tmp) if name.startswith(DIRECTORIES))

    def start(self):
        run = self.lab.near.start(needs.farport(), "run", self.agent.remote, *self.lab.tools_pair.flags(), "--",
                                  "sh", "-c", "echo ready; exec sleep 60")
        run.wait_for_output("ready")
        return run

    def test_what_a_killed_run_leaves_the_next_one_removes(self):
        run = self.start()
        tool = proc.children(run.pid)
        run.kill()
        for pid in tool:
            if proc.is_alive(pid):
                os.kill(pid, signal.SIGKILL)
        self.assertEqual(len(self.directories()), 1)
        self.assert_ok(self.tools.farport_run("true", remote=[self.agent.remote]))
        self.assertEqual(self.directories(), [])

    def test_a_run_leaves_alone_what_another_one_uses_and_what_is_the_users_own(self):
        own = pathlib.Path(self.lab.near.tmp, "farport-run-notes")
        own.mkdir(mode=0o700)
        (own / "notes.txt").write_text("years of work")
        os.utime(own, (0, 0))
        run = self.start()
        in_use = self.directories()
        self.assertEqual(len(in_use), 2)
        self.assert_ok(self.tools.farport_run("true", remote=[self.agent.remote]))
        self.assertEqual(self.directories(), in_use)
        self.assertEqual((own / "notes.txt").read_text(), "years of work")
        run.stop()
        (own / "notes.txt").unlink()
        own.rmdir()


if __name__ == "__main__":
    main()
