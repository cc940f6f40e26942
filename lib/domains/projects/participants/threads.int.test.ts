import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { withConnection } from '#lib/stores/postgres/connection.ts'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { type TestDatabase, testDatabase } from '#lib/testing/database.ts'
import { drain } from '#lib/testing/jobs.ts'
import { type Person, signedIn } from '#lib/testing/people.ts'
import {
  dataOf,
  type MadeConversation,
  type MadeProject,
  madeConversation,
  madeMessage,
  madeProject,
} from '#lib/testing/projects.ts'
import { type PythonProgram, pythonProgram } from '#lib/testing/python.ts'
import { isInstalled } from '#lib/testing/services/installed.ts'

const name = 'Erika Musterfrau'
const email = 'erika.musterfrau@mail.example'
const phone = '+43 660 1234567'
/** A number that another person also wrote. */
const hotline = '+43 720 1234567'
const sentence = `My son Max is ill since Easter, call me on ${phone} please, or the office on ${hotline}.`
const theirs = `What a colleague had to say about the office, which answers on ${hotline}.`

/** MessagePack: a string of up to 255 bytes. */
const packed = (text: string): Buffer => {
  const bytes = Buffer.from(text)
  return Buffer.concat([Buffer.of(0xd9, bytes.length), bytes])
}

