#pragma once

// The public entry of every kernel: it checks the contract and calls the implementation for the arguments'
// device. The contracts' own ADJ_KERNEL lines define the entries where this header comes before them, in a
// source file that the build makes for each part of the library, and declare them everywhere else.
#include <adjoint/core/allocator.h>
#include <adjoint/core/capture.h>
#include <adjoint/core/detail/dispatch.h>
#include <adjoint/core/profile.h>
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

/// What a kernel refuses is said in the name of the op that called it, which is the one that a user knows.
[[noreturn, gnu::cold]] void throw_of_op(const Error& error, std::string_view kernel) {
  const std::string_view text = error.what();
  const char* op = AllocationScope::name();
  if (op == nullptr || !text.starts_with(kernel) || !text.substr(kernel.size()).starts_with(": ")) throw;
  fail("{}{}", op, text.substr(kernel.size()));
}

}  // namespace
}  // namespace adj::kernels

#undef ADJ_KERNEL
#define ADJ_KERNEL(name, Args)                                  \
  ADJ_DECLARE_KERNEL(name, Args)                                \
  void name(const Args& args) try {                             \
    check(#name, args);                                         \
    refuse_on_cpu_in_capture(args.device(), #name);             \
    const adj::detail::KernelSpan kernel(#name, args.device()); \
    ADJ_DISPATCH(args.device(), name, args);                    \
  } catch (const Error& error) {                                \
    throw_of_op(error, #name);                                  \
  }
