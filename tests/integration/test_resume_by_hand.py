"""Resuming as docs/developers/wire.md says it, with frames of the test's own: who may go on with a connection, and who may not."""

import os
import secrets
import subprocess

from harness import ipc, wait
from harness.api import Api
from harness.case import Case, main
from harness.http2 import DATA, END_STREAM, HEADERS, RST_STREAM, Client, frame, status_in
from harness.patterns import Pattern
from harness.scripted import ScriptedRuntime

SESSION = ipc.session(ipc.COLLECT_TRACING + 1)
HEAD_BYTES = ipc.HEADER_BYTES + 8
STREAM_BYTES = 50_000
OK, BAD_REQUEST, NOT_FOUND, CONFLICT, GONE = 200, 400, 404, 409, 410


class Request:
    """A request whose body goes on for as long as the test wants, in a session of its own, and whose answer is seen as
    it comes."""

    def __init__(self, case, path, token, pair=None, **fields):
        self.client = Client(case.lab, pair)
        case.addCleanup(self.client.close)
        named = [("farport-connection", token)] if token else []
        named += [(f"farport-{name}", str(value)) for name, value in fields.items()]
        self.stream = self.client.request("POST", path, *named, end=False)
        self.body, self.status, self.ended, self.was_reset = b"", None, False, False

    def send(self, data):
        """More of the body."""
        self.client.send(frame(DATA, 0, self.stream, data))

    def take(self):
        """The next frame of the answer, into what is known of it."""
        each = self.client.next_frame(15)
        if each is None or each.stream == self.stream and each.kind == RST_STREAM:
            self.ended = self.was_reset = True
        elif each.stream == self.stream:
            if each.kind == HEADERS:
                self.status = status_in(each.payload)
            if each.kind == DATA:
                self.body += each.payload
            self.ended |= bool(each.flags & END_STREAM)

    def take_until(self, reached):
        """Reads on until `reached()`, or the end."""
        while not reached() and not self.ended:
            self.take()
        return self

    def refused(self):
        """The status of an answer that is to say why not."""
        return self.take_until(lambda: self.status is not None).status

    def hang_up(self):
        """Ends the session without a word."""
        self.client.close()


