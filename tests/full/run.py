#!/usr/bin/python3
"""Full builds: the trace says what the program did, with the values it saw.

    run.py --build BUILDDIR [--keep DIR] [CASE ...]

Prints TAP. The programs tell what they do through say.c, which is not traced; the cases compare
that with `heddle dump`. Most cases run at -O0, -O1 and -O2.
"""
import argparse
import collections
import json
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, "..", "format"))
import hdl  # noqa: E402
LEVELS = ["-O0", "-O1", "-O2"]
ACCESS = re.compile(r"^([rw])\(0x([0-9a-f]+):(\d+)(?:=(-?\d+))?\)$")


class Failure(Exception):
    pass


def expect(condition, text):
    if not condition:
        raise Failure(text)


class Event:
    __slots__ = ("thread", "op", "arg", "site")

    def __init__(self, line):
        self.thread, what, self.site = line.split("\t", 1)[1].rstrip("\n").split("|")
        self.op, _, arg = what.partition("(")
        self.arg = arg[:-1]

    def access(self):
        """(kind, address, bytes, value or None) of a read or write."""
        place, _, value = self.arg.partition("=")
        address, _, size = place.partition(":")
        size = int(size)
        value = int(value) & ((1 << 8 * min(size, 8)) - 1) if value else None
        return self.op, int(address, 16), size, value


class Run:
    """A program built at a level, recorded; `said` is its output, `events` the trace."""

    def __init__(self, opts, name, level, extra=(), args=(), traces=1, writer=""):
        self.opts, self.dir = opts, tempfile.mkdtemp(dir=opts.work)
        self.env = dict(os.environ, HEDDLE_OPTIONS="writer_options=" + writer) if writer else None
        self.sources(name, level, extra)
        data = os.path.join(self.dir, "data")
        p = self.call([opts.heddle, "record", "-o", data, "--", os.path.join(self.dir, "program"), *args])
        self.said = [line.split() for line in p.stdout.splitlines()]
        self.traces = sorted(os.path.join(data, f) for f in os.listdir(data) if f.endswith(".hdl"))
        expect(len(self.traces) == traces, f"{len(self.traces)} traces")
        self.trace = self.traces[0]
        check = self.call([opts.heddle, "check", self.trace])
        self.check = check.stdout + check.stderr
        self.events = [Event(l) for l in self.call([opts.heddle, "dump", self.trace]).stdout.splitlines()]

    def sources(self, name, level, extra):
        cxx = name.endswith(".cc")
        objects = []
        for source in [name, *extra, "say.c"]:
            objects.append(os.path.join(self.dir, source + ".o"))
            driver = "heddle-c++" if source.endswith(".cc") else "heddle-cc"
            compiler = ["clang-19"] if source == "say.c" else [os.path.join(self.opts.build, driver), "--full"]
            self.call([*compiler, "-O0" if source == "say.c" else level, "-g", "-c", os.path.join(HERE, source), "-o", objects[-1]])
        driver = os.path.join(self.opts.build, "heddle-c++" if cxx else "heddle-cc")
        self.call([driver, "--full", *objects, "-pthread", "-o", os.path.join(self.dir, "program")])

    def call(self, command):
        p = subprocess.run(command, capture_output=True, text=True, timeout=120, env=self.env)
        if p.returncode:
            raise Failure(f"{' '.join(command)}: exit {p.returncode}\n{p.stdout[-2000:]}{p.stderr[-2000:]}")
        return p

    def number(self, key):
        return int(next(s[1] for s in self.said if s[0] == key))

    def accesses(self, low=0, high=1 << 64):
        found = (e.access() for e in self.events if e.op in "rw")
        return [a for a in found if low <= a[1] < high]


# ---- replaying a single-threaded trace ----


