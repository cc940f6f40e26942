import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { CreateBucketCommand, PutBucketVersioningCommand, PutObjectCommand, S3Client } from '@aws-sdk/client-s3'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import type { DataSource } from '#lib/kernel/data-source.ts'
import type { ErasureScope, ProjectPart } from '#lib/kernel/erasure-scope.ts'
import { newId } from '#lib/kernel/ids.ts'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { testDatabase } from '#lib/testing/database.ts'
import {
  madeAttachment,
  madeConversation,
  madeDocument,
  madeMessage,
  madeProject,
  reported,
} from '#lib/testing/projects.ts'
import { isInstalled } from '#lib/testing/services/installed.ts'
import { s3Credentials } from '#lib/testing/services/objects.ts'
import { s3Server } from '#lib/testing/services/shared.ts'

let test: TestApp
beforeAll(async () => {
  test = await testApp()
})
afterAll(() => test?.close())

const bytes = async function* (text: string) {
  yield Buffer.from(text)
}
const text = { mediaType: 'text/plain' }
function dataSourceOf({ app }: TestApp): DataSource {
  const found = app.dataSources.find(({ name }) => name === 'objects.bytes')
  if (!found) throw new Error('there is no holder of objects')
  return found
}
const planOf = (scope: ErasureScope, of = test) =>
  of.db.transaction((tx) => dataSourceOf(of).plan(scope, tx, of.clock.now()))
const erased = (scope: ErasureScope, items: readonly string[], of = test) =>
  of.db.transaction((tx) =>
    dataSourceOf(of).erase(scope, items, tx, { key: newId('k'), redacts: false, now: of.clock.now() }),
  )
const left = (scope: ErasureScope, items: readonly string[], of = test) =>
  dataSourceOf(of).residue(scope, items, of.clock.now())

/** Two messages with a file each, and a document, to check what the erasure of one message deletes and keeps. */
async function deal(of = test) {
  const project = await madeProject(of)
  const conversation = await madeConversation(of, project)
  const [message, other] = [
    await madeMessage(of, conversation, project.owner),
    await madeMessage(of, conversation, project.owner),
  ]
  const [file, otherFile] = [
    await madeAttachment(of, message, project.owner),
    await madeAttachment(of, other, project.owner),
  ]
  const document = await madeDocument(of, project, project.owner)
  const { objectKey } = await of.db.prisma.document.findUniqueOrThrow({ where: { id: document.id } })
  const at = `projects/${project.id}`
  return {
    project,
    conversation,
    message,
    other,
    file: `${at}/messages/${message.id}/${file.id}`,
    otherFile: `${at}/messages/${other.id}/${otherFile.id}`,
    document: objectKey,
    part: { kind: 'message', id: message.id, project: project.id, conversation: conversation.id } satisfies ProjectPart,
  }
}

