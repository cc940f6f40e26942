import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import type { Transaction } from '#lib/kernel/context.ts'
import { newId } from '#lib/kernel/ids.ts'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import {
  type MadeProject,
  madeConversation,
  madeDocument,
  madeMessage,
  madeProject,
  manyMessages,
} from '#lib/testing/projects.ts'
import { Fingerprints } from '../words/fingerprints.ts'
import { type ValueDecider, valueDecider } from './value-decider.ts'

let test: TestApp
let project: MadeProject
let decider: ValueDecider
let reads: number
let said: (content: string) => Promise<string>
beforeAll(async () => {
  test = await testApp()
})
afterAll(() => test?.close())
beforeEach(async () => {
  project = await madeProject(test)
  const conversation = await madeConversation(test, project)
  await madeMessage(test, conversation, project.agent, {
    content: 'Good evening to you all, and thank you',
    author: { external_id: 'u-1', name: 'Lena Fuchs' },
  })
  said = async (content) => (await madeMessage(test, conversation, project.owner, { content })).id
  reads = 0
  decider = valueDecider(new Fingerprints(), {
    within: <T>(work: (tx: Transaction) => Promise<T>) => {
      reads++
      return test.db.transaction(work)
    },
    projects: [project.id],
    now: test.clock.now(),
  })
})
const deciderNow = () =>
  valueDecider(new Fingerprints(), {
    within: (work) => test.db.transaction(work),
    projects: [project.id],
    now: test.clock.now(),
  })
const namesOfAccount = async (id: string): Promise<string[]> =>
  (await test.db.prisma.$queryRaw<{ name: string }[]>`SELECT name FROM account_names WHERE id = ${id}`).map(
    ({ name }) => name,
  )
const valueIn = (records: readonly object[]) => ({ form: 'text' as const, text: JSON.stringify(records) })

it('values that name the same messages read them once', async () => {
  const texts = ['A violin is in the shed behind the station', 'The library opens on every second Tuesday']
  const records = await Promise.all(texts.map(async (text) => ({ id: await said(text), text })))
  for (let n = 0; n < 5; n++)
    expect(await decider.hasRemainingText(valueIn([...records, { n }].slice(0, 2)))).toBe(true)
  expect(reads).toBe(1)
  const later = { id: await said('Nobody has repaired the bridge since spring'), text: 'x' }
  expect(await decider.hasRemainingText(valueIn([...records, later]))).toBe(true)
  expect(reads).toBe(2)
})

it('messages whose texts are too long are read once, and the value is compared as text', async () => {
  const ids = [await said('one'), await said('two')]
  await test.db.prisma.message.updateMany({ where: { id: { in: ids } }, data: { content: 'word '.repeat(900_000) } })
  const sought = { erased: new Set(['msg_erased']), namesErased: (text: string) => text.includes('msg_erased') }
  const value = valueIn([{ id: 'msg_erased', text: 'x' }, ...ids.map((id) => ({ id }))])
  expect(await decider.withoutRecords(value, sought)).toBeUndefined()
  const once = reads
  expect(await decider.withoutRecords(value, sought)).toBeUndefined()
  expect(reads).toBe(once)
})

it.each([
  ['everything is explained', true, (id: string) => [{ id, role: 'user', text: 'Oh no!' }]],
  ['the rest is a name of a member', true, () => [{ speaker: 'Lena', words: 'Oh no!' }]],
  ['the rest is somebody else', false, () => [{ speaker: 'Rosalind', words: 'Oh no!' }]],
  ['a record says more', false, (id: string) => [{ id, text: 'Oh no!', content: 'She has a fever' }]],
  [
    'another record says more',
    false,
    (id: string) => [
      { id, text: 'Oh no!' },
      { id: 'other', text: 'She has a fever' },
    ],
  ],
])('hasRemainingText of a record with a short text: %s', async (_, expected, recordsOf) => {
  expect(await decider.hasRemainingText(valueIn(recordsOf(await said('Oh no!'))))).toBe(expected)
})

it.each([
  ['of 20 characters', 'The heron returned at noon'],
  ['of six words', 'I do not go to it'],
])('hasRemainingText finds a text %s among more short ones than one statement reads', async (_, text) => {
  const [short, long] = [await said('no'), await said(text)]
  const first = await test.db.prisma.message.findUniqueOrThrow({ where: { id: short }, omit: { ordinal: true } })
  await test.db.prisma.message.createMany({
    data: Array.from({ length: 1_000 }, (_, n) => ({
      ...first,
      id: `${short.slice(0, -4)}${String(n).padStart(4, '0')}`,
    })),
    skipDuplicates: true,
  })
  await test.db.prisma.message.update({ where: { id: long }, data: { id: `msg_z${long.slice(5)}` } })
  const value = { form: 'text' as const, text: `It is known. ${text}` }
  expect(await decider.hasRemainingText(value)).toBe(true)
  expect(await decider.hasRemainingText({ form: 'text', text: 'It is no violin' })).toBe(false)
})

it('a value loses no record when the texts of its erased messages are too long to read the others', async () => {
  const ids = [await said('one'), await said('two')]
  await test.db.prisma.message.updateMany({ where: { id: { in: ids } }, data: { content: 'word '.repeat(900_000) } })
  const text = 'The bridge is closed until the spring'
  const { id: documentId } = await madeDocument(test, project, project.owner, { bytes: text })
  const violin = 'A violin is in the shed behind the station'
  const messageId = await said(violin)
  const erasedIds = new Set(ids)
  const erasing = valueDecider(new Fingerprints(), {
    within: (work) => test.db.transaction(work),
    projects: [project.id],
    now: test.clock.now(),
    erasedIds,
  })
  const value = valueIn([...ids.map((id) => ({ id })), { id: messageId, text: violin }, { id: documentId, text }])
  const sought = { erased: erasedIds, namesErased: (one: string) => ids.some((id) => one.includes(id)) }
  expect(await erasing.withoutRecords(value, sought)).toBeUndefined()
})

