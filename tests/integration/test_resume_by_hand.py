"""Resuming as docs/wire.md says it, with curl: who may go on with a connection, and who may not."""

import os
import secrets
import subprocess

from harness import ipc, wait
from harness.api import Api
from harness.case import Case, main
from harness.patterns import Pattern
from harness.scripted import ScriptedRuntime

SESSION = ipc.session(ipc.COLLECT_TRACING + 1)
HEAD_BYTES = ipc.HEADER_BYTES + 8
STREAM_BYTES = 50_000
OK, BAD_REQUEST, NOT_FOUND, CONFLICT, GONE = 200, 400, 404, 409, 410


class Request:
    """A request whose body goes on for as long as the test wants, and whose answer is seen as it comes."""

    def __init__(self, case, path, token, pair=None, **fields):
        stem = case.lab.new_log("curl")
        self.head_path, self.body_path = stem + ".head", stem + ".body"
        named = {"farport-connection": token} if token else {}
        named |= {f"farport-{name}": value for name, value in fields.items()}
        headers = [part for name, value in named.items() for part in ("--header", f"{name}: {value}")]
        api = Api(case.lab, pair)
        read, self._input = os.pipe()
        self.process = case.lab.near.start(
            *api.curl("--no-buffer", "--request", "POST", "--upload-file", ".", "--dump-header", self.head_path,
                      "--output", self.body_path, *headers, api.base + path), stdin=read)
        os.close(read)
        case.addCleanup(self.end)

    def send(self, data):
        """More of the body."""
        os.write(self._input, data)

    def body(self):
        """What has come so far."""
        try:
            with open(self.body_path, "rb") as file:
                return file.read()
        except FileNotFoundError:
            return b""

    def wait_for(self, size):
        """Waits until so much of the answer has come, and returns it."""
        wait.until(lambda: len(self.body()) >= size,
                   lambda: f"{size} bytes come, not {len(self.body())}\n{self.process.output()}")
        return self.body()

    def status(self):
        """The answer's status, once it is there."""
        def head():
            try:
                with open(self.head_path, encoding="ascii") as file:
                    return file.read()
            except FileNotFoundError:
                return ""

        wait.until(lambda: " " in head() or not self.process.running(), lambda: f"an answer\n{self.process.output()}")
        return int(head().split(" ")[1])

    def end(self):
        """Hangs up without a word."""
        if self._input is not None:
            self.process.kill()
            os.close(self._input)
            self._input = None


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
        self.token, self.following, self.third = (secrets.token_hex(16) for _ in range(3))

    def begin(self, token=None, number=9, pair=None):
        """A session that has begun, with a stream under way. Returns the request and the runtime's end."""
        request = Request(self, f"/v1/runtimes/{self.id}/ipc", self.token if token is None else token, pair)
        request.send(SESSION)
        asked = self.runtime.next()
        self.addCleanup(asked.connection.close)
        asked.begin_session(number)
        asked.connection.sendall(self.stream)
        self.assertEqual(request.wait_for(HEAD_BYTES + STREAM_BYTES)[HEAD_BYTES:], self.stream)
        return request, asked.connection

    def resume(self, token, following, received, pair=None, **fields):
        counts = {"instance": self.instance, "received": received, "from": len(SESSION)} | fields
        return Request(self, f"/v1/connections/{token}", following, pair, **counts)

    def assert_goes_on(self, request, end, received):
        """That the answer goes on at `received`."""
        end.sendall(b"and on")
        expected = self.stream[received - HEAD_BYTES:] + b"and on"
        self.assertEqual(request.wait_for(len(expected)), expected)
        self.assertEqual(request.status(), OK)
        end.close()
        self.assertEqual(request.process.wait(), 0, request.process.output())
        self.assertEqual(request.body(), expected)

    def assert_stopped(self, number=9):
        wait.until(lambda: self.runtime.stopped == [number],
                   lambda: f"session {number} is stopped once, not {self.runtime.stopped}")

    def forget(self, token):
        """Ends what a test has left."""
        return Api(self.lab).request(f"/v1/connections/{token}", "--request", "DELETE").status

    def test_the_answer_goes_on_at_the_byte_that_is_asked_for(self):
        for received in (HEAD_BYTES + STREAM_BYTES, HEAD_BYTES + 12_345):
            request, end = self.begin()
            request.end()
            self.assert_goes_on(self.resume(self.token, self.following, received), end, received)

    def test_the_old_session_need_not_have_ended(self):
        request, end = self.begin()
        second = self.resume(self.token, self.following, HEAD_BYTES + STREAM_BYTES)
        self.assert_goes_on(second, end, HEAD_BYTES + STREAM_BYTES)
        request.end()

    def test_a_token_is_good_for_once(self):
        request, end = self.begin()
        request.end()
        second = self.resume(self.token, self.following, HEAD_BYTES + STREAM_BYTES)
        self.assertEqual(second.status(), OK)
        self.assertEqual(self.resume(self.token, self.third, HEAD_BYTES + STREAM_BYTES).status(), NOT_FOUND)
        self.assert_goes_on(second, end, HEAD_BYTES + STREAM_BYTES)

    def test_nobody_else_goes_on_with_it(self):
        request, end = self.begin()
        request.end()
        stolen = self.resume(self.token, self.following, HEAD_BYTES, self.eve)
        self.assertEqual(stolen.status(), NOT_FOUND)
        self.assertNotIn(self.stream[:100], stolen.body())
        self.assert_goes_on(self.resume(self.token, self.following, HEAD_BYTES + 1), end, HEAD_BYTES + 1)

    def test_nobody_else_takes_it_away_while_it_is_carried(self):
        request, end = self.begin()
        self.assertEqual(self.resume(self.token, self.following, HEAD_BYTES, self.eve).status(), NOT_FOUND)
        end.sendall(b"still")
        self.assertTrue(request.wait_for(HEAD_BYTES + STREAM_BYTES + 5).endswith(b"still"))
        end.close()
        self.assertEqual(request.process.wait(), 0)

    def test_an_identity_that_is_only_described_alike(self):
        names = [part for name in ("a", "b", "c", "d") for part in ("--dns", f"{name}.test")]
        pairs = [self.lab.authority.client_again("tools", os.path.join(self.lab.directory, f"alike-{last}"), *names,
                                                 "--dns", f"{last}.test") for last in ("e", "f")]
        request, end = self.begin(pair=pairs[0])
        request.end()
        self.assertEqual(self.resume(self.token, self.following, HEAD_BYTES, pairs[1]).status(), NOT_FOUND)
        self.assert_goes_on(self.resume(self.token, self.following, HEAD_BYTES + 7, pairs[0]), end, HEAD_BYTES + 7)

    def test_tokens_that_are_none(self):
        for token in ("1", "0" * 33, "g" * 32, "A" * 32, "../runtimes"):
            refused = Request(self, f"/v1/runtimes/{self.id}/ipc", token)
            self.assertEqual(refused.status(), BAD_REQUEST, token)
            refused.end()

    def test_a_token_that_is_taken(self):
        request, end = self.begin()
        self.assertEqual(Request(self, f"/v1/runtimes/{self.id}/ipc", self.token, self.eve).status(), CONFLICT)
        self.assertEqual(self.resume(self.following, self.token, 0).status(), NOT_FOUND)
        end.close()
        self.assertEqual(request.process.wait(), 0)

    def test_a_token_that_nobody_has(self):
        self.assertEqual(self.resume("f" * 32, self.following, 0).status(), NOT_FOUND)

    def test_another_agents_connection(self):
        request, end = self.begin()
        request.end()
        for instance in ("f" * 32, ""):
            self.assertEqual(self.resume(self.token, self.following, HEAD_BYTES, instance=instance).status(), GONE)
        self.assert_goes_on(self.resume(self.token, self.following, HEAD_BYTES + 3), end, HEAD_BYTES + 3)

    def test_counts_that_are_none(self):
        request, end = self.begin()
        request.end()
        for wrong in ({"received": ""}, {"received": "-1"}, {"received": "1e3"}, {"from": "99999999999999999999"}):
            fields = {"received": HEAD_BYTES, "from": len(SESSION)} | wrong
            received = fields.pop("received")
            self.assertEqual(self.resume(self.token, self.following, received, **fields).status(), BAD_REQUEST, wrong)
        self.assert_goes_on(self.resume(self.token, self.following, HEAD_BYTES + 4), end, HEAD_BYTES + 4)

    def test_bytes_that_never_were_end_it(self):
        for wrong in ({"received": 1 << 40}, {"received": (1 << 64) - 1}, {"from": 1 << 40}, {"from": (1 << 64) - 1}):
            self.runtime.stopped.clear()
            request, end = self.begin()
            request.end()
            fields = {"received": HEAD_BYTES, "from": len(SESSION)} | wrong
            refused = self.resume(self.token, self.following, fields.pop("received"), **fields)
            self.assert_stopped()
            self.assertNotEqual(refused.process.wait(), 0)
            self.assertEqual(end.recv(1), b"")

    def test_what_is_not_needed_any_more_is_ended(self):
        request, end = self.begin()
        request.end()
        self.assertEqual(Api(self.lab, self.eve).request(f"/v1/connections/{self.token}", "--request", "DELETE").status,
                         NOT_FOUND)
        self.assertLess(self.forget(self.token), 300)
        self.assert_stopped()
        self.assertEqual(self.forget(self.token), NOT_FOUND)
        end.close()

    def test_a_request_without_a_token_does_not_wait(self):
        request, end = self.begin(token="")
        request.end()
        self.assert_stopped()
        end.close()


if __name__ == "__main__":
    main()
