import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { checks } from '../checks.ts'

const root = join(import.meta.dirname, '../..')
const faults: Record<string, string> = {
  'no-eval': `eval('1')`,
  'detect-eval-with-expression': `eval(process.argv[2])`,
  'no-new-func': `new Function('x')`,
  'no-script-url': `location.href = 'javascript:void(0)'`,
  'no-super-linear-backtracking': String.raw`/^(\w+\s?)*$/.test('')`,
  'no-super-linear-move': String.raw`''.replace(/\s+$/, '')`,
  'detect-bidi-characters': `'a\u202eb'`,
  'detect-child-process': `import { exec } from 'node:child_process'\nexec('rm ' + process.argv[2])`,
  'detect-new-buffer': `new Buffer(process.argv[2])`,
  'detect-pseudoRandomBytes': `crypto.pseudoRandomBytes(16)`,
}

it('the security rules report every kind of fault, and the check covers all folders with code', () => {
  const folder = mkdtempSync(join(tmpdir(), 'kp-rules-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  for (const [rule, text] of Object.entries(faults)) writeFileSync(join(folder, `${rule}.ts`), `${text}\n`)
  writeFileSync(join(folder, 'sound.ts'), `export const sound = /^[a-z]{1,20}$/\n`)
  const { args } = checks.find(({ name }) => name.startsWith('security rules')) ?? { args: [] }
  const [oxlint = '', ...others] = args
  expect(others).toEqual(expect.arrayContaining(['app', 'bin', 'components', 'lib']))
  const options = ['--config', join(root, '.oxlintrc.json'), '--format=unix']
  const { status, stdout } = spawnSync(process.execPath, [join(root, oxlint), ...options, '.'], {
    cwd: folder,
    encoding: 'utf8',
  })
  expect(status).toBe(1)
  const reported = stdout.split('\n').flatMap((line) => /^([\w-]+)\.ts:.*\(([\w-]+)\)\]$/.exec(line)?.slice(1) ?? [])
  expect(new Set(reported)).toEqual(new Set(Object.keys(faults)))
})
