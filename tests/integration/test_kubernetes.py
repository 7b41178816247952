"""The examples for Kubernetes: played by podman where it can, with the image that people use, and valid by Kubernetes' own
schemas. What podman 4.3 plays otherwise than Kubernetes is said where it matters."""

import json
import os
import pathlib

from harness import kubernetes, needs, wait
from harness.agent import PORT
from harness.case import Case, main
from harness.containers import Podman
from harness.images import USER, Image
from harness.kubernetes import EXAMPLES
from harness.tools import QUIET

PLAYED = ("sidecar", "listen")
RENDERED = (*PLAYED, "native-sidecar", "daemonset", "volume", "bucket")
EVERYTHING = """
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources: [../application]
components: [{components}]
"""
SERVICE, SECRET = "orders-farport", "farport-agent"


class Manifests(Case):
    def test_what_stands_there_whole_is_what_kustomize_builds(self):
        for name in RENDERED:
            with self.subTest(name):
                text = (EXAMPLES / f"{name}.yaml").read_text(encoding="utf-8")
                self.assertEqual(text.partition("\n")[2], kubernetes.built(EXAMPLES / name))

    def test_all_is_valid_by_the_schemas(self):
        for name in (*RENDERED, "people"):
            with self.subTest(name):
                self.assertTrue(kubernetes.objects_of(kubernetes.built(EXAMPLES / name)))

    def test_a_mistake_would_be_seen(self):
        text = (EXAMPLES / "sidecar.yaml").read_text(encoding="utf-8")
        with self.assertRaisesRegex(AssertionError, "replicas must be integer"):
            kubernetes.objects_of(text.replace("replicas: 1", "replicas: some"))

    def test_all_components_go_together(self):
        examples = pathlib.Path(self.lab.new_directory(self.lab.near, "examples"))
        for name in ("application", "components"):
            (examples / name).symlink_to(EXAMPLES / name)
        # The native sidecar comes after what changes a container that it moves.
        order = ["sidecar", "listen", "monitoring", "volume", "bucket", "native-sidecar", "network-policy", "cert-manager"]
        self.assertEqual(sorted(order), sorted(os.listdir(EXAMPLES / "components")))
        directory = examples / "all"
        directory.mkdir()
        components = ", ".join(f"../components/{name}" for name in order)
        (directory / "kustomization.yaml").write_text(EVERYTHING.format(components=components), encoding="utf-8")
        objects = kubernetes.objects_of(kubernetes.built(directory))
        self.assertEqual({each["kind"] for each in objects}, {"Certificate", "ConfigMap", "Deployment", "Issuer", "NetworkPolicy", "PersistentVolumeClaim", "Service"})
        pod = kubernetes.pod_of(objects, "Deployment")
        self.assertEqual([container["name"] for container in pod["containers"] + pod["initContainers"]], ["orders", "farport"])

    def test_sidecars_meet_the_restricted_standard(self):
        for name in ("sidecar", "native-sidecar", "listen", "volume", "bucket"):
            pod = kubernetes.pod_of(kubernetes.objects_of(kubernetes.built(EXAMPLES / name)), "Deployment")
            self.assertEqual(kubernetes.not_restricted(pod), [], name)
        daemon = kubernetes.pod_of(kubernetes.objects_of(kubernetes.built(EXAMPLES / "daemonset")), "DaemonSet")
        self.assertIn("hostPID", kubernetes.not_restricted(daemon))

    def test_a_native_sidecar_starts_before_the_application_and_ends_after_it(self):
        pod = kubernetes.pod_of(kubernetes.objects_of(kubernetes.built(EXAMPLES / "native-sidecar")), "Deployment")
        self.assertEqual([container["name"] for container in pod["containers"]], ["orders"])
        sidecar, = pod["initContainers"]
        self.assertEqual((sidecar["name"], sidecar["restartPolicy"]), ("farport", "Always"))


# Answers as Kubernetes 1.30 would, and keeps what is to be put there.
KUBECTL = """#!/bin/sh
case "$*" in
  *"get --raw /version"*) echo '{"major": "1", "minor": "30"}' ;;
  *"get pod "*) cat "$(dirname "$0")/pod.json" ;;
  *replace*) cat >"$(dirname "$0")/put.json"; exit 1 ;;
esac
"""


