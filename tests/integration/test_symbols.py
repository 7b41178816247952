"""Names of native functions that the runtime's host lacks: from directories and symbol servers of who looks."""

import itertools
import os
import pathlib
import re
import shutil
import signal
import subprocess
import time

from harness import hotspot, needs, proc, wait
from harness.api import Api
from harness.case import Case, main
from harness.hotspot import Hotspot
from harness.samples import Samples
from harness.terminal import Terminal

SERVER = pathlib.Path(__file__).resolve().parent / "harness" / "symbol_server.py"


class SymbolServer:
    """On the near host, for who looks there."""

    ports = itertools.count(8000)

    def __init__(self, lab, directory, answer="files"):
        self.address = f"127.0.0.1:{next(self.ports)}"
        self.url = f"http://{self.address}"
        self.process = lab.near.start("/usr/bin/python3", "-B", SERVER, self.address.rpartition(":")[2], directory, answer,
                                      name=f"symbol-server-{answer}")
        self.process.wait_for_output("serving")

    def asked(self):
        """The paths that it has been asked for, and with what authorization."""
        return [tuple(line.split(" ", 1)) for line in self.process.stdout().splitlines()[1:]]

    def stop(self):
        """Ends it."""
        self.process.kill()


class Symbols(Case):
    """The application is busy in a library without .symtab, whose debug information is elsewhere."""

    @classmethod
    def prepare(cls):
        directory = cls.lab.new_directory(cls.lab.far, "library")
        library = hotspot.compile_library(directory)
        cls.debug = os.path.join(directory, "kept.debug")
        subprocess.run([needs.program("objcopy"), "--only-keep-debug", library, cls.debug], check=True)
        subprocess.run([needs.program("strip"), "--strip-all", library], check=True)
        cls.library = library
        cls.agent = cls.share(cls.lab.agent(search=["proc"]))
        cls.application = cls.share(Hotspot(cls.lab.far, "native", library=library))
        cls.build_id = cls.find_build_id()
        cls.sym_key = f"_.debug/elf-buildid-sym-{cls.build_id}/_.debug"

    @classmethod
    def find_build_id(cls):
        """The library's, as the agent tells it."""
        api = Api(cls.lab)
        runtime = wait.until(lambda: api.runtimes().get(cls.application.pid_inside), "the runtime is listed")["id"]
        samples = Samples(api.request(f"/v1/runtimes/{runtime}/profile?duration=1", "--request", "POST").body)
        return next(build_id for _, _, _, path, build_id in samples.mappings if path == Hotspot.INSIDE)

    def setUp(self):
        self.cache = os.path.join(self.lab.new_directory(self.lab.near, "home"), "cache")

    def directory_with(self, place, file=None):
        """A directory that has the symbols, or another file, in this place."""
        directory = self.lab.new_directory(self.lab.near, "symbols")
        path = os.path.join(directory, place)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        shutil.copy(file or self.debug, path)
        return directory

    def server(self, answer="files", directory=None):
        return self.use(SymbolServer(self.lab, directory or self.directory_with(self.sym_key), answer))

    def start(self, *arguments, **environment):
        """A profile that is under way: folded stacks."""
        return self.lab.near.start(needs.farport(), "profile", self.agent.remote, *self.lab.tools_pair.flags(),
                                   "--duration", "2s", *arguments, name="farport-profile",
                                   environment={"XDG_CACHE_HOME": self.cache} | environment)

    def profile(self, *arguments, **environment):
        """The same to its end."""
        process = self.start(*arguments, **environment)
        self.assertEqual(process.wait(), 0, process.output())
        return process

    def samples_with(self, process, name):
        """How many samples have a frame of this name, the busy function or what it is interrupted by."""
        counts = [(stack, int(count)) for stack, _, count in (line.rpartition(" ") for line in process.stdout().splitlines())]
        # A busy machine leaves it a tenth of a processor, and nearly all samples are alike.
        self.assertGreater(sum(count for _, count in counts), 5, process.output())
        return sum(count for stack, count in counts if name in stack)

    def assert_named(self, process):
        self.assertGreater(self.samples_with(process, hotspot.LOCAL), 0, process.output())
        self.assertEqual(self.samples_with(process, "libhotspot.so+0x"), 0, process.output())

    def assert_unnamed(self, process):
        self.assertEqual(self.samples_with(process, hotspot.LOCAL), 0, process.output())
        self.assertGreater(self.samples_with(process, "libhotspot.so+0x"), 0, process.output())

    def fetching(self):
        """Whether a curl runs on the near host."""
        return any(proc.command_line(pid)[:1] == [b"curl"] for pid in self.lab.near.processes())

    def cached(self):
        """The files in the cache."""
        directory = pathlib.Path(self.cache, "farport", "symbols")
        return sorted(path.name for path in directory.iterdir()) if directory.exists() else None

    def test_what_has_no_name_is_shown_by_its_library_and_place_and_nobody_is_asked(self):
        process = self.profile()
        self.assert_unnamed(process)
        self.assertIsNone(self.cached())

    def test_a_directory_has_the_names_however_it_is_laid_out(self):
        places = (f".build-id/{self.build_id[:2]}/{self.build_id[2:]}.debug", "libhotspot.so.debug", "libhotspot.so.dbg",
                  "libhotspot.so", self.sym_key)
        for place in places:
            with self.subTest(place):
                self.assert_named(self.profile("--symbols", self.directory_with(place)))
        self.assertIsNone(self.cached())

    def test_only_a_file_of_the_same_build_id_is_used(self):
        wrong = self.directory_with("libhotspot.so.debug", "/bin/sh")
        self.assert_unnamed(self.profile("--symbols", wrong))
        right = self.directory_with("libhotspot.so.debug")
        self.assert_named(self.profile("--symbols", wrong, "--symbols", right))
        self.assert_named(self.profile(FARPORT_SYMBOLS=f"{wrong},{right}"))

    def test_a_server_is_asked_by_the_keys_of_ssqp_and_what_it_sends_is_kept(self):
        server = self.server()
        self.assert_named(self.profile("--symbol-server", server.url + "/"))
        asked = [path for path, _ in server.asked()]
        # The other keys are for where this one is not known.
        self.assertEqual([path for path in asked if self.build_id in path], ["/" + self.sym_key])
        self.assertTrue(any(path.startswith("/libcoreclr.so/elf-buildid-") for path in asked), asked)
        self.assertEqual(self.cached(), [f"{self.build_id}.debug"])
        self.assertEqual(os.stat(os.path.join(self.cache, "farport", "symbols")).st_mode & 0o777, 0o700)
        server.stop()
        again = self.profile("--symbol-server", server.url)
        self.assert_named(again)
        # Its other files were not to be had the first time either.
        self.assertEqual(again.stderr().count(server.address), 1, again.stderr())

    def test_other_keys_redirections_and_a_second_server_do_as_well(self):
        places = (f"libhotspot.so/elf-buildid-{self.build_id}/libhotspot.so", f"buildid/{self.build_id}/debuginfo")
        empty = self.server(directory=self.lab.new_directory(self.lab.near, "empty"))
        for place, answer in itertools.product(places, ("files", "moved")):
            with self.subTest(place=place, answer=answer):
                shutil.rmtree(self.cache, ignore_errors=True)
                server = self.server(answer, self.directory_with(place))
                self.assert_named(self.profile("--symbol-server", empty.url, "--symbol-server", server.url))
                self.assertEqual(self.cached(), [f"{self.build_id}.debug"])
                server.stop()

    def test_a_server_that_has_the_stripped_file_does_not_hide_another_one(self):
        stripped = self.server(directory=self.directory_with(f"libhotspot.so/elf-buildid-{self.build_id}/libhotspot.so", self.library))
        server = self.server()
        self.assert_named(self.profile("--symbol-server", stripped.url, "--symbol-server", server.url))
        self.assertEqual([path for path, _ in server.asked() if self.build_id in path], ["/" + self.sym_key])

    def test_a_bad_server_costs_the_names_alone(self):
        for answer in ("broken", "garbage", "other", "cut", "elsewhere", "round", "large", "silent", "endless"):
            with self.subTest(answer):
                server = self.server(answer)
                process = self.profile("--symbol-server", server.url)
                self.assert_unnamed(process)
                self.assertEqual(process.stderr().count(server.address), 1, process.stderr())
                self.assertEqual(self.cached(), [])
                server.stop()

    def test_ctrl_c_ends_the_search_and_the_profile_is_there(self):
        server = self.server("silent")
        process = self.start(FARPORT_SYMBOL_SERVER=server.url.replace("//", "//me:secret@"))
        wait.until(server.asked, process.output)
        # A password is for the server alone.
        self.assertEqual(server.asked()[0][1], "Basic bWU6c2VjcmV0")
        self.assertTrue(self.fetching())
        shown = [argument for pid in self.lab.near.processes() for argument in proc.command_line(pid)]
        self.assertFalse(any(b"secret" in argument for argument in shown), shown)
        began = time.monotonic()
        process.send(signal.SIGINT)
        self.assertEqual(process.wait(), 0, process.output())
        self.assertLess(time.monotonic() - began, 9)
        self.assert_unnamed(process)
        self.assertIn("interrupted", process.stderr())
        self.assertNotIn("secret", process.output())
        wait.until(lambda: not self.fetching(), "curl has ended")
        self.assertEqual(self.cached(), [])

    def test_a_terminal_shows_whose_names_are_looked_for(self):
        server = self.server("silent")
        terminal = Terminal(self.lab.near, needs.farport(), "profile", self.agent.remote, *self.lab.tools_pair.flags(),
                            "--duration", "1s", "--top", "--symbol-server", server.url, columns=80, rows=40)
        self.addCleanup(terminal.close)
        terminal.wait_for(lambda lines: any(re.search(r", names of \S+ \(1 of \d+\)$", line) for line in lines), "the search")
        os.kill(terminal.pid, signal.SIGINT)
        terminal.wait_for_text("is interrupted")
        terminal.wait_for_text("libhotspot.so+0x")

    def test_what_is_no_url_is_refused_before_anything_is_asked(self):
        process = self.start("--symbol-server", "file:///etc/passwd")
        self.assertEqual(process.wait(), 2, process.output())
        self.assertIn("a symbol server is no URL", process.stderr())


if __name__ == "__main__":
    main()
