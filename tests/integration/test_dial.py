"""Agents that dial out to a mirror that accepts them, and proxies on the way."""

import base64
import os
import socket
import time

from harness import needs, proc, wait
from harness.agent import ALLOW_TOOLS
from harness.breaking import QUICK_PINGS
from harness.case import Case, main
from harness.fake import FakeRuntime
from harness.network import Network
from harness.recordings import Recordings

PORT = 9444
NAME = "laptop.test"
KNOCKS = 150


class Dialled(Case):
    """What these tests share: agents on the far host that listen nowhere, and a mirror on the near one."""

    @classmethod
    def prepare(cls):
        cls.network = Network(cls.lab)

    def agent(self, *flags, search=None, pair=None, allow=ALLOW_TOOLS, to=None):
        """An agent that dials the near host."""
        to = to or f"{self.lab.near.address}:{PORT}"
        process = self.lab.far.start(needs.farport(), "serve", "--dial", to, *(pair or self.lab.agent_pair).flags(),
                                     *allow, "--search", search or self.lab.far.tmp, *flags, name="farport-serve-dial")
        self.addCleanup(lambda: process.running() and process.stop())
        return process

    def mirror(self, *flags, address=None, **options):
        """A mirror that accepts agents."""
        address = address or f"{self.lab.near.address}:{PORT}"
        return self.use(self.lab.mirror(flags=["--accept", address, *flags], **options))


class Accepting(Recordings, Dialled):
    @classmethod
    def prepare(cls):
        super().prepare()
        cls.application = cls.lab.orders("--rate", "500")

    def test_a_recording_survives_each_kind_of_break(self):
        mirror = self.mirror(*QUICK_PINGS)
        self.agent(*QUICK_PINGS)
        row = mirror.wait_for(self.application)[0]
        tool, file = self.begin_recording(row)
        self.break_one_after_the_other(mirror, (self.reset, self.network_away, self.reset))
        self.end_recording(tool, file)
        mirror.stop()

    def reset(self):
        self.assertEqual(self.network.reset(PORT, "sport"), 1)

    def network_away(self):
        with self.network.dark():
            time.sleep(3)

    def test_the_agent_waits_for_a_mirror_and_for_the_next_one(self):
        agent = self.agent()
        wait.until(lambda: "farport connect --accept" in agent.stderr(), agent.output)
        for _ in range(2):
            mirror = self.mirror()
            mirror.wait_for(self.application)
            mirror.stop()
        # It has said once that nothing is there, each time.
        self.assertLessEqual(agent.stderr().count("dialling again"), 3, agent.stderr())
        self.assertEqual(agent.stop(), 0, agent.output())

    def test_a_tool_runs_with_an_agent_that_comes_while_it_waits(self):
        tool = self.lab.near.start(needs.farport(), "run", "--accept", f"{self.lab.near.address}:{PORT}",
                                   *self.lab.tools_pair.flags(), "--", needs.dotnet_trace(), "ps", name="farport-run")
        wait.until(lambda: proc.listens(tool.pid, PORT), tool.output)
        self.agent()
        self.assertEqual(tool.wait(), 0, tool.output())
        self.assertIn("orders", tool.stdout())

    def test_without_an_agent_it_says_so(self):
        done = self.lab.near.run(needs.farport(), "run", "--accept", f"{self.lab.near.address}:{PORT}",
                                 *self.lab.tools_pair.flags(), "--", "true")
        self.assertEqual(done.code, 125, done.described)
        self.assertIn("no agent has dialled in", done.stderr)

    def test_an_agent_that_is_confined_dials_by_name(self):
        self.lab.far.know(NAME, self.lab.near.address)
        mirror = self.mirror()
        agent = self.agent("--confine", "required", "--dump-directory", self.lab.new_directory(self.lab.far, "dumps"),
                           to=f"{NAME}:{PORT}")
        mirror.wait_for(self.application)
        self.assertIn("system calls filtered", agent.stderr())
        mirror.stop()

    def test_over_ipv6(self):
        address = f"[{self.lab.near.address6}]:{PORT}"
        mirror = self.mirror(address=address)
        self.agent(to=address)
        mirror.wait_for(self.application)
        mirror.stop()


