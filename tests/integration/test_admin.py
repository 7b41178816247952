"""`farport serve --admin`: health and metrics on an address of their own, for probes and Prometheus."""

import os
import pathlib
import signal

from harness import admin, needs, proc, wait
from harness.admin import Connection, ask, request
from harness.api import Api
from harness.audit import Audit
from harness.breaking import QUICK_PINGS
from harness.case import Case, main
from harness.exchange import Exchange
from harness.prometheus import parse
from harness.scripted import ScriptedRuntime
from harness.secret import Secret

# Of connections at a time.
MOST = 64


class Asking(Case):
    def ask(self, path, method="GET", **where):
        return ask(self.lab.far, path, method, **where)

    def connect(self, **where):
        connection = Connection(self.lab.far, **where)
        self.addCleanup(connection.socket.close)
        return connection

    def assert_ready(self):
        self.assertEqual(self.ask("/readyz")[::2], (200, "ok\n"))

    def wait_until_unready(self, *reasons):
        """Waits for a 503 with these words."""
        def unready():
            answer = self.ask("/readyz")
            return answer.status == 503 and all(reason in answer.text for reason in reasons)

        wait.until(unready, lambda: f"it is not ready: {self.ask('/readyz')}")
        self.assertEqual(self.ask("/healthz").status, 200)
        self.assertEqual(self.families()["farport_ready"][1][""], 0)

    def families(self):
        return parse(self.ask("/metrics").text)


