"""Limits: one identity reaches each, and another one works on; and file descriptors that run out."""

import concurrent.futures
import itertools
import re
import signal
import subprocess

from harness import api, http2, ipc, needs, proc, sockets, wait
from harness.case import Case, main

BUSY = 0x800700AA
INVALID_ARGUMENT = 0x80070057
WATCH = "/v1/runtimes?watch=true"
MANY = 100


class LimitsCase(Case):
    """Each test has an agent of its own, with limits of its own."""

    @classmethod
    def prepare(cls):
        cls.application = cls.lab.orders()
        cls.greedy_pair = cls.lab.authority.client("greedy")
        cls.ports = itertools.count(9100)

    def start(self, *limits):
        """An agent with these limits."""
        flags = [flag for limit in limits for flag in ("--limit", limit)]
        self.agent = self.use(self.lab.agent(*flags, "--allow-cn", "greedy=admin", port=next(self.ports)))
        self.runtime = self.agent.wait_for(self.application)[0]["id"]
        self.api = api.Api(self.lab, port=self.agent.port)
        self.greedy_api = api.Api(self.lab, self.greedy_pair, port=self.agent.port)

    def greedy(self):
        """A session of the one who takes too much."""
        client = http2.Client(self.lab, self.greedy_pair, self.agent.port)
        self.addCleanup(client.close)
        return client

    def crowd(self, count):
        """So many connections that say nothing."""
        connections = [self.lab.near.connect(self.lab.far.address, self.agent.port) for _ in range(count)]
        for connection in connections:
            self.addCleanup(connection.close)
        return connections

    def metric(self, name):
        lines = self.api.request("/v1/metrics").body.decode().splitlines()
        return float(next(line for line in lines if line.startswith(name + " ")).rpartition(" ")[2])

    def refused(self, reason):
        return self.metric(f'farport_refused_total{{reason="{reason}"}}')

    def warnings(self):
        """The agent's warnings so far. A flood is one."""
        return [line for line in self.agent.log().splitlines() if re.match(r"\S+ \S+ warning ", line)]

    def open_trace(self, client):
        """A session of the runtime, over a client's session; returns its stream once events come."""
        stream = client.request("POST", f"/v1/runtimes/{self.runtime}/ipc", end=False)
        client.send(http2.frame(http2.DATA, 0, stream, ipc.session(ipc.COLLECT_TRACING_5)))
        self.assert_flows(client, stream)
        return stream

    def assert_flows(self, client, stream):
        last = client.frames_until(lambda f: f.kind == http2.DATA and f.stream == stream and f.payload)[-1]
        self.assertIsNotNone(last, "the session has ended")

    def assert_other_works(self):
        """That somebody else gets through."""
        self.assertTrue(ipc.is_ok(self.api.post(self.runtime, ipc.process_info()).body))
        self.assertTrue(ipc.is_ok(self.api.raw(ipc.process_info())))

    def assert_refused(self, answer, status, reason, hresult=BUSY):
        self.assertEqual(answer.status, status, answer)
        self.assertIn(f"limits.{reason}", answer.error)
        self.assertEqual(answer.hresult, hresult)
        self.assertGreater(self.refused(reason), 0)


