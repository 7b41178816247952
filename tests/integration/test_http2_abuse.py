"""Peers with a good certificate that abuse HTTP/2: they are ended or refused, those beside them notice nothing, and
memory returns."""

import os
import secrets
import struct

from harness import api, http2, ipc, needs, proc, wait
from harness.case import Case, main
from harness.fake import FakeRuntime
from harness.http2 import (CONTINUATION, DATA, END_HEADERS, END_STREAM, GOAWAY, HEADERS, PING, PRIORITY,
                           RST_STREAM, SETTINGS, WINDOW_UPDATE, frame)

MANY = 100_000
# In one write, so that Python is not what is tested.
BATCH = 500
CONNECTIONS = 20
BUFFERED_MIB = 4
WINDOW = 1024 * 1024
WATCH = "/v1/runtimes?watch=true"
# That one session may have.
WATCHES = 4


class Http2Abuse(Case):
    @classmethod
    def prepare(cls):
        configuration = os.path.join(cls.lab.far.directory, "farport.toml")
        with open(configuration, "w", encoding="ascii") as file:
            file.write(f'[limits]\nconnections_per_session = {CONNECTIONS}\nbuffered_bytes = "{BUFFERED_MIB}MiB"\n')
        cls.application = cls.lab.orders()
        cls.fake = FakeRuntime(cls.lab)
        cls.agent = cls.share(cls.lab.agent("--config", configuration, "--log-level", "warn", "--grace", "1s",
                                            "--allow-cn", "abuser=admin"))
        cls.runtime, cls.flood = cls.agent.wait_for(cls.application, cls.fake)
        cls.api = api.Api(cls.lab)
        cls.abuser_pair = cls.lab.authority.client("abuser")

    def setUp(self):
        # Beside every abuser: one who watches, and a trace.
        self.neighbour = self.connect(self.lab.tools_pair)
        self.watch = self.neighbour.request("GET", WATCH)
        self.trace = self.neighbour.request("POST", self.ipc_path(), end=False)
        self.neighbour.send(frame(DATA, 0, self.trace, ipc.session(ipc.COLLECT_TRACING_5)))
        self.neighbour.frames_until(self.is_event)
        # The test before may have used up what the abuser may ask in a second.
        wait.until(lambda: self.is_answered(self.connect()), "the abuser is answered again")

    def tearDown(self):
        super().tearDown()
        # Both are still there, and so is everybody else's agent.
        self.assertTrue(self.is_event(self.neighbour.frames_until(self.is_event)[-1]))
        self.assertTrue(self.neighbour.is_alive())
        self.assertTrue(ipc.is_ok(self.api.post(self.runtime["id"], ipc.process_info()).body))
        self.neighbour.close()
        self.agent.wait_for(self.application, self.fake)

    def ipc_path(self, runtime=None):
        return f"/v1/runtimes/{(runtime or self.runtime)['id']}/ipc"

    def is_event(self, each):
        return each is not None and each.kind == DATA and each.stream == self.trace and len(each.payload) > 0

    def connect(self, pair=None):
        client = http2.Client(self.lab, pair or self.abuser_pair)
        self.addCleanup(client.close)
        return client

    @staticmethod
    def is_answered(client):
        """Whether a request is answered with what it asks for."""
        answer = client.answer(client.request("GET", "/v1/runtimes"))
        return answer is not None and b'"pid"' in answer

    def assert_ended(self, client, data, times):
        """That the agent ends a connection on which this is sent so often."""
        self.assertTrue(client.send_until_ended(data, times) or client.ends(), "it goes on")

    def metric(self, name):
        lines = self.api.request("/v1/metrics").body.decode().splitlines()
        return float(next(line for line in lines if line.startswith(name + " ")).rpartition(" ")[2])

    def kept(self):
        """What the agent keeps for all its callers, this one included."""
        return self.metric("farport_buffered_bytes")

    def given_up(self):
        """How often something had to go for that."""
        return self.metric('farport_refused_total{reason="buffered_bytes"}')

    # Requests.

    def test_a_request_that_is_reset_at_once_again_and_again(self):
        client = self.connect()
        head = http2.request_head("POST", self.ipc_path())
        for _ in range(MANY // BATCH):
            batch = b""
            for _ in range(BATCH):
                stream = client.new_stream()
                batch += frame(HEADERS, END_HEADERS, stream, head)
                batch += frame(RST_STREAM, 0, stream, struct.pack(">I", 8))
            if client.send_until_ended(batch, 1):
                return
        self.assertTrue(client.ends())

    def test_requests_that_the_agent_has_to_reset_itself(self):
        client = self.connect()
        head = http2.request_head("POST", self.ipc_path())
        zero = struct.pack(">I", 0)  # RFC 9113 section 6.9: an increment of 0 is a stream error
        for _ in range(MANY // BATCH):
            batch = b""
            for _ in range(BATCH):
                stream = client.new_stream()
                batch += frame(HEADERS, END_HEADERS, stream, head) + frame(WINDOW_UPDATE, 0, stream, zero)
            if client.send_until_ended(batch, 1):
                return
        # Where it is not ended it has been answered, and no more than is allowed has reached anything.
        self.assertTrue(self.metric('farport_refused_total{reason="requests_per_second"}') > 0 or client.ends())

    def test_very_many_streams_at_once(self):
        client = self.connect()
        for _ in range(10 * CONNECTIONS):
            client.request("POST", self.ipc_path(), end=False)
        self.assertTrue(client.is_alive())
        self.assertLessEqual(self.metric("farport_diagnostic_connections"), CONNECTIONS + 1)
        self.assertGreater(self.metric('farport_refused_total{reason="connections_per_session"}'), 0)

    # Heads.

    def test_a_head_that_is_too_large_is_refused_and_the_session_goes_on(self):
        client = self.connect()
        filler = [(f"x-filler-{number}", "x" * 1000) for number in range(20)]
        head = http2.request_head("GET", "/v1/runtimes", *filler)
        stream = client.new_stream()
        client.send(frame(HEADERS, END_STREAM, stream, head[:http2.MAX_FRAME])
                    + frame(CONTINUATION, END_HEADERS, stream, head[http2.MAX_FRAME:]))
        self.assertIn(b"limits.head_size", client.answer(stream))
        self.assertTrue(self.is_answered(client))

    def test_continuations_without_an_end(self):
        client = self.connect()
        client.send(frame(HEADERS, 0, 1, http2.request_head("GET", "/v1/runtimes")))
        more = http2.field("x-more", "x" * 8000)
        self.assert_ended(client, frame(CONTINUATION, 0, 1, more), MANY // BATCH)

    def test_empty_continuations_without_an_end(self):
        client = self.connect()
        client.send(frame(HEADERS, 0, 1, http2.request_head("GET", "/v1/runtimes")))
        self.assert_ended(client, frame(CONTINUATION, 0, 1) * BATCH, MANY // BATCH)

    def test_a_small_block_that_unfolds_into_a_large_head(self):
        client = self.connect()
        # RFC 7541: a literal that enters the table as its first, and then only its index.
        literal = b"\x40" + http2.field("x-bomb", "x" * 4000)[1:]
        client.send(frame(HEADERS, 0, 1, http2.request_head("GET", "/v1/runtimes") + literal + b"\xbe" * 10000))
        self.assertTrue(client.ends(), "it goes on")

    # Control frames whose answers nobody reads.

    def test_pings_whose_answers_nobody_reads(self):
        self.assert_ended(self.connect(), frame(PING, 0, 0, b"12345678") * BATCH, 100 * MANY // BATCH)

    def test_settings_whose_answers_nobody_reads(self):
        setting = struct.pack(">HI", 4, 65535)
        self.assert_ended(self.connect(), frame(SETTINGS, 0, 0, setting) * BATCH, 100 * MANY // BATCH)

    def test_frames_that_mean_nothing_hold_up_nobody(self):
        client = self.connect()
        stream = client.request("POST", self.ipc_path(), end=False)
        nothing = frame(PRIORITY, 0, stream, b"\0\0\0\0\x10") + frame(DATA, 0, stream) + frame(0x42, 0, 0, b"?")
        for _ in range(MANY // BATCH):
            if client.send_until_ended(nothing * BATCH, 1):
                return
        self.assertTrue(client.is_alive())

    # Flow control.

    def test_a_window_beyond_what_there_can_be(self):
        for stream in (0, 1):
            client = self.connect()
            client.request("GET", WATCH)
            client.send(frame(WINDOW_UPDATE, 0, stream, struct.pack(">I", 0x7fffffff)) * 2)
            frames = client.frames_until(lambda f: f.kind in (GOAWAY, RST_STREAM))
            self.assertIsNotNone(frames[-1])
            self.assertEqual(frames[-1].kind, RST_STREAM if stream else GOAWAY)

    def test_more_than_the_window_allows(self):
        client = self.connect()
        stream = client.request("GET", WATCH, end=False)
        client.send(frame(DATA, 0, stream, b"x" * http2.MAX_FRAME) * (2 * WINDOW // http2.MAX_FRAME))
        self.assertEqual(client.frames_until(lambda f: f.stream == stream and f.kind == RST_STREAM)[-1].kind, RST_STREAM)
        self.assertTrue(client.is_alive())

    def test_windows_full_of_what_nobody_takes(self):
        before = self.kept()
        clients = [self.connect() for _ in range(BUFFERED_MIB)]
        chunk = b"x" * http2.MAX_FRAME
        for client in clients:
            for _ in range(WATCHES):
                stream = client.request("GET", WATCH, end=False)
                client.send(frame(DATA, 0, stream, chunk) * (WINDOW // len(chunk)))
        for client in clients:
            self.assertTrue(client.is_alive())
        self.assertLessEqual(self.kept(), BUFFERED_MIB * 1024 * 1024)
        self.assertGreater(self.given_up(), 0)
        for client in clients:
            client.close()
        wait.until(lambda: self.kept() <= before, "nothing is kept of a session that is gone")

    def test_streams_that_nobody_acknowledges(self):
        before, given_up = self.kept(), self.given_up()
        client = self.connect()
        path = self.ipc_path(self.flood)
        for _ in range(4):
            stream = client.request("POST", path, ("farport-connection", secrets.token_hex(16)), end=False)
            client.send(frame(DATA, 0, stream, ipc.session(ipc.COLLECT_TRACING_5)))
        taken = 0

        def enough(each):
            nonlocal taken
            taken += len(each.payload)
            return taken > WINDOW
        # Read, but no credit is given for it.
        client.frames_until(enough)
        wait.until(lambda: self.kept() > WINDOW, "what may have to be sent again is counted")
        for _ in range(5):
            self.assertLessEqual(self.kept(), BUFFERED_MIB * 1024 * 1024)
        # Their runtime waits for them: nothing of theirs had to go.
        self.assertEqual(self.given_up(), given_up)
        client.close()
        wait.until(lambda: self.kept() <= before, "nothing is kept after the grace period")

    def test_a_tiny_window_of_the_abusers_own(self):
        client = self.connect()
        client.send(frame(SETTINGS, 0, 0, struct.pack(">HI", 4, 0)))
        for _ in range(CONNECTIONS):
            client.request("GET", WATCH)
            client.request("GET", "/v1/runtimes")
        self.assertTrue(client.is_alive())

    # Afterwards.

    def abuse_once(self):
        for test in (self.test_continuations_without_an_end, self.test_windows_full_of_what_nobody_takes,
                     self.test_a_request_that_is_reset_at_once_again_and_again,
                     self.test_very_many_streams_at_once, self.test_a_tiny_window_of_the_abusers_own):
            test()
        self.doCleanups()

    def test_memory_returns(self):
        pid = self.agent.process.pid
        self.abuse_once()
        before = proc.memory_kib(pid)
        for _ in range(3):
            self.abuse_once()
        # AddressSanitizer keeps what was freed, for a while.
        allowance_kib = 64 * 1024 if needs.is_sanitized() else 3 * 1024
        wait.until(lambda: proc.memory_kib(pid) - before < allowance_kib,
                   lambda: f"{before} KiB before, {proc.memory_kib(pid)} after")
        self.setUp()


if __name__ == "__main__":
    main()
