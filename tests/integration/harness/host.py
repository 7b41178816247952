"""A host: network, pid and mount namespaces of its own."""

import contextlib
import ctypes
import os
import pathlib
import shlex
import socket
import subprocess

from harness import needs, proc, unprivileged, wait
from harness.process import Finished, Process

CLONE_NEWNET = 0x40000000
_LIBC = ctypes.CDLL(None, use_errno=True)


@contextlib.contextmanager
def _network(path):
    """Lets the calling thread act in another network namespace."""
    with open("/proc/thread-self/ns/net", "rb") as own, open(path, "rb") as other:
        if _LIBC.setns(other.fileno(), CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), f"setns {path}")
        try:
            yield
        finally:
            _LIBC.setns(own.fileno(), CLONE_NEWNET)


def as_user(user):
    """What is put before a program so that it runs as another user, by number, in that user's group alone."""
    return [needs.program("setpriv"), f"--reuid={user}", f"--regid={user}", "--clear-groups"]


def private_tmp(directory="/tmp"):
    """Commands for a shell in a mount namespace of its own: they give it another /tmp (or other directory). The programs under
    test stay where they are, also below it."""
    mount = f"mount -t tmpfs -o mode=1777 private {directory}"
    root = shlex.quote(str(needs.ROOT))
    if not needs.ROOT.is_relative_to(directory):
        return mount
    # mount complains afterwards of a directory that its user may enter and not read.
    moved = f"{{ mount --move /mnt {root} 2>/dev/null; test -d {root}/tests; }}"
    return f"mount --bind {root} /mnt && {mount} && mkdir -p {root} && {moved}"


