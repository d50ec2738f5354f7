"""`convert triples` against what Python reads of the same files; h5py reads the results."""

import gzip
import os

from programs import PARTS, expect, h5py, have_data, holds, refused, result_of, run, texts, write


def open_text(path):
    data = path.read_bytes()
    return (gzip.decompress(data) if path.name.endswith(".gz") else data).decode()


def triples_of(path):
    """Names of nodes, of relations, and the triples of each part in the order of each relation's edges."""
    with h5py.File(path) as f:
        names = texts(f["nodes/node"], "name")
        relations, parts = set(), [[] for _ in PARTS]
        for edges in f["edges"].values():
            relation = edges.attrs["name"]
            relations.add(relation)
            src, dst = edges["src"][:], edges["dst"][:]
            seen = []
            for triples, part in zip(parts, PARTS):
                numbers = edges[f"splits/{part}"][:]
                seen += numbers.tolist()
                triples += [(names[s], relation, names[d]) for s, d in zip(src[numbers], dst[numbers])]
            assert sorted(seen) == list(range(len(src)))
        return names, relations, parts


def test_names():
    """Any separator, any order of columns, a header, gzip, repeats, and nodes that only later files have."""
    train, valid, test = ("a\tr 1\tb\nb\tr 1\t007\na\tr 1\tb\n\nc d\ts\ta\n", "a\tr 1\tb\nnew\ts\ta\n", "a\tt\tnew2\nnew2\tt\ta\na\tt\tnew2\n")
    write("train.txt", train)
    write("valid.txt.gz", gzip.compress(valid.encode()))
    write("test.txt", test)
    text = run("convert triples train.txt valid.txt.gz test.txt t.h5")
    expect(text, "4 to train, 2 to validate, 3 to test; 3 relations", "2 repeat another of their file, which are kept once",
           "1 triples are in several files, an edge of each", "2 of 6 nodes are in no triple to train")
    expected = [[("a", "r 1", "b"), ("b", "r 1", "007"), ("c d", "s", "a")], [("a", "r 1", "b"), ("new", "s", "a")],
                [("a", "t", "new2"), ("new2", "t", "a")]]
    names, relations, parts = triples_of("t.h5")
    assert names == ["a", "b", "007", "c d", "new", "new2"] and relations == {"r 1", "s", "t"}
    assert [sorted(part) for part in parts] == [sorted(part) for part in expected]
    assert result_of("inspect t.h5 --json")["problems"] == []
    holds("t.h5", {"@version": 2, "nodes/node@num_nodes": 6, "edges/0@name": "r 1", "edges/0/src": [0, 1, 0], "edges/0/dst": [1, 2, 1],
                   "edges/0/splits/train": [0, 1], "edges/0/splits/val": [2], "edges/0/splits/test": []})
    # A folder, another order, blanks, a header.
    os.makedirs("folder", exist_ok=True)
    lines = [[row.split("\t") for row in part.splitlines() if row] for part in (train, valid, test)]
    for name, rows in zip(("train", "dev", "test"), lines):
        write(f"folder/{name}.tsv", "".join(f"{t}\t{h}\t{r}\n" for h, r, t in rows))
    run("convert triples folder o.h5 --columns tail,head,relation")
    assert triples_of("o.h5")[1:] == (relations, parts)
    for name, rows in zip(("train", "valid", "test"), lines):
        write(f"folder/{name}.txt", "Relation tail head\r\n" + "".join(f"{r} {t}  {h} \r\n".replace("r 1", "r_1").replace("c d", "c_d") for h, r, t in rows))
    expect(run("convert triples folder o.h5"), "the first line names the columns")
    assert triples_of("o.h5")[1:] == ({"r_1", "s", "t"}, [[tuple(n.replace("c d", "c_d").replace("r 1", "r_1") for n in t) for t in p] for p in parts])
    # One file: no split, and one relation keeps its name.
    write("one.txt", "a knows b\n")
    expect(run("convert triples one.txt one.h5"), "1, without a split")
    with h5py.File("one.h5") as f:
        assert f.attrs["version"] == 2 and list(f["edges"]) == ["knows"] and "splits" not in f["edges/knows"]
    for content, says in (("a r b\na r\n", "bad.txt:2: 2 fields, expected 3: head, relation and tail, between blanks"),
                          ("a\tr\tb\na\tr\tb\tc\n", "bad.txt:2: more fields, expected 3: head, relation and tail, between tabs"),
                          ("a\tr\tb\na\t\tb\n", "bad.txt:2: an empty field, expected names"), ("", "bad.txt: no triples, expected some"),
                          (b"a r b\na \xff b\n", "bad.txt:2: "), (gzip.compress(b"a r b\n" * 99)[:-9], "bad.txt")):
        write("bad.txt", content)
        refused("convert triples bad.txt x.h5", says=says)
    os.makedirs("empty", exist_ok=True)
    refused("convert triples empty x.h5", says="empty: a folder without triples, expected one of train2id.txt, train.txt, train.tsv")
    for line, says in (("train.txt test.txt x.h5", "2 inputs, expected a folder, TRAIN alone, or TRAIN VALID TEST"),
                       ("one.txt x.h5 --columns head,tail", "--columns head,tail: expected head,relation,tail in the order")):
        refused(f"convert triples {line}", status=2, says=says)
    refused("convert triples one.txt x.h5 --split 60,20,20", says="no type of nodes has labels, expected some for --split")


