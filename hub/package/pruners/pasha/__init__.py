from ._pruner import ASHAPruner, PASHAPruner, best, finish


__all__ = ["ASHAPruner", "PASHAPruner", "best", "finish"]
