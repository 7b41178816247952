#include <array>
#include <map>
#include <unordered_map>

#include "base/escape.hpp"
#include "profile/form.hpp"
#include "profile/profile.hpp"
#include "profile/protobuf.hpp"

namespace farport::profile {
namespace {

// Field numbers of profile.proto.
namespace profile_field {
constexpr std::uint32_t kSampleType = 1, kSample = 2, kMapping = 3, kLocation = 4, kFunction = 5,
                        kStringTable = 6, kTimeNanos = 9, kDurationNanos = 10, kPeriodType = 11, kPeriod = 12,
                        kComment = 13, kDefaultSampleType = 14;
}
namespace value_type_field {
constexpr std::uint32_t kType = 1, kUnit = 2;
}
namespace sample_field {
constexpr std::uint32_t kLocationId = 1, kValue = 2, kLabel = 3;
}
namespace label_field {
constexpr std::uint32_t kKey = 1, kStr = 2, kNum = 3;
}
namespace mapping_field {
constexpr std::uint32_t kId = 1, kFilename = 5, kBuildId = 6, kHasFunctions = 7;
}
namespace location_field {
constexpr std::uint32_t kId = 1, kMappingId = 2, kAddress = 3, kLine = 4;
}
namespace line_field {
constexpr std::uint32_t kFunctionId = 1;
}
namespace function_field {
constexpr std::uint32_t kId = 1, kName = 2, kSystemName = 3, kFilename = 4;
}

/// Stores each string once; messages refer to it by index.
class StringTable {
 public:
  StringTable() { place_of(""); }

  std::uint64_t place_of(std::string_view text) {
    const auto [known, added] = places_.emplace(escape(text), in_order_.size());
    if (added) in_order_.push_back(&known->first);
    return known->second;
  }
  [[nodiscard]] const std::vector<const std::string*>& in_order() const { return in_order_; }

 private:
  std::unordered_map<std::string, std::uint64_t> places_;
  std::vector<const std::string*> in_order_;
};

/// Each module once, after the process, to which frames without a module belong. Ids start at 1.
class MappingTable {
 public:
  explicit MappingTable(const Profile& profile)
      : mappings_{{profile.process, {}}}, mapping_of_(profile.frames.size()) {
    std::map<std::pair<std::string_view, std::string_view>, std::size_t> places;
    for (FrameId id = 0; id < profile.frames.size(); ++id) {
      const Frame& frame = profile.frames[id];
      if (!frame.module.empty()) {
        const auto [known, added] = places.try_emplace({frame.module, frame.build_id}, mappings_.size());
        if (added) mappings_.push_back({frame.module, frame.build_id});
        mapping_of_[id] = known->second;
      }
      if (frame.name.empty()) mappings_[mapping_of_[id]].has_functions = false;
    }
  }

  [[nodiscard]] std::uint64_t id_of(FrameId frame) const { return mapping_of_[frame] + 1; }

  [[nodiscard]] std::vector<Message> messages(StringTable& strings) const {
    std::vector<Message> all;
    for (const Mapping& mapping : mappings_) {
      all.emplace_back()
          .number(mapping_field::kId, all.size())
          .number(mapping_field::kFilename, strings.place_of(mapping.file))
          .number(mapping_field::kBuildId, strings.place_of(mapping.build_id))
          .number(mapping_field::kHasFunctions, mapping.has_functions ? 1 : 0);
    }
    return all;
  }

 private:
  struct Mapping {
    std::string_view file;
    std::string_view build_id;
    bool has_functions = true;
  };
  std::vector<Mapping> mappings_;
  std::vector<std::size_t> mapping_of_;
};

class PprofWriter {
 public:
  PprofWriter(const Profile& profile, Output& out) : profile_(profile), gzip_(out), out_(out) {}

  void write() {
    put_head();
    put_pprof_frames();
    for (const Count& count : profile_.samples.counts()) {
      if (!out_.good()) return;
      put(profile_field::kSample, sample_of(count));
    }
    for (const std::string* text : strings_.in_order()) put(profile_field::kStringTable, *text);
    gzip_.finish();
  }

