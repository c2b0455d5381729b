"""Reads the site table out of object files and executables (src/base/rt_sites.h)."""
import struct
import subprocess
import tempfile

KINDS = {1: 'read', 2: 'write', 3: 'atomic', 4: 'entry', 5: 'branch', 6: 'call', 7: 'libc'}
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
            kind, _, column, line, nbytes, file, function, variable, inlined, fi, ii, _ = s
            assert inlined <= nframes
            self.sites.append(dict(kind=KINDS[kind], column=column, line=line, size=nbytes,
                                   file=string(file), function=string(function),
                                   variable=string(variable), inlined_at=inlined,
                                   function_index=fi, instruction_index=ii))
        assert at == strings + nstrings and at + size <= self.total
        self.bitcode = blob[at:at + size]


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
