#!/usr/bin/env python3
"""Whatever the store does, the program starts at once and its result is not lost.

    slow_store.py HEDDLE HEDDLE_CC SOURCE

Stores that say nothing, stop in the middle, or are locked, each for as long as the case lasts; so a
command that waits for its store does not end within LIMIT seconds, however fast the machine, and
one that does not takes about one second. TAP; HEDDLE_TEST_POSTGRES as in run.py.
"""
import contextlib
import fcntl
import json
import os
import re
import resource
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time

HEDDLE, CC, SOURCE = (os.path.abspath(p) for p in sys.argv[1:4])
POSTGRES = os.environ.get('HEDDLE_TEST_POSTGRES')
LIMIT = 8
tests = []


def case(f):
    tests.append(f)
    return f


def wait_for(what, why, seconds=60):
    end = time.time() + seconds
    while not what():
        assert time.time() < end, why
        time.sleep(0.05)


def start(store, *program, words=('--verbose',), **more):
    return subprocess.Popen([HEDDLE, 'fleet', 'run', '--store', store, *words, '--', *program],
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            universal_newlines=True, **more)


def run(store, *program, code=0, says=None, **more):
    """The program ran, at once and unharmed; what heddle said."""
    began = time.time()
    p = start(store, *program, **more)
    try:
        out, err = p.communicate(timeout=LIMIT)
    except subprocess.TimeoutExpired:
        p.kill()
        p.communicate()
        raise AssertionError('it waits for its store')
    print('# %.1f s' % (time.time() - began))
    assert p.returncode == code, (p.returncode, out, err)
    assert says is None or re.search(says, err), err
    return out, err


def hello(store, says='the store did not answer in time: running plain', **more):
    out, err = run(store, '/bin/echo', 'hello', says=says, **more)
    assert out == 'hello\n', (out, err)


def helpers(store):
    """Processes of ours that have to do with this store."""
    found = []
    for pid in filter(str.isdigit, os.listdir('/proc')):
        with contextlib.suppress(OSError):
            with open('/proc/%s/cmdline' % pid) as f:
                words = f.read().split('\0')
            if store in words and HEDDLE in words:
                found.append(int(pid))
    return found


def status(store):
    r = subprocess.run([HEDDLE, 'fleet', 'status', '--store', store, '--format', 'json'],
                       stdout=subprocess.PIPE, check=True)
    return json.loads(r.stdout)


def waiting(spool):
    return [n for n in os.listdir(spool) if n.endswith('.json')]


# ---- servers that are none ----

class Server:
    """Accepts connections and hands each to `talk`, in a thread; keeps them open."""

    def __init__(self, talk):
        self.socket = socket.socket()
        self.socket.bind(('127.0.0.1', 0))
        self.socket.listen(16)
        self.talk, self.open = talk, []
        self.url = 'postgres://u@127.0.0.1:%d/x' % self.socket.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                c = self.socket.accept()[0]
                self.open.append(c)
                threading.Thread(target=self.one, args=(c,), daemon=True).start()

    def one(self, c):
        with contextlib.suppress(OSError):
            self.talk(c)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for c in [self.socket, *self.open]:
            with contextlib.suppress(OSError):
                c.shutdown(socket.SHUT_RDWR)
            c.close()


def no_tls(c):
    c.recv(8)  # SSLRequest
    c.sendall(b'N')
    c.recv(1000)


def half_a_message(c):
    no_tls(c)
    c.sendall(b'R\0\0\0')


def hang_up(c):
    no_tls(c)
    c.close()


@case
def a_server_that_says_nothing():
    with Server(lambda c: None) as s:
        hello(s.url)
        hello(s.url)  # it is not waited for a second time


@case
def a_server_that_stops_in_the_middle():
    for talk in (no_tls, half_a_message):
        with Server(talk) as s:
            hello(s.url)


@case
def a_server_that_hangs_up():
    with Server(hang_up) as s:
        hello(s.url)


@case
def a_server_that_does_not_take_the_connection():
    with socket.socket() as s:
        s.bind(('127.0.0.1', 0))
        s.listen(0)
        full = []
        for _ in range(4):  # from now on the kernel drops what asks for a connection
            c = socket.socket()
            c.setblocking(False)
            c.connect_ex(s.getsockname())
            full.append(c)
        hello('postgres://u@127.0.0.1:%d/x' % s.getsockname()[1])
        for c in full:
            c.close()


