#!/usr/bin/env python3
"""Compares `convert npz` and `convert graphland`, for files in every layout, with numpy and, if they can be imported,
with the readers of PyG and DGL.

  npz_graphland_reference_test.py                      the test
  npz_graphland_reference_test.py peer READER … OUT    what a reader makes of a file, as .npz (run by the test)

ADJOINT_PYTHON_PEERS names the interpreter that has torch_geometric, scikit-learn, pandas and PyYAML, or dgl;
several are separated by ':'. Without it this one is tried."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

BIN = pathlib.Path(os.environ.get("ADJOINT_BIN_DIR", "build/bin")).resolve()
PEERS = os.environ.get("ADJOINT_PYTHON_PEERS", sys.executable).split(":")
CANNOT = 77  # a peer's status where its library is not there
rng = np.random.default_rng(5)
skipped = set()


# ---- what the test itself needs

def run_convert(*args):
    return subprocess.run([str(BIN / "convert"), *map(str, args)], capture_output=True, text=True, timeout=300)


def convert(*args):
    done = run_convert(*args)
    assert done.returncode == 0, f"convert {args}: {done.stderr}"
    import h5py
    held = {}
    with h5py.File(args[2]) as f:
        f.visititems(lambda name, item: held.__setitem__(name, item[()]) if hasattr(item, "shape") else None)
        held.update({"@" + k: v for k, v in f.attrs.items()})
        if "x_cols" in f["nodes"].attrs:
            held["@x_cols"] = f["nodes"].attrs["x_cols"]
    return held


def refused(expected, *args):
    out = pathlib.Path(args[2])
    done = run_convert(*args)
    lines = [line for line in done.stderr.splitlines() if line.startswith("convert: ")]
    assert done.returncode == 1 and len(lines) == 1, f"convert {args}: {done.returncode}, {done.stderr}"
    assert expected in lines[0], f"convert {args}: {lines[0]}, expected {expected}"
    assert not out.exists(), f"{out} was written"


def peer(*args):
    """What a library's reader says, or None where no interpreter has it."""
    why = "no interpreter"
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "out.npz")
        for python in PEERS:
            done = subprocess.run([python, __file__, "peer", *map(str, args), out], capture_output=True, text=True,
                                  timeout=600)
            if done.returncode == 0:
                with np.load(out) as z:
                    return dict(z)
            assert done.returncode == CANNOT, f"{args}: {done.stderr}"
            why = done.stdout.strip().splitlines()[-1]
    skipped.add(f"{args[0]}: {why}")
    return None


def edges_of(held):
    return set(zip(held["edges/src"].tolist(), held["edges/dst"].tolist())), len(held["edges/src"])


def expect_edges(held, src, dst, what):
    wanted = list(zip(np.asarray(src).tolist(), np.asarray(dst).tolist()))
    assert edges_of(held) == (set(wanted), len(wanted)), f"{what}: edges"


def undirected(a, b, loops):
    pairs = {(int(u), int(v)) for x, y in zip(a, b) for u, v in ((x, y), (y, x)) if loops or u != v}
    return np.array(sorted(pairs)).T


def dense(held):
    if "nodes/x" in held:
        return held["nodes/x"]
    x = np.zeros((len(held["nodes/x_indptr"]) - 1, held["@x_cols"]), np.float32)
    for i in range(len(x)):
        at = slice(held["nodes/x_indptr"][i], held["nodes/x_indptr"][i + 1])
        x[i, held["nodes/x_indices"][at]] = held["nodes/x_data"][at]
    return x


def expect(held, z, what):
    """A peer's arrays: edge_index, x, y, train_mask …, of which some may be absent."""
    expect_edges(held, z["edge_index"][0], z["edge_index"][1], what)
    x = dense(held)
    assert x.shape == z["x"].shape, f"{what}: {x.shape}, expected {z['x'].shape}"
    off = np.abs(x - z["x"]) - 1e-5 * np.maximum(1, np.abs(z["x"]))
    assert off.max(initial=-1) <= 0, f"{what}: x is off by {np.abs(x - z['x']).max()} at {np.unravel_index(off.argmax(), off.shape)}"
    y = held["nodes/y"].astype(np.float64).reshape(-1)
    if held["@task"] == "node_class":
        y[y < 0] = np.nan
    assert np.allclose(y, z["y"], 1e-5, 1e-5, equal_nan=True), f"{what}: y"
    if "train_mask" in z:
        masks = {part: z[f"{part}_mask"].reshape(len(y), -1) for part in ("train", "val", "test")}
        for part, mask in masks.items():
            for s in range(mask.shape[1]):
                found = held[f"splits/{part}" if s == 0 else f"splits/{s}/{part}"]
                assert np.array_equal(np.sort(found), np.flatnonzero(mask[:, s])), f"{what}: {part} of split {s}"


