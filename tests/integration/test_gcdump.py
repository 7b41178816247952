"""What is in a remote application's heap: compared with what the application keeps, and read by Microsoft's own code."""

import json
import os
import pathlib
import signal
import time

from harness import needs, wait
from harness.agent import ALLOW_TOOLS
from harness.breaking import QUICK_PINGS
from harness.case import Case, main
from harness.fake import FakeRuntime
from harness.looking import Looking
from harness.network import Network
from harness.scripted import ScriptedRuntime
from harness.silent import Silent
from harness.terminal import Terminal
from harness.watched import Watched

HELD = 20_000
# A header, a reference and its padding; the array's header, length and 1,000 bytes.
HELD_BYTES, ARRAY_BYTES = 24, 1024


def tool_assemblies():
    """Where the reader of .gcdump files is that dotnet-trace brings along."""
    found = sorted(pathlib.Path(needs.dotnet_trace()).parent.glob(".store/dotnet-trace/*/dotnet-trace/*/tools/*/any"))
    if not found:
        raise RuntimeError("dotnet-trace has no assemblies beside it")
    return str(found[-1])


class HeapCase(Looking, Case):
    def json_of(self, *arguments):
        return json.loads(self.look_whole("gcdump", "--format", "json", *arguments).stdout())

    def read_by_microsoft(self, file):
        """What the stock reader says of a .gcdump file: values by their name, and types as (objects, bytes) by theirs."""
        lines = self.assert_ok(self.tools.driver("gcdump", file, tool_assemblies())).stdout.splitlines()
        types = {}
        for line in lines:
            if line.startswith("type "):
                _, objects, size, name = line.split(" ", 3)
                before = types.get(name, (0, 0))  # Types of the same name in different classes are several.
                types[name] = (before[0] + int(objects), before[1] + int(size))
        return dict(line.split(" ", 1) for line in lines if not line.startswith("type ")), types

    def new_path(self, name):
        return os.path.join(self.lab.new_directory(self.lab.near, "heap"), name)


def named(heap, name):
    return [entry for entry in heap["types"] if entry["type"] == name]


