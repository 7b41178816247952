"""Real containers: stock applications as any user has them, with no farport in them and no folder shared."""

import json
import os
import pathlib
import shutil

from harness import dumps, needs, wait
from harness.agent import PORT
from harness.case import Case, main
from harness.containers import Podman
from harness.images import USER, Image
from harness.terminal import Terminal

POD = """
apiVersion: v1
kind: Pod
metadata:
  name: shop
spec:
  hostNetwork: true
  containers:
  - name: web
    image: localhost/orders:latest
    args: ["--discounts", "10", "--seconds", "3600"]
"""


class Containers(Case):
    @classmethod
    def prepare(cls):
        cls.podman = Podman(cls.lab.far)
        cls.addClassCleanup(cls.podman.close)
        cls.orders = cls.podman.load(Image.of_orders())
        cls.farport = cls.podman.load(Image("farport", needs.farport(), entry=needs.farport()))

    def application(self, *flags):
        """An application that nobody has prepared for anything."""
        container = self.podman.run("run", "--detach", "--network", "host", *flags, self.orders, "--discounts", "10", "--seconds", "3600")
        self.addCleanup(lambda: self.podman.run("rm", "--force", "--time", "0", container))
        wait.until(lambda: "pricing" in self.podman.logs(container), lambda: self.podman.logs(container))
        return container

    def helper(self, *flags, user=USER):
        """An agent in a container of its own."""
        certificates = self.certificates_of(user)
        log = self.lab.sanitizer_log
        container = self.podman.run(
            "run", "--detach", "--network", "host", "--read-only", "--cap-drop", "all", "--security-opt",
            "no-new-privileges", "--volume", f"{certificates}:/certificates:ro", "--volume",
            f"{os.path.dirname(log)}:{os.path.dirname(log)}", "--env", f"ASAN_OPTIONS=exitcode=99:log_path={log}",
            "--user", f"{user}:{user}", *flags, self.farport, "serve", "--listen", f"{self.lab.far.address}:{PORT}", "--tls-cert",
            "/certificates/cert", "--tls-key", "/certificates/key", "--tls-ca", "/certificates/ca", "--allow-cn",
            "tools=admin", "--search", "proc")
        self.addCleanup(lambda: self.podman.run("rm", "--force", "--time", "5", container))
        return container

    def ps(self, *flags, agent=PORT):
        return self.lab.near.run(needs.farport(), "ps", f"{self.lab.far.address}:{agent}", *flags,
                                 *self.lab.tools_pair.flags())

    def listed(self, container, count=1):
        """What the agent in a container lists, once it is so many."""
        def found():
            done = self.ps("--json")
            return [json.loads(done.stdout)] if done.code == 0 and len(json.loads(done.stdout)) == count else None

        return wait.until(found, lambda: self.podman.logs(container) + self.ps().text)[0]

    def assert_traced_and_dumped(self, remote, *runtimes):
        """That each of these, and no other one, can be."""
        mirror = self.use(self.lab.mirror(remote))
        wait.until(lambda: len(mirror.rows()) == len(runtimes), mirror.process.output)
        local = {row["id"]: row["local_pid"] for row in mirror.rows()}
        for runtime in runtimes:
            directory = pathlib.Path(self.lab.new_directory(self.lab.near, "target"))
            trace, dump = str(directory / "x.nettrace"), str(directory / "x.dmp")
            self.assert_ok(self.tools.trace("collect", "-p", local[runtime["id"]], "--duration", "00:00:01", "-o", trace))
            self.assertTrue(self.tools.frames(trace))
            self.assert_ok(self.lab.near.run(needs.farport(), "dump", f"{remote}/{runtime['id']}", "-o", dump, "--type",
                                             "mini", *self.lab.tools_pair.flags()))
            self.assertTrue(dumps.core_notes(dump))
        mirror.stop()

    def test_a_container_that_joins_an_unmodified_one(self):
        application = self.application()
        helper = self.helper("--pid", f"container:{application}")
        runtime, = self.listed(helper)
        self.assertEqual((runtime["pid"], runtime["user"], runtime["name"]), (1, USER, "orders"))
        self.assertEqual(runtime["container"]["id"], application)
        log = self.podman.logs(helper)
        self.assertIn("capabilities: none", log)
        self.assertIn("system calls filtered", log)
        self.assert_traced_and_dumped(f"{self.lab.far.address}:{PORT}", runtime)
        left = self.podman.files(application, "/tmp")
        self.assertFalse([name for name in left if name.startswith(".farport")], left)

    def test_one_of_another_user_is_told_both(self):
        application = self.application()
        helper = self.helper("--pid", f"container:{application}", user=1000)
        self.listed(helper, 0)
        wait.until(lambda: f"it belongs to user {USER} and farport runs as user 1000" in self.ps().stderr,
                   lambda: self.ps().stderr)

    def certificates_of(self, user):
        """The agent's files, for a user."""
        directory = self.lab.new_directory(self.lab.far, "certificates")
        for name in ("cert", "key", "ca"):
            copy = os.path.join(directory, name)
            shutil.copy(getattr(self.lab.agent_pair, name), copy)
            os.chown(copy, user, user)
        return directory

    def test_one_that_sees_no_process_is_told_to_join(self):
        helper = self.helper()
        self.listed(helper, 0)
        wait.until(lambda: "farport sees no process but itself" in self.ps().stderr, lambda: self.ps().stderr)

    def test_a_hosts_daemon_names_the_container(self):
        containers = [self.application("--tmpfs", "/tmp", "--read-only"), self.application("--env", "TMPDIR=/var/own",
                      "--tmpfs", "/var/own:mode=1777")]
        agent = self.use(self.lab.agent(search=["proc"], port=PORT + 1))
        wait.until(lambda: len(agent.runtimes()) == 2, agent.log)
        runtimes = agent.runtimes()
        self.assertEqual(sorted(runtime["container"]["id"] for runtime in runtimes), sorted(containers))
        self.assertEqual([runtime["pid"] for runtime in runtimes], [1, 1])
        terminal = Terminal(self.lab.near, needs.farport(), "ps", agent.remote, *self.lab.tools_pair.flags(), columns=80)
        self.addCleanup(terminal.close)
        self.assertEqual(terminal.wait(), 0, terminal.shown())
        heading, *rows = terminal.lines()
        self.assertIn("CONTAINER", heading)
        for container in containers:
            self.assertTrue(any(container[:12] in row for row in rows), terminal.shown())
        self.assert_traced_and_dumped(agent.remote, *runtimes)

    def test_a_pod_s_containers_are_named_after_it(self):
        pod = pathlib.Path(self.lab.directory, "pod.yaml")
        pod.write_text(POD, encoding="ascii")
        self.podman.run("kube", "play", pod)
        self.addCleanup(lambda: self.podman.run("pod", "rm", "--force", "--time", "0", "shop"))
        agent = self.use(self.lab.agent(search=["proc"], port=PORT + 2))
        runtime, = wait.until(agent.runtimes, agent.log)
        self.assertEqual(runtime["container"], {"id": self.podman.state("shop-web")["Id"], "pod": "shop"})
        self.assertIn(" shop ", self.ps(agent=PORT + 2).stdout)


if __name__ == "__main__":
    main()
