#!/usr/bin/env python3
"""cuts.py - recordings that are cut off: nothing false, nothing unreadable, little lost

    cuts.py --build DIR [--cuts N] [--kills N] [--truncations N] [--seed N] [--longest SECONDS]
            [CASE...]

size      --max-size: the limit is kept, and everything up to it analysed
disk      the disk is full: a small tmpfs where we may mount one, else a limit of the writer's file
writer    SIGKILL of the writer
program   SIGKILL of the program: nothing at all is lost
heddle    SIGKILL of `heddle record`: the recording goes on
truncate  the file of a whole recording ends anywhere
convert   a converted trace ends anywhere
tiny      limits and disks that are too small for anything: the program runs on, and it is said why

N cuts of each kind at random, over programs without a race (cuts.c) of both builds, with many idle
threads, one busy one, several processes. Each trace must have no race and name the cause; it must have
events, unless its writer was killed before it had written any, and then it must say that.
"""
import argparse, ctypes, json, os, platform, random, re, resource, shutil, signal, subprocess, sys, tempfile, time

here = os.path.dirname(os.path.abspath(__file__))
KINDS = "idle", "pool", "blocks", "mixed", "short", "many", "procs", "forks"
ALONE = KINDS[:6] # one process
KILLED = "the writer was killed, or the file was cut off"
DEAD = ["killed by signal 9 (KILL)"]
if tuple(map(int, platform.release().split(".")[:2])) < (6, 15):
    DEAD.append("it is not known how") # who waited for it may have been faster than the writer
EMPTY = "before its first event"


class Failed(Exception):
    pass


def run(cmd, **kw):
    return subprocess.run(cmd, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=300, **kw)


def build(opts, directory):
    for name, more in ("default", []), ("full", ["--full"]):
        r = run([os.path.join(opts.build, "heddle-cc"), *more, "-O1", "-g", os.path.join(here, "cuts.c"), "-o",
                 os.path.join(directory, name)])
        if r.returncode:
            raise Failed("cuts.c does not build:\n%s" % r.stderr)


def traces(directory):
    if not os.path.isdir(directory):
        return []
    return [os.path.join(directory, f) for f in sorted(os.listdir(directory)) if f.endswith(".hdl")]


def info(opts, trace):
    r = run([opts.heddle, "info", "-f", "json", trace])
    if r.returncode:
        raise Failed("info exits with %d: %s" % (r.returncode, r.stderr))
    return json.loads(r.stdout)


def analyse(opts, trace, full=False):
    """The result, which must have no race."""
    out = os.path.join(opts.scratch, "out.json")
    # the engines that look beyond the recorded order take minutes for a full build
    engine = ["-e", "hb,shb"] if full else ["-e", "hb,shb,syncp,deadlock"]
    r = run([opts.heddle, "analyze", "-q", *engine, "-f", "json", "-o", out, trace])
    if r.returncode == 2 and "nothing to analyse" in r.stderr:
        return None
    if r.returncode != 0:
        raise Failed("analyze exits with %d: %s" % (r.returncode, r.stderr or open(out).read()))
    return json.load(open(out))


