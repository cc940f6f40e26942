import { Readable } from 'node:stream'
import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  DeleteObjectsCommand,
  GetObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  S3Client,
  UploadPartCommand,
} from '@aws-sdk/client-s3'
import { errorCode } from '#lib/kernel/error-code.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { checkKey, forEach, inKeyOrder, isAskable, isKey } from './keys.ts'
import type { ObjectStore } from './objects.ts'
import { type S3Version, s3Listing } from './s3-listing.ts'

export interface S3Place {
  bucket: string
  region: string
  pathStyle: boolean
  /** Undefined: AWS. */
  endpoint: string | undefined
  /** Undefined: as the SDK finds them (environment, profile, role of the machine). */
  credentials: { accessKeyId: string; secretAccessKey: string } | undefined
}

/** Of all parts but the last, in bytes. S3 takes 5 MiB at least, and R2 parts of one size alone. */
const partBytes = 8 * 1024 * 1024
/** Objects of one DeleteObjects. */
const mostDeleted = 1000
const atOnce = 8

/** What failed, as S3 calls it; nothing of the request, which carries a signature and names the key. */
function nameOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown fault'
  const code = errorCode(error) ?? error.name
  return /^[A-Za-z0-9_.]{1,64}$/.test(code) ? code : 'unknown fault'
}
const refused = (error: unknown): Problem =>
  Problem.is(error)
    ? error
    : new Problem(
        'unavailable',
        `The object store (S3) did not do it (${nameOf(error)}). Nothing was lost; it is tried again.`,
      )
const told = async <T>(work: Promise<T>): Promise<T> => {
  try {
    return await work
  } catch (error) {
    throw refused(error)
  }
}
async function* toldAlong(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield* bytes
  } catch (error) {
    throw refused(error)
  }
}

/** The bytes in pieces of a part each; the last may be shorter, and is empty only where there is nothing else. */
async function* parts(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
  let gathered: Uint8Array[] = []
  let size = 0
  let isFirst = true
  for await (const piece of bytes) {
    gathered.push(piece)
    size += piece.length
    if (size < partBytes) continue
    const whole = Buffer.concat(gathered)
    let at = 0
    for (; size - at >= partBytes; at += partBytes) yield whole.subarray(at, at + partBytes)
    isFirst = false
    gathered = [whole.subarray(at)]
    size -= at
  }
  if (size > 0 || isFirst) yield Buffer.concat(gathered)
}

