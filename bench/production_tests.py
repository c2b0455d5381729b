"""production_tests.py - bench/production: chase against fullhb on the race programs of tests/programs

Each program says which of its marked lines race ("// race: a b", "[a]"). Built for production without optimisation,
so that every access is where its line is; each pair in as many trials by fullhb and by chase, until it is found.
chase waits before the one access, before the other, and before both (--both-orders) in turn.
"""
import glob
import json
import os
import re
import subprocess

from production_common import ROOT, say, turn

SOURCES = os.path.join(ROOT, "tests/programs")
TIMEOUT = 60
SIDE = 64  # sites of a side (PROD_SITES_MAX)
MORE_TIME_FROM = 3  # trials from then on may wait for 200 ms a run
# Races of which no two threads can ever be before their accesses at the same time, however long the one waits: read in
# their text, program by program. Missing by luck is not a reason.
FLAG = "the second thread waits for a relaxed flag that the first sets after its access"
NEVER_TOGETHER = {
    "asm_race_moves.c": FLAG,
    "atomic_race_acquire_without_release.c": FLAG,
    "atomic_race_relaxed.c": FLAG,
    "cxx_race_atomic_relaxed.cc": FLAG,
    "exit_race_main_returns.c": FLAG,
    "fence_race_sender_only.c": FLAG,
    "fence_race_wrong_place.c": FLAG,
    "heap_race_after_sleep.c": "(the pair a, d) the pointer to the block is stored after the access to the block",
    "heap_race_realloc.c": FLAG,
    "heap_race_reused_block.c": "the pointer to the block is stored after the access to the block",
    "lockfree_race_cas_relaxed.c": "a spin lock of relaxed atomics keeps the second thread out",
    "lockfree_race_rcu_no_grace.c": FLAG,
    "lockfree_race_seqlock_plain.c": FLAG,
    "ring_race_relaxed_tail.c": FLAG,
    "thread_race_cancel.c": FLAG,
    "thread_race_detached.c": FLAG,
}


def marked_pairs(path):
    """Pairs of lines that race."""
    lines, pairs = {}, []
    with open(path, encoding="utf-8") as f:
        for number, line in enumerate(f, 1):
            found = re.match(r"// race: (\S+) (\S+)", line)
            if found:
                pairs.append(found.groups())
            for mark in re.findall(r"\[(\w+)\]", line.split("//", 1)[1] if "//" in line else ""):
                lines.setdefault(mark, number)
    return [(lines[a], lines[b]) for a, b in pairs if a in lines and b in lines]


def flags_of(path):
    """What it says to be built with, but for the optimisation."""
    with open(path, encoding="utf-8") as f:
        found = re.search(r"^// flags: (.*)$", f.read(), re.M)
    return [w for w in (found.group(1).split() if found else []) if not w.startswith("-O")]


def build(bench, path):
    out = os.path.join(bench.scratch, os.path.basename(path).replace(".", "_"))
    compiler = "heddle-cc" if path.endswith(".c") else "heddle-c++"
    done = subprocess.run([f"{bench.build}/{compiler}", "--production", "-g", "-O0", "-w", "-pthread", path, "-o", out, "-lm",
                           *flags_of(path)],
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=TIMEOUT)
    return out if done.returncode == 0 else None


def run(bench, words, pair, program):
    """The exit code, and the races that it found."""
    result = os.path.join(bench.scratch, "result.json")
    if os.path.exists(result):
        os.unlink(result)
    try:
        code = subprocess.run([bench.heddle, *words, "--pair", ",".join(pair), "--quiet", "--format", "json", "-o", result,
                               "--", program], cwd=bench.scratch, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL, timeout=TIMEOUT).returncode
    except subprocess.TimeoutExpired:
        say(f"{os.path.basename(program)}: {words[0]}: not done after {TIMEOUT} s")
        return None, []
    if not os.path.exists(result):
        return code, []
    with open(result, encoding="utf-8") as f:
        return code, json.load(f)["races"]


def try_pair(bench, program, source, lines):
    """None: these are no sites. chase gets the pair that fullhb found: a line may have several accesses."""
    counts = {"trials": 0, "chase": 0, "fullhb": 0}
    pair = tuple(f"{os.path.basename(source)}:{n}" for n in lines)
    for _ in range(bench.args.trials):
        code, races = run(bench, ["fullhb"], pair, program)
        if code == 2:
            return None
        if races:
            counts["fullhb"] += 1
            pair = tuple(a["location"] for a in races[0]["accesses"])
            break
    while counts["trials"] < bench.args.trials and not counts["chase"]:
        turned, more = turn(pair, counts["trials"])
        if counts["trials"] >= MORE_TIME_FROM and "--min-time" not in more: # these programs end within milliseconds
            more = [*more, "--min-time", "4s"]
        counts["chase"] += bool(run(bench, ["chase", *more], turned, program)[1])
        counts["trials"] += 1
    return counts


def each_program(bench, names, kind, look):
    """Keeps what look(program, source) says of the programs of a kind that were not looked at yet; program None: it does not build."""
    path = os.path.join(bench.args.keep, "tests" if kind == "race" else kind)
    got = {}
    if os.path.exists(path):
        with open(path, encoding="utf-8") as f:
            got = json.load(f)
    for source in sorted(glob.glob(f"{SOURCES}/*_{kind}_*.c") + glob.glob(f"{SOURCES}/*_{kind}_*.cc")):
        name = os.path.basename(source)
        if name in got or (names and name not in names) or not bench.has_time():
            continue
        got[name] = look(build(bench, source), source)
        with open(path + ".new", "w", encoding="utf-8") as f:
            json.dump(got, f, indent=1)
        os.rename(path + ".new", path)
    return got


def hunt(bench, names):
    def look(program, source):
        results = {f"{a},{b}": try_pair(bench, program, source, (a, b)) for a, b in marked_pairs(source)} if program else {}
        return {pair: r for pair, r in results.items() if r}
    say(f"tests: {len(each_program(bench, names, 'race', look))} programs so far")


# ---- programs without a race: whatever chase reports is a false alarm ----

def shared_sites(bench, program):
    """Sites by which two threads touched the same memory, as alias sees them."""
    result = os.path.join(bench.scratch, "alias.json")
    if os.path.exists(result):
        os.unlink(result)
    subprocess.run(["timeout", "-k", "1", str(TIMEOUT), bench.heddle, "alias", "--format", "json", "-o", result, "--", program],
                   cwd=bench.scratch, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    if not os.path.exists(result):
        return None
    with open(result, encoding="utf-8") as f:
        return sorted({a["site"] for pair in json.load(f)["pairs"] for a in pair})


def alarms(bench, program, sites):
    """All pairs of the sites at once, both orders, with ten times the usual budget."""
    found = []
    for trial in range(min(bench.args.trials, 3)):
        side = "+".join(sites[(trial * SIDE) % len(sites):][:SIDE])
        _, races = run(bench, ["chase", "--both-orders", "--max-overhead", "50%", "--delay", ("3ms", "10ms", "1ms")[trial]], (side, side), program)
        found += [[a["location"] for a in r["accesses"]] for r in races]
    return found


def find_alarms(bench, names):
    def look(program, _):
        sites = shared_sites(bench, program) if program else None
        return None if sites is None else {"sites": len(sites), "alarms": alarms(bench, program, sites) if sites else []}
    got = each_program(bench, names, "norace", look)
    watched = [r for r in got.values() if r and r["sites"]]
    say(f"norace: {len(got)} programs so far, {len(watched)} with shared memory, {sum(map(bool, (r['alarms'] for r in watched)))} with alarms")
