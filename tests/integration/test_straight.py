"""Dumps for which an agent has no room, straight into one of its stores while the runtime writes them."""

import glob
import json
import os
import signal
import time

from harness import dumps, needs, proc, wait
from harness.case import main
from harness.stores import Store, StoreCase
from harness.watched import Watched

NO_ROOM = 'size = "20MiB"\n'


class Straight(StoreCase):
    @classmethod
    def prepare(cls):
        pass

    def setUp(self):
        super().setUp()
        self.application = self.use(Watched(self.lab))

    def begin_small(self, mode="", more=""):
        """An agent that has no room for a dump of the application, and a store that has."""
        store = Store(self.lab, more=f'stream = true\n{more}')
        store.set(mode)
        self.begin(store, more=NO_ROOM)
        return store

    def dump(self, *arguments):
        return self.farport("dump", "--keep", "--longest-stop", "5m", *arguments)

    def begin_command(self, command, *arguments):
        process = self.lab.near.start(needs.farport(), command, self.agent.remote, *self.lab.tools_pair.flags(), *arguments)
        self.addCleanup(lambda: process.running() and process.stop(signal.SIGINT))
        return process

    def assert_goes_on(self):
        """That the application is not stopped, and nothing of a dump is left beside it."""
        pid = self.application.process.pid
        wait.until(lambda: proc.status(pid, "State")[:1] in "SR" and proc.status(pid, "TracerPid") == "0",
                   lambda: proc.status(pid, "State"))
        self.application.get("/tick")
        wait.until(lambda: not glob.glob(f"{self.lab.far.tmp}/.farport-*"), lambda: os.listdir(self.lab.far.tmp))
        wait.until(lambda: not self.createdumps(), self.createdumps)

    def createdumps(self):
        return [pid for pid in self.lab.far.processes() if b"createdump" in b" ".join(proc.command_line(pid))[:200]]

    def assert_cut(self, identifier, why):
        """That the list says so, and the store has nothing under its name."""
        about = wait.until(lambda: (found := self.about(identifier))["state"] == "cut" and found, self.agent.log)
        self.assertRegex(about["why"], why)
        self.assertEqual({name for name in self.store.files() if not name.endswith(".part")}, set())

    def test_what_has_no_room_goes_straight_to_the_store(self):
        store = self.begin_small()
        for kind in ("heap", "mini"):
            with self.subTest(kind):
                done = self.assert_ok(self.dump("--type", kind))
                identifier = done.stdout.strip()
                self.wait_for_sent(identifier, store)
                core = os.path.join(store.path, identifier + ".dmp")
                self.assertTrue(dumps.core_notes(core))
                self.assertEqual(os.path.getsize(core), dumps.core_size(core))
                about = self.about(identifier)
                if about["only_in"] == "":
                    # The small one may have room.
                    self.assertEqual(kind, "mini")
                    continue
                self.assertRegex(done.stderr, r"goes straight to the store disk, and watched \(pid \d+\) is stopped for about \d+ s")
                self.assertEqual((about["state"], about["only_in"], about["bytes"]), ("whole", "disk", 0))
                self.assertEqual(sorted(name for name in os.listdir(self.directory) if name.startswith(identifier)), [f"{identifier}.json"])
        self.assert_goes_on()
        self.audit.wait_for(audit="dump", decision="allowed", outcome="completed")
        self.audit.wait_for(audit="artifact", command="send", decision="allowed", outcome="completed")

    def test_it_is_not_here(self):
        store = self.begin_small()
        identifier = self.assert_ok(self.dump()).stdout.strip()
        self.wait_for_sent(identifier, store)
        refused = self.farport("artifacts", "--get", identifier, "-o", os.path.join(self.lab.near.directory, "not-here"))
        self.assertEqual(refused.code, 1)
        self.assertIn(f"{identifier} is in the store disk only", refused.stderr)
        self.assertIn("sent to disk", self.assert_ok(self.farport("artifacts")).stdout)
        follower = self.begin_command("artifacts", "--follow", self.lab.new_directory(self.lab.near, "followed"))
        wait.until(lambda: "it was to go straight to the store disk" in follower.output(), follower.output)
        self.assert_ok(self.farport("artifacts", "--remove", identifier))
        self.assertEqual(json.loads(self.assert_ok(self.farport("artifacts", "--json")).stdout), [])
        self.assert_has(store, identifier)

    def test_it_is_said_before_how_long_that_stops_the_application(self):
        self.begin_small(more='rate = "1MiB"\n')
        refused = self.farport("dump", "--keep", "--longest-stop", "1s")
        self.assertEqual(refused.code, 1)
        self.assertRegex(refused.stderr, r"only 1 s are allowed; the store disk could get it while it is written, which stops the "
                         r"application for about \d+ s: \d+ MiB at 1 MiB a second; --longest-stop allows that")
        self.assertEqual(json.loads(self.assert_ok(self.farport("artifacts", "--json")).stdout), [])
        self.assert_goes_on()

    def test_without_being_allowed_it_stays_here_or_is_refused(self):
        store = Store(self.lab, more="stream = true\n")
        self.begin(store, more='[dump]\nkeep_free = "1000000GiB"\n')
        refused = self.farport("dump", "--keep")
        self.assertEqual(refused.code, 1)
        self.assertRegex(refused.stderr, r"too little space.*the store disk could get it.*--longest-stop allows that")
        self.assertEqual(self.farport("dump", "--longest-stop", "5m").code, 2)
        identifier = self.assert_ok(self.dump()).stdout.strip()
        self.wait_for_sent(identifier, store)
        self.assertEqual(self.about(identifier)["only_in"], "disk")

    def test_a_store_that_does_not_stream_gets_nothing_so(self):
        store = Store(self.lab)
        self.begin(store, more='[dump]\nkeep_free = "1000000GiB"\n')
        refused = self.dump()
        self.assertEqual(refused.code, 1)
        self.assertIn("no store of this agent gets dumps while they are written (egress.stream)", refused.stderr)

    def test_where_there_is_room_it_is_kept(self):
        store = Store(self.lab, more="stream = true\n")
        self.begin(store)
        identifier = self.assert_ok(self.dump()).stdout.strip()
        self.assertEqual(self.about(identifier)["only_in"], "")
        self.wait_for_sent(identifier, store)

    def test_a_store_that_fails_ends_the_dump_and_not_the_application(self):
        for mode, why in (("refuse", "access denied"), ("cut", "before it had read everything"), ("lie", "it has 0 bytes of"),
                          ("killed", "signal 9 has killed it")):
            with self.subTest(mode):
                self.store = self.begin_small(mode)
                failed = self.dump()
                self.assertEqual(failed.code, 1, failed.described)
                self.assertRegex(failed.stderr, why)
                self.store.set("")
                identifiers = [each["id"] for each in json.loads(self.assert_ok(self.farport("artifacts", "--json")).stdout)]
                for identifier in identifiers:
                    about = self.about(identifier)
                    self.assertEqual((about["state"], about["sent_to"]), ("cut", []))
                    self.assertRegex(about["why"], why)
                self.assert_goes_on()
                self.wait_for_sent(self.assert_ok(self.dump()).stdout.strip(), self.store)
                self.agent.stop()

    def test_a_store_that_hangs_stops_the_application_no_longer_than_allowed(self):
        self.store = self.begin_small("slow")
        failed = self.farport("dump", "--keep", "--longest-stop", "15s")
        self.assertEqual(failed.code, 1, failed.described)
        self.assertRegex(failed.stderr, "it was stopped for 15 s, as long as was allowed")
        self.assert_goes_on()
        self.assert_cut(failed.stdout.strip(), "as long as was allowed")
        wait.until(lambda: not self.processes("sleep 1000"), lambda: self.processes("sleep 1000"))

    def begin_command_for_slow_one(self):
        self.store = self.begin_small("drop by drop")
        return self.begin_command("dump", "--keep", "--longest-stop", "5m")

    def begin_slow_one(self):
        """A dump under way that takes long, and its id."""
        asking = self.begin_command_for_slow_one()
        wait.until(lambda: "is stopped for about" in asking.output(), asking.output)
        wait.until(lambda: [name for name in self.store.files() if name.endswith(".part") and self.store.read(name)],
                   self.agent.log)
        return asking, json.loads(self.assert_ok(self.farport("artifacts", "--json")).stdout)[0]["id"]

    def test_one_that_is_removed_meanwhile_ends(self):
        asking, identifier = self.begin_slow_one()
        self.assert_ok(self.farport("artifacts", "--remove", identifier))
        self.assert_goes_on()
        self.assertEqual(json.loads(self.assert_ok(self.farport("artifacts", "--json")).stdout), [])
        asking.wait()

    def test_the_agent_goes_on_when_nobody_waits(self):
        asking, identifier = self.begin_slow_one()
        asking.send(signal.SIGINT)
        asking.wait()
        time.sleep(1)
        self.assertEqual(self.about(identifier)["state"], "under way")
        self.assertIn("straight to disk", self.assert_ok(self.farport("artifacts")).stdout)
        self.assert_ok(self.farport("artifacts", "--remove", identifier))
        self.assert_goes_on()

    def test_a_killed_writer_leaves_no_cut_file(self):
        """The runtime answers that all is well."""
        _, identifier = self.begin_slow_one()
        os.kill(self.createdumps()[0], signal.SIGKILL)
        self.store.set("")
        self.assert_cut(identifier, "its writer has ended early")
        self.assert_goes_on()
        entry = self.audit.wait_for(audit="dump", decision="allowed")
        self.assertIn("its writer has ended early", entry["outcome"])
        self.assertEqual(entry["arguments"]["store"], "disk")

    def test_an_agent_that_is_killed_before_the_dump_begins(self):
        """createdump would wait for a reader of its pipe for ever."""
        self.begin_command_for_slow_one()
        wait.until(self.createdumps, self.agent.log)
        self.agent.process.kill()
        wait.until(lambda: not self.createdumps(), self.createdumps)
        self.start()
        self.assert_goes_on()

    def test_one_that_waits_for_ever_is_released_by_the_next_agent(self):
        """Where all processes of the agent were killed at once, and createdump has not opened its pipe yet."""
        self.begin_command_for_slow_one()
        wait.until(self.createdumps, self.agent.log)
        for pid in self.lab.far.processes():
            if proc.status(pid, "Name").startswith("farport"):
                os.kill(pid, signal.SIGKILL)
        self.agent.process.wait()
        self.start()
        self.assert_goes_on()

    def test_a_killed_agent_lets_the_application_go_on(self):
        _, identifier = self.begin_slow_one()
        self.agent.process.kill()
        wait.until(lambda: not self.createdumps(), self.createdumps)
        self.store.set("")
        self.start()
        self.assert_goes_on()
        self.assert_cut(identifier, "the agent ended while it was taken")
        refused = self.farport("artifacts", "--get", identifier)
        self.assertIn("was to go straight to the store disk", refused.stderr)
        self.wait_for_sent(self.assert_ok(self.dump()).stdout.strip(), self.store)

    def test_a_stopped_agent_lets_the_application_go_on(self):
        _, identifier = self.begin_slow_one()
        self.agent.process.send(signal.SIGTERM)
        time.sleep(0.5)
        self.agent.process.send(signal.SIGTERM)
        wait.until(lambda: not self.createdumps(), self.createdumps)
        self.agent.stop()
        self.start()
        self.assert_goes_on()
        self.assertRegex(self.about(identifier)["state"], "cut")

    def test_five_at_once_are_refused_but_one(self):
        """A runtime writes one dump at a time."""
        asking, identifier = self.begin_slow_one()
        for _ in range(4):
            refused = self.dump()
            self.assertEqual(refused.code, 1)
            self.assertIn("another dump of it is under way", refused.stderr)
        self.assertEqual(self.about(identifier)["state"], "under way")
        self.assert_ok(self.farport("artifacts", "--remove", identifier))
        asking.wait()
        self.assert_goes_on()

    def test_wrong_settings(self):
        path = os.path.join(self.lab.new_directory(self.lab.far, "wrong"), "farport.toml")
        with open(path, "w", encoding="utf-8") as file:
            file.write('[artifacts]\ndirectory = "/tmp"\n[allow]\ncn = ["tools"]\n'
                       '[[egress]]\nname = "a"\ncommand = ["true"]\nstream = true\nkinds = ["trace"]\n')
        done = self.lab.far.run(needs.farport(), "check", "--config", path, "--listen", "127.0.0.1:9099",
                                *self.lab.agent_pair.flags())
        self.assertEqual(done.code, 1, done.described)
        self.assertIn("stream is for dumps", done.stdout + done.stderr)


if __name__ == "__main__":
    main()
