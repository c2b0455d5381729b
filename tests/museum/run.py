#!/usr/bin/python3
"""The museum: programs after public issues of other race detectors, run under Heddle and under those.

    run.py --build BUILDDIR [PATTERN ...]                         Heddle alone, TAP
    run.py --build BUILDDIR --tools all --results FILE            all tools; FILE (JSON) keeps what they said
    run.py --results FILE --table docs/museum.md                  the table of what is in FILE

--resume leaves out what FILE has for the same program, tool and version. The comments at the head of a program are those of
tests/programs (docs/design/test-programs.md) and four more, each of which may go on in lines that begin with "//   ":

    // issue: the address of the issue, and of others about the same
    // tool: whose issue it is
    // there: false alarm|miss|crash|hang|unusable report|build; what its user met
    // verdict: race|no race|deadlock|no deadlock; why

A tool is right about a program if it reports every race or deadlock that the program must show, nothing else, and
leaves exit code and output as they are. Heddle has to name both lines of a race; of other tools one is enough.
"""
import argparse
import concurrent.futures
import hashlib
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..", "..")
spec = importlib.util.spec_from_file_location("programs", os.path.join(HERE, "..", "programs", "run.py"))
programs = importlib.util.module_from_spec(spec)
spec.loader.exec_module(programs)

KINDS = ("false alarm", "miss", "crash", "hang", "unusable report", "build")
VERDICTS = ("race", "no race", "deadlock", "no deadlock")
NOT_ASKED = "-"
FIELDS = ("issue", "tool", "there", "verdict")
LIMIT_S = 60  # for a run under another tool; without one the programs take less than a second


class Exhibit(programs.Case):
    """A program of the museum and what its head says."""

    def __init__(self, path):
        super().__init__(path)
        self.head = self.read_head(path)
        for field in FIELDS:
            if not self.head.get(field):
                raise programs.Failure(f"{self.file}: no '// {field}:'")
        self.kind, self.there = self.split("there", KINDS)
        self.verdict, self.why = self.split("verdict", VERDICTS)
        self.issues = self.head["issue"].split()
        kind = {"race": "_race_", "deadlock": "_found_"}.get(self.verdict, "_norace_")
        if kind not in self.name:
            raise programs.Failure(f"{self.file}: the name and the verdict differ")
        if not all(re.match(r"https://\S+/\d+$", issue) for issue in self.issues):
            raise programs.Failure(f"{self.file}: not the address of an issue: {self.head['issue']}")

    @staticmethod
    def read_head(path):
        head, field = {}, ""
        with open(path) as f:
            head["title"] = f.readline()[3:].strip()
            for line in f:
                m = re.match(r"// (\w+): ?(.*)", line)
                if not line.startswith("//"):
                    break
                if m:
                    field = m[1]
                    head[field] = (head.get(field, "") + " " + m[2]).strip()
                elif line.startswith("//   ") and field:
                    head[field] += " " + line[5:].strip()
                elif not field:
                    head["title"] += " " + line[3:].strip()
        return head

    def split(self, field, words):
        word, _, rest = self.head[field].partition("; ")
        if word not in words or not rest:
            raise programs.Failure(f"{self.file}: '// {field}:' is not one of {', '.join(words)}, and a sentence")
        return word, rest.strip()

    def hash(self, tool):
        h = hashlib.sha256(tool.version.encode())
        for path in [self.path] + [os.path.join(HERE, l.split()[0]) for l in self.says.get("library", [])]:
            with open(path) as f:
                h.update("".join(f.read().split()).encode())  # however it is laid out
        return h.hexdigest()[:16]


def first_line(command):
    try:
        return subprocess.run(command, capture_output=True, text=True).stdout.split("\n")[0]
    except FileNotFoundError:
        return ""


def logs(work):
    text = ""
    for name in sorted(os.listdir(work)):
        if name.startswith("log."):
            with open(os.path.join(work, name), errors="replace") as f:
                text += f.read()
    return text


