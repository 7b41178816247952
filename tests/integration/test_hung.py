"""A runtime that does not answer: what is said of it, what is given up, and when."""

import os
import signal
import subprocess
import tempfile
import time
from contextlib import contextmanager

from harness import needs, wait
from harness.api import Api
from harness.case import Case, main

HINT = "kill -CONT"


class Hung(Case):
    @classmethod
    def prepare(cls):
        cls.agent = cls.share(cls.lab.agent())
        cls.api = Api(cls.lab)

    def setUp(self):
        self.application = self.use(self.lab.orders())
        self.addCleanup(self.application.process.thaw)
        self.runtime = self.agent.wait_for(self.application)[0]

    def start(self, command, *arguments):
        pid = self.runtime["pid"]
        return self.lab.near.start(needs.farport(), command, f"{self.agent.remote}/{pid}", *self.lab.tools_pair.flags(),
                                   *arguments, name=f"farport-{command}")

    def run_to_end(self, command, *arguments):
        process = self.start(command, *arguments)
        return process.wait(), process

    def freeze(self):
        self.application.process.freeze()

    def file(self, name):
        return os.path.join(self.lab.new_directory(self.lab.near, "file"), name)

    def halt(self):
        """What keeps it from answering, as the agent lists it; None: nothing."""
        listed = [each for each in self.api.json("/v1/runtimes") if each["pid"] == self.runtime["pid"]]
        return listed[0].get("halt") if listed else "gone"

    def test_each_command_says_what_holds_it_up_and_gives_up(self):
        self.freeze()
        for command, arguments in (("trace", ("-o", self.file("x.nettrace"))), ("counters", ()), ("logs", ()),
                                   ("exceptions", ()), ("gcdump", ()), ("dump", ("-o", self.file("x.dmp"))),
                                   ("profile", ("--wall", "-o", self.file("x.svg")))):
            with self.subTest(command):
                code, process = self.run_to_end(command, "--timeout", "6s", *arguments)
                self.assertEqual(code, 3, process.output())
                said = process.stderr()
                self.assertIn("has not answered for 5 s: its process is stopped, by a signal", said)
                self.assertIn("there was none for 6 s", said)
                self.assertIn(HINT, said)
                self.assertEqual(process.stdout(), "")
                for option, file in zip(arguments, arguments[1:]):
                    if option == "-o":
                        self.assertEqual(os.listdir(os.path.dirname(file)), [])

    def test_ctrl_c_ends_the_wait(self):
        self.freeze()
        for command in ("trace", "stacks", "dump"):
            with self.subTest(command):
                process = self.agent.wait_for_session_of(lambda command=command: self.start(command))
                process.send(signal.SIGINT)
                self.assertEqual(process.wait(10), 130, process.output())

    def test_what_goes_on_in_time_is_served(self):
        self.freeze()
        process = self.start("gcdump")
        process.wait_for_output("waiting for up to 30 s (--timeout)")
        self.application.process.thaw()
        self.assertEqual(process.wait(), 0, process.output())
        self.assertIn("Orders.Order[]", process.stdout())

    def test_a_profile_of_the_kernels_does_without_it(self):
        file = self.file("x.folded")
        process = self.start("profile", "--timeout", "6s", "--duration", "3s", "-o", file)
        # It is asked for the names of its methods once the samples are there.
        time.sleep(1)
        self.freeze()
        self.assertEqual(process.wait(), 0, process.output())
        self.assertIn("methods of .NET have no names: cannot get an answer from orders: there was none for 6 s", process.stderr())
        self.assertTrue(os.path.exists(file))

    def test_ctrl_c_ends_the_profile_of_one_that_is_stopped_without_a_wait(self):
        file = self.file("x.folded")
        process = self.start("profile", "--duration", "60s", "-o", file)
        time.sleep(2)
        self.freeze()
        process.send(signal.SIGINT)
        # Else it would wait for 30 s.
        self.assertEqual(process.wait(15), 0, process.output())
        self.assertRegex(process.stderr(), "methods of .NET have no names: cannot get an answer from orders: .* stopped")
        self.assertTrue(os.path.exists(file))

    def test_a_recording_that_has_begun_is_not_cut(self):
        file = self.file("x.nettrace")
        process = self.start("trace", "--timeout", "6s", "-o", file)
        wait.until(lambda: os.path.exists(file) and os.path.getsize(file) > 0, process.output)
        self.freeze()
        time.sleep(8)
        self.assertTrue(process.running(), process.output())
        process.send(signal.SIGINT)
        # Now it is asked to stop, and does not answer.
        self.assertEqual(process.wait(), 3, process.output())
        self.assertGreater(os.path.getsize(file), 0)
        self.assertIn(file, process.stdout())

    def test_lists_say_how_it_is(self):
        self.assertIsNone(self.halt())
        self.freeze()
        wait.until(lambda: self.halt() == "stopped", self.agent.log)
        table = self.lab.near.run(needs.farport(), "ps", self.agent.remote, *self.lab.tools_pair.flags())
        self.assertRegex(table.stdout, r"orders .* stopped ")
        rows = self.lab.near.run(needs.farport(), "top", self.agent.remote, "--rounds", "1", *self.lab.tools_pair.flags())
        self.assertRegex(rows.stdout, r"orders .* stopped")
        self.application.process.thaw()
        wait.until(lambda: self.halt() is None, self.agent.log)

    def test_the_agent_tells_what_the_kernel_knows(self):
        path = f"/v1/runtimes/{self.runtime['id']}/process"
        condition = self.api.json(path)
        self.assertGreater(condition["threads"], 5)
        self.assertNotIn("halt", condition)
        self.freeze()
        self.assertEqual(self.api.json(path)["halt"], "stopped")

    def test_one_in_a_frozen_cgroup(self):
        with self.frozen_cgroup():
            wait.until(lambda: self.halt() == "frozen", self.agent.log)
            code, process = self.run_to_end("counters", "--timeout", "6s")
            self.assertEqual(code, 3, process.output())
            self.assertIn("its cgroup is frozen", process.stderr())
            code, process = self.run_to_end("stacks")
            self.assertEqual(code, 0, process.output())
            self.assertIn("libc.so.6!__poll", process.stdout())
        wait.until(lambda: self.halt() is None, self.agent.log)

    @contextmanager
    def frozen_cgroup(self):
        """The application in a cgroup of version 2 that is frozen."""
        root = tempfile.mkdtemp(prefix="cgroup-", dir=self.lab.directory)
        subprocess.run(["mount", "-t", "cgroup2", "none", root], check=True)
        group = os.path.join(root, os.path.basename(self.lab.directory))
        pid = self.application.process.pid
        with open(f"/proc/{pid}/cgroup", encoding="ascii") as file:
            before = next(line.rstrip("\n")[3:] for line in file if line.startswith("0::"))
        os.mkdir(group)
        try:
            _write(group + "/cgroup.procs", pid)
            _write(group + "/cgroup.freeze", 1)
            yield
        finally:
            _write(group + "/cgroup.freeze", 0)
            _write(root + before + "/cgroup.procs", pid)
            os.rmdir(group)
            subprocess.run(["umount", root], check=True)

    def test_one_that_hung_before_the_agent_came_is_listed_by_its_process(self):
        # One that is younger may still be starting.
        time.sleep(10)
        self.freeze()
        late = self.use(self.lab.agent(port=9100))
        api = Api(self.lab, port=9100)
        listed = wait.until(lambda: api.json("/v1/runtimes"), late.log)[0]
        self.assertEqual((listed["name"], listed["pid"], listed["halt"], listed["version"]),
                         ("orders", self.runtime["pid"], "stopped", ""))
        process = self.lab.near.start(needs.farport(), "stacks", late.remote, *self.lab.tools_pair.flags())
        process.wait_for_output("has not answered for 5 s: its process is stopped")
        self.application.process.thaw()
        self.assertEqual(process.wait(), 0, process.output())
        known = wait.until(lambda: [each for each in api.json("/v1/runtimes") if each["version"]], late.log)
        self.assertEqual([each["id"] for each in known], [self.runtime["id"]])

    def test_tools_wait_through_a_mirror_and_its_log_says_why(self):
        mirror = self.use(self.lab.mirror(self.agent.remote))
        pid = mirror.wait_for(self.application)[0]["local_pid"]
        self.freeze()
        file = self.file("x.nettrace")
        tool = self.tools.start_trace("collect", "-p", pid, "--duration", "00:00:02", "-o", file)
        mirror.process.wait_for_output("is stopped: tools wait until it answers")
        self.assertTrue(tool.running(), tool.output())
        self.application.process.thaw()
        self.assertEqual(tool.wait(), 0, tool.output())
        self.assert_ok(self.tools.driver("read", file))

    def test_recordings_by_http_end_with_their_callers(self):
        self.freeze()
        before = len(os.listdir(f"/proc/{self.agent.process.pid}/fd"))
        for _ in range(10):
            _, code = self.lab.near.pipe(self.api.curl("--max-time", "1", f"{self.api.base}/v1/runtimes/{self.runtime['id']}/stacks"), b"")
            self.assertEqual(code, 28)
        # One question who it is stays, however often it is asked.
        wait.until(lambda: len(os.listdir(f"/proc/{self.agent.process.pid}/fd")) <= before + 2, self.agent.log)


def _write(path, value):
    with open(path, "w", encoding="ascii") as file:
        file.write(str(value))


if __name__ == "__main__":
    main()
