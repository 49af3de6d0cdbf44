"""A page as one file: templates that escape, one style sheet, no script, and a policy that lets nothing else in."""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from townsquare.core.files import write_whole
from townsquare.pages.report.svg import Figure
from townsquare.pages.report.theme import SHADES, custom_properties


def _printable(value: object) -> object:
    """Replace control characters other than line ends; escaping follows."""
    if not isinstance(value, str) or isinstance(value, Markup):
        return value
    return "".join(character if character.isprintable() or character == "\n" else " " for character in value)


_ENVIRONMENT = Environment(
    loader=PackageLoader("townsquare.pages.report", "templates"), autoescape=True, finalize=_printable,
    undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True,
)  # fmt: skip


class Page:
    """A page as a value: the template that lays it out, and what is in it.

    Every value is escaped but figures, which the templates mark themselves. The content security policy lets in
    nothing but the page's own style sheet, by its hash: no script, no request, no inline style.
    """

    def __init__(self, template: str, **values: Any) -> None:
        self.template, self.values = template, values

    @property
    def figures(self) -> list[Figure]:
        """All figures, in order."""
        first = [figure for figure in (self.values.get("main_figure"), *self.values.get("courses", ())) if figure]
        return [*first, *(figure for section in self.values.get("sections", ()) for figure in section.figures)]

    def html(self) -> str:
        """Return the whole page."""
        light, dark = (Markup(custom_properties(scheme)) for scheme in ("light", "dark"))
        css = _ENVIRONMENT.get_template("style.css").render(light=light, dark=dark, roles=list(SHADES))
        digest = base64.b64encode(hashlib.sha256(css.encode()).digest()).decode()
        policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
        return _ENVIRONMENT.get_template(self.template).render(css=Markup(css), policy=policy, **self.values)

    def write(self, path: Path | str) -> Path:
        """Write the page so that the old one or the new one is there at every moment.

        Raises
        ------
        RecordError
            If it cannot be written there.
        """
        write_whole(Path(path), self.html(), "name a file in a folder that can be written")
        return Path(path)
