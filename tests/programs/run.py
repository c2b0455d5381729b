#!/usr/bin/python3
"""Build, record and analyse the test programs; compare with what they say about themselves.

    run.py --build BUILDDIR [--driver clang|gcc|full|plain] [--all] [--jobs 2] [--keep DIR] [PATTERN ...]
    run.py --tool tsan|tsan-gcc [--runs 3] [PATTERN ...]     the same programs, another detector

Prints TAP, a case per program. docs/design/test-programs.md describes the comments that hold
the expectations; PATTERN is a shell pattern or a part of a program's name. The driver gcc compiles with
-fsanitize=thread, full is clang with values, branches and calls recorded, plain clang with
--no-elimination: both must find what a default build finds. gcc runs only the programs
that say `// gcc: also`, full those and all with a race or a deadlock, plain those with one, unless --all is given. Each case has a directory of its own, so they run
side by side.
"""
import argparse
import concurrent.futures
import fnmatch
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
LIMIT_S = 180  # one build or one run, on a loaded machine; native runs take less than 0.3 s

DIRECTIVE = re.compile(r"^// (race|deadlock|may|never|predicted|stack|engine|flags|args|exit|stdout|options|library|gcc|full|tsan): ?(.*)$")
JOINED = re.compile(r"// \S.*\. (race|may|never|predicted|stack|deadlock|flags|gcc|full|engine|exit|stdout|args|options|library): \S")  # by a formatter
MARK = re.compile(r"// \[([\w, ]+)\]\s*$")


class Failure(Exception):
    pass


class Race:
    """What a tool reported: two places (file, line), the engines, the functions on each stack."""

    def __init__(self, places, engines, what, stacks=((), ())):
        self.places, self.engines, self.what, self.stacks = places, engines, what, stacks

    def is_pair(self, pair):
        _, left, right = pair
        a, b = self.places
        return (a in left and b in right) or (b in left and a in right)

    def __str__(self):
        at = " ".join(f"{file}:{line}" for file, line in self.places)
        return f"{at} ({self.what}, {','.join(sorted(self.engines))})"


class Case:
    """A program and what it says about itself."""

    def __init__(self, path, variant=0):
        self.path = path
        self.home, self.file = os.path.split(path)
        self.name = os.path.splitext(self.file)[0]
        self.cxx = path.endswith(".cc")
        self.says = {}
        self.marks = {}  # mark -> set of (file, line)
        self.read(path)
        for line in self.says.get("library", []):
            self.read(os.path.join(self.home, line.split()[0]), library=True)
        flags = self.says.get("flags", [""])
        self.variants = len(flags)
        self.flags = flags[variant].split()
        self.title = self.name + (" " + flags[variant] if self.variants > 1 else "")
        self.is_race = "_race_" in self.name
        self.predicted = self.pairs("predicted")
        self.required = self.pairs("race") + self.predicted
        self.allowed = self.required + self.pairs("may")
        self.never = self.pairs("never")
        self.deadlocks = [(text, [self.lines(word) for word in text.split()]) for text in self.says.get("deadlock", [])]
        if "_norace_" not in self.name and not (self.is_race and self.required) \
                and not ("_found_" in self.name and self.deadlocks):
            raise Failure(f"{self.file}: a race without a pair, or a name without _race_, _norace_ or _found_")

    def read(self, path, library=False):
        with open(path) as f:
            for number, line in enumerate(f, 1):
                m = DIRECTIVE.match(line.rstrip("\n"))
                if not m and JOINED.match(line):
                    raise Failure(f"{os.path.basename(path)}:{number}: a line of its own was joined to the one before")
                if m and not library:
                    self.says.setdefault(m[1], []).append(m[2])
                m = MARK.search(line)
                for mark in re.split(r"[, ]+", m[1]) if m else []:
                    self.marks.setdefault(mark, set()).add((os.path.basename(path), number))

    def word(self, key, default=""):
        return " ".join(self.says.get(key, [default]))

    def lines(self, text):
        """A mark, a line number, or several of them with | between."""
        places = set()
        for word in text.split("|"):
            if word.isdigit():
                places.add((self.file, int(word)))
            elif word in self.marks:
                places |= self.marks[word]
            else:
                raise Failure(f"{self.file}: no line has the mark [{word}]")
        return places

    def pairs(self, key):
        found = []
        for text in self.says.get(key, []):
            words = text.split()
            if len(words) != 2:
                raise Failure(f"{self.file}: '{key}: {text}' is not a pair")
            found.append((text, self.lines(words[0]), self.lines(words[1])))
        return found


