"""Labels of edges: `convert edges --edge-label`, `split`, `reorder`, `train_edge` and `predict`, against what numpy reads and
computes from the files."""

import csv
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import h5py
import numpy as np

BIN = os.environ["ADJOINT_BIN_DIR"]
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "data"))
sys.dont_write_bytecode = True
from from_adjoint import read_dataset, read_predictions  # noqa: E402
from to_adjoint import DataError, to_adjoint  # noqa: E402
rng = np.random.default_rng(11)


def run(program, *options, status=0):
    ran = subprocess.run([os.path.join(BIN, program), *map(str, options)], capture_output=True, text=True)
    assert ran.returncode == status, (program, options, ran.returncode, ran.stdout, ran.stderr)
    return ran.stdout + ran.stderr


def refused(*call, status, words):
    out = run(*call, status=status)
    assert len(out.strip().splitlines()) == 1, out
    for word in words:
        assert word in out, (word, out)


def write(path, text):
    with open(path, "w") as file:
        file.write(text)
    return path


def rows(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def texts(file, path):
    """Names at a path of the schema."""
    data, ends = bytes(file[path][...]), file[path + "_offsets"][...]
    return [data[a:b].decode() for a, b in zip(ends, ends[1:])]


def labelled(path):
    """The file's edges by the names of their nodes, their labels, and the parts of the first split."""
    with h5py.File(path) as f:
        names = texts(f, "nodes/name") if "nodes/name" in f else [str(k) for k in range(f.attrs["num_nodes"])]
        if "nodes/order" in f:
            assert "nodes/name" in f
        edges = [(names[a], names[b]) for a, b in zip(f["edges/src"][...], f["edges/dst"][...])]
        y = f["edges/y"][...]
        if f.attrs["task"] == "edge_class":
            classes = texts(f, "edges/class_names") if "edges/class_names" in f else [str(k) for k in range(f.attrs["num_classes"])]
            y = [classes[k] if k >= 0 else None for k in y]
        else:
            y = [tuple(row) for row in y.tolist()]
        splits = {part: f[f"splits/{part}"][...] for part in ("train", "val", "test")} if "splits" in f else None
    return edges, y, splits


os.chdir(tempfile.mkdtemp())

# Import: texts and numbers, gaps, a column that is called a relation, quotes, loops, and both directions.
write("kinds.csv", 'from,to,kind,amount,relation\nann,bob,friend,1,x\nbob,cat,"foe, old",2,y\ncat,ann,NA,3,x\ndan,dan,friend,4,y\nann,cat,,5,x\n')
out = run("convert", "edges", "kinds.csv", "k.h5", "--edge-label", "kind", "--source", "from", "--target", "to", "--ids", "names")
for words in ("labels from kind", "passed over: amount, relation", "2 of 5 edges are without a label", "2 lines taken as unlabelled"):
    assert words in out, (words, out)
edges, y, _ = labelled("k.h5")
assert edges == [("ann", "bob"), ("bob", "cat"), ("cat", "ann"), ("dan", "dan"), ("ann", "cat")]
assert y == ["friend", "foe, old", None, "friend", None]
run("convert", "edges", "kinds.csv", "r.h5", "--edge-label", "relation", "--weight", "amount", "--undirected", "--quiet")
edges, y, _ = labelled("r.h5")
assert y == ["x", "y", "x", "y", "x", "x", "y", "x", "x"] and edges[5:] == [("bob", "ann"), ("cat", "bob"), ("ann", "cat"), ("cat", "ann")]
run("convert", "edges", "kinds.csv", "n.h5", "--edge-label", "amount", "--edge-task", "edge_regression", "--source", "1", "--target", "2", "--quiet")
assert labelled("n.h5")[1] == [(1.0,), (2.0,), (3.0,), (4.0,), (5.0,)]
write("signs.txt", "1 2 -1\n2 3 1\n3 1 -1\n1 3 ?\n")  # -1 is a class here, as in networks of trust
run("convert", "edges", "signs.txt", "s.h5", "--edge-label", "3", "--quiet", "--drop-self-loops")
assert labelled("s.h5")[1] == ["-1", "1", "-1", None]
run("convert", "edges", "signs.txt", "s.h5", "--edge-label", "3", "--quiet", "--missing-labels", "-1")
assert labelled("s.h5")[1] == [None, "1", None, None]  # the word adds to ?
run("convert", "edges", "signs.txt", "s.h5", "--edge-label", "3", "--quiet", "--missing-labels", "")
assert labelled("s.h5")[1] == ["-1", "1", "-1", "?"]
write("people.csv", "id,label\n1,a\n2,b\n3,c\n")
run("convert", "edges", "signs.txt", "s.h5", "--edge-label", "3", "--quiet", "--features", "people.csv", "--label", "none",
    "--without", "label")
write("gaps.csv", "a,b,t\nx,y,0.5\ny,z,\nz,x,-2e3\n")
run("convert", "edges", "gaps.csv", "g.h5", "--edge-label", "t", "--edge-task", "edge_regression", "--quiet")
assert str(labelled("g.h5")[1]) == "[(0.5,), (nan,), (-2000.0,)]"
write("names.tsv", "x\ty\tred\ny\tz\tblue\nz\tx\tred\n")  # the first line may be a header: its label must not stay a class
write("header.tsv", "p\tq\tcolour\n" + open("names.tsv").read())
run("convert", "edges", "header.tsv", "h.h5", "--edge-label", "colour", "--quiet", "--source", "p", "--target", "q")
assert labelled("h.h5")[1] == ["red", "blue", "red"]
for options, status, words in (
        (("--edge-label", "nothing"), 1, ("kinds.csv:1", "nothing")),
        (("--edge-label", "from", "--source", "from", "--target", "to"), 1, ("one column for two purposes",)),
        (("--edge-label", "kind", "--edge-task", "edge_regression", "--source", "from", "--target", "to"), 1, ('kinds.csv:2: "friend"', "a target")),
        (("--edge-label", "kind", "--coalesce"), 2, ("--coalesce",)),
        (("--edge-label", "kind", "--labels", "kinds.csv"), 2, ("--labels",)),
        (("--edge-label", "kind", "--edge-task", "node_class"), 2, ("edge_class or edge_regression",)),
        (("--edge-task", "edge_regression"), 2, ("--edge-label",)),
        (("--edge-label", "amount", "--edge-task", "edge_regression", "--split", "60,20,20", "--stratified"), 2, ("--stratified",))):
    refused("convert", "edges", "kinds.csv", "bad.h5", *options, status=status, words=words)
write("none.csv", "a,b,kind\nx,y,\ny,z,NA\n")
refused("convert", "edges", "none.csv", "bad.h5", "--edge-label", "kind", status=1, words=("no labels of edges",))
write("matrix.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 1\n1 2 1\n")
refused("convert", "edges", "matrix.mtx", "bad.h5", "--edge-label", "3", status=1, words=("Matrix Market",))

# A planted graph: whether two people agree depends on their groups, which their features tell but for noise.
N, M = 240, 2400
group = rng.integers(0, 3, N)
x = np.eye(3)[group] @ rng.normal(size=(3, 8)) + 0.15 * rng.normal(size=(N, 8))
src, dst = rng.integers(0, N, M), rng.integers(0, N, M)
src[:3], dst[:3] = (5, 6, 7), (5, 6, 7)  # loops
src[3], dst[3] = src[4], dst[4]  # parallel edges
KINDS = ("after", "before", "same")
kind = (group[src] - group[dst]) % 3
kind = np.where(kind == 0, 2, kind - 1)  # depends on the direction
amount = 3.0 * (group[src] == group[dst]) + 100 + 0.1 * rng.normal(size=M)
names = [f"p{k * 7 % N}" for k in range(N)]
with open("people.csv", "w", newline="") as file:
    csv.writer(file).writerows([("id", *(f"f{k}" for k in range(8))), *((names[i], *map(repr, x[i].tolist())) for i in range(N))])
with open("deals.csv", "w", newline="") as file:
    csv.writer(file).writerows([("source", "target", "kind", "amount"), *((names[a], names[b], KINDS[k], repr(float(t)))
                                                                          for a, b, k, t in zip(src, dst, kind, amount))])
deals = [(names[a], names[b]) for a, b in zip(src, dst)]
convert = ("convert", "edges", "deals.csv")
nodes = ("--features", "people.csv", "--split", "60,20,20", "--seed", "3")
out = run(*convert, "kind.h5", "--edge-label", "kind", *nodes, "--stratified")
assert "1440 edges to train" in out or "edges to train" in out, out
run(*convert, "amount.h5", "--edge-label", "amount", "--edge-task", "edge_regression", *nodes, "--quiet")
edges, y, splits = labelled("kind.h5")
assert edges == deals and y == [KINDS[k] for k in kind]
assert sorted(np.concatenate(list(splits.values())).tolist()) == list(range(M))
for part, share in zip(("train", "val", "test"), (0.6, 0.2, 0.2)):
    for k in range(3):
        assert abs((kind[splits[part]] == k).sum() - share * (kind == k).sum()) <= 1.5
out = run("inspect", "kind.h5")
assert "edge_class" in out and "before" in out and "2400 of 2400" in out.replace(",", ""), out

# In a symmetric graph an edge and its reverse are in one part, also of a file that lists them in any order.
run(*convert, "both.h5", "--edge-label", "kind", "--undirected", "--features", "people.csv", "--quiet")
with h5py.File("both.h5", "a") as f:
    order = rng.permutation(f["edges/src"].shape[0])
    for name in ("edges/src", "edges/dst", "edges/y"):
        f[name][...] = f[name][...][order]
    f["edges/y"][0] = -1
run("split", "both.h5", "--split", "50,25,25", "--splits", "2")
edges, y, splits = labelled("both.h5")
part_of = {int(e): part for part, index in splits.items() for e in index}
assert 0 not in part_of and len(part_of) == len(edges) - 1
together = {}
for e, part in part_of.items():
    assert together.setdefault(frozenset(edges[e]), part) == part
with h5py.File("both.h5") as f:
    assert "splits/1/train" in f
refused("split", "both.h5", "b2.h5", "--by-column", "f0", "--table", "people.csv", status=1, words=("edge_class", "random"))

# Labels and splits follow their edges when nodes are reordered; files in any order of edges are read alike.
with h5py.File("kind.h5") as a, h5py.File("mixed.h5", "w") as f:
    for name in a:
        a.copy(name, f)
    f.attrs.update(a.attrs)
    order = rng.permutation(M)
    place = np.argsort(order)
    for name in ("edges/src", "edges/dst", "edges/y"):
        f[name][...] = f[name][...][order]
    for part in ("train", "val", "test"):
        f[f"splits/{part}"][...] = place[f[f"splits/{part}"][...]]
run("reorder", "rabbit", "mixed.h5", "moved.h5")


def contents(path):
    edges, y, splits = labelled(path)
    part_of = {int(e): part for part, index in splits.items() for e in index}
    return sorted((*edge, label, part_of[e]) for e, (edge, label) in enumerate(zip(edges, y)))


assert contents("kind.h5") == contents("mixed.h5") == contents("moved.h5")

# The scripts read and write them, too.
for data in ("kind.h5", "amount.h5"):
    to_adjoint(read_dataset(data), "copy.h5")
    assert contents("copy.h5") == contents(data)
    run("inspect", "copy.h5")
arrays = read_dataset("kind.h5")
assert arrays["edge_y"].shape == (M,) and arrays["class_names"] == list(KINDS)
try:
    to_adjoint(arrays | {"edge_y": arrays["edge_y"][1:]}, "bad.h5")
    raise AssertionError("labels of fewer edges")
except DataError as error:
    assert "edges/y" in str(error), error


def weights_of(checkpoint, prefix="model."):
    with h5py.File(checkpoint) as f:
        tensors = {}
        f["tensors"].visititems(lambda name, item: tensors.update({name: item[...]}) if isinstance(item, h5py.Dataset) else None)
    return {name[len(prefix):]: value.astype(np.float64) for name, value in tensors.items() if name.startswith(prefix)}


def forward(w, features, src, dst, attributes):
    """The GCN of two layers and the decoder, in float64."""
    n = len(features)
    adjacency = np.zeros((n, n))
    np.add.at(adjacency, (dst, src), 1.0)
    loops = np.diag(adjacency) > 0
    adjacency[np.diag_indices(n)] = np.where(loops, 1.0, adjacency[np.diag_indices(n)] + 1.0)
    scale = 1 / np.sqrt(adjacency.sum(1))
    adjacency = adjacency * scale[:, None] * scale[None, :]
    h = np.maximum(adjacency @ features @ w["encoder.convs.0.weight"] + w["encoder.convs.0.bias"], 0)
    z = adjacency @ h @ w["encoder.convs.1.weight"] + w["encoder.convs.1.bias"]
    y = z[src] @ w["source.weight"] + w["source.bias"] + z[dst] @ w["target.weight"]
    if attributes is not None:
        y = y + attributes @ w["attributes.weight"]
    return np.maximum(y, 0) @ w["output.weight"] + w["output.bias"]


# One step's loss and all outputs, with and without edge attributes, classes and numbers.
attributes = rng.normal(size=(M, 2)).astype(np.float32)
for data, with_attributes in (("kind.h5", False), ("kind.h5", True), ("amount.h5", True)):
    with h5py.File(data) as a, h5py.File("one.h5", "w") as f:
        for name in a:
            a.copy(name, f)
        f.attrs.update(a.attrs)
        if with_attributes:
            f["edges/attr"] = attributes
        features, train = a["nodes/x"][...].astype(np.float64), a["splits/train"][...]
        s, t, labels = a["edges/src"][...], a["edges/dst"][...], a["edges/y"][...]
    run("train_edge", "one.h5", "--epochs", 1, "--lr", 1e-30, "--hidden", 8, "--embedding", 6, "--features-scaling", "none",
        "--metrics", "m.csv", "--checkpoint", "one.ckpt.h5", "--predict", "one.csv", "--quiet")
    w = weights_of("one.ckpt.h5")
    assert ("attributes.weight" in w) == with_attributes
    outputs = forward(w, features, s, t, attributes if with_attributes else None)
    found = rows("one.csv")
    assert [(row["source"], row["target"]) for row in found] == deals
    if data == "kind.h5":
        score = np.array([[float(row[f"score_{name}"]) for name in KINDS] for row in found])
        logits = outputs - outputs.max(1, keepdims=True)
        loss = -(logits - np.log(np.exp(logits).sum(1, keepdims=True)))[np.arange(M), labels][train].mean()
        assert [row["class"] for row in found] == [KINDS[k] for k in outputs.argmax(1)]
    else:
        score = np.array([[float(row["prediction"])] for row in found])
        mean, deviation = labels[train].astype(np.float64).mean(), labels[train].astype(np.float64).std()
        loss = np.square(outputs[train, 0] - (labels[train, 0] - mean) / deviation).mean()
        outputs = outputs * deviation + mean
    np.testing.assert_allclose(score, outputs, rtol=1e-3, atol=1e-4)
    assert abs(float(rows("m.csv")[0]["train_loss"]) - loss) < 1e-4 * max(1, loss), (rows("m.csv")[0], loss)

# Models find the classes, full-batch and in batches; the written predictions are those measured.
base = ("--epochs", 40, "--quiet", "--json")
edges, _, splits = labelled("kind.h5")
for options in ((), ("--dropout", "0.2"), ("--loader", "neighbor", "--fanouts", "8,4", "--batch-size", 256),
                ("--loader", "neighbor", "--fanouts", "6,6", "--batch-size", 100, "--evaluation", "layers")):
    done = json.loads(run("train_edge", "kind.h5", "--model", "sage", *base, *options, "--predict", "p.csv", "--class-scores").splitlines()[-1])
    found = rows("p.csv")
    hits = np.array([row["class"] == KINDS[k] for row, k in zip(found, kind)])
    assert done["test_acc"] >= 0.95, (options, done)
    np.testing.assert_allclose(done["test_acc"], hits[splits["test"]].mean(), atol=1e-6)
    assert done["dataset"] == "deals" and list(found[0])[:3] == ["source", "target", "class"]
# GCN and GAT mix a node with its neighbours: of a graph whose edges stay within a group nine times out of ten, the source's group.
near = np.where(rng.random(M) < 0.9, np.array([rng.choice(np.flatnonzero(group == g)) for g in group[src]]), dst)
with open("near.csv", "w", newline="") as file:
    csv.writer(file).writerows([("source", "target", "kind"), *((names[a], names[b], KINDS[group[a]]) for a, b in zip(src, near))])
run("convert", "edges", "near.csv", "near.h5", "--edge-label", "kind", *nodes, "--quiet")
for options in (("gcn",), ("gat", "--heads", 2), ("gat", "--loader", "neighbor", "--fanouts", "8,8", "--batch-size", 256)):
    done = json.loads(run("train_edge", "near.h5", *base, "--model", *options).splitlines()[-1])
    assert done["test_acc"] >= 0.95, (options, done)
done = json.loads(run("train_edge", "amount.h5", *base, "--model", "sage", "--predict", "p.h5").splitlines()[-1])
assert done["metric"] == "r2" and done["test_acc"] >= 0.95, done
with h5py.File("p.h5") as f:
    assert f.attrs["task"] == "edge_regression" and f["edges/prediction"].shape == (M, 1)
    test = labelled("amount.h5")[2]["test"]
    residual = f["edges/prediction"][...][test, 0] - amount[test]
    assert abs(1 - np.square(residual).sum() / np.square(amount[test] - amount[test].mean()).sum() - done["test_acc"]) < 1e-4
    with h5py.File("amount.h5") as a:
        assert (f["edges/src"][...] == a["edges/src"][...]).all() and (f["edges/dst"][...] == a["edges/dst"][...]).all()

found = read_predictions("p.h5")
assert found["prediction"].shape == (M, 1) and found["src"].shape == (M,) and found["task"] == "edge_regression"

# Labels are no inputs: with others in validation and test the weights are the same.
with h5py.File("one.h5", "w") as f, h5py.File("kind.h5") as a:
    for name in a:
        a.copy(name, f)
    f.attrs.update(a.attrs)
    held = np.concatenate([a["splits/val"][...], a["splits/test"][...]])
    changed = f["edges/y"][...]
    changed[held] = (changed[held] + 1) % 3
    f["edges/y"][...] = changed
for data, checkpoint in (("kind.h5", "a.h5"), ("one.h5", "b.h5")):
    run("train_edge", data, "--epochs", 5, "--quiet", "--checkpoint", checkpoint, "--model", "gat")
a, b = weights_of("a.h5"), weights_of("b.h5")
assert a.keys() == b.keys() and all((a[name] == b[name]).all() for name in a)

# Resume, predict, run folders, and the same file in another order of its edges.
options = ("--model", "sage", "--loader", "neighbor", "--fanouts", "6,6", "--seed", 2, "--quiet")
run("train_edge", "kind.h5", *options, "--epochs", 6, "--predict", "whole.csv", "--checkpoint", "whole.h5", "--run-dir", "runs/1")
run("train_edge", "kind.h5", *options, "--epochs", 3, "--checkpoint", "half.h5")
run("train_edge", "kind.h5", *options, "--epochs", 6, "--resume", "half.h5", "--predict", "resumed.csv", "--report", "r.html")
assert open("whole.csv").read() == open("resumed.csv").read()
run("predict", "kind.h5", "--checkpoint", "whole.h5", "--out", "again.csv", "--quiet")
again = run("predict", "kind.h5", "--checkpoint", "whole.h5", "--out", "again.csv", "--class-scores", "--embeddings", "z.csv")
with open("runs/1/run.json") as file:
    assert f"{json.load(file)['result']['test_acc']:.4f}" in again, again
for one, two in zip(rows("whole.csv"), rows("again.csv")):
    assert one["source"] == two["source"] and one["class"] == two["class"]
    assert abs(float(one["score_same"]) - float(two["score_same"])) < 1e-4
assert len(rows("z.csv")) == N
run("predict", "mixed.h5", "--checkpoint", "whole.h5", "--out", "mixed.csv", "--quiet")
for e, row in zip(order.tolist(), rows("mixed.csv")):
    assert (row["source"], row["target"]) == deals[e]
    assert abs(float(row["score_same"]) - float(rows("again.csv")[e]["score_same"])) < 1e-4 if e < 20 else True
run("predict", "moved.h5", "--checkpoint", "whole.h5", "--out", "moved.csv", "--quiet", "--evaluation", "layers")
by_ends = {}
for row in rows("again.csv"):
    by_ends[row["source"], row["target"]] = row
for row, edge in zip(rows("moved.csv"), labelled("moved.h5")[0]):
    assert (row["source"], row["target"]) == edge
    assert abs(float(row["score_same"]) - float(by_ends[edge]["score_same"])) < 1e-3

# Without labels for predictions; classes by name in another order.
with h5py.File("new.h5", "w") as f, h5py.File("kind.h5") as a:
    for name in ("nodes", "edges/src", "edges/dst"):
        a.copy(name, f, name=name)
    f.attrs.update({**a.attrs, "task": "none", "num_classes": 0})
run("predict", "new.h5", "--checkpoint", "whole.h5", "--out", "new.csv", "--quiet")
assert open("new.csv").read() == open("again.csv").read()
with h5py.File("renamed.h5", "w") as f, h5py.File("kind.h5") as a:
    for name in a:
        a.copy(name, f)
    f.attrs.update(a.attrs)
    f["edges/y"][...] = (f["edges/y"][...] + 1) % 3
    text = [KINDS[2], KINDS[0], KINDS[1]]
    del f["edges/class_names"], f["edges/class_names_offsets"]
    f["edges/class_names"] = np.frombuffer("".join(text).encode(), np.uint8)
    f["edges/class_names_offsets"] = np.cumsum([0] + [len(name) for name in text])
assert [line for line in run("predict", "renamed.h5", "--checkpoint", "whole.h5", "--out", "c.csv").splitlines() if "test" in line] == [
    line for line in again.splitlines() if line.startswith("test")]

# Columns of edge attributes are matched by their names: in another order they give the same logits, and what is missing is named.
places = rng.normal(size=(60, 2)).astype(np.float32)
ends = rng.integers(0, 60, (2, 400))
attributes = rng.normal(size=(400, 3)).astype(np.float32)
roads = {"x": places, "y": rng.integers(0, 2, 60), "splits": {p: np.arange(60) % 3 == k for k, p in enumerate(("train", "val", "test"))},
        "edge_index": ends}
to_adjoint({**roads, "edge_attr": attributes, "attr_names": ["fare", "length", "rail"]}, "roads.h5")
to_adjoint({**roads, "edge_attr": np.hstack([attributes[:, [2, 0]], rng.normal(size=(400, 1)), attributes[:, [1]]]),
            "attr_names": ["rail", "fare", "other", "length"]}, "moved.h5")
to_adjoint({**roads, "edge_attr": attributes, "attr_names": ["fare", "length", "road"]}, "other.h5")
for program, options in (("train_gat", ("--heads", 2)), ("train_edge", ("--model", "gat"))):
    data, moved, other = "roads.h5", "moved.h5", "other.h5"
    if program == "train_edge":
        for name in (data, moved, other):
            with h5py.File(name, "r+") as f:
                f["edges/y"], f.attrs["task"] = np.arange(400) % 2, "edge_class"
                del f["nodes/y"], f["splits"]
                for part in range(3):
                    f[f"splits/{('train', 'val', 'test')[part]}"] = np.arange(part, 400, 3)
    run(program, data, "--epochs", 5, "--quiet", "--checkpoint", "roads.ckpt", *options)
    run("predict", data, "--checkpoint", "roads.ckpt", "--out", "roads.out.h5", "--quiet")
    out = run("predict", moved, "--checkpoint", "roads.ckpt", "--out", "moved.out.h5")
    assert "edge attributes: 'other' passed over" in out and "edge attributes: columns in the order" in out, out
    with h5py.File("roads.out.h5") as a, h5py.File("moved.out.h5") as b:
        place = ("nodes" if program == "train_gat" else "edges") + "/score"
        assert (a[place][...] == b[place][...]).all()
    refused("predict", other, "--checkpoint", "roads.ckpt", "--out", "o.csv", status=1, words=("edges/attr_names", "'rail'", "'road'"))

# Refusals.
run("train_link", "kind.h5", "--epochs", 1, "--quiet", "--node-features", "degree")  # needs no labels
for call, status, words in (
        (("train_gcn", "kind.h5"), 1, ("edge_class", "train_edge trains this")),
        (("train_edge", "k.h5", "--node-features", "degree"), 1, ("splits: missing",)),
        (("train_edge",), 1, ("node_class", "--edge-label")),
        (("train_edge", "kind.h5", "--heads", 3), 2, ("--heads", "--model gat")),
        (("train_edge", "kind.h5", "--metric", "r2"), 2, ("--metric",)),
        (("predict", "kind.h5", "--checkpoint", "whole.h5", "--out", "p.csv", "--nodes", "p0"), 2, ("--nodes",)),
        (("predict", "kind.h5", "--checkpoint", "whole.h5", "--out", "p.csv", "--missing-links", 3), 2, ("model of edges",))):
    refused(*call, status=status, words=words)
for damage, words in (
        (lambda f: f["edges/y"].resize((M - 1,)), ("edges/y", "2399")),
        (lambda f: f["edges/y"].__setitem__(7, 3), ("edges/y", "3")),
        (lambda f: f["edges/y"].__setitem__(int(f["splits/val"][0]), -1), ("splits/val", "no label")),
        (lambda f: f["splits/val"].__setitem__(0, M), ("splits/val", str(M)))):
    with h5py.File("damaged.h5", "w") as f, h5py.File("kind.h5") as a:
        for name in ("nodes", "splits", "edges/src", "edges/dst", "edges/class_names", "edges/class_names_offsets"):
            a.copy(name, f, name=name)
        f.create_dataset("edges/y", data=a["edges/y"][...], maxshape=(None,), chunks=True)
        f.attrs.update(a.attrs)
        damage(f)
    refused("train_edge", "damaged.h5", status=1, words=words)
