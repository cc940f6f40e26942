import { Storage } from '@google-cloud/storage'
import { beforeAll, describe, expect, it } from 'vitest'
import { isInstalled } from '#lib/testing/services/installed.ts'
import { gcsServer } from '#lib/testing/services/shared.ts'
import { objectsAddress } from './address.ts'
import { gcsObjects } from './gcs.ts'
import { type ObjectsBed, objectsSuite } from './suite/objects-suite.ts'

let server: Awaited<ReturnType<typeof gcsServer>>
let storage: Storage
const run = Date.now().toString(36)

function storeOf(bucket: string, endpoint = server.endpoint) {
  const address = objectsAddress(`gs://${bucket}?endpoint=${endpoint}`, '/nowhere')
  if (address.provider !== 'gcs') throw new Error('that is no Google Cloud Storage')
  return gcsObjects(address)
}

async function bedOf(bucket: string, keepsVersions: boolean): Promise<ObjectsBed> {
  await storage.createBucket(bucket, { versioning: { enabled: keepsVersions } })
  const store = storeOf(bucket)
  return {
    store,
    keepsVersions,
    nests: true,
    leaveUnfinished: undefined,
    async removeNewest(key) {
      await storage.bucket(bucket).file(key).delete()
    },
    down: storeOf(bucket, 'http://127.0.0.1:1'),
    secrets: ['127.0.0.1'],
    close: () => store.close(),
  }
}

describe.skipIf(!isInstalled('gcs'))('with a Google Cloud Storage server', () => {
  beforeAll(async () => {
    server = await gcsServer()
    storage = new Storage({ apiEndpoint: server.endpoint, projectId: 'local', useAuthWithCustomEndpoint: false })
  })

  objectsSuite('Google Cloud Storage with versions', () => bedOf(`with-versions-${run}`, true))
  objectsSuite('Google Cloud Storage without versions', () => bedOf(`without-versions-${run}`, false))

  it('replace gives other texts to metadata and headers, and keeps every value', async () => {
    const bucket = `described-${run}`
    await storage.createBucket(bucket)
    const store = storeOf(bucket)
    const metadata = { 'Maria Probe': 'x', who: 'for Maria Probe', kept: 'y' }
    const contentDisposition = 'attachment; filename="Maria Probe.txt"'
    await storage
      .bucket(bucket)
      .file('one')
      .save('content', {
        resumable: false,
        metadata: { metadata, contentDisposition, contentType: 'text/plain' },
      })
    const before = await store.read('one', 100)
    const texts = new Map((before?.described ?? []).map((text) => [text, text.replace('Maria Probe', 'erased')]))
    expect(await store.replace('one', { state: before?.state ?? '' }, Buffer.from('content'), texts)).toBe(true)
    const after = await store.read('one', 100)
    expect(after?.bytes?.toString()).toBe('content')
    expect(after?.described.toSorted()).toEqual(before?.described.map((text) => texts.get(text)).toSorted())
    expect(after?.described.join()).not.toContain('Maria')
    await store.close()
  })

  it('read rejects a request that the server calls invalid, and does not report the object as encrypted', async () => {
    const bucket = `invalid-${run}`
    await storage.createBucket(bucket)
    await storage.bucket(bucket).file('one').save('content', { resumable: false })
    const store = storeOf(bucket)
    await expect(store.read('one', 100, '99999999999999999999')).rejects.toMatchObject({
      code: 'unavailable',
      detail: expect.stringContaining('(400)'),
    })
    await store.close()
  })

  it('a missing bucket is reported as down and unavailable and never as empty', async () => {
    const store = storeOf('no-such-bucket')
    expect(await store.state()).toMatchObject({ state: 'down', detail: '404' })
    for (const ask of [() => store.get('a'), () => store.versions('a'), () => store.erase(['a'])])
      await expect(ask()).rejects.toMatchObject({ code: 'unavailable', extensions: { refusal: 'missing' } })
  })
})
