"""What a remote application does, without .NET beside the person who looks: compared with what it writes down itself."""

import csv
import itertools
import json
import os
import re
import threading
import time

from harness import needs, wait
from harness.agent import ALLOW_TOOLS
from harness.breaking import QUICK_PINGS
from harness.case import Case, main
from harness.looking import Looking, objects, objects_of
from harness.network import Network
from harness.silent import PROVIDER, Silent
from harness.terminal import Terminal
from harness.watched import Watched, own_lines


class Sight(Looking, Case):
    @classmethod
    def prepare(cls):
        cls.network = Network(cls.lab)
        cls.application = cls.share(Watched(cls.lab))
        cls.application.get("/count", by=0)  # From then on there are a meter and an EventSource.
        cls.agent = cls.share(cls.lab.agent(*QUICK_PINGS))
        cls.agent.wait_for(cls.application)

    def setUp(self):
        self.addCleanup(self.network.mend)

    # Counters

    def count(self, *numbers):
        for number in numbers:
            self.application.get("/count", by=number)
        return int(self.application.get("/tick"))

    def counting(self, *arguments):
        """`farport counters` that has begun to print."""
        process = self.look("counters", "--format", "json", *arguments)
        wait.until(process.stdout, process.output)
        return process

    def wait_for_value(self, process, name, value):
        def shown():
            lines = process.stdout().rpartition("\n")[0].splitlines()
            return [line for line in map(json.loads, lines) if line["name"] == name and line.get("value") == value]
        wait.until(shown, process.output)

    def test_counters_are_the_applications_own(self):
        before = self.count(1)
        process = self.counting("--counters", "Watched.Meter,Watched.Events")
        self.wait_for_value(process, "watched.total", before)
        total = self.count(3, 20, 4, 30)
        self.wait_for_value(process, "watched.total", total)
        self.wait_for_value(process, "items", total)
        time.sleep(1.5)
        lines = objects(self.end(process))

        def increase(name, **tags):
            return sum(line.get("increase", 0) for line in lines
                       if line["name"] == name and all(f"{key}={value}" in line.get("tags", "") for key, value in tags.items()))
        self.assertEqual(total - before, 57)
        self.assertEqual(increase("watched.items", kind="small"), 7)
        self.assertEqual(increase("watched.items", kind="large"), 50)
        self.assertEqual(increase("items-added"), 57)
        self.assertEqual([line["value"] for line in lines if line["name"] == "watched.open"][-1], 57)
        sizes = [line for line in lines if line["name"] == "watched.sizes" and line["count"] > 0]
        self.assertEqual(sum(line["count"] for line in sizes), 4, sizes)
        self.assertEqual(sum(line["sum"] for line in sizes), 57, sizes)
        self.assertTrue(all(set(line["quantiles"]) == {"0.5", "0.95", "0.99"} for line in sizes), sizes)

    def test_no_count_is_missing_though_the_link_breaks(self):
        before = self.count(1)
        process = self.counting("--counters", "Watched.Meter,Watched.Events", *QUICK_PINGS)
        self.wait_for_value(process, "watched.total", before)
        stop = threading.Event()

        def go_on():
            while not stop.is_set():
                self.count(3)
                time.sleep(0.05)
        caller = threading.Thread(target=go_on)
        caller.start()
        self.addCleanup(stop.set)
        self.cut()
        stop.set()
        caller.join()
        total = self.count(5)
        for name in ("watched.total", "items"):
            self.wait_for_value(process, name, total)
        time.sleep(1.5)
        lines = objects(self.end(process))
        for name in ("watched.items", "items-added"):
            self.assertEqual(sum(line.get("increase", 0) for line in lines if line["name"] == name), total - before, name)

    def test_without_a_list_the_usual_ones_come_once(self):
        lines = objects(self.look_whole("counters", "--format", "json", "--duration", "3s"))
        providers = {line["provider"] for line in lines}
        self.assertIn("System.Runtime", providers)
        self.assertLessEqual(providers, {"System.Runtime", "Microsoft.AspNetCore.Hosting"})
        names = {line["name"] for line in lines}
        self.assertIn("dotnet.process.memory.working_set", names)
        self.assertNotIn("working-set", names)

    def test_an_instrument_alone_and_an_event_source_alone(self):
        lines = objects(self.look_whole("counters", "--format", "json", "--duration", "3s", "--counters",
                                        r"Watched.Meter[watched.total],EventCounters\Watched.Events[items]"))
        self.assertEqual({line["name"] for line in lines}, {"watched.total", "items"})

    def test_a_csv_has_the_columns_of_dotnet_counters(self):
        file = os.path.join(self.lab.new_directory(self.lab.near, "counters"), "x.csv")
        self.look_whole("counters", "--format", "csv", "--duration", "3s", "--counters", "Watched.Meter", "-o", file)
        with open(file, encoding="utf-8", newline="") as opened:
            rows = list(csv.DictReader(opened))
        self.assertEqual(list(rows[0]), ["Timestamp", "Provider", "Counter Name", "Counter Type", "Mean/Increment"])
        types = {row["Counter Name"].split("[")[0]: row["Counter Type"] for row in rows}
        self.assertEqual(types["watched.total"], "Metric")
        self.assertTrue(all(None not in row and None not in row.values() for row in rows), rows)

    def test_a_terminal_shows_a_table_that_fits(self):
        terminal = Terminal(self.lab.near, needs.farport(), "counters", self.agent.remote, *self.lab.tools_pair.flags(),
                            columns=60, rows=24)
        self.addCleanup(terminal.close)
        terminal.wait_for_text("lines 1 to 21 of")
        self.assertTrue(all(len(line) <= 60 for line in terminal.lines()), terminal.shown())
        self.assertIn("System.Runtime", terminal.shown())
        # Names are whole, series below their instrument.
        self.assertRegex(terminal.shown(), r"\n  dotnet\.gc\.last_collection\.heap\.fragmentation\.size\n    gen0 +[\d.]+ \w*B")
        terminal.type("\x1b[6~")
        terminal.wait_for(lambda lines: "lines 1 to" not in "\n".join(lines), "it scrolls")
        terminal.wait_for(lambda lines: re.search(r"dotnet\.process\.memory\.working_set\n? +[\d.]+ MiB", "\n".join(lines)),
                          "the working set has its unit")
        terminal.type("bbb")
        terminal.wait_for_text("lines 1 to 21 of")
        terminal.type("q")
        self.assertEqual(terminal.wait(), 0, terminal.shown())

    def test_two_share_the_meters_and_another_interval_is_told(self):
        first = self.counting("--counters", "Watched.Meter")
        second = self.counting("--counters", "Watched.Meter[watched.total]")
        other = self.look("counters", "--counters", "Watched.Meter", "--refresh-interval", "3s", "--duration", "4s")
        self.assertEqual(other.wait(), 0, other.output())
        self.assertIn("every 1 s", other.stderr())
        self.end(second)
        total = self.count(5)
        self.wait_for_value(first, "watched.total", total)
        self.end(first)

    def test_what_is_wrong_is_said(self):
        for arguments, words in ((("counters", "--counters", "a;b"), "a;b"), (("counters", "--counters", "a[b"), "a[b"),
                                 (("counters", "--refresh-interval", "soon"), "whole number"), (("logs", "--level", "loud"), "Trace"),
                                 (("logs", "--category", "Orders:loud"), "loud"), (("logs", "--category", 'a"b'), "category"),
                                 (("logs", "--format", "xml"), "xml"), (("profile", "-o", "x.foo"), ".folded")):
            done = self.look_whole(*arguments, code=2)
            self.assertIn(words, done.stderr())
        for command in ("counters", "logs", "exceptions", "stacks", "profile"):
            done = self.look_whole(command, target=self.agent.remote + "/nobody", code=1)
            self.assertIn("nobody", done.stderr())

    # Logs

    def log(self, *messages, level="Warning", category="Orders.Pricing"):
        for message in messages:
            self.application.get("/log", message=message, level=level, category=category)

    def logging(self, *arguments):
        """`farport logs` that has begun."""
        process = self.look("logs", "--format", "json", *arguments)

        def begun():
            self.log("begun")
            return process.stdout()
        wait.until(begun, process.output)
        return process

    def test_logs_are_what_the_application_wrote(self):
        process = self.logging("--level", "debug", "--category", "Orders.*", "--category", "Other:Error")
        self.log("first", "zweite Größe", level="Debug")
        self.log("too fine", level="Trace")
        self.log("not this", level="Warning", category="Other")
        self.log("but this", level="Error", category="Other")
        self.log("nobody's", category="Else")
        self.log("\x1b[31mred\n", level="Critical")
        wait.until(lambda: "red" in process.stdout(), process.output)
        lines = [line for line in own_lines(objects(self.end(process))) if "begun" not in line["message"]]
        told = [(line["category"], line["level"], line["arguments"]["Text"]) for line in lines]
        left_out = ("too fine", "not this", "nobody's")
        wrote = [(entry["category"], entry["level"], entry["message"]) for entry in self.application.entries("log")
                 if entry["message"] != "begun" and entry["message"] not in left_out]
        self.assertEqual(told, wrote[-len(told):])
        self.assertEqual([text for _, _, text in told], ["first", "zweite Größe", "but this", "\x1b[31mred\n"])
        self.assertTrue(all(line["message"] == line["arguments"]["Text"] + " it is" and line["event_id"] == 7 for line in lines), lines)

    def test_logs_for_people_act_on_no_terminal(self):
        process = self.look("logs", "--category", "Orders.*")

        def begun():
            self.log("\x1b[31mred\nline")
            return process.stdout()
        wait.until(begun, process.output)
        self.end(process)
        self.assertNotIn("\x1b", process.stdout())
        self.assertRegex(process.stdout(), r"^\d\d:\d\d:\d\d\.\d{3} Warning +Orders\.Pricing\[7\] \\x1b\[31mred\n    line it is\n")

    def test_no_line_of_a_log_is_missing_though_the_link_breaks(self):
        process = self.logging("--category", "Orders.*", *QUICK_PINGS)
        numbers = itertools.count()
        stop = threading.Event()

        def go_on():
            while not stop.is_set():
                self.log(f"number {next(numbers)}")
                time.sleep(0.005)
        writer = threading.Thread(target=go_on)
        writer.start()
        self.addCleanup(stop.set)
        time.sleep(0.5)
        self.cut()
        time.sleep(2)
        stop.set()
        writer.join()
        last = f"number {next(numbers) - 1} it is"
        wait.until(lambda: last in process.stdout(), process.output)
        told = [line["message"] for line in own_lines(objects(self.end(process))) if "number" in line["message"]]
        self.assertEqual(told, [f"number {number} it is" for number in range(len(told))])
        self.assertGreater(len(told), 100)

    # Exceptions

    def catching(self, *arguments, message="begun"):
        """`farport exceptions` that has begun to print, by exceptions with this message."""
        process = self.look("exceptions", *arguments)

        def begun():
            self.application.get("/throw", message=message)
            return process.stdout()
        wait.until(begun, process.output)
        return process

    def test_exceptions_are_what_the_application_caught(self):
        process = self.catching("--format", "json")
        for number in range(5):
            self.application.get("/throw", message=f"number {number}")
        self.cut()
        self.application.get("/throw", message="last\x1b[31m")
        wait.until(lambda: "last" in process.stdout(), process.output)
        lines = [line for line in objects(self.end(process)) if line["message"] != "begun"]
        caught = [entry for entry in self.application.entries("exception") if entry["message"] != "begun"]
        self.assertEqual([{key: line[key] for key in ("type", "message", "hresult")} for line in lines], caught[-len(lines):])
        self.assertEqual(len(lines), 6)
        for line in lines:
            stack = [frame.split("(")[0] for frame in line["stack"]]
            self.assertEqual(stack.index("Watched.Thrower.Throw") + 1, stack.index("Watched.Thrower.Catch"), stack)

    def test_methods_that_are_compiled_meanwhile_have_names(self):
        process = self.catching("--format", "json")
        for number in range(4):
            self.application.get("/throw-new", number=number)
        wait.until(lambda: "new Int64" in process.stdout(), process.output)
        lines = [line for line in objects(self.end(process)) if line["message"].startswith("new ")]
        self.assertEqual([line["message"] for line in lines], ["new Byte", "new Int16", "new Int32", "new Int64"])
        for line in lines:
            self.assertIn(".Throw(", line["stack"][0])
            self.assertIn("CatchNew", line["stack"][1])
            self.assertFalse([frame for frame in line["stack"] if frame.startswith("0x")], line)

    def test_exceptions_for_people(self):
        process = self.catching(message="\x1b[31mred")
        self.end(process)
        self.assertIn(r"Watched.OrderException: \x1b[31mred", process.stdout())
        self.assertIn("\n    at Watched.Thrower.Throw(System.String)\n", process.stdout())

    # Stacks and profiles

    def test_stacks_name_what_each_thread_does(self):
        text = self.look_whole("stacks").stdout()
        self.assertRegex(text, r"Thread \d+\n    \[native code, or waiting\]\n(    .*\n)*    watched\.dll!Program\.<Main>")
        threads = json.loads(self.look_whole("stacks", "--format", "json").stdout())
        self.assertTrue([thread for thread in threads if any("Program.<Main>" in frame for frame in thread["stack"])], threads)
        self.assertEqual(len({thread["thread"] for thread in threads}), len(threads))

    def test_the_runtime_is_named_as_for_the_stock_tools(self):
        for flags in (("-n", "watched"), ("--process-id", self.application.pid_inside)):
            self.assertIn("Program.<Main>", self.look_whole("stacks", *flags).stdout())
        self.assertIn("two runtimes are named", self.look_whole("stacks", "-n", "watched", target=f"{self.agent.remote}/orders", code=2).stderr())


