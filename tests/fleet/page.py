#!/usr/bin/env python3
"""What a store may contain that others write to, and who may connect to its page.

    page.py HEDDLE [CHROMIUM]

TAP. Stores with markup, escape sequences and commands in every field, rows that Heddle cannot have
written, damaged files; results and spools of that kind; slow and odd clients. Everything is looked
at as a reader of that format would: a parser of HTML and XML, and a real browser where there is one.
"""
import html.parser
import http.client
import json
import os
import random
import re
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree

HEDDLE = os.path.abspath(sys.argv[1])
CHROMIUM = sys.argv[2] if len(sys.argv) > 2 else None
P = '%032x' % 1
tests = []

# Each is obeyed somewhere: markup, attributes, scripts, terminals, workflow commands, bidi.
NASTY = ('</script></title><script>document.title="PWNED"</script><img src=x onerror="document.title='
         '\'PWNED\'"><svg/onload=document.title=\'PWNED\'><b class=evil>\' onmouseover=evil() x=\'" '
         'style="position:fixed" ]]> %0A::error::evil &lt;')
UNCLEAN = '\x1b]0;PWNED\x07\x1b[2J\r\n::error title=evil::evil\n\u202e\x7f\x9b31m'


def case(f):
    tests.append(f)
    return f


def heddle(*words, code=0, **more):
    r = subprocess.run([HEDDLE, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                       timeout=120, **more)
    assert code is None or r.returncode == code, (words, r.returncode, r.stdout, r.stderr)
    return r


def fleet(word, *rest, store='s.db', **more):
    return heddle('fleet', word, '--store', store, *rest, **more)


# ---- results ----

def access(n, text):
    return {'event': n, 'thread': 'T' + text, 'thread_name': text, 'op': 'write', 'bytes': 4,
            'location': text + ':7', 'function': text, 'locks': [text],
            'held': [{'lock': text, 'location': text, 'event': 0}],
            'stack': [{'function': text, 'file': text, 'line': 3}, {'location': text}],
            'source': {'location': text, 'line': 1, 'marked': 0, 'text': [text, text]},
            'created': {'thread': text, 'location': text, 'event': 0}}


def race(text, ident='%016x' % 0xabcd):
    return {'id': ident, 'variable': text, 'engines': ['chase'], 'strength': 'confirmed',
            'count': 1, 'accesses': [access(0, text), access(1, text)]}


def result(number, **more):
    r = {'fleet': 1, 'run': '%032x' % number, 'kind': 'plain', 'program': P, 'name': 'prog',
         'path': '/bin/prog', 'host': 'here', 'pid': 7, 'started': 1794787201000,
         'ended': 1794787202000, 'exit': 0, 'dropped': 0}
    r.update(more)
    return r


def chase(run, text, **more):
    seen = {'number': 1, 's1': '0000000a:1', 's2': '0000000a:2', 'count': 3, 'seen': 1794787201500,
            'id': '%016x' % 0xabcd, 'race': race(text)}
    seen.update(more)
    return result(run, kind='chase', s1='0000000a:1', s2='0000000a:2', sightings=[seen])


def static(number, text):
    return result(number, kind='static', sites=[['0000000a:%d' % i, text, text, 'write', 0, 0]
                                                for i in (1, 2)], classes=[[0, 0, 0]])


def lines(*results):
    return ''.join(json.dumps(r) + '\n' for r in results).encode()


def nasty_store(path):
    """Everything that is text is hostile, as far as import lets it in."""
    fleet('import', '--quiet', '-', store=path, input=lines(
        static(1, NASTY), chase(2, NASTY, race=race(NASTY)),
        result(3, name=NASTY, path=NASTY, host=NASTY, note=NASTY)))
    return path


# ---- reading what comes out ----

class Page(html.parser.HTMLParser):
    """Tags and attributes; text within scripts apart."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.faults = set(), []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        for key, value in attrs:
            if key.startswith('on') or key == 'style' or (key == 'class' and value == 'evil'):
                self.faults.append((tag, key, value))
        a = dict(attrs)
        if tag == 'script' and a.get('src') != 'report.js' and a.get('type') != 'application/json':
            self.faults.append((tag, attrs))
        if tag in ('img', 'b', 'iframe', 'base', 'meta') and ('src' in a or 'http-equiv' in a or
                                                              a.get('class') == 'evil'):
            self.faults.append((tag, attrs))


def is_harmless_page(text):
    page = Page(text)
    assert not page.faults, page.faults
    assert 'img' not in page.tags and 'style' not in page.tags, page.tags


def is_harmless_text(text):
    for c in text.decode():
        assert c == '\n' or (c.isprintable() and c not in '\u202e\u2066\u2028'), repr(text)


def outputs(store):
    """All formats of the races, each taken apart."""
    for name in ('text', 'json', 'sarif', 'junit', 'html', 'github'):
        out = fleet('races', '--format', name, store=store, code=66).stdout
        is_harmless_report(name, out, 2)
    for words in (('status',), ('status', '--format', 'json'), ('export',)):
        out = fleet(*words, store=store).stdout
        is_harmless_text(out)


class Server:
    def __init__(self, store, **more):
        self.process = subprocess.Popen([HEDDLE, 'fleet', 'serve', '--store', store, '--listen',
                                         '127.0.0.1:0'], stdout=subprocess.PIPE,
                                        universal_newlines=True, stderr=subprocess.DEVNULL, **more)
        self.url = self.process.stdout.readline().strip()
        self.port = int(self.url.rsplit(':', 1)[1].strip('/'))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        try:
            assert self.process.wait(60) == 0
        finally:
            self.process.kill()
            self.process.stdout.close()

    def get(self, path='/', method='GET', timeout=60, headers=None):
        c = http.client.HTTPConnection('127.0.0.1', self.port, timeout=timeout)
        c.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        for k, v in ({'Host': 'localhost'} if headers is None else headers).items():
            c.putheader(k, v)
        c.endheaders()
        r = c.getresponse()
        body = r.read().decode()
        c.close()
        return r.status, dict(r.getheaders()), body

    def say(self, data):
        """Raw bytes; the socket."""
        s = socket.create_connection(('127.0.0.1', self.port), timeout=60)
        s.sendall(data)
        return s


# ---- cases ----

@case
def markup_in_every_field_is_text_in_every_format():
    outputs(nasty_store('n.db'))
    r = fleet('races', '--format', 'json', store='n.db', code=66)
    assert json.loads(r.stdout)['races'][0]['variable'] == NASTY, r.stdout


def is_harmless_report(name, out, commands):
    is_harmless_text(out)
    if name in ('json', 'sarif'):
        json.loads(out)
    elif name == 'junit':
        tags = {e.tag for e in xml.etree.ElementTree.fromstring(out).iter()}
        assert tags == {'testsuites', 'testsuite', 'testcase', 'failure'}, tags
    elif name == 'github':
        assert all(line.startswith('::error ') for line in out.decode().splitlines()), out
        assert len(out.decode().splitlines()) == commands, out
    elif name == 'html':
        page = Page(out.decode())
        assert 'img' not in page.tags and 'svg' not in page.tags, page.tags


@case
def reports_of_results_of_other_tools_are_harmless_too():
    """There any text may be an id, also of a deadlock."""
    request = dict(access(0, NASTY), lock=NASTY)
    requests = [dict(request, event=i, thread='T%d' % i, holder={
        'thread': 'T%d' % (1 - i), 'location': NASTY, 'event': i}) for i in (0, 1)]
    text = NASTY + UNCLEAN + '\ufffe\uffff'
    with open('r.json', 'w') as f:
        json.dump({'schema': 1, 'test': text, 'trace': {'path': text, 'events': 2, 'threads': 2,
                                                        'order': 'exact', 'values': False},
                   'engines': [{'name': 'chase', 'seconds': 0, 'complete': True, 'races': 1}],
                   'races': [race(text, text)], 'suppressed': 0,
                   'deadlocks': [{'id': text, 'engines': ['chase'], 'strength': 'witnessed',
                                  'count': 1, 'requests': requests}]}, f)
    for name in ('text', 'json', 'sarif', 'junit', 'html', 'github'):
        out = heddle('report', '--format', name, 'r.json', code=66).stdout
        is_harmless_report(name, out, 4)


@case
def the_page_is_harmless_and_forbids_inline_scripts():
    with Server(nasty_store('p.db')) as s:
        for path in ('/', '/races'):
            status, headers, body = s.get(path)
            assert status == 200 and len(body) > 500, (status, body)
            is_harmless_page(body)
            policy = headers['Content-Security-Policy']
            assert "default-src 'none'" in policy and 'unsafe-inline' not in policy, policy
            assert "frame-ancestors 'none'" in policy and "base-uri 'none'" in policy, policy
            assert headers['X-Content-Type-Options'] == 'nosniff', headers
            assert headers['Referrer-Policy'] == 'no-referrer', headers
        for path, kind in (('/report.js', 'text/javascript'), ('/report.css', 'text/css'),
                           ('/fleet.css', 'text/css'), ('/status.json', 'application/json'),
                           ('/races.json', 'application/json'), ('/runs.json', 'application/json')):
            status, headers, body = s.get(path)
            assert status == 200 and headers['Content-Type'].startswith(kind), (path, headers)
            assert kind != 'application/json' or json.loads(body)


@case
def a_browser_runs_nothing_of_a_store():
    if not CHROMIUM:
        return 'no browser'
    with Server(nasty_store('c.db')) as s:
        for path in ('', 'races'):
            with tempfile.TemporaryDirectory() as home:
                r = subprocess.run([CHROMIUM, '--headless=new', '--no-sandbox', '--disable-gpu',
                                    '--user-data-dir=' + home, '--no-first-run',
                                    '--disable-dev-shm-usage', '--disable-background-networking',
                                    '--virtual-time-budget=5000', '--dump-dom', s.url + path],
                                   stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=120)
            dom = r.stdout.decode()
            assert '<title>PWNED' not in dom, dom[:2000]
            assert 'class="evil"' not in dom.replace('&quot;', ''), dom[:2000]
            assert 'heddle' in re.search('<title>(.*?)</title>', dom, re.S).group(1), dom[:500]
            if path == 'races':  # its own script ran
                assert '1 of 1' in dom and 'confirmed 1' in dom, dom[:3000]


@case
def bad_results_are_refused_and_named_and_others_taken():
    bad = [result(10, program=NASTY), result(11, run=NASTY), result(12, kind=NASTY),
           result(13, name=UNCLEAN), result(14, note=UNCLEAN), result(15, pid=-1),
           result(16, s1=NASTY, s2=NASTY), result(17, kind='caper', escaped=[NASTY]),
           chase(18, 'x', id=NASTY), chase(19, 'x', s1=NASTY), chase(20, 'x', race=race('x', NASTY)),
           chase(21, 'x', race={}), chase(22, 'x', number=1 << 40), chase(23, 'x', count=-1),
           result(24, host='h' * 100000), static(25, UNCLEAN),
           chase(26, 'x', race=dict(race('x'), strength='witnessed')),
           result(27, started=1 << 62)]
    r = fleet('import', '-', store='b.db', code=2, input=lines(result(1), *bad, result(2)) +
              b'[' * 100000 + b'\n' + b'\xff\xfe\n')
    is_harmless_text(r.stderr)
    text = r.stderr.decode()
    assert "cannot read '-': line 2: program: expected 32 hex digits" in text, text
    assert '2 results imported, 0 were there, %d refused' % (len(bad) + 2) in text, text
    r = json.loads(fleet('status', '--format', 'json', store='b.db').stdout)
    assert r['programs'][0]['runs']['plain'] == 2, r


def poke(store, *statements):
    d = sqlite3.connect(store)
    for s in statements:
        d.execute(*((s,) if isinstance(s, str) else s))
    d.commit()
    d.close()


@case
def what_is_already_there_is_skipped_and_named():
    fleet('import', '--quiet', '-', store='w.db', input=lines(static(1, 'a.c:1'), chase(2, 'x')))
    other = '%016x' % 0xabce
    poke('w.db', ('INSERT INTO programs (id, name) VALUES (?, ?)', (NASTY, NASTY)),
         ('INSERT INTO races SELECT program, ?, a, b, swapped, first_run, first_seen, json'
          ' FROM races', (NASTY,)),
         ('INSERT INTO sightings SELECT run, 2, program, a, b, swapped, ?, seen, count, json'
          ' FROM sightings', (NASTY,)),
         ('INSERT INTO races SELECT program, ?, a, b, swapped, first_run, first_seen, ?'
          ' FROM races WHERE id = ?', (other, UNCLEAN, '%016x' % 0xabcd)),
         ('INSERT INTO sightings SELECT run, 3, program, a, b, swapped, ?, seen, count, json'
          ' FROM sightings WHERE number = 1', (other,)),
         ('INSERT INTO runs (id, program, kind, started, host) VALUES (?, ?, ?, 1, ?)',
          (NASTY, NASTY, NASTY, UNCLEAN)),
         ("UPDATE programs SET name = ?, note = ? WHERE id = ?", (UNCLEAN, UNCLEAN, P)))
    r = fleet('races', store='w.db', code=66)
    is_harmless_text(r.stdout + r.stderr)
    assert b'1 race in' in r.stdout, r.stdout
    assert r.stderr.count(b'heddle: warning: skipped: ') == 3, r.stderr
    assert other.encode() in r.stderr and b"program '</script>" in r.stderr, r.stderr
    outputs('w.db')
    with Server('w.db') as s:
        body = s.get('/')[2]
        is_harmless_page(body)
        assert 'rows that Heddle cannot have written' in body, body
        json.loads(s.get('/runs.json')[2])


@case
def tables_without_rules_do_no_harm():
    """The schema is whose file it is: NULL, texts and blobs everywhere."""
    fleet('import', '--quiet', '-', store='t.db', input=lines(static(1, 'a.c:1'), chase(2, 'x')))
    d = sqlite3.connect('t.db')
    tables = [r[0] for r in d.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    for t in tables:
        columns = [r[1] for r in d.execute('PRAGMA table_info(%s)' % t)]
        d.execute('ALTER TABLE %s RENAME TO old' % t)
        d.execute('CREATE TABLE %s (%s)' % (t, ', '.join(columns)))
        d.execute('INSERT INTO %s SELECT * FROM old' % t)
        d.execute('DROP TABLE old')
        if t != 'meta':
            for value in (None, NASTY, b'\xff\x00\x1b', -1 << 63, 1e300):
                d.execute('INSERT INTO %s VALUES (%s)' % (t, ', '.join('?' * len(columns))),
                          [value] * len(columns))
    d.commit()
    d.close()
    for words in (('status',), ('races',), ('export',), ('status', '--format', 'json')):
        r = fleet(*words, store='t.db', code=None)
        assert r.returncode in (0, 2, 66), r
        is_harmless_text(r.stdout + r.stderr)
    with Server('t.db') as s:
        for path in ('/', '/races', '/status.json', '/runs.json', '/races.json'):
            assert s.get(path)[0] in (200, 500)
    r = heddle('fleet', 'run', '--store', 't.db', '--', '/bin/echo', 'hello')
    assert r.stdout == b'hello\n', r


@case
def a_view_without_an_end_is_given_up():
    fleet('import', '--quiet', '-', store='v.db', input=lines(static(1, 'a.c:1')))
    poke('v.db', 'DROP TABLE races', 'CREATE VIEW races AS SELECT load_extension(1) AS program')
    r = fleet('races', store='v.db', code=None)
    assert r.returncode not in (0, 66) and b'heddle: ' in r.stderr, r


@case
def damaged_files_are_said_or_read():
    fleet('import', '--quiet', '-', store='d.db', input=lines(
        static(1, 'a.c:1'), *[chase(i, 'x') for i in range(2, 40)]))
    poke('d.db', 'PRAGMA journal_mode=DELETE')
    with open('d.db', 'rb') as f:
        whole = f.read()
    dice = random.Random(23)
    for i in range(40):
        data = bytearray(whole)
        for _ in range(dice.choice((1, 3, 30, 300))):
            data[dice.randrange(len(data))] = dice.randrange(256)
        if i % 4 == 0:
            del data[dice.randrange(len(data)):]
        for ending in ('', '-wal', '-shm', '-journal'):
            if os.path.exists('x.db' + ending):
                os.remove('x.db' + ending)
        with open('x.db', 'wb') as f:
            f.write(data)
        for words in (('status',), ('races',), ('export',), ('check',)):
            r = fleet(*words, store='x.db', code=None)
            assert r.returncode in (0, 2, 66), (i, words, r)
            is_harmless_text(r.stderr)
    shutil.rmtree('x.db.spool', ignore_errors=True)
    r = heddle('fleet', 'run', '--store', 'x.db', '--', '/bin/echo', 'hello')
    assert r.stdout == b'hello\n', r


@case
def hostile_files_in_the_spool_are_put_away():
    fleet('import', '--quiet', '-', store='q.db', input=lines(result(1)))
    os.mkdir('q.db.spool')
    name = lambda n, ending: 'q.db.spool/%032x.%s' % (n, ending)
    files = {name(2, 'json'): lines(result(2, name=UNCLEAN)), name(3, 'json'): b'',
             name(4, 'json'): b'\0' * 5000, name(5, 'json'): b'[' * 100000,
             name(6, 'json'): lines(result(6)), name(7, 'seen'): lines(chase(7, 'x')),
             name(8, 'live'): lines(result(8, note='/etc/passwd', ended=0)),
             name(9, 'live'): b'junk'}
    for path, data in files.items():
        with open(path, 'wb') as f:
            f.write(data)
    os.mkdir(name(10, 'json'))
    os.mkfifo(name(11, 'json'))
    os.mkfifo(name(12, 'live'))
    os.symlink('/dev/zero', name(13, 'json'))
    os.symlink('/etc/passwd', name(14, 'json'))
    with open('/etc/passwd', 'rb') as f:
        before = f.read()
    r = fleet('check', store='q.db', code=2)
    assert b'2 results of the spool were put' in r.stderr or b'1 results of' in r.stderr, r.stderr
    left = [n for n in os.listdir('q.db.spool') if n.endswith(('.json', '.seen'))]
    assert not left, left
    assert fleet('check', store='q.db').stderr == b''
    r = heddle('fleet', 'run', '--store', 'q.db', '--', '/bin/echo', 'hello')
    assert r.stdout == b'hello\n', r
    with open('/etc/passwd', 'rb') as f:
        assert f.read() == before


# ---- clients ----

def is_served(s, within=5):
    began = time.time()
    status = s.get('/', timeout=within)[0]
    assert status == 200 and time.time() - began < within, (status, time.time() - began)


@case
def slow_clients_keep_nobody_out():
    """600 that never finish a request, and those that never read the answer; nobody waits."""
    nasty_store('slow.db')
    with Server('slow.db') as s:
        is_served(s)
        kinds = (b'', b'G', b'GET / HTTP/1.1\r\n', b'GET / HTTP/1.1\r\nHost: localhost\r\nX: ',
                 b'POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n\r\nx',
                 b'GET /races HTTP/1.1\r\nHost: localhost\r\n\r\n')
        slow = []
        for i in range(600):
            slow.append(s.say(kinds[i % len(kinds)]))
            if i % 100 == 99:
                is_served(s)
                for c in slow[-50:]:
                    try:
                        c.sendall(b'x')  # a byte now and then
                    except OSError:
                        pass
        is_served(s)
        for c in slow:
            c.close()
        is_served(s)


@case
def slow_clients_and_few_descriptors():
    import resource
    nasty_store('few.db')
    with Server('few.db', preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE,
                                                                 (64, 64))) as s:
        slow = [s.say(b'G') for _ in range(150)]
        is_served(s, 20)
        for c in slow:
            c.close()


@case
def a_slow_request_ends():
    """A byte every second is not silence, and still has an end."""
    with Server(nasty_store('e.db')) as s:
        c = s.say(b'GET /')
        c.settimeout(1)
        for _ in range(60):
            try:
                c.sendall(b'x')
                if c.recv(100) == b'':
                    break
            except socket.timeout:
                continue
            except OSError:
                break
        else:
            raise AssertionError('it goes on for ever')
        is_served(s)


@case
def odd_requests_are_answered():
    with Server(nasty_store('o.db')) as s:
        for path in ('/..', '/../../etc/passwd', '/%2e%2e/etc/passwd', '//', '/x', '/races/', '/RACES',
                     '/' + 'a' * 4000, '/<script>alert(1)</script>'):
            status, headers, body = s.get(path)
            assert status == 404 and body == 'not found\n', (path, status, body)
            assert headers['Content-Type'].startswith('text/plain'), headers
        assert s.get('/?x=' + 'y' * 1000)[0] == 200
        assert s.get('/%00')[0] in (200, 404)
        status, headers, body = s.get('/', method='HEAD')
        assert status == 200 and body == '' and int(headers['Content-Length']) > 500
        for method in ('POST', 'PUT', 'DELETE', 'OPTIONS', 'TRACE', 'BREW', 'CONNECT'):
            status, headers, body = s.get('/', method=method)
            assert status == 405 and headers['Allow'] == 'GET, HEAD', (method, status)
        assert s.get('/', headers={'Host': 'evil.example'})[0] == 421
        assert s.get('/', headers={'Host': 'localhost', 'X': 'y' * 50000})[0] in (413, 431)
        assert s.get('/', headers={})[0] == 400
        for data in (b'\0\0\0\0', b'\x16\x03\x01\x02\x00\x01', b'GET\r\n\r\n', b'GET / HTTP/9.9\r\n\r\n',
                     b'GET http://evil/ HTTP/1.1\r\nHost: localhost\r\n\r\n', b'\r\n' * 5000):
            s.say(data).close()
        is_served(s)


def main():
    here = tempfile.mkdtemp(prefix='heddle-page-')
    failed = 0
    try:
        os.chdir(here)
        os.environ.pop('HEDDLE_FLEET_STORE', None)
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
