#!/usr/bin/python3
"""Confirm the races of the test programs, and none in those that have none.

    run.py --build BUILDDIR [--driver clang|gcc] [--tries 10] [--jobs 2] [--table] [PATTERN ...]

Each program of tests/programs is built and recorded as its own test does it. In a program with
races each pair that it says must be reported has to be confirmed. In one without races the engine
`lockset` names the candidates, all accesses that no common lock protects: none of them may ever be
confirmed. Prints TAP; --table measures instead: a line a pair with the try that confirmed it and
what a controlled run costs, sums at the end. PATTERN is as in tests/programs/run.py.
"""
import argparse
import concurrent.futures
import importlib.util
import json
import os
import shutil
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
SPEC = importlib.util.spec_from_file_location("programs", os.path.join(HERE, "..", "programs", "run.py"))
programs = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(programs)


class Outcome:
    """Of one program: (pair, verdict, tries, reason), seconds of recording and of a controlled run."""

    def __init__(self, case):
        self.case, self.pairs, self.wrong = case, [], []
        self.recorded = self.controlled = 0.0


def confirm(heddle, work, arguments, limit):
    command = [os.path.join(heddle.build, "heddle"), "confirm", "-q", "-f", "json", *arguments]
    r = programs.run(command, work, heddle.env, limit)
    if r.returncode not in (0, 66):
        raise programs.Failure(f"{' '.join(command)}: exit {r.returncode}\n{r.stderr}")
    return json.loads(r.stdout)["confirmations"]


def rank(c):
    return (c["verdict"] != "confirmed", c["tries"])


def races_of(outcome, heddle, work, opts):
    case = outcome.case
    heddle.run(case, work)
    with open(os.path.join(work, "out.json")) as f:
        races = {r["id"]: heddle.race(case, r) for r in json.load(f)["races"]}
    pairs = case.required
    ids = [i for i, race in races.items() if any(race.is_pair(p) for p in pairs)]
    if not ids:
        raise programs.Failure("no race to confirm was reported")
    start = time.time()
    got = {c["race"]: c for c in confirm(heddle, work, ["-t", "out.json", "-n", str(opts.tries), *ids], 600)}
    runs = sum(c["tries"] for c in got.values())
    outcome.controlled = (time.time() - start) / max(runs, 1)
    for pair in pairs:
        found = sorted((got[i] for i in ids if races[i].is_pair(pair)), key=rank)
        if found:
            outcome.pairs.append((pair[0], found[0]["verdict"], found[0]["tries"], found[0].get("reason", "")))
            if found[0]["verdict"] != "confirmed":
                outcome.wrong.append(f"{pair[0]}: {found[0]['verdict']}: {found[0].get('reason')}")
        else:
            outcome.pairs.append((pair[0], "not reported", 0, ""))


def candidates_of(outcome, heddle, work, opts):
    record = [os.path.join(heddle.build, "heddle"), "record", *outcome.case.word("options").split(), "--", "./prog",
              *outcome.case.word("args").split()]
    programs.run(record, work, heddle.env)
    analyse = [os.path.join(heddle.build, "heddle"), "analyze", "-q", "-e", "lockset", "-f", "json", "-o", "out.json",
               "heddle.data"]
    programs.run(analyse, work, heddle.env)
    if not os.path.exists(os.path.join(work, "out.json")):
        return
    with open(os.path.join(work, "out.json")) as f:
        ids = [r["id"] for r in json.load(f)["races"]][:opts.candidates]
    if not ids:
        return
    for c in confirm(heddle, work, ["-t", "out.json", "-n", str(opts.tries), "--wait", opts.wait, *ids], 900):
        outcome.pairs.append((c["race"], c["verdict"], c["tries"], c.get("reason", "")))
        if c["verdict"] == "confirmed":
            outcome.wrong.append(f"false: {c['race']} confirmed: {c['accesses'][0]['location']} {c['accesses'][1]['location']}")


def one(case, heddle, opts):
    outcome = Outcome(case)
    work = tempfile.mkdtemp(prefix="heddle-confirm-test-")
    try:
        programs.build(case, heddle, work)
        (races_of if case.is_race else candidates_of)(outcome, heddle, work, opts)
    except (programs.Failure, OSError) as failure:
        outcome.wrong.append(str(failure))
    finally:
        if opts.keep and outcome.wrong:
            shutil.copytree(work, os.path.join(opts.keep, case.title.replace(" ", "")), dirs_exist_ok=True, symlinks=True)
        shutil.rmtree(work, ignore_errors=True)
    return outcome


def print_tap(number, outcome):
    print(f"{'not ok' if outcome.wrong else 'ok'} {number} - {outcome.case.title}")
    for sentence in outcome.wrong:
        for line in sentence.rstrip("\n").split("\n")[:8]:
            print(f"#   {line}")
    sys.stdout.flush()


def print_table(outcome):
    for pair, verdict, tries, reason in outcome.pairs:
        print(f"{outcome.case.title:44} {pair:20} {verdict:12} {tries:3} {outcome.controlled:6.2f} s {reason}")
    if not outcome.pairs:
        print(f"{outcome.case.title:44} {outcome.wrong}")
    sys.stdout.flush()


def print_sums(outcomes):
    race = [p for o in outcomes if o.case.is_race for p in o.pairs]
    free = [p for o in outcomes if not o.case.is_race for p in o.pairs]
    confirmed = [p for p in race if p[1] == "confirmed"]
    first = [p for p in confirmed if p[2] == 1]
    print(f"pairs that race: {len(race)}, confirmed {len(confirmed)}, in the first try {len(first)}")
    print(f"candidates in programs without races: {len(free)}, confirmed {sum(p[1] == 'confirmed' for p in free)}")
    print(f"programs with trouble: {sum(not o.pairs and bool(o.wrong) for o in outcomes)}")


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--build", default="build")
    p.add_argument("--driver", choices=["clang", "gcc"], default="clang")
    p.add_argument("--tries", type=int, default=10)
    p.add_argument("--jobs", type=int, default=2)
    p.add_argument("--wait", default="100ms", help="in programs without races (confirm --wait)")
    p.add_argument("--candidates", type=int, default=12, help="of a program without races")
    p.add_argument("--table", action="store_true")
    p.add_argument("--keep", help="keep the directories of what goes wrong here")
    p.add_argument("patterns", nargs="*", metavar="PATTERN")
    opts = p.parse_args()
    opts.all = opts.driver == "clang"
    heddle = programs.Heddle(opts.build, opts.driver)
    cases = [c for c in programs.selected(opts) if not c.deadlocks]
    failed = 0
    outcomes = []
    if not opts.table:
        print(f"1..{len(cases)}")
    with concurrent.futures.ThreadPoolExecutor(opts.jobs) as pool:
        for number, outcome in enumerate(pool.map(lambda c: one(c, heddle, opts), cases), 1):
            outcomes.append(outcome)
            failed += bool(outcome.wrong)
            if opts.table:
                print_table(outcome)
            else:
                print_tap(number, outcome)
    if opts.table:
        print_sums(outcomes)
    return 1 if failed or not cases else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (programs.Failure, OSError) as failure:
        sys.exit(str(failure))
