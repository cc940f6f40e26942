import { existsSync } from 'node:fs'
import { shownOnce } from '#lib/client/shown-once.ts'
import { registerAgent } from '#lib/domains/agents/contract.ts'
import { errorCode } from '#lib/kernel/error-code.ts'
import type { Config } from './config.ts'
import { consentTo, explainNotice } from './consent.ts'
import { Failure } from './failure.ts'
import { scopesOf, tierOf } from './grants.ts'
import type { CommandSession } from './session.ts'
import { pinIfReachable } from './trust.ts'

/** Stores the token. When that fails, the error contains it, because it is shown only once. */
export function saveToken(session: CommandSession, config: Config): void {
  try {
    session.remember(config)
  } catch (error) {
    throw new Failure(
      'not_stored',
      `The token is valid but could not be stored (${errorCode(error) ?? 'unknown fault'}). Copy it now. It is not shown again: ${config.token}`,
    )
  }
}

export interface RegisterOptions {
  agentId?: string
  name?: string
  scopes?: string
  tier?: string
  invite?: string
  consent?: boolean
  yes?: boolean
  policyVersion?: string
  replace?: boolean
  showKey?: boolean
}

/** Registers an agent and stores its token. */
export async function registerWithToken(session: CommandSession, options: RegisterOptions): Promise<void> {
  const { terminal, url, stored, storedElsewhere, usesStored, command, token } = session
  const before = stored ?? storedElsewhere
  if (before && !options.replace && options.agentId !== before.agent_id)
    throw new Failure(
      'signed_in',
      `You are signed in to ${before.url} as ${before.agent_id ?? 'an agent'}; its token would be lost. Nothing was sent.`,
      {
        advice: `Sign out first (${command('logout')}), or add --replace.`,
      },
    )
  const wanted =
    options.scopes === undefined
      ? options.invite === undefined
        ? scopesOf('read,write')
        : undefined
      : scopesOf(options.scopes)
  const policy = await consentTo(session, options)
  session.checkStorage()
  // The stored token may only be sent for its own agent. A token that was given for this run may be an admin's.
  const speaksForIt = options.agentId !== undefined && options.agentId === before?.agent_id
  const sent = usesStored && !speaksForIt ? undefined : token
  const { body } = await session
    .call(
      registerAgent,
      {
        body: {
          ...(options.agentId !== undefined && { agent_id: options.agentId }),
          ...(options.name !== undefined && { name: options.name }),
          ...(wanted && { scopes: wanted }),
          ...(options.tier !== undefined && { tier: tierOf(options.tier) }),
          ...(options.invite !== undefined && { invite: options.invite }),
          consent: { policy_version: policy },
        },
      },
      { token: sent },
    )
    .catch((error: unknown) => {
      throw explainNotice(error, command)
    })
  const { api_key, ...agent } = body.data
  const key = shownOnce(api_key)
  saveToken(session, { url, token: key, agent_id: agent.agent_id, key_prefix: agent.key_prefix })
  const verdict = await pinIfReachable(session)
  terminal.document({ data: { ...agent, ...(options.showKey && { api_key: key }), signing_keys: verdict } })
  terminal.line(terminal.good('✓ '), `Registered as ${agent.agent_id} on ${url}`)
  terminal.line(
    `  token   ${options.showKey ? key : `${agent.key_prefix}…`}  (${agent.scopes.join(', ')}; tier ${agent.tier}), stored in ${session.folder}`,
  )
  if (sent === undefined) terminal.note('Use it within 24 hours, or the agent is deleted.')
  const sample = 'docs/examples/trace.json'
  terminal.note(`Next: ${command(`contribute ${existsSync(session.pathOf(sample)) ? sample : '<file>'}`)}`)
}
