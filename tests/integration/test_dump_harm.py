"""Dumps that would harm the application: they are refused before it is asked, and it goes on as it was."""

import glob
import os
import pathlib
import shutil
import signal
import tempfile

from harness import needs, proc, wait
from harness.api import Api
from harness.case import Case, main
from harness.host import as_user
from harness.hotspot import Hotspot
from harness.memory_group import MemoryGroup
from harness.nobody import NOBODY, as_nobody, pair_of_nobody

MEBIBYTE = 1 << 20
# Each has a stack of 8 MiB that it hardly uses, and a dump has all of it.
THREADS = 30
TYPES = ("mini", "heap", "triage", "full")


class Harm(Case):
    def dump(self, *flags, target="hotspot"):
        """A dump of the application, into a directory of the near host."""
        path = os.path.join(self.lab.new_directory(self.lab.near, "dumps"), "x.dmp")
        return self.lab.near.run(needs.farport(), "dump", f"{self.agent.remote}/{target}", "-o", path, *flags,
                                 *self.lab.tools_pair.flags())

    def refused(self, *flags, **options):
        """What a dump that fails says."""
        done = self.dump(*flags, **options)
        self.assertEqual(done.code, 1, done.described)
        return done.stderr


class NearItsLimit(Harm):
    """An application whose control group has little memory left."""

    def setUp(self):
        self.group = MemoryGroup(self.lab.far, 1024 * MEBIBYTE)
        self.addCleanup(self.group.remove)
        self.application = self.use(Hotspot(self.lab.far, "managed", "--sleepers", THREADS, prefix=self.group.prefix))

    def begin(self, configuration=""):
        """Starts the agent."""
        file = os.path.join(self.lab.new_directory(self.lab.far, "agent"), "farport.toml")
        pathlib.Path(file).write_text(configuration, encoding="utf-8")
        self.agent = self.use(self.lab.agent("--config", file))
        self.listed = wait.until(lambda: Api(self.lab).runtimes().get(self.application.pid_inside), self.agent.log)

    def assert_unharmed(self):
        self.assertEqual(self.group.killed(), 0)
        self.assertTrue(proc.is_alive(self.application.pid))
        self.assert_ok(self.lab.near.run(needs.farport(), "stacks", self.agent.remote, *self.lab.tools_pair.flags()))

    def test_without_room_for_its_writer_none_is_begun(self):
        self.begin()
        self.group.leave(5 * MEBIBYTE)
        for kind in TYPES:
            self.assertRegex(self.refused("--type", kind),
                             rf"\d+ MiB of memory are left in its control group, and a {kind} dump takes \d+ MiB.*: the kernel would kill the application")
        done = self.lab.near.run(needs.farport(), "doctor", self.agent.remote, *self.lab.tools_pair.flags())
        self.assertRegex(done.stdout, r"can't be dumped: \d+ MiB of memory are left in its control group")
        self.group.leave(60 * MEBIBYTE)
        self.assert_unharmed()

    def test_what_is_begun_does_no_harm(self):
        """What that is depends on the kernel: whether reading a page takes memory."""
        self.begin()
        taken = []
        for kind in TYPES:
            self.group.leave(60 * MEBIBYTE)
            done = self.dump("--type", kind)
            if done.code == 0:
                taken.append(kind)
            else:
                self.assertRegex(done.stderr, r"\d+ MiB of them for pages that the application does not use")
                self.assertIn("--type mini takes 10 MiB", done.stderr)
            self.assert_unharmed()
        self.assertLessEqual({"mini", "triage"}, set(taken))

    def test_without_room_no_heap_is_reported(self):
        self.begin()
        self.group.leave(12 * MEBIBYTE)
        done = self.lab.near.run(needs.farport(), "gcdump", self.agent.remote, *self.lab.tools_pair.flags())
        self.assertEqual((done.code, done.stdout), (1, ""))
        self.assertRegex(done.stderr, r"\d+ MiB of memory are left in the control group of hotspot, and reporting its heap takes 20 MiB")
        self.assert_unharmed()
        self.group.leave(60 * MEBIBYTE)
        self.assert_ok(self.lab.near.run(needs.farport(), "gcdump", self.agent.remote, *self.lab.tools_pair.flags()))

    def test_without_room_no_methods_are_named(self):
        self.begin()
        trace = lambda name, *flags: self.lab.near.run(
            needs.farport(), "trace", self.agent.remote, "--duration", "1s", "-o",
            os.path.join(self.lab.new_directory(self.lab.near, "traces"), name), *flags, *self.lab.tools_pair.flags())
        self.group.leave(5 * MEBIBYTE)
        done = trace("x.nettrace")
        self.assertEqual(done.code, 1, done.described)
        self.assertRegex(done.stderr, r"\d+ MiB of memory are left in the control group of hotspot, and naming all methods .* takes 8 MiB")
        self.assertEqual(self.group.killed(), 0)
        self.assert_ok(trace("without.nettrace", "--rundown", "false", "--profile", "dotnet-common"))
        self.group.leave(60 * MEBIBYTE)
        self.assert_ok(trace("again.nettrace"))
        self.assert_unharmed()

    def test_what_is_under_way_is_added_up(self):
        self.begin()
        second = self.use(Hotspot(self.lab.far, "managed", prefix=self.group.prefix))
        wait.until(lambda: Api(self.lab).runtimes().get(second.pid_inside), self.agent.log)
        self.group.leave(17 * MEBIBYTE)
        path = os.path.join(self.lab.new_directory(self.lab.near, "dumps"), "first.dmp")
        first = self.lab.near.start(needs.farport(), "dump", f"{self.agent.remote}/{self.application.pid_inside}", "--type", "mini",
                                    "-o", path, *self.lab.tools_pair.flags())
        self.addCleanup(first.stop)
        writer = wait.until(lambda: proc.dump_writer(self.application.pid), first.output)
        os.kill(writer, signal.SIGSTOP)
        said = self.refused("--type", "mini", target=second.pid_inside)
        os.kill(writer, signal.SIGCONT)
        self.assertRegex(said, r"\d+ MiB of memory are left in its control group, and a mini dump takes 10 MiB")
        self.assertEqual(first.wait(), 0, first.output())
        self.assert_ok(self.dump("--type", "mini", target=second.pid_inside))

    def test_a_file_in_memory_counts(self):
        directory = tempfile.mkdtemp(prefix="farport-test-", dir="/dev/shm")
        self.addCleanup(shutil.rmtree, directory)
        os.chmod(directory, 0o1777)
        self.begin(f'[dump]\ndirectory = "{directory}"\nkeep_free = "1MiB"\n')
        self.group.leave(100 * MEBIBYTE)
        said = self.refused()
        self.assertRegex(said, rf"\d+ MiB for the file in {directory}/\S+, which is in memory")
        self.assertIn("--type mini takes 26 MiB", said)
        self.assert_ok(self.dump("--type", "mini"))
        done = self.lab.near.run(needs.farport(), "doctor", self.agent.remote, *self.lab.tools_pair.flags())
        self.assertRegex(done.stdout, r"can't be dumped with its heap: \d+ MiB of memory are left in its control group")
        self.assert_unharmed()
        # Who insists is told what became of it.
        self.group.leave(100 * MEBIBYTE)
        said = self.refused("--anyway")
        self.assertIn("its control group ran out of memory, and the kernel killed", said)
        self.assertGreater(self.group.killed(), 0)


