"""Random small programs, and all that can happen in them.

A scenario is two or three threads over a few shared ints, an array and two locks; every
shared access is a statement on a line of its own. It exists twice: as C, and as the lists
of operations that the search below executes in every order. `races` are the pairs of lines
that can be next at the same time in two threads, in some order.
"""
import random

SHARED, LOCKS, ARRAY = 3, 2, 4


class Thread:
    """Statements as C lines and as operations with jumps."""

    def __init__(self, rng, name, first_line, budget, scenario):
        self.rng, self.name, self.scenario = rng, name, scenario
        self.lines, self.ops, self.line = [], [], first_line
        self.budget, self.held = budget, []
        self.body(1, budget)

    def put(self, text, depth, op=None):
        self.lines.append("    " * depth + text)
        if op:
            self.ops.append((*op, self.line))
        self.line += 1

    def local(self):
        return self.rng.randrange(3)

    def var(self):
        return self.rng.randrange(SHARED)

    def value(self):
        """An expression over locals: C text and a function of them."""
        a, b, k = self.local(), self.local(), self.rng.randrange(0, 4)
        kind = self.rng.randrange(5)
        if kind == 0:
            return f"{k}", lambda l: k
        if kind == 1:
            return f"l{a} + {k}", lambda l: (l[a] + k)
        if kind == 2:
            return f"l{a} ^ l{b}", lambda l: l[a] ^ l[b]
        if kind == 3:
            return f"(l{a} & 1) ? {k} : l{b}", lambda l: k if l[a] & 1 else l[b]
        return f"l{a}", lambda l: l[a]

    def condition(self):
        a, k = self.local(), self.rng.randrange(0, 4)
        kind = self.rng.randrange(4)
        if kind == 0:
            return f"l{a} == {k}", lambda l: l[a] == k
        if kind == 1:
            return f"l{a} != {k}", lambda l: l[a] != k
        if kind == 2:
            return f"l{a} > {k}", lambda l: l[a] > k
        return f"(l{a} & {k | 1}) != 0", lambda l: (l[a] & (k | 1)) != 0

    def access(self, depth):
        s, v, l = self.scenario, self.var(), self.local()
        kind = self.rng.randrange(8)
        if kind < 3:
            self.put(f"l{l} = s{s}.x{v};", depth, ("read", l, v))
        elif kind < 6:
            text, f = self.value()
            self.put(f"s{s}.x{v} = {text};", depth, ("write", v, f))
        elif kind == 6:
            i = self.local()
            self.put(f"l{l} = s{s}.a[l{i} & {ARRAY - 1}];", depth, ("aread", l, i))
        else:
            i = self.local()
            text, f = self.value()
            self.put(f"s{s}.a[l{i} & {ARRAY - 1}] = {text};", depth, ("awrite", i, f))
        self.budget -= 1

    def choice(self, depth):
        text, f = self.condition()
        self.put(f"if ({text}) {{", depth)
        at = len(self.ops)
        self.ops.append(None)
        self.body(depth + 1, min(self.budget, self.rng.randrange(1, 4)))
        end = len(self.ops)
        self.ops.append(None)
        self.ops[at] = ("branch", f, end + 1)
        if self.rng.randrange(2):
            self.put("} else {", depth)
            self.body(depth + 1, min(self.budget, self.rng.randrange(1, 4)))
        self.put("}", depth)
        self.ops[end] = ("jump", len(self.ops))

    def chosen(self, depth):
        """A switch over three cases and a default."""
        l, ends = self.local(), []
        self.put(f"switch (l{l}) {{", depth)
        for k in (1, 3, None):
            self.put(f"case {k}:" if k is not None else "default:", depth)
            at = len(self.ops)
            self.ops.append(None)
            self.body(depth + 1, 1)
            self.put("break;", depth + 1)
            ends.append(len(self.ops))
            self.ops.append(None)
            test = (lambda k: lambda v: v[l] == k)(k) if k is not None else (lambda v: True)
            self.ops[at] = ("branch", test, len(self.ops))
        self.put("}", depth)
        for e in ends:
            self.ops[e] = ("jump", len(self.ops))

    def locked(self, depth):
        free = [m for m in range(LOCKS) if m not in self.held]
        if not free or self.held:
            return self.access(depth)
        m = self.rng.choice(free)
        self.put(f"pthread_mutex_lock(&s{self.scenario}.m{m});", depth, ("lock", m))
        self.held.append(m)
        self.body(depth, self.rng.randrange(1, 4))
        self.held.remove(m)
        self.put(f"pthread_mutex_unlock(&s{self.scenario}.m{m});", depth, ("unlock", m))

    def loop(self, depth):
        """While a local is small; twice at most."""
        l = self.local()
        self.put(f"for (int i = 0; i < 2 && l{l} < 3; i++) {{", depth)
        ends = []
        for _ in range(2):
            ends.append(len(self.ops))
            self.ops.append(None)
            if _ == 0:
                start, line = len(self.ops), self.line
                self.access(depth + 1)
                if self.rng.randrange(2):
                    self.access(depth + 1)
                again = self.ops[start:]
            else:
                self.ops += again
        self.put("}", depth)
        for e in ends:
            self.ops[e] = ("branch", lambda v: v[l] < 3, len(self.ops))

    def body(self, depth, n):
        for _ in range(max(1, n)):
            kind = self.rng.randrange(10)
            if depth > 3 or self.budget <= 0 or kind < 5:
                self.access(depth)
            elif kind < 7:
                self.choice(depth)
            elif kind < 8:
                self.locked(depth)
            elif kind < 9 and depth < 3:
                self.chosen(depth)
            elif depth < 3:
                self.loop(depth)
            else:
                self.access(depth)


