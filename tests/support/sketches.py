"""What stands in for a drawing, for this process and for those that it begins."""

import hashlib
import importlib.util
import json
import os
import sys
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

_PAGE = "molehill.report.page.page"
# Of the environment: set for processes whose reports nobody opens in a browser.
WITHOUT_LIBRARY = "MOLEHILL_TEST_WITHOUT_LIBRARY"


def sketch(specification: Any, **_: Any) -> str:
    """Stand in for a drawing, in no time: the same for the same specification, and another for any other."""
    digest = hashlib.sha256(json.dumps(specification, sort_keys=True).encode()).hexdigest()
    return f'<svg xmlns="http://www.w3.org/2000/svg" width="300" height="200"><desc>{digest}</desc></svg>'


def sketch_few_figures() -> None:
    """Let reports of this process have the figures of the public edition alone, sketched, once they are imported."""
    sys.meta_path.insert(0, _FewFigures())


class _FewFigures:
    """Changes the module of reports as soon as it is imported, and nothing before: most processes make none."""

    def find_spec(self, name: str, *_: Any) -> ModuleSpec | None:
        if name != _PAGE:
            return None
        sys.meta_path.remove(self)  # type: ignore[arg-type]
        found: Any = importlib.util.find_spec(name)
        execute = found.loader.exec_module

        def execute_and_change(module: ModuleType) -> None:
            import vl_convert  # noqa: PLC0415

            execute(module)
            listing = vars(module)["list_pictures"]
            vars(module)["list_pictures"] = lambda dossier, shown, _: listing(dossier, shown, "public")
            vl_convert.vegalite_to_svg = sketch
            if os.environ.get(WITHOUT_LIBRARY):
                vars(module)["drawing_library"] = lambda: ""

        found.loader.exec_module = execute_and_change
        return found
