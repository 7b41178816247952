"""Who is refused, on either side, and that the agent goes on serving."""

import os
import ssl

from harness import needs, sockets, wait
from harness.agent import PORT
from harness.case import Case, main
from harness.certificates import AGENT_NAME, Authority

OTHER_NAME = "other.test"


class Refused(Case):
    @classmethod
    def prepare(cls):
        cls.application = cls.lab.orders()
        cls.agent = cls.share(cls.lab.agent())
        cls.agent.wait_for(cls.application)
        cls.others = Authority(f"{cls.lab.directory}/other-ca")
        cls.lab.near.know(OTHER_NAME, cls.lab.far.address)

    def tearDown(self):
        super().tearDown()
        self.agent.wait_for(self.application)

    def ps(self, pair, remote=None, *flags):
        return self.lab.near.run(needs.farport(), "ps", remote or self.agent.remote, *pair.flags(), *flags)

    def assert_agent_refuses(self, pair, *words):
        """That the agent turns a certificate away, tells its log why, and the caller hears of it."""
        before = len(self.agent.log())
        finished = self.ps(pair)
        self.assertEqual(finished.code, 1, finished.described)
        self.assertNotIn("orders", finished.stdout)
        self.assertTrue(finished.stderr.strip())
        wait.until(lambda: "refused" in self.agent.log()[before:], "the agent logs the refusal")
        for word in words:
            self.assertIn(word, self.agent.log()[before:])

    def assert_agent_refuses_in_handshake(self, pair, *words):
        """The same for a certificate that farport itself would not even present."""
        before = len(self.agent.log())
        with self.assertRaises(ssl.SSLError):
            self.handshake(lambda context: context.load_cert_chain(pair.cert, pair.key))

        def says_why():
            lines = self.agent.log()[before:].splitlines()
            return [line for line in lines if "refused" in line and all(word in line for word in words)]

        wait.until(says_why, lambda: f"the agent logs why\n{self.agent.log()}")

    def assert_mirror_refuses(self, remote, *words, flags=()):
        """That a mirror does not trust the agent, and says why."""
        finished = self.ps(self.lab.tools_pair, remote, *flags)
        self.assertEqual(finished.code, 1, finished.described)
        for word in words:
            self.assertIn(word, finished.stderr)

    def other_agent(self, pair, port):
        """An agent with another certificate."""
        return self.use(self.lab.agent(port=port, pair=pair))

    def start_openssl_server(self, pair, port):
        """OpenSSL's server in place of an agent, which would not start with such a certificate."""
        # It ends when its input does.
        ours, its = os.pipe()
        self.addCleanup(os.close, its)
        server = self.lab.far.start(
            needs.program("openssl"), "s_server", "-accept", str(port), "-cert", pair.cert, "-key", pair.key,
            "-CAfile", pair.ca, "-tls1_3", "-alpn", "h2", "-Verify", "1", stdin=ours)
        os.close(ours)
        self.addCleanup(server.kill)
        server.wait_for_output("ACCEPT")

    def handshake(self, configure):
        """A handshake as `configure` sets it up. TLS 1.3: a refusal comes with the first read."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.load_verify_locations(self.lab.tools_pair.ca)
        context.check_hostname = False
        configure(context)
        with context.wrap_socket(self.lab.near.connect(self.lab.far.address, PORT)) as connection:
            return connection.recv(1)

    def test_no_certificate(self):
        with self.assertRaisesRegex(ssl.SSLError, "CERTIFICATE_REQUIRED"):
            self.handshake(lambda context: None)
        wait.until(lambda: "certificate" in self.agent.log(), "the agent says that there was none")

    def test_a_certificate_of_another_ca(self):
        pair = self.others.client("tools")
        pair.ca = self.lab.tools_pair.ca
        # Several times, since the refusal comes sometimes before and sometimes after the first request.
        for _ in range(8):
            self.assert_agent_refuses(pair, "CA")

    def test_a_certificate_that_has_expired(self):
        self.assert_agent_refuses_in_handshake(self.lab.authority.with_dates("expired", -10, -1), "expired")

    def test_a_certificate_that_is_not_valid_yet(self):
        self.assert_agent_refuses_in_handshake(self.lab.authority.with_dates("early", 1, 10), "valid only from")

    def test_an_agents_certificate_used_as_a_clients(self):
        self.assert_agent_refuses_in_handshake(self.lab.agent_pair)

    def test_a_certificate_that_has_expired_is_not_even_presented(self):
        pair = self.lab.authority.with_dates("presented", -10, -1)
        finished = self.ps(pair)
        self.assertNotEqual(finished.code, 0)
        self.assertIn(pair.cert, finished.stderr)
        self.assertIn("expired", finished.stderr)

    def test_a_name_that_no_rule_allows(self):
        stranger = self.lab.authority.client("stranger")
        self.assert_agent_refuses(stranger, "stranger", "allow")
        self.assertIn("stranger", self.ps(stranger).stderr)

    def test_tls_1_2(self):
        def old(context):
            context.maximum_version = ssl.TLSVersion.TLSv1_2
            context.load_cert_chain(self.lab.tools_pair.cert, self.lab.tools_pair.key)

        with self.assertRaises((ssl.SSLError, ConnectionError)):
            self.handshake(old)
        wait.until(lambda: "TLS 1.3" in self.agent.log(), lambda: f"the agent says why\n{self.agent.log()}")

    def test_plaintext_to_the_tls_port(self):
        for said in (b"GET /v1/runtimes HTTP/1.1\r\nHost: agent\r\n\r\n", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"):
            with self.lab.near.connect(self.lab.far.address, PORT) as connection:
                connection.sendall(said)
                try:
                    answer = sockets.read_to_end(connection)
                except ConnectionResetError:
                    answer = b""
            # At most a TLS alert (RFC 8446 section 5.1: content type 21).
            self.assertIn(answer[:1], (b"", b"\x15"))
            self.assertLess(len(answer), 16)

    def test_an_agent_of_another_ca(self):
        pair = self.others.server("agent", "--dns", AGENT_NAME, "--ip", self.lab.far.address)
        self.assert_mirror_refuses(self.other_agent(pair, PORT + 1).remote, "CA")

    def test_an_agent_whose_certificate_has_expired(self):
        pair = self.lab.authority.with_dates("expired-agent", -10, -1, server=True)
        self.start_openssl_server(pair, 9005)
        self.assert_mirror_refuses(f"{AGENT_NAME}:9005", "expired")

    def test_an_agent_under_another_name(self):
        self.assert_mirror_refuses(f"{OTHER_NAME}:{PORT}", OTHER_NAME)

    def test_an_agent_under_another_name_is_accepted_where_that_name_is_asked_for(self):
        self.assert_ok(self.ps(self.lab.tools_pair, f"{OTHER_NAME}:{PORT}", "--server-name", AGENT_NAME))

    def test_an_agent_without_the_name_that_is_asked_for(self):
        self.assert_mirror_refuses(self.agent.remote, OTHER_NAME, flags=["--server-name", OTHER_NAME])

    def test_a_clients_certificate_used_as_an_agents(self):
        pair = self.lab.authority.client("no-agent", "--dns", AGENT_NAME, "--ip", self.lab.far.address)
        self.start_openssl_server(pair, 9006)
        self.assert_mirror_refuses(f"{AGENT_NAME}:9006", "server")

    def test_a_mirror_that_is_refused_says_why_and_offers_nothing(self):
        directory = self.lab.new_directory(self.lab.near, "sockets")
        mirror = self.lab.mirror(self.agent.remote, pair=self.lab.authority.client("visitor"), directory=directory)
        wait.until(lambda: "visitor" in mirror.process.stderr(), lambda: f"it says so\n{mirror.process.output()}")
        self.assertEqual(self.lab.near.sockets(directory), [])
        if mirror.process.running():
            mirror.stop()

    def test_rules_by_dns_name_and_by_uri_allow_just_those(self):
        uri = "spiffe://acme.example/ns/shop/sa/oncall"
        agent = self.use(self.lab.agent(port=PORT + 3, allow=(
            "--allow-dns", "laptop.test", "--allow-uri", "spiffe://acme.example/ns/*/sa/oncall")))
        self.assert_ok(self.ps(self.lab.authority.client("by-dns", "--dns", "laptop.test"), agent.remote))
        self.assert_ok(self.ps(self.lab.authority.client("by-uri", "--uri", uri), agent.remote))
        for pair in (self.lab.tools_pair, self.lab.authority.client("no-dns", "--dns", "desktop.test"),
                     self.lab.authority.client("no-uri", "--uri", uri + "/more")):
            self.assertEqual(self.ps(pair, agent.remote).code, 1)


if __name__ == "__main__":
    main()
