#!/usr/bin/env python3
"""run.py BUILD-DIRECTORY [PROGRAM...]: heddle caper on programs whose escapes are known.

Each program says of functions whether the object they access has escaped: a comment "ESCAPED f" or
"PRIVATE f". Built at several levels; every site of an ESCAPED function must be in deSites, no site of a
PRIVATE one, after one run or as many as "RUNS n" says.
"""
import json
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))


def build(tools, source, out, level):
    compiler = tools + ("/heddle-c++" if source.endswith(".cc") else "/heddle-cc")
    extra, library = [], out + ".so"
    of_libraries = {"untraced.c": ["clang-19"], "reload.c": [compiler, "--production", "-g"]}
    name = os.path.basename(source)
    if name in of_libraries:
        subprocess.run([*of_libraries[name], "-shared", "-fPIC", "-O1", "-o", library,
                        os.path.join(HERE, name.replace(".", "_library."))], check=True)
    if name == "untraced.c":
        extra = [library, "-Wl,-rpath," + os.path.dirname(library)]
    if name == "reload.c": # opens it itself
        extra = ['-DLIBRARY="%s"' % library]
    subprocess.run([compiler, "--production", "-g", level, "-pthread", "-I", HERE, source, "-o", out]
                   + extra, check=True)


def seen_functions(tools, program, state):
    # No static pairs: every access is watched, whatever the static analysis can prove.
    r = subprocess.run([tools + "/heddle", "caper", "--state", state, "--all-sites", "--max-overhead", "0%",
                        "--quiet", "--format", "json", "-o", state + ".json", "--", program])
    if r.returncode:
        sys.exit("%s: exit code %d" % (program, r.returncode))
    with open(state + ".json") as f:
        result = json.load(f)
    return {re.sub(r"^_ZL?\d+|Pv?V?i$", "", s["at"].get("function", "")) for s in result["deSites"]}


def check(tools, name, level, folder):
    source = os.path.join(HERE, name)
    program = os.path.join(folder, name.replace(".", "_") + level)
    build(tools, source, program, level)
    with open(source) as f:
        text = f.read()
    runs = re.search(r"RUNS (\d+)", text)
    for _ in range(int(runs.group(1)) if runs else 1):
        seen = seen_functions(tools, program, program + ".caper")
    wrong = []
    for word, function in re.findall(r"(ESCAPED|PRIVATE) (\w+)", text):
        if (function in seen) != (word == "ESCAPED"):
            wrong.append("%s %s: %s, but it is %s" %
                         (name, level, function, "private" if word == "ESCAPED" else "seen as escaped"))
    return wrong


def main():
    tools = os.path.abspath(sys.argv[1])
    names = sys.argv[2:] or sorted(n for n in os.listdir(HERE)
                                   if n.endswith((".c", ".cc")) and not n.endswith("_library.c"))
    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            for level in ("-O0", "-O2"):
                wrong += check(tools, name, level, folder)
    for line in wrong:
        print(line)
    print("%d programs, %d wrong" % (len(names), len(wrong)))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
