"""Labels of edges: `convert edges --edge-label`, `split`, `reorder`, `train_edge` and `predict`, against what numpy reads and
computes from the files."""

import json

from programs import PARTS, datasets_in, expect, h5py, np, packed, read, refused, result_of, rows, run, texts, write

from from_adjoint import read_dataset, read_predictions
from to_adjoint import DataError, to_adjoint

rng = np.random.default_rng(11)


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
        splits = {part: f[f"splits/{part}"][...] for part in PARTS} if "splits" in f else None
    return edges, y, splits


def changed(path, source, change=lambda f: None, places=None):
    """A copy of a file, or of some of its places, with a change."""
    with h5py.File(source) as a, h5py.File(path, "w") as f:
        for place in places or a:
            a.copy(place, f, name=place)
        f.attrs.update(a.attrs)
        change(f)
    return path



# Import: texts and numbers, gaps, a column that is called a relation, quotes, loops, and both directions.
write("kinds.csv", 'from,to,kind,amount,relation\nann,bob,friend,1,x\nbob,cat,"foe, old",2,y\ncat,ann,NA,3,x\ndan,dan,friend,4,y\nann,cat,,5,x\n')
expect(run("convert edges kinds.csv k.h5 --edge-label kind --source from --target to --ids names"), "labels from kind",
       "passed over: amount, relation", "2 of 5 edges are without a label", "2 lines taken as unlabelled")
edges, y, _ = labelled("k.h5")
assert edges == [("ann", "bob"), ("bob", "cat"), ("cat", "ann"), ("dan", "dan"), ("ann", "cat")]
assert y == ["friend", "foe, old", None, "friend", None]
run("convert edges kinds.csv r.h5 --edge-label relation --weight amount --undirected --quiet")
edges, y, _ = labelled("r.h5")
assert y == ["x", "y", "x", "y", "x", "x", "y", "x", "x"] and edges[5:] == [("bob", "ann"), ("cat", "bob"), ("ann", "cat"), ("cat", "ann")]
run("convert edges kinds.csv n.h5 --edge-label amount --edge-task edge_regression --source 1 --target 2 --quiet")
assert labelled("n.h5")[1] == [(1.0,), (2.0,), (3.0,), (4.0,), (5.0,)]
write("signs.txt", "1 2 -1\n2 3 1\n3 1 -1\n1 3 ?\n")  # -1 is a class here, as in networks of trust
for words, y in ((["--drop-self-loops"], ["-1", "1", "-1", None]), (["--missing-labels", "-1"], [None, "1", None, None]),  # adds to ?
                 (["--missing-labels", ""], ["-1", "1", "-1", "?"])):
    run("convert edges signs.txt s.h5 --edge-label 3 --quiet", *words)
    assert labelled("s.h5")[1] == y
write("people.csv", "id,label\n1,a\n2,b\n3,c\n")
run("convert edges signs.txt s.h5 --edge-label 3 --quiet --features people.csv --label none --without label")
write("gaps.csv", "a,b,t\nx,y,0.5\ny,z,\nz,x,-2e3\n")
run("convert edges gaps.csv g.h5 --edge-label t --edge-task edge_regression --quiet")
assert str(labelled("g.h5")[1]) == "[(0.5,), (nan,), (-2000.0,)]"
for words, names in (("gaps.csv", ["t"]), ("gaps.csv --header no --source 1 --target 2", None)):
    write("gaps.csv", ("" if names is None else "a,b,t\n") + "x,y,0.5\ny,z,1.5\nz,x,-2e3\n")
    run(f"convert edges {words} g.h5 --edge-label 3 --edge-task edge_regression --quiet")
    with h5py.File("g.h5") as f:
        assert (texts(f, "edges/class_names") if "edges/class_names" in f else None) == names
