"""The container image: what is in it, and that it is the same each time."""

import hashlib
import json
import os
import pathlib
import subprocess
import tarfile

from harness import needs
from harness.case import Case, main
from harness.containers import Podman
from harness.images import USER

MOST_BYTES = 15_000_000
FILES = {"usr/bin/farport", "etc/passwd", "etc/group", "etc/ssl/certs/ca-certificates.crt", "usr/share/doc/farport/copyright",
         "usr/share/doc/farport/farport.spdx.json"}


class Image(Case):
    @classmethod
    def prepare(cls):
        cls.directory = pathlib.Path(cls.lab.new_directory(cls.lab.far, "image"))
        with tarfile.open(needs.image()) as archive:
            archive.extractall(cls.directory)

    def blob(self, descriptor):
        """What a descriptor of the OCI layout names."""
        algorithm, _, digest = descriptor["digest"].partition(":")
        return (self.directory / "blobs" / algorithm / digest).read_bytes()

    def manifest(self):
        descriptor, = json.loads((self.directory / "index.json").read_text(encoding="utf-8"))["manifests"]
        return json.loads(self.blob(descriptor))

    def test_it_has_the_program_and_what_that_needs(self):
        root = pathlib.Path(self.lab.new_directory(self.lab.far, "root"))
        for layer in self.manifest()["layers"]:
            archive = root.with_suffix(".layer")
            archive.write_bytes(self.blob(layer))
            with tarfile.open(archive) as tar:
                tar.extractall(root)
        files = {str(path.relative_to(root)): path.stat().st_size for path in root.rglob("*") if path.is_file()}
        self.assertEqual(files.keys(), FILES)
        self.assertLess(sum(files.values()), MOST_BYTES)
        self.assertEqual((root / "tmp").stat().st_mode & 0o7777, 0o1777)
        self.assertIn(f":{USER}:{USER}:", (root / "etc/passwd").read_text())
        self.assertEqual((root / "usr/bin/farport").read_bytes(), pathlib.Path(needs.static_farport()).read_bytes())

    def test_it_says_what_it_is(self):
        manifest = self.manifest()
        configuration = json.loads(self.blob(manifest["config"]))
        self.assertEqual(configuration["config"]["User"], f"{USER}:{USER}")
        self.assertEqual(configuration["config"]["Entrypoint"], ["/usr/bin/farport"])
        labels = configuration["config"]["Labels"]
        for name in ("title", "description", "licenses", "version", "revision"):
            self.assertTrue(labels[f"org.opencontainers.image.{name}"], name)
        self.assertEqual(manifest["annotations"]["org.opencontainers.image.version"], labels["org.opencontainers.image.version"])

    def test_it_says_what_it_is_made_of(self):
        document = json.loads(pathlib.Path(needs.image().removesuffix(".tar") + ".spdx.json").read_text(encoding="utf-8"))
        self.assertEqual(document["spdxVersion"], "SPDX-2.3")
        packages = {package["name"]: package for package in document["packages"]}
        self.assertLessEqual({"farport", "libc6-dev", "libuv1-dev", "libssl-dev", "libnghttp2-dev", "libzstd-dev", "libelf-dev",
                              "libseccomp-dev", "nlohmann-json3-dev", "libcli11-dev"}, packages.keys())
        # For some other architecture it may be there, too.
        locator = packages["libssl-dev"]["externalRefs"][0]["referenceLocator"]
        installed = subprocess.run(["dpkg-query", "--show", "--showformat=${Version}", f"libssl-dev:{locator.partition('arch=')[2]}"],
                                   check=True, stdout=subprocess.PIPE, text=True).stdout
        self.assertEqual(packages["libssl-dev"]["versionInfo"], installed)
        digest = hashlib.sha256(pathlib.Path(needs.static_farport()).read_bytes()).hexdigest()
        self.assertEqual(packages["farport"]["checksums"][0]["checksumValue"], digest)
        known = {package["SPDXID"] for package in packages.values()} | {"SPDXRef-DOCUMENT"}
        for relationship in document["relationships"]:
            self.assertLessEqual({relationship["spdxElementId"], relationship["relatedSpdxElement"]}, known)

    def test_made_again_it_has_the_same_bytes(self):
        again = os.path.join(self.lab.new_directory(self.lab.far, "again"), "farport.tar")
        subprocess.run([needs.ROOT / "scripts/image", "--output", again], check=True, stdout=subprocess.DEVNULL)
        self.assertEqual(pathlib.Path(again).read_bytes(), pathlib.Path(needs.image()).read_bytes())

    def loaded(self, archive):
        """The name of the image in an archive, and what runs it read-only without a right."""
        podman = Podman(self.lab.far)
        self.addCleanup(podman.close)
        podman.run("load", "--input", archive)
        name = podman.run("images", "--format", "{{.Repository}}:{{.Tag}}")
        return name, lambda *words: podman.run("run", "--rm", "--read-only", "--cap-drop", "all", "--network", "none", *words)

    def test_the_variant_for_stores_has_rclone(self):
        name, run = self.loaded(needs.image_with_rclone())
        self.assertRegex(name, r"^localhost/farport:[0-9.]+-rclone$")
        self.assertIn("farport makes .NET runtimes", run(name))
        self.assertIn("rclone v1", run("--entrypoint", "/usr/bin/rclone", name, "version"))
        parts = pathlib.Path(needs.image_with_rclone().removesuffix(".tar") + ".spdx.json").read_text(encoding="utf-8")
        self.assertIn('"name": "rclone"', parts)

    def test_it_runs_read_only_without_a_right_and_shows_its_help(self):
        name, run = self.loaded(needs.image())
        self.assertRegex(name, r"^localhost/farport:[0-9.]+$")
        self.assertIn("farport makes .NET runtimes on another host look local", run(name))


if __name__ == "__main__":
    main()
