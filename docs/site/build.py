"""The documentation's site: the pages of docs/ and the reference of the public headers, in HTML by Doxygen.

    python3 docs/site/build.py [OUT] [--undocumented]      OUT is build/docs unless told otherwise

Pages are read unchanged but for <!-- README.md: LANGUAGE -->, which stands for the README's first block of code in that
language. Links between them lead to HTML pages; files of the source tree that they name are shown in files/. Any warning of
Doxygen's is an error. --undocumented lists the public symbols without a text.
"""

import argparse
import html
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import reference
import search

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent
AWESOME = Path("/usr/share/doxygen-awesome-css")
# The site's menu, by its parts: the pages and their titles there. Those of the first are not below a title of their own.
MENU = {
    "": {"docs/tutorial.md": "Tutorial", "docs/tables.md": "Tables", "docs/formats.md": "Formats", "docs/howto.md": "How-tos", "docs/programs.md": "Programs", "docs/library.md": "Library",
               "docs/pyg.md": "From PyTorch and PyG", "docs/python.md": "Python", "docs/onnx.md": "ONNX", "data/README.md": "Datasets",
               "docs/errors.md": "Errors", "docs/glossary.md": "Glossary"},
    "How it works": {"docs/kernels.md": "Kernels", "docs/tensor_cores.md": "Tensor cores", "docs/bits.md": "Bit tensors",
                     "docs/quantized.md": "Quantised models", "docs/reliability.md": "Reliability",
                     "docs/benchmarks.md": "Benchmarks"},
    "Project": {"CONTRIBUTING.md": "Contributing", "CHANGELOG.md": "Changelog"},
}
HOME = "docs/site/home.md"
PAGES = [HOME] + [page for part in MENU.values() for page in part]
CONTENTS = 4  # headings from which on a page has a list of its contents
NAMES = {HOME: "index", "README.md": "index", "data/README.md": "datasets"}


def name_of(page):
    return NAMES.get(page, Path(page).stem.lower())


def anchor_of(heading):
    """As GitHub makes them."""
    words = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).lower()
    return re.sub(r" ", "-", re.sub(r"[^\w\- ]", "", words))


def show_file(path, out):
    """A page for a file, or a list for a folder; returns its address."""
    relative = path.relative_to(ROOT)
    address = Path("files") / f"{relative}.html"
    if (out / address).exists():
        return address
    if path.is_dir():
        inside = sorted(each for each in path.iterdir() if each.is_file())
        body = "\n".join(f'<li><a href="{os.path.relpath(show_file(each, out), address.parent)}">{each.name}</a></li>'
                         for each in inside)
        body = f"<ul>{body}</ul>"
    else:
        body = f"<pre>{html.escape(path.read_text())}</pre>"
    target = out / address
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(f'<!DOCTYPE html><html lang="en"><meta charset="utf-8"><title>{relative}</title>'
                      f'<link rel="icon" href="data:,"><body style="margin: 2em"><h1>{relative}</h1>{body}</body></html>\n')
    return address


def linked(page, text, out):
    """`text` with links that hold in the site."""

    def image(match):
        source = (ROOT / page).parent / match[2]
        (out / "images").mkdir(exist_ok=True)
        shutil.copy(source, out / "images")
        return f'<img src="images/{source.name}" alt="{html.escape(match[1])}"/>'

    def link(match):
        text, target = match[1], match[2]
        if re.match(r"[a-z]+:", target):
            return match[0]
        path, _, anchor = target.partition("#")
        file = ((ROOT / page).parent / path).resolve().relative_to(ROOT) if path else Path(page)
        if str(file) in PAGES or str(file) in NAMES:
            name = name_of(str(file))
            address = f"{name}.html" + (f"#{name}--{anchor}" if anchor else "")
        else:
            address = show_file(ROOT / file, out)
        return f'<a href="{address}">{text}</a>'

    text = re.sub(r"!\[([^]]*)\]\(([^)\s]+)\)", image, text)
    return re.sub(r"(?<!!)\[([^]]+)\]\(([^)\s]+)\)", link, text)


def code_span(span):
    """Doxygen ends a span of single backticks at a quote."""
    return f"`{span}`" if "'" in span else span


def first_block(text, language):
    return re.search(rf"^```{language}\b.*?^```$", text, flags=re.M | re.S)[0]


def converted(page, out):
    """A page for Doxygen: headings have GitHub's anchors, and what Doxygen would take for its own is escaped."""
    result = []
    name = name_of(page)
    seen = set()
    text = re.sub(r"<!-- README.md: (\w+) -->", lambda match: first_block((ROOT / "README.md").read_text(), match[1]), (ROOT / page).read_text())
    text = re.sub(r"<!--.*?-->\n?", "", text, flags=re.S)
    blocks = re.split(r"(^```.*?^```$)", text, flags=re.M | re.S)
    long = sum(len(re.findall("^##+ ", block, flags=re.M)) for block in blocks[::2]) >= CONTENTS and page != HOME
    for block in blocks:
        if block.startswith("```"):
            language = re.match(r"```(\w*)", block)[1]
            language = {"cpp": "cpp", "python": "py"}.get(language, "unparsed")
            result.append(re.sub(r"^```.*", f"```{{.{language}}}", block, count=1))
            continue
        lines = []
        parts = re.split(r"(`[^`]*`)", linked(page, block, out))
        block = "".join(code_span(part) if part.startswith("`") else part.replace("@", r"\@") for part in parts)
        for line in block.split("\n"):
            heading = re.match(r"(#+) +(.*)", line)
            if heading:
                anchor = f"{name}--{anchor_of(heading[2])}"
                contents = "\n\n[TOC]" if long and not seen else ""
                anchor = name if heading[1] == "#" and name not in seen else anchor
                while anchor in seen:
                    anchor += "-1"
                seen.add(anchor)
                line = f"{heading[1]} {heading[2].replace('`', '')} {{#{anchor}}}{contents}"
                if name == "index":  # its sections are not in the menu
                    line = f"{line.split(' {#')[0]} {{#mainpage}}" if anchor == name else f"<h2>{heading[2]}</h2>"
            lines.append(line)
        result.append("\n".join(lines))
    return "".join(result)


