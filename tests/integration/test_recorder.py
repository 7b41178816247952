"""`farport serve --recorder` and `farport recent`: what happened before somebody looked."""

import contextlib
import http.client
import json
import os
import time

from harness import http2, needs, traces, wait
from harness.agent import ALLOW_TOOLS
from harness.api import Api
from harness.audit import Audit
from harness.browser import Browser
from harness.case import Case, main
from harness.memory_group import MemoryGroup
from harness.watched import Watched

LOGGING = "Microsoft-Extensions-Logging"
EXCEPTION_THROWN = "80"
CATCH_STARTED = "250"
COLLECTION_BEGINS = "1"


class Recording:
    def recent(self, *arguments, pair=None, agent=None):
        """Gets a recording, and returns how the command ended, and the file."""
        file = os.path.join(self.lab.new_directory(self.lab.near, "recent"), "before.nettrace")
        done = self.lab.near.run(needs.farport(), "recent", (agent or self.agent).remote, *(pair or self.lab.tools_pair).flags(),
                                 "-o", file, *arguments)
        return done, file

    def read(self, *arguments, **options):
        """A recording as the project's reader sees it: a whole one."""
        done, file = self.recent(*arguments, **options)
        self.assert_ok(done)
        reading = traces.ours(self.lab.near, file)
        self.assertEqual(reading.totals["whole"], "yes")
        return reading

    def crashes(self, pair=None, agent=None):
        done = self.lab.near.run(needs.farport(), "crashes", (agent or self.agent).remote, "--json",
                                 *(pair or self.lab.tools_pair).flags())
        return json.loads(self.assert_ok(done).stdout)

    def thrown(self, file):
        """The stacks of the exceptions in a recording, with names, as Microsoft's reader sees them."""
        done = self.tools.driver("thrown", file)
        self.assert_ok(done)
        return [line for line in done.stdout.splitlines() if line.startswith("thrown ")]

    def wait_for(self, text, *arguments):
        """Until a recording holds a text of the application's."""
        def holds():
            done, file = self.recent(*arguments)
            if done.code != 0:
                return False
            with open(file, "rb") as opened:
                return text.encode("utf-16-le") in opened.read()
        wait.until(holds, self.agent.log)


