"""`farport serve --app-metrics`: what applications count, as Prometheus reads it."""

import os
import threading

from harness import ipc, needs, sockets, wait
from harness.api import Api
from harness.case import Case, main
from harness.prometheus import parse
from harness.silent import PROVIDER, Silent
from harness.watched import Watched

PATH = "/v1/metrics/runtimes"


class Scraping:
    def scrape(self, pair=None):
        """The families by name, with the samples of each by their labels."""
        answer = Api(self.lab, pair).request(PATH)
        self.assertEqual((answer.status, answer.content_type), (200, "text/plain; version=0.0.4; charset=utf-8"), answer.body)
        return parse(answer.body.decode()) if answer.body else {}

    def value(self, name, *labels):
        """Of the sample with these labels; nothing where there is none yet."""
        for found, value in self.scrape().get(name, ("", {}))[1].items():
            if all(label in found for label in labels):
                return value
        return None


class AppMetrics(Scraping, Case):
    @classmethod
    def prepare(cls):
        cls.application = cls.share(Watched(cls.lab))
        cls.application.get("/count", by=0)
        configuration = os.path.join(cls.lab.new_directory(cls.lab.far, "agent"), "farport.toml")
        with open(configuration, "w", encoding="utf-8") as file:
            file.write('[app_metrics]\nkeep = true\ncounters = ["Watched.Meter,System.Runtime", "EventCounters\\\\Watched.Events"]\n'
                       '[roles.lister]\ncommands = ["ProcessInfo*"]\n[allow]\ncn = ["tools=observer", "lister=lister"]\n')
        cls.agent = cls.share(cls.lab.agent("--config", configuration, allow=()))
        cls.agent.wait_for(cls.application)

    def test_applications_that_start_beside_a_recording_agent_go_on(self):
        """A runtime that is asked for a session with meters in its start may stand still for ever."""
        search = self.lab.new_directory(self.lab.far, "many")
        agent = self.use(self.lab.agent("--app-metrics", "--recorder", search=[search], port=9101))
        # Each says itself that it goes on, and opens its socket.
        all_here = []
        starting = [threading.Thread(target=lambda: all_here.append(self.use(self.lab.orders(directory=search)))) for _ in range(16)]
        for each in starting:
            each.start()
        for each in starting:
            each.join()
        self.assertEqual(len(all_here), 16, agent.log())
        agent.wait_for(*all_here)
        for each in all_here:
            self.assertEqual(ipc.parse_process_info(sockets.exchange(each.socket, ipc.process_info(), 30))[0], each.pid_inside)

    def test_values_are_the_applications_own(self):
        # What was counted before somebody listens is not told.
        wait.until(lambda: self.value("dotnet_process_cpu_count") is not None, self.agent.log)
        before = self.value("watched_total") or 0
        total = before
        for by in (3, 20, 4):
            total = int(self.application.get("/count", by=by))
        self.assertEqual(total, before + 27)
        own = (f'runtime="watched",pid="{self.application.pid_inside}"', 'meter="Watched.Meter"')
        wait.until(lambda: self.value("watched_items_total", 'kind="large"') == 20, self.scrape)
        wait.until(lambda: self.value("watched_items_total", 'kind="small"', *own) == 7, self.scrape)
        wait.until(lambda: self.value("watched_sizes", "count", *own) == 3, self.scrape)
        self.assertEqual(self.value("watched_sizes", "sum", *own), 27)
        self.assertEqual(self.scrape()["watched_sizes"][0], "summary")
        wait.until(lambda: self.value("watched_open", *own) == total, self.scrape)
        wait.until(lambda: self.value("watched_total", *own) == total, self.scrape)
        wait.until(lambda: self.value("items", 'meter="Watched.Events"') == total, self.scrape)
        wait.until(lambda: self.value("items_added_total") == 27, self.scrape)

    def test_a_tool_reads_the_meters_meanwhile(self):
        done = self.assert_ok(self.lab.near.run(needs.farport(), "counters", self.agent.remote, *self.lab.tools_pair.flags(),
                                                "--counters", "Watched.Meter", "--format", "json", "--duration", "4s"))
        self.assertIn("watched.total", done.stdout)

    def test_who_may_not_read_counters_sees_none(self):
        wait.until(self.scrape, self.agent.log)
        self.assertEqual(self.scrape(self.lab.authority.client("lister")), {})

    def test_an_application_that_ends_is_gone(self):
        other = self.lab.orders()
        own = f'pid="{other.pid_inside}"'
        wait.until(lambda: self.value("dotnet_process_cpu_count", own) is not None, self.agent.log)
        other.stop()
        wait.until(lambda: self.value("dotnet_process_cpu_count", own) is None, self.agent.log)


