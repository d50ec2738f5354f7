#!/usr/bin/env python3
"""HDF5 files between Adjoint and h5py: h5py reads what Adjoint writes, and Adjoint reads what h5py writes, in every way that
it can. Needs ADJOINT_BIN_DIR."""
import re
import subprocess
import unittest

from peers import BIN, Case, h5py, have_data, np


class Files(Case):
    def setUp(self):
        super().setUp()
        self.given = self.folder / "in.h5"

    def write(self, **more):
        """A small valid file, changed by `more`: datasets by path, None to leave one out."""
        content = {
            "edges/src": np.array([1, 2, 0, 3, 3], np.int32),
            "edges/dst": np.array([0, 1, 2, 0, 0], np.int32),
            "nodes/x": np.arange(12, dtype=np.float32).reshape(4, 3),
            "nodes/y": np.array([0, 1, 1, 0], np.int32),
            "splits/train": np.array([0, 1], np.int32),
            "splits/val": np.array([2], np.int32),
            "splits/test": np.array([3], np.int32),
        } | more
        with h5py.File(self.given, "w") as f:
            f.attrs.update({"format": "adjoint.graph", "version": 1, "name": "tiny", "num_nodes": 4, "num_classes": 2,
                            "task": "node_class", "undirected": 0})
            for path, value in content.items():
                if callable(value):
                    value(f, path)
                elif value is not None:
                    f[path] = value

    def copy(self):
        return self.run_program("copy_file", "dataset", self.given, self.out)

    def accepted(self, **more):
        """The copy of what was written, or of a file with `more`."""
        if more:
            self.write(**more)
        self.ok(self.copy())
        return h5py.File(self.out)

    def refused(self, message, **more):
        """On one line; "…" stands for any text."""
        if more:
            self.write(**more)
        self.out.unlink(missing_ok=True)
        result = self.copy()
        self.assertEqual(result.returncode, 1)
        self.assertRegex(result.stderr, f"^{re.escape(f'{self.given}: {message}').replace('…', '.*')}\n$")
        self.assertFalse(self.out.exists())

    # Files written by Adjoint.

    def test_contents(self):
        with self.accepted(**{"edges/weight": np.array([1, 2, 3, 4, 5], np.float32)}) as f:
            self.assertEqual(f.attrs["format"], "adjoint.graph")
            self.assertEqual(f.attrs["name"], "tiny")
            self.assertEqual(f.attrs["task"], "node_class")
            self.assertEqual([int(f.attrs[k]) for k in ("version", "num_nodes", "num_classes", "undirected")], [1, 4, 2, 0])
            self.holds(f, {"edges/dst": [0, 1, 2, 0, 0], "edges/src": [1, 2, 0, 3, 3], "edges/weight": [1, 2, 3, 4, 5],
                           "nodes/x": np.arange(12).reshape(4, 3), "nodes/y": [0, 1, 1, 0], "splits/train": [0, 1]})
            types = {path: f[path].dtype for path in ("edges/src", "edges/dst", "nodes/x", "nodes/y", "splits/test")}
            self.assertEqual(types, {"edges/src": "int32", "edges/dst": "int32", "nodes/x": "float32",
                                     "nodes/y": "int32", "splits/test": "int32"})

    def test_sparse_features(self):
        with self.accepted(**{"nodes/x": None, "nodes/x_indptr": np.array([0, 2, 2, 3, 4]),
                              "nodes/x_indices": np.array([4, 1, 0, 2], np.int32),
                              "nodes/x_data": np.array([1, 2, 3, 4], np.float32),
                              "columns": lambda f, _: f["nodes"].attrs.__setitem__("x_cols", 5)}) as f:
            self.assertEqual(int(f["nodes"].attrs["x_cols"]), 5)
            self.holds(f, {"nodes/x_indices": [1, 4, 0, 2], "nodes/x_data": [2, 1, 3, 4]})
            self.assertEqual(f["nodes/x_indptr"].dtype, "int64")

    def names(self, group, names):
        """Texts as the schema stores them, datasets by path."""
        texts = [name if isinstance(name, bytes) else name.encode() for name in names]
        return {f"{group}/class_names": np.frombuffer(b"".join(texts), np.uint8),
                f"{group}/class_names_offsets": np.cumsum([0] + [len(text) for text in texts])}

    def test_names_of_classes(self):
        named = self.names("nodes", ["Žluťoučký, \"kůň\"", "b\nc"])
        with self.accepted(**named) as f:
            for path, values in named.items():
                np.testing.assert_array_equal(f[path], values)
            self.assertEqual((f["nodes/class_names"].dtype, f["nodes/class_names_offsets"].dtype), (np.uint8, np.int64))
        for program, *given in (("reorder", "random", self.given, self.out), ("partition", self.given, self.out, "--parts", "2")):
            if (BIN / program).exists():
                ran = subprocess.run([BIN / program, *given], capture_output=True, text=True)
                self.assertEqual(ran.returncode, 0, ran)
                with h5py.File(self.out) as f:
                    np.testing.assert_array_equal(f["nodes/class_names"], named["nodes/class_names"])
        # Columns of several labels, and classes of graphs, have names too.
        task = lambda name: lambda f, _: f.attrs.__setitem__("task", name)
        bits = {"nodes/y": np.array([[1, 0, 0], [0, 1, 1], [1, 1, 1], [0, 0, 1]], np.uint8), "classes": lambda f, _: f.attrs.pop("num_classes")}
        with self.accepted(task=task("node_multilabel"), **bits, **self.names("nodes", "abc")) as f:
            self.assertEqual(f["nodes/class_names"][...].tobytes(), b"abc")
        graphs = {"graphs/offsets": np.array([0, 3, 3, 4]), "graphs/y": np.array([0, 1, 1]), "edges/src": np.array([1, 2]),
                  "edges/dst": np.array([0, 1]), "splits/train": np.array([0]), "splits/val": np.array([1]), "splits/test": np.array([2])}
        with self.accepted(task=task("graph_class"), **graphs, **self.names("graphs", ["x", "yz"])) as f:
            self.assertEqual(f["graphs/class_names"][...].tobytes(), b"xyz")
            self.assertNotIn("nodes/class_names", f)

    def test_wrong_names_of_classes(self):
        for names, message in ((["a"], "nodes/class_names_offsets: shape [2], expected [3] integers"),
                               (["a", b"caf\xe9"], 'nodes/class_names: class 1: "caf\\xe9", expected UTF-8'),
                               (["a", "a"], 'nodes/class_names: class 1: "a", as class 0, expected distinct names')):
            self.refused(message, **self.names("nodes", names))
        for offsets, message in (([0, 2, 1], "falls from 2 to 1 at position 2, expected ascending numbers"),
                                 ([1, 1, 2], "starts with 1, expected 0"),
                                 ([0, 1, 3], "ends with 3, expected 2, the length of nodes/class_names")):
            self.refused(f"nodes/class_names_offsets: {message}", **self.names("nodes", "ab") | {"nodes/class_names_offsets": np.array(offsets)})
        self.refused("nodes/class_names_offsets: missing", **{"nodes/class_names": np.array([97, 98], np.uint8)})

    def test_real_files_come_through_unchanged(self):
        for name in ("cora", "citeseer", "citeseer_full", "minesweeper", "tolokers"):
            found = have_data(f"{name}.h5")
            if found is None:
                continue
            path = found[0]
            self.given = path
            with self.accepted() as f, h5py.File(path) as g:
                def same(key, item):
                    if isinstance(item, h5py.Dataset):
                        np.testing.assert_array_equal(f[key], item, key)
                        self.assertEqual(f[key].dtype, item.dtype, key)
                g.visititems(same)
                self.assertEqual({k: str(v) for k, v in f.attrs.items()}, {k: str(v) for k, v in g.attrs.items()})

    # Files written by h5py.

    def test_strings_of_every_kind(self):
        for value in ("adjoint.graph", np.bytes_("adjoint.graph"), np.array(["adjoint.graph"], dtype=h5py.string_dtype()),
                      np.array(b"adjoint.graph", dtype="S40")):
            self.accepted(format=lambda f, _: f.attrs.__setitem__("format", value)).close()

        def padded(f, _):
            kind = h5py.h5t.C_S1.copy()
            kind.set_size(20)
            kind.set_strpad(h5py.h5t.STR_SPACEPAD)
            attribute = h5py.h5a.create(f.id, b"format", kind, h5py.h5s.create(h5py.h5s.SCALAR))
            attribute.write(np.array(b"adjoint.graph       ", "S20"), kind)
        self.accepted(padded=lambda f, _: (f.attrs.__delitem__("format"), padded(f, _))).close()

    def test_unsigned_numbers_keep_their_upper_half(self):
        self.refused("edges/src: 3000000000 at position 1, expected 0 to 3", **{"edges/src": np.array([1, 3_000_000_000, 0, 3, 3], np.uint32)})
        self.refused("nodes/y: 4294967295 at position 1, expected -1 to 1", **{"nodes/y": np.array([0, 4_294_967_295, 1, 0], np.uint32)})

    def test_numbers_of_every_width(self):
        for kind in ("i1", "u1", ">i2", "u4", "<i8", ">u8"):
            self.accepted(count=lambda f, _: f.attrs.__setitem__("num_nodes", np.array(4, kind)),
                          **{"edges/src": np.array([1, 2, 0, 3, 3], kind) if kind != "u1" else np.array([1, 2, 0, 3, 3], "u2")}).close()
        for kind in (">f4", "<f2"):
            with self.accepted(**{"nodes/x": np.ones((4, 3), kind)}) as f:
                np.testing.assert_array_equal(f["nodes/x"], np.ones((4, 3)))

    def test_layouts_and_filters(self):
        x = np.random.default_rng(0).random((4, 1000), np.float32)
        for options in ({"chunks": (1, 10)}, {"compression": "gzip", "shuffle": True, "chunks": (3, 64)},
                        {"fletcher32": True, "chunks": True}, {"maxshape": (None, None)}):
            with self.accepted(**{"nodes/x": lambda f, path: f.create_dataset(path, data=x, **options)}) as f:
                np.testing.assert_array_equal(f["nodes/x"], x)

    def test_other_things_in_the_file_are_left_alone(self):
        self.accepted(notes=np.array(["a", "b"], dtype=h5py.string_dtype()),
                      **{"nodes/names": np.array(["a", "b", "c", "d"], dtype=h5py.string_dtype()),
                         "nodes/inner": lambda f, path: f.__setitem__("nodes/inner/loop", f["nodes"]),
                         "link": lambda f, path: f.__setitem__(path, h5py.ExternalLink("/etc/passwd", "/")),
                         "type": lambda f, path: f.__setitem__(path, np.dtype("f8"))}).close()

    def test_soft_links_are_followed_and_outside_links_are_not(self):
        with self.accepted(labels=np.array([1, 1, 0, 0], np.int32),
                           **{"nodes/y": lambda f, path: f.__setitem__(path, h5py.SoftLink("/labels"))}) as f:
            np.testing.assert_array_equal(f["nodes/y"], [1, 1, 0, 0])
        self.refused("nodes/y: a link to another file, expected values in this one",
                     **{"nodes/y": lambda f, path: f.__setitem__(path, h5py.ExternalLink(str(self.folder / "other.h5"), "/y"))})
        self.refused("nodes/y: a link that leads nowhere in this file…", **{"nodes/y": lambda f, path: f.__setitem__(path, h5py.SoftLink("/nowhere"))})

    def test_a_way_through_an_outside_link_leads_nowhere(self):
        with h5py.File(self.folder / "other.h5", "w") as f:
            f["y"] = np.array([1, 1, 0, 0], np.int32)
        outside = h5py.ExternalLink(str(self.folder / "other.h5"), "/")
        self.refused("nodes/y: a link that leads nowhere in this file…", door=lambda f, path: f.__setitem__(path, outside),
                     **{"nodes/y": lambda f, path: f.__setitem__(path, h5py.SoftLink("/door/y"))})
        self.accepted(**{"splits": lambda f, path: f.__setitem__("more", outside)}).close()

    def test_extra_objects_within_the_groups_are_left_alone(self):
        (self.folder / "raw").write_bytes(b"\0" * 64)
        self.accepted(**{"nodes/packed": lambda f, path: f.create_dataset(path, data=np.ones(9), compression="lzf"),
                         "nodes/gone": lambda f, path: f.__setitem__(path, h5py.SoftLink("/nowhere")),
                         "edges/outside": lambda f, path: f.__setitem__(path, h5py.ExternalLink("none.h5", "/")),
                         "edges/raw": lambda f, path: f.create_dataset(path, (4,), "i4", external=[(str(self.folder / "raw"), 0, 64)]),
                         "splits/notes": np.array(["a"], dtype=h5py.string_dtype()),
                         "splits/other/train": lambda f, path: f.create_dataset(path, data=np.ones(9), compression="lzf"),
                         "splits/huge": lambda f, path: f.create_dataset(path, (2**40,), "f4", chunks=(2**20,)),
                         "nodes/many": lambda f, path: [f.create_group(f"{path}/{k}") for k in range(3000)]}).close()

    def test_many_attributes(self):
        def many(f, _):
            for k in range(3000):
                f.attrs[f"a{k}"] = k
        for late in (False, True):
            with h5py.File(self.given, "w", libver="latest", track_order=True) as f:
                if late:
                    many(f, None)
            self.accepted(many=many).close()

    def test_masks_and_labels_of_every_width(self):
        with self.accepted(**{"splits/train": np.array([True, True, False, False]), "splits/val": np.array([False, False, True, False]),
                              "splits/test": np.array([3], "u2"), "nodes/y": np.array([0, 1, 1, 0], "i1"),
                              "nodes/x": np.arange(12, dtype=">f8").reshape(4, 3)}) as f:
            self.holds(f, {"splits/train": [0, 1], "splits/val": [2], "nodes/y": [0, 1, 1, 0], "nodes/x": np.arange(12).reshape(4, 3)})
        self.refused("splits/train: shape [3], expected [4] uint8", **{"splits/train": np.array([True, True, False])})
        self.refused("splits/train: empty, expected at least one index", **{"splits/train": np.array([False] * 4)})
        self.refused("splits/train: index 1 at position 1 has no label", **{"nodes/y": np.array([0, -1, 1, 0], np.int64)})
        self.accepted(**{"nodes/y": np.array([0, -1, 1, 0], np.int64), "splits/train": np.array([0])}).close()

    def test_one_dataset_under_many_names(self):
        order = np.arange(4, dtype=np.int32)
        def links(f, _):
            f.create_dataset("big", data=np.zeros(2**21, np.int32), compression="gzip")
            for k in range(1, 41):
                for part in ("train", "val", "test"):
                    f[f"splits/{k}/{part}"] = f["big"]
        self.refused("…the same values under many names…", links=links)

        def small(f, _):
            f.create_dataset("small", data=np.zeros(4000, np.int32))
            for k in range(2000):
                f[f"splits/{k}/train"] = f["small"]
        self.refused("…the same values under many names…", links=small)

    def test_many_datasets_that_are_small_each(self):
        def unwritten(f, _):
            for k in range(40):
                f.create_dataset(f"splits/{k}/train", (2**18,), "i4")
        self.refused("…values that were never written, with those of other datasets more than 16777216 bytes", unwritten=unwritten)

    def test_many_datasets_over_the_same_bytes(self):
        places = []
        def many(f, _):
            f.attrs["num_nodes"] = 2**18
            all_of_them = [f.create_dataset(f"splits/{k}/train", (2**18,), "i4") for k in range(20)]
            for dataset in all_of_them:
                dataset[:] = 1
            places.extend(dataset.id.get_offset() for dataset in all_of_them)
        self.write(many=many)
        whole = self.given.read_bytes()
        cut, end = whole, places[0] + 2**20
        for place in places:
            cut = cut.replace(place.to_bytes(8, "little"), places[0].to_bytes(8, "little"))
        self.given.write_bytes(cut.replace(len(whole).to_bytes(8, "little"), end.to_bytes(8, "little"))[:end])
        self.refused(f"…the same bytes are values of many datasets, which hold more than the file's {end}")

    def test_types_that_are_no_numbers(self):
        for value, name in ((np.array(["a"] * 4, dtype=h5py.string_dtype()), "string"),
                            (np.zeros(4, [("a", "i4"), ("b", "f4")]), "compound"),
                            (np.zeros(4, bool), "bool"), (np.zeros(4, "c8"), "compound"),
                            (np.zeros(4, "f4"), "float32"), (np.zeros(4, "f8"), "float64")):
            self.refused(f"nodes/y: {name} [4], expected integers", **{"nodes/y": value})
        self.refused("nodes/x: int32 [4, 3], expected floating numbers", **{"nodes/x": np.zeros((4, 3), "i4")})
        self.refused("nodes/y: a group, expected a dataset", **{"nodes/y": lambda f, path: f.create_group(path)})
        self.refused("nodes/y: …", **{"nodes/y": h5py.Empty("i4")})
        self.refused("edges/src: 9223372036854775807 at position 4, expected 0 to 3", **{"edges/src": np.array([1, 2, 0, 3, 2**64 - 1], "u8")})

    def test_more_claimed_than_there_is(self):
        for path, shape, options, message in (("nodes/x", (4, 2**24), {"fillvalue": 1}, "claims 4 x 16777216 elements that were never written"),
                                              ("nodes/x", (4, 2**38), {"chunks": (1, 2**20)}, "claims 4 x 274877906944 elements that were never written"),
                                              ("nodes/x", (4, 2**60), {"chunks": (1, 2**20)}, "…"), ("edges/src", (2**40,), {"chunks": (2**20,)}, "…")):
            self.refused(f"{path}: {message}", **{path: lambda f, path: f.create_dataset(path, shape, "f4" if path == "nodes/x" else "i4", **options)})

    def test_values_in_other_files(self):
        (self.folder / "raw").write_bytes(b"\0" * 64)

        def outside(f, path):
            f.create_dataset(path, (4,), "i4", external=[(str(self.folder / "raw"), 0, 64)])

        def virtual(f, path):
            layout = h5py.VirtualLayout((4,), "i4")
            layout[:] = h5py.VirtualSource(str(self.folder / "other.h5"), "y", (4,))
            f.create_virtual_dataset(path, layout)

        for make in (outside, virtual):
            self.refused("nodes/y: its values are in other files, expected in this one", **{"nodes/y": make})

    def test_unknown_filter(self):
        self.refused('nodes/x: compressed by filter 32000 "lzf", which HDF5 does not have here, expected gzip or none',
                     **{"nodes/x": lambda f, path: f.create_dataset(path, data=np.ones((4, 3), np.float32), compression="lzf")})

    def test_a_file_cut_anywhere(self):
        self.write()
        whole = self.given.read_bytes()
        for size in (0, 7, 8, 100, len(whole) // 2, len(whole) - 1):
            self.given.write_bytes(whole[:size])
            self.refused("…")
        self.refused(f"truncated: {len(whole) - 1} bytes, expected {len(whole)}")

    def test_a_file_behind_a_user_block(self):
        with h5py.File(self.given, "w", userblock_size=1024) as f:
            f.attrs["format"] = "other"
        self.refused('attribute format: "other", expected "adjoint.graph"')

    # Files written by generate.

    def make(self, *options):
        program = BIN / "generate"
        if not program.exists():
            self.skipTest(f"no {program}")
        return subprocess.run([program, *options], capture_output=True, text=True, timeout=300)

    def test_generated_datasets(self):
        self.assertEqual(self.make("citation", self.given, "--nodes", "3000", "--classes", "5", "--seed", "9").returncode, 0)
        with h5py.File(self.given) as f:
            self.assertEqual((f.attrs["num_nodes"], f.attrs["num_classes"], f["splits/train"].size), (3000, 5, 100))
            self.assertEqual(f["nodes/x_indptr"][-1], f["nodes/x_data"].size)
            np.testing.assert_array_equal(np.bincount(f["edges/src"], minlength=3000), np.bincount(f["edges/dst"], minlength=3000))
        self.assertEqual(self.make("roads", self.given, "--features", "3", "--gzip", "1").returncode, 0)
        with h5py.File(self.given) as f:
            self.assertEqual((f.attrs["name"], f["edges/src"].shape, f["nodes/x"].shape), ("roads", (279061,), (142257, 3)))
        self.accepted().close()

    def test_the_demo_is_what_its_command_writes(self):
        self.assertEqual(self.make("citation", self.given, "--name", "demo", "--gzip", "9").returncode, 0)
        with h5py.File(self.given) as made, h5py.File("data/demo.h5") as demo:
            self.assertEqual(dict(made.attrs), dict(demo.attrs))
            for path in ("edges/src", "edges/dst", "nodes/x_indptr", "nodes/x_indices", "nodes/x_data", "nodes/y", "splits/train"):
                np.testing.assert_array_equal(made[path], demo[path])

    def test_structure_alone(self):
        self.assertEqual(self.make("rmat", self.given, "--nodes", "1000", "--edges", "5000", "--no-features").returncode, 0)
        with h5py.File(self.given) as f:
            self.assertEqual((f.attrs["task"], f["edges/src"].shape, "nodes" in f, "splits" in f), ("none", (5000,), False, False))
        self.accepted().close()

    def test_generator_refuses(self):
        for options in ((), ("citation",), ("citation", "x", "--nodes", "100"), ("citation", "x", "--nodes", "many"),
                        ("citation", "x", "--node", "5"), ("none", "x"), ("citation", "x", "--gzip", "10"),
                        ("roads", "x", "--degree", "3"), ("citation", "x", "--seed", "-1"), ("x",), ("citation", "x", "y")):
            result = self.make(*options)
            self.assertEqual((result.returncode, result.stderr.count("\n")), (2, 1), (options, result))
        result = self.make("citation", self.folder / "none" / "x.h5")
        self.assertEqual((result.returncode, result.stderr.count("\n")), (1, 1), result)


if __name__ == "__main__":
    unittest.main()
