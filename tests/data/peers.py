"""Shared by the tests of data/*.py and data/*.sh: the scripts, the programs, and the libraries that they are compared with, each
if it is installed. ADJOINT_PYTHON_PEERS names an interpreter that has more of them than the system's; the tests then run in
that one."""
import contextlib
import functools
import importlib
import io
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
