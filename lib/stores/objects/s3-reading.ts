import { Readable } from 'node:stream'
import { GetObjectCommand, GetObjectTaggingCommand } from '@aws-sdk/client-s3'
import { bytesUpTo } from './keys.ts'
import type { ObjectStore } from './objects.ts'
import { asS3Problem, bytesOrProblem, s3ErrorName } from './s3-errors.ts'
import { type S3Bucket, versionIdOf } from './s3-versions.ts'

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

/** The newest or the given version of an object, with its bytes up to `most`; undefined if it does not exist. */
export async function readVersion(
  at: S3Bucket,
  key: string,
  most: number,
  version: string | undefined,
): ReturnType<ObjectStore['read']> {
  const { client, bucket } = at
  try {
    const versionId = version === undefined ? undefined : await versionIdOf(at, key, version)
    const about = { Bucket: bucket, Key: key, ...(versionId !== undefined && { VersionId: versionId }) }
    const found = await client.send(new GetObjectCommand(about))
    if (!(found.Body instanceof Readable)) throw new Error('The S3 client returned no stream.')
    const isLarge = (found.ContentLength ?? 0) > most
    const bytes = isLarge ? undefined : await bytesUpTo(found.Body, most)
    found.Body.destroy()
    const tags = await tagsOf(at, key, versionId)
    return {
      version: found.VersionId === undefined || found.VersionId === 'null' ? '' : found.VersionId,
      state: found.ETag ?? '',
      mediaType: found.ContentType,
      bytes,
      described: [...Object.entries(found.Metadata ?? {}).flat(), ...tags.flatMap(({ Key, Value }) => [Key, Value])],
    }
  } catch (error) {
    if (unreadable.test(s3ErrorName(error))) return undefined
    throw asS3Problem(error)
  }
}
