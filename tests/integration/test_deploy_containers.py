"""Containers of podman, reached without farport in them, a shared folder or a port: farport brings itself along."""

import json
import os
import pathlib
import time

from harness import needs, wait
from harness.case import main
from harness.deployed import Containers
from harness.images import USER


class OfEngines(Containers):
    @classmethod
    def prepare(cls):
        super().prepare()
        cls.podman.command("docker", f'exec {cls.podman.programs}/podman "$@"')

    def assert_nothing_left(self, *but):
        names = sorted(("orders", *but))
        wait.until(lambda: sorted(self.podman.run("ps", "--all", "--format", "{{.Names}}").split()) == names,
                   lambda: self.podman.run("ps", "--all"))
        files = self.podman.files("orders", "/tmp")
        self.assertFalse([name for name in files if "farport" in name], files)
        # The application is the first process there, and waits for none.
        zombies = self.podman.children("orders", "Z")
        self.assertEqual(zombies, [])

    def test_one_command_records_a_trace_and_leaves_nothing(self):
        self.application("--read-only", "--tmpfs", "/tmp", "--cap-drop", "all")
        file = os.path.join(self.lab.new_directory(self.lab.far, "trace"), "x.nettrace")
        done = self.assert_ok(self.farport("run", "podman://orders", "--", needs.dotnet_trace(), "collect", "-n",
                                           "orders", "--duration", "00:00:02", "-o", file))
        self.assertGreater(os.path.getsize(file), 1000, done.described)
        self.assertIn("podman://orders: starts a container beside it", done.stderr)
        self.assert_nothing_left()
        self.assertEqual(self.podman.state("orders")["State"]["Status"], "running")

    def test_the_kernel_profiles_it_down_to_itself_by_a_helper_of_its_own(self):
        # Busy, mostly in its own methods.
        self.application("--read-only", "--tmpfs", "/tmp", "--cap-drop", "all")
        mirror, _ = self.mirror("podman://orders")
        wait.until(lambda: self.events(mirror, "added"), mirror.output)
        file = os.path.join(self.lab.new_directory(self.lab.far, "profile"), "x.folded")
        done = self.assert_ok(self.farport("profile", "podman://orders", "--duration", "4s", "-o", file))
        stacks = pathlib.Path(file).read_text()
        self.assertIn("Orders.Pricing", stacks)
        self.assertIn("coreclr_execute_assembly", stacks)
        # Nothing is missing: neither the kernel's part nor its names.
        self.assertNotIn("kernel", done.stderr.replace("may have the kernel sample them", ""))
        self.stop(mirror)
        self.assert_nothing_left()

    def test_one_that_is_stopped_shows_its_stacks(self):
        self.application("--read-only", "--tmpfs", "/tmp", "--cap-drop", "all")
        # One that is younger may still be starting.
        time.sleep(10)

        def whole_stacks():
            self.podman.run("kill", "--signal", "STOP", "orders")
            done = self.assert_ok(self.farport("stacks", "podman://orders"))
            self.podman.run("kill", "--signal", "CONT", "orders")
            self.assertIn("the stacks were sampled from outside the process", done.stderr)
            return done if "libcoreclr.so!coreclr_execute_assembly" in done.stdout else None

        # Where it is stopped in a method that has no frame yet, the callers are not found.
        done = wait.until(whole_stacks, "stacks from the start of the application on")
        self.assertRegex(done.stdout, r"Thread \d+ \.NET EventPipe\n    poll\(2\)\n")
        self.assert_nothing_left()

    def test_a_mirror_shows_it_to_tools_until_ctrl_c(self):
        self.application()
        mirror, directory = self.mirror("podman://orders")
        wait.until(lambda: self.events(mirror, "added"), mirror.output)
        file = os.path.join(self.lab.new_directory(self.lab.far, "trace"), "x.nettrace")
        options = self.options()
        options["environment"] = options["environment"] | {"TMPDIR": directory}
        self.assert_ok(self.lab.far.run(needs.dotnet_trace(), "collect", "-n", "orders", "--duration", "00:00:01", "-o",
                                        file, **options))
        self.stop(mirror)
        self.assert_nothing_left()

    def test_diagnostics_that_are_switched_off_are_said_by_the_first_command(self):
        self.application("--env", "DOTNET_EnableDiagnostics=0")
        told = self.assert_ok(self.farport("ps", "podman://orders")).stderr
        self.assertIn("it can't be diagnosed: DOTNET_EnableDiagnostics=0 is set in its environment", told)
        self.assertNotIn("nothing that is wrong", told)

    def test_docker_is_spoken_to_in_the_same_words(self):
        self.application()
        rows = json.loads(self.assert_ok(self.farport("ps", "docker://orders", "--json")).stdout)
        self.assertEqual([row["name"] for row in rows], ["orders"])
        self.assert_nothing_left()

    def test_several_commands_share_a_helper(self):
        self.application()
        mirror, _ = self.mirror("podman://orders")
        wait.until(lambda: self.events(mirror, "added"), mirror.output)
        self.assertIn("orders", self.assert_ok(self.farport("ps", "podman://orders")).stdout)
        names = self.podman.run("ps", "--format", "{{.Names}}").split()
        self.assertEqual(len(names), 2, names)
        dump = os.path.join(self.lab.new_directory(self.lab.far, "dump"), "x.dmp")
        self.assert_ok(self.farport("dump", "podman://orders//orders", "--type", "mini", "-o", dump))
        self.assertGreater(os.path.getsize(dump), 100_000)
        self.stop(mirror)
        self.assert_nothing_left()

    def test_a_helper_that_is_killed_is_replaced(self):
        self.application()
        mirror, _ = self.mirror("podman://orders")
        wait.until(lambda: self.events(mirror, "added"), mirror.output)
        helper = next(name for name in self.podman.run("ps", "--format", "{{.Names}}").split() if name != "orders")
        self.podman.run("kill", helper)
        wait.until(lambda: any(row["breaks"] == 1 and row["connected"] for row in self.events(mirror, "changed")),
                   mirror.output)
        self.stop(mirror)
        self.assert_nothing_left()

    def ps_fails(self, target, *flags):
        """What a command that lists the application says where it fails; nothing where it doesn't."""
        done = self.farport("ps", target, "--json", *flags)
        rows = [row["name"] for row in json.loads(done.stdout)] if done.code == 0 else []
        return None if rows == ["orders"] else done.described

    def helpers(self, *flags):
        names = self.podman.run("ps", "--format", "{{.Names}}", *flags).split()
        return [name for name in names if name.startswith("farport-")]

    def test_one_command_after_the_other_while_helpers_end(self):
        self.application(image="localhost/shell")
        for flags in ([], ["--deploy", "copy"]):
            failures = []
            for number in range(8):
                failures.append(self.ps_fails("podman://orders", *flags))
                # Over all the moments of an agent's end.
                time.sleep(number * 0.2)
            self.assertEqual([each for each in failures if each], [])
        self.assert_nothing_left()

    def test_the_next_command_finds_the_helper_of_the_one_before(self):
        self.application()
        told = [self.assert_ok(self.farport("ps", "podman://orders", "--linger", "20s")).stderr for _ in range(3)]
        self.assertIn("removed 20 s after its last session", told[0])
        self.assertEqual(told[1] + told[2], "")
        self.assertEqual(len(self.helpers("--all")), 1)

    def test_five_commands_at_once_start_one_helper(self):
        self.application(image="localhost/shell")
        for flags in ([], ["--deploy", "copy"]):
            tools = [self.lab.far.start(needs.farport(), "ps", "podman://orders", "--linger", "20s", *flags, **self.options())
                     for _ in range(5)]
            for tool in tools:
                self.assertEqual(tool.wait(), 0, tool.output())
                self.assertIn("orders", tool.stdout())
        self.assertEqual(len(self.helpers("--all")), 1)

    def test_what_was_killed_is_in_no_commands_way(self):
        self.application()
        for part in ("ConmonPid", "Pid"):
            self.assertIsNone(self.ps_fails("podman://orders", "--linger", "10s"))
            (helper,) = self.helpers()
            self.assert_ok(self.lab.far.run("kill", "-9", str(self.podman.state(helper)["State"][part]), **self.options()))
            self.assertIsNone(self.ps_fails("podman://orders"), part)
            time.sleep(12)  # The agent ends, whether or not anybody takes note.
        self.assertIsNone(self.ps_fails("podman://orders"))
        self.assert_nothing_left()

    def test_root_with_capabilities_and_a_user_by_name(self):
        self.application("--user", "0", "--cap-add", "SYS_PTRACE", "--cap-drop", "CHOWN")
        self.assertIn("orders", self.assert_ok(self.farport("ps", "podman://orders")).stdout)
        self.assert_nothing_left()
        self.podman.run("rm", "--force", "--time", "0", "orders")
        passwd = pathlib.Path(self.lab.new_directory(self.lab.far, "etc"), "passwd")
        passwd.write_text(f"root:x:0:0::/:\napp:x:{USER}:{USER + 1}::/:\n", encoding="ascii")
        self.podman.run("create", "--name", "base", "localhost/orders")
        self.podman.run("cp", passwd, "base:/etc/passwd")
        self.podman.run("commit", "--quiet", "--change", "USER app", "base", "localhost/named")
        self.podman.run("rm", "base")
        self.application(image="localhost/named")
        self.assertIn("orders", self.assert_ok(self.farport("ps", "podman://orders")).stdout)
        self.assert_nothing_left()

    def test_what_is_none_of_its_containers_is_said(self):
        for target, words in (("podman://nobody", "no such container"), ("podman://--help", "no container's name"),
                              ("docker://a b", "no container's name"), ("podman://a';id;'", "no container's name"),
                              ("podman://", "no container's name")):
            done = self.farport("ps", target)
            self.assertIn(done.code, (1, 2), done.described)
            self.assertIn(words, done.stderr)

    def test_never_and_copy_where_the_container_has_no_shell(self):
        self.application()
        for way in ("never", "copy"):
            done = self.farport("ps", "podman://orders", "--deploy", way)
            self.assertEqual(done.code, 1, done.described)
            self.assertIn("podman://orders", done.stderr)
        self.assertIn("its image has no shell", done.stderr)
        self.assertIn("leave --deploy copy out", done.stderr)
        self.assert_nothing_left()

    def test_a_copy_into_a_container_that_has_a_shell(self):
        self.application(image="localhost/shell")
        done = self.farport("ps", "podman://orders", "--deploy", "copy", "--json")
        self.assertEqual([row["name"] for row in json.loads(self.assert_ok(done).stdout)], ["orders"])
        self.assertIn("sends farport there", done.stderr)
        wait.until(lambda: not any("farport" in name for name in self.podman.files("orders", "/tmp")),
                   lambda: self.podman.files("orders", "/tmp"))
        self.assert_nothing_left()

    def test_a_container_that_ends_meanwhile(self):
        self.application()
        mirror, _ = self.mirror("podman://orders", "--grace", "1s")
        wait.until(lambda: self.events(mirror, "added"), mirror.output)
        self.podman.run("kill", "orders")
        wait.until(lambda: self.events(mirror, "removed"), mirror.output)
        wait.until(lambda: "it does not run" in mirror.output(), mirror.output)
        self.stop(mirror)


if __name__ == "__main__":
    main()
