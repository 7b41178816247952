#!/usr/bin/env python3
"""Draws what a terminal shows of a command, as an SVG. docs/terminal.svg is such a picture: 128 columns of farport top.

usage: scripts/picture.py [--columns N] [--rows N] [--seconds N] FILE COMMAND [ARGUMENT...]

  --columns, --rows   size of the terminal (100x24)
  --seconds           when to take the picture (8). Then Ctrl-C ends the command.

It runs the command on a pseudo-terminal, and draws a prompt with the command, and the screen below it. It needs two Debian
packages: python3-pyte keeps the screen, python3-rich draws it.
"""

import argparse
import fcntl
import itertools
import os
import pathlib
import pty
import re
import select
import shlex
import signal
import struct
import sys
import termios
import time

import pyte
import rich._export_format
import rich.terminal_theme
from rich.console import Console
from rich.style import Style
from rich.text import Text

# Without the fonts that rich would load from the Internet: a picture on a page loads nothing.
FORMAT = re.sub(r"@font-face \{\{.*?\}\}\s*", "", rich._export_format.CONSOLE_SVG_FORMAT, flags=re.DOTALL)


def show(command, screen, seconds):
    """Runs the command on a terminal of the screen's size, and lets it draw on the screen."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ.update(TERM="xterm-256color", LC_ALL="C.UTF-8")
        # By the child itself, so that the window has its size before the command asks for it.
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", screen.lines, screen.columns, 0, 0))
        os.execvp(command[0], command)
    stream = pyte.ByteStream(screen)
    end = time.monotonic() + seconds
    try:
        while (left := end - time.monotonic()) > 0:
            if select.select([terminal], [], [], left)[0]:
                stream.feed(os.read(terminal, 65536))
    except OSError:  # It has ended by itself.
        pass
    os.kill(pid, signal.SIGINT)
    os.waitpid(pid, 0)
    os.close(terminal)


def color(name):
    """The name that rich has for a color of pyte's."""
    if name == "default":
        return None
    if re.fullmatch("[0-9a-f]{6}", name):
        return "#" + name
    return re.sub("^bright", "bright_", name.replace("brown", "yellow"))


def style_of(cell):
    return Style(color=color(cell.fg), bgcolor=color(cell.bg), bold=cell.bold, italic=cell.italics,
                 underline=cell.underscore, reverse=cell.reverse)


def text_of(screen):
    """The screen with its colors, without the empty lines at its end."""
    text = Text()
    for row in range(screen.lines):
        cells = [screen.buffer[row][column] for column in range(screen.columns)]
        # Cells of one style together: each piece becomes an element of the picture.
        for style, alike in itertools.groupby(cells, style_of):
            text.append("".join(cell.data for cell in alike), style)
        text.append("\n")
    text.rstrip()
    return text


def main():
    parser = argparse.ArgumentParser()
    parser.format_help = lambda: __doc__
    for option, value in (("--columns", 100), ("--rows", 24), ("--seconds", 8)):
        parser.add_argument(option, type=int, default=value)
    parser.add_argument("file", type=pathlib.Path)
    parser.add_argument("command", nargs=argparse.REMAINDER)
    given = parser.parse_args()
    if not given.command:
        sys.exit(__doc__.strip())
    screen = pyte.Screen(given.columns, given.rows)
    show(given.command, screen, given.seconds)
    console = Console(record=True, width=given.columns, file=open(os.devnull, "w", encoding="utf-8"))
    console.print(Text("$ " + shlex.join([os.path.basename(given.command[0]), *given.command[1:]]), "bold"))
    console.print(text_of(screen), no_wrap=True, crop=True)
    console.save_svg(given.file, title="", theme=rich.terminal_theme.MONOKAI, code_format=FORMAT)


if __name__ == "__main__":
    main()
