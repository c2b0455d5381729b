#!/usr/bin/python3
"""recipe-s and recipe on the paper's figures and small benchmarks.

    run.py --build BUILDDIR [--quick] [--keep DIR] [--explore N] [PROGRAM ...]

Prints TAP, a case per program. Each is built in full mode, recorded once and put to mc, recipe-s and
recipe. Checked (cases.py says how programs tell it): what must be found is found, nothing is reported
that is no race, mc is in recipe-s is in recipe, `heddle verify` accepts every witness, and no race is
refuted when the real program is run under its witness's schedule (force.py). Random schedules of the
real program say whether the lists in the sources are complete.
"""
import argparse
import collections
import concurrent.futures
import os
import sys
import tempfile

import cases
import force
from cases import Failure


def expect(condition, text):
    if not condition:
        raise Failure(text)


def show(pairs):
    return " ".join("-".join(map(str, p)) for p in sorted(pairs))


def check_found(case, engine, found):
    allowed = case.allowed()
    got = {cases.lines(p) for p in found}
    expect(got <= allowed, f"{engine} reports what is no race: lines {show(got - allowed)}")
    for what, a, b in case.says:
        kind, _, by = what.partition(" ")
        if kind == "find" and cases.ENGINES.index(by) <= cases.ENGINES.index(engine):
            wanted = {tuple(sorted((x, y))) for x in case.marks[a] for y in case.marks[b]}
            expect(wanted & got, f"{engine} misses {a} {b}, lines {show(wanted)}")


def check_forced(case, program, race):
    word, why = force.force(program, race, case.events)
    expect(word != "refuted", f"{force.describe(race)} ({race['engines'][0]}): refuted: {why}")
    return word


def check_kept(case, engine, result):
    """What is kept of schedules, and how many threads there are, changes no verdict."""
    def verdicts(r):
        return sorted((cases.places(x), x["strength"], x["count"]) for x in r["races"])

    short = case.analyze(engine, False, ["--max-witness", "2", "--jobs", "1"])
    expect(verdicts(short) == verdicts(result), f"{engine} finds something else with --max-witness 2")
    for race in short["races"]:
        expect(race["strength"] != "witnessed" or race.get("long_witness", 0) > 2 or "witness" in race,
               f"{engine}: a witnessed race does not say how long its schedule was")


def check_spoilt(case, program, race):
    """A schedule without the first step of a racing thread leads elsewhere, and force.py must say so."""
    steps = force.schedule_of(program, race, case.events)
    thread = steps[-1].split()[1]
    own = [s for s in steps[:-2] if s.split()[1] == thread]
    if own:
        steps.remove(own[0])
        expect(program.follow(steps)[0] == "refuted", f"{force.describe(race)}: a spoilt schedule is not refuted")


def check(case, opts):
    """A line of text; what is wrong is raised."""
    case.prepare(opts.build, opts.work)
    known, allowed = {}, case.allowed()
    program = force.Program(case.source, case.directory)
    for engine in [e for e in opts.engines if not opts.quick or e != case.slow]:
        result = case.analyze(engine, not opts.no_verify)
        check_kept(case, engine, result)
        found = cases.races_of(result)
        check_found(case, engine, found)
        expect(set(known) <= set(found), f"{engine} misses {show(map(cases.lines, set(known) - set(found)))}")
        known = {**found, **known}
    words = collections.Counter(check_forced(case, program, race) for race in known.values())
    for race in known.values():
        check_spoilt(case, program, race)
    met = {cases.lines(p) for p in program.explore(opts.explore)}
    expect(met <= allowed, f"the source does not list the races at lines {show(met - allowed)}")
    return words, f"{len(known)} races, " + ", ".join(f"{n} {w}" for w, n in sorted(words.items()))


def run(case, opts):
    try:
        return True, *check(case, opts)
    except Failure as e:
        return False, collections.Counter(), str(e)


def options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", required=True)
    parser.add_argument("--keep", metavar="DIR")
    parser.add_argument("--quick", action="store_true", help="without the engines that are slow on a program")
    parser.add_argument("--explore", type=int, default=40, help="random schedules of each program")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--engines", help="not all three: for work on one of them")
    parser.add_argument("--no-verify", action="store_true", help="for work on the engines alone")
    parser.add_argument("programs", nargs="*")
    opts = parser.parse_intermixed_args()
    opts.build = os.path.abspath(opts.build)
    opts.engines = opts.engines.split(",") if opts.engines else cases.ENGINES
    return opts


def main():
    opts = options()
    temporary = tempfile.TemporaryDirectory()
    opts.work = opts.keep or temporary.name
    chosen = [c for c in map(cases.Case, cases.programs()) if not opts.programs or c.name in opts.programs]
    there = cases.engines_of(os.path.join(opts.build, "heddle"))
    if set(opts.engines) - set(there):
        raise SystemExit(f"this build has only {', '.join(there)}")
    print(f"1..{len(chosen)}")
    failed, total = 0, collections.Counter()
    with concurrent.futures.ThreadPoolExecutor(opts.jobs) as pool:
        for number, (case, (good, words, text)) in enumerate(
                zip(chosen, pool.map(lambda c: run(c, opts), chosen)), 1):
            failed += not good
            total += words
            print(f"{'ok' if good else 'not ok'} {number} {case.name}: " + text.replace("\n", "\n# "), flush=True)
    print("# " + ", ".join(f"{n} {w}" for w, n in sorted(total.items())))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
