"""Dumps of real runtimes: each arrives where the tool asked for it, and nothing is left behind."""

import json
import os
import pathlib
import stat

from harness import dumps, needs, wait
from harness.audit import Audit
from harness.case import Case, main

HEAP_MIB = 500
# Of an ELF core: NT_PRSTATUS, NT_AUXV and NT_FILE are what debuggers need.
NOTES = {1, 6, 0x46494C45}


class Dumps(Case):
    @classmethod
    def prepare(cls):
        cls.watcher = cls.lab.authority.client("watcher")
        # The hosts share no directory: each sees a file system of its own where its files are.
        cls.application = cls.lab.orders()
        cls.audit = Audit(f"{cls.lab.directory}/audit.jsonl")
        cls.agent = cls.share(cls.lab.agent("--audit", cls.audit.path,
                                            allow=("--allow-cn", "tools=operator", "--allow-cn", "watcher")))
        cls.agent.wait_for(cls.application)
        cls.mirror = cls.share(cls.lab.mirror(cls.agent.remote))
        cls.local_pid = cls.mirror.wait_for(cls.application)[0]["local_pid"]

    def path(self, name):
        """A path on the tools' host."""
        return os.path.join(self.lab.new_directory(self.lab.near, "dumps"), name)

    def farport_dump(self, *arguments, pair=None):
        return self.lab.near.run(needs.farport(), "dump", *arguments, *(pair or self.lab.tools_pair).flags())

    def assert_nothing_left(self):
        wait.until(lambda: not dumps.private_directories(self.lab.far.tmp), "nothing is left on the far host")

    def test_each_type_arrives_where_the_tool_asked_for_it(self):
        sizes = {}
        for kind in ("Normal", "WithHeap", "Triage", "Full"):
            path = self.path(f"{kind}.dmp")
            self.assert_ok(self.tools.driver("dump", self.local_pid, kind, path))
            self.assertLessEqual(NOTES, dumps.core_notes(path))
            self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o600)
            sizes[kind] = os.path.getsize(path)
            word = {"Normal": "mini", "WithHeap": "heap", "Triage": "triage", "Full": "full"}[kind]
            self.audit.wait_until_last(lambda entry: entry["arguments"]["type"] == word, audit="dump")
        self.assertLess(sizes["Normal"], sizes["WithHeap"])
        self.assertLess(sizes["WithHeap"], sizes["Full"])
        self.assert_nothing_left()

    def test_a_relative_path_is_an_invalid_argument_to_the_tool(self):
        done = self.tools.driver("dump", self.local_pid, "Normal", "x.dmp")
        self.assertEqual(done.code, 1, done.described)
        self.assertIn("Invalid command argument", done.stdout)
        self.assertIn("the path must be absolute", self.mirror.process.stderr())

    def test_an_existing_file_is_replaced_as_the_runtime_itself_would(self):
        path = self.path("again.dmp")
        pathlib.Path(path).write_text("an older dump")
        self.assert_ok(self.tools.driver("dump", self.local_pid, "Normal", path))
        self.assertTrue(dumps.core_notes(path))

    def test_a_path_that_cannot_be_written_is_told_to_the_tool(self):
        missing = f"{self.lab.near.directory}/missing"
        for path, words in ((f"{missing}/x.dmp", ("No such file or directory", f"make the directory {missing} first")),
                            ("/sys/x.dmp", ("farport writes the dump, and runs as user",)),
                            (self.lab.near.directory, ("is a directory",))):
            done = self.tools.driver("dump", self.local_pid, "Normal", path)
            self.assertEqual(done.code, 1, done.described)
            for word in (path, *words):
                self.assertIn(word, done.stdout)
        self.assert_nothing_left()

    def test_an_observer_is_refused_and_told_which_role_it_takes(self):
        pair = self.watcher
        directory = self.lab.new_directory(self.lab.near, "sockets")
        mirror = self.use(self.lab.mirror(self.agent.remote, pair=pair, directory=directory))
        local_pid = mirror.wait_for(self.application)[0]["local_pid"]
        path = self.path("refused.dmp")
        done = self.tools.driver("dump", local_pid, "Normal", path, environment={"TMPDIR": directory})
        self.assertEqual(done.code, 1, done.described)
        self.assertIn("operator", done.stdout)
        self.assertFalse(os.path.exists(path))
        self.assertEqual(os.listdir(os.path.dirname(path)), [])
        # What it may do still works.
        trace = self.path("observed.nettrace")
        self.assert_ok(self.tools.trace("collect", "-p", local_pid, "--duration", "00:00:01", "-o", trace,
                                        environment={"TMPDIR": directory}))
        self.assertGreater(os.path.getsize(trace), 10_000)

    def test_farport_dump_without_any_tool(self):
        path = self.path("own.dmp")
        done = self.assert_ok(self.farport_dump(f"{self.agent.remote}/orders", "-o", path, "--type", "mini"))
        self.assertEqual(done.stdout.strip(), path)
        self.assertLessEqual(NOTES, dumps.core_notes(path))
        self.assert_nothing_left()

    def test_farport_dump_that_is_refused_says_nothing_of_an_application_that_stands_still(self):
        done = self.farport_dump(self.agent.remote, "-o", self.path("x.dmp"), pair=self.watcher)
        self.assertEqual(done.code, 1, done.described)
        self.assertIn("takes the role operator or admin", done.stderr)
        self.assertNotIn("is paused", done.stderr)

    def test_farport_dump_replaces_a_file_only_by_force(self):
        path = self.path("kept.dmp")
        pathlib.Path(path).write_text("yesterday's dump")
        done = self.farport_dump(self.agent.remote, "-o", path, "--type", "mini")
        self.assertEqual(done.code, 1, done.described)
        for word in (path, "the file already exists", "--force"):
            self.assertIn(word, done.stderr)
        self.assertEqual(pathlib.Path(path).read_text(), "yesterday's dump")
        self.assert_ok(self.farport_dump(self.agent.remote, "-o", path, "--type", "mini", "--force"))
        self.assertTrue(dumps.core_notes(path))

    def test_farport_dump_of_a_runtime_that_is_not_there(self):
        done = self.farport_dump(f"{self.agent.remote}/billing", "-o", self.path("x.dmp"))
        self.assertEqual(done.code, 1, done.described)
        self.assertIn("orders", done.stderr)

    def test_a_dump_may_stay_where_the_runtime_is(self):
        done = self.assert_ok(self.farport_dump(self.agent.remote, "--stay", "--type", "mini"))
        path = done.stdout.strip()
        self.assertEqual(os.path.dirname(path), self.lab.far.tmp)
        self.assertLessEqual(NOTES, dumps.core_notes(path))
        os.unlink(path)
        self.assert_nothing_left()

    def test_a_name_that_is_too_long_for_a_file_is_cut_or_refused_before_the_dump_is_taken(self):
        long_name = "orders-" + 300 * "x"
        agent = self.use(self.lab.agent("--runtime", f"{long_name}={self.application.socket}", port=9005, search=[],
                                        allow=("--allow-cn", "tools=operator")))
        wait.until(agent.runtimes, agent.log)
        kept = self.assert_ok(self.farport_dump(agent.remote, "--stay", "--type", "mini")).stdout.strip()
        self.assertLessEqual(NOTES, dumps.core_notes(kept))
        os.unlink(kept)
        path = self.assert_ok(self.farport_dump(agent.remote, "--type", "mini")).stdout.strip()
        self.assertLessEqual(NOTES, dumps.core_notes(path))
        before = len(self.audit.entries(audit="dump"))
        done = self.farport_dump(self.agent.remote, "-o", self.path(long_name), "--type", "mini")
        self.assertEqual(done.code, 1, done.described)
        self.assertIn("File name too long", done.stderr)
        self.assertEqual(len(self.audit.entries(audit="dump")), before)

    def test_curl_takes_a_dump(self):
        runtime = self.agent.runtimes()[0]
        path = self.path("curl.dmp")
        pair = self.lab.tools_pair
        done = self.lab.near.run(
            needs.program("curl"), "--silent", "--fail", "--cert", pair.cert, "--key", pair.key, "--cacert", pair.ca,
            "--request", "POST", "--output", path,
            f"https://{self.agent.remote}/v1/runtimes/{runtime['id']}/dump?type=mini")
        self.assert_ok(done)
        self.assertLessEqual(NOTES, dumps.core_notes(path))


