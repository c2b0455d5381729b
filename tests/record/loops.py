#!/usr/bin/env python3
"""Loops of every kind: with and without elimination a recording has the same bytes.

    loops.py BUILD [SEED [LOOPS]]

Writes a program of random loops (counted up and down, by one and by several, from variable bounds,
with exits in the middle, one inside the other, of elements of all sizes), each in a function of its own,
records it compiled both ways, and compares what each function wrote, and what it read or wrote: the same
bytes of the same arrays. (What it only read may differ: a read of what the loop wrote before it
is not recorded.) The number of rounds comes from variables that the compiler does not know.
"""
import os
import random
import re
import subprocess
import sys
import tempfile

BUILD = os.path.abspath(sys.argv[1])
SEED = int(sys.argv[2]) if len(sys.argv) > 2 else 1
LOOPS = int(sys.argv[3]) if len(sys.argv) > 3 else 60
TYPES = {'char': 1, 'short': 2, 'int': 4, 'long': 8}
SIZE = 128


def access(r, index):
    array = r.choice(list(TYPES))
    at = f'{array}_{r.randrange(2)}[{index}]'
    other = f'{r.choice(list(TYPES))}_{r.randrange(2)}[{index}]'
    return r.choice([f's += {at};', f'{at} = s + i;', f'{at}++;', f'{at} = {other};', f'{at} = {other} + 1;',
                     f'if (s & 1) {at} = 2;', f'if ({other} == 77) break;', f'if (i == end) break;'])


def loop(r, depth=0):
    step, low, high = r.choice([1, 1, 1, 2, 3]), r.randrange(0, 8), r.randrange(0, 24)
    i = 'ij'[depth]
    index = r.choice([i, i, f'{i} + 1', f'2 * {i}', f'{i} + {4 * depth}', f'40 - {i}', 'v[3]'])
    head = r.choice([f'for (int {i} = v[{low}]; {i} < v[{high}]; {i} += {step})',
                     f'for (long {i} = v[{high}]; {i} >= v[{low}]; {i} -= {step})',
                     f'for (unsigned {i} = v[{low}]; {i} != v[{high}]; {i}++)' if low <= high else
                     f'for (unsigned {i} = v[{high}]; {i} <= v[{low}]; {i}++)'])
    body = ' '.join(access(r, index) for _ in range(r.randrange(1, 4)))
    if depth == 0 and r.random() < 0.3:
        body += ' ' + loop(r, 1)
    if 'i == end' in body and depth == 1:
        body = body.replace('i == end', 'j == end')
    return f'{head} {{ {body} }}'


def program(r):
    lines = ['#include <pthread.h>', 'volatile int vague;']
    for name, _ in TYPES.items():
        lines += [f'{name} {name}_0[{SIZE}], {name}_1[{SIZE}];']
    for n in range(LOOPS):
        lines += [f'__attribute__((noinline)) long f{n}(const int *v, int end) {{ long s = end; {loop(r)} return s; }}']
    calls = ''.join(f's += f{n}(v, {r.randrange(30)}); pthread_mutex_lock(&m); pthread_mutex_unlock(&m);\n' for n in range(LOOPS))
    lines += ['int main(void) { pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER; int v[24]; long s = 0;',
              'for (int i = 0; i < 24; i++) v[i] = i + vague;', calls, 'return s == 42; }']
    return '\n'.join(lines) + '\n'


def record(flags, name):
    """Function -> what it wrote, and what it accessed: sets of (array, byte)."""
    subprocess.run([BUILD + '/heddle-cc', *flags, '-w', '-g', 'loops.c', '-o', name, '-lpthread'], check=True)
    subprocess.run([BUILD + '/heddle', 'record', '-o', name + '.hdl', './' + name], check=False)
    text = subprocess.run([BUILD + '/heddle', 'dump', name + '.hdl'], check=True, capture_output=True, text=True).stdout
    places = {}
    for line in subprocess.run(['nm', name], check=True, capture_output=True, text=True).stdout.splitlines():
        word = line.split()
        if re.fullmatch(r'(main|(char|short|int|long)_[01])', word[-1]):
            places[word[-1]] = int(word[0], 16)
    found, inside, base = {}, None, None
    for line in text.splitlines():
        m = re.search(r'\|enter\((f\d+)\)', line)
        inside = m[1] if m else None if '|exit(f' in line else inside
        m = re.search(r'\|([rw])\((0x[0-9a-f]+):(\d+)\)', line)
        if not m or not inside:
            continue
        wrote, all_bytes = found.setdefault(inside, (set(), set()))
        covers = range(int(m[2], 16), int(m[2], 16) + int(m[3]))
        all_bytes.update(covers)
        if m[1] == 'w':
            wrote.update(covers)
    return found, places


def relative(found, places):
    """By array: programs are loaded anywhere, and arrays may lie elsewhere in another one."""
    ends = sorted(places.items(), key=lambda p: p[1])
    result = {}
    for function, sets in found.items():
        result[function] = tuple(frozenset(place(b, ends) for b in s) - {None} for s in sets)
    return result


def place(byte, ends):
    for name, at in ends:
        size = TYPES.get(name.split('_')[0], 0) * SIZE
        if at <= byte < at + size:
            return name, byte - at
    return None


def main():
    r = random.Random(SEED)
    with tempfile.TemporaryDirectory() as scratch:
        os.chdir(scratch)
        with open('loops.c', 'w') as f:
            f.write(program(r))
        for level in ['-O1', '-O2']:
            flags = [level, '-no-pie', '-fno-pie']
            some = relative(*record(flags, 'some' + level))
            every = relative(*record(flags + ['--no-elimination'], 'every' + level))
            assert len(every) > LOOPS / 2, f'{len(every)} functions recorded anything'
            for function in sorted(set(some) | set(every)):
                nothing = (frozenset(), frozenset())
                a, b = some.get(function, nothing), every.get(function, nothing)
                for what, x, y in [('wrote', a[0], b[0]), ('accessed', a[1], b[1])]:
                    if x != y:
                        line = [s for s in open('loops.c') if f' {function}(' in s][0]
                        print(f'seed {SEED} {level} {function} {what}: only with elimination {sorted(x - y)[:5]}, '
                              f'only without {sorted(y - x)[:5]}\n{line}')
                        sys.exit(1)
        print(f'{LOOPS} loops, {len(every)} that access memory: the same bytes')


main()
