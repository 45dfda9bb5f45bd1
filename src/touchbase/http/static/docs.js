// Shows the description of the interface. No validator: it would send the description to somebody else.
window.addEventListener("load", () => {
  window.SwaggerUIBundle({
    url: "openapi.json",
    dom_id: "#description",
    deepLinking: true,
    validatorUrl: null,
    docExpansion: "list",
    defaultModelsExpandDepth: 0,
  });
});
