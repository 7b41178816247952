"""An agent with little memory, for tests in which peers take all that they can get.

FARPORT_TEST_FLOOD_SECONDS says how long each flood lasts (2)."""

import json
import os
import pathlib
import sys
import time

from harness import proc, wait
from harness.case import Case
from harness.fake import FakeRuntime
from harness.memory_group import MemoryGroup

LIMIT = 64 << 20
SECONDS = float(os.environ.get("FARPORT_TEST_FLOOD_SECONDS", "2"))
# Frozen, for one who waits for an answer.
FROZEN_MS = 2000
HERE = pathlib.Path(__file__).resolve().parents[1]


class Flooded(Case):
    """An agent that is flooded."""
    FLAGS = ()
    # What returns is not all: a heap has holes.
    RETURNED = 24 << 20

    @classmethod
    def prepare(cls):
        cls.group = MemoryGroup(cls.lab.far, LIMIT)
        cls.addClassCleanup(cls.group.remove)
        cls.fake = FakeRuntime(cls.lab, "--stream-bytes", 1 << 40)
        cls.quiet = FakeRuntime(cls.lab, pid=4712)
        cls.agent = cls.share(cls.lab.agent("--allow-cn", "observer=observer", *cls.FLAGS, prefix=cls.group.prefix))
        cls.flooding, cls.answering = cls.agent.wait_for(cls.fake, cls.quiet)
        cls.observer = cls.lab.authority.client("observer")
        cls.stranger = cls.lab.authority.client("stranger")

    def program(self, module, *arguments):
        return self.lab.near.start(sys.executable, "-B", "-m", f"harness.{module}", *arguments,
                                   environment={"PYTHONPATH": str(HERE)}, name=module)

    def flood(self, kind, pair=None, runtime=None):
        """One more of this kind."""
        flags = [pair.cert, pair.key] if pair else []
        if runtime:
            flags.append(runtime["id"])
        return self.program("flood", kind, self.lab.far.address, self.agent.port, SECONDS,
                            self.lab.tools_pair.ca, *flags)

    def assert_lives(self, *floods):
        """That the agent lives through these floods, answers others meanwhile, and gives its memory back."""
        pair = self.lab.tools_pair
        neighbour = self.program("neighbour", self.lab.far.address, self.agent.port, SECONDS, pair.ca, pair.cert,
                                 pair.key, self.answering["id"])
        self.assertEqual(neighbour.wait(), 0, neighbour.output())
        for flood in floods:
            self.assertEqual(flood.wait(), 0, flood.output())
        self.assertTrue(self.agent.process.running(), self.agent.process.output())
        answered = json.loads(neighbour.stdout())
        peak, pid = self.group.peak(), self.agent.process.pid
        self.assertLess(answered["p99_ms"], FROZEN_MS)
        ended = time.monotonic()
        wait.until(lambda: proc.memory_kib(pid) << 10 < self.RETURNED,
                   lambda: f"its memory returns: {proc.memory_kib(pid)} KiB")
        print(f"{self._testMethodName}: {answered}, peak {peak >> 20} MiB of 64, {proc.memory_kib(pid) >> 10} MiB "
              f"after {time.monotonic() - ended:.1f} s", file=sys.stderr)
