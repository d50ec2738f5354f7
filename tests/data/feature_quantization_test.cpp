#include "../reference/plain.h"
#include "subgraph_batches.h"

using namespace adj;
using namespace adj::test;

namespace {

Features quantized(const Features& x, int bits, const FeatureRange& range = {}) {
  return FeatureQuantization::fit(bits, x, range).apply(x);
}

}  // namespace

TEST_CASE("features are read in their own form only") {
  const Tensor x = random_tensor({3, 4});
  const Features dense(x), quantized = FeatureQuantization::fit(4, dense).apply(dense);
  CHECK_ERROR_HAS((void)dense.quantized(), "features: expected quantised ones, but they are dense");
  CHECK_ERROR_HAS((void)dense.sparse(), "features: expected sparse ones, but they are dense");
  CHECK_ERROR_HAS((void)quantized.dense(), "features: expected dense ones, but they are quantised");
  CHECK(quantized.quantized().bits == 4);
}

TEST_CASE("quantised features are accurate to half a step, with ranges per column or for all") {
  for (Device device : devices())
    for (int bits = 1; bits <= 8; ++bits)
      for (BitRange range : {BitRange::affine, BitRange::symmetric})
        for (bool by_column : {true, false}) {
          CAPTURE(bits);
          CAPTURE(by_column);
          Draw draw(1, {}, DType::f32);
          std::vector<float> x = draw.normal({200, 7}).to_vector<float>();
          for (size_t k = 0; k < x.size(); ++k)
            x[k] = x[k] * static_cast<float>(k % 7 + 1) + (k % 7 == 6 ? 90.0f : 0.0f);
          const Tensor dense = Tensor::from(x, {200, 7});
          const FeatureQuantization fitted =
              FeatureQuantization::fit(bits, Features(dense), {range, by_column});
          const Features q = fitted.apply(Features(dense.to(device)));
          REQUIRE(q.is_quantized());
          CHECK(q.device() == device);
          const auto scale = fitted.scale().to_vector<float>();
          REQUIRE(scale.size() == (by_column ? 7u : 1u));
          const auto y = q.to_dense().to_vector<float>();
          for (size_t k = 0; k < x.size(); ++k)
            REQUIRE(std::abs(y[k] - x[k]) <= 0.5001f * scale[by_column ? k % 7 : 0] + 1e-5f);
          // Columns without 0 have their own range; that of 90 and more is not widened to include 0.
          if (by_column && range == BitRange::affine)
            CHECK(scale[6] * static_cast<float>((1 << bits) - 1) < 60.0f);
        }
}

TEST_CASE("bags of words, columns of one value and signs are held exactly") {
  Draw draw(2, {}, DType::f32);
  const SparseMatrix words = draw.sparse(50, 31, 300, false);
  std::vector<float> binary = words.to_dense().to_vector<float>();
  for (float& value : binary) value = value > 0.0f ? 1.0f : 0.0f;
  const Tensor dense = Tensor::from(binary, {50, 31});
  for (int bits = 1; bits <= 8; ++bits) {
    CAPTURE(bits);
    CHECK(same_bits(quantized(Features(dense), bits).to_dense(), dense));
    const Tensor constant = Tensor::full({4, 3}, -2017.25);
    CHECK(same_bits(quantized(Features(constant), bits).to_dense(), constant));
  }
  const Tensor signs = Tensor::from<float>({-3, 3, 3, -3}, {4, 1});
  CHECK(same_bits(quantized(Features(signs), 1, {BitRange::symmetric}).to_dense(), signs));
  const Features one = quantized(Features(dense), 1), eight = quantized(Features(dense), 8);
  CHECK(one.bytes() == 50 * 4 + 2 * 31 * 4);
  CHECK(eight.bytes() == 50 * 32 + 2 * 31 * 4);
}

TEST_CASE("sparse and dense features become the same quantised features") {
  Draw draw(3, {}, DType::f32);
  for (bool values : {true, false}) {
    const SparseMatrix s = draw.sparse(400, 33, 1500, values);
    const Features a = quantized(s, 5), b = quantized(Features(s.to_dense()), 5);
    CHECK(same_bits(a.quantized().bytes, b.quantized().bytes));
    CHECK(same_bits(a.quantized().scale, b.quantized().scale));
    CHECK(same_bits(a.quantized().zero, b.quantized().zero));
  }
}

