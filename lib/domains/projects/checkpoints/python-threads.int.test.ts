import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { newId } from '#lib/kernel/ids.ts'
import { withConnection } from '#lib/stores/postgres/connection.ts'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { type TestDatabase, testDatabase } from '#lib/testing/database.ts'
import { drain } from '#lib/testing/jobs.ts'
import { type Person, signedIn } from '#lib/testing/people.ts'
import { madeConversation, madeMessage, madeProject } from '#lib/testing/projects.ts'
import { type PythonProgram, pythonProgram } from '#lib/testing/python.ts'
import { isInstalled } from '#lib/testing/services/installed.ts'
import { tokenize } from '#lib/text/words.ts'

const sentence = 'Erika Musterfrau told us that her son Max is ill since Easter.'
const own = 'erika MUSTERFRAU told us: her son Max has been ill since Easter, and he sleeps in room seventy-seven.'
const hour = 3_600_000

/** The runs of six words of the erased texts in a dump. Compares bytes and decodes nothing. */
function runsIn(dump: string, texts: readonly string[]): string[] {
  const folded = ` ${tokenize(dump)
    .map(({ word }) => word)
    .join(' ')} `
  return texts.flatMap((text) => {
    const words = tokenize(text).map(({ word }) => word)
    const runs = words.flatMap((_, at) => (at + 6 <= words.length ? [words.slice(at, at + 6).join(' ')] : []))
    return runs.filter((run) => folded.includes(` ${run} `))
  })
}

describe.skipIf(!isInstalled('python'))('threads of LangGraph in Python, erased by the API', () => {
  let app: TestApp
  let admin: Person
  let threads: TestDatabase
  let python: PythonProgram
  let url: string
  beforeAll(async () => {
    threads = await testDatabase()
    url = threads.ownerUrl
    python = pythonProgram('langgraph_threads.py')
    await python.call('setup', { url }, z.null())
    app = await testApp({ KP_CHECKPOINTS_URL: url })
    admin = await signedIn(app, 'admin')
  })
  afterAll(async () => {
    await python?.close()
    await app?.close()
    await threads?.drop()
  })

  const say = (thread: string, id: string, text: string, how = 'say') =>
    python.call(how, { url, thread, id, text }, z.null())
  const resume = (thread: string) => python.call('resume', { url, thread }, z.array(z.string()))
  const history = (thread: string) =>
    python.call(
      'history',
      { url, thread },
      z.array(z.object({ next: z.array(z.string()), messages: z.array(z.array(z.string())), text: z.string() })),
    )
  /** All rows of all tables of the library, as text. */
  const dump = (thread: string): Promise<string> =>
    withConnection(url, async (client) => {
      const texts: string[] = []
      for (const table of ['checkpoints', 'checkpoint_blobs', 'checkpoint_writes']) {
        const { rows } = await client.query(`SELECT * FROM ${table} WHERE thread_id = $1`, [thread])
        for (const value of rows.flatMap((row: object): unknown[] => Object.values(row)))
          texts.push(Buffer.isBuffer(value) ? value.toString('utf8').replaceAll('\0', '') : JSON.stringify(value))
      }
      return texts.join('\n')
    })
  async function talk(versions: string, how?: string) {
    const project = await madeProject(app)
    const conversation = await madeConversation(app, project)
    const first = await madeMessage(app, conversation, project.owner, { content: sentence })
    await say(conversation.id, first.id, versions, how)
    return { project, conversation, first }
  }
  const erase = async (path: string, by: Person) => {
    const response = await app.fetch('DELETE', path, { cookie: by.cookie, body: {} })
    await drain(app, { mayFail: true })
    return (await app.fetch('GET', `/api/erasures/${response.json.auditId}`, { cookie: admin.cookie })).json.data
  }
  const receipt = async (id: string) => (await app.fetch('GET', `/v1/receipts/${id}`)).json

  test.each([
    ['a suffix to the id of the conversation', (conversation: string) => `${conversation}:researcher`],
    ['a UUID', () => crypto.randomUUID()],
  ])('erasure finds words at once in a thread that the application named with %s', async (_, nameOf) => {
    const { project, conversation, first } = await talk(own)
    const thread = nameOf(conversation.id)
    const others = 'What a colleague said about the weather in the mountains is another matter.'
    await say(thread, crypto.randomUUID(), sentence)
    await say(thread, crypto.randomUUID(), others)
    const data = await erase(first.path, project.owner)
    expect(data.success).toBe(true)
    const after = await dump(thread)
    expect(runsIn(after, [sentence])).toEqual([])
    expect(after).toContain(others)
    expect((await history(thread)).length).toBeGreaterThan(0)
    await resume(thread)
  })

  test.each([
    ['the same text as in the API', sentence],
    ['another text than in the API', own],
  ])('erasure removes all runs of a message with %s, and the thread can be resumed', async (_, versions) => {
    const { project, conversation, first } = await talk(versions)
    await resume(conversation.id)
    const [elsewhere, second] = [newId('msg'), newId('msg')]
    await say(conversation.id, second, 'And now to something else entirely, please.')
    expect(runsIn(await dump(conversation.id), [sentence, versions]).length).toBeGreaterThan(0)
    const data = await erase(first.path, project.owner)
    expect(data.success).toBe(true)
    const after = await dump(conversation.id)
    expect(runsIn(after, [sentence, versions])).toEqual([])
    expect((await history(conversation.id))[0]?.next).toEqual(['answer', 'minutes'])
    expect(await resume(conversation.id)).toContain(second)
    await say(conversation.id, elsewhere, 'One more thing, please.')

    // A late write restores the message with other words. The second search finds it by its id.
    await say(conversation.id, first.id, `${versions} And I must add this to it.`)
    app.clock.advance(25 * hour)
    await app.app.jobs.find(({ name }) => name === 'erasure.recheck')?.execute(app.app.pipeline, {})
    await drain(app, { mayFail: true })
    expect(runsIn(await dump(conversation.id), [sentence, versions, 'and I must add this to it'])).toEqual([])
    await history(conversation.id)
  })

  test('erasure waits for a decision about an encrypted thread, and erases everything else', async () => {
    const { project, conversation, first } = await talk(sentence, 'say_encrypted')
    const data = await erase(first.path, project.owner)
    expect(data.success).toBe(false)
    expect(await app.db.prisma.message.count({ where: { id: first.id } })).toBe(0)
    const path = `/api/erasures/${data.audit_id}/threads/${conversation.id}/decision`
    const decided = await app.fetch('POST', path, { cookie: project.owner.cookie, body: { decision: 'retain' } })
    expect(decided.status).toBe(200)
    await drain(app)
    const done = await app.fetch('GET', `/api/erasures/${data.audit_id}`, { cookie: admin.cookie })
    expect(done.json.data.success).toBe(true)
    const { retained } = await receipt(done.json.data.receipt_id)
    expect(retained).toContainEqual(expect.objectContaining({ what: expect.stringContaining('one LangGraph thread') }))
  })
})
