"""Tests of release.py: `Packed` of the archive's form, `Unpacked` of the archive in DIST, in a root with nothing but glibc."""

import contextlib
import gzip
import hashlib
import importlib.util
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest
import urllib.request
from pathlib import Path

sys.dont_write_bytecode = True
SCRIPT = Path(__file__).resolve().parent / "release.py"
specification = importlib.util.spec_from_file_location("release", SCRIPT)
release = importlib.util.module_from_spec(specification)
specification.loader.exec_module(release)

REPLIES = {"replies": [{"match": "tea", "steps": [{"text": "The tea house."}, {"finish": "stop"}]},
                       {"repeat": True, "steps": [{"text": "A name"}, {"finish": "stop"}]}]}


class Packed(unittest.TestCase):
    def test_same_files_give_the_same_bytes(self):
        files = {"bin/miniclaw": b"program", "docs/a.md": b"a", "README.md": b"b"}
        first = release.packed(files, "miniclaw-1", 1_700_000_000)
        self.assertEqual(first, release.packed(dict(reversed(files.items())), "miniclaw-1", 1_700_000_000))
        # Negative control: another byte or time is seen.
        self.assertNotEqual(first, release.packed(files | {"docs/a.md": b"c"}, "miniclaw-1", 1_700_000_000))
        self.assertNotEqual(first, release.packed(files, "miniclaw-1", 1_700_000_001))
        with tarfile.open(fileobj=io.BytesIO(first)) as archive:
            seen = [(entry.name, oct(entry.mode), entry.uid, entry.uname) for entry in archive]
        self.assertEqual(seen, [
            ("miniclaw-1", "0o755", 0, ""), ("miniclaw-1/README.md", "0o644", 0, ""), ("miniclaw-1/bin", "0o755", 0, ""),
            ("miniclaw-1/bin/miniclaw", "0o755", 0, ""), ("miniclaw-1/docs", "0o755", 0, ""), ("miniclaw-1/docs/a.md", "0o644", 0, "")])

    def test_program_with_other_libraries_is_refused(self):
        self.assertRegex(release.oldest_glibc("/bin/true"), r"^2\.\d+$")
        with self.assertRaisesRegex(release.Failure, "libtinfo"):
            release.oldest_glibc("/bin/bash")

    def test_program_of_another_version_is_refused(self):
        with self.assertRaisesRegex(release.Failure, "build it again"):
            release.version_of("/bin/true")

    def test_licences_name_every_part(self):
        said = release.licences()
        self.assertEqual(said, release.licences())
        lines = said.decode().split("Packages without a licence file")[0].splitlines()
        for part in ["axum ", "ring ", "libsqlite3-sys ", "react ", "katex ", "tailwindcss "]:
            self.assertTrue([line for line in lines if line.startswith(part)], part)
        self.assertFalse([line for line in lines if line.startswith(("proptest ", "vitest "))], "tools of tests")


class Unpacked(unittest.TestCase):
    """The root holds the archive, the libraries that the program names, and a home."""

    @classmethod
    def setUpClass(cls):
        dist = Path(os.environ["DIST"])
        [cls.archive] = dist.glob("*.tar.gz")
        cls.root = Path(tempfile.mkdtemp(prefix="mc-release-", dir="/tmp"))
        cls.addClassCleanup(shutil.rmtree, cls.root)
        with tarfile.open(cls.archive) as archive:
            cls.names = archive.getnames()
            archive.extractall(cls.root)
        (cls.root / cls.names[0]).rename(cls.root / "opt")
        said = subprocess.run(["ldd", cls.root / "opt/bin/miniclaw"], check=True, text=True, stdout=subprocess.PIPE).stdout
        for library in re.findall(r"(/\S+) \(0x", said):
            place = cls.root / library[1:]
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(library, place)
        for folder in ("proc", "dev", "tmp", "home"):
            (cls.root / folder).mkdir()
        (cls.root / "script.json").write_text(json.dumps(REPLIES))

    def command(self, *arguments, **variables):
        """Returns the command line that runs the program in the root, with these variables only."""
        line = ["bwrap", "--bind", self.root, "/", "--proc", "/proc", "--dev", "/dev", "--die-with-parent", "--clearenv"]
        for name, value in variables.items():
            line += ["--setenv", name, value]
        return [*line, "--setenv", "HOME", "/home", "/opt/bin/miniclaw", *arguments]

    def run_program(self, *arguments, **variables):
        done = subprocess.run(self.command(*arguments, **variables), text=True, timeout=60, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    @contextlib.contextmanager
    def started(self, *arguments, **variables):
        """Runs the program until the end of the block; gives the address that it prints."""
        with open(self.root / f"{arguments[0]}.log", "wb") as log:
            process = subprocess.Popen(self.command(*arguments, **variables), stdout=subprocess.PIPE, stderr=log, text=True)
        try:
            line = process.stdout.readline()
            self.assertIn("listening on ", line, Path(log.name).read_text())
            yield line.split()[-1]
        finally:
            process.terminate()
            process.wait(30)
            process.stdout.close()

    def test_checksum_is_the_archives(self):
        digest, name = self.archive.with_name(self.archive.name + ".sha256").read_text().split()
        self.assertEqual(name, self.archive.name)
        self.assertEqual(digest, hashlib.sha256(self.archive.read_bytes()).hexdigest())

    def test_archive_has_all_that_its_documents_name(self):
        held = {name.split("/", 1)[1] for name in self.names[1:]}
        wanted = ["LICENSE", "LICENCES-OF-PARTS.txt", "docs/install.md", "packaging/miniclaw.service", "config.example.yml"]
        self.assertEqual([name for name in wanted if name not in held], [])
        self.assertEqual([name for name in held if name.startswith("/") or ".." in name.split("/")], [])

    def test_program_runs_with_nothing_but_glibc(self):
        model = {"OPENAI_API_KEY": "test", "OPENAI_MODEL": "mock", "MINICLAW_MODELS": "/opt/models"}
        self.run_program("init", "/home/agent")
        self.assertIn("multilingual-e5-small (there)", self.run_program("doctor", "--home", "/home/agent", **model))
        with (self.started("mock-llm", "--script", "/script.json") as provider,
              self.started("serve", "--home", "/home/agent", "--port", "0", OPENAI_BASE_URL=f"{provider}/v1", **model) as server):
            page = self.get(server)
            self.assertIn('<div id="root">', page)
            for asset in re.findall(r'(?:src|href)="\./(assets/[^"]+)"', page):
                self.assertTrue(self.get(f"{server}/{asset}"), asset)
            self.assertEqual(json.loads(self.get(f"{server}/health"))["status"], "ok")
            said = self.run_program("ask", "--home", "/home/agent", "Where is the tea?")
            self.assertEqual(said.strip(), "The tea house.")

    def get(self, address):
        with urllib.request.urlopen(address, timeout=10) as answer:
            body = answer.read()
        return (gzip.decompress(body) if answer.headers["Content-Encoding"] == "gzip" else body).decode()


if __name__ == "__main__":
    unittest.main()
