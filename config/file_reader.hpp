// Reading TOML nodes into settings, with the place of whatever is wrong.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "config/toml.hpp"
#include "config/values.hpp"

namespace farport::config {

/// Reads nodes into values; collects what is wrong, with its place.
class Reader {
 public:
  explicit Reader(std::string path) : path_(std::move(path)) {}

  void problem(const toml::source_region& where, const std::string& what) {
    errors_.push_back(path_ + ":" + std::to_string(where.begin.line) + ":" +
                      std::to_string(where.begin.column) + ": " + what);
  }
  std::vector<std::string> take_errors() { return std::move(errors_); }
  [[nodiscard]] bool ok() const { return errors_.empty(); }

  void text(const toml::node& node, std::string& into) {
    if (const auto value = node.value_exact<std::string>()) {
      into = *value;
    } else {
      wrong_type(node, "a string");
    }
  }
  void flag(const toml::node& node, bool& into) {
    if (const auto value = node.value_exact<bool>()) {
      into = *value;
    } else {
      wrong_type(node, "true or false");
    }
  }
  void path(const toml::node& node, std::string& into) {
    text(node, into);
    if (!into.empty()) into = absolute(into);
  }
  void texts(const toml::node& node, std::vector<std::string>& into) {
    each(node, [&](const toml::node& element) { text(element, into.emplace_back()); });
  }
  /// `word`: one that is no path, and stays as it is.
  void paths(const toml::node& node, std::vector<std::string>& into, std::string_view word) {
    each(node, [&](const toml::node& element) {
      std::string& to = into.emplace_back();
      text(element, to);
      if (!to.empty() && to != word) to = absolute(to);
    });
  }
  void address(const toml::node& node, Address& into) { parsed(node, parse_address, into); }
  void addresses(const toml::node& node, std::vector<Address>& into) {
    each(node, [&](const toml::node& element) { address(element, into.emplace_back()); });
  }
  void duration(const toml::node& node, Milliseconds& into) { parsed(node, parse_duration, into); }
  void bytes(const toml::node& node, std::uint64_t& into) { parsed(node, parse_bytes, into); }
  /// A file is relative to the configuration's directory.
  void audit(const toml::node& node, std::string& into) {
    parsed(node, parse_audit, into);
    if (const auto text = node.value<std::string>(); text && into.starts_with('/')) into = absolute(*text);
  }
  void numbers(const toml::node& node, std::vector<std::uint64_t>& into) {
    each(node, [&](const toml::node& element) {
      const auto value = element.value_exact<std::int64_t>();
      if (value && *value >= 0) {
        into.push_back(static_cast<std::uint64_t>(*value));
      } else {
        wrong_type(element, "a whole number");
      }
    });
  }
  /// A text, or a whole number that stands for one.
  void words(const toml::node& node, std::vector<std::string>& into) {
    each(node, [&](const toml::node& element) {
      const auto number = element.value_exact<std::int64_t>();
      if (number) {
        into.push_back(std::to_string(*number));
      } else {
        text(element, into.emplace_back());
      }
    });
  }
  void choice(const toml::node& node, std::string& into, const std::vector<std::string>& allowed) {
    text(node, into);
    for (const std::string& word : allowed) {
      if (into == word) return;
    }
    std::string list;
    for (const std::string& word : allowed) list += (list.empty() ? "" : ", ") + word;
    if (node.is_string()) problem(node.source(), "\"" + into + "\" is not one of " + list);
  }
  /// A table whose keys are the user's own words.
  template <typename Each>
  void free_table(const toml::node& node, Each each_entry) {
    const toml::table* table = node.as_table();
    if (table == nullptr) return wrong_type(node, "a table");
    for (const auto& [key, value] : *table) each_entry(std::string(key.str()), value);
  }

  /// The elements of an array; a single value stands for an array of one.
  template <typename Each>
  void each(const toml::node& node, Each each_element) {
    const toml::array* array = node.as_array();
    if (array == nullptr) return each_element(node);
    for (const toml::node& element : *array) each_element(element);
  }
  void wrong_type(const toml::node& node, const char* expected) {
    problem(node.source(), std::string("this must be ") + expected);
  }

 private:
  template <typename T>
  void parsed(const toml::node& node, Result<T> (*parse)(std::string_view), T& into) {
    const auto value = node.value_exact<std::string>();
    if (!value) return wrong_type(node, "a string");
    const Result<T> result = parse(*value);
    if (result) {
      into = *result;
    } else {
      problem(node.source(), result.error().message());
    }
  }
  /// A path that begins with ~/ is in the user's home directory, as in a shell; others are relative to the
  /// file's directory.
  [[nodiscard]] std::string absolute(const std::string& path) const {
    std::error_code error;
    const char* const home = path.starts_with("~/") ? std::getenv("HOME") : nullptr;
    if (home != nullptr) return (std::filesystem::path(home) / path.substr(2)).lexically_normal().string();
    const auto directory = std::filesystem::absolute(path_, error).parent_path();
    return (directory / path).lexically_normal().string();
  }

  std::string path_;
  std::vector<std::string> errors_;
};

}  // namespace farport::config
