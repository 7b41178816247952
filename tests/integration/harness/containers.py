"""Containers of podman, in a host's network and pid namespaces."""

import contextlib
import glob
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys

from harness import needs, proc, wait

# No limits above those of the machine, which podman would ask for.
CONFIGURATION = """
[containers]
log_driver = "k8s-file"
default_ulimits = ["nofile=20000:20000", "nproc=20000:20000"]
[engine]
cgroup_manager = "cgroupfs"
events_logger = "file"
runtime = "crun"
infra_image = ""
[network]
network_backend = "netavark"
"""


class Podman:
    """An engine of its own, with its storage in the lab's directory."""

    def __init__(self, host):
        for name in ("podman", "crun", "conmon"):
            needs.program(name)
        self.directory = host.lab.new_directory(host, "podman")
        self._configuration = pathlib.Path(self.directory, "containers.conf")
        self._configuration.write_text(CONFIGURATION, encoding="ascii")
        # A mount namespace of its own, where the cgroups are as the machine has them: crun takes v1 or v2, not both.
        script = ("mount -t proc proc /proc; ! mountpoint --quiet /sys/fs/cgroup/unified || "
                  "umount /sys/fs/cgroup/unified; exec sleep infinity")
        self._place = subprocess.Popen([*host.enter_namespaces("net", "pid"), "unshare", "--mount", "--propagation",
                                        "private", "sh", "-c", script])
        self.pid = self._first_process()
        self.enter = ["nsenter", "--target", str(self.pid), "--mount", "--pid", "--net", "--wdns=/", "--"]
        # As farport finds it in this place.
        self.programs = pathlib.Path(self.directory, "bin")
        self.programs.mkdir()
        self.command("podman", f'exec env CONTAINERS_CONF={self._configuration} {needs.program("podman")} '
                     f'--root {self.directory}/storage --runroot {self.directory}/run --tmpdir {self.directory}/tmp "$@"')

    def command(self, name, script):
        """A program that is found by name in this place."""
        file = self.programs / name
        file.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        file.chmod(0o755)

    def path(self):
        """What programs that are to find it have in their environment."""
        return {"PATH": f"{self.programs}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}

    def _first_process(self):
        def ready():
            found = proc.children(self._place.pid)
            return found if found and proc.command_line(found[0])[:1] == [b"sleep"] else None

        return wait.until(ready, "podman has a place")[0]

    def run(self, *arguments):
        """Runs podman, and returns what it prints to standard output."""
        return self._run(arguments).stdout.strip()

    def logs(self, container):
        """What a container has printed to either stream."""
        done = self._run(["logs", container])
        return done.stdout + done.stderr

    def _run(self, arguments):
        done = subprocess.run(
            [*self.enter, str(self.programs / "podman"), *[str(argument) for argument in arguments]],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False,
            timeout=120)
        if done.returncode != 0:
            raise AssertionError(f"podman {' '.join(map(str, arguments))}: {done.returncode}\n{done.stdout}{done.stderr}")
        return done

    def load(self, image):
        """Gives it an image, and returns what the image is called."""
        archive = pathlib.Path(self.directory, f"{image.name}.tar")
        image.write_archive(archive)
        self.run("load", "--quiet", "--input", archive)
        archive.unlink()
        return f"localhost/{image.name}"

    def state(self, container):
        """What podman knows of a container."""
        return json.loads(self.run("inspect", container))[0]

    def files(self, container, directory):
        """The names in a directory of a running container."""
        root = f"/proc/{self.state(container)['State']['Pid']}/root"
        done = subprocess.run([*self.enter, "ls", "-A", root + directory], stdout=subprocess.PIPE, text=True, check=True)
        return done.stdout.split()

    def children(self, container, state):
        """The names of the children of a container's first process that are in a state of ps(1), such as "Z"."""
        parent = str(self.state(container)["State"]["Pid"])
        done = subprocess.run([*self.enter, "ps", "--ppid", parent, "-o", "state=,comm="], stdout=subprocess.PIPE, text=True,
                              check=False)
        listed = [line.split(maxsplit=1) for line in done.stdout.splitlines()]
        return [name for is_in, name in listed if is_in == state]

    def _remove_all(self):
        """podman gives up on a container that ends by itself while it is being removed. It says which one."""
        try:
            self.run("rm", "--force", "--all", "--time", "0")
        except AssertionError as why:
            print(f"again: {why}", file=sys.stderr)
            return False
        return True

    def close(self):
        """Ends and removes all containers."""
        self.run("pod", "rm", "--force", "--all", "--time", "0")
        wait.until(self._remove_all, "all containers of podman are removed")
        os.kill(self.pid, signal.SIGKILL)
        self._place.wait(10)
        # What podman leaves of its cgroups: those that are empty.
        for cgroup in (*glob.glob("/sys/fs/cgroup/*/libpod_parent/conmon"), *glob.glob("/sys/fs/cgroup/*/libpod_parent")):
            with contextlib.suppress(OSError):
                os.rmdir(cgroup)
        shutil.rmtree(self.directory, ignore_errors=True)