class Heap(HeapCase):
    @classmethod
    def prepare(cls):
        cls.network = Network(cls.lab)
        cls.application = cls.share(Watched(cls.lab))
        cls.application.get("/hold", count=HELD)
        cls.agent = cls.share(cls.lab.agent(*QUICK_PINGS))
        cls.agent.wait_for(cls.application)

    def setUp(self):
        self.addCleanup(self.network.mend)

    def test_every_object_is_counted(self):
        taken = int(self.application.get("/hold", count=0))
        heap = self.json_of()
        self.assertTrue(heap["complete"])
        self.assertEqual(heap["pid"], self.application.pid_inside)
        self.assertEqual(heap["process"], "watched")
        self.assertEqual(named(heap, "Watched.Held"),
                         [{"type": "Watched.Held", "module": "watched.dll", "bytes": HELD * HELD_BYTES, "objects": HELD}])
        arrays = named(heap, "System.Byte[]")[0]
        self.assertGreaterEqual(arrays["objects"], HELD)
        self.assertGreaterEqual(arrays["bytes"], HELD * ARRAY_BYTES)
        self.assertEqual(sum(entry["objects"] for entry in heap["types"]), heap["objects"])
        self.assertEqual(sum(entry["bytes"] for entry in heap["types"]), heap["bytes"])
        # What the application does meanwhile takes a little itself.
        self.assertGreater(heap["bytes"], 0.9 * taken)
        self.assertLess(heap["bytes"], 1.2 * taken)
        self.assertEqual([entry for entry in heap["types"] if entry["type"].startswith("[type ")], [])

    def test_a_table_of_the_largest_types(self):
        lines = self.look_whole("gcdump", "--top", "5").stdout().splitlines()
        self.assertEqual(lines[0].split(), ["BYTES", "OBJECTS", "TYPE"])
        self.assertEqual(lines[1].split()[2], "[all]")
        self.assertEqual(len(lines), 7)
        self.assertIn("System.Byte[]  [System.Private.CoreLib.dll]", lines[2])
        sizes = [int(line.split()[0].replace(",", "")) for line in lines[2:]]
        self.assertEqual(sizes, sorted(sizes, reverse=True))

    def test_names_too_long_for_a_terminal_are_cut(self):
        terminal = Terminal(self.lab.near, needs.farport(), "gcdump", self.agent.remote, *self.lab.tools_pair.flags(),
                            columns=60, rows=40)
        self.addCleanup(terminal.close)
        self.assertEqual(terminal.wait(), 0, terminal.shown())
        self.assertIn("Watched.Held", terminal.shown())
        self.assertIn("…", terminal.shown())
        self.assertTrue(all(len(line) <= 60 for line in terminal.lines()), terminal.shown())

    def test_a_file_is_what_microsofts_reader_reads(self):
        file = self.new_path("x.gcdump")
        done = self.look_whole("gcdump", "-o", file)
        self.assertEqual(done.stdout(), file + "\n")
        self.assertEqual(os.stat(file).st_mode & 0o777, 0o600)
        told, types = self.read_by_microsoft(file)
        self.assertEqual((told["tool"], told["process"], told["wide"]), ("farport", "watched", "True"))
        self.assertEqual(int(told["pid"]), self.application.pid_inside)
        self.assertTrue(told["collected"].startswith(time.strftime("%Y-", time.gmtime())), told)
        self.assertEqual(types["watched.dll!Watched.Held"], (HELD, HELD * HELD_BYTES))
        self.assertEqual(sum(size for _, size in types.values()), int(told["bytes"]))
        # Large objects have types of their own, as dotnet-gcdump gives them.
        strings = {name: size / count for name, (count, size) in types.items() if "!System.String" in name and count}
        for name, average in strings.items():
            least = {"1K": 1000, "10K": 10_000, "100K": 100_000}.get(name.partition("(Bytes > ")[2].rstrip(")"), 0)
            self.assertTrue(least <= average <= (10 * least or 1000), strings)
        self.assertTrue(any(name.endswith(" (Bytes > 1K)") for name in types), sorted(types))
        # Roots lead to nearly everything.
        self.assertGreater(int(told["reached"]), 0.95 * int(told["nodes"]))

    def test_a_file_of_types_holds_all_of_them(self):
        file = self.new_path("x.json")
        self.look_whole("gcdump", "-o", file)
        heap = json.loads(pathlib.Path(file).read_text(encoding="utf-8"))
        self.assertGreater(len(heap["types"]), 500)
        self.assertEqual(named(heap, "Watched.Held")[0]["objects"], HELD)

    def test_two_at_once_count_the_same(self):
        both = [self.look("gcdump", "--format", "json") for _ in range(2)]
        for process in both:
            self.assertEqual(process.wait(), 0, process.output())
        heaps = [json.loads(process.stdout()) for process in both]
        # A runtime tells the names of types to one session alone, and the other says that it lacks them.
        for heap in heaps:
            self.assertTrue(heap["complete"])
            self.assertIn((HELD, HELD * HELD_BYTES), [(entry["objects"], entry["bytes"]) for entry in heap["types"]])

    def test_it_comes_whole_though_the_link_breaks(self):
        self.network.throttle(1000)
        self.addCleanup(self.network.unthrottle)
        process = self.look("gcdump", "--format", "json", *QUICK_PINGS)
        time.sleep(1)
        self.assertTrue(process.running(), process.output())
        self.network.reset(self.agent.port)
        with self.network.dark():
            time.sleep(2)
        self.network.unthrottle()
        self.assertEqual(process.wait(), 0, process.output())
        heap = json.loads(process.stdout())
        self.assertTrue(heap["complete"])
        self.assertEqual(named(heap, "Watched.Held")[0]["objects"], HELD)

    def test_what_is_wrong_is_said(self):
        there = self.new_path("there.gcdump")
        self.look_whole("gcdump", "-o", there)
        before = pathlib.Path(there).read_bytes()
        for arguments, words in ((("-o", "x.foo"), ".gcdump or .json"), (("-o", there), "--force"), (("--format", "csv"), "csv"),
                                 (("--top", "0"), "0"), (("--timeout", "soon"), "soon")):
            self.assertIn(words, self.look_whole("gcdump", *arguments, code=2).stderr())
        self.assertEqual(pathlib.Path(there).read_bytes(), before)
        self.look_whole("gcdump", "-o", there, "--force")
        self.assertIn("nobody", self.look_whole("gcdump", target=self.agent.remote + "/nobody", code=1).stderr())
        directory = self.new_path("nowhere") + "/x.gcdump"
        self.assertIn("No such file", self.look_whole("gcdump", "-o", directory, code=1).stderr())


