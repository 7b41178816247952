"""examples/prometheus with a real Prometheus: it scrapes an agent and its applications while a trace runs."""

import http.client
import json
import os
import pathlib
import shutil
import signal
import urllib.parse

import yaml

from harness import admin, ipc, needs, wait
from harness.api import Api
from harness.case import Case, main
from harness.certificates import AGENT_NAME
from harness.watched import Watched

EXAMPLES = needs.ROOT / "examples/prometheus"
PORT = 9090
# How often it scrapes here, and what the dashboard's rates are taken over.
INTERVAL = "1s"
RATES_OVER = "20s"
# Grafana's variables: everything.
VARIABLES = {"$__rate_interval": RATES_OVER, "$job": ".*", "$instance": ".*", "$runtime": ".*"}


class Server:
    """Prometheus on the far host, with the example's configuration, moved to where things are in the lab."""

    def __init__(self, lab):
        self.lab = lab
        directory = lab.new_directory(lab.far, "prometheus")
        shutil.copytree(EXAMPLES, directory, dirs_exist_ok=True)
        pair = lab.authority.client("prometheus")
        for path, name in ((pair.ca, "ca.crt"), (pair.cert, "prometheus.crt"), (pair.key, "prometheus.key")):
            shutil.copy(path, os.path.join(directory, name))
        self.configuration = pathlib.Path(directory, "prometheus.yml")
        text = self.configuration.read_text(encoding="utf-8")
        for there, here in (("/etc/prometheus/farport", directory), ("orders.example", AGENT_NAME),
                            (": 15s", f": {INTERVAL}")):
            if there not in text:
                raise AssertionError(f"prometheus.yml has no {there}")
            text = text.replace(there, here)
        self.configuration.write_text(text, encoding="utf-8")
        lab.far.know(AGENT_NAME, lab.far.address)
        self.process = lab.far.start(needs.program("prometheus"), f"--config.file={self.configuration}",
                                     f"--storage.tsdb.path={directory}/data", f"--web.listen-address=127.0.0.1:{PORT}")
        self.process.wait_for_output("Server is ready")

    def api(self, path, **query):
        """What its API answers."""
        connection = http.client.HTTPConnection("127.0.0.1", PORT)
        connection.sock = self.lab.far.connect("127.0.0.1", PORT)
        connection.request("GET", f"/api/v1/{path}?" + urllib.parse.urlencode(query))
        answer = json.loads(connection.getresponse().read())
        connection.close()
        if answer["status"] != "success":
            raise AssertionError(f"{path} {query}: {answer}")
        return answer["data"]

    def values(self, query):
        """The numbers that a query has now."""
        found = [float(sample["value"][1]) for sample in self.api("query", query=query)["result"]]
        return [value for value in found if value == value]

    def stop(self):
        """Ends it."""
        self.process.stop()


def dashboard_queries():
    """Those of all panels, with something for each of Grafana's variables."""
    dashboard = json.loads((EXAMPLES / "dashboard.json").read_text(encoding="utf-8"))
    queries = []
    for panel in dashboard["panels"]:
        for target in panel.get("targets", []):
            query = target["expr"]
            for name, value in VARIABLES.items():
                query = query.replace(name, value)
            queries.append(query)
    return queries


