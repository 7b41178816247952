"""Kubernetes' manifests, as kustomize builds them and its schemas have them."""

import base64
import functools
import json
import pathlib
import subprocess

from harness import needs

EXAMPLES = needs.ROOT / "examples/kubernetes"
# What Pod Security's standard "restricted" lets a pod mount (https://kubernetes.io/docs/concepts/security/pod-security-standards/).
VOLUMES = {"configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "persistentVolumeClaim", "projected", "secret"}


@functools.cache
def built(directory):
    """What kustomize makes of a directory, whose files stay as they are from then on."""
    return subprocess.run([needs.kustomize(), "build", directory], check=True, stdout=subprocess.PIPE, text=True).stdout


def objects_of(text):
    """Manifests as objects. An AssertionError says what Kubernetes would not take."""
    return json.loads(_checked(text))


@functools.cache
def _checked(text):
    """The same as JSON."""
    script = pathlib.Path(__file__).resolve().parents[1] / "kubernetes/manifests.mjs"
    # What is evaluated finds its packages where it stands.
    done = subprocess.run([needs.program("node"), "--input-type=module", "--eval", script.read_text(encoding="utf-8")],
                          cwd=needs.kubernetes_packages(), input=text, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    return done.stdout


def pod_of(objects, kind):
    """The pod's template of the one workload of that kind."""
    workload, = [each for each in objects if each["kind"] == kind]
    return workload["spec"]["template"]["spec"]


def not_restricted(pod):
    """What keeps a pod from meeting the standard "restricted"."""
    common = pod.get("securityContext", {})
    found = [name for name in ("hostNetwork", "hostPID", "hostIPC") if pod.get(name)]
    found += [f"volume {volume['name']}" for volume in pod.get("volumes", ()) if not VOLUMES & volume.keys()]
    for container in pod["containers"] + pod.get("initContainers", []) + pod.get("ephemeralContainers", []):
        own = common | container.get("securityContext", {})
        capabilities = own.get("capabilities", {})
        wrong = {
            "privileged": own.get("privileged"),
            "runAsNonRoot": own.get("runAsNonRoot") is not True or own.get("runAsUser") == 0,
            "seccompProfile": own.get("seccompProfile", {}).get("type") not in ("RuntimeDefault", "Localhost"),
            "allowPrivilegeEscalation": own.get("allowPrivilegeEscalation") is not False,
            "capabilities": capabilities.get("drop") != ["ALL"] or set(capabilities.get("add", ())) - {"NET_BIND_SERVICE"},
        }
        found += [f"{container['name']}: {name}" for name, is_wrong in wrong.items() if is_wrong]
    return found


def files_of(pair):
    """A certificate, its key and its CA, as cert-manager names them in a Secret."""
    return {name: pathlib.Path(path).read_bytes() for name, path in (("tls.crt", pair.cert), ("tls.key", pair.key), ("ca.crt", pair.ca))}


def secret_of(name, pair):
    """The Secret with them."""
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name},
            "data": {key: base64.b64encode(content).decode() for key, content in files_of(pair).items()}}


def run_flags(pod, certificates):
    """The flags with which podman runs the only container of a pod that is to see its host's processes: what it plays sees
    none. `certificates`: the directory that stands for its Secret. The image and its arguments follow."""
    container, = pod["containers"]
    context = container["securityContext"]
    capabilities = [word for name in context["capabilities"]["add"] for word in ("--cap-add", name)]
    # It does not know the node's name, either.
    environment = {each["name"]: each.get("value", "node-1") for each in container["env"]}
    variables = [word for name, value in environment.items() for word in ("--env", f"{name}={value}")]
    return ["--pid", "host", "--user", context["runAsUser"], "--read-only", "--cap-drop", "all", *capabilities, *variables,
            "--security-opt", "no-new-privileges", "--tmpfs", "/tmp", "--volume", f"{certificates}:/certs:ro",
            container["image"], *(argument.replace("$(NODE)", environment["NODE"]) for argument in container["args"])]