class FromASidecar(Harm):
    """An agent in a container of its own, that may not look into processes: it is not root, and Landlock confines it."""

    def setUp(self):
        self.groups = [MemoryGroup(self.lab.far, 1024 * MEBIBYTE, name) for name in ("-app", "-agent")]
        for group in self.groups:
            self.addCleanup(group.remove)
        directory = self.lab.new_directory(self.lab.far, "shared")
        os.chmod(directory, 0o1777)
        self.application = self.use(Hotspot(self.lab.far, "managed", "--sleepers", THREADS, user=NOBODY, directory=directory,
                                            prefix=self.groups[0].prefix_of_container))
        pair = pair_of_nobody(self.lab.agent_pair, self.lab.new_directory(self.lab.far, "keys"))
        self.agent = self.use(self.lab.agent(search=[directory], pair=pair, enter=[
            *self.lab.far.enter, *self.groups[1].prefix_of_container, *as_user(NOBODY)]))
        wait.until(lambda: "Landlock" in self.agent.log(), self.agent.log)
        wait.until(lambda: Api(self.lab).runtimes().get(self.application.pid_inside), self.agent.log)

    def test_it_knows_what_is_left_to_the_application(self):
        self.groups[0].leave(5 * MEBIBYTE)
        for kind in TYPES:
            self.assertRegex(self.refused("--type", kind), r"\d+ MiB of memory are left in its control group")
        done = self.lab.near.run(needs.farport(), "doctor", self.agent.remote, *self.lab.tools_pair.flags())
        self.assertRegex(done.stdout, r"can't be dumped: \d+ MiB of memory are left in its control group")
        self.assertEqual(self.groups[0].killed(), 0)
        self.groups[0].limit(1024 * MEBIBYTE)
        self.assert_ok(self.dump("--type", "mini"))


