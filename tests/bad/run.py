#!/usr/bin/python3
"""Broken input, each with its exact output and exit code; prints TAP.

    run.py HEDDLE [--update]

cases.txt is a list of cases:

    ## a sentence that names the case
    ! shell command            prepares a file (optional, repeatable)
    ? shell command            skips the case where it fails (optional)
    $ heddle check x.std       the command; stdout and stderr must be the lines that follow
    ...
    [2]                        and this its exit code

A case may have several commands. They run in a directory that holds copies of
inputs/. `spoil` is spoil.py, which breaks .hdl files. With --update the outputs are written into cases.txt instead of
compared: read the difference before you keep it.
"""
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
CASES = os.path.join(HERE, "cases.txt")


def parse(lines):
    """Split into (name, items); an item is ("!" or "?" or "$", command, output, code)."""
    cases, head = [], []
    for line in lines:
        if line.startswith("## "):
            cases.append((line[3:], []))
        elif not cases:
            head.append(line)
        elif line[:2] in ("! ", "? ", "$ "):
            cases[-1][1].append([line[0], line[2:], [], None])
        elif line.startswith("[") and cases[-1][1] and cases[-1][1][-1][3] is None:
            cases[-1][1][-1][3] = int(line.strip("[]"))
        elif line and cases[-1][1] and cases[-1][1][-1][3] is None:
            cases[-1][1][-1][2].append(line)
        elif line:
            sys.exit(f"cases.txt: stray line: {line}")
    return head, cases


def shell(command, cwd, env):
    r = subprocess.run(["sh", "-c", command], cwd=cwd, env=env, stdin=subprocess.DEVNULL,
                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60)
    return r.returncode, r.stdout.decode("utf-8", "backslashreplace").splitlines()


def run_case(items, cwd, env, update):
    """None: passed; "skip": skipped; else what went wrong."""
    for item in items:
        kind, command, want, want_code = item
        code, got = shell(command, cwd, env)
        if kind == "?" and code:
            return "skip"
        if kind == "!" and code:
            return f"preparation failed: {command}\n" + "\n".join(got)
        if kind == "$" and update:
            item[2], item[3] = got, code
        elif kind == "$" and (got != want or code != want_code):
            return "\n".join([f"$ {command}", f"wanted [{want_code}]:", *want,
                              f"found [{code}]:", *got])
    return None


def write_cases(head, cases):
    with open(CASES, "w", encoding="utf-8") as f:
        f.write("\n".join(head) + "\n")
        for i, (name, items) in enumerate(cases):
            f.write(("\n" if i else "") + f"## {name}\n")
            for kind, command, output, code in items:
                f.write(f"{kind} {command}\n")
                if kind == "$" and code is not None:
                    f.write("".join(line + "\n" for line in output) + f"[{code}]\n")


def main():
    heddle, update = os.path.abspath(sys.argv[1]), "--update" in sys.argv
    with open(CASES, encoding="utf-8") as f:
        head, cases = parse(f.read().splitlines())
    with tempfile.TemporaryDirectory() as tmp:
        bin_dir = os.path.join(tmp, "bin")
        os.mkdir(bin_dir)
        os.symlink(heddle, os.path.join(bin_dir, "heddle"))
        os.symlink(os.path.join(HERE, "spoil.py"), os.path.join(bin_dir, "spoil"))
        env = dict(os.environ, PATH=bin_dir + ":" + os.environ["PATH"], LC_ALL="C.UTF-8")
        env.pop("HEDDLE_OPTIONS", None)
        failed = 0
        print(f"1..{len(cases)}")
        for n, (name, items) in enumerate(cases, 1):
            work = os.path.join(tmp, str(n))
            shutil.copytree(os.path.join(HERE, "inputs"), work)
            problem = run_case(items, work, env, update)
            if problem == "skip":
                print(f"ok {n} - {name} # SKIP")
            elif problem:
                failed += 1
                print(f"not ok {n} - {name}")
                print("".join(f"# {line}\n" for line in problem.split("\n")), end="")
            else:
                print(f"ok {n} - {name}")
    if update:
        write_cases(head, cases)
    return 1 if failed else 0


sys.exit(main())
