import { spawnSync } from 'node:child_process'

export interface Check {
  name: string
  args: readonly string[]
}
const local = (file: string, ...args: string[]) => [`node_modules/${file}`, ...args]

/** What reads the code without running the product; each under a minute on two cores, all together too. */
export const checks: readonly Check[] = [
  { name: 'client of the database', args: ['bin/generate.ts'] },
  { name: 'style (Biome)', args: local('@biomejs/biome/bin/biome', 'check', '--error-on-warnings') },
  { name: 'route types (Next)', args: local('next/dist/bin/next', 'typegen') },
  { name: 'types (tsc)', args: local('typescript/bin/tsc', '--noEmit') },
  {
    name: 'walls (dependency-cruiser)',
    args: local(
      'dependency-cruiser/bin/dependency-cruiser.mjs',
      'app',
      'bin',
      'components',
      'lib',
      'e2e',
      'bench',
      '--config',
    ),
  },
  { name: 'dead code (knip)', args: local('knip/bin/knip.js') },
  { name: 'migrations say what the schema says', args: ['bin/migrate.ts', '--check'] },
  { name: 'openapi.json is what the operations say', args: ['bin/openapi.ts', '--check'] },
]

/** Runs one check; its output is shown only when it fails. */
export function passes({ name, args }: Check): boolean {
  const started = performance.now()
  const result = spawnSync(process.execPath, args, { encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 })
  const seconds = ((performance.now() - started) / 1000).toFixed(1)
  const ok = result.status === 0
  console.log(`${ok ? '✓' : '✗'} ${name} (${seconds} s)`)
  if (!ok) console.log(`${result.stdout}${result.stderr}${result.error?.message ?? ''}`)
  return ok
}
