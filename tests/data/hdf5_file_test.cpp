#include "h5_file.h"
#include "limited_memory.h"

#include <csignal>

#include <sys/stat.h>
#include <unistd.h>

using namespace adj;
using namespace adj::test;

namespace {

size_t entries_in(const std::filesystem::path& folder) {
  return static_cast<size_t>(
      std::distance(std::filesystem::directory_iterator(folder), std::filesystem::directory_iterator()));
}

/// This thread's processes that run HDF5's library.
std::vector<pid_t> hdf5_processes() {
  std::ifstream children("/proc/thread-self/children");
  std::vector<pid_t> found;
  for (pid_t child = 0; children >> child;) {
    std::string name;
    std::getline(std::ifstream("/proc/" + std::to_string(child) + "/cmdline"), name, '\0');
    if (name == "adjoint-hdf5") found.push_back(child);
  }
  return found;
}

}  // namespace

TEST_CASE_FIXTURE(InFolder, "if HDF5 crashes on one dataset, a new process reads the others") {
  const Tensor tensor = random_tensor({40, 50});
  write_h5(folder.file("three.h5"), {{"a", tensor}, {"b", tensor}, {"c", tensor}}, 6);
  const H5Reader reader = H5Reader::open(folder.file("three.h5"));
  const auto kill_process = [] {
    const std::vector<pid_t> processes = hdf5_processes();
    if (processes.size() != 1) return false;
    kill(processes.front(), SIGKILL);
    // Not waited for: the reader does. Until then it is a zombie, whose command line is empty.
    while (!hdf5_processes().empty()) usleep(1000);
    return true;
  };
  if (!kill_process()) {
    MESSAGE("skipped: the kernel does not list a thread's children");
    return;
  }
  CHECK_THROWS_WITH_AS(reader.tensor("a", {DType::f32}),
                       doctest::Contains("a: damaged: the HDF5 library crashed on it"), DataError);
  CHECK(same_bits(reader.tensor("b", {DType::f32}), tensor));
  CHECK(same_bits(reader.tensor("a", {DType::f32}), tensor));
  // Each start takes time, so a file that crashes it repeatedly is given up.
  int crashes = 1;
  for (; crashes < 50 && kill_process(); ++crashes) {
    CHECK_THROWS_AS(reader.tensor("c", {DType::f32}), DataError);
    try {
      (void)reader.tensor("b", {DType::f32});
    } catch (const DataError& error) {
      CHECK(std::string(error.what()).ends_with("b: not read: the HDF5 library crashed on too many others"));
      break;
    }
  }
  CHECK(crashes == 8);
}

TEST_CASE_FIXTURE(InFolder, "tensors of every dtype and shape are read back to the bit") {
  for (int gzip : {0, 6}) {
    const std::vector<std::pair<std::string, Tensor>> all = {
        {"a", random_tensor({})},
        {"b", random_tensor({0})},
        {"c/d", random_tensor({7, 0, 2})},
        {"c/e", random_tensor({33, 65})},
        {"c/f/g", random_tensor({5, 4, 3, 2}, DType::f64)},
        {"i", random_ints(5000, -2'000'000'000, 2'000'000'000)},
        {"j", Tensor::from(std::vector<int64_t>{std::numeric_limits<int64_t>::min(), 0, 7})},
        {"k", random_ints(1234, 0, 256).to(DType::u8)},
        {"n", Tensor::from(std::vector<float>{std::numeric_limits<float>::quiet_NaN(), -0.0f, 1e-42f})}};
    write_h5(folder.file("all.h5"), all, gzip);
    const H5Reader reader = H5Reader::open(folder.file("all.h5"));
    for (const auto& [path, tensor] : all) {
      CAPTURE(path);
      CHECK(same_bits(reader.tensor(path, {tensor.dtype()}), tensor));
    }
    CHECK(reader.is_group("c"));
    CHECK(!reader.is_group("a"));
    CHECK(!reader.has("c/x"));
    CHECK(reader.children("c") == std::vector<std::string>{"d", "e", "f"});
    CHECK(reader.children("") == std::vector<std::string>{"a", "b", "c", "i", "j", "k", "n"});
    CHECK(reader.shape("c/e") == std::vector<int64_t>{33, 65});
  }
}

