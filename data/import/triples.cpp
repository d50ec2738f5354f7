#include <adjoint/core/text.h>
#include <adjoint/data/import/detail/triple_list.h>
#include <adjoint/data/import/fields.h>
#include <adjoint/data/import/text_source.h>
#include <adjoint/data/import/triples.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include <fmt/ranges.h>

namespace adj {

namespace {

/// Which column of a line has the head, the relation and the tail, by these words; nothing if they say less.
std::optional<TripleColumns> columns_of_words(const std::vector<std::string>& words) {
  if (words.size() != 3) return {};
  TripleColumns columns{};
  for (size_t k = 0; k < 3; ++k) {
    const auto found = std::ranges::find(words, std::array{"head", "relation", "tail"}[k]);
    if (found == words.end()) return {};
    columns[k] = static_cast<size_t>(found - words.begin());
  }
  return columns;
}

/// The fields of a line, at most `most` and one more.
std::vector<std::string_view> fields_in(std::string_view line, Separator separator, size_t most) {
  std::vector<std::string_view> fields;
  for (FieldCursor cursor(line, separator); fields.size() <= most && cursor.next();)
    fields.push_back(cursor.field());
  return fields;
}

/// Whether OpenKE writes triples under this name.
bool has_numbers(const std::string& path) {
  std::string name = std::filesystem::path(path).filename().string();
  if (name.ends_with(".gz")) name.resize(name.size() - 3);
  return name.ends_with("2id.txt");
}

/// FOLDER/NAME, or the same with .gz; empty if there is neither.
std::string file_beside(const std::filesystem::path& folder, const std::string& name) {
  std::error_code error;
  for (const char* end : {"", ".gz"})
    if (const auto path = folder / (name + end); std::filesystem::exists(path, error)) return path.string();
  return {};
}

class TripleImport {
 public:
  TripleImport(const TripleFiles& files, const std::string& columns, std::vector<std::string>& notes)
      : notes_(notes), paths_{files.train, files.val, files.test}, reading_(paths_) {
    if (!columns.empty()) columns_ = triple_columns(columns);
    numbers_ = has_numbers(files.train);
    for (const std::string& path : paths_)
      if (!path.empty() && has_numbers(path) != numbers_)
        data_fail("{}: {}, but {} has {}, expected files of one kind", excerpt(path),
                  numbers_ ? "triples of names" : "triples of numbers by its name", excerpt(files.train),
                  numbers_ ? "numbers by its name" : "names");
    if (numbers_ && columns_)
      usage_fail("--columns: triples of OpenKE are head, tail and relation, expected none");
  }

  TypedDataset read() {
    if (numbers_) {
      const std::filesystem::path folder = std::filesystem::path(paths_[0]).parent_path();
      read_names(folder, "entity2id.txt", nodes_);
      read_names(folder, "relation2id.txt", relations_);
      used_.resize(static_cast<size_t>(nodes_.size()));
    }
    std::vector<int64_t> counts;
    int64_t seen = 0;  // nodes of the first file
    for (const std::string& path : paths_) {
      if (path.empty()) continue;
      if (!counts.empty()) triples_.next_part();
      const int64_t before = triples_.size();
      numbers_ ? read_numbers(path) : read_texts(path);
      if (triples_.size() == before) data_fail("{}: no triples, expected some", excerpt(path));
      counts.push_back(triples_.size() - before);
      if (counts.size() == 1) seen = numbers_ ? std::ranges::count(used_, true) : nodes_.size();
    }
    const bool split = counts.size() == 3;
    const auto edges = triples_.take(relations_.size());
    note_triples(counts);
    note_nodes(nodes_.size() - seen, split);
    return detail::dataset_of_triples(nodes_, relations_, edges, false, split);
  }

