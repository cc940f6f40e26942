// Conversations that the real LangGraph writes in Python and JavaScript with its default serializers, erased through
// the API. A checker that shares no code with the erasure reads a raw dump of all tables before and after.
import { PostgresSaver } from '@langchain/langgraph-checkpoint-postgres'
import { PostgresStore } from '@langchain/langgraph-checkpoint-postgres/store'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import * as written from '#lib/stores/checkpoints/suite/written-thread.ts'
import { withConnection } from '#lib/stores/postgres/connection.ts'
import { testDatabase } from '#lib/testing/database.ts'
import { rowsOf } from '#lib/testing/everything.ts'
import { type Issued, issuedAgent } from '#lib/testing/people.ts'
import { type PrivacyTest, privacyTest } from '#lib/testing/privacy.ts'
import { dataOf, eraseWholeProject, type MadeProject, madeConversation, madeProject } from '#lib/testing/projects.ts'
import { pythonProgram } from '#lib/testing/python.ts'
import { sampled } from '#lib/testing/sampling.ts'
import { isInstalled } from '#lib/testing/services/installed.ts'
import { personWithPassword } from '#lib/testing/subjects.ts'

// The checker. The erasure uses none of it.

/** Words in lower case with a space around each. The texts of this file are ASCII. */
const folded = (text: string): string =>
  ` ${text
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, ' ')
    .trim()} `
/** Encodings in which bytes can contain text: UTF-32 of numpy, lists of numbers, base64. */
function views(value: string): string[] {
  const numbers = [...value.matchAll(/\[(?:\d{1,3},){19,}\d{1,3}\]/g)].map(([list]) =>
    String.fromCharCode(...z.array(z.number()).parse(JSON.parse(list))),
  )
  const encoded = [...value.matchAll(/[A-Za-z0-9+/]{40,}={0,2}/g)].map(([text]) =>
    Buffer.from(text, 'base64').toString('latin1'),
  )
  return [value.replaceAll('\0', ''), ...numbers, ...encoded]
}
function runsOf(texts: readonly string[]): string[] {
  return texts.flatMap((text) => {
    const words = folded(text).trim().split(' ')
    return words.flatMap((_, at) => (at + 6 <= words.length ? [` ${words.slice(at, at + 6).join(' ')} `] : []))
  })
}
/**
 * Whether a value contains six erased words in a row outside the complete text of another author's message. Arrays of
 * numpy have no word boundaries.
 */
function hasRun(value: string, erased: readonly string[], others: readonly string[]): boolean {
  const runs = runsOf(erased)
  return views(value).some((view) => {
    const rest = others.reduce((text, other) => text.replaceAll(folded(other).trim(), ' | '), folded(view))
    return runs.some((run) => rest.includes(run))
  })
}

/** The library in one language, with its tables. */
interface Language {
  stage: PrivacyTest
  say(thread: string, id: string, text: string): Promise<unknown>
  resume(thread: string): Promise<unknown>
  /** Writes a text into a past state and continues from there. */
  fork(thread: string, text: string): Promise<unknown>
  /** Type, id and text of each message of every state, newest state first. */
  history(thread: string): Promise<string[][][]>
  /** Like {@link say} and {@link history}, for an application with its messages in a DeltaChannel. */
  sayDelta(thread: string, id: string, text: string): Promise<unknown>
  historyDelta(thread: string): Promise<string[][][]>
  remember(namespace: string[], key: string, value: Record<string, string>): Promise<unknown>
  /** The keys of the items. */
  remembered(namespace: string[]): Promise<string[]>
  /** The database with the library's tables. */
  url: string
  schema: string
  close(): Promise<unknown>
}

