import { describe, expect, it } from 'vitest'
import { maxReceivedAge } from '#lib/domains/privacy-requests/rules.ts'
import { accountNamed, faultsOf, filingBody, localTime, type QueueFilingDraft } from './filing.ts'

const now = new Date('2026-03-10T12:00:00Z')
const draft = (more: Partial<QueueFilingDraft> = {}): QueueFilingDraft => ({
  by: 'email',
  subject: ' somebody@example.org ',
  kinds: ['access'],
  received: '2026-03-01T09:00',
  statement: '',
  grace: '7d',
  redact: false,
  ...more,
})

describe('filing a request that arrived by mail', () => {
  it.each([
    [{}, []],
    [{ subject: '  ' }, ['subject']],
    [{ kinds: [] }, ['kinds']],
    [{ received: '' }, ['received']],
    [{ received: '2026-03-12T09:00' }, ['received']],
    [{ received: '2025-12-01T09:00' }, ['received']],
    [{ kinds: ['rectification'] }, ['statement']],
    [{ kinds: ['rectification'], statement: 'My name.' }, []],
    [{ by: 'agent_id', kinds: ['access', 'erasure'] }, ['copyOfAgent']],
    [{ by: 'email', kinds: ['access', 'erasure'] }, []],
  ] satisfies [Partial<QueueFilingDraft>, string[]][])('faultsOf a draft with %j returns %j', (more, faults) => {
    expect([...faultsOf(draft(more), now, maxReceivedAge)]).toEqual(faults)
  })

  it('filingBody names the subject once and includes a grace period only for an erasure', () => {
    const at = localTime('2026-03-01T09:00')?.toISOString()
    expect(filingBody(draft())).toEqual({ kinds: ['access'], received_at: at, email: 'somebody@example.org' })
    expect(filingBody(draft({ by: 'agent_id', subject: 'a-1', kinds: ['erasure'], statement: ' Please. ' }))).toEqual({
      kinds: ['erasure'],
      received_at: at,
      agent_id: 'a-1',
      statement: 'Please.',
      grace: '7d',
    })
    expect(filingBody(draft({ kinds: ['erasure'], redact: true }))).toMatchObject({ grace: '7d', redact: true })
    expect(filingBody(draft({ redact: true }))).not.toHaveProperty('redact')
    expect(filingBody(draft({ by: 'agent_id', kinds: ['erasure'], redact: true }))).not.toHaveProperty('redact')
    expect(filingBody(draft({ received: 'soon' }))).toBeUndefined()
  })
})

it.each([
  ['usr_0123456789abcdefghijAB', 'usr_0123456789abcdefghijAB'],
  ['usr_0123', undefined],
  ['agt_0123456789abcdefghijAB', undefined],
  [['usr_0123456789abcdefghijAB'], undefined],
  [undefined, undefined],
])('accountNamed(%j) returns %j', (text, named) => {
  expect(accountNamed(text)).toBe(named)
})
