#!/usr/bin/python3
"""C functions for the differential test of the walk.

    generate.py SEED FUNCTIONS > program.c

Deterministic. The functions use integers of all widths, bit operators, shifts, casts, division,
arrays, structures, unions, bit-fields, pointers, loops, switches, recursion, calls of many kinds,
compiler builtins, some floating point, thread-local and constant data. They have no undefined
behaviour: arithmetic is unsigned, shifts are masked, divisors are odd, indices are reduced.
"""
import random
import sys

WIDTHS = [8, 16, 32, 64]
TYPES = ["u8", "u16", "u32", "u64", "s8", "s16", "s32", "s64"]
UNSIGNED = {t: "u" + t[1:] for t in TYPES}
HEAD = """#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
typedef uint8_t u8; typedef uint16_t u16; typedef uint32_t u32; typedef uint64_t u64;
typedef int8_t s8; typedef int16_t s16; typedef int32_t s32; typedef int64_t s64;
typedef unsigned __int128 u128;
#define NI __attribute__((noinline))
struct pair { u32 a; u64 b; };
struct bits { unsigned f1 : 3, f2 : 11, f3 : 18; signed g1 : 7; u64 h1 : 33; };
struct __attribute__((packed)) odd { u8 c; u32 w; u16 h; u64 l; };
struct big { u64 v[5]; u8 tail[3]; struct pair p; };
union mix { u64 w; u32 h[2]; u8 b[8]; float f; };
static u64 inputs[64];
u64 outputs[64];
static struct big bigs[4];
static struct odd odds[6];
static struct bits fields[4];
static union mix mixes[4];
static const u32 primes[16] = { 2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53 };
static const u8 *const words[4] = { (const u8 *)"alpha", (const u8 *)"beta", (const u8 *)"gamma", (const u8 *)"delta" };
static __thread u64 mine;
__thread u32 ours[4];
static NI void touch(u64 *p) { *p += 3; }
static NI void fill(u8 *p, u32 n, u64 k) { for (u32 i = 0; i < n; i++) p[i] = (u8)(k >> (i & 7)); }
static NI struct pair make(u32 a, u64 b) { struct pair p = { a ^ 5, b + a }; return p; }
static NI u64 take(struct pair p, u16 k) { return p.a * 3u + (p.b ^ k); }
static NI u64 deep(struct big b, u32 i) { b.v[i % 5] += i; return b.v[0] ^ b.v[i % 5] ^ b.p.b; }
static NI u64 count(u64 n) { return n < 2 ? n : count(n >> 1) + (n & 1); }
static NI u64 many(int n, ...) { va_list l; u64 s = 0; va_start(l, n); while (n--) s = s * 31 + va_arg(l, u64); va_end(l); return s; }
static u64 one(u64 a) { return a + 1; }
static u64 twice(u64 a) { return a * 2; }
static u64 flip(u64 a) { return ~a; }
static u64 (*const choices[4])(u64) = { one, twice, flip, count };
"""


