#!/usr/bin/env python3
"""endless.py - recordings of which only the end is kept (--last): nothing false, nothing unreadable

    endless.py --build DIR [--kills N] [--seed N] [CASE...]

kept      the programs of cuts.c, ended by SIGKILL after their beginning was dropped: no race, nothing
          repaired, and it is said what was dropped
writer    the same, but the writer is killed
whole     endless.c to its end: no race of any engine; `heddle check` finds nothing
races     a race at the end is found, its schedules are accepted; one at the beginning is not
told      `heddle run` tells a race of the dropped part while the program runs, and fails for it
bounded   the disk that the file takes stays near the limit
values    what --last takes, and what it does not
"""
import argparse, json, os, random, shutil, signal, struct, subprocess, sys, tempfile, time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import cuts
from cuts import Failed, run, traces

DROPPED = "s were kept; the first "


def is_dropped(trace):
    with open(trace, "rb") as f:
        head = f.read(128)
    return len(head) == 128 and struct.unpack("<Q", head[64:72])[0] > 0


def wait_until_dropped(data, seconds=60):
    deadline = time.time() + seconds
    while time.time() < deadline:
        found = traces(data)
        if found and all(is_dropped(t) for t in found):
            return
        time.sleep(0.01)
    raise Failed("nothing was dropped of %s" % traces(data))


def notes(opts, trace):
    r = run([opts.heddle, "analyze", "-q", "-e", "hb", "-f", "json", trace])
    return json.loads(r.stdout)["trace"]["notes"]


def say_dropped(opts, trace):
    if is_dropped(trace) and not any(DROPPED in n for n in notes(opts, trace)):
        raise Failed("it is not said what was dropped: %s" % notes(opts, trace))


def interrupt(opts, directory, rng, kill):
    for n in range(opts.kills):
        last = rng.choice(("65536", "200k", "150ms"))
        r = cuts.Recording(opts, directory, rng, "--last", last, kinds=cuts.KINDS[:-1]) # children of "forks" are small
        try:
            r.wait_for_trace()
            if r.kind != "procs": # one of them may have nothing to do
                wait_until_dropped(r.data)
            time.sleep(rng.random() * 0.2)
            kill(r)
        finally:
            r.end()
        r.check(opts, None)
        for t in traces(r.data):
            say_dropped(opts, t)


def case_kept(opts, directory, rng):
    interrupt(opts, directory, rng, lambda r: None)


def kill_writers(r):
    for pid in cuts.writers(r.data):
        os.kill(pid, signal.SIGKILL)


def case_writer(opts, directory, rng):
    interrupt(opts, directory, rng, kill_writers)


def record(opts, directory, *args, last="150k", build="endless"):
    data = os.path.join(directory, "data")
    shutil.rmtree(data, ignore_errors=True)
    r = run([opts.heddle, "record", "-o", data, "--last", last, os.path.join(directory, build), *args])
    if r.returncode:
        raise Failed("record exits with %d: %s" % (r.returncode, r.stderr))
    trace, = traces(data)
    if not is_dropped(trace):
        raise Failed("nothing was dropped")
    say_dropped(opts, trace)
    return trace


def races(opts, directory, trace):
    """Names of the variables that race, by whichever engine; all schedules are accepted."""
    out = os.path.join(directory, "result.json")
    run([opts.heddle, "analyze", "-q", "--effort", "10", "-f", "json", "-o", out, trace])
    result = json.load(open(out))
    r = run([opts.heddle, "verify", trace, out])
    if r.returncode:
        raise Failed("a schedule is refused: %s" % r.stdout)
    return {x["variable"] for x in result["races"]}


def sound(opts, trace):
    r = run([opts.heddle, "check", trace])
    if r.returncode or "0 repaired, 0 bytes lost" not in r.stdout:
        raise Failed("check says: %s%s" % (r.stdout, r.stderr))


def case_whole(opts, directory, rng):
    for build, rounds, last in ("endless", 20000, "150k"), ("endless", 20000, "500k"), ("full", 6000, "500k"):
        trace = record(opts, directory, str(rounds), last=last, build=build)
        sound(opts, trace)
        found = races(opts, directory, trace)
        if found:
            raise Failed("%s, --last %s: races on %s" % (build, last, found))


def case_races(opts, directory, rng):
    trace = record(opts, directory, "20000", "first", "last")
    sound(opts, trace)
    found = races(opts, directory, trace)
    if found != {"raced_last"}:
        raise Failed("races on %s" % found)


def case_told(opts, directory, rng):
    data = os.path.join(directory, "data")
    r = run([opts.heddle, "run", "--trace", data, "--last", "20m", "--effort", "1",
             os.path.join(directory, "endless"), "400000", "first"])
    if r.returncode != 66:
        raise Failed("run exits with %d: %s" % (r.returncode, r.stderr))
    if "race on raced_first, seen while the program runs" not in r.stderr:
        raise Failed("the race is not told: %s" % r.stderr)


def case_bounded(opts, directory, rng):
    data, most, limit = os.path.join(directory, "data"), 0, 400000
    shutil.rmtree(data, ignore_errors=True)
    p = subprocess.Popen([opts.heddle, "record", "-o", data, "--last", str(limit), os.path.join(directory, "endless"),
                          "40000"])
    while p.poll() is None:
        most = max([most] + [os.stat(t).st_blocks * 512 for t in traces(data)])
        time.sleep(0.01)
    trace, = traces(data)
    whole = os.stat(trace).st_size
    if most > 2 * limit or whole < 3 * limit:
        raise Failed("%d bytes on disk of %d, the limit was %d" % (most, whole, limit))


def case_values(opts, directory, rng):
    for good in "100ms", "1s", "2min", "1h", "65536", "500m", "2G":
        r = run([opts.heddle, "record", "-o", os.path.join(directory, "v"), "--last", good, "true"])
        if "--last" in r.stderr:
            raise Failed("%s: %s" % (good, r.stderr))
    for bad in "", "s", "99ms", "1000", "-1s", "10x", "1 s", "99999999999h":
        r = run([opts.heddle, "record", "-o", os.path.join(directory, "v"), "--last", bad, "true"])
        if r.returncode != 129 or "takes a time" not in r.stderr:
            raise Failed("%r is taken: %d %s" % (bad, r.returncode, r.stderr))


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--build", required=True)
    p.add_argument("--kills", type=int, default=40)
    p.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    p.add_argument("cases", nargs="*")
    opts = p.parse_args()
    opts.heddle = os.path.join(opts.build, "heddle")
    all_cases = {n[5:]: f for n, f in globals().items() if n.startswith("case_")}
    failed = 0
    with tempfile.TemporaryDirectory() as directory:
        opts.scratch = directory
        cuts.build(opts, directory)
        os.rename(os.path.join(directory, "full"), os.path.join(directory, "full-cuts"))
        for name, more in ("endless", []), ("full", ["--full"]):
            r = run([os.path.join(opts.build, "heddle-cc"), *more, "-O1", "-g", os.path.join(cuts.here, "endless.c"), "-o",
                     os.path.join(directory, "full-endless" if more else name)])
            if r.returncode:
                raise Failed(r.stderr)
        for name in opts.cases or all_cases:
            use = "full-cuts" if name in ("kept", "writer") else "full-endless"
            shutil.copy(os.path.join(directory, use), os.path.join(directory, "full"))
            try:
                all_cases[name](opts, directory, random.Random(opts.seed))
                print("ok %s" % name, flush=True)
            except Failed as e:
                failed += 1
                print("FAILED %s (seed %d): %s" % (name, opts.seed, e), flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
