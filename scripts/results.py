#!/usr/bin/env python3
"""Writes docs/benchmarks.md and its plots from bench/results: page.md, where a line

    @table FILE rows=FIELD,.. columns=FIELD,.. FIELD=VALUE ..
    @plot FILE NAME TITLE rows=FIELD,.. columns=FIELD,.. FIELD=VALUE ..

stands for a table, or for a plot docs/images/bench_NAME.svg, of those rows of FILE.csv whose fields have these values
("A|B": either; "A*": whatever begins so). The bars of a plot are times over that of the first column.
"""

import csv
import shlex
from pathlib import Path
from xml.sax.saxutils import escape

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "bench/results"
FIELDS = ("area dataset op width dtype device date commit command reproducible tool metric unit value spread").split()
NAMES = {"dataset": "data", "op": "", "width": "width", "dtype": "type"}
COLOURS = ("#1f77b4", "#ff7f0e", "#2ca02c", "#9467bd")


def read(name):
    with open(RESULTS / f"{name}.csv", newline="") as file:
        return list(csv.DictReader(file))


def matches(value, wanted):
    return any(value.startswith(w[:-1]) if w.endswith("*") else value == w for w in wanted.split("|"))


def pivot(name, options):
    """Row keys, column keys and {(row, column): CSV row}, in the file's order."""
    rows, columns = (options[key].split(",") for key in ("rows", "columns"))
    filters = {key: value for key, value in options.items() if key not in ("rows", "columns")}
    unknown = (set(filters) | set(rows) | set(columns)) - set(FIELDS)
    if unknown:
        raise SystemExit(f"page.md: no field {', '.join(sorted(unknown))}")
    cells = {}
    for r in read(name):
        if all(matches(r[key], value) for key, value in filters.items()):
            key = tuple(r[f] for f in rows), tuple(r[f] for f in columns)
            if key in cells:
                raise SystemExit(f"page.md: two rows of {name}.csv for {key}")
            cells[key] = r
    if not cells:
        raise SystemExit(f"page.md: no row of {name}.csv for {filters}")
    return rows, list(dict.fromkeys(k for k, _ in cells)), list(dict.fromkeys(c for _, c in cells)), cells


def table(name, options):
    fields, rows, columns, cells = pivot(name, options)
    # Headings omit parts that all columns share.
    heads = [[part for i, part in enumerate(c) if part and len({d[i] for d in columns}) > 1] or ["value"] for c in columns]
    yield "| " + " | ".join([NAMES.get(f, f) for f in fields] + [", ".join(h) for h in heads]) + " |"
    yield "| --- " * (len(fields) + len(columns)) + "|"
    for row in rows:
        shown = [cells.get((row, column)) for column in columns]
        text = [f"{r['value']} {r['spread']}".strip() if r else "" for r in shown]
        yield "| " + " | ".join(list(row) + text) + " |"


def plot(title, name, options):
    _, rows, columns, cells = pivot(name, options)
    bars = []  # (label, tool's number, ratio)
    for row in rows:
        base = cells.get((row, columns[0]))
        for number, column in enumerate(columns[1:], 1):
            peer = cells.get((row, column))
            if base and peer:
                bars.append((", ".join(filter(None, row)), number, float(peer["value"]) / float(base["value"])))
    left, width, line = 210, 720, 16
    most = max(ratio for _, _, ratio in bars)
    scale = (width - left - 60) / most
    height = 62 + line * len(bars)
    yield (f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-family="sans-serif" '
           f'font-size="12"><title>{escape(title)}</title>')
    yield f'<rect width="{width}" height="{height}" fill="white"/><text x="8" y="18" font-size="14">{escape(title)}</text>'
    x = 8
    for number, column in enumerate(columns[1:], 1):
        label = escape(", ".join(filter(None, column)))
        yield f'<rect x="{x}" y="28" width="10" height="10" fill="{COLOURS[number - 1]}"/><text x="{x + 15}" y="38">{label}</text>'
        x += 40 + 7 * len(label)
    y, before = 50, None
    for label, number, ratio in bars:
        if label != before:
            yield f'<text x="{left - 8}" y="{y + 12}" text-anchor="end">{escape(label)}</text>'
        yield (f'<rect x="{left}" y="{y + 2}" width="{ratio * scale:.1f}" height="{line - 4}" fill="{COLOURS[number - 1]}"/>'
               f'<text x="{left + ratio * scale + 5:.1f}" y="{y + 12}">{ratio:.1f}</text>')
        y, before = y + line, label
    yield f'<path d="M{left + scale:.1f} 48V{y + 4}" stroke="black" stroke-dasharray="4 3"/></svg>'


def generated():
    """{path from the root: text}"""
    page, files = [], {}
    for line in (RESULTS / "page.md").read_text().splitlines():
        if not line.startswith("@"):
            page.append(line)
            continue
        kind, name, *words = shlex.split(line[1:])
        options = dict(word.split("=", 1) for word in words if "=" in word)
        if kind == "table":
            page.extend(([""] if page[-1].startswith(("|", "!")) else []) + list(table(name, options)))
        else:
            image, title = [word for word in words if "=" not in word]
            path = f"docs/images/bench_{image}.svg"
            files[path] = "\n".join(plot(title, name, options)) + "\n"
            page.append(f"![{title}](images/bench_{image}.svg)")
    return {"docs/benchmarks.md": "\n".join(page) + "\n", **files}


if __name__ == "__main__":
    for path, text in generated().items():
        (ROOT / path).write_text(text)
