// profile_render [--wall] FILE...: reads folded stacks and writes the profile to each file, in the form
// that its name asks for.
//
// A line is "THREAD;FRAME;…;FRAME SAMPLES". A frame is "module!name", of a kind by how it ends: _[j] managed,
// _[r] runtime, _[k] kernel; [waiting] as the last one says that the samples waited.
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "profile/form.hpp"

using namespace farport;
using namespace farport::profile;

namespace {

constexpr std::uint64_t kPid = 4711;
constexpr auto kInterval = std::chrono::milliseconds(10);

bool take_end(std::string_view& text, std::string_view end) {
  if (!text.ends_with(end)) return false;
  text.remove_suffix(end.size());
  return true;
}

Frame frame_of(std::string_view text) {
  Frame frame;
  if (take_end(text, "_[j]")) frame.kind = FrameKind::managed;
  if (take_end(text, "_[r]")) frame.kind = FrameKind::runtime;
  if (take_end(text, "_[k]")) frame.kind = FrameKind::kernel;
  if (const std::size_t mark = text.find('!'); mark != std::string_view::npos) {
    frame.module = text.substr(0, mark);
    text.remove_prefix(mark + 1);
  }
  frame.name = text;
  frame.address = 0x1000 + std::hash<std::string_view>{}(text) % 0x10000;
  return frame;
}

std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> parts;
  for (std::size_t end = 0; end != std::string_view::npos;
       text.remove_prefix(end == std::string_view::npos ? 0 : end + 1)) {
    end = text.find(';');
    parts.push_back(text.substr(0, end));
  }
  return parts;
}

class FoldedReader {
 public:
  explicit FoldedReader(Clock clock) {
    profile_.process = "Orders";
    profile_.pid = kPid;
    profile_.clock = clock;
    profile_.began = std::chrono::system_clock::time_point(std::chrono::seconds(1'790'000'000));
    profile_.interval = kInterval;
  }

  void read(std::string_view line) {
    const std::size_t space = line.rfind(' ');
    std::vector<std::string_view> parts = split(line.substr(0, space));
    const std::uint32_t thread = thread_of(parts.front());
    const bool waiting = parts.back() == "[waiting]";
    if (waiting) parts.pop_back();
    CallId call = kRoot;
    for (std::size_t at = 1; at < parts.size(); ++at)
      call = profile_.calls.add(call, profile_.frames.add(frame_of(parts[at])));
    for (int left = std::atoi(line.data() + space + 1); left > 0; --left) {
      profile_.samples.add({profile_.duration, thread, call, waiting});
      profile_.duration += kInterval;
    }
  }

  [[nodiscard]] const Profile& profile() const { return profile_; }

 private:
  std::uint32_t thread_of(std::string_view name) {
    const auto [known, added] = threads_.emplace(name, profile_.threads.size());
    if (added) profile_.threads.push_back({kPid + known->second, std::string(name)});
    return static_cast<std::uint32_t>(known->second);
  }

  Profile profile_;
  std::map<std::string, std::size_t> threads_;
};

Result<void> write(const Profile& profile, const std::string& path) {
  ASSIGN_OR_RETURN(const auto form, form_of(path));
  std::FILE* const file = std::fopen(path.c_str(), "wb");
  if (file == nullptr) return fail("open", path, "see errno");
  const Result<void> done = write_profile(profile, form, [&](std::string_view piece) -> Result<void> {
    if (std::fwrite(piece.data(), 1, piece.size(), file) != piece.size())
      return fail("write to", path, "see errno");
    return {};
  });
  std::fclose(file);
  return done;
}

}  // namespace

int main(int count, char** arguments) {
  const std::vector<std::string> words(arguments + 1, arguments + count);
  FoldedReader reader(!words.empty() && words.front() == "--wall" ? Clock::wall : Clock::cpu);
  for (std::string line; std::getline(std::cin, line);) reader.read(line);
  for (const std::string& path : words) {
    if (path == "--wall") continue;
    if (const Result<void> done = write(reader.profile(), path); !done) {
      fmt::print(stderr, "{}\n", done.error().message());
      return 1;
    }
  }
  return 0;
}
