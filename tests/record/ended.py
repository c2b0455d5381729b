#!/usr/bin/env python3
"""ended.py BUILD: how a program ended is told as it was, or that it is not known

waited   somebody waits for the killed program just while its writer asks: the writer asks again
hidden   the program gave up rights that its writer has, and the writer may not see its status, which
         the system then tells as 0 (needs root)
"""
import ctypes, os, platform, signal, subprocess, sys, tempfile, time

PROGRAM = r"""
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>
int shared;
int main(int argc, char **argv)
{
    shared = argc;
    if (argc > 1 && setuid(65534) < 0)
        return 3;
    return raise(SIGKILL);
}
"""
# Says that it was asked, and answers when the process has been waited for.
SLOW = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
static int waited_for(int fd)
{
    char path[64], text[512] = {0};
    FILE *f;
    snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
    f = fopen(path, "r");
    if (f) {
        text[fread(text, 1, sizeof(text) - 1, f)] = 0;
        fclose(f);
    }
    return !strstr(text, "Pid:") || strstr(text, "Pid:\t-1") != NULL;
}
int ioctl(int fd, unsigned long request, ...)
{
    int (*real)(int, unsigned long, ...) = dlsym(RTLD_NEXT, "ioctl");
    va_list args;
    int result;
    va_start(args, request);
    result = real(fd, request, va_arg(args, void *));
    va_end(args);
    if (_IOC_TYPE(request) == 0xff)
        fclose(fopen(ASKED, "w"));
    for (int i = 0; _IOC_TYPE(request) == 0xff && !waited_for(fd) && i < 2000; i++)
        usleep(10000);
    return result;
}
"""
UNKNOWN, KILLED = "ended, it is not known how", "killed by signal 9 (KILL)"
CAP_SYS_PTRACE, PR_CAPBSET_DROP = 19, 24


def prepare(build, work):
    for name, text in ("p.c", PROGRAM), ("slow.c", SLOW):
        open(os.path.join(work, name), "w").write(text)
    subprocess.run([os.path.join(build, "heddle-cc"), "-g", "p.c", "-o", "p"], cwd=work, check=True)
    subprocess.run(["cc", "-shared", "-fPIC", '-DASKED="%s/asked"' % work, "slow.c", "-o", "slow.so", "-ldl"], cwd=work, check=True)
    wrapper = os.path.join(work, "writer")
    open(wrapper, "w").write("#!/bin/sh\nLD_PRELOAD=%s/slow.so exec %s/heddle \"$@\"\n" % (work, build))
    os.chmod(wrapper, 0o755)


def start(work, writer, *args, **kw):
    data = os.path.join(work, "data")
    subprocess.run(["rm", "-rf", data], check=True)
    os.mkdir(data, 0o700)
    env = dict(os.environ, HEDDLE_RT="dir=%s\nwriter=%s\n" % (data, writer))
    return subprocess.Popen([os.path.join(work, "p"), *args], env=env, **kw), data


def end_told(build, data):
    """As soon as the writer is done."""
    for i in range(1000):
        files = os.listdir(data)
        text = files and subprocess.run([os.path.join(build, "heddle"), "info", os.path.join(data, files[0])],
                                        stdout=subprocess.PIPE, text=True).stdout
        line = next((l for l in (text or "").splitlines() if l.startswith("process ")), "was running")
        if "was running" not in line:
            return line.split(", ", 1)[1]
        time.sleep(0.02)
    return "nothing"


def case_waited(build, work):
    process, data = start(work, os.path.join(work, "writer"))
    while not os.path.exists(os.path.join(work, "asked")):
        time.sleep(0.01)
    process.wait()
    known = tuple(map(int, platform.release().split(".")[:2])) >= (6, 15)
    return end_told(build, data), KILLED if known else UNKNOWN


def case_hidden(build, work):
    if os.geteuid() != 0:
        return "", ""
    os.chmod(work, 0o755)

    def without_ptrace():
        ctypes.CDLL(None).prctl(PR_CAPBSET_DROP, CAP_SYS_PTRACE, 0, 0, 0)
    process, data = start(work, os.path.join(build, "heddle"), "drop", preexec_fn=without_ptrace)
    told = end_told(build, data)
    process.wait()
    return told, UNKNOWN


def main():
    build, failed = os.path.abspath(sys.argv[1]), 0
    with tempfile.TemporaryDirectory() as work:
        prepare(build, work)
        for name, case in ("waited", case_waited), ("hidden", case_hidden):
            told, expected = case(build, work)
            print("%s %s: '%s'%s" % ("ok" if told == expected else "not ok", name, told,
                                     "" if told == expected else ", expected '%s'" % expected))
            failed |= told != expected
    sys.exit(failed)


main()
