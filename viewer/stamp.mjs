// Writes the SHA-256 of the sources beside the bundle, so that a test can tell that the one was built from the other.
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";

const files = ["index.html", "package-lock.json", "package.json", "tsconfig.json", "vite.config.ts"];
const below = readdirSync("src", { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile())
  .map((entry) => `${entry.parentPath}/${entry.name}`.replaceAll("\\", "/"));
const hash = createHash("sha256");
for (const file of [...files, ...below].sort()) {
  hash.update(`${file}\0`);
  hash.update(readFileSync(file));
  hash.update("\0");
}
writeFileSync("../src/townsquare/pages/view/static/sources.sha256", `${hash.digest("hex")}\n`);
