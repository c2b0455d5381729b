"""A second reader of .hdl files, written from docs/format/hdl.md and nothing else.

Only for tests: columns stored as they are. Slow, and strict: what the document does
not allow is an AssertionError.
"""
import collections
import struct

CHUNK = struct.Struct("<IBBBBIIIIQQQQII")
CHUNK_FIELDS = ("magic kind compression context_bits flags stored_bytes count subject number "
                "first stamp_first stamp_last checksum reserved1 header_checksum").split()
FILE = struct.Struct("<8sHHIQQBBHIQQII")
FILE_FIELDS = ("magic major minor header_bytes required optional order pointer_bytes reserved0 "
               "reserved1 stamp_ns created reserved2 checksum").split()
M32, M64 = (1 << 32) - 1, (1 << 64) - 1
NONE = M32
OPERATIONS = {
    1: "r", 2: "w", 3: "load", 4: "store", 5: "rmw", 6: "fence", 8: "acq", 9: "rel", 10: "acqs",
    11: "rels", 12: "fork", 13: "join", 14: "begin", 15: "end", 16: "wait", 17: "signal",
    18: "broadcast", 19: "enterb", 20: "leaveb", 21: "post", 22: "semwait", 23: "once",
    24: "before", 25: "after", 26: "alloc", 27: "free", 28: "call", 29: "ret", 30: "branch",
    31: "enter", 32: "exit", 33: "link", 34: "object", 35: "result",
    36: "req", 37: "reqs"}
ORDERS = ["", "rlx", "con", "acq", "rel", "ar", "sc"]
VALUE, SIGNED, OLD, BARE, LOOSE, LIST, NAMED, SEQUENCE = 1, 2, 4, 8, 16, 1 << 13, 1 << 14, 1 << 15


def rotate(x, n):
    return (x << n | x >> (32 - n)) & M32


def xxh32(data):
    """XXH32 with seed 0."""
    p1, p2, p3, p4, p5 = 2654435761, 2246822519, 3266489917, 668265263, 374761393
    at = 0
    if len(data) >= 16:
        lanes = [(p1 + p2) & M32, p2, 0, -p1 & M32]
        while at + 16 <= len(data):
            for i in range(4):
                word = int.from_bytes(data[at:at + 4], "little")
                lanes[i] = rotate((lanes[i] + word * p2) & M32, 13) * p1 & M32
                at += 4
        h = sum(rotate(lane, n) for lane, n in zip(lanes, (1, 7, 12, 18)))
    else:
        h = p5
    h = (h + len(data)) & M32
    while at + 4 <= len(data):
        h = rotate((h + int.from_bytes(data[at:at + 4], "little") * p3) & M32, 17) * p4 & M32
        at += 4
    for byte in data[at:]:
        h = rotate((h + byte * p5) & M32, 11) * p1 & M32
    h = (h ^ h >> 15) * p2 & M32
    h = (h ^ h >> 13) * p3 & M32
    return h ^ h >> 16


def file_header(data):
    return dict(zip(FILE_FIELDS, FILE.unpack_from(data, 0)))


def chunks(data):
    """(offset, header) of every chunk; the headers must be whole."""
    at = file_header(data)["header_bytes"]
    while at < len(data):
        h = dict(zip(CHUNK_FIELDS, CHUNK.unpack_from(data, at)))
        yield at, h
        at += CHUNK.size + h["stored_bytes"]


class Column:
    def __init__(self, data):
        self.data, self.at = data, 0

    def number(self, size):
        self.at += size
        assert self.at <= len(self.data)
        return int.from_bytes(self.data[self.at - size:self.at], "little")

    def text(self, size):
        self.at += size
        assert self.at <= len(self.data)
        return self.data[self.at - size:self.at].decode("utf-8", "surrogateescape")

    def varint(self):
        value = shift = 0
        while True:
            byte = self.number(1)
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value & M64

    def signed(self):
        z = self.varint()
        return unzigzag(z)


def unzigzag(z):
    return (z >> 1 ^ -(z & 1)) & M64


def columns(payload, count):
    out, at = [], 8 * count
    for i in range(count):
        raw, stored = struct.unpack_from("<II", payload, 8 * i)
        assert raw == stored, "compressed"
        out.append(Column(payload[at:at + stored]))
        at += stored
    assert at == len(payload)
    return out


