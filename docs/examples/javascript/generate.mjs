// Writes the types of what buyers ask, out of the OpenAPI document:
//
//   node generate.mjs FROM.yaml TO.d.ts
//
// Operators' routes are left out, and every schema that only they use.
import { readFile, writeFile } from "node:fs/promises";
import yaml from "js-yaml";
import openapiTS, { astToString } from "openapi-typescript";

const [from, to] = process.argv.slice(2);
if (!from || !to) {
  console.error("usage: node generate.mjs FROM.yaml TO.d.ts");
  process.exit(2);
}

const whole = yaml.load(await readFile(from, "utf8"), { schema: yaml.JSON_SCHEMA });
const paths = Object.fromEntries(
  Object.entries(whole.paths).filter(([path]) => path.startsWith("/api/v1/sales") || path.startsWith("/api/v1/orders")),
);

// The schemas that those paths reach, in the order of the document.
const reached = new Set();
const reach = (node) => {
  if (node === null || typeof node !== "object") return;
  const name = typeof node.$ref === "string" ? node.$ref.replace("#/components/schemas/", "") : "";
  if (name && !reached.has(name)) {
    reached.add(name);
    reach(whole.components.schemas[name]);
  }
  Object.values(node).forEach(reach);
};
reach(paths);
const schemas = Object.fromEntries(Object.entries(whole.components.schemas).filter(([name]) => reached.has(name)));

const types = await openapiTS({ openapi: whole.openapi, info: whole.info, paths, components: { ...whole.components, schemas } });
await writeFile(to, "// Generated out of api/openapi.yaml by `npm run generate`; do not edit.\n\n" + astToString(types));
