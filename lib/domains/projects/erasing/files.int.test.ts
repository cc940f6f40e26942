import { createClient } from '@redis/client'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { type Person, signedIn } from '#lib/testing/people.ts'
import {
  eraseWholeProject,
  type MadeMessage,
  type MadeProject,
  madeAttachment,
  madeConversation,
  madeDocument,
  madeMember,
  madeMessage,
  madeProject,
} from '#lib/testing/projects.ts'
import { isRedisInstalled, startRedis, type TestRedis } from '#lib/testing/redis.ts'

const german =
  'Der Kunde Müller beschwerte sich über die verspätete Lieferung der Küchentür nach Köln und möchte Geld zurück.'
const russian = 'Клиент сообщил, что доставка опоздала на три дня, и попросил вернуть деньги на карту.'
const english = 'The customer has slept badly since her brother moved into the attic above the bakery.'
const others = 'Please return this form within fourteen days to the address that is printed on its back.'

/** A text in an encoding of one byte for each character, by the table of TextDecoder. */
function inOneByte(text: string, label: string): Buffer {
  const decoder = new TextDecoder(label)
  const codes = new Map(Array.from({ length: 256 }, (_, code) => [decoder.decode(Uint8Array.of(code)), code]))
  return Buffer.from([...text].map((sign) => codes.get(sign) ?? 63))
}
const mail = `From: Anna <anna@example.org>\r\nSubject: Delivery\r\nMIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary="b1"\r\n\r\n--b1\r\nContent-Type: text/plain; charset=windows-1252\r\nContent-Transfer-Encoding: base64\r\n\r\n${inOneByte(german, 'windows-1252').toString('base64')}\r\n--b1--\r\n`
const rtf = `{\\rtf1\\ansi\\ansicpg1252{\\fonttbl{\\f0 Arial;}}\\f0 ${[...inOneByte(german, 'windows-1252')].map((code) => (code < 128 ? String.fromCharCode(code) : `\\'${code.toString(16)}`)).join('')}\\par}`

