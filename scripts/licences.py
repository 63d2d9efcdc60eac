#!/usr/bin/env python3
"""Prints the licences of everything that is inside the program: crates, packages of the page, Rust's library.

Reads the sources that cargo and npm have downloaded. Each different text stands once, below the names of all that it
belongs to. Fails if something has neither a text of its own nor one of the standard texts.
"""

import json
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
TARGET = "x86_64-unknown-linux-gnu"
NAMES = re.compile(r"(licen[cs]e|copying|notice|unlicense|copyright)", re.IGNORECASE)
# A tool whose output, the first rules of the style sheet, is in the page.
IN_THE_PAGE = {"node_modules/tailwindcss"}
PLACES = {"Apache-2.0": "models/APACHE-2.0.txt", "MIT": "models/MIT.txt"}
# Texts without a name in them, which another package has.
OF_OTHERS = {"MPL-2.0": "Mozilla Public License Version 2.0", "Unlicense": "This is free and unencumbered software"}
RUST = """The standard library of Rust, Copyright (c) The Rust Project Contributors, under the MIT licence or the Apache
License, Version 2.0, at your choice."""
TOKENS = """The vocabulary cl100k_base, Copyright (c) 2022 OpenAI, Shantanu Jain, under the MIT licence."""


class Failure(Exception):
    """Ends the program with this message."""


class Part:
    """Something inside the program: what it is called, its licence as its makers write it, and its licence files."""

    def __init__(self, name, licence, files, source=None):
        self.name, self.licence, self.files, self.source = name, licence or "see its text", files, source


def main():
    try:
        print(document(crates() + packages(REPOSITORY / "frontend")), end="")
        return 0
    except Failure as failure:
        print(f"licences: {failure}", file=sys.stderr)
        return 1


def crates():
    """Returns what the server is compiled from: normal dependencies, no tools of the build and of tests."""
    command = ["cargo", "metadata", "--locked", "--format-version", "1", "--filter-platform", TARGET]
    found = subprocess.run(command, cwd=REPOSITORY, stdout=subprocess.PIPE, check=False)
    if found.returncode != 0:
        raise Failure("cargo cannot list the dependencies; see above")
    metadata = json.loads(found.stdout)
    by_id = {package["id"]: package for package in metadata["packages"]}
    needs = {node["id"]: [need["pkg"] for need in node["deps"] if any(kind["kind"] is None for kind in need["dep_kinds"])]
             for node in metadata["resolve"]["nodes"]}
    todo = [package["id"] for package in metadata["packages"] if package["name"] == "miniclaw"]
    seen = set()
    while todo:
        package = todo.pop()
        if package not in seen:
            seen.add(package)
            todo += needs[package]
    ours = set(metadata["workspace_members"])
    return [crate(by_id[package]) for package in seen - ours]


def crate(package):
    folder = Path(package["manifest_path"]).parent
    return Part(f"{package['name']} {package['version']}", package["license"], texts(folder), package["repository"])


def packages(frontend):
    """Returns the npm packages that the page is made of."""
    lock = json.loads((frontend / "package-lock.json").read_text())["packages"]
    parts = []
    for place, package in lock.items():
        if not place or package.get("dev") and place not in IN_THE_PAGE or package.get("devOptional"):
            continue
        folder = frontend / place
        if not folder.is_dir():
            if package.get("optional") or package.get("peer"):
                continue
            raise Failure(f"{folder} is missing; install the page's packages first: make frontend")
        name = f"{place.rsplit('node_modules/', 1)[1]} {package['version']} (page)"
        parts.append(Part(name, package.get("license"), texts(folder, nested=False)))
    return parts


def texts(folder, nested=True):
    """Returns the texts of the licence files of a package, in the order of their names."""
    files = folder.rglob("*") if nested else folder.glob("*")
    found = sorted(file for file in files if NAMES.match(file.name) and file.is_file() and file.suffix not in (".rs", ".js"))
    return list(dict.fromkeys(file.read_text(errors="replace").strip() for file in found))


def document(parts):
    standard = {name: (REPOSITORY / place).read_text().strip() for name, place in PLACES.items()}
    standard["MIT"] = f"MIT License\n\n{standard['MIT'][standard['MIT'].index('Permission is hereby'):]}"
    parts = sorted(parts, key=lambda part: part.name.lower())
    known = [text for part in parts for text in part.files]
    for name, start in OF_OTHERS.items():
        standard[name] = next((text for text in known if text.startswith(start)), "")
    holders = defaultdict(list)
    lines = [f"What is inside miniclaw, and under which licences ({len(parts)} packages)", ""]
    for part in parts:
        lines.append(f"{part.name}: {part.licence}" + (f" <{part.source}>" if part.source and "MPL" in part.licence else ""))
        for text in part.files or [fallback(part, standard)]:
            holders[text].append(part.name)
    lines += ["", RUST, TOKENS, "Packages without a licence file of their own are listed with the standard text."]
    for text, names in sorted(holders.items(), key=lambda entry: entry[1]):
        lines += ["", "=" * 100, ", ".join(names), "-" * 100, text]
    return "\n".join(lines) + "\n"


def fallback(part, standard):
    for name, text in standard.items():
        if text and name in part.licence:
            return text
    raise Failure(f"{part.name} ({part.licence}) has no licence file, and no standard text is known for it")


if __name__ == "__main__":
    sys.exit(main())