describe('the object data source', () => {
  it('erases the files of a message, objects under its prefix without a row, and keys that a pointer names, and keeps others', async () => {
    const { objects } = test.app.stored
    const { project, message, file, otherFile, document, part } = await deal()
    const [orphan, outside] = [
      `projects/${project.id}/messages/${message.id}/att_left_by_a_crash`,
      `app/${message.id}/upload`,
    ]
    await objects.put(orphan, bytes('nobody knows it'), text)
    await objects.put(outside, bytes('an upload of the application'), text)
    await reported(test, project, project.owner, [{ source_id: message.id, store: 'objects', ref: outside }])
    const scope = { part }
    const { items } = await planOf(scope)
    expect(items).toEqual([outside, file, orphan].sort())
    const decisions = await test.db.transaction(
      async (tx) => (await dataSourceOf(test).explain?.(scope, tx, test.clock.now()))?.verdicts ?? [],
    )
    expect(decisions.map(({ id, found, verdict, evidence }) => [id, found, verdict, ...evidence])).toEqual(
      [
        [outside, 'pointer', 'deleted', 'versions:1'],
        [file, 'row', 'deleted', 'versions:1'],
        [orphan, 'prefix', 'deleted', 'versions:1'],
      ].sort(([one = ''], [two = '']) => (one < two ? -1 : 1)),
    )
    await test.db.prisma.message.update({ where: { id: message.id }, data: { erasingSince: test.clock.now() } })
    expect(await left(scope, items)).toBe(3)
    expect(await erased(scope, items)).toMatchObject({ count: 3, results: { objects: 3 }, mentions: [] })
    expect(await left(scope, items)).toBe(0)
    expect(await erased(scope, items)).toMatchObject({ count: 0 })
    expect(await objects.list(`projects/${project.id}/`, '', 10)).toEqual([document, otherFile].sort())
    const stays = await objects.get(otherFile)
    expect(stays && (await buffer(stays)).toString()).toBe('Some bytes.')
  })

  it('cuts an object that a remaining message also names, deletes it with the last message, and keeps searching for reported keys that do not exist yet', async () => {
    const { objects } = test.app.stored
    const { project, conversation, other, file, otherFile, part } = await deal()
    const [mine, theirs] = ['The cellar of the house is flooded every spring.', 'Something was said.']
    const message = await madeMessage(test, conversation, project.owner, { content: mine })
    const own = { ...part, id: message.id }
    const [both, nothing] = [`app/${project.id}/of-both`, `app/${project.id}/nothing-yet`]
    await objects.put(both, bytes(`user: ${mine}\nassistant: ${theirs}`), text)
    for (const { id: source_id } of [message, other])
      await reported(test, project, project.owner, [{ source_id, store: 'objects', ref: both }])
    await reported(test, project, project.owner, [{ source_id: message.id, store: 'objects', ref: nothing }])
    const planned = await planOf({ part: own })
    expect(planned.items).toEqual([both])
    expect(planned.watched).toContain(`late:${nothing}`)
    expect(await erased({ part: own }, planned.items)).toMatchObject({ count: 1, results: { objects: 1 } })
    const left1 = await objects.get(both)
    expect(left1 && (await buffer(left1)).toString()).toBe(`assistant: ${theirs}`)
    await test.db.prisma.message.update({ where: { id: message.id }, data: { erasingSince: test.clock.now() } })
    expect(await left({ part: own }, planned.items)).toBe(0)
    expect(await erased({ part: own }, [`late:${nothing}`])).toMatchObject({ results: { objects: 0 } })
    await objects.put(nothing, bytes('a late one'), text)
    expect(await left({ part: own }, [`late:${nothing}`])).toBeGreaterThan(0)
    expect(await erased({ part: own }, [`late:${nothing}`])).toMatchObject({ count: 1, results: { objects: 1 } })
    expect((await planOf({ part: { ...part, id: other.id } })).items).toEqual([both, otherFile].sort())
    expect(await objects.list(file, '', 1)).toEqual([file])
  })

  it('erases no object of others when a pointer in the table names it', async () => {
    const [mine, theirs] = [await deal(), await deal()]
    await test.db.query(
      undefined,
      `INSERT INTO provenance (id, project_id, source_kind, source_id, store, ref, told_by, at) VALUES ($1, $2, 'message', $3, 'objects', $4, 'system:test', $5)`,
      [newId('prov'), mine.project.id, mine.message.id, theirs.file, test.clock.now()],
    )
    expect((await planOf({ part: mine.part })).items).toEqual([mine.file])
    const decisions = await test.db.transaction(
      async (tx) => (await dataSourceOf(test).explain?.({ part: mine.part }, tx, test.clock.now()))?.verdicts ?? [],
    )
    expect(decisions).toContainEqual(
      expect.objectContaining({ id: theirs.file, verdict: 'untouched', reason: 'foreign' }),
    )
  })

  it('erases all objects under a project’s prefix, and the objects of a person', async () => {
    const { project, file, otherFile, document } = await deal()
    const orphan = `projects/${project.id}/documents/doc_of_nobody`
    await test.app.stored.objects.put(orphan, bytes('x'), text)
    const whole = { part: { kind: 'project', id: project.id, project: project.id, conversation: null } } as const
    expect((await planOf(whole)).items).toEqual([file, otherFile, document, orphan].sort())
    const subject = { account: project.owner.accountId, agents: [] }
    expect((await planOf({ subject })).items).toEqual([file, otherFile, document].sort())
    expect(await dataSourceOf(test).inventory(subject, test.clock.now())).toEqual({
      count: 3,
      since: expect.any(Date),
      until: null,
    })
  })

  it('finds a late object by its item, and erases it', async () => {
    const { file, part } = await deal()
    const { items } = await planOf({ part })
    await erased({ part }, items)
    await test.app.stored.objects.put(file, bytes('a late put'), text)
    const nobody = { subject: { account: null, agents: [] } }
    expect(await left(nobody, items)).toBe(1)
    expect(await erased(nobody, items)).toMatchObject({ count: 1 })
    expect(await left(nobody, items)).toBe(0)
  })
})