class Admin(Asking):
    @classmethod
    def prepare(cls):
        cls.audit = Audit(os.path.join(cls.lab.new_directory(cls.lab.far, "audit"), "audit.jsonl"))
        cls.agent = cls.share(cls.lab.agent("--admin", admin.PORT, "--log-level", "warn", "--audit", cls.audit.path))

    def setUp(self):
        super().setUp()
        self.said = self.agent.log()

    def tearDown(self):
        # Whatever comes there is no matter for a warning, nor for the audit.
        self.assertEqual(self.agent.log(), self.said)
        self.assertEqual(self.audit.entries(), [])
        super().tearDown()

    def counted(self, name, labels):
        return self.families()[name][1][labels]

    def test_an_agent_that_listens_is_healthy_and_ready(self):
        for path in ("/healthz", "/readyz", "/readyz?verbose"):
            answer = self.ask(path)
            self.assertEqual((answer.status, answer.text), (200, "ok\n"), path)
            self.assertEqual(answer.fields["content-type"], "text/plain; charset=utf-8")
        self.assertEqual(self.families()["farport_ready"][1][""], 1)

    def test_the_metrics_are_those_behind_certificates(self):
        answer = self.ask("/metrics")
        self.assertEqual((answer.status, answer.fields["content-type"]), (200, "text/plain; version=0.0.4; charset=utf-8"))
        other = parse(Api(self.lab).request("/v1/metrics").body.decode())
        self.assertEqual({name: kind for name, (kind, _) in parse(answer.text).items()},
                         {name: kind for name, (kind, _) in other.items()})

    def test_it_is_for_this_host_alone(self):
        with self.assertRaises(ConnectionRefusedError):
            self.lab.near.connect(self.lab.far.address, admin.PORT)

    def test_there_is_nothing_else(self):
        for path in ("/", "/v1/runtimes", "/v1/metrics/runtimes", "/v1/agent", "/metrics/", "*"):
            self.assertEqual(self.ask(path).status, 404, path)
        for method in ("POST", "PUT", "DELETE", "OPTIONS"):
            answer = self.ask("/metrics", method)
            self.assertEqual((answer.status, answer.fields["allow"]), (405, "GET, HEAD"), method)

    def test_head_is_told_the_length_alone(self):
        with self.connect() as connection:
            connection.send(request("/readyz", "HEAD") + request("/healthz"))
            self.assertEqual(connection.answer(body=False).fields["content-length"], "3")
            self.assertEqual(connection.answer().text, "ok\n")

    def test_a_connection_is_kept_for_what_follows(self):
        with self.connect() as connection:
            for _ in range(20):
                connection.send(request("/healthz"))
                self.assertEqual(connection.answer().status, 200)
            for byte in request("/metrics"):
                connection.send(bytes([byte]))
            self.assertIn("farport_build_info", connection.answer().text)
            connection.send(request("/healthz", "GET", "Connection: close"))
            self.assertEqual(connection.answer().fields["connection"], "close")
            self.assertTrue(connection.ended())

    def test_requests_that_are_none_are_told_so(self):
        for said, status in ((b"nonsense\r\n\r\n", 400), (b"\x16\x03\x01\x02\x00", 400), (b"GET / HTTP/1.1\r\n\r\n", 400),
                             (b"GET / HTTP/3.0\r\nHost: a\r\n\r\n", 505), (b"GET /" + b"a" * 9000, 431),
                             (b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 2000, 431)):
            with self.connect() as connection:
                connection.send(said)
                self.assertEqual(connection.answer().status, status, said[:40])
                self.assertTrue(connection.ended())

    def test_a_body_is_not_waited_for(self):
        with self.connect() as connection:
            connection.send(request("/readyz", "POST", "Content-Length: 100000"))
            self.assertEqual(connection.answer().status, 405)
            self.assertTrue(connection.ended())

    def test_connecting_and_closing_is_no_matter_anywhere(self):
        probes = 'reason="probe"'
        before = self.counted("farport_handshakes_failed_total", probes)
        for _ in range(20):
            for end in ("close", "reset"):
                for where in ({}, {"address": self.lab.far.address, "port": self.agent.port}):
                    connection = self.connect(**where)
                    connection.reset() if end == "reset" else connection.socket.close()
        # A flood of them would still be seen.
        wait.until(lambda: self.counted("farport_handshakes_failed_total", probes) == before + 40, self.agent.log)

    def sockets(self):
        return proc.open_sockets(self.agent.process.pid)

    def test_peers_that_stay_make_room_for_others(self):
        before = self.sockets()
        for said in (b"", b"GET /metrics HTTP/1.1\r\nHost:", request("/metrics")):
            staying = [self.connect() for _ in range(3 * MOST)]
            for connection in staying:
                try:
                    connection.send(said)
                except (BrokenPipeError, ConnectionResetError):
                    pass
            self.assert_ready()
            self.assertLessEqual(self.sockets(), before + MOST)
            for connection in staying:
                connection.socket.close()
            wait.until(lambda: self.sockets() <= before, lambda: f"{self.sockets()} sockets are open, not {before}")

    def test_a_peer_that_asks_and_asks_and_reads_nothing_holds_up_nobody(self):
        with self.connect() as greedy:
            greedy.socket.setblocking(False)
            # Until the agent takes no more, or has had enough of it.
            with self.assertRaises(OSError):
                for _ in range(10_000):
                    greedy.send(request("/metrics") * 100)
            self.assert_ready()
            self.assertEqual(self.agent.runtimes(), [])


class Addresses(Asking):
    def test_ipv6(self):
        self.use(self.lab.agent("--admin", f"[::1]:{admin.PORT}"))
        self.assertEqual(self.ask("/readyz", address="::1").status, 200)
        with self.assertRaises(ConnectionRefusedError):
            self.connect()

    def test_a_name_stands_for_all_its_addresses(self):
        self.use(self.lab.agent("--admin", f"localhost:{admin.PORT}"))
        for address in ("::1", "127.0.0.1"):
            self.assertEqual(self.ask("/readyz", address=address).status, 200)

    def test_another_hosts_prometheus_is_let_in_where_that_is_said(self):
        agent = self.use(self.lab.agent("--admin", f"0.0.0.0:{admin.PORT}"))
        self.assertEqual(ask(self.lab.near, "/metrics", address=self.lab.far.address).status, 200)
        self.assertIn(f"health and metrics are at http://0.0.0.0:{admin.PORT}/ (without TLS)", agent.log())

    def test_an_address_in_use_is_named(self):
        self.use(self.lab.agent("--admin", admin.PORT))
        done = self.lab.far.run(needs.farport(), "serve", *self.lab.agent_pair.flags(), "--allow-cn", "tools",
                                "--listen", f"{self.lab.far.address}:9050", "--admin", admin.PORT)
        self.assertEqual(done.code, 1, done.described)
        self.assertIn(f"127.0.0.1:{admin.PORT}", done.stderr)

    def check(self, address):
        return self.lab.far.run(needs.farport(), "check", *self.lab.agent_pair.flags(), "--allow-cn", "tools",
                                "--listen", f"{self.lab.far.address}:9050", "--admin", address).stdout

    def test_check_says_where_it_is_and_who_may_read_it(self):
        self.assertIn(f"answers health and metrics without TLS on 127.0.0.1:{admin.PORT}\n", self.check(f":{admin.PORT}"))
        self.assertIn(f"on 0.0.0.0:{admin.PORT}, which is not a loopback address: anybody who reaches it may read them",
                      " ".join(self.check(f"0.0.0.0:{admin.PORT}").split()))


