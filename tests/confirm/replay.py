#!/usr/bin/python3
"""A race's schedule, and what `heddle replay` says of the program when it has been changed.

    replay.py --build BUILDDIR [PATTERN ...]

Each program is confirmed as it is; its schedule is replayed on variants of it, each made by edits of
its text. `66` stands for a race that can still happen, `0` for one that was fixed, `3` for a schedule
that no longer applies. Prints TAP.
"""
import argparse
import concurrent.futures
import os
import shutil
import subprocess
import sys
import tempfile

PARCEL = """#include <pthread.h>
#include <unistd.h>
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, other = PTHREAD_MUTEX_INITIALIZER;
int parcel, letter, seen_by[2];
static int volatile busy;
/* ELSEWHERE */
void sign(int who) { pthread_mutex_lock(&lock); seen_by[who] = 1; pthread_mutex_unlock(&lock); }
void *sender(void *arg) {
    parcel = 42;
    sign(0);
    return arg;
}
int main(int argc, char **argv) {
    pthread_t thread;
    (void)argv, (void)argc;
    /* BEFORE */
    pthread_create(&thread, NULL, sender, NULL);
    usleep(100000);
    sign(1);
    /* FIX */
    busy = parcel;
    pthread_join(thread, NULL);
    return 0;
}
"""

# The list's head is written first, then used; the lock comes in between.
HEAP = """#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
struct node { int key; struct node *next; };
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
struct node *head;
int count, sum;
/* ELSEWHERE */
static void counted(void) { pthread_mutex_lock(&lock); count++; pthread_mutex_unlock(&lock); }
void *reader(void *arg) {
    sum = head->key;
    counted();
    return arg;
}
int main(void) {
    pthread_t thread;
    /* BEFORE */
    head = malloc(sizeof(*head));
    head->key = 7;
    pthread_create(&thread, NULL, reader, NULL);
    usleep(100000);
    counted();
    /* FIX */
    free(head);
    pthread_join(thread, NULL);
    return 0;
}
"""

# Only behind the store of the flag, and before the second one, can the two meet.
FLAG = """#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <unistd.h>
atomic_int stage;
sem_t go;
int result, copy;
/* ELSEWHERE */
void *worker(void *arg) {
    while (atomic_load(&stage) < 1)
        usleep(1000);
    result = 5;
    sem_post(&go);
    return arg;
}
int main(void) {
    pthread_t thread;
    /* BEFORE */
    sem_init(&go, 0, 0);
    pthread_create(&thread, NULL, worker, NULL);
    atomic_store(&stage, 1);
    /* FIX */
    copy = result;
    sem_wait(&go);
    pthread_join(thread, NULL);
    return 0;
}
"""

MORE = "static int spare[4];\nstatic void more(void) { pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;\n" \
       "    for (int i = 0; i < 4; i++) { pthread_mutex_lock(&m); spare[i]++; pthread_mutex_unlock(&m); } }\n"

CASES = [
    # name, program, variable, edits, exit code, text that the output must have
    ("nothing changed", PARCEL, "parcel", [], 66, "can still happen"),
    ("edits elsewhere, and another variable in the same function", PARCEL, "parcel",
     [("/* ELSEWHERE */", MORE), ("/* BEFORE */", "more();"), ("    parcel = 42;", "    letter = 1;\n\n    parcel = 42;")],
     66, "can still happen"),
    ("two more accesses to the variable in the function", PARCEL, "parcel",
     [("/* BEFORE */", "if (argc > 5) busy = parcel; if (argc > 6) busy = parcel;")], 66, "another number"),
    ("a lock around both", PARCEL, "parcel",
     [("    parcel = 42;", "    pthread_mutex_lock(&other); parcel = 42; pthread_mutex_unlock(&other);"),
      ("    busy = parcel;", "    pthread_mutex_lock(&other); busy = parcel; pthread_mutex_unlock(&other);")],
     0, "no proof"),
    ("the thread is joined first", PARCEL, "parcel",
     [("    pthread_join(thread, NULL);", ""), ("/* FIX */", "pthread_join(thread, NULL);")], 0, "did not"),
    ("the function has another name", PARCEL, "parcel", [("sender", "courier")], 3, "no function 'sender'"),
    ("the access is gone", PARCEL, "parcel", [("    busy = parcel;", "    busy = 1;")], 3,
     "function 'main' has no read of 'parcel'"),
    ("the access is not reached", PARCEL, "parcel", [("    busy = parcel;", "    if (argc > 5) busy = parcel;")], 3,
     "no thread came to"),
    ("a block of the heap", HEAP, "head", [], 66, "can still happen"),
    ("other allocations come first", HEAP, "head",
     [("/* ELSEWHERE */", MORE + "static void *kept[3];\nstatic void keep(void) { for (int i = 0; i < 3; i++) "
       "kept[i] = malloc(sizeof(*head)); }"), ("/* BEFORE */", "more(); keep();")], 66, "can still happen"),
    ("the block is given back after the join", HEAP, "head",
     [("    pthread_join(thread, NULL);", ""), ("/* FIX */", "pthread_join(thread, NULL);")], 0, "no proof"),
    ("an order of atomics", FLAG, "result", [], 66, "can still happen"),
    ("an order of atomics with another atomic before it", FLAG, "result",
     [("/* ELSEWHERE */", "atomic_int start;"), ("/* BEFORE */", "atomic_store(&start, 1);")], 66, "can still happen"),
    ("the semaphore comes first", FLAG, "result",
     [("    sem_wait(&go);", ""), ("/* FIX */", "sem_wait(&go);")], 0, "no proof"),
]


