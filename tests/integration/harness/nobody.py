"""Programs on the far host that are not root, and nobody's in particular."""

import os
import shutil

from harness import needs
from harness.certificates import Pair

NOBODY = 65534


def as_nobody(host):
    """A way into the host as this user."""
    return [*host.enter, needs.program("setpriv"), "--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups"]


def pair_of_nobody(pair, directory):
    """A certificate and key that this user may read."""
    own = Pair(directory, "agent")
    for source, target in ((pair.cert, own.cert), (pair.key, own.key), (pair.ca, own.ca)):
        shutil.copy(source, target)
        os.chown(target, NOBODY, NOBODY)
    return own
