import { setTimeout as delay } from 'node:timers/promises'
import { RequestRefused } from '#lib/client/request.ts'
import {
  cancelRequest,
  expediteRequest,
  fileRequest,
  listRequests,
  type RequestView,
  readRequest,
  sendRequestLink,
  useLink,
  verifyRequest,
} from '#lib/domains/privacy-requests/contract.ts'
import { closedStates, type Grace, type RequestKind } from '#lib/domains/privacy-requests/rules.ts'
import { Failure, usageFailure } from './failure.ts'
import type { CommandActor } from './person.ts'
import type { CommandSession } from './session.ts'

export interface RequestOptions {
  grace?: Grace
  agent?: string
  statement?: string
  name?: string
  email?: string
  locale?: 'en' | 'zh'
  wait?: boolean
  yes?: boolean
}

/** Polling interval in milliseconds. */
const every = 1_000

const isClosed = (state: RequestView['state']): boolean => closedStates.some((closed) => closed === state)
/** The receipt id exists before the receipt. */
const hasReceipt = (state: RequestView['state']): boolean => state === 'completed' || state === 'partly_completed'
/** States in which nothing more happens without an action. */
const isSettled = (state: RequestView['state']): boolean =>
  isClosed(state) || state === 'partly_completed' || state === 'failed' || state === 'received'

async function confirmErasure(
  { terminal, command, person }: CommandActor,
  { yes, grace, agent }: RequestOptions,
): Promise<void> {
  if (yes) return
  const keep = command(person ? `export me --as ${person.account.email} --output me.zip` : 'export me --output me.json')
  if (!terminal.isInteractive)
    throw usageFailure(
      'Erasing is confirmed on a terminal, and this is none. Nothing was sent.',
      `Add --yes to request it without a confirmation. To keep a copy, export first: ${keep}`,
    )
  terminal.warning(`To keep a copy, export first: ${keep}`)
  const what = agent ?? (person ? 'all your data, account and agents,' : 'this agent')
  const when = grace === 'now' ? 'at once' : `after ${grace ?? '24h'}`
  const answer = await terminal.ask(`Erase ${what} for good, ${when}? Type erase:`)
  if (answer !== 'erase') throw new Failure('not_confirmed', 'No request was filed.')
}

function printRequest({ terminal }: Pick<CommandActor, 'terminal'>, request: RequestView): void {
  const row = (name: string, value: string | null) =>
    value !== null && terminal.line(terminal.dim(name.padEnd(14)), value)
  row('request', request.id)
  row('kinds', request.kinds.join(', '))
  row('state', request.state)
  row('received', request.received_at)
  row('erases at', request.state === 'waiting' ? request.waiting_until : null)
  row('due', isClosed(request.state) ? null : (request.due_at ?? request.legal_due_at))
  row('by law', isClosed(request.state) ? null : request.legal_due_at)
  if (request.paused) row('paused', `since ${request.paused.since}: ${request.paused.reason}`)
  row('closed', request.closed_at)
  row('receipt', request.receipt_id && `${request.receipt_id}${hasReceipt(request.state) ? '' : ' (once it is done)'}`)
}

/** Watches a request until it needs an action or is closed. Undefined when the actor's own erasure has removed the session or token. */
async function watch({ call, terminal }: CommandActor, id: string): Promise<RequestView | undefined> {
  for (;;) {
    try {
      const { data } = (await call(readRequest, { params: { id } })).body
      if (isSettled(data.state)) return data
      const steps = data.erasure?.steps ?? []
      const [planned, erased] = [0, 0].map((_, at) =>
        steps.reduce((sum, one) => sum + (at === 0 ? one.planned : one.erased), 0),
      )
      terminal.progress(`${data.state}: ${erased} of ${planned} erased`, planned ? (erased ?? 0) / planned : undefined)
      await delay(every)
    } catch (error) {
      if (error instanceof RequestRefused && error.problem.status === 401) return undefined
      throw error
    } finally {
      terminal.clear()
    }
  }
}

function changesOf({ name, email, locale }: RequestOptions) {
  const changes = {
    ...(name !== undefined && { name }),
    ...(email !== undefined && { email }),
    ...(locale !== undefined && { locale }),
  }
  return Object.keys(changes).length > 0 ? { changes } : {}
}

