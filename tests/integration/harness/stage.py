"""Where the documentation's command blocks run: a laptop, and the host of the application `orders`, which is called
orders.example, web-3 and so on. CONTRIBUTING.md, "Command blocks", says what a block finds there."""

import os
import pathlib
import re
import shutil
import signal

from harness import documents, engines, needs, proc, wait
from harness.certificates import Authority
from harness.containers import Podman
from harness.images import SHELL, Image
from harness.ssh import Account, Ssh
from harness.terminal import Terminal
from harness.tools import QUIET

FAR = ("orders.example", "payments.example", "web-3", "orders.prod.example", "orders")
LABELS = {"app": "orders"}
WEB = {"name": "web", "image": "localhost/shell:latest", "imagePullPolicy": "IfNotPresent",
       "args": ["--rate", "100", "--discounts", "14", "--seconds", "3000"], "resources": {"requests": {"cpu": "100m"}}}
# A deployment selects pods by their labels, of whom it has made none.
IN_PROD = (
    {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "orders-1", "labels": LABELS}, "spec": {"containers": [WEB]}},
    {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "orders"},
     "spec": {"replicas": 0, "selector": {"matchLabels": LABELS},
              "template": {"metadata": {"labels": LABELS}, "spec": {"containers": [WEB]}}}})
API_PORT = 6443
PROFILES = """
[tls]
bundle = "{home}/alice.pem"
[remotes.prod-orders]
address = "orders.example:9000"
"""
AGENT = """
listen = "0.0.0.0:9000"
[tls]
bundle = "agent.pem"
[allow]
cn = "alice=admin"
"""
LAPTOP = "laptop"
# As pages show it.
SHORT_INVITATION = re.compile(r"farport1,[^\s']*…")


