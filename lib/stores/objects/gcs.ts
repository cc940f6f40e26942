import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { type Bucket, Storage } from '@google-cloud/storage'
import { Problem } from '#lib/kernel/problem.ts'
import { type StoreRefusal, unusableStore } from '#lib/kernel/store-refusal.ts'
import { bytesUpTo, checkAskable, checkKey, forEach, inKeyOrder, isAskable, isObjectKey } from './keys.ts'
import { type DescribedTexts, describedAnew, type ObjectStore, type ObjectVersion } from './objects.ts'

export interface GcsAddress {
  bucket: string
  /** Another server than Google's, accessed without credentials. Undefined: Google, with the credentials that its library finds. */
  endpoint: string | undefined
}

interface Generation extends ObjectVersion {
  generation: string | number
}
const atOnce = 8
const perPage = 1000

/** The HTTP status or the system's name of the error, without any part of the request. */
export function gcsErrorName(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  return /^[A-Za-z0-9_]{1,64}$/.test(code) ? code : 'unknown fault'
}
/** Maps the HTTP status and Google's reason. A 404 here is about the bucket: missing objects are not an error. */
export function gcsRefusal(error: unknown): StoreRefusal | undefined {
  const name = gcsErrorName(error)
  const { errors } = error instanceof Error && 'errors' in error ? error : {}
  const reasons = Array.isArray(errors) ? errors.map((one: unknown) => JSON.stringify(one)).join() : ''
  if (name === '401' || /invalid_grant|authError/.test(reasons)) return 'credentials'
  if (name === '403') return /rateLimitExceeded/i.test(reasons) ? undefined : 'access_denied'
  return name === '404' ? 'missing' : undefined
}
/** How the store says that an object is encrypted with a key of a customer, which only the customer can send, or with a key that is disabled or deleted. */
const ofKey =
  /[rR]esourceIsEncryptedWithCustomerEncryptionKey|encrypted (?:by|with) a customer(?:-supplied)? encryption key|cloudKms(?:DisabledKey|DecryptionKeyNotFound)|Cloud KMS (?:key is disabled|decryption key not found)/
/** A download has the reason only in its message. Any other 400 is about the request. */
export function isUndecryptable(error: unknown): boolean {
  if (gcsErrorName(error) !== '400' || !(error instanceof Error)) return false
  const reasons = 'errors' in error ? JSON.stringify(error.errors) : ''
  return ofKey.test(`${reasons} ${error.message}`)
}
export const asGcsProblem = (error: unknown): Problem =>
  Problem.is(error)
    ? error
    : unusableStore(gcsRefusal(error), {
        detail: `The object store (Google Cloud Storage) rejected the request (${gcsErrorName(error)}). No data was lost. Try again later.`,
      })
export const orProblem = async <T>(work: Promise<T>): Promise<T> => {
  try {
    return await work
  } catch (error) {
    throw asGcsProblem(error)
  }
}
/** Temporary errors: a reused connection that was closed, a busy server. */
const passing = /^(ECONNRESET|EPIPE|ETIMEDOUT|408|429|50[0234])$/
/** Retries. Only for repeatable requests. */
export async function patiently<T>(ask: () => Promise<T>): Promise<T> {
  for (const rest of [50, 500])
    try {
      return await ask()
    } catch (error) {
      if (!passing.test(gcsErrorName(error))) throw error
      await delay(rest)
    }
  return ask()
}
export async function* bytesOrProblem(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield* bytes
  } catch (error) {
    throw asGcsProblem(error)
  }
}

/** Starts at `from`, inclusive. */
export async function* generations(bucket: Bucket, prefix: string, from = ''): AsyncGenerator<Generation[]> {
  const question = { prefix, versions: true, autoPaginate: false, maxResults: perPage }
  for (let pageToken: string | undefined; ; ) {
    const [files, next] = await patiently(() =>
      bucket.getFiles({
        ...question,
        ...(from !== '' && { startOffset: from }),
        ...(pageToken !== undefined && { pageToken }),
      }),
    )
    yield files.map(({ name: key, metadata }) => ({
      key,
      generation: metadata.generation ?? '',
      version: String(metadata.generation ?? ''),
      bytes: Number(metadata.size ?? 0),
      at: new Date(metadata.timeCreated ?? 0),
    }))
    const token = next !== null && 'pageToken' in next ? String(next.pageToken) : undefined
    if (token === undefined || token === pageToken) return
    pageToken = token
  }
}

export async function generationsOf(bucket: Bucket, key: string): Promise<Generation[]> {
  const found: Generation[] = []
  for await (const page of generations(bucket, key)) {
    found.push(...page.filter((one) => one.key === key))
    if (page.some((one) => one.key !== key)) break
  }
  return found
}

/** Permanently deletes one version, if it exists. */
export const eraseGeneration = (bucket: Bucket, key: string, generation: string | number) =>
  patiently(() => bucket.file(key, { generation }).delete({ ignoreNotFound: true }))

