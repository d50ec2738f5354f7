"""`convert rdf` against rdflib's sets of triples, and against what the tables of labels say; h5py reads the results."""

import csv
import gzip
import re
import subprocess

from programs import BIN, PARTS, expect, h5py, have_data, holds, library, np, refused, run, skipped, texts, write

XSD = "http://www.w3.org/2001/XMLSchema#"
E = "http://e.org/"


def triples_in(path):
    """Those of a file by names, each once, without reverses; and the number of edges."""
    with h5py.File(path) as f:
        names = texts(f["nodes/node"], "name")
        found, count = set(), 0
        for edges in f["edges"].values():
            assert edges.attrs["source"] == edges.attrs["target"] == "node"
            if edges.attrs["name"].endswith("^-1"):
                continue
            count += len(edges["src"])
            found |= {(names[s], edges.attrs["name"], names[d]) for s, d in zip(edges["src"][:], edges["dst"][:])}
    assert len(names) == len(set(names))
    return found, count


def name_of(term, rdflib):
    """As N-Triples of RDF 1.1 writes it, without brackets of IRIs."""
    if isinstance(term, rdflib.URIRef):
        return str(term)
    if isinstance(term, rdflib.BNode):
        return f"_:{term}"
    text = str(term).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\r", "\\r")
    if term.language:
        return f'"{text}"@{term.language.lower()}'
    return f'"{text}"' + (f"^^<{term.datatype}>" if term.datatype and str(term.datatype) != XSD + "string" else "")


def without_labels_of_blanks(triples):
    """What is left to compare when two readers number blank nodes of their own accord: how often each triple occurs with these
    replaced by the texts of their own triples, to any depth."""
    about = {}
    for s, p, o in triples:
        about.setdefault(s, set()).add((p, o))

    def text(term):
        return "[" + ", ".join(sorted(f"{p} {text(o)}" for p, o in about.get(term, ()))) + "]" if term.startswith("_:") else term
    return sorted((text(s), p, text(o)) for s, p, o in triples)


def read_by_rdflib(text, syntax):
    rdflib = library("rdflib")
    if not rdflib:
        return None
    graph = rdflib.Graph()
    rdflib.NORMALIZE_LITERALS = False
    graph.parse(data=text, format=syntax)
    return {tuple(name_of(term, rdflib) for term in triple) for triple in graph}


TURTLE = """@base <http://e.org/> .  # a comment; with . and <signs>
@prefix e: <http://e.org/> . @prefix : <#> .
PREFIX x: <http://www.w3.org/2001/XMLSchema#>
<a> a e:Person ; e:knows <b>, e:c ;
  e:age 5, -5.50 , 1.0e3, true ;
  e:name "Ann", 'Anne'@EN-gb, "An\\u00e9\\n\\"q\\" \\\\"@fr , '''long
"lines" of''' , "7"^^x:byte, "s"^^x:string .
<b> e:knows [ e:name "nobody" ; e:knows [ e:age 7 ] ] , _:who ; :local "tab\\there" .
_:who e:likes ( 1 "two" e:c ) ; e:knows _:who , <a> .
e:d\\,e e:empty () . <b> e:knows e:c .
<\\u00e9> e:p "\U0001F600" .
"""


def test_turtle():
    """Every construct, as rdflib reads it."""
    write("a.ttl", TURTLE)
    write("b.TTL.gz", gzip.compress(TURTLE.replace("\n", "\r\n").replace("long\r\n", "long\n").encode()))
    text = run("convert rdf a.ttl a.h5")
    expect(text, "31 triples with", "nodes by name: ")
    found, count = triples_in("a.h5")
    assert count == len(found) == 31
    run("convert rdf b.TTL.gz b.h5")
    assert triples_in("b.h5")[0] == found
    assert {(E + "a", E + "name", name) for name in
            ('"Ann"', '"Anne"@en-gb', '"An\u00e9\\n\\"q\\" \\\\"@fr', '"long\\n\\"lines\\" of"', f'"7"^^<{XSD}byte>', '"s"')} <= found
    assert (E + "b", E + "#local", '"tab\there"') in found and (E + "d,e", E + "empty", "http://www.w3.org/1999/02/22-rdf-syntax-ns#nil") in found
    peers = read_by_rdflib(TURTLE, "turtle")
    if peers:
        def acyclic(triples):
            """Without the one triple of a blank node with itself, by which a text of its own would not end; rdflib keeps the
            values of numbers with exponents, not their texts."""
            return [(s, p, o.replace('"1000.0"^^', '"1.0e3"^^')) for s, p, o in triples if s != o]
        assert without_labels_of_blanks(acyclic(found)) == without_labels_of_blanks(acyclic(peers))
        assert len(found) == len(peers)


