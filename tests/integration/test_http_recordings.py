"""Recordings by HTTP, with curl alone: traces, counters, logs, exceptions, stacks and heaps."""

import json
import os
import signal
import urllib.parse

from harness import needs, proc, wait
from harness.api import Api
from harness.audit import Audit
from harness.case import Case, main
from harness.silent import PROVIDER, Silent
from harness.traces import hex_of
from harness.watched import Watched, own_lines

HELD = 100_000
# What curl ends with where an HTTP/2 stream is reset.
RESET = 92


class Recordings(Case):
    @classmethod
    def prepare(cls):
        cls.application = cls.share(Watched(cls.lab))
        cls.application.get("/count", by=0)
        cls.audit = Audit(os.path.join(cls.lab.directory, "audit.jsonl"))
        cls.agent = cls.share(cls.lab.agent("--audit", cls.audit.path))
        cls.runtime = cls.agent.wait_for(cls.application)[0]
        cls.api = Api(cls.lab)

    def ask(self, kind, *arguments, **parameters):
        query = urllib.parse.urlencode(parameters, quote_via=urllib.parse.quote)
        return self.api.request(f"/v1/runtimes/{self.runtime['id']}/{kind}?{query}", *arguments)

    def start(self, kind, **parameters):
        """A request that goes on."""
        query = urllib.parse.urlencode(parameters, quote_via=urllib.parse.quote)
        url = f"{self.api.base}/v1/runtimes/{self.runtime['id']}/{kind}?{query}"
        return self.lab.near.start(*self.api.curl("--no-buffer", url), name="curl")

    def lines(self, answer):
        self.assertEqual((answer.status, answer.content_type), (200, "application/x-ndjson"), answer.body)
        return [json.loads(line) for line in answer.body.splitlines()]

    def test_a_trace_is_whole(self):
        file = os.path.join(self.lab.new_directory(self.lab.near, "trace"), "x.nettrace")
        answer = self.ask("trace", seconds=2, profile="gc-collect", providers=r"Watched.Events:0:4:EventCounterIntervalSec=1")
        self.assertEqual((answer.status, answer.content_type), (200, "application/octet-stream"))
        with open(file, "wb") as written:
            written.write(answer.body)
        values = self.assert_ok(self.tools.driver("read", file)).values()
        self.assertEqual(values["whole"], "True", values)
        for command in ("CollectTracing4", "StopTracing"):
            self.audit.wait_for(audit="command", command=command)

    def test_commands_to_a_database_have_their_texts(self):
        process = self.start("trace", seconds=3, profile="database", rundown="false")
        file = process.stdout_path
        while process.running():
            self.application.get("/query", text="SELECT 42")
        self.assertEqual(process.wait(), 0)
        events = self.assert_ok(self.lab.near.run(needs.nettrace_dump(), file)).stdout.splitlines()
        queries = [line for line in events if hex_of("SELECT 42") in line]
        self.assertTrue(queries, events[-5:])
        self.assertIn(" Activity2Start ", queries[0])
        self.assertIn(hex_of("db.example"), queries[0])

    def test_counters_are_lines(self):
        total = int(self.application.get("/count", by=3))
        lines = self.lines(self.ask("counters", seconds=2.5, counters=r"Watched.Meter[watched.total],EventCounters\Watched.Events"))
        self.assertEqual({line["value"] for line in lines if line["name"] == "watched.total"}, {total})
        self.assertIn("items", {line["name"] for line in lines})
        self.assertNotIn("watched.open", {line["name"] for line in lines})

    def test_logs_come_as_they_are_written(self):
        process = self.start("logs", seconds=60, level="Debug", category="Orders.*,Other:Error")

        def begun():
            self.application.get("/log", message="début", level="Debug", category="Orders.Pricing")
            return process.stdout()
        wait.until(begun, process.output)
        self.application.get("/log", message="not this", level="Warning", category="Other")
        self.application.get("/log", message="fin", level="Error", category="Other")
        wait.until(lambda: "fin it is" in process.stdout(), process.output)
        process.kill()
        lines = own_lines(json.loads(line) for line in process.stdout().splitlines())
        self.assertEqual({(line["category"], line["arguments"]["Text"]) for line in lines},
                         {("Orders.Pricing", "début"), ("Other", "fin")})

    def test_exceptions_come_at_the_end_with_names(self):
        process = self.start("exceptions", seconds=3)
        thrown = []
        while process.running():
            thrown.append(f"number {len(thrown)}\n")
            self.application.get("/throw", message=thrown[-1])
        self.assertEqual(process.wait(), 0, process.output())
        lines = [json.loads(line) for line in process.stdout().splitlines()]
        # Some were thrown before it began, or after it ended.
        first = thrown.index(lines[0]["message"])
        self.assertEqual([line["message"] for line in lines], thrown[first:first + len(lines)])
        caught = [entry for entry in self.application.entries("exception") if entry["message"] in thrown]
        for line, entry in zip(lines, caught[first:]):
            self.assertEqual({key: line[key] for key in ("type", "message", "hresult")}, entry)
            stack = [frame.split("(")[0] for frame in line["stack"]]
            self.assertEqual(stack.index("Watched.Thrower.Throw") + 1, stack.index("Watched.Thrower.Catch"), stack)

    def test_stacks_are_one_document(self):
        answer = self.ask("stacks")
        self.assertEqual((answer.status, answer.content_type), (200, "application/json"), answer.body)
        threads = json.loads(answer.body)
        self.assertTrue([thread for thread in threads if any("watched.dll!Program.<Main>" in frame for frame in thread["stack"])],
                        threads)
        self.assertEqual(len({thread["thread"] for thread in threads}), len(threads))

    def test_a_heap_is_one_document_as_soon_as_it_is_whole(self):
        self.application.get("/hold", count=HELD)
        answer = self.ask("gcdump", seconds=600)
        self.assertEqual((answer.status, answer.content_type), (200, "application/json"), answer.body)
        heap = json.loads(answer.body)
        self.assertTrue(heap["complete"])
        self.assertEqual((heap["process"], heap["pid"]), ("watched", self.application.pid_inside))
        self.assertEqual([entry["objects"] for entry in heap["types"] if entry["type"] == "Watched.Held"], [HELD])

    def test_what_is_wrong_is_said(self):
        for kind, parameters, words in (("counters", {"counters": "a;b"}, "a;b"), ("counters", {"interval": "0"}, "interval"),
                                        ("logs", {"level": "loud"}, "loud"), ("trace", {"profile": "cpu"}, "dotnet-common"),
                                        ("trace", {"providers": "X:zz"}, "hexadecimal"), ("trace", {"rundown": "perhaps"}, "rundown"),
                                        ("trace", {"seconds": "soon"}, "seconds"), ("trace", {"seconds": "nan"}, "seconds"),
                                        ("trace", {"seconds": "1e9"}, "seconds"), ("stacks", {"seconds": "-1"}, "seconds"), ("logs", {"category": 'a"b'}, "category")):
            answer = self.ask(kind, **parameters)
            self.assertEqual(answer.status, 400, answer.body)
            self.assertIn(words, answer.error)
        self.assertEqual(self.ask("logs", "--request", "POST").status, 405)
        answer = self.api.request("/v1/runtimes/00000000-0000-0000-0000-000000000000/logs")
        self.assertEqual(answer.status, 404)


