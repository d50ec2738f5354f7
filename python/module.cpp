#include "arrays.h"
#include <adjoint/core/parallel.h>

NB_MODULE(adjoint, m) {
  using namespace adj;
  namespace nb = nanobind;
  m.doc() =
      "Graph neural networks in C++ and CUDA: datasets, mini-batches and trained models. docs/python.md";
  m.attr("__version__") = std::string(version());

  const nb::exception<Error> error(m, "Error", PyExc_ValueError);
  nb::exception<DataError>(m, "DataError", error);
  nb::exception<UsageError>(m, "UsageError", error);
  nb::exception<OutOfMemory>(m, "OutOfMemory", PyExc_MemoryError);

  m.def("num_threads", &num_threads, "Threads that the library computes on.");
  m.def("set_num_threads", &set_num_threads, nb::arg("threads"));
  m.def("cuda_device_count", &cuda_device_count, "GPUs that can be used: 0 in a build without CUDA.");
  python::bind_dataset(m);
  python::bind_loaders(m);
  python::bind_trained(m);
}
