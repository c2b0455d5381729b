#!/usr/bin/python3
"""The table of library functions (abi/rt_libc.h) against the prototypes of this machine's headers.

    prototypes.py --compiler CLANG SOURCE-DIRECTORY

Nothing that a prototype has as `const` may be written by the table, nothing that is a number may be memory, and no
argument may be described that is not there; a result that is memory must be a pointer. Says how many were compared.
TAP.
"""
import argparse
import glob
import os
import re
import subprocess
import sys

HEADERS = """aio.h arpa/inet.h complex.h ctype.h dirent.h dlfcn.h err.h error.h execinfo.h fcntl.h fenv.h fnmatch.h getopt.h
glob.h grp.h iconv.h ifaddrs.h inttypes.h langinfo.h libgen.h libintl.h locale.h malloc.h math.h mntent.h mqueue.h monetary.h
net/if.h netdb.h netinet/ether.h nl_types.h poll.h pthread.h pty.h pwd.h regex.h sched.h search.h semaphore.h setjmp.h
shadow.h signal.h spawn.h stdio.h stdio_ext.h stdlib.h string.h strings.h sys/epoll.h sys/eventfd.h sys/file.h
sys/inotify.h sys/ioctl.h sys/ipc.h sys/mman.h sys/mount.h sys/msg.h sys/prctl.h sys/random.h sys/resource.h sys/select.h
sys/sem.h sys/sendfile.h sys/shm.h sys/signalfd.h sys/socket.h sys/stat.h sys/statfs.h sys/statvfs.h sys/sysinfo.h sys/time.h
sys/timerfd.h sys/times.h sys/timex.h sys/uio.h sys/utsname.h sys/wait.h sys/xattr.h syslog.h termios.h threads.h time.h
uchar.h ucontext.h unistd.h utime.h utmp.h utmpx.h wchar.h wctype.h wordexp.h""".split()
WRITES = set("wbvWBVKyf")
MEMORY = set("rwbfsvRWBSVkKyctgq")


def table(source):
    rows = {}
    for part in glob.glob(os.path.join(source, "abi", "rt_libc_*.h")):
        with open(part) as f:
            for args, result, does, names in re.findall(r'ROW\("([^"]*)", "([^"]*)", (\w+),((?:\s*[NIMVPQ]\([^)]*\))+)\)', f.read()):
                for name in re.findall(r"[NIMV]\((\w+)", names):
                    rows[name] = args, result, does
    return rows


def prototypes(compiler):
    text = "#define _GNU_SOURCE\n" + "".join(f"#if __has_include(<{h}>)\n#include <{h}>\n#endif\n" for h in HEADERS)
    r = subprocess.run([compiler, "-w", "-fno-builtin", "-fsyntax-only", "-Xclang", "-ast-dump", "-x", "c", "-"], input=text,
                       capture_output=True, text=True)
    found = {}
    for name, type_ in re.findall(r"^[|`]-FunctionDecl .* (\w+) '([^']*)'", r.stdout, re.M):
        found.setdefault(name, re.sub(r" __attribute__.*", "", type_))
    return found


def split(type_):
    """Its result and its parameters."""
    depth, at = 0, len(type_) - 1
    while at >= 0:
        depth += (type_[at] == ")") - (type_[at] == "(")
        if depth == 0 and type_[at] == "(":
            break
        at -= 1
    parts, depth, last = [], 0, ""
    for c in type_[at + 1:-1]:
        depth += (c == "(") - (c == ")")
        if c == "," and depth == 0:
            parts.append(last.strip())
            last = ""
        else:
            last += c
    if last.strip() not in ("", "void"):
        parts.append(last.strip())
    return type_[:at].strip(), parts


def letters(args):
    """Each with how much, and whether the last is repeated."""
    args = args.lstrip("?!")
    return re.findall(r"([-a-zA-Z])[$0-9%+]*", args), args.endswith("*")


NUMBERS = re.compile(r"^(unsigned |signed )?(int|long|short|char|float|double|long long|_Bool|size_t|ssize_t|off_t|off64_t|mode_t|"
                     r"pid_t|uid_t|gid_t|dev_t|clockid_t|useconds_t|socklen_t|nfds_t|wint_t|wchar_t|time_t|key_t|id_t)( int)?$")


def wrong(name, args, result, does, type_):
    returns, params = split(type_)
    described, repeated = letters(args)
    variadic = params[-1:] == ["..."]
    params = params[:-1] if variadic else params
    if len(described) - repeated > len(params) + variadic:
        yield f"{args} for {type_}"
    for letter, param in zip(described, params):
        constant = re.match(r"const [^*]*\*( ?restrict| ?__restrict)?$", param)
        if constant and letter in WRITES - {"W", "V", "B"}:
            yield f"{letter} for {param}"
        if NUMBERS.match(param) and letter in MEMORY:
            yield f"{letter} for {param}"
    if result != "-" and NUMBERS.match(returns) and returns not in ("unsigned long", "wctrans_t"):
        yield f"result {result} for {returns}"
    if result == "-" and does in ("PLAIN", "NUMBERS") and re.search(r"\*$", returns):
        yield f"result {result} for {returns}"


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--compiler", required=True)
    p.add_argument("source")
    o = p.parse_args()
    rows, known = table(o.source), prototypes(o.compiler)
    both = sorted(n for n in rows if n in known and rows[n][2] not in ("ANYTHING", "USES", "THREADS", "OPENMP", "UNKNOWN"))
    bad = [f"{n}: {w}" for n in both for w in wrong(n, *rows[n], known[n])]
    print("1..2")
    print(f"{'not ' if bad else ''}ok 1 - {len(both)} functions of the table fit their prototypes")
    for b in bad:
        print(f"# {b}")
    print(f"{'not ' if len(both) < 900 else ''}ok 2 - these are most")
    return bool(bad or len(both) < 900)


if __name__ == "__main__":
    sys.exit(main())
