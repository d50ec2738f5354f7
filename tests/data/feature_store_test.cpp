#include "../reference/plain.h"
#include "h5_file.h"
#include <adjoint/core/group.h>
#include <adjoint/core/stream.h>
#include <adjoint/data/feature_quantization.h>

#include <atomic>
#include <thread>

using namespace adj;
using namespace adj::test;

namespace {

FileRows in_file(const TemporaryDirectory& folder, const Tensor& x) {
  write_h5(folder.file("x.h5"), {{"nodes/x", x}});
  return FileRows::open(folder.file("x.h5"));
}

}  // namespace

TEST_CASE_FIXTURE(InFolder, "a row has the same bits from every store, cached or not") {
  for (int64_t width : {1, 30, 100}) {
    const Tensor x = random_tensor({700, width}), heat = random_ints(700, 0, 9).to(DType::f32);
    const FileRows file = in_file(folder, x);
    for (Device device : devices()) {
      const Tensor nodes = random_ints(2000, 0, 700, device);
      const Tensor expected = Features(x).rows(nodes.to(Device::cpu())).dense();
      for (int64_t cached : {0, 1, 150, 700}) {
        CAPTURE(cached);
        const CachedRows kept{cached, heat};
        for (const auto& source :
             {make_feature_store(Features(x)), make_feature_store(Features(x.to(device))),
              make_pinned_store(x, device, kept), make_file_store(file, device, kept)}) {
          CHECK(source->rows() == 700);
          CHECK(source->cols() == width);
          CHECK_FALSE(source->is_sparse());
          for (const Tensor& index : {nodes, nodes.to(Device::cpu())}) {
            const Tensor rows = source->gather(index, device).dense();
            CHECK(rows.device() == device);
            CHECK(same_bits(rows.to(Device::cpu()), expected));
          }
          CHECK(source->gather(Tensor::empty({0}, DType::i32, device), device).rows() == 0);
        }
      }
    }
  }
}

namespace {

/// Ranks on one device, and on two GPUs where there are two.
std::vector<std::vector<Device>> rank_devices() {
  std::vector<std::vector<Device>> all;
  for (Device device : devices())
    for (size_t ranks : {1, 2, 3, 8}) all.emplace_back(ranks, device);
  if (cuda_device_count() < 2) {
    MESSAGE("skipped: two GPUs");
  } else {
    all.push_back({Device::cuda(1), Device::cuda(0)});
    all.push_back({Device::cuda(0), Device::cuda(0), Device::cuda(1)});
  }
  return all;
}

Features rows_of_rank(const Features& x, const Group& group) {
  const int64_t begin = group.rank() * x.rows() / group.size(),
                end = (group.rank() + 1) * x.rows() / group.size();
  std::vector<int32_t> rows;
  for (int64_t row = begin; row < end; ++row) rows.push_back(static_cast<int32_t>(row));
  return x.rows(Tensor::from(rows)).to(group.device());
}

Tensor matrix_of(const Features& x) { return x.is_quantized() ? x.quantized().bytes : x.dense(); }

}  // namespace

TEST_CASE("every rank gathers the rows of all") {
  std::vector<Features> inputs;
  for (int64_t width : {1, 3, 47, 100, 128, 602})
    for (int64_t rows : {5, 211})
      for (DType dtype : {DType::f32, DType::bf16})
        inputs.emplace_back(random_tensor({rows, width}).to(dtype));
  const Features dense(random_tensor({90, 20}));
  inputs.push_back(FeatureQuantization::fit(5, dense).apply(dense));
  std::vector<Tensor> nodes;
  std::vector<Features> expected;
  for (const Features& x : inputs) {
    nodes.push_back(random_ints(700, 0, static_cast<int32_t>(x.rows())));
    expected.push_back(x.rows(nodes.back()));
  }
  for (const std::vector<Device>& devices : rank_devices()) {
    std::atomic<int64_t> right = 0;
    run_ranks(devices, [&](const Group& group) {
      const Device device = group.device();
      for (size_t k = 0; k < inputs.size(); ++k) {
        const Features& x = inputs[k];
        const auto store = make_split_store(rows_of_rank(x, group), group);
        right += store->rows() == x.rows() && store->cols() == x.cols() && !store->is_sparse();
        const auto gathers = [&] {
          const Features rows = store->gather(nodes[k], device);
          return rows.device() == device && same_bits(matrix_of(rows), matrix_of(expected[k])) &&
                 same_bits(rows.to(Device::cpu()).to_dense(), expected[k].to_dense());
        };
        right += gathers();
        std::thread worker([&] {
          const StreamScope stream(Stream::make(device));
          right += gathers();
        });
        worker.join();
        right += store->gather(Tensor::empty({0}, DType::i32), device).rows() == 0;
      }
    });
    CHECK(right == 4 * std::ssize(devices) * std::ssize(inputs));
  }
}

