"""Dumps opened where there is neither the runtime that wrote them nor a network, by the stock dotnet-dump."""

import os
import pathlib
import shutil
import tarfile

from harness import needs, wait
from harness.case import Case, main
from harness.tools import QUIET

DAC = "libmscordaccore.so"


class Dumps(Case):
    @classmethod
    def prepare(cls):
        # .NET 8, which this machine does not have otherwise.
        application = cls.lab.far.start(needs.talkative("net8.0"), "600")
        cls.addClassCleanup(application.kill)
        cls.pid = application.pid_on_host
        cls.agent = cls.share(cls.lab.agent("--artifacts", cls.lab.new_directory(cls.lab.far, "kept")))
        wait.until(lambda: cls.pid in [runtime["pid"] for runtime in cls.agent.runtimes()], cls.agent.log)

    def setUp(self):
        self.directory = self.lab.new_directory(self.lab.near, "dumps")
        self.dump = os.path.join(self.directory, "x.dmp")

    def farport(self, *arguments, start=()):
        return self.lab.near.run(*start, needs.farport(), *arguments, seconds=wait.LONGEST_SECONDS)

    def take(self, *flags):
        return self.farport("dump", f"{self.agent.remote}/{self.pid}", "-o", self.dump, *flags,
                            *self.lab.tools_pair.flags())

    def modules(self):
        return sorted(os.listdir(self.dump + ".runtime"))

    def open(self, *commands, more=()):
        """Opens the dump where the application's own files are hidden."""
        hidden = os.path.dirname(needs.talkative("net8.0"))
        home = self.lab.new_directory(self.lab.near, "home")
        path = os.path.dirname(needs.dotnet_dump()) + ":" + os.environ["PATH"]
        wanted = [word for each in (*commands, "exit") for word in ("-c", each)]
        script = 'mount -t tmpfs tmpfs "$1" && shift && exec "$@"'
        return self.lab.near.run("unshare", "-m", "sh", "-c", script, "sh", hidden, needs.farport(), "open", self.dump, *more,
                                 *wanted, seconds=wait.LONGEST_SECONDS, environment=QUIET | {"HOME": home, "PATH": path})

    def test_a_heap_is_read_by_what_came_with_it(self):
        done = self.take()
        self.assert_ok(done)
        self.assertEqual(done.stdout.strip(), self.dump)
        self.assertIn(f"farport open {self.dump}", done.stderr)
        self.assertIn(DAC, self.modules())
        opened = self.open("clrthreads", "dumpheap -stat", "dumpasync")
        self.assertIn("System.String", opened.stdout, opened.described)
        self.assertIn("ThreadCount", opened.stdout, opened.described)
        self.assertNotIn("Failed to load data access", opened.stdout + opened.stderr)

    def test_with_all_modules_roots_are_found(self):
        self.assert_ok(self.take("--with-runtime", "all"))
        for each in (DAC, "libcoreclr.so", "System.Private.CoreLib.dll", "talkative.dll"):
            self.assertIn(each, self.modules())
        listed = self.open("dumpheap -type System.String -short")
        addresses = [line.strip() for line in listed.stdout.splitlines() if len(line.strip()) == 12]
        self.assertTrue(addresses, listed.described)
        opened = self.open("clrstack -all", *(f"gcroot {each}" for each in addresses[:5]))
        self.assertIn("unique root", opened.stdout, opened.described)
        self.assertIn("talkative.dll", opened.stdout + "".join(self.modules()))

    def test_a_small_dump_comes_alone(self):
        done = self.take("--type", "mini")
        self.assert_ok(done)
        self.assertEqual(os.listdir(self.directory), ["x.dmp"])
        self.assertNotIn("farport open", done.stderr)

    def test_what_is_there_already_is_left_alone(self):
        os.mkdir(self.dump + ".runtime")
        pathlib.Path(self.dump + ".runtime", "mine").write_text("mine")
        done = self.take()
        self.assert_ok(done)
        self.assertIn("exists already", done.stderr)
        self.assertEqual(self.modules(), ["mine"])
        self.assertEqual(self.take("--force", "--with-runtime", "needed").code, 1)

    def test_they_come_through_a_mirror(self):
        mirror = self.use(self.lab.mirror(self.agent.remote))
        wait.until(mirror.rows, mirror.process.output)
        done = self.lab.near.run(needs.dotnet_dump(), "collect", "-p", str(mirror.rows()[0]["local_pid"]), "-o", self.dump,
                                 seconds=wait.LONGEST_SECONDS, environment=QUIET)
        self.assert_ok(done)
        self.assertEqual(self.modules(), [DAC, "libmscordbi.so"])

    def test_an_agent_keeps_them_too(self):
        done = self.farport("dump", f"{self.agent.remote}/{self.pid}", "--keep", "--with-runtime", "needed",
                            *self.lab.tools_pair.flags())
        self.assert_ok(done)
        modules, dump = done.stdout.split()
        archive = os.path.join(self.directory, "modules.tar")
        for name, to in ((modules, archive), (dump, self.dump)):
            self.assert_ok(self.farport("artifacts", self.agent.remote, "--get", name, "-o", to, *self.lab.tools_pair.flags()))
        with tarfile.open(archive) as opened:
            self.assertIn(DAC, opened.getnames())
        opened = self.open("clrthreads", more=("--modules", archive))
        self.assertIn("ThreadCount", opened.stdout, opened.described)
        # Damaged ones are refused, and leave nothing.
        shutil.rmtree(self.dump + ".runtime")
        os.truncate(archive, 100_000)
        broken = self.open("clrthreads", more=("--modules", archive))
        self.assertEqual(broken.code, 1, broken.described)
        self.assertIn("ends early", broken.stderr)
        self.assertEqual(sorted(os.listdir(self.directory)), ["modules.tar", "x.dmp"])

    def test_without_the_debugger_it_is_said_what_to_install(self):
        self.assert_ok(self.take("--type", "mini"))
        opened = self.farport("open", self.dump, start=("env", "PATH=/nowhere", f"HOME={self.directory}"))
        self.assertEqual(opened.code, 1, opened.described)
        self.assertIn("dotnet tool install --global dotnet-dump", opened.stderr)


if __name__ == "__main__":
    main()
