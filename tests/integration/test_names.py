"""Names of agents: looked up whenever they are dialled, one agent however many addresses it has."""

import itertools
import json
import os
import re
import subprocess
import time

from harness import ipc, needs, proc, sockets, wait
from harness.case import Case, main
from harness.fake import FakeRuntime

NAME = "orders.test"
# Where nothing is, and nobody says so.
NOWHERE = ("10.77.0.201", "fd77::201", "10.77.0.202", "fd77::202")


class Names(Case):
    """Agents on the far host, each with a runtime and a directory of its own."""

    @classmethod
    def prepare(cls):
        cls.pair = cls.lab.authority.server("named", "--dns", NAME, "--dns", "localhost", "--ip",
                                            cls.lab.far.address6)
        cls.ports = itertools.count(9400)
        cls.pids = itertools.count(5000)
        for address in NOWHERE:
            subprocess.run(["ip", "-netns", cls.lab.near.network, "neigh", "add", address, "lladdr",
                            "02:00:00:00:00:99", "dev", "cable"], check=True)

    def setUp(self):
        self.port = next(self.ports)
        self.addCleanup(self.lab.near.move_name, NAME)

    def runtime(self):
        """A runtime in a directory of its own."""
        runtime = self.use(FakeRuntime(self.lab, pid=next(self.pids), directory=self.lab.new_directory(
            self.lab.far, "search")))
        return runtime

    def agent(self, runtime, *addresses):
        """An agent that finds this runtime alone, and listens at these addresses."""
        listen = [f"[{each}]:{self.port}" if ":" in each else f"{each}:{self.port}" for each in addresses]
        return self.use(self.lab.agent(port=self.port, pair=self.pair, listen=listen, search=[runtime.directory]))

    def mirror(self, name=NAME, flags=()):
        """A mirror of whatever the name leads to."""
        return self.use(self.lab.mirror(f"{name}:{self.port}", flags=flags,
                                        directory=self.lab.new_directory(self.lab.near, "sockets")))

    def forward(self, *addresses):
        """Brings these addresses of the near host to the far host's agent, as a port-forward does."""
        for address in addresses:
            kind, bind = ("TCP6", f"[{address}],ipv6only") if ":" in address else ("TCP4", address)
            forward = self.lab.near.start(needs.program("socat"), f"{kind}-LISTEN:{self.port},fork,reuseaddr,bind={bind}",
                                          f"TCP:{self.lab.far.address}:{self.port}")
            self.addCleanup(forward.kill)
            wait.until(lambda: proc.listens(forward.pid, self.port), "the forward listens")

    def pods(self, count):
        """So many more addresses of the far host, with an agent at each; and their runtimes."""
        addresses, runtimes, agents = [], [], []
        for _ in range(count):
            address = f"10.77.0.{100 + next(self.pids) % 100}"
            self.lab.far.add_address(f"{address}/24")
            self.addCleanup(self.lab.far.remove_address, f"{address}/24")
            runtimes.append(self.runtime())
            agents.append(self.agent(runtimes[-1], address))
            addresses.append(address)
        return addresses, runtimes, agents

    # One agent, several addresses.

    def test_a_localhost_of_both_families_is_one_agent(self):
        runtime = self.runtime()
        self.agent(runtime, self.lab.far.address)
        self.forward("127.0.0.1", "::1")
        mirror = self.mirror("localhost")
        mirror.wait_for(runtime)
        time.sleep(2)  # for the other address, if it were to make a difference
        self.assertEqual(len(mirror.rows()), 1)
        self.assertEqual(len(mirror.placeholders()), 1)
        self.assertEqual(mirror.rows()[0]["breaks"], 0)

    def test_dotnet_trace_by_a_localhost_of_both_families(self):
        application = self.use(self.lab.orders())
        self.use(self.lab.agent(port=self.port, pair=self.pair))
        self.forward("127.0.0.1", "::1")
        file = os.path.join(self.lab.new_directory(self.lab.near, "trace"), "orders.nettrace")
        self.assert_ok(self.tools.farport_run(
            needs.dotnet_trace(), "collect", "--diagnostic-port", f"localhost:{self.port}", "--duration", "00:00:01",
            "--output", file))
        self.assertTrue(self.tools.frames(file))
        application.stop()

    def test_a_localhost_of_which_one_family_is_refused(self):
        for address in ("127.0.0.1", "::1"):
            self.port = next(self.ports)
            runtime = self.runtime()
            self.agent(runtime, self.lab.far.address)
            self.forward(address)
            mirror = self.mirror("localhost")
            mirror.wait_for(runtime)
            listed = self.assert_ok(self.lab.near.run(needs.farport(), "ps", f"localhost:{self.port}",
                                                      *self.lab.tools_pair.flags()))
            self.assertIn(str(runtime.pid_inside), listed.stdout)
            mirror.stop()
            runtime.stop()

    def test_ps_and_can_i_list_an_agent_of_two_addresses_once(self):
        runtime = self.runtime()
        self.agent(runtime, self.lab.far.address, self.lab.far.address6)
        self.lab.near.move_name(NAME, self.lab.far.address, self.lab.far.address6)
        listed = self.assert_ok(self.lab.near.run(needs.farport(), "ps", f"{NAME}:{self.port}",
                                                  *self.lab.tools_pair.flags()))
        self.assertEqual(listed.stdout.count(f"{runtime.pid_inside} "), 1, listed.described)
        allowed = self.assert_ok(self.lab.near.run(needs.farport(), "can-i", f"{NAME}:{self.port}",
                                                   *self.lab.tools_pair.flags()))
        self.assertEqual(allowed.stdout.count("MAY I"), 1, allowed.described)

    def test_addresses_where_nothing_answers_keep_nobody_waiting(self):
        runtime = self.runtime()
        self.agent(runtime, self.lab.far.address)
        self.lab.near.move_name(NAME, *NOWHERE, self.lab.far.address)
        begun = time.monotonic()
        listed = self.assert_ok(self.lab.near.run(needs.farport(), "ps", f"{NAME}:{self.port}",
                                                  *self.lab.tools_pair.flags()))
        self.assertIn(str(runtime.pid_inside), listed.stdout)
        self.assert_ok(self.tools.farport_run("true", "-p", runtime.pid_inside, remote=[f"{NAME}:{self.port}"]))
        # One after the other they would take ten seconds each.
        self.assertLess(time.monotonic() - begun, 15)

    def test_a_session_goes_on_at_the_agents_other_address(self):
        runtime = self.runtime()
        self.agent(runtime, self.lab.far.address, self.lab.far.address6)
        self.lab.near.move_name(NAME, self.lab.far.address, self.lab.far.address6)
        mirror = self.mirror(flags=("--ping-interval", "500ms", "--ping-timeout", "500ms"))
        row, = mirror.wait_for(runtime)
        time.sleep(2)  # until the other address is known to be the same agent's
        with sockets.connect(row["socket"], 30) as trace:
            trace.sendall(ipc.session(ipc.COLLECT_TRACING_5))
            self.assertTrue(ipc.is_ok(trace.recv(28)))
            used = self.lab.far.address6 if "[" in row["agent"] else self.lab.far.address
            bits = "64" if ":" in used else "24"
            self.lab.far.remove_address(f"{used}/{bits}")
            self.addCleanup(self.lab.far.add_address, f"{used}/{bits}")
            wait.until(lambda: [each for each in mirror.rows() if each["breaks"] == 1 and each["connected"]
                                and each["agent"] != row["agent"]],
                       lambda: f"it goes on elsewhere\n{mirror.process.output()}")
            self.assertTrue(ipc.is_ok(sockets.exchange(row["socket"], ipc.process_info())))
            self.assertEqual(len(mirror.placeholders()), 1)
            # More than what may have been under way.
            received = 0
            while received < 64 << 20:
                part = trace.recv(1 << 20)
                self.assertTrue(part, "the trace has ended")
                received += len(part)

    def test_two_names_of_one_agent_are_one_agent_and_one_takes_over_from_the_other(self):
        runtime = self.runtime()
        agent = self.agent(runtime, self.lab.far.address, self.lab.far.address6)
        self.lab.near.move_name(NAME, self.lab.far.address)
        remotes = (f"{NAME}:{self.port}", f"[{self.lab.far.address6}]:{self.port}")
        listed = self.assert_ok(self.lab.near.run(needs.farport(), "ps", *remotes, "--json",
                                                  *self.lab.tools_pair.flags()))
        self.assertEqual(listed.stdout.count('"agent"'), 1, listed.described)
        for name in remotes:
            self.assert_ok(self.tools.farport_run("true", "--diagnostic-port", f"{name}/{runtime.pid_inside}",
                                                  remote=remotes))
        mirror = self.use(self.lab.mirror(*remotes, directory=self.lab.new_directory(self.lab.near, "sockets"),
                                          flags=("--grace", "1s", "--ping-interval", "500ms", "--ping-timeout", "500ms")))
        mirror.wait_for(runtime)
        wait.until(lambda: "is followed under another name" in mirror.process.stderr(), mirror.process.output)
        row, = mirror.rows()
        self.assertEqual(len(mirror.placeholders()), 1)
        used = self.lab.far.address6 if "[" in row["agent"] else self.lab.far.address
        bits = "64" if ":" in used else "24"
        self.lab.far.remove_address(f"{used}/{bits}")
        self.addCleanup(self.lab.far.add_address, f"{used}/{bits}")
        wait.until(lambda: [each for each in mirror.rows() if each["connected"] and each["agent"] != row["agent"]],
                   lambda: f"the other name takes over\n{mirror.process.output()}")
        mirror.wait_for(runtime)
        self.assertTrue(agent.process.running())

    def test_replicas_are_told_apart_by_the_addresses_of_their_agents(self):
        addresses, runtimes, _ = self.pods(2)
        self.lab.near.move_name(NAME, *addresses)
        flags = self.lab.tools_pair.flags()
        listed = self.assert_ok(self.lab.near.run(needs.farport(), "ps", f"{NAME}:{self.port}", *flags))
        self.assertIn(" HOST ", listed.stdout.splitlines()[0])
        name = json.loads(self.assert_ok(self.lab.near.run(needs.farport(), "ps", f"{NAME}:{self.port}", "--json",
                                                           *flags)).stdout)[0]["name"]
        unclear = self.tools.farport_run("true", "-n", name, remote=[f"{NAME}:{self.port}"])
        self.assertEqual(unclear.code, 125, unclear.described)
        for address, runtime in zip(addresses, runtimes):
            self.assertIn(f"{name}@{address}:{self.port} (pid {runtime.pid_inside})", unclear.stderr)
            chosen = self.assert_ok(self.tools.farport_run("echo", "-n", f"{name}@{address}", remote=[f"{NAME}:{self.port}"]))
            self.assertIn("--process-id", chosen.stdout)
            mirror = self.mirror(flags=("--select", f"*@{address}"))
            mirror.wait_for(runtime)
            mirror.stop()

    # Names that lead elsewhere.

    def test_a_pod_that_is_replaced_behind_its_name_is_mirrored_within_five_seconds(self):
        (old, new), (first, second), (agent, _) = self.pods(2)
        self.lab.near.move_name(NAME, old)
        mirror = self.mirror(flags=("--grace", "2s"))
        mirror.wait_for(first)
        agent.process.kill()
        first.stop()
        self.lab.near.move_name(NAME, new)
        moved = time.monotonic()
        wait.until(lambda: second.pid_inside in [row["pid"] for row in mirror.rows()],
                   lambda: f"the new one is mirrored\n{mirror.process.output()}")
        self.assertLess(time.monotonic() - moved, 5)
        mirror.wait_for(second)
        wait.until(lambda: len(mirror.placeholders()) == 1, lambda: f"one is left of {mirror.placeholders()}")

    def test_every_agent_behind_a_headless_name_is_followed_as_they_come_and_go(self):
        addresses, runtimes, agents = self.pods(3)
        self.lab.near.move_name(NAME, *addresses[:2])
        mirror = self.mirror(flags=("--grace", "2s"))
        mirror.wait_for(*runtimes[:2])
        self.lab.near.move_name(NAME, *addresses)
        mirror.wait_for(*runtimes, seconds=6)
        self.lab.near.move_name(NAME, *addresses[1:])
        time.sleep(4)
        # What is connected is still wanted, whatever the name says for the moment.
        mirror.wait_for(*runtimes)
        agents[0].process.kill()
        mirror.wait_for(*runtimes[1:])
        gone = re.compile(rf"the agent at {re.escape(addresses[0])}:\d+ is gone: {NAME}")
        wait.until(lambda: gone.search(mirror.process.stderr()), "it says so")

    def test_a_name_that_is_not_known_yet(self):
        runtime = self.runtime()
        self.agent(runtime, self.lab.far.address)
        mirror = self.mirror()
        wait.until(lambda: NAME in mirror.process.stderr(), "it says that the name is not known")
        self.lab.near.move_name(NAME, self.lab.far.address)
        row, = mirror.wait_for(runtime)
        self.assertEqual(row["breaks"], 0)

    def test_run_says_which_name_is_not_known(self):
        done = self.tools.farport_run("true", remote=[f"{NAME}:{self.port}"])
        self.assertEqual(done.code, 125, done.described)
        self.assertIn(f"cannot resolve {NAME}", done.stderr)

    # The agent's own name.

    def test_an_agent_listens_on_both_families_of_a_name(self):
        runtime = self.runtime()
        agent = self.agent(runtime, "localhost")
        port = f":{self.port:04X} "

        def listens(table):
            with open(f"/proc/{agent.process.pid}/net/{table}", encoding="ascii") as lines:
                return [line for line in lines if port in line and " 0A " in line]
        for table in ("tcp", "tcp6"):
            # The agent listens on one after the other.
            wait.until(lambda table=table: listens(table), f"it is in {table}")


if __name__ == "__main__":
    main()