NTRIPLES = f"""# facts
<{E}a> <{E}p> <{E}b> .
<{E}b> <{E}p> _:x . # behind
<{E}a> <{E}p> <{E}b> .

_:x <{E}q> "1"^^<{XSD}integer> .
  <{E}a>   <{E}q>\t"1"^^<{XSD}string>.
<{E}a> <{E}q> "1" .
<{E}caf\\u00e9> <{E}q> "a b"@de .
"""


def test_ntriples():
    """Names, one edge for equal triples, reverses, what is left out, and blank nodes of several files."""
    write("a.nt", NTRIPLES)
    expect(run("convert rdf a.nt a.h5 --inverse"), "7 triples with 2 predicates", "2 repeat another, which are kept once: 5 edges",
           "called PREDICATE^-1", "nodes by name: 3 IRIs, 1 blank nodes, 3 literals", "4 types of edges")
    found, count = triples_in("a.h5")
    assert count == 5 and found == {
        (E + "a", E + "p", E + "b"), (E + "b", E + "p", "_:x"), ("_:x", E + "q", f'"1"^^<{XSD}integer>'), (E + "a", E + "q", '"1"'),
        (E + "caf\u00e9", E + "q", '"a b"@de')}
    peers = read_by_rdflib(NTRIPLES, "nt")
    assert peers is None or without_labels_of_blanks(found) == without_labels_of_blanks(peers)
    with h5py.File("a.h5") as f:
        by_name = {edges.attrs["name"]: (edges["src"][:].tolist(), edges["dst"][:].tolist()) for edges in f["edges"].values()}
    assert sorted(by_name) == [E + "p", E + "p^-1", E + "q", E + "q^-1"]
    assert all(by_name[name] == by_name[name + "^-1"][::-1] for name in (E + "p", E + "q"))
    expect(run("convert rdf a.nt a.h5 --literals drop"), "1 repeat another, which are kept once: 2 edges", "4 with a literal left out")
    assert triples_in("a.h5")[0] == {t for t in found if not t[2].startswith('"')}
    expect(run(f"convert rdf a.nt a.h5 --drop-predicate {E}p"), f"3 triples with the predicate {E}p left out")
    assert triples_in("a.h5")[0] == {t for t in found if t[1] != E + "p"}
    # One predicate stays a type with its name; a second file has blank nodes of its own.
    write("b.nt", f"_:x <{E}p> <{E}b> .\n")
    run("convert rdf b.nt b.h5")
    holds("b.h5", {"@version": 2, "nodes/node/name": ["_:x", E + "b"], "edges/0@name": E + "p"})
    run("convert rdf a.nt b.nt both.h5")
    assert triples_in("both.h5")[0] == found | {("_:2/x", E + "p", E + "b")}
    # Relative IRIs.
    write("r.ttl", "<a> <p> <../b> .")
    refused("convert rdf r.ttl x.h5", says=("r.ttl:1: <a>: a relative IRI, expected an @base above (or --base IRI)",))
    run("convert rdf r.ttl r.h5 --base http://e.org/x/y")
    assert triples_in("r.h5")[0] == {(E + "x/a", E + "x/p", E + "b")}


def labels_of(path):
    """Class names by node's name, and the names in each part."""
    with h5py.File(path) as f:
        node = f["nodes/node"]
        names, y = texts(node, "name"), node["y"][:]
        classes = texts(node, "class_names") if "class_names" in node else [str(k) for k in range(node.attrs["num_classes"])]
        parts = [[names[k] for k in node[f"splits/{part}"][:]] for part in PARTS] if "splits" in node else None
    return {names[k]: classes[y[k]] for k in np.flatnonzero(y >= 0)}, parts


def write_people():
    write("g.nt", "".join(f"<{E}{k}> <{E}knows> <{E}{(k + 1) % 10}> .\n<{E}{k}> <{E}in> <{E}g{k % 2}> .\n"
                          f'<{E}{k}> <{E}age> "{k}"^^<{XSD}integer> .\n' for k in range(10)))
    write("train.tsv", "person\tid\tlabel_group\n" + "".join(f"{E}{k}\t{k}\t{E}g{k % 2}\n" for k in range(6)))
    write("test.tsv", "id\tperson\tlabel_group\n" + "".join(f"{k}\t<{E}{k}>\t{E}g{k % 2}\n" for k in range(6, 10)))