 private:
  void read_texts(const std::string& path) {
    TextSource source(path, &reading_);
    std::optional<Separator> separator;
    for (std::string_view line; source.next(line);) {
      if (trimmed(line).empty()) continue;
      const int64_t number = source.line_number();
      const bool first = !separator;
      if (first) separator = line.find('\t') != std::string_view::npos ? Separator::tab : Separator::blanks;
      const std::vector<std::string_view> fields = fields_in(line, *separator, 3);
      if (fields.size() != 3)
        source.fail(
            number, "{} fields, expected 3: {}{}", fields.size() > 3 ? "more" : std::to_string(fields.size()),
            columns_ ? "as --columns says" : "head, relation and tail",
            *separator == Separator::tab ? ", between tabs as in the first line" : ", between blanks");
      if (first && take_header(fields, path)) continue;
      const TripleColumns columns = columns_.value_or(header_.value_or(TripleColumns{0, 1, 2}));
      for (const std::string_view field : fields) {
        if (field.empty()) source.fail(number, "an empty field, expected names");
        source.expect_utf8(number, field);
      }
      const int32_t head = nodes_.add_exact(fields[columns[0]]);
      const int32_t relation = relations_.add_exact(fields[columns[1]]);
      add(head, relation, nodes_.add_exact(fields[columns[2]]), path);
    }
  }

  /// Whether the first line of a file names the columns.
  bool take_header(const std::vector<std::string_view>& fields, const std::string& path) {
    header_ = columns_of_words({lower(fields[0]), lower(fields[1]), lower(fields[2])});
    if (header_) notes_.push_back(fmt::format("{}: the first line names the columns", excerpt(path)));
    return header_.has_value();
  }

  void add(int32_t head, int32_t relation, int32_t tail, const std::string& path) {
    if (head < 0 || relation < 0 || tail < 0 || triples_.size() >= NodeIds::kMost)
      data_fail("{}: more than {} names or triples, expected fewer", excerpt(path), NodeIds::kMost);
    triples_.add(head, relation, tail);
  }

  /// The first line of a file of OpenKE: how many there are.
  static int64_t count_in(TextSource& source) {
    std::string_view line;
    const std::optional<int64_t> count = source.next(line) ? integer_in(line) : std::nullopt;
    if (!count || *count < 1 || *count > NodeIds::kMost)
      source.fail(1, "\"{}\", expected the number of lines that follow", excerpt(line));
    return *count;
  }

  static void expect_count(const TextSource& source, int64_t found, int64_t count) {
    if (found != count) source.fail(0, "{} lines behind the first, expected {} as it says", found, count);
  }

  /// The names of numbers: a name, which may have blanks, and its number in each line.
  void read_names(const std::filesystem::path& folder, const std::string& file, NodeIds& ids) {
    const std::string path = file_beside(folder, file);
    if (path.empty())
      data_fail("{}: no {}, expected the names of numbers beside {}",
                excerpt(folder.empty() ? "." : folder.string()), file, excerpt(paths_[0]));
    TextSource source(path);
    const int64_t count = count_in(source);
    std::vector<std::string> names;
    std::vector<bool> seen;
    int64_t found = 0;
    for (std::string_view line; source.next(line);) {
      line = trimmed(line);
      if (line.empty()) continue;
      const size_t blank = line.find_last_of(" \t");
      const std::optional<int64_t> id =
          blank == std::string_view::npos ? std::nullopt : integer_in(line.substr(blank + 1));
      if (!id || *id < 0 || *id >= count)
        source.fail(source.line_number(), "\"{}\", expected a name and a number from 0 to {}", excerpt(line),
                    count - 1);
      const auto k = static_cast<size_t>(*id);
      if (k >= names.size()) {
        names.resize(k + 1);
        seen.resize(k + 1);
      }
      if (seen[k]) source.fail(source.line_number(), "a second name of {}, expected one", *id);
      seen[k] = true;
      names[k] = trimmed(line.substr(0, blank));
      source.expect_utf8(source.line_number(), names[k]);
      ++found;
    }
    expect_count(source, found, count);
    for (size_t k = 0; k < names.size(); ++k)
      if (ids.add_exact(names[k]) != static_cast<int32_t>(k))
        source.fail(0, "{} is called \"{}\" as another, expected different names", k, excerpt(names[k]));
    notes_.push_back(fmt::format("{}: {} names", excerpt(path), count));
  }

