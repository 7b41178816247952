"""Pods, reached without farport in them: farport brings itself along, by way of kubectl."""

import contextlib
import json
import os
import pathlib
import signal
import time

from harness import needs, proc, wait
from harness.case import main
from harness.deployed import GONE_SECONDS, Containers
from harness.recordings import ALL_OF_ORDERS, Recordings

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
        self.assertIn("adds an ephemeral container (image localhost/farport:latest, user 1654)", done.stderr)
        wait.until(lambda: "farport" not in self.podman.run("ps", "--format", "{{.Names}}"),
                   lambda: self.podman.run("ps"), GONE_SECONDS)

    def test_one_without_a_shell_and_without_an_image_says_what_to_type(self):
        self.pod("orders-1")
        done = self.farport("ps", "k8s://prod/orders-1/web")
        self.assertEqual(done.code, 1, done.described)
        self.assertIn("k8s://prod/orders-1/web: its image has no shell", done.stderr)
        self.assertIn("give --image IMAGE", done.stderr)

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
