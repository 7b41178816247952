// What the tests of auth/ share: a directory, a CA with certificates in files, and a handshake in memory.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>

#include <sys/stat.h>

#include <catch2/catch.hpp>

#include "auth/issue.hpp"
#include "auth/tls_context.hpp"

namespace farport::auth::test {

/// A directory that goes with the test.
class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string path = (std::filesystem::temp_directory_path() / "farport-auth-XXXXXX").string();
    if (mkdtemp(path.data()) == nullptr) throw std::runtime_error("mkdtemp");
    path_ = path;
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  ~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  [[nodiscard]] std::string path() const { return path_; }
  [[nodiscard]] std::string path(const std::string& name) const { return path_ + "/" + name; }

  /// Writes a file and returns its path.
  [[nodiscard]] std::string file(const std::string& name, std::string_view text) const {
    std::ofstream(path(name), std::ios::binary) << text;
    return path(name);
  }

 private:
  std::string path_;
};

/// Whether a text has this part; a check of it that fails shows the text.
inline bool holds(const std::string& text, const std::string& part) {
  UNSCOPED_INFO(text);
  return text.find(part) != std::string::npos;
}

inline std::string text_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline unsigned int mode_of(const std::string& path) {
  struct stat status {};
  return stat(path.c_str(), &status) == 0 ? status.st_mode & 07777U : 0;
}

/// The value, or the test ends with the error's message.
template <typename T>
T must(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().message());
  return std::move(*result);
}

/// A CA in a directory of its own, and certificates beside it.
class TestCa {
 public:
  TestCa() : ca_(must(make_ca())) { must_write("ca", ca_); }

  /// Makes NAME.crt and NAME.key.
  [[nodiscard]] TlsFiles issue(CertificateRequest request) const {
    request = must(complete_request(std::move(request)));
    must_write(request.name, must(make_certificate(ca_, request)));
    return files(request.name);
  }
  [[nodiscard]] TlsFiles server(const std::string& name) const {
    CertificateRequest request;
    request.side = Side::server;
    request.name = name;
    return issue(std::move(request));
  }
  [[nodiscard]] TlsFiles client(const std::string& name) const {
    CertificateRequest request;
    request.name = name;
    return issue(std::move(request));
  }

  [[nodiscard]] TlsFiles files(const std::string& name) const {
    const PairPaths paths = pair_paths(directory_.path(), name);
    return {paths.cert, paths.key, pair_paths(directory_.path(), "ca").cert};
  }
  [[nodiscard]] const Issued& ca() const { return ca_; }
  [[nodiscard]] const TemporaryDirectory& directory() const { return directory_; }

 private:
  void must_write(const std::string& name, const Issued& issued) const {
    const auto written = write_pair(pair_paths(directory_.path(), name), issued, false);
    if (!written) throw std::runtime_error(written.error().message());
  }

  TemporaryDirectory directory_;
  Issued ca_;
};

inline constexpr std::time_t kHour = 60 * 60;

inline Validity long_ago() {
  return {std::time(nullptr) - 48 * kHour, std::time(nullptr) - 24 * kHour};
}
inline Validity tomorrow() {
  return {std::time(nullptr) + 24 * kHour, std::time(nullptr) + 48 * kHour};
}

}  // namespace farport::auth::test
