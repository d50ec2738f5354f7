#pragma once

// The public entry of every kernel: checks the contract and calls the implementation for the arguments'
// device. ADJ_KERNEL lines define the entries if this header is included before them (in a source file that
// the build generates for each part of the library), and declare them elsewhere.
#include <adjoint/core/allocator.h>
#include <adjoint/core/capture.h>
#include <adjoint/core/detail/dispatch.h>
#include <adjoint/core/isa.h>
#include <adjoint/core/profile.h>
#include <adjoint/kernels/kernel.h>

namespace adj::kernels {
namespace {

/// Device of a checked call (kernels/kernel.h).
template <class Args>
Device device_of(const Args& args) {
  if constexpr (requires { args.device(); }) {
    return args.device();
  } else if constexpr (requires { args.x; }) {
    return args.x.device();
  } else if constexpr (requires { args.a; }) {
    return args.a.device();
  } else {
    return args.y.device();
  }
}

void refuse_on_cpu_in_capture(Device device, const char* kernel) {
  if (device.is_cpu()) adj::detail::refuse_cpu_in_capture(kernel);
}

/// Rewrites an error to name the op that called the kernel, which is the name the user knows.
[[noreturn, gnu::cold]] void throw_of_op(const Error& error, std::string_view kernel) {
  const std::string_view text = error.what();
  const char* op = AllocationScope::name();
  if (op == nullptr || !text.starts_with(kernel) || !text.substr(kernel.size()).starts_with(": ")) throw;
  fail("{}{}", op, text.substr(kernel.size()));
}

}  // namespace
}  // namespace adj::kernels

#if ADJOINT_CPU_V4
#define ADJ_CPU_V4(name, Args) \
  namespace cpu_v4 {           \
  void name(const Args& args); \
  }
#define ADJ_RUN_CPU_V4(name, args) \
  if (device.is_cpu() && ::adj::detail::uses_cpu_v4()) return cpu_v4::name(args);
#else
#define ADJ_CPU_V4(name, Args)
#define ADJ_RUN_CPU_V4(name, args)
#endif

#undef ADJ_KERNEL
#define ADJ_KERNEL(name, Args)                           \
  ADJ_DECLARE_KERNEL(name, Args)                         \
  ADJ_CPU_V4(name, Args)                                 \
  void name(const Args& args) try {                      \
    args.check(#name);                                   \
    const Device device = device_of(args);               \
    refuse_on_cpu_in_capture(device, #name);             \
    const adj::detail::KernelSpan kernel(#name, device); \
    ADJ_RUN_CPU_V4(name, args)                           \
    ADJ_DISPATCH(device, name, args);                    \
  } catch (const Error& error) {                         \
    throw_of_op(error, #name);                           \
  }
