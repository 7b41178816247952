"""Rules: what an agent takes when something happens, though nobody looks."""

import json
import os
import pathlib
import re
import shutil
import signal
import tempfile
import threading
import time

from harness import needs, wait
from harness.api import Api
from harness.case import main
from harness.connect_port import ConnectPort
from harness.rules_case import TOTAL, RulesCase, rule
from harness.terminal import Terminal
from harness.watched import Watched

class Counters(RulesCase):
    def test_a_value_above_a_bound(self):
        self.begin(rule("many", f'when.counter = "{TOTAL}"\nwhen.above = 100'))
        self.wait_for_state("many", "watches")
        self.application.get("/count", by=150)
        row = self.wait_for_fired("many", 1)
        about, = self.whole()
        self.assertEqual((about["kind"], about["id"]), ("gcdump", row["artifacts"][0]))
        self.assertRegex(about["cause"], r"^many: Watched\.Meter\[watched\.total\] was 150: Watched\.Meter\[watched\.total\] above 100$")
        self.audit.wait_for(audit="rule", command="many", decision="allowed", rule="rule many", outcome="completed")
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
        wait.until(self.kept, self.agent.log)
        self.agent.process.kill()
        self.start()
        row = self.wait_for_state("long", "limited")
        self.assertEqual((row["outcome"], row["failure"]), ("broken_off", "the agent ended meanwhile"))
        self.assertEqual([each["state"] for each in self.kept()], ["cut"])

    def test_a_counter_that_is_not_there_is_said(self):
        self.begin(rule("nothing", 'when.counter = "Watched.Meter[no-such]"\nwhen.above = 1'),
                   rule("other", f'when.counter = "{TOTAL}"\nwhen.above = 100'))
        self.wait_for_state("other", "watches")
        why = self.wait_for_state("nothing", "no value")["why"]
        self.assertIn("does not report this, or has not yet; as an EventCounter it is EventCounters\\Watched.Meter[no-such]", why)

    def test_at_eighty_columns(self):
        self.begin(rule("a-rule-with-a-name-that-is-longer-than-anybody-would-like", 'when.counter = "Watched.Meter[nothing]"\nwhen.above = 1'))
        wait.until(lambda: "does not report this" in
                   self.row("a-rule-with-a-name-that-is-longer-than-anybody-would-like").get("why", ""), self.agent.log)
        terminal = Terminal(self.lab.near, needs.farport(), "rules", self.agent.remote, *self.lab.tools_pair.flags(), columns=80)
        self.addCleanup(terminal.close)
        self.assertEqual(terminal.wait(), 0, terminal.shown())
        heading, row = terminal.lines()
        self.assertRegex(heading, r"^RULE +RUNTIME .*STATE")
        self.assertRegex(row, r"^a-rule-.*watched.*waits: the appl")

    def test_a_value_between_bounds(self):
        self.begin(rule("some", f'when.counter = "{TOTAL}"\nwhen.above = 100\nwhen.below = 200'))
        self.wait_for_state("some", "watches")
        self.application.get("/count", by=250)
        wait.until(lambda: self.row("some").get("value") == 250, lambda: str(self.row("some")))
        self.assertEqual(self.row("some")["fired"], 0)
        self.application.get("/count", by=-100)
        self.wait_for_fired("some", 1)

    def test_an_event_source_and_a_meter_of_its_name(self):
        self.begin(rule("percent", r"when.counter = 'EventCounters\System.Runtime[cpu-usage]'" + "\nwhen.above = -1"))
        self.assertIn("System.Runtime[cpu-usage] was", self.wait_for_fired("percent", 1)["cause"])

    def test_one_process_and_its_age(self):
        self.begin(rule("other", f'runtimes.pid = 999999\nwhen.counter = "{TOTAL}"\nwhen.above = 1'),
                   rule("this", f'runtimes.pid = {self.application.pid_inside}\nwhen.counter = "{TOTAL}"\nwhen.above = 1'),
                   rule("old", f'when.counter = "{TOTAL}"\nwhen.above = 1', more='limit.age = "1s"'))
        self.wait_for_state("this", "watches")
        self.application.get("/count", by=2)
        self.wait_for_fired("this", 1)
        self.assertEqual(self.rows("other"), [])
        old = self.row("old")
        self.assertEqual((old["fired"], old["state"]), (0, "over"))

    def test_a_rule_for_other_applications(self):
        self.begin(rule("others", f'runtimes.name = ["nobody*"]\nwhen.counter = "{TOTAL}"\nwhen.above = 1'))
        self.assertEqual(self.rows("others"), [])
        self.assertIn("no runtime is of this rule", self.assert_ok(self.farport("rules")).stdout)

    def test_several_in_turn(self):
        self.begin('[[rules]]\nname = "all"\nwhen.counter = "%s"\nwhen.above = 100\n'
                   'do = ["stacks", "trace 1s", "counters 2s", "logs 1s", "exceptions 1s", "modules", "dump mini", "profile 1s"]\n' % TOTAL)
        self.wait_for_state("all", "watches")
        self.application.get("/count", by=150)
        kinds = lambda: [each["kind"] for each in self.kept()]
        wait.until(lambda: len(kinds()) >= 7 and self.row("all")["outcome"] != "under_way", self.agent.log)
        wanted = {"stacks", "trace", "counters", "logs", "exceptions", "modules", "dump"}
        # Whoever may profile sees that, too: it has nothing of the kernel.
        wanted |= set() if self.row("all")["failure"] else {"profile"}
        self.assertEqual(set(kinds()), wanted)

    def test_an_application_that_cannot_be_diagnosed_is_said(self):
        hidden = self.use(self.lab.orders(diagnostics=False, environment={"DOTNET_EnableDiagnostics": "0"}))
        self.begin(rule("hidden", 'runtimes.name = ["orders"]\nwhen.start = true', do="stacks"), more='[runtimes]\nrescan = "300ms"\n')
        wait.until(lambda: "DOTNET_EnableDiagnostics=0" in (done := self.farport("rules")).stderr and done,
                   lambda: self.farport("rules").described)
        done = self.assert_ok(self.farport("rules"))
        self.assertIn("no runtime is of this rule", done.stdout)
        self.assertIn(f"the .NET process {hidden.pid_inside}", done.stderr)

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
        wait.until(lambda: self.row("errors").get("value") == 4, lambda: str(self.row("errors")))
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

    def test_an_exception_whose_namespace_is_not_written(self):
        self.begin(rule("thrown", 'when.exception = ["OrderException"]', do="stacks"))
        self.wait_for_state("thrown", "watches")
        self.application.get("/throw", message="one")
        wait.until(lambda: re.search(r"no such exception yet, but Watched\.\S*OrderException", self.row("thrown")["why"]),
                   lambda: str(self.row("thrown")))
        self.assertIn("no such exception yet", self.assert_ok(self.farport("rules")).stdout)


