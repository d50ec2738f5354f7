#!/usr/bin/env python3
"""`convert edges --layout matrix` and `--layout neighbors`: matrices that numpy drew, as every kind of file that numpy, scipy,
h5py and MATLAB write, and lists of neighbours that networkx writes, against the entries themselves."""
import gzip
import io
import os
import pathlib
import subprocess
import sys
import tempfile

from peers import BIN, h5py, np, refused as refused_with, run as run_program, write

from from_adjoint import read_dataset

try:
    import networkx
    import scipy.io
    import scipy.sparse
except ImportError as missing:
    print(f"MESSAGE: skipped: {missing} (python3-scipy, python3-networkx)")
    sys.exit(bool(os.environ.get("CI")))

rng = np.random.default_rng(11)
N = 37
NAMES = [f"n{(k * 5) % N}, é" for k in range(N)]


def run(*args):
    return run_program("convert edges", *args)


def matrix(*args):
    return run(args[0], "o.h5", "--layout", "matrix", *args[1:])


def refused(path, *args, says, status=1):
    refused_with("convert edges", path, "bad.h5", *args, says=says, status=status)
    assert not os.path.exists("bad.h5")


def expect(a, *args, names=None, undirected=None, weighted=None, says=()):
    """The edges of o.h5 are the entries of `a`, row by row."""
    note = matrix(*args)
    found = read_dataset("o.h5")
    rows, cols = np.nonzero(a)
    assert np.array_equal(found["edge_index"], [rows, cols]), (args, found["edge_index"], rows, cols)
    weighted = bool(np.any(a[rows, cols] != 1)) if weighted is None else weighted
    assert ("edge_weight" in found) == weighted, args
    if weighted:
        assert np.array_equal(found["edge_weight"], np.float32(a[rows, cols])), args
    assert found["undirected"] == (np.array_equal(a, a.T) if undirected is None else undirected), args
    assert found["num_nodes"] == len(a)
    assert found.get("node_names") == names if names is None else list(found["node_names"]) == names, args
    for text in says:
        assert text in note, (text, note)


def csv(path, a, head=None, first=None, between=",", corner="", number=repr):
    quoted = lambda name: f'"{name}"'
    lines = [between.join(([quoted(corner)] if first and corner is not None else []) + [quoted(n) for n in head])] if head else []
    for k, row in enumerate(a):
        lines.append(between.join(([quoted(first[k])] if first else []) + [number(value) for value in row.tolist()]))
    return write(path, "\n".join(lines) + "\n")


os.chdir(tempfile.mkdtemp())
bits = (rng.random((N, N)) < 0.15).astype(np.int64)
bits[5] = bits[:, 5] = 0  # a node without an edge
weights = np.where(bits, rng.normal(size=(N, N)), 0.0)
weights[0, 1:3] = [1e-30, 3e38]
both = np.triu(weights) + np.triu(weights, 1).T

