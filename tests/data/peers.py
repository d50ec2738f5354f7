"""Shared by the tests of data/*.py and data/*.sh: the scripts, the programs, and the libraries that they are compared with, each
if it is installed. ADJOINT_PYTHON_PEERS names an interpreter that has more of them than the system's; the tests then run in
that one."""
import contextlib
import csv
import functools
import importlib
import io
import json
import os
import pathlib
import pickle
import subprocess
import sys
import tempfile
import types
import unittest
import unittest.mock
import warnings

if os.environ.get("ADJOINT_PYTHON_PEERS"):
    peers = os.environ.pop("ADJOINT_PYTHON_PEERS")
    if ":" in peers:
        sys.exit("ADJOINT_PYTHON_PEERS: expected one interpreter; run once for each")
    os.execv(peers, [peers, *sys.argv])

try:
    import h5py
    import numpy as np
except ImportError as missing:
    print(f"MESSAGE: skipped: {missing} (python3-h5py, python3-numpy)")
    sys.exit(bool(os.environ.get("CI")))

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = pathlib.Path(os.environ.get("ADJOINT_BIN_DIR", ROOT / "build/bin")).resolve()
DATA = pathlib.Path(os.environ.get("ADJOINT_TEST_DATA", ROOT.parent / "shared/data")).resolve()
PARTS = ("train", "val", "test")
sys.path.insert(0, str(ROOT / "data"))
sys.dont_write_bytecode = True
warnings.filterwarnings("ignore")


def skipped(what):
    print(f"MESSAGE: skipped: {what}", flush=True)


@functools.lru_cache(None)
def library(name):
    """The module, or None where it cannot be imported."""
    try:
        return importlib.import_module(name)
    except Exception as error:  # a broken installation fails in many ways
        skipped(f"no {name} for {pathlib.Path(sys.argv[0]).name}: {str(error).splitlines()[0][:80]}")
        return None


def have_data(*paths):
    """The files of the folder of real datasets, or None."""
    found = [DATA / path for path in paths]
    if all(path.exists() for path in found):
        return found
    skipped(f"no {next(path for path in found if not path.exists())}")
    return None


def run(line, *words, status=0, stdin=None):
    """What a program writes, errors first. `line` is its name and arguments, split at blanks; `words` are more, as they are."""
    program, *options = line.split() + [str(word) for word in words]
    ran = subprocess.run([BIN / program, *options], capture_output=True, text=True, input=stdin, timeout=600)
    assert ran.returncode == status, (program, options, ran.returncode, ran.stdout, ran.stderr)
    return ran.stderr + ran.stdout


def expect(text, *parts):
    for part in parts:
        assert part in text, (part, text)
    return text


def refused(line, *words, says, status=1):
    """The program fails with one line that has these parts (or this one)."""
    error = run(line, *words, status=status)
    assert error.count("\n") == 1, error
    return expect(error, *([says] if isinstance(says, str) else says))


def result_of(line, *words):
    """The JSON that a program prints last."""
    return json.loads(run(line, *words).splitlines()[-1])


def write(path, content):
    """Text, bytes, or rows of a table. Returns the path."""
    if isinstance(content, (str, bytes)):
        pathlib.Path(path).write_bytes(content if isinstance(content, bytes) else content.encode())
    else:
        with open(path, "w", newline="", encoding="utf-8") as file:
            csv.writer(file, lineterminator="\n").writerows(content)
    return path


def read(path):
    return pathlib.Path(path).read_text(encoding="utf-8")


def rows(path):
    """The rows of a table with a header."""
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def packed(place, names):
    """Texts as the schema has them."""
    texts = [name.encode() for name in names]
    return {place: np.frombuffer(b"".join(texts), np.uint8), f"{place}_offsets": np.cumsum([0] + [len(text) for text in texts])}


def texts(group, place):
    """The inverse, of an open file or group."""
    text, ends = group[place][:].tobytes(), group[f"{place}_offsets"][:]
    return [text[a:b].decode() for a, b in zip(ends, ends[1:])]


