// Builds the console into the package: `make console`. The same sources and versions give the same bytes.
import { build } from 'esbuild';
import { mkdir, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const out = process.argv[2] ?? join(here, '../src/touchbase/console/static');
const assets = join(out, 'assets');

/** The texts that requests set, by kind of record, as the API describes them. */
async function texts() {
  const { components: { schemas } } = JSON.parse(await readFile(join(here, '../openapi.json'), 'utf8'));
  const isText = ([name, of]) => !name.endsWith('_status') && (of.anyOf ?? [of]).every(({ type }) => type === 'string' || type === 'null');
  const textsOf = (name) => Object.entries(schemas[name].properties).filter(isText).map(([member]) => member);
  return { contact: textsOf('ContactChange'), company: textsOf('CompanyChange') };
}

await rm(out, { recursive: true, force: true });
await mkdir(assets, { recursive: true });
const options = {
  absWorkingDir: here,
  bundle: true,
  minify: true,
  target: ['chrome123', 'firefox120', 'safari17.5'],
  jsx: 'automatic',
  jsxImportSource: 'preact',
  legalComments: 'none',
  charset: 'utf8',
  entryNames: '[name]-[hash]',
  chunkNames: '[name]-[hash]',
  assetNames: '[name]-[hash]',
  loader: { '.woff2': 'file' },
  outdir: assets,
  define: { API_TEXTS: JSON.stringify(await texts()) },
  metafile: true,
  logLevel: 'warning',
};
const built = [
  await build({ ...options, entryPoints: { console: 'src/main.tsx', style: 'src/style.css' }, format: 'esm', splitting: true }),
  // A script that runs before the page is painted cannot be a module.
  await build({ ...options, entryPoints: { theme: 'src/theme-first.ts' }, format: 'iife' }),
];
const inputs = built.flatMap(({ metafile }) => Object.keys(metafile.inputs));
const outputs = built.flatMap(({ metafile }) => Object.entries(metafile.outputs));

/** The built file of an entry. */
function file(entry) {
  const found = outputs.find(([, each]) => each.entryPoint === entry);
  return basename(found[0]);
}

/** All icons as one sprite, in the page: each is one request less. */
async function sprite() {
  const folder = join(here, 'icons');
  const names = (await readdir(folder)).filter((name) => name.endsWith('.svg')).sort();
  const symbols = await Promise.all(names.map(async (name) => {
    const inner = (await readFile(join(folder, name), 'utf8')).replace(/^<svg[^>]*>|<\/svg>\s*$/g, '');
    return `<symbol id="i-${basename(name, '.svg')}" viewBox="0 0 16 16">${inner}</symbol>`;
  }));
  return symbols.join('');
}

/** The licences of what is in the bundle. */
async function licences() {
  const packages = new Set();
  for (const input of inputs) {
    const match = /^node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(input);
    if (match) packages.add(match[1]);
  }
  const texts = await Promise.all([...packages].sort().map(async (name) => {
    const folder = join(here, 'node_modules', name);
    const { version, license } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'));
    const text = (await readFile(join(folder, 'LICENSE'), 'utf8')).trim();
    return `${name} ${version} (${license})\n\n${text}\n`;
  }));
  return texts.join(`\n${'-'.repeat(80)}\n\n`);
}

/** Almost every page is in Latin script; other scripts are loaded when a letter needs them. */
const preloaded = outputs.map(([each]) => basename(each)).find((name) => name.startsWith('inter-latin-wght'));
const page = (await readFile(join(here, 'src/index.html'), 'utf8'))
  .replace('{style}', file('src/style.css'))
  .replace('{font}', preloaded)
  .replace('{theme}', file('src/theme-first.ts'))
  .replace('{script}', file('src/main.tsx'))
  .replace('{icons}', await sprite());
await writeFile(join(out, 'index.html'), page);
await writeFile(join(assets, 'LICENSES.txt'), await licences());
