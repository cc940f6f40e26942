import { createHash, randomBytes } from 'node:crypto'
import { readdirSync, readlinkSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, test as it, vi } from 'vitest'
import { newId } from '#lib/kernel/ids.ts'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import {
  dataOf,
  eraseWholeProject,
  type MadeConversation,
  type MadeMessage,
  type MadeProject,
  madeAttachment,
  madeConversation,
  madeDocument,
  madeMember,
  madeMessage,
  madeProject,
} from '#lib/testing/projects.ts'

let test: TestApp
let project: MadeProject
let conversation: MadeConversation
let message: MadeMessage
beforeAll(async () => {
  test = await testApp()
  project = await madeProject(test)
  conversation = await madeConversation(test, project)
  message = await madeMessage(test, conversation, project.owner)
})
afterAll(() => test.close())

const keys = (prefix: string) => test.app.stored.objects.list(prefix, '', 1_000)
const attach = (name: string, body: string | Uint8Array, type = 'text/plain', headers: Record<string, string> = {}) =>
  test.fetch('POST', `${message.path}/attachments?name=${encodeURIComponent(name)}`, {
    ...project.owner,
    body,
    headers: { 'Content-Type': type, ...headers },
  })
const bytesAt = async (path: string) => {
  const response = await fetch(test.url + path, { headers: { Cookie: project.owner.cookie } })
  return { headers: response.headers, bytes: Buffer.from(await response.arrayBuffer()) }
}

