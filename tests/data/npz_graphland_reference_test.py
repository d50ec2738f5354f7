#!/usr/bin/env python3
"""Compares `convert npz` and `convert graphland`, for files in every layout, with numpy and, if they are installed, with the
readers of PyG (of GraphLand with scikit-learn, pandas and PyYAML) and DGL."""
import os
import unittest

from peers import PARTS, Case, contents, dense, library, np

rng = np.random.default_rng(5)
pyg, dgl = library("torch_geometric.datasets"), library("dgl")
graphland = pyg and all([library(name) for name in ("pandas", "sklearn", "yaml")])


def numbers(data):
    """The arrays of a PyG Data."""
    return {key: data[key].numpy() for key in data.to_dict() if key != "snapshot" and hasattr(data[key], "numpy")}


def numbers_of_dgl(graph):
    masks = {key: value.numpy() for key, value in graph.ndata.items() if key.endswith("_mask")}
    return {"edge_index": np.stack([end.numpy() for end in graph.edges()]), "x": graph.ndata["feat"].numpy(),
            "y": graph.ndata["label"].numpy(), **masks}


def undirected(a, b, loops):
    pairs = {(int(u), int(v)) for x, y in zip(a, b) for u, v in ((x, y), (y, x)) if loops or u != v}
    return np.array(sorted(pairs)).T


def three_masks(n, splits):
    part = np.stack([rng.permutation(np.arange(n) % 4) for _ in range(splits)])
    return [part == k for k in range(3)]


class Converted(Case):
    def convert(self, *words):
        result = self.run_program("convert", *words[:2], self.out, *words[2:])
        self.assertEqual(result.returncode, 0, result.stderr)
        return contents(self.out)

    def refused(self, expected, *words):
        result = self.run_program("convert", *words, self.out, "--quiet")
        self.one_line(result, "convert: ", expected)
        self.leaves_nothing()

    def expect_edges(self, held, edges):
        edges = np.asarray(edges)
        np.testing.assert_array_equal([held["edges/src"], held["edges/dst"]], edges[:, np.lexsort(edges[::-1])])

    def expect(self, held, z):
        """A reader's arrays: edge_index, x, y, and perhaps train_mask, val_mask, test_mask."""
        self.expect_edges(held, z["edge_index"])
        x = dense(held)
        self.assertEqual(x.shape, z["x"].shape)
        off = np.abs(x - z["x"]) - 1e-5 * np.maximum(1, np.abs(z["x"]))
        self.assertLessEqual(off.max(initial=-1), 0, f"x is off at {np.unravel_index(off.argmax(), off.shape)}")
        y = held["nodes/y"].astype(np.float64).reshape(-1)
        if held["@task"] == "node_class":
            y[y < 0] = np.nan
        np.testing.assert_allclose(y, z["y"], 1e-5, 1e-5)
        for part in PARTS if "train_mask" in z else ():
            for s, mask in enumerate(z[f"{part}_mask"].reshape(len(y), -1).T):
                found = held[f"splits/{s}/{part}" if s else f"splits/{part}"]
                np.testing.assert_array_equal(np.sort(found), np.flatnonzero(mask), f"{part} of split {s}")


