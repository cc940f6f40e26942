import { afterAll, beforeAll, describe, expect, test as it, vi } from 'vitest'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { issuedAgent, signedIn } from '#lib/testing/people.ts'
import { dataOf, eraseWholeProject, type MadeProject, madeMember, madeProject } from '#lib/testing/projects.ts'
import { importBounds } from './rules.ts'

let test: TestApp
beforeAll(async () => {
  test = await testApp()
})
afterAll(() => test?.close())

type Sent = object | string
const ndjson = (lines: readonly Sent[]): string =>
  lines.map((line) => (typeof line === 'string' ? line : JSON.stringify(line))).join('\n')
const sent = (project: MadeProject, lines: readonly Sent[], asker: object = project.agent) =>
  test.fetch('POST', `${project.path}/import`, {
    ...asker,
    body: ndjson(lines),
    headers: { 'Content-Type': 'application/x-ndjson' },
  })
const imported = async (project: MadeProject, lines: readonly Sent[]) => {
  const { status, json, text } = await sent(project, lines)
  if (status !== 200) throw new Error(`the import answered ${status}: ${text}`)
  return json.data
}
/** Number of document files in the object store. */
const objectsOf = async (project: MadeProject): Promise<number> =>
  (await test.app.stored.objects.list(`projects/${project.id}/documents/`, '', 1_000)).length
let made = 0
const idOf = (what: string) => `${what}-${++made}`
const conversation = (id: string, more: object = {}) => ({ type: 'conversation', id, title: 'History', ...more })
const message = (id: string, conversation_id: string, more: object = {}) => ({
  type: 'message',
  id,
  conversation_id,
  role: 'user',
  content: `Words of ${id}.`,
  ...more,
})
const document = (id: string, more: object = {}) => ({
  type: 'document',
  id,
  name: `${id}.txt`,
  content: `Text of ${id}.`,
  ...more,
})
const nothing = { conversations: 0, participants: 0, messages: 0, documents: 0 }

