"""The text of ``benchmarks/peers.md``."""

from __future__ import annotations

from typing import Any

from cells import MODELS, Cell, Form, Model
from words import ABOUT, HEAD, HOW, LEFT_OUT, WHY

AGREE = 1e-12  # largest difference of stances between two ways of saying one model

AGREE = 1e-12  # largest difference of stances between two ways of saying one model


def trail_share(model: Model, cells: dict[tuple[str, str, int], Cell]) -> str:
    """What part of our step the trail is, at the largest size that was measured."""
    for size in reversed(model.sizes):
        cell = cells.get((model.key, "townsquare_1", size))
        if cell and not cell.why_not and "trail" in cell.figures["facts"]:
            share = cell.figures["facts"]["trail"] / cell.figures["seconds"]
            return f", {share:.0%} of the step at {size:,} agents on one thread"
    return ""


def text(found: list[Cell], known: dict[str, Any]) -> str:
    """The whole page; ``known`` says of each model how it was taken."""
    by_key = {(cell.model, cell.form, cell.agents): cell for cell in found}
    machines = {f"{model['cores']} cores, {model['machine']}" for model in known.values()}
    limits, most = (
        " or ".join(sorted({f"{model[name]:g}" for model in known.values()})) for name in ("limit", "seconds")
    )
    parts = [
        HEAD,
        f"Machine: {' or '.join(sorted(machines))}. {versions(found)}",
        "![Agents times steps a second by number of agents, for each model and form](peers/peers.svg)\n",
        HOW.replace("{limit}", limits).replace("{seconds}", most),
    ]
    for model in MODELS:
        if model.key in known:
            parts += section(model, by_key, load(known[model.key]))
        else:
            parts.append(f"## {model.title}\n\nNot measured yet: `make bench-peers ARGS='--models {model.key}'`.\n")
    parts.append(LEFT_OUT)
    return "\n".join(parts)


def load(taken: dict[str, Any]) -> str:
    """How busy the machine was while a model was measured."""
    before, after = taken["loads"]
    line = f"Load average when it began {before:.1f}, when it ended {after:.1f}; {taken['minutes']:.1f} minutes."
    if max(before, after) > taken["cores"] + 0.5:
        line += (
            " Other programs used the processor too (load above the number of cores): seconds are upper limits, and "
            "ratios are rough."
        )
    return line + "\n"


def versions(found: list[Cell]) -> str:
    """What was compared, by version."""
    known: dict[str, set[str]] = {}
    for cell in found:
        for package, version in cell.figures.get("versions", {}).items():
            known.setdefault(package, set()).add(version)
    listed = ", ".join(f"{package} {' and '.join(sorted(which))}" for package, which in sorted(known.items()))
    return f"Versions: {listed}.\n"


def section(model: Model, cells: dict[tuple[str, str, int], Cell], taken: str) -> list[str]:
    """A model: its rates by size, where a peer is faster, every figure."""
    sizes = [size for size in model.sizes if any((model.key, form.key, size) in cells for form in model.forms)]
    lines = [f"## {model.title}\n", ABOUT[model.key], taken, "Agents × steps a second:\n"]
    lines.append("| form | threads | " + " | ".join(f"{size:,} agents" for size in sizes) + " |")
    lines.append("|---|---:|" + "---:|" * len(sizes))
    for form in model.forms:
        row = [cells.get((model.key, form.key, size)) for size in sizes]
        lines.append(f"| {form.label} | {form.threads} | " + " | ".join(rate(cell) for cell in row) + " |")
    lines += ["", *faster(model, sizes, cells), "", "<details><summary>Every figure</summary>\n"]
    platform = model.key == "platform"
    last = "posts, likes, follows a step" if platform else "difference"
    columns = ["form", "threads", "agents", "steps", "set-up s", "seconds a step", "processor s a step"]
    columns += ["agents × steps a second", "peak GiB", last]
    lines.append("| " + " | ".join(columns) + " |")
    lines.append("|---|" + "---:|" * (len(columns) - 1))
    lines += [
        detail(form, cells[model.key, form.key, size], platform=platform)
        for size in sizes
        for form in model.forms
        if (model.key, form.key, size) in cells
    ]
    return ["\n".join([*lines, "", "</details>\n"])]


def rate(cell: Cell | None) -> str:
    """A cell of the short table."""
    if cell is None:
        return ""
    if cell.why_not:
        return cell.why_not.split(":")[0].split(",")[0]
    return f"{cell.rate:,.0f}"


def detail(form: Form, cell: Cell, *, platform: bool) -> str:
    """A row of the long table."""
    head = f"| {form.label} | {form.threads} | {cell.agents:,} |"
    if cell.why_not:
        return head + f" | | | | {cell.why_not} | | |"
    figures = cell.figures
    facts = figures["facts"]
    if platform:
        last = ", ".join(f"{facts[word]:,.0f}" for word in ("posts", "likes", "follows"))
    else:
        last = "another schedule" if cell.difference is None else f"{cell.difference:.0e}"
    return (
        f"{head} {figures['steps']} | {figures['set_up']:.2f} | {figures['seconds']:.4f} | {figures['processor']:.4f} "
        f"| {cell.rate:,.0f} | {figures['peak']:.2f} | {last} |"
    )


def faster(model: Model, sizes: list[int], cells: dict[tuple[str, str, int], Cell]) -> list[str]:
    """Sentences: how much faster we are where both ended, and every peer that is faster, with why."""
    ours = {form.threads: form for form in reversed(model.forms) if form.key.startswith("townsquare")}
    lines = []
    for form in model.forms:
        if form.key.startswith("townsquare"):
            continue
        own = ours.get(form.threads, model.forms[0])
        pairs = {
            size: (cells.get((model.key, own.key, size)), cells.get((model.key, form.key, size))) for size in sizes
        }
        ratios = {
            size: mine.rate / theirs.rate
            for size, (mine, theirs) in pairs.items()
            if mine and theirs and not mine.why_not and not theirs.why_not
        }
        if ratios:
            said = ", ".join(f"{times(ratio)} at {size:,}" for size, ratio in ratios.items())
            line = f"- Townsquare ({threads(own)}) over {form.label} ({threads(form)}): {said}."
            if min(ratios.values()) < 1:
                why = WHY[form.key].replace("{trail}", trail_share(model, cells))
                line += f" **A ratio below 1 means that the other form is faster.** {why}"
            lines.append(line)
    return lines


def times(ratio: float) -> str:
    """A ratio in two digits."""
    return f"{ratio:.2g}" if ratio < 10 else f"{ratio:,.0f}"


def threads(form: Form) -> str:
    """In words."""
    return "1 thread" if form.threads == 1 else f"{form.threads} threads"
