"""production_pairs.py - bench/production: potential pairs, which of them to watch, and caper

Static pairs are pairs of classes of sites (heddle static --format sites); caper's are those of them whose
sites have both escaped. There may be a million, so they are counted and drawn from, not listed.
"""
import collections
import glob
import itertools
import json
import os
import re
import shutil

from production_common import REAL, Failed, call, say

MOST_PAIRS = 40  # that are kept of a program
MOST_CANDIDATES = 3000  # that fullhb looks at
RECORDED_BY = "hb,shb,sshb"
BESIDE = 3  # lines
SIDE = 64  # sites of a side (PROD_SITES_MAX)


def lines(path):
    """(first word, the other words, module that the line belongs to)"""
    module = ""
    with open(path, encoding="utf-8") as f:
        for line in f:
            word, *rest = line.rstrip("\n").split(" ")
            if word == "module":
                module = rest[0][:8]
            yield word, rest, module


class Static:
    """A file of `heddle static --format sites`."""

    def __init__(self, path):
        self.group, self.groups = {}, set()
        members = collections.Counter()
        for word, rest, module in lines(path):
            if word == "s":
                self.group[f"{module}:{rest[0]}"] = int(rest[2])
                members[int(rest[2])] += 1
            elif word == "p":
                self.groups.add((int(rest[0]), int(rest[1])))
        self.count = self.count_of(members)

    def count_of(self, members):
        """Pairs, where a class has so many members."""
        return sum(members[a] * (members[a] + 1) // 2 if a == b else members[a] * members[b]
                   for a, b in self.groups)

    def has(self, pair):
        a, b = (self.group.get(s) for s in pair)
        return a is not None and b is not None and (min(a, b), max(a, b)) in self.groups


def ordered(a, b):
    return (a, b) if a <= b else (b, a)


class Possible:
    """The state of caper (docs/format/caper.md)."""

    def __init__(self, static, path):
        self.static, self.sites = static, []
        for word, rest, module in lines(path):
            if word == "e" and f"{module}:{rest[0]}" in static.group:
                self.sites.append(f"{module}:{rest[0]}")
            elif word == "pairs":
                break
        self.escaped = set(self.sites)
        self.count = static.count_of(collections.Counter(static.group[s] for s in self.sites))

    def has(self, pair):
        return set(pair) <= self.escaped and self.static.has(pair)

    def some(self, dice, wanted, most):
        """Up to so many random pairs that are wanted."""
        if len(self.sites) <= 1000:
            every = [p for p in itertools.combinations_with_replacement(self.sites, 2) if self.has(p) and wanted(p)]
            return dice.sample(every, min(most, len(every)))
        found = set()
        for _ in range(300000):
            pair = ordered(dice.choice(self.sites), dice.choice(self.sites))
            if self.has(pair) and wanted(pair):
                found.add(pair)
            if len(found) == most:
                break
        return sorted(found)


# ---- running tests/real's workload, small: which pairs there are does not hang on its size ----

def work(bench, p, build, words=""):
    """Run it with heddle before the program; files that `words` names with %d are one for each run."""
    wrap = os.path.join(p.scratch, "wrap")
    with open(wrap, "w", encoding="ascii") as f:
        f.write("#!/bin/sh\n" + (f"exec {bench.heddle} {words} -- \"$@\"\n" if words else "exec \"$@\"\n"))
    os.chmod(wrap, 0o755)
    out = os.path.join(p.scratch, "work")
    call([REAL, "work", p.name, "prod-" + build, out], env=bench.environment(WRAP=wrap))
    with open(os.path.join(out, "times"), encoding="ascii") as f:
        rows = [[float(x) for x in line.split()] for line in f]
    return sum(r[0] for r in rows), sum(r[1] for r in rows)


def outputs(p, name):
    found = [os.path.join(p.scratch, f) for f in os.listdir(p.scratch) if f.startswith(name + ".")]
    documents = []
    for path in found:
        with open(path, encoding="utf-8") as f:
            documents.append(json.load(f))
        os.unlink(path)
    return documents


def kept(bench, p, name):
    return os.path.join(bench.args.keep, f"{p.name}.{name}")