def test_labels():
    """Guessed and chosen columns, drawn and given parts, and the predicate that says the labels."""
    write_people()
    everyone = {f"{E}{k}": f"{E}g{k % 2}" for k in range(10)}
    text = run("convert rdf g.nt g.h5 --labels train.tsv --test test.tsv --val-share 34")
    expect(text, "6 labels, nodes from column 1 (person) (the only one with names of nodes), labels from column 3 (label_group)",
           "4 labels, nodes from column 2 (person)", "4 nodes to train, 2 to validate (34 % of those of train.tsv, by seed 0), 4 to test",
           f"warning: {E}in: 10 of 10 edges at labelled nodes say the label", "2 classes: text, alphabetical", "1 split")
    assert "age" not in text.split("warning")[1].split("\n")[0]
    labels, parts = labels_of("g.h5")
    assert labels == everyone and sorted(parts[0] + parts[1]) == [f"{E}{k}" for k in range(6)] and parts[2] == [f"{E}{k}" for k in range(6, 10)]
    assert "warning" not in run(f"convert rdf g.nt g2.h5 --labels train.tsv --test test.tsv --drop-predicate {E}in --seed 3")
    assert labels_of("g2.h5")[1][1] != parts[1]
    # The same draw for the same seed; several; stratified.
    run("convert rdf g.nt g3.h5 --labels train.tsv --test test.tsv --val-share 34 --splits 3 --stratified")
    with h5py.File("g3.h5") as f:
        node = f["nodes/node"]
        for place in ("splits", "splits/1", "splits/2"):
            assert sorted(node["y"][:][node[f"{place}/val"][:]]) == [0, 1]
            np.testing.assert_array_equal(node[f"{place}/test"][:], node["splits/test"][:])
    # Three files, columns by name and number; without test no split, or a random one.
    write("val.tsv", f"who,other,label_a,label_b\n{E}6,{E}7,x,1\n{E}8,{E}7,y,2\n")
    write("tr.tsv", f"who,other,label_a,label_b\n{E}1,{E}2,x,1\n{E}2,{E}2,y,3\n")
    write("te.tsv", f"who,other,label_a,label_b\n{E}4,{E}2,z,3\n")
    run("convert rdf g.nt c.h5 --labels tr.tsv --val val.tsv --test te.tsv --node-column who --label-column 3")
    assert labels_of("c.h5") == ({E + "1": "x", E + "2": "y", E + "4": "z", E + "6": "x", E + "8": "y"},
                                 [[E + "1", E + "2"], [E + "6", E + "8"], [E + "4"]])
    run("convert rdf g.nt c.h5 --labels tr.tsv --node-column who --label-column label_b")
    assert labels_of("c.h5") == ({E + "1": "1", E + "2": "3"}, None)
    run("convert rdf g.nt c.h5 --labels train.tsv --split 50,25,25 --seed 1")
    assert sorted(sum(labels_of("c.h5")[1], [])) == [f"{E}{k}" for k in range(6)]
    # Rows of unknown nodes.
    write("more.tsv", f"person\tlabel\n{E}1\ta\n{E}77\tb\n{E}2\tb\n{E}78\tb\n")
    refused("convert rdf g.nt x.h5 --labels more.tsv", says=("more.tsv:3: 2 of 4 rows are of nodes that the graph does not have", f"{E}77", "--unknown-nodes drop"))
    expect(run("convert rdf g.nt c.h5 --labels more.tsv --unknown-nodes drop"), f"2 rows passed over, of nodes that the graph does not have ({E}77, {E}78)")
    assert labels_of("c.h5")[0] == {E + "1": "a", E + "2": "b"}


