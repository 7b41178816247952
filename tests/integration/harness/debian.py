"""A Debian of its own, with systemd, booted as a container."""

import os
import pathlib
import shutil
import subprocess
import uuid

from harness import needs, wait

PACKAGES = ("ca-certificates", "systemd-sysv")


class Debian:
    """`podman`: where it is booted. Its files are in a directory of the lab's."""

    def __init__(self, podman, lab, release="bookworm"):
        self.podman = podman
        self.root = pathlib.Path(lab.directory, "debian")
        self.name = f"debian-{uuid.uuid4().hex[:8]}"
        self._run([needs.program("debootstrap"), "--variant=minbase", f"--include={','.join(PACKAGES)}", release,
                   str(self.root)], 600)

    @staticmethod
    def _run(arguments, seconds):
        done = subprocess.run(arguments, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              check=False, timeout=seconds, env=os.environ | {"DEBIAN_FRONTEND": "noninteractive"})
        if done.returncode != 0:
            raise AssertionError(f"{arguments}: {done.returncode}\n{done.stdout[-4000:]}")
        return done.stdout

    def chroot(self, *arguments, seconds=wait.LONGEST_SECONDS):
        """Runs a program in it, before it is booted, with this machine's network."""
        return self._run([needs.program("chroot"), str(self.root), *arguments], seconds)

    def boot(self, *flags):
        """Starts it."""
        # With a terminal, since systemd says there why it gives up.
        self.podman.run("run", "--detach", "--tty", "--name", self.name, "--systemd=always", "--privileged", "--network", "host",
                        *flags, "--rootfs", self.root, "/sbin/init")
        wait.until(lambda: self.tried("systemctl", "is-system-running")[1].strip() in ("running", "degraded"), self._boot_log, 60)

    def _boot_log(self):
        """Why it is not there yet."""
        state = self.podman.run("inspect", "--format", "{{json .State}}", self.name)
        return f"{self.tried('systemctl', 'list-jobs')[1]}\n{state}\n{self.podman.logs(self.name)[-4000:]}"

    def tried(self, *arguments):
        """Runs a program in what is booted: its exit code, and what it prints."""
        done = subprocess.run([*self.podman.enter, str(self.podman.programs / "podman"), "exec", self.name, *arguments],
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
                              timeout=120)
        return done.returncode, done.stdout

    def run(self, *arguments):
        """The same, which must succeed."""
        code, text = self.tried(*arguments)
        if code != 0:
            raise AssertionError(f"{arguments}: {code}\n{text}")
        return text

    def write(self, path, text, mode=0o644):
        """Writes a file in it."""
        file = self.root / path.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        file.chmod(mode)

    def files(self):
        """The paths of all that is in it, without what changes while it runs."""
        passing = ("proc", "sys", "dev", "run", "tmp", "var/lib/dpkg", "var/lib/apt", "var/cache", "var/log/journal",
                   "var/lib/systemd", "var/log/apt", "var/tmp")
        found = {str(path.relative_to(self.root)) for path in self.root.rglob("*")}
        return {path for path in found if not path.startswith(passing)}

    def close(self):
        """Ends it, and removes it."""
        self.podman.run("rm", "--force", "--time", "0", self.name)
        shutil.rmtree(self.root, ignore_errors=True)
