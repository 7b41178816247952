"""What somebody may do, as the agent says it (can-i) and as its configuration says it (check --as)."""

import json
import os
import re

from harness import ipc, needs, wait
from harness.api import Api
from harness.case import Case, main

CONFIGURATION = """
listen = "127.0.0.1:9010"
[tls]
cert = "{cert}"
key = "{key}"
ca = "{ca}"
[roles.resetter]
commands = ["SetEnvironmentVariable"]
[[grants]]
cn = "alice"
[[grants]]
cn = "alice"
role = "operator"
runtimes = {{ name = "billing" }}
[[grants]]
cn = "bob"
role = "admin"
[[grants]]
cn = "carol"
role = "resetter"
runtimes = {{ command_line = "*orders*" }}
"""
# A command that can be tried without harm, and what it is called.
TRIED = {
    "ProcessInfo": ipc.process_info(),
    "ProcessEnvironment": ipc.message(ipc.PROCESS, ipc.PROCESS_ENVIRONMENT),
    "SetEnvironmentVariable": ipc.set_variable("FARPORT_TEST_CAN_I", "1"),
    "StartupProfiler": ipc.startup_profiler("/nowhere.so"),
    "UnknownCommand": ipc.message(ipc.PROCESS, 0x7E),
}


class CanI(Case):
    @classmethod
    def prepare(cls):
        cls.orders = cls.lab.orders()
        cls.billing = cls.lab.orders(directory=cls.lab.new_directory(cls.lab.far, "billing"))
        cls.configuration = os.path.join(cls.lab.far.directory, "agent.toml")
        pair = cls.lab.agent_pair
        with open(cls.configuration, "w", encoding="ascii") as file:
            file.write(CONFIGURATION.format(cert=pair.cert, key=pair.key, ca=pair.ca))
        cls.agent = cls.share(cls.lab.agent("--runtime", f"billing={cls.billing.socket}",
                                            allow=("--config", cls.configuration)))
        cls.apis = {name: Api(cls.lab, cls.lab.authority.client(name)) for name in ("alice", "bob", "carol")}
        wait.until(lambda: len(cls.apis["bob"].runtimes()) == 2, cls.agent.log)
        cls.strangers = cls.lab.authority.client("stranger")

    def can_i(self, pair, *arguments):
        return self.lab.near.run(needs.farport(), "can-i", self.agent.remote, *arguments, *pair.flags())

    def check(self, *arguments):
        return self.lab.near.run(needs.farport(), "check", "--config", self.configuration, *arguments)

    @staticmethod
    def rows(finished):
        """The lines of the table by their command."""
        heading, *lines = finished.stdout.splitlines()
        if heading.split()[0] != "COMMAND":
            raise AssertionError(finished.described)
        rows = {}
        for line in lines:
            rows.setdefault(line.split()[0], []).append(line)
        return rows

    def test_all_commands_are_listed_with_what_allows_them_or_why_not(self):
        rows = self.rows(self.assert_ok(self.can_i(self.apis["alice"].pair, "--all")))
        self.assertEqual(len(rows), 27)
        self.assertRegex(rows["ProcessInfo"][0], r"every one +yes +observer \(grant 1\)$")
        self.assertEqual(len(rows["GenerateCoreDump3"]), 2)
        by_runtime = {line.split()[1]: line for line in rows["GenerateCoreDump3"]}
        self.assertRegex(by_runtime["billing"], rf"\(pid {self.billing.pid_inside}\) +yes +operator \(grant 2\)$")
        self.assertRegex(by_runtime["orders"], r" no +GenerateCoreDump3 takes the role operator or admin; CN=alice has")

    def test_it_answers_in_the_words_of_those_who_ask(self):
        heading, *lines = self.assert_ok(self.can_i(self.apis["alice"].pair)).stdout.splitlines()
        self.assertRegex(heading, r"^MAY I +RUNTIME +ALLOWED +BY, OR WHY NOT$")
        found = {}
        for line in lines:
            found.setdefault(line.split("  ")[0], []).append(line)
        for word in ("trace (dotnet-trace)", "count (dotnet-counters)", "see stacks (dotnet-stack)",
                     "see the heap (dotnet-gcdump)", "see what happened before (farport recent)"):
            self.assertRegex(found[word][0], r"every one +yes +observer \(grant 1\)$")
        self.assertRegex(found["see the kernel in that"][0], r" no +profile-kernel takes the role admin; CN=alice")
        for word, permission in (("profile the processor (farport profile)", "profile"),
                                 ("dump (dotnet-dump, farport dump)", "GenerateCoreDump3")):
            by_runtime = {re.split(r" {2,}", line)[1].split()[0]: line for line in found[word]}
            self.assertRegex(by_runtime["billing"], r" yes +operator \(grant 2\)$")
            self.assertRegex(by_runtime["orders"], rf" no +{permission} takes the role operator or admin")

    def test_scripts_get_json(self):
        rows = json.loads(self.assert_ok(self.can_i(self.apis["alice"].pair, "--json")).stdout)
        self.assertEqual(len(rows), 2 * 27)
        row, = [row for row in rows if row["command"] == "GenerateCoreDump3" and row["runtime"]["name"] == "billing"]
        self.assertEqual((row["allowed"], row["role"], row["agent"]), (True, "operator", self.agent.remote))

    def test_the_exit_code_answers_for_one_command(self):
        self.assert_ok(self.can_i(self.apis["bob"].pair, "SetEnvironmentVariable"))
        # Allowed for one of two is not allowed.
        for pair in (self.apis["alice"].pair, self.apis["bob"].pair):
            self.assertEqual(self.can_i(pair, "BlockingSession").code, 1)
        self.assertEqual(self.can_i(self.apis["alice"].pair, "GenerateCoreDump3").code, 1)
        self.assert_ok(self.can_i(self.apis["alice"].pair, "CollectTracing2"))

    def test_a_misspelt_command_is_wrong_usage_with_a_suggestion(self):
        finished = self.can_i(self.apis["bob"].pair, "GenerateCoreDmp3")
        self.assertEqual(finished.code, 2, finished.described)
        self.assertIn("did you mean GenerateCoreDump3?", finished.stderr)

    def test_a_caller_without_a_role_is_told_so(self):
        finished = self.can_i(self.strangers)
        self.assertEqual(finished.code, 1, finished.described)
        self.assertIn("CN=stranger has no role", finished.stderr)

    def test_an_agent_that_is_not_there_is_a_failure(self):
        finished = self.lab.near.run(needs.farport(), "can-i", f"{self.lab.far.address}:9099",
                                     *self.lab.tools_pair.flags())
        self.assertEqual(finished.code, 1, finished.described)

    def test_what_is_said_is_what_the_agent_does(self):
        for name, api in self.apis.items():
            visible = api.runtimes()
            answers = {(row["command"], row["runtime"]["pid"]): row for row in api.json("/v1/access")}
            for command, message in TRIED.items():
                for pid, runtime in visible.items():
                    done = api.post(runtime["id"], message)
                    row = answers[command, pid]
                    self.assertEqual(done.status == 200, row["allowed"], (name, command, done))
                    if not row["allowed"]:
                        self.assertEqual(done.error, row["why"])

    def test_the_api_answers_for_one_command_or_says_that_there_is_none(self):
        rows = self.apis["bob"].json("/v1/access?command=ProcessInfo")
        self.assertEqual([row["command"] for row in rows], ["ProcessInfo"] * 2)
        answer = self.apis["bob"].request("/v1/access?command=ProcessInf")
        self.assertEqual((answer.status, answer.error), (400, "there is no command ProcessInf"))

    def test_check_says_the_same_without_an_agent(self):
        for name, on, allowed in (("alice", "billing", True), ("alice", "orders", False), ("alice", None, False),
                                  ("bob", None, True), ("bob", "orders", True), ("stranger", None, False)):
            flags = ("--on", on) if on else ()
            finished = self.check("--as", f"CN={name}", "--command", "GenerateCoreDump3", *flags)
            self.assertEqual(finished.code, 0 if allowed else 1, finished.described)
            if allowed:
                self.assertIn("GenerateCoreDump3: allowed by grant", finished.stdout)
            else:
                self.assertIn(f"GenerateCoreDump3 takes the role operator or admin; CN={name} has", finished.stdout)

    def test_check_agrees_with_the_agent_on_every_command(self):
        for name in ("alice", "bob"):
            for runtime in ("billing", "orders"):
                finished = self.check("--as", f"CN={name}", "--on", runtime)
                self.assert_ok(finished)
                allowed = {line.split()[1].rstrip(":") for line in finished.stdout.splitlines()
                           if ": allowed by" in line}
                agents = {row["command"] for row in self.apis[name].json("/v1/access")
                          if row["allowed"] and row["runtime"]["name"] == runtime}
                self.assertEqual(allowed, agents)

    def test_check_says_what_it_cannot_know(self):
        finished = self.check("--as", "CN=alice")
        self.assertIn("grant 2 gives the role operator for some runtimes only: ask with --on NAME", finished.stdout)
        finished = self.check("--as", "CN=carol", "--on", "orders")
        self.assertIn("grant 4 gives the role resetter by command line, pid or user", finished.stdout)

    def test_check_of_what_is_misspelt(self):
        finished = self.check("--as", "CN=alice", "--command", "GenerateCoreDmp3")
        self.assertEqual(finished.code, 2, finished.described)
        self.assertIn("did you mean GenerateCoreDump3?", finished.stderr)
        for identity in ("alice", "CN=", "XN=alice", ""):
            finished = self.check("--as", identity, "--command", "GenerateCoreDump3")
            self.assertEqual(finished.code, 1, finished.described)
            self.assertIn("CN=alice", finished.stdout)
        self.assertEqual(self.check("--command", "GenerateCoreDump3").code, 2)


if __name__ == "__main__":
    main()