class NoCreatedump(Harm):
    """Applications whose runtime can't start createdump."""

    def application(self, script):
        """One that sees its createdump, "$0", as the script leaves it."""
        (createdump,) = glob.glob(f"{needs.dotnet_root()}/shared/Microsoft.NETCore.App/*/createdump")
        return [needs.program("unshare"), "--mount", "sh", "-c", f'{script} && exec "$@"', createdump]

    def test_a_confined_agent_sees_it_too(self):
        """One that is not root, which Landlock keeps from looking into processes."""
        directory = self.lab.new_directory(self.lab.far, "shared")
        os.chmod(directory, 0o1777)
        pair = pair_of_nobody(self.lab.agent_pair, self.lab.new_directory(self.lab.far, "keys"))
        self.agent = self.use(self.lab.agent(search=[directory], pair=pair, enter=as_nobody(self.lab.far)))
        script = 'cp "$0" /dev/shm/createdump && chmod 644 /dev/shm/createdump && mount --bind /dev/shm/createdump "$0"'
        application = self.use(self.lab.orders(directory=directory, enter=[
            *self.lab.far.enter, *self.application(script), *as_user(NOBODY)]))
        self.agent.wait_for(application)
        self.assertIn("Landlock", self.agent.log())
        for kind in TYPES:
            self.assertIn("may not execute it", self.refused("--type", kind, target="orders"))
        done = self.lab.near.run(needs.farport(), "doctor", self.agent.remote, *self.lab.tools_pair.flags())
        self.assertIn("may not execute it", done.stdout)
        self.assert_ok(self.lab.near.run(needs.farport(), "counters", self.agent.remote, "--duration", "1s",
                                         *self.lab.tools_pair.flags()))

    def test_it_is_not_asked_and_stays_reachable(self):
        scripts = {"there is no createdump": 'mount --bind /dev/null "$0"',
                   "its file system is mounted noexec": 'mount --bind "$0" "$0" && mount -o remount,bind,noexec "$0"',
                   "may not execute it": 'cp "$0" /dev/shm/createdump && chmod 644 /dev/shm/createdump && mount --bind /dev/shm/createdump "$0"'}
        self.agent = self.use(self.lab.agent())
        for words, script in scripts.items():
            with self.subTest(words):
                application = self.use(self.lab.orders(enter=[*self.lab.far.enter, *self.application(script)]))
                self.agent.wait_for(application)
                before = self.lab.far.sockets()
                for kind in TYPES:
                    self.assertIn(words, self.refused("--type", kind, target="orders"))
                self.assertEqual(self.lab.far.sockets(), before)
                self.assert_ok(self.lab.near.run(needs.farport(), "counters", self.agent.remote, "--duration", "1s",
                                                 *self.lab.tools_pair.flags()))
                application.stop()


if __name__ == "__main__":
    main()