TEST_CASE("non-finite numbers do not affect the range, and others are clamped to it") {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  const Features x(Tensor::from<float>({0, inf, nan, 15, -inf, nan, 15, 0}, {4, 2}));
  const FeatureQuantization fitted = FeatureQuantization::fit(4, x);
  CHECK(fitted.scale().to_vector<float>() == std::vector<float>{1.0f, 1.0f});
  const auto y = fitted.apply(Features(Tensor::from<float>({-7, 20, 3, 14}, {2, 2}))).to_dense();
  CHECK(y.to_vector<float>() == std::vector<float>{0, 15, 3, 14});
}

TEST_CASE_FIXTURE(InFolder, "rows, devices, orders, files and fingerprints of quantised features") {
  for (Device device : devices()) {
    Dataset dense = small_citations();
    dense.x = Features(random_tensor({300, 20}));
    Dataset data = dense;
    data.x = quantized(dense.x, 6);
    const Tensor numbers = data.x.to_dense(), index = random_ints(90, 0, 300);
    const Features remote = data.x.to(device), picked = remote.rows(index.to(device));
    CHECK(picked.is_quantized());
    CHECK(same_bits(picked.to_dense().to(Device::cpu()), Features(numbers).rows(index).dense()));
    CHECK(same_bits(remote.to(DType::bf16).quantized().bytes, remote.quantized().bytes));
    CHECK_ERROR_HAS(remote.row_normalized(), "rows of quantised ones");
    CHECK_ERROR_HAS(remote.dense(), "they are quantised");
    CHECK_ERROR_HAS(remote.sparse(), "they are quantised");
    CHECK_ERROR_HAS(FeatureScaling::fit(FeatureScaling::Kind::standard, data.x).apply(remote),
                    "scaling before quantisation");
    CHECK_THROWS_AS(FeatureScaling::rows().apply(remote), Error);
    CHECK(FeatureScaling().apply(remote).is_quantized());
    if (device.is_cuda()) continue;

    const std::string mark = fingerprint(data);
    CHECK(mark != fingerprint(dense));
    Dataset other = data;
    other.x = quantized(dense.x, 5);
    CHECK(mark != fingerprint(other));
    other.x = quantized(Features(random_tensor({300, 20})), 6);
    CHECK(mark != fingerprint(other));
    other.x = FeatureQuantization::fit(6, dense.x).apply(dense.x);
    CHECK(mark == fingerprint(other));
    const Tensor order = random_permutation(300, default_generator());
    CHECK(same_bits(reordered(data, order).x.to_dense(), Features(numbers).rows(order).dense()));
    save_dataset(data, folder.file("q.h5"));
    CHECK(same_bits(load_dataset(folder.file("q.h5")).x.dense(), numbers));

    const FeatureQuantization fitted = FeatureQuantization::fit(6, dense.x);
    save_dataset(dense, folder.file("d.h5"));
    const FileRows rows = fitted.apply(FileRows::open(folder.file("d.h5")));
    CHECK(same_bits(rows.gather(index), Features(numbers).rows(index).dense()));
  }
}

