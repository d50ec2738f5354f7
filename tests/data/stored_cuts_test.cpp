#include "../fuzz/content_mutator.h"
#include "../kernels/tile_cases.h"

using namespace adj;
using namespace adj::test;

namespace {

bool same(const RowTiles& a, const RowTiles& b) {
  return a.rows == b.rows && a.cols == b.cols && a.least == b.least && a.rest.rows == b.rest.rows &&
         a.rest.cols == b.rest.cols && same_bits(a.windows, b.windows) &&
         same_bits(a.window_of, b.window_of) && same_bits(a.columns, b.columns) &&
         same_bits(a.bits, b.bits) && same_bits(a.starts, b.starts) && same_bits(a.entries, b.entries) &&
         same_bits(a.rest.offsets, b.rest.offsets) && same_bits(a.rest.indices, b.rest.indices) &&
         same_bits(a.rest_entry, b.rest_entry);
}

/// Another handle of the same contents, with an empty cache.
Csr copy_of(const Csr& a) {
  Csr copy = a;
  copy.offsets = a.offsets.clone();
  copy.indices = a.indices.clone();
  copy.cache = std::make_shared<KeyedCache>();
  return copy;
}

void store(const std::string& path, const Csr& a, std::initializer_list<int64_t> leasts) {
  StoredCuts cuts(path);
  for (int64_t least : leasts) cuts.keep(a, std::make_shared<RowTiles>(kernels::make_row_tiles(a, least)));
  cuts.write();
}

std::string refusal(const std::string& path, const Csr& a, int64_t least) {
  return error_of<DataError>([&] { (void)StoredCuts(path).find(a, least); });
}

/// The contents of a file with one cut, and its group.
SchemaFile contents(const std::string& path) { return fuzz::Content(H5Reader::open(path)); }
std::string group_in(const std::string& path) {
  const std::vector<std::string> groups = H5Reader::open(path).children("");
  REQUIRE(groups.size() == 1);
  return groups.front();
}

const Csr& some_structure() {
  static const Csr a = csr_of(random_rows(300, 200, 40.0, 6), 200);
  return a;
}

}  // namespace

TEST_CASE("cuts of all structures and several thresholds are read from one file with the same bits") {
  const TemporaryDirectory folder;
  const std::string path = folder.file("cuts.h5");
  const std::vector<Named> all = tile_structures();
  {
    StoredCuts cuts(path);
    for (const Named& one : all)
      for (int64_t least : {1, 2, 128}) {
        CHECK(cuts.find(one.csr, least) == nullptr);
        cuts.keep(one.csr, std::make_shared<RowTiles>(kernels::make_row_tiles(one.csr, least)));
      }
    CHECK(!std::filesystem::exists(path));
    cuts.write();
  }
  StoredCuts cuts(path);
  for (const Named& one : all) {
    CAPTURE(one.name);
    for (Device device : devices())
      for (int64_t least : {1, 2, 128}) {
        const auto found = cuts.find(copy_of(one.csr).to(device), least);
        REQUIRE(found);
        CHECK(found->device() == device);
        CHECK(same(found->to(Device::cpu()), kernels::make_row_tiles(one.csr, least)));
      }
    CHECK(cuts.find(one.csr, 3) == nullptr);
  }
}

TEST_CASE_FIXTURE(InFolder, "a structure takes its cut from the store, and new cuts are added to the file") {
  const std::string path = folder.file("cuts.h5");
  const Csr a = copy_of(some_structure()), directed = csr_of(random_rows(200, 300, 3.0, 9), 300);
  set_explaining(true);
  {
    const auto cuts = std::make_shared<StoredCuts>(path);
    const ComputeScope scope({.cuts = cuts});
    const auto kept = kernels::row_tiles(a, 2);
    CHECK(cuts->write() == 1);
    CHECK(kernels::row_tiles(a, 2) == kept);
  }
  CHECK(explanations() ==
        std::vector<std::string>{fmt::format(
            "cut of 300 x 200 with {} entries, columns of 2 rows, cpu: new, will be written to {}",
            a.entries(), path)});
  set_explaining(true);
  const std::string first = group_in(path);
  {
    const auto cuts = std::make_shared<StoredCuts>(path);
    const ComputeScope scope({.cuts = cuts});
    CHECK(same(*kernels::row_tiles(copy_of(a), 2), kernels::make_row_tiles(a, 2)));
    const auto before = std::filesystem::last_write_time(path);
    CHECK(cuts->write() == 1);  // nothing is new
    CHECK(std::filesystem::last_write_time(path) == before);
    CHECK(explanations().size() == 1);
    CHECK(explanations().front().ends_with(", cpu: read from " + path));
    // Another structure, and the same one at another threshold.
    CHECK(kernels::find_or_make(directed, 1)->num_tiles() > 0);  // is not kept
    kernels::row_tiles(directed, 2);
    kernels::row_tiles(copy_of(a), 1);
    CHECK(cuts->write() == 3);
  }
  set_explaining(false);
  const std::vector<std::string> groups = H5Reader::open(path).children("");
  CHECK(groups.size() == 3);
  CHECK(std::find(groups.begin(), groups.end(), first) != groups.end());
  StoredCuts cuts(path);
  for (int64_t least : {1, 2}) CHECK(same(*cuts.find(a, least), kernels::make_row_tiles(a, least)));
  CHECK(same(*cuts.find(directed, 2), kernels::make_row_tiles(directed, 2)));
  CHECK(cuts.find(directed, 1) == nullptr);
}

