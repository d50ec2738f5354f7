#include <adjoint/core/log.h>
#include <adjoint/core/text.h>
#include <adjoint/data/detail/batch_data.h>
#include <adjoint/data/detail/names.h>
#include <adjoint/graph/detail/index.h>
#include <adjoint/training/inputs.h>
#include <adjoint/training/links.h>
#include <adjoint/training/typed_inputs.h>

#include <algorithm>

#include <fmt/ranges.h>

namespace adj::training {

namespace {

/// The relation of --edges.
EdgeType relation_of(const TypedDataset& data, const std::string& wanted, const std::string& file) {
  if (wanted != "auto") {
    try {
      return data.edge_type(wanted);
    } catch (const Error& error) {
      usage_fail("--edges: {}", error.what());
    }
  }
  std::vector<EdgeType> originals;
  for (const EdgeType& type : data.graph.edge_types()) {
    const bool reverse =
        std::ranges::any_of(originals, [&](const EdgeType& other) { return are_reverses(type, other); });
    if (!reverse) originals.push_back(type);
  }
  if (originals.size() == 1) return originals.front();
  std::vector<std::string> names;
  for (const EdgeType& type : originals) names.push_back(printable(text_of(type)));
  data_fail("{}: {} relations, expected --edges with one of: {}", file, names.size(), fmt::join(names, ", "));
}

/// Says which relations lost the hidden pairs with the predicted one, and which still join some.
void log_relations(const EdgeType& type, const HeteroLinkSplit& split) {
  log_info("links of {}", printable(text_of(type)));
  std::vector<std::string> same;
  for (const EdgeType& other : split.same) same.push_back(printable(text_of(other)));
  if (!same.empty())
    log_info("the same edges, hidden with them from the training: {}", detail::listed(same, 5));
  const int64_t hidden = split.val.positive.src.numel() + split.test.positive.src.numel();
  for (const auto& [other, shared] : split.also)
    log_warning("{} of the {} pairs to validate and test are also joined by {}, which the model sees", shared,
                hidden, printable(text_of(other)));
}

EdgeIndex shifted(const EdgeIndex& pairs, int64_t target_begin) {
  return {pairs.src, detail::shifted(pairs.dst, target_begin)};
}

LinkExamples shifted(const LinkExamples& pairs, int64_t target_begin) {
  return {shifted(pairs.positive, target_begin), shifted(pairs.negative, target_begin)};
}

}  // namespace

LearningTask typed_link_task(const Settings& settings, const LinkOptions& links) {
  TypedDataset data = load_types(settings.data.path, settings.batches);
  const std::string file = settings.data.path.empty() ? data.name : settings.data.path;
  const EdgeType type = relation_of(data, links.edges, file);
  std::vector<std::string> ends{type.src};
  if (type.dst != type.src) ends.push_back(type.dst);
  const GraphSchema schema = schema_of(data, ends, settings.data.reverse == ReverseRelations::add);
  Generator generator(static_cast<uint64_t>(settings.run.seed));
  const HeteroLinkSplit split = at_place(file, "edges", [&] {
    return random_link_split(data.graph, type, {.val = links.val, .test = links.test}, generator);
  });
  log_relations(type, split);
  const bool keeps_whole = !settings.output.run_dir.empty();  // whose fingerprint is the file's
  const Graph whole = keeps_whole ? join(data.graph, schema) : Graph();
  data.graph = split.train;
  const auto types = prepare_types(settings, data, schema, file);
  types->link = type;
  TypedLinks typed{pairs_of(schema, type, split.same), nodes_alone(data, type.dst)};
  const int64_t first = typed.pairs.dst_begin;
  Examples examples =
      examples_of(shifted(split.val, first), shifted(split.test, first), shifted(split.pairs, first), links,
                  fmt::format("{}: edges of {}", file, printable(text_of(type))));
  std::vector<Metric> metrics = link_metrics(settings.data.metric, examples);
  LearningTask task(settings, joint_dataset(data, schema), std::move(examples), std::move(metrics), whole,
                    types);
  task.links = std::move(typed);
  return task;
}

}  // namespace adj::training
