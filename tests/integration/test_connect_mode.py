"""Runtimes that dial the agent (DOTNET_DiagnosticPorts), suspended or not."""

import os
import stat

from harness import events, ipc, needs, wait
from harness.api import Api
from harness.case import Case, main
from harness.certificates import Pair
from harness.connect_port import ConnectPort

NOBODY = 65534
MANY = 20


class ConnectMode(Case):
    def setUp(self):
        self.port = ConnectPort(self.lab)
        self.empty = self.lab.new_directory(self.lab.far, "search")

    def start_agent(self, *flags, search=None, **options):
        """An agent with the port, which finds no default ports unless `search` says where."""
        return self.use(self.lab.agent(*self.port.flags, *flags, search=search or [self.empty], **options))

    def start_orders(self, *flags, words="", **options):
        application = self.port.orders(*flags, words=words, **options)
        self.addCleanup(application.kill)
        return application

    def send(self, runtime, message):
        return Api(self.lab).post(runtime["id"], message).body

    def resume(self, runtime):
        answer = self.send(runtime, ipc.message(ipc.PROCESS, ipc.RESUME_RUNTIME))
        self.assertEqual(ipc.parse(answer)[:2], (ipc.SERVER, ipc.OK))

    def assert_answers(self, runtime):
        """That the runtime behind an entry of the list is the one that it is said to be."""
        self.assertEqual(ipc.parse_process_info(self.send(runtime, ipc.process_info())),
                         (runtime["pid"], runtime["id"]))

    def wait_until_running(self, agent, application):
        """Waits until it runs, is listed so and is fully known; returns what is said of it."""
        application.process.wait_for_output("pricing")

        def running():
            runtime, = agent.wait_for(application)
            return runtime if runtime["state"] == "running" and "--seconds 3600" in runtime["command_line"] else None

        return wait.until(running, lambda: f"listed as running\n{agent.process.output()}")

    def assert_suspended(self, runtime, application):
        self.assertEqual((runtime["state"], runtime["name"]), ("suspended", "orders"))
        self.assertNotIn("pricing", application.process.stdout())

    # Suspended and resumed.

    def test_a_suspended_application_is_listed_and_runs_when_it_is_resumed(self):
        agent = self.start_agent()
        watcher = Api(self.lab).start(Api(self.lab).base + "/v1/runtimes?watch=true")
        wait.until(lambda: "listed" in watcher.stdout(), watcher.output)
        application = self.start_orders()
        runtime, = agent.wait_for(application)
        self.assert_suspended(runtime, application)
        self.assert_answers(runtime)
        self.resume(runtime)
        self.assertEqual(self.wait_until_running(agent, application)["id"], runtime["id"])
        wait.until(lambda: '"changed"' in watcher.stdout(), watcher.output)
        kinds = [line.split('"event":"')[1].split('"')[0] for line in watcher.stdout().splitlines()]
        self.assertEqual(kinds, ["listed", "added", "changed"])
        watcher.kill()

    def test_dotnet_trace_resumes_an_application_and_records_it_from_its_start(self):
        agent = self.start_agent()
        application = self.start_orders()
        mirror = self.use(self.lab.mirror(agent.remote))
        row, = mirror.wait_for(application)
        self.assertEqual(row["state"], "suspended")
        file = os.path.join(self.lab.new_directory(self.lab.near, "trace"), "orders.nettrace")
        self.assert_ok(self.tools.trace("collect", "-p", row["local_pid"], "--duration", "00:00:02", "-o", file,
                                        *events.JITTING))
        self.assertTrue(events.holds_the_start(file))
        self.wait_until_running(agent, application)
        wait.until(lambda: mirror.wait_for(application)[0]["state"] == "running", mirror.process.output)

    def test_an_application_that_both_ports_lead_to_is_listed_once_and_resumed_on_both(self):
        directory = self.lab.new_directory(self.lab.far, "tmp")
        agent = self.start_agent(search=[directory])
        application = self.start_orders(directory=directory, environment={"DOTNET_DefaultDiagnosticPortSuspend": "1"})
        wait.until(lambda: "dialled in" in agent.log() and "found orders" in agent.log(), agent.process.output)
        runtime, = agent.wait_for(application)
        self.assert_suspended(runtime, application)
        self.resume(runtime)
        self.wait_until_running(agent, application)

    def test_a_suspended_default_port_is_shown_as_such(self):
        directory = self.lab.new_directory(self.lab.far, "tmp")
        agent = self.use(self.lab.agent(search=[directory]))
        application = self.lab.orders(directory=directory, diagnostics=False,
                                      environment={"DOTNET_DefaultDiagnosticPortSuspend": "1"})
        self.addCleanup(application.kill)
        runtime, = agent.wait_for(application)
        self.assert_suspended(runtime, application)
        self.resume(runtime)
        self.wait_until_running(agent, application)

    def test_an_application_that_waits_for_another_port_too_stays_suspended(self):
        other = ConnectPort(self.lab)
        agent = self.start_agent()
        application = self.start_orders(words=f";{other.path}")
        runtime, = agent.wait_for(application)
        self.resume(runtime)
        wait.stays(lambda: agent.wait_for(application)[0]["state"] == "suspended", "it is suspended", 1.5)
        self.assert_suspended(runtime, application)
        # Whoever has the other port may resume it too: here a second agent.
        second = self.use(self.lab.agent(*other.flags, "--resume-after", "100ms", search=[self.empty], port=9100))
        self.wait_until_running(agent, application)
        second.wait_for(application)

    def test_nosuspend_runs_at_once_and_is_known_with_its_whole_command_line(self):
        agent = self.start_agent()
        application = self.start_orders(words=",nosuspend")
        runtime, = agent.wait_for(application)
        self.assertEqual(runtime["state"], "running")
        self.assertIn("--seconds 3600", runtime["command_line"])
        self.assert_answers(runtime)

    def test_an_application_that_gets_no_command_is_resumed(self):
        agent = self.start_agent("--resume-after", "300ms")
        application = self.start_orders()
        self.wait_until_running(agent, application)
        self.assertIn(f"no command came for orders (pid {application.pid_inside}) within 0.3 s: resumed it", agent.log())

    def test_an_application_that_has_got_a_command_is_left_suspended(self):
        agent = self.start_agent("--resume-after", "5s")
        application = self.start_orders()
        runtime, = agent.wait_for(application)
        self.send(runtime, ipc.message(ipc.PROCESS, ipc.PROCESS_ENVIRONMENT))
        wait.stays(lambda: "pricing" not in application.process.stdout(), "it stays suspended", 6)
        self.assertNotIn("no command came", agent.log())
        self.resume(runtime)
        self.wait_until_running(agent, application)

    # Commands.

    def test_many_runtimes_dial_one_port(self):
        agent = self.start_agent()
        applications = [self.start_orders("--rate", "1", words=",nosuspend") for _ in range(MANY)]
        for runtime in agent.wait_for(*applications):
            self.assert_answers(runtime)

    def test_commands_in_a_row_and_at_once(self):
        agent = self.start_agent()
        application = self.start_orders(words=",nosuspend")
        mirror = self.use(self.lab.mirror(agent.remote))
        row, = mirror.wait_for(application)
        directory = self.lab.new_directory(self.lab.near, "trace")
        target = ["collect", "-p", row["local_pid"], "--duration", "00:00:02"]
        both = [self.lab.near.start(needs.dotnet_trace(), *target, "-o", os.path.join(directory, f"{number}.nettrace"),
                                    environment={"DOTNET_EnableDiagnostics": "0"}) for number in range(2)]
        url = f"{Api(self.lab).base}/v1/runtimes/{row['id']}/ipc"
        urls = [argument for _ in range(50) for argument in ("--output", "/dev/null", url)]
        output, code = self.lab.near.pipe(
            Api(self.lab).curl("--parallel", "--write-out", "%{http_code}\n", "--data-binary", "@-", *urls),
            ipc.process_info())
        self.assertEqual((code, output.split()), (0, [b"200"] * 50))
        for process in both:
            self.assertEqual(process.wait(), 0, process.output())
        for number in range(2):
            self.assertTrue(events.holds_the_rundown(os.path.join(directory, f"{number}.nettrace")))
        self.assert_answers(agent.wait_for(application)[0])

    # Ends.

    def test_a_runtimes_end_is_noticed(self):
        agent = self.start_agent()
        application = self.start_orders(words=",nosuspend")
        agent.wait_for(application)
        application.kill()
        agent.wait_for(seconds=3)

    def test_a_process_that_ends_before_it_has_said_who_it_is_is_no_cause_for_a_warning(self):
        agent = self.start_agent()
        applications = [self.start_orders(words=",nosuspend") for _ in range(3)]
        for application in applications:
            application.kill()
        self.start_orders(words=",nosuspend").process.wait_for_output("pricing")
        wait.until(lambda: len(agent.runtimes()) == 1, agent.process.output)
        self.assertNotIn("warn", agent.log())

    def test_the_end_of_a_runtime_that_is_not_visible_is_noticed_and_nothing_else_is_taken_for_it(self):
        agent = self.start_agent()
        application = self.start_orders(words=",nosuspend", enter=self.lab.far.enter_other_pids())
        agent.wait_for(application)
        mirror = self.use(self.lab.mirror(agent.remote))
        row, = mirror.wait_for(application)
        file = os.path.join(self.lab.new_directory(self.lab.near, "trace"), "orders.nettrace")
        self.assert_ok(self.tools.trace("collect", "-p", row["local_pid"], "--duration", "00:00:03", "-o", file))
        self.assertNotIn("has ended", agent.log())
        application.kill()
        agent.wait_for()

    def test_a_new_agent_at_the_same_path_lists_the_runtimes_again(self):
        agent = self.start_agent()
        application = self.start_orders()
        agent.wait_for(application)
        agent.process.kill()
        self.assertTrue(os.path.exists(self.port.path))
        again = self.start_agent()
        runtime, = again.wait_for(application)
        self.assert_suspended(runtime, application)
        again.stop()
        self.assertFalse(os.path.exists(self.port.path))

    # Users.

    def test_roots_port_serves_the_runtimes_of_other_users(self):
        agent = self.start_agent()
        self.assertEqual(stat.S_IMODE(os.stat(self.port.path).st_mode), 0o666)
        directory = self.lab.new_directory(self.lab.far, "nobodys")
        os.chown(directory, NOBODY, NOBODY)
        application = self.start_orders(directory=directory, enter=[*self.lab.far.enter, *self.as_nobody()])
        runtime, = agent.wait_for(application)
        self.assert_answers(runtime)
        self.resume(runtime)
        self.wait_until_running(agent, application)

    def test_another_users_port_is_its_own(self):
        home = self.lab.new_directory(self.lab.far, "keys")
        own = self.lab.agent_pair
        pair = Pair(home, "agent")
        for source, target in ((own.cert, pair.cert), (own.key, pair.key), (own.ca, pair.ca)):
            with open(source, "rb") as file, open(target, "wb") as copy:
                copy.write(file.read())
            os.chown(target, NOBODY, NOBODY)
        os.chown(self.port.directory, NOBODY, NOBODY)
        agent = self.start_agent(pair=pair, enter=[*self.lab.far.enter, *self.as_nobody()])
        self.assertEqual(stat.S_IMODE(os.stat(self.port.path).st_mode), 0o600)
        application = self.start_orders(words=",nosuspend")
        agent.wait_for(application)

    @staticmethod
    def as_nobody():
        return [needs.program("setpriv"), "--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups"]


if __name__ == "__main__":
    main()
