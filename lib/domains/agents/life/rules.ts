import { keccak_256 } from '@noble/hashes/sha3.js'

/** Status of an agent, set by its owner. `dead` is final. */
export const agentStatuses = ['active', 'paused', 'dead'] as const
export type AgentStatus = (typeof agentStatuses)[number]

export const agentDocumentKinds = ['strategy_thesis', 'playbook'] as const
export type AgentDocumentKind = (typeof agentDocumentKinds)[number]
/** Maximum size of a document's text, in bytes of UTF-8. */
export const documentBytes = 256 * 1024
/** Limits per agent. */
export const maxDocuments = 1_000
export const maxChainReferences = 1_000

export const heartbeatStates = ['idle', 'working', 'waiting', 'degraded'] as const
export type HeartbeatState = (typeof heartbeatStates)[number]
/** Names of the counters that a heartbeat may report. The list is closed, so that heartbeats contain no free text. */
export const heartbeatCounts = [
  'steps',
  'actions',
  'errors',
  'retries',
  'latency_ms',
  'queue_length',
  'memory_mb',
  'cpu_percent',
  'uptime_s',
] as const
/** Heartbeat lists stop counting here. */
export const heartbeatsCountedTo = 10_001

const hour = 3_600_000
/** Milliseconds after retirement during which an agent's heartbeats can be read; then they are deleted. */
export const heartbeatsAfterRetirement = 24 * hour
/** Milliseconds by which a heartbeat's time may be ahead of our clock, or late. */
export const clockTolerance = 5 * 60_000
export const reportedWithin = 24 * hour

/** Whether the heartbeats of an agent that was retired at `diedAt` can no longer be read. */
export const areHeartbeatsOver = (diedAt: Date | null, now: Date): boolean =>
  diedAt !== null && now.getTime() >= diedAt.getTime() + heartbeatsAfterRetirement

type StatusDecision = 'same' | 'changed' | 'for_good' | 'unconfirmed' | 'owner_alone'
/**
 * Judges a requested status change. `dead` is final and must be confirmed with the agent's id. If the agent has an owner, its own token
 * cannot resume it after a pause.
 */
export function decideStatus(
  from: AgentStatus,
  to: AgentStatus,
  { isConfirmed, isOwned, byItself }: { isConfirmed: boolean; isOwned: boolean; byItself: boolean },
): StatusDecision {
  if (from === to) return 'same'
  if (from === 'dead') return 'for_good'
  if (to === 'dead') return isConfirmed ? 'changed' : 'unconfirmed'
  return to === 'active' && isOwned && byItself ? 'owner_alone' : 'changed'
}

export const chainReferenceKinds = ['address', 'transaction', 'attestation'] as const
export type ChainReferenceKind = (typeof chainReferenceKinds)[number]

/** CAIP-2: a namespace and a reference within it. */
const chainForm = /^[-a-z0-9]{3,8}:[-_a-zA-Z0-9]{1,32}$/
/** CAIP-10 and CAIP-19: allowed characters of an account or token on any chain. */
const anyForm = /^[-.%a-zA-Z0-9]{1,128}$/
const evmHash = /^0x[0-9a-f]{64}$/
const base58 = '[1-9A-HJ-NP-Za-km-z]'

/** Returns the address with the capitalization that forms its checksum (EIP-55). `hex`: 40 digits without 0x. */
function checksummed(hex: string): string {
  const small = hex.toLowerCase()
  const hash = keccak_256(new TextEncoder().encode(small))
  const nibble = (at: number): number => ((hash[at >> 1] ?? 0) >> (at % 2 === 0 ? 4 : 0)) & 15
  return `0x${[...small].map((digit, at) => (nibble(at) >= 8 ? digit.toUpperCase() : digit)).join('')}`
}

/**
 * Returns an Ethereum address in EIP-55 form, or undefined if its form or checksum is wrong. An address in a single case has no checksum.
 */
export function ethereumAddress(text: string): string | undefined {
  const hex = /^0x([0-9a-fA-F]{40})$/.exec(text)?.[1]
  if (hex === undefined) return undefined
  const right = checksummed(hex)
  const isOfOneCase = hex === hex.toLowerCase() || hex === hex.toUpperCase()
  return isOfOneCase || right === text ? right : undefined
}

const forms: Record<string, { chain: RegExp } & Record<ChainReferenceKind, RegExp>> = {
  bip122: {
    chain: /^[0-9a-f]{32}$/,
    address: new RegExp(`^(bc1[02-9ac-hj-np-z]{8,87}|[13]${base58}{25,34})$`),
    transaction: /^[0-9a-f]{64}$/,
    attestation: /^[0-9a-f]{64}$/,
  },
  solana: {
    chain: new RegExp(`^${base58}{32}$`),
    address: new RegExp(`^${base58}{32,44}$`),
    transaction: new RegExp(`^${base58}{64,88}$`),
    attestation: new RegExp(`^${base58}{32,44}$`),
  },
}

interface ChainFact {
  chain: string
  kind: ChainReferenceKind
  reference: string
}
/** The invalid field and the reason. */
interface WrongForm {
  wrong: 'chain' | 'reference'
  message: string
}

/**
 * Returns the reference as it is stored: Ethereum addresses with their checksum, hashes in lower case. Chains are named by CAIP-2.
 * References are fully validated for known namespaces (eip155, bip122, solana); for others only the characters allowed by CAIP-10 are
 * checked.
 */
export function chainFact({ chain, kind, reference }: ChainFact): ChainFact | WrongForm {
  if (!chainForm.test(chain)) return { wrong: 'chain', message: 'must be a CAIP-2 chain id, such as eip155:1' }
  const [namespace = '', within = ''] = chain.split(':')
  if (namespace === 'eip155') {
    if (!/^[1-9][0-9]*$/.test(within))
      return { wrong: 'chain', message: 'must contain the number of the chain, such as eip155:1' }
    const retained = kind === 'address' ? ethereumAddress(reference) : reference.toLowerCase()
    if (retained === undefined || (kind !== 'address' && !evmHash.test(retained)))
      return {
        wrong: 'reference',
        message:
          kind === 'address'
            ? 'must be an address: 0x and 40 hexadecimal digits, with EIP-55 capitals or in one case'
            : 'must be 0x and 64 hexadecimal digits',
      }
    return { chain, kind, reference: retained }
  }
  const known = forms[namespace]
  if (known && !known.chain.test(within)) return { wrong: 'chain', message: `is not a known chain of ${namespace}` }
  if (!(known?.[kind] ?? anyForm).test(reference))
    return { wrong: 'reference', message: `is not a valid reference on ${namespace}` }
  return { chain, kind, reference }
}
