#!/usr/bin/python3
"""Run the traces of deadlock/ and compare the deadlocks with what they say.

    # deadlocks: 5+9 2+6+10      the exact sets of locations of the requests; 0: none
    # patterns: 3                rings of requests met, possible or not (optional)
    # count: 2                   of the only deadlock (optional)
Every deadlock must come with a witness that `heddle verify` accepts, and name
a holder for each request.
Usage: deadlocks.py HEDDLE [TRACE...]
"""
import json
import pathlib
import re
import subprocess
import sys
import tempfile

LINE = re.compile(r"#\s*(deadlocks|patterns|count):\s*(.*)$")


def expectations(path):
    found = (LINE.match(line) for line in path.read_text().splitlines())
    return {match[1]: match[2].strip() for match in found if match}


def run(*command):
    return subprocess.run(command, capture_output=True, text=True)


def analyse(heddle, path, output):
    done = run(heddle, "analyze", "--quiet", "--engine", "deadlock", "--format", "json", "-o",
               output, str(path))
    result = json.loads(pathlib.Path(output).read_text())
    if done.returncode != (66 if result["deadlocks"] else 0) or done.stderr:
        raise RuntimeError(f"exit {done.returncode}: {done.stderr.strip()}")
    return result


def check_deadlock(deadlock):
    requests = deadlock["requests"]
    if deadlock["strength"] not in ("witnessed", "confirmed") or not deadlock.get("witness"):
        raise RuntimeError(f"deadlock {deadlock['id']} has no witness")
    if deadlock["witness"][-len(requests):] != [r["event"] for r in requests]:
        raise RuntimeError("the witness does not end with the requests")
    for request, after in zip(requests, requests[1:] + requests[:1]):
        held = [h for h in after["held"] if h["lock"] == request["lock"]]
        if request["holder"]["thread"] != after["thread"] or not held:
            raise RuntimeError(f"{request['lock']} is not held by {after['thread']}")
        if request["holder"]["event"] not in [h["event"] for h in held]:
            raise RuntimeError(f"{request['lock']} was not taken at {request['holder']}")


def problem(heddle, path):
    want = expectations(path)
    with tempfile.NamedTemporaryFile(suffix=".json") as output:
        result = analyse(heddle, path, output.name)
        for deadlock in result["deadlocks"]:
            check_deadlock(deadlock)
        done = run(heddle, "verify", str(path), output.name)
        if done.returncode:
            return f"verify: {done.stdout}{done.stderr}"
        again = run(heddle, "report", "--format", "json", output.name)
        if again.stdout != pathlib.Path(output.name).read_text():
            return "read and written again it is another result"
    got = {"+".join(sorted((r["location"] for r in d["requests"]), key=int))
           for d in result["deadlocks"]}
    if got != set(want["deadlocks"].split()) - {"0"}:
        return f"want {want['deadlocks']}, got {' '.join(sorted(got)) or '0'}"
    patterns = result["engines"][0]["counters"]["patterns"]
    if int(want.get("patterns", patterns)) != patterns:
        return f"want {want['patterns']} patterns, got {patterns}"
    counts = [d["count"] for d in result["deadlocks"]]
    if "count" in want and counts != [int(want["count"])]:
        return f"want count {want['count']}, got {counts}"
    return None


def main():
    heddle, *names = sys.argv[1:]
    here = pathlib.Path(__file__).parent
    paths = [pathlib.Path(n) for n in names] or sorted(here.glob("deadlock/*.std"))
    failed = 0
    for path in paths:
        try:
            wrong = problem(heddle, path)
        except (RuntimeError, KeyError, ValueError) as error:
            wrong = repr(error)
        if wrong:
            failed += 1
            print(f"{path.name}: {wrong}")
    print(f"{len(paths) - failed} passed, {failed} failed")
    return 1 if failed or not paths else 0


sys.exit(main())
