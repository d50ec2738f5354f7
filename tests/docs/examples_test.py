"""Every code block of the pages runs, and prints what the page says.

The blocks of a page run in order, in one folder. On a page of whole programs:
    ```python NAME   is written to the file NAME
    ```sh run        runs as it is, with the programs in the path; ```sh fails ends in an error
    ```cpp run       is compiled against the build's library, and run
    ```output        behind one of these is what it prints, # for any number
On other pages the folder has small files under the names that the text uses (small_files.py):
    ```sh            runs with SHORTER sizes, without the commands in NOT_RUN
    ```python, ```cpp run behind the line of BEFORE for the block's first line; cpp inside of main, if it is no definition
Blocks without a language are not code. A block in another language is an error.
Calls and declarations in the text of QUOTING pages are compiled with the page's pieces, with the words of WORDS, and not run.
"""

import ast
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/data")]
from peers import BIN, library, np, planetoid_release, skipped  # noqa: E402  (adds data/ to the path)

import small_files  # noqa: E402

PAGES = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "data/README.md")] + sorted((ROOT / "docs").glob("*.md"))
PAGES = [Path(page).resolve() for page in sys.argv[1:]] or PAGES

NOT_RUN = {  # by a command's first word
    "make": "builds or installs",
    "cmake": "builds",
    "ctest": "runs the tests",
    "build/bin/adjoint_tests": "runs the tests",
    "bash": "runs the tests, .ci/run",
    "scripts/mutate.py": "runs the tests",
    "c++": "needs the installed library; .ci/run does the same",
    "cc": "as c++",
    "clang-tidy": "is not installed by scripts/install_deps.sh",
    "scripts/install_deps.sh": "installs; .ci/run does the same in a virtual environment",
    "data/fetch.sh": "downloads; tests/data/fetch_test.py runs it",
    "venv/bin/pip": "builds; .ci/run does the same",
    "srun": "needs Slurm",
    "tensorboard": "serves until it is stopped; tests/training/run_folder_test.py reads the files",
}
if not os.environ.get("ADJOINT_MPIRUN", "").startswith("/"):
    NOT_RUN["mpirun"] = "is not installed"
