#!/usr/bin/env python3
"""Writes what is generated of the documentation and the shell completions, from what farport says of itself.

usage: scripts/pages.py [--check] FARPORT

  --check   change nothing; fail where a committed page is not what would be written
  FARPORT   the program: its `help-all --format json` lists commands, options and settings

In docs/configuration.md and docs/man/ it writes between the lines "generated: NAME" and "end of NAME"; the rest of these
pages is written by hand. The files in completions/ are generated as a whole.
"""

import json
import pathlib
import re
import subprocess
import sys

from completions import bash_completion, fish_completion, zsh_completion

ROOT = pathlib.Path(__file__).resolve().parent.parent


# What farport says.

def described(farport):
    """Commands by name, with the settings' flags among their options, and the list of all settings."""
    said = json.loads(subprocess.run([farport, "help-all", "--format", "json"], check=True, capture_output=True).stdout)
    by_flag = {}
    for setting in said["all_settings"]:
        by_flag.setdefault("--" + setting["flag"], setting)
    for command in said["commands"]:
        for each in (command, *command["commands"]):
            each["options"] += [option_of(by_flag[flag]) for flag in each["settings"]]
    return said["commands"], said["all_settings"]


def option_of(setting):
    return setting | {"names": ["--" + setting["flag"]]}


def sentence(text):
    return text if not text or text.endswith(".") else text + "."


# Markdown.

def markdown(text):
    """The text as Markdown: a star is a star, but for code."""
    parts = text.split("`")
    parts[::2] = [part.replace("*", "\\*").replace("|", "\\|") for part in parts[::2]]
    return "`".join(parts)


def default_cell(text):
    is_value = re.fullmatch(r"[\w./]+", text) and text not in ("none", "never", "required", "all")
    return f"`{text}`" if is_value else markdown(text)


def flag_cell(setting):
    if not setting["flag"]:
        return ""
    value = setting["value"]
    if setting["takes"] == "maybe one":
        return f"`--{setting['flag']}[={value}]`"
    flag = f"--{setting['flag']} {value}".strip()
    return f"`{flag}`" + (" …" if setting["takes"] == "many" else "")


def setting_row(setting):
    meaning = " ".join(filter(None, (sentence(setting["help"]), setting["details"])))
    key = f"`{setting['key']}`" if setting["key"] else ""
    variable = f"`{setting['variable']}`" if setting["variable"] else ""
    kind = ", ".join(f"`{word}`" for word in setting["choices"]) or setting["type"]
    return [key, flag_cell(setting), variable, kind, default_cell(setting["default"]), markdown(meaning)]


def table(heading, rows):
    lines = ["| " + " | ".join(row) + " |" for row in [heading, ["---"] * len(heading), *rows]]
    return "\n".join(line.replace("|  |", "| |").replace("|  |", "| |") for line in lines)


def settings_table(settings):
    return table(["key", "flag", "variable", "type", "default", "meaning"], map(setting_row, settings))


def limits_table(settings):
    rows = [[f"`{limit['key'].partition('.')[2]}`", ", ".join(filter(None, (limit["type"], limit["bounds"]))),
             default_cell(limit["default"]), markdown(sentence(limit["help"])), markdown(limit["details"])]
            for limit in settings]
    return table(["name", "type", "default", "what is limited", "when it is reached"], rows)


def keys_table(settings):
    """Of tables in the file, whose keys have no flags."""
    rows = [[f"`{setting['key'].rpartition('NAME.')[2].removeprefix('grants.').removeprefix('egress.').removeprefix('rules.')}`", setting["type"],
             default_cell(setting["default"]), markdown(sentence(setting["help"]))] for setting in settings]
    return table(["key", "type", "default", "meaning"], rows)


def configuration_parts(settings):
    def below(prefix):
        return [setting for setting in settings if setting["key"].startswith(prefix)]

    remotes, grants, roles, stores, rules, limits = (
        below(each) for each in ("remotes.", "grants.", "roles.", "egress.", "rules.", "limits."))
    rest = [each for each in settings if each not in remotes + grants + roles + stores + rules + limits]
    agent = [each for each in rest if {"serve", "check"} <= set(each["commands"]) <= {"serve", "check", "doctor"}]
    mirror = [each for each in rest if "serve" not in each["commands"]]
    both = [each for each in rest if each not in agent + mirror]
    # The flags of these stand with [tls].
    remotes = [each | ({"flag": "", "variable": ""} if ".tls." in each["key"] else {}) for each in remotes]
    return {"agent": settings_table(agent), "limits": limits_table(limits), "grants": keys_table(grants),
            "roles": keys_table(roles), "stores": keys_table(stores), "rules": keys_table(rules), "mirror": settings_table(mirror + remotes), "both": settings_table(both)}


# Manual pages.

def roff(text):
    """Markdown as a manual page has it: code is bold, links are their text, and what only links elsewhere is left out."""
    text = re.sub(r" ?See \[[^]]*\]\([^)]*\)\.", "", text)
    text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", text)
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("…", "...")
    parts = text.split("`")
    parts[1::2] = [f"\\fB{part}\\fR" for part in parts[1::2]]
    return re.sub(r"^([.'])", r"\\&\1", "".join(parts).strip())


def entry(head, *sentences):
    said = [roff(each) for each in sentences if each]
    return "\n".join([".TP", head, *[each for each in said if each]])


