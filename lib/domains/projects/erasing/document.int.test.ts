import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { newId } from '#lib/kernel/ids.ts'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import {
  areStoresInstalled,
  type ConnectedStores,
  connectTestStores,
  type StoreServers,
  storeServers,
} from '#lib/testing/connected-stores.ts'
import { locationsOf, rowsOf } from '#lib/testing/everything.ts'
import { dealGraph } from '#lib/testing/graphs.ts'
import { type Person, signedIn } from '#lib/testing/people.ts'
import { dataOf, eraseWholeProject, madeDocument, madeMember, madeProject, reported } from '#lib/testing/projects.ts'

describe.skipIf(!(await areStoresInstalled()))('DELETE of a document with derived data in connected stores', () => {
  let servers: StoreServers & { close(): Promise<void> }
  let stores: ConnectedStores
  let test: TestApp
  beforeAll(async () => {
    servers = await storeServers()
    stores = await connectTestStores(servers)
    test = await testApp(stores.settings)
  })
  afterAll(async () => {
    await test?.close()
    await stores?.close()
    await servers?.close()
  })

  /** A document of a member, with chunks and versions, and with an episode and a cached answer that only pointers name; and another one. */
  async function brought() {
    const project = await madeProject(test)
    const [author, colleague] = [await madeMember(test, project), await madeMember(test, project)]
    const words = `What ${newId('word')} hides in the vault`
    const bytes = `# Minutes\n\n${'Nothing else was said.\n'.repeat(200)}\n${words}.\n`
    const document = await madeDocument(test, project, author, { name: `${words}.md`, bytes })
    expect(document.chunks).toBeGreaterThan(1)
    const other = await madeDocument(test, project, colleague, { bytes: 'Theirs alone, and it stays.' })
    const { objectKey: key } = await test.db.prisma.document.findUniqueOrThrow({ where: { id: document.id } })
    for (const version of ['Newer', 'Newest']) await stores.putObject(key, `${version}: ${words}`)
    const graph = dealGraph(project.groupId)
    const episode = graph.id('e1')
    await stores.planting.plant({
      ...graph,
      episodes: graph.episodes.map((one) => (one.uuid === episode ? { ...one, content: `${words}, in short.` } : one)),
    })
    const cached = `answers:${project.id}:latest`
    await test.app.stored.cache.set(cached, `${words}, we answered.`, { ttl: 600, about: [] })
    await reported(test, project, author, [
      { source_id: document.id, store: 'graph', ref: episode },
      { source_id: document.id, store: 'cache', ref: `kp:cache:${cached}` },
    ])
    const path = `${project.path}/documents/${document.id}`
    return { project, author, colleague, words, document, other, episode, path }
  }
  const erase = (path: string, { cookie }: Person, body: unknown = {}) => test.fetch('DELETE', path, { cookie, body })
  const places = async (words: string) => [
    ...locationsOf(await rowsOf(test.ownerUrl), words),
    ...locationsOf(await stores.everything(), words),
  ]

  it('with dry_run returns the plan for every store and changes nothing', async () => {
    const { author, words, episode, path } = await brought()
    const before = await places(words)
    const response = await erase(`${path}?dry_run=true`, author)
    expect(response.status, response.text).toBe(200)
    const { verdicts } = response.json.data
    for (const decision of [
      { store: 'postgresql', kind: 'document', evidence: expect.arrayContaining(['chunks:3', 'pointers:3']) },
      { store: 'objects', kind: 'object', evidence: ['versions:3'] },
      { store: 'graph', kind: 'episode', id: episode, found: 'pointer' },
      { store: 'cache', kind: 'key', found: 'pointer' },
    ])
      expect(verdicts).toContainEqual(expect.objectContaining({ ...decision, verdict: 'deleted' }))
    expect((await places(words)).sort()).toEqual(before.sort())
    expect((await dataOf(test, 'GET', path, author)).chunks).toBe(3)
    expect(await test.db.prisma.erasureRun.count()).toBe(0)
  })

  it('rejects other members, strangers and anonymous callers', async () => {
    const { author, colleague, document, project, path } = await brought()
    const stranger = await signedIn(test)
    const elsewhere = await madeProject(test, { owner: author })
    const asked = [
      erase(path, colleague),
      erase(`${path}?dry_run=true`, colleague),
      erase(`${path}?redact=true`, author),
      erase(path, stranger),
      erase(`${elsewhere.path}/documents/${document.id}`, author),
      erase(`${project.path}/documents/doc_nobody`, author),
      test.fetch('DELETE', path),
      erase(path, author, { reason: 'because' }),
    ]
    expect((await Promise.all(asked)).map(({ status }) => status)).toEqual([403, 403, 403, 404, 404, 404, 401, 422])
    expect(await test.db.prisma.erasureRun.count({ where: { partId: document.id } })).toBe(0)
    expect((await dataOf(test, 'GET', path, colleague)).id).toBe(document.id)
  })

  it('by its author erases rows, chunks, versions, episode and answer once, with one receipt', async () => {
    const { author, colleague, document, episode, other, path, project, words } = await brought()
    expect((await places(words)).length).toBeGreaterThan(6)
    const twice = await Promise.all([1, 2].map(() => erase(path, author, { reason: 'gdpr_erasure' })))
    expect(twice.filter(({ status }) => ![200, 202, 410].includes(status)).map(({ text }) => text)).toEqual([])
    const { auditId } = twice.find(({ status }) => status !== 410)?.json ?? {}
    await expect
      .poll(() => test.app.subjectErasures.byAudit(auditId), { timeout: 120_000 })
      .toMatchObject({ state: 'done' })

    expect(await places(words)).toEqual([])
    expect((await stores.graphRows(project.groupId)).filter((row) => row.includes(`"uuid":"${episode}"`))).toEqual([])
    expect(await test.app.stored.objects.list(`projects/${project.id}/documents/${document.id}/`, '', 10)).toEqual([])
    expect(await test.db.prisma.documentChunk.count({ where: { documentId: document.id } })).toBe(0)
    expect(await test.db.prisma.provenance.count({ where: { sourceId: document.id } })).toBe(0)

    const { data } = (await test.fetch('GET', `/api/erasures/${auditId}`, author)).json
    expect(data).toMatchObject({ success: true, part: { kind: 'document', id: document.id } })
    expect(data.deleted_from).toMatchObject({
      postgresql: true,
      redis: true,
      objects: 1,
      graphiti: { episodesDeleted: 1, entitiesDeleted: expect.any(Number) },
    })
    const logged = await test.db.prisma.deletionAuditEntry.findMany({
      where: { scope: { path: ['documentId'], equals: document.id } },
    })
    expect(logged).toMatchObject([
      {
        auditId,
        reason: 'gdpr_erasure',
        requestedBy: `user:${author.accountId}`,
        scope: { projectId: project.id, documentId: document.id },
        results: { documentsDeleted: 1, episodesDeleted: 1, 'objects.bytes': 1, 'cache.entries': 1 },
      },
    ])
    const receipts = await test.db.prisma.erasure.findMany({ where: { deletedId: document.id } })
    expect(receipts.map(({ receiptId }) => receiptId)).toEqual([data.receipt_id])
    const receipt = await test.fetch('GET', `/v1/receipts/${data.receipt_id}`)
    expect(receipt.json).toMatchObject({ part_kind: 'document', deleted_id: document.id, reason: 'gdpr_erasure' })

    for (const who of [author, colleague]) {
      const again = await erase(path, who)
      expect([again.status, again.json.receipt_id]).toEqual([410, data.receipt_id])
      for (const deleted of [path, `${path}/content`]) expect((await test.fetch('GET', deleted, who)).status).toBe(404)
    }
    expect((await erase(path, await signedIn(test))).status).toBe(404)
    const theirs = await test.fetch('GET', `${project.path}/documents/${other.id}/content`, author)
    expect(theirs.text).toBe('Theirs alone, and it stays.')
  })

  it('by an owner of the project erases documents of others', async () => {
    const { document, path, project, words } = await brought()
    await eraseWholeProject(test, path, project.owner)
    expect(await test.db.prisma.document.count({ where: { id: document.id } })).toBe(0)
    expect(await places(words)).toEqual([])
  })
})
