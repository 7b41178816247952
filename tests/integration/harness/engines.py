"""A real Kubernetes and a real Docker engine, which the environment names.

FARPORT_LAB=DIR is a lab on this machine that has both: DIR/kubelab brings them up, ends them and gives them images. Without it
KUBECONFIG is a cluster and DOCKER_HOST an engine that run already; FARPORT_LOAD_IMAGE is the command that gives the cluster the
image in a file, such as "kind load image-archive"."""

import json
import os
import pathlib
import shlex
import signal
import subprocess
import urllib.parse

from harness import needs, proc, wait

# Its Debian root and programs stay, so that it comes up in seconds the next time.
LAB = needs.ROOT / "build/lab"
PATH = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"
# What is started so is a child of what enters for it, as on the hosts of the tests.
HERE = ["/bin/sh", "-c", '"$@"; exit $?', "sh"]


def named(variable):
    """Whether the environment names one."""
    return bool(os.environ.get("FARPORT_LAB") or os.environ.get(variable))


class Engine:
    """What both are. Programs see it if they are started with `enter` before them and with `environment`."""

    def __init__(self, directory, variable, start):
        given = os.environ.get("FARPORT_LAB")
        if not named(variable):
            raise RuntimeError(f"neither FARPORT_LAB nor {variable} is set: nothing says where one is")
        self.directory = directory
        self.script = str(pathlib.Path(given, "kubelab").resolve()) if given else None
        self.enter = HERE
        self._inside = None
        self.environment = {"PATH": PATH, "KUBELAB": str(LAB)}
        if not given:
            self.environment[variable] = os.environ[variable]
        else:
            LAB.mkdir(parents=True, exist_ok=True)
            self.lab("down")
            self.lab(start, seconds=600)
            self.enter = [*HERE, *self._way_in()]

    def _way_in(self):
        """A command that enters the lab's network and then is the program: the lab's own command starts others before."""
        self._inside = subprocess.Popen([self.script, "in", "sleep", "infinity"], env=os.environ | self.environment,
                                        stderr=subprocess.DEVNULL)

        def sleeps():
            return [pid for pid in proc.children(self._inside.pid) if proc.command_line(pid)[:1] == [b"sleep"]]

        return ["nsenter", "--target", str(wait.until(sleeps, "the lab can be entered")[0]), "--net", "--wdns=."]

    def lab(self, *arguments, seconds=wait.LONGEST_SECONDS):
        """One of the lab's own commands."""
        return self._do([self.script, *arguments], None, seconds)

    def run(self, *arguments, source=None, seconds=wait.LONGEST_SECONDS, environment=None):
        """Runs a program that sees it, and returns what it prints to either stream."""
        return self._do([*self.enter, *arguments], source, seconds, environment)

    def _do(self, arguments, source, seconds, environment=None):
        done = subprocess.run([str(argument) for argument in arguments], input=source, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False, timeout=seconds, cwd=self.directory,
                              env=os.environ | self.environment | (environment or {}))
        if done.returncode != 0:
            raise AssertionError(f"{' '.join(map(str, arguments))}: {done.returncode}\n{done.stdout}")
        return done.stdout.strip()

    def give(self, image, command):
        """Gives it an image, by a command that takes an archive."""
        archive = os.path.join(self.directory, f"{image.name}.tar")
        image.write_archive(archive)
        self._do([*command, archive], None, 300)
        os.unlink(archive)

    def close(self):
        """Ends it, if it is the lab's."""
        if self._inside:
            for pid in proc.children(self._inside.pid):
                os.kill(pid, signal.SIGKILL)
            self._inside.wait(10)
        if self.script:
            self.lab("down")


class Docker(Engine):
    """An engine, by the docker in PATH."""

    def __init__(self, directory):
        super().__init__(directory, "DOCKER_HOST", "docker-up")
        if self.script:
            self.environment["DOCKER_HOST"] = f"unix://{LAB}/root/run/docker.sock"

    def load(self, image):
        """Gives it an image."""
        self.give(image, [*self.enter, "docker", "load", "--input"])

    def docker(self, *arguments):
        """Runs docker."""
        return self.run("docker", *arguments)


class Cluster(Engine):
    """A cluster, by the kubectl in PATH; the lab's by its own. Everything is in a namespace that goes with it."""

    def __init__(self, directory, namespace):
        super().__init__(directory, "KUBECONFIG", "up")
        self.namespace = namespace
        if self.script:
            self.environment["KUBECONFIG"] = f"{LAB}/admin.conf"
            os.symlink(LAB / "root/usr/bin/kubectl", os.path.join(directory, "kubectl"))
            self.environment["PATH"] = f"{directory}:{PATH}"
        self.kubectl("create", "namespace", namespace)

    def load(self, image):
        """Gives it an image."""
        given = os.environ.get("FARPORT_LOAD_IMAGE")
        if not self.script and not given:
            raise RuntimeError("FARPORT_LOAD_IMAGE is not set: nothing says how the cluster is given an image")
        self.give(image, [self.script, "image"] if self.script else shlex.split(given))

    def kubectl(self, *arguments, **options):
        """Runs kubectl in the namespace."""
        return self.run("kubectl", f"--namespace={self.namespace}", *arguments, **options)

    def get(self, kind, name):
        """An object."""
        return json.loads(self.kubectl("get", kind, name, "--output=json"))

    def apply(self, *objects):
        """Objects, as the API has them."""
        text = json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)})
        self.kubectl("apply", "--filename=-", source=text)

    def _configuration(self):
        text = self.run("kubectl", "config", "view", "--raw", "--minify", "--flatten", "--output=json")
        return json.loads(text)

    def _keep(self, name, configuration):
        file = os.path.join(self.directory, f"{name}.json")
        pathlib.Path(file).write_text(json.dumps(configuration), encoding="utf-8")
        return file

    def person(self, name, *groups):
        """A kubeconfig of somebody in these groups, who may do what these may."""
        configuration = self._configuration()
        configuration["users"][0]["user"] |= {"as": name, "as-groups": list(groups)}
        return self._keep(name, configuration)

    def bridge(self, host, port):
        """Lets a host of the tests reach the API server, at a port of its own. Returns the kubeconfig for it, and what is to be
        stopped in the end."""
        configuration = self._configuration()
        cluster = configuration["clusters"][0]["cluster"]
        server = urllib.parse.urlsplit(cluster["server"])
        cluster |= {"server": f"https://127.0.0.1:{port}", "tls-server-name": server.hostname}
        path = os.path.join(self.directory, "api.sock")
        inside = host.start("socat", f"UNIX-LISTEN:{path},fork", f"TCP:{server.hostname}:{server.port or 443}", enter=self.enter)
        outside = host.start("socat", f"TCP-LISTEN:{port},bind=127.0.0.1,fork,reuseaddr", f"UNIX-CONNECT:{path}")
        return self._keep(f"at-{port}", configuration), (inside, outside)

    def close(self):
        if not self.script:
            self.kubectl("delete", "namespace", self.namespace, "--wait=false")
        super().close()
