"""A page as one file: templates that escape, one style sheet, no script, and a policy that lets nothing else in."""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from townsquare.core.files import write_whole
from townsquare.pages.report.theme import SHADES, custom_properties


def _printable(value: object) -> object:
    """Control characters out of every text, the end of a line kept; escaping follows."""
    if not isinstance(value, str) or isinstance(value, Markup):
        return value
    return "".join(character if character.isprintable() or character == "\n" else " " for character in value)


_ENVIRONMENT = Environment(
    loader=PackageLoader("townsquare.pages.report", "templates"),
    autoescape=True,
    finalize=_printable,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    keep_trailing_newline=True,
)


def render(template: str, **values: Any) -> str:
    """A whole page from a template and its values.

    Every value is escaped but figures, which the templates mark themselves. The content security policy lets in
    nothing but the page's own style sheet, by its hash: no script, no request, no inline style.
    """
    css = _ENVIRONMENT.get_template("style.css").render(
        light=Markup(custom_properties("light")), dark=Markup(custom_properties("dark")), roles=list(SHADES)
    )
    digest = base64.b64encode(hashlib.sha256(css.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    return _ENVIRONMENT.get_template(template).render(css=Markup(css), policy=policy, **values)


def write(text: str, path: Path | str) -> Path:
    """Write a page so that the old one or the new one is there at every moment.

    Raises
    ------
    RecordError
        If it cannot be written there.
    """
    page = Path(path)
    write_whole(page, text, "name a file in a folder that can be written")
    return page
