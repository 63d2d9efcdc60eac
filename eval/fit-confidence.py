#!/usr/bin/env python3
"""Fits the coefficients of src/retrieval/cosine_scale.rs. Standard library only.

usage: fit-confidence.py RUNS

RUNS is the folder that `miniclaw eval --kit DIR --runs RUNS` wrote: `SET.MODE.evidence.jsonl` holds the evidence for the
first hits of each question. Right hits are told from the hits for questions of other sets in the same script (logistic
regression; every set counts alike). To find the floor, each half of the questions is judged by the coefficients of the other
half: the floor is where 97.8 % of the right hits are, as the mean of the sets. The coefficients are those of all questions, and
the constant is shifted so that the confidence at the floor is 0.5. Printed for each set, each half judged by the other: the
share of the questions whose right hit is strong / the share of the others that get a strong hit. The vectors of the mode
`hybrid` are taken for those of Universal Sentence Encoder, those of the mode `rerank` for those of multilingual-e5-small.
"""
import glob, hashlib, json, math, os, sys

KEPT = 0.978
FIRST = ["coverage", "weight", "missing_names", "chunks"]
MODELS = {
    "WORDS": ("lexical", "Spaced", FIRST),
    "CHARACTERS": ("lexical", "Unspaced", FIRST + ["nowhere", "best", "characters"]),
    "WORDS_AND_VECTORS": ("hybrid", "Spaced", FIRST + ["nowhere", "cosine"]),
    "CHARACTERS_AND_VECTORS": ("hybrid", "Unspaced", FIRST + ["nowhere", "best", "characters", "cosine"]),
    "WORDS_AND_E5": ("rerank", "Spaced", FIRST + ["nowhere", "cosine"]),
    "CHARACTERS_AND_E5": ("rerank", "Unspaced", FIRST + ["characters", "cosine"]),
    "WORDS_AND_LATE": ("rerank", "Spaced", ["coverage", "weight", "chunks", "nowhere", "late"]),
    "WORDS_E5_AND_LATE": ("rerank", "Spaced", ["coverage", "weight", "chunks", "nowhere", "cosine", "late"]),
}
RIDGE = 1e-3


def features(hit, names):
    evidence = hit["evidence"]
    value = {
        "coverage": math.log(evidence["coverage"] + 0.1),
        "weight": math.log1p(2.2 * evidence["weight"]),
        "best": evidence["best"],
        "nowhere": evidence["nowhere"],
        "missing_names": evidence["missing_names"] / max(1, evidence["names"]),
        "characters": float(evidence["characters"]),
        "chunks": math.log(max(10, evidence["chunks"])),
        "cosine": hit["cosine"],
        "late": hit["late"],
    }
    return [value[name] for name in names]


def questions(runs, mode, script, names):
    """Yields set, half, whether right, and the features of the hits that count."""
    for path in sorted(glob.glob(os.path.join(runs, f"*.{mode}.evidence.jsonl"))):
        if "conversations" in path:
            continue
        name = os.path.basename(path).split(".")[0]
        for line in open(path, encoding="utf-8"):
            asked = json.loads(line)
            right = asked["kind"] == "Answerable"
            if asked["script"] != script or asked["kind"] not in ("Answerable", "Foreign"):
                continue
            hits = [hit for hit in asked["hits"] if hit["right"] or not right]
            needed = [name for name in ("cosine", "late") if name in names]
            has_all = lambda hit: all(hit[name] is not None for name in needed)
            if (right and not hits) or not any(map(has_all, asked["hits"])):
                continue
            half = int(hashlib.md5((asked["id"] + asked["query"]).encode()).hexdigest(), 16) % 2
            usable = list(filter(has_all, hits))
            yield name, half, right, [features(hit, names) for hit in usable]


