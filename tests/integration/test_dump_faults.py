"""Dumps that go wrong: whatever ends one, nothing of it is left on either side, and the next one works."""

import os
import pathlib
import signal
import subprocess

from harness import dumps, needs, proc, wait
from harness.case import Case, main
from harness.fake import FakeRuntime

HEAP_MIB = 300
SLOW = "20mbit"


class Faults(Case):
    @classmethod
    def prepare(cls):
        cls.application = cls.lab.orders("--heap", str(HEAP_MIB))
        cls.agent = cls.share(cls.lab.agent())
        cls.agent.wait_for(cls.application)

    def setUp(self):
        self.target = os.path.join(self.lab.new_directory(self.lab.near, "target"), "x.dmp")

    def farport_dump(self, *flags):
        return self.lab.near.start(needs.farport(), "dump", self.agent.remote, "-o", self.target, *flags,
                                   *self.lab.tools_pair.flags())

    def slow_down(self):
        """Makes the cable so slow that a dump takes its time."""
        qdisc = ["tc", "-netns", self.lab.far.network, "qdisc"]
        subprocess.run([*qdisc, "add", "dev", "cable", "root", "tbf", "rate", SLOW, "burst", "64kb",
                        "latency", "100ms"], check=True)
        self.addCleanup(subprocess.run, [*qdisc, "del", "dev", "cable", "root"], check=True)

    def wait_for_writing(self):
        wait.until(lambda: dumps.private_directories(self.lab.far.tmp), "the dump is being written")

    def wait_for_sending(self):
        """Until the runtime has written it all and its name is gone, while the transfer goes on."""
        self.wait_for_writing()
        wait.until(lambda: not dumps.private_directories(self.lab.far.tmp), "the dump is being sent", 60)

    def assert_nothing_left(self):
        self.assertEqual(os.listdir(os.path.dirname(self.target)), [])
        wait.until(lambda: not dumps.private_directories(self.lab.far.tmp), "nothing is left on the far host", 60)

    def assert_next_one_works(self):
        def takes_one():
            done = self.lab.near.run(needs.farport(), "dump", self.agent.remote, "-o", self.target, "--type", "mini",
                                     *self.lab.tools_pair.flags())
            return done.code == 0

        # Until the one before has been cleared away.
        wait.until(takes_one, "another dump works", 30)
        self.assertTrue(dumps.core_notes(self.target))

    def test_interrupted_while_it_is_written(self):
        tool = self.farport_dump()
        self.wait_for_writing()
        self.assertEqual(tool.stop(signal.SIGINT), 130, tool.output())
        self.assertIn("cancelled", tool.stderr())
        self.assert_nothing_left()
        self.assert_next_one_works()

    def test_killed_while_it_is_written(self):
        tool = self.farport_dump()
        self.wait_for_writing()
        tool.kill()
        self.assert_nothing_left()
        self.assert_next_one_works()

    def test_killed_while_it_is_sent(self):
        self.slow_down()
        tool = self.farport_dump()
        self.wait_for_sending()
        tool.kill()
        self.assert_nothing_left()

    def test_a_second_one_at_the_same_time_is_refused(self):
        self.slow_down()
        tool = self.farport_dump()
        self.wait_for_sending()
        second = self.lab.near.run(needs.farport(), "dump", self.agent.remote, "-o", self.target + "2",
                                   *self.lab.tools_pair.flags())
        self.assertEqual(second.code, 1, second.described)
        self.assertIn("under way", second.stderr)
        tool.kill()
        self.assert_nothing_left()

    def test_the_application_goes_on_at_once_when_its_dump_is_cancelled(self):
        tool = self.farport_dump("--type", "full")
        self.wait_for_writing()
        tool.kill()
        # While a dump is written the runtime answers nobody.
        self.assert_ok(self.lab.near.run(needs.farport(), "ps", self.agent.remote, *self.lab.tools_pair.flags()))
        self.assert_next_one_works()

    def test_the_connection_is_lost(self):
        self.slow_down()
        between = self.lab.near.start(needs.program("socat"), "TCP-LISTEN:9500,fork,reuseaddr,bind=127.0.0.1",
                                      f"TCP:{self.agent.remote}")
        wait.until(lambda: proc.listens(between.pid, 9500), "the connection has a middle")
        tool = self.lab.near.start(needs.farport(), "dump", "127.0.0.1:9500", "--server-name", self.lab.far.address,
                                   "-o", self.target, *self.lab.tools_pair.flags())
        self.wait_for_sending()
        for pid in proc.children(between.pid):
            os.kill(pid, signal.SIGKILL)
        self.assertEqual(tool.wait(), 1, tool.output())
        between.kill()
        self.assert_nothing_left()

    def test_the_tool_of_a_mirror_is_killed(self):
        mirror = self.use(self.lab.mirror(self.agent.remote))
        local_pid = mirror.wait_for(self.application)[0]["local_pid"]
        tool = self.tools.start_driver("dump", local_pid, "WithHeap", self.target)
        self.wait_for_writing()
        tool.kill()
        wait.until(lambda: "cancelled" in mirror.process.stderr(), "the mirror has noticed")
        self.assert_nothing_left()
        self.assert_next_one_works()

    def test_the_mirror_is_killed(self):
        directory = self.lab.new_directory(self.lab.near, "sockets")
        mirror = self.lab.mirror(self.agent.remote, directory=directory)
        local_pid = mirror.wait_for(self.application)[0]["local_pid"]
        self.slow_down()
        tool = self.tools.start_driver("dump", local_pid, "WithHeap", self.target, environment={"TMPDIR": directory})
        self.wait_for_sending()
        mirror.process.kill()
        self.assertEqual(tool.wait(), 1, tool.output())
        self.assert_nothing_left()

    def test_the_runtime_is_killed(self):
        doomed = self.lab.orders("--heap", str(HEAP_MIB))
        self.agent.wait_for(self.application, doomed)
        tool = self.lab.near.start(needs.farport(), "dump", f"{self.agent.remote}/{doomed.pid_inside}", "-o",
                                   self.target, *self.lab.tools_pair.flags())
        self.wait_for_writing()
        doomed.kill()
        self.assertEqual(tool.wait(), 1, tool.output())
        self.assertIn("ended", tool.stderr())
        self.assert_nothing_left()
        self.agent.wait_for(self.application)

    def test_the_agent_is_killed_and_the_next_one_cleans_up(self):
        agent = self.lab.agent(port=9001)
        agent.wait_for(self.application)
        tool = self.lab.near.start(needs.farport(), "dump", agent.remote, "-o", self.target,
                                   *self.lab.tools_pair.flags())
        self.wait_for_writing()
        agent.process.kill()
        self.assertEqual(tool.wait(), 1, tool.output())
        self.assertEqual(os.listdir(os.path.dirname(self.target)), [])
        # The runtime itself goes on writing, until it notices.
        self.use(self.lab.agent(port=9001)).wait_for(self.application)
        self.assert_nothing_left()

    def test_the_agent_is_stopped(self):
        agent = self.lab.agent(port=9001)
        agent.wait_for(self.application)
        tool = self.lab.near.start(needs.farport(), "dump", agent.remote, "-o", self.target,
                                   *self.lab.tools_pair.flags())
        self.wait_for_writing()
        agent.stop()
        self.assertEqual(tool.wait(), 1, tool.output())
        self.assert_nothing_left()