class Strangers(Dialled):
    """Who else may knock, and what else may be dialled."""

    def runtimes(self, count):
        return [self.use(FakeRuntime(self.lab, pid=7000 + number, directory=self.lab.new_directory(self.lab.far, "search")))
                for number in range(count)]

    def test_ten_agents_of_one_certificate(self):
        runtimes = self.runtimes(10)
        mirror = self.mirror()
        for runtime in runtimes:
            self.agent(search=runtime.directory)
        mirror.wait_for(*runtimes)
        mirror.stop()

    def test_an_agent_that_goes_is_forgotten_after_the_grace(self):
        first, second = self.runtimes(2)
        mirror = self.mirror("--grace", "1s", *QUICK_PINGS)
        agents = [self.agent(search=runtime.directory) for runtime in (first, second)]
        mirror.wait_for(first, second)
        agents[0].stop()
        mirror.wait_for(second)
        mirror.stop()

    def test_a_mirror_without_a_grant_learns_nothing(self):
        runtime = self.runtimes(1)[0]
        mirror = self.mirror(pair=self.lab.authority.client("nobody"))
        agent = self.agent(search=runtime.directory)
        wait.until(lambda: "nobody" in agent.stderr(), agent.output)
        time.sleep(1)
        self.assertEqual(mirror.rows(), [])
        mirror.stop()

    def test_who_shows_no_agents_certificate_is_no_agent(self):
        mirror = self.mirror()
        wait.until(lambda: proc.listens(mirror.process.pid, PORT), mirror.process.output)
        self.assertEqual(self.pretend(self.lab.authority.client("eve"), "farport-agent 1 3f\\n"), "not agreed")
        wait.until(lambda: self.lab.far.address in mirror.process.stderr(), mirror.process.output)
        self.assertEqual(mirror.rows(), [])
        mirror.stop()

    def pretend(self, pair, words):
        """Dials the mirror as an agent would, says something, and returns what comes of it."""
        script = (f"import socket, ssl; c = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER); c.minimum_version = ssl.TLSVersion.TLSv1_3\n"
                  f"c.load_cert_chain({pair.cert!r}, {pair.key!r}); c.set_alpn_protocols(['h2'])\n"
                  f"plain = socket.create_connection(({self.lab.near.address!r}, {PORT}))\n"
                  f"try: s = c.wrap_socket(plain, server_side=True)\n"
                  f"except OSError: print('not agreed'); raise SystemExit\n"
                  f"s.settimeout(15)\n"
                  f"try: s.sendall('{words}'.encode()); print('closed' if not s.recv(1) else 'answered')\n"
                  f"except TimeoutError: print('kept')\n"
                  f"except OSError: print('closed')\n")
        return self.lab.far.run(needs.program("python3"), "-c", script).stdout.strip()

    def test_a_name_that_is_asked_for(self):
        runtime = self.runtimes(1)[0]
        mirror = self.mirror("--server-name", "other.test")
        agent = self.agent(search=runtime.directory)
        wait.until(lambda: "other.test" in mirror.process.stderr(), mirror.process.output)
        self.assertEqual(mirror.rows(), [])
        agent.stop()
        self.agent(search=runtime.directory, pair=self.lab.authority.server("other", "--dns", "other.test"))
        mirror.wait_for(runtime)
        mirror.stop()

    def test_those_who_knock_and_say_nothing_keep_no_agent_out(self):
        runtime = self.runtimes(1)[0]
        mirror = self.mirror()
        wait.until(lambda: proc.listens(mirror.process.pid, PORT), mirror.process.output)
        script = f"import socket, time; s = [socket.create_connection(({self.lab.near.address!r}, {PORT})) " \
                 f"for _ in range({KNOCKS})]; print('there', flush=True); time.sleep(600)"
        knocking = self.lab.far.start(needs.program("python3"), "-c", script, name="knocking")
        self.addCleanup(knocking.kill)
        wait.until(lambda: "there" in knocking.stdout(), knocking.output)
        self.agent(search=runtime.directory)
        mirror.wait_for(runtime)
        mirror.stop()

    def test_an_agent_that_says_nonsense_is_left(self):
        mirror = self.mirror()
        wait.until(lambda: proc.listens(mirror.process.pid, PORT), mirror.process.output)
        for words in ("HTTP/1.1 200 OK\\n", "farport-agent 1 \\n", "farport-agent 1 " + "x" * 4000, "\\x1b[2J\\n"):
            self.assertEqual(self.pretend(self.lab.agent_pair, words), "closed", words)
        self.assertIn("it does not say which agent it is", mirror.process.stderr())
        self.assertNotIn("\x1b", mirror.process.stderr())
        self.assertEqual(mirror.rows(), [])
        mirror.stop()

    def test_a_port_that_is_taken_is_said(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            done = self.lab.near.run(needs.farport(), "connect", "--accept", "10.77.0.99:1", *self.lab.tools_pair.flags())
        self.assertEqual(done.code, 1, done.described)
        self.assertIn("10.77.0.99:1", done.stderr)

    def test_what_does_not_go_together_is_wrong_configuration(self):
        for arguments, words in (
                (("connect", "agent.test:9000", "--accept", "127.0.0.1:1"), "name no other ones"),
                (("connect", "--via", "true", "--accept", "127.0.0.1:1"), "needs one of"),
                (("connect", "--accept", "127.0.0.1"), "127.0.0.1"),
                (("serve", "--dial", "nowhere", *ALLOW_TOOLS), "nowhere"),
                (("connect", "agent.test:9000", "--proxy", "socks5://x:1"), "only http:// proxies")):
            done = self.lab.near.run(needs.farport(), *arguments, *self.lab.tools_pair.flags())
            self.assertEqual(done.code, 2, done.described)
            self.assertIn(words, done.stderr)
        done = self.lab.near.run(needs.farport(), "connect", "--accept", "127.0.0.1:1")
        self.assertEqual(done.code, 2, done.described)
        self.assertIn("certificates", done.stderr)


class Proxies(Dialled):
    """An HTTP proxy on the far host, which alone knows the agent's name."""

    PORT = 3128

    @classmethod
    def prepare(cls):
        super().prepare()
        cls.application = cls.lab.orders("--rate", "200")
        cls.agent_there = cls.share(cls.lab.agent())
        cls.pair = cls.lab.authority.server("named", "--dns", "inside.test")

    def proxy(self, host, *arguments):
        """A proxy on a host."""
        process = host.start(needs.program("python3"), "-B", os.path.join(os.path.dirname(__file__), "harness", "http_proxy.py"),
                             str(self.PORT), *arguments, name="http-proxy")
        self.addCleanup(process.kill)
        wait.until(lambda: proc.listens(process.pid, self.PORT), process.output)
        return f"http://{host.address}:{self.PORT}"

    def ps(self, *flags, remote=None, **options):
        return self.lab.near.run(needs.farport(), "ps", remote or self.agent_there.remote,
                                 *self.lab.tools_pair.flags(), *flags, **options)

    def test_every_command_dials_through_it(self):
        url = self.proxy(self.lab.far, f"inside.test={self.agent_there.remote}")
        remote = "inside.test:9000"
        name = ("--server-name", "agent.test")
        done = self.assert_ok(self.ps("--proxy", url, *name, remote=remote))
        self.assertIn("orders", done.stdout)
        done = self.assert_ok(self.ps(*name, remote=remote, environment={"HTTPS_PROXY": url}))
        self.assertIn("orders", done.stdout)
        path = os.path.join(self.lab.new_directory(self.lab.near, "dump"), "orders.dmp")
        self.assert_ok(self.lab.near.run(needs.farport(), "dump", remote, "--type", "mini", "-o", path, "--proxy", url, *name,
                                         *self.lab.tools_pair.flags()))
        self.assertGreater(os.path.getsize(path), 100_000)
        mirror = self.use(self.lab.mirror(remote, flags=["--proxy", url, *name]))
        mirror.wait_for(self.application)
        mirror.stop()

    def test_where_it_is_left_out(self):
        nowhere = "http://10.77.0.99:1"
        self.assert_ok(self.ps(environment={"HTTPS_PROXY": nowhere, "NO_PROXY": "10.77.0.0/24"}))
        self.assert_ok(self.ps("--proxy", "none", environment={"HTTPS_PROXY": nowhere}))

    def test_a_password(self):
        secret = base64.b64encode(b"alice:top secret").decode()
        url = self.proxy(self.lab.far, f"--password={secret}")
        done = self.ps("--proxy", url)
        self.assertEqual(done.code, 1, done.described)
        self.assertIn("407", done.stderr)
        self.assertIn("NAME:PASSWORD", done.stderr)
        with_password = url.replace("//", "//alice:top%20secret@")
        self.assert_ok(self.ps("--proxy", with_password))
        wrong = self.ps("--proxy", url.replace("//", "//alice:bad%20secret@"))
        self.assertEqual(wrong.code, 1)
        self.assertNotIn("bad", wrong.stderr)

    def test_one_that_means_no_good(self):
        for way, words in (("refuse", "403"), ("nonsense", "no HTTP proxy"), ("endless", "HTTP"), ("close", "no HTTP proxy")):
            with self.subTest(way):
                process = self.lab.far.start(
                    needs.program("python3"), "-B", os.path.join(os.path.dirname(__file__), "harness", "http_proxy.py"), "3129",
                    f"--answer={way}", name="http-proxy")
                wait.until(lambda process=process: proc.listens(process.pid, 3129), process.output)
                done = self.ps("--proxy", f"http://{self.lab.far.address}:3129")
                process.kill()
                self.assertEqual(done.code, 1, done.described)
                self.assertIn(words, done.stderr)
                self.assertNotIn("\x1b", done.stderr)

    def test_an_agent_dials_out_through_it(self):
        url = self.proxy(self.lab.near, f"{NAME}={self.lab.near.address}:{PORT}", "--delay=0.3")
        runtime = self.use(FakeRuntime(self.lab, pid=7100, directory=self.lab.new_directory(self.lab.far, "search")))
        mirror = self.mirror()
        self.agent("--proxy", url, search=runtime.directory, to=f"{NAME}:{PORT}")
        mirror.wait_for(runtime)
        mirror.stop()


if __name__ == "__main__":
    main()
