#!/usr/bin/env python3
"""stacks.py - the stacks of races in functions of all shapes are complete, however it is compiled

    stacks.py BUILD_DIRECTORY
"""
import json
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.join(HERE, "stacks.c")
MAIN = os.path.join(HERE, "stacks_main.c")
BIN = os.path.abspath(sys.argv[1])
OPTIONS = ["-O0", "-O1", "-O2", "-O3", "-Os", "-O2 -fno-omit-frame-pointer", "-O2 -fPIC -fomit-frame-pointer",
           "-O2 -fno-asynchronous-unwind-tables -fno-unwind-tables", "-O3 -march=x86-64-v3", "-O2 -flto -fuse-ld=lld-19", "-O2 -static", "-O1 -static-pie"]


def shapes(source=SOURCE):
    with open(source, encoding="utf-8") as f:
        for number, line in enumerate(f, 1):
            mark = re.search(r"// \[(\w+)\]", line)
            if mark:
                yield mark[1], number


def wrong(shape, stack):
    """Why a stack (functions, innermost first) is not that of the shape."""
    between = stack[1:-2]
    if not stack or stack[0] != f"shape_{shape}" or stack[-2:] != [f"caller_{shape}", "work"]:
        return "its ends"
    if shape == "deep" and between != ["shape_deep"] * 5:
        return "the recursion"
    if shape not in ("deep", "compare", "handler") and between:
        return "frames that were not there"
    return "ours" if any((f or "").startswith("__heddle_") for f in stack) else None


def stacks_of(program, tool, pair, scratch):
    out = os.path.join(scratch, "r.json")
    if os.path.exists(out):
        os.unlink(out)
    done = subprocess.run([f"{BIN}/heddle", *tool, "--quiet", "--format", "json", "-o", out, "--pair", pair, "--", *program], check=False,
                          cwd=scratch, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if not os.path.exists(out):
        return done.stderr, []
    with open(out, encoding="utf-8") as f:
        return done.stderr, [[f.get("function") for f in a["stack"]] for race in json.load(f)["races"] for a in race["accesses"]]


def try_options(options, scratch):
    program, failed, seen = os.path.join(scratch, "p"), [], 0
    subprocess.run([f"{BIN}/heddle-cc", "--production", "-g", *options.split(), SOURCE, "-o", program, "-pthread"], check=True)
    for shape, line in shapes():
        said, stacks = stacks_of([program], ["fullhb"], f"stacks.c:{line},stacks.c:{line}", scratch)
        if not stacks:
            failed.append(f"{options}: {shape}: no race was seen {said}")
        failed += [f"{options}: {shape}: {why}: {s}" for s in stacks for why in [wrong(shape, s)] if why]
        seen += len(stacks)
    return failed, seen


def try_main(scratch):
    """Nobody sees who calls main() or a thread's function, also where main() has ended."""
    program = os.path.join(scratch, "main")
    lines = dict(shapes(MAIN))
    pair = f"stacks_main.c:{lines['main']},stacks_main.c:{lines['thread']}"
    subprocess.run([f"{BIN}/heddle-cc", "--production", "-g", "-O1", MAIN, "-o", program, "-pthread"], check=True)
    for arguments in ([], ["ends"]):
        said, stacks = stacks_of([program, *arguments], ["fullhb"], pair, scratch)
        if sorted(stacks) != [["main"], ["work"]]:
            yield f"main {arguments}: {stacks} {said}"


def main():
    with open("/proc/cpuinfo", encoding="ascii", errors="replace") as f:
        avx2 = "avx2" in f.read()
    failed, seen = [], 0
    with tempfile.TemporaryDirectory() as scratch:
        for options in OPTIONS:
            if "v3" in options and not avx2:
                continue
            bad, n = try_options(options, scratch)
            failed += bad
            seen += n
        failed += try_main(scratch)
    for line in failed:
        print("FAILED:", line)
    print(f"{seen} stacks")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
