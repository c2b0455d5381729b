#!/usr/bin/python3
"""Force a predicted race on the real program.

    force.py [--heddle HEDDLE] PROGRAM.c TRACE RESULT.json [RACE ...]     all races with a witness
    force.py --explore N PROGRAM.c                                        races of N random schedules

Compiles the program with a scheduler of our own inside (forcing.c) and lets its threads pass their
accesses and pthread calls in the order of the race's witness. Says for each race

    confirmed   both threads stand before their accesses, which overlap, one a write
    refuted     a thread went elsewhere than the witness says, would block, or the accesses do not meet
    not forced  the witness speaks of what this tool does not know

No part of the analysis is used here, only the trace's text and the result's JSON. Programs must be
one file, and but for the schedule must do the same in every run.
"""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
SCHEDULER = [os.path.join(HERE, f) for f in ("forcing.c", "forcing_calls.c")]
WRAPPED = ["main", "usleep", "sem_init", "sem_post", "sem_wait"] + ["pthread_" + f for f in (
    "create", "join", "mutex_lock", "mutex_unlock", "cond_wait", "cond_signal", "cond_broadcast",
    "barrier_init", "barrier_wait")]
OPS = ["begin", "read", "write", "atomic", "lock", "unlock", "wait", "wake", "create", "join",
       "arrive", "leave", "post", "take", "end"]  # enum op of forcing.c
# Operations of the trace that are points of the forced program; others pass.
POINTS = {"r": "read", "w": "write", "load": "atomic", "store": "atomic", "rmw": "atomic", "acq": "lock",
          "rel": "unlock", "wait": "wait", "signal": "wake", "broadcast": "wake", "fork": "create",
          "join": "join", "enterb": "arrive", "leaveb": "leave", "post": "post", "semwait": "take"}
UNKNOWN = {"acqs", "rels", "tacq", "tacqs", "once"}
CALLED = re.compile(r"^\s*([0-9a-f]+):.*\bcallq?\b.*<(__tsan_\w+|__wrap_\w+)>")
ADDRESS = re.compile(r"^\s*([0-9a-f]+):\s")
NEW = -2  # as the other thread of a step: it is of code that was not recorded
PLACE = re.compile(r":(\d+):(\d+)$")


class CannotForce(Exception):
    pass


def call(command, env=None, timeout=60):
    return subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=timeout,
                          env=dict(os.environ, **(env or {})))


def need(command):
    p = call(command)
    if p.returncode != 0:
        raise SystemExit(f"{' '.join(command)}: {p.stderr}")
    return p.stdout


def place_of(location):
    """(line, column) of FILE:LINE:COLUMN, else None"""
    m = PLACE.search(location)
    return (int(m.group(1)), int(m.group(2))) if m else None


class Event:
    """A line of `heddle dump`."""

    def __init__(self, line):
        thread, what, location = line.split("\t", 1)[1].rstrip("\n").split("|")
        self.thread = int(thread[1:])
        word, _, self.arg = what.partition("(")
        self.word = word.partition(".")[0]
        self.place = place_of(location)


def events_of(heddle, trace):
    return [Event(line) for line in need([heddle, "dump", trace]).splitlines()]