def solve(matrix, vector):
    """Solves a small system of linear equations."""
    rows = [row[:] + [value] for row, value in zip(matrix, vector)]
    size = len(rows)
    for at in range(size):
        pivot = max(range(at, size), key=lambda row: abs(rows[row][at]))
        rows[at], rows[pivot] = rows[pivot], rows[at]
        for row in range(size):
            if row != at:
                factor = rows[row][at] / rows[at][at]
                rows[row] = [a - factor * b for a, b in zip(rows[row], rows[at])]
    return [rows[at][size] / rows[at][at] for at in range(size)]


def logistic(x):
    return 1 / (1 + math.exp(-max(-60.0, min(60.0, x))))


def fitted(asked, size):
    """Returns the coefficients and the constant, by Newton's method."""
    counts = {}
    for name, _, right, hits in asked:
        counts[name, right] = counts.get((name, right), 0) + len(hits)
    rows = [(hit, float(right), 1 / counts[name, right]) for name, _, right, hits in asked for hit in hits]
    total = sum(weight for *_, weight in rows)
    mean = [sum(hit[at] for hit, *_ in rows) / len(rows) for at in range(size)]
    spread = [math.sqrt(sum((hit[at] - mean[at]) ** 2 for hit, *_ in rows) / len(rows)) or 1.0 for at in range(size)]
    rows = [([(x - m) / s for x, m, s in zip(hit, mean, spread)] + [1.0], y, w / total) for hit, y, w in rows]
    found = [0.0] * (size + 1)
    for _ in range(30):
        gradient = [RIDGE * b for b in found[:-1]] + [0.0]
        hessian = [[RIDGE * (i == j) + 1e-9 for j in range(size + 1)] for i in range(size + 1)]
        for x, y, weight in rows:
            p = logistic(sum(a * b for a, b in zip(x, found)))
            for i, xi in enumerate(x):
                gradient[i] += weight * (p - y) * xi
                for j, xj in enumerate(x):
                    hessian[i][j] += weight * p * (1 - p) * xi * xj
        found = [b - step for b, step in zip(found, solve(hessian, gradient))]
    coefficients = [b / s for b, s in zip(found, spread)]
    return coefficients, found[-1] - sum(c * m for c, m in zip(coefficients, mean))


def mean(values):
    return sum(values) / max(1, len(values))


def best(hits, fit):
    """Returns the log-odds of the best hit."""
    coefficients, constant = fit
    return max((constant + sum(c * x for c, x in zip(coefficients, hit)) for hit in hits), default=-60.0)


def strong(scores, name, floor):
    """Returns which share of the right and of the other questions of a set have a strong hit."""
    return [mean([score >= floor for of, is_right, score in scores if (of, is_right) == (name, right)]) for right in (True, False)]


def main():
    runs = sys.argv[1]
    for model, (mode, script, names) in MODELS.items():
        asked = list(questions(runs, mode, script, names))
        both = {name for name, _, right, _ in asked if right} & {name for name, _, right, _ in asked if not right}
        asked = [row for row in asked if row[0] in both]
        if not asked:
            print(f"{model}: no questions")
            continue
        by_half = [fitted([row for row in asked if row[1] != half], len(names)) for half in (0, 1)]
        scores = [(name, right, best(hits, by_half[half])) for name, half, right, hits in asked]
        sets = lambda floor: [(name, strong(scores, name, floor)) for name in sorted(both)]
        low, high = -60.0, 60.0
        for _ in range(60):
            floor = (low + high) / 2
            if mean([kept for _, (kept, _) in sets(floor)]) >= KEPT:
                low = floor
            else:
                high = floor
        coefficients, constant = fitted(asked, len(names))
        printed = ", ".join(f"{name}: {value:.3f}" for name, value in zip(names, coefficients))
        print(f"{model}: {printed}, constant: {constant - low:.3f}")
        figures = " ".join(f"{name} {kept:.3f}/{others:.3f}" for name, (kept, others) in sets(low))
        print(f"  {figures} mean {mean([kept for _, (kept, _) in sets(low)]):.3f}/{mean([o for _, (_, o) in sets(low)]):.3f}")


if __name__ == "__main__":
    main()
