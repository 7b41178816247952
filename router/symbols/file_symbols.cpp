#include "router/symbols/file_symbols.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <tuple>

#include <cxxabi.h>
#include <fcntl.h>
#include <gelf.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/output_file.hpp"
#include "base/resources.hpp"
#include "base/text.hpp"
#include "base/unique_fd.hpp"
#include "confinement/confinement.hpp"
#include "router/wire/samples.hpp"

namespace farport::router {
namespace {

/// The longest name, both as it is in the file and demangled.
constexpr std::size_t kMaxName = 2048;
/// A build id is mostly a SHA-1. A longer one is invalid.
constexpr std::size_t kMaxBuildId = 64;

struct ElfEnd {
  void operator()(Elf* elf) const { ::elf_end(elf); }
};
using ElfFile = std::unique_ptr<Elf, ElfEnd>;

std::string build_id_in(Elf_Data* notes) {
  GElf_Nhdr note{};
  std::size_t name = 0;
  std::size_t description = 0;
  constexpr std::string_view kOwner("GNU\0", 4);
  for (std::size_t at = 0; (at = ::gelf_getnote(notes, at, &note, &name, &description)) > 0;) {
    const auto* const bytes = static_cast<const char*>(notes->d_buf);
    if (note.n_type != NT_GNU_BUILD_ID || note.n_descsz > kMaxBuildId) continue;
    if (std::string_view(bytes + name, note.n_namesz) != kOwner) continue;
    return hex(std::as_bytes(std::span(bytes + description, note.n_descsz)));
  }
  return {};
}

std::string build_id_of(Elf* elf) {
  for (Elf_Scn* section = nullptr; (section = ::elf_nextscn(elf, section)) != nullptr;) {
    GElf_Shdr header{};
    if (::gelf_getshdr(section, &header) == nullptr || header.sh_type != SHT_NOTE) continue;
    Elf_Data* const data = ::elf_getdata(section, nullptr);
    if (data == nullptr) continue;
    std::string id = build_id_in(data);
    if (!id.empty()) return id;
  }
  return {};
}

/// The address that the file's symbols have for an offset in the file. Nothing if no executable segment
/// contains it.
std::optional<std::uint64_t> address_at(Elf* elf, std::uint64_t offset) {
  std::size_t count = 0;
  if (::elf_getphdrnum(elf, &count) != 0) return std::nullopt;
  for (std::size_t i = 0; i < count; ++i) {
    GElf_Phdr header{};
    if (::gelf_getphdr(elf, static_cast<int>(i), &header) == nullptr || header.p_type != PT_LOAD) continue;
    // Other segments may share the page.
    if ((header.p_flags & PF_X) == 0) continue;
    // A mapping begins at a page, which may be before the segment.
    const std::uint64_t page = header.p_align > 1 ? header.p_offset % header.p_align : 0;
    if (offset >= header.p_offset - page && offset < header.p_offset + header.p_filesz) {
      return header.p_vaddr + (offset - header.p_offset);
    }
  }
  return std::nullopt;
}

/// An address in the process, and the best symbol for it so far.
struct SymbolLookup {
  std::uint64_t inside;  ///< As the symbols count.
  std::uint64_t process;
  const SampledMapping* part;
  GElf_Sym symbol{};
  const char* name = nullptr;
};

/// Whether a symbol says more about the address: the smallest wins, then the most global, then the name with
/// the fewest underscores in front.
bool is_better(const GElf_Sym& symbol, const char* name, const SymbolLookup& than) {
  if (than.name == nullptr) return true;
  if (symbol.st_size != than.symbol.st_size) return symbol.st_size < than.symbol.st_size;
  const auto rank = [](const GElf_Sym& each) {
    const unsigned bind = GELF_ST_BIND(each.st_info);
    return bind == STB_GLOBAL ? 0 : bind == STB_WEAK ? 1 : 2;
  };
  if (rank(symbol) != rank(than.symbol)) return rank(symbol) < rank(than.symbol);
  return std::strspn(name, "_") < std::strspn(than.name, "_");
}

void read_table(Elf* elf, Elf_Scn* section, const GElf_Shdr& header, std::vector<SymbolLookup>& wanted) {
  Elf_Data* const data = ::elf_getdata(section, nullptr);
  if (data == nullptr || header.sh_entsize == 0) return;
  const std::uint64_t count = data->d_size / header.sh_entsize;
  for (std::uint64_t i = 0; i < count && i < INT32_MAX; ++i) {
    GElf_Sym symbol{};
    if (::gelf_getsym(data, static_cast<int>(i), &symbol) == nullptr) return;
    const unsigned type = GELF_ST_TYPE(symbol.st_info);
    const bool is_code = type == STT_FUNC || type == STT_GNU_IFUNC || type == STT_NOTYPE;
    if (!is_code || symbol.st_size == 0 || symbol.st_shndx == SHN_UNDEF) continue;
    auto each =
        std::lower_bound(wanted.begin(), wanted.end(), symbol.st_value,
                         [](const SymbolLookup& one, std::uint64_t start) { return one.inside < start; });
    for (; each != wanted.end() && each->inside - symbol.st_value < symbol.st_size; ++each) {
      const char* const name = ::elf_strptr(elf, header.sh_link, symbol.st_name);
      if (name == nullptr || *name == '\0') break;
      if (!is_better(symbol, name, *each)) continue;
      each->symbol = symbol;
      each->name = name;
    }
  }
}

void read_tables(Elf* elf, std::vector<SymbolLookup>& wanted) {
  for (Elf_Scn* section = nullptr; (section = ::elf_nextscn(elf, section)) != nullptr;) {
    GElf_Shdr header{};
    if (::gelf_getshdr(section, &header) == nullptr) continue;
    if (header.sh_type == SHT_SYMTAB || header.sh_type == SHT_DYNSYM)
      read_table(elf, section, header, wanted);
  }
}

struct Free {
  void operator()(char* text) const { std::free(text); }
};

/// Demangles the name of a C++ function. Other names stay as they are.
std::string readable(const char* name) {
  const std::size_t size = ::strnlen(name, kMaxName);
  std::string text(name, size);
  if (!text.starts_with("_Z") || size == kMaxName) return text;
  int status = 0;
  const std::unique_ptr<char, Free> written(::abi::__cxa_demangle(text.c_str(), nullptr, nullptr, &status));
  return status == 0 ? std::string(written.get(), ::strnlen(written.get(), kMaxName)) : text;
}

void tell(std::vector<SymbolLookup>& wanted, SampleSink& to) {
  std::uint64_t told = 0;
  for (const SymbolLookup& each : wanted) {
    if (each.name == nullptr) continue;
    const std::uint64_t before =
        std::min(each.inside - each.symbol.st_value, each.process - each.part->start);
    const std::uint64_t start = each.process - before;
    if (start == told) continue;
    told = start;
    const std::uint64_t size = std::min(each.symbol.st_size, each.part->end - start);
    to.on_symbol({start, start + size, readable(each.name), {}});
  }
}

void find_symbols(Elf* elf, const UnnamedFile& of, SampleSink& to) {
  const std::vector<SampledMapping>& parts = of.parts;
  std::vector<SymbolLookup> wanted;
  for (const std::uint64_t address : of.addresses) {
    const auto in = [address](const SampledMapping& part) {
      return part.start <= address && address < part.end;
    };
    const auto part = std::find_if(parts.begin(), parts.end(), in);
    if (part != parts.end()) wanted.push_back({address - part->start + part->address, address, &*part});
  }
  std::sort(wanted.begin(), wanted.end(),
            [](const SymbolLookup& one, const SymbolLookup& other) { return one.inside < other.inside; });
  read_tables(elf, wanted);
  tell(wanted, to);
}

ElfFile open_elf(int fd) {
  ::elf_version(EV_CURRENT);
  ElfFile elf(::elf_begin(fd, ELF_C_READ_MMAP, nullptr));
  if (elf != nullptr && ::elf_kind(elf.get()) != ELF_K_ELF) elf.reset();
  return elf;
}

}  // namespace

bool read_symbols(int fd, const SymbolQuestion& question, SampleSink& to) {
  const ElfFile elf = open_elf(fd);
  if (elf == nullptr) return false;
  const std::string build_id = build_id_of(elf.get());
  UnnamedFile of{{}, question.addresses};
  for (const MappedFile& file : question.parts) {
    const auto address = address_at(elf.get(), file.offset);
    if (!address) continue;
    of.parts.push_back({file.start, file.end, *address, file.path, build_id});
    to.on_mapping(of.parts.back());
  }
  find_symbols(elf.get(), of, to);
  return true;
}

bool read_debug_symbols(int fd, const UnnamedFile& of, SampleSink& to) {
  const ElfFile elf = open_elf(fd);
  if (elf == nullptr || of.parts.empty()) return false;
  const std::string build_id = build_id_of(elf.get());
  if (build_id.empty() || build_id != of.parts.front().build_id) return false;
  find_symbols(elf.get(), of, to);
  return true;
}

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint32_t kProcessorSeconds = 3;
/// The names of all functions in an hour of samples take less.
constexpr std::uint64_t kMaxResult = 8U << 20U;

[[noreturn]] void work_and_tell(const std::function<std::string()>& work, int to, pid_t parent,
                                std::uint64_t memory) {
  std::string result;
  try {
    end_with_parent(parent);
    limit_processor_time(kProcessorSeconds);
    limit_memory(memory);
    result = work();
  } catch (...) {
    // This process must not go on with the code of the one that it was forked from.
    ::_exit(1);
  }
  ::_exit(write_whole(to, std::as_bytes(std::span(result))) == 0 ? 0 : 1);
}

/// Reads up to the end. Errors: it takes too long, or too much comes.
Result<std::string> read_all(int from, Clock::time_point until, std::uint64_t most) {
  std::string all;
  for (std::array<char, 16 * 1024> part{};;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
    pollfd readable{from, POLLIN, 0};
    if (left <= 0 || ::poll(&readable, 1, static_cast<int>(left)) == 0) {
      return fail("read", "the symbols", "it takes too long");
    }
    const ssize_t got = ::read(from, part.data(), part.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return all;
    all.append(part.data(), static_cast<std::size_t>(got));
    if (all.size() > most) return fail("read", "the symbols", "there are too many");
  }
}

}  // namespace

Result<std::string> run_isolated(const std::function<std::string()>& work, std::chrono::milliseconds limit,
                                 std::uint64_t memory) {
  ASSIGN_OR_RETURN(auto pipe, make_pipe(O_CLOEXEC));
  const pid_t self = ::getpid();
  const pid_t child = ::fork();
  if (child < 0) return fail_errno("start", "a process", errno);
  if (child == 0) work_and_tell(work, pipe.writing.get(), self, memory);
  pipe.writing.reset();
  auto result = read_all(pipe.reading.get(), Clock::now() + limit, std::min(memory / 4, kMaxResult));
  if (!result) ::tgkill(child, child, SIGKILL);
  // Close the pipe first, so that a child that still writes ends.
  pipe.reading.reset();
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!result || (WIFEXITED(status) && WEXITSTATUS(status) == 0)) return result;
  return fail("read", "the symbols", "the process that reads them crashed");
}