class Kubectl(Case):
    """What farport asks it for, in the form that API servers take since Kubernetes 1.22."""

    def fails(self, kubectl, pod=None):
        """Runs ps with another kubectl. What it says, and the directory of kubectl's files."""
        directory = pathlib.Path(self.lab.new_directory(self.lab.near, "kubectl"))
        (directory / "kubectl").write_text(kubectl, encoding="ascii")
        (directory / "kubectl").chmod(0o755)
        (directory / "pod.json").write_text(json.dumps(pod), encoding="utf-8")
        done = self.lab.near.run(needs.farport(), "ps", "k8s://prod/orders-1", "--image", "farport:0.1.0",
                                 environment={"PATH": f"{directory}:/usr/bin:/bin"})
        self.assertEqual(done.code, 1, done.described)
        return done.stderr, directory

    def put(self, pod):
        """The pod as farport would have it."""
        return (self.fails(KUBECTL, pod)[1] / "put.json").read_text(encoding="utf-8")

    def test_one_that_hangs_is_given_up(self):
        said, _ = self.fails("#!/bin/sh\nexec sleep 1000\n")
        self.assertEqual(said, "farport: cannot reach k8s://prod/orders-1: kubectl has not ended within 60 s\n")

    def test_what_it_refuses_has_a_cure(self):
        for said, cure in (
                ('Error from server (Forbidden): pods "orders-1" is forbidden: violates PodSecurity "restricted:latest"', "--deploy copy"),
                ('Error from server (Forbidden): pods "orders-1" is forbidden: User "x" cannot get resource "pods" in API group ""',
                 "role farport-deploy"),
                ('error: context "x" does not exist', "get-contexts"),
                ("error: You must be logged in to the server (Unauthorized)", "log in"),
                ("Unable to connect to the server: dial tcp 10.0.0.1:6443: i/o timeout", "does kubectl get pods work?"),
                ("The connection to the server 10.0.0.1:6443 was refused - did you specify the right host or port?",
                 "does kubectl get pods work?"),
                ("Error from server: error dialing backend: dial tcp 10.0.0.2:10250: connect: connection refused", "kubectl get nodes")):
            with self.subTest(said):
                told, _ = self.fails(f"#!/bin/sh\necho '{said}' >&2\nexit 1\n")
                self.assertEqual(len(told.splitlines()), 1, told)
                self.assertIn(said, told)
                self.assertIn(cure, told.partition(said)[2])

    def test_ephemeral_containers_are_valid_and_restricted_where_their_target_is(self):
        for name in ("sidecar", "listen"):
            spec = kubernetes.pod_of(kubernetes.objects_of(kubernetes.built(EXAMPLES / name)), "Deployment")
            metadata = {"name": "orders-1", "namespace": "prod", "resourceVersion": "7"}
            put, = kubernetes.objects_of(self.put({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec,
                                                   "status": {"phase": "Running"}}))
            added, = put["spec"].pop("ephemeralContainers")
            self.assertEqual(put["spec"], spec)
            self.assertEqual((added["image"], added["targetContainerName"]), ("farport:0.1.0", "orders"))
            self.assertEqual(kubernetes.not_restricted(spec | {"ephemeralContainers": [added]}), [])


