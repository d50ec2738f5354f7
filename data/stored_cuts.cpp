#include <adjoint/core/explain.h>
#include <adjoint/core/text.h>
#include <adjoint/data/detail/content_hash.h>
#include <adjoint/data/stored_cuts.h>

#include <algorithm>
#include <filesystem>

namespace adj {

namespace {

constexpr const char* kCutsFormat = "adjoint.cuts";
constexpr int64_t kCutsVersion = 1;
constexpr const char* kGraph = "graph";

/// Calls f(name in the file, tensor, dtype, shape with -1 for any extent).
template <class Cut, class F>
void for_tensors(Cut& cut, F&& f) {
  using Extents = std::initializer_list<int64_t>;
  f("windows", cut.windows, DType::i32, Extents{-1});
  f("window_of", cut.window_of, DType::i32, Extents{-1});
  f("columns", cut.columns, DType::i32, Extents{-1, RowTiles::kColumns});
  f("bits", cut.bits, DType::i64, Extents{-1, RowTiles::kRows});
  f("starts", cut.starts, DType::i32, Extents{-1});
  f("entries", cut.entries, DType::i32, Extents{-1});
  f("rest/offsets", cut.rest.offsets, DType::i64, Extents{-1});
  f("rest/indices", cut.rest.indices, DType::i32, Extents{-1});
  f("rest_entry", cut.rest_entry, DType::i32, Extents{-1});
}

struct Key {
  uint64_t hash;
};

/// Hash of a structure's contents, cached, since it copies a GPU's structure to the host.
std::string hash_of(const Csr& a) {
  const auto key = a.cache->get<Key>([&] {
    detail::ContentHash hash;
    hash.add(static_cast<uint64_t>(a.rows));
    hash.add(static_cast<uint64_t>(a.cols));
    hash.add(a.offsets);
    hash.add(a.indices);
    return std::make_shared<Key>(Key{hash.result()});
  });
  return fmt::format("{:016x}", key->hash);
}

/// Group name of a structure's cut.
std::string name_of_cut(const Csr& a, int64_t least) { return fmt::format("{}-{}", hash_of(a), least); }
/// Whether it names a cut of the same structure.
bool same_structure(const std::string& a, const std::string& b) {
  return a.substr(0, a.find('-')) == b.substr(0, b.find('-'));
}

RowTiles read_cut(const H5Reader& file, const std::string& name) {
  RowTiles cut;
  cut.rows = cut.rest.rows = file.integer(name, "rows");
  cut.cols = cut.rest.cols = file.integer(name, "cols");
  cut.least = file.integer(name, "least");
  for_tensors(cut,
              [&](const char* member, Tensor& tensor, DType dtype, std::initializer_list<int64_t> shape) {
                tensor = file.tensor(fmt::format("{}/{}", name, member), {dtype}, shape);
              });
  return cut;
}

void write_cut(H5Writer& file, const std::string& name, const RowTiles& cut, int64_t entries) {
  for_tensors(cut, [&](const char* member, const Tensor& tensor, DType, std::initializer_list<int64_t>) {
    file.write(fmt::format("{}/{}", name, member), tensor);
  });
  file.attribute(name, "rows", cut.rows);
  file.attribute(name, "cols", cut.cols);
  file.attribute(name, "entries", entries);
  file.attribute(name, "least", cut.least);
}

void explain_cut(const Csr& a, int64_t least, std::string_view what, const std::string& path) {
  if (explaining())
    explain(fmt::format("cut of {} x {} with {} entries, columns of {} rows, {}", a.rows, a.cols, a.entries(),
                        least, a.device().str()),
            "{} {}", what, printable(path));
}

}  // namespace

StoredCuts::StoredCuts(std::string path) : path_(std::move(path)) {
  std::error_code none;  // an unreadable path is not writable either, which write() reports
  if (!std::filesystem::exists(path_, none)) return;
  file_ = H5Reader::open(path_);
  if (const std::string format = file_->text("", "format"); format != kCutsFormat)
    file_->fail("attribute format", "'{}', expected '{}'", excerpt(format), kCutsFormat);
  if (const int64_t version = file_->integer("", "version"); version != kCutsVersion)
    file_->fail("attribute version", "{}, expected {}", version, kCutsVersion);
}

void StoredCuts::expect(const Graph& graph) {
  graph_ = hash_of(graph.relation().csr());
  if (file_ && file_->has_attribute("", kGraph) && file_->text("", kGraph) != graph_)
    data_fail("{}: cuts of another graph, expected those of the training's graph or no file", excerpt(path_));
}

std::shared_ptr<RowTiles> StoredCuts::find(const Csr& a, int64_t least) {
  const std::string name = name_of_cut(a, least);
  if (!file_ || !file_->has(name)) return nullptr;
  for (const auto& [attribute, expected] : {std::pair("rows", a.rows), std::pair("cols", a.cols),
                                            std::pair("entries", a.entries()), std::pair("least", least)})
    if (const int64_t number = file_->integer(name, attribute); number != expected)
      file_->fail(name, "{} {}, expected {}", attribute, number, expected);
  auto cut = std::make_shared<RowTiles>(read_cut(*file_, name));
  try {
    kernels::check_row_tiles(fmt::format("{}: {}", excerpt(path_), name), a.to(Device::cpu()), *cut);
  } catch (const OutOfMemory&) {
    throw;
  } catch (const Error& error) {
    throw DataError(error.what());
  }
  const std::lock_guard lock(mutex_);
  found_.insert(name);
  explain_cut(a, least, "read from", path_);
  return std::make_shared<RowTiles>(cut->to(a.device()));
}

void StoredCuts::keep(const Csr& a, const std::shared_ptr<const RowTiles>& cut) {
  const std::string name = name_of_cut(a, cut->least);
  if (file_ && file_->has(name)) return;
  const std::lock_guard lock(mutex_);
  new_cuts_.emplace(name, Made{a.entries(), cut});
  explain_cut(a, cut->least, "new, will be written to", path_);
}

int64_t StoredCuts::write() const {
  const std::lock_guard lock(mutex_);
  const int64_t used = std::ssize(found_) + std::ssize(new_cuts_);
  if (new_cuts_.empty()) return used;
  const std::vector<std::string> before = file_ ? file_->children("") : std::vector<std::string>();
  const bool expected = file_ && !graph_.empty() && file_->has_attribute("", kGraph);
  const bool known = std::any_of(before.begin(), before.end(), [&](const std::string& name) {
    return std::any_of(new_cuts_.begin(), new_cuts_.end(),
                       [&](const auto& entry) { return same_structure(name, entry.first); });
  });
  if (!before.empty() && found_.empty() && !known && !expected)
    data_fail(
        "{}: cuts of another graph: none of its {} cuts matches a structure of this run, expected a match or "
        "no file",
        excerpt(path_), before.size());
  H5Writer output(path_);
  output.attribute("", "format", std::string(kCutsFormat));
  output.attribute("", "version", kCutsVersion);
  if (!graph_.empty()) output.attribute("", kGraph, graph_);
  for (const std::string& name : before)
    write_cut(output, name, read_cut(*file_, name), file_->integer(name, "entries"));
  for (const auto& [name, entry] : new_cuts_) write_cut(output, name, *entry.cut, entry.entries);
  output.commit();
  return used;
}

}  // namespace adj