export async function fileOwnRequest(
  asking: CommandActor,
  kinds: RequestKind[],
  options: RequestOptions,
): Promise<void> {
  const { call, terminal, command, person } = asking
  const { grace, agent, statement, wait } = options
  const isErasure = kinds.includes('erasure')
  if (grace !== undefined && !isErasure) throw usageFailure('--grace works only with an erasure.')
  if (isErasure) await confirmErasure(asking, options)
  const { body } = await call(fileRequest, {
    body: {
      kinds,
      ...(grace !== undefined && { grace }),
      ...(person && { password: person.password }),
      ...(agent !== undefined && { agent_id: agent }),
      ...(statement !== undefined && { statement }),
      ...changesOf(options),
    },
  })
  const receiptOf = ({ receipt_id }: RequestView) => command(`receipts get ${receipt_id ?? 'rcpt_…'}`)
  const asked = `${command(`privacy show ${body.data.id}`)}${person ? ` --as ${person.account.email}` : ''}`
  if (wait && !isSettled(body.data.state)) {
    const last = await watch(asking, body.data.id)
    terminal.document({ ...body, data: last ?? body.data, signed_out: last === undefined })
    if (last) printRequest(asking, last)
    else {
      terminal.line(
        terminal.good('✓ '),
        `${body.data.id}: the erasure has started, and you are signed out permanently.`,
      )
      terminal.note(`When it is complete, you can fetch the receipt without an account: ${receiptOf(body.data)}`)
    }
    return
  }
  terminal.document(body)
  terminal.line(terminal.good('✓ '), body.message)
  printRequest(asking, body.data)
  for (const one of body.joined)
    terminal.note(`${one.kind}: ${one.request_id} is already open, so no new request was filed.`)
  if (body.data.cancel_token !== null) {
    terminal.line(`To cancel it: ${command(`privacy cancel --cancel-token ${body.data.cancel_token}`)}`)
    terminal.note(
      'The agent’s tokens now work only for this request. Store the line above in case you lose them: it is shown only once.',
    )
    terminal.note(
      `When it is complete, the tokens are deleted. You can fetch the receipt without a token: ${receiptOf(body.data)}`,
    )
  } else terminal.note(`To see the progress: ${asked}`)
}

export async function list({ call, terminal }: CommandActor): Promise<void> {
  const { body } = await call(listRequests, { query: { limit: 100 } })
  terminal.document(body)
  terminal.table(
    ['REQUEST', 'KINDS', 'STATE', 'RECEIVED', 'DUE', 'RECEIPT'],
    body.data.map((one) => [
      one.id,
      one.kinds.join(', '),
      one.state,
      one.received_at.slice(0, 10),
      isClosed(one.state) ? '' : (one.due_at ?? one.legal_due_at).slice(0, 10),
      hasReceipt(one.state) ? (one.receipt_id ?? '') : '',
    ]),
  )
  if (body.data.length === 0) terminal.note('None.')
}

export async function showOwnRequest(asking: CommandActor, id: string, { wait }: { wait?: boolean }): Promise<void> {
  const { call, terminal } = asking
  if (wait) await watch(asking, id)
  const { body } = await call(readRequest, { params: { id } })
  terminal.document(body)
  const { data } = body
  printRequest(asking, data)
  for (const one of data.parts) terminal.line(`  ${one.kind}: ${one.state}`)
  terminal.line(terminal.bold('Timeline:'))
  for (const one of data.timeline)
    terminal.line(
      `  ${one.at}  ${one.by}: ${one.event}${one.to ? ` → ${one.to}` : ''}${one.note ? `: ${one.note}` : ''}`,
    )
  if (!data.erasure) return
  terminal.line(terminal.bold('Erasure, place by place:'))
  terminal.table(
    ['HOLDER', 'WHERE', 'STATE', 'PLANNED', 'ERASED', 'LEFT'],
    data.erasure.steps.map((one) => [
      one.holder,
      one.store,
      one.state,
      String(one.planned),
      String(one.erased),
      one.residue === null ? '' : String(one.residue),
    ]),
  )
}

/** Prints the message of the response and the status of the request. */
function told(asking: CommandActor, body: { data: RequestView; message: string }): void {
  asking.terminal.document(body)
  asking.terminal.line(asking.terminal.good('✓ '), body.message)
  printRequest(asking, body.data)
}
const passwordOf = ({ person }: CommandActor): string => {
  if (person) return person.password
  throw usageFailure('This command requires a person’s password. Add --as <email>.')
}

export const verifyOwnRequest = async (asking: CommandActor, id: string): Promise<void> =>
  told(asking, (await asking.call(verifyRequest, { params: { id }, body: { password: passwordOf(asking) } })).body)
export const sendLink = async (asking: CommandActor, id: string): Promise<void> =>
  told(asking, (await asking.call(sendRequestLink, { params: { id } })).body)
export const expediteOwnRequest = async (asking: CommandActor, id: string): Promise<void> =>
  told(asking, (await asking.call(expediteRequest, { params: { id }, body: { password: passwordOf(asking) } })).body)
export const cancelOwnRequest = async (asking: CommandActor, id: string): Promise<void> =>
  told(asking, (await asking.call(cancelRequest, { params: { id } })).body)

/** Cancels with the link token that the agent received, because its API tokens no longer work. */
export async function cancelByToken({ call, terminal }: CommandSession, token: string): Promise<void> {
  const { body } = await call(useLink, { body: { token, purpose: 'cancel' } }, { token: undefined })
  terminal.document(body)
  terminal.line(terminal.good('✓ '), 'Cancelled. Nothing was erased, and the agent’s tokens work again.')
}
