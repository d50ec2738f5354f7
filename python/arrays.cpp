#include "tables.h"
#include <adjoint/core/convert.h>
#include <adjoint/core/runtime.h>
#include <adjoint/core/stream.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace adj::python {

namespace {

using Code = nb::dlpack::dtype_code;
using Array = nb::ndarray<nb::ro>;

bool matches(nb::dlpack::dtype type, Code code, int bits) {
  return type.code == static_cast<uint8_t>(code) && type.bits == bits && type.lanes == 1;
}

/// float16.
struct Half {
  uint16_t bits;
  explicit operator float() const {
    const float scaled =
        std::bit_cast<float>((bits & 0x7fffu) << 13) * 0x1p112f;  // also of subnormal numbers
    const uint32_t magnitude =
        std::bit_cast<uint32_t>(scaled) | (scaled >= 65536.0f ? 0x7f800000u : 0u);  // infinite, or nan
    return std::bit_cast<float>(magnitude | (bits & 0x8000u) << 16);
  }
};

/// Calls f<Stored, Element>(): the type of an array's elements, and that of the tensor.
template <class F>
auto with_elements(const char* name, nb::dlpack::dtype type, F&& f) {
  if (matches(type, Code::Float, 32)) return f.template operator()<float, float>();
  if (matches(type, Code::Float, 64)) return f.template operator()<double, double>();
  if (matches(type, Code::Float, 16)) return f.template operator()<Half, float>();
  if (matches(type, Code::Bfloat, 16)) return f.template operator()<bfloat16, bfloat16>();
  if (matches(type, Code::Int, 8)) return f.template operator()<int8_t, int32_t>();
  if (matches(type, Code::Int, 16)) return f.template operator()<int16_t, int32_t>();
  if (matches(type, Code::Int, 32)) return f.template operator()<int32_t, int32_t>();
  if (matches(type, Code::Int, 64)) return f.template operator()<int64_t, int64_t>();
  if (matches(type, Code::UInt, 8) || matches(type, Code::Bool, 8))
    return f.template operator()<uint8_t, uint8_t>();
  if (matches(type, Code::UInt, 16)) return f.template operator()<uint16_t, int32_t>();
  if (matches(type, Code::UInt, 32)) return f.template operator()<uint32_t, int64_t>();
  if (matches(type, Code::UInt, 64)) return f.template operator()<uint64_t, int64_t>();
  constexpr const char* kTypes[] = {"int", "uint", "float", "opaque type", "bfloat", "complex", "bool"};
  fail("{}: {}{}, expected bool, integers or floating numbers of at most 64 bits", name,
       type.code < std::size(kTypes) ? kTypes[type.code] : "elements of another kind and bits ", type.bits);
}

constexpr uintptr_t kLegacyStream = 1, kThreadStream = 2;  // in DLPack and CUDA

/// The GPU that an object's memory is on, by DLPack; else the CPU.
Device device_of(nb::handle object) {
  constexpr int kCuda = 2, kManaged = 13;
  if (!nb::hasattr(object, "__dlpack__") || !nb::hasattr(object, "__dlpack_device__")) return {};
  const nb::object place = object.attr("__dlpack_device__")();
  const int type = nb::cast<int>(nb::int_(nb::object(place[0]))),
            index = nb::cast<int>(nb::int_(nb::object(place[1])));
  return type == kCuda || type == kManaged ? Device::cuda(index) : Device::cpu();
}

/// DLPack's capsule of a GPU's array, whose producer lets the library's current stream wait for its own one.
/// Some take no version, or no stream; then the device is waited for.
nb::object capsule_of(nb::handle object, Device device) {
  DeviceRuntime& device_runtime = runtime(device);
  const uintptr_t ours = device_runtime.stream_handle(Stream::current(device).id());
  // PyTorch orders the current stream of the current device, and in a process that has not used device 0 that
  // of device 0: its default stream is waited for anyway.
  const auto current = device_runtime.make_current();
  device_runtime.order(ours, kLegacyStream);
  const nb::object produce = object.attr("__dlpack__");
  const nb::int_ stream(ours);
  const auto refused = [](const nb::python_error& error) {
    return error.matches(PyExc_TypeError) || error.matches(PyExc_BufferError);
  };
  try {
    return produce(nb::arg("stream") = stream, nb::arg("max_version") = nb::make_tuple(1, 0));
  } catch (const nb::python_error& error) {
    if (!refused(error)) throw;
  }
  try {
    return produce(nb::arg("stream") = stream);
  } catch (const nb::python_error& error) {
    if (!refused(error)) throw;
  }
  nb::object capsule = produce();
  without_gil([&] { device_runtime.synchronize_device(); });
  return capsule;
}

/// "numpy.ndarray of <U1 [12, 2]".
std::string describe(nb::handle object) {
  const auto text = [](nb::handle part) { return nb::cast<std::string>(nb::str(part)); };
  const nb::handle type = object.type();
  const std::string module = text(nb::object(type.attr("__module__")));
  std::string description =
      (module == "builtins" ? "" : module + ".") + text(nb::object(type.attr("__qualname__")));
  if (const nb::object elements = nb::getattr(object, "dtype", nb::none()); !elements.is_none())
    description += " of " + text(elements);
  if (const nb::object shape = nb::getattr(object, "shape", nb::none()); !shape.is_none())
    description += " [" +
                   text(nb::str(", ").attr("join")(
                       nb::list(nb::module_::import_("builtins")
                                    .attr("map")(nb::module_::import_("builtins").attr("str"), shape)))) +
                   "]";
  return description;
}

[[noreturn]] void refuse(const char* name, nb::handle object, const std::string& why = "") {
  throw nb::type_error(
      fmt::format("{}: {}{}{}, expected numbers: an array of NumPy, PyTorch or DLPack, a Series or a list",
                  name, describe(object), why.empty() ? "" : ": ", why)
          .c_str());
}

/// Why a framework does not lend its array; empty if it does.
std::string refusal_of(nb::handle object) {
  if (!nb::hasattr(object, "__dlpack__") || nb::hasattr(nb::getattr(object, "dtype", nb::none()), "kind"))
    return "";  // NumPy's reason is that of its type
  try {
    (void)object.attr("__dlpack__")();
  } catch (const nb::python_error& error) {
    return nb::cast<std::string>(nb::str(error.value()));
  }
  return "";
}

/// Whether NumPy makes an array of it: a list, or what has NumPy's protocol.
bool is_plain(nb::handle object) {
  return nb::isinstance<nb::list>(object) || nb::isinstance<nb::tuple>(object) ||
         nb::hasattr(object, "__array__");
}

Array to_any(const char* name, nb::handle object) {
  nb::object source = nb::borrow(object);
  if (const nb::object type = nb::getattr(object, "dtype", nb::none());
      nb::hasattr(object, "astype") && nb::hasattr(type, "isnative") &&
      !nb::cast<bool>(type.attr("isnative")))
    source = source.attr("astype")(type.attr("newbyteorder")("="));  // NumPy's of the other byte order
  if (const Device device = device_of(source); device.is_cuda()) {
    require_available(device);
    try {
      source = capsule_of(source, device);
    } catch (const nb::python_error& error) {
      if (!error.matches(PyExc_BufferError) && !error.matches(PyExc_TypeError)) throw;
      refuse(name, object, nb::cast<std::string>(nb::str(error.value())));
    }
  }
  Array array;
  if (nb::try_cast(source, array)) return array;
  if (is_plain(source) && !nb::hasattr(source, "__cuda_array_interface__")) {
    nb::object values = to_numpy(name, source);
    if (nb::cast<int64_t>(values.attr("size")) == 0 && kind_of(values) != 'f')
      values = values.attr("astype")("int64");  // nothing, of any type
    if (nb::try_cast(values, array)) return array;
    if (!nb::hasattr(object, "dtype")) refuse(name, object, "elements of " + describe(values));
  }
  refuse(name, object, refusal_of(object));
}

/// The array's owner, for a tensor over its memory. It may go when work that reads it is still queued.
std::shared_ptr<const Array> keeper_of(const Array& array, Device device) {
  return {new Array(array), [device](const Array* kept) noexcept {
            const auto wait = [&] {
              try {
                synchronize(device);
              } catch (const std::exception&) {  // a device that fails is reported by the next call
              }
            };
            if (device.is_cuda()) nb::is_alive() && PyGILState_Check() ? without_gil(wait) : wait();
            with_gil([&] { delete kept; });
          }};
}

bool is_row_major(const Array& array) {
  int64_t expected = 1;
  for (size_t d = array.ndim(); d-- > 0; expected *= static_cast<int64_t>(array.shape(d)))
    if (array.shape(d) > 1 && array.stride(d) != expected) return array.size() <= 1;
  return true;
}

/// Row-major elements as Element, from `data` on the CPU with the array's strides, at any address.
template <class Stored, class Element>
Tensor row_major(const char* name, const Array& array, const char* data, const Shape& shape) {
  Tensor tensor = Tensor::empty(shape, dtype_of<Element>());
  auto* target = tensor.template mutable_data<Element>();
  const int last = shape.dims() - 1;
  const int64_t width = last < 0 ? 1 : shape[last],
                step = last < 0 ? 0 : array.stride(static_cast<size_t>(last));
  std::vector<int64_t> index(array.ndim());
  for (int64_t row = 0; row < (width > 0 ? tensor.numel() / width : 0); ++row) {
    int64_t offset = 0;
    for (int d = 0; d < last; ++d)
      offset += index[static_cast<size_t>(d)] * array.stride(static_cast<size_t>(d));
    for (int64_t k = 0; k < width; ++k) {
      Stored value;
      std::memcpy(&value, data + (offset + k * step) * static_cast<int64_t>(sizeof value), sizeof value);
      if constexpr (std::is_same_v<Stored, uint64_t>)
        ADJ_CHECK(value <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max()),
                  "{}: {}, expected integers below 2^63", name, value);
      *target++ = static_cast<Element>(value);
    }
    for (int d = last - 1; d >= 0; --d) {
      if (++index[static_cast<size_t>(d)] < shape[d]) break;
      index[static_cast<size_t>(d)] = 0;
    }
  }
  return tensor;
}

