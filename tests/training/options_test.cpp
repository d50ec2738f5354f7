#include "bench.h"
#include <adjoint/core/explain.h>
#include <adjoint/core/parallel.h>
#include <adjoint/data/stored_cuts.h>

#include <set>

#include <fmt/ranges.h>

using namespace adj;
using namespace adj::test;

// Options: their ranges and conflicts, and that each one has its effect.

namespace {

using OptionTexts = Program::OptionTexts;

std::string refusal(const OptionTexts& texts, const models::ModelFamily& family = models::gcn()) {
  Program p(small_dataset(), family);
  for (const Options::Group& group : p.options.groups())  // as a command line: what differs was given
    for (const Option& option : group.options) p.defaults[option.name] = option.text();
  try {
    p.set(texts);
    (void)Settings(p.options, p.defaults);
  } catch (const UsageError& error) {
    return error.what();
  } catch (const Error&) {  // a GPU that is absent, which comes last
  }
  return "";
}

}  // namespace

TEST_CASE("options out of range are refused, and their bounds accepted") {
  const struct {
    std::string option;
    std::vector<std::string> good, bad;
  } cases[] = {
      {"epochs", {"1", "1000000000"}, {"0", "-1", "1000000001"}},
      {"seed", {"0", "9223372035854775807"}, {"-1", "9223372035854775808"}},
      {"runs", {"1", "1000000"}, {"0", "1000001"}},
      {"patience", {"0", "1000000000"}, {"-1", "1000000001"}},
      {"patience-on", {"metric", "either"}, {"loss", ""}},
      {"eval-every", {"1", "1000000000"}, {"0", "1000000001"}},
      {"lr", {"1e-300", "1e300"}, {"0", "-0.1", "nan", "inf"}},
      {"weight-decay", {"0", "1e300"}, {"-0.1", "nan", "inf"}},
      {"optimizer", {"adam", "adamw", "sgd"}, {"rmsprop"}},
      {"schedule", {"none", "cosine", "linear", "step"}, {"cos"}},
      {"warm-up", {"0", "199"}, {"-1", "200"}},
      {"threads", {"0", "1", fmt::format("{}", kMaxThreads)}, {"-1", fmt::format("{}", kMaxThreads + 1)}},
      {"precision", {"float32", "tf32", "bfloat16"}, {"float16"}},
      {"kernels", {"auto", "csr"}, {"rows"}},
      {"split", {"0", "all", "1000000000"}, {"-1", "some", "1000000001", ""}},
      {"features-bits", {"1", "8", "32"}, {"0", "9", "31", "33", "-1"}},
      {"features-scaling", {"auto", "none", "rows", "standard", "real"}, {"max"}},
      {"hidden", {"1"}, {"0"}},
      {"dropout", {"0", "0.99"}, {"1", "-0.1"}}};
  for (const auto& c : cases) {
    for (const std::string& text : c.good) {
      CAPTURES(c.option, text);
      CHECK(refusal({{c.option, text}}) == "");
    }
    for (const std::string& text : c.bad) {
      CAPTURES(c.option, text);
      CHECK(refusal({{c.option, text}}).starts_with("--" + c.option));
    }
  }
  const OptionTexts sgd{{"optimizer", "sgd"}}, step{{"schedule", "step"}};
  for (const auto& [base, option, good, bad] : {std::tuple(sgd, "momentum", "0", "1"),
                                                {sgd, "momentum", "0.99", "-0.1"},
                                                {step, "lr-step", "1", "0"},
                                                {step, "lr-gamma", "1", "0"},
                                                {step, "lr-gamma", "1e-9", "1.1"}}) {
    CHECK(refusal({base[0], {option, good}}) == "");
    CHECK(refusal({base[0], {option, bad}}).starts_with(fmt::format("--{}: expected", option)));
    CHECK(refusal({{option, good}}) ==
          fmt::format("--{}: requires --{} {}", option, base[0].first, base[0].second));
  }
  CHECK(refusal({{"loader", "neighbor"}, {"batch-size", "1"}}) == "");
  CHECK(refusal({{"loader", "neighbor"}, {"batch-size", "0"}}).starts_with("--batch-size"));
  CHECK(split_number("all") == std::nullopt);
  CHECK(split_number("7") == 7);
}

