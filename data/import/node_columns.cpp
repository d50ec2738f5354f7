#include <adjoint/core/error.h>
#include <adjoint/core/text.h>
#include <adjoint/data/detail/names.h>
#include <adjoint/data/import/edge_columns.h>
#include <adjoint/data/import/fields.h>
#include <adjoint/data/import/node_columns.h>

#include <algorithm>
#include <map>
#include <optional>

namespace adj {

namespace {

/// How well a name fits a node's id; 0: not at all.
int fit_of_id(const std::string& name) {
  if (name.find(":ID") != std::string::npos) return 3;  // Neo4j
  const std::vector<std::string> words = words_in(name);
  using Words = std::vector<std::string>;
  if (words == Words{"node", "id"} || words == Words{"nodeid"} || words == Words{"vertex", "id"}) return 3;
  if (words == Words{"id"}) return 2;
  return words == Words{"node"} || words == Words{"vertex"} ? 1 : 0;
}

bool is_label(const std::string& name) {
  const std::vector<std::string> words = words_in(name);
  using Words = std::vector<std::string>;
  return words == Words{"label"} || words == Words{"class"} || words == Words{"node", "label"} ||
         words == Words{"node", "class"};
}

/// The part that a mask of this name selects; -1: it is none.
int part_of_mask(const std::string& name) {
  const std::vector<std::string> words = words_in(name);
  if (words.size() != 2 || words[1] != "mask") return -1;
  if (words[0] == "train") return 0;
  if (words[0] == "val" || words[0] == "valid" || words[0] == "validation") return 1;
  return words[0] == "test" ? 2 : -1;
}

/// The column whose name says that it has the ids; the first one if none does.
int64_t find_id(std::span<const std::string> names) {
  int best = 0;
  int64_t column = 0;
  for (size_t k = 0; k < names.size(); ++k)
    if (const int fit = fit_of_id(names[k]); fit > best) {
      best = fit;
      column = static_cast<int64_t>(k);
    }
  return column;
}

}  // namespace

std::string column_text(int64_t column, std::span<const std::string> names) {
  const auto k = static_cast<size_t>(column);
  const bool named = k < names.size() && !names[k].empty();
  return fmt::format("column {}{}", column + 1, named ? fmt::format(" ({})", excerpt(names[k])) : "");
}

int64_t chosen_column(const std::string& choice, std::span<const std::string> names, int64_t columns,
                      const std::string& place) {
  if (const auto first = std::find(names.begin(), names.end(), choice); first != names.end()) {
    if (std::find(first + 1, names.end(), choice) != names.end())
      data_fail("{}: {} columns called \"{}\", expected a number from 1 to {} to say which", place,
                std::count(first, names.end(), choice), excerpt(choice), columns);
    return first - names.begin();
  }
  const std::optional<int64_t> number = integer_in(choice);
  if (number && *number >= 1 && *number <= columns) return *number - 1;
  constexpr size_t kShown = 20;
  std::string known;
  for (size_t k = 0; k < std::min(names.size(), kShown); ++k)
    known += (known.empty() ? " or one of " : ", ") + excerpt(names[k]);
  if (names.size() > kShown) known += ", …";
  if (names.empty())
    known = ", as there is no header (--header or --node-headers yes: the first line is one)";
  data_fail("{}: no column \"{}\", expected a number from 1 to {}{}", place, excerpt(choice), columns, known);
}

std::string column_name(int64_t column, std::span<const std::string> names) {
  const auto k = static_cast<size_t>(column);
  return k < names.size() && !names[k].empty() ? names[k] : fmt::format("column {}", column + 1);
}

std::string passed_over(std::span<const int64_t> read, std::span<const std::string> names, int64_t columns) {
  std::vector<uint8_t> is_read(static_cast<size_t>(columns));
  for (const int64_t column : read)
    if (column >= 0) is_read[static_cast<size_t>(column)] = 1;
  std::vector<std::string> others;
  for (int64_t k = 0; k < columns; ++k)
    if (is_read[static_cast<size_t>(k)] == 0) others.push_back(column_name(k, names));
  return others.empty() ? "" : "; passed over: " + detail::listed(others, 10);
}

std::vector<int64_t> columns_like(std::span<const std::string> known, std::span<const std::string> names,
                                  int64_t columns, const std::string& place) {
  constexpr size_t kShown = 10;
  std::map<std::string, int64_t> found;
  for (int64_t k = 0; k < columns; ++k) found.emplace(column_name(k, names), k);
  std::vector<int64_t> chosen;
  std::vector<std::string> missing, others;
  for (const std::string& name : known) {
    const auto column = found.find(name);
    if (column == found.end())
      missing.push_back(name);
    else
      chosen.push_back(column->second);
  }
  if (missing.empty()) return chosen;
  for (int64_t k = 0; k < columns; ++k)
    if (std::find(known.begin(), known.end(), column_name(k, names)) == known.end())
      others.push_back(column_name(k, names));
  data_fail("{}: no column {}, expected all of {}{}", place, detail::listed(missing, kShown), known.size(),
            others.empty() ? "" : "; other columns: " + detail::listed(others, kShown));
}

NodeColumns node_columns(std::span<const std::string> names, int64_t columns, const NodeColumnNames& chosen,
                         bool by_row, const std::string& place) {
  const auto column = [&](const std::string& choice) { return chosen_column(choice, names, columns, place); };
  NodeColumns found;
  found.id = by_row ? -1 : !chosen.id.empty() ? column(chosen.id) : find_id(names);
  if (!chosen.label.empty() && chosen.label != "none") found.label = column(chosen.label);
  if (found.label >= 0 && found.label == found.id)
    data_fail("{}: one column for two purposes, expected id and label in different ones", place);
  std::vector<int64_t> others;
  for (const std::string& choice : chosen.without) others.push_back(column(choice));
  const auto is_other = [&](int64_t k) { return std::find(others.begin(), others.end(), k) != others.end(); };
  for (size_t k = 0; k < names.size() && chosen.label.empty(); ++k)
    if (static_cast<int64_t>(k) != found.id && is_label(names[k]) && !is_other(static_cast<int64_t>(k))) {
      if (found.label >= 0)
        data_fail("{}: columns \"{}\" and \"{}\" may both be labels, expected --label to say which (or none)",
                  place, excerpt(names[static_cast<size_t>(found.label)]), excerpt(names[k]));
      found.label = static_cast<int64_t>(k);
    }
  if (!chosen.features.empty()) {
    for (const std::string& choice : chosen.features) {
      const int64_t feature = column(choice);
      const bool again =
          std::find(found.features.begin(), found.features.end(), feature) != found.features.end();
      if (again || feature == found.id || feature == found.label)
        data_fail("{}: {} is chosen as a feature and is {}, expected columns of one purpose", place,
                  column_text(feature, names),
                  again                 ? "one already"
                  : feature == found.id ? "the id"
                                        : "the label");
      found.features.push_back(feature);
    }
    return found;
  }
  others.insert(others.end(), {found.id, found.label});
  for (size_t k = 0; k < names.size(); ++k)
    if (const int part = part_of_mask(names[k]); part >= 0 && !is_other(static_cast<int64_t>(k))) {
      found.masks[static_cast<size_t>(part)] = static_cast<int64_t>(k);
      others.push_back(static_cast<int64_t>(k));
    }
  constexpr const char* kMasks[] = {"train_mask", "val_mask", "test_mask"};
  for (size_t part = std::size(kMasks); part-- > 0;)
    if (found.masks[part] < 0) found.missing_mask = kMasks[part];
  for (const int64_t mask : found.masks)
    if (mask >= 0 && !found.missing_mask.empty()) found.lone_masks.push_back(column_name(mask, names));
  if (!found.missing_mask.empty()) found.masks.fill(-1);
  // A data frame's index beside ids.
  if (!names.empty() && names[0].empty() && found.id > 0) others.push_back(0);
  for (int64_t k = 0; k < columns; ++k)
    if (!is_other(k)) found.features.push_back(k);
  return found;
}

}  // namespace adj
