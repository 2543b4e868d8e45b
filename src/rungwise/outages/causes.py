"""Which failures look like an outage: a disk, a device, a module or a service that is gone.

Recognised by the text of a failure, since that is all that every backend and every script can give.
Such a failure may still be the configuration's own, so that nothing is decided by it alone.
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
"""Messages about a device that is gone. Memory that ran out is not among them: that belongs to the
configuration as a rule."""

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
