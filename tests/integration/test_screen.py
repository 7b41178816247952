"""What `farport connect` and `ps` show in a terminal."""

import os
import signal
import time

from harness import hostile, needs, proc, wait
from harness.agent import PORT
from harness.case import Case, main
from harness.fake import FakeRuntime
from harness.terminal import Terminal

HINT = "Use the LOCAL PIDs"
HEADING = "LOCAL PID"


class Screens(Case):
    @classmethod
    def prepare(cls):
        cls.first = cls.share(FakeRuntime(cls.lab, "--name", "orders", "--command-line",
                                          "dotnet /app/orders.dll --urls http://0.0.0.0:8080 --environment Production",
                                          pid=4711))
        cls.second = cls.share(FakeRuntime(cls.lab, "--name", "billing", pid=4712))
        cls.agent = cls.share(cls.lab.agent())
        cls.agent.wait_for(cls.first, cls.second)

    def terminal(self, *arguments, environment=None, **options):
        """A program in a terminal of its own, which is hung up after the test."""
        opened = Terminal(self.lab.near, *arguments, **options,
                          environment=self.lab.tools_pair.environment() | (environment or {}))
        self.addCleanup(opened.close)
        return opened

    def setUp(self):
        # Runs when all terminals of the test have been closed.
        self.addCleanup(lambda: wait.until(lambda: not self.lab.near.processes(), "what ran in terminals has ended"))

    def shell(self, **options):
        """A shell with job control."""
        opened = self.terminal("/bin/bash", "--norc", "--noprofile", "-i", **options)
        opened.wait_for_text("$")
        return opened

    def connect(self, *remotes, **options):
        return self.terminal(needs.farport(), "connect", *(remotes or [self.agent.remote]), **options)

    def assert_tidy(self, opened):
        """That each line fits, and that the program has done nothing to the terminal but draw."""
        for line in opened.lines():
            self.assertLessEqual(len(line), opened.screen.columns, opened.shown())
        self.assertEqual(opened.screen.odd, [])

    def rows_of(self, opened):
        """The rows of the table that is shown."""
        lines = opened.lines()
        heading = next(number for number, line in enumerate(lines) if line.startswith(HEADING))
        return [line for line in lines[heading + 1:] if line[:1].isdigit()]

    def wait_for_rows(self, opened, count):
        opened.wait_for(lambda lines: len([line for line in lines if line[:1].isdigit()]) == count,
                        f"{count} rows are shown")

    def test_the_live_table_at_80_columns(self):
        opened = self.connect()
        self.wait_for_rows(opened, 2)
        heading = opened.lines()[0]
        self.assertEqual(heading.split(),
                         ["LOCAL", "PID", "NAME", "REMOTE", "PID", "STATE", "CONNS", "VERSION", "COMMAND", "LINE"])
        # In order, whatever the agent's was.
        self.assertEqual([line.split()[1] for line in self.rows_of(opened)], ["billing", "orders"])
        self.assertEqual([line.split()[2] for line in self.rows_of(opened)], ["4712", "4711"])
        self.assertIn("dotnet /app/order", self.rows_of(opened)[1])
        self.assertIn(HINT, opened.shown())
        self.assert_tidy(opened)

    def test_the_live_table_at_60_columns(self):
        opened = self.connect(columns=60)
        self.wait_for_rows(opened, 2)
        for word in (HEADING, "REMOTE PID", "NAME", "STATE"):
            self.assertIn(word, opened.lines()[0])
        self.assertIn("running", self.rows_of(opened)[0])
        self.assert_tidy(opened)

    def test_the_host_is_shown_where_there_are_several(self):
        agent = self.use(self.lab.agent(port=PORT + 1))
        opened = self.connect(self.agent.remote, agent.remote)
        self.wait_for_rows(opened, 4)
        self.assertIn("HOST", opened.lines()[0])
        shown = self.rows_of(opened)
        self.assertEqual([(self.agent.remote in line, agent.remote in line) for line in shown],
                         [(True, False), (True, False), (False, True), (False, True)])
        self.assert_tidy(opened)

    def test_ctrl_c_leaves_the_screen_as_it_was(self):
        opened = self.shell()
        opened.type(f"{needs.farport()} connect {self.agent.remote}\n")
        self.wait_for_rows(opened, 2)
        opened.type("\x03")
        opened.wait_for(lambda lines: lines[-1] == "$" and HINT not in "\n".join(lines), "the prompt is back")
        lines = opened.lines()
        self.assertIn(f"connect {self.agent.remote}", " ".join(lines).replace("\n", ""))
        self.assertFalse([line for line in lines if HEADING in line or "orders" in line], opened.shown())
        self.assertFalse([line for line in opened.everything() if "^C" in line], opened.shown())

    def test_in_the_background_it_is_silent_and_in_the_foreground_it_draws(self):
        opened = self.shell()
        opened.type(f"{needs.farport()} connect {self.agent.remote} &\n")
        wait.until(lambda: len(self.lab.near.sockets()) == 4, "the runtimes are mirrored")
        opened.type("echo there is\tonly this\n")
        opened.wait_for_text("there is")
        third = FakeRuntime(self.lab, "--name", "third", pid=4713)
        wait.until(lambda: len(self.lab.near.sockets()) == 6, "another one is mirrored")
        time.sleep(0.5)  # what would be drawn would be by then
        self.assertNotIn(HEADING, opened.shown())
        opened.type("fg\n")
        self.wait_for_rows(opened, 3)
        opened.type("\x1a")  # Ctrl-Z
        opened.wait_for_text("Stopped")
        opened.type("bg\n")
        opened.wait_for(lambda lines: lines[-1] == "$" and lines[-2].endswith(" &"), "the prompt is back")
        before = opened.shown()
        third.stop()
        wait.until(lambda: len(self.lab.near.sockets()) == 4, "it is gone")
        time.sleep(0.5)
        self.assertEqual(opened.shown(), before)
        opened.type("fg\n")
        opened.wait_for(lambda lines: HINT in "\n".join(lines[len(before.splitlines()):]), "it is drawn again, below")
        opened.type("\x03")
        opened.wait_for(lambda lines: lines[-1] == "$", "the prompt is back")

    def test_in_the_background_of_a_script_it_is_silent(self):
        opened = self.terminal("/bin/sh", "-c", f"{needs.farport()} connect {self.agent.remote} & read line; kill $!; wait")
        wait.until(lambda: len(self.lab.near.sockets()) == 4, "the runtimes are mirrored")
        time.sleep(0.5)
        self.assertEqual(opened.shown(), "")
        opened.type("\n")
        opened.wait()

    def test_a_table_taller_than_the_window_says_how_many_there_are(self):
        more = [FakeRuntime(self.lab, "--name", f"worker{number}", pid=number) for number in range(100, 140)]
        try:
            opened = self.connect()
            opened.wait_for_text("… and 22 more")
            self.assertEqual(len(opened.lines()), 23)
            self.assertEqual(len(self.rows_of(opened)), 20)
            self.assertIn(HINT, opened.lines()[-1])
            more.pop().stop()
            opened.wait_for_text("… and 21 more")
            opened.resize(80, 12)
            opened.wait_for_text("… and 33 more")
            opened.resize(80, 60)
            self.wait_for_rows(opened, 41)
            self.assertEqual(len([line for line in opened.lines() if line.startswith(HEADING)]), 1, opened.shown())
        finally:
            for runtime in more:
                runtime.stop()
        opened.wait_for(lambda lines: len(lines) == 4, "the table is small again")
        self.assert_tidy(opened)

    def test_nothing_is_added_to_the_scrollback_by_changes(self):
        more = [FakeRuntime(self.lab, "--name", f"worker{number}", pid=number) for number in range(100, 130)]
        opened = self.connect()
        opened.wait_for_text("… and 12 more")
        for runtime in more:
            runtime.stop()
        self.wait_for_rows(opened, 2)
        self.assertEqual(opened.everything(), opened.lines())

    def test_another_size_of_the_window_redraws(self):
        opened = self.connect(columns=120)
        self.wait_for_rows(opened, 2)
        self.assertIn("--urls http://0.0.0.0:8080", opened.shown())
        for columns in (60, 100, 40, 80):
            opened.resize(columns, 24)
            opened.wait_for(lambda lines: len(lines) == (5 if opened.screen.columns < 65 else 4)
                            and lines[0].startswith(HEADING), f"it is drawn for {columns} columns")
            self.assert_tidy(opened)
            self.assertEqual(opened.everything(), opened.lines())
        self.assertIn("COMMAND LINE", opened.lines()[0])

    def test_an_error_is_wrapped_and_keeps_its_advice(self):
        opened = self.connect(self.agent.remote, f"{self.lab.far.address}:{PORT + 9}", columns=60)
        opened.wait_for(lambda lines: "dialling again" in " ".join(" ".join(lines).split()), "the error is shown whole")
        text = " ".join(" ".join(opened.lines()).split())
        self.assertRegex(text, rf"cannot connect to {self.lab.far.address}:{PORT + 9}: Connection refused; .*\?; "
                               "dialling again")
        self.wait_for_rows(opened, 2)
        self.assert_tidy(opened)

    def test_hostile_text_commands_no_terminal(self):
        runtime = FakeRuntime(self.lab, "--name", hostile.TEXT, "--command-line", hostile.TEXT, pid=66)
        try:
            opened = self.connect(columns=200)
            self.wait_for_rows(opened, 3)
            self.assertIn(r"x\n{", opened.shown())
            self.assert_tidy(opened)
            listed = self.terminal(needs.farport(), "ps", self.agent.remote)
            self.assertEqual(listed.wait(), 0)
            self.assertIn(r"x\n{", listed.shown())
            self.assert_tidy(listed)
        finally:
            runtime.stop()

    def test_wide_characters_keep_the_columns_in_line(self):
        runtime = FakeRuntime(self.lab, "--name", "注文サービス", pid=67)
        try:
            opened = self.connect(columns=120)
            self.wait_for_rows(opened, 3)
            column = opened.lines()[0].index("STATE")
            row = next(line for line in self.rows_of(opened) if "注文" in line)
            # Each of the six takes two columns.
            self.assertEqual(row.index("running"), column - 6)
        finally:
            runtime.stop()

    def test_a_terminal_that_takes_nothing_holds_up_no_tool(self):
        opened = self.connect()
        self.wait_for_rows(opened, 2)
        opened.type("\x13")  # Ctrl-S
        row = self.lab.near.sockets()[0]
        more = [FakeRuntime(self.lab, "--name", f"worker{number}", pid=number) for number in range(100, 103)]
        wait.until(lambda: len(self.lab.near.sockets()) == 10, "more are mirrored meanwhile")
        self.assert_ok(self.tools.driver("info", "--socket", row))
        for runtime in more:
            runtime.stop()
        wait.until(lambda: len(self.lab.near.sockets()) == 4, "they are gone again")
        opened.type("\x11")  # Ctrl-Q
        self.wait_for_rows(opened, 2)
        self.assertEqual(opened.everything(), opened.lines())

    def test_a_window_that_is_closed_ends_the_mirror(self):
        opened = Terminal(self.lab.near, needs.farport(), "connect", self.agent.remote,
                          environment=self.lab.tools_pair.environment())
        self.wait_for_rows(opened, 2)
        opened.close()
        wait.until(lambda: not self.lab.near.processes(), "it has ended")
        self.assertEqual(self.lab.near.sockets(), [])

    def test_an_agent_ends_with_its_terminal_and_reads_its_files_again_for_a_sighup(self):
        opened = Terminal(self.lab.far, needs.farport(), "serve", "--listen", f"{self.lab.far.address}:{PORT + 7}",
                          "--search", self.lab.far.tmp, "--allow-cn", "tools", "--audit", "off",
                          *self.lab.agent_pair.flags())
        opened.wait_for_text("listening on")
        agent = next(pid for pid in self.lab.far.processes() if str(PORT + 7).encode() in
                     b" ".join(proc.command_line(pid)))
        os.kill(agent, signal.SIGHUP)
        opened.wait_for_text("reopened the audit log")
        wait.stays(lambda: proc.is_alive(agent), "it goes on", 0.5)
        opened.close()
        wait.until(lambda: not proc.is_alive(agent), "it ends with its terminal")

    def test_help_and_messages_break_no_word(self):
        for command in (("serve",), ("connect",), ("run",), ("ps",), ("dump",), ("can-i",), ("check",)):
            words = []
            for columns in (80, 400):
                opened = self.terminal(needs.farport(), *command, "--help", columns=columns)
                self.assertEqual(opened.wait(), 0)
                words.append(" ".join(opened.everything()).split())
            self.assertEqual(*words)
        refused = self.terminal(needs.farport(), "ps", f"{self.lab.far.address}:{PORT + 9}")
        self.assertEqual(refused.wait(), 1)
        self.assertIn("Connection refused; nothing listens there: is farport serve running?", " ".join(refused.shown().split()))
        self.assertIn("\n  ", refused.shown())

    def test_can_i_shows_the_whole_reason(self):
        observer = self.lab.authority.client("watcher")
        agent = self.use(self.lab.agent("--allow-cn", "watcher", port=PORT + 6))
        opened = self.terminal(needs.farport(), "can-i", agent.remote, environment=observer.environment())
        self.assertEqual(opened.wait(), 0)
        reason = " ".join(opened.shown().replace("dump (dotnet-dump, farport dump)", "").split())
        self.assertRegex(reason, "takes the .*role .*operator .*or .*admin; .*CN=watcher .*has .*only .*observer")

    def test_ps_in_a_terminal_is_sorted_and_fits(self):
        for columns in (60, 80):
            opened = self.terminal(needs.farport(), "ps", self.agent.remote, columns=columns)
            self.assertEqual(opened.wait(), 0, opened.shown())
            lines = opened.lines()
            self.assertTrue(lines[0].startswith("REMOTE PID  NAME"), opened.shown())
            self.assertEqual([line.split()[:2] for line in lines[1:]], [["4712", "billing"], ["4711", "orders"]])
            self.assertIn("COMMAND LINE", lines[0])
            self.assert_tidy(opened)

    def test_a_terminal_that_knows_no_cursor_gets_the_log(self):
        opened = self.connect(environment={"TERM": "dumb"})
        opened.wait_for_text("info")
        self.assertNotIn(HEADING, opened.shown())


if __name__ == "__main__":
    main()
