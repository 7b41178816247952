"""Agents that want to do a mirror harm: it lives, serves its other agents, and takes a bounded amount of memory."""

import itertools
import json
import os
import re
import time

from harness import followed, ipc, needs, proc, sockets, unprivileged, wait
from harness.case import Case, main
from harness.fake import FakeRuntime
from harness.scripted_agent import ScriptedAgent, artifact, event, runtime, zstd_bomb

MIB = 1 << 20
# What a mirror may grow by, whatever its agents do; the sanitizers' build takes some times as much.
GROWTH_KIB = 160 * 1024
MANY = 1_000_000


def peak_kib(pid):
    """The most memory that a process has had."""
    return int(proc.status(pid, "VmHWM").split()[0])


class HostileAgents(Case):
    @classmethod
    def prepare(cls):
        cls.runtime = cls.share(FakeRuntime(cls.lab))
        cls.agent = cls.share(cls.lab.agent())
        cls.agent.wait_for(cls.runtime)
        cls.ports = itertools.count(9300)

    def hostile(self, watch=None, answer=None):
        """An agent that answers the first request of a session, which is for its list, and the others."""
        def answers(number, request):
            (watch if number == 0 else answer)(request)
        agent = ScriptedAgent(self.lab, next(self.ports), answers)
        self.addCleanup(agent.stop)
        return agent

    def mirror_of(self, hostile, *flags):
        """A mirror of the honest agent, and of that one."""
        mirror = self.use(self.lab.mirror(self.agent.remote, flags=flags, directory=self.lab.new_directory(
            self.lab.near, "sockets")))
        mirror.wait_for(self.runtime)
        before = peak_kib(mirror.process.pid)
        mirror.stop()
        mirror = self.use(self.lab.mirror(self.agent.remote, hostile.remote, flags=flags, directory=mirror.directory))
        mirror.before = before
        return mirror

    def honest_socket(self, mirror):
        """Of the honest agent's runtime."""
        def found():
            return [row["socket"] for row in mirror.rows() if row["agent"] == self.agent.remote]
        return wait.until(found, lambda: f"the honest agent is mirrored\n{mirror.process.stderr()}")[0]

    def assert_unharmed(self, mirror, seconds=3.0):
        """That for a while the honest agent's commands are answered, and memory stays within bounds."""
        path = self.honest_socket(mirror)
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.assertTrue(ipc.is_ok(sockets.exchange(path, ipc.process_info())))
            time.sleep(0.05)
        self.assertLess(peak_kib(mirror.process.pid) - mirror.before, GROWTH_KIB)

    def assert_ps_fails(self, hostile, why):
        """That `farport ps` of the hostile agent ends, and says why."""
        done = self.lab.near.run(needs.farport(), "ps", hostile.remote, *self.lab.tools_pair.flags())
        self.assertEqual(done.code, 1, done.described)
        self.assertIn(why, done.stderr)

    def test_a_million_runtimes(self):
        def watch(request):
            request.head()
            for first in range(1, MANY, 100):
                request.body(b"".join(event("added", runtime(number)) for number in range(first, first + 100)))
            request.body(event("listed"))
            request.wait()

        mirror = self.mirror_of(self.hostile(watch))
        wait.until(lambda: "--select" in mirror.process.stderr(),
                   "it says that there are too many")
        self.assertLessEqual(len(mirror.placeholders()), 1025)
        self.assert_unharmed(mirror)
        self.assertEqual(mirror.process.stop(), 0)

    def test_the_same_runtime_without_end(self):
        def watch(request):
            request.head()
            while True:
                request.body(event("added", runtime(7)) + event("changed", runtime(7, "x" * 1000))
                             + event("removed", runtime(7)))

        self.assert_unharmed(self.mirror_of(self.hostile(watch)))

    def test_a_list_that_never_ends(self):
        def watch(request):
            request.head()
            while True:
                request.body(event("changed", runtime(7)) * 100)

        self.assert_unharmed(self.mirror_of(self.hostile(watch)))

    def test_a_command_line_of_ten_megabytes(self):
        def watch(request):
            request.head()
            request.body(event("added", runtime(7, "x " * (5 * MIB))) + event("listed"))
            request.wait()

        mirror = self.mirror_of(self.hostile(watch))
        wait.until(lambda: "a line has more than" in mirror.process.stderr(), "it says what is wrong")
        self.assert_unharmed(mirror)

    def test_command_lines_and_names_as_long_as_lines_may_be(self):
        def watch(request):
            request.head()
            for number in range(1, 30):
                request.body(event("added", runtime(number, " " * 900_000, "n" * 50_000)))
            request.body(event("listed"))
            request.wait()

        mirror = self.mirror_of(self.hostile(watch))
        wait.until(lambda: len(mirror.rows()) == 30, lambda: f"all are mirrored\n{mirror.process.stderr()}")
        self.assert_unharmed(mirror)
        longest = max(sum(map(len, proc.command_line(pid))) for pid in mirror.placeholders())
        self.assertLess(longest, 40_000)

    def test_lines_of_nonsense(self):
        for nonsense in (b"[" * 900_000 + b"\n", b"[" + b"[]," * 300_000 + b"[]]\n", b'{"event":"added"}\n', b"\xff\n",
                         event("added", runtime(7) | {"id": "../../../v1/agent"})):
            def watch(request, line=nonsense):
                request.head()
                request.body(line * 3)
                request.wait()

            hostile = self.hostile(watch)
            mirror = self.mirror_of(hostile)
            wait.until(lambda: hostile.remote in mirror.process.stderr() or "cannot read" in mirror.process.stderr(),
                       lambda: f"it says what is wrong\n{mirror.process.stderr()}")
            self.assert_unharmed(mirror, 1.0)
            mirror.stop()

    def test_a_refusal_without_end(self):
        def watch(request):
            request.head(403)
            while True:
                request.body(b"no" * 10000)

        mirror = self.mirror_of(self.hostile(watch))
        wait.until(lambda: "more than" in mirror.process.stderr(), "it says what is wrong")
        self.assert_unharmed(mirror)

    def one_runtime(self, request):
        """The list of an agent that seems honest."""
        request.head()
        request.body(event("added", runtime(7)) + event("listed"))
        request.wait()

    def hostile_socket(self, mirror, hostile):
        """Of its only runtime."""
        rows = wait.until(lambda: [row for row in mirror.rows() if row["agent"] == hostile.remote], "it is mirrored")
        return rows[0]["socket"]

    def test_a_decompression_bomb_for_a_tool_that_has_stopped_reading(self):
        bomb = zstd_bomb(8192)  # a GiB in 32 KiB

        def answer(request):
            request.head(200, ("content-encoding", "zstd"))
            while True:
                request.body(bomb)

        hostile = self.hostile(self.one_runtime, answer)
        mirror = self.mirror_of(hostile)
        path = self.hostile_socket(mirror, hostile)
        tools = [sockets.connect(path) for _ in range(4)]
        for tool in tools:
            self.addCleanup(tool.close)
            tool.sendall(ipc.session(ipc.COLLECT_TRACING_5))
        self.assertTrue(tools[0].recv(10))
        self.assert_unharmed(mirror)

    def test_a_decompression_bomb_for_a_tool_that_reads(self):
        bomb = zstd_bomb(800)

        def answer(request):
            request.head(200, ("content-encoding", "zstd"))
            request.body(bomb, end=True)

        hostile = self.hostile(self.one_runtime, answer)
        mirror = self.mirror_of(hostile)
        path = self.hostile_socket(mirror, hostile)
        with sockets.connect(path, 60) as tool:
            tool.sendall(ipc.session(ipc.COLLECT_TRACING_5))
            received = 0
            while part := tool.recv(1 << 20):
                received += len(part)
        self.assertEqual(received, 800 * 128 * 1024)
        self.assert_unharmed(mirror)

    def test_a_refusal_that_never_goes_on_ends_the_tools_wait(self):
        def answer(request):
            request.head(403)
            request.wait()

        hostile = self.hostile(self.one_runtime, answer)
        mirror = self.mirror_of(hostile)
        path = self.hostile_socket(mirror, hostile)
        self.assertEqual(ipc.parse_error(sockets.exchange(path, ipc.process_info(), seconds=60.0)), ipc.FAILED)

    def test_ps_of_an_agent_that_says_nothing(self):
        self.assert_ps_fails(self.hostile(lambda request: request.wait()), "does not answer")

    def test_ps_of_a_list_that_never_ends(self):
        def endless(request):
            request.head()
            request.body(b"[")
            while True:
                request.body((json.dumps(runtime(7)) + ",").encode() * 100)

        self.assert_ps_fails(self.hostile(endless), "it has more than")

    def test_ps_of_millions_of_values(self):
        def deep(request):
            request.head()
            request.body(b"[" + b"[]," * 5_000_000 + b"[]]", end=True)

        self.assert_ps_fails(self.hostile(deep), "values")

    def test_progress_of_a_dump_without_end(self):
        def answer(request):
            # The dump itself, then its progress.
            if self.asked:
                request.head()
                while True:
                    request.body(b'{"phase": "writing", "written": 1}' * 1000)
            self.asked = True
            request.wait()

        self.asked = False
        hostile = self.hostile(self.one_runtime, answer)
        mirror = self.mirror_of(hostile)
        tool = sockets.connect(self.hostile_socket(mirror, hostile))
        self.addCleanup(tool.close)
        tool.sendall(ipc.core_dump(3, "/tmp/never.dmp"))
        wait.until(lambda: self.asked, "the dump is asked for")
        self.assert_unharmed(mirror, 5.0)


