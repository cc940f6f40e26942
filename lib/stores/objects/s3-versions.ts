import {
  AbortMultipartUploadCommand,
  DeleteObjectsCommand,
  ListMultipartUploadsCommand,
  ListObjectsV2Command,
  ListObjectVersionsCommand,
  type S3Client,
} from '@aws-sdk/client-s3'
import { unusableStore } from '#lib/kernel/store-refusal.ts'
import { forEach, inKeyOrder } from './keys.ts'
import type { ObjectVersion } from './objects.ts'
import { s3ErrorName } from './s3-errors.ts'

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
export function s3Listing(client: S3Client, bucket: string) {
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
export interface S3Bucket {
  client: S3Client
  bucket: string
  listing: S3Listing
}
/** Objects per DeleteObjects request. */
const maxDeleted = 1000
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

/** At most `max` distinct keys, in order. */
export async function distinctKeys(
  pages: AsyncIterable<{ key: string }[]>,
  after: string,
  max: number,
): Promise<string[]> {
  const found = new Set<string>()
  for await (const page of pages) {
    for (const { key } of page.toSorted((a, b) => inKeyOrder(a.key, b.key)))
      if (inKeyOrder(key, after) > 0) found.add(key)
    if (found.size >= max) break
  }
  return [...found].sort(inKeyOrder).slice(0, max)
}

/** The server's id for a version of {@link ObjectVersion}: a version without an id is `null` next to others. */
export async function versionIdOf(at: S3Bucket, key: string, version: string): Promise<string | undefined> {
  if (version !== '') return version
  const all = await versionsOf(at, key)
  return all.find((one) => one.version === '')?.versionId
}