class GivesWay(Scraping, Case):
    @classmethod
    def prepare(cls):
        cls.application = cls.share(Watched(cls.lab))
        cls.agent = cls.share(cls.lab.agent("--app-metrics", "--app-metrics-counters", "Watched.Meter"))
        cls.agent.wait_for(cls.application)

    def test_it_gives_way_to_a_tool_that_reads_them_in_another_way(self):
        own = 'meter="Watched.Meter"'
        total = int(self.application.get("/count", by=1))
        wait.until(lambda: self.value("watched_total", own) == total, self.scrape)
        # dotnet-counters collect has a session of its own, beside which the runtime serves no other.
        recording = os.path.join(self.lab.new_directory(self.lab.near, "meters"), "meters.nettrace")
        tool = self.lab.near.start(
            needs.farport(), "trace", self.agent.remote, *self.lab.tools_pair.flags(), "-o", recording, "--rundown", "false", "--providers",
            "System.Diagnostics.Metrics:0x2:4:SessionId=mine;Metrics=Watched.Meter;RefreshInterval=1;MaxTimeSeries=100;MaxHistograms=10",
            "--stopping-event-provider-name", "System.Diagnostics.Metrics", "--stopping-event-event-name", "GaugeValuePublished")
        self.assertEqual(tool.wait(), 0, tool.output())
        self.assertIn("are not collected while a caller", self.agent.log())
        other = self.assert_ok(self.lab.near.run(needs.farport(), "counters", self.agent.remote, *self.lab.tools_pair.flags(), "--counters",
                                                 "Watched.Meter", "--refresh-interval", "2s", "--format", "json", "--duration", "7s"))
        self.assertIn("watched.total", other.stdout)
        # And comes back.
        total = int(self.application.get("/count", by=1))
        wait.until(lambda: self.value("watched_total", own) == total, self.scrape)


class Off(Scraping, Case):
    @classmethod
    def prepare(cls):
        cls.agent = cls.share(cls.lab.agent())

    def test_without_it_there_are_none_and_why_is_said(self):
        answer = Api(self.lab).request(PATH)
        self.assertEqual(answer.status, 404)
        self.assertIn("--app-metrics", answer.error)

    def test_a_wrong_name_is_said_at_once(self):
        done = self.lab.far.run(needs.farport(), "serve", "--listen", "127.0.0.1:9004", *self.lab.agent_pair.flags(), "--allow-all",
                                "--app-metrics", "--app-metrics-counters", "a;b")
        self.assertEqual(done.code, 1, done.described)
        self.assertIn("a;b", done.stderr)


class LeftRunning(Case):
    """Nothing goes on in the runtime when the agent ends."""

    @classmethod
    def prepare(cls):
        cls.runtime = Silent(cls.lab)

    def test_the_agent_ends(self):
        agent = self.lab.agent()
        agent.wait_for(self.runtime)
        agent.stop()
        self.runtime.rest()
        # A runtime whose reader is killed as it collects its meters for the first time may block itself: then none are read.
        for end, counters in (("stop", PROVIDER), ("kill", f"EventCounters\\{PROVIDER},EventCounters\\System.Runtime")):
            agent = self.lab.agent("--app-metrics", "--app-metrics-counters", counters)
            self.runtime.wait_until_enabled()
            getattr(agent, end)() if end == "stop" else agent.process.kill()
            self.runtime.wait_until_free()


if __name__ == "__main__":
    main()
