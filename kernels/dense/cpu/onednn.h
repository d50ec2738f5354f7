#pragma once

#include <adjoint/kernels/dense/cpu/tile_product.h>

namespace adj::kernels::cpu {

/// oneDNN's code for one thread and this shape; compiled ones are kept for the process, since shapes recur
/// from step to step. Null in a build without oneDNN.
std::shared_ptr<const OneDnnProduct> compile_onednn(const TileShape& shape);
/// See TileProduct.
void run_onednn(const std::shared_ptr<const OneDnnProduct>& product, const float* a, const float* b,
                const float* bias, float* c);

}  // namespace adj::kernels::cpu
