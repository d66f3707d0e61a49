"""Turn the formulas of a page into MathML while the site is built, so that it needs no script and no network."""

import re
from html import unescape
from typing import Any

from latex2mathml.converter import convert

_FORMULA = re.compile(r'<(span|div) class="arithmatex">\\([\[(])(.*?)\\[\])]</\1>', re.DOTALL)


def on_page_content(html: str, **_: Any) -> str:
    """Replace what arithmatex marked as a formula."""
    return _FORMULA.sub(
        lambda found: convert(unescape(found[3]), display="block" if found[2] == "[" else "inline"), html
    )
