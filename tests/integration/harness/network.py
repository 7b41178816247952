"""What can happen to the network between the two hosts. Only iproute2 is needed for it."""

import contextlib
import re
import subprocess

from harness import needs, wait

CABLE = "cable"
# No host's: what is sent there is dropped on the way, without a word to the sender.
NOBODY = "02:00:00:00:00:99"
OTHER_ADDRESS = "10.77.0.3"


class Network:
    """The cable between the lab's hosts, and whatever breaks it. All is as it was after mend()."""

    def __init__(self, lab):
        self.lab = lab
        self._near_address = lab.near.address

    def _ip(self, host, *arguments, check=True):
        subprocess.run([needs.program("ip"), "-netns", host.network, *arguments], check=check, capture_output=True)

    def down(self):
        """Pulls the cable out, at the far host's end."""
        self._ip(self.lab.far, "link", "set", CABLE, "down")

    def up(self):
        """Puts the cable in again."""
        self._ip(self.lab.far, "link", "set", CABLE, "up")

    def darken(self, to_near=True, to_far=True):
        """From now on packets are lost without a trace, in one direction or both."""
        if to_far:
            self._lead(self.lab.near, self.lab.far.address)
        if to_near:
            for address in {self.lab.near.address, self._near_address, OTHER_ADDRESS}:
                self._lead(self.lab.far, address)

    def _lead(self, host, address):
        """Has a host send what is for `address` to nobody."""
        self._ip(host, "neighbour", "replace", address, "lladdr", NOBODY, "dev", CABLE, "nud", "permanent")

    def lighten(self):
        """The end of darken()."""
        for host, address in ((self.lab.near, self.lab.far.address), (self.lab.far, self._near_address),
                              (self.lab.far, self.lab.near.address), (self.lab.far, OTHER_ADDRESS)):
            self._ip(host, "neighbour", "delete", address, "dev", CABLE, check=False)

    @contextlib.contextmanager
    def dark(self, **directions):
        """darken() for the length of a block."""
        self.darken(**directions)
        try:
            yield
        finally:
            self.lighten()

    @contextlib.contextmanager
    def unplugged(self):
        """down() for the length of a block."""
        self.down()
        try:
            yield
        finally:
            self.up()

    def reset(self, port, side="dport"):
        """Resets every TCP connection of the near host with a port, at both ends: the far one's, or by `side` "sport"
        its own. Returns how many there were."""
        done = subprocess.run(
            [needs.program("ip"), "netns", "exec", self.lab.near.network, needs.program("ss"), "--kill", "--tcp",
             "--no-header", "state", "established", side, "=", str(port)],
            check=True, capture_output=True, text=True)
        return len(done.stdout.splitlines())

    def move(self):
        """Gives the tools' host another address, and takes away the one that it had: what is connected from there
        hears nothing any more, and nobody is told."""
        old = self.lab.near.address
        new = OTHER_ADDRESS if old == self._near_address else self._near_address
        self._ip(self.lab.near, "address", "add", f"{new}/24", "dev", CABLE)
        self._ip(self.lab.near, "address", "delete", f"{old}/24", "dev", CABLE)
        # The kernel takes the addresses of a network away with its first one, unless it promotes another.
        self._ip(self.lab.near, "address", "replace", f"{new}/24", "dev", CABLE)
        self.lab.near.address = new

    def throttle(self, kilobits):
        """Limits what the far host sends, in kbit/s."""
        subprocess.run([needs.program("tc"), "-netns", self.lab.far.network, "qdisc", "replace", "dev", CABLE, "root",
                        "tbf", "rate", f"{kilobits}kbit", "burst", "32k", "latency", "200ms"],
                       check=True, capture_output=True)

    def unthrottle(self):
        """The end of throttle()."""
        subprocess.run([needs.program("tc"), "-netns", self.lab.far.network, "qdisc", "delete", "dev", CABLE, "root"],
                       check=False, capture_output=True)

    def connections(self, port):
        """How many TCP connections from the near host to a port of the far one the near host believes in."""
        return len(self._listed(self.lab.near, "dport", port))

    def peers(self, port):
        """The addresses from which the far host has connections at a port."""
        return [line.split()[3].rpartition(":")[0] for line in self._listed(self.lab.far, "sport", port)]

    def _listed(self, host, side, port):
        done = subprocess.run(
            [needs.program("ip"), "netns", "exec", host.network, needs.program("ss"), "--tcp", "--numeric",
             "--no-header", "state", "established", side, "=", str(port)], check=True, capture_output=True, text=True)
        return [line for line in done.stdout.splitlines() if re.search(r"\d", line)]

    def wait_until_reachable(self):
        """Waits until the hosts see each other."""
        def reachable():
            done = subprocess.run(
                [needs.program("ip"), "netns", "exec", self.lab.near.network, "bash", "-c",
                 f"exec 3<>/dev/tcp/{self.lab.far.address}/1"], capture_output=True, text=True, check=False)
            return "refused" in done.stderr

        wait.until(reachable, "the hosts see each other")

    def mend(self):
        """Undoes whatever has been done."""
        self.up()
        self.lighten()
        self.unthrottle()
        if self.lab.near.address != self._near_address:
            self.move()
