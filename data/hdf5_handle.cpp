#include <adjoint/data/detail/hdf5_handle.h>

#include <atomic>

namespace adj::hdf5 {

std::mutex& mutex() {
  static std::mutex one;
  return one;
}

std::string unique_name() {
  static std::atomic<unsigned long> count{0};
  return "adjoint-image-" + std::to_string(++count);
}

void quiet() { H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr); }

std::string last_error() {
  std::string message;
  H5Ewalk2(
      H5E_DEFAULT, H5E_WALK_UPWARD,
      [](unsigned n, const H5E_error2_t* error, void* context) {
        if (n == 0 && error->desc != nullptr) *static_cast<std::string*>(context) = error->desc;
        return herr_t{0};
      },
      &message);
  if (message.empty()) return "unknown error of the HDF5 library";
  // Removes addresses, which differ from run to run, to keep messages reproducible.
  for (size_t position = message.find("0x"); position != std::string::npos;
       position = message.find("0x", position + 2)) {
    const size_t end = message.find_first_not_of("0123456789abcdefABCDEF", position + 2);
    message.erase(position + 2, (end == std::string::npos ? message.size() : end) - position - 2);
    message.insert(position + 2, "..");
  }
  return message;
}

NumberType number_type(DType dtype) {
  if (dtype == DType::f32) return {H5T_IEEE_F32LE, H5T_NATIVE_FLOAT};
  if (dtype == DType::f64) return {H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE};
  if (dtype == DType::i32) return {H5T_STD_I32LE, H5T_NATIVE_INT32};
  if (dtype == DType::i64) return {H5T_STD_I64LE, H5T_NATIVE_INT64};
  if (dtype == DType::u8) return {H5T_STD_U8LE, H5T_NATIVE_UINT8};
  return {};  // of bfloat16 and bits
}

}  // namespace adj::hdf5
