#!/usr/bin/env python3
"""start.py BUILD: a writer that does not come to its start does not keep the program

silent   it ends at once and says nothing
killed   it is killed when it has just become a process of its own
alone    it cannot become one (no process may be started any more)

The program waits at most 20 seconds for a writer that is only slow: one that takes less did not wait.
"""
import os, subprocess, sys, tempfile

PROGRAM = '#include <unistd.h>\nint shared;\nint main(void) { shared = 1; return write(1, "ran\\n", 4) == 4 ? 7 : 8; }\n'
PRELOADED = {
    "killed": "#include <signal.h>\n#include <unistd.h>\npid_t setsid(void) { raise(SIGKILL); return -1; }\n",
    "alone": "#include <errno.h>\n#include <unistd.h>\npid_t fork(void) { errno = EAGAIN; return -1; }\n",
}
LIMIT = 15


def write(path, text, mode=0o644):
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    os.chmod(path, mode)


def make_writer(build, work, case):
    """A program in the place of `heddle`."""
    path = os.path.join(work, case)
    if case == "silent":
        write(path, "#!/bin/sh\nexit 0\n", 0o755)
        return path
    write(path + ".c", PRELOADED[case])
    subprocess.run(["cc", "-shared", "-fPIC", path + ".c", "-o", path + ".so"], check=True)
    write(path, "#!/bin/sh\nLD_PRELOAD=%s.so exec %s/heddle \"$@\"\n" % (path, build), 0o755)
    return path


def wrong(build, work, case):
    env = dict(os.environ, HEDDLE_RT="dir=%s\nwriter=%s\nverbose=1\n" % (work, make_writer(build, work, case)))
    process = subprocess.Popen([os.path.join(work, "p")], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        out, err = process.communicate(timeout=LIMIT)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return "the program waits"
    if (process.returncode, out) != (7, "ran\n"):
        return "code %d, printed %r" % (process.returncode, out)
    return None if "nothing is recorded" in err else "not said: %r" % err


def main():
    build, failed = os.path.abspath(sys.argv[1]), 0
    with tempfile.TemporaryDirectory() as work:
        write(os.path.join(work, "p.c"), PROGRAM)
        subprocess.run([os.path.join(build, "heddle-cc"), "-g", "p.c", "-o", "p"], cwd=work, check=True)
        for case in ("silent", "killed", "alone"):
            why = wrong(build, work, case)
            print("%s %s%s" % ("not ok" if why else "ok", case, ": " + why if why else ""), flush=True)
            failed |= why is not None
    sys.exit(failed)


main()
