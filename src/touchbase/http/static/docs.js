// Shows the description of the interface, each operation with a form to try it. No validator: it would send the description to
// another host. The key stays in the page's memory.
const dark = window.matchMedia("(prefers-color-scheme: dark)");
const follow = () => document.documentElement.classList.toggle("dark-mode", dark.matches);
follow();
dark.addEventListener("change", follow);

// The same description in the terms of OpenAPI 3.0: Swagger UI takes three times as long for one in those of 3.1.
function older(node) {
  if (Array.isArray(node)) return node.map(older);
  if (node === null || typeof node !== "object") return node;
  const { example, examples, $ref, anyOf, ...rest } = node;
  const made = Object.fromEntries(Object.entries(rest).map(([name, value]) => [name, older(value)]));
  if (Array.isArray(examples)) made.example = examples[0];
  else if (examples !== undefined) made.examples = older(examples);
  if (example !== undefined) made.example = example;
  if ($ref !== undefined) {
    if (Object.keys(made).length === 0) return { $ref };
    made.allOf = [{ $ref }];
  }
  if (!Array.isArray(anyOf)) return anyOf === undefined ? made : { ...made, anyOf: older(anyOf) };
  const kinds = anyOf.filter((each) => each.type !== "null");
  if (kinds.length < anyOf.length) made.nullable = true;
  if (kinds.length !== 1) return { ...made, anyOf: older(kinds) };
  const only = older(kinds[0]);
  return only.$ref ? { ...made, allOf: [only] } : { ...only, ...made };
}

window.addEventListener("load", async () => {
  const answer = await fetch("openapi.json");
  window.SwaggerUIBundle({
    spec: { ...older(await answer.json()), openapi: "3.0.3" },
    dom_id: "#description",
    deepLinking: true,
    validatorUrl: null,
    docExpansion: "none",
    defaultModelsExpandDepth: -1, // an operation shows its own types
    filter: true,
    tryItOutEnabled: true,
    displayRequestDuration: true,
    onComplete: () => document.getElementById("description").setAttribute("aria-busy", "false"),
  });
});