TEST_CASE("options that conflict are refused by name") {
  const OptionTexts gpu{{"device", "cuda"}, {"precision", "tf32"}};
  const auto with = [](OptionTexts a, const OptionTexts& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
  };
  const std::pair<OptionTexts, std::string> cases[] = {
      {{{"aggregation", "scatter"}}, "--aggregation scatter: requires --inductive"},
      {{{"aggregation", "sort"}, {"inductive", "true"}}, "--aggregation: expected"},
      {{{"aggregation", "measure"}, {"inductive", "true"}}, ""},
      {{{"aggregation", "measure"}, {"inductive", "true"}, {"resume", "c.h5"}},
       "--aggregation measure: conflicts with --resume"},
      {{{"aggregation", "scatter"}, {"inductive", "true"}, {"resume", "c.h5"}}, ""},
      {{{"kernels", "tiles"}}, "--kernels tiles: tensor cores require --device cuda"},
      {{{"kernels", "hybrid"}, {"device", "cuda"}}, "--kernels hybrid: tensor cores round their operands"},
      {with(gpu, {{"kernels", "tiles"}}), ""},
      {with(gpu, {{"cuts", "c"}}), ""},
      {{{"cuts", "c"}}, "--cuts: tensor cores require --device cuda"},
      {with(gpu, {{"cuts", "c"}, {"kernels", "csr"}}), "--cuts: requires --kernels auto, tiles or hybrid"},
      {with(gpu, {{"cuts", "c"}, {"inductive", "true"}}), "--cuts: conflicts with --inductive"},
      {with(gpu, {{"cuts", "c"}, {"loader", "cluster"}}), "--cuts: conflicts with --loader"},
      {{{"checkpoint-every", "3"}}, "--checkpoint-every: requires --checkpoint or --run-dir"},
      {{{"checkpoint-every", "3"}, {"checkpoint", "c.h5"}}, ""},
      {{{"checkpoint-every", "3"}, {"run-dir", "r"}}, ""},
      {{{"checkpoint-every", "0"}, {"checkpoint", "c.h5"}}, "--checkpoint-every"},
      {{{"loader", "neighbor"}, {"features", "file"}, {"features-bits", "4"}},
       "--features-bits 4: conflicts with --features file"},
      {{{"loader", "neighbor"}, {"features", "host"}, {"features-bits", "4"}, {"evaluation", "layers"}}, ""},
      {{{"loader", "some"}}, "--loader: expected none or neighbor or cluster or saint"},
      {{{"loader", "neighbor"}, {"evaluation", "half"}}, "--evaluation: expected auto or layers or graph"},
      {{{"loader", "neighbor"}, {"inductive", "true"}}, "--inductive: conflicts with --loader neighbor"},
      {{{"fanouts", "3"}}, "--fanouts: requires --loader neighbor"},
      {{{"loader", "cluster"}, {"fanouts", "3"}}, "--fanouts: requires --loader neighbor"},
      {{{"loader", "neighbor"}, {"parts", "3"}}, "--parts: requires --loader cluster"},
      {{{"loader", "neighbor"}, {"budget", "3"}}, "--budget: requires --loader saint"},
      {{{"workers", "3"}}, "--workers: requires --loader neighbor or cluster or saint"},
      {{{"batch-size", "3"}}, "--batch-size: requires --loader neighbor or cluster or saint"},
      {{{"features", "host"}}, "--features: requires --loader neighbor or cluster or saint"},
      {{{"loader", "cluster"}, {"workers", "x"}}, "--workers: expected a number or auto, got 'x'"},
      {{{"loader", "cluster"}, {"workers", "-1"}}, "--workers"},
      {{{"loader", "cluster"}, {"workers", fmt::format("{}", kMaxThreads + 1)}}, "--workers"},
      {{{"loader", "cluster"}, {"workers", fmt::format("{}", kMaxThreads)}}, ""},
      {{{"loader", "cluster"}, {"features", "disk"}}, "--features: expected device or host or file"},
      {{{"loader", "cluster"}, {"cached-rows", "5"}}, "--cached-rows: requires --features host or file"},
      {{{"loader", "cluster"}, {"features", "host"}, {"cached-rows", "5"}},
       "--cached-rows: requires a GPU with --features host"},
      {{{"loader", "cluster"}, {"features", "file"}, {"cached-rows", "5"}, {"evaluation", "layers"}}, ""},
      {{{"loader", "cluster"}, {"features", "split"}},
       "--features: expected device or host or file, got 'split'"},
      {{{"loader", "cluster"}, {"features", "host"}, {"evaluation", "graph"}},
       "--evaluation graph: conflicts with --features host"},
      {{{"loader", "neighbor"}, {"features", "host"}, {"evaluation", "auto"}},
       "--features host: gcn is evaluated over the whole graph"},
      {{{"loader", "cluster"}, {"parts", "-1"}}, "--parts"},
      {{{"loader", "cluster"}, {"parts", "0"}}, ""},
      {{{"loader", "cluster"}, {"parts-per-batch", "0"}}, "--parts-per-batch"},
      {{{"loader", "cluster"}, {"parts-per-batch", "1"}}, ""},
      {{{"loader", "saint"}, {"saint", "star"}}, "--saint: expected node or edge or walk"},
      {{{"loader", "saint"}, {"budget", "0"}}, "--budget"},
      {{{"loader", "saint"}, {"budget", "1"}}, ""},
      {{{"loader", "saint"}, {"saint", "node"}, {"budget", "100000000"}}, ""},
      {{{"loader", "saint"}, {"saint", "node"}, {"budget", "100000001"}}, "--budget"},
      {{{"loader", "saint"}, {"budget", "33333334"}}, "--budget 33333334: 3 nodes per draw"},
      {{{"loader", "saint"}, {"budget", "33333333"}}, ""},
      {{{"loader", "saint"}, {"saint", "edge"}, {"budget", "50000001"}},
       "--budget 50000001: 2 nodes per draw"},
      {{{"loader", "saint"}, {"walk-length", "-1"}}, "--walk-length"},
      {{{"loader", "saint"}, {"walk-length", "0"}}, ""},
      {{{"loader", "saint"}, {"budget", "1"}, {"walk-length", "99999999"}}, ""},
      {{{"loader", "saint"}, {"budget", "1"}, {"walk-length", "100000000"}}, "--walk-length"},
      {{{"loader", "saint"}, {"saint", "edge"}, {"walk-length", "3"}},
       "--walk-length: requires --saint walk"},
      {{{"loader", "saint"}, {"steps", "-1"}}, "--steps"},
      {{{"loader", "saint"}, {"steps", "0"}, {"coverage", "0"}}, ""},
      {{{"loader", "saint"}, {"coverage", "-1"}}, "--coverage"},
      {{{"loader", "saint"}, {"coverage", "1000001"}}, "--coverage"},
      {{{"loader", "saint"}, {"coverage", "1000000"}}, ""}};
  for (const auto& [settings, message] : cases) {
    CAPTURE(message);
    const std::string found = refusal(settings);
    if (message.empty()) CHECK(found == "");
    if (!message.empty()) CHECK(mentions(found, message));
  }
  CHECK(mentions(
      refusal({{"cuts", "c"}, {"device", "cuda"}, {"precision", "bfloat16"}, {"attention-dropout", "0.5"}},
              models::gat()),
      "--cuts: attention on tensor cores has no dropout"));
  CHECK(mentions(refusal({{"precision", "bfloat16"}}, models::qgnn()), "--precision bfloat16: quantisation"));
  CHECK(refusal({{"precision", "tf32"}}, models::qgnn()) == "");
}

