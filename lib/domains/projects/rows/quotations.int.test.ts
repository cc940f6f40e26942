import { createHash } from 'node:crypto'
import { createClient } from '@redis/client'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { newId } from '#lib/kernel/ids.ts'
import { withConnection } from '#lib/stores/postgres/connection.ts'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { drain } from '#lib/testing/jobs.ts'
import { type Person, signedIn } from '#lib/testing/people.ts'
import {
  dataOf,
  eraseWholeProject,
  type MadeProject,
  madeConversation,
  madeDocument,
  madeMember,
  madeMessage,
  madeProject,
  reported,
} from '#lib/testing/projects.ts'
import { isRedisInstalled, startRedis, type TestRedis } from '#lib/testing/redis.ts'
import { tcpProxy } from '#lib/testing/tcp-proxy.ts'

let test: TestApp
beforeAll(async () => {
  test = await testApp()
})
afterAll(() => test?.close())

const said = 'The patient in room nine keeps a heron in the bathroom of her aunt.'
const rest = 'I recommend that you call the veterinary office before Friday.'
const contentOf = async (id: string) => (await test.db.prisma.message.findUniqueOrThrow({ where: { id } })).content
const receiptOf = async (id: string) => (await test.fetch('GET', `/v1/receipts/${id}`)).json

async function talk() {
  const project = await madeProject(test)
  const conversation = await madeConversation(test, project)
  const message = await madeMessage(test, conversation, project.agent, { content: said })
  const answer = (role: string, content: string) => madeMessage(test, conversation, project.agent, { content, role })
  return { project, conversation, message, answer }
}

it.each(['assistant', 'tool', 'system'])(
  'erasure cuts the quotation from a message with the role %s and keeps the rest',
  async (role) => {
    const { project, message, answer } = await talk()
    const quoting = await answer(role, `${rest}\nYou wrote: ${said}`)
    const only = await answer(role, said)
    const other = await answer(role, rest)
    await dataOf(test, 'PATCH', quoting.path, project.agent, { body: { content: `You wrote: ${said}\n${rest}` } })
    const plan = await dataOf(test, 'DELETE', `${message.path}?dry_run=true`, project.owner)
    for (const { id } of [quoting, only])
      expect(plan.verdicts).toContainEqual(
        expect.objectContaining({ kind: 'message', id, verdict: 'changed', reason: 'cut' }),
      )
    const receipt = await receiptOf(await eraseWholeProject(test, message.path, project.owner))
    expect([await contentOf(quoting.id), await contentOf(only.id), await contentOf(other.id)]).toEqual([
      rest,
      '[erased]',
      rest,
    ])
    const edits = await test.db.prisma.messageEdit.findMany({ where: { messageId: quoting.id } })
    expect(edits.map(({ content }) => content)).toEqual([rest])
    expect(receipt).not.toHaveProperty('remaining_mentions')
    expect(receipt.derived).toContainEqual(expect.objectContaining({ store: 'postgresql', cut: 2 }))
  },
)

it('an erasure holds no lock of its run while a plan reads texts', async () => {
  const { project, conversation, message, answer } = await talk()
  await answer('assistant', `You wrote: ${said}`)
  const { runId } = await test.db.transaction((tx) =>
    test.app.subjectErasures.begin(tx, {
      requestId: null,
      requestedBy: 'test',
      reason: 'user_request',
      now: test.clock.now(),
      subject: { account: null, agents: [] },
      part: { project: project.id, conversation: conversation.id, kind: 'message', id: message.id },
    }),
  )
  const isPlanned = async () =>
    (await test.db.prisma.erasureRun.findUniqueOrThrow({ where: { id: runId } })).state !== 'planning'
  const done = test.app.subjectErasures.complete(runId)
  const free: boolean[] = []
  await withConnection(test.ownerUrl, async (owner) => {
    while (!(await isPlanned())) {
      // Everything that reads texts waits for this table.
      await owner.query('BEGIN')
      await owner.query('LOCK TABLE message_edits IN ACCESS EXCLUSIVE MODE')
      await vi.waitUntil(
        async () => {
          const { rows } = await owner.query(
            'SELECT FROM pg_stat_activity WHERE pg_backend_pid() = ANY(pg_blocking_pids(pid))',
          )
          return rows.length > 0 || isPlanned()
        },
        { timeout: 120_000, interval: 20 },
      )
      if (!(await isPlanned()))
        await withConnection(test.ownerUrl, async (client) => {
          const { rows } = await client.query('SELECT FROM erasure_runs WHERE id = $1 FOR NO KEY UPDATE SKIP LOCKED', [
            runId,
          ])
          free.push(rows.length === 1)
        })
      await owner.query('COMMIT')
    }
  })
  expect(await done).toBe('done')
  expect(free.length).toBeGreaterThan(1)
  expect(free).not.toContain(false)
})

