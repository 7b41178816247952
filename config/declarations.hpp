// Every setting, declared once: the file's reader, the flags, the variables, --help and the documentation's
// tables all go by what stands here.
#pragma once

#include <vector>

#include "config/setting.hpp"

namespace farport::config {

/// The settings of a Target, in the order of the documentation.
template <typename Target>
const std::vector<Setting<Target>>& settings();
template <>
const std::vector<Setting<Configuration>>& settings();
template <>
const std::vector<Setting<RemoteSettings>>& settings();  ///< Their keys stand below remotes.NAME.
template <>
const std::vector<Setting<auth::Grant>>& settings();  ///< Of an element of [[grants]].
template <>
const std::vector<Setting<auth::RoleRule>>& settings();  ///< Their keys stand below roles.NAME.

}  // namespace farport::config