 private:
  template <typename Element>
  void put(std::uint32_t field, const Element& element) {
    gzip_.put(Message().element(field, element).bytes());
  }

  Message value_type(std::string_view type, std::string_view unit) {
    return Message()
        .number(value_type_field::kType, strings_.place_of(type))
        .number(value_type_field::kUnit, strings_.place_of(unit));
  }

  void put_head() {
    const std::string_view clock = profile_.clock == Clock::wall ? "wall" : "cpu";
    const std::chrono::nanoseconds began = profile_.began.time_since_epoch();
    const auto number_of = [](std::chrono::nanoseconds time) {
      return static_cast<std::uint64_t>(time.count());
    };
    put(profile_field::kSampleType, value_type("samples", "count"));
    put(profile_field::kSampleType, value_type(clock, "nanoseconds"));
    put(profile_field::kPeriodType, value_type(clock, "nanoseconds"));
    gzip_.put(Message()
                  .number(profile_field::kTimeNanos, number_of(began))
                  .number(profile_field::kDurationNanos, number_of(profile_.duration))
                  .number(profile_field::kPeriod, number_of(profile_.interval))
                  .packed(profile_field::kComment, std::array{strings_.place_of(summary_of(profile_))})
                  .number(profile_field::kDefaultSampleType, strings_.place_of(clock))
                  .bytes());
  }

  /// Writes a location for each frame, and a function for each frame with a name. Both have the frame's id
  /// plus one.
  void put_pprof_frames() {
    const MappingTable mappings(profile_);
    for (const Message& mapping : mappings.messages(strings_)) put(profile_field::kMapping, mapping);
    for (FrameId id = 0; id < profile_.frames.size() && out_.good(); ++id) {
      const Frame& frame = profile_.frames[id];
      Message location;
      location.number(location_field::kId, id + std::uint64_t{1})
          .number(location_field::kMappingId, mappings.id_of(id))
          .number(location_field::kAddress, frame.address);
      if (!frame.name.empty()) {
        location.element(location_field::kLine,
                         Message().number(line_field::kFunctionId, id + std::uint64_t{1}));
        put(profile_field::kFunction, function_of(id));
      }
      put(profile_field::kLocation, location);
    }
  }

  Message function_of(FrameId id) {
    const Frame& frame = profile_.frames[id];
    const std::uint64_t name = strings_.place_of(frame.name);
    return Message()
        .number(function_field::kId, id + std::uint64_t{1})
        .number(function_field::kName, name)
        .number(function_field::kSystemName, name)
        .number(function_field::kFilename, strings_.place_of(frame.module));
  }

  Message label(std::string_view key, std::string_view text) {
    return Message()
        .number(label_field::kKey, strings_.place_of(key))
        .number(label_field::kStr, strings_.place_of(text));
  }

  Message sample_of(const Count& count) {
    std::vector<std::uint64_t> locations;  // Innermost first.
    for (CallId call = count.call; call != kRoot; call = profile_.calls.caller(call))
      locations.push_back(profile_.calls.frame(call) + std::uint64_t{1});
    const auto nanoseconds = count.samples * static_cast<std::uint64_t>(profile_.interval.count());
    const ProfiledThread& thread = profile_.threads[count.thread];
    Message sample;
    sample.packed(sample_field::kLocationId, locations)
        .packed(sample_field::kValue, std::array{count.samples, nanoseconds})
        .element(sample_field::kLabel, Message()
                                           .number(label_field::kKey, strings_.place_of("thread_id"))
                                           .number(label_field::kNum, thread.id));
    if (!thread.name.empty()) sample.element(sample_field::kLabel, label("thread", thread.name));
    if (count.waiting) sample.element(sample_field::kLabel, label("state", "waiting"));
    return sample;
  }

  const Profile& profile_;
  StringTable strings_;
  Gzip gzip_;
  Output& out_;
};

}  // namespace

void write_pprof(const Profile& profile, Output& out) {
  PprofWriter(profile, out).write();
}

}  // namespace farport::profile
