import type { Bucket } from '@google-cloud/storage'
import { unusableStore } from '#lib/kernel/store-refusal.ts'
import { gcsErrorName, patiently } from './gcs-errors.ts'
import { forEach } from './keys.ts'
import type { ObjectVersion } from './objects.ts'

interface Generation extends ObjectVersion {
  generation: string | number
}
const atOnce = 8
const perPage = 1000

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

/** Permanently deletes all versions. Returns how many keys had any. */
export async function eraseAllGenerations(bucket: Bucket, keys: readonly string[]): Promise<number> {
  let had = 0
  let found = 0
  let refusals = 0
  await forEach(keys, atOnce, async (key) => {
    const all = await generationsOf(bucket, key)
    if (all.length > 0) had++
    found += all.length
    for (const { generation } of all)
      try {
        await eraseGeneration(bucket, key, generation)
      } catch (error) {
        // A hold, a retention policy or missing rights: continue with the other versions.
        if (gcsErrorName(error) !== '403' && gcsErrorName(error) !== '412') throw error
        refusals++
      }
  })
  if (refusals > 0)
    throw unusableStore('locked', {
      detail: `The object store (Google Cloud Storage) did not delete ${refusals} of ${found} versions: a hold, a retention rule or missing permissions prevent it. Remove the cause; the deletion is retried.`,
    })
  return had
}
