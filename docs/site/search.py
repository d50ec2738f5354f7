"""The entries of the site's search (search.js): pages by their sections, and the reference's symbols."""

import html
import json
import re

PAGE, SECTION, SYMBOL = range(3)


def plain(markdown):
    """The words of Markdown as build.py writes it for Doxygen, with those of its code."""
    text = re.sub(r"^```.*", "", markdown, flags=re.M)
    text = re.sub(r"<!--.*?-->|</?\w[^>]*>|\[TOC\]", "", text, flags=re.S)
    text = re.sub(r"^\s*\|[-| :]+\|$|[`|*]|\\(?=@)", " ", text, flags=re.M)
    return html.unescape(" ".join(text.split()))


def sections(name, text):
    """An entry for each heading of a page, with the text up to the next one."""
    parts = re.split(r"^#+ (.*) \{#(\S+)\}$", text, flags=re.M)
    title = plain(parts[1])
    for number in range(1, len(parts), 3):
        heading, anchor, body = parts[number:number + 3]
        first = number == 1
        yield [PAGE if first else SECTION, plain(heading), title, f"{name}.html" + ("" if first else f"#{anchor}"), plain(body)]


def symbol_entries(symbols):
    """An entry for each name but constructors'; of overloads, the first with a text."""
    entries = {}
    for symbol in symbols:
        name = symbol.name.removeprefix("adj::")
        if re.search(r"\b(\w+)(<.*>)?::~?\1$", name):
            continue
        if name not in entries or not entries[name][4]:
            entries[name] = [SYMBOL, name.split("::")[-1], name, symbol.address, symbol.text]
    return entries.values()


def write(out, pages, symbols):
    """`pages`: their Markdown by name."""
    entries = [entry for name, text in pages.items() for entry in sections(name, text)] + list(symbol_entries(symbols))
    lines = ",\n".join(json.dumps(entry, ensure_ascii=False) for entry in entries)
    (out / "search_data.js").write_text(f"const SEARCH_DATA = [\n{lines}\n];\n")