class Heddle(programs.Heddle):
    name, title = "heddle", "Heddle"

    def __init__(self, build):
        super().__init__(build, "clang")
        self.version = first_line([os.path.join(self.build, "heddle"), "--version"])

    def judge(self, case, work):
        r, races, deadlocks = self.run(case, work)
        wrong = [*judge_races(case, races, True), *programs.judge_deadlocks(case, deadlocks),
                 *programs.judge_program(case, r, races + deadlocks, True), *programs.judge_stacks(case, races)]
        words = []
        for sentence in wrong:
            word = ("missed" if sentence.startswith("missing") else "false alarm" if sentence.startswith("false") else
                    "stack" if sentence.startswith("stack") else "disturbs")
            words += [] if word in words else [word]
        return words, wrong


class Other:
    """Another tool: `reports` gives what it printed as (kind, lists of places); kinds are race, lock order, or its own."""

    def judge(self, case, work):
        try:
            r = programs.run(self.command(case), work, self.env(), LIMIT_S)
        except programs.Failure:
            return ["hangs"], [f"does not end within {LIMIT_S} s"]
        text = logs(work)
        reports = list(self.reports(case, text))
        words, wrong = self.weigh(case, reports)
        own, code = int(case.word("exit", "0")), programs.exit_code(r.returncode)
        stdout = "".join(line + "\n" for line in case.says.get("stdout", []))
        if re.search(r"CHECK failed|FATAL: |ERROR: ThreadSanitizer|DEADLYSIGNAL|Dying|Assertion .* failed|internal error",
                     text + r.stderr):
            words, wrong = ["crashes"], [line for line in (text + r.stderr).split("\n") if line][:3]
        elif code not in (own, self.found if reports else own) or r.stdout != stdout:
            words.append("disturbs")
            wrong.append(f"exit {code}, output {r.stdout[:80]!r}, {r.stderr[:200]!r}")
        return words, wrong

    def weigh(self, case, reports):
        words, wrong = [], []
        expected = [left | right for _, left, right in case.required]
        allowed = [left | right for _, left, right in case.allowed]
        seen = [any(place in lines for kind, places in reports if kind == "race" for place in places) for lines in expected]
        if not all(seen) or (case.deadlocks and not any(kind == "lock order" for kind, _ in reports)):
            words.append("missed")
        for kind, places in reports:
            if kind == "race" and any(place in lines for lines in allowed for place in places):
                continue
            if kind == "lock order" and case.deadlocks:
                continue
            word = "false alarm" + ("" if kind == "race" else f" ({kind})")
            words += [] if word in words else [word]
            wrong.append(f"{kind}: " + " ".join(f"{file}:{line}" for file, line in places))
        return words, wrong[:4]


class Tsan(Other):
    found = 66

    def __init__(self, family):
        self.inner = programs.Tsan(family, 1)
        self.name = "tsan-" + family
        self.title = "TSan " + family
        self.version = first_line([self.inner.names[0], "--version"])

    def compiler(self, cxx, traced=True):
        return self.inner.compiler(cxx, traced)

    def command(self, case):
        return ["./prog", *case.word("args").split()]

    def env(self):
        options = f"log_path=log exitcode={self.found} external_symbolizer_path={shutil.which('llvm-symbolizer-19') or ''}"
        return dict(os.environ, TSAN_OPTIONS=options)

    def reports(self, case, text):
        for block in text.split("WARNING: ThreadSanitizer: ")[1:]:
            kind = block.split(" (pid")[0]
            parts = re.split(r"\n  (?=\S)", block)
            stacks = [re.findall(r"^    #\d+ .*? (\S+:\d+(?::\d+)?) \(", part, re.M) for part in parts[1:3]]
            kind = ("misuse of a lock" if "mutex" in kind else "lock order" if "lock-order" in kind else
                    "race" if "race" in kind or "use-after-free" in kind else kind)
            yield kind, [programs.ours(case, s) for s in stacks if s]


