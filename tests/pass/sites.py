"""Reads the site table out of object files and executables (src/base/rt_sites.h)."""
import struct
import subprocess
import tempfile

KINDS = {1: 'read', 2: 'write', 3: 'atomic', 4: 'entry', 5: 'branch', 6: 'call', 7: 'libc', 8: 'stretch'}
HEADER = struct.Struct('<8sQQQIIIIQQII')
SITE = struct.Struct('<BBHIIIIIIIII')
FRAME = struct.Struct('<IIIIII')


class Module:
    def __init__(self, blob):
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
            kind, how, column, line, nbytes, file, function, variable, inlined, fi, ii, _ = s
            assert inlined <= nframes
            self.sites.append(dict(kind=KINDS[kind], column=column, line=line, size=nbytes,
                                   file=string(file), function=string(function),
                                   variable=string(variable), inlined_at=inlined,
                                   function_index=fi, instruction_index=ii, how=how))
        assert at == strings + nstrings and at + size <= self.total
        self.bitcode = blob[at:at + size]


def stretch_events(module, number, record):
    """What the record of a stretch (src/base/rt_stretch.h) stands for: (kind, site, size, value)."""
    shape = module.sites[number]
    end = number - shape['how']  # its branch, if one ends it
    accesses = range(end - shape['size'], end)
    small, large = 4, 8

    def take(nbytes):
        nonlocal small, large
        if small + nbytes <= 7:
            at, small = small, small + nbytes
        else:
            at, large = large, large + nbytes
        return int.from_bytes(record[at:at + nbytes], 'little')

    outcome = take(1) if shape['how'] else None
    for a in accesses:
        if module.sites[a]['how'] == 0:
            take(6)
    for a in accesses:
        s = module.sites[a]
        yield s['kind'], a, s['size'], take(s['size']) if s['size'] < 16 else '-'
    if shape['how']:
        yield 'branch', end, 0, outcome


def modules(path):
    """All modules of an ELF file."""
    with tempfile.NamedTemporaryFile() as out:
        subprocess.run(['objcopy', '--dump-section', '.llvmcmd=' + out.name, path, '/dev/null'],
                       check=True, stderr=subprocess.DEVNULL)
        data = open(out.name, 'rb').read()
    found, at = [], 0
    while at < len(data):
        if data[at:at + 8] == b'HDLSITE1':
            total = struct.unpack_from('<Q', data, at + 8)[0]
            found.append(Module(data[at:at + total]))
            at += total
        else:
            at += 8
    return found
