"""Where dumps are written: too little space, containers, and what hostile runtimes put in their place."""

import os
import pathlib

from harness import dumps, ipc, needs, wait
from harness.case import Case, main
from harness.fake import FakeRuntime
from harness.scripted import ScriptedRuntime

USER = 61234


class Space(Case):
    @classmethod
    def prepare(cls):
        cls.application = cls.lab.orders("--heap", "64")

    def setUp(self):
        self.target = os.path.join(self.lab.new_directory(self.lab.near, "target"), "x.dmp")

    def small_file_system(self, host, mebibytes):
        """A directory on a host with so much space."""
        directory = self.lab.new_directory(host, "small")
        self.assert_ok(host.run("mount", "-t", "tmpfs", "-o", f"size={mebibytes}m", "tmpfs", directory))
        return directory

    def agent_with(self, text, *flags, port):
        configuration = pathlib.Path(self.lab.far.directory, f"agent-{port}.toml")
        configuration.write_text(text)
        agent = self.use(self.lab.agent("--config", configuration, *flags, port=port))
        agent.wait_for(self.application)
        return agent

    def take(self, agent, *flags):
        return self.lab.near.run(needs.farport(), "dump", agent.remote, "-o", self.target, *flags,
                                 *self.lab.tools_pair.flags())

    def assert_fails(self, done, *words):
        self.assertEqual(done.code, 1, done.described)
        for word in words:
            self.assertIn(word, done.stderr)
        self.assertEqual(os.listdir(os.path.dirname(self.target)), [])

    def test_too_little_space_where_the_runtime_writes_is_seen_before(self):
        small = self.small_file_system(self.lab.far, 40)
        agent = self.agent_with('[dump]\nkeep_free = "1MiB"\n', "--dump-directory", small, port=9010)
        self.assert_fails(self.take(agent), "space", small)
        self.assert_ok(self.lab.far.run("test", "-d", small))
        self.assertEqual(self.lab.far.run("ls", "-A", small).stdout, "")

    def test_space_that_is_to_stay_free_is_kept(self):
        small = self.small_file_system(self.lab.far, 400)
        agent = self.agent_with('[dump]\nkeep_free = "380MiB"\n', "--dump-directory", small, port=9011)
        self.assert_fails(self.take(agent), "380 MiB are to stay free")

    def test_space_that_runs_out_while_the_runtime_writes(self):
        # Where the process isn't visible nothing can be known before.
        small = self.small_file_system(self.lab.far, 40)
        configuration = pathlib.Path(self.lab.far.directory, "agent-9012.toml")
        configuration.write_text('[dump]\nkeep_free = "1MiB"\n')
        agent = self.use(self.lab.agent("--config", configuration, "--dump-directory", small, port=9012,
                                        enter=self.lab.far.enter_other_pids()))
        agent.wait_for(self.application)
        done = self.take(agent)
        self.assertEqual(done.code, 1, done.described)
        self.assertEqual(os.listdir(os.path.dirname(self.target)), [])
        self.assertEqual(self.lab.far.run("ls", "-A", small).stdout, "")

    def test_too_little_space_for_the_tool(self):
        small = self.small_file_system(self.lab.near, 8)
        agent = self.use(self.lab.agent(port=9013))
        agent.wait_for(self.application)
        self.target = os.path.join(small, "x.dmp")
        done = self.lab.near.run(needs.farport(), "dump", agent.remote, "-o", self.target,
                                 *self.lab.tools_pair.flags())
        self.assertEqual(done.code, 1, done.described)
        self.assertIn("MiB are free", done.stderr)
        self.assertEqual(self.lab.near.run("ls", "-A", small).stdout, "")

    def test_a_runtime_that_writes_by_itself_and_without_end_is_left(self):
        agent = self.agent_with('[dump]\nmax_size = "20MiB"\n', port=9015)
        # Of another pid namespace: the agent sees neither it nor what writes.
        runtime = ScriptedRuntime(self.lab)
        self.addCleanup(runtime.stop)
        agent.wait_for(self.application, runtime)
        tool = self.lab.near.start(needs.farport(), "dump", f"{agent.remote}/{runtime.name}", "-o",
                                   self.target, *self.lab.tools_pair.flags())
        asked = runtime.next()
        with open(ipc.parse_string(ipc.parse(asked.message)[2]), "wb") as file:
            file.write(b"x" * (21 << 20))
            file.flush()
            # It never answers.
            self.assertEqual(tool.wait(), 1, tool.output())
            self.assertIn("limit of 20 MiB", tool.stderr())
            self.assertEqual(dumps.private_directories(self.lab.far.tmp), [])
            # What it wrote has been given back.
            self.assertEqual(os.fstat(file.fileno()).st_blocks, 0)
        self.assert_ok(self.lab.near.run(needs.farport(), "dump", f"{agent.remote}/{self.application.pid_inside}", "-o",
                                         self.target, "--type", "mini", *self.lab.tools_pair.flags()))

    def test_a_thread_that_ends_while_createdump_attaches_is_no_reason_to_give_up(self):
        agent = self.agent_with("", port=9016)
        runtime = ScriptedRuntime(self.lab)
        self.addCleanup(runtime.stop)
        agent.wait_for(self.application, runtime)
        missed = "[createdump] Problem suspending threads: ptrace(ATTACH, 600) FAILED No such process (3)"
        for meets_another in (False, True):
            with self.subTest(meets_another=meets_another):
                tool = self.lab.near.start(needs.farport(), "dump", f"{agent.remote}/{runtime.name}", "-o", self.target,
                                           *self.lab.tools_pair.flags())
                for _ in range(2):
                    runtime.next().refuse(ipc.FAILED, missed)
                third = runtime.next()
                if meets_another:
                    third.refuse(ipc.FAILED, missed)
                    self.assertEqual(tool.wait(), 1, tool.output())
                    self.assertIn("take it again", tool.stderr())
                    continue
                with open(ipc.parse_string(ipc.parse(third.message)[2]), "wb") as file:
                    file.write(b"a dump")
                third.connection.sendall(ipc.message(ipc.SERVER, ipc.OK, bytes(4)))
                self.assertEqual(tool.wait(), 0, tool.output())
                os.remove(self.target)

    def test_a_dump_above_the_limit(self):
        agent = self.agent_with('[dump]\nmax_size = "20MiB"\n', port=9014)
        self.assert_fails(self.take(agent), "limit of 20 MiB")
        self.assertEqual(dumps.private_directories(self.lab.far.tmp), [])
        self.assert_ok(self.take(agent, "--type", "mini"))


