"""Files that commands write: checked before anything is asked for, whole or not there, and the old one kept until then."""

import os
import signal

from harness import needs, wait
from harness.audit import Audit
from harness.case import Case, main

OLD = b"what was there before"
PAGE = 4096
COMMANDS = {"trace": ("x.nettrace", "--duration", "2s"), "counters": ("x.csv", "--format", "csv", "--duration", "5s"),
            "logs": ("x.log", "--level", "Trace", "--duration", "3s"), "exceptions": ("x.log", "--duration", "5s"),
            "profile": ("x.html", "--duration", "2s"), "gcdump": ("x.gcdump",), "dump": ("x.dmp",)}
# What the audit's entries of recordings, profiles and dumps have in them, and no others.
ASKED_FOR = ("CollectTracing", "'profile'", "GenerateCoreDump")


class OutputFiles(Case):
    @classmethod
    def prepare(cls):
        cls.application = cls.lab.orders(busy=True)
        cls.agent = cls.share(cls.lab.agent())
        cls.agent.wait_for(cls.application)

    def start(self, command, file, *more, agent=None):
        arguments = COMMANDS[command][1:]
        return self.lab.near.start(needs.farport(), command, (agent or self.agent).remote, *self.lab.tools_pair.flags(),
                                   *arguments, "-o", file, *more, name=f"farport-{command}")

    def run_to_end(self, command, file, *more, agent=None):
        process = self.start(command, file, *more, agent=agent)
        return process.wait(), process

    def test_a_full_disk_leaves_the_old_file_and_nothing_cut(self):
        # What is logged and thrown goes the same way as counters, but this application does neither.
        for command in ("trace", "counters", "profile", "gcdump", "dump"):
            with self.subTest(command):
                name = COMMANDS[command][0]
                directory = self.lab.new_directory(self.lab.near, "full")
                script = ('mount -t tmpfs -o size=1m none "$0" && cd "$0" && printf "%s" "$1" > "$2" && '
                          'dd if=/dev/zero of=filler bs=4096 status=none; '
                          'test "$3" = none || truncate -s -"$3" filler; shift 3; "$@"; code=$?; '
                          'rm filler; ls -A; cat *; exit $code')
                room = "none" if command == "counters" else str(PAGE)
                process = self.lab.near.start(
                    "unshare", "--mount", "sh", "-c", script, directory, OLD.decode(), name, room, needs.farport(), command,
                    self.agent.remote, *self.lab.tools_pair.flags(), *COMMANDS[command][1:], "-o", f"{directory}/{name}", "--force")
                self.assertEqual(process.wait(), 1, process.output())
                self.assertEqual(process.stdout(), f"{name}\n{OLD.decode()}", process.output())
                said = process.stderr()
                self.assertTrue("No space left on device" in said or "are free there" in said, said)

    def test_nothing_is_asked_for_where_it_could_not_be_written(self):
        # An agent of its own: lines of what other tests asked for come when that ends, which may be later than their commands.
        audit = Audit(os.path.join(self.lab.directory, "audit.jsonl"))
        agent = self.use(self.lab.agent("--audit", audit.path, port=9001))
        agent.wait_for(self.application)
        for command, (name, *_) in COMMANDS.items():
            with self.subTest(command):
                code, process = self.run_to_end(command, f"/nowhere/{name}", agent=agent)
                self.assertIn(code, (1, 2), process.output())
                self.assertIn("make the directory /nowhere first", process.stderr())
                directory = self.lab.new_directory(self.lab.near, name)
                code, process = self.run_to_end(command, directory, agent=agent)
                self.assertIn(code, (1, 2), process.output())
        # Whatever had been asked for before would have ended by the time that this has.
        code, process = self.run_to_end("trace", f"{self.lab.new_directory(self.lab.near, 'written')}/x.nettrace", agent=agent)
        self.assertEqual(code, 0, process.output())

        def asked_for():
            return [entry for entry in audit.entries() if any(part in str(entry) for part in ASKED_FOR)]

        wait.until(asked_for, lambda: f"the recording is in the audit: {audit.entries()}")
        self.assertEqual(len(asked_for()), 1, asked_for())

    def test_the_old_file_stays_where_nothing_begins(self):
        self.application.process.freeze()
        self.addCleanup(self.application.process.thaw)
        for command, (name, *_) in COMMANDS.items():
            if command == "profile":
                continue  # the kernel's samples need no answer
            with self.subTest(command):
                directory = self.lab.new_directory(self.lab.near, "old")
                file = os.path.join(directory, name)
                with open(file, "wb") as old:
                    old.write(OLD)
                process = self.agent.wait_for_session_of(lambda command=command, file=file: self.start(command, file, "--force"))
                process.send(signal.SIGINT)
                self.assertEqual(process.wait(), 130, process.output())
                self.assertEqual(os.listdir(directory), [name])
                with open(file, "rb") as kept:
                    self.assertEqual(kept.read(), OLD)

    def test_the_new_one_takes_its_place_once_it_is_whole(self):
        for command, (name, *_) in COMMANDS.items():
            with self.subTest(command):
                directory = self.lab.new_directory(self.lab.near, "new")
                file = os.path.join(directory, name)
                with open(file, "wb") as old:
                    old.write(OLD)
                code, process = self.run_to_end(command, file)
                self.assertIn(code, (1, 2), process.output())
                self.assertIn("--force", process.stderr())
                code, process = self.run_to_end(command, file, "--force")
                self.assertEqual(code, 0, process.output())
                beside = [name + ".runtime"] if command == "dump" else []
                self.assertEqual(sorted(os.listdir(directory)), [name, *beside])
                with open(file, "rb") as kept:
                    self.assertFalse(kept.read().startswith(OLD))

    def test_a_new_recording_can_be_read_while_it_grows(self):
        file = os.path.join(self.lab.new_directory(self.lab.near, "growing"), "x.csv")
        process = self.start("counters", file)
        wait.until(lambda: os.path.exists(file) and os.path.getsize(file) > 0, process.output)
        process.send(signal.SIGINT)
        self.assertEqual(process.wait(), 0, process.output())
        self.assertGreater(os.path.getsize(file), 0)


if __name__ == "__main__":
    main()