TEST_CASE("the rows of a rank that ends stay where others read them") {
  const Features x(random_tensor({211, 40}));
  const Tensor nodes = random_ints(700, 0, 211);
  const Tensor expected = x.rows(nodes).dense();
  for (const std::vector<Device>& devices : rank_devices()) {
    std::atomic<bool> ended = devices.size() == 1;
    std::atomic<size_t> right = 0;
    run_ranks(devices, [&](const Group& group) {
      if (group.rank() == 0) {
        { const auto store = make_split_store(rows_of_rank(x, group), group); }
        // In the place of freed rows, if they were.
        std::vector<Tensor> others;
        for (int k = 0; k < 8; ++k)
          others.push_back(Tensor::zeros(matrix_of(rows_of_rank(x, group)).shape()));
        for (Tensor& other : others) other = other.to(group.device());
        synchronize(group.device());
        ended = true;
        return;
      }
      const auto store = make_split_store(rows_of_rank(x, group), group);
      while (!ended) std::this_thread::yield();
      right += same_bits(store->gather(nodes, group.device()).dense(), expected);
    });
    CHECK(right == devices.size() - 1);
  }
}

TEST_CASE("what cannot be split is refused") {
  const Features x(random_tensor({10, 3}));
  run_ranks(2, [&](const Group& group) {
    const auto store = make_split_store(rows_of_rank(x, group), group);
    const Device cpu = Device::cpu();
    CHECK_ERROR(store->gather(Tensor::from<int32_t>({1, 10}), cpu),
                "feature store: node 10 at position 1, expected 0 to 9");
    CHECK_ERROR(store->gather(Tensor::from<int32_t>({1}), Device::cuda(7)),
                "feature store: rows for cpu are requested on cuda:7");
    CHECK_THROWS_AS(store->gather(Tensor::zeros({3}), cpu), Error);
    CHECK_ERROR(make_split_store(Features(Draw(3, {}, DType::f32).sparse(10, 8, 40)), group),
                "split features: they are sparse, expected dense or quantised ones");
    CHECK_ERROR(make_split_store({}, group),
                "split features: they are absent, expected dense or quantised ones");
  });
  CHECK_ERROR_HAS(run_ranks(2,
                            [&](const Group& group) {
                              (void)make_split_store(Features(random_tensor({4, 3 + group.rank()})), group);
                            }),
                  "rank 1 calls share of float32 [*, 4], and rank 0 share of float32 [*, 3]");
}

TEST_CASE("sparse rows equal the matrix's rows, on the requested device") {
  for (bool values : {false, true}) {
    const SparseMatrix x = Draw(3, {}, DType::f32).sparse(90, 40, 900, values);
    const auto source = make_feature_store(Features(x));
    CHECK(source->is_sparse());
    for (Device device : devices()) {
      const Tensor nodes = random_ints(200, 0, 90, device);
      const Features rows = source->gather(nodes, device);
      CHECK(rows.is_sparse());
      CHECK(rows.device() == device);
      const Tensor expected = Features(x.to_dense()).rows(nodes.to(Device::cpu())).dense();
      CHECK(same_bits(rows.to(Device::cpu()).to_dense(), expected));
      CHECK(source->gather(Tensor::empty({0}, DType::i32, device), device).rows() == 0);
    }
  }
}

