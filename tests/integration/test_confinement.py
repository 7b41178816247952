"""What an agent gives up once it has started, and that all it is for still works then."""

import contextlib
import json
import os
import pathlib
import shutil
import signal

from harness import dumps, needs, proc, sockets, wait
from harness.case import Case, main

USER = 1654
GROUP = 1655
# chown, dac_override, fowner, kill and sys_ptrace, by their numbers in linux/capability.h.
KEPT = sum(1 << number for number in (0, 1, 3, 5, 19))
NO_LIMIT_NEEDED = ("read", "write", "exchange", "list-outside", "connect-unix", "thread", "pidfd", "inotify")
BY_LANDLOCK = ("read-outside", "read-shadow", "write-readable", "write-exchanged", "write-outside", "remove-outside",
               "memory-of-other", "root-of-other", "connect-tcp")
DOCUMENT = pathlib.Path(__file__).parents[2] / "docs/security.md"
# The columns of its table, by the probe's words.
TABLE = {"agent": "the agent", "sampler": "its sampler", "starter": "what starts readers", "reader": "a reader"}
FORBIDDEN = ("ENOSYS", "EACCES", "EPERM")


def core_limit(pid):
    """The soft limit of core dumps' sizes."""
    lines = pathlib.Path(f"/proc/{pid}/limits").read_text().splitlines()
    return [line.split()[4] for line in lines if line.startswith("Max core file size")][0]


class Confined(Case):
    """What these tests share: an agent under limits does its work."""

    def dump(self, agent, runtime=None):
        """Takes a small dump."""
        target = os.path.join(self.lab.new_directory(self.lab.near, "target"), "x.dmp")
        name = agent.remote + (f"/{runtime}" if runtime else "")
        self.assert_ok(self.lab.near.run(needs.farport(), "dump", name, "-o", target, "--type", "mini",
                                         *self.lab.tools_pair.flags()))
        self.assertTrue(dumps.core_notes(target))

    def trace(self, agent, application):
        """Records with the stock tool."""
        mirror = self.use(self.lab.mirror(agent.remote))
        pid = mirror.wait_for(application)[0]["local_pid"]
        file = os.path.join(self.lab.new_directory(self.lab.near, "trace"), "x.nettrace")
        self.assert_ok(self.tools.trace("collect", "-p", pid, "--duration", "00:00:01", "-o", file))
        self.assertTrue(self.tools.frames(file))

    def assert_limited(self, agent, capabilities):
        """That the kernel says so, of every thread."""
        pid = agent.process.pid
        for thread in os.listdir(f"/proc/{pid}/task"):
            where = f"{pid}/task/{thread}"
            self.assertEqual(proc.status(where, "NoNewPrivs"), "1")
            self.assertEqual(proc.status(where, "Seccomp"), "2")
            for kind in ("CapPrm", "CapEff"):
                self.assertEqual(int(proc.status(where, kind), 16), capabilities)
            self.assertEqual(int(proc.status(where, "CapInh"), 16), 0)
        self.assertEqual(core_limit(pid), "0")

    def assert_writes_audit_anew(self, agent, file):
        """That SIGHUP makes it begin a new audit file, once the old one is renamed."""
        os.rename(file, file + ".1")
        agent.process.send(signal.SIGHUP)
        wait.until(lambda: os.path.exists(file), lambda: f"{file} is there again\n{agent.process.output()}")


