"""An agent with the memory that the example for Kubernetes gives it, and peers that take all that they can get: it
lives, those beside them are served, and its memory returns. With the release binary alone: the sanitizers take more memory than
there is."""

import concurrent.futures
import json
import os
import re
import signal
import sys
import time

from harness import needs, proc, wait
from harness.api import Api
from harness.case import Case, main
from harness.fake import FakeRuntime
from harness.flooded import Flooded
from harness.hostile_traces import recorded
from harness.hotspot import Hotspot
from harness.memory_group import MemoryGroup

MANY = 500
LONGEST_LINE = 4000


class Memory(Flooded):
    def test_one_without_a_grant_that_acknowledges_nothing_and_reads_nothing(self):
        self.assert_lives(self.flood("no_acknowledgement", self.stranger))

    def test_one_with_a_grant_that_acknowledges_nothing_and_reads_nothing(self):
        self.assert_lives(self.flood("no_acknowledgement", self.observer), self.flood("pings", self.observer))

    def test_two_thousand_connections_a_second_without_a_certificate(self):
        self.assert_lives(self.flood("handshakes"))

    def test_an_observer_with_unread_lists(self):
        self.assert_lives(self.flood("lists", self.observer))

    def test_an_observer_with_unread_watches_and_a_runtime_that_comes_and_goes(self):
        floods = [self.flood("watches", self.observer)]
        for number in range(10):
            FakeRuntime(self.lab, pid=5000 + number).stop()
        self.assert_lives(*floods)

    def test_an_observer_who_asks_as_fast_as_he_can(self):
        self.assert_lives(self.flood("requests_read", self.observer))

    def test_forty_tools_that_have_stopped_reading(self):
        self.assert_lives(self.flood("stopped_tools", self.observer, self.flooding))

    def test_nine_hundred_tools_that_have_stopped_reading(self):
        self.assert_lives(self.flood("many_stopped_tools", self.observer, self.flooding))

    def test_nine_hundred_tools_that_acknowledge_nothing(self):
        self.assert_lives(self.flood("unacknowledged_tools", self.observer, self.flooding))

    def test_nine_hundred_commands_that_say_that_they_are_large(self):
        self.assert_lives(self.flood("large_first_messages", self.observer, self.flooding))


class ManyRuntimes(Flooded):
    """As a crowded node has them, with command lines as long as the agent takes them."""
    RETURNED = 32 << 20
    OBSERVERS = tuple(f"observer-{number}" for number in range(8))
    FLAGS = tuple(word for name in OBSERVERS for word in ("--allow-cn", f"{name}=observer"))

    @classmethod
    def prepare(cls):
        super().prepare()
        cls.lab.far.start(needs.fake_runtime(), "--many", MANY, cls.lab.far.tmp, "--pid", 10_000, "--command-line",
                          "dotnet " + LONGEST_LINE * "x")
        wait.until(lambda: len(cls.agent.runtimes()) == MANY + 2, "it lists all of them")

    def test_lists_that_are_read_and_lists_that_are_not(self):
        self.assert_lives(*(self.flood(kind, self.observer) for kind in ("lists", "lists_read", "requests_read")))

    def test_lists_that_many_observers_do_not_read(self):
        pairs = [self.lab.authority.client(name) for name in self.OBSERVERS]
        self.assert_lives(*(self.flood("lists", pair) for pair in pairs))

    def test_what_everybody_may_do_unread(self):
        self.assert_lives(self.flood("accesses", self.observer))

    def test_examinations_unread(self):
        self.assert_lives(self.flood("doctors", self.observer))


class Recorded(Flooded):
    """A runtime whose recordings would take more memory than there is."""

    def test_stacks_of_twenty_thousand_threads_with_four_thousand_frames_each(self):
        file = recorded(self.lab.far, "stacks", 1)
        hostile = self.use(FakeRuntime(self.lab, "--stream-file", file, pid=4713))
        listed = self.agent.wait_for(self.fake, self.quiet, hostile)[2]
        self.assert_lives(self.flood("stacks_read", self.observer, listed))
        told = Api(self.lab, self.observer).request(f"/v1/runtimes/{listed['id']}/stacks")
        self.assertEqual(told.status, 502, told)
        self.assertIn("memory limit of 8 MiB", told.error)


