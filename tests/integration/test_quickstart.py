"""The first five minutes: `farport quickstart` beside an application, one line pasted on the laptop, and the tools work."""

import os
import pathlib
import re
import signal
import subprocess

from harness import needs, wait
from harness.agent import PORT
from harness.case import Case, main
from harness.nobody import as_nobody
from harness.terminal import Terminal


class Quickstart(Case):
    @classmethod
    def prepare(cls):
        cls.application = cls.share(cls.lab.orders(busy=True))

    def setUp(self):
        self.runtime = self.lab.new_directory(self.lab.near, "run")
        os.chmod(self.runtime, 0o700)
        self.environment = {"XDG_RUNTIME_DIR": self.runtime}
        self.addCleanup(lambda: self.farport("disconnect", "--all"))

    def farport(self, *arguments, **options):
        """A command on the laptop, to its end."""
        options["environment"] = self.environment | options.pop("environment", {})
        return self.lab.near.run(needs.farport(), *arguments, **options)

    def quickstart(self, *arguments, code=None, **options):
        """Beside the application; with `code` to its end."""
        process = self.lab.far.start(needs.farport(), "quickstart", *arguments, name="farport-quickstart", **options)
        self.addCleanup(process.stop)
        if code is not None:
            self.assertEqual(process.wait(), code, process.output())
        return process

    @staticmethod
    def line(process):
        """The one to paste."""
        found = wait.until(lambda: re.search(r"^ (echo '\S+' \| farport join)$", process.stdout(), re.MULTILINE),
                           process.output)
        return found.group(1)

    def invitation(self, process):
        """The word in it."""
        return self.line(process).split("'")[1]

    def paste(self, line, *arguments):
        """What a person does with the line, and what is written behind it."""
        command = line.replace("farport join", f"{needs.farport()} join") + "".join(f" {word}" for word in arguments)
        return self.lab.near.run("sh", "-c", command, environment=self.environment)

    def with_exports(self, joined):
        """What it says to export."""
        return dict(word.split("=", 1) for word in re.search(r"export (.*)", joined.stderr).group(1).split())

    def test_one_line_and_the_tools_work_and_nothing_is_left(self):
        agent = self.quickstart(self.lab.far.address)
        line = self.line(agent)
        joined = self.assert_ok(self.paste(line, "--detach"))
        self.assertIn("orders", joined.stdout)
        file = os.path.join(self.lab.new_directory(self.lab.near, "trace"), "orders.nettrace")
        self.assert_ok(self.tools.trace("collect", "-n", "orders", "--duration", "00:00:02", "-o", file))
        self.assertTrue(any("Orders.Pricing" in frame for frame in self.tools.frames(file)))
        listed = self.assert_ok(self.farport("ps", f"{self.lab.far.address}:{PORT}", environment=self.with_exports(joined)))
        self.assertIn("orders", listed.stdout)
        self.assert_ok(self.farport("disconnect", "--all"))
        self.assertEqual(agent.stop(signal.SIGINT), 0, agent.output())
        self.assertEqual([name for name in os.listdir(self.lab.far.tmp) if name.startswith("farport")], [])
        key = self.line(agent).split(",")[3]
        self.assertNotIn(key, agent.stderr() + joined.text)

    def test_an_invitation_opens_nothing_once_its_agent_has_ended(self):
        first = self.quickstart(self.lab.far.address)
        old = self.line(first)
        joined = self.assert_ok(self.paste(old, "--detach"))
        self.assert_ok(self.farport("disconnect", "--all"))
        self.assertEqual(first.stop(signal.SIGINT), 0, first.output())
        second = self.quickstart(self.lab.far.address)
        self.line(second)
        refused = self.farport("ps", f"{self.lab.far.address}:{PORT}", environment=self.with_exports(joined))
        self.assertEqual(refused.code, 1, refused.described)
        self.assertNotIn("orders", refused.stdout)

    def test_whoever_joins_may_do_what_the_role_says(self):
        agent = self.quickstart(self.lab.far.address, "--role", "observer")
        joined = self.assert_ok(self.paste(self.line(agent), "--detach"))
        refused = self.farport("dump", f"{self.lab.far.address}:{PORT}/orders", environment=self.with_exports(joined))
        self.assertEqual(refused.code, 1, refused.described)
        self.assertIn("has only observer", refused.stderr)

    def test_another_address_leads_to_it_too(self):
        agent = self.quickstart("nowhere.example", "--listen", f"[::]:{PORT}")
        there = f"[{self.lab.far.address6}]:{PORT}"
        joined = self.assert_ok(self.paste(self.line(agent), f"'{there}'", "--detach"))
        self.assert_ok(self.farport("ps", there, environment=self.with_exports(joined)))

    def test_who_is_not_root_serves_their_own_runtimes(self):
        agent = self.quickstart(self.lab.far.address, enter=as_nobody(self.lab.far))
        joined = self.assert_ok(self.paste(self.line(agent), "--detach"))
        self.assertNotIn("orders", joined.stdout)

    def test_what_is_pasted_on_a_terminal_is_not_shown(self):
        agent = self.quickstart(self.lab.far.address)
        terminal = Terminal(self.lab.near, needs.farport(), "join", environment=self.environment)
        self.addCleanup(terminal.close)
        terminal.wait_for_text("Paste the invitation")
        invitation = self.invitation(agent)
        terminal.type(invitation + "\n")
        terminal.wait_for_text("orders")
        self.assertNotIn(invitation[40:60], "".join(terminal.everything()))

    def test_what_is_no_invitation_is_said_and_nothing_is_kept(self):
        for text in ("", "hello", "farport1,10.0.0.2:9000,MIIB", "farport1,ssh://somewhere,A,B,C", "x" * 9000):
            done = self.lab.near.run("sh", "-c", f"echo '{text}' | {needs.farport()} join", environment=self.environment)
            self.assertEqual(done.code, 2, done.described)
            self.assertIn("farport: cannot read the invitation", done.stderr)
        self.assertEqual(os.listdir(self.runtime), [])

    def test_an_invitation_to_a_command_is_refused(self):
        invitation = self.invitation(self.quickstart(self.lab.far.address))
        for address, why in (("ssh://somewhere", "it is a URL"), ("a;id;b:9000", "that is not a valid host name")):
            odd = invitation.replace(f"{self.lab.far.address}:{PORT}", address)
            refused = self.paste(f"echo '{odd}' | farport join")
            self.assertEqual(refused.code, 2, refused.described)
            self.assertIn(why, refused.stderr)

    def test_ctrl_c_at_the_prompt_leaves_the_terminal_as_it_was(self):
        terminal = Terminal(self.lab.near, needs.farport(), "join", environment=self.environment)
        self.addCleanup(terminal.close)
        terminal.wait_for_text("Paste the invitation")
        self.assertFalse(terminal.shows_what_is_typed())
        terminal.type("\x03")
        self.assertEqual(terminal.wait(), 130, terminal.shown())
        wait.until(terminal.shows_what_is_typed, "the terminal is as it was")

    def test_what_is_set_for_other_agents_does_not_count(self):
        line = self.line(self.quickstart(self.lab.far.address))
        crl = os.path.join(self.runtime, "crl.pem")
        pathlib.Path(crl).write_text("none", encoding="ascii")
        self.environment |= self.lab.tools_pair.environment() | {"FARPORT_TLS_CRL": crl, "FARPORT_VERIFY_CN": "somebody"}
        self.assert_ok(self.paste(line, "--detach"))

    def test_another_family_has_an_address_of_its_own(self):
        route = [needs.program("ip"), "-netns", self.lab.far.network, "-6", "route"]
        subprocess.run([*route, "add", "default", "dev", "cable"], check=True)
        self.addCleanup(lambda: subprocess.run([*route, "delete", "default", "dev", "cable"], check=True))
        process = self.quickstart("--listen", "[::]:9000")
        self.assertIn(f",[{self.lab.far.address6}]:9000,", self.invitation(process))

    def test_what_cannot_begin_is_said(self):
        first = self.quickstart()
        self.line(first)
        self.assertIn("Address already in use", self.quickstart(code=1).stderr())
        self.assertIn("the invitation must name a fixed port", self.quickstart("--listen", "127.0.0.1:0", code=2).stderr())
        self.assertIn("boss", self.quickstart("--role", "boss", "--listen", "127.0.0.1:9001", code=2).stderr())
        self.assertIn("no host name", self.quickstart("a,b", code=2).stderr())


if __name__ == "__main__":
    main()