/** S3 as AWS, R2, MinIO and versitygw speak it. Nothing is connected before it is first asked something. */
export function s3Objects(place: S3Place): ObjectStore {
  const { bucket } = place
  const client = new S3Client({
    region: place.region,
    forcePathStyle: place.pathStyle,
    ...(place.endpoint !== undefined && { endpoint: place.endpoint }),
    ...(place.credentials && { credentials: place.credentials }),
    // Others than AWS do not all know the newer checksums.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    maxAttempts: 3,
    requestHandler: { connectionTimeout: 3_000, requestTimeout: 30_000, throwOnRequestTimeout: true },
  })
  const listing = s3Listing(client, bucket)

  async function putInParts(key: string, mediaType: string, first: Buffer, rest: AsyncIterable<Buffer>) {
    const about = { Bucket: bucket, Key: key }
    const { UploadId } = await told(client.send(new CreateMultipartUploadCommand({ ...about, ContentType: mediaType })))
    const done: { ETag: string | undefined; PartNumber: number }[] = []
    const send = async (part: Buffer) => {
      const PartNumber = done.length + 1
      const { ETag } = await told(client.send(new UploadPartCommand({ ...about, UploadId, PartNumber, Body: part })))
      done.push({ ETag, PartNumber })
    }
    try {
      await send(first)
      for await (const part of rest) await send(part)
      await told(
        client.send(new CompleteMultipartUploadCommand({ ...about, UploadId, MultipartUpload: { Parts: done } })),
      )
    } catch (error) {
      // What cannot be taken back now counts as a version of the key until that is erased.
      await client.send(new AbortMultipartUploadCommand({ ...about, UploadId })).catch(() => {})
      throw error
    }
  }

  /** All of one key. Listed in order, so what has another key ends it. */
  async function versionsOf(key: string): Promise<S3Version[]> {
    const found: S3Version[] = []
    for await (const page of listing.versions(key)) {
      found.push(...page.filter((one) => one.key === key))
      if (page.some((one) => one.key !== key)) break
    }
    return found
  }
  async function uploadsOf(key: string) {
    const found: { key: string; id: string; at: Date }[] = []
    for await (const page of listing.uploads(key)) {
      found.push(...page.filter((one) => one.key === key))
      if (page.some((one) => one.key !== key)) break
    }
    return found
  }
  /** Gives how many were refused. */
  async function remove(versions: readonly S3Version[]): Promise<number> {
    let refusals = 0
    for (let at = 0; at < versions.length; at += mostDeleted) {
      const Objects = versions
        .slice(at, at + mostDeleted)
        .map(({ key, versionId }) => ({ Key: key, ...(versionId !== undefined && { VersionId: versionId }) }))
      const { Errors = [] } = await client.send(
        new DeleteObjectsCommand({ Bucket: bucket, Delete: { Objects, Quiet: true } }),
      )
      refusals += Errors.filter(({ Code }) => Code !== 'NoSuchKey' && Code !== 'NoSuchVersion').length
    }
    return refusals
  }

  /** Everything under these keys once; gives the keys that had anything. */
  async function sweep(keys: readonly string[]): Promise<string[]> {
    const had = new Set<string>()
    const found: S3Version[] = []
    await forEach(keys, atOnce, async (key) => {
      for (const { id } of await uploadsOf(key)) {
        had.add(key)
        await client
          .send(new AbortMultipartUploadCommand({ Bucket: bucket, Key: key, UploadId: id }))
          .catch((error) => {
            if (nameOf(error) !== 'NoSuchUpload') throw error
          })
      }
      const versions = await versionsOf(key)
      if (versions.length > 0) had.add(key)
      found.push(...versions)
    })
    const refusals = await remove(found)
    if (refusals > 0)
      throw new Problem(
        'unavailable',
        `The object store (S3) keeps ${refusals} of ${found.length} versions: a lock, a retention rule or missing rights. They are tried again.`,
      )
    return [...had]
  }

  /** At most so many different keys, in their order. */
  async function keysOf(pages: AsyncIterable<{ key: string }[]>, after: string, most: number): Promise<string[]> {
    const found = new Set<string>()
    for await (const page of pages) {
      for (const { key } of page.toSorted((a, b) => inKeyOrder(a.key, b.key)))
        if (inKeyOrder(key, after) > 0) found.add(key)
      if (found.size >= most) break
    }
    return [...found].sort(inKeyOrder).slice(0, most)
  }

  return {
    provider: 's3',
    async state() {
      const began = performance.now()
      try {
        await client.send(new ListObjectsV2Command({ Bucket: bucket, MaxKeys: 1 }))
        return { state: 'ok', latency: performance.now() - began }
      } catch (error) {
        return { state: 'down', latency: performance.now() - began, detail: nameOf(error) }
      }
    },
    async put(key, bytes, { mediaType }) {
      checkKey(key)
      const pieces = parts(bytes)
      const first = await pieces.next()
      if (first.done) throw new Error('there is always a first part')
      const second = first.value.length < partBytes ? undefined : await pieces.next()
      if (second === undefined || second.done) {
        await told(
          client.send(new PutObjectCommand({ Bucket: bucket, Key: key, Body: first.value, ContentType: mediaType })),
        )
        return
      }
      const next = second.value
      await putInParts(
        key,
        mediaType,
        first.value,
        (async function* () {
          yield next
          yield* pieces
        })(),
      )
    },
    async get(key) {
      if (!isKey(key)) return undefined
      try {
        const { Body } = await client.send(new GetObjectCommand({ Bucket: bucket, Key: key }))
        if (!(Body instanceof Readable)) throw new Error('the SDK gave no stream')
        return toldAlong(Body)
      } catch (error) {
        if (nameOf(error) === 'NoSuchKey') return undefined
        throw refused(error)
      }
    },
    async versions(key) {
      if (!isAskable(key)) return []
      const [versions, uploads] = await told(Promise.all([versionsOf(key), uploadsOf(key)]))
      return [
        ...versions.map(({ version, bytes, at }) => ({ key, version, bytes, at })),
        ...uploads.map(({ id, at }) => ({ key, version: `upload:${id}`, bytes: 0, at })),
      ]
    },
    async erase(given) {
      const keys = [...new Set(given)].filter(isAskable)
      return (await told(sweep(keys))).length
    },
    async list(prefix, after, most) {
      if (most < 1) return []
      const [versions, uploads] = await told(
        Promise.all([
          keysOf(listing.versions(prefix, after), after, most),
          keysOf(listing.uploads(prefix, after), after, most),
        ]),
      )
      return [...new Set([...versions, ...uploads])].sort(inKeyOrder).slice(0, most)
    },
    lingers: async () => 0,
    close: async () => client.destroy(),
  }
}
