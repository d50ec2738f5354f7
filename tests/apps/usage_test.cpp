#include "process.h"
#include "small_dataset.h"

using namespace adj;
using namespace adj::test;

TEST_CASE("train_gcn refuses wrong options with status 2 and one line") {
  check_refused(
      program("train_gcn"),
      {
          {{"--epochs", "0"}, {"--epochs", "1 or more", "0"}},
          {{"--epochs=many"}, {"--epochs", "many"}},
          {{"--epochs", "1.5"}, {"--epochs", "1.5"}},
          {{"--epochs", "5", "--epochs", "6"}, {"--epochs"}},
          {{"--epochs"}, {"--epochs"}},
          {{"--epoch", "5"}, {"'--epoch'", "did you mean '--epochs'?"}},
          {{"--learning-rate", "5"}, {"'--learning-rate'", "did you mean '--lr'?"}},
          {{"--weight_decay", "0"}, {"did you mean '--weight-decay'?"}},
          {{"-lr", "0.1"}, {"did you mean '--lr'?"}},
          {{"--loader", "clusters"}, {"--loader", "clusters", "did you mean 'cluster'?"}},
          {{"--metric", "accurracy"}, {"--metric", "did you mean 'accuracy'?"}},
          {{"--hidden", "100000000000"}, {"--hidden", "at most"}},
          {{"--split", "7"}, {"--split", "0 to 0", "7"}},
          {{"--metric", "r2"}, {"--metric", "accuracy or f1", "labels of 7 classes", "r2"}},
          {{"--kernels", "fast"}, {"--kernels", "auto or csr or tiles or hybrid", "fast"}},
          {{"--cuts", ""}, {"--cuts"}},
          {{"--cuts", "cuts.h5", "--device", "cuda"}, {"--cuts", "--precision tf32 or bfloat16"}},
          {{"--norm", "layer"}, {"--norm", "none or batch", "layer"}},
          {{"--device", "tpu"}, {"tpu"}},
          {{"--report"}, {"--report", ".html", "--class-scores"}},
          {{"--report", "--json"}, {"--report", ".html", "--class-scores"}},
          {{"--checkpoint", "--epochs"}, {"--checkpoint: expected a value, got the option --epochs"}},
          {{"--html", "p.html"}, {"--html is now --report"}},
          {{"--html=p.html"}, {"--html is now --report"}},
          {{"--metrics", ""}, {"--metrics"}},
          {{"--nonsense"}, {"nonsense"}},
          {{"-x"}, {"-x"}},
          {{"cora.h5", "other.h5"}, {"unexpected argument 'other.h5'"}},
          {{"cora.h5", "--data", "other.h5"}, {"--data other.h5", "'cora.h5'"}},
          {{"--quiet=maybe"}, {"--quiet"}},
      },
      {"--help"});
  CHECK(fails_with(run("train_gat", {"--kernels", "hybrid", "--device", "cuda", "--precision", "tf32"}), 2,
                   {"--kernels hybrid", "--attention-dropout 0"}));
  CHECK(fails_with(run("train_graph_gin", {"--cuts", "cuts.h5"}), 2, {"--cuts"}));
}

TEST_CASE("every program says which number it expected") {
  const struct {
    const char* program;
    Words arguments;
    std::string message;
  } cases[] = {
      {"train_gcn", {"--hidden", "abc"}, "--hidden: expected an integer from 1 to 1048576, got 'abc'"},
      {"train_gcn", {"--hidden", ""}, "--hidden: expected an integer from 1 to 1048576, got ''"},
      {"train_gcn", {"--seed=1e3"}, "--seed: expected an integer from 0 to 9223372035854775807, got '1e3'"},
      {"train_gcn", {"--lr", "0,01"}, "--lr: expected a positive number, got '0,01'"},
      {"train_gcn", {"--dropout", "half"}, "--dropout: expected a number in [0, 1), got 'half'"},
      {"train_gat", {"--heads", "two"}, "--heads: expected an integer from 1 to 4096, got 'two'"},
      {"train_link", {"--negatives", "x"}, "--negatives: expected an integer from 1 to 10000, got 'x'"},
      {"train_graph_gin", {"--folds", "x"}, "--folds: expected an integer from 2 to 1000000000, got 'x'"},
      {"predict",
       {"--batch-size", "many"},
       "--batch-size: expected an integer from 1 to 2147483647, got 'many'"},
      {"infer_qgnn", {"--repeats", "x"}, "--repeats: expected an integer from 1 to 2147483647, got 'x'"},
      {"generate", {"citation", "o.h5", "--nodes", "1k"}, "--nodes: expected an integer, got '1k'"},
      {"generate", {"planted", "o.h5", "--homophily", "x"}, "--homophily: expected a number, got 'x'"},
      {"convert", {"edges", "e", "o.h5", "--gzip", "x"}, "--gzip: expected an integer from 0 to 9, got 'x'"},
      {"split", {"a.h5", "b.h5", "--seed", "x"}, "--seed: expected an integer from 0 to 2147483647, got 'x'"},
      {"reorder", {"rcm", "a.h5", "b.h5", "--gzip", "x"}, "--gzip: expected an integer from 0 to 9, got 'x'"},
      {"partition",
       {"a.h5", "b.h5", "--parts", "x"},
       "--parts: expected an integer from 1 to 2147483647, got 'x'"},
      {"bench", {"spmm", "--width", "x"}, "--width: expected an integer of 1 or more, got 'x'"}};
  for (const auto& c : cases) {
    CAPTURE(c.program);
    CHECK(fails_with(run(c.program, c.arguments), 2, {std::string(c.program) + ": " + c.message + " (see"}));
  }
}

