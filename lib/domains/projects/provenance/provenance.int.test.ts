import { afterAll, beforeAll, describe, expect, test as it } from 'vitest'
import { newId } from '#lib/kernel/ids.ts'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { openArchive } from '#lib/testing/archives.ts'
import {
  dataOf,
  type MadeConversation,
  type MadeProject,
  madeAttachment,
  madeConversation,
  madeDocument,
  madeMessage,
  madeProject,
  reported,
} from '#lib/testing/projects.ts'

let test: TestApp
let project: MadeProject
let conversation: MadeConversation
let elsewhere: MadeProject
beforeAll(async () => {
  test = await testApp({ KP_POINTER_PREFIXES: 'allowed:' })
  project = await madeProject(test)
  conversation = await madeConversation(test, project)
  elsewhere = await madeProject(test)
})
afterAll(() => test.close())

const report = (entries: unknown, asker: { cookie: string } | { token: string } = project.owner) =>
  test.fetch('POST', `${project.path}/provenance`, { ...asker, body: { entries } })
const known = async (id: string) =>
  (await test.fetch('GET', `${project.path}/provenance?limit=100&source_id=${id}`, project.owner)).json

describe('the provenance ledger', () => {
  it('has a default pointer for each message, and the pointers in its request', async () => {
    const message = await madeMessage(test, conversation, project.agent, {
      provenance: [{ store: 'graph', ref: 'episode-1', ended: ['fact-2', 'fact-1'] }],
    })
    const { data } = await known(message.id)
    expect(data).toHaveLength(2)
    expect(data).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ store: 'graph', ref: 'episode-1', told_by: project.agent.id }),
        expect.objectContaining({ store: 'checkpoints', ref: message.id, place: null }),
      ]),
    )
  })

  it('omits data that is being erased, as does the export of the project', async () => {
    const erasing = await madeConversation(test, project)
    const message = await madeMessage(test, erasing, project.owner)
    const exported = async () => (await test.fetch('GET', `${project.path}/export?format=ndjson`, project.owner)).text
    expect([(await known(message.id)).total, (await exported()).includes(message.id)]).toEqual([1, true])
    await test.db.prisma.conversation.update({ where: { id: erasing.id }, data: { erasingSince: test.clock.now() } })
    expect(await known(message.id)).toMatchObject({ data: [] })
    expect(await exported()).not.toContain(message.id)
  })

  it('stores all entries or none, each once, and merges the facts of a known pointer', async () => {
    const message = await madeMessage(test, conversation, project.owner)
    const entry = { source_id: message.id, store: 'graph', ref: newId('episode') }
    const both = [
      { ...entry, ended: ['a'] },
      { ...entry, ended: ['b'] },
    ]
    expect(await reported(test, project, project.agent, both)).toEqual({ received: 2, stored: 1, known: 1 })
    expect(await reported(test, project, project.owner, [{ ...entry, ended: ['c', 'a'] }])).toMatchObject({ stored: 0 })
    const { data } = await known(message.id)
    expect(data.find(({ store }: { store: string }) => store === 'graph').ended.sort()).toEqual(['a', 'b', 'c'])
    const many = Array.from({ length: 1_000 }, (_, n) => ({ ...entry, store: 'outside', ref: `x${n}` }))
    expect(await reported(test, project, project.owner, many)).toMatchObject({ stored: 1_000 })
    expect((await report([...many, entry])).status).toBe(422)
    expect((await report([])).status).toBe(422)
  })

  it('rejects entries for sources of other projects and unknown sources with 422 and their paths, and stores nothing', async () => {
    const own = await madeMessage(test, conversation, project.owner)
    const there = await madeMessage(test, await madeConversation(test, elsewhere), elsewhere.owner)
    const before = (await known(own.id)).total
    const { status, json } = await report([
      { source_id: own.id, store: 'outside', ref: 'k' },
      { source_id: there.id, store: 'outside', ref: 'k' },
      { source_id: 'nobody', store: 'outside', ref: 'k' },
    ])
    expect(status).toBe(422)
    expect(json.issues).toMatchObject([
      { path: ['entries', 1, 'source_id'], message: expect.stringContaining(there.id) },
      { path: ['entries', 2, 'source_id'] },
    ])
    expect((await known(own.id)).total).toBe(before)
    expect((await report([{ source_id: own.id, store: 'outside', ref: 'k' }], elsewhere.owner)).status).toBe(404)
  })

  it('rejects pointers to data of others, because that data would be erased with the source', async () => {
    const own = await madeMessage(test, conversation, project.owner)
    const other = await madeMessage(test, conversation, project.agent)
    const file = await madeAttachment(test, other, project.agent)
    const there = await madeConversation(test, elsewhere, { threads: ['their-thread'] })
    const theirs = await madeMessage(test, there, elsewhere.owner)
    const named = await madeMessage(test, conversation, project.owner, { id: newId('prj') })
    const theirKey = `${project.id}:${elsewhere.id}`
    await reported(test, elsewhere, elsewhere.owner, [{ source_id: theirs.id, store: 'cache', ref: theirKey }])
    const source_id = own.id
    for (const entry of [
      { store: 'objects', ref: `projects/${project.id}/messages/${other.id}/${file.id}` },
      { store: 'objects', ref: `projects/${elsewhere.id}/documents/x` },
      { store: 'objects', ref: `snapshots/${project.id}/${newId('snap')}` },
      { store: 'checkpoints', ref: 'm', place: 'their-thread' },
      { store: 'checkpoints', ref: 'm', place: there.id },
      { store: 'graph', ref: 'e', place: elsewhere.groupId },
      { store: 'cache', ref: theirKey },
      { store: 'cache', ref: `session:${elsewhere.id}` },
      { store: 'objects', ref: 'backups/db.tar' },
      { store: 'cache', ref: own.id, ended: ['f'] },
      { store: 'elsewhere', ref: 'k' },
      { store: 'cache', ref: '' },
      { store: 'cache', ref: 'a\nb' },
    ])
      expect([entry, (await report([{ source_id, ...entry }])).status]).toEqual([entry, 422])
    // An id that a client chose proves nothing.
    expect((await report([{ source_id: named.id, store: 'objects', ref: `app/${named.id}` }])).status).toBe(422)
    for (const id of [own.id, conversation.id, project.id])
      expect((await report([{ source_id, store: 'objects', ref: `app/${id}/x` }])).status).toBe(200)
    for (const folder of ['projects/4711', 'snapshots', 'knowledgepulse-demo'])
      expect((await report([{ source_id, store: 'objects', ref: `${folder}/${project.id}/x` }])).status).toBe(200)
    expect((await report([{ source_id, store: 'cache', ref: 'allowed:x' }])).status).toBe(200)
    expect((await report([{ source_id, store: 'checkpoints', ref: 'm', place: 'thread-of-nobody' }])).status).toBe(200)
  })
})

