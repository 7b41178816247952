"""Pods of a real Kubernetes, reached without farport in them, by somebody who has the role that the examples give."""

import contextlib
import json
import os
import pathlib
import re
import signal
import time

from harness import kubernetes, needs, proc, wait
from harness.case import Case, main
from harness.engines import Cluster
from harness.images import SHELL, USER, Image
from harness.kubernetes import EXAMPLES
from harness.recordings import ALL_OF_ORDERS, Recordings
from harness.tools import QUIET

PATH = ("PATH=/usr/sbin:/usr/bin:/sbin:/bin",)
FULL, SHORT = "localhost/farport:0.1.0", "farport:0.1.0"
NS = "farport-tests"
RESTRICTED = {"runAsUser": USER, "runAsGroup": USER, "fsGroup": USER, "runAsNonRoot": True,
              "seccompProfile": {"type": "RuntimeDefault"}}
# A node that is busy with other tests starts containers slowly.


class OnACluster(Recordings, Case):
    @classmethod
    def prepare(cls):
        cls.cluster = Cluster(cls.lab.new_directory(cls.lab.far, "cluster"), NS)
        cls.addClassCleanup(cls.cluster.close)
        cls.cluster.load(Image.of_orders(environment=PATH, references=("localhost/orders:latest", "docker.io/library/orders:1.0")))
        cls.cluster.load(Image.of_orders("shell", SHELL, PATH))
        cls.cluster.load(Image.of_watched())
        cls.cluster.load(Image.of_farport(FULL, f"docker.io/library/{SHORT}"))
        cls.cluster.kubectl("apply", f"--filename={EXAMPLES}/people/roles.yaml")
        cls.platform = cls.cluster.person("pat", "platform")
        pair = cls.lab.authority.server("orders", "--dns", "orders-farport", "--dns", "farport")
        cls.cluster.apply(kubernetes.secret_of("farport-agent", pair))
        cls.alice = cls.lab.authority.client("alice")

    def pod(self, name, image="orders", security=None, own_security=None, tmp=None, **more):
        """A pod of one container, web, which runs by the test's end. `tmp`: the kind of directory that its /tmp is."""
        container = {"name": "web", "image": f"localhost/{image}:latest", "imagePullPolicy": "IfNotPresent",
                     "args": ["--rate", "100", "--discounts", "14", "--seconds", "3600"], "resources": {"requests": {"cpu": "100m"}},
                     "securityContext": own_security or {}, "volumeMounts": [{"name": "tmp", "mountPath": "/tmp"}]}
        self.cluster.apply({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": {"app": "alone"}},
                            "spec": {"terminationGracePeriodSeconds": 0, "volumes": [{"name": "tmp", "emptyDir": tmp or {}}],
                                     "securityContext": security or {}, "containers": [container | more]}})
        self.addCleanup(lambda: self.cluster.kubectl("delete", "pod", name, "--ignore-not-found", "--wait=false"))
        self.cluster.kubectl("wait", "--for=condition=Ready", f"pod/{name}", f"--timeout={wait.LONGEST_SECONDS:.0f}s")
        return f"k8s://{NS}/{name}"

    def options(self, person=None, **environment):
        found = self.cluster.environment | QUIET | {"KUBECONFIG": person or self.platform, "FARPORT_LINGER": "20s",
                                                    "FARPORT_STATIC_BINARY": needs.static_farport()} | environment
        return {"enter": self.cluster.enter, "environment": found}

    def farport(self, *arguments, person=None, **environment):
        """Runs it as somebody of the platform's team."""
        return self.lab.far.run(needs.farport(), *arguments, **self.options(person, **environment))

    def assert_lists(self, target, *flags):
        done = self.assert_ok(self.farport("ps", target, "--json", *flags))
        self.assertEqual([row["name"] for row in json.loads(done.stdout)], ["orders"], done.described)
        return done.stderr

    def helpers(self, pod):
        """The names of the pod's ephemeral containers."""
        return [each["name"] for each in self.cluster.get("pod", pod)["spec"].get("ephemeralContainers", ())]

    def zombies(self, pod):
        """What has ended in a pod's container, which must have a shell, and is not waited for."""
        script = "for s in /proc/[0-9]*/stat; do read l <$s && case $l in *') Z '*) echo $l;; esac; done 2>/dev/null; :"
        return self.cluster.kubectl("exec", pod, "--", "sh", "-c", script)

    def test_one_command_after_the_other_and_at_once_share_an_ephemeral_container(self):
        target = self.pod("one")
        for count, image in enumerate((FULL, SHORT), 1):
            told = [self.assert_lists(target, "--image", image) for _ in range(4)]
            self.assertIn("adds an ephemeral container", told[0])
            self.assertEqual("".join(told[1:]), "")
            tools = [self.lab.far.start(needs.farport(), "ps", target, "--image", image, **self.options()) for _ in range(5)]
            for tool in tools:
                self.assertEqual(tool.wait(), 0, tool.output())
            self.assertEqual(len(self.helpers("one")), count)

    def test_one_command_after_the_other_while_helpers_end(self):
        target = self.pod("ending")
        for number in range(5):
            self.assert_lists(target, "--image", FULL, "--linger", "1s")
            time.sleep(number * 0.5)
        # None is added while another one still answers.
        self.assertLessEqual(len(self.helpers("ending")), 5)

    def test_copies_leave_nothing(self):
        target = self.pod("copy", "shell")
        for number in range(5):
            self.assert_lists(target, "--linger", "1s")
            time.sleep(number * 0.4)
        tools = [self.lab.far.start(needs.farport(), "ps", target, **self.options()) for _ in range(5)]
        for tool in tools:
            self.assertEqual(tool.wait(), 0, tool.output())
        self.assertEqual(self.zombies("copy"), "")
        left = lambda: [name for name in self.cluster.kubectl("exec", "copy", "--", "ls", "-A", "/tmp").split() if "farport" in name]
        wait.until(lambda: not left(), lambda: str(left()))
        wait.until(lambda: self.zombies("copy") == "", lambda: self.zombies("copy"))

    def assert_all_works(self, target, *flags, profile=True):
        """That each command sees into it."""
        self.assert_lists(target, *flags)
        directory = self.lab.new_directory(self.lab.far, "out")
        file = lambda name: os.path.join(directory, name)
        self.assert_ok(self.farport("trace", target, "--duration", "2s", "-o", file("x.nettrace"), *flags))
        self.assertGreater(os.path.getsize(file("x.nettrace")), 1000)
        self.assert_ok(self.farport("gcdump", target, "-o", file("x.gcdump"), *flags))
        self.assert_ok(self.farport("dump", f"{target}//orders", "--type", "mini", "-o", file("x.dmp"), *flags))
        self.assertGreater(os.path.getsize(file("x.dmp")), 100_000)
        self.assertIn("orders.dll", self.assert_ok(self.farport("stacks", target, *flags)).stdout)
        looked = self.assert_ok(self.farport("profile", target, "--event", "wall", "--duration", "1s", *flags))
        self.assertRegex(looked.stdout, r"Worker\.Run.*futex\(2\)_\[k\];\[waiting\] ", looked.described)
        done = self.farport("profile", target, "--duration", "2s", "-o", file("x.folded"), *flags)
        if not profile:
            self.assertEqual(done.code, 1, done.described)
            self.assertIn("seccomp", done.stderr)
            return
        self.assert_ok(done)
        self.assertIn("Orders", pathlib.Path(file("x.folded")).read_text(encoding="utf-8"))

    def test_all_works_by_an_ephemeral_container_where_rights_are_restricted(self):
        target = self.pod("restricted", security=RESTRICTED, own_security={"allowPrivilegeEscalation": False,
                                                                           "capabilities": {"drop": ["ALL"]}})
        self.assert_all_works(target, "--image", FULL, profile=False)
        self.assertEqual(len(self.helpers("restricted")), 1)

    def test_all_works_by_an_ephemeral_container_for_another_user(self):
        target = self.pod("other", security={"runAsUser": 2000, "runAsGroup": 3000, "fsGroup": 3000})
        self.assert_all_works(target, "--image", FULL)

    def test_all_works_by_copy_for_any_user(self):
        for name, security in (("restricted-copy", RESTRICTED), ("other-copy", {"runAsUser": 2000, "runAsGroup": 3000}),
                               ("root-copy", {"runAsUser": 0})):
            with self.subTest(name):
                target = self.pod(name, "shell", own_security={key: value for key, value in security.items() if key != "fsGroup"})
                self.assert_all_works(target, profile=security is not RESTRICTED)

    def test_what_was_killed_is_in_no_commands_way(self):
        target = self.pod("killed")
        self.assert_lists(target, "--image", FULL)
        if self.cluster.script:  # its processes are this machine's
            pod = self.cluster.get("pod", "killed")["metadata"]["uid"]
            agents = [pid for pid in proc.in_cgroup(pod) if proc.command_line(pid)[:3] == [b"farport", b"stdio", b"--foreground"]]
            self.assertNotEqual(agents, [])
            for pid in agents:
                with contextlib.suppress(ProcessLookupError):  # One may have gone with the other.
                    os.kill(pid, signal.SIGKILL)
            self.assert_lists(target, "--image", FULL)
            self.assertEqual(len(self.helpers("killed")), 2)

    def test_a_dump_says_what_the_liveness_probe_allows(self):
        probe = {"exec": {"command": ["/bin/ls"]}, "periodSeconds": 7, "failureThreshold": 4}
        target = self.pod("probed", "shell", livenessProbe=probe)
        file = os.path.join(self.lab.new_directory(self.lab.far, "dump"), "x.dmp")
        done = self.assert_ok(self.farport("dump", f"{target}//orders", "-o", file))
        said = done.stderr.splitlines()
        stops = [at for at, line in enumerate(said)
                 if "the liveness probe of web restarts it, and the dump is lost, if that takes 22 s or more" in line]
        self.assertEqual(len(stops), 1, done.stderr)
        # Mostly before anything is written; where the agent is busy, then.
        self.assertRegex("\n".join(said[stops[0]:]), r"about \d+ MiB to write, estimated \d+ s")

    # What it writes to /tmp counts against the same limit.
    IN_MEMORY = {"medium": "Memory"}
    LITTLE = {"limits": {"memory": "80Mi"}, "requests": {"cpu": "100m"}}

    def assert_unharmed(self, pod):
        status, = self.cluster.get("pod", pod)["status"]["containerStatuses"]
        self.assertEqual((status["restartCount"], status["ready"]), (0, True), status)

    def test_a_dump_that_a_pod_would_not_live_through_is_refused(self):
        # By an ephemeral container, and by copy.
        for image, flags in (("orders", ("--image", FULL)), ("shell", ())):
            for tmp in (None, self.IN_MEMORY):
                name = f"little-{image}{'-in-memory' if tmp else ''}"
                with self.subTest(name):
                    target = self.pod(name, image, resources=self.LITTLE, tmp=tmp)
                    file = os.path.join(self.lab.new_directory(self.lab.far, "dump"), "x.dmp")
                    done = self.farport("dump", f"{target}//orders", "-o", file, *flags)
                    # Where /tmp is a disk that depends on the kernel: whether reading a page takes memory.
                    if tmp or done.code != 0:
                        self.assertRegex(done.stderr, r"\d+ MiB of memory are left in its control group, and a heap dump takes \d+ MiB")
                    self.assert_unharmed(name)
                    self.assert_ok(self.farport("dump", f"{target}//orders", "-o", file, "--type", "mini", "--force", *flags))
                    self.assert_unharmed(name)

    def test_pods_of_a_deployment_come_and_go(self):
        pod = {"metadata": {"labels": {"app": "fleet"}},
               "spec": {"terminationGracePeriodSeconds": 0, "containers": [
                   {"name": "web", "image": "localhost/orders:latest", "imagePullPolicy": "IfNotPresent",
                    "args": ["--rate", "10", "--discounts", "14", "--seconds", "3600"], "resources": {"requests": {"cpu": "100m"}}}]}}
        self.cluster.apply({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "fleet"},
                            "spec": {"replicas": 2, "selector": {"matchLabels": {"app": "fleet"}}, "template": pod}})
        self.addCleanup(lambda: self.cluster.kubectl("delete", "deployment", "fleet", "--wait=false"))
        self.cluster.kubectl("rollout", "status", "deployment/fleet", f"--timeout={wait.LONGEST_SECONDS:.0f}s")
        target = f"k8s://{NS}/deploy/fleet"
        rows = json.loads(self.assert_ok(self.farport("ps", target, "--image", FULL, "--json")).stdout)
        self.assertEqual([row["name"] for row in rows], ["orders", "orders"])
        pods = sorted(row["agent"].rpartition("/")[2] for row in rows)
        refused = self.farport("trace", target, "--image", FULL, "--duration", "1s")
        self.assertIn(f"orders@{pods[0]}", refused.stderr)
        directory = self.lab.new_directory(self.lab.far, "out")
        self.assert_ok(self.farport("trace", f"{target}//orders@{pods[0]}", "--image", FULL, "--duration", "1s",
                                    "-o", os.path.join(directory, "x.nettrace")))
        sockets = self.lab.new_directory(self.lab.far, "sockets")
        mirror = self.lab.far.start(needs.farport(), "connect", target, "--image", FULL, "--json", "--grace", "2s",
                                    "--socket-dir", sockets, **self.options())
        events = lambda kind: sum(f'"event":"{kind}"' in line for line in mirror.stdout().splitlines())
        wait.until(lambda: events("added") == 2, mirror.output)
        self.cluster.kubectl("delete", "pod", pods[0], "--wait=false")
        wait.until(lambda: events("removed") >= 1 and events("added") >= 3, mirror.output)
        self.assertEqual(mirror.stop(signal.SIGINT), 0, mirror.output())

    def test_what_cannot_be_is_said_in_a_line(self):
        target = self.pod("here")
        for person, flags, words in (
                (self.cluster.person("nobody", "nothing"), (), "forbidden"),
                (self.cluster.person("fwd", "on-call"), ("--image", FULL), "forbidden"),
                (None, ("--image", "localhost/nothing:1"), "can the cluster pull localhost/nothing:1?"),
                (None, (), "its image has no shell")):
            with self.subTest(words):
                done = self.farport("ps", target, *flags, person=person)
                self.assertEqual(done.code, 1, done.described)
                progress = "adds an ephemeral container|its node has not started the container"
                said = [line for line in done.stderr.splitlines() if not re.search(progress, line)]
                self.assertEqual(len(said), 1, done.described)
                self.assertIn(target, said[0])
                self.assertIn(words, said[0])
        self.assertEqual(len(self.helpers("here")), 1)

    def test_a_pod_that_no_node_has_room_for_gets_no_entry(self):
        container = {"name": "web", "image": "localhost/orders:latest", "resources": {"requests": {"cpu": "1000"}}}
        self.cluster.apply({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "large"}, "spec": {"containers": [container]}})
        self.addCleanup(lambda: self.cluster.kubectl("delete", "pod", "large", "--wait=false"))
        done = self.farport("ps", f"k8s://{NS}/large", "--image", FULL)
        self.assertEqual(done.code, 1, done.described)
        self.assertIn("the pod does not run: Pending", done.stderr)
        self.assertEqual(self.helpers("large"), [])

    def test_what_is_not_there_is_said(self):
        for target in (f"k8s://{NS}/nothing", f"k8s://{NS}/deploy/nothing", f"k8s://{NS}/?app=nothing", "k8s://nowhere@x/y"):
            done = self.farport("ps", target, "--image", FULL)
            self.assertEqual(done.code, 1, done.described)
            self.assertRegex(done.stderr, "not found|nothing runs there|does not exist")
            self.assertIn(target, done.stderr)
        self.assertIn("--image", self.farport("ps", "k8s://orders", "--deploy", "ephemeral").stderr)

    def test_a_recording_survives_that_kubectl_is_killed(self):
        target = self.pod("cut")
        file = os.path.join(self.lab.new_directory(self.lab.far, "trace"), "x.nettrace")
        tool = self.lab.far.start(needs.farport(), "trace", target, "--image", FULL, "--providers", ALL_OF_ORDERS, "-o", file,
                                  **self.options())
        recorded = lambda: os.path.getsize(file) if os.path.exists(file) else 0
        wait.until(recorded, tool.output)
        for _ in range(2):
            size = recorded()
            killed = [pid for pid in proc.children(tool.pid) if b"stdio" in proc.command_line(pid)]
            self.assertNotEqual(killed, [])
            for pid in killed:
                os.kill(pid, signal.SIGKILL)
            wait.until(lambda size=size: recorded() > size + 10_000, tool.output)
        self.assertIn("dialling again", tool.stderr())
        self.assertEqual(tool.stop(signal.SIGINT), 0, tool.output())
        self.assert_whole(file, least_events=100)

    def test_a_pod_that_goes_ends_its_commands(self):
        target = self.pod("going")
        file = os.path.join(self.lab.new_directory(self.lab.far, "trace"), "x.nettrace")
        tool = self.lab.far.start(needs.farport(), "trace", target, "--image", FULL, "-o", file, **self.options())
        wait.until(lambda: os.path.exists(file) and os.path.getsize(file) > 0, tool.output)
        self.cluster.kubectl("delete", "pod", "going", "--wait=true")
        self.assertNotEqual(tool.wait(), 0, tool.output())

    def forwarded(self, file, workload):
        """Applies a manifest, and forwards a port to its agent. What alice types there."""
        pods = lambda: self.cluster.kubectl("get", "pods", f"--selector=app={workload.rpartition('/')[2]}", "--output=name")
        wait.until(lambda: "pod/" not in pods(), "those of the test before are gone")
        self.cluster.kubectl("apply", f"--filename={file}")
        self.addCleanup(lambda: self.cluster.kubectl("delete", f"--filename={file}", "--wait=true"))
        self.cluster.kubectl("rollout", "status", workload, f"--timeout={wait.LONGEST_SECONDS:.0f}s")
        options = self.options(self.cluster.person("alice", "on-call"), FARPORT_SERVER_NAME="orders-farport", **self.alice.environment())
        self.forward(pods(), "19000:9000", **options)
        return lambda *words: self.lab.far.run(needs.farport(), *words, **options)

    def forward(self, pod, ports, **options):
        """Forwards a port to a pod until the test's end."""
        forward = self.lab.far.start("kubectl", f"--namespace={NS}", "port-forward", pod, ports, **options)
        self.addCleanup(lambda: forward.running() and forward.kill())
        forward.wait_for_output("Forwarding from")

    def assert_served(self, manifest, workload="deployment/orders", samples=False):
        """That the agent in it serves the application to an operator as it stands."""
        ask = self.forwarded(f"{EXAMPLES}/{manifest}.yaml", workload)

        def listed():
            done = ask("ps", "localhost:19000", "--json")
            return done if done.code == 0 and "orders" in done.stdout else None

        wait.until(listed, lambda: ask("ps", "localhost:19000").described)
        directory = self.lab.new_directory(self.lab.far, "out")
        trace, heap, dump = (os.path.join(directory, f"x.{suffix}") for suffix in ("nettrace", "gcdump", "dmp"))
        self.assert_ok(ask("trace", "localhost:19000/orders", "--duration", "2s", "-o", trace))
        self.assertGreater(os.path.getsize(trace), 1000)
        self.assert_ok(ask("gcdump", "localhost:19000/orders", "-o", heap))
        # The kubelet lets directories in a volume of a pod with an fsGroup inherit that.
        self.assert_ok(ask("dump", "localhost:19000/orders", "-o", dump))
        self.assertGreater(os.path.getsize(dump), 1_000_000)
        graph = os.path.join(directory, "x.folded")
        self.assert_ok(ask("profile", "localhost:19000/orders", "--wall", "--duration", "2s", "-o", graph))
        self.assertIn("Orders", pathlib.Path(graph).read_text(encoding="utf-8"))
        sampled = ask("profile", "localhost:19000/orders", "--duration", "2s", "--top")
        if samples:
            self.assertIn("Orders", self.assert_ok(sampled).stdout)
        else:
            # Where pids are the container's own, or rights are restricted, the kernel samples nothing, and why is said.
            self.assertEqual(sampled.code, 1, sampled.described)
            self.assertRegex(sampled.stderr, "shareProcessNamespace|seccomp")

    def test_the_sidecar_as_it_stands(self):
        self.assert_served("sidecar")
        # The same pod by an ephemeral container, beside the sidecar.
        self.assert_all_works(f"k8s://{NS}/deploy/orders", "--image", FULL, profile=False)

    def test_the_agent_that_listens_as_it_stands(self):
        self.assert_served("listen")
        self.assert_all_works(f"k8s://{NS}/deploy/orders", "--image", FULL, profile=False)

    def test_the_agent_of_a_node_as_it_stands(self):
        self.pod("seen")
        self.assert_served("daemonset", "daemonset/farport")

    def agent_with_a_black_box(self):
        """The manifest of a node's agent, with a recorder, a directory of the node, and what samples of the processor take."""
        file = pathlib.Path(self.lab.new_directory(self.lab.far, "manifest"), "recorder.json")
        objects = kubernetes.objects_of((EXAMPLES / "daemonset.yaml").read_text(encoding="utf-8"))
        pod = kubernetes.pod_of(objects, "DaemonSet")
        pod["containers"][0]["args"] += ["--recorder", "--artifacts", "/kept"]
        pod["containers"][0]["volumeMounts"].append({"name": "kept", "mountPath": "/kept"})
        pod["containers"][0]["securityContext"]["capabilities"]["add"].append("PERFMON")
        # A lab's node outlives the test, and its next one: no two have the same directory.
        pod["volumes"].append({"name": "kept", "hostPath": {"path": f"/var/lib{file.parent}", "type": "DirectoryOrCreate"}})
        file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}), encoding="utf-8")
        return str(file)

    def watched(self, number, name, **more):
        """A pod of the web application. What asks it for something."""
        self.pod(name, "watched", args=["--port", "5055", "--journal", "/tmp/journal"], **more)
        options = self.options(self.cluster.environment["KUBECONFIG"])
        self.forward(f"pod/{name}", f"{19100 + number}:5055", **options)
        return lambda path: self.lab.far.run("curl", "--silent", "--max-time", "20", f"http://localhost:{19100 + number}{path}", **options)

    def test_what_was_before_pods_have_ended_while_nobody_looked(self):
        limit = {"limits": {"memory": "256Mi"}, "requests": {"cpu": "100m"}}
        # .NET would give up itself at three quarters of the limit.
        beyond = [{"name": "DOTNET_GCHeapHardLimit", "value": "0x100000000"}]
        names = ("growing", "throwing", "killed", "deleted", "hung")
        ask = self.forwarded(self.agent_with_a_black_box(), "daemonset/farport")
        pods = {name: self.watched(number, name, **({"resources": limit, "env": beyond} if name == "growing" else {}))
                for number, name in enumerate(names)}
        directory = self.lab.new_directory(self.lab.far, "pages")
        profile = os.path.join(directory, "growing.speedscope.json")

        def sampled():
            self.assert_ok(pods["growing"]("/burn"))
            done = ask("recent", "localhost:19000/watched@growing", "-o", profile, "--force")
            return done.code == 0 and "Work.Burn" in pathlib.Path(profile).read_text(encoding="utf-8")

        # With so little memory the agent samples one at a time, half a minute each, and this one's turn may have just ended.
        wait.until(sampled, lambda: self.cluster.kubectl("logs", "daemonset/farport"))
        for name, get in pods.items():
            self.assert_ok(get(f"/throw?message=the+last+words+of+{name}"))
        pods["growing"]("/hold?count=2000000")
        pods["throwing"]("/end?how=exception")
        pods["hung"]("/starve")
        if self.cluster.script:  # its processes are this machine's
            os.kill(self.process_in("killed"), signal.SIGKILL)
        self.cluster.kubectl("delete", "pod", "deleted", "--wait=true")

        def crashes():
            done = ask("crashes", "localhost:19000", "--json")
            # The node has others, too, which end as tests do.
            return {each["runtime"]["container"]["pod"]: each for each in json.loads(self.assert_ok(done).stdout)
                    if each["runtime"]["name"] == "watched"}

        wanted = {"growing", "throwing", "deleted", *(["killed"] if self.cluster.script else [])}
        found = wait.until(lambda: crashes() if set(crashes()) >= wanted else None, lambda: str(crashes()))
        self.assertEqual(found["growing"]["why"], "killed by signal 9 (SIGKILL): its control group ran out of memory")
        if self.cluster.script:
            self.assertEqual(found["killed"]["why"], "killed by signal 9 (SIGKILL)")
        # A container's first process ignores the SIGABRT with which .NET ends; what comes then is another signal.
        self.assertRegex(found["throwing"]["why"], "killed by signal (6|11)")
        self.assertIn("growing/web", self.assert_ok(ask("crashes", "localhost:19000")).stdout)
        for name, crash in found.items():
            file = os.path.join(directory, f"{name}.json")
            self.assertNotIn("missing", self.assert_ok(ask("recent", "localhost:19000", "--crash", crash["id"], "-o", file)).stderr)
            self.assert_tells(file, f"the last words of {name}")
        self.assert_ok(ask("recent", "localhost:19000", "--crash", found["growing"]["id"], "-o", profile, "--force"))
        self.assertIn("Work.Burn", pathlib.Path(profile).read_text(encoding="utf-8"))
        file = os.path.join(directory, "hung.json")
        self.assert_ok(ask("recent", "localhost:19000/watched@hung", "-o", file))
        self.assert_tells(file, "the last words of hung")

    def with_rule(self, objects, kind, workload, args=(), takes="stacks"):
        """Starts this manifest's agent with a rule that fires for a container that uses more than 5 % of its memory, and returns
        what alice types there."""
        rule = f'[[rules]]\nname = "full"\nwhen.memory = 5\ndo = ["{takes}"]\n'
        self.cluster.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "rules"}, "data": {"farport.toml": rule}})
        pod = kubernetes.pod_of(objects, kind)
        agent = next(each for each in pod["containers"] if each["name"] == "farport")
        agent["args"] += ["--config", "/rules/farport.toml", "--artifacts", "/kept/farport", *args]
        agent["volumeMounts"] += [{"name": "rules", "mountPath": "/rules"}, {"name": "kept", "mountPath": "/kept"}]
        pod["volumes"] += [{"name": "rules", "configMap": {"name": "rules"}}, {"name": "kept", "emptyDir": {}}]
        file = pathlib.Path(self.lab.new_directory(self.lab.far, "manifest"), "rules.json")
        file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}), encoding="utf-8")
        return self.forwarded(str(file), workload)

    def assert_memory_is_known(self, objects, kind, workload):
        """That such a rule fires."""
        ask = self.with_rule(objects, kind, workload)

        def row():
            done = ask("rules", "localhost:19000", "--json")
            rows = json.loads(done.stdout)[0]["runtimes"] if done.code == 0 else []
            return next((each for each in rows if each["runtime"] == "orders"), {"state": done.described})

        wait.until(lambda: re.search(r"used \d+ of 128 MiB", row().get("cause", "")), lambda: str(row()))

    SMALL = {"limits": {"memory": "128Mi"}, "requests": {"cpu": "100m"}}

    def manifest(self, name):
        return kubernetes.objects_of((EXAMPLES / f"{name}.yaml").read_text(encoding="utf-8"))

    def test_the_agent_of_a_node_knows_a_containers_memory(self):
        self.pod("near", resources=self.SMALL)
        self.assert_memory_is_known(self.manifest("daemonset"), "DaemonSet", "daemonset/farport")

    def test_a_rule_of_the_agent_of_a_node_takes_no_dump_that_a_pod_would_not_live_through(self):
        self.pod("near-its-limit", resources=self.LITTLE, tmp=self.IN_MEMORY)
        ask = self.with_rule(self.manifest("daemonset"), "DaemonSet", "daemonset/farport", takes="dump heap")

        wait.until(lambda: re.search(r"\d+ MiB of memory are left in its control group, and a heap dump takes \d+ MiB",
                                     ask("rules", "localhost:19000", "--json").stdout),
                   lambda: ask("rules", "localhost:19000").described)
        self.assert_unharmed("near-its-limit")

    def test_a_sidecar_knows_its_neighbours_memory_though_it_may_not_look_itself(self):
        beside = self.manifest("sidecar")
        pod = kubernetes.pod_of(beside, "Deployment")
        pod["shareProcessNamespace"] = True
        next(each for each in pod["containers"] if each["name"] == "orders")["resources"] = self.SMALL
        self.assert_memory_is_known(beside, "Deployment", "deployment/orders")

    def process_in(self, pod):
        """The pid, on this machine, of the web application in a pod."""
        for directory in pathlib.Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if b"/opt/watched/watched" in (directory / "cmdline").read_bytes() and \
                        f"\0HOSTNAME={pod}\0".encode() in b"\0" + (directory / "environ").read_bytes():
                    return int(directory.name)
        raise AssertionError(f"there is no process of the pod {pod}")

    def assert_tells(self, file, words):
        """That a timeline has an exception with these words, and its stack by name."""
        timeline = json.loads(pathlib.Path(file).read_text(encoding="utf-8"))
        thrown, = [each for each in timeline["exceptions"] if each["message"] == words]
        frames = [timeline["frames"][frame] for frame in timeline["stacks"][thrown["stack"]]]
        self.assertTrue(any("Watched.Thrower.Throw" in frame for frame in frames), frames)


if __name__ == "__main__":
    main()
