#!/usr/bin/env python3
"""Prints the modules of the server and which of them use which, as a Mermaid diagram.

An arrow that follows from others (a uses b, b uses c, so a uses c) is left out. `--rev` reads an earlier commit.
"""

import argparse
import re
import subprocess
from collections import defaultdict
from pathlib import Path


def sources(rev: str | None):
    """Yields the path below src/ and the text of each Rust file."""
    if rev is None:
        for path in sorted(Path("src").rglob("*.rs")):
            yield path.relative_to("src").as_posix(), path.read_text()
        return
    listed = subprocess.run(["git", "ls-tree", "-r", "--name-only", rev, "src"], capture_output=True, text=True, check=True)
    for name in listed.stdout.splitlines():
        if name.endswith(".rs"):
            shown = subprocess.run(["git", "show", f"{rev}:{name}"], capture_output=True, text=True, check=True)
            yield name.removeprefix("src/"), shown.stdout


def module_of(path: str) -> str:
    return path.split("/")[0].removesuffix(".rs")


def graph(files):
    """Returns the lines of code by module, and the modules that each module uses outside its tests."""
    lines, uses = defaultdict(int), defaultdict(set)
    texts = [(module_of(path), text.split("#[cfg(test)]\nmod tests", 1)[0]) for path, text in files]
    modules = {module for module, _ in texts} - {"lib", "main"}
    for module, text in texts:
        if module not in modules:
            continue
        lines[module] += text.count("\n")
        names = set(re.findall(r"\bcrate::(\w+)", text))
        for group in re.findall(r"\bcrate::\{([^}]*)\}", text):
            names |= set(re.findall(r"\w+", group))
        uses[module] |= (names & modules) - {module}
    return lines, uses


def reachable(uses, start):
    found, open_ = set(), list(uses[start])
    while open_:
        module = open_.pop()
        if module not in found:
            found.add(module)
            open_ += uses[module]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rev", help="a commit; the working tree if absent")
    lines, uses = graph(sources(parser.parse_args().rev))
    below = {module: reachable(uses, module) for module in list(lines)}
    print("graph TD")
    for module in sorted(lines):
        print(f'  {module}["{module}<br/>{lines[module] / 1000:.1f}k lines"]')
    for module in sorted(lines):
        for used in sorted(uses[module]):
            others = uses[module] - {used}
            if not any(used in below[other] for other in others):
                print(f"  {module} --> {used}")


if __name__ == "__main__":
    main()
