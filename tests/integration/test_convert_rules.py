"""Rules of dotnet-monitor as those of an agent: each trigger and action of its documentation, with shorter times."""

import json
import os
import threading

from harness import needs, wait
from harness.case import main
from harness.rules_case import RulesCase

STATUS_400 = {"Type": "AspNetResponseStatus", "Settings": {"ResponseCount": 3, "StatusCodes": ["400"], "SlidingWindowDuration": "00:01:00"}}


def trigger(kind, **settings):
    return {"Type": kind, "Settings": settings}


def action(kind, **settings):
    return {"Type": kind, "Settings": {"Egress": "artifacts", **settings}}


def counter(name, **settings):
    return trigger("EventCounter", ProviderName="System.Runtime", CounterName=name, **settings)


def meter(name, **settings):
    return trigger("EventMeter", MeterName="Watched.Meter", InstrumentName=name, SlidingWindowDuration="00:00:02", **settings)


def rules(pid):
    """Those of the documentation's examples."""
    loader = [{"Name": "Microsoft-Windows-DotNETRuntime", "EventLevel": "Informational", "Keywords": "0xC"}]
    second = {"SlidingWindowDuration": "00:00:01"}
    return {
        "loads at start": {"Trigger": {"Type": "Startup"}, "Actions": [action("CollectTrace", Providers=loader, Duration="00:00:01")]},
        "heap": {"Trigger": counter("gc-heap-size", GreaterThan=0.1, **second), "Actions": [action("CollectGCDump")]},
        "cpu": {"Trigger": counter("cpu-usage", GreaterThan="-1", **second),
                "Actions": [action("CollectTrace", Profile="Cpu", Duration="00:00:01")],
                "Filters": [{"Key": "ProcessName", "Value": "watched"}]},
        "cpu-short": {"Trigger": trigger("CPUUsage", GreaterThan=-1, **second), "Actions": [action("CollectStacks")]},
        "heap-short": {"Trigger": trigger("GCHeapSize", GreaterThan=0.1, **second), "Actions": ["Snapshot"]},
        "queue-short": {"Trigger": trigger("ThreadpoolQueueLength", LessThan=1000, **second),
                        "Actions": [action("CollectLiveMetrics", Duration="00:00:02", IncludeDefaultProviders=False,
                                           Providers=[{"ProviderName": "System.Runtime", "CounterNames": ["cpu-usage"]}])]},
        "gauge": {"Trigger": meter("watched.total", GreaterThan=20), "Actions": [action("CollectExceptions", Duration="00:00:01")]},
        "histogram": {"Trigger": meter("watched.sizes", GreaterThan=200, HistogramPercentile=50),
                      "Actions": [action("CollectLogs", DefaultLevel="Information", UseAppFilters=False, Duration="00:00:01")]},
        "status": {"Trigger": trigger("AspNetResponseStatus", ResponseCount=5, StatusCodes=["400-499"]),
                   "Actions": [action("CollectDump", Type="Full")],
                   "Limits": {"ActionCount": 3, "ActionCountSlidingWindowDuration": "00:30:00"}},
        "number": {"Trigger": "Many", "Filters": [{"Key": "ProcessId", "Value": str(pid), "MatchType": "Exact"}],
                   "Actions": [action("CollectLogs", DefaultLevel="Error", UseAppFilters=False, Duration="00:00:01")],
                   "Limits": {"RuleDuration": "01:00:00"}},
        "slow": {"Trigger": trigger("AspNetRequestDuration", RequestCount=2, RequestDuration="00:00:01",
                                    SlidingWindowDuration="00:02:00", IncludePaths=["/wait/**/*"]),
                 "Actions": [action("CollectTrace", Profile="Http", Duration="00:00:01")]},
        "execute": {"Trigger": STATUS_400, "Actions": [
            {"Name": "MyDump", **action("CollectDump", Type="Mini"), "WaitForCompletion": True},
            {"Type": "Execute", "Settings": {"Path": "C:\\Program Files\\devenv.exe", "Arguments": '"$(Actions.MyDump.EgressPath)"'}}]},
    }


TEMPLATES = {"CollectionRuleTriggers": {"Many": trigger("AspNetRequestCount", RequestCount=10, SlidingWindowDuration="00:01:00")},
             "CollectionRuleActions": {"Snapshot": action("CollectGCDump")}}


