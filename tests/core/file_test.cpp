#include "../support.h"
#include <adjoint/core/file.h>
#include <adjoint/core/program.h>

#include <atomic>
#include <csignal>
#include <ctime>
#include <fstream>
#include <set>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace adj;
using namespace adj::test;

namespace {

std::set<std::string> names_in(const TemporaryDirectory& folder) {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder.file("")))
    names.insert(entry.path().filename().string());
  return names;
}

}  // namespace

TEST_CASE_FIXTURE(InFolder,
                  "a file is replaced atomically, through a symbolic link too, and no temporary remains") {
  const std::string path = folder.file("a.txt"), link = folder.file("link.txt");
  replace_file(path, "first");
  CHECK(contents_of(path) == "first");
  std::filesystem::create_symlink("a.txt", link);
  const std::string bytes("zero \0 and\nlines", 16);
  replace_file(link, bytes);
  CHECK(std::filesystem::is_symlink(link));
  CHECK(contents_of(path) == bytes);
  CHECK(names_in(folder).size() == 2);
}

TEST_CASE_FIXTURE(InFolder, "of many that create a file one succeeds, and its bytes are whole") {
  const std::string path = folder.file("new.txt");
  for (int round = 0; round < 20; ++round) {
    std::atomic<int> created{0};
    std::vector<std::thread> threads;
    for (char letter = 'a'; letter < 'e'; ++letter)
      threads.emplace_back([&, letter] { created += create_file(path, std::string(5000, letter)) ? 1 : 0; });
    for (std::thread& thread : threads) thread.join();
    CHECK(created == 1);
    const std::string bytes = contents_of(path);
    CHECK(bytes == std::string(5000, bytes.at(0)));
    CHECK_FALSE(create_file(path, "more"));
    CHECK(contents_of(path) == bytes);
    CHECK(names_in(folder) == std::set<std::string>{"new.txt"});
    std::filesystem::remove(path);
  }
  CHECK_THROWS_AS((void)create_file(folder.file("none/new.txt"), ""), DataError);
}

TEST_CASE_FIXTURE(InFolder, "only regular files are replaced, everything else is kept") {
  const std::string link = folder.file("null"), pipe = folder.file("pipe");
  std::filesystem::create_symlink("/dev/null", link);
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  for (const std::string& path : {std::string("/dev/null"), link, pipe}) {
    CAPTURE(path);
    CHECK(error_of<DataError>([&] { replace_file(path, "gone"); }) == path + ": not a regular file");
    CHECK(obstacle_to_replacing(path) == "not a regular file");
  }
  CHECK(std::filesystem::is_character_file("/dev/null"));
  CHECK(std::filesystem::is_symlink(link));
  CHECK(std::filesystem::is_fifo(pipe));
}

TEST_CASE_FIXTURE(InFolder,
                  "a dangling link stays a link, and its target is created in the target's folder") {
  std::filesystem::create_directory(folder.file("there"));
  std::filesystem::create_symlink("there/new", folder.file("second"));
  std::filesystem::create_symlink("second", folder.file("first"));
  CHECK(followed(folder.file("first")) == folder.file("there/new"));
  CHECK(obstacle_to_replacing(folder.file("first")).empty());
  CHECK_FALSE(std::filesystem::exists(folder.file("there/new")));
  replace_file(folder.file("first"), "bytes");
  CHECK(std::filesystem::is_symlink(folder.file("first")));
  CHECK(std::filesystem::is_symlink(folder.file("second")));
  CHECK(contents_of(folder.file("there/new")) == "bytes");
  std::filesystem::create_symlink("no/folder", folder.file("nowhere"));
  CHECK(error_of<DataError>([&] { replace_file(folder.file("nowhere"), "x"); }).find("No such file") !=
        std::string::npos);
  std::filesystem::create_symlink("loop", folder.file("loop"));
  CHECK(error_of<DataError>([&] { replace_file(folder.file("loop"), "x"); }).find("symbolic links") !=
        std::string::npos);
}

