// Node's own module resolution wants the extension in every import.
export default {
  input: "../../src/omnigraph/server/openapi.json",
  output: { path: "generated", importFileExtension: ".js" },
};
