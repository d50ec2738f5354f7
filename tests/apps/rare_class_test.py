"""A class of few nodes: metrics of its ranking, early stopping by them, the calibration error and class weights, held against
numpy over the predictions that were written."""

import json
import shutil

from programs import datasets_in, expect, h5py, np, packed, parts_of, refused, result_of, rows, run, write_graph

NODES = 900
NAMES = ["honest", "fraud"]


def write(path, rng):
    """One node of eight is a fraud, which features and neighbours show with much noise."""
    y = (rng.random(NODES) < 0.125).astype(np.int32)
    src = rng.integers(0, NODES, 3 * NODES)
    same = np.array([rng.choice(np.flatnonzero(y == y[k])) if rng.random() < 0.4 else rng.integers(0, NODES) for k in src])
    write_graph(path, {"edges/src": np.r_[src, same], "edges/dst": np.r_[same, src], "nodes/y": y, **packed("nodes/class_names", NAMES),
                       "nodes/x": (rng.normal(size=(NODES, 6)) + 0.6 * y[:, None]).astype(np.float32),
                       **parts_of(rng.permutation(NODES), 300, 600)}, num_nodes=NODES, num_classes=2, undirected=1)
    return y


def curve(score, y):
    """Precision and recall at every distinct threshold."""
    thresholds = np.unique(score)[::-1]
    chosen = score[None, :] >= thresholds[:, None]
    hits = (chosen & (y == 1)).sum(axis=1)
    return hits / chosen.sum(axis=1), hits / y.sum()


def pr_auc(score, y):
    precision, recall = curve(score, y)
    return float((np.diff(recall, prepend=0) * precision).sum())


def recall_at_precision(least):
    def measure(score, y):
        precision, recall = curve(score, y)
        return max([0.0, *recall[precision >= least]])
    return measure


def share_of_top(k, positives):
    def measure(score, y):
        top = np.argsort(-score, kind="stable")[:k]
        return y[top].sum() / (y.sum() if positives else k)
    return measure


def calibration_error(p, y):
    confidence, hit = p.max(axis=1), p.argmax(axis=1) == y
    error = 0.0
    for k in range(15):
        part = (confidence > k / 15) & (confidence <= (k + 1) / 15)
        if part.any():
            error += part.mean() * abs(hit[part].mean() - confidence[part].mean())
    return error


METRICS = {"pr-auc": pr_auc, "recall@precision=0.6": recall_at_precision(0.6), "recall@40": share_of_top(40, True),
           "precision@40": share_of_top(40, False)}

y = write("rare.h5", np.random.default_rng(3))
split = datasets_in("rare.h5", "splits")
train, test = split["train"], split["test"]
for metric, measure in METRICS.items():
    result = result_of(f"train_gcn rare.h5 --metric {metric} --patience 30 --epochs 400 --metrics m.csv --predict p.h5 --json "
                       "--class-scores --run-dir run --checkpoint gcn.h5")
    found = rows("m.csv")
    column = "val_" + metric.replace("-", "_").replace("@", "_").replace("=", "_").replace(".", "_")
    assert list(found[0])[4] == column, found[0]
    values = [float(row[column]) for row in found]
    best = values.index(max(values)) + 1
    assert (result["metric"], result["best_epoch"]) == (metric, best), result
    assert len(values) == result["epochs_run"] == min(best + 30, 400), (best, result)
    p = datasets_in("p.h5", "nodes")["probability"].astype(float)
    margin = (p[:, 1] - p[:, 0])[test]
    assert abs(measure(margin, y[test]) - result["test_acc"]) < 1e-6, (metric, measure(margin, y[test]), result)
    assert abs(result["class_scores"]["ece"] - calibration_error(p[test], y[test])) < 1e-5, result
    again = result_of("predict --checkpoint gcn.h5 --data rare.h5 --out q.h5 --json")
    assert again["test_acc"] == result["test_acc"], again
    shutil.rmtree("run")
refused("train_gcn rare.h5 --metric precision@x", says="expected precision@K with K of 1 or more", status=2)
expect(run("train_gcn rare.h5 --metric recall@301", status=1), "splits/val: no recall@301")

counts = np.bincount(y[train])
recalls = {}
for weights in ("none", "balanced", "fraud=30"):
    words = f"train_sage rare.h5 --class-weights {weights} --epochs 60 --json --class-scores --predict p.csv"
    output = run(f"{words} --run-dir {weights.replace('=', '-')}")
    factors = {"none": None, "balanced": len(train) / (2 * counts),
               "fraud=30": np.array([1, 30]) * len(train) / (counts * [1, 30]).sum()}[weights]
    line = factors is not None and f"class weights: honest {factors[0]:.4g}, fraud {factors[1]:.4g}\n"
    assert line in output if line else "class weights" not in output, (line, output)
    result = json.loads(output.splitlines()[-1])
    assert result["class_weights"] == weights
    recalls[weights] = result["class_scores"]["classes"][1]["recall"]
assert recalls["none"] + 0.2 < recalls["balanced"] <= recalls["fraud=30"], recalls
refused("train_sage rare.h5 --class-weights froud=2", says="no class 'froud', expected honest, fraud; did you mean 'fraud'?", status=2)
# Several labels a node: factors of those that are 1, negatives over positives of the training nodes.
rng = np.random.default_rng(4)
labels = (rng.random((NODES, 3)) < [0.05, 0.5, 0.9]).astype(np.float32)
labels[rng.random((NODES, 3)) < 0.1] = np.nan
with h5py.File("rare.h5", "r+") as f:
    del f["nodes/y"], f["nodes/class_names"], f["nodes/class_names_offsets"]
    f["nodes/y"] = labels
    f.attrs["task"], f.attrs["num_classes"] = "node_multilabel", 3
positive = (labels[train] == 0).sum(0) / (labels[train] == 1).sum(0)
for weights, factors in (("none", [1, 1, 1]), ("balanced", positive), ("2=4", [1, 1, 4]), ("1,2,3", [1, 2, 3])):
    for loader in ((), ("--loader", "neighbor", "--fanouts", "3,3", "--batch-size", "64")):
        output = run("train_sage", "rare.h5", "--class-weights", weights, "--epochs", 3, "--json", "--predict", "p.h5", *loader)
        line = "class weights, of labels that are 1: " + ", ".join(f"{t} {p:.4g}" for t, p in enumerate(factors)) + "\n"
        assert (line in output) == (weights != "none"), (line, output)
        with h5py.File("p.h5") as f:
            x = f["nodes/score"][:].astype(float)
        losses = np.where(labels == 1, np.asarray(factors) * np.logaddexp(0, -x), np.logaddexp(0, x))[test]
        expected = losses[~np.isnan(labels[test])].mean()
        found = json.loads(output.splitlines()[-1])["test_loss"]
        assert abs(found - expected) < 1e-5 * expected + 1e-6, (weights, loader, found, expected)
print("ok")