def analyse(bench, p):
    """Static pairs, sound and with locks."""
    for option, name in (([], "static"), (["--lockset"], "locked")):
        path = kept(bench, p, name)
        if not os.path.exists(path):
            call([bench.heddle, "static", "--quiet", "--format", "sites", *option, "-o", path + ".new",
                  p.executable("production")])
            os.rename(path + ".new", path)
    static, locked = (Static(kept(bench, p, n)) for n in ("static", "locked"))
    p.got["static"], p.got["locked"] = static.count, locked.count
    return static, locked


def see_aliases(bench, p):
    """The pairs that alias saw; None: it failed."""
    try:
        p.got["alias seconds"] = work(bench, p, "production",
                                      f"alias --count --format json -o {p.scratch}/alias.$$")
    except Failed as e:
        say(f"{p.name}: alias: {e}")
        return None
    pairs, counted, places = set(), collections.Counter(), p.got.setdefault("places", {})
    for document in outputs(p, "alias"):
        pairs |= {ordered(a["site"], b["site"]) for a, b in document["pairs"]}
        places.update({a["site"]: f"{a['file']}:{a['line']}:{a['column']}" for q in document["pairs"] for a in q if "file" in a})
        counted.update(document.get("accesses", {}))
    if counted["all"]:
        p.got["shares"]["alias"] = counted["alias"] / counted["all"]
    return pairs


def see_escapes(bench, p, static):
    state = kept(bench, p, "caper")
    if not os.path.exists(state):
        for _ in range(2):
            work(bench, p, "production", f"caper --quiet --state {state} --static {kept(bench, p, 'static')}")
    return Possible(static, state)


def find(bench, p):
    """What to watch, and how many pairs there are by each analysis."""
    static, locked = analyse(bench, p)
    aliases = see_aliases(bench, p)
    possible = see_escapes(bench, p, static)
    p.got["alias"] = None if aliases is None else len(aliases)
    p.got["caper"] = possible.count
    chosen = [q for q in sorted(aliases or ()) if locked.has(q)]
    bench.dice.shuffle(chosen)
    p.got["chosen by"] = "alias and locks" if chosen else "caper and locks"
    for wanted in (locked.has, lambda q: True):
        if not chosen:
            chosen = possible.some(bench.dice, wanted, MOST_PAIRS)
    p.got["pairs"] = chosen[:MOST_PAIRS]
    p.got["candidates"] = sorted(chosen[:MOST_CANDIDATES])  # neighbours share sites, and so runs that watch them


def batches(pairs):
    """All pairs of a side with the other are watched at once: few runs see many pairs."""
    one, two, count = [], [], 0
    for a, b in pairs:
        if len(one) + (a not in one) > SIDE or len(two) + (b not in two) > SIDE:
            yield one, two, count
            one, two, count = [], [], 0
        one += [a] * (a not in one)
        two += [b] * (b not in two)
        count += 1
    if count:
        yield one, two, count


def sites_by_places(p):
    """The candidates' sites by the places that a result names. A place has more: of a copy one site reads and one writes, and who waits
    at the wrong one waits in vain."""
    places, sides = p.got.get("places", {}), {}
    for pair in p.got["candidates"]:
        pair = sorted(pair, key=lambda s: places.get(s, ""))
        for side, site in zip(sides.setdefault(",".join(places.get(s, "") for s in pair), (set(), set())), pair):
            side.add(site)
    return {name: ["+".join(sorted(side)) for side in both] for name, both in sides.items()}


def count_missing(bench, p):
    """Table 3: how many of the races that were found the analyses do not call possible."""
    places, found = p.got.get("places", {}), {name for counts in p.got["found"].values() for name in counts}
    known = {(a, b) for a, b in p.got.get("candidates", []) if ",".join(ordered(places.get(a, ""), places.get(b, ""))) in found}
    p.got["known"] = len(known)
    if not known:
        return
    static, locked = analyse(bench, p)
    possible = see_escapes(bench, p, static)
    p.got["missing"] = {name: sum(not by.has(q) for q in known)
                        for name, by in (("static", static), ("locked", locked), ("caper", possible))}


