#include "router/reach/kubernetes_target.hpp"

#include <algorithm>
#include <array>
#include <vector>

namespace farport::router {
namespace {

struct Kind {
  std::string_view word;
  std::string_view kind;
};
/// As kubectl takes them.
constexpr std::array kKinds{
    Kind{"po", "pod"},
    Kind{"pod", "pod"},
    Kind{"pods", "pod"},
    Kind{"deploy", "deployment"},
    Kind{"deployment", "deployment"},
    Kind{"deployments", "deployment"},
    Kind{"sts", "statefulset"},
    Kind{"statefulset", "statefulset"},
    Kind{"statefulsets", "statefulset"},
    Kind{"ds", "daemonset"},
    Kind{"daemonset", "daemonset"},
    Kind{"daemonsets", "daemonset"},
    Kind{"rs", "replicaset"},
    Kind{"replicaset", "replicaset"},
    Kind{"replicasets", "replicaset"},
    Kind{"job", "job"},
    Kind{"jobs", "job"},
};

std::string_view kind_of(std::string_view word) {
  const auto* const found =
      std::find_if(kKinds.begin(), kKinds.end(), [&](const Kind& kind) { return kind.word == word; });
  return found == kKinds.end() ? std::string_view() : found->kind;
}

/// A DNS subdomain (RFC 1123), as names in Kubernetes are.
bool is_object_name(std::string_view text) {
  const auto is_alphanumeric = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  return !text.empty() && text.size() <= 253 && is_alphanumeric(text.front()) &&
         std::all_of(text.begin(), text.end(),
                     [&](char c) { return is_alphanumeric(c) || c == '-' || c == '.'; });
}

/// What selectors are made of: "app=orders,tier in (web,api)", "!canary".
bool is_selector(std::string_view text) {
  return !text.empty() && text.front() != '-' &&
         text.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./=!,() ") ==
             std::string_view::npos;
}

std::vector<std::string> split_at_slashes(std::string_view text) {
  std::vector<std::string> words;
  for (std::size_t slash = 0; slash != std::string_view::npos;) {
    slash = text.find('/');
    words.emplace_back(text.substr(0, slash));
    if (slash != std::string_view::npos) text.remove_prefix(slash + 1);
  }
  return words;
}

}  // namespace

Result<KubernetesTarget> parse_kubernetes_target(std::string_view text) {
  const auto bad = [&](std::string_view why) {
    return fail("reach", std::string("k8s://").append(text), why,
                "write k8s://POD, k8s://deploy/NAME, k8s://NAMESPACE/deploy/NAME/CONTAINER or "
                "k8s://NAMESPACE/?app=NAME");
  };
  KubernetesTarget target;
  std::string_view rest = text;
  if (const std::size_t question = rest.find('?'); question != std::string_view::npos) {
    target.labels = rest.substr(question + 1);
    rest = rest.substr(0, question);
    if (!is_selector(target.labels)) return bad("that is no selector of labels");
  }
  // Contexts may hold an @ and slashes of their own.
  if (const std::size_t at = rest.rfind('@'); at != std::string_view::npos) {
    target.context = rest.substr(0, at);
    rest = rest.substr(at + 1);
    if (target.context.empty()) return bad("the context before the @ is empty");
  }
  std::vector<std::string> words = split_at_slashes(rest);
  if (!target.labels.empty()) {
    // What stands behind the last slash is the question mark's.
    words.pop_back();
    if (!rest.empty() && !rest.ends_with('/')) return bad("a slash belongs before the ?");
    if (words.size() > 1) return bad("it has too many parts");
    if (!words.empty()) target.namespace_ = words.front();
    return words.empty() || is_object_name(words.front()) ? Result<KubernetesTarget>(target)
                                                          : bad("that is no namespace");
  }
  if (!std::all_of(words.begin(), words.end(), is_object_name))
    return bad("one of its parts is no name in Kubernetes");
  // The kind tells where the namespace ends.
  const bool has_namespace = words.size() > 1 && kind_of(words[0]).empty();
  std::size_t next = 0;
  if (has_namespace) target.namespace_ = words[next++];
  target.kind = "pod";
  if (words.size() > next + 1 && !kind_of(words[next]).empty()) target.kind = kind_of(words[next++]);
  target.name = words[next++];
  if (next < words.size()) target.container = words[next++];
  if (next < words.size()) return bad("it has too many parts");
  return target;
}

}  // namespace farport::router
