#pragma once

// The public entry of every kernel: it checks the contract and calls the implementation for the arguments'
// device. The contracts' own ADJ_KERNEL lines define the entries where this header comes before them, in a
// source file that the build makes for each part of the library, and declare them everywhere else.
#include <adjoint/core/capture.h>
#include <adjoint/core/detail/dispatch.h>
#include <adjoint/kernels/kernel.h>



namespace adj::kernels {
namespace {

void refuse_on_cpu_in_capture(Device device, const char* kernel) {
  if (device.is_cpu()) adj::detail::refuse_cpu_in_capture(kernel);
}

template <class Args>
void check(const char* kernel, const Args& args) {
  if constexpr (requires { args.check(kernel); }) {
    args.check(kernel);
  } else {
    args.check();
  }
}

}  // namespace
}  // namespace adj::kernels

#undef ADJ_KERNEL
#define ADJ_KERNEL(name, Args)                      \
  ADJ_DECLARE_KERNEL(name, Args)                    \
  void name(const Args& args) {                     \
    check(#name, args);                             \
    refuse_on_cpu_in_capture(args.device(), #name); \
    ADJ_DISPATCH(args.device(), name, args);        \
  }
