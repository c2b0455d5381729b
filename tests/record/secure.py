#!/usr/bin/env python3
"""secure.py - a program with more rights than whoever starts it obeys nobody's variables

    secure.py BUILD_DIRECTORY

For each kind of build: set-uid root, set-gid root and a file capability, started by somebody else with
variables that name a writer to execute, files to read and a control file to change. The same program with the same
variables and no such rights does obey (else this would show nothing). Needs root and a file system that
honours set-uid; elsewhere it is skipped and says so.
"""
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
BIN = os.path.abspath(sys.argv[1])
NOBODY = 65534
SKIPPED = 77
BUILDS = {
    "default": ["heddle-cc"],
    "full": ["heddle-cc", "--full"],
    "static": ["heddle-cc", "-static"],
    "full-static": ["heddle-cc", "--full", "-static"],
    "gcc": ["HEDDLE_CC_BACKEND=gcc", "heddle-cc"],
    "production": ["heddle-cc", "--production"],
    "production-static": ["heddle-cc", "--production", "-static"],
}
CHECK = "#include <stdio.h>\n#include <sys/auxv.h>\nint main(void) { printf(\"%lu\", getauxval(AT_SECURE)); }\n"


def run(command, **options):
    return subprocess.run(command, check=False, capture_output=True, text=True, timeout=60, **options)


def somebody(command, **options):
    return run(command, user=NOBODY, group=NOBODY, extra_groups=[], **options)


def set_uid(path):
    os.chmod(path, 0o4755)


def set_gid(path):
    os.chmod(path, 0o2755)


def set_capability(path):
    subprocess.run([shutil.which("setcap", path="/usr/sbin:/sbin:/usr/bin"), "cap_net_raw+ep", path], check=True)


def is_honoured(work, give):
    """Does the program then run with AT_SECURE here?"""
    source, program = os.path.join(work, "check.c"), os.path.join(work, "check")
    with open(source, "w", encoding="utf-8") as f:
        f.write(CHECK)
    subprocess.run(["cc", source, "-o", program], check=True)
    try:
        give(program)
    except (OSError, TypeError, subprocess.CalledProcessError):
        return False
    return somebody([program]).stdout == "1"


def place():
    """A directory where set-uid works, also for others."""
    for parent in (tempfile.gettempdir(), "/var/tmp", "/run", "/opt"):
        if not os.path.isdir(parent):
            continue
        work = tempfile.mkdtemp(prefix="heddle-secure.", dir=parent)
        os.chmod(work, 0o755)
        if is_honoured(work, set_uid):
            return work
        shutil.rmtree(work)
    return None


def compile_as(words, source, program):
    env = dict(os.environ)
    if "=" in words[0]:
        name, value = words[0].split("=")
        env[name] = value
        words = words[1:]
    done = run([f"{BIN}/{words[0]}", *words[1:], "-O1", "-g", "-pthread", source, "-o", program], env=env)
    if done.returncode:
        sys.exit(f"cannot build {program}: {done.stderr}")


class Trap:
    """Variables of an attacker, and what is there to see when they are obeyed."""

    def __init__(self, work):
        self.open = os.path.join(work, "open")
        os.mkdir(self.open)
        self.mark = os.path.join(self.open, "mark")
        self.writer = os.path.join(work, "writer")
        self.control = os.path.join(self.open, "control")
        with open(self.writer, "w", encoding="utf-8") as f:
            f.write(f"#!/bin/sh\nid -u >{self.mark}\nexit 1\n")
        os.chmod(self.writer, 0o755)

    def set(self):
        shutil.rmtree(self.open)
        os.mkdir(self.open)
        os.chmod(self.open, 0o777)
        with open(self.control, "wb") as f:
            f.write(bytes(1 << 20))
        os.chmod(self.control, 0o666)

    def environments(self):
        lines = [f"writer={self.writer}", f"dir={self.open}/traces", "record=1", "verbose=1"]
        for more in ([], [f"control={self.control}"], ["help=1"]):
            yield {"HEDDLE_OPTIONS": ":".join(lines + more)}
            yield {"HEDDLE_RT": "\n".join(lines + more) + "\n"}

    def sprung(self, done):
        """What shows that the program has obeyed."""
        found = sorted(set(os.listdir(self.open)) - {"control"})
        with open(self.control, "rb") as f:
            if f.read().strip(b"\0"):
                found.append("the control file")
        return found + [line for line in done.stderr.splitlines() if line]


def obeys(program, other, trap, start):
    """Of all ways to tell it something: those that it follows."""
    seen = []
    for env in trap.environments():
        trap.set()
        done = start([program, other], env=dict(env, PATH=os.environ["PATH"]), cwd="/")
        if done.stdout != "2000 0\n" * 2:
            seen.append(f"{env}: printed {done.stdout!r}, {done.stderr!r}, code {done.returncode}")
        seen += [f"{env}: {s}" for s in trap.sprung(done)]
    return seen


def try_build(kind, work, trap):
    program, other = os.path.join(work, kind), os.path.join(work, "other-" + kind)
    source = os.path.join(HERE, "secure.c")
    failed = []
    compile_as(BUILDS[kind], source, program)
    shutil.copy(program, other)
    if not obeys(program, other, trap, somebody):
        failed.append(f"{kind}: not even an ordinary program obeys: this test shows nothing")
    for name, give in (("set-uid", set_uid), ("set-gid", set_gid), ("capability", set_capability)):
        if not is_honoured(work, give):
            print(f"skipped: {name} does nothing here")
            continue
        shutil.copy(other, program)
        give(program)
        failed += [f"{kind}, {name}: {s}" for s in obeys(program, other, trap, somebody)]
        os.unlink(program)
    return failed


def main():
    if os.getuid() != 0:
        print("skipped: only root can make a program set-uid root")
        sys.exit(SKIPPED)
    work = place()
    if not work:
        print("skipped: no file system here honours set-uid (nosuid, or no new privileges)")
        sys.exit(SKIPPED)
    try:
        trap = Trap(work)
        failed = [f for kind in BUILDS for f in try_build(kind, work, trap)]
    finally:
        shutil.rmtree(work)
    print("\n".join(failed) or f"ok: {len(BUILDS)} kinds of build obey nobody when they have more rights")
    sys.exit(bool(failed))


main()
