#!/usr/bin/env python3
"""chase, litehb and fullhb on real programs.

    run.py BUILD SCRATCH [CASE...]

What must be found is looked for in up to 10 runs (chase samples); what must never be found is
run a few times. Every run of chase must keep its budget, by the numbers it gives itself:

    waited - late <= r_max * (max(ran, min_time) + delay)

and, since four fifths of r_max, at most 4 %, are left for what the build costs, in runs longer than t_min

    waited - late <= (r_max - reserve) * ran + reserve * t_min + r_max * delay

which hold by construction, on a machine of any speed.
"""
import json
import os
import re
import signal
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
TIMEOUT = 120

# scene, pairs of marks that race there, pairs that do not
SCENES = [
    ('race', ['write,read', 'read,write'], ['write,write', 'read,read']),
    ('self', ['self,self'], []),
    ('overlap', ['copy,poke', 'poke,copy'], ['poke,poke']),
    ('mixed', ['add,reset', 'reset,add'], ['add,add']),
    ('atomics', [], ['add,add']),
    ('locked', [], ['locked,locked']),
    ('readonly', [], ['onlyread,onlyread']),
    ('neighbours', [], ['left,right', 'right,left']),
    ('forkjoin', [], ['parent,child', 'child,joined', 'child,child']),
    ('semaphores', [], ['given,taken', 'taken,given']),
    ('flag', [], ['ping,pong', 'pong,ping']),
    ('barriers', [], ['step,seen', 'seen,step']),
    ('rwlocks', [], ['wrlock,rdlock', 'rdlock,wrlock', 'wrlock,wrlock']),
    ('conditions', [], ['signalled,waited', 'waited,signalled']),
    ('heap', [], ['heap,heap']),
]
# weak: hb sees no order between relaxed atomics; chase does not meet them, since each waits for the
# other
HB_ONLY = [('weak', ['weakping,weakpong', 'weakpong,weakping'])]


# the same for calls.c
CALLS = [
    ('blocks', ['memcmp,inside', 'inside,memcmp', 'memcpy,inside'],
     ['memcmp,behind', 'behind,memcmp', 'memcpy,behind', 'memcmp,memcmp', 'memcpy,memcpy']),
    ('strings', ['strlen,five', 'five,strlen'], ['strlen,twenty', 'snprintf,five', 'five,snprintf', 'twenty,strlen']),
    ('files', ['fill,look', 'look,fill', 'fill,change', 'empty,change', 'change,empty'],
     ['fill,outside', 'outside,fill', 'empty,look', 'look,empty', 'empty,outside']),
    ('ordered', [], ['take,before', 'before,take', 'take,compare', 'compare,take']),
    ('hidden', ['strtok,strtok', 'getenv,setenv', 'setenv,getenv'], ['getenv,getenv']),
]


class Fault(Exception):
    pass


def need(condition, text):
    if not condition:
        raise Fault(text)