  void read_numbers(const std::string& path) {
    TextSource source(path, &reading_);
    const int64_t count = count_in(source), before = triples_.size();
    for (std::string_view line; source.next(line);) {
      if (trimmed(line).empty()) continue;
      const std::vector<std::string_view> fields = fields_in(line, separator_of(line), 3);
      std::array<int32_t, 3> numbers{};
      for (size_t k = 0; k < 3; ++k) {
        const int64_t end = k == 2 ? relations_.size() : nodes_.size();
        const std::optional<int64_t> number =
            fields.size() == 3 ? integer_in(fields[k]) : std::optional<int64_t>();
        if (!number || *number < 0 || *number >= end)
          source.fail(
              source.line_number(),
              "\"{}\", expected head, tail and relation: two numbers from 0 to {} and one from 0 to {}",
              excerpt(line), nodes_.size() - 1, relations_.size() - 1);
        numbers[k] = static_cast<int32_t>(*number);
      }
      add(numbers[0], numbers[2], numbers[1], path);
      used_[static_cast<size_t>(numbers[0])] = used_[static_cast<size_t>(numbers[1])] = true;
    }
    expect_count(source, triples_.size() - before, count);
  }

  void note_triples(const std::vector<int64_t>& counts) const {
    std::string text = fmt::format("triples of {}: ", numbers_ ? "numbers, as OpenKE writes them" : "names");
    text += counts.size() == 3
                ? fmt::format("{} to train, {} to validate, {} to test", counts[0], counts[1], counts[2])
                : fmt::format("{}, without a split", counts[0]);
    text += fmt::format("; {} relations, each a type of edges", relations_.size());
    if (triples_.repeated() > 0)
      text += fmt::format("; {} repeat another of their file, which are kept once", triples_.repeated());
    notes_.push_back(std::move(text));
    if (triples_.shared() > 0)
      notes_.push_back(fmt::format("{} triples are in several files, an edge of each", triples_.shared()));
  }

  void note_nodes(int64_t unseen, bool split) const {
    if (unseen > 0)
      notes_.push_back(
          fmt::format("{} of {} nodes are in no triple{}", unseen, nodes_.size(), split ? " to train" : ""));
  }

  std::vector<std::string>& notes_;
  std::array<std::string, 3> paths_;
  ReadProgress reading_;
  std::optional<TripleColumns> columns_, header_;
  bool numbers_ = false;
  NodeIds nodes_{NodeIds::Kind::names}, relations_{NodeIds::Kind::names};
  std::vector<bool> used_;  // of numbers: nodes with a triple so far
  detail::TripleList triples_;
};

}  // namespace

TripleColumns triple_columns(const std::string& words) {
  std::vector<std::string> names;
  for (FieldCursor cursor(words, Separator::comma); cursor.next();) names.emplace_back(cursor.field());
  if (const auto columns = columns_of_words(names)) return *columns;
  usage_fail("--columns {}: expected head,relation,tail in the order of the files", excerpt(words));
}

TripleFiles find_triple_files(const std::string& folder) {
  std::vector<std::string> names;
  for (const char* end : {"2id.txt", ".txt", ".tsv"}) {
    const auto find = [&](std::initializer_list<const char*> parts) {
      for (const char* part : parts) {
        names.push_back(fmt::format("{}{}", part, end));
        if (std::string path = file_beside(folder, names.back()); !path.empty()) return path;
      }
      return std::string();
    };
    TripleFiles files{find({"train"}), {}, {}};
    if (files.train.empty()) continue;
    files.val = find({"valid", "val", "dev"});
    files.test = find({"test"});
    if (files.val.empty() == files.test.empty()) return files;
    data_fail("{}: {}, but no {}, expected both or neither", excerpt(folder),
              excerpt(files.val.empty() ? files.test : files.val), files.val.empty() ? "valid" : "test");
  }
  data_fail("{}: a folder without triples, expected one of {}, plain or .gz", excerpt(folder),
            fmt::join(names, ", "));
}

TypedDataset import_triples(const TripleFiles& files, const std::string& columns,
                            std::vector<std::string>& notes) {
  return TripleImport(files, columns, notes).read();
}

}  // namespace adj
