import { createTranslator } from 'next-intl'
import { afterAll, expect, it } from 'vitest'
import { createApp } from '#lib/app.ts'
import { readEnv } from '#lib/config/env.ts'
import { evidenceLines } from '#lib/kernel/evidence.ts'
import en from '#messages/en.ts'
import zh from '#messages/zh.ts'
import { checkKeyOf } from './check-words.ts'

// The production application; no test here queries its database.
const app = createApp({ env: readEnv({}) })
afterAll(() => app.close())

it('every check and line has a translation and no translation is unused', () => {
  const keys = app.compliance.checkNames.map(checkKeyOf)
  expect([...keys].sort()).toEqual(Object.keys(en.compliance.of).sort())
  expect(Object.keys(en.compliance.lines).sort()).toEqual([...evidenceLines].sort())
})

it.each([
  ['en', en],
  ['zh', zh],
] as const)('the title in %s differs for every combination of results', (locale, messages) => {
  const t = createTranslator({ locale, messages, namespace: 'compliance' })
  const titles = [
    [0, 0, 0],
    [0, 0, 2],
    [0, 1, 2],
    [1, 1, 1],
    [3, 0, 0],
  ].map(([fails = 0, attention = 0, unknown = 0]) => t('title', { fails, attention, unknown }))
  expect(new Set(titles).size).toBe(titles.length)
  for (const title of titles) expect(title).not.toMatch(/[{}]/)
})
