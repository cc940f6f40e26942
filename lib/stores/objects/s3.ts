import { Readable } from 'node:stream'
import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  DeleteObjectsCommand,
  GetObjectCommand,
  GetObjectTaggingCommand,
  HeadObjectCommand,
  ListMultipartUploadsCommand,
  ListObjectsV2Command,
  ListObjectVersionsCommand,
  PutObjectCommand,
  S3Client,
  S3ServiceException,
  UploadPartCommand,
} from '@aws-sdk/client-s3'
import { Problem } from '#lib/kernel/problem.ts'
import { unusableStore } from '#lib/kernel/store-refusal.ts'
import { bytesUpTo, checkAskable, checkKey, forEach, inKeyOrder, isAskable, isObjectKey } from './keys.ts'
import { type DescribedTexts, describedAnew, type ObjectStore, type ObjectVersion } from './objects.ts'
import {
  asChangeProblem,
  asS3Problem,
  bytesOrProblem,
  isUndecryptable,
  orProblem,
  refusedVersions,
  s3ErrorName,
  s3Refusal,
} from './s3-errors.ts'

/** A version with the id by which S3 deletes it. */
interface S3Version extends ObjectVersion {
  versionId: string | undefined
}
interface Entry {
  Key?: string | undefined
  VersionId?: string | undefined
  Size?: number | undefined
  LastModified?: Date | undefined
}

/** The server does not support this operation, as R2 does not support versions. It is not a temporary error. */
const isUnknownThere = (error: unknown): boolean =>
  error instanceof Error && (error.name === 'NotImplemented' || error.name === 'MethodNotAllowed')

const versionOf = ({ Key = '', VersionId, Size = 0, LastModified = new Date(0) }: Entry): S3Version => ({
  key: Key,
  versionId: VersionId,
  version: VersionId === undefined || VersionId === 'null' ? '' : VersionId,
  bytes: Size,
  at: LastModified,
})

/** Lists everything under a prefix, page by page: first versions and delete markers, then unfinished uploads. */
function s3Listing(client: S3Client, bucket: string) {
  let hasVersions = true

  async function* plain(prefix: string, after: string): AsyncGenerator<S3Version[]> {
    let token: string | undefined
    do {
      const page = await client.send(
        new ListObjectsV2Command({
          Bucket: bucket,
          Prefix: prefix,
          ...(token === undefined ? { ...(after !== '' && { StartAfter: after }) } : { ContinuationToken: token }),
        }),
      )
      yield (page.Contents ?? []).map(versionOf)
      token = page.IsTruncated ? page.NextContinuationToken : undefined
    } while (token !== undefined)
  }
  async function* versioned(prefix: string, after: string): AsyncGenerator<S3Version[]> {
    let marker: { KeyMarker?: string; VersionIdMarker?: string } | undefined = after === '' ? {} : { KeyMarker: after }
    while (marker) {
      const page: Awaited<ReturnType<typeof ask>> = await ask(prefix, marker)
      yield [...(page.Versions ?? []), ...(page.DeleteMarkers ?? [])].map(versionOf)
      marker =
        page.IsTruncated && page.NextKeyMarker
          ? {
              KeyMarker: page.NextKeyMarker,
              ...(page.NextVersionIdMarker && { VersionIdMarker: page.NextVersionIdMarker }),
            }
          : undefined
    }
  }
  const ask = (prefix: string, marker: { KeyMarker?: string; VersionIdMarker?: string }) =>
    client.send(new ListObjectVersionsCommand({ Bucket: bucket, Prefix: prefix, ...marker }))

  return {
    /** Starts at `after`, inclusive on servers that include it. */
    async *versions(prefix: string, after = ''): AsyncGenerator<S3Version[]> {
      if (!hasVersions) return yield* plain(prefix, after)
      try {
        yield* versioned(prefix, after)
      } catch (error) {
        if (!isUnknownThere(error)) throw error
        hasVersions = false
        yield* plain(prefix, after)
      }
    },
    async *uploads(prefix: string, after = ''): AsyncGenerator<{ key: string; id: string; at: Date }[]> {
      let marker: { KeyMarker?: string; UploadIdMarker?: string } | undefined = after === '' ? {} : { KeyMarker: after }
      while (marker) {
        const page: Awaited<ReturnType<typeof askUploads>> = await askUploads(prefix, marker)
        yield (page.Uploads ?? []).map(({ Key = '', UploadId = '', Initiated = new Date(0) }) => ({
          key: Key,
          id: UploadId,
          at: Initiated,
        }))
        marker =
          page.IsTruncated && page.NextKeyMarker
            ? {
                KeyMarker: page.NextKeyMarker,
                ...(page.NextUploadIdMarker && { UploadIdMarker: page.NextUploadIdMarker }),
              }
            : undefined
      }
    },
  }
  function askUploads(prefix: string, marker: { KeyMarker?: string; UploadIdMarker?: string }) {
    return client.send(new ListMultipartUploadsCommand({ Bucket: bucket, Prefix: prefix, ...marker }))
  }
}
type S3Listing = ReturnType<typeof s3Listing>

