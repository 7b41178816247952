"""One file to each side: `farport certs bundle` and --tls-bundle."""

import os
import shutil
import signal
import stat

from harness import needs, proc, unprivileged, wait
from harness.case import main
from harness.certificates import Bundle
from harness.reloading import READ_AGAIN, ReloadCase
from harness.secret import write
from harness.terminal import Terminal

SECRET = "correct horse"


class Bundles(ReloadCase):
    @classmethod
    def prepare(cls):
        super().prepare()
        cls.secret_file = os.path.join(cls.lab.directory, "passphrase")
        with open(cls.secret_file, "w", encoding="ascii") as file:
            file.write(SECRET + "\n")
        os.chmod(cls.secret_file, 0o600)

    def farport(self, *arguments, **options):
        return self.lab.near.run(needs.farport(), *arguments, **options)

    def make(self, host, name, *flags):
        """The bundle of a name, in a directory of its own on a host."""
        path = os.path.join(self.lab.new_directory(host, "bundle"), name + ".pem")
        self.lab.authority.bundle(name, path, *flags)
        unprivileged.give(path, host.user)
        return path

    def start(self, bundle):
        """An agent with this bundle."""
        return self.use(self.lab.agent(pair=bundle))

    def ps(self, bundle, agent, **options):
        return self.farport("ps", agent.remote, *bundle.flags(), **options)

    def test_one_file_to_each_side_and_the_tools_work(self):
        agent = self.start(Bundle(self.make(self.lab.far, "agent")))
        _, row = self.start_mirror(Bundle(self.make(self.lab.near, "tools")))
        trace, file = self.start_trace(row)
        self.assert_whole(trace, file)
        self.assertNotIn("readable", agent.log())

    def test_encrypted_bundles_are_opened_by_a_file(self):
        encrypted = ("--passphrase-file", self.secret_file)
        self.start(Bundle(self.make(self.lab.far, "agent", *encrypted), self.secret_file))
        self.start_mirror(Bundle(self.make(self.lab.near, "tools", *encrypted), self.secret_file))

    def test_every_command_that_dials_takes_one(self):
        agent = self.start(Bundle(self.make(self.lab.far, "agent")))
        tools = Bundle(self.make(self.lab.near, "tools"))
        for command in (("ps",), ("can-i",), ("check",)):
            self.assertIn("orders" if command == ("ps",) else "",
                          self.assert_ok(self.farport(*command, agent.remote, *tools.flags())).stdout)
        self.assert_ok(self.farport("run", agent.remote, *tools.flags(), "--", needs.program("true")))
        self.assert_ok(self.farport("ps", agent.remote, environment={"FARPORT_TLS_BUNDLE": tools.path}))
        self.assert_ok(self.farport("ps", agent.remote, *tools.flags(), environment={"FARPORT_TLS_KEY": "/nowhere"}))

    def test_the_bundle_is_private_replaces_nothing_and_holds_no_key_of_the_ca(self):
        path = self.make(self.lab.near, "tools")
        self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o600)
        again = self.farport("certs", "bundle", self.lab.authority.directory, "--name", "tools", "-o", path)
        self.assertEqual(again.code, 1, again.described)
        self.assertIn("the file exists", again.stderr)
        with open(path, encoding="ascii") as file:
            self.assertEqual(file.read().count("PRIVATE KEY-----\n"), 2)
        refused = self.farport("certs", "bundle", self.lab.authority.directory, "--name", "ca")
        self.assertEqual(refused.code, 1, refused.described)
        self.assertFalse(os.path.exists(os.path.join(self.lab.authority.directory, "ca.pem")))

    def test_openssl_reads_it(self):
        path = self.make(self.lab.near, "tools", "--passphrase-file", self.secret_file)
        openssl = self.lab.authority.openssl
        self.assertIn("tools", openssl("x509", "-in", path, "-noout", "-subject"))
        openssl("pkey", "-in", path, "-passin", f"file:{self.secret_file}", "-noout")
        # And the other way round: a PKCS#12 file becomes a bundle.
        p12, pem = path + ".p12", path + ".new"
        openssl("pkcs12", "-export", "-in", self.lab.tools_pair.cert, "-inkey", self.lab.tools_pair.key, "-certfile",
                self.lab.tools_pair.ca, "-passout", "pass:x", "-out", p12)
        openssl("pkcs12", "-in", p12, "-passin", "pass:x", "-passout", f"file:{self.secret_file}", "-out", pem)
        agent = self.start(self.lab.agent_pair)
        self.assert_ok(self.ps(Bundle(pem, self.secret_file), agent))

    def test_what_is_no_bundle_is_wrong_configuration(self):
        directory = self.lab.new_directory(self.lab.near, "odd")
        good = self.make(self.lab.near, "tools", "--passphrase-file", self.secret_file)
        wrong = os.path.join(directory, "wrong")
        with open(wrong, "w", encoding="ascii") as file:
            file.write("battery staple\n")
        os.mkfifo(os.path.join(directory, "pipe"))
        self.lab.authority.with_dates("bundled-late", -3, -1)
        pair = self.lab.tools_pair
        parts = {"empty": [], "no-key": [pair.cert, pair.ca], "no-ca": [pair.cert, pair.key], "no-certificate": [pair.key],
                 "late": [os.path.join(self.lab.authority.directory, "bundled-late" + end) for end in (".crt", ".key")]
                 + [pair.ca]}
        for name, sources in parts.items():
            write(os.path.join(directory, name), sources)
        agent = self.start(self.lab.agent_pair)
        cases = {"empty": "the file is empty", "no-key": "it holds no private key",
                 "no-ca": "it holds no certificate of a CA", "no-certificate": "it holds no certificate",
                 "late": "it expired on", "pipe": "it is a pipe, not a file", "": "Is a directory",
                 "gone": "No such file"}
        for name, words in cases.items():
            done = self.ps(Bundle(os.path.join(directory, name)), agent)
            self.assertEqual(done.code, 2, done.described)
            self.assertIn(words, done.stderr)
        done = self.ps(Bundle(good, wrong), agent)
        self.assertEqual(done.code, 2, done.described)
        self.assertIn("the passphrase is not that of its key", done.stderr)
        self.assertNotIn("battery", done.text)
        done = self.lab.near.run(needs.program("setsid"), "--wait", needs.farport(), "ps", agent.remote, "--tls-bundle", good)
        self.assertEqual(done.code, 2, done.described)
        self.assertIn("there is no terminal", done.stderr)
        done = self.farport("ps", agent.remote, "--tls-bundle", good, "--tls-key", pair.key)
        self.assertEqual(done.code, 2, done.described)
        self.assertIn("both a bundle", done.stderr)

    def test_a_bundle_that_is_replaced_is_read_again_and_a_trace_goes_on(self):
        path = self.make(self.lab.far, "agent", "--passphrase-file", self.secret_file)
        passphrase = path + ".passphrase"
        shutil.copy(self.secret_file, passphrase)
        os.chmod(passphrase, 0o604)
        unprivileged.give(passphrase, self.lab.far.user)
        agent = self.start(Bundle(path, passphrase))
        wait.until(lambda: f"the passphrase {passphrase}: it is readable by everybody" in agent.log(), agent.log)
        self.assertNotIn(SECRET, agent.log())
        _, row = self.start_mirror(self.lab.tools_pair)
        trace, file = self.start_trace(row)
        # First another bundle with another passphrase, which nobody has told the agent yet.
        other = passphrase + ".other"
        with open(other, "w", encoding="ascii") as secret:
            secret.write("another one\n")
        unprivileged.give(other, self.lab.far.user)
        os.rename(self.make(self.lab.far, "next", "--passphrase-file", other), path)
        wait.until(lambda: "what was read before stays in use" in agent.log(), agent.log)
        self.assertIn("the passphrase is not that of its key", agent.log())
        self.assert_shows(self.lab.agent_pair)
        os.rename(other, passphrase)
        self.wait_until_read(agent.process)
        self.assert_shows(self.next_agent_pair)
        self.assert_whole(trace, file)

    def test_a_bundle_that_others_can_read_is_warned_of(self):
        path = self.make(self.lab.far, "agent")
        os.chmod(path, 0o644)
        agent = self.start(Bundle(path))
        wait.until(lambda: f"the bundle {path}: it is readable by everybody (mode 0644); chmod 600 it" in agent.log(),
                   agent.log)


