import { PostgresStore } from '@langchain/langgraph-checkpoint-postgres/store'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { newId } from '#lib/kernel/ids.ts'
import { withConnection } from '#lib/stores/postgres/connection.ts'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { testDatabase } from '#lib/testing/database.ts'
import { drain } from '#lib/testing/jobs.ts'
import {
  dataOf,
  eraseWholeProject,
  madeAttachment,
  madeConversation,
  madeMessage,
  madeProject,
} from '#lib/testing/projects.ts'
import { type PythonProgram, pythonProgram } from '#lib/testing/python.ts'
import { sampled } from '#lib/testing/sampling.ts'
import { isInstalled } from '#lib/testing/services/installed.ts'

type Value = Record<string, unknown>
interface Memories {
  put(namespace: string[], key: string, value: Value): Promise<unknown>
  get(namespace: string[], key: string): Promise<Value | null>
}
const pythonSchema = 'python_memory'

let app: TestApp
let role: string
let python: PythonProgram | undefined
let javascript: PostgresStore
const languages: Record<string, Memories> = {}
beforeAll(async () => {
  const database = await testDatabase()
  app = await testApp({}, database)
  role = new URL(database.appUrl).username
  javascript = PostgresStore.fromConnString(app.ownerUrl, { schema: 'langgraph' })
  languages.JavaScript = {
    put: (...item) => javascript.put(...item),
    get: async (namespace, key) => (await javascript.get(namespace, key))?.value ?? null,
  }
  if (!isInstalled('python')) return
  const program = pythonProgram('langgraph_threads.py')
  python = program
  await withConnection(app.ownerUrl, (client) => client.query(`CREATE SCHEMA ${pythonSchema}`))
  const address = new URL(app.ownerUrl)
  address.searchParams.set('options', `-csearch_path=${pythonSchema}`)
  const url = address.href
  await program.call('remember', { url, items: [] }, z.null())
  await withConnection(app.ownerUrl, (client) =>
    client.query(
      `GRANT USAGE ON SCHEMA ${pythonSchema} TO "${role}"; GRANT SELECT, UPDATE, DELETE ON ALL TABLES IN SCHEMA ${pythonSchema} TO "${role}"`,
    ),
  )
  languages.Python = {
    put: (...item) => program.call('remember', { url, items: [item] }, z.null()),
    get: (namespace, key) =>
      program.call('recall', { url, namespace, key }, z.record(z.string(), z.unknown()).nullable()),
  }
})
afterAll(async () => {
  await javascript?.stop()
  await python?.close()
  await app?.close()
})

/** A sentence whose runs occur nowhere else. */
const sentenceOf = (name: string) =>
  `The ${name} doctor told Ida, says ${name}, that her "long" illness ${name} — since Easter — is ${name} none of their business, ${name} or not.`
const receiptOf = async (id: string) => (await app.fetch('GET', `/v1/receipts/${id}`)).json
const claimsOnly = (organisation: string, namespaces: string[]) =>
  app.db.prisma.organisation.update({ where: { id: organisation }, data: { storeNamespaces: namespaces } })
/** All values of the long-term stores as text. */
const dumped = () =>
  withConnection(app.ownerUrl, async (client) => {
    const tables = ['langgraph.store', ...(python ? [`${pythonSchema}.store`] : [])]
    const all = await Promise.all(tables.map((table) => client.query(`SELECT t::text AS row FROM ${table} t`)))
    return all.flatMap(({ rows }) => rows.map(({ row }) => String(row))).join('\n')
  })

