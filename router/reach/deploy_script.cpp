#include "router/reach/deploy_script.hpp"

#include <fmt/format.h>
#include <sys/utsname.h>

#include "base/version.hpp"

namespace farport::router {
namespace {

/// As uname -sm says it here.
std::string own_machine() {
  utsname name{};
  return ::uname(&name) == 0 ? fmt::format("{} {}", name.sysname, name.machine) : std::string();
}

// No apostrophe, backslash or exclamation mark, and no line's end: the script passes through other shells.

constexpr std::string_view kInstalled =
    R"sh(case "$(farport --version 2>/dev/null </dev/null)" in "farport $v "*) exec farport stdio;; esac; )sh";

constexpr std::string_view kMachine =
    R"sh(k=$(uname -sm 2>/dev/null); case $k in "$m"|"") ;; )sh"
    R"sh(*) echo "this is $k, and the farport to be sent is for $m: install one here" >&2; exit 1;; esac; )sh";

// By the physical path of where we stand: a link of somebody else is not taken for the directory. Whether
// anything may be executed there shows a file that says nothing but ":".
constexpr std::string_view kDirectory =
    R"sh(u=$(id -u); n=farport-$u-$i; umask 077; g=; )sh"
    R"sh(for b in "$XDG_RUNTIME_DIR" "/run/user/$u" "$TMPDIR" /tmp /var/tmp /dev/shm; do )sh"
    R"sh(case $b in /*) ;; *) continue;; esac; )sh"
    R"sh(cd "$b" 2>/dev/null || continue; p=$(pwd -P); p=${p%/}/$n; mkdir "$p" 2>/dev/null; )sh"
    R"sh(cd "$p" 2>/dev/null || continue; )sh"
    R"sh([ "$(pwd -P)" = "$p" ] && [ -O . ] && chmod 700 . 2>/dev/null || continue; )sh"
    R"sh(if [ -x farport ]; then exec ./farport stdio --directory "$p"; fi; )sh"
    R"sh({ echo : >t.$$ && chmod 700 t.$$ && ./t.$$ && g=1; } 2>/dev/null; rm -f t.$$ 2>/dev/null; )sh"
    R"sh([ "$g" ] && break; cd / && rmdir "$p" 2>/dev/null; done; )sh"
    R"sh([ "$g" ] || { echo "no directory here is fit for a program of this user: )sh"
    R"sh(XDG_RUNTIME_DIR, TMPDIR, /tmp, /var/tmp and /dev/shm have been tried" >&2; exit 1; }; )sh";

constexpr std::string_view kReceive =
    R"sh(f=f.$$; trap "rm -f $f; rmdir ../$n 2>/dev/null" EXIT; trap "exit 1" HUP INT TERM PIPE; )sh"
    R"sh(z=plain; command -v gzip >/dev/null 2>&1 && z=gzip; echo; echo "farport-send $z"; read -r c; )sh"
    R"sh(if [ $z = gzip ]; then head -c "$c" | gzip -d >$f; else head -c "$c" >$f; fi; )sh"
    R"sh(if command -v sha256sum >/dev/null 2>&1; then h=$(sha256sum <$f); )sh"
    R"sh(elif [ "$(wc -c <$f)" -eq $s ]; then h=$d; else h=; fi; )sh"
    R"sh(case $h in $d*) ;; *) echo "farport has not arrived whole" >&2; exit 1;; esac; )sh"
    R"sh(chmod 700 $f && mv -f $f farport && exec ./farport stdio --directory "$p"; exit 1)sh";

}  // namespace

std::string deploy_script(const StaticProgram& program, bool use_installed) {
  std::string script = fmt::format(R"sh(v="{}"; d={}; i={}; s={}; m="{}"; )sh", kVersion, program.digest(),
                                   program.short_digest(), program.content().size(), own_machine());
  if (use_installed) script += kInstalled;
  return script.append(kMachine).append(kDirectory).append(kReceive);
}

}  // namespace farport::router
