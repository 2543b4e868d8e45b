"""Randomness: every draw has its own generator, named by what it is for.

A generator depends on (seed, purpose, number) alone, so a draw does not depend on how many others
were made before it, in this process or in another.
"""

from __future__ import annotations

import zlib

from rungwise import lazy_numpy as np


def generator(seed: int, purpose: str, number: int = 0) -> np.random.Generator:
    """The random generator for one purpose.

    Args:
        seed: the study's seed.
        purpose: what is drawn, for example ``"searcher"``.
        number: which draw of this kind, for example the trial's id.
    """
    return np.random.default_rng([seed, zlib.crc32(purpose.encode()), number])