describe.skipIf(!isInstalled('s3'))('an S3 bucket with versions', () => {
  it('loses every version of the objects of an erased message; a bucket that is switched off blocks the erasure', async () => {
    const { endpoint, port } = await s3Server()
    const Bucket = `holder-${Date.now().toString(36)}`
    const { key: accessKeyId, secret: secretAccessKey } = s3Credentials
    const s3 = new S3Client({
      endpoint,
      region: 'us-east-1',
      forcePathStyle: true,
      credentials: { accessKeyId, secretAccessKey },
    })
    await s3.send(new CreateBucketCommand({ Bucket }))
    await s3.send(new PutBucketVersioningCommand({ Bucket, VersioningConfiguration: { Status: 'Enabled' } }))
    const database = await testDatabase()
    const url = `s3://${accessKeyId}:${secretAccessKey}@127.0.0.1:${port}/${Bucket}?tls=false`
    const connected = await testApp({ KP_OBJECTS_URL: url }, { ...database, drop: async () => {} })
    const { project, message, file, otherFile, document, part } = await deal(connected)
    await s3.send(new PutObjectCommand({ Bucket, Key: file, Body: 'another version, past us' }))
    expect(await connected.app.stored.objects.versions(file)).toHaveLength(2)
    const answer = await connected.fetch('DELETE', message.path, { cookie: project.owner.cookie, body: {} })
    const erasure = async () =>
      (await connected.fetch('GET', `/api/erasures/${answer.json.auditId}`, { cookie: project.owner.cookie })).json.data
    // On a slow machine, the erasure continues after the response.
    await vi.waitUntil(async () => (await erasure()).success, { timeout: 120_000, interval: 200 })
    expect(await erasure()).toMatchObject({ deleted_from: { objects: 1 } })
    expect(await connected.app.stored.objects.versions(file)).toEqual([])
    const { objects } = connected.app.stored
    expect(await objects.list(`projects/${project.id}/`, '', 10)).toEqual([document, otherFile].sort())
    await connected.close()

    // The same installation without its bucket: its objects still count as stored.
    const without = await testApp({}, database)
    const { items } = await planOf({ part: { ...part, kind: 'project', id: project.id, conversation: null } }, without)
    expect(items).toEqual([document, otherFile].sort())
    const scope = { part }
    await expect(erased(scope, items, without)).rejects.toMatchObject({ code: 'unavailable' })
    await expect(left(scope, items, without)).rejects.toMatchObject({ code: 'unavailable' })
    await without.close()
    s3.destroy()
  })
})

it('erase rejects and plan returns items while the store is down', async () => {
  const { file, part } = await deal()
  const folder = join(test.dataDir, 'objects')
  const { items } = await planOf({ part })
  expect(items).toEqual([file])
  await rm(folder, { recursive: true })
  await writeFile(folder, 'a file where the folder was')
  expect((await planOf({ part })).items).toEqual([file])
  await expect(erased({ part }, items)).rejects.toMatchObject({ code: 'unavailable' })
  await expect(left({ part }, items)).rejects.toMatchObject({ code: 'unavailable' })
})