class Memory:
    """What every byte holds, as far as the trace tells."""

    def __init__(self):
        self.bytes, self.checked, self.wrong = {}, 0, []

    def forget(self, address, size):
        for a in range(address, address + size) if size < 1 << 16 else ():
            self.bytes.pop(a, None)
        if size >= 1 << 16:
            for a in [a for a in self.bytes if address <= a < address + size]:
                del self.bytes[a]

    def write(self, address, size, value):
        if value is None:
            self.forget(address, size)
        else:
            for i in range(size):
                self.bytes[address + i] = value >> 8 * i & 255

    def read(self, event, address, size, value):
        if value is None:
            return
        known = [i for i in range(size) if address + i in self.bytes]
        self.checked += bool(known)
        if any(self.bytes[address + i] != value >> 8 * i & 255 for i in known):
            self.wrong.append(f"{event.op}({event.arg}) at {event.site}")
        self.write(address, size, value)


def replay(events):
    m = Memory()
    for e in events:
        if e.op == "w":
            m.write(*e.access()[1:])
        elif e.op == "r":
            m.read(e, *e.access()[1:])
        elif e.op in ("alloc", "free"):
            address, _, size = e.arg.partition(":")
            m.forget(int(address, 16), int(size))
        elif e.op in ("call", "ret") and not e.arg.startswith(("say", "untraced")):
            m.bytes.clear()  # it may have written anything
        elif e.op.startswith(("store", "rmw")):
            address, _, size = e.arg.partition("=")[0].partition(":")
            m.forget(int(address, 16), int(size))
    return m


def check_replay(events, least):
    m = replay(events)
    expect(not m.wrong, f"{len(m.wrong)} of {m.checked} reads see another value: {m.wrong[:5]}")
    expect(m.checked >= least, f"only {m.checked} reads of known bytes")
    return m.checked


def check_frames(events):
    """Frames are left in the order they were entered, by thread; the stack at each event."""
    stacks = collections.defaultdict(list)
    for e in events:
        stack = stacks[e.thread]
        if e.op == "enter":
            stack.append(e.arg)
        elif e.op == "exit":
            expect(stack and stack[-1] == e.arg, f"exit of {e.arg}, the stack is {stack}")
            stack.pop()
        yield e, stack


# ---- cases ----


def case_exact(opts, level):
    run = Run(opts, "exact.c", level)
    told = [(s[0], int(s[1], 16), int(s[2]), int(s[3])) for s in run.said if s[0] in "rw"]
    seen = run.accesses(run.number("low"), run.number("high"))
    for i, (a, b) in enumerate(zip(told, seen)):
        expect(a == b, f"access {i}: the program made {a}, the trace has {b}")
    expect(len(told) == len(seen), f"{len(told)} accesses, {len(seen)} in the trace")
    return f"{len(told)} accesses"


def case_replay(opts, level):
    run = Run(opts, "replay.c", level)
    for _ in check_frames(run.events):
        pass
    return f"{check_replay(run.events, 5000)} reads"


def case_replay_cxx(opts, level):
    run = Run(opts, "replay_cxx.cc", level)
    for _ in check_frames(run.events):
        pass
    return f"{check_replay(run.events, 1000)} reads"


def lines_of(source, mark):
    with open(os.path.join(HERE, source)) as f:
        return next(i for i, line in enumerate(f, 1) if mark in line)


def case_branches(opts, level):
    run = Run(opts, "branches.c", level)
    counts = collections.Counter()
    for e in run.events:
        if e.op == "branch":
            counts[int(e.site.split(":")[1]), int(e.arg)] += 1
    line = lines_of("branches.c", "/* if */")
    both = sorted((counts[line, 0], counts[line, 1]))
    want = sorted((run.number("taken"), run.number("other")))
    expect(both == want, f"outcomes of the if: {both}, the program counted {want}")
    line = lines_of("branches.c", "/* switch */")
    found = sorted(counts[line, i] for i in range(9) if counts[line, i])
    want = sorted(int(s[1]) for s in run.said if s[0] == "case" and s[1] != "0")
    expect(found == want, f"outcomes of the switch: {found}, the program counted {want}")
    return f"{sum(counts.values())} branches"


