"""What an intruder learns who follows a person's row through all released datasets, variable by variable."""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from molehill.arrays import Floats, derive_seed
from molehill.attacks.copies import copied_anywhere, copied_own, copied_together
from molehill.attacks.repeats import Repeats, code_values, repeated_values
from molehill.attacks.transformations import TurnedBack, avoided, in_radii, turned_back
from molehill.tables.intervals import Figure

if TYPE_CHECKING:
    from molehill.evaluation.scene import Scene

# Values within this share of the radius count as the same, in a search for values that nearly repeat.
_NEARLY = 0.1


@dataclass(frozen=True, eq=False)
class AllDatasets:
    """The row of every record in all datasets of a release; nothing of fully synthetic data."""

    scene: "Scene"

    @cached_property
    def _values(self) -> dict[str, tuple[Floats, Floats]]:
        """By numeric variable the true values and, (datasets, records), the released ones; NaN where missing."""
        scene, found = self.scene, {}
        for name in scene.view.numeric if scene.is_release and scene.is_linked else ():
            rows = []
            for reading in scene.readings:
                values, of = reading.column(name), reading.rows
                rows.append(values if of is None else np.where(of >= 0, values[of], np.nan))
            found[name] = scene.view.column(name), np.stack(rows)
        return found

    @cached_property
    def copied(self) -> dict[str, Figure]:
        """Released records, and joint values, that are true ones of anybody, in any order; beyond chance."""
        scene, view = self.scene, self.scene.view
        released = [(reading.cells, reading.values) for reading in scene.readings]
        seed = derive_seed(scene.options.seed, "copied")
        return copied_anywhere(view.cells, view.values, released, view.patterns.codes, seed=seed) if released else {}

    @cached_property
    def copied_own(self) -> dict[str, Figure]:
        """By variable, people whose own released record has their true value, one that few have; beyond chance."""
        patterns = self.scene.view.patterns.codes
        return {name: copied_own(*both, patterns) for name, both in self._values.items()}

    @cached_property
    def copied_together(self) -> Figure | None:
        """People whose own released record has two true values, beyond chance; of two synthesized numbers at least."""
        both = [*self._values.values()]
        if len(both) < 2:
            return None
        truth, released = (np.stack([one[place] for one in both], axis=-1) for place in (0, 1))
        return copied_together(truth, released, self.scene.view.patterns.codes)

    @cached_property
    def _in_radii(self) -> dict[str, tuple[Floats, Floats]]:
        """The same in radii; without variables of which only equal values are close."""
        view, found = self.scene.view, {}
        for name, both in self._values.items():
            place = view.numeric.index(name)
            radius, floor = float(view.radius[place]), float(view.min_radius[place])
            sizes = [np.abs(one[np.nan_to_num(one) != 0]) for one in both]
            least = min((float(one.min()) for one in sizes if len(one)), default=0.0)
            if (radius > 0 or floor > 0) and least > 0:
                truth, released = (in_radii(one, radius, floor, least) for one in both)
                found[name] = truth, released
        return found

    @cached_property
    def repeats(self) -> dict[tuple[str, str], Repeats]:
        """By variable, and "exactly" or "nearly", a search for values that repeat."""
        patterns, found = self.scene.view.patterns.codes, {}
        for name, both in self._values.items():
            one = repeated_values(*code_values(*both), patterns)
            if one is not None:
                found[name, "exactly"] = one
            if name not in self._in_radii:
                continue
            truth, released = self._in_radii[name]
            # Values on two sides of an edge are not the same: a second grid has its edges between those of the first.
            grids = [
                code_values(*(np.floor(one / _NEARLY + shift) for one in (truth, released))) for shift in (0.0, 0.5)
            ]
            nearly = [one for one in (repeated_values(*grid, patterns) for grid in grids) if one is not None]
            if nearly:
                found[name, "nearly"] = max(nearly, key=lambda one: one.risk.low)
        return found

    @cached_property
    def avoided(self) -> dict[str, Figure]:
        """By variable, how much less often the released value is close to the true one than others are."""
        view, found = self.scene.view, {}
        for name in self._in_radii:
            truth, released = self._values[name]
            place = view.numeric.index(name)
            reach = np.maximum(np.abs(truth) * view.radius[place], view.min_radius[place])
            figure = avoided(truth, released, view.patterns.codes, truth - reach, truth + reach)
            if not np.isnan(figure.value):
                found[name] = figure
        return found

    @cached_property
    def turned_back(self) -> dict[tuple[str, str], TurnedBack]:
        """By variable and intruder, true values found by what was learned from other people."""
        scene, found = self.scene, {}
        for name, both in self._in_radii.items():
            seed = derive_seed(scene.options.seed, "turned back", name)
            alike = scene.attacks.alike.get(name)
            for how, one in turned_back(*both, scene.view.patterns.codes, alike=alike, seed=seed).items():
                found[name, how] = one
        return found
