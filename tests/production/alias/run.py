#!/usr/bin/env python3
"""run.py BUILD-DIRECTORY: heddle alias finds exactly the pairs that pairs.c has."""
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
# By function; threads come one after the other, so memory is not shared by chance.
WANTED = {("writes", "writes"), ("reads", "writes"), ("after", "before"), ("reads_only", "reads_only")}


def main():
    tools = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        program = folder + "/pairs"
        for level in ("-O0", "-O2"):
            subprocess.run([tools + "/heddle-cc", "--production", "-g", level, "-pthread", "-o", program,
                            HERE + "/pairs.c"], check=True)
            subprocess.run([tools + "/heddle", "alias", "--format", "json", "-o", folder + "/out", "--", program],
                           check=True)
            with open(folder + "/out") as f:
                result = json.load(f)
            found = {tuple(sorted(s["function"] for s in pair)) for pair in result["pairs"]}
            found -= {p for p in found if "main" in p or "run" in p or "worker" in p}
            if found != WANTED or result["dropped"] or result["lost"]:
                sys.exit("%s: missing %s, too many %s" % (level, WANTED - found, found - WANTED))
    print("ok")
    return 0


if __name__ == "__main__":
    sys.exit(main())
