#!/usr/bin/env python3
"""Packs the program into DIST/miniclaw-VERSION-linux-MACHINE.tar.gz, with a checksum beside it.

The same files give the same bytes: names are sorted, all times are that of the commit (or SOURCE_DATE_EPOCH), and owners
are numbers. What is in it: docs/install.md.
"""

import argparse
import gzip
import hashlib
import io
import os
import platform
import re
import subprocess
import sys
import tarfile
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
# What every Linux with glibc has.
LIBRARIES = {"libc.so.6", "libm.so.6", "libgcc_s.so.1", "libdl.so.2", "libpthread.so.0", "librt.so.1", "ld-linux-x86-64.so.2",
             "ld-linux-aarch64.so.1"}
NEWEST_GLIBC = (2, 36)
# The loader of glibc 2.36 was the first that knows packed relocations (build.rs).
PACKED = "GLIBC_ABI_DT_RELR"
TEXTS = ["README.md", "CHANGELOG.md", "LICENSE", "config.example.yml", ".env.example"]
FOLDERS = ["docs", "packaging"]
MODEL = "multilingual-e5-small"


class Failure(Exception):
    """Ends the program with this message."""


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--binary", type=Path, required=True, help="the program, built for release")
    parser.add_argument("--models", type=Path, required=True, help="the folder of models (make embedder)")
    parser.add_argument("--dist", type=Path, required=True, help="where to put the archive")
    options = parser.parse_args()
    try:
        print(release(options))
        return 0
    except (Failure, subprocess.CalledProcessError) as failure:
        print(f"release: {failure}", file=sys.stderr)
    except OSError as error:
        print(f"release: {error.strerror or error}: {error.filename}", file=sys.stderr)
    return 1


def release(options):
    """Returns a sentence about the archive that was made."""
    version, glibc = version_of(options.binary), oldest_glibc(options.binary)
    name = f"miniclaw-{version}-linux-{platform.machine()}"
    commit = git("describe", "--always", "--dirty", "--abbrev=40", "--exclude=*")
    about = f"miniclaw {version}\ncommit {commit}\nneeds Linux 6.2 on {platform.machine()}, and glibc {glibc} or newer\n"
    files = content(options) | {"BUILD.txt": about.encode()}
    time = int(os.environ.get("SOURCE_DATE_EPOCH") or git("log", "-1", "--format=%ct"))
    options.dist.mkdir(parents=True, exist_ok=True)
    archive = options.dist / f"{name}.tar.gz"
    write_whole(archive, packed(files, name, time))
    digest = hashlib.sha256(archive.read_bytes()).hexdigest()
    write_whole(archive.with_name(archive.name + ".sha256"), f"{digest}  {archive.name}\n".encode())
    return f"{archive} ({archive.stat().st_size / 1e6:.0f} MB): {len(files)} files; needs glibc {glibc} or newer"


def git(*arguments):
    return subprocess.run(["git", *arguments], cwd=REPOSITORY, check=True, text=True, stdout=subprocess.PIPE).stdout.strip()


def version_of(binary):
    said = subprocess.run([binary, "--version"], check=True, text=True, stdout=subprocess.PIPE).stdout
    written = re.search(r'^\[workspace\.package\]\nversion = "([^"]+)"', (REPOSITORY / "Cargo.toml").read_text(), re.MULTILINE)
    if said.strip() != f"miniclaw {written[1]}":
        raise Failure(f"{binary} is {said.strip()!r} and not version {written[1]}; build it again")
    return written[1]


def oldest_glibc(binary):
    """Returns the oldest glibc that can load the program. Fails if it needs more than glibc, or a newer one than we say."""
    command = ["readelf", "--wide", "--dynamic", "--version-info", binary]
    read = subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE).stdout
    others = set(re.findall(r"\(NEEDED\).*\[(.+)\]", read)) - LIBRARIES
    if others:
        raise Failure(f"{binary} needs libraries that not every system has: {', '.join(sorted(others))}")
    needed = {tuple(map(int, found.split("."))) for found in re.findall(r"GLIBC_([0-9.]+)", read)}
    if not needed:
        raise Failure(f"{binary} is not linked with glibc")
    oldest = max(needed | ({NEWEST_GLIBC} if PACKED in read else set()))
    if oldest > NEWEST_GLIBC:
        raise Failure(f"{binary} needs glibc {dotted(oldest)}; build it on a system with an older one ({dotted(NEWEST_GLIBC)})")
    return dotted(oldest)


def dotted(version):
    return ".".join(map(str, version))


def content(options):
    """Returns the bytes of each file by its path in the archive."""
    files = {"bin/miniclaw": options.binary.read_bytes(), "LICENCES-OF-PARTS.txt": licences()}
    listed = git("ls-files", "-z", "--", *TEXTS, *FOLDERS).split("\0")
    # Only what is committed: a folder may hold notes of whoever builds.
    files |= {name: (REPOSITORY / name).read_bytes() for name in listed if name}
    model = options.models / MODEL
    if not (model / "e5-small-q4.bin").is_file():
        raise Failure(f"the embedding model is not in {model}; get it first: make embedder")
    return files | {f"models/{MODEL}/{file.name}": file.read_bytes() for file in model.iterdir() if file.is_file()}


def licences():
    return subprocess.run([sys.executable, REPOSITORY / "scripts/licences.py"], check=True, stdout=subprocess.PIPE).stdout


def packed(files, name, time):
    """Returns the compressed archive."""
    folders = {str(parent) for path in files for parent in Path(path).parents if str(parent) != "."}
    packed = io.BytesIO()
    with (gzip.GzipFile("", "wb", 9, packed, time) as compressed,
          tarfile.open(fileobj=compressed, mode="w", format=tarfile.USTAR_FORMAT) as archive):
        for path in ["", *sorted(folders | set(files))]:
            entry = tarfile.TarInfo(f"{name}/{path}".rstrip("/"))
            entry.mtime = time
            if path in files:
                entry.size, entry.mode = len(files[path]), 0o755 if path.startswith("bin/") else 0o644
                archive.addfile(entry, io.BytesIO(files[path]))
            else:
                entry.type, entry.mode = tarfile.DIRTYPE, 0o755
                archive.addfile(entry)
    return packed.getvalue()


def write_whole(file, content):
    part = file.with_name(file.name + ".new")
    part.write_bytes(content)
    os.replace(part, file)


if __name__ == "__main__":
    sys.exit(main())