def case_calls(opts, level):
    run = Run(opts, "calls.c", level, ["calls_other.c"])
    calls, open_calls = collections.Counter(), []
    cells = [run.number("cell0"), run.number("cell1")]
    for e in run.events:
        if e.op == "call":
            name, _, pointers = e.arg.partition(":")
            calls[name] += 1
            open_calls.append(name)
            if name == "untraced_pure":
                ranges = [[int(n, 0) for n in p.split(":")] for p in pointers.split(",")]
                for c in cells:  # the variable that they are in is reached as a whole
                    expect(any(low <= c and c + 8 <= low + n for low, n in ranges), f"{e.arg} lacks 0x{c:x}")
        elif e.op == "ret":
            expect(open_calls and open_calls[-1] == e.arg, f"return of {e.arg}, open are {open_calls}")
            open_calls.pop()
        elif e.op == "enter" and e.arg == "callback":
            expect(not open_calls, f"called back in the middle of {open_calls}")
    expect(not open_calls, f"calls that never returned: {open_calls}")
    expect(calls["untraced_pure"] == 5, f"calls: {calls}")
    expect(calls["untraced_call"] == 2, f"calls: {calls}")  # before and behind the callback
    expect(not any("traced_elsewhere" in c or "callback" in c for c in calls), f"calls: {calls}")
    by_pointer = sum(n for c, n in calls.items() if c not in ("untraced_pure", "untraced_call", "say"))
    expect(by_pointer in (0, 2), f"calls by pointer: {calls}")
    entered = collections.Counter(e.arg for e in run.events if e.op == "enter")
    expect(entered["traced_elsewhere"] == 10 and entered["callback"] == 1, f"entered: {entered}")
    return f"{sum(calls.values())} calls"


STACKS = {
    1: "main", 2: "main leaf", 50: "main recurse recurse recurse recurse leaf", 51: "main recurse recurse recurse",
    52: "main recurse recurse", 53: "main recurse", 60: "main catcher cleaner thrower thrower thrower",
    61: "main catcher cleaner thrower thrower", 62: "main catcher cleaner thrower", 71: "main catcher",
    72: "main catcher", 4: "main", 80: "main setter jumper jumper jumper jumper", 81: "main setter",
    82: "main setter leaf", 5: "main", 90: "main back", 91: "main back leaf", 6: "main", 8: "main leaf",
}


def case_stacks(opts, level):
    run = Run(opts, "stacks.cc", level)
    seen = collections.Counter()
    mark = next(e.access()[1] for e in run.events if e.op == "w" and e.access()[3] == 1)
    for e, stack in check_frames(run.events):
        if e.op != "w" or e.access()[1] != mark:
            continue
        value = e.access()[3]
        seen[value] += 1
        expect(value != 99, "a write that was never made")
        inner = [f for f in stack if not f.startswith("~")]
        if value in STACKS:
            expect(inner == STACKS[value].split(), f"mark {value}: the stack is {inner}")
    expect(all(seen[v] == 3 for v in STACKS), f"marks: {seen}")
    return f"{sum(seen.values())} stacks"


def case_signals(opts, level):
    run = Run(opts, "signals.c", level, args=["300"])
    runs = run.number("handler_runs")
    for key in "handled0", "handled1":
        values = [a[3] for a in run.accesses() if a[0] == "w" and a[1] == run.number(key)]
        expect(values == list(range(1, runs + 1)), f"{runs} runs of the handler, writes of {key}: {len(values)} {values[:9]}")
    depths = collections.Counter()
    for e, stack in check_frames(run.events):
        if e.op == "w" and e.access()[1] == run.number("handled1"):
            expect(stack[-1] == "deep" and "handler" in stack, f"the handler's stack is {stack}")
        depths[len(stack)] += 1
    expect(max(depths) < 12, f"frames pile up: {depths}")
    return f"{runs} signals, {run.number('jumps')} jumps, {run.number('rounds')} rounds"


def case_fork_handler(opts, level):
    run = Run(opts, "fork_handler.c", level, traces=13)
    expect(run.number("good") == 12, f"{run.number('good')} of 12 children ended well")
    for trace in run.traces:
        run.call([opts.heddle, "check", trace])
    return "12 children"


