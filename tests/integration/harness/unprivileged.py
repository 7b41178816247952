"""The mode in which nobody is root: the agent and the runtimes are one ordinary user on the far host, mirrors and tools
another one on the near host, without any capability. Chosen files run in it a second time: see CMakeLists.txt."""

import os

from harness import needs

# Of nobody else on the machine.
_USERS = {"far": 64901, "near": 64902}


def enabled():
    """Whether this run is in that mode."""
    return os.environ.get("FARPORT_TEST_UNPRIVILEGED") == "1"


def user_of(host_name):
    """The user id of everything on a host; None for root."""
    return _USERS[host_name] if enabled() else None


def enter(user):
    """What comes before a program for it to run as this user."""
    if user is None:
        return []
    return [needs.program("setpriv"), "--reuid", str(user), "--regid", str(user), "--clear-groups", "--inh-caps=-all",
            "--bounding-set=-all"]


def give(path, user):
    """Makes a file or directory this user's own."""
    if user is not None:
        os.chown(path, user, user)
