import { randomBytes, randomUUID } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { newId, newUuid } from '#lib/kernel/ids.ts'
import { canBeGuessed, chosenPart } from './stored-unit.ts'

describe('canBeGuessed', () => {
  it.each([
    '1',
    '001',
    'mine',
    'trace-1',
    'a1b2c3d4',
    'abc-123',
    'deploy_guide_v2',
    'customer-onboarding-process',
    'Customer-Onboarding-Process-2026',
    'q3-2026-plan-for-acme-corp',
    'run-20260301093000',
    'run-1732345678',
    'org_4UIA1WnqoPlhFQrMlCOsRD_trace-1',
  ])('returns true for %s', (chosen) => {
    for (const kind of ['trace', 'pattern', 'sop', 'skill']) expect(canBeGuessed(`kp:${kind}:${chosen}`)).toBe(true)
  })

  it.each([
    '550e8400-e29b-41d4-a716-446655440000',
    'session-550E8400-E29B-41D4-A716-446655440000',
    '6d961dbbe7e99e7f7c2cc1f2',
    'run-9f86d081884c',
    '01ARZ3NDEKTSV4RRFFQ69G5FAV',
    'V1StGXR8_Z5jdHi6B-myT',
    'flowise-1732345678901',
    'org_4UIA1WnqoPlhFQrMlCOsRD_550e8400-e29b-41d4-a716-446655440000',
  ])('returns false for %s', (chosen) => expect(canBeGuessed(`kp:trace:${chosen}`)).toBe(false))

  it('returns false for ids that the registry, its clients and kp generate', () => {
    for (let n = 0; n < 1_000; n++)
      for (const chosen of [
        newUuid().replaceAll('-', ''),
        newId('x').slice(2),
        randomUUID(),
        randomBytes(6).toString('hex'),
        randomBytes(16).toString('hex'),
      ])
        expect(canBeGuessed(`kp:trace:${chosen}`), chosen).toBe(false)
  })
})

it('chosenPart returns the part of an id after the kind', () => expect(chosenPart('kp:sop:a-b_c')).toBe('a-b_c'))
