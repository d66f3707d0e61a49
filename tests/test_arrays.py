"""Values that stay as they are, and seeds by name."""

import copy
import json
import pickle

import numpy as np
import pytest

from molehill.arrays import FrozenDict, derive_seed


def test_a_seed_of_numpy_is_the_same_seed():
    plain = derive_seed(7, "link", 3)
    for kind in (np.int64, np.uint8, np.int32):
        assert derive_seed(kind(7), "link", kind(3)) == plain
    # What a release was made with is made again with the same seed: the number may never change.
    assert derive_seed(1, "fit", "pairwise") == 5152184208473181517


CHANGES = {
    "set": lambda mapping: mapping.__setitem__("a", 2),
    "delete": lambda mapping: mapping.__delitem__("a"),
    "clear": lambda mapping: mapping.clear(),
    "pop": lambda mapping: mapping.pop("a"),
    "popitem": lambda mapping: mapping.popitem(),
    "setdefault": lambda mapping: mapping.setdefault("b", 2),
    "update": lambda mapping: mapping.update(b=2),
    "join": lambda mapping: mapping.__ior__({"b": 2}),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_frozen_mapping_cannot_be_changed_in_place(change):
    mapping = FrozenDict({"a": 1})
    with pytest.raises(TypeError, match="cannot be changed"):
        CHANGES[change](mapping)
    assert mapping == {"a": 1}


def test_a_frozen_mapping_is_else_a_mapping_like_any_other():
    mapping = FrozenDict({"a": (1, 2), "b": "x"})
    assert isinstance(mapping, dict)
    assert mapping == {"b": "x", "a": (1, 2)}
    assert hash(mapping) == hash(FrozenDict({"b": "x", "a": (1, 2)}))
    assert {**mapping, "c": 1} == mapping | {"c": 1} == {"a": (1, 2), "b": "x", "c": 1}
    assert json.loads(json.dumps(mapping)) == {"a": [1, 2], "b": "x"}
    pickled = pickle.loads(pickle.dumps(mapping))  # noqa: S301 (made here)
    for back in (copy.copy(mapping), copy.deepcopy(mapping), pickled):
        assert back == mapping
        assert type(back) is FrozenDict
    assert repr(mapping) == "{'a': (1, 2), 'b': 'x'}"
