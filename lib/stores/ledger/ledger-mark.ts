import { randomBytes } from 'node:crypto'
import { readFile, rename, writeFile } from 'node:fs/promises'
import { z } from 'zod'
import { errorCode } from '#lib/kernel/error-code.ts'
import { hmac, isSameMac, type LedgerKey, replaceFile } from './ledger-head.ts'

const Content = z.object({
  /** The id in the ledger's head. */
  ledger: z.string(),
  /** The ledger contains at least the first `rows` rows of this file, with this hash. Empty: it has no file yet. */
  file: z.string(),
  rows: z.number(),
  hash: z.string(),
  /** The newest erasure that the ledger records as executed; null if there is none. */
  newest: z.string().nullable(),
})
/**
 * States how far the ledger had come. It is stored apart from the ledger and from the data folder, so that an older copy of both is not
 * taken for the present one.
 */
export type LedgerMark = z.output<typeof Content>
const MarkFile = z.object({ mark: Content, key: z.string(), mac: z.string() })

const textOf = (mark: LedgerMark, { id, key }: LedgerKey): string => {
  const content = Content.parse(mark)
  return JSON.stringify({ mark: content, key: id, mac: hmac(key, `mark ${JSON.stringify(content)}`) })
}

/** Undefined if there is none; `unreadable` if none of the keys made it. */
export async function readMark(
  path: string,
  keys: ReadonlyMap<string, Buffer>,
): Promise<LedgerMark | 'unreadable' | undefined> {
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    if (errorCode(error) === 'ENOENT' || errorCode(error) === 'ENOTDIR') return ''
    throw error
  })
  if (text === '') return undefined
  try {
    const { mark, key, mac } = MarkFile.parse(JSON.parse(text))
    const made = keys.get(key)
    return made && isSameMac(mac, hmac(made, `mark ${JSON.stringify(mark)}`)) ? mark : 'unreadable'
  } catch {
    return 'unreadable'
  }
}

/** Writes the mark so that it survives a crash. */
export const writeMark = (path: string, mark: LedgerMark, key: LedgerKey): Promise<void> =>
  replaceFile(path, textOf(mark, key))

/** Like {@link writeMark}, without waiting for the disk: after a crash the former mark may remain, which is true as well. */
export async function moveMark(path: string, mark: LedgerMark, key: LedgerKey): Promise<void> {
  const draft = `${path}.${randomBytes(6).toString('hex')}.draft`
  await writeFile(draft, textOf(mark, key), { mode: 0o600 })
  await rename(draft, path)
}