async function inPython(): Promise<Language> {
  const threads = await testDatabase()
  const url = threads.ownerUrl
  const python = pythonProgram('langgraph_threads.py')
  await python.call('setup', { url }, z.null())
  await python.call('remember', { url, items: [] }, z.null())
  const stage = await privacyTest({ KP_CHECKPOINTS_URL: url })
  const States = z.array(z.object({ messages: z.array(z.array(z.string())) }))
  return {
    stage,
    say: (thread, id, text) => python.call('say', { url, thread, id, text }, z.null()),
    resume: (thread) => python.call('resume', { url, thread }, z.array(z.string())),
    fork: (thread, text) => python.call('fork', { url, thread, text }, z.null()),
    history: async (thread) => (await python.call('history', { url, thread }, States)).map(({ messages }) => messages),
    sayDelta: (thread, id, text) => python.call('say_delta', { url, thread, id, text }, z.null()),
    historyDelta: async (thread) =>
      (await python.call('history_delta', { url, thread }, States)).map(({ messages }) => messages),
    remember: (...item) => python.call('remember', { url, items: [item] }, z.null()),
    remembered: (namespace) => python.call('remembered', { url, namespace }, z.array(z.string())),
    url,
    schema: 'public',
    async close() {
      await stage.close()
      await python.close()
      await threads.drop()
    },
  }
}

const Message = z.object({ id: z.string().default(''), content: z.unknown(), type: z.string().default('') })
async function inJavaScript(): Promise<Language> {
  const stage = await privacyTest()
  const url = stage.test.ownerUrl
  const saver = PostgresSaver.fromConnString(url, { schema: 'langgraph' })
  const memory = PostgresStore.fromConnString(url, { schema: 'langgraph' })
  const app = written.assistant(saver)
  const delta = written.echo(saver)
  const statesOf = async (of: Parameters<typeof written.historyOf>[0], thread: string) =>
    (await written.historyOf(of, thread)).map(({ values }) =>
      z
        .array(Message)
        .parse(values.messages ?? [])
        .map(({ id, content, type }) => [type, id, String(content)]),
    )
  return {
    stage,
    say: (thread, id, text) => written.writeMessage(app, thread, id, text),
    resume: (thread) => written.approveTool(app, thread),
    fork: (thread, text) => written.fork(app, thread, text),
    history: (thread) => statesOf(app, thread),
    sayDelta: (thread, id, text) => written.writeMessage(delta, thread, id, text),
    historyDelta: (thread) => statesOf(delta, thread),
    remember: (...item) => memory.put(...item),
    remembered: async (namespace) => (await memory.search(namespace)).map(({ key }) => key),
    url,
    schema: 'langgraph',
    async close() {
      await memory.stop()
      await saver.end()
      await stage.close()
    },
  }
}

/** One value of a row of the library's tables. */
interface Value {
  table: string
  thread: string
  namespace: string
  channel: string
  checkpoint: string
  text: string
}
const valuesOf = ({ url, schema }: Language): Promise<Value[]> =>
  withConnection(url, async (client) => {
    const values: Value[] = []
    for (const table of ['checkpoints', 'checkpoint_blobs', 'checkpoint_writes', 'store']) {
      const { rows } = await client.query<Record<string, unknown>>(`SELECT * FROM ${schema}.${table}`)
      for (const row of rows)
        values.push({
          table,
          thread: String(row.thread_id ?? ''),
          namespace: String(row.checkpoint_ns ?? ''),
          channel: String(row.channel ?? ''),
          checkpoint: String(row.checkpoint_id ?? ''),
          text: Object.values(row)
            .map((one) => (Buffer.isBuffer(one) ? one.toString('latin1') : JSON.stringify(one)))
            .join('\n'),
        })
    }
    return values
  })
/** Every value of every table of the library and of the application. */
async function dumped({ url, stage }: Language): Promise<string[]> {
  const places = new Set([url, stage.test.ownerUrl])
  const dumps = await Promise.all([...places].map(rowsOf))
  return dumps.flatMap((contents) => [...contents.values()])
}

