"""`convert tables` against graphs that numpy makes of the same tables; h5py reads the results, and writes what
`inspect` reads."""

import json
import os
import sqlite3
from datetime import datetime, timezone

from programs import PARTS, datasets_in, expect, h5py, holds, np, read, result_of, run, texts as names, write


def refused(line, *words):
    """The one line of an error of `convert tables`."""
    text = run(f"convert tables {line}", *words, status=1)
    assert text.count("\n") == 1, text
    return text


def micro(text):
    return round(datetime.fromisoformat(text).replace(tzinfo=timezone.utc).timestamp() * 1e6)


def write_shop():
    write("people.csv", "phone,name,city,age,group,joined\n"
          "1,ann,rome,30,a,2021-03-05\n2,bob,oslo,40,b,2021-03-06T12:00:00\n3,cid,rome,50,a,\n")
    write("films.csv", "id;minutes;part;genre\n10;90;train;war\n20;120;val;love\n30;75;test;war\n40;60;train;love\n")
    write("ratings.csv", "device,film_id,people_id,stars,when\n"
          "tv,10,ann,5,9007199254740993\npc,30,bob,1,2\ntv,20,cid,3,-4\ntv,10,cid,4,7\n")
    write("friends.csv", "from,to\nann,bob\nbob,cid\ncid,cid\n")


def test_types():
    """Everything of two types of nodes and two of edges, beside values written here by hand."""
    write_shop()
    text = run("convert tables shop.h5 --nodes people.csv --nodes film=films.csv --edges people:rated:film=ratings.csv --edges "
               "people:knows:people=friends.csv --id people=name --label people=group --without people=phone --time "
               "people=joined --label film=genre --split-column film=part --weight rated=stars --attributes rated=device "
               "--time rated=when --undirected knows=true --name shop")
    expect(text, "2 types of nodes", "2 types of edges", "as \"rated\"", "passed over: phone", "weights from stars",
           "times from column 6 (joined), in microseconds", "1 without one, the first in line ", "as they are")
    holds("shop.h5", {
        "@format": "adjoint.graph", "@version": 2, "@name": "shop", "nodes/people@num_nodes": 3, "nodes/film@num_nodes": 4,
        "nodes/people/name": ["ann", "bob", "cid"], "nodes/people/x_names": ["city=oslo", "city=rome", "age"],
        "nodes/people/x": [[0, 1, 30], [1, 0, 40], [0, 1, 50]], "nodes/people@task": "node_class",
        "nodes/people/class_names": ["a", "b"], "nodes/people/y": [0, 1, 0],
        "nodes/people/time": [micro("2021-03-05"), micro("2021-03-06T12:00:00"), -2**63], "nodes/film/id": [10, 20, 30, 40],
        "nodes/film/x_names": ["minutes"], "nodes/film/class_names": ["love", "war"], "nodes/film/x": [[90], [120], [75], [60]],
        "nodes/film/splits/train": [0, 3], "nodes/film/splits/val": [1], "nodes/film/splits/test": [2],
        "edges/rated@source": "people", "edges/rated@name": "rated", "edges/rated@target": "film", "edges/rated/src": [0, 1, 2, 2],
        "edges/rated/dst": [0, 2, 1, 0], "edges/rated/weight": [5, 1, 3, 4], "edges/rated/time": [9007199254740993, 2, -4, 7],
        "edges/rated/attr_names": ["device=pc", "device=tv"], "edges/rated/attr": [[0, 1], [1, 0], [0, 1], [0, 1]],
        "edges/knows/src": [0, 1, 2, 1, 2], "edges/knows/dst": [1, 2, 2, 0, 1], "edges/knows@source": "people",
        "edges/knows@target": "people"})
    run("convert tables all.h5 --nodes people.csv --nodes film=films.csv --edges people:rated:film=ratings.csv --id "
        "people=name --attributes rated=all --weight rated=stars --without people=joined --without film=part,genre")
    holds("all.h5", {"edges/rated/attr_names": ["device=pc", "device=tv", "when"]})
    report = result_of("inspect shop.h5 --json")
    assert report["problems"] == [] and [n["type"] for n in report["nodes"]] == ["film", "people"]
    assert report["nodes"][1]["classes"] == [2, 1] and report["nodes"][1]["times"]
    assert [e["type"] for e in report["edges"]] == [["people", "knows", "people"], ["people", "rated", "film"]]
    expect(run("inspect shop.h5"), "nodes people", "a: 2, b: 1", "edges people:rated:film", "no errors")


def test_description():
    """The same from YAML in another folder, whose paths are relative to it: byte for byte the same contents."""
    os.makedirs("folder", exist_ok=True)
    write("folder/shop.yaml", """
name: shop
nodes:
  people: {file: ../people.csv, id: name, label: group, without: [phone], time: joined}
  film: {file: ../films.csv, label: genre, split-column: part}
edges:
- {file: ../ratings.csv, type: [people, rated, film], weight: stars, attributes: [device], time: when}
- {file: ../friends.csv, type: knows, undirected: true}
""".replace("type: knows", "type: people:knows:people"))
    run("convert tables folder/shop.yaml again.h5")

    def contents(path):
        found = {}
        with h5py.File(path) as f:
            f.visititems(lambda name, o: found.__setitem__(name, (dict(o.attrs), o[()].tobytes()
                                                                  if isinstance(o, h5py.Dataset) else None)))
        return found
    assert contents("shop.h5") == contents("again.h5")
    for change, part in (("nodes: 1\nedges: [a.csv]", "bad.yaml:1: no keys with values, expected a type of nodes"),
                         ("edges: []", "bad.yaml:1: edges: expected a list of tables"),
                         ("nodes: {p: {fiel: p.csv}}\nedges: [e.csv]", 'bad.yaml:1: "fiel", expected file, label'),
                         ("edges: [{file: friends.csv, missing-ids: never}]", "bad.yaml:1: missing-ids never: expected error, drop, keep"),
                         ("edges: [{type: a}]", "bad.yaml:1: no file"),
                         ("edges: [{file: friends.csv, type: 'a:b'}]", "expected a name, or the types of sources"),
                         ("edges: [friends.csv]\nedges: [friends.csv]", "the key edges twice"), ("a: [", "not YAML"),
                         ("edges: [gone.csv]", "gone.csv"), ("colour: red\nedges: [friends.csv]", '"colour", expected nodes, edges')):
        write("bad.yaml", change)
        expect(refused("bad.yaml x.h5"), part)
        assert not os.path.exists("x.h5")


def test_times():
    """Whole numbers written as floats."""
    write("e.csv", "src,dst\n0,1\n1,2\n")
    write("whole.csv", "id,age,at\n0,30,36.0\n1,10,1.6e9\n2,20,-7\n")
    run("convert tables t.h5 --nodes user=whole.csv --edges e.csv --time user=at")
    holds("t.h5", {"nodes/time": [36, 1600000000, -7]})
    write("half.csv", "id,at\n0,36.5\n1,2\n")
    expect(refused("t.h5 --nodes user=half.csv --edges e.csv --time user=at"),
           '"36.5" in column 2 (at), expected a 64-bit integer', "a number with a fraction")
    write("timed.csv", "src,dst,when\n0,1,5\n1,2,6\n")
    for option in ("--time", "--split-column", "--attributes"):
        expect(refused(f"t.h5 --edges e=timed.csv {option} e=none"), 'no column "none"')


def test_columns():
    """Ids by name beside an index, also where the split is found."""
    write("ix.csv", "Unnamed: 0,age,user_id,part\n0,30,3,train\n1,10,0,val\n2,20,2,test\n3,15,1,train\n")
    write("e.csv", "src,dst\n0,1\n1,2\n2,3\n")
    for more, part, split in (("", "passed over as a split, no feature: part", {}),
                              ("--split-column part", "split by column", {"splits/train": [0, 3]})):
        expect(run(f"convert tables ix.h5 --nodes user=ix.csv --edges e.csv {more}"), "ids from column 3 (user_id)", part)
        holds("ix.h5", {"nodes/id": [3, 0, 2, 1], "nodes/x": [[30], [10], [20], [15]], **split})