# ---- npz

def three_masks(n, splits):
    part = np.stack([rng.permutation(np.arange(n) % 4) for _ in range(splits)])
    return [part == k for k in range(3)]


def test_heterophilous(folder):
    n = 60
    edges = rng.integers(0, n, (150, 2))
    train, val, test = three_masks(n, 3)
    raw = folder / "minesweeper" / "raw"
    raw.mkdir(parents=True)
    arrays = dict(node_features=rng.normal(size=(n, 5)).astype(np.float32), node_labels=rng.integers(0, 4, n),
                  edges=edges, train_masks=train, val_masks=val, test_masks=test)
    for save in (np.savez, np.savez_compressed):
        save(raw / "minesweeper.npz", **arrays)
        held = convert("npz", raw / "minesweeper.npz", folder / "h.h5")
        expect_edges(held, *undirected(edges[:, 0], edges[:, 1], True), "heterophilous")
        assert np.array_equal(held["nodes/x"], arrays["node_features"])
        assert np.array_equal(held["nodes/y"], arrays["node_labels"])
    if (z := peer("pyg-heterophilous", folder)) is not None:
        expect(held, z, "heterophilous, PyG")
    arrays.update(node_features=np.asfortranarray(arrays["node_features"]).astype(">f4"),
                  edges=np.asfortranarray(edges).astype(">i2"), node_labels=arrays["node_labels"].astype(np.uint8))
    np.savez(folder / "other.npz", **arrays)
    other = convert("npz", folder / "other.npz", folder / "o.h5")
    for name in ("edges/src", "edges/dst", "nodes/x", "nodes/y", "splits/2/test"):
        assert np.array_equal(held[name], other[name]), name


def random_csr(rows, cols, entries):
    """Entries of a row in any order, some twice, some 0."""
    row = np.sort(rng.integers(0, rows, entries))
    indptr = np.searchsorted(row, np.arange(rows + 1)).astype(np.int32)
    return row, rng.integers(0, cols, entries).astype(np.int32), indptr, rng.integers(0, 3, entries).astype(np.float32)


def test_gnn_benchmark(folder):
    n, f = 50, 30
    row, col, indptr, data = random_csr(n, n, 200)
    _, words, word_indptr, counts = random_csr(n, f, 300)
    arrays = dict(adj_data=data, adj_indices=col, adj_indptr=indptr, adj_shape=np.array([n, n]), attr_data=counts,
                  attr_indices=words, attr_indptr=word_indptr, attr_shape=np.array([n, f]),
                  labels=rng.integers(0, 5, n))
    np.savez(folder / "plain.npz", **arrays)
    np.savez_compressed(folder / "names.npz", **arrays, names=np.array(["a", None], dtype=object))
    held = convert("npz", folder / "names.npz", folder / "g.h5")
    expect_edges(held, *undirected(row, col, False), "gnn-benchmark")
    if (z := peer("pyg-npz", folder / "plain.npz")) is not None:
        expect(held, z, "gnn-benchmark, PyG")
    if (z := peer("dgl-npz", folder / "plain.npz")) is not None:  # keeps self-loops, and features as they are
        keep = z["edge_index"][0] != z["edge_index"][1]
        expect(held, dict(z, edge_index=z["edge_index"][:, keep], x=np.where(z["x"] > 0, 1, z["x"])),
               "gnn-benchmark, DGL")


