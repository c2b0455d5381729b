#!/usr/bin/env python3
"""The HTML report in a real browser: layout, filters, keys, speed and size.

    run.py HEDDLE CHROMIUM

Makes a result of 1,000 races, renders it, appends probe.js, which uses the page
as a person would, and reads what that saw from the page's own text. Wide and
narrow, light and dark.
"""
import json
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
RACES = 1000
STEPS = [('T0', 'fork(T1)'), ('T0', 'fork(T2)'), ('T2', 'acq(m)'), ('T2', 'r(x=0)'),
         ('T2', 'rel(m)'), ('T1', 'acq(m)'), ('T1', 'w(y)'), ('T2', 'w(y)')]
OBSERVED = [0, 1, 6, 7, 8, 3, 4, 9]  # events: T1 had the lock first


def access(n, side, event):
    name = 'function_%d_%d<b class="evil">' % (n, side)
    return {'event': event, 'thread': 'T%d' % (side + 1), 'op': 'write', 'bytes': 4,
            'location': 'src/file_%d.c:%d:7' % (n % 50, 10 + n), 'function': name, 'locks': [],
            'held': [], 'stack': [{'function': name, 'file': '/home/user/project/src/file_%d.c'
                                   % (n % 50), 'line': 10 + n, 'column': 7},
                                  {'function': 'main', 'file': 'src/main.c', 'line': 5}],
            'source': {'location': 'src/file_%d.c:%d:7' % (n % 50, 10 + n), 'line': 9 + n,
                       'marked': 1, 'text': ['{', '    counter += </script><b class="evil">;', '}']},
            'created': {'thread': 'T0', 'location': 'src/main.c:3:1', 'event': side}}


def race(n):
    steps = [{'step': i, 'event': OBSERVED[i], 'thread': t, 'operation': op,
              'location': 'src/main.c:%d:1' % (i + 1)} for i, (t, op) in enumerate(STEPS)]
    r = {'id': '%016x' % (n + 1), 'variable': 'variable_%d<img src=x onerror=evil=1>' % n,
         'engines': ['hb'] if n % 2 else ['hb', 'syncp'],
         'strength': 'maybe' if n % 4 == 3 else 'witnessed', 'count': 1 + n,
         'accesses': [access(n, 0, 4), access(n, 1, 9)]}
    if r['strength'] == 'witnessed':
        r['schedule'] = steps
        r['witness'] = OBSERVED
    return r


def make_result(path):
    races = [race(n) for n in range(RACES)]
    engines = [{'name': name, 'seconds': 0, 'complete': True, 'counters': {},
                'races': sum(name in r['engines'] for r in races)} for name in ('hb', 'syncp')]
    with open(path, 'w') as out:
        json.dump({'schema': 1, 'trace': {'path': 'prog.hdl', 'events': 10, 'threads': 3,
                                          'order': 'exact', 'values': True},
                   'engines': engines, 'races': races, 'deadlocks': [], 'suppressed': 0}, out)
    return {'total': RACES, 'ids': [r['id'] for r in races], 'threads': 3, 'steps': len(STEPS),
            'lockEdges': 1, 'maybe': sum(r['strength'] == 'maybe' for r in races),
            'syncp': engines[1]['races'],
            'seven': sum('variable_7' in r['variable'] for r in races)}


def browse(chromium, page, width, dark, home):
    command = [chromium, '--headless=new', '--no-sandbox', '--disable-gpu', '--hide-scrollbars',
               '--window-size=%d,900' % width, '--user-data-dir=' + home, '--no-first-run',
               '--virtual-time-budget=20000', '--disable-dev-shm-usage', '--dump-dom',
               '--disable-background-networking']
    if dark:
        command.append('--blink-settings=preferredColorScheme=0')
    done = subprocess.run(command + ['file://' + page], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, timeout=120)
    found = re.search(r'<pre id="probe">(.*?)</pre>', done.stdout.decode(), re.S)
    return json.loads(found.group(1).replace('&lt;', '<').replace('&gt;', '>')
                      .replace('&amp;', '&')) if found else None


def main(heddle, chromium):
    failed = 0
    with tempfile.TemporaryDirectory() as directory:
        result, plain = os.path.join(directory, 'r.json'), os.path.join(directory, 'r.html')
        expected = make_result(result)
        done = subprocess.run([heddle, 'report', '--format', 'html', '-o', plain, result])
        assert done.returncode == 66, done.returncode
        with open(plain) as page, open(os.path.join(HERE, 'probe.js')) as probe:
            text, script = page.read(), probe.read()
        assert len(text.encode()) < 5000000, 'the page has %d bytes' % len(text)
        assert not re.search(r'(?:src|href)\s*=\s*"?http|@import|url\(', text.split('id="result"')[0])
        with open(os.path.join(directory, 'probed.html'), 'w') as page:
            page.write(text.replace('</body>', '<script>const EXPECTED = %s;\n%s</script></body>'
                                    % (json.dumps(expected), script)))
        colours = {}
        for width, dark in ((1300, False), (1300, True), (390, False)):
            name = '%d pixels, %s' % (width, 'dark' if dark else 'light')
            seen = browse(chromium, os.path.join(directory, 'probed.html'), width, dark,
                          os.path.join(directory, 'home'))
            faults = ['the browser says nothing'] if not seen else seen['faults']
            if seen:
                colours[dark] = seen['colours']
                print('# %s: the slowest reaction took %.0f ms' % (name, seen['slowest']))
            print('%s - %s%s' % ('not ok' if faults else 'ok', name,
                                 ': ' + ', '.join(faults) if faults else ''))
            failed += bool(faults)
        if len(colours) == 2 and colours[True] == colours[False]:
            print('not ok - light and dark have the same colours')
            failed += 1
    return failed


if __name__ == '__main__':
    sys.exit(main(*sys.argv[1:]))
