#include "report.h"
#include <adjoint/core/text.h>
#include <adjoint/data/detail/names.h>
#include <adjoint/data/feature_scaling.h>
#include <adjoint/data/split_columns.h>

#include <algorithm>
#include <set>

#include <fmt/format.h>

namespace adj::apps {

namespace {

constexpr size_t kShown = 3;           // names listed per kind
constexpr double kManyIsolated = 0.1;  // of the nodes
constexpr double kManyUnused = 0.5;

class Notes {
 public:
  explicit Notes(const std::string& path) : file_(excerpt(path)) {}

  template <class... Args>
  void say(std::string_view place, fmt::format_string<Args...> format, Args&&... args) {
    lines_.push_back(
        fmt::format("{}: {}: {}", file_, excerpt(place), fmt::format(format, std::forward<Args>(args)...)));
  }
  std::vector<std::string> take() { return std::move(lines_); }

 private:
  std::string file_;
  std::vector<std::string> lines_;
};

/// "3, 5, 6 and 4 more", from the first few and the total number.
template <class T>
std::string listed(const std::vector<T>& first, int64_t count) {
  const auto more = count - std::ssize(first);
  return fmt::format("{}{}", fmt::join(first, ", "), more > 0 ? fmt::format(" and {} more", more) : "");
}

void note_structure(Notes& notes, const Dataset& data, const StructureStatistics& s) {
  if (data.undirected && !s.symmetric)
    notes.say("attribute undirected", "1, but some edges exist in one direction only");
  if (data.undirected && s.symmetric_weights == false)
    notes.say("edges/weight", "edge weights differ between the two directions, but the file says undirected");
  if (!data.undirected && s.symmetric && data.graph.num_edges() > 0)
    notes.say("attribute undirected", "0 or missing, but every edge exists in both directions");
  if (data.graph.num_edges() == 0) notes.say("edges/src", "no edges");
  if (s.parallel > 0) notes.say("edges", "{} parallel edges: every copy counts as an edge", s.parallel);
  const auto nodes = static_cast<double>(data.num_nodes());
  if (data.graph.num_edges() > 0 && static_cast<double>(s.used) < (1.0 - kManyUnused) * nodes) {
    notes.say("attribute num_nodes", "{}, but the last node with an edge is {}", data.num_nodes(),
              s.used - 1);
  } else if (static_cast<double>(s.isolated) > kManyIsolated * nodes && s.used > 0) {
    notes.say("edges", "{} of {} nodes are isolated", s.isolated, data.num_nodes());
  }
  if (const Tensor& weight = data.graph.edge_weight()) {
    const float* w = weight.data<float>();
    const auto negative = std::count_if(w, w + weight.numel(), [](float x) { return x < 0.0f; });
    const auto zero = std::count(w, w + weight.numel(), 0.0f);
    if (negative > 0) notes.say("edges/weight", "{} are negative", negative);
    if (zero > 0) notes.say("edges/weight", "{} are 0", zero);
  }
}

void note_features(Notes& notes, const Dataset& data, const FeatureSummary& f) {
  const char* place = data.x.is_sparse() ? "nodes/x_data" : "nodes/x";
  if (data.num_features() == 0) return notes.say(place, "no columns");
  if (f.zero_rows > 0) notes.say(place, "{} of {} rows are all zero", f.zero_rows, data.num_nodes());
  if (f.constant_columns > 0 && data.num_nodes() > 1)
    notes.say(place, "{} of {} columns are the same for every node", f.constant_columns, data.num_features());
  if (f.scales_differ() && FeatureScaling::automatic(f, data.encoder) == FeatureScaling::Kind::none)
    notes.say(place,
              "columns of very different scale: the largest value is {:.3g} in one and {:.3g} in another; to "
              "train, --features-scaling real equalises them",
              f.least_scale, f.largest_scale);
}

void note_classes(Notes& notes, const Dataset& data, const Counts& classes) {
  const auto count = std::ssize(classes);
  std::vector<int64_t> without;
  for (int64_t c = 0; c < data.classes && without.size() < kShown; ++c)
    if (classes.find(c) == classes.end()) without.push_back(c);
  if (!without.empty())
    notes.say("attribute num_classes", "{}, but no label is of class {}", data.classes,
              listed(without, data.classes - count));
}

void note_columns(Notes& notes, const LabelStatistics& l, const std::string& place) {
  std::vector<size_t> constant;
  for (size_t k = 0; k < l.positive.size(); ++k)
    if (l.positive[k] == 0 || l.positive[k] == l.rows) constant.push_back(k);
  for (size_t k = 0; k < l.ranges.size(); ++k)
    if (l.ranges[k].first == l.ranges[k].second) constant.push_back(k);
  if (constant.empty()) return;
  const auto count = std::ssize(constant);
  constant.resize(std::min(kShown, constant.size()));
  notes.say(place, "the same for every row in column {}", listed(constant, count));
}

/// Notes parts of a split that lack a class of the data.
void note_splits(Notes& notes, const Dataset& data, const Counts& classes) {
  const Tensor& y = labels_of(data);
  std::vector<std::string> parts;
  int64_t count = 0;
  for (size_t k = 0; k < data.splits.size(); ++k) {
    const Split& split = data.splits[k];
    for (const auto& [name, part] :
         {std::pair("train", &split.train), {"val", &split.val}, {"test", &split.test}}) {
      std::set<int32_t> seen;
      for (int64_t i = 0; i < part->numel() && std::ssize(seen) < std::ssize(classes); ++i)
        seen.insert(y.data<int32_t>()[part->data<int32_t>()[i]]);
      if (std::ssize(seen) == std::ssize(classes) || ++count > static_cast<int64_t>(kShown)) continue;
      std::vector<int64_t> without;
      for (const auto& [label, labelled] : classes)
        if (without.size() < kShown && !seen.contains(static_cast<int32_t>(label))) without.push_back(label);
      notes.say(k == 0 ? fmt::format("splits/{}", name) : fmt::format("splits/{}/{}", k, name),
                "no example of class {}", listed(without, std::ssize(classes) - std::ssize(seen)));
    }
  }
  if (count > static_cast<int64_t>(kShown))
    notes.say("splits", "{} more parts lack a class", count - static_cast<int64_t>(kShown));
}

void note_beside(Notes& notes, const std::string& path) {
  try {
    const std::vector<std::string> extras = beside_schema(path);
    for (size_t k = 0; k < std::min(kShown, extras.size()); ++k)
      notes.say(extras[k], "not part of the schema, ignored");
    if (extras.size() > kShown)
      notes.say("/", "{} more that are not part of the schema", extras.size() - kShown);
  } catch (const DataError& error) {
    notes.say("/", "items outside the schema cannot be listed: {}", excerpt(error.what()));
  }
}

}  // namespace

std::vector<std::string> notes_of(const std::string& path, const Dataset& data, const Statistics& s) {
  Notes notes(path);
  if (s.structure) note_structure(notes, data, *s.structure);
  if (s.features) note_features(notes, data, *s.features);
  if (s.graphs && s.graphs->empty > 0)
    notes.say("graphs/offsets", "{} graphs without a node", s.graphs->empty);
  if (s.labels) {
    const std::string place = detail::labels_path(data.task);
    if (has_classes(data.task)) {
      note_classes(notes, data, s.labels->classes);
      note_splits(notes, data, s.labels->classes);
    }
    note_columns(notes, *s.labels, place);
    if (const std::string note =
            UntrainedColumns(data.labels(), data.task, data.class_names, data.splits).note(data.task);
        !note.empty())
      notes.say("splits", "{}", note);
    if (data.unlabelled == s.labels->rows) notes.say(place, "no label at all");
  }
  note_beside(notes, path);
  return notes.take();
}

}  // namespace adj::apps