SHORTER = {
    r"(build/bin/train_\w+)(?!.*--epochs)": r"\1 --epochs 2",
    r"--nodes 1000000": "--nodes 1000",
    r"--scale 22 --edges 100000000": "--scale 8 --edges 1000",
    r"generate (hm|ogbn-products) ": "generate cora ",
    r"--parts 1500": "--parts 8",
    r" --device cuda": "",
    r"--devices (cuda:0,cuda:1|all)": "--devices cpu,cpu",
    r" OPTIONS": "",
    r"(?m)^trials: 40": "trials: 2",
    r"(?m)^  epochs: 100": "  epochs: 2",
}
OPTIONAL = ("torch", "torch_geometric", "dgl", "networkx", "safetensors", "scipy", "onnxruntime")  # not all of them from Debian
NET = 'with h5py.File("net.h5", "a") as f:\n'
BEFORE = {  # the rest of a first line does not matter
    '    text, at = f["nodes/name"]': NET,
    "    texts = [name.encode()": NET,
    "    x = x.tocsr()": "import scipy.sparse\nx = scipy.sparse.identity(400)\n" + NET,
    "from to_adjoint import to_adjoint": """
import networkx, scipy.sparse
graph, matrix = networkx.karate_club_graph(), scipy.sparse.identity(3)
x, val, test = np.eye(3), train + 1, train + 2
rated, stars = np.array([[0, 1], [1, 8]]), np.ones((2, 1))
import torch
from torch_geometric.data import Data, HeteroData
hetero = HeteroData()
hetero["user"].x, hetero["user", "knows", "user"].edge_index = torch.ones(3, 2), torch.tensor([[0, 1], [1, 2]])
data = Data(x=torch.ones(3, 2), edge_index=torch.tensor([[0, 1], [1, 2]]), y=torch.tensor([0, 1, 1]))
data.train_mask, data.val_mask, data.test_mask = torch.eye(3, dtype=torch.bool)
""",
    "from from_adjoint import load_into, pyg_state": """
import torch
from torch_geometric.nn import GCNConv
model = torch.nn.Module()
model.convs = torch.nn.ModuleList([GCNConv(1433, 16), GCNConv(16, 7)])
""",
    "from safetensors.torch import save_file": "model = GAT(1433, 7)\ntorch.save(model.state_dict(), 'gat.pt')\n",
    "from from_adjoint import load_into  #": """
import subprocess
subprocess.run(["build/bin/train_gat", "cora.h5", "--epochs=2", "--quiet", "--checkpoint=gat.h5"], check=True, capture_output=True)
""",
    "q = sum(np.unpackbits": """
import h5py, numpy as np
f = h5py.File("bits.h5", "w")
f["q/planes"] = np.full((4, 3, 2), 255, np.uint8)
f["q"].attrs.update(bits=4, inner=10)
""",
    "np.savez_compressed": """
import numpy as np
edges, x, y = np.array([[0, 1], [1, 2]]), np.eye(3), np.arange(3)
train, val, test = np.eye(3, dtype=bool)
""",
    "nn::PropagationCache cache;": "nn::Model<nn::GCNConv> conv1(data.num_features(), 4);\nconst Var x = features.to_dense();\n",
    "nn::load_pyg_state(model": """
struct Net : nn::Module {
  nn::Child<nn::MLP> head{this, "head", std::vector<int64_t>{3, 3, 3}};
};
nn::Model<Net> model;
""",
    "#include <adjoint/kernels/bits/bit_gemm.h>": "const Tensor x = Tensor::zeros({8, 64}), w = Tensor::zeros({64, 4});\n",
    "#include <adjoint/kernels/bits/bit_calibration.h>": "const Tensor w = Tensor::zeros({64, 4});\n",
    "const Var e = edge_add": """
const Var h = Tensor::zeros({data.num_nodes(), 2, 3}), left = Tensor::zeros({2, 3}), right = left;
""",
}
QUOTING = ("docs/library.md", "docs/pyg.md", "docs/bits.md")
WORDS = """const std::string& path, const std::string& folder, Device device, Dataset& data, const Graph& graph, const Relation& relation,
const Block& block, const SparseMatrix& matrix, const Features& x, const Features& features, const FileRows& file_rows,
const FeatureScaling& scaling, FeatureScaling::Kind kind, Task task, const Tensor& index, const Tensor& train, const Tensor& outputs,
const Tensor& order, const Tensor& rows, const Tensor& nodes, const Tensor& offsets, const Tensor& which, const Tensor& labels,
const Tensor& src, const Tensor& dst, const Tensor& y, const Tensor& w, const Tensor& hot, const Var& logits, const Var& out, const Var& h,
const Var& e, const Var& x_src, const Var& x_dst, const std::vector<std::string>& names, int bits, int64_t n, int64_t k, int64_t count,
const std::vector<int32_t>& columns,
size_t layers, float p, const LinkSplit& split, Generator& generator, Stream& reader, Stream& writer, nn::Module& module, nn::Module& model,
const std::function<void(int64_t, const Tensor&)>& f, const std::function<double(int64_t)>& schedule, optim::Plateau& plateau,
optim::Adam& adam, double loss, training::TrainingState& state, int64_t epoch, const models::Checkpoint& checkpoint,
const training::Chart& chart, const training::Report& report, const TrainedModel& trained, const BitTensor& q, const H5Reader& file,
const Defaults& options"""
OTHERWISE = {  # words that mean something else where a quotation begins so
    "aggregate": "const Var& x", "sum(": "const Var& x", "segment_": "const Var& x", "index_select(x": "const Var& x",
    "for (const NeighborBatch": "const NeighborLoader& loader, int64_t e", "for (const GraphBatch": "const GraphLoader& loader, int64_t e",
    "for (const LinkBatch": "const LinkLoader& loader, int64_t e", "cross_entropy(model": "const models::NodeModel& model, const SubgraphBatch& batch",
    "cross_entropy_sum": "const SubgraphBatch& batch", "batch.to": "const NeighborBatch& batch", "infer_layer": "const LayerFunction& layer",
    "layer(": "const nn::Model<nn::GATConv>& layer", "model(": "const IntegerModel& model", "model.pack": "const IntegerModel& model",
    "model.save": "const IntegerModel& model", "write_bits": "H5Writer& file", "calibrate": "const Tensor& x",
}
MEMBERS = {  # of what the text has named before: how such a quotation begins, and how in C++
    "gather(": "file_rows.gather(", "for_blocks(": "file_rows.for_blocks(", "rows(": "features.rows(", "to(": "features.to(",
    "fit(bits": "FeatureQuantization::fit(bits", "restricted(": "scaling.restricted(", "fit(kind": "FeatureScaling::fit(kind", "apply(": "scaling.apply(",
    "predict(": "trained.predict(", "embeddings(": "trained.embeddings(", "attention(": "trained.attention(",
    "Module::to(": "module.to(", "nn::GATConv({": "nn::Model<nn::GATConv> conv({",
}
used = set()


