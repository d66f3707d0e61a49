"""The first run on a real file, with what `init` proposes: it converges, and no comparison dominates it."""

from typing import Any

import pytest

from molehill import synthesize
from molehill.evaluation.telling import Teller
from molehill.evaluation.verdict import list_findings
from molehill.plan.suggest import suggest_settings
from molehill.tables.formats.formats import read_table
from molehill.tables.populations import consumer_survey
from molehill.tables.table import Table

FILES = ("survey", "ce_sample.csv", "nist_ma.csv")


def proposed(name: str, request: Any) -> tuple[Table, Any]:
    """A table, and the settings that `init` writes for it; what is left to be decided is dropped."""
    built_in = name == "survey"
    table = Table(consumer_survey(seed=1)) if built_in else read_table(request.getfixturevalue("shared") / name)
    settings = suggest_settings(table).settings
    return table, settings.but(undecided=(), drop=(*settings.drop, *settings.undecided))


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
def test_default_release_is_dominated_by_no_comparison(request, name):
    table, settings = proposed(name, request)
    release = synthesize(table, settings.but(seed=1), progress=False)
    assert release.fits["converged"].all(), release.fits["problems"].tolist()
    found = list_findings(release.evaluation, release.scheme, Teller("internal", len(table.frame)))
    assert not [remark.text for remark in found if remark.section == "map"]
