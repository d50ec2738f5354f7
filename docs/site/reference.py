"""The reference of the public headers: what Doxygen reads of them, by topic, and what it found."""

import collections
import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LAYERS = ("core", "kernels", "graph", "data", "autograd", "nn", "optim", "models", "training")
# Topics in the order of their list: name, title, and the headers that belong to it. A header belongs to the longest
# beginning of its path.
TOPICS = [
    ("tensors", "Tensors and devices", ["core/tensor", "core/shape", "core/dtype", "core/device", "core/stream",
     "core/allocator", "core/convert", "core/pinned", "core/random", "core/capture", "kernels/types", "kernels/compute_context"]),
    ("autograd", "Autograd", ["autograd"]),
    ("modules", "Modules and dense layers", ["nn"]),
    ("graph_layers", "Graph layers", ["nn/conv"]),
    ("norms", "Normalisation layers", ["nn/norm"]),
    ("metrics", "Metrics", ["nn/metrics"]),
    ("graphs", "Graphs and features", ["graph"]),
    ("sampling", "Sampling and graph generators", ["graph/sample", "graph/generate"]),
    ("orders", "Node orders and partitions", ["graph/order"]),
    ("datasets", "Datasets and their files", ["data"]),
    ("loaders", "Loaders of mini-batches", ["data/loader"]),
    ("imports", "Other tools' formats", ["data/import"]),
    ("optimizers", "Optimizers and schedules", ["optim"]),
    ("models", "Models and checkpoints", ["models"]),
    ("c_api", "Prediction from C", ["models/c_api"]),
    ("training", "Training programs", ["training"]),
    ("programs", "Errors, threads and options", ["core"]),
    ("kernels", "Kernels and their contracts", ["kernels"]),
]


def headers():
    for layer in LAYERS:
        for header in sorted((ROOT / layer).rglob("*.h")):
            if not {"cpu", "cuda", "no_cuda", "detail", "hdf5_child"} & set(header.parts):
                yield header.relative_to(ROOT)


def topic_of(header):
    fitting = [(len(beginning), name) for name, _, beginnings in TOPICS for beginning in beginnings
               if header.as_posix().startswith((beginning + "/", beginning + "."))]
    return max(fitting)[1]


def include_path(header):
    return "adjoint.h" if "c_api" in header.parts else f"adjoint/{header.as_posix()}"


# Several members in one declaration, with the comments before and behind them.
MEMBERS = re.compile(r"((?:^ *///(?!<).*\n)*)^( +(?:const )?[\w:]+(?:<[\w:, ]+>)?&?) (\w+(?: = [\w:.{}-]+)?(?:, \w+(?: = [\w:.{}-]+)?)+;)"
                     r"((?: *///<.*\n)*)", re.M)


def one_each(match):
    """These comments are of all of them, which Doxygen gives to one."""
    before, type, names, behind = match.groups()
    return "".join(f"{before}{type} {name};{behind or chr(10)}" for name in names.rstrip(";").split(", "))


def for_doxygen(header):
    """A header's text: its namespaces belong to its topic, and an abbreviation's dot does not end a first sentence."""
    text = (ROOT / header).read_text()
    begin = f"/// @addtogroup {topic_of(header)}\n/// @{{\n/// @name #include <{include_path(header)}>\n/// @{{\n"
    end = "/// @}\n/// @}\n"
    if "c_api" in header.parts:  # plain comments of C
        text = re.sub(r"^/\* (?=[A-Z])", "/** ", text, flags=re.M)
        text = re.sub(r"(?<=; )/\* ", "/**< ", re.sub(r";  +/\*", "; /*", text))
        text = re.sub(r"^(?=typedef )", begin, text, count=1, flags=re.M)
        return re.sub(r"\n(?=#ifdef __cplusplus\n})", "\n" + end, text)
    text = re.sub(r"^(namespace adj[\w:]* \{\n)(.*?)^(?=\}  // namespace adj)", rf"\1{begin}\2{end}", text, flags=re.M | re.S)
    text = MEMBERS.sub(one_each, text)
    return re.sub(r"(//.*\b(?:eq|eqs|sec|fig|al|vs|cf|e\.g|i\.e)\.) ", r"\1\\ ", text)


def write_headers(folder):
    """Writes the headers under the paths of their #include lines, and the list of topics; returns the files."""
    topics = "\n".join(f"/// @defgroup {name} {title}" for name, title, _ in TOPICS)
    (folder / "topics.h").write_text(topics + "\n")
    written = [folder / "topics.h"]
    for header in headers():
        path = folder / include_path(header)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(for_doxygen(header))
        written.append(path)
    return written


Symbol = collections.namedtuple("Symbol", "kind name address text definition")


def words_of(element):
    return " ".join("".join(element.itertext()).split()) if element is not None else ""


def text_of(element):
    return " ".join(filter(None, (words_of(element.find(f"{length}description")) for length in ("brief", "detailed"))))


def symbols(folder):
    """Every public symbol that Doxygen found, from its XML."""
    for file in sorted(folder.glob("*.xml")):
        compound = ElementTree.parse(file).getroot().find("compounddef")
        if compound is None or compound.get("kind") not in ("class", "struct", "union", "namespace", "group", "file"):
            continue
        page = compound.get("id")
        if compound.get("kind") in ("class", "struct", "union") and compound.get("prot") == "public":
            name = words_of(compound.find("compoundname"))
            yield Symbol(compound.get("kind"), name, f"{page}.html", text_of(compound), name)
        for member in compound.iterfind("sectiondef/memberdef"):
            owner, _, anchor = member.get("id").rpartition("_1")
            if owner != page or member.get("prot") != "public" or member.get("kind") == "friend":
                continue  # a topic's members are also listed in their namespace and file
            definition = words_of(member.find("definition")) + words_of(member.find("argsstring"))
            name = words_of(member.find("qualifiedname")) or words_of(member.find("name"))
            yield Symbol(member.get("kind"), name, f"{page}.html#{anchor}", text_of(member), definition)


def undocumented(found):
    """Those without a text, but for what the language defines, overloads of one with a text, and members that the text of their
    class names."""
    texts = collections.defaultdict(str)
    for symbol in found:
        texts[symbol.name] += symbol.text
    for symbol in found:
        owner, _, name = symbol.name.rpartition("::")
        if not texts[symbol.name] and not re.search(r"= ?(default|delete)$|~|operator[=!<]", symbol.definition) \
                and not re.search(rf"\b{re.escape(name)}\b", texts[owner]) \
                and not (name == owner.rpartition("::")[2] or (name == "check" and owner.endswith("Args"))):
            yield symbol