class Limits(LimitsCase):
    def test_sessions_per_identity(self):
        self.start("sessions_per_identity=2")
        clients = [self.greedy(), self.greedy()]
        streams = [client.request("GET", WATCH) for client in clients]
        for client in clients:
            self.assertTrue(client.is_alive())
        self.assert_refused(self.greedy_api.request("/v1/runtimes"), 429, "sessions_per_identity")
        self.assertEqual(ipc.parse_error(self.greedy_api.raw(ipc.process_info())), BUSY)
        done = self.lab.near.run(needs.farport(), "ps", self.agent.remote, *self.greedy_pair.flags())
        self.assertEqual(done.code, 1)
        self.assertIn("limits.sessions_per_identity", done.stderr)
        self.assert_other_works()
        self.assertTrue(all(client.is_alive() for client in clients), streams)
        clients[0].close()
        wait.until(lambda: self.greedy_api.request("/v1/runtimes").status == 200, "there is room again")

    def test_sessions_of_all_together(self):
        self.start("sessions=3", "sessions_per_identity=2")
        trace = self.greedy()
        stream = self.open_trace(trace)
        other = http2.Client(self.lab, port=self.agent.port)
        self.addCleanup(other.close)
        third = self.greedy()
        self.assertTrue(third.is_alive() and other.is_alive())
        answer = self.api.request("/v1/runtimes")
        self.assertEqual((answer.status, answer.hresult), (503, BUSY))
        self.assertIn("limits.sessions", answer.error)
        # Those who are in go on.
        self.assert_flows(trace, stream)
        self.assertIn(b'"pid"', other.answer(other.request("GET", "/v1/runtimes")))
        third.close()
        wait.until(lambda: self.api.request("/v1/runtimes").status == 200, "there is room again")
        self.assertGreater(self.refused("sessions"), 0)

    def test_diagnostic_connections_of_a_session_as_tools_see_it(self):
        self.start("connections_per_session=2")
        mirror = self.use(self.lab.mirror(self.agent.remote, pair=self.greedy_pair))
        row = mirror.wait_for(self.application)[0]
        traces = [sockets.connect(row["socket"]) for _ in range(2)]
        for trace in traces:
            self.addCleanup(trace.close)
            trace.sendall(ipc.session(ipc.COLLECT_TRACING_5))
            self.assertTrue(ipc.is_ok(trace.recv(28)))
        self.assertEqual(ipc.parse_error(sockets.exchange(row["socket"], ipc.process_info())), BUSY)
        tool = self.tools.driver("env", row["local_pid"])
        self.assertNotEqual(tool.code, 0)
        self.assertIn("800700AA", tool.text.upper().replace("X", "x"))
        wait.until(lambda: "limits.connections_per_session" in self.agent.log(), "the agent's log says why")
        self.assert_other_works()
        for trace in traces:
            self.assertTrue(trace.recv(65536))
        traces[0].close()
        wait.until(lambda: ipc.is_ok(sockets.exchange(row["socket"], ipc.process_info())), "there is room again")
        self.assertGreater(self.refused("connections_per_session"), 0)

    def test_diagnostic_connections_of_an_identity_over_its_sessions(self):
        self.start("connections_per_identity=2")
        first, second = self.greedy(), self.greedy()
        streams = [(client, self.open_trace(client)) for client in (first, second)]
        self.assert_refused(self.greedy_api.post(self.runtime, ipc.process_info()), 429, "connections_per_identity")
        self.assert_refused(self.greedy_api.request(f"/v1/runtimes/{self.runtime}/dump", "-X", "POST"), 429,
                            "connections_per_identity")
        self.assertEqual(ipc.parse_error(self.greedy_api.raw(ipc.process_info())), BUSY)
        self.assert_other_works()
        for client, stream in streams:
            self.assert_flows(client, stream)

    def test_requests_per_second(self):
        self.start("requests_per_second=10")
        client = self.greedy()
        head = http2.request_head("GET", "/v1/agent")
        streams = [client.new_stream() for _ in range(MANY)]
        client.send(b"".join(http2.frame(http2.HEADERS, http2.END_HEADERS | http2.END_STREAM, stream, head)
                             for stream in streams))
        answers = client.answers(streams)
        refused = [answer for answer in answers if b"limits.requests_per_second" in answer]
        self.assertGreater(len(refused), MANY // 2)
        self.assertGreaterEqual(MANY - len(refused), 10)
        urls = [self.greedy_api.base + "/v1/agent"] * MANY
        headers, _ = self.lab.near.pipe(self.greedy_api.curl("--head", "-X", "GET", *urls), b"")
        self.assertIn(b"HTTP/2 429", headers)
        self.assertIn(b"retry-after: 1", headers)
        self.assert_other_works()
        self.assertEqual(len(self.warnings()), 1, self.warnings())
        wait.until(lambda: self.greedy_api.request("/v1/agent").status == 200, "a second later it is answered again")
        self.assertGreater(self.refused("requests_per_second"), MANY // 2)

    def test_handshakes_at_once(self):
        self.start("handshakes=4")
        self.crowd(MANY)
        self.assert_other_works()
        self.assertLessEqual(self.metric("farport_handshakes"), 4)
        self.assertGreaterEqual(self.refused("handshakes"), MANY - 4 - 1)
        self.assertEqual(len(self.warnings()), 1, self.warnings())
    def test_the_size_of_a_message(self):
        self.start("message_size=100")
        message = ipc.session(ipc.COLLECT_TRACING_5, provider="A-provider-with-a-name-that-takes-more-than-100-bytes")
        self.assert_refused(self.greedy_api.post(self.runtime, message), 413, "message_size", INVALID_ARGUMENT)
        self.assertEqual(ipc.parse_error(self.greedy_api.raw(message)), INVALID_ARGUMENT)
        self.assert_other_works()

    def test_a_session_that_nobody_uses(self):
        self.start("idle_timeout=1s")
        idle, watching, tracing = self.greedy(), self.greedy(), self.greedy()
        watching.request("GET", WATCH)
        stream = self.open_trace(tracing)
        self.assertTrue(idle.ends())
        self.assertTrue(watching.is_alive())
        self.assert_flows(tracing, stream)
        self.assertEqual(self.refused("idle_timeout"), 1)
        # In use, and then not any more.
        tracing.send(http2.frame(http2.RST_STREAM, 0, stream, b"\0\0\0\x08"))
        self.assertTrue(tracing.ends())

    def test_the_age_of_a_session(self):
        self.start("session_lifetime=1s")
        client = self.greedy()
        client.request("GET", WATCH)
        self.assertTrue(client.ends())
        raw = self.greedy_api.connect()
        self.addCleanup(raw.close)
        raw.sendall(ipc.session(ipc.COLLECT_TRACING_5))
        self.assertTrue(ipc.is_ok(raw.recv(28)))
        raw.settimeout(10)
        with self.assertRaises(OSError):
            while raw.recv(65536):
                pass
            raise ConnectionError
        self.assertGreaterEqual(self.refused("session_lifetime"), 2)
        # A mirror comes back.
        mirror = self.use(self.lab.mirror(self.agent.remote))
        row = mirror.wait_for(self.application)[0]
        wait.until(lambda: "dialling again" in mirror.process.stderr(), "the mirror's session has ended")
        wait.until(lambda: ipc.is_ok(sockets.exchange(row["socket"], ipc.process_info())), "the mirror is back")

    def test_what_the_agent_says_of_its_limits(self):
        self.start("sessions=7", "requests_per_second=800", "idle_timeout=off", "message_size=1KiB")
        limits = self.api.json("/v1/agent")["limits"]
        self.assertEqual(set(limits), {
            "sessions", "sessions_per_identity", "handshakes", "connections_per_session", "connections_per_identity",
            "requests_per_second", "head_size", "message_size", "buffered_bytes", "handshake_seconds",
            "first_message_seconds", "idle_seconds", "session_lifetime_seconds"})
        self.assertEqual((limits["sessions"], limits["requests_per_second"], limits["idle_seconds"],
                          limits["message_size"], limits["handshake_seconds"]), (7, 800, 0, 1024, 10))
        self.assertEqual(self.metric('farport_limit{limit="sessions"}'), 7)


class Descriptors(LimitsCase):
    def limit_descriptors(self, count):
        subprocess.run([needs.program("prlimit"), "--pid", str(self.agent.process.pid), f"--nofile={count}:"], check=True)

    def test_accepting_pauses_and_goes_on(self):
        self.start()
        trace = http2.Client(self.lab, port=self.agent.port)
        self.addCleanup(trace.close)
        stream = self.open_trace(trace)
        before = proc.open_files(self.agent.process.pid)
        self.limit_descriptors(100)
        crowd = self.crowd(2 * MANY)
        wait.until(lambda: "cannot accept connections" in self.agent.log(), "accepting pauses")
        # Who is there goes on, and can open more: some descriptors are left for that.
        self.assert_flows(trace, stream)
        second = self.open_trace(trace)
        self.assert_flows(trace, second)
        for connection in crowd:
            connection.close()
        wait.until(lambda: self.api.request("/v1/runtimes").status == 200, "accepting goes on")
        self.assert_other_works()
        self.assertEqual(self.agent.log().count("cannot accept connections"), 1, self.warnings())
        # Those who left without a handshake are a flood, too.
        self.assertLess(len(self.warnings()), MANY // 2)
        self.assertGreater(self.metric("farport_accept_pauses_total"), 0)
        self.assertEqual(self.metric("process_max_fds"), 100)
        self.assert_flows(trace, stream)
        trace.close()
        wait.until(lambda: proc.open_files(self.agent.process.pid) <= before, "all descriptors are given back")

    def test_nothing_dies_when_there_are_none_at_all(self):
        self.start()
        trace = http2.Client(self.lab, port=self.agent.port)
        self.addCleanup(trace.close)
        stream = self.open_trace(trace)
        path = f"/v1/runtimes/{self.runtime}"
        self.limit_descriptors(1)
        answer = trace.request("POST", path + "/ipc", end=False)
        trace.send(http2.frame(http2.DATA, http2.END_STREAM, answer, ipc.process_info()))
        self.assertIn(b"Too many open files", trace.answer(answer))
        self.assertIn(b"Too many open files", trace.answer(trace.request("POST", path + "/dump")))
        self.assertIn(b"process_open_fds", trace.answer(trace.request("GET", "/v1/metrics")))
        self.agent.process.send(signal.SIGHUP)
        crowd = self.crowd(4)
        # Longer than it takes to look for runtimes again.
        wait.until(lambda: "cannot search the directory" in self.agent.log(), "the agent could not look for runtimes")
        self.assert_flows(trace, stream)
        self.assertIn(b'"pid"', trace.answer(trace.request("GET", "/v1/runtimes")))
        self.limit_descriptors(1000)
        for connection in crowd:
            connection.close()
        wait.until(lambda: self.api.request("/v1/runtimes").status == 200, "accepting goes on")
        self.assert_other_works()
        self.assert_flows(trace, stream)

    def test_the_soft_limit_is_raised_at_the_start(self):
        self.start()
        with open(f"/proc/{self.agent.process.pid}/limits", encoding="ascii") as file:
            line = next(line for line in file if line.startswith("Max open files"))
        soft, hard = line.split()[3:5]
        self.assertEqual(soft, hard)

    def test_a_mirror_without_descriptors_goes_on_once_it_has_some(self):
        self.start()
        mirror = self.use(self.lab.mirror(self.agent.remote))
        row = mirror.wait_for(self.application)[0]
        trace = sockets.connect(row["socket"])
        self.addCleanup(trace.close)
        trace.sendall(ipc.session(ipc.COLLECT_TRACING_5))
        self.assertTrue(ipc.is_ok(trace.recv(28)))
        subprocess.run([needs.program("prlimit"), "--pid", str(mirror.process.pid), "--nofile=1:"], check=True)
        with concurrent.futures.ThreadPoolExecutor() as pool:
            waiting = pool.submit(sockets.exchange, row["socket"], ipc.process_info(), 30.0)
            second = self.lab.orders()
            wait.until(lambda: "is not mirrored" in mirror.process.stderr(), "there is no placeholder for another runtime")
            self.assertTrue(trace.recv(65536))
            subprocess.run([needs.program("prlimit"), "--pid", str(mirror.process.pid), "--nofile=1000:"], check=True)
            self.assertTrue(ipc.is_ok(waiting.result()))
        second.stop()


if __name__ == "__main__":
    main()
