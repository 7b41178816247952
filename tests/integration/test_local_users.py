"""Another user of the agent's host, who may write where a root agent looks: the runtimes of others go on being found
and answered, and the agent stays small."""

import os
import time

from harness import hostile_user, ipc, needs, proc, sockets, wait
from harness.case import Case, main

USER = 61234
MIB = 1024
# What it takes to answer a command is a millisecond. One that takes this long has met an agent that stands still.
FROZEN_SECONDS = 3.0
COMMANDS_SECONDS = 6.0


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


if __name__ == "__main__":
    main()