class Apart(Case):
    """Runtimes with a file system of their own: containers."""

    @classmethod
    def prepare(cls):
        cls.shared = cls.lab.new_directory(cls.lab.far, "diag")
        cls.inside = cls.lab.new_directory(cls.lab.far, "inside")

    def contained(self, *mounts, namespaces=("--mount",)):
        """An application in a mount namespace of its own, which dials in."""
        script = " && ".join([*mounts, 'exec "$@"'])
        enter = [*self.lab.far.enter, "unshare", *namespaces, "sh", "-c", script, "sh"]
        application = self.lab.orders(
            directory=self.inside, enter=enter, diagnostics=False,
            environment={"DOTNET_DiagnosticPorts": f"{self.shared}/farport.sock,nosuspend"})
        self.addCleanup(application.kill)
        application.process.wait_for_output("pricing")
        return application

    def test_a_host_daemon_takes_the_pid_by_which_its_host_knows_a_container_s_runtime(self):
        agent = self.agent()
        self.contained("mount -t proc proc /proc", namespaces=("--mount", "--pid", "--fork", "--kill-child"))
        runtime, = wait.until(agent.runtimes, "the runtime is listed")
        self.assertEqual(runtime["pid"], 1)
        self.assertEqual(self.lab.far.run("cat", f"/proc/{runtime['host_pid']}/comm").stdout, "orders\n")
        for pid in ("1", str(runtime["host_pid"])):
            path = os.path.join(self.lab.near.directory, f"by-{pid}.dmp")
            self.assert_ok(self.lab.near.run(needs.farport(), "dump", f"{agent.remote}/{pid}", "-o", path, "--type",
                                             "mini", *self.lab.tools_pair.flags()))
        listed = self.assert_ok(self.lab.near.run(needs.farport(), "ps", agent.remote, *self.lab.tools_pair.flags()))
        self.assertIn(f"1 ({runtime['host_pid']})", listed.stdout)

    def agent(self, *flags, **options):
        return self.use(self.lab.agent("--diagnostic-port", f"{self.shared}/farport.sock", *flags, **options))

    def take(self, agent):
        target = os.path.join(self.lab.new_directory(self.lab.near, "target"), "x.dmp")
        done = self.lab.near.run(needs.farport(), "dump", agent.remote, "-o", target, "--type", "mini",
                                 *self.lab.tools_pair.flags())
        return done, target

    def test_through_the_root_of_a_process_that_is_visible(self):
        agent = self.agent()
        application = self.contained(f"mount -t tmpfs tmpfs {self.inside}")
        agent.wait_for(application)
        done, target = self.take(agent)
        self.assert_ok(done)
        self.assertTrue(dumps.core_notes(target))
        # It was written where only the application can see it, and is gone there too.
        root = f"/proc/{application.process.pid}/root{self.inside}"
        self.assertEqual(dumps.private_directories(root), [])

    def test_nothing_is_made_where_a_user_has_mounted_what_only_root_may_write_to(self):
        precious = self.lab.new_directory(self.lab.far, "precious")
        open_to_all = self.lab.new_directory(self.lab.far, "open")
        os.chmod(open_to_all, 0o1777)
        for number, enter in enumerate(((), ("unshare", "--user", "--map-root-user"))):
            agent = self.use(self.lab.agent(search=[open_to_all], port=9020 + number))
            path = f"{open_to_all}/dotnet-diagnostic-{number + 1}-1-socket"
            mounting = f'mount --bind {precious} {self.inside} && TMPDIR={self.inside} exec "$@"'
            # A user can do so in a user namespace; root, for a user who has a mount namespace, without one.
            user = [needs.program("setpriv"), "--reuid", USER, "--regid", USER, "--clear-groups"]
            outside = [*user, *enter, "unshare", "--mount", "sh", "-c", mounting, "sh"] if enter else \
                ["unshare", "--mount", "sh", "-c", mounting, "sh", *user]
            runtime = self.lab.far.start(*outside, needs.fake_runtime(), path, "--pid", number + 1, "--dump", "bytes:5000")
            self.addCleanup(runtime.kill)
            wait.until(lambda: agent.runtimes(), lambda: f"it is listed\n{runtime.output()}\n{agent.log()}")
            before = os.stat(precious).st_mtime_ns
            done = self.lab.near.run(needs.farport(), "dump", agent.remote, "--stay", *self.lab.tools_pair.flags())
            # Nothing was ever made there: where the socket is, the runtime may write anyway.
            self.assertEqual(os.stat(precious).st_mtime_ns, before, done.described)
            self.assert_ok(done)
            self.assertIn(open_to_all, done.stdout)
            runtime.kill()
            os.unlink(path)

    def test_a_link_in_another_root_is_not_followed(self):
        agent = self.agent()
        application = self.contained(f"mount -t tmpfs tmpfs {self.inside}",
                                     f"mkdir {self.inside}/a && ln -s a {self.inside}/b",
                                     f"export TMPDIR={self.inside}/b")
        agent.wait_for(application)
        linked = f"/proc/{application.process.pid}/root{self.inside}/a"
        before = os.stat(linked).st_mtime_ns
        done, _ = self.take(agent)
        # Nothing was ever made there: where the socket is, both see.
        self.assert_ok(done)
        self.assertEqual(os.stat(linked).st_mtime_ns, before)

    def test_in_a_directory_that_both_mount_at_different_paths(self):
        volume = self.lab.new_directory(self.lab.far, "volume")
        agent = self.agent("--dump-directory", volume, "--dump-runtime-directory", self.inside,
                           enter=self.lab.far.enter_other_pids())
        application = self.contained(f"mount --bind {volume} {self.inside}")
        agent.wait_for(application)
        done, target = self.take(agent)
        self.assert_ok(done)
        self.assertTrue(dumps.core_notes(target))
        self.assertEqual(dumps.private_directories(volume), [])

    def test_a_directory_that_the_runtime_does_not_see_is_explained(self):
        hidden = self.lab.new_directory(self.lab.far, "hidden")
        agent = self.agent("--dump-directory", hidden)
        application = self.contained(f"mount -t tmpfs tmpfs {hidden}")
        agent.wait_for(application)
        done, target = self.take(agent)
        self.assertEqual(done.code, 1, done.described)
        self.assertIn("runtime_directory", done.stderr)
        self.assertFalse(os.path.exists(target))
        self.assertEqual(os.listdir(hidden), [])