def parts_of(order, *cuts):
    """The places of a split into three parts at the cuts."""
    return {f"splits/{name}": np.sort(part) for name, part in zip(PARTS, np.split(order, cuts))}


def write_graph(path, places, **attributes):
    """A file of the schema: values by place, those that are None left out."""
    with h5py.File(path, "w") as f:
        f.attrs.update({"format": "adjoint.graph", "version": 1, "name": "a", "task": "node_class"} | attributes)
        for place, values in places.items():
            if values is not None:
                f[place] = values
    return path


def datasets_in(path, start=""):
    """All datasets below a group, by their names there."""
    found = {}
    with h5py.File(path) as f:
        (f[start] if start else f).visititems(
            lambda name, item: found.__setitem__(name, item[...]) if isinstance(item, h5py.Dataset) else None)
    return found


def holds(path, expected):
    """A file has these values: lists of texts at a place with offsets, names in a group, attributes as GROUP@NAME."""
    with h5py.File(path) as f:
        for place, value in expected.items():
            group, _, name = place.partition("@")
            if name:
                found = (f[group] if group else f).attrs[name]
            else:
                found = texts(f, place) if f"{place}_offsets" in f else f[place]
                found = sorted(found) if isinstance(found, h5py.Group) else found[:]
            np.testing.assert_array_equal(found, value, f"{path}: {place}")


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.out = self.folder / "out.h5"

    def run_program(self, name, *words):
        if not (BIN / name).exists():
            skipped(f"no {BIN / name}")
            self.skipTest(name)
        return subprocess.run([BIN / name, *map(str, words)], capture_output=True, text=True, timeout=300)

    def script(self, name, *words):
        return subprocess.run([sys.executable, ROOT / "data" / name, *map(str, words)], capture_output=True, text=True, timeout=300)

    def main_of(self, module, *words):
        """The script's result for these arguments, without the second for importing torch."""
        out, err, code = io.StringIO(), io.StringIO(), 0
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), unittest.mock.patch.object(
                sys, "argv", [module.__name__, *map(str, words)]):
            try:
                module.main()
            except SystemExit as end:
                code = end.code
                if isinstance(code, str):
                    err.write(f"{code}\n")
                    code = 1
        return subprocess.CompletedProcess(words, code or 0, out.getvalue(), err.getvalue())

    def ok(self, result):
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return result

    def one_line(self, result, *parts, status=1, lines=1):
        """An error of one line, or `lines`, with these parts, and no output."""
        self.assertEqual((result.returncode, result.stdout, result.stderr.count("\n")), (status, "", lines), result)
        for part in parts:
            self.assertIn(part, result.stderr)

    def replaces_like_the_library(self, path, write):
        """write() replaces the file atomically as core/file.cpp does, whatever lies at names of temporary files."""
        victim = self.folder / "victim"
        victim.write_text("of somebody else")
        guesses = [path.with_name(name) for name in (f"{path.name}.{os.getpid()}.tmp", f".{os.getpid()}.{path.name}")]
        for guess in guesses:
            guess.symlink_to(victim)
        path.chmod(0o640)
        on_disk, fsync = [], os.fsync
        with unittest.mock.patch("os.fsync", lambda file: (on_disk.append(os.readlink(f"/proc/self/fd/{file}")), fsync(file))):
            write()
        self.assertEqual(path.stat().st_mode & 0o777, 0o640)
        self.assertRegex(on_disk[0], r"/\.adjoint-[0-9a-f]{16}\.tmp$")  # whose leftovers FileReplacement removes
        self.assertEqual(on_disk[1:], [str(self.folder.resolve())])
        before = path.read_bytes()
        taken = self.folder / f".adjoint-{'0' * 16}.tmp"
        taken.symlink_to(victim)
        with unittest.mock.patch("secrets.token_hex", lambda count: "00" * count), contextlib.suppress(OSError):
            write()
        self.assertTrue(taken.is_symlink())
        self.assertEqual((path.read_bytes(), victim.read_text()), (before, "of somebody else"))
        for link in (*guesses, taken):
            link.unlink()

    def holds(self, found, values):
        for path, value in values.items():
            np.testing.assert_array_equal(found[path], value, path)

    def loaded(self, path=None):
        """The file as Adjoint has read it and written it again, {path: array} with attributes under "@name"; edges by source and
        target, for their order does not matter."""
        copy = self.folder / "copy.h5"
        self.ok(self.run_program("copy_file", "dataset", path or self.out, copy))
        return contents(copy)

    def leaves_nothing(self):
        """No file that was to be written, and none that was meant to become one."""
        self.assertEqual([path.name for path in self.folder.iterdir() if path.name.startswith((".", "out.h5"))], [])


