#!/usr/bin/env python3
"""Under each command that runs a program, it lives and dies as it does alone.

    run.py BUILD-DIRECTORY
"""
import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
PATIENCE = 60  # seconds; a process that never ends needs no more to be noticed
ENDS = ("none", "joined", "joinable", "detached", "nested", "destructor", "main", "cancelled", "many", "child", "c11",
        "raw", "raw-last", "raw-thread")
SITE = {"ends": "ends.c:19,ends.c:19", "signals": "signals.c:13,signals.c:13"}


def children(pid):
    with open("/proc/%d/task/%d/children" % (pid, pid)) as f:
        return [int(word) for word in f.read().split()]


def program_of(heddle):
    for pid in children(heddle):
        if "signals-" in os.readlink("/proc/%d/exe" % pid):
            return pid
    sys.exit("the program is gone")


@contextlib.contextmanager
def patience(what, process):
    """What does not happen in time ends the test, and says which processes waited for what."""
    def give_up(*_):
        r = subprocess.run(["ps", "-eo", "pid,ppid,pgid,stat,wchan:20,args"], stdout=subprocess.PIPE, text=True)
        lines = [line for line in r.stdout.splitlines() if str(process.pid) in line.split()[:3]]
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        sys.exit("%s: nothing happens\n%s" % (what, "\n".join(lines)))

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(PATIENCE)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def line_of(what, process):
    with patience(what, process):
        return process.stdout.readline()


class Life:
    def __init__(self, tools, folder):
        self.tools, self.folder = os.path.abspath(tools), folder
        for name in ("ends", "signals"):
            self.build(["gcc"], name, "plain")
            self.build([self.tools + "/heddle-cc"], name, "recorded")
            self.build([self.tools + "/heddle-cc", "--production"], name, "production")
        self.build([self.tools + "/heddle-cc", "--production", "-static"], "ends", "static")
        subprocess.run(["gcc", "-shared", "-fPIC", "-o", "early.so", HERE + "/early.c"], cwd=folder, check=True)

    def build(self, compiler, name, kind):
        subprocess.run(compiler + ["-g", "-O1", "-pthread", "-o", name + "-" + kind, HERE + "/" + name + ".c"],
                       cwd=self.folder, check=True)

    def commands(self, name, kinds=("recorded", "production")):
        """(what it is, the command line up to the program's arguments)"""
        heddle = self.tools + "/heddle"
        if "recorded" in kinds:
            for command in ([heddle, "record", "-o", "data"], [heddle, "run", "-o", "report", "--trace", "data"]):
                yield command[1], command + ["--", "./" + name + "-recorded"]
        for kind in set(kinds) - {"recorded"}:
            for command in (["caper", "--state", name + ".state"], ["alias"], ["chase", "-p", SITE[name]],
                            ["litehb", "-p", SITE[name]], ["fullhb", "-p", SITE[name]]):
                yield command[0], [heddle] + command + ["-o", "report", "--", "./" + name + "-" + kind]
            yield "fleet run", [heddle, "fleet", "run", "--store", "store.db", "--", "./" + name + "-" + kind]

    def start(self, command, **more):
        return subprocess.Popen(command, cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                text=True, start_new_session=True, **more)

    def finish(self, what, process):
        """(exit code, standard output); a process that does not end is an error."""
        try:
            out, err = process.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            sys.exit(what + ": does not end")
        self.errors = err
        return process.returncode, out

    def expect(self, what, got, wanted):
        if got != wanted:
            sys.exit("%s: %r, not %r\n%s" % (what, got, wanted, self.errors))

    # ---- the last thread ends ----

    def check_ends(self):
        for how in ENDS:
            wanted = self.finish(how, self.start(["./ends-plain", how]))
            static = ("static",) if how in ("joined", "joinable", "destructor", "raw", "raw-last", "raw-thread") else ()
            for what, command in self.commands("ends", ("recorded", "production") + static):
                what = "%s, %s" % (what, how)
                self.expect(what, self.finish(what, self.start(command + [how])), wanted)

    # ---- signals ----

    def ready(self, command, how, **more):
        process = self.start(command + [how], **more)
        line = line_of(" ".join(command), process)
        if line != "ready\n":
            sys.exit("%s: %r\n%s" % (command, line, process.stderr.read()))
        return process

    def signalled(self, what, command, how, signals, wanted):
        process = self.ready(command, how)
        said = ""
        for sig in signals:
            process.send_signal(sig)
            if how == "handles":  # one at a time: the next one only when this one has come
                said += line_of("%s, signal %d" % (what, sig), process)
        code, out = self.finish("%s, %s" % (what, how), process)
        self.expect("%s, %s" % (what, how), (code, said + out), wanted)

    def check_signals(self):
        for what, command in self.commands("signals"):
            for sig in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
                self.signalled(what, command, "dies", [sig], (128 + sig, ""))
            self.signalled(what, command, "handles",
                           [signal.SIGUSR1, signal.SIGUSR2, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT,
                            signal.SIGTERM], (5, "got 10\ngot 12\ngot 01\ngot 02\ngot 03\ngot 15\n"))
            self.signalled(what, command, "ignores", [signal.SIGTERM, signal.SIGUSR1], (5, "got 10\n"))

    def check_early(self):
        env = dict(os.environ, LD_PRELOAD=self.folder + "/early.so", ASAN_OPTIONS="verify_asan_link_order=0")
        for what, command in self.commands("signals"):
            got = self.finish(what + ", early", self.start(command + ["dies"], env=env))
            # 2: there is nothing to analyse, which is said; fleet run forks before there is a program
            if got not in ((128 + signal.SIGTERM, ""), (2, ""), (-signal.SIGTERM, "")) or "not built" in self.errors:
                sys.exit("%s, early: %r\n%s" % (what, got, self.errors))

    def check_terminal(self):
        """Ctrl-C goes to both: the program gets one, and goes on."""
        for what, command in self.commands("signals"):
            ours, theirs = os.openpty()
            process = self.ready(["setsid", "--ctty", "--wait"] + command, "handles", stdin=theirs)
            os.write(ours, b"\3")
            said = line_of(what + ", terminal", process)
            time.sleep(0.2)
            os.kill(program_of(children(process.pid)[0]), signal.SIGTERM)
            code, out = self.finish(what + ", terminal", process)
            os.close(theirs)
            os.close(ours)
            self.expect(what + ", terminal", (code, said + out), (5, "got 02\ngot 15\n"))

    def check_killed(self):
        """Without heddle the program goes on."""
        for what, command in self.commands("signals"):
            process = self.ready(command, "handles")
            child = program_of(process.pid)
            process.kill()
            process.wait()
            os.kill(child, signal.SIGUSR1)
            said = line_of(what + ", killed", process)
            os.kill(child, signal.SIGTERM)
            process.communicate(timeout=PATIENCE)
            if said != "got 10\n":
                sys.exit("%s: killed, and its program said %r" % (what, said))


def main():
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        life = Life(sys.argv[1], folder)
        life.check_ends()
        life.check_signals()
        life.check_signals()
        life.check_early()
        life.check_terminal()
        life.check_killed()
    print("ok")


if __name__ == "__main__":
    for ignored in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):  # by nohup, and of jobs in the background
        signal.signal(ignored, signal.SIG_DFL)
    main()