def test_open_ids():
    """Beside an index, and without a name that says ids, they are the column that edges match."""
    def table(rows):
        write("open.csv", ",user,x\n" + "".join(f"{k},{user},{x}\n" for k, (user, x) in enumerate(rows)))
    words = ["--nodes", "u=open.csv", "--edges", "e.csv"]
    for ids in (["ann", "bob", "cid"], [1005, 1007, 1002], [3, 1, 2]):
        write("e.csv", f"from,to\n{ids[0]},{ids[1]}\n{ids[2]},{ids[1]}\n")
        table(zip(ids, [0.5, 1.5, 2.5]))
        expect(run("convert", "tables", "o.h5", *words), "open.csv: ids from column 2 (user), which has those of edges\n")
        with h5py.File("o.h5") as f:
            assert f["nodes/x"][:].ravel().tolist() == [0.5, 1.5, 2.5] and names(f["nodes"], "x_names") == ["x"]
            assert f["edges/src"][:].tolist() == [0, 2] and f["edges/dst"][:].tolist() == [1, 1]
            assert (names(f["nodes"], "name") if ids[0] == "ann" else f["nodes/id"][:].tolist()) == ids
    # Two types, of which each has an index; the rows of a table of edges say the types.
    table([("b", 1), ("a", 2)])
    write("film.csv", ",code,minutes\n0,f2,90.5\n1,f1,60.5\n")
    write("seen.csv", "u,film\na,f1\nb,f2\n")
    run("convert", "tables", "o.h5", *words[:2], "--nodes", "film=film.csv", "--edges", "u:saw:film=seen.csv", "--source", "u",
        "--target", "film")
    with h5py.File("o.h5") as f:
        assert names(f["nodes/film"], "name") == ["f2", "f1"] and names(f["nodes/u"], "name") == ["b", "a"]
        assert f["edges/saw/src"][:].tolist() == [1, 0] and f["edges/saw/dst"][:].tolist() == [1, 0]
    write("typed.csv", "src_type,src_id,dst_type,dst_id\nu,a,film,f1\nu,b,film,f2\n")
    run("convert", "tables", "o.h5", *words[:2], "--nodes", "film=film.csv", "--edges", "typed.csv")
    with h5py.File("o.h5") as f:
        assert f["edges/typed/src"][:].tolist() == [1, 0] and f["edges/typed/dst"][:].tolist() == [1, 0]
    # The index, if it alone has all; an error if both have, which --id settles.
    write("e.csv", "from,to\n0,1\n1,2\n")
    table([(1, 5), (2, 6), (3, 7)])
    expect(run("convert", "tables", "o.h5", *words), "; ids from column 1")
    table([(1, 5), (2, 6), (0, 7)])
    expect(refused("x.h5", *words), "open.csv:1: column 1 and column 2 (user) both have all ids of edges, expected --id")
    for column, x in (("user", [5, 6, 7]), ("1", [1, 5, 2, 6, 0, 7])):
        run("convert", "tables", "o.h5", *words, "--id", column)
        with h5py.File("o.h5") as f:
            assert f["nodes/x"][:].ravel().tolist() == x
    # A split of the file by such a table.
    table([("ann", "train"), ("bob", "val"), ("cid", "test")])
    write("e.csv", "from,to\nann,bob\ncid,bob\n")
    run("convert", "tables", "o.h5", *words, "--without", "x")
    expect(run("split", "o.h5", "--table", "open.csv", "--by-column", "x"), "ids from column 2 (user)")


def types_in(path):
    """Edges by their types of nodes and name, with the ids of their ends."""
    with h5py.File(path) as f:
        assert f.attrs["version"] == 2, path
        ids = {}
        for name, nodes in f["nodes"].items():
            ids[nodes.attrs.get("name", name)] = (
                names(nodes, "name") if "name" in nodes else nodes["id"][:].tolist() if "id" in nodes
                else list(range(nodes.attrs["num_nodes"])))
        return {(g.attrs["source"], g.attrs.get("name", name), g.attrs["target"]): [
            (ids[g.attrs["source"]][a], ids[g.attrs["target"]][b]) for a, b in zip(g["src"][:], g["dst"][:])]
            for name, g in f["edges"].items()}


def test_guesses():
    """Types of nodes by names of columns; nodes that only edges name; relations; Neo4j; refusals."""
    write("users.csv", "user_id,age\n1,20\n2.0,30\n")
    write("items.csv", "id,price\n1,5\n7,6\n")
    write("clicks.csv", "user_id,item_id\n1,7\n2,1\n1,1\n")
    text = run("convert tables c.h5 --nodes users.csv --nodes items.csv --edges clicks.csv")
    expect(text, 'edges from user_id (users) to item_id (items) as "clicks"')
    holds("c.h5", {"edges/clicks/src": [0, 1, 0], "edges/clicks/dst": [1, 0, 0], "nodes/users/id": [1, 2]})
    # Without tables, two id spaces are two types.
    run("convert tables d.h5 --edges clicks.csv")
    holds("d.h5", {"nodes": ["item", "user"], "nodes/item/id": [7, 1]})
    # Triples are relations, whose names may be anything.
    write("triples.tsv", "head\trelation\ttail\nrome\tin/the country\titaly\nann\tborn in\trome\noslo\tin/the country\tnorway\n")
    expect(run("convert tables k.h5 --edges triples.tsv"), "2 types from relation")
    assert types_in("k.h5") == {("node", "in/the country", "node"): [("rome", "italy"), ("oslo", "norway")],
                                ("node", "born in", "node"): [("ann", "rome")]}
    assert result_of("inspect k.h5 --json")["problems"] == []
    run("convert typed k.h5 one.h5 --edges", "in/the country")
    holds("one.h5", {"@version": 1, "edges/src": [0, 3]})
    expect(run("convert typed k.h5 x.h5 --edges of", status=1), "expected one of: node:born in:node")
    expect(run("train_gcn --data k.h5", status=1), "2, a file of several types", "convert typed")
    write("n1.csv", "personId:ID(Person),name\n5,ann\n6,bob\n")
    write("n2.csv", ":ID(Film),title\n5,alien\n8,brazil\n")
    write("r.csv", ":START_ID(Person),:END_ID(Film),:TYPE\n5,8,SAW\n6,5,LIKED\n5,5,SAW\n")
    run("convert tables n.h5 --nodes Person=n1.csv --nodes Film=n2.csv --edges r.csv --without Person=name --without Film=title")
    holds("n.h5", {"edges/SAW/src": [0, 0], "edges/SAW/dst": [1, 0], "edges/LIKED@target": "Film"})
    write("plain.csv", "a,b\n1,2\n")
    expect(refused("x.h5 --nodes users.csv --nodes items.csv --edges plain.csv"),
           "may be ids of any type of nodes (items, users)")
    expect(refused("x.h5 --nodes users.csv --edges u:a:u=clicks.csv --edges u:a:u=clicks.csv"), "as another table")
    write("both.csv", "user_id,item_id\n1,\n2,1\n")
    expect(refused("x.h5 --edges both.csv"), "both.csv:2", "missing-ids: drop")
    run("convert tables m.h5 --edges both.csv --missing-ids drop")
    holds("m.h5", {"edges/both/src": [0]})
    # The name of a relation of a dropped line, then of another.
    write("latin.csv", b"head,tail,relation\na,,caf\xe9\nb,a,likes\na,b,caf\xe9\n")
    expect(refused("x.h5 --edges latin.csv --missing-ids drop"), "latin.csv:4", "UTF-8")
    write("drops.csv", "head,tail,relation\na,,hates\nb,a,likes\n")
    expect(run("convert tables m.h5 --edges drops.csv --missing-ids drop"), "1 type from relation")
    write("strange.csv", "user_id,item_id\n3,1\n")
    expect(refused("x.h5 --nodes users.csv --nodes items.csv --edges strange.csv"), "2 rows for 3 nodes; no row for '3'")
    run("convert tables i.h5 --nodes users.csv --nodes items.csv --edges strange.csv --impute users=mean")
    holds("i.h5", {"nodes/users/x": [[20], [30], [25]]})
    write("twice.csv", "user_id,age\n1,20\n1,30\n")
    run("convert tables h.h5 --nodes users.csv --edges clicks.csv")  # items have no table
    holds("h.h5", {"nodes": ["item", "users"], "edges/clicks@target": "item"})
    expect(refused("x.h5 --nodes people=users.csv --edges clicks.csv"),
           "column 1 (user_id) may be ids of any type of nodes (people)")
    expect(refused("x.h5 --nodes user=twice.csv --edges clicks.csv"), "twice.csv:3: '1' in column 1")
    for words in ("--time users=user_id", "--attributes clicks=user_id", "--split-column items=id", "--label clicks=item_id",
                  "--time clicks=user_id"):
        expect(refused(f"x.h5 --nodes users.csv --nodes items.csv --edges clicks.csv {words}"),
               "has two purposes, expected one for each column")
    write("words.csv", "ann,bob\ncid,dan\n")
    expect(refused("x.h5 --edges words.csv"), "a header or a row, expected --header yes or no")
    expect(run("convert tables x.h5", status=2), "--edges: expected a table of edges")
    expect(run("convert tables x.h5 --edges clicks.csv --nodes users.csv --nodes items.csv --label age",
               status=2), "which table, expected TYPE=COLUMN with a type of users, items")


