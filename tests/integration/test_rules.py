"""Rules: what an agent takes when something happens, though nobody looks."""

import json
import os
import signal
import time

from harness import needs, wait
from harness.api import Api
from harness.audit import Audit
from harness.case import Case, main
from harness.watched import Watched

# A counter that the application counts up when it is asked to.
TOTAL = "Watched.Meter[watched.total]"


def rule(name, when, do="gcdump", more=""):
    return f'[[rules]]\nname = "{name}"\n{when}\ndo = ["{do}"]\n{more}\n'


class RulesCase(Case):
    def setUp(self):
        super().setUp()
        self.application = self.use(Watched(self.lab))
        self.application.get("/tick")  # before that it has no meter
        self.directory = self.lab.new_directory(self.lab.far, "kept")
        self.configuration = os.path.join(self.lab.new_directory(self.lab.far, "agent"), "farport.toml")
        self.audit = Audit(os.path.join(self.lab.directory, f"audit-{time.monotonic_ns()}.jsonl"))

    def begin(self, *rules, more=""):
        with open(self.configuration, "w", encoding="utf-8") as file:
            file.write(f'[artifacts]\ndirectory = "{self.directory}"\n{more}' + "".join(rules))
        self.start()

    def start(self):
        self.agent = self.use(self.lab.agent("--config", self.configuration, "--audit", self.audit.path))
        self.agent.wait_for(self.application)

    def farport(self, command, *arguments):
        return self.lab.near.run(needs.farport(), command, self.agent.remote, *self.lab.tools_pair.flags(), *arguments)

    def kept(self):
        return json.loads(self.assert_ok(self.farport("artifacts", "--json")).stdout)

    def whole(self):
        return [each for each in self.kept() if each["state"] == "whole"]

    def rows(self, name):
        """What is said of the rule and each runtime."""
        rules = json.loads(self.assert_ok(self.farport("rules", "--json")).stdout)
        return next(each for each in rules if each["name"] == name)["runtimes"]

    def row(self, name):
        not_listed = {"state": "not listed", "fired": 0}
        return next((each for each in self.rows(name) if each["pid"] == self.application.pid_inside), not_listed)

    def wait_for_state(self, name, state, seconds=30):
        return wait.until(lambda: (row := self.row(name))["state"] == state and row,
                          lambda: f"{state}: {self.row(name)}\n{self.agent.log()}", seconds)

    def wait_for_fired(self, name, times):
        """That it has fired so often, and taken all."""
        return wait.until(lambda: (row := self.row(name))["fired"] == times and row["outcome"] == "done" and row,
                          lambda: f"{self.row(name)}\n{self.agent.log()}", 30)


