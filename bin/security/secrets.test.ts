import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { assessSecrets, committedSecrets } from './secrets.ts'

/** Composed here, so that this file contains no secret. */
const key = ['AKIA', 'Q3EG', 'RTXP', 'N2LW', 'ZV5K'].join('')

/** A repository with the files. Only those named `committed` are in its index. */
function repository(files: Record<string, string | Uint8Array>): string {
  const folder = mkdtempSync(join(tmpdir(), 'kp-secrets-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  execFileSync('git', ['init', '--quiet'], { cwd: folder })
  for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content)
  execFileSync('git', ['add', 'committed.ts'], { cwd: folder })
  return folder
}

it('the secret scan finds a key in a committed and in a new file, but not in an ignored or binary file', () => {
  const found = committedSecrets(
    repository({
      'committed.ts': `// A comment.\nconst key = '${key}'\n`,
      'new.md': key,
      'ignored.env': key,
      'picture.png': Buffer.from(`\0${key}`),
      '.gitignore': 'ignored.env\n',
    }),
  )
  expect(found.map(({ file, line, kind }) => `${file}:${line} ${kind}`)).toEqual([
    'committed.ts:2 api_key',
    'new.md:1 api_key',
  ])
  const failures = assessSecrets(found, {})
  expect(failures).toHaveLength(2)
  expect(failures.join('\n')).not.toContain(key)
})

it('the secret scan accepts an allowed secret only in its file, and reports an allowed secret that does not exist', () => {
  const [one] = committedSecrets(repository({ 'committed.ts': `const key = '${key}'\n` }))
  if (!one) throw new Error('no secret was found')
  const allowed = { 'committed.ts': [one.hash] }
  expect(assessSecrets([one], allowed)).toEqual([])
  expect(assessSecrets([{ ...one, file: 'other.ts' }], allowed)).toEqual([
    `other.ts:1: api_key (hash ${one.hash})`,
    expect.stringContaining(`committed.ts: the allowed secret ${one.hash} does not exist`),
  ])
  expect(assessSecrets([{ ...one, hash: '0'.repeat(16) }], allowed)).toHaveLength(2)
})

it('the list of allowed secrets contains hashes only', () => {
  const allowed: unknown = JSON.parse(readFileSync(join(import.meta.dirname, 'allowed-secrets.json'), 'utf8'))
  expect(() => assessSecrets([], allowed)).not.toThrow()
  expect(() => assessSecrets([], { 'committed.ts': [key] })).toThrow()
})
