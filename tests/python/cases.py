"""Tests of the module against NumPy and h5py. Run by wheel.py, in a folder with gcn.h5, a checkpoint of train_gcn."""
import concurrent.futures
import gc
import importlib.util
import os
import re
import subprocess
import sys
import threading
import unittest
from pathlib import Path

import h5py
import numpy as np
import scipy.sparse

import adjoint

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(os.environ["ADJOINT_BIN_DIR"])


def small(**more):
    """Twelve nodes in two rings of six, three features, two classes."""
    src = np.array([(i + 1) % 6 + 6 * ring for ring in range(2) for i in range(6)])
    dst = np.array([i + 6 * ring for ring in range(2) for i in range(6)])
    edges = np.stack([np.concatenate([src, dst]), np.concatenate([dst, src])])
    arrays = {"x": np.arange(36, dtype=np.float32).reshape(12, 3), "y": np.arange(12) // 6, "undirected": True,
              "train": np.arange(12) % 3 == 0, "val": np.array([1, 4]), "test": np.array([2, 5, 8], dtype=np.int32)}
    return adjoint.Dataset(edges, **(arrays | more))


def run(code, seconds=60, **options):
    """Runs Python with the module imported; its standard output."""
    script = f"import adjoint, os, signal, sys, threading, time\nimport numpy as np\n{code}"
    process = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=seconds, **options)
    if process.returncode or process.stderr:
        raise AssertionError(f"status {process.returncode}: {process.stderr}")
    return process.stdout


def edges_of(data):
    src, dst = data.edge_index
    return set(zip(src.tolist(), dst.tolist()))


