"""production_tables.py - bench/production: Markdown tables of what was kept"""
import datetime
import json
import math
import os
import statistics

from production_pairs import BESIDE
from production_tests import NEVER_TOGETHER

PAIR_TOOLS = ["chase 0 %", "chase 5 %", "chase 10 %", "litehb", "fullhb"]


def row(*cells):
    print("| " + " | ".join(str(c) for c in cells) + " |")


def table(*heading):
    print()
    row(*heading)
    row(*["---"] * len(heading))


def median(values):
    return statistics.median(values) if values else None


def mean(values):
    values = [v for v in values if v]
    return statistics.geometric_mean(values) if values else None


def percent(ratio):
    return "–" if ratio is None else f"{100 * (ratio - 1):.1f} %"


def overhead(p, tool, kind="times"):
    """Of CPU time by the native build's at the same time, geometric mean, and the share of waits."""
    rows = p.get(kind, {}).get(tool, [])
    return statistics.geometric_mean(t[0] for t in rows) + statistics.mean(t[1] for t in rows) if rows else None


def cell(p, tool, kind):
    rows = p.get(kind, {}).get(tool, [])
    if not rows:
        return "–"
    error = f" ± {100 * statistics.stdev(t[0] for t in rows) / math.sqrt(len(rows)):.1f}" if len(rows) > 1 else ""
    waits = 100 * statistics.mean(t[1] for t in rows)
    return percent(overhead(p, tool, kind)) + error + (f"; {waits:.1f}" if waits else "")


def overheads(title, programs, tools, kind):
    programs = [p for p in programs if p.get(kind)]
    if not programs:
        return
    print(f"\n### {title}: overhead over the native build on the same core at the same time: CPU time and waits ± standard error of the mean; "
          "waits alone")
    table("program", "native s", "comparisons", "cores that others had", *tools)
    for p in programs:
        rows = [t for tool in p[kind].values() for t in tool]
        row(p["name"], f"{median([t[2] for t in rows]):.1f}", max(len(t) for t in p[kind].values()),
            f"{statistics.mean(t[3] for t in rows):.2f}", *(cell(p, t, kind) for t in tools))
    row("geometric mean", "", "", "", *(percent(mean(overhead(p, t, kind) for p in programs)) for t in tools))


def charged(programs):
    """What chase's own account says, beside the times."""
    programs = [p for p in programs if p.get("charged")]
    if not programs:
        return
    print("\n### Charged to r_max: waits, start, hits and patching, in percent of the run: mean, most")
    tools = [t for t in PAIR_TOOLS if any(t in p["charged"] for p in programs)]
    table("program", *tools)
    for p in programs:
        row(p["name"], *(f"{100 * statistics.mean(p['charged'][t]):.1f}, {100 * max(p['charged'][t]):.1f}"
                         if p["charged"].get(t) else "–" for t in tools))


def races(programs):
    programs = [p for p in programs if p.get("screened")]
    print("\n### Table 2: pairs that were seen to race")
    table("program", "pairs that fullhb watched", "fullhb", "of them tried", "chase 5 %", "litehb", "missed by chase",
          "trials that chase needed: mean, most")
    for p in programs:
        found, tried = p["found"], p["trials"]
        chase, lite = (set(found.get(t, {})) & set(tried) for t in ("chase 5 %", "litehb"))
        needed = [tried[name]["chase 5 %"] for name in chase]
        row(p["name"], p["screened"] - p.get("not screened", 0), len(found.get("fullhb", {})), len(tried), len(chase), len(lite), len(tried) - len(chase),
            f"{sum(needed) / len(needed):.1f}, {max(needed)}" if needed else "–")
    for p in programs:
        for name in sorted(set(p["trials"]) - set(p["found"].get("chase 5 %", {}))):
            print(f"{chr(10) if p is programs[0] else ''}- {p['name']}: {name} was not met")


def potential(programs):
    programs = [p for p in programs if "static" in p]
    print("\n### Table 3: potential pairs (known races that are missing)")
    table("program", "known races", "static, locks (not sound)", "static", "caper", "alias", "static / caper")
    ratios = []
    for p in programs:
        ratio = p["static"] / p["caper"] if p.get("caper") else None
        ratios.append(ratio)
        missing = p.get("missing", {}) if p.get("known") else {}
        row(p["name"], p.get("known", "–"),
            *((f"{p[n]:,} ({missing[n]})" if n in missing else f"{p[n]:,}") if n in p else "–"
              for n in ("locked", "static", "caper")),
            f"{p['alias']:,}" if p.get("alias") is not None else "–", f"{ratio:.1f}" if ratio else "–")
    return mean(ratios)


def recorded(programs):
    programs = [p for p in programs if "recorded races" in p]
    if not programs:
        return None
    print("\n### Races of recorded runs (hb, shb, sshb; pairs of lines) among caper's pairs")
    table("program", "races", f"of them up to {BESIDE} lines away (several accesses made one)", "not among them")
    for p in programs:
        row(p["name"], p["recorded races"], p.get("recorded, beside", 0), "; ".join(p["recorded, not possible"]) or 0)
    return sum(len(p["recorded, not possible"]) for p in programs)


