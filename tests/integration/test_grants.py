"""Whose grants show and allow what: by names of the certificate, by runtime, and in every mode."""

import json
import os

from harness import ipc, needs, wait
from harness.agent import PORT
from harness.api import Api
from harness.case import Case, main

NOBODY = 65534
PLAIN_PORT = 9001
LATE = "it did not arrive completely in time"
UNKNOWN = "00000000-0000-0000-0000-000000000000"
GRANTS = """
[limits]
first_message_timeout = "500ms"
[[grants]]
cn = "by-name"
role = "operator"
runtimes = {{ name = "bill*" }}
[[grants]]
cn = "by-line"
runtimes = {{ command_line = "*--rate 100*" }}
[[grants]]
cn = "by-pid"
runtimes = {{ pid = {pid} }}
[[grants]]
cn = "by-user"
runtimes = {{ user = "nobody" }}
[[grants]]
cn = "by-user-number"
runtimes = {{ user = 65534 }}
[[grants]]
cn = "by-nothing"
runtimes = {{ name = "billing", pid = {pid} }}
[[grants]]
ou = "oncall"
role = "operator"
[[grants]]
cn = "both"
ou = ["payments", "checkout"]
role = "admin"
[[grants]]
pin = "{pin}"
[[grants]]
cn = "several"
[[grants]]
cn = "several"
role = "admin"
runtimes = {{ name = "billing" }}
[[grants]]
cn = "boss"
role = "admin"
"""


