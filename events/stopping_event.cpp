#include "events/stopping_event.hpp"

#include <algorithm>

#include "events/fields.hpp"

namespace farport::events {
namespace {

bool is_event(const nettrace::Definition& definition, const EventFilter& filter) {
  if (definition.provider != filter.provider) return false;
  return filter.event.empty() || definition.name == filter.event ||
         std::to_string(definition.event_id) == filter.event;
}

}  // namespace

Result<EventFilter> EventFilter::parse(std::string provider, std::string event, const std::string& payload) {
  const auto wrong = [](std::string_view what, std::string why) {
    return fail("end at the event", what, std::move(why), "see farport help trace");
  };
  if (provider.empty() && !(event.empty() && payload.empty()))
    return wrong(event, "its provider is not given: --stopping-event-provider-name");
  if (event.empty() && !payload.empty())
    return wrong(provider, "its name is not given: --stopping-event-event-name");
  EventFilter filter{std::move(provider), std::move(event), {}};
  for (std::size_t at = 0; at < payload.size();) {
    const std::size_t end = std::min(payload.find(',', at), payload.size());
    const std::string field = payload.substr(at, end - at);
    const std::size_t colon = field.find(':');
    if (colon == std::string::npos || colon == 0) return wrong(field, "it is not NAME:VALUE");
    filter.fields.emplace_back(field.substr(0, colon), field.substr(colon + 1));
    at = end + 1;
  }
  return filter;
}

void StoppingEvent::on_event(const nettrace::Event& event) {
  if (seen_ || !is_event(event.definition, filter_)) return;
  const Fields fields(event);
  seen_ = std::ranges::all_of(
      filter_.fields, [&](const auto& wanted) { return fields.shown(wanted.first) == wanted.second; });
}

}  // namespace farport::events