class Requests(RulesCase):
    ERRORS = 'when.request = ["/**/*"]\nwhen.except = ["/health/**"]\nwhen.status = ["400-499"]\nwhen.times = 3'

    def test_their_number(self):
        self.begin(rule("many", 'when.request = ["/TICK"]\nwhen.times = 5', do="stacks"))
        self.wait_for_state("many", "no value")
        self.assertIn("ASP.NET has had no request yet", self.row("many")["why"])
        self.application.get("/sleep")
        self.wait_for_state("many", "watches")
        self.assertEqual(self.row("many")["why"], "no such request yet, but GET /sleep")
        for _ in range(4):
            self.application.get("/tick")
        wait.until(lambda: self.row("many").get("value") == 4, lambda: str(self.row("many")))
        self.application.get("/tick")
        self.assertEqual(self.wait_for_fired("many", 1)["cause"], "GET /tick")

    def test_their_status(self):
        self.begin(rule("errors", self.ERRORS, do="stacks"))
        self.wait_until_heard("errors")
        for path in ("/health/no/such", "/no/such", "/health/no", "/tick", "/no/such"):
            self.ask(path)
        time.sleep(2)
        self.assertEqual(self.row("errors")["fired"], 0)
        self.ask("/no/such")
        self.assertRegex(self.wait_for_fired("errors", 1)["cause"], r"^GET /no/such: 404 after \S+ s$")

    def wait_until_heard(self, name):
        """Asks for something, until the rule has heard of it."""
        wait.until(lambda: self.application.get("/sleep") and self.row(name)["state"] == "watches",
                   lambda: f"{self.row(name)}\n{self.agent.log()}")

    def ask(self, path):
        try:
            self.application.get(path)
        except AssertionError:
            pass  # It has no such path.

    def test_slow_ones(self):
        self.begin(rule("slow", 'when.request = ["/wait/*"]\nwhen.slower = "2s"\nwhen.times = 2\nwhen.within = "5m"', do="stacks"))
        self.wait_until_heard("slow")
        self.application.get("/wait/0.1")
        self.application.get("/wait/2.5")
        wait.until(lambda: self.row("slow").get("value") == 1, lambda: str(self.row("slow")))
        hung = threading.Thread(target=self.application.get, args=("/wait/8",))
        hung.start()
        self.addCleanup(hung.join)
        row = self.wait_for_fired("slow", 1)
        self.assertTrue(hung.is_alive())
        self.assertEqual(row["cause"], "GET /wait/8: no answer for 2 s")

    def test_another_who_looks_at_them(self):
        """The runtime tells requests to one only, and the rule says so."""
        self.begin(rule("many", 'when.request = ["/tick"]\nwhen.times = 500', do="stacks"))
        self.wait_until_heard("many")
        other = 'Microsoft-Diagnostics-DiagnosticSource:3:5:FilterAndPayloadSpecs="Other/Nothing:-"'
        self.assert_ok(self.farport("trace", "--providers", other, "--duration", "1s",
                                    "--output", os.path.join(self.lab.new_directory(self.lab.near, "other"), "trace")))
        def silenced():
            self.application.get("/sleep")
            row = self.row("many")
            return row["state"] == "no value" and "somebody else has begun to look at them" in row["why"]
        wait.until(silenced, lambda: f"{self.row('many')}\n{self.agent.log()}")


