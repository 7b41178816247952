"""What /proc says of a process."""

import os
import pathlib
import re


def children(pid):
    """The pids of the living children."""
    try:
        found = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return []
    return [int(child) for child in found if is_alive(int(child))]


def dump_writer(pid):
    """The pid of the createdump that a runtime has started, from whichever of its threads; nothing if there is none."""
    for file in pathlib.Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            started = file.read_text().split()
        except OSError:
            continue  # the thread has ended meanwhile
        for child in started:
            if status(child, "Name") == "createdump":
                return int(child)
    return None


def status(pid, field):
    """One field of /proc/PID/status; empty if the process is gone."""
    try:
        text = pathlib.Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return ""
    found = re.search(rf"^{field}:\s*(.*)$", text, re.MULTILINE)
    return found.group(1) if found else ""


def is_alive(pid):
    """Whether the process runs: a zombie does not."""
    return status(pid, "State")[:1] not in ("", "Z", "X")


def pid_inside(pid):
    """The pid that the process has in its own pid namespace."""
    return int(status(pid, "NSpid").split()[-1])


def command_line(pid):
    """The arguments."""
    try:
        return pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[:-1]
    except OSError:
        return []


def environment(pid):
    """The environment that the process was started with."""
    try:
        content = pathlib.Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return {}
    pairs = (entry.partition(b"=") for entry in content.split(b"\0") if entry)
    return {name.decode(): value.decode() for name, _, value in pairs}


def open_files(pid):
    """How many file descriptors are open."""
    return len(os.listdir(f"/proc/{pid}/fd"))


def socket_inodes(pid):
    """The inode of each of its file descriptors that is a socket."""
    found = []
    for entry in os.listdir(f"/proc/{pid}/fd"):
        try:
            kind, _, inode = os.readlink(f"/proc/{pid}/fd/{entry}").partition(":")
        except FileNotFoundError:
            continue  # closed meanwhile
        if kind == "socket":
            found.append(inode.strip("[]"))
    return found


def open_sockets(pid):
    """How many of its file descriptors are sockets."""
    return len(socket_inodes(pid))


def memory_kib(pid):
    """Proportional set size, in KiB."""
    text = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text()
    return int(re.search(r"^Pss:\s+(\d+)", text, re.MULTILINE).group(1))


def peak_memory_kib(pid):
    """The most that has been resident at any time (VmHWM), in KiB."""
    return int(status(pid, "VmHWM").split()[0])


def own_memory_kib(pid):
    """What the process has written itself, heap and stacks, in KiB: other processes of the program do not matter."""
    text = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text()
    return int(re.search(r"^Anonymous:\s+(\d+)", text, re.MULTILINE).group(1))


def in_cgroup(name):
    """The pids of all living processes in a control group with this in its path: a pod's uid, with dashes."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            groups = pathlib.Path(f"/proc/{pid}/cgroup").read_text()
        except OSError:
            continue
        if name in groups.replace("_", "-") and is_alive(int(pid)):
            found.append(int(pid))
    return found


def processes_of_namespace(kind, identity):
    """The living processes in the namespace that `identity` (the link's text) names."""
    found = []
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            if os.readlink(f"/proc/{entry}/ns/{kind}") == identity and is_alive(int(entry)):
                found.append(int(entry))
        except OSError:
            pass
    return found


def listens(pid, port):
    """Whether the process itself has a TCP listener at `port`: its neighbours may have one at another address."""
    wanted = f":{port:04X}"
    try:
        own = socket_inodes(pid)
        tables = [pathlib.Path(f"/proc/{pid}/net/{table}").read_text() for table in ("tcp", "tcp6")]
    except OSError:
        return False  # the process has ended
    rows = [line.split() for table in tables for line in table.splitlines()[1:]]
    return any(row[1].endswith(wanted) and row[3] == "0A" and row[9] in own for row in rows)


def start_time(pid):
    """When the process has started, in clock ticks after boot."""
    return int(pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19])
