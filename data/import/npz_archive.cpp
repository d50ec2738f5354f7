#include <adjoint/core/text.h>
#include <adjoint/data/import/detail/npy_array.h>
#include <adjoint/data/import/detail/npz_archive.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <sys/stat.h>
#include <zip.h>

namespace adj {

namespace {

constexpr std::string_view kSuffix = ".npy";
constexpr uint64_t kDeflateRatio = 1032;  // deflate's limit: nearly one bit for 258 bytes

}  // namespace

void NpzArchive::Discard::operator()(zip* archive) const { zip_discard(archive); }
void NpzArchive::Stream::Close::operator()(zip_file* file) const { zip_fclose(file); }

void NpzArchive::fail_with(std::string_view array, const std::string& message) const {
  data_fail("{}: {}: {}", excerpt(name_), excerpt(array), excerpt(message));
}

/// Explains why an archive cannot be opened, from its first bytes.
void NpzArchive::fail_to_open(std::string_view head, int code) const {
  if (bytes_ == 0) data_fail("{}: not an .npz file, it is empty", excerpt(name_));
  if (head.starts_with(kNpyMark))
    data_fail("{}: one array (.npy), expected an archive of them (.npz)", excerpt(name_));
  if (!head.starts_with("PK")) data_fail("{}: not an .npz file (a zip archive)", excerpt(name_));
  zip_error_t error;
  zip_error_init_with_code(&error, code);
  const std::string reason = excerpt(zip_error_strerror(&error));
  zip_error_fini(&error);
  if (code == ZIP_ER_NOZIP || code == ZIP_ER_INCONS)
    data_fail("{}: its directory, which ends an .npz file, is missing or damaged: truncated?",
              excerpt(name_));
  data_fail("{}: cannot be read as a zip archive: {}", excerpt(name_), reason);
}

void NpzArchive::list() {
  const zip_int64_t count = zip_get_num_entries(zip_.get(), ZIP_FL_UNCHANGED);
  for (zip_int64_t k = 0; k < count; ++k) {
    zip_stat_t stat;
    zip_stat_init(&stat);
    if (zip_stat_index(zip_.get(), static_cast<zip_uint64_t>(k), ZIP_FL_UNCHANGED | ZIP_FL_ENC_RAW, &stat) !=
            0 ||
        (stat.valid & ZIP_STAT_NAME) == 0)
      data_fail("{}: entry {} of its directory is damaged", excerpt(name_), k);
    std::string_view entry = stat.name;
    if (!entry.ends_with(kSuffix)) continue;
    entry.remove_suffix(kSuffix.size());
    Entry facts;
    facts.index = static_cast<uint64_t>(k);
    facts.bytes = stat.size;
    facts.packed = stat.comp_size;
    facts.method = stat.comp_method;
    facts.encrypted = (stat.valid & ZIP_STAT_ENCRYPTION_METHOD) != 0 && stat.encryption_method != ZIP_EM_NONE;
    if (!entries_.emplace(std::string(entry), facts).second)
      fail(entry, "twice in the archive, expected each name once");
  }
}

NpzArchive NpzArchive::open(const std::string& path) {
  NpzArchive archive;
  archive.name_ = path;
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) data_fail("{}: {}", excerpt(path), std::strerror(errno));
  if (!S_ISREG(status.st_mode)) data_fail("{}: not a file", excerpt(path));
  archive.bytes_ = static_cast<uint64_t>(status.st_size);
  int code = 0;
  archive.zip_.reset(zip_open(path.c_str(), ZIP_RDONLY, &code));
  if (!archive.zip_) {
    char head[8] = {};
    size_t got = 0;
    if (FILE* file = std::fopen(path.c_str(), "rbe")) {
      got = std::fread(head, 1, sizeof(head), file);
      (void)std::fclose(file);
    } else {
      data_fail("{}: {}", excerpt(path), std::strerror(errno));
    }
    archive.fail_to_open({head, got}, code);
  }
  archive.list();
  return archive;
}

NpzArchive NpzArchive::from_image(std::span<const std::byte> image, const std::string& name) {
  NpzArchive archive;
  archive.name_ = name;
  archive.bytes_ = image.size();
  zip_error_t error;
  zip_error_init(&error);
  zip_source_t* source = zip_source_buffer_create(image.data(), image.size(), 0, &error);
  if (source != nullptr) {
    archive.zip_.reset(zip_open_from_source(source, ZIP_RDONLY, &error));
    if (!archive.zip_) zip_source_free(source);
  }
  const int code = zip_error_code_zip(&error);
  zip_error_fini(&error);
  if (!archive.zip_)
    archive.fail_to_open({reinterpret_cast<const char*>(image.data()), std::min<size_t>(8, image.size())},
                         code);
  archive.list();
  return archive;
}

NpzArchive::Stream NpzArchive::stream(const std::string& array) const {
  const Entry& facts = entries_.at(array);
  if (facts.encrypted) fail(array, "encrypted, expected plain");
  if (facts.method != ZIP_CM_STORE && facts.method != ZIP_CM_DEFLATE)
    fail(array, "compressed by method {}, expected stored or deflated", facts.method);
  if (facts.packed > bytes_)
    fail(array, "{} bytes in a file of {}: truncated or damaged", facts.packed, bytes_);
  if (facts.method == ZIP_CM_STORE ? facts.bytes != facts.packed
                                   : facts.bytes > kDeflateRatio * facts.packed + 64)
    fail(array, "{} bytes out of {}, more than there can be: damaged, or a zip bomb", facts.bytes,
         facts.packed);
  Stream stream;
  stream.archive_ = this;
  stream.array_ = array;
  stream.file_.reset(zip_fopen_index(zip_.get(), facts.index, ZIP_FL_UNCHANGED));
  if (!stream.file_) fail(array, "damaged: {}", zip_error_strerror(zip_get_error(zip_.get())));
  return stream;
}

size_t NpzArchive::Stream::read(void* buffer, size_t bytes) {
  size_t done = 0;
  while (done < bytes) {
    const zip_int64_t got = zip_fread(file_.get(), static_cast<char*>(buffer) + done, bytes - done);
    if (got < 0) archive_->fail(array_, "damaged: {}", zip_file_strerror(file_.get()));
    if (got == 0) break;
    done += static_cast<size_t>(got);
  }
  return done;
}

}  // namespace adj