class Memory(RulesCase):
    """In a control group that the test makes."""
    GROUPS, LIMIT = (("/sys/fs/cgroup/memory", "memory.limit_in_bytes") if os.path.exists("/sys/fs/cgroup/memory") else
                     ("/sys/fs/cgroup", "memory.max"))

    # Hosts here have a /sys of their own, without control groups.
    WITH_GROUPS = ("unshare", "--mount", "sh", "-c", "mount -t tmpfs none /sys/fs/cgroup && mkdir /sys/fs/cgroup/memory && "
                   "mount -t cgroup -o memory none /sys/fs/cgroup/memory && exec \"$@\"", "sh")

    def start(self, *flags):
        super().start(*flags, prefix=self.WITH_GROUPS if self.LIMIT != "memory.max" else ())

    def limit(self, mebibytes):
        """Puts the application into a group with this limit."""
        group = f"{self.GROUPS}/farport-test-{os.getpid()}-{time.monotonic_ns()}"
        os.mkdir(group)
        def remove():
            self.application.stop()
            wait.until(lambda: not open(f"{group}/cgroup.procs", encoding="ascii").read(), "the group is empty")
            os.rmdir(group)
        self.addCleanup(remove)
        self.group = group
        self.write(self.LIMIT, mebibytes << 20)
        self.write("cgroup.procs", self.application.process.pid)

    def write(self, name, value):
        with open(f"{self.group}/{name}", "w", encoding="ascii") as file:
            file.write(str(value))

    def read(self, name):
        with open(f"{self.group}/{name}", encoding="ascii") as file:
            return file.read()

    def leave(self, mebibytes):
        """Has the group's limit leave so much."""
        usage, kept = (("memory.usage_in_bytes", "total_inactive_file") if self.LIMIT != "memory.max" else
                       ("memory.current", "inactive_file"))
        stat = dict(line.split() for line in self.read("memory.stat").splitlines())
        self.write(self.LIMIT, int(self.read(usage)) - int(stat[kept]) + (mebibytes << 20))

    def wait_for_failed(self, name):
        row = wait.until(lambda: (row := self.row(name))["fired"] == 1 and row.get("outcome") == "failed" and row,
                         lambda: f"{self.row(name)}\n{self.agent.log()}")
        self.application.get("/tick")
        return row

    def test_near_the_limit(self):
        self.limit(400)
        self.begin(rule("full", "when.memory = 50", do="stacks"))
        before = self.wait_for_state("full", "watches")["value"]
        self.assertLess(before, 40)
        self.application.get("/hold", count=260_000)
        row = self.wait_for_fired("full", 1)
        self.assertRegex(row["cause"], r"^its control group used \d+ of 400 MiB, \d\d %: memory above 50 % of its limit$")

    def test_no_room_for_a_dump(self):
        self.limit(800)
        self.application.get("/hold", count=100_000)
        self.leave(6)
        self.begin(rule("full", "when.memory = 50", do="dump"))
        row = self.wait_for_failed("full")
        self.assertRegex(row["failure"], r"\d+ MiB of memory are left in its control group, and a heap dump takes \d+ MiB")
        self.assertIn("the kernel would kill the application", self.dump("mini").stderr)
        self.leave(40)
        self.assert_ok(self.dump("mini"))

    def test_no_room_for_a_dump_in_memory(self):
        shared = tempfile.mkdtemp(prefix="farport-test-", dir="/dev/shm")
        self.addCleanup(shutil.rmtree, shared)
        os.chmod(shared, 0o1777)
        self.limit(800)
        self.application.get("/hold", count=100_000)
        self.leave(40)
        self.begin(more=f'[dump]\ndirectory = "{shared}"\n')
        self.assertRegex(self.dump("heap").stderr, rf"\d+ MiB for the file in {shared}/\S+, which is in memory: the kernel would")
        self.application.get("/tick")

    def dump(self, kind):
        path = os.path.join(self.lab.new_directory(self.lab.near, "dump"), "dump")
        return self.farport("dump", "--type", kind, "--output", path)

    def test_no_room_for_the_heap(self):
        self.limit(800)
        self.application.get("/hold", count=400_000)
        self.leave(28)
        self.begin(rule("full", "when.memory = 50", do="gcdump"))
        row = self.wait_for_failed("full")
        self.assertIn("the runtime dropped events for which its buffer had no room", row["failure"])
        self.assertRegex(self.agent.log(), r"gets a buffer of \d+ MB instead of 1024 MB: its control group has \d+ MiB of memory left")
        self.leave(28)
        self.assertIn("the heap are missing", self.farport("gcdump", "--timeout", "5s").stderr)
        self.application.get("/tick")

    def test_without_a_limit(self):
        self.begin(rule("full", "when.memory = 70", do="stacks"))
        row = self.wait_for_state("full", "no value")
        self.assertIn("its control group has no memory limit", row["why"])