for a in (bits, weights, both, bits | bits.T):
    # Text, with names of rows and columns, of one of them, and none; columns in another order; R's short header.
    expect(a, csv("m.csv", a), says=["nodes by number", "separated by a comma"])
    expect(a, csv("m.csv", a, NAMES), names=NAMES)
    expect(a, csv("m.csv", a, None, NAMES), names=NAMES, says=["names from the first column"])
    expect(a, csv("m.csv", a, NAMES, NAMES), names=NAMES)
    expect(a, csv("m.csv", a, NAMES, NAMES, corner="node"), names=NAMES)
    expect(a, csv("m.csv", a, NAMES, NAMES, corner=None, between="\t"), names=NAMES)
    order = rng.permutation(N)
    expect(a, csv("m.csv", a[:, order], [NAMES[k] for k in order], NAMES, between=";"), names=NAMES)
    ids = [str(7 * k - 9) for k in range(N)]
    expect(a, csv("m.csv", a, ids, ids))
    assert read_dataset("o.h5")["node_ids"].tolist() == [int(k) for k in ids]
    expect(a, csv("m.csv", a, between=" "))
    expect(a, csv("m.csv", a, NAMES, between="::"), "--separator", "::", names=NAMES)
    expect(a, csv("m.csv", a, between=" ", number=lambda v: repr(v).replace(".", ",")), "--decimal", "comma")
    np.savetxt("m.txt", a, fmt="%.17g")
    expect(np.float32(a), "m.txt")
    write("m.csv", pathlib.Path(csv("m.csv", a, NAMES, NAMES)).read_text().encode("latin1"))
    expect(a, "m.csv", "--encoding", "latin1", names=NAMES)
    pathlib.Path("m.gz").write_bytes(gzip.compress(pathlib.Path("m.txt").read_bytes()))
    expect(np.float32(a), "m.gz")

    # Arrays of numpy.
    for order in "CF":
        for kind in (("<f8", ">f8", "<f4") if a.dtype == float else ("?", "i1", "<u2", ">i4", "<i8", "<f2")):
            np.save("m.npy", np.asarray(a, kind, order=order))
            expect(np.float32(a), "m.npy")
    np.savez_compressed("m.npz", features=np.zeros((N, 3)), adjacency=a, other=np.zeros(3))
    expect(a, "m.npz", says=["array adjacency"])
    np.savez("m.npz", a=a, b=a / 2)
    expect(a / 2, "m.npz", "--variable", "b")
    refused("m.npz", "--layout", "matrix", says="matrices a [37, 37], b [37, 37], expected one that is square (--variable")

    # Sparse matrices of scipy; entries that occur twice are added up, and stored zeros are none.
    for form in ("csr", "csc", "coo"):
        scipy.sparse.save_npz("m.npz", scipy.sparse.coo_matrix(a).asformat(form))
        expect(a, "m.npz", says=[f"a sparse matrix ({form})"])
    rows, cols = np.nonzero(bits)
    twice = scipy.sparse.coo_matrix((np.r_[np.ones(len(rows)), 2 * np.ones(3), 0.0], (np.r_[rows, rows[:3], 5], np.r_[cols, cols[:3], 5])), (N, N))
    scipy.sparse.save_npz("m.npz", twice)
    expect(twice.toarray(), "m.npz", says=["3 equal entries added", "1 stored entries are 0 and no edges"])

    # Matrix Market, as arrays and coordinates.
    for content in (a, scipy.sparse.coo_matrix(a)):
        scipy.io.mmwrite("m.mtx", content, symmetry="general", precision=17)
        matrix("m.mtx")
        found = read_dataset("o.h5")
        dense = np.zeros((N, N), np.float32)
        dense[tuple(found["edge_index"])] = found.get("edge_weight", 1)
        assert np.array_equal(dense, np.float32(a))
    if np.array_equal(a, a.T):
        scipy.io.mmwrite("m.mtx", a, symmetry="symmetric", precision=17)
        expect(a, "m.mtx")

    # MATLAB: version 5 plain and compressed, full and sparse; 7.3 is HDF5 behind 512 bytes of text, transposed.
    for packed in (False, True):
        scipy.io.savemat("m.mat", {"A": a, "x": np.zeros((N, 2)), "label": "text", "cell": np.array([1, "a"], object)}, do_compression=packed)
        expect(a, "m.mat", says=["variable A"])
        scipy.io.savemat("m.mat", {"network": scipy.sparse.csc_matrix(a), "group": scipy.sparse.eye(N, 4)}, do_compression=packed)
        expect(a, "m.mat", says=["variable network"])
    sparse = scipy.sparse.csc_matrix(a)
    for full in (True, False):
        with h5py.File("m.mat", "w", userblock_size=512) as f:
            f["x"] = np.zeros((2, N))
            if full:
                f.create_dataset("A", data=a.T, chunks=(8, 8), compression="gzip")
            else:
                f["A/data"], f["A/ir"], f["A/jc"] = sparse.data, sparse.indices.astype(np.uint64), sparse.indptr.astype(np.uint64)
                f["A"].attrs["MATLAB_sparse"] = np.uint64(N)
        with open("m.mat", "r+b") as f:
            f.write(b"MATLAB 7.3 MAT-file, Platform: GLNXA64".ljust(124) + b"\0\2IM")
        expect(a, "m.mat", says=["variable A"])

