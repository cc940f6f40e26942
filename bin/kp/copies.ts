import { join } from 'node:path'
import { z } from 'zod'
import { parsedJson, readIfThere, writePrivately } from './config.ts'

const Copy = z.object({
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
export type Copy = z.output<typeof Copy>

const Copies = z.object({
  copies: z.array(Copy),
  /** By registry: how far its erasures were followed, and when. */
  followed: z.record(z.string(), z.object({ cursor: z.string(), at: z.string() })),
})
export type Copies = z.output<typeof Copies>

const fileOf = (folder: string): string => join(folder, 'copies.json')

/** Skills that kp installed on this machine. An unreadable file counts as empty, because its content is not essential. */
export const readCopies = (folder: string): Copies =>
  parsedJson(readIfThere(fileOf(folder)) ?? '', Copies) ?? { copies: [], followed: {} }

export const writeCopies = (folder: string, copies: Copies): void =>
  writePrivately(fileOf(folder), `${JSON.stringify(copies, null, 2)}\n`)

/** Records a copy, replacing the record of the same folder. */
export function rememberCopy(folder: string, copy: Copy): void {
  const { copies, followed } = readCopies(folder)
  writeCopies(folder, { copies: [...copies.filter((one) => one.folder !== copy.folder), copy], followed })
}
