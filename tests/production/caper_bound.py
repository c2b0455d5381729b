#!/usr/bin/env python3
"""caper_bound.py BUILD-DIRECTORY: what caper spends has a bound, and static pairs are read once.

- Hot accesses of private memory are assumed to be escaped, long before the program has made all of them;
  with 0% every one is watched, and none is assumed.
- A program that does little but store pointers: it is given up, and after two runs not tried again; with
  0% it is never given up.
- The kernel is asked for the CPU time now and then, not at each look: asking costs threads their cores.
- The same in runs of a fleet.
- --static FILE is read again if the file has changed, and only then.
"""
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

HOT = """
#include <pthread.h>
#include <stdlib.h>
enum { CELLS = 1000, ROUNDS = 60000 };
static void *worker(void *arg)
{
    int *volatile own = calloc(CELLS, sizeof *own);
    int *p = own;
    for (int r = 0; r < ROUNDS; r++)
        for (int i = 0; i < CELLS; i++) {
            p[i] += r;
            __asm__ volatile("" ::: "memory");
        }
    free(p);
    return arg;
}
int main(void)
{
    pthread_t t;
    pthread_create(&t, NULL, worker, NULL);
    pthread_join(t, NULL);
    return 0;
}
"""
STORES = """
#include <pthread.h>
#include <stdlib.h>
static int shared;
struct node { struct node *a, *b; };
static void *worker(void *arg)
{
    struct node *x = calloc(1, sizeof *x), *y = calloc(1, sizeof *y);
    for (int i = 0; i < 20 * 1000 * 1000; i++) {
        struct node *volatile *to = (struct node *volatile *)(i & 1 ? &x->a : &x->b);
        *to = i & 2 ? x : y;
    }
    shared++;
    return arg;
}
int main(void)
{
    pthread_t t;
    pthread_create(&t, NULL, worker, NULL);
    shared++;
    pthread_join(t, NULL);
    return !shared;
}
"""


class Test:
    def __init__(self, tools, folder):
        self.tools, self.folder, self.wrong = tools, folder, 0

    def build(self, name, text):
        with open("%s/%s.c" % (self.folder, name), "w") as f:
            f.write(text)
        subprocess.run([self.tools + "/heddle-cc", "--production", "-g", "-O1", "-pthread", "-o", name, name + ".c"],
                       cwd=self.folder, check=True)

    def run(self, program, state, *more, before=()):
        """What caper says, and the state after it."""
        r = subprocess.run([*before, self.tools + "/heddle", "caper", "--state", state, *more, "--format", "json", "-o",
                            "out.json", "--", "./" + program], cwd=self.folder, stderr=subprocess.PIPE, text=True)
        if r.returncode:
            return r.returncode, r.stderr, {}
        with open(self.folder + "/out.json") as f:
            return 0, r.stderr, json.load(f)

    def check(self, holds, what):
        print(("ok " if holds else "not ok ") + what)
        self.wrong += not holds

    def hot(self):
        self.build("hot", HOT)
        total = 1000 * 60000  # one instruction each
        _, said, state = self.run("hot", "hot.caper", "--all-sites")
        watched = int(re.search(r"about (\d+) accesses", said)[1])
        self.check(watched < total / 3, "%d of %d hot accesses were watched" % (watched, total))
        self.check(any(s["assumed"] for s in state["deSites"]), "hot sites are assumed")
        _, said, state = self.run("hot", "hot0.caper", "--all-sites", "--max-overhead", "0%")
        watched = int(re.search(r"about (\d+) accesses", said)[1])
        self.check(watched > total * 0.9, "without a bound %d" % watched)
        self.check(not any(s["assumed"] for s in state["deSites"]), "and nothing is assumed")

    def stores(self):
        self.build("stores", STORES)
        said = [self.run("stores", "stores.caper", "--all-sites", "--max-overhead", "0.1%") for _ in range(3)]
        for i in range(2):
            self.check("too many stores" in said[i][1], "run %d gives up" % (i + 1))
        self.check("too many stores" not in said[2][1] and "in earlier runs" in said[2][1],
                   "the third does not try")
        self.check("and 0 stores of pointers were watched" in said[2][1], "and watches no store")
        self.check(all(s["at"].get("kind") != "entry" for s in said[2][2]["deSites"]), "only accesses are listed")
        _, text, _ = self.run("stores", "stores.caper", "--all-sites", "--max-overhead", "0%")
        self.check("stores cost" not in text and "too many" not in text, "without a bound it does")

    def questions(self):
        if not shutil.which("strace"):
            print("ok # SKIP no strace here")
            return
        trace = ["strace", "-f", "-e", "trace=clock_gettime", "-o", "asked"]
        start = time.monotonic()
        _, said, _ = self.run("stores", "asked.caper", "--all-sites", "--max-overhead", "90%", before=trace)
        most = 100 * (time.monotonic() - start)
        with open(self.folder + "/asked") as f:
            asked = f.read().count("CPUTIME")
        watched = int(re.search(r"(\d+) stores of pointers", said)[1])
        self.check(watched > 10 * 1000 * 1000 and asked < most, "%d questions for %d stores" % (asked, watched))

    def fleet(self):
        """Runs for a store keep the same bounds: after two that gave up, the machine's state says so."""
        for _ in range(8):
            subprocess.run([self.tools + "/heddle", "fleet", "run", "--store", "s.db", "--max-overhead", "0.1%", "--", "./stores"],
                           cwd=self.folder, check=True)
        states = glob.glob(self.folder + "/s.db.spool/*.caper")
        self.check(len(states) == 1, "a fleet's runs have a state")
        _, said, _ = self.run("stores", states[0], "--max-overhead", "0.1%")
        self.check("in earlier runs" in said, "and give up stores for good")

    def source(self):
        """The pairs that the state has are those of the file, also after it has changed."""
        pairs = self.folder + "/pairs"
        subprocess.run([self.tools + "/heddle", "static", "--quiet", "--format", "sites", "-o", pairs,
                        self.folder + "/hot"], check=True)
        self.check(self.run("hot", "source.caper", "--static", "pairs")[0] == 0, "static pairs are read")
        self.check(not os.path.exists(self.folder + "/source.caper.static"), "a file that is new may change again")
        time.sleep(3.1)  # as long as a file must rest
        self.run("hot", "source.caper", "--static", "pairs")
        self.check(os.path.exists(self.folder + "/source.caper.static"), "one that rests is remembered")
        self.check(self.run("hot", "source.caper", "--static", "pairs")[0] == 0, "and the next run is well")
        with open(pairs, "a") as f:
            f.write("rubbish\n")
        self.check(self.run("hot", "source.caper", "--static", "pairs")[0] != 0, "a changed file is read again")


def main():
    with tempfile.TemporaryDirectory() as folder:
        t = Test(os.path.abspath(sys.argv[1]), folder)
        t.hot()
        t.stores()
        t.questions()
        t.fleet()
        t.source()
    return 1 if t.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