def test_kinds():
    """Kinds of nodes that headers name are never one, whatever else is said."""
    # Groups of Neo4j are those of the tables' ids.
    write("actors.csv", "personId:ID(Person),age:int\n1,30\n2,40\n")
    write("movies.csv", "movieId:ID(Movie),year:int\n1,1999\n2,2003\n")
    write("roles.csv", ":START_ID(Person),:END_ID(Movie),:TYPE\n1,1,ACTED_IN\n2,1,ACTED_IN\n")
    tables = "--nodes actors.csv --nodes movies.csv"
    expect(run(f"convert tables t.h5 {tables} --edges roles.csv"), "4 nodes and 2 directed edges")
    assert types_in("t.h5") == {("actors", "ACTED_IN", "movies"): [(1, 1), (2, 1)]}
    expect(refused("x.h5 --nodes actors.csv --edges roles.csv"),
           'roles.csv:1: column 2 (:END_ID(Movie)) has ids of the group "Movie", which no table of nodes has (Person)')
    write("directors.csv", ":ID(Person),age:int\n3,50\n")
    expect(refused(f"x.h5 {tables} --nodes directors.csv --edges roles.csv"),
           "which several tables of nodes have (actors, directors), expected the type of edges")
    write("person.csv", "id,age\n1,30\n2,40\n")
    expect(run("convert tables t.h5 --nodes person.csv --edges roles.csv"), "without a table of nodes: Movie")
    assert list(types_in("t.h5")) == [("person", "ACTED_IN", "Movie")]
    # --source and --target say which columns, not what they mean.
    write("views.csv", "user_id,movie_id,rating,ts\n1,1,5,100\n1,2,3,101\n")
    chosen = "--source user_id --target movie_id"
    for words in ("", chosen, f"{chosen} --weight rating --time ts"):
        run(f"convert tables t.h5 --edges views.csv {words}")
        assert types_in("t.h5") == {("user", "views", "movie"): [(1, 1), (1, 2)]}
    write("user.csv", "user_id,age\n1,20\n")
    expect(run(f"convert tables t.h5 --nodes user.csv --edges views.csv {chosen}"),
           "without a table of nodes: movie (the type of edges, SOURCE:NAME:TARGET, says which)")
    assert list(types_in("t.h5")) == [("user", "views", "movie")]
    # A friend may be a user, which only the type of edges says.
    write("friend.csv", "user_id,friend_id\n1,1\n")
    run("convert tables t.h5 --nodes user.csv --edges friend.csv")
    assert list(types_in("t.h5")) == [("user", "friend", "friend")]
    # Equal numbers of columns with other names may be different nodes.
    write("wrote.csv", "author,paper\n1,1\n1,2\n")
    write("paper.csv", "id,pages\n1,5\n2,6\n")
    for words in ("", "--source author --target paper", "--nodes paper.csv"):
        expect(refused(f"x.h5 --edges wrote.csv {words}"),
               "wrote.csv:1: column 1 (author) and column 2 (paper) may be ids of two kinds of nodes, expected the type of "
               "edges: author:wrote:paper, or paper:wrote:paper if they are of one kind (--edges TYPE=FILE)")
    run("convert tables t.h5 --edges author:writes:paper=wrote.csv --nodes paper.csv")
    assert types_in("t.h5") == {("author", "writes", "paper"): [(1, 1), (1, 2)]}
    write("named.csv", "author,paper\nann,p\np,p\n")
    write("paper.csv", "id,pages\nann,5\np,6\n")
    run("convert tables t.h5 --edges named.csv --header yes")  # names are nodes of one kind
    run("convert tables t.h5 --edges named.csv --header yes --nodes paper.csv")
    write("named.csv", "author,paper\np,p\nbob,p\n")
    expect(refused("x.h5 --edges named.csv --header yes --nodes paper.csv"),
           'named.csv:3: "bob" in column 1 (author) is no node of "paper", expected the type of edges: author:named:paper, or')
    write("caller.csv", "caller,callee\n1,2\n2,3\n")
    run("convert tables t.h5 --edges caller.csv --source caller --target callee")
    holds("t.h5", {"@num_nodes": 3})
    write("weights.csv", "src,dst,weight,weight\n1,2,3,4\n")
    expect(refused("x.h5 --edges weights.csv"), "may both be weights, expected weight to say which (or none)")


def test_ends_by_names():
    """Ends of a declared type are the columns called so, in any order; names that say the reverse are refused."""
    write("p.csv", "id,price\n1,100\n2,200\n3,300\n")
    write("c.csv", "id,age\n1,10\n2,20\n3,30\n")
    tables = "--nodes product=p.csv --nodes customer=c.csv --edges"

    def pairs(edges, *more):
        text = run(f"convert tables t.h5 {tables} {edges}", *more)
        with h5py.File("t.h5") as f:
            (group,) = f["edges"].values()
            return text, [(int(a) + 1, int(b) + 1) for a, b in zip(group["src"], group["dst"])]
    for first, second in (("customer_id", "product_id"), ("customer", "product"), ("customerId", "productId"), ("Customers", "buys"),
                          ("buyer", "product_id")):
        for more, fields in (("", ""), (",qty", ",7")):
            write("b.csv", f"{first},{second}{more}\n1,3{fields}\n2,1{fields}\n3,2{fields}\n")
            options = ["--weight", "b=qty"] if more else []
            text, found = pairs("product:b:customer=b.csv", *options)
            assert sorted(found) == [(1, 2), (2, 3), (3, 1)], (first, more, found)
            expect(text, f"edges from {second} (product) to {first} (customer)")
            assert sorted(pairs("customer:b:product=b.csv", *options)[1]) == [(1, 3), (2, 1), (3, 2)]
            chosen = pairs("product:b:customer=b.csv", *options, "--source", f"b={first}", "--target", "b=2")[1]
            assert sorted(chosen) == [(1, 3), (2, 1), (3, 2)]  # as the user says
    reverse = ("are by their names the ends of edges customer:b:product, expected these, or product:b:customer with source %s and target %s")
    for first, second in (("from_customer", "to_product"), (":START_ID(customer)", ":END_ID(product)")):
        write("b.csv", f"{first},{second}\n1,3\n2,1\n3,2\n")
        expect(refused(f"x.h5 {tables} product:b:customer=b.csv"), f"b.csv:1: column 1 ({first}) and column 2 ({second}) " + reverse % (second, first))
        assert sorted(pairs("customer:b:product=b.csv")[1]) == [(1, 3), (2, 1), (3, 2)]
    write("b.csv", "source,target\n1,3\n2,1\n3,2\n")
    assert sorted(pairs("product:b:customer=b.csv")[1]) == [(1, 3), (2, 1), (3, 2)]
    # All attributes are said, without what only numbers rows.
    for index in (",src,dst,amount,edge_id", "Unnamed: 0,src,dst,amount,eid", "index,src,dst,amount,id"):
        write("b.csv", index + "\n0,1,2,5.0,77\n1,2,3,7.5,78\n2,3,1,1.0,79\n")
        expect(run("convert tables a.h5 --edges b.csv --attributes all"), "; attributes from amount; passed over: ",
               "(attributes takes them as attributes; all: every one but ids of rows)")
        with h5py.File("a.h5") as f:
            assert names(f, "edges/attr_names") == ["amount"]
    write("b.csv", "src,dst,id,index\n1,2,7,9\n2,3,7,8\n3,1,8,7\n")  # which repeat or descend elsewhere
    expect(run("convert tables a.h5 --edges b.csv --attributes all"), "; attributes from id, index\n")


