"""The programs of tests/recipe: what they say about themselves, and what the engines say of them.

A program's comments:

    // find ENGINE: a b   a race between lines marked [a] and [b] that ENGINE (mc, recipe-s, recipe) and
                          all later ones must report
    // vars: a b c        marks of variables: lines that share one race in some execution
    // true: a b          as do these; engines may report them
    // never: a b         these do not, whatever `vars` says. Pairs that are not listed never do
    // slow: ENGINE       takes seconds here: `run.py --quick` (make test) leaves it out, bench/recipe does not
    // stdout: TEXT       the output of the run that `find` speaks of; recorded again until it is so

and marks at the ends of lines: x = 1; // [a] [b]
"""
import glob
import json
import os
import re
import shutil
import subprocess
import time

import force

HERE = os.path.dirname(os.path.abspath(__file__))
ENGINES = ["mc", "recipe-s", "recipe"]
DIRECTIVE = re.compile(r"^// (find [\w-]+|vars|true|never|slow|stdout): ?(.*)$")
ATTEMPTS = 8


class Failure(Exception):
    pass


def programs():
    own = ("forcing.c", "forcing_calls.c")
    return sorted(f for f in glob.glob(os.path.join(HERE, "*.c")) if os.path.basename(f) not in own)


def call(command, codes=(0,)):
    p = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=600)
    if p.returncode not in codes:
        raise Failure(f"{' '.join(command)}: exit {p.returncode}\n{p.stdout[-500:]}{p.stderr[-1500:]}")
    return p


def engines_of(heddle):
    """Which of ours this build has."""
    return [e for e in ENGINES
            if call([heddle, "analyze", "--engine", e, os.devnull], range(256)).returncode != 129]


class Case:
    def __init__(self, source):
        self.source = source
        self.name = os.path.splitext(os.path.basename(source))[0]
        self.says, self.marks, self.stdout, self.code_lines = [], {}, None, 0
        self.slow = None
        with open(source, encoding="utf-8") as f:
            for number, line in enumerate(f, 1):
                self.read_line(number, line)
        for what, a, b in self.says:
            for mark in (a, b):
                if mark not in self.marks:
                    raise Failure(f"{self.name}: no line has the mark [{mark}]")

    def read_line(self, number, line):
        m = DIRECTIVE.match(line)
        if m and m.group(1) == "stdout":
            self.stdout = m.group(2).strip()
        elif m and m.group(1) == "slow":
            self.slow = m.group(2).strip()
        elif m and m.group(1) == "vars":
            self.says += [("vars", v, v) for v in m.group(2).split()]
        elif m:
            a, b = m.group(2).split()
            self.says.append((m.group(1), a, b))
        elif re.match(r"^// \w", line):
            raise Failure(f"{self.name}: line {number} is no directive")
        code, _, comment = line.partition("//")
        for mark in re.findall(r"\[([^\]]+)\]", comment) if not m else ():
            self.marks.setdefault(mark, set()).add(number)
        self.code_lines += bool(code.strip()) and not line.startswith((" *", "/*"))

    def pairs(self, *kinds):
        """Line pairs of the comments whose first word is one of `kinds`."""
        return {tuple(sorted((x, y))) for what, a, b in self.says if what.split()[0] in kinds
                for x in self.marks[a] for y in self.marks[b]}

    def allowed(self):
        return self.pairs("find", "true", "vars") - self.pairs("never")

    # ---- running ----

    def prepare(self, build, directory):
        """Builds and records; `trace` and `events` are there afterwards."""
        self.directory = os.path.join(directory, self.name)
        os.makedirs(self.directory, exist_ok=True)
        self.heddle = os.path.join(build, "heddle")
        exe = os.path.join(self.directory, self.name)
        call([os.path.join(build, "heddle-cc"), "--full", "-O0", "-g", "-pthread", self.source, "-lm", "-o", exe])
        data = os.path.join(self.directory, "data")
        for _ in range(ATTEMPTS):
            shutil.rmtree(data, ignore_errors=True)
            said = call([self.heddle, "record", "-o", data, "--", exe]).stdout.strip()
            if self.stdout in (None, said):
                break
        else:
            raise Failure(f"in {ATTEMPTS} runs it never said '{self.stdout}', but '{said}'")
        self.said = said
        self.trace, = glob.glob(os.path.join(data, "*.hdl"))
        self.events = force.events_of(self.heddle, self.trace)

    def analyze(self, engine, verify=True, options=()):
        """The result of an engine on the trace; its witnesses are verified."""
        path = os.path.join(self.directory, engine + ".json")
        began = time.monotonic()
        call([self.heddle, "analyze", "--engine", engine, "--effort", "thorough", "--format", "json",
              "-o", path, *options, self.trace], (0, 66))
        seconds = time.monotonic() - began
        with open(path, encoding="utf-8") as f:
            result = json.load(f)
        if verify:
            call([self.heddle, "verify", self.trace, path], (0, 66))
        result["wall"] = seconds
        return result


def places(race):
    """The pair of (line, column) of a race, ordered."""
    return tuple(sorted(force.place_of(a["location"]) or (0, 0) for a in race["accesses"]))


def lines(pair):
    return tuple(sorted(p[0] for p in pair))


def races_of(result):
    """pair of places -> race, those with a witness"""
    return {places(r): r for r in result["races"]}
