#include "arrays.h"
#include <adjoint/core/parallel.h>
#include <adjoint/data/loader/prefetch.h>

NB_MODULE(adjoint, m) {
  using namespace adj;
  namespace nb = nanobind;
  static PyObject* first =
      nullptr;  // classes are bound once: an import after a removal finds the module again
  if (first != nullptr) {
    nb::module_::import_("sys").attr("modules")[m.attr("__name__")] = nb::handle(first);
    return;
  }
  first = m.inc_ref().ptr();
  nb::set_leak_warnings(false);  // threads that are in the module at exit keep what they use
  m.doc() =
      "Graph neural networks in C++ and CUDA: datasets, mini-batches and trained models. docs/python.md";
  m.attr("__version__") = std::string(version());

  const nb::exception<Error> error(m, "Error", PyExc_ValueError);
  nb::exception<DataError>(m, "DataError", error);
  nb::exception<UsageError>(m, "UsageError", error);
  nb::exception<OutOfMemory>(m, "OutOfMemory", PyExc_MemoryError);

  m.def("num_threads", &num_threads, "Number of threads that the library uses.");
  m.def("set_num_threads", &set_num_threads, nb::arg("threads"));
  m.def("cuda_device_count", &cuda_device_count, "GPUs that can be used: 0 in a build without CUDA.");
  python::bind_arrays(m);
  python::bind_dataset(m);
  python::bind_typed_dataset(m);
  python::bind_loaders(m);
  python::bind_trained(m);

  // Workers of loaders hold no lock of the library in a fork, and do not run into the end of the process.
  const nb::object pause = nb::cpp_function([] { python::without_gil([] { pause_prefetching(); }); });
  nb::module_::import_("os").attr("register_at_fork")(
      nb::arg("before") = pause, nb::arg("after_in_parent") = nb::cpp_function(&resume_prefetching),
      nb::arg("after_in_child") = nb::cpp_function([] {
        forget_prefetching();
        python::running_calls = 0;  // of threads that the child does not have
      }));
  nb::module_::import_("atexit").attr("register")(pause);
  // After the interpreter, before static objects. A call of more than ten seconds is not waited for.
  static const int registered = Py_AtExit([] {
    for (int waited = 0; python::running_calls > 0 && waited < 10'000; ++waited)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
  });
  (void)registered;
}
