"""`farport doctor` names what is wrong between here and a runtime, and what to do: faults that are planted, one by one."""

import glob
import itertools
import json
import os
import pathlib
import types

from harness import hostile, needs, wait
from harness.agent import PORT
from harness.api import Api
from harness.case import Case, main
from harness.certificates import AGENT_NAME, Authority
from harness.fake import FakeRuntime
from harness.inetd import Inetd
from harness.nobody import NOBODY, as_nobody, pair_of_nobody
from harness.scripted_agent import ScriptedAgent
from harness.terminal import Terminal

GRANTS = ("--allow-cn", "tools=operator", "--allow-cn", "watcher")
STEPS = ("name", "connect", "reach", "clock", "certificate", "session", "version", "access", "search", "process", "socket",
         "open", "answer", "dump", "profile")
INTRODUCTION = {"version": "0.1.0", "identity": "CN=tools", "grants": [{"role": "operator"}]}
COLUMNS = 80


def fake_time(offset):
    """What makes a program's clock wrong, and none of its timers."""
    return {"LD_PRELOAD": needs.faketime(), "FAKETIME": offset, "DONT_FAKE_MONOTONIC": "1"}


class Doctor(Case):
    @classmethod
    def prepare(cls):
        cls.watcher = cls.lab.authority.client("watcher")
        cls.stranger = cls.lab.authority.client("stranger")
        cls.as_nobody = as_nobody(cls.lab.far)
        cls.ports = itertools.count(PORT + 100)

    def directory(self, mode=0o755):
        path = self.lab.new_directory(self.lab.far, "search")
        os.chmod(path, mode)
        return path

    def agent(self, *flags, more="", **options):
        """An agent that looks around often. `more`: of its configuration."""
        configuration = os.path.join(self.directory(), "agent.toml")
        pathlib.Path(configuration).write_text(f'[runtimes]\nrescan = "300ms"\n{more}', encoding="ascii")
        return self.use(self.lab.agent("--config", configuration, *flags, allow=GRANTS, port=next(self.ports), **options))

    def agent_of_nobody(self, *flags, **options):
        """One that is not root, and confined."""
        pair = pair_of_nobody(self.lab.agent_pair, self.directory())
        return self.agent(*flags, pair=pair, enter=self.as_nobody, **options)

    def time_environment(self, host, offset):
        """fake_time() for a program that may be a sanitizers' build: these want to be the first library."""
        return fake_time(offset) | {
            "ASAN_OPTIONS": host.environment()["ASAN_OPTIONS"] + ":verify_asan_link_order=0"}

    def doctor(self, *arguments, pair=None, host=None, **options):
        flags = [] if host else (pair or self.lab.tools_pair).flags()
        return (host or self.lab.near).run(needs.farport(), "doctor", *arguments, *flags, **options)

    def steps(self, *arguments, code, **options):
        """What `--json` prints, after a look at its form."""
        done = self.doctor(*arguments, "--json", **options)
        self.assertEqual(done.code, code, done.described)
        found = json.loads(done.stdout)
        for each in found:
            self.assertIn(each["step"], STEPS, done.described)
            self.assertIn(each["level"], ("ok", "warning", "problem", "skipped"), done.described)
            self.assertTrue(each["text"], done.described)
        self.assertEqual(code == 1, any(each["level"] == "problem" for each in found), done.described)
        return found

    @staticmethod
    def problems(found):
        return [each for each in found if each["level"] == "problem"]

    def assert_first_problem(self, found, step, *words):
        """That the first problem is of this step, and its text and hint hold these words."""
        first = self.problems(found)[0]
        self.assertEqual(first["step"], step, found)
        for word in words:
            self.assertIn(word, first["text"] + " " + first.get("hint", ""), found)

    def until_told(self, agent, step, *words, code=1):
        """Asks until the agent has found out."""
        def told():
            found = json.loads(self.doctor(agent.remote, "--json").stdout)
            return [each for each in found if each["step"] == step and each["level"] != "ok" and
                    all(word in each["text"] + each.get("hint", "") for word in words)]

        wait.until(told, lambda: f"{step}: {words}\n{self.doctor(agent.remote).text}\n{agent.log()}")
        return self.steps(agent.remote, code=code)

    def skipped(self, found):
        return [each["step"] for each in found if each["level"] == "skipped"]