write("names.tsv", "x\ty\tred\ny\tz\tblue\nz\tx\tred\n")  # the first line may be a header: its label must not stay a class
write("header.tsv", "p\tq\tcolour\n" + read("names.tsv"))
run("convert edges header.tsv h.h5 --edge-label colour --quiet --source p --target q")
assert labelled("h.h5")[1] == ["red", "blue", "red"]
write("none.csv", "a,b,kind\nx,y,\ny,z,NA\n")
write("matrix.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 1\n1 2 1\n")
for words, status, says in (
        ("kinds.csv bad.h5 --edge-label nothing", 1, ("kinds.csv:1", "nothing")),
        ("kinds.csv bad.h5 --edge-label from --source from --target to", 1, "one column for two purposes"),
        ("kinds.csv bad.h5 --edge-label kind --edge-task edge_regression --source from --target to", 1, ('kinds.csv:2: "friend"', "a target")),
        ("kinds.csv bad.h5 --edge-label kind --coalesce", 2, "--coalesce"),
        ("kinds.csv bad.h5 --edge-label kind --labels kinds.csv", 2, "--labels"),
        ("kinds.csv bad.h5 --edge-label kind --edge-task node_class", 2, "edge_class or edge_regression"),
        ("kinds.csv bad.h5 --edge-task edge_regression", 2, "--edge-label"),
        ("kinds.csv bad.h5 --edge-label amount --edge-task edge_regression --split 60,20,20 --stratified", 2, "--stratified"),
        ("none.csv bad.h5 --edge-label kind", 1, "no labels of edges"), ("matrix.mtx bad.h5 --edge-label 3", 1, "Matrix Market")):
    refused(f"convert edges {words}", status=status, says=says)

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
deals = [(names[a], names[b]) for a, b in zip(src, dst)]
write("people.csv", [("id", *(f"f{k}" for k in range(8))), *((names[i], *map(repr, x[i].tolist())) for i in range(N))])
write("deals.csv", [("source", "target", "kind", "amount"),
                    *((*ends, KINDS[k], repr(float(t))) for ends, k, t in zip(deals, kind, amount))])
nodes = "--features people.csv --split 60,20,20 --seed 3"
expect(run(f"convert edges deals.csv kind.h5 --edge-label kind {nodes} --stratified"), "edges to train")
run(f"convert edges deals.csv amount.h5 --edge-label amount --edge-task edge_regression {nodes} --quiet")
edges, y, splits = labelled("kind.h5")
assert edges == deals and y == [KINDS[k] for k in kind]
assert sorted(np.concatenate(list(splits.values())).tolist()) == list(range(M))
for part, share in zip(PARTS, (0.6, 0.2, 0.2)):
    for k in range(3):
        assert abs((kind[splits[part]] == k).sum() - share * (kind == k).sum()) <= 1.5
for name in "amount", "sum":  # the same targets, under another name
    write("named.csv", [("source", "target", name), *((*ends, t) for ends, t in zip(deals, amount))])
    run(f"convert edges named.csv {name}.h5 --edge-label {name} --edge-task edge_regression {nodes} --quiet")
run("train_edge amount.h5 --epochs 1 --quiet --checkpoint amount.ckpt")
expect(run("predict amount.h5 --checkpoint amount.ckpt --out p.csv"), "test R2")
assert "prediction_amount" in read("p.csv").split("\n")[0]
expect(run("predict sum.h5 --checkpoint amount.ckpt --out p.csv"), "no metric: sum.h5 has no labels 'amount', but 'sum'")
expect(run("inspect kind.h5").replace(",", ""), "edge_class", "before", "2400 of 2400")

# In a symmetric graph an edge and its reverse are in one part, also of a file that lists them in any order.
run("convert edges deals.csv both.h5 --edge-label kind --undirected --features people.csv --quiet")
with h5py.File("both.h5", "a") as f:
    order = rng.permutation(f["edges/src"].shape[0])
    for name in ("edges/src", "edges/dst", "edges/y"):
        f[name][...] = f[name][...][order]
    f["edges/y"][0] = -1
run("split both.h5 --split 50,25,25 --splits 2")
edges, y, splits = labelled("both.h5")
part_of = {int(e): part for part, index in splits.items() for e in index}
assert 0 not in part_of and len(part_of) == len(edges) - 1
together = {}
for e, part in part_of.items():
    assert together.setdefault(frozenset(edges[e]), part) == part
