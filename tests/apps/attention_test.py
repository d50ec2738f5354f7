"""`predict --attention` and `--embeddings FILE.npy`, recomputed by loops over edges in numpy from the checkpoints' weights."""

from plain_layers import attend, layer_of, weights_of, with_loops
from programs import h5py, np, packed, parts_of, refused, rows, run, texts, write_graph

NODES, EDGES, WIDTH = 60, 240, 5
rng = np.random.default_rng(3)


src, dst = rng.integers(0, NODES, EDGES), rng.integers(0, NODES, EDGES)
src[:2], dst[:2] = (4, 4), (4, 4)  # two loops of one node
src[2], dst[2] = src[3], dst[3]  # parallel edges
x, attr = rng.normal(size=(NODES, WIDTH)).astype(np.float32), rng.normal(size=(EDGES, 2)).astype(np.float32)
names = [f"n{k}" for k in range(NODES)]
names[3], names[5], names[7] = "käse", "水, 火", "=x"
for path, values in (("plain.h5", None), ("attr.h5", attr)):
    write_graph(path, {"edges/src": src, "edges/dst": dst, "nodes/x": x, "nodes/y": np.arange(NODES) % 3, "edges/attr": values,
                       **packed("nodes/name", names), **parts_of(np.random.default_rng(1).permutation(NODES), 30, 45)},
                num_nodes=NODES, num_classes=3)


def norm(v, w, name):
    v = (v - v.mean(1, keepdims=True)) / np.sqrt(v.var(1, keepdims=True) + 1e-5)
    return v * w[name + "weight"] + w[name + "bias"]


for kind, program in (("gat", "train_gat --model gat"), ("gatv2", "train_gat --model gatv2"), ("transformer", "train_transformer")):
    for data, attributes in (("plain.h5", None), ("attr.h5", attr.astype(np.float64))):
        run(f"{program} {data} --heads 3 --hidden 4 --epochs 3 --features-scaling none --quiet --checkpoint c.h5")
        run(f"predict {data} --checkpoint c.h5 --attention a.csv --quiet")
        w, found = weights_of("c.h5"), rows("a.csv")
        s, d, a = with_loops(src, dst, attributes, NODES) if kind != "transformer" else (src, dst, attributes)
        alpha, out = attend(kind, layer_of(w, 0), x.astype(np.float64), s, d, a, 3)
        h = out.reshape(NODES, -1)
        if kind == "transformer":
            h = np.maximum(norm(h + x @ w["convs.0.lin_skip.weight"] + w["convs.0.lin_skip.bias"], w, "norms.0."), 0)
        else:
            h = h + w["convs.0.bias"]
            h = np.where(h > 0, h, np.expm1(h))
        heads = w["convs.1.att_src"].shape[0] if kind == "gat" else w["convs.1.att"].shape[0] if kind == "gatv2" else 3
        last, _ = attend(kind, layer_of(w, 1), h, s, d, a, heads)
        columns = [f"layer_1_head_{k + 1}" for k in range(3)] + [f"layer_2_head_{k + 1}" for k in range(heads)]
        assert list(found[0]) == ["source", "target", *columns], list(found[0])
        # Parallel edges are told apart by their values: compare sorted rows.
        expected = sorted((names[b], names[a], *map(float, row)) for a, b, row in zip(s, d, np.hstack([alpha, last]).round(4)))
        got = sorted((row["target"], row["source"], *(round(float(row[column]), 4) for column in columns)) for row in found)
        assert [row[:2] for row in expected] == [row[:2] for row in got], kind
        np.testing.assert_allclose([row[2:] for row in got], [row[2:] for row in expected], atol=3e-4, err_msg=f"{kind} {data}")
        run(f"predict {data} --checkpoint c.h5 --attention a.h5 --quiet")
        with h5py.File("a.h5") as f:
            assert f["edges/layer_1"].shape == (len(s), 3) and f.attrs["task"] == "attention"
            for end, column in (("src", "source"), ("dst", "target")):
                assert [texts(f, "nodes/name")[k] for k in f["edges/" + end][...]] == [row[column] for row in found]
            sums = np.zeros((NODES, 3))
            np.add.at(sums, f["edges/dst"][...], f["edges/layer_1"][...])
            np.testing.assert_allclose(sums[np.bincount(d, minlength=NODES) > 0], 1, atol=1e-5)

# By AGNN, of the encoder of links, and by names after reordering; nothing else has any.
run("train_agnn plain.h5 --epochs 1 --quiet --checkpoint agnn.h5")
run("predict plain.h5 --checkpoint agnn.h5 --attention a.csv --out p.csv --quiet")
sums = {}
for row in rows("a.csv"):
    sums[row["target"]] = sums.get(row["target"], 0) + float(row["layer_1_head_1"])
assert len(sums) == NODES and all(abs(total - 1) < 1e-5 for total in sums.values())
run("train_link plain.h5 --model gat --heads 2 --hidden 4 --epochs 1 --quiet --checkpoint link.h5")
run("predict plain.h5 --checkpoint link.h5 --attention a.csv --quiet")
run("reorder rabbit plain.h5 moved.h5")
run("predict moved.h5 --checkpoint link.h5 --attention b.csv --escape-formulas --quiet")
plain = sorted((row["source"], row["target"], round(float(row["layer_1_head_2"]), 4)) for row in rows("a.csv"))
moved = sorted((row["source"].removeprefix("'"), row["target"].removeprefix("'"), round(float(row["layer_1_head_2"]), 4)) for row in rows("b.csv"))
assert [row[:2] for row in plain] == [row[:2] for row in moved]
np.testing.assert_allclose([row[2] for row in plain], [row[2] for row in moved], atol=2e-4)
run("train_gcn plain.h5 --epochs 1 --quiet --checkpoint gcn.h5")
for words, status, says in (("plain.h5 --checkpoint gcn.h5 --attention a.csv", 1, "has no attention"),
                            ("attr.h5 --checkpoint c.h5 --attention a.txt", 2, "--attention"),
                            ("plain.h5 --checkpoint agnn.h5 --attention a.csv --evaluation layers", 2, "--evaluation"),
                            ("attr.h5 --checkpoint c.h5 --attention a.npy", 2, "--attention")):
    refused(f"predict {words} --quiet", says=says, status=status)

# Records of NumPy: names, in any script, or numbers, and the matrix of the other formats.
run("predict plain.h5 --checkpoint gcn.h5 --embeddings z.npy --quiet")
run("predict plain.h5 --checkpoint gcn.h5 --embeddings z.h5 --quiet")
records = np.load("z.npy")
with h5py.File("z.h5") as f:
    np.testing.assert_array_equal(records["embedding"], f["nodes/embedding"][...])
assert records["node"].tolist() == names and records["embedding"].dtype == np.float32
run("predict plain.h5 --checkpoint gcn.h5 --embeddings y.npy --nodes n9,n2 --quiet")
np.testing.assert_array_equal(np.load("y.npy"), records[[9, 2]].astype(np.load("y.npy").dtype))
with h5py.File("plain.h5", "a") as f:
    del f["nodes/name"], f["nodes/name_offsets"]
run("predict plain.h5 --checkpoint gcn.h5 --embeddings y.npy --nodes 9,2 --quiet")
assert np.load("y.npy")["node"].tolist() == [9, 2]