class Npz(Converted):
    def test_heterophilous(self):
        n = 60
        edges = rng.integers(0, n, (150, 2))
        train, val, test = three_masks(n, 3)
        raw = self.folder / "minesweeper" / "raw"
        raw.mkdir(parents=True)
        arrays = dict(node_features=rng.normal(size=(n, 5)).astype(np.float32), node_labels=rng.integers(0, 4, n),
                      edges=edges, train_masks=train, val_masks=val, test_masks=test)
        for save in (np.savez, np.savez_compressed):
            save(raw / "minesweeper.npz", **arrays)
            held = self.convert("npz", raw / "minesweeper.npz")
            self.expect_edges(held, undirected(edges[:, 0], edges[:, 1], True))
            self.holds(held, {"nodes/x": arrays["node_features"], "nodes/y": arrays["node_labels"]})
        if pyg:
            self.expect(held, numbers(pyg.HeterophilousGraphDataset(str(self.folder), "minesweeper")[0]))
        arrays.update(node_features=np.asfortranarray(arrays["node_features"]).astype(">f4"),
                      edges=np.asfortranarray(edges).astype(">i2"), node_labels=arrays["node_labels"].astype(np.uint8))
        np.savez(self.folder / "other.npz", **arrays)
        other = self.convert("npz", self.folder / "other.npz")
        self.holds(other, {name: held[name] for name in ("edges/src", "edges/dst", "nodes/x", "nodes/y", "splits/2/test")})

    def test_gnn_benchmark(self):
        n, f = 50, 30

        def random_csr(rows, cols, entries):
            """Entries of a row in any order, some twice, some 0."""
            row = np.sort(rng.integers(0, rows, entries))
            indptr = np.searchsorted(row, np.arange(rows + 1)).astype(np.int32)
            return row, rng.integers(0, cols, entries).astype(np.int32), indptr, rng.integers(0, 3, entries).astype(np.float32)

        row, col, indptr, data = random_csr(n, n, 200)
        _, words, word_indptr, counts = random_csr(n, f, 300)
        arrays = dict(adj_data=data, adj_indices=col, adj_indptr=indptr, adj_shape=np.array([n, n]), attr_data=counts,
                      attr_indices=words, attr_indptr=word_indptr, attr_shape=np.array([n, f]), labels=rng.integers(0, 5, n))
        plain, named = str(self.folder / "plain.npz"), self.folder / "names.npz"
        np.savez(plain, **arrays)
        np.savez_compressed(named, **arrays, names=np.array(["a", None], dtype=object))
        held = self.convert("npz", named)
        self.expect_edges(held, undirected(row, col, False))
        if pyg:
            self.expect(held, numbers(library("torch_geometric.io").read_npz(plain)))
        if dgl:  # keeps self-loops, and features unchanged
            z = numbers_of_dgl(dgl.data.AmazonCoBuyComputerDataset._load_npz(object(), plain))
            keep = z["edge_index"][0] != z["edge_index"][1]
            self.expect(held, dict(z, edge_index=z["edge_index"][:, keep], x=np.where(z["x"] > 0, 1, z["x"])))

    def test_reddit(self):
        n = 40
        raw = self.folder / "raw"
        raw.mkdir()
        pairs = np.unique(rng.integers(0, n, (100, 2)), axis=0)
        types = rng.permutation(np.arange(n) % 3 + 1).astype(np.int32)
        np.savez(raw / "reddit_data.npz", feature=rng.normal(size=(n, 6)), label=rng.integers(0, 4, n), node_types=types,
                 node_ids=np.array([str(k) for k in range(n)], dtype=object))
        np.savez_compressed(raw / "reddit_graph.npz", row=pairs[:, 0].astype(np.int32), col=pairs[:, 1].astype(np.int32),
                            format=np.array(b"coo"), shape=np.array([n, n]), data=np.ones(len(pairs)))
        held = self.convert("npz", raw / "reddit_data.npz")
        self.assertEqual(held["@name"], "reddit")
        self.expect_edges(held, pairs.T)
        if pyg:
            self.expect(held, numbers(pyg.Reddit(str(self.folder))[0]))
        if dgl and library("dgl.data.reddit"):
            dgl.data.reddit.reorder_graph = lambda graph, **options: graph  # renumbers the nodes

            class Reddit(dgl.data.RedditDataset):  # of the files that are there
                raw_path = str(raw)
                _download = save = lambda self: None
                has_cache = lambda self: False

            self.expect(held, numbers_of_dgl(Reddit(raw_dir=str(self.folder))[0]))

    def test_plain(self):
        n, m = 30, 70
        src, dst = rng.integers(0, n, (2, m))
        masks = {f"{part}_mask": mask[0] for part, mask in zip(PARTS, three_masks(n, 1))}
        np.savez_compressed(self.folder / "p.npz", edge_index=np.stack([src, dst]), x=rng.normal(size=(n, 3)),
                            y=rng.integers(0, 3, n), edge_weight=np.arange(m, dtype=np.float16), **masks)
        held = self.convert("npz", self.folder / "p.npz")
        order = np.lexsort((np.arange(m), dst, src))
        self.holds(held, {"edges/src": src[order], "edges/dst": dst[order], "edges/weight": np.arange(m)[order],
                          "splits/train": np.flatnonzero(masks["train_mask"])})

    def test_objects_and_a_bomb(self):
        np.savez(self.folder / "o.npz", edge_index=np.array([[0, None], [1, 0]], dtype=object))
        self.refused("edge_index: pickled Python objects", "npz", self.folder / "o.npz")
        np.savez_compressed(self.folder / "bomb.npz", edge_index=np.zeros((2, 40_000_000), np.int64))  # 640 MB in 0.6
        self.refused("a zip bomb?", "npz", self.folder / "bomb.npz")