class PlantedFaults(Doctor):
    def test_nothing_is_wrong(self):
        application = self.use(self.lab.orders())
        agent = self.agent()
        agent.wait_for(application)
        found = self.steps(agent.remote, code=0)
        by_step = {each["step"]: each for each in found}
        for step in ("connect", "certificate", "session", "version", "access", "search", "process", "answer", "dump"):
            self.assertEqual(by_step[step]["level"], "ok", found)
        self.assertEqual(by_step["answer"]["runtime"]["pid"], application.pid_inside)
        self.assertEqual([STEPS.index(each["step"]) for each in found],
                         sorted(STEPS.index(each["step"]) for each in found))
        text = self.assert_ok(self.doctor(agent.remote)).stdout
        self.assertIn("with the role operator", text)
        self.assertNotIn("\x1b", text)

    def test_the_wrong_user(self):
        directory = self.directory()
        self.use(self.lab.orders(directory=directory))
        agent = self.agent_of_nobody(search=[directory])
        found = self.until_told(agent, "open", "it belongs to user 0", "run farport as user 0")
        self.assert_first_problem(found, "open", f"farport runs as user {NOBODY}")

    def test_another_tmpdir(self):
        directory = self.directory()
        application = self.use(self.lab.orders(directory=directory))
        agent = self.agent(search=[self.directory()])
        found = self.until_told(agent, "socket", f"the .NET process {application.pid_inside}", f"add --search {directory}")
        self.assert_first_problem(found, "socket", f"add --search {directory}")

    def test_diagnostics_switched_off(self):
        hidden = self.use(self.lab.orders(diagnostics=False, environment={"DOTNET_EnableDiagnostics": "0"}))
        hidden.process.wait_for_output("pricing")
        agent = self.agent(search=[self.directory()])
        found = self.until_told(agent, "socket", "DOTNET_EnableDiagnostics=0")
        self.assert_first_problem(found, "socket", f"the .NET process {hidden.pid_inside}", "start it without")

    def test_a_closed_port(self):
        found = self.steps(f"{self.lab.far.address}:1", code=1)
        self.assert_first_problem(found, "connect", "Connection refused", "is farport serve running")
        self.assertEqual(len(self.problems(found)), 1)
        for step in ("certificate", "session", "version", "access", "process", "answer", "dump", "profile"):
            self.assertIn(step, self.skipped(found))
        text = self.doctor(f"{self.lab.far.address}:1").stdout
        self.assertIn("not asked: certificate, session, version", text)
        self.assertEqual(text.splitlines()[-1], "1 problem.")

    def test_a_name_that_is_not_known(self):
        found = self.steps("nosuchhost.test:9000", code=1)
        self.assert_first_problem(found, "name", "nosuchhost.test")
        self.assertIn("connect", self.skipped(found))

    def test_our_certificate_has_expired(self):
        agent = self.agent()
        found = self.steps(agent.remote, code=1, pair=self.lab.authority.with_dates("old", -10, -1))
        self.assert_first_problem(found, "certificate", "expired")
        self.assertIn("session", self.skipped(found))

    def test_the_agents_certificate_has_expired(self):
        old = self.lab.authority.with_dates("old-agent", -10, -1, server=True)
        agent = ScriptedAgent(types.SimpleNamespace(agent_pair=old, far=self.lab.far), next(self.ports), None)
        self.addCleanup(agent.stop)
        found = self.steps(f"{AGENT_NAME}:{agent.remote.rpartition(':')[2]}", code=1)
        self.assert_first_problem(found, "session", "expired", "old-agent")

    def test_another_ca(self):
        other = Authority(os.path.join(self.lab.directory, "other-ca"))
        pair = other.client("tools")
        mixed = types.SimpleNamespace(flags=lambda: ["--tls-cert", pair.cert, "--tls-key", pair.key, "--tls-ca",
                                                     self.lab.tools_pair.ca])
        found = self.steps(self.agent().remote, code=1, pair=mixed)
        self.assert_first_problem(found, "session", "both sides need certificates of a CA that the other one trusts")

    def test_the_wrong_name(self):
        agent = self.agent()
        self.lab.near.know("other.test", self.lab.far.address)
        found = self.steps(f"other.test:{agent.port}", code=1)
        self.assert_first_problem(found, "session", "not other.test", "--server-name")
        self.assertIn({"step": "name", "level": "ok"}, [{key: each[key] for key in ("step", "level")} for each in found])

    def test_no_grant(self):
        agent = self.agent()
        found = self.steps(agent.remote, code=1, pair=self.stranger)
        self.assert_first_problem(found, "access", "has no role at this agent", "--allow-cn")
        self.assertIn("process", self.skipped(found))
        # Only that: nothing of the host.
        self.assertNotIn(self.lab.far.tmp, json.dumps(found))

    def test_no_runtime(self):
        agent = self.agent(search=[self.directory()])
        found = self.steps(agent.remote, code=1)
        self.assert_first_problem(found, "process", "no .NET process", "start the application")
        self.assertEqual(len(self.problems(found)), 1, found)

    def test_no_createdump(self):
        (createdump,) = glob.glob(f"{needs.dotnet_root()}/shared/Microsoft.NETCore.App/*/createdump")
        enter = [*self.lab.far.enter, needs.program("unshare"), "--mount", "sh", "-c",
                 'mount --bind /dev/null "$0" && exec "$@"', createdump]
        application = self.use(self.lab.orders(enter=enter))
        agent = self.agent()
        agent.wait_for(application)
        found = self.steps(agent.remote, code=1)
        self.assert_first_problem(found, "dump", createdump, "put it there")
        self.assertEqual(self.problems(found)[0]["runtime"]["pid"], application.pid_inside)

    def test_our_clock_is_a_year_fast(self):
        agent = self.agent()
        found = self.steps(agent.remote, code=1, environment=self.time_environment(self.lab.near, "+365d"))
        self.assert_first_problem(found, "clock", "this host's clock says", "both certificates have expired")

    def test_our_clock_is_a_year_slow(self):
        agent = self.agent()
        found = self.steps(agent.remote, code=1, environment=self.time_environment(self.lab.near, "-365d"))
        self.assert_first_problem(found, "clock", "this host's clock says", "neither certificate is valid yet")

    def test_the_agents_clock_is_a_year_fast(self):
        long_lived = self.lab.authority.with_dates("long", -1, 3000, server=True)
        agent = self.agent(pair=long_lived, environment=self.time_environment(self.lab.far, "+365d"))
        found = self.steps(f"{AGENT_NAME}:{agent.port}", code=1)
        self.assert_first_problem(found, "clock", "this host's clock says", "says that it has expired")

    def test_clocks_that_are_ten_minutes_apart(self):
        application = self.use(self.lab.orders())
        agent = self.agent(environment=self.time_environment(self.lab.far, "+10m"))
        agent.wait_for(application)
        found = self.steps(agent.remote, code=1)
        self.assert_first_problem(found, "clock", "this host's clock says", "10 minutes apart")
        self.assertEqual(len(self.problems(found)), 1, found)

    def test_packets_that_are_lost_are_told_from_a_closed_port(self):
        found = self.steps("10.77.0.77:9000", code=1)
        self.assert_first_problem(found, "connect", "No route to host", "check the address, the route and the firewalls")