def line_of(where):
    """As both builds have it: a file's name and the line."""
    path, line = where.split(":")[:2]
    return f"{os.path.basename(path)}:{line}"


def recorded_races(bench, p):
    """Pairs of lines that race in a recorded run; raises Failed."""
    p.build(["recorded"])
    work(bench, p, "recorded", f"record -o {p.scratch}/trace.$$")
    for trace in glob.glob(p.scratch + "/trace.*"):
        call([bench.heddle, "analyze", "--engine", RECORDED_BY, "--no-witness", "--quiet", "--format", "json",
              "-o", trace.replace("/trace.", "/recorded."), trace], codes=(0, 66))
        shutil.rmtree(trace)
    races = [r for document in outputs(p, "recorded") for r in document["races"]]
    return {ordered(*(line_of(a["location"]) for a in r["accesses"])) for r in races
            if all(re.search(r":\d", a["location"]) for a in r["accesses"])}


def check_recorded(bench, p):
    """Every race of a recorded run is dynamically possible for caper: which are not, by lines."""
    races = recorded_races(bench, p)
    static, _ = analyse(bench, p)
    possible = see_escapes(bench, p, static)
    shown = os.path.join(p.scratch, "state.json")
    call([bench.heddle, "caper", "--state", kept(bench, p, "caper"), "--show", "--list", "1", "--format", "json", "-o", shown])
    at = collections.defaultdict(set)
    with open(shown, encoding="utf-8") as f:
        for s in json.load(f)["deSites"]:
            if "file" in s["at"]:
                at[line_of(f"{s['at']['file']}:{s['at']['line']}")].add(s["at"]["site"])

    def sites(line, beside):
        """Of the line, and of those beside it: one access that the compiler made of several has one of their lines."""
        path, number = line.split(":")
        return set().union(*(at.get(f"{path}:{int(number) + k}", ()) for k in range(-beside, beside + 1)))

    def missing(rows, beside):
        return sorted(r for r in rows if not any(possible.has(q) for q in itertools.product(*(sites(line, beside) for line in r))))

    elsewhere = missing(races, 0)
    nowhere = missing(elsewhere, BESIDE)
    p.got["recorded races"], p.got["recorded, beside"] = len(races), len(elsewhere) - len(nowhere)
    p.got["recorded, not possible"] = [",".join(r) for r in nowhere]


def caper(bench, p, state):
    return [bench.heddle, "caper", "--quiet", "--state", state, "--static", kept(bench, p, "static")]


def forget(state):
    for f in glob.glob(glob.escape(state) + "*"):
        os.unlink(f)


def warm_up(bench, p):
    """A state after three runs: what comes is the steady state."""
    state = kept(bench, p, "steady")
    while p.got.get("warm runs", 0) < 3 and bench.has_time():
        if not p.got.get("warm runs"):
            forget(state)
        p.run("production", caper(bench, p, state))
        p.got["warm runs"] = p.got.get("warm runs", 0) + 1
        p.save()
    return state


def measure_caper(bench, p):
    """First runs and the steady state, with the native build."""
    steady = warm_up(bench, p)

    def fresh(core):
        first = os.path.join(p.scratch, f"first{core}")
        forget(first)
        return caper(bench, p, first)

    for i in range(bench.args.rounds):
        for tool, before in (("caper first", fresh), ("caper steady", lambda core: caper(bench, p, steady))):
            done = len(p.got.get("caper times", {}).get(tool, [])) // os.cpu_count()
            if done <= i and bench.has_time() and bench.wants(tool):
                try:
                    p.compare("caper times", tool, before)
                except Failed as e:
                    say(f"{p.name}: {tool}: {e}")


def count_shares(bench, p):
    """Table 4: executed accesses whose sites are in potential pairs."""
    state = kept(bench, p, "caper")
    work(bench, p, "production", f"caper --quiet --state {state} --count --format json -o {p.scratch}/counted.$$")
    sums = collections.Counter()
    for document in outputs(p, "counted"):
        sums.update(document.get("accesses", {}))
    if sums["all"]:
        p.got["shares"].update({"static": sums["static"] / sums["all"], "caper": sums["dp"] / sums["all"]})