class Conversion(RulesCase):
    def convert(self, document, code=0):
        path = os.path.join(self.lab.new_directory(self.lab.far, "monitor"), "settings.json")
        with open(path, "w", encoding="utf-8") as file:
            file.write(document if isinstance(document, str) else json.dumps(document))
        done = self.lab.far.run(needs.farport(), "convert-rules", path)
        self.assertEqual(done.code, code, done.described)
        return done

    def one(self, **rule):
        rule.setdefault("Trigger", {"Type": "Startup"})
        rule.setdefault("Actions", [action("CollectGCDump")])
        return self.convert({"CollectionRules": {"one": rule}}).stdout

    def ask(self, *paths):
        for path in paths:
            try:
                self.application.get(path)
            except AssertionError:
                pass  # Not all are answered with 200.

    def test_they_fire(self):
        wanted = rules(self.application.pid_inside)
        text = self.convert({"Templates": TEMPLATES, "CollectionRules": wanted}).stdout
        self.begin(text)
        names = {name.replace(" ", "_") for name in wanted}
        self.wait_for_state("gauge", "watches")
        wait.until(lambda: self.ask("/tick") or self.row("status")["state"] == "watches", lambda: str(self.row("status")))
        slow = [threading.Thread(target=self.ask, args=("/wait/3",)) for _ in range(2)]
        for thread in slow:
            thread.start()
        self.ask(*["/count?by=300"], *["/wait/no-number"] * 3, *["/no/such"] * 3, *["/tick"] * 10)
        fired = {}
        def all_have_fired():
            self.ask("/count?by=300")
            fired.update({name: self.row(name) for name in names if self.row(name)["fired"] > 0})
            return names == set(fired)
        wait.until(all_have_fired, lambda: f"not yet: {names - set(fired)}\n{self.farport('rules').stdout}\n{self.agent.log()}")
        for thread in slow:
            thread.join()

    def test_what_it_becomes(self):
        self.assertIn('when.start = true\ndo = ["gcdump"]\nlimit.times = 5\nlimit.total = 50\nlimit.within = "8760h"', self.one())
        self.assertIn('limit.times = 2\nlimit.total = 20\n', self.one(Limits={"ActionCount": 2, "ActionCountSlidingWindowDuration": "1:00:00"}))
        self.assertIn('limit.age = "24h"', self.one(Limits={"RuleDuration": "1.00:00:00"}))
        self.assertIn("""when.counter = 'EventCounters\\System.Runtime[cpu-usage]'\nwhen.above = 50\nwhen.for = "1m"\n""",
                      self.one(Trigger={"Type": "CPUUsage"}))
        self.assertIn('when.counter = "A[b]"\nwhen.above = 1\nwhen.below = 2.5\nwhen.percentile = 95\nwhen.for = "10s"',
                      self.one(Trigger=trigger("EventMeter", MeterName="A", InstrumentName="b", GreaterThan=1, LessThan="2.5",
                                                                HistogramPercentile=95, SlidingWindowDuration="00:00:10")))
        self.assertIn('when.request = ["/api/**/*"]\nwhen.except = ["/api/health"]\nwhen.slower = "5s"\nwhen.times = 7\n',
                      self.one(Trigger=trigger("AspNetRequestDuration", RequestCount=7, IncludePaths=["/api/**/*"], ExcludePaths=["/api/health"])))
        self.assertIn('when.slower = "500ms"', self.one(Trigger=trigger("AspNetRequestDuration", RequestCount=7, RequestDuration="00:00:00.5")))
        two = {name: {"Trigger": {"Type": "Startup"}, "Actions": [action("CollectGCDump")]} for name in ("High CPU", "High_CPU")}
        self.assertRegex(self.convert({"CollectionRules": two}).stdout, r'(?s)High CPU has another name here.*name = "High_CPU".*name = "High_CPU-2"')
        self.assertIn('do = ["dump heap", "logs 1m category=Orders.*:Debug,Other"]',
                      self.one(Actions=[action("CollectDump"), action("CollectLogs", FilterSpecs={"Orders.*": "Debug", "Other": None},
                                                                      Duration="00:01:00")]))
        self.assertIn('do = ["trace 30s profile=gc-collect providers=Microsoft-Extensions-Logging:4:5"]',
                      self.one(Actions=[action("CollectTrace", Profile="GcCollect,Logs")]))
        self.assertIn('runtimes.command_line = ["*dotnet *", "*my app.dll*"]',
                      self.one(Filters=[{"Key": "ProcessName", "Value": "dotnet"}, {"CommandLine": "my app.dll", "MatchType": "Contains"}]))
        execute = action("Execute", Path="/usr/bin/upload", Arguments='--file "$(Actions.A.EgressPath)" "two words" $(Actions.A.Value)')
        text = self.one(Actions=[action("CollectGCDump"), execute])
        self.assertIn('do = ["gcdump", "run"]\nrun.command = ["/usr/bin/upload", "--file", "{file}", "two words", ""]', text)
        self.assertIn("# $(Actions.A.EgressPath) became {file}", text)

    def test_what_it_does_not_become(self):
        for rule, why in (({"Trigger": {"Type": "Startp"}}, "there is no trigger Startp"),
                          ({"Trigger": counter("cpu-usage")}, "a counter is compared with a bound"),
                          ({"Trigger": counter("cpu-usage", GreaterThan="much")}, "GreaterThan is no number: much"),
                          ({"Trigger": counter("cpu-usage", GreaterThan=1, SlidingWindowDuration="soon")}, "SlidingWindowDuration is no time: soon"),
                          ({"Trigger": counter("cpu-usage", GreaterThan="1e300")}, "GreaterThan is no number"),
                          ({"Trigger": counter("cpu-usage", GreaterThan="nan")}, "GreaterThan is no number"),
                          ({"Actions": [action("CollectTrace", Providers=[{"Name": "A", "EventLevel": "Loud"}])]}, "Loud"),
                          ({"Actions": [action("CollectLogs", FilterSpecs={"A": "Loud"})]}, "Loud"),
                          ({"Trigger": "Nothing"}, "there is no template Nothing"),
                          ({"Trigger": trigger("EventMeter", MeterName="A", InstrumentName="b", GreaterThan=1, HistogramPercentile=42)}, "50, 95 and 99"),
                          ({"Trigger": trigger("AspNetRequestCount")}, "its trigger has no RequestCount"),
                          ({"Actions": []}, "nothing of what it does exists here"),
                          ({"Actions": [action("LoadProfiler", Path="x")]}, "nothing of what it does exists here"),
                          ({"Filters": [{"Key": "Weather", "Value": "fine"}]}, "there is no filter Weather")):
            with self.subTest(why):
                wrong = {"Trigger": {"Type": "Startup"}, "Actions": [action("CollectGCDump")], **rule}
                done = self.convert({"CollectionRules": {"wrong": wrong, "good": {"Trigger": {"Type": "Startup"}, "Actions": [action("CollectGCDump")]}}}, 1)
                self.assertIn("farport: wrong is left out: ", done.stderr)
                self.assertIn(why, done.stderr)
                self.assertIn("# wrong is left out: ", done.stdout)
                self.assertIn('name = "good"', done.stdout)

    def test_files_that_are_none(self):
        for text, why in (("{", "cannot read the rules"), ("{}", "there is no CollectionRules"), ("[1]", "there is no CollectionRules"),
                          ('{"CollectionRules": 7}', "there is no CollectionRules"), ("\xff", "cannot read the rules"),
                          ('{"CollectionRules": {"a": {"Trigger": {}}}}', "a is left out: it has no trigger"),
                          ('{"CollectionRules": {"a": {"Trigger": {"Type": []}, "Actions": {"Type": 1}}}}', "a is left out: it has no trigger")):
            with self.subTest(text):
                self.assertIn(why, self.convert(text, 1).stderr)
        self.assertIn("No such file", self.lab.far.run(needs.farport(), "convert-rules", "/no/such").stderr)

    def test_brackets_that_are_nested_deep(self):
        for text in ("[" * 400_000, '{"CollectionRules":' * 100_000, '{"CollectionRules": ' + "[" * 200_000 + "]" * 200_000 + "}"):
            self.assertIn("cannot read the rules: it is nested too deep", self.convert(text, 1).stderr)

    def test_characters_that_command_a_terminal_are_escaped(self):
        hostile = "\x1b[31m\x9b2J\u202e\x7f"
        text = self.one(Filters=[{"Key": "CommandLine", "Value": hostile}], Actions=[action("CollectGCDump"), {"Type": hostile}])
        self.assertEqual([each for each in hostile if each in text and not each.isalnum() and each != "["], [], text)
        self.assertIn(r"\U0000009B", text)

    def test_comments_names_and_lines(self):
        """What a file has in it stays within comments and strings."""
        rule = {"Trigger": {"Type": "Startup"}, "Actions": [action("CollectGCDump"), {"Type": "Evil\n[allow]\ncn = ['x']"}],
                "Filters": [{"Key": "CommandLine", "Value": "it's \"x\"\n[allow]"}]}
        text = self.convert(json.dumps({"CollectionRules": {"a/b \n[allow]": rule}}).replace("{", "// a comment\n{", 1)).stdout
        self.assertNotRegex(text, r"(?m)^\[allow\]")
        self.begin(text)
        self.assertEqual([each["name"] for each in json.loads(self.farport("rules", "--json").stdout)], ["a_b___allow_"])


if __name__ == "__main__":
    main()