class Host:
    """One of the lab's two machines. `address` and `address6` are those of its interface."""

    def __init__(self, lab, name, address, address6):
        self.lab = lab
        self.name = name
        self.address, self.address6 = address, address6
        # As unique as the directory: a run that was killed may have left one, and pids come again.
        self.network = f"{os.path.basename(lab.directory)}-{name}"
        self.directory = os.path.join(lab.directory, name)
        self.tmp = os.path.join(self.directory, "tmp")
        self.user = unprivileged.user_of(name)
        os.makedirs(self.tmp)
        for path in (self.directory, self.tmp):
            unprivileged.give(path, self.user)
        self._configuration = pathlib.Path("/etc/netns", self.network)
        self._configuration.mkdir(parents=True, exist_ok=True)
        self._hosts = self._configuration / "hosts"
        self._hosts.write_text("127.0.0.1 localhost\n::1 localhost\n")
        subprocess.run(["ip", "netns", "add", self.network], check=True)
        self._pods = []
        init, self.enter = self._new_pids()
        self._init = init
        self._pid_namespace = os.readlink(f"/proc/{init}/ns/pid")
        self._inits = {init}

    def _new_pids(self):
        """Starts the first process of a new pid namespace: it adopts and reaps whatever is orphaned there."""
        parent = subprocess.Popen(
            ["ip", "netns", "exec", self.network, "unshare", "--pid", "--fork", "--kill-child", "--mount-proc",
             "env", "--ignore-signal=CHLD", "sleep", "infinity"], stdout=subprocess.DEVNULL)
        self._pods.append(parent)

        def ready():
            found = proc.children(parent.pid)
            return found if found and proc.command_line(found[0])[:1] == [b"sleep"] else None

        init = wait.until(ready, f"the host {self.name} has its first process")[0]
        # In a directory that is theirs: what they write where they stand is gone with the lab.
        return init, ["nsenter", "--target", str(init), "--net", "--mount", "--pid", f"--wd={self.directory}", "--",
                      *unprivileged.enter(self.user)]

    def enter_other_pids(self):
        """A way into this host where its other processes are not visible, as in another container of a pod."""
        return self._new_pids()[1]

    def enter_namespaces(self, *kinds):
        """A way into some of this host's namespaces alone, with the machine's own file systems for example."""
        return ["nsenter", "--target", str(self._init), *(f"--{kind}" for kind in kinds), "--"]

    def environment(self, more=None, arguments=()):
        """What programs on this host are started with, and the program of this command line in particular."""
        leaks = int(self.lab.leaks.are_looked_for(arguments))
        base = {
            "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            "HOME": self.directory, "TMPDIR": self.tmp, "LANG": "C.UTF-8", "TERM": "dumb",
            "DOTNET_ROOT": needs.dotnet_root(), "DOTNET_CLI_TELEMETRY_OPTOUT": "1", "DOTNET_NOLOGO": "1",
            "ASAN_OPTIONS": f"exitcode=99:detect_leaks={leaks}:quarantine_size_mb=8:allocator_release_to_os_interval_ms=-1:"
                            f"log_path={self.lab.sanitizer_log}",
            "UBSAN_OPTIONS": f"exitcode=99:print_stacktrace=1:halt_on_error=1:log_path={self.lab.sanitizer_log}",
        }
        return base | {name: str(value) for name, value in (more or {}).items()}

    def know(self, name, *addresses):
        """Enters addresses under a name in this host's /etc/hosts. The file itself stays: it is mounted."""
        with open(self._hosts, "a", encoding="ascii") as file:
            file.writelines(f"{address} {name}\n" for address in addresses)

    def move_name(self, name, *addresses):
        """Has a name in this host's /etc/hosts mean these addresses instead of what it has meant; or nothing."""
        lines = [line for line in self._hosts.read_text(encoding="ascii").splitlines() if line.split()[1:] != [name]]
        lines += [f"{address} {name}" for address in addresses]
        self._hosts.write_text("\n".join(lines) + "\n", encoding="ascii")

    def add_address(self, address):
        """Gives the host's interface one more address."""
        subprocess.run(["ip", "-netns", self.network, "address", "add", address, "dev", "cable",
                        *(["nodad"] if ":" in address else [])], check=True)

    def remove_address(self, address):
        """Takes an address from the host's interface."""
        subprocess.run(["ip", "-netns", self.network, "address", "delete", address, "dev", "cable"], check=True)

    def start(self, *arguments, **options):
        """Starts a program here, which ends with the lab at the latest."""
        process = Process(self, arguments, **options)
        self.lab.started.append(process)
        return process

    def run(self, *arguments, seconds=wait.LONGEST_SECONDS, **options):
        """Runs a program to its end."""
        return Finished(self.start(*arguments, **options), seconds)

    def pipe(self, arguments, data, seconds=wait.LONGEST_SECONDS, environment=None):
        """Runs a program with `data` as its input, and returns its output as bytes and its exit code."""
        done = subprocess.run(self.enter + [str(argument) for argument in arguments], input=data, timeout=seconds,
                              env=self.environment(environment), stdout=subprocess.PIPE, check=False,
                              stderr=subprocess.DEVNULL, cwd=self.directory)
        return done.stdout, done.returncode

    def connect(self, address, port, seconds=wait.LONGEST_SECONDS):
        """A TCP connection from this host, for the test itself to use."""
        with _network(f"/run/netns/{self.network}"):
            return socket.create_connection((address, port), seconds)

    def listen(self, address, port):
        """A TCP listener on this host, for the test itself to accept from."""
        with _network(f"/run/netns/{self.network}"):
            return socket.create_server((address, port))

    def processes(self):
        """The pids of the programs on this host, but for its first process."""
        return [pid for pid in proc.processes_of_namespace("pid", self._pid_namespace) if pid not in self._inits]

    def sockets(self, directory=None):
        """The diagnostic sockets in a directory, by default where tools look: their paths, sorted."""
        directory = directory or self.tmp
        try:
            names = sorted(os.listdir(directory))
        except FileNotFoundError:
            return []
        return [os.path.join(directory, name) for name in names
                if name.startswith("dotnet-diagnostic-") and name.endswith("-socket")]

    def close(self):
        """Ends whatever runs here, and removes the namespaces."""
        for pod in self._pods:
            pod.kill()
            pod.wait(10)
        subprocess.run(["ip", "netns", "delete", self.network], check=False)
        self._hosts.unlink(missing_ok=True)
        self._configuration.rmdir()
        with contextlib.suppress(OSError):
            self._configuration.parent.rmdir()
