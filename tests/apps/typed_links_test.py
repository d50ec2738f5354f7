"""`train_link` and `predict` on links between nodes of several types: scores by name, metrics by numpy, what is hidden, and what is
refused."""

import csv
import itertools
import json
import shutil

from programs import expect, h5py, np, refused, result_of, run, texts, write
import from_adjoint  # programs adds data/ to the path

rng = np.random.default_rng(11)
USERS, ITEMS, SHOPS, TASTES = 90, 70, 6, 3
TASTE, KIND = rng.integers(0, TASTES, USERS), rng.integers(0, TASTES, ITEMS)
NAMES = {"user": [f"u{k}" for k in range(USERS)], "item": [f"i{k}" for k in range(ITEMS)], "shop": [f"s{k}" for k in range(SHOPS)]}
X = {"user": None, "item": rng.normal(size=(ITEMS, 5)) + 2 * np.eye(5)[KIND], "shop": rng.normal(size=(SHOPS, 2))}
TOOK = [(u, i) for u in range(USERS) for i in range(ITEMS) if rng.random() < (0.3 if TASTE[u] == KIND[i] else 0.01)]
KNOWS = [(a, b) for a in range(USERS) for b in range(a) if rng.random() < (0.15 if TASTE[a] == TASTE[b] else 0.005)]
SELLS = [(rng.integers(0, SHOPS), i) for i in range(ITEMS)]


def save(path, turned=False, reverse=False, took=TOOK, knows=KNOWS):
    """`turned`: nodes in another order; `reverse`: the file has the reverse relation itself, and a copy under another name."""
    order = {t: rng.permutation(len(names)) if turned else np.arange(len(names)) for t, names in NAMES.items()}
    place = {t: np.argsort(order[t]) for t in order}
    edges = {("user", "took", "item"): took, ("shop", "sells", "item"): SELLS, ("user", "knows", "user"): knows}
    if reverse:
        edges |= {("item", "rev_took", "user"): [(i, u) for u, i in took], ("item", "in_cart", "user"): [(i, u) for u, i in took]}
    with h5py.File(path, "w") as f:
        f.attrs["format"], f.attrs["version"], f.attrs["name"] = "adjoint.graph", 2, "shop"
        for t in order:
            g = f.create_group(f"nodes/{t}")
            g.attrs["name"], g.attrs["num_nodes"] = t, len(order[t])
            names = [NAMES[t][k].encode() for k in order[t]]
            g["name"] = np.frombuffer(b"".join(names), np.uint8)
            g["name_offsets"] = np.cumsum([0] + [len(name) for name in names])
            if X[t] is not None:
                g["x"] = X[t][order[t]].astype(np.float32)
        for k, ((src, name, dst), pairs) in enumerate(edges.items()):
            g = f.create_group(f"edges/{k}")
            g.attrs["source"], g.attrs["name"], g.attrs["target"] = src, name, dst
            pairs = np.array(pairs).reshape(-1, 2)
            g["src"], g["dst"] = place[src][pairs[:, 0]], place[dst][pairs[:, 1]]


def rows(path):
    with open(path) as f:
        return list(csv.DictReader(f))


def auc(found):
    positive = np.array([float(row["score"]) for row in found if row["label"] == "1"])
    negative = np.array([float(row["score"]) for row in found if row["label"] == "0"])
    assert len(positive) == len(negative)
    return ((positive[:, None] > negative).mean() + 0.5 * (positive[:, None] == negative).mean())


MODELS = ("rgcn", "rgat --heads 2", "hgt --heads 2 --dropout 0.1", "rgcn --inputs embedding --decoder mlp --bases 2")
LOADERS = ("", "--loader neighbor --fanouts 8 --batch-size 128", "--loader neighbor --fanouts 4 --fanouts-per relation --evaluation graph --batch-size 128")
TYPES = ("user:took:item", "user:knows:user")


