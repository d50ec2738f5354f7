#pragma once

#include <adjoint/data/dataset.h>

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace adj::python {

namespace nb = nanobind;

/// An array of NumPy, PyTorch or any framework with DLPack or the buffer protocol; copied if it is not
/// row-major.
using Array = nb::ndarray<nb::ro, nb::c_contig>;

/// Returns f(), computed without the GIL.
template <class F>
auto without_gil(F&& f) {
  const nb::gil_scoped_release release;
  return f();
}

/// A view of the array's memory, which it keeps alive; bools become uint8. Throws, naming the argument, for
/// element types that tensors do not have. For a GPU's array, waits for the work queued on the device.
Tensor to_tensor(const char* name, const Array& array);
/// The same for any object; absent for None. Throws nb::type_error if it is not an array.
Tensor to_tensor(const char* name, nb::handle object);
/// int32 [K], from any integers or from a mask, bool [n].
Tensor to_indices(const char* name, nb::handle object, int64_t n);
/// The two rows of [2, M], or a pair of arrays [M].
EdgeIndex to_edges(const char* name, nb::handle object);
/// A dense matrix, as a view if it is float32, else converted; or a copy of a scipy.sparse.csr_matrix (or any
/// object with indptr, indices, data and shape).
Features to_features(nb::handle object);

/// A view of the tensor's memory, which the array keeps alive: a NumPy array, or for a GPU or bfloat16 a
/// DLPack object. None if the tensor is absent. `read_only` for memory shared with the library's structures.
nb::object to_array(const Tensor& tensor, bool read_only = false);
/// Getter of a tensor member, for def_prop_ro.
template <class T>
auto array_of(Tensor T::*member, bool read_only = false) {
  return [=](const T& t) { return to_array(t.*member, read_only); };
}
/// (src, dst).
nb::object to_pair(const EdgeIndex& edges, bool read_only = false);
/// The matrix [N, F]: a view of dense features, else a dense copy.
nb::object to_matrix(const Features& x);
/// (data, indices, indptr) for scipy.sparse.csr_matrix if the features are sparse; else None.
nb::object to_csr(const Features& x);

void bind_dataset(nb::module_& m);
void bind_loaders(nb::module_& m);
void bind_trained(nb::module_& m);

}  // namespace adj::python
