"""The static program, which is brought to hosts and containers that have nothing that it could need."""

import os
import shutil
import subprocess

from harness import needs
from harness.case import Case, main


class Static(Case):
    def root(self):
        """A directory with the program and nothing else."""
        root = self.lab.new_directory(self.lab.near, "root")
        shutil.copy(needs.static_farport(), os.path.join(root, "farport"))
        return root

    def run_in_root(self, *arguments):
        return self.lab.near.run(needs.program("chroot"), self.root(), "/farport", *arguments)

    def test_it_runs_where_there_is_nothing_else(self):
        done = self.assert_ok(self.run_in_root("--version"))
        shared = self.assert_ok(self.lab.near.run(needs.farport(), "--version"))
        self.assertEqual(done.stdout, shared.stdout)

    def test_it_is_stripped_and_asks_for_no_interpreter(self):
        with open(needs.static_farport(), "rb") as file:
            content = file.read()
        self.assertNotIn(b"ld-linux", content[:4096])
        self.assertLess(len(content), 16_000_000)
        headers = subprocess.run([needs.program("readelf"), "--sections", needs.static_farport()], check=True,
                                 stdout=subprocess.PIPE, text=True).stdout
        self.assertNotIn(".symtab", headers)

    def test_its_tarball_is_checked_and_unpacked_where_there_is_nothing_but_busybox(self):
        root = self.lab.new_directory(self.lab.near, "root")
        tarball = needs.tarball()
        for file in (tarball, os.path.join(os.path.dirname(tarball), "SHA256SUMS"), needs.debian_package(), needs.program("busybox")):
            shutil.copy(file, root)
        name = os.path.basename(tarball)
        script = f"busybox sha256sum -c SHA256SUMS && busybox tar xzf {name} && {name.removesuffix('-linux-amd64.tar.gz')}/farport --version"
        done = self.assert_ok(self.lab.near.run(needs.program("chroot"), root, "/busybox", "sh", "-c", f"PATH=/; {script}"))
        self.assertIn(f"{name}: OK", done.stdout)
        self.assertIn("farport 0.", done.stdout)

    def test_it_is_a_mirror_like_any_other(self):
        application = self.lab.orders()
        agent = self.use(self.lab.agent())
        agent.wait_for(application)
        root = self.root()
        for name in ("cert", "key", "ca"):
            shutil.copy(getattr(self.lab.tools_pair, name), os.path.join(root, name))
        done = self.lab.near.run(needs.program("chroot"), root, "/farport", "ps", agent.remote, "--tls-cert", "/cert",
                                 "--tls-key", "/key", "--tls-ca", "/ca")
        self.assertIn("orders", self.assert_ok(done).stdout)


if __name__ == "__main__":
    main()