TEST_CASE_FIXTURE(InFolder, "each type of nodes has its rows from its own store, wherever that keeps them") {
  // Types of 40, 7, 0 and 25 nodes, of which the second has no features.
  const std::vector<int64_t> counts{40, 7, 0, 25};
  const std::vector<Tensor> x{random_tensor({40, 3}), Tensor(), random_tensor({0, 2}),
                              random_tensor({25, 6})};
  const FileRows file = in_file(folder, x[3]);
  for (const Device device : devices()) {
    using Stores = std::vector<std::shared_ptr<const FeatureStore>>;
    const auto typed = [&](size_t first_kept) {  // in `rows` itself
      TypedFeatures rows{.x = x, .counts = counts, .device = device};
      for (size_t t = 0; t < x.size(); ++t) rows.x[t] = t < first_kept ? x[t].to(device) : Tensor();
      return rows;
    };
    for (const auto& store :
         {make_typed_store(typed(4), Stores(4)),
          make_typed_store(typed(3), Stores{nullptr, nullptr, nullptr, make_file_store(file, device)}),
          make_typed_store(
              typed(0), Stores{make_pinned_store(x[0], device), nullptr, make_feature_store(Features(x[2])),
                               make_pinned_store(x[3], device)})}) {
      CHECK(store->rows() == 72);
      CHECK(store->cols() == 11);
      for (const int64_t wanted : {0, 1, 200}) {
        const Tensor nodes = random_ints(wanted, 0, 72);
        const Features found = store->gather(nodes, device);
        const TypedFeatures& rows = found.typed();
        CHECK(rows.rows() == wanted);
        const auto order = rows.order.to_vector<int32_t>(), node = nodes.to_vector<int32_t>();
        for (size_t k = 0; k < node.size(); ++k) {
          const size_t type = node[k] < 40 ? 0 : node[k] < 47 ? 1 : 3;
          const int64_t number = node[k] - (type == 0   ? 0
                                            : type == 1 ? 40
                                                        : 47),
                        row = order[k] - rows.first_row(type);
          REQUIRE(row >= 0);
          REQUIRE(row < rows.counts[type]);
          if (type != 1) CHECK(same_bits(rows.x[type].rows(row, row + 1), x[type].rows(number, number + 1)));
        }
        CHECK_FALSE(rows.x[1]);
      }
      CHECK_THROWS_AS(store->gather(Tensor::from(std::vector<int32_t>{3, 72}), device), Error);
    }
    CHECK_THROWS_AS(make_typed_store(typed(0), Stores(3)), Error);
    CHECK_THROWS_AS(
        make_typed_store(typed(4), Stores{make_feature_store(Features(x[0])), nullptr, nullptr, nullptr}),
        Error);
    CHECK_THROWS_AS(
        make_typed_store(typed(0), Stores{make_feature_store(Features(x[3])), nullptr, nullptr, nullptr}),
        Error);
  }
}

TEST_CASE_FIXTURE(InFolder, "errors of feature stores") {
  const Tensor x = random_tensor({10, 3});
  const FileRows file = in_file(folder, x);
  const Device cpu = Device::cpu();
  CHECK_THROWS_AS(make_file_store(file, cpu, {4, {}}), Error);
  CHECK_THROWS_AS(make_file_store(file, cpu, {11, random_tensor({10})}), Error);
  CHECK_THROWS_AS(make_pinned_store(x, cpu, {4, random_tensor({9})}), Error);
  std::vector<float> heat(10, 1.0f);
  heat[6] = std::numeric_limits<float>::quiet_NaN();
  CHECK_ERROR(make_pinned_store(x, cpu, {4, Tensor::from(heat)}),
              "feature store: hotness[6] is nan, expected a number");
  const auto bad = Tensor::from(std::vector<int32_t>{1, 10});
  CHECK_ERROR(make_file_store(file, cpu)->gather(bad, cpu),
              "feature store: node 10 at position 1, expected 0 to 9");
  CHECK_ERROR(make_pinned_store(x, cpu)->gather(bad, cpu),
              "feature store: node 10 at position 1, expected 0 to 9");
  CHECK_THROWS_AS(make_feature_store(Features(x))->gather(bad, cpu), Error);
  CHECK_THROWS_AS(make_feature_store(Features(x))->gather(Tensor::zeros({3}), cpu), Error);
  CHECK_THROWS_AS(make_file_store(file, cpu)->gather(Tensor::zeros({3}), cpu), Error);
  CHECK_THROWS_AS(make_feature_store(Features(Draw(3, {}, DType::f32).sparse(10, 8, 40)))->gather(bad, cpu),
                  Error);
  CHECK_THROWS_AS(make_feature_store({}), Error);
}
