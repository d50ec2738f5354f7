"""What importers decide about ids, labels and columns of small tables: the graphs, and the notes that say so."""

import json
import os

from programs import expect, h5py, np, packed, read, refused, run, texts, write


def edges_in(path):
    """The edges by the names of their ends, ascending, and the number of nodes."""
    with h5py.File(path) as f:
        ids = texts(f, "nodes/name") if "nodes/name" in f else f["nodes/id"][:].tolist()
        return sorted((ids[a], ids[b]) for a, b in zip(f["edges/src"], f["edges/dst"])), len(ids)


def test_spellings():
    """Among names 1 and 1.0 are one number and one node, named as it came first; in other names a .0 is text."""
    def both(rows, *more, note=""):
        write("e.csv", "src;dst\n" + rows)
        for line in ("edges e.csv g.h5", "tables g.h5 --edges e.csv"):
            text = run(f"convert {line}", *more)
            assert ("spelling" in text) == bool(note), text
            expect(text, note)
            yield edges_in("g.h5")
    three = ([("1.0", "B"), ("2", "1.0"), ("A", "1.0")], 4)
    note = '; 1 field is another spelling of a number, as "1" of "1.0": the same node\n'
    assert list(both("A;1.0\n1;B\n2;1.0\n", note=note)) == [three] * 2
    assert list(both("A;1\n1.0;B\n2;1.0\n", note='; 2 fields are other spellings of a number, as "1.0" of "1": the same node\n')) == \
        [([("1", "B"), ("2", "1"), ("A", "1")], 4)] * 2
    for kept in ("A;v1.0\nv1;B\n", "A;007\n7;B\n", "A;1.5\n1;B\n", "A;1.0.0\n1.0;B\n", "A;9007199254740993.0\n9007199254740993;B\n",
                 "A;1,0\n1;B\n"):
        assert [nodes for _, nodes in both(kept)] == [4, 4], kept
    assert [nodes for _, nodes in both("A;1,0\n1;B\n", "--decimal", "comma", note='as "1" of "1,0": the same node')] == [3, 3]
    # A column of numbers alone says nothing, as before, also with a decimal comma.
    assert list(both("2;1,0\n1;3\n2,0;3\n", "--decimal", "comma")) == [([(1, 3), (2, 1), (2, 3)], 3)] * 2
    run("convert edges e.csv g.h5 --ids names --decimal comma")
    assert edges_in("g.h5") == ([("1,0", "3"), ("2", "1,0"), ("2", "3")], 3)
    write("list.txt", "A: 1 2.0\n1.0: B\n2: A\n")
    expect(run("convert edges list.txt g.h5 --layout neighbors"), 'ids are names; 2 fields are other spellings of a number, as "1.0" of "1"')
    assert edges_in("g.h5")[1] == 4


def test_spellings_between_tables():
    """The same of a table of nodes, labels, pairs to predict, a split, graphs and types of edges."""
    write("e.csv", "src,dst\nB,1.0\nA,2.0\n")
    write("n.csv", "id,x,label\nA,1,a\n1,2,b\nB,3,a\n2,4,b\n")
    note = '; 2 fields are other spellings of a number, as "1" of "1.0": the same node'
    expect(run("convert edges e.csv g.h5 --features n.csv"), note)
    with h5py.File("g.h5") as f:
        assert (texts(f, "nodes/name"), f["nodes/x"][:].ravel().tolist()) == (["B", "1.0", "A", "2.0"], [3, 2, 1, 4])
    write("l.csv", "id,kind\n1,b\nA,a\n2,b\n")
    expect(run("convert edges e.csv l.h5 --labels l.csv"), "l.csv: separated by a comma; line 1 taken as header: id,kind" + note)
    expect(run("convert tables t.h5 --edges e.csv --nodes n.csv"), 'as "1.0" of "1": the same node')
    assert edges_in("t.h5") == ([("A", "2"), ("B", "1")], 4)
    write("twice.csv", "id,x\nA,1\n1,2\nB,3\n2,4\n1.0,5\n")
    refused("convert tables x.h5 --edges e.csv --nodes twice.csv", says="twice.csv:6: '1.0' in column 1 (id) occurs twice, before as '1', ")
    refused("convert edges e.csv x.h5 --features twice.csv", says="twice.csv:6: node '1.0' occurs twice")
    write("part.csv", "id,part\nA,train\n1,val\nB,test\n2,train\n")
    expect(run("split g.h5 --table part.csv --by-column part"), note + "; split by column 2 (part)", "2 to train, 1 to validate, 1 to test")
    write("ring.csv", "src,dst\n" + "".join(f"n{k},n{(k + 1) % 20}\n" for k in range(20)) + "n0,1.0\n1.0,n5\n")
    run("convert edges ring.csv ring.h5")
    run("train_link ring.h5 --epochs 1 --embedding 4 --node-features constant --checkpoint ring.ckpt --quiet")
    write("pairs.csv", "source,target\nn3,1\n")
    expect(run("predict ring.h5 --checkpoint ring.ckpt --pairs pairs.csv --out p.csv"), 'as "1" of "1.0": the same node')
    expect(read("p.csv"), "\nn3,1.0,")
    # A dataset may have both, from elsewhere: then each is itself.
    with h5py.File("ring.h5", "r+") as f:
        names = texts(f, "nodes/name")
        names[names.index("n7")] = "1"
        for place, values in packed("nodes/name", names).items():
            del f[place]
            f[place] = values
    assert "spelling" not in run("predict ring.h5 --checkpoint ring.ckpt --pairs pairs.csv --out p.csv")
    expect(read("p.csv"), "\nn3,1,")
    write("rel.csv", "head,relation,tail\na,1,b\nb,1.0,c\nc,2,a\n")
    expect(run("convert tables r.h5 --edges rel.csv"), "edges node:1:node: 2\n",
           '2 types from relation: 1, 2; 1 field is another spelling of a number, as "1.0" of "1": the same type')
    write("types.csv", "src_type,src,dst_type,dst\n1,a,2,x\n1.0,b,2,x\n")
    expect(run("convert tables r.h5 --edges types.csv"), "2 types of nodes, 1 type of edges", "nodes 1: 2\n")
    write("gn.csv", "graph_id,node_id,x\n2,0,1\n2,1,2\n1,0,3\n1,1,4\n")
    write("ge.csv", "graph_id,src,dst\n1.0,0,1.0\n2.0,0,1.0\n")
    write("gg.csv", "graph_id,label\n1.0,a\n2.0,b\n")
    expect(run("convert tables r.h5 --nodes node=gn.csv --edges ge.csv --graphs gg.csv --graph graph_id"), "4 nodes, 2 directed edges")


def test_first_column():
    """Ids of a first column whose name says nothing, or that has no name, are said."""
    write("e.csv", "src,dst\n0,1\n1,2\n2,3\n3,0\n")
    for head, note in (("degree,community\n", "; ids from column 1 (degree)\n"), ("", "; ids from column 1\n"), ("id,community\n", ""),
                       ("node_id,community\n", ""), ("user_id,community\n", "")):
        write("n.csv", head + "2,0\n0,1\n3,2\n1,3\n")
        for line in ("edges e.csv g.h5 --features n.csv", "tables g.h5 --edges e.csv --nodes n.csv"):
            text = expect(run(f"convert {line}"), note)
            assert ("ids from" in text) == bool(note), text
            run(f"convert {line} --id 1")
    assert "ids from" not in run("convert edges e.csv g.h5 --features n.csv --id user_id")
    write("part.csv", "degree,part\n0,train\n1,val\n2,test\n3,test\n")
    expect(run("split g.h5 --table part.csv --by-column part"), "; ids from column 1 (degree); split by")
    write("train", "0\n1\n"), write("val", "2\n"), write("test", "3\n")
    assert "ids from" not in run("convert edges e.csv g.h5 --train train --val val --test test")
    write("gn.csv", "atom,graph,x\n0,0,1\n1,0,2\n")
    write("ge.csv", "graph,src,dst\n0,0,1\n")
    expect(run("convert tables g.h5 --nodes node=gn.csv --edges ge.csv --graph graph"), "atom,graph,x; ids from column 1 (atom)\n")


def test_copies_of_labels():
    """Features that say the same as the label are named, no others."""
    write("e.csv", "src,dst\n" + "".join(f"{k},{k + 1}\n" for k in range(1, 8)))
    label = "abcabcab"

    def names_said(columns, line="--features n.csv --label label", name="label"):
        write("n.csv", [["id", name, *columns]] + [[k + 1, label[k], *(column[k] for column in columns.values())] for k in range(8)])
        text = run(f"convert edges e.csv g.h5 {line}")
        notes = [line for line in text.splitlines() if "say the same" in line]
        assert len(notes) <= 1, text
        return "".join(notes).removeprefix("n.csv: features that say the same as the label, so that models see the answer: ")
    hot = {f"label_{c}": [int(x == c) for x in label] for c in "abc"}
    hint = " (--without leaves them out)"
    assert names_said({"enc": [ord(c) for c in label], "x": range(8)}) == "enc" + hint
    assert names_said({"text": [c.upper() for c in label], "x": range(8)}) == "text" + hint
    assert names_said({"x": range(8), **hot}) == "label_a, label_b, label_c" + hint
    assert names_said({"label_a": hot["label_a"], "no_b": [1 - h for h in hot["label_b"]]}) == "label_a, no_b" + hint  # as drop_first
    # One class alone, two classes with one number, a row that differs.
    assert names_said({"label_a": hot["label_a"]}) == names_said({"x": [1 + (c == "a") for c in label]}) == ""
    assert names_said({"enc": [ord(c) for c in label[:-1]] + [5], "flag": ["yes"] + ["no"] * 7}) == ""
    label = ["a", "b", "", "b", "a", "NA", "a", "b"]
    assert names_said({"enc": [0, 1, 7, 1, 0, 0, 0, 1]}) == "enc" + hint  # of the labelled nodes
    assert names_said({"enc": [0, 1, 7, 1, 0, 0, "", 1]}, "--features n.csv --impute zero") == ""
    label = ["a", "b", "", "b", "", "", "", ""]
    assert names_said({"enc": [0, 1, 7, 1, 0, 0, 0, 1]}) == ""  # chance
    label = "abababab"
    assert names_said({"one": hot["label_a"], "enc": [1, 0] * 4}, "--features n.csv --columns one,enc --label kind", "kind") == "enc"
    write("l.csv", [["id", "kind"]] + [[k + 1, label[k]] for k in range(8)])
    assert names_said({"enc": [1, 0] * 4}, "--features n.csv --without name --labels l.csv", "name") == "enc" + hint
    expect(run("convert tables g.h5 --edges e.csv --nodes n.csv --label name"), "models see the answer: enc" + hint)
    write("w.csv", "src,dst,kind,fee\n" + "".join(f"{k},{k + 1},{label[k]},{k % 2}\n" for k in range(8)))
    expect(run("convert tables g.h5 --edges w.csv --label w=kind --attributes w=fee"), "models see the answer: fee\n")