class OnTheTerminal(ReloadCase):
    """Passphrases that are typed."""

    def setUp(self):
        self.addCleanup(lambda: wait.until(lambda: not self.lab.near.processes(), "what ran in terminals has ended"))
        self.agent = self.use(self.lab.agent())

    def terminal(self, *arguments, **options):
        opened = Terminal(self.lab.near, needs.farport(), *arguments, columns=200, **options)
        self.addCleanup(opened.close)
        return opened

    def make(self):
        """An encrypted bundle, whose passphrase has been typed twice."""
        path = os.path.join(self.lab.new_directory(self.lab.near, "bundle"), "tools.pem")
        opened = self.terminal("certs", "bundle", self.lab.authority.directory, "--name", "tools", "-o", path, "--encrypt")
        opened.wait_for_text("New passphrase of")
        opened.type(SECRET + "\n")
        opened.wait_for_text("The same again")
        opened.type(SECRET + "\n")
        self.assertEqual(opened.wait(), 0, opened.shown())
        self.assertNotIn(SECRET, "\n".join(opened.everything()))
        unprivileged.give(path, self.lab.near.user)
        return path

    def test_a_passphrase_is_asked_for_and_a_wrong_one_may_be_typed_again(self):
        path = self.make()
        opened = self.terminal("ps", self.agent.remote, "--tls-bundle", path)
        opened.wait_for_text("Passphrase of")
        opened.type("battery staple\n")
        # What is typed before the question is shown.
        opened.wait_for(lambda lines: "\n".join(lines).count("Passphrase of") == 2, "the question is shown again")
        opened.type(SECRET + "\n")
        self.assertEqual(opened.wait(), 0, opened.shown())
        shown = "\n".join(opened.everything())
        self.assertIn("orders", shown)
        self.assertNotIn(SECRET, shown)
        self.assertNotIn("battery", shown)

    def test_ctrl_c_at_the_question_ends_it(self):
        path = self.make()
        opened = self.terminal("ps", self.agent.remote, "--tls-bundle", path)
        opened.wait_for_text("Passphrase of")
        opened.type("\x03")
        self.assertNotEqual(opened.wait(), 0, opened.shown())

    def test_a_detached_mirror_asks_first_and_reads_a_new_bundle_with_what_was_typed(self):
        path = self.make()
        runtime = self.lab.new_directory(self.lab.near, "run")
        os.chmod(runtime, 0o700)
        environment = {"XDG_RUNTIME_DIR": runtime}
        log = os.path.join(runtime, "log")
        self.addCleanup(lambda: self.lab.near.run(needs.farport(), "disconnect", "--all", environment=environment))
        opened = self.terminal("connect", self.agent.remote, "--detach", "--tls-bundle", path, "--log-file", log,
                               environment=environment)
        opened.wait_for_text("Passphrase of")
        opened.type(SECRET + "\n")
        self.assertEqual(opened.wait(), 0, opened.shown())
        os.utime(path)
        mirror, = [pid for pid in self.lab.near.processes() if b"connect" in proc.command_line(pid)]
        os.kill(mirror, signal.SIGHUP)

        def read_again():
            with open(log, encoding="utf-8") as file:
                return READ_AGAIN in file.read()
        wait.until(read_again, "the bundle is read again")
        with open(log, encoding="utf-8") as file:
            self.assertNotIn(SECRET, file.read())


if __name__ == "__main__":
    main()
