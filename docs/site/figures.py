"""Draws the figures of docs/kernels.md and the graph of the home page into docs/images/: python3 docs/site/figures.py"""

import math
import random
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BLUE, RED, GREEN, GREY, DARK = "#2471a3", "#c0392b", "#27ae60", "#d5d8dc", "#222"


def save(name, width, height, title, parts):
    head = (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" '
            f'font-size="13" fill="{DARK}">\n<title>{title}</title>\n<rect width="{width}" height="{height}" fill="#fff"/>\n')
    (ROOT / "docs/images" / name).write_text(head + "\n".join(parts) + "\n</svg>\n")


def box(x, y, w, h, fill, text="", color="#fff"):
    label = f'<text x="{x + w / 2:.0f}" y="{y + h / 2 + 4:.0f}" text-anchor="middle" fill="{color}">{text}</text>' if text else ""
    return f'<rect x="{x:.0f}" y="{y:.0f}" width="{w:.0f}" height="{h:.0f}" fill="{fill}" stroke="#fff"/>{label}'


def say(x, y, text, anchor="start", weight="400"):
    return f'<text x="{x:.0f}" y="{y:.0f}" text-anchor="{anchor}" font-weight="{weight}">{text}</text>'


def arrow(x1, y1, x2, y2):
    angle = math.atan2(y2 - y1, x2 - x1)
    tips = " ".join(f"L{x2 - 8 * math.cos(angle + turn):.1f} {y2 - 8 * math.sin(angle + turn):.1f} M{x2} {y2}"
                    for turn in (0.4, -0.4))
    return f'<path d="M{x1} {y1} L{x2} {y2} {tips}" stroke="#555" fill="none"/>'


def graph():
    random.seed(4)
    centres, colors = [(140, 100), (410, 130), (680, 95)], [BLUE, RED, GREEN]
    nodes = [(cx + random.gauss(0, 50), cy + random.gauss(0, 32), color)
             for (cx, cy), color in zip(centres, colors) for _ in range(22)]
    parts = []
    for i, (x, y, color) in enumerate(nodes):
        for j in sorted(range(len(nodes)), key=lambda j: math.dist((x, y), nodes[j][:2]))[1:4] + \
                ([random.randrange(len(nodes))] if i % 9 == 0 else []):
            parts.append(f'<line x1="{x:.0f}" y1="{y:.0f}" x2="{nodes[j][0]:.0f}" y2="{nodes[j][1]:.0f}" stroke="#aab" stroke-width="0.8"/>')
    parts += [f'<circle cx="{x:.0f}" cy="{y:.0f}" r="6" fill="{color}"/>' for x, y, color in nodes]
    save("graph.svg", 820, 230, "A graph of three communities", parts)


def plan():
    parts = [say(20, 24, "Rows of the matrix", weight="600"), say(450, 24, "Items: one a warp", weight="600")]
    y = 40
    for text, width, items in (("three light rows", (30, 50, 20), [("3 rows", BLUE)]),
                               ("a middling row", (110,), [("1 row", GREEN)]),
                               ("a heavy row", (330,), [(f"part {i}", RED) for i in (1, 2, 3)])):
        top = y
        for w in width:
            parts.append(box(20, y, w, 16, {"three": BLUE, "a mid": GREEN}.get(text[:5], RED)))
            y += 18
        parts.append(say(20, y + 12, text))
        for i, (label, fill) in enumerate(items):
            parts.append(box(450 + 115 * i, top, 110, 26, fill, label))
        parts.append(arrow(30 + max(width), top + 10, 440, top + 12))
        y += 30
    parts += [arrow(620, y - 34, 620, y - 14), say(620, y, "partial sums, added in order", "middle")]
    save("spmm_plan.svg", 820, y + 16, "Rows cut into items of equal work", parts)


def attention():
    parts = [say(20, 24, "Forward: one walk over the edges of a target", weight="600")]
    for i, text in enumerate(("logit", "running max and sum", "output, rescaled")):
        parts.append(box(40 + 200 * i, 40, 160, 34, BLUE, text))
        if i:
            parts.append(arrow(202 + 200 * (i - 1), 57, 238 + 200 * (i - 1), 57))
    parts += [box(660, 40, 130, 34, GREEN, "saved: lse, O"), arrow(602, 57, 656, 57),
              say(20, 112, "Backward: logits computed again", weight="600")]
    for i, text in enumerate(("logit again", "α = exp(logit - lse)", "gradients")):
        parts.append(box(40 + 200 * i, 128, 160, 34, RED, text))
        if i:
            parts.append(arrow(202 + 200 * (i - 1), 145, 238 + 200 * (i - 1), 145))
    parts.append(f'<path d="M725 76 V104 H320 V126" stroke="#555" fill="none" stroke-dasharray="4"/>')
    save("attention.svg", 820, 178, "Fused attention with recomputation", parts)


def tiles():
    random.seed(2)
    parts = [say(20, 24, "128 rows side by side", weight="600")]
    for column in range(14):
        shared = column in (2, 3, 6, 9, 10)
        for row in range(9):
            if random.random() < (0.65 if shared else 0.0) or (not shared and row == column * 5 % 9):
                parts.append(box(20 + 22 * column, 36 + 16 * row, 20, 14, RED if shared else BLUE))
    parts += [f'<rect x="18" y="34" width="310" height="146" fill="none" stroke="#888"/>',
              arrow(335, 70, 410, 70), arrow(335, 145, 410, 145),
              box(420, 48, 180, 44, RED, "shared columns: dense tile"), box(420, 122, 180, 44, BLUE, "the rest: CSR"),
              arrow(602, 70, 650, 70), arrow(602, 145, 650, 145),
              say(656, 74, "tensor cores"), say(656, 149, "gathered row by row")]
    save("row_tiles.svg", 820, 196, "Columns that rows share go to the tensor cores", parts)


def bits():
    numbers = [5, 2, 7, 0, 3, 6, 1, 4]
    parts = [say(20, 24, "Numbers of 3 bits", weight="600"), say(300, 24, "Bit planes", weight="600"),
             say(560, 24, "Product of two rows", weight="600")]
    for i, number in enumerate(numbers):
        parts.append(box(20 + 28 * i, 40, 26, 26, "#566573", str(number)))
        for plane in range(3):
            bit = number >> plane & 1
            parts.append(box(300 + 24 * i, 40 + 30 * plane, 22, 24, BLUE if bit else GREY, str(bit), "#fff" if bit else DARK))
    parts += [say(500, 57 + 30 * plane, f"· {2 ** plane}") for plane in range(3)]
    parts += [say(560, 60, "Σ over planes i, j of"), say(560, 84, "2^(i+j) · popcount(a_i AND b_j)")]
    save("bit_planes.svg", 820, 140, "Bit planes", parts)


for draw in (graph, plan, attention, tiles, bits):
    draw()
