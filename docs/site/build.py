"""The documentation's site: the pages of docs/ and the reference of the public headers, in HTML by Doxygen.

    python3 docs/site/build.py [OUT]      OUT is build/docs unless told otherwise

Pages are read unchanged. Links between them lead to HTML pages; files of the source tree that they name are shown in
files/. Any warning of Doxygen's is an error.
"""

import html
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent
AWESOME = Path("/usr/share/doxygen-awesome-css")
LAYERS = ("core", "kernels", "graph", "data", "autograd", "nn", "optim", "models", "training")
# In the order of the site's menu. The first is the home page.
PAGES = ["docs/site/home.md", "docs/tutorial.md", "docs/howto.md", "docs/programs.md", "docs/library.md", "docs/pyg.md", "docs/python.md",
         "data/README.md", "docs/errors.md", "docs/kernels.md", "docs/tensor_cores.md", "docs/bits.md",
         "docs/quantized.md", "docs/reliability.md", "docs/benchmarks.md", "docs/glossary.md", "CONTRIBUTING.md",
         "CHANGELOG.md"]
NAMES = {"docs/site/home.md": "index", "README.md": "index", "data/README.md": "datasets"}


def pages():
    return [page for page in PAGES if (ROOT / page).exists()]


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


def converted(page, out):
    """A page for Doxygen: headings have GitHub's anchors, and what Doxygen would take for its own is escaped."""
    result, fence = [], False
    name = name_of(page)
    seen = set()
    text = re.sub(r"<!--.*?-->\n?", "", (ROOT / page).read_text(), flags=re.S)
    blocks = re.split(r"(^```.*?^```$)", text, flags=re.M | re.S)
    for block in blocks:
        if block.startswith("```"):
            language = re.match(r"```(\w*)", block)[1]
            language = {"cpp": "cpp", "python": "py"}.get(language, "txt")
            result.append(re.sub(r"^```.*", f"```{{.{language}}}", block, count=1))
            continue
        lines = []
        parts = re.split(r"(`[^`]*`)", linked(page, block, out))
        block = "".join(code_span(part) if part.startswith("`") else part.replace("@", r"\@") for part in parts)
        for line in block.split("\n"):
            heading = re.match(r"(#+) +(.*)", line)
            if heading:
                anchor = f"{name}--{anchor_of(heading[2])}"
                anchor = name if heading[1] == "#" and name not in seen else anchor
                while anchor in seen:
                    anchor += "-1"
                seen.add(anchor)
                line = f"{heading[1]} {heading[2].replace('`', '')} {{#{anchor}}}"
                if name == "index":
                    line = line.replace("{#index}", "{#mainpage}")
            lines.append(line)
        result.append("\n".join(lines))
    return "".join(result)


def styled_header(work):
    """Doxygen's own header with the scripts of the style."""
    subprocess.run(["doxygen", "-w", "html", "header.html", "footer.html", "style.css"], cwd=work, check=True,
                   stdout=subprocess.DEVNULL)
    scripts = ["darkmode-toggle", "fragment-copy-button", "paragraph-link"]
    added = '<link rel="icon" href="data:,">\n' + "".join(
        f'<script type="text/javascript" src="$relpath^doxygen-awesome-{script}.js"></script>\n' for script in scripts)
    added += ("<script type=\"text/javascript\">DoxygenAwesomeDarkModeToggle.init();"
              "DoxygenAwesomeFragmentCopyButton.init();DoxygenAwesomeParagraphLink.init();</script>\n")
    header = work / "header.html"
    header.write_text(header.read_text().replace("</head>", added + "</head>"))
    return header, [AWESOME / f"doxygen-awesome-{script}.js" for script in scripts]


def headers():
    for layer in LAYERS:
        for header in sorted((ROOT / layer).rglob("*.h")):
            if not {"cpu", "cuda", "no_cuda", "detail", "hdf5_child"} & set(header.parts):
                yield header


def version():
    return re.search(r"project\(\w+\s+VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text())[1]


def build(out):
    work = out.parent / (out.name + "-pages")
    for folder in (out, work):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
    inputs = []
    for number, page in enumerate(pages()):
        path = work / f"{number:02}-{name_of(page)}.md"
        path.write_text(converted(page, out))
        inputs.append(path)
    inputs += headers()
    header, scripts = styled_header(work)
    styles = [AWESOME / "doxygen-awesome.css", AWESOME / "doxygen-awesome-sidebar-only.css",
              AWESOME / "doxygen-awesome-sidebar-only-darkmode-toggle.css"]
    listed = lambda paths: " ".join(f'"{path}"' for path in paths)
    settings = (HERE / "Doxyfile").read_text() + f"""
PROJECT_NUMBER = {version()}
OUTPUT_DIRECTORY = "{out.parent}"
HTML_OUTPUT = {out.name}
INPUT = {listed(inputs)}
USE_MDFILE_AS_MAINPAGE = "{inputs[0]}"
STRIP_FROM_PATH = "{ROOT}" "{work}"
HTML_HEADER = "{header}"
HTML_EXTRA_STYLESHEET = {listed(styles)}
HTML_EXTRA_FILES = {listed(scripts)}
"""
    run = subprocess.run(["doxygen", "-"], input=settings, text=True, stderr=subprocess.PIPE, cwd=ROOT)
    for page in out.glob("class*.html"):  # Doxygen links a list of nested classes where all are private
        text = page.read_text()
        if 'name="nested-classes"' not in text:
            page.write_text(re.sub(r'<a href="#nested-classes">Classes</a>( &#124;\n)?', "", text))
    warnings = [line for line in run.stderr.splitlines() if line.strip()]
    print("\n".join(warnings), file=sys.stderr)
    return 1 if run.returncode or warnings else 0


if __name__ == "__main__":
    target = Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else ROOT / "build/docs"
    failed = build(target)
    print(f"{target}/index.html" if not failed else "the documentation has warnings, see above")
    sys.exit(failed)
