"""The agent's HTTP/2 API, with curl as its client."""

from harness import needs
from harness.agent import PORT
from harness.certificates import AGENT_NAME


def url(path):
    """The address of something that the lab's agent offers."""
    return f"https://{AGENT_NAME}:{PORT}{path}"


def curl(lab, *arguments):
    """A command line of curl, with the tools' certificate."""
    pair = lab.tools_pair
    return [needs.program("curl"), "--silent", "--show-error", "--fail-with-body", "--http2", "--max-time", "20",
            "--cert", pair.cert, "--key", pair.key, "--cacert", pair.ca, *arguments]


def send(lab, runtime, message):
    """One diagnostic connection to a runtime: sends a message and returns all that comes back."""
    arguments = curl(lab, "--data-binary", "@-", url(f"/v1/runtimes/{runtime['id']}/ipc"))
    answer, code = lab.near.pipe(arguments, message)
    if code != 0:
        raise AssertionError(f"curl ended with {code}: {answer!r}")
    return answer