TEST_CASE("shares and numbers of cached rows") {
  const auto refused = [](const std::string& text) {
    BatchOptions batches;
    batches.features = FeaturePlace::file;
    batches.cached_rows = text;
    return !error_of<UsageError>([&] { batches.check_features("cpu"); }).empty();
  };
  for (const char* text : {"0", "5", "0%", "100%", "12.5%"}) {
    CAPTURE(text);
    CHECK_FALSE(refused(text));
  }
  for (const char* text :
       {"-1", "x", "", "%", "101%", "-1%", "1.5", "1e1%", "nan%", "5x", "100.1%", "99999999999999999999"}) {
    CAPTURE(text);
    CHECK(refused(text));
  }
  const TemporaryDirectory folder;
  const auto store = [&](const std::string& rows) {  // from a file without columns of its own the count shows
    Program p(small_dataset());
    p.data.x = Features(p.data.x.to_dense());
    p.options.batches.features = FeaturePlace::host;
    p.options.batches.cached_rows = rows;
    return error_of<UsageError>([&] { (void)feature_store(p.data, p.options.batches, DType::f32); });
  };
  CHECK(store("120") == "");
  CHECK(store("100%") == "");
  CHECK(store("121") == "--cached-rows: expected at most 120 for small, got 121");
}

TEST_CASE("automatic workers are one on the CPU, else as many as written") {
  BatchOptions batches;
  CHECK(batches.num_workers("cpu") == 1);
  for (const char* text : {"0", "7"}) {
    batches.workers = text;
    CHECK(batches.num_workers("cpu") == std::stoi(text));
  }
  if (!gpu()) return;
  BatchOptions more;
  for (const auto& [count, workers] : {std::pair(1, 1), {4, 1}, {8, 2}, {64, 4}}) {
    const Threads cores(count);
    CHECK(more.num_workers("cuda:0") == workers);
  }
}

