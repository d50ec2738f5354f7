#!/usr/bin/env python3
"""Compares data/from_adjoint.py with to_adjoint.py, with what the programs write, and with PyG, DGL and NetworkX if they are
installed."""
import csv
import json
import unittest

from peers import PARTS, ROOT, Case, contents, dense, h5py, have_data, library, np, same

import from_adjoint as script
from from_adjoint import DataError, pyg_state, read_dataset, read_predictions, to_dgl, to_networkx, to_pyg
from to_adjoint import to_adjoint

DEMO = ROOT / "data/demo.h5"
torch, pyg, dgl, networkx, safetensors = map(library, ("torch", "torch_geometric", "dgl", "networkx", "safetensors.numpy"))


def datasets():
    """(name, what to_adjoint takes), one of each kind; no parallel edges with the same numbers."""
    draw = np.random.default_rng(7)
    base = {"edge_index": np.array([[1, 2, 0, 3, 3, 5], [0, 1, 2, 0, 0, 5]]), "num_nodes": 6, "name": "kinds"}
    x, part = draw.random((6, 3)).astype(np.float32), draw.permutation(6) % 3
    split = {name: part == k for k, name in enumerate(PARTS)}
    several = [{name: np.roll(mask, s) for name, mask in split.items()} for s in range(3)]
    many = base | {"graph_offsets": [0, 4, 4, 6], "x": x}
    thirds = {"train": [2], "val": [0], "test": [1]}
    yield "classes", base | {"x": x, "y": draw.integers(0, 3, 6), "splits": split}
    yield "splits", base | {"x": x, "y": draw.integers(0, 3, 6), "splits": several}
    yield "several labels", base | {"x": x, "y": draw.integers(0, 2, (6, 4)), "splits": split}
    yield "targets", base | {"x": x, "y": draw.random((6, 2)), "edge_weight": draw.random(6), "edge_attr": draw.random((6, 2))}
    yield "unlabelled", base | {"x": x, "y": np.array([0, -1, 1, 2, -1, 0])}
    yield "named columns", base | {"x": x, "feature_names": [f"c{k}" for k in range(x.shape[1])]}
    yield "named attributes", base | {"x": x, "edge_attr": draw.random((6, 2)), "attr_names": ["length", "größe"]}
    yield "named classes", base | {"x": x, "y": draw.integers(0, 3, 6), "num_classes": 3, "class_names": ["a", "Zoë", "c, d"]}
    yield "named graphs", many | {"graph_y": [0, 2, 1], "graph_names": ["salt", "ice", "sand"]}
    yield "named classes of graphs", many | {"graph_y": [0, 2, 1], "class_names": ["a", "", "c"]}
    yield "structure", dict(base)
    yield "undirected", base | {"edge_index": [[0, 1, 1, 2, 4, 1, 0], [1, 0, 2, 1, 4, 0, 1]], "node_ids": [9, 8, 7, -6, 5, 2**40]}
    yield "graphs", many | {"graph_y": [0, 2, 1], "splits": thirds}
    yield "targets of graphs", many | {"graph_y": draw.random((3, 2)), "edge_weight": draw.random(6)}
    yield "labelled nodes of graphs", many | {"y": draw.integers(0, 3, 6), "splits": split}
    yield "sparse", base | {"x_indptr": [0, 1, 1, 3, 3, 3, 4], "x_indices": [4, 0, 2, 1], "x_data": [1.0, 2.0, 3.0, 4.0], "x_cols": 5}


def many_graphs():
    """Twelve paths and cycles of three classes."""
    draw, sizes = np.random.default_rng(3), [3 + k % 4 for k in range(12)]
    offsets = np.cumsum([0] + sizes)
    ends = [(offsets[g] + i, offsets[g] + (i + 1) % n) for g, n in enumerate(sizes) for i in range(n - g % 2)]
    parts = {"train": list(range(8)), "val": [8, 9], "test": [10, 11]}
    return {"edge_index": np.array(ends).T, "num_nodes": int(offsets[-1]), "x": draw.random((offsets[-1], 4)).astype(np.float32),
            "graph_offsets": offsets, "graph_y": [g % 3 for g in range(12)], "splits": parts, "name": "rings"}