def write_openke(folder, **changes):
    os.makedirs(folder, exist_ok=True)
    files = {"entity2id": "3\n/m/a\t0\nb c d\t2\ne\t1\n", "relation2id": "2\n/r/x\t1\n/r/y\t0\n", "train2id": "2\n0 2 1\n2 1 1\n",
             "valid2id": "1\n2 2 0\n", "test2id": "1\n1 0 1\n"} | changes
    for name, content in files.items():
        write(f"{folder}/{name}.txt", content)


def test_openke():
    """Numbers and their names, heads before tails before relations."""
    write_openke("ke")
    expected = (["/m/a", "e", "b c d"], {"/r/x", "/r/y"}, [[("/m/a", "/r/x", "b c d"), ("b c d", "/r/x", "e")], [("b c d", "/r/y", "b c d")],
                                                           [("e", "/r/x", "/m/a")]])
    expect(run("convert triples ke ke.h5"), "ke/entity2id.txt: 3 names", "triples of numbers, as OpenKE writes them: 2 to train")
    assert triples_of("ke.h5") == expected
    run("convert triples ke/train2id.txt ke/valid2id.txt ke/test2id.txt ke.h5")
    assert triples_of("ke.h5") == expected
    for changes, says in (({"train2id": "3\n0 2 1\n2 1 1\n"}, "train2id.txt: 2 lines behind the first, expected 3 as it says"),
                          ({"train2id": "0 2 1\n"}, 'train2id.txt:1: "0 2 1", expected the number of lines that follow'),
                          ({"test2id": "1\n1 3 0\n"}, 'test2id.txt:2: "1 3 0", expected head, tail and relation: two numbers from 0 to 2 and one from 0 to 1'),
                          ({"valid2id": "1\n1 2\n"}, 'valid2id.txt:2: "1 2"'),
                          ({"entity2id": "3\n/m/a\t0\nb\t0\ne\t1\n"}, "entity2id.txt:3: a second name of 0"),
                          ({"entity2id": "3\n/m/a\t0\nb\t3\ne\t1\n"}, "entity2id.txt:3: \"b\t3\"".replace("\t", "\\t")),
                          ({"entity2id": "3\n/m/a\t0\ne\t2\ne\t1\n"}, 'is called "e" as another'),
                          ({"relation2id": "3\n/r/x\t1\n/r/y\t0\n"}, "relation2id.txt: 2 lines behind the first, expected 3")):
        write_openke("ke2", **changes)
        refused("convert triples ke2 x.h5", says=says)
    os.remove("ke2/entity2id.txt")
    refused("convert triples ke2 x.h5", says="no entity2id.txt, expected the names of numbers beside ke2/train2id.txt")
    refused("convert triples ke/train2id.txt valid.txt.gz test.txt x.h5", says="expected files of one kind")
    refused("convert triples ke x.h5 --columns head,tail,relation", status=2, says="--columns: triples of OpenKE are")


def test_benchmarks():
    """FB15k-237 and WN18RR: the counts of their papers, and every triple by its names."""
    files = have_data(*(f"raw/kg/fb15k237/{name}" for name in ("train2id.txt.gz", "valid2id.txt.gz", "test2id.txt.gz", "entity2id.txt.gz", "relation2id.txt")))
    if files:
        run("convert triples", files[0].parent, "fb.h5")
        names, relations, parts = triples_of("fb.h5")
        assert (len(names), len(relations), [len(part) for part in parts]) == (14541, 237, [272115, 17535, 20466])
        entity, relation = ({int(row.split()[1]): row.split()[0] for row in open_text(path).splitlines()[1:]} for path in files[3:])
        assert names == [entity[k] for k in range(len(entity))]
        for part, path in zip(parts, files):
            rows = [[int(field) for field in row.split()] for row in open_text(path).splitlines()[1:]]
            assert sorted(part) == sorted((entity[h], relation[r], entity[t]) for h, t, r in rows)
    files = have_data(*(f"raw/kg/wn18rr/{name}.txt.gz" for name in ("train", "valid", "test")))
    if files:
        run("convert triples", *files, "wn.h5")
        names, relations, parts = triples_of("wn.h5")
        assert (len(names), len(relations), [len(part) for part in parts]) == (40943, 11, [86835, 3034, 3134])
        for part, path in zip(parts, files):
            assert sorted(part) == sorted(tuple(row.split("\t")) for row in open_text(path).splitlines())


for check in (test_names, test_openke, test_benchmarks):
    check()
