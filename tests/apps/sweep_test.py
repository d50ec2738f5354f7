"""`sweep`: trials are those of their commands, whatever is interrupted; the best is by validation; what is refused."""

import json
import random
import re
import signal
import subprocess
from pathlib import Path

from programs import BIN, expect, refused, result_of, run

TIMES = {"epoch_ms", "peak_mb", "wall_s"}
SPACE = """parameters:
  lr: {float: [0.003, 0.3], log: true}
  hidden: {int: [4, 12], step: 4}
  optimizer: [adam, sgd]
  momentum: {float: [0.5, 0.95], when: {optimizer: sgd}}
"""
TPE = "program: train_gcn\nmethod: tpe\nstartup: 4\ngeneration: 2\ntrials: 8\noptions: {epochs: 3, dropout: 0.25}\n" + SPACE
ASHA = "program: train_gcn\nmethod: asha\ngeneration: 3\ntrials: 6\nmin-epochs: 2\nreduction: 2\noptions: {epochs: 8}\n" + SPACE


def study(name, text, **more):
    Path(name).write_text(text + "".join(f"{key}: {value}\n" for key, value in more.items()))
    return name


def records(folder):
    return [json.loads(path.read_text()) for path in sorted(Path(folder).glob("trial-*.json"))]


def results(path):
    """Of a run's run.json, or of --json, without times."""
    found = json.loads(Path(path).read_text())["result"] if isinstance(path, (str, Path)) else path
    return {name: value for name, value in found.items() if name not in TIMES}


def best_of(folder):
    return int(re.search(r"trial (\d+) of", Path(folder, "best.yaml").read_text())[1])


def test_programs():
    """Every training program checks its options; those with a form of options of their own are searched too."""
    for program in sorted(path.name for path in Path(BIN).glob("train_*")):
        found = json.loads(run(f"{program} none.h5 --seed 3 --check").splitlines()[-1])
        assert found["data"] == "none.h5" and found["seed"] == 3, (program, found)
    run("generate tastes shop.h5 --users 100 --items 90")
    text = """program: train_recommend
method: grid
options: {data: shop.h5, epochs: 2, eval-every: 1, k: 5, metric: ndcg}
parameters: {width: [4, 8]}
"""
    expect(run("sweep", study("shop.yaml", text)), "ndcg@5", "higher is better")
    assert results(result_of("train_recommend --config shop/best.yaml --quiet --json")) == results(f"shop/trial-{best_of('shop'):04}/run.json")


def test_grid():
    text = """program: train_gcn
method: grid
runs: 2
jobs: 2
options: {epochs: 4, seed: 5}
parameters:
  hidden: [4, 6, 12]
  lr: {float: [0.01, 0.1], log: true, points: 2}
  inductive: [true, false]
"""
    shown = run("sweep", study("grid.yaml", text))
    trials = records("grid")
    points = [[h, lr, i] for h in ("4", "6", "12") for lr in ("0.01", "0.1") for i in ("true", "false")]
    assert [list(trial["options"].values()) for trial in trials] == points
    values = [trial["rungs"][0]["value"] for trial in trials]
    best = best_of("grid")
    assert values[best] == max(values) and values.index(max(values)) == best, (values, best)
    rung = trials[best]["rungs"][0]
    expect(shown, f"* {best} ", f"{rung['value']:.4f} ± {rung['deviation']:.4f}", f"{rung['test']:.4f} ± {rung['test_deviation']:.4f}",
           "higher is better", "that each explains alone: ")
    # A trial has the bits of its command, and best.yaml those of the best.
    alone = result_of("train_gcn --epochs 4 --seed 5 --runs 2 --hidden 6 --lr 0.1 --inductive --quiet --json")
    assert results(alone) == results("grid/trial-0006/run.json")
    assert results(result_of("train_gcn --config grid/best.yaml --quiet --json")) == results(f"grid/trial-{best:04}/run.json")
    assert alone["val_acc"] == values[6] and alone["val_acc_std"] == trials[6]["rungs"][0]["deviation"] > 0
    rows = re.findall(r"trial-(\d+) ", run("compare grid").split("\n\n")[0])
    assert len(rows) == 12 and values[int(rows[0])] == max(values)
    # What is done is not done again, what decides cannot change, and all others can.
    before = Path("grid/trial-0003.json").stat().st_mtime_ns
    run("sweep", study("grid.yaml", text.replace("jobs: 2", "jobs: 1\ntimeout: 60")))
    assert Path("grid/trial-0003.json").stat().st_mtime_ns == before
    refused("sweep", study("grid.yaml", text.replace("seed: 5", "seed: 6")), says=["study.json", 'seed was "5"', 'now "6"'])