class Refused(Case):
    """Who may not trace may not by HTTP either."""

    @classmethod
    def prepare(cls):
        cls.application = cls.lab.orders()
        cls.audit = Audit(os.path.join(cls.lab.directory, "audit.jsonl"))
        configuration = os.path.join(cls.lab.new_directory(cls.lab.far, "agent"), "farport.toml")
        with open(configuration, "w", encoding="utf-8") as file:
            file.write('[roles.lister]\ncommands = ["ProcessInfo*"]\n[allow]\ncn = ["tools=lister"]\n')
        cls.agent = cls.share(cls.lab.agent("--config", configuration, "--audit", cls.audit.path, allow=[]))
        cls.runtime = cls.agent.wait_for(cls.application)[0]

    def test_by_the_role(self):
        kinds = ("trace", "counters", "logs", "exceptions", "stacks", "gcdump")
        for kind in kinds:
            answer = Api(self.lab).request(f"/v1/runtimes/{self.runtime['id']}/{kind}?seconds=1")
            self.assertEqual(answer.status, 403, answer.body)
        for count in range(1, len(kinds) + 1):
            self.assertTrue(self.audit.wait_for(count, decision="refused")["command"].startswith("CollectTracing"))


class LeftRunning(Case):
    """Nothing goes on in the runtime when who asked has gone."""

    @classmethod
    def prepare(cls):
        cls.runtime = Silent(cls.lab)
        cls.agent = cls.share(cls.lab.agent())
        cls.id = cls.agent.wait_for(cls.runtime)[0]["id"]
        cls.runtime.rest()
        cls.api = Api(cls.lab)

    def test_killed(self):
        for kind in (f"trace?providers={PROVIDER}&rundown=false", f"counters?counters={PROVIDER}"):
            process = self.lab.near.start(*self.api.curl(f"{self.api.base}/v1/runtimes/{self.id}/{kind}"), name="curl")
            self.runtime.wait_until_enabled()
            process.kill()
            self.runtime.wait_until_free()

    def test_the_agent_ends(self):
        agent = self.lab.agent(port=9003)
        api = Api(self.lab, port=9003)
        agent.wait_for(self.runtime)
        file = os.path.join(self.lab.new_directory(self.lab.near, "trace"), "x.nettrace")
        process = self.lab.near.start(*api.curl(f"{api.base}/v1/runtimes/{self.id}/trace?providers={PROVIDER}", "-o", file),
                                      name="curl")
        self.runtime.wait_until_enabled()
        agent.stop()
        self.runtime.wait_until_free()
        # Either it is whole, or curl says that it isn't.
        if process.wait() == 0:
            self.assertEqual(self.assert_ok(self.tools.driver("read", file)).values()["whole"], "True", process.output())