Tensor to_tensor(const char* name, const Array& array) {
  // Pinned host memory (3) is the CPU's, managed memory (13) a GPU's.
  const int type = array.device_type();
  const bool on_gpu = type == nb::device::cuda::value || type == 13;
  ADJ_CHECK(on_gpu || type == nb::device::cpu::value || type == 3,
            "{}: on a device of DLPack's type {}, expected the CPU or a CUDA GPU", name, type);
  const Device device = on_gpu ? Device::cuda(array.device_id()) : Device::cpu();
  require_available(device);
  ADJ_CHECK(array.ndim() <= static_cast<size_t>(Shape::kMaxDims), "{}: {} dimensions, expected {} at most",
            name, array.ndim(), Shape::kMaxDims);
  const Shape shape(std::span(array.shape_ptr(), array.ndim()));
  return with_elements(name, array.dtype(), [&]<class Stored, class Element>() {
    void* const data = const_cast<void*>(array.data());
    if constexpr (std::is_same_v<Stored, Element>)
      if (is_row_major(array) && reinterpret_cast<uintptr_t>(data) % sizeof(Element) == 0)
        return Tensor::borrow(data, shape, dtype_of<Element>(), device, keeper_of(array, device));
    if (device.is_cpu())
      return row_major<Stored, Element>(name, array, static_cast<const char*>(data), shape);
    // The memory that the elements lie in, copied as bytes.
    int64_t first = 0, end = array.size() == 0 ? 0 : 1;
    for (size_t d = 0; d < array.ndim() && end > 0; ++d) {
      const int64_t reach = (static_cast<int64_t>(array.shape(d)) - 1) * array.stride(d);
      (reach < 0 ? first : end) += reach;
    }
    constexpr auto kBytes = static_cast<int64_t>(sizeof(Stored));
    const Tensor bytes = Tensor::borrow(static_cast<char*>(data) + first * kBytes, {(end - first) * kBytes},
                                        DType::u8, device, keeper_of(array, device))
                             .to(Device::cpu());
    return row_major<Stored, Element>(name, array,
                                      static_cast<const char*>(bytes.raw_data()) - first * kBytes, shape)
        .to(device);
  });
}