TEST_CASE("options take effect on the process and its context") {
  const struct {
    OptionTexts texts;
    MatmulPrecision precision;
    SparseKernels kernels;
    Aggregation aggregation;
  } cases[] = {
      {{}, MatmulPrecision::exact, SparseKernels::automatic, Aggregation::automatic},
      {{{"precision", "tf32"}}, MatmulPrecision::tf32, SparseKernels::automatic, Aggregation::automatic},
      {{{"precision", "bfloat16"}}, MatmulPrecision::exact, SparseKernels::automatic, Aggregation::automatic},
      {{{"kernels", "csr"}}, MatmulPrecision::exact, SparseKernels::csr, Aggregation::automatic},
      {{{"kernels", "tiles"}}, MatmulPrecision::exact, SparseKernels::tiles, Aggregation::automatic},
      {{{"kernels", "hybrid"}}, MatmulPrecision::exact, SparseKernels::hybrid, Aggregation::automatic},
      {{{"aggregation", "reduce"}}, MatmulPrecision::exact, SparseKernels::automatic, Aggregation::reduce},
      {{{"aggregation", "scatter"}}, MatmulPrecision::exact, SparseKernels::automatic, Aggregation::scatter},
      {{{"aggregation", "measure"}},
       MatmulPrecision::exact,
       SparseKernels::automatic,
       Aggregation::automatic}};
  for (const auto& c : cases) {
    Program p;
    Settings settings(p.options);
    Program::set(settings, c.texts);  // unchecked, as they ask for a GPU
    settings.apply();
    CHECK(compute_context().matmul_precision == c.precision);
    CHECK(compute_context().sparse_kernels == c.kernels);
    CHECK(compute_context().aggregation == c.aggregation);
    CHECK(compute_context().cuts == nullptr);
  }
  ExecutionOptions compute;
  CHECK(compute.dtype() == DType::f32);
  compute.precision = models::Precision::tf32;
  CHECK(compute.dtype() == DType::f32);
  compute.precision = models::Precision::bfloat16;
  CHECK(compute.dtype() == DType::bf16);
  const Threads before(num_threads());
  Program p(small_dataset(), models::gcn(), {{"threads", "3"}, {"explain", "true"}, {"quiet", "true"}});
  set_log_level(LogLevel::info);
  Settings(p.options).apply();
  CHECK(num_threads() == 3);
  CHECK(explaining());
  CHECK(log_level() == LogLevel::warning);
  set_explaining(false);
  Program other(small_dataset(), models::gcn(), {{"device", "gpu"}});
  CHECK_THROWS_AS(Settings(other.options).apply(), UsageError);
  Program chosen(small_dataset(), models::gcn(), {{"loader", "neighbor"}});
  CHECK(mentions(
      printed(STDERR_FILENO, [&] { set_log_level(LogLevel::info), Settings(chosen.options).apply(); }),
      "evaluation: over the whole graph (gcn is not exact layer by layer)"));
}

