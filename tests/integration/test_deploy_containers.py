"""Containers of podman, reached without farport in them, a shared folder or a port: farport brings itself along."""

import contextlib
import json
import os
import pathlib
import signal
import time

from harness import needs, proc, wait
from harness.case import Case, main
from harness.containers import USER, Podman
from harness.recordings import ALL_OF_ORDERS, Recordings
from harness.tools import QUIET

# How long an agent lingers here after its last session. podman takes its time to remove the container.
LINGER = "1s"
GONE_SECONDS = 20


class Containers(Case):
    """What the tests share."""

    @classmethod
    def prepare(cls):
        cls.podman = Podman(cls.lab.far)
        cls.addClassCleanup(cls.podman.close)
        path = ("PATH=/usr/sbin:/usr/bin:/sbin:/bin",)
        cls.podman.image_of_orders(environment=path)
        # As those that are made from a distribution: no gzip and no sha256sum among its tools.
        shell = [f"/bin/{name}" for name in ("sh", "id", "ls", "mkdir", "chmod", "rm", "rmdir", "head", "wc", "mv", "uname")]
        cls.podman.image_of_orders("shell", shell, path)

    def application(self, *flags, name="orders", image="localhost/orders"):
        """An application that nobody has prepared for anything: not root, without a shell."""
        self.podman.run("run", "--detach", "--name", name, "--network", "host", *flags, image, "--rate", "2000", "--seconds", "600")
        self.addCleanup(lambda: self.podman.run("rm", "--force", "--ignore", "--depend", "--time", "0", name))
        wait.until(lambda: "pricing" in self.podman.logs(name), lambda: self.podman.logs(name))

    def options(self):
        return {"enter": self.podman.enter, "environment": self.podman.path() | QUIET
                | {"FARPORT_STATIC_BINARY": needs.static_farport(), "XDG_RUNTIME_DIR": "", "FARPORT_LINGER": LINGER}}

    def farport(self, *arguments, **options):
        """Runs farport where podman is."""
        return self.lab.far.run(needs.farport(), *arguments, **(self.options() | options))

    def mirror(self, target, *flags):
        """A mirror where podman is, and the directory of its sockets."""
        directory = self.lab.new_directory(self.lab.far, "sockets")
        mirror = self.lab.far.start(needs.farport(), "connect", target, "--json", "--socket-dir", directory, *flags,
                                    **self.options())
        self.addCleanup(lambda: mirror.running() and mirror.kill())
        return mirror, directory

    def events(self, mirror, kind):
        """The runtimes that it has told of."""
        events = [json.loads(line) for line in mirror.stdout().splitlines(keepends=True) if line.endswith("\n")]
        return [event["runtime"] for event in events if event["event"] == kind]

    def stop(self, mirror):
        self.assertEqual(mirror.stop(signal.SIGINT), 0, mirror.output())


