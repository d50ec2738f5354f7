"""`predict` on models of links, its --nodes and its --embeddings, recomputed by numpy from what the files hold."""

import os

from programs import datasets_in, h5py, np, packed, parts_of, read, refused, rows, run, write, write_graph

NODES = 400  # 79,800 pairs: more than one block of 65,536
rng = np.random.default_rng(5)


def sigmoid(x):
    return 1 / (1 + np.exp(-x.astype(np.float64)))


names = [f"={k}" if k % 50 == 0 else f"n{(k * 7) % NODES}" for k in range(NODES)]
names[3] = "a, b"
src, dst = rng.integers(0, NODES, 1500), rng.integers(0, NODES, 1500)
src, dst = np.append(src, 9), np.append(dst, 9)  # a self loop
plain = {"edges/src": src, "edges/dst": dst, "nodes/x": np.random.default_rng(6).random((NODES, 12)).astype(np.float32),
         "nodes/y": np.arange(NODES) % 3, **parts_of(np.random.default_rng(7).permutation(NODES), 200, 300)}
write_graph("plain.h5", plain, num_nodes=NODES, num_classes=3)
write_graph("d.h5", plain | packed("nodes/name", names), num_nodes=NODES, num_classes=3)
number = {name: k for k, name in enumerate(names)}
assert len(number) == NODES
joined = np.zeros((NODES, NODES), bool)
joined[src, dst] = joined[dst, src] = True
np.fill_diagonal(joined, True)


def scores_of(checkpoint, z):
    """[N, N]: of the decoder, in float64."""
    z = z.astype(np.float64)
    weights = {name.rsplit("decoder.", 1)[1]: value.astype(np.float64) for name, value in datasets_in(checkpoint, "tensors").items()
               if "best" in name and "decoder." in name}
    if not weights:
        return z @ z.T
    matrices = [weights[name] for name in sorted(weights) if name.endswith("weight")]
    biases = [weights[name] for name in sorted(weights) if name.endswith("bias")]
    assert len(matrices) == len(biases) == 2, weights.keys()
    hidden = np.maximum((z[:, None, :] * z[None, :, :]) @ matrices[0] + biases[0], 0)
    return (hidden @ matrices[1] + biases[1])[..., 0]


def check_best(found, score, candidates, most):
    """The `found` rows are the highest scores of the candidates, best first, none twice."""
    pairs = [(number[row["source"]], number[row["target"]]) for row in found]
    values = np.array([float(row["score"]) for row in found])
    assert len(set(pairs)) == len(pairs) == min(most, len(candidates))
    assert set(pairs) <= set(candidates) and (np.diff(values) <= 0).all()
    np.testing.assert_allclose(values, sorted((score[p] for p in candidates), reverse=True)[:most], rtol=2e-4, atol=2e-4)
    np.testing.assert_allclose(values, [score[p] for p in pairs], rtol=2e-4, atol=2e-4)
    for a, b in zip(range(len(pairs)), range(1, len(pairs))):
        assert values[a] > values[b] or pairs[a] < pairs[b]  # ties


for checkpoint, model in (("dot.h5", "gcn"), ("mlp.h5", "sage --decoder mlp"), ("gat.h5", "gat")):
    run(f"train_link d.h5 --model {model} --epochs 4 --hidden 16 --embedding 8 --quiet --checkpoint {checkpoint}")
    base = f"predict d.h5 --checkpoint {checkpoint} --quiet"
    run(f"{base} --embeddings z.h5")
    with h5py.File("z.h5") as f:
        z = f["nodes/embedding"][...]
        assert z.shape == (NODES, 8) and z.dtype == np.float32 and "nodes/number" not in f
        assert bytes(f["nodes/name"][...]) == "".join(names).encode()
    score = scores_of(checkpoint, z)

    # Pairs: order, repetitions, edges, a self pair, a name with a comma; more than a block.
    asked = [(src[0], dst[0]), (5, 5), (3, 0), (3, 0)]
    asked += [tuple(pair) for pair in rng.integers(0, NODES, (66000, 2)).tolist()]
    write("pairs.csv", [("weight", "target", "source"), *((1, names[b], names[a]) for a, b in asked)])
    run(f"{base} --pairs pairs.csv --out p.csv")
    found = rows("p.csv")
    assert list(found[0]) == ["source", "target", "probability", "score"]
    assert [(number[row["source"]], number[row["target"]]) for row in found] == [(int(a), int(b)) for a, b in asked]
    expected = np.array([score[pair] for pair in asked])
    np.testing.assert_allclose([float(row["score"]) for row in found], expected, rtol=2e-4, atol=2e-4)
    np.testing.assert_allclose([float(row["probability"]) for row in found], sigmoid(expected), rtol=2e-4, atol=1e-5)
    run(f"{base} --pairs pairs.csv --out p.h5")
    with h5py.File("p.h5") as f:
        assert set(f["pairs"]) == {"src", "dst", "score", "probability"}
        np.testing.assert_array_equal(f["pairs/src"][...], [a for a, _ in asked])
        np.testing.assert_allclose(f["pairs/probability"][...], sigmoid(expected), rtol=2e-4, atol=1e-5)

    # The most likely pairs without an edge, of the whole graph and of chosen nodes.
    free = [(a, b) for a in range(NODES) for b in range(a + 1, NODES) if not joined[a, b]]
    for most in (1, 37, 100000):
        run(f"{base} --missing-links {most} --out m.csv")
        check_best(rows("m.csv"), score, free, most)
    write("chosen.txt", f'"{names[3]}"\n{names[0]}\n{names[3]}\n')
    run(f"{base} --missing-links 10 --nodes chosen.txt --out m.csv")
    found = rows("m.csv")
    assert len(found) == 30 and found[:10] == found[20:]
    for part, node in ((found[:10], 3), (found[10:20], 0)):
        check_best(part, score, [(node, b) for b in range(NODES) if not joined[node, b]], 10)
    run(f"{base} --missing-links 2 --escape-formulas --out m.csv --nodes", names[0])
    assert [row["source"] for row in rows("m.csv")] == ["'" + names[0]] * 2

