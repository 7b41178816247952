"""farport brings itself along to a host where another user of the same group would have a program of their own run by it."""

import hashlib
import os
import pathlib
import shutil
import signal

from harness import needs, proc, wait
from harness.case import Case, main
from harness.ssh import USER, Account, Ssh

COLLEAGUE = USER + 1
GROUP = 61300
COLLEAGUE_PROGRAM = pathlib.Path(__file__).parent / "harness" / "colleague.py"


def short_digest():
    """As it stands in the directory's name."""
    return hashlib.sha256(pathlib.Path(needs.static_farport()).read_bytes()).hexdigest()[:16]


class Colleague(Case):
    """What both tests share: the colleague, a mark that only a trap makes, and directories of the victim's."""

    def setUp(self):
        super().setUp()
        self.marks = pathlib.Path(self.lab.new_directory(self.lab.far, "marks"))
        self.marks.chmod(0o777)
        self.mark = self.marks / "trapped"
        # As every user's program may be run.
        self.program = shutil.copy(COLLEAGUE_PROGRAM, self.marks)

    def tearDown(self):
        super().tearDown()
        self.assertEqual(os.listdir(self.marks), ["colleague.py"], "what the colleague has planted has been run")

    def as_colleague(self, *arguments):
        return [needs.program("setpriv"), f"--reuid={COLLEAGUE}", f"--regid={GROUP}", "--clear-groups", "/usr/bin/python3",
                "-B", self.program, *arguments]

    def shared_directory(self, where):
        """A directory of the victim's that the group may write to."""
        path = pathlib.Path(where)
        path.mkdir()
        os.chown(path, USER, GROUP)
        path.chmod(0o770)
        return path


class BesideSsh(Colleague):
    """By a real server, to a host without /run/user/UID."""

    @classmethod
    def prepare(cls):
        cls.ssh = Ssh(cls.lab, Account())
        cls.addClassCleanup(cls.ssh.stop)
        cls.target = f"ssh://{cls.lab.far.address}"

    def setUp(self):
        super().setUp()
        self.tmp = pathlib.Path(self.ssh.tmp)
        self.name = f"farport-{USER}-{short_digest()}"

    def tearDown(self):
        wait.until(lambda: self.ssh.left() == ([], []), lambda: f"nothing is left of {self.ssh.left()}")
        super().tearDown()

    def ps(self):
        return self.assert_ok(self.lab.near.run(needs.farport(), "ps", self.target, environment=self.ssh.environment()))

    def avoided(self, done, path):
        self.assertIn(f"does not use {path} there", done.stderr)
        self.assertIn("sends farport there", done.stderr)

    def remove(self, path):
        """As root, whatever it is."""
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)

    def test_nothing_that_the_colleague_plants_is_run(self):
        for kind in ("own", "moved", "link", "file"):
            with self.subTest(kind):
                # Where both may write, as in a project's directory.
                shared = pathlib.Path(self.lab.new_directory(self.lab.far, f"shared-{kind}"))
                shared.chmod(0o777)
                source = self.shared_directory(shared / "results")
                planted = self.tmp / self.name
                self.assert_ok(self.lab.far.run(*self.as_colleague("plant", kind, planted, source, self.mark)))
                before = os.lstat(planted)
                self.avoided(self.ps(), f"/tmp/{self.name}")
                after = os.lstat(planted)
                self.assertEqual((before.st_ino, before.st_mode), (after.st_ino, after.st_mode))
                wait.until(lambda: os.listdir(self.tmp) == [self.name], lambda: os.listdir(self.tmp))
                self.remove(planted)

    def test_a_session_that_breaks_finds_its_agent_again_where_the_usual_name_is_taken(self):
        planted = self.tmp / self.name
        self.assert_ok(self.lab.far.run(*self.as_colleague("plant", "own", planted, "", self.mark)))
        mirror = self.lab.mirror(self.target, environment=self.ssh.environment())
        agent = wait.until(lambda: [name for name in os.listdir(self.tmp) if name != self.name
                                    and (self.tmp / name / "stdio.sock").exists()], mirror.process.output)
        wait.until(lambda: "following" in mirror.process.output(), mirror.process.output)
        for pid in self.lab.near.processes():
            if b"ssh" in b" ".join(proc.command_line(pid)[:1]):
                os.kill(pid, signal.SIGKILL)
        wait.until(lambda: "again" in mirror.process.output(), mirror.process.output)
        self.assertEqual(sorted(os.listdir(self.tmp)), sorted([self.name, *agent]))
        mirror.stop()
        wait.until(lambda: os.listdir(self.tmp) == [self.name], lambda: os.listdir(self.tmp))
        self.remove(planted)

    def test_a_program_in_the_users_own_directory_is_checked(self):
        trap = f"#!/bin/sh\ntouch {self.mark}\n"
        genuine = pathlib.Path(needs.static_farport()).read_bytes()
        for content, owner, mode in ((trap.encode(), USER, 0o700), (genuine, COLLEAGUE, 0o755), (genuine, USER, 0o770)):
            with self.subTest(owner=owner, mode=oct(mode), size=len(content)):
                directory = self.tmp / self.name
                directory.mkdir(mode=0o700)
                os.chown(directory, USER, USER)
                program = directory / "farport"
                program.write_bytes(content)
                os.chown(program, owner, GROUP)
                program.chmod(mode)
                self.avoided(self.ps(), f"/tmp/{self.name}/farport")
                wait.until(lambda: os.listdir(self.tmp) == [], lambda: os.listdir(self.tmp))

    def test_the_same_program_is_sent_once(self):
        mirror = self.lab.mirror(self.target, environment=self.ssh.environment())
        wait.until(lambda: os.listdir(self.tmp) == [self.name], lambda: os.listdir(self.tmp))
        wait.until(lambda: (self.tmp / self.name / "stdio.sock").exists(), mirror.process.output)
        for _ in range(2):
            done = self.ps()
            self.assertNotIn("sends farport", done.stderr)
            self.assertNotIn("does not use", done.stderr)
        mirror.stop()