std::string place_of(const Tensor& tensor, int64_t k) {
  return tensor.dims() == 2 ? fmt::format("row {}, column {}", k / tensor.size(1), k % tensor.size(1))
                            : fmt::format("position {}", k);
}

}  // namespace

char kind_of(nb::handle array) { return nb::cast<std::string>(array.attr("dtype").attr("kind"))[0]; }

nb::object to_numpy(const char* name, nb::handle object) {
  // NumPy's own: no code of Python runs for them, in which the interpreter's exit could end a daemon thread.
  if (nb::hasattr(object, "__array_interface__")) return nb::borrow(object);
  nb::object values;
  try {
    values = nb::module_::import_("numpy").attr("asarray")(object);
    const nb::object kind = nb::getattr(nb::getattr(object, "dtype", nb::none()), "kind", nb::none());
    if (kind_of(values) == 'O' && nb::hasattr(object, "to_numpy") && nb::isinstance<nb::str>(kind) &&
        std::string("biuf").find(nb::cast<std::string>(kind)) != std::string::npos)  // pandas.NA among them
      values = object.attr("to_numpy")(nb::arg("dtype") = "float64", nb::arg("na_value") = std::nan(""));
  } catch (const nb::python_error& error) {
    if (!error.matches(PyExc_ValueError) && !error.matches(PyExc_TypeError)) throw;
    refuse(name, object, nb::cast<std::string>(nb::str(error.value())));
  }
  return values;
}

