"""The audit log: who did what, and nothing that is secret."""

import json
import os
import re
import signal
import ssl
import stat
import subprocess

from harness import ipc, needs, wait
from harness.agent import PORT
from harness.api import Api
from harness.case import Case, main
from harness.certificates import Authority

COMMAND_FIELDS = ["time", "audit", "identity", "serial", "address", "runtime", "pid", "id", "command"]
ALLOWED_FIELDS = ["decision", "rule", "role", "outcome", "to_runtime", "to_tool", "seconds"]
SECRET = "hunter2-swordfish"


class AuditCase(Case):
    """An agent that audits to the file `path`. A test looks at the lines from the number `before` on."""

    path = None
    before = 0

    @classmethod
    def prepare(cls):
        cls.application = cls.lab.orders()
        cls.api = Api(cls.lab)

    @classmethod
    def start(cls, path=None, **options):
        cls.path = path or os.path.join(cls.lab.new_directory(cls.lab.far, "audit"), "audit.jsonl")
        agent = cls.lab.agent("--audit", cls.path, **options)
        cls.runtime = wait.until(lambda: cls.api.runtimes().get(cls.application.pid_inside), agent.log)
        return agent

    @staticmethod
    def lines_of(path):
        with open(path, encoding="utf-8") as file:
            return [json.loads(line) for line in file]

    def lines(self, **wanted):
        """The lines since the test began that have these values."""
        return [line for line in self.lines_of(self.path)[self.before:]
                if all(line.get(name) == value for name, value in wanted.items())]

    def line(self, **wanted):
        """The only such line, once it is there."""
        found = wait.until(lambda: self.lines(**wanted), lambda: f"{wanted} in {self.lines()}")
        self.assertEqual(len(found), 1, found)
        return found[0]

    def ask(self, message, api=None):
        return (api or self.api).post(self.runtime["id"], message)


