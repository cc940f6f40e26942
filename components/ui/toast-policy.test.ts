import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { toastStyleHashes } from './toast-policy.ts'

it('toastStyleHashes are those of an empty style sheet and of the one in the installed sonner', () => {
  const code = readFileSync(fileURLToPath(import.meta.resolve('sonner')), 'utf8')
  const [, text = '""'] = /__insertCSS\(("(?:[^"\\]|\\.)*")\)/.exec(code) ?? []
  const style: string = JSON.parse(text)
  expect(['', style].map((one) => `sha256-${createHash('sha256').update(one).digest('base64')}`)).toEqual(
    toastStyleHashes,
  )
})
