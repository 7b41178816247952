"""Whoever asks why nothing is listed is told: what was searched, what was found there, and what to do."""

import os

from harness import needs, wait
from harness.agent import PORT
from harness.api import Api
from harness.case import Case, main
from harness.nobody import NOBODY, as_nobody, pair_of_nobody

GRANTS = ("--allow-cn", "tools=operator", "--allow-cn", "watcher")
# Names its threads as .NET does, and binds its socket where it is told: a process may say of itself what it likes.
PRETENDER = """
import ctypes, os, socket, sys, threading, time
def named(name):
    ctypes.CDLL(None).prctl(15, name, 0, 0, 0)
    time.sleep(600)
for name in (b".NET Finalizer", b".NET EventPipe"):
    threading.Thread(target=named, args=(name,), daemon=True).start()
start = open("/proc/self/stat").read().rpartition(")")[2].split()[19]
os.chdir(sys.argv[1])
listening = socket.socket(socket.AF_UNIX)
listening.bind(f"{sys.argv[1]}/dotnet-diagnostic-{os.getpid()}-{start}-socket")
listening.listen()
print("listening", flush=True)
time.sleep(600)
"""


class ToldWhy(Case):
    @classmethod
    def prepare(cls):
        cls.watcher = cls.lab.authority.client("watcher")
        cls.stranger = cls.lab.authority.client("stranger")
        cls.as_nobody = as_nobody(cls.lab.far)

    def directory(self):
        return self.lab.new_directory(self.lab.far, "search")

    def agent(self, *flags, **options):
        """An agent that looks around often."""
        configuration = os.path.join(self.directory(), "agent.toml")
        with open(configuration, "w", encoding="ascii") as file:
            file.write('[runtimes]\nrescan = "300ms"\n')
        os.chmod(configuration, 0o644)
        return self.use(self.lab.agent("--config", configuration, *flags, allow=GRANTS, **options))

    def agent_of_nobody(self, *flags, **options):
        """One that is not root, and confined."""
        pair = pair_of_nobody(self.lab.agent_pair, self.directory())
        return self.agent(*flags, pair=pair, enter=self.as_nobody, **options)

    def farport(self, *arguments, pair=None):
        return self.lab.near.run(needs.farport(), *arguments, *(pair or self.lab.tools_pair).flags())

    def ps(self, agent, pair=None):
        return self.farport("ps", agent.remote, pair=pair)

    def told(self, agent, *words, pair=None):
        """Asks until what `farport ps` prints besides its empty table has all the words, and returns that."""
        def asked():
            done = self.assert_ok(self.ps(agent, pair))
            self.assertEqual(len(done.stdout.splitlines()), 1, done.described)
            return done.stderr if all(word in done.stderr for word in words) else None

        return wait.until(asked, lambda: f"{words} in\n{self.ps(agent, pair).stderr}\n{agent.log()}")

    def test_an_agent_of_another_user_says_so_and_as_whom_to_run_it(self):
        directory = self.directory()
        application = self.use(self.lab.orders(directory=directory))
        agent = self.agent_of_nobody(search=[directory])
        text = self.told(agent, application.socket, "it belongs to user 0", f"farport runs as user {NOBODY}",
                         "run farport as user 0")
        self.assertIn(f"it searches {directory} as user {NOBODY}", text)
        self.assertIn(f"{agent.remote} lists no runtime that you may see", text)

    def test_observers_are_told_kinds_and_counts_and_strangers_nothing(self):
        directory = self.directory()
        application = self.use(self.lab.orders(directory=directory))
        agent = self.agent_of_nobody(search=[directory])
        text = self.told(agent, "1 socket belongs to another user than the agent's", pair=self.watcher)
        for secret in (application.socket, directory, str(NOBODY), "user 0"):
            self.assertNotIn(secret, text)
        answer = Api(self.lab, self.watcher).json("/v1/agent")["discovery"]
        self.assertEqual(sorted(answer), ["problems"])
        self.assertEqual(sorted(answer["problems"][0]), ["count", "kind", "summary"])
        refused = self.ps(agent, self.stranger)
        self.assertEqual(refused.code, 1, refused.described)
        for secret in ("socket", directory, "user "):
            self.assertNotIn(secret, refused.text)

    def test_a_directory_that_is_not_there(self):
        missing = os.path.join(self.directory(), "missing")
        agent = self.agent(search=[missing])
        self.told(agent, f"{missing}: No such file or directory", "--search")
        self.told(agent, "1 search directory is not there", pair=self.watcher)

    def test_an_application_with_another_tmpdir(self):
        directory = self.directory()
        application = self.use(self.lab.orders(directory=directory))
        for agent in (self.agent(search=[self.directory()]),
                      self.agent_of_nobody(search=[self.directory()], port=PORT + 1)):
            text = self.told(agent, f"the .NET process {application.pid_inside}", f"add --search {directory}")
            self.assertNotIn("it knows of nothing that is wrong", text)
            agent.stop()

    def test_an_application_with_a_mount_namespace_of_its_own(self):
        directory = self.directory()
        enter = [*self.lab.far.enter, needs.program("unshare"), "--mount", "sh", "-c",
                 'mount -t tmpfs private "$0" && exec "$@"', directory]
        hidden = self.use(self.lab.orders(directory=directory, diagnostics=False, enter=enter))
        hidden.process.wait_for_output("pricing")
        agent = self.agent_of_nobody(search=[directory])
        self.told(agent, f"the .NET process {hidden.pid_inside}", "a container, or a service with PrivateTmp",
                  "add --search proc")

    def test_a_socket_that_is_found_through_a_process_works_and_the_price_is_said(self):
        directory = self.directory()
        enter = [*self.lab.far.enter, needs.program("unshare"), "--mount", "sh", "-c",
                 'mount -t tmpfs private "$0" && exec "$@"', directory]
        hidden = self.use(self.lab.orders(directory=directory, diagnostics=False, enter=enter))
        hidden.process.wait_for_output("pricing")
        agent = self.agent("--dump-directory", self.directory(), search=[f"/proc/{hidden.pid_inside}/root{directory}"])
        agent.wait_for(hidden)
        self.assertIn("Landlock forbids what /proc/PID/root leads to", agent.log())

    def test_diagnostics_that_are_switched_off_as_a_confined_agent_without_privileges_sees_them(self):
        hidden = self.use(self.lab.orders(diagnostics=False, environment={"DOTNET_EnableDiagnostics": "0"}))
        hidden.process.wait_for_output("pricing")
        agent = self.agent_of_nobody(search=[self.directory()])
        wait.until(lambda: "confined:" in agent.log(), "it has confined itself")
        self.assertIn("Landlock", next(line for line in agent.log().splitlines() if "confined:" in line))
        self.told(agent, f"the .NET process {hidden.pid_inside}", "can't be diagnosed", "DOTNET_EnableDiagnostics=0")
        wait.until(lambda: f"the .NET process {hidden.pid_inside}" in agent.log(), "the log says it, too")
        self.told(agent, "1 .NET process has its diagnostics switched off", pair=self.watcher)

    def test_an_application_that_has_just_started_is_told_of_at_once(self):
        agent = self.use(self.lab.agent(allow=GRANTS, search=[self.directory()]))
        hidden = self.use(self.lab.orders(diagnostics=False, environment={"DOTNET_EnableDiagnostics": "0"}))
        hidden.process.wait_for_output("pricing")
        told = self.assert_ok(self.ps(agent)).stderr
        self.assertIn(f"the .NET process {hidden.pid_inside}: it can't be diagnosed: DOTNET_EnableDiagnostics=0", told)
        hidden.kill()
        elsewhere = self.use(self.lab.orders(directory=self.directory()))
        told = self.assert_ok(self.ps(agent)).stderr
        self.assertRegex(told, f"the .NET process {elsewhere.pid_inside}: it(s socket is in| has just started)")
        self.assertNotIn("knows of nothing that is wrong", told)

    def test_a_stale_socket_and_a_file_that_is_no_socket(self):
        directory = self.directory()
        application = self.lab.orders(directory=directory)
        application.kill()
        plain = os.path.join(directory, "dotnet-diagnostic-7-1-socket")
        open(plain, "wb").close()
        self.told(self.agent(search=[directory]), f"{application.socket}: it is stale", f"{plain}: it is not a socket")

    def test_a_runtime_that_ends_and_leaves_its_socket_is_no_warning(self):
        directory = self.directory()
        application = self.lab.orders(directory=directory)
        agent = self.agent(search=[directory])
        agent.wait_for(application)
        application.kill()
        agent.wait_for()
        self.told(agent, f"{application.socket}: it is stale")
        self.assertNotIn("stale", agent.log())

    def test_what_a_process_says_of_itself_cannot_control_a_terminal(self):
        directory = os.path.join(self.directory(), "a\x1b[31m\x9b b")
        os.mkdir(directory)
        pretender = self.lab.far.start(needs.program("python3"), "-c", PRETENDER, directory)
        self.addCleanup(pretender.kill)
        pretender.wait_for_output("listening")
        text = self.told(self.agent(search=[self.directory()]), "which is not searched", "\\x1b[31m")
        self.assertNotIn("\x1b", text)

    def test_every_command_says_it(self):
        missing = os.path.join(self.directory(), "missing")
        agent = self.agent(search=[missing])
        reason = f"{missing}: No such file or directory"
        self.told(agent, reason)
        self.assertIn(reason, self.assert_ok(self.farport("can-i", agent.remote)).stderr)
        done = self.farport("dump", agent.remote)
        self.assertEqual(done.code, 1, done.described)
        self.assertIn(reason, done.stderr)
        done = self.lab.near.run(needs.farport(), "run", agent.remote, *self.lab.tools_pair.flags(), "--",
                                 needs.dotnet_trace(), "collect", "-n", "orders")
        self.assertNotEqual(done.code, 0, done.described)
        self.assertIn(reason, done.stderr)
        mirror = self.lab.near.start(needs.farport(), "connect", agent.remote, *self.lab.tools_pair.flags())
        self.addCleanup(mirror.stop)
        wait.until(lambda: reason in mirror.stderr(), mirror.output)
        own = {"XDG_RUNTIME_DIR": self.lab.new_directory(self.lab.near, "run")}
        os.chmod(own["XDG_RUNTIME_DIR"], 0o700)
        sockets = self.lab.new_directory(self.lab.near, "sockets")
        detached = self.lab.near.run(needs.farport(), "connect", agent.remote, "--detach", "--socket-dir", sockets,
                                     *self.lab.tools_pair.flags(), environment=own)
        self.assertIn(reason, self.assert_ok(detached).stdout)
        self.assert_ok(self.lab.near.run(needs.farport(), "disconnect", "--all", environment=own))

    def test_one_that_is_missing_beside_others(self):
        listed, hidden = self.directory(), self.directory()
        self.use(self.lab.orders(directory=listed))
        elsewhere = self.use(self.lab.orders(directory=hidden))
        agent = self.agent(search=[listed])
        wait.until(agent.runtimes, agent.log)
        reason = f"the .NET process {elsewhere.pid_inside}"
        ask = lambda command, *words: self.lab.near.run(needs.farport(), command, *self.lab.tools_pair.flags(), *words)
        dump = ("dump", f"{agent.remote}/billing")
        # On a busy machine the agent looks rarely by itself, and at once when it is asked. It logs nothing of one that has just
        # started, which is all that it says at first.
        wait.until(lambda: reason in ask(*dump).stderr and reason in agent.log(), agent.log)
        for command in (dump,
                        ("run", agent.remote, "--", needs.dotnet_trace(), "collect", "-n", "billing")):
            done = ask(*command)
            self.assertNotEqual(done.code, 0, done.described)
            self.assertIn("there is no such runtime; choose one of", done.stderr)
            self.assertIn(f"{agent.remote} says of what it does not list:", done.stderr)
            self.assertIn(reason, done.stderr)

    def test_a_list_that_is_not_empty_comes_without_a_word(self):
        application = self.use(self.lab.orders())
        agent = self.agent(search=[self.lab.far.tmp, "/nowhere"])
        agent.wait_for(application)
        self.assertEqual(self.assert_ok(self.ps(agent)).stderr, "")