def layout(work):
    """The menu: guides, then the reference, then the rest."""
    parts = []
    for title, pages in MENU.items():
        tabs = "".join(f'<tab type="user" url="@ref {name_of(page)}" title="{name}"/>' for page, name in pages.items())
        parts.append(f'<tab type="usergroup" url="[none]" title="{title}">{tabs}</tab>' if title else tabs)
    parts.insert(2, """<tab type="usergroup" url="[none]" title="Reference">
      <tab type="modules" title="By topic"/>
      <tab type="classlist" title="Classes"/>
      <tab type="classmembers" title="Members of classes"/>
      <tab type="namespacemembers" title="Members of namespaces"/>
      <tab type="filelist" title="Headers"/></tab>""")
    text = "\n".join(['<doxygenlayout version="1.0"><navindex><tab type="mainpage" title="Home"/>', *parts, "</navindex></doxygenlayout>"])
    path = work / "layout.xml"
    path.write_text(text)
    return path


def styled_header(work):
    """Doxygen's own header with the scripts of the style, and a search box."""
    subprocess.run(["doxygen", "-w", "html", "header.html", "footer.html", "style.css"], cwd=work, check=True,
                   stdout=subprocess.DEVNULL)
    scripts = [AWESOME / f"doxygen-awesome-{name}.js" for name in ("darkmode-toggle", "fragment-copy-button", "paragraph-link", "interactive-toc")]
    scripts.append(HERE / "search.js")
    added = '<link rel="icon" href="data:,">\n' + "".join(f'<script src="$relpath^{script.name}"></script>\n' for script in scripts)
    added += ("<script>DoxygenAwesomeDarkModeToggle.init();DoxygenAwesomeFragmentCopyButton.init();"
              "DoxygenAwesomeParagraphLink.init();DoxygenAwesomeInteractiveToc.init();</script>\n")
    box = (' <tr><td id="search" colspan="2"><div id="MSearchBox"><input id="MSearchField" type="search" placeholder="Search" aria-label="Search" '
           'autocomplete="off"/><div id="search-results" hidden="hidden"></div></div></td></tr>\n </tbody>')
    header = work / "header.html"
    header.write_text(header.read_text().replace("</head>", added + "</head>").replace(" </tbody>", box, 1))
    return header, scripts


def version():
    return re.search(r"project\(\w+\s+VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text())[1]


def build(out, list_undocumented):
    work = out.parent / (out.name + "-pages")
    for folder in (out, work):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
    pages = {name_of(page): converted(page, out) for page in PAGES}
    inputs = []
    for number, (name, text) in enumerate(pages.items()):
        inputs.append(work / f"{number:02}-{name}.md")
        inputs[-1].write_text(text)
    inputs += reference.write_headers(work)
    header, scripts = styled_header(work)
    styles = [AWESOME / "doxygen-awesome.css", AWESOME / "doxygen-awesome-sidebar-only.css",
              AWESOME / "doxygen-awesome-sidebar-only-darkmode-toggle.css", HERE / "style.css"]
    listed = lambda paths: " ".join(f'"{path}"' for path in paths)
    settings = (HERE / "Doxyfile").read_text() + f"""
PROJECT_NUMBER = {version()}
OUTPUT_DIRECTORY = "{out.parent}"
HTML_OUTPUT = {out.name}
XML_OUTPUT = "{work}/xml"
INPUT = {listed(inputs)}
USE_MDFILE_AS_MAINPAGE = "{inputs[0]}"
STRIP_FROM_PATH = "{work}"
STRIP_FROM_INC_PATH = "{work}"
LAYOUT_FILE = "{layout(work)}"
HTML_HEADER = "{header}"
HTML_EXTRA_STYLESHEET = {listed(styles)}
HTML_EXTRA_FILES = {listed(scripts)}
"""
    run = subprocess.run(["doxygen", "-"], input=settings, text=True, stderr=subprocess.PIPE, cwd=ROOT)
    for page in out.glob("class*.html"):  # Doxygen links a list of nested classes where all are private
        text = page.read_text()
        if 'name="nested-classes"' not in text:
            page.write_text(re.sub(r'<a href="#nested-classes">Classes</a>( &#124;\n)?', "", text))
    symbols = list(reference.symbols(work / "xml"))
    search.write(out, pages, symbols)
    without = list(reference.undocumented(symbols))
    print(f"{len(symbols)} public symbols, {len(without)} without a text")
    if list_undocumented:
        print("\n".join(symbol.definition for symbol in without))
    warnings = [line for line in run.stderr.splitlines() if line.strip()]
    print("\n".join(warnings), file=sys.stderr)
    return 1 if run.returncode or warnings else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("out", nargs="?", type=Path, default=ROOT / "build/docs")
    parser.add_argument("--undocumented", action="store_true", help="list the public symbols without a text")
    options = parser.parse_args()
    out = options.out.resolve()
    failed = build(out, options.undocumented)
    print(f"{out}/index.html" if not failed else "the documentation has warnings, see above")
    return failed


if __name__ == "__main__":
    sys.exit(main())
