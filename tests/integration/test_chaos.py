"""Breaks of every kind, one after the other at random moments, under long streams whose every byte is checked."""

import os
import random
import time

from harness.breaking import Breaking
from harness.case import main

BREAKS = int(os.environ.get("FARPORT_TEST_BREAKS", "200"))
SEED = int(os.environ.get("FARPORT_TEST_SEED", "20261121"))
QUICKEST_PINGS = ("--ping-interval", "300ms", "--ping-timeout", "300ms")
# Long enough for silence to be noticed, mostly.
SILENCE_SECONDS = 0.7
RATE = 2_000_000


class Chaos(Breaking):
    PINGS = QUICKEST_PINGS

    def silent(self, begin, end):
        """Something that nobody is told of, for a while: mostly long enough to be noticed."""
        begin()
        time.sleep(SILENCE_SECONDS * self.random.uniform(0.1, 1.5))
        end()

    def kinds(self):
        """Every kind of break."""
        return {
            "reset": lambda: self.network.reset(self.agent.port),
            "reset at the proxy": lambda: self.proxy.tell("reset"),
            "close at the proxy": lambda: self.proxy.tell("close"),
            "stall of the proxy": lambda: self.silent(lambda: self.proxy.tell("stall"), lambda: self.proxy.tell("go")),
            "proxy killed": self.restart_proxy,
            "black hole": lambda: self.silent(self.network.darken, self.network.lighten),
            "black hole to the tools": lambda: self.silent(lambda: self.network.darken(to_far=False),
                                                           self.network.lighten),
            "black hole to the runtimes": lambda: self.silent(lambda: self.network.darken(to_near=False),
                                                              self.network.lighten),
            "cable pulled out": lambda: self.silent(self.network.down, self.network.up),
            "another address": self.network.move,
        }

    def test_every_byte_arrives_once(self):
        self.random = random.Random(SEED)
        print(f"\n{BREAKS} breaks, FARPORT_TEST_SEED={SEED}", flush=True)
        exchanges = [self.exchange(mirror, rate=RATE) for mirror in (self.direct, self.proxied)]
        for exchange in exchanges:
            exchange.wait_for_more()
        kinds, done = self.kinds(), dict.fromkeys(self.kinds(), 0)
        began = time.monotonic()
        for number in range(BREAKS):
            kind = self.random.choice(sorted(kinds))
            kinds[kind]()
            done[kind] += 1
            # A quarter of them comes before the one before has been got over.
            if self.random.random() > 0.25:
                self.wait_until_both_go_on(exchanges, number, kind)
            time.sleep(self.random.uniform(0, 0.1))  # the random moment
        self.wait_until_both_go_on(exchanges, BREAKS, "the last one")
        seconds = time.monotonic() - began
        for exchange in exchanges:
            exchange.finish()
        self.report(done, exchanges, seconds)

    def wait_until_both_go_on(self, exchanges, number, kind):
        try:
            for exchange in exchanges:
                exchange.wait_for_more(1)
        except AssertionError as error:
            raise AssertionError(f"after break {number} ({kind}), FARPORT_TEST_SEED={SEED}: {error}") from None

    def report(self, done, exchanges, seconds):
        """What there was: a test that has broken nothing would show nothing."""
        times = sum(one is False for mirror in (self.direct, self.proxied) for one in mirror.states())
        carried = sum(exchange.at_tool.received + exchange.at_runtime.received for exchange in exchanges)
        print(f"{seconds:.0f} s, {carried / 1e6:.0f} MB carried, the mirrors were reconnecting {times} times: "
              + ", ".join(f"{kind} {count}" for kind, count in done.items()), flush=True)
        self.assertGreater(times, BREAKS // 4)


if __name__ == "__main__":
    main()
