import { expect, it } from 'vitest'
import en from '#messages/en.ts'
import zh from '#messages/zh.ts'
import { missingFor } from './missing-rules.ts'

it.each([
  ['erased', { receipt_id: 'rcpt_1' }, { is: 'erased', receiptId: 'rcpt_1' }, /^Message deleted$/],
  ['not_found', { audit_id: 'a' }, { is: 'erasing', auditId: 'a' }, /being deleted/],
  ['not_found', {}, { is: 'absent' }, /not found/],
  ['invalid', {}, { is: 'absent' }, /not found/],
] as const)('missingFor maps the problem %s with %j to its explanation', (code, extensions, missing, title) => {
  const said = missingFor({ code, extensions })
  expect(said).toEqual(missing)
  if (!said) throw new Error('nothing is said')
  expect(en.projects.conversation.missing[said.is].title).toMatch(title)
})

it('missingFor returns undefined for a refusal that does not concern the message', () => {
  for (const code of ['unavailable', 'forbidden', 'rate_limited', 'erased'])
    expect(missingFor({ code, extensions: {} })).toBeUndefined()
})

it('the explanations do not claim that a message was erased or existed', () => {
  const { erasing, absent } = en.projects.conversation.missing
  expect(Object.values(erasing).join(' ')).not.toMatch(/was deleted|is deleted|is gone|verified/)
  expect(absent.text).toContain('or never existed here')
  expect(zh.projects.conversation.missing.erasing.title).not.toContain('已')
  expect(zh.projects.conversation.missing.absent.text).toMatch(/或.*从未/)
})
