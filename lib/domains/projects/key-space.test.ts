import { describe, expect, it } from 'vitest'
import { isInKeySpace, type KeySpace, recordedClaimants, splitWithin } from './key-space.ts'

const own = 'org_0123456789ABCDEFGHIJKL'
const other = 'org_LKJIHGFEDCBA9876543210'
const space = (claimant: object, others: string[] = []): KeySpace => ({
  prefixes: ['app:answers:', 'uploads/'],
  claimants: [{ id: own, namespaces: [], isAny: false, ...claimant }],
  others,
})

describe('isInKeySpace', () => {
  it.each<[string, object, string[], string, boolean]>([
    ['a key with the id of the organization', {}, [], `app:answers:${own}_7`, true],
    ['a key with this id behind other parts', {}, [], `uploads/v2/${own}/7`, true],
    ['a key with the id of another organization', {}, [], `app:answers:${other}_7`, false],
    ['a key with the id outside the common prefixes', {}, [], `session:${own}`, false],
    ['a key without an id', {}, [], 'app:answers:7', false],
    ['a longer id that only begins alike', {}, [], `app:answers:${own}X`, false],
    ['an assigned prefix behind the common one', { namespaces: ['acme-'] }, [], 'app:answers:acme-7', true],
    ['an assigned prefix that includes the common one', { namespaces: ['app:answers:a'] }, [], 'app:answers:a7', true],
    ['another key, with an assigned prefix', { namespaces: ['acme-'] }, [], 'app:answers:7', false],
    ['any key, for an organization with every id', { isAny: true }, [], 'uploads/7', true],
    ['a key of another organization, for one with every id', { isAny: true }, [], `uploads/${other}/7`, false],
    ['an assigned key, for one with every id', { isAny: true }, ['acme-'], 'uploads/acme-7', false],
    ['* of another organization does not count', { isAny: true }, ['*'], 'uploads/7', true],
    ['* alone says nothing', { namespaces: ['*'] }, [], 'uploads/7', false],
    ['a key with the ids of two organizations', {}, [], `app:answers:${other}:session:${own}`, false],
    ['a key with both ids in the other order', { isAny: true }, [], `app:answers:${own}:session:${other}`, false],
    ['the id behind a prefix of another organization', {}, ['beta-'], `app:answers:beta-session:${own}`, false],
    ['the id behind the own prefix', { namespaces: ['acme-'] }, ['beta-'], `uploads/acme-${own}`, true],
    [
      'the id of another organization behind the own prefix',
      { namespaces: ['acme-'] },
      [],
      `uploads/acme-${other}`,
      true,
    ],
    ['an id of another system, for one with every id', { isAny: true }, [], `uploads/${own}abcde/7`, true],
  ])('returns the expected result for %s', (_, claimant, others, key, expected) =>
    expect(isInKeySpace(space(claimant, others), key)).toBe(expected),
  )

  it('returns true for a key with the ids of two organizations when both may claim it', () =>
    expect(
      isInKeySpace(
        { ...space({}), claimants: [own, other].map((id) => ({ id, namespaces: [], isAny: false })) },
        `uploads/${own}/${other}/7`,
      ),
    ).toBe(true))

  it('returns false without organizations', () =>
    expect(isInKeySpace({ ...space({ isAny: true }), claimants: [] }, 'uploads/7')).toBe(false))
})

it('splitWithin returns the organizations that a plan recorded, separately from the ids', () => {
  const recorded = space({ namespaces: ['acme-'], isAny: true })
  expect(splitWithin(['prj_1', ...recordedClaimants(recorded), 'conv_1'])).toEqual({
    anchors: ['prj_1', 'conv_1'],
    recorded: recorded.claimants,
  })
})