def test_refusals():
    """File, line, what was found, what was expected; no file is written."""
    write_people()
    a = f"<{E}a> <{E}p> <{E}b>"
    for name, content, says in (
            ("x.nt", f"{a} .\n{a}\n{a} .\n", "x.nt:2: unexpected end of file, expected SUBJECT PREDICATE OBJECT ."),
            ("x.nt", f"{a} .\n<{E}a b> <{E}p> <{E}b> .\n", "x.nt:2: invalid IRI character (escape %20), expected"),
            ("x.nt", a.encode() + b" .\n" + f'<{E}a> <{E}p> "'.encode() + b'\xff" .\n', "x.nt:2: invalid UTF-8 start 0xFF, expected"),
            ("x.nt", f"{a} .\n\n{a} . {a} .\n", "x.nt:3: 2 triples, expected one a line"),
            ("x.nt", f"@prefix e: <{E}> .\n", "x.nt:1: syntax does not support directives, expected"),
            ("x.nt", f"<a> <{E}p> <{E}b> .\n", "x.nt:1: missing IRI scheme"),
            ("x.nt", f'{a} .\n<{E}a> <{E}p> "open .\n', "x.nt:2: end of file in short string"),
            ("x.nt", f"{a} .\n<{E}a> <{E}p> \"a\0b\" .\n", "x.nt:2: a zero byte, expected text"),
            ("x.nt", "", "x.nt: no triples, expected some"), ("x.ttl", "# nothing\n", "x.ttl: no triples, expected some"),
            ("x.ttl", f"@prefix e: <{E}> .\ne:a e:p e:b .\n\ne:a f:p\n  e:b .\n", 'x.ttl:5: "f:p": an unknown prefix, expected one of an @prefix above'),
            ("x.ttl", f"@prefix e: <{E}> .\ne:a e:p e:b\ne:c e:p e:d .\n", "x.ttl:3: missing ';' or '.'"),
            ("x.ttl", f"@prefix e: <{E}> .\ne:a e:p <{E}x y> .\n", "x.ttl:2: invalid IRI character"),
            ("x.ttl", f"@prefix e: <{E}> .\ne:a e:p '".encode() + b"\xc3' .\n", "x.ttl:2: invalid UTF-8"),
            ("x.ttl", f"@prefix e: <{E}> .\ne:a e:p '''open .\n\n", "x.ttl:"),
            ("x.ttl", f"@prefix e: <{E}> .\ne:a e:p 'a\0b' .\n", "a zero byte, expected text"),
            ("x.ttl", f"@prefix e: <{E}> .\ne:a e:p [ e:q e:b .\n", "x.ttl:2: expected `]', not `.'"),
            ("x.nt.gz", gzip.compress(f"{a} .\n".encode() * 1000)[:-12], "x.nt.gz"),
            ("x.ttl.gz", gzip.compress(f"{a} .\n".encode() * 1000)[:-12], "x.ttl.gz"),
            ("x.rdf", "<rdf:RDF/>", "x.rdf: expected a name that ends in .nt (N-Triples) or .ttl (Turtle)")):
        write(name, content)
        refused(f"convert rdf {name} x.h5", says=says)
    for begin, end in (("[ e:p ", " ]"), ("( ", " )")):
        for depth in (500, 300000):
            write("deep.ttl", f"@prefix e: <{E}> .\ne:a e:p\n{begin * depth}1{end * depth} .\n")
            if depth == 500:
                run("convert rdf deep.ttl x.h5")
            else:
                refused("convert rdf deep.ttl x.h5 --quiet", says="deep.ttl:3: brackets within brackets, thousands deep, expected fewer")
    refused("convert rdf g.nt gone.nt x.h5", says="gone.nt")
    refused(f"convert rdf g.nt x.h5 --drop-predicate {E}none", says=f"--drop-predicate {E}none: no triple has this predicate")
    refused(f"convert rdf g.nt x.h5 --drop-predicate {E}in --drop-predicate {E}knows --drop-predicate {E}age", says="no triples are left of 30")
    for content, options, says in (
            ("person\tid\tlabel_a\n", "", "l.tsv:1: no rows after the header"),
            ("", "", "l.tsv: no rows"),
            (f"person\tid\n{E}1\t1\n", "", "l.tsv:1: no column whose name begins with label, expected --label-column to name one of person, id"),
            (f"person\tlabel_a\tlabel_b\n{E}1\t1\t2\n", "", "several columns of labels (label_a, label_b)"),
            (f"person\tlabel_a\n{E}1\ta\n", "--node-column persom", "persom"),
            (f"person\tlabel_a\n{E}1\ta\n", "--label-column 7", "7"),
            (f"person\tfriend\tlabel_a\n{E}1\t{E}2\ta\n", "", "several columns with names of nodes (person, friend), expected --node-column"),
            ("person\tlabel_a\nann\ta\n", "", "no column has names of the graph's nodes, expected --node-column to name one of person, label_a"),
            (f"person\tlabel_a\n{E}1\ta\n{E}2\tb\n{E}1\tb\n", "", f'l.tsv:4: {E}1 has the label "b", but "a" in l.tsv:2, expected one'),
            (f"person\tlabel_a\n{E}1\ta\n{E}2\n", "", "l.tsv:3: 1 field"),
            (f"person\tlabel_group\n{E}6\t{E}g0\n{E}7\t{E}g1\n", "--test test.tsv", f"test.tsv:2: <{E}6> is to test, but to train in l.tsv:2, expected one part"),
            (f"person\tlabel_group\n{E}1\t{E}g1\n", "--test test.tsv", "1 labels, of which 0 would validate")):
        write("l.tsv", content)
        refused(f"convert rdf g.nt x.h5 --labels l.tsv {options}", says=says)
    for options, says in (("--test test.tsv", "--test: requires --labels"), ("--labels train.tsv --val test.tsv", "--val: requires --test"),
                          ("--labels train.tsv --test test.tsv --split 60,20,20", "--split: conflicts with --test"),
                          ("--labels train.tsv --seed 1", "--seed: requires --split"), ("--split 60,20,20", "--split: requires --labels")):
        refused(f"convert rdf g.nt x.h5 {options}", status=2, says=says)


