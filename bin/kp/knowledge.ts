import { accessSync, constants, existsSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import type { Command } from 'commander'
import { RequestRefused } from '#lib/client/request.ts'
import { readReceipt } from '#lib/domains/erasure/contract.ts'
import { eraseUnit, readUnit } from '#lib/domains/knowledge/contract.ts'
import type { Receipt } from '#lib/kernel/receipt.ts'
import { contribute, exitCodeOf, type Outcome } from './contribution.ts'
import { Failure, usageFailure } from './failure.ts'
import { readPin } from './pins.ts'
import { asReceipt, checkReceipt } from './receipt-check.ts'
import { printFindings, printReceipt } from './receipt-print.ts'
import type { Session } from './session.ts'
import { pinOnFirstUse } from './trust.ts'
import { jsonText } from './visible-text.ts'

/** The receipt's id in a 410 that its former owner gets. */
function receiptOf(error: unknown): string | undefined {
  if (!(error instanceof RequestRefused) || error.problem.code !== 'erased') return undefined
  return 'receipt_id' in error.problem && typeof error.problem.receipt_id === 'string'
    ? error.problem.receipt_id
    : undefined
}

async function get(session: Session, id: string): Promise<void> {
  const { terminal, command } = session
  const { body } = await session.call(readUnit, { params: { id } }).catch((error: unknown) => {
    const receipt = receiptOf(error)
    throw receipt === undefined
      ? error
      : new Failure('erased', `${id} was erased.`, { advice: `Its receipt: ${command(`receipts get ${receipt}`)}` })
  })
  terminal.document(body)
  const { unit, visibility, quality_score, created_at, updated_at } = body.data
  terminal.line(terminal.bold(id), `  ${unit['@type']}`)
  terminal.line(
    terminal.dim(
      `${visibility}, quality ${quality_score.toFixed(2)}, stored ${created_at}${updated_at === created_at ? '' : `, changed ${updated_at}`}`,
    ),
  )
  for (const line of jsonText(unit).split('\n')) terminal.line(line)
}

async function contributeAll(session: Session, paths: readonly string[], options: { anew?: boolean }): Promise<void> {
  const { terminal } = session
  const report = (outcome: Outcome) => {
    if (outcome.state === 'failed') {
      const request = outcome.request_id === undefined ? '' : ` (request ${outcome.request_id})`
      terminal.line(terminal.bad('✗ '), `${outcome.source}: ${outcome.message}${request}`)
      return
    }
    const isKnown = outcome.state === 'known'
    terminal.line(
      terminal.good('✓ '),
      `${outcome.id}  quality ${outcome.quality_score.toFixed(2)}  ${outcome.source}${isKnown ? '  (was stored before)' : ''}`,
    )
    for (const warning of outcome.warnings ?? []) terminal.line(terminal.warn('  ! '), warning)
  }
  const made = await contribute(session, paths.map(session.pathOf), report, options)
  const { stored, known, failed, outcomes, stopped } = made
  terminal.document({ data: { stored, known, failed, complete: stopped === undefined, items: outcomes } })
  if (outcomes.length > 1)
    terminal.note(
      [
        `${stored} stored`,
        ...(known > 0 ? [`${known} were stored before`] : []),
        ...(failed > 0 ? [`${failed} failed`] : []),
      ].join(', '),
      '.',
    )
  if (stopped) throw stopped
  process.exitCode = exitCodeOf(made)
}

/** A receipt that could not be written must not be found out after the erasure. */
function checkOutput(file: string): void {
  if (existsSync(file))
    throw usageFailure(`${file} exists already; nothing was erased. Choose another name for the receipt.`)
  accessSync(dirname(file), constants.W_OK)
}

export const saveReceipt = (file: string, receipt: Receipt): void =>
  writeFileSync(file, `${JSON.stringify(receipt, null, 2)}\n`, { flag: 'wx' })

async function confirm(session: Session, id: string, yes: boolean): Promise<void> {
  if (yes) return
  const { terminal } = session
  if (!terminal.isInteractive)
    throw usageFailure(
      'Erasing is confirmed on a terminal, and this is none. Nothing was erased.',
      'Add --yes to erase without being asked.',
    )
  const ending = id.slice(-4)
  const answer = await terminal.ask(`Erase ${id} for good? Type its last four characters (${ending}), or y:`)
  if (answer !== ending && !/^y(?:es)?$/i.test(answer)) throw new Failure('not_confirmed', 'Nothing was erased.')
}

/** The receipt of the erasure, of an earlier one where the unit is gone already. */
async function erased(session: Session, id: string): Promise<{ receipt: unknown; isEarlier: boolean }> {
  try {
    const { body } = await session.call(eraseUnit, { params: { id }, headers: { prefer: 'return=representation' } })
    return { receipt: body, isEarlier: false }
  } catch (error) {
    const receiptId = receiptOf(error)
    if (receiptId === undefined) throw error
    return { receipt: (await session.call(readReceipt, { params: { id: receiptId } })).body, isEarlier: true }
  }
}

async function erase(session: Session, id: string, { output, yes }: { output?: string; yes?: boolean }): Promise<void> {
  const { terminal, folder, url, command } = session
  const file = output === undefined ? undefined : session.pathOf(output)
  if (file !== undefined) checkOutput(file)
  await confirm(session, id, yes ?? false)
  // Keys that were there before the receipt are the ones that it can be checked with.
  await pinOnFirstUse(session)
  const { receipt: answered, isEarlier } = await erased(session, id)
  const read = asReceipt(answered)
  if ('fault' in read)
    throw new Failure('bad_receipt', `${id} was erased, and the registry's answer is not understood. ${read.fault}`, {
      advice: 'Delete it again to be shown the receipt.',
    })
  const { receipt } = read
  if (file !== undefined) saveReceipt(file, receipt)
  const pin = readPin(folder, url)
  const check = await checkReceipt(receipt, { keys: pin?.keys ?? [] })
  terminal.document({ data: receipt, verified: check.ok, erased_before: isEarlier })
  terminal.line(
    check.ok ? terminal.good('✓ ') : terminal.warn('! '),
    isEarlier ? `${id} was erased before; this is its receipt.` : `${id} is erased.`,
  )
  printReceipt(terminal, receipt)
  printFindings(terminal, check.findings)
  if (file !== undefined)
    terminal.note(`The receipt is in ${output}. Check it at any time, offline: ${command(`receipts verify ${output}`)}`)
  else terminal.note(`Fetch the receipt at any time: ${command(`receipts get ${receipt.receipt_id}`)}`)
  if (!check.ok)
    throw new Failure('bad_receipt', `${id} is erased, and its receipt does not hold: see above.`, {
      advice: 'Give the receipt’s id to whoever runs the registry.',
    })
}

/** Units: get, contribute, delete. */
export function knowledgeCommands(program: Command, begin: () => Session): void {
  program
    .command('get')
    .summary('read one unit')
    .description('Reads one unit that you may see.\n\nExample:\n  kp get kp:trace:6d961dbbe7e99e7f7c2cc1f2')
    .argument('<id>', 'such as kp:trace:…, kp:pattern:… or kp:sop:…')
    .action((id: string) => get(begin(), id))
  program
    .command('contribute')
    .summary('contribute units from files')
    .description(
      'Contributes units: a file with one JSON unit, an array of them, or JSON Lines; a folder of such files; or - for standard input. Each is checked here first, and sent at the pace that the token’s limits allow. A run that was interrupted is repeated by the same command: within 24 hours nothing is stored twice.\n\nExample:\n  kp contribute docs/examples/trace.json\n  kp contribute units.jsonl --json > result.json',
    )
    .argument('<paths...>', 'files or folders, or - for standard input')
    .option('--anew', 'also what was contributed within 24 hours, or contributed and erased')
    .action((paths: string[], options: { anew?: boolean }) => contributeAll(begin(), paths, options))
  program
    .command('delete')
    .summary('erase one unit, with a signed receipt')
    .description(
      'Erases one unit of your own (GDPR art. 17): gone from every read path at once, searched for again, and attested by a signed receipt. Asks first. It cannot be undone.\n\nExample:\n  kp delete kp:trace:6d961dbbe7e99e7f7c2cc1f2 --output receipt.json',
    )
    .argument('<id>', 'the unit’s id')
    .option('--output <file>', 'write the receipt there; the file must not exist yet')
    .option('--yes', 'erase without being asked; needed in scripts')
    .action((id: string, options: { output?: string; yes?: boolean }) => erase(begin(), id, options))
}
