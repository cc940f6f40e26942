import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { type Bucket, Storage } from '@google-cloud/storage'
import { asGcsProblem, bytesOrProblem, gcsErrorName, orProblem, patiently } from './gcs-errors.ts'
import { eraseAllGenerations, eraseGeneration, generations, generationsOf } from './gcs-versions.ts'
import { bytesUpTo, checkKey, inKeyOrder, isAskable, isObjectKey } from './keys.ts'
import type { ObjectStore } from './objects.ts'

export interface GcsAddress {
  bucket: string
  /** Another server than Google's, accessed without credentials. Undefined: Google, with the credentials that its library finds. */
  endpoint: string | undefined
}

async function putObject(
  bucket: Bucket,
  key: string,
  bytes: AsyncIterable<Uint8Array>,
  mediaType: string,
): Promise<void> {
  let own: { fault: unknown } | undefined
  const source = async function* () {
    try {
      yield* bytes
    } catch (fault) {
      own = { fault }
      throw fault
    }
  }
  try {
    // A single request: an incomplete upload is not stored and leaves nothing behind.
    const target = bucket.file(key).createWriteStream({ resumable: false, contentType: mediaType })
    await pipeline(Readable.from(source(), { objectMode: false }), target)
  } catch (error) {
    throw own ? own.fault : asGcsProblem(error)
  }
}

async function getObject(bucket: Bucket, key: string) {
  try {
    const [{ generation }] = await patiently(() => bucket.file(key).getMetadata())
    const file = bucket.file(key, { ...(generation !== undefined && { generation }) })
    return bytesOrProblem(file.createReadStream())
  } catch (error) {
    if (gcsErrorName(error) !== '404') throw asGcsProblem(error)
    // A missing bucket returns the same error.
    await orProblem(patiently(() => bucket.getFiles({ maxResults: 1, autoPaginate: false })))
    return undefined
  }
}

async function readObject(bucket: Bucket, key: string, most: number, version: string | undefined) {
  try {
    const asked = bucket.file(key, { ...(version !== undefined && { generation: version }) })
    const [metadata] = await patiently(() => asked.getMetadata())
    const generation = String(metadata.generation ?? '')
    const stream = bucket.file(key, { generation }).createReadStream({ decompress: false })
    const isLarge = Number(metadata.size ?? 0) > most
    return {
      version: generation,
      state: generation,
      mediaType: metadata.contentType,
      bytes: isLarge ? undefined : await bytesUpTo(stream, most),
      described: Object.entries(metadata.metadata ?? {}).flatMap(([name, value]) => [name, String(value)]),
    }
  } catch (error) {
    if (gcsErrorName(error) === '404') return undefined
    throw asGcsProblem(error)
  }
}

/** Returns false if the newest version is not `state`. */
async function replaceObject(bucket: Bucket, key: string, state: string, bytes: Uint8Array): Promise<boolean> {
  try {
    const before = await generationsOf(bucket, key)
    const [known] = await patiently(() => bucket.file(key, { generation: state }).getMetadata())
    const { contentType, contentEncoding, contentLanguage, contentDisposition, cacheControl, metadata } = known
    await bucket.file(key).save(bytes, {
      resumable: false,
      preconditionOpts: { ifGenerationMatch: state },
      metadata: {
        ...(contentType !== undefined && { contentType }),
        ...(contentEncoding !== undefined && { contentEncoding }),
        ...(contentLanguage !== undefined && { contentLanguage }),
        ...(contentDisposition !== undefined && { contentDisposition }),
        ...(cacheControl !== undefined && { cacheControl }),
        ...(metadata !== undefined && { metadata }),
      },
    })
    for (const { generation } of before) await eraseGeneration(bucket, key, generation)
    return true
  } catch (error) {
    if (gcsErrorName(error) === '412' || gcsErrorName(error) === '404') return false
    throw asGcsProblem(error)
  }
}

async function listKeys(bucket: Bucket, prefix: string, after: string, most: number): Promise<string[]> {
  const found = new Set<string>()
  const read = async () => {
    for await (const page of generations(bucket, prefix, after)) {
      for (const { key } of page) if (inKeyOrder(key, after) > 0) found.add(key)
      if (found.size >= most) break
    }
  }
  await orProblem(read())
  return [...found].sort(inKeyOrder).slice(0, most)
}

/** Google Cloud Storage, with all generations of an object. Connects on first use. */
export function gcsObjects({ bucket: name, endpoint }: GcsAddress): ObjectStore {
  const bucket: Bucket = new Storage({
    ...(endpoint !== undefined && { apiEndpoint: endpoint, projectId: 'local', useAuthWithCustomEndpoint: false }),
    timeout: 30_000,
    retryOptions: { autoRetry: false },
  }).bucket(name)

  return {
    provider: 'gcs',
    async state() {
      const began = performance.now()
      try {
        await bucket.getFiles({ maxResults: 1, autoPaginate: false })
        return { state: 'ok', latency: performance.now() - began }
      } catch (error) {
        return { state: 'down', latency: performance.now() - began, detail: gcsErrorName(error) }
      }
    },
    async put(key, bytes, { mediaType }) {
      checkKey(key)
      await putObject(bucket, key, bytes, mediaType)
    },
    async get(key) {
      return isObjectKey(key) ? getObject(bucket, key) : undefined
    },
    async versions(key) {
      if (!isAskable(key)) return []
      return (await orProblem(generationsOf(bucket, key))).map(({ version, bytes, at }) => ({
        key,
        version,
        bytes,
        at,
      }))
    },
    async erase(given) {
      return orProblem(eraseAllGenerations(bucket, [...new Set(given)].filter(isAskable)))
    },
    async read(key, most, version) {
      return isAskable(key) ? readObject(bucket, key, most, version) : undefined
    },
    async replace(key, { state }, bytes) {
      checkKey(key)
      return replaceObject(bucket, key, state, bytes)
    },
    async eraseVersions(key, versions) {
      if (!isAskable(key)) return
      for (const generation of versions) await orProblem(eraseGeneration(bucket, key, generation))
    },
    async list(prefix, after, most) {
      return most < 1 ? [] : listKeys(bucket, prefix, after, most)
    },
    async residueSeconds() {
      const [{ softDeletePolicy }] = await orProblem(patiently(() => bucket.getMetadata()))
      return Number(softDeletePolicy?.retentionDurationSeconds ?? 0)
    },
    close: async () => {},
  }
}
