"""The engine's random numbers, which the independent models draw as it does: all that they share with it."""

from __future__ import annotations

_WORD = (1 << 64) - 1
_STEP = 0x9E3779B97F4A7C15


def mix(a: int) -> int:
    a = (a + _STEP) & _WORD
    a = ((a ^ (a >> 30)) * 0xBF58476D1CE4E5B9) & _WORD
    a = ((a ^ (a >> 27)) * 0x94D049BB133111EB) & _WORD
    return a ^ (a >> 31)


def hash3(a: int, b: int, c: int) -> int:
    return mix((a + b * 0xD6E8FEB86659FD93 + c * 0xA0761D6478BD642F) & _WORD)


def draw(seed: int, purpose: int, entity: int = 0, counter: int = 0) -> int:
    """One number of the random stream of a purpose and an entity."""
    seed = mix(seed)
    turned = (seed << 32 | seed >> 32) & _WORD
    a, b = mix(mix(seed ^ purpose) ^ entity), mix(mix(turned ^ entity) ^ purpose)
    return mix(mix((a + counter * _STEP) & _WORD) ^ b)
