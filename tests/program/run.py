#!/usr/bin/python3
"""The walk of the program's code: every value it computes is the recorded one.

    run.py --build BUILDDIR [--keep DIR] [CASE ...]

Prints TAP. A case is a program, built in full mode at some level, recorded and walked: 208 generated
functions at three levels, and programs of tests/full. `run.py --build DIR --walk TRACE ...` prints the
numbers of traces that exist, for instance of real programs.
"""
import argparse
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
FULL = os.path.join(HERE, "..", "full")
LEVELS = ["-O0", "-O1", "-O2"]
FUNCTIONS = 52


class Failure(Exception):
    pass


def expect(condition, text):
    if not condition:
        raise Failure(text)


def call(command, codes=(0,), env=None):
    p = subprocess.run(command, capture_output=True, text=True, timeout=300, env=env)
    if p.returncode not in codes:
        raise Failure(f"{' '.join(command)}: exit {p.returncode}\n{p.stdout[-1000:]}{p.stderr[-3000:]}")
    return p


def build(opts, directory, level, sources):
    """Full mode, but say.c, which is code without bitcode."""
    objects = []
    for source in sources:
        objects.append(os.path.join(directory, os.path.basename(source) + ".o"))
        traced = not source.endswith("say.c")
        driver = "heddle-c++" if source.endswith(".cc") else "heddle-cc"
        compiler = [os.path.join(opts.build, driver), "--full", level] if traced else ["clang-19", "-O0"]
        call([*compiler, "-w", "-g", "-c", source, "-o", objects[-1]])
    driver = "heddle-c++" if any(s.endswith(".cc") for s in sources) else "heddle-cc"
    program = os.path.join(directory, "program")
    call([os.path.join(opts.build, driver), "--full", *objects, "-pthread", "-lm", "-o", program])
    return program


def record(opts, directory, program):
    data = os.path.join(directory, "data")
    p = call([os.path.join(opts.build, "heddle"), "record", "-o", data, "--", program])
    traces = [os.path.join(data, f) for f in os.listdir(data) if f.endswith(".hdl")]
    expect(len(traces) == 1, f"{len(traces)} traces")
    return traces[0], p.stdout


def walk(opts, trace, *options, codes=(0,)):
    env = dict(os.environ, HEDDLE_MODULES=opts.build)
    p = call([os.path.join(opts.build, "tests", "program", "program-walk"), *options, trace], codes, env)
    numbers = dict(line.split() for line in p.stdout.splitlines())
    return {k: int(v) for k, v in numbers.items()}


KINDS = "addresses", "values", "branches"


def check(n, least):
    """`least`: how many values must have been computed, and found equal."""
    expect(n["lost"] == 0 and n["losses"] == 0, f"lost its way: {n}")
    expect(all(n[k + ".wrong"] == 0 for k in (*KINDS, "results")), f"values differ: {n}")
    expect(n["changed"] == 0, f"memory changed behind the walk: {n}")
    right, learned = (sum(n[f"{k}.{how}"] for k in KINDS) for how in ("right", "learned"))
    expect(right >= least, f"only {right} values were computed: {n}")
    expect(learned < 0.1 * right, f"{learned} values were not computed, {right} were: {n}")
    return f"{right} values computed, {learned} learned, {n['instructions']} instructions"


def case_generated(opts, directory, level, seed):
    source = os.path.join(directory, "generated.c")
    with open(source, "w") as f:
        f.write(call([sys.executable, os.path.join(HERE, "generate.py"), str(seed), str(FUNCTIONS)]).stdout)
    trace, _ = record(opts, directory, build(opts, directory, level, [source]))
    n = walk(opts, trace)
    expect(n["frames"] >= 3 * FUNCTIONS, f"not all functions were walked: {n}")
    shared = walk(opts, trace, "-s")
    check(shared, 3000)
    return check(n, 3000)


def case_spoilt(opts, directory, level):
    """A record that is wrong does not agree."""
    trace, _ = record(opts, directory, build(opts, directory, level, [os.path.join(FULL, "branches.c"), os.path.join(FULL, "say.c")]))
    walk(opts, trace)
    n = walk(opts, trace, "-x", codes=(1,))
    wrong = sum(n[k + ".wrong"] for k in KINDS)
    expect(wrong > 3, f"only {wrong} differences were noticed: {n}")
    return f"{wrong} differences noticed"


def full_program(least, *names):
    def case(opts, directory, level):
        sources = [os.path.join(FULL, n) for n in (*names, "say.c")]
        trace, _ = record(opts, directory, build(opts, directory, level, sources))
        return check(walk(opts, trace), least)
    return case


CASES = {f"generated-{seed}": (case_generated, LEVELS, (seed,)) for seed in (11, 12, 13, 14)}
CASES.update({
    "replay": (full_program(20000, "replay.c"), ["-O0", "-O2"], ()),
    "flow": (full_program(2000, "flow.c"), ["-O1"], ()),
    "calls": (full_program(20, "calls.c", "calls_other.c"), ["-O0", "-O2"], ()),
    "exact": (full_program(100000, "exact.c"), ["-O1"], ()),
    "spoilt": (case_spoilt, ["-O1"], ()),
})


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--build", required=True)
    p.add_argument("--keep", help="leave programs and traces here")
    p.add_argument("--walk", nargs="+", help="traces to walk instead")
    p.add_argument("case", nargs="*")
    opts = p.parse_args()
    opts.build = os.path.abspath(opts.build)
    if opts.walk:
        for trace in opts.walk:
            print(trace, walk(opts, trace, codes=(0, 1)))
        return
    cases = [(n, level) for n in CASES for level in CASES[n][1] if not opts.case or n in opts.case]
    print(f"1..{len(cases)}", flush=True)
    failed = 0
    with tempfile.TemporaryDirectory() as work:
        for i, (name, level) in enumerate(cases, 1):
            directory = tempfile.mkdtemp(dir=opts.keep or work)
            try:
                said = CASES[name][0](opts, directory, level, *CASES[name][2])
                print(f"ok {i} - {name} {level}: {said}", flush=True)
            except (Failure, subprocess.TimeoutExpired) as e:
                failed += 1
                print(f"not ok {i} - {name} {level}\n# " + str(e).replace("\n", "\n# "), flush=True)
    sys.exit(failed > 0)


main()
