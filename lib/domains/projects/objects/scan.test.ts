import { expect, it } from 'vitest'
import { inKeyOrder } from '#lib/stores/objects/keys.ts'
import { ownershipReader } from '../values/readable.ts'
import type { ValueDecider } from '../values/value-decider.ts'
import { applicationKeys, maxOwn, noneUnsearched, type ObjectSearch, objectDecider } from './scan.ts'

const project = `prj_${'1'.repeat(22)}`
const uploads = (count: number): string[] =>
  Array.from({ length: count }, (_, n) => `projects/${project}/messages/m/att_${String(n).padStart(22, '0')}`)

async function found(keys: string[], rows: readonly string[] = []) {
  const sorted = keys.toSorted(inKeyOrder)
  const unsearched = noneUnsearched()
  const objects = {
    list: async (_: string, after: string, max: number) => {
      const at = sorted.findIndex((key) => key > after)
      return at < 0 ? [] : sorted.slice(at, at + max)
    },
  }
  const named = async (some: readonly string[]) => new Set(some.filter((key) => rows.includes(key)))
  const all = await Array.fromAsync(applicationKeys(objects, named, unsearched))
  return { all, isAmongOwn: unsearched.isAmongOwn }
}

it('applicationKeys returns all keys but uploads, marks and keys that rows name', async () => {
  const theirs = ['app/a', 'knowledgepulse-demo/a', 'projects/4711/a', 'projects/~a', 'snapshots/2026/crm.json', 'zeta']
  const former = `projects/${project}/documents/d1`
  expect(await found([...theirs, ...uploads(2_500), former, 'knowledgepulse-installation'], [former])).toEqual({
    all: theirs,
    isAmongOwn: false,
  })
})

it('applicationKeys skips the rest of a folder after too many own keys, and says so', async () => {
  const [before, after] = [
    ['app/a', 'projects/4711/a'],
    ['projects/~a', 'uploads/a', 'zeta'],
  ]
  const rest = `projects/${project}/notes.txt`
  expect(await found([...before, ...uploads(maxOwn + 2_000), rest, ...after])).toEqual({
    all: [...before, ...after],
    isAmongOwn: true,
  })
})

const key = 'uploads/list.json'
const unread = { version: '1', state: '1', mediaType: undefined, bytes: undefined, described: [] }
const nobodys = ownershipReader({
  within: async () => {
    throw new Error('a reported object needs no owner')
  },
  projects: new Set(),
  erased: new Set(),
  isPerson: false,
})
/** Words that occur nowhere: the object cannot be read. */
const words = { hasErasedWords: async () => false } as unknown as ValueDecider

async function judge(more: object, remaining: string[]) {
  const objects = { versions: async () => [], read: async () => ({ ...unread, ...more }) }
  const search: ObjectSearch = {
    ids: [],
    chosen: [],
    anchors: [],
    names: new Map([[key, { named: ['Erased words.'], remaining }]]),
    space: { prefixes: [], claimants: [], others: [] },
    wordDecider: words,
    ownershipOf: nobodys,
  }
  const { judged, unsearched } = objectDecider(objects, search)
  return { verdict: (await judged(key))?.verdict, refused: [...unsearched.refused] }
}

it.each<[string, object, string[], object]>([
  [
    'deletes a reported one that cannot be decrypted and that nobody else names',
    { isRefused: true },
    [],
    { verdict: 'deleted', refused: [] },
  ],
  [
    'leaves and counts one that a living author names, too',
    { isRefused: true },
    ['Words of others.'],
    { verdict: undefined, refused: [key] },
  ],
  ['deletes one that is too large to read', {}, ['Words of others.'], { verdict: 'deleted', refused: [] }],
])('an object that cannot be read: %s', async (_, more, remaining, expected) =>
  expect(await judge(more, remaining)).toEqual(expected),
)

it('counts an object whose tags the store does not return, unless it is deleted', async () => {
  const read = { ...unread, bytes: Buffer.from('Nothing of anybody.'), hasRefusedTags: true }
  const search = (isErased: boolean): ObjectSearch => ({
    ids: [],
    chosen: [],
    anchors: [],
    names: new Map([[key, { named: [], remaining: ['Words of others.'] }]]),
    space: { prefixes: [], claimants: [], others: [] },
    wordDecider: { ...words, decide: async () => ({ decision: isErased ? 'deleted' : 'retained' }) } as never,
    ownershipOf: nobodys,
  })
  for (const isErased of [false, true]) {
    const { judged, unsearched } = objectDecider({ versions: async () => [], read: async () => read }, search(isErased))
    expect((await judged(key))?.verdict).toBe(isErased ? 'deleted' : 'retained')
    expect([...unsearched.tags]).toEqual(isErased ? [] : [key])
  }
})

it('objectDecider reads the ids of a search once, however often it decides again', () => {
  let reads = 0
  class Ids extends Set<string> {
    override [Symbol.iterator]() {
      reads++
      return super[Symbol.iterator]()
    }
  }
  const search: ObjectSearch = {
    ids: new Ids(['msg_1']),
    chosen: [],
    anchors: [],
    names: new Map(),
    space: { prefixes: [], claimants: [], others: [] },
    wordDecider: words,
    ownershipOf: nobodys,
  }
  const objects = { versions: async () => [], read: async () => undefined }
  for (let n = 0; n < 3; n++) expect(objectDecider(objects, search).namesErased('of msg_1')).toBe(true)
  expect(reads).toBe(1)
})