def rows_of(path, node, label):
    with open(path, newline="", encoding="utf-8") as file:
        return [(row[node], row[label]) for row in csv.DictReader(file, delimiter="\t")]


def test_benchmarks():
    """AIFB and MUTAG of the R-GCN paper: rdflib's triples, the counts that PyG has, and labels as in the tables."""
    for folder, node, label, counts in (("aifb", "person", "label_affiliation", (8285, 45, 29043, 4)),
                                        ("mutag", "bond", "label_mutagenic", (23644, 23, 74227, 2))):
        files = have_data(*(f"raw/kg/{folder}/{name}" for name in (f"{folder}_stripped.nt.gz", "trainingSet.tsv", "testSet.tsv")))
        if not files:
            continue
        graph, train, test = files
        run("convert rdf", graph, f"{folder}.h5", "--labels", train, "--test", test, "--inverse")
        found, count = triples_in(f"{folder}.h5")
        with h5py.File(f"{folder}.h5") as f:
            types = [edges.attrs["name"] for edges in f["edges"].values()]
            assert (f["nodes/node"].attrs["num_nodes"], len(types) // 2, count, f["nodes/node"].attrs["num_classes"]) == counts
            assert sorted(types) == sorted({p for _, p, _ in found} | {p + "^-1" for _, p, _ in found})
        lines = gzip.decompress(graph.read_bytes()).decode()
        peers = read_by_rdflib(lines, "nt")
        if peers is not None:
            def plain(triples):
                """Blank nodes are called as each reader likes; of "\\\\troll", in one abstract, rdflib 6.1 takes the backslash twice."""
                return sorted(tuple("_:" if term.startswith("_:") else term for term in triple) for triple in triples
                              if "\\\\" not in triple[2])
            assert plain(found) == plain(peers)
        # And without a library: each line, whose terms have no blanks but in literals.
        terms = re.compile(r'<([^>]*)> <([^>]*)> <([^>]*)> \.')
        iris = {match.groups() for match in map(terms.fullmatch, lines.splitlines()) if match}
        assert iris == {t for t in found if not any(term.startswith(('"', "_:")) for term in t)}
        labels, parts = labels_of(f"{folder}.h5")
        expected = rows_of(train, node, label) + rows_of(test, node, label)
        same = {"0.0": "0", "1.0": "1"}
        assert labels == {name: same.get(text, text) for name, text in expected}
        assert sorted(parts[0] + parts[1]) == sorted(name for name, _ in rows_of(train, node, label))
        assert parts[2] == [name for name, _ in rows_of(test, node, label)]
        assert len(parts[1]) == round(0.2 * len(parts[0] + parts[1]))


write("try.nt", f"<{E}a> <{E}p> <{E}b> .\n")
tried = subprocess.run([BIN / "convert", "rdf", "try.nt", "try.h5"], capture_output=True, text=True)
if "this build reads no RDF, expected one with serd" in tried.stderr:
    skipped("convert rdf: a build without serd")
else:
    for check in (test_turtle, test_ntriples, test_labels, test_refusals, test_benchmarks):
        check()
