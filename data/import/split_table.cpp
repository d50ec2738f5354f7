#include <adjoint/core/text.h>
#include <adjoint/data/import/detail/split_column.h>
#include <adjoint/data/import/split_table.h>
#include <adjoint/data/import/times.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace adj {

namespace {

using detail::SplitColumn;
using detail::TableValue;

Split split_of_parts(std::array<std::vector<int32_t>, 3>& parts, const SplitColumn& reader) {
  for (size_t p = 0; p < 3; ++p) {
    if (parts[p].empty())
      reader.source().fail(0, "no {} with a label is in {} by {}, expected some in train, val and test",
                           reader.items().word(),
                           p == 0   ? "train"
                           : p == 1 ? "val"
                                    : "test",
                           reader.column());
    std::sort(parts[p].begin(), parts[p].end());
  }
  return {Tensor::from(parts[0]), Tensor::from(parts[1]), Tensor::from(parts[2])};
}

/// A value with its time.
struct TimedItem {
  long double time;
  const TableValue* value;
};

/// Ascending by time.
std::vector<TimedItem> times_in(const SplitColumn& reader, const std::vector<TableValue>& values,
                                TimeKind& kind) {
  std::vector<TimedItem> all;
  for (const TableValue& value : values) {
    const std::optional<Time> time = time_in(value.text);
    if (!time)
      reader.source().fail(value.line,
                           "\"{}\" in {}, expected a number or a date as 2021-03-05 or "
                           "2021-03-05T17:30:00Z",
                           excerpt(value.text), reader.column());
    if (all.empty()) kind = time->kind;
    if (time->kind != kind)
      reader.source().fail(value.line, "\"{}\" in {} is {}, expected {} as in line {}", excerpt(value.text),
                           reader.column(), name_of(time->kind), name_of(kind), values[0].line);
    all.push_back({time->begin, &value});
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const TimedItem& a, const TimedItem& b) { return a.time < b.time; });
  return all;
}

/// Number of items up to a time, inclusive.
size_t count_until(const std::vector<TimedItem>& all, TimeKind kind, const std::string& text) {
  const std::optional<Time> time = time_in(text);
  if (!time || time->kind != kind)
    usage_fail("--until: '{}' is {}, expected {} as the times of the table", excerpt(text),
               time ? name_of(time->kind) : "no time", name_of(kind));
  return static_cast<size_t>(
      std::upper_bound(all.begin(), all.end(), time->end,
                       [](long double end, const TimedItem& item) { return end < item.time; }) -
      all.begin());
}

/// The change of time nearest to `wanted`, among those from `first` up to all but `reserved`.
size_t nearest_change(const std::vector<size_t>& changes, double wanted, size_t first, size_t reserved) {
  size_t best = first;
  for (size_t k = first; k + reserved < changes.size(); ++k)
    if (std::abs(static_cast<double>(changes[k]) - wanted) <
        std::abs(static_cast<double>(changes[best]) - wanted))
      best = k;
  return best;
}

/// Numbers of items before the two cuts, moved so that equal times stay together.
std::array<size_t, 2> cuts_of(const std::vector<TimedItem>& all, const SplitFractions& fractions,
                              const SplitColumn& reader) {
  std::vector<size_t> changes;
  for (size_t k = 1; k < all.size(); ++k)
    if (all[k].time != all[k - 1].time) changes.push_back(k);
  if (changes.size() < 2)
    reader.source().fail(0,
                         "{} different times in {} of {} with a label, expected 3 or more, as those of "
                         "equal times stay in one part",
                         all.empty() ? 0 : changes.size() + 1, reader.column(), reader.items().word());
  const auto count = static_cast<double>(all.size());
  const size_t train =
      nearest_change(changes, std::round((1.0 - fractions.val - fractions.test) * count), 0, 1);
  const size_t val = nearest_change(changes, std::round((1.0 - fractions.test) * count), train + 1, 0);
  return {changes[train], changes[val]};
}

std::string range_note(const std::vector<TimedItem>& all, size_t begin, size_t end, const char* part) {
  return fmt::format("{} {} to {} ({}, {:.1f} %)", part, excerpt(all[begin].value->text),
                     excerpt(all[end - 1].value->text), end - begin,
                     100.0 * static_cast<double>(end - begin) / static_cast<double>(all.size()));
}

}  // namespace

int part_named(std::string_view text) {
  const std::string word = lower(text);
  if (word == "train" || word == "training") return 0;
  if (word == "val" || word == "valid" || word == "validation" || word == "dev") return 1;
  return word == "test" || word == "testing" ? 2 : -1;
}

Split split_by_column(const Dataset& data, const std::string& file, const SplitTable& table,
                      std::vector<std::string>& notes) {
  SplitColumn reader(data, file, table, [](std::string_view text) { return part_named(text) >= 0; });
  std::array<std::vector<int32_t>, 3> parts;
  for (const TableValue& value : reader.read(notes)) {
    const int part = part_named(value.text);
    if (part < 0)
      reader.source().fail(value.line, "\"{}\" in {}, expected train, val or test, or nothing for no part",
                           excerpt(value.text), reader.column());
    parts[static_cast<size_t>(part)].push_back(value.item);
  }
  return split_of_parts(parts, reader);
}

Split split_by_time(const Dataset& data, const std::string& file, const SplitTable& table,
                    const TimeCuts& cuts, std::vector<std::string>& notes) {
  SplitColumn reader(data, file, table, [](std::string_view text) { return time_in(text).has_value(); });
  const std::vector<TableValue> values = reader.read(notes);
  TimeKind kind = TimeKind::number;
  const std::vector<TimedItem> all = times_in(reader, values, kind);
  const bool by_times = !cuts.train_until.empty();
  std::array<size_t, 2> ends{};
  if (by_times)
    ends = {count_until(all, kind, cuts.train_until), count_until(all, kind, cuts.val_until)};
  else
    ends = cuts_of(all, cuts.fractions, reader);
  if (ends[1] < ends[0])
    usage_fail("--until: '{}' is after '{}', expected the end of train, then that of val",
               excerpt(cuts.train_until), excerpt(cuts.val_until));
  const std::array<size_t, 4> bounds{0, ends[0], ends[1], all.size()};
  std::array<std::vector<int32_t>, 3> parts;
  for (size_t p = 0; p < 3; ++p)
    for (size_t k = bounds[p]; k < bounds[p + 1]; ++k) parts[p].push_back(all[k].value->item);
  Split split = split_of_parts(parts, reader);
  notes.push_back(fmt::format("split by time: {}, {}, {}", range_note(all, 0, ends[0], "train"),
                              range_note(all, ends[0], ends[1], "val"),
                              range_note(all, ends[1], all.size(), "test")));
  const auto count = static_cast<double>(all.size());
  const double wanted[] = {(1.0 - cuts.fractions.val - cuts.fractions.test) * count,
                           (1.0 - cuts.fractions.test) * count};
  if (!by_times && (std::abs(static_cast<double>(ends[0]) - std::round(wanted[0])) > 0.5 ||
                    std::abs(static_cast<double>(ends[1]) - std::round(wanted[1])) > 0.5))
    notes.push_back(
        fmt::format("{} of equal times stay together, so the parts are not the {:.4g}, {:.4g} and "
                    "{:.4g} % that were asked for",
                    reader.items().word(), 100.0 * wanted[0] / count, 100.0 * cuts.fractions.val,
                    100.0 * cuts.fractions.test));
  return split;
}

}  // namespace adj