def test_columns_of_types():
    """Ends whose types are in columns."""
    write("typed.csv", "src_type,src_id,rel,dst_type,dst_id\nuser,1,likes,item,1\nuser,2,likes,item,3\n"
          "item,1,is in,gene/shop,1\nuser,1,likes,user,2\n")
    text = run("convert tables t.h5 --edges typed.csv")
    expect(text, "3 types of nodes", "edges from src_id (types from src_type) to dst_id (types from dst_type)", "2 types from rel")
    assert "passed over" not in text
    wanted = {("user", "likes", "item"): [("1", "1"), ("2", "3")], ("item", "is in", "gene/shop"): [("1", "1")],
              ("user", "likes", "user"): [("1", "2")]}
    assert types_in("t.h5") == wanted, types_in("t.h5")
    assert result_of("inspect t.h5 --json")["problems"] == []
    write("users.csv", "user_id,age\n1,20\n2,30\n")
    expect(run("convert tables t.h5 --edges typed.csv --nodes users.csv"), "without a table of nodes: gene/shop, item")
    assert types_in("t.h5")["users", "likes", "item"] == [(1, "1"), (2, "3")]
    expect(refused("x.h5 --edges typed.csv --nodes films=users.csv"),
           "of which no table of nodes is (films), expected the type of edges, as films:typed:films")
    expect(run("convert tables t.h5 --edges node:link:node=typed.csv"), "passed over: src_type, rel, dst_type")
    write("grouped.csv", "src_type,src_id,dst_type,dst_id\nPerson,1,Movie,2\n")
    run("convert tables t.h5 --nodes actors.csv --nodes movies.csv --edges grouped.csv")
    assert types_in("t.h5") == {("actors", "grouped", "movies"): [(1, 2)]}
    for header, chosen in (("node1,node1_type,relation,node2,node2_type", ""),
                           ("x_id,x_type,relation,y_id,y_type", "--source x_id --target y_id")):
        write("pairs.csv", header + "\n9,Drug,targets,9,Gene\nX7,Gene,binds,9,Drug\n,Gene,binds,9,Drug\n8,,binds,9,Drug\n")
        run(f"convert tables t.h5 --edges pairs.csv --missing-ids drop {chosen}")
        assert types_in("t.h5") == {("Drug", "targets", "Gene"): [("9", "9")], ("Gene", "binds", "Drug"): [("X7", "9")]}
        expect(refused(f"x.h5 --edges pairs.csv {chosen}"), "pairs.csv:4", "the id of a node")


def test_single_type():
    """One type of nodes and edges is a graph of version 1 that programs train on, and new tables go through the
    same transforms by --like."""
    rng = np.random.default_rng(0)
    n = 60
    y = rng.integers(0, 2, n)
    src, dst = rng.integers(0, n, (2, 200))
    write("p.csv", "id,age,town,kind,seen\n" + "".join(
        "p%d,%d,%s,%s,%d\n" % (i, 20 + 40 * y[i] + rng.integers(5), "ab"[y[i]], ("x", "z")[y[i]], 100 + i)
        for i in range(n)))
    write("e.csv", "source,target,n,at\n" + "".join("p%d,p%d,%d,%d\n" % (s, d, k, k) for k, (s, d) in enumerate(zip(src, dst))))
    run("convert tables g.h5 --nodes person=p.csv --edges e.csv --label kind --time person=seen --attributes n --time e=at "
        "--split 60,20,20 --seed 3")
    holds("g.h5", {"@version": 1, "@task": "node_class", "nodes/y": y, "nodes/time": 100 + np.arange(n), "edges/attr_names": ["n"]})
    found = datasets_in("g.h5")
    with h5py.File("g.h5") as f:
        place = {name: i for i, name in enumerate(names(f, "nodes/name"))}
    edges = list(zip(found["edges/src"], found["edges/dst"], found["edges/attr"].ravel(), found["edges/time"]))
    assert edges == [(place["p%d" % s], place["p%d" % d], k, k) for k, (s, d) in enumerate(zip(src, dst))]
    assert sum(len(found["splits/" + part]) for part in PARTS) == n
    for model in ("train_gat", "train_sage"):
        run(f"{model} --data g.h5 --epochs 3 --quiet --checkpoint {model}.h5")
        run(f"{model} --data g.h5 --epochs 2 --quiet --loader neighbor --fanouts 3,3")
    write("q.csv", "town,seen,id,age\nb,1,q1,61\na,2,q2,\n")
    write("f.csv", "source,target,n\nq1,q2,1\n")
    text = refused("x.h5 --nodes person=q.csv --edges f.csv --attributes n --like g.h5")
    expect(text, "no value in column 4 (age)", "without --impute")
    write("q.csv", "town,seen,id,age\nb,1,q1,61\nc,2,q2,21\n")
    expect(run("convert tables new.h5 --nodes person=q.csv --edges f.csv --attributes n --like g.h5"),
           "1 row of categories that are not known there (c)", "passed over: seen")
    holds("new.h5", {"nodes/x_names": ["age", "town=a", "town=b"], "nodes/x": [[61, 0, 1], [21, 0, 0]]})
    # Attributes go through the encoder of the first, too: of a dataset, and of a trained model.
    write("e.csv", "source,target,kind,fee\np0,p1,card,1\np1,p2,cash,\np2,p0,wire,5\n")
    write("f.csv", "fee,source,target,kind\n,q1,q2,wire\n2,q2,q1,cash\n")
    g = ("--nodes person=p.csv --edges person:pays:person=e.csv --attributes pays=kind,fee --types pays=kind=ordinal "
         "--impute pays=zero --label person=kind --without person=seen --split 60,20,20")
    run(f"convert tables g.h5 {g}")
    run("train_gat --data g.h5 --epochs 2 --quiet --edge-attributes use --checkpoint gat.h5")
    f = "new.h5 --nodes person=q.csv --edges person:pays:person=f.csv --attributes pays=all"
    for like in ("g.h5", "gat.h5"):
        expect(run(f"convert tables {f} --like {like}"), 'attributes of edges "pays"', f"as in {like}: kind, fee")
        assert sorted(datasets_in("new.h5")["edges/attr"].tolist()) == [[1, 2], [2, 0]]
    run(f"convert tables t.h5 --nodes shop=p.csv {g} --label shop=none")
    for words, text in (("--attributes pays=kind,n", 'no attribute "n", expected kind, fee'),
                        ("--edges person:owes:person=e.csv --attributes owes=kind", '0 types of edges "owes"')):
        expect(refused(f"{f} --nodes shop=p.csv --like t.h5 {words}"), text)
    run(f"convert tables {f} --nodes shop=p.csv --like t.h5")
    assert sorted(datasets_in("new.h5")["edges/pays/attr"].tolist()) == [[1, 2], [2, 0]]
    # Masks are a split, not features.
    write("k.csv", "id,age,train_mask,label,test_mask,valid_mask\na,1,True,x,false,0\nb,2,False,y,0,1\nc,3,0,x,1,0\nd,4,0,,0,0\n")
    write("j.csv", "from,to\na,b\nc,d\n")
    for words in ("edges j.csv m.h5 --features k.csv", "tables m.h5 --nodes k.csv --edges j.csv"):
        expect(run(f"convert {words}"), "split by its columns of masks: 1 nodes to train, 1 to validate, 1 to test")
        with h5py.File("m.h5") as f:
            assert names(f["nodes"], "x_names") == ["age"]
            ids = names(f["nodes"], "name")
            assert [[ids[i] for i in f["splits/" + part]] for part in PARTS] == [["a"], ["b"], ["c"]]
    write("k.csv", "id,age,train_mask,label,test_mask,val_mask\na,1,1,x,1,0\nb,2,0,y,0,1\nc,3,0,x,1,0\nd,4,0,,0,0\n")
    expect(run("convert edges j.csv x.h5 --features k.csv", status=1), "k.csv:2: a node in 2 parts")
    # Not of edges or graphs, though there are enough of these.
    passed = "passed over, as they are splits of nodes and the task is of "
    write("k.csv", "id,age,train_mask,val_mask,test_mask,part\na,1,1,0,0,train\nb,2,0,1,0,val\nc,3,0,0,1,test\nd,4,0,0,0,\n")
    write("j.csv", "from,to,kind\na,b,x\nb,c,y\nc,d,x\nd,a,y\na,c,x\n")
    for more in "", " --split 60,20,20":
        expect(text := run("convert edges j.csv m.h5 --features k.csv --edge-label kind" + more), passed + "edges: train_mask, val_mask, test_mask, part")
        assert "nodes to train" not in text and any(k.startswith("splits") for k in datasets_in("m.h5")) == bool(more), text
    write("k.csv", "id,graph,train_mask,val_mask,test_mask,part\n" + "".join(
        f"{k},{k % 4},{int(k < 2)},{int(k == 2)},{int(k == 3)},{'train,train,val,test'.split(',')[k] if k < 4 else ''}\n" for k in range(8)))
    write("j.csv", "from,to,kind,part\n0,4,x,train\n1,5,y,val\n2,6,x,test\n")
    write("l.csv", "graph,label,part\n0,x,train\n1,y,train\n2,x,val\n3,y,test\n")
    graphs = "--nodes n=k.csv --edges j.csv --graphs l.csv --graph n=graph --id n=id"
    for more, said in (("", passed + "graphs: train_mask, val_mask, test_mask, part"),
                       (" --label j=kind --split-column j=part", "j.csv: a split of edges left out, as the task is of graphs\n")):
        expect(run(f"convert tables m.h5 {graphs}{more}"), said)
        assert not any(k.startswith("splits") for k in datasets_in("m.h5"))
    expect(refused(f"m.h5 {graphs} --split-column n=part"), "k.csv: split-column part: a split of nodes, expected one of graphs, as the task is of graphs")
    expect(refused(f"m.h5 {graphs} --label graphs=none --split-column graphs=part"), "l.csv: split-column part: a split of graphs, expected one of nodes")
    # Labels of edges stay with their type.
    write("l.csv", "source,target,kind,part\np1,p2,good,train\np2,p3,bad,val\np3,p4,good,test\np4,p5,,\n")
    words = "--edges person:trusts:person=l.csv --label trusts=kind --split-column trusts=part"
    write("o.csv", "source,target\np1,p5\n")
    run(f"convert tables l.h5 {words} --edges person:knows:person=o.csv")
    holds("l.h5", {"edges/trusts@task": "edge_class", "edges/trusts/class_names": ["bad", "good"], "edges/trusts/y": [1, 0, 1, -1],
                   "edges/trusts/splits/train": [0], "edges/trusts/splits/val": [1], "edges/trusts/splits/test": [2]})
    assert result_of("inspect l.h5 --json")["problems"] == []
    # Alone, they are a graph with labels of edges: what `convert edges` makes of the same table.
    run(f"convert tables one.h5 {words}")
    run("convert typed l.h5 two.h5 --edges trusts")
    run("convert edges l.csv other.h5 --edge-label kind")
    for path in ("one.h5", "two.h5", "other.h5"):
        holds(path, {"@version": 1, "@task": "edge_class", "edges/class_names": ["bad", "good"]})
        with h5py.File(path) as f:
            ids = names(f["nodes"], "name")
            labels = {(ids[a], ids[b]): c for a, b, c in zip(f["edges/src"][:], f["edges/dst"][:], f["edges/y"][:])}
            assert labels == {("p1", "p2"): 1, ("p2", "p3"): 0, ("p3", "p4"): 1, ("p4", "p5"): -1}, labels
            if path != "other.h5":
                ends = [(ids[f["edges/src"][i]], ids[f["edges/dst"][i]]) for part in PARTS for i in f["splits/" + part][:]]
                assert ends == [("p1", "p2"), ("p2", "p3"), ("p3", "p4")], ends
        assert result_of(f"inspect {path} --json")["problems"] == []
    # A graph has labels of nodes or of edges: what is left out is said.
    write("m.csv", "id,group,part\np1,a,train\np2,b,val\np3,a,test\np4,b,\np5,a,\n")
    expect(run(f"convert tables both.h5 --nodes person=m.csv --label person=group --split-column person=part {words}"), "1 type of nodes")
    left = "labels and a split of %s left out, as %s"
    expect(run("convert typed both.h5 n.h5 --edges trusts"), "\n" + left % ("edges person:trusts:person", 'nodes "person" have labels (--labels edges '
           "takes them instead)\n"))
    holds("n.h5", {"@task": "node_class", "nodes/class_names": ["a", "b"], "splits/train": [0]})
    expect(run("convert typed both.h5 e.h5 --edges trusts --labels edges"), "\n" + left % ('nodes "person"', "those of edges person:trusts:person are "
           "taken (--labels nodes takes them instead)\n"))
    holds("e.h5", {"@task": "edge_class", "edges/class_names": ["bad", "good"], "splits/train": [0]})
    with h5py.File("e.h5") as f:
        assert "nodes/y" not in f and "class_names" not in f["nodes"]
    assert result_of("inspect e.h5 --json")["problems"] == []
    assert "left out" not in run("convert typed l.h5 two.h5 --edges trusts") + run("convert typed l.h5 two.h5 --edges trusts --labels edges")
    expect(run("convert typed l.h5 x.h5 --edges knows --labels edges", status=1), "--labels edges: edges person:knows:person have no labels")
    # How tables are written, and what is no choice.
    write("s.csv", "from|to|w\na|b|1,5\n")
    run("convert tables s.h5 --edges s.csv --separator | --decimal comma --weight w")
    holds("s.h5", {"edges/weight": [1.5]})
    expect(run("convert tables x.h5 --edges s.csv --header maybe", status=2), "--header maybe: expected auto, yes, no or comment")
    expect(run("convert tables folder/shop.yaml x.h5 --header yes", status=2),
           "expected in folder/shop.yaml, which describes the tables")
    base = sqlite3.connect("shop.db")
    base.executescript("CREATE TABLE users (user_id INTEGER, age REAL); INSERT INTO users VALUES (1, 20), (2, 30);"
                       "CREATE TABLE likes (user_id INTEGER, item_id INTEGER); INSERT INTO likes VALUES (2, 5);")
    base.close()
    run("convert tables q.h5 --nodes shop.db:users --edges shop.db:likes")
    holds("q.h5", {"nodes": ["item", "users"], "edges": ["likes"]})