it('erasure keeps a quotation by a person and lists it', async () => {
  const { project, conversation, message } = await talk()
  const person = await madeMember(test, project)
  const quoting = await madeMessage(test, conversation, person, { content: `She wrote: ${said}` })
  const operator = await madeMessage(test, conversation, project.agent, {
    role: 'assistant',
    content: `As you wrote: ${said}`,
    author: { external_id: 'operator-17' },
  })
  const receipt = await receiptOf(await eraseWholeProject(test, message.path, project.owner))
  expect(await contentOf(quoting.id)).toContain(said)
  expect(await contentOf(operator.id)).toContain(said)
  expect(receipt.remaining_mentions).toEqual([{ store: 'postgresql', kind: 'message', field: 'content', count: 2 }])
})

it('erasure keeps the words of an older message of an assistant, which a person quoted, and lists it', async () => {
  const { project, conversation, answer } = await talk()
  const original = await answer('assistant', rest)
  test.clock.advance(1_000)
  const quoting = await madeMessage(test, conversation, project.agent, { content: `You wrote: ${rest}` })
  const receipt = await receiptOf(await eraseWholeProject(test, quoting.path, project.owner))
  expect(await contentOf(original.id)).toBe(rest)
  expect(receipt.remaining_mentions).toEqual([{ store: 'postgresql', kind: 'message', field: 'content', count: 1 }])
})

it('erasure cuts an answer that states an older time than the question that it quotes', async () => {
  const { project, conversation, answer } = await talk()
  const asked = 'My uncle in room ten keeps two storks in the garden shed.'
  const earlier = await answer('assistant', rest)
  test.clock.advance(3_000)
  const question = await madeMessage(test, conversation, project.agent, { content: `You wrote: ${rest} But ${asked}` })
  const created_at = new Date(test.clock.now().getTime() - 1_000).toISOString()
  const body = { content: `As you wrote: ${asked}`, role: 'assistant', created_at }
  const late = await madeMessage(test, conversation, project.agent, body)
  await eraseWholeProject(test, question.path, project.owner)
  expect(await contentOf(earlier.id)).toBe(rest)
  expect(await contentOf(late.id)).not.toContain('storks')
})

it('erasure cuts words from answers that quote a document across the border between two parts of it', async () => {
  const { project, answer } = await talk()
  const quoted = 'three grey otters live under the wooden stairs of my cellar'
  const filler = 'o '.repeat(985)
  const document = await madeDocument(test, project, project.owner, {
    bytes: `${filler}${quoted} ${'and so on '.repeat(80)}`,
  })
  const chunks = await test.db.prisma.documentChunk.findMany({ where: { documentId: document.id } })
  expect(chunks.map(({ content }) => content.includes('otters live under the wooden stairs'))).toEqual([false, false])
  const quoting = await answer('assistant', `${rest} You have ${quoted}.`)
  await eraseWholeProject(test, `${project.path}/documents/${document.id}`, project.owner)
  const left = await contentOf(quoting.id)
  expect(left).toContain(rest)
  expect(left).not.toContain('otters')
})

it("erasure removes a person's words from the keys and references that were reported for others, and nothing else", async () => {
  const { project, conversation, message } = await talk()
  const other = await madeMessage(test, conversation, await madeMember(test, project), { content: rest })
  const asKey = said.toLowerCase().replaceAll(' ', '-')
  const place = 'crm.example.org'
  await reported(test, project, project.owner, [
    { source_id: other.id, store: 'cache', ref: `${project.id}:${asKey}` },
    { source_id: other.id, store: 'objects', ref: `${project.id}/${encodeURIComponent(said)}.txt` },
    { source_id: other.id, store: 'cache', ref: `${project.id}:the-patient-in-room-nine` },
    { source_id: other.id, store: 'outside', place, ref: `ticket: ${said}` },
    { source_id: other.id, store: 'outside', place, ref: `a ticket: ${said}` },
    { source_id: other.id, store: 'outside', place, ref: `ticket: ${rest}` },
  ])
  await eraseWholeProject(test, message.path, project.owner)
  const pointers = await test.db.prisma.provenance.findMany({
    where: { projectId: project.id, sourceId: other.id, ref: { not: other.id } },
    orderBy: { ref: 'asc' },
  })
  expect(pointers.map((one) => [one.store, one.ref, one.place])).toEqual([
    ['outside', expect.stringMatching(/^\[erased\] prov_\w+$/), place],
    ['outside', expect.stringMatching(/^\[erased\] prov_\w+$/), place],
    ['cache', `${project.id}:the-patient-in-room-nine`, ''],
    ['outside', `ticket: ${rest}`, place],
  ])
})

