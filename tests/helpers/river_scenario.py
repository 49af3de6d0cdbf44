"""A scenario in a folder: a river, a dam and a toll."""

from __future__ import annotations

from pathlib import Path

YAML = """\
name: river
title: The river
propositions:
  - {name: dam, text: The dam should be built.}
  - {name: toll, text: The bridge should have a toll.}
sources:
  - {name: Gazette, credibility: 0.8}
  - {name: Rumors, credibility: 0.1}
posts: posts.csv
arguments: arguments.csv
injection: {posts_per_step: 3}
settings: {agents: 50, beliefs: {pull: 0.01}}
"""
POSTS = """\
text,veracity,plausibility,type,topic,source,step,stance:dam,strength:dam,stance:toll,strength:toll
"The dam holds, they say.",true,0.9,news,water,Gazette,,0.5,0.7,,
The dam leaks!,false,0.3,post,,Rumors,2,-1,,0.25,0.5
Nobody knows.,,,,,Gazette,,,,,
"""
ARGUMENTS = """\
proposition,side,text,stance,strength,tag
dam,pro,It keeps us dry.,0.8,0.6,safety
toll,con,It costs the poor most.,-0.7,,fairness
"""


def write(folder: Path, **files: str) -> Path:
    """A scenario folder: the texts above, but for those given; "" leaves a file out."""
    parts = {"scenario_yaml": YAML, "posts_csv": POSTS, "arguments_csv": ARGUMENTS} | files
    for name, text in parts.items():
        if text:
            (folder / name.replace("_", ".")).write_text(text, encoding="utf-8", newline="")
    return folder
