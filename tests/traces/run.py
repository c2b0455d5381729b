#!/usr/bin/python3
"""Run the text traces of this folder and compare the races with what they say.

A trace states for each engine the exact set of racing location pairs:
    # hb: 3-7 5-9
    # shb: none
and may state which of them have a strength, or are independent, and counters:
    # sshb-independent: 3-7
    # sshb-counters: hidden=1 filtered_by_locks=0
Usage: run.py HEDDLE [TRACE...]
"""
import json
import pathlib
import re
import subprocess
import sys

EXPECT = re.compile(r"#\s*([a-z-]+):\s*(none|(?:\S+-\S+\s*)+)$")
COUNTERS = re.compile(r"#\s*([a-z-]+)-counters:\s*((?:\w+=\d+\s*)+)$")
STRENGTH = re.compile(r"(.*)-(confirmed|witnessed|observed|independent|guaranteed|maybe|potential)$")


def expectations(path):
    for line in path.read_text().splitlines():
        match = EXPECT.match(line)
        if match:
            pairs = [] if match[2] == "none" else match[2].split()
            yield match[1], {frozenset(p.split("-")) for p in pairs}
        match = COUNTERS.match(line)
        if match:
            yield f"{match[1]}-counters", set(match[2].split())


def result(heddle, engine, path):
    done = subprocess.run([heddle, "analyze", "--quiet", "--engine", engine, "--format", "json",
                           str(path)], capture_output=True, text=True)
    if done.returncode not in (0, 66):
        raise RuntimeError(f"exit {done.returncode}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def counters(heddle, engine, path, wanted):
    """Those of the wanted counters, as name=value."""
    found = result(heddle, engine, path)["engines"][0]["counters"]
    names = {w.split("=")[0] for w in wanted}
    return {f"{name}={value}" for name, value in found.items() if name in names}


def races(heddle, what, path):
    strength = STRENGTH.match(what)
    engine = strength[1] if strength else what
    found = result(heddle, engine, path)["races"]
    for race in found:  # an shb race of an exact trace is always shown to be possible
        if engine == "shb" and race["strength"] != "witnessed":
            raise RuntimeError(f"race {race['id']} of shb has no witness")
    return {frozenset(a["location"] for a in race["accesses"]) for race in found
            if not strength or race["strength"] == strength[2]
            or (strength[2] == "independent" and race.get("independent"))}


def show(pairs):
    if any(isinstance(p, str) for p in pairs):
        return " ".join(sorted(pairs))
    return " ".join(sorted("-".join(sorted(p)) if len(p) > 1 else f"{min(p)}-{min(p)}"
                           for p in pairs)) or "none"


def main():
    heddle, *names = sys.argv[1:]
    here = pathlib.Path(__file__).parent
    paths = [pathlib.Path(n) for n in names] or sorted(here.glob("*/*.std"))
    passed = failed = 0
    for path in paths:
        for engine, want in expectations(path):
            try:
                if engine.endswith("-counters"):
                    got = counters(heddle, engine[:-len("-counters")], path, want)
                else:
                    got = races(heddle, engine, path)
                problem = None if got == want else f"want {show(want)}, got {show(got)}"
            except RuntimeError as error:
                problem = str(error)
            if problem:
                failed += 1
                print(f"{path.relative_to(here)}: {engine}: {problem}")
            else:
                passed += 1
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


sys.exit(main())
