#pragma once

#include "parts.h"
#include <adjoint/core/capture.h>
#include <adjoint/data/loader/prefetch.h>

#include <algorithm>
#include <chrono>

namespace adj::apps {

/// A batch and the output rows of its results.
template <class Batch>
struct Placed {
  Tensor places;  ///< int32, on the CPU
  Batch batch;
};

/// All batches, by number: kept on the device, or rebuilt and prefetched in each pass.
template <class Batch>
class Batches {
 public:
  using Make = std::function<Placed<Batch>(int64_t)>;

  /// `rebuilt`: prefetching of rebuilt batches; absent: they are kept.
  Batches(int64_t count, Make make, std::optional<PrefetchOptions> rebuilt)
      : count_(count), make_(std::move(make)), rebuilt_(std::move(rebuilt)) {
    for (int64_t i = 0; i < count && !rebuilt_; ++i) kept_.push_back(make_(i));
  }
  bool kept() const { return !rebuilt_; }

  template <class F>
  void for_each(F&& f) const {
    for (const Placed<Batch>& placed : kept_) f(placed);
    if (kept()) return;
    Prefetcher<Placed<Batch>> ahead(count_, make_, *rebuilt_);
    for (const Placed<Batch>& placed : ahead) f(placed);
  }

 private:
  int64_t count_;
  Make make_;
  std::optional<PrefetchOptions> rebuilt_;
  std::vector<Placed<Batch>> kept_;
};

struct Passes {
  Tensor outputs;  ///< float32 [N, outputs], for all nodes or graphs
  double ms;       ///< median time of a pass over all batches
};

/// Runs passes of compute(batch, first), which returns raw outputs, over all batches on the device. The first
/// pass warms up and gives the outputs. `capture`: if the device supports it, a pass over kept batches is
/// captured once and replayed, as launches would dominate its time.
template <class Batch, class Compute>
Passes run_passes(const ModelDescription& model, const Batches<Batch>& batches, Device device, int64_t rows,
                  int64_t repeats, bool capture, Compute&& compute) {
  const NoGrad no_grad;
  const int64_t outputs = model.num_outputs;
  Tensor all = Tensor::zeros({rows, outputs}, DType::f32);
  batches.for_each([&](const Placed<Batch>& placed) {
    const Tensor given = model.finish(compute(placed.batch, true)).to(Device::cpu());
    const int32_t* places = placed.places.template data<int32_t>();
    for (int64_t k = 0; k < given.size(0); ++k)
      std::copy_n(given.data<float>() + k * outputs, outputs,
                  all.mutable_data<float>() + places[k] * outputs);
  });
  const auto pass = [&] {
    batches.for_each([&](const Placed<Batch>& placed) { (void)compute(placed.batch, false); });
  };
  StepGraph recorded;
  if (capture && batches.kept() && StepGraph::supported(device)) {
    recorded.begin(device);
    pass();
    recorded.end();
  }
  std::vector<double> ms;
  for (int64_t r = 0; r < repeats; ++r) {
    synchronize(device);
    const auto begin = std::chrono::steady_clock::now();
    if (recorded.ready())
      recorded.replay();
    else
      pass();
    synchronize(device);
    ms.push_back(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count());
  }
  std::nth_element(ms.begin(), ms.begin() + static_cast<std::ptrdiff_t>(ms.size() / 2), ms.end());
  return {all, ms[ms.size() / 2]};
}

}  // namespace adj::apps
