import type { planErasure } from '#lib/domains/privacy-requests/contract.ts'
import { type Grace, graceEnd, legalDueAt } from '#lib/domains/privacy-requests/rules.ts'
import type { Output } from '#lib/kernel/operation.ts'

type Holdings = Output<typeof planErasure>['data']['holdings']

/** An erasure in numbers, for the sentence that says what goes. */
export interface Consequences {
  units: number
  skills: number
  agents: number
  tokens: number
  /** Everything else that goes, but for the account and the agent themselves. */
  others: number
  /** In records of others: a pseudonym takes the name's place. */
  mentions: number
  /** Of these names and words go, and the rest stays. */
  requests: number
  /** What is gone afterwards. */
  gone: number
  /** What legal holds keep for now. */
  held: number
}

/** What becomes of the records of a plan. Mentions and requests are changed and not erased, so they are no part of what goes. */
export function consequencesOf(holdings: Holdings): Consequences {
  const count = (name: string): number => holdings.find(({ holder }) => holder === name)?.count ?? 0
  const all = holdings.reduce((sum, one) => sum + one.count, 0)
  const named = {
    units: count('knowledge.units'),
    skills: count('knowledge.skills'),
    agents: count('agents'),
    tokens: count('tokens'),
  }
  const changed = { mentions: count('knowledge.references'), requests: count('privacy.requests') }
  const gone = all - changed.mentions - changed.requests
  return {
    ...named,
    ...changed,
    gone,
    others: gone - named.units - named.skills - named.agents - named.tokens - count('accounts'),
    held: holdings.reduce((sum, { held }) => sum + held.reduce((kept, one) => kept + one.count, 0), 0),
  }
}

/** When an erasure begins that is confirmed now: never so late that the law's limit for the answer would be near. */
export const beginsAt = (grace: Grace, now: Date): Date => graceEnd(grace, legalDueAt(now), now).at

const words = ['DELETE', '删除']
/** Whether it is the word that confirms, in either language: full-width letters and any case included. */
export const isDeleteWord = (typed: string): boolean => words.includes(typed.normalize('NFKC').trim().toUpperCase())

export const deletionSteps = ['what', 'copy', 'when', 'confirm'] as const
/** What becomes of one's name in what others wrote in graphs. */
export const nameChoices = ['listed', 'taken'] as const
export const copyChoices = ['none', 'with'] as const
export type CopyChoice = (typeof copyChoices)[number]
