#include "cli/profile_output.hpp"

#include <cerrno>
#include <cstdio>

#include <unistd.h>

#include "cli/output_path.hpp"
#include "cli/recording_file.hpp"
#include "cli/text.hpp"
#include "profile/form.hpp"
#include "profile/top.hpp"

namespace farport::cli {
namespace {

Result<void> print_piece(std::string_view piece) {
  if (std::fwrite(piece.data(), 1, piece.size(), stdout) == piece.size()) return {};
  return fail_errno("write to", "standard output", errno);
}

}  // namespace

Result<void> check_output(const ProfileOutput& output) {
  if (output.path.empty()) return {};
  const auto form = profile::form_of(output.path);
  if (!form) return tl::unexpected(form.error());
  if (output.force || ::access(output.path.c_str(), F_OK) != 0) return {};
  return fail_errno("write the profile to", output.path, EEXIST, "name another one, or give --force");
}

profile::Keep keep_for(const ProfileOutput& output) {
  const auto form = profile::form_of(output.path);
  return form ? profile::keep_for(*form) : profile::Keep::counts;
}

Result<void> write_output(const profile::Profile& taken, const ProfileOutput& output) {
  if (output.top > 0) {
    const Result<void> printed = print_piece(profile::top_table(taken, output.top));
    if (!printed || output.path.empty()) return printed;
  }
  if (output.path.empty()) return profile::write_profile(taken, profile::Form::folded, print_piece);
  const auto form = profile::form_of(output.path);
  if (!form) return tl::unexpected(form.error());
  const std::string path = output_path(output.path, {}, {});
  const auto file = RecordingFile::create(path, output.force);
  if (!file) return tl::unexpected(file.error());
  const auto to_file = [&](std::string_view piece) {
    return (*file)->write(std::as_bytes(std::span(piece)));
  };
  Result<void> written = profile::write_profile(taken, *form, to_file);
  if (!written) return written;
  std::printf("%s\n", ::isatty(STDOUT_FILENO) != 0 ? escape(path).c_str() : path.c_str());
  return {};
}

}  // namespace farport::cli
