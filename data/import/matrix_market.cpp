#include <adjoint/core/text.h>
#include <adjoint/data/import/fields.h>
#include <adjoint/data/import/imported_edges.h>

#include <algorithm>
#include <limits>
#include <optional>

// Boisvert, Pozo & Remington 1996, "The Matrix Market exchange formats".

namespace adj {

namespace {

struct Entries {
  std::vector<int32_t> ends;  // source and target of each
  std::vector<float> weights;
  Rounding rounding;
  int64_t last_line = 0;
};

bool passed_over(std::string_view line) { return line.starts_with('%') || trimmed(line).empty(); }

}  // namespace

bool is_matrix_market(std::string_view first_line) { return lower(first_line).starts_with("%%matrixmarket"); }

MatrixMarket read_matrix_market(TextSource& source, const EdgeListOptions& options) {
  // Lines up to the size line are few; the first block is split after them, since blocks are the unit of
  // parallel parsing.
  TextBlock block;
  source.next(block);
  LineCursor head(block);
  (void)head.next();
  std::vector<std::string> words;
  const std::string banner = lower(head.line());
  for (FieldCursor cursor(banner, Separator::blanks); cursor.next();) words.emplace_back(cursor.field());
  words.resize(5);
  if (words[1] != "matrix" || words[2] != "coordinate")
    source.fail(1, "\"{}\", expected a Matrix Market matrix in coordinates (--layout matrix reads an array)",
                excerpt(head.line()));
  if (words[3] != "real" && words[3] != "integer" && words[3] != "pattern")
    source.fail(1, "values of the kind \"{}\", expected real, integer or pattern", excerpt(words[3]));
  if (words[4] != "general" && words[4] != "symmetric")
    source.fail(1, "a matrix that is \"{}\", expected general or symmetric", excerpt(words[4]));
  const bool values = words[3] != "pattern";

  bool found = false;
  while ((found = head.next()) && passed_over(head.line())) {
  }
  if (!found) source.fail(head.number(), "no size line, expected one of rows, columns and entries");
  const auto integer = [&](const FieldCursor& cursor, int64_t line, size_t column, int64_t least,
                           int64_t most) {
    const std::optional<int64_t> value = integer_in(cursor.field());
    if (!value || *value < least || *value > most)
      source.fail(line, "\"{}\" in column {}, expected an integer from {} to {}", excerpt(cursor.field()),
                  column, least, most);
    return *value;
  };
  std::vector<int64_t> size;
  for (FieldCursor cursor(head.line(), Separator::blanks); cursor.next();)
    size.push_back(integer(cursor, head.number(), size.size() + 1, 0, std::numeric_limits<int64_t>::max()));
  if (size.size() != 3)
    source.fail(head.number(), "{} numbers, expected rows, columns and entries", size.size());
  if (size[0] != size[1])
    source.fail(head.number(), "{} rows and {} columns, expected a square matrix", size[0], size[1]);
  if (size[0] < 1 || size[0] > NodeIds::kMost)
    source.fail(head.number(), "{} rows, expected 1 to {}", size[0], NodeIds::kMost);
  if (size[2] > ImportedEdges::kMost)
    source.fail(head.number(), "{} entries, expected {} at most", size[2], ImportedEdges::kMost);

  const size_t columns = values ? 3 : 2;
  const auto parse_line = [&](int64_t number, std::string_view line, Entries& entries) {
    if (passed_over(line)) return;
    entries.last_line = number;
    size_t column = 0;
    for (FieldCursor cursor(line, Separator::blanks); cursor.next();) {
      ++column;
      if (column <= 2) {
        entries.ends.push_back(static_cast<int32_t>(integer(cursor, number, column, 1, size[0]) - 1));
      } else if (column == 3 && values) {
        const auto weight = float_in(cursor.field());
        if (!weight)
          source.fail(number, "\"{}\", expected a finite number within float32", excerpt(cursor.field()));
        entries.weights.push_back(*weight);
        entries.rounding.add(cursor.field(), *weight);
      }
    }
    if (column != columns) source.fail(number, "{} fields, expected {}", column, columns);
  };

  MatrixMarket matrix{ImportedEdges(values && options.columns.weight != "none", options.drop_self_loops),
                      size[0], words[4] == "symmetric"};
  int64_t count = 0, last_line = head.number();
  const auto take = [&](const Entries& entries) {
    const size_t n = entries.ends.size() / 2;
    count += static_cast<int64_t>(n);
    last_line = std::max(last_line, entries.last_line);
    matrix.rounding.merge(entries.rounding);
    if (count > size[2]) source.fail(last_line, "more entries than the {} of the size line", size[2]);
    for (size_t k = 0; k < n; ++k)
      matrix.edges.append(entries.ends[2 * k], entries.ends[2 * k + 1],
                          {.weight = values ? entries.weights[k] : 1.0f});
  };
  Entries first;
  while (head.next()) parse_line(head.number(), head.line(), first);
  take(first);
  source.for_blocks(
      [&](const TextBlock& next) {
        Entries entries;
        for (LineCursor cursor(next); cursor.next();) parse_line(cursor.number(), cursor.line(), entries);
        return entries;
      },
      take);
  if (count != size[2]) source.fail(last_line, "{} entries, expected {} as in the size line", count, size[2]);
  return matrix;
}

}  // namespace adj