class Datasets(Case):
    def round_trip(self, back, but=(), only=None):
        """Every kind through `back` (of a path, to what to_adjoint takes) and again to a file: as it was."""
        for name, given in datasets():
            if only is not None and name not in only:
                continue
            with self.subTest(name):
                to_adjoint(given, self.out)
                before = contents(self.out)
                again = self.folder / "again.h5"
                more = {key: before[f"@{key}"] for key in ("name", "task", "num_classes", "undirected")}
                to_adjoint(back(self.out), again, **more)
                after = contents(again)
                features = ()
                if "nodes/x" in after and "nodes/x_indptr" in before:  # features became dense
                    np.testing.assert_array_equal(after["nodes/x"], dense(before))
                    features = ("nodes/x", "nodes/x_indptr", "nodes/x_indices", "nodes/x_data", "@x_cols")
                same(self, after, before, (*features, *but))

    def test_arrays(self):
        self.round_trip(read_dataset)

    @unittest.skipUnless(torch and pyg, "torch_geometric")
    def test_pyg(self):
        self.round_trip(to_pyg)
        self.round_trip(lambda path: to_pyg(path, sparse=True), only=("sparse", "classes"))
        to_adjoint(dict(datasets())["classes"], self.out)
        data, arrays = to_pyg(self.out), read_dataset(self.out)
        self.assertTrue(data.validate())
        self.assertEqual((data.num_nodes, data.num_edges, str(data.y.dtype), str(data.edge_index.dtype)), (6, 6, "torch.int64", "torch.int64"))
        np.testing.assert_array_equal(data.train_mask.nonzero()[:, 0], arrays["splits"][0]["train"])
        to_adjoint(dict(datasets())["graphs"], self.out)
        graphs = to_pyg(self.out)
        self.assertEqual([(g.num_nodes, g.num_edges, int(g.y), bool(g.val_mask)) for g in graphs],
                         [(4, 5, 0, True), (0, 0, 2, False), (2, 1, 1, False)])
        with self.assertRaisesRegex(ValueError, "many graphs have dense features"):
            to_adjoint(dict(datasets())["sparse"] | {"graph_offsets": [0, 4, 6]}, self.out)
            to_pyg(self.out, sparse=True)

    @unittest.skipUnless(torch and dgl, "dgl")
    def test_dgl(self):
        self.round_trip(to_dgl, only=("classes", "splits", "several labels", "targets", "unlabelled", "structure", "undirected", "sparse",
                                      "targets of graphs", "labelled nodes of graphs"))
        self.round_trip(to_dgl, but=("splits/train", "splits/val", "splits/test"), only=("graphs",))
        to_adjoint(dict(datasets())["graphs"], self.out)
        graphs, labels = to_dgl(self.out)
        self.assertEqual(([g.num_nodes() for g in graphs], {key: value.tolist() for key, value in labels.items()}),
                         ([4, 0, 2], {"label": [0, 2, 1], "train": [2], "val": [0], "test": [1]}))

    @unittest.skipUnless(networkx, "networkx")
    def test_networkx(self):
        self.round_trip(to_networkx, only=[name for name, _ in datasets() if name != "graphs"])
        self.round_trip(to_networkx, but=("splits/train", "splits/val", "splits/test"), only=("graphs",))
        to_adjoint(dict(datasets())["undirected"], self.out)
        graph = to_networkx(self.out)
        self.assertIs(type(graph), networkx.MultiGraph)
        self.assertEqual(sorted(map(sorted, graph.edges())), [[5, 5], [7, 8], [8, 9], [8, 9]])
        to_adjoint(networkx.karate_club_graph(), self.out, label="club")
        graph = to_networkx(self.out)
        self.assertEqual((type(graph), graph.number_of_edges(), graph.nodes[33]["y"]), (networkx.Graph, 78, 1))
        self.assertEqual({frozenset(e[:2]): e[2] for e in graph.edges(data="weight")},
                         {frozenset(e[:2]): e[2] for e in networkx.karate_club_graph().edges(data="weight")})
        to_adjoint(networkx.DiGraph([("a", "Zoë"), ("Zoë", "b")]), self.out)
        self.assertEqual(list(to_networkx(self.out).edges()), [("a", "Zoë"), ("Zoë", "b")])

    def test_what_adjoint_wrote(self):
        for path in [DEMO] + (have_data("tolokers.h5", "proteins.h5") or []):
            result = self.run_program("copy_file", "dataset", path, self.out)
            self.assertEqual(result.returncode, 0, result)
            to_adjoint(read_dataset(self.out), self.folder / "again.h5")
            same(self, contents(self.folder / "again.h5"), contents(self.out))

    def test_a_file_that_is_none_is_one_line(self):
        (self.folder / "text").write_text("hello\n" * 300)
        to_adjoint(dict(datasets())["classes"], self.out)
        bad = self.folder / "bad.h5"
        whole = self.out.read_bytes()

        def put(path, value):
            def change(f):
                del f[path]
                f[path] = value
            return change

        for path, change, message in ((self.folder / "none.h5", None, "No such file"), (self.folder / "text", None, "not an HDF5 file"),
                                      (self.folder, None, "directory"),
                                      (bad, lambda f: f.attrs.__setitem__("format", "other"), "attribute format: 'other'"),
                                      (bad, lambda f: f.attrs.__setitem__("version", 2), "version 2, expected 'adjoint.graph', version 1"),
                                      (bad, lambda f: f.attrs.__delitem__("task"), "attribute task: missing"),
                                      (bad, lambda f: f.__delitem__("edges/dst"), "edges/dst: missing"),
                                      (bad, put("edges/dst", [0, 1, 2, 0, 0, 6]), "edges: 0 to 6, expected 0 to 5"),
                                      (bad, put("nodes/y", [0, 1]), "y: 2 rows, expected 6"),
                                      (bad, put("splits/train", [9]), "splits: train: 9 to 9, expected 0 to 5"),
                                      (bad, put("splits/train", [True]), "splits/train: 1 bools, expected 6")):
            with self.subTest(message):
                if change is not None:
                    bad.write_bytes(whole)
                    with h5py.File(bad, "r+") as file:
                        change(file)
                self.one_line(self.main_of(script, "dataset", path, self.folder / "x.npz"), message, str(path))
                self.assertFalse((self.folder / "x.npz").exists())

    def test_the_command_line(self):
        to_adjoint(dict(datasets())["splits"], self.out)
        npz = self.folder / "x.npz"
        self.assertEqual(self.main_of(script, "dataset", self.out, npz).returncode, 0)
        with np.load(npz) as arrays, h5py.File(self.out) as file:
            np.testing.assert_array_equal(arrays["edge_index"][0], file["edges/src"])
            np.testing.assert_array_equal(arrays["split1_val"], file["splits/1/val"])
            self.assertEqual(str(arrays["task"]), "node_class")
        if networkx:
            self.assertEqual(self.main_of(script, "dataset", self.out, self.folder / "x.json").returncode, 0)
            linked = json.loads((self.folder / "x.json").read_text())
            self.assertEqual((len(linked["nodes"]), len(linked["edges"]), linked["directed"]), (6, 6, True))
        if torch and pyg:
            self.assertEqual(self.main_of(script, "dataset", self.out, self.folder / "x.pt").returncode, 0)
            self.ok(self.main_of(__import__("to_adjoint"), "pyg", self.folder / "x.pt", self.folder / "y.h5", "--trust", "--name", "kinds"))
            same(self, contents(self.folder / "y.h5"), contents(self.out))
        result = self.main_of(script, "dataset", self.out, self.folder / "x.csv")
        self.assertEqual((result.returncode, result.stderr),
                         (1, f"{self.folder / 'x.csv'}: expected a name that ends in .npz, .pt, .dgl or .json\n"))
        missing = self.folder / "none" / "x.npz"
        self.one_line(self.script("from_adjoint.py", "dataset", self.out, missing), f"No such file or directory: '{missing}'")
        npz = self.folder / "x.npz"
        self.replaces_like_the_library(npz, lambda: self.main_of(script, "dataset", self.out, npz))
        self.assertEqual(self.main_of(script, "state", self.out, "x.pt", "--map", "conv1").returncode, 2)
        self.assertEqual([path.name for path in self.folder.iterdir() if path.name.startswith(".")], [])