def test_triples():
    """Two columns of a list without a header are taken, with what takes others."""
    write("t.txt", "0,1,1\n1,2,-1\n2,0,1\n0,2,-1\n")
    more = "no header, so that ends are the first two (%ssource and %starget: others; %sweight COLUMN: weights)"
    expect(run("convert edges t.txt g.h5"), "edges from column 1 to column 2; passed over: column 3; " + more.replace("%s", "--"))
    expect(run("convert tables g.h5 --edges t.txt"), "; " + more.replace("%s", "") + "; passed over: column 3")
    for chosen in ("--weight 3", "--source 1 --target 3"):
        assert "no header" not in run(f"convert edges t.txt g.h5 {chosen}")
    write("pairs.txt", "0,1\n1,2\n")
    assert "no header" not in run("convert edges pairs.txt g.h5") + run("convert tables g.h5 --edges pairs.txt")


def test_signs():
    """-1 is a class of edges, and no label of nodes, in lists and in tables."""
    write("e.csv", "src,dst,sign\n0,1,1\n1,2,-1\n2,0,1\n0,2,\n")
    for line in ("edges e.csv g.h5 --edge-label sign", "tables g.h5 --edges e.csv --label sign"):
        expect(run(f"convert {line}"), "2 classes, 1 without a label")
        with h5py.File("g.h5") as f:
            place = "edges/y" if "edges/y" in f else "edges/e/y"
            assert sorted(f[place][:].tolist()) == [-1, 0, 1, 1], f[place][:]
        expect(run(f"convert {line} --missing-labels -1"), "1 classes, 2 without a label")
    write("n.csv", "id,sign\n0,1\n1,-1\n2,0\n")
    for line in ("edges e.csv g.h5 --features n.csv", "tables g.h5 --edges e.csv --nodes n=n.csv"):
        expect(run(f"convert {line} --label sign"), "2 classes, 1 without a label", '1 of "-1" (--missing-labels "": -1 is a class)')
        expect(run(f"convert {line} --label sign", "--missing-labels", ""), "3 classes, 0 without a label")


def test_several_labels():
    """The same error of lists and tables."""
    write("e.csv", "src,dst,a\n0,1,1\n1,0,2\n")
    write("n.csv", "id,a,b\n0,1,2\n1,2,3\n")
    error = 'n.csv:1: no column "a,b", expected one column of labels (convert edges --labels FILE: all columns of a file of labels)\n'
    refused("convert edges e.csv g.h5 --features n.csv --label a,b", says=error)
    refused("convert tables g.h5 --edges e.csv --nodes n.csv --label n=a,b", says=error)
    refused("convert tables g.h5 --edges e.csv --label a,b", says=error.replace("n.csv", "e.csv"))
    write("t.yaml", "nodes: {n: {file: n.csv, label: [a, b]}}\nedges: [e.csv]\n")
    refused("convert tables t.yaml g.h5", says=error)


def test_headers():
    """Names of two ends are a header, whatever nodes are called; where it is repeated, files were put in one."""
    def both(text, note="", names=(), **chosen):
        write("e.csv", text)
        for line in ("edges e.csv g.h5", "tables g.h5 --edges e.csv"):
            expect(run(f"convert {line}"), note or "line 1 taken as header")
            assert edges_in("g.h5")[0] == list(names), (line, edges_in("g.h5"))
    tree = [("child", "leaf"), ("root", "child")]
    both("parent,child\nroot,child\nchild,leaf\n", names=tree)
    both("Source_ID\ttarget id\nuser\tsource\nsource\tsink\n", names=[("source", "sink"), ("user", "source")])
    both("from,to,since\ny,to,b\nto,x,a\n", names=[("to", "x"), ("y", "to")])
    write("e.csv", "parent,child\nroot,child\nchild,leaf\n")
    expect(run("convert edges e.csv g.h5"), '; ids are names; a node is called "child", too (--header no: line 1 is an edge)\n')
    run("convert edges e.csv g.h5 --header no")
    assert edges_in("g.h5") == (sorted([*tree, ("parent", "child")]), 4)
    expect(run("convert edges e.csv g.h5 --source 1 --target 2"), "line 1 taken as header")
    write("paths.csv", "src/a.c,dst/a.c\nsrc/b.c,src/a.c\n")
    refused("convert edges paths.csv x.h5", says='paths.csv:1: "src/a.c,dst/a.c", a header or an edge, expected --header yes or no')
    run("convert edges paths.csv g.h5 --header no")
    # A pair of letters may be an edge.
    write("letters.csv", "a,b\nb,c\n")
    run("convert edges letters.csv g.h5")
    assert edges_in("g.h5")[1] == 3
    again = "; 1 line that repeats the header passed over"
    people = [("ann", "bob"), ("cid", "dan")]
    both("source,target\nann,bob\nsource,target\ncid,dan\n", again, people)
    both("source,target\r\nann,bob\r\n\ufeffsource,target \r\ncid,dan\r\nsource,target\r\n",
         "; 2 lines that repeat the header passed over", people)
    both("from,to,weight\n1,2,1\nfrom,to,weight\n3,4,1\n", again, [(1, 2), (3, 4)])
    write("e.csv", "parent,child\nroot,child\nparent,child\nchild,leaf\n")
    error = '1 line repeats the header, "parent,child", which may be an edge, as "child" is a node, expected the header once'
    refused("convert edges e.csv x.h5", says=error + ", or --header no: all lines are edges")
    refused("convert tables x.h5 --edges e.csv", says="e.csv:1: " + error)
    # Numbers, as pandas calls columns, are an edge elsewhere.
    write("e.csv", "5,6\n5,6\n6,7\n")
    run("convert edges e.csv g.h5 --header yes --source 1 --target 2")
    assert edges_in("g.h5") == ([(5, 6), (6, 7)], 3)
    write("e.csv", "src,dst\n1,2\n2,3\n")
    write("n.csv", "id,kind,label\n1,x,a\nid,kind,label\n2,y,b\n3,x,a\n")
    for line in ("edges e.csv g.h5 --features n.csv", "tables g.h5 --edges e.csv --nodes n.csv"):
        expect(run(f"convert {line}"), "n.csv: separated by a comma; line 1 taken as header: id,kind,label" + again, "2 classes")
    write("part.csv", "id,part\n1,train\nid,part\n2,val\n3,test\n")
    expect(run("split g.h5 --table part.csv --by-column part"), again + "; split by")