class Recorder(Recording, Case):
    @classmethod
    def prepare(cls):
        cls.application = cls.share(Watched(cls.lab))
        cls.audit = os.path.join(cls.lab.directory, "audit.jsonl")
        configuration = os.path.join(cls.lab.new_directory(cls.lab.far, "agent"), "farport.toml")
        with open(configuration, "w", encoding="utf-8") as file:
            file.write('[recorder]\nkeep = true\n[roles.lister]\ncommands = ["ProcessInfo*"]\n'
                       '[allow]\ncn = ["tools=observer", "lister=lister"]\n')
        cls.agent = cls.share(cls.lab.agent("--config", configuration, "--audit", cls.audit, allow=()))
        cls.agent.wait_for(cls.application)

    def setUp(self):
        wait.until(lambda: self.recent()[0].code == 0, self.agent.log)

    def test_what_happened_before(self):
        for number in range(5):
            self.application.get("/throw", message=f"lost {number}")
        self.application.get("/log", message="before the fall", level="Warning", category="Orders.Stock")
        self.application.get("/log", message="a whisper", level="Information", category="Orders.Stock")
        self.wait_for("before the fall")
        reading = self.read()
        thrown = [event for event in reading.of(traces.RUNTIME) if event[1] == EXCEPTION_THROWN]
        self.assertGreaterEqual(len(thrown), 5)
        # Where they were caught has been left out.
        self.assertNotIn(CATCH_STARTED, {event[1] for event in reading.of(traces.RUNTIME)})
        # Their stacks came too.
        self.assertTrue(all(event[9] for event in thrown))
        self.assertTrue(reading.of("System.Runtime"))
        logs = "".join(str(event) for event in reading.of(LOGGING))
        self.assertIn(traces.hex_of("before the fall"), logs)
        self.assertNotIn(traces.hex_of("a whisper"), logs)

    def test_microsofts_reader_sees_the_same(self):
        self.application.get("/throw", message="seen by both")
        self.wait_for("seen by both")
        done, file = self.recent()
        self.assert_ok(done)
        self.assertIn("the last ", done.stderr)
        ours, theirs = traces.ours(self.lab.near, file), traces.theirs(self.tools, file)
        for mine, other in traces.pairs(ours, theirs):
            self.assertEqual(mine, other)
        self.assertEqual(len(ours.events), len(theirs.events))
        self.assertEqual(ours.totals["dropped"], theirs.totals["dropped"])

    def test_stacks_have_names(self):
        self.application.get("/throw", message="named")
        self.wait_for("named")
        done, file = self.recent()
        self.assert_ok(done)
        self.assertNotIn("missing", done.stderr)
        thrown = self.thrown(file)
        self.assertTrue(thrown)
        for stack in thrown:
            self.assertIn("Watched.Thrower.Throw", stack)
            self.assertNotIn(";;", stack)

    def test_a_page_shows_it_by_time(self):
        for number in range(3):
            self.application.get("/throw", message=f"on the page {number}")
        self.application.get("/log", message="a log line on the page", level="Error", category="Orders.Stock")
        self.wait_for("a log line on the page")
        page = os.path.join(self.lab.new_directory(self.lab.near, "page"), "before.html")
        self.assert_ok(self.lab.near.run(needs.farport(), "recent", self.agent.remote, *self.lab.tools_pair.flags(), "-o", page))
        browser = Browser()
        self.addCleanup(browser.close)
        browser.open(page)
        self.assertEqual(browser.complaints(), [])
        self.assertEqual(browser.fetched(), [f"file://{page}"])
        self.assertEqual(browser.text("title"), "watched")
        self.assertIn("on the page 2", browser.text("list"))
        self.assertIn("a log line on the page", browser.text("list"))
        self.assertGreater(browser.eval("document.querySelectorAll('#lanes polyline').length"), 4)
        self.assertGreater(browser.eval("document.querySelectorAll('#lanes rect').length"), 0)
        browser.press("/")
        browser.type("on the page 1")
        self.assertEqual(browser.eval("document.querySelectorAll('#list > li').length"), 1)
        # A mark's stack.
        browser.eval("document.querySelector('#list summary').click()")
        self.assertIn("Watched.Thrower.Throw", browser.text("list"))
        browser.press("Escape")
        browser.eval("lanes.show(0, 1)")
        self.assertNotIn("on the page 2", browser.text("list"))
        browser.press("Escape")
        self.assertEqual(browser.complaints(), [])

    def test_the_timeline_as_json(self):
        self.application.get("/throw", message="as JSON")
        self.wait_for("as JSON")
        file = os.path.join(self.lab.new_directory(self.lab.near, "json"), "before.json")
        self.assert_ok(self.lab.near.run(needs.farport(), "recent", self.agent.remote, *self.lab.tools_pair.flags(), "-o", file))
        with open(file, encoding="utf-8") as opened:
            timeline = json.load(opened)
        thrown = [each for each in timeline["exceptions"] if each["message"] == "as JSON"]
        self.assertEqual(len(thrown), 1)
        frames = [timeline["frames"][frame] for frame in timeline["stacks"][thrown[0]["stack"]]]
        self.assertTrue(any("Watched.Thrower.Throw" in frame for frame in frames), frames)
        self.assertTrue(any(timeline["vitals"]["cpu_percent"]))
        self.assertTrue(all(heap > 0 for heap in timeline["vitals"]["heap"]))

    def test_metrics_say_how_far_back_it_goes(self):
        def metrics():
            text = Api(self.lab).request("/v1/metrics").body.decode()
            return dict(line.rsplit(" ", 1) for line in text.splitlines() if line.startswith("farport_recorder_"))
        self.assertEqual(metrics()["farport_recorder_runtimes"], "1")
        self.assertGreater(int(metrics()["farport_recorder_bytes"]), 1000)
        wait.until(lambda: int(metrics()["farport_recorder_reach_seconds"]) > 1, metrics)

    def test_the_last_seconds_alone(self):
        self.application.get("/throw", message="long ago")
        self.wait_for("long ago")
        # What is kept has pieces of five seconds.
        time.sleep(12)
        self.application.get("/throw", message="just now")
        self.wait_for("just now", "--last", "3s")
        done, file = self.recent("--last", "3s")
        self.assert_ok(done)
        with open(file, "rb") as opened:
            self.assertNotIn("long ago".encode("utf-16-le"), opened.read())

    def test_an_application_that_is_stopped(self):
        self.application.get("/throw", message="the last words")
        self.wait_for("the last words")
        self.application.process.freeze()
        self.addCleanup(self.application.process.thaw)
        done, file = self.recent()
        self.assertIn("names of methods are missing", self.assert_ok(done).stderr)
        self.assertIn("stopped", done.stderr)
        with open(file, "rb") as opened:
            self.assertIn("the last words".encode("utf-16-le"), opened.read())
        self.assertEqual(traces.ours(self.lab.near, file).totals["whole"], "yes")

    def test_beside_other_tools(self):
        self.application.get("/count", by=3)
        done = self.lab.near.run(needs.farport(), "counters", self.agent.remote, *self.lab.tools_pair.flags(), "--counters",
                                 "Watched.Meter", "--format", "json", "--duration", "4s")
        self.assertIn("watched.total", self.assert_ok(done).stdout)
        trace = os.path.join(self.lab.new_directory(self.lab.near, "trace"), "now.nettrace")
        self.assert_ok(self.tools.farport_run(needs.dotnet_trace(), "collect", "--diagnostic-port", self.agent.remote, "--duration",
                                              "00:00:03", "-o", trace))
        self.application.get("/throw", message="and still there")
        self.wait_for("and still there")

    def test_who_may_not_record_may_not_see_what_was_recorded(self):
        done, file = self.recent(pair=self.lab.authority.client("lister"))
        self.assertEqual(done.code, 1, done.described)
        self.assertIn("CollectTracing2", done.stderr)
        self.assertFalse(os.path.exists(file))
        last = Audit(self.audit).wait_for(audit="recent", decision="refused")
        self.assertIn("lister", str(last))

    def test_what_is_wrong_is_said(self):
        page = self.lab.near.run(needs.farport(), "recent", self.agent.remote, *self.lab.tools_pair.flags(), "-o", "x.svg")
        self.assertEqual(page.code, 2, page.described)
        self.assertIn("use .html, .speedscope.json, .json or .nettrace", page.stderr)
        done, file = self.recent()
        again = self.lab.near.run(needs.farport(), "recent", self.agent.remote, *self.lab.tools_pair.flags(), "-o", file)
        self.assertEqual(again.code, 1, again.described)
        self.assertIn("exists", again.stderr)
        self.assert_ok(done)
        for seconds in ("0", "x", "1000000"):
            answer = Api(self.lab).request(f"/v1/runtimes/{self.agent.runtimes()[0]['id']}/recent?seconds={seconds}", "-X", "POST")
            self.assertEqual(answer.status, 400, answer)


