"""A session over a command's standard input and output: no port, no certificate, and nothing left afterwards."""

import json
import os
import shlex
import signal
import time

from harness import followed, needs, proc, wait
from harness.breaking import QUICK_PINGS
from harness.case import Case, main
from harness.host import as_user
from harness.inetd import Inetd
from harness.network import Network
from harness.proxy import Proxy
from harness.recordings import Recordings

STRANGER = 61234
KEEPER = 61244


def shell(script):
    """A command of several ones."""
    return f"sh -c {shlex.quote(script)}"


class Stdio(Recordings, Case):
    @classmethod
    def prepare(cls):
        cls.network = Network(cls.lab)
        cls.application = cls.lab.orders("--rate", "500")
        cls.inetd = Inetd(cls.lab)
        cls.addClassCleanup(cls.inetd.stop)

    def tearDown(self):
        super().tearDown()
        self.assert_nothing_left()

    def assert_nothing_left(self):
        wait.until(lambda: not self.running() and not os.listdir(self.inetd.runtime_directory),
                   lambda: f"nothing is left: {[proc.command_line(pid) for pid in self.running()]}, "
                           f"{os.listdir(self.inetd.runtime_directory)}")

    def running(self):
        """The `farport stdio` on the far host."""
        return [pid for pid in self.lab.far.processes() if proc.command_line(pid)[1:2] == [b"stdio"]]

    def farport(self, *arguments, via=None, **options):
        return self.lab.near.run(needs.farport(), *arguments, "--via", via or self.inetd.command, **options)

    def mirror(self, via, *flags):
        """A mirror behind a command. Its certificates count for nothing."""
        return self.use(self.lab.mirror(flags=["--via", via, *flags]))

    def test_ps_lists_what_runs_there_at_once(self):
        rows = json.loads(self.assert_ok(self.farport("ps", "--json")).stdout)
        self.assertEqual([row["pid"] for row in rows], [self.application.pid_inside])

    def test_another_pid_namespace_has_an_agent_of_its_own(self):
        self.assert_ok(self.farport("ps"))
        elsewhere = self.lab.far.run(needs.farport(), "ps", "--via", f"{needs.farport()} stdio --linger 1s", enter=self.lab.far.enter_other_pids(),
                                     environment={"XDG_RUNTIME_DIR": self.inetd.runtime_directory,
                                                  "TMPDIR": self.lab.new_directory(self.lab.far, "tmp")})
        self.assertIn("it searches", self.assert_ok(elsewhere).stderr)
        self.assertNotIn("orders", elsewhere.stdout)

    def test_who_starts_it_is_its_user_and_may_do_all(self):
        text = self.assert_ok(self.farport("can-i")).stdout
        self.assertIn("admin (stdio)", text)
        self.assertNotIn(" no ", text)

    def test_a_dump_and_its_runtime_by_name(self):
        path = os.path.join(self.lab.new_directory(self.lab.near, "dump"), "orders.dmp")
        self.assert_ok(self.farport("dump", "orders", "--type", "mini", "-o", path))
        self.assertGreater(os.path.getsize(path), 100_000)

    def test_each_command_goes_there_once(self):
        directory = self.lab.new_directory(self.lab.near, "once")
        for number, command in enumerate((("ps",), ("can-i",), ("doctor",), ("top", "--rounds", "2"),
                                          ("dump", "orders", "--type", "mini", "-o", os.path.join(directory, "x.dmp")),
                                          ("trace", "orders", "--duration", "1s", "-o", os.path.join(directory, "x.nettrace")),
                                          ("profile", "orders", "--duration", "1s", "-o", os.path.join(directory, "x.folded")),
                                          ("counters", "orders", "--duration", "2s"), ("stacks", "orders"),
                                          ("gcdump", "orders", "-o", os.path.join(directory, "x.gcdump")),
                                          ("stacks", "nobody"))):
            count = os.path.join(directory, f"count-{number}")
            done = self.farport(*command, via=shell(f"echo >>{count}; exec {self.inetd.command}"))
            self.assertEqual(done.code, int("nobody" in command), done.described)
            with open(count, encoding="ascii") as file:
                self.assertEqual(len(file.readlines()), 1, done.described)

    def test_a_mirror_explains_what_is_missing_in_the_session_that_it_has(self):
        directory = self.lab.new_directory(self.lab.near, "once")
        counts = [os.path.join(directory, name) for name in ("run", "connect")]
        done = self.lab.near.run(needs.farport(), "run", "--via", shell(f"echo >>{counts[0]}; exec {self.inetd.command}"), "--",
                                 needs.dotnet_trace(), "collect", "-n", "nobody")
        self.assertNotEqual(done.code, 0, done.described)
        # On this host there is none.
        here = shell(f"echo >>{counts[1]}; exec {needs.farport()} stdio --linger 1s")
        mirror = self.lab.near.start(needs.farport(), "connect", "--via", here, "--socket-dir", directory)
        mirror.wait_for_output("it searches")
        self.assertEqual(mirror.stop(), 0, mirror.output())
        for count in counts:
            with open(count, encoding="ascii") as file:
                self.assertEqual(len(file.readlines()), 1, done.described + mirror.output())

    def test_two_at_once_share_one_agent(self):
        mirrors = [self.mirror(self.inetd.command, "--socket-dir", self.lab.new_directory(self.lab.near, "sockets"))
                   for _ in range(2)]
        for mirror in mirrors:
            mirror.wait_for(self.application)
        self.assertEqual(len(self.agents()), 1)
        for mirror in mirrors:
            mirror.stop()

    def agents(self):
        """Those of them that go on by themselves, whatever becomes of what started them; but for their helpers."""
        return [pid for pid in self.running()
                if pid not in self.carriers() and proc.status(pid, "Name") not in ("farport-sampler", "farport-reader")]

    def carriers(self):
        """Those of them that a session goes through."""
        return [pid for pid in self.running() if proc.command_line(int(proc.status(pid, "PPid") or 0))[:1] == [b"socat"]]

    def test_a_recording_survives_each_kind_of_break(self):
        proxy = Proxy(self.lab)
        mirror = self.mirror(f"socat - TCP:{proxy.remote}", *QUICK_PINGS)
        row = mirror.wait_for(self.application)[0]
        tool, file = self.begin_recording(row)
        self.break_one_after_the_other(mirror, (lambda: proxy.tell("reset"), lambda: proxy.tell("close"),
                                                self.kill_the_command, self.kill_what_it_runs, self.network_away))
        self.assertEqual(len(self.agents()), 1)
        # On a busy machine the application sleeps longer than it works.
        self.end_recording(tool, file, least_events=100)
        mirror.stop()

    def kill_the_command(self):
        self.kill(pid for pid in self.lab.near.processes() if proc.command_line(pid)[:1] == [b"socat"])

    def kill_what_it_runs(self):
        self.kill(self.carriers())

    def kill(self, pids):
        pids = list(pids)
        self.assertNotEqual(pids, [])
        for pid in pids:
            os.kill(pid, signal.SIGKILL)

    def network_away(self):
        with self.network.dark():
            time.sleep(3)

    def test_interrupted_while_nothing_answers(self):
        process = self.lab.near.start(needs.farport(), "connect", "--via", "sleep 600")
        wait.until(lambda: len(self.lab.near.processes()) > 1, "the command runs")
        self.assertEqual(process.stop(signal.SIGINT), 0, process.output())
        wait.until(lambda: self.lab.near.processes() == [], "the command has ended")

    def test_what_a_command_says_reaches_the_user(self):
        for command, said in (("nosuch-program", "not found; is farport installed there, and in PATH?"),
                              (shell("echo hello; echo no such host >&2; exit 3"), "ended with code 3: no such host"),
                              ("true", "ended with code 0"),
                              ("head -c 1000000 /dev/zero", "is not that of farport stdio"),
                              ("yes nonsense", "is not that of farport stdio"),
                              ("echo farport-stdio 1", "cannot ")):
            with self.subTest(command):
                done = self.farport("ps", via=command)
                self.assertEqual(done.code, 1, done.described)
                self.assertIn(said, done.stderr)
                self.assertIn(command, done.stderr)

    def test_noise_before_the_greeting_is_passed_over(self):
        noisy = shell(f"echo Welcome to web-3; printf 'no newline'; {self.inetd.command}")
        rows = json.loads(self.assert_ok(self.farport("ps", "--json", via=noisy)).stdout)
        self.assertEqual(len(rows), 1)

    def test_a_megabyte_of_messages_is_bounded(self):
        talkative = shell(f"yes a message | head -c 1000000 >&2; {self.inetd.command}")
        done = self.assert_ok(self.lab.near.run(
            needs.farport(), "run", "--via", talkative, "--log-level", "info", "--", "true"))
        self.assertLess(len(done.stderr), 50_000)

    def test_wrong_usage(self):
        for arguments, said in ((("ps", "10.77.0.1:9000", "--via", "x"), "name no other"),
                                (("ps",), "no agent is named"), (("dump",), "no agent is named"),
                                (("connect",), "no agent is named")):
            done = self.lab.near.run(needs.farport(), *arguments)
            self.assertEqual(done.code, 2, done.described)
            self.assertIn(said, done.stderr)

    def test_a_directory_that_is_somebody_elses_is_not_used(self):
        squatted = self.lab.new_directory(self.lab.far, "squatted")
        os.mkdir(os.path.join(squatted, "farport"))
        os.chown(os.path.join(squatted, "farport"), STRANGER, STRANGER)
        os.chmod(squatted, 0o700)
        done = self.lab.far.run(needs.farport(), "stdio", environment={"XDG_RUNTIME_DIR": squatted})
        self.assertEqual(done.code, 1, done.described)
        self.assertIn("it is not yours alone", done.stderr)