/** The files below the data folder that this process has open. */
const openFiles = () =>
  readdirSync('/proc/self/fd').filter((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`).startsWith(join(test.dataDir, 'objects'))
    } catch {
      return false
    }
  }).length

describe('an attachment', () => {
  it.skipIf(process.platform !== 'linux')('is closed after HEAD requests, which read nothing of it', async () => {
    const other = await madeMessage(test, conversation, project.owner)
    const file = await madeAttachment(test, other, project.owner, { bytes: randomBytes(200_000) })
    const path = `${other.path}/attachments/${file.id}`
    for (let n = 0; n < 10; n++) {
      const response = await test.fetch('HEAD', path, project.owner)
      expect([response.status, response.headers.get('content-length')]).toEqual([200, '200000'])
    }
    await vi.waitFor(() => expect(openFiles()).toBe(0), 120_000)
  })

  it('is returned unchanged, as a download that a browser does not execute', async () => {
    const bytes = randomBytes(300_000)
    const file = await madeAttachment(test, message, project.owner, {
      name: '计划 "2" ‌.html',
      type: 'text/html',
      bytes,
    })
    const given = await bytesAt(`${message.path}/attachments/${file.id}`)
    expect(given.bytes.equals(bytes)).toBe(true)
    expect(given.headers.get('content-type')).toBe('text/html')
    expect(given.headers.get('x-content-type-options')).toBe('nosniff')
    expect(given.headers.get('content-security-policy')).toContain('sandbox')
    expect(given.headers.get('content-length')).toBe('300000')
    expect(given.headers.get('content-disposition')).toMatch(
      /^attachment; filename="[\x20-\x7e]*"; filename\*=UTF-8''%E8%AE%A1/,
    )
    expect((await dataOf(test, 'GET', message.path, project.owner)).attachments).toMatchObject([
      { id: file.id, bytes: 300_000, sha256: createHash('sha256').update(bytes).digest('hex') },
    ])
    const pointers = await test.fetch('GET', `${project.path}/provenance?source_id=${message.id}`, project.owner)
    expect(pointers.json.data.map(({ store }: { store: string }) => store).sort()).toEqual(['checkpoints', 'objects'])
  })

  it.each([
    ['../../etc/passwd'],
    ['a\\b.txt'],
    ['a/b.txt'],
    ['..'],
    ['a\r\nSet-Cookie: x=1'],
    ['a\0b'],
    ['invoice‮fdp.exe'],
    ['a⁦b'],
    ['​'],
    [' '],
    ['x'.repeat(201)],
  ])('is rejected with the name %j', async (name) => {
    const before = await keys(`projects/${project.id}/messages/`)
    expect((await attach(name, 'x')).status).toBe(422)
    expect(await keys(`projects/${project.id}/messages/`)).toEqual(before)
  })

  it('is rejected when it is too large or has an unknown type, and leaves no object', async () => {
    const before = await keys(`projects/${project.id}/messages/`)
    const large = await attach('large.bin', new Uint8Array(10 * 1024 * 1024 + 1), 'application/octet-stream')
    expect([large.status, large.json.code]).toEqual([413, 'too_large'])
    expect((await attach('a.bin', 'x', 'application/x-sh')).status).toBe(415)
    expect(await keys(`projects/${project.id}/messages/`)).toEqual(before)
    expect((await attach('full.bin', new Uint8Array(10 * 1024 * 1024), 'application/octet-stream')).status).toBe(201)
  })

  it('can be added only by the message’s author, and only once per Idempotency-Key', async () => {
    const other = await madeMember(test, project, 'owner')
    const refused = await test.fetch('POST', `${message.path}/attachments?name=a.txt`, {
      ...other,
      body: 'x',
      headers: { 'Content-Type': 'text/plain' },
    })
    expect(refused.status).toBe(403)
    const key = { 'Idempotency-Key': newId('key') }
    const first = await attach('once.txt', 'once', 'text/plain', key)
    const again = await attach('once.txt', 'once', 'text/plain', key)
    expect([first.status, again.status]).toEqual([201, 201])
    expect(again.json.data.id).toBe(first.json.data.id)
    expect(again.json).toEqual(first.json)
    // Another file with the same length and type is another request.
    const another = await attach('once.txt', 'nice', 'text/plain', key)
    expect([another.status, another.json.code]).toEqual([422, 'idempotency_mismatch'])
    expect((await attach('once.txt', 'once', 'text/plain', key)).json.data.id).toBe(first.json.data.id)
  })

  it('leaves no object when its row is not stored', async () => {
    const own = await madeMessage(test, conversation, project.owner)
    // The message is marked while its bytes arrive, so the row is rejected and the bytes are deleted.
    const slow = new ReadableStream<Uint8Array>({
      async start(controller) {
        controller.enqueue(Buffer.from('first '))
        await test.app.db.prisma.message.update({ where: { id: own.id }, data: { erasingSince: test.clock.now() } })
        controller.enqueue(Buffer.from('second'))
        controller.close()
      },
    })
    const response = await fetch(`${test.url}${own.path}/attachments?name=a.txt`, {
      method: 'POST',
      headers: {
        Cookie: project.owner.cookie,
        Origin: test.app.env.KP_URL ?? `http://localhost:${test.app.env.PORT}`,
        'Content-Type': 'text/plain',
      },
      body: slow,
      duplex: 'half',
    } as RequestInit)
    expect(response.status).toBe(409)
    expect(await keys(`projects/${project.id}/messages/${own.id}/`)).toEqual([])
  })

  it('is deleted after a day when it has no row, and other objects are kept', async () => {
    const { objects } = test.app.stored
    const put = (key: string) =>
      objects.put(
        key,
        (async function* () {
          yield Buffer.from('left behind')
        })(),
        { mediaType: 'text/plain' },
      )
    const orphans = [
      `projects/${project.id}/messages/${message.id}/${newId('att')}`,
      `projects/${project.id}/documents/doc_x/${newId('file')}`,
    ]
    const foreign = [`projects/${project.id}/messages/${message.id}/by-another`, 'elsewhere/att_1']
    for (const key of [...orphans, ...foreign]) await put(key)
    const retained = (await keys('')).filter((key) => !orphans.includes(key))
    const sweep = async () => {
      for (const job of test.app.jobs.filter(({ name }) => name === 'projects.sweep-uploads'))
        await job.execute(test.app.pipeline, {})
    }
    await sweep()
    expect((await keys('')).sort()).toEqual([...retained, ...orphans].sort())
    test.clock.advance(25 * 3_600_000)
    const mark = 'knowledgepulse-installation'
    const unmarked = async () => (await keys('')).filter((key) => key !== mark).sort()
    // The first sweep only marks the bucket. A bucket marked by another installation is not swept.
    await sweep()
    expect(await unmarked()).toEqual([...retained, ...orphans].sort())
    const own = await objects.get(mark)
    const id = own === undefined ? '' : (await buffer(own)).toString()
    expect(id).toMatch(/^store_/)
    const say = (text: string) => objects.put(mark, Readable.from([Buffer.from(text)]), { mediaType: 'text/plain' })
    await say(newId('store'))
    await sweep()
    expect(await unmarked()).toEqual([...retained, ...orphans].sort())
    await say(id)
    await sweep()
    expect(await unmarked()).toEqual(retained.sort())
  })
})