def test_reddit(folder):
    n = 40
    raw = folder / "raw"
    raw.mkdir()
    pairs = np.unique(rng.integers(0, n, (100, 2)), axis=0)
    types = rng.permutation(np.arange(n) % 3 + 1).astype(np.int32)
    np.savez(raw / "reddit_data.npz", feature=rng.normal(size=(n, 6)), label=rng.integers(0, 4, n), node_types=types,
             node_ids=np.array([str(k) for k in range(n)], dtype=object))
    np.savez_compressed(raw / "reddit_graph.npz", row=pairs[:, 0].astype(np.int32), col=pairs[:, 1].astype(np.int32),
                        format=np.array(b"coo"), shape=np.array([n, n]), data=np.ones(len(pairs)))
    held = convert("npz", raw / "reddit_data.npz", folder / "r.h5")
    assert held["@name"] == "reddit"
    expect_edges(held, pairs[:, 0], pairs[:, 1], "reddit")
    for reader in ("pyg-reddit", "dgl-reddit"):
        if (z := peer(reader, folder)) is not None:
            expect(held, z, reader)


def test_plain(folder):
    n, m = 30, 70
    src, dst = rng.integers(0, n, (2, m))
    masks = three_masks(n, 1)
    np.savez_compressed(folder / "p.npz", edge_index=np.stack([src, dst]), x=rng.normal(size=(n, 3)),
                        y=rng.integers(0, 3, n), edge_weight=np.arange(m, dtype=np.float16),
                        train_mask=masks[0][0], val_mask=masks[1][0], test_mask=masks[2][0])
    held = convert("npz", folder / "p.npz", folder / "p.h5")
    order = np.lexsort((np.arange(m), src, dst))
    assert np.array_equal(held["edges/src"], src[order]) and np.array_equal(held["edges/dst"], dst[order])
    assert np.array_equal(held["edges/weight"], np.arange(m)[order])
    assert np.array_equal(held["splits/train"], np.flatnonzero(masks[0][0]))


def test_bad_npz(folder):
    out = folder / "bad.h5"
    np.savez(folder / "o.npz", edge_index=np.array([[0, None], [1, 0]], dtype=object))
    refused("edge_index: pickled Python objects", "npz", folder / "o.npz", out)
    np.savez_compressed(folder / "bomb.npz", edge_index=np.zeros((2, 40_000_000), np.int64))  # 640 MB in 0.6
    refused("a zip bomb?", "npz", folder / "bomb.npz", out)
    np.savez(folder / "ok.npz", edge_index=np.array([[0, 1], [1, 0]]))
    (folder / "cut.npz").write_bytes((folder / "ok.npz").read_bytes()[:-40])
    refused("truncated?", "npz", folder / "cut.npz", out)
    (folder / "none.npz").write_text("nothing")
    refused("not an .npz file", "npz", folder / "none.npz", out)
    np.savez(folder / "strange.npz", a=np.arange(3), b=np.arange(3))
    refused("arrays a, b", "npz", folder / "strange.npz", out)


# ---- GraphLand

class Folder:
    """A GraphLand folder in the making: columns that are lists of texts."""

    def __init__(self, n, task, name):
        self.n, self.task, self.name = n, task, name
        few = rng.integers(0, 5, n).astype(float)  # many equal ones
        few[rng.random(n) < 0.1] = np.nan
        wide = np.round(np.exp(3 * rng.normal(size=n)), 4)
        wide[rng.random(n) < 0.05] = np.nan
        share = np.round(rng.random(n), 3)
        share[rng.random(n) < 0.05] = np.nan
        self.columns = {"few": few, "share": share, "wide": wide, "constant": np.full(n, 3.5), "other": np.zeros(n),
                        "counts": rng.integers(0, 1_000_000, n).astype(float),
                        "kind": rng.integers(-2, 5, n), "two": rng.choice([3, 8], n), "one": np.full(n, 7)}
        target = rng.normal(50, 20, n) if task == "regression" else \
            rng.integers(0, 2 if task.startswith("binary") else 4, n).astype(float)
        target[rng.random(n) < 0.15] = np.nan
        self.target = target
        self.part = rng.permutation(np.arange(n) % 5)  # some nodes in no part
        self.edges = rng.integers(0, n, (4 * n, 2))

    def write(self, folder):
        folder.mkdir(parents=True)
        text = lambda v: "" if isinstance(v, float) and np.isnan(v) else repr(v)
        def table(file, columns):
            rows = zip(*[[text(v) for v in c.tolist()] for c in columns.values()])
            lines = [",".join(["node_id", *columns])] + [f"{i},{','.join(r)}" for i, r in enumerate(rows)]
            (folder / file).write_text("\n".join(lines) + "\n")
        table("features.csv", self.columns)
        table("targets.csv", {"goal": self.target})
        for split in ("RL", "RH", "TH"):
            table(f"split_masks_{split}.csv", {p: self.part == k for k, p in enumerate(("train", "val", "test"))})
        (folder / "edgelist.csv").write_text("source,target\n" + "".join(f"{a},{b}\n" for a, b in self.edges))
        (folder / "info.yaml").write_text(
            f"dataset_name: {self.name}\ntask: {self.task}\ntarget_name: goal\nmetric: any\n"
            "numerical_features_names: [wide, few, share, constant, counts]\nfraction_features_names:\n- share\n"
            "categorical_features_names:\n  - kind\n  - two\n  - one\n")
        return folder


