#!/usr/bin/env python3
"""caper_state.py BUILD-DIRECTORY: nothing that caper has seen is lost.

- 40 runs at once on one state, each of which sees a site of its own; a part of the commands and programs
  are killed. Every site that a program had executed is in the state afterwards.
- A run whose command and program are killed: the next command finds what it left.
- A control file that another command takes for one that was left, since nobody holds it yet.
- The program is built anew: sites of the module that changed are dropped, the others stay.
"""
import glob
import json
import os
import signal
import subprocess
import sys
import tempfile
import time

RUNS = 40
SOURCE = """
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int shared[%(runs)d];
%(functions)s
static void (*all[])(void) = { %(names)s };
static void *worker(void *arg) { all[atoi(arg)](); return NULL; }
int main(int argc, char **argv)
{
    pthread_t t;
    pthread_create(&t, NULL, worker, argv[1]);
    pthread_join(t, NULL);
    if (argc > 2) { /* say that it is done, and wait to be killed */
        fclose(fopen(argv[2], "w"));
        for (;;)
            pause();
    }
    return 7;
}
"""


def source():
    functions = "\n".join("__attribute__((noinline)) static void f%d(void) { shared[%d]++; }" % (i, i)
                          for i in range(RUNS))
    return SOURCE % {"runs": RUNS, "functions": functions,
                     "names": ", ".join("f%d" % i for i in range(RUNS))}


class Test:
    def __init__(self, tools, folder):
        self.tools, self.folder = tools, folder
        self.state = folder + "/state"

    def build(self, name, text, others=()):
        with open("%s/%s.c" % (self.folder, name), "w") as f:
            f.write(text)
        subprocess.run([self.tools + "/heddle-cc", "--production", "-g", "-O1", "-pthread", "-o", name,
                        name + ".c"] + list(others), cwd=self.folder, check=True)

    def caper(self, *args):
        return [self.tools + "/heddle", "caper", "--state", self.state, "--all-sites", "--quiet"] + list(args)

    def seen(self):
        out = subprocess.run(self.caper("--show", "--format", "json"), check=True, cwd=self.folder,
                             stdout=subprocess.PIPE).stdout
        return {s["at"].get("function") for s in json.loads(out)["deSites"]}

    def expect(self, what, wanted, seen):
        if not wanted <= seen:
            sys.exit("%s: missing: %s" % (what, sorted(wanted - seen)))
        print("%s: ok" % what)


def wait_for(path):
    for _ in range(3000):
        if os.path.exists(path):
            return
        time.sleep(0.02)
    sys.exit("'%s' did not come" % path)


def program_of(pid):
    with open("/proc/%d/task/%d/children" % (pid, pid)) as f:
        return int(f.read().split()[0])


def has_memory(pid):
    try:
        with open("/proc/%d/maps" % pid) as f:
            return f.read(1) != ""
    except OSError:
        return False


def kill_both(command, program):
    """The program is not our child: it may take a while to go."""
    os.killpg(command.pid, signal.SIGKILL)
    command.wait()
    while has_memory(program):
        time.sleep(0.01)


def many_at_once(t):
    t.build("many", source())
    done = [t.folder + "/done%d" % i for i in range(RUNS)]
    running = [subprocess.Popen(t.caper("--", "./many", str(i)) + ([done[i]] if i % 4 == 0 else []),
                                cwd=t.folder, start_new_session=True) for i in range(RUNS)]
    for i, p in enumerate(running):
        if i % 4 == 0: # killed, with the program or without
            wait_for(done[i])
            if i % 8 == 0:
                kill_both(p, program_of(p.pid))
            else:
                os.kill(program_of(p.pid), signal.SIGKILL)
                p.wait()
        elif p.wait() != 7:
            sys.exit("run %d: exit code %d" % (i, p.returncode))
    t.expect("many at once", {"f%d" % i for i in range(RUNS)}, t.seen())
    if glob.glob(t.state + ".run-*"):
        sys.exit("control files are left: %s" % glob.glob(t.state + ".run-*"))


def left_behind(t):
    t.state = t.folder + "/left"
    p = subprocess.Popen(t.caper("--", "./many", "3", t.folder + "/left-done"), cwd=t.folder,
                         start_new_session=True)
    wait_for(t.folder + "/left-done")
    program = program_of(p.pid)
    os.kill(p.pid, signal.SIGKILL) # the program goes on
    p.wait()
    t.expect("the command is gone, the program runs", {"f3"}, t.seen())
    if not glob.glob(t.state + ".run-*"):
        sys.exit("a control file that is in use was removed")
    kill_both(p, program)
    t.expect("both are gone", {"f3"}, t.seen())


# What another command does that finds the file right after it was made (caper_control_collect).
TAKER = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static int taken;
__attribute__((constructor)) static void begin_late(void)
{
    if (getenv("HEDDLE_RT")) /* in the program, not in the command */
        poll(NULL, 0, 600);
}
int mkostemp64(char *path, int flags)
{
    int (*real)(char *, int) = (int (*)(char *, int))dlsym(RTLD_NEXT, "mkostemp64");
    int fd = real(path, flags), ready[2];
    char c;

    if (!strstr(path, ".run-") || taken++ || pipe2(ready, O_CLOEXEC) < 0)
        return fd;
    if (fork() == 0) {
        struct flock l = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1 };

        fcntl(open(path, O_RDWR), F_OFD_SETLK, &l);
        close(ready[1]), close(fd);
        poll(NULL, 0, 300);
        unlink(path);
        _exit(0);
    }
    close(ready[1]);
    (void)!read(ready[0], &c, 1);
    return fd;
}
"""


def taken_away(t):
    t.state = t.folder + "/taken"
    with open(t.folder + "/taker.c", "w") as f:
        f.write(TAKER)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", "taker.so", "taker.c"], cwd=t.folder, check=True)
    subprocess.run(t.caper("--", "./many", "5"), cwd=t.folder,
                   env=dict(os.environ, LD_PRELOAD=t.folder + "/taker.so"))
    t.expect("its file is taken away", {"f5"}, t.seen())


OTHER = "extern int other; __attribute__((noinline)) void g(void) { other++; }\n"
MAIN = """#include <pthread.h>
int other, mine;
void g(void);
__attribute__((noinline)) static void %s(void) { mine++; }
static void *worker(void *arg) { g(); %s(); return arg; }
int main(void) { pthread_t t; pthread_create(&t, 0, worker, 0); return pthread_join(t, 0); }
"""


def built_anew(t):
    t.state = t.folder + "/anew.caper"
    with open(t.folder + "/other.c", "w") as f:
        f.write(OTHER)
    for function in ("before", "after"):
        t.build("anew", MAIN % (function, function), ["other.c"])
        subprocess.run(t.caper("--", "./anew"), cwd=t.folder, check=True)
    seen = t.seen()
    t.expect("built anew", {"g", "after"}, seen)
    with open(t.state) as f:
        if sum(line.startswith("module ") for line in f) != 2:
            sys.exit("built anew: the old module is still there")


def main():
    tools = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        t = Test(tools, folder)
        many_at_once(t)
        left_behind(t)
        taken_away(t)
        built_anew(t)
    return 0


if __name__ == "__main__":
    sys.exit(main())
