"""What caused a failure, as far as its text says: that is all that every backend can give.

Some look like an outage (a disk, a device, a module or a service that is gone), although they may
still be the configuration's own, so that nothing is decided by that alone. Others depend on the
configuration by their nature: numbers that diverge, and memory that does not suffice.
"""

from __future__ import annotations

import errno
import os
import re

_DISK = ("EROFS", "EACCES", "EPERM", "EIO", "ESTALE", "ENOSPC", "EDQUOT", "ENOTDIR", "ENODEV")
_DEVICE = ("ENXIO", "EREMOTEIO", "ENOTCONN", "EHOSTDOWN")
_SERVICE = ("ECONNREFUSED", "EHOSTUNREACH", "ENETUNREACH", "ENETDOWN")
_NAMES = (*_DISK, *_DEVICE, *_SERVICE)
_NUMBERS = {getattr(errno, name): name for name in _NAMES if hasattr(errno, name)}

_ERRNO = re.compile(r"\[Errno (\d+)\]")
_SAID = re.compile("|".join(re.escape(os.strerror(number)) for number in _NUMBERS), re.IGNORECASE)
"""What programs print that are not written in Python."""

_IMPORT = re.compile(r"\b(ImportError|ModuleNotFoundError): ")
_GPU = re.compile(
    r"no CUDA-capable device|No CUDA GPUs are available|CUDA driver|CUDA-capable device\(s\) is/are"
    r"|devices? (is|are) (busy or )?unavailable|GPU is lost|fallen off the bus|uncorrectable ECC"
    r"|Unable to determine the device handle|NVML|No HIP GPUs are available|device not ready",
    re.IGNORECASE,
)
"""Messages about a device that is gone."""

_MEMORY = re.compile(
    r"MemoryError|OutOfMemory|out of memory|\bOOM\b|bad_alloc|RESOURCE_EXHAUSTED|not enough memory"
    r"|unable to allocate|cannot allocate|failed to allocate|ALLOC_FAILED|cudaErrorMemoryAllocation"
    r"|killed by SIGKILL|\[Errno 12\]",
    re.IGNORECASE,
)
"""Memory that ran out; SIGKILL is how the system ends what takes too much."""

_DIVERGED = re.compile(
    r"\bNotFiniteError\b|\bFloatingPointError\b|\bOverflowError\b"
    r"|\b(nans?|infs?|infinity|infinite|(not|non)[- ]?finite)\b",
    re.IGNORECASE,
)
_OF_FUNCTION = re.compile(
    r"^(Type|Name|UnboundLocal|Attribute|Key|Index|Lookup|Import|ModuleNotFound|Syntax|Indentation"
    r"|NotImplemented|FileNotFound)Error\b"
)
"""Errors that the function makes, whatever words they quote."""

LINES = 5
"""How many of the last lines that a program printed are searched."""


def find_cause(reason: str, output: str = "") -> str | None:
    """What in the surroundings may have caused a failure, in a word or two; None if nothing.

    Args:
        reason: the failure in one line.
        output: the last of what the job printed.
    """
    for text in (reason, "\n".join(output.splitlines()[-LINES:])):
        for found in _ERRNO.findall(text):
            if int(found) in _NUMBERS:
                return _NUMBERS[int(found)]
        if _GPU.search(text):
            return "GPU lost"
        if _IMPORT.search(text):
            return "import failed"
    # A script's own message counts; the text of an exception might quote anything.
    said = _SAID.search("\n".join(output.splitlines()[-LINES:]))
    return None if said is None else said[0]


def depends_on_configuration(reason: str, output: str = "") -> bool:
    """Whether another configuration may well work where this one failed: NaN, infinity, memory.

    Args:
        reason: the failure in one line.
        output: the last of what the job printed; it counts where a program of its own has failed.
    """
    if _OF_FUNCTION.match(reason):
        return False
    if not reason.startswith("ScriptError"):
        return _tells_of_either(reason)
    # Its command, in brackets, may hold any word; what it printed last says what happened.
    if "(out of memory?)" in reason:
        return True
    last = [line for line in output.splitlines()[-LINES:] if not _OF_FUNCTION.match(line)]
    return any(_tells_of_either(line) for line in last)


def _tells_of_either(text: str) -> bool:
    return _MEMORY.search(text) is not None or _DIVERGED.search(text) is not None