describe.each(sampled('languages of the long-term store', ['JavaScript', 'Python'], 1))(
  'the long-term store in %s',
  (language) => {
    describe.skipIf(language === 'Python' && !isInstalled('python'))('with items that name no id', () => {
      const name = () => `${language.toLowerCase()}x${newId('w').slice(-8).toLowerCase()}`
      const on = (): Memories => {
        const found = languages[language]
        if (!found) throw new Error(`${language} is not installed`)
        return found
      }
      async function said(
        content: string,
        theirs = 'We met the committee about the annual budget on Tuesday morning.',
      ) {
        const project = await madeProject(app)
        const conversation = await madeConversation(app, project)
        const message = await madeMessage(app, conversation, project.owner, { content })
        await madeMessage(app, conversation, project.agent, { content: theirs })
        return { project, conversation, message, theirs }
      }

      test('erasure deletes items that contain only erased words, and cuts items that another author shares', async () => {
        const word = name()
        const sentence = sentenceOf(word)
        const { project, message, theirs } = await said(sentence)
        const user = `user-${word}`
        const part = sentence.split(' ').slice(4, 13).join(', ').toUpperCase()
        await on().put(['memories', user], 'whole', { text: sentence })
        await on().put(['memories', user], 'part', { facts: [`Noted: ${part}`] })
        await on().put(['memories', user], 'escaped', { json: JSON.stringify({ said: `"${sentence}"` }) })
        await on().put(['memories', user], 'shared', { theirs, text: `${theirs} ${sentence}`, rank: 1.5 })
        await on().put(['memories', user], `key: ${sentence}`, { text: 'Nothing.' })
        await on().put(['memories', user], 'other', { text: 'The doctor told Ida something else.' })
        const plan = await dataOf(app, 'DELETE', `${message.path}?dry_run=true`, project.owner)
        expect(plan.verdicts).toContainEqual(expect.objectContaining({ kind: 'memory', evidence: ['items:5'] }))
        const receipt = await receiptOf(await eraseWholeProject(app, message.path, project.owner))
        expect(await dumped()).not.toContain(word.toUpperCase())
        for (const key of ['whole', 'part', 'escaped', `key: ${sentence}`])
          expect(await on().get(['memories', user], key), key).toBeNull()
        expect(await on().get(['memories', user], 'shared')).toEqual({ theirs, text: theirs, rank: 1.5 })
        expect(await on().get(['memories', user], 'other')).toEqual({ text: 'The doctor told Ida something else.' })
        expect(receipt.derived).toContainEqual(expect.objectContaining({ store: 'checkpoints', cut: 1, deleted: 4 }))
      })

      test('erasure keeps and counts what only a file of the message says, except in items that name the project', async () => {
        const word = name()
        const sentence = sentenceOf(word)
        const { project, message } = await said(`Please read the attached letter of ${word} before we meet on Friday.`)
        await madeAttachment(app, message, project.owner, { bytes: sentence })
        await on().put(['templates', word], 'letter', { text: sentence })
        await on().put(['memories'], project.id, { text: sentence })
        const receipt = await receiptOf(await eraseWholeProject(app, message.path, project.owner))
        expect(await on().get(['templates', word], 'letter')).toEqual({ text: sentence })
        expect(await on().get(['memories'], project.id)).toBeNull()
        expect(receipt.not_searched).toEqual([
          { store: 'checkpoints', what: expect.stringContaining('may belong, to another project'), count: 1 },
        ])
      })

      test('verification finds an item that a background process writes after the rows are deleted', async () => {
        const word = name()
        const sentence = sentenceOf(word)
        const { project, message } = await said(sentence)
        const sent = await app.fetch('DELETE', message.path, { ...project.owner, body: {} })
        await drain(app)
        await on().put(['late', word], 'whole', { text: sentence })
        app.clock.advance(25 * 3_600_000)
        await app.app.jobs.find(({ name: job }) => job === 'erasure.recheck')?.execute(app.app.pipeline, {})
        await drain(app)
        expect(await on().get(['late', word], 'whole')).toBeNull()
        const seen = await app.fetch('GET', `/api/erasures/${sent.json.auditId}`, { cookie: project.owner.cookie })
        expect(seen.json.data.late_found).toBeGreaterThan(0)
      })

      test('erasure keeps items of another project, and the receipt counts those of the same organization', async () => {
        const word = name()
        const sentence = sentenceOf(word)
        const { project, message } = await said(sentence)
        const sibling = await madeProject(app, { owner: project.owner })
        const room = await madeConversation(app, sibling)
        const stranger = await said('Something else was said here by somebody else.')
        const thread = `${word}-thread-2027`
        await dataOf(app, 'PATCH', stranger.conversation.path, stranger.project.owner, { body: { threads: [thread] } })
        await claimsOnly(stranger.project.owner.organisationId, [`acme-${word}`])
        const value = { text: `Noted: ${sentence}` }
        const retained: [string[], string, Value][] = [
          [['memories', word], `in ${room.id}`, value],
          [['memories', word], 'by-value', { ...value, project: sibling.id }],
          [['memories', thread], 'x', value],
          [['memories', word], `of ${stranger.message.id}`, value],
          [[`acme-${word}-7`, 'memories'], word, value],
          [['memories', word], stranger.project.owner.organisationId, value],
        ]
        for (const item of retained) await on().put(...item)
        const receipt = await receiptOf(await eraseWholeProject(app, message.path, project.owner))
        for (const [namespace, key, text] of retained)
          expect(await on().get(namespace, key), namespace.join()).toEqual(text)
        expect(receipt.not_searched).toContainEqual(
          expect.objectContaining({ store: 'checkpoints', what: expect.stringContaining('another project'), count: 2 }),
        )
      })

      test('erasure keeps an item whose words also occur in a remaining message of another project', async () => {
        const word = name()
        const sentence = sentenceOf(word)
        const { project, message } = await said(sentence)
        const other = await said(sentence)
        await on().put(['shared', word], 'both', { text: sentence })
        const first = await receiptOf(await eraseWholeProject(app, message.path, project.owner))
        expect(await on().get(['shared', word], 'both')).toEqual({ text: sentence })
        expect(JSON.stringify(first.not_searched)).toContain('may belong, to another project')
        await eraseWholeProject(app, other.message.path, other.project.owner)
        expect(await on().get(['shared', word], 'both')).toBeNull()
      })

      test('erasure changes only its own items when the organization has no namespace, and the receipt reports this', async () => {
        const word = name()
        const sentence = sentenceOf(word)
        const { project, message } = await said(sentence)
        // The only organization with people may claim everything.
        await madeProject(app)
        await claimsOnly(project.owner.organisationId, [`team-${word}`])
        await on().put(['memories', word], 'nobody', { text: sentence })
        await on().put(['memories', `team-${word}-x`], 'near', { text: sentence })
        await on().put(['memories', word], `${project.owner.organisationId}_x`, { text: sentence })
        await on().put(['memories', word], `of ${project.id}`, { text: sentence })
        // Anybody can have these ids written into an item.
        const planted = { text: `Project ${project.id} said in ${message.id}: ${sentence}`, project: project.id }
        await on().put(['memories', word], 'planted', planted)
        await on().put(['memories', `team-${word}-x`], 'claimed', { text: `As ${message.id} says.` })
        const receipt = await receiptOf(await eraseWholeProject(app, message.path, project.owner))
        expect(await on().get(['memories', word], 'nobody')).toEqual({ text: sentence })
        expect(await on().get(['memories', `team-${word}-x`], 'near')).toBeNull()
        expect(await on().get(['memories', word], `${project.owner.organisationId}_x`)).toBeNull()
        expect(await on().get(['memories', word], `of ${project.id}`)).toBeNull()
        expect(await on().get(['memories', word], 'planted')).toEqual(planted)
        expect(await on().get(['memories', `team-${word}-x`], 'claimed')).toBeNull()
        expect(receipt.not_searched).toContainEqual({
          store: 'checkpoints',
          what: expect.stringContaining('belong to others'),
          count: 1,
        })
        expect(receipt.stores.every(({ residue }: { residue: number }) => residue === 0)).toBe(true)
        expect(receipt.not_searched).toContainEqual({
          store: 'checkpoints',
          what: expect.stringContaining('outside the namespaces of its organization'),
          count: null,
        })
      })

      test('a repeated erasure knows the organization that another page recorded, after the rows are deleted', async () => {
        const word = name()
        const { project, conversation, message } = await said(sentenceOf(word))
        await madeProject(app)
        await claimsOnly(project.owner.organisationId, [`team-${word}`])
        const namespace = [`team-${word}-x`, 'memories']
        // It exists at planning, so its id and the organization are on different pages.
        await on().put(namespace, 'again', { text: `As ${message.id} says.` })
        const source = app.app.dataSources.find(({ name: one }) => one === 'checkpoints.messages')
        if (!source) throw new Error('the data source is missing')
        const part = { kind: 'project' as const, id: project.id, project: project.id, conversation: null }
        const { items, watched = [] } = await app.db.transaction((tx) => source.plan({ part }, tx, app.clock.now()))
        const all = [...items, ...watched]
        const page = all.filter((item) => !item.startsWith('/@'))
        expect(page.length).toBeLessThan(all.length)
        await dataOf(app, 'POST', `${project.path}/close`, project.owner, { body: {} })
        app.clock.advance(31 * 24 * 3_600_000)
        await app.app.jobs.find(({ name: job }) => job === 'projects.close')?.execute(app.app.pipeline, {})
        await drain(app)
        expect(await on().get(namespace, 'again')).toBeNull()
        await on().put(namespace, 'again', { text: `As ${message.id} says.` })
        const nobody = { subject: { account: null, agents: [] } }
        const residue = () => source.residue(nobody, all, app.clock.now())
        expect(await residue()).toBe(1)
        const repeat = (given: readonly string[]) =>
          app.db.transaction((tx) => {
            const key = `${newId('run')}:${source.name}:1:p`
            return source.erase(nobody, page, tx, {
              key,
              redacts: false,
              round: 1,
              all: async () => given,
              now: app.clock.now(),
            })
          })
        await repeat([])
        expect(await residue()).toBe(1)
        await repeat(all)
        expect([await residue(), await on().get(namespace, 'again')]).toEqual([0, null])
        // The second search of the run knows the id of the conversation, which is on another page, too.
        const known = ['again', conversation.id] as const
        await on().put([known[0]], known[1], { text: `As ${message.id} says.` })
        app.clock.advance(25 * 3_600_000)
        await app.app.jobs.find(({ name: job }) => job === 'erasure.recheck')?.execute(app.app.pipeline, {})
        await drain(app)
        expect(await on().get([known[0]], known[1])).toBeNull()
      })

      test('erasure removes a person’s name and email address, however short they are', async () => {
        const word = name()
        const { project, conversation } = await said('We met the committee about the annual budget on Tuesday.')
        const author = { external_id: word, name: `Ida ${word}`, email: `ida@${word}.example` }
        await dataOf(app, 'POST', `${conversation.path}/messages`, project.agent, {
          body: { role: 'user', content: 'Hello.', author },
        })
        await on().put(['profiles', 'x'], `by-name ${word.slice(0, 4)}`, { text: `IDA ${word} prefers tea.` })
        await on().put(['profiles', 'x'], `by-email ${word.slice(0, 4)}`, {
          text: `Write to ida@${word}.example soon.`,
        })
        const [person] = await dataOf(app, 'GET', `${project.path}/participants?external_id=${word}`, project.owner)
        await dataOf(app, 'POST', `${project.path}/participants/${person.id}/requests`, project.owner, {
          body: { kinds: ['erasure'], grace: 'now' },
        })
        await drain(app)
        expect((await dumped()).toLowerCase()).not.toContain(word)
      })
    })
  },
)

test('erasure counts items of a long-term store that can only be read, and the receipt names them', async () => {
  const schema = 'readable_memory'
  const readable = PostgresStore.fromConnString(app.ownerUrl, { schema })
  onTestFinished(() => readable.stop())
  await readable.setup()
  await withConnection(app.ownerUrl, (client) =>
    client.query(
      `GRANT USAGE ON SCHEMA ${schema} TO "${role}"; GRANT SELECT ON ALL TABLES IN SCHEMA ${schema} TO "${role}"`,
    ),
  )
  const sentence = sentenceOf('readable')
  const project = await madeProject(app)
  const conversation = await madeConversation(app, project)
  const message = await madeMessage(app, conversation, project.owner, { content: sentence })
  const value = { text: `Noted: ${sentence}` }
  await readable.put(['memories', 'ida'], 'a', value)
  await readable.put(['memories', 'ida'], 'b', { text: 'The doctor told Ida something else.' })
  const receipt = await receiptOf(await eraseWholeProject(app, message.path, project.owner))
  expect((await readable.get(['memories', 'ida'], 'a'))?.value).toEqual(value)
  expect(receipt.not_searched).toContainEqual({
    store: 'checkpoints',
    what: expect.stringContaining('may only read'),
    count: 1,
  })
})