OPTIONS = [  # ours, PyG's
    ({}, {}),
    ({"--numerical": "standard", "--fraction": "min-max", "--target": "min-max", "--numerical-imputation": "mean",
      "--fraction-imputation": "median"},
     dict(numerical_features_transform="standard_scaler", fraction_features_transform="min_max_scaler",
          regression_targets_transform="min_max_scaler", numerical_features_nan_imputation_strategy="mean",
          fraction_features_nan_imputation_strategy="median")),
    ({"--numerical": "quantile-uniform", "--fraction": "quantile-normal", "--target": "none",
      "--categorical": "as-is"},
     dict(numerical_features_transform="quantile_transform_uniform",
          fraction_features_transform="quantile_transform_normal", regression_targets_transform=None,
          categorical_features_transform=None)),
    ({"--numerical": "none", "--fraction": "standard", "--numerical-imputation": "median", "--directed": None},
     dict(numerical_features_transform=None, fraction_features_transform="standard_scaler",
          numerical_features_nan_imputation_strategy="median", to_undirected=False)),
]


def check_graphland(folder, made, split, ours, theirs):
    where = folder / made.name / "raw" / made.name
    args = [a for pair in ours.items() for a in pair if a is not None]
    held = convert("graphland", where, folder / "g.h5", "--split", split, *args)
    assert held["@task"] == ("node_regression" if made.task == "regression" else "node_class")
    z = peer("pyg-graphland", folder, made.name, split, json.dumps(theirs))
    if z is None:
        return
    what = f"graphland {made.name} of {made.n} nodes, {split}, {ours}"
    if split != "THI":
        return expect(held, z, what)
    offsets, y = np.concatenate([[0], np.cumsum([len(z[f"x{k}"]) for k in range(3)])]), held["nodes/y"].reshape(-1)
    assert np.array_equal(held["graphs/offsets"], offsets), what
    ids = np.concatenate([z[f"cross_snapshot_node_id{k}"] for k in range(3)])
    assert np.array_equal(held["nodes/id"], ids), what
    union = dict(edge_index=np.concatenate([z[f"edge_index{k}"] + offsets[k] for k in range(3)], axis=1),
                 x=np.concatenate([z[f"x{k}"] for k in range(3)]), y=np.concatenate([z[f"y{k}"] for k in range(3)]))
    for k, part in enumerate(("train", "val", "test")):
        union[f"{part}_mask"] = np.zeros(len(y), bool)
        union[f"{part}_mask"][offsets[k]:offsets[k + 1]] = z[f"mask{k}"]
    expect(held, union, what)


def test_graphland(folder):
    cases = [("tolokers-2", "binary_classification", 300), ("hm-categories", "multiclass_classification", 2500),
             ("artnet-views", "regression", 1700)]
    for name, task, n in cases:
        made = Folder(n, task, name)
        made.write(folder / name / "raw" / name)
        for ours, theirs in OPTIONS if task == "regression" else OPTIONS[:1]:
            for split in ("RL", "THI") if not theirs or task != "regression" else ("RH",):
                check_graphland(folder, made, split, ours, theirs)


