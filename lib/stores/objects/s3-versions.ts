import { AbortMultipartUploadCommand, DeleteObjectsCommand, type S3Client } from '@aws-sdk/client-s3'
import { unusableStore } from '#lib/kernel/store-refusal.ts'
import { forEach, inKeyOrder } from './keys.ts'
import { s3ErrorName } from './s3-errors.ts'
import type { S3Listing, S3Version } from './s3-listing.ts'

/** A bucket with its connection. */
export interface S3Bucket {
  client: S3Client
  bucket: string
  listing: S3Listing
}
/** Objects per DeleteObjects request. */
const mostDeleted = 1000
const atOnce = 8

/** All versions of one key. The listing is ordered, so another key ends it. */
export async function versionsOf({ listing }: S3Bucket, key: string): Promise<S3Version[]> {
  const found: S3Version[] = []
  for await (const page of listing.versions(key)) {
    found.push(...page.filter((one) => one.key === key))
    if (page.some((one) => one.key !== key)) break
  }
  return found
}
/** All unfinished uploads of one key. */
export async function uploadsOf({ listing }: S3Bucket, key: string) {
  const found: { key: string; id: string; at: Date }[] = []
  for await (const page of listing.uploads(key)) {
    found.push(...page.filter((one) => one.key === key))
    if (page.some((one) => one.key !== key)) break
  }
  return found
}
/** Returns how many were refused. */
export async function removeVersions({ client, bucket }: S3Bucket, versions: readonly S3Version[]): Promise<number> {
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
export async function sweepKeys(at: S3Bucket, keys: readonly string[]): Promise<string[]> {
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

/** At most `most` distinct keys, in order. */
export async function distinctKeys(
  pages: AsyncIterable<{ key: string }[]>,
  after: string,
  most: number,
): Promise<string[]> {
  const found = new Set<string>()
  for await (const page of pages) {
    for (const { key } of page.toSorted((a, b) => inKeyOrder(a.key, b.key)))
      if (inKeyOrder(key, after) > 0) found.add(key)
    if (found.size >= most) break
  }
  return [...found].sort(inKeyOrder).slice(0, most)
}

/** The server's id for a version of {@link ObjectVersion}: a version without an id is `null` next to others. */
export async function versionIdOf(at: S3Bucket, key: string, version: string): Promise<string | undefined> {
  if (version !== '') return version
  const all = await versionsOf(at, key)
  return all.find((one) => one.version === '')?.versionId
}
