"""Full-batch training on the rows of several ranks: against one device, on other devices, with every output, and resumed."""
from programs import *  # noqa: F403
import signal
import time

rng = np.random.default_rng(5)
NODES, EDGES = 300, 1500


def dataset(path, task="node_class", **changes):
    """Three classes that the features tell, a hub, loops, parallel edges and nodes without any."""
    y = rng.integers(0, 3, NODES).astype(np.int32)
    src, dst = rng.integers(0, NODES - 5, EDGES), rng.integers(0, NODES - 5, EDGES)
    src[::6], dst[5::50] = 7, src[5::50]
    places = {"edges/src": src, "edges/dst": dst, "nodes/y": y,
              "nodes/x": (rng.normal(size=(NODES, 12)) + 2 * np.eye(3, 12)[y]).astype(np.float32)}
    places |= {f"splits/{part}": index for part, index in zip(PARTS, np.split(np.arange(NODES), [180, 240]))} | changes
    return write_graph(path, places, task=task, num_nodes=NODES, undirected=0,
                       num_classes=3 if task == "node_class" else places["nodes/y"].shape[1])


def predictions(path):
    """The numbers of all nodes."""
    return {name: values for name, values in datasets_in(path).items() if values.dtype.kind == "f"}


def expect_equal(left, right):
    """The same arrays, to the bit, some at least."""
    assert left and left.keys() == right.keys(), (left.keys(), right.keys())
    for name in left:
        np.testing.assert_array_equal(left[name], right[name])


plain = dataset("plain.h5")
with h5py.File(plain) as one_file:
    PLAIN_EDGES = {name: one_file[name][:] for name in ("edges/src", "edges/dst")}
PROGRAMS = {"train_gcn": "", "train_gat": "--hidden 4 --heads 2 --norm batch --attention-dropout 0", "train_sage": "--norm batch", "train_gin": "",
            "train_transformer": "--hidden 8 --heads 2 --attention-dropout 0", "train_agnn": ""}
# Adam would make steps of the rounding of gradients that are 0, as those of a bias before a batch norm.
STEPS = "--epochs 6 --dropout 0 --optimizer sgd --lr 0.05 --patience 0 --json --quiet"


