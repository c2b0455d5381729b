#!/usr/bin/env python3
"""stress.py - recording under stress: killed programs, many threads, many processes

    stress.py --build DIR [--kills N] [--short N] [--live N] [--forks N] [CASE...]

kill     SIGKILL at a random moment: the trace has every round that the program had finished
short    N short threads, a few at a time; the race between the last two is found
live     N threads alive at once; the same
forks    N forked children: a trace each, and their race
walk     what acquiring brings does not make a thread record again what it has seen
runs     accesses in a row: the trace has exactly their bytes
tick     calls of untraced code come after what was stamped before them, and are known to
"""
import argparse, json, os, random, re, shutil, signal, struct, subprocess, sys, tempfile, time

here = os.path.dirname(os.path.abspath(__file__))


class Failed(Exception):
    pass


def run(cmd, **kw):
    return subprocess.run(cmd, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **kw)


def build(opts, name, directory, *more):
    out = os.path.join(directory, name)
    r = run([os.path.join(opts.build, "heddle-cc"), "-O1", "-g", os.path.join(here, name + ".c"), *more, "-o", out])
    if r.returncode:
        raise Failed("%s does not build:\n%s" % (name, r.stderr))
    return out


def traces(directory):
    return [os.path.join(directory, f) for f in sorted(os.listdir(directory)) if f.endswith(".hdl")]


def kill_once(opts, program, directory, rng):
    """Rounds that the program had finished when it died, and rounds in its trace, by thread."""
    data, progress = os.path.join(directory, "data"), os.path.join(directory, "progress")
    shutil.rmtree(data, ignore_errors=True)
    if os.path.exists(progress):
        os.unlink(progress)
    p = subprocess.Popen([opts.heddle, "record", "-o", data, "--", program, progress, "3"],
                         stderr=subprocess.PIPE)
    deadline = time.time() + 20
    while not os.path.exists(progress) and time.time() < deadline:
        time.sleep(0.001)
    time.sleep(rng.random() * 0.08)
    found = traces(data) if os.path.isdir(data) else []
    if not found:
        raise Failed("no trace: %s" % p.communicate()[1])
    os.kill(int(os.path.basename(found[0]).split(".")[0]), signal.SIGKILL)
    p.wait(timeout=60)
    counts = struct.unpack("520Q", open(progress, "rb").read(65 * 64))
    done = {i: counts[8 * i] for i in range(1, 4)}
    dump = run([opts.heddle, "dump", found[0]])
    seen = {i: 0 for i in range(1, 4)}
    for line in dump.stdout.splitlines():
        thread, op = line.split("\t")[-1].split("|")[:2]
        if op.startswith("rel(") and thread in ("T1", "T2", "T3"):
            seen[int(thread[1:])] += 1
    return done, seen, found[0]


def case_kill(opts, directory):
    program, rng, rounds = build(opts, "kill", directory), random.Random(opts.seed), 0
    for i in range(opts.kills):
        done, seen, trace = kill_once(opts, program, directory, rng)
        for t in done:
            if seen[t] < done[t]:
                raise Failed("kill %d: thread %d finished %d rounds, the trace has %d" % (i, t, done[t], seen[t]))
        r = run([opts.heddle, "analyze", trace])
        if r.returncode not in (0, 66):
            raise Failed("kill %d: analyze exits with %d: %s" % (i, r.returncode, r.stderr))
        rounds += sum(seen.values())
    return "%d kills, %d rounds in the traces" % (opts.kills, rounds)


def analysed(opts, directory, command, status):
    """Run under `heddle run`; returns the result."""
    out = os.path.join(directory, "out.json")
    r = run([opts.heddle, "run", "--trace", os.path.join(directory, "data"), "--format", "json", "-o", out, "--"] + command)
    if r.returncode != status:
        raise Failed("%s: exit %d, expected %d: %s" % (command, r.returncode, status, r.stderr[-2000:]))
    return json.load(open(out)), r.stdout


def expect_race(result, file):
    races = {tuple(a["location"].split("/")[-1] for a in r["accesses"]) for r in result["races"]}
    line = next(i for i, l in enumerate(open(os.path.join(here, file)), 1) if "race: with itself" in l)
    want = "%s:%d:" % (file, line)
    if not races or not all(l.startswith(want) for pair in races for l in pair):
        raise Failed("races are %s, expected one at %s" % (races, want))