describe('the export of a project', () => {
  it('contains all its data, as NDJSON and as an archive with files, and no data that is being erased', async () => {
    const own = await madeProject(test, { name: 'To take along' })
    const talk = await madeConversation(test, own)
    const message = await madeMessage(test, talk, own.owner, { content: 'Line one\nline two' })
    await dataOf(test, 'PATCH', message.path, own.owner, { body: { content: 'Otherwise.' } })
    await madeAttachment(test, message, own.owner, { name: 'a.txt', bytes: 'attached' })
    const document = await madeDocument(test, own, own.agent, { name: 'd.md', bytes: 'document' })
    const deleted = await madeMessage(test, talk, own.owner, { content: 'Being erased.' })
    await test.app.db.prisma.message.update({ where: { id: deleted.id }, data: { erasingSince: test.clock.now() } })
    const { text, headers } = await test.fetch('GET', `${own.path}/export`, own.owner)
    expect(headers.get('content-type')).toBe('application/x-ndjson')
    const lines = text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    expect(lines.at(-1)).toEqual({
      totals: {
        project: 1,
        members: 2,
        conversations: 1,
        messages: 1,
        edits: 1,
        attachments: 1,
        documents: 1,
        document_chunks: 1,
        provenance: 3,
        participants: 0,
        checkpoints: 0,
        checkpoints_left_out: 0,
      },
    })
    // A summary or fact may contain words that are being erased.
    expect(lines[0].left_out).toEqual([
      'graph_episodes',
      'graph_entities',
      'graph_facts',
      'graph_communities',
      'graph_sagas',
    ])
    expect(lines.find(({ part }) => part === 'messages')).toMatchObject({ content: 'Otherwise.', id: message.id })
    expect(text).toContain('Line one\\nline two')
    expect(text).not.toContain('Being erased.')
    const response = await fetch(`${test.url}${own.path}/export?format=zip`, { headers: { Cookie: own.owner.cookie } })
    const archive = await openArchive(new Uint8Array(await response.arrayBuffer()))
    const names = Object.keys(archive.files)
    expect(names).toContain(`files/documents/${document.id}/d.md`)
    expect(names.filter((name) => name.startsWith('files/attachments/'))).toHaveLength(1)
    expect(await dataOf(test, 'GET', own.path, own.owner)).toMatchObject({ conversations: 1 })
    const entries = await test.app.db.query(
      undefined,
      `SELECT 1 FROM audit_entries WHERE action = 'export' AND resource_type = 'project' AND resource_id = $1`,
      [own.id],
    )
    expect(entries).toHaveLength(2)
  })
})