class Beside(HeapCase):
    """Heaps beside what goes on in the same runtime, the recorder first of all: whole, and with the names of all types, each time."""
    OTHERS = (("exceptions",), ("counters",), ("logs",), ("trace", "--profile", "gc-verbose"),
              ("trace", "--profile", "dotnet-common,dotnet-sampled-thread-time"))

    @classmethod
    def prepare(cls):
        cls.agent = cls.share(cls.lab.agent("--recorder"))

    def start(self, framework):
        """An application of this version."""
        process = self.lab.far.start(needs.talkative(framework), "600")
        self.addCleanup(process.kill)
        wait.until(lambda: str(process.pid_on_host) in [str(runtime["pid"]) for runtime in self.agent.runtimes()], process.output)
        return f"{self.agent.remote}/{process.pid_on_host}"

    def assert_named(self, target):
        done = self.look_whole("gcdump", "--format", "json", target=target)
        self.assertEqual(done.stderr(), "")
        heap = json.loads(done.stdout())
        self.assertTrue(heap["complete"])
        self.assertEqual(named(heap, "System.String")[0]["module"], "System.Private.CoreLib.dll")
        self.assertEqual([entry for entry in heap["types"] if entry["type"].startswith("[type ")], [])

    def test_each_version(self):
        for framework in (None, "net9.0", "net8.0"):
            with self.subTest(framework or "net10.0"):
                target = self.start(framework)
                for _ in range(3):
                    self.assert_named(target)

    def test_sessions_of_all_kinds(self):
        target = self.start(None)
        for number, (command, *arguments) in enumerate(self.OTHERS):
            with self.subTest(command):
                if command == "trace":
                    arguments += ["-o", self.new_path(f"{number}.nettrace")]
                other = self.look(command, *arguments, target=target)
                time.sleep(2)  # it has begun by then
                for _ in range(2):
                    self.assert_named(target)
                self.assertTrue(other.running(), other.output())
                other.stop(signal.SIGINT)

    def test_a_stock_tool_through_a_mirror(self):
        target = self.start(None)
        mirror = self.use(self.lab.mirror(target))
        (row,) = wait.until(mirror.rows, mirror.process.output)
        for _ in range(3):
            walk = self.assert_ok(self.tools.driver("heapwalk", row["local_pid"])).values()
            self.assertEqual(walk["complete"], "True")
            self.assertGreater(int(walk["types"]), 100)


class Refused(HeapCase):
    """Who has no grant gets nothing."""

    @classmethod
    def prepare(cls):
        cls.application = cls.share(Watched(cls.lab))
        cls.agent = cls.share(cls.lab.agent(allow=("--allow-cn", "somebody-else")))

    def test_refused(self):
        file = self.new_path("x.gcdump")
        self.assertIn("no role", self.look_whole("gcdump", "-o", file, code=1).stderr())
        self.assertFalse(os.path.exists(file))


class Wrong(HeapCase):
    """Runtimes that say nothing of their heaps, or what nobody understands."""

    @classmethod
    def prepare(cls):
        cls.scripted = cls.share(ScriptedRuntime(cls.lab))
        cls.fake = cls.share(FakeRuntime(cls.lab))
        cls.agent = cls.share(cls.lab.agent())
        cls.agent.wait_for(cls.scripted, cls.fake)

    def test_a_runtime_that_says_nothing_is_given_up(self):
        file = self.new_path("x.gcdump")
        process = self.look("gcdump", "--timeout", "2s", "-o", file, target=f"{self.agent.remote}/{self.scripted.pid_inside}")
        # The first session makes it name its types, the second one is for the heap.
        for session in (6, 7):
            asked = self.scripted.next()
            asked.begin_session(session)
            wait.until(lambda number=session: number in self.scripted.stopped, process.output)
            asked.connection.close()
        self.assertEqual(process.wait(), 1, process.output())
        self.assertIn("give it more time with --timeout", process.stderr())
        self.assertFalse(os.path.exists(file))

    def test_a_stream_that_is_none_is_refused(self):
        file = self.new_path("x.gcdump")
        done = self.look_whole("gcdump", "-o", file, target=f"{self.agent.remote}/{self.fake.pid_inside}", code=1)
        self.assertIn("byte 0", done.stderr())
        self.assertFalse(os.path.exists(file))


class LeftBehind(HeapCase):
    """Nothing goes on in the runtime when a command is killed, or interrupted."""

    @classmethod
    def prepare(cls):
        cls.runtime = Silent(cls.lab)
        cls.agent = cls.share(cls.lab.agent("--grace", "2s", *QUICK_PINGS, allow=ALLOW_TOOLS))
        cls.agent.wait_for(cls.runtime)
        cls.runtime.rest()

    def test_killed(self):
        for moment in range(1, 9):
            for number in (signal.SIGKILL, signal.SIGINT):
                process = self.look("gcdump")
                time.sleep(moment * 0.02)
                process.stop(number, 30)
                self.runtime.wait_until_free()


if __name__ == "__main__":
    main()