# Weights that are not wanted; self loops; triangles.
expect((weights != 0).astype(int), csv("m.csv", weights), "--weight", "none", weighted=False)
matrix("m.csv", "--drop-self-loops")
rows, cols = np.nonzero(weights * (1 - np.eye(N)))
assert np.array_equal(read_dataset("o.h5")["edge_index"], [rows, cols])
for part in (np.triu(both), np.tril(both)):
    note = matrix(csv("m.csv", part))
    assert "directed (--undirected adds the reverses)" in note and not read_dataset("o.h5")["undirected"]
    note = matrix("m.csv", "--undirected")
    found = read_dataset("o.h5")
    dense = np.zeros((N, N), np.float32)
    dense[tuple(found["edge_index"])] = found.get("edge_weight", 1)
    assert np.array_equal(dense, np.float32(both)) and found["undirected"] and "triangle only" in note
expect(both, csv("m.csv", both, NAMES, NAMES), "--undirected", names=NAMES, says=["symmetric: undirected"])
csv("m.csv", weights, NAMES, NAMES)
k, j = np.argwhere(weights != weights.T)[np.flatnonzero(weights[tuple(np.argwhere(weights != weights.T).T)])[0]]
refused("m.csv", "--layout", "matrix", "--undirected", says=f"the entry from {NAMES[k]} to {NAMES[j]} is ")

# Tables of nodes go by the names; splits and --like as for lists.
csv("m.csv", bits, NAMES, NAMES)
table = "node,size,kind\n" + "".join(f'"{name}",{k},{"ab"[k % 2]}\n' for k, name in reversed(list(enumerate(NAMES))))
note = matrix("m.csv", "--features", write("nodes.csv", table), "--label", "kind", "--split", "60,20,20")
found = read_dataset("o.h5")
assert found["x"].ravel().tolist() == list(range(N)) and found["y"].tolist() == [k % 2 for k in range(N)] and found["splits"]
np.save("m.npy", bits)
matrix("m.npy", "--features", write("nodes.csv", "id,size\n" + "".join(f"{k},{k + 1}\n" for k in reversed(range(N)))))
assert read_dataset("o.h5")["x"].ravel().tolist() == list(range(1, N + 1))

# Matrix Market in coordinates is read as sparse matrices are: zeros are none, equal entries are added up.
for kind, entries, wanted in (("real general", "3 3 4\n1 2 5\n2 3 0\n3 1 1\n3 1 2\n", [[0, 5, 0], [0, 0, 0], [3, 0, 0]]),
                              ("pattern symmetric", "3 3 3\n2 1\n1 2\n3 3\n", [[0, 2, 0], [2, 0, 0], [0, 0, 1]])):
    expect(np.array(wanted), write("m.mtx", f"%%MatrixMarket matrix coordinate {kind}\n{entries}"), says=["equal entries added"])
expect(np.array([[0, 1], [0, 0]]), write("m.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 2 5\n2 1 0\n"), "--weight", "none",
       weighted=False, says=["1 stored entries are 0 and no edges"])