class Readiness(Asking):
    def agent(self, *flags, **options):
        return self.use(self.lab.agent("--admin", admin.PORT, *flags, **options))

    def time_environment(self, file):
        """A clock that goes by what stands in the file, and timers that don't."""
        return {"LD_PRELOAD": needs.faketime(), "FAKETIME_TIMESTAMP_FILE": file, "FAKETIME_NO_CACHE": "1",
                "DONT_FAKE_MONOTONIC": "1",
                "ASAN_OPTIONS": self.lab.far.environment()["ASAN_OPTIONS"] + ":verify_asan_link_order=0"}

    def test_certificates_out_of_their_time_are_told(self):
        clock = pathlib.Path(self.lab.new_directory(self.lab.far, "clock"), "now")
        clock.write_text("+0\n", encoding="ascii")
        # Confined, it could not read the file.
        self.agent("--confine", "off", environment=self.time_environment(clock))
        self.assert_ready()
        clock.write_text("+3000d\n", encoding="ascii")
        self.wait_until_unready("our certificate", "expired on")
        clock.write_text("-30d\n", encoding="ascii")
        self.wait_until_unready("our certificate", "is not valid before")
        clock.write_text("+0\n", encoding="ascii")
        self.assert_ready()

    def test_certificates_that_can_not_be_read_again_are_told(self):
        secret = Secret(self.lab.new_directory(self.lab.far, "secret"))
        pair = self.lab.agent_pair
        whole = {"tls.crt": pair.cert, "tls.key": pair.key, "ca.crt": pair.ca}
        secret.put(whole)
        agent = self.agent(pair=secret.pair())
        secret.put(whole | {"tls.crt": pair.key})
        agent.process.send(signal.SIGHUP)
        self.wait_until_unready("what was read before stays in use")
        # Which it does.
        self.assertEqual(agent.runtimes(), [])
        secret.put(whole)
        agent.process.send(signal.SIGHUP)
        wait.until(lambda: self.ask("/readyz").status == 200, agent.log)

    def begin_to_drain(self, *flags):
        """An agent that has been told to stop while a session runs, and the session."""
        runtime = ScriptedRuntime(self.lab)
        self.addCleanup(runtime.stop)
        agent = self.agent("--drain", "120s", *QUICK_PINGS, *flags)
        mirror = self.use(self.lab.mirror(agent.remote, flags=QUICK_PINGS))
        exchange = Exchange(runtime, mirror.wait_for(runtime)[0]["socket"])
        self.addCleanup(exchange.close)
        exchange.wait_for_more()
        self.assert_ready()
        agent.process.send(signal.SIGTERM)
        return agent, exchange

    def test_one_that_drains_is_healthy_and_not_ready_to_its_end(self):
        agent, exchange = self.begin_to_drain()
        self.wait_until_unready("is being stopped")
        exchange.wait_for_more()
        self.assertTrue(agent.process.running())
        exchange.finish()
        self.assertEqual(agent.process.wait(), 0, agent.process.output())

    def test_one_that_hands_its_ports_over_leaves_this_one_too(self):
        old, exchange = self.begin_to_drain("--reuse-port")
        wait.until(lambda: not proc.listens(old.process.pid, admin.PORT), old.log)
        new = self.agent("--reuse-port")
        wait.until(lambda: proc.listens(new.process.pid, admin.PORT), new.log)
        self.assert_ready()
        exchange.finish()
        self.assertEqual(old.process.wait(), 0, old.process.output())


if __name__ == "__main__":
    main()
