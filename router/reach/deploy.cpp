#include "router/reach/deploy.hpp"

#include <array>
#include <cerrno>
#include <optional>

#include <fcntl.h>
#include <fmt/format.h>
#include <openssl/evp.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>
#include <zlib.h>

#include "base/text.hpp"
#include "base/unique_fd.hpp"
#include "base/version.hpp"
#include "transport/offload.hpp"

namespace farport::router {
namespace {

using transport::Task;

constexpr const char* kSelf = "/proc/self/exe";
constexpr const char* kName = "farport-static";
/// Limit for the program's size, several times its real size.
constexpr std::size_t kLargest = 64ULL << 20;
constexpr std::string_view kElf =
    "\x7F"
    "ELF";
/// zlib's 32 KiB window with a gzip header (zlib.h, deflateInit2).
constexpr int kGzipWindow = 15 + 16;
constexpr int kMemoryLevel = 8;

/// A process without a program interpreter is statically linked.
bool is_static() {
  return ::getauxval(AT_BASE) == 0;
}

/// Path of the static program; empty if there is none.
std::string installed_path() {
  if (is_static()) return kSelf;
  std::array<char, 4096> self{};
  const ssize_t size = ::readlink(kSelf, self.data(), self.size());
  if (size <= 0) return {};
  const std::string path(self.data(), static_cast<std::size_t>(size));
  const std::string directory = path.substr(0, path.rfind('/') + 1);
  for (const std::string& candidate : {directory + kName, directory + "../libexec/farport/" + kName}) {
    if (::access(candidate.c_str(), R_OK) == 0) return candidate;
  }
  return {};
}

Result<std::vector<std::byte>> read_program(const std::string& path) {
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status {};
  if (!file || ::fstat(file.get(), &status) != 0) return fail_errno("read", path, errno);
  const auto size = static_cast<std::size_t>(status.st_size);
  if (!S_ISREG(status.st_mode) || size > kLargest) return fail("read", path, "it is no program");
  std::vector<std::byte> content(size);
  std::size_t done = 0;
  while (done < size) {
    const ssize_t got = ::read(file.get(), content.data() + done, size - done);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return fail("read", path, "it has changed meanwhile");
    done += static_cast<std::size_t>(got);
  }
  const std::string_view text(reinterpret_cast<const char*>(content.data()), content.size());
  if (!text.starts_with(kElf)) return fail("read", path, "it is no program");
  return content;
}

std::string sha256(std::span<const std::byte> content) {
  std::array<std::byte, 32> digest{};
  EVP_Digest(content.data(), content.size(), reinterpret_cast<unsigned char*>(digest.data()), nullptr,
             EVP_sha256(), nullptr);
  return hex(digest);
}

Result<std::shared_ptr<const StaticProgram>> load_now(const std::string& named) {
  const std::string path = named.empty() ? installed_path() : named;
  if (path.empty()) {
    return fail("find", "the static farport", "it is not installed here",
                "build it with scripts/build --static, or name it with --static-binary FILE");
  }
  ASSIGN_OR_RETURN(auto content, read_program(path));
  std::string digest = sha256(content);
  return std::make_shared<const StaticProgram>(std::move(content), std::move(digest));
}

std::vector<std::byte> compress(std::span<const std::byte> content) {
  z_stream stream{};
  // The fastest level gives most of the gain, and the network is waited for as well.
  deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, kGzipWindow, kMemoryLevel, Z_DEFAULT_STRATEGY);
  std::vector<std::byte> packed(deflateBound(&stream, content.size()));
  // zlib's interface lacks const; it does not write there.
  stream.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(content.data()));
  stream.avail_in = static_cast<uInt>(content.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

}  // namespace

Result<std::shared_ptr<const StaticProgram>> StaticProgramFile::load_once() {
  const std::lock_guard lock(reading_);
  if (auto known = read_.lock()) return known;
  auto loaded = load_now(path_);
  if (loaded) read_ = *loaded;
  return loaded;
}

Task<Result<std::shared_ptr<const StaticProgram>>> StaticProgramFile::load(transport::Loop& loop) {
  const auto loaded = std::make_shared<std::optional<Result<std::shared_ptr<const StaticProgram>>>>();
  std::function<void()> work = [loaded, self = shared_from_this()] { *loaded = self->load_once(); };
  transport::Offload offload(loop, std::move(work));
  co_await offload.done();
  co_return std::move(**loaded);
}

Task<std::vector<std::byte>> gzip(transport::Loop& loop, std::shared_ptr<const StaticProgram> program) {
  const auto packed = std::make_shared<std::vector<std::byte>>();
  std::function<void()> work = [packed, program] { *packed = compress(program->content()); };
  transport::Offload offload(loop, std::move(work));
  co_await offload.done();
  co_return std::move(*packed);
}

namespace {

/// The system and architecture as `uname -sm` prints them.
std::string own_machine() {
  utsname name{};
  return ::uname(&name) == 0 ? fmt::format("{} {}", name.sysname, name.machine) : std::string();
}

// The scripts must have no apostrophe, backslash, exclamation mark or line end, since they pass through other
// shells. PATH is reduced to absolute directories, because the script works in directories that others may
// have made.
constexpr std::string_view kPath =
    R"sh(set -f; IFS=:; o=; for e in $PATH; do case $e in /*) o=$o:$e;; esac; done; )sh"
    R"sh(PATH=${o#:}; unset IFS; set +f; )sh";

constexpr std::string_view kInstalled =
    R"sh(case "$(farport --version 2>/dev/null </dev/null)" in "farport $v "*) exec farport stdio --linger $l;; esac; )sh";

constexpr std::string_view kMachine =
    R"sh(k=$(uname -sm 2>/dev/null); case $k in "$m"|"") ;; )sh"
    R"sh(*) echo "this is $k, and the farport to be sent is for $m: install one here" >&2; exit 1;; esac; )sh";

// The first and third columns of `ls -n` are the mode and the owner's uid. The checks concern the current
// directory and files in it, so nobody can replace them between check and use.
//
// alone: whether the current directory belongs to this user and nobody else may enter it. s and S are the
// setgid bit, which a new directory inherits from a pod's volume with an fsGroup.
//
// ours: whether the program here belongs to this user, is writable to nobody else, and has the digest.
//
// runs: whether programs may be executed here. A file that contains only ":" shows it.
//
// use BASE NAME: makes directory $p in BASE and enters it, or enters the existing one. BASE must belong to
// root or this user; an existing directory must be no link and already this user's alone. Runs our program if
// it is there, in another shell, so that the script continues if an ending agent has just removed it. Sets q
// if it avoids what it finds.
constexpr std::string_view kFunctions =
    R"sh(u=$(id -u); umask 077; set -C; g=; q=; has() { command -v $1 >/dev/null 2>&1; }; )sh"
    R"sh(avoid() { echo; echo "farport-avoids $1"; }; )sh"
    R"sh(alone() { set -- $(ls -ldn . 2>/dev/null); )sh"
    R"sh(case $1/$3 in drwx--[-sS]---*/$u) return 0;; esac; return 1; }; )sh"
    R"sh(ours() { set -- $(ls -ldn farport 2>/dev/null); )sh"
    R"sh(case $1/$3 in -rwx------*/$u) ;; *) return 1;; esac; )sh"
    R"sh(case $(sha256sum <farport 2>/dev/null) in $d*) return 0;; esac; return 1; }; )sh"
    R"sh(go() { exec ./farport stdio --directory "$p" --linger $l; }; )sh"
    R"sh(runs() { rm -f t.$$ 2>/dev/null; { echo : >t.$$ && chmod 700 t.$$ && ./t.$$ && k=0 || k=1; } 2>/dev/null; )sh"
    R"sh(rm -f t.$$ 2>/dev/null; return $k; }; )sh"
    R"sh(use() { case $1 in /*) ;; *) return 1;; esac; cd "$1" 2>/dev/null || return 1; )sh"
    R"sh(set -- "$2" $(ls -ldn . 2>/dev/null); case $4 in 0|$u) ;; *) return 1;; esac; )sh"
    R"sh(p=$(pwd -P); p=${p%/}/$1; mkdir "$p" 2>/dev/null || [ -e "$p" ] || [ -h "$p" ] || return 1; )sh"
    R"sh(cd "$p" 2>/dev/null && [ "$(pwd -P)" = "$p" ] && alone || { q=1; avoid "$p"; return 1; }; )sh"
    R"sh(ours && { (go); k=$?; case $k in 126|127) ;; *) exit $k;; esac; }; )sh"
    R"sh([ -e farport ] && has sha256sum && avoid "$p/farport"; )sh"
    R"sh(runs && return 0; cd / && rmdir "$p" 2>/dev/null; return 1; }; )sh";

// The usual name first, so that the next command finds the program there. If another user may have made that
// directory, a secret name is used. It belongs to the target, so a session that broke finds its agent again.
constexpr std::string_view kDirectory =
    R"sh(for b in "$XDG_RUNTIME_DIR" "/run/user/$u" "$TMPDIR" /tmp /var/tmp /dev/shm; do )sh"
    R"sh(use "$b" "farport-$u-$i" && g=1; [ "$g$q" ] && break; done; )sh"
    R"sh([ "$g" ] || for b in "$XDG_RUNTIME_DIR" "/run/user/$u" "$HOME" "$TMPDIR" /tmp /var/tmp /dev/shm; do )sh"
    R"sh(use "$b" "farport-$u-$r" && g=1 && break; done; )sh"
    R"sh([ "$g" ] || { echo "no directory here is fit for a program of this user: XDG_RUNTIME_DIR, )sh"
    R"sh(HOME, TMPDIR, /tmp, /var/tmp and /dev/shm have been tried (with id, ls and mkdir)" >&2; exit 1; }; )sh";

