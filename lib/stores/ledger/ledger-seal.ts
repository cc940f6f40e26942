import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { changeHead, createHead, type LedgerKey, openHead, removeHead } from './ledger-head.ts'
import { writeMark } from './ledger-mark.ts'
import { hashOfStart, LedgerScan, ledgerFiles } from './ledger-scan.ts'

/** The files as they are now: what a head accepts from before authentication. */
async function filesNow(folder: string): Promise<Record<string, { bytes: number; hash: string }>> {
  const files: Record<string, { bytes: number; hash: string }> = {}
  for (const name of await ledgerFiles(folder)) {
    const { size: bytes } = await stat(join(folder, name))
    const hash = await hashOfStart(join(folder, name), bytes)
    if (hash !== undefined) files[name] = { bytes, hash }
  }
  return files
}

/**
 * Creates the head of a ledger that has none, and accepts the rows that it has: they were written before rows were authenticated. Of
 * several concurrent calls, and after a crash at any point, one head results.
 */
export const sealLedger = async (folder: string, key: LedgerKey): Promise<void> =>
  createHead(folder, key, await filesNow(folder))

/**
 * Accepts the ledger as it is, on an operator's word. Refused rows stay refused, and are no longer reported. A ledger without a head of
 * ours gets a new one, which accepts every row that has a checksum only if `trustsRows`.
 */
export async function acceptLedger(folder: string, key: LedgerKey, trustsRows: boolean): Promise<void> {
  const files = await filesNow(folder)
  const accepted = Object.fromEntries(Object.entries(files).map(([name, { bytes }]) => [name, bytes]))
  const head = await openHead(folder, key)
  if (head === undefined || head === 'foreign') {
    await removeHead(folder)
    await createHead(folder, key, trustsRows ? files : {})
  }
  await changeHead(folder, key, (now) => ({ ...now, accepted }))
}

/** Ends every former key: rows that are appended from now on need the present one. */
export async function endFormerKeys(folder: string, present: LedgerKey): Promise<void> {
  const head = await openHead(folder, present)
  if (head === undefined || head === 'foreign') return
  const former = [...head.keys.keys()].filter((id) => id !== present.id && head.ended[id] === undefined)
  if (former.length === 0) return
  const [file = ''] = (await ledgerFiles(folder)).slice(-1)
  const { size: bytes } = file === '' ? { size: 0 } : await stat(join(folder, file))
  await changeHead(folder, present, (now) => ({
    ...now,
    ended: { ...now.ended, ...Object.fromEntries(former.map((id) => [id, { file, bytes }])) },
  }))
}

/** Writes the mark of the ledger as it is. `newest`: its newest executed erasure. */
export async function placeMark(folder: string, path: string, key: LedgerKey, newest: string | null): Promise<void> {
  const scan = new LedgerScan(folder, () => key)
  await scan.finish()
  if (!scan.head) return
  const { file, rows, hash } = scan.claim ?? { file: '', rows: 0, hash: '' }
  await writeMark(path, { ledger: scan.head.id, file, rows, hash, newest }, key)
}
