// Prints what Windmill's own validator finds wrong with a flow file, as JSON; run where the package is installed.
const { readFileSync } = require("node:fs");
const { createRequire } = require("node:module");
const [folder, file] = process.argv.slice(2);
const { WindmillYamlValidator } = createRequire(`${folder}/`)("windmill-yaml-validator");

const result = new WindmillYamlValidator().validate(readFileSync(file, "utf8"), { type: "flow" });
process.stdout.write(JSON.stringify({ errors: result.errors, parsed: Boolean(result.parsed) }));