class Counters(RulesCase):
    def test_a_value_above_a_bound(self):
        self.begin(rule("many", f'when.counter = "{TOTAL}"\nwhen.above = 100'))
        self.wait_for_state("many", "watches")
        self.application.get("/count", by=150)
        row = self.wait_for_fired("many", 1)
        about, = self.whole()
        self.assertEqual((about["kind"], about["id"]), ("gcdump", row["artifacts"][0]))
        self.assertRegex(about["cause"], r"^many: Watched\.Meter\[watched\.total\] was 150: Watched\.Meter\[watched\.total\] above 100$")
        self.audit.wait_for(audit="rule", command="many", decision="allowed", rule="rule many")
        self.audit.wait_for(audit="artifact", command="keep", decision="allowed", address="rule many")
        limited = self.wait_for_state("many", "limited")
        self.assertIn("which is its limit", limited["why"])
        self.assertRegex(limited["until"], r"^20\d\d-")
        table = self.assert_ok(self.farport("rules")).stdout
        self.assertRegex(table, r"many +watched \(\d+\).*limited until 20")
        self.assertIn('farport_rule_firings_total{rule="many"} 1', self.metrics())

    def metrics(self):
        return Api(self.lab).request("/v1/metrics").body.decode()

    def test_it_must_last(self):
        self.begin(rule("lasting", f'when.counter = "{TOTAL}"\nwhen.above = 100\nwhen.for = "5s"', more='limit.times = 5'))
        self.wait_for_state("lasting", "watches")
        self.application.get("/count", by=150)
        self.wait_for_state("lasting", "holds")
        self.application.get("/count", by=-150)
        self.wait_for_state("lasting", "watches")
        time.sleep(5)
        self.assertEqual(self.row("lasting")["fired"], 0)
        self.application.get("/count", by=150)
        self.wait_for_fired("lasting", 1)
        # It still holds, and its limit allows more.
        self.wait_for_fired("lasting", 2)

    def test_a_value_below_a_bound(self):
        self.begin(rule("few", f'when.counter = "{TOTAL}"\nwhen.below = 1000'))
        self.wait_for_fired("few", 1)

    def test_limits_outlive_the_agent(self):
        self.begin(rule("many", f'when.counter = "{TOTAL}"\nwhen.above = 100', more="limit.times = 2"))
        self.wait_for_state("many", "watches")
        self.application.get("/count", by=150)
        self.wait_for_fired("many", 2)
        for end in (lambda agent: agent.process.kill(), lambda agent: agent.stop()):
            end(self.agent)
            self.start()
            self.wait_for_state("many", "limited")
            time.sleep(3)
            self.assertEqual(len(self.kept()), 2)

    def test_what_a_killed_agent_was_taking_counts(self):
        self.begin(rule("long", f'when.counter = "{TOTAL}"\nwhen.above = 100', do="trace 60s"))
        self.wait_for_state("long", "watches")
        self.application.get("/count", by=150)
        self.wait_for_state("long", "fires")
        wait.until(self.kept, self.agent.log, 10)
        self.agent.process.kill()
        self.start()
        row = self.wait_for_state("long", "limited")
        self.assertEqual((row["outcome"], row["failure"]), ("broken_off", "the agent ended meanwhile"))
        self.assertEqual([each["state"] for each in self.kept()], ["cut"])

    def test_a_counter_that_is_not_there_is_said(self):
        self.begin(rule("nothing", 'when.counter = "Watched.Meter[no-such]"\nwhen.above = 1'),
                   rule("other", f'when.counter = "{TOTAL}"\nwhen.above = 100'))
        self.wait_for_state("other", "watches")
        self.assertIn("does not report this", self.wait_for_state("nothing", "no value", 40)["why"])

    def test_a_rule_for_other_applications(self):
        self.begin(rule("others", f'runtimes.name = ["nobody*"]\nwhen.counter = "{TOTAL}"\nwhen.above = 1'))
        self.assertEqual(self.rows("others"), [])
        self.assertIn("no runtime is of this rule", self.assert_ok(self.farport("rules")).stdout)

    def test_several_in_turn(self):
        self.begin('[[rules]]\nname = "all"\nwhen.counter = "%s"\nwhen.above = 100\n'
                   'do = ["stacks", "trace 1s", "counters 2s", "logs 1s", "exceptions 1s", "dump mini", "profile 1s"]\n' % TOTAL)
        self.wait_for_state("all", "watches")
        self.application.get("/count", by=150)
        kinds = lambda: [each["kind"] for each in self.kept()]
        wait.until(lambda: len(kinds()) >= 6 and self.row("all")["outcome"] != "under_way", self.agent.log, 60)
        self.assertEqual(set(kinds()) - {"profile"}, {"stacks", "trace", "counters", "logs", "exceptions", "dump"})

    def test_two_agents_of_a_host(self):
        """The second waits until the first has ended."""
        self.begin(rule("many", f'when.counter = "{TOTAL}"\nwhen.above = 100'))
        self.wait_for_state("many", "watches")
        first = self.agent
        self.agent = self.use(self.lab.agent("--config", self.configuration, port=9001))
        self.agent.wait_for(self.application)
        self.assertIn("another agent of this host has rules", self.wait_for_state("many", "can't fire")["why"])
        first.stop()
        self.wait_for_state("many", "watches")
        self.application.get("/count", by=150)
        self.wait_for_fired("many", 1)


class Incidents(RulesCase):
    def log(self, message, level="Error", category="Orders.Pricing"):
        self.application.get("/log", message=message, level=level, category=category)

    def test_a_log_line(self):
        self.begin(rule("errors", 'when.log = ["Orders.*"]\nwhen.level = "Error"\nwhen.text = "no price"', do="stacks"))
        self.wait_for_state("errors", "watches")
        for wrong in (("no price", "Warning", "Orders.Pricing"), ("no price", "Error", "Other"), ("a price", "Error", "Orders.Pricing")):
            self.log(*wrong)
        time.sleep(2)
        self.assertEqual(self.row("errors")["fired"], 0)
        self.log("there is no price for it")
        row = self.wait_for_fired("errors", 1)
        self.assertIn("Error Orders.Pricing: there is no price for it", row["cause"])

    def test_several_log_lines(self):
        self.begin(rule("errors", 'when.log = ["*"]\nwhen.level = "Error"\nwhen.times = 5\nwhen.within = "1m"', do="stacks"))
        self.wait_for_state("errors", "watches")
        for _ in range(4):
            self.log("wrong")
        wait.until(lambda: self.row("errors").get("value") == 4, lambda: str(self.row("errors")), 10)
        self.assertEqual(self.row("errors")["fired"], 0)
        self.log("wrong")
        self.wait_for_fired("errors", 1)

    def test_an_exception(self):
        self.begin(rule("thrown", 'when.exception = ["*OrderException"]\nwhen.text = "the last"', do="stacks"))
        self.wait_for_state("thrown", "watches")
        self.application.get("/throw", message="the first")
        self.application.get("/throw", message="the last one")
        row = self.wait_for_fired("thrown", 1)
        self.assertRegex(row["cause"], r"^\S*OrderException: the last one$")


