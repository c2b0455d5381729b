"""A second reader of .hdl files, written from docs/format/hdl.md and nothing else.

Only for tests: merged layout, columns stored as they are. Slow, and strict: what
the document does not allow is an AssertionError.
"""
import struct

CHUNK = struct.Struct("<IBBBBIIIIQQQQII")
CHUNK_FIELDS = ("magic kind compression context_bits reserved stored_bytes count subject number "
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
    31: "enter", 32: "exit"}
ORDERS = ["", "rlx", "con", "acq", "rel", "ar", "sc"]
VALUE, SIGNED, OLD, BARE, NAMED = 1, 2, 4, 8, 1 << 14


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


class Reader:
    """Tables of names, and the events as lines of the text format."""

    def __init__(self, data):
        self.tables = [[] for _ in range(5)]
        self.lines = []
        self.complete = False
        header = file_header(data)
        assert header["magic"] == b"HEDDLE\r\n" and header["major"] == 1
        assert header["checksum"] == xxh32(data[:60]) and not header["required"]
        for n, (at, h) in enumerate(chunks(data)):
            assert not self.complete and h["magic"] == 0x434C4448 and h["number"] == n
            assert h["header_checksum"] == xxh32(data[at:at + 60])
            self.chunk(h, data[at + CHUNK.size:at + CHUNK.size + h["stored_bytes"]])

    def chunk(self, h, payload):
        if h["kind"] == 1:
            assert h["first"] == len(self.lines)
            self.events(columns(payload, 9), h["count"], h["context_bits"])
        elif h["kind"] == 3:
            self.names(columns(payload, 1)[0], h)
        elif h["kind"] == 4:
            assert h["first"] == len(self.lines)
            self.complete = True

    def names(self, column, h):
        table = self.tables[h["subject"]]
        assert h["first"] == len(table)
        for _ in range(h["count"]):
            table.append(column.text(column.varint()))
            if h["subject"] == 4:
                assert column.varint() <= len(self.tables[3])
        assert column.at == len(column.data)

    def events(self, cols, count, bits):
        flags, threads, sites, shapes, targets, values, sizes, _, calls = cols
        size = 1 << bits
        last, following = [NONE] * 1024, [NONE] * size
        shape, target, stride, value = [None] * size, [0] * size, [0] * size, [0] * size
        thread = None
        dictionary = [shapes.number(8) for _ in range(shapes.number(1) or 256)]
        for _ in range(count):
            f = flags.number(1)
            if f & 1:
                thread = threads.varint()
            b = last[thread % 1024] % size
            if f >> 1 & 3:
                following[b] = sites.number((1, 2, 4)[(f >> 1 & 3) - 1])
            site = last[thread % 1024] = following[b]
            c = site % size
            if f & 8:
                shape[c] = dictionary[shapes.number(1)]
            ev = {"thread": thread, "site": site, "size": shape[c] & M32,
                  "op": shape[c] >> 32 & 255, "order": shape[c] >> 40 & 255,
                  "flags": shape[c] >> 48}
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
            if ev["flags"] & VALUE or ev["op"] in (26, 27):
                if f & 128:
                    value[c] = (value[c] + values.signed()) & M64
                ev["value"] = value[c]
                if ev["flags"] & OLD:
                    ev["old"] = (value[c] + values.signed()) & M64
            if ev["size"] == M32:
                ev["size"] = sizes.varint()
            if ev["op"] == 28:
                ev["list"] = [(calls.varint(), calls.varint()) for _ in range(calls.varint())]
            self.lines.append(self.line(ev))
        assert all(column.at == len(column.data) for column in cols)

    def line(self, ev):
        name = OPERATIONS[ev["op"]] + ("." + ORDERS[ev["order"]] if ev["order"] else "")
        argument = self.argument(ev)
        site = "?" if ev["site"] == NONE else self.tables[4][ev["site"]]
        if argument is not None:
            name += f"({argument})"
        return f"{self.tables[0][ev['thread']]}|{name}|{site}"

    def memory(self, target, size):
        if target >= 1 << 60:
            return self.tables[1][(target - (1 << 60)) // 8]
        return f"0x{target:x}:{size}"

    def entry(self, entry, size):
        return self.tables[0][entry - (1 << 61)] if entry >> 61 == 1 else self.memory(entry, size)

    def argument(self, ev):
        op, target, flags = ev["op"], ev["target"], ev["flags"]

        def number(v):
            return str(v - (1 << 64) if flags & SIGNED and v >> 63 else v)

        if op <= 5:
            old = number(ev["old"]) + ">" if flags & OLD else ""
            return self.memory(target, ev["size"]) + (
                "=" + old + number(ev["value"]) if flags & VALUE else "")
        if op in (26, 27):
            return self.memory(target, ev["value"])
        if op in (12, 13):
            return self.tables[0][target][1 if flags & BARE else 0:]
        if op in (14, 15):
            return self.tables[0][ev["thread"]] if flags & BARE else None
        if op in (28, 29, 31, 32):
            entries = ",".join(self.entry(*e) for e in ev.get("list", []))
            return self.tables[3][target] + (":" + entries if entries else "")
        if op == 30:
            return number(ev["value"]) if flags & VALUE else None
        if op == 6:
            return None
        return self.tables[2][target - (1 << 60)] if target >= 1 << 60 else f"0x{target:x}"