def run(command, cwd, env=None, limit=LIMIT_S):
    try:
        return subprocess.run(command, cwd=cwd, env=env, stdin=subprocess.DEVNULL, capture_output=True,
                              timeout=limit, errors="replace")
    except subprocess.TimeoutExpired:
        raise Failure(f"takes more than {limit} s: {' '.join(command)}")


def exit_code(status):
    return 128 - status if status < 0 else status


def must(command, cwd, env=None):
    r = run(command, cwd, env)
    if r.returncode:
        raise Failure(f"{' '.join(command)}: exit {r.returncode}\n{r.stdout}{r.stderr}")


class Heddle:
    """Our tool in a build directory."""

    def __init__(self, build, driver):
        self.build = os.path.abspath(build)
        self.env = dict(os.environ)
        if driver == "gcc":
            self.env.update(HEDDLE_CC_BACKEND="gcc", HEDDLE_CXX_BACKEND="g++")
        if driver == "full":
            self.env["HEDDLE_FULL"] = "1"
        if driver == "plain":
            self.env["HEDDLE_ELIMINATION"] = "0"
        self.env.pop("HEDDLE_OPTIONS", None)

    def compiler(self, cxx, traced=True):
        if traced:
            return [os.path.join(self.build, "heddle-c++" if cxx else "heddle-cc")], self.env
        return ["g++" if cxx else "gcc"], None

    def run(self, case, work):
        command = [os.path.join(self.build, "heddle"), "run", "--format", "json", "-o", "out.json", "--fail-on", "maybe",
                   *case.word("options").replace("{here}", HERE).split(), "--", "./prog", *case.word("args").split()]
        r = run(command, work, self.env)
        out = os.path.join(work, "out.json")
        if not os.path.exists(out):
            raise Failure(f"no result, exit {r.returncode}\n{r.stderr}")
        with open(out) as f:
            text = f.read()
        # but for the code that our headers bring for libstdc++'s tree and list
        own = "adopt|child|exchange|is_red|mend|node|replace|rotate|take_out"
        ours = re.search(rf"__heddle_(?!({own})(\b|PS))|heddle-runtime/|src/runtime/", text)
        if ours:
            raise Failure(f"the result names our runtime: {text[max(ours.start() - 60, 0):][:120]!r}")
        result = json.loads(text)
        races = [self.race(case, race) for race in result["races"]]
        deadlocks = [[self.place(case, request) for request in d["requests"]] for d in result["deadlocks"]]
        self.verify(work, r)
        return r, races, deadlocks

    def race(self, case, race):
        places = tuple(self.place(case, access) for access in race["accesses"])
        stacks = tuple([f.get("function", "?") for f in a.get("stack", [])] for a in race["accesses"])
        return Race(places, set(race["engines"]), f"{race.get('variable', '?')} {race['strength']}", stacks)

    def place(self, case, access):
        """The access's own line; for one in a header or library, the innermost frame of ours."""
        frames = [access.get("location") or ""]
        frames += [f"{f.get('file', '')}:{f.get('line', 0)}" for f in access.get("stack", [])]
        return ours(case, frames)

    def verify(self, work, r):
        traces = os.path.join(work, "heddle.data")
        if not os.path.exists(traces):
            raise Failure(f"no trace in heddle.data, exit {r.returncode}\n{r.stderr}")
        v = run([os.path.join(self.build, "heddle"), "verify", "heddle.data", "out.json"], work)
        if v.returncode not in (0, 66):
            raise Failure(f"verify: exit {v.returncode}\n{v.stdout}{v.stderr}")