Tensor to_tensor(const char* name, nb::handle object) {
  if (object.is_none()) return {};
  if (nb::isinstance<DeviceArray>(object)) return nb::cast<const DeviceArray&>(object).tensor;
  return to_tensor(name, to_any(name, object));
}

Tensor to_floats(const char* name, nb::handle object) {
  const Tensor tensor = to_tensor(name, object);
  if (!tensor || tensor.dtype() != DType::f64) return tensor ? tensor.to(DType::f32) : tensor;
  const Tensor host = tensor.to(Device::cpu());
  const double* values = host.data<double>();
  for (int64_t k = 0; k < host.numel(); ++k)
    ADJ_CHECK(!std::isfinite(values[k]) || std::isfinite(static_cast<float>(values[k])),
              "{}: {} at {}, expected numbers of float32", name, values[k], place_of(tensor, k));
  return tensor.to(DType::f32);
}

Tensor to_integers(const char* name, nb::handle object) {
  const Tensor tensor = to_tensor(name, object);
  ADJ_CHECK(!tensor || !is_floating(tensor.dtype()), "{}: {}, expected integers", name, tensor.str());
  return tensor && tensor.dtype() == DType::u8 ? tensor.to(DType::i32) : copy_if_shared(tensor);
}

Tensor to_indices(const char* name, nb::handle object, int64_t n) {
  if (object.is_none()) return {};
  const bool is_tensor = nb::isinstance<DeviceArray>(object);
  const Array array = is_tensor ? Array() : to_any(name, object);
  const Tensor index = is_tensor ? to_tensor(name, object) : to_tensor(name, array);
  ADJ_CHECK(index.dims() == 1, "{}: {}, expected [K], or a mask [{}]", name, index.str(), n);
  if (is_tensor || array.dtype().code != static_cast<uint8_t>(Code::Bool)) {
    ADJ_CHECK(!is_floating(index.dtype()), "{}: {}, expected integers or bool", name, index.str());
    return copy_if_shared(
        to_int32("dataset", name, index.dtype() == DType::u8 ? index.to(DType::i32) : index, n));
  }
  ADJ_CHECK(index.numel() == n, "{}: a mask of {}, expected {}", name, index.numel(), n);
  std::vector<int32_t> set;
  const std::vector<uint8_t> mask = index.to_vector<uint8_t>();
  for (int64_t i = 0; i < n; ++i)
    if (mask[static_cast<size_t>(i)] != 0) set.push_back(static_cast<int32_t>(i));
  return Tensor::from(set, index.device());
}

