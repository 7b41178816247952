// Profiles made by hand.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "profile/form.hpp"
#include "profile/profile.hpp"

namespace farport::test {

inline profile::Frame frame(profile::FrameKind kind, std::string name, std::string module) {
  profile::Frame made;
  made.kind = kind;
  made.name = std::move(name);
  made.module = std::move(module);
  return made;
}
inline profile::Frame managed(std::string name) {
  return frame(profile::FrameKind::managed, std::move(name), "Orders.dll");
}
inline profile::Frame native(std::string name) {
  return frame(profile::FrameKind::native, std::move(name), "libc.so.6");
}
inline profile::Frame kernel(std::string name) {
  return frame(profile::FrameKind::kernel, std::move(name), "[kernel]");
}

/// A profile of "Orders", pid 42, of ten milliseconds a sample.
class ProfileBuilder {
 public:
  explicit ProfileBuilder(profile::Clock clock = profile::Clock::cpu,
                          profile::Keep keep = profile::Keep::each) {
    made_.samples = profile::Samples(keep);
    made_.process = "Orders";
    made_.pid = 42;
    made_.clock = clock;
    made_.interval = std::chrono::milliseconds(10);
  }

  ProfileBuilder& thread(std::uint64_t id, std::string name) {
    made_.threads.push_back({id, std::move(name)});
    return *this;
  }
  /// Of the thread that was named last. `stack`: the outermost frame first.
  ProfileBuilder& sample(const std::vector<profile::Frame>& stack, bool waiting = false) {
    if (made_.threads.empty()) thread(42, "main");
    profile::CallId call = profile::kRoot;
    for (const profile::Frame& frame : stack) call = made_.calls.add(call, made_.frames.add(frame));
    made_.samples.add({made_.duration, static_cast<std::uint32_t>(made_.threads.size() - 1), call, waiting});
    made_.duration += made_.interval;
    return *this;
  }
  ProfileBuilder& samples(int count, const std::vector<profile::Frame>& stack, bool waiting = false) {
    while (count-- > 0) sample(stack, waiting);
    return *this;
  }
  [[nodiscard]] profile::Profile take() { return std::move(made_); }

 private:
  profile::Profile made_;
};

/// As a hostile runtime would call its method: an end of everything that a form could end, and no UTF-8 at
/// last.
inline const std::string kHostileName = "a;b\n</script><img src=x>\"'&\\\x1b[31m\xE2\x80\xAE]]>\x80\xFF";

/// One stack of `frames` frames.
inline profile::Profile deep_profile(std::size_t frames) {
  return ProfileBuilder().sample(std::vector<profile::Frame>(frames, managed("Down"))).take();
}

inline std::string written(const profile::Profile& of, profile::Form form) {
  std::string file;
  const Result<void> done = profile::write_profile(of, form, [&](std::string_view piece) {
    file += piece;
    return Result<void>{};
  });
  return done ? file : done.error().message();
}

}  // namespace farport::test
