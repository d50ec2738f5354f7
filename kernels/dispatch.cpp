// The public entry of every kernel: it checks the contract and calls the implementation for the arguments'
// device. The contracts' own ADJ_KERNEL lines define the entries here and declare them everywhere else.
#include <adjoint/core/detail/dispatch.h>

#define ADJ_KERNEL(name, Args)               \
  ADJ_DECLARE_KERNEL(name, Args)             \
  void name(const Args& args) {              \
    args.check();                            \
    ADJ_DISPATCH(args.device(), name, args); \
  }

#include <adjoint/contracts.h>  // all of them; made by the build