/** A bucket with its connection. */
interface S3Bucket {
  client: S3Client
  bucket: string
  listing: S3Listing
}
/** Objects per DeleteObjects request. */
const maxDeleted = 1000
const atOnce = 8

/** All versions of one key. The listing is ordered, so another key ends it. */
async function versionsOf({ listing }: S3Bucket, key: string): Promise<S3Version[]> {
  const found: S3Version[] = []
  for await (const page of listing.versions(key)) {
    found.push(...page.filter((one) => one.key === key))
    if (page.some((one) => one.key !== key)) break
  }
  return found
}
/** All unfinished uploads of one key. */
async function uploadsOf({ listing }: S3Bucket, key: string) {
  const found: { key: string; id: string; at: Date }[] = []
  for await (const page of listing.uploads(key)) {
    found.push(...page.filter((one) => one.key === key))
    if (page.some((one) => one.key !== key)) break
  }
  return found
}
/** Returns how many were refused. */
async function removeVersions({ client, bucket }: S3Bucket, versions: readonly S3Version[]): Promise<number> {
  let refusals = 0
  for (let at = 0; at < versions.length; at += maxDeleted) {
    const Objects = versions
      .slice(at, at + maxDeleted)
      .map(({ key, versionId }) => ({ Key: key, ...(versionId !== undefined && { VersionId: versionId }) }))
    const { Errors = [] } = await client.send(
      new DeleteObjectsCommand({ Bucket: bucket, Delete: { Objects, Quiet: true } }),
    )
    refusals += Errors.filter(({ Code }) => Code !== 'NoSuchKey' && Code !== 'NoSuchVersion').length
  }
  return refusals
}

/** Removes everything under these keys, once. Returns the keys that had anything. */
async function sweepKeys(at: S3Bucket, keys: readonly string[]): Promise<string[]> {
  const { client, bucket } = at
  const had = new Set<string>()
  const found: S3Version[] = []
  await forEach(keys, atOnce, async (key) => {
    for (const { id } of await uploadsOf(at, key)) {
      had.add(key)
      await client.send(new AbortMultipartUploadCommand({ Bucket: bucket, Key: key, UploadId: id })).catch((error) => {
        if (s3ErrorName(error) !== 'NoSuchUpload') throw error
      })
    }
    const versions = await versionsOf(at, key)
    if (versions.length > 0) had.add(key)
    found.push(...versions)
  })
  const refusals = await removeVersions(at, found)
  if (refusals > 0)
    throw unusableStore('locked', {
      detail: `The object store (S3) did not delete ${refusals} of ${found.length} versions: a lock, a retention rule or missing permissions prevent it. Remove the cause; the deletion is retried.`,
    })
  return [...had]
}

/** At most `max` distinct keys, in order. */
async function distinctKeys(pages: AsyncIterable<{ key: string }[]>, after: string, max: number): Promise<string[]> {
  const found = new Set<string>()
  for await (const page of pages) {
    for (const { key } of page.toSorted((a, b) => inKeyOrder(a.key, b.key)))
      if (inKeyOrder(key, after) > 0) found.add(key)
    if (found.size >= max) break
  }
  return [...found].sort(inKeyOrder).slice(0, max)
}

