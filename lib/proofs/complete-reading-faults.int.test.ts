// Complete readings over stores that fail, and over values that cannot be read: bounded, counted, and never signed as read.
import { once } from 'node:events'
import { createServer, request } from 'node:http'
import { GetObjectCommand } from '@aws-sdk/client-s3'
import { HumanMessage } from '@langchain/core/messages'
import { PostgresSaver } from '@langchain/langgraph-checkpoint-postgres'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { decideFinding, decideNames, readRange } from '#lib/domains/erasure/reading/reading.ts'
import { withConnection } from '#lib/stores/postgres/connection.ts'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { versionedBucket, writeThread } from '#lib/testing/connected-stores.ts'
import { type TestDatabase, testDatabase } from '#lib/testing/database.ts'
import { freeTestPort } from '#lib/testing/ports.ts'
import { eraseWholeProject, madeAttachment, madeConversation, madeMessage, madeProject } from '#lib/testing/projects.ts'
import { isInstalled } from '#lib/testing/services/installed.ts'
import { s3Credentials } from '#lib/testing/services/objects.ts'
import { s3Server } from '#lib/testing/services/shared.ts'

let sentences = 0
const sentence = (): string => {
  const n = ++sentences
  return `I have suffered${n} from cobalt${n} fever${n} since the house${n} in Rhabarberstrasse burned${n} down.`
}
let test: TestApp
let threads: TestDatabase
let saver: PostgresSaver
beforeAll(async () => {
  threads = await testDatabase()
  saver = PostgresSaver.fromConnString(threads.ownerUrl)
  await saver.setup()
  test = await testApp({ KP_CHECKPOINTS_URL: threads.ownerUrl })
})
afterAll(async () => {
  await test?.close()
  await saver?.end()
  await threads?.drop()
})

const inThreads = (sql: string, values: unknown[] = []) =>
  withConnection(threads.ownerUrl, (client) => client.query(sql, values))
const write = (thread: string, text: string): Promise<void> =>
  writeThread(saver, thread, { messages: [new HumanMessage(text)] })
async function erased(on: TestApp = test): Promise<{ text: string; receiptId: string }> {
  const project = await madeProject(on)
  const text = sentence()
  const message = await madeMessage(on, await madeConversation(on, project), project.owner, { content: text })
  return { text, receiptId: await eraseWholeProject(on, message.path, project.owner) }
}
const read = () => test.app.completeReadings.read({ rests: false })
const receiptOf = async (id: string) => (await test.fetch('GET', `/v1/receipts/${id}`)).json
const readingsOf = async (id: string) => (await test.fetch('GET', `/v1/receipts/${id}/readings`)).json.data
const contentOf = async (thread: string): Promise<string> => {
  const { rows } = await inThreads('SELECT blob FROM checkpoint_blobs WHERE thread_id = $1', [thread])
  return rows.map(({ blob }) => String(blob)).join('\n')
}

