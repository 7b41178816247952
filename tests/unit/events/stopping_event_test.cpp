#include <catch2/catch.hpp>

#include "events/lines.hpp"
#include "tests/unit/events/sample_event.hpp"

using namespace farport;
using namespace farport::events;
using test::SampleEvent;

namespace {

bool ends(const EventFilter& filter, SampleEvent sample) {
  StoppingEvent stopping(filter);
  stopping.on_event(sample.event());
  return stopping.has_enough();
}

SampleEvent priced(std::string_view order, std::uint32_t euros) {
  SampleEvent sample("Orders", 7, "Priced");
  sample.text("order", order).number("euros", euros);
  return sample;
}

}  // namespace

TEST_CASE("a recording ends at its event", "[events]") {
  const auto filter = [](std::string event, const std::string& payload) {
    return EventFilter::parse("Orders", std::move(event), payload).value();
  };
  CHECK(ends(filter("", ""), priced("a", 3)));
  CHECK(ends(filter("Priced", ""), priced("a", 3)));
  CHECK(ends(filter("7", ""), priced("a", 3)));
  CHECK_FALSE(ends(filter("8", ""), priced("a", 3)));
  CHECK(ends(filter("Priced", "euros:3,order:a"), priced("a", 3)));
  CHECK_FALSE(ends(filter("Priced", "euros:3,order:b"), priced("a", 3)));
  CHECK_FALSE(ends(filter("Priced", "weight:3"), priced("a", 3)));
  CHECK_FALSE(ends(filter("", ""), SampleEvent("Other", 7, "Priced")));
}

TEST_CASE("what names no event is said", "[events]") {
  CHECK(EventFilter::parse("", "", "").value().provider.empty());
  CHECK_FALSE(EventFilter::parse("", "Priced", ""));
  CHECK_FALSE(EventFilter::parse("Orders", "", "a:b"));
  CHECK_FALSE(EventFilter::parse("Orders", "Priced", "a"));
  CHECK_FALSE(EventFilter::parse("Orders", "Priced", ":b"));
  CHECK(EventFilter::parse("Orders", "Priced", "a:b:c").value().fields.front().second == "b:c");
}
