"""Every row of docs/formats.md with a command: the numbers of the graph, or a part of the error's one line."""

import gzip
import os
import re
import subprocess
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BIN = os.environ["ADJOINT_BIN_DIR"]
SNAP = "# Directed graph\n# FromNodeId\tToNodeId\n30\t1412\n30\t3352\n1412\t5\n5\t30\n"
FILES = {
    "snap.txt": SNAP,
    "snap.bin": gzip.compress(SNAP.encode()),
    "named.csv": "n,target,source\n1,ann,bob\n2,bob,cid\n",
    "unnamed.csv": "a,b,c\nx,y,z\nz,y,x\n",
    "out.konect": "% sym unweighted\n1 2\n2 3\n",
    "out.bip": "% bip unweighted\n1 2\n2 3\n",
    "gephi.csv": "Source;Target;Type;Id;Weight\na;b;Undirected;0;1.5\nb;c;Undirected;1;2\n",
    "mixed.csv": "Source,Target,Type\n1,2,Undirected\n2,3,Directed\n",
    "sep.csv": "sep=;\nsrc;dst\n1;2\n2;3\n",
    "people.txt": "alice,bob\ncarol,dave\ndave,erin\nerin,carol\n",
    "dict.txt": "0: [1, 2]\n1: [0]\n2: [0]\n",
    "indexed.csv": ",src,dst\n0,a,b\n1,b,c\n",
    "weighted.csv": "from,to,weight\na,b,1.5\nb,c,2\n",
    "ratings.dat": "1::10::5\n1::20::3\n",
    "comma.csv": "from;to;w\na;b;1,5\nb;c;2,25\n",
    "utf16.csv": "from,to\r\nann,bob\r\nbob,zoë\r\n".encode("utf-16"),
    "latin1.csv": "from,to\nann,zoë\n".encode("latin1"),
    "gaps.csv": "from,to\nann,bob\nnan,bob\nann,\\N\n",
    "m.mtx": "%%MatrixMarket matrix coordinate real general\n3 3 2\n1 2 0.5\n2 3 1\n",
    "square.csv": "0,1,0\n1,0,1\n0,1,0\n",
    "g.graphml": "<?xml version='1.0'?>\n<graphml></graphml>\n",
    "g.gml": "graph [\n  node [ id 0 ]\n]\n",
    "g.gexf": "<?xml version='1.0'?>\n<gexf version='1.3'></gexf>\n",
    "g.dot": "digraph G {\n  a -> b;\n}\n",
    "g.net": "*Vertices 2\n1 \"a\"\n2 \"b\"\n*Edges\n1 2\n",
    "g.gdf": "nodedef>name VARCHAR,label VARCHAR\na,Ann\nb,Bob\nc,Cid\nedgedef>node1 VARCHAR,node2 VARCHAR,weight DOUBLE\na,b,1\nb,c,2\n",
    "g.json": "{\"nodes\": [], \"links\": []}\n",
    "biogrid.txt": "#Interaction ID\tInteractor A\tInteractor B\tScore\tName A\n117\t5\t6\t-\tx\n118\t6\t7\t-\ty\n",
    "string.txt": "protein1 protein2 combined_score\n9606.A 9606.B 155\n9606.B 9606.C 197\n",
    "codes.csv": "src,dst\n01001,1002\n1001,02134\n",
    "pairs.txt": "(0, 1)\n(1, 2)\n",
    "facts.pl": "edge(a,b).\nedge(b,c).\nedge(c,a).\n",
    "nx.edgelist": "0 1 {}\n1 2 {}\n",
    "road.gr": "c roads\np sp 3 2\na 1 2 803\na 2 1 803\n",
    "ring.graph": "4 4\n2 4\n1 3\n2 4\n3 1\n",
    "empty.csv": "",
    "people.csv": "id,age,city,group\nann,30,rome,a\nbob,40,oslo,b\ncid,50,rome,a\n",
    "cora.cites": "35\t1033\n35\t103482\n",
    "cora.content": "35\t0\t1\tTheory\n1033\t1\t1\tCase_Based\n103482\t0\t0\tTheory\n",
    "more.csv": "id,age\nann,30\nbob,40\ncid,50\ndan,60\n",
    "fewer.csv": "id,age\nann,30\nbob,40\n",
    "masks.csv": "id,kind,train_mask,val_mask,test_mask\nann,a,True,False,False\nbob,b,False,True,False\ncid,a,0,0,1\n",
    "parts.csv": "id,age,part\nann,30,train\nbob,40,val\ncid,50,test\n",
    "frame.csv": ",user_id,age\n0,3,30\n1,1,40\n2,2,50\n",
    "numbers.csv": "src,dst\n1,2\n2,3\n",
    "floats.csv": "id,age\n1.0,30\n2.0,40\n3.0,50\n",
    "labels.csv": "id,kind\nann,a\nbob,NA\ncid,b\n",
    "onehot.csv": "id,a,b\nann,1,0\nbob,0,1\ncid,1,1\n",
    "groups.csv": "ann,red\nann,blue\ncid,blue;red\n",
    "dated.csv": "id,joined\nann,2021-03-05\nbob,2021-03-06\ncid,2022-01-01\n",
    "vectors.csv": "id,v\nann,\"0.1, 0.2\"\nbob,\"1, 2\"\ncid,\"3, 4\"\n",
    "texts.csv": "id,note\nann,fast and red\nbob,slow and blue\ncid,red and slow\n",
    "clicks.csv": "user_id,item_id\n1,7\n2,1\n1,1\n",
    "wrote.csv": "author,paper\n1,1\n1,2\n",
    "typed.csv": "src_type,src_id,rel,dst_type,dst_id\nuser,1,likes,item,1\nuser,2,likes,item,1\n",
    "trips.csv": "start_time,end_time,start_station_id,end_station_id\n8,9,5,6\n9,10,6,5\n",
    "triples.tsv": "head\trelation\ttail\nrome\tin\titaly\nann\tborn in\trome\n",
    "train.txt": "/m/a\t/r/in\t/m/b\n/m/b\t/r/of\t/m/c\n",
    "valid.txt": "/m/a\t/r/of\t/m/c\n",
    "test.txt": "/m/c\t/r/in\t/m/a\n",
    "facts.ttl": "@prefix e: <http://e.org/> .\ne:rome e:in e:italy, e:europe ; e:name \"Roma\"@it .\n",
    "n1.csv": "personId:ID(Person),name\n5,ann\n6,bob\n",
    "n2.csv": ":ID(Film),title\n5,alien\n8,brazil\n",
    "r.csv": ":START_ID(Person),:END_ID(Film),:TYPE\n5,8,SAW\n6,5,LIKED\n",
    "dgl_nodes.csv": "node_id,label,feat\n0,1,\"0.1, 0.2\"\n1,0,\"0.3, 0.4\"\n2,1,\"0.5, 0.6\"\n",
    "dgl_edges.csv": "src_id,dst_id\n0,1\n1,2\n",
    "atoms.csv": "graph_id,node_id,mass\n0,0,12\n0,1,16\n1,0,1\n",
    "bonds.csv": "graph_id,src_id,dst_id\n0,0,1\n1,0,0\n",
    "graphs.csv": "graph_id,label\n0,1\n1,0\n",
    "rated.csv": "source,target,device,when\na,b,tv,5\nb,a,pc,6\n",
}


