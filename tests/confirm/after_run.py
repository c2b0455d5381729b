#!/usr/bin/python3
"""`heddle run --confirm`: the result says what came of making its races happen. Prints TAP.

    after_run.py --build BUILDDIR
"""
import argparse
import json
import os
import shutil
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import replay  # noqa: E402


def result(heddle, work, *options):
    replay.run([heddle, "run", "-q", *options, "-f", "json", "-o", "out.json", "--", "./prog"], work, [0, 66])
    with open(os.path.join(work, "out.json")) as f:
        return json.load(f)["races"]


def is_confirmed(heddle, work):
    race = result(heddle, work, "--confirm=1")[0]
    return race["strength"] == "confirmed" and race["confirmation"] == "confirmed" and race["tries"] >= 1


def says_nothing_without(heddle, work):
    race = result(heddle, work)[0]
    return race["strength"] != "confirmed" and "confirmation" not in race


def keeps_it(heddle, work):
    result(heddle, work, "--confirm")
    with open(os.path.join(work, "out.json")) as f:
        return replay.run([heddle, "report", "-f", "json", "out.json"], work, [66]) == f.read()


def shows_it(heddle, work):
    return "made to happen in try" in replay.run([heddle, "report", "out.json"], work, [66]) and \
        "confirmed" in replay.run([heddle, "report", "-f", "sarif", "out.json"], work, [66])


CASES = [("a race that happened is confirmed", is_confirmed), ("without the option nothing is said", says_nothing_without),
         ("JSON that is read is written the same", keeps_it), ("text and SARIF show it", shows_it)]


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--build", default="build")
    opts = p.parse_args()
    opts.build = os.path.abspath(opts.build)
    heddle, work = os.path.join(opts.build, "heddle"), tempfile.mkdtemp(prefix="heddle-after-run-test-")
    failed = 0
    print(f"1..{len(CASES)}")
    try:
        replay.compile_program(opts, replay.PARCEL, work, "prog")
        for number, (name, check) in enumerate(CASES, 1):
            try:
                good, why = check(heddle, work), ""
            except (replay.Failure, KeyError, IndexError) as failure:
                good, why = False, str(failure)
            failed += not good
            print(f"{'ok' if good else 'not ok'} {number} - {name}")
            print("".join(f"#   {line}\n" for line in why.split("\n") if line), end="", flush=True)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
