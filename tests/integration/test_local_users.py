"""Another user of the agent's host, who may write where a root agent looks: the runtimes of others go on being found
and answered, and the agent stays small."""

import itertools
import os
import re
import threading
import time

from harness import hostile_user, http2, ipc, needs, proc, sockets, wait
from harness.case import Case, main
from harness.memory_group import MemoryGroup
from harness.watched import Watched

USER = 61234
MIB = 1024
# What it takes to answer a command is a millisecond. One that takes this long has met an agent that stands still.
FROZEN_SECONDS = 3.0
COMMANDS_SECONDS = 6.0
# For how long the other user's runtimes crash, flood and hang.
CROWD_SECONDS = float(os.environ.get("FARPORT_TEST_CROWD_SECONDS", "10"))


class LocalUsers(Case):
    @classmethod
    def prepare(cls):
        cls.search = cls.lab.new_directory(cls.lab.far, "search")
        os.chmod(cls.search, 0o1777)
        cls.application = cls.lab.orders(directory=cls.search)
        cls.agent = cls.share(cls.lab.agent("--log-level", "warn", search=[cls.search]))
        mirror = cls.share(cls.lab.mirror(cls.agent.remote, "--select", "orders"))
        cls.socket = mirror.wait_for(cls.application)[0]["socket"]

    def setUp(self):
        before = set(os.listdir(self.search))
        # After what the test has begun has been ended, which is registered later.
        self.addCleanup(self.clear, before)

    def clear(self, before):
        """Removes what has come into the search directory."""
        for name in set(os.listdir(self.search)) - before:
            path = os.path.join(self.search, name)
            if os.path.isdir(path) and not os.path.islink(path):
                os.rmdir(path)
            else:
                os.unlink(path)

    def begin(self, kind, count):
        """Has the other user do something until the test's end."""
        process = self.lab.far.start(
            needs.program("setpriv"), "--reuid", USER, "--regid", USER, "--clear-groups", "--inh-caps=-all",
            "python3", "-B", hostile_user.__file__, kind.__name__, self.search, count, name=kind.__name__)
        self.addCleanup(process.kill)
        process.wait_for_output("ready")
        return process

    def assert_serves(self):
        """That commands are answered all the while, that a new runtime is found, and that the agent stays small."""
        taken = []
        end = time.monotonic() + COMMANDS_SECONDS
        while time.monotonic() < end:
            began = time.monotonic()
            info = ipc.parse_process_info(sockets.exchange(self.socket, ipc.process_info(), 30))
            self.assertEqual(info[0], self.application.pid_inside)
            taken.append(time.monotonic() - began)
            time.sleep(0.002)
        taken.sort()
        peak_mib = int(proc.status(self.agent.process.pid, "VmHWM").split()[0]) / 1024
        print(f"\n  {len(taken)} commands: median {taken[len(taken) // 2] * 1000:.2f} ms, "
              f"99% {taken[len(taken) * 99 // 100] * 1000:.2f} ms, longest {taken[-1] * 1000:.2f} ms; "
              f"agent's peak {peak_mib:.0f} MiB")
        self.assertLess(taken[-1], FROZEN_SECONDS)
        self.assert_finds_another()
        if not needs.is_sanitized():
            self.assertLess(peak_mib, 64)

    def assert_finds_another(self):
        another = self.lab.orders(directory=self.search)
        self.addCleanup(another.kill)
        wait.until(lambda: another.pid_inside in [runtime["pid"] for runtime in self.agent.runtimes()],
                   lambda: f"the agent finds another runtime\n{self.agent.log()[-3000:]}")
        another.stop()

    def test_ten_thousand_sockets_that_nobody_listens_on(self):
        self.begin(hostile_user.stale, 10_000)
        # The other tests' agent has had more sockets than it follows before, and may have said so.
        second = self.use(self.lab.agent("--log-level", "warn", search=[self.search], port=9001))
        self.assert_serves()
        self.assertEqual(second.log().count("has more sockets than"), 1, second.log()[-3000:])

    def test_thousands_of_sockets_that_never_answer(self):
        self.begin(hostile_user.silent, 3_000)
        self.assert_serves()

    def test_ten_thousand_manifests_of_a_mebibyte(self):
        self.begin(hostile_user.manifests, 10_000)
        self.assert_serves()

    def test_pipes_links_and_other_files_with_sockets_names(self):
        self.begin(hostile_user.oddities, 2_000)
        self.assert_serves()

    def test_sockets_that_come_and_go_without_a_pause(self):
        self.begin(hostile_user.churn, 200)
        self.assert_serves()

    def test_runtimes_that_say_much_and_announce_more(self):
        self.begin(hostile_user.runtimes, 2_000)
        self.assert_serves()

    def test_a_process_with_an_environment_of_a_gibibyte(self):
        self.begin(hostile_user.environment, 1024)
        # Until the agent has looked at processes.
        time.sleep(6)
        self.assert_serves()

    def test_many_processes_with_large_environments(self):
        self.begin(hostile_user.environments, 200)
        time.sleep(6)
        self.assert_serves()

    def test_all_of_it_at_once(self):
        for kind, count in ((hostile_user.stale, 10_000), (hostile_user.manifests, 10_000),
                            (hostile_user.oddities, 500), (hostile_user.environment, 1024),
                            (hostile_user.environments, 50), (hostile_user.runtimes, 500),
                            (hostile_user.churn, 50)):
            self.begin(kind, count)
        self.assert_serves()


