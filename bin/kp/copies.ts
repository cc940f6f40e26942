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
  /** When it was erased at its registry, once that is known. */
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

/** What kp installed on this machine. A file that cannot be read counts as none: it knows nothing that is worth failing for. */
export const readCopies = (folder: string): Copies =>
  parsedJson(readIfThere(fileOf(folder)) ?? '', Copies) ?? { copies: [], followed: {} }

export const writeCopies = (folder: string, copies: Copies): void =>
  writePrivately(fileOf(folder), `${JSON.stringify(copies, null, 2)}\n`)

/** Remembers a copy, in place of what was in the same folder. */
export function rememberCopy(folder: string, copy: Copy): void {
  const { copies, followed } = readCopies(folder)
  writeCopies(folder, { copies: [...copies.filter((one) => one.folder !== copy.folder), copy], followed })
}