def contents(path):
    found = {}
    with h5py.File(path) as file:
        file.visititems(lambda name, item: found.__setitem__(name, item[...]) if isinstance(item, h5py.Dataset) else None)
        found.update({f"@{name}": value for name, value in file.attrs.items()})
        if "nodes" in file and "x_cols" in file["nodes"].attrs:
            found["@x_cols"] = int(file["nodes"].attrs["x_cols"])
    more = [found[name] for name in ("edges/weight", "edges/attr") if name in found]
    order = np.lexsort([column for values in reversed(more) for column in values.reshape(len(values), int(np.prod(values.shape[1:]))).T[::-1]] +
                       [found["edges/dst"], found["edges/src"]])
    for name in ("edges/src", "edges/dst", "edges/weight", "edges/attr"):
        if name in found:
            found[name] = found[name][order]
    return found


def dense(found):
    """Features [N, F] of `contents`, which may be sparse."""
    if "nodes/x" in found:
        return found["nodes/x"]
    x = np.zeros((len(found["nodes/x_indptr"]) - 1, found["@x_cols"]), np.float32)
    x[np.repeat(np.arange(len(x)), np.diff(found["nodes/x_indptr"])), found["nodes/x_indices"]] = found["nodes/x_data"]
    return x


def same(case, one, other, but=()):
    """Two of `contents`, to the bit."""
    case.assertEqual(set(one) - set(but), set(other) - set(but))
    for name in set(one) - set(but):
        case.assertTrue(np.array_equal(one[name], other[name], equal_nan=getattr(one[name], "dtype", np.dtype(int)).kind == "f"),
                        f"{name}: {one[name]} and {other[name]}")


def planetoid_release(folder, name, **more):
    """The files ind.NAME.* of a small dataset in the layout of the Planetoid release, with the changes `more`, values or bytes by part: 610
    nodes, of which 606 is a gap, 3 edges besides a loop and a repeated one, 7 features, 3 classes, 40 nodes to train. Returns the
    features. No scipy is needed for what stands as a scipy matrix in a pickle."""

    class Matrix:
        def __init__(self, dense):
            rows, columns = np.nonzero(dense)
            self.__dict__.update(_shape=dense.shape, data=dense[rows, columns].astype(np.float32), indices=columns.astype(np.int32),
                                 indptr=np.concatenate([[0], np.cumsum((dense != 0).sum(1))]).astype(np.int32), maxprint=50)

    Matrix.__module__, Matrix.__qualname__, Matrix.__name__ = "scipy.sparse.csr", "csr_matrix", "csr_matrix"
    stand_ins = {part: types.ModuleType(part) for part in ("scipy", "scipy.sparse", "scipy.sparse.csr")}
    stand_ins["scipy.sparse.csr"].csr_matrix = Matrix
    features = (np.random.default_rng(3).random((610, 7)) < 0.3).astype(np.float32)
    labels = np.eye(3, dtype=np.int32)[np.arange(610) % 3]
    order = np.array([607, 605, 608, 609])
    files = {"x": Matrix(features[:40]), "tx": Matrix(features[order]), "allx": Matrix(features[:605]), "y": labels[:40],
             "ty": labels[order], "ally": labels[:605], "graph": {0: [1, 1, 0], 1: [0, 605], 607: [2]},
             "test.index": "".join(f"{node}\n" for node in order).encode()} | more
    with unittest.mock.patch.dict(sys.modules, stand_ins):
        for part, value in files.items():
            (folder / f"ind.{name}.{part}").write_bytes(value if isinstance(value, bytes) else pickle.dumps(value, 4))
    return features
