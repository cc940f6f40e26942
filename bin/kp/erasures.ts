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
    `${report.committed} erasures are in the ledger; ${again === 0 ? 'no erased data had come back' : `the data of ${again} had come back and was erased again: ${report.erased} units and skills, ${report.subjects} people and agents, ${report.parts} parts of projects`}.`,
  )
  if (report.stores > 0)
    terminal.line(
      `For ${report.stores} more erasures, only connected stores had erased data again. It was erased there again.`,
    )
  if (report.reinstated > 0)
    terminal.line(
      `${report.reinstated} receipts that were missing from the restored database were added, and their ids stay reserved.`,
    )
  if (report.keys > 0)
    terminal.line(`${report.keys} suppression keys that were missing from the restored database were added.`)
  if (report.unknown > 0)
    terminal.note(
      `The database knows ${report.unknown} receipts or keys that are not in the ledger. The ledger is an older copy or belongs to another installation, so later erasures may be undone. Set KP_LEDGER_URL to the current ledger, then replay again.`,
    )
  if (report.damaged > 0)
    terminal.note(
      `${report.damaged} lines of the ledger failed their check: a crash truncated them, or they were changed.`,
    )
  if (report.uncertain > 0)
    terminal.note(
      `${report.uncertain} erasures were started, but neither the ledger nor the database records their end, so their data may be back. Compare the ledger with another copy, or find these erasures with kp erasures list.`,
    )
  for (const receipt of report.receipts) terminal.line(`  ${receipt}`)
  for (const { receipt, holds } of report.refused)
    terminal.note(
      `${receipt} was not repeated: ${holds.join(', ')} covered some of its data, and the restored database does not have that hold. Nothing was erased. Add the hold again, then replay again.`,
    )
  for (const { run, state } of report.unfinished)
    terminal.note(
      `${run} is ${state} and continues automatically after npm start. An admin can follow it in the queue.`,
    )
  for (const holder of new Set(report.unsearched.map((one) => one.holder)))
    terminal.note(
      `${holder} could not be looked through for ${report.unsearched.filter((one) => one.holder === holder).length} erasures: its store does not answer, or still has erased data. Make the store available, then replay again.`,
    )
}

async function acceptLoss(session: CommandSession): Promise<void> {
  const { terminal } = session
  const written = await withInstallation(
    session.invocation,
    async (app) => {
      await operator(app).noteLoss('ledger')
      return app.writeMissingRows()
    },
    { isLedgerLost: true },
  )
  terminal.document({ data: { accepted: true, written_back: written } })
  terminal.line(
    terminal.good('✓ '),
    `The ledger is accepted as it is now. ${written} erasures and keys that only the database had were written back to it.`,
  )
  terminal.note(
    'Erasures that were neither in this ledger nor in the database are lost: their data may be back. Compare your receipts, and erase it again. The audit log contains this decision.',
  )
}

async function closeRequest(session: CommandSession, id: string): Promise<void> {
  const { terminal } = session
  await withInstallation(session.invocation, (app) => operator(app).closeLostRequest(id))
  terminal.document({ data: { closed: id } })
  terminal.line(terminal.good('✓ '), `${id} is no longer reported as lost.`)
}

/** The erasure ledger, on the installation's machine. */
export function erasureCommands(program: Command, begin: () => CommandSession): void {
  const erasures = program
    .command('erasures')
    .summary('read the erasure ledger; erase again after a restore')
    .description(
      'The erasure ledger is stored outside the database, so that restoring a backup does not lose erasures. Run these commands on the machine of the installation.\n\nExample:\n  kp erasures list',
    )
  erasures
    .command('list')
    .summary('show every erasure in the ledger')
    .description(
      'Shows each erasure with the receipt’s id, and whether it was carried out.\n\nExample:\n  kp erasures list --json',
    )
    .action(() => list(begin()))
  erasures
    .command('replay')
    .summary('repeat erasures after a backup was restored')
    .description(
      'Run this command after you restore a backup. It repeats the erasures of units, skills, parts of projects, agents and people that were made after the backup, with a receipt for each. Data that was stored after its erasure stays. Safe to repeat. Exit code 1 if work remains.\n\nExample:\n  kp erasures replay',
    )
    .action(() => replay(begin()))
  erasures
    .command('accept-loss')
    .summary('continue although the ledger or a part of it is lost')
    .description(
      'Run this command only if no newer copy of the ledger exists. A start refuses an older, missing, changed or foreign ledger, because erased data could come back. This command accepts the ledger as it is: refused rows stay refused, erasures that only the database has are written back, and the audit log records the decision.\n\nExample:\n  kp erasures accept-loss',
    )
    .action(() => acceptLoss(begin()))
  erasures
    .command('close-request')
    .argument('<id>', 'the id of a privacy request that kp doctor reports as lost')
    .summary('record that a privacy request lost in a restore was handled')
    .description(
      'A restored database lacks the privacy requests that were filed after the backup, while their legal deadlines run. kp doctor lists them. Ask the people to file them again, or file them yourself; then run this command, which ends the report.\n\nExample:\n  kp erasures close-request req_0123456789abcdefABCDEF',
    )
    .action((id: string) => closeRequest(begin(), id))
}
