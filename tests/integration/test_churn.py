"""Sessions that come and go in every way, against their limit: no place is lost. And no runtime, ten of one name, and
everything on ::1."""

import concurrent.futures
import contextlib
import json
import os
import socket
import struct

from harness import http2, ipc, needs, sockets, wait
from harness.agent import PORT
from harness.api import Api
from harness.case import Case, main
from harness.certificates import AGENT_NAME
from harness.fake import FakeRuntime

PLACES = 8
SESSIONS = 400
WATCH = "/v1/runtimes?watch=true"


class Churn(Case):
    @classmethod
    def prepare(cls):
        cls.runtime = cls.share(FakeRuntime(cls.lab))
        cls.agent = cls.share(cls.lab.agent(
            "--limit", f"sessions={PLACES}", "--limit", f"sessions_per_identity={PLACES}", "--limit", "handshakes=64",
            "--grace", "500ms", "--audit", "off", "--log-level", "error"))

    def pass_by(self, number):
        """A session that ends in one of several ways, as soon as it has begun or before."""
        way = number % 5
        with contextlib.suppress(OSError, AssertionError):
            if way == 4:
                return Api(self.lab).raw(ipc.process_info())
            client = http2.Client(self.lab)
            try:
                if way > 0:
                    client.request("GET", WATCH if way == 1 else "/v1/agent")
                if way == 2:
                    client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                if way == 3:
                    client.send(http2.frame(http2.GOAWAY, 0, 0, bytes(8)))
            finally:
                client.close()
        return None

    def test_no_place_is_lost_however_sessions_end(self):
        with concurrent.futures.ThreadPoolExecutor(2 * PLACES) as pool:
            list(pool.map(self.pass_by, range(SESSIONS)))
        wait.until(self.all_fit, lambda: f"there are {PLACES} places again\n{self.agent.log()}")

    def all_fit(self):
        """Whether as many sessions as there are places all work at once, and no other."""
        with contextlib.ExitStack() as stack:
            clients = [stack.enter_context(contextlib.closing(http2.Client(self.lab))) for _ in range(PLACES)]
            if [self.status(client) for client in clients] != [200] * PLACES:
                return False
            with contextlib.closing(http2.Client(self.lab)) as one_more:
                self.assertEqual(self.status(one_more), 503)
        return True

    def status(self, client):
        """What a request is answered with, in a session that goes on."""
        stream = client.request("GET", WATCH)
        head = client.frames_until(lambda frame: frame.kind == http2.HEADERS and frame.stream == stream)[-1]
        return http2.status_in(head.payload) if head else None


class HowMany(Case):
    """No runtime at all, and many that look alike."""

    @classmethod
    def prepare(cls):
        cls.agent = cls.share(cls.lab.agent())

    def farport(self, *arguments):
        return self.lab.near.run(needs.farport(), *arguments, *self.lab.tools_pair.flags())

    def test_none(self):
        self.assertEqual(json.loads(self.assert_ok(self.farport("ps", self.agent.remote, "--json")).stdout), [])
        self.use(self.lab.mirror(self.agent.remote)).process.wait_for_output("0 runtimes")
        for command in (["dump", self.agent.remote], ["run", self.agent.remote, "--", "true", "-n", "orders"]):
            done = self.farport(*command) if command[0] == "dump" else self.tools.farport_run(
                *command[3:], remote=[self.agent.remote])
            self.assertNotIn(done.code, (0, None), done.described)
            self.assertTrue(done.stderr.strip())

    def test_ten_of_one_name_are_ten_and_each_is_its_own(self):
        runtimes = [FakeRuntime(self.lab, "--name", "replica", pid=5000 + number) for number in range(10)]
        for runtime in runtimes:
            self.addCleanup(runtime.stop)
        mirror = self.use(self.lab.mirror(self.agent.remote))
        rows = mirror.wait_for(*runtimes)
        self.assertEqual({row["name"] for row in rows}, {"replica"})
        self.assertEqual(len({row["local_pid"] for row in rows}), 10)
        for runtime, row in zip(runtimes, rows):
            answer = ipc.parse_process_info(sockets.exchange(row["socket"], ipc.process_info()))
            self.assertEqual(answer[0], runtime.pid_inside)
        done = self.tools.farport_run("true", "-n", "replica", remote=[self.agent.remote])
        self.assertEqual(done.code, 125, done.described)
        self.assertIn("5009", done.stderr)
        output = self.assert_ok(self.tools.farport_run(
            "sh", "-c", 'ls "$TMPDIR"', "-p", "5003", remote=[self.agent.remote])).stdout
        self.assertIn("dotnet-diagnostic-", output)


class Loopback(Case):
    """An agent and its mirror on one host, over ::1."""

    @classmethod
    def prepare(cls):
        cls.runtime = cls.share(FakeRuntime(cls.lab, "--stream-bytes", 1_000_000, "--dump", "bytes:3000000"))
        pair = cls.lab.authority.server("six", "--dns", AGENT_NAME, "--ip", "::1")
        cls.agent = cls.share(cls.lab.agent(pair=pair, listen=[f"[::1]:{PORT}"]))
        cls.remote = f"[::1]:{PORT}"

    def farport(self, *arguments):
        return self.lab.far.run(needs.farport(), *arguments, *self.lab.tools_pair.flags())

    def test_listing_asking_and_dumping(self):
        listed = json.loads(self.assert_ok(self.farport("ps", self.remote, "--json")).stdout)
        self.assertEqual([runtime["pid"] for runtime in listed], [4711])
        self.assertEqual(listed[0]["agent"], self.remote)
        self.assertIn("yes", self.assert_ok(self.farport("can-i", self.remote)).stdout)
        path = os.path.join(self.lab.new_directory(self.lab.far, "dumps"), "x.dmp")
        self.assert_ok(self.farport("dump", f"{self.remote}/4711", "-o", path))
        self.assertEqual(os.path.getsize(path), 3_000_000)

    def test_a_mirror_and_a_session_through_it(self):
        directory = self.lab.new_directory(self.lab.far, "sockets")
        mirror = self.lab.far.start(needs.farport(), "connect", self.remote, "--socket-dir", directory, "--json",
                                    *self.lab.tools_pair.flags())
        self.addCleanup(mirror.stop)
        wait.until(lambda: "\n" in mirror.stdout(), lambda: f"it mirrors\n{mirror.output()}")
        path = json.loads(mirror.stdout().splitlines()[0])["runtime"]["socket"]
        self.assertEqual(ipc.parse_process_info(sockets.exchange(path, ipc.process_info()))[0], 4711)
        # OK and the session's id come first.
        answer = sockets.exchange(path, ipc.session(ipc.COLLECT_TRACING + 1), 20)
        self.assertEqual(len(answer), 1_000_000 + ipc.HEADER_BYTES + 8)

    def test_a_tool_that_is_told_the_address_in_brackets(self):
        done = self.lab.far.run(needs.farport(), "run", *self.lab.tools_pair.flags(), "--", "ls", "-d",
                                "--diagnostic-port", self.remote)
        # ls knows no such option, but is told the socket.
        self.assertIn("ls: unrecognized option '--diagnostic-port'", done.stderr)

    def test_another_name_for_it_is_refused(self):
        done = self.farport("ps", f"localhost:{PORT}")
        self.assertEqual(done.code, 1, done.described)
        self.assertIn("--server-name", done.stderr)
        self.assert_ok(self.farport("ps", f"localhost:{PORT}", "--server-name", AGENT_NAME))


if __name__ == "__main__":
    main()
