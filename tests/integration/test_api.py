"""The agent's HTTP/2 API, with curl as its client."""

import json
import os
import socket

from harness import api, ipc, needs, wait
from harness.case import Case, main


class Api(Case):
    @classmethod
    def prepare(cls):
        cls.application = cls.lab.orders()
        cls.agent = cls.share(cls.lab.agent())
        cls.runtime = cls.agent.wait_for(cls.application)[0]
        cls.api = api.Api(cls.lab)
        cls.stranger = api.Api(cls.lab, cls.lab.authority.client("stranger"))

    def assert_refused(self, answer, status, *words):
        self.assertEqual((answer.status, answer.content_type), (status, "application/json"), answer)
        for word in words:
            self.assertIn(word, answer.error)

    def post(self, runtime, message):
        return self.api.post(runtime, message)

    def test_runtimes_are_listed_with_all_there_is_to_know(self):
        status, content_type, body = self.api.request("/v1/runtimes")
        self.assertEqual((status, content_type), (200, "application/json"))
        runtime, = json.loads(body)
        self.assertEqual(set(runtime), {"id", "pid", "name", "command_line", "os", "architecture", "version", "state",
                                        "user", "host", "since"})
        self.assertEqual((runtime["pid"], runtime["name"], runtime["os"], runtime["state"]),
                         (self.application.pid_inside, "orders", "Linux", "running"))
        self.assertTrue(runtime["version"].startswith("10."), runtime)
        self.assertIn("orders.dll", runtime["command_line"])
        self.assertEqual(runtime["host"], socket.gethostname())
        self.assertRegex(runtime["since"], r"^\d{4}-\d\d-\d\dT")

    def test_the_watch_gives_the_present_state_and_then_what_happens(self):
        watcher = self.api.start(f"{self.api.base}/v1/runtimes?watch=true")

        def events():
            lines = watcher.stdout().splitlines(keepends=True)
            return [json.loads(line) for line in lines if line.endswith("\n")]

        def wait_for(kind, pid):
            wait.until(lambda: any(event["event"] == kind and event["runtime"]["pid"] == pid for event in events()
                                   if "runtime" in event), lambda: f"{kind} {pid}\n{watcher.output()}", 3)

        wait_for("added", self.application.pid_inside)
        second = self.lab.orders()
        wait_for("added", second.pid_inside)
        second.kill()
        wait_for("removed", second.pid_inside)
        self.assertEqual([event["event"] for event in events() if "runtime" in event], ["added", "added", "removed"])
        watcher.kill()

    def test_an_ipc_post_is_a_diagnostic_connection(self):
        status, content_type, body = self.post(self.runtime["id"], ipc.process_info())
        self.assertEqual((status, content_type), (200, "application/octet-stream"))
        self.assertEqual(ipc.parse_process_info(body), (self.application.pid_inside, self.runtime["id"]))

    def test_a_runtimes_own_refusal_comes_through_as_it_is(self):
        status, _, body = self.post(self.runtime["id"], ipc.message(ipc.PROCESS, 0x7E))
        self.assertEqual(status, 200)
        self.assertEqual(ipc.parse_error(body), ipc.UNKNOWN_COMMAND)

    def test_the_agent_says_who_it_takes_the_caller_for(self):
        status, _, body = self.api.request("/v1/agent")
        about = json.loads(body)
        self.assertEqual(status, 200)
        self.assertIn("tools", about["identity"])
        self.assertEqual([grant["role"] for grant in about["grants"]], ["admin"])
        self.assertIn(about["version"], self.lab.near.run(needs.farport(), "--version").stdout)
        self.assertGreaterEqual(about["uptime_seconds"], 0)

    def test_an_unknown_runtime_is_404(self):
        self.assert_refused(self.post("00000000-0000-0000-0000-000000000000", ipc.process_info()), 404, "00000000")

    def test_an_unknown_path_is_404(self):
        for path in ("/", "/v2/runtimes", "/v1/runtimes/x/y/ipc", "/v1/runtimes/../agent"):
            self.assert_refused(self.api.request(path, "--path-as-is"), 404)

    def test_a_wrong_method_is_405(self):
        self.assert_refused(self.api.request("/v1/runtimes", "--request", "DELETE"), 405)
        self.assert_refused(self.api.request(f"/v1/runtimes/{self.runtime['id']}/ipc"), 405)

    def test_a_body_that_is_no_message_is_400(self):
        self.assert_refused(self.post(self.runtime["id"], b"priced at nothing at all"), 400)

    def test_half_a_message_is_400(self):
        self.assert_refused(self.post(self.runtime["id"], ipc.process_info()[:12]), 400)

    def test_an_identity_that_no_rule_allows_is_turned_away_before_it_asks(self):
        self.assertIn("CN=stranger has no role", self.stranger.turned_away())

    def test_a_session_that_needs_a_file_descriptor_is_501_and_does_not_reach_the_runtime(self):
        self.assert_refused(self.post(self.runtime["id"], ipc.user_events_session()), 501, "user_events")
        self.assertEqual(self.post(self.runtime["id"], ipc.process_info())[0], 200)

    def test_a_runtime_whose_socket_cannot_be_used_is_502(self):
        second = self.lab.orders()
        runtime = self.agent.wait_for(self.application, second)[1]
        os.unlink(second.socket)
        # Until the agent has seen that the file is gone the runtime is still listed: both answers are right.
        answer = self.post(runtime["id"], ipc.process_info())
        self.assertIn(answer[0], (404, 502), answer)
        second.kill()
        self.agent.wait_for(self.application)

    def test_many_requests_in_one_session(self):
        url = f"{self.api.base}/v1/runtimes/{self.runtime['id']}/ipc"
        urls = [argument for _ in range(100) for argument in (url, "--output", "/dev/null")]
        output, code = self.lab.near.pipe(
            self.api.curl("--parallel", "--write-out", "%{http_code}\n", "--data-binary", "@-", *urls),
            ipc.process_info())
        self.assertEqual(code, 0)
        self.assertEqual(output.split(), [b"200"] * 100)


if __name__ == "__main__":
    main()
