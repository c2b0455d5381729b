#!/usr/bin/env python3
"""The filter's question, inline and by a call: what it takes for known was recorded.

    question.py BUILD [SEED [ROUNDS]]

Writes a program that touches a few random bytes of many blocks, with accesses of all sizes and alignments that
the compiler treats differently, in loops without calls (inline questions) and in loops with one (questions
by a call). The recording must have exactly the bytes that were touched, and those that were written.
"""
import os
import random
import re
import subprocess
import sys
import tempfile

BUILD = os.path.abspath(sys.argv[1])
SEED = int(sys.argv[2]) if len(sys.argv) > 2 else 1
ROUNDS = int(sys.argv[3]) if len(sys.argv) > 3 else 60
BLOCKS, BLOCK = 60, 128
AREA = BLOCKS * BLOCK
# name: C type, bytes, alignment, how far behind an aligned address
KINDS = {'a1': ('char', 1, 1, 0), 'a2': ('short', 2, 2, 0), 'a4': ('int', 4, 4, 0),
         'a8': ('long', 8, 8, 0), 'a16': ('__int128', 16, 16, 0), 'u2': ('unaligned2', 2, 1, 0),
         'u4': ('unaligned4', 4, 1, 0), 'u8': ('unaligned8', 8, 1, 0), 'u16': ('unaligned16', 16, 1, 0),
         'm1': ('struct member', 1, 8, 13), 'm2': ('struct member', 2, 8, 10)}
HEAD = """#include <pthread.h>
typedef short unaligned2 __attribute__((aligned(1)));
typedef int unaligned4 __attribute__((aligned(1)));
typedef long unaligned8 __attribute__((aligned(1)));
typedef __int128 unaligned16 __attribute__((aligned(1)));
struct member { void *p; short at_8, at_10; char at_12, at_13; };
__attribute__((noinline)) void rest(void) { __asm__ volatile(""); }
"""


def place(name):
    type_, size, _, _ = KINDS[name]
    if type_ == 'struct member':
        return '((struct member *)(base + o[i]))->' + ('at_13' if size == 1 else 'at_10')
    return f'*({type_} *)(base + o[i])'


def functions():
    does = {'r': 's += (long){0};', 'w': '{0} = i;', 'u': 's += (long){0}; {0} = i;', 'x': '{0} += 3;'}
    for name in KINDS:
        for verb, text in does.items():
            for calls in ('', 'rest();'):
                where = 'called' if calls else 'inline'
                yield (f'__attribute__((noinline)) long {verb}_{name}_{where}(char *base, const unsigned *o, int n)\n'
                       f'{{ long s = 0; for (int i = 0; i < n; i++) {{ {text.format(place(name))} {calls} }} return s; }}\n')


def offset(r, name):
    _, size, align, behind = KINDS[name]
    near = r.choice([0, 1]) * r.choice([24, 7 * BLOCK - 16, 20 * BLOCK])  # here they overlap in part
    at = (near + r.randrange(32) if near else r.randrange(AREA - size - 16)) // align * align
    return at, at + behind


def program(r):
    """The text, and two sets of (round, byte)."""
    touched, written, calls, tables = set(), set(), [], []
    for n in range(ROUNDS):
        for k in range(60):
            name, verb = r.choice(list(KINDS)), r.choice('rwux')
            places = [offset(r, name) for _ in range(r.randrange(1, 5))]
            places += r.sample(places, 1)
            bytes_ = {(n, start + b) for _, start in places for b in range(KINDS[name][1])}
            touched |= bytes_
            written |= bytes_ if verb != 'r' else set()
            tables.append(f'static const unsigned o{n}_{k}[] = {{ {", ".join(str(at) for at, _ in places)} }};')
            calls.append(f's += {verb}_{name}_{r.choice(["inline", "called"])}(area[{n}], o{n}_{k}, {len(places)});')
        if n % 2:
            calls.append('pthread_mutex_lock(&m); pthread_mutex_unlock(&m);')
    body = '\n'.join(calls)
    return (HEAD + f'char area[{ROUNDS}][{AREA}] __attribute__((aligned({BLOCK})));\n' + ''.join(functions()) +
            '\n'.join(tables) + '\nint main(void) { pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER; long s = 0;\n' +
            body + '\nreturn s == 42; }\n', touched, written)


def recorded(name):
    subprocess.run([BUILD + '/heddle', 'record', '-o', name + '.hdl', './' + name], check=False)
    text = subprocess.run([BUILD + '/heddle', 'dump', name + '.hdl'], check=True, capture_output=True, text=True).stdout
    nm = subprocess.run(['nm', name], check=True, capture_output=True, text=True).stdout
    base = int(re.search(r'^(\w+) . area$', nm, re.M)[1], 16)
    touched, written = set(), set()
    for kind, at, size in re.findall(r'\|([rw])~?\((0x[0-9a-f]+):(\d+)\)', text):
        first = int(at, 16) - base
        covers = {divmod(b, AREA) for b in range(first, first + int(size)) if 0 <= b < ROUNDS * AREA}
        touched |= covers
        written |= covers if kind == 'w' else set()
    return touched, written


def main():
    text, *want = program(random.Random(SEED))
    with tempfile.TemporaryDirectory() as scratch:
        os.chdir(scratch)
        with open('question.c', 'w') as f:
            f.write(text)
        for level in ['-O0', '-O1', '-O2']:
            name = 'question' + level
            subprocess.run([BUILD + '/heddle-cc', level, '-no-pie', '-fno-pie', '-w', 'question.c', '-o', name, '-lpthread'],
                           check=True)
            for what, a, b in zip(['touched', 'written'], recorded(name), want):
                assert a == b, f'{level}, {what}: not recorded {sorted(b - a)[:5]}, too much {sorted(a - b)[:5]}'
            print(f'ok {level}: {len(want[0])} bytes touched, {len(want[1])} written')


main()
