"""Stock tools, real runtimes and dumps while the session breaks: nothing is missing from what they bring home."""

import os
import random
import signal
import subprocess
import time

from harness import dumps, needs, wait
from harness.breaking import QUICK_PINGS
from harness.case import Case, main
from harness.fake import FakeRuntime
from harness.network import Network
from harness.proxy import Proxy
from harness.recordings import Recordings

BREAKS = 10
AWAY_SECONDS = 20
DUMP_BYTES = 200_000_000
# So that it is under way for some ten seconds.
DUMP_KILOBITS = 40_000


class Tracing(Recordings, Case):
    @classmethod
    def prepare(cls):
        cls.network = Network(cls.lab)
        cls.application = cls.lab.orders("--rate", "2000")
        agent = cls.share(cls.lab.agent(*QUICK_PINGS))
        cls.proxy = Proxy(cls.lab)
        cls.mirror = cls.share(cls.lab.mirror(cls.proxy.remote, flags=QUICK_PINGS))
        cls.row = cls.mirror.wait_for(cls.application)[0]
        agent.wait_for(cls.application)

    def break_often(self, tool, seconds=2.0):
        """Breaks the session in turns, at random moments, while the tool runs."""
        chosen = random.Random(5)
        kinds = [lambda: self.proxy.tell("reset"), self.black_hole, self.kill_proxy, lambda: self.proxy.tell("close")]
        for number in range(BREAKS):
            before = len(self.mirror.states())
            kinds[number % len(kinds)]()
            self.mirror.wait_until_back(before)
            self.assertTrue(tool.running(), tool.output())
            time.sleep(chosen.uniform(0.1, seconds))  # the random moment

    def black_hole(self):
        before = len(self.mirror.states())
        with self.network.dark():
            self.mirror.wait_for_break(before)

    def kill_proxy(self):
        self.proxy.kill()
        self.proxy.start()

    def test_a_recording_by_dotnet_trace(self):
        tool, file = self.begin_recording(self.row)
        self.break_often(tool)
        self.assertEqual(tool.stop(signal.SIGINT, 90), 0, tool.output())
        self.assert_nothing_odd(tool)
        self.assert_whole(file)
        self.tools.frames(file)

    def assert_nothing_odd(self, tool):
        self.assertEqual(tool.stderr(), "")
        for word in ("rror", "xception", "arning", "broken"):
            self.assertNotIn(word, tool.stdout())

    def test_a_session_of_the_client_library_until_the_runtime_ends(self):
        second = self.lab.orders("--rate", "2000")
        row = self.mirror.wait_for(self.application, second)[1]
        tool = self.tools.start_driver("until-end", row["local_pid"])
        tool.wait_for_output("open True")
        self.break_often(tool, seconds=0.5)
        second.stop()
        self.assertEqual(tool.wait(), 0, tool.output())
        values = dict(line.split(" ", 1) for line in tool.stdout().splitlines())
        self.assert_says_whole(values)

    def test_a_tool_that_starts_while_the_session_is_broken(self):
        before = len(self.mirror.states())
        self.proxy.kill()
        self.mirror.wait_for_break(before)
        tool = self.tools.start_driver("session", self.row["local_pid"], 2)
        wait.stays(tool.running, "it waits", 3)
        self.proxy.start()
        self.assertEqual(tool.wait(), 0, tool.output())
        self.assertIn("whole True", tool.stdout())


class Dumps(Case):
    @classmethod
    def prepare(cls):
        cls.network = Network(cls.lab)
        cls.runtime = FakeRuntime(cls.lab, "--dump", f"bytes:{DUMP_BYTES}")
        cls.addClassCleanup(cls.runtime.stop)
        cls.agent = cls.share(cls.lab.agent(*QUICK_PINGS))
        cls.mirror = cls.share(cls.lab.mirror(cls.agent.remote, flags=QUICK_PINGS))
        cls.row = cls.mirror.wait_for(cls.runtime)[0]
        expected = os.path.join(cls.lab.far.directory, "expected")
        subprocess.run([needs.fake_runtime(), "--write-dump", expected, str(DUMP_BYTES)], check=True)
        cls.expected = dumps.digest(expected)

    def setUp(self):
        self.addCleanup(self.network.mend)
        self.target = os.path.join(self.lab.new_directory(self.lab.near, "target"), "x.dmp")
        self.network.throttle(DUMP_KILOBITS)

    def by_mirror(self):
        return self.tools.start_driver("dump", self.row["local_pid"], "WithHeap", self.target)

    def by_farport(self):
        return self.lab.near.start(needs.farport(), "dump", self.agent.remote, "-o", self.target,
                                   *self.lab.tools_pair.flags())

    def wait_until_it_is_sent(self):
        """Until the agent has it and sends it: its name is gone, the file is open, and some has been sent."""
        wait.until(lambda: dumps.private_directories(self.lab.far.tmp), "the dump is being written")
        wait.until(lambda: not dumps.private_directories(self.lab.far.tmp), "the dump is being sent")
        time.sleep(2)  # somewhere in the middle

    def check(self, tool, make):
        self.wait_until_it_is_sent()
        make()
        self.assertTrue(tool.running(), tool.output())
        self.network.unthrottle()
        self.assertEqual(tool.wait(), 0, tool.output())
        self.assertEqual(os.path.getsize(self.target), DUMP_BYTES)
        self.assertEqual(dumps.digest(self.target), self.expected)
        self.assertEqual(os.listdir(os.path.dirname(self.target)), ["x.dmp"])
        self.assertEqual(dumps.private_directories(self.lab.far.tmp), [])

    def unplug(self):
        with self.network.unplugged():
            time.sleep(AWAY_SECONDS)  # how long the network is away

    def reset(self):
        self.assertGreaterEqual(self.network.reset(self.agent.port), 1)

    def test_the_network_is_away_while_a_mirror_takes_one(self):
        self.check(self.by_mirror(), self.unplug)

    def test_the_network_is_away_while_farport_dump_takes_one(self):
        self.check(self.by_farport(), self.unplug)

    def test_a_reset_while_a_mirror_takes_one(self):
        self.check(self.by_mirror(), self.reset)

    def test_a_reset_while_farport_dump_takes_one(self):
        self.check(self.by_farport(), self.reset)


class WritingDumps(Case):
    def test_a_reset_while_the_runtime_writes_its_dump(self):
        network = Network(self.lab)
        application = self.lab.orders("--heap", "300")
        agent = self.use(self.lab.agent(*QUICK_PINGS))
        mirror = self.use(self.lab.mirror(agent.remote, flags=QUICK_PINGS))
        row = mirror.wait_for(application)[0]
        path = os.path.join(self.lab.near.directory, "x.dmp")
        application.process.freeze()
        tool = self.tools.start_driver("dump", row["local_pid"], "Normal", path)
        wait.until(lambda: dumps.private_directories(self.lab.far.tmp), "the runtime is asked for its dump")
        before = len(mirror.states())
        self.assertEqual(network.reset(agent.port), 1)
        mirror.wait_until_back(before)
        application.process.thaw()
        self.assertEqual(tool.wait(), 0, tool.output())
        self.assertTrue(dumps.core_notes(path))


if __name__ == "__main__":
    main()