class Hostile(Case):
    """What stands where the dump should be, by a runtime that is not what it seems."""

    @classmethod
    def prepare(cls):
        cls.agent = cls.share(cls.lab.agent())

    def setUp(self):
        self.target = os.path.join(self.lab.new_directory(self.lab.near, "target"), "x.dmp")

    def dump_of(self, mode):
        """Takes a dump of a runtime that answers in this mode."""
        fake = self.use(FakeRuntime(self.lab, "--dump", mode))
        self.agent.wait_for(fake)
        done = self.lab.near.run(needs.farport(), "dump", self.agent.remote, "-o", self.target, "--force",
                                 *self.lab.tools_pair.flags())
        fake.stop()
        self.agent.wait_for()
        self.assertEqual(dumps.private_directories(self.lab.far.tmp), [])
        return done

    def assert_refused(self, mode, *words):
        done = self.dump_of(mode)
        self.assertEqual(done.code, 1, done.described)
        for word in words:
            self.assertIn(word, done.stderr)
        self.assertEqual(os.listdir(os.path.dirname(self.target)), [])

    def test_a_link_is_not_followed(self):
        self.assert_refused("link:/etc/passwd", "link")

    def test_a_hard_link_is_not_read(self):
        secret = os.path.join(self.lab.far.tmp, "secret")
        pathlib.Path(secret).write_text("nobody's business")
        self.assert_refused(f"hard:{secret}", "alone has made")
        self.assertEqual(pathlib.Path(secret).read_text(), "nobody's business")

    def test_another_users_file_is_not_read(self):
        self.assert_refused("user:65534", "user 0 alone")

    def test_a_directory_is_no_dump(self):
        self.assert_refused("directory", "alone has made")

    def test_what_is_mounted_or_linked_where_a_dump_may_have_been_is_left_alone(self):
        precious = self.lab.new_directory(self.lab.far, "precious")
        os.chmod(precious, 0o700)
        kept = pathlib.Path(precious, "dump")
        kept.write_text("still wanted")
        mounted = os.path.join(self.lab.far.tmp, ".farport-dump-mounted")
        os.mkdir(mounted, 0o700)
        self.assert_ok(self.lab.far.run("mount", "--bind", precious, mounted))
        linked = os.path.join(self.lab.far.tmp, ".farport-dump-linked")
        os.symlink(precious, linked)
        abandoned = os.path.join(self.lab.far.tmp, ".farport-dump-abandoned")
        os.mkdir(abandoned, 0o700)
        fake = self.use(FakeRuntime(self.lab))
        self.agent.wait_for(fake)
        wait.until(lambda: not os.path.exists(abandoned), "what a dead agent left is removed")
        self.assertEqual(kept.read_text(), "still wanted")
        self.assert_ok(self.lab.far.run("umount", mounted))
        os.rmdir(mounted)
        os.unlink(linked)
        fake.stop()
        self.agent.wait_for()

    def test_no_file_at_all(self):
        self.assert_refused("nothing", "No such file")

    def test_the_runtimes_own_words_reach_the_caller(self):
        self.assert_refused("error:createdump is missing", "createdump is missing")

    def test_content_of_all_kinds_arrives_as_it_was(self):
        for size in (0, 1, 4095, 4096, 4097, 65_536, 10_000_001):
            done = self.dump_of(f"bytes:{size}")
            self.assert_ok(done)
            self.assertEqual(os.path.getsize(self.target), size)
            expected = os.path.join(self.lab.far.directory, "expected")
            self.lab.far.run(needs.fake_runtime(), "--write-dump", expected, size)
            self.assertEqual(dumps.digest(self.target), dumps.digest(expected))


if __name__ == "__main__":
    main()