class Scraped(Case):
    @classmethod
    def prepare(cls):
        configuration = os.path.join(cls.lab.new_directory(cls.lab.far, "agent"), "farport.toml")
        pathlib.Path(configuration).write_text('[allow]\ncn = ["tools=operator", "prometheus"]\n', encoding="ascii")
        cls.application = cls.lab.orders(busy=True)
        cls.agent = cls.share(cls.lab.agent("--config", configuration, "--admin", admin.PORT, "--app-metrics", allow=()))
        cls.runtime = cls.agent.wait_for(cls.application)[0]["id"]
        cls.api = Api(cls.lab)
        cls.mirror = cls.share(cls.lab.mirror(cls.agent.remote))
        cls.row = cls.mirror.wait_for(cls.application)[0]
        cls.server = cls.share(Server(cls.lab))

    def use_the_agent(self):
        """A command that is allowed, one that is refused, and sessions that end."""
        self.api.post(self.runtime, ipc.process_info())
        self.assertEqual(self.api.post(self.runtime, ipc.set_variable("A", "b")).hresult, ipc.ACCESS_DENIED)

    def test_it_scrapes_by_each_way_and_each_query_of_the_dashboard_has_data(self):
        file = os.path.join(self.lab.new_directory(self.lab.near, "trace"), "orders.nettrace")
        trace = self.use_trace(file)
        for job in ("farport", "farport-tls", "farport-applications"):
            wait.until(lambda: self.server.values(f'up{{job="{job}"}}') == [1], self.targets)
        for query in dashboard_queries():
            def has_data():
                self.use_the_agent()
                return self.server.values(query)

            wait.until(has_data, lambda: f"there is data for {query}\n{self.targets()}")
        wait.until(lambda: self.server.values('farport_diagnostic_connections{job="farport"}')[0] >= 1, "the trace is seen")
        self.assertTrue(trace.running(), trace.output())
        trace.send(signal.SIGINT)
        self.assertEqual(trace.wait(), 0, trace.output())
        self.assertTrue([frame for frame in self.tools.frames(file) if "Orders.Pricing.PriceOrder" in frame])

    def use_trace(self, file):
        """dotnet-trace, which records until it is told to end."""
        trace = self.tools.start_trace("collect", "--process-id", self.row["local_pid"], "--output", file)
        self.addCleanup(trace.kill)
        return trace

    def targets(self):
        return json.dumps([(each["labels"]["job"], each["health"], each["lastError"])
                           for each in self.server.api("targets")["activeTargets"]])

    def test_the_alerts_are_loaded_and_none_fires_for_an_agent_that_is_well(self):
        rules = self.server.api("rules")["groups"][0]["rules"]
        self.assertEqual(len(rules), 12)
        for name in ("FarportDown", "FarportNotReady", "FarportCertificateExpiresSoon", "FarportSessionsAtLimit"):
            rule = next(rule for rule in rules if rule["name"] == name)
            wait.until(lambda: self.rule(name)["health"] == "ok", rule)
            self.assertEqual(self.rule(name)["state"], "inactive")

    def rule(self, name):
        return next(rule for rule in self.server.api("rules")["groups"][0]["rules"] if rule["name"] == name)

    def test_promtool_finds_nothing_wrong_with_the_metrics(self):
        self.use_the_agent()
        metrics = admin.ask(self.lab.far, "/metrics").text
        # What it says goes to standard error; its exit code tells whether there was something.
        output, code = self.lab.far.pipe([needs.program("promtool"), "check", "metrics"], metrics.encode())
        self.assertEqual((output, code), (b"", 0))

    def promtool(self, *arguments):
        return self.assert_ok(self.lab.far.run(needs.program("promtool"), *arguments))

    def test_promtool_finds_nothing_wrong_with_the_examples(self):
        self.promtool("check", "config", self.server.configuration)
        self.promtool("check", "rules", EXAMPLES / "alerts.yml")
        self.promtool("test", "rules", EXAMPLES / "alerts_test.yml")

    def test_each_alert_is_tried(self):
        rules = yaml.safe_load((EXAMPLES / "alerts.yml").read_text(encoding="utf-8"))["groups"][0]["rules"]
        tests = yaml.safe_load((EXAMPLES / "alerts_test.yml").read_text(encoding="utf-8"))["tests"]
        fire = {case["alertname"] for test in tests for case in test["alert_rule_test"] if case.get("exp_alerts")}
        self.assertEqual(fire, {rule["alert"] for rule in rules})

    def test_the_collectors_receiver_has_a_configuration_that_prometheus_takes(self):
        collector = yaml.safe_load((EXAMPLES / "otel-collector.yaml").read_text(encoding="utf-8"))
        path = pathlib.Path(self.lab.new_directory(self.lab.far, "collector"), "prometheus.yml")
        path.write_text(yaml.safe_dump(collector["receivers"]["prometheus"]["config"]), encoding="utf-8")
        self.promtool("check", "config", path)
        named = {name for pipeline in collector["service"]["pipelines"].values() for name in pipeline["receivers"]}
        self.assertLessEqual(named, set(collector["receivers"]))


class Series(Case):
    """An application whose series are easily taken for one another."""

    def test_prometheus_counts_as_many_series_as_the_application_has(self):
        application = self.use(Watched(self.lab))
        configuration = os.path.join(self.lab.new_directory(self.lab.far, "agent"), "farport.toml")
        pathlib.Path(configuration).write_text(
            '[allow]\ncn = ["tools=operator", "prometheus"]\n[artifacts]\ndirectory = "{0}"\n'
            '[app_metrics]\nkeep = true\ncounters = ["Watched.Series", "Watched.Bound"]\n'
            # Each by a tag that its series alone has.
            '[[rules]]\nname = "comma"\nwhen.counter = "Watched.Series[hits]"\nwhen.tags = ["comma=a,b,c"]\nwhen.above = 0\ndo = ["stacks"]\n'
            '[[rules]]\nname = "long"\nwhen.counter = "Watched.Bound[queue]"\nwhen.tags = ["bind=0.0.0.0"]\nwhen.above = 5000\n'
            'when.for = "3s"\ndo = ["stacks"]\n'
            '[[rules]]\nname = "forged"\nwhen.counter = "Watched.Series[hits]"\nwhen.tags = ["route=/admin"]\nwhen.above = 0\ndo = ["stacks"]\n'
            .format(os.path.join(self.lab.new_directory(self.lab.far, "artifacts"), "kept")), encoding="ascii")
        agent = self.use(self.lab.agent("--config", configuration, "--admin", admin.PORT, allow=()))
        agent.wait_for(application)
        server = self.use(Server(self.lab))
        series = '{job="farport-applications",meter=~"Watched.*"}'

        def counted():
            wanted = int(application.get("/series"))
            return server.values(f"count({series})") == [wanted]

        wait.until(counted, lambda: json.dumps(server.api("series", **{"match[]": series}), indent=1))
        told = {(each["__name__"], each.get("bind")): each for each in server.api("series", **{"match[]": series})}
        self.assertLessEqual({("queue", "::"), ("queue", "0.0.0.0"), ("hits_total", None)}, set(told))
        values = lambda **labels: server.values("hits_total{" + ",".join(f'{name}="{value}"' for name, value in labels.items()) + "}")
        for labels in ({"comma": "a,b,c", "equals": "x=1", "url": "/api/items?filter=red,blue&sort=name"},
                       {"route": "/x,tenant=evil,route=/admin", "comma": "zz"}, {"exported_id": "1", "exported_runtime": "mine"},
                       {"user_name": "x;y"}):
            self.assertEqual(len(values(**labels)), 1, labels)
        self.assertEqual(values(blue_sort="name"), [])
        fired = lambda: {each["name"]: sum(row["fired"] for row in each["runtimes"]) for each in Api(self.lab).json("/v1/rules")}
        wait.until(lambda: application.get("/series") and fired()["comma"] and fired()["long"], lambda: str(Api(self.lab).json("/v1/rules")))
        self.assertEqual(fired()["forged"], 0)
        self.assertNotIn("same timestamp", server.process.output())


if __name__ == "__main__":
    main()
