"""The command line: tables, JSON, exit codes, configuration, certificates."""

import json
import os
import stat

from harness import needs
from harness.agent import PORT
from harness.case import Case, main

COMMANDS = ("serve", "connect", "disconnect", "run", "ps", "can-i", "certs", "check", "doctor")


class CommandLine(Case):
    @classmethod
    def prepare(cls):
        cls.application = cls.lab.orders()
        cls.agent = cls.share(cls.lab.agent())
        cls.runtime = cls.agent.wait_for(cls.application)[0]

    def farport(self, *arguments, **options):
        return self.lab.near.run(needs.farport(), *arguments, **options)

    def write(self, name, text):
        """A configuration file on the near host."""
        path = os.path.join(self.lab.new_directory(self.lab.near, "configuration"), name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def assert_wrong(self, finished, *words):
        """That it was wrong usage, and that the message has these words."""
        self.assertEqual(finished.code, 2, finished.described)
        for word in words:
            self.assertIn(word, finished.stderr)

    def test_ps_prints_a_table(self):
        finished = self.assert_ok(self.farport("ps", self.agent.remote, *self.lab.tools_pair.flags()))
        heading, line = finished.stdout.splitlines()
        self.assertTrue(heading.startswith("REMOTE PID"), heading)
        self.assertEqual(line.split()[:2], [str(self.application.pid_inside), "orders"])
        self.assertIn(self.agent.remote, line)
        self.assertIn("orders.dll --seconds 3600", line)

    def test_ps_prints_json_for_scripts(self):
        finished = self.assert_ok(self.farport("ps", self.agent.remote, "--json", *self.lab.tools_pair.flags()))
        runtime, = json.loads(finished.stdout)
        self.assertEqual(runtime["pid"], self.application.pid_inside)
        self.assertEqual(runtime["agent"], self.agent.remote)
        self.assertEqual(runtime["id"], self.runtime["id"])

    def test_ps_of_several_agents_lists_what_it_can_and_fails_for_the_rest(self):
        gone = f"{self.lab.far.address}:9009"
        finished = self.farport("ps", gone, self.agent.remote, "--json", *self.lab.tools_pair.flags())
        self.assertEqual(finished.code, 1, finished.described)
        self.assertEqual(len(json.loads(finished.stdout)), 1)
        self.assertIn(gone, finished.stderr)

    def test_ps_of_a_name_that_does_not_exist_names_it(self):
        finished = self.farport("ps", "nowhere.test:9000", *self.lab.tools_pair.flags())
        self.assertEqual(finished.code, 1, finished.described)
        self.assertIn("nowhere.test", finished.stderr)

    def test_a_remote_without_a_port_is_wrong_usage(self):
        self.assert_wrong(self.farport("ps", "agent.test", *self.lab.tools_pair.flags()), "agent.test")

    def test_an_unknown_flag_is_wrong_usage_and_the_right_one_is_suggested(self):
        self.assert_wrong(self.farport("serve", "--alow-cn", "tools"), "--alow-cn", "--allow-cn")

    def test_wrong_usage_points_to_the_help_of_that_command_and_guesses_at_no_other_ones_options(self):
        self.assert_wrong(self.farport("certs", "init"), "DIR", "see farport certs init --help")
        finished = self.farport("ps", "--nope", self.agent.remote)
        self.assert_wrong(finished, "--nope", "see farport ps --help")
        self.assertNotIn("did you mean", finished.stderr)

    def test_a_missing_certificate_is_wrong_configuration_and_is_named(self):
        finished = self.farport("ps", self.agent.remote, "--tls-cert", "/nowhere.crt", "--tls-key",
                                self.lab.tools_pair.key, "--tls-ca", self.lab.tools_pair.ca)
        self.assert_wrong(finished, "/nowhere.crt")

    def test_a_key_of_another_certificate_is_wrong_configuration(self):
        pair = self.lab.tools_pair
        finished = self.farport("ps", self.agent.remote, "--tls-cert", pair.cert, "--tls-key", self.lab.agent_pair.key,
                                "--tls-ca", pair.ca)
        self.assert_wrong(finished, "agent.key")

    def test_the_environment_serves_where_flags_are_not_given_and_flags_win(self):
        variables = self.lab.tools_pair.environment()
        self.assert_ok(self.farport("ps", self.agent.remote, environment=variables))
        wrong = variables | {"FARPORT_SERVER_NAME": "other.test"}
        self.assertEqual(self.farport("ps", self.agent.remote, environment=wrong).code, 1)
        self.assert_ok(self.farport("ps", self.agent.remote, "--server-name", "agent.test", environment=wrong))

    def test_a_profile_of_the_configuration_file_stands_for_a_remote(self):
        home = self.lab.new_directory(self.lab.near, "home")
        directory = os.path.join(home, ".config", "farport")
        os.makedirs(directory)
        pair = self.lab.tools_pair
        with open(os.path.join(directory, "config.toml"), "w", encoding="ascii") as file:
            file.write(f'[remotes.prod-orders]\naddress = "127.0.0.1:9000"\n'
                       f'tls = {{ cert = "{pair.cert}", key = "{pair.key}", ca = "{pair.ca}" }}\n'
                       f'[remotes.shop]\naddress = ["{self.agent.remote}"]\nserver_name = "agent.test"\n'
                       f'tls = {{ cert = "{pair.cert}", key = "{pair.key}", ca = "{pair.ca}" }}\n')
        finished = self.assert_ok(self.farport("ps", "shop", "--json", environment={"HOME": home}))
        self.assertEqual(len(json.loads(finished.stdout)), 1)
        self.assert_wrong(self.farport("ps", "shopp", environment={"HOME": home}), "shopp", "shop")

    def test_an_agent_can_be_configured_by_its_file_alone(self):
        pair = self.lab.agent_pair
        path = self.write("agent.toml", (
            f'listen = ["{self.lab.far.address}:{PORT + 1}"]\n[tls]\ncert = "{pair.cert}"\nkey = "{pair.key}"\n'
            f'ca = "{pair.ca}"\n[allow]\ncn = ["tools"]\n[runtimes]\nsearch = ["{self.lab.far.tmp}"]\n'))
        agent = self.lab.far.start(needs.farport(), "serve", "--config", path)
        agent.wait_for_output("listening")
        self.assert_ok(self.farport("ps", f"{self.lab.far.address}:{PORT + 1}", *self.lab.tools_pair.flags()))
        self.assertEqual(agent.stop(), 0, agent.output())

    def assert_reported(self, path, *words):
        """That a mistake in a file stops `serve`, and that `check` tells of it as well."""
        self.assert_wrong(self.farport("serve", "--config", path), *words)
        finished = self.farport("check", "--config", path)
        self.assertNotEqual(finished.code, 0, finished.described)
        for word in words:
            self.assertIn(word, finished.text)

    def test_an_unknown_key_is_reported_with_its_place_and_a_suggestion(self):
        path = self.write("agent.toml", '[runtimes]\nserach = ["/tmp"]\n')
        self.assert_reported(path, f"{path}:2:1", "serach", "search")

    def test_a_value_of_the_wrong_type_is_reported_with_its_place(self):
        path = self.write("agent.toml", "[log]\nlevel = 7\n")
        self.assert_reported(path, f"{path}:2:9", "string")

    def test_check_accepts_what_serve_would_run_with(self):
        self.assert_ok(self.farport("check", *self.lab.agent_pair.flags(), "--allow-cn", "tools", "--listen",
                                    f"127.0.0.1:{PORT}"))

    def test_check_prints_json_for_scripts(self):
        finished = self.assert_ok(self.farport("check", "--json", *self.lab.agent_pair.flags(), "--allow-cn", "tools",
                                               "--listen", f"127.0.0.1:{PORT}"))
        findings = json.loads(finished.stdout)
        self.assertEqual({finding["level"] for finding in findings} - {"ok", "warning"}, set())
        self.assertIn("search directory", " ".join(finding["text"] for finding in findings))

    def test_check_says_that_a_certificate_has_expired(self):
        pair = self.lab.authority.with_dates("old", -10, -1, server=True)
        finished = self.farport("check", *pair.flags(), "--allow-cn", "tools", "--listen", f"127.0.0.1:{PORT}")
        self.assertIn(finished.code, (1, 2), finished.described)
        self.assertIn("expired", finished.text)

    def test_certificates_are_never_overwritten_silently(self):
        directory = self.lab.new_directory(self.lab.near, "ca")
        self.assert_ok(self.farport("certs", "init", directory))
        self.assert_ok(self.farport("certs", "client", directory, "--name", "alice"))
        before = {name: open(os.path.join(directory, name), "rb").read() for name in sorted(os.listdir(directory))}
        self.assertEqual(list(before), ["alice.crt", "alice.key", "ca.crt", "ca.key"])
        for arguments in (("init", directory), ("client", directory, "--name", "alice"),
                          ("server", directory, "--name", "alice")):
            finished = self.farport("certs", *arguments)
            self.assertEqual(finished.code, 1, finished.described)
            self.assertIn("exists", finished.stderr)
        after = {name: open(os.path.join(directory, name), "rb").read() for name in sorted(os.listdir(directory))}
        self.assertEqual(after, before)

    def test_keys_are_for_their_owner_only(self):
        for key in (self.lab.agent_pair.key, self.lab.tools_pair.key, f"{self.lab.authority.directory}/ca.key"):
            self.assertEqual(stat.S_IMODE(os.stat(key).st_mode), 0o600, key)

    def test_openssl_finds_the_certificates_in_order(self):
        for pair, purpose in ((self.lab.agent_pair, "sslserver"), (self.lab.tools_pair, "sslclient")):
            finished = self.lab.near.run(needs.program("openssl"), "verify", "-x509_strict", "-purpose", purpose,
                                         "-CAfile", pair.ca, pair.cert)
            self.assert_ok(finished)

    def test_help_teaches_with_examples(self):
        self.assertIn("farport", self.assert_ok(self.farport("--help")).stdout)
        for command in COMMANDS:
            self.assertIn(f"farport {command}", self.assert_ok(self.farport(command, "--help")).stdout)

    def test_help_is_had_by_its_name_too_and_has_no_leftovers_of_the_parser(self):
        self.assertEqual(self.assert_ok(self.farport("help")).stdout, self.farport("--help").stdout)
        self.assertIn("farport ps orders", self.assert_ok(self.farport("help", "ps")).stdout)
        self.assertIn("--allow-all", self.assert_ok(self.farport("serve", "--help")).stdout)
        self.assertNotIn("{}", self.farport("serve", "--help").stdout)

    def test_common_options_stand_in_the_whole_help_alone(self):
        short = self.assert_ok(self.farport("counters", "--help")).stdout
        self.assertIn("farport counters --help-all", short)
        self.assertNotIn("--tls-cert", short)
        self.assertIn("--tls-cert", self.assert_ok(self.farport("counters", "--help-all")).stdout)
        self.assertIn("--accept", self.assert_ok(self.farport("run", "--help-all")).stdout)
        self.assertNotIn("--help-all", self.assert_ok(self.farport("certs", "init", "--help")).stdout)
        self.assertEqual(self.assert_ok(self.farport("help-all")).stdout.count("--tls-cert FILE"), 1)

    def test_help_all_prints_every_command_for_people_and_for_programs(self):
        text = self.assert_ok(self.farport("help-all")).stdout
        for command in COMMANDS:
            self.assertIn(f"farport {command} ", text)
        said = json.loads(self.assert_ok(self.farport("help-all", "--format", "json")).stdout)
        self.assertEqual(set(COMMANDS) - {command["name"] for command in said["commands"]}, set())
        settings = {setting["key"]: setting for setting in said["all_settings"]}
        self.assertEqual(settings["session.grace"]["default"], "30s")
        self.assertEqual(settings["session.grace"]["variable"], "FARPORT_GRACE")
        self.assertIn("--type", [name for command in said["commands"] if command["name"] == "dump"
                                 for option in command["options"] for name in option["names"]])
        self.assert_wrong(self.farport("help-all", "--format", "yaml"), "--format")

    def test_a_wrong_log_level_is_reported_with_the_rest_of_the_configuration(self):
        self.assert_wrong(self.farport("serve", "--log-level", "loud", "--grace", "soon"), "loud", "debug", "soon")

    def test_what_stands_in_the_wrong_place_is_said_with_the_right_one(self):
        self.assert_wrong(self.farport("run", "orders:9000", "dotnet-trace", "collect", "-p", "1"),
                          "farport run orders:9000 -- dotnet-trace collect -p 1")
        self.assert_wrong(self.farport("--tls-ca", "x", "ps", "orders:9000"), "farport ps --tls-ca x orders:9000")

    def test_a_value_is_not_taken_for_a_misspelt_command(self):
        finished = self.farport("ps", "orders:9000", "--tls-crt", "x")
        self.assert_wrong(finished, "--tls-cert")
        self.assertNotIn('for "x"', finished.stderr)

    def test_addresses_that_are_nearly_right_are_put_right(self):
        pair = self.lab.tools_pair.flags()
        self.assert_wrong(self.farport("ps", "https://orders.example:9000/", *pair), "write HOST:PORT alone: orders.example:9000")
        self.assert_wrong(self.farport("serve", "--listen", ":9005", "--allow-all", *self.lab.agent_pair.flags()),
                          ":9005", "0.0.0.0:PORT")

    def test_a_path_in_the_file_may_begin_with_the_home_directory(self):
        pair = self.lab.tools_pair
        home = os.path.dirname(pair.cert)
        name = os.path.basename
        path = self.write("config.toml", f'[tls]\ncert = "~/{name(pair.cert)}"\nkey = "~/{name(pair.key)}"\n'
                                         f'ca = "{pair.ca}"\n')
        self.assert_ok(self.farport("ps", self.agent.remote, "--config", path, environment={"HOME": home}))

    def test_a_socket_directory_that_is_too_long_is_named_with_what_to_do(self):
        directory = os.path.join(self.lab.new_directory(self.lab.near, "long"), "x" * 60)
        os.mkdir(directory)
        finished = self.farport("connect", self.agent.remote, "--socket-dir", directory, *self.lab.tools_pair.flags())
        self.assertEqual(finished.code, 1, finished.described)
        for word in (directory, "too long", "--socket-dir"):
            self.assertIn(word, finished.stderr)

    def test_a_selection_that_fits_nothing_is_said(self):
        mirror = self.use(self.lab.mirror(self.agent.remote, flags=["--select", "billing"]))
        mirror.process.wait_for_output("--select fits none of the 1 runtimes")
        mirror.stop()

    def test_version_is_printed(self):
        self.assertRegex(self.assert_ok(self.farport("--version")).stdout, r"^farport \d+\.\d+\.\d+")

    def test_an_unknown_command_is_wrong_usage(self):
        self.assert_wrong(self.farport("conect"), "conect")

    def test_logs_can_be_json_lines(self):
        agent = self.lab.agent("--log-format", "json", port=PORT + 2)
        agent.wait_for(self.application)
        agent.stop()
        lines = [json.loads(line) for line in agent.log().splitlines()]
        self.assertGreater(len(lines), 1)

    def test_the_log_level_is_obeyed(self):
        agent = self.lab.agent("--log-level", "error", port=PORT + 2)
        agent.wait_for(self.application)
        agent.stop()
        self.assertEqual(agent.log(), "")


if __name__ == "__main__":
    main()
