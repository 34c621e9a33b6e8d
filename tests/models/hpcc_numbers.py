"""What the HPCC authors' simulator takes from the libraries below it: random numbers, hashes, times, conversions.

ns-3 draws from streams of MRG32k3a (L'Ecuyer, Simard, Chen, Kelton: An object-oriented random-number package with many
long streams and substreams, 2002) with seed 1 and run 1, and hashes with MurmurHash3. PINT draws from the C library's
``rand()``, in glibc an additive feedback generator with a state of 31 words. Hosts keep their flows in an
``unordered_map`` of GNU's C++ library. None of it is shared with the engine.
"""

from __future__ import annotations

import functools
import math
from collections import deque

U32 = (1 << 32) - 1
U64 = (1 << 64) - 1

Vector = list[int]
Matrix = list[list[int]]

MODULI = (4294967087, 4294944443)
STEPS: tuple[Matrix, Matrix] = (
    [[0, 1, 0], [0, 0, 1], [MODULI[0] - 810728, 1403580, 0]],
    [[0, 1, 0], [0, 0, 1], [MODULI[1] - 1370589, 0, 527612]],
)
"""One step of each of the two components of MRG32k3a."""


def product(a: Matrix, b: Matrix, modulus: int) -> Matrix:
    return [[sum(a[i][k] * b[k][j] for k in range(3)) % modulus for j in range(3)] for i in range(3)]


def applied(a: Matrix, vector: Vector, modulus: int) -> Vector:
    return [sum(a[i][k] * vector[k] for k in range(3)) % modulus for i in range(3)]


def power(a: Matrix, exponent: int, modulus: int) -> Matrix:
    result = [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
    while exponent:
        if exponent & 1:
            result = product(result, a, modulus)
        a = product(a, a, modulus)
        exponent >>= 1
    return result


State = list[Vector]
Jump = list[Matrix]


def jump(steps: int) -> Jump:
    """The matrices of so many steps of both components."""
    return [power(step, steps, modulus) for step, modulus in zip(STEPS, MODULI, strict=True)]


def jumped(state: State, by: Jump) -> State:
    return [applied(*each) for each in zip(by, state, MODULI, strict=True)]


NEXT_STREAM, FIRST_RUN = jump(1 << 127), jump(1 << 76)
EXPLICIT = 1 << 63
"""Streams that a program numbers itself begin here; those below are handed out one after the other."""


def stream(number: int) -> State:
    """Where a stream begins."""
    to_it = [power(matrix, number, modulus) for matrix, modulus in zip(NEXT_STREAM, MODULI, strict=True)]
    return jumped([[1, 1, 1], [1, 1, 1]], to_it)


class Stream:
    """Uniform numbers between 0 and 1."""

    def __init__(self, start: State) -> None:
        self.state = jumped(start, FIRST_RUN)

    def uniform(self) -> float:
        self.state = [applied(*each) for each in zip(STEPS, self.state, MODULI, strict=True)]
        difference = self.state[0][2] - self.state[1][2]
        if difference <= 0:
            difference += MODULI[0]
        return difference * 2.328306549295728e-10


class NewStreams:
    """Streams of which only the first number is ever drawn, or none."""

    def __init__(self, first: int) -> None:
        self.next = stream(first)

    def skip(self) -> None:
        self.next = jumped(self.next, NEXT_STREAM)

    def uniform(self) -> float:
        drawn = Stream(self.next).uniform()
        self.skip()
        return drawn


class CRand:
    """The C library's ``rand()``, never seeded."""

    def __init__(self) -> None:
        words = [1]
        while len(words) < 31:
            words.append(16807 * words[-1] % 2147483647)
        words += words[:3]
        while len(words) < 344:
            words.append((words[-31] + words[-3]) & U32)
        self.words = deque(words[-31:])

    def next(self) -> int:
        word = (self.words[0] + self.words[28]) & U32
        self.words.popleft()
        self.words.append(word)
        return word >> 1


def rotated(word: int, by: int) -> int:
    return (word << by | word >> (32 - by)) & U32


@functools.cache
def murmur3(words: tuple[int, ...], seed: int) -> int:
    """MurmurHash3 of 32 bits."""
    value = seed
    for word in words:
        value ^= rotated(word * 0xCC9E2D51 & U32, 15) * 0x1B873593 & U32
        value = (rotated(value, 13) * 5 + 0xE6546B64) & U32
    value ^= 4 * len(words)
    value = (value ^ value >> 16) * 0x85EBCA6B & U32
    value = (value ^ value >> 13) * 0xC2B2AE35 & U32
    return value ^ value >> 16


class HashOrder:
    """The order in which an ``unordered_map`` of keys that are their own hashes is walked through (GCC 9 or later).

    All entries are in one list. A new one goes to the front of its bucket, or of the list where its bucket is empty; a
    full table moves to more buckets by entering its entries anew.
    """

    SIZES = (13, 29, 59, 127, 257, 541, 1109, 2357)

    def __init__(self) -> None:
        self.buckets, self.keys = self.SIZES[0], list[int]()

    def enter(self, key: int) -> None:
        bucket = key % self.buckets
        place = next((i for i, other in enumerate(self.keys) if other % self.buckets == bucket), 0)
        self.keys.insert(place, key)

    def insert(self, key: int) -> None:
        if len(self.keys) == self.buckets:
            self.buckets = self.SIZES[self.SIZES.index(self.buckets) + 1]
            before, self.keys = self.keys, []
            for other in before:
                self.enter(other)
        self.enter(key)

    def remove(self, key: int) -> None:
        self.keys.remove(key)


def nanoseconds(seconds: float) -> int:
    """A time as ns-3 makes it of a double: 64 bits of fraction, truncated to ns."""
    whole = math.floor(seconds)
    return whole * 10**9 + (int(math.ldexp(seconds - whole, 64)) * 10**9 >> 64)


def serialisation(size: int, rate: int) -> int:
    """How long a frame takes at a rate in bit/s, in ns: through a double, truncated."""
    return nanoseconds(size * 8 / rate)


def quotient(a: float, b: float) -> float:
    """Of doubles that are not negative, as C has it."""
    if b:
        return a / b
    return math.nan if a == 0 or math.isnan(a) else math.inf


def to_u64(x: float) -> int:
    """A double to 64 bits without sign, as compiled for x86-64."""
    if math.isnan(x) or x <= -(2.0**63):
        return 1 << 63
    if x < 2.0**63:
        return int(x) & U64
    above = x - 2.0**63
    return int(above) + (1 << 63) if above < 2.0**63 else 0
