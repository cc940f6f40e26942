import { accessSync, constants, existsSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import type { Command } from 'commander'
import { readReceipt } from '#lib/domains/erasure/contract.ts'
import { eraseUnit } from '#lib/domains/knowledge/contract.ts'
import { eraseSkill } from '#lib/domains/knowledge/skills/contract.ts'
import type { Receipt } from '#lib/kernel/receipt.ts'
import { forgetJournals } from './contribution-journal.ts'
import { Failure, usageFailure } from './failure.ts'
import { isSkillRecordId, receiptOf } from './knowledge.ts'
import { readPin } from './pins.ts'
import { asReceipt, checkReceipt } from './receipt-check.ts'
import { printFindings, printReceipt } from './receipt-print.ts'
import type { CommandSession } from './session.ts'
import { pinOnFirstUse } from './trust.ts'

/** Checks before the erasure that the receipt can be written. */
function checkOutput(file: string): void {
  if (existsSync(file))
    throw usageFailure(`${file} already exists, so nothing was erased. Choose another file for the receipt.`)
  accessSync(dirname(file), constants.W_OK)
}

export const saveReceipt = (file: string, receipt: Receipt): void =>
  writeFileSync(file, `${JSON.stringify(receipt, null, 2)}\n`, { flag: 'wx' })

async function confirm(session: CommandSession, id: string, yes: boolean): Promise<void> {
  if (yes) return
  const { terminal, command } = session
  const keep = `To keep a copy, export first: ${command('export me --output me.json')}`
  if (!terminal.isInteractive)
    throw usageFailure(
      'Erasing needs a confirmation on a terminal, and standard input is not one. Nothing was erased.',
      `Add --yes to erase without a confirmation. ${keep}`,
    )
  terminal.warning(keep)
  const ending = id.slice(-4)
  const answer = await terminal.ask(`Erase ${id} for good? Type its last four characters (${ending}), or y:`)
  if (answer !== ending && !/^y(?:es)?$/i.test(answer)) throw new Failure('not_confirmed', 'Nothing was erased.')
}

/** Erases and returns the receipt, or the earlier receipt of an already erased unit. */
async function erased(session: CommandSession, id: string): Promise<{ receipt: unknown; isEarlier: boolean }> {
  try {
    const parts = { params: { id }, headers: { prefer: 'return=representation' } }
    const { body } = isSkillRecordId(id) ? await session.call(eraseSkill, parts) : await session.call(eraseUnit, parts)
    forgetJournals(session.folder)
    return { receipt: body, isEarlier: false }
  } catch (error) {
    const receiptId = receiptOf(error)
    if (receiptId === undefined) throw error
    return { receipt: (await session.call(readReceipt, { params: { id: receiptId } })).body, isEarlier: true }
  }
}

async function erase(
  session: CommandSession,
  id: string,
  { output, yes }: { output?: string; yes?: boolean },
): Promise<void> {
  const { terminal, folder, url, command } = session
  const file = output === undefined ? undefined : session.pathOf(output)
  if (file !== undefined) checkOutput(file)
  await confirm(session, id, yes ?? false)
  // Only keys that were pinned before the receipt can verify it.
  await pinOnFirstUse(session)
  const { receipt: answered, isEarlier } = await erased(session, id)
  const read = asReceipt(answered)
  if ('fault' in read)
    throw new Failure('bad_receipt', `${id} was erased, but kp cannot read the registry's answer. ${read.fault}`, {
      advice: 'Run the command again to show the receipt.',
    })
  const { receipt } = read
  if (file !== undefined) saveReceipt(file, receipt)
  const pin = readPin(folder, url)
  const check = await checkReceipt(receipt, { keys: pin?.keys ?? [] })
  terminal.document({ data: receipt, verified: check.ok, erased_before: isEarlier })
  terminal.line(
    check.ok ? terminal.good('✓ ') : terminal.warn('! '),
    isEarlier ? `${id} had already been erased. This is its receipt.` : `${id} was erased.`,
  )
  printReceipt(terminal, receipt)
  printFindings(terminal, check.findings)
  if (file !== undefined)
    terminal.note(`The receipt is in ${output}. Check it at any time, offline: ${command(`receipts verify ${output}`)}`)
  else terminal.note(`Fetch the receipt at any time: ${command(`receipts get ${receipt.receipt_id}`)}`)
  if (!check.ok)
    throw new Failure('bad_receipt', `${id} was erased, but its receipt is not valid. See above.`, {
      advice: 'Send the receipt’s id to the operator of the registry.',
    })
}

/** Erasure: delete. */
export function erasingCommands(program: Command, begin: () => CommandSession): void {
  program
    .command('delete')
    .summary('erase one unit or skill, with a signed receipt')
    .description(
      'Erases one of your units or skills (GDPR art. 17). It is removed from all reads immediately, the removal is verified, and a signed receipt is issued. Asks first. Cannot be undone; kp export me --output me.json saves a copy of your data.\n\nExample:\n  kp delete kp:trace:6d961dbbe7e99e7f7c2cc1f2 --output receipt.json',
    )
    .argument('<id>', 'the unit’s or skill’s id')
    .option('--output <file>', 'write the receipt to this file, which must not exist yet')
    .option('--yes', 'erase without a prompt; required in scripts')
    .action((id: string, options: { output?: string; yes?: boolean }) => erase(begin(), id, options))
}
