// Which container a process is in, in the words of several engines.
#include <string>

#include <catch2/catch.hpp>

#include "router/agent/runtimes/registry.hpp"

using namespace farport;
using router::hostname_in;
using router::signs_of_container;

namespace {

const std::string kId = "15ee01b0cebabb5f53a14ec89e879d71623a8b709d28bbff86c56728130253ba";
const std::string kOther(64, 'a');
const std::string kUid = "7c0a3b0e-7f5a-4a8e-9d0e-3a1f5b6c7d8e";
const std::string kUnderscored = "7c0a3b0e_7f5a_4a8e_9d0e_3a1f5b6c7d8e";

}  // namespace

TEST_CASE("a container's id is found in the cgroups of every engine") {
  for (const std::string& cgroup : {
           "0::/system.slice/docker-" + kId + ".scope\n",
           "9:pids:/docker/" + kId + "\n0::/\n",
           "0::/machine.slice/libpod-" + kId + ".scope/container\n",
           "8:pids:/libpod_parent/libpod-" + kId + "\n",
           "0::/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" + kId + ".scope\n",
           "0::/kubepods.slice/kubepods-pod" + kUnderscored + ".slice/cri-containerd-" + kId + ".scope\n",
           "0::/kubepods.slice/kubepods-pod" + kUnderscored + ".slice/crio-" + kId + ".scope\n",
           "4:memory:/kubepods/burstable/pod" + kUid + "/" + kId + "\n",
           "1:cpu:/system.slice/containerd.service/kubepods-pod" + kUnderscored +
               ".slice:cri-containerd:" + kId + "\n",
           "0::/../cri-containerd-" + kId + ".scope\n",
           // The innermost one, where an engine runs in a container.
           "0::/docker/" + kOther + "/docker/" + kId + "\n",
       }) {
    INFO(cgroup);
    CHECK(signs_of_container(cgroup, "").container.id == kId);
  }
}

TEST_CASE("what is no container has no id") {
  for (const std::string& cgroup :
       {std::string(), std::string("0::/\n"), std::string("0::/system.slice/ssh.service\n"),
        std::string("0::/user.slice/user-1000.slice/session-1.scope\n"), "0::/docker/" + kId.substr(1) + "\n",
        "0::/docker/" + std::string(64, 'A') + "\n", std::string("\n:::\n::"), std::string("0::/-.scope")}) {
    INFO(cgroup);
    CHECK(signs_of_container(cgroup, "").container == router::Container{});
    CHECK_FALSE(signs_of_container(cgroup, "").in_pod);
  }
}

TEST_CASE("a container in a pod is told from one by itself") {
  const std::string pod = "kubepods-besteffort-pod" + kUnderscored + ".slice";
  CHECK(signs_of_container("0::/kubepods.slice/" + pod + "/cri-containerd-" + kId + ".scope", "").in_pod);
  CHECK(signs_of_container("4:memory:/kubepods/pod" + kUid + "/" + kId, "").in_pod);
  CHECK(signs_of_container(
            "0::/machine.slice/machine-libpod_pod_" + kOther + ".slice/libpod-" + kId + ".scope", "")
            .in_pod);
  CHECK(signs_of_container("8:pids:/libpod_parent/" + kOther + "/libpod-" + kId, "").in_pod);
  CHECK_FALSE(signs_of_container("8:pids:/libpod_parent/libpod-" + kId, "").in_pod);
  CHECK_FALSE(signs_of_container("0::/libpod-" + kOther + "/libpod-" + kId, "").in_pod);
}

TEST_CASE("what engines mount into a container tells its id, and the name that its pod has for it") {
  const auto mounts = [](const std::string& source) {
    return "103 75 0:41 / / rw,relatime - overlay overlay rw\n"
           "109 103 254:0 " +
           source + " /etc/hostname rw,relatime - ext4 /dev/vda rw\n";
  };
  CHECK(signs_of_container("0::/", mounts("/var/lib/docker/containers/" + kId + "/hostname")).container.id ==
        kId);
  CHECK(signs_of_container("0::/",
                           mounts("/run/containers/storage/overlay-containers/" + kId + "/userdata/hostname"))
            .container.id == kId);
  const auto signs = signs_of_container("0::/../cri-containerd-" + kId + ".scope",
                                        mounts("/var/lib/kubelet/pods/" + kUid + "/containers/web/0a1b2c3d"));
  CHECK(signs.container.id == kId);
  CHECK(signs.container.name == "web");
  CHECK(signs.in_pod);
  // The cgroup's word counts for more.
  CHECK(signs_of_container("0::/docker/" + kId, mounts("/var/lib/docker/containers/" + kOther + "/hostname"))
            .container.id == kId);
}

TEST_CASE("names that no engine gives are left out") {
  const auto named = [](const std::string& name) {
    return signs_of_container("", "1 2 3:4 /kubelet/pods/" + kUid + "/containers/" + name + "/x /y\n")
        .container.name;
  };
  CHECK(named("web-1") == "web-1");
  CHECK(named("we\\040b").empty());
  CHECK(named("\x1b[31m").empty());
  CHECK(named(std::string(64, 'a')).empty());
  CHECK(signs_of_container("", "1 2 3:4 /kubelet/pods/none/containers/web/x /y\n").container.name.empty());
}

TEST_CASE("a hostname is one line of plain characters") {
  CHECK(hostname_in("orders-7d4b9\n") == "orders-7d4b9");
  CHECK(hostname_in("orders.prod") == "orders.prod");
  CHECK(hostname_in("").empty());
  CHECK(hostname_in("two words\n").empty());
  CHECK(hostname_in("\x1b]0;title\x07\n").empty());
  CHECK(hostname_in(std::string(254, 'a')).empty());
}
