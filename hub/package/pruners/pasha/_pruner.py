from __future__ import annotations

from rungwise.integrations.optuna import ASHAPruner, PASHAPruner, best, finish


__all__ = ["ASHAPruner", "PASHAPruner", "best", "finish"]