class Hangs(RulesCase):
    def test_a_process_that_is_stopped(self):
        self.begin(rule("hangs", 'when.hang = true\nwhen.for = "5s"', do="stacks"))
        self.wait_for_state("hangs", "watches")
        os.kill(self.application.process.pid, signal.SIGSTOP)
        self.addCleanup(lambda: os.kill(self.application.process.pid, signal.SIGCONT))
        self.wait_for_state("hangs", "holds")
        row = wait.until(lambda: (row := self.row("hangs"))["fired"] == 1 and row, lambda: str(self.row("hangs")), 30)
        self.assertEqual(row["cause"], "its process is stopped")


class Starts(RulesCase):
    def test_an_application_that_starts(self):
        self.begin(rule("start", "when.start = true", do="stacks", more="limit.times = 5"))
        self.wait_for_fired("start", 1)
        self.agent.process.kill()
        self.start()
        time.sleep(3)
        self.assertEqual(len(self.kept()), 1)
        self.application.stop()
        self.application = self.use(Watched(self.lab))
        self.wait_for_fired("start", 2)


class Settings(RulesCase):
    def test_wrong_ones(self):
        base = '[artifacts]\ndirectory = "/tmp"\n[allow]\ncn = ["tools"]\n'
        good = f'when.counter = "{TOTAL}"\nwhen.above = 1\n'
        for table, said in (
                ('name = "a b"\nwhen.start = true\ndo = ["stacks"]', "it has no name of letters"),
                ('name = "a"\ndo = ["stacks"]', "it does not say what to wait for"),
                (f'name = "a"\nwhen.start = true\n{good}do = ["stacks"]', "or says two things"),
                (f'name = "a"\n{good}', "it takes nothing"),
                (f'name = "a"\n{good}do = ["gcdmp"]', 'did you mean "gcdump"?'),
                (f'name = "a"\n{good}do = ["dump hep"]', 'did you mean "heap"?'),
                (f'name = "a"\n{good}do = ["trace soon"]', "cannot use the duration soon"),
                (f'name = "a"\n{good}do = ["stacks 3s"]', "stacks takes nothing more"),
                (f'name = "a"\n{good}when.below = 1\ndo = ["stacks"]', "compared with one bound"),
                (f'name = "a"\n{good}when.percentile = 90\ndo = ["stacks"]', "50, 95 and 99"),
                (f'name = "a"\n{good}when.tags = ["x"]\ndo = ["stacks"]', "is no tag"),
                (f'name = "a"\n{good}whn.for = "1s"\ndo = ["stacks"]', 'whn'),
                (f'name = "a"\n{good}when.abov = 1\ndo = ["stacks"]', 'did you mean'),
                (f'name = "a"\n{good}do = ["stacks"]\nlimit.times = 0', "a whole number from 1 on"),
                (f'name = "a"\n{good}do = ["stacks"]\nlimit.hours = "8-18"', "no two times of the day"),
                (f'name = "a"\n{good}do = ["recent"]', "give --recorder"),
                ('name = "a"\nwhen.counter = "Watched"\nwhen.above = 1\ndo = ["stacks"]', "it is not one instrument"),
                (f'name = "a"\n{good}do = ["stacks"]\n[[rules]]\nname = "a"\n{good}do = ["stacks"]', "two rules have the name a")):
            with self.subTest(table):
                path = os.path.join(self.lab.new_directory(self.lab.far, "wrong"), "farport.toml")
                with open(path, "w", encoding="utf-8") as file:
                    file.write(base + "[[rules]]\n" + table)
                arguments = ("--config", path, "--listen", "127.0.0.1:9099", *self.lab.agent_pair.flags())
                for command in ("serve", "check"):
                    done = self.lab.far.run(needs.farport(), command, *arguments)
                    self.assertNotEqual(done.code, 0, done.described)
                    self.assertIn(said, done.stdout + done.stderr)

    def test_check_says_what_they_take(self):
        path = os.path.join(self.lab.new_directory(self.lab.far, "right"), "farport.toml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(f'[artifacts]\ndirectory = "{self.directory}"\n[allow]\ncn = ["tools"]\n' + rule("slow", (
                'when.log = ["Orders.*"]\nwhen.level = "Error"\nwhen.times = 3'), do="trace 5s"))
        done = self.lab.far.run(needs.farport(), "check", "--config", path, "--listen", "127.0.0.1:9099", *self.lab.agent_pair.flags())
        self.assertIn("the rule slow takes trace 5s: log Orders.* from Error, 3 in 1m", done.stdout)

    def test_without_rules_it_is_said(self):
        self.begin()
        done = self.farport("rules")
        self.assertEqual(done.code, 1)
        self.assertIn("this agent has no rules", done.stderr)


if __name__ == "__main__":
    main()
