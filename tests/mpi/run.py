#!/usr/bin/env python3
"""heddle analyze --mpi: the same result as one process, whatever becomes of the others.

    run.py HEDDLE

Starts real MPI jobs on this machine. Compares results byte for byte (but for the time engines
took), with 1, 2 and 4 processes; kills workers at random moments, stops one, lets one have another
trace; kills rank 0. Skipped where heddle was built without MPI, or mpirun is not installed or does
not work here.
"""
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

PATIENCE = 120  # seconds for a job; they take two
KILLS = 3       # jobs that lose workers

ENVIRONMENT = dict(os.environ,
                   OMPI_ALLOW_RUN_AS_ROOT='1', OMPI_ALLOW_RUN_AS_ROOT_CONFIRM='1',  # containers
                   OMPI_MCA_rmaps_base_oversubscribe='1',  # more processes than processors
                   OMPI_MCA_plm_rsh_agent='true',          # no ssh: there is one machine
                   HEDDLE_MPI_WAIT='5')                    # workers are there from the start


def make_trace(events, threads, locks, variables, values, sites, seed):
    """Accesses with values under locks and without: many pairs, some need a search."""
    r = random.Random(seed)
    held, owner, memory, thread = [[] for _ in range(threads)], {}, {}, 0
    lines = ['T0|fork(T%d)|1' % t for t in range(1, threads)]
    while len(lines) < events:
        if r.random() < 0.1:
            thread = r.randrange(threads)
        mine, choice = held[thread], r.random()
        if choice < 0.12 and len(mine) < 2:
            lock = r.randrange(locks)
            if lock not in owner:
                owner[lock] = thread
                mine.append(lock)
                lines.append('T%d|acq(L%d)|%d' % (thread, lock, 2 + lock))
        elif choice < 0.26 and mine:
            lock = mine.pop()
            del owner[lock]
            lines.append('T%d|rel(L%d)|%d' % (thread, lock, 200 + lock))
        elif mine or r.random() < 0.1:
            variable = r.randrange(variables)
            if mine:
                variable = (mine[-1] + locks * variable) % variables
            site = 1000 + r.randrange(sites)
            if r.random() < 0.4:
                memory[variable] = r.randrange(values)
                lines.append('T%d|w(V%d=%d)|%d' % (thread, variable, memory[variable], site))
            else:
                lines.append('T%d|r(V%d=%d)|%d' % (thread, variable, memory.get(variable, 0), site))
    for t in range(threads):
        while held[t]:
            lines.append('T%d|rel(L%d)|9' % (t, held[t].pop()))
    return '\n'.join(lines) + '\n'


def without_times(text):
    return re.sub(r'("seconds"|"[a-z0-9_]+_us"): *[0-9.e+-]+', r'\1: 0', text)


class Suite:
    def __init__(self, heddle, folder):
        self.heddle, self.folder, self.count, self.failed = heddle, folder, 0, 0

    def report(self, good, name, detail=''):
        self.count += 1
        self.failed += not good
        print('%sok %d - %s' % ('' if good else 'not ', self.count, name))
        if not good:
            print('# ' + detail.replace('\n', '\n# '))
        sys.stdout.flush()

    def alone(self, *options):
        done = subprocess.run([self.heddle, 'analyze', '-j1', '--effort=thorough', *options],
                              cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True, timeout=PATIENCE)
        assert done.returncode == 66, done
        return without_times(done.stdout)

    def start(self, n, *options, program=()):
        command = ['mpirun', '-q', '-n', str(n), *(program or (self.heddle, 'analyze')),
                   '--mpi', '--effort=thorough', *options]
        return subprocess.Popen(command, cwd=self.folder, env=ENVIRONMENT, text=True,
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE)

    def processes(self, word):
        """(worker?, pid) of the job whose command line has this word."""
        for pid in filter(str.isdigit, os.listdir('/proc')):
            try:
                with open('/proc/%s/cmdline' % pid, 'rb') as f:
                    words = f.read().decode(errors='replace').split('\0')
                with open('/proc/%s/stat' % pid) as f:
                    session = f.read().rsplit(')', 1)[1].split()[3]
            except OSError:
                continue
            if words[0] == self.heddle and word in words:
                yield session == pid, int(pid)

    def workers(self, word):
        return [pid for worker, pid in self.processes(word) if worker]

    def finish(self, job, name, expected):
        """The job ends with the result of one process; what it said on standard error."""
        out, err = job.communicate(timeout=PATIENCE)
        good = job.returncode == 66 and without_times(out) == expected
        same = 'the same' if without_times(out) == expected else 'another'
        self.report(good, name, 'exit code %d, %s result\n%s' % (job.returncode, same, err))
        return err


def test_equality(suite, jobs, expected):
    answered = 0
    for n, options in jobs:
        result = expected[options]
        job = suite.start(n, *options)
        err = suite.finish(job, '%d process(es): %s' % (n, ' '.join(options)), result)
        answered += int((re.search(r'decided (\d+) question', err) or [0, 0])[1])
    suite.report(answered > 0, 'the other processes did some of the work')


