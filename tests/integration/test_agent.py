"""What the agent finds, what it says of what it cannot use, and where it listens."""

import os
import shutil
import socket

from harness import needs, proc, sockets, wait
from harness.agent import PORT
from harness.case import Case, main
from harness.certificates import Pair

NOBODY = 65534


class Agents(Case):
    @classmethod
    def prepare(cls):
        cls.application = cls.lab.orders()

    def new_directory(self):
        return self.lab.new_directory(self.lab.far, "search")

    def assert_logs(self, agent, *words, times=None):
        """That one line of the log has all these words; `times`: in how many lines."""
        def lines():
            return [line for line in agent.log().splitlines() if all(word in line for word in words)]

        wait.until(lines, lambda: f"a line with {words}\n{agent.log()}")
        if times is not None:
            self.assertEqual(len(lines()), times, agent.log())

    def test_runtimes_appear_and_vanish_without_a_rescan(self):
        agent = self.use(self.lab.agent())
        agent.wait_for(self.application)
        second = self.lab.orders()
        agent.wait_for(self.application, second, seconds=3)
        second.stop()
        agent.wait_for(self.application, seconds=3)

    def test_several_directories_are_searched(self):
        directory = self.new_directory()
        second = self.use(self.lab.orders(directory=directory))
        agent = self.use(self.lab.agent(search=[self.lab.far.tmp, directory]))
        agent.wait_for(self.application, second)

    def test_a_directory_that_comes_later_is_searched_then(self):
        directory = os.path.join(self.new_directory(), "later")
        configuration = os.path.join(self.lab.far.directory, "rescan.toml")
        with open(configuration, "w", encoding="ascii") as file:
            file.write('[runtimes]\nrescan = "500ms"\n')
        agent = self.use(self.lab.agent("--config", configuration, search=[directory]))
        self.assert_logs(agent, directory)
        os.mkdir(directory)
        second = self.use(self.lab.orders(directory=directory))
        agent.wait_for(second)

    def test_the_default_directory_is_tmpdir(self):
        directory = self.new_directory()
        second = self.use(self.lab.orders(directory=directory))
        agent = self.use(self.lab.agent(search=[], environment={"TMPDIR": directory}))
        agent.wait_for(second)

    def test_a_runtime_at_a_path_of_its_own_has_the_name_it_is_given(self):
        second = self.use(self.lab.orders(directory=self.new_directory()))
        agent = self.use(self.lab.agent("--runtime", f"checkout={second.socket}", search=[self.new_directory()]))
        self.assertEqual(agent.wait_for(second)[0]["name"], "checkout")

    def test_a_runtime_that_is_found_twice_is_listed_once(self):
        agent = self.use(self.lab.agent("--runtime", f"shop={self.application.socket}"))
        self.assertEqual(agent.wait_for(self.application)[0]["name"], "shop")

    def test_an_invisible_process_is_noticed_all_the_same_when_it_is_killed(self):
        directory = self.new_directory()
        second = self.lab.orders(directory=directory, enter=self.lab.far.enter_other_pids())
        agent = self.use(self.lab.agent(search=[directory]))
        agent.wait_for(second)
        second.kill()
        agent.wait_for(seconds=2)

    def test_no_connection_to_a_runtime_is_kept(self):
        agent = self.use(self.lab.agent())
        agent.wait_for(self.application)
        wait.stays(lambda: sockets.connections_to(agent.process, self.application.socket) == 0,
                   "the agent keeps no connection", 1)

    def test_a_stale_socket_is_reported_once_with_what_to_do(self):
        directory = self.new_directory()
        second = self.lab.orders(directory=directory)
        second.kill()
        agent = self.use(self.lab.agent(search=[directory]))
        self.assert_logs(agent, second.socket, "stale", times=1)
        self.assertEqual(agent.runtimes(), [])

    def test_a_file_that_is_no_socket_and_a_link_are_not_used(self):
        directory = self.new_directory()
        plain, link = (os.path.join(directory, f"dotnet-diagnostic-{number}-1-socket") for number in (7, 8))
        open(plain, "wb").close()
        os.symlink(self.application.socket, link)
        agent = self.use(self.lab.agent(search=[directory]))
        self.assert_logs(agent, plain, "not a socket", times=1)
        self.assert_logs(agent, link, "link", times=1)
        self.assertEqual(agent.runtimes(), [])

    def test_another_users_socket_is_reported_with_both_user_ids(self):
        home = self.new_directory()
        pair = Pair(home, "agent")
        for source, target in ((self.lab.agent_pair.cert, pair.cert), (self.lab.agent_pair.key, pair.key),
                               (self.lab.agent_pair.ca, pair.ca)):
            shutil.copy(source, target)
            os.chown(target, NOBODY, NOBODY)
        enter = [*self.lab.far.enter, needs.program("setpriv"), "--reuid", str(NOBODY), "--regid", str(NOBODY),
                 "--clear-groups"]
        agent = self.use(self.lab.agent(pair=pair, enter=enter))
        self.assert_logs(agent, self.application.socket, f"user {NOBODY}", "user 0", times=1)
        self.assertEqual(agent.runtimes(), [])

    def test_a_socket_that_another_user_planted_is_not_used(self):
        directory = self.new_directory()
        path = os.path.join(directory, "dotnet-diagnostic-7-1-socket")
        with socket.socket(socket.AF_UNIX) as planted:
            planted.bind(path)
            planted.listen()
            os.chown(path, NOBODY, NOBODY)
            agent = self.use(self.lab.agent(search=[directory]))
            self.assert_logs(agent, path, f"user {NOBODY}", times=1)
            self.assertEqual(agent.runtimes(), [])

    def test_a_listener_that_never_answers_does_not_keep_the_others_from_being_found(self):
        directory = self.new_directory()
        path = os.path.join(directory, "dotnet-diagnostic-7-1-socket")
        with socket.socket(socket.AF_UNIX) as silent:
            silent.bind(path)
            silent.listen()
            agent = self.use(self.lab.agent(search=[directory, self.lab.far.tmp]))
            agent.wait_for(self.application, seconds=5)

    def test_a_process_with_diagnostics_switched_off_is_reported_once(self):
        hidden = self.use(self.lab.orders(diagnostics=False, environment={"DOTNET_EnableDiagnostics": "0"}))
        hidden.process.wait_for_output("pricing")
        agent = self.use(self.lab.agent())
        self.assert_logs(agent, str(hidden.pid_inside), "DOTNET_EnableDiagnostics=0", times=1)

    def test_it_listens_on_several_addresses_of_both_families(self):
        far = self.lab.far
        agent = self.use(self.lab.agent(listen=[f"{far.address}:{PORT}", f"[{far.address6}]:{PORT}"]))
        for remote in (f"{far.address}:{PORT}", f"[{far.address6}]:{PORT}"):
            self.assert_ok(self.lab.near.run(needs.farport(), "ps", remote, *self.lab.tools_pair.flags()))
        self.assertTrue(agent.process.running())

    def test_without_a_rule_it_refuses_to_start_and_says_so(self):
        finished = self.lab.far.run(needs.farport(), "serve", *self.lab.agent_pair.flags(), "--listen",
                                    f"127.0.0.1:{PORT}")
        self.assertEqual(finished.code, 2, finished.described)
        self.assertIn("--allow-cn", finished.stderr)

    def test_an_address_in_use_is_named(self):
        agent = self.use(self.lab.agent())
        finished = self.lab.far.run(needs.farport(), "serve", *self.lab.agent_pair.flags(), "--allow-all", "--listen",
                                    agent.remote)
        self.assertEqual(finished.code, 1, finished.described)
        self.assertIn(agent.remote, finished.stderr)

    def test_at_rest_it_is_small(self):
        agent = self.use(self.lab.agent())
        agent.wait_for(self.application)
        # Nothing is promised of a binary with AddressSanitizer in it.
        if not needs.is_sanitized():
            # What the sessions of wait_for() took is given back a moment after the last one.
            wait.until(lambda: proc.memory_kib(agent.process.pid) < 6 * 1024,
                       lambda: f"the agent is small again: {proc.memory_kib(agent.process.pid)} KiB")


if __name__ == "__main__":
    main()
