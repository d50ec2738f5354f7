"""`inspect --json` prints one object that Python's json reads, with the contents that h5py finds in the file."""

import json

from programs import expect, h5py, np, packed, run, write_graph


def inspect(path, *options, status=0):
    return json.loads(run(f"inspect {path} --json", *options, status=status).splitlines()[-1])


rng = np.random.default_rng(3)


def write(path, name="quote \" and \\ and \n", **changed):
    rng = np.random.default_rng(1)
    nodes, edges = 50, 300
    parts = {
        "edges/src": rng.integers(0, 40, edges), "edges/dst": rng.integers(0, 40, edges),
        "nodes/x": np.where(rng.random((nodes, 7)) < 0.5, 0, rng.random((nodes, 7))).astype(np.float32),
        "nodes/y": rng.integers(-1, 4, nodes), "nodes/id": np.arange(nodes) * 10,
    }
    labelled = np.flatnonzero(parts["nodes/y"] >= 0)
    parts |= {"splits/train": labelled[:20], "splits/val": labelled[20:30], "splits/test": labelled[30:]}
    parts |= changed
    write_graph(path, parts, name=name, num_nodes=nodes, num_classes=4)
    return parts


path = "file.h5"
parts = write(path)
result = inspect(path)
src, dst, x, y = (parts[k] for k in ("edges/src", "edges/dst", "nodes/x", "nodes/y"))
assert result["problems"] == []
assert result["app"] == "inspect" and result["file"] == path and result["name"] == "quote \" and \\ and \n"
assert (result["nodes"], result["edges"], result["num_classes"]) == (50, 300, 4)
assert result["self_loops"] == int((src == dst).sum())
assert result["parallel"] == 300 - len(set(zip(src.tolist(), dst.tolist())))
degrees_in, degrees_out = np.bincount(dst, minlength=50), np.bincount(src, minlength=50)
assert result["isolated"] == int(((degrees_in + degrees_out) == 0).sum()) >= 10
for key, degrees in (("in_degree", degrees_in), ("out_degree", degrees_out)):
    one = result[key]
    assert (one["min"], one["max"]) == (degrees.min(), degrees.max()) and abs(one["mean"] - 6) < 1e-9
    assert sum(count for _, _, count in one["histogram"]) == 50
    for least, largest, count in one["histogram"]:
        assert count == int(((degrees >= least) & (degrees <= largest)).sum())
assert not result["symmetric"] and not result["undirected"] and not result["weights"]
assert result["features"]["columns"] == 7 and not result["features"]["sparse"]
assert abs(result["features"]["fill"] - np.count_nonzero(x) / x.size) < 1e-5
assert result["features"]["negative"] == 0 and result["features"]["auto_scaling"] == "real"
assert result["features"]["least_scale"] == float(np.abs(x).max(axis=0).min())
assert result["features"]["largest_scale"] == float(np.abs(x).max())
assert result["features"]["zero_rows"] == int((x == 0).all(axis=1).sum())
assert result["labels"]["rows"] == 50 and result["labels"]["unlabelled"] == int((y < 0).sum())
assert result["labels"]["classes"] == {str(c): int((y == c).sum()) for c in range(4)}
assert result["splits"] == [[20, 10, int((y >= 0).sum()) - 30]]
assert any("nodes/id int64 [50]" in extra for extra in result["besides"])

assert "tiles" not in result
tiles = inspect(path, "--tiles")["tiles"]
assert [(t["height"], t["width"]) for t in tiles] == [(8, 1), (16, 1), (64, 1), (128, 1), (1024, 1), (64, 64), (128, 128)]
for t in tiles:
    filled = np.unique(dst // t["height"] * 1000 + src // t["width"], return_counts=True)[1]
    assert t["counts"] == [[n, int((filled >= n).sum()), int(filled[filled >= n].sum())] for n, _, _ in t["counts"]]
    assert len(t["counts"]) == 5 and t["counts"][0][2] == 300

# A file of several types: degrees of sources and of targets, by type of edges.
ends = {"rated": (rng.integers(0, 20, 100), rng.integers(0, 9, 100)), "knows": (np.array([0, 1, 5]), np.array([1, 0, 5]))}
with h5py.File(path, "w") as f:
    f.attrs.update({"format": "adjoint.graph", "version": 2})
    for name, nodes in (("person", 20), ("film", 9)):
        f.create_group("nodes/" + name).attrs["num_nodes"] = nodes
    for name, (a, b) in ends.items():
        f[f"edges/{name}/src"], f[f"edges/{name}/dst"] = a, b
        f["edges/" + name].attrs.update({"source": "person", "target": "film" if name == "rated" else "person"})
result = inspect(path)
shown = run(f"inspect {path}")
assert [e["type"][1] for e in result["edges"]] == ["knows", "rated"], result
for edges in result["edges"]:
    source, name, target = edges["type"]
    for key, nodes, numbers in (("out_degree", 20, ends[name][0]), ("in_degree", 9 if target == "film" else 20, ends[name][1])):
        degrees, one = np.bincount(numbers, minlength=nodes), edges[key]
        assert (one["min"], one["max"]) == (degrees.min(), degrees.max()) and abs(one["mean"] - degrees.mean()) < 1e-4
        assert sum(count for _, _, count in one["histogram"]) == nodes
        for least, largest, count in one["histogram"]:
            assert count == int(((degrees >= least) & (degrees <= largest)).sum())
            bar = f"{least if least == largest else f'{least}-{largest}':>21} {count:>10}"
            assert bar in shown, (bar, shown)
for heading in ("person:rated:film: out-degrees of person (bar length", "person:rated:film: in-degrees of film (",
                "person:knows:person: degrees ("):
    assert shown.count(heading) == 1, shown

write(path, **{"edges/src": np.full(300, 99), "nodes/y": np.full(50, 7)})
result = inspect(path, status=1)
assert len([p for p in result["problems"] if "edges/src: 99" in p]) == 3
assert any(p.endswith("edges/src: 297 more such values, 300 in all") for p in result["problems"])
assert "edges" not in result and "features" in result

names = ["a, b", "Zoë", "quote \"", "d"]
write(path, **packed("nodes/class_names", names))
assert inspect(path)["class_names"] == names
expect(run(f"inspect {path}"), f"4, a, b: {int((y == 0).sum())}, Zoë: ")

write(path, **{"nodes/x": np.column_stack([rng.normal(size=50), rng.random(50) * 500, np.arange(50) % 2]).astype(np.float32)})
result = inspect(path)
assert result["features"]["negative"] > 0 and result["features"]["auto_scaling"] == "real"
expect(run(f"inspect {path}"), "training standardises 2 of them")
write(path, **{"nodes/x": (rng.random((50, 20)) < 0.1).astype(np.float32)})
assert inspect(path)["features"]["auto_scaling"] == "rows"

write(path, **{"edges/src": np.zeros(0, int), "edges/dst": np.zeros(0, int)})
result = inspect(path)
assert result["edges"] == 0 and result["isolated"] == 50
assert result["in_degree"]["histogram"] == [[0, 0, 50]]
print("ok")