assert "1/train" in datasets_in("both.h5", "splits")
refused("split both.h5 b2.h5 --by-column f0 --table people.csv", says=("edge_class", "random"))

# Labels and splits follow their edges when nodes are reordered; files in any order of edges are read alike.
order = rng.permutation(M)


def mix(f):
    for name in ("edges/src", "edges/dst", "edges/y"):
        f[name][...] = f[name][...][order]
    for part in PARTS:
        f[f"splits/{part}"][...] = np.argsort(order)[f[f"splits/{part}"][...]]


changed("mixed.h5", "kind.h5", mix)
run("reorder rabbit mixed.h5 moved.h5")


def contents(path):
    edges, y, splits = labelled(path)
    part_of = {int(e): part for part, index in splits.items() for e in index}
    return sorted((*edge, label, part_of[e]) for e, (edge, label) in enumerate(zip(edges, y)))


assert contents("kind.h5") == contents("mixed.h5") == contents("moved.h5")

# The scripts read and write them, too.
for data in ("kind.h5", "amount.h5"):
    to_adjoint(read_dataset(data), "copy.h5")
    assert contents("copy.h5") == contents(data)
    run("inspect copy.h5")
arrays = read_dataset("kind.h5")
assert arrays["edge_y"].shape == (M,) and arrays["class_names"] == list(KINDS)
try:
    to_adjoint(arrays | {"edge_y": arrays["edge_y"][1:]}, "bad.h5")
    raise AssertionError("labels of fewer edges")
except DataError as error:
    assert "edges/y" in str(error), error


def weights_of(checkpoint, prefix="model."):
    found = datasets_in(checkpoint, "tensors")
    return {name[len(prefix):]: value.astype(np.float64) for name, value in found.items() if name.startswith(prefix)}


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
    changed("one.h5", data, lambda f: with_attributes and f.create_dataset("edges/attr", data=attributes))
    found = datasets_in("one.h5")
    features, train = found["nodes/x"].astype(np.float64), found["splits/train"]
    s, t, labels = found["edges/src"], found["edges/dst"], found["edges/y"]
    run("train_edge one.h5 --epochs 1 --lr 1e-30 --hidden 8 --embedding 6 --features-scaling none --metrics m.csv "
        "--checkpoint one.ckpt.h5 --predict one.csv --quiet")
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
        score = np.array([[float(row["prediction_amount"])] for row in found])
        mean, deviation = labels[train].astype(np.float64).mean(), labels[train].astype(np.float64).std()
        loss = np.square(outputs[train, 0] - (labels[train, 0] - mean) / deviation).mean()
        outputs = outputs * deviation + mean
    np.testing.assert_allclose(score, outputs, rtol=1e-3, atol=1e-4)
    assert abs(float(rows("m.csv")[0]["train_loss"]) - loss) < 1e-4 * max(1, loss), (rows("m.csv")[0], loss)

# Models find the classes, full-batch and in batches; the written predictions are those measured.
base = "--epochs 40 --quiet --json --model"
edges, _, splits = labelled("kind.h5")
for options in ("", "--dropout 0.2", "--loader neighbor --fanouts 8,4 --batch-size 256",
                "--loader neighbor --fanouts 6,6 --batch-size 100 --evaluation layers"):
    done = result_of(f"train_edge kind.h5 {base} sage {options} --predict p.csv --class-scores")
    found = rows("p.csv")
    hits = np.array([row["class"] == KINDS[k] for row, k in zip(found, kind)])
    assert done["test_acc"] >= 0.95, (options, done)
    np.testing.assert_allclose(done["test_acc"], hits[splits["test"]].mean(), atol=1e-6)
    assert done["dataset"] == "deals" and list(found[0])[:3] == ["source", "target", "class"]
