import { spawn } from 'node:child_process'

export interface ProjectCheck {
  name: string
  args: readonly string[]
}
const local = (file: string, ...args: string[]) => [`node_modules/${file}`, ...args]

/** Must run before the other checks and all tests. */
export const generateClient: ProjectCheck = { name: 'database client', args: ['bin/generate.ts'] }

/** Checks that read the code without running the product. */
export const checks: readonly ProjectCheck[] = [
  { name: 'style (Biome)', args: local('@biomejs/biome/bin/biome', 'check', '--error-on-warnings') },
  { name: 'route types (Next)', args: local('next/dist/bin/next', 'typegen') },
  // One checker: several would each resolve the shared types, which doubles the processor time.
  { name: 'types (tsc)', args: local('typescript/bin/tsc', '--noEmit', '--checkers', '1') },
  {
    name: 'import rules (dependency-cruiser)',
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
  { name: 'unused code (knip)', args: local('knip/bin/knip.js') },
  { name: 'plain English in comments and test names', args: ['bin/check-language.ts'] },
  {
    name: 'security rules (oxlint)',
    args: local(
      'oxlint/bin/oxlint',
      'app',
      'bin',
      'bench',
      'components',
      'i18n',
      'lib',
      'instrumentation.ts',
      'proxy.ts',
    ),
  },
  { name: 'no secrets in committed files', args: ['bin/security/secrets.ts'] },
  { name: 'migrations match the schema', args: ['bin/migrate.ts', '--check'] },
  { name: 'openapi.json matches the operations', args: ['bin/openapi.ts', '--check'] },
]

/** Its result depends on the day and on the registry, so `npm test` does not run it: the same commit must have the same result. */
export const vulnerabilityAudit: ProjectCheck = {
  name: 'known vulnerabilities (npm audit)',
  args: ['bin/security/audit.ts'],
}

/** Returns whether the check passed. Prints its output when it failed, and otherwise only its lines that begin with `note: `. */
export async function runCheck({ name, args }: ProjectCheck): Promise<boolean> {
  const started = performance.now()
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text
    })
  const status = await new Promise<number | null>((resolve, reject) =>
    child.once('error', reject).once('close', resolve),
  )
  const seconds = ((performance.now() - started) / 1000).toFixed(1)
  console.log(`${status === 0 ? '✓' : '✗'} ${name} (${seconds} s)`)
  if (status !== 0) console.log(output)
  else for (const line of output.split('\n')) if (line.startsWith('note: ')) console.log(`  ${line}`)
  return status === 0
}
