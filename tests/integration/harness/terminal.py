"""A terminal: a pty, a program in it, and what its screen shows."""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import termios
import threading
import unicodedata

from harness import proc, wait
from harness.wait import LONGEST_SECONDS

_SEQUENCE = re.compile(r"\x1b\[([0-9;?]*)([@-~])|\x1b[^\[]")


class Screen:
    """As much of a terminal as programs that draw a few lines need: it wraps, scrolls, moves the cursor up and down and
    erases. Whatever else it is told is remembered in `odd`, for no program here has a reason to say it."""

    def __init__(self, columns, rows):
        self.columns, self.rows = columns, rows
        self.scrollback = []
        self.odd = []
        self._lines = [""]
        self._row = self._column = 0
        self._left = ""

    def lines(self):
        """What is shown, without the empty lines at the end."""
        shown = [line.rstrip() for line in self._lines]
        while shown and not shown[-1]:
            shown.pop()
        return shown

    def text(self):
        """The same as one text."""
        return "\n".join(self.lines())

    def resize(self, columns, rows):
        """Another size of the window. Lines that are too long for it are wrapped, as most terminals do."""
        wrapped, row = [], 0
        for number, line in enumerate(self._lines):
            if number == self._row:
                row = len(wrapped)
            wrapped += [line[at:at + columns] for at in range(0, max(len(line.rstrip()), 1), columns)]
        self.columns, self.rows = columns, rows
        self._lines, self._row = wrapped, row
        self._scroll()

    def feed(self, text):
        """Takes what a program has written."""
        text = self._left + text
        self._left = ""
        at = 0
        while at < len(text):
            if text[at] == "\x1b":
                sequence = _SEQUENCE.match(text, at)
                if not sequence:
                    self._left = text[at:]
                    return
                self._obey(sequence)
                at = sequence.end()
            else:
                self._put(text[at])
                at += 1

    def _obey(self, sequence):
        count, final = sequence.group(1), sequence.group(2)
        number = int(count) if count and count.isdigit() else 1
        if final == "A":
            self._row = max(self._row - number, 0)
        elif final == "F":
            self._row, self._column = max(self._row - number, 0), 0
        elif final == "J" and not count:
            self._lines[self._row] = self._lines[self._row][:self._column]
            del self._lines[self._row + 1:]
        elif final == "K":
            keep = "" if count == "2" else self._lines[self._row][:self._column]
            self._lines[self._row] = keep
        else:
            self.odd.append(sequence.group(0))

    def _put(self, character):
        if character == "\r":
            self._column = 0
        elif character == "\n":
            self._next_line()
        elif unicodedata.category(character) == "Cc":
            self.odd.append(character)
        else:
            width = 2 if unicodedata.east_asian_width(character) in "WF" else 1
            if self._column + width > self.columns:
                self._column = 0
                self._next_line()
            line = self._lines[self._row].ljust(self._column)
            self._lines[self._row] = line[:self._column] + character + line[self._column + 1:]
            self._column += 1

    def _next_line(self):
        self._row += 1
        if self._row == len(self._lines):
            self._lines.append("")
        self._scroll()

    def _scroll(self):
        while len(self._lines) > self.rows:
            self.scrollback.append(self._lines.pop(0).rstrip())
            self._row = max(self._row - 1, 0)


class Terminal:
    """A program on a host in a terminal of its own, of which it is the session's leader: a shell, or farport itself."""

    def __init__(self, host, *arguments, columns=80, rows=24, environment=None):
        self.screen = Screen(columns, rows)
        self.arguments = arguments
        self._lock = threading.Lock()
        self._closing = False
        environment = host.environment({"TERM": "xterm-256color", "PS1": "$ ", **(environment or {})})
        self._launcher, self._master = pty.fork()
        if self._launcher == 0:
            # The program may ask before this one goes on.
            self._set_size(0, columns, rows)
            os.chdir(host.directory)
            # Ctrl-C is for the program, as it is below a shell. What leads the session must outlive it: the kernel
            # would take the terminal from a program that is about to put it back as it was.
            for key in (signal.SIGINT, signal.SIGQUIT):
                signal.signal(key, signal.SIG_IGN)
            program = ["env", "--default-signal=INT,QUIT", *(str(argument) for argument in arguments)]
            os.execvpe(host.enter[0], [*host.enter, *program], environment)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self._code = None

    @property
    def pid(self):
        """The program's pid, as the lab sees it: the launcher has entered the host and forked."""
        return wait.until(lambda: proc.children(self._launcher), "the terminal's program has started")[0]

    @staticmethod
    def _set_size(terminal, columns, rows):
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def _read(self):
        # Not in a read when the window is closed: the terminal would stay for as long as that waits.
        while not self._closing:
            if not select.select([self._master], [], [], 0.05)[0]:
                continue
            try:
                part = os.read(self._master, 65536)
            except OSError:
                return
            with self._lock:
                self.screen.feed(part.decode("utf-8", errors="replace"))

    def lines(self):
        """What the screen shows."""
        with self._lock:
            return self.screen.lines()

    def shown(self):
        """The same as one text, for a person too."""
        return "\n".join(self.lines())

    def everything(self):
        """What has been scrolled away, and what is shown."""
        with self._lock:
            return self.screen.scrollback + self.screen.lines()

    def resize(self, columns, rows):
        """Makes the window another size."""
        with self._lock:
            self.screen.resize(columns, rows)
        self._set_size(self._master, columns, rows)

    def shows_what_is_typed(self):
        """Whether it echoes."""
        return bool(termios.tcgetattr(self._master)[3] & termios.ECHO)

    def type(self, text):
        """Types on the keyboard."""
        os.write(self._master, text.encode())

    def wait_for(self, condition, what, seconds=LONGEST_SECONDS):
        """Waits until `condition(lines)` holds for what the screen shows."""
        return wait.until(lambda: condition(self.lines()), lambda: f"{what}\n--- the screen\n{self.shown()}\n---", seconds)

    def wait_for_text(self, text, seconds=LONGEST_SECONDS):
        """Waits until the screen shows this text."""
        self.wait_for(lambda lines: text in "\n".join(lines), f"the screen shows {text!r}", seconds)

    def wait(self, seconds=LONGEST_SECONDS):
        """The exit code of the program, once it has ended."""
        def ended():
            if self._code is None:
                pid, status = os.waitpid(self._launcher, os.WNOHANG)
                if pid:
                    self._code = os.waitstatus_to_exitcode(status)
            return self._code is not None
        wait.until(ended, lambda: f"{self.arguments} has ended\n{self.shown()}", seconds)
        self._reader.join(2)
        return self._code

    def close(self):
        """Closes the window: what runs in it is hung up."""
        self._closing = True
        self._reader.join()
        os.close(self._master)