/** Permanently deletes these versions. @throws {Problem} `unavailable` with the refusal `locked`, after all others are deleted */
async function eraseGenerations(bucket: Bucket, all: readonly Generation[]): Promise<void> {
  let refusals = 0
  for (const { key, generation } of all)
    try {
      await eraseGeneration(bucket, key, generation)
    } catch (error) {
      // A hold, a retention policy or missing rights: continue with the other versions.
      if (gcsErrorName(error) !== '403' && gcsErrorName(error) !== '412') throw error
      refusals++
    }
  if (refusals > 0)
    throw unusableStore('locked', {
      detail: `The object store (Google Cloud Storage) did not delete ${refusals} of ${all.length} versions: a hold, a retention rule or missing permissions prevent it. Remove the cause; the deletion is retried.`,
    })
}

/** Permanently deletes all versions. Returns how many keys had any. */
export async function eraseAllGenerations(bucket: Bucket, keys: readonly string[]): Promise<number> {
  let had = 0
  const refused: Problem[] = []
  await forEach(keys, atOnce, async (key) => {
    const all = await generationsOf(bucket, key)
    if (all.length > 0) had++
    try {
      await eraseGenerations(bucket, all)
    } catch (error) {
      if (!Problem.is(error)) throw error
      refused.push(error)
    }
  })
  if (refused[0]) throw refused[0]
  return had
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

async function readObject(bucket: Bucket, key: string, max: number, version: string | undefined) {
  try {
    const asked = bucket.file(key, { ...(version !== undefined && { generation: version }) })
    const [metadata] = await patiently(() => asked.getMetadata())
    const generation = String(metadata.generation ?? '')
    const stream = bucket.file(key, { generation }).createReadStream({ decompress: false })
    const isLarge = Number(metadata.size ?? 0) > max
    return {
      version: generation,
      state: generation,
      mediaType: metadata.contentType,
      bytes: isLarge ? undefined : await bytesUpTo(stream, max),
      described: [
        ...Object.entries(metadata.metadata ?? {}).flatMap(([name, value]) => [name, String(value)]),
        ...[metadata.contentDisposition, metadata.contentType].filter((text) => text !== undefined),
      ],
    }
  } catch (error) {
    if (gcsErrorName(error) === '404') return undefined
    if (isUndecryptable(error))
      return {
        version: version ?? '',
        state: '',
        mediaType: undefined,
        bytes: undefined,
        described: [],
        isRefused: true,
      }
    throw asGcsProblem(error)
  }
}

/** Returns false if the newest version is not `state`. */
async function replaceObject(
  bucket: Bucket,
  key: string,
  state: string,
  bytes: Uint8Array,
  texts: DescribedTexts = new Map(),
): Promise<boolean> {
  try {
    const [known] = await patiently(() => bucket.file(key, { generation: state }).getMetadata())
    const { contentType, contentEncoding, contentLanguage, contentDisposition, cacheControl, metadata } = known
    const anew = (text: string) => texts.get(text) ?? text
    const described = Object.entries(metadata ?? {}).map(([name, value]) => [name, String(value)] as const)
    await bucket.file(key).save(bytes, {
      resumable: false,
      preconditionOpts: { ifGenerationMatch: state },
      metadata: {
        ...(contentType !== undefined && { contentType: anew(contentType) }),
        ...(contentEncoding !== undefined && { contentEncoding }),
        ...(contentLanguage !== undefined && { contentLanguage }),
        ...(contentDisposition !== undefined && { contentDisposition: anew(contentDisposition) }),
        ...(cacheControl !== undefined && { cacheControl }),
        ...(metadata !== undefined && { metadata: Object.fromEntries(describedAnew(described, texts)) }),
      },
    })
    return true
  } catch (error) {
    if (gcsErrorName(error) === '412' || gcsErrorName(error) === '404') return false
    throw asGcsProblem(error)
  }
}

async function listKeys(bucket: Bucket, prefix: string, after: string, max: number): Promise<string[]> {
  const found = new Set<string>()
  const read = async () => {
    for await (const page of generations(bucket, prefix, after)) {
      for (const { key } of page) if (inKeyOrder(key, after) > 0) found.add(key)
      if (found.size >= max) break
    }
  }
  await orProblem(read())
  return [...found].sort(inKeyOrder).slice(0, max)
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
    async read(key, max, version) {
      return isAskable(key) ? readObject(bucket, key, max, version) : undefined
    },
    async replace(key, { state }, bytes, texts) {
      checkAskable(key)
      return replaceObject(bucket, key, state, bytes, texts)
    },
    async eraseVersions(key, versions) {
      if (!isAskable(key)) return
      const wanted = new Set(versions)
      await orProblem(
        generationsOf(bucket, key).then((all) =>
          eraseGenerations(
            bucket,
            all.filter(({ version }) => wanted.has(version)),
          ),
        ),
      )
    },
    async list(prefix, after, max) {
      return max < 1 ? [] : listKeys(bucket, prefix, after, max)
    },
    async residueSeconds() {
      const [{ softDeletePolicy }] = await orProblem(patiently(() => bucket.getMetadata()))
      return Number(softDeletePolicy?.retentionDurationSeconds ?? 0)
    },
    close: async () => {},
  }
}
