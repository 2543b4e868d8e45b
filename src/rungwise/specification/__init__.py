"""Read and check studies and spaces in YAML and JSON files."""

from rungwise.specification.functions import load_function
from rungwise.specification.spaces import read_space
from rungwise.specification.studies import read_study

__all__ = ["load_function", "read_space", "read_study"]
