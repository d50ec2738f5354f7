#include <adjoint/core/log.h>
#include <adjoint/core/option_check.h>
#include <adjoint/core/random.h>
#include <adjoint/core/text.h>
#include <adjoint/data/detail/batch_data.h>
#include <adjoint/data/loader/link_loader.h>
#include <adjoint/data/predictions.h>
#include <adjoint/graph/sample/negative_sampling.h>
#include <adjoint/nn/metrics/link_metrics.h>
#include <adjoint/training/inputs.h>
#include <adjoint/training/links.h>
#include <adjoint/training/mini_batches.h>
#include <adjoint/training/typed_inputs.h>

#include <algorithm>

#include <fmt/ranges.h>

namespace adj::training {

namespace {

Tensor joined(const std::vector<Tensor>& parts) {
  std::vector<int32_t> all;
  for (const Tensor& part : parts) {
    const auto values = part.to_vector<int32_t>();
    all.insert(all.end(), values.begin(), values.end());
  }
  return Tensor::from(all);
}

int64_t hits_of(const std::string& metric) {
  constexpr std::string_view kName = "hits@";
  if (!metric.starts_with(kName)) return 50;
  const auto k = number_in<int64_t>(std::string_view(metric).substr(kName.size()));
  if (!k || *k < 1) usage_fail("--metric: expected hits@K with K of 1 or more, got '{}'", metric);
  return *k;
}

}  // namespace

void LinkOptions::add_to(Options& o) {
  constexpr NumberRange kShare{0.0, 1.0, false, false};
  o.batches.loaders = {neighbor};
  o.things = "pairs of nodes";
  o.metric_help = "auc (auto), mrr or hits@K (as hits@20); all three are reported";
  o.program_options = {{"val", &val, "P", "share of the connected pairs for validation", true, kShare},
                       {"test", &test, "P", "share for the test; both are drawn by --seed", true, kShare},
                       {"negatives", &negatives, "N", "negatives drawn per positive pair, every epoch", true,
                        IntegerRange{1, 10000}},
                       {"edges", &edges, "TYPE",
                        "of several types: the relation to predict, as user:took:item (auto: the only one "
                        "that is no reverse)"}};
}

void LinkOptions::check(const Settings& settings) const {
  if (!(val + test < 1.0))
    usage_fail("--val {} and --test {}: expected shares with a sum below 1", val, test);
  if (settings.changed("split", settings.data.split))
    usage_fail("--split {}: {} draws its own split, expected --val and --test, and --seed for another one",
               settings.data.split, settings.program());
  (void)hits_of(settings.data.metric);
  if (!settings.typed()) {
    const std::string expected = fmt::format("--model {}", fmt::join(models::typed_encoder_names(), ", "));
    if (edges != "auto") usage_fail("--edges: requires {}", expected);
    if (settings.data.reverse != ReverseRelations::add) usage_fail("--reverse: requires {}", expected);
  }
  check_encoder_options(settings);
}

void check_encoder_options(const Settings& settings) {
  using Names = std::vector<std::string>;
  for (const auto& [name, models] : {std::pair("aggr", Names{"sage"}),
                                     {"heads", Names{"gat", "rgat", "hgt"}},
                                     {"attention-dropout", Names{"gat", "rgat"}},
                                     {"bases", Names{"rgcn", "rgat"}},
                                     {"inputs", Names{"rgcn", "rgat"}}})
    if (const auto option = settings.values.find(name);
        std::ranges::find(models, settings.model.model) == models.end() && option != settings.values.end() &&
        settings.changed(name, option->second)) {
      Names offered;  // by the program
      for (const std::string& model : models)
        if (std::ranges::find(settings.family.models, model) != settings.family.models.end())
          offered.push_back(model);
      usage_fail("--{}: requires --model {}", name, fmt::join(offered, " or "));
    }
}

Examples link_examples(const Options& options, const LinkOptions& links, Dataset& data) {
  const std::string file = file_of(options, data);
  if (data.graph_offsets && data.graph_offsets.numel() > 2)
    data_fail(
        "{}: graphs/offsets: many graphs, {} would draw negative pairs between them, expected one graph",
        file, options.program());
  Generator generator(static_cast<uint64_t>(options.run.seed));
  const LinkSplit split = at_place(file, "edges", [&] {
    return random_link_split(data.graph, {.val = links.val, .test = links.test}, generator, true);
  });
  data.graph = split.train;
  return examples_of(split.val, split.test, linked_pairs(split.train, true), links, file + ": edges");
}

Examples examples_of(const LinkExamples& val, const LinkExamples& test, const EdgeIndex& train,
                     const LinkOptions& links, const std::string& place) {
  for (const auto& [part, pairs] :
       {std::pair("validate", &val.positive), std::pair("test", &test.positive), std::pair("train", &train)})
    if (pairs->src.numel() == 0)
      data_fail("{}: with --val {} and --test {} of {} connected pairs, none is left to {}", place, links.val,
                links.test, train.src.numel() + val.positive.src.numel() + test.positive.src.numel(), part);
  Examples examples;
  examples.things = "pairs";
  examples.task = "link";
  examples.labels = Labels::several;
  examples.outputs = 1;
  examples.pairs = {
      joined({val.positive.src, val.negative.src, test.positive.src, test.negative.src, train.src}),
      joined({val.positive.dst, val.negative.dst, test.positive.dst, test.negative.dst, train.dst})};
  const int64_t all = examples.pairs.src.numel(), vals = val.positive.src.numel(),
                tests = test.positive.src.numel(), seen = 2 * (vals + tests);
  examples.y = Tensor::full({all, 1}, 1.0f);
  examples.y.rows(vals, 2 * vals).fill_(0.0);
  examples.y.rows(2 * vals + tests, seen).fill_(0.0);
  examples.splits_in_file = false;
  const Tensor order = detail::numbers(all);
  examples.splits = {Split{order.rows(seen, all), order.rows(0, 2 * vals), order.rows(2 * vals, seen)}};
  return examples;
}

namespace {

/// Scores over `index`, of positive and negative pairs.
std::pair<Tensor, Tensor> told_apart(const Tensor& output, const Tensor& y, const Tensor& index) {
  const std::vector<float> score = output.to_vector<float>(), label = y.to_vector<float>();
  std::vector<float> positive, negative;
  for (const int32_t i : index.to_vector<int32_t>())
    (label[static_cast<size_t>(i)] > 0.5f ? positive : negative).push_back(score[static_cast<size_t>(i)]);
  return {Tensor::from(positive), Tensor::from(negative)};
}

}  // namespace

std::vector<Metric> link_metrics(const std::string& metric) {
  const int64_t k = hits_of(metric);
  const auto of_scores = [](auto measure) {
    return [measure](const Tensor& output, const Tensor& y, const Tensor& index) {
      const auto [positive, negative] = told_apart(output, y, index);
      return measure(positive, negative);
    };
  };
  const auto auc = of_scores(nn::link_auc);
  const auto mrr = of_scores(
      [](const Tensor& p, const Tensor& n) { return nn::mean_reciprocal_rank(nn::link_ranks(p, n)); });
  const auto hits = of_scores([k](const Tensor& p, const Tensor& n) { return nn::hits_at(k, p, n); });
  const std::string option = fmt::format("hits@{}", k);
  const std::string column = fmt::format("hits_{}", k);
  return {{"auc", "ROC-AUC", "auc", true, 0.0, 1.0, auc},
          {"mrr", "MRR", "mrr", true, 0.0, 1.0, mrr},
          {option, fmt::format("Hits@{}", k), column, true, 0.0, 1.0, hits}};
}

std::vector<Metric> link_metrics(const std::string& metric, const Examples& examples) {
  const Split& split = examples.splits.at(0);
  // Half of the pairs are negatives. The K-th best of K is the worst: nearly every positive is above it.
  const int64_t negatives = std::min(split.val.numel(), split.test.numel()) / 2,
                most = std::max<int64_t>(1, negatives - 1);
  int64_t k = hits_of(metric);
  if (k <= most) return link_metrics(metric);
  if (metric.starts_with("hits@"))
    usage_fail("--metric {}: a part of the split has {} negative pairs, expected hits@K with K of {} at most",
               metric, negatives, most);
  for (const int64_t fewer : {20, 10, 5, 1})
    if (k > most) k = fewer;
  log_info("Hits@{} is reported instead of Hits@50: a part of the split has {} negative pairs", k, negatives);
  return link_metrics(fmt::format("hits@{}", k));
}

LearningTask link_task(const Settings& settings, const LinkOptions& links) {
  if (settings.typed()) return typed_link_task(settings, links);
  if (is_typed_dataset(settings.data.path))
    data_fail("{}: several types of nodes or edges, expected --model {}, or one type (convert typed)",
              settings.data.path, fmt::join(models::typed_encoder_names(), ", "));
  Dataset data = load_data(settings);
  const Graph whole = data.graph;
  Examples examples = link_examples(settings, links, data);
  std::vector<Metric> metrics = link_metrics(settings.data.metric, examples);
  return {settings, std::move(data), std::move(examples), std::move(metrics), whole};
}

void write_links(const Run& run) {
  if (run.settings().output.predict.empty()) return;
  const Examples& examples = run.examples();
  const std::optional<TypedLinks>& typed = run.task().links;
  const auto first = static_cast<int32_t>(typed ? typed->pairs.dst_begin : 0);
  const Tensor& output = run.output();
  const auto test = examples.test.to_vector<int32_t>();
  const auto score = output.to_vector<float>(), label = examples.y.to_vector<float>();
  const auto src = examples.pairs.src.to_vector<int32_t>(), dst = examples.pairs.dst.to_vector<int32_t>();
  LinkPredictions links;
  for (const int32_t i : test) {
    const auto pair = static_cast<size_t>(i);
    links.src.push_back(src[pair]);
    links.dst.push_back(dst[pair] - first);
    links.score.push_back(score[pair]);
    links.label.push_back(label[pair] > 0.5f ? 1 : 0);
  }
  write_predictions(run.settings().output.predict, run.settings().program(), run.task().predicted(), links,
                    run.settings().output.escape_formulas, typed ? &typed->targets : nullptr);
}

namespace {

Relation relation_of(int64_t nodes, const EdgeIndex& pairs) {
  return Relation::from_coo(nodes, nodes, pairs.src, pairs.dst);
}

/// Shared: selection of training pairs and scoring of all examples.
class PairBatches : public SampledBatches<LinkStepBatch> {
 public:
  PairBatches(const Run& run, models::LinkModel& model)
      : SampledBatches(run, model),
        train_{detail::gather_edges(run.examples().pairs.src, run.examples().train),
               detail::gather_edges(run.examples().pairs.dst, run.examples().train)},
        model_(model),
        examples_(relation_of(run.task().num_embedded(), run.examples().pairs)) {}
  Tensor embeddings() override {
    return in_evaluation([&] { return embedded({}); });
  }