describe('a complete reading', () => {
  it.each([
    [
      'has lost a table',
      'ALTER TABLE checkpoint_writes RENAME TO moved_writes',
      'ALTER TABLE moved_writes RENAME TO checkpoint_writes',
    ],
    [
      'has an altered table',
      'ALTER TABLE checkpoint_writes RENAME COLUMN blob TO moved',
      'ALTER TABLE checkpoint_writes RENAME COLUMN moved TO blob',
    ],
    [
      'rejects changes',
      `CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'read-only' USING ERRCODE = '25006'; END $$;
       CREATE TRIGGER refuse BEFORE UPDATE OR DELETE ON checkpoint_blobs FOR EACH ROW EXECUTE FUNCTION refuse()`,
      'DROP TRIGGER refuse ON checkpoint_blobs; DROP FUNCTION refuse()',
    ],
  ])('signs nothing while a store %s, reads the others, and continues afterwards', async (_, breaks, mends) => {
    const { text, receiptId } = await erased()
    const thread = crypto.randomUUID()
    await write(thread, text)
    await inThreads(breaks)
    try {
      expect(await read()).toBe('waiting')
      expect((await receiptOf(receiptId)).complete_reading).toBeUndefined()
      const { state, stores, newest } = await readingsOf(receiptId)
      expect([state, newest]).toEqual(['reading', null])
      const states = stores.map((one: { store: string; state: string }) => [one.store, one.state])
      expect(states).toContainEqual(['checkpoints', 'unavailable'])
      expect(states).toContainEqual(['objects', 'done'])
      expect(await contentOf(thread)).toContain(text)
    } finally {
      await inThreads(mends)
    }
    expect(await read()).toBe('completed')
    expect(await contentOf(thread)).not.toContain(text.slice(0, 40))
    expect((await receiptOf(receiptId)).complete_reading).toBeDefined()
  })

  it('counts values that are too large or not text, and reads the rows beside them', async () => {
    const { text, receiptId } = await erased()
    const [thread, odd] = [crypto.randomUUID(), crypto.randomUUID()]
    await write(thread, text)
    const insert = 'INSERT INTO checkpoint_blobs (thread_id, checkpoint_ns, channel, version, type, blob) VALUES'
    await inThreads(`${insert} ($1, '', 'large', '1', 'json', convert_to(repeat('x', 104857600), 'UTF8'))`, [odd])
    await inThreads(`${insert} ($1, '', 'invalid', '1', 'json', '\\xc328ff00fe'::bytea)`, [odd])
    await inThreads(`${insert} ($1, '', 'sealed', '1', 'msgpack', decode(repeat('c1ff', 64), 'hex'))`, [odd])
    expect(await read()).toBe('completed')
    expect(await contentOf(thread)).not.toContain(text.slice(0, 40))
    const { stores } = (await receiptOf(receiptId)).complete_reading
    const { not_read: unread } = stores.find((one: { store: string }) => one.store === 'checkpoints')
    const count = (reason: string) => unread.find((one: { reason: string }) => one.reason === reason)?.count ?? 0
    expect(count('large')).toBe(1)
    expect(count('format') + count('binary')).toBeGreaterThanOrEqual(2)
  }, 120_000)
})

/** What S3 answers to the reading of an archived object, of one whose key is disabled, and of one that a policy denies. */
const unreadable = { archived: 'InvalidObjectState', encrypted: 'KMS.DisabledException', denied: 'AccessDenied' }
/**
 * A way to the S3 server that does not replace some objects, as S3 answers if their metadata is too large, does not read others, does not return
 * the tags of others, and does not delete the versions of locked ones.
 */
async function refusingS3(endpoint: string) {
  const [refused, locked] = [['refused'], ['locked']]
  const server = createServer((given, answer) => {
    const { method, url = '', headers } = given
    if (method === 'PUT' && refused.some((one) => url.includes(one))) {
      given.resume()
      answer.writeHead(400, { 'Content-Type': 'application/xml' })
      answer.end('<?xml version="1.0"?><Error><Code>MetadataTooLarge</Code><Message>refused</Message></Error>')
      return
    }
    // Its listings are answered.
    const { pathname, searchParams } = new URL(url, endpoint)
    const isTags = searchParams.has('tagging') && pathname.includes('tagged')
    const code = isTags ? 'AccessDenied' : Object.entries(unreadable).find(([name]) => pathname.includes(name))?.[1]
    if (method === 'GET' && code) {
      answer.writeHead(code.startsWith('KMS') ? 400 : 403, { 'Content-Type': 'application/xml' })
      answer.end(`<?xml version="1.0"?><Error><Code>${code}</Code><Message>refused</Message></Error>`)
      return
    }
    if (method === 'POST' && searchParams.has('delete')) {
      given.setEncoding('utf8')
      let body = ''
      given.on('data', (piece: string) => {
        body += piece
      })
      given.once('end', () => {
        if (locked.some((one) => body.includes(one))) {
          const objects = [...body.matchAll(/<Key>(.*?)<\/Key>(?:<VersionId>(.*?)<\/VersionId>)?/g)]
          const errors = objects.map(
            ([, name, version]) =>
              `<Error><Key>${name}</Key><VersionId>${version}</VersionId><Code>AccessDenied</Code></Error>`,
          )
          answer.writeHead(200, { 'Content-Type': 'application/xml' })
          answer.end(`<?xml version="1.0"?><DeleteResult>${errors.join('')}</DeleteResult>`)
          return
        }
        const again = request(new URL(url, endpoint), { method, headers }, (one) => {
          answer.writeHead(one.statusCode ?? 500, one.headers)
          one.pipe(answer)
        })
        again.once('error', () => answer.destroy())
        again.end(body)
      })
      return
    }
    const passed = request(new URL(url, endpoint), { ...(method && { method }), headers }, (one) => {
      answer.writeHead(one.statusCode ?? 500, one.headers)
      one.pipe(answer)
    })
    passed.once('error', () => answer.destroy())
    given.pipe(passed)
  })
  const port = await freeTestPort()
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  return {
    port,
    /** Further keys that it does not replace, or whose versions are locked. */
    refuse: (objectKey: string) => void refused.push(objectKey),
    lock: (objectKey: string) => void locked.push(objectKey),
    async close() {
      server.closeAllConnections()
      server.close()
    },
  }
}