def case_threads(opts, directory, kind, n):
    program = build(opts, "threads", directory)
    result, stdout = analysed(opts, directory, [program, kind, str(n)], 66)
    if stdout != "%d\n" % n:
        raise Failed("output changed: %r" % stdout)
    if result["trace"]["threads"] != n + 1:
        raise Failed("%d threads in the trace, expected %d" % (result["trace"]["threads"], n + 1))
    expect_race(result, "threads.c")
    return "%d %s threads, %d events" % (n, kind, result["trace"]["events"])


def case_forks(opts, directory):
    program = build(opts, "forks", directory)
    result, stdout = analysed(opts, directory, [program, str(opts.forks)], 66)
    if stdout != "%d\n" % opts.forks:
        raise Failed("output changed: %r" % stdout)
    n = len(traces(os.path.join(directory, "data")))
    if n < opts.forks:
        raise Failed("%d traces of %d children" % (n, opts.forks))
    expect_race(result, "forks.c")
    return "%d processes" % n


def case_walk(opts, directory):
    nodes, walks = 1000, 50
    program = build(opts, "walk", directory)
    result, stdout = analysed(opts, directory, [program], 66)
    if stdout != "%d\n" % (walks * sum(range(nodes))):
        raise Failed("output changed: %r" % stdout)
    expect_race(result, "walk.c")
    info = run([opts.heddle, "info", "-f", "json", traces(os.path.join(directory, "data"))[0]])
    loads = json.loads(info.stdout)["operations"]["atomic-load"]
    if loads > nodes * walks / 4:
        raise Failed("%d atomic loads recorded of some %d" % (loads, nodes * walks))
    return "%d of some %d loads" % (loads, nodes * walks)


def case_runs(opts, directory):
    n, big = 1000, 200000
    touched = {"up": range(n), "down": range(n), "both": range(n // 2 - 200, n // 2 + 200),
               "steps": range(0, 4 * n, 3), "back": range(4 * n - 1, -1, -5), "big": range(big - 1),
               "calls": range(0, n, 2)}
    program = build(opts, "runs", directory)
    _, stdout = analysed(opts, directory, [program], 0)
    arrays = [line.split() for line in stdout.splitlines()]
    trace = traces(os.path.join(directory, "data"))[0]
    seen = set()
    events = 0
    for a, size in re.findall(r"\|w\((0x[0-9a-f]+):(\d+)\)", run([opts.heddle, "dump", trace]).stdout):
        seen.update(range(int(a, 16), int(a, 16) + int(size)))
        events += 1
    for name, base, length, size in arrays:
        start, size = int(base, 16), int(size)
        want = {start + size * i + k for i in touched[name] for k in range(size)}
        got = {b for b in seen if start <= b < start + int(length)}
        if got != want:
            raise Failed("%s: %d bytes too many, %d missing" % (name, len(got - want), len(want - got)))
    return "%d bytes, %d events" % (len(seen), events)


def case_tick(opts, directory):
    untraced = os.path.join(directory, "untraced.o")
    run(["cc", "-c", os.path.join(here, "tick_untraced.c"), "-o", untraced], check=True)
    program = build(opts, "tick", directory, untraced)
    _, stdout = analysed(opts, directory, [program], 0)
    if stdout != "10 10\n":
        raise Failed("calls made, stamps known: %s" % stdout)
    return stdout.strip()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--build", required=True)
    for name, n in ("kills", 100), ("short", 100000), ("live", 1000), ("forks", 100), ("seed", 1):
        p.add_argument("--" + name, type=int, default=n)
    p.add_argument("case", nargs="*")
    opts = p.parse_args()
    opts.build = os.path.abspath(opts.build)
    opts.heddle = os.path.join(opts.build, "heddle")
    cases = {
        "kill": case_kill,
        "short": lambda o, d: case_threads(o, d, "short", o.short),
        "live": lambda o, d: case_threads(o, d, "live", o.live),
        "forks": case_forks,
        "walk": case_walk,
        "runs": case_runs,
        "tick": case_tick,
    }
    failed = 0
    for name in opts.case or cases:
        with tempfile.TemporaryDirectory() as d:
            try:
                print("ok %s: %s" % (name, cases[name](opts, d)), flush=True)
            except Failed as e:
                failed += 1
                print("not ok %s: %s" % (name, e), flush=True)
    sys.exit(failed > 0)


main()
