#!/usr/bin/python3
"""Races with code that was not executed (engine recipe).

    run.py --build BUILDDIR [--keep DIR] [CASE ...]

Prints TAP. Two kinds of cases:
  flip_*.c, flip_*.cc   programs; the comment at their head names pairs of marked lines: "recipe: a b" must be
             found by recipe through a branch that goes the other way and not by recipe-s, "recipe-s:
             a b" by both, "never: a b" by none. Each at -O0 and -O1, but where the line ends in -O1.
  random-N   generated programs (generate.py) whose every execution is searched: what recipe finds
             must be possible.
"""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import generate  # noqa: E402


class Failure(Exception):
    pass


def call(command, codes=(0,), env=None):
    p = subprocess.run(command, capture_output=True, text=True, timeout=300, env=env)
    if p.returncode not in codes:
        raise Failure(f"{' '.join(command)}: exit {p.returncode}\n{p.stdout[-1000:]}{p.stderr[-3000:]}")
    return p.stdout


def build(opts, directory, level, source):
    program, turn = os.path.join(directory, "program"), os.path.join(directory, "turn.o")
    call(["clang-19", "-O1", "-c", os.path.join(HERE, "turn.c"), "-o", turn])
    driver = "heddle-cc" if source.endswith(".c") else "heddle-c++"
    call([os.path.join(opts.build, driver), "--full", level, "-w", "-g", "-I", HERE, source, turn,
          "-pthread", "-o", program])
    return program


def record(opts, directory, program):
    data = os.path.join(directory, "data")
    call([os.path.join(opts.build, "heddle"), "record", "-o", data, "--", program])
    return os.path.join(data, next(f for f in os.listdir(data) if f.endswith(".hdl")))


def analyze(opts, trace, engine):
    env = dict(os.environ, HEDDLE_MODULES=opts.build)
    out = call([os.path.join(opts.build, "heddle"), "analyze", "--engine", engine, "--jobs", "1", "--format", "json", trace],
               (0, 66), env)
    result = json.loads(out)
    for e in result["engines"]:
        for bad in ("witness_refused", "flips_refused"):
            if bad in e["counters"]:
                raise Failure(f"{e['name']}: {bad} {e['counters'][bad]}")
    return result


def lines(race):
    """Both lines; None where the compiler merged accesses of several."""
    places = [a["location"].split(":") for a in race["accesses"]]
    return tuple(sorted(int(p[1]) for p in places)) if all(len(p) > 1 for p in places) else None


def found(result):
    return {lines(r): r for r in result["races"] if r["strength"] == "witnessed" and lines(r)}


def case_program(opts, directory, name, level):
    source = os.path.join(HERE, name)
    with open(source) as f:
        text = f.read().split("\n")
    marks = {m.group(1): i + 1 for i, l in enumerate(text) if (m := re.search(r"/\* (\w+) \*/", l))}
    wanted = [(m.group(1), tuple(sorted((marks[m.group(2)], marks[m.group(3)]))), m.group(0)) for l in text
              if (m := re.match(r" \* (recipe|recipe-s|never): (\w+) (\w+)( -O1)?$", l)) and m.group(4) in (None, " " + level)]
    if not wanted:
        raise Failure("the program does not say what is to be found")
    trace = record(opts, directory, build(opts, directory, level, source))
    mild, full = found(analyze(opts, trace, "recipe-s")), found(analyze(opts, trace, "recipe"))
    for kind, pair, what in wanted:
        what = what.strip(" *")
        if kind == "never" and (pair in mild or pair in full):
            raise Failure(f"found, and it cannot be: {what}")
        if kind != "never" and pair not in full:
            raise Failure(f"not found: {what} {pair}, but {sorted(full)}")
        if kind == "recipe-s" and pair not in mild:
            raise Failure(f"not found by recipe-s: {what}")
        if kind == "recipe" and (pair in mild or not full[pair].get("flips")):
            raise Failure(f"found without a branch that goes the other way: {what}")
    if set(mild) - set(full):
        raise Failure(f"recipe-s alone has {set(mild) - set(full)}")
    verify(opts, trace, directory)
    return f"{len(full)} races, {len(mild)} without flips"


def verify(opts, trace, directory):
    """The checker alone accepts every witness, from the file."""
    env = dict(os.environ, HEDDLE_MODULES=opts.build)
    result = os.path.join(directory, "result.json")
    with open(result, "w") as f:
        f.write(call([os.path.join(opts.build, "heddle"), "analyze", "--engine", "recipe", "--format", "json", trace], (0, 66), env))
    call([os.path.join(opts.build, "heddle"), "verify", trace, result], (0,), env)


def case_random(opts, directory, seed, level):
    source = os.path.join(directory, "random.c")
    text, scenarios = generate.program(seed, 12)
    with open(source, "w") as f:
        f.write(text)
    trace = record(opts, directory, build(opts, directory, level, source))
    possible = set()
    for s in scenarios:
        races = s.races()
        if races is None:
            raise Failure(f"scenario {s.number} has too many states")
        possible |= races
    result = analyze(opts, trace, "recipe")
    flipped = {pair for pair, r in found(result).items() if r.get("flips")}
    if set(found(result)) - possible:
        raise Failure(f"seed {seed}: {sorted(set(found(result)) - possible)} cannot be")
    return f"{len(possible)} races are possible, {len(found(result))} found, {len(flipped)} of them through flips"


CASES = {f"{f.rsplit('.', 1)[0]}{level}": (case_program, f, level) for f in sorted(os.listdir(HERE))
         if f.startswith("flip_") and f.endswith((".c", ".cc")) for level in ("-O0", "-O1")}
CASES.update({f"random-{seed}{level}": (case_random, seed, level) for seed in (101, 102, 103) for level in ("-O0", "-O1")})


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    parser.add_argument("--keep")
    parser.add_argument("cases", nargs="*")
    opts = parser.parse_args()
    opts.build = os.path.abspath(opts.build)
    names = opts.cases or list(CASES)
    failed = 0
    print(f"1..{len(names)}")
    for i, name in enumerate(names):
        try:
            with tempfile.TemporaryDirectory() as directory:
                directory = os.path.join(opts.keep, name) if opts.keep else directory
                os.makedirs(directory, exist_ok=True)
                function, *args = CASES[name]
                print(f"ok {i + 1} - {name} # {function(opts, directory, *args)}")
        except (Failure, subprocess.TimeoutExpired) as e:
            failed += 1
            print(f"not ok {i + 1} - {name}")
            print("".join(f"# {line}\n" for line in str(e).split("\n")), end="")
        sys.stdout.flush()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
