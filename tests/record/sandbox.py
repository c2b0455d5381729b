#!/usr/bin/env python3
"""sandbox.py - a program that restricts its system calls is not killed for ours

    sandbox.py BUILD_DIRECTORY

The runtime's own thread may begin late (sandbox_late.c); a filter for all threads waits for it.
sandbox.c allows itself what it does, and futex where it has threads: that is the whole list of
docs/design/recording.md. It must run as it does alone when it is recorded and in every production mode, and what it does is
still seen.
"""
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.join(HERE, "sandbox.c")
BIN = os.path.abspath(sys.argv[1])
RACE = 66
CASES = ["kill before 3 return tsync", "kill before 3 exit", "kill before 0 return", "kill after 3 return tsync",
         "kill after 0 _exit tsync", "kill after 1 thread", "kill after 3 raw", "kill forked 3 return tsync", "kill forked 0 _exit",
         "errno before 3 return tsync", "errno after 3 exit", "trap before 3 _exit tsync", "strict before 0 raw"]
BUILDS = {"recorded": [], "full": ["--full"], "static": ["-static"], "gcc": [], "production": ["--production"]}


def line():
    with open(SOURCE, encoding="utf-8") as f:
        return next(n for n, text in enumerate(f, 1) if "/* race: with itself" in text)


def build(kind, work):
    env = dict(os.environ, **({"HEDDLE_CC_BACKEND": "gcc"} if kind == "gcc" else {}))
    subprocess.run([f"{BIN}/heddle-cc", *BUILDS[kind], "-O1", "-g", "-pthread", SOURCE, "-o", f"{work}/{kind}"], check=True, env=env)


def tools():
    pair = ["--pair", f"sandbox.c:{line()},sandbox.c:{line()}"]
    yield from ((["record"], kind) for kind in ("recorded", "full", "static", "gcc"))
    yield from (([mode, *pair], "production") for mode in ("chase", "litehb", "fullhb"))
    yield ["caper", "--state", "state"], "production"
    yield ["alias"], "production"


def wrong(tool, program, case, work, **more):
    if os.path.exists(f"{work}/state"): # each caper run is the first one
        os.unlink(f"{work}/state")
    done = subprocess.run([f"{BIN}/heddle", *tool, "--", program, *case.split()], check=False, capture_output=True, text=True,
                          cwd=work, timeout=120, env=dict(os.environ, TMPDIR=work, **more))
    threads = int(case.split()[2])
    expected = f"{max(threads, 1) * 5000}\n"
    if done.stdout != expected or done.returncode not in (4, RACE):
        return f"code {done.returncode}, printed {done.stdout!r}, {done.stderr[-300:]!r}"
    if "nothing was watched" in done.stderr:
        return f"watched by nobody: {done.stderr[-300:]!r}"
    return is_missed(threads, work) if tool[0] == "record" else None


def is_missed(threads, work):
    done = subprocess.run([f"{BIN}/heddle", "analyze", "-q", "-e", "fasttrack", "--fail-on", "maybe", "heddle.data"], check=False, capture_output=True, text=True,
                          cwd=work, timeout=120)
    expected = RACE if threads == 3 else 0
    return None if done.returncode == expected else f"analysed with code {done.returncode}, not {expected}: {done.stderr[-300:]!r}"


def late(work):
    library = f"{work}/late.so"
    subprocess.run(["cc", "-shared", "-fPIC", os.path.join(HERE, "sandbox_late.c"), "-o", library], check=True)
    why = wrong(["alias"], f"{work}/production", "kill before 3 return tsync", work, LD_PRELOAD=library)
    return [f"a thread of ours that begins late: {why}"] if why else []


def main():
    failed = []
    with tempfile.TemporaryDirectory() as work:
        for kind in BUILDS:
            build(kind, work)
        for tool, kind in tools():
            for case in CASES:
                why = wrong(tool, f"{work}/{kind}", case, work)
                failed += [f"heddle {' '.join(tool)} {kind} {case}: {why}"] if why else []
        failed += late(work)
    print("\n".join(failed) or "ok: as alone, and seen")
    sys.exit(bool(failed))


main()
