#include <adjoint/core/text.h>
#include <adjoint/data/import/csv_table.h>

#include <algorithm>

namespace adj {

namespace {

constexpr size_t kMostColumns = 1'000'000;

/// From `at`, inside quotes: the position after the closing quote, or npos if there is none.
size_t behind_quotes(std::string_view text, size_t at) {
  for (;; ++at) {
    at = text.find('"', at);
    if (at == std::string_view::npos) return at;
    if (at + 1 == text.size() || text[at + 1] != '"') return at + 1;
    ++at;
  }
}

void append_unquoted(std::string_view quoted, std::string& field) {
  for (size_t k = 1; k + 1 < quoted.size(); ++k) {
    field += quoted[k];
    k += quoted[k] == '"';
  }
}

}  // namespace

CsvTable::CsvTable(TextSource& source, std::optional<Separator> separator)
    : source_(source), separator_(separator.value_or(Separator::comma)) {
  std::string_view line;
  if (!source_.next(line)) source_.fail(1, "empty, expected a header of columns");
  if (!separator) separator_ = separator_of(line);
  record_ = line;
  line_ = source_.line_number();
  read_record();
  header_ = fields_;
}

std::optional<size_t> CsvTable::column(std::string_view name) const {
  const auto found = std::find(header_.begin(), header_.end(), name);
  if (found == header_.end()) return {};
  if (std::find(found + 1, header_.end(), name) != header_.end())
    source_.fail(1, "two columns \"{}\", expected one", excerpt(name));
  return static_cast<size_t>(found - header_.begin());
}

bool CsvTable::next() {
  std::string_view line;
  do {
    if (!source_.next(line)) return false;
  } while (header_.size() > 1 && trimmed(line).empty());
  record_ = line;
  line_ = source_.line_number();
  read_record();
  if (fields_.size() != header_.size())
    fail("{} fields, expected {} as in the header", fields_.size(), header_.size());
  return true;
}

/// Splits record_ into fields, appending lines while a quote is open.
void CsvTable::read_record() {
  size_t count = 0;
  const auto field = [&]() -> std::string& {
    if (count == kMostColumns) fail("more than {} columns, expected at most that", kMostColumns);
    if (count == fields_.size()) fields_.emplace_back();
    fields_[count].clear();
    return fields_[count++];
  };
  const char separator = static_cast<char>(separator_);
  size_t at = 0;
  for (bool more = true; more;) {
    while (at < record_.size() && (record_[at] == ' ' || (record_[at] == '\t' && separator != '\t'))) ++at;
    if (at < record_.size() && record_[at] == '"') {
      at = read_quoted(at, field());
      while (at < record_.size() && (record_[at] == ' ' || (record_[at] == '\t' && separator != '\t'))) ++at;
      more = at < record_.size();
      if (more && separator_ != Separator::blanks && record_[at] != separator)
        fail("text behind a closing quote, expected {}", name_of(separator_));
      if (separator_ != Separator::blanks) ++at;
      continue;
    }
    const std::string_view rest = std::string_view(record_).substr(at);
    if (separator_ == Separator::blanks && rest.empty()) break;
    FieldCursor cursor(rest, separator_);
    (void)cursor.next();
    field() = cursor.field();
    more = cursor.more();
    at = record_.size() - cursor.rest().size();
  }
  fields_.resize(count);
}

size_t CsvTable::read_quoted(size_t at, std::string& field) {
  const int64_t opened = source_.line_number();
  size_t end = behind_quotes(record_, at + 1);
  std::string_view line;
  while (end == std::string::npos) {
    if (record_.size() - at > TextSource::kLongestLine || !source_.next(line))
      source_.fail(opened, "a quote that is not closed, expected a second one");
    const size_t searched = record_.size();
    record_ += '\n';
    record_ += line;
    end = behind_quotes(record_, searched);
  }
  append_unquoted(std::string_view(record_).substr(at, end - at), field);
  return end;
}

}  // namespace adj