constexpr std::string_view kReceive =
    R"sh(f=f.$$; rm -f $f; leave() { rm -f $f; cd / && rmdir "$p" 2>/dev/null; }; )sh"
    R"sh(trap leave EXIT; trap "exit 1" HUP INT TERM PIPE; )sh"
    R"sh(z=plain; has gzip && z=gzip; echo; echo "farport-send $z"; read -r c; )sh"
    R"sh(if [ $z = gzip ]; then head -c "$c" | gzip -d >$f; else head -c "$c" >$f; fi; )sh"
    R"sh(if has sha256sum; then h=$(sha256sum <$f); )sh"
    R"sh(elif [ "$(wc -c <$f)" -eq $s ]; then h=$d; else h=; fi; )sh"
    R"sh(case $h in $d*) ;; *) echo "farport has not arrived whole" >&2; exit 1;; esac; )sh"
    R"sh(chmod 700 $f && mv -f $f farport && go; exit 1)sh";

}  // namespace

std::string deploy_script(const StaticProgram& program, const Deploy& deploy, bool use_installed) {
  std::string script = fmt::format(R"sh(v="{}"; d={}; i={}; r={}; s={}; l={}ms; m="{}"; )sh", kVersion,
                                   program.digest(), program.short_digest(), deploy.secret_name,
                                   program.content().size(), deploy.linger.count(), own_machine());
  script += kPath;
  if (use_installed) script += kInstalled;
  return script.append(kMachine).append(kFunctions).append(kDirectory).append(kReceive);
}

}  // namespace farport::router
