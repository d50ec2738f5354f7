#include <adjoint/core/text.h>
#include <adjoint/data/import/detail/column_contents.h>
#include <adjoint/data/import/detail/field_encoding.h>
#include <adjoint/data/import/fields.h>

#include <algorithm>

#include <fmt/format.h>

namespace adj {

void ColumnContents::add_text(std::string_view field, int64_t line) {
  const bool sets = wanted_ == ColumnType::set && no_items_.empty();
  const std::string_view problem = sets ? problem_of_items(field) : "";
  if (texts_++ == 0 || !problem.empty()) {
    line_ = line;
    first_ = field;
  }
  if (!problem.empty()) no_items_ = problem;
  if (wanted_ == ColumnType::set) {
    add_items(field);
    return;
  }
  commas_ += !decimal_ && field.find(',') != std::string_view::npos && float_in(field, Decimal::comma);
  booleans_ += boolean_in(field).has_value();
  const std::string_view day = trimmed(field);
  const bool date = day.size() > 4 && (day[4] == '-' || day[4] == '/') && days_in(day);
  dates_ += date;
  if (date) range_.add(day, line);
  if (!date && no_date_line_ == 0) {
    no_date_line_ = line;
    no_date_ = field;
  }
  ambiguous_dates_ +=
      dates_ + ambiguous_dates_ + 1 == texts_ && (is_ambiguous_date(field) || has_word_behind_time(field));
  if (vectors_ + 1 == texts_)
    if (const std::vector<float> numbers = vector_in(field, decimal_.value_or(Decimal::point));
        !numbers.empty()) {
      width_ = vectors_ > 0 && width_ != std::ssize(numbers) ? -1 : std::ssize(numbers);
      ++vectors_;
      add_rounding(field, numbers, decimal_.value_or(Decimal::point), numbers_.rounding);
    }
  add_kind(field);
}

void NumberFields::merge(const NumberFields& later) {
  codes += later.codes;
  rounding.resize(std::max(rounding.size(), later.rounding.size()));
  for (size_t k = 0; k < later.rounding.size(); ++k) rounding[k].merge(later.rounding[k]);
  thousands.merge(later.thousands);
}

std::string NumberFields::losses(std::string_view remedy) const {
  std::string text;
  if (codes > 0) text = fmt::format("{} begin with a zero, as codes do{}", codes, remedy);
  if (const std::string rounded = Rounding::total(rounding).text("number"); !rounded.empty())
    text += (text.empty() ? "" : "; ") + rounded;
  return text;
}

/// Which separator a column has is known when all fields are.
void ColumnContents::add_items(std::string_view field) {
  items_.resize(std::size(kSetSeparators));
  for (size_t k = 0; k < items_.size(); ++k) {
    size_t count = 0;
    for_items(field, kSetSeparators[k], [&](std::string_view item) {
      ++count;
      if (items_[k].size() <= most() && !items_[k].contains(item)) items_[k].emplace(item);
    });
    separates_[k] = separates_[k] || count > 1;
  }
}

void ColumnContents::merge(const ColumnContents& later) {
  if (texts_ == 0 || (!later.no_items_.empty() && no_items_.empty())) {
    line_ = later.line_;
    first_ = later.first_;
  }
  if (no_items_.empty()) no_items_ = later.no_items_;
  if (gaps_ == 0) gap_line_ = later.gap_line_;
  if (no_date_line_ == 0) {
    no_date_line_ = later.no_date_line_;
    no_date_ = later.no_date_;
  }
  if (later.vectors_ > 0) width_ = vectors_ == 0 || width_ == later.width_ ? later.width_ : -1;
  texts_ += later.texts_;
  booleans_ += later.booleans_;
  commas_ += later.commas_;
  vectors_ += later.vectors_;
  dates_ += later.dates_;
  range_.merge(later.range_);
  ambiguous_dates_ += later.ambiguous_dates_;
  gaps_ += later.gaps_;
  numbers_.merge(later.numbers_);
  for (const std::string& kind : later.kinds_) add_kind(kind);
  items_.resize(std::max(items_.size(), later.items_.size()));
  for (size_t k = 0; k < later.items_.size(); ++k) {
    separates_[k] = separates_[k] || later.separates_[k];
    for (const std::string& item : later.items_[k])
      if (items_[k].size() <= most()) items_[k].insert(item);
  }
}

/// The type of a column of texts alone; absent: category.
std::optional<ColumnType> ColumnContents::found() const {
  if (booleans_ == texts_) return ColumnType::boolean;
  if (dates_ == texts_) return ColumnType::date;
  if (vectors_ == texts_) return ColumnType::vector;
  return {};
}

std::string ColumnContents::choose(int64_t rows, ColumnEncoder& encoder) const {
  if (wanted_) encoder.type = *wanted_;
  if (texts_ == 0 && (!wanted_ || wanted_ == ColumnType::number)) return "";
  const bool number = !wanted_ || wanted_ == ColumnType::number || wanted_ == ColumnType::vector;
  if (number && commas_ == texts_)
    return "a number with a decimal comma or two numbers, expected --decimal comma or point to say which";
  const int64_t numbers = rows - texts_ - gaps_;
  if (wanted_ == ColumnType::number || (!wanted_ && numbers > 0))
    return fmt::format(
        "expected a finite number within float32{}{}",
        wanted_ ? "" : fmt::format(", as {} other field{} there", numbers, numbers == 1 ? " is" : "s are"),
        !wanted_ && vectors_ > 0 ? " (--types COLUMN=set: lists of items)" : "");
  if (!wanted_ && spoils_dates())
    return fmt::format(
        "expected a date, as {} other field{} there (--types COLUMN=category takes them as texts; --without "
        "COLUMN: no feature)",
        dates_, dates_ == 1 ? " is" : "s are");
  if (!wanted_) encoder.type = found().value_or(ColumnType::category);
  switch (encoder.type) {
    case ColumnType::number:
    case ColumnType::boolean:
    case ColumnType::text:
      return "";
    case ColumnType::hash:
      encoder.whole_numbers = true;
      return "";
    case ColumnType::date:
      if (dates_ != texts_) return "expected dates as 2024-12-31 or 2024-12-31T23:59:59Z";
      if (mixes_zones())
        return range_.mixed() +
               " (--types COLUMN=category takes them as texts; --without COLUMN: no feature)";
      encoder.origin = range_.origin();
      encoder.zones = range_.zones();
      return "";
    case ColumnType::vector:
      if (vectors_ != texts_) return "expected several numbers in every field";
      if (width_ < 0)
        return "a column of vectors of different lengths, expected equal ones (--types COLUMN=set: lists of "
               "items)";
      encoder.columns = width_;
      return "";
    case ColumnType::set:
      return choose_set(encoder);
    case ColumnType::category:
    case ColumnType::ordinal:
      break;
  }
  if (const std::string problem = problem_of_categories(); !problem.empty()) return problem;
  set_categories(encoder);
  return "";
}

std::string ColumnContents::problem_of_categories() const {
  constexpr std::string_view kWays =
      "(--without COLUMN: no feature; --types COLUMN=hash, ordinal or text: a feature of another type)";
  if (texts_ == 0) return "expected texts";
  if (!wanted_ && dates_ + ambiguous_dates_ == texts_)
    return fmt::format(
        "a column of dates {} (--types COLUMN=category takes them as texts; --without COLUMN: no feature)",
        has_word_behind_time(text()) ? "with a word behind the time, expected an offset, as "
                                       "2024-12-31T23:59:59+01:00, Z or UTC"
                                     : "whose order is unclear, expected 2024-12-31");
  const auto kinds = static_cast<int64_t>(kinds_.size());
  const bool identifies = !wanted_ && texts_ > 2 && kinds == texts_;
  if (!identifies && kinds_.size() <= most()) return "";
  return fmt::format("a column of {}, expected numbers, or texts of {} categories at most {}",
                     identifies ? "another text in every row" : fmt::format("more than {} texts", most()),
                     most(), kWays);
}

std::string ColumnContents::choose_set(ColumnEncoder& encoder) const {
  if (!no_items_.empty()) return std::string(no_items_);
  size_t k = 0;
  while (k + 1 < std::size(kSetSeparators) && !separates_[k]) ++k;
  encoder.separator = kSetSeparators[k] == Separator::blanks ? " " : kSetSeparators[k].text();
  if (encoder.columns > 1) {
    encoder.whole_numbers = true;
    return "";
  }
  if (items_.empty() || items_[k].empty()) return "expected items";
  if (items_[k].size() > most())
    return fmt::format(
        "a column of more than {} different items, expected fewer, or a number of columns for them by their "
        "hashes (--types COLUMN=set:256)",
        most());
  encoder.categories.assign(items_[k].begin(), items_[k].end());
  if (std::all_of(items_[k].begin(), items_[k].end(),
                  [](const std::string& item) { return integer_in(item); }))
    std::stable_sort(
        encoder.categories.begin(), encoder.categories.end(),
        [](const std::string& a, const std::string& b) { return *integer_in(a) < *integer_in(b); });
  return "";
}

/// Ascending; numerically if all are numbers.
void ColumnContents::set_categories(ColumnEncoder& encoder) const {
  encoder.categories.assign(kinds_.begin(), kinds_.end());
  if (encoder.type == ColumnType::ordinal &&
      std::all_of(kinds_.begin(), kinds_.end(), [](const std::string& k) { return double_in(k); }))
    std::stable_sort(
        encoder.categories.begin(), encoder.categories.end(),
        [](const std::string& a, const std::string& b) { return *double_in(a) < *double_in(b); });
}

}  // namespace adj
