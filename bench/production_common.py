"""production_common.py - what the parts of bench/production share"""
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
REAL = os.path.join(ROOT, "tests/real/real")
GENERATE = os.path.join(ROOT, "tests/real/gen.py")
FLAGS = "-O2 -g"
LIMIT = 1800  # seconds that a build, an analysis or a workload may take


class Failed(Exception):
    pass


def say(text):
    print("bench: " + text, file=sys.stderr, flush=True)


def call(command, codes=(0,), **more):
    try:
        done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, errors="replace",
                              timeout=LIMIT, stdin=subprocess.DEVNULL, **more)
    except subprocess.TimeoutExpired as e:
        raise Failed(f"{' '.join(command[:3])}: not done after {LIMIT} s") from e
    if done.returncode not in codes:
        raise Failed(f"{' '.join(command[:3])}: code {done.returncode}: {done.stderr.strip()[-300:]}")


def turn(pair, trial):
    """A pair is ordered: trials wait at the one site, at the other, and at both in turn; and every other three times 30 ms in
    place of 10, for accesses that are further apart in time. (pair, options)"""
    return (pair, pair[::-1], pair)[trial % 3], [*(["--both-orders"] if trial % 3 == 2 else []),
                                                 *(["--delay", "30ms"] if trial // 3 % 2 else [])]
