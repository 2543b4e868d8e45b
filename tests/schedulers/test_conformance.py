"""One row a scheduler."""

import pytest

from rungwise import schedulers
from rungwise.errors import InvalidArgumentError, SchemaError
from rungwise.schedulers import codec
from rungwise.testing import SchedulerConformance
from rungwise.testing.schedulers import imported

SOURCES = {
    "Pasha": "rw.PASHA(max_resource=27)",
    "PashaStopping": "rw.PASHA(max_resource=27, variant='stopping')",
    "PashaAuthors": "rw.PASHA(max_resource=27, promote='quantile', check='report')",
    "PashaLeader": "rw.PASHA(max_resource=27, eta=2, ranking=rw.rankings.Leader())",
    "Asha": "rw.ASHA(max_resource=27)",
    "AshaStopping": "rw.ASHA(max_resource=27, eta=4, variant='stopping')",
    "AshaQuantile": "rw.ASHA(max_resource=27, promote='quantile')",
    "Halving": "rw.SuccessiveHalving(max_resource=27)",
    "HalvingSized": "rw.SuccessiveHalving(max_resource=27, size=100)",
    "Hyperband": "rw.Hyperband(max_resource=27)",
    "AsyncHyperband": "rw.AsyncHyperband(max_resource=27)",
    "Adaptive": "rw.AdaptiveHalving(max_resource=27)",
    "AdaptiveSized": "rw.AdaptiveHalving(max_resource=27, eta=2, size=20)",
    "Sharp": "rw.SharpHalving(max_resource=27)",
    "SharpCut": "rw.SharpHalving(max_resource=27, eta=2, first_cut=5)",
    "RushAdaptive": "rw.Rush(rw.AdaptiveHalving(max_resource=27), priors=4)",
    "EarlyStopping": "from rungwise.schedulers import EarlyStopping; EarlyStopping(3, 27)",
    "OneEpoch": "rw.FixedResource(1)",
    "RandomSearch": "rw.RandomSearch(max_resource=27)",
    "RushPasha": "rw.Rush(rw.PASHA(max_resource=27), priors=4)",
    "RushStopping": "rw.Rush(rw.PASHA(max_resource=27, variant='stopping'), priors=4)",
    "RushHyperband": "rw.Rush(rw.Hyperband(max_resource=27), priors=4)",
}

for name, source in SOURCES.items():
    globals()[f"Test{name}"] = type(f"Test{name}", (SchedulerConformance,), {"source": source})


def test_every_scheduler_has_a_row():
    exported = {getattr(schedulers, name) for name in schedulers.__all__}
    assert exported == {type(imported(source)) for source in SOURCES.values()}


@pytest.mark.parametrize("source", SOURCES.values())
def test_recipes_survive_json(source):
    recipe = imported(source)
    assert codec.recipe_from_json(codec.recipe_to_json(recipe)) == recipe


def test_documents_of_unknown_or_wrong_type_are_refused():
    with pytest.raises(SchemaError, match="type is 'Nope'"):
        codec.recipe_from_json({"type": "Nope"})
    with pytest.raises(SchemaError, match=r"lacks \['priors'\] and has the unknown \['bar'\]"):
        codec.recipe_from_json({"type": "Rush", "bar": 3})
    assert codec.recipe_from_json({"type": "ASHA"}) == imported(
        "rw.ASHA()"
    )  # a default is no secret
    with pytest.raises(InvalidArgumentError, match="eta is 1"):
        codec.recipe_from_json({**codec.recipe_to_json(imported("rw.ASHA()")), "eta": 1})