class Program:
    """A source file compiled with the scheduler inside."""

    def __init__(self, source, directory):
        self.directory = directory
        self.exe = os.path.join(directory, "forced")
        flags = ["-O0", "-g", "-w", "-fno-pie", "-pthread"]
        program = os.path.join(directory, "program.o")
        need(["clang-19", *flags, "-fsanitize=thread", "-mllvm", "-tsan-instrument-read-before-write=1",
              "-c", source, "-o", program])
        need(["clang-19", *flags, "-no-pie", program, *SCHEDULER, "-lm", "-o", self.exe,
              *[f"-Wl,--wrap={f}" for f in WRAPPED]])
        self.find_points(source)

    def find_points(self, source):
        """Return addresses of the calls to the scheduler, and the places they stand for."""
        calls, previous = {}, None
        for line in need(["objdump", "-d", "--no-show-raw-insn", self.exe]).splitlines():
            m = ADDRESS.match(line)
            if m and previous:
                calls[int(m.group(1), 16)] = previous
            m = CALLED.match(line)
            previous = m and m.group(2)
        asked = [hex(pc - 1) for pc in calls]
        answer = need(["llvm-symbolizer-19", "-e", self.exe, "--output-style=JSON", *asked])
        self.ids, self.points, self.kinds = {}, [], set()
        for pc, found in zip(calls, json.loads(answer)):
            frame = found["Symbol"][0]
            if os.path.basename(frame["FileName"]) != os.path.basename(source):
                continue
            place = frame["Line"], frame["Column"]
            self.points.append((pc, self.ids.setdefault(place, len(self.ids))))
            self.kinds.add((place, calls[pc]))
        self.accesses = {}
        for place, function in self.kinds:
            for kind in ("read", "write", "atomic"):
                if (function.startswith("__tsan_") and kind in function) or function in ("__tsan_memcpy", "__tsan_memset"):
                    self.accesses.setdefault(place, set()).add(kind)

    def step(self, thread, word, place, other=-1):
        """A line of the schedule, or None where the forced program has no such point."""
        if word in UNKNOWN:
            raise CannotForce(f"the witness has {word}")
        op = POINTS.get(word)
        if op is None or place not in self.ids:
            return None
        if op in ("read", "write", "atomic") and op not in self.accesses.get(place, ()):
            return None
        return f"step {thread} {OPS.index(op)} {self.ids[place]} {other}\n"

    def run(self, steps, env=None):
        path = os.path.join(self.directory, "schedule")
        with open(path, "w", encoding="ascii") as f:
            f.writelines(f"site {pc:#x} {site}\n" for pc, site in self.points)
            f.writelines(steps)
        try:
            return call([self.exe], {"FORCE_FOLLOW": path, **(env or {})}, 300)
        except subprocess.TimeoutExpired:
            raise CannotForce("the program does not end") from None

    def follow(self, steps):
        """(verdict, why)"""
        p = self.run(steps)
        m = re.search(r"force: (\w+) (.*)", p.stderr)
        if not m:
            return "not forced", f"the program ended with {p.returncode}"
        places = {i: f"{line}:{column}" for (line, column), i in self.ids.items()}
        why = re.sub(r"site (\d+)", lambda s: "line " + places.get(int(s.group(1)), "?"), m.group(2))
        return ("not forced" if m.group(1) == "stuck" else m.group(1)), why

    def explore(self, runs):
        """Pairs of places that stood next to each other in some of the random schedules."""
        p = self.run([], {"FORCE_EXPLORE": str(runs)})
        places = {i: place for place, i in self.ids.items()}
        return {tuple(sorted((places[int(a)], places[int(b)])))
                for a, b in re.findall(r"^met (\d+) (\d+)$", p.stderr, re.M)}


def new_events(race):
    """Events of branches that go the other way: position -> Event. Positions are behind the trace's."""
    return {flip["first_new"] + i: Event(f"0\t{flip['thread']}|{e['operation']}|{e['location']}")
            for flip in race.get("flips", ()) for i, e in enumerate(flip["events"])}


def schedule_of(program, race, events):
    """The steps of a race's witness; the last two are the racing accesses."""
    steps, new, last = [], new_events(race), race["witness"][-2:]
    for position in race["witness"]:
        e = new[position] if position >= len(events) else events[position]
        other = NEW if position >= len(events) else int(e.arg[1:-1]) if e.word == "fork" else -1
        step = program.step(e.thread, e.word, e.place, other)
        if step:
            steps.append(step)
        elif position in last:
            raise CannotForce(f"event {position} is no access of the forced program")
    return steps


def force(program, race, events):
    """(verdict, why) of a race of a result"""
    try:
        return program.follow(schedule_of(program, race, events))
    except CannotForce as e:
        return "not forced", str(e)


def describe(race):
    return " ".join(os.path.basename(a["location"]) for a in race["accesses"])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--heddle", default="heddle")
    parser.add_argument("--explore", type=int, metavar="N")
    parser.add_argument("source")
    parser.add_argument("trace", nargs="?")
    parser.add_argument("result", nargs="?")
    parser.add_argument("races", nargs="*")
    opts = parser.parse_intermixed_args()
    with tempfile.TemporaryDirectory() as directory:
        program = Program(opts.source, directory)
        if opts.explore:
            for a, b in sorted(program.explore(opts.explore)):
                print(f"{a[0]}:{a[1]} {b[0]}:{b[1]}")
            return 0
        events = events_of(opts.heddle, opts.trace)
        with open(opts.result, encoding="utf-8") as f:
            races = [r for r in json.load(f)["races"] if "witness" in r]
        refuted = 0
        for race in races:
            if opts.races and race["id"] not in opts.races:
                continue
            word, why = force(program, race, events)
            refuted += word == "refuted"
            print(f"{race['id']} {describe(race)}: {word}: {why}")
    return 1 if refuted else 0


if __name__ == "__main__":
    sys.exit(main())
