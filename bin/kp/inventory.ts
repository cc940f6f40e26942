import { setRestriction } from '#lib/domains/agents/contract.ts'
import { readInventory } from '#lib/domains/exports/contract.ts'
import { planErasure } from '#lib/domains/privacy-requests/contract.ts'
import type { CommandActor } from './person.ts'

export interface AgentOption {
  agent?: string
}
const ofAgent = ({ agent }: AgentOption) => (agent === undefined ? {} : { agent_id: agent })
const day = (time: string | null): string => time?.slice(0, 10) ?? ''

export async function showInventory(
  { call, terminal }: CommandActor,
  options: AgentOption & { all?: boolean },
): Promise<void> {
  const { body } = await call(readInventory, { query: ofAgent(options) })
  terminal.document(body)
  const shown = options.all ? body.data : body.data.filter(({ count }) => count > 0)
  terminal.table(
    ['WHERE', 'WHAT', 'HOW MANY', 'SINCE', 'UNTIL', 'WHY', 'ON WHICH BASIS'],
    shown.map((one) => [
      one.store,
      one.what,
      String(one.count),
      day(one.since),
      day(one.until) || one.kept,
      one.purpose,
      one.basis,
    ]),
  )
  terminal.line()
  terminal.line(terminal.bold('Other records about you, which an erasure does not delete:'))
  const beside = options.all ? body.kept_beside : body.kept_beside.filter(({ count }) => count !== 0)
  for (const one of beside)
    terminal.line(`  ${one.count === null ? '' : `${one.count} `}${one.what}: ${one.kept} (${one.basis})`)
  if (!options.all) terminal.note('Places without data about you are not listed. Use --all to show them.')
}

export async function showPlan({ call, terminal }: CommandActor, options: AgentOption): Promise<void> {
  const { body } = await call(planErasure, { query: ofAgent(options) })
  terminal.document(body)
  const { holdings, total, retained } = body.data
  terminal.table(
    ['WHERE', 'WHAT', 'DELETED OR PSEUDONYMIZED', 'HELD BY LAW'],
    holdings
      .filter(({ count, held }) => count > 0 || held.length > 0)
      .map((one) => [
        one.store,
        one.what,
        String(one.count),
        one.held.map((held) => `${held.count} (${held.hold_id})`).join(', '),
      ]),
  )
  terminal.line(`${total} in all. Nothing was erased.`)
  for (const { what, until, ground } of retained)
    terminal.line(`  Stays: ${what}, ${until === null ? 'for ever' : `until ${day(until)}`}. ${ground}`)
}

export async function restrict(
  { call, terminal }: CommandActor,
  { lift, ...options }: AgentOption & { lift?: boolean },
): Promise<void> {
  const { body } = await call(setRestriction, { body: { restricted: !lift, ...ofAgent(options) } })
  terminal.document(body)
  terminal.line(terminal.good('✓ '), body.message)
}