class LargeDump(Case):
    @classmethod
    def prepare(cls):
        cls.application = cls.lab.orders("--heap", str(HEAP_MIB))
        cls.agent = cls.share(cls.lab.agent())
        cls.agent.wait_for(cls.application)
        cls.mirror = cls.share(cls.lab.mirror(cls.agent.remote))
        cls.local_pid = cls.mirror.wait_for(cls.application)[0]["local_pid"]

    def test_its_bytes_are_those_that_the_runtime_wrote(self):
        path = os.path.join(self.lab.near.directory, "large.dmp")
        tool = self.tools.start_driver("dump", self.local_pid, "WithHeap", path)
        with wait.until(lambda: dumps.open_when_there(self.lab.far.tmp), "the runtime writes its dump") as written:
            self.assertEqual(tool.wait(), 0, tool.output())
            size = os.path.getsize(path)
            self.assertGreater(size, HEAP_MIB << 20)
            self.assertEqual(os.fstat(written.fileno()).st_size, size)
            self.assertEqual(dumps.digest(path), dumps.digest(written))
        # Three quarters of the heap are zeros: those take no space here.
        self.assertLess(dumps.blocks(path), size // 2)
        self.assertEqual(dumps.private_directories(self.lab.far.tmp), [])
        # The mirror has told of it on its way.
        states = [json.loads(line)["runtime"].get("dump") for line in self.mirror.process.stdout().splitlines()]
        phases = {state["phase"] for state in states if state}
        self.assertEqual(phases, {"writing", "sending"})
        self.assertIn(path, self.mirror.process.stderr())

    def test_farport_dump_says_that_the_application_stands_still(self):
        path = os.path.join(self.lab.near.directory, "announced.dmp")
        done = self.assert_ok(self.lab.near.run(needs.farport(), "dump", self.agent.remote, "-o", path, "--type", "full",
                                                *self.lab.tools_pair.flags()))
        self.assertRegex(done.stderr, r"orders \(pid \d+\) is paused while it writes the dump")


if __name__ == "__main__":
    main()