CLASSES = [(2, 1), (5, 2), (6, 3), (11, 4), (15, 5), (18, 6), (20, 7), (22, 8), (23, 9), (25, 10),
           (27, 11), (29, 12), (30, 13), (32, 14), (34, 15), (35, 13), (37, 16)]


def counter(ev, stripes):
    """What a sequence number counts on: the stripe, or class and target."""
    kind = next(number for last, number in CLASSES if ev["op"] <= last)
    target = ev["thread"] if ev["op"] in (14, 15) else ev["target"]
    if not stripes:
        return kind, target
    if kind == 2:
        target -= target % 8
    return ((target ^ kind << 58) * 0x9e3779b97f4a7c15 & M64) >> 48


def merge(threads, stripes):
    """The order of the trace: program order, sequence numbers, then stamps."""
    at, seen, out = dict.fromkeys(threads, 0), {}, []
    while True:
        best = None
        for t in sorted(threads):
            if at[t] == len(threads[t]):
                continue
            ev = threads[t][at[t]]
            n = ev.get("sequence", 0)
            if n and seen.get(counter(ev, stripes), 0) < n - 1:
                continue
            if best is None or ev["stamp"] < best["stamp"]:
                best = ev
        if best is None:
            return out
        at[best["thread"]] += 1
        if best.get("sequence"):
            key = counter(best, stripes)
            seen[key] = max(seen.get(key, 0), best["sequence"])
        out.append(best)


def fill_in_frees(events):
    """In the threads layout a free of unknown size frees the block that is there."""
    blocks = {}
    for ev in events:
        if ev["op"] == 26:
            blocks[ev["target"]] = ev["value"]
        elif ev["op"] == 27:
            block = blocks.pop(ev["target"], 0)
            ev["value"] = ev["value"] or block


class Memory:
    """Objects and pointers: what the entries root, object and slot of a list stand for. Slowly; no
    objects of more than 64 KiB, no stored values."""

    def __init__(self):
        self.objects, self.slots = [], {}

    def unlink(self, start, end):
        self.slots = {a: p for a, p in self.slots.items() if not start <= a < end}

    def add(self, start, size, block):
        end = start + size
        self.unlink(start, end)
        for o in self.objects:
            if not block and (o[0] <= start and end <= o[1] if o[2] else o[:2] == (start, end)):
                return
        self.objects = [o for o in self.objects if o[1] <= start or end <= o[0]]
        self.objects.append((start, end, block))

    def free(self, start, size):
        found = [o for o in self.objects if o[0] == start]
        self.unlink(start, max([start + size] + [o[1] for o in found]))
        self.objects = [o for o in self.objects if o[0] != start]

    def reach(self, pointers):
        todo, met, out = list(pointers), set(), []
        while todo:
            p = todo.pop()
            o = next((o for o in self.objects if o[0] <= p < o[1]), None)
            if o in met:
                continue
            if o is None:
                out.append((p, p + 8))
                continue
            met.add(o)
            out.append(o[:2])
            todo += [to for at, to in self.slots.items() if o[0] <= at < o[1]]
        return out

    def event(self, ev):
        op = ev["op"]
        if op == 26:
            self.add(ev["target"], ev["value"], True)
        elif op == 27:
            self.free(ev["target"], ev["value"])
        elif op == 34:
            self.add(ev["target"], ev["value"], False)
        elif op == 33:
            self.link(ev["target"], ev["value"])
        elif op == 28 and any(first >> 61 > 4 for first, _ in ev["list"]):
            ev["list"] = self.complete(ev["list"])

    def link(self, address, pointer):
        self.slots.pop(address, None)
        if pointer >= 4096:
            self.slots[address] = pointer

    def complete(self, entries):
        roots, ranges, out = [], [], []
        for first, second in entries:
            kind, low = first >> 61, first & (1 << 61) - 1
            if kind == 6:
                self.add(low, second, False)
            elif kind == 7:
                self.link(low, second)
            elif kind == 5:
                roots.append(low)
            elif kind == 0 and low < 1 << 60:
                ranges.append((low, low + second))
            else:
                out.append((first, second))
        if (4 << 61, 0) in out:
            return [(4 << 61, 0)]
        merged = []
        for start, end in sorted(ranges + self.reach(roots)):
            if merged and start <= merged[-1][1]:
                merged[-1][1] = max(end, merged[-1][1])
            else:
                merged.append([start, end])
        return out + [(start, end - start) for start, end in merged]


