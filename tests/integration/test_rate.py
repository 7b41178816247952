"""An agent's limit on requests per second, as the tools behind a mirror meet it: not at all."""

import concurrent.futures
import itertools
import json
import time

from harness import api, ipc, needs, sockets, wait
from harness.case import Case, main
from harness.fake import FakeRuntime

SECONDS = 3.0


def command(path):
    """Whether one command is answered with OK; the answer where it is not."""
    answer = sockets.exchange(path, ipc.process_info(), seconds=30.0)
    return True if answer and ipc.is_ok(answer) else answer


class Rates(Case):
    """Each test has an agent of its own. Many commands at once want a runtime that answers many."""

    @classmethod
    def prepare(cls):
        cls.runtime = cls.share(FakeRuntime(cls.lab))
        cls.watcher_pair = cls.lab.authority.client("watcher")
        cls.ports = itertools.count(9200)

    def start(self, *limits, mirrors=1):
        """An agent with these limits, and mirrors of it; their sockets."""
        flags = [flag for limit in limits for flag in ("--limit", limit)]
        self.agent = self.use(self.lab.agent(*flags, "--allow-cn", "watcher=admin", port=next(self.ports)))
        self.api = api.Api(self.lab, self.watcher_pair, port=self.agent.port)
        self.mirrors = [self.use(self.lab.mirror(
            self.agent.remote, directory=self.lab.new_directory(self.lab.near, "sockets"))) for _ in range(mirrors)]
        return [mirror.wait_for(self.runtime)[0]["socket"] for mirror in self.mirrors]

    def as_fast_as_they_can(self, tools, paths, seconds=SECONDS):
        """So many tools, one command after the other; what each of their commands was answered."""
        end = time.monotonic() + seconds

        def tool(number):
            answers = []
            while time.monotonic() < end:
                answers.append(command(paths[number % len(paths)]))
            return answers

        with concurrent.futures.ThreadPoolExecutor(tools) as pool:
            return [answer for answers in pool.map(tool, range(tools)) for answer in answers]

    def at_once(self, count, path):
        """So many commands, none of which waits for another."""
        with concurrent.futures.ThreadPoolExecutor(count) as pool:
            return list(pool.map(command, [path] * count))

    def refused(self):
        """How many requests the agent has refused."""
        text = self.api.request("/v1/metrics").body.decode()
        name = 'farport_refused_total{reason="requests_per_second"} '
        return int(next(line for line in text.splitlines() if line.startswith(name)).rpartition(" ")[2])

    def assert_none_fails(self, answers):
        self.assertEqual([answer for answer in answers if answer is not True], [])

    def test_sixteen_tools_as_fast_as_they_can(self):
        self.assert_none_fails(self.as_fast_as_they_can(16, self.start()))

    def test_two_hundred_and_fifty_six_tools_as_fast_as_they_can(self):
        self.assert_none_fails(self.as_fast_as_they_can(256, self.start()))

    def test_throughput_settles_at_the_limit(self):
        limit = 100
        answers = self.as_fast_as_they_can(16, self.start(f"requests_per_second={limit}"), 4.0)
        self.assert_none_fails(answers)
        # A second's worth may come at once.
        self.assertLess(len(answers), 5.5 * limit)
        self.assertGreater(len(answers), 2.5 * limit)

    def test_far_more_at_once_than_the_limit_lets_pass(self):
        path, = self.start("requests_per_second=50")
        self.assert_none_fails(self.at_once(256, path))

    def test_mirrors_that_share_an_identity_share_its_limit(self):
        limit = 100
        paths = self.start(f"requests_per_second={limit}", mirrors=3)
        answers = self.as_fast_as_they_can(24, paths, 5.0)
        self.assert_none_fails(answers)
        self.assertGreater(len(answers), 2.5 * limit)
        # Each of them holds back instead of asking again and again.
        self.assertLess(self.refused(), 2 * len(answers))

    def test_a_session_that_breaks_while_the_limit_is_reached_comes_back(self):
        path, = self.start("requests_per_second=50")
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            running = pool.submit(self.as_fast_as_they_can, 64, [path], 6.0)
            time.sleep(2.0)
            self.lab.near.run(needs.program("ss"), "--kill", "--tcp", "dport", "=", f":{self.agent.port}")
            self.mirrors[0].wait_until_back()
            self.assert_none_fails(running.result())

    def test_a_list_is_waited_for(self):
        path, = self.start("requests_per_second=20")
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            running = pool.submit(self.as_fast_as_they_can, 64, [path])
            time.sleep(1.0)
            done = self.lab.near.run(needs.farport(), "ps", self.agent.remote, "--json", *self.lab.tools_pair.flags())
            self.assertEqual([row["pid"] for row in json.loads(self.assert_ok(done).stdout)], [self.runtime.pid_inside])
            self.assert_none_fails(running.result())

    def test_a_limit_of_connections_is_told_at_once(self):
        path, = self.start("connections_per_session=2")
        held = [sockets.connect(path) for _ in range(2)]
        for connection in held:
            self.addCleanup(connection.close)
            connection.sendall(ipc.session(ipc.COLLECT_TRACING_5))
            self.assertTrue(ipc.is_ok(connection.recv(28)))
        self.assertEqual(ipc.parse_error(sockets.exchange(path, ipc.process_info(), seconds=5.0)), 0x800700AA)
        wait.until(lambda: "limits.connections_per_session" in self.mirrors[0].process.stderr(), "the mirror says why")


if __name__ == "__main__":
    main()