class Audit(AuditCase):
    @classmethod
    def prepare(cls):
        super().prepare()
        cls.agent = cls.share(cls.start(allow=("--allow-cn", "tools=admin", "--allow-cn", "observer")))
        cls.observer = Api(cls.lab, cls.lab.authority.client("observer"))

    def setUp(self):
        self.before = len(self.lines_of(self.path))

    def serial_of(self, pair):
        done = subprocess.run([needs.program("openssl"), "x509", "-noout", "-serial", "-in", pair.cert], check=True,
                              capture_output=True, text=True)
        return done.stdout.strip().partition("=")[2].lower()

    def test_the_file_is_for_its_owner_only(self):
        self.assertEqual(stat.S_IMODE(os.stat(self.path).st_mode), 0o600)

    def test_a_command_has_a_line_with_all_there_is_to_know(self):
        message = ipc.process_info()
        answer = self.ask(message)
        line = self.line(audit="command")
        self.assertEqual(list(line), COMMAND_FIELDS + ALLOWED_FIELDS)
        self.assertRegex(line["time"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")
        self.assertEqual((line["identity"], line["serial"]), ("CN=tools", self.serial_of(self.lab.tools_pair)))
        self.assertRegex(line["address"], rf"^{re.escape(self.lab.near.address)}:\d+$")
        self.assertEqual((line["runtime"], line["pid"], line["id"]),
                         ("orders", self.application.pid_inside, self.runtime["id"]))
        self.assertEqual((line["command"], line["decision"], line["rule"], line["role"], line["outcome"]),
                         ("ProcessInfo", "allowed", "allow-cn=tools=admin", "admin", "completed"))
        self.assertEqual((line["to_runtime"], line["to_tool"]), (len(message), len(answer.body)))
        self.assertTrue(0 <= line["seconds"] < 10, line)

    def test_raw_mode_has_the_same_line(self):
        answer = self.api.raw(ipc.process_info())
        line = self.line(command="ProcessInfo")
        self.assertEqual(list(line), COMMAND_FIELDS + ALLOWED_FIELDS)
        self.assertEqual((line["identity"], line["to_tool"]), ("CN=tools", len(answer)))

    def test_a_refused_command_has_a_line_that_says_why(self):
        answer = self.ask(ipc.set_variable("FARPORT_TEST_REFUSED", SECRET), self.observer)
        line = self.line(audit="command")
        self.assertEqual(list(line), COMMAND_FIELDS + ["arguments", "decision", "outcome"])
        self.assertEqual((line["identity"], line["command"], line["decision"], line["outcome"]),
                         ("CN=observer", "SetEnvironmentVariable", "refused", answer.error))
        self.assertEqual(line["arguments"], {"variable": "FARPORT_TEST_REFUSED", "removed": False})

    def test_everything_else_that_is_refused_has_a_line(self):
        for message, command in ((ipc.core_dump(3, "/tmp/x.dmp"), "GenerateCoreDump3"),
                                 (ipc.user_events_session(), "CollectTracing5"), (ipc.process_info()[:7], None),
                                 (b"priced at nothing at all", None)):
            answer = self.ask(message)
            line = self.line(audit="command", command=command, outcome=answer.error)
            self.assertEqual((line["decision"], line["pid"]), ("refused", self.application.pid_inside))
        answer = self.api.post("no-such-runtime", ipc.process_info())
        self.assertEqual(self.line(outcome=answer.error)["decision"], "refused")

    def test_an_unknown_command_has_its_numbers(self):
        self.ask(ipc.message(ipc.PROCESS, 0x7E))
        self.assertIn("0x04/0x7e", self.line(audit="command")["command"].lower())

    def test_the_name_of_a_variable_is_there_and_its_value_never(self):
        for value in (SECRET, None):
            self.assertTrue(ipc.is_ok(self.ask(ipc.set_variable("FARPORT_TEST_PASSWORD", value)).body))
        # What can't be read is not repeated either.
        torn = ipc.set_variable("FARPORT_TEST_PASSWORD", SECRET)
        self.ask(ipc.message(ipc.PROCESS, ipc.SET_ENVIRONMENT_VARIABLE, torn[ipc.HEADER_BYTES:-6]))
        self.ask(ipc.message(ipc.PROCESS, ipc.PROCESS_ENVIRONMENT))
        wait.until(lambda: len(self.lines(audit="command")) == 4, "four lines")
        arguments = [line.get("arguments") for line in self.lines()]
        self.assertEqual(arguments[:2], [{"variable": "FARPORT_TEST_PASSWORD", "removed": False},
                                         {"variable": "FARPORT_TEST_PASSWORD", "removed": True}])
        self.assertEqual(list(arguments[2]), ["unreadable"])
        self.assertIsNone(arguments[3])
        with open(self.path, encoding="utf-8") as file:
            text = file.read() + self.agent.log()
        for hidden in (SECRET, "north", "ORDERS_SHOP"):
            self.assertNotIn(hidden, text)

    def test_a_recording_by_dotnet_trace_is_told_with_its_providers(self):
        mirror = self.use(self.lab.mirror(self.agent.remote))
        pid = mirror.wait_for(self.application)[0]["local_pid"]
        file = os.path.join(self.lab.new_directory(self.lab.near, "trace"), "orders.nettrace")
        self.assert_ok(self.tools.trace("collect", "-p", str(pid), "--providers", f"Orders:0x2a:5:Key={SECRET}",
                                        "--duration", "00:00:02", "--output", file))
        session = wait.until(lambda: [line for line in self.lines() if line.get("command", "").startswith("Collect")],
                             lambda: f"a session in {self.lines()}")[0]
        self.assertEqual(session["arguments"]["providers"], ["Orders:0x2a:5"])
        self.assertIs(session["arguments"]["rundown"], True)
        self.assertEqual((session["outcome"], session["role"]), ("completed", "admin"))
        self.assertGreaterEqual(session["to_tool"], os.path.getsize(file))
        self.assertLess(session["to_tool"], os.path.getsize(file) + 100)
        self.assertTrue(1.5 < session["seconds"] < 60, session)
        self.assertRegex(self.line(command="StopTracing")["arguments"]["session"], "^0x[0-9a-f]+$")
        with open(self.path, encoding="utf-8") as audit:
            self.assertNotIn(SECRET, audit.read())

    def test_a_dump_has_a_line(self):
        answer = self.api.request(f"/v1/runtimes/{self.runtime['id']}/dump?type=mini", "--request", "POST")
        self.assertEqual(answer.status, 200, answer)
        line = self.line(audit="dump")
        self.assertEqual((line["command"], line["decision"], line["role"], line["outcome"], line["arguments"]["type"]),
                         ("GenerateCoreDump3", "allowed", "admin", "completed", "mini"))
        self.assertGreaterEqual(line["to_tool"], len(answer.body))
        refused = self.observer.request(f"/v1/runtimes/{self.runtime['id']}/dump", "--request", "POST")
        self.assertEqual(self.line(audit="dump", decision="refused")["outcome"], refused.error)

    def test_a_tool_that_goes_leaves_a_line(self):
        with self.api.connect() as connection:
            connection.sendall(ipc.session(ipc.COLLECT_TRACING + 1))
            self.assertTrue(ipc.is_ok(connection.recv(65536)))
        line = self.line(command="CollectTracing2")
        self.assertEqual(line["decision"], "allowed")
        self.assertGreater(line["to_tool"], 0)

    def test_a_runtime_that_cannot_be_reached_is_told(self):
        second = self.lab.orders()
        self.addCleanup(second.kill)
        runtime = wait.until(lambda: self.api.runtimes().get(second.pid_inside), "the agent lists it")
        os.unlink(second.socket)
        answer = self.api.post(runtime["id"], ipc.process_info())
        self.assertEqual(self.line(audit="command")["outcome"], answer.error)

    def test_a_session_without_a_grant_has_a_line(self):
        stranger = Api(self.lab, self.lab.authority.client("stranger"))
        why = stranger.turned_away()
        line = self.line(audit="session")
        self.assertEqual(list(line), ["time", "audit", "identity", "serial", "address", "decision", "outcome"])
        self.assertEqual((line["identity"], line["decision"], line["outcome"]),
                         ("CN=stranger", "refused", why))

    def refused_handshake(self, pair):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.load_verify_locations(self.lab.tools_pair.ca)
        context.check_hostname = False
        if pair:
            context.load_cert_chain(pair.cert, pair.key)
        with self.assertRaises((ssl.SSLError, ConnectionError)):
            with context.wrap_socket(self.lab.near.connect(self.lab.far.address, PORT)) as connection:
                connection.recv(1)
        line = self.line(audit="handshake")
        self.assertEqual(list(line), ["time", "audit", "address", "decision", "outcome"])
        self.assertTrue(line["address"].startswith(self.lab.near.address + ":"))
        self.assertEqual(line["decision"], "refused")
        return line["outcome"]

    def test_a_handshake_without_a_certificate_has_a_line(self):
        self.assertIn("no certificate", self.refused_handshake(None))

    def test_a_handshake_with_a_certificate_of_another_ca_has_a_line(self):
        others = Authority(f"{self.lab.directory}/other-ca")
        self.assertIn("CA", self.refused_handshake(others.client("tools")))


class Files(AuditCase):
    """Where the audit goes, and what happens when it can't."""

    def burst(self, count):
        """Many commands in one session."""
        url = f"{self.api.base}/v1/runtimes/{self.runtime['id']}/ipc"
        urls = [argument for _ in range(count) for argument in (url, "--output", "/dev/null")]
        output, code = self.lab.near.pipe(
            self.api.curl("--parallel", "--write-out", "%{http_code}\n", "--data-binary", "@-", *urls),
            ipc.process_info())
        self.assertEqual((code, output.split()), (0, [b"200"] * count))

    def test_a_renamed_file_is_followed_by_a_new_one_and_no_line_is_lost(self):
        agent = self.use(self.start())
        names = [f"{self.path}.{number}" for number in range(3)]
        for name in names:
            self.burst(40)
            os.rename(self.path, name)
            # Until it is told, it goes on with the old one.
            self.burst(10)
            agent.process.send(signal.SIGHUP)
            wait.until(lambda: os.path.exists(self.path), agent.log)
        self.burst(5)
        wait.until(lambda: len(self.lines_of(self.path)) == 5, "the last lines")
        self.assertEqual([len(self.lines_of(name)) for name in names], [50, 50, 50])

    def test_a_directory_that_is_gone_leaves_the_old_file_in_use(self):
        directory = self.lab.new_directory(self.lab.far, "audit")
        agent = self.use(self.start(path=os.path.join(directory, "audit.jsonl")))
        os.rename(directory, directory + ".old")
        agent.process.send(signal.SIGHUP)
        wait.until(lambda: "the old file stays in use" in agent.log(), agent.log)
        self.burst(3)
        wait.until(lambda: len(self.lines_of(directory + ".old/audit.jsonl")) == 3, "the lines in the old file")

    def test_an_agent_that_is_told_twice_to_stop_tells_of_what_it_cuts_off(self):
        agent = self.use(self.start())
        with self.api.connect() as connection:
            connection.sendall(ipc.session(ipc.COLLECT_TRACING + 1))
            received = 0
            while received < 4096:
                received += len(connection.recv(65536))
            agent.process.send(signal.SIGTERM)
            wait.until(lambda: "terminated" in agent.log(), "it has been told once")
            agent.stop()
        line = self.lines(command="CollectTracing2")[0]
        self.assertEqual((line["decision"], line["outcome"]), ("allowed", "the agent was stopped"))
        self.assertGreaterEqual(line["to_tool"], received)
        self.assertGreater(line["seconds"], 0)

    def test_a_place_that_cannot_be_written_is_said_at_the_start(self):
        for path, why in ((os.path.join(self.lab.far.directory, "nowhere", "audit.jsonl"), "No such file"),
                          ("/proc/audit.jsonl", ""), (self.lab.far.directory, "Is a directory")):
            finished = self.lab.far.run(needs.farport(), "serve", *self.lab.agent_pair.flags(), "--allow-all",
                                        "--listen", "127.0.0.1:9010", "--audit", path)
            self.assertEqual(finished.code, 1, finished.described)
            for word in (path, why, "--audit"):
                self.assertIn(word, finished.stderr)
        finished = self.lab.far.run(needs.farport(), "serve", *self.lab.agent_pair.flags(), "--allow-all", "--listen",
                                    "127.0.0.1:9010", "--audit", "nowhere")
        self.assertEqual(finished.code, 2, finished.described)

    def test_a_full_disk_is_logged_once_and_serving_goes_on(self):
        agent = self.use(self.start(path="/dev/full"))
        for _ in range(3):
            self.burst(10)
        self.assertEqual(agent.log().count("the audit can't be written to /dev/full"), 1)

    def test_lines_are_whole_again_when_there_is_room_again(self):
        directory = self.lab.new_directory(self.lab.far, "small")
        mount = [needs.program("mount"), "-t", "tmpfs", "-o", "size=64k", "tmpfs", directory]
        self.assert_ok(self.lab.far.run(*mount))
        agent = self.use(self.start(path=os.path.join(directory, "audit.jsonl")))
        # Mounted in the host's own namespace.
        directory = f"/proc/{agent.process.pid}/root{directory}"
        filler, audit = os.path.join(directory, "filler"), os.path.join(directory, "audit.jsonl")
        with open(filler, "wb", buffering=0) as file:
            file.write(bytes(56 * 1024))
        self.burst(60)
        wait.until(lambda: "No space left" in agent.log(), agent.log)
        os.unlink(filler)
        self.burst(10)
        wait.until(lambda: "is written to" in agent.log(), agent.log)
        self.assertEqual(agent.log().count("can't be written"), 1)

        def read(line):
            try:
                return json.loads(line)
            except ValueError:
                return None

        def read_all():
            with open(audit, encoding="utf-8") as file:
                return [read(line) for line in file]
        # What is written again is told with the first line, not with the last one.
        wait.until(lambda: None not in read_all()[-10:], agent.log)
        lines = read_all()
        self.assertLessEqual(lines.count(None), 1)
        self.assertGreaterEqual(len(lines), 20)

    def test_without_a_place_it_goes_to_standard_error(self):
        agent = self.use(self.lab.agent())
        self.runtime = agent.wait_for(self.application)[0]
        self.ask(ipc.process_info())

        def audited():
            lines = [line for line in agent.log().splitlines() if line.startswith("{")]
            return [json.loads(line)["command"] for line in lines] == ["ProcessInfo"]

        wait.until(audited, agent.log)

    def test_off_is_off(self):
        agent = self.use(self.lab.agent("--audit", "off"))
        self.runtime = agent.wait_for(self.application)[0]
        self.ask(ipc.process_info())
        agent.stop()
        self.assertEqual([line for line in agent.log().splitlines() if line.startswith("{")], [])


class Flood(AuditCase):
    """Whoever may do little and is refused a lot."""

    def test_refusals_fill_no_disk_and_hide_nobody(self):
        agent = self.start(allow=("--allow-cn", "tools=admin", "--allow-cn", "observer"))
        observer = Api(self.lab, self.lab.authority.client("observer"))
        long_name = "Ü" * 30_000  # Six bytes each, in JSON.
        for _ in range(120):
            self.ask(ipc.set_variable(long_name, SECRET), observer)
        self.ask(ipc.process_info())
        self.line(identity="CN=tools", command="ProcessInfo")
        agent.stop()
        with open(self.path, encoding="utf-8") as file:
            self.assertLessEqual(max(map(len, file)), 8192)
        refused = self.lines(identity="CN=observer", command="SetEnvironmentVariable")
        self.assertEqual(len(refused), 100)
        self.assertTrue(refused[0]["arguments"]["cut"].startswith('{"removed":false,"variable":"\\u00dc\\u00dc'), refused[0])
        self.assertRegex(self.line(audit="refusals", identity="CN=observer")["outcome"], "^20 more were refused within a minute")


if __name__ == "__main__":
    main()