# GCN and GAT mix a node with its neighbours: of a graph whose edges stay within a group nine times out of ten, the source's group.
near = np.where(rng.random(M) < 0.9, np.array([rng.choice(np.flatnonzero(group == g)) for g in group[src]]), dst)
write("near.csv", [("source", "target", "kind"), *((names[a], names[b], KINDS[group[a]]) for a, b in zip(src, near))])
run(f"convert edges near.csv near.h5 --edge-label kind {nodes} --quiet")
for model in ("gcn", "gat --heads 2", "gat --loader neighbor --fanouts 8,8 --batch-size 256"):
    done = result_of(f"train_edge near.h5 {base} {model}")
    assert done["test_acc"] >= 0.95, (model, done)
done = result_of(f"train_edge amount.h5 {base} sage --predict p.h5")
assert done["metric"] == "r2" and done["test_acc"] >= 0.95, done
found = read_predictions("p.h5")
assert found["task"] == "edge_regression" and found["prediction"].shape == (M, 1)
test = labelled("amount.h5")[2]["test"]
residual = found["prediction"][test, 0] - amount[test]
assert abs(1 - np.square(residual).sum() / np.square(amount[test] - amount[test].mean()).sum() - done["test_acc"]) < 1e-4
stored = datasets_in("amount.h5", "edges")
assert (found["src"] == stored["src"]).all() and (found["dst"] == stored["dst"]).all()

# Labels are no inputs: with others in validation and test the weights are the same.
held = np.isin(np.arange(M), np.concatenate([splits["val"], splits["test"]]))
changed("one.h5", "kind.h5", lambda f: f["edges/y"].write_direct((f["edges/y"][...] + held) % 3))
for data, checkpoint in (("kind.h5", "a.h5"), ("one.h5", "b.h5")):
    run(f"train_edge {data} --epochs 5 --quiet --checkpoint {checkpoint} --model gat")
a, b = weights_of("a.h5"), weights_of("b.h5")
assert a.keys() == b.keys() and all((a[name] == b[name]).all() for name in a)

# Resume, predict, run folders, and the same file in another order of its edges.
training = "train_edge kind.h5 --model sage --loader neighbor --fanouts 6,6 --seed 2 --quiet"
run(f"{training} --epochs 6 --predict whole.csv --checkpoint whole.h5 --run-dir runs/1")
run(f"{training} --epochs 3 --checkpoint half.h5")
run(f"{training} --epochs 6 --resume half.h5 --predict resumed.csv --report r.html")
assert read("whole.csv") == read("resumed.csv")
again = run("predict kind.h5 --checkpoint whole.h5 --out again.csv --class-scores --embeddings z.csv")
expect(again, f"{json.loads(read('runs/1/run.json'))['result']['test_acc']:.4f}")
for one, two in zip(rows("whole.csv"), rows("again.csv")):
    assert one["source"] == two["source"] and one["class"] == two["class"]
    assert abs(float(one["score_same"]) - float(two["score_same"])) < 1e-4
assert len(rows("z.csv")) == N
run("predict mixed.h5 --checkpoint whole.h5 --out mixed.csv --quiet")
found = rows("again.csv")
for e, row in zip(order.tolist(), rows("mixed.csv")):
    assert (row["source"], row["target"]) == deals[e]
    assert abs(float(row["score_same"]) - float(found[e]["score_same"])) < 1e-4
run("predict moved.h5 --checkpoint whole.h5 --out moved.csv --quiet --evaluation layers")
by_ends = {(row["source"], row["target"]): row for row in found}
for row, edge in zip(rows("moved.csv"), labelled("moved.h5")[0]):
    assert (row["source"], row["target"]) == edge
    assert abs(float(row["score_same"]) - float(by_ends[edge]["score_same"])) < 1e-3

# Without labels for predictions; classes by name in another order.
changed("new.h5", "kind.h5", lambda f: f.attrs.update({"task": "none", "num_classes": 0}), ("nodes", "edges/src", "edges/dst"))
run("predict new.h5 --checkpoint whole.h5 --out new.csv --quiet")
assert read("new.csv") == read("again.csv")


def rename(f):
    f["edges/y"][...] = (f["edges/y"][...] + 1) % 3
    for place, values in packed("edges/class_names", [KINDS[2], KINDS[0], KINDS[1]]).items():
        del f[place]
        f[place] = values


