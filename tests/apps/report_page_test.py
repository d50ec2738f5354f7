"""The page of `--report`: the command, options, data, columns by importance and embeddings, of every kind of training."""

import html
import re

from programs import BIN, datasets_in, np, packed, parts_of, read, run as run_program, write_graph

N = 300
rng = np.random.default_rng(2)


def report(line):
    run_program(f"{line} --quiet --report", "a page.html")
    return read("a page.html")


def section(page, heading):
    return re.search(f"<h2>{heading}</h2>(.*?)(<h2>|<details>|</body>)", page, re.S)[1]


def cells(text):
    """Rows of a table, as texts."""
    return [[html.unescape(cell) for cell in re.findall(r"<td[^>]*>(.*?)</td>", row)] for row in re.findall(r"<tr>(.*?)</tr>", text)]


def write(path, x, names=(), classes=()):
    write_graph(path, {**edges, **split, "nodes/x": x, "nodes/y": y, **(packed("nodes/x_names", names) if names else {}),
                       **(packed("nodes/class_names", classes) if classes else {})}, name="a & b", num_nodes=N, num_classes=3)


order = rng.permutation(N)
y = rng.integers(0, 3, N)
y[order[0]] = 2
src = np.arange(N)
dst = np.array([rng.choice(np.flatnonzero(y == c)) for c in y])
x = rng.normal(size=(N, 4)).astype(np.float32)
x[:, 2] = 2.0 * y - 2 + 0.1 * rng.normal(size=N)
edges, split = {"edges/src": src, "edges/dst": dst}, parts_of(order, 150, 200)
names, classes = ["noise", "other <noise>", "signal", "more"], ["low", "mid & high", "top"]
write("d.h5", x, names, classes)

training = "train_sage d.h5 --epochs 60 --hidden 8 --seed 3 --features-scaling standard"
page = report(training)
run, data = dict(cells(section(page, "Run"))), dict(cells(section(page, "Data")))
assert run["command"].startswith(f"{BIN / 'train_sage'} d.h5 --epochs 60") and run["command"].endswith("--report 'a page.html'"), run
assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d UTC", run["date"]) and float(run["test accuracy"]) > 0.9, run
assert data["scaling of features"] == "standard" and data["columns"] == ", ".join(names) and data["dataset"] == "a & b", data
counts = [int((y[order[:150]] == c).sum()) for c in range(3)]
assert data["to train"] == "150 nodes: " + ", ".join(f"{name} {count}" for name, count in zip(classes, counts)), data
options = dict(cells(re.search(r"<details>(.*?)</details>", page, re.S)[1]))
assert options["--epochs"] == "60 ← chosen" and options["--lr"] == "0.01" and "--patience" in options, options
importance = cells(section(page, "Columns by importance"))[1:]
assert importance[0][0] == "signal" and sorted(row[0] for row in importance) == sorted(names), importance
assert float(importance[0][1]) > 0.3 and all(abs(float(row[1])) < 0.2 for row in importance[1:]), importance
embeddings = section(page, "Embeddings")
assert embeddings.count("<circle") == N + 3  # and the legend's
assert all(html.escape(name) in embeddings for name in classes) and "% of the variance" in embeddings
assert not re.search(r'(src|href)="(?!data:)', page) and "nan" not in embeddings
assert section(report(training), "Columns by importance") == section(page, "Columns by importance")

# The importance on test nodes of the column by shuffling it in the file: of the same order.
falls = []
run_program(f"{training} --quiet --checkpoint c.h5")


def accuracy(path):
    run_program(f"predict {path} --checkpoint c.h5 --out p.h5 --quiet")
    return (datasets_in("p.h5", "nodes")["prediction"] == y)[order[200:]].mean()


for _ in range(10):
    shuffled = x.copy()
    shuffled[:, 2] = rng.permutation(shuffled[:, 2])
    write("s.h5", shuffled, names, classes)
    falls.append(accuracy("d.h5") - accuracy("s.h5"))
assert abs(np.mean(falls) - float(importance[0][1])) < 0.1, (falls, importance)

# Mini-batches, features elsewhere, one layer, links, edges, graphs, targets, many columns: what there is, or why not.
page = report("train_sage d.h5 --epochs 2 --loader neighbor --fanouts 4,4")
assert "signal" in section(page, "Columns by importance") and "<circle" in section(page, "Embeddings")
page = report("train_sage d.h5 --epochs 2 --loader neighbor --fanouts 4,4 --features host")
assert "not in memory" in section(page, "Columns by importance") and "<h2>Embeddings" not in page
page = report("train_gcn d.h5 --epochs 2 --layers 1")
assert "signal" in section(page, "Columns by importance") and "<h2>Embeddings" not in page
page = report("train_link d.h5 --epochs 3 --runs 2")
assert len(cells(section(page, "Columns by importance"))) == 5 and "<circle" in section(page, "Embeddings")
write("wide.h5", rng.normal(size=(N, 201)).astype(np.float32))
page = report("train_gcn wide.h5 --epochs 2")
assert "201 columns" in section(page, "Columns by importance") and "<circle" in section(page, "Embeddings")
write("plain.h5", x)
page = report("train_gcn plain.h5 --epochs 2 --precision bfloat16")
assert "column 2" in section(page, "Columns by importance")
write_graph("edges.h5", {**edges, **split, "edges/y": y, "nodes/x": x}, num_nodes=N, num_classes=3, task="edge_class")
page = report("train_edge edges.h5 --epochs 20 --model sage")
assert cells(section(page, "Columns by importance"))[1][0] == "column 2" and "<circle" in section(page, "Embeddings")
assert "150 edges: 0 " in dict(cells(section(page, "Data")))["to train"]
write_graph("graphs.h5", {"graphs/offsets": np.arange(0, 61, 2), "graphs/y": np.arange(30) % 2, "edges/src": np.arange(0, 60, 2),
                          "edges/dst": np.arange(1, 60, 2), "nodes/x": x[:60]}, num_nodes=60, num_classes=2, task="graph_class")
page = report("train_graph_gin graphs.h5 --epochs 1 --folds 3 --split 0")
assert "models of graphs" in section(page, "Columns by importance")
