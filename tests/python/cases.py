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

import adjoint

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(os.environ["ADJOINT_BIN_DIR"])


def small(**more):
    """Twelve nodes in two rings of six, three features, two classes."""
    src = np.array([(i + 1) % 6 + 6 * ring for ring in range(2) for i in range(6)])
    dst = np.array([i + 6 * ring for ring in range(2) for i in range(6)])
    edges = np.stack([np.concatenate([src, dst]), np.concatenate([dst, src])])
    given = {"x": np.arange(36, dtype=np.float32).reshape(12, 3), "y": np.arange(12) // 6, "undirected": True,
             "train": np.arange(12) % 3 == 0, "val": np.array([1, 4]), "test": np.array([2, 5, 8], dtype=np.int32)}
    return adjoint.Dataset(edges, **(given | more))


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
        self.assertTrue(np.shares_memory(np.from_dlpack(data.x), x))
        self.assertEqual(data.num_classes, 3)

    def test_what_must_be_converted(self):
        x = np.asfortranarray(np.random.default_rng(3).random((12, 4)))  # float64, column-major
        self.assertTrue(np.array_equal(small(x=x).x, x.astype(np.float32)))
        odd = np.frombuffer(b"\0" + np.ones(36, np.float32).tobytes(), np.uint8)[1:].view(np.float32).reshape(12, 3)
        self.assertTrue(np.array_equal(small(x=odd).x, np.ones((12, 3))))
        with self.assertRaisesRegex(adjoint.Error, "x: elements of 16 bits"):
            small(x=np.ones((12, 2), np.float16))
        with self.assertRaisesRegex(TypeError, "x: expected an array"):
            small(x="features")

    def test_structure_is_read_only(self):
        data = small()
        for array in (*data.edge_index, data.train):
            self.assertFalse(array.flags.writeable)


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
        data = small(name="rings", class_names=["left", "right"])
        data.save("rings.h5", gzip=1)
        with h5py.File("rings.h5") as file:
            self.assertEqual(file.attrs["num_nodes"], 12)
            self.assertTrue(np.array_equal(file["nodes/x"][:], data.x))
            self.assertTrue(np.array_equal(file["edges/src"][:], data.edge_index[0]))
            self.assertTrue(np.array_equal(file["nodes/y"][:], data.y))
            self.assertTrue(np.array_equal(file["splits/test"][:], data.test))
        again = adjoint.load_dataset("rings.h5")
        self.assertEqual((again.name, again.class_names, again.undirected), ("rings", ["left", "right"], True))
        self.assertEqual(edges_of(again), edges_of(data))

    def test_sparse_features(self):
        class Csr:  # as scipy.sparse.csr_matrix
            indptr, indices = np.array([0, 2, 2, 3], np.int32), np.array([0, 3, 1], np.int32)
            data, shape = np.array([1, 2, 3], np.float64), (3, 4)
        data = adjoint.Dataset(np.array([[0, 1], [1, 2]]), Csr)
        self.assertEqual(data.x.tolist(), [[1, 0, 0, 2], [0, 0, 0, 0], [0, 3, 0, 0]])
        values, indices, indptr = data.x_csr
        self.assertEqual((values.tolist(), indices.tolist(), indptr.tolist()), ([1, 2, 3], [0, 3, 1], [0, 2, 2, 3]))

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
        for message, given in {"index 1 again": {"val": np.array([1, 2]), "test": np.array([1])},
                               "index 12, expected 0 to 11": {"val": np.array([12])},
                               "nan at \\[0, 1\\], expected finite": {"x": np.array([[1, np.nan]] * 12, np.float32)},
                               "y: \\[3\\] int64 on cpu, expected \\[12\\]": {"y": np.zeros(3, int)}}.items():
            with self.subTest(message), self.assertRaisesRegex(adjoint.Error, message):
                small(**given)
        with self.assertRaisesRegex(ValueError, "expected 0 to 1|out of range|\\[0, 2\\)"):
            adjoint.Dataset(np.array([[0], [2]]), num_nodes=2)
        with self.assertRaisesRegex(adjoint.DataError, "missing.h5"):
            adjoint.load_dataset("missing.h5")


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
                here, there = block.edge_index
                self.assertTrue(np.array_equal(block.src_nodes[here], src[block.edge_ids]))
                self.assertTrue(np.array_equal(block.src_nodes[there], dst[block.edge_ids]))
                self.assertLessEqual(np.bincount(there).max(initial=0), fanout)
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
        said = model.predict(data)
        subprocess.run([BIN / "predict", ROOT / "data/demo.h5", "--checkpoint", "gcn.h5", "--out", "said.h5", "--quiet"], check=True)
        with h5py.File("said.h5") as file:
            self.assertTrue(np.array_equal(file["nodes/prediction"][:], said.prediction))
            self.assertTrue(np.array_equal(file["nodes/probability"][:], said.probability))
        arrays = adjoint.Dataset(data.edge_index, data.x)
        self.assertTrue(np.allclose(model.outputs(arrays), model.outputs(data), atol=1e-5))  # sparse there, dense here
        with self.assertRaisesRegex(adjoint.Error, "links|not of"):
            model.predict_links(data, np.array([[0], [1]]))


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


class Page(unittest.TestCase):
    def test_code_of_the_page_runs(self):
        code = re.findall(r"^```python( torch)?\n(.*?)^```", (ROOT / "docs/python.md").read_text(), re.S | re.M)
        self.assertGreater(len(code), 3)
        names = {}
        for number, (torch, block) in enumerate(code):
            if torch and importlib.util.find_spec("torch") is None:
                print("MESSAGE: skipped: no PyTorch for a block of docs/python.md")
                continue
            with self.subTest(number):
                exec(compile(block, f"docs/python.md, block {number}", "exec"), names)


if __name__ == "__main__":
    unittest.main()
