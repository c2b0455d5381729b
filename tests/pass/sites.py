"""Reads the site table out of object files and executables (src/abi/rt_sites.h)."""
import struct
import subprocess
import tempfile

KINDS = {1: 'read', 2: 'write', 3: 'atomic', 4: 'entry', 5: 'branch', 6: 'call', 7: 'libc', 8: 'stretch',
         9: 'value', 10: 'frame'}
HEADER = struct.Struct('<8sQQQIIIIQQII')
SITE = struct.Struct('<BBHIIIIIIIIi')
FRAME = struct.Struct('<IIIIII')
PACKED = struct.Struct('<8sQQQQQQQ')


class Module:
    def __init__(self, blob, bitcode):
        (magic, self.total, self.id0, self.id1, nsites, nframes, nstrings, self.flags,
         at, size, source, directory) = HEADER.unpack_from(blob)
        assert magic == b'HDLSITE1' and self.total % 8 == 0
        frames = HEADER.size + nsites * SITE.size
        strings = frames + nframes * FRAME.size

        def string(n):
            assert n < nstrings
            return blob[strings + n:blob.index(b'\0', strings + n)].decode()

        self.source, self.directory = string(source), string(directory)
        self.frames = [dict(zip(('file', 'line', 'column', 'function', 'inlined_at'), f))
                       for f in FRAME.iter_unpack(blob[frames:strings])]
        for f in self.frames:
            f['file'], f['function'] = string(f['file']), string(f['function'])
        self.sites = []
        for s in SITE.iter_unpack(blob[HEADER.size:frames]):
            kind, how, column, line, nbytes, file, function, variable, inlined, fi, ii, offset = s
            assert inlined <= nframes
            self.sites.append(dict(kind=KINDS[kind], column=column, line=line, size=nbytes,
                                   file=string(file), function=string(function),
                                   variable=string(variable), inlined_at=inlined,
                                   function_index=fi, instruction_index=ii, how=how, offset=offset))
        assert at == 0 and size == 0 and strings + nstrings == self.total
        self.bitcode = bitcode


def unpack(data, size):
    if len(data) == size:
        return data
    return subprocess.run(['zstd', '-dcq'], input=data, stdout=subprocess.PIPE, check=True).stdout


def read_module(blob):
    _, total, id0, id1, size, packed, code_size, code_packed = PACKED.unpack_from(blob)
    assert total % 8 == 0
    end = PACKED.size + packed
    module = Module(unpack(blob[PACKED.size:end], size),
                    unpack(blob[end:end + code_packed], code_size))
    assert module.total == size and (module.id0, module.id1) == (id0, id1)
    return module


BRANCHES, LONG, JOINS = 1, 2, 4  # bits of a stretch's `how`
ENTERED = 1  # a frame's


def stretch_block(module, number):
    """The accesses of a stretch's last block, and the site of the branch that may end it."""
    shape = module.sites[number]
    end = number - shape['column'] - (shape['how'] & BRANCHES)
    return range(end - shape['size'], end), end


def stretch_path(module, number):
    """The stretches that it goes on from, itself last."""
    path = [number]
    while module.sites[path[0]]['function_index']:
        path.insert(0, module.sites[path[0]]['function_index'] - 1)
    return path


def stretch_events(module, number, record):
    """What the record of a stretch (src/abi/rt_stretch.h) stands for: (kind, site, size, value)."""
    path, at, values = stretch_path(module, number), 8, []
    depth = int.from_bytes(record[5:7], 'little')  # where the record leaves a frame
    assert module.sites[number]['how'] & LONG

    def take(nbytes):
        nonlocal at
        at += nbytes
        return int.from_bytes(record[at - nbytes:at], 'little')

    for i, block in enumerate(path):
        accesses, branch = stretch_block(module, block)
        if module.sites[block]['how'] & JOINS:
            at = (at + 7) // 8 * 8
        for a in accesses:
            s = module.sites[a]
            if s['kind'] == 'frame' and s['how'] == ENTERED:
                assert at == 8 and i == 0
                depth = take(8) >> 48
            elif s['kind'] != 'value' and s['how'] == 0:
                take(6)
        for a in accesses:
            s, told = module.sites[a], module.sites[a + 1]
            if s['kind'] == 'value':
                continue
            if s['kind'] == 'frame':
                values.append(None)
                yield 'enter' if s['how'] == ENTERED else 'exit', s['offset'], 0, depth
                continue
            if told['kind'] == 'value' and a + 1 in accesses:
                before = values[-told['how']] if told['how'] else 0
                values.append((told['offset'] + before) % (1 << 8 * s['size']))
            else:
                values.append(take(s['size']) if s['size'] < 16 else '-')
            yield s['kind'], a, s['size'], values[-1]
        if module.sites[block]['how'] & BRANCHES:
            decided = i + 1 < len(path)
            values.append(module.sites[path[i + 1]]['instruction_index'] - 1 if decided
                          else record[4])
            yield 'branch', branch, 0, values[-1]


def modules(path):
    """All modules of an ELF file."""
    with tempfile.NamedTemporaryFile() as out:
        subprocess.run(['objcopy', '--dump-section', '.llvmcmd=' + out.name, path, '/dev/null'],
                       check=True, stderr=subprocess.DEVNULL)
        data = open(out.name, 'rb').read()
    found, at = [], 0
    while at < len(data):
        if data[at:at + 8] == b'HDLSITE2':
            total = struct.unpack_from('<Q', data, at + 8)[0]
            found.append(read_module(data[at:at + total]))
            at += total
        else:
            at += 8
    return found
