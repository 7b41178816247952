"""A stand-in for kubectl, over pods that podman plays (`podman kube play`). It speaks what farport asks for: get, exec and
debug, with kubectl's flags and JSON. What it does not show: an API server with its rights, admission and latencies, an
exec over a websocket that a proxy cuts, an image that is pulled, a kubelet that refuses ephemeral containers, contexts.

It is run as a program: NAMESPACE is the only one there is, and what it was asked is written to KUBECTL_LOG."""

import json
import os
import subprocess
import sys

NAMESPACE = "prod"
WORKLOADS = {("deployment", "orders"): {"matchLabels": {"app": "orders"}}}


def podman(*arguments):
    """What podman prints."""
    return subprocess.run(["podman", *arguments], stdout=subprocess.PIPE, check=True, text=True).stdout


def containers(pod):
    """A pod's containers: their names in the pod, whether they run, and their images."""
    listed = json.loads(podman("ps", "--all", "--format", "json"))
    for each in listed:
        name = each["Names"][0]
        if name.startswith(f"{pod}-") and not each.get("IsInfra"):
            yield name.removeprefix(f"{pod}-"), each["State"] == "running", each["Image"], (each["Labels"] or {}).get("target")


def pods(selector=""):
    """All pods that have the labels, as the API has them."""
    wanted = dict(part.split("=") for part in selector.split(",") if part)
    for pod in json.loads(podman("pod", "ps", "--format", "json")):
        labels = pod["Labels"] or {}
        if any(labels.get(key) != value for key, value in wanted.items()):
            continue
        own = list(containers(pod["Name"]))
        ours = [each for each in own if each[3]]
        yield {"metadata": {"name": pod["Name"], "labels": labels},
               "spec": {"containers": [{"name": name} for name, _, _, target in own if not target],
                        "ephemeralContainers": [{"name": name, "image": image, "targetContainerName": target}
                                                for name, _, image, target in ours]},
               # The node has its own name for an image.
               "status": {"phase": "Running" if any(runs for _, runs, _, _ in own) else "Failed",
                          "ephemeralContainerStatuses": [
                              {"name": name, "image": f"docker.io/{image}",
                               "state": {"running": {}} if runs else {"terminated": {"reason": "Error"}}}
                              for name, runs, image, _ in ours]}}


def refuse(text):
    """As kubectl does."""
    sys.exit(f"Error from server (NotFound): {text}")


def get(words, flags):
    """get KIND [NAME]"""
    if words[0] == "pods":
        return {"items": list(pods(flags.get("selector", "")))}
    if words[0] == "pod":
        found = [pod for pod in pods() if pod["metadata"]["name"] == words[1]]
        return found[0] if found else refuse(f'pods "{words[1]}" not found')
    selector = WORKLOADS.get((words[0], words[1]))
    return {"spec": {"selector": selector}} if selector else refuse(f'{words[0]}s.apps "{words[1]}" not found')


def main(arguments):
    """Does what it is told."""
    with open(os.environ["KUBECTL_LOG"], "a", encoding="utf-8") as log:
        log.write(json.dumps(arguments) + "\n")
    own = arguments[:arguments.index("--")] if "--" in arguments else arguments
    command = arguments[len(own) + 1:]
    flags = dict(word[2:].split("=", 1) if "=" in word else (word[2:], "") for word in own if word.startswith("--"))
    words = [word for word in own if not word.startswith("--")]
    if flags.get("namespace", NAMESPACE) != NAMESPACE:
        refuse(f'namespaces "{flags["namespace"]}" not found')
    if words[0] == "get":
        print(json.dumps(get(words[1:], flags)))
        return
    pod = words[1]
    target = flags.get("target") or flags.get("container") or next(name for name, _, _, _ in containers(pod))
    if words[0] == "exec":
        os.execvp("podman", ["podman", "exec", "--interactive", f"{pod}-{target}", *command])
    if words[0] == "debug":
        inspected = json.loads(podman("container", "inspect", f"{pod}-{target}"))[0]
        podman("run", "--detach", "--name", f"{pod}-{flags['container']}", "--label", f"target={target}", "--pid",
               f"ns:/proc/{inspected['State']['Pid']}/ns/pid", "--user", inspected["Config"]["User"], "--cap-drop", "all", "--network", "none", "--pull", "never", "--entrypoint", command[0],
               flags["image"], *command[1:])


main(sys.argv[1:])
