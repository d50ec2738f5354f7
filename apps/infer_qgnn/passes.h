#pragma once

#include "options.h"
#include <adjoint/adjoint.h>
#include <adjoint/data/detail/batch_data.h>

#include <algorithm>
#include <chrono>
#include <functional>

namespace adj::apps {

/// Input of one batch: some clusters of a graph, or some graphs. On the CPU.
struct Part {
  Graph graph;
  Tensor offsets;  ///< int64 [B + 1], of graphs
  Features x;
  Tensor places;  ///< int32: output rows of its nodes or graphs
};

/// The parts of a dataset, each built on demand.
struct Parts {
  int64_t count;
  std::string description;  ///< "32 graphs"
  std::function<Part(int64_t)> part;
};

/// Parts according to the options, with disjoint output rows. Throws UsageError for more clusters than nodes.
Parts parts_of(const ModelDescription& model, const Dataset& data, const InferOptions& options);

/// A batch and the output rows of its results.
template <class Batch>
struct Placed {
  Tensor places;  ///< int32, on the CPU
  Batch batch;
};

/// The parts as batches, each made by `make`.
template <class Make>
auto batches_of(const Parts& parts, const LoaderOptions& options, Make make) {
  using Batch = decltype(make(Part()));
  return Loader<Placed<Batch>>({.loader = "infer_qgnn",
                                .things = "batches",
                                .items = detail::numbers(parts.count),
                                .device = Device::cpu()},
                               options, [part_of = parts.part, make](const BatchIndex& index) {
                                 const Part part = part_of(index.number);
                                 return Placed<Batch>{part.places, make(part)};
                               });
}

struct Passes {
  Tensor outputs;  ///< float32 [N, outputs], for all nodes or graphs
  double ms;       ///< median time of a pass over all batches
};

/// Runs passes of compute(batch, first), which returns raw outputs, over all batches, which are kept on the
/// device or made anew in each pass. The first pass warms up and gives the outputs. If the device supports
/// it, a pass over kept batches is captured once and replayed, as launches would dominate its time.
template <class Batch, class Compute>
Passes run_passes(const ModelDescription& model, const Dataset& data, const Loader<Placed<Batch>>& batches,
                  const InferOptions& o, Compute&& compute) {
  const NoGrad no_grad;
  const Device device = *batches.options().device;
  const int64_t rows = model.of_graphs() ? data.graph_offsets.numel() - 1 : data.num_nodes(),
                outputs = model.num_outputs;
  std::vector<Placed<Batch>> kept;
  if (o.keeps_batches())
    for (const Placed<Batch>& placed : batches.epoch(0)) kept.push_back(placed);
  const auto for_each = [&](auto&& f) {
    if (o.keeps_batches())
      for (const Placed<Batch>& placed : kept) f(placed);
    else
      for (const Placed<Batch>& placed : batches.epoch(0)) f(placed);
  };
  Tensor all = Tensor::zeros({rows, outputs}, DType::f32);
  for_each([&](const Placed<Batch>& placed) {
    const Tensor batch_outputs = model.finish(compute(placed.batch, true)).to(Device::cpu());
    const int32_t* places = placed.places.template data<int32_t>();
    for (int64_t k = 0; k < batch_outputs.size(0); ++k)
      std::copy_n(batch_outputs.data<float>() + k * outputs, outputs,
                  all.mutable_data<float>() + places[k] * outputs);
  });
  const auto pass = [&] {
    for_each([&](const Placed<Batch>& placed) { (void)compute(placed.batch, false); });
  };
  StepGraph recorded;
  if (!o.no_capture && o.keeps_batches() && StepGraph::supported(device)) {
    recorded.begin(device);
    pass();
    recorded.end();
  }
  std::vector<double> ms;
  for (int64_t r = 0; r < o.repeats; ++r) {
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
