"""What reads for farport's own commands: a process that has nothing but its input and its output."""

import os
import signal
import time
from datetime import datetime, timedelta, timezone
from zoneinfo import ZoneInfo

from harness import needs, proc, wait
from harness.case import Case, main
from harness.fake import FakeRuntime
from harness.hostile_traces import recorded
from harness.looking import Looking

PLACE = "Asia/Kolkata"
LINES = ("counters", "--format", "json")


class LocalReaders(Looking, Case):
    @classmethod
    def prepare(cls):
        cls.application = cls.share(cls.lab.orders(busy=True))
        cls.agent = cls.share(cls.lab.agent())
        cls.agent.wait_for(cls.application)

    def start(self, *command):
        """A command that goes on, what starts its readers, and the one that reads for it."""
        process = self.look(*command)
        # Hosts here start it from outside their pid namespaces: then what starts its readers is no child of its own.
        named = lambda pid: [each for each in proc.children(pid) if proc.status(each, "Name") == "farport-reader"]
        starter = wait.until(lambda: named(process.pid) or named(int(proc.status(process.pid, "PPid"))), process.output)[0]
        reader = wait.until(lambda: proc.children(starter), process.output)[0]
        # One filter is what starts it has.
        wait.until(lambda: proc.status(reader, "Seccomp_filters") == "2", "it reads")
        return process, starter, reader

    def test_it_has_no_rights_and_no_files(self):
        process, starter, reader = self.start(*LINES)
        wait.until(process.stdout, process.output)
        self.assertEqual(proc.status(reader, "Name"), "farport-reader")
        self.assertEqual(proc.status(reader, "Seccomp"), "2")
        self.assertEqual(proc.status(reader, "NoNewPrivs"), "1")
        self.assertEqual(int(proc.status(reader, "CapEff"), 16), 0)
        self.assertEqual(int(proc.status(reader, "CapPrm"), 16), 0)
        opened = [os.readlink(f"/proc/{reader}/fd/{each}") for each in os.listdir(f"/proc/{reader}/fd")]
        self.assertEqual([each for each in opened if each != "/dev/null" and each.partition(":")[0] not in ("socket", "pipe")], [])
        self.end(process)
        wait.until(lambda: not proc.is_alive(starter) and not proc.is_alive(reader), "nothing is left")

    def test_one_that_is_killed_ends_its_command_which_says_so(self):
        for command in (LINES, ("logs",), ("profile", "--wall", "--duration", "60s")):
            with self.subTest(command[0]):
                process, _, reader = self.start(*command)
                os.kill(reader, signal.SIGKILL)
                self.assertEqual(process.wait(), 1, process.output())
                self.assertIn("cannot read what the runtime says: its reader process exited", process.stderr())

    def test_one_that_stands_still_does_not_hold_ctrl_c_up(self):
        for command, codes in ((LINES, (0, 130)), (("counters",), (0, 130))):
            with self.subTest(command):
                process, _, reader = self.start(*command)
                wait.until(process.stdout, process.output)
                os.kill(reader, signal.SIGSTOP)
                time.sleep(1)
                process.send(signal.SIGINT)
                self.assertIn(process.wait(10), codes, process.output())
                wait.until(lambda pid=reader: not proc.is_alive(pid), "its reader is gone")

    def test_the_second_ctrl_c_does_not_wait_for_it(self):
        for command in (("logs",), ("exceptions",), ("profile", "--wall", "--duration", "60s")):
            with self.subTest(command):
                process, _, reader = self.start(*command)
                os.kill(reader, signal.SIGSTOP)
                time.sleep(1)
                process.send(signal.SIGINT)
                time.sleep(1)
                process.send(signal.SIGINT)
                self.assertIn(process.wait(20), (0, 130), process.output())
                wait.until(lambda pid=reader: not proc.is_alive(pid), "its reader is gone")

    def test_nothing_is_left_of_a_command_that_is_killed(self):
        process, starter, reader = self.start(*LINES)
        os.kill(reader, signal.SIGSTOP)
        process.kill()
        wait.until(lambda: not proc.is_alive(starter) and not proc.is_alive(reader), "nothing is left")

    def test_names_are_not_missed_where_what_starts_readers_was_killed(self):
        process, starter, reader = self.start("exceptions")
        os.kill(starter, signal.SIGKILL)
        self.assertEqual(process.wait(), 1, process.output())
        self.assertIn("its reader process exited", process.stderr())
        self.assertFalse(proc.is_alive(reader))

    def test_times_are_of_the_users_place(self):
        self.assertTrue(os.path.exists(f"/usr/share/zoneinfo/{PLACE}"))
        process = self.look("counters", "--format", "csv", environment={"TZ": PLACE})
        line = wait.until(lambda: process.stdout().splitlines()[1:2], process.output)[0]
        told = datetime.strptime(line.partition(",")[0], "%m/%d/%Y %H:%M:%S").replace(tzinfo=ZoneInfo(PLACE))
        self.assertLess(abs(datetime.now(timezone.utc) - told), timedelta(minutes=5))
        self.end(process)

    def shell(self, script, *command):
        """How a command ends in a script that has it as its arguments."""
        whole = ["sh", "-c", script, "sh", needs.farport(), *command]
        return self.lab.near.run(*whole)

    def test_who_reads_what_is_printed_may_leave_though_much_is_under_way(self):
        flags = self.lab.tools_pair.flags()
        hostile = self.use(FakeRuntime(self.lab, "--stream-file", recorded(self.lab.far, "logs", 32), pid=4713))
        self.agent.wait_for(self.application, hostile)
        target = f"{self.agent.remote}/{hostile.pid_inside}"
        done = self.shell('{ "$@"; echo "it ends with $?" >&2; } | sleep 3', "logs", target, *flags)
        self.assertIn("it ends with 0", done.stderr)
        hostile.stop()

    def test_a_file_is_kept_though_nobody_reads_the_table_beside_it(self):
        directory = self.lab.new_directory(self.lab.near, "table")
        target = f"{self.agent.remote}/{self.application.pid_inside}"
        for command, name in ((("profile", "--wall", "--duration", "1s"), "x.svg"), (("gcdump",), "x.gcdump")):
            file = os.path.join(directory, name)
            done = self.shell('{ "$@"; echo "it ends with $?" >&2; } | true', command[0], target, *command[1:],
                              *self.lab.tools_pair.flags(), "--top=5", "-o", file)
            self.assertIn("it ends with", done.stderr)
            self.assertTrue(os.path.exists(file), done.described)
            self.assertGreater(os.path.getsize(file), 1000, done.described)

    def test_a_closed_output_fails(self):
        done = self.shell('"$@" >&-', "stacks", f"{self.agent.remote}/{self.application.pid_inside}", *self.lab.tools_pair.flags())
        self.assertEqual(done.code, 1, done.described)
        self.assertIn("standard output", done.stderr)


if __name__ == "__main__":
    main()