class Foreign:
    """An array with only DLPack's interface, like those of other frameworks."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


class Arrays(unittest.TestCase):
    def test_features_are_not_copied(self):
        x = np.random.default_rng(1).random((12, 5), dtype=np.float32)
        before = sys.getrefcount(x)
        data = small(x=x)
        self.assertTrue(np.shares_memory(data.x, x))
        out = data.x
        del data
        gc.collect()
        x[3, 2] = 7
        self.assertEqual(out[3, 2], 7)  # the view keeps the features, and these the array
        del out
        gc.collect()
        self.assertEqual(sys.getrefcount(x), before)

    def test_dlpack_in_and_out(self):
        x = np.random.default_rng(2).random((12, 4), dtype=np.float32)
        data = small(x=Foreign(x), y=Foreign(np.arange(12) % 3))
        self.assertTrue(np.shares_memory(data.x, x))
        self.assertEqual(data.num_classes, 3)
        batch = next(iter(adjoint.NeighborLoader(data, data.train, [-1])))
        self.assertTrue(np.array_equal(np.from_dlpack(batch.x), x[batch.blocks[0].src_nodes]))

    def test_what_must_be_converted(self):
        x = np.asfortranarray(np.random.default_rng(3).random((12, 4)))  # float64, column-major
        self.assertTrue(np.array_equal(small(x=x).x, x.astype(np.float32)))
        odd = np.frombuffer(b"\0" + np.ones(36, np.float32).tobytes(), np.uint8)[1:].view(np.float32).reshape(12, 3)
        self.assertTrue(np.array_equal(small(x=odd).x, np.ones((12, 3))))
        for array in (x[::-1, ::-1], Foreign(x[::2, 1:3].repeat(2, 0)), Foreign(np.asfortranarray(x.astype(np.float32)))):
            plain = array.array if isinstance(array, Foreign) else array
            self.assertTrue(np.array_equal(small(x=array).x, plain.astype(np.float32)))
        halves = np.arange(65536, dtype=np.uint16).view(np.float16)
        halves = halves[np.isfinite(halves)][-63480:].reshape(12, -1)  # with zeros of both signs and subnormal numbers
        self.assertTrue(np.array_equal(small(x=halves).x.view(np.int32), halves.astype(np.float32).view(np.int32)))
        for kind in (np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64, np.float64):
            for order in "<>":
                x = np.array([[0, 1, 100, 127]] * 12).astype(np.dtype(kind).newbyteorder(order))
                with self.subTest(x.dtype):
                    data = small(x=x, y=x[:, 1])
                    self.assertTrue(np.array_equal(data.x, x.astype(np.float32)))
                    self.assertTrue(np.array_equal(data.y.reshape(-1), np.ones(12)))
                    if kind is not np.float64:
                        self.assertEqual(edges_of(adjoint.Dataset(x[:2, 1:3] // 100, num_nodes=2)), {(0, 0), (1, 1)})
        with self.assertRaisesRegex(adjoint.Error, "y: 18446744073709551615, expected integers below 2\\^63"):
            small(y=np.full(12, 2**64 - 1, np.uint64))

    def test_arrays_of_a_dataset_are_read_only(self):
        fixed = np.frombuffer(np.ones(36, np.float32).tobytes(), np.float32).reshape(12, 3)  # of bytes
        data = small(x=fixed, edge_weight=np.ones(24, np.float32), edge_attr=np.ones((24, 2), np.float32),
                     part=np.arange(12) // 6)
        many = small(y=np.ones(2), graph_offsets=np.array([0, 6, 12]), train=None, val=None, test=None)
        sparse = small(x=scipy.sparse.eye(12, format="csr"))
        for array in (*data.edge_index, data.x, data.y, data.edge_weight, data.edge_attr, data.train, data.val, data.test,
                      data.part, many.y, many.graph_offsets, sparse.x, *sparse.x_csr):
            self.assertFalse(array.flags.writeable)
            with self.assertRaises(ValueError):
                array.flags.writeable = True

    def test_only_features_share_memory(self):
        arrays = {"x": np.zeros((12, 3), np.float32), "y": np.zeros((12, 1), np.float32), "part": np.zeros(12, np.int32),
                  "train": np.array([0, 3], np.int32), "val": np.array([1], np.int32), "test": np.array([2], np.int32),
                  "edge_weight": np.zeros(24, np.float32), "edge_attr": np.zeros((24, 1), np.float32)}
        src, dst = np.zeros(24, np.int32), np.zeros(24, np.int32)
        data = adjoint.Dataset((src, dst), **arrays)
        offsets, y = np.array([0, 6, 12]), np.zeros((2, 1), np.float32)
        many = adjoint.Dataset((src, dst), num_nodes=12, y=y, graph_offsets=offsets)
        kept = [data.y, data.part, data.train, data.val, data.test, data.edge_weight, data.edge_attr, *data.edge_index,
                many.y, many.graph_offsets]
        before = [array.copy() for array in kept]
        for array in (*arrays.values(), src, dst, offsets, y):
            array += 5
        self.assertTrue(all(np.array_equal(*pair) for pair in zip(kept, before)))
        self.assertTrue((data.x == 5).all())

    def test_arrays_of_a_batch_are_its_own(self):
        data = small()
        loader = adjoint.NeighborLoader(data, data.train, [-1])
        for array in ((batch := loader.batch(0, 0)).seeds, batch.x, batch.y):
            array[:] = 0
        self.assertEqual(data.train.tolist(), [0, 3, 6, 9])
        self.assertEqual(loader.batch(0, 0).seeds.tolist(), [0, 3, 6, 9])
        self.assertEqual(data.x[3, 0], 9)


class Datasets(unittest.TestCase):
    def test_what_is_given_is_what_there_is(self):
        weight = np.linspace(0.1, 2.4, 24, dtype=np.float32)
        data = small(edge_weight=weight, edge_attr=np.stack([weight, -weight], 1))
        src, dst = data.edge_index
        self.assertEqual((data.num_nodes, data.num_edges, data.num_features, data.task), (12, 24, 3, "node_class"))
        self.assertTrue(np.array_equal(np.lexsort((src, dst)), np.arange(24)))
        self.assertEqual(len(edges_of(data)), 24)
        self.assertIn((1, 0), edges_of(data))
        self.assertTrue(np.array_equal(np.sort(data.edge_weight), weight))
        self.assertTrue(np.array_equal(data.edge_attr[:, 1], -data.edge_weight))
        self.assertEqual(data.train.tolist(), [0, 3, 6, 9])
        self.assertEqual(data.y.dtype, np.int32)

    def test_files(self):
        data = small(name="rings", class_names=["left", "right"], feature_names=[f"c{k}" for k in range(small().num_features)])
        data.save("rings.h5", gzip=1)
        with h5py.File("rings.h5") as file:
            self.assertEqual(file.attrs["num_nodes"], 12)
            self.assertTrue(np.array_equal(file["nodes/x"][:], data.x))
            self.assertTrue(np.array_equal(np.sort(file["edges/src"][:]), np.sort(data.edge_index[0])))
            self.assertTrue(np.array_equal(file["nodes/y"][:], data.y))
            self.assertTrue(np.array_equal(file["splits/test"][:], data.test))
        again = adjoint.load_dataset("rings.h5")
        self.assertEqual((again.name, again.class_names, again.undirected), ("rings", ["left", "right"], True))
        self.assertEqual(again.feature_names, data.feature_names)
        self.assertEqual(edges_of(again), edges_of(data))

    def test_several_types(self):
        x, rated, knows = np.eye(3, dtype=np.float32), [[0, 2, 2], [1, 0, 1]], [[2, 0], [1, 2]]
        with h5py.File("shop.h5", "w") as f:
            f.attrs.update({"format": "adjoint.graph", "version": 2, "name": "shop"})
            f["nodes/person/x"], f["nodes/person/y"] = x, [0, 1, -1]
            f["nodes/person"].attrs.update({"num_nodes": 3, "task": "node_class", "num_classes": 2})
            f["nodes/person/name"], f["nodes/person/name_offsets"] = np.frombuffer("annbobzoë".encode(), np.uint8), [0, 3, 6, 10]
            f["nodes/person/time"] = [2**60 + 1, 5, -2**63]
            for part, index in (("train", [1]), ("val", [0]), ("test", [2])):
                f[f"edges/rated/splits/{part}"] = index
            f["edges/rated/y"], f["edges/rated/attr"], f["edges/rated/weight"] = [1, 0, 1], [[5.0], [6], [7]], [1.0, 2, 3]
            f["edges/rated"].attrs.update({"source": "person", "target": "film", "task": "edge_class", "num_classes": 2})
            f.create_group("edges/knows").attrs.update({"source": "person", "target": "person"})
            f["nodes/film/x"] = np.ones((2, 4))
            f["nodes/film"].attrs["num_nodes"] = 2
            for name, ends in (("rated", rated), ("knows", knows)):
                f[f"edges/{name}/src"], f[f"edges/{name}/dst"] = ends
        data = adjoint.load_typed_dataset("shop.h5")
        rate = ("person", "rated", "film")
        self.assertEqual((data.name, data.node_types), ("shop", ["film", "person"]))
        self.assertEqual(sorted(data.edge_types), [("person", "knows", "person"), rate])
        self.assertEqual((data.num_nodes("film"), data.nodes["film"].num_features), (2, 4))
        person = data.nodes["person"]
        self.assertEqual((person.task, person.num_classes, person.node_names), ("node_class", 2, ["ann", "bob", "zoë"]))
        self.assertEqual((person.y.tolist(), person.times.tolist()), ([0, 1, -1], [2**60 + 1, 5, -2**63]))
        self.assertTrue(np.array_equal(person.x, x))
        for kind in ("rated", rate):
            self.assertEqual([ends.tolist() for ends in data.edge_index(kind)], rated)
            self.assertEqual(data.edge_weight(kind).tolist(), [1, 2, 3])
        edges = data.edges[rate]
        self.assertEqual((edges.y.tolist(), edges.x.tolist()), ([1, 0, 1], [[5], [6], [7]]))
        self.assertEqual([[part.tolist() for part in split] for split in edges.splits], [[[1], [0], [2]]])
        graph = data.graph("knows")
        self.assertEqual((graph.num_nodes, edges_of(graph), graph.node_names), (3, {(2, 1), (0, 2)}, ["ann", "bob", "zoë"]))
        data.save("again.h5")
        with h5py.File("again.h5") as f:
            self.assertEqual(f["edges/rated/src"][:].tolist(), rated[0])
            self.assertEqual(f["nodes/person/time"][:].tolist(), person.times.tolist())
        for wrong, message in (("sold", "rated"), (("person", "rated", "person"), "rated")):
            with self.assertRaisesRegex(adjoint.Error, message):
                data.edge_index(wrong)
        with self.assertRaisesRegex(adjoint.Error, "expected nodes of one type"):
            data.graph("rated")

    def test_sparse_features(self):
        class Csr:  # as scipy.sparse.csr_matrix
            indptr, indices = np.array([0, 2, 2, 3], np.int32), np.array([0, 3, 1], np.int32)
            data, shape = np.array([1, 2, 3], np.float64), (3, 4)
        data = adjoint.Dataset(np.array([[0, 1], [1, 2]]), Csr)
        self.assertEqual(data.x.tolist(), [[1, 0, 0, 2], [0, 0, 0, 0], [0, 3, 0, 0]])
        values, indices, indptr = data.x_csr
        self.assertEqual((values.tolist(), indices.tolist(), indptr.tolist()), ([1, 2, 3], [0, 3, 1], [0, 2, 2, 3]))

    def test_sparse_features_of_any_format(self):
        dense = np.zeros((12, 8), np.float32)
        dense[[0, 0, 3, 5, 11, 11], [7, 2, 1, 5, 0, 6]] = [1, 2, 3, 4, 5, 6]
        for form in ("csr", "csc", "coo", "bsr", "dia", "lil", "dok"):
            for kind in (scipy.sparse.coo_matrix, scipy.sparse.coo_array):
                with self.subTest(form, kind=kind):
                    data = small(x=kind(dense).asformat(form))
                    self.assertTrue(np.array_equal(data.x, dense))
                    self.assertTrue(np.array_equal(scipy.sparse.csr_matrix(data.x_csr, shape=(12, 8)).toarray(), dense))
        # Columns in any order, one twice: entries add up.
        mixed = scipy.sparse.csr_matrix((np.array([1.0, 2, 4, 8]), np.array([3, 0, 3, 1]), np.array([0, 3] + [4] * 11)), (12, 4))
        self.assertFalse(mixed.has_sorted_indices)
        self.assertTrue(np.array_equal(small(x=mixed).x, mixed.toarray()))
        self.assertFalse(mixed.has_sorted_indices)  # the user's own is as it was

        class Columns:
            format, indptr, indices, data, shape = "csc", np.zeros(13, int), np.zeros(0, int), np.zeros(0), (12, 4)
        with self.assertRaisesRegex(adjoint.Error, "x: a sparse matrix of format csc"):
            small(x=Columns)

    def test_labels_name_the_task(self):
        bits = np.arange(24).reshape(12, 2) % 2
        self.assertEqual(small(y=bits.astype(bool)).task, "node_multilabel")
        self.assertEqual(small(y=np.ones(12)).task, "node_regression")
        self.assertEqual(small(y=bits.astype(np.float32), task="node_multilabel").num_classes, 2)
        many = small(y=np.array([0, 1]), graph_offsets=np.array([0, 6, 12]), train=None, val=None, test=None)
        self.assertEqual((many.task, many.y.tolist()), ("graph_class", [0, 1]))

    def test_errors_say_what_is_wrong(self):
        self.assertTrue(issubclass(adjoint.DataError, adjoint.Error) and issubclass(adjoint.Error, ValueError))
        self.assertTrue(issubclass(adjoint.OutOfMemory, MemoryError))
        for message, given in {"index 1 occurs twice": {"val": np.array([1, 2]), "test": np.array([1])},
                               "index 12, expected 0 to 11": {"val": np.array([12])},
                               "nan at row 0, column 1, expected finite": {"x": np.array([[1, np.nan]] * 12, np.float32)},
                               "y: \\[3\\] int64 on cpu, expected \\[12\\]": {"y": np.zeros(3, int)}}.items():
            with self.subTest(message), self.assertRaisesRegex(adjoint.Error, message):
                small(**given)
        with self.assertRaisesRegex(ValueError, "expected 0 to 1|out of range|\\[0, 2\\)"):
            adjoint.Dataset(np.array([[0], [2]]), num_nodes=2)
        with self.assertRaisesRegex(adjoint.DataError, "missing.h5"):
            adjoint.load_dataset("missing.h5")

    def test_numbers_that_a_file_may_not_hold(self):
        """Each of these would be refused by every program that reads the file."""
        ones, many = np.ones((12, 2)), {"train": None, "val": None, "test": None}
        huge, weight = np.array([[1, 1e39]] * 12), np.ones(24)
        graphs = lambda *offsets: {"y": np.zeros(len(offsets) - 1), "graph_offsets": np.array(offsets)} | many
        with_at = lambda array, place, value: np.put(array := array.copy(), place, value) or array
        for message, given in {
                "x: 1e\\+39 at row 0, column 1, expected numbers of float32": {"x": huge},
                "x.data: 1e\\+39 at position 1, expected numbers of float32": {"x": scipy.sparse.csr_matrix(huge)},
                "nodes/x_data: inf at position 3": {"x": scipy.sparse.csr_matrix(with_at(ones, 3, np.inf))},
                "edge_weight: -1e\\+300 at position 2, expected numbers": {"edge_weight": with_at(weight, 2, -1e300)},
                "edges/weight: nan at position": {"edge_weight": with_at(weight, 2, np.nan)},
                "edges/attr: inf at row": {"edge_attr": with_at(np.ones((24, 2), np.float32), 5, np.inf)},
                "y: 1e\\+300 at position 4, expected numbers of float32": {"y": with_at(ones[:, 0], 4, 1e300)},
                "nodes/y: -inf at row 4, column 0, expected finite": {"y": with_at(ones[:, 0], 4, -np.inf)},
                "nodes/y: 2 at row 1, column 1, expected 0, 1 or nan": {"y": with_at(ones, 3, 2), "task": "node_multilabel"},
                "y: 4294967296 at position 3, expected -1 .none. or a class from 0 to 2147483646":
                    {"y": with_at(np.arange(12), 3, 2**32)},
                "y: -2 at position 3, expected -1": {"y": with_at(np.arange(12), 3, -2)},
                "nodes/part: -1 at position 1, expected 0 to 11": {"part": with_at(np.zeros(12, int), 1, -1)},
                "part: .12. float64 on cpu, expected integers": {"part": np.zeros(12)},
                "part\\[1\\] is 4294967296, expected": {"part": with_at(np.zeros(12, int), 1, 2**32)},
                "graph_offsets: .3. float64 on cpu, expected integers": graphs(0, 6.5, 12),
                "graphs/offsets: 3 at position 2, expected ascending": graphs(0, 6, 3, 12),
                "graphs/offsets: -1 at position 0, expected ascending numbers from 0": graphs(-1, 6, 12),
                "graphs/offsets: ends with 11, expected 12": graphs(0, 6, 11),
                "edges/dst: an edge from node .* of graph 0, expected edges within graphs": graphs(0, 5, 12)}.items():
            with self.subTest(message), self.assertRaisesRegex(adjoint.Error, message):
                small(**given)
        with self.assertRaisesRegex(adjoint.Error, "edge_index: .2. float64 on cpu, expected integers"):
            adjoint.Dataset((np.array([0.0, 1.5]), np.array([0, 1])), num_nodes=2)
        with self.assertRaisesRegex(adjoint.Error, "edge_index: .3, 2. int64 on cpu, expected .2, M."):
            adjoint.Dataset(np.zeros((3, 2), int), num_nodes=2)

    def test_a_number_of_nodes_takes_no_memory_before_its_check(self):
        run("""import resource
resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))
edges = np.array([[0], [1]])
for given in {"num_nodes": 2 * 10**9}, {"num_nodes": 2 * 10**9, "y": np.array([0, 1])}, {"num_nodes": 0}:
    try:
        adjoint.Dataset(edges, **given)
    except adjoint.Error as error:
        assert "expected" in str(error) or "nothing in the dataset has that many nodes" in str(error), error
    else:
        raise AssertionError(given)""")

    def test_paths(self):
        data = small()
        for path in (Path("path.h5"), b"path.h5", "path.h5"):
            data.save(path)
            self.assertEqual(edges_of(adjoint.load_dataset(path)), edges_of(data))
            os.unlink("path.h5")
        self.assertEqual(adjoint.load_trained(Path("gcn.h5")).task, "node_class")
        Path("kept").write_text("kept")
        for call in (data.save, adjoint.load_dataset, adjoint.load_trained):
            with self.assertRaisesRegex(ValueError, "null byte"):
                call("kept\0.h5")
            with self.assertRaisesRegex(TypeError, "not int"):
                call(3)
        self.assertEqual(Path("kept").read_text(), "kept")


class Loaders(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.data = adjoint.load_demo_dataset()
        cls.x, cls.y, cls.edges = cls.data.x, cls.data.y, edges_of(cls.data)

    def test_neighbors(self):
        src, dst = self.data.edge_index
        loader = adjoint.NeighborLoader(self.data, self.data.train, [5, 3], batch_size=32, shuffle=True, seed=4, workers=2)
        seeds = []
        for batch in loader:
            self.assertEqual(len(batch), len(batch.seeds))
            self.assertTrue(np.array_equal(batch.x, self.x[batch.blocks[0].src_nodes]))
            self.assertTrue(np.array_equal(batch.y, self.y[batch.seeds]))
            self.assertTrue(np.array_equal(batch.blocks[-1].dst_nodes, batch.seeds))
            for block, fanout in zip(batch.blocks, (3, 5)):
                sources, targets = block.edge_index
                self.assertTrue(np.array_equal(block.src_nodes[sources], src[block.edge_ids]))
                self.assertTrue(np.array_equal(block.src_nodes[targets], dst[block.edge_ids]))
                self.assertLessEqual(np.bincount(targets).max(initial=0), fanout)
            seeds += batch.seeds.tolist()
        self.assertEqual(sorted(seeds), sorted(self.data.train.tolist()))
        self.assertEqual(len(loader), -(-len(seeds) // 32))

    def test_epochs(self):
        def seeds(epoch):
            return [batch.seeds.tolist() for batch in epoch]

        make = lambda workers: adjoint.NeighborLoader(self.data, self.data.train, [2], 16, shuffle=True, workers=workers)
        loader, alone = make(2), make(0)
        first, second = seeds(loader), seeds(loader)  # a loop is an epoch, the next another one
        self.assertNotEqual(first, second)
        self.assertEqual(seeds(alone.epoch(1)), second)
        self.assertEqual(seeds(loader.epoch(0)), first)
        self.assertEqual(alone.batch(1, 0).seeds.tolist(), second[0])
        given_up = iter(make(2))
        next(given_up)
        del given_up

    def test_links(self):
        loader = adjoint.LinkLoader(self.data, fanouts=[-1], batch_size=500, negatives=2)
        batch = next(iter(loader))
        src, dst = (batch.nodes[end] for end in batch.pairs)
        joined = [(a, b) in self.edges for a, b in zip(src.tolist(), dst.tolist())]
        self.assertEqual(batch.positives, 500)
        self.assertEqual(joined, batch.label.astype(bool).tolist())

    def check_subgraph(self, batch):
        src, dst = (batch.nodes[end] for end in batch.edge_index)
        self.assertLessEqual(set(zip(src.tolist(), dst.tolist())), self.edges)
        self.assertTrue(np.array_equal(batch.x, self.x[batch.nodes]))
        self.assertTrue(np.array_equal(batch.y, self.y[batch.nodes]))
        self.assertLessEqual(set(batch.nodes[batch.seeds].tolist()), set(self.data.train.tolist()))

    def test_clusters(self):
        with self.assertRaisesRegex(adjoint.Error, "part"):
            adjoint.ClusterLoader(self.data, self.data.train)
        nodes = []
        for batch in adjoint.ClusterLoader(self.data, self.data.train, parts=8, parts_per_batch=2, workers=1):
            self.check_subgraph(batch)
            nodes += batch.nodes.tolist()
        self.assertEqual(sorted(nodes), list(range(self.data.num_nodes)))

    def test_saint(self):
        loader = adjoint.SaintLoader(self.data, self.data.train, method=adjoint.SaintMethod.node, budget=100, steps=3, coverage=5)
        self.assertEqual(len(loader), 3)
        for batch in loader:
            self.check_subgraph(batch)
            self.assertEqual(batch.weight.shape, batch.seeds.shape)

    def test_graphs(self):
        data = small(y=np.array([0, 1]), graph_offsets=np.array([0, 6, 12]), train=None, val=None, test=None)
        (batch,) = adjoint.GraphLoader(data, np.array([1]), batch_size=4)
        self.assertEqual((batch.num_nodes, batch.y.tolist(), batch.offsets.tolist()), (6, [1], [0, 6]))
        self.assertTrue(np.array_equal(batch.x, data.x[6:]))


class Trained(unittest.TestCase):
    def test_predictions_are_the_programs(self):
        model, data = adjoint.load_trained("gcn.h5"), adjoint.load_demo_dataset()
        predictions = model.predict(data)
        subprocess.run([BIN / "predict", ROOT / "data/demo.h5", "--checkpoint", "gcn.h5", "--out", "said.h5", "--quiet"], check=True)
        with h5py.File("said.h5") as file:
            self.assertTrue(np.array_equal(file["nodes/prediction"][:], predictions.prediction))
            self.assertTrue(np.array_equal(file["nodes/probability"][:], predictions.probability))
        arrays = adjoint.Dataset(data.edge_index, data.x)
        self.assertTrue(np.allclose(model.outputs(arrays), model.outputs(data), atol=1e-5))  # sparse there, dense here
        with self.assertRaisesRegex(adjoint.Error, "links|not of"):
            model.predict_links(data, np.array([[0], [1]]))
        model.save_onnx(Path("module.onnx"))
        subprocess.run([BIN / "export_onnx", "gcn.h5", "program.onnx", "--quiet"], check=True)
        self.assertEqual(Path("module.onnx").read_bytes(), Path("program.onnx").read_bytes())

    def test_links_and_attention(self):
        """Inner products of embeddings by NumPy; attention by what the program writes."""
        data = small()
        data.save("rings.h5")
        for program, checkpoint in (("train_link", "link.h5"), ("train_gat", "gat.h5")):
            subprocess.run([BIN / program, "rings.h5", "--epochs", "2", "--quiet", "--checkpoint", checkpoint, *(
                ("--val", "0.2", "--test", "0.2") if program == "train_link" else ())], check=True, stdout=subprocess.DEVNULL)
        model = adjoint.load_trained("link.h5")
        z = model.embeddings(data)
        self.assertEqual((z.shape, z.dtype), ((12, 64), np.float32))
        pairs = np.array([[0, 3, 7], [1, 9, 7]])
        products = (z[pairs[0]].astype(np.float64) * z[pairs[1]]).sum(1)
        self.assertTrue(np.allclose(model.score_links(z, pairs), products, rtol=1e-4, atol=1e-4))
        self.assertTrue(np.allclose(model.predict_links(data, pairs), 1 / (1 + np.exp(-products)), atol=1e-4))
        edges = {tuple(edge) for edge in np.transpose(data.edge_index).tolist()}
        free = {(a, b): float(z[a].astype(np.float64) @ z[b]) for a in range(12) for b in range(a + 1, 12) if (a, b) not in edges}
        src, dst, score = model.missing_links(data, 5)
        self.assertEqual(len({*zip(src.tolist(), dst.tolist())} & set(free)), 5)
        self.assertTrue(np.allclose(score, sorted(free.values(), reverse=True)[:5], rtol=1e-4, atol=1e-4))
        src, dst, _ = model.missing_links(data, 2, sources=[4, 0], embeddings=z)
        self.assertEqual(src.tolist(), [4, 4, 0, 0])
        with self.assertRaisesRegex(adjoint.Error, "embeddings"):
            model.missing_links(data, 2, embeddings=z[:3])
        graphs = adjoint.Dataset(data.edge_index, data.x, graph_offsets=np.array([0, 6, 6, 12]))  # no pair joins two of them
        src, dst, score = model.missing_links(graphs, 100)
        joined = {pair: value for pair, value in free.items() if pair[0] // 6 == pair[1] // 6}
        self.assertEqual({*zip(src.tolist(), dst.tolist())}, set(joined))
        self.assertTrue(np.allclose(score, sorted(joined.values(), reverse=True), rtol=1e-4, atol=1e-4))
        src, dst, _ = model.missing_links(graphs, 100, sources=[7])
        self.assertEqual(set(dst.tolist()), {a + b - 7 for a, b in joined if 7 in (a, b)})
        with self.assertRaisesRegex(adjoint.Error, "12"):
            model.score_links(z, np.array([[0], [12]]))
        gat = adjoint.load_trained("gat.h5")
        (src, dst), layers = gat.attention(data)
        subprocess.run([BIN / "predict", "rings.h5", "--checkpoint", "gat.h5", "--attention", "a.h5", "--quiet"], check=True)
        with h5py.File("a.h5") as file:
            self.assertTrue(np.array_equal(file["edges/src"][:], src) and np.array_equal(file["edges/dst"][:], dst))
            self.assertTrue(np.allclose(file["edges/layer_2"][:], layers[1], atol=1e-6))
        self.assertEqual(len(src), 36)
        with self.assertRaisesRegex(adjoint.Error, "no attention"):
            adjoint.load_trained("gcn.h5").attention(adjoint.load_demo_dataset())


class Threads(unittest.TestCase):
    def test_others_run_while_the_library_computes(self):
        """Four threads iterate and predict; each compares its results with those of a single thread."""
        model, data = adjoint.load_trained("gcn.h5"), adjoint.load_demo_dataset()
        loader = adjoint.NeighborLoader(data, data.train, [4, 4], 64, workers=1)
        alone, wrong = model.outputs(data), []

        def work(e):
            for k, batch in enumerate(loader.epoch(e)):
                if not np.array_equal(batch.x, loader.batch(e, k).x):
                    wrong.append((e, k))
            if not np.array_equal(model.outputs(data), alone):
                wrong.append(e)

        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            list(pool.map(work, range(4)))
        self.assertEqual(wrong, [])

    def test_the_lock_is_released(self):
        """The interpreter never switches threads here: another thread runs only if the library releases the lock."""
        model, data = adjoint.load_trained("gcn.h5"), adjoint.load_demo_dataset()
        loader = adjoint.NeighborLoader(data, data.train, [4, 4], 64)
        usual = sys.getswitchinterval()
        sys.setswitchinterval(1e6)
        try:
            for name, call in {"outputs": lambda: model.outputs(data), "batch": lambda: loader.batch(0, 0)}.items():
                go, ran = threading.Event(), []
                thread = threading.Thread(target=lambda: (go.wait(), ran.append(name)))
                thread.start()
                go.set()
                for _ in range(3000):
                    call()
                    if ran:
                        break
                found = list(ran)
                thread.join()
                self.assertEqual(found, [name])
        finally:
            sys.setswitchinterval(usual)


class Processes(unittest.TestCase):
    def test_daemon_threads_at_exit(self):
        """The interpreter ends while such a thread is within the module, or waits for the lock to return."""
        setup = """data = adjoint.load_demo_dataset()