it("erasure cuts a person's name from messages of assistants, unless another person wrote it", async () => {
  const { project, conversation, answer } = await talk()
  const names = ['Marta Kowalczyk', 'Piotr Zielinski']
  const wrote = await Promise.all(
    names.map((name, n) => {
      const author = { external_id: `writer-${n}`, name }
      return madeMessage(test, conversation, project.agent, { content: `I collect cobalt stamps, album ${n}.`, author })
    }),
  )
  test.clock.advance(1_000)
  const answers = await Promise.all(names.map((name) => answer('assistant', `${rest} Noted for ${name}, on Friday.`)))
  const person = await madeMember(test, project)
  await madeMessage(test, conversation, person, { content: `Please call ${names[1]} back.` })
  for (const n of wrote.keys()) {
    const list = `${project.path}/participants?external_id=writer-${n}`
    const [participant] = await dataOf(test, 'GET', list, project.owner)
    const body = { kinds: ['erasure'], grace: 'now' }
    await dataOf(test, 'POST', `${project.path}/participants/${participant.id}/requests`, project.owner, { body })
    await drain(test)
  }
  const [cut, explained] = await Promise.all(answers.map(({ id }) => contentOf(id)))
  expect(cut).toContain(rest)
  expect(cut).not.toContain('Kowalczyk')
  expect(cut).toContain('on Friday')
  expect(explained).toBe(`${rest} Noted for ${names[1]}, on Friday.`)
})