TEST_CASE("loaders give batches of quantised rows, from the device's memory or the host's") {
  for (Device device : devices()) {
    Dataset data = small_citations();
    data.x = quantized(Features(random_tensor({300, 20})), 4);  // of both signs
    const Features all = data.x;
    const Tensor heat = random_ints(300, 0, 9).to(DType::f32), nodes = random_ints(500, 0, 300);
    for (int64_t cached : {0, 40})
      for (const auto& source : {make_feature_store(all), make_feature_store(all.to(device)),
                                 make_pinned_store(all, device, {cached, heat})}) {
        CHECK(source->rows() == 300);
        CHECK(source->cols() == 20);
        const Features got = source->gather(nodes.to(device), device);
        REQUIRE(got.is_quantized());
        CHECK(got.device() == device);
        CHECK(same_bits(got.to_dense().to(Device::cpu()), all.rows(nodes).to_dense()));
      }
    data = data.to(device);
    data.part = random_ints(300, 0, 6, device);
    const auto fits = [&](const Features& x, const Tensor& rows) {
      CHECK(x.is_quantized());
      CHECK(has_rows(x, data, rows));
    };
    const NeighborLoaderOptions few{.sampling = {.fanouts = {3, 2}},
                                    .loading = {.batch_size = 16, .workers = 2}};
    for (const NeighborBatch& batch : NeighborLoader(data, data.train, few).epoch(0))
      fits(batch.x, batch.blocks.front().src_nodes());
    const auto source = make_feature_store(data.x);
    for (const SubgraphBatch& batch :
         ClusterLoader(data.graph, source, data.y, data.train, data.part, {.loading = {.batch_size = 2}})
             .epoch(0))
      fits(batch.x, batch.nodes);
    const SaintLoaderOptions saint{.sampling = {.budget = 40}, .coverage = 0, .loading = {.steps = 3}};
    for (const SubgraphBatch& batch : SaintLoader(data.graph, source, data.y, data.train, saint).epoch(0))
      fits(batch.x, batch.nodes);
  }
}

TEST_CASE("numbers outside of the ranges are counted by column, those that are only rounded are not") {
  const Features x(Tensor::from(std::vector<float>{-1, 0, 2, -0.51f, 7.4f, 7.6f, -0.4f, 8, -9}, {3, 3}));
  const Tensor scale = Tensor::full({3}, 1.0), zero = Tensor::zeros({3});
  using Counts = std::vector<int64_t>;
  CHECK(FeatureQuantization(3, scale, zero).clamped(x) == Counts{2, 1, 2});
  CHECK(FeatureQuantization(3, scale.rows(0, 1), zero.rows(0, 1)).clamped(x) == Counts{2, 1, 2});
  CHECK(FeatureQuantization(4, scale, Tensor::full({3}, 2.0)).clamped(x) == Counts{0, 0, 1});
  CHECK(FeatureQuantization::fit(2, x).clamped(x) == Counts{0, 0, 0});
  CHECK(FeatureQuantization().clamped(x) == Counts{0, 0, 0});
  CHECK_ERROR_HAS(FeatureQuantization(4, scale.rows(0, 2), zero.rows(0, 2)).clamped(x),
                  "3 columns, expected 2");
}

TEST_CASE("ranges are the same on any number of threads, and wrong ones are refused") {
  const Features x(random_tensor({30000, 50}));  // more than one block
  const FeatureQuantization one = [&] {
    const Threads threads(1);
    return FeatureQuantization::fit(7, x);
  }();
  const Threads threads(3);
  CHECK(same_bits(FeatureQuantization::fit(7, x).scale(), one.scale()));
  CHECK(same_bits(FeatureQuantization::fit(7, x).zero(), one.zero()));
  CHECK_FALSE(FeatureQuantization().quantizes());
  CHECK(FeatureQuantization().apply(x).is_dense());
  CHECK_FALSE(FeatureQuantization::fit(32, x).quantizes());
  const Tensor scale = Tensor::full({50}, 1.0), zero = Tensor::zeros({50});
  CHECK_ERROR_HAS(FeatureQuantization::fit(9, x), "1 to 8 bits, got 9");
  CHECK_ERROR_HAS(FeatureQuantization(4, zero, zero), "column 0 has scale 0");
  CHECK_ERROR_HAS(FeatureQuantization(4, scale, Tensor::zeros({49})), "[F] both");
  CHECK_ERROR_HAS(FeatureQuantization(4, scale, zero).apply(Features(random_tensor({3, 49}))),
                  "49 columns, expected 50");
  const Features q = one.apply(x);
  const Numbers scales = values(one.scale());
  const double most = *std::max_element(scales.begin(), scales.end());
  CHECK(close(q.to_dense().rows(29000, 30000), x.dense().rows(29000, 30000), 0.51 * most));
  CHECK(same_bits(one.apply(q).quantized().bytes, q.quantized().bytes));
  CHECK_ERROR_HAS(FeatureQuantization(4, scale, zero).apply(q), "features of 7 bits, expected 4");
  CHECK_THROWS_AS(FeatureQuantization::fit(7, q), Error);
}