changed("renamed.h5", "kind.h5", rename)
assert [line for line in run("predict renamed.h5 --checkpoint whole.h5 --out c.csv").splitlines() if "test" in line] == [
    line for line in again.splitlines() if line.startswith("test")]

# Columns of edge attributes are matched by their names: in another order they give the same logits, and what is missing is named.
places = rng.normal(size=(60, 2)).astype(np.float32)
ends = rng.integers(0, 60, (2, 400))
attributes = rng.normal(size=(400, 3)).astype(np.float32)
roads = {"x": places, "y": rng.integers(0, 2, 60), "splits": {p: np.arange(60) % 3 == k for k, p in enumerate(PARTS)},
        "edge_index": ends}
to_adjoint({**roads, "edge_attr": attributes, "attr_names": ["fare", "length", "rail"]}, "roads.h5")
to_adjoint({**roads, "edge_attr": np.hstack([attributes[:, [2, 0]], rng.normal(size=(400, 1)), attributes[:, [1]]]),
            "attr_names": ["rail", "fare", "other", "length"]}, "moved.h5")
to_adjoint({**roads, "edge_attr": attributes, "attr_names": ["fare", "length", "road"]}, "other.h5")
for program, options in (("train_gat", "--heads 2"), ("train_edge", "--model gat")):
    if program == "train_edge":
        for name in ("roads.h5", "moved.h5", "other.h5"):
            with h5py.File(name, "r+") as f:
                f["edges/y"], f.attrs["task"] = np.arange(400) % 2, "edge_class"
                del f["nodes/y"], f["splits"]
                for k, part in enumerate(PARTS):
                    f[f"splits/{part}"] = np.arange(k, 400, 3)
    run(f"{program} roads.h5 --epochs 5 --quiet --checkpoint roads.ckpt {options}")
    run("predict roads.h5 --checkpoint roads.ckpt --out roads.out.h5 --quiet")
    expect(run("predict moved.h5 --checkpoint roads.ckpt --out moved.out.h5"), "edge attributes: 'other' passed over",
           "edge attributes: columns in the order")
    place = ("nodes" if program == "train_gat" else "edges") + "/score"
    assert (datasets_in("roads.out.h5")[place] == datasets_in("moved.out.h5")[place]).all()
    refused("predict other.h5 --checkpoint roads.ckpt --out o.csv", says=("edges/attr_names", "'rail'", "'road'"))
    changed("bare.h5", "roads.h5", lambda f: [f.pop("edges/" + name) for name in list(f["edges"]) if name.startswith("attr")])
    assert "matched by position" not in refused("predict bare.h5 --checkpoint roads.ckpt --out o.csv", says="0 edge attribute columns")

# Refusals.
run("train_link kind.h5 --epochs 1 --quiet --node-features degree")  # needs no labels
for line, status, says in (
        ("train_gcn kind.h5", 1, ("edge_class", "train_edge trains this")),
        ("train_edge k.h5 --node-features degree", 1, "splits: missing"),
        ("train_edge", 1, ("node_class", "--edge-label")),
        ("train_edge kind.h5 --heads 3", 2, ("--heads", "--model gat")),
        ("train_edge kind.h5 --metric r2", 2, "--metric"),
        ("predict kind.h5 --checkpoint whole.h5 --out p.csv --nodes p0", 2, "--nodes"),
        ("predict kind.h5 --checkpoint whole.h5 --out p.csv --missing-links 3", 2, "model of edges")):
    refused(line, status=status, says=says)


def shorten(f):
    y = f["edges/y"][1:]
    del f["edges/y"]
    f["edges/y"] = y


for damage, words in (
        (shorten, ("edges/y", "2399")),
        (lambda f: f["edges/y"].__setitem__(7, 3), ("edges/y", "3")),
        (lambda f: f["edges/y"].__setitem__(int(f["splits/val"][0]), -1), ("splits/val", "no label")),
        (lambda f: f["splits/val"].__setitem__(0, M), ("splits/val", str(M)))):
    changed("damaged.h5", "kind.h5", damage)
    refused("train_edge damaged.h5", says=words)