class Shape:
    """A stretch: where the pieces of its record are, and the events it stands for."""

    def __init__(self, stretch, sites):
        self.accesses, self.branch, whole = stretch
        self.sites = sites
        self.small, self.next = 7 if whole else 4, 8
        if self.branch is not None and not whole:
            assert self.place(1) == 4
        self.address_at, self.value_at = [], []
        block = []
        for a in self.accesses:
            if a[5]:
                self.lay_out(block)
                block = []
            block.append(a)
        self.lay_out(block)
        self.words = (self.next + 7) // 8

    def lay_out(self, block):
        if block and block[0][5] == 2:
            self.next = (self.next + 7) // 8 * 8
        self.address_at += [self.place(8) if a[1] == 31 else None if a[3] or a[1] >= 30 else
                            self.place(6) for a in block]
        self.value_at += [self.place(a[2]) if 0 < a[2] < 16 and not a[6] else None for a in block]

    def place(self, size):
        if self.small + size <= 7:
            self.small += size
            return self.small - size
        self.next += size
        return self.next - size

    def events(self, record, thread, stamp):
        out = []
        for (site, op, size, source, offset, _, told), a, v in zip(self.accesses, self.address_at,
                                                                   self.value_at):
            if op == 30:
                out.append({"thread": thread, "site": site, "size": 0, "op": 30, "order": 0,
                            "flags": VALUE, "stamp": stamp, "target": 0, "value": offset})
                continue
            if op in (31, 32):
                call = int.from_bytes(record[a:a + 4], "little") if op == 31 else site
                assert call == NONE or call < self.sites
                out.append({"thread": thread, "site": call, "size": 0, "op": op, "order": 0,
                            "flags": 0, "stamp": stamp, "target": offset})
                continue
            base = out[-(source & 127)] if source else None
            if source:
                address = ((base["value"] if source & 128 else base["target"]) + offset) & ((1 << 48) - 1)
            else:
                address = int.from_bytes(record[a:a + 6], "little")
            out.append({"thread": thread, "site": site, "size": size, "op": op, "order": 0,
                        "flags": 0, "stamp": stamp, "target": address})
            if v is not None:
                out[-1].update(flags=VALUE, value=int.from_bytes(record[v:v + size], "little"))
            if told:
                value = told[1] + (out[-1 - told[0]]["value"] if told[0] else 0)
                out[-1].update(flags=VALUE, value=value & ((1 << 8 * size) - 1))
        if self.branch is not None:
            out.append({"thread": thread, "site": self.branch, "size": 0, "op": 30, "order": 0,
                        "flags": VALUE, "stamp": stamp, "target": 0, "value": record[4]})
        return out