class HeapsOfAnySize(Case):
    """They are kept by an agent that has no room for their objects, which are made where there is."""
    LIMIT = 64 << 20
    MANY = 5_000_000

    def test_a_heap_with_more_objects_than_the_agent_has_memory_for(self):
        group = MemoryGroup(self.lab.far, self.LIMIT)
        self.addCleanup(group.remove)
        kept = self.lab.new_directory(self.lab.far, "kept")
        agent = self.use(self.lab.agent("--artifacts", kept, allow=("--allow-cn", "tools=admin"), prefix=group.prefix))
        application = self.use(Hotspot(self.lab.far, "managed", "--objects", self.MANY, rest=100))
        wait.until(lambda: [each for each in agent.runtimes() if each["pid"] == application.pid_inside], agent.log)
        directory = self.lab.new_directory(self.lab.near, "heap")
        flags = self.lab.tools_pair.flags()
        begun = self.lab.near.run(needs.farport(), "gcdump", agent.remote, *flags, "--keep", "--timeout", "10m")
        identifier = self.assert_ok(begun).stdout.strip()
        for ending in ("gcdump", "json"):
            file = os.path.join(directory, f"x.{ending}")
            self.assert_ok(self.lab.near.run(needs.farport(), "artifacts", agent.remote, *flags, "--get", identifier, "-o", file))
        with open(os.path.join(directory, "x.json"), encoding="utf-8") as opened:
            counts = {each["type"]: each["objects"] for each in json.load(opened)["types"]}
        self.assertEqual(counts["Hotspot.Held"], self.MANY)
        self.assertGreater(os.path.getsize(os.path.join(directory, "x.gcdump")), self.MANY)
        self.assertEqual(group.killed(), 0)
        print(f"peak of the agent: {group.peak() >> 20} MiB", file=sys.stderr)


class RecordedByEachRoute(Flooded):
    """Whoever asks for what would take all the memory is told so, and nobody else notices."""
    ATTACKS = ("stacks", "heap", "quantiles", "series", "notices", "threads", "exceptions", "logs")
    ROUTES = ("counters", "stacks", "logs", "exceptions", "gcdump")
    # Which are too much for whom, for sure.
    TOO_MUCH = {("stacks", "stacks"), ("heap", "gcdump")}
    # What curl(1) says of an answer that breaks off.
    BROKEN_OFF = re.compile("exit code (18|56|92),")

    def ask(self, path):
        """The status of the answer, and why; None where it breaks off."""
        try:
            answer = Api(self.lab, self.lab.tools_pair).request(path)
        except AssertionError as broken:
            self.assertRegex(str(broken), self.BROKEN_OFF)
            return None, str(broken)
        return answer.status, "" if answer.status == 200 else answer.error

    def test_each_attack_by_each_route(self):
        for number, attack in enumerate(self.ATTACKS):
            with self.subTest(attack):
                file = recorded(self.lab.far, attack, 8)
                hostile = self.use(FakeRuntime(self.lab, "--stream-file", file, pid=4720 + number))
                listed = self.agent.wait_for(self.fake, self.quiet, hostile)[2]
                paths = [f"/v1/runtimes/{listed['id']}/{route}?seconds=2" for route in self.ROUTES]
                with concurrent.futures.ThreadPoolExecutor() as asking:
                    answers = dict(zip(self.ROUTES, asking.map(self.ask, paths)))
                for route, (status, why) in answers.items():
                    self.assertIn(status, (200, 502, None), answers)
                    if (attack, route) in self.TOO_MUCH:
                        self.assertRegex(why, "exceeds its memory limit of [0-9.]+ MiB", answers)
                self.assertTrue(self.agent.process.running(), self.agent.process.output())
                wait.until(lambda: not proc.children(self.agent.helper("farport-reader")), "no reader is left")
                hostile.stop()
        print(f"peak of each attack by each route: {self.group.peak() >> 20} MiB of 64", file=sys.stderr)
        self.assert_lives()


class LookedAt(Flooded):
    """A process that takes all it can of whoever looks at its threads."""
    THREADS, MAPPINGS = 1500, 40_000
    SECONDS = 5

    def ask(self, runtime, seconds):
        """What a profile from outside comes to."""
        path = f"/v1/runtimes/{runtime['id']}/profile?event=wall&frequency=99&format=folded&duration={seconds}"
        return Api(self.lab, self.lab.tools_pair).request(path, "--request", "POST")

    def test_threads_whose_stacks_are_never_alike_and_mappings_with_long_paths(self):
        hostile = self.use(FakeRuntime(self.lab, "--burden", self.THREADS, self.MAPPINGS, self.lab.far.tmp, pid=4713))
        listed = self.agent.wait_for(self.fake, self.quiet, hostile)[2]
        with concurrent.futures.ThreadPoolExecutor() as asking:
            asked = asking.submit(self.ask, listed, self.SECONDS)
            self.assert_lives()
            answer = asked.result()
        # Either there is room for it, or the memory that it had was not enough. The group's is.
        self.assertIn(answer.status, (200, 502), answer)
        if answer.status == 502:
            self.assertIn("memory limit", answer.error)
        self.assertEqual(self.group.killed(), 0)
        hostile.stop()
        # The one before may not have been counted as over yet.
        again = wait.until(lambda: self.usual(self.ask(self.answering, 1)), "another profile")
        self.assertEqual(again.status, 200, again)

    @staticmethod
    def usual(answer):
        """The answer, unless it says that there are too many."""
        return None if answer.status == 429 else answer


