"""Every route of the API, asked by callers who read nothing, next to nothing, or too much: what an answer takes is on its caller's
account, whatever the route. A new route is in here by itself."""

import hashlib
import json
import os
import re
import secrets
import subprocess
import sys

from harness import http2, needs
from harness.case import main
from harness.flooded import SECONDS, Flooded

SOURCE = needs.ROOT / "router/agent/api/api.cpp"
ROUTE = re.compile(r'\{"(GET|POST|DELETE)", "(/v1/[^"]+)"')
KINDS = ("route_unread", "route_dribbled", "route_often")
ROLES = ("observer", "operator")
ARTIFACTS, DESCRIPTION_BYTES = 990, 10_000
NAME = "20261101T101112Z-orders-{:03}-1a2b3c4d"
MOST_DESCRIPTORS = 200
TOTAL = "Watched.Meter[watched.total]"


def routes():
    """Method and path of each."""
    found = ROUTE.findall(SOURCE.read_text(encoding="utf-8"))
    assert len(found) > 20, found
    return found


class Accounts(Flooded):
    """An agent that does all it can, with as many artifacts as it keeps."""
    # What is listed stays.
    RETURNED = 48 << 20

    @classmethod
    def prepare(cls):
        directory = cls.lab.new_directory(cls.lab.far, "kept")
        os.chmod(directory, 0o700)
        configuration = os.path.join(cls.lab.new_directory(cls.lab.far, "agent"), "farport.toml")
        with open(configuration, "w", encoding="utf-8") as file:
            file.write(f'[recorder]\nkeep = true\n[artifacts]\ndirectory = "{directory}"\n'
                       f'[[rules]]\nname = "many"\nwhen.counter = "{TOTAL}"\nwhen.above = 100\ndo = ["stacks"]\n')
        cls.FLAGS = ("--config", configuration, "--app-metrics",
                     *(word for role in ROLES for kind in KINDS for word in ("--allow-cn", f"{role}-{kind}={role}")))
        super().prepare()
        cls.callers = [(kind, cls.lab.authority.client(f"{role}-{kind}")) for role in ROLES for kind in KINDS]
        cls.kept = cls.fill(directory)

    @classmethod
    def fill(cls, directory):
        """Puts artifacts there, each with a content of 1 MiB, and returns the id of one."""
        content = secrets.token_bytes(1 << 20)
        packed = subprocess.run([needs.program("zstd"), "-q", "-c"], input=content, check=True, stdout=subprocess.PIPE).stdout
        first = os.path.join(directory, f"{NAME.format(0)}.content.zst")
        with open(first, "wb") as file:
            file.write(packed)
        for number in range(ARTIFACTS):
            name = NAME.format(number)
            about = {"id": name, "kind": "trace", "ending": ".nettrace", "runtime": cls.answering, "kernel_pid": 0,
                     "time": "2026-11-01T10:11:12Z", "taken_by": "", "owner": "", "why": "", "cause": "x" * DESCRIPTION_BYTES,
                     "permissions": ["CollectTracing2"], "state": "whole", "in_order": False, "seconds": 0, "bytes": len(packed),
                     "size": len(content), "sent_to": [], "sha256": hashlib.sha256(content).hexdigest()}
            if number > 0:
                os.link(first, os.path.join(directory, f"{name}.content.zst"))
            with open(os.path.join(directory, f"{name}.json"), "w", encoding="utf-8") as file:
                json.dump(about, file)
        listed = http2.get(cls.lab, "/v1/artifacts")
        assert len(listed) == ARTIFACTS, len(listed)
        return name

    def path_of(self, path):
        """A route with something that is there."""
        if "/runtimes/" in path:
            return path.replace("{id}", self.answering["id"])
        return path.replace("{id}", self.kept).replace("{token}", secrets.token_hex(16))

    def descriptors(self):
        """How many the agent and its helpers have open."""
        pids = [self.agent.process.pid, *(self.agent.helper(name) for name in ("farport-reader", "farport-sampler"))]
        return sum(len(os.listdir(f"/proc/{pid}/fd")) for pid in pids)

    def test_each_route(self):
        for method, path in routes():
            with self.subTest(f"{method} {path}"):
                route = f"{method} {self.path_of(path)}"
                print(f"{method} {path}", file=sys.stderr)
                self.assert_lives(*(self.flood_of(kind, pair, route) for kind, pair in self.callers))
                self.assertLess(self.descriptors(), MOST_DESCRIPTORS)
                self.assertEqual(self.group.killed(), 0)
                self.assertNotIn("has no role", self.agent.log())

    def flood_of(self, kind, pair, route):
        return self.program("flood", kind, self.lab.far.address, self.agent.port, SECONDS, self.lab.tools_pair.ca, pair.cert,
                            pair.key, route)


if __name__ == "__main__":
    main()
