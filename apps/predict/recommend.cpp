#include "recommend.h"

#include <adjoint/adjoint.h>
#include <adjoint/core/text.h>
#include <adjoint/data/detail/names.h>
#include <adjoint/data/import/chosen_nodes.h>
#include <adjoint/training/recommender.h>
#include <adjoint/training/stopwatch.h>

namespace adj::apps {

namespace {

void check_requests(const PredictOptions& o) {
  for (const auto& [name, requested] :
       {std::pair("embeddings", !o.embeddings.empty()),
        {"attention", !o.attention.empty()},
        {"pairs", !o.pairs.empty()},
        {"missing-links", o.missing_links > 0},
        {"class-scores", o.class_scores},
        {"split", o.split != "auto"},
        {"evaluation", o.batches.evaluation == training::EvaluationMethod::layers}})
    if (requested)
      usage_fail("--{}: {} recommends items, expected --out, --top and --nodes", name, o.checkpoint);
  if (!o.out.ends_with(".csv") && !o.out.ends_with(".jsonl"))
    usage_fail("--out {}: expected a name that ends in .csv or .jsonl, for recommendations", o.out);
}

/// The edges of the type that the model was trained on, or else of the only one that can be.
Interactions interactions_in(const std::string& path, const EdgeType& trained) {
  const TypedDataset data = load_typed_dataset(path);
  const std::vector<EdgeType> types = data.graph.edge_types();
  const bool same = std::ranges::find(types, trained) != types.end();
  Interactions found = interactions_of(data, path, same ? text_of(trained) : "");
  if (!same)
    log_info("{}: edges {} are taken for {} of the training", printable(path), text_of(found.type),
             text_of(trained));
  return found;
}

}  // namespace

void recommend(const PredictOptions& o) {
  const auto start = std::chrono::steady_clock::now();
  check_requests(o);
  const Device device = Device::parse(o.device);
  const training::Recommender model = training::load_recommender(o.checkpoint, device);
  const Interactions data = interactions_in(o.data, model.data.type);
  const training::MatchedInteractions matched =
      training::match_interactions(model, data, o.data, o.checkpoint);
  std::vector<int32_t> users = matched.users;
  if (!o.nodes.empty()) {
    std::vector<std::string> notes;
    const Dataset rows = detail::named_rows(data.name, data.users);
    users.clear();
    for (const int32_t row :
         chosen_nodes("nodes", o.nodes, rows, o.data, false, o.text.format(), &notes).to_vector<int32_t>())
      users.push_back(matched.users[static_cast<size_t>(row)]);
    for (const std::string& note : notes) log_info("{}", note);
  }
  log_info("{} of {} on {}: {} users, {}", model.name, printable(o.checkpoint), printable(o.data),
           users.size(), device.str());
  const UserItems known(model.data.num_users(),
                        {model.data.train, model.data.val, model.data.test, matched.pairs});
  constexpr int64_t kUsual = 10;
  training::write_top_items(o.out, model.data, model.vectors, users, known, o.top == 0 ? kUsual : o.top,
                            o.escape_formulas);
  if (o.json)
    fmt::print(
        R"({{"app": "predict", "dataset": {}, "model": {}, "device": {}, "users": {}, "wall_s": {:.3f}}})"
        "\n",
        json_text(data.name), json_text(model.name), json_text(device.str()), users.size(),
        training::seconds_since(start));
}

}  // namespace adj::apps
