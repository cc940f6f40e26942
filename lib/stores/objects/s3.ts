import { Readable } from 'node:stream'
import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  DeleteObjectsCommand,
  GetObjectCommand,
  GetObjectTaggingCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  S3Client,
  UploadPartCommand,
} from '@aws-sdk/client-s3'
import { errorCode } from '#lib/kernel/error-code.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { type StoreRefusal, unusableStore } from '#lib/kernel/store-refusal.ts'
import { bytesUpTo, checkKey, forEach, inKeyOrder, isAskable, isObjectKey } from './keys.ts'
import type { ObjectStore } from './objects.ts'
import { type S3Version, s3Listing } from './s3-listing.ts'

export interface S3Address {
  bucket: string
  region: string
  pathStyle: boolean
  /** Undefined: AWS. */
  endpoint: string | undefined
  /** Undefined: those that the SDK finds (environment, profile, role of the machine). */
  credentials: { accessKeyId: string; secretAccessKey: string } | undefined
}

/** The size of all parts but the last, in bytes. S3 requires at least 5 MiB, and R2 requires parts of equal size. */
const partBytes = 8 * 1024 * 1024
/** Objects per DeleteObjects request. */
const mostDeleted = 1000
const atOnce = 8

/** S3's name of the error, without any part of the request, which has a signature and contains the key. */
function nameOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown fault'
  const code = errorCode(error) ?? error.name
  return /^[A-Za-z0-9_.]{1,64}$/.test(code) ? code : 'unknown fault'
}
/** Maps the code of an S3 error. A wrong clock, a full disk and an expired key are resolved elsewhere, so they are not refusals. */
export function s3Refusal(name: string): StoreRefusal | undefined {
  if (/^(InvalidAccessKeyId|SignatureDoesNotMatch|InvalidToken|NotSignedUp|XAdminUserNotFound)$/.test(name))
    return 'credentials'
  if (/^(AccessDenied|AllAccessDisabled|AccountProblem|Forbidden|403)$/.test(name)) return 'access_denied'
  if (name === 'NoSuchBucket') return 'missing'
  if (/^(QuotaExceeded|XMinioAdminBucketQuotaExceeded)$/.test(name)) return 'quota_exceeded'
  return undefined
}
const refused = (error: unknown): Problem =>
  Problem.is(error)
    ? error
    : unusableStore(s3Refusal(nameOf(error)), {
        detail: `The object store (S3) rejected the request (${nameOf(error)}). No data was lost. Try again later.`,
      })
const refusedVersions = (count: number): Problem =>
  unusableStore('locked', {
    detail: `The object store (S3) did not delete ${count} former versions: a lock, a retention rule or missing permissions prevent it. Remove the cause; the deletion is retried.`,
  })
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

/** A missing key or version, or a delete marker. */
const unreadable = /^(NoSuchKey|NoSuchVersion|NotFound|MethodNotAllowed|404|405)$/
/** The newest version is not the one that was read. */
const changed = /^(PreconditionFailed|ConditionalRequestConflict|NoSuchKey|NotFound|412|409|404)$/
const withoutTags = /^(NotImplemented|NoSuchTagSet|NoSuchTagSetError|MethodNotAllowed|AccessDenied)$/

/** The bytes in pieces of one part each. The last may be shorter, and is empty only if there is nothing else. */
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