def run(command):
    env = dict(os.environ, PATH=BIN + ":" + os.environ["PATH"])
    return subprocess.run(["bash", "-c", command], capture_output=True, text=True, env=env)


def plain(outcome):
    """"3 nodes, 2 edges" is what convert prints as "3 nodes, 2 directed edges"."""
    return re.sub(r"(\d+ nodes, \d+) edges", r"\1 directed edges", outcome)


rows = [re.split(r"(?<!\\) \| ", line[2:-2]) for line in (ROOT / "docs/formats.md").read_text().splitlines()
        if line.startswith("| ") and not line.startswith(("| ---", "| input"))]
assert len(rows) >= 40, len(rows)
with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    for name, contents in FILES.items():
        Path(name).write_bytes(contents if isinstance(contents, bytes) else contents.encode())
    first = run("convert edges named.csv g0.h5 --features people.csv --label group")
    assert first.returncode == 0, made.stderr
    for row in rows:
        assert len(row) == 3, row
        title, command, outcome = row
        command = command.strip("`").replace("\\|", "|")
        ran = run(command)
        text = ran.stdout + ran.stderr
        if "this build reads no RDF" in text:
            print("MESSAGE: skipped: RDF, which this build does not read")
            continue
        error = outcome.startswith("error: ")
        assert (ran.returncode != 0) == error, (row, text)
        assert plain(outcome.removeprefix("error: ")) in text, (row, text)
        assert not error or (text.count("\n") == 1 and ran.stdout == ""), (row, text)
