import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { gatheredSources } from '#lib/domains/projects/provenance/gathered-sources.ts'
import { newId } from '#lib/kernel/ids.ts'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { dataOf, type MadeProject, madeConversation, madeMessage, madeProject } from '#lib/testing/projects.ts'
import { explainedRuns, remainingTextsIn } from './remaining-texts.ts'
import { runWords } from './run-words.ts'

const sentence = 'The patient in room nine keeps a heron in the bathroom of her aunt.'
const template = 'Thank you for writing to the clinic. We will answer within two days.'

let test: TestApp
let project: MadeProject
beforeAll(async () => {
  test = await testApp()
  words = runWords({ db: test.db, sources: gatheredSources() })
})
beforeEach(async () => {
  project = await madeProject(test)
})
afterAll(() => test?.close())

const erase = async (path: string) => {
  const { json } = await test.fetch('DELETE', path, project.owner)
  const run = await test.app.subjectErasures.byAudit(json.auditId)
  if (!run) throw new Error('no run')
  return { run, receipt: (await test.fetch('GET', `/v1/receipts/${run.receiptId}`)).json }
}
const stored = (runId: string) => test.db.prisma.erasedWords.findUnique({ where: { runId } })
const messageOf = (message: { id: string }) => ({
  part: { kind: 'message' as const, id: message.id, project: project.id, conversation: null },
})

let words: ReturnType<typeof runWords>

describe('the word fingerprints of an erasure run', () => {
  const begun = async () => {
    const id = newId('run')
    await test.db.prisma.erasureRun.create({
      data: {
        id,
        receiptId: newId('rcpt'),
        requestedBy: 'test',
        reason: 'user_request',
        createdAt: test.clock.now(),
      },
    })
    return id
  }

  it('match the erased sentence, its earlier text and added texts, and are deleted with the erasure run', async () => {
    const conversation = await madeConversation(test, project)
    const message = await madeMessage(test, conversation, project.owner, { content: template })
    await test.fetch('PATCH', message.path, { ...project.owner, body: { content: sentence } })
    const runId = await begun()
    const { transaction } = test.app.db
    const now = test.clock.now()
    await transaction((tx) => words.gather(tx, runId, messageOf(message), now))
    await transaction((tx) => words.gather(tx, runId, messageOf(message), now))
    expect((await stored(runId))?.version).toBe(1)
    await transaction((tx) => words.add(tx, runId, ['Somebody else worded it in quite another way.']))
    expect(await stored(runId)).toMatchObject({ version: 2, projects: [project.id] })
    const found = await transaction((tx) => words.of(tx, runId))
    expect(found?.runsIn(`He said: ${sentence}`).length).toBeGreaterThan(5)
    expect(found?.runsIn('somebody ELSE worded it in quite').length).toBe(1)
    expect(found?.runsIn(template).length).toBeGreaterThan(5)
    await transaction((tx) => words.forget(tx, runId))
    expect(await transaction((tx) => words.of(tx, runId))).toBeUndefined()
  })

  it('include runs across messages of one time, in the order in which they were stored and in no other one', async () => {
    const conversation = await madeConversation(test, project)
    const lines = ['pale otters hum', 'seven bricks sing', 'old clocks swim', 'tin drums nap', 'red maps yawn']
    for (const content of lines) await madeMessage(test, conversation, project.owner, { content })
    const runId = await begun()
    const { id } = conversation
    const part = { kind: 'conversation', id, project: project.id, conversation: id } as const
    await test.app.db.transaction((tx) => words.gather(tx, runId, { part }, test.clock.now()))
    const found = await test.app.db.transaction((tx) => words.of(tx, runId))
    for (const [at, line] of lines.entries())
      for (const [other, next] of lines.entries())
        if (at !== other)
          expect(found?.runsIn(`${line} ${next}`).length, `${line} ${next}`).toBe(other === at + 1 ? 1 : 0)
  })

  it('include both of two concurrent additions', async () => {
    const runId = await begun()
    const texts = ['one sentence that has at least six words', 'another sentence of at least six other words']
    await Promise.all(texts.map((text) => test.app.db.transaction((tx) => words.add(tx, runId, [text]))))
    const found = await test.app.db.transaction((tx) => words.of(tx, runId))
    for (const text of texts) expect(found?.runsIn(text).length).toBeGreaterThan(1)
  })

  it('are attributed to remaining messages and documents that contain them, and not to erased ones', async () => {
    const conversation = await madeConversation(test, project)
    const one = await madeMessage(test, conversation, project.owner, { content: `${template} ${sentence}` })
    const other = await madeMessage(test, conversation, project.owner, { content: template })
    const runId = await begun()
    const { transaction } = test.app.db
    const now = test.clock.now()
    await transaction((tx) => words.gather(tx, runId, messageOf(one), now))
    const { runs, places } = await transaction(async (tx) => {
      const found = await words.of(tx, runId)
      if (!found) throw new Error('no words')
      return explainedRuns(tx, project.id, found, now, new Set([one.id]))
    })
    expect(places).toContainEqual({ kind: 'message', id: other.id })
    expect(places).not.toContainEqual({ kind: 'message', id: one.id })
    const found = await transaction((tx) => words.of(tx, runId))
    const ofSentence = found?.runsIn(sentence).map(({ run }) => run) ?? []
    const ofTemplate = found?.runsIn(template).map(({ run }) => run) ?? []
    expect(ofTemplate.every((run) => runs.has(run))).toBe(true)
    expect(ofSentence.some((run) => runs.has(run))).toBe(false)
    const within = await transaction((tx) =>
      remainingTextsIn(
        tx,
        project.id,
        `user: ${sentence}\nbot:  ${template.replace(' ', '\n')}`,
        now,
        new Set([one.id]),
      ),
    )
    const texts = within.map(({ text }) => text)
    expect(texts).toContain(template)
    expect(texts).not.toContain(sentence)
  })
})

