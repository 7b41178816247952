"""A control group with a memory limit, as a container has one."""

import errno
import os
import subprocess

from harness import needs, wait

OWN_GROUPS = "/proc/self/cgroup"
MOUNT = "/sys/fs/cgroup"


class MemoryGroup:
    """Limits what programs on a host may use. Start them with `prefix` before their arguments, or with `prefix_of_container`,
    by which they see this group alone, as its root. `name`: of another one for the same host."""

    def __init__(self, host, limit, name=""):
        self._version, own = self._find()
        self._name = host.network + name
        self._group = os.path.join(own, self._name)
        root = MOUNT if self._version == 2 else f"{MOUNT}/memory"
        self._directory = root + self._group
        os.mkdir(self._directory)
        self.limit(limit)
        self._mount_in(host)
        self.prefix = ["sh", "-c", 'echo 0 > "$0" && exec "$@"', f"{root}{self._group}/cgroup.procs"]
        self.prefix_of_container = [*self.prefix, needs.program("unshare"), "--cgroup", "--mount", "sh", "-c",
                                    f'mount --bind "$0" {root} && exec "$@"', f"{root}{self._group}"]

    @staticmethod
    def _find():
        """Which version counts memory here, and the test's own group in it."""
        with open(OWN_GROUPS, encoding="ascii") as file:
            lines = [line.rstrip("\n").split(":", 2) for line in file]
        for _, controllers, group in lines:
            if "memory" in controllers.split(","):
                return 1, group
        return 2, next(group for _, controllers, group in lines if not controllers)

    def _mount_in(self, host):
        """A network namespace's /sys has no control groups; programs there look for their limit all the same."""
        kind, where = ("cgroup2", MOUNT) if self._version == 2 else ("cgroup -o memory", f"{MOUNT}/memory")
        script = (f"mountpoint -q {where} || {{ mount -t tmpfs none {MOUNT} && mkdir -p {where} && "
                  f"mount -t {kind} none {where}; }}")
        subprocess.run([*host.enter, "sh", "-c", script], check=True)

    def _write(self, name, value):
        with open(os.path.join(self._directory, name), "w", encoding="ascii") as file:
            file.write(str(value))

    def _read_text(self, name):
        with open(os.path.join(self._directory, name), encoding="ascii") as file:
            return file.read()

    def _read(self, name):
        return int(self._read_text(name))

    def limit(self, limit):
        """Sets the limit, in bytes."""
        self._write("memory.max" if self._version == 2 else "memory.limit_in_bytes", limit)

    def leave(self, size):
        """Sets a limit that leaves so many bytes: what was read from files can be given back, and does not count."""
        self.limit(self.usage() - self._of_files("inactive_file", "active_file") + size)

    def leave_beside_files(self, size):
        """The same, but files that are in use count, as they do for Kubernetes: without them programs hardly get on."""
        self.limit(self.usage() - self._of_files("inactive_file") + size)

    def _of_files(self, *names):
        stat = dict(line.split() for line in self._read_text("memory.stat").splitlines())
        return sum(int(stat[name if self._version == 2 else f"total_{name}"]) for name in names)

    def usage(self):
        """What its programs use now, in bytes, the kernel's part included."""
        return self._read("memory.current" if self._version == 2 else "memory.usage_in_bytes")

    def peak(self):
        """The most that they have used."""
        return self._read("memory.peak" if self._version == 2 else "memory.max_usage_in_bytes")

    def killed(self):
        """How many of its programs the kernel has killed for want of memory."""
        with open(os.path.join(self._directory, "memory.events" if self._version == 2 else "memory.oom_control"),
                  encoding="ascii") as file:
            return int(dict(line.split() for line in file)["oom_kill"])

    def remove(self):
        """Removes it, once its programs have ended: the kernel may count one for a moment after it has been waited for."""
        wait.until(self._removed, lambda: f"{self._directory} is empty: {self._read_text('cgroup.procs')!r}")

    def _removed(self):
        try:
            os.rmdir(self._directory)
        except OSError as error:
            if error.errno != errno.EBUSY:
                raise
            return False
        return True
