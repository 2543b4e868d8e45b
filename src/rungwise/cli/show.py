"""``rungwise show``: what a study has found so far."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from rungwise.cli import summary
from rungwise.cli.console import out, write_line
from rungwise.cli.leaderboard import print_leaderboard
from rungwise.cli.parameters import RESULT_AS_JSON, STUDY, Flag
from rungwise.cli.retrained import print_all_retrained
from rungwise.errors import InvalidArgumentError
from rungwise.tuning.loading import load

Top = Annotated[int, Flag("Number of trials in the leaderboard.", least=1)]
EXPLAIN = Flag("Also say by which rule trials were trained further, and why the winner won.")
TrialNumber = Annotated[int | None, Flag("Show only the trial with this number, in detail.")]


def show(
    study: Annotated[Path, STUDY],
    top: Top = 10,
    trial: TrialNumber = None,
    explain: Annotated[bool, EXPLAIN] = False,
    as_json: Annotated[bool, RESULT_AS_JSON] = False,
) -> None:
    """Show what a study has found so far: leaderboard, rungs, best configuration and state.

    This works while the study runs, too.
    """
    result = load(study)
    if as_json:
        write_line(summary.as_line(summary.result_to_json(result, top=top)))
        return
    console = out(narrow=True)
    if trial is not None:
        if trial >= result.trials:
            rule = f"the study has the trials 0 to {result.trials - 1}"
            raise InvalidArgumentError("--trial", trial, rule)
        summary.print_trial(console, result, trial)
        return
    if result.trials:
        print_leaderboard(console, result, top)
        summary.print_rungs(console, result)
    summary.print_summary(console, result, explain=explain)
    summary.print_failures(console, result)
    print_all_retrained(console, result)
