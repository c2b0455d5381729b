#!/usr/bin/env python3
"""caper_hb.py BUILD-DIRECTORY PROGRAM.c...: every race that hb finds is dynamically possible for caper.

Each program is built twice: for recording, where the engine hb finds races in one run, and for
production, where caper runs a few times. Races are compared by the lines of their two accesses. Races may
depend on the schedule: a race that only the recorded run had, and none of caper's, would be no fault of
caper's; so programs are those whose accesses happen in every run. EXCEPT: races that need another race
first (docs/design/production.md, "Soundness"): what was done to an object before it was published by a race.
"""
import json
import os
import subprocess
import sys
import tempfile

RUNS = 3
EXCEPT = {"cxx_race_map.cc", "heap_race_after_sleep.c"}


def build(tools, source, out, *flags):
    compiler = "/heddle-c++" if source.endswith((".cc", ".cpp")) else "/heddle-cc"
    return subprocess.run([tools + compiler, *flags, "-g", "-O0", "-w", "-pthread", source, "-o", out, "-lm", *(["-latomic"] if "atomic" in source else [])],
                          stderr=subprocess.DEVNULL).returncode == 0


def hb_races(tools, program, folder):
    path = folder + "/hb.json"
    subprocess.run([tools + "/heddle", "run", "--engine", "hb", "--quiet", "--format", "json", "-o", path,
                    "--", program], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=60)
    with open(path) as f:
        races = json.load(f)["races"]
    found = set()
    for race in races:
        lines = []
        for access in race["accesses"]:
            top = access["stack"][0] if access.get("stack") else {}
            lines.append((os.path.basename(top.get("file", "")), top.get("line", 0)))
        found.add(tuple(sorted(lines)))
    return found


def caper_pairs(tools, program, folder):
    state = program + ".caper"
    for _ in range(RUNS):
        subprocess.run([tools + "/heddle", "caper", "--state", state, "--quiet", "--", program], cwd=folder,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=60)
    out = subprocess.run([tools + "/heddle", "caper", "--state", state, "--show", "--format", "json", "--list", "1g"],
                         stdout=subprocess.PIPE, check=True).stdout
    result = json.loads(out)
    lines = lambda pair: tuple(sorted((os.path.basename(s.get("file", "")), s.get("line", 0)) for s in pair))
    return {lines(p) for p in result["dpPairs"]}, result["counts"]


def check(tools, source, folder):
    name = os.path.basename(source)
    program = folder + "/" + name.replace(".", "_")
    if not build(tools, source, program + "_rec") or not build(tools, source, program, "--production"):
        print("%s: not built" % name)
        return 0
    try:
        races = hb_races(tools, program + "_rec", folder)
        pairs, counts = caper_pairs(tools, program, folder)
    except (subprocess.TimeoutExpired, FileNotFoundError):
        print("%s: not run" % name)
        return 0
    missing = races - pairs
    print("%s: %d races, %d of %d pairs%s" % (name, len(races), counts.get("dpPairs", 0),
                                              counts.get("static_pairs", 0),
                                              ", MISSING %s" % sorted(missing) if missing else ""))
    return 0 if name in EXCEPT else len(missing)


def main():
    tools = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        missing = sum(check(tools, os.path.abspath(s), folder) for s in sys.argv[2:])
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
