#!/usr/bin/python3
"""Explore the programs with classic concurrency bugs.

    run.py --build BUILDDIR [--runs 200] [--verify 3] [--jobs 2] [--table] [--seeds 3] [NAME ...]

A program NAME_bad must fail within that number of runs, and again whenever its order is repeated;
NAME_ok must not fail in any. Prints TAP; --table measures instead: a row a program with the run that
failed, predicted, by chance and by priorities (the median of so many seeds). Programs are built by
heddle-cc -g --no-elimination.
"""
import argparse
import concurrent.futures
import glob
import json
import os
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))


class Failure(Exception):
    pass


def call(command, work, limit):
    r = subprocess.run(command, cwd=work, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=limit)
    return r.returncode, r.stdout, r.stderr


def build(opts, source, work):
    driver = "heddle-c++" if source.endswith(".cc") else "heddle-cc"
    out = os.path.join(work, "program")
    code, _, err = call([os.path.join(opts.build, driver), "-g", "--no-elimination", "-pthread", source, "-o", out],
                        work, 300)
    if code:
        raise Failure(f"does not build: {err}")
    return out


def explore(opts, work, program, *more):
    command = [os.path.join(opts.build, "heddle"), "explore", "-f", "json", "-s", os.path.join(work, "schedule"),
               *more, "--", program]
    code, out, err = call(command, work, opts.limit)
    if code not in (0, 66):
        raise Failure(f"{' '.join(command)}: exit {code}\n{err}")
    result = json.loads(out)
    if bool(result["failed"]) != (code == 66):
        raise Failure(f"exit {code}, but failed: {result['failed']}")
    return result


def replay(opts, work, program, expected):
    """The schedule as a file leads there, too."""
    result = explore(opts, work, program, "--replay", os.path.join(work, "schedule"))
    if not result["failed"] or (result["failure"], result["code"]) != expected:
        raise Failure(f"the schedule's file does not lead to the failure: {result}")


def check(opts, source):
    name = os.path.basename(source).split(".")[0]
    with tempfile.TemporaryDirectory(prefix="heddle-explore-test-") as work:
        program = build(opts, source, work)
        bad = name.endswith("_bad")
        r = explore(opts, work, program, "--runs", str(opts.runs if bad else min(opts.runs, opts.ok_runs)),
                    "--verify", str(opts.verify))
        if bad and not r["failed"]:
            raise Failure(f"no failure in {r['runs']} runs")
        if not bad and r["failed"]:
            raise Failure(f"a program without a bug failed: {r}")
        if bad and r["again"] != r["of"]:
            raise Failure(f"repeated {r['of']} times, it failed {r['again']} times")
        if bad:
            replay(opts, work, program, (r["failure"], r["code"]))
        return f"{r['runs']} runs" + (f", {r['failure']}, {r['why']}" if bad else "")


def check_refused(opts):
    """Accesses of full builds cannot be stopped at: no failure in them would mean nothing."""
    with tempfile.TemporaryDirectory(prefix="heddle-explore-test-") as work:
        program = os.path.join(work, "program")
        source = os.path.join(HERE, "programs", "lost_update_bad.c")
        code, _, err = call([os.path.join(opts.build, "heddle-cc"), "--full", "-pthread", source, "-o", program], work, 300)
        if code:
            raise Failure(f"does not build: {err}")
        code, out, err = call([os.path.join(opts.build, "heddle"), "explore", "--", program], work, opts.limit)
        if code != 2 or "built with --full" not in err:
            raise Failure(f"exit {code}: {out}{err}")
        return "refused"


def row(opts, source):
    """The run that failed in each mode; None: none did."""
    def one(*more):
        r = explore(opts, work, program, "--verify", "0", "--runs", str(opts.runs), *more)
        return r["runs"] if r["failed"] else None

    with tempfile.TemporaryDirectory(prefix="heddle-explore-test-") as work:
        program = build(opts, source, work)
        found = [[one()]]
        for mode in ("random", "pct"):
            found.append([one("--mode", mode, "--seed", str(seed)) for seed in range(1, opts.seeds + 1)])
        return found


def shown(opts, runs):
    m = statistics.median(r if r else opts.runs + 1 for r in runs)
    missed = sum(r is None for r in runs)
    return (f"over {opts.runs}" if m > opts.runs else f"{m:g}") + \
        (f" ({missed} of {len(runs)} missed)" if missed and len(runs) > 1 else "")


def table(opts, sources):
    medians = [[], [], []]
    missed = [0, 0, 0]
    print("| program | predicted | by chance | by priorities (PCT, depth 3) |\n| --- | --- | --- | --- |", flush=True)
    for source in sources:
        cells = row(opts, source)
        for k, runs in enumerate(cells):
            medians[k] += [r if r else opts.runs + 1 for r in runs]
            missed[k] += sum(r is None for r in runs)
        name = os.path.basename(source).split(".")[0]
        print(f"| {name} | " + " | ".join(shown(opts, c) for c in cells) + " |", flush=True)
    print("| median | " + " | ".join(f"{statistics.median(m):g}" for m in medians) + " |")
    print("| not found | " + " | ".join(f"{n} of {len(m)}" for n, m in zip(missed, medians)) + " |")


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--build", required=True)
    p.add_argument("--runs", type=int, default=200)
    p.add_argument("--ok-runs", type=int, default=60)
    p.add_argument("--verify", type=int, default=3)
    p.add_argument("--seeds", type=int, default=3)
    p.add_argument("--jobs", type=int, default=2)
    p.add_argument("--limit", type=int, default=1200)
    p.add_argument("--table", action="store_true")
    p.add_argument("names", nargs="*")
    opts = p.parse_args()
    opts.build = os.path.abspath(opts.build)
    sources = sorted(glob.glob(os.path.join(HERE, "programs", "*.c*")))
    if opts.names:
        sources = [s for s in sources if os.path.basename(s).split(".")[0] in opts.names]
    if opts.table:
        table(opts, [s for s in sources if "_bad." in s])
        return 0
    failed = 0
    print(f"1..{len(sources) + 1}", flush=True)
    with concurrent.futures.ThreadPoolExecutor(opts.jobs) as pool:
        jobs = [(s, pool.submit(check, opts, s)) for s in sources] + [("full build", pool.submit(check_refused, opts))]
        for i, (source, job) in enumerate(jobs, 1):
            name = os.path.basename(source).split(".")[0]
            try:
                print(f"ok {i} - {name}: {job.result()}", flush=True)
            except (Failure, subprocess.TimeoutExpired, ValueError) as e:
                failed += 1
                print(f"not ok {i} - {name}\n# " + str(e).replace("\n", "\n# "), flush=True)
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
