// Gives a dataset file new splits: random, by a column of a table, or by time.

#include "common/command_line.h"
#include "common/shared_options.h"
#include <adjoint/adjoint.h>
#include <adjoint/data/detail/names.h>
#include <adjoint/data/import/split_table.h>
#include <adjoint/data/split_columns.h>

#include <algorithm>
#include <array>
#include <filesystem>

using namespace adj;
using namespace adj::apps;

namespace {

struct Options {
  std::string in, out, by_column, by_time, until;
  SplitOptions random;
  SplitTable table;
  TextOptions text;
  bool replace = false;
  int64_t threads = 0;

  bool by_table() const { return !by_column.empty() || !by_time.empty(); }
};

constexpr const char* kUsage = "split FILE.h5 [OUT.h5] [OPTION]...";

void check_table(Options& o) {
  if (!o.by_column.empty() && !o.by_time.empty()) usage_fail("--by-column: conflicts with --by-time");
  if (o.by_table() && o.table.path.empty()) usage_fail("--by-column, --by-time: require --table FILE");
  if (!o.by_table() && !o.table.path.empty()) usage_fail("--table: requires --by-column or --by-time");
  if (!o.by_table() && (!o.table.id.empty() || o.table.by_row || o.table.header != Header::find_out))
    usage_fail("--id, --by-row, --header: require --table");
  if (!o.by_table() && o.text.any())
    usage_fail("--comment, --encoding, --separator, --decimal: require --table");
  o.table.text = o.text.format();
  o.table.doubt_order = o.table.by_row;
  if (!o.table.id.empty() && o.table.by_row) usage_fail("--id: conflicts with --by-row");
  o.table.column = o.by_column.empty() ? o.by_time : o.by_column;
}

void check_splits(Options& o) {
  const SplitOptions& random = o.random;
  if (o.by_table() && (random.splits != 1 || random.seed != 0 || random.stratified))
    usage_fail("--splits, --seed, --stratified: conflict with --by-column and --by-time");
  if (!o.by_column.empty() && !random.split.empty()) usage_fail("--split: conflicts with --by-column");
  if (!o.until.empty() && o.by_time.empty()) usage_fail("--until: requires --by-time");
  if (!o.until.empty() && !random.split.empty()) usage_fail("--until: conflicts with --split");
  if (random.split.empty()) o.random.split = "60,20,20";
  (void)o.random.random();
}

/// False if --help or --version was printed.
bool read(int argc, char** argv, Options& o) {
  OptionList options{
      {"data", &o.in, "FILE", "dataset"},
      {"out", &o.out, "FILE", "file to write, an existing one is replaced (default: the dataset's own file)"},
      {"replace", &o.replace, "", "replace splits that the dataset's own file has"}};
  options += o.random.list();
  options += OptionList{
      {"table", &o.table.path, "FILE", "table with a row per node (or graph): ids and the column"},
      {"by-column", &o.by_column, "COLUMN",
       "its column that says train, val or test, by name or number from 1 (also training, valid, validation, "
       "dev, testing; empty: no part)"},
      {"by-time", &o.by_time, "COLUMN",
       "its column of times, numbers or dates as 2021-03-05T17:30: the earliest nodes train, the latest "
       "test; equal times stay together"},
      {"until", &o.until, "TRAIN,VAL", "with --by-time, instead of --split: last times of train and of val"},
      {"id", &o.table.id, "COLUMN",
       "its column of ids (default: by name, as node_id, id or user_id, else the first)"},
      {"by-row", &o.table.by_row, "", "no ids: row i, from 0, belongs to node i (or graph i)"},
      {"header", &o.table.header, "NAME",
       "yes or no, or comment: the one above it; auto: yes if the first line has the column's name, or no "
       "value in that column"},
      threads_option(o.threads)};
  options += o.text.list("of --table");
  if (!read_options(argc, argv, table_of(options), {"data", "out"}, kUsage,
                    "Gives a dataset new splits: random (60,20,20 by default), by a column of a table, or by "
                    "time. All else in the file stays as it is."))
    return false;
  if (o.in.empty()) usage_fail("expected {}", kUsage);
  check_table(o);
  check_splits(o);
  use_threads(o.threads);
  return true;
}

TimeCuts cuts_of(const Options& o) {
  TimeCuts cuts{o.random.fractions()};
  if (o.until.empty()) return cuts;
  const size_t comma = o.until.find(',');
  cuts.train_until = o.until.substr(0, comma);
  if (comma != std::string::npos) cuts.val_until = o.until.substr(comma + 1);
  if (cuts.train_until.empty() || cuts.val_until.empty())
    usage_fail("--until {}: expected two times, the last of train and the last of val, as in 2017,2018",
               o.until);
  return cuts;
}

std::vector<Split> new_splits(const Dataset& data, const Options& o, std::vector<std::string>& notes) {
  if (!o.by_column.empty()) return {split_by_column(data, o.in, o.table, notes)};
  if (!o.by_time.empty()) return {split_by_time(data, o.in, o.table, cuts_of(o), notes)};
  const RandomSplits random = *o.random.random();
  std::vector<Split> splits = random.draw(data, o.in);
  const std::string_view word = word_for_split_items(data.task);
  notes.push_back(random.note(splits, word));
  if (data.unlabelled > 0)
    notes.push_back(fmt::format("{} {} without a label are in no part", data.unlabelled, word));
  return splits;
}

constexpr size_t kClassesShown = 20, kNamesShown = 5;

/// Numbers of examples in train, val and test, by class.
using ClassCounts = std::vector<std::array<int64_t, 3>>;

ClassCounts counts_of(const Dataset& data, const Split& split) {
  ClassCounts counts(static_cast<size_t>(data.classes));
  const int32_t* label = data.labels().data<int32_t>();
  const Tensor* parts[] = {&split.train, &split.val, &split.test};
  for (size_t p = 0; p < 3; ++p)
    for (const int32_t i : parts[p]->to_vector<int32_t>()) ++counts[static_cast<size_t>(label[i])][p];
  return counts;
}

std::string name_of_class(const Dataset& data, size_t k) {
  return data.class_names.empty() ? std::to_string(k) : excerpt(data.class_names[k]);
}

std::string cell(int64_t count, int64_t all) {
  return fmt::format("{} ({:.1f} %)", count,
                     all > 0 ? 100.0 * static_cast<double>(count) / static_cast<double>(all) : 0.0);
}

/// Prints how the first split divides each class, and which classes some split leaves out of a part; nothing
/// for labels that are no classes.
void print_class_shares(const Dataset& data, const std::vector<Split>& splits) {
  if (!has_classes(data.task) || !data.labels()) return;
  const ClassCounts counts = counts_of(data, splits[0]);
  size_t width = 5;
  for (size_t k = 0; k < std::min(counts.size(), kClassesShown); ++k)
    width = std::max(width, name_of_class(data, k).size());
  fmt::print("{:<{}} {:>9} {:>18} {:>18} {:>18}\n", "class", width, "in parts", "train", "val", "test");
  for (size_t k = 0; k < std::min(counts.size(), kClassesShown); ++k) {
    const auto& [train, val, test] = counts[k];
    const int64_t all = train + val + test;
    fmt::print("{:<{}} {:>9} {:>18} {:>18} {:>18}\n", name_of_class(data, k), width, all, cell(train, all),
               cell(val, all), cell(test, all));
  }
  if (counts.size() > kClassesShown) fmt::print("and {} more classes\n", counts.size() - kClassesShown);

  std::vector<uint8_t> partial(counts.size());
  for (const Split& split : splits) {
    const ClassCounts some = counts_of(data, split);
    for (size_t k = 0; k < some.size(); ++k)
      partial[k] |= std::count(some[k].begin(), some[k].end(), 0) > 0 ? 1 : 0;
  }
  std::vector<std::string> names;
  for (size_t k = 0; k < partial.size(); ++k)
    if (partial[k] != 0) names.push_back(name_of_class(data, k));
  if (!names.empty())
    fmt::print("classes that are not in every part{}: {}\n", splits.size() > 1 ? " of every split" : "",
               detail::listed(names, kNamesShown));
}

void split(int argc, char** argv) {
  Options o;
  if (!read(argc, argv, o)) return;
  std::error_code error;
  const bool in_place = o.out.empty() || std::filesystem::equivalent(o.in, o.out, error);
  if (o.out.empty()) o.out = o.in;
  RunFiles files;
  files.read("data", o.in);
  files.read("table", input_file(o.table.path));
  files.write("out", o.out, "data");

  const Dataset data = load_dataset(o.in);
  if (in_place && !data.splits.empty() && !o.replace)
    data_fail("{}: splits: {} already, expected none; --replace replaces, split {} OUT.h5 keeps them",
              excerpt(o.in), data.splits.size(), excerpt(o.in));
  std::vector<std::string> notes;
  const std::vector<Split> splits = new_splits(data, o, notes);
  save_splits(o.in, listed_splits(data, splits), o.out);
  for (const std::string& note : notes) fmt::print("{}\n", note);
  if (!data.splits.empty())
    fmt::print("{} the splits of {} ({})\n", in_place ? "instead of" : "without", printable(o.in),
               data.splits.size());
  const auto filled = [](const ColumnEncoder& column) { return !column.filling.empty(); };
  if (std::any_of(data.encoder.columns.begin(), data.encoder.columns.end(), filled))
    fmt::print(
        "gaps of features stay filled as convert did, not by the new training nodes; convert with --split "
        "does that\n");
  print_class_shares(data, splits);
  const UntrainedColumns untrained(data.labels(), data.task, data.class_names, splits);
  if (const std::string note = untrained.note(data.task); !note.empty()) fmt::print("{}\n", note);
  fmt::print("{}: {} to train, {} to validate, {} to test{}\n", printable(o.out), splits[0].train.numel(),
             splits[0].val.numel(), splits[0].test.numel(),
             splits.size() > 1 ? fmt::format(" in the first of {} splits", splits.size()) : "");
}

}  // namespace

int main(int argc, char** argv) {
  return run_program("split", [&] { split(argc, argv); });
}
