#include "../reference/plain.h"
#include "h5_file.h"

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