class AsRoot(Confined):
    @classmethod
    def prepare(cls):
        cls.application = cls.lab.orders()

    def test_by_default_it_keeps_what_serving_other_users_takes(self):
        audit = f"{self.lab.directory}/audit-default.jsonl"
        agent = self.use(self.lab.agent("--audit", audit))
        agent.wait_for(self.application)
        self.trace(agent, self.application)
        self.dump(agent)
        self.assert_limited(agent, KEPT)
        self.assertIn("no new privileges", agent.log())
        self.assertIn("name their place with [dump] directory", agent.log())
        self.assert_writes_audit_anew(agent, audit)

    def test_with_a_place_for_dumps_all_is_in_force(self):
        place = self.lab.new_directory(self.lab.far, "dumps")
        audit = f"{self.lab.directory}/audit-required.jsonl"
        agent = self.use(self.lab.agent("--confine", "required", "--dump-directory", place, "--audit", audit,
                                        port=9001))
        agent.wait_for(self.application)
        self.trace(agent, self.application)
        self.dump(agent)
        self.assertEqual(os.listdir(place), [])
        self.assert_limited(agent, KEPT)
        self.assertIn("limited by Landlock", agent.log())
        self.assertNotIn("not confined", agent.log())
        self.assert_writes_audit_anew(agent, audit)
        later = self.lab.orders()
        agent.wait_for(self.application, later)
        later.stop()
        agent.wait_for(self.application)

    def test_a_runtime_in_another_mount_namespace_is_dumped(self):
        inside = self.lab.new_directory(self.lab.far, "inside")
        shared = self.lab.new_directory(self.lab.far, "diag")
        agent = self.use(self.lab.agent("--diagnostic-port", f"{shared}/farport.sock", port=9002))
        enter = [*self.lab.far.enter, "unshare", "--mount", "sh", "-c", f'mount -t tmpfs tmpfs {inside} && exec "$@"',
                 "sh"]
        contained = self.lab.orders(
            directory=inside, enter=enter, diagnostics=False,
            environment={"DOTNET_DiagnosticPorts": f"{shared}/farport.sock,nosuspend"})
        contained.process.wait_for_output("pricing")
        listed = agent.wait_for(self.application, contained)
        self.dump(agent, listed[1]["id"])
        contained.kill()

    def test_it_refuses_to_start_where_not_all_that_is_required_can_be_had(self):
        done = self.lab.far.run(needs.farport(), "serve", *self.lab.agent_pair.flags(), "--allow-all", "--listen",
                                "127.0.0.1:9003", "--confine", "required")
        self.assertEqual(done.code, 1, done.described)
        self.assertIn("[dump] directory", done.stderr)

    def test_it_can_be_switched_off(self):
        agent = self.use(self.lab.agent("--confine", "off", port=9004))
        self.assertEqual(proc.status(agent.process.pid, "Seccomp"), "0")
        self.assertEqual(proc.status(agent.process.pid, "NoNewPrivs"), "0")
        self.assertEqual(core_limit(agent.process.pid), "0")
        self.assertIn("not confined", agent.log())

    def test_check_says_what_would_be_in_force(self):
        flags = [*self.lab.agent_pair.flags(), "--allow-all", "--listen", "127.0.0.1:9005"]
        done = self.assert_ok(self.lab.far.run(needs.farport(), "check", *flags))
        self.assertIn("ok       no new privileges", done.stdout)
        self.assertIn("ok       system calls filtered", done.stdout)
        self.assertRegex(done.stdout, r"warning +.*\[dump\] directory")
        place = self.lab.new_directory(self.lab.far, "dumps")
        done = self.assert_ok(self.lab.far.run(needs.farport(), "check", *flags, "--dump-directory", place))
        self.assertIn("limited by Landlock", done.stdout)
        done = self.lab.far.run(needs.farport(), "check", *flags, "--confine", "required")
        self.assertEqual(done.code, 1, done.described)
        done = self.assert_ok(self.lab.far.run(needs.farport(), "check", *flags, "--confine", "off"))
        self.assertRegex(done.stdout, "warning +.*switched off")


