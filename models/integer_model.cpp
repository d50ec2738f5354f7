#include <adjoint/autograd/arithmetic.h>
#include <adjoint/kernels/aggregate/neighbor_reduce.h>
#include <adjoint/kernels/bits/bit_gemm.h>
#include <adjoint/kernels/bits/byte_sums.h>
#include <adjoint/models/detail/integer_parts.h>
#include <adjoint/models/integer_model.h>

namespace adj {

namespace {

/// Activations between layers: for sums by bits a right operand [features, nodes], else rows of bytes.
struct Activations {
  BitTensor bits;
  ByteTensor bytes;
};

/// A forward pass over one batch.
class Pass {
 public:
  Pass(const IntegerBatch& batch, const IntegerModelOptions& options)
      : batch_(batch), by_bits_(batch.by_bits()), options_(options) {}

  /// Sums over the rows' entries, quantised to the map's input range.
  BitTensor sums(const IntegerRows& matrix, const Activations& x, const detail::IntegerLinear& map) const {
    BitTensor rows = rows_for(matrix.rows(), map);
    if (by_bits_)
      kernels::bit_gemm_to_bits({.a = *matrix.bits,
                                 .b = x.bits,
                                 .row_scale = matrix.row_scale,
                                 .column_scale = map.input_scale,
                                 .column_shift = map.input_shift,
                                 .steps = matrix.steps ? &*matrix.steps : nullptr,
                                 .share_steps = options_.share_steps,
                                 .output = rows});
    else
      kernels::sum_bytes_to_bits({.a = matrix.structure,
                                  .order = matrix.order,
                                  .x = x.bytes,
                                  .row_scale = matrix.row_scale,
                                  .column_scale = map.input_scale,
                                  .column_shift = map.input_shift,
                                  .output = rows});
    return rows;
  }

  /// The same for maxima, computed on the dequantised floats: comparisons are exact.
  BitTensor maxima(const IntegerRows& matrix, const Activations& x, const detail::IntegerLinear& map) const {
    const NoGrad no_grad;
    const Tensor values = by_bits_ ? to_values(x.bits, PackedAlong::columns) : to_values(x.bytes);
    constexpr Reduce kMax[] = {Reduce::max};
    Tensor largest = Tensor::empty({matrix.rows(), values.size(1)}, DType::f32, values.device());
    kernels::neighbor_reduce({.a = matrix.structure, .x = values, .reduce = kMax, .y = largest});
    const BitTensor rows = to_bits(largest, map.input.bits, map.input.scale, map.input.zero);
    return by_bits_ ? rows : as_bytes(rows);
  }

  /// The map's output for these rows, as input rows of `next`.
  BitTensor hidden(const BitTensor& rows, const detail::IntegerLinear& map,
                   const detail::IntegerLinear& next) const {
    BitTensor output = rows_for(rows.outer, next);
    kernels::bit_gemm_to_bits({.a = rows,
                               .b = weight_of(map),
                               .column_scale = map.scale,
                               .column_shift = map.shift,
                               .activation = map.activation,
                               .output = output});
    return output;
  }

  /// The map's output for these rows, as input of the next sum over neighbours.
  Activations activations(const BitTensor& rows, const detail::IntegerLinear& map,
                          const detail::IntegerRange& next) const {
    const int64_t width = map.weight.outer;
    Activations output;
    if (by_bits_) {
      // Output features become rows: the right operand of the next sum.
      output.bits = BitTensor::empty(width, rows.outer, next.bits, next.scale, next.zero, rows.device());
      kernels::bit_gemm_to_bits({.a = map.weight,
                                 .b = rows,
                                 .row_scale = map.scale,
                                 .row_shift = map.shift,
                                 .activation = map.activation,
                                 .output = output.bits});
    } else {
      output.bytes = ByteTensor::empty(rows.outer, width, next.bits, next.scale, next.zero, rows.device());
      kernels::bit_gemm_to_bytes({.a = rows,
                                  .b = weight_of(map),
                                  .column_scale = map.scale,
                                  .column_shift = map.shift,
                                  .activation = map.activation,
                                  .output = output.bytes});
    }
    return output;
  }

  /// float32 output of the last map.
  Var logits(const BitTensor& rows, const detail::IntegerLinear& map) const {
    Tensor y = Tensor::empty({rows.outer, map.weight.outer}, DType::f32, rows.device());
    kernels::bit_gemm({.a = rows, .b = weight_of(map), .bias = map.shift, .y = y});
    return Var(y);
  }

 private:
  // Sums by bytes use byte products too: their rows are short, and bit planes would be mostly padding.
  const BitTensor& weight_of(const detail::IntegerLinear& map) const {
    return by_bits_ ? map.weight : map.bytes;
  }
  BitTensor rows_for(int64_t rows, const detail::IntegerLinear& map) const {
    return BitTensor::empty(rows, map.weight.inner, map.input.bits, map.input.scale, map.input.zero,
                            batch_.device(), !by_bits_);
  }

  const IntegerBatch& batch_;
  bool by_bits_;
  const IntegerModelOptions& options_;
};

}  // namespace

IntegerModel::IntegerModel(const TrainedModel& trained, const IntegerModelOptions& options)
    : IntegerModel(trained.description(), trained.device(), options,
                   detail::parts_of_state(detail::integer_plan(trained.description()), trained.model())) {}

IntegerModel::IntegerModel(ModelDescription description, Device device, const IntegerModelOptions& options,
                           detail::IntegerParts parts)
    : description_(std::move(description)), device_(device), options_(options) {
  const detail::IntegerRange& first = parts.inputs.front();
  parts.packed_by = {first.bits, first.scale.to(Device::cpu()), first.zero.to(Device::cpu())};
  parts_ = std::make_shared<const detail::IntegerParts>(std::move(parts));
}

std::string IntegerModel::describe() const { return description_.name + " in integers"; }

Tensor IntegerModel::operator()(const IntegerBatch& batch) const {
  ADJ_CHECK(batch.device() == device_, "{}: a batch on {}, expected it on {}", describe(),
            batch.device().str(), device_.str());
  ADJ_CHECK(batch.graphs.has_value() == description_.of_graphs(), "{}: a batch of {}, expected one of {}",
            describe(), batch.graphs ? "graphs" : "nodes", description_.of_graphs() ? "graphs" : "nodes");
  const NoGrad no_grad;
  const Pass pass(batch, options_);
  Activations x{batch.x_bits, batch.x};
  Var out;  // of graphs
  const auto read_out = [&](size_t l) {
    const detail::IntegerLinear& map = parts_->readouts[l];
    const BitTensor pooled = description_.options.graphs.pool == nn::GraphPool::max
                                 ? pass.maxima(*batch.graphs, x, map)
                                 : pass.sums(*batch.graphs, x, map);
    const Var y = pass.logits(pooled, map);
    out = l == 0 ? y : out + y;
  };
  if (batch.graphs) read_out(0);
  for (size_t l = 0; l < parts_->sums.size(); ++l) {
    const detail::IntegerLinear* last = &parts_->sums[l];
    BitTensor rows = pass.sums(batch.neighbors, x, *last);
    if (!parts_->hidden.empty()) {
      rows = pass.hidden(rows, *last, parts_->hidden[l]);
      last = &parts_->hidden[l];
    }
    if (l + 1 == parts_->inputs.size()) return pass.logits(rows, *last).value();
    x = pass.activations(rows, *last, parts_->inputs[l + 1]);
    if (batch.graphs) read_out(l + 1);
  }
  return out.value();
}

}  // namespace adj