class Failure(Exception):
    pass


def run(command, cwd, expect, limit=300):
    r = subprocess.run(command, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                       timeout=limit)
    out = r.stdout.decode("utf-8", "backslashreplace")
    if r.returncode not in expect:
        raise Failure(f"{' '.join(command)}: exit {r.returncode}\n{out}")
    return out


def compile_program(opts, text, work, name):
    with open(os.path.join(work, "prog.c"), "w") as f:
        f.write(text)
    run([os.path.join(opts.build, "heddle-cc"), "-g", "-O1", "-pthread", "prog.c", "-o", name], work, [0])


def schedules(opts, work):
    """Of each program, made once: {text: path}."""
    made = {}
    heddle = os.path.join(opts.build, "heddle")
    for text, variable in {(c[1], c[2]) for c in opts.cases}:
        folder = tempfile.mkdtemp(dir=work)
        compile_program(opts, text, folder, "prog")
        run([heddle, "run", "-q", "-f", "json", "-o", "out.json", "--", "./prog"], folder, [0, 66])
        out = run([heddle, "confirm", "-q", "-t", "out.json", "--schedule", "race.schedule"], folder, [66])
        with open(os.path.join(folder, "race.schedule")) as f:
            if f"variable={variable}" not in f.read() and variable != "head":
                raise Failure(f"another race was confirmed\n{out}")
        made[text] = os.path.join(folder, "race.schedule")
    return made


def one(case, opts, made, work):
    name, text, _, edits, code, words = case
    for old, new in edits:
        if old not in text:
            raise Failure(f"'{old}' is not in the program")
        text = text.replace(old, new)
    folder = tempfile.mkdtemp(dir=work)
    compile_program(opts, text, folder, "prog")
    few = [] if code == 66 else ["--tries", "3", "--wait", "200ms"]
    out = run([os.path.join(opts.build, "heddle"), "replay", "-q", *few, made[case[1]], "--", "./prog"], folder, [code])
    if words not in out:
        raise Failure(f"'{words}' is not said:\n{out}")


def tried(case, opts, made, work):
    try:
        one(case, opts, made, work)
    except (Failure, subprocess.TimeoutExpired) as failure:
        return str(failure)
    return ""


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--build", default="build")
    p.add_argument("patterns", nargs="*")
    opts = p.parse_args()
    opts.build = os.path.abspath(opts.build)
    opts.cases = [c for c in CASES if not opts.patterns or any(w in c[0] for w in opts.patterns)]
    work = tempfile.mkdtemp(prefix="heddle-replay-test-")
    failed = 0
    print(f"1..{len(opts.cases)}")
    try:
        made = schedules(opts, work)
        with concurrent.futures.ThreadPoolExecutor(4) as pool:  # they wait most of the time
            for number, wrong in enumerate(pool.map(lambda c: tried(c, opts, made, work), opts.cases), 1):
                failed += bool(wrong)
                print(f"{'not ok' if wrong else 'ok'} {number} - {opts.cases[number - 1][0]}")
                print("".join("#   " + line + "\n" for line in wrong.split("\n")[:30] if wrong), end="", flush=True)
    except Failure as failure:
        sys.exit(str(failure))
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