class OfEngines(Containers):
    @classmethod
    def prepare(cls):
        super().prepare()
        cls.podman.command("docker", f'exec {cls.podman.programs}/podman "$@"')

    def assert_nothing_left(self, *but):
        names = sorted(("orders", *but))
        wait.until(lambda: sorted(self.podman.run("ps", "--all", "--format", "{{.Names}}").split()) == names,
                   lambda: self.podman.run("ps", "--all"), GONE_SECONDS)
        files = self.podman.files("orders", "/tmp")
        self.assertFalse([name for name in files if "farport" in name], files)

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
        wait.until(lambda: self.events(mirror, "added"), mirror.output, 30)
        file = os.path.join(self.lab.new_directory(self.lab.far, "profile"), "x.folded")
        done = self.assert_ok(self.farport("profile", "podman://orders", "--duration", "4s", "-o", file))
        stacks = pathlib.Path(file).read_text()
        self.assertIn("Orders.Pricing", stacks)
        self.assertIn("coreclr_execute_assembly", stacks)
        # Nothing is missing: neither the kernel's part nor its names.
        self.assertNotIn("kernel", done.stderr.replace("may have the kernel sample them", ""))
        self.stop(mirror)
        self.assert_nothing_left()

    def test_a_mirror_shows_it_to_tools_until_ctrl_c(self):
        self.application()
        mirror, directory = self.mirror("podman://orders")
        wait.until(lambda: self.events(mirror, "added"), mirror.output, 30)
        file = os.path.join(self.lab.new_directory(self.lab.far, "trace"), "x.nettrace")
        options = self.options()
        options["environment"] = options["environment"] | {"TMPDIR": directory}
        self.assert_ok(self.lab.far.run(needs.dotnet_trace(), "collect", "-n", "orders", "--duration", "00:00:01", "-o",
                                        file, **options))
        self.stop(mirror)
        self.assert_nothing_left()

    def test_docker_is_spoken_to_in_the_same_words(self):
        self.application()
        rows = json.loads(self.assert_ok(self.farport("ps", "docker://orders", "--json")).stdout)
        self.assertEqual([row["name"] for row in rows], ["orders"])
        self.assert_nothing_left()

    def test_several_commands_share_a_helper(self):
        self.application()
        mirror, _ = self.mirror("podman://orders")
        wait.until(lambda: self.events(mirror, "added"), mirror.output, 30)
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
        wait.until(lambda: self.events(mirror, "added"), mirror.output, 30)
        helper = next(name for name in self.podman.run("ps", "--format", "{{.Names}}").split() if name != "orders")
        self.podman.run("kill", helper)
        wait.until(lambda: any(row["breaks"] == 1 and row["connected"] for row in self.events(mirror, "changed")),
                   mirror.output, 60)
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
            for number in range(20):
                failures.append(self.ps_fails("podman://orders", *flags))
                # Over all the moments of an agent's end.
                time.sleep(number * 0.06)
            self.assertEqual([each for each in failures if each], [])
        self.assert_nothing_left()

    def test_the_next_command_finds_the_helper_of_the_one_before(self):
        self.application()
        told = [self.assert_ok(self.farport("ps", "podman://orders", "--linger", "20s")).stderr for _ in range(3)]
        self.assertIn("which goes 20 s after its last session", told[0])
        self.assertEqual(told[1] + told[2], "")
        self.assertEqual(len(self.helpers("--all")), 1)

    def test_five_commands_at_once_start_one_helper(self):
        self.application(image="localhost/shell")
        for flags in ([], ["--deploy", "copy"]):
            tools = [self.lab.far.start(needs.farport(), "ps", "podman://orders", "--linger", "20s", *flags, **self.options())
                     for _ in range(5)]
            for tool in tools:
                self.assertEqual(tool.wait(60), 0, tool.output())
                self.assertIn("orders", tool.stdout())
        self.assertEqual(len(self.helpers("--all")), 1)

    def test_what_was_killed_is_in_no_commands_way(self):
        self.application()
        for part in ("ConmonPid", "Pid"):
            self.assertIsNone(self.ps_fails("podman://orders"))
            (helper,) = self.helpers()
            self.assert_ok(self.lab.far.run("kill", "-9", str(self.podman.state(helper)["State"][part]), **self.options()))
            self.assertIsNone(self.ps_fails("podman://orders"), part)
            time.sleep(2)  # The agent ends, whether or not anybody takes note.
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
        self.assert_nothing_left()

    def test_a_copy_into_a_container_that_has_a_shell(self):
        self.application(image="localhost/shell")
        done = self.farport("ps", "podman://orders", "--deploy", "copy", "--json")
        self.assertEqual([row["name"] for row in json.loads(self.assert_ok(done).stdout)], ["orders"])
        self.assertIn("sends farport there", done.stderr)
        wait.until(lambda: not any("farport" in name for name in self.podman.files("orders", "/tmp")),
                   lambda: self.podman.files("orders", "/tmp"), GONE_SECONDS)
        self.assert_nothing_left()

    def test_a_container_that_ends_meanwhile(self):
        self.application()
        mirror, _ = self.mirror("podman://orders", "--grace", "1s")
        wait.until(lambda: self.events(mirror, "added"), mirror.output, 30)
        self.podman.run("kill", "orders")
        wait.until(lambda: self.events(mirror, "removed"), mirror.output, 20)
        wait.until(lambda: "it does not run" in mirror.output(), mirror.output, 20)
        self.stop(mirror)


POD = """
apiVersion: v1
kind: Pod
metadata:
  name: {name}
  labels:
    app: orders
spec:
  restartPolicy: Never
  hostNetwork: true
  containers:
  - name: web
    image: localhost/{image}:latest
    args: ["--rate", "100", "--seconds", "600"]
"""


