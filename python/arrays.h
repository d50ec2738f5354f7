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

/// An array of NumPy, PyTorch or any framework that speaks DLPack or the buffer protocol; row-major, or else
/// a copy that is.
using Array = nb::ndarray<nb::ro, nb::c_contig>;

/// What f() returns, computed while other Python threads run.
template <class F>
auto without_gil(F&& f) {
  const nb::gil_scoped_release release;
  return f();
}

/// Over the array's own memory, which it keeps alive; of bools uint8. Throws, naming the argument, for
/// element types that tensors do not have. What the device has queued on a GPU's array is waited for.
Tensor to_tensor(const char* name, const Array& array);
/// Likewise of any object, absent of None. Throws nb::type_error where it is no array.
Tensor to_tensor(const char* name, nb::handle object);
/// int32 [K], from any integers or from a mask, bool [n].
Tensor to_indices(const char* name, nb::handle object, int64_t n);
/// The two rows of [2, M], or a pair of arrays [M].
EdgeIndex to_edges(const char* name, nb::handle object);
/// A dense matrix, in place where it is float32, else converted; or a copy of a scipy.sparse.csr_matrix (or
/// whatever has indptr, indices, data and shape).
Features to_features(nb::handle object);

/// Over the tensor's own memory, which the array keeps alive: NumPy's, or for a GPU and bfloat16 an object
/// for DLPack. None where the tensor is absent. What is shared with the library's structures is `read_only`.
nb::object to_array(const Tensor& tensor, bool read_only = false);
/// Getter of a tensor member, for def_prop_ro.
template <class T>
auto array_of(Tensor T::*member, bool read_only = false) {
  return [=](const T& t) { return to_array(t.*member, read_only); };
}
/// (src, dst).
nb::object to_pair(const EdgeIndex& edges, bool read_only = false);
/// The matrix [N, F]: dense features in place, others made dense.
nb::object to_matrix(const Features& x);
/// (data, indices, indptr), as scipy.sparse.csr_matrix takes them, of sparse features; else None.
nb::object to_csr(const Features& x);

void bind_dataset(nb::module_& m);
void bind_loaders(nb::module_& m);
void bind_trained(nb::module_& m);

}  // namespace adj::python