model = adjoint.load_trained("gcn.h5")
x = np.ones((data.num_nodes, 4), np.float32)
def loader(workers):
    for batch in adjoint.NeighborLoader(data, data.train, [10, 10], 16, workers=workers):
        batch.x
def forever(call):
    def loop():
        while True:
            call()
    for _ in range(3):
        threading.Thread(target=loop, daemon=True).start()
"""
        for call in ("loader(0)", "loader(2)", "model.predict(data)", "data.partition(8)", "adjoint.Dataset(data.edge_index, x)"):
            for delay in (0, 0.05, 0.3):
                with self.subTest(call, delay=delay):
                    run(f"{setup}\nforever(lambda: {call})\ntime.sleep({delay})")

    def test_an_epoch_at_exit(self):
        run("""loader = adjoint.NeighborLoader(data := adjoint.load_demo_dataset(), data.train, [10, 10], 16, workers=2)
epoch = iter(loader)
next(epoch)
sys.keep = epoch""")

    def test_a_fork_in_an_epoch(self):
        """The child refuses the parent's epoch, has epochs of its own, and ends; the parent goes on."""
        self.assertEqual(run("""data = adjoint.load_demo_dataset()
loader = adjoint.NeighborLoader(data, data.train, [10, 10], 4, workers=3)
seeds = [batch.seeds.tolist() for batch in loader.epoch(0)]
for attempt in range(20):
    epoch = loader.epoch(0)
    first = next(epoch).seeds.tolist()
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        try:
            next(epoch)
        except adjoint.Error as error:
            assert "forked" in str(error), error
        else:
            raise AssertionError("an epoch of the parent")
        assert [batch.seeds.tolist() for batch in loader.epoch(0)] == seeds
        del epoch
        sys.exit(3)
    assert [first] + [batch.seeds.tolist() for batch in epoch] == seeds
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 3
print("done")"""), "done\n")

    def test_a_partition_can_be_interrupted(self):
        """By Ctrl-C: the dataset stays without a part, which it would have if METIS had come to its end."""
        self.assertEqual(run("""n = 300000
data = adjoint.Dataset(np.random.default_rng(1).integers(0, n, (2, 10 * n)), num_nodes=n)
threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
try:
    data.partition(20000)
except KeyboardInterrupt:
    print(data.part)"""), "None\n")

    def test_importing_again(self):
        run("""first = adjoint
del sys.modules["adjoint"]
import adjoint
data = adjoint.load_demo_dataset()
assert adjoint.Dataset is first.Dataset and isinstance(data, first.Dataset)
for module in (first, adjoint):
    try:
        module.load_dataset("missing.h5")
    except first.DataError as error:
        assert isinstance(error, adjoint.Error)""")


class Page(unittest.TestCase):
    def test_code_of_the_page_runs(self):
        code = re.findall(r"^```python( \w+)?\n(.*?)^```", (ROOT / "docs/python.md").read_text(), re.S | re.M)
        self.assertGreater(len(code), 3)
        names = {}
        for number, (package, block) in enumerate(code):
            if package and importlib.util.find_spec(package.strip()) is None:
                print(f"MESSAGE: skipped: no{package} for a block of docs/python.md")
                continue
            with self.subTest(number):
                exec(compile(block, f"docs/python.md, block {number}", "exec"), names)


if __name__ == "__main__":
    unittest.main()