def test_splits_of_edges():
    """Rows that list an edge both ways are in one part, for each type of edges by itself."""
    ends = [(a, (a + step) % 40) for step in (1, 7) for a in range(40)]
    write("both.csv", "source,target,kind,sign\n" + "".join(
        f"{s},{d},{kind},{'plus' if (a + b) % 3 else 'minus'}\n" for kind in ("near", "far")
        for a, b in ends for s, d in ((a, b), (b, a))))
    text = run("convert tables both.h5 --edges both.csv --relation kind --label sign --split 50,25,25 --seed 2")
    expect(text, 'split by seed 2: 80 edges to train, 40 to validate, 40 to test of "near"', 'of "far"')
    with h5py.File("both.h5") as f:
        for kind in ("near", "far"):
            edges = f["edges/" + kind]
            pairs = [tuple(sorted(pair)) for pair in zip(edges["src"][:].tolist(), edges["dst"][:].tolist())]
            parts = [[pairs[k] for k in edges["splits/" + part][:]] for part in PARTS]
            assert sum(map(len, parts)) == 160 and [len(set(part)) for part in parts] == [40, 20, 20]
            assert not set(parts[0]) & set(parts[1]) | set(parts[0]) & set(parts[2]) | set(parts[1]) & set(parts[2])
    # Where the table has only some both ways, the added reverses make all pairs.
    write("some.csv", "source,target,sign\n" + "".join(
        f"{s},{d},{'plus' if a % 3 else 'minus'}\n" for a, b in ends for s, d in ((a, b), (b, a))[:1 + a % 2]))
    run("convert tables some.h5 --edges some.csv --label sign --undirected true --split 50,25,25")
    found = datasets_in("some.h5")
    pairs = [frozenset(pair) for pair in zip(found["edges/src"].tolist(), found["edges/dst"].tolist())]
    parts = [{pairs[k] for k in found["splits/" + part]} for part in PARTS]
    assert [len(part) for part in parts] == [40, 20, 20] and len(set.union(*parts)) == 80


