import {
  CreateBucketCommand,
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  PutBucketVersioningCommand,
  PutObjectCommand,
  S3Client,
  UploadPartCommand,
} from '@aws-sdk/client-s3'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { isInstalled } from '#lib/testing/services/installed.ts'
import { s3Credentials } from '#lib/testing/services/objects.ts'
import { s3Server } from '#lib/testing/services/shared.ts'
import { objectsAddress } from './address.ts'
import { s3Objects } from './s3.ts'
import { type ObjectsBed, objectsSuite } from './suite/objects-suite.ts'

let server: Awaited<ReturnType<typeof s3Server>>
let client: S3Client
const run = Date.now().toString(36)

function openObjects(url: string) {
  const address = objectsAddress(url, '/nowhere')
  if (address.provider !== 's3') throw new Error('that is no S3')
  return s3Objects(address)
}
const storeOf = (bucket: string, port = server.port) =>
  openObjects(
    `s3://${s3Credentials.key}:${s3Credentials.secret}@127.0.0.1:${port}/${bucket}?region=us-east-1&tls=false&path_style=true`,
  )
async function bedOf(bucket: string, keepsVersions: boolean): Promise<ObjectsBed> {
  await client.send(new CreateBucketCommand({ Bucket: bucket }))
  if (keepsVersions)
    await client.send(
      new PutBucketVersioningCommand({ Bucket: bucket, VersioningConfiguration: { Status: 'Enabled' } }),
    )
  const [store, down] = [storeOf(bucket), storeOf(bucket, 1)]
  return {
    store,
    keepsVersions,
    nests: false,
    async leaveUnfinished(Key) {
      const about = { Bucket: bucket, Key }
      const { UploadId } = await client.send(new CreateMultipartUploadCommand(about))
      await client.send(new UploadPartCommand({ ...about, UploadId, PartNumber: 1, Body: 'half of' }))
    },
    async removeNewest(Key) {
      await client.send(new DeleteObjectCommand({ Bucket: bucket, Key }))
    },
    down,
    secrets: [s3Credentials.key, s3Credentials.secret, '127.0.0.1'],
    async close() {
      await store.close()
      await down.close()
    },
  }
}