# Features learned for the nodes are those of the file's graph, test pairs included; none joins other graphs.
run("train_link d.h5 --node-features learned --epochs 2 --quiet --checkpoint learned.h5")
run("predict d.h5 --checkpoint learned.h5 --quiet --missing-links 3 --out m.csv")
assert len(rows("m.csv")) == 3
# Of many graphs only pairs within one.
bounds = [0, 3, 3, 20, NODES]
graph_of = np.searchsorted(bounds, np.arange(NODES), side="right")
with h5py.File("d.h5") as f, h5py.File("many.h5", "w") as many:
    many.attrs.update(f.attrs)
    f.copy("nodes", many)
    inside = graph_of[src] == graph_of[dst]
    many["edges/src"], many["edges/dst"], many["graphs/offsets"] = src[inside], dst[inside], np.array(bounds)
joined_inside = np.zeros_like(joined)
joined_inside[src[inside], dst[inside]] = joined_inside[dst[inside], src[inside]] = True
run("predict", "many.h5", "--checkpoint", "dot.h5", "--quiet", "--missing-links", 10**6, "--out", "m.csv")
found = {(number[row["source"]], number[row["target"]]) for row in rows("m.csv")}
assert found == {(a, b) for a in range(NODES) for b in range(a + 1, NODES)
                 if graph_of[a] == graph_of[b] and not joined_inside[a, b]}
write("chosen.txt", f'"{names[19]}"\n')
run("predict", "many.h5", "--checkpoint", "dot.h5", "--quiet", "--missing-links", 50, "--nodes", "chosen.txt", "--out", "m.csv")
assert {number[row["target"]] for row in rows("m.csv")} == {b for b in range(3, 19) if not joined_inside[19, b]}
write("chosen.txt", f'"{names[3]}"\n{names[0]}\n{names[3]}\n')
# Without names, numbers; the same scores.
write("numbers.txt", "3 0\n9 9\n")
run("predict plain.h5 --checkpoint dot.h5 --quiet --pairs numbers.txt --out p.csv")
assert [(row["source"], row["target"]) for row in rows("p.csv")] == [("3", "0"), ("9", "9")]

# Other words above ids: the columns are those by known names, else those with nodes below.
write("odd.csv", f'score,"who",whom\n0.5,"{names[3]}",{names[0]}\n0.25,{names[9]},{names[9]}\n')
run(base, "--pairs", "odd.csv", "--out", "p.csv")
assert [(row["source"], row["target"]) for row in rows("p.csv")] == [(names[3], names[0]), (names[9], names[9])]
for text in ("when,who,whom\n99999,3,0\n99998,9,9\n", "buyer,friend\n3,0\n9,9\n", ",who,whom\n0,3,0\n1,9,9\n",
             "who,score,whom\n3,0.5,0\n9,0.1,9\n", "target,likes,source\n0,x,3\n9,y,9\n"):
    write("odd.csv", text)
    run("predict", "plain.h5", "--checkpoint", "dot.h5", "--quiet", "--pairs", "odd.csv", "--out", "p.csv")
    assert [(row["source"], row["target"]) for row in rows("p.csv")] == [("3", "0"), ("9", "9")], text
write("odd.csv", "a,b,c\n3,0,1\n")
err = run("predict", "plain.h5", "--checkpoint", "dot.h5", "--quiet", "--pairs", "odd.csv", "--out", "x.csv", status=1)
assert 'odd.csv:1: "a,b,c", 3 columns with nodes below, expected two, or a header with source and target, src and dst' in err, err
# How they are written, as everywhere.
write("odd.csv", "target;source;gain\n0;3;0,5\n9;9;1,5\n")
run("predict", "plain.h5", "--checkpoint", "dot.h5", "--quiet", "--pairs", "odd.csv", "--decimal", "comma", "--out", "p.csv")
assert [(row["source"], row["target"]) for row in rows("p.csv")] == [("3", "0"), ("9", "9")]