/** Counts the values with erased words by feature. */
function features(values: readonly Value[], parents: ReadonlySet<string>, has: (text: string) => boolean) {
  const found = values.filter(({ text }) => has(text))
  const isThread = ({ table }: Value) => table !== 'store'
  const writes = found.filter(({ table }) => table === 'checkpoint_writes')
  return {
    checkpoints: found.filter(isThread).length,
    subgraphs: found.filter(({ namespace }) => namespace !== '').length,
    tools: found.filter(({ channel, text }) => channel === 'messages' && text.includes('tool_call_id')).length,
    send: writes.filter(({ channel }) => channel === '__pregel_tasks').length,
    interrupts: writes.filter(({ channel }) => channel === '__interrupt__').length,
    pendingWrites: writes.filter(
      ({ channel, checkpoint, namespace }) =>
        channel !== '__interrupt__' && namespace === '' && !parents.has(checkpoint),
    ).length,
    store: found.filter(({ table }) => table === 'store').length,
  }
}

const words = 'the doctor told her son about his long illness since easter while nobody else was in that room'.split(
  ' ',
)
/** A unique text: every second word contains the name. */
const textOf = (name: string): string =>
  words.map((word, at) => (at % 2 === 0 ? `${word} ${name}x${at}` : word)).join(' ')

