"""What the mirror makes on the tools' host, and that nothing of it stays."""

import os
import pathlib
import signal
import socket
import stat

from harness import needs, proc, wait
from harness.agent import PORT
from harness.case import Case, main
from harness.certificates import AGENT_NAME
from harness.host import as_user
from harness.tools import QUIET

FLEET_NAME = "fleet.test"


class Mirrors(Case):
    @classmethod
    def prepare(cls):
        cls.application = cls.lab.orders()
        cls.agent = cls.share(cls.lab.agent())
        cls.agent.wait_for(cls.application)

    def setUp(self):
        self.directory = self.lab.new_directory(self.lab.near, "sockets")

    def mirror(self, *remotes, **options):
        """A mirror in this test's own directory."""
        options.setdefault("directory", self.directory)
        return self.use(self.lab.mirror(*(remotes or [self.agent.remote]), **options))

    def test_each_runtime_has_both_socket_names_for_this_user_only(self):
        mirror = self.mirror()
        row = mirror.wait_for(self.application)[0]
        plain, router = self.lab.near.sockets(self.directory)
        self.assertEqual(plain, row["socket"])
        self.assertRegex(plain, rf"/dotnet-diagnostic-{row['local_pid']}-\d+-socket$")
        self.assertEqual(router, plain.replace("diagnostic-", "diagnostic-dsrouter-"))
        for path in (plain, router):
            status = os.stat(path)
            self.assertTrue(stat.S_ISSOCK(status.st_mode))
            self.assertEqual(stat.S_IMODE(status.st_mode), 0o600)
        self.assertGreaterEqual(os.stat(router).st_ctime_ns, os.stat(plain).st_ctime_ns)

    def test_the_placeholder_looks_like_the_remote_process_and_costs_next_to_nothing(self):
        mirror = self.mirror()
        row = mirror.wait_for(self.application)[0]
        placeholder, = mirror.placeholders()
        self.assertEqual(proc.pid_inside(placeholder), row["local_pid"])
        self.assertEqual(b" ".join(proc.command_line(placeholder)).decode(), row["command_line"])
        self.assertEqual(proc.status(placeholder, "Name"), "orders")
        self.assertEqual(proc.environment(placeholder)["TMPDIR"], self.directory)
        self.assertLess(proc.memory_kib(placeholder), 1024)

    def test_sigterm_and_sigint_take_everything_away(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            mirror = self.mirror()
            mirror.wait_for(self.application)
            mirror.stop(number)

    def test_the_next_start_removes_what_a_crash_left_and_nobody_elses_files(self):
        others = {
            "dotnet-diagnostic-1-1-socket": self.bind("dotnet-diagnostic-1-1-socket"),
            "dotnet-diagnostic-dsrouter-1-1-socket": self.bind("dotnet-diagnostic-dsrouter-1-1-socket"),
        }
        others["dotnet-diagnostic-dsrouter-1-1-socket"].close()  # a stale one, and not a mirror's
        pathlib.Path(self.directory, "notes.txt").write_text("mine", encoding="ascii")
        mirror = self.mirror()
        left_by_crash = mirror.wait_for(self.application)[0]["socket"]
        placeholders = mirror.placeholders()
        mirror.process.kill()
        wait.until(lambda: not [pid for pid in placeholders if proc.is_alive(pid)], "its placeholders are gone", 2)
        self.assertTrue(os.path.exists(left_by_crash))
        mirror = self.lab.mirror(self.agent.remote, directory=self.directory)
        mirror.wait_for(self.application)
        self.assertFalse(os.path.exists(left_by_crash))
        self.assertEqual(mirror.process.stop(), 0)
        self.assertEqual(mirror.files(), sorted([*others, "notes.txt"]))
        others["dotnet-diagnostic-1-1-socket"].close()

    def test_what_is_at_the_path_of_a_socket_already_stays(self):
        notes = pathlib.Path(self.directory, "notes.txt")
        notes.write_text("mine", encoding="ascii")
        listener = self.bind("another.sock")
        for path in (str(notes), os.path.join(self.directory, "another.sock")):
            mirror = self.lab.mirror(self.agent.remote, flags=["--socket", f"orders={path}"],
                                     directory=self.directory)
            wait.until(lambda: path in mirror.process.output() and "already" in mirror.process.output(),
                       lambda: f"it says so\n{mirror.process.output()}")
            mirror.process.stop()
            self.assertTrue(os.path.lexists(path))
        self.assertEqual(notes.read_text(encoding="ascii"), "mine")
        listener.close()

    def bind(self, name):
        """Somebody else's socket in the directory."""
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(os.path.join(self.directory, name))
        listener.listen()
        return listener

    def test_two_mirrors_in_one_directory_leave_each_other_alone(self):
        first = self.lab.mirror(self.agent.remote, directory=self.directory)
        path = first.wait_for(self.application)[0]["socket"]
        second = self.lab.mirror(self.agent.remote, directory=self.directory)
        second.wait_for(self.application)
        self.assertEqual(len(self.lab.near.sockets(self.directory)), 4)
        self.assertEqual(second.process.stop(), 0)
        self.assertIn(path, self.lab.near.sockets(self.directory))
        first.stop()

    def test_two_users_with_a_directory_each_choose_by_name(self):
        pair = self.lab.tools_pair
        os.chmod(os.path.dirname(pair.cert), 0o755)
        for path in (pair.cert, pair.key, pair.ca):
            os.chmod(path, 0o644)
        users = (1001, 1002)
        directories = [self.lab.new_directory(self.lab.near, f"user-{user}") for user in users]
        for user, directory in zip(users, directories):
            os.chown(directory, user, user)
            mirror = self.use(self.lab.mirror(self.agent.remote, directory=directory, user=user))
            mirror.wait_for(self.application)
        trace = os.path.join(directories[0], "orders.nettrace")
        done = self.lab.near.run(
            *as_user(users[0]), needs.dotnet_trace(), "collect", "-n", "orders", "--duration", "00:00:01", "-o", trace,
            environment=QUIET | {"TMPDIR": directories[0], "HOME": directories[0]})
        self.assert_ok(done)
        os.unlink(trace)

    def test_runtimes_appear_and_vanish_as_they_do_there(self):
        mirror = self.mirror()
        mirror.wait_for(self.application)
        second = self.lab.orders()
        mirror.wait_for(self.application, second, seconds=3)
        self.assertEqual(len(mirror.placeholders()), 2)
        second.stop()
        mirror.wait_for(self.application, seconds=3)
        wait.until(lambda: len(mirror.placeholders()) == 1 and len(self.lab.near.sockets(self.directory)) == 2,
                   "placeholder and sockets are gone")

    def test_a_placeholder_that_is_killed_is_replaced(self):
        mirror = self.mirror()
        killed = mirror.wait_for(self.application)[0]["local_pid"]
        os.kill(mirror.placeholders()[0], signal.SIGKILL)
        wait.until(lambda: [row for row in mirror.rows() if row["local_pid"] != killed],
                   lambda: f"another placeholder\n{mirror.process.output()}", 5)
        row = mirror.wait_for(self.application)[0]
        self.assert_ok(self.tools.driver("info", "--socket", row["socket"]))

    def test_select_by_name_pid_and_glob(self):
        second = self.use(self.lab.orders())
        self.agent.wait_for(self.application, second)
        for patterns, expected in (
                ([str(second.pid_inside)], [second]), (["ord*"], [self.application, second]),
                (["orders"], [self.application, second]),
                ([str(second.pid_inside), str(self.application.pid_inside)], [self.application, second])):
            flags = [word for pattern in patterns for word in ("--select", pattern)]
            mirror = self.mirror(flags=flags)
            mirror.wait_for(*expected)
            mirror.stop()
        second.stop()
        self.agent.wait_for(self.application)

    def test_a_runtime_that_is_not_selected_is_not_offered(self):
        second = self.use(self.lab.orders())
        mirror = self.mirror(flags=["--select", str(self.application.pid_inside)])
        mirror.wait_for(self.application)
        self.agent.wait_for(self.application, second)
        # An event of the other one would have come by now, with that of a third.
        third = self.lab.orders()
        self.agent.wait_for(self.application, second, third)
        third.stop()
        self.agent.wait_for(self.application, second)
        self.assertEqual(len(mirror.rows()), 1)
        second.stop()

    def test_several_agents(self):
        directory = self.lab.new_directory(self.lab.far, "search")
        second = self.use(self.lab.orders(directory=directory))
        agent = self.use(self.lab.agent(port=PORT + 1, search=[directory]))
        mirror = self.mirror(self.agent.remote, agent.remote)
        rows = mirror.wait_for(self.application, second)
        self.assertEqual([row["agent"] for row in rows], [self.agent.remote, agent.remote])
        for row, application in zip(rows, (self.application, second)):
            info = self.assert_ok(self.tools.driver("info", "--socket", row["socket"])).values()
            self.assertEqual(info["ProcessId"], str(application.pid_inside))

    def test_one_of_several_agents_that_is_not_there_does_not_keep_the_others_away(self):
        mirror = self.mirror(self.agent.remote, f"{self.lab.far.address}:9009")
        mirror.wait_for(self.application)
        wait.until(lambda: f"{self.lab.far.address}:9009" in mirror.process.stderr(), "it says which one is missing")

    def test_a_name_with_several_addresses_means_every_one_of_them(self):
        directory = self.lab.new_directory(self.lab.far, "search")
        second = self.use(self.lab.orders(directory=directory))
        pair = self.lab.authority.server("fleet", "--dns", FLEET_NAME)
        port = PORT + 4
        first_agent = self.use(self.lab.agent(port=port, pair=pair))
        second_agent = self.use(self.lab.agent(port=port, pair=pair, search=[directory],
                                               listen=[f"[{self.lab.far.address6}]:{port}"]))
        self.lab.near.know(FLEET_NAME, self.lab.far.address, self.lab.far.address6)
        mirror = self.mirror(f"{FLEET_NAME}:{port}")
        mirror.wait_for(self.application, second)
        for part in (mirror, first_agent, second_agent):
            part.stop()

    def test_a_port_forward_is_verified_under_the_agents_name(self):
        forward = self.lab.near.start(needs.program("socat"), "TCP-LISTEN:9100,fork,reuseaddr,bind=127.0.0.1",
                                      f"TCP:{self.agent.remote}")
        self.addCleanup(forward.kill)
        wait.until(lambda: proc.listens(forward.pid, 9100), "the forward listens")
        mirror = self.mirror("127.0.0.1:9100", flags=["--server-name", AGENT_NAME])
        mirror.wait_for(self.application)
        mirror.stop()

    def test_an_agent_that_comes_later_is_found(self):
        port = PORT + 5
        mirror = self.mirror(f"{self.lab.far.address}:{port}")
        wait.until(lambda: str(port) in mirror.process.stderr(), "it says that nobody is there")
        agent = self.lab.agent(port=port)
        mirror.wait_for(self.application)
        mirror.stop()
        agent.stop()

    def test_a_terminal_shows_a_table(self):
        script = self.lab.near.start(
            needs.program("script"), "--quiet", "--flush", "--command",
            " ".join([needs.farport(), "connect", self.agent.remote, "--socket-dir", self.directory,
                      *self.lab.tools_pair.flags()]), "/dev/null", environment={"TERM": "xterm"})
        script.wait_for_output("REMOTE PID")
        script.wait_for_output("orders")
        self.assertIn(str(self.application.pid_inside), script.stdout())
        mirror = proc.children(script.pid)[0]
        os.kill(mirror, signal.SIGTERM)
        script.wait()
        # What was ended is the shell; the mirror notices that its terminal has gone.
        wait.until(lambda: not os.listdir(self.directory), lambda: f"nothing is left of {os.listdir(self.directory)}")

    def test_a_directory_that_cannot_be_used_is_named(self):
        finished = self.lab.near.run(needs.farport(), "connect", self.agent.remote, "--socket-dir", "/nowhere/at/all",
                                     *self.lab.tools_pair.flags())
        self.assertIn(finished.code, (1, 2), finished.described)
        self.assertIn("/nowhere/at/all", finished.stderr)


if __name__ == "__main__":
    main()
