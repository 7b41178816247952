"""What an agent keeps in its directory: --keep, and `farport artifacts`."""

import hashlib
import json
import os
import re
import signal
import struct
import time

from harness import http2, needs, traces, unprivileged, wait
from harness.api import Api
from harness.audit import Audit
from harness.breaking import QUICK_PINGS
from harness.case import Case, main
from harness.orders import Orders
from harness.watched import Watched

NOBODY_HAS = "20261127T101112Z-orders-1-00000000"


class Keeping:
    @classmethod
    def prepare(cls):
        cls.application = cls.share(Watched(cls.lab))
        cls.directory = cls.lab.new_directory(cls.lab.far, "kept")
        cls.audit = Audit(os.path.join(cls.lab.directory, "audit.jsonl"))
        cls.configuration = os.path.join(cls.lab.new_directory(cls.lab.far, "agent"), "farport.toml")
        with open(cls.configuration, "w", encoding="utf-8") as file:
            file.write(f'[artifacts]\ndirectory = "{cls.directory}"\nsize = "64MiB"\n'
                       '[roles.lister]\ncommands = ["ProcessInfo*"]\n'
                       '[allow]\ncn = ["tools=admin", "operator=operator", "another=operator", "beside=operator", '
                       '"observer=observer", "lister=lister"]\n')
        cls.agent = cls.share(cls.lab.agent("--config", cls.configuration, "--audit", cls.audit.path, allow=()))
        cls.runtime = cls.agent.wait_for(cls.application)[0]

    def farport(self, *arguments, pair=None):
        command, *others = arguments
        return self.lab.near.run(needs.farport(), command, self.agent.remote, *(pair or self.lab.tools_pair).flags(), *others)

    def keep(self, *arguments, pair=None):
        """Has the agent keep something, and returns its id."""
        return self.assert_ok(self.farport(*arguments, "--keep", pair=pair)).stdout.strip()

    def all(self, pair=None):
        return {each["id"]: each for each in http2.get(self.lab, "/v1/artifacts", pair)}

    def get(self, identifier, *arguments, pair=None):
        """Gets one, and returns how the command ended, and the file."""
        file = os.path.join(self.lab.new_directory(self.lab.near, "got"), "file")
        return self.farport("artifacts", "--get", identifier, "-o", file, *arguments, pair=pair), file

    def got(self, identifier):
        done, file = self.get(identifier)
        self.assertEqual(self.assert_ok(done).stdout.strip(), file)
        with open(file, "rb") as opened:
            content = opened.read()
        about = self.all()[identifier]
        self.assertEqual((len(content), hashlib.sha256(content).hexdigest()), (about["size"], about["sha256"]))
        self.assertEqual(about["state"], "whole")
        return file, content

    def start(self, remote, command, *arguments):
        """A command that waits until something is kept."""
        process = self.lab.near.start(needs.farport(), command, remote, *self.lab.tools_pair.flags(), *arguments, "--keep",
                                      name="keep")
        self.addCleanup(process.stop)
        return process

    def begin(self, *arguments):
        """The same, and what it is kept as."""
        before = set(self.all())
        command, *others = arguments
        process = self.start(self.agent.remote, command, *others)
        return process, wait.until(lambda: set(self.all()) - before, process.output).pop()