it('the one line that remains of NDJSON has a remaining text', async () => {
  const [erased, living] = [await said('It is raining'), await said('ok')]
  const lineOf = (id: string, text: string) => JSON.stringify({ id, user: project.owner.accountId, text })
  const sought = { erased: new Set([erased]), namesErased: (text: string) => text.includes(erased) }
  const lines = [lineOf(erased, 'It is raining'), lineOf(living, 'ok')]
  for (const text of [lines, lines.toReversed()].map((all) => all.join('\n'))) {
    const rest = (await decider.withoutRecords({ form: 'text', text }, sought)) ?? ''
    expect(rest.trim()).toBe(lines[1])
    expect(await decider.hasRemainingText({ form: 'text', text: rest })).toBe(true)
  }
  const more = JSON.stringify({ id: living, text: 'ok', note: 'She is ill' })
  expect(await decider.hasRemainingText({ form: 'text', text: more })).toBe(false)
})

it.each(['participant', 'account'])('the name of a person who is being erased explains no words: %s', async (kind) => {
  await madeMessage(test, await madeConversation(test, project), project.agent, { content: 'Oh no!' })
  const { id: participant } = await test.db.prisma.projectParticipant.findFirstOrThrow({
    where: { projectId: project.id },
  })
  const id = kind === 'participant' ? participant : project.owner.accountId
  const [name] = kind === 'participant' ? ['Lena'] : await namesOfAccount(id)
  const value = valueIn([{ speaker: name, words: 'Oh no!' }])
  const decided = () => deciderNow().hasRemainingText(value)
  expect(await decided()).toBe(true)
  await test.db.prisma
    .$executeRaw`INSERT INTO write_fences (kind, id, run_id, raised_at) VALUES (${kind}, ${id}, 'run_x', now())`
  expect(await decided()).toBe(false)
})

it('a transcript with a tag after each word loses only the erased words', async () => {
  const erased = 'My neighbour regularly photographs everything that happens behind our garden fence'
  const theirs = 'Every other Tuesday the library lends violins to children of the whole town'
  const tagged = (text: string) => text.replaceAll(' ', '/NN ').concat('/NN')
  await said(theirs)
  const words = new Fingerprints()
  words.add(erased)
  const options = { projects: [project.id], now: test.clock.now() }
  const decider = valueDecider(words, { ...options, within: (work) => test.db.transaction(work) })
  const decided = await decider.decide({ form: 'text', text: `${tagged(erased)}\n${tagged(theirs)}` }, undefined)
  expect(decided).toMatchObject({ decision: 'cut' })
  const rest = 'text' in decided ? decided.text : ''
  expect(rest).toContain(tagged(theirs))
  expect(rest).not.toContain('neighbour')
})

it('a long text of another person explains a value behind a thousand short ones', async () => {
  const erased = 'My neighbour regularly photographs everything that happens behind our garden fence'
  const theirs = 'Every other Tuesday the library lends violins to children of the whole town'
  const conversation = await madeConversation(test, project)
  const author = { kind: 'account' as const, id: project.owner.accountId }
  const short = await manyMessages(test, {
    projectId: project.id,
    conversations: [conversation.id],
    author,
    each: 1_001,
  })
  await test.db.prisma.message.updateMany({ where: { id: { in: short } }, data: { content: 'no' } })
  // Its id is behind all of theirs.
  await madeMessage(test, conversation, project.owner, { id: `zz-${newId('id')}`, content: theirs })
  const words = new Fingerprints()
  words.add(erased)
  const options = { projects: [project.id], now: test.clock.now() }
  const decider = valueDecider(words, { ...options, within: (work) => test.db.transaction(work) })
  const decided = await decider.decide({ form: 'text', text: `${erased}. No, ${theirs}.` }, undefined)
  expect(decided).toMatchObject({ decision: 'cut', text: expect.stringContaining(theirs) })
})

it('a list of messages of two projects keeps those of the other one, and loses unknown ones', async () => {
  const other = await madeProject(test)
  const room = await madeConversation(test, other)
  const text = 'Please transfer the deposit for the second house on Monday'
  const { id } = await madeMessage(test, room, other.owner, { content: text })
  const own = 'A violin is in the shed behind the station'
  const left = [
    { id: await said(own), text: own },
    { id, text },
  ]
  const more = [
    { id: 'msg_erased', text: 'x' },
    { id: 'unknown-1', text: 'Nobody knows this record.' },
    // Its text is not that of the message.
    { id, text: 'Somebody asked for a transfer.' },
  ]
  const sought = { erased: new Set(['msg_erased']), namesErased: (one: string) => one.includes('msg_erased') }
  expect(await deciderNow().withoutRecords(valueIn([...more, ...left]), sought)).toBe(JSON.stringify(left))
  await test.db.prisma.message.update({ where: { id }, data: { erasingSince: test.clock.now() } })
  expect(await deciderNow().withoutRecords(valueIn([...more, ...left]), sought)).toBe(JSON.stringify(left.slice(0, 1)))
})