describe.skipIf(!isInstalled('s3'))('a complete reading of objects that S3 does not replace', () => {
  it('erases the others of the same page, counts these as left and unreadable ones as not read, and signs', async () => {
    const { endpoint } = await s3Server()
    const bucket = await versionedBucket(endpoint)
    const refusing = await refusingS3(endpoint)
    const { key, secret } = s3Credentials
    const connected = await testApp({
      KP_OBJECTS_URL: `s3://${key}:${secret}@127.0.0.1:${refusing.port}/${bucket.name}?tls=false`,
      KP_POINTER_PREFIXES: 'uploads/',
    })
    try {
      const { text, receiptId } = await erased(connected)
      // The words of a living author: the objects are cut, not deleted.
      const [others, project] = [sentence(), await madeProject(connected)]
      await madeMessage(connected, await madeConversation(connected, project), project.owner, { content: others })
      const keys = ['a', 'refused', 'z', 'locked', 'tagged'].map((name) => `uploads/${crypto.randomUUID()}/${name}.txt`)
      for (const one of keys) await bucket.put(one, `${others}\n${text}`)
      for (const name of Object.keys(unreadable)) await bucket.put(`uploads/${crypto.randomUUID()}/${name}.txt`, others)
      // Because the store answers this, it denies single objects only.
      await bucket.put('knowledgepulse-installation', '{}')
      expect(await connected.app.completeReadings.read({ rests: false })).toBe('completed')
      const left = [...(await bucket.contents())].filter(([, content]) => content.includes(text.slice(0, 40)))
      expect(new Set(left.map(([place]) => keys.findIndex((one) => place.includes(one))))).toEqual(new Set([1, 3, 4]))
      const { json } = await connected.fetch('GET', `/v1/receipts/${receiptId}`)
      const { stores } = json.complete_reading
      expect(stores.find((one: { store: string }) => one.store === 'objects')).toMatchObject({
        erased: 2,
        left: 3,
        not_read: [{ reason: 'format', count: 4 }],
      })
    } finally {
      await connected.close()
      await refusing.close()
    }
  })
})