def test_crossed():
    """Models, loaders and relations find hidden links; scores and metrics are those of the files, by name."""
    save("a.h5")
    save("turned.h5", turned=True)
    taken = {"took": {(f"u{u}", f"i{i}") for u, i in TOOK}, "knows": {(f"u{a}", f"u{b}") for a, b in KNOWS}}
    for model, loader, edges in itertools.product(MODELS, LOADERS, TYPES):
        if "hgt" in model and "--evaluation" not in loader and loader:
            loader += " --evaluation graph"
        if edges == TYPES[1] and model not in MODELS[::2]:
            continue
        words = f"{model} {loader} {edges}"
        found = result_of(f"train_link a.h5 --edges {edges} --model {model} {loader} --epochs 40 --lr 0.02 --hidden 16 --embedding 8 "
                          "--test 0.2 --predict t.csv --checkpoint c.h5 --json --quiet")
        scored = rows("t.csv")
        assert found["test_auc"] > 0.58, (words, found["test_auc"])
        assert abs(auc(scored) - found["test_auc"]) < 1e-6, words
        relation = edges.split(":")[1]
        for row in scored:
            pair = row["source"], row["target"]
            joined = pair in taken[relation] or (relation == "knows" and pair[::-1] in taken[relation])
            assert joined == (row["label"] == "1"), (words, pair)
        # The graph of the file has the hidden edges too: other scores than in the training, the same in any order of nodes.
        write("pairs.csv", "source,target\n" + "".join(f"{row['source']},{row['target']}\n" for row in scored))
        run("predict a.h5 --checkpoint c.h5 --pairs pairs.csv --out p.csv")
        run("predict turned.h5 --checkpoint c.h5 --pairs pairs.csv --out q.csv")
        for one, two, row in zip(rows("p.csv"), rows("q.csv"), scored, strict=True):
            assert (one["source"], one["target"]) == (two["source"], two["target"]) == (row["source"], row["target"])
            assert abs(float(one["score"]) - float(two["score"])) < 1e-3, (words, one, two)
        # The best missing links of two users, against the scores of all candidates.
        run("predict turned.h5 --checkpoint c.h5 --missing-links 7 --nodes u3,u8 --out m.csv")
        others = NAMES[edges.split(":")[2]]
        for user, best in (("u3", rows("m.csv")[:7]), ("u8", rows("m.csv")[7:])):
            free = [n for n in others if n != user and (user, n) not in taken[relation] and
                    not (relation == "knows" and (n, user) in taken[relation])]
            write("pairs.csv", "".join(f"{user},{n}\n" for n in free))
            run("predict turned.h5 --checkpoint c.h5 --pairs pairs.csv --out p.csv")
            score = {row["target"]: float(row["score"]) for row in rows("p.csv")}
            assert [row["source"] for row in best] == [user] * 7
            np.testing.assert_allclose([score[row["target"]] for row in best], sorted(score.values(), reverse=True)[:7], atol=1e-3)
        run("predict a.h5 --checkpoint c.h5 --missing-links 30 --out m.csv --embeddings z.csv")
        best = rows("m.csv")
        assert len({(row["source"], row["target"]) for row in best}) == 30 and not {(r["source"], r["target"]) for r in best} & taken[relation]
        z = {row["node"]: np.array([float(v) for k, v in row.items() if k != "node"]) for row in rows("z.csv")}
        between = relation == "took"
        assert list(z) == ([f"user:{n}" for n in NAMES["user"]] + [f"item:{n}" for n in NAMES["item"]] if between else NAMES["user"])
        if "mlp" not in model:
            for row in best:
                a, b = (f"user:{row['source']}", f"item:{row['target']}") if between else (row["source"], row["target"])
                assert abs(z[a] @ z[b] - float(row["score"])) < 1e-3, words


def test_outputs():
    """All outputs of a training, and HDF5 with names and ids of both ends."""
    save("a.h5")
    for loader in LOADERS[:2]:
        run(f"train_link a.h5 --edges took --model rgcn {loader} --epochs 3 --runs 2 --predict t.h5 --report r.html --plot p.svg --metrics m.csv "
            "--tensorboard board --run-dir dir")
        with h5py.File("t.h5") as f:
            source, target = texts(f, "nodes/name"), texts(f, "targets/name")
            assert source == NAMES["user"] and target == NAMES["item"]
            pairs = {(source[a], target[b]): y for a, b, y in zip(f["pairs/src"], f["pairs/dst"], f["pairs/label"])}
            assert {pair for pair, y in pairs.items() if y} <= {(f"u{u}", f"i{i}") for u, i in TOOK}
            assert 0 < sum(pairs.values()) == len(pairs) / 2
        again = from_adjoint.read_predictions("t.h5")
        assert again["node_names"] == NAMES["user"] and again["target_names"] == NAMES["item"] and again["task"] == "link"
        run("predict a.h5 --checkpoint dir/checkpoint.h5 --missing-links 5 --out m.h5")
        expect(run("compare dir"), "model R-GCN 7-128-64 6 relations, inner product")
        for folder in ("dir", "board"):
            shutil.rmtree(folder)
    # Every metric with every table of results: the best validation value is the metric's in the epoch that is kept.
    for metric, loader, kind in itertools.product(("auc", "mrr", "hits@3"), LOADERS[:2], ("csv", "jsonl")):
        found = result_of(f"train_link a.h5 --edges took --model rgcn --metric {metric} {loader} --epochs 4 --predict t.{kind} "
                          f"--metrics m.{kind} --report r.html --plot p.svg --json --quiet")
        if kind == "csv":
            written = [{key: float(value) for key, value in row.items() if value} for row in rows("m.csv")]
        else:
            written = [json.loads(line) for line in open("m.jsonl")]
        column = next(key for key in written[0] if key.startswith("val_") and "loss" not in key)
        best = max(row[column] for row in written)
        assert abs(best - found["val_acc"]) < 1e-6 and abs(found["val_acc"] - found[f"val_{metric}"]) < 1e-6, (metric, found)