# Refusals, and the hint where a matrix is taken for a list.
for text, says in (("0,1\n1,x\n", 'm.csv:2: "x" in column 2, expected a finite number'), ("0,1\n1,\n", 'm.csv:2: "" in column 2'),
                   ("0,1\n1,nan\n", '"nan" in column 2'), ("0,1\n1,0\n1,1\n1,1\n", "4 rows of 2 columns, expected as many"),
                   ("0,0.3,inf\n0.3,0,1\ninf,1,0\n", 'm.csv:1: "inf" in column 3, expected a finite number'),
                   ("0,NaN,1\n1,0,1\n1,1,0\n", 'm.csv:1: "NaN" in column 2'), ("0,,1\n1,0,1\n", 'm.csv:1: "" in column 2'),
                   ("0,1,0,1\n1,0,0,1\n0,1,1,0\n", "3 rows of 4 columns, expected as many"),
                   ("0.5,1,0\n1.5,0,1\n", "2 rows of 3 columns, expected as many"),
                   ("1,2\n0,1\n1,0\n", "--header yes"), ("0,1\n1\n", "m.csv:2: 1 fields, expected 2"),
                   (",a,b\na,0,1\nc,1,0\n", 'column "b" is the name of no row'), (",a,a\na,0,1\nb,1,0\n", "two columns of one name"),
                   (",a,b\na,0,1\na,1,0\n", '"a" is the name of two nodes'), (",a,b\na,0,0\nb,0,0\n", "no edges"), ("", "no rows"),
                   ("%%MatrixMarket matrix array real general\n2 2\n1\n2\n3\n", "expected 2 columns of values"),
                   ("%%MatrixMarket matrix array real general\n2 2\n1\n2\n3\n4\n5\n", "no more values"),
                   ("%%MatrixMarket matrix array complex general\n2 2\n", "complex"),
                   ("%%MatrixMarket matrix array real general\n2 3\n", "2 rows and 3 columns")):
    refused(write("m.csv", text), "--layout", "matrix", says=says)
assert matrix(write("m.csv", "1,2\n0,1\n1,0\n"), "--header", "yes") and read_dataset("o.h5")["node_ids"].tolist() == [1, 2]
for array, says in ((np.zeros((2, 3)), "an array [2, 3], expected a square"), (np.array([[1j]]), "<c16"),
                    (np.array([[np.nan]]), "is not a finite number"), (np.zeros((3, 3)), "no edges")):
    np.save("m.npy", array)
    refused("m.npy", "--layout", "matrix", says=says)
np.save("m.npy", bits)
pathlib.Path("short.npy").write_bytes(pathlib.Path("m.npy").read_bytes()[:-1])
refused("short.npy", "--layout", "matrix", says="bytes, expected")
scipy.io.savemat("m.mat", {"A": weights})
for end in (200, 5000):
    pathlib.Path("short.mat").write_bytes(pathlib.Path("m.mat").read_bytes()[:end])
    refused("short.mat", "--layout", "matrix", says="truncated or damaged")
scipy.io.savemat("m.mat", {"A": np.zeros((2, 3))})
refused("m.mat", "--layout", "matrix", says="matrices A [2, 3], expected one that is square")
scipy.sparse.save_npz("m.npz", scipy.sparse.eye(4, format="dia"))
refused("m.npz", "--layout", "matrix", says="tocsr")
for path in ("m.npy", "m.npz", "m.mat"):
    refused(path, says="--layout matrix")
