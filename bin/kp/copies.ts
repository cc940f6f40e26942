import { join } from 'node:path'
import { z } from 'zod'
import { parsedJson, readIfThere, writePrivately } from './config.ts'

const ExportCopy = z.object({
  url: z.string(),
  id: z.string(),
  name: z.string(),
  /** Absolute. */
  folder: z.string(),
  files: z.array(z.string()),
  installed_at: z.string(),
  /** When it was erased at its registry, if known. */
  erased_at: z.string().optional(),
})
export type ExportCopy = z.output<typeof ExportCopy>

const ExportCopyList = z.object({
  copies: z.array(ExportCopy),
  /** By URL of the registry: the cursor up to which its erasures were read, and when. */
  followed: z.record(z.string(), z.object({ cursor: z.string(), at: z.string() })),
})
export type ExportCopyList = z.output<typeof ExportCopyList>

const fileOf = (folder: string): string => join(folder, 'copies.json')

/** Skills that kp installed on this machine. An unreadable file counts as empty, because its content is not essential. */
export const readCopies = (folder: string): ExportCopyList =>
  parsedJson(readIfThere(fileOf(folder)) ?? '', ExportCopyList) ?? { copies: [], followed: {} }

export const writeCopies = (folder: string, copies: ExportCopyList): void =>
  writePrivately(fileOf(folder), `${JSON.stringify(copies, null, 2)}\n`)

/** Records a copy, replacing the record of the same folder. */
export function rememberCopy(folder: string, copy: ExportCopy): void {
  const { copies, followed } = readCopies(folder)
  writeCopies(folder, { copies: [...copies.filter((one) => one.folder !== copy.folder), copy], followed })
}