class Runtimes(Doctor):
    def test_one_that_stops_answering(self):
        application = self.use(self.lab.orders())
        agent = self.agent()
        agent.wait_for(application)
        application.process.freeze()
        self.addCleanup(application.process.thaw)
        # It looks at what its processes are doing every few seconds.
        found = self.until_told(agent, "answer", "is stopped, by a signal")
        self.assert_first_problem(found, "answer", "does not answer", "kill -CONT")
        self.assertIn("dump", self.skipped(found))

    def test_one_that_never_answered(self):
        silent = self.use(FakeRuntime(self.lab, "--fault", "hang", directory=self.directory()))
        agent = self.agent(search=[silent.directory])
        found = self.until_told(agent, "answer", silent.socket)
        self.assert_first_problem(found, "answer", silent.socket, "answer", "holding its diagnostics")

    def test_ten_of_them(self):
        directory = self.directory()
        applications = [self.use(self.lab.orders(directory=directory)) for _ in range(10)]
        agent = self.agent(search=[directory])
        agent.wait_for(*applications)
        found = self.steps(agent.remote, code=0)
        for step in ("answer", "dump", "profile"):
            self.assertEqual(sorted(each["runtime"]["pid"] for each in found if each["step"] == step),
                             sorted(application.pid_inside for application in applications))

    def test_observers_are_told_counts(self):
        directory = self.directory()
        application = self.use(self.lab.orders(directory=directory))
        agent = self.agent(search=[directory])
        agent.wait_for(application)
        answer = Api(self.lab, self.watcher, port=agent.port).json("/v1/doctor")
        self.assertEqual(sorted(answer), ["diagnoses", "time", "version"])
        self.assertEqual({step for each in answer["diagnoses"] for step in each}, {"step", "level", "text"})
        self.assertIn("1 runtime: can be dumped", [each["text"] for each in answer["diagnoses"]])
        for secret in (directory, "user", "createdump", '"pid"'):
            self.assertNotIn(secret, json.dumps(answer))
        self.assert_ok(self.doctor(agent.remote, pair=self.watcher))

    def test_what_a_confined_agent_may_not_try_its_sampler_tries(self):
        directory = self.directory(0o777)
        application = self.use(self.lab.orders(directory=directory, enter=self.as_nobody))
        agent = self.agent_of_nobody(search=[directory])
        agent.wait_for(application)
        by_step = {each["step"]: each for each in self.steps(agent.remote, code=0)}
        self.assertEqual(by_step["dump"]["level"], "ok")
        # The same as whoever tries it is told.
        profile = self.lab.near.run(needs.farport(), "profile", agent.remote, "--duration", "1", "-o",
                                    os.path.join(self.directory(), "x.folded"), *self.lab.tools_pair.flags())
        self.assertEqual(by_step["profile"]["level"] == "ok", profile.code == 0, (by_step["profile"], profile.described))

    def test_a_dump_directory_that_is_not_there(self):
        application = self.use(self.lab.orders())
        missing = os.path.join(self.directory(), "missing")
        agent = self.agent("--dump-directory", missing)
        agent.wait_for(application)
        found = self.steps(agent.remote, code=1)
        self.assert_first_problem(found, "dump", missing, "set [dump] directory")

    def test_a_disk_that_is_full(self):
        application = self.use(self.lab.orders())
        agent = self.agent(more='[dump]\nkeep_free = "100000GiB"\n')
        agent.wait_for(application)
        found = self.steps(agent.remote, code=1)
        self.assert_first_problem(found, "dump", "too little space", "larger file system")

    def test_nothing_of_a_look_is_left(self):
        directory = self.directory()
        application = self.use(self.lab.orders(directory=directory))
        agent = self.agent(search=[directory])
        agent.wait_for(application)
        before = sorted(os.listdir(directory))
        self.steps(agent.remote, code=0)
        self.assertEqual(sorted(os.listdir(directory)), before)


