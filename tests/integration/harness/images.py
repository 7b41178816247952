"""Images of containers, made of what this machine has: there is no registry."""

import hashlib
import io
import json
import os
import pathlib
import re
import subprocess
import tarfile

from harness import needs

USER = 1654
# What a copy of farport takes in a container: no gzip and no sha256sum.
SHELL = [f"/bin/{name}" for name in ("sh", "id", "ls", "mkdir", "chmod", "rm", "rmdir", "head", "wc", "mv", "uname")]


class Image:
    """What becomes an image: files and directories of this machine, and what these need, at the same paths, and files or
    directories at paths of their own. It has no shell; its user is nobody that the machine knows. `references` are what engines call it."""

    def __init__(self, name, *files, directories=(), moved=None, entry=None, environment=(), references=()):
        self.name, self.entry, self.environment = name, entry, list(environment)
        self.references = list(references) or [f"localhost/{name}:latest"]
        self._files, self._directories, self._moved = files, directories, moved or {}

    @classmethod
    def of_farport(cls, *references):
        """The static program alone."""
        return cls("farport", moved={"/usr/bin/farport": needs.static_farport()}, entry="/usr/bin/farport",
                   environment=("PATH=/usr/bin",), references=references)

    @classmethod
    def of_orders(cls, name="orders", files=(), environment=(), references=()):
        """The sample application and the .NET runtime."""
        return cls._of_application(needs.orders(), name, files, ("Microsoft.NETCore.App",), environment, references)

    @classmethod
    def of_watched(cls):
        """The web application, .NET and ASP.NET."""
        return cls._of_application(needs.watched(), "watched", (), ("Microsoft.NETCore.App", "Microsoft.AspNetCore.App"), (), ())

    @classmethod
    def _of_application(cls, program, name, files, frameworks, environment, references):
        """It is not below /tmp, whatever this clone is: pods have volumes there."""
        root, directory = needs.dotnet_root(), f"/opt/{os.path.basename(program)}"
        return cls(name, os.path.join(root, "dotnet"), *files,
                   directories=(os.path.join(root, "host"), *(os.path.join(root, "shared", each) for each in frameworks)),
                   moved={directory: os.path.dirname(program)}, entry=os.path.join(directory, os.path.basename(program)),
                   environment=(f"DOTNET_ROOT={root}", "DOTNET_SYSTEM_GLOBALIZATION_INVARIANT=1", *environment),
                   references=references)

    def write_layer(self, path):
        """Writes all of it as one tar file."""
        with tarfile.open(path, "w") as tar:
            for name, mode in (("tmp", 0o1777), ("etc", 0o755)):
                directory = tarfile.TarInfo(name)
                directory.type, directory.mode = tarfile.DIRTYPE, mode
                tar.addfile(directory)
            for directory in self._directories:
                tar.add(directory)
            for path, found in self._moved.items():
                tar.add(found, path)
            programs = [*self._files, *(file for each in self._moved.values() for file in _files_in(each)),
                        *(path for directory in self._directories for path in pathlib.Path(directory).rglob("*.so")),
                        *([self.entry] if os.path.isfile(self.entry) else [])]
            for file in sorted({str(file) for file in self._files} | _libraries(programs)):
                if not file.startswith(tuple(f"{directory}/" for directory in self._directories)):
                    tar.add(os.path.realpath(file), file)

    def write_archive(self, path):
        """Writes it as `docker save` does: a layer, a configuration and a manifest."""
        layer = pathlib.Path(f"{path}.layer")
        self.write_layer(layer)
        digest = hashlib.sha256(layer.read_bytes()).hexdigest()
        configuration = {"architecture": "amd64", "os": "linux", "rootfs": {"type": "layers", "diff_ids": [f"sha256:{digest}"]},
                         "config": {"User": f"{USER}:{USER}", "Entrypoint": [self.entry], "Env": self.environment}}
        manifest = [{"Config": "config.json", "RepoTags": self.references, "Layers": ["layer.tar"]}]
        with tarfile.open(path, "w") as tar:
            tar.add(layer, "layer.tar")
            for name, content in (("config.json", configuration), ("manifest.json", manifest)):
                text = json.dumps(content).encode()
                entry = tarfile.TarInfo(name)
                entry.size = len(text)
                tar.addfile(entry, io.BytesIO(text))
        layer.unlink()


def _files_in(path):
    """What may be a program there."""
    return [path] if os.path.isfile(path) else [file for file in pathlib.Path(path).iterdir() if os.access(file, os.X_OK)]


def _libraries(programs):
    """The shared libraries that programs are linked with."""
    done = subprocess.run(["ldd", *[str(program) for program in programs]], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True, check=False)
    found = set(re.findall(r"(/[^ ():]+\.so[^ ():]*) \(0x", done.stdout))
    # OpenSSL is loaded by name.
    return found | {str(path) for path in pathlib.Path("/usr/lib/x86_64-linux-gnu").glob("lib*.so.3")
                    if path.name in ("libssl.so.3", "libcrypto.so.3")}
