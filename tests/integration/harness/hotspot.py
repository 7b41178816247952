"""An application that keeps the processor busy where a profile has to find it, and the library that it calls."""

import os
import pathlib
import subprocess

from harness import needs
from harness.host import as_user, private_tmp

SOURCE = pathlib.Path(__file__).resolve().parents[1] / "hotspot" / "library.c"
# As the library's source calls them: one is exported, the other stands in .symtab alone.
EXPORTED, LOCAL = "hotspot_in_the_library", "hotspot_that_only_symtab_names"


def compile_library(directory, *flags):
    """The path of a library with the two functions."""
    path = os.path.join(directory, "libhotspot.so")
    subprocess.run([needs.program("cc"), "-O2", "-fno-omit-frame-pointer", "-shared", "-fPIC", "-Wl,--build-id", *flags,
                    "-o", path, SOURCE], check=True)
    return path


class Hotspot:
    """The application on a host. `busy`: what it does; `user`: whose it is. `library`: it has a mount namespace with a /tmp
    of its own, and a copy of this library nowhere else. `rest`: after each round it leaves the processor to others for so many
    milliseconds, since it is sampled only while it computes. `prefix`: what it is started by. `native`: as a program that was
    compiled ahead of time, of this framework. `framework`: an older one, such as net8.0. `environment`: more of it. `suspended`: it waits before
    its first instruction, and says nothing."""

    INSIDE = "/tmp/libhotspot.so"

    def __init__(self, host, busy="managed", *flags, user=None, library=None, directory=None, rest=100, prefix=(),
                 native=None, framework=None, environment=None, suspended=False):
        enter, tmp = [*host.enter, *prefix], directory or host.tmp
        become = as_user(user) if user else []
        if library:
            script = (f'exec 3<"$1"; shift; {private_tmp()} && cd / '
                      f'&& cat <&3 >{self.INSIDE} && exec 3<&- && exec "$@"')
            enter += [needs.program("unshare"), "--mount", "sh", "-c", script, "sh", library]
            flags += ("--library", self.INSIDE)
            tmp = "/tmp"
        self.process = host.start(needs.hotspot(native, framework), "--busy", busy, "--rest", rest, *flags, enter=enter + become, name=f"hotspot-{busy}",
                                  environment={"TMPDIR": tmp} | (environment or {}))
        if not suspended:
            self.process.wait_for_output("busy")
        # What was put before it has executed it.
        self.pid = self.process.pid
        self.pid_inside = self.process.pid_on_host

    def start_in_its_files(self, *arguments):
        """Starts a program among the files that it sees; its output is a pipe."""
        return subprocess.Popen([needs.program("nsenter"), "--target", str(self.pid), "--mount", "--", *arguments],
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def in_its_files(self, script, content=b""):
        """Runs a script there, with this input."""
        with self.start_in_its_files("sh", "-ec", script) as process:
            process.communicate(content)
        if process.returncode != 0:
            raise AssertionError(f"{script!r} ended with {process.returncode}")

    def stop(self):
        """Ends it."""
        self.process.kill()
