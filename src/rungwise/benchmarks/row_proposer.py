"""Searching among the rows of a table: what is proposed becomes the nearest row not yet drawn.

A table holds some configurations of its space, so a proposal is seldom among them. Answered by the
nearest row as it is (1-NN), a model that homes in would draw the same few rows again and again and
learn nothing new; so each row is drawn once before any is drawn a second time.
"""

from __future__ import annotations

import numpy as np

from rungwise.benchmarks.nearest import Nearest
from rungwise.benchmarks.table import Table
from rungwise.core.proposals import Config, Proposals


class RowAssigner:
    """Finds rows for configurations.

    Args:
        table: with configurations and a space; with ``nearest``, rows may come again.

    Attributes:
        drawn: the rows found so far, in order.
    """

    def __init__(self, table: Table) -> None:
        assert table.space is not None
        assert table.configs is not None
        self.drawn: list[int] = []
        self._table = table
        self._nearest = Nearest(table.space, table.configs)
        self._times = np.zeros(table.rows, dtype=np.int64)

    def draw(self, config: Config) -> int:
        """The row for a configuration: the nearest of those drawn least often."""
        if self._table.nearest:
            row = self._table.find_row(config)
        else:
            distances = self._nearest.distances(config)
            distances[self._times > self._times.min()] = np.inf
            row = int(distances.argmin())
            self._times[row] += 1
        self.drawn.append(row)
        return row


class RowProposer:
    """A proposer whose proposals are rows of a table.

    Args:
        proposals: those of the study, in the space of the table.
        table: with configurations and a space; with ``nearest``, proposals are taken as they are.

    Attributes:
        rows: the rows drawn so far, in order.
    """

    def __init__(self, proposals: Proposals, table: Table) -> None:
        self._proposals = proposals
        self._table = table
        self._rows = RowAssigner(table)
        self.rows = self._rows.drawn

    def __call__(self, number: int) -> Config | None:
        """The configuration of trial ``number``."""
        config = self._proposals.propose(number)
        if config is not None:
            row = self._rows.draw(config)
            if not self._table.nearest and self._table.configs is not None:
                config = dict(self._table.configs[row])
        self._proposals.drawn(number, config)
        return config