describe.skipIf(!isInstalled('s3'))('a complete reading of files of assistants', () => {
  it('counts files that S3 does not replace or whose versions are locked as left, cuts the others, and signs', async () => {
    const { endpoint } = await s3Server()
    const bucket = await versionedBucket(endpoint)
    const refusing = await refusingS3(endpoint)
    const { key, secret } = s3Credentials
    const connected = await testApp({
      KP_OBJECTS_URL: `s3://${key}:${secret}@127.0.0.1:${refusing.port}/${bucket.name}?tls=false`,
    })
    try {
      const project = await madeProject(connected)
      const conversation = await madeConversation(connected, project)
      const [text, others] = [sentence(), sentence()]
      const message = await madeMessage(connected, conversation, project.owner, { content: text })
      const receiptId = await eraseWholeProject(connected, message.path, project.owner)
      const answer = await madeMessage(connected, conversation, project.owner, { role: 'assistant', content: 'Here.' })
      const keys: string[] = []
      for (const name of ['refused', 'locked', 'plain']) {
        const { id } = await madeAttachment(connected, answer, project.owner, { bytes: `${name}: ${others}\n${text}` })
        const { objectKey } = await connected.db.prisma.attachment.findUniqueOrThrow({ where: { id } })
        keys.push(objectKey)
      }
      refusing.refuse(keys[0] ?? '')
      refusing.lock(keys[1] ?? '')
      expect(await connected.app.completeReadings.read({ rests: false })).toBe('completed')
      const left = [...(await bucket.contents())].filter(([, content]) => content.includes(text.slice(0, 40)))
      expect(left.map(([place]) => keys.findIndex((one) => place.includes(one))).sort()).toEqual([0, 1])
      const { json } = await connected.fetch('GET', `/v1/receipts/${receiptId}`)
      const line = json.complete_reading.stores.find((one: { store: string }) => one.store === 'objects')
      expect(line).toMatchObject({ erased: 1, left: 2 })
      // The content of the locked file is cut, so its row has the new size.
      for (const objectKey of keys) {
        const { bytes } = await connected.db.prisma.attachment.findFirstOrThrow({ where: { objectKey } })
        const served = await bucket.client.send(new GetObjectCommand({ Bucket: bucket.name, Key: objectKey }))
        expect(served.ContentLength).toBe(bytes)
      }
    } finally {
      await connected.close()
      await refusing.close()
    }
  })
})

describe('readRange()', () => {
  it.each([
    ['to its end', '3', ['1', '2']],
    ['to the end of the data source', '', ['1', '2', '3', '4', '5']],
    ['for one page if an earlier version stored no end', null, ['1']],
  ])('reads %s', async (_, until, expected) => {
    const pages: (string | null)[] = []
    const read = async (after: string | null) => {
      pages.push(after)
      return { next: after === '5' ? null : String(Number(after) + 1), unread: {} }
    }
    await readRange({ read }, { from: '1', until }, async () => {})
    expect(pages).toEqual(expected)
  })
})

describe('decideFinding()', () => {
  const at = new Date('2026-01-10T00:00:00Z')
  const [older, newer] = [new Date('2026-01-09T00:00:00Z'), new Date('2026-01-11T00:00:00Z')]
  const runs = (count: number, from = 0) => new Set(Array.from({ length: count }, (_, n) => from + n))
  const none: ReadonlySet<number> = new Set()
  const decided = (count: number, writtenAt: Date | undefined, explained = none) =>
    decideFinding({ texts: [{ runs: runs(count), writtenAt }] }, explained, at)

  it.each([
    [
      'erases every run when the erasure was not read before',
      decideFinding({ texts: [{ runs: runs(1), writtenAt: newer }] }, none, undefined),
      'erase',
    ],
    ['erases a short text that is as old as the erasure', decided(1, at), 'erase'],
    ['erases a short text that is older than the erasure', decided(1, older), 'erase'],
    ['leaves a short text that is newer than the erasure', decided(6, newer), 'leave'],
    ['leaves a short text without a time', decided(6, undefined), 'leave'],
    ['erases a copy that is newer', decided(7, newer), 'erase'],
    ['erases a copy without a time', decided(7, undefined), 'erase'],
    ['explains runs of living authors, also in older texts', decided(7, older, runs(7)), 'explained'],
    ['leaves the rest of a copy that living authors explain', decided(12, newer, runs(6)), 'leave'],
  ] as const)('%s', (_, assessment, kind) => expect(assessment.kind).toBe(kind))

  it('limits the erasure to the runs of returned texts', () => {
    const texts = [
      { runs: runs(7), writtenAt: newer },
      { runs: runs(3, 100), writtenAt: newer },
    ]
    expect(decideFinding({ texts }, none, at)).toEqual({ kind: 'erase', runs: runs(7) })
  })

  it('leaves runs that an assistant in another project also wrote, until an admin decides, and erases the rest', () => {
    const texts = [{ runs: runs(3), writtenAt: undefined }]
    const decided = (doubtful: ReadonlySet<number>, decision?: 'erase') =>
      decideFinding({ texts }, none, undefined, decision, doubtful)
    expect(decided(runs(2))).toEqual({ kind: 'erase', runs: runs(1, 2) })
    expect(decided(runs(3))).toEqual({ kind: 'leave', reason: 'owned', writtenAt: undefined })
    expect(decided(runs(3), 'erase')).toEqual({ kind: 'erase', runs: runs(3) })
  })

  it('follows the decision of an admin', () => {
    const short = { texts: [{ runs: runs(2), writtenAt: undefined }] }
    const copy = { texts: [{ runs: runs(9), writtenAt: undefined }] }
    expect(decideFinding(short, none, at, 'erase')).toEqual({ kind: 'erase', runs: runs(2) })
    expect(decideFinding(copy, none, at, 'keep')).toEqual({ kind: 'leave', reason: 'undated', writtenAt: undefined })
    expect(decideFinding(copy, runs(9), at, 'erase')).toEqual({ kind: 'explained' })
  })
})

