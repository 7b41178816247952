"""Runtimes are found without a shared folder: `--search proc` looks into every process that the agent sees."""

import json
import os
import shutil
import signal
import sys

from harness import dumps, needs, proc, wait
from harness.agent import PORT
from harness.case import Case, main
from harness.certificates import Pair
from harness.host import as_user, private_tmp
from harness.silent_files import DIRECTORY, SILENT_FILES

USER = 61234
OTHER = 61235
# Binds sockets of other processes' names where it is told, and answers nobody.
SQUATTER = """
import socket, sys, time
bound = [socket.socket(socket.AF_UNIX) for path in sys.argv[1:]]
for each, path in zip(bound, sys.argv[1:]):
    each.bind(path)
    each.listen()
print("bound", flush=True)
time.sleep(600)
"""


class ProcessSearch(Case):
    """What the tests share."""

    def private_tmp(self, *user, before="true", directory="/tmp", namespaces=("--mount",), environment=None, tmpdir=None):
        """An application in a mount namespace with a /tmp of its own (or another directory)."""
        script = f'{private_tmp(directory)} && cd / && {before} && exec "$@"'
        enter = [*self.lab.far.enter, needs.program("unshare"), *namespaces, "sh", "-c", script, "sh", *user]
        application = self.lab.orders(diagnostics=False, enter=enter,
                                      environment={"TMPDIR": tmpdir or directory} | (environment or {}))
        self.addCleanup(application.kill)
        application.process.wait_for_output("pricing")
        return application

    def agent(self, *flags, user=(), search=("proc",), **options):
        """An agent that looks around often."""
        configuration = os.path.join(self.lab.new_directory(self.lab.far, "configuration"), "agent.toml")
        with open(configuration, "w", encoding="ascii") as file:
            file.write('[runtimes]\nrescan = "300ms"\n')
        os.chmod(configuration, 0o644)
        return self.use(self.lab.agent("--config", configuration, *flags, search=search,
                                       enter=[*self.lab.far.enter, *user], **options))

    def agent_of(self, user, *flags, **options):
        """One that is another user."""
        pair = Pair(self.lab.new_directory(self.lab.far, "certificates"), "agent")
        for name in ("cert", "key", "ca"):
            shutil.copy(getattr(self.lab.agent_pair, name), getattr(pair, name))
            os.chown(getattr(pair, name), user, user)
        return self.agent(*flags, user=as_user(user), pair=pair, **options)

    def ps(self, agent):
        return self.assert_ok(self.lab.near.run(needs.farport(), "ps", agent.remote, *self.lab.tools_pair.flags()))

    def told(self, agent, *words):
        """Asks until what `farport ps` prints besides its empty table has all the words, and returns that."""
        def asked():
            done = self.ps(agent)
            self.assertEqual(len(done.stdout.splitlines()), 1, done.described)
            return done.stderr if all(word in done.stderr for word in words) else None

        return wait.until(asked, lambda: f"{words} in\n{self.ps(agent).stderr}\n{agent.log()}")

    def trace(self, agent, application, *others):
        """Records with the stock tool."""
        mirror = self.use(self.lab.mirror(agent.remote))
        pid = mirror.wait_for(application, *others)[0]["local_pid"]
        file = os.path.join(self.lab.new_directory(self.lab.near, "trace"), "x.nettrace")
        self.assert_ok(self.tools.trace("collect", "-p", pid, "--duration", "00:00:01", "-o", file))
        self.assertTrue(self.tools.frames(file))
        mirror.stop()

    def dump(self, agent, *flags):
        """What `farport dump` says, and where the dump is."""
        target = os.path.join(self.lab.new_directory(self.lab.near, "target"), "x.dmp")
        done = self.lab.near.run(needs.farport(), "dump", agent.remote, "-o", target, "--type", "mini", *flags,
                                 *self.lab.tools_pair.flags())
        return done, target

    def assert_dumps(self, agent, application, inside="/tmp"):
        done, target = self.dump(agent)
        self.assert_ok(done)
        self.assertTrue(dumps.core_notes(target))
        self.assertEqual(dumps.private_directories(f"/proc/{application.process.pid}/root{inside}"), [])