describe('POST /api/projects/{id}/import', () => {
  it('stores conversations, authors, times and provenance, and skips lines that are already stored', async () => {
    const project = await madeProject(test)
    const [conv, one, two] = [idOf('conv'), idOf('m'), idOf('m')]
    const at = '2024-05-06T07:08:09.000Z'
    const episode = idOf('episode')
    const key = `answers:${project.id}:1`
    const lines = [
      conversation(conv, { threads: [`${project.id}-thread`], created_at: at }),
      { type: 'participant', external_id: 'p', name: 'Pat', email: 'pat@example.org' },
      '',
      message(one, conv, {
        author: { external_id: 'p' },
        created_at: at,
        provenance: [
          { store: 'graph', ref: episode },
          { store: 'cache', ref: key },
          { store: 'checkpoints', ref: 'their-id', place: `${project.id}-thread` },
        ],
      }),
      message(two, conv, { role: 'assistant' }),
    ]
    expect(await imported(project, lines)).toEqual({
      received: 4,
      skipped: 0,
      failed: 0,
      faults: [],
      stored: { conversations: 1, participants: 1, messages: 2, documents: 0 },
    })
    const path = `${project.path}/conversations/${conv}`
    expect(await dataOf(test, 'GET', path, project.owner)).toMatchObject({
      id: conv,
      created_at: at,
      messages: 2,
      threads: [conv, `${project.id}-thread`],
    })
    expect(await dataOf(test, 'GET', `${path}/messages/${one}`, project.owner)).toMatchObject({
      created_at: at,
      author: { kind: 'participant', name: 'Pat' },
      written_by: project.agent.id,
    })
    expect(await dataOf(test, 'GET', `${path}/messages/${two}`, project.owner)).toMatchObject({
      author: { kind: 'agent', id: project.agent.id },
    })
    const pointers = await dataOf(test, 'GET', `${project.path}/provenance?source_id=${one}`, project.owner)
    expect(pointers.map(({ ref }: { ref: string }) => ref).sort()).toEqual([one, episode, key, 'their-id'].sort())
    const audited = {
      action: 'create' as const,
      resourceType: 'message',
      resourceId: { in: [one, two].map((id) => `${project.id}~${id}`) },
    }
    expect(await test.db.prisma.auditEntry.count({ where: audited })).toBe(2)

    const more = message(idOf('m'), conv)
    expect(await imported(project, [...lines, more])).toMatchObject({
      received: 5,
      skipped: 4,
      failed: 0,
      stored: { ...nothing, messages: 1 },
    })
    expect(await test.db.prisma.message.count({ where: { projectId: project.id } })).toBe(3)
    expect(await test.db.prisma.auditEntry.count({ where: audited })).toBe(2)
  })

  it('rejects duplicates with other content, foreign or erased ids and invalid lines, each with its line number, and stores the others', async () => {
    const [project, other] = [await madeProject(test), await madeProject(test)]
    const [conv, theirs, taken, foreign, deleted] = [idOf('conv'), idOf('conv'), idOf('m'), idOf('m'), idOf('m')]
    await imported(project, [conversation(conv), message(taken, conv), message(deleted, conv)])
    await imported(other, [conversation(theirs), message(foreign, theirs)])
    await eraseWholeProject(test, `${project.path}/conversations/${conv}/messages/${deleted}`, project.agent)
    const [first, last] = [idOf('m'), idOf('m')]
    const secret = 'a sentence that no answer repeats'
    const report = await imported(project, [
      message(first, conv), // 1
      message(taken, conv, { content: secret }), // 2
      message(deleted, conv), // 3
      message(idOf('m'), theirs), // 4: a conversation of another project
      message(foreign, conv), // 5: another project also has it
      `{"type":"message","content":"${secret}`, // 6
      `{"type":"message","content":"${'x'.repeat(importBounds.lineBytes)}"}`, // 7
      message(idOf('m'), conv, { role: secret }), // 8
      message(idOf('m'), conv, { [secret]: 1 }), // 9
      message(idOf('m'), conv, { created_at: '2999-01-01T00:00:00.000Z' }), // 10
      { type: secret }, // 11
      '[1]', // 12
      message(idOf('m'), conv, { author: { external_id: '' } }), // 13
      message(idOf('m'), conv, { provenance: [{ store: 'cache', ref: `of ${other.id}` }] }), // 14
      conversation(conv, { title: 'Another title' }), // 15
      conversation(theirs), // 16: another project also has it
      message(idOf('m'), conv, { content: 'y'.repeat(256 * 1024 + 1) }), // 17
      message(last, conv), // 18
    ])
    expect(report).toMatchObject({
      received: 18,
      skipped: 0,
      failed: 14,
      stored: { ...nothing, conversations: 1, messages: 3 },
    })
    expect(report.faults.map(({ line, code }: { line: number; code: string }) => `${line} ${code}`)).toEqual([
      '2 id_in_use',
      '3 erased',
      '4 not_found',
      '6 malformed_json',
      '7 too_large',
      '8 invalid',
      '9 invalid',
      '10 invalid',
      '11 invalid',
      '12 invalid',
      '13 invalid',
      '14 invalid',
      '15 id_in_use',
      '17 invalid',
    ])
    expect(JSON.stringify(report)).not.toContain(secret)
    const stored = await test.db.prisma.message.findMany({ where: { projectId: project.id }, select: { id: true } })
    expect(stored.map(({ id }) => id).sort()).toEqual(
      [taken, foreign, first, last].map((id) => `${project.id}~${id}`).sort(),
    )
    expect(await test.db.prisma.message.findUnique({ where: { id: `${project.id}~${taken}` } })).toMatchObject({
      content: `Words of ${taken}.`,
    })
    // Rejected lines leave nothing behind.
    expect(await test.db.prisma.provenance.count({ where: { projectId: project.id } })).toBe(4)
  })

  it('rejects lines of an erased participant', async () => {
    const project = await madeProject(test)
    const conv = idOf('conv')
    await imported(project, [conversation(conv), message(idOf('m'), conv, { author: { external_id: 'p' } })])
    const { id } = await test.db.prisma.projectParticipant.findFirstOrThrow({ where: { projectId: project.id } })
    const { runId } = await test.app.db.transaction((tx) =>
      test.app.subjectErasures.begin(tx, {
        requestId: null,
        subject: { account: null, agents: [], participants: [id] },
        requestedBy: 'user:test',
        reason: 'gdpr_erasure',
        now: test.clock.now(),
      }),
    )
    expect(await test.app.subjectErasures.complete(runId)).toBe('done')
    const next = idOf('conv')
    const report = await imported(project, [
      conversation(next),
      message(idOf('m'), next, { author: { external_id: 'p' } }),
      message(idOf('m'), next, { author: { external_id: 'q' } }),
      { type: 'participant', external_id: 'p' },
      document(idOf('d'), { author: { external_id: 'p' } }),
    ])
    expect(report).toMatchObject({
      stored: { conversations: 1, participants: 0, messages: 1, documents: 0 },
      faults: [
        { line: 2, code: 'erased' },
        { line: 4, code: 'erased' },
        { line: 5, code: 'erased' },
      ],
    })
  })

  it('stores documents with author, time, source message and provenance, and skips them when they are sent again', async () => {
    const project = await madeProject(test)
    const [conv, one, text, scan] = [idOf('conv'), idOf('m'), idOf('d'), idOf('d')]
    const at = '2024-05-06T07:08:09.000Z'
    const key = `reports:${project.id}:1`
    const lines = [
      conversation(conv),
      message(one, conv, { author: { external_id: 'p' } }),
      document(text, {
        made_from: one,
        kind: 'artifact',
        author: { external_id: 'p', name: 'Pat' },
        created_at: at,
        provenance: [{ store: 'cache', ref: key }],
      }),
      document(scan, { content: undefined, content_base64: 'AAEC/w==', media_type: 'application/pdf' }),
    ]
    expect(await imported(project, lines)).toEqual({
      received: 4,
      skipped: 0,
      failed: 0,
      faults: [],
      stored: { conversations: 1, participants: 0, messages: 1, documents: 2 },
    })
    const path = `${project.path}/documents`
    expect(await dataOf(test, 'GET', `${path}/${text}`, project.owner)).toMatchObject({
      id: text,
      kind: 'artifact',
      media_type: 'text/plain',
      made_from: one,
      chunks: 1,
      created_at: at,
      author: { kind: 'participant', name: 'Pat' },
      written_by: project.agent.id,
    })
    expect((await test.fetch('GET', `${path}/${text}/content`, project.owner)).text).toBe(`Text of ${text}.`)
    expect(await dataOf(test, 'GET', `${path}/${scan}`, project.owner)).toMatchObject({ bytes: 4, chunks: 0 })
    const pointers = await dataOf(test, 'GET', `${project.path}/provenance?source_id=${text}`, project.owner)
    expect(pointers.map(({ store }: { store: string }) => store).sort()).toEqual(['cache', 'objects'])
    const audited = { action: 'create' as const, resourceType: 'document' }
    const resourceId = { in: [text, scan].map((id) => `${project.id}~${id}`) }
    expect(await test.db.prisma.auditEntry.count({ where: { ...audited, resourceId } })).toBe(2)
    const added = { ...lines[2], provenance: [{ store: 'outside', ref: 'crm-1' }] }
    const again = await Promise.all([imported(project, [...lines, added]), imported(project, lines)])
    for (const report of again) expect(report).toMatchObject({ failed: 0, stored: nothing })
    expect(await test.db.prisma.provenance.count({ where: { sourceId: `${project.id}~${text}` } })).toBe(3)
    // Erasing the message also erases documents made from it.
    await eraseWholeProject(test, `${project.path}/conversations/${conv}/messages/${one}`, project.agent)
    expect((await test.fetch('GET', `${path}/${text}`, project.owner)).status).toBe(404)
    expect((await imported(project, lines)).faults).toMatchObject([
      { line: 2, code: 'erased' },
      { line: 3, code: 'erased' },
    ])
  })

  it('stores a document once when two imports send it concurrently', async () => {
    const project = await madeProject(test)
    const lines = Array.from({ length: 6 }, () => document(idOf('d'), { author: { external_id: 'p' } }))
    const reports = await Promise.all([imported(project, lines), imported(project, lines)])
    for (const report of reports) expect(report).toMatchObject({ received: 6, failed: 0 })
    expect(reports.reduce((sum, { stored }) => sum + stored.documents, 0)).toBe(6)
    expect(await objectsOf(project)).toBe(6)
  })

  it('rejects documents with another author, foreign or erased ids or invalid content, and stores no part of them', async () => {
    const [project, other] = [await madeProject(test), await madeProject(test)]
    const [conv, theirs, foreign] = [idOf('conv'), idOf('conv'), idOf('m')]
    const [taken, deleted, retained] = [idOf('d'), idOf('d'), idOf('d')]
    await imported(project, [
      conversation(conv),
      document(taken, { author: { external_id: 'p', email: 'pat@example.org' } }),
      document(deleted),
    ])
    await imported(other, [conversation(theirs), message(foreign, theirs)])
    await eraseWholeProject(test, `${project.path}/documents/${deleted}`, project.agent)
    const before = await objectsOf(project)
    const secret = 'a sentence that no answer repeats'
    const report = await imported(project, [
      document(taken, { author: { external_id: 'q' } }), // 1: q claims the document of p
      document(taken), // 2: the agent claims it too
      document(taken, { author: { external_id: 'p' }, content: secret }), // 3
      document(deleted), // 4
      document(idOf('d'), { made_from: foreign }), // 5
      document(idOf('d'), { author: { external_id: 'new' }, provenance: [{ store: 'cache', ref: `of ${other.id}` }] }), // 6
      document(idOf('d'), { content_base64: 'AA==' }), // 7: content and content_base64
      document(idOf('d'), { content: undefined, content_base64: '*' }), // 8
      document(idOf('d'), { content: 'y'.repeat(1024 * 1024 + 1) }), // 9
      document(idOf('d'), { name: '../up' }), // 10
      document(idOf('d'), { media_type: 'text/x-secret' }), // 11
      document(idOf('d'), { created_at: '2999-01-01T00:00:00.000Z' }), // 12
      document(idOf('d'), { author: { external_id: 'p', email: 'mallory@example.org' } }), // 13
      document(retained, { author: { external_id: 'p' } }), // 14
    ])
    expect(report.faults.map(({ line, code }: { line: number; code: string }) => `${line} ${code}`)).toEqual([
      '1 id_in_use',
      '2 id_in_use',
      '3 id_in_use',
      '4 erased',
      '5 invalid',
      '6 invalid',
      '7 invalid',
      '8 invalid',
      '9 invalid',
      '10 invalid',
      '11 invalid',
      '12 invalid',
      '13 conflict',
    ])
    expect(report.stored).toEqual({ ...nothing, documents: 1 })
    expect(report.faults.filter(({ detail }: { detail?: string }) => !detail)).toEqual([])
    expect(report.faults.map(({ field }: { field: string | null }) => field).slice(6, 12)).toEqual([
      'content',
      'content_base64',
      'content',
      'name',
      'media_type',
      'created_at',
    ])
    expect(JSON.stringify(report)).not.toContain(secret)
    for (const sent of [other.id, '../up', 'x-secret', 'mallory', '2999'])
      expect(JSON.stringify(report)).not.toContain(sent)
    expect(await objectsOf(project)).toBe(before + 1)
    expect(await test.db.prisma.document.count({ where: { projectId: project.id } })).toBe(2)
    expect(await test.db.prisma.projectParticipant.findFirst({ where: { projectId: project.id } })).toMatchObject({
      externalId: 'p',
      email: 'pat@example.org',
    })
    expect(await test.db.prisma.projectParticipant.count({ where: { projectId: project.id } })).toBe(1)
  })

  it('imports hundreds of lines in batches, twice concurrently, and stores each once', async () => {
    const project = await madeProject(test)
    const conv = idOf('conv')
    const ids = Array.from({ length: 600 }, () => idOf('m'))
    const lines = [
      conversation(conv),
      ...ids.map((id, n) => message(id, conv, { author: { external_id: `p-${n % 7}` } })),
    ]
    const reports = await Promise.all([imported(project, lines), imported(project, lines)])
    for (const report of reports) expect(report).toMatchObject({ received: 601, failed: 0 })
    expect(reports.reduce((sum, { stored }) => sum + stored.messages, 0)).toBe(600)
    expect(await imported(project, lines)).toMatchObject({ skipped: 601, failed: 0, stored: nothing })
    expect(await test.db.prisma.message.count({ where: { projectId: project.id } })).toBe(600)
    expect(await test.db.prisma.projectParticipant.count({ where: { projectId: project.id } })).toBe(7)
  }, 300_000)

  it('keeps the lines that arrived before a transfer was interrupted', async () => {
    const project = await madeProject(test)
    const conv = idOf('conv')
    const lines = [conversation(conv), ...Array.from({ length: 120 }, () => message(idOf('m'), conv))]
    const encoder = new TextEncoder()
    const body = new ReadableStream({
      async start(controller) {
        controller.enqueue(encoder.encode(`${ndjson(lines)}\n{"type":"mess`))
        await new Promise((done) => setTimeout(done, 300))
        controller.error(new Error('the connection broke'))
      },
    })
    const headers = { Authorization: `Bearer ${project.agent.token}`, 'Content-Type': 'application/x-ndjson' }
    await expect(
      fetch(`${test.url}${project.path}/import`, { method: 'POST', headers, body, duplex: 'half' } as RequestInit),
    ).rejects.toThrow()
    expect(await imported(project, lines)).toMatchObject({ received: 121, failed: 0 })
    expect(await test.db.prisma.message.count({ where: { projectId: project.id } })).toBe(120)
  })

  const losses = {
    'the token is revoked': ({ tokenId: id }: MadeProject['agent']) =>
      test.db.prisma.token.update({ where: { id }, data: { revokedAt: test.clock.now() } }),
    'the agent is restricted': ({ id }: MadeProject['agent']) =>
      test.db.prisma.agent.update({
        where: { id },
        data: { restrictedAt: test.clock.now(), restrictedFor: ['request'] },
      }),
    'the agent is paused': ({ id }: MadeProject['agent']) =>
      test.db.prisma.agent.update({ where: { id }, data: { status: 'paused' } }),
    'the erasure of the agent waits': ({ id }: MadeProject['agent']) =>
      test.db.prisma.agent.update({ where: { id }, data: { suspendedAt: test.clock.now() } }),
  }
  it.each(Object.entries(losses))('stores none of the lines that arrive after %s', async (_, lose) => {
    const project = await madeProject(test)
    const conv = idOf('conv')
    const before = [conversation(conv), ...Array.from({ length: 49 }, () => message(idOf('m'), conv))]
    const encoder = new TextEncoder()
    const storedMessages = () => test.db.prisma.message.count({ where: { projectId: project.id } })
    const body = new ReadableStream({
      async start(controller) {
        controller.enqueue(encoder.encode(`${ndjson(before)}\n`))
        await vi.waitUntil(async () => (await storedMessages()) === 49, { timeout: 60_000 })
        await lose(project.agent)
        controller.enqueue(encoder.encode(`${ndjson([message(idOf('m'), conv), document(idOf('d'))])}\n`))
        controller.close()
      },
    })
    const headers = { Authorization: `Bearer ${project.agent.token}`, 'Content-Type': 'application/x-ndjson' }
    const init = { method: 'POST', headers, body, duplex: 'half' } as RequestInit
    const { status } = await fetch(`${test.url}${project.path}/import`, init)
    expect([401, 403]).toContain(status)
    expect(await storedMessages()).toBe(49)
    expect(await test.db.prisma.document.count({ where: { projectId: project.id } })).toBe(0)
  })

  /** Begins an import that stored 49 messages, and continues when the test says so. */
  async function begunImport(key: string) {
    const project = await madeProject(test)
    const conv = idOf('conv')
    const encoder = new TextEncoder()
    const storedMessages = () => test.db.prisma.message.count({ where: { projectId: project.id } })
    let stream: ReadableStreamDefaultController | undefined
    const body = new ReadableStream({
      start(controller) {
        stream = controller
      },
    })
    const headers = {
      Authorization: `Bearer ${project.agent.token}`,
      'Content-Type': 'application/x-ndjson',
      'Idempotency-Key': key,
    }
    const send = (of: BodyInit) =>
      fetch(`${test.url}${project.path}/import`, { method: 'POST', headers, body: of, duplex: 'half' } as RequestInit)
    const answer = send(body)
    const enqueue = (lines: readonly Sent[]) => stream?.enqueue(encoder.encode(`${ndjson(lines)}\n`))
    const more = async (count: number, first: readonly Sent[] = []) => {
      const before = await storedMessages()
      enqueue([...first, ...Array.from({ length: count }, () => message(idOf('m'), conv))])
      await vi.waitUntil(async () => (await storedMessages()) === before + count, { timeout: 60_000 })
    }
    await more(49, [conversation(conv)])
    const repeat = () =>
      send(
        new ReadableStream({
          start(controller) {
            controller.enqueue(encoder.encode(`${ndjson([message(idOf('m'), conv)])}\n`))
            controller.close()
          },
        }),
      )
    return {
      answer,
      more,
      storedMessages,
      repeat,
      enqueue,
      next: () => message(idOf('m'), conv),
      end: () => stream?.close(),
    }
  }

  it('keeps its Idempotency-Key for longer than an hour while it stores batches', async () => {
    const { answer, more, storedMessages, repeat, end } = await begunImport('two-hours')
    for (let n = 0; n < 3; n++) {
      test.clock.advance(50 * 60_000)
      await more(50)
    }
    const repeated = await repeat()
    expect([repeated.status, (await repeated.json()).code]).toEqual([409, 'idempotency_in_progress'])
    test.clock.advance(50 * 60_000)
    end()
    expect((await answer).status).toBe(200)
    expect(await storedMessages()).toBe(199)
    expect((await repeat()).status).toBe(422)
  })

  it('stores nothing more after another request got its Idempotency-Key, because it paused for an hour', async () => {
    const { answer, storedMessages, repeat, enqueue, next, end } = await begunImport('paused')
    test.clock.advance(3_600_001)
    expect((await repeat()).status).toBe(200)
    expect(await storedMessages()).toBe(50)
    enqueue(Array.from({ length: 50 }, next))
    end()
    const { status, code } = await (await answer).json()
    expect([status, code]).toEqual([409, 'conflict'])
    expect(await storedMessages()).toBe(50)
    // The response of the other one is still stored.
    expect((await repeat()).status).toBe(422)
  })

  it('returns 404 to a stranger, 403 to people and to tokens that cannot write, 401 to a revoked token, 415 for another type', async () => {
    const project = await madeProject(test)
    const lines = [conversation(idOf('conv'))]
    expect((await sent(project, lines, await issuedAgent(test, ['read', 'write']))).status).toBe(404)
    expect((await sent(project, lines, (await madeProject(test)).agent)).status).toBe(404)
    expect((await sent(project, lines, project.owner)).status).toBe(403)
    expect((await sent(project, lines, await madeMember(test, project))).status).toBe(403)
    expect((await sent(project, lines, await signedIn(test, 'admin'))).status).toBe(403)
    expect((await sent(project, lines, await issuedAgent(test, ['read'], { owner: project.owner }))).status).toBe(403)
    expect((await sent(project, [document(idOf('d'))], await issuedAgent(test, ['read', 'write']))).status).toBe(404)
    expect((await sent(project, lines, {})).status).toBe(401)
    const deleted = await issuedAgent(test, ['read', 'write'], { owner: project.owner })
    await test.db.prisma.token.update({ where: { id: deleted.tokenId }, data: { revokedAt: test.clock.now() } })
    expect((await sent(project, lines, deleted)).status).toBe(401)
    const typed = await test.fetch('POST', `${project.path}/import`, {
      ...project.agent,
      body: ndjson(lines),
      headers: { 'Content-Type': 'text/csv' },
    })
    expect(typed.status).toBe(415)
    expect(await test.db.prisma.conversation.count({ where: { projectId: project.id } })).toBe(0)
  })
})