class Tsan:
    """ThreadSanitizer, to check the labels and to compare."""

    def __init__(self, family, runs):
        self.names = ("clang-19", "clang++-19") if family == "clang" else ("gcc", "g++")
        self.runs = runs
        self.options = ("log_path=log exitcode=66 history_size=4 report_thread_leaks=0 report_signal_unsafe=0"
                        " report_destroy_locked=0 external_symbolizer_path="
                        + (shutil.which("llvm-symbolizer-19") or ""))

    def compiler(self, cxx, traced=True):
        return [self.names[cxx]] + (["-fsanitize=thread"] if traced else []), None

    def run(self, case, work):
        races = []
        for _ in range(self.runs):
            for log in [f for f in os.listdir(work) if f.startswith("log.")]:
                os.unlink(os.path.join(work, log))
            env = dict(os.environ, TSAN_OPTIONS=self.options)
            r = run(["./prog", *case.word("args").split()], work, env)
            for log in [f for f in os.listdir(work) if f.startswith("log.")]:
                with open(os.path.join(work, log), errors="replace") as f:
                    races += self.parse(case, f.read())
        return r, races, []

    def parse(self, case, text):
        races = []
        for block in text.split("WARNING: ThreadSanitizer: ")[1:]:
            kind = block.split(" (pid")[0]
            if "lock-order-inversion" in kind:
                continue  # it knows no schedule: labels of deadlocks are ours alone
            parts = re.split(r"\n  (?=\S)", block)
            stacks = [re.findall(r"^    #\d+ .*? (\S+:\d+(?::\d+)?) \(", part, re.M) for part in parts[1:3]]
            if "race" in kind or "use-after-free" in kind:
                stacks = (stacks + [[], []])[:2]
                races.append(Race(tuple(ours(case, s) for s in stacks), {"hb"}, kind))
            else:
                races.append(Race((("?", 0), ("?", 0)), {"hb"}, kind))
        return races


def ours(case, frames):
    """The first of the frames (file:line[:column]) that lies in the program's own files."""
    files = {case.file} | {line.split()[0] for line in case.says.get("library", [])}
    for frame in frames:
        m = re.match(r"(.*?):(\d+)(?::\d+)?$", frame)
        if m and os.path.basename(m[1]) in files:
            return os.path.basename(m[1]), int(m[2])
    m = re.match(r"(.*?):(\d+)", frames[0]) if frames else None
    return (os.path.basename(m[1]), int(m[2])) if m else (frames[0] if frames else "?", 0)


def build(case, tool, work):
    flags = case.flags
    if not any(f.startswith("-O") for f in flags):
        flags = ["-O1", *flags]
    flags = ["-g", "-I", HERE, "-I", os.path.join(HERE, "..", "..", "include"), *flags]
    link = []
    for line in case.says.get("library", []):
        source, how, *rest = line.split()
        name = os.path.splitext(source)[0] + ".so"
        command, env = tool.compiler(source.endswith(".cc"), how == "traced")
        must([*command, *flags, "-fPIC", "-shared", os.path.join(case.home, source), "-o", name], work, env)
        if "dlopen" not in rest:
            link += ["./" + name]
    command, env = tool.compiler(case.cxx)
    must([*command, *flags, case.path, "-o", "prog", *link, "-pthread"], work, env)


def judge_races(case, races):
    engine = case.word("engine", "hb")
    for pair in case.required:
        hits = [race for race in races if race.is_pair(pair)]
        if not hits:
            yield f"missing: {pair[0]}"
        elif pair not in case.predicted and not any(engine in race.engines for race in hits):
            yield f"found, but not by {engine}: {pair[0]}"
    for race in races:
        if any(race.is_pair(p) for p in case.never) or not any(race.is_pair(p) for p in case.allowed):
            yield f"false: {race}"


def is_deadlock(places, requests):
    """Each request of the label is one of the places, in some order."""
    if len(places) != len(requests):
        return False
    if not requests:
        return True
    return any(places[i] in requests[0] and is_deadlock(places[:i] + places[i + 1:], requests[1:])
               for i in range(len(places)))


def judge_deadlocks(case, deadlocks):
    for text, requests in case.deadlocks:
        if not any(is_deadlock(places, requests) for places in deadlocks):
            yield f"missing deadlock: {text}"
    for places in deadlocks:
        if not any(is_deadlock(places, requests) for _, requests in case.deadlocks):
            yield f"false deadlock: {places}"