class Scenario:
    def __init__(self, rng, number, first_line):
        self.number, self.lines, line = number, [], first_line
        self.initial = [rng.randrange(0, 4) for _ in range(SHARED)]

        def put(text):
            nonlocal line
            self.lines.append(text)
            line += 1

        put("static struct { volatile int x0, x1, x2, a[%d]; pthread_mutex_t m0, m1; } s%d = {" % (ARRAY, number))
        put("    %s, { 0 }, PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER };" % ", ".join(map(str, self.initial)))
        self.threads = []
        for t in range(2 if rng.randrange(4) else 3):
            put(f"static void *s{number}t{t}(void *arg) {{")
            put("    int l0 = 0, l1 = 1, l2 = 2;")
            put(f"    usleep({rng.choice([0, 0, 300, 600])});")
            thread = Thread(rng, f"s{number}t{t}", line, rng.randrange(4, 8), number)
            self.lines += thread.lines
            line = thread.line
            put("    return (char *)arg + l0 + l1 + l2;")
            put("}")
            self.threads.append(thread)
        put(f"static void run{number}(void) {{")
        put(f"    pthread_t t[{len(self.threads)}];")
        for i, t in enumerate(self.threads):
            put(f"    pthread_create(&t[{i}], 0, {t.name}, 0);")
        put(f"    for (int i = 0; i < {len(self.threads)}; i++) pthread_join(t[i], 0);")
        put("}")
        self.end = line

    def races(self, most=200000):
        """The pairs of lines; None: too many states."""
        return Search(self, most).races


def settle(ops, pc, local):
    """Past what only concerns the thread itself."""
    while pc < len(ops) and ops[pc][0] in ("branch", "jump"):
        op = ops[pc]
        if op[0] == "jump":
            pc = op[1]
        else:
            pc = pc + 1 if op[1](local) else op[2]
    return pc


class Search:
    def __init__(self, scenario, most):
        self.threads = [t.ops for t in scenario.threads]
        self.races, seen = set(), set()
        shared = tuple(scenario.initial) + (0,) * ARRAY
        local = tuple((0, 1, 2) for _ in self.threads)
        start = (tuple(settle(ops, 0, l) for ops, l in zip(self.threads, local)), local, shared, (None,) * LOCKS)
        todo = [start]
        while todo:
            state = todo.pop()
            if state in seen:
                continue
            seen.add(state)
            if len(seen) > most:
                self.races = None
                return
            self.meet(state)
            for t in range(len(self.threads)):
                after = self.step(state, t)
                if after:
                    todo.append(after)

    def place(self, op, local):
        if op[0] == "read":
            return op[2], False
        if op[0] == "write":
            return op[1], True
        if op[0] == "aread":
            return SHARED + (local[op[2]] & (ARRAY - 1)), False
        if op[0] == "awrite":
            return SHARED + (local[op[1]] & (ARRAY - 1)), True
        return None, False

    def meet(self, state):
        pcs, local, _, _ = state
        now = []
        for t, ops in enumerate(self.threads):
            if pcs[t] < len(ops):
                now.append((*self.place(ops[pcs[t]], local[t]), ops[pcs[t]][-1]))
        for i, (a, wa, la) in enumerate(now):
            for b, wb, lb in now[i + 1:]:
                if a is not None and a == b and (wa or wb):
                    self.races.add((min(la, lb), max(la, lb)))

    def step(self, state, t):
        pcs, local, shared, locks = state
        ops = self.threads[t]
        if pcs[t] >= len(ops):
            return None
        op, mine = ops[pcs[t]], list(local[t])
        shared, locks = list(shared), list(locks)
        at, _ = self.place(op, mine)
        if op[0] in ("read", "aread"):
            mine[op[1]] = shared[at]
        elif op[0] in ("write", "awrite"):
            shared[at] = op[2](mine)
        elif op[0] == "lock":
            if locks[op[1]] is not None:
                return None
            locks[op[1]] = t
        else:
            locks[op[1]] = None
        pc = settle(ops, pcs[t] + 1, mine)
        return (pcs[:t] + (pc,) + pcs[t + 1:], local[:t] + (tuple(mine),) + local[t + 1:],
                tuple(shared), tuple(locks))


def program(seed, count):
    """C text and the scenarios in it."""
    rng = random.Random(seed)
    lines = ["#include <pthread.h>", "#include <unistd.h>"]
    scenarios = []
    for i in range(count):
        s = Scenario(rng, i, len(lines) + 1)
        lines += s.lines
        scenarios.append(s)
    lines.append("int main(void) {")
    lines += [f"    run{i}();" for i in range(count)]
    lines.append("    return 0;\n}")
    return "\n".join(lines) + "\n", scenarios
