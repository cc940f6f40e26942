import { glob, readFile } from 'node:fs/promises'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { hashOf, newId } from '#lib/kernel/ids.ts'
import { freedOf, type Restriction, restrictedBy, restrictionReasons } from '#lib/kernel/restriction.ts'
import { NewAgentId } from './contract.ts'
import { inviteId } from './registration.ts'
import { consentRecord, decideRegistration, edited, givenAgain, isReserved, withdrawn } from './rules.ts'

const now = new Date('2026-03-01T12:00:00.000Z')
const earlier = new Date('2026-02-01T12:00:00.000Z')
const notice = { version: '7', url: 'https://registry.example/privacy' }

describe('agent_id', () => {
  test.each(['abc', 'Agent-7', '0x1', 'a.b_c-d', 'a'.repeat(64)])('accepts %s', (id) =>
    expect(NewAgentId.safeParse(id).success).toBe(true),
  )
  test.each([
    '',
    'ab',
    'a'.repeat(65),
    '.abc',
    '-abc',
    'user:abc',
    'kp:agent:',
    'kp:agent:a:b',
    'kp:trace:abc',
    `kp:agent:${'a'.repeat(56)}`,
    'system:purge',
    'a b c',
    'abc\n',
    'abc/../def',
    'агент',
  ])('rejects %j', (id) => expect(NewAgentId.safeParse(id).success).toBe(false))
  // Placeholders for ids, prefixes of other ids, and names of jobs and data sources.
  test.each([
    'anonymous',
    'Anonymous',
    'erased',
    'list',
    'usr_0123456789abcdefABCDEF',
    'USR_0123456789abcdefABCDEF',
    'preq_0123456789abcdefABCDEF',
    'erased-0Ab1Cd2Ef3Gh',
    'system-clock',
    'erasure.start',
    'Exports.Prepare',
    'tokens',
    'adoc_0123456789abcdefghijkl',
    'snap_0123456789abcdefghijkl',
    'grimoire.entries',
    'llm-log.entries',
  ])('%j is reserved', (id) => expect(isReserved(id)).toBe(true))
  test.each(['abc', 'agent_0123456789abcdefABCDEF', 'planner', 'userland', 'my.exports', 'erasurehead', 'first-agent'])(
    '%j is not reserved',
    (id) => expect(isReserved(id)).toBe(false),
  )

  test('isReserved returns true for the form of every id that the registry generates, except ids of agents', async () => {
    const prefixes = new Set<string>()
    for await (const file of glob('lib/**/*.ts', { exclude: ['**/*.test.ts', '**/suite/**', 'lib/testing/**'] }))
      for (const [, prefix = ''] of (await readFile(file, 'utf8')).matchAll(/\bnewId\('(\w+)'\)/g)) prefixes.add(prefix)
    prefixes.delete('agent')
    expect(prefixes).toContain('app')
    expect([...prefixes].filter((prefix) => !isReserved(newId(prefix)))).toEqual([])
  })
})

describe('grants of a registration', () => {
  const invite = { scopes: ['read' as const, 'write' as const], tier: 'pro' as const }
  const readInvite = { scopes: ['read' as const], tier: 'free' as const }
  test.each([
    [{}, undefined, false, { scopes: ['read'], tier: 'free' }],
    [{ scopes: ['read' as const, 'write' as const] }, undefined, false, { scopes: ['read', 'write'], tier: 'free' }],
    [{ scopes: ['admin' as const] }, undefined, false, undefined],
    [{ scopes: ['read' as const, 'admin' as const] }, undefined, false, undefined],
    [{ tier: 'pro' as const }, undefined, false, undefined],
    [{ tier: 'enterprise' as const }, undefined, false, undefined],
    [
      { scopes: ['admin' as const], tier: 'enterprise' as const },
      undefined,
      true,
      { scopes: ['admin'], tier: 'enterprise' },
    ],
    [{}, invite, false, { scopes: ['read', 'write'], tier: 'pro' }],
    [{ tier: 'free' as const }, invite, false, { scopes: ['read', 'write'], tier: 'free' }],
    [{ tier: 'enterprise' as const }, invite, false, undefined],
    [{ scopes: ['admin' as const] }, invite, false, undefined],
    [{ scopes: ['write' as const] }, readInvite, false, undefined],
  ])('%j with the invitation %j, admin %s: %j', (wanted, invited, isAdmin, granted) => {
    const decision = decideRegistration(wanted, invited, isAdmin)
    if (granted) expect(decision).toEqual({ granted })
    else expect(decision).toHaveProperty('refused')
  })

  test('only an admin can grant admin or a tier that was not offered', () => {
    const scope = fc.constantFrom('read' as const, 'write' as const, 'admin' as const)
    const tier = fc.constantFrom('free' as const, 'pro' as const, 'enterprise' as const)
    const offer = fc.option(
      fc.record({ scopes: fc.uniqueArray(fc.constantFrom('read' as const, 'write' as const), { minLength: 1 }), tier }),
      { nil: undefined },
    )
    const wanted = fc.record({ scopes: fc.uniqueArray(scope, { minLength: 1 }), tier }, { requiredKeys: [] })
    fc.assert(
      fc.property(wanted, offer, (asked, offered) => {
        const decision = decideRegistration(asked, offered, false)
        if ('refused' in decision) return
        expect(decision.granted.scopes).not.toContain('admin')
        expect(['free', offered?.tier]).toContain(decision.granted.tier)
        // Never less than requested without an error.
        if (asked.scopes) expect(decision.granted.scopes).toEqual(asked.scopes)
        if (asked.tier) expect(decision.granted.tier).toBe(asked.tier)
      }),
    )
  })
})