def quoted(page):
    """The calls and declarations that a page quotes in its text, as C++."""
    text = re.sub(r"^```.*?^```", "", page, flags=re.S | re.M)
    if "| PyTorch / PyG |" in text:
        text = re.sub(r"^\|[^|]*\|(?=.*\|.*\|$)", "|", text, flags=re.M)  # without theirs
    found = []
    for code in dict.fromkeys(" ".join(code.split()) for code in re.findall(r"`([^`]+)`", text)):
        if not re.search(r"\w[({].*\w.*[)}]", code) or re.match(r"\.|F\.|\w+=", code) or "torch." in code:
            continue
        words = ""
        for first in (first for table in (MEMBERS, OTHERWISE) for first in table if code.startswith(first)):
            used.add(first)
            words = OTHERWISE.get(first, words)
            code = MEMBERS.get(first, first) + code[len(first):]
        code = re.sub(r"\((Device|DType|Purpose)\)", r"(\1{})", code).replace("{this,", "{&module,")
        found.append(f"[&]({words}) {{ {code}{' {}' if code.startswith('for ') else ';'} }};\n")
    return ("struct Defaults {\n  template <class T>\n  operator T() const;\n};\n"
            f"namespace {{\nvoid quoted({WORDS}) {{\n{''.join(found)}}}\n}}\n")


def before(text):
    found = [first for first in BEFORE if text.startswith(first)]
    used.update(found)
    return "".join(BEFORE[first] for first in found)


def compiler(source, program):
    """The commands by which the build compiles and links first_gcn, but not optimised."""
    commands = subprocess.run(["ninja", "-C", BIN.parent, "-t", "commands", "bin/first_gcn"], check=True, text=True,
                              capture_output=True).stdout.splitlines()
    compile = next(line for line in commands if line.endswith("first_gcn.cpp"))
    link = next(line for line in reversed(commands) if "-o bin/first_gcn" in line)
    compile = re.sub(r" -MD -MT \S+ -MF \S+", "", compile)
    compile = re.sub(r"-o \S+ -c \S+$", f"-w -o {program}.o -c {source}", compile)
    compile = re.sub(r" -O\d", " -O0", compile)
    link = re.sub(r"\S+first_gcn\.cpp\.o", f"{program}.o", link).replace("-o bin/first_gcn", f"-o {program}")
    return f"cd {BIN.parent}\n{compile}\n{link}"


def without_numbers(text, expected):
    """`text` with # where `expected`, line by line, has # for a number."""
    lines = text.splitlines()
    for at, line in enumerate(expected.splitlines()):
        pattern = re.escape(line).replace(r"\#", r"(?:\#|[\d.]+)")
        if at < len(lines) and re.fullmatch(pattern, lines[at]):
            lines[at] = line
    return "\n".join(lines)