class AsRoot(ProcessSearch):
    def test_a_runtime_with_a_tmp_of_its_own_is_traced_and_dumped_by_a_confined_agent(self):
        application = self.private_tmp()
        agent = self.agent()
        agent.wait_for(application)
        self.trace(agent, application)
        self.assert_dumps(agent, application)
        self.assertEqual(proc.status(agent.process.pid, "Seccomp"), "2")
        self.assertEqual(proc.status(agent.process.pid, "NoNewPrivs"), "1")
        self.assertIn("--search proc", next(line for line in agent.log().splitlines() if "not confined by all" in line))
        application.kill()
        agent.wait_for()

    def test_an_agent_that_is_not_confined(self):
        application = self.private_tmp()
        agent = self.agent("--confine", "off")
        agent.wait_for(application)
        self.assert_dumps(agent, application)

    def test_it_does_not_start_where_all_limits_are_required(self):
        done = self.lab.far.run(needs.farport(), "serve", *self.lab.agent_pair.flags(), "--allow-all", "--listen",
                                "127.0.0.1:9003", "--confine", "required", "--search", "proc")
        self.assertEqual(done.code, 1, done.described)
        self.assertIn("--search proc", done.stderr)

    def test_runtimes_with_a_tmpdir_of_their_own_which_come_and_go(self):
        agent = self.agent()
        # Its socket's path is longer through its process than a socket's may be.
        long = self.lab.new_directory(self.lab.far, "x" * (60 - len(self.lab.far.directory)))
        first = self.use(self.lab.orders(directory=long))
        self.assertGreater(len(f"/proc/{first.pid_inside}/root{first.socket}"), 107)
        agent.wait_for(first)
        second = self.lab.orders(directory=self.lab.new_directory(self.lab.far, "tmp"))
        agent.wait_for(first, second)
        second.stop()
        agent.wait_for(first)
        self.assert_dumps(agent, first, long)

    def test_ten_at_once(self):
        agent = self.agent()
        applications = [self.private_tmp() for _ in range(10)]
        agent.wait_for(*applications)
        for application in applications[:9]:
            application.kill()
        agent.wait_for(applications[9])

    def test_two_in_one_namespace(self):
        first = self.private_tmp()
        enter = ["nsenter", "--target", str(first.process.pid), "--mount", "--pid", "--net", "--"]
        second = self.lab.orders(diagnostics=False, enter=enter, environment={"TMPDIR": "/tmp"})
        self.addCleanup(second.kill)
        second.process.wait_for_output("pricing")
        agent = self.agent()
        agent.wait_for(first, second)
        self.trace(agent, second, first)

    def test_a_runtime_that_is_found_in_a_directory_too_is_listed_once(self):
        application = self.use(self.lab.orders())
        private = self.private_tmp()
        agent = self.agent("--search", self.lab.far.tmp)
        agent.wait_for(application, private)
        wait.until(lambda: agent.log().count("found orders") >= 2, agent.log)
        # A look or two later.
        later = self.private_tmp()
        agent.wait_for(application, private, later)
        self.assertEqual(agent.log().count("found orders"), 3, agent.log())

    def test_one_that_dials_in_is_listed_once(self):
        shared = self.lab.new_directory(self.lab.far, "diag")
        agent = self.agent("--diagnostic-port", f"{shared}/farport.sock")
        inside = self.lab.new_directory(self.lab.far, "inside")
        application = self.private_tmp(directory=inside,
                                       environment={"DOTNET_DiagnosticPorts": f"{shared}/farport.sock,nosuspend"})
        agent.wait_for(application)
        wait.until(lambda: "found orders" in agent.log() and "dialled in" in agent.log(), agent.log)
        self.assertEqual(len(agent.runtimes()), 1)
        self.trace(agent, application)
        self.assert_dumps(agent, application, inside)

    def test_a_runtime_in_a_pid_namespace_of_its_own_has_both_pids(self):
        application = self.private_tmp(before="mount -t proc proc /proc",
                                       namespaces=("--mount", "--pid", "--fork", "--kill-child"))
        agent = self.agent()
        runtime, = wait.until(agent.runtimes, agent.log)
        self.assertEqual(runtime["pid"], 1)
        self.assertEqual(self.lab.far.run("cat", f"/proc/{runtime['host_pid']}/comm").stdout, "orders\n")
        done, target = self.dump(agent)
        self.assert_ok(done)
        self.assertTrue(dumps.core_notes(target))
        application.kill()

    def test_a_service_of_another_user_with_a_private_tmp(self):
        application = self.private_tmp(*as_user(USER))
        agent = self.agent()
        self.assertEqual(agent.wait_for(application)[0]["user"], USER)
        self.trace(agent, application)
        self.assert_dumps(agent, application)

    def test_a_mirrors_placeholders_are_no_runtimes(self):
        application = self.private_tmp()
        agent = self.agent()
        agent.wait_for(application)
        sockets = self.lab.new_directory(self.lab.far, "sockets")
        mirror = self.lab.far.start(needs.farport(), "connect", agent.remote, "--socket-dir", sockets,
                                    *self.lab.tools_pair.flags())
        self.addCleanup(mirror.stop)
        wait.until(lambda: self.lab.far.sockets(sockets), mirror.output)
        later = self.private_tmp()
        agent.wait_for(application, later)
        self.assertEqual(agent.log().count("found orders"), 2, agent.log())

    def test_who_binds_sockets_of_a_runtimes_name_hides_nothing(self):
        application = self.private_tmp(*as_user(USER))
        start = proc.start_time(application.process.pid)
        directory = self.lab.new_directory(self.lab.far, "squatted")
        os.chown(directory, OTHER, OTHER)
        names = [f"{directory}/{i}/dotnet-diagnostic-{application.pid_inside}-{start}-socket" for i in range(3)]
        for name in names:
            os.mkdir(os.path.dirname(name))
            os.chown(os.path.dirname(name), OTHER, OTHER)
        squatter = self.lab.far.start(*as_user(OTHER), sys.executable, "-c", SQUATTER, *names)
        self.addCleanup(squatter.kill)
        squatter.wait_for_output("bound")
        agent = self.agent()
        self.assertEqual(agent.wait_for(application)[0]["user"], USER)
        self.trace(agent, application)

    def test_a_file_system_that_never_answers_holds_up_its_own_user_alone(self):
        inside = self.lab.new_directory(self.lab.far, "inside")
        stuck = self.private_tmp(*as_user(OTHER), directory=inside)
        enter = ["nsenter", "--target", str(stuck.process.pid), "--mount", "--pid", "--net", "--"]
        silent = self.lab.far.start(sys.executable, "-c", SILENT_FILES, inside, DIRECTORY, enter=enter)
        self.addCleanup(silent.kill)
        silent.wait_for_output("mounted")
        first = self.private_tmp(*as_user(USER))
        agent = self.agent()
        agent.wait_for(first)
        second = self.private_tmp()
        agent.wait_for(first, second)
        tasks = f"/proc/{agent.process.pid}/task"
        states = [proc.status(f"{agent.process.pid}/task/{thread}", "State") for thread in os.listdir(tasks)]
        self.assertEqual(len([state for state in states if state.startswith("D")]), 1, states)
        # Once it answers, if only that it is gone, that user's processes are looked into again.
        silent.kill()
        later = self.private_tmp(*as_user(OTHER))
        agent.wait_for(first, second, later)

    def test_a_socket_that_has_been_removed(self):
        application = self.private_tmp()
        root = f"/proc/{application.process.pid}/root/tmp"
        for name in os.listdir(root):
            if name.startswith("dotnet-diagnostic-") and name.endswith("-socket"):
                os.unlink(os.path.join(root, name))
        text = self.told(self.agent(), f"the .NET process {application.pid_inside}", "it has been removed")
        self.assertIn("it searches every process (proc) as user 0", text)

    def test_diagnostics_that_are_switched_off(self):
        hidden = self.private_tmp(environment={"DOTNET_EnableDiagnostics": "0"})
        self.told(self.agent(), f"the .NET process {hidden.pid_inside}", "DOTNET_EnableDiagnostics=0 is set")

    def test_without_cap_sys_ptrace_it_says_so(self):
        hidden = self.private_tmp(*as_user(USER))
        without = [needs.program("setpriv"), "--bounding-set=-sys_ptrace"]
        agent = self.agent(user=without)
        self.told(agent, f"the .NET process {hidden.pid_inside}: it belongs to user {USER}",
                  "farport runs as user 0 without the capability CAP_SYS_PTRACE", "--cap-add")
        self.assertIn("out_of_reach", json.dumps(self.problems(agent)))

    def problems(self, agent):
        """What the agent's API says of its search."""
        done = self.lab.near.run("curl", "--silent", "--cacert", self.lab.tools_pair.ca, "--cert",
                                 self.lab.tools_pair.cert, "--key", self.lab.tools_pair.key,
                                 f"https://{agent.remote}/v1/agent")
        return json.loads(self.assert_ok(done).stdout)["discovery"]["problems"]

    def test_without_cap_dac_override_it_says_so(self):
        without = [needs.program("setpriv"), "--bounding-set=-dac_override,-dac_read_search"]
        hidden = self.private_tmp(*as_user(USER), before="mkdir -m 700 /tmp/own && chown %d /tmp/own" % USER,
                                  tmpdir="/tmp/own")
        closed = self.private_tmp(*as_user(USER))
        self.told(self.agent(user=without), f"the .NET process {hidden.pid_inside}",
                  "without the capability CAP_DAC_OVERRIDE, may not reach its socket /tmp/own/dotnet-diagnostic-",
                  f"/proc/{closed.pid_inside}/root/tmp/dotnet-diagnostic-", "Permission denied",
                  f"run farport as user {USER}, or as root with the capability CAP_DAC_OVERRIDE")

    def test_nothing_is_made_in_another_user_namespace(self):
        application = self.private_tmp(namespaces=("--user", "--map-root-user", "--mount"))
        agent = self.agent()
        agent.wait_for(application)
        self.trace(agent, application)
        root = f"/proc/{application.process.pid}/root/tmp"
        before = os.stat(root).st_mtime_ns
        done, _ = self.dump(agent)
        self.assertEqual(done.code, 1, done.described)
        self.assertIn("set [dump] directory", done.stderr)
        self.assertEqual(os.stat(root).st_mtime_ns, before)

    def test_check_searches_so_too(self):
        application = self.private_tmp()
        done = self.assert_ok(self.lab.far.run(needs.farport(), "check", *self.lab.agent_pair.flags(), "--allow-all",
                                               "--listen", "127.0.0.1:9005", "--search", "proc"))
        self.assertIn(f"ok       finds orders (pid {application.pid_inside}, .NET ", done.stdout)
        self.assertNotIn("search directory", done.stdout)

    def test_the_word_in_a_file_is_no_path(self):
        application = self.private_tmp()
        path = os.path.join(self.lab.new_directory(self.lab.far, "configuration"), "agent.toml")
        with open(path, "w", encoding="ascii") as file:
            file.write('[runtimes]\nsearch = ["proc"]\n')
        agent = self.use(self.lab.agent("--config", path, search=[], port=PORT + 1))
        agent.wait_for(application)


