#!/usr/bin/python3
"""Make a broken .hdl file out of a good one.

    spoil.py GOOD BROKEN CHANGE...

    length=N        cut to N bytes; negative: so many bytes less
    cut=K+N         cut N bytes behind the start of chunk K
    flip=K+N        flip the lowest bit of byte N of chunk K (its header has 64 bytes)
    drop=K          leave chunk K out
    append=TEXT     add bytes behind the end
    FIELD=N         a field of the file header, its checksum made right
    K.FIELD=N       a field of the header of chunk K, its checksum made right

Offsets and fields are those of docs/format/hdl.md.
"""
import os
import sys

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, os.path.join(HERE, os.pardir, "format"))
import hdl  # noqa: E402


def chunk_at(data, number):
    return list(hdl.chunks(data))[number]


def set_field(data, at, struct, fields, name, value):
    header = dict(zip(fields, struct.unpack_from(data, at)))
    assert name in header, name
    header[name] = value
    struct.pack_into(data, at, *header.values())
    data[at + 60:at + 64] = hdl.xxh32(data[at:at + 60]).to_bytes(4, "little")


def change(data, what, value):
    if what == "length":
        del data[int(value):]
    elif what == "append":
        data += value.encode()
    elif what == "drop":
        at, header = chunk_at(data, int(value))
        del data[at:at + 64 + header["stored_bytes"]]
    elif what in ("cut", "flip"):
        chunk, byte = map(int, value.split("+"))
        at = chunk_at(data, chunk)[0] + byte
        if what == "cut":
            del data[at:]
        else:
            data[at] ^= 1
    elif "." in what:
        chunk, field = what.split(".")
        set_field(data, chunk_at(data, int(chunk))[0], hdl.CHUNK, hdl.CHUNK_FIELDS, field,
                  int(value, 0))
    else:
        set_field(data, 0, hdl.FILE, hdl.FILE_FIELDS, what, int(value, 0))


def main():
    with open(sys.argv[1], "rb") as f:
        data = bytearray(f.read())
    for argument in sys.argv[3:]:
        change(data, *argument.split("=", 1))
    with open(sys.argv[2], "wb") as f:
        f.write(data)


main()
