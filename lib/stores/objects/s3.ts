import { ListObjectsV2Command, S3Client } from '@aws-sdk/client-s3'
import { checkKey, inKeyOrder, isAskable, isObjectKey } from './keys.ts'
import type { ObjectStore } from './objects.ts'
import { asS3Problem, orProblem, refusedVersions, s3ErrorName } from './s3-errors.ts'
import { s3Listing } from './s3-listing.ts'
import { readVersion, streamOf } from './s3-reading.ts'
import { distinctKeys, removeVersions, type S3Bucket, sweepKeys, uploadsOf, versionsOf } from './s3-versions.ts'
import { putObject, putUnchanged } from './s3-writing.ts'

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
    read: async (key, most, version) => (isAskable(key) ? readVersion(at, key, most, version) : undefined),
    async replace(key, { state }, bytes) {
      checkKey(key)
      try {
        const before = await versionsOf(at, key)
        const written = await putUnchanged(at, key, bytes, state)
        if (written === undefined) return false
        const old = before.filter(({ versionId }) => versionId !== undefined && versionId !== written)
        const refusals = await removeVersions(at, old)
        if (refusals > 0) throw refusedVersions(refusals)
        return true
      } catch (error) {
        if (changed.test(s3ErrorName(error))) return false
        throw asS3Problem(error)
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
    async list(prefix, after, most) {
      if (most < 1) return []
      const [versions, uploads] = await orProblem(
        Promise.all([
          distinctKeys(listing.versions(prefix, after), after, most),
          distinctKeys(listing.uploads(prefix, after), after, most),
        ]),
      )
      return [...new Set([...versions, ...uploads])].sort(inKeyOrder).slice(0, most)
    },
    residueSeconds: async () => 0,
    close: async () => client.destroy(),
  }
}