def case_format(opts, level):
    """A reader made from docs/format/hdl.md alone sees what heddle sees."""
    run = Run(opts, "replay.c", level, writer="--compression=none")
    with open(run.trace, "rb") as f:
        data = f.read()
    kinds = collections.Counter(h["kind"] for _, h in hdl.chunks(data))
    expect(kinds[9] and kinds[10], f"kinds of chunks: {kinds}")
    lines = hdl.Reader(data).lines
    for i, (a, e) in enumerate(zip(lines, run.events)):
        b = f"{e.thread}|{e.op}({e.arg})|{e.site}"
        expect(a.replace("()", "") == b.replace("()", ""), f"event {i}: {a}, heddle says {b}")
    expect(len(lines) == len(run.events), f"{len(lines)} events, heddle sees {len(run.events)}")
    return f"{len(lines)} events, {kinds[9]} chunks"


def case_flow(opts, level):
    run = Run(opts, "flow.c", level)
    low, high = run.number("low"), run.number("high")
    last, wrong, reads = {}, 0, 0
    for kind, address, _, value in run.accesses(low, high):
        if kind == "w":
            last[address] = value
        else:
            reads += 1
            wrong += value != last.get(address, 0)
    expect(wrong == 0, f"{wrong} of {reads} reads see a value that is not there")
    info = run.call([opts.heddle, "info", run.trace]).stdout
    return f"{reads} reads; {[l for l in info.splitlines() if 'value' in l]}"


def case_outputs(opts, level):
    """What system functions leave in the caller's memory is written by somebody."""
    run = Run(opts, "outputs.c", level)
    writes = [e.access() for e in run.events if e.op == "w"]
    expect(any(bytes == 4 and value == 12345 for _, _, bytes, value in writes), "sem_getvalue's result has no value")
    p = run.call([opts.heddle, "analyze", "-q", "-e", "mc", "--format", "json", run.trace])
    found = json.loads(p.stdout)["engines"][0]["counters"]
    expect(not {"unseen", "threads_unreachable"} & set(found), f"{found}")


def case_address(opts, level):
    """No race of mc or rdit rests on a read that gives an address: with the program, without it, with code left out."""
    run = Run(opts, "address.c", level)
    program = os.path.join(run.dir, "program")
    analyze = [opts.heddle, "analyze", "-q", "-e", "mc,rdit", run.trace]
    run.call(analyze)
    run.call([*analyze, "--exclude=fun:main"])
    os.rename(program, program + ".gone")
    run.call(analyze)


def case_stress(opts, _):
    """tests/record/stress.py with full builds: kills, 1000 threads, forks."""
    script = os.path.join(HERE, "..", "record", "stress.py")
    p = subprocess.run([sys.executable, script, "--build", opts.build, "--kills", "10", "--short", "1000",
                        "--live", "1000", "--forks", "20"], env=dict(os.environ, HEDDLE_FULL="1"),
                       capture_output=True, text=True, timeout=400)
    expect(p.returncode == 0, p.stdout + p.stderr)
    return "; ".join(p.stdout.splitlines())


CASES = {"exact": LEVELS, "replay": LEVELS, "replay_cxx": LEVELS, "branches": LEVELS, "calls": LEVELS,
         "stacks": LEVELS, "signals": LEVELS, "fork_handler": ["-O1"], "format": LEVELS, "flow": ["-O1"], "stress": ["-O1"], "outputs": LEVELS, "address": LEVELS}


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--build", required=True)
    p.add_argument("--keep", help="leave programs and traces here")
    p.add_argument("case", nargs="*")
    opts = p.parse_args()
    opts.build = os.path.abspath(opts.build)
    opts.heddle = os.path.join(opts.build, "heddle")
    cases = [(n, l) for n in CASES for l in CASES[n] if not opts.case or n in opts.case]
    print(f"1..{len(cases)}", flush=True)
    failed = 0
    with tempfile.TemporaryDirectory() as work:
        opts.work = opts.keep or work
        os.makedirs(opts.work, exist_ok=True)
        for i, (name, level) in enumerate(cases, 1):
            try:
                said = globals()["case_" + name](opts, level)
                print(f"ok {i} - {name} {level}: {said}", flush=True)
            except (Failure, subprocess.TimeoutExpired) as e:
                failed += 1
                print(f"not ok {i} - {name} {level}\n# " + str(e).replace("\n", "\n# "), flush=True)
    sys.exit(failed > 0)


main()