class Fresh(Looking):
    """An application whose meters nobody has read."""

    @classmethod
    def prepare(cls):
        cls.application = cls.share(Watched(cls.lab))
        cls.application.get("/count", by=0)
        cls.agent = cls.share(cls.lab.agent())
        cls.agent.wait_for(cls.application)


class FirstCollection(Fresh, Case):
    """A runtime that ends a session while it collects its meters for the first time may never answer again: MeterClaims."""

    def test_a_session_that_is_to_end_as_it_begins_ends_behind_it(self):
        file = os.path.join(self.lab.new_directory(self.lab.near, "first"), "first.nettrace")
        self.look_whole("trace", "-o", file, "--rundown", "false", "--duration", "1s", "--providers",
                        "System.Diagnostics.Metrics:0x2:4:SessionId=SHARED;Metrics=Watched.Meter;RefreshInterval=1;MaxTimeSeries=9;MaxHistograms=9")
        events = self.assert_ok(self.lab.near.run(needs.nettrace_dump(), file)).stdout
        self.assertIn(" CollectionStop ", events)
        for _ in range(3):
            shown = self.look_whole("counters", "--counters", "Watched.Meter", "--format", "json", "--duration", "1500ms").stdout()
            self.assertIn("watched.total", shown)


class SharesNothing(Fresh, Case):
    """On an application of its own: a runtime counts those that it has refused among those that share, and may go on for good."""

    def test_who_comes_second_to_a_session_that_shares_nothing_is_told(self):
        file = os.path.join(self.lab.new_directory(self.lab.near, "meters"), "meters.nettrace")
        first = self.look("trace", "-o", file, "--rundown", "false", "--providers",
                          "System.Diagnostics.Metrics:0x2:4:SessionId=mine;Metrics=Watched.Meter;RefreshInterval=1;MaxTimeSeries=9;MaxHistograms=9")
        wait.until(lambda: os.path.exists(file) and os.stat(file).st_size > 0, first.output)
        second = self.look_whole("counters", "--counters", "Watched.Meter", "--format", "csv", "--duration", "4s", code=1)
        self.assertIn("another tool is reading the application's meters", second.stderr())
        self.end(first)


