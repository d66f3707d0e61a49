from drawing import without_drawings  # noqa: F401