TEST_CASE_FIXTURE(InFolder, "a run's folder has its files, unless another place was named") {
  OutputOptions o;
  o.run_dir = folder.file("run");
  o.use_run_folder();
  const auto in = [&](const char* name) { return o.run_dir + "/" + name; };
  CHECK((o.metrics == in("metrics.csv") && o.checkpoint == in("checkpoint.h5") &&
         o.report == in("report.html") && o.tensorboard == in("") && o.trace.empty() && o.plot.empty() &&
         o.predict.empty()));
  CHECK_FALSE(std::filesystem::exists(o.run_dir));
  Program p;
  p.options.output.run_dir = o.run_dir;
  const Settings settings(p.options);
  CHECK(settings.output.metrics == o.metrics);
  settings.apply();
  CHECK(std::filesystem::is_directory(o.run_dir));
  OutputOptions named;
  named.run_dir = o.run_dir;
  named.profile = true;
  named.metrics = "m.jsonl", named.checkpoint = "c", named.report = "r.html", named.tensorboard = "t";
  named.use_run_folder();
  CHECK((named.metrics == "m.jsonl" && named.checkpoint == "c" && named.report == "r.html" &&
         named.tensorboard == "t" && named.trace == in("trace.json")));
}

TEST_CASE_FIXTURE(InFolder, "output files have their suffixes, and are not another file of the run") {
  const auto message_of = [&](const std::function<void(Settings&)>& change) {
    Settings settings(Program().options);
    change(settings);
    return error_of<UsageError>([&] { settings.output.check_files(settings); });
  };
  const std::string kept = folder.file("kept");
  std::ofstream(kept) << "old";
  const std::pair<std::function<void(Settings&)>, std::string> cases[] = {
      {[](Settings&) {}, ""},
      {[](Settings& o) { o.output.metrics = "m.txt"; },
       "--metrics: expected FILE.csv or FILE.jsonl, got 'm.txt'"},
      {[](Settings& o) { o.output.plot = "p.png"; }, "--plot: expected FILE.svg, got 'p.png'"},
      {[](Settings& o) { o.output.report = "r"; },
       "--report: expected FILE.html, got 'r'; --class-scores prints"},
      {[](Settings& o) { o.output.report = "r", o.things = "pairs of nodes"; },
       "--report: expected FILE.html, got 'r'"},
      {[](Settings& o) { o.output.trace = "t.json"; }, "--trace: requires --profile"},
      {[](Settings& o) { o.output.trace = "t", o.output.profile = true; },
       "--trace: expected FILE.json, got 't'"},
      {[&](Settings& o) { o.output.predict = folder.file("p.txt"); }, "--predict"},
      {[&](Settings& o) { o.output.predict = folder.file("p.csv"); }, ""}};
  for (const auto& [change, part] : cases) {
    CAPTURE(part);
    if (part.empty()) CHECK(message_of(change) == "");
    if (!part.empty()) CHECK(mentions(message_of(change), part));
  }
  // Every output against every input and every other output.
  using Path = std::function<std::string&(Settings&)>;
  const std::vector<std::pair<std::string, Path>> inputs{
      {"data", [](Settings& o) -> std::string& { return o.data.path; }},
      {"config", [](Settings& o) -> std::string& { return o.output.config; }},
      {"resume", [](Settings& o) -> std::string& { return o.output.resume; }},
      {"from", [](Settings& o) -> std::string& { return o.identity["from"]; }}};
  const std::vector<std::tuple<std::string, Path, std::string>> outputs{
      {"checkpoint", [](Settings& o) -> std::string& { return o.output.checkpoint; }, ".h5"},
      {"metrics", [](Settings& o) -> std::string& { return o.output.metrics; }, ".csv"},
      {"predict", [](Settings& o) -> std::string& { return o.output.predict; }, ".csv"},
      {"plot", [](Settings& o) -> std::string& { return o.output.plot; }, ".svg"},
      {"report", [](Settings& o) -> std::string& { return o.output.report; }, ".html"},
      {"trace", [](Settings& o) -> std::string& { return o.output.trace; }, ".json"},
      {"cuts", [](Settings& o) -> std::string& { return o.compute.cuts; }, ".h5"}};
  for (const auto& [name, path, suffix] : outputs) {
    const std::string file = folder.file("f" + suffix);
    std::ofstream(file) << "old";
    for (const auto& [input, source] : inputs) {
      CAPTURES(name, input);
      const std::string found = message_of([&, &first = path, &second = source](Settings& o) {
        o.output.profile = true;
        first(o) = second(o) = file;
      });
      const bool allowed = name == "checkpoint" && input == "resume";
      if (allowed) CHECK(found == "");
      if (!allowed) CHECK(mentions(found, {"--" + name, "the file of --" + input}));
    }
    for (const auto& [other, target, ending] : outputs) {
      if (other == name) continue;
      std::filesystem::remove(folder.file("link" + ending));
      std::filesystem::create_symlink(file, folder.file("link" + ending));
      CHECK(mentions(message_of([&, &first = path, &second = target, &end = ending](Settings& o) {
                       o.output.profile = true;
                       first(o) = file;
                       second(o) = folder.file("link" + end);
                     }),
                     "the file of --"));
    }
  }
  CHECK(message_of(
            [](Settings& o) { o.identity["from"] = "none", o.output.metrics = "/dev/shm/none.csv"; }) == "");
}