class BetweenCheckAndUse(Colleague):
    """The script as a shell at the other end runs it, among tools that let the colleague act after each step."""

    TOOLS = ("sh", "id", "ls", "mkdir", "chmod", "rm", "rmdir", "head", "wc", "mv", "gzip", "sha256sum", "uname")

    def stage(self, mode):
        """A directory of the victim's for temporary files, and what the colleague would exchange for ours."""
        tmp = pathlib.Path(self.lab.new_directory(self.lab.near, "tmp"))
        os.chown(tmp, USER, GROUP)
        tmp.chmod(mode)
        for number in range(60):
            self.shared_directory(tmp / f"spare-{number}")
        return tmp

    def slow_tools(self, ways):
        """What the script uses: each tool works, and lets the colleague act before it ends."""
        directory = pathlib.Path(self.lab.new_directory(self.lab.near, "tools"))
        directory.chmod(0o755)
        for name in self.TOOLS:
            real = needs.program("dash" if name == "sh" else name)
            tool = directory / name
            if name == "sh":
                tool.symlink_to(real)
                continue
            ask = f"echo >{ways}/ask; read -r answer <{ways}/answer"
            tool.write_text(f'#!/bin/dash\n{real} "$@"\ncode=$?\n{ask}\nexit $code\n', encoding="ascii")
            tool.chmod(0o755)
        return directory

    def ps(self, tmp, first=0, more_path=""):
        """Runs `farport ps` where `ssh` runs the command here, as the victim. The colleague begins after `first` steps."""
        ways = pathlib.Path(self.lab.new_directory(self.lab.near, "ways"))
        ways.chmod(0o755)
        for name in ("ask", "answer"):
            os.mkfifo(ways / name)
            os.chmod(ways / name, 0o666)
        tools = self.slow_tools(ways)
        directory = pathlib.Path(self.lab.new_directory(self.lab.near, "bin"))
        victim = f"{needs.program('setpriv')} --reuid={USER} --regid={USER} --clear-groups {needs.program('env')} -i"
        (directory / "ssh").write_text(
            f"#!/bin/sh\nfor last; do :; done\nexec {victim} PATH={more_path}{tools} TMPDIR={tmp} HOME={tmp} {tools}/sh -c \"$last\"\n",
            encoding="ascii")
        (directory / "ssh").chmod(0o755)
        colleague = self.lab.near.start(*self.as_colleague("watch", tmp, f"farport-{USER}-", self.mark, ways, first),
                                        name="colleague")
        # Both fifos stay open: a shell that asks or hears is one of many.
        held = [os.open(ways / name, os.O_RDWR) for name in ("ask", "answer")]
        done = self.lab.near.run(needs.farport(), "ps", "ssh://any",
                                 environment={"PATH": f"{directory}:{os.environ['PATH']}",
                                              "FARPORT_STATIC_BINARY": needs.static_farport(), "FARPORT_LINGER": "1s"})
        for fd in held:
            os.close(fd)
        colleague.stop()
        return done, pathlib.Path(colleague.stdout_path).read_text(encoding="ascii").split()

    def test_where_nothing_can_be_renamed_the_colleague_is_powerless(self):
        done, worked = self.ps(self.stage(0o1770))
        self.assertEqual(done.code, 0, done.described)
        self.assertEqual(worked, [])

    def test_tools_come_from_absolute_places_alone(self):
        tmp = self.stage(0o1770)
        for name in ("ls", "mkdir", "farport"):
            planted = tmp / name
            planted.write_text(f"#!/bin/sh\ntouch {self.mark}\n", encoding="ascii")
            planted.chmod(0o777)
        done, _ = self.ps(tmp, more_path=".::bin:")
        self.assertEqual(done.code, 0, done.described)

    def test_directories_that_are_exchanged_from_any_step_on(self):
        for first in range(200):
            done, worked = self.ps(self.stage(0o770), first)
            self.assertEqual(os.listdir(self.marks), ["colleague.py"], first)
            if not worked:
                break
            # It works by what was checked before, or says what is wrong.
            told = "does not use" in done.stderr or "not yours alone" in done.stderr
            self.assertTrue(done.code == 0 or told, done.described)
        self.assertGreater(first, 8)
        self.assertEqual(done.code, 0, done.described)


if __name__ == "__main__":
    main()
