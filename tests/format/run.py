#!/usr/bin/python3
"""The document is enough to read .hdl files: a reader made from it sees what heddle sees.

    run.py HEDDLE GENERATOR

Every text trace of tests/traces and some generated ones are converted, read by
hdl.py, and compared with what heddle converts back; prints TAP.
"""
import pathlib
import subprocess
import sys
import tempfile

import hdl

TRACES = pathlib.Path(__file__).resolve().parent.parent / "traces"
GENERATED = [
    ["--small", "--events", "2000", "--threads", "5", "--values"],
    ["--events", "70000", "--values", "--heap", "20", "--atomic", "20", "--branch", "10",
     "--shared", "20", "--overlap", "10"],
    ["--events", "20000", "--threads", "1500", "--named", "--lifetime", "100"],
]


def same(heddle, trace, work):
    file, text = work / "x.hdl", work / "x.std"
    subprocess.run([heddle, "convert", "--quiet", "--compression=none", trace, file], check=True)
    subprocess.run([heddle, "convert", "--quiet", file, text], check=True)
    reader = hdl.Reader(file.read_bytes())
    lines = "".join(line + "\n" for line in reader.lines)
    return reader.complete and lines.encode("utf-8", "surrogateescape") == text.read_bytes()


def generate(generator, work):
    for n, options in enumerate(GENERATED):
        path = work / f"generated-{n}.std"
        subprocess.run([generator, *options, "-o", path], check=True)
        yield path


def main():
    heddle, generator = sys.argv[1:]
    with tempfile.TemporaryDirectory() as tmp:
        work = pathlib.Path(tmp)
        traces = sorted(TRACES.rglob("*.std")) + list(generate(generator, work))
        print(f"1..{len(traces)}")
        good = True
        for n, trace in enumerate(traces, 1):
            ok = same(heddle, trace, work)
            good = good and ok
            print(f"{'ok' if ok else 'not ok'} {n} - {trace.name}")
    return 0 if good else 1


sys.exit(main())