class Here(Doctor):
    def here(self, *arguments, code, directory, enter=None):
        found = self.steps(*arguments, "--search", directory, code=code, host=self.lab.far, enter=enter)
        self.assertFalse(any("agent" in each for each in found))
        return found

    def test_all_is_well_beside_the_runtimes(self):
        directory = self.directory()
        application = self.use(self.lab.orders(directory=directory))
        found = self.here(code=0, directory=directory)
        by_step = {each["step"]: each for each in found}
        self.assertEqual(sorted(by_step), ["answer", "dump", "process", "profile", "search"])
        self.assertEqual(by_step["dump"]["runtime"]["pid"], application.pid_inside)
        self.assertIn(f"can be dumped, into {directory}", by_step["dump"]["text"])

    def test_another_user_beside_the_runtimes(self):
        directory = self.directory()
        self.use(self.lab.orders(directory=directory))
        found = self.here(code=1, directory=directory, enter=self.as_nobody)
        self.assert_first_problem(found, "open", "it belongs to user 0", "run farport as user 0")

    def test_the_runtimes_user_needs_not_be_root(self):
        directory = self.directory(0o777)
        self.use(self.lab.orders(directory=directory, enter=self.as_nobody))
        found = self.here(code=0, directory=directory, enter=self.as_nobody)
        self.assertEqual({each["step"]: each["level"] for each in found}["dump"], "ok")

    def test_one_that_is_silent_beside_the_runtimes(self):
        silent = self.use(FakeRuntime(self.lab, "--fault", "hang", directory=self.directory()))
        found = self.here(code=1, directory=silent.directory)
        self.assert_first_problem(found, "answer", silent.socket, "has not answered yet")

    def test_no_runtime_beside_nothing(self):
        found = self.here(code=1, directory=self.directory())
        self.assert_first_problem(found, "process", "no .NET process")

    def test_the_agents_configuration_counts(self):
        directory = self.directory()
        application = self.use(self.lab.orders(directory=directory))
        path = os.path.join(self.directory(), "agent.toml")
        pathlib.Path(path).write_text(f'[runtimes]\nsearch = ["{directory}"]\n', encoding="ascii")
        found = self.steps("--config", path, code=0, host=self.lab.far)
        self.assertIn(application.pid_inside, [each["runtime"]["pid"] for each in found if "runtime" in each])


