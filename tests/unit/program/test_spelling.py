"""American spelling in everything that a person reads: pages, messages, docstrings, names."""

from __future__ import annotations

import re

from repository import ROOT

BRITISH = re.compile(
    r"rumour|labell(?:ed|ing)(?!by)|behaviour|colour|favour|honour|humour|neighbour|harbour|judgement|modell(?:ed|ing)"
    r"|travell|signalling|analys(?:ed|ing)\b|cancell(?:ed|ing)\b|(?<![a-z])centre|(?<![a-z])grey(?![a-z])|licence"
    r"|learnt|sceptic|catalogue|programmes?\b|whilst|artefact|penalis|initialis|randomis|finalis|normalis"
    r"|recognis|organis|summaris|visualis|optimis(?!t)|generalis|serialis|standardis|minimis|maximis"
)
"""For text in lower case: a pattern of either case takes four times as long."""
WHERE = ("README.md", "CONTRIBUTING.md", "Makefile", "docs", "src/townsquare", "viewer/src", "scripts", "benchmarks")
KINDS = {".md", ".py", ".ipynb", ".html", ".ts", ".tsx", ".css", "", ".yaml", ".mplstyle"}
TEXTS = ("src/townsquare/data/", "src/townsquare/pages/view/static/", "src/townsquare/core/former_names.py")
"""Data whose words are counted or hashed, built pages, and the names of earlier versions."""
ALLOWED = {
    "agent_actions_normalised.csv": "a file of MOSAIC",
    "health-rumour": "the former name, where a page or a comment says so",
    '"favour": 1': "a word that files of arguments may have",
    "Nature Human Behaviour": "a journal",
    "CancelledError": "asyncio",
    ".cancelled()": "asyncio",
    ".cancelling()": "asyncio",
    '"rumour"': "former spelling of topics",
}


def test_no_british_spelling_comes_back() -> None:
    wrong = []
    for start in WHERE:
        path = ROOT / start
        for file in [path] if path.is_file() else sorted(path.rglob("*")):
            name = file.relative_to(ROOT).as_posix()
            if not file.is_file() or file.suffix not in KINDS or "node_modules" in name or name.startswith(TEXTS):
                continue
            text = file.read_text(encoding="utf-8")
            for allowed in ALLOWED:
                text = text.replace(allowed, "")
            for number, line in enumerate(text.lower().splitlines(), 1):
                wrong += [f"{name}:{number}: {found.group()}" for found in BRITISH.finditer(line)]
    assert not wrong, "\n".join(wrong)