class OfKubernetes(Recordings, Containers):
    """What a stand-in for kubectl shows of it: harness/kubectl.py says what it does not."""

    @classmethod
    def prepare(cls):
        super().prepare()
        stand_in = pathlib.Path(__file__).resolve().with_name("harness") / "kubectl.py"
        cls.log = pathlib.Path(cls.lab.new_directory(cls.lab.far, "kubectl"), "log")
        cls.podman.command("kubectl", f'exec env KUBECTL_LOG={cls.log} {needs.program("python3")} -B {stand_in} "$@"')
        cls.podman.image_of_program("farport", needs.static_farport(), "usr/bin/farport")

    def pod(self, name, image="orders"):
        file = pathlib.Path(self.lab.new_directory(self.lab.far, "pod"), "pod.yaml")
        file.write_text(POD.format(name=name, image=image), encoding="ascii")
        self.podman.run("kube", "play", file)
        self.addCleanup(lambda: self.podman.run("pod", "rm", "--force", "--ignore", "--time", "0", name))
        wait.until(lambda: "pricing" in self.podman.logs(f"{name}-web"), lambda: self.podman.logs(f"{name}-web"))

    def test_an_ephemeral_container_beside_one_without_a_shell(self):
        self.pod("orders-1")
        done = self.farport("ps", "k8s://prod/orders-1", "--image", "localhost/farport:latest", "--json")
        self.assertEqual([row["name"] for row in json.loads(self.assert_ok(done).stdout)], ["orders"])
        self.assertIn("adds an ephemeral container", done.stderr)
        wait.until(lambda: "farport" not in self.podman.run("ps", "--format", "{{.Names}}"),
                   lambda: self.podman.run("ps"), GONE_SECONDS)

    def test_a_copy_into_a_pod_that_has_a_shell(self):
        self.pod("orders-1", image="shell")
        done = self.assert_ok(self.farport("ps", "k8s://prod/orders-1/web"))
        self.assertIn("k8s://prod/orders-1/web: sends farport there", done.stderr)
        self.assertIn("running", done.stdout)

    def test_a_recording_survives_that_kubectl_is_killed(self):
        self.pod("orders-1")
        mirror, directory = self.mirror("k8s://prod/orders-1", "--image", "localhost/farport:latest")
        row = wait.until(lambda: self.events(mirror, "added"), mirror.output, 60)[0]
        file = os.path.join(self.lab.new_directory(self.lab.far, "trace"), "x.nettrace")
        options = self.options()
        options["environment"] = options["environment"] | {"TMPDIR": directory}
        tool = self.lab.far.start(needs.dotnet_trace(), "collect", "-p", row["local_pid"], "--providers",
                                  ALL_OF_ORDERS, "--duration", "00:05:00", "-o", file, **options)
        self.wait_until_begun(tool, file)
        for breaks in (1, 2):
            self.kill_kubectl()
            wait.until(lambda breaks=breaks: any(each["breaks"] == breaks and each["connected"]
                                                 for each in self.events(mirror, "changed")), mirror.output, 60)
            time.sleep(0.5)  # so that something is recorded in between
        # A hundred a second.
        self.end_recording(tool, file, least_events=100)
        self.stop(mirror)

    def kill_kubectl(self):
        """What it runs goes with it, as the other end of its connection would."""
        killed = [pid for pid in self.lab.far.processes() if b"exec" in proc.command_line(pid)
                  and b"stdio" in proc.command_line(pid)]
        self.assertNotEqual(killed, [])
        for pid in killed:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def test_pods_of_a_deployment_come_and_go(self):
        self.pod("orders-1")
        mirror, _ = self.mirror("k8s://kind@prod/deploy/orders", "--image", "localhost/farport:latest", "--grace", "2s")
        wait.until(lambda: self.events(mirror, "added"), mirror.output, 60)
        self.pod("orders-2")
        wait.until(lambda: len(self.events(mirror, "added")) == 2, mirror.output, 60)
        self.assertEqual(sorted(row["agent"] for row in self.events(mirror, "added")),
                         ["k8s://kind@prod/orders-1", "k8s://kind@prod/orders-2"])
        self.podman.run("pod", "rm", "--force", "--time", "0", "orders-1")
        wait.until(lambda: self.events(mirror, "removed"), mirror.output, 60)
        self.stop(mirror)
        asked = [json.loads(line) for line in self.log.read_text(encoding="utf-8").splitlines()]
        self.assertTrue(any(words[:2] == ["--context=kind", "--namespace=prod"] for words in asked), asked)

    def test_replicas_by_labels_in_one_list(self):
        self.pod("orders-1")
        self.pod("orders-2")
        done = self.assert_ok(self.farport("ps", "k8s://prod/?app=orders", "--image", "localhost/farport:latest", "--json"))
        self.assertEqual(sorted(row["agent"] for row in json.loads(done.stdout)),
                         ["k8s://prod/orders-1", "k8s://prod/orders-2"])

    def test_what_is_not_there_is_said(self):
        for target, words in (("k8s://prod/nothing", "not found"), ("k8s://prod/deploy/nothing", "not found"),
                              ("k8s://dev/orders", "not found"), ("k8s://prod/?app=nothing", "nothing runs there")):
            done = self.farport("ps", target, "--image", "localhost/farport:latest")
            self.assertEqual(done.code, 1, done.described)
            self.assertIn(words, done.stderr)
        done = self.farport("ps", "k8s://orders", "--deploy", "ephemeral")
        self.assertIn("--image", done.stderr)


if __name__ == "__main__":
    main()
