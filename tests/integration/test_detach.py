"""`farport connect --detach` and `farport disconnect`: a mirror that goes on by itself."""

import json
import os
import signal
import stat

from harness import needs, proc, wait
from harness.agent import PORT
from harness.case import Case, main
from harness.fake import FakeRuntime
from harness.terminal import Terminal


class Detached(Case):
    @classmethod
    def prepare(cls):
        cls.first = cls.share(FakeRuntime(cls.lab, "--name", "orders", pid=4711))
        cls.agent = cls.share(cls.lab.agent())
        cls.agent.wait_for(cls.first)

    def setUp(self):
        self.runtime = self.lab.new_directory(self.lab.near, "run")
        os.chmod(self.runtime, 0o700)
        self.environment = {"XDG_RUNTIME_DIR": self.runtime, **self.lab.tools_pair.environment()}
        self.addCleanup(lambda: self.farport("disconnect", "--all"))

    def farport(self, *arguments, **environment):
        return self.lab.near.run(needs.farport(), *arguments, environment=self.environment | environment)

    def connect(self, *arguments):
        """A mirror of the agent, detached."""
        return self.assert_ok(self.farport("connect", self.agent.remote, "--detach", *arguments))

    def mirror(self):
        """The pid of the only mirror that runs on the near host."""
        found, = [pid for pid in self.lab.near.processes() if b"connect" in proc.command_line(pid)]
        return found

    def files(self):
        """What is in the directory of detached mirrors."""
        return sorted(os.listdir(os.path.join(self.runtime, "farport")))

    def assert_nothing_left(self):
        wait.until(lambda: not self.lab.near.processes(), "its processes are gone")
        self.assertEqual(self.lab.near.sockets(), [])
        self.assertEqual(self.files(), [])

    def test_it_returns_once_the_runtimes_are_listed_and_the_tools_work(self):
        finished = self.connect()
        lines = finished.stdout.splitlines()
        self.assertTrue(lines[0].startswith("LOCAL PID"), finished.described)
        self.assertEqual(lines[1].split()[1:4], ["orders", "4711", "running"])
        self.assertIn(f"farport disconnect {self.agent.remote}", lines[-1])
        self.assertEqual(finished.stderr, "")
        socket = self.lab.near.sockets()[0]
        self.assertIn(f"-{lines[1].split()[0]}-", socket)
        self.assert_ok(self.tools.driver("info", "--socket", socket))
        self.assertEqual(self.assert_ok(self.farport("disconnect", self.agent.remote)).stdout,
                         f"disconnected from {self.agent.remote}\n")
        self.assert_nothing_left()

    def test_for_scripts_it_prints_json(self):
        event = json.loads(self.connect("--json").stdout)
        self.assertEqual(event["event"], "added")
        self.assertIn(event["runtime"]["socket"], self.lab.near.sockets())

    def test_it_follows_the_runtimes_as_any_mirror(self):
        self.connect()
        second = FakeRuntime(self.lab, pid=4712)
        wait.until(lambda: len(self.lab.near.sockets()) == 4, "the second one is mirrored")
        second.stop()
        wait.until(lambda: len(self.lab.near.sockets()) == 2, "it is gone")

    def test_an_agent_that_is_not_there_is_an_error_and_nothing_stays(self):
        finished = self.farport("connect", f"{self.lab.far.address}:{PORT + 9}", "--detach")
        self.assertEqual(finished.code, 1, finished.described)
        self.assertIn("Connection refused", finished.stderr)
        self.assertEqual(finished.stdout, "")
        self.assert_nothing_left()

    def test_a_missing_certificate_is_wrong_configuration(self):
        finished = self.farport("connect", self.agent.remote, "--detach", FARPORT_TLS_CERT="/nowhere.crt")
        self.assertEqual(finished.code, 2, finished.described)
        self.assertIn("/nowhere.crt", finished.stderr)
        self.assert_nothing_left()

    def test_a_second_one_of_the_same_agent_is_refused(self):
        self.connect()
        finished = self.farport("connect", self.agent.remote, "--detach")
        self.assertEqual(finished.code, 1, finished.described)
        self.assertIn(f"farport disconnect {self.agent.remote}", finished.stderr)
        self.connect("--socket-dir", self.lab.new_directory(self.lab.near, "sockets"))

    def test_disconnect_says_what_is_running(self):
        self.assertIn("No detached mirror", self.assert_ok(self.farport("disconnect")).stdout)
        self.connect()
        heading, line = self.assert_ok(self.farport("disconnect")).stdout.splitlines()
        self.assertEqual(heading.split()[0], "AGENTS")
        self.assertEqual(line.split()[:2], [self.agent.remote, "running"])
        self.assertTrue(os.path.exists(line.split()[-1]), line)
        finished = self.farport("disconnect", "other:9000")
        self.assertEqual(finished.code, 1, finished.described)
        self.assertIn(self.agent.remote, finished.stderr)

    def test_all_are_ended_at_once(self):
        other = self.use(self.lab.agent(port=PORT + 1))
        self.connect()
        self.assert_ok(self.farport("connect", other.remote, "--detach"))
        self.assertEqual(len(self.farport("disconnect", "--all").stdout.splitlines()), 2)
        self.assert_nothing_left()

    def test_what_a_crash_left_is_told_and_removed_and_no_other_process_is_ended(self):
        self.connect()
        os.kill(self.mirror(), signal.SIGKILL)
        wait.until(lambda: not self.lab.near.processes(), "it is gone")
        self.assertIn("has ended", self.farport("disconnect").stdout)
        self.assertIn("by itself", self.assert_ok(self.farport("disconnect", self.agent.remote)).stdout)
        self.assertEqual(self.files(), [])
        # The next one clears up as well.
        self.connect()
        os.kill(self.mirror(), signal.SIGKILL)
        wait.until(lambda: not self.lab.near.processes(), "it is gone")
        self.connect()
        self.assertEqual(len(self.files()), 2)

    def test_a_file_that_names_nobody_ends_nobody(self):
        # Whatever stands in it: it is the lock that says who the mirror is.
        self.farport("disconnect")
        bystander = self.use_process(self.lab.near.start(needs.program("sleep"), "600"))
        with open(os.path.join(self.runtime, "farport", "mirror-abcdef"), "w", encoding="ascii") as file:
            json.dump({"agents": ["a:9000"], "pid": bystander.pid_on_host, "log": "/etc/passwd"}, file)
        self.assert_ok(self.farport("disconnect", "--all"))
        self.assertTrue(bystander.running())
        self.assertTrue(os.path.exists("/etc/passwd"))
        self.assertEqual(self.files(), [])

    def use_process(self, process):
        self.addCleanup(process.kill)
        return process

    def test_its_directory_is_its_users_alone(self):
        self.connect()
        directory = os.path.join(self.runtime, "farport")
        self.assertEqual(stat.S_IMODE(os.stat(directory).st_mode), 0o700)
        for name in self.files():
            self.assertEqual(stat.S_IMODE(os.stat(os.path.join(directory, name)).st_mode), 0o600)
        self.assert_ok(self.farport("disconnect", "--all"))
        os.chmod(directory, 0o777)
        self.assert_refused(directory)
        os.rmdir(directory)
        os.symlink(self.lab.new_directory(self.lab.near, "elsewhere"), directory)
        self.assert_refused(directory)
        os.unlink(directory)
        os.mkdir(directory, 0o700)
        os.chown(directory, 65534, 65534)
        self.assert_refused(directory)
        os.rmdir(directory)

    def assert_refused(self, directory):
        for arguments in (("connect", self.agent.remote, "--detach"), ("disconnect",)):
            finished = self.farport(*arguments)
            self.assertEqual(finished.code, 1, finished.described)
            self.assertIn(directory, finished.stderr)

    def test_the_log_goes_to_a_file_of_its_own_or_to_the_one_that_is_named(self):
        path = os.path.join(self.lab.new_directory(self.lab.near, "logs"), "mirror.log")
        self.connect("--log-file", path)
        self.farport("disconnect", self.agent.remote)
        with open(path, encoding="utf-8") as file:
            self.assertIn("orders", file.read())
        finished = self.farport("connect", self.agent.remote, "--detach", "--log-file", "/dev/null/x")
        self.assertEqual(finished.code, 1, finished.described)
        self.assertIn("/dev/null/x", finished.stderr)
        self.assertEqual(self.farport("connect", self.agent.remote, "--log-file", path).code, 2)

    def test_it_outlives_its_terminal_and_ctrl_c(self):
        shell = Terminal(self.lab.near, "/bin/bash", "--norc", "--noprofile", "-i", environment=self.environment)
        shell.wait_for_text("$")
        shell.type(f"{needs.farport()} connect --detach {self.agent.remote}; echo o''ver; cat\n")
        # Not while the sanitizers look for leaks at the end of the process that was started.
        shell.wait_for_text("over")
        for line in shell.lines():
            self.assertLessEqual(len(line), 80)
        shell.type("\x03")
        mirror = self.mirror()
        self.assertEqual(os.getsid(mirror), mirror)
        shell.close()
        wait.until(lambda: not [pid for pid in self.lab.near.processes() if b"/bin/bash" in proc.command_line(pid)],
                   "the shell is gone")
        self.assertTrue(proc.is_alive(mirror))
        self.assert_ok(self.tools.driver("info", "--socket", self.lab.near.sockets()[0]))

    def test_a_program_that_waits_for_its_output_gets_the_end_of_it(self):
        # As ssh does, and $(…): it waits until nobody has its pipe open any more, whatever the descriptor's number.
        output, code = self.lab.near.pipe(
            ["/bin/sh", "-c", f"exec 7>&1; exec {needs.farport()} connect {self.agent.remote} --detach 2>&1"], b"",
            environment=self.environment)
        self.assertEqual(code, 0, output)
        self.assertIn(b"farport disconnect", output)

    def test_it_starts_without_standard_streams(self):
        finished = self.lab.near.run("/bin/sh", "-c", f"exec {needs.farport()} connect {self.agent.remote} --detach "
                                     "<&- >&- 2>&-", environment=self.environment)
        self.assertEqual(finished.code, 0, finished.described)
        self.assertEqual(len(self.lab.near.sockets()), 2)
        self.assertIn("running", self.farport("disconnect").stdout)

    def test_one_whose_start_is_interrupted_does_not_stay(self):
        silent = self.lab.far.listen(self.lab.far.address, PORT + 5)
        process = self.lab.near.start(needs.farport(), "connect", f"{self.lab.far.address}:{PORT + 5}", self.agent.remote,
                                      "--detach", environment=self.environment)
        wait.until(lambda: len(self.lab.near.sockets()) == 2, "one of the agents has listed its runtimes")
        process.send(signal.SIGINT)
        process.wait()
        silent.close()
        wait.until(lambda: not self.lab.near.processes(), "the mirror ends")
        self.assert_nothing_left()


if __name__ == "__main__":
    main()
