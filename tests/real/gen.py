#!/usr/bin/python3
"""Inputs of the workloads, the same on every run, on standard output.

    gen.py text MIB | y4m WIDTH HEIGHT FRAMES | genome BASES | reads GENOME COUNT LENGTH
"""
import random
import sys

rng = random.Random(20)
out = sys.stdout.buffer


def text(mib):
    """Words with the frequencies of a language: compresses like prose."""
    words = ["".join(rng.choice("etaoinshrdlucmfwypvbgkjqxz") for _ in range(rng.randint(2, 9)))
             for _ in range(4000)]
    weights = [1 / (i + 1) for i in range(len(words))]
    left = int(mib) << 20
    while left > 0:
        piece = (" ".join(rng.choices(words, weights, k=20000)) + "\n").encode()[:left]
        out.write(piece)
        left -= len(piece)


def y4m(width, height, frames):
    """A moving pattern under noise."""
    width, height, frames = int(width), int(height), int(frames)
    noise = bytes(rng.randrange(24) for _ in range(width * 4))
    out.write(b"YUV4MPEG2 W%d H%d F25:1 Ip A1:1 C420\n" % (width, height))
    for f in range(frames):
        out.write(b"FRAME\n")
        for y in range(height):
            at = (y * 37 + f * 11) % (3 * width)
            out.write(bytes((((x + 2 * f) ^ (y + f)) // 2 % 200 + n) & 255
                            for x, n in zip(range(width), noise[at:at + width])))
        out.write(bytes((128 + ((i + f * 3) % 64) - 32) & 255
                        for i in range(width * height // 2)))


def genome(bases):
    letters = "".join(rng.choices("ACGT", k=int(bases)))
    out.write(b">chr1\n")
    for i in range(0, len(letters), 80):
        out.write(letters[i:i + 80].encode() + b"\n")


def reads(path, count, length):
    """Pieces of the genome with a twentieth of their letters changed."""
    with open(path, encoding="ascii") as f:
        letters = "".join(line.strip() for line in f if line[0] != ">")
    for i in range(int(count)):
        at = rng.randrange(len(letters) - int(length))
        piece = list(letters[at:at + int(length)])
        for _ in range(len(piece) // 20):
            piece[rng.randrange(len(piece))] = rng.choice(["A", "C", "G", "T", "", "AC"])
        out.write((">r%d\n%s\n" % (i, "".join(piece))).encode())


{"text": text, "y4m": y4m, "genome": genome, "reads": reads}[sys.argv[1]](*sys.argv[2:])
