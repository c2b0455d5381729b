#!/usr/bin/python3
"""Every race that is reported in a run must be among the pairs of `heddle static`.

    sound.py --build BUILDDIR [--jobs N] [--all] [PATTERN ...]

Builds programs of tests/programs, records and analyses them, and looks each race up by file, line
and column. Accesses that have no site (free()) are skipped. Without --all a sample of programs is
taken. TAP.
"""
import argparse
import concurrent.futures
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAMS = os.path.join(HERE, "..", "programs")
# A few seconds of compiling: libraries, callbacks, containers, libc, assembly, C++.
SAMPLE = ["array_race_", "asm_race_", "bitfield_race_", "hidden_race_", "library_race_", "once_race_", "qsort_race_",
          "signal_race_", "stack_race_", "struct_race_", "thread_race_timer", "tls_race_"]

ACCESSES = ("read", "write", "atomic-load", "atomic-store", "atomic-rmw")

spec = importlib.util.spec_from_file_location("programs_run", os.path.join(PROGRAMS, "run.py"))
programs = importlib.util.module_from_spec(spec)
spec.loader.exec_module(programs)


def place(location):
    m = re.match(r"(.*?):(\d+)(?::(\d+))?$", location or "")
    return (os.path.basename(m[1]), int(m[2]), int(m[3] or 0)) if m else None


def load(path):
    with open(path) as f:
        return json.load(f)


def static_pairs(heddle, case, work):
    command = [heddle, "static", "prog", "--format", "json", "-o", "static.json"]
    for line in case.says.get("library", []):
        source, how, *rest = line.split()
        if "dlopen" in rest and how == "traced":
            command += ["--library", os.path.splitext(source)[0] + ".so"]
    r = subprocess.run(command, cwd=work, capture_output=True, text=True)
    if r.returncode:
        raise programs.Failure(f"static: exit {r.returncode} {r.stderr}")
    result = load(os.path.join(work, "static.json"))
    sites = [(os.path.basename(s["file"]), s["line"], s["column"]) for s in result["sites"]]
    pairs = {frozenset((sites[i], sites[j])) for i, j in result["pairs"]}
    return pairs, result


def recorded_races(heddle, case, work):
    """By the engines that report what happened; what others predict is theirs to prove."""
    env = dict(os.environ)
    env.pop("HEDDLE_OPTIONS", None)
    subprocess.run([heddle, "record", "-o", "rec", "--", "./prog", *case.word("args").split()], cwd=work, env=env,
                   stdin=subprocess.DEVNULL, capture_output=True, timeout=60)
    r = subprocess.run([heddle, "analyze", "-q", "--engine", "hb,fasttrack", "--format", "json", "-o", "out.json", "rec"],
                       cwd=work, capture_output=True, text=True)
    if r.returncode not in (0, 66):
        raise programs.Failure(f"analyze: exit {r.returncode} {r.stderr}")
    return load(os.path.join(work, "out.json"))["races"]


def check(heddle, case):
    tool = programs.Heddle(os.path.dirname(heddle), "clang")
    work = tempfile.mkdtemp(prefix="heddle-static-")
    try:
        programs.build(case, tool, work)
        races = recorded_races(heddle, case, work)
        pairs, result = static_pairs(heddle, case, work)
        missing, checked = [], 0
        for race in races:
            ends = [place(a.get("location")) for a in race["accesses"]]
            if None in ends or any(a["op"] not in ACCESSES for a in race["accesses"]):
                continue  # a free() has no site
            checked += 1
            if frozenset(ends) not in pairs:
                missing.append(f"{ends[0]} {ends[1]} {race.get('variable')} {race['strength']}")
        return missing, checked, result["counters"]
    except programs.Failure as failure:
        return [f"failed: {failure}"], 0, {}
    finally:
        shutil.rmtree(work, ignore_errors=True)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--build", required=True)
    p.add_argument("--jobs", type=int, default=2)
    p.add_argument("--all", action="store_true")
    p.add_argument("patterns", nargs="*")
    options = p.parse_args()
    heddle = os.path.abspath(os.path.join(options.build, "heddle"))
    options.driver = "clang"
    cases = programs.selected(options)
    if not options.all and not options.patterns:
        cases = [c for c in cases if any(c.name.startswith(s) for s in SAMPLE)]
    print(f"1..{len(cases)}")
    bad = races = 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for n, (case, (missing, checked, counters)) in enumerate(
                zip(cases, pool.map(lambda c: check(heddle, c), cases)), 1):
            races += checked
            bad += bool(missing)
            print(f"{'not ' if missing else ''}ok {n} - {case.title} # {checked} races, {counters.get('pairs')} pairs")
            for m in missing:
                print(f"# {m}")
            sys.stdout.flush()
    print(f"# {races} races looked up, {bad} programs with a race that is not among the pairs")
    return bad != 0


if __name__ == "__main__":
    sys.exit(main())
