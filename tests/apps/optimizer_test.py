"""Optimizers and schedules of the training programs: the weights after some epochs are those of plain loops in numpy, and a
training that is interrupted and resumed has the same bits as one that is not."""

import math
import os
import signal
import subprocess
import time

from programs import BIN, datasets_in, h5py, np, parts_of, refused, run, write_graph

NODES, WIDTH, CLASSES, EPOCHS = 60, 5, 3, 12
RATE, DECAY = 0.05, 0.02
MAPS = ("lin_l.weight", "lin_l.bias", "lin_r.weight")


def write(path, graphs=False):
    rng = np.random.default_rng(5)
    src, dst = rng.integers(0, NODES, 200), rng.integers(0, NODES, 200)
    if graphs:
        src = dst // 5 * 5 + src % 5
    x, y = rng.normal(size=(NODES, WIDTH)).astype(np.float32), (np.arange(NODES) % CLASSES).astype(np.int32)
    split = parts_of(rng.permutation(NODES // 5), 6, 9) if graphs else parts_of(rng.permutation(NODES), 40, 50)
    places = {"graphs/offsets": np.arange(0, NODES + 1, 5), "graphs/y": y[:NODES // 5]} if graphs else {"nodes/y": y}
    write_graph(path, {"edges/src": src, "edges/dst": dst, "nodes/x": x, **places, **split}, num_nodes=NODES, num_classes=CLASSES,
                task="graph_class" if graphs else "node_class")
    mean = np.zeros((NODES, NODES))
    np.add.at(mean, (dst, src), 1.0)
    mean /= np.maximum(mean.sum(axis=1, keepdims=True), 1.0)
    return mean @ x, x.astype(float), y, split["splits/train"]


def weights(checkpoint):
    found = datasets_in(checkpoint, "tensors")
    return [found["model.convs.0." + name].astype(float) for name in MAPS]


def gradients(w, neighbors, x, y, train):
    out = neighbors @ w[0] + w[1] + x @ w[2]
    p = np.exp(out - out.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    p[np.arange(NODES), y] -= 1.0
    off = np.zeros_like(p)
    off[train] = p[train] / len(train)
    return [neighbors.T @ off, off.sum(axis=0), x.T @ off]


def trained(w, data, kind, factor, momentum):
    """The optimizers by their papers' algorithms."""
    w, first, second = [p.copy() for p in w], [np.zeros_like(p) for p in w], [np.zeros_like(p) for p in w]
    for epoch in range(EPOCHS):
        rate = RATE * factor(epoch)
        for k, g in enumerate(gradients(w, *data)):
            if kind == "adamw":
                w[k] = w[k] - rate * DECAY * w[k]
            else:
                g = g + DECAY * w[k]
            if kind == "sgd":
                first[k] = momentum * first[k] + g
                w[k] = w[k] - rate * first[k]
                continue
            first[k] = 0.9 * first[k] + 0.1 * g
            second[k] = 0.999 * second[k] + 0.001 * g * g
            unbiased = first[k] / (1 - 0.9 ** (epoch + 1)), second[k] / (1 - 0.999 ** (epoch + 1))
            w[k] = w[k] - rate * unbiased[0] / (np.sqrt(unbiased[1]) + 1e-8)
    return w


def warm(epochs, then):
    return lambda e: (e + 1) / (epochs + 1) if e < epochs else then(e - epochs)


SCHEDULES = [("", lambda e: 1.0),
             ("--schedule cosine", lambda e: 0.5 * (1 + math.cos(math.pi * e / EPOCHS))),
             ("--schedule linear --warm-up 3", warm(3, lambda e: 1 - e / (EPOCHS - 3))),
             ("--schedule step --lr-step 4 --lr-gamma 0.25", lambda e: 0.25 ** (e // 4)),
             ("--warm-up 5", warm(5, lambda e: 1.0))]

data = write("small.h5")
plain = f"train_sage small.h5 --layers 1 --dropout 0 --features-scaling none --weight-decay {DECAY} --quiet"
run(f"{plain} --epochs 1 --lr 1e-30 --checkpoint first.h5")
start = weights("first.h5")
for kind, more in (("adam", ""), ("adamw", ""), ("sgd", ""), ("sgd", "--momentum 0")):
    for words, factor in SCHEDULES:
        run(f"{plain} --epochs {EPOCHS} --lr {RATE} --optimizer {kind} {more} {words} --checkpoint c.h5")
        expected = trained(start, data, kind, factor, 0.0 if more else 0.9)
        for name, found, goal in zip(MAPS, weights("c.h5"), expected):
            assert np.abs(found - goal).max() < 2e-5, (kind, more, words, name, np.abs(found - goal).max())

# A training that a signal stops in the middle.
write("graphs.h5", graphs=True)
for words in ("train_gcn small.h5 --optimizer sgd --schedule cosine --warm-up 40",
              "train_sage small.h5 --loader neighbor --batch-size 20 --optimizer adamw --schedule linear",
              "train_graph_gin graphs.h5 --iterations 2 --lr-halve 7 --optimizer sgd --warm-up 20",
              "train_link small.h5 --schedule step --lr-step 30 --lr-gamma 0.9"):
    run(f"{words} --quiet --epochs 300 --checkpoint whole.h5 --predict whole-p.h5")
    again = f"{words} --quiet --checkpoint parts.h5 --checkpoint-every 1 --epochs"
    program, *options = f"{again} 300".split()
    child = subprocess.Popen([BIN / program, *options], stderr=subprocess.PIPE, text=True)
    while not os.path.exists("parts.h5") and child.poll() is None:
        time.sleep(0.001)
    child.send_signal(signal.SIGINT)
    message = child.communicate()[1]
    with h5py.File("parts.h5") as f:
        stopped = int(f["facts"].attrs["epoch"])
    print(f"{program}: stopped at epoch {stopped}")
    assert child.returncode == 128 + signal.SIGINT and stopped < 300, (program, child.returncode, message)
    if "cosine" in words or "linear" in words:
        refused(f"{again} 400 --resume parts.h5", says="was trained with --epochs 300; this run has 400")
    run(f"{again} 300 --resume parts.h5 --predict parts-p.h5")
    with open("whole-p.h5", "rb") as one, open("parts-p.h5", "rb") as other:
        assert one.read() == other.read(), program
    one, other = datasets_in("whole.h5", "tensors"), datasets_in("parts.h5", "tensors")
    assert set(one) == set(other)
    for name in one:
        assert one[name].tobytes() == other[name].tobytes(), (program, name)
    os.remove("parts.h5")
print("ok")
