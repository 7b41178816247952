"""Every kind of diagnostic command, as Microsoft's client library sends it."""

import concurrent.futures

from harness import ipc, proc, sockets
from harness.case import Case, main

MANY = 24


class ClientLibrary(Case):
    @classmethod
    def prepare(cls):
        cls.application = cls.lab.orders(environment={"ORDERS_GREETING": "grüß Gott, 世界"})
        cls.agent = cls.share(cls.lab.agent())
        cls.mirror = cls.share(cls.lab.mirror(cls.agent.remote))
        cls.row = cls.mirror.wait_for(cls.application)[0]
        cls.pid = cls.row["local_pid"]

    def ask(self, *arguments, **options):
        """Runs the driver, and returns what it printed by name."""
        return self.assert_ok(self.tools.driver(*arguments, **options)).values()

    def assert_whole(self, values, least_events):
        """That a session brought every event from its first to its last."""
        self.assertEqual((values["lost"], values["whole"]), ("0", "True"), values)
        self.assertGreaterEqual(int(values.get("events", values.get("least-events"))), least_events)

    def test_process_information_is_the_remote_processs(self):
        info = self.ask("info", self.pid)
        self.assertEqual(info["ProcessId"], str(self.application.pid_inside))
        self.assertEqual(info["RuntimeInstanceCookie"], self.row["id"])
        self.assertEqual(info["ManagedEntrypointAssemblyName"], "orders")
        self.assertEqual(info["CommandLine"], self.row["command_line"])
        self.assertEqual(info["ClrProductVersionString"], self.row["version"])

    def test_a_socket_path_serves_as_well_as_the_pid(self):
        self.assertEqual(self.ask("info", "--socket", self.row["socket"]), self.ask("info", self.pid))

    def test_the_environment_is_the_remote_processs_to_the_last_byte(self):
        variables = self.ask("env", self.pid)
        self.assertEqual(variables["ORDERS_GREETING"], "grüß Gott, 世界")
        self.assertEqual(variables, proc.environment(self.application.process.pid))

    def test_counters_of_the_runtime_and_of_the_application_arrive(self):
        counters = self.ask("counters", self.pid, 3)
        self.assertGreater(float(counters["System.Runtime/working-set"]), 0)
        self.assertGreater(float(counters["Orders/orders"]), 0)
        self.assertGreater(float(counters["Orders/price"]), 0)

    def test_a_heap_walk_arrives_whole(self):
        walk = self.ask("heapwalk", self.pid)
        self.assertEqual(walk["complete"], "True")
        self.assertGreater(int(walk["nodes"]), 1000)
        self.assertGreater(int(walk["edges"]), 1000)

    def test_a_command_that_the_tool_replaces_by_an_older_one_worries_nobody(self):
        # As dotnet-gcdump begins; the agent has no role for it, and says that the command is unknown.
        answer = sockets.exchange(self.row["socket"], ipc.session(ipc.COLLECT_TRACING_6, mode=ipc.BLOCK))
        self.assertEqual(ipc.parse_error(answer), ipc.UNKNOWN_COMMAND)
        self.assertNotIn("BlockingSession", self.mirror.process.stderr())

    def test_a_session_loses_and_repeats_no_event(self):
        self.assert_whole(self.ask("session", self.pid, 2), 100)

    def test_many_sessions_at_once_each_get_every_event(self):
        many = self.ask("many", self.pid, MANY, 3)
        self.assertEqual(many["sessions"], str(MANY))
        self.assert_whole(many, 100)

    def test_two_runtimes_at_once_are_not_mixed_up(self):
        second = self.use(self.lab.orders("--rate", "100"))
        rows = self.mirror.wait_for(self.application, second)
        with concurrent.futures.ThreadPoolExecutor() as pool:
            sessions = [pool.submit(self.ask, "session", row["local_pid"], 3) for row in rows]
            infos = [pool.submit(self.ask, "info", row["local_pid"]) for row in rows]
        for session in sessions:
            self.assert_whole(session.result(), 100)
        self.assertEqual([info.result()["ProcessId"] for info in infos],
                         [str(self.application.pid_inside), str(second.pid_inside)])
        second.stop()
        self.mirror.wait_for(self.application)

    def test_a_command_is_answered_while_a_session_runs(self):
        session = self.tools.start_driver("hold", self.pid, "Orders")
        session.wait_for_output("open True")
        self.assertEqual(self.ask("info", self.pid, seconds=10)["ManagedEntrypointAssemblyName"], "orders")
        session.kill()


if __name__ == "__main__":
    main()
