// Searches the committed files for keys, tokens, passwords and seed phrases, with the scanner that contributions pass (ADR 0069).
import '../runtime.ts'
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { scan } from '#lib/domains/pii/scanner.ts'

/** For each file, the start of the SHA-256 hashes of test vectors and examples. */
const Allowed = z.record(z.string(), z.array(z.string().regex(/^[0-9a-f]{16}$/)))

const secrets: ReadonlySet<string> = new Set(['private_key', 'seed_phrase', 'api_key'])
/** A found secret without its content. */
interface Secret {
  file: string
  line: number
  kind: string
  hash: string
}

function secretsIn(file: string, text: string): Secret[] {
  return scan(text).flatMap(({ kind, start, end }) => {
    if (!secrets.has(kind)) return []
    const hash = createHash('sha256').update(text.slice(start, end)).digest('hex').slice(0, 16)
    return [{ file, line: text.slice(0, start).split('\n').length, kind, hash }]
  })
}

/** The secrets in the text files that git knows in a folder, including new files that it does not ignore. */
export function committedSecrets(folder: string): Secret[] {
  const args = ['ls-files', '-z', '--cached', '--others', '--exclude-standard']
  const listed = execFileSync('git', args, { cwd: folder, encoding: 'utf8', maxBuffer: 2 ** 26 })
  return [...new Set(listed.split('\0'))].sort().flatMap((file) => {
    const path = join(folder, file)
    if (file === '' || !statSync(path, { throwIfNoEntry: false })?.isFile()) return []
    const bytes = readFileSync(path)
    return bytes.includes(0) ? [] : secretsIn(file, bytes.toString('utf8'))
  })
}

/** The differences between the found and the allowed secrets. */
export function assessSecrets(found: readonly Secret[], allowed: unknown): string[] {
  const known = Object.entries(Allowed.parse(allowed)).flatMap(([file, hashes]) =>
    hashes.map((hash) => ({ file, hash, key: `${file} ${hash}` })),
  )
  const keys = new Set(known.map(({ key }) => key))
  const present = new Set(found.map(({ file, hash }) => `${file} ${hash}`))
  return [
    ...found
      .filter(({ file, hash }) => !keys.has(`${file} ${hash}`))
      .map(({ file, line, kind, hash }) => `${file}:${line}: ${kind} (hash ${hash})`),
    ...known
      .filter(({ key }) => !present.has(key))
      .map(({ file, hash }) => `${file}: the allowed secret ${hash} does not exist any more`),
  ]
}

if (import.meta.main) {
  const allowed: unknown = JSON.parse(readFileSync(join(import.meta.dirname, 'allowed-secrets.json'), 'utf8'))
  const failures = assessSecrets(committedSecrets(process.cwd()), allowed)
  for (const text of failures) console.error(text)
  if (failures.length > 0) {
    console.error(
      'Revoke and remove real secrets. Add test vectors by file and hash to bin/security/allowed-secrets.json.',
    )
    process.exitCode = 1
  }
}