class Ways(Doctor):
    def test_behind_a_command(self):
        application = self.use(self.lab.orders())
        inetd = Inetd(self.lab, port=next(self.ports))
        self.addCleanup(inetd.stop)
        done = self.lab.near.run(needs.farport(), "doctor", "--via", inetd.command, "--json")
        self.assert_ok(done)
        by_step = {each["step"]: each for each in json.loads(done.stdout)}
        self.assertEqual(by_step["reach"]["level"], "ok")
        self.assertEqual(by_step["answer"]["runtime"]["pid"], application.pid_inside)
        self.assertNotIn("connect", by_step)

    def test_a_command_that_leads_nowhere(self):
        done = self.lab.near.run(needs.farport(), "doctor", "--via", "echo no such host >&2; exit 3", "--json")
        self.assertEqual(done.code, 1, done.described)
        found = json.loads(done.stdout)
        self.assert_first_problem(found, "reach", "no such host")
        self.assertIn("answer", self.skipped(found))

    def test_two_agents_are_each_told_of(self):
        self.use(self.lab.orders())
        agents = [self.agent(), self.agent()]
        for agent in agents:
            wait.until(agent.runtimes, agent.log)
        found = self.steps(*[agent.remote for agent in agents], code=0)
        self.assertEqual({each["agent"] for each in found}, {agent.remote for agent in agents})
        text = self.doctor(*[agent.remote for agent in agents]).stdout
        for agent in agents:
            self.assertIn(f"{agent.remote}:\n", text)

    def test_an_empty_list_ends_with_what_doctor_says(self):
        agent = self.agent(search=[self.directory()])
        done = self.assert_ok(self.lab.near.run(needs.farport(), "ps", agent.remote, *self.lab.tools_pair.flags()))
        self.assertIn("no .NET process", done.stderr)
        self.assertIn(f"farport doctor {agent.remote} tries out each thing on the way", done.stderr)

    def test_check_dials_by_the_same_code(self):
        agent = self.agent(search=[self.directory()])
        done = self.assert_ok(self.lab.near.run(needs.farport(), "check", agent.remote, *self.lab.tools_pair.flags()))
        self.assertIn("the port is open", done.stdout)
        self.assertIn("warning  it knows of nothing that is wrong, and of no .NET process", done.stdout)