# Refusals: file and line, and the option that helps.
for text, said in ((f"source,target\n{names[1]},{names[2]}\n{names[1]},nobody\n", 'bad.csv:3: "nobody" is no node'),
                   (f"who,whom\n{names[1]},{names[2]}\n", 'bad.csv:1: "who" is no node'),
                   (f"user1,user2\n{names[1]},{names[2]}\n", "if this line is a header, expected source and target, src and dst, from"),
                   ("", "bad.csv: no pairs"), ("source,target\n", "no pairs after the header"),
                   (f"{names[1]}\n", "bad.csv:1: one column"),
                   (f"{names[1]},{names[2]}\n{names[1]},{names[2]},3\n", "bad.csv:2: 3 fields, expected 2")):
    write("bad.csv", text)
    refused("predict d.h5 --checkpoint dot.h5 --quiet --pairs bad.csv --out bad_out.csv", says=said)
    assert not os.path.exists("bad_out.csv"), text
run("train_gcn d.h5 --epochs 2 --quiet --checkpoint gcn.h5")
for words, says in (("dot.h5 --out o.csv", "--missing-links K"), ("dot.h5 --pairs numbers.txt", "--out"),
                    ("dot.h5 --out o.csv --missing-links 3 --class-scores", "--class-scores"),
                    ("dot.h5 --out o.csv --missing-links -1", "--missing-links"),
                    ("dot.h5 --out o.csv --missing-links 3 --pairs numbers.txt", "one of them"),
                    ("dot.h5 --out o.csv --missing-links 3 --nodes nobody", '"nobody" is no node'),
                    ("gcn.h5 --out o.csv --missing-links 3", "a model of nodes"),
                    ("gcn.h5 --out o.csv --pairs numbers.txt", "a model of nodes")):
    refused(f"predict d.h5 --quiet --checkpoint {words}", says=says, status=2)

# Chosen nodes in the order asked: the rows of the whole table.
for out in ("o.csv", "o.h5"):
    run(f"predict d.h5 --checkpoint gcn.h5 --quiet --out all{out} --embeddings e{out}")
    run(f"predict d.h5 --checkpoint gcn.h5 --quiet --out {out} --embeddings some{out} --nodes chosen.txt")
for whole, part in (("allo.csv", "o.csv"), ("eo.csv", "someo.csv")):
    everything = rows(whole)
    assert [row["node"] for row in everything] == names
    assert rows(part) == [everything[k] for k in (3, 0, 3)]
write("headed.txt", "node\n" + read("chosen.txt"))  # a header, as one column of a table has
assert "headed.txt: line 1 taken as header: node" in run("predict d.h5 --checkpoint gcn.h5 --out headed.csv --nodes headed.txt")
assert read("headed.csv") == read("o.csv")
write("headed.txt", "node\nid\n" + read("chosen.txt"))
refused("predict d.h5 --checkpoint gcn.h5 --quiet --out headed.csv --nodes headed.txt", says='headed.txt:2: "id" is no node')
with h5py.File("allo.h5") as whole, h5py.File("o.h5") as part:
    np.testing.assert_array_equal(part["nodes/number"][...], [3, 0, 3])
    for place in ("nodes/prediction", "nodes/probability", "nodes/score"):
        np.testing.assert_array_equal(part[place][...], whole[place][...][[3, 0, 3]])
# The last layer, by numpy: the scores are D^-1/2 (A + I) D^-1/2 E W + b.
with h5py.File("eo.h5") as f, h5py.File("allo.h5") as g, h5py.File("gcn.h5") as c:
    e, logits = f["nodes/embedding"][...].astype(np.float64), g["nodes/score"][...]
    w, b = (c["tensors"][f"best.convs.1.{part}"][...] for part in ("weight", "bias"))
    a = np.zeros((NODES, NODES))
    np.add.at(a, (dst, src), 1)
    a[np.diag_indices(NODES)] += np.diag(a) == 0
    d = a.sum(1) ** -0.5
    np.testing.assert_allclose(d[:, None] * a * d @ e @ w + b, logits, rtol=1e-4, atol=1e-5)
run("train_gcn d.h5 --epochs 2 --layers 1 --quiet --checkpoint one.h5")
refused("predict d.h5 --checkpoint one.h5 --embeddings z.csv --quiet", says="no hidden layer", status=2)

# Every other trainer of nodes gives embeddings of its hidden width.
for program in ("train_sage", "train_gat", "train_gin", "train_transformer", "train_agnn", "train_qgnn"):
    run(f"{program} d.h5 --epochs 1 --hidden 8 --quiet --checkpoint c.h5")
    run("predict d.h5 --checkpoint c.h5 --quiet --embeddings z.h5 --nodes", names[2])
    with h5py.File("z.h5") as f:
        assert f["nodes/embedding"].shape[0] == 1 and f["nodes/embedding"].shape[1] % 8 == 0, program
print("ok")
