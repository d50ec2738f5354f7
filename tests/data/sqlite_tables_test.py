#!/usr/bin/env python3
"""Tables of SQLite files, wherever the programs read tables, against what Python's sqlite3 wrote; and the same tables as CSV."""
import csv
import os
import pathlib
import sqlite3
import tempfile

from peers import PARTS, expect, np, read, refused as refused_with, rows, run, write

from from_adjoint import read_dataset

NAMES = ["a, b", 'say "hi"', "two\nlines", "blanks", "Müller", "#x", "%y", "007", "semi;colon\ttab", "cr\r\nlf", "'q'", "z"]
SIZES = [0.1, 1 / 3, -1e-30, 3.4e38, 2.0, 7, -5, 16777217, 1e-44, 0.1 + 0.2, 123456.789, 12345678.9]


def convert(*args):
    return run("convert edges", *args)


def refused(*args, says):
    refused_with("convert edges", *args, "o.h5", says=says)


def execute(path, *statements, rows=()):
    with sqlite3.connect(path) as db:
        for statement in statements:
            db.execute(statement)
        for statement, values in rows:
            db.executemany(statement, values)
    db.close()


def equal(a, b):
    a, b = read_dataset(a), read_dataset(b)
    assert a.keys() == b.keys(), (a.keys(), b.keys())
    for key in a:
        if key not in ("name", "splits"):
            assert np.array_equal(np.asarray(a[key]), np.asarray(b[key])), key


os.chdir(tempfile.mkdtemp())
links = [(k, (k * 5 + 1) % len(NAMES)) for k in range(len(NAMES))]
execute("shop.db", "CREATE TABLE people (name TEXT, size REAL, colour TEXT, kind TEXT)",
        "CREATE TABLE links (source TEXT, target TEXT, weight REAL)",
        "CREATE VIEW \"odd, view\" AS SELECT target AS source, source AS target FROM links",
        "CREATE TABLE parts (name TEXT, part TEXT)", "CREATE TABLE none (source, target)",
        rows=[("INSERT INTO people VALUES (?, ?, ?, ?)",
               [(name, SIZES[k], ["red", "blue", None][k % 3], ["x", "y", None, "z"][k % 4]) for k, name in enumerate(NAMES)]),
              ("INSERT INTO links VALUES (?, ?, ?)", [(NAMES[a].replace("blanks", " blanks "), NAMES[b], SIZES[a]) for a, b in links]),
              ("INSERT INTO parts VALUES (?, ?)", [(name, PARTS[k % 3]) for k, name in enumerate(NAMES)])])