class Test:
    def __init__(self, build, scratch, source='scenes.c'):
        self.build, self.source = build, os.path.join(HERE, source)
        self.heddle = os.path.join(build, 'heddle')
        self.driver = os.path.join(build, 'heddle-cc')
        self.scratch = scratch
        os.makedirs(scratch, exist_ok=True)
        self.program = self.compile(source[:-2], ['--production'])
        self.lines = {}
        with open(self.source) as text:
            for number, line in enumerate(text, 1):
                for mark in re.findall(r'@(\w+)', line):
                    self.lines.setdefault(mark, number)

    def compile(self, name, options):
        path = os.path.join(self.scratch, name)
        subprocess.run([self.driver, *options, '-g', '-O1', '-Wno-unused', self.source, '-o', path,
                        '-pthread'], check=True, timeout=TIMEOUT)
        return path

    def pair(self, marks):
        name = os.path.basename(self.source)
        return ','.join('+'.join('%s:%d' % (name, self.lines[m]) for m in side.split('+'))
                        for side in marks.split(','))

    def run(self, command, marks, scene, *options, environment=None, program=None):
        """The exit code, standard output, the result."""
        result = os.path.join(self.scratch, 'result.json')
        if os.path.exists(result):
            os.remove(result)
        done = subprocess.run(
            [self.heddle, command, *(['--pair', self.pair(marks)] if marks else []), '-f', 'json',
             '-o', result, *options, '--', program or self.program, scene],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True,
            timeout=TIMEOUT, env=environment)
        need(os.path.exists(result), '%s %s %s: no result: %s' % (command, marks, scene,
                                                                  done.stderr))
        with open(result) as text:
            found = json.load(text)
        if command == 'chase':
            self.check_budget(found, options)
        return done, found

    def check_budget(self, found, options):
        counters = found['engines'][0]['counters']
        rate, delay, least = 0.05, 10000, 1000000 # us
        for name, value in zip(options, options[1:]):
            if name == '--max-overhead':
                rate = float(value.rstrip('%')) / 100
            if name == '--delay':
                delay = int(value.replace('ms', '')) * 1000
            if name == '--min-time':
                least = int(value.replace('ms', '')) * 1000
        reserve = min(rate * 4 / 5, 0.04)
        most = max(rate * least, (rate - reserve) * counters['ran_us'] + reserve * least, delay) + rate * delay
        need(counters['waited_us'] - counters['late_us'] <= most + 2,
             'waited %d us, late %d us, at most %d us are allowed'
             % (counters['waited_us'], counters['late_us'], most))
        need(rate > 0 or counters['waits'] == 0, 'waited without a budget')

    def fine(self, done, scene, what):
        need(done.returncode in (0, 66) and done.stdout == 'played %s\n' % scene,
             '%s: exit code %d, output %r, %s' % (what, done.returncode, done.stdout, done.stderr))

    def must_find(self, command, marks, scene, *options, tries=10):
        for _ in range(tries):
            done, found = self.run(command, marks, scene, *options)
            self.fine(done, scene, '%s %s' % (command, marks))
            need((done.returncode == 66) == bool(found['races']), 'exit code')
            if found['races']:
                self.check_race(found, marks)
                return found
        raise Fault('%s: %s of scene %s was not found' % (command, marks, scene))

    def check_race(self, found, marks):
        race = found['races'][0]
        lines = [int(a['location'].split(':')[1]) for a in race['accesses']]
        need(lines == [self.lines[m] for m in marks.split(',')],
             'accesses at lines %s, not %s' % (lines, marks))
        need('write' in [a['op'] for a in race['accesses']] or
             any('rmw' in a['op'] for a in race['accesses']), 'no write')
        threads = [a['thread'] for a in race['accesses']]
        need(threads[0] != threads[1], 'one thread')
        for access in race['accesses']:
            need(access['stack'] and all(f.get('line') for f in access['stack']), 'no stack')

    def must_not_find(self, command, marks, scene, *options, runs=1):
        for _ in range(runs):
            done, found = self.run(command, marks, scene, *options)
            self.fine(done, scene, '%s %s' % (command, marks))
            need(not found['races'] and done.returncode == 0,
                 '%s: %s of scene %s is no race, but was reported' % (command, marks, scene))

    # ---- cases ----

    def case_chase(self):
        for scene, racy, clean in SCENES:
            for marks in racy:
                self.must_find('chase', marks, scene)
            for marks in clean:
                self.must_not_find('chase', marks, scene, '--max-overhead', '50%')

    def case_calls(self):
        """Calls of the C library: what they access, and no byte more; what a file orders."""
        calls = Test(self.build, self.scratch, 'calls.c')
        for scene, racy, clean in CALLS:
            for marks in racy:
                for command in ('chase', 'fullhb'):
                    calls.must_find(command, marks, scene)
            for marks in clean:
                calls.must_not_find('chase', marks, scene, '--max-overhead', '50%')
        for scene in ('ordered', 'files'):
            for marks in next(c[2] for c in CALLS if c[0] == scene):
                calls.must_not_find('fullhb', marks, scene)
        calls.must_find('chase', 'memcmp,inside', 'blocks', '--both-orders')
        calls.check_stacks()
        _, found = calls.run('chase', 'search,search', 'costly')
        need(found['engines'][0]['counters']['unpatched_hot'] >= 1, 'few long calls are hot, too')

    def check_stacks(self):
        """A handler that calls, while the call blocks: each is seen with its own stack."""
        for _ in range(10):
            done, found = self.run('chase', 'interrupted+inhandler,intobox', 'handlers', '--max-overhead', '50%')
            self.fine(done, 'handlers', 'handlers')
            for race in found['races']:
                names = [frame.get('function') for frame in race['accesses'][0]['stack']]
                need('blocks_in_read' in names and 'on_signal' not in names, 'the stack is %s' % names)
                return
        raise Fault('handlers: not found')

    def case_hb(self):
        for scene, racy, clean in SCENES:
            for marks in racy:
                for command in ('litehb', 'fullhb'):
                    self.must_find(command, marks, scene)
            for marks in clean:
                for command in ('litehb', 'fullhb'):
                    self.must_not_find(command, marks, scene)
        for scene, racy in HB_ONLY:
            for marks in racy:
                self.must_find('fullhb', marks, scene)

    def case_annotated(self):
        """What the program declared benign, or told us to ignore, is not reported; what is atomic there still orders."""
        for path, text in (('../../programs/annotate_norace_benign.c', 'hits++'),
                           ('../../programs/annotate_norace_ignore.c', 'counter +='), ('ignored.c', 'data = ')):
            source, name = os.path.join(HERE, path), os.path.basename(path)
            program = os.path.join(self.scratch, name[:-2])
            subprocess.run([self.driver, '--production', '-g', '-O0', source, '-o', program, '-pthread'], check=True, timeout=TIMEOUT)
            with open(source) as lines:
                at = ['%s:%d' % (name, number) for number, line in enumerate(lines, 1) if text in line]
            for command in ('fullhb', 'litehb', 'chase'):
                done = subprocess.run([self.heddle, command, '--pair', '%s,%s' % (at[0], at[-1]), '--', program],
                                      stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True, timeout=TIMEOUT)
                need(done.returncode == 0, '%s %s: %d: %s' % (command, name, done.returncode, done.stderr))

    def case_hb_engine(self):
        """The engine hb on a recording of the same program finds the same pairs."""
        recorded = self.compile('recorded', [])
        for scene, racy, clean in SCENES + [(s, r, []) for s, r in HB_ONLY]:
            result = os.path.join(self.scratch, 'hb.json')
            subprocess.run([self.heddle, 'run', '-q', '--engine', 'hb', '-f', 'json', '-o', result,
                            '--trace', os.path.join(self.scratch, 'hb.data'), '--', recorded,
                            scene], stdout=subprocess.DEVNULL, timeout=TIMEOUT)
            with open(result) as text:
                races = json.load(text)['races']
            found = {frozenset(int(a['location'].split(':')[1]) for a in r['accesses'])
                     for r in races}
            for marks, expected in [(m, True) for m in racy] + [(m, False) for m in clean]:
                lines = frozenset(self.lines[m] for m in marks.split(','))
                need((lines in found) == expected, 'hb: %s of scene %s' % (marks, scene))

    def case_ids(self):
        """A race has the id that it has in a recorded run; a result names a pair."""
        recorded = self.compile('recorded', [])
        result = os.path.join(self.scratch, 'run.json')
        subprocess.run([self.heddle, 'run', '-q', '-f', 'json', '-o', result, '--trace',
                        os.path.join(self.scratch, 'run.data'), '--', recorded, 'race'],
                       stdout=subprocess.DEVNULL, timeout=TIMEOUT)
        with open(result) as text:
            known = json.load(text)['races']
        need(len(known) == 1, 'one race is recorded')
        found = self.must_find('chase', 'write,read', 'race')
        need(found['races'][0]['id'] == known[0]['id'], 'the ids differ')
        done = subprocess.run([self.heddle, 'chase', '--pair', result + '#1', '--baseline', result,
                               '--both-orders', '--', self.program, 'race'],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=TIMEOUT)
        need(done.returncode == 0, 'the baseline has it')

    def case_lists(self):
        """A side may be several sites; a race is reported of the two that met."""
        for command in ('chase', 'fullhb'):
            for _ in range(10):
                done, found = self.run(command, 'left+write,right+read', 'race')
                if found['races']:
                    break
            need(len(found['races']) == 1, '%s: a pair of lists was not found' % command)
            self.check_race(found, 'write,read')
            self.must_not_find(command, 'left+write,right+write', 'race')

    def case_budget(self):
        for options in (['--max-overhead', '0%'], ['--max-overhead', '1%'],
                        ['--max-overhead', '20%', '--delay', '3ms'],
                        ['--max-overhead', '0.5%', '--delay', '1ms']):
            self.run('chase', 'self,self', 'self', *options)
        for _ in range(4): # asked for all the time, and never met
            self.run('chase', 'locked,locked', 'locked', '--max-overhead', '6%', '--min-time', '10ms', '--delay', '1ms')
        done, found = self.run('chase', 'self,self', 'self', '--max-overhead', '0%')
        need(found['engines'][0]['counters']['hits_s1'] >= 800 and not found['races'], 'r_max 0')

    def case_both_orders(self):
        self.must_find('chase', 'write,read', 'race', '--both-orders')
        self.must_not_find('chase', 'write,write', 'race', '--both-orders')

    def case_harm(self):
        """The program does not notice."""
        for scene, marks in [('errno', 'errno,errno'), ('fire', 'fired,firedagain'),
                             ('fire', 'fired,fired'), ('cancel', 'cancelled,cancelled'),
                             ('forks', 'self,self'), ('execs', 'self,self'),
                             ('exits', 'long,long'), ('many', 'once,once'), ('hot', 'hot,hot')]:
            for command in ('chase', 'litehb', 'fullhb'):
                options = ['--delay', '300ms', '--max-overhead', '90%'] if scene == 'exits' else []
                if command != 'chase':
                    options = []
                done, _ = self.run(command, marks, scene, *options)
                if scene == 'exits':
                    need(done.returncode in (0, 66), 'exits: %d' % done.returncode)
                else:
                    self.fine(done, scene, '%s %s' % (command, scene))

    def case_crowd(self):
        """64 and 1,000 threads at a time: all are followed, and what they race for is found."""
        for scene in ('crowd64', 'crowd1000'):
            for command in ('litehb', 'fullhb'):
                found = self.must_find(command, 'crowd,crowd', scene)
                need(found['engines'][0]['counters']['threads_not_tracked'] == 0, 'left out')
                self.must_not_find(command, 'queue,queue', scene)
            self.must_find('chase', 'crowd,crowd', scene)
            self.must_not_find('chase', 'queue,queue', scene, '--max-overhead', '50%')

    def case_stir(self):
        """Cancellation at any instruction, handlers that access the pair, forks: all at once."""
        for command in ('chase', 'litehb', 'fullhb'):
            for marks in ('stirred,stirred', 'stirred,handler', 'handler,stirred'):
                done, _ = self.run(command, marks, 'stir')
                self.fine(done, 'stir', '%s %s' % (command, marks))

    def case_own(self):
        """What we cost ourselves is known, and leaves less to wait."""
        _, found = self.run('chase', 'self,self', 'self')
        need(found['engines'][0]['counters']['own_us'] > 100, 'own cost')
        _, found = self.run('chase', 'self,self', 'self', '--max-overhead', '0.01%', '--delay', '1ms')
        need(found['engines'][0]['counters']['waits'] == 0, 'waited, though nothing was left to spend')

    def case_processes(self):
        found = self.must_find('chase', 'self,self', 'forks')
        need(found['engines'][0]['counters']['hits_s1'] > 1000, 'children are watched, too')
        self.must_find('chase', 'self,self', 'execs')

    def case_hot(self):
        _, found = self.run('chase', 'hot,hot', 'hot')
        counters = found['engines'][0]['counters']
        need(counters['unpatched_hot'] >= 1, 'a hot site was not unpatched')
        need(found['races'], 'and is not chased any more')

    def case_killed(self):
        for _ in range(10):
            done, found = self.run('chase', 'self,self', 'killed')
            need(done.returncode in (66, 128 + 9), 'killed: %d' % done.returncode)
            if done.returncode == 66:
                need(found['races'], 'lost')
                return
        raise Fault('killed: never found')

    def case_text(self):
        done = subprocess.run([self.heddle, 'chase', '-v', '--pair', self.pair('self,self'), '--',
                               self.program, 'self'], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, universal_newlines=True, timeout=TIMEOUT)
        need(done.stdout == 'played self\n', done.stdout)
        if done.returncode == 66:
            for text in ('race seen', 'confirmed', 'scenes.c:%d' % self.lines['self'],
                         'variable shared', '#0 '):
                need(text in done.stderr, '%r is not in the report: %s' % (text, done.stderr))

    def chase(self, *words):
        return subprocess.run([self.heddle, 'chase', *words], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, universal_newlines=True, timeout=TIMEOUT)

    def wait_for(self, what, text):
        end = time.time() + 30
        while time.time() < end:
            got = what()
            if got:
                return got
            time.sleep(0.02)
        raise Fault('in 30 s: ' + text)

    def case_pid(self):
        """The pair of a program that runs is switched on, and off again."""
        marker = os.path.join(self.scratch, 'marker')
        log = os.path.join(self.scratch, 'log')
        open(marker, 'w').close()
        with open(log, 'w') as errors:
            parent = subprocess.Popen(
                [self.heddle, 'chase', '-v', '--', self.program, 'long'], stderr=errors,
                stdout=subprocess.DEVNULL, env=dict(os.environ, SCENES_FILE=marker))
        try:
            self.switch(parent, log)
        finally:
            os.remove(marker)
            code = parent.wait(TIMEOUT)
        need(code == 66, 'pid: exit code %d' % code)

    def child_of(self, parent):
        with open('/proc/%d/task/%d/children' % (parent, parent)) as text:
            return text.read().split()

    def switch(self, parent, log):
        pid = self.wait_for(lambda: self.child_of(parent.pid), 'the program starts')[0]
        self.wait_for(lambda: 'heddle-control-' in open('/proc/%s/maps' % pid).read(),
                      'it maps its control file')
        done = self.chase('--pid', pid, '--pair', self.pair('locked,locked'))
        need(done.returncode == 0, done.stderr)
        need('race seen' not in open(log).read(), 'another pair')
        done = self.chase('--pid', pid, '--pair', self.pair('run,run'))
        need(done.returncode == 0 and not done.stderr, done.stderr)
        self.wait_for(lambda: 'race seen' in open(log).read(), 'the race is seen')
        done = self.chase('--pid', pid, '--stop')
        need(done.returncode == 0 and not done.stderr, done.stderr)
        done = self.chase('--pid', pid, '--pair', 'nothing.c:1,nothing.c:2')
        need(done.returncode == 2 and 'nothing.c' in done.stderr, done.stderr)

    def start_long(self, environment=None):
        """A program that runs until its marker is removed: the command's process, the program's number."""
        marker = os.path.join(self.scratch, 'marker')
        open(marker, 'w').close()
        parent = subprocess.Popen(
            [self.heddle, 'chase', '-q', '--', self.program, 'long'], stderr=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, env=dict(environment or os.environ, SCENES_FILE=marker))
        pid = self.wait_for(lambda: self.child_of(parent.pid), 'the program starts')[0]
        self.wait_for(lambda: 'heddle-control-' in open('/proc/%s/maps' % pid).read(),
                      'it maps its control file')
        return parent, pid, marker

    def controls(self, folder):
        return sorted(f for f in os.listdir(folder) if f.startswith('heddle-control-'))

    def case_orphans(self):
        """A command that is killed leaves its control file; the next one removes it, and no other."""
        folder = os.path.join(self.scratch, 'run')
        os.makedirs(folder, exist_ok=True)
        for f in os.listdir(folder):
            os.remove(os.path.join(folder, f))
        environment = dict(os.environ, XDG_RUNTIME_DIR=folder)
        for name, text in (('heddle-control-else', 'not ours'), ('heddle-control-zero', chr(0) * 999999)):
            with open(os.path.join(folder, name), 'w') as out:
                out.write(text)
        os.symlink('/dev/null', os.path.join(folder, 'heddle-control-link'))
        foreign = self.controls(folder)
        first, first_pid, marker = self.start_long(environment)
        orphan = [f for f in self.controls(folder) if f not in foreign]
        first.kill()
        first.wait()
        need([f for f in self.controls(folder) if f not in foreign] == orphan, 'a killed command leaves it')
        second, _, _ = self.start_long(environment)
        left = [f for f in self.controls(folder) if f not in foreign]
        need(len(left) == 1 and left != orphan, 'the next command: %s, %s' % (left, orphan))
        done = self.chase('--pid', first_pid, '--stop')
        need(done.returncode == 2 and 'is gone' in done.stderr, done.stderr)
        self.run('chase', 'self,self', 'self', environment=environment)
        need([f for f in self.controls(folder) if f not in foreign] == left, 'of a command that runs')
        os.remove(marker)
        need(second.wait(TIMEOUT) == 0, 'second')
        need(self.controls(folder) == foreign, 'files of others are left alone')

    def case_pid_faults(self):
        """Processes that end, are stopped, or belong to somebody else."""
        parent, pid, marker = self.start_long()
        try:
            os.kill(int(pid), signal.SIGSTOP)
            done = self.chase('--pid', pid, '--pair', self.pair('run,run'))
            need(done.returncode == 0 and 'is stopped' in done.stderr, done.stderr)
            os.kill(int(pid), signal.SIGCONT)
            done = subprocess.run([self.heddle, 'litehb', '--pid', pid, '--stop'],
                                  stderr=subprocess.PIPE, universal_newlines=True, timeout=TIMEOUT)
            need(done.returncode == 129, 'only chase has --pid')
            os.kill(int(pid), signal.SIGSTOP)
            change = subprocess.Popen([self.heddle, 'chase', '--pid', pid, '--pair', self.pair('run,run')],
                                      stderr=subprocess.PIPE, universal_newlines=True)
            time.sleep(0.3)
            os.kill(int(pid), signal.SIGKILL)
            _, errors = change.communicate(timeout=TIMEOUT)
            need(change.returncode == 2 and 'has ended' in errors, errors)
        finally:
            os.remove(marker)
            parent.wait(TIMEOUT)
        child = subprocess.Popen(['true'])
        self.wait_for(lambda: ') Z ' in open('/proc/%d/stat' % child.pid).read(), 'it ends')
        done = self.chase('--pid', str(child.pid), '--stop')
        need(done.returncode == 2 and 'has ended' in done.stderr, done.stderr)
        child.wait()
        if os.geteuid() == 0:
            done = subprocess.run(['setpriv', '--reuid=65534', '--clear-groups', self.heddle, 'chase', '--pid',
                                   '1', '--stop'], stderr=subprocess.PIPE, universal_newlines=True)
        else:
            done = self.chase('--pid', '1', '--stop')
        need(done.returncode == 2 and 'belongs to another user' in done.stderr, done.stderr)

    def case_errors(self):
        done = self.chase('--pid', str(os.getpid()), '--stop')
        need(done.returncode == 2 and 'has no control file' in done.stderr, done.stderr)
        done = self.chase('--pid', '4194999', '--stop')
        need(done.returncode == 2 and 'there is none' in done.stderr, done.stderr)
        done = self.chase('--pair', 'scenes.c:1,scenes.c:1', '--', self.program, 'race')
        need(done.returncode == 2, done.stderr)
        plain = os.path.join(self.scratch, 'plain')
        subprocess.run(['cc', '-w', self.source, '-o', plain, '-pthread'], check=True, timeout=TIMEOUT)
        done = self.chase('--', plain, 'readonly')
        need(done.returncode == 2 and 'heddle-cc --production' in done.stderr, done.stderr)


def main(build, scratch, *wanted):
    test = Test(os.path.abspath(build), os.path.abspath(scratch))
    cases = [name[5:] for name in sorted(dir(test)) if name.startswith('case_')]
    failed = 0
    for name in wanted or cases:
        start = time.time()
        try:
            getattr(test, 'case_' + name)()
            print('ok %s (%.1f s)' % (name, time.time() - start), flush=True)
        except (Fault, subprocess.TimeoutExpired) as fault:
            print('FAILED %s: %s' % (name, fault), flush=True)
            failed += 1
    return failed > 0


if __name__ == '__main__':
    sys.exit(main(*sys.argv[1:]))