def judge_stacks(case, races):
    for text in case.says.get("stack", []):
        mark, *functions = text.split()
        for race in races:
            for place, stack in zip(race.places, race.stacks):
                if place in case.lines(mark) and not all(f in g for f, g in zip(functions, stack + [""] * 9)):
                    yield f"stack of {mark} is {stack[:5]}, expected {functions}"


def judge_program(case, r, found, same_exit):
    own = int(case.word("exit", "0"))
    code = 66 if found else own
    if same_exit and exit_code(r.returncode) != code:
        yield f"exit {exit_code(r.returncode)}, expected {code}\n{r.stderr}"
    expected = "".join(line + "\n" for line in case.says.get("stdout", []))
    if r.stdout != expected:
        yield f"stdout {r.stdout!r}, expected {expected!r}\n{r.stderr}"


def one(case, tool, keep, ours):
    """Build, run, compare; what is wrong, as sentences."""
    if keep:
        work = os.path.join(keep, case.title.replace(" ", ""))
        os.makedirs(work, exist_ok=True)
    else:
        work = tempfile.mkdtemp(prefix="heddle-prog-")
    try:
        build(case, tool, work)
        r, races, deadlocks = tool.run(case, work)
        wrong = [*judge_races(case, races), *judge_program(case, r, races + deadlocks, ours)]
        if ours:
            wrong += [*judge_deadlocks(case, deadlocks), *judge_stacks(case, races)]
    except Failure as failure:
        wrong = [str(failure)]
    finally:
        if not keep:
            shutil.rmtree(work, ignore_errors=True)
    return wrong


def selected(options):
    names = [f for f in sorted(os.listdir(HERE)) if re.search(r"_(race|norace|found)_\w+\.(c|cc)$", f)]
    files = [os.path.join(HERE, f) for f in names]
    cases = [Case(f, variant) for f in files for variant in range(Case(f).variants)]
    if options.patterns:
        cases = [c for c in cases if any(fnmatch.fnmatch(c.name, p) or p in c.name for p in options.patterns)]
    elif options.driver == "full" and not options.all:
        cases = [c for c in cases if c.word("full") != "no"]
        cases = [c for c in cases if "gcc" in c.says or "full" in c.says or c.is_race or c.deadlocks]
    elif options.driver == "plain" and not options.all:
        cases = [c for c in cases if c.is_race or c.deadlocks]
    elif options.driver != "clang" and not options.all:
        cases = [c for c in cases if "gcc" in c.says]
    return cases


def report(number, case, wrong, tool):
    excuse = ""
    if wrong and tool != "heddle" and "tsan" in case.says:
        excuse = f" # TODO tsan: {case.word('tsan')}"
    print(f"{'not ok' if wrong else 'ok'} {number} - {case.title}{excuse}")
    for sentence in wrong:
        for line in sentence.rstrip("\n").split("\n")[:8]:
            print(f"#   {line}")
    sys.stdout.flush()
    return bool(wrong) and not excuse


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--build", default="build")
    p.add_argument("--tool", choices=["heddle", "tsan", "tsan-gcc"], default="heddle")
    p.add_argument("--driver", choices=["clang", "gcc", "full", "plain"], default="clang")
    p.add_argument("--all", action="store_true")
    p.add_argument("--runs", type=int, default=3)
    p.add_argument("--jobs", type=int, default=2)
    p.add_argument("--keep", help="keep each program's directory here")
    p.add_argument("patterns", nargs="*", metavar="PATTERN")
    options = p.parse_args()
    if options.tool == "heddle":
        tool = Heddle(options.build, options.driver)
    else:
        tool = Tsan("gcc" if options.tool == "tsan-gcc" else "clang", options.runs)
    if options.keep:
        options.keep = os.path.abspath(options.keep)
    cases = [c for c in selected(options) if options.tool == "heddle" or c.word("tsan") != "hangs"]
    failed, begin = 0, time.time()
    print(f"1..{len(cases)}")
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        jobs = [pool.submit(one, c, tool, options.keep, options.tool == "heddle") for c in cases]
        for number, (case, job) in enumerate(zip(cases, jobs), 1):
            failed += report(number, case, job.result(), options.tool)
    print(f"# {len(cases) - failed} of {len(cases)} programs as expected, {time.time() - begin:.0f} s")
    return 1 if failed or not cases else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Failure as failure:
        sys.exit(str(failure))
