#!/usr/bin/python3
"""What the two orders of a race do, of programs where one order is known to do harm.

    outcomes.py --build BUILDDIR [--runs 2] [--jobs 2] [--table] [PATTERN ...]

Each program of outcomes/ says in its head how the harmful order ends ("harmful: REGEX"). It is recorded, its
races are confirmed with --outcomes, and one order of one race must end like that. Prints TAP; --table prints
what was seen instead.
"""
import argparse
import concurrent.futures
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))


class Failure(Exception):
    pass


def run(command, cwd, expect):
    r = subprocess.run(command, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL,
                       timeout=600)
    if r.returncode not in expect:
        raise Failure(f"{' '.join(command)}: exit {r.returncode}\n{r.stdout.decode()}{r.stderr.decode()}")
    return r.stdout.decode("utf-8", "backslashreplace")


def confirmations(path, opts):
    work = tempfile.mkdtemp(prefix="heddle-outcomes-test-")
    heddle = os.path.join(opts.build, "heddle")
    try:
        run([os.path.join(opts.build, "heddle-cc"), "-g", "-O1", "-pthread", path, "-o", "prog"], work, [0])
        run([heddle, "record", "--", "./prog"], work, range(256))
        out = run([heddle, "confirm", "-q", "-f", "json", "--outcomes", "--runs", str(opts.runs), "--timeout", opts.limit],
                  work, [0, 66])
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return json.loads(out)["confirmations"]


def judge(path, opts):
    with open(path) as f:
        harmful = re.compile(re.search(r"harmful: (.*?)(?: \*/)?$", f.read(), re.M).group(1))
    try:
        races = confirmations(path, opts)
    except (Failure, subprocess.TimeoutExpired) as failure:
        return [str(failure)], False
    said, found = [], False
    for race in races:
        for order in race.get("outcomes", []):
            seen = ", ".join(f"{s['outcome']} ({s['count']} of {order['shown']})" for s in order["seen"])
            said.append(f"{order['order']}: {seen or 'did not come about'}")
            found |= any(harmful.search(s["outcome"]) for s in order["seen"])
        if "outcomes" not in race:
            said.append(f"{race['race']}: {race['verdict']}: {race.get('reason')}")
    if os.path.basename(path) == "output.c":
        found = any(r.get("differs") and r.get("worst") == "output" for r in races)
    return said, found


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--build", default="build")
    p.add_argument("--runs", type=int, default=2)
    p.add_argument("--jobs", type=int, default=2)
    p.add_argument("--limit", default="10s", help="of a run (confirm --timeout)")
    p.add_argument("--table", action="store_true")
    p.add_argument("patterns", nargs="*", metavar="PATTERN")
    opts = p.parse_args()
    opts.build = os.path.abspath(opts.build)
    programs = sorted(glob.glob(os.path.join(HERE, "outcomes", "*.c")))
    if opts.patterns:
        programs = [x for x in programs if os.path.basename(x)[:-2] in opts.patterns]
    failed = 0
    if not opts.table:
        print(f"1..{len(programs)}")
    with concurrent.futures.ThreadPoolExecutor(opts.jobs) as pool:
        results = pool.map(lambda x: judge(x, opts), programs)
        for number, (path, (said, found)) in enumerate(zip(programs, results), 1):
            failed += not found
            print(f"{'ok' if found else 'not ok'} {number} - {os.path.basename(path)[:-2]}")
            if opts.table or not found:
                print("".join(f"#   {line}\n" for text in said for line in text.split("\n")[:8]), end="", flush=True)
    if opts.table:
        print(f"{len(programs)} programs, the harmful order was shown in {len(programs) - failed}")
    return 1 if failed or not programs else 0


if __name__ == "__main__":
    sys.exit(main())
