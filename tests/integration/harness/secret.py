"""Files as Kubernetes mounts a secret: every name is a link through `..data`, and a new version comes by replacing that
one link."""

import itertools
import os

from harness.certificates import Pair


class Secret:
    """A mounted secret. Names are those of the keys in it."""

    def __init__(self, directory):
        self.directory = directory
        self._versions = itertools.count(1)

    def put(self, files):
        """Makes a new version of `files`, paths or lists of paths by name, the one that is seen, all at once."""
        version = f"..2026_{next(self._versions)}"
        os.mkdir(os.path.join(self.directory, version))
        for name, sources in files.items():
            write(os.path.join(self.directory, version, name), sources)
            link = os.path.join(self.directory, name)
            if not os.path.islink(link):
                os.symlink(os.path.join("..data", name), link)
        data = os.path.join(self.directory, "..data")
        old = os.path.realpath(data)
        os.symlink(version, data + "_tmp")
        os.rename(data + "_tmp", data)
        if old != data and os.path.isdir(old):
            for name in os.listdir(old):
                os.unlink(os.path.join(old, name))
            os.rmdir(old)

    def pair(self):
        """Its certificate, key, CA and, if there is one, CRL."""
        crl = os.path.join(self.directory, "crl.pem")
        return Pair(self.directory, "tls", crl=crl if os.path.lexists(crl) else None)


def write(path, sources):
    """Writes the contents of one file, or of several one after the other, over a file."""
    sources = [sources] if isinstance(sources, str) else sources
    content = b""
    for source in sources:
        with open(source, "rb") as file:
            content += file.read()
    with open(path, "wb") as file:
        file.write(content)