describe('consent', () => {
  test.each([
    ['consent' as const, false, { consentAt: now, consentVia: 'registration' }],
    ['consent' as const, true, { consentAt: now, consentVia: 'explicit' }],
    ['contract' as const, false, { consentAt: null, consentVia: null }],
    ['legitimate_interest' as const, true, { consentAt: now, consentVia: 'explicit' }],
  ])('is recorded for the basis %s, sent explicitly: %s', (basis, isExplicit, recorded) =>
    expect(consentRecord(basis, notice, isExplicit, now)).toEqual({
      lawfulBasis: basis,
      noticeVersion: '7',
      ...recorded,
    }),
  )

  const free = { consentWithdrawnAt: null, restrictedAt: null, restrictedFor: [] }
  test('restricts the agent immediately, and only once, when it is withdrawn', () => {
    const first = withdrawn(free, earlier)
    expect(first).toEqual({ consentWithdrawnAt: earlier, restrictedAt: earlier, restrictedFor: ['consent'] })
    expect(withdrawn(first, now)).toEqual(first)
  })
  test('lifts the restriction caused by its withdrawal when it is given again', () =>
    expect(givenAgain(withdrawn(free, now))).toEqual(free))
  test.each(['request', 'objection'])('keeps a restriction with the reason "%s", whichever came first', (reason) => {
    const before = { consentWithdrawnAt: null, restrictedAt: earlier, restrictedFor: [reason] }
    const both = withdrawn(before, now)
    expect(both).toEqual({
      consentWithdrawnAt: now,
      restrictedAt: earlier,
      restrictedFor: ['consent', reason],
    })
    expect(givenAgain(both)).toEqual(before)
    // Also at the same instant: reasons are identified by name, not by time.
    expect(givenAgain(withdrawn({ ...before, restrictedAt: now }, now))).toEqual({ ...before, restrictedAt: now })
  })
  test('keeps a restriction that no withdrawal caused', () =>
    expect(givenAgain({ consentWithdrawnAt: null, restrictedAt: earlier, restrictedFor: ['request'] })).toEqual({
      consentWithdrawnAt: null,
      restrictedAt: earlier,
      restrictedFor: ['request'],
    }))
  test('keeps a restriction while any reason exists, dated from the first reason', () => {
    const reason = fc.constantFrom(...restrictionReasons)
    const step = fc.record({ reason, isAdded: fc.boolean(), at: fc.date({ noInvalidDate: true }) })
    fc.assert(
      fc.property(fc.array(step), (steps) => {
        let state: Restriction = { restrictedAt: null, restrictedFor: [] }
        const wanted = new Set<string>()
        let since: Date | null = null
        for (const { reason: one, isAdded, at } of steps) {
          state = isAdded ? restrictedBy(state, one, at) : freedOf(state, one)
          if (isAdded) wanted.add(one)
          else wanted.delete(one)
          since = wanted.size === 0 ? null : (since ?? at)
          expect(state).toEqual({ restrictedAt: since, restrictedFor: [...wanted].sort() })
        }
      }),
    )
  })
})

describe('individual limits', () => {
  const free = { tier: 'free' as const, readsPerMinute: null, writesPerMinute: null }
  const custom = { tier: 'enterprise' as const, readsPerMinute: 5, writesPerMinute: 6 }
  test.each([
    [free, { limits: { reads_per_minute: 5 } }, undefined],
    [free, { tier: 'pro' as const, limits: { reads_per_minute: 5 } }, undefined],
    [free, { tier: 'pro' as const }, { ...free, tier: 'pro' }],
    [free, { limits: null }, free],
    [
      free,
      { tier: 'enterprise' as const, limits: { reads_per_minute: 5 } },
      { tier: 'enterprise', readsPerMinute: 5, writesPerMinute: null },
    ],
    [custom, { limits: { writes_per_minute: 9 } }, { ...custom, writesPerMinute: 9 }],
    [custom, { limits: null }, { ...custom, readsPerMinute: null, writesPerMinute: null }],
    [custom, {}, custom],
    [custom, { tier: 'pro' as const }, { ...free, tier: 'pro' }],
  ])('%j edited by %j: %j', (before, edit, after) => expect(edited(before, edit)).toEqual(after))
})

test('the id of an invitation in the audit log does not reveal its code', () => {
  const hash = hashOf('kpi_0123456789abcdefghijkl')
  expect(inviteId(hash)).toMatch(/^invite_[0-9a-f]{16}$/)
  expect(inviteId(hash)).not.toContain('0123456789abcdefghijkl')
})
