import { PostgresSaver } from '@langchain/langgraph-checkpoint-postgres'
import { PostgresStore } from '@langchain/langgraph-checkpoint-postgres/store'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { newId } from '#lib/kernel/ids.ts'
import {
  type Assistant,
  approveTool,
  assistant,
  historyOf,
  messagesOf,
  writeMessage,
} from '#lib/stores/checkpoints/suite/written-thread.ts'
import { withConnection } from '#lib/stores/postgres/connection.ts'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { type TestDatabase, testDatabase } from '#lib/testing/database.ts'
import { drain } from '#lib/testing/jobs.ts'
import { type Person, passwordEntered, signedIn } from '#lib/testing/people.ts'
import {
  type MadeConversation,
  type MadeMessage,
  type MadeProject,
  madeConversation,
  madeMessage,
  madeProject,
  reported,
} from '#lib/testing/projects.ts'

const sentence = 'Erika Musterfrau told us that her son Max is ill since Easter.'
const hour = 3_600_000

/** The application's own database, or a connected one. */
describe.each([
  ['our own database', false],
  ['another database', true],
])('checkpoints in %s', (_, isConnected) => {
  let test: TestApp
  let admin: Person
  let other: TestDatabase | undefined
  let saver: PostgresSaver
  let memory: PostgresStore
  let app: Assistant
  let place: { url: string; schema: string }
  beforeAll(async () => {
    const database = await testDatabase()
    other = isConnected ? await testDatabase() : undefined
    const url = other?.ownerUrl ?? database.ownerUrl
    const schema = isConnected ? 'public' : 'langgraph'
    place = { url, schema }
    const named = new URL(url)
    named.searchParams.set('application_name', 'langgraph')
    saver = PostgresSaver.fromConnString(named.href, { schema })
    memory = PostgresStore.fromConnString(named.href, { schema })
    await saver.setup()
    await memory.setup()
    test = await testApp(isConnected ? { KP_CHECKPOINTS_URL: url } : {}, database)
    admin = await signedIn(test, 'admin')
    app = assistant(saver)
  })
  afterAll(async () => {
    await saver?.end()
    await memory?.stop()
    // Their pools have no listeners any more: a database that is dropped under a closing connection would end the process.
    await withConnection(place.url, (owner) =>
      vi.waitFor(async () => {
        const open =
          "SELECT FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'langgraph'"
        expect((await owner.query(open)).rowCount).toBe(0)
      }, 120_000),
    )
    await test?.close()
    await other?.drop()
  })

  interface Talk {
    project: MadeProject
    conversation: MadeConversation
    first: MadeMessage
    second: MadeMessage
  }
  /** A conversation of two messages, and the LangGraph thread in which an application continued it. */
  async function talk(): Promise<Talk> {
    const project = await madeProject(test)
    const conversation = await madeConversation(test, project)
    const first = await madeMessage(test, conversation, project.owner, { content: sentence })
    const second = await madeMessage(test, conversation, project.owner, {
      content: 'And now to something else entirely.',
    })
    await writeMessage(app, conversation.id, first.id, sentence)
    await approveTool(app, conversation.id)
    await writeMessage(app, conversation.id, second.id, 'And now to something else entirely.')
    return { project, conversation, first, second }
  }
  const erase = (path: string, by: Person, query = '') =>
    test.fetch('DELETE', `${path}${query}`, { cookie: by.cookie, body: {} })
  const look = async (auditId: string) =>
    (await test.fetch('GET', `/api/erasures/${auditId}`, { cookie: admin.cookie })).json?.data
  const rows = async <R extends Record<string, unknown>>(sql: string, values: unknown[]): Promise<R[]> =>
    withConnection(place.url, async (client) => (await client.query<R>(sql, values)).rows)
  /** All rows of a thread as text. */
  const textOf = async (thread: string): Promise<string> => {
    const texts: string[] = []
    for (const table of ['checkpoints', 'checkpoint_blobs', 'checkpoint_writes'])
      for (const row of await rows(`SELECT * FROM "${place.schema}".${table} WHERE thread_id = $1`, [thread]))
        texts.push(
          Object.values(row)
            .map((value) => (Buffer.isBuffer(value) ? value.toString() : JSON.stringify(value)))
            .join('\n'),
        )
    return texts.sort().join('\n')
  }
  const write = (thread: string, type: string, blob: Buffer) =>
    rows(
      `INSERT INTO "${place.schema}".checkpoint_blobs (thread_id, channel, version, type, blob) VALUES ($1, 'foreign', '1', $2, $3)`,
      [thread, type, blob],
    )

  it('DELETE of a message removes it from the whole history of its thread, which stays readable and resumable', async () => {
    const { project, conversation, first, second } = await talk()
    await memory.put(['people', 'erika'], first.id, { text: sentence, from: first.id })
    expect(await textOf(conversation.id)).toContain('Musterfrau')
    const plan = await erase(first.path, project.owner, '?dry_run=true')
    expect(plan.json.data.verdicts).toContainEqual(
      expect.objectContaining({
        store: 'checkpoints',
        kind: 'thread',
        id: conversation.id,
        verdict: 'changed',
        reason: 'source',
      }),
    )
    expect(await textOf(conversation.id)).toContain('Musterfrau')

    const response = await erase(first.path, project.owner)
    await drain(test)
    const data = await look(response.json.auditId)
    expect(data.success).toBe(true)
    expect(data.deleted_from.checkpoints).toEqual({ threads: 1, messages: expect.any(Number) })
    expect(await textOf(conversation.id)).not.toContain('Musterfrau')
    expect(await memory.get(['people', 'erika'], first.id)).toBeNull()
    expect(await messagesOf(app, conversation.id)).toContain(second.id)
    expect((await historyOf(app, conversation.id)).length).toBeGreaterThan(6)
    await approveTool(app, conversation.id)
    const third = newId('msg')
    await writeMessage(app, conversation.id, third, 'One thing more, if I may ask.')
    expect(await messagesOf(app, conversation.id)).toContain(third)
  })

  it('DELETE of a message finds threads and ids of an application by pointer, by text, and by the message id', async () => {
    const project = await madeProject(test)
    const [pointed, named, unnamed] = [newId('thread'), `own/${newId('thread')}`, newId('thread')]
    const conversation = await madeConversation(test, project, { threads: [named] })
    const first = await madeMessage(test, conversation, project.owner, { content: sentence })
    const lcId = `run-${newId('lc')}`
    await reported(test, project, project.owner, [
      { source_id: first.id, store: 'checkpoints', ref: lcId, place: pointed },
    ])
    await writeMessage(app, pointed, lcId, 'It was put into other words by then.')
    await writeMessage(app, named, newId('lc'), sentence)
    await writeMessage(app, unnamed, first.id, sentence)
    const plan = await erase(first.path, project.owner, '?dry_run=true')
    const found = new Map<string, string>(
      plan.json.data.verdicts.map((one: { id: string; found: string }) => [one.id, one.found]),
    )
    expect([found.get(pointed), found.get(named), found.get(unnamed)]).toEqual(['pointer', 'text', 'thread'])
    const response = await erase(first.path, project.owner)
    await drain(test)
    expect((await look(response.json.auditId)).success).toBe(true)
    expect(await messagesOf(app, pointed)).not.toContain(lcId)
    for (const thread of [named, unnamed]) expect(await textOf(thread)).not.toContain('Musterfrau')
  })

  it('DELETE of a message neither reports nor changes threads of another project, whatever its id and text', async () => {
    const theirs = await talk()
    const unnamed = newId('thread')
    await writeMessage(app, unnamed, newId('lc'), sentence)
    await memory.put(['people', 'of-theirs'], 'fact', { text: sentence, from: theirs.first.id })
    const before = [await textOf(theirs.conversation.id), await textOf(unnamed)]
    const project = await madeProject(test)
    const conversation = await madeConversation(test, project)
    const ours = await madeMessage(test, conversation, project.owner, { content: sentence })
    const called = await madeMessage(test, conversation, project.owner, { id: `call-for-${theirs.first.id}` })
    for (const [ref, place] of [
      [theirs.first.id, undefined],
      ['m', theirs.conversation.id],
    ]) {
      const body = { entries: [{ source_id: ours.id, store: 'checkpoints', ref, ...(place && { place }) }] }
      const response = await test.fetch('POST', `${project.path}/provenance`, { cookie: project.owner.cookie, body })
      expect([ref, response.status]).toEqual([ref, 422])
    }
    for (const { path } of [ours, called]) {
      const plan = await erase(path, project.owner, '?dry_run=true')
      expect(JSON.stringify(plan.json.data)).not.toContain(theirs.conversation.id)
      const response = await erase(path, project.owner)
      await drain(test)
      expect((await look(response.json.auditId)).success).toBe(true)
    }
    expect([await textOf(theirs.conversation.id), await textOf(unnamed)]).toEqual(before)
    expect(await memory.get(['people', 'of-theirs'], 'fact')).not.toBeNull()
  })

  it('the second search erases a message that is written to an empty named thread after the receipt', async () => {
    const project = await madeProject(test)
    const conversation = await madeConversation(test, project)
    const early = await madeMessage(test, conversation, project.owner, { content: sentence })
    const response = await erase(early.path, project.owner)
    await drain(test)
    expect((await look(response.json.auditId)).success).toBe(true)
    await writeMessage(app, conversation.id, early.id, sentence)
    await memory.put(['people', 'late'], early.id, { text: 'Noted late.' })
    test.clock.advance(25 * hour)
    await test.app.jobs.find(({ name }) => name === 'erasure.recheck')?.execute(test.app.pipeline, {})
    await drain(test, { mayFail: true })
    expect((await look(response.json.auditId)).late_found).toBeGreaterThan(0)
    expect(await messagesOf(app, conversation.id)).not.toContain(early.id)
    expect(await memory.get(['people', 'late'], early.id)).toBeNull()
  })

  it.each(['its list', 'a pointer'])(
    'DELETE of a conversation deletes its threads, and only its own messages of a thread that another conversation shares by %s',
    async (how) => {
      const { project, conversation, first, second } = await talk()
      const shared = newId('thread')
      const theirs = await madeConversation(test, project)
      const ours = await madeConversation(test, project, { threads: [shared] })
      const own = await madeMessage(test, ours, project.owner, { content: sentence })
      const foreign = await madeMessage(test, theirs, project.owner, { content: 'What the other conversation said.' })
      if (how === 'a pointer')
        await reported(test, project, project.owner, [
          { source_id: foreign.id, store: 'checkpoints', ref: foreign.id, place: shared },
        ])
      else
        await test.db.prisma.conversation.update({ where: { id: theirs.id }, data: { threads: [theirs.id, shared] } })
      await writeMessage(app, shared, own.id, sentence)
      await approveTool(app, shared)
      await writeMessage(app, shared, foreign.id, 'What the other conversation said.')
      for (const path of [conversation.path, ours.path]) {
        const response = await erase(path, project.owner)
        await drain(test)
        expect((await look(response.json.auditId)).success).toBe(true)
      }
      expect(await textOf(conversation.id)).toBe('')
      expect(await textOf(shared)).not.toContain('Musterfrau')
      expect(await messagesOf(app, shared)).toContain(foreign.id)
      for (const { id } of [first, second]) expect(await test.db.prisma.message.count({ where: { id } })).toBe(0)
    },
  )

  it('the second search erases a message again after a late write', async () => {
    const { project, conversation, first, second } = await talk()
    const response = await erase(first.path, project.owner)
    await drain(test)
    expect((await look(response.json.auditId)).success).toBe(true)
    await approveTool(app, conversation.id)
    await writeMessage(app, conversation.id, first.id, sentence)
    expect(await textOf(conversation.id)).toContain(first.id)
    const later = async () => {
      test.clock.advance(25 * hour)
      await test.app.jobs.find(({ name }) => name === 'erasure.recheck')?.execute(test.app.pipeline, {})
      await drain(test, { mayFail: true })
    }
    await later()
    expect((await look(response.json.auditId)).late_found).toBeGreaterThan(0)
    expect(await messagesOf(app, conversation.id)).not.toContain(first.id)
    expect(await messagesOf(app, conversation.id)).toContain(second.id)
    await later()
    expect((await look(response.json.auditId)).recheck_at).toBeNull()
  })

  it('DELETE of a message waits for a decision about a thread that cannot be rewritten, while all other steps finish', async () => {
    const { project, conversation, first } = await talk()
    await write(conversation.id, 'json', Buffer.from('{"messages": [{"type": "human", "content": "Erika Musterfr'))
    const before = await textOf(conversation.id)
    const plan = await erase(first.path, project.owner, '?dry_run=true')
    expect(plan.json.data.verdicts).toContainEqual(
      expect.objectContaining({ id: conversation.id, verdict: 'kept', reason: 'unreadable' }),
    )
    const response = await erase(first.path, project.owner)
    expect([response.status, response.json.success]).toEqual([202, false])
    await drain(test, { mayFail: true })
    const { steps } = await look(response.json.auditId)
    expect(steps.filter(({ state }: { state: string }) => state !== 'done')).toEqual([
      expect.objectContaining({ holder: 'checkpoints.threads', state: 'stuck', fault: `conflict:${conversation.id}` }),
    ])
    expect(await test.db.prisma.message.count({ where: { id: first.id } })).toBe(0)
    expect(await textOf(conversation.id)).toBe(before)
    const path = `/api/erasures/${response.json.auditId}/threads/${encodeURIComponent(conversation.id)}/drop`
    for (const by of [project.owner, await signedIn(test, 'auditor')])
      expect((await test.fetch('POST', path, { cookie: by.cookie, body: {} })).status).toBe(403)
    await passwordEntered(test, admin)
    const foreign = await test.fetch('POST', path.replace(conversation.id, 'another-thread'), {
      cookie: admin.cookie,
      body: {},
    })
    expect(foreign.status).toBe(404)
    const dropped = await test.fetch('POST', path, { cookie: admin.cookie, body: {} })
    expect([dropped.status, dropped.json?.data?.thread_id]).toEqual([200, conversation.id])
    await drain(test)
    const data = await look(response.json.auditId)
    expect(data).toMatchObject({ success: true, deleted_from: { checkpoints: { threads: 1, messages: 0 } } })
    expect(await textOf(conversation.id)).toBe('')
    const entries = await test.db.prisma.auditEntry.count({
      where: { resourceId: response.json.auditId, resourceType: 'erasure' },
    })
    expect(entries).toBeGreaterThan(0)
  })
})

