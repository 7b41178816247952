#include "cli/output/top_table.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/terminal/table.hpp"

namespace farport::cli {
namespace {

using events::Vitals;

struct Order {
  TopOrder order;
  std::string_view word;
  char key;
};
constexpr std::array<Order, 9> kOrders{{{TopOrder::cpu, "cpu", 'P'},
                                        {TopOrder::memory, "memory", 'M'},
                                        {TopOrder::heap, "heap", 'H'},
                                        {TopOrder::allocated, "allocated", 'A'},
                                        {TopOrder::gc_pause, "gc", 'G'},
                                        {TopOrder::exceptions, "exceptions", 'E'},
                                        {TopOrder::queue, "queue", 'Q'},
                                        {TopOrder::requests, "requests", 'R'},
                                        {TopOrder::name, "name", 'N'}}};

/// The value to sort by, highest first.
double weight_of(const Vitals& vitals, TopOrder order) {
  const auto value = [&]() -> std::optional<double> {
    switch (order) {
      case TopOrder::memory:
        return vitals.working_set;
      case TopOrder::heap:
        return vitals.heap;
      case TopOrder::allocated:
        return vitals.allocated;
      case TopOrder::gc_pause:
        return vitals.gc_pause;
      case TopOrder::exceptions:
        return vitals.exceptions;
      case TopOrder::queue:
        return vitals.queued;
      case TopOrder::requests:
        return vitals.requests;
      case TopOrder::cpu:
      case TopOrder::name:
        break;
    }
    return vitals.cpu;
  }();
  return value.value_or(-1);
}

std::string bytes_cell(std::optional<double> value) {
  return value ? short_bytes(*value) : "";
}

/// With few digits: "0.3", "12", "1.5k".
std::string number_cell(std::optional<double> value) {
  constexpr double kThousand = 1000;
  constexpr double kMany = 10'000;
  if (!value) return "";
  if (*value >= kMany) return fmt::format("{:.0f}k", *value / kThousand);
  const bool whole = *value >= 10 || std::floor(*value) == *value;
  return whole ? fmt::format("{:.0f}", *value) : fmt::format("{:.1f}", *value);
}

std::string milliseconds_cell(std::optional<double> seconds) {
  constexpr double kMilliseconds = 1000;
  return seconds ? number_cell(*seconds * kMilliseconds) : "";
}

std::string generations_cell(const Vitals& vitals) {
  std::string text;
  for (const char* generation : {"gen0", "gen1", "gen2", "loh"}) {
    const auto size = vitals.generations.find(generation);
    if (size != vitals.generations.end()) text += (text.empty() ? "" : " ") + short_bytes(size->second);
  }
  return text;
}

TableRow row_of(const TopRuntime& each, bool graphs) {
  constexpr std::size_t kGraph = 10;
  const Vitals& vitals = each.vitals;
  return {std::to_string(each.runtime.pid),
          each.runtime.name,
          number_cell(vitals.cpu),
          graphs ? sparkline(each.cpu_history, kGraph) : "",
          bytes_cell(vitals.working_set),
          bytes_cell(vitals.heap),
          generations_cell(vitals),
          bytes_cell(vitals.allocated),
          number_cell(vitals.gc_pause),
          number_cell(vitals.exceptions),
          number_cell(vitals.threads),
          number_cell(vitals.queued),
          number_cell(vitals.requests),
          milliseconds_cell(vitals.slow_request),
          each.runtime.host.empty() ? each.runtime.address : each.runtime.host,
          each.note()};
}

/// Removes columns that are empty in all rows.
void leave_out_empty(std::vector<Column>& columns, std::vector<TableRow>& rows) {
  for (std::size_t at = columns.size(); at-- > 0;) {
    const bool empty =
        std::all_of(rows.begin(), rows.end(), [at](const TableRow& row) { return row[at].empty(); });
    if (!empty) continue;
    columns.erase(columns.begin() + static_cast<std::ptrdiff_t>(at));
    for (TableRow& row : rows) row.erase(row.begin() + static_cast<std::ptrdiff_t>(at));
  }
}

}  // namespace

std::optional<TopOrder> top_order(std::string_view word) {
  for (const Order& each : kOrders) {
    if (each.word == word) return each.order;
  }
  return std::nullopt;
}

std::optional<TopOrder> top_order_of_key(char key) {
  for (const Order& each : kOrders) {
    if (each.key == key) return each.order;
  }
  return std::nullopt;
}

void sort_runtimes(std::vector<TopRuntime>& runtimes, TopOrder order, bool upside_down) {
  std::stable_sort(runtimes.begin(), runtimes.end(), [&](const TopRuntime& a, const TopRuntime& b) {
    if (order == TopOrder::name) return a.runtime.name < b.runtime.name;
    return weight_of(a.vitals, order) > weight_of(b.vitals, order);
  });
  if (upside_down) std::reverse(runtimes.begin(), runtimes.end());
}

std::vector<std::string> top_lines(const std::vector<TopRuntime>& runtimes, std::size_t columns,
                                   bool graphs) {
  std::vector<Column> wanted{{"PID", 8},   {"NAME", 15, 10}, {"CPU%", 14},        {"", 3},
                             {"MEM", 13},  {"HEAP", 12},     {"GEN0 1 2 LOH", 2}, {"ALLOC/S", 9},
                             {"GC%", 11},  {"EXC/S", 10},    {"THREADS", 5},      {"QUEUE", 7},
                             {"REQ/S", 9}, {"P99 MS", 6},    {"HOST", 1, 8},      {"", 4, 10}};
  std::vector<TableRow> rows;
  for (const TopRuntime& each : runtimes) rows.push_back(row_of(each, graphs));
  leave_out_empty(wanted, rows);
  return table_lines(wanted, rows, columns);
}

std::string top_json(const std::vector<TopRuntime>& runtimes) {
  std::string lines;
  for (const TopRuntime& each : runtimes) {
    nlohmann::ordered_json json;
    json["id"] = each.runtime.id;
    json["pid"] = each.runtime.pid;
    json["name"] = each.runtime.name;
    json["agent"] = each.runtime.address;
    const auto add = [&json](const char* name, std::optional<double> value) {
      if (value) json[name] = *value;
    };
    add("cpu_percent", each.vitals.cpu);
    add("working_set", each.vitals.working_set);
    add("gc_heap", each.vitals.heap);
    if (!each.vitals.generations.empty()) json["gc_generations"] = each.vitals.generations;
    add("allocated_per_second", each.vitals.allocated);
    add("gc_pause_percent", each.vitals.gc_pause);
    add("exceptions_per_second", each.vitals.exceptions);
    add("thread_pool_threads", each.vitals.threads);
    add("thread_pool_queue", each.vitals.queued);
    add("requests_per_second", each.vitals.requests);
    add("request_p99_seconds", each.vitals.slow_request);
    if (!each.note().empty()) json["trouble"] = each.note();
    lines += json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
  }
  return lines;
}

std::string short_bytes(double bytes) {
  constexpr std::array<char, 5> kUnits{'B', 'K', 'M', 'G', 'T'};
  constexpr double kStep = 1024;
  constexpr double kThreeDigits = 99.95;
  std::size_t unit = 0;
  while (bytes >= kStep && unit + 1 < kUnits.size()) {
    bytes /= kStep;
    ++unit;
  }
  const int digits = unit > 0 && bytes < kThreeDigits ? 1 : 0;
  return fmt::format("{:.{}f}{}", bytes, digits, kUnits[unit]);
}

std::string sparkline(const std::vector<double>& values, std::size_t width) {
  constexpr std::array<const char*, 8> kHeights{"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  if (values.empty()) return {};
  const double most = std::max(*std::max_element(values.begin(), values.end()), 1.0);
  const std::size_t missing = width - std::min(values.size(), width);
  std::string text(missing, ' ');
  for (std::size_t at = values.size() - std::min(values.size(), width); at < values.size(); ++at) {
    const double share = std::clamp(values[at] / most, 0.0, 1.0);
    text += kHeights[static_cast<std::size_t>(share * (kHeights.size() - 1))];
  }
  return text;
}

}  // namespace farport::cli
