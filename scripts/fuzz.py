#!/usr/bin/env python3
"""Runs every property test with many cases: fuzz.py [--seconds N] [--only TEXT] BINARY...

Each BINARY is a test program built by cargo. Properties are the tests inside `proptest!` in the sources, and the tests
that create a `TestRunner`. The time is divided evenly among them; a short first run determines how many cases fit. A
failing property is printed with its output, and the exit code is 1.
"""
import argparse
import os
import re
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent.parent
# Number of cases of the first run, which measures the speed, and maximum number of cases of one run.
FIRST = 256
MOST = 4_000_000
# Timeout of one run, in seconds. Every run has its own seed, because proptest draws a new one for every process.
TIMEOUT = 3600


def properties():
    """Returns the names of all tests that proptest drives."""
    found = set()
    for source in [*HERE.glob("src/**/*.rs"), *HERE.glob("crates/embed/src/**/*.rs"), *HERE.glob("tests/it/*.rs")]:
        text = source.read_text(encoding="utf-8")
        for block in re.finditer(r"^( *)proptest! \{\n(.*?)^\1\}", text, re.S | re.M):
            found.update(re.findall(r"#\[test\]\s+fn (\w+)", block.group(2)))
        if "TestRunner::new" in text:
            found.update(re.findall(r"#\[tokio::test[^\n]*\]\s+async fn (any_\w+)", text))
    return found


def tests_of(binary):
    listed = subprocess.run([binary, "--list", "--format", "terse"], check=True, capture_output=True, text=True).stdout
    return [line.removesuffix(": test") for line in listed.splitlines() if line.endswith(": test")]


def run(binary, test, cases):
    """Runs one test; returns the seconds it took and, if it failed, its output."""
    env = {**os.environ, "PROPTEST_CASES": str(cases), "PROPTEST_MAX_GLOBAL_REJECTS": str(cases + 1024)}
    begun = time.monotonic()
    done = subprocess.run(
        [binary, "--exact", test, "--test-threads", "1"], env=env, capture_output=True, text=True, cwd=HERE, timeout=TIMEOUT
    )
    took = time.monotonic() - begun
    ran = "1 passed" in done.stdout
    return took, None if ran and done.returncode == 0 else (done.stdout + done.stderr)[-4000:]


def fuzz(binary, test, seconds):
    """Returns (cases run, seconds, failure output or None)."""
    end = time.monotonic() + seconds
    total, spent, cases = 0, 0.0, FIRST
    while True:
        took, failure = run(binary, test, cases)
        spent += took
        if failure:
            return total, spent, failure
        total += cases
        left = end - time.monotonic()
        # A property with its own minimum ran at least `cases`.
        fits = int(cases / max(took, 0.01) * left * 0.9)
        if left < took or fits < FIRST:
            return total, spent, None
        cases = min(max(fits, FIRST), MOST, cases * 40)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=600, help="for all properties together (default 600)")
    parser.add_argument("--only", default="", help="only properties whose name holds this text")
    parser.add_argument("binaries", nargs="+")
    given = parser.parse_args()
    wanted = properties()
    chosen = [
        (binary, test)
        for binary in given.binaries
        for test in tests_of(binary)
        if test.rsplit("::", 1)[-1] in wanted and given.only in test
    ]
    if not chosen:
        sys.exit("no property was found in " + ", ".join(given.binaries))
    share = given.seconds / len(chosen)
    total, failed = 0, []
    for binary, test in chosen:
        cases, took, failure = fuzz(binary, test, share)
        total += cases
        print(f"{'FAIL' if failure else 'ok':4} {cases:>12,} in {took:7.1f} s  {test}", flush=True)
        if failure:
            failed.append(test)
            print(failure, flush=True)
    print(f"{total:,} executions of {len(chosen)} properties, {len(failed)} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
