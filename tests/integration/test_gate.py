"""Which commands pass the gate for which role, by what the runtime did."""

import os

from harness import ipc, sockets, wait
from harness.api import Api
from harness.case import Case, main

# Beside the built-in roles: one that may let a slow reader stop the application, and one that may not trace.
ROLES = """
[roles.blocker]
includes = ["observer"]
commands = ["BlockingSession"]
[roles.reader]
commands = ["ProcessInfo*", "ProcessEnvironment"]
[allow]
cn = ["observer", "operator=operator", "admin=admin", "blocker=blocker", "reader=reader"]
"""
EVERYBODY = ("observer", "operator", "admin", "blocker", "reader")
NOWHERE = "/nowhere/of-this-name.dll"
NO_SUCH_MODULE = 0x8007007E
VARIABLE = "FARPORT_TEST_SETTING"


class Gate(Case):
    @classmethod
    def prepare(cls):
        # Perf maps are made in /tmp otherwise, wherever TMPDIR is.
        cls.application = cls.lab.orders(environment={"DOTNET_PerfMapJitDumpPath": cls.lab.far.tmp})
        configuration = os.path.join(cls.lab.far.directory, "agent.toml")
        with open(configuration, "w", encoding="ascii") as file:
            file.write(ROLES)
        cls.agent = cls.share(cls.lab.agent(allow=("--config", configuration)))
        cls.apis = {role: Api(cls.lab, cls.lab.authority.client(role)) for role in EVERYBODY}
        cls.application_seen = wait.until(cls.apis["observer"].runtimes, "the agent lists the application")
        cls.id = cls.application_seen[cls.application.pid_inside]["id"]
        cls.perf_map = os.path.join(cls.application.directory, f"perf-{cls.application.pid_inside}.map")

    def ask(self, role, message):
        return self.apis[role].post(self.id, message)

    def ask_directly(self, message):
        """What the runtime itself answers on its host."""
        return sockets.exchange(self.application.socket, message)

    def environment(self):
        """The runtime's variables, as it says on its host."""
        return ipc.parse_environment(self.ask_directly(ipc.message(ipc.PROCESS, ipc.PROCESS_ENVIRONMENT)))

    def files(self):
        """What is in the application's directory."""
        return sorted(os.listdir(self.application.directory))

    def writes_perf_map(self):
        """Whether the application has its perf map open."""
        directory = f"/proc/{self.application.process.pid}/fd"
        return self.perf_map in [os.readlink(os.path.join(directory, name)) for name in os.listdir(directory)]

    def assert_denied(self, answer, command, status=403):
        self.assertEqual((answer.status, answer.content_type), (status, "application/json"), answer)
        self.assertEqual(answer.hresult, ipc.ACCESS_DENIED, answer)
        self.assertIn(f"{command} takes", answer.error)

    def refused(self, command, message, allowed):
        """Has everybody but those in `allowed` try a command, and checks that they are refused."""
        for role in EVERYBODY:
            if role in allowed:
                continue
            answer = self.ask(role, message)
            self.assert_denied(answer, command)
            self.assertIn(f"CN={role} has only {role} (allow-cn={role}", answer.error)
            self.assertEqual(ipc.parse_error(self.apis[role].raw(message)), ipc.ACCESS_DENIED)

    def test_process_information_is_for_everybody(self):
        for role in EVERYBODY:
            for command in (0x00, 0x04, 0x08):
                answer = self.ask(role, ipc.message(ipc.PROCESS, command))
                self.assertEqual(answer.status, 200)
                payload = ipc.parse(answer.body)[2][4 if command == 0x08 else 0:]
                self.assertEqual(int.from_bytes(payload[:8], "little"), self.application.pid_inside)

    def test_sessions_bring_events_to_those_who_may_trace(self):
        for role in ("observer", "operator", "admin", "blocker"):
            for command in range(ipc.COLLECT_TRACING, ipc.COLLECT_TRACING_5 + 1):
                answer = self.apis[role].record(ipc.session(command))
                self.assertTrue(ipc.is_ok(answer), (role, command, answer))
                self.assertIn(b"Nettrace", answer[:64])

    def test_a_role_without_sessions_gets_none(self):
        for command in range(ipc.COLLECT_TRACING, ipc.COLLECT_TRACING_6 + 1):
            version = command - ipc.COLLECT_TRACING + 1
            name = "CollectTracing" + (str(version) if version > 1 else "")
            answer = self.ask("reader", ipc.session(command))
            self.assert_denied(answer, name)
            self.assertEqual(ipc.parse_error(self.apis["reader"].raw(ipc.session(command))), ipc.ACCESS_DENIED)

    def test_modules_are_for_those_who_may_take_dumps(self):
        path = f"/v1/runtimes/{self.id}/modules"
        for role in ("observer", "reader"):
            answer = self.apis[role].request(path, "-X", "POST")
            self.assertEqual(answer.status, 403, answer)
            self.assertIn("GenerateCoreDump", answer.error)
        answer = self.apis["operator"].request(path, "-X", "POST")
        self.assertEqual((answer.status, answer.content_type), (200, "application/x-tar"))
        self.assertTrue(answer.body.startswith(b"libmscordaccore.so\0"), answer.body[:100])

    def test_a_session_goes_on_when_a_caller_is_refused_to_stop_it(self):
        with self.apis["admin"].connect() as connection:
            connection.sendall(ipc.session(ipc.COLLECT_TRACING + 1))
            session = ipc.parse_session(connection.recv(65536))
            self.refused("StopTracing", ipc.stop_session(session), ("observer", "operator", "admin", "blocker"))
            # The application raises events all the time: more of them come.
            for _ in range(3):
                self.assertTrue(connection.recv(65536))
            self.assertEqual(ipc.parse_session(self.ask("observer", ipc.stop_session(session)).body), session)
            sockets.read_to_end(connection)

    def test_a_suspended_runtime_is_resumed_by_observers_and_not_by_those_who_may_not(self):
        second = self.lab.orders(environment={"DOTNET_DefaultDiagnosticPortSuspend": "1"}, diagnostics=False)
        self.addCleanup(second.kill)
        listed = wait.until(lambda: self.apis["observer"].runtimes().get(second.pid_inside), self.agent.log)
        message = ipc.message(ipc.PROCESS, ipc.RESUME_RUNTIME)
        answer = self.apis["reader"].post(listed["id"], message)
        self.assert_denied(answer, "ResumeRuntime")
        wait.stays(lambda: second.process.stdout() == "", "the application waits", 0.5)
        self.assertTrue(ipc.is_ok(self.apis["observer"].post(listed["id"], message).body))
        second.process.wait_for_output("pricing")

    def test_the_environment_is_for_operators(self):
        message = ipc.message(ipc.PROCESS, ipc.PROCESS_ENVIRONMENT)
        allowed = ("operator", "admin", "reader")
        self.refused("ProcessEnvironment", message, allowed)
        for role in allowed:
            self.assertEqual(ipc.parse_environment(self.ask(role, message).body)["ORDERS_SHOP"], "north")

    def test_a_variable_is_set_by_admins_only(self):
        self.refused("SetEnvironmentVariable", ipc.set_variable(VARIABLE, "by somebody"), ("admin",))
        self.assertNotIn(VARIABLE, self.environment())
        self.assertTrue(ipc.is_ok(self.ask("admin", ipc.set_variable(VARIABLE, "by the admin")).body))
        self.assertEqual(self.environment()[VARIABLE], "by the admin")
        self.refused("SetEnvironmentVariable", ipc.set_variable(VARIABLE, None), ("admin",))
        self.assertEqual(self.environment()[VARIABLE], "by the admin")
        self.assertTrue(ipc.is_ok(self.ask("admin", ipc.set_variable(VARIABLE, None)).body))
        self.assertNotIn(VARIABLE, self.environment())

    def test_perf_maps_are_for_operators(self):
        enable, disable = ipc.enable_perf_map(), ipc.message(ipc.PROCESS, ipc.DISABLE_PERF_MAP)
        allowed = ("operator", "admin")
        self.refused("EnablePerfMap", enable, allowed)
        self.assertFalse(os.path.exists(self.perf_map))
        for role in allowed:
            self.assertTrue(ipc.is_ok(self.ask(role, enable).body))
            self.assertTrue(self.writes_perf_map(), self.files())
            self.refused("DisablePerfMap", disable, allowed)
            self.assertTrue(self.writes_perf_map())
            self.assertTrue(ipc.is_ok(self.ask(role, disable).body))
            self.assertFalse(self.writes_perf_map())

    def test_startup_hooks_are_for_admins(self):
        second = self.lab.orders()
        self.addCleanup(second.kill)
        runtime = wait.until(lambda: self.apis["admin"].runtimes().get(second.pid_inside), self.agent.log)
        for role in EVERYBODY:
            if role != "admin":
                answer = self.apis[role].post(runtime["id"], ipc.startup_hook(NOWHERE))
                self.assert_denied(answer, "ApplyStartupHook")
        self.assertTrue(ipc.is_ok(self.apis["observer"].post(runtime["id"], ipc.process_info()).body))
        # A hook that isn't there is the end of the application: it has tried to load it.
        self.apis["admin"].post(runtime["id"], ipc.startup_hook(NOWHERE))
        wait.until(lambda: not second.process.running(), second.process.output)
        self.assertIn(NOWHERE, second.process.stderr())

    def test_profilers_are_for_admins(self):
        self.refused("AttachProfiler", ipc.attach_profiler(NOWHERE), ("admin",))
        answer = self.ask("admin", ipc.attach_profiler(NOWHERE))
        self.assertEqual(answer.status, 200)
        self.assertEqual(answer.hresult, NO_SUCH_MODULE)
        self.refused("StartupProfiler", ipc.startup_profiler(NOWHERE), ("admin",))
        self.assertTrue(ipc.is_ok(self.ask("admin", ipc.startup_profiler(NOWHERE)).body))

    def test_no_dump_is_written_to_a_path_of_the_callers(self):
        path = os.path.join(self.application.directory, "by-the-caller.dmp")
        before = self.files()
        for version, name in ((1, "GenerateCoreDump"), (2, "GenerateCoreDump2"), (3, "GenerateCoreDump3")):
            message = ipc.core_dump(version, path)
            self.refused(name, message, ("operator", "admin"))
            for role in ("operator", "admin"):
                answer = self.ask(role, message)
                self.assertEqual((answer.status, answer.hresult), (501, ipc.NOT_SUPPORTED), answer)
                self.assertIn("/dump", answer.error)
                self.assertEqual(ipc.parse_error(self.apis[role].raw(message)), ipc.NOT_SUPPORTED)
        self.assertEqual(self.files(), before)

    def test_dumps_that_the_agent_takes_are_for_operators(self):
        before = self.files()
        for role in ("observer", "blocker", "reader"):
            answer = self.apis[role].request(f"/v1/runtimes/{self.id}/dump?type=mini", "--request", "POST")
            self.assert_denied(answer, "GenerateCoreDump3")
            self.assertIn("the role operator or admin", answer.error)
            # Nor is it told that somebody takes one, and how large it is.
            self.assert_denied(self.apis[role].request(f"/v1/runtimes/{self.id}/dump"), "GenerateCoreDump3")
        self.assertEqual(self.apis["operator"].request(f"/v1/runtimes/{self.id}/dump").status, 404)
        self.assertEqual(self.files(), before)
        answer = self.apis["operator"].request(f"/v1/runtimes/{self.id}/dump?type=mini", "--request", "POST")
        self.assertEqual(answer.status, 200, answer.body[:1000])
        self.assertEqual(answer.body[:4], b"\x7fELF")

    def test_an_unknown_command_reaches_the_runtime_for_admins_only(self):
        for message in (ipc.message(ipc.PROCESS, 0x7E), ipc.message(0x2A, 0x00), ipc.message(ipc.SERVER, ipc.OK)):
            self.refused("UnknownCommand", message, ("admin",))
            answer = self.ask("admin", message)
            self.assertEqual((answer.status, answer.hresult), (200, ipc.UNKNOWN_COMMAND), answer)

    def test_a_session_that_needs_a_file_descriptor_is_for_nobody(self):
        for command in (ipc.COLLECT_TRACING_5, ipc.COLLECT_TRACING_6):
            message = ipc.user_events_session(command)
            for role in EVERYBODY:
                answer = self.ask(role, message)
                self.assertEqual((answer.status, answer.hresult), (501, ipc.NOT_SUPPORTED), answer)
                self.assertEqual(ipc.parse_error(self.apis[role].raw(message)), ipc.NOT_SUPPORTED)
                self.assertEqual(self.ask(role, ipc.process_info()).status, 200)

    def test_a_blocking_session_is_an_unknown_command_but_for_a_role_that_names_it(self):
        message = ipc.session(ipc.COLLECT_TRACING_6, mode=ipc.BLOCK)
        for role in ("observer", "operator", "admin"):
            answer = self.ask(role, message)
            self.assertEqual((answer.status, answer.hresult), (403, ipc.UNKNOWN_COMMAND), answer)
            self.assertIn("BlockingSession takes the role blocker", answer.error)
            self.assertEqual(ipc.parse_error(self.apis[role].raw(message)), ipc.UNKNOWN_COMMAND)
        # The runtime's own answer, the same for whom the gate lets pass and on its host.
        answer = self.apis["blocker"].record(message)
        directly = self.ask_directly(message)
        self.assertEqual(ipc.parse(answer)[:2], ipc.parse(directly)[:2])
        self.assertEqual(self.ask("blocker", message).status, 200)

    def test_a_payload_that_cannot_be_read_reaches_no_runtime(self):
        # Some of them would be the end of the application.
        whole = ipc.session(ipc.COLLECT_TRACING_6)[ipc.HEADER_BYTES:]
        payloads = [(ipc.EVENT_PIPE, ipc.COLLECT_TRACING_6, whole[:-4])]
        payloads += [(ipc.EVENT_PIPE, ipc.COLLECT_TRACING_6, whole[:-4] + b"\2\0\0\0")]
        payloads += [(ipc.EVENT_PIPE, command, b"") for command in range(ipc.STOP_TRACING, ipc.COLLECT_TRACING_6 + 1)]
        payloads += [(ipc.EVENT_PIPE, ipc.COLLECT_TRACING_5, b"\2\0\0\0" + whole[4:])]
        payloads += [(ipc.PROFILER, command, b"") for command in (0x01, 0x02)]
        payloads += [(ipc.PROCESS, command, b"") for command in (
            ipc.SET_ENVIRONMENT_VARIABLE, ipc.ENABLE_PERF_MAP, ipc.APPLY_STARTUP_HOOK)]
        payloads += [(ipc.PROCESS, ipc.SET_ENVIRONMENT_VARIABLE, b"\0")]
        for command_set, command, payload in payloads:
            message = ipc.message(command_set, command, payload)
            answer = self.ask("admin", message)
            self.assertEqual((answer.status, answer.hresult), (400, ipc.BAD_ENCODING), (command_set, command, answer))
            self.assertEqual(ipc.parse_error(self.apis["admin"].raw(message)), ipc.BAD_ENCODING)
        self.assertEqual(self.ask("observer", ipc.process_info()).status, 200)


