"""`train_rgcn` and `predict` on datasets of several types, written by h5py: options crossed, files in another order, and what is
refused; the counts of correct classes are numpy's."""

import csv
import itertools

from programs import expect, h5py, np, refused, result_of, run

rng = np.random.default_rng(5)
PAPERS, AUTHORS, VENUES, CLASSES = 60, 40, 5, 3
TOPIC = rng.integers(0, CLASSES, PAPERS)
FIELD = rng.integers(0, CLASSES, AUTHORS)
X = {"paper": rng.normal(size=(PAPERS, 3)) + np.eye(3)[TOPIC], "author": None, "venue": rng.normal(size=(VENUES, 2)) * [1, 50]}
NAMES = {"paper": [f"p{k}" for k in range(PAPERS)], "author": [f"a{k}" for k in range(AUTHORS)], "venue": None}
COLUMNS = {"paper": ["one", "two", "three"], "author": None, "venue": ["age", "rank"]}
WRITTEN = rng.integers(0, PAPERS, 150)
OF_FIELD = [rng.choice(np.flatnonzero(FIELD == TOPIC[p])) if rng.random() < 0.8 else rng.integers(0, AUTHORS) for p in WRITTEN]
EDGES = {("author", "writes", "paper"): (np.array(OF_FIELD), WRITTEN), ("paper", "cites", "paper"): rng.integers(0, PAPERS, (2, 90)),
         ("paper", "in", "venue"): (np.arange(PAPERS), rng.integers(0, VENUES, PAPERS))}


def names(group, place, texts):
    texts = [text.encode() for text in texts]
    group[place] = np.frombuffer(b"".join(texts), np.uint8)
    group[place + "_offsets"] = np.cumsum([0] + [len(text) for text in texts])