Features to_features(nb::handle object) {
  if (object.is_none()) return {};
  nb::object x = nb::borrow(object);
  if (nb::hasattr(x, "tocsr")) x = x.attr("tocsr")();
  if (!nb::hasattr(x, "indptr")) {
    const Tensor dense = to_floats("x", Table::is_table(x) ? Table("x", x).numbers(true) : x);
    ADJ_CHECK(dense.dims() == 2, "x: {}, expected [N, F]", dense.str());
    return Features(dense);
  }
  const std::string format =
      nb::cast<std::string>(nb::str(nb::handle(nb::getattr(x, "format", nb::str("csr")))));
  ADJ_CHECK(format == "csr", "x: a sparse matrix of format {}, expected csr or a tocsr()", format);
  const auto [rows, cols] = nb::cast<std::pair<int64_t, int64_t>>(x.attr("shape"));
  const auto integers = [&](const char* name, DType type) {
    return to_integers(name, nb::object(x.attr(name))).to(type);
  };
  const Tensor values = to_floats("x.data", nb::object(x.attr("data")));
  return SparseMatrix::from_csr(rows, cols, integers("indptr", DType::i64).to_vector<int64_t>(),
                                integers("indices", DType::i32).to_vector<int32_t>(),
                                values.to_vector<float>());
}

std::string to_path(nb::handle object) {
  PyObject* bytes = nullptr;
  if (PyUnicode_FSConverter(object.ptr(), &bytes) == 0) throw nb::python_error();
  const auto path = nb::steal<nb::bytes>(bytes);
  return {path.c_str(), path.size()};
}

namespace {

/// A tensor that another framework reads, with the stream it reads it on.
struct Loan {
  Tensor tensor;
  Stream ours;
  uintptr_t reader = 0;  // 0: it takes care of the order itself
};

/// The memory is used again after what the reader has queued by now.
void take_back(void* pointer) noexcept {
  const std::unique_ptr<Loan> loan(static_cast<Loan*>(pointer));
  const Device device = loan->tensor.device();
  if (device.is_cpu()) return;
  DeviceRuntime& device_runtime = runtime(device);
  try {
    try {
      if (loan->reader == 0) fail("no stream to wait for");
      // This may be another thread; the legacy stream waits for the default streams of all.
      device_runtime.order(device_runtime.stream_handle(loan->ours.id()),
                           loan->reader == kThreadStream ? kLegacyStream : loan->reader);
    } catch (const Error&) {  // also for a stream that is gone
      device_runtime.synchronize_device();
    }
  } catch (const std::exception&) {  // a device that fails is reported by the next call
  }
}

nb::dlpack::dtype element_type(const Tensor& tensor) {
  const std::tuple<DType, Code, uint8_t> kinds[] = {
      {DType::f32, Code::Float, 32}, {DType::f64, Code::Float, 64}, {DType::bf16, Code::Bfloat, 16},
      {DType::i32, Code::Int, 32},   {DType::i64, Code::Int, 64},   {DType::u8, Code::UInt, 8}};
  for (const auto& [dtype, code, bits] : kinds)
    if (tensor.dtype() == dtype) return {static_cast<uint8_t>(code), bits, 1};
  fail("{}: arrays have no such elements", tensor.str());
}

template <class... Form>
nb::object view(const Tensor& tensor, const nb::capsule& owner) {
  size_t shape[Shape::kMaxDims];
  for (int d = 0; d < tensor.dims(); ++d) shape[d] = static_cast<size_t>(tensor.size(d));
  return nb::cast(nb::ndarray<Form...>(
      const_cast<void*>(tensor.raw_data()), static_cast<size_t>(tensor.dims()), shape, owner, nullptr,
      element_type(tensor), tensor.is_cuda() ? nb::device::cuda::value : nb::device::cpu::value,
      tensor.device().index, 'C'));
}

/// __dlpack__: lets the reader's stream wait for ours.
nb::object lend(const DeviceArray& array, nb::handle stream, nb::kwargs options) {
  const Device device = array.tensor.device();
  auto loan = std::make_unique<Loan>(Loan{array.tensor, Stream::current(device)});
  if (device.is_cuda()) {
    const int64_t reader = stream.is_none() ? int64_t{kLegacyStream} : nb::cast<int64_t>(stream);
    if (reader < -1 || reader == 0)
      throw nb::value_error(
          fmt::format("__dlpack__: stream {}, expected -1, 1, 2 or a stream of CUDA", reader).c_str());
    if (reader > 0) {
      DeviceRuntime& device_runtime = runtime(device);
      loan->reader = static_cast<uintptr_t>(reader);
      device_runtime.order(loan->reader, device_runtime.stream_handle(loan->ours.id()));
    }
  }
  const nb::capsule owner(loan.get(), take_back);
  (void)loan.release();
  const nb::object exported = array.read_only ? view<nb::array_api, nb::ro>(array.tensor, owner)
                                              : view<nb::array_api>(array.tensor, owner);
  return exported.attr("__dlpack__")(**options);
}

}  // namespace

