import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { toastStyleHash } from './toast-policy.ts'

it('toastStyleHash equals the hash of the style sheet in the installed sonner', () => {
  const code = readFileSync(fileURLToPath(import.meta.resolve('sonner')), 'utf8')
  const [, text = '""'] = /__insertCSS\(("(?:[^"\\]|\\.)*")\)/.exec(code) ?? []
  const style: string = JSON.parse(text)
  expect(`sha256-${createHash('sha256').update(style).digest('base64')}`).toBe(toastStyleHash)
})