namespace {

/// The first byte of the answer of an isolated process.
constexpr char kUsable = 'u';
constexpr char kUnusable = '-';

class FileSymbolsSink final : public SampleSink {
 public:
  void on_mapping(SampledMapping mapping) override { told.parts.push_back(std::move(mapping)); }
  void on_symbol(SampledSymbol symbol) override { told.symbols.push_back(std::move(symbol)); }
  void on_end(SamplingEnd, std::string_view text) override { told.why = text; }

  FileSymbols told;
};

std::string open_and_read(const OpenFiles& open, const ReadFile& read) {
  std::string why;
  const std::vector<UniqueFd> files = open(why);
  const bool confined = confinement::confine_parser();
  if (!confined) why = "the kernel does not let the process that reads it give up its rights (seccomp)";
  SampleWriter told;
  told.on_start({1, SampleClock::cpu_clock, false});
  const bool usable = confined && std::any_of(files.begin(), files.end(),
                                              [&](const UniqueFd& file) { return read(file.get(), told); });
  told.on_end(SamplingEnd::time_over, why);
  return (usable ? kUsable : kUnusable) + told.take();
}

}  // namespace

Result<FileSymbols> read_file_symbols(const OpenFiles& open, const ReadFile& read,
                                      std::chrono::milliseconds limit, std::uint64_t memory) {
  ASSIGN_OR_RETURN(const auto answer, run_isolated([&] { return open_and_read(open, read); }, limit, memory));
  if (answer.empty()) return fail("read", "the symbols", "there is no answer");
  FileSymbolsSink sink;
  SampleReader reader(sink);
  RETURN_IF_ERROR(reader.read(std::as_bytes(std::span(answer).subspan(1))));
  sink.told.usable = answer.front() == kUsable;
  return std::move(sink.told);
}

UniqueFd regular_only(UniqueFd file, std::string& why) {
  struct stat status {};
  if (!file || ::fstat(file.get(), &status) != 0) {
    why = std::strerror(errno);
    return {};
  }
  if (S_ISREG(status.st_mode)) return file;
  why = "it is no regular file";
  return {};
}

std::vector<std::uint64_t> without_names(const std::vector<std::uint64_t>& addresses,
                                         std::vector<SampledSymbol> symbols) {
  std::sort(symbols.begin(), symbols.end(),
            [](const SampledSymbol& one, const SampledSymbol& other) { return one.start < other.start; });
  std::vector<std::uint64_t> without;
  auto symbol = symbols.begin();
  for (const std::uint64_t address : addresses) {
    while (symbol != symbols.end() && symbol->end <= address) ++symbol;
    if (symbol == symbols.end() || address < symbol->start) without.push_back(address);
  }
  return without;
}

}  // namespace farport::router