def write_tu(name, atoms, labels, **more):
    """Rings of three atoms; a graph's class is that of its first atom."""
    os.makedirs(name, exist_ok=True)
    rings = len(atoms) // 3
    ring = [(3 * g + a, 3 * g + b) for g in range(rings) for k in range(3) for a, b in [(k + 1, (k + 1) % 3 + 1)]]
    files = {"A": [f"{a}, {b}" for a, b in ring + [(b, a) for a, b in ring]], "graph_indicator": [i // 3 + 1 for i in range(len(atoms))],
             "node_labels": atoms, "graph_labels": labels, **more}
    for part, rows in files.items():
        write(f"{name}/{name}_{part}.txt", "".join(f"{row}\n" for row in rows))


def test_tu():
    """Labels of TU folders are names of classes and columns, by which models find them; what is left out is said."""
    kinds = [3, 7, 9] * 20
    order = kinds[5:] + kinds[:5]
    for name, atoms in (("OLD", kinds), ("NEW", order)):
        write_tu(name, [a for kind in atoms for a in (kind, 3, 9)], [(kind - 8) // 2 for kind in atoms])
        assert "merged" not in run(f"convert tu {name} {name}.h5 --split 60,20,20")
    for name in ("OLD", "NEW"):
        with h5py.File(f"{name}.h5") as f:
            assert texts(f, "nodes/x_names") == [f"label={k}" for k in range(3, 10)]
            assert (texts(f, "graphs/class_names"), f["graphs/y"][:3].tolist()) == (["-3", "-1", "0"], {"OLD": [0, 1, 2], "NEW": [2, 0, 1]}[name])
    run("train_graph_gin OLD.h5 --epochs 30 --quiet --checkpoint m.ckpt")
    run("predict NEW.h5 --checkpoint m.ckpt --out p.csv")
    assert {row.split(",")[1] for row in read("p.csv").splitlines()[1:]} == {"-3", "-1", "0"}
    # Other labels, as many columns.
    write_tu("OTHER", [5, 9, 11] * 3, [0, 1, 0])
    run("convert tu OTHER other.h5")
    expect(run("predict other.h5 --checkpoint m.ckpt --out p.csv", status=1), "no column 'label=3', 'label=4', but 'label=10', 'label=11'")
    with h5py.File("other.h5") as f:
        assert "graphs/class_names" not in f  # numbers from 0 say as much
    for like in ("m.ckpt", "OLD.h5"):
        expect(run(f"convert tu OTHER other.h5 --like {like}"), f"OTHER/OTHER: columns of nodes as in {like}; 3 labels have no column (11)\n")
        assert np.array(features("other.h5"))[:3].tolist() == [[k == one for k in range(7)] for one in (2, 6, -1)]
        run("predict other.h5 --checkpoint m.ckpt --out p.csv")
    refused("convert tu OTHER x.h5 --like OLD.h5 --node-attributes", status=2, says="--like: conflicts with --node-attributes")
    write_tu("BONDS", [3, 9, 9], [0], edge_labels=[1, 2, 3] * 2)
    run("convert tu BONDS bonds.h5")
    write_tu("LATER", [3, 9, 9], [1], edge_labels=[2, 2, 4] * 2)
    expect(run("convert tu LATER later.h5 --like bonds.h5"), "columns of edges as in bonds.h5; 2 labels have no column (4)\n")
    assert sorted(features("later.h5", "edges/attr")) == [[0, 0, 0]] * 2 + [[0, 1, 0]] * 4
    expect(run("convert tu LATER later.h5 --like OLD.h5"), "LATER_edge_labels.txt: passed over, as OLD.h5 has no such columns\n")
    write_tu("BOTH", [1, 2, 2], ["1"], A=["1, 2", "2, 1", "1, 2", "3, 3"], graph_attributes=["1.5"], node_attributes=["0, 1"] * 3,
             edge_labels=[0, 0, 1, 1])
    text = run("convert tu BOTH b.h5 --node-attributes")
    expect(text, "BOTH_graph_attributes.txt: targets of the graphs, so that the classes in BOTH/BOTH_graph_labels.txt are left out",
           "BOTH_A.txt: 1 self-loop removed, the first in line 4, 1 edge merged with equal ones, adding their attributes (--keep-edges keeps them)\n")
    with h5py.File("b.h5") as f:
        assert texts(f, "nodes/x_names") == ["attribute_1", "attribute_2", "label=1", "label=2"]
        assert texts(f, "edges/attr_names") == ["label=0", "label=1"]
    write_tu("MANY", [1, 2, 2] * 10, [1, 2] * 5, A=["1, 2", "2, 2"])
    expect(run("convert tu MANY m.h5 --split 60,20,20"), "1 self-loop removed, the first in line 2, 0 edges merged", "split by seed 0")


def test_positions():
    """Columns without names are said to be matched by position where the other side has names."""
    write("ring.csv", "src,dst\n" + "".join(f"{k},{(k + 1) % 20}\n" for k in range(20)))
    write("x.csv", "id,a,b,label\n" + "".join(f"{k},{k},{k % 7},{k % 2}\n" for k in range(20)))
    run("convert edges ring.csv named.h5 --features x.csv --split 60,20,20")
    write("x.csv", "".join(f"{k},{k},{k % 7}\n" for k in range(20)))
    write("y.csv", "".join(f"{k},{k % 2}\n" for k in range(20)))
    run("convert edges ring.csv bare.h5 --features x.csv --labels y.csv --split 60,20,20")
    for name in ("named", "bare"):
        run(f"train_sage {name}.h5 --epochs 1 --quiet --checkpoint {name}.ckpt")
    message = "features: matched by position, as "
    for data, model, note in (("named", "named", None), ("bare", "named", "bare.h5 has no names of columns"),
                              ("named", "bare", "train_sage, epoch 1 has no names of columns"),
                              ("bare", "bare", None)):
        text = run(f"predict {data}.h5 --checkpoint {model}.ckpt --out p.csv")
        assert (message in text) == bool(note), text
        expect(text, message + note if note else "")
    # Targets and several labels, too.
    names = [["id", "a", "b"]]
    for task in "node_regression", "node_multilabel":
        for name in "named", "bare":
            write("y.csv", (names if name == "named" else []) + [[k, k % 2, k // 2 % 2] for k in range(20)])
            run(f"convert edges ring.csv {name}.h5 --features x.csv --labels y.csv --task {task} --split 60,20,20")
            run(f"train_sage {name}.h5 --epochs 1 --quiet --checkpoint {name}.ckpt")
        message = "labels: matched by position, as "
        for data, model, note in (("named", "named", None), ("bare", "named", "bare.h5 has no names of columns\n"),
                                  ("named", "bare", "train_sage, epoch 1 has no names of columns\n"), ("bare", "bare", None)):
            text = run(f"predict {data}.h5 --checkpoint {model}.ckpt --out p.csv")
            assert (message in text) == bool(note), text
            expect(text, message + note if note else "")


def features(path, place="nodes/x"):
    with h5py.File(path) as f:
        return f[place][:].tolist()


def test_thousands():
    """Points that may stand between thousands, in features, by --like, in weights and in targets: 1.250 beside 963. Decimals
    are no such points."""
    words = "whose points may stand between thousands, expected --decimal comma (1.250 is 1250) or point to say which"
    write("e.csv", "src;dst\na;b\nb;c\n")
    write("n.csv", "id;sales;label\na;963;x\nb;1.250;y\nc;12.457;x\n")
    refused("convert edges e.csv g.h5 --features n.csv", says=f'n.csv: "1.250" in column 2 (sales), {words}\n')
    assert "points between thousands" in run("convert edges e.csv g.h5 --features n.csv --decimal comma")
    assert features("g.h5") == [[963], [1250], [12457]]
    run("convert edges e.csv p.h5 --features n.csv --decimal point")
    assert features("p.h5") == [[963], [1.25], [np.float32(12.457)]]
    refused("convert edges e.csv h.h5 --features n.csv --like g.h5", says=f'n.csv: "1.250" in column 2 (sales), {words}\n')
    assert "points between thousands" in run("convert edges e.csv h.h5 --features n.csv --like g.h5 --decimal comma")
    assert features("h.h5") == features("g.h5")
    refused("convert edges e.csv g.h5 --features n.csv --label sales --task node_regression --columns 3",
            says=f'n.csv: "1.250" in column 2 (sales), {words}\n')
    write("w.csv", "src;dst;weight\na;b;963\nb;c;1.250\nc;a;1.250,5\n")
    refused("convert edges w.csv g.h5", says='w.csv:4: "1.250,5" in column 3 (weight), expected a weight, finite and within float32'
                                             ' (--decimal comma: numbers have a decimal comma)\n')
    run("convert edges w.csv g.h5 --decimal comma")
    assert features("g.h5", "edges/weight") == [963, 1250, 1250.5]
    for field, comma in ("4,316", False), ("-12,457,316", False), ("4,31", True), ("0,316", True):  # or commas between thousands
        write("w.csv", f"src;dst;weight\na;b;963\nb;c;{field}\n")
        assert ("--decimal" in refused("convert edges w.csv x.h5", says=f'"{field}" in column 3 (weight)')) == comma, field
    write("y.csv", "id,y,z\na,1,0\nb,-1,1\n")
    refused("convert edges e.csv x.h5 --labels y.csv --task node_multilabel", says='"-1" in column 2 (y), expected 0 or 1, false or true\n')
    write("w.csv", "src;dst;weight\na;b;963\nb;c;1.250\n")
    for line in ("edges w.csv", "tables --edges w.csv --weight weight"):
        refused(f"convert {line.replace('tables', 'tables g.h5')}" + (" g.h5" if "tables" not in line else ""),
                says=f'w.csv: "1.250" in column 3 (weight), {words}\n')
    for fields in (("963", "1.250", "0.125"), ("963", "1.250", "1.5"), ("1963", "1.250", "12.457"), ("96", "1.250", "12.457"),
                   ("963.0", "1.250", "12.457"), ("963", "01.250", "12.457")):
        write("n.csv", "id;sales;label\n" + "".join(f"{name};{field};x\n" for name, field in zip("abc", fields)))
        run("convert edges e.csv g.h5 --features n.csv")
        assert features("g.h5") == [[np.float32(field)] for field in fields], fields
    write("n.csv", "id,sales,label\na,963,x\nb,1.250,y\nc,12.457,x\n")  # by commas: no comma is a decimal mark
    run("convert edges e.csv g.h5 --features n.csv")


def test_other_spellings_by_hash():
    """What is hashed: whole numbers with a fraction of 0, as a data frame with gaps writes them, are the same; other separators
    of items are an error."""
    write("e.csv", "src,dst\na,b\nb,c\n")
    write("n.csv", "id,zip,tags,label\na,1001,u|v,x\nb,1002,v,y\nc,1003,w|u,x\n")
    run("convert edges e.csv g.h5 --features n.csv --types zip=hash:32,tags=set:32")
    write("m.csv", "id,zip,tags,label\na,1001.0,u|v,x\nb,1002.0,v,y\nc,1003.0,w|u,x\n")
    run("convert edges e.csv h.h5 --features m.csv --like g.h5")
    assert features("h.h5") == features("g.h5")
    with h5py.File("g.h5", "a") as f:  # an earlier encoder, which hashes a field as it is
        encoder = f["nodes/x_encoder"][:].tobytes().replace(b',"whole_numbers":true', b"")
        del f["nodes/x_encoder"]
        f["nodes/x_encoder"] = np.frombuffer(encoder, np.uint8)
    run("convert edges e.csv h.h5 --features n.csv --like g.h5")
    assert features("h.h5") == features("g.h5")
    run("convert edges e.csv h.h5 --features m.csv --like g.h5")
    assert features("h.h5") != features("g.h5")
    for types in ("hash:32,tags=set:32", "hash:32,tags=set"):
        run(f"convert edges e.csv g.h5 --features n.csv --types zip={types}")
        write("m.csv", "id,zip,tags,label\na,1001,u;v,x\nb,1002,v,y\nc,1003,w;u,x\n")
        refused("convert edges e.csv h.h5 --features m.csv --like g.h5",
                says='m.csv: column 3 (tags) has a semicolon in 2 fields, and in none "|", which is between the items in g.h5, '
                     'expected it here, too\n')
        write("m.csv", 'id,zip,tags,label\na,1001,"u,v",x\nb,1002,v,y\nc,1003,w,x\n')
        expect(run("convert edges e.csv h.h5 --features m.csv --like g.h5"), 'tags: a comma in 1 field, and in none "|"')
        write("m.csv", 'id,zip,tags,label\na,1001,u,x\nb,1002,v w,y\nc,1003,w,x\n')
        assert "in none" not in run("convert edges e.csv h.h5 --features m.csv --like g.h5")


def test_dates():
    """Times of day are days since the first date, with seconds; those with and without a zone do not mix."""
    write("e.csv", "src,dst\na,b\nb,c\n")
    stamps = ["2024-03-05T10:00:00", "2024-03-05T10:01:00", "2024-03-07T10:03:59"]
    table = "id,t,label\n" + "".join("%s,{},%s\n" % (name, "xyx"["abc".index(name)]) for name in "abc")
    write("n.csv", table.format(*stamps))
    expect(run("convert edges e.csv g.h5 --features n.csv"), "t: date, in days since 2024-03-05\n")
    seconds = np.array(features("g.h5")).ravel() * 86400
    assert abs(seconds - [36000, 36060, 2 * 86400 + 36239]).max() < 0.02, seconds
    write("m.csv", table.format("2024-03-04T12:00:00", *stamps[1:]))
    run("convert edges e.csv h.h5 --features m.csv --like g.h5")  # the first table's days
    assert features("h.h5")[0] == [-0.5] and features("h.h5")[1:] == features("g.h5")[1:]
    run("convert edges e.csv h.h5 --features m.csv --split 34,33,33")
    run("train_sage h.h5 --epochs 1 --quiet --checkpoint s.ck")
    expect(run("predict g.h5 --checkpoint s.ck --out p.csv", status=1),
           "column t is a date in days since 2024-03-05 here, a date in days since 2024-03-04 in the training; convert with --like MODEL")
    with h5py.File("g.h5", "a") as f:  # an earlier encoder
        encoder = f["nodes/x_encoder"][:].tobytes().replace(b',"origin":19787', b"").replace(b'"origin":19787,', b"")
        del f["nodes/x_encoder"]
        f["nodes/x_encoder"] = np.frombuffer(encoder, np.uint8)
    expect(run("convert edges e.csv h.h5 --features n.csv --like g.h5"), "t: dates, rounded by 85 seconds at most")
    assert abs(np.array(features("h.h5")).ravel() * 86400 - (19787 * 86400 + seconds)).max() < 86
    write("m.csv", table.format("2004-03-05", "2024-03-05", "2024-03-06"))  # whole days stay exact
    expect(run("convert edges e.csv h.h5 --features m.csv"), "t: date, in days since 1970-01-01\n")
    assert features("h.h5")[1:] == [[19787], [19788]]
    write("m.csv", table.format("2004-03-05T01:02:03", *stamps[1:]))
    expect(run("convert edges e.csv h.h5 --features m.csv"), "t: date, in days since 2004-03-05, rounded by 22 seconds at most\n")
    write("m.csv", table.format(stamps[0], "2024-03-05T12:01:00+02:00", stamps[2]))
    mixed = 'm.csv:3: "2024-03-05T12:01:00+02:00" in column 2 (t), expected a time zone in all dates or in none, not in 1 of 3'
    refused("convert edges e.csv h.h5 --features m.csv",
            says=mixed + " (--types COLUMN=category takes them as texts; --without COLUMN: no feature)\n")
    refused("convert edges e.csv h.h5 --features m.csv --like g.h5", says=mixed + "\n")
    write("f.csv", "src,dst,at\na,b,2021-01-01 00:00:00.123456100\nb,c,2021-01-01 00:00:00.123456900\nc,a,2021-01-01 00:00:00.123457\n")
    expect(run("convert tables t.h5 --edges f.csv --time f=at"),
           "in microseconds since 1970-01-01 UTC; 2 with digits beyond, which are cut off\n")


def test_zones():
    """Offsets are applied; dates without a zone are of UTC, which is said where those there have one, or the other way round."""
    write("e.csv", "src,dst\na,b\nb,c\n")

    def table(name, zone, hour=10):
        write(name, "id,t,label\n" + "".join(f"{k},2024-03-0{d}T{hour}:00:00{zone},{y}\n" for k, d, y in zip("abc", (5, 6, 8), "xyx")))
    bare, zoned = "t has no time zones, taken as UTC, there it has\n", "t has time zones, there it has none, taken as UTC\n"
    for zone in ("", "Z", "+02:00"):
        table("n.csv", zone)
        run("convert edges e.csv g.h5 --features n.csv --split 34,33,33")
        hours = 8 if zone == "+02:00" else 10
        assert features("g.h5")[0] == [np.float32(hours / 24)]
        run("train_sage g.h5 --epochs 1 --quiet --checkpoint s.ck")
        for other, hour, note in (("", hours, zone and bare), ("Z", hours, "" if zone else zoned), (" UTC", hours, "" if zone else zoned),
                                  (" GMT", hours, "" if zone else zoned)):
            table("m.csv", other, f"{hour:02}")
            for like in ("g.h5", "s.ck"):
                out = run(f"convert edges e.csv h.h5 --features m.csv --like {like}")
                expect(out, note)
                assert ("time zone" in out) == bool(note), out
                assert features("h.h5") == features("g.h5"), (zone, other)
            run("convert edges e.csv h.h5 --features m.csv")
            out = run("predict h.h5 --checkpoint s.ck --out p.csv")
            expect(out, note and "dates of h.h5 and of train_sage, epoch 1: " + note)
            assert ("time zone" in out) == bool(note), out
    for word in (" Europe/Berlin", "[Europe/Berlin]", " PM"):
        table("n.csv", word)
        says = (f'n.csv:2: "2024-03-05T10:00:00{word}" in column 2 (t), a column of dates with a word behind the time, expected an offset, as '
                "2024-12-31T23:59:59+01:00, Z or UTC (--types COLUMN=category")
        refused("convert edges e.csv x.h5 --features n.csv", says=says)
    with open("n.csv", "a") as f:
        f.write("d,2024-03-05T10:00:00Z,x\n")
    refused("convert edges e.csv x.h5 --features n.csv", says=says)
    with h5py.File("g.h5", "a") as f:  # an earlier encoder does not know
        encoder = f["nodes/x_encoder"][:].tobytes()
        assert b',"zones":true' in encoder
        del f["nodes/x_encoder"]
        f["nodes/x_encoder"] = np.frombuffer(encoder.replace(b',"zones":true', b""), np.uint8)
    table("m.csv", "")
    assert "time zone" not in run("convert edges e.csv h.h5 --features m.csv --like g.h5")


def test_fillings_of_edges():
    """Gaps of edges get the mean of the training edges, of a drawn split and of a column, with one type and with several."""
    rng = np.random.default_rng(1)
    amount = rng.uniform(0, 9, 60).round(2) ** 3
    gap = np.arange(60) % 5 == 0
    part = np.where(np.arange(60) < 40, "train", np.where(np.arange(60) < 50, "val", "test"))
    write("pay.csv", "src,dst,amt,kind,lab,part\n" + "".join(
        f"{rng.integers(20)},{rng.integers(20)},{'' if gap[k] else amount[k]},{'pq'[k % 2]},{'xy'[k % 3 % 2]},{part[k]}\n" for k in range(60)))
    for words, count in (("--split 60,20,20", 36), ("--split-column part", 40), ("--split 60,20,20 --relation kind", 36)):
        out = run(f"convert tables t.h5 --edges pay.csv --attributes amt --impute pay=mean --label pay=lab {words}".replace("pay=", ""))
        expect(out, f"missing numbers imputed (mean of {count} training edges)")
        seen, fillings = [], set()
        with h5py.File("t.h5") as f:
            typed = f.attrs["version"] == 2
            for group, splits in (((f["edges/" + k], f[f"edges/{k}/splits"]) for k in f["edges"]) if typed else ((f["edges"], f["splits"]),)):
                x = group["attr"][:].ravel()
                known = np.isin(x, amount[~gap].astype(np.float32))
                fillings |= set(x[~known].tolist())
                seen += [x[i] for i in splits["train"][:] if known[i]]
        assert len(fillings) == 1 and abs(fillings.pop() - np.mean(seen)) < 1e-3, words


def test_nouns():
    """Edges and graphs are called so, also where they are read as nodes are."""
    write("l.csv", "src,dst,label,part\na,b,x,train\nc,d,y,val\ne,f,x,test\ng,h,y,\na,c,,train\n")
    expect(run("convert tables g.h5 --edges e=l.csv --label label --split-column part"),
           "edges without a value, in no part: 1 (3), the first in line 5\n", "edges without a label, in no part: 1 (4), the first in line 6\n")
    write("n.csv", "graph,node\n" + "".join(f"g{k},{k}\n" for k in range(6)))
    write("e.csv", "src,dst\n0,0\n1,1\n")
    write("g.csv", "graph,label\n" + "".join(f"g{k},{'xy'[k % 2]}\n" for k in range(6)))
    expect(run("convert tables g.h5 --nodes n=n.csv --edges e.csv --graphs g.csv --graph n=graph --id n=node --split 60,20,20"),
           "split by seed 0: 4 graphs to train, 1 to validate, 1 to test")
    write("g.csv", "graph,label,train_mask,val_mask,test_mask\n" + "".join(
        f"g{k},{'' if k == 5 else 'xy'[k % 2]},{int(k < 3)},{int(k == 3)},{int(k > 3)}\n" for k in range(6)))
    expect(run("convert tables g.h5 --nodes n=n.csv --edges e.csv --graphs g.csv --graph n=graph --id n=node"),
           "g.csv: graphs without a label, in no part: 1: g5\n",
           "g.csv: split by its columns of masks: 3 graphs to train, 1 to validate, 1 to test\n")
    write("w.csv", "src,dst,price\n" + "".join(f"{k},{k + 1},{k}.5\n" for k in range(6)))
    expect(run("convert tables w.h5 --edges bond=w.csv --label price"), "some with fractions (--task edge_regression for targets)")


def test_sums_of_zero():
    """Merged weights that are 0 are counted, as those of a list are."""
    write("e.csv", "src,dst,weight\na,b,2.5\na,b,-2.5\nb,a,1\n")
    expect(run("convert edges e.csv g.h5 --coalesce"), "1 of 3 edges merged with equal ones, adding their weights; 1 of 2 merged weights are 0\n")
    expect(run("convert tables g.h5 --edges e.csv --coalesce true --weight weight"), "adding their weights; 1 of 2 merged weights are 0\n")


def test_matrix_with_commas():
    """Numbers with decimal commas are no names of a symmetric matrix."""
    write("m.csv", "0;0,5;1,5;2,5\n0,5;0;1;0\n1,5;1;0;3\n2,5;0;3;0\n")
    expect(run("convert edges m.csv g.h5 --layout matrix", status=1), '"0,5" in column 2', "--decimal comma: numbers have a decimal comma")
    run("convert edges m.csv g.h5 --layout matrix --decimal comma")
    assert len(features("g.h5", "edges/weight")) == 10
    write("m.csv", "n1;n2\n0;1\n1;0\n")
    run("convert edges m.csv g.h5 --layout matrix")


def test_masks():
    """Numbered masks are several splits; what looks like a split and is a feature is said."""
    write("e.csv", "src,dst\n" + "".join(f"{k},{k % 6 + 1}\n" for k in range(1, 7)))

    def columns(**more):
        write("n.csv", [["id", "f", *more]] + [[k + 1, 10 * k, *(column[k] for column in more.values())] for k in range(6)])
        for line in ("edges e.csv g.h5 --features n.csv", "tables g.h5 --edges e.csv --nodes n.csv"):
            text = run(f"convert {line}")
            with h5py.File("g.h5") as f:
                yield text, texts(f, "nodes/x_names"), {name: f["splits"][name][:].tolist() for name in sorted(
                    f"{split}{part}" for split in ("", "1/") for part in ("train", "val", "test") if f"splits/{split}{part}" in f)}
    first, second = {"train": [0, 3, 4, 5], "val": [1], "test": [2]}, {"1/train": [1, 2, 3], "1/val": [0], "1/test": [4, 5]}

    def mask(part):
        return [int(k in part) for k in range(6)]
    for form in ("train_mask_%d val_mask_%d test_mask_%d", "mask_train%d mask_valid%d mask_test%d"):
        names = form.split()
        masks = {name % k: mask(split[part]) for k, split in enumerate((first, {part[2:]: rows for part, rows in second.items()}))
                 for name, part in zip(names, ("train", "val", "test"))}
        for text, features, splits in columns(**masks):
            assert features == ["f"] and splits == {**first, **second}, (features, splits)
            expect(text, "n.csv: 2 splits by its columns of masks: 4 nodes to train, 1 to validate, 1 to test in the first\n")
    # A test mask for all, as of WikiCS; one that is missing.
    masks = {"train_mask_0": mask([0]), "train_mask_1": mask([1]), "val_mask_0": mask([2]), "val_mask_1": mask([3])}
    for text, features, splits in columns(**masks, test_mask=mask([4, 5])):
        assert features == ["f"] and splits["1/train"] == [1] and splits["test"] == splits["1/test"] == [4, 5], splits
    for text, features, splits in columns(**masks):
        assert features == ["f"] and not splits
        expect(text, "no split by train_mask_0, val_mask_0, train_mask_1 and 1 more, as there is no test_mask_0\n")
    for text, features, splits in columns(in_train=mask([0, 1]), in_val=mask([2]), in_test=mask([3])):
        assert features == ["f"] and splits == {"train": [0, 1], "val": [2], "test": [3]}, (features, splits)
    for text, features, splits in columns(is_test=mask([1])):
        assert features == ["f"] and not splits
        expect(text, "passed over as a split, no feature: is_test")
    for names in (["fold"], ["test"], ["cv_fold", "train"]):
        for text, features, splits in columns(**{name: [0, 1] * 3 for name in names}):
            assert features == ["f", *names]
            expect(text, '; "cv_fold", "train" look like a split and are features (--without leaves them out' if len(names) == 2 else
                   f'; "{names[0]}" looks like a split and is a feature (--without leaves it out; convert tables --split-column takes')
    for text, _, splits in columns(train=[1] * 6, val=mask([1]), test=mask([2])):  # a row in two parts
        assert not splits
        expect(text, '"train", "val", "test" look like a split')
    assert "looks like" not in run("convert edges e.csv g.h5 --features n.csv --columns f,test") + next(columns(width=[1] * 6))[0]
    # In a file of labels they are named, as all that is not read.
    write("l.csv", [["id", "label", *masks, "year"]] + [[k + 1, "xy"[k % 2], *(column[k] for column in masks.values()), 2020] for k in range(6)])
    expect(run("convert edges e.csv g.h5 --labels l.csv"), f"; passed over: {', '.join(masks)}, year\n")
    # A column of parts is said of a table without features, too: of nodes, and of graphs.
    passed = "; passed over as a split, no feature: part ("
    write("n.csv", [["id", "label", "part"]] + [[k + 1, "xy"[k % 2], ("train", "val", "test")[k % 3]] for k in range(6)])
    for line in ("edges e.csv g.h5 --features n.csv", "tables g.h5 --edges e.csv --nodes n.csv"):
        expect(run(f"convert {line}"), passed)
    write("v.csv", "graph,id\n" + "".join(f"{k},{k}\n" for k in range(1, 7)))
    write("w.csv", "src,dst\n1,1\n2,2\n")
    graphs = "convert tables g.h5 --nodes v=v.csv --edges w.csv --graph v=graph --id v=id --graphs n.csv"
    expect(run(graphs), passed + "convert tables --split-column and split --by-column take a column of train, val and test);")
    assert passed not in run(graphs + " --split-column graphs=part")


def test_missing_labels():
    """A class that means no label may be written as another number; one that does not occur is said."""
    write("e.csv", "src,dst,sort\n1,2,9.0\n2,3,1\n3,4,2\n4,1,9\n")
    for written, listed in (("9.0", "9"), ("9", "9.0"), ("9.00", "9"), ("9", "9")):
        write("n.csv", f"id,f,label\n1,1,{written}\n2,2,1\n3,3,2\n4,4,{written}\n")
        for line in (f"edges e.csv g.h5 --features n.csv --missing-labels {listed}", f"tables g.h5 --edges e.csv --nodes n.csv --missing-labels {listed}",
                     f"edges e.csv g.h5 --labels n.csv --label label --missing-labels {listed}"):
            expect(run(f"convert {line}"), "2 classes, 2 without a label", f'2 of "{written}"')
    for line in ("edges e.csv g.h5 --edge-label sort --missing-labels 9", "tables g.h5 --edges e.csv --label sort --missing-labels 9"):
        expect(run(f"convert {line}"), "2 classes, 2 without a label", '1 of "9", 1 of "9.0"')
    write("n.csv", "id,f,label\n1,1,09\n2,2,Unknown\n3,3,9\n4,4,x\n")
    for line in ("edges e.csv g.h5 --features n.csv --label label", "tables g.h5 --edges e.csv --nodes n.csv --label n=label"):
        option = f"convert {line} --missing-labels " + "n=" * line.startswith("tables")
        expect(run(option + "9,nosuch"), '3 classes, 1 without a label', '1 line taken as unlabelled, in column 3 (label), the first in line 4: 1 of "9"; no line has "nosuch" of the missing labels')
        expect(run(option + "unknown"), '; no line has "unknown" of the missing labels, but "Unknown"')




def test_lines_dropped():
    """What is dropped or has no label is counted with its columns and its first line, in lists and in tables."""
    write("e.csv", "src,dst,y\na,b,1\nb,,2\n,NA,3\nb,b,1\nb,c,\nc,a,NA\n")
    where = "2 lines without an id dropped, in column 1 (src), column 2 (dst), the first in line 3"
    gaps = ", in column 3 (y), the first in line 6"
    for line in ("edges e.csv g.h5 --missing-ids drop --edge-label y", "tables g.h5 --edges e.csv --missing-ids drop --label y"):
        expect(run(f"convert {line}"), where, f'2 lines taken as unlabelled{gaps}: 1 of "", 1 of "NA"')
        task = "--task edge_regression" if "tables" in line else "--edge-task edge_regression"
        expect(run(f"convert {line} {task}"), where, f"2 fields taken as no label{gaps}")
    expect(run("convert edges e.csv g.h5 --missing-ids drop --drop-self-loops"), "1 self-loop dropped, the first in line 5\n")
    write("n.txt", "a: b c\nb: b\nc: a\n")
    expect(run("convert edges n.txt g.h5 --layout neighbors --drop-self-loops"), "1 self-loop dropped, the first of 'b'\n")
    write("n.csv", "id,a,b\na,1,2\nb,,3\nc,1,\n")
    expect(run("convert edges e.csv g.h5 --missing-ids drop --labels n.csv --task node_regression"),
           "2 fields taken as no label, in column 2 (a), column 3 (b), the first in line 3\n")


def test_labels_beside():
    """Features that are called as labels are named beside a file of labels; ids beside rows are no features."""
    write("e.txt", "0 1\n1 2\n2 3\n3 0\n")
    write("l.txt", "0 p\n1 q\n2 p\n3 q\n")
    for name, said in (("label", True), ("class", True), ("Y", True), ("node_label", True), ("target", True), ("pos_y", False), ("world_class", False)):
        for values in ("5757", "abab"):
            write("f.csv", [["id", "a", name]] + [[k, k, values[k]] for k in range(4)])
            note = f'f.csv: column "{name}" is a feature; if it is the label, models see the answer\n'
            assert (note in run("convert edges e.txt g.h5 --features f.csv --labels l.txt")) == said, name
    write("f.csv", "id,a\n3,30\n2,20\n1,10\n0,0\n")
    refused("convert edges e.txt x.h5 --features f.csv --features-by-row", says="f.csv:1: column 1 (id) is called as ids are, but rows are nodes by "
            'their order (--features-by-row), expected no ids (without the option rows go by them; --without "id" leaves the column out)')
    for more in ("--without id", "--columns a", "--columns id,a"):
        run(f"convert edges e.txt g.h5 --features f.csv --features-by-row {more}")
    write("l.csv", "node_id,label\n3,d\n2,c\n1,b\n0,a\n")
    note = "; passed over, as rows go by their order: node_id\n"
    expect(run("convert edges e.txt g.h5 --labels l.csv --labels-by-row"), note)
    write("l.csv", "node_id,size\n3,9\n2,8\n1,7\n0,6\n")
    expect(run("convert edges e.txt g.h5 --labels l.csv --labels-by-row --task node_regression"), note)
    with h5py.File("g.h5") as f:
        assert f["nodes/y"][:].tolist() == [[9], [8], [7], [6]]
    expect(run("convert edges e.txt g.h5 --labels l.csv --labels-by-row"), note)




def test_relations():
    """Words between the ids of triples without a header are said to be relations; weights and second ids are not."""
    hint = "column 2 looks like a relation, with 2 different texts ("

    def both(rows, hinted):
        write("t.txt", rows)
        for line, choice in (("edges t.txt g.h5", "--source 1 --target 3: its ends; convert tables --source 1 --target 3 --relation 2 keeps it)"),
                             ("tables g.h5 --edges t.txt --header no", "source 1, target 3, relation 2: it is one)")):
            text = run(f"convert {line}")
            assert (hint in text) == hinted, text
            expect(text, hint + choice if hinted else "")
    both("00260881\t_hypernym\t00260622\n01332730\t_hypernym\t03122748\n00260622\t_part\t01332730\n03122748\t_part\t00260881\n", True)
    write("t.txt", "1 likes 5\n2 likes 1\n5 hates 2\n5 hates 1\n")
    expect(run("convert edges t.txt g.h5"), hint)
    refused("convert tables x.h5 --edges t.txt", says='t.txt:1: "likes", expected an integer')
    both("00260881\t_hypernym\t0.5\n01332730\t_hypernym\t0.25\n00260622\t_part\t1\n03122748\t_part\t2\n", False)
    both("01\tb\t02\n02\tc\t03\nb\tc\t01\nb\tc\t02\n", False)
    run("convert tables g.h5 --edges t.txt --header no --source 1 --target 3 --relation 2")


def test_ids_in_both_columns():
    """Where columns of one list may be ids of two kinds, and are taken as one, the ids in both are counted."""
    note = " in both columns, and one node each (convert tables keeps kinds apart)"
    for head, rows, choice, count in (("userId,movieId,stars", "1,1,5\n1,2,3\n2,3,4\n3,7,1\n", "--source userId --target movieId", "; 3 ids are"),
                                      ("stars,movieId,userId", "5,1,1\n3,2,1\n4,5,4\n", "--source 3 --target 2", "; 1 id is"),
                                      ("user,item", "1,1\n1,2\n2,3\n", "--source user --target item", "; 2 ids are"),
                                      ("userId,movieId", "ann,heat\nheat,up\n", "--source userId --target movieId", "; 1 id is"),
                                      ("userId,movieId", "ann,heat\nbob,up\n", "--source userId --target movieId", ""),
                                      ("user,item", "ann,bob\nbob,ann\n", "--source user --target item", ""),
                                      ("src,dst", "1,1\n1,2\n2,3\n", "", ""), ("src,dst", "1,1\n1,2\n2,3\n", "--source src --target dst", ""),
                                      ("from_user,to_user", "1,1\n1,2\n2,3\n", "--source from_user --target to_user", ""),
                                      ("user_id,friend_id,userId", "1,1,4\n1,2,5\n", "--source 1 --target 3", "")):
        write("t.csv", f"{head}\n{rows}")
        text = run(f"convert edges t.csv g.h5 {choice}")
        assert (count + note in text) if count else note not in text, (head, text)


def test_rounding():
    """Numbers that float32 takes as others are counted: whole ones, and fractions that lose much of their column's range."""
    times = [1700000001.5, 1700000020.25, 1700000040.75, 1700000900.5]
    message = "4 %s are rounded to float32, by 40.75 at most"

    def noted(values, note):
        write("n.csv", [["id", "t", "label"]] + [[k, v, v] for k, v in enumerate(values)])
        write("e.csv", [["src", "dst", "w", "y"]] + [[k, (k + 1) % 4, v, v] for k, v in enumerate(values)])
        for line, nouns in (("edges e.csv g.h5 --weight w --features n.csv --task node_regression", ("weights", "numbers", "targets")),
                            ("edges e.csv g.h5 --edge-label y --edge-task edge_regression", ("targets",)),
                            ("tables g.h5 --edges e.csv --weight w --attributes y", ("weights", "numbers"))):
            lines = run(f"convert {line}")
            assert ("rounded" in lines or "so small" in lines) == bool(note), lines
            expect(lines, *(note % noun for noun in nouns if note))
    noted(times, message)
    noted([0.1, 0.2, 0.123456789, 1e6 / 7], "")  # of a wide range
    noted([100000000.7, 100000003.2, 100000005.9, 2], "2 %s are rounded to float32, by 3.2")  # by 1 or more, as whole numbers
    noted([1e-50, "-0.0", 3e-60, 0.5], "2 %s are 0 as float32, which has none so small")
    noted([0, "0e9", "0.00000", 0.5], "")
    noted([1 / 3] * 4, "")
    noted([52.5200001, 52.5200002, 52.5200003, 52.5200009], "4 %s are rounded to float32, by ")  # degrees
    noted([1700000001.5, 1e15 / 7, 5, 6.25], "2 %s are rounded to float32, by ")
    write("n.csv", [["id", "v"]] + [[k, f"[{t}, {tiny}]"] for k, (t, tiny) in enumerate(zip(times, ("1e-50", "0.5", "0", "2")))])
    lost = "4 numbers are rounded to float32, by 40.75 at most; 1 number is 0 as float32, which has none so small"
    expect(run("convert edges e.csv v.h5 --features n.csv"), f"; v: 2 numbers in a field, {lost}")
    expect(run("convert edges e.csv g.h5 --features n.csv --like v.h5"), f"; v: numbers, {lost}")
    for point in "", ".":  # also between thousands
        write("n.csv", "id;t\n" + "".join(f"{k};{v:_}\n".replace(".", ",").replace("_", point) for k, v in enumerate(times)))
        expect(run("convert tables g.h5 --edges e.csv --nodes n=n.csv --decimal n=comma"), "; t: numbers, " + message % "numbers")
    edges = np.array([[0, 1, 2, 3], [1, 2, 3, 0]])
    columns = np.array([times, [2**40, 0.5, 0.25, 7.1]]).T  # each by its own range
    for order in "CF":
        np.savez("r.npz", edge_index=edges, x=np.asarray(columns, order=order), y=columns[:, 0])
        expect(run("convert npz r.npz r.h5"), "r.npz: x: 4 numbers are rounded", "r.npz: y: 4 numbers are rounded to float32, by 40.75 at most")
    np.savez("r.npz", edge_index=edges, x=np.array([[1e-50], [2], [0], [-1e-60]]))
    expect(run("convert npz r.npz r.h5"), "r.npz: x: 2 numbers are 0 as float32, which has none so small\n")
    np.savez("r.npz", edge_index=edges, x=1 + np.random.default_rng(0).random((4, 3)) * 1e-15)
    assert "rounded" not in run("convert npz r.npz r.h5")


def test_chosen_labels():
    """--label chooses of a file of labels whatever the task; none contradicts one."""
    write("e.csv", "src,dst\na,b\nb,c\nc,a\n")
    write("n.csv", "id,f\na,1\nb,2\nc,3\n")
    write("y.csv", "id,price,size\na,1,0\nb,0,1\nc,,1\n")
    for task in "node_regression", "node_multilabel":
        for choice, names in (("--label size", ["size"]), ("--label 3", ["size"]), ("", ["price", "size"])):
            run(f"convert edges e.csv g.h5 --features n.csv --labels y.csv {choice} --task {task}")
            with h5py.File("g.h5") as f:
                assert texts(f, "nodes/class_names") == names and f["nodes/y"].shape == (3, len(names))
        for labels in "y.csv", "n.csv":
            refused(f"convert edges e.csv g.h5 --features n.csv --labels {labels} --label none --task {task}",
                    says=f"{labels}: no column of labels by --label none, expected one (--label COLUMN), or no file of labels\n")
        refused(f"convert edges e.csv g.h5 --features n.csv --labels n.csv --task {task}", says="n.csv: no column of labels, expected one")
    refused("convert edges e.csv g.h5 --labels y.csv --label none", says="by --label none")
    for true, false in (("True", "False"), ("TRUE", "false"), ("1", "False")):  # as pandas writes them
        write("m.csv", f"id,p,q\na,{true},0\nb,{false},1\nc,,{true}\n")
        run("convert edges e.csv g.h5 --labels m.csv --task node_multilabel")
        with h5py.File("g.h5") as f:
            assert np.array_equal(f["nodes/y"][:], [[1, 0], [0, 1], [np.nan, 1]], equal_nan=True)
        expect(run("convert edges e.csv g.h5 --labels m.csv --label p --task node_multilabel"), "1 labels, 1 without a label", "labels are 0 and 1")


def test_label_codes():
    """Labels that begin with a zero are texts, as ids are; other spellings of one number are one class, which is said."""
    write("e.csv", "src,dst,k\na,b,011\nb,c,11\nc,d,02\nd,a,2\n")
    codes = "text, alphabetical, as 2 begin with a zero, as codes do"
    for values, names, note in ((["011", "11", "02", "11"], ["011", "02", "11"], codes), (["1.1", "1.10", "2", "1.1"], ["1.1", "2"], '; 1 other spelling of a number, as "1.10" of "1.1": the same class'),
                                (["1E2", "100", "2E1", "20"], ["2E1", "1E2"], '; 2 other spellings of a number, as "100" of "1E2": the same class'),
                                (["00", "01", "02", "01"], ["00", "01", "02"], "as 3 begin with a zero"), (["01", "x", "1", "x"], ["01", "1", "x"], "text, alphabetical"),
                                (["0", "2", "1", "2"], None, "")):
        write("n.csv", [["id", "label"]] + list(zip("abcd", values)))
        write("l.csv", [["id", "g"], ["a", f"{values[0]}|{values[1]}"]] + list(zip("bcd", values[1:])))
        for line in "edges e.csv g.h5 --features n.csv", "tables g.h5 --edges e.csv --nodes n.csv", "edges e.csv g.h5 --labels l.csv --task node_multilabel":
            text = run(f"convert {line}")
            assert note in text and ("as codes do" in text) == ("zero" in note), text
            with h5py.File("g.h5") as f:
                assert (texts(f, "nodes/class_names") if "nodes/class_names" in f else None) == names, line
    for line in "edges e.csv g.h5 --edge-label k", "tables g.h5 --edges e.csv --label k":
        expect(run(f"convert {line}"), "4 classes", codes)
    write("n.csv", "id,label\na,9\nb,09\nc,9\nd,1\n")
    expect(run("convert edges e.csv g.h5 --features n.csv --missing-labels 9"), "2 classes, 2 without a label", "as 1 begins with a zero, as codes do")


def test_lists_with_quotes():
    """Items of lists in quotes may contain separators; records are refused, not torn apart."""
    write("e.csv", "src,dst\na,b\nb,c\nc,d\nd,a\n")
    films = [["Crime", "Action, Adventure"], ["Crime"], ["Action, Adventure"], ["Rock 'n' Roll|Pop"]]
    wanted = ["Action, Adventure", "Crime", "Rock 'n' Roll|Pop"]
    bare = ["a, rock 'n' roll", "a", "'90s", "rock 'n' roll, '90s"]  # without quotes around items
    for write_list, lists, names in ((str, films, wanted), (json.dumps, films, wanted), (lambda items: str(frozenset(items)), films, wanted), (lambda items: str(set(items)), films, wanted),
                                     (lambda items: " ".join(map(repr, items)), films, wanted), (str, bare, ["'90s", "a", "rock 'n' roll"])):
        write("n.csv", [["id", "g"]] + [[name, write_list(items)] for name, items in zip("abcd", lists)])
        expect(run("convert edges e.csv g.h5 --features n.csv --types g=set"), "g: set")
        with h5py.File("g.h5") as f:
            assert texts(f, "nodes/x_names") == [f"g={name}" for name in names], texts(f, "nodes/x_names")
            assert f["nodes/x"][:].sum() == (5 if lists is films else 6)
        if " ".join(map(repr, films[0])) == write_list(films[0]):
            continue  # blanks are in many a label
        expect(run("convert edges e.csv l.h5 --labels n.csv --task node_multilabel"), f"labels are {len(names)} kinds, text, alphabetical, separated by a comma")
        with h5py.File("l.h5") as f:
            assert texts(f, "nodes/class_names") == names
    for record in ({"id": 5, "name": "Crime"}, {5: "Crime"}):
        for value, at in ((str([record]), 3), (json.dumps([record, record]), 3), (str(record), 2)):
            write("n.csv", [["id", "g"]] + [[name, "[]" if at == 3 and name == "a" else value] for name in "abcd"])
            says = "records, expected items (in pandas .map(lambda all: [one['name'] for one in ast.literal_eval(all)]) takes a member of each)"
            if not value.startswith('[{"5"'):
                refused("convert edges e.csv x.h5 --features n.csv --types g=set", says=[f"n.csv:{at}: ", says])
            refused("convert edges e.csv x.h5 --labels n.csv --task node_multilabel", says=[f"n.csv:{at}: ", says])
    refused("convert edges e.csv x.h5 --features n.csv --like g.h5", says="n.csv:2: ")


def test_words():
    """Directions of SNAP, truths of YAML, and errors that name what is wrong."""
    write("s.txt", "# Undirected graph: ../../data/output/amazon.ungraph.txt\n# Nodes: 3 Edges: 2\n# FromNodeId\tToNodeId\n0\t1\n1\t2\n")
    expect(run("convert edges s.txt g.h5"), "; the file calls its edges undirected (--undirected adds the reverses)")
    write("s.txt", "# Directed graph (each unordered pair of nodes is saved once)\n0\t1\n1\t2\n")
    assert "undirected (" not in run("convert edges s.txt g.h5")
    write("e.csv", "src,dst\n5,18446744073709551615\n5,6\n")
    expect(run("convert edges e.csv g.h5"), '; ids are names ("18446744073709551615" is not a 64-bit integer)')
    names = "4 fields, expected 3 as in the first line (names of rows, as R and pandas write them, have no name there: write.table("
    write("w.txt", '"from" "to" "w"\n"1" "a" "b" 0.5\n"2" "b" "c" 2\n')
    refused("convert edges w.txt g.h5", says="w.txt:2: " + names)
    refused("convert tables g.h5 --edges w.txt", says="w.txt:2: " + names)
    write("w.txt", '"id" "x" "y"\n"1" 5 1 0.5\n"2" 6 2 2\n')
    refused("convert edges e.csv g.h5 --features w.txt", says="w.txt:2: " + names)
    write("e.csv", "src,dst\n5,6\n7,8\n")
    for word, edges in (("true", 4), ("True", 4), ("yes", 4), ("on", 4), ("no", 2), ("FALSE", 2)):
        write("t.yaml", f"edges: [{{file: e.csv, undirected: {word}, coalesce: {word}}}]\n")
        run("convert tables t.yaml g.h5")
        with h5py.File("g.h5") as f:
            assert len(f["edges/src"]) == edges, word
    write("t.yaml", "edges: [{file: e.csv, undirected: maybe}]\n")
    refused("convert tables t.yaml g.h5", says="maybe: expected true, false")


def test_numbers_as_names():
    """Years and the columns of a data frame are names beside id, label or two ends; what may be a header or a row is refused."""
    def ids(path):
        with h5py.File(path) as f:
            return texts(f, "nodes/name") if "nodes/name" in f else f["nodes/id"][:].tolist()
    write("e.csv", "src,dst\na,b\nb,c\nc,a\n")
    write("i.csv", "src,dst\n1,2\n2,3\n3,1\n")
    write("l.csv", "id,kind\na,x\nb,y\nc,x\n")
    for header in "id,2019,2020", "node_id,0,1", ",0,1", "name,0.5,0.95", '"user_id","2019","2020"':
        for rows, edges, names in (("a,1,2\nb,3,4\nc,5,5\n", "e.csv", ["a", "b", "c"]), ("1,1,2\n2,3,4\n3,5,5\n", "i.csv", [1, 2, 3])):
            write("n.csv", f"{header}\n{rows}")
            for line in f"edges {edges} g.h5 --features n.csv", f"tables g.h5 --nodes p=n.csv --edges p:e:p={edges}":
                expect(run(f"convert {line}"), "line 1 taken as header: ")
                assert ids("g.h5") == names, (header, line)
                with h5py.File("g.h5") as f:
                    assert texts(f, "nodes/x_names") == [name.strip('"') for name in header.split(",")[1:]]
    write("n.csv", "country,2019,2020,label\na,1,2,x\nb,3,4,y\nc,5,5,x\n")
    for line in "edges e.csv g.h5 --features n.csv", "tables g.h5 --nodes p=n.csv --edges p:e:p=e.csv":
        expect(run(f"convert {line}"), "labels from column 4 (label)")
    # A word that is no node is a header or a node without edges; above integers it is a header.
    write("n.csv", "country,2019,2020\na,1,2\nb,3,4\nc,5,5\n")
    refused("convert edges e.csv g.h5 --features n.csv", says='"country" is in no edge, so that the line is a header or a node, expected --node-headers')
    refused("convert tables g.h5 --nodes p=n.csv --edges p:e:p=e.csv",
            says='n.csv:1: "country,2019,2020", a header or a row, as "country" is in no edge, expected --header yes or no to say which\n')
    run("convert tables g.h5 --nodes p=n.csv --edges p:e:p=e.csv --header p=yes")
    write("n.csv", "country,2019,2020\n1,1,2\n2,3,4\n3,5,5\n")
    run("convert edges i.csv g.h5 --features n.csv")
    assert ids("g.h5") == [1, 2, 3]
    refused("convert tables g.h5 --nodes p=n.csv --edges p:e:p=i.csv", says='as "country" is in no edge')
    for first, edges in (("a,5,6", "e.csv"), ("id,5,6", "ends.csv")):  # rows
        write("ends.csv", "src,dst\nid,b\nb,c\nc,id\n")
        write("n.csv", f"{first}\nb,3,4\nc,5,5\n")
        run(f"convert edges {edges} g.h5 --features n.csv")
        assert sorted(ids("g.h5")) == sorted([first.split(",")[0], "b", "c"])
    refused("convert tables g.h5 --nodes p=n.csv --edges p:e:p=ends.csv", says='as "id" is in an edge')
    # Edges, pairs and splits.
    write("y.csv", "user,friend,2019\na,b,1\nb,c,2\nc,a,3\n")
    refused("convert edges y.csv g.h5", says='y.csv:1: "user,friend,2019", a header or an edge, expected --header yes or no to say which')
    for first in "name b 0.5\nb name 3\n", "a b 0.5\nc d 3\n":  # edges
        write("y.csv", first)
        run("convert edges y.csv g.h5 --weight 3")
        assert len(edges_in("g.h5")[0]) == 2
    write("y.csv", ",0,1\n0,5,6\n1,6,7\n2,7,5\n")
    run("convert edges y.csv g.h5")
    assert edges_in("g.h5")[0] == [(5, 6), (6, 7), (7, 5)]
    write("n.csv", "id,2019,part,label\na,1,train,x\nb,3,val,y\nc,5,test,x\n")
    write("y.csv", "src,dst,2019,2020\na,b,1,5\nb,c,2,6\nc,a,3,7\n")
    run("convert edges y.csv g.h5 --features n.csv --weight 2019")
    assert edges_in("g.h5") == ([("a", "b"), ("b", "c"), ("c", "a")], 3)
    expect(run("convert tables t.h5 --nodes p=n.csv --edges p:e:p=y.csv --attributes e=2019,2020"), "attributes from 2019, 2020")
    expect(run("split g.h5 s.h5 --table n.csv --by-column 3"), "line 1 taken as header: id,2019,part,label")


def test_several_ids():
    """Beside a column id edges say which has the ids, by its name or else by what it has."""
    def keys(*words):
        """The first nodes' ids for both commands."""
        for line in "edges e.csv g.h5 --features n.csv", "tables g.h5 --nodes p=n.csv --edges p:e:p=e.csv":
            text = run(f"convert {line}")
            expect(text, *words)
            with h5py.File("g.h5") as f:
                found = f["nodes/id"][:].tolist()
                yield {found[k]: f["nodes/x"][k, -1] for k in range(4)}
    for column, ends in (("customer_no", "from_customer_no,to_customer_no"), ("paper", "citing_paper,cited_paper"), ("emp_nr", "boss_emp_nr,emp_nr"),
                         ("sensor", "sensor1,sensor2"), ("station", "from_station,to_station"), ("key", "src_key,dst_key"), ("user_id", "user_id,friend_id")):
        write("n.csv", f"id,{column},age\n1,4,10\n2,3,20\n3,2,30\n4,1,40\n")
        write("e.csv", f"{ends}\n1,2\n2,3\n3,4\n4,1\n")
        if column not in ("user_id", "emp_nr"):
            assert list(keys(f"ids from column 2 ({column})")) == [{1: 40, 2: 30, 3: 20, 4: 10}] * 2, column
        else:  # ends may be of two kinds
            run(f"convert tables g.h5 --nodes {column[:-3]}=n.csv --edges {column[:-3]}:knows:{column[:-3]}=e.csv")
            with h5py.File("g.h5") as f:
                assert f["nodes/x"][:, -1].tolist() == [10, 20, 30, 40] and f["nodes/id"][:].tolist() == [4, 3, 2, 1]
    write("n.csv", "id,customer_no,age\n1,4,10\n2,3,20\n3,2,30\n4,1,40\n")
    write("e.csv", "src,dst\n1,2\n2,3\n3,4\n4,1\n")
    both = "column 1 (id) and column 2 (customer_no) both have all ids of edges, expected --id to say which has them"
    refused("convert edges e.csv g.h5 --features n.csv", says=both)
    refused("convert tables g.h5 --nodes p=n.csv --edges p:e:p=e.csv", says=both)
    run("convert edges e.csv g.h5 --features n.csv --id id")
    write("n.csv", "id,customer_no,age\n1,14,10\n2,13,20\n3,12,30\n4,11,40\n")
    assert list(keys("ids from column 1 (id)")) == [{1: 10, 2: 20, 3: 30, 4: 40}] * 2
    # A file of labels, alone and beside features.
    write("x.csv", "paper,f\n" + "".join(f"{k},{k}\n" for k in range(1, 5)))

    def labels(table, edges, more=""):
        write("l.csv", table)
        write("e.csv", edges + "\n1,2\n2,3\n3,4\n4,1\n")
        for features in "", "--features x.csv":
            text = run(f"convert edges e.csv g.h5 --labels l.csv {features} {more}")
            with h5py.File("g.h5") as f:
                yield text, dict(zip(f["nodes/id"][:].tolist(), f["nodes/y"][:].ravel().tolist()))
    for first in "id", "rank":
        for text, y in labels(f"{first},paper,label\n1,4,0\n2,3,1\n3,2,2\n4,1,3\n", "citing_paper,cited_paper"):
            assert y == {4: 0, 3: 1, 2: 2, 1: 3}, y
            expect(text, "l.csv: ids from column 2 (paper), which has those of edges\n")
    for text, y in labels(",paper,label\n1,4,0\n2,3,1\n3,2,2\n4,1,3\n", "src,dst"):
        assert y == {4: 0, 3: 1, 2: 2, 1: 3}, y
        expect(text, "l.csv: ", "; ids from column 2 (paper)")
    for text, y in labels(",size\n1,4\n2,3\n3,2\n4,1\n", "src,dst", "--task node_regression"):  # no other ids
        assert y == {1: 4, 2: 3, 3: 2, 4: 1}, y
    write("l.csv", "id,customer_no,label\n1,4,0\n2,3,1\n3,2,2\n4,1,3\n")
    refused("convert edges e.csv g.h5 --labels l.csv", says="column 1 (id) and column 2 (customer_no) both have all ids of edges, expected one "
                                                             "called node_id\n")


def test_blanks_in_quotes():
    """Blanks at the ends of values are cut within quotes, too: a quoted table is the same as one without quotes."""
    write("e.csv", "src,dst\nk0,k1 \nk2,k3\n")
    write("q.csv", '"id","city","label"\n"k0","rome ","x"\n"k1 "," rome","x "\n"k2","oslo","y"\n"k3"," a ""b"" ","y"\n')
    write("u.csv", 'id,city,label\nk0,rome ,x\nk1 , rome,x \nk2,oslo,y\nk3, a "b" ,y\n')
    for kind in "hash", "category", "text", "set":
        found = []
        for table in "q.csv", "u.csv":
            run(f"convert edges e.csv {table}.h5 --features {table} --types city={kind}")
            with h5py.File(f"{table}.h5") as f:
                found.append((texts(f, "nodes/name"), f["nodes/x"][:].tolist(), texts(f, "nodes/class_names")))
        assert found[0] == found[1] and found[0][0] == ["k0", "k1", "k2", "k3"] and found[0][2] == ["x", "y"], kind


def test_documents():
    """What follows the first document of a description is refused."""
    write("e.csv", "src,dst\na,b\nb,c\n")
    for end in "---\nedges: [f.csv]\n", "...\n- {file: f.csv}\n":
        write("t.yaml", "---\nedges: [e.csv]\n" + end)
        refused("convert tables t.yaml g.h5", says=["t.yaml:4: ", "a second document, after --- or ..., expected one in a file"])
    write("t.yaml", "---\nedges: [e.csv]\n...\n")
    run("convert tables t.yaml g.h5")


def test_truths():
    """Labels true and TRUE are one class, as features are."""
    write("e.csv", "src,dst\na,b\nb,c\nc,a\n")
    write("n.csv", "id,x,label\na,1,True\nb,2,FALSE\nc,3,TRUE\n")
    expect(run("convert edges e.csv g.h5 --features n.csv"), '; 1 other spelling of a truth, as "TRUE" of "True": the same class')
    with h5py.File("g.h5") as f:
        assert (texts(f, "nodes/class_names"), f["nodes/y"][:].tolist()) == (["FALSE", "True"], [1, 0, 1])
    refused("inspect absent.h5", says="inspect: absent.h5: No such file or directory\n")


def test_comments_that_name():
    """A comment above the rows names the columns of every table, or the note says that it does not."""
    write("e.csv", "# dst,src\nb,a\nc,b\nd,c\n")
    write("n.csv", "# id,size,label\na,1,p\nb,2,q\nc,3,p\nd,4,q\n")
    note = "n.csv: separated by a comma; columns named by the comment above: id, size, label; 1 line of comments"
    expect(run("convert edges e.csv g.h5 --features n.csv --split 50,25,25"), note, "e.csv: separated by a comma; columns named by the comment above: dst, src")
    for line in ("", "convert tables t.h5 --nodes n.csv --edges e.csv"):
        if line:
            expect(run(line), note, "columns named by the comment above: dst, src; 1 line of comments; edges from src (n) to dst (n)")
        with h5py.File(line and "t.h5" or "g.h5") as f:
            assert texts(f, "nodes/x_names") == ["size"] and texts(f, "nodes/class_names") == ["p", "q"]
            names = texts(f, "nodes/name")
            assert [(names[a], names[b]) for a, b in zip(f["edges/src"], f["edges/dst"])] == [("a", "b"), ("b", "c"), ("c", "d")]
    write("more.csv", "#size\tid\n1\ta\n2\tb\n3\tc\n4\td\n")  # as STRING writes it, in another order
    expect(run("convert edges e.csv l.h5 --features more.csv --like g.h5"), "more.csv: separated by a tab; columns named by the comment above: size, id")
    with h5py.File("l.h5") as f, h5py.File("g.h5") as first:
        assert f["nodes/x"][:].tolist() == first["nodes/x"][:].tolist()
    write("y.txt", "% id kind\na u\nb v\nc u\nd v\n")
    expect(run("convert edges e.csv l.h5 --labels y.txt"), "y.txt: separated by blanks; columns named by the comment above: id, kind")
    write("part.csv", "# part,id\ntrain,a\nval,b\ntest,c\ntrain,d\n")
    expect(run("split g.h5 --replace --table part.csv --by-column part"), "columns named by the comment above: part, id", "split by column 1 (part)")
    write("graphs.csv", "# graph,label\ng,p\nh,q\n")
    write("v.csv", "# graph,atom,x\ng,0,1\ng,1,2\nh,0,3\nh,1,4\n")
    write("b.csv", "# graph,src,dst\ng,0,1\nh,0,1\n")
    expect(run("convert tables m.h5 --nodes v=v.csv --edges b.csv --graphs graphs.csv --graph graph --id v=atom"),
           "graphs.csv: separated by a comma; columns named by the comment above: graph, label", "2 classes, 2 graphs")
    refused("convert tables x.h5 --nodes v=v.csv --edges b.csv --graphs graphs.csv --graph graph",
            says="v.csv:2: column 1 (graph) has the graphs, expected another of ids (--id v=COLUMN)")
    # Texts between blanks are names only if one says what its column is for; "comment" takes others.
    write("n.txt", "# made today yes\na 1 5\nb 2 6\nc 3 7\nd 4 8\n")
    expect(run("convert edges e.csv g.h5 --features n.txt"), "n.txt: separated by blanks; the comment above is not taken as the names of columns: made, today, yes")
    run("convert edges e.csv g.h5 --features n.txt --node-headers comment")
    with h5py.File("g.h5") as f:
        assert texts(f, "nodes/x_names") == ["today", "yes"]
    assert "not taken" not in run("convert edges e.csv g.h5 --features n.txt --node-headers no")
    write("n.txt", "# id kind\nid size\na 1\nb 2\nc 3\nd 4\n")
    expect(run("convert edges e.csv g.h5 --features n.txt"), "n.txt: separated by blanks; line 2 taken as header: id size")
    write("n.txt", "a 1\nb 2\nc 3\nd 4\n")
    refused("convert edges e.csv x.h5 --features n.txt --node-headers comment", says="n.txt:1: no comment above with 2 names, expected one")


def test_pairs_under_comment():
    """Pairs to predict have the columns that a comment above them names."""
    write("e.csv", "src,dst\n" + "".join(f"n{k},n{(k + 1) % 20}\n" for k in range(20)))
    write("n.csv", "id,x\n" + "".join(f"n{k},{k}\n" for k in range(20)))
    run("convert edges e.csv g.h5 --features n.csv")
    run("train_link g.h5 --epochs 1 --quiet --checkpoint m.h5")
    write("p.csv", "# dst,src\nn1,n5\nn2,n9\n")
    expect(run("predict g.h5 --checkpoint m.h5 --pairs p.csv --out o.csv"), "p.csv: separated by a comma; columns named by the comment above: dst, src")
    assert [line.split(",")[:2] for line in read("o.csv").splitlines()[1:]] == [["n5", "n1"], ["n9", "n2"]]


def test_lists_of_labels():
    """Brackets of items, arrays of numpy, rows of 0 and 1, and lists of R, as labels and as sets."""
    write("e.csv", "src,dst\na,b\nb,c\nc,d\nd,a\n")

    def both(fields, names, sets):
        write("n.csv", [["id", "g"]] + [list(row) for row in zip("abcd", fields)])
        run("convert edges e.csv g.h5 --features n.csv --types g=set")
        run("convert edges e.csv l.h5 --labels n.csv --task node_multilabel")
        with h5py.File("g.h5") as f, h5py.File("l.h5") as labels:
            assert texts(f, "nodes/x_names") == [f"g={name}" for name in names], texts(f, "nodes/x_names")
            assert texts(labels, "nodes/class_names") == names
            assert f["nodes/x"][:].tolist() == sets
            assert np.nan_to_num(labels["nodes/y"][:]).tolist() == sets
    both(["(500) Days of Summer|Love (2011)", "Love (2011)|Heat", "(500) Days of Summer", "Heat"],
         ["(500) Days of Summer", "Heat", "Love (2011)"], [[1, 0, 1], [0, 1, 1], [1, 0, 0], [0, 1, 0]])
    both(["[Rock]|[Pop]", "[Rock]", "[Pop]|[Jazz]", "Jazz"], ["Jazz", "Pop", "Rock"], [[0, 1, 1], [0, 0, 1], [1, 1, 0], [1, 0, 0]])
    both(["(a)|(b)", "(b)|(a)", "(b)", "(a)"], ["a", "b"], [[1, 1], [1, 1], [0, 1], [1, 0]])
    both(["['Hip Hop' 'Pop']", "['Pop'\n 'Jazz']", "['Jazz']", "[]"], ["Hip Hop", "Jazz", "Pop"], [[1, 0, 1], [0, 1, 1], [0, 1, 0], [0, 0, 0]])
    both(["[1 3]", "[ 2 10]", "[1]", "[]"], ["1", "2", "3", "10"], [[1, 0, 1, 0], [0, 1, 0, 1], [1, 0, 0, 0], [0, 0, 0, 0]])
    for write_list, mark in ((str, "a comma"), (lambda row: ",".join(map(str, row)), "a comma"), (lambda row: "|".join(map(str, row)), '"|"'),
                             (lambda row: str([float(flag) for flag in row]), "a comma"), (lambda row: str(np.array(row)), "blanks")):
        flags = [[1, 0, 1], [0, 1, 0], [0, 0, 1], [1, 1, 0]]
        write("n.csv", [["id", "g"]] + [[name, write_list(row)] for name, row in zip("abcd", flags)])
        expect(run("convert edges e.csv l.h5 --labels n.csv --task node_multilabel"), f"labels are 3 columns of 0 and 1, separated by {mark}\n")
        with h5py.File("l.h5") as f:
            assert f["nodes/y"][:].tolist() == flags
    write("n.csv", [["id", "g"]] + [list(row) for row in zip("abcd", ("1,0", "0", "0,1", "1"))])  # sets of other sizes
    expect(run("convert edges e.csv l.h5 --labels n.csv --task node_multilabel"), "labels are 2 kinds, ")
    for value in ('c("Rock", "Pop")', "c(1, 3)", "character(0)"):
        write("n.csv", [["id", "g"]] + [[name, "1" if name < "c" else value] for name in "abcd"])
        for line in ("--labels n.csv --task node_multilabel", "--features n.csv --types g=set"):
            refused("convert edges e.csv x.h5 " + line, says=["n.csv:4: ", 'a list of R, expected items (in R sapply(COLUMN, paste, collapse = "|") writes them)'])
    write("n.csv", "id,g\na,c(RGDfK)\nb,x\nc,x\nd,c(RGDfK)\n")
    run("convert edges e.csv g.h5 --features n.csv --types g=set")


def test_lists_of_ends():
    """Lists in brackets are no ends, also of chosen columns; a first line may be the numbers of nodes and edges."""
    write("r.csv", [["id", "year", "cites"], ["p1", 1, "['p2', 'p3']"], ["p2", 2, "['p3']"], ["p3", 3, "['p1']"]])
    says = ["\"['p2', 'p3']\" in column 3 (cites), which may be a list of ids, expected one (", "--layout neighbors"]
    run("convert edges r.csv g.h5 --source id --target cites --ids names")
    refused("convert edges r.csv x.h5 --source id --target cites", says=says)
    refused("convert tables x.h5 --edges c=r.csv --source c=id --target c=cites", says=says)
    for rows, most in (("4 5\n0 1\n1 2\n2 0\n3 1\n2 3\n", 3), ("3 4\n1 2\n2 3\n3 1\n2 1\n", 3)):
        write("g.txt", rows)
        count = rows.count("\n") - 1
        for line in ("convert edges g.txt x.h5", "convert tables x.h5 --edges g.txt"):
            refused(line, says=f'g.txt:1: "{rows[:3]}", which may be the numbers of nodes and edges, as {count} lines with ids up to {most} follow, or an edge')
            run(line, "--header", "no")
            with h5py.File("x.h5") as f:
                assert len(f["edges/src"]) == count + 1
            os.remove("x.h5")
    for rows in ("4 5\n0 1\n1 2\n2 0\n3 1\n", "4 5\n0 1\n1 2\n2 0\n3 1\n2 7\n"):
        write("g.txt", rows)
        run("convert edges g.txt g.h5")
        run("convert tables g.h5 --edges g.txt")


def test_numbers_of_rows():
    """Features that count the rows by their names, or are called as labels, are named."""
    write("e.csv", "src,dst\na,b\nb,c\nc,d\nd,a\n")
    for name, values, said in (("Unnamed: 0.1", "0123", True), ("rownames", "1234", True), ("...1", "1234", True), ("level_0", "0123", True),
                               ("X", "0123", True), ("X", "0213", False), ("x", "0123", False), ("rank", "0123", False)):
        write("n.csv", [[name, "id", "f"]] + [[values[k], "abcd"[k], k * k] for k in range(4)])
        assert (f'; "{name}" numbers the rows and is a feature (--without leaves it out)' in run("convert edges e.csv g.h5 --features n.csv")) == said, name
    for names, more, named in (("label_0,label_1", "", "label_0"), ("f,label", " --label none", "label"), ("f,class", " --label none", "class"), ("f,world_class", "", "")):
        write("n.csv", f"id,{names}\na,1,0\nb,2,1\nc,4,1\nd,8,0\n")
        text = run("convert edges e.csv g.h5 --features n.csv" + more)
        note = ", though called as labels are (--without leaves it out)" if more else f' (--label "{named}": it is the label)'
        assert (f'; "{named}" is a feature{note}\n' in text) == bool(named), text


for test in (test_spellings, test_spellings_between_tables, test_first_column, test_copies_of_labels, test_triples,
             test_signs, test_several_labels, test_headers, test_tu, test_positions, test_thousands,
             test_other_spellings_by_hash, test_dates, test_zones, test_fillings_of_edges, test_nouns, test_sums_of_zero,
             test_matrix_with_commas, test_masks, test_missing_labels, test_lines_dropped, test_labels_beside, test_relations,
             test_ids_in_both_columns, test_rounding, test_chosen_labels, test_label_codes, test_lists_with_quotes, test_words,
             test_numbers_as_names, test_several_ids, test_blanks_in_quotes, test_documents, test_truths,
             test_comments_that_name, test_pairs_under_comment, test_lists_of_labels, test_lists_of_ends, test_numbers_of_rows):
    test()