# Program, its options, those that shape the model for `predict --model`, and the model's name there.
PROGRAMS = (
    ("train_gcn", "gcn", ("--hidden", "5", "--layers", "3", "--norm", "batch")),
    ("train_gcn", "gcn", ("--hidden", "5",)),
    ("train_gat", "gat", ("--hidden", "3", "--heads", "2", "--output-heads", "3", "--layers", "3", "--norm", "layer")),
    ("train_gat", "gatv2", ("--hidden", "3", "--heads", "2")),
    ("train_sage", "sage", ("--hidden", "4", "--norm", "batch")),
    ("train_sage", "sage", ("--hidden", "4", "--aggr", "pool")),
    ("train_gin", "gin", ("--hidden", "4", "--train-eps")),
    ("train_gin", "gin", ("--hidden", "4", "--norm", "layer")),
    ("train_transformer", "transformer", ("--hidden", "3", "--heads", "2", "--gate")),
    ("train_agnn", "agnn", ("--hidden", "4", "--layers", "3")),
)


class Weights(Case):
    def trained(self, program, model, options, epochs=4):
        """A checkpoint, and what `predict` gives with it."""
        checkpoint, out = self.folder / "model.h5", self.folder / "predictions.h5"
        words = ("--model", model) if model in ("gat", "gatv2") else ()
        self.ok(self.run_program(program, "--data", DEMO, "--epochs", epochs, "--checkpoint", checkpoint, "--quiet", *words, *options))
        self.ok(self.run_program("predict", "--checkpoint", checkpoint, "--data", DEMO, "--out", out, "--quiet"))
        return checkpoint, read_predictions(out)

    def test_the_state_is_what_load_pyg_state_reads(self):
        """And is the same model: the same bits come out of it."""
        for program, model, options in PROGRAMS:
            with self.subTest(program=program, model=model, options=options):
                checkpoint, expected = self.trained(program, model, options)
                state, out = self.folder / "state.h5", self.folder / "again.h5"
                with h5py.File(state, "w", libver="latest") as file:
                    for name, value in pyg_state(checkpoint).items():
                        file[name] = value
                self.ok(self.run_program("predict", "--pyg-state", state, "--model", model, "--features-scaling", "rows", "--data", DEMO,
                                         "--out", out, "--quiet", *options))
                np.testing.assert_array_equal(read_predictions(out)["probability"], expected["probability"])
                if safetensors:
                    state = self.folder / "state.safetensors"
                    self.ok(self.main_of(script, "state", checkpoint, state))
                    out.unlink()
                    self.ok(self.run_program("predict", "--pyg-state", state, "--model", model, "--features-scaling", "rows", "--data",
                                             DEMO, "--out", out, "--quiet", *options))
                    np.testing.assert_array_equal(read_predictions(out)["probability"], expected["probability"])
                checkpoint.unlink()

    @unittest.skipUnless(torch and pyg, "torch_geometric")
    def test_a_pyg_model_gives_the_same(self):
        F, nn = torch.nn.functional, pyg.nn
        data = pyg.transforms.NormalizeFeatures()(to_pyg(DEMO))
        features, classes = data.num_features, int(data.y.max()) + 1

        class Two(torch.nn.Module):
            def __init__(self, conv1, conv2, activation, norm=None):
                super().__init__()
                self.conv1, self.conv2, self.activation = conv1, conv2, activation
                if norm is not None:
                    self.norm = norm

            def forward(self, x, edges):
                x = self.conv1(x, edges)
                return self.conv2(self.activation(self.norm(x) if hasattr(self, "norm") else x), edges)

        for program, model, options, make, names in (
                ("train_gcn", "gcn", ("--norm", "batch"), lambda: Two(nn.GCNConv(features, 16), nn.GCNConv(16, classes), F.relu, nn.BatchNorm(16)),
                 {"norms.0": "norm.module"}),
                ("train_gat", "gat", (), lambda: Two(nn.GATConv(features, 8, heads=8), nn.GATConv(64, classes, concat=False), F.elu), {}),
                ("train_gat", "gatv2", (), lambda: Two(nn.GATv2Conv(features, 8, heads=8), nn.GATv2Conv(64, classes, concat=False), F.elu), {}),
                ("train_sage", "sage", ("--norm", "batch"), lambda: Two(nn.SAGEConv(features, 64), nn.SAGEConv(64, classes), F.relu,
                                                                       torch.nn.BatchNorm1d(64)), {"norms.0": "norm"})):
            names = {"convs.0": "conv1", "convs.1": "conv2"} | names
            with self.subTest(program=program, model=model):
                checkpoint, expected = self.trained(program, model, options, epochs=8)

                def compare(network):
                    network.eval()
                    with torch.no_grad():
                        probability = network(data.x, data.edge_index).softmax(1).numpy()
                    np.testing.assert_allclose(probability, expected["probability"], rtol=0, atol=1e-5)
                    self.assertGreater(np.abs(probability - 1 / classes).max(), 1e-3)  # it has learnt something

                out = self.folder / "state.pt"
                words = [word for ours, theirs in names.items() for word in ("--map", f"{ours}={theirs}")]
                self.ok(self.main_of(script, "state", checkpoint, out, *words))
                network = make()
                network.load_state_dict(torch.load(out, map_location="cpu"))
                compare(network)
                fresh = make()
                script.load_into(fresh, checkpoint, {ours: theirs.replace(".module", "") for ours, theirs in names.items()})
                compare(fresh)

                before = {name: value.clone() for name, value in fresh.state_dict().items()}
                with self.assertRaisesRegex(DataError, r"conv1\..*: left over, the model has no such part|missing, the model has it"):
                    script.load_into(torch.nn.Linear(3, 3), checkpoint, names)
                small = Two(nn.SAGEConv(features, 5), nn.SAGEConv(5, classes), F.relu)
                self.assertRaises(DataError, script.load_into, small, checkpoint, names)
                self.assertTrue(all(torch.equal(before[name], value) for name, value in fresh.state_dict().items()))
                checkpoint.unlink()

    def test_a_model_of_graphs(self):
        """Its state gives the same bits in `predict` again, and the same numbers in PyG."""
        data, checkpoint, expected = self.folder / "graphs.h5", self.folder / "gin.h5", self.folder / "expected.h5"
        state, out = self.folder / "state.h5", self.folder / "again.h5"
        to_adjoint(many_graphs(), data)
        shape = ("--hidden", "5", "--layers", "2", "--train-eps", "--pool", "mean")
        self.ok(self.run_program("train_graph_gin", "--data", data, "--epochs", "4", "--features-scaling", "none", "--checkpoint", checkpoint,
                                 "--predict", expected, "--quiet", *shape))
        expected = read_predictions(expected)["probability"]
        with h5py.File(state, "w", libver="latest") as file:
            for name, value in pyg_state(checkpoint).items():
                file[name] = value
        words = ("--pyg-state", state, "--model", "graph-gin", "--data", data, "--out", out, "--quiet", *shape)
        self.ok(self.run_program("predict", *words))
        np.testing.assert_array_equal(read_predictions(out)["probability"], expected)
        for more, status, message in ((("--task", "node_class", "--outputs", "3"), 2, "--model graph-gin: the task is node_class, expected one of graphs"),
                                      (("--data", DEMO), 2, "--data"), (("--pool", "median"), 2, "--pool"),
                                      (("--node-features", "constant"), 1, "[5, 1]"), (("--evaluation", "layers"), 2, "whole graphs")):
            with self.subTest(more):
                result = self.run_program("predict", *words, *more)
                self.assertEqual((result.returncode, result.stderr.count("\n")), (status, 1), result)
                self.assertIn(message, result.stderr)
        words = [DEMO if word == data else word for word in words]
        result = self.run_program("predict", *words, "--task", "graph_class", "--outputs", "3")
        self.assertEqual((result.returncode, result.stderr), (1, f"predict: {DEMO}: graphs/offsets: missing, --task graph_class requires graphs\n"))

        if not (torch and pyg):
            return
        from torch.nn import Linear, ModuleList, ReLU, Sequential
        nn = pyg.nn

        class GIN(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.convs = ModuleList(nn.GINConv(Sequential(Linear(i, 5), nn.BatchNorm(5), ReLU(), Linear(5, 5)), train_eps=True) for i in (4, 5))
                self.norms = ModuleList(nn.BatchNorm(5) for _ in range(2))
                self.heads = ModuleList(Linear(i, 3) for i in (4, 5, 5))

            def forward(self, x, edges, batch):
                y = self.heads[0](nn.global_mean_pool(x, batch))
                for conv, norm, head in zip(self.convs, self.norms, self.heads[1:]):
                    x = norm(conv(x, edges)).relu()
                    y = y + head(nn.global_mean_pool(x, batch))
                return y

        names = {f"convs.{l}.nn.{ours}": f"convs.{l}.nn.{k}" for l in range(2) for k, ours in ((0, "first"), (1, "norm"), (3, "second"))}
        model = script.load_into(GIN(), checkpoint, names | {"readouts": "heads"}).eval()
        batch = pyg.data.Batch.from_data_list(to_pyg(data))
        with torch.no_grad():
            probability = model(batch.x, batch.edge_index, batch.batch).softmax(1).numpy()
        np.testing.assert_allclose(probability, expected, rtol=0, atol=1e-6)
        torch.save(model.state_dict(), self.folder / "gin.pt")
        self.ok(self.main_of(__import__("to_adjoint"), "state", self.folder / "gin.pt", self.folder / "gin_state.h5"))
        back = [word for ours, theirs in {**names, "readouts": "heads"}.items() for word in ("--rename", f"{ours}={theirs}")]
        self.ok(self.run_program("predict", "--pyg-state", self.folder / "gin_state.h5", *words[2:4], "--data", data, *words[6:], *back))
        np.testing.assert_allclose(read_predictions(out)["probability"], expected, rtol=0, atol=1e-6)

    def test_best_and_last(self):
        checkpoint, expected = self.trained("train_gcn", "gcn", (), epochs=30)
        best, last = pyg_state(checkpoint), pyg_state(checkpoint, weights="last")
        with h5py.File(checkpoint) as file:
            np.testing.assert_array_equal(best["convs.0.lin.weight"], file["tensors/best.convs.0.weight"][...].T)
            np.testing.assert_array_equal(last["convs.1.bias"], file["tensors/model.convs.1.bias"])
        self.assertEqual(sorted(best), ["convs.0.bias", "convs.0.lin.weight", "convs.1.bias", "convs.1.lin.weight"])
        mapped = pyg_state(checkpoint, {"convs": "layers", "convs.1": "head", "convs.1.lin.weight": "W"})
        self.assertEqual(sorted(mapped), ["W", "head.bias", "layers.0.bias", "layers.0.lin.weight"])

    def test_the_encoder_of_links(self):
        """Named as the layers of torch_geometric.nn are, and as load_pyg_state reads them (tests/apps/link_test.cpp)."""
        checkpoint = self.folder / "link.h5"
        for model, weights in (("gcn", ["lin.weight"]), ("sage", ["lin_l.bias", "lin_l.weight", "lin_r.weight"]),
                               ("gat", ["att_dst", "att_src", "lin.weight"])):
            self.ok(self.run_program("train_link", "--data", DEMO, "--model", model, "--epochs", "1", "--checkpoint", checkpoint, "--quiet"))
            state = pyg_state(checkpoint)
            parts = weights if model == "sage" else sorted(["bias", *weights])
            self.assertEqual(sorted(state), [f"encoder.convs.{layer}.{part}" for layer in (0, 1) for part in parts])
            with h5py.File(checkpoint) as file:
                stored = file["tensors/best.encoder.convs.1." + {"gcn": "weight", "sage": "lin_l.weight", "gat": "lin.weight"}[model]][...]
            np.testing.assert_array_equal(state[f"encoder.convs.1.{'lin_l' if model == 'sage' else 'lin'}.weight"], stored.T)

    def test_a_folder_that_is_missing(self):
        checkpoint, _ = self.trained("train_gcn", "gcn", (), epochs=1)
        for name, module in (("x.safetensors", safetensors), ("x.pt", torch)):
            if module:
                missing = self.folder / "none" / name
                self.one_line(self.script("from_adjoint.py", "state", checkpoint, missing), f"No such file or directory: '{missing}'")

    def test_what_is_no_checkpoint_or_does_not_fit(self):
        checkpoint, _ = self.trained("train_gcn", "gcn", (), epochs=1)
        for words, message in (((checkpoint, "--map", "conv=c"), "tensors: no part 'conv'"),
                               ((checkpoint, "--map", "convs.0=convs.1"), "two parts would be called convs.1."),
                               ((DEMO,), "attribute format: 'adjoint.graph', version 1, expected 'adjoint.checkpoint'"),
                               ((self.folder / "none.h5",), "No such file")):
            self.one_line(self.main_of(script, "state", words[0], self.folder / "x.pt", *words[1:]), message)
        with h5py.File(checkpoint, "r+") as file:
            del file["tensors"]
        self.assertRaisesRegex(DataError, "missing, expected the weights of a model", pyg_state, checkpoint)
        self.assertRaises(ValueError, pyg_state, checkpoint, weights="first")


class Predictions(Case):
    def test_of_a_program(self):
        out = self.folder / "p.h5"
        self.ok(self.run_program("train_gcn", "--data", DEMO, "--epochs", "2", "--predict", out, "--quiet"))
        found = read_predictions(out)
        self.assertEqual((found["task"], found["program"], found["prediction"].dtype, found["probability"].shape),
                         ("node_class", "train_gcn", np.int32, (2800, 7)))
        np.testing.assert_array_equal(found["prediction"], found["probability"].argmax(1))
        npz = self.folder / "p.npz"
        self.assertEqual(self.main_of(script, "predictions", out, npz).returncode, 0)
        with np.load(npz) as arrays:
            np.testing.assert_array_equal(arrays["probability"], found["probability"])
            self.assertEqual(str(arrays["task"]), "node_class")
        with h5py.File(out, "r+") as file:
            del file["nodes"]
        self.assertRaisesRegex(DataError, "nodes/embedding, graphs/embedding or pairs/score: missing", read_predictions, out)
        self.one_line(self.main_of(script, "predictions", DEMO, npz), "expected 'adjoint.prediction'")

    def test_names_reach_every_form(self):
        """Also for an unlabelled graph: the checkpoint keeps the class names."""
        draw = np.random.default_rng(5)
        nodes, classes = 40, ["cats, big", 'the "dogs"', "žluťoučký"]
        names = [f"node {k}" for k in range(nodes - 4)] + ["a,b", 'say "hi"', "two\nlines", ""]
        y = draw.integers(0, 3, nodes)
        dataset = {"edge_index": draw.integers(0, nodes, (2, 150)), "x": draw.normal(size=(nodes, 4)).astype(np.float32), "y": y,
                   "class_names": classes, "num_classes": 3, "node_names": names, "name": "named",
                   "splits": {"train": np.arange(20), "val": np.arange(20, 30), "test": np.arange(30, 40)}}
        labelled, bare, checkpoint = self.folder / "data.h5", self.folder / "bare.h5", self.folder / "c.h5"
        to_adjoint(dataset, labelled)
        to_adjoint({key: value for key, value in dataset.items() if key in ("edge_index", "x", "node_names", "name")}, bare)
        self.ok(self.run_program("train_gcn", "--data", labelled, "--epochs", "5", "--checkpoint", checkpoint, "--quiet",
                                 "--predict", self.folder / "train.csv"))
        for kind in ("h5", "csv", "jsonl"):
            self.ok(self.run_program("predict", "--checkpoint", checkpoint, "--data", bare, "--out", self.folder / f"p.{kind}", "--quiet"))
        self.assertEqual((self.folder / "p.csv").read_bytes(), (self.folder / "train.csv").read_bytes())
        found = read_predictions(self.folder / "p.h5")
        self.assertEqual((found["class_names"], found["node_names"]), (classes, names))
        header = ["node", "class", *(f"probability_{name}" for name in classes), *(f"score_{name}" for name in classes)]
        with open(self.folder / "p.csv", newline="", encoding="utf-8") as file:
            rows = list(csv.reader(file))
        self.assertEqual(rows[0], header)
        lines = [json.loads(line) for line in (self.folder / "p.jsonl").read_text(encoding="utf-8").split("\n")[:-1]]
        for table in (rows[1:], [list(line.values()) for line in lines]):
            self.assertEqual([row[0] for row in table], names)
            self.assertEqual([row[1] for row in table], [classes[c] for c in found["prediction"]])
            np.testing.assert_array_equal(np.array([row[2:] for row in table], np.float32),
                                          np.hstack([found["probability"], found["score"]]))
        self.assertTrue(all(list(line) == header for line in lines))
        result = self.run_program("predict", "--checkpoint", checkpoint, "--data", bare, "--out", self.folder / "p.txt", "--quiet")
        self.assertEqual((result.returncode, result.stderr),
                         (2, f"predict: --out: expected FILE.csv, FILE.jsonl or FILE.h5, got '{self.folder / 'p.txt'}' (see --help)\n"))
        npz = self.folder / "p.npz"
        self.assertEqual(self.main_of(script, "predictions", self.folder / "p.h5", npz).returncode, 0)
        with np.load(npz) as arrays:
            self.assertEqual(arrays["class_names"].tolist(), classes)

    def test_of_graphs_and_of_pairs(self):
        data, out = self.folder / "graphs.h5", self.folder / "p.h5"
        to_adjoint(many_graphs(), data)
        self.ok(self.run_program("train_graph_gin", "--data", data, "--epochs", "2", "--predict", out, "--quiet"))
        found = read_predictions(out)
        self.assertEqual((found["task"], found["program"], found["prediction"].dtype, found["probability"].shape),
                         ("graph_class", "train_graph_gin", np.int32, (12, 3)))
        np.testing.assert_array_equal(found["prediction"], found["probability"].argmax(1))

        self.ok(self.run_program("train_link", "--data", DEMO, "--epochs", "1", "--predict", out, "--quiet"))
        found, edges = read_predictions(out), read_dataset(DEMO)["edge_index"]
        joined = set(map(tuple, edges.T.tolist()))
        self.assertEqual(found["program"], "train_link")
        self.assertEqual({len(found[key]) for key in ("dst", "score", "label")}, {len(found["src"])})
        for src, dst, label in zip(found["src"].tolist(), found["dst"].tolist(), found["label"].tolist()):
            self.assertEqual((src, dst) in joined or (dst, src) in joined, label == 1)
        npz = self.folder / "p.npz"
        self.assertEqual(self.main_of(script, "predictions", out, npz).returncode, 0)
        with np.load(npz) as arrays:
            np.testing.assert_array_equal(arrays["score"], found["score"])


if __name__ == "__main__":
    unittest.main(warnings="ignore")