def test_order_of_edges():
    """Edges stay in the order of their table, which equal ones need to be told apart: in the file, in predictions, and
    after the nodes were reordered. So do files that were sorted by target, as earlier ones are."""
    rows = [("d", "a", 500, "fraud"), ("a", "d", 10, "ok"), ("c", "b", 20, "ok"), ("d", "a", 7, "ok"), ("b", "c", 480, "fraud"),
            ("a", "b", 15, "ok"), ("c", "d", 520, "fraud"), ("b", "a", 9, "ok"), ("a", "c", 11, "ok"), ("d", "b", 490, "fraud")]
    write("pay.csv", "src,dst,amount,label\n" + "".join("%s,%s,%d,%s\n" % row for row in rows))
    write("acct.csv", "acct,bal\na,1\nb,2\nc,3\nd,4\n")
    run("convert tables t.h5 --nodes acc=acct.csv --edges pay=pay.csv --label pay=label --attributes amount --split 60,20,20 --seed 2")
    run("convert edges pay.csv e.h5 --features acct.csv --edge-label label --split 60,20,20 --seed 2")
    run("convert tables o.h5 --nodes o=acct.csv --edges acc:pay:acc=pay.csv --label pay=label --attributes pay=amount "
        "--nodes acc=acct.csv --label acc=none --label o=none")
    run("convert typed o.h5 typed.h5 --edges pay")
    run("convert typed t.h5 again.h5 --edges edge")
    run("reorder random t.h5 moved.h5")
    run("reorder original moved.h5 back.h5")

    def listed(path):
        with h5py.File(path) as f:
            ids = names(f["nodes"], "name")
            return [(ids[a], ids[b], n, f["edges/class_names"][:].tobytes()[5 * c:5 * c + 5 - 3 * c].decode()) for a, b, n, c in zip(
                f["edges/src"][:], f["edges/dst"][:], f["edges/attr"][:].ravel(), f["edges/y"][:])]

    def parts(path):
        with h5py.File(path) as f:
            return [f["splits/" + part][:].tolist() for part in PARTS]

    for path in ("t.h5", "typed.h5", "again.h5", "moved.h5", "back.h5"):
        assert listed(path) == rows, (path, listed(path))
    for path in ("again.h5", "moved.h5", "back.h5"):
        assert parts(path) == parts("t.h5")
    run("train_edge t.h5 --metric accuracy --epochs 3 --checkpoint t.ck --quiet")
    run("train_edge e.h5 --metric accuracy --epochs 3 --checkpoint e.ck --quiet")
    scores = {}
    for path, model in (("t.h5", "t.ck"), ("moved.h5", "t.ck"), ("e.h5", "e.ck")):
        run(f"predict {path} --checkpoint {model} --out p.csv")
        lines = [line.split(",") for line in open("p.csv").read().splitlines()[1:]]
        assert [tuple(line[:2]) for line in lines] == [row[:2] for row in rows], (path, lines)
        scores[path] = np.array([line[-1] for line in lines], float)
    assert abs(scores["t.h5"] - scores["moved.h5"]).max() < 1e-5 and scores["t.h5"][0] != scores["t.h5"][3]
    # An earlier file: the same contents, so that a training resumes.
    with h5py.File("t.h5") as f, h5py.File("old.h5", "w") as g:
        order = np.lexsort((f["edges/src"][:], f["edges/dst"][:]))
        g.attrs.update(f.attrs)
        for name in ("nodes", "splits"):
            f.copy(name, g)
        for name in f["edges"]:
            g["edges/" + name] = f["edges/" + name][:][order] if len(f["edges/" + name]) == len(rows) and name != "class_names" else f["edges/" + name][:]
        for part in PARTS:
            del g["splits/" + part]
            g["splits/" + part] = np.argsort(order)[f["splits/" + part][:]]
    run("train_edge old.h5 --metric accuracy --epochs 5 --resume t.ck --quiet")


def test_repeats():
    """Edges that repeat are said by type, and what reverses do not get."""
    write("rep.csv", "from,to,kind\n1,2,a\n2,1,a\n2,3,b\n3,3,b\n2,3,a\n")
    text = run("convert tables rep.h5 --edges rep.csv --undirected true --label kind")
    expect(text, "rep.csv: 4 of 9 edges node:rep:node repeat another; where the table has both directions, undirected "
           "adds them again", "rep.csv: the added reverses of edges node:rep:node have no label")
    text = run("convert tables rep.h5 --edges rep.csv --relation kind")
    assert "repeat another" not in text, text


def test_repeated_options():
    """A list in several parts is all of them; of other options a table has one value."""
    write("people.csv", "id,a,b,c,kind\n" + "".join(f"p{k},{k % 3},{k % 5},{k % 7},{('x', 'y', 'new', 'lost')[k % 4]}\n" for k in range(20)))
    write("calls.csv", "src,dst,size,cost\n" + "".join(f"p{k},p{(k * 7 + 1) % 20},{k},{k % 4}\n" for k in range(20)))
    line = "convert tables {} --nodes person=people.csv --edges calls=calls.csv --name g "
    for parts, whole in (("--without person=a --without person=b", "--without person=a,b"), ("--without a --without person=b", "--without a,b"),
                         ("--columns person=c --columns a", "--columns person=c,a"), ("--types person=a=category --types b=hash:4", "--types a=category,b=hash:4"),
                         ("--attributes calls=size --attributes cost", "--attributes calls=size,cost"),
                         ("--label kind --missing-labels person=new --missing-labels person=lost", "--label kind --missing-labels person=new,lost")):
        run(line.format("parts.h5") + parts)
        run(line.format("whole.h5") + whole)
        parts_in, whole_in = datasets_in("parts.h5"), datasets_in("whole.h5")
        assert parts_in.keys() == whole_in.keys() and all(np.array_equal(parts_in[k], whole_in[k]) for k in whole_in), parts
    for more, second in (("--label person=kind --label person=a", "--label person=a: a second value for its table"),
                         ("--label kind --label person=kind", "--label person=kind: a second value for its table"),
                         ("--undirected true --undirected calls=false", "--undirected calls=false: a second value for its table"),
                         ("--header person=yes --header person=no", "--header person=no: a second value for its table"),
                         ("--separator , --separator ;", "--separator ;: a second value for all tables")):
        expect(run(line.format("x.h5") + more, status=2), f"convert: {second}, expected one (")
    run(line.format("x.h5") + "--label person=kind --label calls=cost --separator ; --separator person=, --separator calls=,")


def test_coalesce():
    """Equal edges of a type become one with the sum of their weights, as `convert edges --coalesce` makes them."""
    def edges(path, name=""):
        with h5py.File(path) as f:
            part = f["edges" + name]
            return sorted(zip(part["src"][:].tolist(), part["dst"][:].tolist(),
                              part["weight"][:].tolist() if "weight" in part else [1] * len(part["src"])))

    write("same.csv", "from,to,weight\n1,2,1\n2,1,2\n1,2,4\n3,3,8\n3,3,16\n")
    text = run("convert", "tables", "c.h5", "--edges", "same.csv", "--coalesce", "true")
    expect(text, "same.csv: 2 of 5 edges node:same:node merged with equal ones, adding their weights\n")
    assert edges("c.h5") == [(0, 1, 5), (1, 0, 2), (2, 2, 24)], edges("c.h5")
    expect(run("convert edges same.csv e.h5 --coalesce"), "same.csv: 2 of 5 edges merged with equal ones, adding their weights\n")
    expect(run("convert tables z.h5 --edges", write("zero.csv", "from,to,weight\n1,2,0\n2,3,1\n")), "; 1 of 2 weights are 0")
    for more in ([], ["--undirected"], ["--weight", "none"]):
        run("convert", "edges", "same.csv", "e.h5", "--coalesce", *more)
        run("convert", "tables", "t.h5", "--edges", "same.csv", "--coalesce", "true",
            *(more + ["true"] if more == ["--undirected"] else more))
        assert edges("t.h5") == edges("e.h5"), (more, edges("t.h5"), edges("e.h5"))
    write("bought.csv", "user_id,item_id,what,weight\n1,7,buys,1\n1,7,views,2\n1,7,views,4\n2,7,buys,8\n")
    words = ["--edges", "bought.csv", "--source", "user_id", "--target", "item_id", "--relation", "what", "--undirected", "true"]
    text = run("convert", "tables", "c2.h5", *words, "--coalesce", "bought=true")
    expect(text, "0 of 2 edges user:buys:item merged", "1 of 2 edges user:views:item merged with equal ones, adding")
    assert edges("c2.h5", "/views") == [(0, 0, 6)] and edges("c2.h5", "/rev_views") == [(0, 0, 6)]
    assert edges("c2.h5", "/buys") == [(0, 0, 1), (1, 0, 8)]
    expect(run("convert", "tables", "c2.h5", *words), "1 of 2 edges user:views:item repeat another (coalesce merges them)")
    write("c.yaml", "edges: [{file: same.csv, coalesce: true, undirected: true}]")
    run("convert", "tables", "c.yaml", "y.h5")
    run("convert", "edges", "same.csv", "e.h5", "--coalesce", "--undirected")
    assert edges("y.h5") == edges("e.h5")
    for option, name in (("--label", "label"), ("--attributes", "attributes"), ("--split-column", "split-column"),
                         ("--time", "time")):
        expect(refused("x.h5", *words[:6], option, "what", "--coalesce", "true"),
               f"bought.csv:1: coalesce: conflicts with {name}, as equal edges may have different ones")
    write("huge.csv", "from,to,weight\n1,2,3e38\n1,2,3e38\n")
    expect(refused("x.h5", "--edges", "huge.csv", "--coalesce", "true"), "huge.csv: weights of equal edges node:huge:node add")


