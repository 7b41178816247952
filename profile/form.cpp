#include "profile/form.hpp"

#include <array>

namespace farport::profile {
namespace {

using Writer = void (*)(const Profile&, Output&);

struct Description {
  Form form;
  std::string_view ending;
  Keep takes;
  Writer write;
};

constexpr std::array kForms{
    Description{Form::html, ".html", Keep::counts, write_html},
    Description{Form::svg, ".svg", Keep::counts, write_svg},
    Description{Form::speedscope, ".speedscope.json", Keep::each, write_speedscope},
    Description{Form::pprof, ".pb.gz", Keep::counts, write_pprof},
    Description{Form::perf_script, ".txt", Keep::each, write_perf_script},
    Description{Form::folded, ".folded", Keep::counts, write_folded},
};

/// Lists them: ".html, .svg, …"
std::string all_endings() {
  std::string all;
  for (const Description& each : kForms) all += (all.empty() ? "" : ", ") + std::string(each.ending);
  return all;
}

}  // namespace

Result<Form> form_of(std::string_view path) {
  for (const Description& each : kForms)
    if (path.ends_with(each.ending)) return each.form;
  return fail("tell what to write to", path, "its name has no ending that says so",
              "let it end in one of " + all_endings());
}

Keep keep_for(Form form) {
  for (const Description& each : kForms)
    if (each.form == form) return each.takes;
  return Keep::each;
}

Result<void> write_profile(const Profile& profile, Form form, Sink sink) {
  Output out(std::move(sink));
  for (const Description& each : kForms)
    if (each.form == form) each.write(profile, out);
  return out.finish();
}

}  // namespace farport::profile
