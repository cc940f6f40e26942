import { afterAll, beforeAll, expect, it } from 'vitest'
import { newId } from '#lib/kernel/ids.ts'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import {
  dataOf,
  type MadeProject,
  madeConversation,
  madeDocument,
  madeMessage,
  madeProject,
} from '#lib/testing/projects.ts'
import { Fingerprints } from './fingerprints.ts'
import { livingAuthors } from './living-authors.ts'

let test: TestApp
let erasing: MadeProject
let other: MadeProject
beforeAll(async () => {
  test = await testApp()
  erasing = await madeProject(test)
  other = await madeProject(test)
})
afterAll(() => test?.close())

const fingerprints = (text: string) => {
  const found = new Fingerprints()
  found.add(text)
  return found
}
const explainedOf = async (text: string, erasedIds: string[] = []) => {
  const words = fingerprints(text)
  const matches = words.runsIn(text)
  const living = livingAuthors({
    within: (work) => test.db.transaction(work),
    projects: [erasing.id],
    now: test.clock.now(),
    erasedIds: new Set(erasedIds),
    runsIn: (one) => words.runsIn(one),
  })
  return { explained: (await living.explained(text, matches)).size, all: new Set(matches.map(({ run }) => run)).size }
}
const write = async (project: MadeProject, content: string, role = 'user') =>
  madeMessage(test, await madeConversation(test, project), project.owner, { content, role })

it.each([
  ['equal', (text: string) => text],
  ['upper-case', (text: string) => text.toUpperCase()],
  ['wrapped', (text: string) => text.replaceAll(' ', '\n> ')],
  ['HTML', (text: string) => `<p>${text.replaceAll(' ', '<br>')}</p>`],
  ['percent-encoded', (text: string) => encodeURIComponent(text)],
  ['longer', (text: string) => `She wrote: ${text} And that was all.`],
])('explained returns all runs of a sentence when a message of another project contains it %s', async (_, form) => {
  const word = newId('w').slice(-8).toLowerCase()
  const text = `The ${word} fever began before we moved into Rhabarberstrasse ${word} with the dog.`
  await write(other, form(text))
  const { explained, all } = await explainedOf(text)
  expect(all).toBeGreaterThan(5)
  expect(explained).toBe(all)
})

it.each([
  '我从去年冬天开始因为房子被烧毁而患上了钴热病并且一直没有好转这件事情',
  'Für Ängstliche öffnet das Übergrößenhaus überall mürrische Türen während schöner Tage',
])('explained returns all runs of %s', async (text) => {
  await write(other, text)
  const { explained, all } = await explainedOf(text)
  expect(explained).toBe(all)
})

const otherScripts = [
  ['Russian', 'Мой новый адрес улица Ленина дом пять возле ёлки'],
  ['Greek', 'η νέα διεύθυνσή μου είναι οδός Ακαδημίας δίπλα στους κήπους'],
  ['Arabic', 'أصبت بالحمى منذ أن احترق بيتنا القديم في شارع الزيتون'],
  ['Hebrew', 'הכתובת החדשה שלי היא רחוב הזית ליד הגן הגדול'],
  ['Hindi', 'मेरा नया पता लाल किले के पास वाली पुरानी गली है'],
  ['Armenian', 'իմ նոր հասցեն գտնվում է հին այգու և դպրոցի միջև'],
  ['Georgian', 'ჩემი ახალი მისამართი არის ძველი ბაღის და სკოლის შორის'],
] as const
it.each(otherScripts)(
  'explained returns no run of a sentence in %s that no author of another project wrote',
  async (_, text) => {
    for (const content of ['ok', 'please water the tomatoes', text.split(' ').toReversed().join(' ')])
      await write(other, content)
    const { explained, all } = await explainedOf(text)
    expect(all).toBeGreaterThan(2)
    expect(explained).toBe(0)
  },
)

it.each(
  otherScripts.flatMap(([script, text]) => [
    [script, 'equal', text, text],
    [script, 'upper-case', text, text.toUpperCase()],
    [script, 'decomposed', text, text.normalize('NFD')],
  ]),
)(
  'explained returns all runs of a sentence in %s when a message of another project contains it %s',
  async (_, _form, text, written) => {
    const ending = ` ${newId('w').slice(-8).toLowerCase()}`
    await write(other, written + ending)
    const { explained, all } = await explainedOf(text + ending)
    expect(all).toBeGreaterThan(2)
    expect(explained).toBe(all)
  },
)

it('explained returns only the runs that another author wrote', async () => {
  const [first, second] = ['one two three four five six seven', 'eight nine ten eleven twelve thirteen fourteen']
  await write(other, first)
  expect(await explainedOf(`${first} ${second}`)).toEqual({ explained: 2, all: 9 })
})

it('explained returns the runs of the earlier text of an edited message', async () => {
  const text = 'the first version of this remark spoke about a green umbrella stand'
  const { path } = await write(other, text)
  await dataOf(test, 'PATCH', path, other.owner, { body: { content: 'Nothing.' } })
  const { explained, all } = await explainedOf(text)
  expect(explained).toBe(all)
})

it('explained returns nothing for texts of the erasing project, of assistants and of erased messages', async () => {
  const text = 'nobody else ever wrote these ten words about the lighthouse keeper'
  await write(erasing, text)
  await write(other, text, 'assistant')
  const { id } = await write(other, text)
  expect((await explainedOf(text, [id])).explained).toBe(0)
  expect((await explainedOf(text)).explained).toBeGreaterThan(0)
})

