"""Stores to which an agent sends what it keeps: [[egress]]."""

import json
import os
import re
import time

from harness import needs, unprivileged, wait
from harness.case import main
from harness.stores import Store, StoreCase


class Egress(StoreCase):
    def test_what_is_kept_goes_to_each_store(self):
        first, second = Store(self.lab, "first"), Store(self.lab, "second", 'kinds = ["dump", "trace"]\n')
        self.begin(first, second, environment={"STORE_TOKEN": "for-the-store", "OTHER": "not-for-it"})
        heap, trace = self.keep(), self.assert_ok(self.farport("trace", "--duration", "1s", "--keep")).stdout.strip()
        self.wait_for_sent(heap, first)
        self.wait_for_sent(trace, first, second)
        self.assertNotIn(heap + ".heap.nettrace", second.files())
        self.audit.wait_for(audit="artifact", command="send", decision="allowed", address="egress first", rule="egress first")
        self.assertIn("sent to first", self.assert_ok(self.farport("artifacts")).stdout)

    def test_a_command_gets_its_variables_and_nothing_of_the_agent(self):
        store = Store(self.lab, more='environment = ["STORE_*"]\n')
        self.begin(store, environment={"STORE_TOKEN": "for-the-store", "FARPORT_SECRET": "not-for-it"})
        identifier = self.keep()
        self.wait_for_sent(identifier, store)
        self.assertIn(f"{identifier}.heap.nettrace gcdump-watched", store.read("arguments").decode())
        environment = dict(line.split("=", 1) for line in store.read("environment").decode().splitlines())
        self.assertEqual(environment["STORE_TOKEN"], "for-the-store")
        self.assertEqual((environment["FARPORT_ID"], environment["FARPORT_KIND"]), (identifier, "gcdump"))
        self.assertEqual({name for name in environment if "SECRET" in name}, set())

    def test_a_command_is_another_user_and_reads_nothing_of_the_agent(self):
        store = Store(self.lab)
        key = self.lab.agent_pair.key
        probe = store._program("probe.sh", f"#!/bin/sh\ncat >/dev/null\nexec >{store.path}/probed 2>&1\nid -u\n"
                               "grep -E 'CapEff|NoNewPrivs' /proc/self/status\nls /proc/self/fd\n"
                               f"cat {key}; echo rc $?\ncat {self.lab.far.directory}/*/farport.toml; echo rc $?\n"
                               "touch /tmp/written; echo rc $?\n"
                               "kill -0 $PPID; echo rc $?\ncat /proc/$PPID/environ; echo rc $?\n")
        store.table = store.table.replace(f'"{store.put}"', f'"{probe}"').replace("check", "# check")
        self.begin(store)
        self.keep()
        wait.until(lambda: os.path.exists(os.path.join(store.path, "probed")) and store.read("probed").count(b"rc ") >= 5,
                   self.agent.log)
        said = store.read("probed").decode()
        self.assertIn(f"{store.user}\n", said)
        self.assertIn("CapEff:\t0000000000000000", said)
        self.assertIn("NoNewPrivs:\t1", said)
        self.assertNotIn("PRIVATE KEY", said)
        self.assertNotIn("[artifacts]", said)
        self.assertNotIn("rc 0", said)
        # None of the agent's files: the shell's own, and the directory that ls lists.
        self.assertEqual(set(re.findall(r"^\d$", said, re.MULTILINE)) - {"0", "1", "2", "3"}, set())

    def test_refused_and_later_taken(self):
        store = Store(self.lab)
        store.set("refuse")
        self.begin(store)
        identifier = self.keep()
        self.wait_for_log(f"{identifier} stays here, and is tried again in 5 s: .*exit code 3: access denied: gcdump-watched")
        self.assertEqual(self.about(identifier)["sent_to"], [])
        self.wait_for_log(f"{identifier} stays here, and is tried again in 10 s")
        store.set("")
        self.wait_for_sent(identifier, store)

    def test_what_is_new_does_not_wait_for_what_is_refused(self):
        store = Store(self.lab)
        store.set("refuse")
        self.begin(store)
        refused = self.keep()
        self.wait_for_log(f"{refused} stays here, and is tried again in 10 s")
        store.set("")
        new = self.keep()
        wait.until(lambda: f"{new}.json" in store.files(), self.agent.log, 5)
        self.wait_for_sent(refused, store)

    def test_a_store_that_lies_does_not_have_it(self):
        for mode, why in (("lie", "it has 0 bytes of"), ("deaf", "before it had read everything|exit code 0"),
                          ("cut", "before it had read everything"), ("killed", "signal 9 has killed it")):
            with self.subTest(mode):
                store = Store(self.lab, mode)
                store.set(mode)
                self.begin(store)
                identifier = self.keep()
                self.wait_for_log(f"{identifier} stays here.*({why})")
                self.assertEqual(self.about(identifier)["sent_to"], [])
                self.agent.stop()

    def test_one_that_hangs_is_ended_with_all_that_it_has_started(self):
        for mode in ("hang", "slow"):
            with self.subTest(mode):
                store = Store(self.lab, mode, 'timeout = "2s"\n')
                store.set(mode)
                self.begin(store)
                identifier = self.keep()
                self.wait_for_log(f"{identifier} stays here.*took nothing for 2 s")
                wait.until(lambda: not self.processes("sleep 1000"), lambda: self.processes("sleep 1000"))
                self.agent.stop()

    def test_a_killed_agent_leaves_no_cut_file_and_its_successor_sends_it(self):
        """Not even by what the command has started in another session, which a killed group does not reach."""
        store = Store(self.lab)
        store.set("drop by drop")
        self.begin(store)
        identifier = self.assert_ok(self.farport("dump", "--keep")).stdout.strip()
        wait.until(lambda: [name for name in store.files() if name.endswith(".part")], self.agent.log)
        self.agent.process.kill()
        wait.until(lambda: not self.processes("sleep 0.01"), "the command is killed")
        time.sleep(1)
        self.assertEqual([name for name in store.files() if not name.endswith(".part")], [])
        store.set("")
        self.start()
        self.wait_for_sent(identifier, store)

    def test_the_last_ones_go_when_the_agent_is_stopped(self):
        store = Store(self.lab)
        self.begin(store)
        identifier = self.keep()
        self.agent.stop()
        self.assert_has(store, identifier)

    def test_what_waits_for_a_store_does_not_go_for_other_things(self):
        store = Store(self.lab)
        store.set("refuse")
        self.begin(store, more='size = "1MiB"\n')
        kept, refused = [], None
        for _ in range(40):
            done = self.farport("gcdump", "--keep")
            if done.code != 0:
                refused = done
                break
            kept.append(done.stdout.strip())
        self.assertIsNotNone(refused, "there is always room")
        self.assertIn("still to be sent to a store", refused.stderr)
        listed = {each["id"] for each in json.loads(self.assert_ok(self.farport("artifacts", "--json")).stdout)}
        self.assertEqual(set(kept) - listed, set())

    def test_two_agents_with_one_directory_send_once(self):
        store = Store(self.lab)
        self.begin(store)
        second = self.use(self.lab.agent("--config", self.configuration, port=9001))
        wait.until(lambda: "another agent sends what is there" in second.log(), second.log)
        identifier = self.keep()
        self.wait_for_sent(identifier, store)
        self.assertEqual(store.read("arguments").decode().count(f"{identifier}.heap.nettrace"), 1)
        self.agent.stop()
        self.agent = second
        self.wait_for_sent(self.keep(), store)

    def test_wrong_settings(self):
        base = '[artifacts]\ndirectory = "/tmp"\n[allow]\ncn = ["tools"]\n'
        for table, said in (
                ('name = "a"\n', "it has no command"),
                ('command = ["true"]\n', "it has no name"),
                ('name = "a b"\ncommand = ["true"]\n', "it has no name of letters"),
                ('name = "a"\ncommand = "rclone rcat b:{file}"\n', "no shell takes it apart"),
                ('name = "a"\ncommand = ["true", "{fil}"]\n', 'did you mean "file"?'),
                ('name = "a"\ncommand = ["true"]\nkinds = ["dumps"]\n', 'did you mean "dump"?'),
                ('name = "a"\ncommand = ["true"]\nusr = "x"\n', 'did you mean "user"?'),
                ('name = "a"\ncommand = ["no-such-program"]\nuser = "nobody"\n',
                 "only root can become another user" if unprivileged.enabled() else "it is not there"),
                ('name = "a"\ncommand = ["true"]\nuser = "nobody-like-this"\n', "there is no such user"),
                ('name = "a"\ncommand = ["true"]\n', None if unprivileged.enabled() else "they would read everything here")):
            if said is None:
                continue
            with self.subTest(table):
                path = os.path.join(self.lab.new_directory(self.lab.far, "wrong"), "farport.toml")
                with open(path, "w", encoding="utf-8") as file:
                    file.write(base + "[[egress]]\n" + table)
                arguments = ("--config", path, "--listen", "127.0.0.1:9099", *self.lab.agent_pair.flags())
                for command in ("serve", "check"):
                    done = self.lab.far.run(needs.farport(), command, *arguments)
                    self.assertEqual(done.code, 2 if command == "serve" else 1, done.described)
                    self.assertIn(said, done.stdout + done.stderr)


if __name__ == "__main__":
    main()