class Function:
    def __init__(self, rng, number):
        self.rng, self.number = rng, number
        self.vars, self.lines, self.depth, self.loops = [], [], 1, 0

    def say(self, text):
        self.lines.append("    " * self.depth + text)

    def pick(self, *choices):
        return self.rng.choice(choices)

    def var(self):
        return self.rng.choice(self.vars)[0]

    # ---- expressions: all of type u64 ----

    def leaf(self):
        r = self.rng.random()
        if r < 0.55:
            return f"(u64){self.var()}"
        if r < 0.75:
            return f"UINT64_C(0x{self.rng.getrandbits(self.pick(3, 8, 16, 33, 64)):x})"
        if r < 0.85:
            return f"inputs[{self.rng.randrange(64)}]"
        return self.pick(f"(u64)primes[{self.var()} & 15]", f"(u64)words[{self.var()} & 3][{self.rng.randrange(5)}]",
                         f"(u64)bigs[{self.rng.randrange(4)}].v[(u32){self.var()} % 5]", f"(u64)odds[{self.rng.randrange(6)}].w",
                         f"(u64)fields[{self.rng.randrange(4)}].f2", f"(u64)fields[1].g1", f"(u64)mixes[2].h[{self.var()} & 1]",
                         "mine", f"(u64)ours[{self.var()} & 3]", "(u64)data[2]", f"(u64)data[{self.var()} & 7]")

    def expr(self, depth):
        if depth == 0:
            return self.leaf()
        a, b = self.expr(depth - 1), self.expr(self.rng.randrange(depth))
        t = self.rng.choice(TYPES)
        u = UNSIGNED[t]
        bits = int(t[1:])
        return self.pick(
            f"({a} + {b})", f"({a} - {b})", f"({a} * {b})", f"({a} & {b})", f"({a} | {b})", f"({a} ^ {b})", f"(~{a})",
            f"({a} / ({b} | 1))", f"({a} % ({b} | 1))", f"({a} << ({b} & 63))", f"({a} >> ({b} & 63))",
            f"(u64)(({t})({a}))", f"(u64)(({u})({a}) + ({u})({b}))", f"(u64)(({u})({a}) * (u64)({u})({b}))",
            f"(u64)(({t})({a}) >> ({b} & {bits - 1}))", f"(u64)(({u})({a}) << ({b} & {bits - 1}) % {bits if bits < 32 else 31})",
            f"(u64)((s64)({a}) / (s64)(({b} >> 2) | 1))", f"(u64)((s32)({a}) % (s32)((({b}) & 0xffff) | 1))",
            f"(u64)((s16)({a}) / (s16)((({b}) & 0xff) | 1))", f"(u64)(({t})({a}) < ({t})({b}))", f"(u64)({a} >= {b})",
            f"(u64)(({t})({a}) == ({t})({b}))", f"({a} > {b} ? {b} : {a})", f"((s64){a} > (s64){b} ? {a} : {b})",
            f"(u64)__builtin_popcountll({a})", f"(u64)__builtin_clzll({a} | 1)", f"(u64)__builtin_ctz((u32)({a}) | 256)",
            f"__builtin_bswap64({a})", f"(u64)__builtin_bswap16((u16)({a}))", f"(({a} << 13) | ({a} >> 51))",
            f"(u64)(((u32)({a}) >> 7) | ((u32)({a}) << 25))", f"(u64)(((u128)({a}) * ({b})) >> 64)",
            f"(u64)(((u128)({a}) << 40 | {b}) >> ({b} & 31))", f"(u64)(((u128)({a}) << 64) / (({b} >> 3) | 1) >> 9)",
            f"(u64)(!({a}) || ({b}) > 7)", f"(u64)({a} && ({b} & 2))", f"(u64)(_Bool)({a} & {b})",
            f"(u64)(s64)(double)(s32)({a})", f"(u64)((float)(u16)({a}) * 0.5f + (float)(s8)({b}) > 100.0f)",
            f"__builtin_bitreverse64({a})", f"(u64)((s8)({a}) < 0 ? -(s32)(s8)({a}) : (s8)({a}))",
            f"f_add(({a}), ({b}))", f"choices[{a} & 3]({b} & 0xffff)", f"f_over(({a}), ({b}))")

    # ---- statements ----

    def assign(self):
        name, t = self.rng.choice([v for v in self.vars if v[2]])[:2]
        self.say(f"{name} {self.pick('=', '=', '|=', '^=')} ({t})({self.expr(2)});")

    def store(self):
        e, v = self.expr(2), self.var()
        self.say(self.pick(
            f"data[{v} & 7] = (u8)({e});", f"shorts[(u32){v} % 6] ^= (s16)({e});", f"wide[{v} & 3] = {e};",
            f"outputs[{self.rng.randrange(64)}] += {e};", f"odds[(u32){v} % 6].l = {e};", f"odds[{self.rng.randrange(6)}].h ^= (u16)({e});",
            f"fields[{v} & 3].f3 = (unsigned)({e});", f"fields[{v} & 3].g1 = (s32)(s8)({e}) >> 2;", f"fields[2].h1 = {e};",
            f"mixes[{v} & 3].b[{self.rng.randrange(8)}] = (u8)({e});", f"mixes[{v} & 3].w ^= {e};",
            f"bigs[{v} & 3].v[(u32){self.var()} % 5] = {e};", f"bigs[{v} & 3].tail[{self.rng.randrange(3)}]++;",
            f"local.b = {e}; local.a ^= (u32)local.b;", f"mine = {e};", f"ours[{v} & 3] -= (u32)({e});",
            f"touch(&wide[{v} & 3]);", f"touch(&seen); seen ^= {e};", f"fill(bytes, 16, {e}); wide[1] += bytes[{v} & 15];",
            f"memcpy(&bigs[{v} & 3], &bigs[{self.rng.randrange(4)}], sizeof(struct big));",
            f"memset(data, (int)({e}), 8);", f"memcpy(&wide[2], data, 8);", f"memmove(wide, wide + 1, 24);",
            f"local = make((u32)({e}), seen);", f"seen = take(local, (u16)({e}));", f"seen += deep(bigs[{v} & 3], (u32)({e}));",
            f"seen = many(3, (u64)({e}), (u64){v}, seen);", f"bigs[{v} & 3] = bigs[{self.var()} & 3];",
            f"real = real * 0.75 + (double)(s32)({e}); wide[0] ^= (u64)(s64)real;",
            f"{{ u64 *walk = wide; for (int k = 0; k < 4; k++) *walk++ += {v}; }}",
            f"{{ struct odd *o = &odds[(u32){v} % 5]; o[1].w += o->w + o->c; o->c++; }}",
            f"__atomic_fetch_add(&outputs[{self.rng.randrange(64)}], {e}, __ATOMIC_SEQ_CST);",
            f"{{ u64 want = outputs[1]; seen += __atomic_compare_exchange_n(&outputs[1], &want, {e}, 0, 5, 5); }}"))

    def branch(self, budget):
        self.say(f"if ({self.pick(self.expr(1) + ' & 1', '(s64)' + self.expr(1) + ' < (s64)' + self.expr(1), self.expr(2) + ' > ' + self.leaf())}) {{")
        self.block(budget)
        if self.rng.random() < 0.6:
            self.say("} else {")
            self.block(budget)
        self.say("}")

    def loop(self, budget):
        if self.loops >= 2:
            self.assign()
            return
        self.loops += 1
        name = f"i{self.rng.randrange(1000)}x{len(self.lines)}"
        n = self.rng.randrange(1, 7)
        self.say(f"for (u32 {name} = 0; {name} < {n}u + (u32)({self.var()} & 3); {name}++) {{")
        self.vars.append((name, "u32", False))
        self.block(budget)
        if self.rng.random() < 0.3:
            self.say(f"    if (({self.leaf()}) % 11 == 3) {self.pick('break', 'continue')};")
        self.vars.pop()
        self.say("}")
        self.loops -= 1

    def switch(self, budget):
        n = self.rng.choice([3, 3, 5, 9])
        self.say(f"switch ({self.pick('(u32)', '(s16)', '(u64)', '(u8)')}({self.expr(1)}) % {n}) {{")
        for i in range(n - 1):
            self.say(f"case {i}:")
            self.block(max(1, budget - 1), 1)
            if self.rng.random() < 0.8:
                self.say("    break;")
        self.say("default:")
        self.block(1, 1)
        self.say("}")

    def block(self, budget, least=1):
        self.depth += 1
        for _ in range(self.rng.randrange(least, least + 3)):
            r = self.rng.random()
            if budget <= 0 or r < 0.35:
                self.assign()
            elif r < 0.7:
                self.store()
            elif r < 0.8:
                self.branch(budget - 1)
            elif r < 0.95:
                self.loop(budget - 1)
            else:
                self.switch(budget - 1)
        self.depth -= 1

    def text(self):
        rng = self.rng
        params = [(f"p{i}", rng.choice(TYPES), True) for i in range(rng.randrange(1, 7))]
        result = rng.choice(TYPES)
        self.vars = list(params)
        self.lines = [f"static NI {result} f{self.number}({', '.join(f'{t} {n}' for n, t, _ in params)})", "{"]
        self.say("u8 data[8] = { 1, 2, 3, 4, 5, 6, 7, 8 }, bytes[16];")
        self.say("s16 shorts[6] = { -1, 2, -3, 4, -5, 6 };")
        self.say("u64 wide[4] = { 9, 8, 7, 6 }, seen = 5;")
        self.say("struct pair local = { 1, 2 };")
        self.say("double real = 1.5;")
        for i in range(rng.randrange(2, 6)):
            t = rng.choice(TYPES)
            self.say(f"{t} v{i} = ({t})({self.expr(1)});")
            self.vars.append((f"v{i}", t, True))
        self.depth = 0
        self.block(2, 3)
        self.depth = 1
        self.say(f"outputs[{rng.randrange(64)}] ^= seen + wide[{rng.randrange(4)}] + local.b + data[3] + (u64)shorts[2] + bytes[0] * 0u;")
        self.say(f"return ({result})({self.expr(2)});")
        self.lines.append("}")
        return "\n".join(self.lines).replace("bytes[16];", "bytes[16] = { 0 };"), params