describe.skipIf(!isInstalled('python'))('threads of LangGraph in Python, when a participant is erased', () => {
  let test: TestApp
  let admin: Person
  let threads: TestDatabase
  let python: PythonProgram
  let url: string
  beforeAll(async () => {
    threads = await testDatabase()
    url = threads.ownerUrl
    python = pythonProgram('langgraph_threads.py')
    await python.call('setup', { url }, z.null())
    test = await testApp({ KP_CHECKPOINTS_URL: url })
    admin = await signedIn(test, 'admin')
  })
  afterAll(async () => {
    await python?.close()
    await test?.close()
    await threads?.drop()
  })

  const say = (thread: string, id: string, text: string) => python.call('say', { url, thread, id, text }, z.null())
  /** A thread in which the participant and another person spoke, and a thread of the other person only. */
  async function talked() {
    const project = await madeProject(test)
    const write = async (conversation: MadeConversation, author: object, content: string) => {
      const { id } = await madeMessage(test, conversation, project.agent, { author, content })
      await say(conversation.id, id, content)
    }
    const shared = await madeConversation(test, project, {}, project.agent)
    const other = await madeConversation(test, project, {}, project.agent)
    await write(shared, { external_id: 'p', name, email }, sentence)
    await write(shared, { external_id: 'q', name: 'Somebody Else' }, theirs)
    await write(other, { external_id: 'q' }, theirs)
    return { project, own: shared.id, other: other.id, write }
  }
  async function erase(project: MadeProject) {
    const [{ id }] = await dataOf(test, 'GET', `${project.path}/participants?external_id=p`, project.owner)
    const filed = await dataOf(test, 'POST', `${project.path}/participants/${id}/requests`, project.owner, {
      body: { kinds: ['erasure'], grace: 'now' },
    })
    await drain(test, { mayFail: true, except: ['privacy.clock'] })
    const run = await test.db.prisma.erasureRun.findFirstOrThrow({ where: { requestId: filed.id } })
    return (await test.fetch('GET', `/api/erasures/${run.id}`, { cookie: admin.cookie })).json.data
  }
  const put = (thread: string, channel: string, blob: Buffer, type = 'msgpack') =>
    withConnection(url, (client) =>
      client.query(
        'INSERT INTO checkpoint_blobs (thread_id, channel, version, type, blob) VALUES ($1, $2, $3, $4, $5)',
        [thread, channel, '1', type, blob],
      ),
    )
  /** All rows of a thread, byte by byte. */
  const rowsOf = (thread: string): Promise<string[]> =>
    withConnection(url, async (client) => {
      const rows: string[] = []
      for (const table of ['checkpoints', 'checkpoint_blobs', 'checkpoint_writes']) {
        const found = await client.query(`SELECT * FROM ${table} WHERE thread_id = $1`, [thread])
        for (const row of found.rows)
          rows.push(
            Object.values(row)
              .map((value) => (Buffer.isBuffer(value) ? value.toString('latin1') : JSON.stringify(value)))
              .join('\n'),
          )
      }
      return rows.sort()
    })

  const forms = {
    'the name': name,
    'the name in other case and spacing': 'ERIKA  musterfrau',
    'the email address': email,
    'the telephone number': phone,
    'the telephone number in another form': '0660/1234567',
  }
  it('removes values that contain only the name, email address or telephone number, and keeps all others', async () => {
    const { project, own, other } = await talked()
    for (const [n, value] of Object.values(forms).entries()) {
      await put(own, `contact ${n}`, packed(value))
      await put(own, `card ${n}`, Buffer.concat([Buffer.of(0x81), packed('who'), packed(value)]))
    }
    await put(own, 'kept', packed('kept'))
    await put(own, 'hotline', packed(hotline))
    const before = await rowsOf(other)
    expect((await erase(project)).state).toBe('done')
    const rows = await rowsOf(own)
    for (const [form, value] of Object.entries(forms))
      expect(
        rows.filter((row) => row.includes(value)),
        form,
      ).toEqual([])
    expect(rows.some((row) => row.includes('kept'))).toBe(true)
    // Another person wrote this number, too, and remains.
    expect(rows.some((row) => row.includes(`\u00d9\u000f${hotline}`))).toBe(true)
    expect(await rowsOf(other)).toEqual(before)
  })

  const text = Buffer.from(sentence)
  const malformed = {
    'ends in the middle of a string': packed(sentence).subarray(0, -9),
    'is nested deeper than Python reads': Buffer.concat([Buffer.alloc(5_000, 0x91), packed(sentence)]),
    'has an unknown extension type': Buffer.concat([Buffer.of(0xc7, text.length, 99), text]),
  }
  it('waits for a decision about each thread with a malformed row, changes none of its rows, and erases all other data', async () => {
    const { project, own, other, write } = await talked()
    await put(own, 'nested', Buffer.concat([Buffer.alloc(1_000, 0x91), packed(sentence)]))
    const threads: string[] = []
    for (const blob of Object.values(malformed)) {
      const conversation = await madeConversation(test, project, {}, project.agent)
      await write(conversation, { external_id: 'p' }, sentence)
      await write(conversation, { external_id: 'q' }, theirs)
      await put(conversation.id, 'foreign', blob)
      threads.push(conversation.id)
    }
    // The participant did not write in this thread, but the row contains their words.
    await put(other, 'foreign', malformed['ends in the middle of a string'])
    // This one cannot be read either, and contains none.
    const silent = await madeConversation(test, project, {}, project.agent)
    await write(silent, { external_id: 'q' }, theirs)
    await put(silent.id, 'foreign', packed(theirs).subarray(0, -9))
    const all = [...threads, other, silent.id]
    const before = await Promise.all(all.map(rowsOf))
    const data = await erase(project)
    const open = data.steps.filter(({ state }: { state: string }) => state !== 'done')
    expect(open.map(({ holder }: { holder: string }) => holder)).toEqual(['checkpoints.threads'])
    expect(open[0].fault).toMatch(/^conflict:/)
    expect(await Promise.all(all.map(rowsOf))).toEqual(before)
    expect((await rowsOf(own)).filter((row) => row.includes('ill since Easter'))).toEqual([])
    expect(await test.db.prisma.message.count({ where: { projectId: project.id, content: sentence } })).toBe(0)

    const asked = await test.fetch('GET', `/api/erasures/${data.audit_id}/threads`, project.owner)
    expect(asked.json.data.map((one: { thread_id: string }) => one.thread_id).sort()).toEqual(
      [...threads, other].sort(),
    )
    for (const thread of [...threads, other]) {
      const path = `/api/erasures/${data.audit_id}/threads/${thread}/decision`
      const { status } = await test.fetch('POST', path, { ...project.owner, body: { decision: 'retain' } })
      expect(status).toBe(200)
    }
    await drain(test, { except: ['privacy.clock'] })
    const done = (await test.fetch('GET', `/api/erasures/${data.run_id}`, { cookie: admin.cookie })).json.data
    expect(done.state).toBe('done')
    const { retained } = (await test.fetch('GET', `/v1/receipts/${done.receipt_id}`)).json
    expect(JSON.stringify(retained)).toContain('LangGraph thread')
    expect(await Promise.all(all.map(rowsOf))).toEqual(before)
  })
})