class Space(Case):
    @classmethod
    def prepare(cls):
        cls.application = cls.lab.orders("--heap", "64")

    def setUp(self):
        self.target = os.path.join(self.lab.new_directory(self.lab.near, "target"), "x.dmp")

    def small_file_system(self, host, mebibytes):
        """A directory on a host with so much space."""
        directory = self.lab.new_directory(host, "small")
        self.assert_ok(host.run("mount", "-t", "tmpfs", "-o", f"size={mebibytes}m", "tmpfs", directory))
        return directory

    def agent_with(self, text, *flags, port):
        configuration = pathlib.Path(self.lab.far.directory, f"agent-{port}.toml")
        configuration.write_text(text)
        agent = self.use(self.lab.agent("--config", configuration, *flags, port=port))
        agent.wait_for(self.application)
        return agent

    def take(self, agent, *flags):
        return self.lab.near.run(needs.farport(), "dump", agent.remote, "-o", self.target, *flags,
                                 *self.lab.tools_pair.flags())

    def assert_fails(self, done, *words):
        self.assertEqual(done.code, 1, done.described)
        for word in words:
            self.assertIn(word, done.stderr)
        self.assertEqual(os.listdir(os.path.dirname(self.target)), [])

    def test_too_little_space_where_the_runtime_writes_is_seen_before(self):
        small = self.small_file_system(self.lab.far, 40)
        agent = self.agent_with('[dump]\nkeep_free = "1MiB"\n', "--dump-directory", small, port=9010)
        self.assert_fails(self.take(agent), "space", small)
        self.assert_ok(self.lab.far.run("test", "-d", small))
        self.assertEqual(self.lab.far.run("ls", "-A", small).stdout, "")

    def test_space_that_is_to_stay_free_is_kept(self):
        small = self.small_file_system(self.lab.far, 400)
        agent = self.agent_with('[dump]\nkeep_free = "380MiB"\n', "--dump-directory", small, port=9011)
        self.assert_fails(self.take(agent), "380 MiB are to stay free")

    def test_space_that_runs_out_while_the_runtime_writes(self):
        # Where the process isn't visible nothing can be known before.
        small = self.small_file_system(self.lab.far, 40)
        configuration = pathlib.Path(self.lab.far.directory, "agent-9012.toml")
        configuration.write_text('[dump]\nkeep_free = "1MiB"\n')
        agent = self.use(self.lab.agent("--config", configuration, "--dump-directory", small, port=9012,
                                        enter=self.lab.far.enter_other_pids()))
        agent.wait_for(self.application)
        done = self.take(agent)
        self.assertEqual(done.code, 1, done.described)
        self.assertEqual(os.listdir(os.path.dirname(self.target)), [])
        self.assertEqual(self.lab.far.run("ls", "-A", small).stdout, "")

    def test_too_little_space_for_the_tool(self):
        small = self.small_file_system(self.lab.near, 8)
        agent = self.use(self.lab.agent(port=9013))
        agent.wait_for(self.application)
        self.target = os.path.join(small, "x.dmp")
        done = self.lab.near.run(needs.farport(), "dump", agent.remote, "-o", self.target,
                                 *self.lab.tools_pair.flags())
        self.assertEqual(done.code, 1, done.described)
        self.assertIn("MiB are free", done.stderr)
        self.assertEqual(self.lab.near.run("ls", "-A", small).stdout, "")

    def test_a_dump_above_the_limit(self):
        agent = self.agent_with('[dump]\nmax_size = "20MiB"\n', port=9014)
        self.assert_fails(self.take(agent), "limit of 20 MiB")
        self.assertEqual(dumps.private_directories(self.lab.far.tmp), [])
        self.assert_ok(self.take(agent, "--type", "mini"))


