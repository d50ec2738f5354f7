#!/usr/bin/env python3
"""Public tables as published (the folder `tables` of ADJOINT_TEST_DATA): the job of each is one command, whose result is held
against what csv and numpy make of the same files."""
import csv
import gzip
import io
import sys

from programs import DATA, np, read, refused, run, write

from from_adjoint import read_dataset

TABLES = DATA / "tables"
if not TABLES.is_dir():
    print(f"MESSAGE: skipped: no {TABLES} (set ADJOINT_TEST_DATA)")
    sys.exit(0)


def rows(name, separator=","):
    data = (TABLES / name).read_bytes()
    text = (gzip.decompress(data) if name.endswith(".gz") else data).decode()
    return list(csv.reader(io.StringIO(text, newline=None), delimiter=separator))


def convert(name, *args):
    note = run(f"convert edges {TABLES / name} o.h5", *args)
    return read_dataset("o.h5"), note


def links(found):
    names = found.get("node_names", found.get("node_ids", range(found["num_nodes"])))
    return [(str(names[a]), str(names[b])) for a, b in found["edge_index"].T]


def expect_reversed(found, pairs):
    """The pairs in their order, then their reverses."""
    assert links(found) == pairs + [(b, a) for a, b in pairs if a != b] and found["undirected"]


# OpenFlights: ids without a header, \N, airports without a flight and flights to airports that are not listed.
routes, airports = rows("routes.dat.gz"), {row[0]: row for row in rows("airports.dat.gz")}
found, note = convert("routes.dat.gz", "--source", 4, "--target", 6, "--missing-ids", "drop", "--features", TABLES / "airports.dat.gz",
                      "--columns", "7,8,9", "--label", 4, "--impute", "mean")
flights = [(row[3], row[5]) for row in routes if "\\N" not in (row[3], row[5])]
assert links(found) == flights and f"{len(routes) - len(flights)} lines without an id dropped" in note
ids = [str(k) for k in found["node_ids"]]
assert set(ids) == {node for pair in flights for node in pair} | set(airports)
listed = np.array([node in airports for node in ids])
places = np.array([[float(x) for x in airports[node][6:9]] if node in airports else [0] * 3 for node in ids])
np.testing.assert_array_equal(found["x"][listed], np.float32(places[listed]))
np.testing.assert_allclose(found["x"][~listed], np.tile(places[listed].mean(0), (np.sum(~listed), 1)), rtol=1e-5)
countries = sorted({row[3] for row in airports.values()})
assert list(found["class_names"]) == countries
assert found["y"].tolist() == [countries.index(airports[node][3]) if node in airports else -1 for node in ids]

# A Song of Ice and Fire: lines end in CR; a person is called Nan; the second table has the names to show.
edges = rows("asoiaf-all-edges.csv")[1:]
refused(f"convert edges {TABLES}/asoiaf-all-edges.csv o.h5", says=['"Nan"', "--missing-ids", "keep takes it as a name"])
found, note = convert("asoiaf-all-edges.csv", "--undirected", "--missing-ids", "keep", "--features", TABLES / "asoiaf-all-nodes.csv",
                      "--without", "Label")
expect_reversed(found, [(row[0], row[1]) for row in edges])
assert found["edge_weight"].tolist() == 2 * [float(row[4]) for row in edges] and "passed over: Type, id" in note
assert set(found["node_names"]) == {row[0] for row in rows("asoiaf-all-nodes.csv")[1:]} and "x" not in found and "y" not in found

# Game of Thrones, as tables and as GraphML.
edges = rows("got-edges.csv")[1:]
found, _ = convert("got-edges.csv", "--undirected", "--missing-ids", "keep")
expect_reversed(found, [(row[0], row[1]) for row in edges])
assert found["edge_weight"].tolist() == 2 * [float(row[2]) for row in edges]
refused(f"convert edges {TABLES}/got-network.graphml g.h5", says="networkx.read_graphml")
try:
    import networkx
    from to_adjoint import to_adjoint
    to_adjoint(networkx.read_graphml(TABLES / "got-network.graphml"), "g.h5")
    same = read_dataset("g.h5")
    assert sorted(zip(links(same), same["edge_weight"])) == sorted(zip(links(found), found["edge_weight"]))
except ImportError as missing:
    print(f"MESSAGE: GraphML skipped: {missing} (python3-networkx)")

# Sensors of the bay: no header, distances as weights.
distances, sensors = rows("distances_bay_2017.csv.gz"), {row[0]: row[1:] for row in rows("graph_sensor_locations_bay.csv")}
found, _ = convert("distances_bay_2017.csv.gz", "--weight", 3, "--features", TABLES / "graph_sensor_locations_bay.csv")
assert links(found) == [(row[0], row[1]) for row in distances]
assert np.array_equal(found["edge_weight"], np.float32([float(row[2]) for row in distances]))
assert np.array_equal(found["x"], np.float32([[float(x) for x in sensors[str(node)]] for node in found["node_ids"]]))

# Film: lists of word ids of different lengths become columns of 0 and 1, which travel with a trained model.
words = {row[0]: row[1:] for row in rows("film_nodes.txt.gz", "\t")[1:]}
found, note = convert("film_edges.txt.gz", "--features", TABLES / "film_nodes.txt.gz", "--types", "2=set", "--split", "60,20,20")
assert links(found) == [tuple(row) for row in rows("film_edges.txt.gz", "\t")[1:]] and "932 different ones" in note
column = "feature(feature_amount:931)"
kinds = sorted({int(word) for row in words.values() for word in row[0].split(",")})
assert list(found["feature_names"]) == [f"{column}={word}" for word in kinds]
ids = [str(node) for node in found.get("node_ids", range(found["num_nodes"]))]
wanted = np.zeros((len(ids), len(kinds)), np.float32)
for k, node in enumerate(ids):
    wanted[k, np.searchsorted(kinds, [int(word) for word in words[node][0].split(",")])] = 1
assert np.array_equal(found["x"], wanted) and found["y"].tolist() == [int(words[node][1]) for node in ids]
run("train_gcn o.h5 --epochs 2 --quiet --checkpoint film.h5")
write("later.txt", f"node_id\t{column}\n1\t931,5\n2\t\n3\t5,12345,7\n")
write("later_edges.txt", "1\t2\n2\t3\n")
note = run("convert edges later_edges.txt later.h5 --features later.txt --like film.h5")
later = read_dataset("later.h5")
for row, items in zip(later["x"], ([931, 5], [], [5, 7])):
    assert set(np.flatnonzero(row)) == {kinds.index(word) for word in items}
assert "1 row of categories that are not known there (12345)" in note and list(later["feature_names"]) == list(found["feature_names"])
run("predict later.h5 --checkpoint film.h5 --quiet --out p.csv")
assert len(read("p.csv").splitlines()) == 4

# Marvel: names end in blanks.
# Names that have a comma are in quotes, in which they are cut, too.
edges = [tuple(name.strip() for name in row) for row in rows("marvel_bimodal_edges.csv.gz")[1:] if row]
found, _ = convert("marvel_bimodal_edges.csv.gz")
assert links(found) == edges
