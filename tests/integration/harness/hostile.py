"""Text that would forge lines or command a terminal, and an agent that sends it."""

import json
import re
import unicodedata

from harness.scripted_agent import ScriptedAgent

# A line of an audit, commands for a terminal in both of their forms, and what turns text around.
FORGED = '{"audit":"command","identity":"CN=forged","decision":"allowed"}'
TEXT = f'x\n{FORGED}\r\x1b[2J\x1b]0;owned\x07\u009b31m\u2028\u202egpj.exe'
# The same where there is little room.
SHORT = "x\n{\r\x1b[2J\u009b31m\u2028\u202egpj"
_DIRECTIONS = set("\u200e\u200f\u061c\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_LOG_LINE = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} (trace|debug|info |warn|warni|error)")


def harm_in(output):
    """What in a program's output (bytes) would act on a terminal, in words; empty is good."""
    text = output.decode("utf-8")
    bad = sorted({character for character in text
                  if character in _DIRECTIONS or
                  character != "\n" and unicodedata.category(character) in ("Cc", "Zl", "Zp")})
    return " ".join(f"U+{ord(character):04X}" for character in bad)


def odd_lines(output):
    """The lines of an agent's standard error that are neither its log's nor its audit's."""
    odd = []
    for line in output.decode("utf-8").splitlines():
        if not (line.startswith('{"time":"') and json.loads(line)) and not _LOG_LINE.match(line):
            odd.append(line)
    return odd


def refusing_agent(lab, port, text):
    """An agent that answers every request with 403 and `text` as the reason."""
    body = json.dumps({"error": text}).encode()

    def answer(_, request):
        request.head(403)
        request.body(body, end=True)

    return ScriptedAgent(lab, port, answer)