describe.each([
  ['does not answer', 'unavailable', () => 'postgresql://nobody:secret@127.0.0.1:1/nowhere'],
  [
    'has no tables of LangGraph yet',
    'store_refuses:wrong_tables',
    (url: string) => `${url}${url.includes('?') ? '&' : '?'}schema=nothing`,
  ],
])('a checkpoint database that %s', (_, fault, address) => {
  it('delays no other step, and its own step reports the fault', async () => {
    const database = await testDatabase()
    const test = await testApp({ KP_CHECKPOINTS_URL: address(database.ownerUrl) }, database)
    const admin = await signedIn(test, 'admin')
    const project = await madeProject(test)
    const message = await madeMessage(test, await madeConversation(test, project), project.owner, { content: sentence })
    const plan = await test.fetch('DELETE', `${message.path}?dry_run=true`, { cookie: project.owner.cookie, body: {} })
    expect(plan.status).toBe(200)
    const response = await test.fetch('DELETE', message.path, { cookie: project.owner.cookie, body: {} })
    await drain(test, { mayFail: true })
    const { data } = (await test.fetch('GET', `/api/erasures/${response.json.auditId}`, { cookie: admin.cookie })).json
    expect(data).toMatchObject({ state: 'erasing', success: false })
    const steps: { holder: string; state: string; fault: string | null }[] = data.steps
    const states = new Map(steps.map(({ holder, state, fault }) => [holder, [state, fault]]))
    expect(states.get('checkpoints.messages')?.[1]).toBe(fault)
    expect(states.get('graph.episodes')?.[0]).toBe('done')
    await test.close()
  })
})