nb::object to_array(const Tensor& tensor, bool read_only) {
  if (!tensor) return nb::none();
  if (tensor.is_cuda() || tensor.dtype() == DType::bf16) return nb::cast(DeviceArray{tensor, read_only});
  const nb::capsule owner(new Tensor(tensor), [](void* kept) noexcept { delete static_cast<Tensor*>(kept); });
  return read_only ? view<nb::numpy, nb::ro>(tensor, owner) : view<nb::numpy>(tensor, owner);
}

nb::object to_pair(const EdgeIndex& edges, bool read_only) {
  return nb::make_tuple(to_array(edges.src, read_only), to_array(edges.dst, read_only));
}

nb::object to_matrix(const Features& x, bool read_only) {
  if (!x) return nb::none();
  return to_array(x.is_dense() ? x.dense() : without_gil([&] { return x.to_dense(); }), read_only);
}

nb::object to_csr(const Features& x) {
  if (!x.is_sparse()) return nb::none();
  const SparseMatrix& sparse = x.sparse();
  const Csr& csr = sparse.relation().csr();
  return nb::make_tuple(
      to_array(sparse.values() ? sparse.values() : Tensor::full({sparse.entries()}, 1.0), true),
      to_array(csr.indices, true), to_array(csr.offsets, true));
}

void bind_arrays(nb::module_& m) {
  nb::class_<DeviceArray>(
      m, "DeviceArray",
      R"(An array on a GPU or of bfloat16, for frameworks with DLPack: torch.from_dlpack(a).

The reader's stream waits for the library's. When the reader drops the array, its memory is reused after the work then
queued on that stream.)")
      .def_prop_ro("shape",
                   [](const DeviceArray& a) {
                     nb::list shape;
                     for (int d = 0; d < a.tensor.dims(); ++d) shape.append(a.tensor.size(d));
                     return nb::tuple(shape);
                   })
      .def_prop_ro("dtype", [](const DeviceArray& a) { return std::string(name_of(a.tensor.dtype())); })
      .def_prop_ro("device", [](const DeviceArray& a) { return a.tensor.device().str(); })
      .def("__len__", [](const DeviceArray& a) { return a.tensor.dims() > 0 ? a.tensor.size(0) : 0; })
      .def("__repr__", [](const DeviceArray& a) { return "<adjoint.DeviceArray " + a.tensor.str() + ">"; })
      .def("__dlpack_device__",
           [](const DeviceArray& a) {
             return std::pair(a.tensor.is_cuda() ? nb::device::cuda::value : nb::device::cpu::value,
                              a.tensor.device().index);
           })
      .def("__dlpack__", &lend, nb::kw_only(), nb::arg("stream") = nb::none(), nb::arg("options"));
}

}  // namespace adj::python