/** S3 as implemented by AWS, R2, MinIO and versitygw. Connects on first use. */
export function s3Objects(address: S3Address): ObjectStore {
  const { bucket } = address
  const client = new S3Client({
    region: address.region,
    forcePathStyle: address.pathStyle,
    ...(address.endpoint !== undefined && { endpoint: address.endpoint }),
    ...(address.credentials && { credentials: address.credentials }),
    // Some servers do not support the newer checksums.
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
      // If aborting fails, the upload counts as a version of the key until it is erased.
      await client.send(new AbortMultipartUploadCommand({ ...about, UploadId })).catch(() => {})
      throw error
    }
  }

  /** All versions of one key. The listing is ordered, so another key ends it. */
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
  /** Returns how many were refused. */
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

  /** Removes everything under these keys, once. Returns the keys that had anything. */
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
      throw unusableStore('locked', {
        detail: `The object store (S3) did not delete ${refusals} of ${found.length} versions: a lock, a retention rule or missing permissions prevent it. Remove the cause; the deletion is retried.`,
      })
    return [...had]
  }

  /** At most `most` distinct keys, in order. */
  async function keysOf(pages: AsyncIterable<{ key: string }[]>, after: string, most: number): Promise<string[]> {
    const found = new Set<string>()
    for await (const page of pages) {
      for (const { key } of page.toSorted((a, b) => inKeyOrder(a.key, b.key)))
        if (inKeyOrder(key, after) > 0) found.add(key)
      if (found.size >= most) break
    }
    return [...found].sort(inKeyOrder).slice(0, most)
  }

  /** The server's id for a version of {@link ObjectVersion}: a version without an id is `null` next to others. */
  async function versionIdOf(key: string, version: string): Promise<string | undefined> {
    if (version !== '') return version
    const all = await versionsOf(key)
    return all.find((one) => one.version === '')?.versionId
  }
  async function tagsOf(key: string, versionId: string | undefined): Promise<{ Key: string; Value: string }[]> {
    try {
      const about = { Bucket: bucket, Key: key, ...(versionId !== undefined && { VersionId: versionId }) }
      const { TagSet = [] } = await client.send(new GetObjectTaggingCommand(about))
      return TagSet.map(({ Key = '', Value = '' }) => ({ Key, Value }))
    } catch (error) {
      // A server without tags, or an object without any.
      if (!(error instanceof Error) || !withoutTags.test(error.name)) throw error
      return []
    }
  }
  /**
   * Stores the object if it is still the one that was read. Returns the id of the new version, `null` if the bucket has no versions;
   * undefined if the object has changed.
   */
  async function put(key: string, bytes: Buffer, etag: string): Promise<string | undefined> {
    const about = { Bucket: bucket, Key: key }
    const head = await client.send(new HeadObjectCommand(about))
    if (head.ETag !== etag) return undefined
    const { ContentType, ContentEncoding, ContentLanguage, ContentDisposition, CacheControl, Metadata, StorageClass } =
      head
    const tags = (await tagsOf(key, undefined)).map(({ Key, Value }) => [Key, Value])
    const input = {
      ...about,
      Body: bytes,
      ...(ContentType !== undefined && { ContentType }),
      ...(ContentEncoding !== undefined && { ContentEncoding }),
      ...(ContentLanguage !== undefined && { ContentLanguage }),
      ...(ContentDisposition !== undefined && { ContentDisposition }),
      ...(CacheControl !== undefined && { CacheControl }),
      ...(Metadata !== undefined && { Metadata }),
      ...(StorageClass !== undefined && { StorageClass }),
      ...(tags.length > 0 && { Tagging: new URLSearchParams(tags).toString() }),
    }
    try {
      const { VersionId = 'null' } = await client.send(new PutObjectCommand({ ...input, IfMatch: etag }))
      return VersionId
    } catch (error) {
      if (nameOf(error) !== 'NotImplemented') throw error
      // A server without conditional writes: replaces the object that was read a moment ago.
      const { VersionId = 'null' } = await client.send(new PutObjectCommand(input))
      return VersionId
    }
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
      if (first.done) throw new Error('An upload has no first part.')
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
      if (!isObjectKey(key)) return undefined
      try {
        const { Body } = await client.send(new GetObjectCommand({ Bucket: bucket, Key: key }))
        if (!(Body instanceof Readable)) throw new Error('The S3 client returned no stream.')
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
    async read(key, most, version) {
      if (!isAskable(key)) return undefined
      try {
        const versionId = version === undefined ? undefined : await versionIdOf(key, version)
        const about = { Bucket: bucket, Key: key, ...(versionId !== undefined && { VersionId: versionId }) }
        const found = await client.send(new GetObjectCommand(about))
        if (!(found.Body instanceof Readable)) throw new Error('The S3 client returned no stream.')
        const isLarge = (found.ContentLength ?? 0) > most
        const bytes = isLarge ? undefined : await bytesUpTo(found.Body, most)
        found.Body.destroy()
        const tags = await tagsOf(key, versionId)
        return {
          version: found.VersionId === undefined || found.VersionId === 'null' ? '' : found.VersionId,
          state: found.ETag ?? '',
          mediaType: found.ContentType,
          bytes,
          described: [
            ...Object.entries(found.Metadata ?? {}).flat(),
            ...tags.flatMap(({ Key, Value }) => [Key, Value]),
          ],
        }
      } catch (error) {
        if (unreadable.test(nameOf(error))) return undefined
        throw refused(error)
      }
    },
    async replace(key, { state }, bytes) {
      checkKey(key)
      try {
        const before = await versionsOf(key)
        const written = await put(key, bytes, state)
        if (written === undefined) return false
        const old = before.filter(({ versionId }) => versionId !== undefined && versionId !== written)
        const refusals = await remove(old)
        if (refusals > 0) throw refusedVersions(refusals)
        return true
      } catch (error) {
        if (changed.test(nameOf(error))) return false
        throw refused(error)
      }
    },
    async eraseVersions(key, versions) {
      if (!isAskable(key) || versions.length === 0) return
      const wanted = new Set(versions)
      const refusals = await told(
        versionsOf(key).then((all) => remove(all.filter(({ version }) => wanted.has(version)))),
      )
      if (refusals > 0) throw refusedVersions(refusals)
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
    residueSeconds: async () => 0,
    close: async () => client.destroy(),
  }
}
