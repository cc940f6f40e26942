import { existsSync } from 'node:fs'
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { ClientBase } from 'pg'
import { markFile, markIn } from '#lib/config/data-folder.ts'
import { executedErasures } from '#lib/domains/erasure/ledger/ledger-history.ts'
import { unknownErasures } from '#lib/domains/erasure/ledger/repository.ts'
import { recordedLedger, recordLedger } from '#lib/domains/settings/service.ts'
import { ledgerAddresses, retireLedgers } from '#lib/domains/stores/registered-stores.ts'
import { fileLedger, type LedgerInspection } from '#lib/stores/ledger/ledger.ts'
import {
  adoptKeys,
  changeHead,
  createHead,
  type LedgerKey,
  ledgerKeyOf,
  openHead,
  removeHead,
} from '#lib/stores/ledger/ledger-head.ts'
import { writeMark } from '#lib/stores/ledger/ledger-mark.ts'
import { type LedgerSettings, ledgerFolder, ledgerMark } from '#lib/stores/ledger/ledger-place.ts'
import { hashOfStart, isAlteration, LedgerScan, ledgerFiles } from '#lib/stores/ledger/ledger-scan.ts'
import { DatabaseFault } from '#lib/stores/postgres/fault.ts'
import { addressHash, folderMarkPath } from '#lib/stores/registered-store.ts'

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
async function acceptLedger(folder: string, key: LedgerKey, trustsRows: boolean): Promise<void> {
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
async function placeMark(folder: string, path: string, key: LedgerKey, newest: string | null): Promise<void> {
  const scan = new LedgerScan(folder, () => key)
  await scan.finish()
  if (!scan.head) return
  const { file, rows, hash } = scan.claim ?? { file: '', rows: 0, hash: '' }
  await writeMark(path, { ledger: scan.head.id, file, rows, hash, newest }, key)
}

export const acceptLossCommand = 'kp erasures accept-loss'

export interface LedgerDecisions {
  /** An operator declared the ledger, or a part of it, lost. */
  isLedgerLost?: boolean
  /** An operator declared the former secret lost: the rows that it authenticated are accepted as they are. */
  isSecretLost?: boolean
}

const refusal = (code: 'LEDGER_AWAY' | 'LEDGER_OLDER' | 'LEDGER_ALTERED', what: string): DatabaseFault =>
  new DatabaseFault(
    code,
    `${what} Erased data could come back, so nothing was started or changed. Put the newest copy of the ledger in its place (KP_LEDGER_URL). If it is lost, run ${acceptLossCommand}.`,
  )

const ownAddress = async (folder: string): Promise<string | undefined> => {
  const mark = await markIn(folderMarkPath(folder))
  return mark === undefined ? undefined : addressHash('files', mark)
}

/** Rows written to another folder than the ledger's would be missing there. */
async function refuseAnother(owner: ClientBase, folder: string): Promise<void> {
  const own = await ownAddress(folder)
  const known = await ledgerAddresses(owner)
  const other = known.find(({ address }) => address !== own)
  if (other)
    throw refusal(
      'LEDGER_AWAY',
      `${folder} is not the folder of the erasure ledger that was used before (${other.shown}). Check that its disk is mounted and that KP_LEDGER_URL is correct.`,
    )
}

/**
 * Makes the ledger of the settings usable with the secret `to`: at the first start, creates its head and accepts the rows from before
 * authentication. Safe to repeat. @throws DatabaseFault LEDGER_AWAY if it is not this installation's ledger
 */
export async function requireLedger(
  owner: ClientBase,
  settings: LedgerSettings & LedgerDecisions,
  { from = [], to }: { from?: readonly string[]; to: string },
): Promise<void> {
  const folder = ledgerFolder(settings)
  const mark = ledgerMark(settings)
  const key = ledgerKeyOf(to)
  if (!settings.isLedgerLost) await refuseAnother(owner, folder)
  for (const former of from) await adoptKeys(folder, former, to)
  const head = await openHead(folder, key)
  const isOurs = head !== undefined && head !== 'foreign'
  const recorded = await recordedLedger(owner)
  if (isOurs && (recorded === undefined || recorded === head.id)) return
  if (settings.isLedgerLost || (settings.isSecretLost && head === 'foreign'))
    return acceptLedger(folder, key, !settings.isLedgerLost)
  if (head === 'foreign')
    throw refusal('LEDGER_AWAY', `The erasure ledger in ${folder} was made with another secret, or was changed.`)
  if (isOurs) throw refusal('LEDGER_AWAY', `The erasure ledger in ${folder} is not the one of this database.`)
  if (recorded !== undefined || (mark !== undefined && existsSync(mark)))
    throw refusal('LEDGER_AWAY', `The erasure ledger is missing in ${folder}.`)
  await sealLedger(folder, key)
}

/** Whether the database has the newest erasure that the mark names: then only the ledger is older. */
async function isDatabaseCurrent(owner: ClientBase, { mark, newest }: LedgerInspection): Promise<boolean> {
  if (mark !== 'ahead') return false
  return newest === null || (await unknownErasures(owner, { ids: [newest] })).length === 0
}

/**
 * Compares the ledger with its mark and with the database, before anything is started. Creates the mark at the first start.
 * @returns a line for the operator, if there is something to say
 * @throws DatabaseFault LEDGER_AWAY, LEDGER_OLDER, LEDGER_ALTERED
 */
export async function settleLedger(
  owner: ClientBase,
  settings: LedgerSettings & LedgerDecisions,
  secret: string,
): Promise<string | undefined> {
  await requireLedger(owner, settings, { to: secret })
  const folder = ledgerFolder(settings)
  const mark = ledgerMark(settings)
  const key = ledgerKeyOf(secret)
  const ledger = fileLedger(folder, { secret: () => secret, mark })
  const executed = await executedErasures(ledger)
  if (settings.isLedgerLost) {
    await acceptLedger(folder, key, false)
    await retireLedgers(owner, (await ownAddress(folder)) ?? '', new Date())
  }
  const inspection = await ledger.inspect()
  const alterations = inspection.problems.filter(isAlteration).length
  const isAccepted = settings.isLedgerLost || settings.isSecretLost
  if (!isAccepted && !['none', 'contained'].includes(inspection.mark) && !(await isDatabaseCurrent(owner, inspection)))
    throw refusal(
      'LEDGER_OLDER',
      `The erasure ledger in ${folder} is older than the one that was used last, and so is the database.`,
    )
  if (alterations > 0 && (await unknownErasures(owner, { ids: [...executed] })).length > 0)
    throw refusal(
      'LEDGER_ALTERED',
      `The database lacks erasures of the ledger, and ${alterations} rows of the ledger in ${folder} were added, changed or removed by somebody else.`,
    )
  await endFormerKeys(folder, key)
  // Also before the first row, so that another folder is noticed.
  await markFile(folderMarkPath(folder))
  if (inspection.id !== undefined) await recordLedger(owner, inspection.id, new Date())
  if (mark !== undefined && (isAccepted || inspection.mark === 'none'))
    await placeMark(folder, mark, key, [...executed].at(-1) ?? null)
  return alterations === 0
    ? undefined
    : `${alterations} rows of the erasure ledger in ${folder} were added, changed or removed by somebody without the secret. They are not acted on. Compare the ledger with its backup. If you accept this state, run ${acceptLossCommand}.`
}