it('explained returns the runs of a document of another project', async () => {
  const text = 'the annual report mentions seventeen lighthouses along the northern coast'
  await madeDocument(test, other, other.owner, { bytes: `# Report\n\n${text}\n` })
  const { explained, all } = await explainedOf(text)
  expect(explained).toBe(all)
})

it.each([700, 5_300])(
  'explained returns the last runs of a text of %i words when a document of another project contains them',
  async (length) => {
    const seed = newId('w').slice(-8).toLowerCase()
    const words = Array.from({ length }, (_, at) => `${seed}x${at.toString(36)}`)
    await madeDocument(test, other, other.owner, { bytes: `# Terms\n\n${words.slice(-120).join(' ')}\n` })
    expect(await explainedOf(words.join(' '))).toEqual({ explained: 115, all: length - 5 })
  },
)

/** Words that nobody else has, so that each is read by its own pattern. */
const invented = (count: number): string[] => {
  const seed = newId('w').slice(-8).toLowerCase()
  return Array.from({ length: count }, (_, at) => `${seed}x${at.toString(36)}`)
}
/** Authors of the words of all these texts, with the number of transactions that the search needed. */
function counting(texts: readonly string[], limits: { patterns?: number; asked?: number; characters?: number }) {
  const words = new Fingerprints()
  for (const text of texts) words.add(text)
  let transactions = 0
  let uncompared = 0
  const make = () =>
    livingAuthors({
      within: (work) => {
        transactions++
        return test.db.transaction(work)
      },
      projects: [erasing.id],
      now: test.clock.now(),
      erasedIds: new Set(),
      runsIn: (one) => words.runsIn(one),
      words,
      onUncompared: () => uncompared++,
      limits,
    })
  const explained = async (living: ReturnType<typeof make>, text: string) => {
    const before = transactions
    const found = await living.explained(text, words.runsIn(text))
    return { explained: found.size, transactions: transactions - before }
  }
  return {
    make,
    explained,
    uncompared: () => uncompared,
    runs: (text: string) => new Set(words.runsIn(text).map(({ run }) => run)).size,
  }
}

it('explained reads all texts once for several texts with many unknown runs, also for the next page', async () => {
  const texts = [invented(80), invented(80), invented(80)].map((one) => one.join(' '))
  await write(other, texts[1]?.split(' ').slice(10, 30).join(' ') ?? '')
  const { make, explained } = counting(texts, { patterns: 50 })
  const living = make()
  expect((await explained(living, texts[0] ?? '')).explained).toBe(0)
  expect(await explained(living, texts[1] ?? '')).toEqual({ explained: 15, transactions: 0 })
  expect(await explained(make(), texts[2] ?? '')).toEqual({ explained: 0, transactions: 1 })
})

it('explained reads all texts instead of asking for many separate spans, or for many patterns in all', async () => {
  const quotes = Array.from({ length: 60 }, () => invented(6).join(' '))
  await write(other, quotes[59] ?? '')
  const { make, explained } = counting(quotes, { patterns: 50 })
  const transcript = quotes.map((one, n) => `${one}\nAnswer number ${n} of somebody.\n`).join('')
  expect((await explained(make(), transcript)).explained).toBe(1)
  const bounded = counting(quotes, { asked: 3 })
  const living = bounded.make()
  for (const quote of quotes.slice(0, 10)) expect((await bounded.explained(living, quote)).explained).toBe(0)
  expect(await bounded.explained(living, quotes[59] ?? '')).toEqual({ explained: 1, transactions: 0 })
})

it('explained returns and reports the runs that it cannot seek, because the texts are too long to be read', async () => {
  const text = invented(80).join(' ')
  const { make, explained, uncompared, runs } = counting([text], { patterns: 50, characters: 1 })
  const living = make()
  expect((await explained(living, text)).explained).toBe(runs(text))
  expect(uncompared()).toBe(1)
  // A short part of it can be asked for.
  expect((await explained(living, text.split(' ').slice(0, 12).join(' '))).explained).toBe(0)
  expect(uncompared()).toBe(1)
})

it('haveWritten returns whether an author of another project wrote six words of a text', async () => {
  const living = livingAuthors({
    within: (work) => test.db.transaction(work),
    projects: [erasing.id],
    now: test.clock.now(),
    erasedIds: new Set(),
    runsIn: () => [],
  })
  await write(other, 'please water the tomatoes on the balcony every second evening')
  expect(await living.haveWritten('user: please water the tomatoes on the balcony')).toBe(true)
  expect(await living.haveWritten('a paraphrase that no person in the installation ever wrote')).toBe(false)
  expect(await living.haveWritten('этого никто и никогда не писал в этой установке')).toBe(false)
})

it.each([2, 4, 6, 8])(
  'explained returns runs at the border between two parts of a document, %i words before it',
  async (before) => {
    const word = newId('w').slice(-8).toLowerCase()
    const words = `her ${word} fever began before we moved into Rhabarberstrasse with the ${word} dog`.split(' ')
    const first = `${words.slice(0, before).join(' ')} `
    const document = `${'o '.repeat((1_996 - first.length) / 2)}${first}${words.slice(before).join(' ')} ${'and so on '.repeat(80)}`
    const { chunks } = await madeDocument(test, other, other.owner, { bytes: document })
    expect(chunks).toBe(2)
    const stored = await test.db.prisma.documentChunk.findMany({ where: { content: { contains: word } } })
    expect(stored).toHaveLength(2)
    const { explained, all } = await explainedOf(words.join(' '))
    expect(all).toBeGreaterThan(5)
    expect(explained).toBe(all)
  },
)
