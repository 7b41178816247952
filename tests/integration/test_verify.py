"""Which agent a mirror accepts, whom an agent lets in by address, and keys of every usual kind."""

import os

from harness import needs
from harness.agent import PORT
from harness.case import Case, main
from harness.certificates import AGENT_NAME, Pair
from harness.fake import FakeRuntime

URI = "spiffe://acme.example/ns/shop/sa/agent"
OTHER_PIN = "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="


class Verified(Case):
    @classmethod
    def prepare(cls):
        cls.runtime = cls.share(FakeRuntime(cls.lab))
        cls.pair = cls.lab.authority.server("orders-agent", "--dns", AGENT_NAME, "--ip", cls.lab.far.address, "--uri", URI)
        cls.agent = cls.share(cls.lab.agent(pair=cls.pair))
        cls.pin = cls.lab.near.run(needs.farport(), "check", "agent.test:9000", *cls.pair.flags()).stdout.partition(
            "; pin ")[2].split()[0]

    def farport(self, command, *arguments):
        return self.lab.near.run(needs.farport(), command, *arguments, *self.lab.tools_pair.flags())

    def test_an_agent_of_the_name_the_uri_or_the_key_that_is_asked_for_is_accepted(self):
        for flags in (["--verify-cn", "orders-agent"], ["--verify-uri", "spiffe://acme.example/ns/*/sa/agent"],
                      ["--verify-pin", self.pin], ["--verify-cn", "another", "--verify-cn", "orders-agent"],
                      ["--verify-cn", "orders-agent", "--verify-uri", URI, "--verify-pin", self.pin]):
            listed = self.assert_ok(self.farport("ps", self.agent.remote, *flags))
            self.assertIn("4711", listed.stdout)

    def test_another_agent_of_the_same_ca_is_refused_by_every_command(self):
        for flags, words in ((["--verify-cn", "billing-agent"], "the common name billing-agent (--verify-cn)"),
                             (["--verify-uri", URI + "s"], f"the URI {URI}s (--verify-uri)"),
                             (["--verify-pin", OTHER_PIN], f"its pin is {self.pin}"),
                             (["--verify-cn", "orders-agent", "--verify-pin", OTHER_PIN], "--verify-pin")):
            for command in ("ps", "can-i", "dump"):
                refused = self.farport(command, self.agent.remote, *flags)
                self.assertEqual(refused.code, 1, refused.described)
                self.assertIn(words, refused.stderr)
        refused = self.farport("run", "--verify-cn", "billing-agent", self.agent.remote, "--", "true")
        self.assertNotEqual(refused.code, 0, refused.described)

    def test_a_mirror_offers_nothing_of_another_agent(self):
        directory = self.lab.new_directory(self.lab.near, "sockets")
        mirror = self.use(self.lab.mirror(self.agent.remote, directory=directory, flags=("--verify-pin", OTHER_PIN)))
        mirror.process.wait_for_output("--verify-pin")
        self.assertEqual(self.lab.near.sockets(directory), [])

    def test_a_profile_says_which_agent_is_meant(self):
        configuration = os.path.join(self.lab.new_directory(self.lab.near, "profile"), "config.toml")
        with open(configuration, "w", encoding="ascii") as file:
            for name, pin in (("right", self.pin), ("wrong", OTHER_PIN)):
                file.write(f'[remotes.{name}]\naddress = "{self.agent.remote}"\nverify = {{ pin = "{pin}" }}\n')
        self.assert_ok(self.farport("ps", "right", "--config", configuration))
        self.assertEqual(self.farport("ps", "wrong", "--config", configuration).code, 1)

    def test_what_can_never_be_so_is_wrong_usage(self):
        for flags in (["--verify-pin", "short"], ["--verify-uri", "*"], ["--verify-cn", ""]):
            wrong = self.farport("ps", self.agent.remote, *flags)
            self.assertEqual(wrong.code, 2, wrong.described)

    def test_rules_by_address_allow_just_those(self):
        agent = self.use(self.lab.agent(port=PORT + 1, allow=("--allow-ip", "10.9.8.7", "--allow-ip", "FD00:0::7")))
        for name, address, code in (("v4", "10.9.8.7", 0), ("v6", "fd00::7", 0), ("no-ip", "10.9.8.70", 1)):
            pair = self.lab.authority.client(name, "--ip", address)
            done = self.lab.near.run(needs.farport(), "ps", agent.remote, *pair.flags())
            self.assertEqual(done.code, code, done.described)


class Keys(Case):
    """Keys that a company's own PKI issues: `farport certs` makes P-256 alone."""

    @classmethod
    def prepare(cls):
        cls.runtime = cls.share(FakeRuntime(cls.lab))

    def issue(self, name, server, *algorithm):
        """A certificate of the lab's CA with a key of this kind."""
        directory = self.lab.new_directory(self.lab.near, "keys")
        pair = Pair(directory, name, ca=self.lab.tools_pair.ca)
        request, extensions = os.path.join(directory, "request"), os.path.join(directory, "extensions")
        with open(extensions, "w", encoding="ascii") as file:
            file.write(f"subjectAltName = DNS:{AGENT_NAME}, IP:{self.lab.far.address}\n"
                       f"extendedKeyUsage = {'serverAuth' if server else 'clientAuth'}\n")
        openssl = self.lab.authority.openssl
        openssl("req", "-new", "-newkey", *algorithm, "-nodes", "-subj", f"/CN={name}", "-keyout", pair.key, "-out",
                request)
        openssl("x509", "-req", "-in", request, "-days", "2", "-extfile", extensions, "-CA", pair.ca, "-CAkey",
                os.path.join(self.lab.authority.directory, "ca.key"), "-out", pair.cert)
        return pair

    def test_keys_of_every_usual_kind_serve_both_sides(self):
        for number, algorithm in enumerate((("ed25519",), ("rsa:2048",), ("rsa:4096",),
                                            ("ec", "-pkeyopt", "ec_paramgen_curve:P-384"))):
            with self.subTest(algorithm=algorithm[0]):
                agent = self.use(self.lab.agent(port=PORT + number, pair=self.issue("agent", True, *algorithm)))
                client = self.issue("tools", False, *algorithm)
                done = self.assert_ok(self.lab.near.run(needs.farport(), "ps", agent.remote, *client.flags()))
                self.assertIn("4711", done.stdout)

    def test_a_key_that_is_too_weak_is_named(self):
        weak = self.issue("weak", False, "rsa:1024")
        done = self.lab.near.run(needs.farport(), "ps", "agent.test:9000", *weak.flags())
        self.assertEqual(done.code, 2, done.described)
        self.assertIn(weak.cert, done.stderr)
        self.assertIn("issue a stronger one", done.stderr)


if __name__ == "__main__":
    main()