def save(path, turned=False, task="class", without=(), labels=("paper",)):
    """`turned`: types, relations, columns and nodes in another order, under other names of their groups."""
    order = {t: rng.permutation(n) if turned and NAMES[t] else np.arange(n)
             for t, n in (("paper", PAPERS), ("author", AUTHORS), ("venue", VENUES))}
    place = {t: np.argsort(order[t]) for t in order}  # of the nodes as they were
    with h5py.File(path, "w") as f:
        f.attrs["format"], f.attrs["version"], f.attrs["name"] = "adjoint.graph", 2, "shop"
        for k, t in enumerate(sorted(order, reverse=turned)):
            g = f.create_group(f"nodes/{k}" if turned else f"nodes/{t}")
            g.attrs["name"], g.attrs["num_nodes"] = t, len(order[t])
            if NAMES[t]:
                names(g, "name", [NAMES[t][i] for i in order[t]])
            columns = COLUMNS[t] and [c for c in COLUMNS[t] if c not in without]
            if columns:
                columns = columns[::-1] if turned else columns
                g["x"] = X[t][order[t]][:, [COLUMNS[t].index(c) for c in columns]].astype(np.float32)
                names(g, "x_names", columns)
            if t not in labels:
                continue
            n, y = len(order[t]), TOPIC if t == "paper" else np.arange(len(order[t])) % CLASSES
            g.attrs["task"] = {"class": "node_class", "several": "node_multilabel", "number": "node_regression"}[task]
            g.attrs["num_classes"] = CLASSES
            g["y"] = {"class": y, "several": np.eye(CLASSES)[y].astype(np.uint8), "number": y[:, None].astype(np.float32)}[task][order[t]]
            for part, (a, b) in {"train": (0, n // 2), "val": (n // 2, 3 * n // 4), "test": (3 * n // 4, n)}.items():
                g[f"splits/{part}"] = place[t][a:b]
        for k, (edge, (src, dst)) in enumerate(sorted(EDGES.items(), reverse=turned)):
            if edge[1] in without:
                continue
            g = f.create_group(f"edges/{k}")
            g.attrs["source"], g.attrs["name"], g.attrs["target"] = edge
            g["src"], g["dst"] = place[edge[0]][src], place[edge[2]][dst]


def rows(path):
    with open(path) as f:
        return {row["node"]: row for row in csv.DictReader(f)}


LOADERS = ("", "--loader neighbor --fanouts 4 --batch-size 16", "--loader neighbor --fanouts 2 --fanouts-per relation --batch-size 16",
           "--loader cluster --parts 4 --parts-per-batch 2", "--loader saint --budget 20 --steps 3 --coverage 2")


def test_crossed():
    """Loaders, tasks and inputs: the predictions are of the target's nodes by name, and predict gives the same."""
    for task in ("class", "several", "number"):
        save(f"{task}.h5", task=task)
    for loader, task in itertools.product(LOADERS, ("class", "several", "number")):
        found = result_of(f"train_rgcn {task}.h5 {loader} --epochs 12 --hidden 8 --lr 0.02 --predict t.csv --checkpoint c.h5 "
                          "--report r.html --json")
        trained = rows("t.csv")
        assert list(trained) == NAMES["paper"], loader
        again = result_of(f"predict {task}.h5 --checkpoint c.h5 --out p.csv --evaluation graph --json")
        for name, row in rows("p.csv").items():
            for column, text in row.items():
                if column not in ("node", "class"):
                    assert abs(float(text) - float(trained[name][column])) < 1e-4, (loader, task, name, column)
        assert abs(again["test_acc"] - found["test_acc"]) < 1e-4
        if task == "class":
            for program in ("train_hgt", "train_rgcn --model rgat --heads 2 --bases 2 --attention-dropout 0.2"):
                run(f"{program} {task}.h5 {loader} --epochs 4 --hidden 8 --predict h.csv --checkpoint h.h5")
                run(f"predict {task}.h5 --checkpoint h.h5 --out p.csv")
                again = rows("p.csv")
                for name, row in rows("h.csv").items():
                    assert abs(float(row["score_0"]) - float(again[name]["score_0"])) < 1e-4, (program, loader, name)
            right = np.mean([int(trained[f"p{k}"]["class"]) == TOPIC[k] for k in range(45, 60)])
            assert abs(right - found["test_acc"]) < 1e-6


def test_features_elsewhere():
    """Features of types on the host and in the file: the same bits as in memory, also in links and in predict."""
    save("a.h5")
    for program in ("train_rgcn", "train_rgcn --model rgat", "train_hgt", "train_link --model rgcn --edges writes"):
        words = f"{program} a.h5 --loader neighbor --fanouts 4 --batch-size 16 --epochs 3 --hidden 8 --evaluation layers"
        losses = set()
        for place in ("device", "host", "file"):
            found = result_of(f"{words} --features {place} --features-scaling standard --json --quiet --checkpoint {place}.h5")
            losses.add((found["train_loss"], found["val_loss"], found["test_acc"]))
        assert len(losses) == 1, (program, losses)
        run(f"{words} --features file --precision bfloat16")  # rows of files are float32
    run("train_hgt a.h5 --loader neighbor --fanouts 4 --batch-size 16 --epochs 3 --hidden 8 --features file --checkpoint c.h5 --predict t.csv")
    for k, place in enumerate(("device --evaluation layers", "host", "file")):
        run(f"predict a.h5 --checkpoint c.h5 --features {place} --out p{k}.csv")
        assert rows(f"p{k}.csv") == rows("t.csv"), place
    save("b.h5", turned=True)
    run("predict b.h5 --checkpoint c.h5 --features file --out b.csv")
    before = rows("t.csv")
    for name, row in rows("b.csv").items():
        assert abs(float(row["score_1"]) - float(before[name]["score_1"])) < 1e-4, name
    with h5py.File("a.h5", "r+") as f:
        f["nodes/venue/x"][3, 1] = np.nan
    refused("train_hgt a.h5 --loader neighbor --features file", says="a.h5: nodes/venue/x: nan at [3, 1], expected finite numbers")
    save("a.h5")
    refused("train_hgt a.h5 --features file", says="--features file", status=2)
    refused("train_hgt a.h5 --loader neighbor --features split", says="--features split", status=2)
    refused("train_hgt --loader neighbor --features file", says="the demo dataset is not a file", status=2)


def test_permuted():
    """Types, relations, columns and nodes in another order: the same predictions by name; and what is missing is named."""
    save("a.h5")
    run("train_rgcn a.h5 --epochs 12 --hidden 8 --checkpoint c.h5 --predict t.csv")
    trained = rows("t.csv")
    attention = {"h": "train_hgt", "r": "train_rgcn --model rgat --heads 2"}
    for letter, program in attention.items():
        run(f"{program} a.h5 --epochs 6 --hidden 8 --checkpoint {letter}.h5 --predict {letter}.csv")
    for k in range(3):
        save("b.h5", turned=True)
        for letter in attention:
            run(f"predict b.h5 --checkpoint {letter}.h5 --out p.csv")
            before = rows(f"{letter}.csv")
            for name, row in rows("p.csv").items():
                assert abs(float(row["score_1"]) - float(before[name]["score_1"])) < 1e-4, (letter, k, name)
        run("predict b.h5 --checkpoint c.h5 --out p.csv")
        found = rows("p.csv")
        assert found.keys() == trained.keys()
        for name, row in found.items():
            for column in (c for c in row if c.startswith("score")):
                assert abs(float(row[column]) - float(trained[name][column])) < 1e-4, (k, name, column)
    for without, says in ((["in"], "no relation (paper, in, venue), expected one of: (author, writes, paper), (paper, cites, paper)"),
                          (["two"], "two"), (["age", "rank"], "nodes of type venue: no features, but train_rgcn")):
        save("b.h5", without=without)
        refused("predict b.h5 --checkpoint c.h5 --out p.csv", says=says)
    NAMES["author"][7] = "stranger"
    save("b.h5")
    refused("predict b.h5 --checkpoint c.h5 --out p.csv", says="nodes of type author: node 'stranger' has no features, and was not in the training")
    NAMES["author"][7] = "a7"


def test_targets_and_types():
    """--target, --reverse, one-hot nodes, files of one type, and conflicts."""
    save("two.h5", labels=("paper", "author"))
    refused("train_rgcn two.h5", says="several types of nodes have labels, expected --target with one of: author, paper")
    expect(run("train_rgcn two.h5 --target author --epochs 2 --predict t.csv"), "40 nodes of type author (target): no features",
           "3 relations, and the reverse rev_NAME of 3")
    assert list(rows("t.csv")) == NAMES["author"]
    expect(run("train_rgcn two.h5 --target paper --epochs 2 --reverse none"), "3 relations\n")
    expect(run("train_rgcn --epochs 2"), "one type of nodes and edges", "1 relation\n")
    save("bare.h5", without=[*COLUMNS["paper"], *COLUMNS["venue"]])
    for inputs, name in (("auto", "R-GCN one-hot-16-3"), ("embedding", "R-GCN 0-16-3")):
        expect(run(f"train_rgcn bare.h5 --epochs 3 --inputs {inputs} --bases 2 --checkpoint c.h5 --predict t.csv"), name)
        trained = rows("t.csv")
        save("turned.h5", without=[*COLUMNS["paper"], *COLUMNS["venue"]], turned=True)
        run("predict turned.h5 --checkpoint c.h5 --out p.csv")
        for node, row in rows("p.csv").items():
            assert abs(float(row["score_0"]) - float(trained[node]["score_0"])) < 1e-4, (inputs, node)
        for loader in LOADERS[1:]:
            run(f"train_rgcn bare.h5 --epochs 2 --inputs {inputs} --bases 2 {loader}")
    refused("train_rgcn two.h5 --target paper --inputs one-hot --quiet", says="nodes of type 'paper' have features, expected embedding", status=2)
    for words, says in (("--heads 2", "--heads: R-GCN has no attention, expected --model rgat"),
                        ("--attention-dropout 0.1", "--attention-dropout: R-GCN has no attention"),
                        ("--model rgat --inputs one-hot", "--inputs one-hot: --model rgat has embeddings")):
        refused(f"train_rgcn two.h5 --target paper {words}", says=says, status=2)
    refused("train_hgt two.h5 --target paper --heads 3", says="3 heads share --hidden 64, expected a divisor of it", status=2)
    refused("train_rgcn two.h5 --target venue", says="expected a type of nodes with labels, one of: author, paper", status=2)
    refused("train_rgcn two.h5 --features-bits 4", says="--features-bits 4: conflicts with train_rgcn", status=2)
    refused("train_gcn --loader neighbor --fanouts-per relation", says="train_gcn has one relation", status=2)


def test_threads_ranks_and_resume():
    """The same bits on any number of threads, after --resume, and the same numbers over ranks."""
    save("a.h5")
    words = "a.h5 --epochs 8 --hidden 8 --json --quiet"
    for loader in LOADERS[:3]:
        one = result_of(f"train_rgcn {words} {loader} --threads 1")
        assert result_of(f"train_rgcn {words} {loader} --threads 2")["train_loss"] == one["train_loss"], loader
    run("train_rgcn a.h5 --epochs 4 --hidden 8 --checkpoint c.h5")
    assert result_of(f"train_rgcn {words} --resume c.h5")["train_loss"] == result_of(f"train_rgcn {words}")["train_loss"]
    for loader in LOADERS[:2]:
        one = result_of(f"train_rgcn {words} {loader} --devices cpu --ranks 1")["train_loss"]
        two = result_of(f"train_rgcn {words} {loader} --devices cpu --ranks 2")["train_loss"]
        assert abs(one - two) < 1e-4, (loader, one, two)


def history(path):
    """Losses and metrics by epoch, as they are written."""
    with open(path) as f:
        return [{name: text for name, text in row.items() if "loss" in name or "acc" in name} for row in csv.DictReader(f)]


def test_ranks():
    """Whole graphs over ranks: the bits of one rank in every file, and the numbers of one device; resumed on one."""
    save("a.h5")
    save("bare.h5", without=[*COLUMNS["paper"], *COLUMNS["venue"]])
    for words in ("train_rgcn a.h5 --dropout 0.3 --class-weights balanced", "train_rgcn bare.h5", "train_rgcn bare.h5 --bases 2",
                  "train_rgcn a.h5 --model rgat --heads 2", "train_hgt a.h5"):
        words += " --hidden 8 --quiet --json"
        found = []
        for devices in ("--devices cpu", "--devices cpu,cpu", "--devices cpu --ranks 3"):
            result = result_of(f"{words} {devices} --epochs 5 --metrics m.csv --checkpoint c.h5 --predict p.csv")
            found.append((history("m.csv"), rows("p.csv"), result["test_loss"], result["test_acc"]))
            assert len(found[0][0]) == 5 and found[-1] == found[0], (words, devices)
        one = result_of(f"{words} --epochs 5")
        assert abs(one["test_loss"] - found[0][2]) < 1e-4, (words, one, found[0][2])
        run(f"{words} --devices cpu,cpu --epochs 3 --checkpoint c.h5")
        ended = [result_of(f"{words} {devices} --epochs 5 --resume c.h5")["train_loss"] for devices in ("", "--devices cpu")]
        assert float(found[0][0][-1]["train_loss"]) == ended[1] and abs(ended[0] - ended[1]) < 1e-4, (words, ended, found[0][0])


def test_generated():
    """`generate ogbn-mag` by a scale."""
    expect(run("generate ogbn-mag mag.h5 --scale 0.001"), "4 types of nodes, 4 types of edges, 1940 nodes and 21111 directed edges")
    refused("generate ogbn-mag mag.h5 --scale 2", says="expected more than 0, at most 1", status=2)
    expect(run("train_rgcn mag.h5 --epochs 2 --hidden 8"), "736 nodes of type paper (target): 128 features")


for check in (test_crossed, test_permuted, test_targets_and_types, test_threads_ranks_and_resume, test_ranks, test_generated):
    check()