class Hangs(RulesCase):
    def test_a_process_that_is_stopped(self):
        self.begin(rule("hangs", 'when.hang = true\nwhen.for = "5s"', do="stacks"))
        self.wait_for_state("hangs", "watches")
        os.kill(self.application.process.pid, signal.SIGSTOP)
        self.addCleanup(lambda: os.kill(self.application.process.pid, signal.SIGCONT))
        self.wait_for_state("hangs", "holds")
        row = wait.until(lambda: (row := self.row("hangs"))["fired"] == 1 and row, lambda: str(self.row("hangs")))
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

    def test_one_that_is_suspended(self):
        port = ConnectPort(self.lab)
        self.begin(rule("start", 'when.start = true\nruntimes.name = ["orders"]', do="stacks"), flags=port.flags)
        self.application = self.use(port.orders())
        row = self.wait_for_state("start", "waits")
        self.assertEqual(row["why"], "the application is suspended at its start, until it is resumed")
        trace = os.path.join(self.lab.new_directory(self.lab.near, "trace"), "start.nettrace")
        self.assert_ok(self.farport("trace", "--name", "orders", "--duration", "1s", "-o", trace))
        self.wait_for_fired("start", 1)


class Commands(RulesCase):
    """What a rule runs."""

    def fire(self, script, more=""):
        directory = os.path.dirname(script)
        self.begin('[[rules]]\nname = "told"\nwhen.counter = "%s"\nwhen.above = 100\ndo = ["stacks", "run"]\n'
                   'run.command = ["%s", "{rule} {runtime}", "{file}"]\nrun.writes = ["%s"]\n%s%s'
                   % (TOTAL, script, directory, self.RUN_USER, more))
        self.wait_for_state("told", "watches")
        self.application.get("/count", by=150)
        return wait.until(lambda: (row := self.row("told"))["fired"] == 1 and row["outcome"] != "under_way" and row,
                          lambda: f"{self.row('told')}\n{self.agent.log()}")

    def test_it_is_told(self):
        script = self.script('cd "$(dirname "$0")" && { echo "$1|$2|$FARPORT_RULE|$SECRET"; cat; } > told')
        row = self.fire(script)
        self.assertEqual(row["outcome"], "done", row)
        with open(os.path.join(os.path.dirname(script), "told"), encoding="utf-8") as file:
            arguments, told = file.read().split("\n", 1)
        self.assertRegex(arguments, r"^told watched\|.*stacks.*\.json\|told\|$")
        told = json.loads(told)
        self.assertEqual((told["rule"], told["runtime"], told["artifacts"]), ("told", "watched", row["artifacts"]))
        self.assertIn("was 150", told["cause"])

    def test_it_fails(self):
        row = self.fire(self.script('echo "no such room" >&2; exit 3'))
        self.assertEqual(row["outcome"], "failed")
        self.assertIn("exit code 3: no such room", row["failure"])

    def test_it_does_not_end(self):
        row = self.fire(self.script("sleep 1000"), 'run.timeout = "2s"\n')
        self.assertIn("it took longer than run.timeout", row["failure"])