def killed(path, how, rng):
    """Starts the study again and again, each time ended at a random moment; the times that it was."""
    for count in range(100):
        process = subprocess.Popen([BIN / "sweep", path, "--quiet"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        try:
            process.wait(rng.uniform(0.05, 0.3 + 0.1 * count))
            assert process.returncode == 0, process.stderr.read()
            return count
        except subprocess.TimeoutExpired:
            process.send_signal(how)
            process.wait()
            if how == signal.SIGINT and process.returncode:
                says = process.stderr.read().decode()  # -2: before it began
                assert process.returncode == -2 or process.returncode == 130 and "continues" in says, (process.returncode, says)
    raise AssertionError("never ends")


def test_interrupted():
    """Trials, results and the best are those of a study that nothing interrupted, with any number of jobs."""
    rng = random.Random(3)
    for name, text in (("tpe", TPE), ("asha", ASHA)):
        run("sweep", study(f"{name}.yaml", text, jobs=3))
        whole, best = records(name), Path(name, "best.yaml").read_text()
        for how, jobs in ((signal.SIGKILL, 1), (signal.SIGINT, 2))[: 2 if name == "tpe" else 1]:
            again = f"{name}-{jobs}"
            if how == signal.SIGINT:  # more trials go on where fewer ended
                run("sweep", study(f"{again}.yaml", text.replace("trials: 8", "trials: 3")))
            count = killed(study(f"{again}.yaml", text, jobs=jobs), how, rng)
            assert count > 0, count
            assert records(again) == whole, again
            assert Path(again, "best.yaml").read_text().splitlines()[1:] == best.splitlines()[1:]
            for folder in Path(again).glob("trial-*/"):
                assert results(folder / "run.json") == results(Path(name, folder.name, "run.json"))
    assert sum(len(trial["rungs"]) for trial in records("asha")) > 6
    assert records("asha")[best_of("asha")]["rungs"][-1]["epochs"] == 8
    assert results(result_of("train_gcn --config asha/best.yaml --quiet --json")) == results(f"asha/trial-{best_of('asha'):04}/run.json")


def test_failures():
    """Trials that fail are told, and the others are tried; trials with the same options are one."""
    text = "program: train_gcn\nmethod: random\ntrials: 6\noptions: {epochs: 3}\nobjective: val_loss\nparameters:\n  lr: [0.01, 1e30]\n"
    shown = run("sweep", study("nan.yaml", text))
    found = records("nan")
    bad = [trial["options"]["lr"] == "1e30" for trial in found]
    assert 0 < sum(bad) < 6 and bad == ["message" in trial["rungs"][0] for trial in found]
    assert len({trial["rungs"][0]["same_as"] for trial in found} - {-1}) == 2 == len(list(Path("nan").glob("trial-*/")))
    expect(shown, f"{sum(bad)} of 6 trials failed", "not finite", "val_loss", "lower is better")
    assert "all 6 trials failed, trial 0: " in run("sweep", study("all.yaml", text.replace("0.01, ", "")), status=1)
    slow = text.replace("lr: [0.01, 1e30]", "hidden: [4, 8]").replace("epochs: 3", "epochs: 1000000")
    expect(run("sweep", study("slow.yaml", slow, timeout=0.3, jobs=2), status=1), "timed out after 0.3 s")


def test_refused():
    def check(old, new, *says, text=TPE):
        assert old in text
        refused("sweep", study("bad.yaml", text.replace(old, new)), says=["bad.yaml:", *says])
        assert not Path("bad").exists()

    check("startup", "start-up", ":3: start-up: expected", "did you mean 'startup'?")
    check("tpe", "tpee", ":2: method: expected grid, random, tpe, asha", "did you mean 'tpe'?")
    check("train_gcn", "train_gnc", ":1: program: train_gnc", "did you mean 'train_gcn'?")
    check("hidden", "hiden", ":9: train_gcn: unrecognised option 'hiden'; did you mean 'hidden'?")
    check("epochs", "epoch", ":6: train_gcn: unrecognised option 'epoch'; did you mean 'epochs'?")
    check("[adam, sgd]", "[adam, sdg, sgd]", ":10: train_gcn: --optimizer: expected", "'sdg'")
    check("[4, 12]", "[0, 12]", ":9: train_gcn: --hidden: expected", "got 0")
    check(", when: {optimizer: sgd}", "", ":11: train_gcn: --momentum: requires --optimizer sgd")
    check("optimizer: sgd}", "optimizer: sdg}", ":11: momentum: when: optimizer: sdg", "did you mean 'sgd'?")
    check("optimizer: sgd}", "hidden: 4}", ":11: momentum: when: hidden: expected an earlier parameter with choices (optimizer)")
    check("log: true", "logs: true", ":8: lr: logs: expected", "did you mean 'log'?")
    check("0.003", "0", ":8: lr: log: requires a range above 0")
    check("[0.003, 0.3]", "[0.3, 0.003]", ":8: lr: expected the lower end first")
    check("step: 4", "step: 3", ":9: hidden: step: expected a divisor of 8, got 3")
    check("trials: 8", "trials: none", ":5: trials: expected an integer")
    check("trials: 8\n", "", "the key trials is missing")
    check("startup: 4\n", "objective: test_acc\n", ":3: objective: expected a result of the validation")
    check("dropout: 0.25", "lr: 0.01", ":8: lr: already in options")
    check("dropout: 0.25", "run-dir: a", ":6: run-dir: each trial has files of its own")
    check("optimizer: [", "seed: [", "seed: trials that differ in it cannot be compared", text=TPE.replace("momentum", "#"))
    check("epochs: 8", "dropout: 0.1", ":5: method asha: expected options with epochs", text=ASHA)
    check("epochs: 8", "epochs: 8, schedule: cosine", "conflicts with --schedule cosine", text=ASHA)
    check("epochs: 8", "epochs: 8, eval-every: 4", "a rung has 2 epochs, expected a multiple of --eval-every 4", text=ASHA)
    check("parameters:", "parameters: [", "not YAML")
    run("sweep", study("loss.yaml", TPE, objective="val_los"), status=1)
    expect(run("sweep loss.yaml", status=1), "objective val_los: train_gcn has no such result", "did you mean 'val_loss'?")
    Path("own").mkdir()
    Path("own/a.txt").write_text("mine")
    refused("sweep", study("own.yaml", TPE), says=["own: holds a.txt", "expected a new folder"])
    Path("c.yaml").write_text("epochs: 3\nhiden: 4\n")
    refused("train_gcn --config c.yaml", says="c.yaml:2: unrecognised option 'hiden'; did you mean 'hidden'?", status=2)
    assert json.loads(run("train_gcn --check --hidden 5"))["hidden"] == 5 and not run("sweep tpe.yaml --check")


for name, test in list(globals().items()):
    if name.startswith("test_"):
        test()