def write_graphland(folder, n, task, name):
    """A GraphLand folder."""
    few = rng.integers(0, 5, n).astype(float)  # many equal ones
    wide, share = np.round(np.exp(3 * rng.normal(size=n)), 4), np.round(rng.random(n), 3)
    target = rng.normal(50, 20, n) if task == "regression" else rng.integers(0, 2 if task.startswith("binary") else 4, n).astype(float)
    for values, missing in ((few, 0.1), (wide, 0.05), (share, 0.05), (target, 0.15)):
        values[rng.random(n) < missing] = np.nan
    part = rng.permutation(np.arange(n) % 5)  # some nodes in no part
    tables = {"features": {"few": few, "share": share, "wide": wide, "constant": np.full(n, 3.5), "other": np.zeros(n),
                           "counts": rng.integers(0, 1_000_000, n).astype(float),
                           "kind": rng.integers(-2, 5, n), "two": rng.choice([3, 8], n), "one": np.full(n, 7)},
              "targets": {"goal": target},
              **{f"split_masks_{split}": {p: part == k for k, p in enumerate(PARTS)} for split in ("RL", "RH", "TH")}}
    folder.mkdir(parents=True)
    text = lambda value: "" if isinstance(value, float) and np.isnan(value) else repr(value)
    for table, columns in tables.items():
        rows = [",".join(map(text, row)) for row in zip(range(n), *(column.tolist() for column in columns.values()))]
        (folder / f"{table}.csv").write_text("\n".join([",".join(["node_id", *columns]), *rows]) + "\n")
    edges = rng.integers(0, n, (4 * n, 2))
    (folder / "edgelist.csv").write_text("source,target\n" + "".join(f"{a},{b}\n" for a, b in edges))
    (folder / "info.yaml").write_text(
        f"dataset_name: {name}\ntask: {task}\ntarget_name: goal\nmetric: any\n"
        "numerical_features_names: [wide, few, share, constant, counts]\nfraction_features_names:\n- share\n"
        "categorical_features_names:\n  - kind\n  - two\n  - one\n")


OPTIONS = [  # ours, PyG's
    ("", {}),
    ("--numerical standard --fraction min-max --target min-max --numerical-imputation mean --fraction-imputation median",
     dict(numerical_features_transform="standard_scaler", fraction_features_transform="min_max_scaler",
          regression_targets_transform="min_max_scaler", numerical_features_nan_imputation_strategy="mean",
          fraction_features_nan_imputation_strategy="median")),
    ("--numerical quantile-uniform --fraction quantile-normal --target none --categorical as-is",
     dict(numerical_features_transform="quantile_transform_uniform",
          fraction_features_transform="quantile_transform_normal", regression_targets_transform=None,
          categorical_features_transform=None)),
    ("--numerical none --fraction standard --numerical-imputation median --directed",
     dict(numerical_features_transform=None, fraction_features_transform="standard_scaler",
          numerical_features_nan_imputation_strategy="median", to_undirected=False)),
]


class GraphLand(Converted):
    def test_as_pyg(self):
        for name, task, n in (("tolokers-2", "binary_classification", 300), ("hm-categories", "multiclass_classification", 2500),
                              ("artnet-views", "regression", 1700)):
            folder = self.folder / name / "raw" / name
            write_graphland(folder, n, task, name)
            for ours, theirs in OPTIONS if task == "regression" else OPTIONS[:1]:
                for split in ("RL", "THI") if not theirs else ("RH",):
                    with self.subTest(name, split=split, options=ours):
                        held = self.convert("graphland", folder, "--split", split, *ours.split())
                        self.assertEqual(held["@task"], "node_regression" if task == "regression" else "node_class")
                        if graphland:
                            data = pyg.GraphLandDataset(str(self.folder), name, split, force_reload=True, **theirs)
                            self.expect(held, self.union(held, [numbers(data[k]) for k in range(3)]) if split == "THI" else numbers(data[0]))

    def union(self, held, snapshots):
        """The graphs at training, validation and test time, one after another."""
        offsets = np.cumsum([0] + [len(z["x"]) for z in snapshots])
        self.holds(held, {"graphs/offsets": offsets, "nodes/id": np.concatenate([z["cross_snapshot_node_id"] for z in snapshots])})
        union = {key: np.concatenate([z[key] for z in snapshots]) for key in ("x", "y")}
        union["edge_index"] = np.concatenate([z["edge_index"] + a for z, a in zip(snapshots, offsets)], axis=1)
        for k, part in enumerate(PARTS):
            union[f"{part}_mask"] = np.zeros(offsets[-1], bool)
            union[f"{part}_mask"][offsets[k]:offsets[k + 1]] = snapshots[k]["mask"]
        return union

    def test_a_bad_file(self):
        folder = self.folder / "city"
        write_graphland(folder, 20, "regression", "city")
        with open(folder / "edgelist.csv", "a") as file:
            file.write("3,20\n")
        self.refused("edgelist.csv:82: ", "graphland", folder)
        self.refused("info.yaml: ", "graphland", self.folder / "nowhere")


if __name__ == "__main__":
    unittest.main(warnings="ignore")
