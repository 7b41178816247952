"""GET /v1/metrics, read as strictly as the format allows."""

import time

from harness import api, ipc, wait
from harness.case import Case, main
from harness.prometheus import parse


class Metrics(Case):
    @classmethod
    def prepare(cls):
        configuration = f"{cls.lab.far.directory}/farport.toml"
        with open(configuration, "w", encoding="ascii") as file:
            file.write('[roles.monitor]\ncommands = []\n'
                       '[[grants]]\ncn = "tools"\nrole = "operator"\n'
                       '[[grants]]\ncn = "prometheus"\nrole = "monitor"\n')
        cls.application = cls.lab.orders()
        cls.agent = cls.share(cls.lab.agent("--config", configuration, allow=()))
        cls.runtime = cls.agent.wait_for(cls.application)[0]["id"]
        cls.api = api.Api(cls.lab)
        cls.prometheus = api.Api(cls.lab, cls.lab.authority.client("prometheus"))

    def metrics(self):
        answer = self.prometheus.request("/v1/metrics")
        self.assertEqual((answer.status, answer.content_type), (200, "text/plain; version=0.0.4; charset=utf-8"))
        families = parse(answer.body.decode())
        for name, (kind, samples) in families.items():
            self.assertEqual(kind == "counter", name.endswith("_total"), name)
            self.assertGreaterEqual(min(samples.values(), default=0), 0, name)
        return families

    def value(self, name, labels=""):
        return self.metrics()[name][1][labels]

    def assert_grows(self, name, labels, act, by=1):
        """That a counter counts what `act` does. It may be a moment late: what counts is done after the answer."""
        before = self.metrics()[name][1].get(labels, 0)
        act()
        wait.until(lambda: self.value(name, labels) >= before + by, lambda: f"{name}{{{labels}}} was {before}")

    def test_the_format_is_kept_and_every_family_is_there(self):
        families = self.metrics()
        for name in ("farport_build_info", "farport_ready", "farport_sessions", "farport_sessions_total",
                     "farport_handshakes", "farport_handshakes_failed_total", "farport_requests_total",
                     "farport_refused_total", "farport_accept_pauses_total", "farport_buffered_bytes",
                     "farport_diagnostic_connections", "farport_commands_total", "farport_bytes_total",
                     "farport_dumps_total", "farport_runtimes", "farport_limit", "process_cpu_seconds_total",
                     "process_resident_memory_bytes", "process_open_fds", "process_max_fds",
                     "farport_loop_stall_seconds", "farport_session_duration_seconds", "farport_first_byte_seconds",
                     "process_start_time_seconds", "farport_certificate_expiry_timestamp_seconds"):
            self.assertIn(name, families)
        self.assertEqual(list(families["farport_build_info"][1].values()), [1])
        self.assertGreater(families["process_resident_memory_bytes"][1][""], 1 << 20)
        self.assertGreater(families["process_open_fds"][1][""], 5)
        self.assertEqual(families["farport_runtimes"][1]['state="running"'], 1)

    def test_the_turns_of_the_loop_are_counted_by_how_long_they_took(self):
        kind, turns = self.metrics()["farport_loop_stall_seconds"]
        self.assertEqual(kind, "histogram")
        buckets = [count for labels, count in turns.items() if labels.startswith("le=")]
        self.assertEqual([labels for labels in turns if labels.startswith("le=")],
                         [f'le="{bound}"' for bound in ("0.001", "0.002", "0.005", "0.01", "0.02", "0.05", "0.1", "0.2",
                                                        "0.5", "1", "+Inf")])
        self.assertEqual(buckets, sorted(buckets), "each bucket has all that were shorter")
        self.assertEqual(turns['le="+Inf"'], turns["count"])
        self.assertGreater(turns["count"], 0)
        self.assertGreater(turns["sum"], 0)

    def test_the_answers_first_bytes_and_the_sessions_lengths_are_counted(self):
        for name in ("farport_first_byte_seconds", "farport_session_duration_seconds"):
            self.assert_grows(name, "count", lambda: self.api.post(self.runtime, ipc.process_info()))
            kind, times = self.metrics()[name]
            self.assertEqual((kind, times['le="+Inf"']), ("histogram", times["count"]))
            self.assertGreater(times["sum"], 0)

    def test_an_agent_that_serves_is_ready(self):
        self.assertEqual(self.value("farport_ready"), 1)
        self.assertGreater(self.value("farport_certificate_expiry_timestamp_seconds"), time.time())
        self.assertLessEqual(self.value("process_start_time_seconds"), time.time())

    def test_nothing_in_it_says_who_was_there(self):
        self.api.post(self.runtime, ipc.process_info())
        text = self.prometheus.request("/v1/metrics").body.decode()
        for secret in ("tools", "prometheus", "orders", self.runtime, self.lab.near.address):
            self.assertNotIn(secret, text)

    def test_a_role_without_any_command_reads_it_and_does_nothing_else(self):
        self.assertEqual(self.prometheus.post(self.runtime, ipc.process_info()).hresult, ipc.ACCESS_DENIED)

    def test_who_has_no_role_does_not_read_it(self):
        stranger = api.Api(self.lab, self.lab.authority.client("stranger"))
        self.assert_grows("farport_refused_total", 'reason="no_role"',
                          lambda: self.assertIn("has no role", stranger.turned_away()))

    def test_commands_are_counted_by_what_became_of_them(self):
        self.assert_grows("farport_commands_total", 'command="ProcessInfo",decision="allowed"',
                          lambda: self.api.post(self.runtime, ipc.process_info()))
        self.assert_grows("farport_commands_total", 'command="SetEnvironmentVariable",decision="refused"',
                          lambda: self.api.post(self.runtime, ipc.set_variable("A", "b")))
        self.assert_grows("farport_commands_total", 'command="unknown",decision="refused"',
                          lambda: self.api.post(self.runtime, ipc.message(0x42, 0x42)))

    def test_sessions_and_what_they_carry_are_counted_while_they_last(self):
        with self.api.connect() as trace:
            before = self.value("farport_bytes_total", 'direction="to_tool"')
            trace.sendall(ipc.session(ipc.COLLECT_TRACING_5))
            self.assertTrue(ipc.is_ok(trace.recv(28)))
            self.assertEqual(self.value("farport_diagnostic_connections"), 1)
            self.assertEqual(self.value("farport_sessions"), 2)
            wait.until(lambda: self.value("farport_bytes_total", 'direction="to_tool"') > before + 1000,
                       "the bytes of a session that goes on are counted")
        wait.until(lambda: self.value("farport_diagnostic_connections") == 0, "the session's end is counted")
        self.assertEqual(self.value("farport_sessions"), 1)

    def test_handshakes_that_fail_are_counted_by_their_reason(self):
        def garbage():
            with self.lab.near.connect(self.lab.far.address, self.agent.port) as connection:
                connection.sendall(b"GET / HTTP/1.1\r\n\r\n")

        def nothing():
            self.lab.near.connect(self.lab.far.address, self.agent.port).close()

        self.assert_grows("farport_handshakes_failed_total", 'reason="protocol"', garbage)
        def half():
            with self.lab.near.connect(self.lab.far.address, self.agent.port) as connection:
                connection.sendall(b"\x16\x03\x01")

        self.assert_grows("farport_handshakes_failed_total", 'reason="closed"', half)
        self.assert_grows("farport_handshakes_failed_total", 'reason="probe"', nothing)


if __name__ == "__main__":
    main()
