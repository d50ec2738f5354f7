"""--node-features trains as a file does whose nodes/x holds the features that numpy computes, with every program,
loader and output; a checkpoint keeps the choice."""

from programs import datasets_in, expect, h5py, np, parts_of, refused, result_of, run, write_graph

NODES, STEPS = 60, 5
KINDS = ("constant", "degree", "one-hot-degree", "random-walk", "learned")
rng = np.random.default_rng(5)


def graph():
    src = rng.integers(0, NODES - 2, 200)  # two nodes without out-edges
    return src, rng.integers(0, NODES, 200)


def write(path, edges, x=None, graphs=False):
    count = NODES // 4 if graphs else NODES
    places = {"graphs/offsets": np.arange(0, NODES + 1, 4), "graphs/y": np.arange(count) % 2} if graphs else {
        "nodes/y": np.arange(count) // 3 % 2}
    write_graph(path, {"edges/src": edges[0], "edges/dst": edges[1], "nodes/x": None if x is None else x.astype(np.float32),
                       **places, **parts_of(np.arange(count), count // 2, count * 3 // 4)},
                num_nodes=NODES, num_classes=2, task="graph_class" if graphs else "node_class")


def features(kind, src, dst):
    degree = np.bincount(dst, minlength=NODES)
    if kind == "constant":
        return np.ones((NODES, 1))
    if kind == "degree":
        return degree[:, None]
    if kind == "one-hot-degree":
        return np.eye(degree.max() + 1)[degree]
    if kind == "learned":
        return np.eye(NODES)
    step = np.zeros((NODES, NODES))
    np.add.at(step, (src, dst), 1.0)
    step /= np.maximum(1, step.sum(1, keepdims=True))
    return np.stack([np.diag(np.linalg.matrix_power(step, k)) for k in range(1, STEPS + 1)], 1)


def probabilities(path):
    (found,) = (values for name, values in datasets_in(path).items() if name.endswith("probability"))
    return found


def apart(one, other):
    return np.abs(probabilities(one) - probabilities(other)).max()


def options_of(kind):
    return f"--node-features {kind}" + (f" --walk-steps {STEPS}" if kind == "random-walk" else "")


src, dst = graph()
write("bare.h5", (src, dst))
write("other.h5", graph())
few = "--epochs 3 --dropout 0 --hidden 4 --features-scaling none --quiet"
programs = ["gcn", "gcn --loader cluster", "gcn --loader saint", "gcn --inductive", "sage", "sage --loader neighbor --batch-size 8", "gat",
            # A batch norm turns the rounding of gradients that are 0, of biases before it, into steps of Adam.
            "gin --norm none", "agnn", "transformer", "qgnn --bits 32"]
for kind in KINDS:
    write("full.h5", (src, dst), features(kind, src, dst))
    for program in programs:
        if program.startswith("qgnn") and kind == "learned":
            refused(f"train_qgnn bare.h5 {few} {options_of(kind)}", says=["--node-features learned", "quantised"], status=2)
            continue
        run(f"train_{program} --data bare.h5 {few} {options_of(kind)} --predict generated.h5")
        run(f"train_{program} --data full.h5 {few} --predict read.h5")
        assert apart("generated.h5", "read.h5") < 1e-4, (program, kind, apart("generated.h5", "read.h5"))

# A checkpoint keeps the choice: prediction, resuming, another graph.
for kind in KINDS:
    common = f"train_sage bare.h5 --hidden 4 {options_of(kind)}"
    whole = run(f"{common} --epochs 6 --predict generated.h5")
    expect(whole, f"node features: {kind}, {features(kind, src, dst).shape[1]} column")
    assert "replace" not in whole
    run(f"{common} --epochs 3 --checkpoint state.h5 --quiet")
    run(f"{common} --epochs 6 --resume state.h5 --checkpoint state.h5 --predict out.h5 --quiet")
    assert (probabilities("generated.h5") == probabilities("out.h5")).all(), kind
    run("predict bare.h5 --checkpoint state.h5 --out out.h5 --quiet")
    assert apart("generated.h5", "out.h5") < 1e-6, kind
    if kind == "learned":
        refused("predict other.h5 --checkpoint state.h5 --out out.h5 --quiet",
                says=["other.h5", "another graph", "--node-features degree"])
    elif kind != "one-hot-degree":  # it may lack columns
        run("predict other.h5 --checkpoint state.h5 --out out.h5 --quiet")
    another = "degree" if kind == "constant" else "constant"
    refused(f"train_sage bare.h5 --hidden 4 --epochs 6 --quiet --resume state.h5 --node-features {another}",
            says=[f"--node-features {kind}", f"this run has {another}"])

# Degrees of a batch are those of the whole graph, also in predictions layer by layer.
run("train_sage bare.h5 --node-features degree --checkpoint state.h5 --epochs 2 --quiet")
run("predict bare.h5 --checkpoint state.h5 --out a.h5 --quiet")
run("predict bare.h5 --checkpoint state.h5 --out out.h5 --evaluation layers --batch-size 7 --quiet")
assert apart("out.h5", "a.h5") < 1e-5

# Links and graphs.
for kind in KINDS:
    assert result_of(f"train_link bare.h5 --epochs 2 --node-features {kind} --json")["node_features"] == kind
inner = rng.integers(0, NODES // 4, 100) * 4
write("many.h5", (inner + rng.integers(0, 4, 100), inner + rng.integers(0, 4, 100)), graphs=True)
for program in ("graph_gin", "graph_qgin"):
    short = f"train_{program} many.h5 --epochs 1 --iterations 2 --quiet --predict graphs.h5 --node-features"
    for kind in KINDS[:-1]:
        run(f"{short} {kind}")
    refused(f"{short} learned", says="--node-features learned", status=2)

# Checkpoints from before the option, and those that name one-hot degrees `degree`.
whole = "train_sage full.h5 --hidden 4 --quiet"
run(f"{whole} --epochs 6 --predict six.h5")
run(f"{whole} --epochs 3 --checkpoint old.h5")
with h5py.File("old.h5", "r+") as f:
    for option in ("node-features", "walk-steps"):
        del f["facts"].attrs["option." + option]
run("predict full.h5 --checkpoint old.h5 --out out.h5 --quiet")
refused(f"{whole} --epochs 6 --resume old.h5 --node-features degree", says=["--node-features file", "degree"])
run(f"{whole} --epochs 6 --resume old.h5 --predict out.h5")
assert (probabilities("out.h5") == probabilities("six.h5")).all()
run("train_graph_gin many.h5 --epochs 2 --iterations 2 --quiet --node-features one-hot-degree --checkpoint old.h5 --predict six.h5")
with h5py.File("old.h5", "r+") as f:
    f["facts"].attrs["option.node-features"] = "degree"
run("predict many.h5 --checkpoint old.h5 --out out.h5 --quiet")
assert apart("out.h5", "six.h5") < 1e-6

# Degrees tell nodes apart without options: divided by their own sums, all would be 1.
write("degrees.h5", (src, dst), features("degree", src, dst))
few = "--epochs 3 --dropout 0 --quiet --norm none"
run(f"train_gin degrees.h5 {few} --predict a.h5 --features-scaling standard")
run(f"train_gin bare.h5 {few} --predict b.h5 --node-features degree")
run(f"train_gin bare.h5 {few} --predict c.h5 --node-features constant")
assert apart("a.h5", "b.h5") < 1e-5
assert apart("a.h5", "c.h5") > 1e-3

# What replaces features says so; what cannot be is refused with the option that helps.
expect(run("train_gcn full.h5 --epochs 1 --node-features degree"), f"they replace the {NODES} of ")
refused("train_gcn bare.h5 --quiet",
        says=["nodes/x: missing", "--node-features constant, degree, one-hot-degree, random-walk or learned"])
for line, says in (("train_gcn bare.h5 --walk-steps 3", "--walk-steps: requires --node-features random-walk"),
                   ("train_sage bare.h5 --loader neighbor --features file --node-features degree",
                    ["--features file", "--node-features degree"]),
                   ("train_gcn bare.h5 --node-features pagerank", "--node-features")):
    refused(line, says=says, status=2)