class ByHand(Case):
    @classmethod
    def prepare(cls):
        cls.runtime = ScriptedRuntime(cls.lab)
        cls.addClassCleanup(cls.runtime.stop)
        cls.agent = cls.share(cls.lab.agent("--drain", "1s", "--allow-cn", "eve=admin"))
        cls.agent.wait_for(cls.runtime)
        cls.id = cls.agent.runtimes()[0]["id"]
        cls.eve = cls.lab.authority.client("eve")
        cls.instance = cls.instance_of_agent()
        cls.stream = bytes(Pattern(1).piece(0, STREAM_BYTES))

    @classmethod
    def instance_of_agent(cls):
        """What the agent calls itself, as a mirror learns it."""
        api = Api(cls.lab)
        watch = subprocess.run([*cls.lab.near.enter, *api.curl("--max-time", "1", "--dump-header", "-",
                                                               api.base + "/v1/runtimes?watch=true")],
                               capture_output=True, text=True, check=False)
        return next(line.split()[1] for line in watch.stdout.splitlines() if line.startswith("farport-instance:"))

    def setUp(self):
        self.runtime.stopped.clear()
        self.choose_tokens()

    def choose_tokens(self):
        """The first token, and those that follow it."""
        self.token, self.following, self.third = (secrets.token_hex(16) for _ in range(3))

    def begin(self, token=None, number=9, pair=None):
        """A session that has begun, with a stream under way. Returns the request and the runtime's end."""
        request = Request(self, f"/v1/runtimes/{self.id}/ipc", self.token if token is None else token, pair)
        request.send(SESSION)
        asked = self.runtime.next()
        self.addCleanup(asked.connection.close)
        asked.begin_session(number)
        asked.connection.sendall(self.stream)
        request.take_until(lambda: len(request.body) >= HEAD_BYTES + STREAM_BYTES)
        self.assertEqual(request.body[HEAD_BYTES:], self.stream)
        return request, asked.connection

    def resume(self, token, following, received, pair=None, **fields):
        counts = {"instance": self.instance, "received": received, "from": len(SESSION)} | fields
        return Request(self, f"/v1/connections/{token}", following, pair, **counts)

    def assert_goes_on(self, request, end, received):
        """That the answer goes on at `received`."""
        end.sendall(b"and on")
        end.close()
        request.take_until(lambda: False)
        self.assertEqual(request.status, OK)
        self.assertEqual(request.body, self.stream[received - HEAD_BYTES:] + b"and on")
        self.assertFalse(request.was_reset)

    def assert_stopped(self, number=9):
        wait.until(lambda: self.runtime.stopped == [number],
                   lambda: f"session {number} is stopped once, not {self.runtime.stopped}")

    def forget(self, token):
        """Ends what a test has left."""
        return Api(self.lab).request(f"/v1/connections/{token}", "--request", "DELETE").status

    def test_the_answer_goes_on_at_the_byte_that_is_asked_for(self):
        for received in (HEAD_BYTES + STREAM_BYTES, HEAD_BYTES + 12_345):
            request, end = self.begin()
            request.hang_up()
            self.assert_goes_on(self.resume(self.token, self.following, received), end, received)
            self.choose_tokens()

    def test_the_old_session_need_not_have_ended(self):
        request, end = self.begin()
        second = self.resume(self.token, self.following, HEAD_BYTES + STREAM_BYTES)
        self.assert_goes_on(second, end, HEAD_BYTES + STREAM_BYTES)
        request.hang_up()

    def test_a_token_is_good_for_once(self):
        request, end = self.begin()
        request.hang_up()
        second = self.resume(self.token, self.following, HEAD_BYTES + STREAM_BYTES)
        self.assertEqual(second.refused(), OK)
        self.assertEqual(self.resume(self.token, self.third, HEAD_BYTES + STREAM_BYTES).refused(), NOT_FOUND)
        self.assert_goes_on(second, end, HEAD_BYTES + STREAM_BYTES)

    def test_nobody_else_goes_on_with_it(self):
        request, end = self.begin()
        request.hang_up()
        stolen = self.resume(self.token, self.following, HEAD_BYTES, self.eve)
        self.assertEqual(stolen.refused(), NOT_FOUND)
        self.assertNotIn(self.stream[:100], stolen.take_until(lambda: False).body)
        self.assert_goes_on(self.resume(self.token, self.following, HEAD_BYTES + 1), end, HEAD_BYTES + 1)

    def test_nobody_else_takes_it_away_while_it_is_carried(self):
        request, end = self.begin()
        self.assertEqual(self.resume(self.token, self.following, HEAD_BYTES, self.eve).refused(), NOT_FOUND)
        end.sendall(b"still")
        end.close()
        self.assertTrue(request.take_until(lambda: False).body.endswith(b"still"))
        self.assertFalse(request.was_reset)

    def test_an_identity_that_is_only_described_alike(self):
        names = [part for name in ("a", "b", "c", "d") for part in ("--dns", f"{name}.test")]
        pairs = [self.lab.authority.client_again("tools", os.path.join(self.lab.directory, f"alike-{last}"), *names,
                                                 "--dns", f"{last}.test") for last in ("e", "f")]
        request, end = self.begin(pair=pairs[0])
        request.hang_up()
        self.assertEqual(self.resume(self.token, self.following, HEAD_BYTES, pairs[1]).refused(), NOT_FOUND)
        self.assert_goes_on(self.resume(self.token, self.following, HEAD_BYTES + 7, pairs[0]), end, HEAD_BYTES + 7)

    def test_tokens_that_are_none(self):
        for token in ("1", "0" * 33, "g" * 32, "A" * 32, "../runtimes"):
            refused = Request(self, f"/v1/runtimes/{self.id}/ipc", token)
            self.assertEqual(refused.refused(), BAD_REQUEST, token)
            refused.hang_up()

    def test_a_token_that_is_taken(self):
        request, end = self.begin()
        self.assertEqual(Request(self, f"/v1/runtimes/{self.id}/ipc", self.token, self.eve).refused(), CONFLICT)
        self.assertEqual(self.resume(self.following, self.token, 0).refused(), NOT_FOUND)
        end.close()
        self.assertFalse(request.take_until(lambda: False).was_reset)

    def test_a_token_that_nobody_has(self):
        self.assertEqual(self.resume("f" * 32, self.following, 0).refused(), NOT_FOUND)

    def test_another_agents_connection(self):
        request, end = self.begin()
        request.hang_up()
        self.assertEqual(self.resume(self.token, self.following, HEAD_BYTES, instance="f" * 32).refused(), GONE)
        self.assert_goes_on(self.resume(self.token, self.following, HEAD_BYTES + 3), end, HEAD_BYTES + 3)

    def test_an_agent_that_has_not_said_which_one_it_is(self):
        request, end = self.begin()
        request.hang_up()
        resumed = self.resume(self.token, self.following, HEAD_BYTES + 5, instance="")
        self.assert_goes_on(resumed, end, HEAD_BYTES + 5)

    def test_counts_that_are_none(self):
        request, end = self.begin()
        request.hang_up()
        for wrong in ({"received": ""}, {"received": "-1"}, {"received": "1e3"}, {"from": "99999999999999999999"}):
            fields = {"received": HEAD_BYTES, "from": len(SESSION)} | wrong
            received = fields.pop("received")
            self.assertEqual(self.resume(self.token, self.following, received, **fields).refused(), BAD_REQUEST, wrong)
        self.assert_goes_on(self.resume(self.token, self.following, HEAD_BYTES + 4), end, HEAD_BYTES + 4)

    def test_bytes_that_never_were_end_it(self):
        for wrong in ({"received": 1 << 40}, {"received": (1 << 64) - 1}, {"from": 1 << 40}, {"from": (1 << 64) - 1}):
            self.runtime.stopped.clear()
            request, end = self.begin()
            request.hang_up()
            fields = {"received": HEAD_BYTES, "from": len(SESSION)} | wrong
            refused = self.resume(self.token, self.following, fields.pop("received"), **fields)
            self.assert_stopped()
            self.assertTrue(refused.take_until(lambda: False).was_reset)
            self.assertEqual(end.recv(1), b"")

    def test_what_is_not_needed_any_more_is_ended(self):
        request, end = self.begin()
        request.hang_up()
        self.assertEqual(Api(self.lab, self.eve).request(f"/v1/connections/{self.token}", "--request", "DELETE").status,
                         NOT_FOUND)
        self.assertLess(self.forget(self.token), 300)
        self.assert_stopped()
        self.assertEqual(self.forget(self.token), NOT_FOUND)
        end.close()

    def test_a_request_without_a_token_does_not_wait(self):
        request, end = self.begin(token="")
        request.hang_up()
        self.assert_stopped()
        end.close()


if __name__ == "__main__":
    main()
