"""Count the lines of code in `src/`: neither blank, comment, docstring nor import. One total, and one figure a room.

python scripts/lines.py [FOLDER]
"""

from __future__ import annotations

import ast
import io
import sys
import tokenize
from collections import Counter
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1] / "src" / "townsquare"
_LAYOUT = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}


def code_lines(source: str) -> int:
    """Return the number of lines that hold code; docstrings of attributes do not count either."""
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in _LAYOUT:
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import | ast.ImportFrom):
            lines.difference_update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            lines.difference_update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return len(lines)


def main() -> None:
    """Print the figures."""
    package = Path(sys.argv[1]) if len(sys.argv) > 1 else PACKAGE
    rooms: Counter[str] = Counter()
    for path in package.rglob("*.py"):
        parts = path.relative_to(package).parts
        rooms[parts[0] if len(parts) > 1 else "(root)"] += code_lines(path.read_text(encoding="utf-8"))
    for room, lines in sorted(rooms.items()):
        print(f"{room:14}{lines:7,}")
    print(f"{'in all':14}{rooms.total():7,}")


if __name__ == "__main__":
    main()