def test_lists_of_neighbors():
    """A node and its neighbours in each line are no edges."""
    for header in ("source,target", "page,links"):
        for rows, shown in (("ada,bob cid\nbob,ada\ncid,ada bob\n", "bob cid"), ('ada,"bob,cid"\nbob,ada\ncid,ada\n', "bob,cid"),
                            ("ada,bob;cid\nbob,ada\ncid,ada\n", "bob;cid")):
            write("lists.csv", header + "\n" + rows)
            yes = ["--header", "yes"] if header == "page,links" else []
            expect(refused("x.h5", "--edges", "lists.csv", *yes), f'lists.csv:1: "{shown}" in column 2 ({header.split(",")[1]}), '
                   "which may be a list of ids, expected one (convert edges --layout neighbors")
            run("convert", "tables", "l.h5", "--edges", "lists.csv", "--source", "1", "--target", "2", *yes)
    write("lists.csv", "source,target\nann,new york\nnew york,oslo\n")
    run("convert", "tables", "l.h5", "--edges", "lists.csv")


def test_texts_of_each_table():
    """Tables that are written in different ways; ids that look like missing ones."""
    write("u.user", "1|24|M\n2|53|F\n")
    write("u.item", "1|Café|1,5\n2|Alien|2,5\n".encode("latin1"))
    write("u.data", "1\t2\t3\n2\t1\t5\n")
    write("movies.yaml", """
header: false
nodes:
  user: {file: u.user, separator: "|", types: {3: category}}
  film: {file: u.item, separator: "|", encoding: latin1, decimal: comma, types: {2: category}}
edges:
- {file: u.data, type: [user, rates, film], source: 1, target: 2, weight: 3}
""")
    run("convert tables movies.yaml movies.h5")
    holds("movies.h5", {"nodes/user/x": [[24, 0, 1], [53, 1, 0]], "nodes/film/x": [[0, 1, 1.5], [1, 0, 2.5]],
                        "edges/rates/dst": [1, 0], "edges/rates/weight": [3, 5]})
    # The same options on the command line, for a table or for all.
    words = ["--nodes", "user=u.user", "--nodes", "film=u.item", "--edges", "user:rates:film=u.data", "--source", "1", "--target",
             "2", "--weight", "3", "--header", "no", "--types", "user=3=category", "--types", "film=2=category"]
    run("convert", "tables", "words.h5", *words, "--separator", "|", "--separator", "rates=\\t", "--encoding", "film=latin1",
        "--decimal", "film=comma")
    with h5py.File("movies.h5") as f, h5py.File("words.h5") as g:
        for place in ("nodes/user/x", "nodes/film/x", "edges/rates/src", "edges/rates/dst", "edges/rates/weight"):
            assert f[place][:].tolist() == g[place][:].tolist(), place
    write("heads.csv", "who=mass\nann=1,5\n")
    write("links.csv", "ann\tbob\n")
    words = ["--nodes", "p=heads.csv", "--edges", "l=links.csv"]
    run("convert", "tables", "words.h5", *words, "--separator", "p==", "--header", "l=no", "--decimal", "comma", "--impute", "mean")
    with h5py.File("words.h5") as f:
        assert f["nodes/x"][:].tolist() == [[1.5], [1.5]] and names(f["nodes"], "name") == ["ann", "bob"]
    for options, part in [(("--separator", "q=;"), '--separator q=;: no table "q", expected TEXT for all tables, or TYPE=TEXT with a '
                           "type of p, l"), (("--decimal", "p=dot"), "--decimal dot: expected point"),
                          (("--decimal", "p=dot"), "expected point, comma"),
                          (("--encoding", "klingon"), 'iconv knows no "klingon"'), (("--header", "l=x"), "--header x: expected auto"),
                          (("--separator", ""), "--separator: expected 1 to 15 bytes")]:
        expect(run("convert", "tables", "x.h5", *words, *options, status=2), part)
    expect(refused("x.h5", *words, "--separator", "p=,", "--decimal", "p=comma"), "heads.csv: separator: a comma, expected another")
    for entry, part in [("separator: ''", "separator: expected 1 to 15 bytes"), ("header: perhaps", "header perhaps: expected true"),
                        ("encoding: klingon", 'encoding: iconv knows no "klingon"'), ("decimal: dot", "decimal dot: expected point"),
                        ("separator: ',', decimal: comma", "u.data: separator: a comma, expected another one")]:
        write("bad.yaml", "edges: [{file: u.data, type: a, %s}]" % entry)
        expect(refused("bad.yaml x.h5"), part)
    write("places.csv", "id,x\nNA,1\nDE,2\n")
    write("roads.csv", "from,to\nNA,DE\n")
    words = "--nodes place=places.csv --edges roads.csv"
    expect(refused(f"x.h5 {words}"), 'places.csv:2: "NA" in column 1 (id), expected the id of a node')
    run(f"convert tables na.h5 {words} --missing-ids keep")
    holds("na.h5", {"nodes/name": ["NA", "DE"], "nodes/x": [[1], [2]]})