for table in ("people", "links", "parts"):
    with sqlite3.connect("shop.db") as db, open(table + ".csv", "w", newline="") as file:
        cursor = db.execute(f"SELECT * FROM {table}")
        writer = csv.writer(file, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n")
        writer.writerow([column[0] for column in cursor.description])
        writer.writerows(cursor)
    db.close()

# Names, numbers and gaps are exact; the other options are for the text files beside.
expect(convert("shop.db:links", "own.h5", "--features", "shop.db:people", "--label", "kind"), "shop.db:links: columns source,target,weight",
       "shop.db:people: columns name,size,colour,kind", "weights from weight")
found = read_dataset("own.h5")
assert found["name"] == "shop"
order = [NAMES.index(name) for name in found["node_names"]]
assert sorted(order) == list(range(len(NAMES)))
assert [(order[a], order[b]) for a, b in found["edge_index"].T] == links
assert np.array_equal(found["edge_weight"], np.float32(SIZES))
assert found["feature_names"] == ["size", "colour=blue", "colour=red"]
colours = [[0, 1], [1, 0], [0, 0]]
assert np.array_equal(found["x"], np.float32([[SIZES[k], *colours[k % 3]] for k in order]))
assert np.array_equal(found["y"], [[0, 1, -1, 2][k % 4] for k in order]) and found["class_names"] == ["x", "y", "z"]
convert("links.csv", "csv.h5", "--features", "people.csv", "--label", "kind")
equal("own.h5", "csv.h5")
write("odd.csv", ("source|target|weight\n" + "".join(f"\"{NAMES[k].replace(chr(34), chr(34) * 2)}\"|z|1,5\n" for k in range(12))).encode("latin1"))
convert("odd.csv", "odd.h5", "--features", "shop.db:people", "--label", "kind", "--separator", "|", "--decimal", "comma",
        "--encoding", "latin1", "--comment", "3")
odd = read_dataset("odd.h5")
assert np.all(odd["edge_weight"] == 1.5)
assert np.array_equal(odd["x"][:, 0], np.float32([SIZES[NAMES.index(name)] for name in odd["node_names"]]))

# Views, queries, a name with a colon, and a file that has the name of a table.
convert("shop.db:odd, view", "view.h5")
view = read_dataset("view.h5")
assert [(NAMES.index(view["node_names"][b]), NAMES.index(view["node_names"][a])) for a, b in view["edge_index"].T] == links
convert("shop.db:SELECT source, target FROM links WHERE weight > 1 ORDER BY random()", "query.h5")
query = read_dataset("query.h5")
assert sorted((NAMES.index(query["node_names"][a]), NAMES.index(query["node_names"][b])) for a, b in query["edge_index"].T) == sorted(
    link for link in links if SIZES[link[0]] > 1)
convert("shop.db:WITH a AS (SELECT target, source FROM links) SELECT source, target FROM a", "query.h5")
os.link("shop.db", "a:b.db")
convert("a:b.db:links", "view.h5", "--weight", "none")
assert read_dataset("view.h5")["name"] == "a:b"
write("shop.db:links2", "1 2\n2 3\n")
assert "separated by blanks" in convert("shop.db:links2", "view.h5")

# `convert tables` takes them, too.
for path, nodes, edges in (("sql.h5", "person=shop.db:people", "knows=shop.db:links"), ("csv_tables.h5", "person=people.csv", "knows=links.csv")):
    run(f"convert tables {path} --nodes {nodes} --edges {edges} --label kind --undirected knows=true")
equal("sql.h5", "csv_tables.h5")

# Any 64-bit integers; reals that are whole are ids, too.
big = [2**63 - 1, -2**63, 2**53 + 1, 0, -1]
execute("ids.db", "CREATE TABLE e (a INTEGER, b INTEGER)", "CREATE TABLE n (id REAL, x INTEGER)",
        rows=[("INSERT INTO e VALUES (?, ?)", [(a, big[(k + 1) % 5]) for k, a in enumerate(big)]),
              ("INSERT INTO n VALUES (?, ?)", [(0, 5), (-1, 6)])])
convert("ids.db:e", "ids.h5")
assert read_dataset("ids.h5")["node_ids"].tolist() == big
convert("ids.db:SELECT a, 0 AS b FROM e WHERE a = -1", "ids.h5", "--features", "ids.db:n")
assert read_dataset("ids.h5")["x"].ravel().tolist() == [6, 5]

# Splits: files of ids, and tables of `split`.
files = [word for part in PARTS
         for word in ("--" + part, f"shop.db:SELECT name FROM parts JOIN people USING (name) WHERE part = '{part}' AND kind IS NOT NULL")]
convert("shop.db:links", "parts.h5", "--labels", "shop.db:SELECT name, kind FROM people", *files)
run("split own.h5 split.h5 --table shop.db:parts --by-column part")
run("split own.h5 csv.h5 --table parts.csv --by-column part")
run("split own.h5 row.h5 --table",
    "shop.db:SELECT part FROM parts ORDER BY instr(" + repr("".join( f"<{name}>" for name in found["node_names"])).replace("\\n", "'||char(10)||'").replace("\\r", "'||char(13)||'").replace( "\\t", "'||char(9)||'").replace("\\'", "''") + ", '<'||name||'>')",
    "--by-column", "part", "--by-row")
wanted = {part: sorted(k for k, name in enumerate(found["node_names"])
                       if NAMES.index(name) % 3 == number and NAMES.index(name) % 4 != 2)
          for number, part in enumerate(PARTS)}
for path in ("parts.h5", "split.h5", "csv.h5", "row.h5"):
    split = read_dataset(path)["splits"][0]
    assert {part: sorted(ids.tolist()) for part, ids in split.items()} == wanted, path
text = "name;part\n" + "".join(f"\"{name.replace(chr(34), chr(34) * 2)}\";{'TRAIN' if k % 3 == 0 else 'dev' if k % 3 == 1 else 'testing'}\n"
                               for k, name in enumerate(NAMES))
pathlib.Path("latin.csv").write_bytes(text.encode("latin1"))
run("split own.h5 latin.h5 --table latin.csv --by-column part --encoding latin1 --separator ;")
assert {part: sorted(ids.tolist()) for part, ids in read_dataset("latin.h5")["splits"][0].items()} == wanted
run("split own.h5 latin.h5 --decimal comma", status=2)

# Pairs and chosen nodes.
convert("shop.db:links", "pairs.h5", "--weight", "none")
run("train_link pairs.h5 --epochs 1 --quiet --checkpoint link.h5 --node-features degree")
predict = "predict pairs.h5 --checkpoint link.h5 --quiet"
run(f"{predict} --pairs shop.db:links --out p.csv")
run(f"{predict} --pairs links.csv --out q.csv")
assert read("p.csv") == read("q.csv")
assert [(row["source"], row["target"]) for row in rows("p.csv")] == [(NAMES[a], NAMES[b]) for a, b in links]
write("odd_pairs.txt", "! pairs\nMüller::z\nz::Müller\n".encode("latin1"))
run(f"{predict} --pairs odd_pairs.txt --separator :: --encoding latin1 --comment ! --out p.csv")
assert [(row["source"], row["target"]) for row in rows("p.csv")] == [("Müller", "z"), ("z", "Müller")]
run(f"{predict} --missing-links 1 --out p.csv --nodes", "shop.db:SELECT name FROM people WHERE size < 0 ORDER BY size")
assert [row["source"] for row in rows("p.csv")] == [NAMES[6], NAMES[2]]
refused_with(f"{predict} --out p.csv --pairs", "shop.db:SELECT name, 'nobody' FROM people", says="row 1: \"nobody\" is no node")
refused_with(f"{predict} --missing-links 1 --nodes shop.db:parts --out p.csv", says="two fields")
run(f"{predict} --missing-links 1 --separator x --out p.csv", status=2)

# Refusals: one line that says what helps.
execute("bad.db", "CREATE TABLE blobs (id, x)", "CREATE TABLE zero (a, b)", "CREATE TABLE bytes (a, b)",
        "CREATE TABLE gaps (id, x)", "CREATE TABLE own AS SELECT 1 AS a, 2 AS b",
        "INSERT INTO blobs VALUES (1, 2), (2, x'00ff')", "INSERT INTO zero VALUES ('a' || char(0), 'b')",
        "INSERT INTO bytes VALUES (CAST(x'4aff' AS TEXT), 'b')", "INSERT INTO gaps VALUES ('two' || char(10) || 'lines', 1), ('b', NULL)")
for source, *says in (("shop.db", "shop.db: an SQLite file", "shop.db:TABLE", "shop.db:SELECT", "links, none, odd, view (view), parts, people"),
                      ("shop.db:peple", "no such table: peple", "one of links, none"),
                      ("shop.db:SELECT nme FROM people", "no such column: nme"),
                      ("shop.db:SELECT * FROM peple", "no such table: peple", "people"),
                      ("shop.db:WITH a AS (SELECT 1) DELETE FROM people", "one query, which only reads"),
                      ("shop.db:SELECT 1; SELECT 2", "one query, which only reads"), ("shop.db:none", "no edges"),
                      ("links.csv:links", "links.csv is no SQLite file"), ("missing.db:links", "missing.db:links: cannot be opened"),
                      ("bad.db:blobs", "bad.db:blobs: row 2: column x has a blob", "a query chooses"),
                      ("bad.db:zero", "row 1: column a has a text with a zero byte"),
                      ("bad.db:bytes", "row 1: column a has a text that is no UTF-8")):
    refused(source, says=says)
write("names.csv", 'source,target\n"two\nlines",b\n')
refused("names.csv", "--features", "bad.db:gaps", says="bad.db:gaps, row 2: no number in column 2 (x)")
data = pathlib.Path("shop.db").read_bytes()
for name, bytes_ in (("short.db", data[:5000]), ("torn.db", data[:4096] + os.urandom(len(data) - 4096))):
    refused(write(name, bytes_) + ":links", says="a damaged SQLite file")
refused_with("convert edges bad.db:own bad.db", says="is also the file of", status=2)
assert not os.path.exists("o.h5")

# Locked, and read while a program writes beside it.
db = sqlite3.connect("shop.db", isolation_level=None)
db.execute("BEGIN EXCLUSIVE")
refused("shop.db:links", says="shop.db: locked by a program")
db.execute("ROLLBACK")
db.execute("PRAGMA journal_mode=WAL")
db.execute("UPDATE links SET weight = 3")
convert("shop.db:links", "wal.h5")
assert np.all(read_dataset("wal.h5")["edge_weight"] == 3)
db.close()
os.remove("a:b.db")

# Nothing is written, whatever the journal.
os.mkdir("still")
pathlib.Path("still/wal.db").write_bytes(pathlib.Path("shop.db").read_bytes())
os.chmod("still", 0o500)
convert("still/wal.db:links", "wal.h5")
assert np.all(read_dataset("wal.h5")["edge_weight"] == 3) and os.listdir("still") == ["wal.db"]
os.chmod("still", 0o700)
assert pathlib.Path("still/wal.db").read_bytes() == pathlib.Path("shop.db").read_bytes()