def test_hidden():
    """Without a pattern nothing is found, although the file has the reverse relation and a copy of the links."""
    took = [(u, i) for u in range(USERS) for i in range(ITEMS) if rng.random() < 0.08]
    save("noise.h5", took=took, reverse=True)
    for words in ("", "--loader neighbor --fanouts 8 --batch-size 64", "--reverse none"):
        for model in ("rgcn", "hgt"):
            evaluation = "--evaluation graph" if "loader" in words else ""
            line = f"train_link noise.h5 --edges took --model {model} {words} {evaluation} --epochs 30 --lr 0.02 --hidden 16 --test 0.3 --json"
            assert result_of(line + " --quiet")["test_auc"] < 0.58, (words, model)
    expect(run(f"train_link noise.h5 --edges took --model rgcn --epochs 1"), "links of user:took:item",
           "the same edges, hidden with them from the training: item:in_cart:user, item:rev_took:user")
    save("both.h5", knows=[(0, 1)])
    with h5py.File("both.h5", "a") as f:
        f["edges/9/src"], f["edges/9/dst"] = f["edges/0/src"][:40], f["edges/0/dst"][:40]
        f["edges/9"].attrs["source"], f["edges/9"].attrs["name"], f["edges/9"].attrs["target"] = "user", "saw", "item"
    expect(run("train_link both.h5 --edges took --model rgcn --epochs 1 --val 0.3 --test 0.6"), "are also joined by user:saw:item, which the model sees")


def test_bits():
    """The same on any number of threads and workers, and after --resume."""
    save("a.h5")
    for model, loader in itertools.product(("rgcn", "hgt"), LOADERS[:2]):
        loader += " --evaluation graph" if loader else ""
        words = f"train_link a.h5 --edges took --model {model} {loader} --hidden 8 --json --quiet --epochs"
        whole = result_of(f"{words} 8 --threads 1")
        assert result_of(f"{words} 8 --threads 2{' --workers 2' if loader else ''}")["train_loss"] == whole["train_loss"]
        run(f"{words} 4 --checkpoint c.h5")
        assert result_of(f"{words} 8 --resume c.h5")["train_loss"] == whole["train_loss"], (model, loader)


def test_refused():
    save("a.h5")
    refused("train_link a.h5", says="several types of nodes or edges, expected --model rgcn, rgat, hgt, or one type (convert typed)")
    refused("train_link a.h5 --model rgcn", says="expected --edges with one of: shop:sells:item, user:knows:user, user:took:item")
    refused("train_link a.h5 --model rgcn --edges ate", says="--edges: ", status=2)
    for words, says in (("--edges took", "--edges: requires --model rgcn, rgat, hgt"), ("--reverse none", "--reverse: requires --model rgcn"),
                        ("--bases 2", "--bases: requires --model rgcn or rgat"), ("--model rgcn --aggr max", "--aggr: requires --model sage"),
                        ("--model hgt --inputs one-hot", "--inputs: requires --model rgcn or rgat"),
                        ("--model rgcn --heads 2", "--heads: R-GCN has no attention, expected --model rgat"),
                        ("--model rgcn --features-bits 4", "--features-bits 4: conflicts with")):
        refused(f"train_link a.h5 {words}", says=says, status=2)
    refused("train_link a.h5 --model rgcn --edges took --val 0.0001 --quiet", says="none is left to validate")
    run("train_link a.h5 --model rgcn --edges took --epochs 1 --checkpoint c.h5")
    write("pairs.csv", "source,target\nu1,i2\nu1,u2\n")
    refused("predict a.h5 --checkpoint c.h5 --pairs pairs.csv --out p.csv --quiet", says='pairs.csv:3: "u2" is no node')
    refused("predict a.h5 --checkpoint c.h5 --attention w.csv --quiet", says="--attention: train_link, epoch 1 is a model of several types of nodes", status=2)
    refused("export_onnx c.h5 m.onnx", says="--model rgcn is not exported to ONNX")
    run("train_rgcn --epochs 1 --checkpoint n.h5")
    refused("predict a.h5 --checkpoint n.h5 --missing-links 5 --out m.csv --quiet", says="expected one of links", status=2)
    # The demo, of one type: pairs of nodes of that type.
    expect(run("train_link --model rgcn --epochs 1"), "links of node:edge:node")


for test in (test_refused, test_outputs, test_bits, test_hidden, test_crossed):
    test()