class Reader:
    """Tables of names, and the events as lines of the text format."""

    def __init__(self, data, raw_lists=False):
        self.tables = [[] for _ in range(5)]
        self.merged = []
        self.threads = {}
        self.process, self.notes, self.thread_names, self.images = {}, [], {}, []
        self.parents, self.variables, self.stretches, self.moves = {}, {}, [], []
        self.complete = False
        header = file_header(data)
        assert header["magic"] == b"HEDDLE\r\n" and header["major"] == 1
        assert header["checksum"] == xxh32(data[:60]) and not header["required"] & ~(1023 | 2048)
        self.layout = 2 if header["required"] & 1 else 1
        for n, (at, h) in enumerate(chunks(data)):
            assert not self.complete and h["magic"] == 0x434C4448 and h["number"] == n
            assert h["header_checksum"] == xxh32(data[at:at + 60])
            self.chunk(h, data[at + CHUNK.size:at + CHUNK.size + h["stored_bytes"]])
        if self.layout == 2:
            events = merge(self.threads, header["required"] & 2)
            assert len(events) == sum(map(len, self.threads.values()))
            fill_in_frees(events)
            self.merged = events
        memory = Memory()
        for ev in [] if raw_lists else self.merged:
            memory.event(ev)
        self.lines = [self.line(ev) for ev in self.merged]

    def chunk(self, h, payload):
        if h["kind"] in (1, 2, 9):
            assert min(h["kind"], 2) == self.layout
            if h["kind"] == 1:
                assert h["first"] == len(self.merged)
                self.merged += self.events(columns(payload, 9), h)
            else:
                own = self.threads.setdefault(h["subject"], [])
                assert h["first"] == len(own)
                mixed = h["kind"] == 9
                own += (self.mixed if mixed else self.events)(columns(payload, 13 if mixed else 9), h)
                assert own[-1]["stamp"] == h["stamp_last"]
        elif h["kind"] == 3:
            self.names(columns(payload, 1)[0], h)
        elif h["kind"] == 4:
            assert h["first"] == (len(self.merged) if self.layout == 1 else
                                  sum(map(len, self.threads.values())))
            self.complete = True
        elif h["kind"] in (5, 6, 7, 8, 10, 12):
            column = columns(payload, 1)[0]
            if h["kind"] == 6:
                self.images = []
            if h["kind"] == 10:
                assert h["first"] == len(self.stretches)
            if h["kind"] == 12:
                assert h["first"] == len(self.moves)
            for _ in range(h["count"]):
                getattr(self, f"entry_{h['kind']}")(column)
            assert column.at == len(column.data)

    def entry_5(self, column):
        key, size = column.varint(), column.varint()
        value = Column(column.data[column.at:column.at + size])
        column.text(size)
        if key < 64:
            self.process[key] = value.varint()
        elif key == 64:
            self.process["command"] = value.text(size)
        elif key == 65:
            self.notes.append(value.text(size))
        elif key == 66:
            thread, _ = value.varint(), value.varint()
            self.thread_names[thread] = value.text(size - value.at)
        if key <= 66:
            assert value.at == size

    def entry_6(self, column):
        image = {"path": column.text(column.varint()), "build_id": column.text(column.varint())}
        for field in ("traced", "units", "sites", "base", "low", "high"):
            image[field] = column.varint()
        self.images.append(image)

    def entry_7(self, column):
        site, parent = column.varint(), column.varint()
        assert parent < site < len(self.tables[4])
        self.parents[site] = parent

    def entry_8(self, column):
        site = column.varint()
        assert site < len(self.tables[4])
        self.variables[site] = column.text(column.varint())

    def entry_10(self, column):
        head = column.varint()
        accesses = []
        for _ in range(head >> 1 & 127):
            site, kind = column.varint(), column.varint()
            log, source = kind >> 1 & 7, kind >> 4 & 255
            offset = unzigzag(column.varint()) if source or log > 4 else 0
            told = (column.varint(), unzigzag(column.varint())) if kind >> 14 else None
            assert site < len(self.tables[4]) and kind >> 15 == 0
            if log == 7:
                assert not kind & 1 and not kind >> 4 and 0 <= offset < 256
                accesses.append((site, 30, 0, 0, offset, 0, None))
            elif log > 4:
                assert kind & 0x4ff1 == 0 and 0 <= offset < len(self.tables[3]) and head >> 8
                assert log == 6 or (not accesses and not kind >> 12)
                accesses.append((site, 31 if log == 5 else 32, 0, 0, offset, kind >> 12 & 3, None))
            else:
                assert not told or (kind & 1 and log <= 3 and told[0] <= len(accesses))
                accesses.append((site, 2 if kind & 1 else 1, 1 << log, source, offset,
                                 kind >> 12 & 3, told))
        branch = column.varint() if head & 1 else None
        assert len(accesses) <= 64 and (accesses or head & 1) and head >> 9 == 0
        leaves = [i for i, a in enumerate(accesses) if a[1] == 32]
        assert leaves in ([], [len(accesses) - 1]) and not (leaves and head & 1)
        self.stretches.append((accesses, branch, head >> 8))

    def entry_12(self, column):
        left, entered = column.varint(), column.varint()
        assert 1 <= left + entered <= 64
        move = []
        for i in range(left + entered):
            function, site = column.varint(), column.varint()
            assert function < len(self.tables[3]) and site <= len(self.tables[4])
            move.append((32 if i < left else 31, function, site - 1 if site else NONE))
        self.moves.append(move)

    def names(self, column, h):
        table = self.tables[h["subject"]]
        assert h["first"] == len(table)
        for _ in range(h["count"]):
            table.append(column.text(column.varint()))
            if h["subject"] == 4:
                assert column.varint() <= len(self.tables[3])
        assert column.at == len(column.data)

    def events(self, cols, h):
        out = [ev for some in self.event(cols, h, [h["stamp_first"]]) for ev in some]
        assert len(out) == h["count"] and all(column.at == len(column.data) for column in cols)
        return out

    def mixed(self, cols, h):
        """Kind 9: events, and records of stretches."""
        items, numbers, masks, changed = cols[9:]
        stamp, records, after, before, out = [h["stamp_first"]], {}, {}, None, []
        changes = collections.defaultdict(lambda: [0] * 8)
        others = self.event(cols[:9], h, stamp)
        while len(out) < h["count"]:
            item = items.number(1)
            if item & 128:
                out += [ev for _ in range((item & 127) + 1) for ev in next(others)]
                continue
            assert not item & 8
            number = numbers.varint() if item & 1 else after[before]
            after[before] = number
            if item & 2:
                stamp[0] += cols[1].varint()
            shape = Shape(self.stretches[number], len(self.tables[4]))
            record = records.setdefault(number, bytearray(8 * shape.words))
            if item & 4:
                assert shape.words <= 8
            else:
                changes[number] = [masks.number(1) for _ in range(shape.words - 1)]
            for word in range(shape.words):
                mask = changes[number][word - 1] if word else item & 0x70
                for i in range(8):
                    if mask >> i & 1:
                        record[8 * word + i] = (record[8 * word + i] + changed.number(1)) & 255
            before = number, record[4] & 1
            out += shape.events(record, h["subject"], stamp[0])
        assert len(out) == h["count"] and all(c.at == len(c.data) for c in cols)
        return out

    def event(self, cols, h, clock):
        """The events of columns 0 to 8, a list for each byte of column 0; clock[0] is the stamp."""
        flags, threads, sites, shapes, targets, values, sizes, sequences, calls = cols
        size = 1 << h["context_bits"]
        last, following = [NONE] * 1024, [NONE] * size
        shape, target, stride, value = [None] * size, [0] * size, [0] * size, [0] * size
        thread = h["subject"] if h["kind"] != 1 else None
        sequence = 0
        last_move, move_after, move_next = NONE, {}, {}
        site_after = [NONE] * size
        dictionary = []
        if shapes.data:
            dictionary = [shapes.number(8) for _ in range(shapes.number(1) or 256)]
        for f in flags.data:
            flags.at += 1
            if f & 1 and h["kind"] != 1:
                clock[0] += threads.varint()
            elif f & 1:
                thread = threads.varint()
            b = last[thread % 1024] % size
            if f >> 4 & 7 == 6:
                assert h["flags"] & 1 and not f & 0x88
                places, at = (move_after, b) if last_move == NONE else (move_next, last_move % size)
                if f >> 1 & 3:
                    places[at] = sites.number((1, 2, 4)[(f >> 1 & 3) - 1])
                last_move = places[at]
                yield [{"thread": thread, "site": site, "size": 0, "op": op, "order": 0, "flags": 0,
                        "stamp": clock[0], "target": function}
                       for op, function, site in self.moves[last_move]]
                continue
            if f >> 4 & 7 == 7:
                assert h["flags"] & 2 and f == 0x70 and last_move == NONE
                assert ev["op"] in (1, 2) and ev["size"] <= 16 and not ev["flags"]
                n, stride[c], out = sizes.varint(), sizes.signed() & M64, []
                assert 1 <= n <= 63
                for _ in range(n):
                    target[c] = (target[c] + stride[c]) & M64
                    out.append(dict(ev, target=target[c]))
                yield out
                continue
            places, at = (following, b) if last_move == NONE else (site_after, last_move % size)
            if f >> 1 & 3:
                places[at] = sites.number((1, 2, 4)[(f >> 1 & 3) - 1])
            site = last[thread % 1024] = places[at]
            last_move = NONE
            c = site % size
            if f & 8:
                shape[c] = dictionary[shapes.number(1)]
            ev = {"thread": thread, "site": site, "size": shape[c] & M32,
                  "op": shape[c] >> 32 & 255, "order": shape[c] >> 40 & 255,
                  "flags": shape[c] >> 48, "stamp": clock[0]}
            code = f >> 4 & 7
            if code == 0:
                target[c] = (target[c] + stride[c]) & M64
            elif code > 1:
                n = targets.number((1, 2, 4, 8)[code - 2])
                if ev["flags"] & NAMED:
                    new = (1 << 60) + (8 * n if ev["op"] in (1, 2, 3, 4, 5, 26, 27) else n)
                else:
                    new = (target[c] + unzigzag(n)) & M64
                stride[c], target[c] = (new - target[c]) & M64, new
            ev["target"] = target[c]
            if ev["flags"] & VALUE or ev["op"] in (26, 27, 33, 34):
                if f & 128:
                    value[c] = (value[c] + values.signed()) & M64
                ev["value"] = value[c]
                if ev["flags"] & OLD:
                    ev["old"] = (value[c] + values.signed()) & M64
            if ev["size"] == M32:
                ev["size"] = sizes.varint()
            if ev["flags"] & SEQUENCE:
                sequence = (sequence + sequences.signed()) & M64
                ev["sequence"] = sequence
            if ev["op"] == 28:
                if ev["flags"] & LIST:
                    ev["list"], value[c] = self.differences(calls, value[c])
                else:
                    ev["list"] = [(calls.varint(), calls.varint()) for _ in range(calls.varint())]
                    assert all(first >> 61 <= 1 for first, _ in ev["list"])
            yield [ev]

    @staticmethod
    def differences(calls, at):
        """A list with the flag LIST, and what the site's value is afterwards."""
        out, start, at = [], at, at if at < 1 << 57 else 0
        for i in range(calls.varint()):
            v = calls.varint()
            kind, n = v & 15, v >> 4
            assert kind <= 8
            if kind == 8:
                out.append(((1 << 60) + 8 * n, 8))
            elif 1 <= kind <= 4:
                out.append((kind << 61 | n, 0))
            else:
                at = (at + unzigzag(n)) & M64
                assert at < 1 << 57
                second = 0 if kind == 5 else calls.varint()
                out.append((kind << 61 | at, (at + unzigzag(second)) & M64 if kind == 7 else second))
            start = start if i else at
        return out, start

    def line(self, ev):
        name = ("t" if ev["op"] in (8, 10) and ev["flags"] & BARE else "") + OPERATIONS[ev["op"]] + ("~" if ev["flags"] & LOOSE else "") + ("." + ORDERS[ev["order"]] if ev["order"] else "")
        argument = self.argument(ev)
        site = "?" if ev["site"] == NONE else self.tables[4][ev["site"]]
        if argument is not None:
            name += f"({argument})"
        return f"{self.tables[0][ev['thread']]}|{name}|{site}"

    def memory(self, target, size):
        if target >= 1 << 60:
            return self.tables[1][(target - (1 << 60)) // 8]
        return f"0x{target:x}:{size}"

    def entry(self, entry, second):
        kind, low = entry >> 61, entry & (1 << 61) - 1
        return [lambda: self.memory(low, second), lambda: self.tables[0][low],
                lambda: f"begin({self.tables[0][low]})", lambda: f"sync({self.tables[2][low]})",
                lambda: "*", lambda: f"root(0x{low:x})", lambda: f"object(0x{low:x}:{second})",
                lambda: f"slot(0x{low:x}=0x{second:x})"][kind]()

    def argument(self, ev):
        op, target, flags = ev["op"], ev["target"], ev["flags"]

        def number(v):
            return str(v - (1 << 64) if flags & SIGNED and v >> 63 else v)

        if op <= 5:
            old = number(ev["old"]) + ">" if flags & OLD else ""
            return self.memory(target, ev["size"]) + (
                "=" + old + number(ev["value"]) if flags & VALUE else "")
        if op == 33:
            return f"0x{target:x}=0x{ev['value']:x}"
        if op in (26, 27, 34):
            return self.memory(target, ev["value"])
        if op in (12, 13):
            return self.tables[0][target][1 if flags & BARE else 0:]
        if op in (14, 15):
            return self.tables[0][ev["thread"]] if flags & BARE else None
        if op in (28, 29, 31, 32):
            entries = ",".join(self.entry(*e) for e in ev.get("list", []))
            return self.tables[3][target] + (":" + entries if entries else "")
        if op in (30, 35):
            return number(ev["value"]) if flags & VALUE else None
        if op == 6:
            return None
        return self.tables[2][target - (1 << 60)] if target >= 1 << 60 else f"0x{target:x}"
