#pragma once

#include "gil.h"
#include <adjoint/data/dataset.h>

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace adj::python {

/// A Series, column, list or array as one of NumPy; missing numbers are NaN. Throws nb::type_error.
nb::object to_numpy(const char* name, nb::handle object);
/// NumPy's letter for the type of elements: 'i' integers, 'O' objects.
char kind_of(nb::handle array);
/// An array of NumPy, PyTorch any framework with DLPack or the buffer protocol, a Series or list: a view of
/// its memory, which the tensor keeps, if the type is one of tensors (bools become uint8) and the elements
/// are row-major, else a copy: float16 becomes float32, other integers int32 or int64. Absent for None. Work
/// of the calling thread's stream on a GPU's array runs after that of its producer. Throws nb::type_error if
/// it is not an array, Error for other types.
Tensor to_tensor(const char* name, nb::handle object);
/// The same as float32. Throws for numbers beyond it.
Tensor to_floats(const char* name, nb::handle object);
/// The same as int32 or int64, in memory of its own. Throws for other numbers.
Tensor to_integers(const char* name, nb::handle object);
/// int32 [K] in memory of its own, from any integers or from a mask, bool [n].
Tensor to_indices(const char* name, nb::handle object, int64_t n);
/// Integers, of all that edge_ends() takes (tables.h).
EdgeIndex to_edges(const char* name, nb::handle object);
/// A dense matrix, as a view if it is float32, else converted; or a copy of a sparse matrix of SciPy (or any
/// object with indptr, indices, data and shape).
Features to_features(nb::handle object);
/// A tensor that shares no memory with an array.
inline Tensor copy_if_shared(const Tensor& tensor) {
  return !tensor || tensor.is_unique() ? tensor : tensor.clone();
}
/// Of str, bytes or os.PathLike. Throws for a NUL byte, where the system's calls would end it.
std::string to_path(nb::handle object);

/// An array that NumPy cannot hold, on a GPU or of bfloat16, for frameworks to take by DLPack.
struct DeviceArray {
  Tensor tensor;
  bool read_only = false;
};

/// A view of the tensor's memory, which the array keeps alive: of NumPy, or a DeviceArray. None if the tensor
/// is absent. `read_only` for memory shared with the library's structures.
nb::object to_array(const Tensor& tensor, bool read_only = false);
/// Getter of a tensor member, for def_prop_ro.
template <class T>
auto array_of(Tensor T::*member, bool read_only = false) {
  return [=](const T& t) { return to_array(t.*member, read_only); };
}
/// (src, dst).
nb::object to_pair(const EdgeIndex& edges, bool read_only = false);
/// The matrix [N, F]: a view of dense features, else a dense copy.
nb::object to_matrix(const Features& x, bool read_only = false);
/// (data, indices, indptr) for scipy.sparse.csr_matrix if the features are sparse; else None.
nb::object to_csr(const Features& x);

void bind_arrays(nb::module_& m);
void bind_dataset(nb::module_& m);
void bind_typed_dataset(nb::module_& m);
void bind_loaders(nb::module_& m);
void bind_trained(nb::module_& m);

}  // namespace adj::python