class Hostile(Case):
    """What stands where the dump should be, by a runtime that is not what it seems."""

    @classmethod
    def prepare(cls):
        cls.agent = cls.share(cls.lab.agent())

    def setUp(self):
        self.target = os.path.join(self.lab.new_directory(self.lab.near, "target"), "x.dmp")

    def dump_of(self, mode):
        """Takes a dump of a runtime that answers in this mode."""
        fake = self.use(FakeRuntime(self.lab, "--dump", mode))
        self.agent.wait_for(fake)
        done = self.lab.near.run(needs.farport(), "dump", self.agent.remote, "-o", self.target,
                                 *self.lab.tools_pair.flags())
        fake.stop()
        self.agent.wait_for()
        self.assertEqual(dumps.private_directories(self.lab.far.tmp), [])
        return done

    def assert_refused(self, mode, *words):
        done = self.dump_of(mode)
        self.assertEqual(done.code, 1, done.described)
        for word in words:
            self.assertIn(word, done.stderr)
        self.assertEqual(os.listdir(os.path.dirname(self.target)), [])

    def test_a_link_is_not_followed(self):
        self.assert_refused("link:/etc/passwd", "link")

    def test_a_hard_link_is_not_read(self):
        secret = os.path.join(self.lab.far.tmp, "secret")
        pathlib.Path(secret).write_text("nobody's business")
        self.assert_refused(f"hard:{secret}", "alone has made")
        self.assertEqual(pathlib.Path(secret).read_text(), "nobody's business")

    def test_another_users_file_is_not_read(self):
        self.assert_refused("user:65534", "user 0 alone")

    def test_a_directory_is_no_dump(self):
        self.assert_refused("directory", "alone has made")

    def test_no_file_at_all(self):
        self.assert_refused("nothing", "No such file")

    def test_the_runtimes_own_words_reach_the_caller(self):
        self.assert_refused("error:createdump is missing", "createdump is missing")

    def test_content_of_all_kinds_arrives_as_it_was(self):
        for size in (0, 1, 4095, 4096, 4097, 65_536, 10_000_001):
            done = self.dump_of(f"bytes:{size}")
            self.assert_ok(done)
            self.assertEqual(os.path.getsize(self.target), size)
            expected = os.path.join(self.lab.far.directory, "expected")
            self.lab.far.run(needs.fake_runtime(), "--write-dump", expected, size)
            self.assertEqual(dumps.digest(self.target), dumps.digest(expected))


if __name__ == "__main__":
    main()