def main():
    seed, count = int(sys.argv[1]), int(sys.argv[2])
    rng = random.Random(seed)
    print(HEAD)
    print("static NI u64 f_add(u64 a, u64 b) { return a + (b ^ 0x1234); }")
    print("static NI u64 f_over(u64 a, u64 b) { u32 r; s64 q; u64 o = __builtin_add_overflow((u32)a, (u32)b, &r);"
          " o += 2 * __builtin_mul_overflow((s64)(a >> 20), (s64)b, &q); return o + r + (u64)q; }")
    calls = []
    for i in range(count):
        text, params = Function(rng, i).text()
        print(text)
        args = ", ".join(f"({t})inputs[({i * 7 + k * 3} + round * 5) & 63]" for k, (_, t, _) in enumerate(params))
        calls.append(f"        outputs[{i % 64}] += (u64)f{i}({args});")
    print("int main(void)\n{\n    u64 x = 88172645463325252u;\n    for (int i = 0; i < 64; i++) {\n"
          "        x ^= x << 13; x ^= x >> 7; x ^= x << 17;\n        inputs[i] = i % 5 ? x >> (i % 61) : (u64)i;\n    }")
    print("    for (int round = 0; round < 3; round++) {")
    print("\n".join(calls))
    print("    }\n    u64 sum = 0;\n    for (int i = 0; i < 64; i++) sum = sum * 31 + outputs[i];")
    print('    printf("%llx\\n", (unsigned long long)sum);\n    return 0;\n}')


main()