class Joining(Case):
    """`farport serve --local`: the kernel says who comes, and the agent's grants what they may do."""

    @classmethod
    def prepare(cls):
        cls.application = cls.lab.orders()
        directory = cls.lab.new_directory(cls.lab.far, "local")
        cls.path = os.path.join(directory, "agent.sock")
        kept = cls.lab.new_directory(cls.lab.far, "kept")
        cls.agent = cls.share(cls.lab.agent("--local", cls.path, "--allow-local", f"{STRANGER}=observer",
                                            "--allow-local", f"{KEEPER}=operator", "--artifacts", kept))
        cls.agent.wait_for(cls.application)

    def ask(self, *arguments, user=None, path=None):
        prefix = " ".join(as_user(user)) + " " if user is not None else ""
        command = f"{prefix}{needs.farport()} stdio --join {path or self.path}"
        return self.lab.far.run(needs.farport(), *arguments, "--via", command)

    def test_a_user_with_a_grant(self):
        text = self.assert_ok(self.ask("can-i", user=STRANGER)).stdout
        self.assertIn(f"observer (allow-local={STRANGER}=observer)", text)
        self.assertIn(f"local:{STRANGER} has only observer", text)

    def test_who_follows_what_is_kept_gets_it(self):
        received = self.lab.new_directory(self.lab.far, "received")
        via = ("--via", f"{' '.join(as_user(KEEPER))} {needs.farport()} stdio --join {self.path}")
        process = self.lab.far.start(needs.farport(), "artifacts", "--follow", received, *via)
        self.addCleanup(process.stop)
        kept = self.assert_ok(self.ask("gcdump", "--keep", user=KEEPER)).stdout.strip()
        wait.until(lambda: followed.has_come(received, kept, ".heap.nettrace"), process.output)
        self.assertEqual(process.stop(signal.SIGINT), 0, process.output())

    def test_a_user_without_one_and_root_are_refused(self):
        for user in (STRANGER + 1, None):
            done = self.ask("ps", user=user)
            self.assertEqual(done.code, 1, done.described)
            self.assertIn(f"local:{user or 0} has no role at this agent", done.stderr)

    def test_the_audit_says_how_they_came(self):
        self.ask("ps", user=STRANGER + 2)
        wait.until(lambda: f"local:{STRANGER + 2}" in self.agent.log(), "the audit has the refusal")
        self.assertIn('"address":"stdio"', self.agent.log())

    def test_no_agent_there(self):
        done = self.ask("ps", path="/nonexistent/agent.sock")
        self.assertEqual(done.code, 1, done.described)
        self.assertIn("cannot join the agent at /nonexistent/agent.sock", done.stderr)

    def test_the_socket_goes_with_its_agent(self):
        path = self.path + "2"
        agent = self.lab.agent("--local", path, "--allow-local", f"{STRANGER}", port=9002)
        self.assertTrue(os.path.exists(path))
        agent.stop()
        self.assertFalse(os.path.exists(path))


if __name__ == "__main__":
    main()