class Top(Looking, Case):
    """All runtimes at a glance, of two agents."""

    @classmethod
    def prepare(cls):
        cls.watched = cls.share(Watched(cls.lab))
        cls.other = cls.lab.new_directory(cls.lab.far, "other")
        cls.orders = cls.lab.orders("--rate", "500", directory=cls.other)
        cls.agent = cls.share(cls.lab.agent(*QUICK_PINGS))
        cls.second = cls.share(cls.lab.agent(search=[cls.other], port=9001))
        cls.agent.wait_for(cls.watched)
        cls.second.wait_for(cls.orders)

    def top(self, *arguments):
        return self.look_whole("top", self.second.remote, *arguments)

    def test_each_runtime_has_its_numbers(self):
        process = self.look("top", self.second.remote, "--rounds", "4", "--format", "json")
        while process.running():
            self.watched.get("/throw", message="thrown")
        self.assertEqual(process.wait(), 0, process.output())
        last = {line["name"]: line for line in objects(process)}
        self.assertEqual(set(last), {"watched", "orders"})
        for name, pid in (("watched", self.watched.pid_inside), ("orders", self.orders.pid_inside)):
            self.assertEqual(last[name]["pid"], pid)
            self.assertGreater(last[name]["cpu_percent"], 0)
            self.assertLess(last[name]["cpu_percent"], 100 * os.cpu_count() + 20)
            self.assertGreater(last[name]["working_set"], 20e6)
            self.assertIn("gen0", last[name]["gc_generations"])
        self.assertGreater(last["watched"]["exceptions_per_second"], 1)
        self.assertGreater(last["watched"]["requests_per_second"], 1)
        self.assertGreater(last["watched"]["request_p99_seconds"], 0)
        self.assertNotIn("requests_per_second", last["orders"])

    def test_the_first_round_has_values(self):
        rows = objects_of(self.top("--rounds", "1", "--format", "json").stdout())
        self.assertEqual({row["name"] for row in rows if "cpu_percent" in row}, {"watched", "orders"}, rows)

    def test_an_agent_that_is_down_hides_no_other_one(self):
        done = self.look_whole("top", f"{self.lab.far.address}:9", "--rounds", "1", "--format", "json", code=1)
        self.assertEqual({row["name"] for row in objects_of(done.stdout())}, {"watched"}, done.output())
        self.assertIn(":9", done.stderr())

    def test_it_goes_on_when_the_link_has_been_broken(self):
        network = Network(self.lab)
        self.addCleanup(network.mend)
        process = self.look("top", self.second.remote, "--rounds", "1000", "--format", "json", *QUICK_PINGS)

        def shown_from(begin):
            return {line["name"] for line in objects_of(process.stdout()[begin:]) if line.get("cpu_percent", 0) > 0}
        wait.until(lambda: shown_from(0) == {"watched", "orders"}, process.output)
        for agent in (self.agent, self.second):
            network.reset(agent.port)
        with network.dark():
            time.sleep(2)
        broken = process.stdout().rfind("\n") + 1
        wait.until(lambda: shown_from(broken) == {"watched", "orders"}, process.output)
        self.end(process)

    def test_it_is_sorted(self):
        for order, first in (("name", "orders"), ("memory", "watched")):
            lines = self.top("--rounds", "1", "--sort", order).stdout().splitlines()
            self.assertIn(first, lines[1], lines)

    def test_keys_at_60_columns(self):
        terminal = Terminal(self.lab.near, needs.farport(), "top", self.agent.remote, self.second.remote,
                            *self.lab.tools_pair.flags(), columns=60, rows=20)
        self.addCleanup(terminal.close)
        terminal.wait_for_text("CPU%")
        terminal.type("N")
        terminal.wait_for(lambda lines: "orders" in lines[1], "sorted by name")
        terminal.type("I")
        terminal.wait_for(lambda lines: "watched" in lines[1], "the other way round")
        self.assertTrue(all(len(line) <= 60 for line in terminal.lines()), terminal.shown())
        terminal.type("q")
        self.assertEqual(terminal.wait(), 0, terminal.shown())

    def test_an_agent_that_is_not_there_is_said(self):
        done = self.look_whole("top", target=f"{self.lab.far.address}:9", code=1)
        self.assertIn(":9", done.stderr())