TEST_CASE("train_gcn prints its purpose and its options") {
  const Outcome help = succeeds(run("train_gcn", {"--help"}));
  CHECK(help.err.empty());
  CHECK(mentions(
      help.out,
      {"--data",    "--device",     "--epochs",      "--seed",      "--lr",         "--weight-decay",
       "--dropout", "--hidden",     "--layers",      "--runs",      "--checkpoint", "--resume",
       "--metrics", "--quiet",      "--json",        "--config",    "--predict",    "--plot",
       "--split",   "--patience",   "--patience-on", "--threads",   "--eval-every", "--checkpoint-every",
       "--version", "--no-capture", "--metric",      "--precision", "--inductive",  "--aggregation",
       "--explain", "--norm"}));
  CHECK(
      help.out.starts_with("Usage: train_gcn [DATA.h5] [OPTION]...\nTrains a graph convolutional network "
                           "(Kipf & Welling 2017).\n\nData:\n"));
  CHECK(mentions(help.out, {"L2 penalty, on all convolutions", "no norm"}));
  CHECK(mentions(run("train_gat", {"--help"}).out, {"L2 penalty, on all parameters"}));
  for (const char* program : {"train_gcn", "generate", "bench", "predict", "convert"}) {
    const Outcome page = run(program, {"--help"});
    CHECK(run(program, {"-h"}).out == page.out);
    CAPTURE(page.out);
    CHECK(page.status == 0);
    CHECK(page.out.starts_with(std::string("Usage: ") + program + " "));
    CHECK(lines_of(page.out)[1].ends_with("."));
    for (const char* ugly : {"99999", "00000", ".:", "):"}) CHECK(page.out.find(ugly) == std::string::npos);
  }
  for (const char* program :
       {"train_gcn",        "train_gat",  "train_sage", "train_gin",       "train_agnn", "train_transformer",
        "train_link",       "train_edge", "train_qgnn", "train_graph_gin", "train_gps",  "train_graph_gps",
        "train_graph_qgin", "predict",    "compare",    "sweep",           "bench",      "generate",
        "convert",          "inspect",    "reorder",    "partition",       "infer_qgnn", "train_recommend",
        "explain",          "export_onnx"})
    CHECK(succeeds(run(program, {"--version"})).out ==
          fmt::format("{} {}\nCPU kernels: {}\n", program, version(), describe_cpu_isa()));
}