def shares(programs):
    programs = [p for p in programs if p.get("shares")]
    print("\n### Table 4: share of executed accesses in potential pairs")
    table("program", "static", "caper", "alias")
    for p in programs:
        row(p["name"], *(f"{100 * p['shares'][n]:.1f} %" if n in p["shares"] else "–"
                         for n in ("static", "caper", "alias")))


def scaling(programs):
    programs = [p for p in programs if p.get("scaling")]
    if not programs:
        return
    print("\n### Figure 3: seconds for 1 to 64 threads, medians")
    counts = sorted({int(n) for p in programs for rows in p["scaling"].values() for n in rows})
    table("program", "tool", *counts)
    for p in programs:
        for tool, rows in p["scaling"].items():
            row(p["name"], tool, *(f"{median([t[0] for t in rows[str(n)]]):.2f}" if rows.get(str(n)) else "–"
                                   for n in counts))


def test_programs(keep):
    path = os.path.join(keep, "tests")
    got = {}
    if os.path.exists(path):
        with open(path, encoding="utf-8") as f:
            got = json.load(f)
    if not got:
        return None
    pairs = [q for program in got.values() for q in program.values()]
    full = [q for q in pairs if q["fullhb"]]
    met = [q for q in full if q["chase"]]
    print("\n### Race programs of tests/programs: pairs found in the trials")
    table("pairs that race", "chase", "fullhb", "chase and fullhb", "fullhb only")
    row(len(pairs), sum(q["chase"] > 0 for q in pairs), len(full), len(met), len(full) - len(met))
    missed = [(name, q) for name, program in sorted(got.items()) for q in program.values()
              if q["fullhb"] and not q["chase"]]
    apart = [(name, NEVER_TOGETHER[name]) for name, _ in missed if name in NEVER_TOGETHER]
    other = [name for name, _ in missed if name not in NEVER_TOGETHER]
    print(f"\nOf those that only fullhb found {len(apart)} can never be met: while a thread waits before the one access, no other "
          "can come to the other one.")
    for why in sorted({why for _, why in apart}):
        print(f"- {why}: " + ", ".join(sorted({name for name, w in apart if w == why})))
    print()
    print("The others: " + (", ".join(other) or "none") + ".")
    return len(other)


def verdict(ratio, bar):
    if ratio is None:
        return "not measured"
    return f"{percent(ratio)} {'met' if 100 * (ratio - 1) <= bar else '**missed**'}"


def bars(programs, static_by_caper, missed_tests, impossible):
    print("\n### Bars")
    for tool, bar, kind in (("chase 0 %", 2, "times"), ("caper steady", 9, "caper times"),
                            ("caper first", 27, "caper times")):
        print(f"- {tool}, geometric mean, ≤ {bar} %: {verdict(mean(overhead(p, tool, kind) for p in programs), bar)}")
    for tool, bar in (("chase 5 %", 5), ("chase 10 %", 10)):
        worst = max((o for o in (overhead(p, tool) for p in programs) if o), default=None)
        print(f"- {tool}, worst program, ≤ {bar} %: {verdict(worst, bar)}")
    missed = sum(len(set(p["trials"]) - set(p["found"].get("chase 5 %", {}))) for p in programs)
    if not any(p["found"].get("fullhb") for p in programs):
        print("- races of fullhb that chase missed in real programs, 0: fullhb saw none, which says nothing")
    else:
        print(f"- races of fullhb that chase missed in real programs, 0: {missed} {'**missed**' if missed else 'met'}")
    if missed_tests is not None:
        print(f"- the same in tests/programs, but those that can never be met, 0: {missed_tests} {'**missed**' if missed_tests else 'met'}")
    if impossible is not None:
        print(f"- races of recorded runs that are not among caper's pairs, 0: {impossible} {'**missed**' if impossible else 'met'}")
    if static_by_caper:
        print(f"- static pairs / caper's, geometric mean, ≥ 3: {static_by_caper:.1f} "
              f"{'met' if static_by_caper >= 3 else '**missed**'}")


def show(keep, names):
    programs = []
    for name in names:
        path = os.path.join(keep, name + ".json")
        if os.path.exists(path):
            with open(path, encoding="utf-8") as f:
                programs.append(json.load(f))
    with open("/proc/cpuinfo", encoding="ascii") as f:
        model = next((line.split(":")[1].strip() for line in f if "model name" in line), "?")
    print(f"## Production runs: chase, litehb, fullhb, caper\n\n{datetime.date.today()}, {os.cpu_count()} cores of {model}; "
          "both builds by clang 19 with -O2 -g; whole commands")
    overheads("Figure 2", programs, ["build alone"] + PAIR_TOOLS, "times")
    charged(programs)
    overheads("Figure 4", programs, ["build alone", "caper first", "caper steady"], "caper times")
    races(programs)
    missed_tests = test_programs(keep)
    ratio = potential(programs)
    impossible = recorded(programs)
    shares(programs)
    scaling(programs)
    bars(programs, ratio, missed_tests, impossible)