describe.skipIf(!(await isRedisInstalled()))('an erasure of files', () => {
  let redis: TestRedis
  let test: TestApp
  let project: MadeProject
  let author: Person
  let message: MadeMessage
  let client: ReturnType<typeof connected>
  const connected = () => createClient({ url: redis.url })
  beforeAll(async () => {
    const started = await startRedis()
    if (!started) throw new Error('redis-server is not installed')
    redis = started
    test = await testApp({ KP_REDIS_URL: redis.url, KP_POINTER_PREFIXES: 'app:' })
    client = connected()
    client.on('error', () => {})
    await client.connect()
  })
  afterAll(async () => {
    client?.destroy()
    await test?.close()
    await redis?.stop()
  })
  beforeEach(async () => {
    await client.flushDb()
    project = await madeProject(test)
    author = await madeMember(test, project)
    message = await madeMessage(test, await madeConversation(test, project), author, { content: 'See the file.' })
  })

  const summary = () => `app:${project.id}:summary`
  const quote = (text: string) => text.split(' ').slice(1, 13).join(' ')
  const cache = (text: string) => client.set(summary(), `${others} It was said: ${text}`)
  const receiptOf = async (path: string) => {
    const receiptId = await eraseWholeProject(test, path, author)
    return (await test.fetch('GET', `/v1/receipts/${receiptId}`)).json
  }
  const document = async (bytes: string | Uint8Array, type: string) => {
    const { id, chunks } = await madeDocument(test, project, author, { name: 'file.txt', type, bytes })
    return { chunks, path: `${project.path}/documents/${id}` }
  }

  it.each([
    ['Windows-1252', german, inOneByte(german, 'windows-1252'), 'text/csv'],
    ['Windows-1251', russian, inOneByte(russian, 'windows-1251'), 'text/csv'],
    ['KOI8-U by its charset', russian, inOneByte(russian, 'koi8-u'), 'text/plain; charset=KOI8-U'],
    ['UTF-16 without a mark', german, Buffer.from(german, 'utf16le'), 'text/csv'],
    ['UTF-16 with a mark', russian, Buffer.from(`\ufeff${russian}`, 'utf16le'), 'text/plain'],
    ['UTF-8', german, Buffer.from(german), 'text/csv'],
    [
      'UTF-8 with a line in another encoding',
      `${russian}\nMüller`,
      Buffer.concat([Buffer.from(`${russian}\n`), Buffer.from('Müller', 'latin1')]),
      'text/csv',
    ],
  ])('deletes a cached value that quotes a document in %s', async (_, text, bytes, type) => {
    const { path, chunks } = await document(bytes, type)
    expect(chunks).toBe(1)
    const [chunk] = await test.db.prisma.documentChunk.findMany({ where: { document: { projectId: project.id } } })
    expect(chunk?.content).toBe(text)
    await cache(quote(text))
    const receipt = await receiptOf(path)
    expect(await client.get(summary())).toBeNull()
    expect(JSON.stringify(receipt.not_searched ?? [])).not.toContain('deleted')
  })

  it('deletes a cached value that quotes a document that an earlier version read in the wrong encoding', async () => {
    const { path } = await document(inOneByte(german, 'windows-1252'), 'text/csv')
    const wrong = new TextDecoder().decode(inOneByte(german, 'windows-1252'))
    await test.db.prisma.documentChunk.updateMany({
      where: { document: { projectId: project.id } },
      data: { content: wrong },
    })
    await cache(quote(german))
    await receiptOf(path)
    expect(await client.get(summary())).toBeNull()
  })

  it.each([
    ['an email', mail, 'message/rfc822', german],
    ['XML', `<?xml version="1.0"?><a><b>${english}</b></a>`, 'application/xml', english],
    ['SVG', `<svg xmlns="http://www.w3.org/2000/svg"><text>${english}</text></svg>`, 'image/svg+xml', english],
    ['RTF', rtf, 'application/rtf', german],
    ['YAML', `note: >\n  ${english}\n`, 'application/octet-stream', english],
  ])('deletes a cached value that quotes a document in %s', async (_, bytes, type, text) => {
    const { path } = await document(bytes, type)
    await cache(quote(text))
    const receipt = await receiptOf(path)
    expect(await client.get(summary())).toBeNull()
    expect(JSON.stringify(receipt.not_searched ?? [])).not.toContain('deleted')
  })

  it('deletes a cached value that quotes an attachment', async () => {
    await madeAttachment(test, message, author, { bytes: english })
    await cache(quote(english))
    const receipt = await receiptOf(message.path)
    expect(await client.get(summary())).toBeNull()
    expect(JSON.stringify(receipt.not_searched ?? [])).not.toContain('deleted')
  })

  it('keeps a value with words that a file of another person also contains', async () => {
    await madeAttachment(test, message, author, { bytes: `${others}\n${english}` })
    const another = await madeMessage(test, await madeConversation(test, project), project.owner)
    await madeAttachment(test, another, project.owner, { bytes: `${others}\nA different answer.` })
    await client.set(summary(), others)
    await client.set(`${summary()}:2`, `A note: ${quote(english)}`)
    await receiptOf(message.path)
    expect(await client.get(summary())).toBe(others)
    expect(await client.get(`${summary()}:2`)).toBeNull()
  })

  it.each(['attachments', 'documents'])(
    'keeps a value with words of a file of another person that 300 images of %s precede',
    async (kind) => {
      await madeAttachment(test, message, author, { bytes: `${others}\n${english}` })
      const conversation = await madeConversation(test, project)
      const [another, ...earlier] = [
        await madeMessage(test, conversation, project.owner),
        await madeMessage(test, conversation, project.owner),
        await madeMessage(test, conversation, project.owner),
        await madeMessage(test, conversation, project.owner),
      ]
      const images = Array.from({ length: 300 }, (_, n) => ({
        id: `0-${project.id}-${n}`,
        name: `${n}.png`,
        mediaType: 'image/png',
        bytes: 8,
        sha256: Buffer.alloc(32),
        objectKey: `0/${project.id}/${n}.png`,
        createdAt: test.clock.now(),
      }))
      const text = `${others}\nA different answer.`
      if (kind === 'attachments') {
        await test.db.prisma.attachment.createMany({
          data: images.map((image, n) => ({ ...image, messageId: earlier[n % 3]?.id ?? another.id })),
        })
        await madeAttachment(test, another, project.owner, { bytes: text })
      } else {
        const by = {
          projectId: project.id,
          kind: 'document',
          authorKind: 'account',
          authorId: project.owner.accountId,
          updatedAt: test.clock.now(),
        }
        await test.db.prisma.document.createMany({ data: images.map((image) => ({ ...image, ...by })) })
        const { id } = await madeDocument(test, project, project.owner, { name: 'form.txt', bytes: text })
        // An earlier version stored no text of it.
        await test.db.prisma.documentChunk.deleteMany({ where: { documentId: id } })
      }
      await client.set(summary(), others)
      await client.set(`${summary()}:2`, `A note: ${quote(english)}`)
      const receipt = await receiptOf(message.path)
      expect(await client.get(summary())).toBe(others)
      expect(await client.get(`${summary()}:2`)).toBeNull()
      expect(JSON.stringify(receipt.not_searched ?? [])).not.toContain('2 MiB')
    },
  )

  describe('in keys that the organization may claim', () => {
    const assign = async (namespaces: string[]) => {
      const admin = await signedIn(test, 'admin')
      const path = `/api/admin/organisations/${project.owner.organisationId}/namespaces`
      expect((await test.fetch('PUT', path, { ...admin, body: { namespaces } })).status).toBe(200)
    }
    beforeEach(() => assign(['app:']))
    afterEach(() => assign([]))

    it('keeps where the project is not named what only a file of the erased person says', async () => {
      await madeAttachment(test, message, author, { bytes: `${others}\n${english}` })
      await client.set('app:templates:conditions', others)
      await client.set(`app:${project.id}:conditions`, others)
      const receiptId = await eraseWholeProject(test, message.path, author)
      expect(await client.get(`app:${project.id}:conditions`)).toBeNull()
      expect(await test.app.completeReadings.read({ rests: false })).toBe('completed')
      expect(await client.get('app:templates:conditions')).toBe(others)
      const finding = await test.db.prisma.readingFinding.findFirst({ where: { receiptId, left: { gt: 0 } } })
      expect(finding).toMatchObject({ left: 1, erased: 0 })
    })

    it('deletes what a message says, also if a file says the same', async () => {
      const said = await madeMessage(test, await madeConversation(test, project), author, { content: english })
      await madeAttachment(test, said, author, { bytes: `${others}\n${english}` })
      await client.set('app:notes:1', quote(english))
      await receiptOf(said.path)
      expect(await client.get('app:notes:1')).toBeNull()
    })
  })

  it('states how many files were not compared, by kind', async () => {
    await madeAttachment(test, message, author, { name: 'a.pdf', type: 'application/pdf', bytes: '%PDF-1.7 …' })
    await madeAttachment(test, message, author, {
      name: 'a.png',
      type: 'image/png',
      bytes: Buffer.from([0x89, 0x50, 0xff]),
    })
    await madeAttachment(test, message, author, {
      name: 'b.bin',
      type: 'application/octet-stream',
      bytes: Buffer.from([0x89, 0, 0xff]),
    })
    await madeAttachment(test, message, author, { bytes: `${english}\n`.repeat(30_000) })
    const receipt = await receiptOf(message.path)
    expect(receipt.not_searched).toContainEqual({
      store: 'objects',
      what: expect.stringContaining('without readable text'),
      count: 3,
    })
    expect(receipt.not_searched).toContainEqual({
      store: 'objects',
      what: expect.stringContaining('2 MiB'),
      count: 1,
    })
  })
})