def option_entry(option):
    names = ", ".join(f"\\fB{roff(name)}\\fR" for name in option["names"])
    value = f"\\fI{roff(option['value'])}\\fR" if option["value"] else ""
    if option["takes"] == "maybe one":
        head = f"{names}[=\\fI{roff(option['value'])}\\fR]"
    else:
        head = " ".join(filter(None, (names, value)))
    repeated = option["takes"] == "many" and "may be repeated" not in option["help"]
    return entry(head, *said_of(option), "May be repeated." if repeated else "")


def said_of(option):
    default = option.get("default", "")
    return (sentence(option["help"]), option.get("details", ""),
            f"Default: {sentence(default)}" if default and default not in ("none", "false") else "")


COMMON = """.PP
Options for certificates, sessions and the log, which most commands share, are described in
.BR farport\\-options (7)."""


def options_part(command):
    """A command's own options; where it has common ones, the page that has those."""
    own = [each for each in command["options"]
           if not {"--help", "--help-all"} & set(each["names"]) and not each.get("common")]
    parts = [option_entry(each) for each in own]
    if any(each.get("common") for each in command["options"]):
        parts.append(COMMON)
    for each in command["commands"]:
        parts += [f".SS {each['name']}", options_part(each)]
    return "\n".join(parts)


def common_part(commands, settings):
    """The common options, each with the commands that don't have it."""
    common = {}
    for each in settings:
        if each["common"]:
            common.setdefault(each["flag"], each)
    users = {name for each in common.values() for name in each["commands"]}
    parts = []
    for each in common.values():
        without = [c["name"] for c in commands if c["name"] in users - set(each["commands"])]
        parts.append(option_entry(option_of(each) | {"details": " ".join(filter(None, (
            each["details"], f"Not in {', '.join(without)}." if without else "")))}))
    return "\n".join(parts)


def commands_part(commands):
    return "\n".join(entry(f"\\fB{roff(each['name'])}\\fR", sentence(each["summary"])) for each in commands)


def keys_part(settings):
    def key_entry(setting):
        limit = setting["key"].startswith("limits.")
        bounds = f"From {setting['bounds']}." if setting["bounds"] else ""
        head, details, default = said_of(setting)
        kind = "One of " + ", ".join(setting["choices"]) if setting["choices"] else setting["type"].capitalize()
        return entry(f"\\fB{roff(setting['key'])}\\fR", head, f"At the limit: {details}" if limit else details,
                     sentence(kind), bounds, default)

    return "\n".join(key_entry(setting) for setting in settings if setting["key"])


def see_also_part(own, commands):
    pages = [("farport", 1), *((f"farport-{each['name']}", 1) for each in commands), ("farport.toml", 5), ("farport-options", 7)]
    known = [(name, section) for name, section in pages
             if name != own and (ROOT / f"docs/man/{name}.{section}").exists()]
    lines = [f".BR {roff(name)} ({section})" for name, section in known]
    return ",\n".join(lines)


# Files.

def with_parts(path, parts, begin, end):
    """The page with its generated parts. `begin` and `end` make the lines that stand around a part."""
    text = (ROOT / path).read_text(encoding="utf-8")
    for name, part in parts.items():
        first, last = begin(name), end(name)
        if text.count(first) != 1 or text.count(last) != 1:
            sys.exit(f"{path}: there must be one line \"{first}\", and one \"{last}\"")
        before, rest = text.split(first)
        text = before + first + "\n" + part + "\n" + last + rest.split(last)[1]
    return text


def manual_page(path, parts):
    return with_parts(path, parts, lambda name: f'.\\" generated: {name}', lambda name: f'.\\" end of {name}')


def pages(commands, settings):
    """Every generated page: its path and its text."""
    path = "docs/configuration.md"
    yield path, with_parts(path, configuration_parts(settings), lambda name: f"<!-- generated: {name} -->",
                           lambda name: f"<!-- end of {name} -->")
    path = "docs/man/farport.1"
    yield path, manual_page(path, {"commands": commands_part(commands), "see also": see_also_part("farport", commands)})
    path = "docs/man/farport.toml.5"
    yield path, manual_page(path, {"keys": keys_part(settings), "see also": see_also_part("farport.toml", commands)})
    path = "docs/man/farport-options.7"
    yield path, manual_page(path, {"options": common_part(commands, settings),
                                   "see also": see_also_part("farport-options", commands)})
    for command in commands:
        name = f"farport-{command['name']}"
        path = f"docs/man/{name}.1"
        if (ROOT / path).exists():
            yield path, manual_page(path, {"options": options_part(command), "see also": see_also_part(name, commands)})
    yield "completions/farport.bash", bash_completion(commands)
    yield "completions/_farport", zsh_completion(commands)
    yield "completions/farport.fish", fish_completion(commands)


def main():
    arguments = sys.argv[1:]
    check = "--check" in arguments
    paths = [each for each in arguments if not each.startswith("-")]
    if len(paths) != 1 or len(arguments) != len(paths) + check:
        sys.exit(__doc__.strip())
    stale = []
    for path, text in pages(*described(paths[0])):
        file = ROOT / path
        if file.exists() and file.read_text(encoding="utf-8") == text:
            continue
        stale.append(path)
        if not check:
            file.parent.mkdir(exist_ok=True)
            file.write_text(text, encoding="utf-8")
    if check and stale:
        sys.exit(f"stale: {' '.join(stale)}; run scripts/pages.py {paths[0]} and commit what it writes")


if __name__ == "__main__":
    main()
