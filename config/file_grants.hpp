// Roles and grants as a configuration file has them.
#pragma once

#include "config/file_reader.hpp"

namespace farport::config {

/// [roles.NAME]: includes, commands.
void read_roles(Reader& reader, const toml::node& node, std::vector<auth::RoleRule>& roles);
/// [[grants]]: who, role, runtimes.
void read_grants(Reader& reader, const toml::node& node, std::vector<auth::Grant>& grants);
/// [remotes.NAME.verify]: what an agent's certificate must say. A table that asks for nothing is a problem:
/// it would verify nothing.
void read_names(Reader& reader, const toml::node& node, auth::IdentityFilter& filter);
/// [allow]: the short form of grants, "NAME" or "NAME=ROLE".
void read_allow(Reader& reader, const toml::node& node, std::vector<auth::Grant>& grants);

}  // namespace farport::config
