"""production_common.py - what the parts of bench/production share"""
import os
import signal
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


def end_session(leader):
    """timeout(1) makes groups of its own: kill by session."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if os.getsid(int(pid)) == leader:
                os.kill(int(pid), signal.SIGKILL)
        except OSError:
            pass  # it has ended


def call(command, codes=(0,), limit=LIMIT, **more):
    """In a session of its own, which ends with us: a command that is killed leaves nothing that runs."""
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, errors="replace",
                          stdin=subprocess.DEVNULL, start_new_session=True, **more) as p:
        try:
            _, errors = p.communicate(timeout=limit)
        except BaseException as e:
            end_session(p.pid)
            if isinstance(e, subprocess.TimeoutExpired):
                raise Failed(f"{' '.join(command[:3])}: not done after {limit} s") from e
            raise
    if p.returncode not in codes:
        raise Failed(f"{' '.join(command[:3])}: code {p.returncode}: {errors.strip()[-300:]}")


# A pair is ordered: trials wait at the one site, at the other, and at both; and some of the time longer than 10 ms, for accesses
# that are further apart in time (of 30 ms P_budget lets fewer be waited for: 42 % at first, not 80).
TURNS = ["one 10", "other 10", "both 10", "one 30", "other 30", "both 10", "one 100", "other 20", "both 30", "other 100"]
LONG_MS = 100  # such waits, and those of servers, are paid for by 5 % of a minute, which is said with --min-time: here programs are stopped after seconds


# Servers: what one thread does right after the other, once a second, meets only who waits a second.
PATIENT = {3: "one 1200", 4: "other 1200"}


def turn(pair, trial, runs_long=False):
    """The pair in the order of this trial, and options."""
    n = trial % len(TURNS)
    patient = PATIENT.get(n) if runs_long else None
    who, ms = (patient or TURNS[n]).split()
    more = [*(["--both-orders"] if who == "both" else []), "--delay", ms + "ms",
            *(["--min-time", "60s"] if runs_long or int(ms) >= LONG_MS else [])]
    return pair[::-1] if who == "other" else pair, more