def relay(limit):
    """To the real server, until it has answered with so many bytes; then silence."""
    folder = re.search('host=([^&]*)', POSTGRES).group(1)

    def talk(c):
        c.recv(8)
        c.sendall(b'N')
        with socket.socket(socket.AF_UNIX) as there:
            there.connect(os.path.join(folder, '.s.PGSQL.5432'))
            threading.Thread(target=pump, args=(c, there), daemon=True).start()
            pump(there, c, limit)
            while c.fileno() >= 0:
                time.sleep(0.1)
    return talk


def pump(a, b, limit=1 << 60):
    with contextlib.suppress(OSError):
        while limit > 0:
            data = a.recv(min(4096, limit))
            if not data:
                return
            limit -= len(data)
            b.sendall(data)


@case
def a_server_that_stops_between_two_statements():
    if not POSTGRES:
        return 'PostgreSQL is not there'
    for limit in (400, 700, 1200):
        with Server(relay(limit)) as s:
            hello(s.url.replace('u@', 'heddle@').replace('/x', '/postgres'))


# ---- locks ----

@contextlib.contextmanager
def locked(path):
    d = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    d.execute('BEGIN EXCLUSIVE')
    try:
        yield d
    finally:
        with contextlib.suppress(sqlite3.Error):
            d.execute('ROLLBACK')
        d.close()


def init(store):
    subprocess.run([HEDDLE, 'fleet', 'init', '--store', store, './racy'], check=True)


@case
def a_file_that_somebody_locks_and_the_result_comes_later():
    init('a.db')
    with locked('a.db'):
        hello('a.db')
        hello('a.db')
        assert len(waiting('a.db.spool')) == 2
        wait_for(lambda: len(helpers('a.db')) <= 1, 'more than one process goes on', 10)
    run('a.db', './racy', '5', code=7)
    wait_for(lambda: not waiting('a.db.spool'), 'results wait in the spool')
    wait_for(lambda: not helpers('a.db'), 'a process is left')
    echo = [p for p in status('a.db')['programs'] if p['name'] == 'echo']
    assert sum(p['runs']['plain'] for p in echo) == 2, echo


@case
def a_table_that_somebody_locks():
    if not POSTGRES:
        return 'PostgreSQL is not there'
    psql = shutil.which('psql')
    if not psql:
        return 'psql is not there'
    init(POSTGRES)
    p = subprocess.Popen([psql, '-q', POSTGRES], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                         universal_newlines=True)
    print('BEGIN; LOCK TABLE heddle.programs; SELECT 77;', file=p.stdin, flush=True)
    while '77' not in p.stdout.readline():
        pass
    hello(POSTGRES)
    p.communicate('ROLLBACK;\n')


def claims(store):
    d = sqlite3.connect(store)
    rows = d.execute("SELECT kind FROM runs WHERE ended IS NULL").fetchall()
    shares = d.execute("SELECT capers, chases FROM programs WHERE name = 'racy'").fetchone()
    d.close()
    return rows, shares


@case
def what_is_assigned_too_late_is_given_back():
    init('b.db')
    with locked('b.db') as d:
        p = start('b.db', './racy', '1', '4000')
        for line in p.stderr:
            if 'did not answer in time' in line:
                break
        d.execute('ROLLBACK')
        out, err = p.communicate(timeout=60)
    assert p.returncode == 7 and out == 'total 2\n', (p.returncode, out, err)
    wait_for(lambda: not helpers('b.db'), 'a process is left')
    rows, shares = claims('b.db')
    assert not rows and shares == (0, 0), (rows, shares)
    r = status('b.db')['programs'][0]['runs']
    assert r['plain'] == 1 and r['running'] == r['lost'] == 0, r


@case
def sigterm_while_the_store_is_asked():
    init('c.db')
    with locked('c.db'):
        p = start('c.db', './racy', '1')
        wait_for(lambda: len(helpers('c.db')) == 2, 'nobody asks the store')
        p.terminate()
        p.communicate(timeout=LIMIT)
        assert p.returncode == -signal.SIGTERM, p.returncode
    wait_for(lambda: not helpers('c.db'), 'a process is left')
    rows, shares = claims('c.db')
    assert not rows and shares == (0, 0), (rows, shares)


