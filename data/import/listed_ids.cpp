#include <adjoint/data/import/detail/field_encoding.h>
#include <adjoint/data/import/detail/listed_ids.h>

#include <array>

namespace adj::detail {

namespace {

/// What is known of texts with one of the separators.
struct Lists {
  int64_t items = 0, known = 0;
  bool among_sources = false;
  std::string first;

  bool are_lists() const { return !among_sources && 2 * known > items; }
};

}  // namespace

std::string listed_ids(const NodeIds& targets, const std::vector<bool>& is_source, const NodeIds& sources,
                       bool bracketed) {
  if (targets.kind() != NodeIds::Kind::names || sources.kind() != NodeIds::Kind::names) return "";
  std::array<Lists, std::size(kSetSeparators)> all;
  for (int64_t node = 0; node < targets.size(); ++node) {
    const std::string text = targets.text(static_cast<int32_t>(node));
    if (text.find_first_of("|;,\t ") == std::string::npos || (bracketed && !is_bracketed(text))) continue;
    const bool source = static_cast<size_t>(node) < is_source.size() && is_source[static_cast<size_t>(node)];
    for (size_t k = 0; k < all.size(); ++k) {
      int64_t items = 0, known = 0;
      for_items(text, kSetSeparators[k], [&](std::string_view item) {
        ++items;
        known += sources.find(item) >= 0;
      });
      if (items < 2) continue;
      Lists& lists = all[k];
      lists.among_sources = lists.among_sources || source;
      if (lists.items == 0) lists.first = text;
      lists.items += items;
      lists.known += known;
      break;
    }
  }
  for (const Lists& lists : all)
    if (lists.are_lists()) return lists.first;
  return "";
}

}  // namespace adj::detail