 protected:
  const EdgeIndex train_;

 private:
  Tensor computed(const Features& x) override { return model_.scores_of_all(embedded(x), examples_); }
  /// Layer by layer there are rows of all types.
  Tensor embedded(const Features& x) {
    return over_all_nodes(run_, model_.encoder(), x).rows(0, examples_.num_src());
  }

  models::LinkModel& model_;
  const Relation examples_;
};

/// All pairs in one step. Not captured on a GPU, as the host draws the negatives.
class AllPairs : public PairBatches {
 public:
  AllPairs(const Run& run, models::LinkModel& model, int64_t negatives) : PairBatches(run, model) {
    const int64_t positive = train_.src.numel();
    label_ = Tensor::zeros({positive * (1 + negatives), 1}, DType::f32, run.task().data.device());
    label_.rows(0, positive).fill_(1.0);
    const Graph& graph = run.task().data.graph;
    const EdgeIndex none{Tensor::empty({0}, DType::i32), Tensor::empty({0}, DType::i32)};
    if (run.task().links)
      negatives_.emplace(graph, none, run.task().links->pairs);
    else
      negatives_.emplace(graph, none, true);
  }

  std::unique_ptr<Pass<LinkStepBatch>> pass(int64_t done) override {
    const Graph& graph = run_.task().data.graph;
    const int64_t positive = train_.src.numel();
    Generator generator = Generator(run_.seed()).split(static_cast<uint64_t>(done));
    const EdgeIndex drawn = negatives_->draw(label_.size(0) - positive, generator);
    const auto both = [&](const Tensor& known, const Tensor& absent) {
      Tensor all = Tensor::empty({label_.size(0)}, DType::i32, known.device());
      all.rows(0, positive).copy_(known);
      all.rows(positive, all.numel()).copy_(absent);
      return all;
    };
    const EdgeIndex pairs{both(train_.src, drawn.src), both(train_.dst, drawn.dst)};
    return std::make_unique<SinglePass<LinkStepBatch>>(
        LinkStepBatch{.nodes = {.graph = graph, .blocks = {}, .x = run_.task().features},
                      .pairs = relation_of(run_.task().num_embedded(), pairs),
                      .label = label_});
  }

