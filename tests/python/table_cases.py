"""Tests of datasets from lists and tables, and of the stubs. Run by wheel.py; the packages that are missing are named."""
import ast
import importlib
import importlib.util
import unittest
import warnings
from pathlib import Path

import numpy as np

import adjoint


def package(name):
    """The package, or None with a message."""
    try:
        return importlib.import_module(name)
    except ImportError:
        print(f"MESSAGE: skipped: no {name} for tests of tables")
        return None


pandas, pyarrow, polars = (package(name) for name in ("pandas", "pyarrow", "polars"))
IDS = ["ada", "bob", "cyd", "dan"]
X = np.array([[1, 5], [2, 6], [3, 7], [4, 8]], np.float32)
NAMED = {("ada", "bob"), ("cyd", "ada"), ("dan", "cyd")}


def pairs(data):
    src, dst = data.edge_index
    return set(zip(src.tolist(), dst.tolist()))


def named_pairs(data):
    return {(data.node_names[a], data.node_names[b]) for a, b in pairs(data)}


class Silent(unittest.TestCase):
    def setUp(self):
        """Warnings are errors unless a test expects them."""
        context = warnings.catch_warnings()
        context.__enter__()
        self.addCleanup(context.__exit__, None, None, None)
        warnings.simplefilter("error", UserWarning)

    def refused(self, message, *args, kind=adjoint.Error, **options):
        with self.assertRaisesRegex(kind, message):
            adjoint.Dataset(*args, **options)


class Lists(Silent):
    def test_edges(self):
        expected = {(0, 1), (1, 2), (2, 0)}
        for edges in ([(0, 1), (1, 2), (2, 0)], [[0, 1, 2], [1, 2, 0]], ((0, 1, 2), (1, 2, 0)),
                      [np.array([0, 1, 2]), [1, 2, 0]]):
            self.assertEqual(pairs(adjoint.Dataset(edges, num_nodes=3)), expected)
        self.assertEqual(pairs(adjoint.Dataset([(0, 1)], num_nodes=2)), {(0, 1)})
        self.assertEqual(pairs(adjoint.Dataset([(0, 1), (1, 0)], num_nodes=2)), {(0, 1), (1, 0)})
        self.assertEqual(adjoint.Dataset([], num_nodes=2).num_edges, 0)
        self.refused("may be two edges or a row", [(0, 1), (2, 3)], num_nodes=4)
        self.refused(r"a list of shape \(3, 3\), expected pairs", [(0, 1, 2)] * 3, num_nodes=4)
        self.refused(r"expected \[2, M\], sources and targets \(.T of these pairs\)", np.zeros((3, 2), int), num_nodes=4)
        self.refused("edge_index: list: .*inhomogeneous", [(0, 1), (2,), (1, 2)], num_nodes=4, kind=TypeError)

    def test_features_and_labels(self):
        data = adjoint.Dataset([(0, 1), (1, 2), (2, 0)], [[1, 2], [3, 4], [5, 6.5]], [0, 1, -1])
        self.assertEqual((data.x.tolist(), data.y.tolist()), ([[1, 2], [3, 4], [5, 6.5]], [0, 1, -1]))

    def test_names(self):
        data = adjoint.Dataset([("cyd", "ada"), ("ada", "bob"), ("dan", "cyd")], X, node_names=IDS)
        self.assertEqual((named_pairs(data), data.node_names, data.node_ids), (NAMED, IDS, None))
        alone = adjoint.Dataset([("cyd", "ada"), ("ada", "bob"), ("dan", "cyd")])
        self.assertEqual((named_pairs(alone), alone.node_names), (NAMED, ["cyd", "ada", "bob", "dan"]))
        self.refused("names such as 'a', but nodes have numbers only", [["a"], ["b"]], X)
        self.refused("'eve' missing in node_names", [["ada"], ["eve"]], X, node_names=IDS)
        self.refused("'ada' of node 0 again at node 3", [["ada"], ["bob"]], X, node_names=["ada", "b", "c", "ada"])
        self.refused("node_names: 3 names, expected 4", [["ada"], ["bob"]], X, node_names=IDS[:3])
        self.refused("integers such as 0, but node_names holds names such as ada", [[0], [1]], X, node_names=IDS)
        self.assertEqual(adjoint.Dataset([["ada"], ["bob"]], X, node_names=IDS, y=[0, 0, 1, 1], train=["dan"], val=["ada"],
                                         test=["bob"]).train.tolist(), [3])

    def test_text_labels(self):
        data = adjoint.Dataset([(0, 1)], y=["pear", "apple", None, "pear"])
        self.assertEqual((data.class_names, data.y.tolist()), (["apple", "pear"], [1, 0, -1, 1]))
        self.assertEqual(adjoint.Dataset([(0, 1)], y=["10", "9", "10"]).class_names, ["9", "10"])
        data = adjoint.Dataset([(0, 1)], y=["b", "a"], class_names=["b", "a", "c"])
        self.assertEqual((data.y.tolist(), data.num_classes), ([0, 1], 3))
        self.refused("y: 'a', expected one of class_names", [(0, 1)], y=["b", "a"], class_names=["b"])
        with self.assertWarnsRegex(UserWarning, "y: '\\?' is taken for no label, 2 times"):
            self.assertEqual(adjoint.Dataset([(0, 1)], y=["?", "a", "?"]).y.tolist(), [-1, 0, -1])

    def test_what_is_no_array(self):
        for x, message in {"features": "x: str, expected numbers", (None,): "x: tuple: elements of numpy.ndarray of object \\[1\\]"
                           }.items():
            self.refused(message, [(0, 1)], x, kind=TypeError)
        self.refused(r"x: numpy.ndarray of <U1 \[2, 1\], expected numbers", [(0, 1)], np.array([["a"]] * 2), kind=TypeError)
        self.refused("x: complex64, expected bool", [(0, 1)], np.ones((2, 2), np.complex64))