TEST_CASE_FIXTURE(InFolder, "the check whether a link can be replaced uses its target's folder") {
  const std::string path = folder.file("a.txt");
  const int file = open(path.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
  REQUIRE(file >= 0);
  // No file can be made in this folder of links.
  const std::string link = fmt::format("/proc/self/fd/{}", file);
  CHECK(obstacle_to_replacing(link).empty());
  replace_file(link, "x");
  CHECK(contents_of(path) == "x");
  close(file);
}

TEST_CASE_FIXTURE(InFolder, "a failed write leaves the old file and no temporary") {
  const std::string path = folder.file("a.txt");
  replace_file(path, "old");
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  rlimit small = before;
  small.rlim_cur = 4096;
  setrlimit(RLIMIT_FSIZE, &small);
  const std::string message = error_of<DataError>([&] { replace_file(path, std::string(10000, 'x')); });
  setrlimit(RLIMIT_FSIZE, &before);
  CHECK(message == path + ": cannot write: File too large");
  CHECK(contents_of(path) == "old");
  CHECK(names_in(folder) == std::set<std::string>{"a.txt"});
}

TEST_CASE_FIXTURE(InFolder,
                  "temporary files of killed runs do no harm, and are removed once old and unlocked") {
  const auto put = [&](const std::string& name, int64_t age) {
    const std::string path = folder.file(name);
    std::ofstream(path) << "left";
    const timespec then{std::time(nullptr) - age, 0}, times[2]{then, then};
    REQUIRE(utimensat(AT_FDCWD, path.c_str(), times, 0) == 0);
    return path;
  };
  put(".adjoint-0123456789abcdef.tmp", 3600);
  put(".adjoint-0123456789abcde0.tmp", 10);
  const std::string held = put(".adjoint-0123456789abcde1.tmp", 3600);
  const int holder = open(held.c_str(), O_WRONLY | O_CLOEXEC);
  REQUIRE(flock(holder, LOCK_EX) == 0);
  std::set<std::string> stay{".adjoint-0123456789abcde0.tmp", ".adjoint-0123456789abcde1.tmp", "a.txt"};
  for (const char* name :
       {".adjoint-0123456789abcdef.tmp2", ".adjoint-0123456789abcdeg.tmp", ".adjoint-0123456789ABCDEF.tmp",
        ".adjoint-0123.tmp", "adjoint-0123456789abcdef.tmp"}) {
    put(name, 3600);
    stay.insert(name);
  }
  std::filesystem::create_directory(folder.file(".adjoint-00000000000000aa.tmp"));
  std::filesystem::create_symlink("a.txt", folder.file(".adjoint-00000000000000bb.tmp"));
  stay.insert({".adjoint-00000000000000aa.tmp", ".adjoint-00000000000000bb.tmp"});
  replace_file(folder.file("a.txt"), "x");
  CHECK(names_in(folder) == stay);
  close(holder);
}

TEST_CASE_FIXTURE(InFolder, "a replaced file keeps its permissions and group, and a new one follows umask") {
  const mode_t before = umask(022);
  const auto status_of = [](const std::string& path) {
    struct stat status {};
    REQUIRE(stat(path.c_str(), &status) == 0);
    return status;
  };
  const auto mode_of = [&](const std::string& path) { return status_of(path).st_mode & 07777; };
  const std::string path = folder.file("a.txt"), link = folder.file("link");
  replace_file(path, "new");
  CHECK(mode_of(path) == 0644);
  std::filesystem::create_symlink("a.txt", link);
  for (const mode_t mode : {0600u, 0640u, 0660u, 0666u, 0755u}) {
    CAPTURE(mode);
    REQUIRE(chmod(path.c_str(), mode) == 0);
    replace_file(link, "again");
    CHECK(mode_of(path) == mode);
    // Nor may others read it while it is being written.
    FileReplacement file(path);
    file.write(0, "secret");
    for (const std::string& name : names_in(folder))
      if (name.starts_with(".adjoint-")) CHECK(mode_of(folder.file(name)) == mode);
  }
  if (geteuid() == 0) {  // who may change the owner of files
    REQUIRE(chmod(path.c_str(), 0640) == 0);
    REQUIRE(chown(path.c_str(), 1234, 2345) == 0);
    replace_file(path, "of another");
    CHECK(status_of(path).st_uid == 1234);
    CHECK(status_of(path).st_gid == 2345);
    CHECK(mode_of(path) == 0640);
  }
  umask(before);
}

TEST_CASE("a signal that ends a program removes its temporary files") {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    CAPTURE(signal);
    const TemporaryDirectory folder;
    replace_file(folder.file("a.txt"), "old");
    int told[2];
    REQUIRE(pipe(told) == 0);
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      for (const int one : {SIGINT, SIGTERM, SIGHUP}) ::signal(one, SIG_DFL);
      std::filesystem::current_path(folder.file(""));
      _exit(run_program("test", [&] {
        FileReplacement first("a.txt"), second(folder.file("b.txt"));
        { const FileReplacement third("c.txt"); }  // restores the working directory
        first.write(0, "half");
        second.write(0, "half");
        (void)!write(told[1], "x", 1);
        pause();
      }));
    }
    char started = 0;
    REQUIRE(read(told[0], &started, 1) == 1);
    CHECK(names_in(folder).size() == 3);
    kill(child, signal);
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK((WIFSIGNALED(status) && WTERMSIG(status) == signal));
    CHECK(names_in(folder) == std::set<std::string>{"a.txt"});
    CHECK(contents_of(folder.file("a.txt")) == "old");
    close(told[0]);
    close(told[1]);
  }
}

TEST_CASE("an ignored signal stays ignored") {
  CHECK(exit_status_of([] {
          signal(SIGHUP, SIG_IGN);  // nohup
          return run_program("test", [] { raise(SIGHUP); });
        }) == 0);
}

TEST_CASE_FIXTURE(InFolder, "no file gets the number of a closed standard stream") {
  CHECK(exit_status_of([&] {
          close(STDOUT_FILENO);
          const rlimit none{3, 3};  // only the numbers 0 to 2 are available, of which 1 is free
          setrlimit(RLIMIT_NOFILE, &none);
          return error_of<DataError>([&] { replace_file(folder.file("a"), "x"); }) == "" ? 1 : 0;
        }) == 0);
  replace_file(folder.file("a"), "x");
}

TEST_CASE_FIXTURE(InFolder, "files that cannot be written are refused by name") {
  const std::string nowhere = folder.file("no/such/file"), directory = folder.file("");
  CHECK(error_of<DataError>([&] { replace_file(nowhere, "x"); }).find(nowhere) == 0);
  CHECK(error_of<DataError>([&] { replace_file(directory, "x"); }).find("a folder") != std::string::npos);
  const std::string longest = folder.file(std::string(255, 'n')), longer = longest + "n";
  CHECK(obstacle_to_replacing(longest).empty());
  replace_file(longest, "x");
  CHECK(contents_of(longest) == "x");
  CHECK(obstacle_to_replacing(longer) == "File name too long");
  CHECK(error_of<DataError>([&] { replace_file(longer, "x"); }) == longer + ": File name too long");
  CHECK(obstacle_to_replacing("") == "No such file or directory");
}
