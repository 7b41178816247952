"""Containers of a real Docker engine, reached without farport in them: farport brings itself along."""

import json
import glob
import os
import pathlib
import signal
import time

from harness import followed, needs, proc, wait
from harness.case import Case, main
from harness.engines import Docker
from harness.images import SHELL, Image
from harness.tools import QUIET

PATH = ("PATH=/usr/sbin:/usr/bin:/sbin:/bin",)
# By the agent of a container.
VIA = ("--via", "docker exec -i recorder farport stdio --join /tmp/farport.sock")


class OfDocker(Case):
    @classmethod
    def prepare(cls):
        cls.engine = Docker(cls.lab.new_directory(cls.lab.far, "docker"))
        cls.addClassCleanup(cls.engine.close)
        cls.engine.load(Image.of_orders(environment=PATH))
        cls.engine.load(Image.of_orders("shell", SHELL, PATH))
        cls.engine.load(Image.of_farport("localhost/farport:0.1.0"))

    def application(self, *load, image="orders", limits=()):
        """A container, orders, which is removed by the test's end with its helpers."""
        self.engine.docker("run", "--detach", "--name", "orders", "--network", "none", *limits, f"localhost/{image}",
                           *load or ("--rate", "100", "--discounts", "17"), "--seconds", "3600")
        self.addCleanup(lambda: self.engine.docker("rm", "--force", "orders", *self.helpers()))
        wait.until(lambda: "pricing" in self.engine.docker("logs", "orders"), lambda: self.engine.docker("logs", "orders"))

    def helpers(self):
        """The names of the containers that farport has started."""
        names = self.engine.docker("ps", "--all", "--format", "{{.Names}}").split()
        return [name for name in names if name.startswith("farport-")]

    def options(self):
        return {"enter": self.engine.enter, "environment": self.engine.environment | QUIET | {
            "FARPORT_STATIC_BINARY": needs.static_farport(), "FARPORT_LINGER": "20s"}}

    def farport(self, *arguments):
        """Runs it where docker is."""
        return self.lab.far.run(needs.farport(), *arguments, **self.options())

    def assert_lists(self, *flags):
        done = self.assert_ok(self.farport("ps", "docker://orders", "--json", *flags))
        self.assertEqual([row["name"] for row in json.loads(done.stdout)], ["orders"], done.described)

    def assert_no_zombies(self):
        """The application is the first process there, and waits for none."""
        listed = lambda: [line for line in self.engine.docker("top", "orders", "-eo", "state,pid,comm").splitlines() if line[:1] == "Z"]
        wait.until(lambda: not listed(), lambda: str(listed()))

    def test_one_command_after_the_other_and_at_once(self):
        self.application(image="shell")
        for flags in (("--linger", "1s"), ("--linger", "1s", "--deploy", "copy"), ()):
            for number in range(6):
                self.assert_lists(*flags)
                time.sleep(number * 0.25)
            tools = [self.lab.far.start(needs.farport(), "ps", "docker://orders", *flags, **self.options()) for _ in range(5)]
            for tool in tools:
                self.assertEqual(tool.wait(), 0, tool.output())
        self.assertEqual(len(self.helpers()), 1)
        self.assert_no_zombies()

    def test_what_was_killed_is_in_no_commands_way(self):
        self.application()
        for _ in range(2):
            self.assert_lists()
            helper, = self.helpers()
            self.engine.docker("kill", "--signal", "KILL", helper)
        self.assert_lists()
        self.assert_no_zombies()

    def assert_all_works(self, image, *flags):
        # It waits most of the time, on a busy machine too: a thread that runs has no stack from outside.
        self.application("--rate", "100", "--discounts", "14", image=image)
        directory = self.lab.new_directory(self.lab.far, "out")
        file = lambda name: os.path.join(directory, name)
        self.assert_ok(self.farport("trace", "docker://orders", "--duration", "2s", "-o", file("x.nettrace"), *flags))
        self.assertGreater(os.path.getsize(file("x.nettrace")), 1000)
        self.assert_ok(self.farport("gcdump", "docker://orders", "-o", file("x.gcdump"), *flags))
        self.assert_ok(self.farport("dump", "docker://orders//orders", "--type", "mini", "--with-runtime", "all", "-o", file("x.dmp"), *flags))
        self.assertTrue({"libmscordaccore.so", "orders.dll"} <= set(os.listdir(file("x.dmp.runtime"))))
        self.assertIn("orders.dll", self.assert_ok(self.farport("stacks", "docker://orders", *flags)).stdout)
        looked = self.assert_ok(self.farport("profile", "docker://orders", "--event", "wall", "--duration", "1s", *flags))
        self.assertRegex(looked.stdout, r"Worker\.Run.*futex\(2\)_\[k\];\[waiting\] ", looked.described)

    def test_all_works_by_a_helper(self):
        self.assert_all_works("orders")

    def test_all_works_by_copy(self):
        self.assert_all_works("shell", "--deploy", "copy")

    def test_a_profile_has_the_applications_methods(self):
        # An engine's filter of system calls forbids sampling; an old one does not know the capability for the kernel's part.
        self.application()
        for _ in range(2):
            file = os.path.join(self.lab.new_directory(self.lab.far, "profile"), "x.folded")
            done = self.assert_ok(self.farport("profile", "docker://orders", "--duration", "2s", "-o", file))
            self.assertIn("Orders.Pricing", pathlib.Path(file).read_text(encoding="utf-8"), done.described)
        self.assertEqual(len(self.helpers()), 1)

    def test_a_dump_that_a_container_would_not_live_through_is_refused(self):
        # What it writes to /tmp counts against the same limit.
        self.application(limits=("--memory", "80m", "--tmpfs", "/tmp"))
        file = os.path.join(self.lab.new_directory(self.lab.far, "dump"), "x.dmp")
        done = self.farport("dump", "docker://orders", "-o", file)
        self.assertEqual(done.code, 1, done.described)
        self.assertRegex(done.stderr, r"\d+ MiB of memory are left in its control group, and a heap dump takes \d+ MiB")
        self.assert_ok(self.farport("dump", "docker://orders", "-o", file, "--type", "mini"))
        self.assertEqual(self.engine.docker("inspect", "--format", "{{.State.Running}} {{.RestartCount}}", "orders").split(), ["true", "0"])

    def test_a_container_that_ends_while_its_dump_is_written_is_said_at_once(self):
        self.application()
        file = os.path.join(self.lab.new_directory(self.lab.far, "dump"), "x.dmp")
        dump = self.lab.far.start(needs.farport(), "dump", "docker://orders", "-o", file, "--grace", "20m", **self.options())
        self.addCleanup(dump.stop)
        container = self.engine.docker("inspect", "--format", "{{.Id}}", "orders").strip()
        writers = lambda: [pid for pid in proc.in_cgroup(container) if proc.status(pid, "Name") == "createdump"]
        os.kill(wait.until(writers, dump.output)[0], signal.SIGSTOP)
        self.engine.docker("kill", "orders")
        # It does not wait for the session to come back.
        self.assertEqual(dump.wait(), 1, dump.output())
        # Its agent may still have said that the application was gone.
        self.assertRegex(dump.stderr(), "its container has ended meanwhile: exit code 137|the application has ended while it wrote")
        # It lived in the same pid namespace, and the engine removes it by itself.
        wait.until(lambda: not self.helpers(), lambda: str(self.helpers()))

    def test_a_container_that_ends_while_it_is_watched_is_said_at_once(self):
        self.application()
        file = os.path.join(self.lab.new_directory(self.lab.far, "trace"), "x.nettrace")
        begin = lambda *arguments: self.lab.far.start(needs.farport(), *arguments, "--grace", "20m", **self.options())
        watching = [begin("counters", "docker://orders", "--duration", "20m", "--format", "csv"),
                    begin("trace", "docker://orders", "--duration", "20m", "-o", file, "--profile", "dotnet-sampled-thread-time")]
        for each in watching:
            self.addCleanup(each.stop)
        watching[0].wait_for_output("System.Runtime")
        wait.until(lambda: glob.glob(f"{file}*") and os.path.getsize(glob.glob(f"{file}*")[0]) > 100_000, watching[1].output)
        self.engine.docker("kill", "orders")
        for each in watching:
            self.assertNotEqual(each.wait(), 0, each.output())
            # Its agent may still have said that the application was gone.
            self.assertRegex(each.stderr(), "its container has ended meanwhile: exit code 137|it was killed, or it crashed")
        wait.until(lambda: not self.helpers(), lambda: str(self.helpers()))

    def test_a_paused_one_is_said_to_be_paused(self):
        self.application()
        self.engine.docker("pause", "orders")
        done = self.farport("ps", "docker://orders")
        self.engine.docker("unpause", "orders")
        self.assertEqual(done.code, 1)
        self.assertIn("docker unpause orders", done.stderr)

    def test_what_was_before_a_container_ended_while_nobody_looked(self):
        """By one agent for all of the host's containers."""
        self.engine.docker("volume", "create", "kept")
        self.addCleanup(lambda: self.engine.docker("volume", "rm", "kept"))
        self.engine.docker("run", "--detach", "--name", "recorder", "--user", "0", "--pid", "host", "--network", "none", "--cap-add",
                           "SYS_PTRACE", "--security-opt", "seccomp=unconfined", "--volume", "kept:/kept", "--tmpfs", "/tmp",
                           "localhost/farport:0.1.0", "serve", "--search", "proc", "--local", "/tmp/farport.sock", "--allow-local",
                           "0=admin", "--recorder", "--artifacts", "/kept")
        self.addCleanup(lambda: self.engine.docker("rm", "--force", "recorder"))
        log = lambda: self.engine.docker("logs", "recorder")
        ask = lambda *words: self.farport(*words, *VIA)
        self.application()
        file = os.path.join(self.lab.new_directory(self.lab.far, "recent"), "x.speedscope.json")
        names_it = lambda: "Orders.Pricing" in pathlib.Path(file).read_text(encoding="utf-8")
        wait.until(lambda: ask("recent", "orders", "-o", file, "--force").code == 0 and names_it(), log)
        self.engine.docker("kill", "orders")
        # The host may have others, which end, too.
        crashes = lambda: [each for each in json.loads(self.assert_ok(ask("crashes", "--json")).stdout)
                           if each["runtime"]["name"] == "orders"]
        crash, = wait.until(crashes, log)
        self.assertEqual(crash["why"], "killed by signal 9 (SIGKILL)")
        self.assertNotIn("missing", self.assert_ok(ask("recent", "--crash", crash["id"], "-o", file, "--force")).stderr)
        self.assertTrue(names_it())
        self.assert_followed(crash["id"], log)

    def assert_followed(self, identifier, log):
        """That who follows the recorder gets it, the last one when the recorder's container is being stopped."""
        received = self.lab.new_directory(self.lab.far, "received")
        follower = self.lab.far.start(needs.farport(), "artifacts", *VIA, "--follow", received, **self.options())
        self.addCleanup(follower.stop)
        wait.until(lambda: followed.has_come(received, identifier, ".nettrace"), lambda: log() + follower.output())
        self.engine.docker("start", "orders")
        wait.until(lambda: self.farport("gcdump", "orders", "--keep", *VIA).code == 0, log)
        kept = self.assert_ok(self.farport("dump", "orders", "--keep", *VIA)).stdout.strip()
        self.engine.docker("stop", "recorder")
        self.assertTrue(followed.has_come(received, kept, ".dmp"), follower.output())


if __name__ == "__main__":
    main()
