import { Readable } from 'node:stream'
import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  GetObjectCommand,
  GetObjectTaggingCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  S3Client,
  UploadPartCommand,
} from '@aws-sdk/client-s3'
import { bytesUpTo, checkAskable, checkKey, inKeyOrder, isAskable, isObjectKey } from './keys.ts'
import { type DescribedTexts, describedAnew, type ObjectStore } from './objects.ts'
import {
  asChangeProblem,
  asS3Problem,
  bytesOrProblem,
  isUndecryptable,
  orProblem,
  refusedVersions,
  s3ErrorName,
} from './s3-errors.ts'
import {
  distinctKeys,
  removeVersions,
  type S3Bucket,
  s3Listing,
  sweepKeys,
  uploadsOf,
  versionIdOf,
  versionsOf,
} from './s3-versions.ts'

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

const withoutTags = /^(NotImplemented|NoSuchTagSet|NoSuchTagSetError|MethodNotAllowed|AccessDenied)$/
/** A missing key or version, or a delete marker. */
const unreadable = /^(NoSuchKey|NoSuchVersion|NotFound|MethodNotAllowed|404|405)$/

/** The tags of a version; none on a server without tags. */
export async function tagsOf(
  { client, bucket }: S3Bucket,
  key: string,
  versionId: string | undefined,
): Promise<{ Key: string; Value: string }[]> {
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
        ...tags.flatMap(({ Key, Value }) => [Key, Value]),
        ...[found.ContentDisposition, found.ContentType].filter((text) => text !== undefined),
      ],
    }
  } catch (error) {
    const name = s3ErrorName(error)
    if (unreadable.test(name)) return undefined
    const unread = { version: version ?? '', state: '', mediaType: undefined, bytes: undefined, described: [] }
    // A storage class such as Glacier.
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

/**
 * Stores the object if it is still the one that was read. Returns the id of the new version, `null` if the bucket has no versions;
 * undefined if the object has changed.
 */
export async function putUnchanged(
  at: S3Bucket,
  key: string,
  bytes: Buffer,
  etag: string,
  texts: DescribedTexts = new Map(),
): Promise<string | undefined> {
  const { client, bucket } = at
  const about = { Bucket: bucket, Key: key }
  const head = await client.send(new HeadObjectCommand(about))
  if (head.ETag !== etag) return undefined
  const { ContentType, ContentEncoding, ContentLanguage, ContentDisposition, CacheControl, Metadata, StorageClass } =
    head
  const stored = (await tagsOf(at, key, undefined)).map(({ Key, Value }) => [Key, Value] as const)
  const tags = describedAnew(stored, texts)
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
    const { VersionId = 'null' } = await client.send(new PutObjectCommand({ ...input, IfMatch: etag }))
    return VersionId
  } catch (error) {
    if (s3ErrorName(error) !== 'NotImplemented') throw error
    // A server without conditional writes: replaces the object that was read a moment ago.
    const { VersionId = 'null' } = await client.send(new PutObjectCommand(input))
    return VersionId
  }
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
        const before = await versionsOf(at, key)
        const written = await putUnchanged(at, key, bytes, state, texts)
        if (written === undefined) return false
        const old = before.filter(({ versionId }) => versionId !== undefined && versionId !== written)
        const refusals = await removeVersions(at, old)
        if (refusals > 0) throw refusedVersions(refusals)
        return true
      } catch (error) {
        if (changed.test(s3ErrorName(error))) return false
        throw asChangeProblem(error)
      }
    },
    async eraseVersions(key, versions) {
      if (!isAskable(key) || versions.length === 0) return
      const wanted = new Set(versions)
      const refusals = await orProblem(
        versionsOf(at, key).then((all) =>
          removeVersions(
            at,
            all.filter(({ version }) => wanted.has(version)),
          ),
        ),
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