describe('quotations in other projects', () => {
  const newProject = (owner: Person) => madeProject(test, { owner })
  /** No other one has six of its words in a row. */
  const sentence = (n: string) => `The ${n} patient keeps ${n} herons in ${n} bathrooms of her ${n} aunt.`
  const answered = async (project: MadeProject, content: string, role = 'assistant') =>
    madeMessage(test, await madeConversation(test, project), project.agent, { content, role })
  const read = () => test.app.completeReadings.read({ rests: false })
  const lineOf = async (receiptId: string, of = 'projects.quotations') =>
    (await receiptOf(receiptId)).complete_reading.stores.find(({ holder }: { holder: string }) => holder === of)
  const eraseParticipant = async (project: MadeProject, externalId: string) => {
    const list = `${project.path}/participants?external_id=${externalId}`
    const [participant] = await dataOf(test, 'GET', list, project.owner)
    const body = { kinds: ['erasure'], grace: 'now' }
    await dataOf(test, 'POST', `${project.path}/participants/${participant.id}/requests`, project.owner, { body })
    await drain(test)
  }

  const placesOf = async (receiptId: string) => {
    const where = { receiptId, holder: 'projects.quotations' }
    const places = await test.db.prisma.remainingPlace.findMany({ where, orderBy: { place: 'asc' } })
    return places.map(({ place, reason }) => [place, reason])
  }

  it.each(['assistant', 'tool', 'system'])(
    'remain in a message with the role %s, and a complete reading counts and lists them',
    async (role) => {
      const text = sentence(role)
      const project = await newProject(await signedIn(test))
      const message = await madeMessage(test, await madeConversation(test, project), project.owner, { content: text })
      const other = await newProject(project.owner)
      const quoting = await answered(other, `${rest}\nYou wrote: ${text}`, role)
      await answered(other, rest, role)
      const plan = await dataOf(test, 'DELETE', `${message.path}?dry_run=true`, project.owner)
      expect(JSON.stringify(plan)).not.toContain(quoting.id)
      const receiptId = await eraseWholeProject(test, message.path, project.owner)
      expect(await read()).toBe('completed')
      expect(await contentOf(quoting.id)).toBe(`${rest}\nYou wrote: ${text}`)
      expect(await lineOf(receiptId)).toMatchObject({ found: 1, erased: 0, left: 1 })
      expect(await placesOf(receiptId)).toEqual([[`messages:${quoting.id}`, 'owned']])
    },
  )

  it('remain although the erased message states an older time', async () => {
    const text = sentence('guessed')
    const { owner } = await newProject(await signedIn(test))
    const [erasing, other] = [await newProject(owner), await newProject(owner)]
    const original = await answered(other, text)
    const backdated = { content: text, created_at: '2000-01-01T00:00:00Z' }
    const message = await madeMessage(test, await madeConversation(test, erasing), owner, backdated)
    const receiptId = await eraseWholeProject(test, message.path, owner)
    expect(await read()).toBe('completed')
    expect(await contentOf(original.id)).toBe(text)
    expect(await placesOf(receiptId)).toEqual([[`messages:${original.id}`, 'owned']])
  })

  it('are explained by what a living author of any project also wrote', async () => {
    const text = sentence('living')
    const { owner } = await newProject(await signedIn(test))
    const [erasing, quoting, third] = [await newProject(owner), await newProject(owner), await newProject(owner)]
    const message = await madeMessage(test, await madeConversation(test, erasing), owner, { content: text })
    const answer = await answered(quoting, `You wrote: ${text}`)
    const person = await madeMember(test, third)
    await madeMessage(test, await madeConversation(test, third), person, { content: text })
    const receiptId = await eraseWholeProject(test, message.path, owner)
    expect(await read()).toBe('completed')
    expect(await contentOf(answer.id)).toBe(`You wrote: ${text}`)
    expect(await lineOf(receiptId)).toMatchObject({ erased: 0, left: 0 })
    expect((await lineOf(receiptId)).explained).toBeGreaterThan(0)
  })

  it('are explained by what an assistant wrote before the erased text', async () => {
    const text = sentence('older')
    const { owner } = await newProject(await signedIn(test))
    const [erasing, other] = [await newProject(owner), await newProject(owner)]
    const original = await answered(other, text)
    test.clock.advance(11 * 60_000)
    const message = await madeMessage(test, await madeConversation(test, erasing), owner, {
      content: `I read: ${text}`,
    })
    const repeated = await answered(other, `As I said: ${text}`)
    const receiptId = await eraseWholeProject(test, message.path, owner)
    expect(await read()).toBe('completed')
    expect(await contentOf(original.id)).toBe(text)
    expect(await contentOf(repeated.id)).toBe(`As I said: ${text}`)
    expect(await lineOf(receiptId)).toMatchObject({ erased: 0, left: 0 })
  })

  it('are listed if an assistant wrote them shortly before, because an answer may be stored before its question', async () => {
    const text = sentence('hasty')
    const { owner } = await newProject(await signedIn(test))
    const [erasing, other] = [await newProject(owner), await newProject(owner)]
    const answer = await answered(other, `You wrote: ${text}`)
    test.clock.advance(1_000)
    const question = await madeMessage(test, await madeConversation(test, erasing), owner, { content: text })
    const receiptId = await eraseWholeProject(test, question.path, owner)
    expect(await read()).toBe('completed')
    expect(await lineOf(receiptId)).toMatchObject({ erased: 0, left: 1, explained: 0 })
    expect(await placesOf(receiptId)).toEqual([[`messages:${answer.id}`, 'owned']])
  })

  it('are not explained by what an assistant wrote later with an older date', async () => {
    const text = sentence('dated')
    const { owner } = await newProject(await signedIn(test))
    const [erasing, other] = [await newProject(owner), await newProject(owner)]
    const message = await madeMessage(test, await madeConversation(test, erasing), owner, { content: text })
    test.clock.advance(1_000)
    const dated = await madeMessage(test, await madeConversation(test, other), other.agent, {
      content: `You wrote: ${text}`,
      role: 'assistant',
      created_at: '2000-01-01T00:00:00Z',
    })
    const receiptId = await eraseWholeProject(test, message.path, owner)
    expect(await read()).toBe('completed')
    expect(await contentOf(dated.id)).toContain(text)
    expect(await lineOf(receiptId)).toMatchObject({ erased: 0, left: 1 })
    expect(await placesOf(receiptId)).toEqual([[`messages:${dated.id}`, 'owned']])
  })

  it('are cut from edited and late messages and artifacts in the own project by a complete reading, which lists titles', async () => {
    const text = sentence('late')
    const other = await newProject(await signedIn(test))
    const { owner } = other
    const edited = await answered(other, rest)
    test.clock.advance(1_000)
    const message = await madeMessage(test, await madeConversation(test, other), owner, { content: text })
    await dataOf(test, 'PATCH', edited.path, other.agent, { body: { content: `${rest}\n${text}` } })
    test.clock.advance(1_000)
    await dataOf(test, 'PATCH', edited.path, other.agent, { body: { content: `${text}\n${rest}` } })
    const artifact = await madeDocument(test, other, other.agent, { kind: 'artifact', bytes: `# Notes\n\n${text}\n` })
    const packed = await madeDocument(test, other, other.agent, {
      kind: 'artifact',
      name: 'notes.bin',
      type: 'application/octet-stream',
      bytes: Buffer.concat([Buffer.from([0, 255]), Buffer.from(text)]),
    })
    const titled = await madeConversation(test, other, { title: text }, other.agent)
    const own = await madeConversation(test, other, { title: `Re: ${text}` })
    const receiptId = await eraseWholeProject(test, message.path, owner)
    const late = await answered(other, `You wrote: ${text}\n${rest}`)
    expect(await read()).toBe('completed')
    expect(await contentOf(edited.id)).toBe(rest)
    expect(await contentOf(late.id)).toBe(rest)
    const edits = await test.db.prisma.messageEdit.findMany({ where: { messageId: edited.id } })
    expect(edits.map(({ content }) => content)).toEqual([rest, rest])
    const chunks = await test.db.prisma.documentChunk.findMany({ where: { documentId: artifact.id } })
    expect(chunks.map(({ content }) => content).join('\n')).not.toContain('late heron')
    const file = (id: string) => test.db.prisma.document.findUniqueOrThrow({ where: { id } })
    const bytesOf = async (key: string) => (await test.app.stored.objects.read(key, 10_000))?.bytes ?? Buffer.alloc(0)
    const [readable, binary] = [await file(artifact.id), await file(packed.id)]
    const bytes = await bytesOf(readable.objectKey)
    expect(bytes.toString()).toBe('# Notes')
    expect([readable.bytes, Buffer.from(readable.sha256)]).toEqual([
      bytes.length,
      createHash('sha256').update(bytes).digest(),
    ])
    // It cannot be cut, and the statement says so.
    expect((await bytesOf(binary.objectKey)).toString()).toContain(text)
    const objects = await lineOf(receiptId, 'objects.bytes')
    expect(objects).toMatchObject({ found: 2, erased: 1, left: 1 })
    expect(objects.not_read).toContainEqual({ reason: 'binary', count: expect.any(Number) })
    const titleOf = async ({ id }: { id: string }) =>
      (await test.db.prisma.conversation.findUniqueOrThrow({ where: { id } })).title
    // A person may have changed it.
    expect(await titleOf(titled)).toBe(text)
    // Its author is a person.
    expect(await titleOf(own)).toBe(`Re: ${text}`)
    expect(await lineOf(receiptId)).toMatchObject({ found: 3, erased: 2, left: 1 })
    expect(await placesOf(receiptId)).toEqual([[`titles:${titled.id}`, 'owned']])
  })

  it('a complete reading lists quotations in projects of another organization, and under a legal hold', async () => {
    const text = sentence('foreign')
    const erasing = await newProject(await signedIn(test))
    const foreign = await madeProject(test)
    const held = await newProject(erasing.owner)
    const message = await madeMessage(test, await madeConversation(test, erasing), erasing.owner, { content: text })
    const answers = [await answered(foreign, `You wrote: ${text}`), await answered(held, `You wrote: ${text}`)]
    const admin = await signedIn(test, 'admin')
    const body = { kind: 'project', target_id: held.id, reason: 'A lawsuit.' }
    await dataOf(test, 'POST', '/v1/holds', admin, { body })
    const receiptId = await eraseWholeProject(test, message.path, erasing.owner)
    expect(await read()).toBe('completed')
    for (const { id } of answers) expect(await contentOf(id)).toBe(`You wrote: ${text}`)
    expect(await lineOf(receiptId)).toMatchObject({ found: 2, erased: 0, left: 2 })
    expect(await placesOf(receiptId)).toEqual(answers.map(({ id }) => [`messages:${id}`, 'owned']).sort())
  })

  it("remain as a person's name in messages of assistants, which a complete reading lists", async () => {
    const name = 'Ludmila Horakova'
    const { owner } = await newProject(await signedIn(test))
    const [erasing, other] = [await newProject(owner), await newProject(owner)]
    await madeMessage(test, await madeConversation(test, erasing), erasing.agent, {
      content: 'I collect malachite stamps, folder one.',
      author: { external_id: 'collector', name },
    })
    const answer = await answered(other, `${rest} Noted for ${name}, on Friday.`)
    await eraseParticipant(erasing, 'collector')
    expect(await read()).toBe('completed')
    expect(await contentOf(answer.id)).toContain(name)
    const places = await test.db.prisma.remainingPlace.findMany({ where: { place: `messages:${answer.id}` } })
    expect(places.map(({ reason }) => reason)).toEqual(['owned'])
  })
})

