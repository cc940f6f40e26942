import { expect, it } from 'vitest'
import { Problem } from '#lib/kernel/problem.ts'
import { unusableStore } from '#lib/kernel/store-refusal.ts'
import { Fingerprints } from '../words/fingerprints.ts'
import { fileReader, filesNotCompared } from './file-texts.ts'

const sentence = 'Dear landlord, here is the summary of our meeting from last Tuesday evening.'
const secrets = Array.from(
  { length: 400 },
  (_, n) => `Secret ${n}: the neighbour sold the house number ${n} to a cousin.`,
)
const files: Record<string, Buffer> = {
  long: Buffer.from([sentence, ...secrets].join('\n')),
  short: Buffer.from('Thank you.'),
  binary: Buffer.from([0x89, 0, 0xff]),
}
const stored = (key: string, mediaType = 'text/plain', bytes = files[key]?.length ?? 0) => ({ key, mediaType, bytes })
const read = async (key: string) => {
  const bytes = files[key]
  if (!bytes) throw new Problem('unavailable', 'Access denied.')
  return { bytes, described: [], state: '', version: '1' }
}
const compare = (words: Fingerprints, all: readonly ReturnType<typeof stored>[]) =>
  filesNotCompared(read as never, all, words)

it('counts a file whose words are not among those of the run, also if a message says the same as its beginning', async () => {
  const words = new Fingerprints()
  words.add(sentence)
  expect(await compare(words, [stored('long')])).toMatchObject({ noText: [], unread: ['long'] })
  words.addFile('long', [String(files.long)])
  expect(await compare(words, [stored('long')])).toMatchObject({ noText: [], unread: [], missing: [] })
})

it('counts a binary file as one without text, and no file without a run', async () => {
  const all = [stored('short'), stored('binary', 'application/octet-stream'), stored('a.pdf', 'application/pdf')]
  expect(await compare(new Fingerprints(), all)).toEqual({
    noText: ['binary', 'a.pdf'],
    unread: [],
    settled: { binary: ['binary'], short: ['short'] },
    missing: [],
  })
})

it('tells a file that the store does not have from one that it does not give', async () => {
  const gone = async () => undefined
  expect(
    await filesNotCompared(gone, [stored('short'), stored('a.pdf', 'application/pdf')], new Fingerprints()),
  ).toEqual({ noText: ['a.pdf'], unread: [], settled: { binary: [], short: [] }, missing: ['short'] })
})

/** A store that does not give one file. */
function refusing(refusal?: 'access_denied') {
  const asked: string[] = []
  return {
    asked,
    read: (async (key: string) => {
      asked.push(key)
      if (key === 'refused') throw unusableStore(refusal, { detail: 'The store failed.' })
      return read(key)
    }) as never,
  }
}
const three = [stored('short'), stored('refused', 'text/plain', 5), stored('binary', 'application/octet-stream')]

it('counts a file that the store refuses to give, and reads the others', async () => {
  const store = refusing('access_denied')
  expect(await filesNotCompared(store.read, three, new Fingerprints())).toMatchObject({
    noText: ['binary'],
    unread: ['refused'],
  })
})

it('asks a store that does not answer only once, and counts all further files', async () => {
  const store = refusing()
  expect(await filesNotCompared(store.read, three, new Fingerprints())).toMatchObject({
    noText: [],
    unread: ['refused', 'binary'],
  })
  expect(store.asked).toEqual(['short', 'refused'])
})

it('asks a store that does not answer only once for all sources of a plan', async () => {
  const store = refusing()
  const textsOf = fileReader(store.read)({} as never, new Date(0), async () => new Set())
  for (const file of [...three, ...three]) expect(await textsOf('prj_1', [file])).toEqual([])
  expect(store.asked).toEqual(['short', 'refused'])
})

it('counts what is too large, and reads no more than the plan', async () => {
  const large = stored('large', 'text/plain', 3 * 1024 * 1024)
  expect(await compare(new Fingerprints(), [large])).toMatchObject({ noText: [], unread: ['large'] })
})

it('knows which runs only files have, also after storing and merging', () => {
  const key = Buffer.from('12345678')
  const words = new Fingerprints(key)
  words.add(sentence)
  words.addFile('long', [String(files.long)])
  const other = new Fingerprints(key)
  other.add(secrets[7] ?? '')
  for (const one of [
    words,
    Fingerprints.fromBytes(words.toBytes()),
    Fingerprints.merged([words, new Fingerprints(key)]),
  ]) {
    expect(one.hasFile('long')).toBe(true)
    expect(one.hasFile('short')).toBe(false)
    const ofText = one.runsIn(sentence)
    expect(ofText.length).toBeGreaterThan(0)
    expect(ofText.some(({ isOfFile }) => isOfFile)).toBe(false)
    const ofFile = one.runsIn(secrets[7] ?? '')
    expect(ofFile.length).toBeGreaterThan(0)
    expect(ofFile.every(({ isOfFile }) => isOfFile)).toBe(true)
  }
  const both = Fingerprints.merged([words, other]).runsIn(secrets[7] ?? '')
  expect(both.some(({ isOfFile }) => isOfFile)).toBe(false)
  words.add(secrets[7] ?? '')
  expect(words.runsIn(secrets[7] ?? '').some(({ isOfFile }) => isOfFile)).toBe(false)
  expect(words.hasFile('long')).toBe(true)
})

it('stores words without files as before', () => {
  const words = new Fingerprints(Buffer.from('12345678'))
  words.add(sentence)
  const bytes = words.toBytes()
  const runs = new Float64Array(new Uint8Array(bytes.subarray(9 + 5 * 8)).buffer)
  expect([...runs]).toEqual([...runs].sort((one, other) => one - other))
  words.addFile('long', [String(files.long)])
  const more = new Float64Array(new Uint8Array(words.toBytes().subarray(9 + 5 * 8)).buffer)
  // Versions that do not know negative numbers search the sorted numbers, and find the same words as before.
  expect([...more]).toEqual([...more].sort((one, other) => one - other))
  expect([...more].filter((run) => run >= 0)).toEqual([...runs])
})