class Unprivileged(ProcessSearch):
    """An agent without any privilege."""

    def test_its_own_users_runtimes_are_traced_and_dumped(self):
        application = self.private_tmp(*as_user(USER))
        agent = self.agent_of(USER)
        agent.wait_for(application)
        self.trace(agent, application)
        self.assert_dumps(agent, application)
        self.assertEqual(int(proc.status(agent.process.pid, "CapEff"), 16), 0)
        self.assertEqual(proc.status(agent.process.pid, "Seccomp"), "2")
        application.process.stop(signal.SIGINT)
        agent.wait_for()

    def test_another_users_are_not_and_both_users_are_named(self):
        hidden = self.private_tmp(*as_user(OTHER))
        agent = self.agent_of(USER)
        self.told(agent, f"the .NET process {hidden.pid_inside}: it belongs to user {OTHER} and farport runs as user "
                  f"{USER}", f"run farport as user {OTHER} (in a pod: the same runAsUser)")
        wait.until(lambda: f"belongs to user {OTHER}" in agent.log(), agent.log)

    def test_the_group_counts_too(self):
        hidden = self.private_tmp(needs.program("setpriv"), f"--reuid={USER}", f"--regid={OTHER}", "--clear-groups")
        self.told(self.agent_of(USER), f"the .NET process {hidden.pid_inside}: it runs as group {OTHER} and farport as "
                  f"group {USER}", "the same runAsGroup")

    def test_one_in_another_user_namespace_of_its_own_user(self):
        """As rootless podman has them: the user who made the namespace may do anything in it."""
        script = f'{private_tmp()} && cd / && exec "$@"'
        enter = [*self.lab.far.enter, *as_user(USER), needs.program("unshare"), "--user", "--map-root-user", "--mount",
                 "sh", "-c", script, "sh"]
        application = self.lab.orders(diagnostics=False, enter=enter, environment={"TMPDIR": "/tmp"})
        self.addCleanup(application.kill)
        application.process.wait_for_output("pricing")
        agent = self.agent_of(USER)
        agent.wait_for(application)
        self.trace(agent, application)


if __name__ == "__main__":
    main()