describe('decideNames()', () => {
  const until = new Date('2026-01-10T00:00:00Z')
  const [older, newer] = [new Date('2026-01-09T00:00:00Z'), new Date('2026-01-11T00:00:00Z')]
  const none: ReadonlySet<number> = new Set()
  const named = (writtenAt: Date | undefined) => [{ names: new Set([1]), uncertain: none, writtenAt }]
  const maybe = (writtenAt: Date | undefined) => [{ names: none, uncertain: new Set([2]), writtenAt }]
  const nobodys = { lastAt: undefined, isOfOthers: false }
  const leave = (reason: string, writtenAt: Date | undefined) => ({ kind: 'leave', reason, writtenAt })

  it.each([
    [
      'erases a name that is older',
      decideNames(named(older), none, until, nobodys),
      { kind: 'erase', names: new Set([1]) },
    ],
    ['lists a name that is newer', decideNames(named(newer), none, until, nobodys), leave('newer', newer)],
    ['lists a name without a time', decideNames(named(undefined), none, until, nobodys), leave('undated', undefined)],
    [
      'lists a name in a place that changed later',
      decideNames(named(older), none, until, { lastAt: newer, isOfOthers: false }),
      leave('newer', newer),
    ],
    [
      'lists a name in a text that changes without a time',
      decideNames(named(older), none, until, { lastAt: null, isOfOthers: false }),
      leave('undated', older),
    ],
    [
      'lists a name in a place of others',
      decideNames(named(older), none, until, { lastAt: undefined, isOfOthers: true }),
      leave('owned', older),
    ],
    [
      'lists a name of a living person',
      decideNames(named(older), new Set([1]), until, nobodys),
      leave('shared', older),
    ],
    ['lists words that may be a name', decideNames(maybe(older), none, until, nobodys), leave('uncertain', older)],
    [
      'lists uncertain words without a time',
      decideNames(maybe(undefined), none, until, nobodys),
      leave('uncertain', undefined),
    ],
    ['ignores uncertain words that are newer', decideNames(maybe(newer), none, until, nobodys), { kind: 'none' }],
    [
      'erases a newer name that an admin decided to erase',
      decideNames(named(newer), none, until, nobodys, 'erase'),
      { kind: 'erase', names: new Set([1]) },
    ],
    [
      'erases uncertain words that an admin decided to erase',
      decideNames(maybe(undefined), none, until, nobodys, 'erase'),
      { kind: 'erase', names: new Set([2]) },
    ],
    [
      'keeps uncertain words in a place of others although an admin decided to erase them',
      decideNames(maybe(older), none, until, { lastAt: undefined, isOfOthers: true }, 'erase'),
      leave('owned', older),
    ],
    [
      'keeps uncertain words of a living person although an admin decided to erase them',
      decideNames(maybe(older), new Set([2]), until, nobodys, 'erase'),
      leave('shared', older),
    ],
    [
      'keeps a name of a living person although an admin decided to erase it',
      decideNames(named(older), new Set([1]), until, nobodys, 'erase'),
      leave('shared', older),
    ],
    [
      'keeps an older name that an admin decided to keep',
      decideNames(named(older), none, until, nobodys, 'keep'),
      leave('undated', older),
    ],
    [
      'finds nothing without names',
      decideNames([{ names: none, uncertain: none, writtenAt: older }], none, until, nobodys),
      { kind: 'none' },
    ],
  ] as const)('%s', (_, decision, expected) => expect(decision).toEqual(expected))
})