describe.skipIf(!isInstalled('s3'))('with an S3 server', () => {
  beforeAll(async () => {
    server = await s3Server()
    client = new S3Client({
      endpoint: server.endpoint,
      region: 'us-east-1',
      forcePathStyle: true,
      credentials: { accessKeyId: s3Credentials.key, secretAccessKey: s3Credentials.secret },
    })
  })
  afterAll(() => client?.destroy())

  objectsSuite('S3 with versions', () => bedOf(`with-versions-${run}`, true))
  objectsSuite('S3 without versions', () => bedOf(`without-versions-${run}`, false))

  describe('S3', () => {
    const bytes = async function* () {
      yield Buffer.from('x')
    }
    it('erase rejects as unavailable with counts only when a lock retains a version, and removes the others', async () => {
      const Bucket = `locked-${run}`
      await client.send(new CreateBucketCommand({ Bucket, ObjectLockEnabledForBucket: true }))
      const store = storeOf(Bucket)
      await store.put('kept/one', bytes(), { mediaType: 'text/plain' })
      const until = new Date(Date.now() + 3_600_000)
      const lock = { ObjectLockMode: 'GOVERNANCE', ObjectLockRetainUntilDate: until } as const
      await client.send(new PutObjectCommand({ Bucket, Key: 'kept/one', Body: 'locked', ...lock }))
      await store.put('kept/two', bytes(), { mediaType: 'text/plain' })
      await expect(store.erase(['kept/one', 'kept/two'])).rejects.toMatchObject({
        code: 'unavailable',
        detail: expect.stringMatching(/did not delete 1 of 3 versions/),
        extensions: { refusal: 'locked' },
      })
      expect(await store.versions('kept/two')).toEqual([])
      expect(await store.versions('kept/one')).toHaveLength(1)
      await store.close()
    })

    it('replace gives other texts to metadata, tags and headers, keeps every value, and retains the rest', async () => {
      const Bucket = `described-${run}`
      await client.send(new CreateBucketCommand({ Bucket }))
      const store = storeOf(Bucket)
      const about = {
        Metadata: { 'maria-probe': 'x', 'probe-maria': 'z', who: 'for Maria Probe', kept: 'y' },
        Tagging: 'Maria+Probe=1&Probe+Maria=2&team=red',
        ContentDisposition: 'attachment; filename="Maria Probe.txt"',
        ContentType: 'text/plain',
      }
      await client.send(new PutObjectCommand({ Bucket, Key: 'one', Body: 'content', ...about }))
      const before = await store.read('one', 100)
      expect(before?.described).toEqual(expect.arrayContaining([about.ContentDisposition, 'text/plain', 'Maria Probe']))
      const texts = new Map(
        (before?.described ?? []).flatMap((text) => {
          const rest = text.replace(/maria.probe|probe.maria/i, 'erased')
          return rest === text ? [] : [[text, rest] as const]
        }),
      )
      expect(await store.replace('one', { state: before?.state ?? '' }, Buffer.from('content'), texts)).toBe(true)
      const after = await store.read('one', 100)
      expect(after?.bytes?.toString()).toBe('content')
      expect(after?.mediaType).toBe('text/plain')
      expect(after?.described.toSorted()).toEqual(
        [
          'erased',
          'x',
          'erased-2',
          'z',
          'who',
          'for erased',
          'kept',
          'y',
          'erased',
          '1',
          'erased-2',
          '2',
          'team',
          'red',
        ]
          .concat('attachment; filename="erased.txt"', 'text/plain')
          .toSorted(),
      )
      await store.close()
    })

    it('eraseVersions of the newest version does not serve the one that it had replaced', async () => {
      const Bucket = `hidden-${run}`
      await client.send(new CreateBucketCommand({ Bucket }))
      await client.send(new PutBucketVersioningCommand({ Bucket, VersioningConfiguration: { Status: 'Enabled' } }))
      const store = storeOf(Bucket)
      for (const key of ['one', 'two', 'three'])
        for (let n = 0; n < 2; n++) await store.put(key, bytes(), { mediaType: 'text/plain' })
      const newest = async (key: string) => (await store.read(key, 0))?.version ?? ''
      const [newestOfOne, ...former] = [await newest('one'), ...(await store.versions('one')).map((one) => one.version)]
      await store.eraseVersions('one', [newestOfOne])
      expect(await store.read('one', 100)).toBeUndefined()
      const left = former.filter((version) => version !== newestOfOne)
      expect(left).toHaveLength(1)
      expect(await store.read('one', 100, left[0])).toMatchObject({ version: left[0] })
      // A former version, and all of them.
      const kept = await newest('two')
      const all = (await store.versions('two')).map(({ version }) => version)
      await store.eraseVersions(
        'two',
        all.filter((version) => version !== kept),
      )
      expect(await newest('two')).toBe(kept)
      await store.eraseVersions(
        'three',
        (await store.versions('three')).map(({ version }) => version),
      )
      expect(await store.versions('three')).toEqual([])
      await store.close()
    })

    it('read rejects a request that the server calls invalid, and does not report the object as encrypted', async () => {
      const Bucket = `invalid-${run}`
      await client.send(new CreateBucketCommand({ Bucket }))
      await client.send(new PutBucketVersioningCommand({ Bucket, VersioningConfiguration: { Status: 'Enabled' } }))
      const store = storeOf(Bucket)
      await store.put('one', bytes(), { mediaType: 'text/plain' })
      await expect(store.read('one', 100, 'no-version')).rejects.toMatchObject({ code: 'unavailable' })
      await store.close()
    })

    it.each([
      ['a missing bucket', () => storeOf('no-such-bucket'), 'NoSuchBucket', 'missing'],
      [
        'an unknown key',
        () => openObjects(`s3://stranger:wrong-secret@127.0.0.1:${server.port}/locked-${run}?tls=false`),
        expect.any(String),
        'credentials',
      ],
      [
        'a wrong secret',
        () => openObjects(`s3://${s3Credentials.key}:wrong-secret@127.0.0.1:${server.port}/locked-${run}?tls=false`),
        'SignatureDoesNotMatch',
        'credentials',
      ],
    ])('every method rejects %s and never returns an empty answer', async (_what, open, detail, refusal) => {
      const store = open()
      expect(await store.state()).toMatchObject({ state: 'down', detail })
      for (const ask of [() => store.get('a'), () => store.versions('a'), () => store.erase(['a'])])
        await expect(ask()).rejects.toMatchObject({ code: 'unavailable', extensions: { refusal } })
      await store.close()
    })
  })
})
