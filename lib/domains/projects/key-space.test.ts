import { describe, expect, it } from 'vitest'
import { isInKeySpace, type KeySpace, mayEraseById, recordedClaimants, splitWithin } from './key-space.ts'
import type { ownersNamed } from './repository.ts'
import { ownershipReader } from './values/readable.ts'

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

describe('mayEraseById', () => {
  const id = (prefix: string, sign: string) => `${prefix}_${sign.repeat(22)}`
  const [message, project, sibling, theirs] = [id('msg', 'X'), id('prj', 'A'), id('prj', 'S'), id('prj', 'B')]
  const [person, account] = [id('prt', 'X'), id('usr', 'O')]
  const participant = (of: string, organisation: string, external_id: string) => ({
    kind: 'participant',
    id: `${of}-${external_id}`,
    project: of,
    author: `${of}-${external_id}`,
    organisation,
    external_id,
  })
  const place = (kind: string, of: string, owner: string | null) => ({
    kind,
    id: of,
    project: owner,
    author: kind === 'account' ? of : null,
    organisation: null,
    external_id: null,
  })
  /** Rows of the registry, by the names that lead to them. `own`: the row of the erased message. */
  const rows: [name: string, row: Awaited<ReturnType<typeof ownersNamed>>[number]][] = [
    [project, place('project', project, project)],
    [sibling, place('project', sibling, sibling)],
    [theirs, place('project', theirs, theirs)],
    [account, place('account', account, null)],
    ['thread-of-b-2024', place('conversation', id('conv', 'B'), theirs)],
    ['42', participant(sibling, own, '42')],
    ['answers', participant(theirs, other, 'answers')],
    ['client-4711-b', participant(theirs, other, 'client-4711-b')],
  ]
  const ask = (claimant: object, isThere: boolean, isPerson: boolean, more: Partial<KeySpace> = {}) => {
    const known = isThere
      ? [...rows, [message, { ...place('message', message, project), author: person }] as const]
      : rows
    // Answers the one statement as a database with these rows.
    const query = async (_: string, [ids, names]: [string[], string[]]) =>
      known.flatMap(([name, row]) => ((row.kind === 'participant' ? names : ids).includes(name) ? [row] : []))
    const ownershipOf = ownershipReader({
      within: (work) => work(query as never),
      projects: new Set([project]),
      erased: new Set([message, ...(isPerson ? [person] : [])]),
      isPerson,
    })
    const isNamed = (name: string) => name.includes(message) || name.includes(project)
    return (name: string) =>
      mayEraseById({ space: { ...space(claimant, ['beta-']), ...more }, isNamed, ownershipOf }, name)
  }
  const everything = { isAny: true }
  it.each<[string, object, string, boolean]>([
    ['the id of the message beside the external id of others', {}, `answers:${message}`, true],
    ['the id of the project beside a thread of others', {}, `${project}:thread-of-b-2024`, true],
    ['the id of the project beside an account', {}, `${project}:session:${account}`, true],
    ['an account, if everything may be claimed', everything, `session:${account}`, true],
    ['an account in a place that cannot be claimed', {}, `session:${account}`, false],
    ['the external id of a person of the same organization', everything, 'history:42', true],
    ['a word that others chose as an external id', everything, 'app:answers:1', true],
    ['an external id of another organization that is no word', everything, 'notes:client-4711-b', false],
    ['such an id behind the own prefix', { namespaces: ['acme-'] }, 'acme-notes:client-4711-b', true],
    ['a thread of another project', everything, 'checkpoint:thread-of-b-2024', false],
    ['the id of another project beside the own', everything, `${project}:${theirs}`, false],
    ['the id of another project of the organization', everything, `${sibling}:${message}`, false],
    ['a prefix of another organization', everything, `beta-${message}`, false],
    ['nobody, in a place that cannot be claimed', {}, 'session:7', false],
  ])('decides the same with and without the row of the message for %s', async (_, claimant, name, expected) => {
    for (const isThere of [true, false])
      for (const isPerson of [true, false]) expect(await ask(claimant, isThere, isPerson)(name)).toBe(expected)
  })

  it('asks the registry once for a place about which words and ids are decided', async () => {
    let queries = 0
    const ownershipOf = ownershipReader({
      async within(work) {
        queries++
        return work((async () => []) as never)
      },
      projects: new Set([project]),
      erased: new Set([message]),
      isPerson: false,
    })
    const rules = { space: space({}), isNamed: () => false, ownershipOf }
    for (const name of ['session:7', 'session:8']) await Promise.all([ownershipOf(name), mayEraseById(rules, name)])
    expect(queries).toBe(2)
  })

  it('erases a key of nobody without a recorded organization only if one alone may claim everything', async () => {
    for (const isOfOne of [true, false]) {
      const may = ask({}, false, false, { claimants: [], isOfOne })
      expect([await may('session:7'), await may(`${project}:7`)]).toEqual([isOfOne, true])
    }
  })
})
