"""The kernels that the recorder trains with compute what plain PyTorch computes."""

import os
import subprocess
import sys
from pathlib import Path

from extras import needs

needs("recording")

HERE = Path(__file__).parent


def test_interpreted_kernels_agree_with_pytorch():
    done = subprocess.run(
        [sys.executable, HERE / "kernels_against_pytorch.py", HERE.parents[1] / "recording"],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "TRITON_INTERPRET": "1", "OMP_NUM_THREADS": "1"},
        timeout=600,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.split()[0] == "29"