class Crashes(RulesCase):
    """A rule that runs something when the application has ended."""

    def begin_with(self, script):
        self.begin('[[rules]]\nname = "ended"\nwhen.crash = true\ndo = ["run"]\nlimit.times = 5\nrun.command = ["%s", "{file}"]\n'
                   'run.writes = ["%s"]\n%s' % (script, os.path.dirname(script), self.RUN_USER), more="[recorder]\nkeep = true\n")
        self.wait_for_state("ended", "watches")

    def test_it_is_told_of_an_end(self):
        script = self.script('cd "$(dirname "$0")" && { echo "$1"; cat; } >> told')
        told = os.path.join(os.path.dirname(script), "told")
        self.begin_with(script)
        self.application.get("/end", how="failfast")
        # The command writes one line, and then the other.
        wait.until(lambda: os.path.exists(told) and pathlib.Path(told).read_text(encoding="utf-8").count("\n") == 2, self.agent.log)
        crash, = self.kept()
        with open(told, encoding="utf-8") as file:
            name, text = file.read().split("\n", 1)
        self.assertIn(crash["id"], name)
        said = json.loads(text)
        self.assertEqual((said["rule"], said["artifacts"]), ("ended", [crash["id"]]))
        self.assertEqual(said["cause"], crash["why"] or "it has ended")


