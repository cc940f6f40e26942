import type { Command } from 'commander'
import { operator } from '#lib/operator/operator.ts'
import type { PartIntent, RecordIntent, SubjectIntent } from '#lib/stores/ledger/ledger.ts'
import { exitCodes } from './failure.ts'
import { enterInstallation, withInstallation } from './installation.ts'
import type { CommandSession } from './session.ts'

interface Erasure {
  receipt_id: string
  scope: LedgerIntent['scope']
  at: string
  committed_at: string | null
  items: number
}
type LedgerIntent = RecordIntent | SubjectIntent | PartIntent

const whatOf = (scope: LedgerIntent['scope']): string => {
  if ('unit' in scope) return scope.unit
  if ('skill' in scope) return scope.skill
  if ('part' in scope) return `${scope.part.kind} ${scope.part.id}`
  const { account, agents } = scope.subject
  return [...(account === null ? [] : [account]), agents.length > 3 ? `${agents.length} agents` : agents.join(' ')]
    .filter(Boolean)
    .join(' ')
}
const sum = (counts: readonly number[]): number => counts.reduce((total, count) => total + count, 0)

async function list(session: CommandSession): Promise<void> {
  const { terminal } = session
  const env = enterInstallation(session.invocation)
  const { createApp } = await import('#lib/app.ts')
  const app = createApp({ env })
  const erasures = new Map<string, Erasure>()
  for await (const row of app.ledger.read()) {
    if (row.kind === 'intent') {
      const known = erasures.get(row.id)
      const items = 'plan' in row ? sum(Object.values(row.plan).map((ids) => ids.length)) : (known?.items ?? 0)
      const { scope, at } = row
      erasures.set(row.id, { receipt_id: row.id, scope, at, committed_at: known?.committed_at ?? null, items })
    }
    const erasure = erasures.get(row.id)
    if (row.kind === 'commit' && erasure) {
      erasure.committed_at ??= row.at
      if (row.erased) erasure.items = sum(Object.values(row.erased))
    }
  }
  await app.close()
  const rows = [...erasures.values()]
  terminal.document({ data: rows, total: rows.length })
  terminal.table(
    ['TIME', 'RECEIPT', 'WHAT', 'ITEMS', 'CARRIED OUT'],
    rows.map((row) => [
      row.at,
      row.receipt_id,
      whatOf(row.scope),
      String(row.items),
      row.committed_at ?? 'no: started but not committed',
    ]),
  )
  if (rows.length === 0) terminal.note('The ledger is empty: no erasure was carried out here.')
}

async function replay(session: CommandSession): Promise<void> {
  const { terminal } = session
  const report = await withInstallation(session.invocation, (app) => operator(app).replayErasures())
  terminal.document({ data: report })
  const again = report.erased + report.subjects + report.parts
  const isWhole =
    report.refused.length + report.unfinished.length + report.unsearched.length + report.unknown + report.uncertain ===
    0
  // A script that restores a backup must notice an incomplete replay.
  if (!isWhole) session.invocation.setExitCode(exitCodes.failed)
  terminal.line(
    isWhole ? terminal.good('✓ ') : '! ',
    `${report.committed} erasures are in the ledger; ${again === 0 ? 'nothing of them had come back' : `${again} had come back and were erased again: ${report.erased} units and skills, ${report.subjects} people and agents, ${report.parts} parts of projects`}.`,
  )
  if (report.stores > 0)
    terminal.line(`Of ${report.stores} more only connected stores had something again: it was erased there once more.`)
  if (report.reinstated > 0)
    terminal.line(
      `${report.reinstated} receipts that the restored database did not know are there again, and their ids stay taken.`,
    )
  if (report.keys > 0)
    terminal.line(`${report.keys} suppression keys that the restored database did not have are there again.`)
  if (report.unknown > 0)
    terminal.note(
      `The database knows ${report.unknown} receipts or keys that are not in the ledger: this is an older copy of it, or not the installation's own. What was erased since may have come back. Put the present ledger there (KP_LEDGER_URL), then replay again.`,
    )
  if (report.damaged > 0)
    terminal.note(`${report.damaged} lines of the ledger do not check: a crash cut them short, or they were changed.`)
  if (report.uncertain > 0)
    terminal.note(
      `${report.uncertain} erasures were begun, and neither ledger nor database knows their end; a line that does not check may have been it, and what it was about may be back. Compare with another copy of the ledger, or look for them: kp erasures list.`,
    )
  for (const receipt of report.receipts) terminal.line(`  ${receipt}`)
  for (const { receipt, holds } of report.refused)
    terminal.note(
      `${receipt} was not repeated: ${holds.join(', ')} kept something of it then, and the restored database does not know that hold. Nothing was erased. Hold it anew, then replay again.`,
    )
  for (const { run, state } of report.unfinished)
    terminal.note(`${run} is ${state} and goes on by itself with npm start; look at it with the admin's queue.`)
  for (const holder of new Set(report.unsearched.map((one) => one.holder)))
    terminal.note(
      `${holder} could not be looked through for ${report.unsearched.filter((one) => one.holder === holder).length} erasures: its store does not answer, or still has something. Nothing was lost. Bring it back, then replay again.`,
    )
}

/** The erasure ledger, on the installation's machine. */
export function erasureCommands(program: Command, begin: () => CommandSession): void {
  const erasures = program
    .command('erasures')
    .summary('read the erasure ledger; erase again after a restore')
    .description(
      'The ledger of erasures lies outside the database, so that a restored backup cannot forget one. On the installation’s own machine.\n\nExample:\n  kp erasures list',
    )
  erasures
    .command('list')
    .summary('show every erasure that the ledger knows')
    .description(
      'Shows each erasure with the receipt’s id, and whether it was carried out.\n\nExample:\n  kp erasures list --json',
    )
    .action(() => list(begin()))
  erasures
    .command('replay')
    .summary('erase again what a restored backup brought back')
    .description(
      'Run it after restoring a backup: what was erased after the backup was made, units, skills, parts of projects, agents and people, is erased again, with a receipt each. What was stored after its erasure stays. Safe to repeat. Exit code 1 if something is left to do.\n\nExample:\n  kp erasures replay',
    )
    .action(() => replay(begin()))
}
