import {
  ListMultipartUploadsCommand,
  ListObjectsV2Command,
  ListObjectVersionsCommand,
  type S3Client,
} from '@aws-sdk/client-s3'
import type { ObjectVersion } from './objects.ts'

/** A version with the id by which S3 deletes it. */
export interface S3Version extends ObjectVersion {
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
export type S3Listing = ReturnType<typeof s3Listing>
