// Events for tests, as a runtime would write them.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "nettrace/event.hpp"
#include "tests/unit/nettrace/trace_writer.hpp"

namespace farport::test {

/// An event, and what it has views of.
struct SampleEvent {
  nettrace::Definition definition;
  nettrace::Thread thread;
  Guid none;
  nettrace::LabelList labels;
  FieldWriter payload;
  std::vector<std::uint64_t> addresses;
  nettrace::Stack stack;
  std::int64_t timestamp = 0;

  SampleEvent(std::string provider, std::uint32_t id, std::string name = {}) {
    definition.provider = std::move(provider);
    definition.event_id = id;
    definition.name = std::move(name);
    thread.id = 17;
  }
  SampleEvent& text(std::string field, std::string_view value) {
    definition.fields.push_back({std::move(field), nettrace::FieldType::utf16_text, 0, {}});
    payload.utf16(value);
    return *this;
  }
  SampleEvent& number(std::string field, std::uint32_t value) {
    definition.fields.push_back({std::move(field), nettrace::FieldType::int32, 0, {}});
    payload.u32(value);
    return *this;
  }

  [[nodiscard]] nettrace::Event event() {
    stack = nettrace::Stack(std::as_bytes(std::span(addresses)), sizeof(std::uint64_t));
    return {.definition = definition,
            .thread = thread,
            .capture_thread = thread,
            .timestamp = timestamp,
            .activity_id = none,
            .related_activity_id = none,
            .labels = labels,
            .stack = stack,
            .payload = payload.take()};
  }
};

}  // namespace farport::test