TEST_CASE_FIXTURE(InFolder, "a config file gives options, and the command line wins") {
  const std::string data = folder.file("small.h5"), config = folder.file("run.ini");
  write_small_dataset(data);
  std::ofstream(config) << "# a comment\n\ndata = " << data
                        << "\nepochs = 3\nhidden=5\nquiet = true\njson=1\n"
                        << "norm = batch\n";
  const Outcome plain = succeeds(run("train_gcn", {"--config", config}));
  CHECK(plain.err.empty());
  CHECK(mentions(plain.out, {"\"epochs\": 3,", "GCN 40-5-3 batch-norm"}));
  const Outcome overridden =
      succeeds(run("train_gcn", {"--epochs", "4", "--config", config, "--norm", "none"}));
  CHECK(mentions(overridden.out, {"\"epochs\": 4,", "\"GCN 40-5-3\""}));

  const std::pair<std::string, Words> cases[] = {
      {"epochs = 3\nepoch = 4\n", {config + ":2", "'epoch'", "did you mean 'epochs'?"}},
      {"\nepochs = many\n", {config + ":2: --epochs: expected an integer from 1 to 1000000000, got 'many'"}},
      {"quiet = maybe\n", {config + ":1: ", "quiet", "maybe"}},
      {"epochs\n", {config + ":1", "epochs"}},
      {"epochs = 3\nseed = 1\nepochs = 4\n", {config + ":3", "epochs", "line 1"}},
      {"[training]\nepochs = 3\n", {config + ":1", "section"}},
      {"config = other.ini\n", {config + ":1", "config"}},
      {"lr = nan\n", {"--lr", "nan"}},
  };
  for (const auto& [text, parts] : cases) {
    CAPTURE(text);
    std::ofstream(config) << text;
    CHECK(fails_with(run("train_gcn", {"--data", data, "--config", config}), 2, parts));
  }
  CHECK(fails_with(run("train_gcn", {"--config", folder.file("none.ini")}), 1, {"none.ini", "No such file"}));
  CHECK(fails_with(run("train_gcn", {"--config", folder.file(".")}), 1, {"directory"}));
}

TEST_CASE_FIXTURE(InFolder, "the run.json of a run folder gives its options, but not its files") {
  const std::string data = folder.file("small.h5"), first = folder.file("a"), config = first + "/run.json";
  write_small_dataset(data);
  const Words few{data, "--epochs", "3", "--quiet", "--json"};
  const auto score = [](const Outcome& outcome) {
    const std::string& text = succeeds(outcome).out;
    return text.substr(0, text.find("\"epoch_ms\""));
  };
  const Words changed{"--hidden",           "5",    "--lr",   "0.03", "--norm", "batch",
                      "--features-scaling", "none", "--seed", "4"};
  const std::string trained =
      score(run("train_gcn", joined(joined(few, changed), {"--run-dir", first, "--checkpoint-every", "2",
                                                           "--plot", folder.file("p.svg")})));
  const std::string before = contents_of(config);
  CHECK(score(run("train_gcn", {"--config", config})) == trained);
  CHECK(score(run("train_gcn", {"--config", config, "--run-dir", folder.file("b")})) == trained);
  CHECK(contents_of(config) == before);
  const Outcome other = succeeds(run("train_gcn", {"--config", config, "--hidden", "6", "--epochs", "4"}));
  CHECK(mentions(other.out, {"GCN 40-6-3 batch-norm", "\"epochs\": 4,", "\"lr\": 0.03,", "\"seed\": 4,"}));
  CHECK(other.err.empty());  // the run was quiet

  for (const char* trainer : {"train_gat", "train_sage", "train_gin", "train_agnn", "train_transformer",
                              "train_link", "train_qgnn"}) {
    CAPTURE(trainer);
    const std::string where = folder.file(trainer);
    const std::string result = score(run(trainer, joined(few, {"--run-dir", where})));
    CHECK(score(run(trainer, {"--config", where + "/run.json"})) == result);
  }
  CHECK(fails_with(
      run("train_gcn", {"--config", folder.file("train_gat") + "/run.json"}), 2,
      {"run.json: --attention-dropout, --heads, ", "of train_gat, but train_gcn has no such option"}));
  const std::string sampled = folder.file("sampled");
  const std::string result =
      score(run("train_sage", joined(few, {"--run-dir", sampled, "--loader", "neighbor"})));
  CHECK(score(run("train_sage", {"--config", sampled + "/run.json"})) == result);

  const std::string talking = folder.file("talking");
  succeeds("train_gcn", {data, "--epochs", "2", "--run-dir", talking, "--metrics", folder.file("m.csv")});
  CHECK(mentions(
      succeeds(run("train_gcn", {"--config", talking + "/run.json"})).err,
      {"run.json: options of a run of train_gcn without --checkpoint-every, --metrics, --run-dir\n"}));
  std::ofstream(config) << R"({"epochs": 3})";
  CHECK(fails_with(run("train_gcn", {"--config", config}), 1, {config, "damaged", "--run-dir"}));
  std::string wrong = before;
  wrong.replace(wrong.find("\"0.03\""), 6, "\"fast\"");
  std::ofstream(config) << wrong;
  CHECK(fails_with(run("train_gcn", {"--config", config}), 2,
                   {config, "--lr: expected a positive number, got 'fast'"}));
}

