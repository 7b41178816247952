"""Certificates: as `farport certs` issues them, and as only OpenSSL does."""

import datetime
import os
import subprocess
import tempfile

from harness import needs, unprivileged

AGENT_NAME = "agent.test"


class Pair:
    """A certificate, its key, and the CA that its holder trusts."""

    def __init__(self, directory, name, ca=None, crl=None):
        self.cert = os.path.join(directory, name + ".crt")
        self.key = os.path.join(directory, name + ".key")
        self.ca = ca or os.path.join(directory, "ca.crt")
        self.crl = crl

    def flags(self):
        """For farport's command line."""
        crl = ["--tls-crl", self.crl] if self.crl else []
        return ["--tls-cert", self.cert, "--tls-key", self.key, "--tls-ca", self.ca, *crl]

    def environment(self):
        """The same for its environment."""
        return {"FARPORT_TLS_CERT": self.cert, "FARPORT_TLS_KEY": self.key, "FARPORT_TLS_CA": self.ca}


class Bundle:
    """A certificate, its key and a CA in one file."""

    def __init__(self, path, passphrase_file=None):
        self.path, self.passphrase_file = path, passphrase_file

    def flags(self):
        """For farport's command line."""
        more = ["--tls-passphrase-file", self.passphrase_file] if self.passphrase_file else []
        return ["--tls-bundle", self.path, *more]


class Authority:
    """A CA in a directory of its own."""

    def __init__(self, directory):
        self.directory = directory
        self._farport("init", directory)
        if unprivileged.enabled():
            os.chmod(directory, 0o755)

    def _farport(self, *arguments):
        # Leaks of `farport certs` are looked for where it is tested.
        done = subprocess.run([needs.farport(), "certs", *arguments], capture_output=True, text=True, check=False,
                              env=os.environ | {"ASAN_OPTIONS": "detect_leaks=0"})
        if done.returncode != 0:
            raise RuntimeError(f"farport certs {' '.join(arguments)}: {done.stdout}{done.stderr}")

    def server(self, name, *names):
        """A certificate for an agent: `names` are flags such as --dns NAME."""
        self._farport("server", self.directory, "--name", name, *names)
        pair = Pair(self.directory, name)
        unprivileged.give(pair.key, unprivileged.user_of("far"))
        return pair

    def client_again(self, name, directory, *names):
        """Another certificate for a mirror of this name, in a directory that is made for it."""
        os.mkdir(directory)
        for file in ("ca.crt", "ca.key"):
            os.link(os.path.join(self.directory, file), os.path.join(directory, file))
        self._farport("client", directory, "--name", name, *names)
        return Pair(directory, name)

    def client(self, name, *names):
        """A certificate for a mirror."""
        self._farport("client", self.directory, "--name", name, *names)
        pair = Pair(self.directory, name)
        unprivileged.give(pair.key, unprivileged.user_of("near"))
        return pair

    def bundle(self, name, path, *flags):
        """Puts the certificate of this name and its key into a bundle."""
        self._farport("bundle", self.directory, "--name", name, "--output", path, *flags)

    def with_dates(self, name, first_day, last_day, server=False, units=(), common_name=None):
        """A certificate valid from `first_day` to `last_day`, in days from now, made by OpenSSL. `units`: the
        organizational units in its subject. `common_name`: if it is not the name of the files."""
        pair = Pair(self.directory, name)
        work = os.path.join(self.directory, name + ".openssl")
        os.mkdir(work)
        usage = "serverAuth" if server else "clientAuth"
        configuration = os.path.join(work, "openssl.cnf")
        with open(configuration, "w", encoding="ascii") as file:
            file.write(
                f"[ca]\ndefault_ca = d\n[d]\ndatabase = {work}/index\nnew_certs_dir = {work}\npolicy = p\n"
                "default_md = sha256\nrand_serial = yes\n[p]\norganizationalUnitName = optional\n"
                "commonName = supplied\n[req]\ndistinguished_name = n\n"
                f"[n]\n[x]\nextendedKeyUsage = {usage}\nsubjectAltName = DNS:{AGENT_NAME}\n"
                "keyUsage = digitalSignature\nbasicConstraints = CA:FALSE\nauthorityKeyIdentifier = keyid\n")
        open(os.path.join(work, "index"), "wb").close()
        request = os.path.join(work, "request")
        subject = "".join(f"/OU={unit}" for unit in units) + f"/CN={common_name or name}"
        self.openssl("req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-utf8", "-config",
                      configuration, "-subj", subject, "-keyout", pair.key, "-out", request)
        self.openssl("ca", "-batch", "-notext", "-config", configuration, "-extensions", "x", "-startdate",
                      _date(first_day), "-enddate", _date(last_day), "-cert", pair.ca, "-keyfile",
                      os.path.join(self.directory, "ca.key"), "-in", request, "-out", pair.cert)
        unprivileged.give(pair.key, unprivileged.user_of("far" if server else "near"))
        return pair

    def crl(self, *revoked, last_day=30):
        """The path of a list of revoked certificates, which is valid until `last_day`, in days from now."""
        work = tempfile.mkdtemp(prefix="crl-", dir=self.directory)
        configuration = os.path.join(work, "openssl.cnf")
        with open(configuration, "w", encoding="ascii") as file:
            file.write(f"[ca]\ndefault_ca = d\n[d]\ndatabase = {work}/index\ndefault_md = sha256\n"
                       "crl_extensions = x\n[x]\nauthorityKeyIdentifier = keyid\n")
        open(os.path.join(work, "index"), "wb").close()
        signer = ["ca", "-config", configuration, "-cert", os.path.join(self.directory, "ca.crt"), "-keyfile",
                  os.path.join(self.directory, "ca.key")]
        for pair in revoked:
            self.openssl(*signer, "-revoke", pair.cert)
        path = os.path.join(work, "crl.pem")
        self.openssl(*signer, "-gencrl", "-crl_lastupdate", _date(min(-1, last_day - 1)), "-crl_nextupdate",
                      _date(last_day), "-out", path)
        return path

    def with_units(self, name, *units):
        """A client's certificate with organizational units, which `farport certs` doesn't make."""
        return self.with_dates(name, -1, 1, units=units)

    def subject(self):
        """The CA's common name."""
        return self.openssl("x509", "-in", os.path.join(self.directory, "ca.crt"), "-noout", "-subject", "-nameopt",
                            "multiline").rpartition("= ")[2].strip()

    @staticmethod
    def openssl(*arguments):
        """Runs openssl, and returns its output."""
        done = subprocess.run([needs.program("openssl"), *arguments], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"openssl {' '.join(arguments)}: {done.stderr}")
        return done.stdout


def _date(days):
    moment = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(days=days)
    return moment.strftime("%Y%m%d%H%M%SZ")
