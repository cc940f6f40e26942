import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import type { ProjectPorts } from '#lib/domains/projects/ports.ts'
import { logFault } from '#lib/kernel/fault-log.ts'
import type { Upload } from '#lib/kernel/operation.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { limitedUpload, putUpload } from '#lib/stores/objects/uploads.ts'
import { isUploadKey, installationKey as markKey } from '../objects/rules.ts'
import { keysInUse } from './repository.ts'

export interface Uploaded {
  key: string
  mediaType: string
  bytes: number
  sha256: Uint8Array<ArrayBuffer>
}

/**
 * Streams a file to the object store, completely or not at all.
 * @throws {Problem} `too_large` above the limit, `bad_request` if the upload is interrupted, and the store's own problems
 */
export async function storeUpload(
  { objects }: Pick<ProjectPorts, 'objects'>,
  key: string,
  { bytes, mediaType }: Upload,
  max: number,
): Promise<Uploaded> {
  return { key, mediaType, ...(await putUpload(objects, key, { mediaType, bytes: limitedUpload(bytes, max) })) }
}

/**
 * Runs the write of a stored file's row. If no row exists afterwards, deletes the object. If that fails or the result is unknown, a sweep
 * deletes the object a day later.
 */
export async function retainedWithRow<T>(
  { db, objects }: Pick<ProjectPorts, 'db' | 'objects'>,
  key: string,
  write: () => Promise<T>,
): Promise<T> {
  try {
    return await write()
  } catch (error) {
    await dropUnlessRetained({ db, objects }, key).catch((fault: unknown) =>
      logFault(fault, { operationId: 'projects.upload' }),
    )
    throw error
  }
}

async function keysRetained({ db }: Pick<ProjectPorts, 'db'>, keys: readonly string[]): Promise<Set<string>> {
  return new Set((await keysInUse(db, { keys })).map(({ key }) => key))
}
async function dropUnlessRetained(ports: Pick<ProjectPorts, 'db' | 'objects'>, key: string): Promise<void> {
  if (!(await keysRetained(ports, [key])).has(key)) await ports.objects.erase([key])
}

const day = 24 * 3_600_000
const pageSize = 500

/** Whether the bucket is marked as ours. An unmarked bucket is marked now and swept from the next run on. */
export async function isOurUpload({
  objects,
  installation,
}: Pick<ProjectPorts, 'objects' | 'installation'>): Promise<boolean> {
  const [own, mark] = [await installation(), await objects.get(markKey)]
  if (!mark) {
    await objects.put(markKey, Readable.from([Buffer.from(own)]), { mediaType: 'text/plain' })
    return false
  }
  const owner = await text(mark)
  if (owner === own) return true
  // An old mark without a data folder: the first installation that matches it takes over.
  if (own.startsWith(`${owner} `)) {
    await objects.put(markKey, Readable.from([Buffer.from(own)]), { mediaType: 'text/plain' })
    return false
  }
  logFault(
    new Problem(
      'conflict',
      `The bucket belongs to another installation (object ${markKey}), so interrupted uploads are not deleted from it. Give each installation its own bucket. If this installation replaces the other one, or was moved or restored, delete the object ${markKey}.`,
    ),
    { operationId: 'projects.sweep-uploads' },
  )
  return false
}

/**
 * Deletes objects without a row that are older than a day: a crash interrupted their upload between object and row. Returns how many.
 * Deletes nothing if the bucket belongs to another installation, because its rows are not in this database.
 */
export async function sweepUploads(
  ports: Pick<ProjectPorts, 'db' | 'objects' | 'installation'>,
  now: Date,
): Promise<number> {
  const { objects } = ports
  const before = new Date(now.getTime() - day)
  let swept = 0
  let areOurs: boolean | undefined
  for (let after = ''; ; ) {
    const keys = await objects.list('projects/', after, pageSize)
    const ours = keys.filter(isUploadKey)
    const retained = ours.length === 0 ? new Set<string>() : await keysRetained(ports, ours)
    const orphans: string[] = []
    for (const key of ours) {
      if (retained.has(key)) continue
      const versions = await objects.versions(key)
      if (versions.every(({ at }) => at < before)) orphans.push(key)
    }
    if (orphans.length > 0) {
      areOurs ??= await isOurUpload(ports)
      if (!areOurs) return 0
      swept += await objects.erase(orphans)
    }
    const last = keys.at(-1)
    if (last === undefined || keys.length < pageSize) return swept
    after = last
  }
}