@unittest.skipIf(pandas is None, "no pandas")
class Frames(Silent):
    def frame(self, **more):
        return pandas.DataFrame({"age": X[:, 0], "size": X[:, 1].astype(int)} | more, index=IDS)

    def edges(self, **names):
        return pandas.DataFrame({"Target": ["bob", "ada", "cyd"], "Source": ["ada", "cyd", "dan"]} | names)

    def test_by_names(self):
        edges = self.edges(Weight=[1.0, 2.0, 3.0])
        y = pandas.Series([1, 0, 1, 0], index=["dan", "cyd", "bob", "ada"])
        data = adjoint.Dataset(edges, self.frame(), y)
        self.assertEqual((named_pairs(data), data.feature_names, data.node_names), (NAMED, ["age", "size"], IDS))
        self.assertEqual((data.x.tolist(), data.y.tolist()), (X.tolist(), [0, 1, 0, 1]))
        weights = {(data.node_names[a], data.node_names[b]): w for (a, b), w in zip(zip(*map(np.ndarray.tolist, data.edge_index)),
                                                                                    data.edge_weight.tolist())}
        self.assertEqual(weights, {("ada", "bob"): 1, ("cyd", "ada"): 2, ("dan", "cyd"): 3})
        data.save("tables.h5")
        self.assertEqual(adjoint.load_dataset("tables.h5").node_names, IDS)

    def test_columns_of_edges(self):
        frame = self.edges(since=[1, 2, 3])
        with self.assertWarnsRegex(UserWarning, "edges from Source to Target; passed over: since"):
            self.assertEqual(named_pairs(adjoint.Dataset(frame, self.frame())), NAMED)
        with self.assertWarnsRegex(UserWarning, "edges from giver to getter; no names as source and target"):
            odd = pandas.DataFrame({"giver": ["ada", "cyd", "dan"], "getter": ["bob", "ada", "cyd"]})
            self.assertEqual(named_pairs(adjoint.Dataset(odd, self.frame())), NAMED)
        self.refused("ids of two kinds", pandas.DataFrame({"userId": [0], "movieId": [1]}), num_nodes=2)
        self.refused("a table of 1 column", pandas.DataFrame({"source": [0]}), num_nodes=2)
        shuffled = self.edges()[["Source", "Target"]]
        weight = pandas.Series([3.0, 1.0, 2.0], index=[2, 0, 1])
        self.assertEqual(adjoint.Dataset(shuffled, self.frame(), edge_weight=weight).edge_weight.tolist(),
                         [2, 1, 3])  # by target: cyd to ada, ada to bob, dan to cyd
        self.refused("edge_weight: its index lacks 2, of the index of edge_index", shuffled, self.frame(), edge_weight=weight[1:])

    def test_numbers_for_names(self):
        x = self.frame().set_axis([30, 10, 20, 40])
        frame = pandas.DataFrame({"src": [30, 20], "dst": [10, 40]})
        data = adjoint.Dataset(frame, x)
        self.assertEqual((pairs(data), data.node_ids.tolist()), ({(0, 1), (2, 3)}, [30, 10, 20, 40]))
        with self.assertWarnsRegex(UserWarning, "its integers are looked up in the index of x"):
            self.assertEqual(pairs(adjoint.Dataset(frame.to_numpy().T, x)), {(0, 1), (2, 3)})
        self.refused("edge_index: 0 missing in the index of x", pandas.DataFrame({"src": [0], "dst": [1]}), x)
        plain = adjoint.Dataset(np.array([[0], [3]]), self.frame().reset_index(drop=True))
        self.assertEqual((pairs(plain), plain.node_ids, plain.node_names), ({(0, 3)}, None, None))

    def test_nothing(self):
        self.assertEqual(adjoint.Dataset(self.edges()[:0], self.frame()).num_edges, 0)
        self.refused("x: a table without columns", self.edges(), self.frame()[[]])
        self.refused("nodes", self.edges()[:0], self.frame()[:0])
        self.refused("edge_index: nan at position 0, expected a name", self.edges().replace("ada", None), self.frame())

    def test_rows_that_do_not_match(self):
        edges, x = self.edges(), self.frame()
        self.refused("edge_index: 'eve' missing in the index of x", edges.replace("dan", "eve"), x)
        self.refused("y: its index lacks 'dan', of the index of x", edges, x, pandas.Series([0, 1, 0], index=IDS[:3]))
        self.refused("y: its index has 'eve', which the index of x lacks", edges, x, pandas.Series(range(5), index=[*IDS, "eve"]))
        self.refused("y: its index lacks 'ada', 'bob'", edges, x, pandas.Series([0, 1, 0, 1]))
        self.refused("y: its index has 'ada' more than once", edges, x, pandas.Series([0] * 4, index=["ada"] * 4))
        self.refused("'ada' of node 0 again at node 1", edges, x.set_axis(["ada", "ada", "c", "d"]))
        self.refused("several levels", edges, x.set_index("age", append=True))
        self.refused("index of x: of float64, expected names", edges, x.set_axis([0.5, 1, 2, 3]))
        y = pandas.Series([0, 1, 1, 0], index=IDS)
        with self.assertWarnsRegex(UserWarning, "y has an index and x none"):
            self.assertEqual(named_pairs(adjoint.Dataset(edges, X, y)), NAMED)

    def test_columns_of_features(self):
        edges = self.edges()
        flags = self.frame(flag=[True, False, True, False], gap=pandas.array([1, 2, 3, 4], dtype="Int64"))
        self.assertEqual(adjoint.Dataset(edges, flags).x[:, 2:].tolist(), [[1, 1], [0, 2], [1, 3], [0, 4]])
        self.refused("x: column 'city' of (str|object), expected numbers", edges, self.frame(city=list("abcd")))
        self.refused("x: column 'kind' of categories .category., .*get_dummies", edges,
                     self.frame(kind=pandas.Categorical([1, 2, 1, 2])))
        self.refused("x: column 'gap' has no number in 1 of 4 rows, first row 1", edges,
                     self.frame(gap=pandas.array([1, None, 3, 4], dtype="Int64")))
        self.refused("x: two columns 'age'", edges, self.frame()[["age", "age"]])
        self.refused("x: column 'day' of datetime64", edges, self.frame(day=pandas.to_datetime(["2020-01-01"] * 4)))
        with self.assertWarnsRegex(UserWarning, "x: column 'node_id' is taken as a feature"):
            adjoint.Dataset(edges, self.frame(node_id=[1, 2, 3, 4]))
        self.assertEqual(adjoint.Dataset(np.array([[0], [1]]), pandas.DataFrame(X)).feature_names, [])

    def test_labels(self):
        def labelled(values, **more):
            return adjoint.Dataset(self.edges(), self.frame(), pandas.Series(values, index=IDS), **more)
        for values in (["b", None, "a", "b"], pandas.Categorical(["b", None, "a", "b"], categories=["b", "a"])):
            data = labelled(values)
            self.assertEqual((data.class_names, data.y.tolist(), data.task), (["a", "b"], [1, -1, 0, 1], "node_class"))
        data = labelled(pandas.Categorical([10, None, 9, 10]))
        self.assertEqual((data.class_names, data.y.tolist()), (["9", "10"], [1, -1, 0, 1]))
        self.assertEqual(labelled(pandas.array([1, None, 0, 1], dtype="Int64")).y.tolist(), [1, -1, 0, 1])
        self.assertEqual(labelled([1, np.nan, 0, 1], task="node_class").y.tolist(), [1, -1, 0, 1])
        with self.assertWarnsRegex(UserWarning, "whole numbers with gaps are taken as targets"):
            self.assertEqual(labelled([1, np.nan, 0, 1]).task, "node_regression")
        self.assertEqual(labelled([1.5, 2, 3, 4]).task, "node_regression")
        self.refused("y: .*expected numbers for task node_regression", self.edges(), self.frame(),
                     pandas.Series(list("abab"), index=IDS), task="node_regression")
        several = pandas.DataFrame({"p": [True, False] * 2, "q": [True] * 4}, index=IDS[::-1])
        data = adjoint.Dataset(self.edges(), self.frame(), several)
        self.assertEqual((data.class_names, data.y.tolist(), data.task),
                         (["p", "q"], [[0, 1], [1, 1], [0, 1], [1, 1]], "node_multilabel"))

    def test_splits(self):
        mask = pandas.Series([True, False, False, False], index=IDS[::-1])
        data = adjoint.Dataset(self.edges(), self.frame(), pandas.Series([0, 1, 0, 1], index=IDS), train=mask,
                               val=pandas.Index(["cyd"]), test=np.array([True, False, False, False]))
        self.assertEqual((data.train.tolist(), data.val.tolist(), data.test.tolist()), ([3], [2], [0]))


