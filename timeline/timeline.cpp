#include "timeline/timeline.hpp"

#include <array>
#include <cmath>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "timeline/page.hpp"

namespace farport::timeline {
namespace {

using profile::json_string;
using profile::Output;

double milliseconds(Length length) {
  return std::chrono::duration<double, std::milli>(length).count();
}

/// Writes "name":[…] with what `element` writes for each item, behind `before`.
template <typename Items, typename Element>
void put_list(Output& out, std::string_view name, const Items& items, const Element& element,
              std::string_view before = ",") {
  out.print("{}\"{}\":[", before, name);
  bool first = true;
  for (const auto& item : items) {
    if (!first) out.put(",");
    first = false;
    element(item);
  }
  out.put("]");
}

/// A vital sign, by its name in the file.
struct Sign {
  std::string_view name;
  std::optional<double> events::Vitals::*value;
};
constexpr std::array kSigns{
    Sign{"cpu_percent", &events::Vitals::cpu}, Sign{"working_set", &events::Vitals::working_set},
    Sign{"heap", &events::Vitals::heap},       Sign{"allocated_per_second", &events::Vitals::allocated},
    Sign{"threads", &events::Vitals::threads}, Sign{"queued", &events::Vitals::queued}};

class Writer {
 public:
  Writer(const Timeline& timeline, Output& out) : timeline_(timeline), out_(out) {}

  void write() {
    const auto began = std::chrono::duration<double, std::milli>(timeline_.begin.time_since_epoch());
    out_.print("{{\"process\":{},\"place\":{},\"end\":{},\"pid\":{},", json_string(timeline_.process.name),
               json_string(timeline_.process.place), json_string(timeline_.process.end), timeline_.pid);
    out_.print("\"began\":{:.3f},\"duration\":{:.3f},\"left_out\":{}", began.count(),
               since_begin(timeline_.end), timeline_.left_out);
    put_vitals();
    put_list(out_, "pauses", timeline_.pauses, [this](const Pause& pause) {
      out_.print("{{\"time\":{:.3f},\"length\":{:.3f},\"generation\":{}}}", since_begin(pause.begun),
                 milliseconds(pause.length), pause.generation);
    });
    put_list(out_, "lock_waits", timeline_.lock_waits, [this](const LockWait& wait) {
      out_.print("{{\"time\":{:.3f},\"length\":{:.3f},\"thread\":{},\"stack\":{}}}", since_begin(wait.begun),
                 milliseconds(wait.length), wait.thread, wait.stack);
    });
    put_list(out_, "starved", timeline_.starved,
             [this](Time time) { out_.print("{:.3f}", since_begin(time)); });
    put_list(out_, "exceptions", timeline_.exceptions, [this](const Thrown& thrown) {
      out_.print("{{\"time\":{:.3f},\"type\":{},\"message\":{},\"thread\":{},\"stack\":{}}}",
                 since_begin(thrown.time), json_string(thrown.type), json_string(thrown.message),
                 thrown.thread, thrown.stack);
    });
    put_list(out_, "logs", timeline_.logs, [this](const events::LogEntry& entry) {
      out_.print("{{\"time\":{:.3f},\"level\":\"{}\",\"category\":{},\"message\":{},\"thread\":{}}}",
                 since_begin(entry.time), events::to_string(entry.level), json_string(entry.category),
                 json_string(entry.message), entry.thread);
    });
    put_list(out_, "samples", timeline_.samples, [this](const Sample& sample) {
      out_.print("{:.1f},{},{}", since_begin(sample.time), sample.thread, sample.stack);
    });
    put_list(out_, "stacks", timeline_.stacks,
             [this](const auto& stack) { out_.print("[{}]", fmt::join(stack, ",")); });
    put_list(out_, "frames", timeline_.frames,
             [this](const std::string& frame) { out_.put(json_string(frame)); });
    out_.put("}");
  }

 private:
  [[nodiscard]] double since_begin(Time time) const { return milliseconds(time - timeline_.begin); }

  void put_vitals() {
    out_.put(",\"vitals\":{");
    put_list(
        out_, "time", timeline_.moments,
        [this](const Moment& moment) { out_.print("{:.3f}", since_begin(moment.time)); }, "");
    for (const Sign& sign : kSigns) {
      put_list(out_, sign.name, timeline_.moments, [this, &sign](const Moment& moment) {
        const auto value = moment.vitals.*sign.value;
        if (value && std::isfinite(*value)) {
          out_.print("{}", *value);
        } else {
          out_.put("null");
        }
      });
    }
    out_.put("}");
  }

  const Timeline& timeline_;
  Output& out_;
};

}  // namespace

void write_json(const Timeline& timeline, profile::Output& out) {
  Writer(timeline, out).write();
  out.put("\n");
}

void write_html(const Timeline& timeline, profile::Output& out) {
  constexpr std::size_t kMark = kPage.find(kDataMark);
  out.put(kPage.substr(0, kMark));
  Writer(timeline, out).write();
  out.put(kPage.substr(kMark + kDataMark.size()));
}

}  // namespace farport::timeline