class Check(Case):
    """`farport check` tries out what it says."""

    @classmethod
    def prepare(cls):
        cls.application = cls.lab.orders()
        cls.agent = cls.share(cls.lab.agent())
        cls.agent.wait_for(cls.application)

    def check(self, *arguments, host=None):
        return (host or self.lab.near).run(needs.farport(), "check", *arguments)

    def check_serve(self, *arguments, listen):
        return self.check(*self.lab.agent_pair.flags(), "--allow-cn", "tools", "--listen", listen, *arguments,
                          host=self.lab.far)

    def test_it_dials_and_asks_who_is_there(self):
        done = self.assert_ok(self.check(self.agent.remote, *self.lab.tools_pair.flags()))
        self.assertIn(f"ok       {self.agent.remote} answers: farport ", done.stdout)
        self.assertIn("you are CN=tools there, with the role admin", done.stdout)

    def test_an_agent_that_is_not_there_is_a_problem(self):
        for remote, why in ((f"{self.lab.far.address}:1", "Connection refused"), ("nosuchhost.test:9000", "nosuchhost")):
            done = self.check(remote, *self.lab.tools_pair.flags())
            self.assertEqual(done.code, 1, done.described)
            problems = [line for line in done.stdout.splitlines() if line.startswith("problem")]
            self.assertTrue(any(why.lower() in line.lower() for line in problems), done.described)

    def test_a_port_that_another_process_has_is_a_problem(self):
        done = self.check_serve(listen=self.agent.remote)
        self.assertEqual(done.code, 1, done.described)
        self.assertIn("Address already in use", done.stdout)
        self.assert_ok(self.check_serve(listen=f"{self.lab.far.address}:9005"))

    def test_it_says_what_is_in_the_search_directories(self):
        directory = self.lab.new_directory(self.lab.far, "search")
        plain = os.path.join(directory, "dotnet-diagnostic-7-1-socket")
        open(plain, "wb").close()
        done = self.assert_ok(self.check_serve("--search", self.lab.far.tmp, "--search", directory,
                                               listen=f"{self.lab.far.address}:9005"))
        self.assertIn(f"ok       finds orders (pid {self.application.pid_inside}, .NET ", done.stdout)
        self.assertIn(f"warning  {plain}: it is not a socket", done.stdout)


if __name__ == "__main__":
    main()
