"""Stores of an agent that are directories, with commands that do what stores can do wrong."""

import hashlib
import json
import os
import re
import time

from harness import http2, needs, proc, unprivileged, wait
from harness.audit import Audit
from harness.case import Case
from harness.nobody import NOBODY
from harness.watched import Watched

# A store that is a directory, and does to its client what the file «mode» says.
STORE = r"""#!/bin/sh
cd "$1" || exit
mode=$(cat mode)
case $mode in
  refuse) echo 'first line' >&2; echo "access denied: $3" >&2; exit 3 ;;
  lie) cat >/dev/null; exit 0 ;;
  deaf) exit 0 ;;
  cut) head -c 100 >"$2"; exit 0 ;;
  hang) sleep 1000 & sleep 1000 ;;
  slow) dd bs=1 count=10 of="$2.part" 2>/dev/null; sleep 1000 ;;
  killed) kill -9 $$ ;;
  'drop by drop') setsid sh -c 'while part=$(head -c 1000 | base64) && [ -n "$part" ]; do echo "$part"; sleep 0.01; done >"$1.part" && mv "$1.part" "$1"' sh "$2"; exit ;;
esac
env >environment
echo "$*" >>arguments
cat >"$2.part" && mv "$2.part" "$2"
"""
SIZE = "#!/bin/sh\nstat -c %s \"$1/$2\" 2>/dev/null || echo 0\n"


class Store:
    """The directory, and the table for the agent's file."""

    def __init__(self, lab, name="disk", more=""):
        self.user = unprivileged.user_of("far") or NOBODY
        self.path = lab.new_directory(lab.far, name)
        os.chmod(self.path, 0o755)
        self.name = name
        self.put, self.size = (self._program(file, text) for file, text in (("put.sh", STORE), ("size.sh", SIZE)))
        os.chown(self.path, self.user, self.user)
        self.set("")
        user = "" if unprivileged.enabled() else f'user = "{NOBODY}:{NOBODY}"\n'
        self.table = (f'[[egress]]\nname = "{name}"\ncommand = ["{self.put}", "{self.path}", "{{file}}", "{{kind}}-{{runtime}}"]\n'
                      f'check = ["{self.size}", "{self.path}", "{{file}}"]\n{user}writes = ["{self.path}"]\n'
                      f'reads = ["{self.path}"]\n{more}')

    def _program(self, name, text):
        path = os.path.join(self.path, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, 0o755)
        return path

    def set(self, mode):
        with open(os.path.join(self.path, "mode"), "w", encoding="utf-8") as file:
            file.write(mode)

    def read(self, name):
        with open(os.path.join(self.path, name), "rb") as file:
            return file.read()

    def files(self):
        return {name for name in os.listdir(self.path) if name.startswith("20")}


class StoreCase(Case):
    """An agent beside an application, with stores."""

    @classmethod
    def prepare(cls):
        cls.application = cls.share(Watched(cls.lab))

    def begin(self, *stores, environment=None, more=""):
        """An agent that sends to these stores."""
        self.directory = self.lab.new_directory(self.lab.far, "kept")
        self.configuration = os.path.join(self.lab.new_directory(self.lab.far, "agent"), "farport.toml")
        self.audit = Audit(os.path.join(self.lab.directory, f"audit-{time.monotonic_ns()}.jsonl"))
        with open(self.configuration, "w", encoding="utf-8") as file:
            file.write(f'[artifacts]\ndirectory = "{self.directory}"\n{more}' + "".join(store.table for store in stores))
        self.start(environment)

    def start(self, environment=None):
        self.agent = self.use(self.lab.agent("--config", self.configuration, "--audit", self.audit.path,
                                             "--drain", "20s", environment=environment))
        self.agent.wait_for(self.application)

    def farport(self, command, *arguments):
        return self.lab.near.run(needs.farport(), command, self.agent.remote, *self.lab.tools_pair.flags(), *arguments)

    def keep(self):
        """Has the agent keep something small, and returns its id."""
        return self.assert_ok(self.farport("gcdump", "--keep")).stdout.strip()

    def about(self, identifier):
        """What the agent says of it."""
        all_kept = http2.get(self.lab, "/v1/artifacts", port=self.agent.port)
        return next(each for each in all_kept if each["id"] == identifier)

    def wait_for_sent(self, identifier, *stores):
        wait.until(lambda: set(self.about(identifier)["sent_to"]) == {store.name for store in stores},
                   lambda: f"{identifier} is sent\n{self.agent.log()}")
        for store in stores:
            self.assert_has(store, identifier)

    def assert_has(self, store, identifier):
        """That the store has the whole of it."""
        description = json.loads(store.read(identifier + ".json"))
        content = store.read(identifier + description["ending"])
        self.assertEqual((hashlib.sha256(content).hexdigest(), len(content)), (description["sha256"], description["size"]))

    def wait_for_log(self, text, seconds=wait.LONGEST_SECONDS):
        wait.until(lambda: re.search(text, self.agent.log()), lambda: f"{text} in\n{self.agent.log()}", seconds)

    def processes(self, command):
        """The far host's processes with this command line."""
        return [pid for pid in self.lab.far.processes() if b" ".join(proc.command_line(pid)) == command.encode()]