class Stage:
    """Both hosts, with all that pages take for granted. One page plays on it at a time."""

    def __init__(self, lab):
        self.lab = lab
        self.hosts = {name: lab.far for name in FAR} | {LAPTOP: lab.near}
        for name in FAR:
            lab.near.know(name, lab.far.address)
        for name in ("laptop.example", "jump.example"):
            lab.far.know(name, lab.near.address)
        lab.far.know("orders.example", lab.far.address)
        self.programs = pathlib.Path(lab.new_directory(lab.near, "programs"))
        for program in (needs.farport(), needs.dotnet_trace(), needs.orders()):
            (self.programs / os.path.basename(program)).symlink_to(program)
        self.given = self._certificates()
        self.far_home = pathlib.Path(lab.new_directory(lab.far, "home"))
        self.near_home = None
        self.ssh = Ssh(lab, Account("ops", 0, self.far_home, variables=lab.far.environment(
            QUIET | {"PATH": f"{self.programs}:/usr/bin:/bin", "HOME": self.far_home})))
        self.podman = Podman(lab.near)
        self.cluster = None
        self._bridge = ()
        self.lasting = []
        self.agent_runs = False

    def _certificates(self):
        """What pages call agent.pem, alice.pem and so on, in a directory to be copied."""
        given = Authority(os.path.join(self.lab.directory, "given"))
        names = [word for name in (*FAR, "localhost") for word in ("--dns", name)]
        given.server("agent", *names)
        given.server("orders", *names)
        given.client("alice")
        for name in ("agent", "alice", "orders"):
            given.bundle(name, os.path.join(given.directory, f"{name}.pem"))
        return given.directory

    def open(self):
        """Starts the application in a container on the laptop, and in a pod where there is a cluster."""
        self.podman.command("docker", f'exec {self.podman.programs}/podman "$@"')
        hosts = f"/etc/netns/{self.lab.near.network}/hosts"
        self.lab.near.run(*self._in_place(self.lab.near.directory), "mount", "--bind", hosts, "/etc/hosts")
        image = Image.of_orders("shell", SHELL, ("PATH=/usr/sbin:/usr/bin:/sbin:/bin",))
        self.podman.load(image)
        self.podman.run("load", "--input", needs.image())
        self.podman.run("run", "--detach", "--name", "orders", "--network", "host", "localhost/shell", "--rate", "100",
                        "--discounts", "14", "--seconds", "3000")
        wait.until(lambda: "pricing" in self.podman.logs("orders"), lambda: self.podman.logs("orders"))
        if engines.named("KUBECONFIG"):
            self._open_cluster(image)

    def _open_cluster(self, image):
        self.cluster = engines.Cluster(self.lab.new_directory(self.lab.near, "cluster"), "prod")
        self.cluster.load(image)
        self.cluster.apply(*IN_PROD)
        self.cluster.kubectl("wait", "--for=condition=Ready", "pod/orders-1", "--timeout=120s")
        configuration, self._bridge = self.cluster.bridge(self.lab.near, API_PORT)
        kubectl = shutil.which("kubectl", path=self.cluster.environment["PATH"])
        self.podman.command("kubectl", f'exec env KUBECONFIG={configuration} {kubectl} "$@"')

    def lacks(self, block):
        """What a block takes that is not here, in words; empty where all is."""
        takes_cluster = "k8s://" in block.text or "kubectl" in block.text
        return "no cluster is named (scripts/test -h)" if takes_cluster and self.cluster is None else ""

    def _in_place(self, directory):
        """Into the laptop's mount namespace, in which podman works."""
        return ["nsenter", "--target", str(proc.pid_inside(self.podman.pid)), "--mount", f"--wd={directory}", "--"]

    def begin_page(self):
        """Fresh directories on both hosts, with what pages take for granted."""
        self.near_home = pathlib.Path(self.lab.new_directory(self.lab.near, "home"))
        for old in self.far_home.iterdir():
            shutil.rmtree(old) if old.is_dir() else old.unlink()
        for home in (self.near_home, self.far_home):
            shutil.copytree(self.given, home, dirs_exist_ok=True, ignore=shutil.ignore_patterns("ca.key"))
        for name in ("tmp", "run"):
            (self.near_home / name).mkdir(0o700)
        (self.far_home / "agent.toml").write_text(AGENT, encoding="ascii")
        profiles = self.near_home / ".config/farport/config.toml"
        profiles.parent.mkdir(parents=True)
        profiles.write_text(PROFILES.format(home=self.near_home), encoding="ascii")

    def end_page(self):
        """Ends what the page has left running."""
        self.end_section()
        self._run(documents.Mark(), "farport disconnect --all")

    def end_section(self):
        """Ctrl-C to what has been started since the heading, the last first. Each must end well, or by Ctrl-C itself."""
        self.agent_runs = False
        while self.lasting:
            terminal = self.lasting.pop()
            terminal.type("\x03")
            terminal.wait_for(lambda lines: lines and lines[-1].endswith("$"), "the prompt is back")
            shown = terminal.shown()
            terminal.type("exit $?\n")
            code = terminal.wait()
            terminal.close()
            if code not in (0, 128 + signal.SIGINT):
                raise AssertionError(f"it ended with {code} after Ctrl-C\n{shown}")

    def play(self, block):
        """Does what a reader of the block does."""
        if block.mark.agent and not self.agent_runs:
            self._start(documents.Mark("orders.example", words="listening"),
                        "farport serve --listen 0.0.0.0:9000 --tls-bundle agent.pem --allow-cn alice=admin")
        if block.mark.agent or "farport serve" in block.text:
            self.agent_runs = True
        if block.language == "toml":
            self._check(block)
        elif block.mark.words:
            for line in documents.lines_of(block):
                self._start(block.mark, line)
        elif block.text.startswith("$ "):
            self._compare(block)
        else:
            self._run(block.mark, block.text)

    def _compare(self, block):
        """Runs commands that are shown with what they print."""
        for command, lines in documents.commands(block):
            output = self._run(block.mark, command)
            missing = [line for line in lines if not documents.shows(line, output)]
            if missing:
                raise AssertionError(f"{missing} is not in\n{output}")

    def _check(self, block):
        """Has farport check the file: an agent's with what each has where the block is only a part of it, a mirror's with
        the first of its agents."""
        name = f"block-{block.line}.toml"
        text = block.text
        remote = re.search(r"^\[remotes\.([\w-]+)\]", text, re.MULTILINE)
        if not remote:
            text = ("" if "listen =" in text else 'listen = "127.0.0.1:9000"\n') + text
            text += "" if "[tls]" in text else '\n[tls]\nbundle = "agent.pem"\n'
            text += "" if "[allow]" in text or "[[grants]]" in text else "\n[allow]\nall = true\n"
        (self._home(block.mark) / name).write_text(text, encoding="utf-8")
        self._run(block.mark, f"env -u FARPORT_TLS_BUNDLE farport check --config {name} {remote[1] if remote else ''}")

    def _home(self, mark):
        return self.near_home if mark.host == LAPTOP else self.far_home

    def _script(self, mark, text):
        """What a shell is given: what the page's blocks before have exported, and the block. An invitation that is
        abbreviated is the one that was shown last."""
        state = self._home(mark) / ".exported"
        if SHORT_INVITATION.search(text):
            text = SHORT_INVITATION.sub(self._invitation(), text)
        return f"[ ! -e {state} ] || . {state}\n{text}\n"

    def _invitation(self):
        def shown():
            lines = "".join(line for terminal in self.lasting for line in terminal.everything())
            return re.search(r"echo '(farport1,[^']+)'", lines)

        # It comes once all else about the start has been said.
        return wait.until(shown, "an invitation is shown").group(1)

    def _environment(self, mark):
        """What a page's shells are started with."""
        home = self._home(mark)
        path = f"{self.programs}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
        if mark.host != LAPTOP:
            return {"HOME": home, "PATH": path, "TERM": "xterm-256color"}
        bundle = {"FARPORT_TLS_BUNDLE": home / "alice.pem"} if mark.agent else {}
        return QUIET | bundle | {
            "HOME": home, "TERM": "xterm-256color", "PATH": f"{self.ssh.programs}:{self.podman.programs}:{path}",
            "TMPDIR": home / "tmp", "XDG_RUNTIME_DIR": home / "run", "FARPORT_STATIC_BINARY": needs.static_farport()}

    def _enter(self, mark):
        home = self._home(mark)
        return self._in_place(home) if mark.host == LAPTOP else ["env", f"--chdir={home}"]

    def _run(self, mark, text):
        """Runs commands to their end, and returns what they print."""
        script = self._script(mark, text) + f"export -p > {self._home(mark)}/.exported"
        done = self.hosts[mark.host].run(*self._enter(mark), "bash", "-eu", "-c", script, name="block",
                                         environment=self._environment(mark))
        if done.code != 0:
            raise AssertionError(done.described)
        return done.text

    def _start(self, mark, text):
        """Starts a command by a shell in a terminal of its own, and waits for one of its words."""
        words = mark.words.split(" | ")
        script = self._home(mark) / f".lasting-{len(self.lasting)}"
        script.write_text(self._script(mark, text), encoding="utf-8")
        terminal = Terminal(self.hosts[mark.host], *self._enter(mark), "bash", "--norc", "--noprofile", "-i", columns=160,
                            rows=50, environment=self._environment(mark))
        self.lasting.append(terminal)
        terminal.wait_for_text("$")
        terminal.type(f". {script}\n")
        wait.until(lambda: any(word in "\n".join(terminal.everything()) for word in words),
                   lambda: f"{text}\nshows {mark.words!r}\n{terminal.shown()}")

    def close(self):
        """Ends what is left."""
        for terminal in self.lasting:
            terminal.close()
        for process in self._bridge:
            process.kill()
        if self.cluster:
            self.cluster.close()
        self.ssh.stop()
        self.podman.close()
