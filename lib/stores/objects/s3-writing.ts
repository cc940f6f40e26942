import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  HeadObjectCommand,
  PutObjectCommand,
  UploadPartCommand,
} from '@aws-sdk/client-s3'
import { orProblem, s3ErrorName } from './s3-errors.ts'
import { tagsOf } from './s3-reading.ts'
import type { S3Bucket } from './s3-versions.ts'

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
): Promise<string | undefined> {
  const { client, bucket } = at
  const about = { Bucket: bucket, Key: key }
  const head = await client.send(new HeadObjectCommand(about))
  if (head.ETag !== etag) return undefined
  const { ContentType, ContentEncoding, ContentLanguage, ContentDisposition, CacheControl, Metadata, StorageClass } =
    head
  const tags = (await tagsOf(at, key, undefined)).map(({ Key, Value }) => [Key, Value])
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
    if (s3ErrorName(error) !== 'NotImplemented') throw error
    // A server without conditional writes: replaces the object that was read a moment ago.
    const { VersionId = 'null' } = await client.send(new PutObjectCommand(input))
    return VersionId
  }
}
