#!/usr/bin/env python3
"""The whole loop on a real program: static, caper, chase, confirmed; with SQLite and PostgreSQL.

    run.py HEDDLE HEDDLE_CC SOURCE [RUNS]

TAP. HEDDLE_TEST_POSTGRES (with_postgres) is the URL of a server; without it that part is skipped.
RUNS (default 60): runs of the part in which a tenth is killed; the bar is 1000.
"""
import json
import os
import random
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

HEDDLE, CC, SOURCE = (os.path.abspath(p) for p in sys.argv[1:4])
RUNS = int(sys.argv[4]) if len(sys.argv) > 4 else 60
POSTGRES = os.environ.get('HEDDLE_TEST_POSTGRES')
WAIT = '60s'
tests = []


def case(f):
    tests.append(f)
    return f


def heddle(*words, code=0, **more):
    r = subprocess.run([HEDDLE, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                       universal_newlines=True, timeout=300, **more)
    assert code is None or r.returncode == code, (words, r.returncode, r.stdout, r.stderr)
    return r


def fleet(word, *rest, store='s.db', **more):
    if word == 'run':  # on a busy machine the store may take longer than a program should wait
        rest = ('--wait', WAIT, *rest)
    return heddle('fleet', word, '--store', store, *rest, **more)


def settle(store='s.db'):
    """Deliveries go on for a moment after the command."""
    for _ in range(600):
        if not json.loads(fleet('status', '--format', 'json', store=store).stdout)['spooled']:
            return
        time.sleep(0.1)
    raise AssertionError('results wait in the spool')


def status(store='s.db', index=0):
    return json.loads(fleet('status', '--format', 'json', store=store).stdout)['programs'][index]


def loop(store, most=40):
    """Runs until something is confirmed; how many it took."""
    for i in range(most):
        r = fleet('run', '--', './racy', '100', store=store, code=7)
        assert r.stdout == 'total 200\n' and r.stderr == '', (r.stdout, r.stderr)
        if status(store)['pairs']['confirmed']:
            return i + 1
    raise AssertionError('nothing confirmed in %d runs: %s' % (most, status(store)))


def races(store='s.db'):
    return json.loads(fleet('races', '--format', 'json', store=store, code=None).stdout)['races']


@case
def a_race_is_confirmed_and_nothing_else():
    loop('s.db')
    s = status()
    p = s['pairs']
    assert p['static'] >= p['possible'] >= p['chased'] >= p['confirmed'] >= 1, p
    for r in races():
        assert r['strength'] == 'confirmed', r
        text = [open(SOURCE).read().split('\n')[int(a['location'].split(':')[1]) - 1]
                for a in r['accesses']]
        assert all('/* race */' in t for t in text), r
        assert all(a['stack'] for a in r['accesses']), r


@case
def the_funnel_is_shown():
    text = fleet('status').stdout
    for word in ('static', 'possible', 'chased', 'confirmed', 'runs', 'racy (build '):
        assert word in text, text
    fleet('status', 'racy')
    r = fleet('status', 'other', code=2)
    assert "has no program 'other'" in r.stderr, r.stderr


@case
def races_come_in_all_formats():
    for f, word in (('text', 'confirmed'), ('sarif', '2.1.0'), ('junit', '<testsuite'),
                    ('html', '<html'), ('github', '::error')):
        assert word in fleet('races', '--format', f, code=66).stdout, f
    fleet('races', '--format', 'json', '-o', 'r.json', code=66)
    assert fleet('races', '--baseline', 'r.json', code=0)


@case
def the_program_runs_where_the_store_is_away_and_its_result_is_kept():
    before = status()['runs']
    for store in ('racy/x.db', 'postgres:///none?host=/proc/nonexistent'):
        r = fleet('run', '--wait', '100ms', '--spool', 's.db.spool', '--', './racy', '10',
                  store=store, code=7)
        assert r.stdout == 'total 20\n' and r.stderr == '', r.stderr
    waiting = [n for n in os.listdir('s.db.spool') if n.endswith('.json')]
    assert len(waiting) == 2, waiting
    assert '2 results wait in the spool' in fleet('status').stdout
    fleet('run', '--', './racy', '10', code=7)
    settle()
    assert status()['runs']['plain'] == before['plain'] + 2


@case
def programs_of_other_kinds_run_as_they_are():
    r = fleet('run', '--', '/bin/echo', 'x', store='other.db')
    assert r.stdout == 'x\n' and r.stderr == '', r
    assert fleet('run', '--', 'sh', '-c', 'exit 3', store='other.db', code=3)
    assert fleet('run', '--', 'sh', '-c', 'kill -9 $$', store='other.db', code=137)
    assert fleet('run', '--', './no-such-program', store='other.db', code=127)


def forget_races(store):
    d = sqlite3.connect(store)
    for table in ('races', 'sightings'):
        d.execute('DELETE FROM ' + table)
    d.execute('UPDATE pairs SET confirmed = 0, chased = 0')
    d.execute('UPDATE programs SET chases = 0, capers = 1000000')
    d.commit()
    d.close()


def live(spool):
    return [n for n in os.listdir(spool) if n.endswith('.live')]


def kill_beside(store):
    """The process that talks to the store outlives the command; as if the machine had died."""
    for pid in filter(str.isdigit, os.listdir('/proc')):
        try:
            with open('/proc/%s/cmdline' % pid) as f:
                words = f.read().split('\0')
            if HEDDLE in words and store in words:
                os.kill(int(pid), signal.SIGKILL)
        except OSError:
            pass


@case
def what_a_killed_run_saw_is_put_by_the_next():
    """Somebody else holds the store while the race is seen; then heddle and program are killed."""
    copy('s.db', 'k.db')
    forget_races('k.db')
    os.mkdir('k.db.spool')
    old = set()
    for _ in range(4):  # pairs that do not race are chased as well
        p = subprocess.Popen([HEDDLE, 'fleet', 'run', '--store', 'k.db', '--wait', WAIT, '--', './racy',
                              '100000', '1500'], stdout=subprocess.DEVNULL, start_new_session=True)
        while not set(live('k.db.spool')) - old or old & set(live('k.db.spool')):  # it puts what the one before left
            assert p.poll() is None, (p.returncode, os.listdir('k.db.spool'), status('k.db'))
            time.sleep(0.01)
        d = sqlite3.connect('k.db', isolation_level=None)
        d.execute('BEGIN IMMEDIATE')
        before = status('k.db')['sightings']  # nobody puts anything now
        time.sleep(2.5)
        os.killpg(p.pid, signal.SIGKILL)
        kill_beside('k.db')
        p.wait()
        d.execute('ROLLBACK')
        d.close()
        old = set(live('k.db.spool'))
        assert len(old) == 1, old
        assert status('k.db')['sightings'] == before, (status('k.db'), before)
    fleet('run', '--', './racy', '10', store='k.db', code=7)
    settle('k.db')
    assert not live('k.db.spool'), live('k.db.spool')
    done = [r for r in runs('k.db') if r.get('exit') == 0 and r['kind'] == 'chase']
    assert len(done) == 4, done
    assert status('k.db')['pairs']['confirmed'] >= 1, status('k.db')


@case
def waits_change_by_the_tries_of_a_pair():
    """1, 1, 2, 2, 1 ... ms, each in both orders."""
    copy('s.db', 'd.db')
    forget_races('d.db')
    tries = {}
    for _ in range(40):
        r = fleet('run', '--verbose', '--delay', '1ms,2ms', '--min-time', '100ms', '--', './racy', '1', store='d.db', code=7)
        for line in r.stderr.splitlines():
            m = re.search(r'chase (\S+), (\S+), waits of (\S+) ms', line)
            if m:
                tries.setdefault(tuple(sorted(m.group(1, 2))), []).append(m.groups())
    assert max(map(len, tries.values())) >= 5, tries
    for rows in tries.values():
        for i, (one, two, ms) in enumerate(rows):
            assert ms == '1122'[i % 4], rows
            assert (one, two) == (rows[0][:2] if i % 2 == 0 else rows[0][1::-1]), rows
    for bad in ('', '0ms', '10ms,', 'soon', ','.join(['1ms'] * 9)):
        r = fleet('run', '--delay', bad, '--', './racy', code=129)
        assert "option '--delay' takes up to 8 times like '10ms,30ms', not" in r.stderr, r.stderr


def runs(store):
    with Server(store) as s:
        return s.json('runs.json')['runs']


def copy(old, new):
    text = fleet('export', store=old).stdout
    fleet('import', '--quiet', '-', store=new, input=text)


class Server:
    def __init__(self, store):
        self.process = subprocess.Popen([HEDDLE, 'fleet', 'serve', '--store', store, '--listen',
                                         '127.0.0.1:0'], stdout=subprocess.PIPE,
                                        universal_newlines=True)
        self.url = self.process.stdout.readline().strip()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        assert self.process.wait(30) == 0
        self.process.stdout.close()

    def get(self, path, **more):
        with urllib.request.urlopen(urllib.request.Request(self.url + path, **more),
                                    timeout=60) as r:
            return r.read().decode()

    def json(self, path):
        return json.loads(self.get(path))

    def refuses(self, status, **more):
        try:
            self.get('', **more)
        except urllib.error.HTTPError as e:
            assert e.code == status, e.code
            return
        raise AssertionError('not refused')


@case
def the_page_shows_it_and_only_reads():
    with Server('s.db') as s:
        page = s.get('')
        assert 'confirmed' in page and 'racy' in page
        assert '://' not in page.replace('data:', ''), 'something external'
        assert s.json('status.json')['programs'][0]['name'] == 'racy'
        assert len(s.json('races.json')['races']) == len(races())
        assert s.json('runs.json')['runs'][0]['kind'] in ('caper', 'chase')
        assert '<html' in s.get('races')
        s.refuses(405, data=b'x')
        s.refuses(421, headers={'Host': 'evil.example'})


@case
def export_and_import_merge_stores():
    copy('s.db', 'm.db')
    text = fleet('export', store='m.db').stdout
    again = fleet('import', '-', store='m.db', input=text)
    assert ' 0 results imported' in again.stderr, again.stderr
    for key in ('pairs', 'races', 'sightings', 'sites', 'escaped'):
        assert status('m.db')[key] == status('s.db')[key], key
    assert fleet('export', store='m.db').stdout == text
    r = fleet('import', '-', store='m.db', input='{"fleet":1}\n', code=2)
    assert "cannot read '-': line 1: " in r.stderr, r.stderr


@case
def bad_stores_are_said():
    with open('noise.db', 'w') as f:
        f.write('x' * 5000)
    for words in (('status',), ('races',), ('check',), ('init',)):
        r = fleet(*words, store='noise.db', code=2)
        assert r.stderr == ("heddle: cannot open the store 'noise.db': file is not a database\n"), r
    r = fleet('status', store='none.db', code=2)
    assert 'unable to open database file' in r.stderr, r.stderr
    r = fleet('status', store='postgres://u:secret@/x?host=/proc/nonexistent', code=2)
    assert 'secret' not in r.stderr and 'cannot open the store' in r.stderr, r.stderr
    heddle('fleet', 'nonsense', code=129)
    heddle('fleet', 'run', code=129)


def killed_runs(store, total, at_once=6):
    """Runs at once, a tenth of them killed with their program. (killed, ended normally)"""
    dice = random.Random(5)
    going, killed, ended, started = {}, 0, 0, 0
    while started < total or going:
        while started < total and len(going) < at_once:
            p = subprocess.Popen([HEDDLE, 'fleet', 'run', '--store', store, '--wait', WAIT, '--lease', '3', '--',
                                  './racy', '20'], stdout=subprocess.DEVNULL,
                                 stderr=subprocess.PIPE, start_new_session=True)
            doomed = killed * 10 < started and dice.random() < 0.3
            going[p] = time.time() + dice.uniform(0, 0.15) if doomed else None
            started += 1
        for p in list(going):
            if going[p] and time.time() > going[p]:
                going[p] = None
                # heddle alone: the program goes on; or both
                (os.kill if dice.random() < 0.5 else os.killpg)(p.pid, signal.SIGKILL)
            if p.poll() is not None:
                assert p.returncode in (7, -signal.SIGKILL), p.returncode
                assert p.stderr.read() == b''
                p.stderr.close()
                killed += p.returncode == -signal.SIGKILL
                ended += p.returncode == 7
                del going[p]
        time.sleep(0.002)
    return killed, ended


def results(store):
    r = status(store)['runs']
    return r['plain'] + r['caper'] + r['chase']


def check_after(store, killed, ended, before=0):
    start = time.time()
    fleet('check', store=store) # whole, nothing locked
    assert time.time() - start < 15
    time.sleep(3.5) # leases of the dead, and their programs
    fleet('run', '--', './racy', '20', store=store, code=7) # puts what they left
    settle(store)
    s = status(store)
    r = s['runs']
    done = results(store) - before
    assert done >= ended + 1, (s, ended)
    assert done <= ended + killed + 1, (s, ended, killed)
    assert r['running'] == 0, s
    print('# %s: %d ended, %d killed; %d results, %d lost; pairs %s' % (
        'PostgreSQL' if '://' in store else 'SQLite', ended, killed, done, r['lost'], s['pairs']))
    return s


@case
def many_at_once_and_a_tenth_killed():
    fleet('init', './racy', store='b.db')
    s = check_after('b.db', *killed_runs('b.db', RUNS))
    assert s['pairs']['confirmed'] >= 1, s
    # An empty one is of a run that was killed while it made the file; it goes after a minute.
    left = [n for n in os.listdir('b.db.spool') if n.endswith(('.json', '.live', '.bad')) and
            os.path.getsize(os.path.join('b.db.spool', n))]
    assert not left, left


@case
def the_same_with_postgresql():
    if not POSTGRES:
        return 'PostgreSQL is not there'
    os.environ['XDG_STATE_HOME'] = os.path.join(os.getcwd(), 'state')
    loop(POSTGRES)
    before = results(POSTGRES)
    s = check_after(POSTGRES, *killed_runs(POSTGRES, RUNS // 2 if RUNS < 1000 else RUNS),
                    before=before)
    assert s['pairs']['confirmed'] >= 1, s


def main():
    here = tempfile.mkdtemp(prefix='heddle-fleet-')
    failed = 0
    try:
        os.chdir(here)
        for v in ('HEDDLE_FLEET_STORE', 'XDG_STATE_HOME'):
            os.environ.pop(v, None)
        subprocess.run([CC, '--production', '-O1', '-g', '-pthread', SOURCE, '-o', 'racy'], check=True)
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