class Valgrind(Other):
    found = None

    def __init__(self, tool):
        self.name, self.title = tool, tool.capitalize() if tool != "drd" else "DRD"
        self.version = first_line(["valgrind", "--version"])

    def compiler(self, cxx, traced=True):
        return ["g++" if cxx else "gcc"], None

    def command(self, case):
        return ["valgrind", f"--tool={self.name}", "--log-file=log.%p", "./prog", *case.word("args").split()]

    def env(self):
        return dict(os.environ)

    def places(self, case, lines):
        """The innermost frame of the case's own files on each stack of a report."""
        found, stack = [], []
        for line in lines + ["end"]:
            m = re.match(r"   (?:at|by) 0x\w+: .*\((.*?)\)$", line)
            if m:
                stack.append(m[1] + ":1" if ":" not in m[1] else m[1])
            elif stack:
                found.append(programs.ours(case, stack))
                stack = []
        return found

    def blocks(self, text):
        lines = [re.sub(r"^==\d+== ?", "", line) for line in text.split("\n")]
        block = []
        for line in lines + [""]:
            if line.startswith("---") or line.startswith("ERROR SUMMARY") or \
                    (self.name == "drd" and (not line.strip() or re.match(r"(Conflicting|Thread \d+:)", line))):
                yield block
                block = []
            block.append(line)
        yield block

    def reports(self, case, text):
        for block in self.blocks(text):
            said = "\n".join(block)
            if re.search(r"^   at 0x\w+: (tell|await) \(prog\.h", said, re.M):
                continue  # how our programs force their order: atomics, which valgrind does not tell from plain accesses
            if re.search(r"Possible data race|Conflicting (load|store)", said):
                end = next((i for i, line in enumerate(block) if re.match(r" *(Address|Allocation|Location)", line)), len(block))
                yield "race", self.places(case, block[:end])
            elif re.search(r'lock order ".*" violated', said):
                yield "lock order", self.places(case, block)
            else:
                m = re.search(r"^((?:Thread #?\d+:?(?:'s)? (?=\w* ?\w)(?!was created|is the program)|Probably|Mutex|The object|"
                              r"Destr|Exiting thread|Recursive|Attempt|Not a).*)$", said, re.M)
                if m and re.search(r"^   at 0x", said, re.M):
                    yield "misuse of a lock", self.places(case, block)


def judge_races(case, races, both):
    for pair in case.required:
        if not any(race.is_pair(pair) for race in races):
            yield f"missing: {pair[0]}"
    for race in races:
        if not any(race.is_pair(pair) for pair in case.allowed):
            yield f"false: {race}"


class WithClang:
    """The compiler of programs that need libc++, for tools that read what any compiler makes."""

    @staticmethod
    def compiler(cxx, traced=True):
        return ["clang++-19" if cxx else "clang-19"], None


def one(case, tool):
    """Build and run; what is wrong in words, and in sentences."""
    libcxx = "-stdlib=libc++" in case.flags
    if libcxx and tool.name == "tsan-gcc":
        return [NOT_ASKED], ["gcc has no libc++"]
    work = tempfile.mkdtemp(prefix="heddle-museum-")
    try:
        programs.build(case, WithClang if libcxx and isinstance(tool, Valgrind) else tool, work)
    except programs.Failure as failure:
        shutil.rmtree(work, ignore_errors=True)
        return ["does not build"], [str(failure)[:600]]
    try:
        return tool.judge(case, work)
    except programs.Failure as failure:
        return ["no result"], [str(failure)[:600]]
    finally:
        shutil.rmtree(work, ignore_errors=True)


def tools_of(options):
    every = {"heddle": lambda: Heddle(options.build), "tsan-clang": lambda: Tsan("clang"), "tsan-gcc": lambda: Tsan("gcc"),
             "helgrind": lambda: Valgrind("helgrind"), "drd": lambda: Valgrind("drd")}
    names = list(every) if options.tools == "all" else options.tools.split(",")
    tools = [every[name]() for name in names]
    for tool in tools:
        if not tool.version:
            print(f"# {tool.name} is not here: left out")
    return [tool for tool in tools if tool.version]


