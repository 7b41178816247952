"""Over ssh to a host that has no farport: it brings itself along, and nothing is left of it."""

import json
import os
import pathlib
import signal
import time

from harness import needs, wait
from harness.breaking import QUICK_PINGS
from harness.case import Case, main
from harness.network import Network
from harness.recordings import Recordings
from harness.ssh import NAME, PORT, USER, Ssh



class OverSsh(Recordings, Case):
    @classmethod
    def prepare(cls):
        cls.network = Network(cls.lab)
        cls.ssh = Ssh(cls.lab)
        cls.addClassCleanup(cls.ssh.stop)
        cls.target = f"ssh://root@{cls.lab.far.address}"
        cls.application = cls.lab.orders("--rate", "500")

    def tearDown(self):
        super().tearDown()
        wait.until(lambda: self.ssh.left() == ([], []), lambda: f"nothing is left of {self.ssh.left()}")

    def farport(self, *arguments, environment=None, **options):
        return self.lab.near.run(needs.farport(), *arguments, environment=self.ssh.environment() | (environment or {}),
                                 **options)

    def mirror(self, target, *flags):
        return self.use(self.lab.mirror(target, flags=flags, environment=self.ssh.environment()))

    def pids(self, done):
        return [row["pid"] for row in json.loads(self.assert_ok(done).stdout)]

    def test_it_says_what_it_does_and_lists_what_runs_there(self):
        done = self.farport("ps", self.target, "--json")
        self.assertEqual(self.pids(done), [self.application.pid_inside])
        self.assertIn(f"{self.target}: sends farport there", done.stderr)

    def test_diagnostics_that_are_switched_off_are_said_by_the_first_command(self):
        directory = self.lab.new_directory(self.lab.far, "own")
        os.chown(directory, USER, USER)
        hidden = self.lab.orders(diagnostics=False, enter=[*self.lab.far.enter, needs.program("setpriv"), f"--reuid={USER}",
                                                           f"--regid={USER}", "--clear-groups"],
                                 environment={"TMPDIR": directory, "DOTNET_EnableDiagnostics": "0"})
        self.addCleanup(hidden.kill)
        hidden.process.wait_for_output("pricing")
        told = self.assert_ok(self.farport("ps", f"ssh://{NAME}@{self.lab.far.address}")).stderr
        self.assertIn(f"the .NET process {hidden.pid_inside}: it can't be diagnosed: DOTNET_EnableDiagnostics=0", told)
        self.assertNotIn("nothing that is wrong", told)

    def test_by_an_address_of_version_6_and_a_port(self):
        done = self.farport("ps", f"ssh://root@[{self.lab.far.address6}]:{PORT}", "--json")
        self.assertEqual(self.pids(done), [self.application.pid_inside])

    def test_a_user_who_is_not_root(self):
        directory = self.lab.new_directory(self.lab.far, "own")
        os.chown(directory, USER, USER)
        own = self.lab.orders(diagnostics=False, enter=[*self.lab.far.enter, needs.program("setpriv"), f"--reuid={USER}",
                                                        f"--regid={USER}", "--clear-groups"],
                              environment={"TMPDIR": directory})
        own.process.wait_for_output("pricing")
        done = self.farport("ps", f"ssh://{NAME}@{self.lab.far.address}", "--json")
        self.assertEqual(self.pids(done), [own.pid_inside])
        own.stop()

    def test_a_recording_survives_that_ssh_is_cut(self):
        mirror = self.mirror(self.target, *QUICK_PINGS)
        row = mirror.wait_for(self.application)[0]
        tool, file = self.begin_recording(row)
        self.break_one_after_the_other(mirror, (lambda: self.network.reset(PORT), self.kill_ssh, self.network_away,
                                                self.asleep))
        self.end_recording(tool, file)
        mirror.stop()

    def kill_ssh(self):
        for pid in self.lab.near.processes():
            with open(f"/proc/{pid}/comm", encoding="ascii") as name:
                if name.read().strip() == "ssh":
                    os.kill(pid, signal.SIGKILL)

    def network_away(self):
        with self.network.dark():
            time.sleep(4)  # longer than the pings' patience

    def asleep(self):
        """The tools' host does nothing at all for as long as a laptop's lid is closed for a moment."""
        asleep = self.lab.near.processes()
        for pid in asleep:
            os.kill(pid, signal.SIGSTOP)
        time.sleep(20)
        for pid in asleep:
            os.kill(pid, signal.SIGCONT)

    def test_a_session_that_is_cut_for_good_leaves_nothing_after_its_grace(self):
        mirror = self.mirror(self.target, "--grace", "2s")
        mirror.wait_for(self.application)
        mirror.process.kill()

    def test_a_directory_that_somebody_else_has_made_is_not_used(self):
        digest = self.digest()
        squatted = pathlib.Path(self.ssh.tmp, f"farport-0-{digest}")
        squatted.mkdir()
        os.chown(squatted, USER, USER)
        trap = squatted / "farport"
        trap.write_text("#!/bin/sh\ntouch /tmp/trapped\n", encoding="ascii")
        trap.chmod(0o755)
        self.assertEqual(self.pids(self.farport("ps", self.target, "--json")), [self.application.pid_inside])
        trap.unlink()
        squatted.rmdir()
        # A link to a directory of the victim's own.
        own = pathlib.Path(self.ssh.tmp, "own")
        own.mkdir(0o700)
        (own / "farport").write_text("#!/bin/sh\ntouch /tmp/trapped\n", encoding="ascii")
        (own / "farport").chmod(0o755)
        squatted.symlink_to("/tmp/own")
        self.assertEqual(self.pids(self.farport("ps", self.target, "--json")), [self.application.pid_inside])
        wait.until(lambda: sorted(os.listdir(self.ssh.tmp)) == sorted(["own", squatted.name]),
                   lambda: os.listdir(self.ssh.tmp))
        squatted.unlink()
        (own / "farport").unlink()
        own.rmdir()

    def digest(self):
        import hashlib
        with open(needs.static_farport(), "rb") as file:
            return hashlib.sha256(file.read()).hexdigest()[:16]

    def test_never_takes_what_is_installed_and_says_where_nothing_is(self):
        done = self.farport("ps", self.target, "--deploy", "never")
        self.assertEqual(done.code, 1, done.described)
        self.assertIn("in PATH?", done.stderr)

    def scripted(self, script):
        """Runs `farport ps` where `ssh` is a script."""
        directory = pathlib.Path(self.lab.new_directory(self.lab.near, "bin"))
        (directory / "ssh").write_text(f"#!/bin/sh\n{script}\n", encoding="ascii")
        (directory / "ssh").chmod(0o755)
        path = f"{directory}:{os.environ['PATH']}"
        return self.farport("ps", "ssh://any", environment={"PATH": path})

    def test_other_sides_that_mean_no_good(self):
        for script, words in (
                ("yes", "is not that of farport stdio"),
                ("echo farport-send gzip; head -c 1000 >/dev/null; echo farport-send gzip; cat >/dev/null",
                 "not to have"),
                ("echo farport-send plain; head -c 100000 >/dev/null; exit 9", "code 9"),
                ("echo farport-send rot13; exit 8", "code 8"),
                ("i=0; while [ $i -lt 20000 ]; do echo 'a line of more than sixty characters, again and again' >&2; "
                 "i=$((i+1)); done; exit 7", "code 7"),
                ("echo farport-stdio 1; yes", "the session")):
            done = self.scripted(script)
            self.assertEqual(done.code, 1, script + done.described)
            self.assertIn(words, done.stderr, script)
            self.assertLess(len(done.stderr), 20000)

    def test_the_script_runs_in_each_shell_and_without_tools(self):
        tools = ("sh", "id", "ls", "mkdir", "chmod", "rm", "rmdir", "head", "wc", "mv")
        for shell, more in (("dash", ("uname", "gzip", "sha256sum")), ("bash", ("uname",)), ("dash", ())):
            directory = pathlib.Path(self.lab.new_directory(self.lab.near, "tools"))
            tmp = self.lab.new_directory(self.lab.near, "tmp")
            for name in (*tools, *more):
                (directory / name).symlink_to(needs.program(shell if name == "sh" else name))
            # The second time it lies there, and is taken only where it can be checked.
            for known in (False, "sha256sum" in more):
                done = self.scripted("for last; do :; done; " + f"unset XDG_RUNTIME_DIR; PATH={directory} TMPDIR={tmp}; "
                                     'export PATH TMPDIR; exec sh -c "$last"')
                self.assertEqual(done.code, 0, done.described)
                if not known:
                    self.assertIn("sends farport there", done.stderr)
            wait.until(lambda: os.listdir(tmp) == [], lambda: os.listdir(tmp))

    def test_another_machine_is_named(self):
        directory = pathlib.Path(self.lab.new_directory(self.lab.near, "tools"))
        (directory / "uname").write_text("#!/bin/sh\necho Linux sparc64\n", encoding="ascii")
        (directory / "uname").chmod(0o755)
        done = self.scripted(f'for last; do :; done; PATH={directory}:$PATH exec sh -c "$last"')
        self.assertEqual(done.code, 1, done.described)
        self.assertIn("this is Linux sparc64, and the farport to be sent is for Linux", done.stderr)


if __name__ == "__main__":
    main()