class Ends(Recording, Case):
    @classmethod
    def prepare(cls):
        cls.application = cls.share(Watched(cls.lab))

    def test_an_agent_that_is_killed_begins_anew(self):
        for _ in range(3):
            self.agent = self.lab.agent("--recorder", allow=ALLOW_TOOLS)
            self.agent.wait_for(self.application)
            self.application.get("/throw", message="once more")
            wait.until(lambda: self.recent()[0].code == 0, self.agent.log)
            self.agent.process.kill()
        self.assertEqual(self.application.get("/tick"), "0")

    def test_an_agent_without_a_recorder_says_so(self):
        self.agent = self.lab.agent(allow=ALLOW_TOOLS)
        self.agent.wait_for(self.application)
        done, _ = self.recent()
        self.assertEqual(done.code, 1, done.described)
        self.assertIn("--recorder", done.stderr)
        self.agent.stop()


class BlackBox(Recording, Case):
    """What is kept of applications that end."""

    @classmethod
    def prepare(cls):
        cls.directory = cls.lab.new_directory(cls.lab.far, "ended")
        cls.audit = os.path.join(cls.lab.directory, "ended.jsonl")
        configuration = os.path.join(cls.lab.new_directory(cls.lab.far, "agent"), "farport.toml")
        with open(configuration, "w", encoding="utf-8") as file:
            file.write(f'[recorder]\nkeep = true\n[artifacts]\ndirectory = "{cls.directory}"\n[roles.lister]\ncommands = ["ProcessInfo*"]\n'
                       '[roles.tracer]\ncommands = ["ProcessInfo*", "CollectTracing*", "StopTracing"]\n'
                       '[allow]\ncn = ["tools=admin", "lister=lister", "tracer=tracer"]\n')
        cls.configuration = configuration
        cls.agent = cls.share(cls.lab.agent("--config", configuration, "--audit", cls.audit, allow=()))

    def setUp(self):
        self.application = self.use(Watched(self.lab))
        self.agent.wait_for(self.application)
        wait.until(lambda: self.recent()[0].code == 0, self.agent.log)

    def crash(self):
        """What is kept of the application of this test."""
        def kept():
            return [crash for crash in self.crashes() if crash["runtime"]["pid"] == self.application.pid_inside]
        return wait.until(kept, self.agent.log)[0]

    def end(self, how, reason):
        """Has the application end, and checks what is kept."""
        self.application.get("/throw", message=f"the last words before {how}")
        if how == "kill":
            time.sleep(0.3)
            self.application.process.kill()
        else:
            self.application.get("/end", how=how)
        crash = self.crash()
        self.assertEqual(crash["why"], reason, crash)
        self.assertEqual(crash["in_order"], reason == "exit code 0")
        self.assertEqual(crash["runtime"]["name"], "watched")
        done, file = self.recent("--crash", crash["id"])
        self.assertNotIn("missing", self.assert_ok(done).stderr)
        # In the directory it is compressed.
        self.assertLess(crash["bytes"], os.path.getsize(file) // 2)
        with open(file, "rb") as opened:
            self.assertIn(f"the last words before {how}".encode("utf-16-le"), opened.read())
        self.assertEqual(traces.ours(self.lab.near, file).totals["whole"], "yes")
        stacks = self.thrown(file)
        self.assertTrue(any("Watched.Thrower.Throw" in stack for stack in stacks), stacks)
        self.assertEqual([stack for stack in stacks if ";;" in stack], [])
        return crash

    def samples(self, *arguments, **options):
        """The stacks that were sampled, of a recording, as the project's reader sees them."""
        return [event[9] for event in self.read(*arguments, **options).of(traces.SAMPLES)]

    def test_samples_of_the_processor(self):
        tracer = self.lab.authority.client("tracer")

        def busy():
            for _ in range(10):
                self.application.get("/burn")
            return len(self.samples()) > 10
        wait.until(busy, self.agent.log)
        # As stock tools see it, with names.
        done, file = self.recent()
        self.assert_ok(done)
        self.assertTrue(any("Watched.Work.Burn" in name for name in self.tools.frames(file)))
        profile = os.path.join(self.lab.new_directory(self.lab.near, "profile"), "before.speedscope.json")
        arguments = (needs.farport(), "recent", self.agent.remote, "-o", profile)
        self.assert_ok(self.lab.near.run(*arguments, *self.lab.tools_pair.flags()))
        with open(profile, encoding="utf-8") as opened:
            self.assertTrue(any("Work.Burn" in frame["name"] for frame in json.load(opened)["shared"]["frames"]))
        refused = self.lab.near.run(*arguments, "--force", *tracer.flags())
        self.assertEqual(refused.code, 1, refused.described)
        self.assertIn("permission profile", refused.stderr)
        self.check_flame_graph()
        # They are what a profile shows, which takes its own permission.
        self.assertEqual(self.samples(pair=tracer), [])
        self.application.process.kill()
        crash = self.crash()
        self.assertGreater(len(self.samples("--crash", crash["id"])), 10)
        self.assertEqual(self.samples("--crash", crash["id"], pair=tracer), [])

    def check_flame_graph(self):
        """Of a stretch on the page."""
        page = os.path.join(self.lab.new_directory(self.lab.near, "page"), "before.html")
        self.assert_ok(self.lab.near.run(needs.farport(), "recent", self.agent.remote, *self.lab.tools_pair.flags(), "-o", page))
        browser = Browser()
        self.addCleanup(browser.close)
        browser.open(page)
        self.assertFalse(browser.eval("part('flame').disabled"))
        browser.press("f")
        self.assertEqual(browser.complaints(), [])
        self.assertEqual(browser.eval("getComputedStyle(part('list')).display"), "none")
        whole = browser.eval("graph.model.total[0]")
        self.assertGreater(whole, 10)
        self.assertTrue(browser.eval("graph.model.names.some((name) => name.includes('Work.Burn'))"))
        self.assertGreater(browser.eval("graph.rows.length"), 3)
        for name, shown in (("libc.so.6.clock_gettime", "clock_gettime"), ("libcoreclr.so.?", "libcoreclr.so"), ("[vdso].?", "[vdso]"),
                            ("libcoreclr.so+0x1f", "libcoreclr.so+0x1f"), ("Watched.Work.Burn(class A.B)", "Watched.Work.Burn")):
            self.assertEqual(browser.eval(f"shorten({json.dumps(name)}, 20)"), shown)
        # A stretch has its own. Not each has the method that is looked for.
        burns = browser.eval("model.samples.findIndex(({ stack }) => model.stack(stack).some((name) => name.includes('Work.Burn')))")
        browser.eval(f"lanes.show(model.samples[{burns}].time, model.samples[Math.min({burns} + 4, model.samples.length - 1)].time)")
        self.assertEqual(browser.eval("graph.model.total[0]"), browser.eval(
            "model.samples.filter(({ time }) => time >= lanes.from && time <= lanes.to).length"))
        self.assertLess(browser.eval("graph.model.total[0]"), whole)
        browser.press("/")
        browser.type("Work.Burn")
        self.assertTrue(browser.eval("graph.found.includes(1)"))
        browser.press("Escape")
        browser.press("f")
        self.assertNotEqual(browser.eval("getComputedStyle(part('list')).display"), "none")

    def test_one_that_is_stopped_has_names_too(self):
        self.application.get("/throw", message="before it stopped")
        self.wait_for("before it stopped")
        self.application.process.freeze()
        self.addCleanup(self.application.process.thaw)
        done, file = self.recent()
        self.assertNotIn("missing", self.assert_ok(done).stderr)
        self.assertTrue(any("Watched.Thrower.Throw" in stack for stack in self.thrown(file)))

    def test_kill(self):
        crash = self.end("kill", "killed by signal 9 (SIGKILL)")
        page = os.path.join(self.lab.new_directory(self.lab.near, "page"), "crash.html")
        self.assert_ok(self.lab.near.run(needs.farport(), "recent", self.agent.remote, *self.lab.tools_pair.flags(),
                                         "--crash", crash["id"], "-o", page))
        browser = Browser()
        self.addCleanup(browser.close)
        browser.open(page)
        self.assertIn("the last words before kill", browser.text("list"))
        self.assertEqual(browser.text("end"), "killed by signal 9 (SIGKILL)")
        self.assertIn(crash["runtime"]["host"], browser.text("summary"))
        table = self.lab.near.run(needs.farport(), "crashes", self.agent.remote, *self.lab.tools_pair.flags())
        self.assertIn(crash["id"], self.assert_ok(table).stdout)
        last = Audit(self.audit).wait_for(audit="artifact", decision="allowed")
        self.assertIn("crash", str(last))

    def test_unhandled_exception(self):
        self.end("exception", "killed by signal 6 (SIGABRT)")

    def test_fail_fast(self):
        self.end("failfast", "killed by signal 6 (SIGABRT)")

    def test_stack_overflow(self):
        self.end("overflow", "killed by signal 6 (SIGABRT)")

    def test_exit(self):
        self.end("exit", "exit code 3")

    def test_an_end_in_order(self):
        self.end("done", "exit code 0")

    def test_the_next_agent_has_it_too(self):
        self.application.process.kill()
        crash = self.crash()
        another = self.use(self.lab.agent("--config", self.configuration, allow=(), port=9100))
        listed = self.crashes(agent=another)
        self.assertIn(crash["id"], [each["id"] for each in listed])
        self.assert_ok(self.recent("--crash", crash["id"], agent=another)[0])

    def test_who_may_not_record_sees_nothing(self):
        self.application.process.kill()
        crash = self.crash()
        lister = self.lab.authority.client("lister")
        self.assertEqual(self.crashes(pair=lister), [])
        answer = Api(self.lab, lister).request(f"/v1/artifacts/{crash['id']}", "-X", "POST")
        self.assertEqual(answer.status, 403, answer)
        for unknown in ("nothing", "..%2F..%2Fetc%2Fpasswd", "../../etc/passwd"):
            answer = Api(self.lab).request(f"/v1/artifacts/{unknown}", "-X", "POST")
            self.assertIn(answer.status, (404, 405), answer)
        # What is no text is refused like any other.
        with contextlib.closing(http2.Client(self.lab)) as client:
            refused = json.loads(client.answer(client.request("POST", "/v1/artifacts/\xff")))
            self.assertIn("nothing is kept as", refused["error"])
        done, _ = self.recent("--crash", "nothing")
        self.assertEqual(done.code, 1, done.described)
        self.assertIn("farport artifacts", done.stderr)
        for damage in (b"", b"no recording"):
            with open(os.path.join(self.directory, crash["id"] + ".nettrace.zst"), "wb") as recording:
                recording.write(damage)
            done, file = self.recent("--crash", crash["id"])
            self.assertEqual(done.code, 1, done.described)
            self.assertIn("cannot read what is kept", done.stderr)
            self.assertFalse(os.path.exists(file))


class ManyMethods(Recording, Case):
    def test_all_have_names_though_their_loads_have_not_fitted(self):
        directory = self.lab.new_directory(self.lab.far, "ended")
        application = self.use(Watched(self.lab))
        self.agent = self.use(self.lab.agent("--recorder", "--artifacts", directory, allow=ALLOW_TOOLS))
        self.agent.wait_for(application)
        names = f"/v1/runtimes/{self.agent.runtimes()[0]['id']}/recent?seconds=5"

        def are_kept():
            return b"farport-recent-names: yes" in Api(self.lab).request(names, "-X", "POST", "--dump-header", "-").body
        wait.until(are_kept, self.agent.log)
        application.get("/compile", count=25_000)
        # Their loads come within tenths of a second, and then the runtime is asked for all names again.
        time.sleep(1)
        wait.until(are_kept, self.agent.log)
        for _ in range(50):
            application.get("/compiled")
        time.sleep(0.5)
        application.process.kill()
        crash, = wait.until(self.crashes, self.agent.log)
        done, file = self.recent("--crash", crash["id"])
        self.assertNotIn("missing", self.assert_ok(done).stderr)
        stacks = self.thrown(file)
        self.assertGreaterEqual(len(stacks), 50)
        self.assertTrue(all("Watched.Made.First" in stack for stack in stacks[-50:]), stacks[-3:])


class OutOfMemory(Recording, Case):
    def test_the_kernels_end_is_told_from_that_of_others(self):
        group = MemoryGroup(self.lab.far, 256 << 20)
        self.addCleanup(group.remove)
        directory = self.lab.new_directory(self.lab.far, "ended")
        # .NET would give up itself at three quarters of the group's limit.
        application = Watched(self.lab, group.prefix, {"DOTNET_GCHeapHardLimit": "0x100000000"})
        self.addCleanup(application.process.kill)
        self.agent = self.use(self.lab.agent("--recorder", "--artifacts", directory, allow=ALLOW_TOOLS))
        self.agent.wait_for(application)
        wait.until(lambda: self.recent()[0].code == 0, self.agent.log)
        with contextlib.suppress(ConnectionError, http.client.HTTPException):
            application.get("/hold", count=2_000_000)
        done = wait.until(lambda: [crash for crash in self.crashes() if crash["why"]], self.agent.log)
        self.assertEqual(done[0]["why"], "killed by signal 9 (SIGKILL): its control group ran out of memory")


class Runtimes(Recording, Case):
    def check(self, framework):
        application = self.lab.far.start(needs.talkative(framework), "600")
        application.wait_for_output("talking")
        self.addCleanup(application.kill)
        directory = self.lab.new_directory(self.lab.far, "ended")
        self.agent = self.lab.agent("--recorder", "--artifacts", directory, allow=ALLOW_TOOLS)
        self.addCleanup(self.agent.stop)

        def told():
            done, file = self.recent()
            return {event[1] for event in traces.ours(self.lab.near, file).of(traces.RUNTIME)} if done.code == 0 else set()
        wait.until(lambda: told() >= {EXCEPTION_THROWN, COLLECTION_BEGINS}, self.agent.log)
        self.assert_named(*self.recent())
        application.kill()
        crash, = wait.until(self.crashes, self.agent.log)
        self.assert_named(*self.recent("--crash", crash["id"]), at_the_end=20)

    def assert_named(self, done, file, at_the_end=0):
        """That all stacks have names, but for so many at the end: code that was compiled anew in the last tenths of a
        second, some ten milliseconds each, which the runtime had no time left to tell."""
        self.assertNotIn("missing", self.assert_ok(done).stderr)
        thrown = self.thrown(file)
        for _ in range(at_the_end):
            if ";;" in thrown[-1]:
                thrown.pop()
        self.assertTrue(thrown)
        self.assertTrue(all("Talkative" in stack for stack in thrown), thrown[:3])
        self.assertEqual([stack for stack in thrown if ";;" in stack], [])

    def test_net_9(self):
        self.check("net9.0")

    def test_net_8(self):
        self.check("net8.0")


if __name__ == "__main__":
    main()
