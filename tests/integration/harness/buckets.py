"""Servers of the protocols of S3 and of Azure Blob Storage, which others wrote, and rclone for them."""

import base64
import hashlib
import hmac
import os
import subprocess
import urllib.parse

from harness import needs, proc, unprivileged, wait
from harness.nobody import NOBODY

# Where the variable names a file of certificates, Debian's rclone 1.60 refuses plain HTTP.
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "AWS_CA_BUNDLE"}

# https://learn.microsoft.com/azure/storage/common/storage-use-azurite#well-known-storage-account-and-key
ACCOUNT = "devstoreaccount1"
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="


def shared_access(port):
    """An address of the emulator that lets in who knows it.
    https://learn.microsoft.com/rest/api/storageservices/create-account-sas"""
    fields = {"sp": "rwdlac", "ss": "b", "srt": "sco", "st": "", "se": "2099-01-01T00:00:00Z", "sip": "", "spr": "https,http",
              "sv": "2019-12-12"}
    signed = "\n".join((ACCOUNT, *fields.values(), "")).encode()
    fields["sig"] = base64.b64encode(hmac.digest(base64.b64decode(KEY), signed, hashlib.sha256)).decode()
    return f"http://127.0.0.1:{port}/{ACCOUNT}?" + urllib.parse.urlencode({name: value for name, value in fields.items() if value})


class Bucket:
    """A bucket «incidents» on the far host, and the table for the agent's file."""

    def __init__(self, lab, more=""):
        self.lab = lab
        self.directory = lab.new_directory(lab.far, "bucket")
        self.configuration = os.path.join(lab.new_directory(lab.far, "rclone"), "rclone.conf")
        with open(self.configuration, "w", encoding="utf-8") as file:
            file.write("[store]\n" + self.rclone)
        user = unprivileged.user_of("far") or NOBODY
        os.chmod(os.path.dirname(self.configuration), 0o755)
        os.chown(self.configuration, user, user)
        as_user = "" if unprivileged.enabled() else f'user = "{NOBODY}:{NOBODY}"\n'
        self.table = (f'[[egress]]\nname = "{self.name}"\nreads = ["{self.configuration}"]\n{as_user}{more}'
                      f'command = ["rclone", "rcat", "--retries=1", "--low-level-retries=3", "--config={self.configuration}", "store:incidents/{{host}}/{{file}}"]\n'
                      f'check = ["rclone", "lsf", "--format=s", "--config={self.configuration}", "store:incidents/{{host}}/{{file}}"]\n')
        self.start()

    def start(self):
        """Begins to serve, with what was stored before."""
        self.server = self.lab.far.start("node", *self.command())
        wait.until(lambda: proc.listens(self.server.pid, self.port), self.server.output)

    def stop(self):
        """Asks it to end: killed, Azurite forgets what came last."""
        self.server.stop()

    def sizes(self):
        """Of what is in it, by name."""
        listed = self.rclone_says("lsf", "--recursive", "--files-only", "--format=ps", "--separator=:", "store:incidents")
        return {os.path.basename(path): int(size) for path, _, size in (line.rpartition(":") for line in listed.decode().split())}

    def read(self, name):
        path = next(path for path in self.rclone_says("lsf", "--recursive", "--files-only", "store:incidents").decode().split()
                    if os.path.basename(path) == name)
        return self.rclone_says("cat", f"store:incidents/{path}")

    def rclone_says(self, *words):
        arguments = (*self.lab.far.enter_namespaces("net"), "rclone", f"--config={self.configuration}", *words)
        return subprocess.run(arguments, env=ENVIRONMENT, stdout=subprocess.PIPE, check=True, timeout=60).stdout


class S3(Bucket):
    name, port = "s3", 4568
    rclone = ("type = s3\nprovider = Other\naccess_key_id = S3RVER\nsecret_access_key = S3RVER\nregion = us-east-1\n"
              f"endpoint = http://127.0.0.1:{port}\nforce_path_style = true\n")

    def command(self):
        return (needs.store_server("s3rver"), "-d", self.directory, "-a", "127.0.0.1", "-p", str(self.port),
                "--configure-bucket", "incidents", "--no-vhost-buckets")


class Azure(Bucket):
    name, port = "azure", 10000
    rclone = f"type = azureblob\nsas_url = {shared_access(port)}\n"

    def __init__(self, lab, more=""):
        super().__init__(lab, more)
        self.rclone_says("mkdir", "store:incidents")

    def command(self):
        return (needs.store_server("azurite-blob"), "--loose", "--disableTelemetry", "--silent", "--location", self.directory,
                "--blobHost", "127.0.0.1", "--blobPort", str(self.port))