describe('a document', () => {
  it('has chunks that together equal its text', async () => {
    const text = Array.from({ length: 400 }, (_, n) => `Sentence number ${n} 😀 of 文本.`).join('\n')
    const made = await madeDocument(test, project, project.owner, { bytes: text, type: 'text/plain' })
    const chunks = await test.app.db.prisma.documentChunk.findMany({
      where: { documentId: made.id },
      orderBy: { position: 'asc' },
    })
    expect(chunks.map(({ content }) => content).join('')).toBe(text)
    expect(Math.max(...chunks.map(({ content }) => content.length))).toBeLessThanOrEqual(2_000)
    expect(chunks.every(({ content }) => content.isWellFormed())).toBe(true)
    expect(made.chunks).toBe(chunks.length)
    const binary = await madeDocument(test, project, project.owner, { bytes: text, type: 'application/pdf' })
    expect(binary.chunks).toBe(0)
    const broken = await madeDocument(test, project, project.owner, {
      bytes: new Uint8Array([0x61, 0xff, 0x00, 0x62]),
      type: 'text/csv',
    })
    const [piece] = await test.app.db.prisma.documentChunk.findMany({ where: { documentId: broken.id } })
    // PostgreSQL stores no NUL.
    expect(piece?.content).toMatch(/^a.\ufffdb$/u)
    expect((await bytesAt(`${project.path}/documents/${made.id}/content`)).bytes.toString()).toBe(text)
  })

  it('is listed by its kind', async () => {
    const own = await madeProject(test)
    const artifact = await madeDocument(test, own, own.agent, {
      kind: 'artifact',
      name: 'result.json',
      type: 'application/json',
      bytes: '{}',
    })
    await madeDocument(test, own, own.owner)
    const list = async (query: string) => (await test.fetch('GET', `${own.path}/documents${query}`, own.owner)).json
    expect(await list('')).toMatchObject({ total: 2 })
    expect(await list('?kind=artifact')).toMatchObject({
      total: 1,
      data: [{ id: artifact.id, author: { kind: 'agent' } }],
    })
    expect((await list('?limit=1')).next_cursor).not.toBeNull()
  })

  it('can be erased by its author, also after they left the project, and not by others', async () => {
    const member = await madeMember(test, project)
    const [own, other] = [await madeDocument(test, project, member), await madeDocument(test, project, project.owner)]
    const path = (id: string) => `${project.path}/documents/${id}`
    await dataOf(test, 'DELETE', `${project.path}/members/account/${member.accountId}`, project.owner)
    expect((await test.fetch('GET', path(own.id), member)).status).toBe(404)
    expect((await test.fetch('DELETE', path(other.id), member)).status).toBe(404)
    await eraseWholeProject(test, path(own.id), member)
    const retained = await test.app.db.prisma.document.findMany({ where: { id: { in: [own.id, other.id] } } })
    expect(retained.map(({ id }) => id)).toEqual([other.id])
    expect(await keys(`projects/${project.id}/documents/${own.id}/`)).toEqual([])
  })

  it('is stored once, with the bytes of one upload, when two uploads with the same id are concurrent', async () => {
    const id = newId('own')
    const send = (bytes: string) =>
      test.fetch('POST', `${project.path}/documents?name=a.txt&id=${id}`, {
        ...project.owner,
        body: bytes,
        headers: { 'Content-Type': 'text/plain' },
      })
    const answers = await Promise.all(['one', 'other'].map(send))
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 409])
    const { sha256 } = await dataOf(test, 'GET', `${project.path}/documents/${id}`, project.owner)
    const { bytes } = await bytesAt(`${project.path}/documents/${id}/content`)
    expect(createHash('sha256').update(bytes).digest('hex')).toBe(sha256)
    expect(await keys(`projects/${project.id}/documents/${id}/`)).toHaveLength(1)
  })
})
