"""What a test needs beyond the base dependencies; without it the test is skipped, by its name.

A test says the name of an extra, or of a package that some extra lists::

    needs("demo")  # at the top of a module, or inside a test
    go = needs("plots", "plotly.graph_objects")  # imports and returns a module of it
    pytest.param("gp", marks=needing("bo"))  # one case of several

What an extra consists of stands in ``pyproject.toml`` and is read from there, so that a requirement
added to an extra is a requirement of its tests too.
"""

import functools
import importlib
import importlib.metadata
import sys
from contextlib import contextmanager
from itertools import chain
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name as canonical

from rungwise.errors import MissingExtraError

if sys.version_info >= (3, 11):
    import tomllib
else:  # pytest brings it
    import tomli as tomllib

PROJECT = Path(__file__).parents[1] / "pyproject.toml"


def needs(name, module=None):
    """Skip the test, or the whole module, unless it is installed; give back a module of it."""
    __tracebackhide__ = True  # so that the skip is reported where the test is
    lacking = missing(name)
    if lacking:
        pytest.skip(reason(name, lacking), allow_module_level=True)
    return importlib.import_module(module) if module else None


def needing(name):
    """The same as a mark."""
    lacking = missing(name)
    return pytest.mark.skipif(bool(lacking), reason=reason(name, lacking))


def reason(name, lacking):
    owners = [] if name in project()["optional-dependencies"] else extras_with(name)
    of = f" of the extra {' or '.join(owners)}" if owners else ""
    return f"needs {name}{of} (not installed: {', '.join(lacking)})"


@contextmanager
def skip_where_missing():
    """Skip where rungwise itself says that an extra is needed, if it is right."""
    __tracebackhide__ = True
    try:
        yield
    except MissingExtraError as error:
        if not missing(error.extra):
            raise
        needs(error.extra)


@functools.cache
def project():
    return tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]


@functools.cache
def missing(name):
    """The requirements of an extra that are not installed, or not in such a version."""
    lacking = [each for each in requirements(name) if not installed(each)]
    return tuple(sorted({f"{each.name}{each.specifier}" for each in lacking}))


def requirements(name):
    """What an extra requires; of a package, every requirement of it."""
    extras = project()["optional-dependencies"]
    if name in extras:
        return list(chain.from_iterable(_flatten(Requirement(text)) for text in extras[name]))
    listed = [*project()["dependencies"], *chain.from_iterable(extras.values())]
    found = [each for each in map(Requirement, listed) if canonical(each.name) == name]
    if not found:
        raise LookupError(f"pyproject.toml has no extra {name!r} and no requirement of that name")
    return found


def extras_with(package):
    """The extras that list a package."""
    extras = project()["optional-dependencies"]
    return [
        extra
        for extra, texts in extras.items()
        if any(canonical(Requirement(text).name) == package for text in texts)
    ]


def _flatten(requirement):
    if requirement.marker is not None and not requirement.marker.evaluate({"extra": ""}):
        return []
    if requirement.name == project()["name"]:
        return list(chain.from_iterable(map(requirements, requirement.extras)))
    return [requirement]


def installed(requirement):
    try:
        version = importlib.metadata.version(requirement.name)
    except importlib.metadata.PackageNotFoundError:
        return False
    return requirement.specifier.contains(version, prereleases=True)