class AsAnotherUser(Confined):
    @classmethod
    def prepare(cls):
        cls.directory = cls.lab.new_directory(cls.lab.far, "user")
        cls.pair = cls.lab.authority.server("other", "--dns", "agent.test", "--ip", cls.lab.far.address)
        os.chown(cls.directory, USER, GROUP)
        os.chmod(cls.lab.authority.directory, 0o755)
        for file in (cls.pair.cert, cls.pair.key):
            os.chown(file, USER, GROUP)
        cls.enter = [*cls.lab.far.enter, needs.program("setpriv"), "--reuid", str(USER), "--regid", str(GROUP),
                     "--clear-groups"]
        cls.application = cls.lab.orders(directory=cls.directory, enter=cls.enter)

    def agent(self, *flags, port, **options):
        return self.use(self.lab.agent("--user", f"{USER}:{GROUP}", *flags, port=port, search=[self.directory],
                                       pair=self.pair, **options))

    def test_it_becomes_the_user_for_good_and_does_all_its_work(self):
        audit = f"{self.directory}/audit.jsonl"
        # A port that only root may listen on.
        agent = self.agent("--confine", "required", "--audit", audit, port=909)
        agent.wait_for(self.application)
        self.trace(agent, self.application)
        self.dump(agent)
        self.assertEqual(dumps.private_directories(self.directory), [])
        self.assert_limited(agent, 0)
        pid = agent.process.pid
        self.assertEqual(set(proc.status(pid, "Uid").split()), {str(USER)})
        self.assertEqual(set(proc.status(pid, "Gid").split()), {str(GROUP)})
        self.assertEqual(proc.status(pid, "Groups").split(), [str(GROUP)])
        # Not dumpable: what /proc shows of it belongs to root.
        self.assertEqual(os.stat(f"/proc/{pid}/environ").st_uid, 0)
        self.assert_writes_audit_anew(agent, audit)
        later = self.lab.orders(directory=self.directory, enter=self.enter)
        agent.wait_for(self.application, later)
        later.stop()
        agent.wait_for(self.application)
        self.assertTrue(json.loads(pathlib.Path(audit + ".1").read_text().splitlines()[0]))

    def test_runtimes_in_connect_mode_are_served(self):
        port = f"{self.directory}/farport.sock"
        agent = self.agent("--confine", "required", "--diagnostic-port", port, port=9010)
        dialling = self.lab.orders(directory=self.directory, enter=self.enter, diagnostics=False, environment={
            "DOTNET_DiagnosticPorts": f"{port},nosuspend", "DOTNET_EnableDiagnostics_IPC": "1"})
        dialling.process.wait_for_output("pricing")
        agent.wait_for(self.application, dialling)
        dialling.stop()
        agent.wait_for(self.application)
        agent.stop()
        self.assertFalse(os.path.exists(port))

    def test_a_mirror_beside_it_is_not_offered_again(self):
        agent = self.agent("--confine", "required", port=9011)
        agent.wait_for(self.application)
        pair = self.lab.authority.client("beside")
        for file in (pair.cert, pair.key):
            os.chown(file, USER, GROUP)
        beside = self.agent("--confine", "required", port=9012, allow=("--allow-all",))
        mirror = self.lab.far.start(
            *self.enter[len(self.lab.far.enter):], needs.farport(), "connect", f"{self.lab.far.address}:9012",
            "--socket-dir", self.directory, "--json", *pair.flags())
        mirror.wait_for_output("local_pid")
        wait.until(lambda: len(self.lab.far.sockets(self.directory)) > 1, "the mirror's sockets are there")
        later = self.lab.orders(directory=self.directory, enter=self.enter)
        for each in (agent, beside):
            each.wait_for(self.application, later)
        self.assertEqual(mirror.stop(), 0, mirror.output())
        later.stop()

    def test_what_that_user_may_not_read_is_named_at_the_start(self):
        secret = self.lab.authority.server("secret", "--dns", "agent.test")
        done = self.lab.far.run(needs.farport(), "serve", *secret.flags(), "--allow-all", "--listen", "127.0.0.1:9013",
                                "--user", f"{USER}:{GROUP}")
        self.assertEqual(done.code, 2, done.described)
        self.assertIn(secret.key, done.stderr)
        self.assertIn(f"as user {USER}", done.stderr)

    def test_users_that_there_are_none_of_and_root_are_refused(self):
        for user, why in (("nobody-knows", "no such user"), ("12345", "its group too"), ("root", "that is root"),
                          (f"{USER}:nobody-knows", "no such group")):
            done = self.lab.far.run(needs.farport(), "serve", *self.pair.flags(), "--allow-all", "--listen",
                                    "127.0.0.1:9014", "--user", user)
            self.assertEqual(done.code, 2, done.described)
            self.assertIn(why, done.stderr)

    def test_only_root_becomes_another_user(self):
        done = self.lab.far.run(needs.farport(), "serve", *self.pair.flags(), "--allow-all", "--listen",
                                "127.0.0.1:9015", "--user", "1:1", enter=self.enter)
        self.assertEqual(done.code, 2, done.described)
        self.assertIn("only root", done.stderr)


