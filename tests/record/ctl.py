#!/usr/bin/env python3
"""ctl.py - heddle ctl: asking about a recording that is running, stopping it and starting it again

    ctl.py BUILD

status says how the recording is and shows its races; a snapshot is analysed as any trace; while it is
stopped no access is recorded, and afterwards they are again; stopping and starting a program without a
race again and again makes none up; who cannot be asked is named.
"""
import json, os, random, shutil, signal, subprocess, sys, tempfile, time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import cuts
from cuts import Failed, run, traces

build = os.path.abspath(sys.argv[1])
heddle = os.path.join(build, "heddle")


class Program:
    """endless.c for ever, recorded; its races only where asked for."""

    def __init__(self, directory, name, *args):
        self.directory, self.data = directory, os.path.join(directory, "data")
        shutil.rmtree(self.data, ignore_errors=True)
        self.heddle = subprocess.Popen([heddle, "record", "--last", "300ms", "-o", self.data, os.path.join(directory, name),
                                        "2000000000", *args], stderr=subprocess.DEVNULL)
        deadline = time.time() + 60
        while not traces(self.data) and time.time() < deadline:
            time.sleep(0.01)
        self.pid = os.path.basename(traces(self.data)[0])[:-4]

    def ctl(self, *args):
        return run([heddle, "ctl", self.pid, *args])

    def must(self, *args):
        r = self.ctl(*args)
        if r.returncode:
            raise Failed("ctl %s exits with %d: %s%s" % (args, r.returncode, r.stdout, r.stderr))
        return r.stdout

    def accesses(self):
        """Of a snapshot, those that are not repeated for the sake of what was dropped."""
        snapshot = os.path.join(self.directory, "snapshot.hdl")
        self.must("snapshot", "-o", snapshot)
        lines = run([heddle, "dump", snapshot]).stdout.splitlines()
        behind = max([i for i, l in enumerate(lines[:2000]) if "|leaveb(the" in l], default=-1)
        released, n = set(), 0
        for line in lines[behind + 1:]:
            thread, op = line.split("\t")[1].split("|")[:2]
            released |= {thread} if op.startswith("rel(") else set()
            n += thread in released and op.startswith(("r(", "w("))
        return n

    def wait(self, what, condition):
        deadline = time.time() + 60
        while not condition():
            if time.time() > deadline:
                raise Failed(what)
            time.sleep(0.05)

    def end(self):
        try:
            os.kill(int(self.pid), signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.heddle.wait(timeout=60)
        self.wait("the writer goes on", lambda: not cuts.writers(self.data))


def case_status(directory):
    p = Program(directory, "endless", "first")
    try:
        said = p.must("status")
        if "recording  on\n" not in said or "data/%s.hdl" % p.pid not in said:
            raise Failed(said)
        p.must("stop")
        if "recording  stopped\n" not in p.must("status"):
            raise Failed("stopped, and it is not said")
        p.must("start")
        if "recording  on\n" not in p.must("status"):
            raise Failed("started, and it is not said")
    finally:
        p.end()
    if os.path.exists(os.path.join(p.data, p.pid + ".ctl")):
        raise Failed("the file to ask the writer stays")


def case_races(directory):
    p = Program(directory, "always")
    try:
        p.wait("the race is not shown", lambda: "race on raced_last" in p.must("status"))
    finally:
        p.end()


def case_stop(directory):
    p = Program(directory, "endless")
    try:
        p.wait("there are no accesses", lambda: p.accesses() > 0)
        p.must("stop")
        p.wait("accesses are recorded while it is stopped", lambda: p.accesses() == 0)
        p.must("start")
        p.wait("accesses are not recorded again", lambda: p.accesses() > 0)
    finally:
        p.end()
    trace, = traces(p.data)
    r = run([heddle, "analyze", trace])
    if r.returncode or "recording was stopped on request" not in r.stdout:
        raise Failed("analyze: %s%s" % (r.stdout, r.stderr))


def case_never_started(directory):
    """Where no access was recorded since nobody asked for it, there is no clean bill."""
    data = os.path.join(directory, "stopped")
    r = run([heddle, "record", "--stopped", "-o", data, os.path.join(directory, "endless"), "20"])
    if r.returncode:
        raise Failed("record --stopped exits with %d: %s" % (r.returncode, r.stderr))
    r = run([heddle, "analyze", data])
    if r.returncode != 2 or "nothing to analyse" not in r.stderr or "stopped on request" not in r.stderr:
        raise Failed("analyze exits with %d: %s%s" % (r.returncode, r.stdout, r.stderr))
    r = run([heddle, "run", "--stopped", "--trace", data, os.path.join(directory, "endless"), "20"])
    if r.returncode != 2 or "stopped on request" not in r.stderr:
        raise Failed("run --stopped exits with %d: %s" % (r.returncode, r.stderr))


def case_again(directory):
    rng = random.Random(1)
    p = Program(directory, "endless")
    try:
        for i in range(20):
            p.must("stop" if i % 2 == 0 else "start")
            time.sleep(rng.random() * 0.1)
    finally:
        p.end()
    trace, = traces(p.data)
    r = run([heddle, "analyze", "--effort", "5", trace])
    if r.returncode:
        raise Failed("analyze: %s%s" % (r.stdout, r.stderr))


def case_nobody(directory):
    sleeper = subprocess.Popen(["sleep", "60"])
    try:
        for args, text in ((("x", "status"), "is not the number of a process"),
                           ((str(sleeper.pid), "status"), "was not started by"),
                           (("1", "go"), "is none of status")):
            r = run([heddle, "ctl", *args])
            if r.returncode == 0 or text not in r.stderr:
                raise Failed("%s: %d %s" % (args, r.returncode, r.stderr))
    finally:
        sleeper.kill()
    p = Program(directory, "full")
    try:
        r = p.ctl("stop")
        if r.returncode == 0 or "full build cannot be stopped" not in r.stderr:
            raise Failed("a full build: %d %s" % (r.returncode, r.stderr))
    finally:
        p.end()


def main():
    failed = 0
    with tempfile.TemporaryDirectory() as directory:
        source = os.path.join(cuts.here, "endless.c")
        for name, more in ("endless", []), ("full", ["--full"]), ("always", ["-DALWAYS"]):
            r = run([os.path.join(build, "heddle-cc"), *more, "-O1", "-g", source, "-o", os.path.join(directory, name)])
            if r.returncode:
                sys.exit(r.stderr)
        for name, case in [(n[5:], f) for n, f in globals().items() if n.startswith("case_")]:
            try:
                case(directory)
                print("ok %s" % name, flush=True)
            except Failed as e:
                failed += 1
                print("FAILED %s: %s" % (name, e), flush=True)
    return 1 if failed else 0


sys.exit(main())