class HostileAgentsThatAreFollowed(Case):
    """`farport artifacts --follow` of a hostile agent and an honest one."""

    @classmethod
    def prepare(cls):
        cls.application = cls.share(FakeRuntime(cls.lab))
        cls.agent = cls.share(cls.lab.agent("--artifacts", cls.lab.new_directory(cls.lab.far, "kept"),
                                            allow=("--allow-cn", "tools=admin")))
        cls.agent.wait_for(cls.application)
        cls.ports = itertools.count(9330)

    def setUp(self):
        self.directory = self.lab.new_directory(self.lab.near, "received")

    def hostile(self, artifacts, content):
        """An agent that lists these, and answers with `content` whoever asks for one."""
        def answers(number, request):
            # A session asks for the runtimes, then for changes of the list of artifacts, and then for that.
            if number == 0:
                request.head()
                request.body(event("listed"))
                request.wait()
            elif number == 1:
                request.head()
                request.wait()
            elif number == 2:
                request.head()
                request.body(json.dumps(artifacts).encode(), end=True)
            else:
                content(request)
        agent = ScriptedAgent(self.lab, next(self.ports), answers)
        self.addCleanup(agent.stop)
        self.name = agent.remote.replace(":", "_")
        return agent

    def write(self, name, text="mine"):
        path = os.path.join(self.directory, name)
        with open(path, "w", encoding="utf-8") as opened:
            opened.write(text)
        unprivileged.give(path, self.lab.near.user)
        return path

    def follow(self, hostile):
        process = self.lab.near.start(needs.farport(), "artifacts", hostile.remote, self.agent.remote,
                                      *self.lab.tools_pair.flags(), "--follow", self.directory, name="follow")
        self.addCleanup(process.stop)
        return process

    def assert_honest_ones_come(self, process):
        done = self.lab.near.run(needs.farport(), "trace", f"{self.agent.remote}/{self.application.pid_inside}", "--keep",
                                 "--duration", "1s", *self.lab.tools_pair.flags())
        self.assertEqual(done.code, 0, done.described)
        kept = done.stdout.strip()
        wait.until(lambda: followed.has_come(self.directory, f"trace_{kept}", ".nettrace"), process.output)

    def assert_mine(self, *paths):
        for path in paths:
            with open(path, encoding="utf-8") as opened:
                self.assertEqual(opened.read(), "mine")

    def test_files_of_the_users_own_stay_as_they_are(self):
        def answer(request):
            request.head()
            request.body(b"theirs", end=True)

        listed = [artifact("notes", b"theirs", ".md"), artifact("first", b"theirs"), artifact("second", b"theirs"),
                  artifact("third", b"theirs")]
        hostile = self.hostile(listed, answer)
        mine = [self.write("notes.md"), self.write(f"{self.name}_trace_first.nettrace"),
                self.write(f"{self.name}_trace_second.json"), self.write(f".{self.name}_trace_third.nettrace.part")]
        process = self.follow(hostile)
        wait.until(lambda: process.stderr().count("move that file away") == 3, process.output)
        self.assert_honest_ones_come(process)
        self.assert_mine(*mine)
        with open(os.path.join(self.directory, f"{self.name}_trace_notes.md"), encoding="utf-8") as opened:
            self.assertEqual(opened.read(), "theirs")
        # So do those that it has begun itself, once it is started again.
        self.assertEqual(process.stop(), 0)
        again = self.follow(self.hostile([], answer))
        self.assert_honest_ones_come(again)
        self.assert_mine(*mine)

    def test_one_that_dribbles_is_said_and_holds_up_nobody(self):
        def dribble(request):
            request.head()
            while True:
                request.body(b"x")
                time.sleep(1)

        process = self.follow(self.hostile([artifact("dribbled", bytes(MIB))], dribble))
        wait.until(lambda: any("dribbled" in name for name in os.listdir(self.directory)), process.output)
        self.assert_honest_ones_come(process)
        wait.until(lambda: re.search("dribbled from .*: it is slow: less than 30 KiB came within 30 s", process.stderr()),
                   process.output)
        self.assert_honest_ones_come(process)
        self.assertEqual(process.stop(), 0)

    def test_more_than_it_has_said_is_not_kept(self):
        def flood(request):
            request.head()
            while True:
                request.body(bytes(64 * 1024))

        process = self.follow(self.hostile([artifact("flood", bytes(1000))], flood))
        wait.until(lambda: "more comes than the 1000 bytes" in process.stderr(), process.output)
        self.assert_honest_ones_come(process)


if __name__ == "__main__":
    main()