class LeftRunning(Looking, Case):
    """Nothing goes on in the runtime when a command is killed, or has ended after a break."""

    @classmethod
    def prepare(cls):
        cls.network = Network(cls.lab)
        cls.runtime = Silent(cls.lab)
        cls.agent = cls.share(cls.lab.agent("--grace", "2s", *QUICK_PINGS, allow=ALLOW_TOOLS))
        cls.agent.wait_for(cls.runtime)
        cls.runtime.rest()

    def test_killed(self):
        process = self.look("counters", "--counters", PROVIDER)
        self.runtime.wait_until_enabled()
        process.kill()
        self.runtime.wait_until_free()
        for arguments in (("logs",), ("exceptions",), ("profile", "--wall")):
            process = self.look(*arguments)
            wait.until(self.runtime.has_session, process.output)
            process.kill()
            self.runtime.wait_until_free()

    def test_broken(self):
        for arguments in (("counters", "--counters", f"{PROVIDER},System.Runtime", "--duration", "3s"), ("top", "--rounds", "4"), ("stacks",)):
            process = self.look(*arguments, *QUICK_PINGS)
            wait.until(self.runtime.has_session, process.output)
            self.assertGreater(self.network.reset(self.agent.port), 0, arguments)
            self.assertEqual(process.wait(), 0, process.output())
            self.assertTrue(process.stdout(), arguments)
            self.runtime.wait_until_free()


if __name__ == "__main__":
    main()