class Artifacts(Keeping, Case):
    def test_a_trace(self):
        identifier = self.keep("trace", "--duration", "2s", "--profile", "gc-collect")
        file, _ = self.got(identifier)
        self.assertEqual(traces.ours(self.lab.near, file).totals["whole"], "yes")
        about = self.all()[identifier]
        self.assertEqual((about["kind"], about["ending"], about["runtime"]["name"]), ("trace", ".nettrace", "watched"))
        self.assertIn("CN=tools", about["taken_by"])
        for command in ("keep", "get"):
            entry = self.audit.wait_for(audit="artifact", command=command, decision="allowed")
            self.assertEqual(entry["arguments"]["kind"], "trace")
        self.audit.wait_for(audit="command", command="CollectTracing4")

    def test_a_dump(self):
        identifier = self.keep("dump", "--type", "mini")
        _, content = self.got(identifier)
        self.assertTrue(content.startswith(b"\x7fELF"))
        self.assertLess(self.all()[identifier]["bytes"], len(content) // 2)

    def test_a_heap(self):
        identifier = self.keep("gcdump")
        _, content = self.got(identifier)
        self.assertTrue(content.startswith(b"Nettrace"))
        directory = self.lab.new_directory(self.lab.near, "heap")
        recorded = os.path.join(directory, "x.heap.nettrace")
        self.assert_ok(self.farport("artifacts", "--get", identifier, "-o", recorded))
        objects, types = {}, {}
        for name, way in (("a", ("artifacts", self.agent.remote, "--get", identifier, *self.lab.tools_pair.flags())),
                          ("b", ("convert", recorded))):
            for made, ending in ((objects, ".gcdump"), (types, ".heap.json")):
                file = os.path.join(directory, name + ending)
                done = self.assert_ok(self.lab.near.run(needs.farport(), *way, "-o", file))
                self.assertEqual((done.stdout.strip(), done.stderr), (file, ""))
                with open(file, "rb") as opened:
                    made[name] = opened.read()
        self.assertIn(b"!FastSerialization.1", objects["a"][:40])
        # The two differ in the names of the host and the process alone.
        self.assertAlmostEqual(len(objects["a"]), len(objects["b"]), delta=200)
        self.assertEqual(json.loads(types["a"])["types"], json.loads(types["b"])["types"])
        again = self.farport("artifacts", "--get", identifier, "-o", os.path.join(directory, "a.gcdump"))
        self.assertEqual(again.code, 1, again.described)
        self.assertIn("--force", again.stderr)

    def test_what_the_api_keeps_is_named_for_what_it_is(self):
        for words, ending in (("gcdump?", ".types.json"), ("gcdump?format=gcdump&", ".heap.nettrace"),
                              ("logs?seconds=1&format=html&", ".ndjson")):
            with self.subTest(words):
                kept = http2.get(self.lab, f"/v1/runtimes/{self.runtime['id']}/{words}keep=true")
                self.assertEqual(kept["ending"], ending)
                wait.until(lambda kept=kept: self.all()[kept["id"]]["state"] == "whole", self.agent.log)
                file, content = self.got(kept["id"])
                self.assertTrue(file)
                self.assertNotIn(b"<html", content[:1000])

    def test_downloads_that_are_not_read_hold_up_their_own_alone_and_are_broken_off(self):
        identifier = self.keep("dump", "--type", "mini")
        client = http2.Client(self.lab)
        self.addCleanup(client.close)
        # No room for anything.
        client.send(http2.frame(http2.SETTINGS, 0, 0, struct.pack(">HI", http2.INITIAL_WINDOW_SIZE, 0)))
        streams = [client.request("POST", f"/v1/artifacts/{identifier}") for _ in range(8)]
        heads = client.frames_until(lambda f: f.kind == http2.HEADERS and f.stream == streams[-1])
        self.assertIsNotNone(heads[-1])
        file = os.path.join(self.lab.new_directory(self.lab.near, "got"), "file")
        ninth = self.lab.near.start(needs.farport(), "artifacts", self.agent.remote, *self.lab.tools_pair.flags(), "--get",
                                    identifier, "-o", file)
        other = self.lab.authority.client("beside")
        self.assert_ok(self.get(identifier, pair=other)[0])
        wait.stays(ninth.running, "it waits for its turn", 2)
        last = client.next_frame()
        while last.kind != http2.RST_STREAM:
            if last.kind == http2.PING and not last.flags & http2.ACK:
                client.send(http2.frame(http2.PING, http2.ACK, 0, last.payload))
            last = client.next_frame()
        self.assertIn(last.stream, streams)
        self.assertEqual(ninth.wait(), 0, ninth.output())
        broken = lambda: [entry for entry in self.audit.entries(audit="artifact", command="get")
                          if "nothing was read for 30 s" in entry["outcome"]]
        wait.until(broken, self.agent.log)

    def test_a_profile(self):
        _, content = self.got(self.keep("profile", "--duration", "2s"))
        self.assertIn(b"</html>", content)

    def test_it_goes_on_without_whoever_asked(self):
        def interrupted():
            process, identifier = self.begin("trace", "--duration", "4s", "--profile", "gc-collect")
            process.send(signal.SIGINT)
            self.assertEqual(process.wait(), 130, process.output())
            # It is listed a moment before the command is told its id.
            return identifier in process.stdout() and (process, identifier)
        process, identifier = wait.until(interrupted, "the command knows its artifact")
        self.assertIn("goes on", process.stderr())
        wait.until(lambda: self.all()[identifier]["state"] != "under way", self.agent.log)
        self.got(identifier)

    def test_it_goes_on_when_whoever_asked_is_killed(self):
        process, identifier = self.begin("trace", "--duration", "4s", "--profile", "gc-collect")
        process.kill()
        wait.until(lambda: self.all()[identifier]["state"] != "under way", self.agent.log)
        self.got(identifier)

    def test_what_is_being_taken_can_be_removed_and_not_got(self):
        process, identifier = self.begin("trace", "--duration", "60s", "--profile", "gc-collect")
        done, file = self.get(identifier)
        self.assertEqual(done.code, 1, done.described)
        self.assertIn("still being taken", done.stderr)
        self.assertFalse(os.path.exists(file))
        self.assert_ok(self.farport("artifacts", "--remove", identifier))
        wait.until(lambda: identifier not in self.all(), self.agent.log)
        self.assertEqual(process.wait(), 1, process.output())
        wait.until(lambda: not [name for name in os.listdir(self.directory) if identifier in name], self.agent.log)

    def test_five_at_once(self):
        processes = [self.start(self.agent.remote, "trace", "--duration", "2s", "--profile", "gc-collect") for _ in range(5)]
        codes = [process.wait() for process in processes]
        # One identity may have four under way.
        self.assertEqual(sorted(codes), [0, 0, 0, 0, 1], [process.output() for process in processes])
        refused = processes[codes.index(1)]
        self.assertIn("keeps 4 artifacts for you already", refused.stderr())
        for process in processes:
            if process is not refused:
                self.got(process.stdout().strip())

    def test_an_application_that_ends_meanwhile_leaves_a_cut_trace(self):
        application = self.use(Orders(self.lab.far))
        wait.until(lambda: len(self.agent.runtimes()) == 2, self.agent.log)
        process = self.start(f"{self.agent.remote}/orders", "trace", "--duration", "60s", "--profile", "gc-collect")
        before = wait.until(lambda: [each for each in self.all().values() if each["state"] == "under way"], process.output)
        time.sleep(1)
        application.kill()
        self.assertEqual(process.wait(), 1, process.output())
        about = self.all()[before[0]["id"]]
        self.assertEqual(about["state"], "cut")
        self.assertIn("runtime ended", about["why"])
        done, file = self.get(about["id"])
        self.assert_ok(done)
        self.assertEqual(os.path.getsize(file), about["size"])

    def test_an_agent_that_is_killed_leaves_a_cut_one_that_can_be_got(self):
        directory = self.lab.new_directory(self.lab.far, "killed")
        options = ("--artifacts", directory)
        agent = self.use(self.lab.agent(*options, allow=("--allow-cn", "tools=admin"), port=9200))
        agent.wait_for(self.application)
        process = self.start(agent.remote, "trace", "--duration", "60s", "--providers", "Microsoft-Windows-DotNETRuntime:0x1:5")
        wait.until(lambda: [name for name in os.listdir(directory) if name.endswith(".content.zst")
                            and os.path.getsize(os.path.join(directory, name)) > 200], process.output)
        time.sleep(2)
        agent.process.kill()
        process.wait()
        again = self.use(self.lab.agent(*options, allow=("--allow-cn", "tools=admin"), port=9200))
        flags = self.lab.tools_pair.flags()
        listed = self.lab.near.run(needs.farport(), "artifacts", again.remote, "--json", *flags)
        about, = json.loads(self.assert_ok(listed).stdout)
        self.assertEqual((about["state"], about["sha256"]), ("cut", ""))
        file = os.path.join(self.lab.new_directory(self.lab.near, "got"), "file")
        self.assert_ok(self.lab.near.run(needs.farport(), "artifacts", again.remote, "--get", about["id"], "-o", file,
                                         *flags))
        with open(file, "rb") as opened:
            self.assertTrue(opened.read().startswith(b"Nettrace"))

    def test_who_may_not_take_it_may_not_have_it(self):
        people = {name: self.lab.authority.client(name) for name in ("operator", "another", "observer", "lister")}
        dump = self.keep("dump", "--type", "mini", pair=people["operator"])
        trace = self.keep("trace", "--duration", "1s", "--profile", "gc-collect", pair=people["operator"])
        self.assertEqual(set(self.all(people["observer"])) & {dump, trace}, {trace})
        self.assertEqual(self.all(people["lister"]), {})
        api = Api(self.lab, people["observer"])
        self.assertEqual(api.request(f"/v1/artifacts/{dump}", "-X", "POST").status, 403)
        self.assertEqual(api.request(f"/v1/artifacts/{dump}").status, 403)
        for command in ("get", "remove"):
            method = "POST" if command == "get" else "DELETE"
            self.assertEqual(Api(self.lab, people["lister"]).request(f"/v1/artifacts/{trace}", "-X", method).status, 403)
            self.audit.wait_for(audit="artifact", command=command, decision="refused")
        # An observer may take a trace, and not fill the agent's directory with it.
        refused = self.farport("trace", "--duration", "1s", "--keep", pair=people["observer"])
        self.assertEqual(refused.code, 1, refused.described)
        self.assertIn("keep-artifacts takes the role", refused.stderr)
        refused = self.farport("dump", "--keep", pair=people["observer"])
        self.assertIn("GenerateCoreDump3 takes the role", refused.stderr)
        # An operator removes what is theirs; an admin removes anything.
        refused = self.farport("artifacts", "--remove", trace, pair=people["another"])
        self.assertEqual(refused.code, 1, refused.described)
        self.assertIn("remove-artifacts takes the role admin", refused.stderr)
        self.assert_ok(self.farport("artifacts", "--remove", trace, pair=people["operator"]))
        self.assert_ok(self.farport("artifacts", "--remove", dump))
        self.assertEqual(set(self.all()) & {dump, trace}, set())

    def test_what_is_not_there_is_said(self):
        for option in ("--get", "--remove"):
            done = self.farport("artifacts", option, NOBODY_HAS)
            self.assertEqual(done.code, 1, done.described)
            self.assertIn("nothing that you may have", done.stderr)
        for path in ("..%2F..%2Fetc%2Fpasswd", "../../etc/passwd", NOBODY_HAS, "."):
            for method in ("GET", "POST", "DELETE"):
                answer = Api(self.lab).request(f"/v1/artifacts/{path}", "-X", method, "--path-as-is")
                self.assertIn(answer.status, (404, 405), answer)
        for arguments, words in ((("artifacts", "--get", NOBODY_HAS, "--remove", NOBODY_HAS), "give one of"),
                                 (("artifacts", "-o", "x"), "--get"),
                                 (("trace", "--keep", "-o", "x"), "--output"),
                                 (("trace", "--keep", "--no-resume"), "fewer options"),
                                 (("gcdump", "--keep", "--top", "3"), "fewer options"),
                                 (("dump", "--keep", "--stay"), "fewer options")):
            done = self.farport(*arguments)
            self.assertEqual(done.code, 2, done.described)
            self.assertIn(words, done.stderr)

    def test_the_rest_of_a_content(self):
        identifier = self.keep("trace", "--duration", "1s", "--profile", "gc-collect")
        _, content = self.got(identifier)
        api = Api(self.lab)
        for offset in (1, len(content) // 2, len(content)):
            answer = api.request(f"/v1/artifacts/{identifier}?offset={offset}", "-X", "POST")
            self.assertEqual((answer.status, answer.body), (200, content[offset:]))
        for offset in (len(content) + 1, -1, "x"):
            self.assertEqual(api.request(f"/v1/artifacts/{identifier}?offset={offset}", "-X", "POST").status, 400)

    def test_a_table_fits_the_terminal(self):
        identifier = self.keep("trace", "--duration", "1s", "--profile", "gc-collect")
        table = self.assert_ok(self.farport("artifacts")).stdout
        self.assertIn(identifier, table)
        self.assertIn("whole", table)

    def test_an_agent_without_a_directory_says_so(self):
        agent = self.use(self.lab.agent(allow=("--allow-cn", "tools=admin"), port=9300))
        agent.wait_for(self.application)
        for arguments in (("artifacts",), ("dump", "--keep")):
            command, *others = arguments
            done = self.lab.near.run(needs.farport(), command, agent.remote, *self.lab.tools_pair.flags(), *others)
            self.assertEqual(done.code, 1, done.described)
            self.assertIn("farport serve --artifacts DIR", done.stderr)


class Follow(Keeping, Case):
    def setUp(self):
        self.receives = self.lab.new_directory(self.lab.near, "received")
        self.number = 0

    def small(self):
        """A small artifact."""
        return self.keep("gcdump")

    def write(self, name, content, mode="wb"):
        """What an earlier one has left."""
        path = os.path.join(self.receives, name)
        with open(path, mode) as opened:
            opened.write(content)
        unprivileged.give(path, self.lab.near.user)

    def write_begun(self, identifier, content, has_come=False):
        """A part that an earlier one has left, of a heap."""
        name = f"{self.agent.remote.replace(':', '_')}_gcdump_{identifier}"
        self.write(f".{name}.heap.nettrace.part", content)
        line = {"has_come": has_come, "artifact": f"{identifier}\n{self.all()[identifier]['sha256']}",
                "content": f"{name}.heap.nettrace", "about": f"{name}.json"}
        self.write(".farport-received", f"{json.dumps(line)}\n".encode(), "ab")

    def follow(self, *arguments, remote=None):
        flags = self.lab.tools_pair.flags()
        where = () if remote == "" else (remote or self.agent.remote,)
        process = self.lab.near.start(needs.farport(), "artifacts", *where, *flags, "--follow", self.receives, *arguments,
                                      name="follow")
        self.addCleanup(process.stop)
        return process

    def here(self):
        """The contents that have come, by their ids."""
        found = {}
        for name in os.listdir(self.receives):
            if not name.startswith(".") and not name.endswith(".json"):
                found[re.fullmatch(r".*_(\d{8}T.*?)(\.heap)?\.\w+", name).group(1)] = os.path.join(self.receives, name)
        return found

    def wait_for_all(self, process):
        wait.until(lambda: set(self.here()) >= set(self.all()), process.output)

    def assert_same(self):
        for identifier, about in self.all().items():
            with open(self.here()[identifier], "rb") as opened:
                self.assertEqual(hashlib.sha256(opened.read()).hexdigest(), about["sha256"])
            with open(re.sub(r"(\.heap)?\.\w+$", ".json", self.here()[identifier]), encoding="utf-8") as opened:
                self.assertEqual(json.load(opened)["sha256"], about["sha256"])

    def end(self, process):
        process.send(signal.SIGINT)
        self.assertEqual(process.wait(), 0, process.output())

    def test_all_come_once(self):
        self.small()
        process = self.follow()
        self.wait_for_all(process)
        later = self.small()
        self.wait_for_all(process)
        self.assert_same()
        self.end(process)
        self.assertEqual(process.stdout().count(later), 1)
        # Whatever became of it here.
        os.unlink(self.here()[later])
        again = self.follow()
        newest = self.small()
        wait.until(lambda: newest in self.here(), again.output)
        self.end(again)
        self.assertEqual([line for line in again.stdout().splitlines() if newest not in line], [])

    def test_only_one_receives_in_a_directory(self):
        process = self.follow()
        self.wait_for_all(process)
        another = self.follow()
        self.assertEqual(another.wait(), 1)
        self.assertIn("another process does so", another.stderr())

    def test_what_was_interrupted_goes_on(self):
        identifier = self.small()
        _, content = self.got(identifier)
        self.write_begun(identifier, content[:-100])
        process = self.follow()
        wait.until(lambda: identifier in self.here(), process.output)
        self.assert_same_content(identifier, content)
        entry = self.audit.wait_for(audit="artifact", command="get", to_tool=100)
        self.assertEqual(entry["arguments"]["id"], identifier)
        self.end(process)

    def assert_same_content(self, identifier, content):
        with open(self.here()[identifier], "rb") as opened:
            self.assertEqual(opened.read(), content)

    def test_a_damaged_part_is_got_anew(self):
        identifier = self.small()
        _, content = self.got(identifier)
        for damage in (b"x" * 1000, content + b"more"):
            self.write_begun(identifier, damage)
            process = self.follow()
            wait.until(lambda: identifier in self.here(), process.output)
            self.assert_same_content(identifier, content)
            self.end(process)
            for name in os.listdir(self.receives):
                os.unlink(os.path.join(self.receives, name))

    def test_what_only_lacks_its_name_gets_it(self):
        identifier = self.small()
        _, content = self.got(identifier)
        self.write_begun(identifier, content, has_come=True)
        # A kill in the middle of a line.
        self.write(".farport-received", b'{"has_come":fal', "ab")
        process = self.follow()
        wait.until(lambda: identifier in self.here(), process.output)
        self.assert_same_content(identifier, content)
        self.wait_for_all(process)
        self.end(process)
        self.assertNotIn(identifier, process.stdout())

    def test_what_it_did_not_begin_is_not_continued(self):
        identifier = self.small()
        name = f"{self.agent.remote.replace(':', '_')}_gcdump_{identifier}"
        self.write(f".{name}.heap.nettrace.part", b"mine")
        process = self.follow()
        wait.until(lambda: f"{name}.heap.nettrace.part: File exists; move that file away" in process.stderr(), process.output)
        os.unlink(os.path.join(self.receives, f".{name}.heap.nettrace.part"))
        wait.until(lambda: identifier in self.here(), process.output)
        self.end(process)

    def test_a_journal_that_can_not_be_read_is_said(self):
        self.write(".farport-received", b"what is this\n")
        process = self.follow()
        self.assertEqual(process.wait(), 1)
        self.assertIn("a line that can't be understood", process.stderr())

    def test_an_agent_that_goes_and_comes(self):
        directory = self.lab.new_directory(self.lab.far, "going")
        options = ("--artifacts", directory)
        agent = self.use(self.lab.agent(*options, allow=("--allow-cn", "tools=admin"), port=9400))
        agent.wait_for(self.application)
        process = self.follow(remote=agent.remote)
        first = self.start(agent.remote, "gcdump")
        self.assertEqual(first.wait(), 0, first.output())
        wait.until(lambda: self.here(), process.output)
        agent.process.kill()
        again = self.use(self.lab.agent(*options, allow=("--allow-cn", "tools=admin"), port=9400))
        again.wait_for(self.application)
        second = self.start(again.remote, "gcdump")
        self.assertEqual(second.wait(), 0, second.output())
        wait.until(lambda: second.stdout().strip() in self.here(), process.output)
        self.assertEqual(set(self.here()), {first.stdout().strip(), second.stdout().strip()})

    def going(self, *more):
        """An agent of its own, and who follows it."""
        agent = self.use(self.lab.agent("--artifacts", self.lab.new_directory(self.lab.far, "going"), *more,
                                        allow=("--allow-cn", "tools=admin", "--allow-cn", "alice=observer"), port=9400))
        agent.wait_for(self.application)
        process = self.follow(remote=agent.remote)
        self.keep_at(agent, "gcdump")
        wait.until(lambda: len(self.here()) == 1, process.output)
        return agent, process

    def keep_at(self, agent, command):
        process = self.start(agent.remote, command)
        self.assertEqual(process.wait(), 0, process.output())
        return process.stdout().strip()

    def test_an_agent_that_stops_lets_it_have_the_rest(self):
        agent, process = self.going("--drain", "30s")
        process.freeze()
        kept = {self.keep_at(agent, "gcdump"), self.keep_at(agent, "dump"), self.keep_at(agent, "gcdump")}
        agent.process.send(signal.SIGTERM)
        wait.until(lambda: "stopping" in agent.log(), agent.log)
        process.thaw()
        self.assertEqual(agent.process.wait(), 0, agent.log())
        self.assertEqual(kept - set(self.here()), set(), process.output())

    def cut_off(self, *more):
        """An agent that has ended the session of a frozen follower, and kept something since."""
        agent, process = self.going(*QUICK_PINGS, *more)
        process.freeze()
        wait.until(lambda: re.search(r"session of CN=tools from \S+ ended: nothing has been heard", agent.log()), agent.log)
        kept = self.keep_at(agent, "gcdump")
        agent.process.send(signal.SIGTERM)
        return agent, process, kept

    def test_an_agent_that_stops_waits_for_one_that_was_cut_off(self):
        agent, process, kept = self.cut_off("--drain", "60s")
        wait.until(lambda: re.search("waiting for CN=tools .*was cut off at ", agent.log()), agent.log)
        other = self.lab.near.run(needs.farport(), "ps", agent.remote, *self.lab.authority.client("alice").flags())
        self.assertNotEqual(other.code, 0, other.described)
        self.assertIn("the agent is being stopped", other.stderr)
        process.thaw()
        self.assertEqual(agent.process.wait(), 0, agent.log())
        self.assertIn(kept, self.here(), process.output())
        self.assertNotIn("did not come back", agent.log())

    def test_an_agent_that_stops_says_what_one_that_was_cut_off_lacks(self):
        agent, process, kept = self.cut_off("--drain", "1s")
        self.assertEqual(agent.process.wait(), 0, agent.log())
        self.assertRegex(agent.log(), f"CN=tools .* was cut off at .* and did not come back; since then there came: .*{kept}")
        process.thaw()
        self.end(process)

    def test_an_agent_that_stops_lets_it_have_what_is_being_taken(self):
        agent, process = self.going("--drain", "30s")
        taking = self.start(agent.remote, "trace", "--duration", "5s")
        listed = ("artifacts", agent.remote, *self.lab.tools_pair.flags())
        wait.until(lambda: "under way" in self.lab.near.run(needs.farport(), *listed).stdout, taking.output)
        agent.process.send(signal.SIGTERM)
        self.assertEqual(agent.process.wait(), 0, agent.log())
        self.assertEqual(len(self.here()), 2, process.output())

    def test_an_agent_that_stops_waits_no_longer_than_it_may(self):
        agent, process = self.going("--drain", "1s")
        process.freeze()
        agent.process.send(signal.SIGTERM)
        self.assertEqual(agent.process.wait(25), 0, agent.log())
        process.thaw()
        self.end(process)

    def test_an_agent_that_dials(self):
        self.small()
        mirror = f"{self.lab.near.address}:9500"
        agent = self.use(self.lab.agent("--artifacts", self.directory, "--dial", mirror, allow=("--allow-cn", "tools=admin"), port=9501))
        agent.wait_for(self.application)
        process = self.follow("--accept", mirror, remote="")
        self.wait_for_all(process)
        self.assert_same()
        self.end(process)

    def test_a_directory_that_can_not_be_used_is_said(self):
        os.chmod(self.receives, 0o777)
        process = self.follow()
        self.assertEqual(process.wait(), 1)
        self.assertIn("others could write there", process.stderr())
        self.receives = "/proc/nowhere"
        self.assertEqual(self.follow().wait(), 1)



if __name__ == "__main__":
    main()
