"""A stand-in for kubectl, over pods that podman plays (`podman kube play`). It speaks what farport asks for: get, exec and
replace --raw, with kubectl's flags and JSON. What it does not show: an API server with its rights, admission and latencies, an
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
        # Whatever changes in it changes its version.
        yield {"metadata": {"name": pod["Name"], "namespace": NAMESPACE, "labels": labels, "resourceVersion": str(own)},
               "spec": {"containers": [{"name": name} for name, _, _, target in own if not target],
                        "ephemeralContainers": [{"name": name, "image": image, "targetContainerName": target}
                                                for name, _, image, target in ours]},
               # The node has its own name for an image.
               "status": {"phase": "Running" if any(runs for _, runs, _, _ in own) else "Failed",
                          "ephemeralContainerStatuses": [
                              {"name": name, "image": f"docker.io/{image}",
                               "state": {"running": {}} if runs else {"terminated": {"reason": "Error"}}}
                              for name, runs, image, _ in ours]}}


def refuse(text, why="NotFound"):
    """As kubectl does."""
    sys.exit(f"Error from server ({why}): {text}")


def get(words, flags):
    """get KIND [NAME]"""
    if words[0] == "pods":
        return {"items": list(pods(flags.get("selector", "")))}
    if words[0] == "pod":
        found = [pod for pod in pods() if pod["metadata"]["name"] == words[1]]
        return found[0] if found else refuse(f'pods "{words[1]}" not found')
    selector = WORKLOADS.get((words[0], words[1]))
    return {"spec": {"selector": selector}} if selector else refuse(f'{words[0]}s.apps "{words[1]}" not found')


def replace_ephemeral(path, asked):
    """replace --raw .../pods/NAME/ephemeralcontainers: runs those that are new."""
    pod = asked["metadata"]["name"]
    if path != f"/api/v1/namespaces/{NAMESPACE}/pods/{pod}/ephemeralcontainers":
        refuse("the server could not find the requested resource")
    now = next(each for each in pods() if each["metadata"]["name"] == pod)
    if asked["metadata"]["resourceVersion"] != now["metadata"]["resourceVersion"]:
        refuse("the object has been modified", "Conflict")
    known = {each["name"] for each in now["spec"]["ephemeralContainers"]}
    for each in asked["spec"]["ephemeralContainers"]:
        if each["name"] in known:
            continue
        target, security = each["targetContainerName"], each["securityContext"]
        inspected = json.loads(podman("container", "inspect", f"{pod}-{target}"))[0]
        dropped = [f"--cap-drop={name}" for name in security["capabilities"]["drop"]]
        user = ":".join(str(security[key]) for key in ("runAsUser", "runAsGroup") if key in security)
        podman("run", "--detach", "--name", f"{pod}-{each['name']}", "--label", f"target={target}", "--pid",
               f"ns:/proc/{inspected['State']['Pid']}/ns/pid", "--user", user, *dropped, "--network", "none", "--pull",
               "never", "--entrypoint", each["command"][0], each["image"], *each["command"][1:])


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
    if words[:2] == ["get", "/version"]:
        print(json.dumps({"major": "1", "minor": "30"}))
        return
    if words[0] == "get":
        print(json.dumps(get(words[1:], flags)))
        return
    if words[0] == "replace":
        replace_ephemeral(words[1], json.load(sys.stdin))
        return
    pod = words[1]
    container = flags.get("container") or next(name for name, _, _, _ in containers(pod))
    os.execvp("podman", ["podman", "exec", "--interactive", f"{pod}-{container}", *command])


main(sys.argv[1:])
