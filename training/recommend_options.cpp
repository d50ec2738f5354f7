#include <adjoint/core/option_check.h>
#include <adjoint/core/text.h>
#include <adjoint/data/predictions.h>
#include <adjoint/training/recommend.h>

#include <fmt/ranges.h>

namespace adj::training {

double value_of(TopKMetric metric, const nn::TopKMetrics& m) {
  return std::array{m.recall, m.precision, m.f1, m.map, m.ndcg, m.mrr, m.hit_ratio}.at(
      static_cast<size_t>(metric));
}

std::vector<Options::Group> RecommendOptions::groups() {
  const IntegerRange counts{1, kMostCounted};
  const NumberRange shares{0.0, 0.99};
  OptionList learning{{"batch-size", &batch_size, "N", "interactions of a step", true, counts},
                      {"epochs", &epochs, "N", "passes over the interactions", false, counts},
                      {"lr", &lr, "RATE", "learning rate of Adam", true, NumberRange{1e-9, 1e3}},
                      {"penalty", &penalty, "NUMBER", "factor of the squares of a batch's learnt vectors",
                       true, NumberRange{0.0, 1e3}},
                      {"k", &k, "N", "items of a list that is measured", true, counts},
                      {"metric", Choice(&metric), "NAME",
                       fmt::format("chooses the best epoch: {}", fmt::join(names_of(TopKMetric{}), ", "))}};
  learning += validation_options("metric", "split, initial numbers, order and draws");
  OptionList output = state_options("metrics", "; `predict` recommends from it");
  output +=
      {{"embeddings", &embeddings, "FILE",
        "propagated vectors of users: .csv, .jsonl, .npy or .h5; dot products with those of "
        "items are "
        "scores",
        false},
       {"item-embeddings", &item_embeddings, "FILE", "vectors of items, likewise", false},
       {"out", &out, "FILE", "the best items for each user that are new to them: .csv or .jsonl", false},
       {"top", &top, "K", "items for each user in --out", false, counts}};
  output += run_options();
  return {
      {"Data",
       {{"data", &data, "FILE", "users, items and edges between them (convert tables)"},
        {"edges", &edges, "TYPE",
         "type of edges from users to items, a name or USER:NAME:ITEM (default: the only one between two "
         "types "
         "of nodes)"},
        {"split-by", Choice(&split_by), "HOW",
         "of a file without splits, for each user: random, time (the latest test), or auto: time if edges "
         "have "
         "times"},
        {"val", &val, "SHARE", "of a user's interactions, to validate, likewise", true, shares},
        {"test", &test, "SHARE", "of a user's interactions, to test, likewise", true, shares}}},
      {"Model",
       {{"width", &width, "N", "numbers of a user or an item", true, IntegerRange{1, 1 << 20}},
        {"layers", &layers, "N", "propagation steps", true, IntegerRange{0, 100}},
        {"alphas", &alphas, "LIST",
         "weights of the learnt vectors and of each layer's, between commas (default: their average)"}}},
      {"Training", std::move(learning)},
      device_options(),
      {"Output", std::move(output)}};
}

models::LightGCNOptions RecommendOptions::model() const {
  models::LightGCNOptions options{.width = width, .layers = layers};
  if (alphas.empty()) return options;
  for (size_t begin = 0; begin <= alphas.size();) {
    const size_t end = std::min(alphas.find(',', begin), alphas.size());
    options.alphas.push_back(read_number("alphas", alphas.substr(begin, end - begin)));
    expect_in(NumberRange{-1e6, 1e6}, "alphas", options.alphas.back());
    begin = end + 1;
  }
  if (std::ssize(options.alphas) != layers + 1)
    usage_fail("--alphas {}: {} numbers, expected {}, for the learnt vectors and {} layers", excerpt(alphas),
               options.alphas.size(), layers + 1, layers);
  return options;
}

void RecommendOptions::complete() {
  if (data.empty()) usage_fail("expected train_recommend DATA.h5");
  for (const Options::Group& group : groups())
    for (const Option& option : group.options) option.check();
  (void)model();
  if (val + test >= 1.0) usage_fail("--val {} and --test {}: nothing is left to train on", val, test);
  if (!out.empty() && !out.ends_with(".csv") && !out.ends_with(".jsonl"))
    usage_fail("--out {}: expected a name that ends in .csv or .jsonl", out);
  for (const auto& [name, path] :
       {std::pair("embeddings", &embeddings), {"item-embeddings", &item_embeddings}})
    if (!path->empty()) expect_predictions_path(name, *path);
  name_files(data, {}, {{"item-embeddings", item_embeddings}});
}

}  // namespace adj::training