TEST_CASE_FIXTURE(InFolder, "attributes of the root, groups and datasets are read back") {
  H5Writer writer(folder.file("a.h5"));
  writer.write("x", random_tensor({2}));
  writer.attribute("", "n", int64_t{-5});
  writer.attribute("", "n", int64_t{6});  // the later one counts
  writer.attribute("group/inner", "pi", 3.25);
  writer.attribute("x", "text", std::string("größer\nals"));
  writer.attribute("x", "empty", std::string());
  writer.commit();
  const H5Reader reader = H5Reader::open(folder.file("a.h5"));
  CHECK(reader.integer("", "n") == 6);
  CHECK(reader.number("", "n") == 6.0);
  CHECK(reader.number("group/inner", "pi") == 3.25);
  CHECK(reader.text("x", "text") == "größer\nals");
  CHECK(reader.text("x", "empty").empty());
  CHECK(!reader.has_attribute("x", "n"));
  CHECK(!reader.has_attribute("nowhere", "n"));
  const std::string& file = reader.file();
  check_read_error(file, "attribute x@n: missing, expected an integer",
                   [&] { (void)reader.integer("x", "n"); });
  check_read_error(file, "attribute x@text: not an integer", [&] { (void)reader.integer("x", "text"); });
  check_read_error(file, "attribute n: not a string", [&] { (void)reader.text("", "n"); });
  check_read_error(file, "attribute group/inner@pi: not an integer",
                   [&] { (void)reader.integer("group/inner", "pi"); });
}

TEST_CASE_FIXTURE(InFolder, "reading with another type or shape is an error") {
  write_h5(folder.file("a.h5"), {{"g/x", random_tensor({2, 3})}});
  const H5Reader reader = H5Reader::open(folder.file("a.h5"));
  const std::string& file = reader.file();
  check_read_error(file, "g/y: missing", [&] { (void)reader.tensor("g/y", {DType::f32}); });
  check_read_error(file, "g: a group, expected a dataset", [&] { (void)reader.tensor("g", {DType::f32}); });
  check_read_error(file, "g/x: float32 [2, 3], expected int32 or int64", [&] {
    (void)reader.tensor("g/x", {DType::i32, DType::i64});
  });
  check_read_error(file, "g/x: shape [2, 3], expected [2, 4] float32", [&] {
    (void)reader.tensor("g/x", {DType::f32}, {2, 4});
  });
  check_read_error(file, "g/x: shape [2, 3], expected [*] float32",
                   [&] { (void)reader.tensor("g/x", {DType::f32}, {-1}); });
  CHECK(reader.tensor("g/x", {DType::f32}, {-1, 3}).numel() == 6);
}

TEST_CASE_FIXTURE(InFolder, "only the requested parts are read") {
  H5Writer writer(folder.file("a.h5"));
  for (const char* path : {"g/x", "h/x", "h/y", "k/1/x", "k/two/x", "k/two/y"})
    writer.write(path, random_tensor({2}));
  writer.attribute("h", "a", int64_t{1});
  writer.attribute("h", "b", int64_t{2});
  writer.attribute("", "c", int64_t{3});
  writer.commit();
  const H5Reader reader =
      H5Reader::open(folder.file("a.h5"), {"h/x", "h@b", "@c", "@none", "k/*/x", "none/x", "h/x/deeper"});
  CHECK(!reader.has("g"));
  CHECK(reader.has("h/x"));
  CHECK(reader.is_group("h"));
  CHECK(!reader.has("h/y"));
  CHECK(reader.attributes("h") == std::vector<std::string>{"b"});
  CHECK(reader.integer("", "c") == 3);
  CHECK(!reader.has_attribute("", "none"));
  CHECK(reader.children("k") == std::vector<std::string>{"1", "two"});
  CHECK(reader.has("k/two/x"));
  CHECK(!reader.has("k/two/y"));
}

