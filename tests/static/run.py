#!/usr/bin/python3
"""Small programs whose statically possible pairs are known.

    run.py --build BUILDDIR [PATTERN ...]

A program says of itself, by marks at the ends of lines (`// [a]`):
    // pair: a b      must be among the pairs
    // never: a b     must not be
    // locks: a b     is a pair, but not with --lockset
    // optimised: a b must not be where the compiler has optimised
Each is built with -O0, -O2 and -O2 for production, if the build has that. TAP.
"""
import argparse
import fnmatch
import json
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))


def marks_of(text):
    marks = {}
    for number, line in enumerate(text.split("\n"), 1):
        m = re.search(r"// \[([\w, ]+)\]\s*$", line)
        for mark in re.split(r"[, ]+", m[1]) if m else []:
            marks.setdefault(mark, set()).add(number)
    return marks


def pairs_of(heddle, prog, work, *options):
    r = subprocess.run([heddle, "static", prog, "--format", "json", *options], cwd=work, capture_output=True, text=True)
    if r.returncode or r.stderr:
        return None, r.stderr
    result = json.loads(r.stdout)
    lines = [s["line"] for s in result["sites"]]
    return {frozenset((lines[i], lines[j])) for i, j in result["pairs"]}, result


def has(pairs, left, right):
    return any(frozenset((a, b)) in pairs for a in left for b in right)


def check(build, path, flags):
    heddle = os.path.join(build, "heddle")
    with open(path) as f:
        text = f.read()
    marks = marks_of(text)
    says = [(m[1], m[2], m[3]) for m in re.finditer(r"^// (pair|never|locks|optimised): (\w+) (\w+)$", text, re.M)]
    assert says, path
    with tempfile.TemporaryDirectory(prefix="heddle-static-") as work:
        compiler = "heddle-c++" if path.endswith(".cc") else "heddle-cc"
        r = subprocess.run([os.path.join(build, compiler), "-g", *flags, path, "-o", "prog", "-pthread"], cwd=work,
                           capture_output=True, text=True)
        if r.returncode:
            yield f"build: {r.stderr}"
            return
        sound, what = pairs_of(heddle, "prog", work)
        refined, what = pairs_of(heddle, "prog", work, "--lockset") if sound is not None else (None, what)
        if sound is None or refined is None:
            yield f"static: {what}"
            return
        if not refined <= sound:
            yield "--lockset adds pairs"
        if what["counters"]["unplaced"]:
            yield f"{what['counters']['unplaced']} sites have no place"
        for kind, a, b in says:
            if kind == "optimised" and "-O0" in flags:
                continue
            if has(sound, marks[a], marks[b]) != (kind in ("pair", "locks")):
                yield f"{kind}: {a} {b}"
            if has(refined, marks[a], marks[b]) != (kind == "pair"):
                yield f"{kind}: {a} {b}, with --lockset"


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--build", required=True)
    p.add_argument("patterns", nargs="*")
    options = p.parse_args()
    build = os.path.abspath(options.build)
    names = [f for f in sorted(os.listdir(HERE)) if f.endswith((".c", ".cc"))]
    if options.patterns:
        names = [f for f in names if any(fnmatch.fnmatch(f, q) or q in f for q in options.patterns)]
    variants = [["-O0"], ["-O2"], ["-O2", "--production"]]
    print(f"1..{len(names) * len(variants)}")
    n = bad = 0
    for name in names:
        for flags in variants:
            n += 1
            wrong = list(check(build, os.path.join(HERE, name), flags))
            bad += bool(wrong)
            print(f"{'not ' if wrong else ''}ok {n} - {name} {' '.join(flags)}")
            for w in wrong:
                print(f"# {w}")
    return bad != 0


if __name__ == "__main__":
    sys.exit(main())