TEST_CASE_FIXTURE(InFolder, "the dataset may be given without its option") {
  const std::string data = folder.file("small.h5"), config = folder.file("run.ini");
  write_small_dataset(data);
  std::ofstream(config) << "data = other.h5\n";
  for (const Words& words : {Words{data}, Words{"--epochs", "2", data}, Words{data, "--data", data},
                             Words{"--config", config, data}}) {
    const Outcome outcome = succeeds(run(
        "train_gcn",
        joined(words, words.front() == "--epochs" ? Words{"--quiet"} : Words{"--epochs", "2", "--quiet"})));
    CHECK(mentions(outcome.out, {"GCN 40-16-3 on small"}));
  }
  CHECK(fails_with(run("train_gcn", {folder.file("no.h5")}), 1, {"no.h5", "No such file"}));
  const std::string state = folder.file("c.h5"), out = folder.file("p.h5");
  succeeds("train_gcn", {data, "--epochs", "2", "--checkpoint", state});
  succeeds("predict", {data, "--checkpoint", state, "--out", out});
  CHECK(std::filesystem::exists(out));
}

TEST_CASE("every program suggests a similar option") {
  const struct {
    const char* program;
    Words arguments;
    std::string meant;
  } cases[] = {
      {"train_gat", {"--num-heads", "4"}, "'--heads'"},
      {"train_link", {"--model", "sgae"}, "'sage'"},
      {"predict", {"--chekpoint", "c.h5"}, "'--checkpoint'"},
      {"predict", {"--model", "gatv3"}, "'gatv2'"},
      {"predict",
       {"--pyg-state", "s.h5", "--model", "gcn", "--data", "d.h5", "--out", "o.h5", "--task", "node_clas"},
       "'node_class'"},
      {"generate", {"citatoin", "out.h5"}, "'citation'"},
      {"generate", {"citation", "out.h5", "--node", "5"}, "'--nodes'"},
      {"convert", {"edge", "in", "out.h5"}, "'edges'"},
      {"inspect", {"in.h5", "--plt", "a.svg"}, "'--plot'"},
      {"reorder", {"rabit", "in.h5", "out.h5"}, "'rabbit'"},
      {"partition", {"in.h5", "out.h5", "--part", "4"}, "'--parts'"},
      {"bench", {"spm"}, "'spmm'"}};
  for (const auto& c : cases) {
    CAPTURE(c.program);
    CHECK(fails_with(run(c.program, c.arguments), 2, {"; did you mean " + c.meant + "?"}));
  }
}

TEST_CASE_FIXTURE(InFolder, "messages quote the user's text in one printable line of bounded length") {
  const std::string data = folder.file("d\x1b[31m.h5"), dir = folder.file("run"),
                    wild = "\x1b[31m\r\n" + std::string(100'000, 'x');
  write_small_dataset(data);
  const Words quick{data, "--epochs", "2"};
  std::vector<Outcome> all{run("train_qgnn", joined(quick, {"--checkpoint", folder.file("q.h5")})),
                           run("infer_qgnn", {folder.file("q.h5"), data, "--write", folder.file("w\x1b.h5")}),
                           run("train_gcn", joined(quick, {"--run-dir", dir}))};
  for (const Outcome& outcome : all) CHECK(outcome.status == 0);
  for (const char* program : {"train_gcn", "train_link", "predict", "convert", "inspect", "bench", "generate",
                              "reorder", "partition", "infer_qgnn", "compare"})
    for (const Words& words : {Words{wild}, Words{"--" + wild}, Words{"--out", wild}, Words{"--epochs", wild},
                               Words{"--metric", wild}, Words{"--data", wild}, Words{"--threads", wild}}) {
      all.push_back(run(program, words));
      CHECK(all.back().status != 0);
    }
  std::string json = contents_of(dir + "/run.json");  // another's folder, as compare shows it
  json.replace(json.find("\"seed\""), 6, "\"\\u001b" + std::string(100'000, 's') + "\"");
  std::ofstream(dir + "/run.json") << json;
  succeeds(run("train_gcn", joined(quick, {"--run-dir", folder.file("b")})));
  all.push_back(succeeds(run("compare", {dir, folder.file("b")})));
  for (const Outcome& outcome : all)
    for (const std::string& line : joined(lines_of(outcome.err), lines_of(outcome.out))) {
      CAPTURE(line.substr(0, 100));
      CHECK(line.size() < 10'000);
      CHECK(std::none_of(line.begin(), line.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; }));
    }
}

TEST_CASE("a missing device gives a one-line error") {
  CHECK(fails_with(run("train_gcn", {"--device", "cuda:99"}), 1, {"cuda:99"}));
  if (cuda_device_count() == 0) CHECK(fails_with(run("train_gcn", {"--device", "cuda"}), 1, {"cuda"}));
}