TEST_CASE_FIXTURE(InFolder, "a file of another graph is neither used nor overwritten") {
  const std::string path = folder.file("cuts.h5");
  store(path, some_structure(), {1, 2});
  const Csr other = csr_of(random_rows(300, 200, 40.0, 7), 200);
  StoredCuts cuts(path);
  CHECK(cuts.find(other, 2) == nullptr);
  CHECK(cuts.write() == 0);
  cuts.keep(other, std::make_shared<RowTiles>(kernels::make_row_tiles(other, 2)));
  CHECK_THROWS_WITH_AS(cuts.write(),
                       (path + ": cuts of another graph: none of its 2 cuts matches a structure of this run, "
                               "expected a match or no file")
                           .c_str(),
                       DataError);
  CHECK(same(*StoredCuts(path).find(some_structure(), 2), kernels::make_row_tiles(some_structure(), 2)));
}

TEST_CASE_FIXTURE(InFolder, "cuts of a structure at another threshold are added to its file") {
  const std::string path = folder.file("cuts.h5");
  store(path, some_structure(), {2});
  store(path, copy_of(some_structure()), {128});
  for (int64_t least : {2, 128})
    CHECK(same(*StoredCuts(path).find(some_structure(), least),
               kernels::make_row_tiles(some_structure(), least)));
}

TEST_CASE_FIXTURE(InFolder, "a file names its graph: another one is refused before the first cut") {
  const std::string path = folder.file("cuts.h5");
  const auto graph = [](int32_t last) {
    return Graph::from_coo(4, Tensor::from(std::vector<int32_t>{0, 1, 2}),
                           Tensor::from(std::vector<int32_t>{1, 2, last}));
  };
  const Csr derived = csr_of(random_rows(300, 200, 40.0, 7), 200);  // as with self-loops: of the same graph
  const auto train = [&](const Graph& input, const Csr& a) {
    StoredCuts cuts(path);
    cuts.expect(input);
    cuts.keep(a, std::make_shared<RowTiles>(kernels::make_row_tiles(a, 2)));
    return cuts.write();
  };
  CHECK(train(graph(3), some_structure()) == 1);
  CHECK_THROWS_WITH_AS(
      StoredCuts(path).expect(graph(0)),
      (path + ": cuts of another graph, expected those of the training's graph or no file").c_str(),
      DataError);
  CHECK(train(graph(3), derived) == 1);
  for (const Csr& a : {some_structure(), derived}) CHECK(StoredCuts(path).find(a, 2) != nullptr);
}

TEST_CASE_FIXTURE(InFolder, "a cut of another structure under this name is refused") {
  const std::string path = folder.file("cuts.h5");
  const Csr other = csr_of(random_rows(300, 200, 40.0, 7), 200);
  store(path, some_structure(), {2});
  const std::string group = group_in(path);
  std::filesystem::remove(path);
  store(path, other, {2});
  const SchemaFile others = contents(path);
  SchemaFile renamed = others;
  for (const auto& [name, tensor] : others.datasets)
    renamed.datasets[group + name.substr(group.size())] = renamed.datasets.extract(name).mapped();
  for (const auto& [name, value] : others.attributes)
    if (name.find('@') != std::string::npos)
      renamed.attributes[group + name.substr(group.size())] = renamed.attributes.extract(name).mapped();
  renamed.write(path);
  CHECK(refusal(path, some_structure(), 2) == fmt::format("{}: {}: entries {}, expected {}", path, group,
                                                          other.entries(), some_structure().entries()));
  renamed.attributes[group + "@entries"] = some_structure().entries();
  renamed.write(path);
  CHECK(refusal(path, some_structure(), 2).starts_with(path + ": " + group + "/"));
}