TEST_CASE_FIXTURE(InFolder, "rows are read from any place, in blocks") {
  const Tensor x = random_tensor({5000, 37}), whole = random_tensor({300'000}),
               wide = random_tensor({2, 3'000'000});
  for (int gzip : {0, 1}) {
    CAPTURE(gzip);
    write_h5(
        folder.file("a.h5"),
        {{"x", x}, {"flat", whole}, {"wide", wide}, {"one", Tensor::from(std::vector<double>{7.0}, Shape{})}},
        gzip);
    const H5Reader reader = H5Reader::open(folder.file("a.h5"));
    for (auto [first, count] :
         {std::pair<int64_t, int64_t>{0, 5000}, {0, 1}, {4999, 1}, {1234, 777}, {5000, 0}}) {
      Tensor part = Tensor::zeros({count, 37});
      reader.rows("x", first, count, part.raw_mutable_data());
      CHECK(same_bits(part, x.rows(first, first + count)));
    }
    for (const char* path : {"x", "flat", "wide"}) {
      std::vector<std::atomic<int>> seen(static_cast<size_t>(reader.shape(path)[0]));
      reader.for_blocks(path, [&](int64_t first, int64_t count) {
        for (int64_t i = first; i < first + count; ++i) ++seen[static_cast<size_t>(i)];
      });
      CHECK(std::all_of(seen.begin(), seen.end(), [](const auto& times) { return times == 1; }));
    }
    CHECK(same_bits(reader.tensor("flat", {DType::f32}), whole));
    CHECK(same_bits(reader.tensor("wide", {DType::f32}), wide));
    double one = 0.0;
    reader.rows("one", 0, 1, &one);
    CHECK(one == 7.0);
    float nothing = 0.0f;
    CHECK_THROWS_AS(reader.rows("x", 4999, 2, &nothing), Error);
    CHECK_THROWS_AS(reader.rows("x", -1, 1, &nothing), Error);
    CHECK_THROWS_AS(reader.rows("y", 0, 1, &nothing), DataError);
  }
}

TEST_CASE_FIXTURE(InFolder, "a file that becomes shorter while it is read is an error") {
  write_h5(folder.file("a.h5"), {{"x", random_tensor({100'000})}});
  const H5Reader reader = H5Reader::open(folder.file("a.h5"));
  std::filesystem::resize_file(folder.file("a.h5"), 50'000);
  CHECK_THROWS_WITH_AS((void)reader.tensor("x", {DType::f32}),
                       doctest::Contains("x: the file has become shorter"), DataError);
}

TEST_CASE_FIXTURE(InFolder, "if no process or memory file can be created, the error says so") {
  write_h5(folder.file("a.h5"), {{"x", random_tensor({3})}});
  const std::string image = contents_of(folder.file("a.h5"));
  const auto refusal = [&](__rlimit_resource resource, rlim_t limit, bool from_memory = false) {
    return error_in_child([&] {
      // Limits of processes do not hold for root.
      if (resource == RLIMIT_NPROC && getuid() == 0 && setresuid(54321, 54321, 54321) != 0) _exit(2);
      const rlimit value{limit, limit};
      setrlimit(resource, &value);
      if (from_memory) {
        (void)H5Reader::from_image(std::as_bytes(std::span(image.data(), image.size())), "image");
      } else {
        (void)H5Reader::open(folder.file("a.h5"));
      }
    });
  };
  std::filesystem::permissions(std::filesystem::path(folder.file("a.h5")).parent_path(),
                               std::filesystem::perms::all);
  const std::string no_process = refusal(RLIMIT_NPROC, 0);
  if (no_process.find("Permission denied") != std::string::npos) {
    MESSAGE("skipped: no process but root's reads here");
  } else {
    CHECK(mentions(no_process, "a.h5: cannot be read: cannot start a process for the HDF5 library"));
  }
  CHECK(mentions(refusal(RLIMIT_FSIZE, 100, true),
                 "image: cannot be read: no file in memory (File too large; ulimit -f"));
  const std::string few = refusal(RLIMIT_NOFILE, 11);  // opening the file may already exceed the limit
  CHECK((few.find("a.h5: cannot be read: no ") != std::string::npos ||
         few.find("a.h5: Too many open files") != std::string::npos));
}

TEST_CASE_FIXTURE(InFolder, "equal calls write equal bytes") {
  const Tensor x = random_tensor({100, 10});
  for (const char* name : {"a.h5", "b.h5"}) {
    H5Writer writer(folder.file(name), 5);
    writer.write("g/x", x);
    writer.attribute("g", "name", std::string("text"));
    writer.commit();
    if (std::string(name) == "a.h5") sleep(1);  // HDF5 would note the time
  }
  CHECK(contents_of(folder.file("a.h5")) == contents_of(folder.file("b.h5")));
}

TEST_CASE_FIXTURE(InFolder, "an incomplete new file changes nothing and leaves no other file") {
  const std::string path = folder.file("a.h5");
  replace_file(path, "the old one");
  {
    H5Writer writer(path);
    writer.write("x", random_tensor({1000}));
    CHECK(contents_of(path) == "the old one");
  }
  CHECK(contents_of(path) == "the old one");
  H5Writer writer(path);
  writer.write("x", random_tensor({1000}));
  writer.commit();
  CHECK(H5Reader::open(path).has("x"));
  CHECK(entries_in(std::filesystem::path(path).parent_path()) == 1);
  CHECK_THROWS_AS(writer.commit(), Error);
}

TEST_CASE_FIXTURE(InFolder, "write errors give the reason") {
  const auto commit_to = [](const std::string& path) { write_h5(path, {{"x", random_tensor({3})}}); };
  CHECK_THROWS_WITH_AS(commit_to(folder.file("none/a.h5")),
                       doctest::Contains("none/a.h5: cannot write in its folder"), DataError);
  std::filesystem::create_directory(folder.file("folder"));
  CHECK_THROWS_WITH_AS(commit_to(folder.file("folder")),
                       doctest::Contains("folder: a folder, expected a file"), DataError);
  H5Writer writer(folder.file("a.h5"));
  CHECK_ERROR_HAS(writer.write("x", random_tensor({3}, DType::bf16)), "any dtype but bfloat16 and bits");
  writer.write("x", random_tensor({3}));
  CHECK_THROWS_WITH_AS(writer.write("x", random_tensor({3})), doctest::Contains("x: cannot be written"),
                       DataError);
  CHECK_THROWS_AS(writer.write("x/y", random_tensor({3})), DataError);
}

TEST_CASE_FIXTURE(InFolder, "a file that is replaced keeps its permissions") {
  const std::string path = folder.file("a.h5");
  replace_file(path, "old");
  REQUIRE(chmod(path.c_str(), 0600) == 0);
  write_h5(path, {{"x", Tensor::full({3}, 2.0)}}, 1);
  struct stat status {};
  REQUIRE(stat(path.c_str(), &status) == 0);
  CHECK((status.st_mode & 07777) == 0600);
}

TEST_CASE_FIXTURE(InFolder, "the length of a directory is limited by the file's names and attributes") {
  const std::string path = folder.file("long.h5"), group(40'000, 'g');
  std::vector<std::pair<std::string, Tensor>> many;
  for (int k = 0; k < 2000; ++k) many.emplace_back(fmt::format("{}/{}", group, k), Tensor::zeros({1}));
  write_h5(path, many);
  CHECK(H5Reader::open(path, {group + "/7"}).has(group + "/7"));
  CHECK_THROWS_WITH_AS(H5Reader::open(path), doctest::Contains("of names and attributes, expected"),
                       DataError);
}

TEST_CASE_FIXTURE(InFolder, "a symbolic link stays one") {
  std::filesystem::create_directory(folder.file("real"));
  replace_file(folder.file("real/a.h5"), "old");
  std::filesystem::create_symlink("real/a.h5", folder.file("link.h5"));
  write_h5(folder.file("link.h5"), {{"x", random_tensor({3})}});
  CHECK(std::filesystem::is_symlink(folder.file("link.h5")));
  CHECK(H5Reader::open(folder.file("real/a.h5")).has("x"));
}

TEST_CASE_FIXTURE(InFolder, "a file that is truncated or not HDF5 gives a one-line error") {
  const auto refused = [](const std::string& path, const std::string& why) {
    CAPTURE(path);
    CHECK_THROWS_WITH_AS(H5Reader::open(path), doctest::Contains((path + ": " + why).c_str()), DataError);
  };
  refused(folder.file("none.h5"), "No such file or directory");
  std::filesystem::create_directory(folder.file("folder"));
  refused(folder.file("folder"), "not a file");
  REQUIRE(mkfifo(folder.file("pipe").c_str(), 0600) == 0);
  refused(folder.file("pipe"), "not a file");
  replace_file(folder.file("empty"), "");
  refused(folder.file("empty"), "not an HDF5 file, it is empty");
  replace_file(folder.file("text"), "edges\n0 1\n");
  refused(folder.file("text"), "not an HDF5 file");

  write_h5(folder.file("good.h5"), {{"x", random_tensor({1000})}});
  const std::string good = contents_of(folder.file("good.h5"));
  replace_file(folder.file("part.h5"), good.substr(0, good.size() / 2));
  refused(folder.file("part.h5"),
          fmt::format("truncated: {} bytes, expected {}", good.size() / 2, good.size()));
  replace_file(folder.file("head.h5"), good.substr(0, 20));
  refused(folder.file("head.h5"), "unreadable: ");
  const auto* start = reinterpret_cast<const std::byte*>(good.data());
  CHECK(H5Reader::from_image({start, good.size()}, "image").has("x"));
  CHECK_THROWS_WITH_AS(H5Reader::from_image({start, good.size() - 1}, "image"),
                       doctest::Contains("image: truncated"), DataError);
  CHECK_THROWS_WITH_AS(H5Reader::from_image({start, 3}, "image"), "image: not an HDF5 file", DataError);
}

TEST_CASE_FIXTURE(InFolder, "a file may be read by many threads while others are written") {
  const Tensor x = random_tensor({10'000});
  write_h5(folder.file("x.h5"), {{"x", x}});
  std::vector<int> good(6, 0);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < good.size(); ++t)
    threads.emplace_back([&, t] {
      for (int round = 0; round < 5; ++round) {
        write_h5(folder.file(fmt::format("{}.h5", t)), {{"x", x}});
        good[t] += same_bits(H5Reader::open(folder.file("x.h5")).tensor("x", {DType::f32}), x);
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (int count : good) CHECK(count == 5);
}