class Grants(Case):
    @classmethod
    def prepare(cls):
        cls.application = cls.lab.orders()
        cls.billing = cls.lab.orders("--rate", "100", directory=cls.lab.new_directory(cls.lab.far, "billing"))
        cls.foreign = cls.start_as_nobody()
        cls.all = (cls.application, cls.billing, cls.foreign)
        cls.apis = {}
        cls.pinned = cls.lab.authority.client("pinned")
        configuration = os.path.join(cls.lab.far.directory, "agent.toml")
        with open(configuration, "w", encoding="ascii") as file:
            file.write(GRANTS.format(pid=cls.application.pid_inside, pin=cls.pin_of(cls.pinned)))
        cls.agent = cls.share(cls.lab.agent(
            "--runtime", f"billing={cls.billing.socket}", allow=("--config", configuration),
            search=[cls.lab.far.tmp, cls.foreign.directory]))
        cls.boss = Api(cls.lab, cls.lab.authority.client("boss"))
        wait.until(lambda: len(cls.boss.runtimes()) == len(cls.all), cls.agent.log)

    @classmethod
    def start_as_nobody(cls):
        directory = cls.lab.new_directory(cls.lab.far, "foreign")
        os.chown(directory, NOBODY, NOBODY)
        enter = [*cls.lab.far.enter, needs.program("setpriv"), "--reuid", str(NOBODY), "--regid", str(NOBODY),
                 "--clear-groups"]
        return cls.lab.orders(directory=directory, enter=enter)

    @classmethod
    def pin_of(cls, pair):
        """The pin of a certificate, as `farport check` prints it."""
        text = cls.lab.near.run(needs.farport(), "check", "agent.test:9000", *pair.flags()).stdout
        return text.partition("; pin ")[2].split()[0]

    def api(self, name, *units):
        """The API as the holder of a certificate with these names sees it."""
        if name not in self.apis:
            self.apis[name] = Api(self.lab, self.lab.authority.with_units(name, *units))
        return self.apis[name]

    def assert_sees(self, api, *applications):
        """That just these runtimes are there for a caller, and that others are as if there were none."""
        self.assertEqual(sorted(api.runtimes()), sorted(application.pid_inside for application in applications))
        everything = self.boss.runtimes()
        for application in self.all:
            runtime = everything[application.pid_inside]
            answer = api.post(runtime["id"], ipc.process_info())
            if application in applications:
                self.assertEqual(ipc.parse_process_info(answer.body)[0], application.pid_inside)
                continue
            for method, path in (("POST", "ipc"), ("POST", "dump"), ("GET", "dump")):
                hidden, unknown = (
                    api.request(f"/v1/runtimes/{name}/{path}", "--request", method, "--data-binary", "@-",
                                data=ipc.process_info()) for name in (runtime["id"], UNKNOWN))
                self.assertEqual(hidden.status, 404, hidden)
                self.assertEqual(hidden.error.replace(runtime["id"], UNKNOWN), unknown.error)
            answer = api.raw(ipc.process_info(), str(application.pid_inside))
            self.assertEqual(ipc.parse_error(answer), ipc.FAILED)

    def test_by_name(self):
        self.assert_sees(self.api("by-name"), self.billing)

    def test_by_command_line(self):
        self.assert_sees(self.api("by-line"), self.billing)

    def test_by_pid(self):
        self.assert_sees(self.api("by-pid"), self.application)

    def test_by_pid_goes_by_the_kernels_word_and_not_by_the_runtimes(self):
        # It says that it is another process, as which a grant would fit it.
        real = self.boss.runtimes()[self.application.pid_inside]["id"]
        path = os.path.join(self.lab.far.tmp, "dotnet-diagnostic-1-1-socket")
        liar = self.lab.far.start(needs.fake_runtime(), path, "--pid", self.application.pid_inside, "--cookie",
                                  "11111111-2222-3333-4444-555555555555")
        self.addCleanup(liar.kill)
        wait.until(lambda: len(self.boss.json("/v1/runtimes")) == 1 + len(self.all), self.agent.log)
        listed = self.api("by-pid").json("/v1/runtimes")
        self.assertEqual([runtime["id"] for runtime in listed], [real])
        liar.kill()
        wait.until(lambda: len(self.boss.runtimes()) == len(self.all), self.agent.log)

    def test_by_user(self):
        self.assertEqual({runtime["user"] for runtime in self.boss.runtimes().values()}, {0, NOBODY})
        self.assert_sees(self.api("by-user"), self.foreign)
        self.assert_sees(self.api("by-user-number"), self.foreign)

    def test_a_runtime_must_fit_all_that_a_grant_asks(self):
        self.assert_sees(self.api("by-nothing"))

    def test_by_organizational_unit(self):
        api = self.api("alice", "sales", "oncall")
        self.assert_sees(api, *self.all)
        self.assertEqual([grant["role"] for grant in api.json("/v1/agent")["grants"]], ["operator"])
        self.assertIn("has no role", self.api("bob", "sales").turned_away())

    def test_a_certificate_must_have_a_name_of_every_kind_that_a_grant_asks(self):
        both = self.api("both", "checkout")
        self.assertEqual([grant["role"] for grant in both.json("/v1/agent")["grants"]], ["admin"])
        self.assertIn("has no role", self.api("somebody", "checkout").turned_away())

    def test_by_pin(self):
        self.assert_sees(Api(self.lab, self.pinned), *self.all)

    def test_several_grants_add_up(self):
        api = self.api("several")
        self.assert_sees(api, *self.all)
        self.assertEqual(len(api.json("/v1/agent")["grants"]), 2)
        listed = api.runtimes()
        message = ipc.set_variable("FARPORT_TEST_SEVERAL", "1")
        self.assertTrue(ipc.is_ok(api.post(listed[self.billing.pid_inside]["id"], message).body))
        answer = api.post(listed[self.application.pid_inside]["id"], message)
        self.assertEqual((answer.status, answer.hresult), (403, ipc.ACCESS_DENIED))
        self.assertIn("has only observer (grant ", answer.error)

    def test_the_watch_shows_only_what_the_caller_may_see(self):
        watcher = self.api("by-line").start(f"{self.boss.base}/v1/runtimes?watch=true")
        self.addCleanup(watcher.kill)

        def events():
            lines = watcher.stdout().splitlines(keepends=True)
            found = [json.loads(line) for line in lines if line.endswith("\n")]
            return [(event["event"], event.get("runtime", {}).get("pid")) for event in found]

        def wait_for(*wanted):
            wait.until(lambda: events() == list(wanted), lambda: f"{wanted}, not {events()}")

        first = (("added", self.billing.pid_inside), ("listed", None))
        wait_for(*first)
        unseen = self.lab.orders()
        wait.until(lambda: unseen.pid_inside in self.boss.runtimes(), "the agent lists the other")
        seen = self.lab.orders("--rate", "100")
        wait_for(*first, ("added", seen.pid_inside))
        unseen.kill()
        wait.until(lambda: unseen.pid_inside not in self.boss.runtimes(), "the agent misses the other")
        seen.kill()
        wait_for(*first, ("added", seen.pid_inside), ("removed", seen.pid_inside))

    def test_raw_mode_has_the_same_gate(self):
        api = self.api("carol", "oncall")
        for application, wanted in ((self.billing, "billing"),
                                    (self.application, str(self.application.pid_inside))):
            self.assertEqual(ipc.parse_process_info(api.raw(ipc.process_info(), wanted))[0], application.pid_inside)
            environment = api.raw(ipc.message(ipc.PROCESS, ipc.PROCESS_ENVIRONMENT), wanted)
            self.assertEqual(ipc.parse_environment(environment)["ORDERS_SHOP"], "north")
            for message in (ipc.set_variable("FARPORT_TEST_RAW", "1"), ipc.startup_hook("/nowhere.dll")):
                self.assertEqual(ipc.parse_error(api.raw(message, wanted)), ipc.ACCESS_DENIED)
            environment = api.raw(ipc.message(ipc.PROCESS, ipc.PROCESS_ENVIRONMENT), wanted)
            self.assertNotIn("FARPORT_TEST_RAW", ipc.parse_environment(environment))

    def test_raw_mode_needs_no_name_where_the_caller_may_see_one_runtime(self):
        answer = self.api("by-name").raw(ipc.process_info())
        self.assertEqual(ipc.parse_process_info(answer)[0], self.billing.pid_inside)
        self.assertEqual(ipc.parse_error(self.boss.raw(ipc.process_info())), ipc.FAILED)

    def test_callers_without_tls_have_the_role_that_is_given_for_them(self):
        for role, may_dump, may_set in (("", False, False), ("=operator", True, False), ("=admin", True, True)):
            agent = self.lab.agent("--insecure-loopback", f"127.0.0.1:{PLAIN_PORT}{role}", port=PORT + 1)
            boss = Api(self.lab, port=PORT + 1)
            wait.until(lambda: self.application.pid_inside in boss.runtimes(), agent.log)

            def ask(message):
                socat = [needs.program("socat"), "-t", "10", "-", f"TCP:127.0.0.1:{PLAIN_PORT}"]
                return self.lab.far.pipe(socat, message)[0]

            self.assertTrue(ipc.is_ok(ask(ipc.process_info())))
            environment = ask(ipc.message(ipc.PROCESS, ipc.PROCESS_ENVIRONMENT))
            self.assertEqual(ipc.is_ok(environment), may_dump)
            self.assertEqual(ipc.is_ok(ask(ipc.set_variable("FARPORT_TEST_PLAIN", role))), may_set)
            agent.stop()

    def test_a_first_message_that_does_not_come_whole_leaves_the_runtime_free(self):
        runtime = self.boss.runtimes()[self.application.pid_inside]["id"]
        huge = ipc.message(ipc.PROCESS, 0x7E, bytes(0xFFFF - ipc.HEADER_BYTES))
        for begun, status in ((b"", 400), (ipc.process_info()[:12], 400), (huge[:4000], 400), (b"x" * 64, 400)):
            self.assertEqual(self.boss.post(runtime, begun).status, status)
        for begun in (b"", ipc.process_info()[:12], huge[:4000]):
            with self.boss.connect(str(self.application.pid_inside)) as connection:
                connection.sendall(begun)
                self.assertTrue(ipc.is_ok(self.boss.post(runtime, ipc.process_info()).body))
                answer = connection.recv(4096)
            self.assertEqual(ipc.parse_error(answer), ipc.FAILED)
        # As large as the protocol has it, and whole.
        self.assertEqual(self.boss.post(runtime, huge).hresult, ipc.UNKNOWN_COMMAND)

    def test_a_first_message_that_comes_too_late_is_408(self):
        runtime = self.boss.runtimes()[self.application.pid_inside]["id"]
        ours, its = os.pipe()
        self.addCleanup(os.close, its)
        url = f"{self.boss.base}/v1/runtimes/{runtime}/ipc"
        before = self.agent.log().count(LATE)
        waiting = self.lab.near.start(*self.boss.curl("--upload-file", "-", "--request", "POST", "--write-out",
                                                      "\n%{http_code}\n", url), stdin=ours)
        os.close(ours)
        self.addCleanup(waiting.kill)
        # The log's line, and the audit's.
        wait.until(lambda: self.agent.log().count(LATE) == before + 2, self.agent.log)
        self.assertTrue(ipc.is_ok(self.boss.post(runtime, ipc.process_info()).body))
        # curl looks at the answer when it has read something to send.
        os.write(its, ipc.process_info()[:12])
        waiting.wait()
        body, status = waiting.stdout().splitlines()
        self.assertIn(LATE, body)
        self.assertEqual(status, "408")


class WrongGrants(Case):
    """Rules that can't be meant keep the agent from starting."""

    def assert_wrong(self, flags, *words):
        finished = self.lab.far.run(
            needs.farport(), "serve", *self.lab.agent_pair.flags(), "--listen", "127.0.0.1:9010", *flags)
        self.assertEqual(finished.code, 2, finished.described)
        for word in words:
            self.assertIn(word, finished.stderr)

    def test_a_role_that_is_not_there(self):
        self.assert_wrong(("--allow-cn", "alice=operater"), "operater", "observer, operator, admin")
        self.assert_wrong(("--allow-all=nobody",), "nobody")
        self.assert_wrong(("--allow-all", "--insecure-loopback", "127.0.0.1:9011=king"), "insecure-loopback", "king")

    def test_a_user_that_is_not_there(self):
        path = os.path.join(self.lab.far.directory, "wrong.toml")
        with open(path, "w", encoding="ascii") as file:
            file.write('[[grants]]\ncn = "alice"\nruntimes = { user = "no-such-user" }\n')
        self.assert_wrong(("--config", path), "grant 1", "no-such-user")


if __name__ == "__main__":
    main()