class Readers(Case):
    """The processes that make answers of what a runtime writes (docs/developers/architecture.md, "Readers")."""

    @classmethod
    def prepare(cls):
        cls.application = cls.lab.orders(busy=True)

    def begin(self, *flags):
        """An agent with this application alone."""
        self.agent = self.use(self.lab.agent(*flags))
        self.path = f"/v1/runtimes/{self.agent.wait_for(self.application)[0]['id']}"
        self.api = Api(self.lab)

    def readers(self):
        return proc.children(self.agent.helper("farport-reader"))

    def start(self, kind="counters?counters=System.Runtime"):
        """A request that goes on, and its reader."""
        before = self.readers()
        request = self.lab.near.start(*self.api.curl("--no-buffer", f"{self.api.base}{self.path}/{kind}"), name="curl")
        wait.until(request.stdout, request.output)
        return request, next(pid for pid in self.readers() if pid not in before)

    def test_a_reader_ends_with_its_caller_also_where_it_is_stopped(self):
        self.begin()
        for signals in ((), (signal.SIGSTOP,)):
            request, reader = self.start()
            for each in signals:
                os.kill(reader, each)
            request.kill()
            wait.until(lambda pid=reader: not proc.is_alive(pid), lambda: f"its reader is gone: {self.readers()}")

    def test_a_reader_that_is_killed_ends_one_recording(self):
        self.begin()
        (first, reader), (second, _) = self.start(), self.start()
        os.kill(reader, signal.SIGKILL)
        self.assertEqual(first.wait(), RESET, first.output())
        before = len(second.stdout())
        wait.until(lambda: len(second.stdout()) > before, second.output)
        second.kill()

    def start_profile(self):
        """A request for a profile as a file, and who samples for it."""
        request = self.lab.near.start(*self.api.curl("--request", "POST", f"{self.api.base}{self.path}/profile?duration=60&format=html"),
                                      name="curl")
        wait.until(self.readers, request.output)
        samplers = proc.children(self.agent.helper("farport-sampler"))
        self.assertEqual(len(samplers), 1, samplers)
        return request, samplers[0]

    def test_profiles_as_files_go_through_one_and_end_with_their_caller(self):
        self.begin()
        request, sampler = self.start_profile()
        os.kill(sampler, signal.SIGSTOP)
        request.kill()
        wait.until(lambda: not self.readers() and not proc.is_alive(sampler),
                   lambda: f"nothing is left: {self.readers()}, {sampler}\n{self.agent.log()}")

    def test_a_profile_whose_sampler_is_killed_says_so(self):
        self.begin()
        request, sampler = self.start_profile()
        os.kill(sampler, signal.SIGKILL)
        self.assertEqual(request.wait(), 0, request.output())
        self.assertIn("they are incomplete", request.stdout())
        wait.until(lambda: not self.readers(), self.agent.log)

    def test_what_starts_them_is_missed_when_it_is_killed(self):
        self.begin("--admin", "127.0.0.1:9464")
        os.kill(self.agent.helper("farport-reader"), signal.SIGKILL)
        wait.until(lambda: "the process that starts readers has ended" in self.agent.log(), self.agent.log)
        for path, *arguments in (("counters",), ("profile?duration=1&format=html", "--request", "POST")):
            answer = self.api.request(f"{self.path}/{path}", *arguments)
            self.assertEqual(answer.status, 503, answer)
            self.assertIn("start the agent again", answer.error)
        self.assertEqual(self.api.request(f"{self.path}/trace?seconds=1").status, 200)
        told = self.lab.near.run(needs.farport(), "doctor", self.agent.remote, *self.lab.tools_pair.flags()).text
        self.assertIn("the agent's process that starts readers has ended", told)
        metrics = self.lab.far.run("curl", "--silent", "http://127.0.0.1:9464/metrics").stdout
        self.assertIn("farport_reader_running 0", metrics)


if __name__ == "__main__":
    main()
