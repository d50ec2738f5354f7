"""The program bench: its figures are there and consistent, and wrong calls are refused."""

from programs import expect, result_of, run


def results(line):
    return result_of(f"bench {line} --graph roads --repeats 1 --json")


def test_figures():
    report = results("spmm gemm coo_to_csr --width 8 --out 16")
    assert report["app"] == "bench" and report["dataset"] == "roads" and report["nodes"] == 142257
    assert [row["op"] for row in report["results"]] == ["spmm", "gemm", "coo_to_csr"]
    for row in report["results"]:
        assert row["ms"] > 0 and row["min_ms"] <= row["ms"] and row["copy_gb_s"] > 0 and row["peak_mb"] > 0
        assert abs(row["gb_s"] - row["bytes"] / row["ms"] / 1e6) <= 0.01 * row["gb_s"]
    nodes, edges = report["nodes"], report["edges"]
    spmm, gemm, _ = report["results"]
    # A row of features, a column and a weight for every entry; an offset and a row of the result for every node.
    assert spmm["bytes"] == edges * (8 * 4 + 4 + 4) + (nodes + 1) * 8 + nodes * 8 * 4
    assert gemm["bytes"] == 4 * (nodes * 8 + 8 * 16 + nodes * 16)
    gat = results("gat --width 16 --heads 6")["results"][0]
    assert gat["shape"] == f"{nodes} x 2 x 8, {edges} entries"
    # A row of features, a column and a source's two terms for every entry; of every node an offset, its own
    # two terms, the row of the result and two statistics.
    assert gat["bytes"] == edges * (16 * 4 + 4 + 2 * 4) + (nodes + 1) * 8 + nodes * (16 * 4 + 2 * 2 * 4)
    half = results("spmm --width 8 --dtype bfloat16")["results"][0]
    assert half["bytes"] == edges * (8 * 2 + 4 + 4) + (nodes + 1) * 8 + nodes * 8 * 2


def test_orders():
    ordered = results("spmm --width 4 --order random --order metis --parts 9")
    plain = results("spmm --width 4")
    assert ordered["edges"] == plain["edges"] and ordered["results"][0]["bytes"] == plain["results"][0]["bytes"]


def test_training_epoch():
    row = results("gcn_epoch --hidden 4 --layers 2 --features 3 --classes 2")["results"][0]
    assert row["ms"] > 0 and row["shape"].startswith("3-1x4-2")
    # The programs' models, with heads of width --hidden.
    rows = results("gatv2_epoch sage_epoch --hidden 4 --heads 2 --layers 2 --features 3 --classes 2 --dtype bfloat16")["results"]
    assert [row["shape"] for row in rows] == ["GATv2 3-2x4-2 batch-norm", "SAGE-mean 3-4-2 batch-norm"]


def test_sampling():
    for more in ("", "--sampling replace", "--sampling labor --workers 2"):
        for row in results(f"sample neighbor_batch --fanouts 3,2 --batch-size 100 --features 5 {more}")["results"]:
            batches, _, seeds, _, nodes, _ = row["shape"].split()
            assert (batches, seeds) == ("50", "100") and 5000 < int(nodes) < 5000 + row["edges"]
            assert 5000 < row["edges"] <= 50 * (100 * 3 + 400 * 2)
            assert abs(row["edges_s"] - row["edges"] / row["ms"] * 1e3) <= 0.01 * row["edges_s"]
            assert row["bytes"] > 12 * row["edges"] + (2 * 4 * 5 * int(nodes) if row["op"] == "neighbor_batch" else 0)


def test_clusters():
    rows = results("cluster_epoch cluster_epoch_kept cluster_batches --hidden 4 --layers 2 --features 3 --classes 2 --parts 40 "
                   "--parts-per-batch 7")["results"]
    assert [row["op"] for row in rows] == ["cluster_epoch", "cluster_epoch_kept", "cluster_batches"]
    for row in rows:
        assert row["ms"] > 0 and row["shape"] == "GCN 3-4-2 batch-norm, 7 of 40 parts a batch", row


def test_wrong_calls():
    for words, told in (("nonsense", "no op 'nonsense'"), ("--graph nowhere", "expected one of"), ("--repeats 0", "--repeats"),
                        ("--dtype float16", "--dtype"), ("sample --fanouts 5,x", "--fanouts"), ("sample --sampling none", "--sampling"),
                        ("sample --sampling weighted", "has no edge weights"), ("sample --batch-size 100000", "nodes to train on"),
                        ("--heads 0", "--heads"), ("--attention-dropout 1", "--attention-dropout"), ("--order best", "--order"),
                        ("--parts -1", "--parts"), ("--parts-per-batch 0", "--parts-per-batch"), ("--speed", "--speed"),
                        ("--device tpu", "tpu")):
        expect(run(f"bench {words}", status=2), told)
    expect(run("bench spmm --data /nonexistent.h5", status=1), "/nonexistent.h5")
    expect(run("bench --help"), "spmm_backward")


for test in (test_figures, test_orders, test_training_epoch, test_sampling, test_clusters, test_wrong_calls):
    test()
