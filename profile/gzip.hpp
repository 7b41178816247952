// gzip (RFC 1952), as a stream.
#pragma once

#include <memory>
#include <string_view>

#include <zlib.h>

#include "profile/output.hpp"

namespace farport::profile {

/// Hands what it has compressed to `out`, which outlives it.
class Gzip {
 public:
  explicit Gzip(Output& out);

  void put(std::string_view bytes) { deflate_all(bytes, Z_NO_FLUSH); }
  /// The end of the file: nothing may follow.
  void finish() { deflate_all({}, Z_FINISH); }

 private:
  struct End {
    void operator()(z_stream* stream) const;
  };

  void deflate_all(std::string_view bytes, int flush);

  Output& out_;
  std::unique_ptr<z_stream, End> stream_;
};

}  // namespace farport::profile
