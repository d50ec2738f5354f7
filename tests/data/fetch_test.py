#!/usr/bin/env python3
"""Runs data/fetch.sh with mirrors that have small archives in each layout, and with networks that fail."""
import contextlib
import functools
import gzip
import http.server
import os
import shutil
import signal
import subprocess
import sys
import threading
import unittest
import zipfile

from peers import BIN, ROOT, Case, contents, have_data, np, planetoid_release, same, skipped

FETCH = ROOT / "data/fetch.sh"
TINY = "610 6 7 3"  # of planetoid_release


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


class Short(Quiet):  # promises more than comes
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", "1000")
        self.end_headers()
        self.wfile.write(b"abc")


class Server(http.server.ThreadingHTTPServer):
    def handle_error(self, *_):  # the client disconnected
        pass


@contextlib.contextmanager
def serving(handler):
    server = Server(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class Fetch(Case):
    def setUp(self):
        super().setUp()
        if shutil.which("bash") is None:
            self.skipTest("bash")
        self.mirror, self.bin = self.folder / "mirror", self.folder / "bin"
        self.mirror.mkdir()
        self.bin.mkdir()

    def environment(self, mirror=None, counts=TINY, folder=None, path=None):
        # Debian's own tools, and this interpreter first, for it is known to have h5py.
        first = self.folder / "first"
        first.mkdir(exist_ok=True)
        if not (first / "python3").exists():
            (first / "python3").write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
            (first / "python3").chmod(0o755)
        found = {"PATH": path or f"{first}:{os.environ['PATH']}", "HOME": str(self.folder), "ADJOINT_BIN_DIR": str(folder or self.bin),
                 "ADJOINT_FETCH_MIRROR": mirror or f"file://{self.mirror}", "no_proxy": "*"}
        return found | ({"ADJOINT_FETCH_COUNTS": counts} if counts else {})

    def fetch(self, *words, **more):
        return subprocess.run([FETCH, *map(str, words)], capture_output=True, text=True, timeout=120, env=self.environment(**more),
                              stdin=subprocess.DEVNULL)

    def succeeds(self, *words, **more):
        result = self.fetch(*words, **more)
        self.assertEqual(result.returncode, 0, result)
        self.assertEqual(result.stdout, f"{words[1]}: {words[0]}\n")
        self.assertEqual([path for path in self.folder.glob(".fetch*")], [])
        return result

    def fails(self, *words, parts=(), lines=1, code=1, **more):
        self.one_line(self.fetch(*words, **more), *parts, status=code, lines=lines)
        self.leaves_nothing()

    def stand_in(self, *checks):
        """A convert that looks for files in what it is given, keeps its words, and writes 4 nodes, 3 edges, 2 features, 2 classes."""
        program = self.bin / "convert"
        program.write_text(f"""#!{sys.executable}
import pathlib, sys, h5py, numpy as np
open({str(self.folder / "words")!r}, "w").write("\\n".join(sys.argv[1:]))
for check in {checks!r}:
    assert (pathlib.Path(sys.argv[2]) / check).exists(), check
with h5py.File(sys.argv[3], "w") as f:
    f.attrs.update({{"format": "adjoint.graph", "version": 1, "num_nodes": 4, "num_classes": 2, "task": "node_class"}})
    f["edges/src"], f["edges/dst"] = np.int32([0, 1, 2]), np.int32([1, 2, 3])
    f["nodes/x"], f["nodes/y"] = np.ones((4, 2), np.float32), np.int32([0, 1, 0, 1])
""")
        program.chmod(0o755)

    def archive(self, name, files):
        with zipfile.ZipFile(self.mirror / name, "w", zipfile.ZIP_DEFLATED) as archive:
            for path, text in files.items():
                archive.writestr(path, gzip.compress(text.encode()) if path.endswith(".gz") else text)

    def test_planetoid_from_files_and_by_every_client(self):
        planetoid_release(self.mirror, "cora")
        self.succeeds("cora", self.out)
        one = contents(self.out)
        self.assertEqual((one["@name"], one["@num_nodes"], len(one["edges/src"])), ("cora", 610, 6))
        self.loaded()
        bare = self.folder / "bare"
        bare.mkdir()
        for tool in ("bash", "cp", "mv", "rm", "mktemp", "tail", "dirname", "env", "sh"):
            (bare / tool).symlink_to(shutil.which(tool))
        (bare / "python3").symlink_to(self.folder / "first/python3")
        with serving(functools.partial(Quiet, directory=self.mirror)) as url:
            for client in ("curl", "wget"):
                if shutil.which(client) is None:
                    skipped(f"no {client}")
                    continue
                (bare / client).symlink_to(shutil.which(client))
                self.out.unlink()
                self.succeeds("cora", self.out, mirror=url, path=str(bare))
                same(self, contents(self.out), one)
                (bare / client).unlink()
        self.out.unlink()
        self.fails("cora", self.out, path=str(bare), parts=["neither curl nor wget is here"])
        (bare / "curl").symlink_to(shutil.which("true"))
        (bare / "python3").unlink()
        self.fails("cora", self.out, path=str(bare), parts=["python3 is missing"])

    def test_the_default_name_is_the_datasets(self):
        planetoid_release(self.mirror, "pubmed")
        result = subprocess.run([FETCH, "pubmed"], capture_output=True, text=True, env=self.environment(), cwd=self.folder)
        self.assertEqual((result.returncode, result.stdout), (0, "pubmed.h5: pubmed\n"), result)
        self.assertTrue((self.folder / "pubmed.h5").exists())

    def test_archives_are_unpacked_and_converted(self):
        inside = ("raw/edge.csv.gz", "split/time/train.csv.gz")
        for name, archive, top, files, command in (
                ("ogbn-arxiv", "arxiv.zip", "arxiv", inside, ["ogb", "arxiv"]),
                ("ogbn-products", "products.zip", "products", inside, ["ogb", "products", "--add-inverse-edges"]),
                ("reddit", "reddit.zip", "", ("reddit_data.npz", "reddit_graph.npz"), ["npz", "reddit_data.npz"]),
                ("PROTEINS", "PROTEINS.zip", "PROTEINS", ("PROTEINS_A.txt", "PROTEINS_graph_indicator.txt"), ["tu", "PROTEINS"])):
            with self.subTest(name):
                self.archive(archive, {f"{top}/{path}" if top else path: "0,1\n" for path in files})
                self.stand_in(*(files if top else ()))
                self.succeeds(name, self.out, counts="4 3 2 2")
                words = (self.folder / "words").read_text().split("\n")
                self.assertEqual([words[0], os.path.basename(words[1]), *words[5:]], command)
                self.assertEqual([os.path.basename(words[2]), *words[3:5]], [f"{name}.h5", "--name", name])
                self.assertFalse(os.path.exists(words[1]))
                self.assertEqual(contents(self.out)["@num_nodes"], 4)
                self.out.unlink()
                self.fails(name, self.out, counts=None, lines=2, parts=["4 nodes, 3 edges, 2 features, 2 classes, expected",
                                                                       f"{name}: not what is known of it; nothing was written"])

    def test_what_is_converted_is_what_convert_makes(self):
        """By convert itself, on small datasets in each layout."""
        if not (BIN / "convert").exists():
            skipped(f"no {BIN / 'convert'}")
            return
        node, label = "0.5,1\n1,0\n0,0.25\n2,2\n", "0\n1\n0\n1\n"
        raw = {"edge.csv.gz": "0,1\n2,1\n3,0\n", "node-feat.csv.gz": node, "node-label.csv.gz": label, "num-node-list.csv.gz": "4\n",
               "num-edge-list.csv.gz": "3\n"}
        for name, top, split, edges in (("ogbn-arxiv", "arxiv", "time", 3), ("ogbn-products", "products", "sales_ranking", 6)):
            with self.subTest(name):
                files = {f"{top}/raw/{path}": text for path, text in raw.items()}
                files.update({f"{top}/split/{split}/{part}.csv.gz": text for part, text in
                              (("train", "0\n1\n"), ("valid", "2\n"), ("test", "3\n"))})
                self.archive(f"{top}.zip", files)
                self.succeeds(name, self.out, counts=f"4 {edges} 2 2", folder=BIN)
                found = self.loaded()
                self.assertEqual((found["splits/val"].tolist(), found["nodes/x"][3].tolist()), ([2], [2, 2]))
        with self.subTest("reddit"):
            np.savez(self.mirror / "reddit_data.npz", feature=np.eye(4, 3), label=np.array([0, 1, 0, 1]), node_types=np.array([1, 2, 3, 1]),
                     node_ids=np.arange(4))
            np.savez(self.mirror / "reddit_graph.npz", row=np.int32([0, 1, 2]), col=np.int32([1, 0, 3]), data=np.ones(3), shape=np.array([4, 4]),
                     format=np.array(b"coo"))
            with zipfile.ZipFile(self.mirror / "reddit.zip", "w") as archive:
                for part in ("reddit_data.npz", "reddit_graph.npz"):
                    archive.write(self.mirror / part, part)
            self.succeeds("reddit", self.out, counts="4 3 3 2", folder=BIN)
            self.assertEqual(self.loaded()["splits/train"].tolist(), [0, 3])
        with self.subTest("PROTEINS"):
            found = have_data("raw/tu/PROTEINS/PROTEINS_A.txt", "proteins.h5")
            if found is not None:
                with zipfile.ZipFile(self.mirror / "PROTEINS.zip", "w") as archive:
                    for path in found[0].parent.iterdir():
                        archive.write(path, f"PROTEINS/{path.name}")
                self.succeeds("PROTEINS", self.out, counts=None, folder=BIN)
                names = {f"{of}_names{end}" for of in ("nodes/x", "graphs/class") for end in ("", "_offsets")}
                same(self, contents(self.out), contents(found[1]), but=names)  # which that file may lack

    def test_the_release_itself(self):
        """With the counts that are known."""
        for name in ("cora", "citeseer"):
            found = have_data(f"raw/planetoid/ind.{name}.x", f"{name}.h5")
            if found is not None:
                self.succeeds(name, self.out, mirror=f"file://{found[0].parent}", counts=None)
                same(self, contents(self.out), contents(found[1]))

    def test_other_counts_are_refused_and_an_older_file_stays(self):
        planetoid_release(self.mirror, "cora")
        self.fails("cora", self.out, counts=None, lines=2, parts=["610 nodes, 6 edges, 7 features, 3 classes, expected 2708, 10556, 1433 and 7"])
        self.succeeds("cora", self.out)
        before = self.out.read_bytes()
        for counts in ("611 6 7 3", "610 7 7 3", "610 6 8 3", "610 6 7 4"):
            self.assertEqual(self.fetch("cora", self.out, counts=counts).returncode, 1)
        self.assertEqual(self.out.read_bytes(), before)

    def test_what_cannot_be_read(self):
        self.stand_in("raw/edge.csv.gz")
        self.archive("arxiv.zip", {"arxiv/raw/edge.csv.gz": "0,1\n" * 4000})
        whole = (self.mirror / "arxiv.zip").read_bytes()
        for size in (0, 30, len(whole) - 5):
            (self.mirror / "arxiv.zip").write_bytes(whole[:size])
            self.fails("ogbn-arxiv", self.out, counts="4 3 2 2", parts=["arxiv.zip: is no whole zip archive"])
        (self.mirror / "arxiv.zip").write_bytes(whole)
        (self.bin / "convert").write_text("#!/bin/sh\necho 'edge.csv.gz: line 3: wrong' >&2\nexit 1\n")
        self.fails("ogbn-arxiv", self.out, lines=2, parts=["edge.csv.gz: line 3: wrong", "convert ogb did not read what was downloaded"])
        (self.bin / "convert").unlink()
        self.fails("ogbn-arxiv", self.out, parts=["convert is missing: make build makes it"])
        planetoid_release(self.mirror, "cora", graph=b"cos\nsystem\n(S'true'\ntR.")
        self.fails("cora", self.out, lines=2, parts=["ind.cora.graph: names", "to_adjoint.py did not read what was downloaded for cora"])
        (self.mirror / "ind.cora.ty").unlink()
        self.fails("cora", self.out, parts=["could not download file://", "ind.cora.ty", "No such file"])

    def test_networks_that_fail(self):
        planetoid_release(self.mirror, "cora")
        if shutil.which("curl") is None:
            skipped("no curl")
            return

        self.fails("cora", self.out, mirror="http://127.0.0.1:9", parts=["could not download http://127.0.0.1:9/ind.cora.x: is there a network?"])
        self.fails("cora", self.out, mirror="nonsense://x", parts=["could not download nonsense://x/ind.cora.x"])
        with serving(functools.partial(Quiet, directory=self.bin)) as url:
            self.fails("cora", self.out, mirror=url, parts=["ind.cora.x", "404"])
        with serving(Short) as url:
            self.fails("cora", self.out, mirror=url, parts=["ind.cora.x"])

    def test_ended_while_it_downloads(self):
        asked, go = threading.Event(), threading.Event()

        class Hanging(Short):
            def do_GET(self):
                super().do_GET()
                asked.set()
                go.wait(60)

        for sent in (signal.SIGTERM, signal.SIGINT):
            asked.clear()
            go.clear()
            with serving(Hanging) as url:
                process = subprocess.Popen([FETCH, "cora", self.out], env=self.environment(mirror=url), stdout=subprocess.DEVNULL,
                                           stderr=subprocess.DEVNULL, start_new_session=True)
                self.assertTrue(asked.wait(60))
                self.assertEqual(len(list(self.folder.glob(".fetch-cora.*"))), 1)
                os.killpg(process.pid, sent)
                self.assertNotEqual(process.wait(60), 0)
                go.set()
            self.leaves_nothing()

    def test_usage(self):
        for words, part in (((), "expected NAME [OUT.h5], got 0 words"), (("cora", "a", "b"), "got 3 words"), (("--fast",), "'--fast'"),
                            (("Cora",), "no dataset 'Cora', expected cora, citeseer"), (("cora", "--gzip"), "'--gzip'")):
            self.fails(*words, parts=[part], code=2)
        result = self.fetch("--help")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        for name in ("cora", "ogbn-products", "PROTEINS", "ADJOINT_FETCH_MIRROR"):
            self.assertIn(name, result.stdout)
        self.fails("cora", self.folder, parts=["is a folder"])
        self.fails("cora", self.folder / "none" / "x.h5", parts=["is no folder that can be written to"])


if __name__ == "__main__":
    unittest.main(warnings="ignore")
