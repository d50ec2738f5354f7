"""What importers decide about ids, labels and columns of small tables: the graphs, and the notes that say so."""

from programs import expect, h5py, packed, read, refused, run, texts, write


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


for test in (test_spellings, test_spellings_between_tables):
    test()