TEST_CASE_FIXTURE(InFolder, "a damaged cut is refused, naming the place") {
  const std::string path = folder.file("cuts.h5");
  store(path, some_structure(), {2});
  const SchemaFile whole = contents(path);
  const std::string group = group_in(path);
  REQUIRE(whole.datasets.size() == 9);
  REQUIRE(refusal(path, some_structure(), 2) == "");
  const auto message_of = [&](const SchemaChange& change) {
    SchemaFile changed = whole;
    change(changed);
    changed.write(path);
    const std::string message = refusal(path, some_structure(), 2);
    REQUIRE(mentions(message, path + ": "));
    return message.substr(path.size() + 2);
  };
  for (const auto& [name, tensor] : whole.datasets) {
    CAPTURE(name);
    CHECK(message_of(gone({name})) == name + ": missing");
    CHECK(mentions(message_of(put(name, tensor.to(DType::f32))), {name + ": float32", "expected"}));
    CHECK(mentions(message_of(put(name, tensor.to(tensor.dtype() == DType::i32 ? DType::i64 : DType::i32))),
                   {name + ": int", "expected"}));
    CHECK(mentions(message_of(put(name, tensor.reshape({1, 1, tensor.numel()}))), {name + ": ", "expected"}));
    const int64_t k = tensor.numel() / 2;
    for (const SchemaChange& change :
         {put(name, tensor.rows(0, tensor.size(0) - 1)), put(name, tensor.rows(0, 0)),
          tensor.dtype() == DType::i32 ? poke(name, tensor.data<int32_t>()[k] + 1, k)
                                       : poke(name, tensor.data<int64_t>()[k] + 1, k)})
      CHECK(mentions(message_of(change), {group, ": ", "expected"}));
  }
  for (const auto& [name, value] : whole.attributes) {
    if (!name.starts_with(group)) continue;
    CAPTURE(name);
    const int64_t number = std::get<int64_t>(value);
    CHECK(message_of(attribute(name, number + 1)) ==
          fmt::format("{}: {} {}, expected {}", group, name.substr(group.size() + 1), number + 1, number));
    CHECK(mentions(message_of(gone({name})), {name, "missing"}));
  }
}

TEST_CASE_FIXTURE(InFolder, "no file with flipped bits gives a wrong cut") {
  const std::string path = folder.file("cuts.h5");
  const Csr a = csr_of(random_rows(140, 30, 6.0, 8), 30);
  store(path, a, {2});
  const std::string whole = contents_of(path);
  const RowTiles cut = kernels::make_row_tiles(a, 2);
  std::mt19937 random(5);
  int refused = 0, found = 0, absent = 0;
  for (int i = 0; i < 400; ++i) {
    std::string bytes = whole;
    for (int flips = 1 + i % 3; flips > 0; --flips)
      bytes[random() % bytes.size()] ^= static_cast<char>(1 << random() % 8);
    std::ofstream(path, std::ios::binary) << bytes;
    try {
      StoredCuts cuts(path);
      const auto read = cuts.find(a, 2);
      ++(read ? found : absent);
      if (read && !same(*read, cut)) FAIL_CHECK("wrong after ", i);
    } catch (const DataError&) {
      ++refused;
    }
  }
  CAPTURE(found);
  CAPTURE(absent);
  CHECK(refused > 100);
}

TEST_CASE_FIXTURE(InFolder, "a file without cuts is rejected") {
  const std::string path = folder.file("cuts.h5");
  store(path, some_structure(), {2});
  SchemaFile other = contents(path);
  other.attributes["format"] = "adjoint.graph";
  other.write(path);
  CHECK(refusal(path, some_structure(), 2) ==
        path + ": attribute format: 'adjoint.graph', expected 'adjoint.cuts'");
  other = contents(path);
  other.attributes = {{"format", "adjoint.cuts"}, {"version", 2}};
  other.write(path);
  CHECK(refusal(path, some_structure(), 2) == path + ": attribute version: 2, expected 1");
  std::ofstream(path) << "cuts";
  CHECK(refusal(path, some_structure(), 2) == path + ": not an HDF5 file");
}