/** The server's id for a version of {@link ObjectVersion}: a version without an id is `null` next to others. */
async function versionIdOf(at: S3Bucket, key: string, version: string): Promise<string | undefined> {
  if (version !== '') return version
  const all = await versionsOf(at, key)
  return all.find((one) => one.version === '')?.versionId
}

export interface S3Address {
  bucket: string
  region: string
  pathStyle: boolean
  /** Undefined: AWS. */
  endpoint: string | undefined
  /** Undefined: those that the SDK finds (environment, profile, role of the machine). */
  credentials: { accessKeyId: string; secretAccessKey: string } | undefined
}

/** The newest version is not the one that was read. */
const changed = /^(PreconditionFailed|ConditionalRequestConflict|NoSuchKey|NotFound|412|409|404)$/

function newClient(address: S3Address): S3Client {
  return new S3Client({
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
}

const withoutTags = /^(NotImplemented|NoSuchTagSet|NoSuchTagSetError|MethodNotAllowed)$/
/** A missing key or version, or a delete marker. */
const unreadable = /^(NoSuchKey|NoSuchVersion|NotFound|MethodNotAllowed|404|405)$/

/** The tags of a version; none on a server without tags. Undefined if the right to read them is missing. */
export async function tagsOf(
  { client, bucket }: S3Bucket,
  key: string,
  versionId: string | undefined,
): Promise<{ Key: string; Value: string }[] | undefined> {
  try {
    const about = { Bucket: bucket, Key: key, ...(versionId !== undefined && { VersionId: versionId }) }
    const { TagSet = [] } = await client.send(new GetObjectTaggingCommand(about))
    return TagSet.map(({ Key = '', Value = '' }) => ({ Key, Value }))
  } catch (error) {
    if (s3Refusal(s3ErrorName(error)) === 'access_denied') return undefined
    // A server without tags, or an object without any.
    if (!(error instanceof Error) || !withoutTags.test(error.name)) throw error
    return []
  }
}

/** The bytes of an object; undefined if it does not exist. */
export async function streamOf(
  { client, bucket }: S3Bucket,
  key: string,
): Promise<AsyncIterable<Uint8Array> | undefined> {
  try {
    const { Body } = await client.send(new GetObjectCommand({ Bucket: bucket, Key: key }))
    if (!(Body instanceof Readable)) throw new Error('The S3 client returned no stream.')
    return bytesOrProblem(Body)
  } catch (error) {
    if (s3ErrorName(error) === 'NoSuchKey') return undefined
    throw asS3Problem(error)
  }
}

/** The newest or the given version of an object, with its bytes up to `max`; undefined if it does not exist. */
export async function readVersion(
  at: S3Bucket,
  key: string,
  max: number,
  version: string | undefined,
): ReturnType<ObjectStore['read']> {
  const { client, bucket } = at
  try {
    const versionId = version === undefined ? undefined : await versionIdOf(at, key, version)
    const about = { Bucket: bucket, Key: key, ...(versionId !== undefined && { VersionId: versionId }) }
    const found = await client.send(new GetObjectCommand(about))
    if (!(found.Body instanceof Readable)) throw new Error('The S3 client returned no stream.')
    const isLarge = (found.ContentLength ?? 0) > max
    const bytes = isLarge ? undefined : await bytesUpTo(found.Body, max)
    found.Body.destroy()
    const tags = await tagsOf(at, key, versionId)
    return {
      version: found.VersionId === undefined || found.VersionId === 'null' ? '' : found.VersionId,
      state: found.ETag ?? '',
      mediaType: found.ContentType,
      bytes,
      described: [
        ...Object.entries(found.Metadata ?? {}).flat(),
        ...(tags ?? []).flatMap(({ Key, Value }) => [Key, Value]),
        ...[found.ContentDisposition, found.ContentType].filter((text) => text !== undefined),
      ],
      ...(!tags && { hasRefusedTags: true }),
    }
  } catch (error) {
    const name = s3ErrorName(error)
    if (unreadable.test(name)) return undefined
    const unread = { version: version ?? '', state: '', mediaType: undefined, bytes: undefined, described: [] }
    // The object is in an archive, for example in the storage class Glacier.
    if (name === 'InvalidObjectState') return { ...unread, isArchived: true }
    if (isUndecryptable(error)) return { ...unread, isRefused: true }
    throw asS3Problem(error)
  }
}

/** The size of all parts but the last, in bytes. S3 requires at least 5 MiB, and R2 requires parts of equal size. */
const partBytes = 8 * 1024 * 1024

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

async function putInParts(
  { client, bucket }: S3Bucket,
  key: string,
  mediaType: string,
  first: Buffer,
  rest: AsyncIterable<Buffer>,
) {
  const about = { Bucket: bucket, Key: key }
  const { UploadId } = await orProblem(
    client.send(new CreateMultipartUploadCommand({ ...about, ContentType: mediaType })),
  )
  const done: { ETag: string | undefined; PartNumber: number }[] = []
  const send = async (part: Buffer) => {
    const PartNumber = done.length + 1
    const { ETag } = await orProblem(client.send(new UploadPartCommand({ ...about, UploadId, PartNumber, Body: part })))
    done.push({ ETag, PartNumber })
  }
  try {
    await send(first)
    for await (const part of rest) await send(part)
    await orProblem(
      client.send(new CompleteMultipartUploadCommand({ ...about, UploadId, MultipartUpload: { Parts: done } })),
    )
  } catch (error) {
    // If aborting fails, the upload counts as a version of the key until it is erased.
    await client.send(new AbortMultipartUploadCommand({ ...about, UploadId })).catch(() => {})
    throw error
  }
}

/** Stores an object, in parts if it is large. */
export async function putObject(
  at: S3Bucket,
  key: string,
  bytes: AsyncIterable<Uint8Array>,
  mediaType: string,
): Promise<void> {
  const { client, bucket } = at
  const pieces = parts(bytes)
  const first = await pieces.next()
  if (first.done) throw new Error('An upload has no first part.')
  const second = first.value.length < partBytes ? undefined : await pieces.next()
  if (second === undefined || second.done) {
    await orProblem(
      client.send(new PutObjectCommand({ Bucket: bucket, Key: key, Body: first.value, ContentType: mediaType })),
    )
    return
  }
  const next = second.value
  await putInParts(
    at,
    key,
    mediaType,
    first.value,
    (async function* () {
      yield next
      yield* pieces
    })(),
  )
}

/** Stores the object if it is still the one that was read. Returns whether it was stored. */
export async function putUnchanged(
  at: S3Bucket,
  key: string,
  bytes: Buffer,
  etag: string,
  texts: DescribedTexts = new Map(),
): Promise<boolean> {
  const { client, bucket } = at
  const about = { Bucket: bucket, Key: key }
  const head = await client.send(new HeadObjectCommand(about))
  if (head.ETag !== etag) return false
  const { ContentType, ContentEncoding, ContentLanguage, ContentDisposition, CacheControl, Metadata, StorageClass } =
    head
  const stored = await tagsOf(at, key, undefined)
  if (!stored)
    throw new Problem(
      'bad_request',
      'The object store (S3) does not return the tags of this object, and a change would lose them. Nothing was changed. Allow s3:GetObjectTagging and s3:GetObjectVersionTagging.',
    )
  const tags = describedAnew(
    stored.map(({ Key, Value }) => [Key, Value] as const),
    texts,
  )
  const anew = (text: string) => texts.get(text) ?? text
  const input = {
    ...about,
    Body: bytes,
    ...(ContentType !== undefined && { ContentType: anew(ContentType) }),
    ...(ContentEncoding !== undefined && { ContentEncoding }),
    ...(ContentLanguage !== undefined && { ContentLanguage }),
    ...(ContentDisposition !== undefined && { ContentDisposition: anew(ContentDisposition) }),
    ...(CacheControl !== undefined && { CacheControl }),
    ...(Metadata !== undefined && { Metadata: Object.fromEntries(describedAnew(Object.entries(Metadata), texts)) }),
    ...(StorageClass !== undefined && { StorageClass }),
    ...(tags.length > 0 && { Tagging: new URLSearchParams(tags).toString() }),
  }
  try {
    await client.send(new PutObjectCommand({ ...input, IfMatch: etag }))
  } catch (error) {
    if (s3ErrorName(error) !== 'NotImplemented') throw error
    // A server without conditional writes: replaces the object that was read a moment ago.
    await client.send(new PutObjectCommand(input))
  }
  return true
}

/**
 * Adds a delete marker before the newest version is deleted while former ones remain. Otherwise S3 would serve a text again that a
 * client had replaced. Where versioning is suspended, a marker would replace the version without an id, so none is added if that one remains.
 */
async function keepHidden(
  at: S3Bucket,
  key: string,
  { wanted, left }: { wanted: ReadonlySet<string>; left: readonly S3Version[] },
): Promise<void> {
  if (left.some(({ version }) => version === '')) return
  const of = { Bucket: at.bucket, Key: key }
  // A newest version that the store does not describe is no version that was read, so it stays.
  const newest = await at.client.send(new HeadObjectCommand(of)).catch((error) => {
    if (error instanceof S3ServiceException && (error.$metadata.httpStatusCode ?? 500) < 500) return undefined
    throw error
  })
  if (!newest || !wanted.has(newest.VersionId ?? '')) return
  await at.client.send(new DeleteObjectCommand({ ...of, IfMatch: newest.ETag })).catch((error) => {
    // A client stored another version meanwhile, which now hides the former ones.
    if (!changed.test(s3ErrorName(error))) throw error
  })
}

/** S3 as implemented by AWS, R2, MinIO and versitygw. Connects on first use. */
export function s3Objects(address: S3Address): ObjectStore {
  const { bucket } = address
  const client = newClient(address)
  const listing = s3Listing(client, bucket)
  const at: S3Bucket = { client, bucket, listing }

  return {
    provider: 's3',
    async state() {
      const began = performance.now()
      try {
        await client.send(new ListObjectsV2Command({ Bucket: bucket, MaxKeys: 1 }))
        return { state: 'ok', latency: performance.now() - began }
      } catch (error) {
        return { state: 'down', latency: performance.now() - began, detail: s3ErrorName(error) }
      }
    },
    async put(key, bytes, { mediaType }) {
      checkKey(key)
      await putObject(at, key, bytes, mediaType)
    },
    get: async (key) => (isObjectKey(key) ? streamOf(at, key) : undefined),
    async versions(key) {
      if (!isAskable(key)) return []
      const [versions, uploads] = await orProblem(Promise.all([versionsOf(at, key), uploadsOf(at, key)]))
      return [
        ...versions.map(({ version, bytes, at }) => ({ key, version, bytes, at })),
        ...uploads.map(({ id, at }) => ({ key, version: `upload:${id}`, bytes: 0, at })),
      ]
    },
    async erase(given) {
      const keys = [...new Set(given)].filter(isAskable)
      return (await orProblem(sweepKeys(at, keys))).length
    },
    read: async (key, max, version) => (isAskable(key) ? readVersion(at, key, max, version) : undefined),
    async replace(key, { state }, bytes, texts) {
      checkAskable(key)
      try {
        return await putUnchanged(at, key, bytes, state, texts)
      } catch (error) {
        if (changed.test(s3ErrorName(error))) return false
        throw asChangeProblem(error)
      }
    },
    async eraseVersions(key, versions) {
      if (!isAskable(key) || versions.length === 0) return
      const wanted = new Set(versions)
      const refusals = await orProblem(
        (async () => {
          const all = await versionsOf(at, key)
          const left = all.filter(({ version }) => !wanted.has(version))
          if (left.length > 0 && left.length < all.length) await keepHidden(at, key, { wanted, left })
          return removeVersions(
            at,
            all.filter(({ version }) => wanted.has(version)),
          )
        })(),
      )
      if (refusals > 0) throw refusedVersions(refusals)
    },
    async list(prefix, after, max) {
      if (max < 1) return []
      const [versions, uploads] = await orProblem(
        Promise.all([
          distinctKeys(listing.versions(prefix, after), after, max),
          distinctKeys(listing.uploads(prefix, after), after, max),
        ]),
      )
      return [...new Set([...versions, ...uploads])].sort(inKeyOrder).slice(0, max)
    },
    residueSeconds: async () => 0,
    close: async () => client.destroy(),
  }
}