refused(csv("m.csv", bits), says="--layout matrix")
refused("m.csv", "--layout", "matrix", "--source", "1", "--target", "2", status=2, says="--source, --target: conflicts with --layout matrix")
refused("m.csv", "--layout", "matrix", "--ids", "names", status=2, says="--ids: conflicts")
refused("m.csv", "--variable", "A", status=2, says="--variable: requires")
refused("m.csv", "--layout", "matrix", "--variable", "A", says="expected no --variable")
# Whole numbers that float32 does not hold are counted, once, with the largest difference; fractions are not.
large = np.zeros((4, 4), np.int64)
large[0, 1], large[1, 2], large[2, 3], large[3, 0], large[0, 2] = 2**24, 2**24 + 1, 2**30 + 40, 7, 2**25 + 1
loss = "; 3 weights are rounded to float32, by 40 at most\n"
wide = large.astype(np.float64)
wide[1, 0] = 0.1
for kind in ("dense", "real"):
    a = large if kind == "dense" else wide
    np.save("w.npy", a)
    np.savez("w.npz", A=a)
    scipy.sparse.save_npz("s.npz", scipy.sparse.csr_matrix(a))
    scipy.io.savemat("w.mat", {"A": wide})
    scipy.io.savemat("s.mat", {"A": scipy.sparse.csc_matrix(wide)})
    with h5py.File("w73.mat", "w", userblock_size=512) as f:
        f["A"] = a.T
    with open("w73.mat", "r+b") as f:
        f.write(b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM")
    scipy.io.mmwrite("w.mtx", scipy.sparse.coo_matrix(a))
    scipy.io.mmwrite("a.mtx", a)
    text = "\n".join(",".join(repr(v.item()) if v % 1 else str(int(v)) for v in row) for row in a) + "\n"
    pathlib.Path("w.csv").write_text(text)
    pathlib.Path("named.csv").write_text("".join(f"{2**24 + 1 + k},{line}\n" for k, line in enumerate(text.splitlines())))
    for path in ("w.npy", "w.npz", "s.npz", "w.mat", "s.mat", "w73.mat", "w.mtx", "a.mtx", "w.csv", "named.csv"):
        note = matrix(path)
        assert note.count(loss) == 1 and note.count("rounded") == 1, (path, note)
        assert "rounded" not in matrix(path, "--weight", "none"), path
assert run("w.mtx", "o.h5").count(loss) == 1 and "rounded" not in run("w.mtx", "o.h5", "--weight", "none")
# Entries that become 0 are no edges of a matrix, which is said.
tiny = np.array([[0, 1e-50, 0.5], [0.5, 0, 2e-50], [-1e-60, 0, 0]])
np.save("w.npy", tiny)
scipy.sparse.save_npz("s.npz", scipy.sparse.csr_matrix(tiny))
scipy.io.savemat("w.mat", {"A": tiny})
scipy.io.mmwrite("w.mtx", scipy.sparse.coo_matrix(tiny))
scipy.io.mmwrite("a.mtx", tiny)
pathlib.Path("w.csv").write_text("\n".join(",".join(map(repr, row)) for row in tiny.tolist()) + "\n")
zeros = "; 3 weights are 0 as float32, which has none so small"
for path in ("w.npy", "s.npz", "w.mat", "w.mtx", "a.mtx", "w.csv"):
    for more in ((), ("--weight", "none")):
        note = matrix(path, *more)
        assert f"{zeros}, and so no edges\n" in note and "2 directed edges" in note and "stored zeros" not in note, (path, note)
assert f"{zeros}; 3 of 5 entries are 0 and still edges" in run("w.mtx", "o.h5")
for _ in range(300):  # damaged files are refused, or are other matrices
    path = ("m.npy", "m.npz", "m.mat", "m.mtx")[_ % 4]
    {"m.npy": lambda: np.save("m.npy", bits), "m.npz": lambda: scipy.sparse.save_npz("m.npz", scipy.sparse.csr_matrix(weights)),
     "m.mat": lambda: scipy.io.savemat("m.mat", {"A": scipy.sparse.csc_matrix(weights)}, do_compression=_ % 8 < 4),
     "m.mtx": lambda: scipy.io.mmwrite("m.mtx", weights)}[path]()
    content = bytearray(pathlib.Path(path).read_bytes())
    for place in rng.integers(0, min(len(content), 2000), rng.integers(1, 4)):
        content[place] = rng.integers(0, 256)
    pathlib.Path("d" + path[1:]).write_bytes(content)
    done = subprocess.run([BIN / "convert", "edges", "d" + path[1:], "d.h5", "--layout", "matrix"], capture_output=True, timeout=60)
    assert done.returncode in (0, 1) and done.stderr.count(b"\n") <= 1, (path, done)


def neighbors(*args):
    return run(args[0], "o.h5", "--layout", "neighbors", *args[1:])


def pairs():
    found = read_dataset("o.h5")
    names = found.get("node_names", found.get("node_ids", np.arange(found["num_nodes"])))
    return [(str(names[a]), str(names[b])) for a, b in found["edge_index"].T]


# Lists of neighbours, as networkx writes them (an undirected edge once), with colons, commas, tabs and quotes.
graph = networkx.gnp_random_graph(60, 0.08, seed=4)
networkx.write_adjlist(graph, "g.txt")
note = neighbors("g.txt", "--undirected")
assert "edges listed one way only, their reverses added" in note and read_dataset("o.h5")["num_nodes"] == 60
assert sorted(pairs()) == sorted((str(a), str(b)) for edge in graph.edges for a, b in (edge, edge[::-1]))
assert "directed (--undirected adds the reverses)" in neighbors("g.txt")
assert sorted(pairs()) == sorted((str(a), str(b)) for a, b in graph.edges)
directed = networkx.gnp_random_graph(30, 0.1, seed=5, directed=True)
wanted = sorted((f"v {a}", f"v {b}") for a, b in directed.edges)
listed = {f"v {a}": [f"v {b}" for b in directed[a]] for a in directed}
for text in ("".join(f"{a}: {','.join(b)}\n" for a, b in listed.items()), "".join(f"{a},{','.join(b)}\n" for a, b in listed.items() if b),
             "".join("\t".join([a, *b]) + "\n" for a, b in listed.items()),
             "# comment\n" + "".join(f'"{a}": ' + " ".join(f'"{name}"' for name in b) + "\n" for a, b in listed.items()),
             "".join(f"{a}: {'; '.join(b + [''])}\r\n" for a, b in listed.items())):
    neighbors(write("g.txt", text))
    assert sorted(pairs()) == wanted, text
twice = {a: sorted({*listed[a], *(b for b in listed if a in listed[b])}) for a in listed}
assert "listed both ways: undirected" in neighbors(write("g.txt", "".join(f"{a}: {','.join(b)}\n" for a, b in twice.items())))
assert sorted(pairs()) == sorted((a, b) for a in twice for b in twice[a]) and read_dataset("o.h5")["undirected"]
assert "1 equal entries counted once" in neighbors(write("g.txt", "1:2,3,2\n2:\n7:1\n")) and sorted(pairs()) == [("1", "2"), ("1", "3"), ("7", "1")]
neighbors(write("g.txt", "http://a http://b http://c\nhttp://c http://a\n"))
assert sorted(pairs()) == [("http://a", "http://b"), ("http://a", "http://c"), ("http://c", "http://a")]
neighbors(write("g.txt", "a b c\nd\n"), "--features", write("nodes.csv", "id,x\nd,4\nc,3\nb,2\na,1\n"))
assert read_dataset("o.h5")["x"].ravel().tolist() == [1, 2, 3, 4]
for text, says in (("a: b\nc d\n", "g.txt:2: no colon behind the node"), ("1 2\n3 x\n", 'g.txt:2: "x", expected a 64-bit integer'),
                   ("a b\nNA b\n", '"NA", expected the id'), ("", "no lines"), ("a\nb\n", "no edges"), (",a\n", '"", expected the id'),
                   ("0: [1, 2]\n1: [0]\n2: [0]\n", 'g.txt:1: "0: [1, 2]", which has brackets, expected ids alone'),
                   ("d:\na: [b]\n", "g.txt:2: "), ("0: {1, 2}\n", "has brackets"), ("0 (1 2)\n", "has brackets"),
                   ("node,neighbors\na,b\n", 'g.txt:1: "node,neighbors", which may be a header'), ("who,whom\n1,2\n2,1\n", "a header"),
                   ('a,"b,c"\nb,a\n', 'g.txt:1: "b,c", which may be a list of ids'), ("1 2,3\n2 1\n", '"1 2", which may be a list'), ("1\t2,3\n2\t1\n", '"2,3", which may'),
                   ("a b:0.5 c:0.2\nb a:0.5\n", "which may have weights"), ("a: b:1\n", "which may have weights"),
                   ("a 2\nb {}\nc {}\nb 0\nc 0\n", 'g.txt:2: "b {}", as networkx.write_multiline_adjlist writes'),
                   ("0 1\n1 {'weight': 2}\n1 0\n", "write_multiline_adjlist")):
    refused(write("g.txt", text), "--layout", "neighbors", says=says)
for text, names in (("[a] {b}\n", "[a] {b}"), ('a,"b,c"\n', "a b,c"), ("x:1 y:2\n", "x:1 y:2"), ("node id\n", "node id"), ("a b:1\n", "a b:1")):
    neighbors(write("g.txt", text), "--ids", "names")
    assert list(read_dataset("o.h5")["node_names"]) == names.split(), text
for text in ("x:1 y:2 z:3\n", "Doe (x),Roe (y),Poe\n", '"(a)" b\n', "a,b\nb,c,d\nd,e;f\n"):  # names with such characters
    neighbors(write("g.txt", text))
# A mark that may end the node, as it is in every line and in no neighbour.
for text, mark in (("ann:bob,cid\nbob:ann,cid\ncid:ann,bob\neve:bob\n", ":"), ("ann:bob cid\nbob:ann\n", ":"), ("ann -> bob, cid\nbob -> ann\n", "->"),
                   ("ann -> bob cid\nbob -> ann\n", "->"), ("1|2,3\n2|1\n", "|"), ("ann=bob cid\nbob=ann\n", "=")):
    says = f'"{text.splitlines()[0]}", in which "{mark}" may end the node, as in every line, expected a colon and a blank there'
    refused(write("g.txt", text), "--layout", "neighbors", says=says)
    neighbors("g.txt", "--ids", "names")
    neighbors(write("g.txt", text.replace(" " + mark, mark).replace(mark, ": ")))
    assert len(pairs()) in (3, 7) and all(mark not in end for pair in pairs() for end in pair)
for text in ("u:a u:b\nu:b u:c\n", "ann:bob,cid\ncid,dan\n", "10:30,a:b\n7:00,c:d\n"):
    neighbors(write("g.txt", text))
refused(write("g.txt", "a: b c\nb: a c\n"), says="--layout neighbors")
refused(write("g.txt", "a b c\nb c\n"), says="--layout neighbors")
# Lists below a header that nobody knows: a list of edges never has them as nodes, lists of neighbours no header as a node.
below = (("page,links\n", "ada,bob cid dan\nbob,ada\ncid,ada bob\ndan,ada\n", "bob cid dan"),
         ("page,links\n", 'ada,"bob,cid"\nbob,ada\ncid,"ada,bob"\n', "bob,cid"), ("page,links\n", "1,2 3 4\n2,1\n3,1 2\n4,1\n", "2 3 4"),
         ("page\tlinks\n", "ada\tbob\nbob\tada|cid\ncid\tada|bob\n", "ada|cid"),
         ("page\tlinks\n", "ada\t['bob', 'cid']\nbob\t['ada']\ncid\t['ada', 'dan']\n", "['bob', 'cid']"))
for header, lines, shown in below:
    for text in (header + lines, lines):
        refused(write("g.txt", text), says=f'"{shown}" in column 2', )
        refused("g.txt", says="which may be a list of ids, expected one (--")
    refused(write("g.txt", header + lines), "--layout", "neighbors", says="g.txt:")
    run("g.txt", "o.h5", "--source", "1", "--target", "2", "--ids", "names", "--header", "yes")
    assert (lines.split("\t" if "\t" in lines else ",")[0], shown) in pairs() or shown == "ada|cid"
for text in ("page links\nada bob cid\nbob ada\ncid ada bob\n", "page: links\nada: bob cid\nbob: ada\n",
             "page links\nada: bob cid\nbob: ada\ncid: bob\n", "page,links\nada,bob,cid\nbob,ada\n",
             "page,link1,link2\nada,bob,cid\nbob,ada,\n"):
    refused(write("g.txt", text), "--layout", "neighbors", says=f'g.txt:1: "{text.splitlines()[0]}", which may be a header')
    neighbors("g.txt", "--ids", "names")
refused(write("g.txt", "page,links\nada,bob cid\nbob,ada\ncid,ada bob\n"), "--layout", "neighbors", says='"bob cid", which may be a list of ids')
# Names with blanks and commas are names: of both ends, or of words that are no nodes.
for text in ("ada,new york\nnew york,oslo\n", "ann,oslo\nbob,new york\n", "a,x y\nx y,a b\nx,y\ny,x\n", "ann;Doe, Jane\nDoe, Jane;ann\n"):
    run(write("g.txt", text), "o.h5", "--header", "no")
    assert len(pairs()) == text.count("\n"), text
refused("g.txt", "--layout", "neighbors", "--header", "yes", status=2, says="--header: conflicts")
refused("g.txt", "--layout", "lists", status=2, says="list or neighbors or matrix")