def test_bad_graphland(folder):
    good = Folder(20, "regression", "city-roads-M").write(folder / "city")
    out = folder / "bad.h5"
    convert("graphland", good, folder / "good.h5")
    def with_file(name, change, expected, *more):
        text = (good / name).read_text()
        (good / name).write_text(change(text))
        refused(expected, "graphland", good, out, *more)
        (good / name).write_text(text)
    with_file("edgelist.csv", lambda t: t + "3,20\n", "edgelist.csv:82: ")
    with_file("edgelist.csv", lambda t: t + "3,x\n", "edgelist.csv:82: ")
    with_file("targets.csv", lambda t: t.rsplit("\n", 2)[0] + "\n", "targets.csv: 19 nodes, but features.csv has 20")
    with_file("features.csv", lambda t: t.replace("\n4,", "\n5,"), "features.csv:6: node \"5\", expected 4")
    with_file("split_masks_RL.csv", lambda t: t.replace("True", "maybe", 1), "\"maybe\", expected True or False")
    with_file("info.yaml", lambda t: t.replace("goal", "gaol"), "targets.csv:1: no column \"gaol\"")
    with_file("info.yaml", lambda t: t + "\t- : [", "info.yaml:")
    with_file("info.yaml", lambda t: t.replace("regression", "clustering"), "info.yaml:2: task \"clustering\"")
    refused("info.yaml: ", "graphland", folder / "nowhere", out)


# ---- the readers of others

def peer_main(reader, args):
    def dump(z, out):
        np.savez(out, **{k: v for k, v in z.items()})
    def numbers(data):
        return {k: data[k].numpy() for k in data.keys() if k != "snapshot" and hasattr(data[k], "numpy")}
    try:
        if reader.startswith("dgl"):
            import dgl
            import dgl.data.reddit
        else:
            import torch_geometric.datasets as pyg
            from torch_geometric.io import read_npz
        if reader == "pyg-graphland":
            import pandas, sklearn, yaml  # noqa: what its reader imports late
    except Exception as error:  # dgl fails in many ways where torch is not the one it was built for
        print(f"{type(error).__name__}: {error}".splitlines()[0])
        sys.exit(CANNOT)
    out = args[-1]
    if reader == "pyg-heterophilous":
        dump(numbers(pyg.HeterophilousGraphDataset(args[0], "minesweeper")[0]), out)
    elif reader == "pyg-npz":
        dump(numbers(read_npz(args[0])), out)
    elif reader == "pyg-reddit":
        dump(numbers(pyg.Reddit(args[0])[0]), out)
    elif reader == "pyg-graphland":
        data = pyg.GraphLandDataset(args[0], args[1], args[2], force_reload=True, **json.loads(args[3]))
        if args[2] != "THI":
            return dump(numbers(data[0]), out)
        dump({f"{k}{s}": v for s in range(3) for k, v in numbers(data[s]).items()}, out)
    else:
        if reader == "dgl-npz":
            graph = dgl.data.AmazonCoBuyComputerDataset._load_npz(object(), args[0])
        else:
            dgl.data.reddit.reorder_graph = lambda graph, **options: graph  # renumbers the nodes

            class Reddit(dgl.data.RedditDataset):  # of the files that are there
                raw_path = os.path.join(args[0], "raw")

                def _download(self):
                    pass

                def has_cache(self):
                    return False

                def save(self):
                    pass
            graph = Reddit(raw_dir=args[0])[0]
        z = dict(edge_index=np.stack([e.numpy() for e in graph.edges()]), x=graph.ndata["feat"].numpy(),
                 y=graph.ndata["label"].numpy())
        z.update({k: v.numpy() for k, v in graph.ndata.items() if k.endswith("_mask")})
        dump(z, out)


if __name__ == "__main__":
    if sys.argv[1:2] == ["peer"]:
        peer_main(sys.argv[2], sys.argv[3:])
        sys.exit()
    for name, test in list(globals().items()):
        if name.startswith("test_"):
            with tempfile.TemporaryDirectory() as scratch:
                test(pathlib.Path(scratch))
            print(f"{name}: passed")
    for what in sorted(skipped):
        print(f"skipped: {what}")