RULES = """
[[rules]]
name = "started"
when.start = true
do = ["dump"]
limit.times = 5

[[rules]]
name = "counted"
when.counter = "Watched.Meter[watched.total]"
when.above = 100
do = ["gcdump"]
"""
# What the other user's runtimes do, and how many do so.
CROWD = ((16, "--stream-bytes", 1 << 40), (10, "--fault", "hang"), (10, "--fault", "silent"), (6, "--fault", "garbage"),
         (8, "--name", "watched"))
CRASHING = 10


class Crowd(Case):
    """Another user with sixty runtimes, which the agent of all users finds first, records, and has rules for."""

    def setUp(self):
        self.search = self.lab.new_directory(self.lab.far, "search")
        os.chmod(self.search, 0o1777)
        group = MemoryGroup(self.lab.far, 64 * MIB * 1024)
        self.addCleanup(group.remove)
        directory = self.lab.new_directory(self.lab.far, "agent")
        configuration = os.path.join(directory, "farport.toml")
        with open(configuration, "w", encoding="utf-8") as file:
            file.write(RULES)
        self.kept_in = os.path.join(directory, "kept")
        self.agent = self.use(self.lab.agent("--recorder", "--app-metrics", "--artifacts", self.kept_in, "--config", configuration,
                                             search=[self.search], prefix=group.prefix))
        self.pids = itertools.count(100_000)

    def fake(self, *flags):
        """A runtime of the other user."""
        pid = next(self.pids)
        process = self.lab.far.start(
            needs.program("setpriv"), "--reuid", USER, "--regid", USER, "--clear-groups", "--inh-caps=-all",
            needs.fake_runtime(), os.path.join(self.search, f"dotnet-diagnostic-{pid}-1-socket"), "--pid", pid, *flags, name="crowd")
        self.addCleanup(process.kill)
        return process

    def crash_without_a_pause(self, until):
        crashing = []
        while not until.is_set():
            for each in crashing:
                each.kill()
            crashing = [self.fake("--stream-bytes", 1 << 20) for _ in range(CRASHING)]
            until.wait(1)

    def crowd(self):
        """Begins them, and crashes some of them until the test's end."""
        for count, *flags in CROWD:
            for _ in range(count):
                self.fake(*flags)
        over = threading.Event()
        crashing = threading.Thread(target=self.crash_without_a_pause, args=(over,))
        crashing.start()
        # The fakes are ended by what is registered before.
        self.addCleanup(crashing.join)
        self.addCleanup(over.set)

    def kept(self):
        return http2.get(self.lab, "/v1/artifacts", port=self.agent.port)

    def kept_of(self, application, kind):
        return [each for each in self.kept()
                if each["kind"] == kind and each["runtime"]["pid"] == application.pid_inside and each["state"] == "whole"]

    def farport(self, command, application, *arguments):
        return self.lab.near.run(needs.farport(), command, f"{self.agent.remote}/{application.pid_inside}",
                                 *self.lab.tools_pair.flags(), *arguments)

    def orders(self):
        application = self.lab.orders(directory=self.search)
        self.addCleanup(application.kill)
        self.wait_until_listed(application)
        return application

    def wait_until_listed(self, application):
        wait.until(lambda: application.pid_inside in [each["pid"] for each in self.agent.runtimes()],
                   lambda: f"the agent finds another runtime\n{self.agent.log()[-3000:]}")

    def wait_for_kept(self, application, kind):
        found = wait.until(lambda: self.kept_of(application, kind), lambda: f"{kind}\n{self.about_rules()}")
        return found[0]["id"]

    def about_rules(self):
        """What the agent has logged of them, and of the applications that are not the other user's."""
        return "\n".join(line for line in self.agent.log().splitlines() if re.search("rule|orders|watched", line))[-10_000:]

    def test_what_is_of_others_is_kept_their_rules_fire_and_they_are_served(self):
        first = self.orders()
        # By the rule, since it has started.
        ids = [self.wait_for_kept(first, "dump")]
        done = self.farport("trace", first, "--keep", "--duration", "1s")
        self.assertEqual(done.code, 0, done.described)
        ids.append(self.wait_for_kept(first, "trace"))
        first.kill()
        ids.append(self.wait_for_kept(first, "crash"))
        self.crowd()
        wait.until(lambda: len(self.agent.runtimes()) > 40, lambda: f"they are listed\n{self.agent.log()[-3000:]}")
        end = time.monotonic() + CROWD_SECONDS
        # The rules' places, the one for its dump and the recorder's are all in use.
        second = self.orders()
        ids.append(self.wait_for_kept(second, "dump"))
        watched = self.use(Watched(self.lab, directory=self.search))
        self.wait_until_listed(watched)
        watched.get("/count", by=150)
        ids.append(self.wait_for_kept(watched, "gcdump"))
        done = self.farport("dump", watched, "--keep", "--type", "mini")
        self.assertEqual(done.code, 0, done.described)
        ids.append(done.stdout.strip())
        second.kill()
        ids.append(self.wait_for_kept(second, "crash"))
        while time.monotonic() < end:
            self.assertTrue(self.agent.process.running(), self.agent.process.output())
            time.sleep(0.5)
        self.assertEqual(set(ids) - {each["id"] for each in self.kept()}, set(), self.agent.log()[-5000:])


if __name__ == "__main__":
    main()