TEST_CASE("every option that decides changes the training, whatever it is") {
  // Each alone against the same training without it; by the last epoch's numbers.
  const auto numbers = [](const models::ModelFamily& family, const Dataset& data, const OptionTexts& texts) {
    Program p(data, family, texts);
    Settings(p.options).apply();
    set_log_level(LogLevel::warning);
    p.learn();
    const EpochRecord& r = p.history().back();
    return std::tuple(r.train_loss, r.val_loss, r.val_metric, p.results()[0].test_metric);
  };
  Dataset data = small_dataset();
  add_splits(data, 2);
  std::vector<float> weight;
  for (int64_t e = 0; e < data.graph.num_edges(); ++e) weight.push_back(1.0f + static_cast<float>(e % 7));
  data.graph = data.graph.with_edge_weight(Tensor::from(weight));
  const OptionTexts neighbor{{"loader", "neighbor"}, {"batch-size", "16"}, {"fanouts", "2"}},
      cluster{{"loader", "cluster"}, {"parts", "6"}, {"parts-per-batch", "2"}},
      saint{{"loader", "saint"}, {"budget", "10"}, {"coverage", "3"}};
  const struct {
    models::ModelFamily (*family)();
    OptionTexts base;
    OptionTexts options;
  } cases[] = {
      {models::gcn,
       {},
       {{"split", "1"},
        {"metric", "f1"},
        {"features-scaling", "none"},
        {"features-scaling", "standard"},
        {"features-scaling", "real"},
        {"features-bits", "2"},
        {"edge-weights", "ignore"},
        {"precision", "bfloat16"},
        {"hidden", "5"},
        {"layers", "3"},
        {"dropout", "0.1"},
        {"norm", "batch"},
        {"epochs", "4"},
        {"lr", "0.02"},
        {"weight-decay", "0.1"},
        {"seed", "1"},
        {"class-weights", "1,2,3"},
        {"optimizer", "adamw"},
        {"optimizer", "sgd"},
        {"schedule", "cosine"},
        {"schedule", "linear"},
        {"warm-up", "2"},
        {"loader", "neighbor"}}},
      {models::sage,
       neighbor,
       {{"batch-size", "8"},
        {"class-weights", "1=4"},
        {"fanouts", "3"},
        {"replace", "true"},
        {"labor", "true"},
        {"weighted-sampling", "true"}}},
      {models::gcn, {{"optimizer", "sgd"}}, {{"momentum", "0.5"}}},
      {models::gcn, {{"schedule", "step"}, {"lr-step", "1"}}, {{"lr-step", "2"}, {"lr-gamma", "0.5"}}},
      {models::gcn, cluster, {{"parts", "7"}, {"parts-per-batch", "1"}}},
      {models::gcn,
       saint,
       {{"class-weights", "1=4"},
        {"saint", "node"},
        {"saint", "edge"},
        {"budget", "20"},
        {"walk-length", "1"},
        {"steps", "3"},
        {"coverage", "0"},
        {"coverage", "4"}}},
      {models::sage, {}, {{"aggr", "max"}, {"aggr", "pool"}, {"norm", "layer"}, {"residual", "true"}}},
      {models::gat,
       {},
       {{"model", "gatv2"},
        {"heads", "2"},
        {"output-heads", "2"},
        {"attention-dropout", "0.3"},
        {"residual", "true"}}},
      {models::gin, {}, {{"train-eps", "true"}, {"norm", "none"}}},
      {models::transformer, {}, {{"heads", "2"}, {"gate", "true"}, {"attention-dropout", "0.3"}}},
      {models::qgnn,
       {{"bits", "4"}},
       {{"model", "gin"},
        {"bits", "5"},
        {"bits-weights", "3"},
        {"bits-activations", "3"},
        {"scales", "running"},
        {"degree-quant", "0.3"}}}};
  for (const auto& c : cases) {
    OptionTexts base{{"epochs", "3"}};
    base.insert(base.end(), c.base.begin(), c.base.end());
    if (c.family().takes("residual")) base.emplace_back("layers", "3");
    const auto without = numbers(c.family(), data, base);
    CHECK(without == numbers(c.family(), data, base));
    for (const auto& option : c.options) {
      CAPTURES(c.family().program, option.first, option.second);
      OptionTexts with = base;
      with.push_back(option);
      const auto found = numbers(c.family(), data, with);
      if (option.first == "metric") {
        CHECK(std::get<2>(found) != std::get<2>(without));
        continue;
      }
      CHECK(std::get<0>(found) != std::get<0>(without));
    }
  }
}

