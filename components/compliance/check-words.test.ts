import { createTranslator } from 'next-intl'
import { afterAll, expect, it } from 'vitest'
import { createApp } from '#lib/app.ts'
import { readEnv } from '#lib/config/env.ts'
import { evidenceLines, evidenceProblems } from '#lib/kernel/evidence.ts'
import en from '#messages/en.ts'
import zh from '#messages/zh.ts'
import { checkKeyOf, problemKeyOf, remedyOf } from './check-words.ts'

// The production application; no test here queries its database.
const app = createApp({ env: readEnv({}) })
afterAll(() => app.close())
const distinct = (keys: readonly (string | undefined)[]) => [...new Set(keys)].sort()

it('every check and line has a translation and no translation is unused', () => {
  expect(distinct(app.compliance.checkNames.map(checkKeyOf))).toEqual(Object.keys(en.compliance.of).sort())
  expect(Object.keys(en.compliance.lines).sort()).toEqual([...evidenceLines].sort())
})

it('every check says what to do when it fails, and every problem what to do about its records', () => {
  // These checks find problems with records.
  const counting = ['requests.access', 'requests.portability', 'requests.erasure', 'exports.all', 'exports.provided']
  const others = [...counting, 'erasure.unfinished', 'erasure.steps', 'erasure.readings']
  const remedies = app.compliance.checkNames
    .filter((name) => !others.includes(name))
    .map((name) => remedyOf(name)?.key ?? name)
  expect(distinct(remedies)).toEqual(Object.keys(en.compliance.do).sort())
  expect(evidenceProblems.map(problemKeyOf).sort()).toEqual(Object.keys(en.compliance.problems).sort())
})

it.each([
  ['en', en],
  ['zh', zh],
] as const)(
  'the text of the secret check in %s depends on the source of the secret and the result',
  (locale, messages) => {
    const t = createTranslator({ locale, messages, namespace: 'compliance' })
    const texts = [
      { state: 'holds', source_code: 'environment', mode: '' },
      { state: 'fails', source_code: 'missing', mode: '' },
      { state: 'holds', source_code: 'file', mode: '600' },
      { state: 'fails', source_code: 'file', mode: '644' },
    ].map((values) => t('of.installation_secret', values))
    expect(new Set(texts).size).toBe(texts.length)
    for (const text of texts) expect(text).not.toMatch(/[{}]/)
  },
)
