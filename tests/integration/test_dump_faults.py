"""Dumps that go wrong: whatever ends one, nothing of it is left on either side, and the next one works."""

import os
import signal
import subprocess
import time

from harness import dumps, ipc, needs, proc, sockets, wait
from harness.case import Case, main

HEAP_MIB = 300
SLOW = "20mbit"


# How long each side waits for the other to come back.
GRACE = ("--grace", "1s")


class Faults(Case):
    @classmethod
    def prepare(cls):
        cls.application = cls.lab.orders("--heap", str(HEAP_MIB))
        cls.agent = cls.share(cls.lab.agent(*GRACE))
        cls.agent.wait_for(cls.application)

    def setUp(self):
        # Until the grace period of the test before is over.
        self.target = os.path.join(self.lab.new_directory(self.lab.near, "before"), "x.dmp")
        self.assert_next_one_works()
        self.target = os.path.join(self.lab.new_directory(self.lab.near, "target"), "x.dmp")

    def farport_dump(self, *flags):
        return self.lab.near.start(needs.farport(), "dump", self.agent.remote, "-o", self.target, *flags,
                                   *GRACE, *self.lab.tools_pair.flags())

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
        wait.until(lambda: not dumps.private_directories(self.lab.far.tmp), "the dump is being sent")

    def assert_nothing_left(self):
        self.assertEqual(os.listdir(os.path.dirname(self.target)), [])
        wait.until(lambda: not dumps.private_directories(self.lab.far.tmp), "nothing is left on the far host")

    def assert_next_one_works(self):
        def takes_one():
            done = self.lab.near.run(needs.farport(), "dump", self.agent.remote, "-o", self.target, "--type", "mini",
                                     *self.lab.tools_pair.flags())
            return done.code == 0

        # Until the one before has been cleared away.
        wait.until(takes_one, "another dump works")
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

    def test_a_frozen_runtime_does_not_hold_its_place(self):
        self.application.process.freeze()
        tool = self.farport_dump()
        self.wait_for_writing()
        self.assertEqual(tool.stop(signal.SIGINT), 130, tool.output())
        self.assert_nothing_left()
        self.application.process.thaw()
        self.assert_next_one_works()

    def test_the_connection_is_lost(self):
        self.slow_down()
        between = self.lab.near.start(needs.program("socat"), "TCP-LISTEN:9500,fork,reuseaddr,bind=127.0.0.1",
                                      f"TCP:{self.agent.remote}")
        wait.until(lambda: proc.listens(between.pid, 9500), "the connection has a middle")
        tool = self.lab.near.start(needs.farport(), "dump", "127.0.0.1:9500", "--server-name", self.lab.far.address,
                                   "-o", self.target, *GRACE, *self.lab.tools_pair.flags())
        self.wait_for_sending()
        connections = proc.children(between.pid)
        between.kill()
        for pid in connections:
            os.kill(pid, signal.SIGKILL)
        self.assertEqual(tool.wait(), 1, tool.output())
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

    def test_an_application_goes_on_at_whatever_moment_its_dump_is_cancelled(self):
        mirror = self.use(self.lab.mirror(self.agent.remote))
        path = mirror.wait_for(self.application)[0]["socket"]
        for number in range(30):
            with sockets.connect(path) as tool:
                tool.sendall(ipc.core_dump(3, self.target, 2))
                time.sleep(number * 0.01)
            # While the one before is being cleared away, there is no other.
            wait.until(lambda: not dumps.private_directories(self.lab.far.tmp), "it is cleared away")
            info = ipc.parse_process_info(sockets.exchange(path, ipc.process_info()))
            self.assertEqual(info[0], self.application.pid_inside)
            self.assertNotIn(proc.status(self.application.process.pid, "State")[0], "Tt")

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
        agent = self.lab.agent(*GRACE, port=9001)
        agent.wait_for(self.application)
        tool = self.lab.near.start(needs.farport(), "dump", agent.remote, "-o", self.target,
                                   *GRACE, *self.lab.tools_pair.flags())
        self.wait_for_writing()
        agent.process.kill()
        self.assertEqual(tool.wait(), 1, tool.output())
        self.assertEqual(os.listdir(os.path.dirname(self.target)), [])
        # The runtime itself goes on writing, until it notices.
        self.use(self.lab.agent(port=9001)).wait_for(self.application)
        self.assert_nothing_left()

    def test_the_agent_is_stopped(self):
        agent = self.lab.agent("--drain", "100ms", *GRACE, port=9001)
        agent.wait_for(self.application)
        tool = self.lab.near.start(needs.farport(), "dump", agent.remote, "-o", self.target,
                                   *GRACE, *self.lab.tools_pair.flags())
        self.wait_for_writing()
        agent.stop()
        self.assertEqual(tool.wait(), 1, tool.output())
        self.assert_nothing_left()


if __name__ == "__main__":
    main()
