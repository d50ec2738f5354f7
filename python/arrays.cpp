#include "arrays.h"

#include <adjoint/core/convert.h>

#include <cstring>

namespace adj::python {

namespace {

using Code = nb::dlpack::dtype_code;

struct ElementType {
  Code code;
  uint8_t bits;
  DType dtype;
};
constexpr ElementType kTypes[] = {{Code::Float, 32, DType::f32},   {Code::Float, 64, DType::f64},
                                  {Code::Bfloat, 16, DType::bf16}, {Code::Int, 32, DType::i32},
                                  {Code::Int, 64, DType::i64},     {Code::UInt, 8, DType::u8},
                                  {Code::Bool, 8, DType::u8}};

DType dtype_of(const char* name, nb::dlpack::dtype type) {
  for (const ElementType& known : kTypes)
    if (type.code == static_cast<uint8_t>(known.code) && type.bits == known.bits && type.lanes == 1)
      return known.dtype;
  fail(
      "{}: elements of {} bits (DLPack's code {}), expected float32, float64, bfloat16, int32, int64, uint8 "
      "or bool",
      name, type.bits, type.code);
}

Array to_any(const char* name, nb::handle object) {
  Array array;
  if (!nb::try_cast(object, array))
    throw nb::type_error(fmt::format("{}: expected an array of NumPy, PyTorch or DLPack, got {}", name,
                                     nb::cast<std::string>(nb::str(object.type())))
                             .c_str());
  return array;
}

/// Waits for all work on a GPU, on any stream, by other frameworks or the library.
void finish(Device device) {
  if (device.is_cuda()) synchronize(device);
}

}  // namespace

Tensor to_tensor(const char* name, const Array& array) {
  const DType dtype = dtype_of(name, array.dtype());
  const Device device =
      array.device_type() == nb::device::cuda::value ? Device::cuda(array.device_id()) : Device::cpu();
  ADJ_CHECK(device.is_cuda() || array.device_type() == nb::device::cpu::value,
            "{}: on a device of DLPack's type {}, expected the CPU or a CUDA GPU", name, array.device_type());
  require_available(device);
  finish(device);
  const Shape shape(std::span(array.shape_ptr(), array.ndim()));
  void* data = const_cast<void*>(array.data());
  if (device.is_cpu() && reinterpret_cast<uintptr_t>(data) % size_of(dtype) != 0) {  // NumPy's may be
    Tensor copy = Tensor::empty(shape, dtype);
    std::memcpy(copy.raw_mutable_data(), data, copy.bytes());
    return copy;
  }
  return Tensor::borrow(data, shape, dtype, device,
                        std::shared_ptr<const Array>(new Array(array), [device](const Array* kept) {
                          finish(device);
                          delete kept;
                        }));
}

Tensor to_tensor(const char* name, nb::handle object) {
  return object.is_none() ? Tensor() : to_tensor(name, to_any(name, object));
}

Tensor to_indices(const char* name, nb::handle object, int64_t n) {
  if (object.is_none()) return {};
  const Array array = to_any(name, object);
  const Tensor given = to_tensor(name, array);
  ADJ_CHECK(given.dims() == 1, "{}: {}, expected [K], or a mask [{}]", name, given.str(), n);
  if (array.dtype().code != static_cast<uint8_t>(Code::Bool)) {
    ADJ_CHECK(given.dtype() == DType::i32 || given.dtype() == DType::i64,
              "{}: {}, expected int32, int64 or bool", name, given.str());
    return to_int32("dataset", name, given, n);
  }
  ADJ_CHECK(given.numel() == n, "{}: a mask of {}, expected {}", name, given.numel(), n);
  std::vector<int32_t> set;
  const std::vector<uint8_t> mask = given.to_vector<uint8_t>();
  for (int64_t i = 0; i < n; ++i)
    if (mask[static_cast<size_t>(i)] != 0) set.push_back(static_cast<int32_t>(i));
  return Tensor::from(set, given.device());
}

EdgeIndex to_edges(const char* name, nb::handle object) {
  if (nb::len(object) != 2)
    throw nb::type_error(
        fmt::format("{}: {} rows, expected 2, of sources and of targets", name, nb::len(object)).c_str());
  return {to_tensor(name, nb::object(object[0])), to_tensor(name, nb::object(object[1]))};
}

Features to_features(nb::handle object) {
  if (object.is_none()) return {};
  if (!nb::hasattr(object, "indptr")) {
    const Tensor x = to_tensor("x", object);
    ADJ_CHECK(x.dims() == 2, "x: {}, expected [N, F]", x.str());
    return Features(x.to(DType::f32));
  }
  const auto [rows, cols] = nb::cast<std::pair<int64_t, int64_t>>(object.attr("shape"));
  const auto part = [&](const char* name, DType dtype) {
    return to_tensor(name, nb::object(object.attr(name))).to(dtype);
  };
  return SparseMatrix::from_csr(rows, cols, part("indptr", DType::i64).to_vector<int64_t>(),
                                part("indices", DType::i32).to_vector<int32_t>(),
                                part("data", DType::f32).to_vector<float>());
}

nb::object to_array(const Tensor& tensor, bool read_only) {
  if (!tensor) return nb::none();
  nb::dlpack::dtype type;
  for (const ElementType& known : kTypes)
    if (known.dtype == tensor.dtype() && known.code != Code::Bool)
      type = {static_cast<uint8_t>(known.code), known.bits, 1};
  ADJ_CHECK(type.bits != 0, "{}: arrays have no such elements", tensor.str());
  finish(tensor.device());
  const nb::capsule owner(new Tensor(tensor), [](void* kept) noexcept {
    finish(static_cast<Tensor*>(kept)->device());
    delete static_cast<Tensor*>(kept);
  });
  size_t shape[Shape::kMaxDims];
  for (int d = 0; d < tensor.dims(); ++d) shape[d] = static_cast<size_t>(tensor.size(d));
  const auto cast = [&]<class... Form>(nb::ndarray<Form...>* form) {
    return nb::cast(std::remove_pointer_t<decltype(form)>(
        const_cast<void*>(tensor.raw_data()), static_cast<size_t>(tensor.dims()), shape, owner, nullptr, type,
        tensor.is_cuda() ? nb::device::cuda::value : nb::device::cpu::value, tensor.device().index, 'C'));
  };
  if (tensor.is_cuda() || tensor.dtype() == DType::bf16) return cast(static_cast<nb::ndarray<>*>(nullptr));
  return read_only ? cast(static_cast<nb::ndarray<nb::numpy, nb::ro>*>(nullptr))
                   : cast(static_cast<nb::ndarray<nb::numpy>*>(nullptr));
}

nb::object to_pair(const EdgeIndex& edges, bool read_only) {
  return nb::make_tuple(to_array(edges.src, read_only), to_array(edges.dst, read_only));
}

nb::object to_matrix(const Features& x) {
  if (!x) return nb::none();
  return to_array(x.is_dense() ? x.dense() : without_gil([&] { return x.to_dense(); }));
}

nb::object to_csr(const Features& x) {
  if (!x.is_sparse()) return nb::none();
  const SparseMatrix& sparse = x.sparse();
  const Csr& csr = sparse.relation().csr();
  return nb::make_tuple(
      to_array(sparse.values() ? sparse.values() : Tensor::full({sparse.entries()}, 1.0), true),
      to_array(csr.indices, true), to_array(csr.offsets, true));
}

}  // namespace adj::python