class Hostile(Doctor):
    def hostile(self, body, status=200):
        """An agent that introduces itself well, and says `body` for doctor."""
        bodies = [json.dumps(INTRODUCTION).encode(), body]
        sessions = iter(range(1000))

        def answer(_, request):
            number = next(sessions)
            request.head(200 if number == 0 else status)
            request.body(bodies[min(number, 1)], end=True)

        agent = ScriptedAgent(self.lab, next(self.ports), answer)
        self.addCleanup(agent.stop)
        return agent

    def answer_of(self, *diagnoses):
        return json.dumps({"version": "0.1.0", "time": "2026-01-01T00:00:00Z", "diagnoses": diagnoses}).encode()

    def test_answers_that_are_none(self):
        for body in (b"", b"[]", b"{", b"[" * 100_000, b'{"time":7}', b"\xff\xfe", self.answer_of(7)):
            found = self.steps(self.hostile(body).remote, code=1)
            self.assert_first_problem(found, "search", "cannot read")

    def test_answers_that_are_too_long(self):
        step = {"step": "dump", "level": "ok", "text": "x" * 2000}
        for body in (b" " * (20 << 20), self.answer_of(*[step] * 5_000)):
            found = self.steps(self.hostile(body).remote, code=1)
            self.assertEqual(self.problems(found)[0]["step"], "search", found)

    def test_text_that_would_command_a_terminal(self):
        body = self.answer_of({"step": "dump", "level": "problem", "text": hostile.TEXT, "hint": hostile.TEXT,
                               "runtime": {"id": hostile.TEXT, "name": hostile.TEXT, "pid": 1}})
        done = self.doctor(self.hostile(body).remote)
        self.assertEqual(done.code, 1, done.described)
        for path in (self.lab.started[-1].stdout_path, self.lab.started[-1].stderr_path):
            self.assertEqual(hostile.harm_in(pathlib.Path(path).read_bytes()), "", done.described)
        self.assertFalse([line for line in done.text.splitlines() if line.startswith(hostile.FORGED)])

    def test_an_agent_that_knows_no_doctor(self):
        found = self.steps(self.hostile(b'{"error":"there is no /v1/doctor"}', status=404).remote, code=0)
        self.assertEqual([each["step"] for each in found if each["level"] == "warning"], ["search"])

    def test_80_columns(self):
        hidden = self.use(self.lab.orders(diagnostics=False, environment={"DOTNET_EnableDiagnostics": "0"}))
        hidden.process.wait_for_output("pricing")
        agent = self.agent(search=[self.directory()])
        self.until_told(agent, "socket", "DOTNET_EnableDiagnostics=0")
        opened = Terminal(self.lab.near, needs.farport(), "doctor", agent.remote, columns=COLUMNS,
                          environment=self.lab.tools_pair.environment() | {"NO_COLOR": "1", "TERM": "xterm"})
        self.addCleanup(opened.close)
        opened.wait_for_text("problem")
        opened.wait_for_text("to do: start it without")
        for line in opened.lines():
            self.assertLessEqual(len(line), COLUMNS)
        self.assertTrue(any(line.startswith("problem  the .NET process") for line in opened.lines()), opened.shown())


if __name__ == "__main__":
    main()
