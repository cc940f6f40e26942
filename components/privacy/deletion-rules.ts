import { isPseudonymized } from '#lib/domains/erasure/rules.ts'
import type { planErasure } from '#lib/domains/privacy-requests/contract.ts'
import { type Grace, graceEnd, legalDueAt } from '#lib/domains/privacy-requests/rules.ts'
import type { Output } from '#lib/kernel/operation.ts'

type Holdings = Output<typeof planErasure>['data']['holdings']

/** The counts of an erasure, for the sentence about its consequences. */
export interface Consequences {
  units: number
  skills: number
  agents: number
  tokens: number
  /** Projects without data of others. */
  projects: number
  /** All other erased records, except the account and the agent itself. */
  others: number
  /** Records of others in which a pseudonym replaces the name. */
  mentions: number
  /** Requests that lose names and texts but are retained otherwise. */
  requests: number
  /** Earlier receipts, which no longer name their owner. */
  owners: number
  /** Records that are erased. */
  gone: number
  /** Records that are retained without the name and texts: mentions, requests and receipts. */
  changed: number
  /** Records that a legal hold retains for now. */
  held: number
}

/** Sums up a plan. Pseudonymized records are not in `gone`. `gone`, `changed` and `held` add up to the total of the inventory. */
export function consequencesOf(holdings: Holdings): Consequences {
  const count = (name: string): number => holdings.find(({ holder }) => holder === name)?.count ?? 0
  const total = (some: Holdings): number => some.reduce((sum, one) => sum + one.count, 0)
  const changed = total(holdings.filter(({ holder }) => isPseudonymized(holder)))
  const gone = total(holdings) - changed
  const named = {
    units: count('knowledge.units'),
    skills: count('knowledge.skills'),
    agents: count('agents'),
    tokens: count('tokens'),
    projects: count('projects.projects'),
  }
  return {
    ...named,
    mentions: count('knowledge.references') + count('projects.references'),
    requests: count('privacy.requests'),
    owners: count('erasure.owners'),
    changed,
    gone,
    others: gone - Object.values(named).reduce((sum, one) => sum + one, 0) - count('accounts'),
    held: holdings.reduce((sum, { held }) => sum + held.reduce((kept, one) => kept + one.count, 0), 0),
  }
}

/** When an erasure that is confirmed now begins: always well before the legal time limit of the answer. */
export const beginsAt = (grace: Grace, now: Date): Date => graceEnd(grace, legalDueAt(now), now).at

const words = ['DELETE', '删除']
/** Whether the text is the confirmation word in either language, in any case and also in full-width letters. */
export const isDeleteWord = (typed: string): boolean => words.includes(typed.normalize('NFKC').trim().toUpperCase())

export const deletionSteps = ['what', 'copy', 'confirm'] as const
/** What happens to the person's name in records that other people wrote in graphs. */
export const nameChoices = ['listed', 'taken'] as const
export const copyChoices = ['none', 'with'] as const
export type CopyChoice = (typeof copyChoices)[number]