class Played(Case):
    @classmethod
    def prepare(cls):
        cls.podman = Podman(cls.lab.far)
        cls.addClassCleanup(cls.podman.close)
        cls.podman.run("tag", cls.podman.load(Image.of_orders()), "localhost/orders:1.0")
        cls.podman.run("load", "--input", needs.image())
        cls.pair = cls.lab.authority.server("orders", "--dns", SERVICE)
        cls.alice = cls.lab.authority.client("alice")

    def play(self, objects):
        """Has podman play them, and ends them with the test."""
        file = os.path.join(self.podman.directory, "play.json")
        secret = kubernetes.secret_of(SECRET, self.pair)
        text = "\n---\n".join(json.dumps(each) for each in (secret, *objects))
        pathlib.Path(file).write_text(text, encoding="utf-8")
        self.addCleanup(lambda: self.podman.run("secret", "rm", SECRET))
        self.addCleanup(lambda: self.podman.run("volume", "rm", "--all", "--force"))
        self.addCleanup(lambda: self.podman.run("pod", "rm", "--force", "--all", "--time", "0"))
        self.podman.run("kube", "play", file)
        self.decode_secret()

    def decode_secret(self):
        """podman puts a Secret's values into files as they stand, in Base64. The agent is started again until they are right."""
        volume = pathlib.Path(json.loads(self.podman.run("volume", "inspect", SECRET))[0]["Mountpoint"])
        for name, content in kubernetes.files_of(self.pair).items():
            (volume / name).write_bytes(content)

    def container(self, name):
        """The name of the pod's container."""
        return next(found for found in self.podman.run("ps", "--all", "--format", "{{.Names}}").split() if found.endswith(f"-{name}"))

    def ask(self, *arguments):
        """farport, as alice, from outside."""
        return self.lab.near.run(needs.farport(), *arguments, environment=self.environment())

    def environment(self):
        """Hers."""
        return QUIET | self.alice.environment() | {"FARPORT_SERVER_NAME": SERVICE}

    def remote(self):
        return f"{self.lab.far.address}:{PORT}"

    def listed(self):
        """The one runtime, once it is listed."""
        def found():
            # Asked often, and so not among what is printed when a test fails.
            said, code = self.lab.near.pipe([needs.farport(), "ps", self.remote(), "--json"], b"", environment=self.environment())
            return json.loads(said) if code == 0 else None

        return wait.until(found, lambda: self.podman.logs(self.container("farport")) + self.ask("ps", self.remote()).text)

    def assert_traced(self):
        """That the stock dotnet-trace, elsewhere, records what the application does."""
        runtime, = self.listed()
        self.assertEqual(runtime["name"], "orders")
        file = os.path.join(self.lab.new_directory(self.lab.near, "trace"), "orders.nettrace")
        self.assert_ok(self.ask("run", self.remote(), "--", needs.dotnet_trace(), "collect", "-n", "orders", "--duration",
                                "00:00:02", "-o", file))
        self.assertTrue(any("Orders.Pricing" in frame for frame in self.tools.frames(file)))

    def test_a_sidecar_with_no_right_at_all_is_enough(self):
        self.play(kubernetes.objects_of((EXAMPLES / "sidecar.yaml").read_text(encoding="utf-8")))
        self.assert_traced()
        state = self.podman.state(self.container("farport"))
        self.assertEqual(state["Config"]["User"], f"{USER}:{USER}")
        self.assertTrue(state["HostConfig"]["ReadonlyRootfs"])
        self.assertFalse(state["EffectiveCaps"] or state["BoundingCaps"])

    def test_runtimes_dial_an_agent_that_listens(self):
        self.play(kubernetes.objects_of((EXAMPLES / "listen.yaml").read_text(encoding="utf-8")))
        self.assert_traced()
        self.assertIn("dialled in at /tmp/farport.sock", self.podman.logs(self.container("farport")))

    def test_a_daemon_of_the_node_sees_applications_that_know_nothing_of_it(self):
        self.start("--network", "none", "localhost/orders:1.0", "--discounts", "17", "--seconds", "3600")
        certificates = pathlib.Path(self.lab.new_directory(self.lab.far, "certificates"))
        for name, content in kubernetes.files_of(self.pair).items():
            (certificates / name).write_bytes(content)
        objects = kubernetes.objects_of((EXAMPLES / "daemonset.yaml").read_text(encoding="utf-8"))
        flags = kubernetes.run_flags(kubernetes.pod_of(objects, "DaemonSet"), certificates)
        self.start("--name", "node-farport", "--network", "host", *flags)
        self.assert_traced()
        runtime, = self.listed()
        self.assertEqual(runtime["host"], "node-1")

    def start(self, *flags):
        """Runs a container of its own, until the test ends."""
        container = self.podman.run("run", "--detach", *flags)
        self.addCleanup(lambda: self.podman.run("rm", "--force", "--time", "0", container))


if __name__ == "__main__":
    main()