class AppMetrics(Flooded):
    """Counters of runtimes that tell without an end, which nobody asks for."""
    FLAGS = ("--app-metrics",)

    def test_runtimes_that_tell_too_much_too_often_and_too_many_things(self):
        for number, name in enumerate(("quantiles", "series", "notices", "threads")):
            with self.subTest(name):
                file = recorded(self.lab.far, name, 16)
                hostile = self.use(FakeRuntime(self.lab, "--stream-file", file, pid=4720 + number))
                wait.until(lambda pid=hostile.pid_inside: pid in {each["pid"] for each in self.agent.runtimes()}, self.agent.log)
                self.assert_lives()
                hostile.stop()
        warnings = [line for line in self.agent.log().splitlines() if " warning " in line]
        self.assertLess(len(warnings), 50, warnings[:50])
        # They were read.
        for words in ("the runtime has more to tell", "it exceeds its memory limit of 0.5 MiB"):
            self.assertIn(words, "\n".join(warnings))


class Recorder(Flooded):
    """What runtimes write without an end, which nobody asks for, and which the agent keeps."""
    FLAGS = ("--recorder",)

    def test_runtimes_that_write_too_much(self):
        for number, name in enumerate(("quantiles", "series", "notices", "threads", "stacks")):
            with self.subTest(name):
                file = recorded(self.lab.far, name, 16)
                hostile = self.use(FakeRuntime(self.lab, "--stream-file", file, pid=4760 + number))
                wait.until(lambda pid=hostile.pid_inside: pid in {each["pid"] for each in self.agent.runtimes()}, self.agent.log)
                self.assert_lives()
                hostile.stop()


    def test_runtimes_that_fill_their_part_and_live_on_unlisted(self):
        file = recorded(self.lab.far, "series", 16)
        for number in range(16):
            hostile = self.use(FakeRuntime(self.lab, "--stream-file", file, pid=4800 + number))
            wait.until(lambda pid=hostile.pid_inside: pid in {each["pid"] for each in self.agent.runtimes()}, self.agent.log)
            # Time for its part to fill.
            time.sleep(0.5)
            os.unlink(hostile.socket)
        self.assert_lives()
        self.assertEqual(self.group.killed(), 0)


class Laptop(Case):
    """What each command makes of a runtime that wants to use it up: it ends, in little memory, and Ctrl-C ends it before."""
    LIMIT = 256 << 20
    COMMANDS = {"counters": ("counters", "--format", "json"), "stacks": ("stacks",), "logs": ("logs",), "exceptions": ("exceptions",),
                "heap": ("gcdump", "-o", "{}/x.gcdump"), "wall": ("profile", "--wall", "-o", "{}/x.html")}
    # What it ends with, and says or prints. A fake may have ended before it is told to, which fails what needs the end.
    ATTACKS = {"stacks": (("stacks", None, ""), ("wall", None, ""), ("counters", 0, "")),
               "heap": (("heap", 1, "cannot "),), "quantiles": (("counters", 0, "spread"),),
               "series": (("counters", 0, "placed"),), "notices": (("counters", 0, "has more to tell"),),
               "threads": (("stacks", 1, "too many threads"), ("wall", 1, "too many threads"), ("logs", 1, "too many threads")),
               "exceptions": (("exceptions", 0, "exceptions were dropped"),), "logs": (("logs", 0, "Orders"),)}

    @classmethod
    def prepare(cls):
        cls.group = MemoryGroup(cls.lab.near, cls.LIMIT)
        cls.addClassCleanup(cls.group.remove)
        cls.agent = cls.share(cls.lab.agent())

    def start(self, name):
        directory = self.lab.new_directory(self.lab.near, name)
        command, *arguments = (word.format(directory) for word in self.COMMANDS[name])
        return self.lab.near.start(*self.group.prefix, needs.farport(), command, self.agent.remote, *self.lab.tools_pair.flags(),
                                   *arguments, name=f"farport-{command}")

    def test_each_ends_in_little_memory_and_when_it_is_told_to(self):
        for attack, commands in self.ATTACKS.items():
            file = recorded(self.lab.far, attack, 32)
            hostile = self.use(FakeRuntime(self.lab, "--stream-file", file, pid=4713))
            self.agent.wait_for(hostile)
            for name, code, words in commands:
                with self.subTest(f"{attack}: {name}"):
                    process = self.start(name)
                    ended = process.wait()
                    self.assertIn(ended, (0, 1) if code is None else (code,), process.stderr())
                    self.assertIn(words, process.stderr() + process.stdout()[:100_000])
                    interrupted = self.start(name)
                    wait.until(lambda each=interrupted: not each.running() or proc.status(each.pid, "SigCgt")[-1:] in "2367abef",
                               interrupted.output)
                    interrupted.send(signal.SIGINT)
                    # Where it was about to end it may be the kernel that ends it.
                    self.assertIn(interrupted.wait(), (0, 1, 130, -signal.SIGINT), interrupted.stderr())
            hostile.stop()
        print(f"peak of the commands: {self.group.peak() >> 20} MiB", file=sys.stderr)


class Compressing(Flooded):
    """As every agent does on a slow network."""
    FLAGS = ("--compression", "always")

    def test_forty_tools_that_take_zstd_and_have_stopped_reading(self):
        self.assert_lives(self.flood("stopped_tools_that_take_zstd", self.observer, self.flooding))


if __name__ == "__main__":
    main()