class Page:
    def __init__(self, path, folder):
        self.name, self.text, self.folder, self.ran = str(path.relative_to(ROOT)), path.read_text(), folder, 0
        self.without, self.missing, self.left_out = set(), set(), 0
        self.printed, self.names, self.includes, self.definitions, self.statements = None, {}, "", "", ""
        self.environment = {**os.environ, "PATH": f"{BIN}:{Path(sys.executable).parent}:{os.environ['PATH']}", "LC_ALL": "C.UTF-8"}

    def fail(self, text):
        sys.exit(f"{self.name}: {text}")

    def shell(self, text, fails=False):
        done = subprocess.run(["bash", "-euo", "pipefail", "-c", text], cwd=self.folder, env=self.environment, text=True,
                              stdin=subprocess.DEVNULL, capture_output=True)
        self.ran += 1
        self.printed = done.stderr if fails else done.stdout
        if bool(done.returncode) != fails:
            self.fail(f"failed:\n{text}\n{done.stdout}{done.stderr}")

    def commands(self, text):
        left = []
        for line in text.replace("\\\n", " ").splitlines():
            first = (line.split() or [""])[0]
            if first in NOT_RUN:
                used.add(first)
            elif ".pt" not in line or library("torch"):
                left.append(line)
        text = "\n".join(left)
        for pattern, short in SHORTER.items():
            text = re.sub(pattern, short, text)
        if text:
            self.shell(text)

    def python(self, text):
        """Statement by statement; those that need a library that is not installed are left out."""
        for statement in ast.parse(before(text) + text).body:
            nodes = list(ast.walk(statement))
            defined = {(node.asname or node.name).split(".")[0] for node in nodes if isinstance(node, ast.alias)}
            defined |= {node.name for node in nodes if isinstance(node, ast.ClassDef)}
            defined |= {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
            read = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
            try:
                if not read & self.without:
                    self.ran += 1
                    exec(compile(ast.Module([statement], []), f"<{self.name}>", "exec"), self.names)
                    self.without -= defined
                    continue
            except ModuleNotFoundError as missing:
                if missing.name.split(".")[0] not in OPTIONAL:
                    raise
                self.missing.add(missing.name)
            self.left_out += 1
            self.without |= defined

    def piece(self, text):
        body = before(text) + re.sub(r"^#include.*\n", "", text, flags=re.M)
        self.includes += "".join(re.findall(r"^#include.*\n", text, re.M))
        if text.rstrip().splitlines()[-1] in ("}", "};"):
            self.definitions += f"namespace {{\n{body}}}\n"
        else:
            self.statements += f"[&] {{\n{body}}}();\n"

    def program(self, text, name):
        source = self.folder / f"{name}.cpp"
        source.write_text(text)
        self.shell(compiler(source, self.folder / name))
        self.shell(f"./{name}")

    def run(self):
        blocks = re.findall(r"^```(\S*) ?(\S*)\n(.*?)^```$", self.text, re.S | re.M)
        if re.search(r"\n\n    \S", re.sub(r"^```.*?^```$", "", self.text, flags=re.S | re.M)):
            self.fail("an indented block, which no test runs; expected ```")
        if not any(mark in ("run", "fails") for _, mark, _ in blocks):
            shutil.copytree(SMALL, self.folder, dirs_exist_ok=True, symlinks=True)
        os.chdir(self.folder)
        for number, (language, mark, text) in enumerate(blocks):
            if language == "output":
                output = without_numbers(self.printed, text)
                if output.strip() != text.strip():
                    self.fail(f"printed\n{self.printed}\ninstead of\n{text}")
            elif language == "python" and mark not in ("", "pandas", "torch"):
                (self.folder / mark).write_text(text)
            elif language == "python":
                if self.name != "docs/python.md":  # needs the module: tests/python/cases.py
                    self.python(text)
            elif language == "sh":
                self.shell(text, mark == "fails") if mark else self.commands(text)
            elif language == "cpp" and mark:
                self.program(text, f"example_{number}")
            elif language == "cpp" and "int main(" in text:
                if text != (ROOT / "apps/first_gcn.cpp").read_text():
                    self.fail("its program is not apps/first_gcn.cpp")
                self.shell("build/bin/first_gcn")
            elif language == "cpp":
                self.piece(text)
            elif language == "cmake":  # which .ci/run builds
                contents = (ROOT / "tests/consumer/CMakeLists.txt").read_text()
                for line in text.splitlines():
                    if line.split("(")[0] not in contents:
                        self.fail(f"not in tests/consumer: {line}")
            elif language:
                self.fail(f"a block in {language}, which no test runs")
        if self.name in QUOTING:
            self.includes += "".join(f"#include <adjoint/{header}>\n" for header in (
                "training.h", "data/bit_tensors.h", "data/import/edge_list.h", "data/import/graphland.h", "data/import/npz_dataset.h",
                "data/import/ogb.h", "data/import/tu.h", "kernels/bits/bit_calibration.h"))
            self.definitions += quoted(self.text)
        if self.definitions or self.statements:
            self.program(f"#include <adjoint/adjoint.h>\n{self.includes}using namespace adj;\n{self.definitions}int main() {{\n"
                         'const Dataset data = load_dataset("cora.h5");\nconst Graph& graph = data.graph;\n'
                         f"const Features& features = data.x;\n{self.statements}}}\n", "pieces")
        if self.left_out:
            skipped(f"{self.left_out} statements of {self.name}: no {', '.join(sorted(self.missing))}")
        print(f"{self.name}: {len(blocks)} blocks, {self.ran} runs", flush=True)


with tempfile.TemporaryDirectory() as top:
    SMALL = Path(top, "small")
    (SMALL / "build").mkdir(parents=True)
    (SMALL / "build/bin").symlink_to(BIN)
    (SMALL / "data").symlink_to(ROOT / "data")
    (SMALL / "FOLDER").mkdir()
    os.chdir(SMALL)
    planetoid_release(SMALL / "FOLDER", "cora")
    small_files.write_all()
    for number, path in enumerate(PAGES):
        folder = Path(top, str(number))
        folder.mkdir()
        Page(path, folder).run()
    os.chdir(ROOT)
if len(sys.argv) == 1 and (unused := {*NOT_RUN, *BEFORE, *OTHERWISE, *MEMBERS} - used):
    sys.exit(f"no page has a block or command that begins with {sorted(unused)}")