def exhibits(patterns):
    names = [f for f in sorted(os.listdir(HERE)) if re.search(r"_(race|norace|found)_\w+\.(c|cc)$", f)]
    cases = [Exhibit(os.path.join(HERE, f)) for f in names]
    return [c for c in cases if not patterns or any(p in c.name for p in patterns)]


def load(path):
    if not path or not os.path.exists(path):
        return {}
    with open(path) as f:
        return json.load(f)


def save(path, results):
    if path:
        with open(path + ".new", "w") as f:
            json.dump(results, f, indent=1, sort_keys=True)
        os.replace(path + ".new", path)


def run_all(options):
    cases, tools = exhibits(options.patterns), tools_of(options)
    results = load(options.results)
    jobs = [(case, tool) for tool in tools for case in cases
            if not (options.resume and results.get(case.name, {}).get(tool.name, {}).get("hash") == case.hash(tool))]
    print(f"1..{len(jobs)}")
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        waiting = [pool.submit(one, case, tool) for case, tool in jobs]
        for number, ((case, tool), job) in enumerate(zip(jobs, waiting), 1):
            words, wrong = job.result()
            results.setdefault(case.name, {})[tool.name] = {
                "hash": case.hash(tool), "version": tool.version, "words": words, "wrong": wrong}
            save(options.results, results)
            failed += bool(words) and tool.name == "heddle"
            print(f"{'not ok' if words and tool.name == 'heddle' else 'ok'} {number} - {case.name} {tool.name}"
                  + (f" # {', '.join(words)}" if words else ""))
            for line in "\n".join(wrong).split("\n")[:8] if wrong and (tool.name == "heddle" or options.verbose) else []:
                print(f"#   {line}")
            sys.stdout.flush()
    return 1 if failed or not cases else 0


def table(options):
    """docs/museum.md: how each tool did, then a line for each program."""
    cases, results = exhibits([]), load(options.results)
    names = ["heddle", "tsan-clang", "tsan-gcc", "helgrind", "drd"]
    titles = {"heddle": "Heddle", "tsan-clang": "TSan (clang)", "tsan-gcc": "TSan (gcc)", "helgrind": "Helgrind", "drd": "DRD"}
    with open(os.path.join(HERE, "museum.md")) as f:
        text = f.read()
    text += "\n## How they did here\n| tool | version | right | of |\n| --- | --- | --- | --- |\n"
    for name in names:
        said = [results.get(c.name, {}).get(name) for c in cases]
        said = [s for s in said if s and s["words"] != [NOT_ASKED]]
        version = said[0]["version"] if said else "-"
        text += f"| {titles[name]} | {version} | {sum(not s['words'] for s in said)} | {len(said)} |\n"
    text += "\n## The programs\n| program | issue | its user met | verdict | " + " | ".join(titles[n] for n in names) + " |\n"
    text += "| --- " * (4 + len(names)) + "|\n"
    for case in cases:
        row = [f"[{case.name}](../tests/museum/{case.file})", " ".join(short(issue) for issue in case.issues),
               f"{case.head['tool']}: {case.kind}", case.verdict]
        for name in names:
            said = results.get(case.name, {}).get(name)
            row.append("not run" if not said else ", ".join(said["words"]) or "right")
        text += "| " + " | ".join(row) + " |\n"
    with open(options.table, "w") as f:
        f.write(text)
    return 0


def short(address):
    m = re.match(r"https://github\.com/([^/]+/[^/]+)/(?:issues|pull)/(\d+)$", address)
    return f"[{m[1]}#{m[2]}]({address})" if m else f"<{address}>"


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--build", default="build")
    p.add_argument("--tools", default="heddle", help="'all', or some of heddle,tsan-clang,tsan-gcc,helgrind,drd")
    p.add_argument("--results")
    p.add_argument("--resume", action="store_true")
    p.add_argument("--verbose", action="store_true")
    p.add_argument("--table")
    p.add_argument("--jobs", type=int, default=2)
    p.add_argument("patterns", nargs="*", metavar="PATTERN")
    options = p.parse_args()
    return table(options) if options.table else run_all(options)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except programs.Failure as failure:
        sys.exit(str(failure))