class Settings(RulesCase):
    def start_application(self):
        """None is needed."""

    def test_wrong_ones(self):
        base = '[artifacts]\ndirectory = "/tmp"\n[allow]\ncn = ["tools"]\n'
        good = f'when.counter = "{TOTAL}"\nwhen.above = 1\n'
        for number, (table, said) in enumerate((
                ('name = "a b"\nwhen.start = true\ndo = ["stacks"]', "it has no name of letters"),
                ('name = "a"\ndo = ["stacks"]', "it does not say what to wait for"),
                (f'name = "a"\nwhen.start = true\n{good}do = ["stacks"]', "or says two things"),
                (f'name = "a"\n{good}', "it takes nothing"),
                (f'name = "a"\n{good}do = ["gcdmp"]', 'did you mean "gcdump"?'),
                (f'name = "a"\n{good}do = ["dump hep"]', 'did you mean "heap"?'),
                (f'name = "a"\n{good}do = ["trace soon"]', "cannot use the duration soon"),
                (f'name = "a"\n{good}do = ["stacks 3s"]', "stacks takes nothing more"),
                (f'name = "a"\n{good}do = ["modules most"]', 'there is no "most"; there are all'),
                (f'name = "a"\n{good}when.below = 1\ndo = ["stacks"]', "no value is above when.above and below when.below"),
                ('name = "a"\nwhen.counter = "A[b]"\ndo = ["stacks"]', "compared with a bound"),
                (f'name = "a"\n{good}do = [" run "]', "it has no command to run"),
                (f'name = "a"\n{good}do = [" recent"]', "give --recorder"),
                (f'name = "a"\n{good}do = ["run"]', "it has no command to run"),
                (f'name = "a"\n{good}do = ["stacks"]\nrun.command = ["true"]', "it never runs its command"),
                (f'name = "a"\n{good}do = ["run"]\nrun.command = ["echo", "{{fil}}"]', 'did you mean "file"?'),
                (f'name = "a"\n{good}do = ["trace profil=x"]', 'did you mean "profile"?'),
                (f'name = "a"\n{good}do = ["trace 3s profile=x"]', "x"),
                (f'name = "a"\n{good}do = ["logs level=Eror"]', "Eror"),
                (f'name = "a"\n{good}do = ["stacks"]\nruntimes.pid = 1.5', "runtimes.pid is no pid"),
                (f'name = "a"\n{good}when.percentile = 90\ndo = ["stacks"]', "50, 95 and 99"),
                (f'name = "a"\n{good}when.tags = ["x"]\ndo = ["stacks"]', "is no tag"),
                (f'name = "a"\n{good}whn.for = "1s"\ndo = ["stacks"]', 'whn'),
                (f'name = "a"\n{good}when.abov = 1\ndo = ["stacks"]', 'did you mean'),
                (f'name = "a"\n{good}do = ["stacks"]\nlimit.times = 0', "a whole number from 1 on"),
                (f'name = "a"\n{good}do = ["stacks"]\nlimit.hours = "8-18"', "no two times of the day"),
                ('name = "a"\nwhen.crash = true\ndo = ["dump"]', "nothing can be taken of an application that has ended"),
                ('name = "a"\nwhen.crash = true\ndo = ["run"]\nrun.command = ["true"]', "waits for what the recorder sees"),
                ('name = "a"\nwhen.memory = 100\ndo = ["stacks"]', "above 0 and below 100"),
                (f'name = "a"\n{good}when.status = ["500"]\ndo = ["stacks"]', "are of when.request"),
                ('name = "a"\nwhen.request = ["/"]\nwhen.status = ["5xx"]\ndo = ["stacks"]', "it is no code of an answer"),
                ('name = "a"\nwhen.request = ["orders"]\ndo = ["stacks"]', "is no path"),
                (f'name = "a"\n{good}do = ["recent"]', "give --recorder"),
                ('name = "a"\nwhen.counter = "Watched"\nwhen.above = 1\ndo = ["stacks"]', "it is not one instrument"),
                (f'name = "a"\n{good}do = ["stacks"]\n[[rules]]\nname = "a"\n{good}do = ["stacks"]', "two rules have the name a"))):
            with self.subTest(table):
                path = os.path.join(self.lab.new_directory(self.lab.far, "wrong"), "farport.toml")
                with open(path, "w", encoding="utf-8") as file:
                    file.write(base + "[[rules]]\n" + table)
                arguments = ("--config", path, "--listen", "127.0.0.1:9099", *self.lab.agent_pair.flags())
                # Both read it by the same code.
                for command in ("serve", "check") if number < 3 else ("check",):
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
        with open(self.configuration, "w", encoding="utf-8") as file:
            file.write(f'[artifacts]\ndirectory = "{self.directory}"\n')
        self.agent = self.use(self.lab.agent("--config", self.configuration))
        done = self.farport("rules")
        self.assertEqual(done.code, 1)
        self.assertIn("this agent has no rules", done.stderr)


if __name__ == "__main__":
    main()