class Columns(Silent):
    def check(self, table, array):
        edges = table({"dst": ["bob", "ada", "cyd"], "src": ["ada", "cyd", "dan"]})
        x = table({"age": X[:, 0].tolist(), "flag": [True, False, True, False]})
        data = adjoint.Dataset(edges, x, array(["b", None, "a", "b"]), node_names=array(IDS))
        self.assertEqual((named_pairs(data), data.feature_names), (NAMED, ["age", "flag"]))
        self.assertEqual((data.x.tolist(), data.y.tolist()), ([[1, 1], [2, 0], [3, 1], [4, 0]], [1, -1, 0, 1]))
        self.assertEqual(adjoint.Dataset(edges, x, array([1, None, 0, 1]), node_names=IDS).y.tolist(), [1, -1, 0, 1])
        self.refused("x: column 'city' of (String|string), expected", edges, table({"city": IDS}), node_names=IDS)

    @unittest.skipIf(pyarrow is None, "no pyarrow")
    def test_arrow(self):
        self.check(pyarrow.table, pyarrow.array)
        self.check(pyarrow.table, lambda values: pyarrow.chunked_array([values]))
        self.check(pyarrow.record_batch, pyarrow.array)

    @unittest.skipIf(polars is None, "no polars")
    def test_polars(self):
        self.check(polars.DataFrame, polars.Series)