class Library(Case):
    """The same through a mirror, with Microsoft's client library."""

    @classmethod
    def prepare(cls):
        cls.application = cls.lab.orders(environment={"DOTNET_PerfMapJitDumpPath": cls.lab.far.tmp})
        cls.agent = cls.share(cls.lab.agent(allow=("--allow-cn", "tools", "--allow-cn", "boss=admin")))
        cls.agent.wait_for(cls.application)

    def mirrored(self, pair):
        """The application's pid here, for the holder of a certificate."""
        mirror = self.use(self.lab.mirror(self.agent.remote, pair=pair))
        return mirror.wait_for(self.application)[0]["local_pid"]

    def test_an_observer_traces_and_does_nothing_else(self):
        pid = self.mirrored(self.lab.tools_pair)
        self.assert_ok(self.tools.driver("info", pid))
        session = self.assert_ok(self.tools.driver("session", pid, 1)).values()
        self.assertEqual((session["lost"], session["whole"]), ("0", "True"))
        self.assertEqual(self.assert_ok(self.tools.driver("heapwalk", pid)).values()["complete"], "True")
        for command in (("env", pid), ("set", pid, VARIABLE, "1"), ("perfmap", pid), ("hook", pid, NOWHERE),
                        ("profiler", pid, str(ipc.PROFILER_ID), NOWHERE)):
            finished = self.tools.driver(*command)
            self.assertEqual(finished.code, 1, finished.described)
            self.assertIn("80070005", finished.text.lower())
        answer = sockets.exchange(self.application.socket, ipc.message(ipc.PROCESS, ipc.PROCESS_ENVIRONMENT))
        self.assertNotIn(VARIABLE, ipc.parse_environment(answer))

    def test_an_admin_does_all_of_it(self):
        pid = self.mirrored(self.lab.authority.client("boss"))
        self.assert_ok(self.tools.driver("set", pid, VARIABLE, "1"))
        self.assertEqual(self.assert_ok(self.tools.driver("env", pid)).values()[VARIABLE], "1")
        sockets.exchange(self.application.socket, ipc.set_variable(VARIABLE, None))
        self.assert_ok(self.tools.driver("perfmap", pid))
        finished = self.tools.driver("profiler", pid, str(ipc.PROFILER_ID), NOWHERE)
        self.assertEqual(finished.code, 1, finished.described)
        self.assertNotIn("80070005", finished.text.lower())


if __name__ == "__main__":
    main()