TEST_CASE("the groups have every option once, bound to its field, with the loaders' own") {
  Program p;
  std::set<std::string> names, deciding;
  for (const Options::Group& group : p.options.groups())
    for (const Option& option : group.options) {
      CAPTURE(option.name);
      CHECK(names.insert(option.name).second);
      CHECK_FALSE(option.help.empty());
      if (option.decides) deciding.insert(option.name);
    }
  // A checkpoint must match these.
  CHECK(fmt::format("{}", fmt::join(deciding, " ")) ==
        "batch-size budget class-weights coverage dropout eval-every evaluation fanouts fanouts-per "
        "hidden kernels labor layers loader lr lr-gamma lr-step metric momentum node-features norm "
        "optimizer parts parts-per-batch patience patience-on positional positional-size precision "
        "replace runs saint schedule seed split steps walk-length walk-steps warm-up weight-decay "
        "weighted-sampling");
  p.options.things = "graphs";
  std::set<std::string> of_graphs;
  for (const Options::Group& group : p.options.groups())
    for (const Option& option : group.options) of_graphs.insert(option.name);
  for (const char* name : {"inductive", "aggregation", "cuts"}) CHECK(of_graphs.count(name) == 0);
  p.options.things = "pairs of nodes";
  of_graphs.clear();
  for (const Options::Group& group : p.options.groups())
    for (const Option& option : group.options) of_graphs.insert(option.name);
  CHECK((of_graphs.count("class-scores") == 0 && of_graphs.count("cuts") == 1));
  const Settings settings(Program().options, {{"lr", "0.01"}});
  CHECK(settings.changed("lr", "0.02"));
  CHECK_FALSE(settings.changed("lr", "0.01"));
  CHECK_FALSE(settings.changed("none", "0.01"));
}