/** `person`: a participant without an account. `account`: a person with an account, whose agent wrote. */
const scopes = ['message', 'conversation', 'person', 'account', 'project'] as const
describe.each([
  ['Python', isInstalled('python'), inPython],
  ['JavaScript', true, inJavaScript],
] as const)('LangGraph in %s', (language, isThere, open) => {
  describe.skipIf(!isThere)('with its default serializer', () => {
    let on: Language
    let stage: PrivacyTest
    beforeAll(async () => {
      on = await open()
      stage = on.stage
    })
    afterAll(() => on?.close())

    async function spoken(
      project: MadeProject,
      conversation: { id: string; path: string },
      who: string | Issued,
      content: string,
    ) {
      const isAgent = typeof who !== 'string'
      const body = { content, role: 'user', ...(!isAgent && { author: { external_id: who } }) }
      const asker = isAgent ? who : project.agent
      const { id } = await dataOf(stage.test, 'POST', `${conversation.path}/messages`, asker, { body })
      await on.say(conversation.id, id, content)
      return { id: String(id), path: `${conversation.path}/messages/${id}`, content }
    }
    async function accountOwner(project: MadeProject) {
      const person = await personWithPassword(stage.test, 'Somebody', project.owner.organisationId)
      const agent = await issuedAgent(stage.test, ['read', 'write'], { tier: 'enterprise', owner: person })
      await dataOf(stage.test, 'POST', `${project.path}/members`, project.owner, {
        body: { kind: 'agent', member_id: agent.id },
      })
      return { person, agent }
    }
    /** Two people in three conversations (one shared, one each) and a fork from a past checkpoint. */
    async function talked(name: string, isAccount = false) {
      const project = await madeProject(stage.test)
      const holder = isAccount ? await accountOwner(project) : undefined
      const a = holder?.agent ?? 'a'
      const shared = await madeConversation(stage.test, project, {}, project.agent)
      // A second thread of the same conversation, without an answer.
      const second = `${shared.id}/second`
      await dataOf(stage.test, 'PATCH', shared.path, project.agent, { body: { threads: [shared.id, second] } })
      const others = await madeConversation(stage.test, project, {}, project.agent)
      const own = await madeConversation(stage.test, project, {}, project.agent)
      const text = textOf(`${name}a`)
      const first = await spoken(project, shared, a, text)
      await on.resume(shared.id)
      // Derived texts with a part of the words in capitals, so that neither an id nor a complete message finds them.
      const part = `Noted: ${text.split(' ').slice(9).join(', ').toUpperCase()}.`
      await on.fork(shared.id, part)
      await on.say(second, first.id, text)
      // The other person quotes eight words.
      const quote = text.split(' ').slice(3, 11).join(' ')
      const reply = await spoken(project, shared, 'b', `You said ${quote}, ${textOf(`${name}b`)}`)
      const theirs = await spoken(project, others, 'b', textOf(`${name}c`))
      const alone = await spoken(project, own, a, textOf(`${name}d`))
      await on.remember(['memories'], `${shared.id} by-words`, { text: `Noted: ${text}` })
      await on.remember(['memories'], `${shared.id} by-part`, { text: part })
      await on.remember(['memories'], `${shared.id} by-id`, { from: first.id, text: `They mean ${text}` })
      await on.remember(['memories'], `${own.id} alone`, { from: alone.id, text: alone.content })
      await on.remember(['memories'], `${others.id} others`, { from: theirs.id, text: theirs.content })
      return { project, holder, shared, second, others, own, first, reply, theirs, alone }
    }
    async function closed({ id, path, owner }: MadeProject): Promise<string> {
      const { test } = stage
      await dataOf(test, 'DELETE', path, owner)
      test.clock.advance(31 * 24 * 3_600_000)
      await test.app.jobs.find(({ name }) => name === 'projects.close')?.execute(test.app.pipeline, {})
      await stage.work()
      const run = await test.db.prisma.erasureRun.findFirstOrThrow({ where: { partKind: 'project', partId: id } })
      expect(run.state).toBe('done')
      return run.receiptId
    }
    type Talk = Awaited<ReturnType<typeof talked>>

    async function completed(id: string): Promise<string> {
      await stage.work()
      const row = await stage.test.db.prisma.privacyRequest.findUniqueOrThrow({ where: { id } })
      expect(row.state).toBe('completed')
      return row.receiptId ?? ''
    }
    async function erase(scope: (typeof scopes)[number], { project, holder, shared, first }: Talk): Promise<string> {
      const { test } = stage
      if (scope === 'message') return eraseWholeProject(test, first.path, project.agent)
      if (scope === 'conversation') return eraseWholeProject(test, shared.path, project.owner)
      if (scope === 'project') return closed(project)
      if (holder) {
        const { cookie, password } = holder.person
        const asked = await stage.file(cookie, { kinds: ['erasure'], grace: 'now', password })
        return completed(asked.json.data.id)
      }
      const [person] = await dataOf(test, 'GET', `${project.path}/participants?external_id=a`, project.owner)
      const path = `${project.path}/participants/${person.id}/requests`
      const filed = await dataOf(test, 'POST', path, project.owner, { body: { kinds: ['erasure'], grace: 'now' } })
      return completed(filed.id)
    }

    test.each(sampled(`scopes of erasures in LangGraph threads in ${language}`, scopes, 2))(
      'erasing one %s leaves no run of six words, and every thread resumes',
      async (scope) => {
        const talk = await talked(`${language.slice(0, 2).toLowerCase()}${scope.slice(0, 2)}`, scope === 'account')
        const { shared, second, others, own, first, reply, theirs, alone } = talk
        const messages = { first, reply, theirs, alone }
        const deleted = {
          message: [first],
          conversation: [first, reply],
          person: [first, alone],
          account: [first, alone],
          project: [first, reply, theirs, alone],
        }[scope]
        const erased = deleted.map(({ content }) => content)
        const staying = Object.values(messages).filter((one) => !deleted.includes(one))
        const has = (text: string) =>
          hasRun(
            text,
            erased,
            staying.map(({ content }) => content),
          )
        const parentsOf = async () => {
          const sql = `SELECT parent_checkpoint_id AS parent FROM ${on.schema}.checkpoints WHERE parent_checkpoint_id IS NOT NULL`
          const { rows } = await withConnection(on.url, (client) => client.query<{ parent: string }>(sql))
          return rows.map(({ parent }) => parent)
        }
        const parents = await parentsOf()
        expect(new Set(parents).size, 'a fork has a sibling').toBeLessThan(parents.length)
        const rowsOfThread = async (thread: string) => (await valuesOf(on)).filter((one) => one.thread === thread)
        const before = await valuesOf(on)
        expect(before.filter(({ text }) => text.includes('Noted: ') && has(text)).length).toBeGreaterThan(2)
        for (const [feature, count] of Object.entries(features(before, new Set(parents), has)))
          expect(count, `${feature} before`).toBeGreaterThan(0)
        const untouched = before.filter(({ thread }) => thread === others.id)
        const readable = async (thread: string, ids: readonly string[]) => {
          const states = await on.history(thread)
          return states.map((state) => state.filter(([, id = '']) => ids.some((one) => id.includes(one))))
        }
        const stayingIds = staying.map(({ id }) => id)
        const [sharedBefore] = await readable(shared.id, stayingIds)

        const receiptId = await erase(scope, talk)
        const receipt = (await stage.test.fetch('GET', `/v1/receipts/${receiptId}`)).json
        expect(receipt.stores.every(({ residue }: { residue: number }) => residue === 0)).toBe(true)
        const after = await valuesOf(on)
        expect(
          after.filter(({ text }) => has(text)).map(({ table, channel, namespace }) => [table, channel, namespace]),
        ).toEqual([])
        expect((await dumped(on)).filter(has)).toEqual([])

        const threads = new Set(after.map(({ thread }) => thread))
        const ofTalk = [shared.id, second, others.id, own.id].filter((id) => threads.has(id))
        expect(ofTalk.length).toBe({ message: 4, conversation: 2, person: 3, account: 3, project: 0 }[scope])
        const keys = (await on.remembered(['memories'])).filter((key) => key.startsWith(others.id))
        expect(keys).toHaveLength(scope === 'project' ? 0 : 1)
        if (scope !== 'project') expect(await rowsOfThread(others.id)).toEqual(untouched)
        // The other author's messages and the tool's answers to them are unchanged.
        if (['message', 'person', 'account'].includes(scope)) {
          expect(ofTalk).toContain(shared.id)
          const [now] = await readable(shared.id, stayingIds)
          expect(now).toEqual(sharedBefore)
          expect(now).toContainEqual(['human', reply.id, reply.content])
        }
        for (const thread of ofTalk) {
          await on.resume(thread)
          await on.history(thread)
          await on.say(thread, `later-${thread}`, 'And now to something else entirely, please.')
          const [state] = await on.history(thread)
          expect(state?.some(([, id]) => id === `later-${thread}`)).toBe(true)
        }
        expect((await dumped(on)).filter(has)).toEqual([])
      },
    )

    test('erasing a message of a DeltaChannel removes the message from snapshots and writes, and every state can be read and continued', async () => {
      const project = await madeProject(stage.test)
      const conversation = await madeConversation(stage.test, project, {}, project.agent)
      const said: { id: string; path: string; content: string }[] = []
      for (const [n, who] of ['a', 'b', 'a', 'b'].entries()) {
        const content = textOf(`${language.slice(0, 2).toLowerCase()}delta${n}`)
        const body = { content, role: 'user', author: { external_id: who } }
        const { id } = await dataOf(stage.test, 'POST', `${conversation.path}/messages`, project.agent, { body })
        await on.sayDelta(conversation.id, id, content)
        said.push({ id, path: `${conversation.path}/messages/${id}`, content })
      }
      const [first, reply, second, last] = said
      if (!first || !reply || !second || !last) throw new Error('four messages')
      const before = await on.historyDelta(conversation.id)
      const staying = [reply, last]
      const has = (text: string) =>
        hasRun(
          text,
          [first.content, second.content],
          staying.map(({ content }) => content),
        )
      const rows = (await valuesOf(on)).filter(({ thread, text }) => thread === conversation.id && has(text))
      expect(new Set(rows.map(({ table }) => table))).toEqual(new Set(['checkpoint_blobs', 'checkpoint_writes']))
      for (const { path } of [first, second]) await eraseWholeProject(stage.test, path, project.agent)
      expect((await dumped(on)).filter(has)).toEqual([])
      const after = await on.historyDelta(conversation.id)
      expect(after.length).toBe(before.length)
      const ofStaying = (states: string[][][]) =>
        states.map((state) => state.filter(([, id = '']) => staying.some((one) => id.includes(one.id))))
      expect(ofStaying(after)).toEqual(ofStaying(before))
      await on.sayDelta(conversation.id, `later-${conversation.id}`, 'And now to something else entirely, please.')
      const [state] = await on.historyDelta(conversation.id)
      expect(state?.map(([, id]) => id)).toEqual(
        expect.arrayContaining([reply.id, `echo-of-${last.id}`, `echo-of-later-${conversation.id}`]),
      )
      expect((await dumped(on)).filter(has)).toEqual([])
    })
  })
})