def writers(data):
    """Writers of the directory, and of nobody else's."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            args = open("/proc/%s/cmdline" % pid, "rb").read().split(b"\0")
        except OSError:
            continue
        if b"writer" in args and os.path.realpath(data).encode() in args:
            found.append(int(pid))
    return found


class Recording:
    """One `heddle record` of a random kind and build, as it runs."""

    def __init__(self, opts, directory, rng, *options, rounds=0, race=False, kinds=KINDS, data=None):
        self.data = data or os.path.join(directory, "data")
        self.kind, self.full, self.empty = rng.choice(kinds), rng.random() < 0.4, 0
        if not data:
            shutil.rmtree(self.data, ignore_errors=True)
        if rng.random() < 0.25:
            options += ("--calls", "exact")
        self.program = os.path.join(os.path.realpath(directory), "full" if self.full else "default")
        command = [opts.heddle, "record", "-o", self.data, *options, "--", self.program, self.kind, str(rounds)]
        self.process = subprocess.Popen(command + (["race"] if race else []), stderr=subprocess.PIPE, text=True)

    def __str__(self):
        return "%s build, %s" % ("full" if self.full else "default", self.kind)

    def wait_for_trace(self, bytes=3000):
        deadline = time.time() + 30
        while time.time() < deadline:
            found = traces(self.data)
            if found and all(os.path.getsize(f) > bytes for f in found):
                return
            time.sleep(0.002)
        raise Failed("%s: no trace" % self)

    def programs(self):
        """Also those that have no trace yet."""
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                if os.readlink("/proc/%s/exe" % pid).split(" ")[0] == self.program:
                    found.append(int(pid))
            except OSError:
                continue
        return found

    def end(self):
        """End the program, wait for it and for its writers."""
        while self.programs(): # one may be forking another
            for pid in self.programs():
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            time.sleep(0.01)
        self.finish()

    def finish(self):
        self.said = self.process.communicate(timeout=120)[1]
        deadline = time.time() + 60
        while writers(self.data) and time.time() < deadline:
            time.sleep(0.01)

    def check(self, opts, cause, least=1):
        """Each trace is sound and has events; `cause` is named where it is not complete."""
        total = 0
        for trace in traces(self.data):
            i, result = info(opts, trace), analyse(opts, trace, self.full)
            if result is None and (EMPTY in i.get("lost", {}).get("reason", EMPTY) or not {"read", "write"} & set(i["operations"])):
                self.empty += 1 # killed before, or nothing was lost at all
                continue
            if result is None or i["events"] < least:
                raise Failed("%s: %d events of %d bytes: %s" % (self, i["events"], os.path.getsize(trace), i))
            if i["repaired"]:
                raise Failed("%s: %d events repaired" % (self, i["repaired"]))
            told = json.dumps([i.get("lost"), i["process"]["notes"], i["process"]["end"]])
            whole = self.kind == "forks" and "exited with status 0" in told # a child before the last
            if cause and not whole and not any(c in told for c in cause):
                raise Failed("%s: %s is not told: %s" % (self, cause, told))
            if cause and not whole and result["trace"].get("lost", {}).get("reason", "") not in told and not any(d in told for d in DEAD):
                raise Failed("%s: the result does not tell of %s" % (self, told))
            total += i["events"]
        return total


def case_size(opts, directory, rng):
    events, over, least = 0, 0, 1
    for i in range(opts.cuts):
        limit = int(10 ** rng.uniform(5.2, 6.3 if opts.longest > 1 else 5.6))
        r = Recording(opts, directory, rng, "--max-size", str(limit), kinds=KINDS[:-1]) # no small ones
        deadline = time.time() + 60
        # what does not stop by itself is small
        while time.time() < deadline and not all(
                os.path.getsize(f) > limit * 0.75 for f in traces(r.data) or [os.devnull]):
            time.sleep(0.01)
        time.sleep(0.05)
        r.end()
        events += r.check(opts, ["size limit", "killed by"])
        for f in traces(r.data):
            over = max(over, os.path.getsize(f) / limit)
            if os.path.getsize(f) > limit * 1.05 + 8192:
                raise Failed("%s: %d bytes, the limit is %d" % (r, os.path.getsize(f), limit))
            stopped = "size limit" in json.dumps(info(opts, f))
            least = min(least, os.path.getsize(f) / limit) if stopped else least
            if not stopped and os.path.getsize(f) > limit * 0.97:
                raise Failed("%s: %d bytes, the limit is %d and not told of" % (r, os.path.getsize(f), limit))
    return "%d cuts, %d events, %.3f to %.3f of the limit" % (opts.cuts, events, least, over)


class SmallDisk:
    """A tmpfs of some size, or None where we may not mount one."""
    libc = ctypes.CDLL(None, use_errno=True)

    def __init__(self, path, bytes):
        os.makedirs(path, exist_ok=True)
        self.path = path
        self.works = self.libc.mount(b"tmpfs", path.encode(), b"tmpfs", 0, b"size=%d" % bytes) == 0

    def close(self):
        if self.works:
            self.libc.umount2(self.path.encode(), 2)


def limit_writers(r, bytes):
    """A disk that becomes full has room for what is there; while a writer is stopped, its file does not grow."""
    for pid in writers(r.data):
        try:
            os.kill(pid, signal.SIGSTOP)
            while not re.search("State:\t[TZX]", open("/proc/%d/status" % pid).read()):
                time.sleep(0.001)
            there = max(map(os.path.getsize, traces(r.data)), default=0)
            resource.prlimit(pid, resource.RLIMIT_FSIZE, (max(bytes, there), max(bytes, there)))
            os.kill(pid, signal.SIGCONT)
        except (ProcessLookupError, FileNotFoundError):
            pass


def case_disk(opts, directory, rng):
    events, mounted = 0, 0
    for i in range(opts.cuts):
        bytes = int(10 ** rng.uniform(5, 6))
        disk = SmallDisk(os.path.join(directory, "disk"), bytes)
        try:
            if disk.works and rng.random() < 0.8:
                mounted += 1
                r = Recording(opts, directory, rng, data=os.path.join(disk.path, "data"))
                r.wait_for_trace(1)
            else:
                r = Recording(opts, directory, rng, kinds=KINDS[:-1]) # there are always new children
                r.wait_for_trace()
                limit_writers(r, bytes)
            deadline, before = time.time() + 60, -1
            while time.time() < deadline and sum(map(os.path.getsize, traces(r.data))) not in (0, before):
                before = sum(map(os.path.getsize, traces(r.data)))
                time.sleep(0.3)
            r.end()
            if r.kind not in ALONE: # they share the disk: one may find it full before its first event
                events += readable(opts, r)
            else:
                events += r.check(opts, ["No space left", "File too large", "killed by"])
        finally:
            disk.close()
    return "%d cuts (%d of a real disk), %d events" % (opts.cuts, mounted, events)


def readable(opts, r):
    """Whatever is there can be read, and has no race."""
    total = 0
    for trace in traces(r.data):
        if os.path.getsize(trace) < 64:
            continue
        total += info(opts, trace)["events"]
        analyse(opts, trace, r.full)
    return total


def case_writer(opts, directory, rng):
    events = empty = 0
    for i in range(opts.cuts):
        r = Recording(opts, directory, rng)
        r.wait_for_trace(rng.choice((1, 300, 3000, 3000)))
        time.sleep(rng.random() ** 2 * opts.longest)
        for pid in writers(r.data):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        time.sleep(0.02)
        r.end()
        # of several processes one may have begun after that
        events += r.check(opts, [KILLED] if r.kind in ALONE else [])
        empty += r.empty
    return "%d kills, %d events, %d files before their first event" % (opts.cuts, events, empty)


def case_program(opts, directory, rng):
    events = 0
    for i in range(opts.kills):
        r = Recording(opts, directory, rng)
        r.wait_for_trace()
        time.sleep(rng.random() ** 2 * opts.longest / 3)
        r.end()
        events += r.check(opts, DEAD)
    return "%d kills, %d events" % (opts.kills, events)


def case_heddle(opts, directory, rng):
    events = 0
    for i in range(opts.kills):
        r = Recording(opts, directory, rng)
        r.wait_for_trace()
        time.sleep(rng.random() ** 2 * opts.longest / 3)
        os.kill(r.process.pid, signal.SIGKILL)
        time.sleep(0.05)
        r.end()
        events += r.check(opts, DEAD)
    return "%d kills, %d events" % (opts.kills, events)


def whole(opts, directory, rng, rounds, kinds=[k for k in ALONE if k != "many"]):
    # of two hundred threads a small file has a single group of chunks, which depend on each other
    r = Recording(opts, directory, rng, rounds=rounds, kinds=kinds)
    r.finish()
    return r, traces(r.data)[0]


def cut_anywhere(opts, name, trace, full, rng, n, share, part=None):
    """Cut copies; of the share of the bytes, `share` is there in events. Anywhere, or behind a part."""
    data, events = open(trace, "rb").read(), info(opts, trace)["events"]
    cut, worst = os.path.join(opts.scratch, "cut.hdl"), 1.0
    for i in range(n):
        at = int(part * len(data)) if part else rng.randrange(64, len(data))
        open(cut, "wb").write(data[:at])
        found = info(opts, cut)
        analyse(opts, cut, full)
        if not found["events"] and EMPTY not in found["lost"]["reason"]:
            raise Failed("%s: no events in the first %d of %d bytes" % (name, at, len(data)))
        if at < len(data) // 4 or at < 12000:
            continue
        worst = min(worst, found["events"] / events / (at / len(data)))
        if found["events"] < share * events * at / len(data):
            raise Failed("%s: %d of %d events in the first %d of %d bytes" % (name, found["events"], events, at,
                                                                             len(data)))
        if "cut off" not in found["lost"]["reason"]:
            raise Failed("%s: %s" % (name, found["lost"]))
    return worst


def case_truncate(opts, directory, rng):
    worst, done = 1.0, 0
    while done < opts.truncations:
        n = min(10, opts.truncations - done)
        r, trace = whole(opts, directory, rng, 6000)
        worst = min(worst, cut_anywhere(opts, str(r), trace, r.full, rng, n, 0.15))
        done += n
    for i in range(max(2, opts.truncations // 20)): # of some milliseconds: it has several chunks a thread, too
        r, trace = whole(opts, directory, rng, 1000, ["pool"])
        cut_anywhere(opts, str(r), trace, r.full, rng, 1, 0.05, 0.8)
        done += 1
    return "%d cuts; the part of the events that was there was %.2f of the part of the bytes, at least" % (done, worst)


def case_convert(opts, directory, rng):
    gen, text, hdl = (os.path.join(opts.build, "tests/reference/heddle-gen"), os.path.join(directory, "t.std"),
                      os.path.join(directory, "t.hdl"))
    worst = 1.0
    for more in [], ["--values"]:
        for cmd in ([gen, "--events", "100000", "--racy", "0", *more, "-o", text],
                    [opts.heddle, "convert", "-q", text, hdl]):
            r = run(cmd)
            if r.returncode:
                raise Failed("%s: %s" % (cmd, r.stderr))
        worst = min(worst, cut_anywhere(opts, "converted", hdl, True, rng, max(4, opts.truncations // 10), 0.6))
    return "the part of the events that was there was %.2f of the part of the bytes, at least" % worst


def run_tiny(opts, directory, data, options, said, codes=(2,), **kw):
    r = run([opts.heddle, "run", "--trace", data, *options, "--", os.path.join(directory, "default"), "pool", "2000"], **kw)
    if r.returncode not in codes:
        raise Failed("%s: exit %d: %s" % (options or data, r.returncode, r.stderr))
    if not any(s in r.stderr for s in said):
        raise Failed("%s: not said: %s: %s" % (options or data, said, r.stderr))


def limit_files():
    resource.setrlimit(resource.RLIMIT_FSIZE, (100000, 100000))


def case_tiny(opts, directory, rng):
    data, done = os.path.join(directory, "data"), 2
    for size in "1", "64", "500":
        shutil.rmtree(data, ignore_errors=True)
        run_tiny(opts, directory, data, ["--max-size", size], ["the trace has reached its size limit, %s byte" % size])
    shutil.rmtree(data, ignore_errors=True)
    run_tiny(opts, directory, data, [], ["ulimit -f"], preexec_fn=limit_files)
    for bytes in 4096, 8192:
        disk = SmallDisk(os.path.join(directory, "disk"), bytes)
        try:
            if disk.works:
                done += 1
                run_tiny(opts, directory, os.path.join(disk.path, "d"), [], ["no space left", "No space left"], (0, 2))
        finally:
            disk.close()
    return "%d kinds" % done


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--build", required=True)
    for name, n in ("cuts", 100), ("kills", 100), ("truncations", 200), ("seed", 1):
        p.add_argument("--" + name, type=int, default=n)
    p.add_argument("--longest", type=float, default=1.5, help="seconds before a kill, at most")
    p.add_argument("case", nargs="*")
    opts = p.parse_args()
    opts.build = os.path.abspath(opts.build)
    opts.heddle = os.path.join(opts.build, "heddle")
    names = "size", "disk", "writer", "program", "heddle", "truncate", "convert", "tiny"
    failed = 0
    for name in opts.case or names:
        with tempfile.TemporaryDirectory() as d:
            try:
                opts.scratch = d
                build(opts, d)
                print("ok %s: %s" % (name, globals()["case_" + name](opts, d, random.Random(opts.seed))), flush=True)
            except Failed as e:
                failed += 1
                print("not ok %s: %s" % (name, e), flush=True)
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
