import { existsSync } from 'node:fs'
import type { ClientBase } from 'pg'
import { markFile, markIn } from '#lib/config/data-folder.ts'
import { executedErasures } from '#lib/domains/erasure/ledger/ledger-history.ts'
import { unknownErasures } from '#lib/domains/erasure/ledger/repository.ts'
import { recordedLedger, recordLedger } from '#lib/domains/settings/service.ts'
import { ledgerAddresses, retireLedgers } from '#lib/domains/stores/registered-stores.ts'
import { fileLedger, type LedgerInspection } from '#lib/stores/ledger/ledger.ts'
import { adoptKeys, ledgerKeyOf, openHead } from '#lib/stores/ledger/ledger-head.ts'
import { type LedgerSettings, ledgerFolder, ledgerMark } from '#lib/stores/ledger/ledger-place.ts'
import { isAlteration } from '#lib/stores/ledger/ledger-scan.ts'
import { acceptLedger, endFormerKeys, placeMark, sealLedger } from '#lib/stores/ledger/ledger-seal.ts'
import { DatabaseFault } from '#lib/stores/postgres/fault.ts'
import { addressHash, folderMarkPath } from '#lib/stores/registered-store.ts'

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
