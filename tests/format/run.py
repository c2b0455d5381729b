#!/usr/bin/python3
"""The document is enough to read .hdl files: a reader made from it sees what heddle sees.

    run.py HEDDLE GENERATOR RECORDING

Every text trace of tests/traces and some generated ones are converted, read by
hdl.py, and compared with what heddle converts back. So are recordings, which
RECORDING makes: threads layout, stripes, processes. Prints TAP.
"""
import pathlib
import subprocess
import sys
import tempfile

import hdl

TRACES = pathlib.Path(__file__).resolve().parent.parent / "traces"
RECORDINGS = 6
GENERATED = [
    ["--small", "--events", "2000", "--threads", "5", "--values"],
    ["--events", "70000", "--values", "--heap", "20", "--atomic", "20", "--branch", "10",
     "--shared", "20", "--overlap", "10"],
    ["--events", "20000", "--threads", "1500", "--named", "--lifetime", "100"],
]


def read_alike(heddle, file, work):
    """The second reader, if it sees what heddle sees; else None."""
    text = work / "x.std"
    subprocess.run([heddle, "convert", "--quiet", file, text], check=True)
    reader = hdl.Reader(file.read_bytes())
    lines = "".join(line + "\n" for line in reader.lines)
    alike = lines.encode("utf-8", "surrogateescape") == text.read_bytes()
    return reader if reader.complete and alike else None


def same(heddle, trace, work):
    file = work / "x.hdl"
    subprocess.run([heddle, "convert", "--quiet", "--compression=none", trace, file], check=True)
    return read_alike(heddle, file, work) is not None


# Lists of every kind, short and long, as they stand in a file: in text they are not.
LISTS = """\
T0|fork(T1)|1
T0|w(V=9223372036854775808)|2
T0|acq(L)|3
T0|alloc(0x1000:64)|4
T0|link(0x1008=0x2000)|5
T0|link(0x1010=0x0)|5
T0|object(0x2000:144115188075847680)|6
T0|call(f:V,T1,0x10:8)|2
T0|call(f:V,T1,0x10:8,0x30:8,0x50:8,0x70:8,0x90:8,0xb0:8,0x8:1)|2
T0|call(f:*)|2
T1|call(f:begin(T1),sync(L))|2
T1|call(f:root(0x1ffffffffffffff),root(0x1000),root(0x0))|7
T1|call(f:root(0x1000),object(0x2000:8),slot(0x2000=0x1ffffffffffffff),V,*)|7
T1|call(f:root(0x1000),slot(0x2000=0x0))|7
T1|call(f)|7
T1|call(f:root(0x1008))|7
"""


def same_lists(heddle, work):
    """Compared with the text that was converted: our own format keeps lists as they are."""
    text, file = work / "lists.std", work / "lists.hdl"
    text.write_text(LISTS)
    subprocess.run([heddle, "convert", "--quiet", "--compression=none", text, file], check=True)
    return hdl.Reader(file.read_bytes(), True).lines == LISTS.splitlines()


def same_recording(heddle, recording, seed, work):
    """Also what the file says about the process, and that a converted file says the same."""
    out = subprocess.run([recording, work, str(seed)], check=True, capture_output=True, text=True)
    file = pathlib.Path(out.stdout.strip())
    reader = read_alike(heddle, file, work)
    if not reader or reader.layout != 2:
        return False
    merged = work / "merged.hdl"
    subprocess.run([heddle, "convert", "--quiet", "--compression=none", file, merged], check=True)
    again = read_alike(heddle, merged, work)
    return (again is not None and again.lines == reader.lines and again.images == reader.images
            and again.process == reader.process and again.thread_names == reader.thread_names
            and reader.process["command"] == "./mock --seed" and reader.thread_names[0] == "first"
            and reader.process[1] == int(file.stem) and "mocked" in reader.notes
            and [image["traced"] for image in reader.images] == [1, 0])


def generate(generator, work):
    for n, options in enumerate(GENERATED):
        path = work / f"generated-{n}.std"
        subprocess.run([generator, *options, "-o", path], check=True)
        yield path


def main():
    heddle, generator, recording = sys.argv[1:]
    with tempfile.TemporaryDirectory() as tmp:
        work = pathlib.Path(tmp)
        traces = sorted(TRACES.rglob("*.std")) + list(generate(generator, work))
        print(f"1..{len(traces) + RECORDINGS + 1}")
        good = True
        for n, trace in enumerate(traces, 1):
            ok = same(heddle, trace, work)
            good = good and ok
            print(f"{'ok' if ok else 'not ok'} {n} - {trace.name}")
        for seed in range(RECORDINGS):
            ok = same_recording(heddle, recording, seed, work)
            good = good and ok
            print(f"{'ok' if ok else 'not ok'} {len(traces) + seed + 1} - recording {seed}")
        ok = same_lists(heddle, work)
        good = good and ok
        print(f"{'ok' if ok else 'not ok'} {len(traces) + RECORDINGS + 1} - lists of calls")
    return 0 if good else 1


sys.exit(main())