describe('the erasure ledger', () => {
  it('stores the fingerprints encrypted, and they match the words after the erasure run deletes its words', async () => {
    const conversation = await madeConversation(test, project)
    const message = await madeMessage(test, conversation, project.owner, { content: sentence })
    const { receipt } = await erase(message.path)
    const noted: string[] = []
    for await (const row of test.app.ledger.read())
      if (row.kind === 'items' && row.id === receipt.receipt_id && row.holder === 'erased.words')
        noted.push(...row.items)
    // The second item is the time of the oldest erased text.
    const written = test.clock.now()
    expect(noted).toHaveLength(2)
    expect(new Date(noted.pop() ?? '').getTime()).toBeLessThanOrEqual(written.getTime())
    expect(words.read(noted).runsIn(sentence).length).toBeGreaterThan(5)
    const folder = join(test.dataDir, 'erasures')
    for (const file of readdirSync(folder).filter((name) => name.endsWith('.ledger')))
      expect(readFileSync(join(folder, file), 'utf8')).not.toContain(noted[0])
    expect(receipt.retained.map(({ what }: { what: string }) => what)).toContainEqual(
      expect.stringContaining('keyed fingerprints of the erased words'),
    )
  })
})

describe('a receipt', () => {
  it('lists messages of other authors that contain the words, and the run deletes its words after the second search and a complete reading', async () => {
    const conversation = await madeConversation(test, project)
    const message = await madeMessage(test, conversation, project.owner, { content: sentence })
    const quote = await madeMessage(test, conversation, project.owner, {
      content: `She wrote: “${sentence.toUpperCase()}”`,
    })
    const { run, receipt } = await erase(message.path)
    expect(receipt.remaining_mentions).toEqual([{ store: 'postgresql', kind: 'message', field: 'content', count: 1 }])
    const data = await dataOf(test, 'GET', `/api/erasures/${run.auditId}`, project.owner)
    expect(data.remaining_mentions).toContainEqual(expect.objectContaining({ store: 'postgresql', id: quote.id }))
    expect(JSON.stringify(receipt)).not.toContain('heron')
    test.clock.advance(25 * 3_600_000)
    await test.app.subjectErasures.recheck(run.id)
    expect(await stored(run.id)).not.toBeNull()
    await test.app.completeReadings.read({ rests: false })
    expect(await stored(run.id)).toBeNull()
  })

  it('lists no messages when no other author wrote the words', async () => {
    const conversation = await madeConversation(test, project)
    const message = await madeMessage(test, conversation, project.owner, {
      content: 'These particular words were never written by anybody before.',
    })
    const { receipt } = await erase(message.path)
    expect(receipt).not.toHaveProperty('remaining_mentions')
  })
})