class Stubs(unittest.TestCase):
    def test_public_names(self):
        """Of the module and its classes, with every argument of a dataset."""
        folder = Path(importlib.util.find_spec("adjoint").origin).parent / "adjoint-stubs"
        self.assertTrue((folder / "py.typed").exists())
        tree = ast.parse((folder / "__init__.pyi").read_text())

        def names_in(body):
            found = {node.name: node for node in body if isinstance(node, (ast.ClassDef, ast.FunctionDef))}
            for node in body:
                for target in ([node.target] if isinstance(node, ast.AnnAssign) else getattr(node, "targets", [])):
                    found[target.id] = node
            return found

        stubs = names_in(tree.body)
        public = lambda thing: {name for name in vars(thing) if not name.startswith("_")}
        self.assertEqual(public(adjoint) - set(stubs), set())
        for name in public(adjoint):
            if isinstance(getattr(adjoint, name), type):
                with self.subTest(name):
                    self.assertEqual(public(getattr(adjoint, name)) - set(names_in(stubs[name].body)), set())
        arguments = names_in(stubs["Dataset"].body)["__init__"].args
        self.assertLessEqual({"edge_index", "x", "y", "node_names"}, {a.arg for a in arguments.args + arguments.kwonlyargs})


if __name__ == "__main__":
    unittest.main()