class Devices(unittest.TestCase):
    def test_ranks_train_as_one_device_does(self):
        for program, options in PROGRAMS.items():
            line = f"{program} plain.h5 {options} {STEPS}"
            one = result_of(f"{line} --predict one.h5")
            for devices in ("--devices cpu", "--devices cpu,cpu", "--devices cpu --ranks 5"):
                with self.subTest(program=program, devices=devices):
                    many = result_of(f"{line} {devices} --predict many.h5")
                    for name in ("train_loss", "val_loss", "test_loss", "test_acc"):
                        self.assertAlmostEqual(many[name], one[name], delta=0.02 if name == "test_acc" else 1e-5)
                    left, right = predictions("one.h5"), predictions("many.h5")
                    self.assertTrue(left and left.keys() == right.keys())
                    for name in left:
                        np.testing.assert_allclose(right[name], left[name], atol=1e-4)

    def test_the_same_ranks_have_the_same_bits_on_any_devices(self):
        for program, options in PROGRAMS.items():
            line = f"{program} plain.h5 {options} --epochs 6 --dropout 0.4 --patience 0 --json --quiet --ranks 4"
            found = []
            for devices in ("cpu", "cpu,cpu", "cpu,cpu,cpu,cpu"):
                run(f"{line} --devices {devices} --predict {devices}.h5")
                found.append(predictions(f"{devices}.h5"))
            for other in found[1:]:
                expect_equal(other, found[0])

    def test_tasks_weights_splits_and_outputs(self):
        several = dataset("several.h5", "node_multilabel", **{"nodes/y": (rng.random((NODES, 4)) < 0.4).astype(np.float32)})
        with h5py.File(several, "a") as f:
            f["nodes/y"][::7, 1] = np.nan
        numbers = dataset("numbers.h5", "node_regression", **{"nodes/y": rng.normal(size=(NODES, 2)).astype(np.float32) * 30 + 500})
        splits = dataset("splits.h5", **{f"splits/1/{part}": np.sort(index) for part, index in zip(
            PARTS, np.split(rng.permutation(NODES), [150, 220]))})
        sparse = dataset("sparse.h5", **{"nodes/x": (rng.random((NODES, 40)) < 0.05).astype(np.float32)})
        weighted = dataset("weighted.h5", **{"edges/weight": rng.random(EDGES).astype(np.float32) + 0.1})
        for path, options in ((several, "--class-weights balanced"), (numbers, ""), (splits, "--split all"),
                              (plain, "--class-weights balanced --runs 2"), (sparse, "--node-features degree"), (sparse, ""),
                              (weighted, ""), (plain, "--precision bfloat16"), (plain, "--features-bits 8")):
            line = f"train_gcn {path} {options} {STEPS}"
            with self.subTest(path=path, options=options):
                one, many = result_of(line), result_of(f"{line} --devices cpu,cpu,cpu")
                for name in [name for name in one if name.endswith("_loss") or name in ("test_acc", "test_auc", "test_r2")]:
                    self.assertAlmostEqual(many[name], one[name], delta=0.03 if "bfloat16" in options else 1e-4)
        outputs = "--metrics m.csv --plot p.svg --report r.html --tensorboard events --checkpoint c.h5 --class-scores"
        text = run(f"train_gcn {plain} --epochs 5 --devices cpu,cpu {outputs} --run-dir run --predict p.csv")
        expect(text, "2 ranks on cpu", "epoch 5")
        self.assertEqual(text.count(" to train, "), 1)
        self.assertEqual(len(rows("m.csv")), 5)
        self.assertEqual(len(rows("p.csv")), NODES)
        self.assertIn("2 ranks on cpu", read("r.html"))

    def test_ranks_read_their_own_rows(self):
        line = f"train_gcn {plain} {STEPS} --features-scaling real --devices cpu --ranks 3"
        for place in ("device", "file"):
            run(f"{line} --features {place} --predict {place}.h5 --report {place}.html")
        left, right = predictions("device.h5"), predictions("file.h5")
        expect_equal(left, right)
        expect(read("file.html"), "the features are not in memory as numbers")
        refused(f"{line} --features host", says="expected device or file", status=2)

    def test_rows_may_travel_as_bfloat16(self):
        for program, options in PROGRAMS.items():
            line = f"{program} {plain} {options} {STEPS} --devices cpu --ranks 3 --predict"
            run(f"{line} exact.h5")
            run(f"{line} rounded.h5 --wire bfloat16")
            with self.subTest(program=program):
                left, right = predictions("exact.h5"), predictions("rounded.h5")
                self.assertTrue(any((left[name] != right[name]).any() for name in left))
                for name in left:
                    self.assertLess(np.abs(left[name] - right[name]).mean(), 0.02 * np.abs(left[name]).max() + 0.01)
        refused(f"train_gcn {plain} --wire bfloat16", says="--wire: requires --devices", status=2)
        refused(f"train_gcn {plain} --wire bfloat16 --devices cpu,cpu --loader neighbor", says="fetch no rows", status=2)

    def test_a_checkpoint_goes_on_with_any_number_of_ranks(self):
        line = f"train_gcn {plain} --epochs 9 {STEPS[11:]}"
        one = result_of(f"{line} --checkpoint one.ck")
        run(f"train_gcn {plain} --epochs 4 {STEPS[11:]} --devices cpu,cpu,cpu --checkpoint part.ck")
        for devices in ("", "--devices cpu,cpu"):
            rest = result_of(f"{line} {devices} --resume part.ck --checkpoint rest.ck")
            self.assertAlmostEqual(rest["val_loss"], one["val_loss"], delta=1e-5)
            run(f"predict {plain} --checkpoint rest.ck --out p.h5")

    def test_what_ranks_do_not_take_is_refused(self):
        for options, says in (("--devices cpu,cpu --inductive", "conflicts with --inductive"),
                              ("--devices cpu --device cuda", "conflicts with --device cuda"),
                              ("--devices cpu,cpu --node-features learned", "--node-features learned"),
                              ("--devices cpu,gpu", "expected all, or a list as cuda:0,cuda:1"),
                              ("--devices cpu,cpu --ranks 1", "at least one for each of 2 devices"),
                              ("--ranks 2", "requires --devices"), ("--devices cpu --ranks 65", "64")):
            refused(f"train_gcn {plain} {options}", says=says, status=2)

    def test_ranks_share_mini_batches(self):
        small_steps = STEPS.replace("0.05", "0.005")
        for program, options in (("train_sage", "--norm batch"), ("train_sage", ""), ("train_gat", "--attention-dropout 0"),
                                 ("train_sage", "--class-weights balanced"), ("train_gin", "--norm none"), ("train_gcn", "")):
            for batches in ("--batch-size 60 --fanouts 4,3", "--batch-size 59 --fanouts -1", "--batch-size 500 --fanouts 5"):
                # A batch norm counts a node once for each rank that sampled it, and a GCN takes degrees from such a part.
                # Sums over a hub's neighbours are large: there a rounding can put a unit on the other side of ReLU's bend.
                bound = 0.15 if "batch" in options or "gcn" in program else 1e-4 if "gin" in program else 1e-5
                line = f"{program} {plain} {options} {small_steps} --loader neighbor {batches}"
                with self.subTest(program=program, options=options, batches=batches):
                    one = result_of(line)
                    for devices in ("--devices cpu,cpu,cpu", "--devices cpu --ranks 5 --workers 0"):
                        many = result_of(f"{line} {devices}")
                        for name in ("train_loss", "val_loss", "test_loss"):
                            self.assertAlmostEqual(many[name], one[name], delta=bound)
        line = f"train_sage {plain} {STEPS.replace('dropout 0', 'dropout 0.5')} --loader neighbor --batch-size 50 --ranks 4 --predict"
        for devices in ("cpu", "cpu,cpu"):
            run(f"{line} {devices}.h5 --devices {devices}")
        left, right = predictions("cpu.h5"), predictions("cpu,cpu.h5")
        expect_equal(left, right)

    def test_ranks_share_the_parts_of_a_batch(self):
        part = np.arange(NODES) % 6  # without edges to others, so that a batch is the sum of its parts
        src, dst = rng.integers(0, NODES // 6, (2, EDGES)) * 6 + rng.integers(0, 6, EDGES)[None]
        order = np.concatenate([rng.permutation(np.flatnonzero(part != 2)), np.flatnonzero(part == 2)])  # which has none to train on
        parts = dataset("parts.h5", **{"nodes/part": part.astype(np.int32), "edges/src": src, "edges/dst": dst},
                        **{f"splits/{name}": np.sort(index) for name, index in zip(PARTS, np.split(order, [180, 240]))})
        for program, options in (("train_gcn", "--norm batch"), ("train_sage", ""), ("train_gin", "--norm none"),
                                 ("train_sage", "--class-weights balanced")):
            line = f"{program} {parts} {options} {STEPS.replace('0.05', '0.005')} --loader cluster --parts-per-batch 4"
            one = result_of(line)
            for devices in ("--devices cpu,cpu", "--devices cpu --ranks 5 --workers 0"):
                with self.subTest(program=program, options=options, devices=devices):
                    many = result_of(f"{line} {devices}")
                    for name in ("train_loss", "val_loss", "test_loss"):
                        self.assertAlmostEqual(many[name], one[name], delta=1e-5)

    def test_each_rank_draws_a_subgraph_of_a_step(self):
        # Two small steps change the outputs as one of twice the rate over both subgraphs does, whose losses are averaged.
        for program, options in (("train_gcn", ""), ("train_sage", ""), ("train_sage", "--class-weights balanced")):
            line = f"{program} {plain} {options} --loader saint --saint node --budget 80 --dropout 0 --optimizer sgd --momentum 0 --epochs 1 --quiet"
            for name, rest in (("begin", "--steps 2 --lr 1e-12"), ("one", "--steps 2 --lr 1e-3"),
                               ("two", "--steps 1 --lr 2e-3 --devices cpu,cpu")):
                run(f"{line} {rest} --predict {name}.h5")
            begin, one, two = (predictions(f"{name}.h5") for name in ("begin", "one", "two"))
            with self.subTest(program=program, options=options):
                for name in begin:
                    change = one[name] - begin[name]
                    self.assertGreater(np.abs(change).max(), 1e-5)
                    np.testing.assert_allclose(two[name] - begin[name], change, atol=0.03 * np.abs(change).max())

    def test_ranks_read_the_rows_of_features_that_others_keep(self):
        neighbor = "--loader neighbor --batch-size 50 --fanouts 4,3 --dropout 0.3"
        for program, options, devices in (
                ("train_sage", f"{neighbor} --workers 0", "cpu,cpu"), ("train_sage", f"{neighbor} --workers 2", "cpu,cpu"),
                ("train_sage", f"{neighbor} --workers 2 --features-scaling real", "cpu,cpu,cpu"), ("train_sage", neighbor, "cpu"),
                ("train_sage", f"{neighbor} --features-bits 5", "cpu,cpu"), ("train_gat", f"{neighbor} --hidden 4 --heads 2", "cpu,cpu"),
                ("train_sage", f"{neighbor} --precision bfloat16 --workers 2", "cpu,cpu"),
                ("train_sage", "--loader cluster --parts 30 --parts-per-batch 7", "cpu,cpu"),
                ("train_gin", "--loader saint --budget 40 --saint node", "cpu,cpu")):
            found = []
            for place in ("device", "split"):
                run(f"{program} {plain} {options} --devices {devices} --features {place} --epochs 4 --patience 0 --quiet "
                    f"--metrics {place}.csv --checkpoint {place}.h5 --predict {place}-p.h5")
                losses = [{name: value for name, value in row.items() if "loss" in name or "acc" in name} for row in rows(f"{place}.csv")]
                found.append((losses, pathlib.Path(f"{place}.h5").read_bytes(), predictions(f"{place}-p.h5")))
            with self.subTest(program=program, options=options, devices=devices):
                self.assertEqual(len(found[0][0]), 4)
                self.assertTrue(found[0][0][0])
                self.assertEqual(found[1][0], found[0][0])
                self.assertTrue(found[1][1] == found[0][1], "the checkpoints differ")
                expect_equal(found[1][2], found[0][2])
        # With more ranks than nodes some keep none.
        nodes = 5
        few = write_graph("five.h5", {"edges/src": np.arange(5), "edges/dst": (np.arange(5) + 1) % 5, "nodes/y": np.int32([0, 1, 0, 1, 0]),
                                      "nodes/x": rng.normal(size=(nodes, 3)).astype(np.float32), "splits/train": np.arange(3),
                                      "splits/val": np.int64([3]), "splits/test": np.int64([4])},
                          task="node_class", num_nodes=nodes, num_classes=2, undirected=0)
        line = f"train_sage {few} --loader neighbor --devices cpu --ranks 8 --epochs 3 --quiet --predict"
        run(f"{line} device.h5")
        run(f"{line} split.h5 --features split")
        expect_equal(predictions("split.h5"), predictions("device.h5"))

    def test_features_are_split_over_the_devices_of_ranks_only(self):
        sparse = dataset("sparse-split.h5")
        with h5py.File(sparse, "a") as f:
            del f["nodes/x"]
            f["nodes/x_indptr"], f["nodes/x_indices"] = np.arange(NODES + 1), np.arange(NODES, dtype=np.int32) % 12
            f["nodes/x_data"] = np.ones(NODES, np.float32)
            f["nodes"].attrs["x_cols"] = 12
        split = "--features split --loader neighbor"
        for line, says in ((f"train_sage {plain} {split}", "--features split: requires --devices in one process, as cuda:0,cuda:1"),
                           (f"train_sage {plain} --features split --devices cpu,cpu", "conflicts with --features split, expected device or file"),
                           (f"train_sage {plain} {split} --devices cpu,cpu --cached-rows 5", "--cached-rows: requires --features host or file"),
                           (f"train_sage {plain} {split} --devices cpu,cpu --evaluation graph", "--evaluation graph: conflicts with --features split"),
                           (f"train_gcn {plain} {split} --devices cpu,cpu", "--features split: gcn is evaluated over the whole graph"),
                           (f"train_sage {sparse} {split} --devices cpu,cpu", "expected dense or quantised features, those of"),
                           (f"train_link {plain} {split}", "--features: expected device or host or file, got 'split'"),
                           (f"predict {plain} --checkpoint c.h5 --out p.h5 --features split", "--features: expected device or host or file, got 'split'")):
            refused(f"{line} --quiet", says=says, status=2)

    def test_more_ranks_than_rows(self):
        few = dataset("few.h5", **{"nodes/x": rng.normal(size=(NODES, 3)).astype(np.float32)})
        line = f"train_gcn {few} {STEPS} --norm batch"
        one, many = result_of(line), result_of(f"{line} --devices cpu --ranks 64")
        self.assertAlmostEqual(many["val_loss"], one["val_loss"], delta=1e-5)

    def test_a_plan_says_what_ranks_fetch(self):
        with h5py.File(plain) as f:
            src, dst = f["edges/src"][:], f["edges/dst"][:]
        lines = run(f"partition {plain} --plan 3 --width 100").splitlines()
        expect(lines[0], f"{NODES} nodes, {EDGES} directed edges")
        self.assertEqual([line.split()[0] for line in lines[2:]], ["1", "2", "3"])
        kept = (NODES * 400 + EDGES * 8 + NODES * 16) / 1e6
        self.assertEqual(lines[2].split(), ["1", str(NODES), str(EDGES), "0.0%", "0", "0.0%", "0.0", f"{kept:.1f}"])
        counts = np.bincount(dst, minlength=NODES)
        for line in lines[3:]:
            ranks, nodes, edges, excess, halo, _, fetched, kept = line.split()
            self.assertGreaterEqual(int(nodes), NODES / int(ranks) - 8)
            self.assertAlmostEqual(float(excess[:-1]), 100 * (int(edges) * int(ranks) / EDGES - 1), delta=0.06)
            self.assertAlmostEqual(float(fetched), int(halo) * 400 / 1e6, delta=0.06)
            self.assertAlmostEqual(float(kept), ((int(nodes) + int(halo)) * 400 + int(edges) * 8 + int(nodes) * 16) / 1e6, delta=0.06)
            self.assertLessEqual(int(halo), len(set(src)))
            self.assertLessEqual(int(edges), EDGES / int(ranks) + counts.max() + 8 * 16)
        timed = run(f"partition {plain} --plan 2 --width 100 --link 0.5").splitlines()
        one = float(timed[1].split("cpu: ")[1].split()[0])
        for line in timed[3:]:
            _, _, edges, _, halo, *_, total, fetch, gain = line.split()
            self.assertAlmostEqual(float(total), one * int(edges) / EDGES, delta=1e-3)
            self.assertAlmostEqual(float(fetch), int(halo) * 400 / 0.5e6, delta=1e-3)
            self.assertAlmostEqual(float(gain[:-1]), one / (one * int(edges) / EDGES + float(fetch)), delta=0.05)
        refused(f"partition {plain} out.h5 --parts 2 --link 3", says="--link: requires --plan", status=2)
        refused(f"partition {plain} out.h5 --plan 2", says="expected partition IN.h5 --plan N", status=2)
        refused(f"partition {plain} --plan 65", says="64", status=2)

    def test_what_a_launcher_says(self):
        def alone(program, *words, **variables):
            clean = {name: value for name, value in os.environ.items() if name != "ADJOINT_NUM_THREADS"}
            return subprocess.run([BIN / program, *words], capture_output=True, text=True, timeout=120, env={**clean, **variables})

        error = alone("train_gcn", "--epochs", "1", PMI_RANK="5", PMI_SIZE="3").stderr
        expect(error, "PMI_RANK=5, expected less than PMI_SIZE=3")
        expect(alone("train_gcn", "--epochs", "1", PMI_RANK="x", PMI_SIZE="3").stderr, "PMI_RANK: expected a number, got 'x'")
        if os.environ.get("ADJOINT_MPIRUN", "").startswith("/"):  # a launcher that MPI does not know
            error = alone("train_gcn", "--epochs", "1", SLURM_PROCID="0", SLURM_STEP_NUM_TASKS="2").stderr
            expect(error, "2 processes were started together, but MPI knows 1")
        first = alone("train_gcn", "--epochs", "1", SLURM_PROCID="0", SLURM_STEP_NUM_TASKS="1")
        self.assertEqual(first.returncode, 0)
        cores = len(os.sched_getaffinity(0))
        for tasks, share in (("1", 1), ("2(x3),1", 2), ("4096", 4096)):
            out = alone("bench", "relu", "--repeats", "1", SLURM_PROCID="0", SLURM_STEP_NUM_TASKS="1", SLURM_STEP_TASKS_PER_NODE=tasks)
            threads = int(out.stdout.split(" threads,")[0].split()[-1])
            self.assertTrue(1 <= threads <= max(1, cores // share), (threads, out.stderr))

    def test_a_failing_rank_ends_all(self):
        refused(f"train_gcn {plain} --lr 1e30 --epochs 9 --devices cpu,cpu,cpu --quiet", says="try a smaller --lr")


# MPI has leaks of its own.
MPI_ENVIRONMENT = {**os.environ, "ADJOINT_RANK_TIMEOUT": "2", "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"}


def launch(*processes, status=0, both=False):
    """Of processes that mpirun starts: what they write to stdout and the messages on stderr; or (`both`) all in one text."""
    words = " : ".join(f"-n {count} {BIN}/{line}" for count, line in processes).split()
    ran = subprocess.run([os.environ["ADJOINT_MPIRUN"], *words], capture_output=True, text=True, timeout=120,
                         env={**MPI_ENVIRONMENT, "ADJOINT_RANK_TIMEOUT": "60"})
    assert (ran.returncode == 0) == (status == 0), (words, ran.stdout, ran.stderr)
    if both:
        return ran.stdout + ran.stderr
    return ran.stdout, [line for line in ran.stderr.splitlines() if line.startswith(("train_", "error:"))]


def degrees_in(page):
    """The table of nodes by in-degree."""
    return read(page).split("<th>in-degree")[1].split("</table>")[0]


def is_running(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(") ", 1)[1][0] != "Z"
    except OSError:
        return False


@unittest.skipUnless(os.environ.get("CI") or os.environ.get("ADJOINT_MPIRUN", "").startswith("/"), "no MPI")
class Processes(unittest.TestCase):
    def test_processes_have_the_bits_of_threads(self):
        batches = "--loader neighbor --batch-size 50 --fanouts 4,3 --dropout 0.3"
        subgraphs = "--dropout 0.3 --loader"
        for program, options in [*PROGRAMS.items(), ("train_sage", batches), ("train_gcn", batches),
                                 ("train_sage", f"{subgraphs} cluster --parts 30 --parts-per-batch 7"),
                                 ("train_gcn", f"{subgraphs} saint --budget 40")]:
            line = f"{program} plain.h5 {options} --epochs 5 --patience 0 --json --quiet"
            for ranks in (2, 4):
                with self.subTest(program=program, options=options, ranks=ranks):
                    threads = result_of(f"{line} --devices cpu --ranks {ranks} --predict threads.h5")
                    out, errors = launch((ranks, f"{line} --predict processes.h5"))
                    self.assertEqual(errors, [])
                    processes = json.loads(out)  # of the first alone
                    for name in ("train_loss", "val_loss", "test_loss", "test_acc"):
                        self.assertEqual(processes[name], threads[name])
                    left, right = predictions("threads.h5"), predictions("processes.h5")
                    expect_equal(left, right)

    def test_processes_read_their_own_edges(self):
        weighted = {"edges/weight": rng.random(EDGES).astype(np.float32) + 0.1}
        scale = np.where(PLAIN_EDGES["edges/dst"] > 250, 1000, 1)  # large at nodes of the last rank
        attributes = {**PLAIN_EDGES, "edges/attr": (rng.uniform(0.5, 1, (2, EDGES)) * [np.ones(EDGES), scale]).T.astype(np.float32),
                      "edges/time": np.arange(EDGES) + (1 << 40)}
        edges = rng.integers(0, NODES, (2, EDGES // 2))
        both = {"edges/src": np.concatenate([edges[0], edges[1]]), "edges/dst": np.concatenate([edges[1], edges[0]]),
                "edges/weight": np.tile(weighted["edges/weight"][:EDGES // 2], 2)}
        every = {"edges/src": np.arange(NODES, dtype=np.int32), "edges/dst": np.arange(NODES, dtype=np.int32)}  # a loop each
        signed = {"edges/weight": np.where(np.arange(EDGES) % 9 == 0, -0.01, 1).astype(np.float32)}
        whole = "each rank holds"
        for name, changes, line, says in (
                ("weighted", weighted, "train_gcn", ""), ("weighted", weighted, "train_gcn --edge-weights ignore", ""),
                ("weighted", weighted, "train_sage", ""), ("both", both, "train_gcn", ""), ("every", every, "train_gcn", ""),
                ("signed", signed, "train_gcn", "167 of 1500 are negative"),
                ("attributes", attributes | weighted, "train_gat", "columns of very different scale, the largest value is"),
                ("attributes", attributes | weighted, "train_transformer --edge-weights attribute", ""),
                ("plain", {}, "train_gcn --node-features degree", ""), ("plain", {}, "train_sage --node-features one-hot-degree", ""),
                ("plain", {}, "train_gcn --node-features random-walk", f"random-walk: {whole} the whole graph"),
                ("plain", {}, "train_gcn --features-scaling real --report r.html", f"features: {whole} those of all nodes, as --report"),
                ("plain", {}, "train_gcn --features-bits 8", f"features: {whole} those of all nodes, as --features-bits"),
                ("plain", {}, "train_gcn --features file --features-scaling real", ""),
                ("labels", {"edges/y": rng.integers(0, 2, EDGES)}, "train_gcn", f"edges/y: labels are by the whole list, so {whole}")):
            path = dataset(f"{name}.h5", **changes) if changes else plain
            program, *options = line.split()
            line = " ".join([program, str(path), *options, "--epochs 4 --patience 0"])
            for ranks in (2, 4):
                with self.subTest(line=line, ranks=ranks):
                    run(f"{line} --quiet --devices cpu --ranks {ranks} --predict threads.h5 --checkpoint threads.ck")
                    degrees = degrees_in("r.html") if "--report" in line else None
                    text = launch((ranks, f"{line} --predict processes.h5 --checkpoint processes.ck"), both=True)
                    if says:
                        expect(text, says)
                    else:
                        self.assertNotIn(whole, text)
                    if degrees:
                        self.assertEqual(degrees_in("r.html"), degrees)
                    self.assertEqual(text.count(f"{NODES} nodes, {NODES if name == 'every' else EDGES} edges, "), 1)
                    left, right = predictions("threads.h5"), predictions("processes.h5")
                    expect_equal(left, right)
                    expect_equal(datasets_in("threads.ck"), datasets_in("processes.ck"))
                    with h5py.File("threads.ck") as threads, h5py.File("processes.ck") as processes:
                        for fact in ("dataset", "undirected"):
                            self.assertEqual(threads["facts"].attrs[fact], processes["facts"].attrs[fact])

    def test_the_first_writes_and_others_go_on(self):
        line = "train_gcn plain.h5 --patience 0 --json --quiet --run-dir together --report r.html --metrics m.csv --predict p.csv"
        out, _ = launch((3, f"{line} --epochs 4"))
        self.assertEqual(len(rows("p.csv")), NODES)
        self.assertEqual(len(rows("m.csv")), 4)
        expect(read("r.html"), "3 ranks on cpu")
        rest, _ = launch((2, "train_gcn plain.h5 --patience 0 --json --quiet --epochs 9 --resume together/checkpoint.h5"))
        whole, _ = launch((2, "train_gcn plain.h5 --patience 0 --json --quiet --epochs 9"))
        self.assertAlmostEqual(json.loads(rest)["val_loss"], json.loads(whole)["val_loss"], delta=1e-5)

    def test_what_differs_is_refused(self):
        other = dataset("other.h5", **{"nodes/x": np.zeros((NODES, 12), np.float32), **PLAIN_EDGES})
        edges = dataset("edges.h5", **{"edges/src": rng.integers(0, NODES, EDGES)})
        outside = dataset("outside.h5", **{"edges/dst": np.where(np.arange(EDGES) == 700, NODES, 1)})
        told = f"outside.h5: edges/dst: {NODES} at position 700, expected 0 to {NODES - 1}"
        refused(f"train_gcn {outside}", says=told)
        for first, second, says in (
                ("plain.h5", "plain.h5 --lr 0.1", "--lr: rank 1 has '0.1', and rank 0 '0.01'; expected the same on all ranks"),
                ("plain.h5", other, "plain.h5: rank 1 has '"),
                ("plain.h5", edges, "edges: rank 1 has '300 nodes, 1500 edges, contents "),
                (outside, outside, f"rank 0 of 2: {told}"),
                ("plain.h5", "missing.h5", "rank 1 of 2: missing.h5: No such file"),
                ("missing.h5", "missing.h5", "rank 0 of 2: missing.h5: No such file"),
                ("plain.h5 --ranks 2", "plain.h5 --ranks 2", "2 processes: conflict with --ranks"),
                ("plain.h5 --inductive", "plain.h5 --inductive", "2 processes: conflict with --inductive"),
                ("plain.h5 --features split", "plain.h5 --features split", "--features split: requires --devices in one process")):
            with self.subTest(first=first, second=second):
                _, errors = launch((1, f"train_gcn {first}"), (1, f"train_gcn {second}"), status=1)
                self.assertEqual(len(errors), 1, errors)
                expect(errors[0], says)
        few = subprocess.run([os.environ["ADJOINT_MPIRUN"], "-n", "2", BIN / "train_gcn", "plain.h5", "--epochs", "1", "--quiet",
                              "--devices", "cpu,cpu,cpu"], capture_output=True, text=True, check=True, env=MPI_ENVIRONMENT).stderr
        self.assertEqual(few.count("2 of this host's 3 devices are used"), 1, few)
        _, errors = launch((2, "train_link plain.h5"), status=1)
        expect(errors[0], "2 processes were started together, expected one")
        _, errors = launch((3, f"train_gcn {plain} --lr 1e30 --epochs 9 --quiet"), status=1)
        self.assertEqual(len(errors), 1, errors)
        expect(errors[0], "rank 0 of 3", "try a smaller --lr")

    def test_a_process_that_dies_or_stops_ends_all(self):
        line = "train_gcn plain.h5 --epochs 1000000 --patience 0 --quiet --checkpoint kept.h5 --checkpoint-every 1"
        for sent in (signal.SIGKILL, signal.SIGSTOP, signal.SIGTERM):
            with self.subTest(signal=sent):
                pathlib.Path("kept.h5").unlink(missing_ok=True)
                all_ranks = subprocess.Popen([os.environ["ADJOINT_MPIRUN"], "-n", "3", f"{BIN}/train_gcn", *line.split()[1:]],
                                             stderr=subprocess.PIPE, text=True, env=MPI_ENVIRONMENT)
                while not pathlib.Path("kept.h5").exists():
                    time.sleep(0.05)
                    self.assertIsNone(all_ranks.poll())
                found = pathlib.Path(f"/proc/{all_ranks.pid}/task/{all_ranks.pid}/children").read_text().split()
                ranks = [pid for pid in found if "train_gcn" in pathlib.Path(f"/proc/{pid}/comm").read_text()]
                self.assertEqual(len(ranks), 3)
                os.kill(int(ranks[1]), sent)
                _, error = all_ranks.communicate(timeout=60)
                self.assertNotEqual(all_ranks.returncode, 0)
                expect(error, {signal.SIGKILL: "signal 9", signal.SIGSTOP: "rank 1 has given no sign of life for 2 seconds",
                               signal.SIGTERM: "rank 0 of 3: interrupted after epoch"}[sent])
                while any(is_running(pid) for pid in ranks):  # the launcher may end before those that it has ended
                    time.sleep(0.05)
                run("train_gcn plain.h5 --epochs 1 --patience 0 --quiet --checkpoint kept.h5")  # whole, and may be replaced


if __name__ == "__main__":
    unittest.main()