class Limits(Case):
    """The same limits, around a program that tries what they forbid."""

    @classmethod
    def prepare(cls):
        cls.places = [cls.lab.new_directory(cls.lab.far, name)
                      for name in ("readable", "writable", "exchanged", "outside")]
        cls.socket = os.path.join(cls.lab.far.directory, "listening.sock")
        cls.lab.far.start(needs.program("socat"), f"UNIX-LISTEN:{cls.socket},fork,mode=666", "/dev/null")
        # The socket is there first, its permissions and who listens come then.
        wait.until(lambda: os.path.exists(cls.socket) and os.stat(cls.socket).st_mode & 0o666 == 0o666, "anybody may connect")
        wait.until(cls.somebody_listens, "somebody listens")

    @classmethod
    def somebody_listens(cls):
        with contextlib.suppress(ConnectionRefusedError), sockets.connect(cls.socket):
            return True
        return False

    def setUp(self):
        # A user can't run what stands in a directory of root's.
        self.program = shutil.copy(needs.confinement_probe(), os.path.join(self.lab.far.directory, "probe"))

    def try_all(self, *enter, process="agent"):
        done = self.assert_ok(self.lab.far.run(self.program, process, *self.places, self.socket,
                                               enter=[*self.lab.far.enter, *enter]))
        values = done.values()
        self.assertNotIn("missing", values, done.described)
        return values

    def assert_confined(self, values, signalled):
        self.assertEqual(values.pop("signal-other"), signalled)
        for name, came_of_it in values.items():
            wanted = "ok" if name in NO_LIMIT_NEEDED else "EACCES" if name in BY_LANDLOCK else "ENOSYS"
            self.assertEqual(came_of_it, wanted, name)
        self.assertGreater(len(values), 30)

    def test_the_table_in_the_documents_is_what_each_process_can_do(self):
        came_of_it = {}
        for process in TABLE:
            for place in self.places:
                shutil.rmtree(place)
                os.mkdir(place)
            came_of_it[process] = self.try_all(process=process)
        rows = [" | ".join(("| as root, may it …", *TABLE.values())) + " |", "| --- " * (1 + len(TABLE)) + "|"]
        tried = set()
        for line in self.assert_ok(self.lab.far.run(self.program, "promises")).stdout.splitlines():
            what, _, names = line.partition(":")
            tried |= set(names.split())
            cells = []
            for process in TABLE:
                lets = {came_of_it[process][name] not in FORBIDDEN for name in names.split()}
                self.assertEqual(len(lets), 1, f"{process}: {what}: {[(name, came_of_it[process][name]) for name in names.split()]}")
                cells.append("yes" if lets.pop() else "–")
            rows.append(" | ".join((f"| {what}", *cells)) + " |")
        self.assertEqual(tried, set(came_of_it["agent"]))
        table = "\n".join(rows)
        self.assertTrue(table in DOCUMENT.read_text(encoding="utf-8"), f"{DOCUMENT} is to have this table:\n{table}")

    def test_root_is_held_by_them(self):
        self.assert_confined(self.try_all(), "ok")

    def test_a_user_is_held_by_them(self):
        for place in self.places:
            os.chown(place, USER, GROUP)
            for name in os.listdir(place):
                os.remove(os.path.join(place, name))
        self.assert_confined(self.try_all(needs.program("setpriv"), "--reuid", str(USER), "--regid", str(GROUP),
                                          "--clear-groups"), "EPERM")


if __name__ == "__main__":
    main()