def test_kills(suite, options, expected, span):
    """Within the time that one process takes, after the workers have come."""
    lost = 0
    for seed in range(KILLS):
        r = random.Random(seed)
        mark = '--output=k%d.json' % seed
        job = suite.start(4, *options, mark)
        start = time.monotonic()
        while len(suite.workers(mark)) < 3 and time.monotonic() - start < 20:
            time.sleep(0.01)
        for _ in range(r.randrange(1, 4)):
            time.sleep(r.uniform(0, span / 2))
            victims = suite.workers(mark)
            if victims:
                try:
                    os.kill(r.choice(victims), signal.SIGKILL)
                except ProcessLookupError:
                    pass
        out, err = job.communicate(timeout=PATIENCE)
        with open(os.path.join(suite.folder, 'k%d.json' % seed)) as f:
            result = without_times(f.read())
        lost += int((re.search(r'(\d+) threads? of other processes w', err) or [0, 0])[1])
        suite.report(job.returncode == 66 and result == expected,
                     'workers killed at random moments, %d' % seed,
                     'exit code %d\n%s' % (job.returncode, err))
    suite.report(lost > 0, 'some were lost while they were needed')


def test_stopped(suite, options, expected):
    """A worker that neither works nor dies."""
    mark = '--max-witness=99999'
    job = suite.start(3, *options, mark)
    start = time.monotonic()
    while not suite.workers(mark) and time.monotonic() - start < 20:
        time.sleep(0.01)
    victims = suite.workers(mark)[:1]
    for pid in victims:
        os.kill(pid, signal.SIGSTOP)
    suite.finish(job, 'nobody waits for a worker that is stopped', expected)
    for pid in victims:
        os.kill(pid, signal.SIGKILL)


def test_other_trace(suite, options, expected):
    """Each process in a folder of its own: rank 1 has another trace, rank 2 none."""
    script = os.path.join(suite.folder, 'in-folder')
    with open(script, 'w') as f:
        f.write('#!/bin/sh\ncd "$OMPI_COMM_WORLD_RANK" && exec "%s" analyze "$@"\n' % suite.heddle)
    os.chmod(script, 0o755)
    for rank in range(3):
        os.mkdir(os.path.join(suite.folder, str(rank)))
    shutil.copy(os.path.join(suite.folder, 't.std'), os.path.join(suite.folder, '0'))
    with open(os.path.join(suite.folder, '1', 't.std'), 'w') as f:
        f.write('T0|w(V)|1\n')
    err = suite.finish(suite.start(3, *options, program=[script]), 'another trace elsewhere',
                       expected)
    suite.report("'t.std' is not the trace of rank 0: 10 bytes" in err, 'and it is said', err)
    suite.report("does not take part: cannot read 't.std': No such file" in err,
                 'as is one that is missing', err)


def test_end(suite, options):
    mark = '--max-witness=88888'
    job = suite.start(3, *options, mark)
    start = time.monotonic()
    while len(suite.workers(mark)) < 2 and time.monotonic() - start < 20:
        time.sleep(0.01)
    for worker, pid in suite.processes(mark):
        if not worker:
            os.kill(pid, signal.SIGKILL)
    job.communicate(timeout=PATIENCE)
    start = time.monotonic()
    while list(suite.processes(mark)) and time.monotonic() - start < 20:
        time.sleep(0.05)
    left = list(suite.processes(mark))
    suite.report(not left and job.returncode not in (0, 66), 'all end with rank 0',
                 'exit code %d, left: %s' % (job.returncode, left))


def test_messages(suite):
    job = suite.start(2, '-')
    err = job.communicate('T0|w(V)|1\nT1|w(V)|2\n', timeout=PATIENCE)[1]
    suite.report(job.returncode == 2 and "'--mpi' needs a trace that all processes can read" in err,
                 'standard input is no trace for many', 'exit code %d\n%s' % (job.returncode, err))


def why_not(heddle):
    """Why MPI jobs cannot run here, or None."""
    if not os.path.exists(os.path.join(os.path.dirname(heddle), 'heddle-mpi')):
        return 'heddle was built without MPI'
    if not shutil.which('mpirun'):
        return 'mpirun is not installed'
    trial = subprocess.run(['mpirun', '-n', '2', 'true'], env=ENVIRONMENT, text=True,
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if trial.returncode:
        return 'mpirun does not work here: ' + ' '.join(trial.stdout.split())
    return None


def main(heddle):
    heddle = os.path.abspath(heddle)
    reason = why_not(heddle)
    if reason:
        print('1..0 # SKIP ' + reason)
        return 0
    with tempfile.TemporaryDirectory() as folder:
        suite = Suite(heddle, folder)
        with open(os.path.join(folder, 't.std'), 'w') as f:
            f.write(make_trace(6000, 6, 20, 100, 300, 90, 1))
        mc = ('--engine=mc', '--format=json', 't.std')
        text, cascade = ('--engine=mc', 't.std'), ('--format=json', 't.std')
        windows = ('--engine=mc,rdit', '--window=1000', '--format=json', 't.std')
        expected = {options: suite.alone(*options) for options in (text, cascade, windows)}
        start = time.monotonic()
        expected[mc] = suite.alone(*mc)
        span = time.monotonic() - start
        test_equality(suite, [(1, mc), (2, mc), (4, mc), (4, text), (3, cascade), (3, windows)],
                      expected)
        test_kills(suite, mc, expected[mc], span)
        test_stopped(suite, mc, expected[mc])
        test_other_trace(suite, mc, expected[mc])
        test_end(suite, mc)
        test_messages(suite)
        print('1..%d' % suite.count)
        return suite.failed > 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1]))
