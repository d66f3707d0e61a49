from molehill.charts import scheme_looks


def test_schemes_keep_their_looks():
    alone = scheme_looks(["pairwise"])["pairwise"]
    looks = scheme_looks(["confidential", "mine", "topcoding", "pairwise", "yours", "unweighted"])
    assert looks["pairwise"] == alone
    assert looks["confidential"].colour == "#000000"
    for part in ("colour", "shape", "dash", "label"):
        assert len({getattr(look, part) for look in looks.values() if look.label != "confidential"}) == 5
    many = scheme_looks([f"scheme {number}" for number in range(42)])
    assert len({(look.colour, look.shape) for look in many.values()}) == 42


def test_long_names_that_begin_alike_get_labels_of_their_own():
    looks = scheme_looks(["z" * 9_000, "z" * 9_001, "z" * 9_002, "\n", ""])
    assert [look.label for look in looks.values()][1:3] == [f"({number}) {'z' * 31}…" for number in (2, 3)]
    assert [look.label for look in looks.values()][3:] == ["(no name)", "(2) (no name)"]
