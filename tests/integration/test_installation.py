"""What `cmake --install` puts where, and whether the completions complete."""

import os
import pathlib
import subprocess
import tempfile
import unittest

from harness import needs

# Asks the completion for the words that may stand last on a command line.
COMPLETE = """
source "$1"
shift
COMP_LINE="$*" COMP_POINT=${#COMP_LINE}
COMP_WORDS=("$@")
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
_farport
printf '%s\\n' "${COMPREPLY[@]}"
"""


class Installation(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        directory = cls.enterClassContext(tempfile.TemporaryDirectory())
        cls.home = cls.enterClassContext(tempfile.TemporaryDirectory())
        for name, text in ((".ssh/config", "Host web-3 web-4\nHost *.example !x\nHost $(touch${IFS}~/made)\n"),
                           (".config/farport/config.toml", '[remotes.prod-orders]\naddress = "orders.example:9000"\n')):
            file = pathlib.Path(cls.home, name)
            file.parent.mkdir(parents=True)
            file.write_text(text, encoding="utf-8")
        cls.stage = pathlib.Path(directory)
        # The binary is at the top of its build directory.
        build = os.path.dirname(needs.farport())
        subprocess.run([needs.program("cmake"), "--install", build, "--prefix", "/opt/farport"], check=True,
                       capture_output=True, env=os.environ | {"DESTDIR": directory})
        cls.installed = cls.stage / "opt/farport"

    def words(self, *words):
        """What bash offers for the last word."""
        completion = self.installed / "share/bash-completion/completions/farport"
        finished = subprocess.run([needs.program("bash"), "--norc", "-c", COMPLETE, "bash", completion, *words],
                                  check=True, capture_output=True, text=True, cwd=self.stage, env=os.environ | {"HOME": self.home})
        self.assertEqual(finished.stderr, "")
        return set(finished.stdout.split())

    def test_targets_are_completed(self):
        self.assertLessEqual({"ssh://web-3", "ssh://web-4", "prod-orders"}, self.words("farport", "ps", ""))
        self.assertEqual(self.words("farport", "ps", "prod"), {"prod-orders"})
        self.assertEqual(self.words("farport", "trace", "--duration", "3s", "prod"), {"prod-orders"})
        self.assertEqual(self.words("farport", "certs", "init", "prod"), set())
        # As bash parts the word that is being typed.
        self.assertEqual(self.words("farport", "ps", "ssh://we"), {"//web-3", "//web-4"})
        self.assertFalse(os.path.exists(os.path.join(self.home, "made")))

    def test_everything_is_where_it_belongs(self):
        pages = {f"man{page.suffix[1:]}/{page.name}" for page in (needs.ROOT / "docs/man").iterdir()}
        units = ("system/farport.service", "system/farport@.service", "system/farport.socket", "user/farport-connect@.service")
        files = {"bin/farport", *(f"lib/systemd/{unit}" for unit in units), "share/zsh/site-functions/_farport",
                 "share/bash-completion/completions/farport", "share/fish/vendor_completions.d/farport.fish",
                 *(f"share/man/{page}" for page in pages)}
        # Where it has been built, too.
        if os.path.exists(os.path.join(os.path.dirname(needs.farport()), "farport-static")):
            files.add("libexec/farport/farport-static")
        found = {str(path.relative_to(self.installed)) for path in self.installed.rglob("*") if path.is_file()}
        self.assertEqual(found, files)
        self.assertEqual([path.name for path in self.stage.iterdir()], ["opt"])

    def test_the_program_runs_from_there_and_the_unit_starts_it(self):
        finished = subprocess.run([self.installed / "bin/farport", "--version"], check=True, capture_output=True, text=True)
        self.assertTrue(finished.stdout.startswith("farport "), finished.stdout)
        unit = (self.installed / "lib/systemd/system/farport.service").read_text(encoding="utf-8")
        self.assertIn("\nExecStart=/opt/farport/bin/farport serve --config /etc/farport/agent.toml\n", unit)

    def test_commands_are_completed(self):
        self.assertEqual(self.words("farport", "con"), {"connect", "convert", "convert-rules"})
        self.assertLessEqual({"serve", "connect", "run", "--version"}, self.words("farport", ""))
        self.assertEqual(self.words("farport", "certs", "s"), {"server"})

    def test_the_options_of_a_command_are_completed_and_no_others(self):
        self.assertEqual(self.words("farport", "serve", "--allow"),
                         {"--allow-cn", "--allow-dns", "--allow-uri", "--allow-ip", "--allow-local", "--allow-all"})
        self.assertEqual(self.words("farport", "connect", "--allow"), set())
        self.assertEqual(self.words("farport", "connect", "a:1", "--det"), {"--detach"})
        self.assertEqual(self.words("farport", "certs", "client", "dir", "--n"), {"--name"})

    def test_values_are_completed(self):
        self.assertEqual(self.words("farport", "serve", "--confine", ""), {"auto", "required", "off"})
        self.assertEqual(self.words("farport", "dump", "a:1", "--type", "f"), {"full"})
        self.assertEqual(self.words("farport", "serve", "--log-format", "=", "j"), {"json"})
        self.assertEqual(self.words("farport", "serve", "--log-format", "="), {"text", "json"})
        self.assertEqual(self.words("farport", "serve", "--search", "o"), {"opt"})
        self.assertEqual(self.words("farport", "serve", "--tls-cert", "opt/farport/bin/f"), {"opt/farport/bin/farport"})
        self.assertEqual(self.words("farport", "serve", "--grace", ""), set())
        self.assertIn("--grace", self.words("farport", "serve", "--allow-all", "--g"))

    def test_a_tool_of_run_is_no_business_of_farport(self):
        self.assertEqual(self.words("farport", "run", "a:1", "--", "dotnet-trace", "--"), set())


if __name__ == "__main__":
    unittest.main(verbosity=2)