def test_many_graphs():
    """Graphs by a column of graphs: node numbers begin anew in each, rows in any order; and labels by graph."""
    write("n.csv", "graph_id,node_id,mass,born\ng2,0,5,50\ng1,0,1,10\ng2,1,6,60\ng1,1,2,20\ng1,2,3,30\n")
    write("m.csv", "graph_id,src,dst,bond\ng1,0,2,single\ng2,1,0,double\ng1,1,0,single\n")
    write("labels.csv", "graph_id,label\ng1,toxic\ng2,fine\n")
    text = run("convert tables g.h5 --nodes atom=n.csv --edges m.csv --graph graph_id --graphs labels.csv --attributes bond "
               "--time atom=born")
    expect(text, "2 graphs", "numbered as in labels.csv")
    assert "passed over" not in text, text
    holds("g.h5", {"@task": "graph_class", "graphs/offsets": [0, 3, 5], "nodes/x": [[1], [2], [3], [5], [6]], "nodes/x_names": ["mass"],
                   "graphs/y": [1, 0], "graphs/class_names": ["fine", "toxic"], "graphs/name": ["g1", "g2"],
                   "nodes/time": [10, 20, 30, 50, 60], "edges/attr_names": ["bond=double", "bond=single"]})
    found = datasets_in("g.h5")
    edges = sorted(zip(found["edges/src"], found["edges/dst"], found["edges/attr"][:, 0]))
    assert edges == [(0, 2, 0), (1, 0, 0), (4, 3, 1)] and "nodes/order" not in found, edges
    write("more.csv", read("labels.csv") + "g3,fine\n")
    expect(run("convert tables e.h5 --nodes atom=n.csv --edges m.csv --graph graph_id --graphs more.csv"), "1 of 3 graphs without any node: g3")
    write("two.csv", "graph_id,src,dst\ng1,0,0\ng1,7,0\n")
    expect(refused("x.h5 --nodes atom=n.csv --edges two.csv --graph graph_id"), 'nodes without a row, first "g1/7"')
    write("labels.csv", "graph_id,label\ng1,toxic\n")
    expect(refused("x.h5 --nodes atom=n.csv --edges m.csv --graph graph_id --graphs labels.csv"),
           "2 graphs, of which 1 have no row in labels.csv, first \"g2\"")
    # Its ids are in the column that is called as the graphs of nodes, whatever is beside it.
    write("an.csv", "mol,node_id,mass\n" + "".join(f"{g},{k},{g}\n" for g in range(4) for k in range(2)))
    write("bn.csv", "mol,src,dst\n" + "".join(f"{g},0,1\n" for g in range(4)))
    order = [2, 0, 3, 1]
    for header in "mol,label", ",mol,label", "id,mol,label", "mol,label,id", "rank,mol,label":
        column = header.split(",").index("mol") + 1
        write("labels.csv", [header.split(",")] + [[g if name == "mol" else f"m{g}" if name == "label" else k for name in header.split(",")]
                                                   for k, g in enumerate(order)])
        for graph in "--graph mol", "--graph 1":
            expect(run(f"convert tables i.h5 --nodes atom=an.csv --edges bn.csv {graph} --graphs labels.csv --label graphs=label"),
                   f"labels.csv: ids from column {column} (mol), called as the graphs of nodes\n")
            found = datasets_in("i.h5")
            assert found["nodes/x"].ravel().tolist() == [2, 2, 0, 0, 3, 3, 1, 1] and found["graphs/y"].tolist() == order, header
    for choice in "--id graphs=id", "--without graphs=mol":
        write("labels.csv", "id,mol,label\n0,3,a\n1,2,b\n2,1,c\n3,0,d\n")
        assert "called as" not in run(f"convert tables i.h5 --nodes atom=an.csv --edges bn.csv --graph mol --graphs labels.csv "
                                      f"--label graphs=label {choice}")
        holds("i.h5", {"graphs/y": [0, 1, 2, 3]})
    # What graphs have besides labels and splits is passed over, whatever it is.
    write("labels.csv", "graph_id,smiles,score,weight\ng1,CCO,0.5,7\ng2,CC,1.5,x\n")
    graphs = "--nodes atom=n.csv --edges m.csv --graph graph_id --graphs labels.csv"
    expect(run(f"convert tables r.h5 {graphs} --label graphs=score --task graphs=graph_regression"),
           "labels.csv: passed over: smiles, weight, as graphs have no features\n")
    holds("r.h5", {"@task": "graph_regression", "graphs/y": [[0.5], [1.5]]})
    run(f"convert tables r.h5 {graphs} --label graphs=score --task graph_regression")
    expect(run(f"convert tables r.h5 {graphs}"), "(label graphs=COLUMN: it is the label)")
    expect(refused(f"x.h5 {graphs} --task graph_regression"), "no column of labels", "--label graphs=COLUMN")
    expect(refused(f"x.h5 {graphs} --split 60,20,20"), "no labels in any table")
    expect(run(f"convert tables x.h5 {graphs} --task graphs=graph_multilabel", status=1),
           "--task graph_multilabel: expected graph_class, graph_regression")
    # What graphs cannot have is refused, not passed over; a split by their times is possible.
    for option, value, part in [
            ("--time", "score", "labels.csv: time score: files keep no times of graphs, expected none (split OUT.h5 --table "
             "labels.csv --by-time score divides the graphs by it)"),
            ("--columns", "score", "labels.csv: columns: graphs have no features, expected none"),
            ("--types", "score=category", "labels.csv: types: graphs have no features"),
            ("--impute", "mean", "labels.csv: impute: graphs have no features"),
            ("--graph", "graph_id", "labels.csv: graph: each row is a graph, expected id (--id graphs=COLUMN)")]:
        expect(refused(f"x.h5 {graphs}", option, "graphs=" + value), part)
    rows = range(10)
    write("n.csv", "graph_id,node_id,mass\n" + "".join(f"g{g},0,{g}\n" for g in rows))
    write("m.csv", "graph_id,src,dst\n" + "".join(f"g{g},0,0\n" for g in rows))
    write("labels.csv", "graph_id,label,made\n" + "".join(f"g{g},{'ab'[g % 2]},2021-01-{20 - g}\n" for g in rows))
    run(f"convert tables times.h5 {graphs}")
    run("split", "times.h5", "--table", "labels.csv", "--by-time", "made")
    with h5py.File("times.h5") as f:
        assert f["splits/test"][:].tolist() == [0, 1] and f["splits/val"][:].tolist() == [2, 3]
    # Ids that are unique over all graphs: edges need no column.
    write("n.csv", "id,g,mass\na,1,1\nb,1,2\nc,2,3\n")
    write("m.csv", "from,to\na,b\nc,c\n")
    expect(refused("x.h5 --nodes atom=n.csv --edges m.csv --graph g"),
           'm.csv:1: no column "g", expected one with the graphs of edges', "(--graph atom=g)")
    run("convert tables u.h5 --nodes atom=n.csv --edges m.csv --graph atom=g")
    holds("u.h5", {"graphs/offsets": [0, 2, 3], "@task": "none", "graphs/name": ["1", "2"]})
    # Rows of other graphs between: integers 0 … N - 1 are kept as ids, as rows are others.
    write("r.csv", "id,g,mass\n0,7,1\n1,8,2\n2,7,3\n")
    write("s.csv", "from,to\n0,2\n1,1\n")
    run("convert tables i.h5 --nodes atom=r.csv --edges s.csv --graph atom=g")
    holds("i.h5", {"graphs/offsets": [0, 2, 3], "nodes/id": [0, 2, 1], "nodes/x": [[1], [3], [2]]})
    write("m.csv", "from,to\na,c\n")
    expect(refused("x.h5 --nodes atom=n.csv --edges m.csv --graph atom=g"), "expected edges within graphs")
    # Slashes in ids: c of a/b, b/c of a.
    write("n.csv", "graph_id,id,mass\na/b,c,1\na,b/c,2\na\\,b,3\n")
    write("m.csv", "graph_id,src,dst\na,b/c,b/c\n")
    run("convert tables s.h5 --nodes atom=n.csv --edges m.csv --graph graph_id")
    holds("s.h5", {"graphs/name": ["a/b", "a", "a\\"], "edges/src": [1]})


def test_h5py_files():
    """A file of version 2 as users write it, without names of groups as attributes, and damaged ones."""
    def make(change=lambda f: None, status=0):
        with h5py.File("v2.h5", "w") as f:
            f.attrs.update({"format": "adjoint.graph", "version": 2})
            f["nodes/user/x"] = np.ones((3, 2), np.float64)
            f["nodes/user"].attrs["num_nodes"] = 3
            f["nodes/item/y"] = np.array([0, 1], np.int8)
            f["nodes/item"].attrs.update({"num_nodes": 2, "task": "node_class", "num_classes": 2})
            f["edges/buys/src"], f["edges/buys/dst"] = np.array([2, 0], np.uint8), np.array([1, 1])
            f["edges/buys"].attrs.update({"source": "user", "target": "item"})
            f["edges/buys/attr"] = np.zeros((2, 1), np.float16)
            change(f)
        return run("inspect v2.h5 --json", status=status)
    report = json.loads(make())
    assert report["problems"] == [], report
    assert report["edges"][0]["type"] == ["user", "buys", "item"] and report["edges"][0]["features"] == 1

    def put(path, value):
        def change(f):
            if path in f:
                del f[path]
            f[path] = value
        return change
    for change, part in [
            (put("edges/buys/dst", np.array([1, 2])), "edges/buys/dst: 2 at position 1, expected 0 to 1"),
            (put("edges/buys/dst", np.array([1])), "edges/buys/dst: 1 edges, but src has 2"),
            (put("edges/buys/attr", np.full((2, 1), np.nan)), "edges/buys/attr: nan"),
            (put("edges/buys/attr", np.zeros((3, 1))), "edges/buys/attr: shape [3, 1]"),
            (put("nodes/user/x", np.ones((4, 2))), "nodes/user/x: shape [4, 2], expected 3 rows"),
            (put("nodes/item/y", np.array([0, 2])), "nodes/item/y: 2 at position 1, expected -1 to 1"),
            (put("nodes/user/time", np.zeros(3)), "nodes/user/time: float64 [3], expected integers"),
            (lambda f: f["edges/buys"].attrs.update({"source": "nobody"}),
             'attribute edges/buys@source: \\"nobody\\", expected one of the types of nodes: item, user'),
            (lambda f: f["edges/buys"].attrs.pop("target"), "attribute edges/buys@target: missing"),
            (lambda f: f["nodes/user"].attrs.pop("num_nodes"), "attribute nodes/user@num_nodes: missing"),
            (lambda f: f["nodes/user"].attrs.update({"num_nodes": 0}), "attribute nodes/user@num_nodes: 0"),
            (lambda f: f["nodes/item"].attrs.update({"task": "graph_class"}),
             'attribute nodes/item@task: \\"graph_class\\", expected node_class'),
            (lambda f: f["nodes/item"].attrs.update({"name": "user"}), "another type of nodes"),
            (put("nodes/item/splits/train", np.array([5])), "nodes/item/splits/train: 5 at position 0"),
            (lambda f: f.pop("edges/buys/src"), "edges/buys/src: missing")]:
        expect(make(change, status=1), part)


for test in (test_types, test_description, test_times, test_columns, test_open_ids, test_guesses, test_kinds,
             test_ends_by_names, test_columns_of_types, test_single_type, test_splits_of_edges, test_order_of_edges,
             test_repeats, test_repeated_options, test_coalesce, test_lists_of_neighbors, test_texts_of_each_table, test_many_graphs,
             test_h5py_files):
    test()
