"""Prints what the static program is made of, as an SPDX 2.3 document in JSON.

usage: python3 -B scripts/sbom.py BUILD_DIRECTORY [FILE...]

BUILD_DIRECTORY is where scripts/build --static has built it. The Debian packages are those whose libraries the linker has
read, and whose headers the compiler has; nobody lists them by hand. FILEs are other programs that go with it. The same build makes the same document.
https://spdx.github.io/spdx-spec/v2.3/
"""

import datetime
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys

PROGRAM = "farport-static"
PROJECT = pathlib.Path(__file__).resolve().parents[1]


def printed_by(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def linked_files(build):
    """What the linker has read, by its own account: a makefile's rule."""
    rule = (build / f"{PROGRAM}.d").read_text(encoding="utf-8").partition("\n\n")[0]
    return rule.replace("\\\n", " ").split()[1:]


def included_files(build):
    """What the compiler has read, by ninja's log."""
    return re.findall(r"^    (\S+)$", printed_by("ninja", "-C", str(build), "-t", "deps"), re.MULTILINE)


def packages_of(files):
    """The names of the Debian packages that have these files; those of the project itself are in none."""
    ours = str(PROJECT) + os.sep
    real = {os.path.realpath(file) for file in files if file.startswith("/")}
    asked = sorted(path for path in real if not path.startswith(ours))
    # A file that is in none is an error: the document would be silent about it.
    found = printed_by("dpkg", "--search", *asked)
    return sorted({line.partition(": ")[0].split(",")[0] for line in found.splitlines() if not line.startswith("diversion")})


def described(package):
    """An element of the document about a Debian package."""
    form = "${Package}\t${Version}\t${Architecture}\t${source:Package}\t${source:Version}\t${Homepage}"
    name, version, architecture, source, source_version, homepage = printed_by(
        "dpkg-query", "--show", f"--showformat={form}", package).split("\t")
    locator = f"pkg:deb/debian/{name}@{version}?arch={architecture}".replace("+", "%2B")
    return {
        "SPDXID": f"SPDXRef-{re.sub('[^A-Za-z0-9.-]', '-', name)}",
        "name": name,
        "versionInfo": version,
        "supplier": "Organization: Debian",
        "sourceInfo": f"built from the Debian source package {source} {source_version}",
        "downloadLocation": "NOASSERTION",
        **({"homepage": homepage} if homepage else {}),
        "filesAnalyzed": False,
        "licenseConcluded": "NOASSERTION",
        "licenseDeclared": "NOASSERTION",
        "copyrightText": "NOASSERTION",
        "externalRefs": [
            {"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": locator},
        ],
    }


def ourselves(version, digest):
    return {
        "SPDXID": "SPDXRef-farport",
        "name": "farport",
        "versionInfo": version,
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False,
        "checksums": [{"algorithm": "SHA256", "checksumValue": digest}],
        "licenseConcluded": "MIT",
        "licenseDeclared": "MIT",
        "copyrightText": "Copyright (c) 2026 The farport authors",
        "primaryPackagePurpose": "APPLICATION",
    }


def document(build, others):
    program = build / PROGRAM
    digest = hashlib.sha256(program.read_bytes()).hexdigest()
    version = printed_by(str(program), "--version").split()[1]
    built = datetime.datetime.fromtimestamp(int(os.environ.get("SOURCE_DATE_EPOCH", "0")), datetime.timezone.utc)
    parts = [described(package) for package in packages_of([*linked_files(build), *included_files(build)])]
    beside = [described(package) for package in packages_of(others)] if others else []
    return {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"farport-{version}",
        "documentNamespace": f"https://farport.example/spdx/farport-{version}-{digest}",
        "creationInfo": {"created": built.strftime("%Y-%m-%dT%H:%M:%SZ"), "creators": ["Tool: farport-sbom"]},
        "packages": [ourselves(version, digest), *parts, *beside],
        "relationships": [
            {"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES", "relatedSpdxElement": "SPDXRef-farport"},
            *({"spdxElementId": "SPDXRef-farport", "relationshipType": "STATIC_LINK", "relatedSpdxElement": part["SPDXID"]}
              for part in parts),
            *({"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES", "relatedSpdxElement": each["SPDXID"]}
              for each in beside),
        ],
    }


def main():
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__.strip())
    json.dump(document(pathlib.Path(sys.argv[1]), sys.argv[2:]), sys.stdout, indent=2)
    print()


if __name__ == "__main__":
    main()