 private:
  Tensor label_;
  std::optional<NegativePairs> negatives_;
};

class LoadedPairs : public PairBatches {
 public:
  LoadedPairs(const Run& run, models::LinkModel& model, int64_t negatives, NeighborSampling sampling)
      : PairBatches(run, model),
        loader_(run.task().data.graph, run.task().store, train_,
                {.sampling = std::move(sampling),
                 .negatives = negatives,
                 .undirected = true,
                 .relation = run.task().links ? std::optional(run.task().links->pairs) : std::nullopt,
                 .loading = loading_of(run, model)}) {}

  std::unique_ptr<Pass<LinkStepBatch>> pass(int64_t done) override {
    const auto pairs = static_cast<double>(loader_.num_pairs());
    return loaded_pass<LinkStepBatch>(loader_, done, [pairs](const LinkBatch& batch) {
      return std::pair(LinkStepBatch{.nodes = {.graph = {}, .blocks = batch.blocks, .x = batch.x},
                                     .pairs = relation_of(batch.nodes.numel(), batch.pairs),
                                     .label = batch.label.reshape({batch.size(), 1})},
                       static_cast<double>(batch.positives) / pairs);
    });
  }

 private:
  static LoaderOptions loading_of(const Run& run, const models::LinkModel& model) {
    LoaderOptions options = run.training_batches();
    options.derive_block = [&model](const Block& block) { model.encoder().prepare_block(block); };
    return options;
  }

  LinkLoader loader_;
};

}  // namespace

std::unique_ptr<Batches<LinkStepBatch>> link_batches(const Run& run, const LinkOptions& options,
                                                     models::LinkModel& model) {
  if (run.settings().batches.loader == "none")
    return std::make_unique<AllPairs>(run, model, options.negatives);
  return std::make_unique<LoadedPairs>(run, model, options.negatives, options.neighbor->sampling(run));
}

}  // namespace adj::training