describe.skipIf(!(await isRedisInstalled()))('pointers to keys with erased words', () => {
  let redis: TestRedis
  let proxy: Awaited<ReturnType<typeof tcpProxy>>
  let app: TestApp
  let client: ReturnType<typeof createClient>
  /** The point of an erasure at which the cache goes down. */
  let downAt: string | undefined
  beforeAll(async () => {
    const started = await startRedis()
    if (!started) throw new Error('redis-server is not installed')
    redis = started
    proxy = await tcpProxy(redis.url)
    app = await testApp({ KP_REDIS_URL: proxy.url.replace(/\/$/, '') }, undefined, {
      interrupt(point) {
        if (point !== downAt) return
        downAt = undefined
        proxy.cut()
      },
    })
    client = createClient({ url: redis.url })
    await client.connect()
  })
  afterAll(async () => {
    client?.destroy()
    await app?.close()
    await proxy?.close()
    await redis?.stop()
  })
  async function withKey(keyOf: (project: MadeProject) => string) {
    const project = await madeProject(app)
    const conversation = await madeConversation(app, project)
    const message = await madeMessage(app, conversation, project.owner, { content: said })
    const other = await madeMessage(app, conversation, await madeMember(app, project), { content: rest })
    const key = keyOf(project)
    await client.set(key, 'cached')
    const pointer = { projectId: project.id, sourceKind: 'message', sourceId: other.id, store: 'cache', ref: key }
    // Not by the API: it refuses a key outside of the prefixes, which were others when somebody reported it.
    await app.db.prisma.provenance.create({
      data: { ...pointer, id: newId('prov'), toldBy: project.agent.id, at: app.clock.now() },
    })
    const pointers = () => app.db.prisma.provenance.count({ where: { store: 'cache', ref: key } })
    return { project, message, key, pointers }
  }
  const asKey = said.toLowerCase().replaceAll(' ', '-')

  it('remain while the cache does not answer, and are deleted after it confirmed that the key does not exist', async () => {
    const { project, message, key, pointers } = await withKey(({ id }) => `${id}:${asKey}`)
    downAt = 'step.projects.quotations.before'
    const { json } = await app.fetch('DELETE', message.path, project.owner)
    const run = await app.app.subjectErasures.byAudit(json.auditId)
    expect(run?.state).not.toBe('done')
    expect(await pointers()).toBe(1)
    proxy.restore()
    await expect
      .poll(() => app.app.subjectErasures.complete(run?.id ?? ''), { timeout: 120_000, interval: 500 })
      .toBe('done')
    expect([await client.exists(key), await pointers()]).toEqual([0, 0])
  }, 180_000)

  it('remain and are counted while a key outside of the reach of the erasure exists', async () => {
    const { project, message, key, pointers } = await withKey(({ id }) => `session:${id.slice(-6)}:${asKey}`)
    const receiptId = await eraseWholeProject(app, message.path, project.owner)
    const { json: receipt } = await app.fetch('GET', `/v1/receipts/${receiptId}`)
    expect([await client.exists(key), await pointers()]).toEqual([1, 1])
    const [mention] = receipt.remaining_mentions
    expect(mention).toEqual({ store: 'postgresql', kind: 'reference', field: 'ref', count: 1 })
    await client.del(key)
    expect(await app.app.completeReadings.read({ rests: false })).toBe('completed')
    expect(await pointers()).toBe(0)
  })
})
