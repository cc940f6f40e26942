import { expect, test } from 'vitest'
import { strippedKinds } from '#lib/domains/clades/strip-rules.ts'
import { recallOf, sharingHindranceOf, sharingPage } from './clades.ts'
import { excerptOf, shareableOf } from './entry-excerpt.ts'
import { removedBy, removedCounts, removedKinds } from './manifest.ts'

const living = { status: 'active', state: 'active', restricted_at: null } as const
const sibling = { agent_id: 'two', name: null, status: 'active', pending: 0 } as const
const sharing = { siblings: [sibling], sharing_since: '2026-11-22T08:00:00.000Z' }

test.each([
  ['no obstacle', 'person', living, sharing, undefined],
  ['a read-only role', 'auditor', living, sharing, 'role'],
  ['a retired agent', 'person', { ...living, status: 'dead' }, sharing, 'dead'],
  ['a pending erasure', 'person', { ...living, state: 'suspended' }, sharing, 'going'],
  ['a restriction', 'person', { ...living, restricted_at: sharing.sharing_since }, sharing, 'restricted'],
  ['a pause', 'person', { ...living, status: 'paused' }, sharing, 'paused'],
  ['no siblings', 'person', living, { ...sharing, siblings: [] }, 'alone'],
  ['sharing turned off', 'person', living, { ...sharing, sharing_since: null }, 'off'],
] as const)('hindranceOf returns the reason that blocks sharing for %s', (_what, role, agent, clade, hindrance) => {
  expect(sharingHindranceOf(role, agent, { ...clade, siblings: [...clade.siblings] })).toBe(hindrance)
})

test('recallOf counts the siblings that received the share and those that did not', () => {
  const at = sharing.sharing_since
  const of = (state: 'pending' | 'delivered' | 'recalling' | 'recalled' | 'expired', delivered_at: string | null) => ({
    agent_id: state,
    state,
    delivered_at,
    acknowledged_at: null,
  })
  expect(recallOf([of('pending', null), of('expired', null), of('pending', at), of('delivered', at)])).toEqual({
    unfetched: 2,
    told: 2,
    acknowledged: 0,
  })
  expect(recallOf([of('recalling', at), of('recalled', at)])).toEqual({ unfetched: 0, told: 2, acknowledged: 1 })
})

test('sharingPage addresses the agent, an entry or a share', () => {
  expect(sharingPage('a/b')).toBe('/agents/a%2Fb/sharing')
  expect(sharingPage('a', { entry: 'ent_1' })).toBe('/agents/a/sharing?entry=ent_1#preview')
  expect(sharingPage('a', { share: 'shr_1' })).toBe('/agents/a/sharing#shr_1')
})

const signed = (claims: unknown) => `e30.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.c2ln`
test('removedBy returns the removed counts of a manifest and undefined for any other text', () => {
  expect(removedBy(signed({ removed: { email: 2 }, kind: 'Ümlaut 名' }))).toEqual({ email: 2 })
  for (const broken of ['', 'a', 'a.%%%.b', `a.${Buffer.from('[]').toString('base64url')}.b`, signed({ removed: [] })])
    expect(removedBy(broken)).toBeUndefined()
})

test('takenOut sorts known kinds and counts unknown kinds as "other"', () => {
  expect(removedCounts({ email: 1, private_key: 2, passport: 3, ip: 0, name: 'x' })).toEqual([
    { kind: 'private_key', count: 2 },
    { kind: 'email', count: 1 },
    { kind: 'other', count: 3 },
  ])
})

test('shareableOf returns the entry with an excerpt, and undefined if it cannot be shared', () => {
  const entry = { confidence: null, tags: [], provenance: null, parents: [], valid_from: null, valid_until: null }
  const view = {
    id: 'ent_1',
    agent_id: 'one',
    scope: 'clade' as const,
    envelope: null,
    valid_until: null,
    created_at: sharing.sharing_since,
    updated_at: sharing.sharing_since,
    revision: 1,
  }
  expect(
    shareableOf({ ...view, kind: 'insight', entry: { ...entry, content: 'Wide  spreads\nclose slowly' } }),
  ).toEqual({
    id: 'ent_1',
    kind: 'insight',
    confidence: 0,
    excerpt: 'Wide spreads close slowly',
    created_at: sharing.sharing_since,
  })
  expect(shareableOf({ ...view, kind: 'episode', entry: { ...entry, content: 'x' } })).toBeUndefined()
  expect(shareableOf({ ...view, kind: 'insight', entry: null })).toBeUndefined()
  expect(excerptOf({ a: '😀'.repeat(300) })).toHaveLength(6 + 2 * 133 + 1)
})

test('takenOutKinds equals the kinds that the server removes', () => {
  expect(removedKinds.toSorted()).toEqual(strippedKinds.toSorted())
})
