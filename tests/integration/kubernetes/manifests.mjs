// Reads Kubernetes' manifests, YAML on standard input. Prints them as a JSON array, or says what is wrong with them by the
// schemas of Kubernetes and cert-manager, and ends with 1.
import { readFileSync } from "node:fs";
import { parseAllDocuments } from "yaml";

const modelOf = async ({ apiVersion, kind }) => {
  const [version, group = ""] = apiVersion.split("/").reverse();
  const home = group === "cert-manager.io" ? `@kubernetes-models/cert-manager/${group}` : `kubernetes-models/${group}`;
  return (await import(`${home.replace(/\/$/, "")}/${version}`))[kind];
};

const objects = parseAllDocuments(readFileSync(0, "utf8")).map((document) => {
  if (document.errors.length > 0) throw document.errors[0];
  return document.toJS();
});
for (const object of objects) {
  try {
    new (await modelOf(object))(object).validate();
  } catch (error) {
    console.error(`${object.kind} ${object.metadata?.name}: ${error.message}`);
    process.exitCode = 1;
  }
}
console.log(JSON.stringify(objects));