@case
def sigterm_reaches_the_program_and_the_command_ends():
    init('d.db')
    with locked('d.db'):
        p = start('d.db', '/bin/sh', '-c', 'echo up; exec sleep 100')
        assert p.stdout.readline() == 'up\n'
        p.terminate()
        p.communicate(timeout=LIMIT)
        assert p.returncode == 128 + signal.SIGTERM, p.returncode
        assert len(waiting('d.db.spool')) == 1
    wait_for(lambda: not helpers('d.db'), 'a process is left')


@case
def nothing_of_the_caller_is_kept():
    """A lock and a pipe that the command was given are free when it ends."""
    init('e.db')
    with open('theirs', 'w') as f, locked('e.db'):
        fcntl.flock(f, fcntl.LOCK_EX)
        hello('e.db', pass_fds=[f.fileno()])
        f.close()
        with open('theirs') as again:
            fcntl.flock(again, fcntl.LOCK_EX | fcntl.LOCK_NB)


@case
def blocked_signals():
    """Of several commands that nobody answers one process goes on, also where signals are blocked."""
    init('g.db')
    block = lambda: signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 32))
    with locked('g.db'):
        for _ in range(3):
            hello('g.db', preexec_fn=block)
        wait_for(lambda: len(helpers('g.db')) <= 1, 'more than one process goes on', 10)


@case
def few_descriptors():
    init('f.db')
    for n in (8, 9, 10, 12, 16, 20, 24):
        limit = lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (n, n))
        hello('f.db', says=None if n > 15 else 'too few descriptors are free: running plain',
              preexec_fn=limit)


# ---- caper's own state ----

def caper(*words, **more):
    return subprocess.run([HEDDLE, 'caper', *words], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, universal_newlines=True, timeout=60, **more)


@case
def a_state_of_caper_that_somebody_locks():
    os.mkdir('state')
    folder = os.open('state', os.O_RDONLY)
    fcntl.flock(folder, fcntl.LOCK_EX)
    r = subprocess.run([HEDDLE, 'caper', '--state', 'state/racy.caper', './racy', '5'],
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True,
                       timeout=LIMIT)
    assert r.returncode == 7 and r.stdout == 'total 10\n', r
    assert 'this run goes by what it holds now' in r.stderr, r.stderr
    assert "what was seen waits in '" in r.stderr, r.stderr
    left = [n for n in os.listdir('state') if '.run-' in n]
    assert len(left) == 1, left
    fcntl.flock(folder, fcntl.LOCK_UN)
    r = caper('--state', 'state/racy.caper', './racy', '5')
    assert r.returncode == 7 and '1 run that was cut off' in r.stderr, r
    os.close(folder)
    r = caper('--state', 'state/racy.caper', '--show', '--format', 'json')
    assert json.loads(r.stdout), r.stdout
    os.mkfifo('state/pipe')
    r = caper('--state', 'state/pipe', './racy', '5')
    assert "cannot read 'state/pipe': not a regular file" in r.stderr, r.stderr


def main():
    here = tempfile.mkdtemp(prefix='heddle-slow-')
    failed = 0
    try:
        os.chdir(here)
        os.environ.pop('HEDDLE_FLEET_STORE', None)
        os.environ['XDG_STATE_HOME'] = os.path.join(here, 'home')
        subprocess.run([CC, '--production', '-O1', '-g', '-pthread', SOURCE, '-o', 'racy'],
                       check=True)
        print('1..%d' % len(tests), flush=True)
        for i, f in enumerate(tests):
            name = f.__name__.replace('_', ' ')
            try:
                why = f()
                print('ok %d - %s%s' % (i + 1, name, ' # SKIP ' + why if why else ''), flush=True)
            except Exception as e:
                failed += 1
                print('not ok %d - %s\n# %s: %s' % (i + 1, name, type(e).__name__,
                                                   str(e).replace('\n', '\n# ')), flush=True)
    finally:
        os.chdir('/')
        shutil.rmtree(here, ignore_errors=True)
    return failed > 0


if __name__ == '__main__':
    sys.exit(main())
